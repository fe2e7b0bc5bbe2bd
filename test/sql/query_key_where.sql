-- WHERE decides which public groups there are: a value for which a condition
-- is false or NULL is left out, undecided values stay, and no row that WHERE
-- keeps is lost.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_key_where
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
CREATE TABLE event (id int PRIMARY KEY, day date NOT NULL, at timestamp NOT NULL,
	tz timestamptz, n numeric NOT NULL, c char(3) NOT NULL, f float8, i int,
	far date NOT NULL);
INSERT INTO event SELECT i, date '2020-01-01' + i % 366,
	timestamp '2020-01-01' + i * interval '9 hours',
	timestamptz '2020-01-01 00:00+00' + i * interval '9 hours',
	(ARRAY['1.0','1.00','2'])[1 + i % 3]::numeric, (ARRAY['a','b'])[1 + i % 2],
	(ARRAY[0, '-0', 1.5])[1 + i % 3]::float8, i % 50, date '2020-01-01' + i % 366
FROM generate_series(1, 976) i;
SELECT dp_protect('event', dataset => :'schema') \g /dev/null
SELECT dp_declare('event', 'day', lower => date '2020-01-01', upper => date '2020-12-31') \g /dev/null
SELECT dp_declare('event', 'at', lower => timestamp '2020-01-01', upper => timestamp '2020-12-31 23:59:59') \g /dev/null
SELECT dp_declare('event', 'tz', lower => timestamptz '2020-01-01+00', upper => timestamptz '2020-12-31 23:59:59+00') \g /dev/null
SELECT dp_declare('event', 'n', keys => ARRAY[1.0, 2, 3]) \g /dev/null
SELECT dp_declare('event', 'c', keys => ARRAY['a', 'b', 'c']) \g /dev/null
SELECT dp_declare('event', 'f', keys => ARRAY[0, 1.5]) \g /dev/null
SELECT dp_declare('event', 'i', lower => 0, upper => 40) \g /dev/null
SELECT dp_declare('event', 'far', lower => date '1900-01-01', upper => date '9999-12-31') \g /dev/null
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

-- declared keys: other stays, since it stands for what nobody declared
SET ROLE :analyst;
SELECT ward, dp_count(*) FROM person WHERE ward IN ('A', 'X') GROUP BY ward;
SELECT ward, dp_count(*) FROM person WHERE ward <> 'A' GROUP BY ward;
SELECT ward, dp_count(*) FROM person WHERE lower(ward) LIKE 'c%' GROUP BY ward;
SELECT ward, dp_count(*) FROM person WHERE ward > 'B' AND age < 50 GROUP BY ward;
-- not decided: other columns, OR with them
SELECT ward, dp_count(*) FROM person WHERE ward = 'A' OR age > 200 GROUP BY ward;
-- at every level, by every name
SELECT w, dp_count(*) FROM (SELECT ward AS w, age FROM person WHERE ward <> 'C') p
WHERE w <> 'B' GROUP BY w;
WITH q AS (SELECT * FROM person WHERE sex) SELECT sex, dp_count(*) FROM q GROUP BY sex;
-- boolean, enum, conditions
SELECT sex, dp_count(*) FROM person WHERE NOT sex GROUP BY sex;
SELECT feel, dp_count(*) FROM person WHERE feel IS NOT NULL GROUP BY feel;
SELECT feel, dp_count(*) FROM person WHERE feel > 'sad' GROUP BY feel;
SELECT feel, dp_count(*) FROM person WHERE feel IS NULL GROUP BY feel;
SELECT age < 50, dp_count(*) FROM person WHERE age < 50 GROUP BY 1;
SELECT age < 50, dp_count(*) FROM person WHERE (age < 50) IS NOT NULL GROUP BY 1;
-- several keys
SELECT ward, sex, dp_count(*) FROM person WHERE ward = 'A' AND sex GROUP BY ward, sex;
-- nothing is left
SELECT ward, dp_count(*) FROM person WHERE false GROUP BY ward;
SELECT age, dp_count(*) FROM person WHERE age > 5 AND age < 5 GROUP BY age;
SELECT dp_count(*) FROM person WHERE false;

-- equal values that are not the same: the public value does not decide
SELECT n, dp_count(*) FROM event WHERE n < 2.00 GROUP BY n;
SELECT n, dp_count(*) FROM event WHERE n IN (1.000, 3) GROUP BY n;
SELECT c, dp_count(*) FROM event WHERE c = 'b' GROUP BY c;
SELECT f, dp_count(*) FROM event WHERE f = '-0'::float8 GROUP BY f;
SELECT f, dp_count(*) FROM event WHERE f IS NOT NULL GROUP BY f;
RESET ROLE;

-- integers and dates: ranges of them, and what remains one by one
SET ROLE :owner;
SELECT * FROM compare('SELECT day, dp_count(*) FROM event WHERE day >= date ''2020-01-05'' AND day < date ''2020-02-10'' GROUP BY day');
SELECT * FROM compare('SELECT day, dp_count(*) FROM event WHERE day BETWEEN timestamptz ''2020-03-01'' AND timestamptz ''2020-03-10'' GROUP BY day');
SELECT * FROM compare('SELECT day, dp_count(*) FROM event WHERE date ''2020-02-10'' > day AND extract(dow FROM day) = 1 GROUP BY day');
SELECT * FROM compare('SELECT day, dp_count(*) FROM event WHERE date_trunc(''month'', day) = date ''2020-02-01'' GROUP BY day');
SELECT * FROM compare('SELECT i, dp_count(*) FROM event WHERE i BETWEEN 3 AND 7 GROUP BY i');
SELECT * FROM compare('SELECT i, dp_count(*) FROM event WHERE i % 10 = 3 AND i < 40 GROUP BY i');
SELECT * FROM compare('SELECT i, dp_count(*) FROM event WHERE i > 5::bigint AND 7 >= i GROUP BY i');
-- 3 million days of which a month is asked
SELECT * FROM compare('SELECT far, dp_count(*) FROM event WHERE far >= date ''2020-01-01'' AND far < date ''2020-02-01'' GROUP BY far');
SELECT * FROM compare('SELECT far, dp_count(*) FROM event WHERE far = date ''2020-02-01'' GROUP BY far');
-- date_trunc and extract of dates and timestamps
SELECT * FROM compare('SELECT date_trunc(''month'', day), dp_count(*) FROM event WHERE day >= date ''2020-03-31'' AND day <= date ''2020-05-01'' GROUP BY 1');
SELECT * FROM compare('SELECT date_trunc(''month'', at), dp_count(*) FROM event WHERE at >= timestamp ''2020-03-31 23:00'' AND at < timestamp ''2020-05-01'' GROUP BY 1');
SELECT * FROM compare('SELECT date_trunc(''day'', at), dp_count(*) FROM event WHERE at >= timestamp ''2020-03-30 12:00'' AND at <= timestamp ''2020-04-02'' GROUP BY 1');
SELECT * FROM compare('SELECT date_trunc(''month'', at), dp_count(*) FROM event WHERE extract(month FROM at) IN (3, 5) GROUP BY 1');
SELECT * FROM compare('SELECT date_trunc(''week'', at), dp_count(*) FROM event WHERE date_trunc(''week'', at) >= timestamp ''2020-03-01'' AND at::date < date ''2020-04-01'' GROUP BY 1');
SELECT * FROM compare('SELECT extract(month FROM at), dp_count(*) FROM event WHERE at >= timestamp ''2020-03-31'' AND at < timestamp ''2020-06-01'' GROUP BY 1');
SELECT * FROM compare('SELECT extract(month FROM day), dp_count(*) FROM event WHERE extract(quarter FROM day) = 2 GROUP BY 1');
SELECT * FROM compare('SELECT extract(dow FROM day), dp_count(*) FROM event WHERE extract(dow FROM day) BETWEEN 1 AND 5 GROUP BY 1');
SELECT * FROM compare('SELECT extract(hour FROM at), dp_count(*) FROM event WHERE extract(hour FROM at) < 6 GROUP BY 1');
SELECT * FROM compare('SELECT extract(year FROM day), dp_count(*) FROM event WHERE day > date ''2020-06-01'' GROUP BY 1');
-- with time zones
SET timezone = 'America/New_York';
SELECT * FROM compare('SELECT date_trunc(''day'', tz), dp_count(*) FROM event WHERE tz >= timestamptz ''2020-03-07'' AND tz < timestamptz ''2020-03-10'' GROUP BY 1');
SELECT * FROM compare('SELECT date_trunc(''hour'', tz), dp_count(*) FROM event WHERE tz >= timestamptz ''2020-10-31'' AND tz < timestamptz ''2020-11-03'' AND extract(hour FROM tz AT TIME ZONE ''Asia/Kolkata'') > 4 GROUP BY 1') AS t
WHERE private >= plain AND plain = alike;
SET timezone = 'UTC';
RESET ROLE;

-- local time goes back over midnight: the last declared minute is of the 7th,
-- an hour later it is the 6th again
SET ROLE :owner;
CREATE TABLE night (id int PRIMARY KEY, at timestamptz NOT NULL);
INSERT INTO night SELECT i, timestamptz '2010-11-07 02:00:00+00' + i * interval '1 minute'
FROM generate_series(0, 119) i;
SELECT dp_protect('night', dataset => :'schema') \g /dev/null
SELECT dp_declare('night', 'at', lower => timestamptz '2010-11-07 02:00+00', upper => timestamptz '2010-11-07 02:59:59+00') \g /dev/null
SET timezone = 'America/St_Johns';
SELECT * FROM compare('SELECT date_trunc(''day'', at), dp_count(*) FROM night WHERE at < timestamptz ''2010-11-07 03:00+00'' GROUP BY 1');
SELECT * FROM compare('SELECT date_trunc(''day'', at), dp_count(*) FROM night WHERE at < timestamptz ''2010-11-07 02:45+00'' GROUP BY 1');
SET timezone = 'UTC';

-- rows beyond the declared bounds that their bucket holds are not lost
SELECT dp_declare('event', 'day', lower => date '2020-01-15', upper => date '2020-12-15') \g /dev/null
SELECT * FROM compare('SELECT date_trunc(''month'', day), dp_count(*) FROM event WHERE day < date ''2020-01-10'' GROUP BY 1');
SELECT * FROM compare('SELECT date_trunc(''month'', day), dp_count(*) FROM event WHERE day > date ''2020-12-20'' GROUP BY 1');
SELECT * FROM compare('SELECT extract(month FROM day), dp_count(*) FROM event WHERE day >= date ''2020-12-20'' GROUP BY 1');
RESET ROLE;

-- parameters and settings count, at every execution
SET ROLE :analyst;
PREPARE by_ward(text, date) AS
SELECT ward, dp_count(*) FROM person WHERE ward > $1 AND born < $2 GROUP BY ward;
EXECUTE by_ward('A', date '2021-01-01');
EXECUTE by_ward('B', date '2021-01-01');
SET plan_cache_mode = force_generic_plan;
EXECUTE by_ward('A', date '2021-01-01');
EXECUTE by_ward('C', date '2021-01-01');
EXPLAIN (COSTS OFF) EXECUTE by_ward('B', NULL);
RESET plan_cache_mode;
CREATE FUNCTION groups(first date, OUT n bigint) LANGUAGE plpgsql AS $$
BEGIN
	SELECT count(*) INTO n FROM (
		SELECT born, dp_count(*) FROM person WHERE born >= first GROUP BY born) t;
END $$;
SELECT groups(date '2020-06-01'), groups(date '2020-06-30'), groups(date '2020-07-01');
-- a subquery's result is not known before its charge: all groups stay
SELECT ward, dp_count(*) FROM person WHERE ward > (SELECT 'B') GROUP BY ward;
-- what cannot be computed decides nothing
SELECT age, dp_count(*) FROM person WHERE age / 0 = 1 AND age < 3 GROUP BY age;
SELECT age, dp_count(*) FROM person WHERE 1 / 0 = 1 AND age < 3 GROUP BY age;
-- every query is charged once, as before
SELECT * FROM outcome('SELECT ward, dp_count(*) FROM person WHERE ward = ''A'' GROUP BY ward');
-- candidates of an argmax are no groups
SELECT dp_argmax(ward) FROM person WHERE ward = 'B';
RESET ROLE;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
