-- Attacks of an analyst on sessions.  Thresholds are far from every count: a
-- wrong "above" has probability below exp(-1000) each.
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

-- ---- texts that would take memory without end ----
SELECT length(string_agg('id = ' || i, ' OR ')) > 65536 AS long,
	(outcome(format('SELECT count(*) FROM dp_sparse_vector(''person'', ARRAY[%L], 500)', string_agg('id = ' || i, ' OR ')))).*
FROM generate_series(1, 10000) i;
SELECT * FROM outcome($$SELECT count(*) FROM dp_sparse_vector('person',
	(SELECT array_agg('age > ' || i || repeat(' ', 60000)) FROM generate_series(1, 100) i), 500)$$);
-- more constants than are worth a table
SELECT count(*) AS answered, count(*) FILTER (WHERE above) AS above
FROM dp_sparse_vector('person', (SELECT array_agg('id IN (' || l || ')' ORDER BY k) FROM (
	SELECT i / 5000 AS k, string_agg(i::text, ',') AS l FROM generate_series(1, 79999) i GROUP BY 1) t), 500);

-- ---- a question that would fill the catalog ----
SELECT set_config('my.session', :'s', false) \g /dev/null
SELECT * FROM outcome($$SELECT dp_sparse_vector_ask(current_setting('my.session')::bigint, 'true /*' || repeat('x', 65536) || '*/')$$);
SELECT above FROM dp_sparse_vector_ask(:s, 'true /*' || repeat('x', 65000) || '*/');
SELECT dp_weights_open('person', ARRAY['sex'], queries => 10, epsilon => 100000, n => 1000) AS w \gset
SELECT set_config('my.session', :'w', false) \g /dev/null
SELECT * FROM outcome($$SELECT dp_weights_ask(current_setting('my.session')::bigint, 'sex /*' || repeat('x', 65536) || '*/')$$);
SELECT asked, state FROM dp_pg.sessions WHERE session IN (:s, :w) ORDER BY session;

-- ---- within a function that says it may run in parallel ----
CREATE FUNCTION asks() RETURNS boolean LANGUAGE plpgsql PARALLEL SAFE AS $$
BEGIN
	RETURN (SELECT above FROM dp_sparse_vector_ask(current_setting('my.session')::bigint, 'true'));
END $$;
SELECT set_config('my.session', :'s', false) \g /dev/null
SET :forced_parallel = on;
SELECT asks();
RESET :forced_parallel;
SELECT asks();
RESET ROLE;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
