-- No row that WHERE keeps is without a group: constants at the ends of a type,
-- local times that a change of the clock skips, keys that distinguish equal
-- values, and NULL in a column whose NULL is no key.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_key_kept
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
CREATE TABLE reading (id int PRIMARY KEY, f float8, x numeric, at timestamp, y int, iv interval, c char(3));
INSERT INTO reading SELECT i, CASE WHEN i % 2 = 0 THEN float8 'NaN' ELSE 1 END,
	CASE WHEN i % 2 = 0 THEN numeric 'Infinity' ELSE 1 END,
	CASE WHEN i % 2 = 0 THEN timestamp '2011-03-13 02:20' ELSE timestamp '2011-03-13 03:20' END,
	CASE WHEN i % 2 = 0 THEN NULL ELSE 1 + i % 3 END, CASE WHEN i % 2 = 0 THEN interval '1 month' ELSE interval '30 days' END,
	CASE WHEN i % 2 = 0 THEN 'a' ELSE 'a  ' END
FROM generate_series(1, 100) i;
SELECT dp_protect('reading', dataset => :'schema') \g /dev/null
SELECT dp_declare('reading', 'at', lower => timestamp '2011-01-01', upper => timestamp '2012-01-01') \g /dev/null
SELECT dp_declare('reading', 'y', keys => ARRAY[1, 2, 3], nulls => false) \g /dev/null
SELECT dp_declare('reading', 'iv', keys => ARRAY[interval '1 month']) \g /dev/null
SELECT dp_declare('reading', 'c', keys => ARRAY['a']) \g /dev/null
SELECT dp_grant(:'analyst', :'schema', epsilon => 100000000) \g /dev/null

SET ROLE :analyst;
SELECT * FROM spent() \g /dev/null
\set ECHO all
SELECT f < 'NaN' AS k, dp_count(*) FROM reading WHERE f IS NOT NULL GROUP BY 1;
SELECT CASE WHEN f > '-Infinity' THEN 'above' ELSE 'not' END AS k, dp_count(*) FROM reading GROUP BY 1;
SELECT x < 'Infinity'::numeric AS k, dp_count(*) FROM reading WHERE x IS NOT NULL GROUP BY 1;
SELECT x IN (1, 'NaN') AS k, dp_count(*) FROM reading GROUP BY 1;
SET timezone = 'America/New_York';
SELECT k, n FROM (SELECT extract(hour FROM at) AS k, dp_count(*) AS n FROM reading
	WHERE at >= '2011-03-13 07:15Z'::timestamptz AND at < '2011-03-13 07:45Z'::timestamptz GROUP BY 1) AS t WHERE n > 0;
SELECT k, n FROM (SELECT date_trunc('hour', at) AS k, dp_count(*) AS n FROM reading
	WHERE '2011-03-13 07:15Z'::timestamptz <= at AND at < '2011-03-13 07:45Z'::timestamptz GROUP BY 1) AS t WHERE n > 0;
SET timezone = 'UTC';
SELECT CASE WHEN y IS NULL THEN 'missing' ELSE 'there' END AS k, dp_count(*) FROM reading GROUP BY 1;
SELECT y IS NULL AS k, dp_count(*) FROM reading GROUP BY 1;
SELECT y IS NULL AS k, dp_count(*) FROM reading WHERE y IS NULL OR y > 1 GROUP BY 1;
-- a row's group is that of the value it equals
SELECT extract(month FROM iv) AS k, dp_count(*) FROM reading WHERE extract(month FROM iv) < 1 GROUP BY 1;
SELECT octet_length(c) AS k, dp_count(*) FROM reading WHERE octet_length(c) > 0 GROUP BY 1;
-- NOT of a comparison
SELECT y AS k, dp_count(*) FROM reading WHERE NOT (y > 2) GROUP BY y;
SELECT y > 1 AS k, dp_count(*) FROM reading WHERE NOT (y > 2 OR NOT y < 3) GROUP BY 1;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
