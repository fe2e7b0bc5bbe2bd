-- The ledger's catalog of batches and parts: shape, rights, dump.
\set QUIET on
\pset format unaligned
\pset tuples_only on
\pset pager off
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS dp_pg;
CREATE EXTENSION IF NOT EXISTS pgtap;
BEGIN;
SELECT * FROM no_plan();

SELECT columns_are('dp_pg', 'batch', ARRAY['id', 'dataset', 'role', 'role_oid', 'cluster', 'payer', 'payer_oid', 'period',
	'epsilon', 'queries', 'used', 'method', 'opened', 'closed']);
SELECT columns_are('dp_pg', 'part', ARRAY['dataset', 'payer_oid', 'partition', 'part', 'period',
	'spent_epsilon', 'spent_rho', 'spent_delta', 'spent_squares', 'charges']);
SELECT columns_are('dp_pg', 'my_batches', ARRAY['id', 'dataset', 'state', 'epsilon', 'queries', 'used', 'method',
	'charged_epsilon', 'charged_delta', 'payer', 'opened', 'closed']);
SELECT has_column('dp_pg', 'ledger', c, 'the ledger has ' || c) FROM unnest('{price_epsilon,price_delta,price_rho,batch,partition,part}'::name[]) c;
SELECT has_column('dp_pg', t, c, t || ' has ' || c)
FROM (VALUES ('dataset'::name, 'cap_squares'::name), ('dataset', 'spent_squares'), ('budget', 'squares'), ('budget', 'spent_squares'), ('budget', 'total_squares'), ('budget', 'period')) v(t, c);
-- rows of a dump without these columns count as spent, not as unspent
SELECT col_default_is('dp_pg', t, 'spent_squares', 'Infinity', t || ': unknown squares are infinite') FROM unnest('{dataset,budget}'::name[]) t;
SELECT col_is_pk('dp_pg', 'batch'::name, 'id'::name, 'id is the key of a batch');
SELECT col_is_pk('dp_pg', 'part'::name, ARRAY['dataset', 'payer_oid', 'partition', 'part']::name[], 'the key of a part');
SELECT has_index('dp_pg', 'batch', 'batch_open', ARRAY['dataset', 'role']);

SELECT ok(relrowsecurity, relname || ' shows each role its own rows') FROM pg_class WHERE oid IN ('dp_pg.batch'::regclass, 'dp_pg.part'::regclass);
SELECT ok(has_table_privilege('public', t, 'SELECT'), 'everybody may read ' || t) FROM unnest('{dp_pg.batch,dp_pg.part,dp_pg.my_batches}'::text[]) t;
SELECT ok(NOT has_any_column_privilege('public', t, 'INSERT,UPDATE,REFERENCES') AND NOT has_table_privilege('public', t, 'DELETE,TRUNCATE,TRIGGER'), 'nobody writes ' || t)
FROM unnest('{dp_pg.batch,dp_pg.part,dp_pg.my_batches,dp_pg.ledger,dp_pg.budget,dp_pg.dataset}'::text[]) t;
SELECT ok(NOT has_sequence_privilege('public', 'dp_pg.partition_seq', 'USAGE,SELECT,UPDATE'), 'nobody draws numbers of partitions');
SELECT ok(NOT has_function_privilege('public', p.oid, 'EXECUTE'), 'not for everybody: dp_pg.' || proname)
FROM pg_proc p WHERE pronamespace = 'dp_pg'::regnamespace AND proname IN ('charge', 'preview', 'new_partition', 'open_dataset');
SELECT ok(has_function_privilege('public', p.oid, 'EXECUTE'), 'for everybody: ' || p.oid::regprocedure)
FROM pg_proc p WHERE proname IN ('dp_batch_open', 'dp_batch_close', 'dp_odometer_statement', 'dp_neighbours', 'dp_unlimit');
SELECT is((SELECT count(*)::int FROM pg_proc WHERE proname IN ('dp_batch_open', 'dp_odometer_statement')
	AND ARRAY['double precision'::regtype, 'numeric'::regtype]::oid[] && proargtypes::oid[]), 4, 'numbers as numeric and as double precision');
SELECT is((SELECT proargnames[1:5] FROM pg_proc WHERE oid = to_regprocedure('dp_batch_open(name, numeric, int, numeric, text)')),
	'{dataset,epsilon,k,delta_slack,method}', 'names of the parameters of dp_batch_open');
SELECT is(provolatile::text || proparallel::text, 'vu', proname || ' is volatile and parallel unsafe') FROM pg_proc
WHERE proname IN ('dp_batch_open', 'dp_batch_close', 'dp_neighbours', 'dp_unlimit', 'charge') AND prolang = (SELECT oid FROM pg_language WHERE lanname = 'c');

SELECT set_has($$ SELECT unnest(extconfig)::regclass::text FROM pg_extension WHERE extname = 'dp_pg' $$,
	$$ VALUES ('dp_pg.batch'), ('dp_pg.partition_seq'), ('dp_pg.ledger_id_seq') $$, 'batches and numbers are dumped');
SELECT set_hasnt($$ SELECT unnest(extconfig)::regclass::text FROM pg_extension WHERE extname = 'dp_pg' $$,
	$$ VALUES ('dp_pg.part') $$, 'sums of parts are not');

-- what refuses before it charges anything
SELECT throws_ok($$ SELECT dp_batch_open('no such dataset', 0.1, 3) $$, '42704');
SELECT throws_ok($$ SELECT dp_batch_close(-1) $$, '42704');
SELECT throws_ok($$ SELECT dp_neighbours('no such dataset', 'replace_one') $$, '42704');
SELECT throws_ok($$ SELECT dp_unlimit('no such dataset') $$, '42704');
SELECT throws_ok($$ SELECT dp_odometer_statement('no such dataset', 1e-9) $$, '42704');
SELECT throws_ok($$ SELECT dp_pg.charge('x', 'm', 1, partition => 1) $$, '22023');
SELECT throws_ok($$ SELECT dp_pg.charge('x', 'm', 1, partition => 999999999, part => 'a') $$, '22023', NULL, 'a partition that was never assigned');

SELECT * FROM finish();
ROLLBACK;
