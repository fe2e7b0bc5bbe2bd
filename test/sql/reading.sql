-- Many conditions counted in one pass: what is recognised as a comparison of
-- columns with constants must count as it does when evaluated row by row.
--
-- A count shows through dp_sparse_vector with numeric answers at epsilon 10^6:
-- of at most 1000 answers, each discrete Laplace of rate above 480, one is
-- wrong with probability below 2000 exp(-480); for all calls together below
-- 1e-200.  The weights below answer one question each, with noise of rate
-- above 10^4.
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
SELECT dp_protect('thing', dataset => :'schema', rows => 10000000) \g /dev/null
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

-- which of these the private count has wrong, or does not answer
CREATE FUNCTION wrong(wanted text DEFAULT '') RETURNS TABLE (predicate text, rows bigint, counted bigint) LANGUAGE sql AS $$
	WITH e AS MATERIALIZED (SELECT row_number() OVER (ORDER BY n) AS i, p, c FROM expected WHERE kind ~ wanted)
	SELECT e.p, e.c, s.answer FROM e LEFT JOIN dp_sparse_vector('thing', (SELECT array_agg(p ORDER BY i) FROM e), threshold => -10000,
		cutoff => (SELECT count(*)::int FROM e), epsilon => 1000000, numeric_answers => true) s ON s.query = e.i
	WHERE s.answer IS DISTINCT FROM e.c ORDER BY i
$$;
SET ROLE :analyst;
SELECT * FROM wrong();
SELECT k.kind, w.* FROM (SELECT DISTINCT kind FROM expected) k, wrong('^' || k.kind || '$') w ORDER BY 1, 2;
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
SELECT * FROM wrong();
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT * FROM wrong();
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

-- where a reading comes from: tables, partitions, views, row security, a part
SET ROLE :owner;
CREATE TABLE stay (id int, ward text NOT NULL, days int, PRIMARY KEY (id, ward)) PARTITION BY LIST (ward);
CREATE TABLE stay_a PARTITION OF stay FOR VALUES IN ('A');
CREATE TABLE stay_rest PARTITION OF stay DEFAULT;
INSERT INTO stay SELECT i, (ARRAY['A','B','C'])[1 + i % 3], CASE WHEN i % 4 > 0 THEN i % 10 END FROM generate_series(1, 300) i;
SELECT dp_protect('stay', dataset => :'schema') \g /dev/null
SELECT dp_declare('stay', 'days', lower => 0, upper => 9) \g /dev/null
CREATE TABLE fixed (id int PRIMARY KEY, ward text NOT NULL, sick boolean NOT NULL);
INSERT INTO fixed SELECT i, (ARRAY['A','B','C'])[1 + i % 3], i % 2 = 0 FROM generate_series(1, 300) i;
SELECT dp_protect('fixed', dataset => :'schema') \g /dev/null
SELECT dp_declare('fixed', 'ward', keys => ARRAY['A','B','C'], immutable => true) \g /dev/null
CREATE VIEW fixed_a AS SELECT id, sick, ward AS room FROM fixed WHERE ward = 'A';
CREATE TABLE cut (at int);
INSERT INTO cut VALUES (5);
CREATE VIEW late AS SELECT id, ward, days FROM stay WHERE days >= (SELECT at FROM cut);
CREATE VIEW noisy AS SELECT id, ward, days FROM stay WHERE days >= (SELECT dp_median(days, 0, 9, 1) FROM stay);
CREATE VIEW twice AS SELECT s.id, s.ward FROM stay s, cut;
CREATE VIEW closed AS SELECT * FROM stay;
GRANT SELECT ON fixed_a, late, noisy, twice, cut TO :analyst;
RESET ROLE;
CREATE FUNCTION counts(relation regclass, VARIADIC predicates text[]) RETURNS bigint[] LANGUAGE plpgsql AS $$
BEGIN
	RETURN (SELECT array_agg(answer ORDER BY query) FROM dp_sparse_vector(relation, predicates, threshold => -10000,
		cutoff => cardinality(predicates), epsilon => 1000000, numeric_answers => true));
END $$;
SET ROLE :analyst;
SELECT charges FROM spent() \g /dev/null
SELECT counts('stay', 'true', 'ward = ''A''', 'ward = ''B'' AND days = 1', 'days IS NULL', 'days >= 5', 'false');
SELECT counts('late', 'true', 'ward = ''A''', 'days = 5', 'days < 5');
SELECT * FROM spent();
-- the whole is charged, also where one part only is read
SELECT counts('fixed_a', 'true', 'sick', 'room = ''A'' AND sick', 'room = ''B''');
SELECT counts('fixed', 'ward = ''A''', 'ward = ''A'' AND sick');
SELECT partition, part FROM dp_pg.ledger WHERE dataset = :'schema' ORDER BY id DESC LIMIT 2;
SELECT * FROM spent();
-- dp_pg.split has no say in it
SET dp_pg.split = on;
SELECT counts('stay', 'ward = ''A''', 'ward = ''B''');
RESET dp_pg.split;
SELECT * FROM spent();
RESET ROLE;
ALTER TABLE fixed ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON fixed FOR SELECT TO :analyst USING (id <= 30 AND ward <> 'C');
SET ROLE :analyst;
SELECT counts('fixed', 'true', 'ward = ''A''', 'ward = ''C''');
RESET ROLE;
ALTER TABLE fixed DISABLE ROW LEVEL SECURITY;
-- refused, and nothing charged; but a join on units is read (linear_rowsets.sql)
SET ROLE :analyst;
SELECT p, (outcome(format('SELECT counts(%L, %L)', r, p))).* FROM (VALUES ('closed', 'true'), ('noisy', 'true'), ('twice', 'true'), ('cut', 'true'),
	('stay', 'random() < 0.5'), ('stay', 'days IN (SELECT at FROM cut)'), ('stay', 'days = '), ('stay', 'days'), ('stay', 'nothing = 1'),
	('stay', 'count(*) > 1'), ('stay_a', 'true'), ('expected', 'true'), ('pg_class', 'true'), ('stay', 'days = ''x''')) v (r, p);
RESET ROLE;
SET ROLE :owner;
SELECT dp_revoke(:'analyst', :'schema') \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SELECT * FROM outcome($$SELECT counts('stay', 'true')$$);
RESET ROLE;
SET ROLE :owner;
SELECT dp_grant(:'analyst', dataset => :'schema', epsilon => 1e11) \g /dev/null
RESET ROLE;

-- axes: the public values of columns, as the cells of a universe
SET ROLE :owner;
CREATE TABLE axis (id int PRIMARY KEY, small int2 NOT NULL, n numeric(8,2) NOT NULL, f float8 NOT NULL, g float4 NOT NULL, d date NOT NULL,
	ts timestamp NOT NULL, tz timestamptz NOT NULL, m mood NOT NULL, b boolean NOT NULL, k text NOT NULL, maybe int, big bigint NOT NULL, c char(3) NOT NULL);
INSERT INTO axis SELECT i, i % 40, i % 997 / 7.0, i / 8.0, i, date '2019-06-01' + i, timestamp '2020-01-01' + i * interval '1 hour', timestamptz '2020-01-01' + i * interval '9 hours',
	'sad', i % 3 = 0, 'k' || i % 4, CASE WHEN i % 5 > 0 THEN i % 7 END, i, 'a' FROM generate_series(-50, 949) i;
SELECT dp_protect('axis', dataset => :'schema') \g /dev/null
SELECT dp_declare('axis', 'small', lower => 0, upper => 39), dp_declare('axis', 'n', lower => -1, upper => 99), dp_declare('axis', 'f', lower => 0, upper => 1),
	dp_declare('axis', 'g', lower => 0, upper => 100), dp_declare('axis', 'd', lower => date '2020-01-01', upper => date '2020-12-31'),
	dp_declare('axis', 'ts', lower => timestamp '2020-01-01', upper => timestamp '2020-01-31'), dp_declare('axis', 'tz', lower => timestamptz '2020-01-01 12:00', upper => timestamptz '2020-01-02 12:00'),
	dp_declare('axis', 'k', keys => ARRAY['k3', 'k0'], other => 'rest'), dp_declare('axis', 'maybe', lower => 0, upper => 6), dp_declare('axis', 'big', lower => 0, upper => 999),
	dp_declare('axis', 'c', keys => ARRAY['b', 'a']) \g /dev/null
CREATE VIEW axes AS SELECT k AS kk, n AS nn, small::int AS wide, maybe FROM axis WHERE id >= 0;
GRANT SELECT ON axes TO :analyst;
RESET ROLE;
-- every place of an axis, in order
CREATE FUNCTION places(relation regclass, column_name text, type text, bins int DEFAULT 0) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	session bigint;
	places text;
BEGIN
	session := dp_weights_open(relation, ARRAY[column_name], 10, 1000000, 1000, bins => ARRAY[bins], alpha => 0.3);
	EXECUTE format('SELECT string_agg(coalesce(v::text, ''NULL''), '' | '') FROM dp_weights_hypothesis(%s) AS h(%I %s, probability float8), LATERAL (SELECT h.%2$I) x (v)',
		session, column_name, type) INTO places;
	PERFORM dp_weights_close(session);
	RETURN places;
END $$;
SET ROLE :analyst;
SELECT t, bins, places('axis', t, (SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'axis'::regclass AND attname = t), bins)
FROM (VALUES ('k', 0), ('m', 0), ('b', 0), ('c', 0), ('maybe', 0), ('maybe', 3), ('small', 8), ('n', 4), ('n', 7), ('f', 3), ('f', 10), ('f', 1),
	('g', 7), ('d', 4), ('d', 7), ('ts', 3), ('ts', 9), ('tz', 2), ('tz', 7), ('big', 3)) v (t, bins);
SELECT t, bins, (outcome(format('SELECT places(''axis'', %L, ''int'', %s)', t, bins))).* FROM (VALUES ('k', 2), ('m', 2), ('b', 1), ('small', 41), ('small', -1), ('n', 0), ('f', 0), ('ts', 0),
	('maybe', 8), ('tz', 2000000), ('id', 0), ('id', 3), ('nothing', 0), ('ctid', 0), ('tableoid', 0)) v (t, bins);
-- a view's columns are those of the table below, under their names
SELECT places('axes', 'kk', 'text'), places('axes', 'maybe', 'int', 2), places('axes', 'nn', 'numeric', 2);
SELECT (outcome('SELECT places(''axes'', ''wide'', ''int'')')).*;
-- which rows count where: a share far from what the uniform hypothesis says is
-- told from the data; beyond the bounds is the nearer end, NaN is nowhere
RESET ROLE;
UPDATE axis SET f = 'NaN' WHERE id >= 900;
UPDATE axis SET g = '-Infinity' WHERE id >= 930;
CREATE FUNCTION told(column_name text, bins int, question text, OUT answer bigint, OUT updated boolean) LANGUAGE plpgsql AS $$
BEGIN
	SELECT a.answer, a.updated INTO told.answer, told.updated
	FROM dp_weights_ask(dp_weights_open('axis', ARRAY[column_name], 1, 1000000, 1000, bins => ARRAY[bins], alpha => 0.02), question) a;
END $$;
CREATE FUNCTION plain(condition text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	EXECUTE 'SELECT count(*) FROM axis WHERE ' || condition INTO n;
	RETURN n;
END $$;
SELECT t, bins, question, told.*, plain(condition) AS plain FROM (VALUES
	('f', 2, 'f < 0.5', 'f < 0.5'), ('f', 2, 'f >= 0.5', 'f >= 0.5 AND f <> ''NaN'''), ('f', 10, 'f = 0.25', 'f >= 0.2::float8 AND f < 0.3::float8'),
	('g', 4, 'g < 25', 'g < 25'), ('g', 5, 'g > 80', 'g >= 80'), ('n', 10, 'n > 89', 'n >= 89'),
	('d', 4, 'd < ''2020-04-01''', 'd < ''2020-04-02'''), ('ts', 10, 'ts > ''2020-01-28''', 'ts >= ''2020-01-28'''), ('tz', 2, 'tz < ''2020-01-02''', 'tz < ''2020-01-02'''),
	('big', 20, 'big > 950', 'big > 949'), ('big', 20, 'big < 50', 'big < 50'), ('small', 2, 'small < 10', 'small <= 19'), ('maybe', 3, 'maybe = 2', 'maybe IN (2, 3)'),
	('k', 0, 'k = ''rest''', 'k NOT IN (''k3'', ''k0'')'), ('k', 0, 'k = ''k3''', 'k = ''k3'''), ('c', 0, 'c = ''a''', 'true'), ('m', 0, 'm = ''ok''', 'm = ''ok'''), ('b', 0, 'b', 'b')) v (t, bins, question, condition), told(t, bins, question);
