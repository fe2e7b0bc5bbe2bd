-- dp_histogram and dp_histogram_rows: types, edges of buckets, forms, errors.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test histogram
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

-- Noise of scale 1 / 100000: a bucket is wrong with probability 2 exp(-100000).
SET ROLE :owner;
-- -5 .. 110 in every type, and what does not behave
CREATE TABLE typed (s smallint, i integer, b bigint, r real, d double precision,
	n numeric, dt date, ts timestamp, tz timestamptz, k integer NOT NULL);
INSERT INTO typed
SELECT i, i, i, i / 100.0, i / 100.0, i / 100.0, date '2020-01-01' + i,
	timestamp '2020-01-01' + i * interval '1 hour',
	timestamptz '2020-01-01' + i * interval '1 hour', (i + 5) % 4
FROM generate_series(-5, 110) i;
INSERT INTO typed VALUES
	(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0),
	(32767, 2147483647, 9223372036854775807, 'NaN', 'NaN', 'NaN',
		'infinity', 'infinity', 'infinity', 0),
	(-32768, -2147483648, -9223372036854775808, 'Infinity', 'Infinity', 'Infinity',
		'-infinity', '-infinity', '-infinity', 0),
	(NULL, NULL, NULL, '-Infinity', '-Infinity', '-Infinity', NULL, NULL, NULL, 0),
	(NULL, NULL, NULL, 3e38, 1e308, '1e100000', NULL, NULL, NULL, 0),
	(NULL, NULL, NULL, -1e-45, -1e-320, '-1e-10000', NULL, NULL, NULL, 0);
SELECT dp_protect('typed', dataset => :'schema');
SELECT dp_declare('typed', 'k', lower => 0, upper => 4);
CREATE TABLE nobody (i integer, d double precision, n numeric, ward text);
SELECT dp_protect('nobody', dataset => :'schema');
SELECT dp_declare('nobody', 'ward', keys => ARRAY['a', 'b']);
-- 20000 numbers of all sizes, the same in every type
CREATE TABLE many (i integer, b bigint, d double precision, n numeric, k integer NOT NULL);
INSERT INTO many SELECT v, v, v / 64.0, v / 64.0, abs(v) % 100
FROM (SELECT ((i * 7919) % 20011) - 5000 AS v FROM generate_series(1, 20000) i) t;
SELECT dp_protect('many', dataset => :'schema', rows => 10000000);
SELECT dp_declare('many', 'k', lower => 0, upper => 99);
CREATE VIEW seen AS SELECT i AS number, d AS share FROM typed WHERE i BETWEEN -5 AND 110;
GRANT SELECT ON seen TO :analyst;
RESET ROLE;
-- what EXPLAIN says of released values
CREATE FUNCTION released(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
		CONTINUE WHEN line !~ 'Released:|Charge:';
		RETURN NEXT trim(line);
	END LOOP;
END $$;
SELECT spent() \g /dev/null

SET ROLE :analyst;
-- every type; 100 is the last value that counts
SELECT dp_histogram(s, 0, 100, 4), dp_histogram(i, 0, 100, 4), dp_histogram(b, 0, 100, 4),
	dp_histogram(r, 0, 1, 4), dp_histogram(d, 0, 1, 4), dp_histogram(n, 0, 1, 4),
	pg_typeof(dp_histogram(i, 0, 100, 4)) FROM typed;
SELECT dp_histogram(dt, '2020-01-01', '2020-04-10', 4),
	dp_histogram(ts, '2020-01-01', '2020-01-05 04:00', 4),
	dp_histogram(tz, '2020-01-01', '2020-01-05 04:00', 4) FROM typed;
-- every type of parameters and an epsilon
SELECT dp_histogram(i, 0::numeric, 100, 4), dp_histogram(i, 0::float8, 100, 4),
	dp_histogram(i, 0.0, 100.0, 4, 50000), dp_histogram(i, 0, 100, 4, 5e4::float8),
	dp_histogram(i, 0::bigint, 100::smallint, 4, 50000.0) FROM typed;
SELECT dp_histogram(dt, '2020-01-01', '2020-04-10', 4, 50000),
	dp_histogram(ts, '2020-01-01', '2020-01-05 04:00', 4, 50000.0),
	dp_histogram(tz, '2020-01-01', '2020-01-05 04:00', 4, 5e4::float8) FROM typed;

-- Which bucket: the edges of decimals, with 100 buckets over [0, 1], are where
-- the decimals are, for every type.  width_bucket puts 0.29::float8 too low.
SELECT bool_and(h[1 + j] = CASE j WHEN 99 THEN 2 ELSE 1 END) AS each_one
FROM (SELECT dp_histogram(d, 0, 1, 100) h FROM typed
	UNION ALL SELECT dp_histogram(r, 0, 1, 100) FROM typed
	UNION ALL SELECT dp_histogram(n, 0, 1, 100) FROM typed
	UNION ALL SELECT dp_histogram(i, 0, 100, 100) FROM typed) t, generate_series(0, 99) j;
-- one bucket, ends of the bounds, bounds between values
SELECT dp_histogram(i, 0, 100, 1), dp_histogram(i, 99.5, 100.5, 1), dp_histogram(i, 100, 101, 1),
	dp_histogram(i, 99.5, 99.75, 2), dp_histogram(i, 0, 3, 7), dp_histogram(i, -0.5, 3.5, 4),
	dp_histogram(n, 0.005, 0.035, 3), dp_histogram(d, 0.005, 0.035, 3) FROM typed;
-- bounds that the type does not reach
SELECT dp_histogram(s, -100000, 100000, 4), dp_histogram(i, -1e10, 1e10, 4),
	dp_histogram(b, -9223372036854775808, 9223372036854775807, 2),
	dp_histogram(b, -1e30, 1e30, 2), dp_histogram(b, 9223372036854775806::bigint, 9223372036854775807::bigint, 2),
	dp_histogram(b, 1e20, 2e20, 2), dp_histogram(b, -2e20, -1e20, 2),
	dp_histogram(b, 0, 1e20, 3) FROM typed;
SELECT dp_histogram(d, -1e308, 1e308, 2), (dp_histogram(d, -1.7e308, 1.7e308, 10000))[5000:5001],
	dp_histogram(d, -1e-320, 0, 2), dp_histogram(r, -3e38, 3e38, 2),
	dp_histogram(n, -1e1000, 1e1000, 2), dp_histogram(n, -1e-9999, 0, 2) FROM typed;
-- digits beyond a double's decide for numeric: 1/3 is above and below
SELECT dp_histogram(n / 3, 0.33333333333333333333, 0.33333333333333333334, 1),
	dp_histogram(n + 0.00000000000000000001, 0, 1, 2), dp_histogram(n, 0, 0.00000000000000000002, 2)
FROM typed WHERE i IN (0, 50, 100);

-- as width_bucket, but for the upper end
RESET ROLE;
CREATE FUNCTION truth(value text, lower numeric, upper numeric, n int) RETURNS bigint[]
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
	result bigint[];
BEGIN
	EXECUTE format('SELECT array_agg(coalesce(c, 0) ORDER BY j)
		FROM generate_series(1, $3) j LEFT JOIN
			(SELECT CASE %1$s WHEN $2 THEN $3 ELSE width_bucket(%1$s::numeric, $1, $2, $3) END, count(*)
			FROM many GROUP BY 1) AS t (j, c) USING (j)', value) INTO result USING lower, upper, n;
	RETURN result;
END $$;
SET ROLE :analyst;
SELECT dp_histogram(i, -1000, 9000, 100) = truth('i', -1000, 9000, 100) AS i,
	dp_histogram(b, -1000, 9000, 77) = truth('i', -1000, 9000, 77) AS b,
	dp_histogram(d, -70, 200, 64) = truth('n', -70, 200, 64) AS d,
	dp_histogram(n, -70, 200, 63) = truth('n', -70, 200, 63) AS n,
	dp_histogram(i, -100000, 100000, 100) = truth('i', -100000, 100000, 100) AS wide
FROM many;

-- groups, FILTER, conditions on results, views, CTE, prepared statements
SELECT k, dp_histogram(i, 0, 100, 2), dp_histogram(d, 0, 1, 2) FILTER (WHERE i < 10),
	dp_histogram(n, 0, 1, 2) FILTER (WHERE false), dp_count(*) FROM typed GROUP BY k;
SELECT k, dp_histogram(i, 0, 100, 2) AS h FROM typed GROUP BY k
HAVING (dp_histogram(i, 0, 100, 2))[2] > 0 ORDER BY h DESC, k;
SELECT dp_histogram(number, 0, 100, 4), dp_histogram(share * 2, 0, 2, 4) FROM seen;
WITH h AS (SELECT dp_histogram(i, 0, 100, 4) AS c FROM typed) SELECT c[1], c[5], cardinality(c) FROM h;
PREPARE cut(float8, int) AS SELECT dp_histogram(i, 0, $1, $2) FROM typed;
EXECUTE cut(100, 4);
EXECUTE cut(50, 2);
-- nobody there: noise and no NULL
SELECT dp_histogram(i, 0, 100, 3), dp_histogram(d, 0, 1, 3), dp_histogram(n, 0, 1, 3) FROM nobody;
SELECT ward, dp_histogram(i, 0, 100, 3) FROM nobody GROUP BY ward;
-- every bucket has noise of its own: 10000 empty ones of scale 1000.  All 0,
-- or all of one sign, has a probability below 2^-9000.
SELECT cardinality(h), (SELECT count(DISTINCT c) > 1000 FROM unnest(h) c) AS many,
	(SELECT bool_or(c < 0) AND bool_or(c > 0) FROM unnest(h) c) AS both
FROM (SELECT dp_histogram(i, 0, 100, 10000, 0.001) h FROM nobody) t;

-- every plan counts the same
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
CREATE TEMP TABLE plans (setting text, grouped boolean, result text);
SET max_parallel_workers_per_gather = 0;
INSERT INTO plans SELECT 'serial', false, dp_histogram(d, -70, 200, 64)::text FROM many;
INSERT INTO plans SELECT 'serial', true, md5(string_agg(h::text, ' ' ORDER BY k)) FROM
	(SELECT k, dp_histogram(d, -70, 200, 64) h FROM many GROUP BY k) t;
SET enable_hashagg = off;
INSERT INTO plans SELECT 'sorted', true, md5(string_agg(h::text, ' ' ORDER BY k)) FROM
	(SELECT k, dp_histogram(d, -70, 200, 64) h FROM many GROUP BY k) t;
RESET enable_hashagg;
SET enable_sort = off;
SET work_mem = '64kB';
INSERT INTO plans SELECT 'spilled', true, md5(string_agg(h::text, ' ' ORDER BY k)) FROM
	(SELECT k, dp_histogram(d, -70, 200, 64) h FROM many GROUP BY k) t;
RESET enable_sort;
RESET work_mem;
SET max_parallel_workers_per_gather = 2;
INSERT INTO plans SELECT 'parallel', false, dp_histogram(d, -70, 200, 64)::text FROM many;
INSERT INTO plans SELECT 'parallel', true, md5(string_agg(h::text, ' ' ORDER BY k)) FROM
	(SELECT k, dp_histogram(d, -70, 200, 64) h FROM many GROUP BY k) t;
SELECT grouped, count(*), count(DISTINCT result) FROM plans GROUP BY grouped ORDER BY grouped;
RESET max_parallel_workers_per_gather;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;

-- one price for all buckets of all groups
SELECT spent() \g /dev/null
SELECT k, dp_histogram(i, 0, 100, 50, 2) IS NOT NULL FROM typed GROUP BY k \g /dev/null
SELECT * FROM spent();
SELECT dp_histogram(i, 0, 100, 5) IS NOT NULL, dp_histogram(i, 0, 100, 5, 3) IS NOT NULL FROM typed;
SELECT * FROM spent();
SELECT released($$SELECT k, dp_histogram(i, 0, 100, 50, 2), dp_histogram(dt, '2020-01-01', '2020-04-10', 4, 1),
	dp_histogram(n, 0.5, 1e3, 4, 1) FROM typed GROUP BY k$$);
SET dp_pg.mechanism = gaussian;
SET dp_pg.delta = '1e-9';
SELECT released('SELECT dp_histogram(i, 0, 100, 5, 2) FROM typed');
SELECT dp_histogram(i, 0, 100, 5, 2) IS NOT NULL FROM typed;
RESET ROLE;
SELECT mechanism, epsilon, round(rho, 9) AS rho, delta FROM dp_pg.ledger
WHERE dataset = :'schema' ORDER BY id DESC LIMIT 1;
SET ROLE :analyst;
-- sigma = 0.0074 at epsilon 100000: off with probability exp(-4000)
SELECT dp_histogram(i, 0, 100, 4), dp_histogram(d, 0, 1, 4) FROM typed;
RESET dp_pg.mechanism;
RESET dp_pg.delta;
SELECT spent() \g /dev/null

-- what is refused, before anything is charged
SELECT * FROM outcome('SELECT dp_histogram(i, 100, 0, 4) FROM typed');
SELECT * FROM outcome('SELECT dp_histogram(i, 0, 0, 4) FROM typed');
SELECT * FROM outcome('SELECT dp_histogram(d, 0, ''NaN'', 4) FROM typed');
SELECT * FROM outcome('SELECT dp_histogram(d, ''-Infinity'', 0, 4) FROM typed');
SELECT * FROM outcome('SELECT dp_histogram(dt, ''-infinity'', ''2020-01-01'', 4) FROM typed');
SELECT * FROM outcome('SELECT dp_histogram(ts, ''2020-01-01'', ''infinity'', 4) FROM typed');
SELECT * FROM outcome('SELECT dp_histogram(d, 0, 1e400, 4) FROM typed');
SELECT * FROM outcome('SELECT dp_histogram(r, 0, 1e100, 4) FROM typed');
SELECT * FROM outcome('SELECT dp_histogram(d, 1, 1.00000000000000000001, 4) FROM typed');
SELECT * FROM outcome('SELECT dp_histogram(i, NULL, 100, 4) FROM typed');
SELECT * FROM outcome('SELECT dp_histogram(i, 0, NULL, 4) FROM typed');
SELECT * FROM outcome('SELECT dp_histogram(i, 0, 100, NULL) FROM typed');
SELECT * FROM outcome('SELECT dp_histogram(i, 0, 100, 0) FROM typed');
SELECT * FROM outcome('SELECT dp_histogram(i, 0, 100, -1) FROM typed');
SELECT * FROM outcome('SELECT dp_histogram(i, 0, 100, 10001) FROM typed');
SELECT * FROM outcome('SELECT dp_histogram(i, 0, 100, 4, 0) FROM typed');
SELECT * FROM outcome('SELECT dp_histogram(i, 0, 100, 4, NULL) FROM typed');
SELECT * FROM outcome('SELECT dp_histogram(i, 0, i, 4) FROM typed');
SELECT * FROM outcome('SELECT dp_histogram(i, 0, 100, k) FROM typed');
SELECT * FROM outcome('SELECT dp_histogram(DISTINCT i, 0, 100, 4) FROM typed');
SELECT * FROM outcome('SELECT dp_histogram(i, 0, 100, 4 ORDER BY i) FROM typed');
SELECT * FROM outcome('SELECT dp_histogram(i, 0, 100, 4) OVER () FROM typed');
SELECT * FROM outcome('SELECT dp_histogram(ward, 0, 100, 4) FROM nobody');
SELECT * FROM outcome('SELECT dp_histogram(i, 0, 100) FROM typed');
SELECT * FROM outcome('SELECT dp_histogram(oid::int, 0, 100, 4) FROM pg_catalog.pg_class');
-- its parts are of no use to anybody
SELECT * FROM outcome('SELECT ''''::dp_pg.tally_state');

-- rows for the eye
SELECT * FROM dp_histogram_rows((SELECT dp_histogram(i, 0, 100, 4) FROM typed), 0, 100);
SELECT k, r.* FROM (SELECT k, dp_histogram(d, 0, 1, 2) FROM typed GROUP BY k) AS t (k, h),
	dp_histogram_rows(h, 0.0, 1.0) AS r;
SELECT * FROM dp_histogram_rows('{3,-2,NULL,0,80,1}', 0::numeric, 1);
SELECT * FROM dp_histogram_rows('{3,-2,-4}', 0::numeric, 0.3);
SELECT * FROM dp_histogram_rows('{-3,0,NULL}', -1, 1::float8);
SELECT * FROM dp_histogram_rows('{1,2,3}', date '2020-01-01', '2020-01-02');
SELECT * FROM dp_histogram_rows('{1,2,3}', timestamp '2020-01-01', '2020-01-02');
SELECT * FROM dp_histogram_rows('{1,2,3}', timestamptz '2020-01-01', '2020-01-02');
SELECT bucket, count, length(bar) FROM dp_histogram_rows('{9223372036854775807,4611686018427387904,1}', 0, 3);
SELECT count(*) FROM dp_histogram_rows('{}', 0, 1);
SELECT count(*) FROM dp_histogram_rows(NULL, 0, 1);
SELECT count(*) FROM dp_histogram_rows('{1}', NULL::numeric, 1);
-- its rows are the buckets that dp_histogram counts: days
SELECT r.*, (SELECT count(*) FROM generate_series(date '2020-01-01', '2020-01-31', interval '1 day') AS g(d)
	WHERE d >= low AND (d < high OR bucket = 7 AND d = high)) AS days
FROM dp_histogram_rows((SELECT dp_histogram(dt, '2020-01-01', '2020-01-31', 7) FROM typed),
	date '2020-01-01', '2020-01-31') AS r;

-- declared bounds, of numbers and dates, with and without a price; none declared is 22023, uncharged
RESET ROLE;
SET ROLE :owner;
SELECT dp_histogram(age, 4) = dp_histogram(age, 0, 120, 4) AS ages, dp_histogram(income, 5, 50000) = dp_histogram(income, 0, 100, 5) AS incomes,
	dp_histogram(score, 2, 5e4::float8) = dp_histogram(score, 0, 100, 2) AS scores, dp_histogram(born, 3) = dp_histogram(born, '2020-01-01', '2020-06-30', 3) AS dates
FROM person;
SELECT dp_histogram(age, 4) FROM person;
SELECT value FROM dp_last_release();
SELECT dp_histogram(id, 4) FROM person;
SELECT dp_histogram(age + 1, 4) FROM person;
SELECT dp_histogram(age, 0) FROM person;
RESET ROLE;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
