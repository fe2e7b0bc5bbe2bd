-- The catalog of sessions: shape, rights, dump.
\set QUIET on
\pset format unaligned
\pset tuples_only on
\pset pager off
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS dp_pg;
CREATE EXTENSION IF NOT EXISTS pgtap;
BEGIN;
SELECT * FROM no_plan();

SELECT columns_are('dp_pg', 'session', ARRAY['id', 'kind', 'role', 'role_oid', 'cluster', 'database', 'dataset', 'payer', 'payer_oid', 'period',
	'relation_oid', 'relation', 'neighbours', 'sensitivity', 'threshold', 'questions', 'cutoff', 'beta', 'method', 'two_sided', 'numeric_answers', 'fresh',
	'threshold_sensitivity', 'threshold_epsilon', 'query_sensitivity', 'query_epsilon', 'answer_sensitivity', 'answer_epsilon', 'threshold_offset', 'alpha',
	'epsilon', 'rho', 'delta', 'asked', 'above', 'bytes_left', 'opened', 'closed', 'reason', 'details']);
SELECT columns_are('dp_pg', 'session_secret', ARRAY['session', 'armed']);
SELECT columns_are('dp_pg', 'session_question', ARRAY['session', 'question', 'answer', 'guess', 'number', 'above', 'predicate']);
SELECT columns_are('dp_pg', 'session_above', ARRAY['session', 'number', 'asked_at', 'predicate', 'answer', 'guess']);
SELECT columns_are('dp_pg', 'sessions', ARRAY['session', 'kind', 'dataset', 'relation', 'role', 'state', 'threshold', 'asked', 'questions_left', 'bytes_left',
	'above', 'above_left', 'updates', 'updates_left', 'method', 'numeric_answers', 'alpha', 'confidence', 'epsilon', 'delta', 'payer', 'opened', 'closed', 'reason', 'columns', 'n']);
SELECT is_empty($$ SELECT attname FROM pg_attribute WHERE attrelid = ANY ('{dp_pg.sessions,dp_pg.session,dp_pg.session_secret,dp_pg.session_question}'::regclass[]) AND attnum > 0 AND col_description(attrelid, attnum) IS NULL $$, 'every column is explained');
SELECT col_is_pk('dp_pg', 'session'::name, 'id'::name, 'the key of a session');
SELECT col_is_pk('dp_pg', 'session_secret'::name, 'session'::name, 'the key of a threshold');
SELECT col_is_pk('dp_pg', 'session_question'::name, ARRAY['session', 'question']::name[], 'the key of a question');
-- An entry for an "above" only would show in what could be written.
SELECT results_eq($$ SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = 'dp_pg.session_question'::regclass $$, $$ VALUES ('dp_pg.session_question_pkey') $$, 'no index knows an answer');
-- exact numbers are kept exactly
SELECT col_type_is('dp_pg', 'session', c, 'numeric', c || ' is exact')
FROM unnest('{sensitivity,threshold_sensitivity,threshold_epsilon,query_sensitivity,query_epsilon,answer_sensitivity,answer_epsilon,alpha,epsilon,rho,delta}'::name[]) c;

SELECT ok(relrowsecurity, relname || ' has row security') FROM pg_class WHERE oid IN ('dp_pg.session'::regclass, 'dp_pg.session_secret'::regclass, 'dp_pg.session_question'::regclass);
SELECT ok(has_table_privilege('public', t, 'SELECT'), 'everybody may read ' || t) FROM unnest('{dp_pg.session,dp_pg.session_question,dp_pg.session_above,dp_pg.sessions}'::text[]) t;
SELECT ok(NOT has_any_column_privilege('public', t, 'INSERT,UPDATE,REFERENCES') AND NOT has_table_privilege('public', t, 'DELETE,TRUNCATE,TRIGGER'), 'nobody writes ' || t)
FROM unnest('{dp_pg.session,dp_pg.session_secret,dp_pg.session_question,dp_pg.session_above,dp_pg.sessions}'::text[]) t;
SELECT ok(NOT has_any_column_privilege('public', 'dp_pg.session_secret', 'SELECT'), 'nobody reads thresholds');
SELECT results_eq($$ SELECT DISTINCT grantee FROM pg_class, aclexplode(relacl) WHERE pg_class.oid = 'dp_pg.session_secret'::regclass $$,
	$$ SELECT relowner FROM pg_class WHERE oid = 'dp_pg.session_secret'::regclass $$, 'nor any role but the owner of the extension');
SELECT is_empty($$ SELECT polname FROM pg_policy WHERE polrelid = 'dp_pg.session_secret'::regclass $$, 'no policy lets anybody read them');
SELECT is((SELECT attstattarget::int FROM pg_attribute WHERE attrelid = 'dp_pg.session_secret'::regclass AND attname = 'armed'), 0, 'and statistics hold none');
SELECT is_empty($$ SELECT 1 FROM pg_depend WHERE classid = 'pg_rewrite'::regclass AND refobjid = 'dp_pg.session_secret'::regclass $$, 'and no view shows them');

SELECT set_has($$ SELECT unnest(extconfig)::regclass::text FROM pg_extension WHERE extname = 'dp_pg' $$,
	$$ VALUES ('dp_pg.session'), ('dp_pg.session_question') $$, 'sessions are dumped');
SELECT set_hasnt($$ SELECT unnest(extconfig)::regclass::text FROM pg_extension WHERE extname = 'dp_pg' $$,
	$$ VALUES ('dp_pg.session_secret') $$, 'thresholds are not');

SELECT * FROM finish();
ROLLBACK;
