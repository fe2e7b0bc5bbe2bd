-- Every function, operator and cast of PostgreSQL whose arguments have common
-- types, in a real query: answered when dp_pg.allowed_functions lists it,
-- refused before anything is charged when not.  Nothing here depends on the
-- noise.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test expression_function
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

-- a column of each type, and two values that all built-ins of the list digest
SET ROLE :owner;
CREATE TABLE kind (type regtype PRIMARY KEY, col text, value text, next text);
INSERT INTO kind (type, value, next) VALUES
	('bool', 't', 'f'), ('int2', '1', '2'), ('int4', '1', '2'), ('int8', '1', '2'),
	('float4', '1', '2'), ('float8', '1', '2'), ('numeric', '1', '2'), ('money', '1', '2'),
	('text', 'a', 'b'), ('varchar', 'a', 'b'), ('bpchar', 'a', 'b'), ('name', 'a', 'b'),
	('"char"', 'a', 'b'), ('bytea', 'a', 'b'),
	('date', '2020-01-01', '2020-01-02'), ('time', '10:00', '11:00'), ('timetz', '10:00+00', '11:00+00'),
	('timestamp', '2020-01-01', '2020-01-02'), ('timestamptz', '2020-01-01', '2020-01-02'), ('interval', '1 day', '2 days'),
	('uuid', '00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000002'),
	('inet', '10.0.0.1', '10.0.0.2'), ('cidr', '10.0.0.1', '10.0.0.2'),
	('macaddr', '00:00:00:00:00:01', '00:00:00:00:00:02'), ('macaddr8', '00:00:00:00:00:00:00:01', '00:00:00:00:00:00:00:02'),
	('bit', '0', '1'), ('varbit', '01', '10'), ('oid', '1', '2'), ('xid', '1', '2'), ('cid', '1', '2'), ('xid8', '1', '2'),
	('tid', '(0,1)', '(0,2)'), ('pg_lsn', '0/1', '0/2'), ('oidvector', '1 2', '1 3'),
	('mood', 'sad', 'ok'), ('json', '1', '2'), ('jsonb', '1', '2'), ('xml', '1', '2'),
	('point', '(1,1)', '(2,2)'), ('box', '(1,1,2,2)', '(1,1,3,3)'), ('circle', '<(1,1),1>', '<(1,1),2>'), ('lseg', '(1,1,2,2)', '(1,1,3,3)'),
	('int4[]', '{1}', '{2}'), ('text[]', '{a}', '{b}'), ('int4range', '[1,2)', '[1,3)'),
	('regclass', 'pg_class', 'pg_type'), ('regtype', 'int4', 'int8'), ('tsvector', 'a', 'b'), ('tsquery', 'a', 'b');
UPDATE kind SET col = 'c' || type::oid;
UPDATE kind SET col = 'mood' WHERE type = 'mood'::regtype;
\set ECHO none
SELECT format('CREATE TABLE sample (%s)', string_agg(format('%s %s', col, CASE type WHEN 'bpchar'::regtype THEN 'char(3)' ELSE type::text END), ', ')),
	format('INSERT INTO sample VALUES (%s), (%s)', string_agg(quote_literal(value), ', '), string_agg(quote_literal(next), ', ')) FROM kind \gexec
\set ECHO all
INSERT INTO sample SELECT;
GRANT SELECT ON kind TO PUBLIC;
SELECT dp_protect('sample', dataset => :'schema') \g /dev/null
RESET ROLE;

-- the column that stands for an argument, NULL when its type is not common
CREATE FUNCTION col(argument oid, OUT col text) LANGUAGE sql STABLE AS $$
	SELECT k.col FROM kind k WHERE k.type = CASE
		WHEN argument IN ('anyelement'::regtype, 'anynonarray'::regtype, '"any"'::regtype, 'anycompatible'::regtype, 'anycompatiblenonarray'::regtype) THEN 'int4'::regtype
		WHEN argument IN ('anyarray'::regtype, 'anycompatiblearray'::regtype) THEN 'int4[]'::regtype
		WHEN argument = 'anyenum'::regtype THEN 'mood'::regtype
		WHEN argument = 'anyrange'::regtype THEN 'int4range'::regtype
		ELSE argument END
$$;
-- what to write for an argument: a constant where the rule wants one
CREATE FUNCTION argument(function oid, condition text, place bigint, type oid, OUT argument text) LANGUAGE sql STABLE AS $$
	SELECT coalesce(quote_literal(CASE
		WHEN condition = 'the field is a constant' AND place = 1 THEN CASE WHEN function::regprocedure::text ~ 'date\)' THEN 'day' ELSE 'hour' END
		WHEN condition = 'the time zone is a constant' AND place = 1 THEN 'Asia/Tokyo'
		WHEN condition = 'the pattern is a constant' AND place = 2 THEN 'a%'
		WHEN condition = 'pattern and escape are constants' AND place = 1 THEN 'a%'
		WHEN condition = 'pattern and escape are constants' AND place = 2 THEN '!'
		WHEN condition = 'the cast is explicit' AND place = 2 THEN '7'
		WHEN condition = 'the cast is explicit' AND place = 3 THEN 'true'
		WHEN condition = 'the precision is a constant' AND place = 2 THEN '3' END) || '::' || type::regtype, col(type))
$$;
CREATE FUNCTION arguments(function oid, condition text, types oid[], OUT arguments text[]) LANGUAGE sql STABLE AS $$
	SELECT coalesce(array_agg(argument(function, condition, place, type) ORDER BY place), '{}') FROM unnest(types) WITH ORDINALITY t(type, place)
$$;
CREATE FUNCTION ask(query text, OUT state text, OUT answer bigint, OUT charges bigint) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM spent();
	BEGIN
		EXECUTE query INTO answer;
		state := '00000';
	EXCEPTION WHEN OTHERS THEN
		state := SQLSTATE;
	END;
	SELECT s.charges INTO charges FROM spent() s;
END $$;
CREATE FUNCTION truth(expression text, OUT truth bigint) LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
	EXECUTE format('SELECT count(*) FILTER (WHERE %s) FROM sample', expression) INTO truth;
EXCEPTION WHEN OTHERS THEN
	truth := -1;
END $$;

-- functions
CREATE TABLE rule AS SELECT p.oid, a.function IS NOT NULL AS allowed, a.condition
FROM pg_proc p LEFT JOIN dp_pg.allowed_functions a ON a.function = p.oid
WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind = 'f' AND p.oid < 16384;
CREATE TABLE call AS SELECT 'function' AS kind, allowed, r.oid::regprocedure::text AS name, format('pg_catalog.%I(%s)', proname,
	CASE WHEN provariadic IN (0, '"any"'::regtype) THEN array_to_string(a, ', ') ELSE array_to_string(trim_array(a, 1) || ('VARIADIC ' || a[cardinality(a)]), ', ') END) AS call
FROM rule r JOIN pg_proc p USING (oid), arguments(r.oid, condition, proargtypes::oid[]) a
WHERE allowed OR array_position(a, NULL) IS NULL;
-- operators
INSERT INTO call SELECT 'operator', allowed, o.oid::regoperator, concat_ws(' ', CASE WHEN oprleft <> 0 THEN a[1] END, format('OPERATOR(pg_catalog.%s)', oprname), a[cardinality(a)])
FROM pg_operator o JOIN rule r ON r.oid = oprcode, arguments(oprcode, condition, array_remove(ARRAY[oprleft, oprright], 0)) a
WHERE oprnamespace = 'pg_catalog'::regnamespace AND array_position(a, NULL) IS NULL;
-- casts: by function, by another name of the same bytes, through text
INSERT INTO call SELECT 'cast', CASE castmethod WHEN 'f' THEN allowed ELSE castmethod = 'b' END,
	format('%s to %s', castsource::regtype, casttarget::regtype), format('(%s)::%s', col(castsource), format_type(casttarget, -1))
FROM pg_cast LEFT JOIN rule r ON r.oid = castfunc WHERE castsource <> casttarget AND col(castsource) IS NOT NULL AND pg_cast.oid < 16384; -- PostgreSQL's own
INSERT INTO call SELECT 'cast through text', false, format('%s to %s', s.type, t.type), format('(%s)::%s', s.col, t.type)
FROM kind s, kind t WHERE s.type <> t.type AND 'text'::regtype IN (s.type, t.type) AND NOT EXISTS (SELECT FROM pg_cast WHERE castsource = s.type AND casttarget = t.type);
GRANT SELECT ON call TO PUBLIC;

SET ROLE :analyst;
CREATE TABLE asked AS SELECT kind, allowed, name, call, a.* FROM call, ask(format('SELECT dp_count(*) FILTER (WHERE %s IS NOT NULL) FROM sample', call)) a;
-- how many are allowed: as many as were judged for this version
SELECT kind, allowed, state, charges, CASE WHEN NOT allowed THEN count(*) > 50 ELSE count(*) = CASE kind WHEN 'operator' THEN 423
	WHEN 'function' THEN CASE current_setting('server_version_num')::int / 10000 WHEN 15 THEN 602 WHEN 16 THEN 602 WHEN 17 THEN 604 WHEN 18 THEN 611 END
	WHEN 'cast' THEN CASE current_setting('server_version_num')::int / 10000 WHEN 18 THEN 116 ELSE 113 END END END AS as_judged
FROM asked GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4;
-- whatever is not as the rules say; calls without arguments are computed before rows are read, if they can be
SELECT kind, allowed, name, call, state, charges FROM asked WHERE (state, charges) IS DISTINCT FROM (CASE WHEN allowed THEN '00000' ELSE '0A000' END, allowed::int) AND NOT (name ~ '\(\)$' AND state = '00000');
-- answers are the exact ones, where the built-in has any
SELECT name, call, answer FROM asked, truth(call || ' IS NOT NULL') WHERE allowed AND answer <> nullif(truth, -1);

-- what SQL makes of comparisons, for each type: ok is the exact answer; a row
-- comparison does not find an enum's order
CREATE FUNCTION try(expression text, VARIADIC types text[]) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN state <> '00000' THEN state WHEN answer = truth THEN 'ok' ELSE 'not exact' END
	FROM format(expression, VARIADIC types) e, ask(format('SELECT dp_count(*) FILTER (WHERE %s) FROM sample', e)), truth(e)
$$;
SELECT type, try('%s = %L', col, value) AS "=", try('%s < %L', col, next) AS "<", try('%s IN (%2$L, %3$L)', col, value, next) AS "in",
	try('%s <> ALL (%L::%s[])', col, ARRAY[value]::text, format_type(type, -1)) AS "all", try('%s BETWEEN %2$L AND %3$L', col, value, next) AS "between",
	try('%s IS DISTINCT FROM %L', col, value) AS "distinct", try('NULLIF(%s, %L) IS NULL', col, value) AS "nullif",
	try('GREATEST(%s, %L) IS NOT NULL', col, value) AS "greatest", try('COALESCE(%s, %L) IS NOT NULL', col, value) AS "coalesce",
	try('(%s, true) < (%L, true)', col, next) AS "row", try('CASE %s WHEN %L THEN true END', col, value) AS "case", try('%s IS NULL', col) AS "null",
	(SELECT CASE WHEN state <> '00000' THEN state WHEN answer = 2 THEN 'ok' ELSE 'not exact' END FROM ask(format('SELECT dp_count(DISTINCT %s) FROM sample', col))) AS "count"
FROM kind WHERE type::text !~ '^reg|\[]' ORDER BY type::text COLLATE "C";
RESET ROLE;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
