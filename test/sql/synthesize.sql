-- dp_synthesize and dp_synthesize_error.
--
-- The runs by method aim whose values are tested pay epsilon = 1000, rho above
-- 800, so that a measured count is wrong with probability below 1e-30: the
-- remaining errors are those of the fit and of rounding rows, some rows of
-- 1000, and bounds of 20 always hold.  Of others only the form is tested.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test synthesize
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

-- the largest difference of a table of two columns from the people's
CREATE FUNCTION off(relation regclass, one text, two text, OUT most bigint) LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
	EXECUTE format('SELECT max(abs(d)) FROM (SELECT sum(n) AS d FROM
		(SELECT %1$s AS x, %2$s AS y, count(*) AS n FROM %3$s AS t GROUP BY 1, 2 UNION ALL
		 SELECT %1$s, %2$s, -count(*) FROM truth AS t GROUP BY 1, 2) u GROUP BY x, y) s', one, two, relation) INTO most;
END $$;
-- the people as the universe has them: X is other, ages in four bins
CREATE TABLE truth AS SELECT CASE WHEN ward IN ('C', 'A', 'B', 'E') THEN ward ELSE 'other' END AS ward, sex, age, feel FROM person;

SET ROLE :analyst;
SET dp_pg.delta = '1e-9';
SELECT * FROM spent() \g /dev/null

CREATE TABLE made AS SELECT * FROM dp_synthesize('person', ARRAY['ward', 'sex', 'age', 'feel'], epsilon => 1000,
	bins => ARRAY[0, NULL, 4, 0], n => 1000) AS t(ward text, sex boolean, age integer, feel mood);
SELECT epsilon, delta, rho = dp_zcdp_rho(1000, 1e-9) AS rho, releases, mechanism FROM dp_pg.ledger
WHERE dataset = :'schema' ORDER BY id DESC LIMIT 1;
SELECT mechanism, relation, columns, parameters - 'mean_table_error' - 'max_table_error' - 'rounds' AS parameters,
	error BETWEEN 0 AND 100 AS error, target, delivered, epsilon, delta
FROM dp_pg.releases ORDER BY id DESC LIMIT 1;
SELECT count(*), count(DISTINCT ward) <= 5 AS wards, count(DISTINCT age) <= 4 AS ages, min(age) >= 0 AND max(age) <= 120 AS inside FROM made;
SELECT off('made', a, b) <= 20 AS near, a, b FROM (VALUES ('ward', 'sex'), ('ward', 'feel'), ('sex', 'feel'), ('ward', 'width_bucket(age, 0, 120.0001, 4)'),
	('sex', 'width_bucket(age, 0, 120.0001, 4)'), ('feel', 'width_bucket(age, 0, 120.0001, 4)')) v(a, b);

-- a rollback takes back the rows, not the charge
SELECT * FROM spent() \g /dev/null
BEGIN;
SELECT count(*) FROM dp_synthesize('person', ARRAY['ward', 'sex'], epsilon => 1.5, rows => 7) AS t(ward text, sex boolean);
ROLLBACK;
SELECT charges FROM spent();
SELECT delivered, (parameters ->> 'rows')::int AS rows FROM dp_pg.releases ORDER BY id DESC LIMIT 1;

-- a list of marginals; names as in SQL
SELECT count(*) FROM dp_synthesize('person', ARRAY['ward', 'sex', 'feel'], ARRAY['ward, "sex"', 'FEEL', 'sex,ward'], 1000,
	delta => 1e-6, n => 1000) AS t(ward text, sex boolean, feel mood);
SELECT columns, parameters -> 'sets' AS sets, parameters -> 'tables' AS tables FROM dp_pg.releases ORDER BY id DESC LIMIT 1;
-- one column, of which marginals of one are the default; all columns
SELECT count(*), count(sex) FROM dp_synthesize('person', ARRAY['sex'], epsilon => 1, rows => 10) AS t(sex boolean);
SELECT parameters -> 'marginals' AS marginals, parameters -> 'epsilon' AS epsilon, parameters -> 'delta' AS delta FROM dp_pg.releases ORDER BY id DESC LIMIT 1;
SELECT count(*) FROM dp_synthesize('person', ARRAY['sex', 'ward', 'feel'], 3, 1, rows => 1) AS t(sex boolean, ward text, feel mood);
-- without a public number of rows there are about as many
SELECT abs(count(*) - 1000) <= 3 AS near FROM dp_synthesize('person', ARRAY['sex', 'ward'], epsilon => 1000) AS t(sex boolean, ward text);
-- double precision parameters
SELECT count(*) FROM dp_synthesize('person', ARRAY['sex'], 1, 1::float8, delta => 1e-6::float8, rows => 5) AS t(sex boolean);
SELECT charges FROM spent();

-- multiplicative weights: pure
RESET dp_pg.delta;
SELECT count(*) FROM dp_synthesize('person', ARRAY['ward', 'sex', 'feel'], epsilon => 2, method => 'mwem', n => 1000) AS t(ward text, sex boolean, feel mood);
SELECT epsilon, delta, mechanism FROM dp_pg.ledger WHERE dataset = :'schema' ORDER BY id DESC LIMIT 1;
SELECT parameters - 'rounds' AS parameters, (parameters ->> 'rounds')::int > 0 AS rounds, error > 0 AS error FROM dp_pg.releases ORDER BY id DESC LIMIT 1;
SELECT count(*) > 0 FROM dp_synthesize('person', ARRAY['ward', 'sex'], epsilon => 100, method => 'mwem') AS t(ward text, sex boolean);
SELECT * FROM spent();

-- rows with a value that has no place, in any of the columns, are left out: undeclared keys, NaN in bins, outside of bounds
SET ROLE :owner;
CREATE TABLE gaps (id int PRIMARY KEY, k int, x float8, a int NOT NULL, b boolean NOT NULL);
INSERT INTO gaps SELECT i, i * 7 % 5, CASE WHEN i % 10 = 3 THEN 'NaN'::float8 ELSE i * 11 % 40 END, i * i % 13, i % 3 = 0 FROM generate_series(1, 3000) i;
SELECT dp_protect('gaps', dataset => :'schema'), dp_declare('gaps', 'k', keys => ARRAY[1, 2, 3]), dp_declare('gaps', 'x', lower => 0, upper => 40),
	dp_declare('gaps', 'a', lower => 0, upper => 11) \g /dev/null
SET ROLE :analyst;
CREATE TABLE filled AS SELECT * FROM dp_synthesize('gaps', ARRAY['k', 'x', 'a', 'b'], 2, 1000, bins => ARRAY[0, 4, 0, 0], delta => 1e-9)
	AS t(k int, x float8, a int, b boolean);
SELECT (parameters ->> 'n')::int = (parameters ->> 'rows')::int AS same FROM dp_pg.releases ORDER BY id DESC LIMIT 1;
RESET ROLE;
CREATE TABLE whole AS SELECT k, div(x::int, 10) AS x, a, b FROM gaps WHERE k IN (1, 2, 3) AND x <> 'NaN' AND a BETWEEN 0 AND 11;
SELECT count(*) BETWEEN 1000 AND 2000 AS some, abs(count(*) - (SELECT count(*) FROM filled)) <= 3 AS near FROM whole;
SELECT one, max(abs(d)) <= 20 AS near FROM (SELECT grouping(k, x, a, b) AS one, sum(n) AS d
	FROM (SELECT k, div(x::int, 10) AS x, a, b, 1 AS n FROM filled UNION ALL SELECT *, -1 FROM whole) u
	GROUP BY GROUPING SETS ((k, x), (k, a), (k, b), (x, a), (x, b), (a, b))) s GROUP BY one ORDER BY one;
-- such columns make n useless, and that is said; one more count of mwem, wrong by 60 with probability below 1e-30
SET ROLE :analyst;
SET client_min_messages = notice;
SELECT abs(count(*) - (SELECT count(*) FROM filled)) <= 60 AS near FROM dp_synthesize('gaps', ARRAY['k', 'x', 'a', 'b'], 1, 1000, n => 3000,
	bins => ARRAY[0, 4, 0, 0], method => 'mwem') AS t(k int, x float8, a int, b boolean);
SELECT count(*) FROM dp_synthesize('gaps', ARRAY['b'], 1, 1000, n => 3000, method => 'mwem') AS t(b boolean);
SET client_min_messages = warning;

-- what is refused; nothing is charged
SELECT o.*, s FROM unnest(ARRAY[
	$$SELECT * FROM dp_synthesize('person', ARRAY['sex'], 1, 1) AS t(sex boolean)$$,
	$$SELECT * FROM dp_synthesize('person', ARRAY['sex'], 1, 1, delta => 0) AS t(sex boolean)$$,
	$$SELECT * FROM dp_synthesize('person', ARRAY['sex'], 1, 1, delta => 1) AS t(sex boolean)$$,
	$$SELECT * FROM dp_synthesize('person', ARRAY['sex'], 1, 1, delta => 'NaN') AS t(sex boolean)$$,
	$$SELECT * FROM dp_synthesize('person', ARRAY['sex'], 1, 1, delta => 1e-9, method => 'mwem') AS t(sex boolean)$$,
	$$SELECT * FROM dp_synthesize('person', ARRAY['sex'], 1, 0, delta => 1e-9) AS t(sex boolean)$$,
	$$SELECT * FROM dp_synthesize('person', ARRAY['sex'], 1, 0.000001, delta => 1e-9) AS t(sex boolean)$$,
	$$SELECT * FROM dp_synthesize('person', ARRAY['sex'], 1, 500000, delta => 1e-9) AS t(sex boolean)$$,
	$$SELECT * FROM dp_synthesize('person', ARRAY['sex'], 2, 1, delta => 1e-9) AS t(sex boolean)$$,
	$$SELECT * FROM dp_synthesize('person', ARRAY['sex'], 0, 1, delta => 1e-9) AS t(sex boolean)$$,
	$$SELECT * FROM dp_synthesize('person', ARRAY['sex'], NULL::text[], 1, delta => 1e-9) AS t(sex boolean)$$,
	$$SELECT * FROM dp_synthesize('person', ARRAY['sex'], '{}'::text[], 1, delta => 1e-9) AS t(sex boolean)$$,
	$$SELECT * FROM dp_synthesize('person', ARRAY['sex'], ARRAY[NULL], 1, delta => 1e-9) AS t(sex boolean)$$,
	$$SELECT * FROM dp_synthesize('person', ARRAY['sex'], ARRAY['sex, ward'], 1, delta => 1e-9) AS t(sex boolean)$$,
	$$SELECT * FROM dp_synthesize('person', ARRAY['sex'], ARRAY['sex,'], 1, delta => 1e-9) AS t(sex boolean)$$,
	$$SELECT * FROM dp_synthesize('person', ARRAY['sex'], ARRAY[''], 1, delta => 1e-9) AS t(sex boolean)$$,
	$$SELECT * FROM dp_synthesize('person', ARRAY['sex'], 1, 1, delta => 1e-9, rows => -1) AS t(sex boolean)$$,
	$$SELECT * FROM dp_synthesize('person', ARRAY['sex'], 1, 1, delta => 1e-9, rows => 0) AS t(sex boolean)$$,
	$$SELECT * FROM dp_synthesize(0::regclass, ARRAY['sex'], 1, 1, delta => 1e-9) AS t(sex boolean)$$,
	$$SELECT * FROM dp_synthesize('person', ARRAY['sex'], 1, 1, delta => 1e-9, rows => 1000000000) AS t(sex boolean)$$,
	$$SELECT * FROM dp_synthesize('person', ARRAY['sex'], 1, 1, delta => 1e-9, n => 1000000000) AS t(sex boolean)$$,
	$$SELECT * FROM dp_synthesize('person', ARRAY['sex'], 1, 1, delta => 1e-9, n => 0) AS t(sex boolean)$$,
	$$SELECT * FROM dp_synthesize('person', ARRAY['sex'], 1, 1, delta => 1e-9, rows => 1, n => 9223372036854775807) AS t(sex boolean)$$,
	$$SELECT * FROM dp_synthesize('person', ARRAY['sex'], 1, 1, delta => 1e-9, method => 'gaussian') AS t(sex boolean)$$,
	$$SELECT * FROM dp_synthesize('person', ARRAY['sex'], 1, 1, delta => 1e-9, method => NULL) AS t(sex boolean)$$,
	$$SELECT * FROM dp_synthesize('person', ARRAY['sex'], 1, 1, delta => 1e-9, bins => ARRAY[1, 2]) AS t(sex boolean)$$,
	$$SELECT * FROM dp_synthesize('person', ARRAY['sex', 'sex'], 1, 1, delta => 1e-9) AS t(sex boolean)$$,
	$$SELECT * FROM dp_synthesize('person', ARRAY['nobody'], 1, 1, delta => 1e-9) AS t(sex boolean)$$,
	$$SELECT * FROM dp_synthesize('person', ARRAY['seen'], 1, 1, delta => 1e-9) AS t(seen timestamptz)$$,
	$$SELECT * FROM dp_synthesize('person', NULL, 1, 1, delta => 1e-9) AS t(sex boolean)$$,
	$$SELECT * FROM dp_synthesize('person', ARRAY['sex'], 1, 1, delta => 1e-9) AS t(sex integer)$$,
	$$SELECT * FROM dp_synthesize('person', ARRAY['sex'], 1, 1, delta => 1e-9) AS t(sex boolean, weight double precision)$$,
	$$SELECT * FROM dp_synthesize('person', ARRAY['income', 'score', 'age'], epsilon => 1, delta => 1e-9, bins => ARRAY[4000, 4000, 0]) AS t(income numeric, score float8, age int)$$,
	$$SELECT * FROM dp_synthesize('person', ARRAY['income', 'score'], 1, 1, bins => ARRAY[4000, 4000], method => 'mwem') AS t(income numeric, score float8)$$,
	$$SELECT dp_synthesize('person', ARRAY['sex'], 1, 1, delta => 1e-9)$$,
	$$SELECT * FROM dp_synthesize('person', ARRAY['sex'], 1) AS t(sex boolean)$$,
	$$SELECT * FROM dp_synthesize('spent', ARRAY['sex'], 1, 1, delta => 1e-9) AS t(sex boolean)$$]) AS s, outcome(s) AS o;
RESET ROLE;

-- other neighbours; somebody without a budget
SET ROLE :owner;
CREATE TABLE swapped (sex boolean NOT NULL, old boolean NOT NULL);
INSERT INTO swapped SELECT i % 2 = 0, i % 3 = 0 FROM generate_series(1, 900) i;
SELECT dp_protect('swapped', dataset => 'regress_synthesize_swapped') \g /dev/null
SELECT dp_neighbours('regress_synthesize_swapped', 'replace_one') \g /dev/null
SELECT count(*), abs(count(*) FILTER (WHERE sex AND old) - 150) <= 3 AS near
FROM dp_synthesize('swapped', ARRAY['sex', 'old'], epsilon => 1000, delta => 1e-9, rows => 900) AS t(sex boolean, old boolean);
-- a budget without delta: what lacks is told, and that mwem needs none
SELECT dp_grant(:'analyst', 'regress_synthesize_swapped', epsilon => 1) \g /dev/null
SET ROLE :analyst;
\set VERBOSITY default
SELECT * FROM dp_synthesize('swapped', ARRAY['sex'], 1, 1, delta => 1e-9) AS t(sex boolean);
\set VERBOSITY sqlstate
SELECT count(*) FROM dp_synthesize('swapped', ARRAY['sex'], 1, 1, method => 'mwem', n => 900, rows => 9) AS t(sex boolean);
-- what the notice before the charge says; nothing is left to charge
\set VERBOSITY terse
SET client_min_messages = notice;
SELECT * FROM dp_synthesize('swapped', ARRAY['sex', 'old'], 2, 1, method => 'mwem', n => 900) AS t(sex boolean, old boolean);
SET client_min_messages = warning;
\set VERBOSITY sqlstate
SET ROLE :owner;
SELECT dp_revoke(:'analyst', :'schema') \g /dev/null
SET ROLE :analyst;
SELECT * FROM outcome($$SELECT * FROM dp_synthesize('person', ARRAY['sex'], 1, 1, delta => 1e-9) AS t(sex boolean)$$);
RESET ROLE;

-- a domain: a value that may be released and that it does not allow is refused; the base type takes all
SET ROLE :owner;
CREATE DOMAIN tens AS integer CHECK (VALUE % 10 = 0);
CREATE DOMAIN there AS text NOT NULL;
CREATE TABLE spaced (sex boolean NOT NULL, size tens NOT NULL, note there);
INSERT INTO spaced SELECT i % 2 = 0, i % 5 * 10, 'x' FROM generate_series(1, 100) i;
SELECT dp_protect('spaced', dataset => 'regress_synthesize_spaced') \g /dev/null
SELECT dp_declare('spaced', 'size', lower => 0, upper => 40) \g /dev/null
SELECT o.*, s FROM unnest(ARRAY[
	$$SELECT * FROM dp_synthesize('spaced', ARRAY['size'], 1, 1, delta => 1e-9) AS t(size tens)$$,
	$$SELECT * FROM dp_synthesize('spaced', ARRAY['size'], 1, 1, delta => 1e-9, bins => ARRAY[3]) AS t(size tens)$$,
	$$SELECT * FROM dp_smalldb(NULL::spaced, ARRAY['sex', 'size'], 1, 1, 100, alpha => 0.9)$$,
	$$SELECT * FROM dp_smalldb(NULL::spaced, ARRAY['sex'], ARRAY['sex', 'NOT sex', 'true'], 1, 100, alpha => 0.9)$$]) AS s, outcome(s) AS o;
\set VERBOSITY default
SELECT * FROM dp_synthesize('spaced', ARRAY['size'], 1, 1, delta => 1e-9, bins => ARRAY[3]) AS t(size tens);
\set VERBOSITY sqlstate
SELECT count(*) FROM dp_synthesize('spaced', ARRAY['size'], 1, 1, delta => 1e-9, bins => ARRAY[3], rows => 9) AS t(size integer);
SELECT dp_declare('spaced', 'size', keys => ARRAY[0, 10, 20, 30, 40]) \g /dev/null
SELECT bool_and(size BETWEEN 0 AND 40) FROM dp_synthesize('spaced', ARRAY['size'], 1, 1, delta => 1e-9, rows => 9) AS t(size tens);
RESET ROLE;

-- sizes and what plain noise would do: 6 tables of 10, 9 and 2 values
SELECT cells, tables, table_cells, round(sigma::numeric, 6) AS sigma, rounds
FROM dp_synthesize_error(ARRAY[10, 9, 2], 2, 1, 10000, 1e-9);
SELECT round((2 * sigma ^ 2 * dp_zcdp_rho(1, 1e-9) / tables)::numeric, 9) AS one,
	gaussian_error > 4 * sigma / 10000 AND gaussian_error < 6 * sigma / 10000 AS gaussian
FROM dp_synthesize_error(ARRAY[10, 9, 2], 2, 1, 10000, 1e-9);
SELECT sigma, gaussian_error, round(laplace_error::numeric, 9) AS laplace, rounds, round(theorem_alpha::numeric, 9) AS theorem
FROM dp_synthesize_error(ARRAY[8, 8], 2, 1, 10000000);
SELECT cells > 1e12 AS large, rounds, theorem_alpha FROM dp_synthesize_error(array_fill(100, ARRAY[7]), 2, 1.0::float8, 1000);
SELECT e FROM dp_synthesize_error(NULL, 2, 1, 1000) AS e;
SELECT o.state, o.hinted, s FROM unnest(ARRAY[
	$$SELECT dp_synthesize_error('{}', 2, 1, 1000)$$, $$SELECT dp_synthesize_error('{0}', 2, 1, 1000)$$,
	$$SELECT dp_synthesize_error('{2,NULL}', 2, 1, 1000)$$, $$SELECT dp_synthesize_error('{2}', 2, 1, 0)$$,
	$$SELECT dp_synthesize_error('{2}', 2, 1, 10)$$, $$SELECT dp_synthesize_error('{2}', 1, -1, 10)$$,
	$$SELECT dp_synthesize_error('{2}', 1, 1, 10, 2)$$, $$SELECT dp_synthesize_error('{2}', 1, 1, 10, confidence => 1)$$]) AS s, outcome(s) AS o;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
