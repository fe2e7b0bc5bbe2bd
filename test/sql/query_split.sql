-- dp_pg.split: the default epsilon is the price of a whole query.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_split
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
SET ROLE :analyst;
SELECT spent();
SET dp_pg.epsilon = 0.1;
SET dp_pg.split = on;
-- one value: all of it; three: a third each, never more than the whole
SELECT dp_count(*) IS NOT NULL AS answered FROM person;
SELECT * FROM spent();
SELECT dp_count(*) IS NOT NULL AND dp_sum(age) IS NOT NULL AND dp_avg(age) IS NOT NULL AS answered FROM person;
SELECT value, epsilon FROM dp_last_release();
SELECT * FROM spent();
-- groups do not divide; equal aggregates are one value
SELECT count(*), count(a), count(b) FROM (SELECT ward, dp_count(*) AS a, 2 * dp_count(*) AS b FROM person GROUP BY ward) AS q;
SELECT value, epsilon FROM dp_last_release();
SELECT * FROM spent();
-- a price of its own is paid on top
SELECT dp_count(1, 0.5) IS NOT NULL AND dp_sum(age) IS NOT NULL AND dp_avg(age) IS NOT NULL AS answered FROM person;
SELECT value, epsilon FROM dp_last_release();
SELECT * FROM spent();
-- several blocks, and subqueries that run before them, share
SELECT (SELECT dp_count(*) FROM person) IS NOT NULL AND (SELECT dp_sum(age) FROM person) IS NOT NULL AS answered;
SELECT * FROM spent();
WITH a AS (SELECT sex, dp_count(*) AS n FROM person GROUP BY sex), b AS (SELECT dp_avg(age) AS m FROM person)
SELECT count(*) FROM a, b;
SELECT * FROM spent();
SELECT dp_count(*) IS NOT NULL AS answered FROM person WHERE age > (SELECT dp_avg(age) FROM person WHERE score < (SELECT dp_avg(score) FROM person));
SELECT value, epsilon FROM dp_last_release();
SELECT * FROM spent();
-- EXPLAIN says the same
EXPLAIN (COSTS OFF) SELECT dp_count(*) FROM person WHERE age > (SELECT dp_avg(age) FROM person);
SELECT * FROM spent();
-- the setting of the execution counts, for prepared plans too
PREPARE pair AS SELECT dp_count(*) IS NOT NULL AND dp_sum(age) IS NOT NULL AS answered FROM person;
EXECUTE pair;
SELECT * FROM spent();
SET dp_pg.split = off;
EXECUTE pair;
SELECT * FROM spent();
SET plan_cache_mode = force_generic_plan;
EXECUTE pair;
SET dp_pg.split = on;
EXECUTE pair;
SELECT * FROM spent();
-- parts may be below the floor, the charge that they make up together may not
SET dp_pg.epsilon = 0.001;
SELECT state, charges FROM outcome('SELECT dp_count(*), dp_sum(age), dp_avg(age) FROM person');
SELECT value, epsilon FROM dp_last_release();
SELECT * FROM outcome('SELECT dp_count(*), (SELECT dp_count(*) FROM person WHERE sex) FROM person');
SELECT state, charges FROM outcome('SELECT dp_count(*) FROM person');
SET dp_pg.epsilon = 0.0009;
SELECT * FROM outcome('SELECT dp_count(*), dp_sum(age), dp_avg(age) FROM person');

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
