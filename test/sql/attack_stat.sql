-- What the server shows about its own work: EXPLAIN, counters, activity,
-- locks.  Each must be the same whether a condition holds for all private
-- rows, one, or none.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test attack_stat
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
CREATE TABLE big (id int PRIMARY KEY, age int, word text, doc text) WITH (autovacuum_enabled = off,
	toast.autovacuum_enabled = off);
ALTER TABLE big ALTER doc SET STORAGE EXTERNAL;
INSERT INTO big SELECT g, g % 100, CASE WHEN g % 3 = 0 THEN 'often' ELSE 'word' || g END, repeat(md5(g::text), CASE WHEN g < 10 THEN 300 ELSE 3 END)
FROM generate_series(1, 20000) g;
CREATE INDEX ON big (word);
CREATE INDEX ON big (age);
ANALYZE big;
SELECT dp_protect('big', dataset => :'schema', rows => 10000000), dp_declare('big', 'age', lower => 0, upper => 99) \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SET work_mem = '64kB';
SET enable_hashagg = off;
CREATE TABLE condition (i int, c text);
INSERT INTO condition VALUES (1, 'true'), (2, 'id = 5'), (3, 'id = -5'), (4, 'word = ''often'''), (5, 'word = ''never'''),
	(6, 'id < 10 AND strpos(doc, ''zz'') > 0'), (7, 'id > 100000 AND strpos(doc, ''zz'') > 0'), (8, 'age BETWEEN 3 AND 4 OR id IS NULL'), (9, 'id IS NULL');
-- EXPLAIN, as text, without the run time; twice, for warm caches
CREATE FUNCTION explained(options text, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	answer text := '';
BEGIN
	EXECUTE 'EXPLAIN (' || options || ') ' || query;
	FOR line IN EXECUTE 'EXPLAIN (' || options || ') ' || query LOOP
		CONTINUE WHEN line ~ 'Budget|Time|Cost';
		answer := answer || line || E'\n';
	END LOOP;
	RETURN answer;
END $$;
SELECT o AS options, count(DISTINCT explained(o, 'SELECT dp_count(*), dp_count(DISTINCT word), dp_sum(age) FROM big WHERE ' || c)) AS plans, count(*)
FROM condition, (VALUES ('VERBOSE'), ('ANALYZE, TIMING off, SUMMARY off'), ('ANALYZE, BUFFERS, WAL, TIMING off, SUMMARY off'),
	('ANALYZE, BUFFERS, VERBOSE, SETTINGS, WAL, TIMING off, SUMMARY off, FORMAT JSON'), ('COSTS off, FORMAT XML'), ('FORMAT YAML')) v (o)
GROUP BY o ORDER BY o;
SELECT o AS options, count(DISTINCT explained(o, 'SELECT age, dp_count(*) FROM big WHERE ' || c || ' GROUP BY age')) AS plans, count(*)
FROM condition, (VALUES ('VERBOSE'), ('ANALYZE, BUFFERS, WAL, TIMING off, SUMMARY off')) v (o)
GROUP BY o ORDER BY o;
-- an estimate of the outer query comes from keys, not from rows
SELECT count(DISTINCT explained('VERBOSE', 'SELECT * FROM condition, (SELECT age, dp_count(*) AS n FROM big WHERE ' || c || ' GROUP BY age) s WHERE n > i')) AS plans FROM condition;
-- and nothing of the inner plan shows
SELECT explained(o, 'SELECT age > 50, dp_count(*) FROM big WHERE word = ''often'' GROUP BY 1') ~ 'Scan on|Index|Hash|Sort|Aggregate|Worker|Heap|big_|often' AS shows
FROM (VALUES ('VERBOSE, ANALYZE, BUFFERS'), ('VERBOSE, FORMAT JSON')) v (o);

-- counters of tables, indexes, functions, and of the transaction under way
-- in memory: its own temporary files would be counted
CREATE FUNCTION counters() RETURNS TABLE (what text, n numeric) LANGUAGE sql SET work_mem = '64MB' AS $$
	SELECT 'table ' || k.key, k.value::numeric FROM pg_stat_all_tables t, jsonb_each_text(to_jsonb(t)) k
	WHERE t.relname = 'big' AND k.value ~ '^[0-9]+$' AND k.key !~ 'relid'
	UNION ALL
	SELECT 'index ' || t.indexrelname || k.key, k.value::numeric FROM pg_stat_all_indexes t, jsonb_each_text(to_jsonb(t)) k
	WHERE t.relname = 'big' AND k.value ~ '^[0-9]+$' AND k.key !~ 'relid'
	UNION ALL
	SELECT 'toast ' || k.key, k.value::numeric FROM pg_stat_all_tables t JOIN pg_class c ON c.reltoastrelid = t.relid, jsonb_each_text(to_jsonb(t)) k
	WHERE c.relname = 'big' AND k.value ~ '^[0-9]+$' AND k.key !~ 'relid'
	UNION ALL
	SELECT 'block ' || k.key, k.value::numeric FROM pg_statio_all_tables t, jsonb_each_text(to_jsonb(t)) k
	WHERE t.relname = 'big' AND k.value ~ '^[0-9]+$' AND k.key !~ 'relid'
	UNION ALL
	SELECT 'under way ' || k.key, k.value::numeric FROM pg_stat_xact_all_tables t JOIN pg_class c ON c.oid = t.relid OR c.reltoastrelid = t.relid,
		jsonb_each_text(to_jsonb(t)) k WHERE c.relname = 'big' AND k.value ~ '^[0-9]+$' AND k.key !~ 'relid'
	UNION ALL
	SELECT 'database ' || k.key, k.value::numeric FROM pg_stat_database t, jsonb_each_text(to_jsonb(t)) k
	WHERE t.datname = current_database() AND k.key IN ('temp_files', 'temp_bytes', 'conflicts', 'deadlocks')
	UNION ALL
	SELECT 'functions', count(*) FROM pg_stat_user_functions
	UNION ALL
	SELECT 'functions under way', count(*) FROM pg_stat_xact_user_functions
$$;
-- the owner's load above is counted before we begin
RESET ROLE;
SELECT pg_stat_force_next_flush() \g /dev/null
SET ROLE :analyst;
SELECT pg_stat_force_next_flush() \g /dev/null
CREATE TABLE before AS SELECT * FROM counters();
BEGIN;
SELECT dp_count(*) IS NULL, dp_count(DISTINCT doc) IS NULL FROM big;
SELECT dp_count(*) IS NULL FROM big WHERE id = 5;
SELECT dp_count(*) IS NULL FROM big WHERE word = 'often' AND strpos(doc, 'zz') > 0;
SELECT dp_count(*) IS NULL FROM big WHERE id < 10 AND strpos(doc, 'zz') > 0;
SET LOCAL max_parallel_workers_per_gather = 2;
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0;
SET LOCAL min_parallel_index_scan_size = 0;
SELECT dp_count(*) IS NULL, dp_sum(age) IS NULL FROM big;
SELECT dp_count(*) IS NULL FROM big WHERE word = 'often';
SELECT what FROM counters() WHERE what LIKE '%under way%' AND n <> 0 ORDER BY 1;
COMMIT;
SELECT pg_stat_force_next_flush() \g /dev/null
SELECT pg_stat_clear_snapshot() \g /dev/null
SELECT what, c.n - b.n AS more FROM counters() c JOIN before b USING (what) WHERE c.n <> b.n ORDER BY what;
-- they are counters that count: the owner's own reading shows
RESET ROLE; SET ROLE :owner;
SELECT count(*) > 0 FROM big;
SELECT pg_stat_force_next_flush() \g /dev/null
SELECT pg_stat_clear_snapshot() \g /dev/null
RESET ROLE; SET ROLE :analyst;
SELECT count(*) > 0 AS counted FROM counters() c JOIN before b USING (what) WHERE c.n <> b.n AND what = 'table seq_tup_read';

-- locks: the same for every condition, and none on a page or row
CREATE FUNCTION locks(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	EXECUTE query;
	SELECT string_agg(DISTINCT concat_ws(' ', locktype, relation::regclass, page, tuple, mode), ', ' ORDER BY concat_ws(' ', locktype, relation::regclass, page, tuple, mode))
	INTO answer FROM pg_locks WHERE pid = pg_backend_pid() AND (relation::regclass::text ~ 'big|toast' OR page IS NOT NULL);
	RAISE EXCEPTION '%', answer;
EXCEPTION WHEN raise_exception THEN
	RETURN sqlerrm;
END $$;
SELECT count(DISTINCT locks('SELECT dp_count(*) FROM big WHERE ' || c)) FROM condition;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT dp_count(*) FROM big;
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT dp_count(*) > 0 FROM big;
SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype IN ('page', 'tuple');
COMMIT;
-- cursors, prepared statements, activity show the analyst's own text
BEGIN;
DECLARE c CURSOR FOR SELECT dp_count(*) FROM big WHERE id = 5;
FETCH c \g /dev/null
SELECT count(*) FROM pg_cursors WHERE statement ~ 'private query';
SELECT count(*) FROM pg_prepared_statements;
SELECT count(*) FROM pg_stat_activity WHERE query ~ 'private query';
COMMIT;

-- messages: at every level the same lines for every condition
SET client_min_messages = debug1;
SET debug_print_parse = off;
SELECT dp_count(*) IS NULL FROM big WHERE id = 5;
SELECT dp_count(*) IS NULL FROM big WHERE id = -5;
SELECT dp_count(DISTINCT doc) IS NULL FROM big;
SET client_min_messages = warning;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
