-- The accounting functions that book.sql leaves out, with random parameters at
-- every run, against slow independent implementations in SQL, written from the
-- formulas: to a relative 10^-12, and never on the unsafe side.  Nothing is a
-- sample of noise: the false-alarm rate is 0.
\set QUIET on
\pset format unaligned
\pset tuples_only on
\pset pager off
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS dp_pg;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE SCHEMA regress_random;
SET search_path = regress_random, public;
SELECT * FROM no_plan();

CREATE FUNCTION above(have numeric, want numeric) RETURNS boolean IMMUTABLE LANGUAGE sql AS
	'SELECT have >= want * (1 - 1e-22) AND have <= want * (1 + 1e-12) + 1e-23';
CREATE FUNCTION below(have numeric, want numeric) RETURNS boolean IMMUTABLE LANGUAGE sql AS
	'SELECT have <= want * (1 + 1e-22) AND have >= want * (1 - 1e-12) - 1e-23';
CREATE TABLE seed AS SELECT coalesce(nullif(current_setting('dp_test.seed', true), ''), random()::text)::float8 AS seed;
SELECT setseed(seed) FROM seed \g /dev/null
SELECT diag('again: PGOPTIONS=''-c dp_test.seed=' || seed || '''') FROM seed;

-- e from 0.001 to 10, d from 10^-12 to 0.3, r from 10^-6 to 3
CREATE TABLE price AS
SELECT i, round((10 ^ (1 - 4 * random()))::numeric, 12) AS e, round((10 ^ (-0.5 - 11.5 * random()))::numeric, 16) AS d, round((3 * 10 ^ (-6 * random()))::numeric, 14) AS r,
	ceil(10 ^ (3 * random()))::bigint AS k, ceil(10 ^ (2 * random()))::bigint AS s, round((0.5 + 0.49999 * random())::numeric, 8) AS c
FROM generate_series(1, 60) i;

-- groups
SELECT is_empty($$SELECT p.*, g FROM price p, dp_group_privacy(e, d, s) g, LATERAL (SELECT d * (exp((s * e)::numeric(90, 60)) - 1) / (exp(e::numeric(60, 50)) - 1)) w(want)
	WHERE s * e < 60 AND (g.epsilon = s * e AND CASE WHEN want >= 1 THEN g.delta = 1 ELSE above(g.delta, want) END) IS NOT TRUE$$, 'groups');
SELECT is_empty('SELECT * FROM price WHERE dp_group_privacy_rho(r, s) IS DISTINCT FROM least(s * s * r, s * s * r)', 'groups, rho');

-- what mechanisms cost as rho
SELECT is_empty($$SELECT * FROM price WHERE above(dp_pure_rho(e), least(e, 0.5 * e * e * (60 + e * e)::numeric(60, 50) / (60 + 6 * e * e))) IS NOT TRUE$$, 'pure epsilon');
SELECT is_empty($$SELECT * FROM price WHERE above(dp_exponential_rho(e), least(e, 0.125 * e * e, 0.5 * e * e * (60 + e * e)::numeric(60, 50) / (60 + 6 * e * e))) IS NOT TRUE$$, 'the exponential mechanism');
SELECT is_empty($$SELECT p.*, want FROM price p, LATERAL (SELECT e::numeric(70, 60) / s) y(x), LATERAL (SELECT exp(x), exp(-(e::numeric(60, 50)))) z(up, down),
	LATERAL (SELECT e - (1 - down) * x * 2 / (up - 1 / up)) w(want)
	WHERE above(dp_laplace_rho(s, e), least(want, dp_pure_rho(e))) IS NOT TRUE$$, 'discrete Laplace noise');
SELECT is_empty('SELECT * FROM price WHERE above(dp_gaussian_rho(s, 10 * e), s * s / (200 * e * e)::numeric(60, 40)) IS NOT TRUE', 'discrete Gaussian noise');

-- zCDP: the least of a function of b = alpha - 1, by sections of ln b
CREATE FUNCTION epsilon_at(r numeric, d numeric, b numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS
	'SELECT (1 + b) * r + (b * ln(b / (1 + b)) - ln(d * (1 + b))) / b';
CREATE FUNCTION log_delta_at(r numeric, e numeric, b numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS
	'SELECT b * ((1 + b) * r - e) + b * ln(b / (1 + b)) - ln(1 + b)';
CREATE FUNCTION least_of(what text, r numeric, x numeric) RETURNS numeric LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	ratio constant numeric := 0.6180339887498948482;
	low numeric := -25;
	high numeric := 25;
	one numeric;
	other numeric;
	at_one numeric;
	at_other numeric;
BEGIN
	FOR i IN 1 .. 90 LOOP
		one := high - ratio * (high - low);
		other := low + ratio * (high - low);
		IF what = 'epsilon' THEN
			at_one := epsilon_at(r, x, exp(one::numeric(50, 40)));
			at_other := epsilon_at(r, x, exp(other::numeric(50, 40)));
		ELSE
			at_one := log_delta_at(r, x, exp(one::numeric(50, 40)));
			at_other := log_delta_at(r, x, exp(other::numeric(50, 40)));
		END IF;
		IF at_one < at_other THEN
			high := other;
		ELSE
			low := one;
		END IF;
	END LOOP;
	RETURN least(at_one, at_other);
END $$;
CREATE TABLE concentrated AS SELECT p.*, least_of('epsilon', r, d) AS want FROM price p WHERE i <= 25;
SELECT is_empty('SELECT * FROM concentrated WHERE above(dp_zcdp_epsilon(r, d), greatest(want, 0)) IS NOT TRUE', 'rho to epsilon');
SELECT is_empty('SELECT * FROM concentrated WHERE want > 1e-6 AND (dp_zcdp_rho(want * (1 - 1e-20), d) <= r AND dp_zcdp_rho(want * (1 + 1e-18), d) >= r * (1 - 1e-12)) IS NOT TRUE', 'and back');
SELECT is_empty($$SELECT p.*, want FROM price p, LATERAL (SELECT exp(least_of('delta', r, e)::numeric(200, 60))) w(want)
	WHERE i BETWEEN 26 AND 45 AND e > r AND want > 1e-40 AND above(dp_zcdp_delta(r, e), want) IS NOT TRUE$$, 'rho and epsilon to delta');
SELECT is_empty($$SELECT p.*, sigma FROM price p, dp_gaussian_sigma(1, e, d, 'zcdp') sigma WHERE i <= 8
	AND (least_of('epsilon', 1 / (2 * sigma * sigma)::numeric(80, 60), d) <= e AND least_of('epsilon', 1 / (2 * (sigma * (1 - 2e-12)) ^ 2)::numeric(80, 60), d) > e) IS NOT TRUE$$, 'sigma through zCDP');

-- the odometer: levels of rho that double
SELECT is_empty($$SELECT p.*, want FROM price p, LATERAL (SELECT j, 2::numeric ^ (j - 10) AS level FROM generate_series(0, 20) j WHERE r <= 2::numeric ^ (j - 10) ORDER BY j LIMIT 1) l,
	LATERAL (SELECT level + 2 * sqrt((level * ln(((3.14159265358979323846264338327950288 * (j + 1)) ^ 2 / (6 * d))::numeric(80, 40)))::numeric(80, 40))) w(want)
	WHERE above(dp_odometer(r, d), want) IS NOT TRUE$$, 'the odometer');

-- errors
SELECT is_empty($$SELECT * FROM price WHERE above(dp_laplace_error(s, e, c, k, 0), s / e::numeric(60, 40) * ln(k / (1 - c)::numeric(60, 40))) IS NOT TRUE$$, 'Theorem 3.8');
SELECT is_empty($$SELECT p.*, a FROM price p, dp_laplace_error(s, e, c, k) a, LATERAL (SELECT exp(-(e / s)::numeric(60, 50))) x(q)
	WHERE (2 * exp(-(e * (a + 1) / s)::numeric(80, 50)) / (1 + q) * k <= 1 - c AND (a = 0 OR 2 * exp(-(e * a / s)::numeric(80, 50)) / (1 + q) * k > 1 - c)) IS NOT TRUE$$, 'quantiles of discrete Laplace noise');
CREATE FUNCTION gaussian_tail(v numeric, a bigint) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
	SELECT sum(w) FILTER (WHERE abs(x) > a) / sum(w) FROM generate_series(-ceil(12 * sqrt(v))::int - 2, ceil(12 * sqrt(v))::int + 2) x, LATERAL (SELECT exp((-x * x / (2 * v))::numeric(80, 50))) n(w)
$$;
SELECT is_empty($$SELECT p.*, a FROM price p, LATERAL (SELECT round(0.5 + 2 * e, 6)) v(sigma), dp_gaussian_error(sigma, c, s) a
	WHERE i <= 30 AND (s * gaussian_tail(sigma * sigma, a::bigint) <= 1 - c AND (a = 0 OR s * gaussian_tail(sigma * sigma, a::bigint - 1) > 1 - c)) IS NOT TRUE$$, 'quantiles of discrete Gaussian noise');
SELECT is_empty($$SELECT * FROM price, LATERAL (SELECT 2 * s / e::numeric(60, 40) * ln((k + 1) / (1 - c)::numeric(60, 40))) w(want)
	WHERE (above(dp_selection_error(k + 1, s, e, c), want) AND above(dp_selection_error(k + 1, s, e, c, true), want / 2)) IS NOT TRUE$$, 'Theorem 3.11');
SELECT is_empty($$SELECT * FROM price, LATERAL (SELECT exp(e::numeric(60, 50))) x(odds), LATERAL (SELECT sqrt((k * odds)::numeric(80, 50)) / (odds - 1)) w(want)
	WHERE (above(dp_randomized_response_error(k, e), want) AND above(dp_randomized_response_error(k, e, s + 2), want * sqrt((s + 1)::numeric(60, 50))))
	IS NOT TRUE$$, 'randomized response');

-- the exact sigma: its delta is kept, and that of a smaller one is not
CREATE FUNCTION gaussian_delta(v numeric, e numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
	SELECT sum(p * greatest(0, 1 - exp((e - (2 * x + 1) / (2 * v))::numeric(60, 40)))) / sum(p)
	FROM generate_series(-800, 800) x, LATERAL (SELECT exp((-x * x / (2 * v))::numeric(80, 60))) n(p)
	WHERE x * x < 2 * v * 130
$$;
SELECT is_empty($$SELECT p.*, s FROM (SELECT i, greatest(e, 0.25) AS e, greatest(d, 1e-9) AS d FROM price) p, dp_gaussian_sigma(1, e, d) s
	WHERE i <= 10 AND (gaussian_delta(s * s, e) <= d AND gaussian_delta((s * (1 - 2e-6)) ^ 2, e) > d) IS NOT TRUE$$, 'the exact sigma');
SELECT is_empty($$SELECT p.*, s FROM (SELECT i, greatest(e, 0.25) AS e, 1 + s / 50.0 AS s FROM price) p
	WHERE i BETWEEN 11 AND 20 AND above(dp_gaussian_delta(1, s, e), gaussian_delta(s * s, e)) IS NOT TRUE AND gaussian_delta(s * s, e) > 1e-24$$, 'its delta');

-- the inverses of composition; the optimum by its sum of binomials
CREATE FUNCTION optimal_delta(e numeric, k int, total numeric) RETURNS numeric LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	r numeric := exp(e::numeric(80, 60));
	w numeric := 1;
	weights numeric := 0;
	sum numeric := 0;
BEGIN
	FOR j IN 0 .. k LOOP
		weights := weights + w;
		sum := sum + w * greatest(0, 1 - exp((total - (2 * j - k) * e)::numeric(80, 60)));
		w := w * (k - j) / (j + 1) * r;
	END LOOP;
	RETURN sum / weights;
END $$;
SELECT is_empty($$SELECT p.*, f FROM price p, dp_epsilon_for_advanced(e, k, d) f, LATERAL (SELECT sqrt((2 * k * ln(1 / d::numeric(60, 50)))::numeric(60, 50))) x(root)
	WHERE (root * f + k * f * (exp(f::numeric(60, 50)) - 1) <= e AND root * f * (1 + 2e-12) + k * f * (1 + 2e-12) * (exp((f * (1 + 2e-12))::numeric(60, 50)) - 1) > e - 1e-20) IS NOT TRUE$$, 'Theorem 3.20 turned round');
SELECT is_empty($$SELECT p.*, f, number FROM price p, LATERAL (SELECT least(k, 20)::int) n(number), dp_epsilon_for_optimal(e, number, d) f
	WHERE i <= 30 AND (optimal_delta(f, number, e) <= d AND optimal_delta(f * (1 + 1e-9) + 1e-20, number, e) > d) IS NOT TRUE$$, 'optimal composition turned round');

-- SmallDB: Lemma 4.3, Proposition 4.4, Theorem 4.5 as the book has them
CREATE FUNCTION tables(cells int, size int) RETURNS numeric LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	n numeric := 1;
BEGIN
	FOR j IN 1 .. size LOOP
		n := n * (cells + j - 1) / j;
	END LOOP;
	RETURN round(n);
END $$;
CREATE TABLE small AS SELECT i, (2 + floor(random() * 7))::int AS cells, (3 + floor(random() * 200))::int AS queries, e, 1000 * k AS n, round((0.35 + 0.6 * random())::numeric, 6) AS alpha FROM price WHERE i <= 30;
SELECT is_empty($$SELECT s.*, x.*, want FROM small s, dp_smalldb_error(cells, queries, e, n, alpha => s.alpha) x, LATERAL (SELECT ceil(ln(queries::numeric(60, 50)) / (s.alpha * s.alpha))::int) m(m),
	LATERAL (SELECT (16 * ln(cells::numeric(60, 50)) * ln(queries::numeric(60, 50)) + 4 * ln(20::numeric(60, 50))) / (e * n)) y(cube), LATERAL (SELECT exp((ln(cube::numeric(60, 50)) / 3)::numeric(60, 50))) w(want)
	WHERE (x.size = m AND x.candidates = tables(cells, m) AND abs(x.theorem_alpha::numeric - want) <= 1e-12 * want) IS NOT TRUE$$, 'sizes, candidates and the alpha of SmallDB');

-- Theorem 5.6 with Algorithm 5: the alpha that is what it promises at its own number of rounds; noise of all tables of two columns
CREATE TABLE workload AS SELECT i, ARRAY[2 + i % 4, 3, 2 + i / 20, 2] AS sizes, greatest(e, 0.01) AS e, 100 * k AS n, greatest(d, 1e-9) AS d FROM price;
SELECT is_empty($$SELECT w.*, x.*, want FROM workload w, dp_synthesize_error(sizes, 2, e, n, d) x, LATERAL (SELECT sum(a * b) AS q, count(*) AS t FROM unnest(sizes) WITH ORDINALITY u(a, i), unnest(sizes) WITH ORDINALITY v(b, j) WHERE u.i < v.j) y,
	LATERAL (SELECT 16 * ln((sizes[1] * sizes[2] * sizes[3] * sizes[4])::numeric(60, 40)) / x.theorem_alpha::numeric(60, 40) ^ 2) r(times), LATERAL (SELECT 32 * times * ln(2 * times * q / 0.05) / (n * e)) z(want)
	WHERE (x.table_cells = q AND x.tables = t AND abs(x.theorem_alpha::numeric(60, 40) - want) <= 1e-12 * want) IS NOT TRUE$$, 'sizes of a workload and Theorem 5.6');

-- sparse vector: T52's alpha, Theorems 3.24, 3.26 and 3.28; whole numbers
CREATE FUNCTION whole(have numeric, want numeric) RETURNS boolean IMMUTABLE LANGUAGE sql AS
	'SELECT have > want - 2 AND have < want + 1 AND have = trunc(have)';
CREATE TABLE sparse AS SELECT i, k + s AS k, least(k + s, s) AS c, e, 1 - p.c AS beta, p.c AS confidence, greatest(d, 1e-9)::numeric(60, 50) AS d FROM price p;
SELECT is_empty($$SELECT s.*, g FROM sparse s, LATERAL (SELECT ln(2 * k / beta::numeric(60, 40)), ln(2 / beta::numeric(60, 40))) l(one, two), (VALUES (false, 2), (true, 1)) m(monotone, factor),
		dp_sparse_vector_error(k, c, e, confidence => confidence, method => 'geometric', monotone => monotone) g
	WHERE (whole(g.alpha, (sqrt(factor * c * one) + sqrt(two)) ^ 2 / (2 * e)) AND g.threshold_epsilon + g.query_epsilon = e AND g.delta = 0) IS NOT TRUE$$, 'sparse vector, one-sided noise');
SELECT is_empty($$SELECT s.*, b FROM sparse s, dp_sparse_vector_error(k, c, e, confidence => confidence, method => 'book') b
	WHERE whole(b.alpha, 8 * c * (ln(k::numeric(60, 40)) + ln(2 * c / beta::numeric(60, 40))) / e) IS NOT TRUE$$, 'Theorems 3.24 and 3.26');
-- where the theorem does not hold for a delta the plan is refused
CREATE FUNCTION with_delta(k bigint, c bigint, e numeric, d numeric, confidence numeric, OUT alpha numeric, OUT epsilon numeric, OUT delta numeric) LANGUAGE plpgsql AS $$
BEGIN
	SELECT x.alpha, x.epsilon, x.delta INTO alpha, epsilon, delta FROM dp_sparse_vector_error($1, $2, $3, $4, confidence => $5, method => 'book') x;
EXCEPTION WHEN invalid_parameter_value THEN
	NULL;
END $$;
CREATE TABLE delta AS SELECT s.*, b.alpha, b.epsilon AS spent, b.delta AS lost FROM sparse s, with_delta(k, c, e, d, confidence) b;
SELECT is_empty($$SELECT * FROM delta
	WHERE alpha IS NOT NULL AND (whole(alpha, sqrt(512 * c * ln(1 / d)) * (ln(k::numeric(60, 40)) + ln(2 * c / beta::numeric(60, 40))) / e) AND spent <= e AND lost <= d) IS NOT TRUE$$, 'Theorem 3.26 with delta');
SELECT cmp_ok(count(alpha), '>', 20::bigint, 'which most plans are by') FROM delta;
SELECT is_empty($$SELECT s.*, b FROM sparse s, dp_sparse_vector_error(k, c, e, confidence => confidence, method => 'book', numeric_answers => true) b
	WHERE whole(b.alpha, 9 * c * (ln(k::numeric(60, 40)) + ln(4 * c / beta::numeric(60, 40))) / e) IS NOT TRUE$$, 'Theorem 3.28');
CREATE FUNCTION numeric_with_delta(k bigint, c bigint, e numeric, d numeric, confidence numeric, OUT alpha numeric, OUT epsilon numeric, OUT delta numeric) LANGUAGE plpgsql AS $$
BEGIN
	SELECT x.alpha, x.epsilon, x.delta INTO alpha, epsilon, delta FROM dp_sparse_vector_error($1, $2, $3, $4, confidence => $5, method => 'book', numeric_answers => true) x;
EXCEPTION WHEN invalid_parameter_value THEN
	NULL;
END $$;
-- the answers' own error where it is larger: 2c p^(a+1)/(1+p) <= beta/2
CREATE TABLE numeric_delta AS SELECT s.*, b.alpha, b.epsilon AS spent, b.delta AS lost FROM sparse s, numeric_with_delta(k, c, e, d, confidence) b;
SELECT is_empty($$SELECT s.*, asks, answers FROM numeric_delta s, LATERAL (SELECT sqrt(512::numeric(60, 50)), sqrt((8 * c * ln(2 / d))::numeric(60, 40))) x(share, root),
		LATERAL (SELECT e * share / (share + 1) / root, e / (share + 1) / root) y(each, answer),
		LATERAL (SELECT 8 / each * (ln(k::numeric(60, 40)) + ln(4 * c / beta::numeric(60, 40))), ln(4 * c / (beta * (1 + exp(-answer)))::numeric(60, 40)) / answer - 1) z(asks, answers)
	WHERE alpha IS NOT NULL AND (whole(alpha, greatest(asks, answers)) AND spent <= e AND lost <= d) IS NOT TRUE$$, 'Theorem 3.28 with delta');
SELECT cmp_ok(count(alpha), '>', 20::bigint, 'which most plans are by') FROM numeric_delta;

-- multiplicative weights: T55 and T56 at the alpha that is said, and no less would do
CREATE FUNCTION updates(method text, x bigint, q bigint, alpha numeric) RETURNS bigint IMMUTABLE LANGUAGE sql AS
	$$SELECT least(q, 1 + floor(CASE method WHEN 'book' THEN 4 ELSE 0.50000001 END * ln(x::numeric(60, 40)) / (alpha * alpha)))::bigint$$;
CREATE FUNCTION noise(method text, k bigint, c bigint, e numeric, beta numeric, d bigint) RETURNS numeric IMMUTABLE LANGUAGE sql AS $$
	SELECT d / e::numeric(60, 40) * CASE method WHEN 'book' THEN 9 * c * (ln(k::numeric(60, 40)) + ln(4 * c / beta::numeric(60, 40)))
		ELSE (sqrt((2 * c * ln(4 * k / beta::numeric(60, 40)))::numeric(60, 40)) + sqrt(ln(4 / beta::numeric(60, 40)))) ^ 2 / 2 + c * ln(2 * c / beta::numeric(60, 40)) END
$$;
CREATE FUNCTION weights_plan(x bigint, q bigint, e numeric, n bigint, confidence numeric, method text, d bigint, OUT alpha numeric, OUT error numeric, OUT updates bigint, OUT threshold bigint, OUT noise numeric, OUT step numeric,
	OUT spent numeric) LANGUAGE plpgsql AS $$
BEGIN
	SELECT p.alpha, p.error, p.updates, p.threshold, p.noise, p.step, p.epsilon INTO alpha, error, updates, threshold, noise, step, spent FROM dp_weights_error(x, q, e, n, confidence => confidence, method => method, sensitivity => d) p;
EXCEPTION WHEN invalid_parameter_value THEN
	NULL;
END $$;
CREATE TABLE weights AS SELECT r.*, p.* FROM (SELECT i, 1 + k * s AS x, k + s AS q, e, ceil(10 ^ (4 + 4 * random()))::bigint AS n, 1 - c AS beta, c AS confidence, method, 1 + i % 3 AS d
	FROM price, unnest(ARRAY['geometric', 'book']) method) r, weights_plan(x, q, e, n, confidence, method, d) p;
SELECT is_empty($$SELECT * FROM weights w WHERE alpha IS NOT NULL AND (w.updates = updates(method, x, q, alpha) AND threshold = floor(alpha * n) + 2 + noise AND error = threshold + noise + 1 AND error <= 3 * alpha * n
	AND step = alpha * CASE method WHEN 'book' THEN 0.5 ELSE 4 END AND spent <= e) IS NOT TRUE$$, 'T55 and T56');
SELECT is_empty($$SELECT w.*, want FROM weights w, noise(method, q, w.updates, e, beta, d) y(want) WHERE alpha IS NOT NULL AND whole(w.noise, want) IS NOT TRUE$$, 'the noise of their answers');
SELECT is_empty($$SELECT w.*, want, gap FROM weights w, LATERAL (SELECT coalesce(alpha * (1 - 3e-5), 1 / 3.0)) v(less), LATERAL (SELECT noise(method, q, updates(method, x, q, less), e, beta, d), floor(less * n)) y(want, gap)
	WHERE (want + 1 > gap - 2) IS NOT TRUE$$, 'a smaller alpha would not do, nor any where none is said');
SELECT cmp_ok(count(alpha), '>', 20::bigint, method || ': which most have') FROM weights GROUP BY method;

SELECT * FROM finish();
DROP SCHEMA regress_random CASCADE;
