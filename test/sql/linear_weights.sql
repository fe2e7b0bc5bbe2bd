-- Linear queries with weights from 0 to 1: dp_sparse_vector and its sessions,
-- dp_argmax, dp_net, dp_weights sessions; and which functions take only
-- predicates.
--
-- Weights and data are drawn anew in every run and compared with granules
-- added up in plain SQL.  Epsilon is 100000 for at most 32 answers (1000000 in
-- sessions): scales are below 32 * 3 / 100000, so that a comparison or an
-- answer is off with probability below exp(-1000) each.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test linear_weights
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
CREATE TABLE drawn (a int, b numeric, f float8, r real, s smallint, g boolean, k int NOT NULL);
INSERT INTO drawn SELECT
	CASE WHEN random() < .9 THEN (random() * 140)::int - 10 END,
	CASE WHEN random() < .9 THEN (random() * 1.2 - .1)::numeric(12, 9) END,
	CASE WHEN random() < .8 THEN random() * 1.2 - .1 WHEN random() < .5 THEN 'NaN' ELSE 'Infinity' END,
	random(), (random() * 3)::int, random() < .5, i % 8
FROM generate_series(1, 500 + (random() * 500)::int) i;
SELECT dp_protect('drawn', dataset => :'schema') \g /dev/null
SELECT dp_declare('drawn', 'a', lower => 0, upper => 120) \g /dev/null
SELECT dp_declare('drawn', 'b', lower => 0, upper => 1) \g /dev/null
SELECT dp_declare('drawn', 'r', lower => 0, upper => 1) \g /dev/null
SELECT dp_declare('drawn', 's', lower => 0, upper => 3) \g /dev/null
SELECT dp_declare('drawn', 'k', lower => 0, upper => 7) \g /dev/null
RESET ROLE;

-- a weight by its number, with constants of this run
CREATE FUNCTION some_weight(i int) RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT format((ARRAY[
		'a / 120.0', 'a / %s.0', 'b', 'least(greatest(f * %s / 90.0, 0), 1)', 'r',
		'CASE WHEN a < %s THEN b ELSE 0.%s END', 'least(greatest(b - 0.%s, 0), 1)',
		's / 3.0', 's / 3', 'a / 200', '0.%s', 'coalesce(b, 0.%s)', 'b * r',
		'CASE WHEN g THEN 0.%s END', 'abs(b - r)', '1 - b', 'NULL::numeric', '1', '0'])[1 + i % 19],
		1 + 120 + (random() * 60)::int, 10 + (random() * 89)::int)
$$;
-- the rows it comes to, by definition: granules of rows, added and rounded
CREATE FUNCTION slow(relation text, weight text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	EXECUTE format($q$
		SELECT floor((coalesce(sum(g), 0) + 524288) / 1048576) FROM (
			SELECT CASE WHEN w <> 'NaN' THEN floor(least(greatest(w, 0), 1) * 1048576 + 0.5) END AS g
			FROM (SELECT (%1$s)::float8 AS w FROM %2$s) x) y $q$, weight, relation) INTO n;
	RETURN n;
END $$;
CREATE TABLE asked AS SELECT i, some_weight(i) AS weight, 0::bigint AS rows FROM generate_series(0, 31) i;
UPDATE asked SET rows = slow('drawn', weight);
GRANT SELECT ON asked TO :analyst;

SET ROLE :analyst;
SELECT spent() \g /dev/null
-- all at once, and mixed with predicates
SELECT count(*), bool_and(v.answer = a.rows) AS exact
FROM dp_sparse_vector('drawn', (SELECT array_agg(weight ORDER BY i) FROM asked), -1,
	cutoff => 32, numeric_answers => true) v JOIN asked a ON a.i = v.query - 1;
SELECT * FROM spent();
SELECT v.above, v.answer = (SELECT CASE query WHEN 2 THEN rows END FROM asked WHERE i = 2) AS exact
FROM dp_sparse_vector('drawn', ARRAY['k = 0', 'b', 'false'], 1, cutoff => 3, numeric_answers => true) v
WHERE query > 1;
-- a threshold between two weights
SELECT bool_and(v.above = (a.rows >= 200)) FROM dp_sparse_vector('drawn',
	(SELECT array_agg(weight ORDER BY i) FROM asked WHERE abs(rows - 200) > 3), 200, cutoff => 32) v
JOIN (SELECT weight, rows FROM asked WHERE abs(rows - 200) > 3) a ON a.weight = v.predicate;
-- one of the heaviest
SELECT (SELECT max(rows) FROM asked WHERE weight = chosen) = (SELECT max(rows) FROM asked)
FROM dp_argmax('drawn', (SELECT array_agg(weight ORDER BY i) FROM asked)) chosen;
SELECT given, per_row FROM dp_predicate_cost('drawn', ARRAY['b', 'k = 1', 'a / 120.0']);
-- one at a time
SELECT dp_sparse_vector_open('drawn', -1, 32, 1000000, 40, numeric_answers => true) AS s \gset
SELECT bool_and(v.answer = rows) FROM asked, LATERAL dp_sparse_vector_ask(:s, weight) v;
-- one row less moves each number of rows by 1 at most, downwards; a row that is
-- replaced, by 1 either way.  Without the clamp the same rows move more.
RESET ROLE;
SET ROLE :owner;
CREATE TABLE fewer AS SELECT * FROM drawn;
DELETE FROM fewer WHERE ctid = (SELECT ctid FROM fewer ORDER BY f <> 'NaN' AND f > 1.05 DESC, a LIMIT 1);
CREATE TABLE other AS SELECT * FROM fewer;
INSERT INTO other SELECT 119, .99, 0, 1, 0, true, 1;
SELECT dp_protect(t, dataset => :'schema'), dp_declare(t, 'a', lower => 0, upper => 120), dp_declare(t, 'b', lower => 0, upper => 1),
	dp_declare(t, 'r', lower => 0, upper => 1), dp_declare(t, 's', lower => 0, upper => 3), dp_declare(t, 'k', lower => 0, upper => 7)
FROM unnest('{fewer,other}'::regclass[]) t \g /dev/null
RESET ROLE;
SET ROLE :analyst;
CREATE FUNCTION released(relation regclass) RETURNS bigint[] LANGUAGE sql AS $$
	SELECT array_agg(answer ORDER BY query) FROM dp_sparse_vector(relation,
		(SELECT array_agg(weight ORDER BY i) FROM asked), -1, cutoff => 32, numeric_answers => true)
$$;
SELECT bool_and(d BETWEEN 0 AND 1) AS removed, bool_or(d = 1) AS power, bool_and(abs(e) <= 1) AS replaced
FROM (SELECT unnest(released('drawn')) - unnest(released('fewer')) AS d,
	unnest(released('drawn')) - unnest(released('other')) AS e) moved;
RESET ROLE;
SELECT abs((SELECT sum(a * 1.0 + coalesce(f, 0)) FROM drawn WHERE f < 'Infinity') - (SELECT sum(a * 1.0 + coalesce(f, 0)) FROM other WHERE f < 'Infinity')) > 1
	AS without_the_clamp;
SET ROLE :analyst;
-- the net mechanism: candidate 3 says what is true
CREATE TABLE candidate AS SELECT c, (SELECT array_agg(rows + 5 * (3 - c)::numeric ORDER BY i) FROM asked) AS answers
	FROM generate_series(1, 5) c;
SELECT * FROM dp_net('drawn', 'candidate', (SELECT array_agg(weight ORDER BY i) FROM asked)) AS t(c int);
-- through a view, whose own expression is the weight
RESET ROLE;
SET ROLE :owner;
CREATE VIEW weighed AS SELECT a / 120.0 AS w, f, k FROM drawn;
GRANT SELECT ON weighed TO :analyst;
RESET ROLE;
SET ROLE :analyst;
SELECT v.answer = (SELECT rows FROM asked WHERE i = 0) FROM dp_sparse_vector('weighed', ARRAY['w'], -1,
	numeric_answers => true) v;

-- what is not from 0 to 1, or not known to be, costs nothing
SELECT weight, state, hinted, charges FROM unnest(ARRAY[
	'a', 'f', 'a / 100.0', 'b - 0.1', 'a / 0.0', 'k', 'least(b, 1)', 'greatest(f, 0)', '2', '-1', '1.0000001', 'sqrt(b)', 'random()',
	'b::text', '(SELECT 1)', 'sum(b)', 'born']) weight,
	LATERAL outcome(format('SELECT * FROM dp_sparse_vector(''drawn'', ARRAY[%L], 5)', weight));
SELECT weight, state, hinted, charges FROM unnest(ARRAY['a', 'a / 100.0']) weight,
	LATERAL outcome(format('SELECT dp_argmax(''drawn'', ARRAY[''k = 1'', %L])', weight));
SELECT state, hinted, charges FROM
	outcome(format('SELECT * FROM dp_sparse_vector_ask(%s, ''a'')', :s));
\set VERBOSITY default
SELECT * FROM dp_sparse_vector('drawn', ARRAY['b', 'a'], 5);
SELECT * FROM dp_sparse_vector('drawn', ARRAY['f'], 5);
\set VERBOSITY sqlstate
-- the aggregate below is for conditions: no query can put a weight in its array
SELECT dp_pg.conditions(ARRAY[b]) FROM drawn;
-- predicates only
SELECT call, state, hinted, charges FROM unnest(ARRAY[
	'SELECT * FROM dp_smalldb_error(''drawn'', ARRAY[''k''], ARRAY[''k = 1'', ''k = 2'', ''k / 7.0''], 1, 500)',
	'SELECT * FROM dp_smalldb(''drawn'', ARRAY[''k''], ARRAY[''k = 1'', ''k = 2'', ''k''], n => 500, alpha => .9) AS t(k int)',
	'SELECT * FROM dp_vc_dimension(''drawn'', ARRAY[''k''], ARRAY[''k / 7.0''])',
	'SELECT * FROM dp_synthesize(''drawn'', ARRAY[''k'', ''g''], ARRAY[''k / 7.0''], epsilon => 1) AS t(k int, g boolean)']) call,
	LATERAL outcome(call);
\set VERBOSITY terse
SELECT * FROM dp_vc_dimension('drawn', ARRAY['k'], ARRAY['k / 7.0']);
\set VERBOSITY sqlstate

-- ---- SmallDB ----

-- of all tables of three rows the best one is chosen, by weights of 128 granules
RESET ROLE;
SELECT count(*) AS n FROM drawn \gset
CREATE TABLE wish AS SELECT i, format((ARRAY['k / %s.0', 'power(k / 7.0, 1.%s)', 'k IN (1, 2, %s)', '(7 - k) / 9.%s'])[i], 7 + (random() * 2)::int) AS query
FROM generate_series(1, 4) i;
CREATE FUNCTION coarse(query text, relation text) RETURNS TABLE (k int, w bigint) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT k, floor(floor(%s * 1048576 + 0.5) / 8192 + 0.5)::bigint FROM %s',
		CASE WHEN query ~ 'IN' THEN '(' || query || ')::int::float8' ELSE '(' || query || ')::float8' END, relation);
END $$;
CREATE TABLE wished AS SELECT i, k, w FROM wish, LATERAL coarse(query, '(SELECT generate_series(0, 7) AS k) c');
CREATE TABLE truth AS SELECT i, (SELECT sum(w) FROM coarse(query, 'drawn')) AS granules FROM wish;
GRANT SELECT ON wish, wished, truth TO :analyst;
SET ROLE :analyst;
CREATE TABLE small AS SELECT * FROM dp_smalldb('drawn', ARRAY['k'], (SELECT array_agg(query ORDER BY i) FROM wish), n => :n, alpha => .7) AS t(k int);
SELECT count(*) FROM small;
WITH candidate AS (
	SELECT a, b, c, max(abs(3 * granules - :n * (x.w + y.w + z.w))) AS worst
	FROM generate_series(0, 7) a, generate_series(a, 7) b, generate_series(b, 7) c, truth
	JOIN wished x USING (i) JOIN wished y USING (i) JOIN wished z USING (i)
	WHERE x.k = a AND y.k = b AND z.k = c GROUP BY a, b, c)
SELECT count(*) AS candidates, (SELECT worst FROM candidate WHERE ARRAY[a, b, c] = (SELECT array_agg(k ORDER BY k) FROM small)) = min(worst) AS best FROM candidate;
SELECT parameters -> 'granules' AS granules FROM dp_pg.releases WHERE mechanism = 'smalldb' ORDER BY id DESC LIMIT 1;

-- ---- multiplicative weights ----

-- weights of the cells of (k, g): what a session answers is within 3 alpha n
-- of the rows
RESET ROLE;
SELECT count(*) AS n FROM drawn \gset
CREATE TABLE question AS SELECT i, weight, slow('drawn', weight) AS rows FROM (
	SELECT i, format((ARRAY['k / %s.0', '(7 - k) / 7.0', 'CASE WHEN g THEN k / 9.0 ELSE 0.%s END', 'power(k / 7.0, 2.%s)',
		'CASE WHEN k IN (1, 2, 5) THEN 0.%s ELSE 0.5 END', 'k = %s', '1 / (1 + exp(k - 3.%s))'])[1 + i % 7], 7 + i % 3, 10 + (random() * 89)::int) AS weight
	FROM generate_series(1, 60) i) q WHERE weight !~ '=';
GRANT SELECT ON question TO :analyst;
SET ROLE :analyst;
SELECT dp_weights_open('drawn', ARRAY['k', 'g'], 200, 1000000, n => :n) AS s \gset
SELECT 3 * (details::json ->> 'alpha')::float8 AS within FROM dp_pg.session WHERE id = :s \gset
SELECT count(*) > 40 AS many, bool_and(abs(v.answer - q.rows) <= :within * :n) AS near,
	bool_and(v.fraction BETWEEN 0 AND 1) AS fractions, bool_or(v.updated) AS learned
FROM question q, LATERAL dp_weights_ask(:s, weight) v(answer, fraction, updated, questions, updates);
SELECT bool_and(CASE WHEN v.updated THEN v.answer = q.rows ELSE true END) AS exact
FROM question q, LATERAL dp_weights_ask(:s, weight) v(answer, fraction, updated, questions, updates);
-- what the hypothesis says for nothing is its mean weight
SELECT abs(fraction - (SELECT sum(probability * k / 7.0) FROM dp_weights_hypothesis(:s) AS t(k int, g boolean, probability float8))) < 1e-6 AS mean
FROM dp_weights_estimate(:s, 'k / 7.0');
-- the guesses are those of Algorithm 5 in SQL, with the steps of theory.md T124:
-- at least eta, else so that the mean comes to the answer less the slack
CREATE FUNCTION replay(s bigint, n bigint, OUT updates bigint, OUT wrong boolean) LANGUAGE plpgsql AS $$
DECLARE
	a record;
	slack float8 := alpha + 0.5 FROM dp_pg.session WHERE id = s;
	eta float8 := details::json ->> 'step' FROM dp_pg.session WHERE id = s;
	p float8;
	low float8;
	high float8;
	now float8;
	move float8;
BEGIN
	CREATE TEMP TABLE cell ON COMMIT DROP AS
		SELECT k, g, 0.0::float8 AS f, 1.0::float8 AS w FROM generate_series(0, 7) k, (VALUES (true), (false), (NULL)) v(g);
	updates := 0;
	wrong := false;
	FOR a IN SELECT * FROM dp_pg.session_above WHERE session = s ORDER BY number LOOP
		updates := updates + 1;
		EXECUTE format('UPDATE cell SET f = floor(coalesce((%s)::float8, 0) * 1048576 + 0.5) / 1048576', a.predicate);
		SELECT sum(w * f) / sum(w) INTO now FROM cell;
		wrong := wrong OR abs(n * now - a.guess) > 0.5 + 1e-6;
		SELECT greatest(least((a.answer + CASE WHEN a.answer < a.guess THEN slack ELSE -slack END) / n,
			max(f) - (max(f) - min(f)) * .5 / n), min(f) + (max(f) - min(f)) * .5 / n) INTO p FROM cell;
		low := -600;
		high := 600;
		FOR i IN 1 .. 60 LOOP
			move := (low + high) / 2;
			SELECT sum(w * exp(move * f) * f) / sum(w * exp(move * f)) INTO now FROM cell;
			IF now < p THEN low := move; ELSE high := move; END IF;
		END LOOP;
		move := CASE WHEN a.answer < a.guess THEN least(low, -eta) ELSE greatest(low, eta) END;
		UPDATE cell SET w = w * exp(move * f);
	END LOOP;
	SELECT wrong OR max(abs(t.probability - c.w / c.total)) > 1e-6 INTO wrong
	FROM dp_weights_hypothesis(s) AS t(k int, g boolean, probability float8)
	JOIN (SELECT *, sum(w) OVER () AS total FROM cell) c ON t.k = c.k AND t.g IS NOT DISTINCT FROM c.g;
END $$;
SELECT updates > 2 AS learned, wrong FROM replay(:s, :n);
-- cells beyond 0 and 1, and what is not public
SELECT weight, state, hinted, charges FROM unnest(ARRAY['k', 'k / 6.0', '-k / 7.0', '1 / k', 'b', 'g::int', 'k / 7.0 + random()', '(SELECT 1)', 'k::text']) weight,
	LATERAL outcome(format('SELECT * FROM dp_weights_ask(%s, %L)', :s, weight));
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
