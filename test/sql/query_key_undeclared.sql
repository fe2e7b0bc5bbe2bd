-- Undeclared keys: released by threshold, for an epsilon and a delta.  At this
-- epsilon a key of two units is released and a key of one unit is not, except
-- with probability delta.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_key_undeclared
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

CREATE COLLATION :schema.loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
SET ROLE :owner;
CREATE TABLE visit (u int NOT NULL, city text, cased text COLLATE loose, n numeric, x int, day date, note text, code char(4), gap interval);
-- 60 units with one city each, and 12 rows; 3 with cities of their own
INSERT INTO visit (u, city, n, x, day, note, code, gap) SELECT u, (ARRAY['Rome', 'Oslo', 'Bern'])[1 + u % 3], CASE WHEN j % 2 = 0 THEN 1.0 ELSE 1.000 END * (u % 3), j,
	date '2026-01-01' + u % 3, repeat('long', CASE WHEN u % 3 = 0 THEN 2000 ELSE 1 END), 'c' || u % 3, '1 day'
FROM generate_series(1, 60) u, generate_series(1, 12) j;
INSERT INTO visit (u, city, n, x, day, note, code, gap) SELECT 100 + u, 'only ' || u, 7 + u, 1, '2025-01-01'::date + u, 'n' || u, NULL, '1 day' FROM generate_series(1, 3) u;
-- one unit in a thousand cities, and in Rome
INSERT INTO visit (u, city, n, x) SELECT 200, coalesce('far ' || nullif(j, 0), 'Rome'), 1, 1 FROM generate_series(0, 999) j;
SELECT dp_protect('visit', unit => 'u', dataset => :'schema') \g /dev/null
SELECT dp_declare('visit', max_rows => 1) \g /dev/null
RESET ROLE;

SET ROLE :analyst;
-- without a delta such keys are refused, with both ways out
SELECT * FROM outcome('SELECT income, dp_count(*) FROM person GROUP BY income');
SELECT * FROM outcome('SELECT DISTINCT income FROM person');
\set VERBOSITY default
SELECT income, dp_count(*) FROM person GROUP BY income;
SELECT length(ward), dp_count(*) FROM person GROUP BY length(ward);
\set VERBOSITY sqlstate
SET dp_pg.delta = '1e-8';

-- one row for each unit: what plain SQL says of keys with two units and more
SELECT income, dp_count(*) AS n, dp_sum(age) AS s FROM person WHERE income < 4 GROUP BY income;
SELECT spent();
SELECT charges, epsilon FROM spent();
SELECT count(*), sum(n) FROM (SELECT income, dp_count(*) AS n FROM person GROUP BY income) t;
SELECT id, dp_count(*) FROM person GROUP BY id;
SELECT id / 300 AS part, dp_count(*) AS n, dp_avg(age)::numeric(6, 2) AS a, dp_median(age) IN (49, 50) AS m, dp_count(DISTINCT ward) AS d,
	dp_histogram(age, 0, 100, 4) AS h, dp_argmax(id % 3 = 0) AS s, dp_variance(age)::numeric(8, 1) AS v FROM person GROUP BY id / 300 ORDER BY 1;
SELECT part, count(*) AS n, avg(age)::numeric(6, 2) AS a, count(DISTINCT ward) AS d FROM (SELECT id / 300 AS part, i % 100 AS age,
	(ARRAY['X','A','B','C'])[1 + i % 4] AS ward FROM generate_series(1, 1000) i, LATERAL (SELECT i AS id) l) t GROUP BY part ORDER BY part;
-- votes are taken before FILTER, not before WHERE
SELECT seen::date AS day, dp_count(*) FILTER (WHERE sex) AS n FROM person WHERE seen < '2020-01-03' AND age > 30 GROUP BY 1;
SELECT seen::date AS day, dp_count(*) FILTER (WHERE false) AS n FROM person WHERE seen < '2020-01-03' GROUP BY 1;
-- mixed with public keys: combinations that are told, in order
SELECT sex, income, ward, dp_count(*) AS n FROM person WHERE income < 2 GROUP BY sex, income, ward;
SELECT feel, id % 2 AS even, dp_count(*) AS n FROM person GROUP BY feel, id % 2;
-- several undeclared keys, keys by expressions, WHERE, HAVING
SELECT id % 2 AS t, id % 3 AS r, dp_count(*) AS n FROM person WHERE id <= 602 GROUP BY 1, 2 HAVING dp_count(*) > 100 ORDER BY 2 DESC, 1;
-- conditions that name values, declarations and images come first: no delta
SELECT income, dp_count(*) AS n FROM person WHERE income IN (1, 2, 70) GROUP BY income;
SELECT delta FROM dp_last_release();
SELECT ward, dp_count(*) AS n FROM person GROUP BY ward;
SELECT sum(delta) FROM dp_last_release();

-- keys alone pay for the decision
SELECT DISTINCT income FROM person WHERE income < 2;
SELECT value, mechanism, delta, sensitivity FROM dp_last_release();
SELECT charges, epsilon > 0 FROM spent();
SELECT city FROM visit GROUP BY city;

-- one spelling for all that are equal, whatever the rows have
SELECT n, dp_count(*) AS rows FROM visit GROUP BY n ORDER BY n;
SELECT code, octet_length(code) AS bytes, dp_count(*) AS rows FROM visit GROUP BY code;
-- units with many rows: kappa keys of each, m rows in each
SELECT city, dp_count(*) AS rows, dp_count(DISTINCT u) AS units FROM visit WHERE u < 200 GROUP BY city;
SET dp_pg.max_rows = 12;
SELECT city, dp_count(*) AS rows, dp_count(DISTINCT u) AS units, dp_sum(x, 0, 12) AS s, dp_count(DISTINCT x) AS d FROM visit WHERE u < 200 GROUP BY city;
-- the unit with a thousand cities is told in none of them
SET dp_pg.max_keys = 2;
SELECT count(*), sum(units) BETWEEN 60 AND 61 FROM (SELECT city, dp_count(DISTINCT u) AS units FROM visit GROUP BY city) t;
SET dp_pg.max_keys = 2000;
SELECT city, dp_count(DISTINCT u) AS units FROM visit GROUP BY city;
RESET dp_pg.max_keys;
RESET dp_pg.max_rows;
-- NULL is a key like any other; a key that is too long is none
SELECT day, dp_count(DISTINCT u) AS units FROM visit GROUP BY day;
SELECT feel, seen IS NULL AS never, nullif(age % 2, 1) AS even, dp_count(*) AS n FROM person WHERE age < 10 GROUP BY 1, 2, 3;
SELECT left(note, 8) AS note, length(note) AS long, dp_count(DISTINCT u) AS units FROM visit GROUP BY note;
SELECT length(note) AS long, dp_count(DISTINCT u) AS units FROM visit GROUP BY length(note);
-- types that have no one spelling
SELECT * FROM outcome('SELECT gap, dp_count(*) FROM visit GROUP BY gap');
SELECT * FROM outcome('SELECT gap::text, dp_count(*) FROM visit GROUP BY gap::text');
SELECT * FROM outcome('SELECT cased, dp_count(*) FROM visit GROUP BY cased');
SELECT * FROM outcome('SELECT income, dp_pg.conditions(ARRAY[age > 1]) FROM person GROUP BY income');

-- what it would cost, and from how many people on a key is told
SET dp_pg.epsilon = 1;
EXPLAIN (COSTS OFF) SELECT sex, id / 10, dp_count(*) FROM person GROUP BY sex, id / 10;
SET dp_pg.max_keys = 3;
EXPLAIN (COSTS OFF) SELECT city, dp_count(*) FROM visit GROUP BY city;
RESET dp_pg.max_keys;
SET dp_pg.split = on;
EXPLAIN (COSTS OFF) SELECT city, dp_count(*) FROM visit GROUP BY city;
SET dp_pg.mechanism = gaussian;
EXPLAIN (COSTS OFF) SELECT city, dp_count(*) FROM visit GROUP BY city;
RESET dp_pg.mechanism;
RESET dp_pg.split;
-- a smaller delta than any number of units is told by
SET dp_pg.epsilon = '0.000000000000000001';
SELECT * FROM outcome('SELECT city, dp_count(*) FROM visit GROUP BY city');
SET dp_pg.epsilon = 100000;
-- more than the budget's delta
SET dp_pg.delta = '0.1';
SELECT * FROM outcome('SELECT city, dp_count(*) FROM visit GROUP BY city');
-- prepared, and run without a delta
SET dp_pg.delta = '1e-8';
PREPARE p(int) AS SELECT city, dp_count(DISTINCT u) AS units FROM visit WHERE u < $1 GROUP BY city;
EXECUTE p(31);
SET plan_cache_mode = force_generic_plan;
EXECUTE p(4);
RESET dp_pg.delta;
SELECT * FROM outcome('EXECUTE p(31)');
RESET plan_cache_mode;
SET dp_pg.delta = '1e-8';
-- a subquery, a CTE, a cursor, a view
WITH k AS MATERIALIZED (SELECT city, dp_count(*) AS n FROM visit GROUP BY city) SELECT a.city, a.n = b.n FROM k a, k b WHERE a.city = b.city;
SELECT dp_count(*) FROM person WHERE age < (SELECT count(*) FROM (SELECT city FROM visit GROUP BY city) t);
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT city, dp_count(DISTINCT u) FROM visit WHERE u < 200 GROUP BY city;
FETCH ALL FROM c;
FETCH BACKWARD 1 FROM c;
COMMIT;
-- a dataset whose neighbours replace one unit: twice as many numbers change
RESET ROLE;
SET ROLE :owner;
CREATE TABLE trip AS SELECT u, city FROM visit WHERE u < 200;
SELECT dp_protect('trip', unit => 'u', dataset => 'regress_replaced') \g /dev/null
SELECT dp_neighbours('regress_replaced', 'replace_one') \g /dev/null
SET dp_pg.delta = '1e-8';
SET dp_pg.max_keys = 3;
-- who may read the rows is told by the same law
SELECT city, dp_count(DISTINCT u) AS units FROM trip GROUP BY city;
SELECT value, sensitivity FROM dp_last_release();
RESET dp_pg.max_keys;
RESET ROLE;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
