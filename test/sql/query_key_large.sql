-- Public keys with more values than there may be groups: released by
-- threshold, as undeclared ones are, if there is a delta.  At this epsilon a
-- key of two units is released and a key of one unit is not, except with
-- probability delta.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_key_large
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
-- 90 units with two hits in each of three keys, some beyond the bounds or NULL, and one unit in keys of its own
CREATE TABLE hit (u int NOT NULL, k bigint, kind int NOT NULL, x int, day date, ward text);
INSERT INTO hit SELECT u, CASE WHEN u % 10 = 0 AND i = 2 THEN NULL WHEN u % 10 = 1 AND i = 2 THEN -5 ELSE i * 4611686018427387900 + u % 3 - 1 END, i, u, date '2026-01-01' + u % 40, (ARRAY['A', 'B', 'none', NULL])[1 + u % 4]
FROM generate_series(1, 90) u, generate_series(0, 2) i, generate_series(1, 2) j WHERE i * 4611686018427387900.0 + u % 3 - 1 < 9223372036854775808.0 - 5 AND (i > 0 OR u % 3 > 0);
INSERT INTO hit SELECT 1000 + u, 77 + u, 0, 5, '2026-02-20', 'A' FROM generate_series(1, 3) u;
SELECT dp_protect('hit', unit => 'u', dataset => :'schema') \g /dev/null
SELECT dp_declare('hit', max_rows => 1) \g /dev/null
SELECT dp_declare('hit', 'k', lower => 0, upper => 9223372036854775801) \g /dev/null
SELECT dp_declare('hit', 'kind', lower => 0, upper => 3) \g /dev/null
SELECT dp_declare('hit', 'x', lower => 0, upper => 2147483647) \g /dev/null
SELECT dp_declare('hit', 'day', lower => date '2026-01-01', upper => date '2026-03-31') \g /dev/null
SELECT dp_declare('hit', 'ward', keys => ARRAY['B', 'A', 'C'], nulls => false) \g /dev/null
CREATE TABLE trip_of AS SELECT DISTINCT u, u % 9 AS k FROM hit;
SELECT dp_protect('trip_of', unit => 'u', dataset => :'schema') \g /dev/null
CREATE TABLE trip AS SELECT * FROM hit;
SELECT dp_protect('trip', unit => 'u', dataset => 'regress_large_replaced') \g /dev/null
SELECT dp_declare('trip', 'x', lower => 0, upper => 2147483647) \g /dev/null
SELECT dp_neighbours('regress_large_replaced', 'replace_one') \g /dev/null
RESET ROLE;
SET dp_pg.max_groups = 14;
SET ROLE :analyst;

-- without a delta they are refused, with both ways out
SELECT * FROM outcome('SELECT age, dp_count(*) FROM person GROUP BY age');
SELECT * FROM outcome('SELECT k, dp_count(*) FROM hit GROUP BY k');
SELECT * FROM outcome('SELECT DISTINCT k FROM hit');
\set VERBOSITY default
SELECT k, kind, dp_count(*) FROM hit GROUP BY k, kind;
\set VERBOSITY sqlstate
SET dp_pg.delta = '1e-8';

-- one row for each unit: what plain SQL says
SELECT count(*), sum(n), min(n), max(n), sum(s), sum(age * n) FROM (SELECT age, dp_count(*) AS n, dp_sum(age) AS s FROM person GROUP BY age) t;
SELECT count(*), sum(n), min(n), max(n), sum(s), sum(age * n) FROM (SELECT age, count(*) AS n, sum(age) AS s FROM (SELECT i % 100 AS age FROM generate_series(1, 1000) i) p GROUP BY age) t;
SELECT spent();
SELECT age, dp_count(*) AS n, dp_count(*) FILTER (WHERE sex) AS m, dp_avg(income)::numeric(6, 2) AS a, dp_median(income) AS d, dp_count(DISTINCT ward) AS w, dp_histogram(income, 0, 100, 4) AS h
FROM person WHERE age % 33 = 0 AND age > 50 OR age = 1 GROUP BY age HAVING dp_count(*) > 2;
-- combinations of keys that fit stay public; rows of undeclared values are in `other`
SELECT ward, sex, dp_count(*) AS n FROM person WHERE id <= 40 GROUP BY ward, sex;
SELECT ward, feel, dp_count(*) AS n FROM person GROUP BY ward, feel;
SELECT sum(delta) FROM dp_last_release();
-- of keys with equally many values the first; then the next
SELECT feel, feel AS again, sex, dp_count(*) AS n FROM person WHERE id < 700 GROUP BY 1, 2, 3;
SELECT age % 4 AS a, age % 5 AS b, sex, dp_count(*) AS n FROM person WHERE age < 9 GROUP BY 1, 2, 3;
-- keys by images, of `other` too, and by conditions
SELECT age / 7 AS week, dp_count(*) AS n FROM person WHERE age > 5 GROUP BY 1;
SELECT lower(ward) AS w, age > 50 AS old, feel, dp_count(*) AS n FROM person WHERE id % 10 < 3 GROUP BY 1, 2, 3;
SELECT date_trunc('month', born) AS m, born, dp_count(*) AS n FROM person WHERE born < '2020-02-03' AND born > '2020-01-28' GROUP BY 1, 2;
SELECT born, dp_count(*) AS n FROM person WHERE born > '2020-03-20' GROUP BY born ORDER BY n DESC, born DESC LIMIT 3;
-- beside undeclared keys
SELECT age, score::int, dp_count(*) AS n FROM person WHERE age < 16 AND income > 6 GROUP BY 1, 2;
-- WHERE narrows: fewer groups are public again, and told without a delta
SELECT age, dp_count(*) AS n FROM person WHERE age BETWEEN 98 AND 101 GROUP BY age;
SELECT sum(delta) FROM dp_last_release();
SELECT age, dp_count(*) AS n FROM person WHERE age IN (3, 130) GROUP BY age;
SELECT age, dp_count(*) FROM person WHERE age > 200 GROUP BY age;
-- keys alone pay for the decision
SELECT spent();
SELECT age FROM person WHERE age < 15 GROUP BY age;
SELECT charges, epsilon > 0 FROM spent();
SELECT value, mechanism, delta, sensitivity FROM dp_last_release();

-- units with many rows; values beyond the bounds are no key, NULL is one where it may be
SET dp_pg.max_rows = 2;
SET dp_pg.max_keys = 6;
SELECT k, dp_count(*) AS n, dp_count(DISTINCT u) AS units, dp_sum(x, 0, 90) AS s FROM hit GROUP BY k;
RESET ROLE;
SELECT k, count(*) AS n, count(DISTINCT u) AS units, sum(x) AS s FROM hit WHERE k >= 0 OR k IS NULL GROUP BY k HAVING count(DISTINCT u) > 1 ORDER BY k;
SET ROLE :analyst;
SELECT kind, k % 7 AS r, dp_count(DISTINCT u) AS units FROM hit WHERE k < 1000 OR k IS NULL GROUP BY kind, k % 7;
SELECT k, kind, ward, dp_count(*) AS n FROM hit WHERE u < 40 AND kind < 2 GROUP BY k, kind, ward;
SELECT day, ward, dp_count(DISTINCT u) AS units FROM hit WHERE day < '2026-01-07' GROUP BY day, ward;
SELECT count(*), sum(units) FROM (SELECT x, dp_count(DISTINCT u) AS units FROM hit GROUP BY x) t;
-- a unit counts in as many groups as it may
SET dp_pg.max_keys = 1;
SELECT count(*) BETWEEN 5 AND 6, sum(units) FROM (SELECT k, dp_count(DISTINCT u) AS units FROM hit WHERE k IS NOT NULL GROUP BY k) t;
RESET dp_pg.max_keys;
RESET dp_pg.max_rows;
-- joined
SELECT v.name, p.age, dp_count(*) AS n FROM person p JOIN (VALUES (1, 'one'), (2, 'two')) v (id, name) ON v.id = p.age % 5 WHERE p.age < 12 GROUP BY v.name, p.age;
SELECT h.day, dp_count(DISTINCT h.u) AS units FROM hit h JOIN trip_of t ON t.u = h.u WHERE h.kind = 1 AND h.day < '2026-01-20' AND t.k < 6 GROUP BY h.day;

-- prepared: what is large follows from the parameter
PREPARE p(int) AS SELECT age, dp_count(*) AS n FROM person WHERE age < $1 GROUP BY age;
EXECUTE p(3);
SELECT sum(delta) FROM dp_last_release();
SET plan_cache_mode = force_generic_plan;
EXECUTE p(2);
SELECT sum(delta) FROM dp_last_release();
SELECT count(*) FROM (SELECT age, dp_count(*) AS n FROM person WHERE age < 50 GROUP BY age) t;
EXECUTE p(16);
SELECT sum(delta) FROM dp_last_release();
RESET plan_cache_mode;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT age, dp_count(*) FROM person WHERE age > 84 GROUP BY age;
FETCH 2 FROM c;
FETCH BACKWARD 1 FROM c;
COMMIT;
-- what cannot be told
SELECT * FROM outcome('SELECT age, dp_pg.conditions(ARRAY[income > 1]) FROM person GROUP BY age');
SELECT * FROM outcome('SELECT x, dp_pg.conditions(ARRAY[kind > 1]) FROM hit GROUP BY x');
-- only releases look keys up
SELECT * FROM outcome('SELECT dp_pg.key_place(1, NULL)');

-- a stored answer is of the same keys
SET dp_pg.reuse = '1 hour';
SELECT count(*) FROM (SELECT age, feel, dp_count(*) AS n FROM person GROUP BY age, feel) t;
SELECT spent();
SELECT count(*) FROM (SELECT age, feel, dp_count(*) AS n FROM person GROUP BY age, feel) t;
SELECT spent();
RESET ROLE;
SET dp_pg.max_groups = 3;
SET ROLE :analyst;
SELECT count(*) FROM (SELECT age, feel, dp_count(*) AS n FROM person GROUP BY age, feel) t;
SELECT charges FROM spent();
RESET ROLE;
SET dp_pg.max_groups = 14;
SET ROLE :analyst;
SET dp_pg.reuse = off;

-- more values than can be numbered
RESET ROLE;
SET ROLE :owner;
SELECT dp_declare('hit', 'k', lower => -1, upper => 9223372036854775807) \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SELECT * FROM outcome('SELECT k, dp_count(*) FROM hit GROUP BY k');
SELECT * FROM outcome('SELECT k, dp_count(*) FROM hit WHERE k > 5 GROUP BY k');
RESET ROLE;
SET ROLE :owner;
SELECT dp_declare('hit', 'k', lower => 0, upper => 9223372036854775801) \g /dev/null
RESET ROLE;
SET ROLE :analyst;

-- what it would cost, and why
SET dp_pg.epsilon = 1;
EXPLAIN (COSTS OFF) SELECT age, feel, dp_count(*) FROM person GROUP BY age, feel;
EXPLAIN (COSTS OFF) SELECT k, x, length(ward), dp_count(*) FROM hit GROUP BY 1, 2, 3;
SET dp_pg.split = on;
EXPLAIN (COSTS OFF) SELECT age, dp_count(*), dp_sum(income) FROM person GROUP BY age;
-- together they cost no more than one would
SELECT a.n IS NULL FROM (SELECT age, dp_count(*) AS n FROM person WHERE age < 20 GROUP BY age) a RIGHT JOIN (SELECT dp_count(*) AS n, dp_sum(age) AS s FROM person) b ON a.age = -1;
SELECT charges, epsilon <= 1 FROM spent();
SET dp_pg.mechanism = gaussian;
EXPLAIN (COSTS OFF) SELECT age, dp_count(*) FROM person GROUP BY age;
RESET dp_pg.mechanism;
RESET dp_pg.split;
-- a smaller delta than any number of units is told by
SET dp_pg.epsilon = '0.000000000000000001';
SELECT * FROM outcome('SELECT k, dp_count(*) FROM hit GROUP BY k');
SET dp_pg.epsilon = 100000;
RESET dp_pg.delta;
SELECT * FROM outcome('EXECUTE p(16)');
-- a dataset whose neighbours replace one unit: twice as many numbers change
RESET ROLE;
SET ROLE :owner;
SET dp_pg.delta = '1e-8';
SET dp_pg.max_keys = 3;
SELECT count(*) FROM (SELECT x, dp_count(DISTINCT u) AS units FROM trip GROUP BY x) t;
SELECT value, sensitivity FROM dp_last_release();
RESET ROLE;
RESET dp_pg.max_groups;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
