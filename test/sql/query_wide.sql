-- The most private aggregates of a query over units with many rows: each has
-- its own rows, and one more is refused before the charge.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_wide
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
CREATE TABLE visit (u text NOT NULL, x int, city text, k int NOT NULL);
INSERT INTO visit SELECT 'unit ' || u, (u * 37 + j * 13) % 301, (ARRAY['Rome', 'Oslo'])[1 + u % 2], u % 2 FROM generate_series(1, 200) u, generate_series(1, 5) j;
SELECT dp_protect('visit', unit => 'u', dataset => :'schema') \g /dev/null
SELECT dp_declare('visit', 'k', keys => ARRAY[0, 1]) \g /dev/null
-- who may read the rows asks by the same law, and compares
SET dp_pg.max_rows = 5;
SET dp_pg.max_keys = 2;

-- the i-th aggregate counts, adds, averages or tells apart its own rows, as plain or as private one
CREATE FUNCTION aggregates(n int, private boolean) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(format((CASE WHEN private THEN ARRAY['dp_sum(%1$s, 0, 300)', 'dp_count(%1$s)', 'dp_count(DISTINCT %1$s)', 'dp_avg(%1$s, 0, 300)::numeric(8, 3)']
		ELSE ARRAY['sum(%1$s)', 'count(%1$s)', 'count(DISTINCT %1$s)', 'avg(%1$s)::numeric(8, 3)'] END)[1 + i % 4], format('CASE WHEN (x + k) %% %s > 2 THEN x END', 5 + i)) || '::numeric', ', ' ORDER BY i)
	FROM generate_series(1, n) i $$;
CREATE FUNCTION answer(n int, private boolean, keys text, OUT answers jsonb) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT jsonb_agg(to_jsonb(t) ORDER BY key::text) FROM (SELECT %s AS key, ARRAY[%s] AS a FROM visit GROUP BY 1) t', keys, aggregates(n, private)) INTO answers;
END $$;
-- weights of rows leave a mean a noise of less than a hundredth
CREATE FUNCTION same(a jsonb, b jsonb) RETURNS boolean LANGUAGE sql AS $$
	SELECT jsonb_array_length(a) = jsonb_array_length(b) AND bool_and(a -> i -> 'key' = b -> i -> 'key' AND abs((a -> i -> 'a' ->> j)::numeric - (b -> i -> 'a' ->> j)::numeric) < 0.05)
	FROM generate_series(0, jsonb_array_length(a) - 1) i, generate_series(0, jsonb_array_length(a -> 0 -> 'a') - 1) j $$;
SELECT n, key, jsonb_array_length(a.answers) AS groups, jsonb_array_length(a.answers -> 0 -> 'a') AS values, same(a.answers, b.answers) AS same
FROM (VALUES (31, 'k'), (32, 'k'), (33, 'k'), (96, 'k'), (97, 'k'), (256, 'k'), (256, '1')) v (n, key), answer(n, true, key) a, answer(n, false, key) b;
SELECT * FROM outcome('SELECT answer(257, true, ''k'')');
-- the same of keys that are released by threshold
SET dp_pg.delta = '1e-8';
SELECT n, key, jsonb_array_length(a.answers) AS groups, same(a.answers, b.answers) AS same FROM (VALUES (40, 'city'), (256, 'city')) v (n, key), answer(n, true, key) a, answer(n, false, key) b;
SELECT * FROM outcome('SELECT answer(257, true, ''city'')');
\set VERBOSITY default
SELECT answer(257, true, 'city');
\set VERBOSITY sqlstate
-- rows that are units have no such limit
SELECT format('SELECT ARRAY[%s]', string_agg(format('dp_sum(age + %s, 0, 1000)', i), ', ')) AS query FROM generate_series(1, 300) i \gset
CREATE FUNCTION given(query text, OUT given bigint[]) LANGUAGE plpgsql AS 'BEGIN EXECUTE query INTO given; END';
SELECT given = ARRAY(SELECT 49500 + 1000 * i FROM generate_series(1, 300) i)::bigint[] AS same FROM given(:'query' || ' FROM person');
RESET ROLE;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
