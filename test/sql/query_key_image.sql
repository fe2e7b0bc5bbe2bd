-- Computed keys: the public values of a column under any allowed expression,
-- and constants of CASE, whatever it tests.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_key_image
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
CREATE TABLE event (id int PRIMARY KEY, day date NOT NULL, at timestamp NOT NULL,
	tz timestamptz, n numeric NOT NULL, c char(3), f float8, i int, wide bigint NOT NULL, t text);
INSERT INTO event SELECT i, date '2020-01-01' + i % 366,
	timestamp '2020-01-01' + i * interval '9 hours',
	timestamptz '2020-01-01 00:00+00' + i * interval '9 hours',
	(ARRAY['1.0','1.00','2'])[1 + i % 3]::numeric, (ARRAY['a','b',NULL])[1 + i % 3],
	(ARRAY[0, '-0', 1.5])[1 + i % 3]::float8, nullif(i % 50, 49), i * 1000, (ARRAY['Ab','aB','c',NULL])[1 + i % 4]
FROM generate_series(1, 976) i;
SELECT dp_protect('event', dataset => :'schema') \g /dev/null
SELECT dp_declare('event', 'day', lower => date '2020-01-01', upper => date '2020-12-31') \g /dev/null
SELECT dp_declare('event', 'at', lower => timestamp '2020-01-01', upper => timestamp '2020-12-31 23:59:59') \g /dev/null
SELECT dp_declare('event', 'tz', lower => timestamptz '2020-01-01+00', upper => timestamptz '2020-12-31 23:59:59+00') \g /dev/null
SELECT dp_declare('event', 'n', keys => ARRAY[1.0, 2, 3]) \g /dev/null
SELECT dp_declare('event', 'c', keys => ARRAY['a', 'b', 'c']) \g /dev/null
SELECT dp_declare('event', 'f', keys => ARRAY[0, 1.5]) \g /dev/null
SELECT dp_declare('event', 'i', lower => 0, upper => 48) \g /dev/null
SELECT dp_declare('event', 'wide', lower => 0, upper => 1000000000000) \g /dev/null
SELECT dp_declare('event', 't', keys => ARRAY['Ab', 'aB', 'c']) \g /dev/null
RESET ROLE;

-- the groups and counts of the plain query, and what both have in common
CREATE FUNCTION compare(query text, OUT private bigint, OUT plain bigint, OUT alike bigint)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'CREATE TEMP TABLE a AS ' || query;
	EXECUTE 'CREATE TEMP TABLE b AS ' || replace(query, 'dp_count', 'count');
	SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b),
		(SELECT count(*) FROM (TABLE a INTERSECT TABLE b) t)
	INTO private, plain, alike;
	DROP TABLE a, b;
END $$;

-- declared keys: several may share a group, other has that of its name
SET ROLE :analyst;
SELECT lower(ward), dp_count(*) FROM person GROUP BY lower(ward);
SELECT CASE WHEN ward IN ('A', 'B') THEN ward ELSE 'rest' END AS w, dp_count(*) FROM person GROUP BY 1;
SELECT ward = 'A', dp_count(*) FROM person GROUP BY 1;
SELECT coalesce(nullif(ward, 'C'), '-') AS w, dp_count(*) FROM person GROUP BY w;
SELECT lower(ward), dp_count(*) FROM person WHERE ward <> 'A' AND lower(ward) < 'd' GROUP BY 1;
-- NULL goes through the expression, too
SELECT coalesce(c, 'none'), dp_count(*) FROM event GROUP BY 1;
SELECT lower(t), dp_count(*) FROM event GROUP BY 1;
SELECT lower(t), dp_count(*) FROM event WHERE t IS NOT NULL GROUP BY 1;
SELECT nullif(t, 'c') AS t, dp_count(*) FROM event WHERE t > 'b' GROUP BY nullif(t, 'c');
-- equal values that are not the same: rows are looked up by the column
SELECT n * 2 AS m, dp_count(*) FROM event GROUP BY n * 2;
SELECT f + 1 AS g, dp_count(*) FROM event GROUP BY f + 1;
-- columns of subqueries and views that hand the base column up or do not
SELECT lower(w), dp_count(*) FROM (SELECT ward AS w, age FROM person) p GROUP BY 1;
SELECT l, dp_count(*) FROM (SELECT lower(ward) AS l, age FROM person) p WHERE age < 50 GROUP BY l;
SELECT l || '!', dp_count(*) FROM (SELECT * FROM (SELECT lower(ward) AS l FROM person) p) q GROUP BY 1;
-- with other keys, shown in expressions, filtered, ordered
SELECT lower(ward) || '?' AS w, sex, dp_count(*) FROM person WHERE sex GROUP BY lower(ward), sex
HAVING dp_count(*) > 10 ORDER BY 1 DESC;

-- constants, whatever they look at
SELECT CASE WHEN income < 10 THEN 'poor' WHEN income < 30 THEN 'middle' ELSE 'rich' END AS c, dp_count(*)
FROM person GROUP BY 1;
SELECT CASE WHEN income < 10 AND sex THEN 1 WHEN age > 70 THEN NULL END AS c, dp_count(*) FROM person GROUP BY c;
SELECT coalesce(CASE WHEN feel = 'sad' THEN 0.5 END, 2) AS c, dp_count(*) FROM person GROUP BY c;
SELECT CASE WHEN income < 10 THEN 'a' ELSE 'a' END AS c, dp_count(*) FROM person GROUP BY c;
PREPARE cases(text) AS SELECT CASE WHEN age < 50 THEN $1 ELSE 'old' END AS c, dp_count(*) FROM person GROUP BY c;
EXECUTE cases('young');
EXECUTE cases(NULL);
EXECUTE cases('old');
SELECT CASE WHEN income < 10 THEN 'poor' ELSE 'rich' END AS c, dp_count(*) FROM person
WHERE CASE WHEN income < 10 THEN 'poor' ELSE 'rich' END = 'rich' GROUP BY 1;
-- ... of which those are left that the column can have, by what WHERE says
SELECT CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' WHEN age >= 65 THEN 'old' ELSE 'unknown' END AS k, dp_count(*)
FROM person WHERE age >= 18 AND age <> 70 GROUP BY k;
SELECT CASE WHEN age < 18 THEN 'child' WHEN age >= 18 THEN 'adult' ELSE 'unknown' END AS k, dp_count(*) FROM person GROUP BY k;
SELECT CASE WHEN n < 1.5 THEN 'low' WHEN n >= 1.5 THEN 'high' ELSE 'unknown' END AS k, dp_count(*) FROM event GROUP BY k;
SELECT CASE WHEN n < 1.5 THEN 'low' WHEN n < 1.6 THEN 'between' ELSE 'high' END AS k, dp_count(*) FROM event WHERE n > 1.55 GROUP BY k;
SELECT CASE WHEN f = 0 THEN 'zero' WHEN f = 1.5 THEN 'more' END AS k, dp_count(*) FROM event WHERE f IN (0, 1.5) GROUP BY k;
SELECT CASE WHEN at < timestamp '2020-06-01' THEN 'early' ELSE 'late' END AS k, dp_count(*) FROM event WHERE at >= timestamp '2020-06-01' GROUP BY k;
SELECT age >= 65 AS old, dp_count(*) FROM person WHERE age > 70 GROUP BY old;
SELECT age >= 65 AS old, dp_count(*) FROM person WHERE age BETWEEN 60 AND 70 GROUP BY old;
-- rows beyond the declared bounds are not lost
SELECT CASE WHEN income > 1000 THEN 'rich' ELSE 'poor' END AS c, dp_count(*) FROM person WHERE income > 999 GROUP BY c;
RESET ROLE;

-- bounded integers and dates
SET ROLE :owner;
SELECT * FROM compare('SELECT i / 10 * 10, dp_count(*) FROM event GROUP BY 1');
SELECT * FROM compare('SELECT floor(i / 10) * 10, dp_count(*) FROM event WHERE i BETWEEN 15 AND 35 GROUP BY 1');
SELECT * FROM compare('SELECT width_bucket(i, 0, 49, 7), dp_count(*) FROM event GROUP BY 1');
SELECT * FROM compare('SELECT CASE WHEN i < 10 THEN i END, dp_count(*) FROM event GROUP BY 1');
SELECT * FROM compare('SELECT i % 7 + 1, dp_count(*) FROM event WHERE i > 5 GROUP BY 1');
SELECT * FROM compare('SELECT (date_trunc(''month'', day))::date, dp_count(*) FROM event WHERE day < date ''2020-06-05'' GROUP BY 1');
SELECT * FROM compare('SELECT extract(year FROM day) * 100 + extract(month FROM day), dp_count(*) FROM event GROUP BY 1');
SELECT * FROM compare('SELECT date_trunc(''quarter'', date_trunc(''month'', day)), dp_count(*) FROM event GROUP BY 1');
-- of 10^12 values WHERE leaves few
SELECT * FROM compare('SELECT wide / 5000, dp_count(*) FROM event WHERE wide >= 100000 AND wide < 200000 GROUP BY 1');
-- timestamps, by cells
SELECT * FROM compare('SELECT at::date, dp_count(*) FROM event GROUP BY 1');
SELECT * FROM compare('SELECT date_trunc(''month'', date_trunc(''day'', at)), dp_count(*) FROM event GROUP BY 1');
SELECT * FROM compare('SELECT date_trunc(''day'', at::timestamptz AT TIME ZONE ''UTC''), dp_count(*) FROM event WHERE at >= timestamp ''2020-03-01'' AND at < timestamp ''2020-03-11'' GROUP BY 1');
SELECT * FROM compare('SELECT extract(year FROM at) * 100 + extract(week FROM at), dp_count(*) FROM event GROUP BY 1');
SELECT * FROM compare('SELECT floor(extract(epoch FROM at) / 86400) * 86400, dp_count(*) FROM event WHERE at < timestamp ''2020-02-01'' GROUP BY 1');
SELECT * FROM compare('SELECT CASE WHEN extract(month FROM at) < 7 THEN extract(month FROM at) END, dp_count(*) FROM event GROUP BY 1');
SET timezone = 'America/New_York';
SELECT * FROM compare('SELECT date_trunc(''month'', tz AT TIME ZONE ''Asia/Kolkata''), dp_count(*) FROM event WHERE tz < timestamptz ''2020-06-01'' GROUP BY 1');
SELECT * FROM compare('SELECT tz::date, dp_count(*) FROM event WHERE tz >= timestamptz ''2020-10-25'' AND tz < timestamptz ''2020-11-05'' GROUP BY 1');
SET timezone = 'UTC';
RESET ROLE;

-- refused: two columns, no bounds, a field without end, too much
SET ROLE :analyst;
SELECT * FROM outcome('SELECT ward || sex::text, dp_count(*) FROM person GROUP BY 1');
SELECT * FROM outcome('SELECT age + extract(month FROM born), dp_count(*) FROM person GROUP BY 1');
SELECT * FROM outcome('SELECT floor(income), dp_count(*) FROM person GROUP BY 1');
SELECT * FROM outcome('SELECT seen::date, dp_count(*) FROM person GROUP BY 1');
SELECT * FROM outcome('SELECT at + interval ''1 day'', dp_count(*) FROM event GROUP BY 1');
SELECT * FROM outcome('SELECT extract(epoch FROM at), dp_count(*) FROM event GROUP BY 1');
SELECT * FROM outcome('SELECT wide / 5000, dp_count(*) FROM event GROUP BY 1');
SELECT * FROM outcome('SELECT CASE WHEN sex THEN income END, dp_count(*) FROM person GROUP BY 1');
SELECT * FROM outcome('SELECT CASE WHEN sex THEN (SELECT 1) ELSE 2 END, dp_count(*) FROM person GROUP BY 1');
SELECT * FROM outcome('SELECT CASE WHEN sex THEN random() END, dp_count(*) FROM person GROUP BY 1');
-- charged once; keys alone are free
SELECT * FROM outcome('SELECT lower(ward), dp_count(*) FROM person GROUP BY 1');
SELECT * FROM outcome('SELECT DISTINCT lower(ward) FROM person');
SELECT DISTINCT age / 50 FROM person ORDER BY 1;
RESET ROLE;

-- the groups are those of an empty table, whatever made them
CREATE FUNCTION keys_of(query text, OUT keys text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'SELECT string_agg(k::text, '' '') FROM (' || query || ') t (k, n)' INTO keys;
END $$;
SET ROLE :analyst;
CREATE TEMP TABLE seen (query text, keys text);
INSERT INTO seen (query) VALUES
	('SELECT lower(t), dp_count(*) FROM event WHERE t > ''a'' GROUP BY 1'),
	('SELECT i / 10, dp_count(*) FROM event WHERE i > 15 GROUP BY 1'),
	('SELECT at::date, dp_count(*) FROM event WHERE at > timestamp ''2020-11-11'' GROUP BY 1'),
	('SELECT date_trunc(''month'', day), dp_count(*) FROM event WHERE day > date ''2020-03-03'' GROUP BY 1'),
	('SELECT extract(month FROM tz), dp_count(*) FROM event WHERE extract(month FROM tz) > 7 GROUP BY 1'),
	('SELECT CASE WHEN n > 1 THEN ''a'' WHEN n > 0 THEN ''b'' END, dp_count(*) FROM event WHERE n > 0.5 GROUP BY 1'),
	('SELECT c, dp_count(*) FROM event WHERE c IN (''a'', ''q'') GROUP BY c'),
	('SELECT DISTINCT coalesce(c, ''none''), 0 FROM event');
UPDATE seen SET keys = keys_of(query);
RESET ROLE;
DELETE FROM event;
SET ROLE :analyst;
SELECT count(*), count(*) FILTER (WHERE keys <> ''), count(*) FILTER (WHERE keys = keys_of(query)) FROM seen;
RESET ROLE;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
