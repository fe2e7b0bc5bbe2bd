-- Inferred bounds: by interval arithmetic over declared columns and constants.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_bounds
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

-- Corners and some middles of what is declared, and rows beyond it.
SET ROLE :owner;
CREATE TABLE corner (id serial PRIMARY KEY, a int, b int, s int2, f float8, r float4, n numeric, x int, d date,
	ts timestamp, tz timestamptz, flag boolean, inside boolean NOT NULL);
INSERT INTO corner (a, b, s, f, r, n, x, d, ts, tz, flag, inside)
SELECT a, b, s, f, f, n, x, d, d + interval '13:59:58.5', d + interval '13:59:58.5', a > 3, true
FROM unnest('{0,7,10,NULL}'::int[]) AS a, unnest('{-3,-1,6}'::int[]) AS b, unnest('{1,5}'::int2[]) AS s,
	unnest('{-0.3,0.1,2.5}'::float8[]) AS f, unnest('{-1.5,0.7}'::numeric[]) AS n, unnest('{-1000000,77,NULL}'::int[]) AS x,
	unnest('{2019-12-31,2021-06-15}'::date[]) AS d;
SELECT dp_protect('corner', dataset => :'schema') \g /dev/null
SELECT dp_declare('corner', 'a', lower => 0, upper => 10), dp_declare('corner', 'b', lower => -3, upper => 6),
	dp_declare('corner', 's', lower => 1, upper => 5), dp_declare('corner', 'f', lower => -0.3, upper => 2.5),
	dp_declare('corner', 'r', lower => -0.3, upper => 2.5), dp_declare('corner', 'n', lower => -1.5, upper => 0.7),
	dp_declare('corner', 'd', lower => date '2019-12-31', upper => date '2021-06-15'),
	dp_declare('corner', 'ts', lower => timestamp '2019-12-31', upper => timestamp '2021-06-16'),
	dp_declare('corner', 'tz', lower => timestamptz '2019-12-31', upper => timestamptz '2021-06-16') \g /dev/null
RESET ROLE;
GRANT SELECT ON corner TO :owner;

-- the bounds that count, as EXPLAIN shows them
CREATE FUNCTION found(call text, OUT low numeric, OUT high numeric) LANGUAGE plpgsql AS $$
DECLARE
	line text;
	part text[];
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) SELECT ' || call || ' FROM corner' LOOP
		part := regexp_match(line, 'Released: dp_\w+\(\.\.\., (?:0\.5, )?([-0-9.]+), ([-0-9.]+)\)');
		IF part IS NOT NULL THEN
			low := part[1];
			high := part[2];
		END IF;
	END LOOP;
END $$;
SET ROLE :analyst;
SELECT call, f.low, f.high FROM unnest(ARRAY['dp_sum(1)', 'dp_sum(CASE WHEN a > b THEN 1 ELSE 0 END)',
	'dp_sum(CASE a WHEN 1 THEN 2 WHEN 3 THEN -4 END)', 'dp_sum(a * b)', 'dp_avg(a::float8)', 'dp_avg(a + b - 3)', 'dp_sum(-a)', 'dp_sum(abs(b))',
	'dp_sum(a / s)', 'dp_sum(a / NULLIF(s - 1, 0))', 'dp_sum(b % 4)', 'dp_sum(x % 4)', 'dp_sum(flag::int)', 'dp_sum((x > 3)::int)',
	'dp_sum(COALESCE(a, 20))', 'dp_sum(GREATEST(a, b))', 'dp_sum(GREATEST(a, 5))', 'dp_sum(LEAST(GREATEST(x, -5), 5))',
	'dp_sum(x * 0)', 'dp_avg(n * 2)', 'dp_avg(round(n))', 'dp_avg(floor(f))', 'dp_avg(ceil(f))', 'dp_avg(trunc(n))', 'dp_avg(sign(f))', 'dp_avg(sqrt(a))', 'dp_avg(sqrt(b * 1.5::float8))', 'dp_avg(a & 6)', 'dp_avg(width_bucket(f, 0, 1, 8))',
	'dp_avg(extract(year FROM d))', 'dp_avg(extract(year FROM tz))', 'dp_avg(extract(dow FROM ts))', 'dp_avg(extract(hour FROM ts))', 'dp_avg(extract(second FROM ts))',
	'dp_avg(extract(epoch FROM ts))', 'dp_avg(d - date ''2020-01-01'')', 'dp_avg(ts::date - d)', 'dp_avg(extract(day FROM ts - timestamp ''2019-12-31''))',
	'dp_avg(extract(epoch FROM ts - timestamp ''2019-12-31''))', 'dp_quantile(a * 2, 0.5)', 'dp_variance(a + 1)', 'dp_stddev(a + 1)']) call, found(call) f;
-- dates and timestamps have bounds of their own types
EXPLAIN (COSTS OFF) SELECT dp_median(d + 1), dp_median(tz::date), dp_median(ts - interval '1 day') FROM corner;
RESET ROLE;

-- Machine-made expressions: no row inside the declarations is outside the bounds that are found, not even by a
-- rounding error.  Every operation stands above every other.
CREATE FUNCTION outside(expression text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	bounds record;
	low numeric;
	high numeric;
BEGIN
	BEGIN
		bounds := found('dp_avg(' || expression || ')');
	EXCEPTION WHEN invalid_parameter_value THEN
		RETURN 'none';
	END;
	BEGIN
		EXECUTE 'SELECT min(v::text::numeric), max(v::text::numeric) FROM (SELECT ' || expression || ' AS v FROM corner WHERE inside) q WHERE v::text <> ''NaN'''
		INTO low, high;
	EXCEPTION WHEN data_exception THEN
		RETURN 'error';
	END;
	RETURN CASE WHEN low < bounds.low OR high > bounds.high THEN expression || ' gives ' || low || ' to ' || high || ' outside ' || bounds::text ELSE 'holds' END;
END $$;
SELECT count(*) >= 2000 AS many, count(*) FILTER (WHERE o = 'holds') > 1200 AS found, max(o) FILTER (WHERE o NOT IN ('none', 'error', 'holds')) AS outside
FROM (SELECT outside(e) AS o FROM (
	SELECT format(outer_form, format(inner_form, l1, l2), l3) AS e
	FROM unnest('{(%s) + %s,(%s) - %s,(%s) * %s,(%s) / %s,-(%s) + 0 * %s,abs(%s) - %s,(%s) / (abs(%s) + 2)}'::text[]) AS f(inner_form),
		unnest('{(%s) + %s,(%s) - %s,(%s) * %s,(%s) / %s,(%s) / (abs(%s) + 2)}'::text[]) AS g(outer_form),
		unnest('{a,b,n,f}'::text[]) AS l1, unnest('{s,n,r,0.7}'::text[]) AS l2, unnest('{b,n,f,-3}'::text[]) AS l3
	UNION ALL
	SELECT format(form, a, b) FROM unnest('{"greatest(%s, %s)","least(%s, %s)","COALESCE(%s, %s)","CASE WHEN flag THEN %s ELSE %s END","NULLIF(%s, %s)"}'::text[]) AS form,
		unnest('{a,b,n,f,a*b,n-f,-f,1}'::text[]) AS a, unnest('{s,n,f,0.7,-2,a/s,r*n}'::text[]) AS b
	UNION ALL
	SELECT format(form, a) FROM unnest('{floor(%s),ceil(%s),round(%s),(%s)::int,(%s)::int2,(%s)::bigint,(%s)::float4,(%s)::float8,(%s)::numeric,"(%s)::numeric(6,1)","round((%s)::numeric, 1)","trunc((%s)::numeric, 1)",sign(%s),abs(%s),sqrt((%s)::float8),sqrt(abs((%s)::float8))}'::text[]) AS form,
		unnest('{a,b,n,f,r,a*b,n-f,f*f,n/3,f/7,r*n,f*1e10,(a+0.5),(f+n)/3}'::text[]) AS a
) q) q;
-- the fields of extract, of every type
SELECT count(*) AS fields, max(o) FILTER (WHERE o NOT IN ('none', 'holds')) AS outside
FROM (SELECT outside(format('extract(%s FROM %s)', field, e)) AS o
	FROM unnest('{year,month,day,hour,minute,second,milliseconds,microseconds,dow,isodow,doy,week,quarter,isoyear,decade,century,millennium,epoch}'::text[]) AS field,
		unnest('{ts,tz,tz AT TIME ZONE ''Asia/Tokyo'',ts AT TIME ZONE ''Asia/Tokyo'',d + interval ''1 month'',ts::time}'::text[]) AS e) q;

-- rows beyond what is declared are clamped to the bounds that were found; the answers are those of the plain query
INSERT INTO corner (a, b, s, f, n, x, inside) VALUES (1000000, 1, 1, 1e300, 1e30, 1, false);
SELECT dp_sum(a * b) = (SELECT 60 + sum(a * b) FROM corner WHERE inside) AS clamped, dp_sum(1) = (SELECT count(*) FROM corner) AS rows,
	abs(dp_avg(a::float8) - (SELECT avg(CASE WHEN a < 10 THEN a ELSE 10 END) FILTER (WHERE a IS NOT NULL) FROM corner)) < 1e-3 AS mean FROM corner;
SET ROLE :analyst;
-- by a reader, which must come to the same bounds; in groups, subqueries and views
SELECT dp_sum(a * b), dp_sum(1), dp_sum(CASE WHEN a > 5 THEN 1 ELSE 0 END), round(dp_avg(a::float8)::numeric, 3) AS mean FROM corner;
SELECT a, dp_sum(b * b) AS s FROM (SELECT a, b + 1 - 1 AS b FROM corner WHERE a > 9) AS q GROUP BY a ORDER BY s DESC LIMIT 1;
-- parameters, session times and settings are constants
PREPARE scaled (int, numeric) AS SELECT dp_sum(a * $1) AS sum, round(dp_avg(n / $2), 6) AS avg FROM corner;
EXPLAIN (COSTS OFF) EXECUTE scaled(3, 2);
EXECUTE scaled(3, 2);
EXECUTE scaled(NULL, 2);
EXECUTE scaled(3, 0);
SELECT dp_avg(extract(year FROM now()) - extract(year FROM d)) > 3 AS age FROM corner;
-- no bounds: undeclared columns, a divisor that can be 0, a released value, what is always NULL
SELECT e, state, hinted, charges FROM unnest('{x,x + 1,a / b,n / f,a + (SELECT dp_count(*) FROM person)::int,NULL::int,length(d::text),a * 1e400}'::text[]) e, outcome('SELECT dp_sum(' || e || ') FROM corner');
SELECT state FROM outcome('SELECT dp_sum(x + 1, 0, 10) FROM corner');

-- bounds that are equal: one granule
SELECT dp_sum(a, 3, 3) AS sum, dp_avg(a, 3, 3) AS avg, dp_variance(a, 3, 3) AS variance, dp_median(a, 3, 3) AS median, round(dp_sum(n, 0.5, 0.5), 3) AS half, dp_avg(f, 0, 0) AS zero,
	dp_sum(a, 0, 0) AS nothing FROM corner;
SELECT value, sensitivity FROM dp_last_release();
SELECT state FROM outcome('SELECT dp_sum(a, 4, 3) FROM corner');
SELECT state FROM outcome('SELECT dp_sum(a, 0.2, 0.8) FROM corner');
RESET ROLE;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
