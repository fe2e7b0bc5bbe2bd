-- dp_bounds: bounds found by counts of rows between powers of two.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_ranges
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
CREATE TABLE number (id int PRIMARY KEY, s int2, i int, b bigint, r real, d float8, n numeric, k int NOT NULL, who int);
INSERT INTO number SELECT k, -(k % 7), k % 100 + 5, (k % 3) * 1000000000000, -1e-5, k / 1000.0, k * 1e15, k % 3, k / 5 FROM generate_series(1, 1000) AS k;
-- far away, each alone
INSERT INTO number VALUES (0, NULL, NULL, NULL, 'NaN', 'NaN', 'NaN', 0, 0), (-1, 32767, 2147483647, 9223372036854775807, 'Infinity', 'Infinity', 'Infinity', 1, 0),
	(-2, -32768, -2147483648, -9223372036854775808, '-Infinity', '-1e300', '-1e1000', 1, 0), (-3, 1, 0, -1, 1e-45, 5e-324, 1e-1000, 2, 0);
ALTER TABLE number OWNER TO :owner;
SELECT dp_protect('number', dataset => 'regress_query_ranges'), dp_declare('number', 'k', keys => ARRAY[0, 1, 2]) \g /dev/null
SET dp_pg.epsilon_ceiling = '1000000000';
-- at epsilon 17.9 a range counts above one row; none does with odds of 1e-15, and each of 14 with one row with odds of e^-17.9
SET dp_pg.epsilon = 17.9;
SELECT dp_bounds(s) AS int2, dp_bounds(i) AS int4, dp_bounds(b) AS int8, dp_bounds(n) FILTER (WHERE id > 600) AS numeric FROM number;
SELECT dp_bounds(r) AS float4, dp_bounds(d) FILTER (WHERE id > 500) AS float8 FROM number;
-- next to no noise: every row counts, and the largest ranges are those of the type, or of 2^80
SET dp_pg.epsilon = '1000000000';
SELECT dp_bounds(s) AS int2, dp_bounds(i) AS int4, dp_bounds(b) AS int8 FROM number;
SELECT dp_bounds(r) = ARRAY[-(2::numeric ^ 80), 2::numeric ^ 80] AS float4, dp_bounds(d) = ARRAY[-(2::numeric ^ 80), 2::numeric ^ 80] AS float8, dp_bounds(n) = ARRAY[-(2::numeric ^ 80), 2::numeric ^ 80] AS numeric FROM number;
-- a range begins above a power of two and ends with the next
SELECT k, dp_bounds(s::int2 + 1) FILTER (WHERE id = 3), dp_bounds(i) FILTER (WHERE i BETWEEN 6 AND 8), dp_bounds(i) FILTER (WHERE i BETWEEN 9 AND 16), dp_bounds(-i) FILTER (WHERE i BETWEEN 8 AND 9),
	dp_bounds(d * 2) FILTER (WHERE id IN (250, 251, 252)), dp_bounds(n / 1e15) FILTER (WHERE id BETWEEN 16 AND 18) FROM number GROUP BY k;
SELECT dp_bounds(i - 5) FILTER (WHERE i = 5) AS zero, dp_bounds(i - 4) FILTER (WHERE i = 5) AS one, dp_bounds(i) FILTER (WHERE i > 1000 AND i < 2000) AS none, dp_bounds(d) FILTER (WHERE id = -3) AS tiny FROM number;
-- found bounds are bounds
SELECT b[1] AS low, b[2] AS high FROM (SELECT dp_bounds(i) FILTER (WHERE id > 0) AS b FROM number) AS q \gset
SELECT round(dp_avg(i, :low, :high) FILTER (WHERE id > 0), 3) AS avg FROM number;
-- any plan
ALTER TABLE number SET (parallel_workers = 3);
SET min_parallel_table_scan_size = 0;
SELECT dp_bounds(i) FILTER (WHERE id > 0) AS parallel FROM number;
RESET min_parallel_table_scan_size;
-- price, EXPLAIN, charge
RESET dp_pg.epsilon_ceiling;
SET ROLE :analyst;
SET dp_pg.epsilon = 0.1;
SELECT spent() IS NOT NULL AS marked;
SELECT dp_bounds(age) IS NULL AS a, dp_bounds(income, 0.25) IS NULL AS b, dp_bounds(score, 0.5::float8) IS NULL AS c FROM person \g /dev/null
SELECT value, epsilon, rho, sensitivity, scale, error_95 FROM dp_last_release();
SELECT * FROM spent();
SET dp_pg.mechanism = gaussian;
SET dp_pg.delta = '1e-9';
EXPLAIN (COSTS OFF) SELECT sex, dp_bounds(age) FROM person GROUP BY sex;
RESET dp_pg.mechanism;
SELECT * FROM outcome('SELECT dp_bounds(age, 0) FROM person');
SELECT * FROM outcome('SELECT dp_bounds(DISTINCT age) FROM person');
SELECT * FROM outcome('SELECT dp_bounds(age, income) FROM person');
SELECT state FROM outcome('SELECT dp_bounds(ward) FROM person');
-- the inner aggregate is nobody's
SELECT dp_pg.range_counts(1, NULL);
SELECT has_function_privilege('dp_pg.range_add(dp_pg.tally_state, bigint, dp_pg.tally_spec)', 'execute') AS may;
-- units with many rows
RESET ROLE;
CREATE TABLE numbers AS SELECT * FROM number WHERE id > 0;
ALTER TABLE numbers OWNER TO :owner;
SELECT dp_protect('numbers', unit => 'who', dataset => 'regress_query_ranges'), dp_declare('numbers', 'k', keys => ARRAY[0, 1, 2]) \g /dev/null
SET dp_pg.epsilon_ceiling = '1000000000';
SET dp_pg.epsilon = '1000000000';
SET dp_pg.max_rows = 5;
SET dp_pg.max_keys = 3;
SELECT k, dp_bounds(s) AS int2, dp_bounds(i) AS int4, dp_bounds(b) AS int8, dp_bounds(n) AS numeric, dp_bounds(r) AS float4, dp_bounds(d) AS float8 FROM numbers GROUP BY k;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
