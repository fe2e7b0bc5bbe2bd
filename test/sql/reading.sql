-- Many conditions counted in one pass: what is recognised as a comparison of
-- columns with constants must count as it does when evaluated row by row.
--
-- A count shows through dp_argmax at rate 100000 per row: of two conditions
-- whose counts differ by one the smaller is chosen with probability below
-- exp(-100000), in all choices here below 1e-40000.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test reading
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
CREATE DOMAIN word AS text;
CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE thing (id int PRIMARY KEY, t text, v varchar(10), c char(5), i2 int2, i4 int,
	i8 bigint, f4 float4, f8 float8, n numeric, n2 numeric(6,2), d date, ts timestamp, tz timestamptz,
	b boolean, e mood, u uuid, y bytea, iv interval, nm name, w word, ch "char", l text COLLATE loose,
	tm time, ip inet, cd cidr, tt timetz, o oid);
-- every column by turns, at its own pace, through its values and NULL
CREATE TABLE spelling (col text, vals text[]);
INSERT INTO spelling VALUES
	('t', '{"",a,b,"a ",A,NULL}'), ('v', '{a,b,"a ",NULL}'), ('c', '{a,"a  ",b,"",NULL}'),
	('i2', '{0,1,-1,32767,NULL}'), ('i4', '{0,1,-5,2147483647,NULL}'), ('i8', '{0,1,9223372036854775807,-7,NULL}'),
	('f4', '{0,-0,NaN,0.1,1.5,Infinity,-Infinity,NULL}'), ('f8', '{0,-0,NaN,0.1,1.5,1e300,NULL}'),
	('n', '{0,1.0,1.00,NaN,0.1,Infinity,1e30,NULL}'), ('n2', '{0,1.00,2.5,-3,NULL}'),
	('d', '{2020-01-01,infinity,2020-02-29,-infinity,NULL}'), ('ts', '{2020-01-01,infinity,2020-02-29 10:00,NULL}'),
	('tz', '{2020-01-01,infinity,2020-02-29 10:00+02,NULL}'), ('b', '{true,false,NULL}'), ('e', '{sad,ok,happy,NULL}'),
	('u', '{00000000-0000-0000-0000-000000000001,00000000-0000-0000-0000-000000000002,NULL}'),
	('y', '{"\\x00","\\x0001","",NULL}'), ('iv', '{1 day,24 hours,1 mon,30 days,NULL}'), ('nm', '{a,b,NULL}'),
	('w', '{a,b,NULL}'), ('ch', '{a,b,NULL}'), ('l', '{a,A,b,NULL}'), ('tm', '{10:00,11:00:01,NULL}'),
	('ip', '{10.0.0.1,10.0.0.0/8,NULL}'), ('cd', '{10.0.0.0/8,10.1.0.0/16,NULL}'), ('tt', '{10:00+02,11:00+03,10:00+00,NULL}'), ('o', '{1,2,NULL}');
SELECT format('INSERT INTO thing SELECT i, %s FROM generate_series(1, 500) i',
	string_agg(format('(%L::text[])[1 + (i / %s + i / 50) %% %s]::%s', vals, r, cardinality(vals),
		(SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'thing'::regclass AND attname = col)), ', ' ORDER BY attnum))
FROM (SELECT *, 1 + row_number() OVER () % 5 r, (SELECT attnum FROM pg_attribute WHERE attrelid = 'thing'::regclass AND attname = col) FROM spelling) s \gexec
SELECT dp_protect('thing', dataset => :'schema') \g /dev/null
RESET ROLE;

-- the tests of a predicate, and what they counted: the owner's plain count
CREATE TABLE expected (n int PRIMARY KEY, kind text, p text, c bigint);
CREATE FUNCTION count_plainly(label text, predicates text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	predicate text;
	rows bigint;
BEGIN
	FOREACH predicate IN ARRAY predicates LOOP
		EXECUTE format('SELECT count(*) FROM thing WHERE %s', predicate) INTO rows;
		INSERT INTO expected SELECT count(*) + 1, label, predicate, rows FROM expected;
	END LOOP;
END $$;
GRANT SELECT ON expected TO :analyst;

-- each kind of comparison with each value of each column
SELECT count_plainly(col, array_agg(format(form, col, quote_literal(value))))
FROM spelling, unnest(vals) value, (VALUES ('%s = %s'), ('%2$s = %1$s'), ('%s <> %s'), ('%s IS DISTINCT FROM %s'), ('NOT (%s IS DISTINCT FROM %s)')) f (form)
WHERE value IS NOT NULL GROUP BY col ORDER BY col \g /dev/null
SELECT count_plainly(col, ARRAY[col || ' IS NULL', format('NOT (%s IS NOT NULL)', col),
	format('%s IN (%L, %L)', col, vals[1], vals[2]), format('%s NOT IN (%L, %L)', col, vals[1], vals[2]),
	format('%s IN (%L, NULL)', col, vals[1]), format('%s NOT IN (%L, NULL)', col, vals[1]), format('NOT (%s IN (%L, NULL))', col, vals[1]),
	format('%s = %L OR %1$s IS NULL', col, vals[1]), format('NOT (%s = %L OR %1$s = %L)', col, vals[1], vals[2]),
	format('NOT (%s = %L AND %1$s = %L)', col, vals[1], vals[2]), format('%s = %L AND %1$s <> %L', col, vals[1], vals[2]),
	format('(%s <> %L OR %1$s IS NULL) AND %1$s IS DISTINCT FROM %L', col, vals[1], vals[2]), format('%s = %1$s', col), format('%s = NULL', col)])
FROM spelling ORDER BY col \g /dev/null
SELECT count_plainly('b', ARRAY['b', 'NOT b', 'b IS TRUE', 'b IS NOT TRUE', 'b IS FALSE', 'b IS NOT FALSE', 'b IS UNKNOWN', 'b IS NOT UNKNOWN',
	'b = true', 'b <> true', 'NOT b OR b IS NULL', 'true', 'false', 'null', 'NOT null', 'b AND true', 'b AND null', 'b OR null']) \g /dev/null
-- constants of other types than the column's
SELECT count_plainly('types', ARRAY['i2 = 1', 'i2 = 1::bigint', 'i2 = 99999', 'i2 <> 99999', 'i2 IN (1, 99999)', 'i2 NOT IN (99999)', 'i4 = 3000000000', 'i4 <> 3000000000',
	'i4 IN (1::bigint, 3000000000)', 'i4 = 1.0', 'i8 = 1', 'i8 = 1::int2', 'i8 = ANY (''{0,1}''::int2[])', 'i8 = ANY (''{}''::bigint[])', 'i8 <> ALL (''{}''::bigint[])', 'i8 = ANY (NULL::bigint[])',
	'i8 <> ANY (''{0,1}''::bigint[])', 'i8 = ALL (''{0,1}''::bigint[])', 'f4 = 0.1', 'f4 = 0.1::float4', 'f8 = 0.1::float4', 'f8 = 1', 'n = 1', 'n = 1::bigint', 'n IN (1, 0.10)',
	'd = ''2020-01-01''::timestamp', 'ts = ''2020-01-01''::date', 'v = ''a''::text', 'v::bpchar = ''a''', 't::bpchar = ''a ''', 'c = ''a ''::text', 'c::text = ''a''', 'c = ''a''::char(2)',
	'w = ''a''::word', 'w::text = ''a''', 'o::int4 = 1', 'cd::inet = ''10.0.0.0/8''', 'nm = ''a''::text', 'l = ''A'' COLLATE "C"', 't = ''a'' COLLATE regress_reading.loose', 'e::text = ''ok''']) \g /dev/null
SELECT count(*) > 600 FROM expected;
-- a collation with its own equality, and functions, are refused as ever
DELETE FROM expected WHERE kind = 'l' AND p !~ '^(NOT .)?l IS (NOT )?NULL' OR p ~ '^l =|::word|e::text|COLLATE regress';

-- which of these the private count has wrong: among conditions of fewer rows
-- each must win against one row less, and none of at most so many rows against
-- one row more
CREATE FUNCTION wrong(wanted text) RETURNS TABLE (predicate text, rows bigint) LANGUAGE plpgsql AS $$
DECLARE
	e record;
	few text[];
BEGIN
	FOR e IN SELECT * FROM expected x WHERE x.kind = wanted AND x.c > 0 ORDER BY n LOOP
		SELECT array_agg(x.p) INTO few FROM expected x WHERE x.kind = wanted AND x.c < e.c;
		IF dp_argmax('thing', few || e.p || format('id <= %s', e.c - 1)) <> e.p THEN
			RETURN QUERY SELECT e.p, e.c;
		END IF;
	END LOOP;
	FOR e IN SELECT x.c, array_agg(y.p) AS most FROM (SELECT DISTINCT c FROM expected WHERE kind = wanted AND c < 500) x, expected y
		WHERE y.kind = wanted AND y.c <= x.c GROUP BY x.c LOOP
		IF dp_argmax('thing', e.most || format('id <= %s', e.c + 1)) <> format('id <= %s', e.c + 1) THEN
			RETURN QUERY SELECT 'more than ' || e.c, e.c;
		END IF;
	END LOOP;
END $$;
SET ROLE :analyst;
SELECT k.kind, w.* FROM (SELECT DISTINCT kind FROM expected) k, wrong(k.kind) w ORDER BY 1, 2;
RESET ROLE;

-- conjunctions over up to eight columns, all of them in one pass: by tables of
-- all cells, of listed cells, and evaluated
CREATE TABLE single AS SELECT * FROM expected;
TRUNCATE expected;
SELECT count_plainly('conjunctions', array_agg(p)) FROM (
	SELECT string_agg('(' || p || ')', ' AND ') p FROM generate_series(1, 120) i,
	LATERAL (SELECT p FROM single WHERE (n * 7919 + i * 104729) % (SELECT count(*) FROM single) < 1 + i % 8 AND n % 3 < 1 + i % 3) s GROUP BY i) x \g /dev/null
SELECT count_plainly('conjunctions', array_agg(format('i4 = %L AND t = %L AND n = %L AND f8 = %L AND d = %L AND e = %L AND f4 = %L AND i8 = %L',
	i4, t, n, f8, d, e, f4, i8))) FROM thing WHERE id % 20 = 0 \g /dev/null
SELECT count_plainly('conjunctions', ARRAY['i4 = 1 AND i8 > 0', 'b OR i4 = 1', 'b AND (i4 = 1 OR t = ''a'')', 'NOT (b AND i4 = 1)']) \g /dev/null
SELECT count(*) > 100, count(DISTINCT c) > 20 FROM expected;
SET ROLE :analyst;
SELECT * FROM wrong('conjunctions');
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT * FROM wrong('conjunctions');
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;
-- with FILTER, through a view, and where there are groups
SELECT dp_pg.conditions(ARRAY[b, NOT b, b IS NULL]) FILTER (WHERE b) FROM thing;
SELECT e, dp_pg.conditions(ARRAY[i4 = 1, e IS NOT NULL, e IS NULL]) FROM thing GROUP BY e;
RESET ROLE;
-- the exact half shows nothing
SET ROLE :analyst;
SELECT * FROM outcome('SELECT dp_pg.count_tables(NULL, 1)');
SELECT * FROM outcome('SELECT dp_pg.count_tables(NULL, VARIADIC ARRAY[1])');
SELECT * FROM outcome('SELECT dp_pg.table_add(NULL, NULL, 1)');
RESET ROLE;
