-- What a malicious analyst tried on sessions.  Thresholds are far from every
-- count: a wrong "above" has probability below exp(-1000) each.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test attack_session
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
SET ROLE :analyst;

-- ---- a question asked from within a question ----
CREATE FUNCTION deep() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	PERFORM above FROM dp_sparse_vector_ask(current_setting('my.session')::bigint, 'true');
	RETURN 0;
END $$;
CREATE VIEW nested AS SELECT id, age FROM person WHERE age >= (SELECT deep());
SELECT set_config('my.session', dp_sparse_vector_open('nested', 1000000)::text, false) \g /dev/null
SELECT * FROM outcome($$SELECT above FROM dp_sparse_vector_ask(current_setting('my.session')::bigint, 'true')$$);
SELECT * FROM outcome($$SELECT above FROM dp_sparse_vector_ask(current_setting('my.session')::bigint, 'true')$$);
SELECT state, reason FROM dp_pg.sessions WHERE session = current_setting('my.session')::bigint;
-- afterwards others can be asked
SELECT dp_sparse_vector_open('person', 1000000) AS s \gset
SELECT above FROM dp_sparse_vector_ask(:s, 'true');

-- ---- a question that would fill the catalog ----
SELECT set_config('my.session', :'s', false) \g /dev/null
SELECT * FROM outcome($$SELECT dp_sparse_vector_ask(current_setting('my.session')::bigint, 'true /*' || repeat('x', 65536) || '*/')$$);
SELECT above FROM dp_sparse_vector_ask(:s, 'true /*' || repeat('x', 65000) || '*/');
SELECT dp_weights_open('person', ARRAY['sex'], queries => 10, epsilon => 100000, n => 1000) AS w \gset
SELECT set_config('my.session', :'w', false) \g /dev/null
SELECT * FROM outcome($$SELECT dp_weights_ask(current_setting('my.session')::bigint, 'sex /*' || repeat('x', 65536) || '*/')$$);
SELECT asked, state FROM dp_pg.sessions WHERE session IN (:s, :w) ORDER BY session;
RESET ROLE;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
