-- dp_min and dp_max.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test extreme
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
CREATE TABLE wide (id int PRIMARY KEY, s int2, i int, b bigint, r real, d float8, n numeric, day date, t timestamp, tz timestamptz, half boolean NOT NULL);
INSERT INTO wide SELECT k, k, k, k, k / 8.0, k / 8.0, k / 8.0, date '2020-01-01' + k, timestamp '2020-01-01' + k * interval '1 day',
	timestamptz '2020-01-01' + k * interval '1 day', k <= 500 FROM generate_series(1, 1000) AS k;
INSERT INTO wide VALUES (0, NULL, NULL, NULL, 'NaN', 'NaN', 'NaN', NULL, NULL, NULL, true);
ALTER TABLE wide OWNER TO :owner;
SELECT dp_protect('wide', dataset => :'schema') \g /dev/null
-- At a huge price the answer is the plain one, to the grid: another point has odds below e^-10000 a row.  T is 1/2.
SELECT dp_min(s, 0, 2000), dp_max(s, 0, 2000), dp_min(i, -5000, 5000), dp_max(i, -5000, 5000), dp_min(b, 0, 2000), dp_max(b, 0, 2000) FROM wide;
SELECT dp_min(r, 0, 128), dp_max(r, 0, 128), dp_min(d, 0, 128), dp_max(d, 0, 128), round(dp_min(n, 0, 128), 3) AS min, round(dp_max(n, 0, 128), 3) AS max FROM wide;
SELECT dp_min(day, '2019-01-01', '2029-01-01'), dp_max(day, '2019-01-01', '2029-01-01'), abs(extract(epoch FROM dp_max(t, '2020-01-01', '2023-01-01') - timestamp '2022-09-27')) < 60 AS t,
	abs(extract(epoch FROM dp_min(tz, '2020-01-01', '2023-01-01') - timestamptz '2020-01-02')) < 60 AS tz FROM wide;
SELECT half, dp_min(i, 0, 2000), dp_max(i, 0, 2000), dp_max(i, 0, 2000) FILTER (WHERE i % 500 < 300) AS "filter" FROM wide GROUP BY half;
SELECT dp_max(i, 0, 100) AS clamped, dp_min(i, 600, 700) AS above, dp_max(i + 1, 0, 5) AS expression FROM wide;
-- many equal values, one row, declared and inferred bounds
SELECT dp_max(least(i, 7), 0, 2000) AS equal, dp_min(i, 0, 2000) FILTER (WHERE i = 44) AS one FROM wide;
SELECT dp_max(age) AS declared, dp_min(age + 5) AS inferred, dp_max(born) AS born FROM person;
-- types as those of the argument
SELECT pg_typeof(dp_min(s, 0, 1)) AS int2, pg_typeof(dp_max(r, 0, 1)) AS float4, pg_typeof(dp_max(n, 0, 1)) AS numeric, pg_typeof(dp_max(day, '2020-01-01', '2021-01-01')) AS date FROM wide;
-- price, sensitivity, T: 2 (ln 121 + ln 20) / 0.1 rows are 156
SET ROLE :analyst;
SET dp_pg.epsilon = 0.1;
SELECT spent() IS NOT NULL AS marked;
SELECT dp_max(age) BETWEEN 0 AND 120 AND dp_min(age, 0.25) BETWEEN 0 AND 120 AND dp_max(age, 0, 100, 0.5::float8) BETWEEN 0 AND 100 AS answered FROM person;
SELECT value, mechanism, epsilon, rho, sensitivity, scale, error_95 FROM dp_last_release();
SELECT * FROM spent();
EXPLAIN (COSTS OFF) SELECT sex, dp_max(score) FROM person GROUP BY sex;
-- Of 1000 rows 0 .. 99, ten each, T = 16 at epsilon 1: with odds below e^-42 a draw more than 100 are beyond the answer,
-- which is 90 or 9 at the least.
SELECT dp_max(age, 1) >= 90 AND dp_max(age, 1.001) >= 90 AND dp_max(age, 1.002) >= 90 AS max, dp_min(age, 1) <= 9 AND dp_min(age, 1.001) <= 9 AS min FROM person;
-- no rows: any point of the grid, in order to say nothing; at a small price all are about alike
SELECT dp_max(age, 0, 120) BETWEEN 0 AND 120 AS none FROM person WHERE false;
SELECT count(*) AS groups, count(DISTINCT m) > 20 AS spread, min(m) >= 0 AND max(m) <= 1000 AS inside FROM (SELECT born, dp_max(age, 0, 1000) AS m FROM person WHERE age < 0 AND age > 0 GROUP BY born) AS q;
-- errors
SELECT e, state, hinted, charges FROM unnest(ARRAY['dp_min(id)', 'dp_max(age, 9, 0)', 'dp_max(age, NULL, 0)', 'dp_max(age, 0, age)', 'dp_max(age, 0, 9, 0)',
	'dp_max(DISTINCT age)', 'dp_min(age ORDER BY id)', 'dp_max(ward)', 'dp_max(score, ''-Infinity'', 1)']) e, outcome('SELECT ' || e || ' FROM person');
RESET ROLE;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
