-- dp_variance and dp_stddev.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_variance
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
CREATE TABLE pair (id int PRIMARY KEY, s int2, i int, b bigint, r real, d float8, n numeric, half boolean NOT NULL);
INSERT INTO pair SELECT k, k % 100, k % 100, k % 100 - 50, (k % 100) / 4.0, (k % 100) / 8.0, (k % 100) / 16.0, k <= 500 FROM generate_series(1, 1000) AS k;
INSERT INTO pair VALUES (0, NULL, NULL, NULL, 'NaN', 'NaN', 'NaN', true);
ALTER TABLE pair OWNER TO :owner;
SELECT dp_protect('pair', dataset => 'regress_query_variance') \g /dev/null
SET dp_pg.epsilon_ceiling = '1000000000';
SET dp_pg.epsilon = '1000000000';
-- noise of integers has scale 99^2 / 1e9: an error has odds below e^-100000; the others are exact to the grid,
-- and their noise moves a variance by less than 1e-8 of G^2 with the same odds
WITH truth AS (SELECT variance(k % 100) AS v, stddev(k % 100) AS sd FROM generate_series(1, 1000) AS k),
	private AS (SELECT dp_variance(s, 0, 99) AS int2, dp_variance(i, 0, 99) AS int4, dp_variance(b, -50, 49) AS int8, dp_stddev(i, 0, 99) AS sd,
		dp_variance(r, 0, 25) AS float4, dp_variance(d, 0, 12.5) AS float8, dp_variance(n, 0, 6.25) AS numeric, dp_stddev(d, 0, 12.5) AS sd8 FROM pair)
SELECT int2 = v AS int2, int4 = v AS int4, int8 = v AS int8, p.sd = t.sd AS stddev, abs(float4 - v / 16) < 1e-4 AS float4,
	abs(float8 - v / 64) < 1e-4 AS float8, abs(numeric - v / 256) < 1e-4 AS numeric, abs(sd8 - t.sd / 8) < 1e-4 AS stddev8
FROM private AS p, truth AS t;
-- types as those of variance and stddev
SELECT pg_typeof(dp_variance(s, 0, 1)) AS int2, pg_typeof(dp_variance(r, 0, 1)) AS float4, pg_typeof(dp_stddev(d, 0, 1)) AS float8,
	pg_typeof(dp_stddev(n, 0, 1)) AS numeric FROM pair;
-- groups, FILTER, clamping
SELECT half, round(dp_variance(i, 0, 99), 6) AS v, round(dp_stddev(i, 0, 10) FILTER (WHERE i <= 10), 6) AS small FROM pair GROUP BY half;
-- one row: an answer; no row: NULL, as the noise is certainly 0
SELECT dp_variance(i, 0, 99) = 0 AS one FROM pair WHERE id = 7;
SELECT dp_variance(i, 0, 12) IS NULL AND dp_stddev(i, 0, 12) IS NULL AS none FROM pair WHERE false;
-- wide bounds take a coarser grid, not an error
SELECT abs(dp_variance(b, -9000000000000000000, 9000000000000000000)) >= 0 AS wide FROM pair;
-- declared bounds, price, EXPLAIN, charges
RESET dp_pg.epsilon_ceiling;
SET ROLE :analyst;
SET dp_pg.epsilon = 0.1;
SELECT spent() IS NOT NULL AS marked;
SELECT dp_variance(age) IS NOT NULL AND dp_stddev(income, 0.25) IS NOT NULL AND dp_stddev(age, 0, 50, 0.5::float8) IS NOT NULL AS answered FROM person;
SELECT value, epsilon, rho, sensitivity, scale, error_95 FROM dp_last_release();
SELECT * FROM spent();
EXPLAIN (COSTS OFF) SELECT sex, dp_variance(score) FROM person GROUP BY sex;
SET dp_pg.mechanism = gaussian;
SET dp_pg.delta = '1e-9';
SELECT sex, dp_variance(score) IS NOT NULL AS answered FROM person GROUP BY sex;
SELECT value, mechanism, sensitivity FROM dp_last_release();
RESET dp_pg.mechanism;
-- one or no row at a small price: never more than a sample within the bounds can have (10000 groups)
RESET ROLE;
SET dp_pg.epsilon = 0.01;
CREATE TABLE many (id int PRIMARY KEY, x int NOT NULL);
ALTER TABLE many OWNER TO :owner;
SELECT dp_protect('many', dataset => 'regress_query_variance') \g /dev/null
SELECT dp_declare('many', 'id', 1, 10000) \g /dev/null
SELECT max(v) <= 5000 AS small, min(v) >= 0 AS positive, count(*) FROM (SELECT id, dp_variance(x, 0, 100) AS v FROM many GROUP BY id) AS q;
SELECT max(v) <= sqrt(5000) AS small FROM (SELECT id, dp_stddev(x, 0, 100) AS v FROM many GROUP BY id) AS q;
SET ROLE :analyst;
-- bad bounds; those whose square is no number of the result's type are refused before anything is charged
SELECT * FROM outcome('SELECT dp_variance(score, -1e200, 1e200) FROM person');
SELECT state, charges FROM outcome('SELECT dp_variance(score, -1e150, 1e150) FROM person');
SELECT * FROM outcome('SELECT dp_variance(id) FROM person');
SELECT * FROM outcome('SELECT dp_variance(age, 5, 5) FROM person');
SELECT * FROM outcome('SELECT dp_stddev(age, NULL, 5) FROM person');
SELECT * FROM outcome('SELECT dp_stddev(DISTINCT age, 0, 5) FROM person');
-- any plan, the same exact sums: serial and with workers
RESET ROLE;
SET dp_pg.epsilon_ceiling = '1000000000';
SET dp_pg.epsilon = '1000000000';
ALTER TABLE pair SET (parallel_workers = 3);
SET min_parallel_table_scan_size = 0;
SELECT dp_variance(i, 0, 99) AS parallel FROM pair;
SET max_parallel_workers_per_gather = 0;
SELECT dp_variance(i, 0, 99) AS serial FROM pair;
-- the inner aggregate is nobody's
SET ROLE :analyst;
SELECT dp_pg.bounded_squares(1, NULL);
SELECT has_function_privilege('dp_pg.square_add(dp_pg.square_state, integer, dp_pg.sum_spec)', 'execute') AS may;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
