-- What follows released values is NULL where noise alone would make it an
-- error, at every level; what does not is an error as ever.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_released
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
CREATE FUNCTION twice(x bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN 1 / x; END';
CREATE DOMAIN positive AS bigint CHECK (VALUE > 0);
CREATE VIEW wards AS SELECT ward, dp_count(*) AS n, dp_sum(age) AS s FROM person GROUP BY ward;
CREATE VIEW shares AS SELECT ward, s / n AS share, s FROM wards;
CREATE TABLE zone (ward text, area integer);
INSERT INTO zone VALUES ('A', 1), ('B', 2), ('C', 0), ('D', 0), ('E', 0);
CREATE TABLE kept (n integer, share numeric(4, 2));
GRANT SELECT ON wards, shares, zone TO :analyst;
GRANT INSERT, UPDATE, SELECT ON kept TO :analyst;
RESET ROLE;
SET ROLE :analyst;
\pset null NULL
-- ward E has no rows; z is 0, and b a large number, as noise could make them
CREATE TEMP VIEW noisy AS SELECT ward, n, n - n AS z, n - 1000 AS low, n * 1000000000000 AS b FROM wards WHERE ward IN ('A', 'E');
-- division, at the same level and at all above
SELECT ward, dp_sum(age) / (dp_count(*) - dp_count(*)), dp_sum(age) % (dp_count(*) * 0) FROM person GROUP BY ward HAVING dp_sum(age) / dp_count(*) IS NULL ORDER BY 1 / (dp_count(*) - dp_count(*));
SELECT ward, 1 / z, 1.5 / z, 1.5::float8 / z, 1 % z, mod(1, z), div(1, z), '1 day'::interval / z, '1'::money / z FROM noisy ORDER BY n / z, ward;
SELECT * FROM shares WHERE share IS NULL;
WITH a AS (SELECT z FROM noisy), b AS (SELECT max(z) AS z FROM a) SELECT 1 / z, sum(1 / z) OVER (ORDER BY 1 / z) FROM b GROUP BY z, 1 / z HAVING 1 / z IS NULL;
SELECT 1 / z FROM noisy UNION ALL SELECT z / 1 FROM noisy UNION SELECT 7 ORDER BY 1;
SELECT 1 / (SELECT min(z) FROM noisy), 1 / count(*) FILTER (WHERE z > 0), 100 / count(*) FROM noisy;
SELECT 1 / nullif(l.z, 1), 1 / r.z FROM noisy l JOIN noisy r USING (ward), LATERAL (SELECT 1 / l.z AS q) q WHERE q IS NULL;
WITH RECURSIVE r(i, z) AS (SELECT 1, min(z) FROM noisy UNION ALL SELECT i + 1, z / z FROM r WHERE i < 3) SELECT i, 1 / z FROM r;
-- functions of numbers
SELECT sqrt(low::float8), sqrt(low::numeric), ln(low::float8), ln(low::numeric), log(low::numeric), log(2, low), exp(b::float8), low::float8 ^ 0.5, 0::numeric ^ low, power(0::float8, low), acos(n), factorial(low) FROM noisy;
SELECT b::integer, b::smallint, (b * 1.0)::numeric(4, 2), b::oid, b * b * b, - (b - 9223372036854775807 - b - 1), abs((n - n - 9223372036854775807 - 1)), width_bucket(n, 0, 10, z::integer), repeat('x', b::integer), chr(low::integer), substr('abc', 1, low::integer), int8range(0, low), numrange(n, z) FROM noisy;
SELECT ARRAY[b, 1]::integer[], (ARRAY[1, 2])[b::integer], gcd(b, z) FROM noisy;
-- dates and times
SELECT date '2024-01-01' + b::integer, date '2024-01-01' + n::integer * 10000000, timestamp '2024-01-01' + b * interval '1 year', interval '1 year' * b, make_interval(years => n::integer * 100000000), make_date(low::integer, n::integer + 12, 1), make_date(year => 2024, day => 1, month => n::integer), to_timestamp(b::float8 * 1000), date_bin(z * interval '1 day', timestamp '2024-01-01', timestamp '2024-01-01') FROM noisy;
-- what takes no NULL
SELECT ward FROM noisy ORDER BY ward LIMIT (SELECT min(low) FROM noisy);
SELECT ward FROM noisy ORDER BY ward OFFSET (SELECT min(low) FROM noisy);
SELECT ward, ntile(z::integer) OVER w, nth_value(ward, low::integer) OVER w, count(*) OVER (ORDER BY ward ROWS (SELECT min(low) FROM noisy) PRECEDING) FROM noisy WINDOW w AS (ORDER BY ward) ORDER BY ward;
SELECT count(*) FROM noisy LIMIT (SELECT CASE WHEN min(low) > 0 THEN 1 END FROM noisy) OFFSET (SELECT sum(1 / z) FROM noisy);
SELECT count(*) FROM (SELECT FROM zone LIMIT (SELECT sum(1 / z) FROM noisy)) z;
SELECT count(*) FROM noisy, generate_series(1, 2, z) g;
-- types stay
SELECT (b * 1.0)::numeric(4, 2) AS share, sqrt(n) AS root, b::smallint AS small, (b * 1.0)::numeric(4, 2)::varchar(9) COLLATE "C" AS text FROM noisy \gdesc
PREPARE typed(bigint) AS SELECT (n * $1 / n)::numeric(4, 2) AS share FROM wards WHERE ward = 'A';
EXECUTE typed(2);
EXECUTE typed(1000);
-- what INSERT, UPDATE and MERGE write is not made NULL by a cast to the column
INSERT INTO kept SELECT n, s.share FROM noisy JOIN shares s USING (ward) RETURNING *;
INSERT INTO kept SELECT b::integer, (b * 1.0)::numeric(4, 2) FROM noisy RETURNING *;
SELECT * FROM outcome('INSERT INTO kept SELECT b FROM noisy');
SELECT * FROM outcome('INSERT INTO kept (share) SELECT b FROM noisy');
SELECT * FROM outcome('INSERT INTO kept (n) VALUES (1), ((SELECT max(b) FROM noisy))');
SELECT * FROM outcome('UPDATE kept SET n = b FROM noisy WHERE ward = ''A''');
SELECT * FROM outcome('WITH k AS (INSERT INTO kept SELECT b FROM noisy RETURNING n) SELECT n FROM k');
SELECT * FROM outcome('MERGE INTO kept USING (SELECT max(b) AS b FROM noisy) s ON n = s.b WHEN NOT MATCHED THEN INSERT (n) VALUES (b)');
-- what is not computed from released values is as it was
SELECT * FROM outcome('SELECT ward, 1 / 0 FROM wards');
SELECT * FROM outcome('SELECT n, 1 / area FROM wards JOIN zone USING (ward)');
SELECT n / area IS NULL AS null FROM wards JOIN zone USING (ward) ORDER BY 1;
-- what others wrote, texts, and words that were written wrongly
SELECT * FROM outcome('SELECT twice(z) FROM noisy');
SELECT * FROM outcome('SELECT low::positive FROM noisy');
SELECT * FROM outcome('SELECT ''{"a": 1}''::jsonb - z::integer FROM noisy');
SELECT * FROM outcome('SELECT (''x'' || n)::integer FROM noisy');
SELECT * FROM outcome('SELECT date_trunc(''mnth'', timestamp ''2024-01-01'' + n * interval ''1 day'') FROM noisy');
DO $$ DECLARE z bigint; BEGIN SELECT n.z INTO z FROM noisy n LIMIT 1; PERFORM 1 / z; EXCEPTION WHEN division_by_zero THEN RAISE WARNING 'own arithmetic'; END $$;
-- in transparent mode
SET dp_pg.transparent = on;
SET dp_pg.suppress = off;
SELECT ward, sum(age) / sum(CASE WHEN age > 1000 THEN 1 ELSE 0 END), ln(count(*) - 1000.0) FROM person GROUP BY ward;
SELECT k, 100.0 * a / b FROM (SELECT ward AS k, count(*) AS a, count(*) FILTER (WHERE age > 1000) AS b FROM person GROUP BY 1) s;
SELECT sex, 1 / (count(*) - count(*)) FROM person GROUP BY ROLLUP (sex) ORDER BY 1;
RESET dp_pg.suppress;
RESET dp_pg.transparent;
-- how it is shown, and stored
\set VERBOSITY terse
EXPLAIN (VERBOSE, COSTS OFF) SELECT s / n FROM wards;
SELECT pg_get_viewdef('shares') LIKE '%(wards.s / wards.n)%' OR pg_get_viewdef('shares') LIKE '%(s / n)%' AS kept;
-- dp_pg.null_on_error itself
SELECT dp_pg.null_on_error(NULL::integer, 'int4div(integer,integer)', 7, 2), dp_pg.null_on_error(NULL::integer, 'int4div(integer,integer)', 7, 0), dp_pg.null_on_error(NULL::integer, 'int4div(integer,integer)', NULL::integer, 0), dp_pg.null_on_error(NULL::integer, NULL, 7, 2);
SELECT dp_pg.null_on_error(NULL::integer, 'int4div(integer,integer)', 7::bigint, 2);
SELECT dp_pg.null_on_error(NULL::bigint, 'int4div(integer,integer)', 7, 2);
SELECT dp_pg.null_on_error(NULL::integer, 'int4div(integer,integer)', 7);
SELECT dp_pg.null_on_error(NULL::integer, 'int4div(integer,integer)', VARIADIC ARRAY[7, 2]);
SELECT dp_pg.null_on_error(NULL::bigint, 'twice(bigint)', 0::bigint);
SELECT dp_pg.null_on_error(NULL::text, 'pg_read_file(text,bigint,bigint)', 'PG_VERSION'::text, 0::bigint, 1::bigint);
SELECT dp_pg.null_on_error(NULL::boolean, 'int4lt(integer,integer)', 1, 2);
SELECT dp_pg.null_on_error(NULL::jsonb, 'jsonb_delete(jsonb,integer)', '{}'::jsonb, 1);
SELECT dp_pg.null_on_error(NULL::integer, f, 7, 2) FROM unnest(ARRAY['int4div(integer,integer)', 'int4mod(integer,integer)', 'int4div(integer,integer)', 'int4mul(integer,integer)']::regprocedure[]) f;
SELECT dp_pg.null_on_error(NULL::timestamptz, 'setseed(float8)', 1::float8);
SELECT dp_pg.null_on_error(NULL::text, '1'::regprocedure, 1);
SELECT * FROM outcome('SELECT dp_count(dp_pg.null_on_error(NULL::integer, ''int4div(integer,integer)'', age, 0)) FROM person');
RESET ROLE;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
