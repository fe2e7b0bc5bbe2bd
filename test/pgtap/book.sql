-- What plans by the book compute, with random parameters at every run, against
-- slow independent implementations in SQL: to a relative 10^-12, and never on
-- the unsafe side.  Nothing is a sample of noise: the false-alarm rate is 0.
\set QUIET on
\pset format unaligned
\pset tuples_only on
\pset pager off
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS dp_pg;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE SCHEMA regress_book;
SET search_path = regress_book, public;
SELECT * FROM no_plan();

CREATE FUNCTION above(have numeric, want numeric) RETURNS boolean IMMUTABLE LANGUAGE sql AS
	'SELECT have >= want * (1 - 1e-22) AND have <= want * (1 + 1e-12)';
CREATE FUNCTION below(have numeric, want numeric) RETURNS boolean IMMUTABLE LANGUAGE sql AS
	'SELECT have <= want * (1 + 1e-22) AND have >= want * (1 - 1e-12) - 1e-23';
CREATE TABLE seed AS SELECT coalesce(nullif(current_setting('dp_test.seed', true), ''), random()::text)::float8 AS seed;
SELECT setseed(seed) FROM seed \g /dev/null
SELECT diag('again: PGOPTIONS=''-c dp_test.seed=' || seed || '''') FROM seed;

-- Theorems 3.16 and 3.20, Corollary 3.21: numeric has as many digits as asked for
CREATE TABLE compose AS
SELECT round((10 ^ (-3 * random()))::numeric, 12) AS e, round((10 ^ (-9 * random()))::numeric, 12) AS d, ceil(10 ^ (4 * random()))::bigint AS k,
	round((10 ^ (-0.3 - 9 * random()))::numeric, 12) AS s FROM generate_series(1, 300);
SELECT is_empty($$SELECT c.*, b FROM compose c, dp_compose_basic(e, d, k) b WHERE (b.epsilon = k * e AND b.delta = least(1, k * d)) IS NOT TRUE$$, 'k equal ones');
SELECT is_empty($$SELECT c.*, a FROM compose c, dp_compose_advanced(e, d, k, s) a
	WHERE (above(a.epsilon, sqrt(2 * k * ln(1 / s::numeric(60, 50))) * e + k * e * (exp(e::numeric(60, 50)) - 1)) AND a.delta = least(1, k * d + s)) IS NOT TRUE$$, 'Theorem 3.20');
SELECT cmp_ok(count(*) FILTER (WHERE k * d > 1), '>', 3::bigint, 'of which some have reached a delta of 1') FROM compose;
SELECT is_empty($$SELECT c.*, o FROM compose c, dp_compose_optimal(e, d, k, s) o
	WHERE k <= 1000 AND (o.delta = least(1, k * d + s) AND o.epsilon <= k * e AND o.epsilon <= (dp_compose_advanced(e, d, k, s)).epsilon) IS NOT TRUE$$, 'the optimum is no more than either');
SELECT is_empty($$SELECT c.*, b FROM (SELECT array_agg(e) AS es, array_agg(d) AS ds, sum(e) AS e, sum(d) AS d FROM compose GROUP BY k % 7) c, dp_compose_basic(es, ds) b
	WHERE (b.epsilon = e AND b.delta = least(1, d)) IS NOT TRUE$$, 'different ones');
SELECT is_empty($$SELECT c.*, f FROM compose c, dp_epsilon_for(e, k, s) f
	WHERE s < 0.1 AND NOT below(f, e / (2 * sqrt(2 * k * ln(1 / s::numeric(60, 50)))))$$, 'Corollary 3.21');

-- optimal composition: delta of the answer, by its sum of binomials in numeric
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
CREATE TABLE small AS SELECT e, s, least(k, 25)::int AS k FROM compose LIMIT 40;
SELECT is_empty($$SELECT c.*, o.epsilon FROM small c, dp_compose_optimal(e, 0, k, s) o
	WHERE (optimal_delta(e, k, o.epsilon) <= s AND (o.epsilon < 1e-9 OR optimal_delta(e, k, o.epsilon * (1 - 1e-9)) > s)) IS NOT TRUE$$, 'the optimum keeps delta, and nothing less does');

-- dp_plan: adaptive filters and batches, the largest epsilon that their own formula admits
CREATE TABLE plan AS SELECT round((10 ^ (1 - 2 * random()))::numeric, 6) AS total, s, ceil(k / 10.0)::bigint AS k FROM compose LIMIT 60;
SELECT is_empty($$SELECT p.*, q FROM plan p, dp_plan(total, s, k) q
	WHERE kind = 'registered batch' AND epsilon_per_query IS NOT NULL AND (CASE filter
		WHEN 'theorem 3.20' THEN below(sqrt(2 * k * ln(1 / s::numeric(60, 50))) * epsilon_per_query + k * epsilon_per_query * (exp(epsilon_per_query::numeric(60, 50)) - 1), total)
		WHEN 'corollary 3.21' THEN below(epsilon_per_query, total / (2 * sqrt(2 * k * ln(1 / s::numeric(60, 50)))))
		WHEN 'optimal' THEN k > 25 OR optimal_delta(epsilon_per_query, k::int, total) <= s END) IS NOT TRUE$$, 'rows of dp_plan for batches');
SELECT is_empty($$SELECT p.*, q FROM plan p, dp_plan(total, s, k) q
	WHERE filter = 'basic' AND (epsilon_per_query * k <= total AND (epsilon_per_query + 1e-24) * k > total) IS NOT TRUE$$, 'rows of dp_plan for basic composition');
SELECT is_empty($$SELECT p.*, q FROM plan p, dp_plan(total, s, k) q
	WHERE filter = 'advanced' AND epsilon_per_query > 1e-9 AND below(epsilon_per_query::numeric(60, 50) ^ 2 * k, (sqrt(2 * ln(2 / s::numeric(60, 50)) + 2 * total) - sqrt(2 * ln(2 / s::numeric(60, 50)))) ^ 2) IS NOT TRUE$$, 'rows of dp_plan for the advanced filter');
SELECT set_eq('SELECT DISTINCT filter FROM plan, dp_plan(total, s, k) WHERE kind = ''registered batch''', ARRAY['theorem 3.20', 'corollary 3.21', 'optimal'], 'no batch is left out');

-- Theorem 3.22 where it holds
CREATE TABLE gauss AS SELECT CASE WHEN i % 5 = 0 THEN 1 ELSE e END AS e, s AS d FROM (SELECT e, s, row_number() OVER () AS i FROM compose) c;
SELECT is_empty($$SELECT g.*, s FROM gauss g, dp_gaussian_sigma(1, e, d, 'classical') s
	WHERE (above(s, sqrt(2 * ln(1.25 / d::numeric(60, 50))) / e) AND dp_zcdp_epsilon(dp_gaussian_rho(1, s), d) <= e) IS NOT TRUE$$, 'the sigma of Theorem 3.22, confirmed for discrete noise');

-- the exact delta of discrete Gaussian noise, summed term by term
CREATE FUNCTION gaussian_delta(v numeric, e numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
	SELECT sum(p * greatest(0, 1 - exp((e - (2 * x + 1) / (2 * v))::numeric(60, 40)))) / sum(p)
	FROM generate_series(-1000, 1000) x, LATERAL (SELECT exp((-x * x / (2 * v))::numeric(80, 60))) n(p)
	WHERE x * x < 2 * v * 130
$$;
SELECT is_empty($$SELECT g.*, s FROM (SELECT greatest(e, 0.2) AS e, greatest(d, 1e-8) AS d FROM gauss LIMIT 12) g, dp_gaussian_sigma(1, e, d, 'classical') s, dp_gaussian_delta(1, s, e) have
	WHERE (have <= d AND above(have, gaussian_delta(s * s, e))) IS NOT TRUE$$, 'and its exact delta');

-- Algorithm 5, in numeric
CREATE FUNCTION step(x numeric[], f numeric[], v numeric, eta numeric) RETURNS numeric[] LANGUAGE sql IMMUTABLE AS $$
	WITH cell AS (SELECT x::numeric(60, 50), f::numeric(60, 50), o FROM unnest($1, $2) WITH ORDINALITY u(x, f, o)),
		hat AS (SELECT x * exp(-eta * CASE WHEN v < (SELECT sum(x * f) / sum(x) FROM cell) THEN f ELSE 1 - f END) AS x, o FROM cell)
	SELECT array_agg(x / (SELECT sum(x) FROM hat) ORDER BY o) FROM hat
$$;
CREATE TABLE weights AS
SELECT i, array_agg((x / s)::float8 ORDER BY c) AS x, array_agg(f ORDER BY c) AS f, random() AS v, 1e-6 + random() * 0.999 AS eta
FROM (SELECT i, c, x, f, sum(x) OVER (PARTITION BY i) AS s
	FROM (SELECT i, c, random() ^ 4 AS x, CASE WHEN i % 3 = 0 THEN round(random()::numeric)::float8 ELSE random() END AS f FROM generate_series(1, 100) i, generate_series(1, 1 + i) c) r) r GROUP BY i;
SELECT is_empty($$SELECT i FROM weights, unnest(dp_weights_step(x, f, v, eta), step(x::numeric[], f::numeric[], v::numeric, eta::numeric)) AS u(have, want)
	WHERE (abs(have::numeric - want) <= 1e-12 * want + 1e-300) IS NOT TRUE$$, 'a step of multiplicative weights');
SELECT is_empty($$SELECT i FROM weights WHERE abs((SELECT sum(p) FROM unnest(dp_weights_step(x, f, v, eta)) p) - 1) > 1e-12$$, 'which adds up to 1');
-- with exact answers, so many steps are enough (Theorem 4.10): the book's eta = alpha/2
CREATE FUNCTION follow(alpha float8) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	x float8[] := array_fill(1.0 / 16, ARRAY[16]);
	truth float8[] := ARRAY(SELECT 2.0 * i / 240 FROM generate_series(0, 15) i);
	f float8[];
	updates int := 0;
BEGIN
	FOR question IN 1 .. 5000 LOOP
		f := ARRAY(SELECT random() FROM generate_series(1, 16));
		IF question % 2 = 0 THEN
			f := ARRAY(SELECT (i < question / 2 % 16)::int FROM generate_series(0, 15) i);
		END IF;
		CONTINUE WHEN abs((SELECT sum(a * c) - sum(b * c) FROM unnest(x, truth, f) u(a, b, c))) <= alpha;
		updates := updates + 1;
		x := dp_weights_step(x, f, least(1, (SELECT sum(b * c) FROM unnest(truth, f) u(b, c))), alpha / 2);
	END LOOP;
	RETURN updates;
END $$;
SELECT ok(follow(alpha) BETWEEN 1 AND 1 + 4 * ln(16) / alpha ^ 2, 'updates stay below 1 + 4 ln|X|/alpha^2 at alpha ' || alpha) FROM unnest('{0.1,0.05}'::float8[]) alpha;

-- Definition 4.2: all subsets of the cells, tried one by one
CREATE TABLE cell (x int NOT NULL);
SELECT dp_protect('cell', dataset => 'regress_book') \g /dev/null
SELECT dp_declare('cell', 'x', lower => 0, upper => 8) \g /dev/null
CREATE FUNCTION pg_temp.have(masks int[]) RETURNS text LANGUAGE sql AS
	$$SELECT (dimension, exact, shattered, queries_apart)::text FROM public.dp_vc_dimension('regress_book.cell', ARRAY['x'], ARRAY(SELECT format('%s >> x & 1 = 1', m) FROM unnest(masks) m))$$;
CREATE FUNCTION dimension(masks int[]) RETURNS text LANGUAGE sql AS $$
	SELECT (d, true, d, (SELECT count(DISTINCT m) FROM unnest(masks) m))::text
	FROM (SELECT max(bits) AS d FROM (
		SELECT bits, count(DISTINCT m & s) AS classes
		FROM generate_series(0, 511) s, LATERAL (SELECT length(replace(s::bit(9)::text, '0', ''))) b(bits), unnest(masks) m
		GROUP BY s, bits) t WHERE classes = 2 ^ bits) d
$$;
CREATE TABLE masks AS SELECT i, array_agg(floor(random() * 512)::int & CASE WHEN i % 3 = 0 THEN 219 ELSE 511 END) AS m
FROM (SELECT i, ceil(2 ^ (random() * 8))::int AS n FROM generate_series(1, 60) i) r, LATERAL generate_series(1, n) GROUP BY i;
SELECT is_empty($$SELECT i, m FROM masks WHERE pg_temp.have(m) IS DISTINCT FROM dimension(m)$$, 'the VC dimension of random queries');
SELECT cmp_ok(count(DISTINCT dimension(m)), '>', 8::bigint, 'which differs') FROM masks;

SELECT * FROM finish();
DROP SCHEMA regress_book CASCADE;
