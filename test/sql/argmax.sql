-- dp_argmax and dp_topk: candidates, types, groups, charges, errors.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test argmax
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

-- Scores here differ by at least 1 and there are at most 1000 candidates, so
-- at epsilon 100000 a choice is wrong with probability below 1000
-- exp(-100000), and with epsilon / 3 in dp_topk below 1000 exp(-33333).
SET ROLE :owner;
CREATE DOMAIN small AS integer;
-- Value v of 1 .. 6 stands in 7 v rows, 0 and NULL in none and one.
CREATE TABLE typed (o boolean, s smallint, i integer, b bigint, r real,
	d double precision, n numeric, dt date, ts timestamp, tz timestamptz,
	ti time, tt timetz, iv interval, t text, v varchar(9), c char(9), na name,
	u uuid, ip inet, ma macaddr, bt bytea, m mood, sm small, j jsonb, k integer NOT NULL);
INSERT INTO typed
SELECT v > 3, v, v, v, v / 4.0, v / 4.0, v / 4.0, date '2020-01-01' + v,
	timestamp '2020-01-01' + v * interval '1 hour', timestamptz '2020-01-01' + v * interval '1 hour',
	time '00:00' + v * interval '1 hour', timetz '00:00+00' + v * interval '1 hour', v * interval '1 hour',
	'v' || v, 'v' || v, 'v' || v, 'v' || v, md5(v::text)::uuid, inet '10.0.0.0' + v,
	('08:00:2b:01:02:0' || v)::macaddr, ('v' || v)::bytea,
	(ARRAY['sad', 'ok', 'happy'])[1 + v / 3]::mood, v, to_jsonb(v), copy % 3
FROM generate_series(1, 6) v, generate_series(1, 7 * v) copy;
INSERT INTO typed (k) VALUES (0);
SELECT dp_protect('typed', dataset => :'schema', rows => 10000000);
SELECT dp_declare('typed', 'k', lower => 0, upper => 3),
	dp_declare('typed', 's', lower => 0, upper => 9), dp_declare('typed', 'i', lower => -1000, upper => 6),
	dp_declare('typed', 'b', lower => 0, upper => 5), dp_declare('typed', 'dt', lower => date '2020-01-01', upper => '2020-02-01'),
	dp_declare('typed', 't', keys => '{v9,v1,v5,v3}'::text[], other => 'v7'),
	dp_declare('typed', 'v', keys => '{v4,v5}'::text[]), dp_declare('typed', 'c', keys => '{v4,v5,v6}'::text[]),
	dp_declare('typed', 'n', keys => '{1.50,1.250,1}'::numeric[]),
	dp_declare('typed', 'ts', lower => timestamp '2020-01-01', upper => '2020-01-02');
CREATE TABLE nobody (t text, i integer);
SELECT dp_protect('nobody', dataset => :'schema');
SELECT dp_declare('nobody', 'i', lower => 1, upper => 1000);
-- long and stored out of line, compressed and not; none of them a candidate
CREATE TABLE long (t text, n numeric);
INSERT INTO long SELECT repeat(x, 100000), repeat('9', 10000)::numeric FROM unnest('{a,b,c}'::text[]) x;
INSERT INTO long SELECT string_agg(md5(g::text), ''), 1.00 FROM generate_series(1, 1000) g;
INSERT INTO long VALUES ('a', 1), ('b', 2), ('b', NULL), (repeat('x', 3000), 'NaN'), (repeat('x', 3000), 'Infinity'),
	(repeat('x', 3000), '-Infinity');
SELECT dp_protect('long', dataset => :'schema');
-- value v of 0 .. 999 stands in v % 20 rows, but 777 in 25, 111 in 23, 5 in 21
CREATE TABLE many (i integer, b bigint, t text, n numeric, k integer NOT NULL);
INSERT INTO many SELECT v, v * 1000000007::bigint, 'value ' || v, v / 10.0, copy
FROM generate_series(0, 999) v,
	generate_series(1, CASE v WHEN 777 THEN 25 WHEN 111 THEN 23 WHEN 5 THEN 21 ELSE v % 20 END) copy;
SELECT dp_protect('many', dataset => :'schema', rows => 10000000);
SELECT dp_declare('many', 'k', lower => 1, upper => 2), dp_declare('many', 'i', lower => 0, upper => 999),
	dp_declare('many', 't', keys => (SELECT array_agg('value ' || v) FROM generate_series(0, 999) v));
CREATE VIEW seen AS SELECT t AS name, m AS feeling, i % 2 = 0 AS even, dt FROM typed WHERE i < 6;
GRANT SELECT ON seen TO :analyst;
RESET ROLE;
CREATE FUNCTION released(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
		CONTINUE WHEN line !~ 'Released:|Charge:';
		RETURN NEXT trim(line);
	END LOOP;
END $$;
SELECT spent() \g /dev/null

SET ROLE :analyst;
-- public values of the column: booleans, labels, ranges, declared keys
SELECT dp_argmax(o), dp_argmax(m), dp_argmax(s), dp_argmax(i), dp_argmax(b), dp_argmax(dt) FROM typed;
SELECT dp_argmax(t), dp_argmax(v), dp_argmax(c), dp_argmax(n), dp_argmax(i > 2), dp_argmax(date_trunc('hour', ts)),
	dp_argmax(extract(hour from ts)) FROM typed;
SELECT dp_topk(o, 2), dp_topk(m, 3), dp_topk(s, 3), dp_topk(b, 2), dp_topk(dt, 2), dp_topk(t, 3), dp_topk(v, 1),
	dp_topk(c, 2), dp_topk(n, 3) FROM typed;
-- given candidates in every type; most rows have 6, which is not among them
SELECT dp_argmax(o, '{f}'), dp_argmax(s, '{1,5,2}'), dp_argmax(i, '{1,5,2}'), dp_argmax(b, '{1,5,2}'),
	dp_argmax(r, '{0.25,1.25,9}'), dp_argmax(d, '{0.25,1.25,9}'), dp_argmax(n, '{0.25,1.2500,9}'),
	dp_argmax(dt, '{2020-01-02,2020-01-06}'), dp_argmax(ts, '{2020-01-01 01:00,2020-01-01 05:00}'),
	dp_argmax(tz, '{2020-01-01 01:00,2020-01-01 05:00}') FROM typed;
SELECT dp_argmax(ti, '{01:00,05:00}'), dp_argmax(tt, '{01:00+00,05:00+00}'), dp_argmax(iv, '{1:00,300 minutes}'),
	dp_argmax(t, '{v1,v5,v2}'), dp_argmax(v, '{v1,v5,v2}'), dp_argmax(c, '{v1,v5,v2}'), dp_argmax(na, '{v1,v5,v2}'),
	dp_argmax(bt, '{v1,v5,v2}'), dp_argmax(m, '{sad,ok}'), dp_argmax(sm, '{1,5,2}') FROM typed;
SELECT dp_argmax(u, ARRAY[md5('1'), md5('5')]::uuid[]) = md5('5')::uuid AS u, dp_argmax(ip, '{10.0.0.1,10.0.0.5}'),
	dp_argmax(ma, '{08:00:2b:01:02:01,08:00:2b:01:02:05}') FROM typed;
SELECT dp_topk(t, 3, '{v1,v5,v2}'), dp_topk(n, 3, '{0.25,1.2500,9}'), dp_topk(i, 2, '{1,5,2}'), dp_topk(sm, 1, '{1,5,2}'),
	dp_topk(ip, 2, '{10.0.0.1,10.0.0.5}'), dp_topk(c, 2, '{v1,v5,v2}'), dp_topk(m, 2, '{sad,ok}') FROM typed;
-- the type is the common one of expression and candidates
SELECT pg_typeof(dp_argmax(m)), pg_typeof(dp_argmax(i, ARRAY[1, 2])), pg_typeof(dp_argmax(i, ARRAY[1, 2.5])),
	pg_typeof(dp_argmax(v, ARRAY['v1'])), pg_typeof(dp_argmax(v, '{v1}')), pg_typeof(dp_argmax(d, ARRAY[1, 2])),
	pg_typeof(dp_topk(i, 1, ARRAY[1, 2.5])), pg_typeof(dp_topk(m, 1)), pg_typeof(dp_argmax(dt, NULL)) FROM typed;
SELECT dp_argmax(i, ARRAY[5, 2.5]), dp_argmax(n, ARRAY[1, 2]), dp_argmax(d, ARRAY[1, 2]), dp_argmax(s, ARRAY[99999, 3]),
	dp_argmax(b, '{3,4}'::smallint[]), dp_argmax(v, ARRAY['v1']), dp_argmax(t || 'x', '{v1x,v4x}') FROM typed;
-- NULL candidates are the declared ones
SELECT dp_argmax(t, NULL), dp_argmax(t, NULL::text[]), dp_argmax(t, NULL, 50000), dp_argmax(t, NULL, 5e4),
	dp_argmax(t, NULL, 50000::float8), dp_argmax(m, NULL::mood[], 50000), dp_topk(t, 2, NULL), dp_topk(t, 2, NULL, 50000)
FROM typed;
SELECT dp_argmax(t, '{v1,v2}', 50000), dp_argmax(t, '{v1,v2}', 50000.5), dp_topk(t, 1, '{v1,v2}', 5e4::float8) FROM typed;
-- PREPARE, views, FILTER, groups, conditions on results
PREPARE choose(text[], float8) AS SELECT dp_argmax(t, $1, $2), dp_topk(t, 2, $1, $2) FROM typed;
EXECUTE choose('{v1,v2}', 50000);
EXECUTE choose(NULL, 50000);
SELECT dp_argmax(name), dp_argmax(feeling), dp_argmax(even), dp_topk(dt, 2) FROM seen;
SELECT k, dp_argmax(t), dp_argmax(m) FILTER (WHERE i < 5), dp_topk(i, 2, '{1,2,3}') FILTER (WHERE i <> 2), dp_count(*)
FROM typed WHERE k < 3 GROUP BY k HAVING dp_argmax(t) = 'v5' AND dp_count(*) > 1 ORDER BY k DESC;
SELECT * FROM (SELECT o, dp_argmax(i), dp_topk(i, 3) FROM typed GROUP BY o) g WHERE o IS NOT NULL;
-- nobody there: some candidate, and every one at some time.  One of 3 never
-- chosen in 400 draws, or one group of 1000 answers: 3 (2/3)^400 < 1e-69
SELECT dp_argmax(t, '{a,b}') IN ('a', 'b') AS known, cardinality(dp_topk(t, 3, '{a,b,c}')), dp_argmax(t, '{a}') FROM nobody;
SELECT array_agg(DISTINCT a ORDER BY a), count(DISTINCT b), bool_and(c @> '{x,y,z}') FROM (
	SELECT i, dp_argmax(t, '{x,y,z}') a, dp_topk(t, 3, '{x,y,z}', 0.01) b, dp_topk(t, 3, '{x,y,z}') c FROM nobody GROUP BY i) q;
-- of 1000 candidates
SELECT dp_argmax(i), dp_argmax(t), dp_topk(i, 3), dp_topk(t, 3) FROM many;
SELECT k, dp_topk(i, 3) FILTER (WHERE i IN (111, 777, 5)) @> '{111,777,5}' AS all_three FROM many GROUP BY k;
-- candidates far apart and close together; equality of values
SELECT dp_argmax(b, ARRAY[5, 777, 778000005446, 777000005439, -9223372036854775808, 9223372036854775807]),
	dp_argmax(n, ARRAY[0.5, 77.7000]), dp_argmax(n * 10 + 0.00, ARRAY[5, 777]), dp_argmax(n::float8, ARRAY[0.5, 77.7]) FROM many;
SELECT dp_argmax(nullif(d, 0.25) * 0, ARRAY[-0.0::float8, 1]) = 0 AS zero, dp_argmax(CASE WHEN d < 1 THEN d ELSE 'NaN' END, '{NaN,0.25}'),
	dp_argmax(CASE WHEN d < 1 THEN d ELSE 'Infinity' END, '{0.25,Infinity}'), dp_argmax(c || ' ', '{"v6 ","v1"}') FROM typed;
SELECT dp_argmax(t, '{a,b}'), dp_argmax(t, ARRAY['b', 'a', repeat('x', 3000)]) = repeat('x', 3000) AS long, dp_topk(n, 2, '{2,1,7}'),
	dp_argmax(n, ARRAY[repeat('9', 10000)::numeric, 1]) = repeat('9', 10000)::numeric AS nines,
	dp_argmax(n, '{NaN,5,6}'), dp_argmax(n, '{5,-Infinity,6}') FROM long;

-- every plan counts the same
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT dp_topk(i, 3), dp_topk(t, 3), dp_topk(n, 3, '{77.7,11.1,0.5}') FROM many;
SELECT * FROM (SELECT k, dp_topk(i, 2, '{5,6}'), dp_topk(t, 2, '{v5,v6}') FROM typed GROUP BY k) g WHERE k < 3;
SET enable_hashagg = off;
SET max_parallel_workers_per_gather = 0;
SELECT * FROM (SELECT k, dp_topk(i, 2, '{5,6}'), dp_topk(t, 2, '{v5,v6}') FROM typed GROUP BY k) g WHERE k < 3;
RESET enable_hashagg;
SET enable_sort = off;
SET work_mem = '64kB';
SELECT * FROM (SELECT k, dp_topk(i, 2, '{5,6}'), dp_topk(t, 2, '{v5,v6}') FROM typed GROUP BY k) g WHERE k < 3;
RESET enable_sort;
RESET work_mem;
RESET max_parallel_workers_per_gather;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
SELECT spent() \g /dev/null

-- one price for all groups; k rounds share it
SELECT k, dp_argmax(i, '{1,2}', 2) FROM typed GROUP BY k \g /dev/null
SELECT * FROM spent();
SELECT dp_topk(i, 4, NULL, 2), dp_argmax(i, NULL, 1) FROM typed \g /dev/null
SELECT * FROM spent();
SELECT released('SELECT k, dp_argmax(t, NULL, 1), dp_argmax(i, ARRAY[1, 2], 2), dp_topk(i, 4, NULL, 2) FROM typed GROUP BY k');
RESET ROLE;
SELECT mechanism, epsilon, round(rho, 9) AS rho, delta FROM dp_pg.ledger
WHERE dataset = :'schema' ORDER BY id DESC LIMIT 1;
SET dp_pg.mechanism = gaussian;	-- the exponential mechanism; no delta needed
SET ROLE :analyst;
SELECT released('SELECT k, dp_argmax(t, NULL, 1), dp_topk(i, 4, NULL, 2) FROM typed GROUP BY k');
-- noisy counts where they are better at what the budget counts, which is rho here; Gaussian ones with a delta
SET dp_pg.delta = '1e-6';
SELECT released('SELECT dp_topk(i, 40, NULL, 2), dp_topk(i, 2, NULL, 2) FROM typed');
RESET dp_pg.delta;
SET dp_pg.mechanism = laplace;
SELECT released('SELECT dp_topk(i, 1, NULL, 2), dp_topk(i, 2, NULL, 2), dp_topk(i, 3, NULL, 2), dp_topk(i, 100, NULL, 2) FROM typed');
SET dp_pg.mechanism = gaussian;
SELECT dp_topk(i, 4, NULL, 2), dp_argmax(i, NULL, 1) FROM typed \g /dev/null
SELECT dp_argmax(t), dp_topk(t, 3), dp_argmax(m) FROM typed;
RESET ROLE;
-- 4 (1/2)^2 / 8 + 1 / 8
SELECT mechanism, epsilon, round(rho, 9) AS rho, delta FROM dp_pg.ledger
WHERE dataset = :'schema' ORDER BY id DESC LIMIT 1 OFFSET 1;
RESET dp_pg.mechanism;
SELECT spent() \g /dev/null
SET ROLE :analyst;

-- what is refused, before anything is charged
SELECT * FROM outcome('SELECT dp_argmax(r) FROM typed');
SELECT * FROM outcome('SELECT dp_argmax(r, NULL) FROM typed');
SELECT * FROM outcome('SELECT dp_topk(r, 1) FROM typed');
SELECT * FROM outcome('SELECT dp_argmax(i + 1) FROM typed');
SELECT * FROM outcome('SELECT dp_argmax(i, NULL::numeric[]) FROM typed');
SELECT * FROM outcome('SELECT dp_argmax(NULL::text) FROM typed');
SELECT * FROM outcome('SELECT dp_argmax(i, ''{}'') FROM typed');
SELECT * FROM outcome('SELECT dp_argmax(i, ARRAY[1, NULL]) FROM typed');
SELECT * FROM outcome('SELECT dp_argmax(i, ARRAY[1, 2, 1]) FROM typed');
SELECT * FROM outcome('SELECT dp_argmax(n, ARRAY[1, 1.0]) FROM typed');
SELECT * FROM outcome('SELECT dp_argmax(d, ''{0,-0}'') FROM typed');
SELECT * FROM outcome('SELECT dp_argmax(d, ''{NaN,nan}'') FROM typed');
SELECT * FROM outcome('SELECT dp_argmax(t, ''{a,b,a}'') FROM typed');
SELECT * FROM outcome('SELECT dp_argmax(c, ARRAY[''a'', ''a ''::char(2)]) FROM typed');
SELECT * FROM outcome('SELECT dp_argmax(iv, ''{24:00,1 day}'') FROM typed');
SELECT * FROM outcome('SELECT dp_argmax(m, ''{glad}'') FROM typed');
SELECT * FROM outcome('SELECT dp_argmax(j, ARRAY[to_jsonb(1)]) FROM typed');
SELECT * FROM outcome('SELECT dp_argmax(row(i), ARRAY[row(1)]) FROM typed');
SELECT * FROM outcome('SELECT dp_argmax(i, ARRAY[''a'']) FROM typed');
SELECT * FROM outcome('SELECT dp_argmax(i, 1) FROM typed');
SELECT * FROM outcome('SELECT dp_argmax(i, ARRAY[i]) FROM typed');
SELECT * FROM outcome('SELECT dp_argmax(i, ''{1,2}'', 0) FROM typed');
SELECT * FROM outcome('SELECT dp_argmax(i, ''{1,2}'', NULL) FROM typed');
SELECT * FROM outcome('SELECT dp_topk(i, 0, ''{1,2}'') FROM typed');
SELECT * FROM outcome('SELECT dp_topk(i, 3, ''{1,2}'') FROM typed');
SELECT * FROM outcome('SELECT dp_topk(i, NULL, ''{1,2}'') FROM typed');
SELECT * FROM outcome('SELECT dp_topk(o, 3) FROM typed');
SELECT * FROM outcome('SELECT dp_topk(i, k, ''{1,2}'') FROM typed');
SELECT * FROM outcome('SELECT dp_argmax(DISTINCT i, ''{1,2}'') FROM typed');
SELECT * FROM outcome('SELECT dp_argmax(i ORDER BY i) FROM typed');
SELECT * FROM outcome('SELECT dp_argmax(i) OVER () FROM typed');
SELECT * FROM outcome('SELECT dp_argmax(relname, ''{a}'') FROM pg_catalog.pg_class');
-- collations in which different texts are equal
RESET ROLE;
CREATE COLLATION :schema.blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
SET ROLE :analyst;
SELECT * FROM outcome('SELECT dp_argmax(t COLLATE blind, ''{v1,v2}'') FROM typed');
SELECT dp_argmax(t COLLATE "C", '{v1,v2}') FROM typed;
-- a comparison of one's own is never asked
CREATE TYPE pair AS (x integer, y integer);
SELECT * FROM outcome('SELECT dp_argmax(row(i, i)::pair, ARRAY[row(1, 1)::pair]) FROM typed');
-- more candidates than allowed
RESET ROLE;
SET dp_pg.max_groups = 5;
SET ROLE :analyst;
SELECT * FROM outcome('SELECT dp_argmax(t, ''{a,b,c,d,e,f}'') FROM typed');
SELECT * FROM outcome('SELECT dp_argmax(i) FROM many');
SELECT * FROM outcome('SELECT dp_argmax(t) FROM many');
RESET ROLE;
RESET dp_pg.max_groups;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
