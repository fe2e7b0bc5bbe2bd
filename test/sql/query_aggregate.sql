-- dp_count, dp_sum, dp_avg: forms, result types, special values, grids.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_aggregate
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
-- 100 rows, 1 .. 100, in every type
CREATE TABLE typed (s smallint, i integer, b bigint, r real,
	d double precision, n numeric);
INSERT INTO typed SELECT i, i, i, i, i, i FROM generate_series(1, 100) i;
SELECT dp_protect('typed', dataset => :'schema');
SELECT dp_declare('typed', c, lower => 0, upper => 128)
FROM unnest('{s,i,b,r,d,n}'::name[]) c;
-- the values that do not behave
CREATE TABLE special (b bigint, r real, d double precision, n numeric);
INSERT INTO special VALUES (9223372036854775807, 'NaN', 'NaN', 'NaN'),
	(-9223372036854775808, 'Infinity', 'Infinity', 'Infinity'),
	(1, '-Infinity', '-Infinity', '-Infinity'),
	(NULL, NULL, NULL, NULL),
	(9223372036854775807, 1, 1, 1),
	(9223372036854775807, 1e38, 1e308, 1e308),
	(9223372036854775807, -1e-38, -1e-308, -1e-308);
SELECT dp_protect('special', dataset => :'schema');
CREATE TABLE nobody (i int, d double precision, n numeric, ward text);
SELECT dp_protect('nobody', dataset => :'schema');
SELECT dp_declare('nobody', 'ward', keys => (SELECT array_agg(k::text) FROM generate_series(1, 200) k));
RESET ROLE;

SET ROLE :analyst;
-- counts
SELECT dp_count(*), dp_count(feel), dp_count(1), dp_count(id),
	dp_count(NULL::int), pg_typeof(dp_count(*)), pg_typeof(dp_count(feel))
FROM person;
SELECT dp_count(1, 50000), dp_count(feel, 50000.0), dp_count(feel, 5e4::float8) FROM person;
SELECT dp_count(DISTINCT age), dp_count(DISTINCT feel), dp_count(DISTINCT ward) FROM person;
SELECT dp_count(*) FILTER (WHERE sex), dp_count(*) FILTER (WHERE NOT sex AND age < 10),
	dp_count(feel) FILTER (WHERE feel = 'ok'), dp_sum(age) FILTER (WHERE age < 10),
	round(dp_avg(age) FILTER (WHERE age < 10), 3), dp_count(*) FILTER (WHERE NULL)
FROM person;
-- a lone non-integer constant is a mistake
SELECT * FROM outcome('SELECT dp_count(0.5) FROM person');
SELECT * FROM outcome('SELECT dp_count(0.5::float8) FROM person');
SELECT * FROM outcome('SELECT dp_count() FROM person');
SELECT * FROM outcome('SELECT dp_count(*, 1) FROM person');

-- sums and means: every type by every form by every type of parameter.
-- Truth: 5050 and 50.5.  Noise 128 / 100000 per sum; a sum is off by 1 with
-- probability exp(-781), a mean by 0.001 with less.
CREATE FUNCTION forms() RETURNS TABLE (aggregate text, kind text, as_builtin boolean,
	forms int, close int, answered int) LANGUAGE plpgsql AS $$
DECLARE
	form text;
	c text;
	f text;
	p text;
	v numeric;
	t regtype;
BEGIN
	FOREACH f IN ARRAY ARRAY['sum', 'avg'] LOOP
	FOREACH c IN ARRAY ARRAY['s', 'i', 'b', 'r', 'd', 'n'] LOOP
		aggregate := f; as_builtin := true; forms := 0; close := 0; answered := 0;
		FOREACH p IN ARRAY ARRAY['', '::numeric', '::float8', '::int', '::bigint', '::smallint', '::real'] LOOP
		FOREACH form IN ARRAY ARRAY['', ', 30000%1$s', ', 0%1$s, 128%1$s', ', 0%1$s, 128%1$s, 30000%1$s'] LOOP
			EXECUTE format('SELECT dp_%s(%s%s), pg_typeof(dp_%1$s(%2$s%3$s)) FROM typed',
				f, c, format(form, p)) INTO v, t;
			forms := forms + 1;
			answered := answered + (v IS NOT NULL)::int;
			close := close + CASE f WHEN 'sum' THEN abs(v - 5050) < 1
				ELSE abs(v - 50.5) < 0.001 END::int;
			EXECUTE format('SELECT $1 AND pg_typeof(%s(x)) = $2, pg_typeof(x) FROM (SELECT NULL::%s) AS t(x) GROUP BY x',
				f, (SELECT atttypid::regtype FROM pg_attribute WHERE attrelid = 'typed'::regclass AND attname = c))
				INTO as_builtin, kind USING as_builtin, t;
		END LOOP;
		END LOOP;
		RETURN NEXT;
	END LOOP;
	END LOOP;
END $$;
SELECT * FROM forms();
-- parameters of two types
SELECT dp_sum(i, 0, 128.0), dp_sum(i, 0::float8, 128.0, 50000), dp_sum(s, 0::bigint, 128.0, 5e4) FROM typed;
-- clamping of each row's value
SELECT dp_sum(i, 0, 10), dp_sum(i, 50, 100), dp_sum(i, -10, -5), round(dp_avg(i, 0, 10), 3),
	round(dp_avg(i, 200, 300), 3), round(dp_avg(i, -10, -5), 3) FROM typed;
-- bounds wider than the type of the column
SELECT dp_sum(s, 0, 100000) BETWEEN 4950 AND 5150, dp_avg(i, 0, 10000000000) BETWEEN 0 AND 10000000000,
	dp_sum(r, -1e50, 1e50) IS NOT NULL FROM typed;
-- expressions, and numbers computed from released values
SELECT dp_sum(i + 1, 0, 128), dp_sum(i) / dp_count(*), round(dp_avg(d) * 2)::int FROM typed;

-- NULL and NaN are skipped, infinities clamp: -10 + 10 + 1 + 10 + ~0
SELECT round(dp_sum(r, -10, 10)), round(dp_sum(d, -10, 10)), round(dp_sum(n, -10, 10)),
	round(dp_avg(r, -10, 10)::numeric, 2), round(dp_avg(d, -10, 10)::numeric, 2), round(dp_avg(n, -10, 10), 2)
FROM special;
-- int8 extremes.  Bounds of the type, noise of scale 2^63 / 100000: off by
-- 10^17 with probability exp(-1084).
SELECT dp_sum(b, -5, 5), round(dp_avg(b, -5, 5), 3),
	abs(dp_sum(b, -9223372036854775808, 9223372036854775807) - 27670116110564327421) < 1e17,
	dp_avg(b, -9223372036854775808, 9223372036854775807) BETWEEN 4.5e18 AND 4.7e18
FROM special;
-- a sum beyond the range of its type: no error, no NULL; a mean may be NULL
SELECT dp_sum(r, -3e38, 3e38, 0.001) IS NOT NULL, dp_sum(d, -1e308, 1e308, 0.001) IS NOT NULL,
	dp_sum(n, -1e308, 1e308, 0.001) IS NOT NULL, coalesce(dp_avg(d, -1e308, 1e308, 0.001) BETWEEN -1e308 AND 1e308, true)
FROM special;
-- bigint saturates: scale 2^31 * 10^20, inside with probability 5e-11 each;
-- noise of scale 2^31 * 10^22 might not fit 128 bits, and is refused before
RESET ROLE;
SET dp_pg.epsilon_floor = '';
SET ROLE :analyst;
SELECT count(*) FROM (SELECT dp_sum(i, -2147483648, 2147483647, 1e-20) v FROM typed
	UNION ALL SELECT dp_sum(i, -2147483647, 2147483647, 1e-20) FROM typed
	UNION ALL SELECT dp_sum(s, -2147483647, 2147483647, 1e-20) FROM typed) t
WHERE v IN (9223372036854775807, -9223372036854775808);
SELECT * FROM outcome('SELECT dp_sum(i, -2147483648, 2147483647, 1e-22) FROM typed');
SELECT dp_count(1, 1e-22) IS NOT NULL, dp_sum(b, 1e-22) IS NOT NULL,
	coalesce(dp_avg(b, 1e-22) BETWEEN 0 AND 128, true), coalesce(dp_avg(d, 1e-22) BETWEEN 0 AND 128, true),
	coalesce(dp_avg(r, 1e-22) BETWEEN 0 AND 128, true), dp_sum(d, 1e-22) IS NOT NULL
FROM typed;

-- The same in groups, whose numbers are in one state for each FILTER: every
-- type, equal sums, an argument that is a key, values that do not behave.
SELECT CASE WHEN s <= 40 THEN 'low' ELSE 'high' END AS half, dp_count(*), dp_count(CASE WHEN i > 10 THEN i END) AS above, dp_sum(s), dp_sum(i), dp_sum(b),
	round(dp_sum(r)) + 0 AS r, round(dp_sum(d)) + 0 AS d, round(dp_sum(n)) AS n, round(dp_avg(i), 2) AS avg,
	round(dp_avg(n, 0, 10), 1) AS clamped, dp_count(*) FILTER (WHERE i % 4 = 0) AS fourth,
	dp_sum(i) FILTER (WHERE i % 4 = 0) AS of_fourth, dp_count(i) FILTER (WHERE i > 95) AS last
FROM typed GROUP BY half;
SELECT i, s > 98 AS two, dp_sum(i), dp_count(*), dp_sum(i, 0, 98) FROM typed WHERE i IN (98, 99) GROUP BY i, two;
SELECT b > 0 AS positive, dp_count(*), dp_count(r) AS r, dp_count(n) AS n, round(dp_sum(r, -10, 10)) + 0 AS sum_r,
	round(dp_sum(d, -10, 10)) + 0 AS sum_d, round(dp_sum(n, -10, 10)) AS sum_n, dp_sum(b, -5, 5)
FROM special GROUP BY positive;
-- as many values as one function takes, and one more: 820, 4230 and 0 each
\set ECHO none
SELECT format('SELECT low, %s AS sum FROM (SELECT i <= 40 AS low, %s FROM typed GROUP BY low) AS t',
	string_agg('v' || k, ' + '), string_agg(format('dp_sum(i, 0, %s) AS v%s', 100 + k, k), ', '))
FROM unnest(ARRAY[97, 98]) AS n, generate_series(1, n) AS k GROUP BY n ORDER BY n \gexec
\set ECHO all

-- empty input is answered with noise; means are NULL where their own noisy number of rows is not positive, which
-- is sure when the noise is certainly 0
SELECT dp_count(*), dp_count(i), dp_sum(i, 0, 10), dp_sum(d, 0, 10) IS NOT NULL,
	dp_sum(n, 0, 10) IS NOT NULL, dp_avg(i, 0, 10), coalesce(dp_avg(d, 0, 10) BETWEEN 0 AND 10, true),
	coalesce(dp_avg(n, 0, 10) BETWEEN 0 AND 10, true)
FROM nobody;
SELECT dp_count(*), dp_sum(age), dp_avg(age) FROM person WHERE age > 1000;
-- one person is enough for an answer; of 121 groups with nobody some have a positive number and some have not: each
-- has with a probability between 0.4 and 0.5; 15 or fewer have with odds below 1e-10
SELECT dp_avg(age) IS NOT NULL AS one FROM person WHERE id = 7;
SELECT count(*) AS groups, count(a) BETWEEN 15 AND 107 AS means, count(v) BETWEEN 15 AND 107 AS variances, count(s) BETWEEN 15 AND 107 AS deviations
FROM (SELECT age, dp_avg(income, 0, 10, 0.01) AS a, dp_variance(income, 0, 10, 0.01) AS v, dp_stddev(income, 0, 10, 0.01) AS s
	FROM person WHERE id < 0 AND age BETWEEN 0 AND 199 GROUP BY age) AS t;
-- there is noise: 200 empty keys.  All of them 0 has probability (p = exp
-- (-0.001), P[0] = 0.0005) 1e-660; all of one sign about 2^-199.
SELECT count(*), bool_or(c > 0), bool_or(c < 0), bool_and(c IS NOT NULL), count(DISTINCT c) > 100
FROM (SELECT ward, dp_count(1, 0.001) c FROM nobody GROUP BY ward) t;
-- means stay within their bounds, and are not all at one of them
SELECT count(*), bool_and(a BETWEEN 3 AND 7), bool_and(b BETWEEN 3 AND 7), count(DISTINCT a) > 3
FROM (SELECT ward, dp_avg(i, 3, 7, 0.01) a, dp_avg(d, 3, 7, 0.01) b FROM nobody GROUP BY ward) t;
-- two asks, two draws: equal with probability 2.5e-10
SELECT (SELECT dp_count(1, 1e-9) FROM person) <> (SELECT dp_count(1, 1.0e-9) FROM typed);

-- Grids: largest power of two <= (upper - lower) / 2^20.  For [0, 100] that
-- is 2^-14, for [-3, 10^6] 2^-1, for [0, 0.001] 2^-30.  What is printed lies
-- on the grid: a numeric has all digits of its point, and a float so large
-- that it is rounded is a multiple of the granule too.
SELECT count(*), bool_and(a * 2 ^ 14 = trunc(a * 2 ^ 14)), bool_or(a * 2 ^ 13 <> trunc(a * 2 ^ 13)),
	bool_and(b * 16384 = trunc(b * 16384)), bool_or(b * 8192 <> trunc(b * 8192))
FROM (SELECT ward, dp_sum(d, 0, 100, 1) a, dp_sum(n, 0, 100, 1) b FROM nobody GROUP BY ward) t;
SELECT bool_and(a * 2 = trunc(a * 2)), bool_or(a <> trunc(a)),
	bool_and(b * 2 ^ 30 = trunc(b * 2 ^ 30)), bool_or(b * 2 ^ 29 <> trunc(b * 2 ^ 29))
FROM (SELECT ward, dp_sum(n, -3, 1000000, 1) a, dp_sum(d, 0, 0.001, 1) b FROM nobody GROUP BY ward) t;
RESET ROLE;
SET ROLE :owner;
SELECT dp_declare('nobody', 'd', lower => 0, upper => 100, granule => 0.25);
SELECT dp_declare('nobody', 'n', lower => 0, upper => 100, granule => 4);
SET ROLE :analyst;
SELECT bool_and(a * 4 = trunc(a * 4)), bool_or(a * 2 <> trunc(a * 2)),
	bool_and(b % 4 = 0), bool_or(b % 8 <> 0)
FROM (SELECT ward, dp_sum(d, 1.0) a, dp_sum(n, 1.0) b FROM nobody GROUP BY ward) t;
SET ROLE :owner;
SELECT dp_declare('nobody', 'n', lower => 0.25, upper => 99.75, granule => 0.25);
CREATE TABLE quarter (x numeric(6,2), d double precision, r real);
INSERT INTO quarter SELECT i, i, i FROM unnest(ARRAY[10.5, 15.25, 0.13]) i;
SELECT dp_protect('quarter', dataset => :'schema');
SELECT dp_declare('quarter', c, lower => 0, upper => 25.75, granule => 0.25) FROM unnest(ARRAY['x', 'd', 'r']) c;
SET ROLE :analyst;
SELECT dp_sum(x), dp_sum(d), dp_sum(r), dp_quantile(x, 0.99, 12, 15.25), dp_sum(-x, -25.75, 0) % (1 / 65536.0) AS rest FROM quarter;
SELECT dp_median(x, 25.75, 30), dp_sum(x, 0.1, 25.75) FROM quarter;
SELECT value, sensitivity FROM dp_last_release();
SELECT bool_and(b % 0.25 = 0), bool_or(b % 0.5 <> 0), min(scale(b)), max(scale(b)), bool_and(m % 0.25 = 0), min(m) >= 0.25, max(m) <= 99.75
FROM (SELECT ward, dp_sum(n, 0.01) b, dp_median(n, 0.001) m FROM nobody GROUP BY ward) t;
SELECT bool_and(r::float8::numeric % 0.25 = 0), bool_and(d::numeric % 0.25 = 0), min(abs(d)) > 2 ^ 30
FROM (SELECT dp_sum(r, 1e-20) r, dp_sum(d, 1e-20) d FROM quarter) t;

-- outside a private query, and over public rows
SELECT * FROM outcome('SELECT dp_count(*)');
SELECT * FROM outcome('SELECT dp_count(*) FROM pg_catalog.pg_class');
SELECT * FROM outcome('SELECT dp_sum(i, 0, 1) FROM generate_series(1, 3) i');

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
