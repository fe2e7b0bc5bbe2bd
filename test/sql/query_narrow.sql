-- Bounds that conditions give: WHERE, FILTER, CASE and LEAST, of columns and of expressions.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_narrow
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
-- declared from -10 to 90: i, f, n; d by dates; the others are not.  Rows lie within that, and on both sides of each constant.
CREATE TABLE fare (id serial PRIMARY KEY, i int, s int2, f float8, r float4, n numeric, x int, y float8, z numeric(8,2), name text,
	d date, ts timestamp, te timestamp, tz timestamptz, since interval, flag boolean);
INSERT INTO fare (i, s, f, r, n, x, y, z, name, d, ts, te, tz, since, flag)
SELECT v, v, v / 3.0, v / 7.0, v / 3.0, w, w / 3.0, w / 7.0, repeat('x', abs(w)), date '2020-01-01' + v, timestamp '2020-01-01' + v * interval '1 hour',
	timestamp '2020-01-01' + (v + abs(w)) * interval '1 hour', timestamptz '2020-01-01' + v * interval '1 day', v * interval '1 day', v > w
FROM unnest('{-10,-1,0,1,4,5,6,7,39,40,41,90,NULL}'::int[]) AS v, unnest('{-100,-6,-5,-4,0,1,5,6,7,50,1000,NULL}'::int[]) AS w;
INSERT INTO fare (y) VALUES ('NaN'), ('Infinity'), ('-Infinity');
CREATE TABLE visit (person int NOT NULL, cost int, i int);
INSERT INTO visit SELECT p, c, p % 7 FROM generate_series(1, 40) p, unnest('{-3,5,8,60}'::int[]) c;
CREATE TABLE home (person int PRIMARY KEY, size int, rooms int);
INSERT INTO home SELECT p, p * 10, p % 5 FROM generate_series(1, 20) p;
SET dp_pg.max_rows = 4;
SELECT dp_protect('fare', dataset => :'schema'), dp_protect('visit', dataset => :'schema', unit => 'person'),
	dp_protect('home', dataset => :'schema', unit => 'person') \g /dev/null
SELECT dp_declare('fare', column_name, lower => -10, upper => 90) FROM unnest('{i,s,f,r,n}'::text[]) column_name \g /dev/null
SELECT dp_declare('fare', 'd', lower => date '2019-12-01', upper => date '2020-12-31'), dp_declare('fare', 'tz', lower => timestamptz '2019-12-01', upper => timestamptz '2020-12-31'),
	dp_declare('visit', 'cost', lower => -3, upper => 60), dp_declare('home', 'size', lower => 0, upper => 400) \g /dev/null
RESET ROLE;

-- the bounds that count, as EXPLAIN shows them; without any, the SQLSTATE
CREATE FUNCTION bounds(query text, OUT low text, OUT high text) LANGUAGE plpgsql AS $$
DECLARE
	line text;
	part text[];
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) SELECT ' || query LOOP
		part := regexp_match(line, 'Released: dp_\w+\((?:\.\.\.|\w+), (?:0\.5, )?([-+0-9.: ]+), ([-+0-9.: ]+)');
		IF part IS NOT NULL THEN
			low := part[1];
			high := part[2];
		END IF;
	END LOOP;
EXCEPTION WHEN OTHERS THEN
	low := SQLSTATE;
END $$;
SET ROLE :analyst;
-- conditions of each kind, on what is declared and on what is not
SELECT q AS "from fare", b.low, b.high FROM unnest(ARRAY['dp_avg(i) FROM fare', 'dp_avg(i) FROM fare WHERE i BETWEEN 0 AND 50', 'dp_avg(i) FROM fare WHERE i > 3 AND i < 40',
	'dp_avg(i) FROM fare WHERE 3 < i AND 40 >= i', 'dp_avg(i) FROM fare WHERE i > 3.5', 'dp_avg(i) FROM fare WHERE i >= 3.5 AND i < 40.0', 'dp_avg(i) FROM fare WHERE i = 5', 'dp_avg(i) FROM fare WHERE i IN (7, 5, 39)',
	'dp_avg(i) FROM fare WHERE i NOT IN (7, 5)', 'dp_avg(i) FROM fare WHERE i <> 7', 'dp_avg(i) FROM fare WHERE NOT i > 7 AND NOT (i < 0 OR i < -2)', 'dp_avg(i) FROM fare WHERE i < 5 OR i BETWEEN 6 AND 7',
	'dp_avg(i) FROM fare WHERE i < 5 OR flag', 'dp_avg(i) FROM fare WHERE i < s', 'dp_avg(i) FROM fare WHERE i > 100', 'dp_avg(i) FROM fare WHERE i < NULL', 'dp_avg(i) FROM fare WHERE i BETWEEN 80 AND 1000',
	'dp_avg(i::bigint) FROM fare WHERE i >= 0::bigint', 'dp_avg(i * 2) FROM fare WHERE i >= 4', 'dp_avg(i * 2) FROM fare WHERE i * 2 >= 9', 'dp_avg(i + s) FROM fare WHERE i + s BETWEEN 3 AND 4', 'dp_avg(s + i) FROM fare WHERE i + s BETWEEN 3 AND 4',
	'dp_avg(f) FROM fare WHERE f >= 0', 'dp_avg(r) FROM fare WHERE r < 2.5', 'dp_avg(r) FROM fare WHERE r::float8 < 2.5', 'dp_avg(n) FROM fare WHERE n > 1 AND n <= 2.5', 'dp_avg(n) FROM fare WHERE n < 5::float8', 'dp_avg(i, 0, 80) FROM fare WHERE i > 3',
	'dp_sum(x) FROM fare', 'dp_sum(x) FROM fare WHERE x >= 0', 'dp_sum(x) FROM fare WHERE x BETWEEN -4 AND 6', 'dp_sum(x + 1) FROM fare WHERE x BETWEEN -4 AND 6', 'dp_avg(z) FROM fare WHERE z BETWEEN 0 AND 1', 'dp_avg(y) FROM fare WHERE y >= 0 AND y < 7', 'dp_avg(y) FROM fare WHERE y <= ''Infinity'' AND y >= 0',
	'dp_sum(x) FILTER (WHERE x BETWEEN 0 AND 6) FROM fare', 'dp_sum(x) FILTER (WHERE x > 0) FROM fare WHERE x < 7', 'dp_sum(CASE WHEN x BETWEEN 0 AND 6 THEN x END) FROM fare', 'dp_sum(CASE WHEN x > 50 THEN 50 WHEN x < 0 THEN 0 ELSE x END) FROM fare',
	'dp_sum(CASE WHEN x > 50 OR x < -5 THEN 1 ELSE x END) FROM fare', 'dp_sum(CASE WHEN x > 50 AND flag THEN 50 WHEN x < 0 THEN 0 ELSE x END) FROM fare', 'dp_sum(CASE x WHEN 5 THEN x WHEN 6 THEN x END) FROM fare',
	'dp_sum(COALESCE(x, 3)) FROM fare WHERE x BETWEEN 5 AND 6', 'dp_sum(COALESCE(x, 3)) FROM fare WHERE COALESCE(x, 3) BETWEEN 2 AND 6', 'dp_sum(x) FROM fare WHERE COALESCE(x, 3) BETWEEN 2 AND 6',
	'dp_sum(length(name)) FROM fare', 'dp_sum(LEAST(length(name), 80)) FROM fare', 'dp_sum(length(name)) FROM fare WHERE length(name) <= 50', 'dp_sum(LEAST(x, 80)) FROM fare', 'dp_sum(GREATEST(x, 0)) FROM fare WHERE x < 8',
	'dp_avg(LEAST(i / NULLIF(s, 0), 1)) FROM fare WHERE i >= 0 AND s >= 0', 'dp_avg(LEAST(n / n, 1)) FROM fare WHERE n >= 0', 'dp_avg(LEAST(n / n, 1)) FROM fare', 'dp_avg(LEAST(abs(x) / 3.0, 1)) FROM fare',
	'dp_median(d) FROM fare WHERE d >= date ''2020-01-05'' AND d < date ''2020-02-01''', 'dp_median(d) FROM fare WHERE d < timestamp ''2020-02-01''', 'dp_median(d) FROM fare WHERE d < ''infinity''', 'dp_median(ts) FROM fare WHERE ts BETWEEN ''2020-01-01'' AND ''2020-01-02''', 'dp_median(ts) FROM fare WHERE ts >= ''2020-01-01'' AND ts < ''infinity''',
	'dp_median(tz) FROM fare WHERE tz >= timestamptz ''2020-01-01''', 'dp_avg(extract(epoch FROM te - ts)) FROM fare WHERE te - ts BETWEEN ''2 min'' AND ''2 h''', 'dp_avg(extract(epoch FROM since)) FROM fare WHERE since BETWEEN ''2 min'' AND ''2 h''',
	'dp_avg(extract(epoch FROM te - ts)) FROM fare WHERE extract(epoch FROM te - ts) BETWEEN 120 AND 7200', 'dp_sum(i) FROM (SELECT i, s FROM fare WHERE i > 4) q WHERE i < 40']) q, bounds(q) b;
-- both arguments of a pair
EXPLAIN (COSTS OFF) SELECT dp_corr(x, y) FROM fare WHERE x BETWEEN 0 AND 7 AND y BETWEEN 1 AND 2;
-- what rows an outer join, an arm, a group or a window has
SELECT q AS "of visits", b.low, b.high FROM unnest(ARRAY['dp_sum(h.rooms) FROM visit v LEFT JOIN home h ON h.person = v.person AND h.rooms BETWEEN 0 AND 4',
	'dp_sum(v.i) FROM visit v LEFT JOIN home h ON h.person = v.person AND v.i BETWEEN 0 AND 4', 'dp_sum(v.i) FROM visit v JOIN home h ON h.person = v.person AND v.i BETWEEN 0 AND 4',
	'dp_sum(COALESCE(h.rooms, 9)) FROM visit v LEFT JOIN (SELECT * FROM home WHERE COALESCE(rooms, 9) BETWEEN 0 AND 4) h ON h.person = v.person',
	'dp_sum(COALESCE(h.rooms, 9)) FROM visit v LEFT JOIN (SELECT * FROM home WHERE rooms BETWEEN 0 AND 4) h ON h.person = v.person',
	'dp_sum(COALESCE(h.rooms, 9)) FROM visit v LEFT JOIN home h ON h.person = v.person WHERE COALESCE(h.rooms, 9) BETWEEN 0 AND 4',
	'dp_sum(h.rooms) FROM visit v FULL JOIN home h ON h.person = v.person AND h.rooms BETWEEN 0 AND 4',
	'dp_sum(v) FROM (SELECT person, i AS v FROM visit WHERE i < 5 AND i >= 0 UNION ALL SELECT person, rooms FROM home WHERE rooms BETWEEN 2 AND 9) u',
	'dp_sum(v) FROM (SELECT person, i AS v FROM visit WHERE i < 5 UNION ALL SELECT person, rooms FROM home WHERE rooms BETWEEN 2 AND 9) u', 'dp_sum(v) FROM (SELECT person, i AS v FROM visit UNION ALL SELECT person, rooms FROM home) u WHERE v BETWEEN 0 AND 3',
	'dp_avg(n) FROM (SELECT person, count(*) AS n FROM visit GROUP BY person) g', 'dp_avg(n) FROM (SELECT person, count(*) AS n FROM visit GROUP BY person) g WHERE n <= 10', 'dp_avg(LEAST(n, 10)) FROM (SELECT person, count(*) AS n FROM visit GROUP BY person) g',
	'dp_avg(LEAST(n, 10)) FROM (SELECT person, sum(i) AS n FROM visit WHERE i >= 0 GROUP BY person) g', 'dp_avg(LEAST(n, 10)) FROM (SELECT person, sum(i) AS n FROM visit GROUP BY person) g', 'dp_avg(n) FROM (SELECT person, max(i) AS n FROM visit WHERE i BETWEEN 0 AND 5 GROUP BY person) g',
	'dp_avg(n) FROM (SELECT person, max(i) FILTER (WHERE i BETWEEN 0 AND 5) AS n FROM visit GROUP BY person) g', 'dp_avg(n) FROM (SELECT person, i, max(i) AS n FROM visit GROUP BY person, i) g WHERE i BETWEEN 0 AND 5', 'dp_avg(n) FROM (SELECT person, max(cost) AS n FROM visit GROUP BY person) g WHERE n > 5',
	'dp_avg(n) FROM (SELECT person, max(cost) AS n FROM visit WHERE cost > 5 GROUP BY person) g', 'dp_avg(n) FROM (SELECT person, i, max(i) OVER (PARTITION BY person) AS n FROM visit) w WHERE i BETWEEN 0 AND 5',
	'dp_avg(CASE WHEN i BETWEEN 0 AND 5 THEN n END) FROM (SELECT person, i, max(i) OVER (PARTITION BY person) AS n FROM visit) w', 'dp_avg(n) FROM (SELECT person, i, max(i) OVER (PARTITION BY person) AS n FROM visit WHERE i BETWEEN 0 AND 5) w',
	'dp_avg(n) FROM (SELECT person, i, max(i) OVER (PARTITION BY person) AS n FROM visit) w WHERE n BETWEEN 0 AND 5', 'dp_avg(i) FROM (SELECT person, i, max(i) OVER (PARTITION BY person) AS n FROM visit) w WHERE i BETWEEN 0 AND 5']) q, bounds(q) b;
RESET ROLE;

-- Machine-made: no row that fulfils the condition is outside of the bounds, whatever it holds that is not declared.
CREATE FUNCTION outside(expression text, condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	found record;
	low numeric;
	high numeric;
	shape text;
BEGIN
	FOREACH shape IN ARRAY '{"dp_avg(%1$s) FROM fare WHERE %2$s","dp_avg(%1$s) FILTER (WHERE %2$s) FROM fare","dp_avg(CASE WHEN %2$s THEN %1$s END) FROM fare","dp_avg(CASE WHEN NOT (%2$s) THEN NULL ELSE %1$s END) FROM fare WHERE flag","dp_avg(v) FROM (SELECT %1$s AS v FROM fare WHERE %2$s) q"}'::text[] LOOP
		found := bounds(format(shape, expression, condition));
		IF found.low = '22023' THEN
			RETURN 'none';
		ELSIF found.high IS NULL THEN
			RETURN found.low;
		END IF;
		BEGIN
			EXECUTE format('SELECT min(v::text::numeric), max(v::text::numeric) FROM (SELECT %s AS v FROM fare WHERE (%s)%s) q WHERE v::text <> ''NaN''',
				expression, condition, CASE WHEN shape LIKE '%NOT%' THEN ' IS NOT FALSE AND flag' ELSE '' END) INTO low, high;
		EXCEPTION WHEN data_exception THEN
			RETURN 'error';
		END;
		IF low < found.low::numeric OR high > found.high::numeric THEN
			RETURN format('%s of %s gives %s to %s outside %s', expression, format(shape, expression, condition), low, high, found);
		END IF;
	END LOOP;
	RETURN 'holds';
END $$;
SELECT count(*) >= 1400 AS many, count(*) FILTER (WHERE o = 'holds') > 700 AS found, max(o) FILTER (WHERE o NOT IN ('none', 'error', 'holds')) AS outside
FROM (SELECT outside(e, format(form, c, c)) AS o FROM unnest('{i,s,f,r,n,x,y,z}'::text[]) c,
	unnest('{%s > 5,%s >= 5 AND %s < 40,%s <= 5.5,NOT %s > 6,%s < 0 OR %s = 7,"%s BETWEEN -4 AND 6","NOT (%s NOT BETWEEN 0 AND 7)","%s IN (5, 7)","%s > -3 AND (%s < 6 OR flag)"}'::text[]) form,
	LATERAL (VALUES (c), (c || ' + 1'), (format('LEAST(%s, 9) - %s', c, c)), (format('GREATEST(%s / 3, -2)', c)), (format('abs(%s)', c)), (format('COALESCE(%s, 5)', c)), (format('LEAST(i / NULLIF(%s, 0), 8)', c)),
		(format('CASE WHEN %s < 2 THEN 2 ELSE %s END', c, c)), (format('(%s)::numeric', c)), (format('(%s)::float4', c)), (format('NULLIF(%s, 6)', c)), (format('%s * %s', c, c)), (format('-(%s)', c)), (format('round((%s)::numeric)', c)),
		(format('CASE WHEN flag THEN %s ELSE i END', c)), (format('sqrt(abs(%s)::float8)', c)), (format('LEAST(%s, i, 8) + 0', c)), ('i'), ('LEAST(length(name), 7)'), ('LEAST(x, 8)')) v(e)) q;

-- the answers are those of the plain query
SET ROLE :analyst;
SELECT dp_sum(x) AS sum, (SELECT dp_count(*) FROM fare WHERE x BETWEEN -4 AND 6) AS rows, round(dp_avg(z)::numeric, 2) AS avg, dp_max(x) AS max, dp_median(x) AS median FROM fare WHERE x BETWEEN -4 AND 6 AND z BETWEEN -1 AND 1;
RESET ROLE;
SELECT sum(x), (SELECT count(*) FROM fare WHERE x BETWEEN -4 AND 6), round(avg(z), 2) AS avg, max(x), percentile_disc(0.5) WITHIN GROUP (ORDER BY x) AS median FROM fare WHERE x BETWEEN -4 AND 6 AND z BETWEEN -1 AND 1;
SET ROLE :analyst;

-- Parameters are those of each execution, whichever plan is kept.
PREPARE capped (int, int) AS SELECT dp_sum(x) AS sum FROM fare WHERE x BETWEEN $1 AND $2;
PREPARE shares (int) AS SELECT dp_sum(CASE WHEN x > $1 THEN $1 ELSE x END) FILTER (WHERE x >= 0) AS sum FROM fare;
CREATE FUNCTION told(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		RETURN QUERY SELECT part[1] FROM regexp_matches(line, 'Released: (dp_\w+\([^)]*\))') part;
	END LOOP;
END $$;
SELECT mode, set_config('plan_cache_mode', mode, false) = mode AS set, a.t AS "0, 6", b.t AS "-5, 1", c.t AS "1000, 5", d.t AS "6", e.t AS "50"
FROM unnest('{force_custom_plan,force_generic_plan,auto}'::text[]) mode, LATERAL (SELECT set_config('plan_cache_mode', mode, false)) m(x), LATERAL (SELECT told('EXECUTE capped (0, 6)') WHERE m.x <> '') a(t), LATERAL (SELECT told('EXECUTE capped (-5, 1)') WHERE m.x <> '') b(t),
	LATERAL (SELECT told('EXECUTE capped (5, 1000)') WHERE m.x <> '') c(t), LATERAL (SELECT told('EXECUTE shares (6)') WHERE m.x <> '') d(t), LATERAL (SELECT told('EXECUTE shares (50)') WHERE m.x <> '') e(t);
SET plan_cache_mode = force_generic_plan;
EXECUTE capped (0, 6);
EXECUTE capped (-5, 1);
EXECUTE shares (6);
EXECUTE shares (50);
EXECUTE capped (0, NULL);
RESET plan_cache_mode;
CREATE FUNCTION kept(lo int, hi int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	sum bigint;
BEGIN
	SELECT dp_sum(x) INTO sum FROM fare WHERE x BETWEEN lo AND hi;
	RETURN sum;
END $$;
SELECT lo, hi, kept(lo, hi) FROM generate_series(-6, 6, 2) lo, unnest('{7,50}'::int[]) hi ORDER BY 1, 2;
RESET ROLE;
SELECT lo, hi, sum(x) FROM fare, generate_series(-6, 6, 2) lo, unnest('{7,50}'::int[]) hi WHERE x BETWEEN lo AND hi GROUP BY 1, 2 ORDER BY 1, 2;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
