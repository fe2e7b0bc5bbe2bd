-- The functions allowed on private rows never raise an error, whatever the
-- arguments, and the total versions agree with the built-ins.
--
-- Nothing here is random in its outcome: extreme values, and values drawn
-- with a fixed seed; no tolerance, so no false alarms.
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS dp_pg;
RESET client_min_messages;
SET extra_float_digits = 0;
SET jit = off;
SELECT setseed(0.5) \g /dev/null

-- ---- values of each type ----

CREATE TYPE pg_temp.mood AS ENUM ('sad', 'ok', 'glad');
ALTER TYPE pg_temp.mood ADD VALUE 'so so' BEFORE 'ok';
CREATE TEMP TABLE value_int2 AS
	SELECT unnest('{-32768,-32767,-2,-1,0,1,2,181,182,32766,32767}'::int2[]) x
	UNION SELECT (random() * 65535 - 32768)::int2 FROM generate_series(1, 60);
CREATE TEMP TABLE value_int4 AS
	SELECT unnest('{-2147483648,-2147483647,-131072,-1001,-1000,-65536,-1,0,1,
		2,3,5,6,46340,46341,65536,2147483646,2147483647}'::int4[]) x
	UNION SELECT (random() * 4294967295 - 2147483648)::int4
		FROM generate_series(1, 50)
	UNION SELECT (random() * 100)::int4 FROM generate_series(1, 20);
CREATE TEMP TABLE value_int8 AS
	SELECT unnest('{-9223372036854775808,-9223372036854775807,-4294967296,
		-2147483649,-2147483648,-1,0,1,2,3037000499,3037000500,2147483647,
		2147483648,9223372036854775806,9223372036854775807}'::int8[]) x
	UNION SELECT ((random() * 2 - 1) * 9e18)::int8
		FROM generate_series(1, 60);
CREATE TEMP TABLE value_float8 AS
	SELECT unnest('{NaN,Infinity,-Infinity,0,-0,5e-324,-5e-324,
		2.2250738585072014e-308,1e-200,1e-46,1e-38,0.5,-0.5,1,-1,1.5,2.5,
		32767.5,32767.499,-32768.5,2147483647.5,2147483647.4999,-2147483648.5,
		9223372036854775807,-9223372036854775808,-9223372036854777856,
		3.4028234663852886e38,3.5e38,1e200,1e308,-1e308,1.7976931348623157e308,
		-1.7976931348623157e308,709.78,709.79,-745.1,-745.2}'::float8[]) x
	UNION SELECT (random() * 2 - 1) * 10 ^ (random() * 600 - 300)
		FROM generate_series(1, 60);
CREATE TEMP TABLE value_float4 AS
	SELECT DISTINCT x::float4 FROM value_float8
		WHERE x IN ('NaN', 'Infinity', '-Infinity', 0)
			OR abs(x) BETWEEN 1e-38 AND 3.4e38;
CREATE TEMP TABLE value_numeric AS
	SELECT unnest('{NaN,Infinity,-Infinity,0,0.000,1,-1,0.5,-0.5,1.5,
		999.995,-999.994,32767.5,32767.4,-32768.5,2147483647.5,2147483647.4,
		9223372036854775807.5,9223372036854775807.4,-9223372036854775808.5,
		-9223372036854775808.4,1e38,3.5e38,1e-46,1e-324,1e-400,1e308,1.8e308,
		9e131071,-9e131071,1e-16383,1e131071,12345678901234567890.123456789
		}'::numeric[]) x
	UNION SELECT repeat('9', 131072)::numeric
	UNION SELECT (repeat('9', 131072) || '.' || repeat('9', 16383))::numeric
	UNION SELECT ((random() - 0.5) * 10 ^ (random() * 40 - 20))::numeric
		FROM generate_series(1, 30);
CREATE TEMP TABLE value_text AS
	SELECT unnest(ARRAY['', ' ', 'a', 'A', '  padded  ', '%', '_', '%a%_b',
		'abc%', 'a\%b', '\\', 'Straße', 'İstanbul', 'ﬀ', 'ǅ', 'ΣΑΣ', 'a\_',
		'\', '%a\']) x
	UNION SELECT repeat('y ', 100)
	UNION SELECT repeat('x', 1048576) UNION SELECT repeat('x', 1048577)
	UNION SELECT repeat('ä', 600000);
CREATE TEMP TABLE value_name AS SELECT left(x, 40)::name x FROM value_text;
CREATE TEMP TABLE value_bpchar AS SELECT left(x, 60)::bpchar x FROM value_text
	UNION SELECT repeat('x', 2000000)::bpchar;
CREATE TEMP TABLE value_varchar AS SELECT x::varchar FROM value_text;
CREATE TEMP TABLE value_char AS
	SELECT ('\' || lpad(((i >> 6) * 100 + ((i >> 3) & 7) * 10 + (i & 7))::text,
		3, '0'))::"char" x FROM generate_series(0, 255) i;
CREATE TEMP TABLE value_bytea AS
	SELECT decode(x, 'hex') x FROM unnest('{"",00,ff,5c5c,25,6125,ff25ff}'
		::text[]) x;
CREATE TEMP TABLE value_bool AS SELECT unnest('{t,f}'::bool[]) x;
CREATE TEMP TABLE value_uuid AS SELECT gen_random_uuid() x
	FROM generate_series(1, 5);
CREATE TEMP TABLE value_inet AS SELECT unnest('{0.0.0.0/0,10.1.2.3/8,::/0,
	::1,255.255.255.255,ffff::/16}'::inet[]) x;
CREATE TEMP TABLE value_anyarray AS SELECT unnest(ARRAY['{}', '{1}', '{1,NULL,3}', '[-2:-1]={1,2}', '{{1,2},{3,4}}'])::int[] x;
CREATE TEMP TABLE value_anyenum AS SELECT unnest(enum_range(NULL::mood)) x;
CREATE TEMP TABLE value_date AS
	SELECT unnest('{4714-11-24 BC,4714-11-25 BC,4713-01-01 BC,3000-01-01 BC,
		0001-12-31 BC,0001-01-01,1970-01-01,2000-02-29,2024-02-29,9999-12-31,
		294276-12-31,294277-01-01,294277-01-02,5874897-12-30,5874897-12-31,
		infinity,-infinity}'::date[]) x
	UNION SELECT '4714-11-24 BC'::date + (random() * 2147483000)::int
		FROM generate_series(1, 40)
	UNION SELECT '1900-01-01'::date + (random() * 73000)::int
		FROM generate_series(1, 40);
CREATE TEMP TABLE value_timestamp AS
	SELECT unnest('{4714-11-24 00:00:00 BC,4714-11-24 00:00:00.000001 BC,
		4714-11-25 12:00 BC,4000-01-01 BC,3001-12-31 23:59:59.999999 BC,
		3000-01-01 BC,0001-12-31 23:59 BC,1969-12-31 23:59:59.999999,
		1970-01-01,2000-01-01,2000-02-29 12:34:56.789,2024-03-31 02:30,
		2024-12-30,290000-01-01,294276-12-31 23:59:59.999999,
		294276-12-31 12:00,infinity,-infinity}'::timestamp[]) x
	UNION SELECT '4714-11-24 BC'::timestamp
			+ (random() * 109000000)::int * '1 day'::interval
			+ random() * '1 day'::interval FROM generate_series(1, 60)
	UNION SELECT '1900-01-01'::timestamp + random() * '73000 days'::interval
		FROM generate_series(1, 60);
SET timezone = 'UTC';
CREATE TEMP TABLE value_timestamptz AS
	SELECT x::timestamptz FROM value_timestamp;
CREATE TEMP TABLE value_time AS
	SELECT unnest('{00:00,12:34:56.789,23:59:59.999999,24:00}'::time[]) x;
CREATE TEMP TABLE value_timetz AS
	SELECT unnest('{00:00+15:59,12:34:56.789-08,24:00-15:59:59}'::timetz[]) x;
CREATE TEMP TABLE value_interval AS
	SELECT make_interval(months => m, days => d) + t x
	FROM unnest('{-2147483648,-3600000,-13,0,1,3500000,2147483647}'::int[]) m,
		unnest('{-2147483648,-31,0,366,107000000,2147483647}'::int[]) d,
		unnest(ARRAY['0', '-1 us', '25:00', '2562047788:00:54.775807',
			'-2562047788:00:54.775807']::interval[]) t
	-- from PostgreSQL 17 on the greatest of all three is infinity
	WHERE m < 2147483647 OR d < 2147483647 OR t < '2562047788:00:54.775807'
	UNION ALL
	SELECT unnest(CASE WHEN current_setting('server_version_num')::int >= 170000
		THEN '{infinity,-infinity}' END::interval[]);

-- Field names and zones: all PostgreSQL's own, and bad ones.
CREATE TEMP TABLE value_field AS
	SELECT unnest('{microseconds,milliseconds,second,minute,hour,day,week,
		month,quarter,year,decade,century,millennium,julian,isoyear,dow,isodow,
		doy,epoch,timezone,timezone_hour,timezone_minute,MONTH,mon,years,usec,
		msec,c,mil,qtr,"",now,today,infinity,allballs,nonsense,bc,utc,
		"a field name that is longer than sixty-four characters, and so it is"
		}'::text[]) x;
CREATE TEMP TABLE value_zone AS
	SELECT unnest('{UTC,utc,Europe/Paris,Pacific/Kiritimati,EST,MSK,<+14>-14,
		Mars/Base,""}'::text[]) x;
CREATE TEMP TABLE value_pattern AS
	SELECT unnest(ARRAY['', '%', '_', 'a%', '%a%_b', 'a\%b', '\\', '%\_',
		'Straße%', repeat('%a', 64)]) x;

-- ---- the trial ----

-- The table of values for an argument of a function.
CREATE FUNCTION pg_temp.source(f regprocedure, condition text, i int)
RETURNS text LANGUAGE sql AS $$
	SELECT CASE
		WHEN condition ~ 'field' AND i = 0 THEN 'value_field'
		WHEN condition ~ 'zone' AND i = 0 THEN 'value_zone'
		WHEN condition ~ 'escape' AND i = 1
			THEN format('(SELECT unnest(''{"",!}''::%s[]) x)', t::regtype)
		WHEN condition ~ 'pattern' AND t = 'bytea'::regtype
			THEN '(SELECT convert_to(x, getdatabaseencoding()) x
				FROM value_pattern)'
		WHEN condition ~ 'pattern' AND i = 1 AND f::text !~ 'total_'
			THEN 'value_pattern'
		WHEN condition ~ 'explicit' AND i = 1
			THEN '(SELECT unnest(''{-1,4,5,9,10485764}''::int[]) x)'
		WHEN condition ~ 'explicit' AND i = 2 THEN '(SELECT true AS x)'
		WHEN condition ~ 'precision' AND i = 1
			THEN '(SELECT generate_series(0, 6) x)'
		WHEN t = '"char"'::regtype THEN 'value_char'
		WHEN f::text ~ '^"numeric"|total_numeric\('
				AND t = 'integer'::regtype
			THEN '(SELECT (p << 16) + (s & 2047) + 4 AS x
				FROM unnest(''{1,5,20,1000}''::int[]) p,
					unnest(''{-1000,-3,0,2,1000}''::int[]) s UNION SELECT -1)'
		WHEN f::text ~ 'substr|left|right' AND t = 'integer'::regtype
			THEN '(SELECT unnest(''{-2147483648,-3,-1,0,1,2,5,600000,
				2147483647}''::int[]) x)'
		WHEN f::text ~ 'split_part|string_to_array' AND i = 1
			THEN '(SELECT unnest(''{"",",",a,ß,no such}''::text[]) x)'
		WHEN f::text ~ 'split_part' AND t = 'integer'::regtype
			THEN '(SELECT unnest(''{-2147483648,-3,-1,0,1,2,600000}''::int[]) x)'
		WHEN f::text ~ 'width_bucket' AND i < 3
			THEN '(SELECT x FROM value_' || typname
				|| ' WHERE x::text ~ ''^.{1,5}$'' OR x = ''Infinity'')'
		ELSE 'value_' || typname END
	FROM (SELECT p.proargtypes[i] t, y.typname FROM pg_proc p
		JOIN pg_type y ON y.oid = p.proargtypes[i] WHERE p.oid = f) v
$$;

-- FROM clause with every combination, as a1.x, a2.x ...; and the call.
CREATE FUNCTION pg_temp.combinations(f regprocedure, condition text)
RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(string_agg(pg_temp.source(f, condition, i - 1) || ' a'
		|| i, ', ' ORDER BY i), '(SELECT 1) a')
	FROM pg_proc p, generate_series(1, p.pronargs) i WHERE p.oid = f
$$;
CREATE FUNCTION pg_temp.call(f regprocedure) RETURNS text LANGUAGE sql AS $$
	SELECT format('%I.%I(%s)', n.nspname, p.proname, (
		SELECT coalesce(string_agg('a' || i || '.x', ', ' ORDER BY i), '')
		FROM generate_series(1, p.pronargs) i))
	FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
	WHERE p.oid = f
$$;

-- Calls of f that raise, out of all combinations: 0 or 1 (the first ends it).
CREATE FUNCTION pg_temp.raises(f regprocedure, condition text,
	OUT failures int, OUT calls bigint) LANGUAGE plpgsql AS $$
BEGIN
	failures := 0;
	EXECUTE format('SELECT count(*), count(%s) FROM %s', pg_temp.call(f),
		pg_temp.combinations(f, condition)) INTO calls;
EXCEPTION WHEN OTHERS THEN
	failures := 1;
	RAISE WARNING '%: %', f, left(SQLERRM, 100);
END
$$;

CREATE TEMP TABLE trial AS
	SELECT function, replacement, reason, coalesce(condition, '') condition
	FROM dp_pg.allowed_functions
	WHERE NOT EXISTS (
		SELECT 1 FROM pg_proc p, unnest(p.proargtypes) t
		WHERE p.oid = function AND t <> ALL ('{int2,int4,int8,float4,float8,
			numeric,text,name,bpchar,varchar,"\"char\"",bytea,bool,uuid,inet,
			anyenum,anyarray,date,timestamp,timestamptz,time,timetz,interval}'
			::regtype[]::oid[]));

-- Every function that is not merely LEAKPROOF is tried.
SELECT count(*) FROM dp_pg.allowed_functions a
	WHERE reason <> 'leakproof' AND NOT EXISTS (
		SELECT 1 FROM trial t WHERE t.function = a.function);

-- None raises, in time zones that shift by little and by a lot.
SELECT reason, sum(failures) AS failures, sum(calls) > 100000 AS enough
FROM trial t, LATERAL pg_temp.raises(coalesce(replacement, function),
	condition) r GROUP BY reason ORDER BY reason;
SET timezone = '<+167>-167';
SELECT reason, sum(failures) AS failures
FROM trial t, LATERAL pg_temp.raises(coalesce(replacement, function),
	condition) r
WHERE t.function::text ~ 'time|date|age' GROUP BY reason ORDER BY reason;
SET timezone = 'America/St_Johns';
SELECT reason, sum(failures) AS failures
FROM trial t, LATERAL pg_temp.raises(coalesce(replacement, function),
	condition) r
WHERE t.function::text ~ 'time|date|age' GROUP BY reason ORDER BY reason;

-- ---- agreement with the built-ins ----

-- On 400 combinations (4000 of floats, of which few overflow): the built-in
-- raised and the total version gave a value (unsound), both gave values and
-- they differ (different), the total version alone gave NULL (narrower).
CREATE FUNCTION pg_temp.compare(f regprocedure, total regprocedure,
	condition text, OUT unsound int, OUT different int, OUT narrower int)
LANGUAGE plpgsql SET client_min_messages = warning AS $$
BEGIN
	EXECUTE format('CREATE TEMP TABLE sample AS
		SELECT row_number() OVER () n, *
		FROM (SELECT %s FROM %s ORDER BY random() LIMIT %s) s',
		(SELECT string_agg(format('a%s.x AS x%s', i, i), ', ')
			FROM pg_proc p, generate_series(1, p.pronargs) i WHERE p.oid = f),
		pg_temp.combinations(total, condition),
		CASE WHEN f::text ~ 'float' THEN 4000 ELSE 400 END);
	EXECUTE format('CREATE FUNCTION pg_temp.built_in(s pg_temp.sample,
		OUT raised bool, OUT expected text) LANGUAGE plpgsql AS $f$
		BEGIN
			raised := false;
			expected := %s;
		EXCEPTION WHEN OTHERS THEN
			raised := true;
		END $f$', regexp_replace(pg_temp.call(f), 'a(\d)\.x', 's.x\1', 'g'));
	EXECUTE format('SELECT count(*) FILTER (WHERE raised AND got IS NOT NULL),
			count(*) FILTER (WHERE NOT raised AND expected <> got
				OR NOT raised AND expected IS NULL AND got IS NOT NULL),
			count(*) FILTER (WHERE NOT raised AND expected IS NOT NULL
				AND got IS NULL)
		FROM (SELECT b.*, (%s)::text AS got
			FROM pg_temp.sample s, pg_temp.built_in(s) b OFFSET 0) q',
		regexp_replace(pg_temp.call(total), 'a(\d)\.x', 's.x\1', 'g'))
		INTO unsound, different, narrower;
	DROP TABLE pg_temp.sample CASCADE;
END
$$;
SET timezone = 'Europe/Paris';
CREATE TEMP TABLE comparison AS
	SELECT t.function, c.* FROM trial t,
		LATERAL pg_temp.compare(function, replacement, condition) c
	WHERE replacement IS NOT NULL;
SELECT count(*) > 150 AS many, sum(unsound) AS unsound,
	sum(different) AS different FROM comparison;

-- Only range-limited functions give NULL where the built-in has a value: times
-- outside 3000 BC to 290000 AD, long text, numerics of thousands of digits,
-- buckets without end.
SELECT * FROM comparison
	WHERE narrower > 0 AND function::text !~
		('time|date|age|extract|trim|lower|upper|initcap|like|textcat|strpos|position|split_part|string_to_array|^text\('
		|| '|ceil|floor|round|^"numeric"|width_bucket');

-- The usual values are never NULL.
SELECT count(*) FROM value_timestamp
	WHERE x BETWEEN '1900-01-01' AND '2100-01-01'
		AND (dp_pg.total_date_trunc('week', x) IS NULL
			OR dp_pg.total_extract('isoyear', x) IS NULL
			OR dp_pg.total_timestamptz(x) IS NULL
			OR dp_pg.total_timestamp_pl_interval(x, '1 year') IS NULL);

-- Every character that the encoding has can be folded.
DO $$
DECLARE
	letters bigint := 0;
BEGIN
	IF getdatabaseencoding() = 'UTF8' THEN
		SELECT count(dp_pg.total_lower(c) || dp_pg.total_upper(c)
				|| dp_pg.total_initcap(c))
			+ count(dp_pg.total_texticlike('x' || c, '%' || c)) INTO letters
		FROM (SELECT chr(i) c FROM generate_series(1, 1114111) i
			WHERE i NOT BETWEEN 55296 AND 57343 AND i NOT IN (92, 37)) s;
		IF letters <> 2 * (1114111 - 2048 - 2) THEN
			RAISE WARNING '% folded', letters;
		END IF;
	END IF;
END
$$;

-- ---- what is allowed ----

-- All comparison operators of the common types.
SELECT o.oid::regoperator FROM pg_operator o
	WHERE o.oid < 10000 AND oprname IN ('=', '<>', '<', '<=', '>', '>=')
		AND oprresult = 'bool'::regtype
		AND ARRAY[oprleft, oprright] <@ (ARRAY['int2', 'int4', 'int8',
			'float4', 'float8', 'numeric', 'money', 'text', 'name', 'bpchar',
			'"char"', 'bytea', 'bool', 'uuid', 'inet', 'macaddr', 'bit',
			'varbit', 'anyenum', 'date', 'timestamp', 'timestamptz', 'time',
			'timetz', 'interval', 'oid']::regtype[]::oid[])
		AND NOT EXISTS (SELECT 1 FROM dp_pg.allowed_functions
			WHERE function = oprcode);
-- So many of them.
SELECT count(*) FROM pg_operator o
	JOIN dp_pg.allowed_functions a ON a.function = o.oprcode
	WHERE o.oid < 10000 AND oprname IN ('=', '<>', '<', '<=', '>', '>=');

-- The comparison behind the default order of each is none of them: only its
-- sign has a meaning.  (GREATEST and LEAST use it: expression_function.)
SELECT c.oid::regtype FROM pg_type c JOIN pg_opclass k ON k.opcintype = c.oid
	JOIN pg_amproc m ON m.amprocfamily = k.opcfamily
		AND m.amproclefttype = c.oid AND m.amprocrighttype = c.oid
		AND m.amprocnum = 1
	WHERE k.opcmethod = (SELECT oid FROM pg_am WHERE amname = 'btree')
		AND k.opcdefault
		AND c.oid = ANY ('{int2,int4,int8,float4,float8,numeric,text,name,
			bpchar,"\"char\"",bytea,bool,uuid,inet,anyenum,date,timestamp,
			timestamptz,time,timetz,interval}'::regtype[]::oid[])
		AND EXISTS (SELECT 1 FROM dp_pg.allowed_functions
			WHERE function = m.amproc);

-- Not allowed though PostgreSQL says LEAKPROOF: what can raise all the same.
SELECT p.oid::regprocedure FROM pg_proc p
	WHERE proleakproof AND oid < 10000 AND provolatile <> 'v'
		AND NOT dp_pg.is_leakproof(oid)
		AND NOT (proname ~ 'cmp' AND prorettype = 'int4'::regtype)
	ORDER BY p.oid::regprocedure::text;

-- A user's mark counts for nothing.
CREATE FUNCTION pg_temp.mine(int) RETURNS bool LANGUAGE sql IMMUTABLE LEAKPROOF
	AS 'SELECT true';
SELECT dp_pg.is_leakproof('pg_temp.mine(int)');

-- Nobody may make a function in the schema of the total versions, and all
-- may execute them.
CREATE ROLE dp_test_somebody;
SET ROLE dp_test_somebody;
CREATE FUNCTION dp_pg.total_mine() RETURNS int LANGUAGE sql AS 'SELECT 1';
SELECT dp_pg.total_int4pl(2147483647, 1) IS NULL AS overflow,
	dp_pg.total_int4div(1, 0) IS NULL AS zero,
	dp_pg.total_int4pl(40, 2) AS answer;
RESET ROLE;
DROP ROLE dp_test_somebody;
