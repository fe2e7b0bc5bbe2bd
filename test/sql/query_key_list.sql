-- The values that a query names are its groups: key IN (...), key = constant,
-- key = ANY (array), and OR of these; nothing has to be declared.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_key_list
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
CREATE TABLE plain (id int PRIMARY KEY, t text, v varchar(8), c char(3), n numeric,
	f float4, big bigint, small smallint, u uuid, d date, at timestamp, i interval, arr int[], j jsonb);
INSERT INTO plain SELECT i, (ARRAY['x','y','z',NULL])[1 + i % 4], (ARRAY['one','two'])[1 + i % 2],
	(ARRAY['a','b'])[1 + i % 2], (ARRAY['1.0','1.00','2'])[1 + i % 3]::numeric,
	(ARRAY[0.5, 1.1])[1 + i % 2], i % 3, i % 2, '00000000-0000-0000-0000-000000000001',
	date '2021-01-01' + i % 10, timestamp '2021-01-01' + i * interval '1 day', interval '1 day', NULL, NULL
FROM generate_series(1, 120) i;
SELECT dp_protect('plain', dataset => :'schema') \g /dev/null
RESET ROLE;

SET ROLE :analyst;
-- sorted, each once, NULL never
SELECT t, dp_count(*) FROM plain WHERE t IN ('z', 'x', 'absent', 'x', NULL) GROUP BY t;
SELECT t, dp_count(*) FROM plain WHERE t = 'y' GROUP BY t;
SELECT t, dp_count(*) FROM plain WHERE 'y' = t GROUP BY t;
SELECT t, dp_count(*) FROM plain WHERE t = ANY ('{z,x}') GROUP BY t;
SELECT t, dp_count(*) FROM plain WHERE t = 'y' OR t IN ('x', 'w') GROUP BY t;
SELECT t, dp_count(*) FROM plain WHERE t = 'y' OR t IS NULL GROUP BY t;
SELECT t, dp_count(*) FROM plain WHERE t IN ('x', 'y') AND t IN ('y', 'z') GROUP BY t;
SELECT t, dp_count(*) FROM plain WHERE t = NULL GROUP BY t;
SELECT t, v, dp_count(*) FROM plain WHERE t IN ('x', 'y') AND v = 'one' GROUP BY t, v;
-- by other names, at other levels
SELECT k, dp_count(*) FROM (SELECT t AS k FROM plain WHERE t IN ('x', 'y')) p WHERE k <> 'x' GROUP BY k;
-- types: equality is the type's own
SELECT v, dp_count(*) FROM plain WHERE v IN ('two', 'too long for it') GROUP BY v;
SELECT c, length(c), octet_length(c), dp_count(*) FROM plain WHERE c IN ('a', 'b  ') GROUP BY c;
SELECT n, dp_count(*) FROM plain WHERE n IN (1, 2.000, 1.0) GROUP BY n;
SELECT f, dp_count(*) FROM plain WHERE f IN (0.5, 1.1::real) GROUP BY f;
SELECT f, dp_count(*) FROM plain WHERE f = 1.1 GROUP BY f;
SELECT big, dp_count(*), pg_typeof(big) FROM plain WHERE big IN (1, 2) GROUP BY big;
SELECT small, dp_count(*) FROM plain WHERE small = 100000 OR small = 1::bigint GROUP BY small;
SELECT u, dp_count(*) FROM plain WHERE u = '00000000-0000-0000-0000-000000000001' GROUP BY u;
SELECT d, dp_count(*) FROM plain WHERE d IN (date '2021-01-03', date '1999-01-01') GROUP BY d;
SELECT i, dp_count(*) FROM plain WHERE i = interval '24 hours' GROUP BY i;
-- expressions of which values are named
SELECT lower(v), dp_count(*) FROM plain WHERE lower(v) IN ('one', 'two') GROUP BY lower(v);
SELECT date_trunc('month', at), dp_count(*) FROM plain WHERE date_trunc('month', at) = timestamp '2021-02-01' GROUP BY 1;
SELECT big % 2, dp_count(*) FROM plain WHERE big % 2 IN (0, 1) GROUP BY 1;
-- they override what is declared, which gives them their order
SELECT ward, dp_count(*) FROM person WHERE ward IN ('X', 'A', 'C') GROUP BY ward;
SELECT age, dp_count(*) FROM person WHERE age IN (1, 200) GROUP BY age;
SELECT sex, dp_count(*) FROM person WHERE sex = true GROUP BY sex;
-- parameters
PREPARE named(text[], text) AS SELECT t, dp_count(*) FROM plain WHERE t = ANY ($1) OR t = $2 GROUP BY t;
EXECUTE named('{x}', 'y');
EXECUTE named(NULL, NULL);
EXECUTE named('{}', 'z');
SET plan_cache_mode = force_generic_plan;
EXECUTE named('{x,z}', 'y');
PREPARE several(text, text) AS SELECT t, dp_count(*) FROM plain WHERE t IN ($1, $2) GROUP BY t;
EXECUTE several('x', 'z');
RESET plan_cache_mode;
CREATE FUNCTION groups(wanted text[], OUT n bigint, OUT people numeric) LANGUAGE plpgsql AS $$
BEGIN
	SELECT count(*), sum(c) INTO n, people FROM (
		SELECT t, dp_count(*) AS c FROM plain WHERE t = ANY (wanted) GROUP BY t) s;
END $$;
SELECT * FROM groups(ARRAY['x', 'y']);

-- no list: ranges, other columns, results of subqueries, negation
SELECT * FROM outcome('SELECT t, dp_count(*) FROM plain GROUP BY t');
SELECT * FROM outcome('SELECT t, dp_count(*) FROM plain WHERE t > ''x'' GROUP BY t');
SELECT * FROM outcome('SELECT t, dp_count(*) FROM plain WHERE t NOT IN (''x'') GROUP BY t');
SELECT * FROM outcome('SELECT t, dp_count(*) FROM plain WHERE t = ''x'' OR v = ''one'' GROUP BY t');
SELECT * FROM outcome('SELECT t, dp_count(*) FROM plain WHERE v = ''one'' GROUP BY t');
SELECT * FROM outcome('SELECT t, dp_count(*) FROM plain WHERE (t = ''y'' AND n > 1) OR t = ''z'' GROUP BY t');
SELECT * FROM outcome('SELECT t, dp_count(*) FROM plain WHERE t = v GROUP BY t');
SELECT * FROM outcome('SELECT t, dp_count(*) FROM plain WHERE t = (SELECT ''x''::text) GROUP BY t');
SELECT * FROM outcome('SELECT t, dp_count(*) FROM plain WHERE t IS NULL GROUP BY t');
-- NaN, -0 and the like are one value where the type says so
SELECT f, dp_count(*) FROM plain WHERE f IN ('NaN', '-0', '0') GROUP BY f;
-- types without an equality that is built in
SELECT * FROM outcome('SELECT arr, dp_count(*) FROM plain WHERE arr = ''{1}'' GROUP BY arr');
SELECT * FROM outcome('SELECT j, dp_count(*) FROM plain WHERE j = ''{}'' GROUP BY j');
-- charged once
SELECT * FROM outcome('SELECT t, dp_count(*) FROM plain WHERE t IN (''x'', ''y'') GROUP BY t');
RESET ROLE;
SET dp_pg.max_groups = 2;
SET ROLE :analyst;
SELECT * FROM outcome('SELECT t, dp_count(*) FROM plain WHERE t IN (''x'', ''y'', ''z'') GROUP BY t');
RESET ROLE;
RESET dp_pg.max_groups;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
