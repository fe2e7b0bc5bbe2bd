-- dp_pg.setting_scope: a client's settings end with its transaction.
-- (Pools, startup options, ALTER ROLE: t/pooling.pl.)
\getenv abs_srcdir PG_ABS_SRCDIR
\set test setting_scope
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
SELECT name FROM pg_settings WHERE name LIKE 'dp\_pg.%' AND context = 'user' ORDER BY 1;
RESET dp_pg.epsilon;
SHOW dp_pg.setting_scope;
SET dp_pg.setting_scope = transaction;
SET ROLE :analyst;
-- nobody but a superuser chooses it
SET dp_pg.setting_scope = session;
SELECT set_config('dp_pg.setting_scope', 'session', false);
RESET dp_pg.setting_scope;
RESET ROLE;
SET dp_pg.setting_scope = transaction;
SET ROLE :analyst;
SELECT * FROM spent() \g /dev/null
-- outside of a block, in all spellings
SET dp_pg.epsilon = '2';
SET SESSION "DP_PG.Epsilon" = '2';
SET dp_pg.delta = '1e-9';
SET dp_pg.max_keys = 2;
SET dp_pg.max_rows = 2;
SET dp_pg.mechanism = gaussian;
SET dp_pg.split = on;
SET dp_pg.suppress = on;
SET dp_pg.transparent = on;
SELECT set_config('dp_pg.epsilon', '2', false);
UPDATE pg_settings SET setting = '2' WHERE name = 'dp_pg.epsilon';
DO $$ BEGIN SET dp_pg.epsilon = '2'; END $$;
DO $$ BEGIN PERFORM set_config('dp_pg.epsilon', '2', false); END $$;
DO $$ BEGIN PERFORM set_config('dp_pg.epsilon', '2', false); COMMIT; END $$;
PREPARE chosen AS SELECT set_config('dp_pg.epsilon', $1, false);
EXECUTE chosen('2');
SELECT dp_count(*) IS NOT NULL FROM person;
SELECT * FROM spent();
-- what has no effect, or another one
SET LOCAL dp_pg.epsilon = '2';
RESET dp_pg.epsilon;
SET dp_pg.epsilon TO DEFAULT;
SET dp_pg.procedure = on;
SET work_mem = '5MB';
SHOW dp_pg.epsilon;
-- headers and SET LOCAL of functions count while they run, or to the end of the statement's transaction
CREATE FUNCTION by_header() RETURNS boolean LANGUAGE plpgsql SET dp_pg.epsilon = '2' AS $$
BEGIN
	RETURN (SELECT dp_count(*) IS NOT NULL FROM person);
END $$;
SELECT by_header();
SELECT * FROM spent();
CREATE FUNCTION by_local() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	SET LOCAL dp_pg.epsilon = '3';
	RETURN (SELECT dp_count(*) IS NOT NULL FROM person);
END $$;
SELECT by_local();
SELECT * FROM spent();
CREATE FUNCTION below_header() RETURNS text LANGUAGE plpgsql SET dp_pg.epsilon = '2' AS $$
BEGIN
	RETURN set_config('dp_pg.epsilon', '5', false);
EXCEPTION WHEN division_by_zero THEN
	RETURN NULL;
END $$;
SELECT below_header();
SHOW dp_pg.epsilon;
DO $$
BEGIN
	SET dp_pg.epsilon = '5';
EXCEPTION WHEN division_by_zero THEN
	NULL;
END $$;
SHOW dp_pg.epsilon;
BEGIN;
SELECT below_header();
SHOW dp_pg.epsilon;
COMMIT;
SHOW dp_pg.epsilon;
DO $$
BEGIN
	SET LOCAL dp_pg.epsilon = '4';
	PERFORM dp_count(*) FROM person;
	COMMIT;
	PERFORM dp_count(1) FROM person;
END $$;
SELECT * FROM spent();
-- one after the other in a block
BEGIN;
SET dp_pg.epsilon = '2';
SELECT by_header(), by_local();
SELECT dp_count(*) IS NOT NULL FROM person;
SELECT * FROM spent();
SAVEPOINT s;
SET dp_pg.epsilon = '5';
ROLLBACK TO s;
SHOW dp_pg.epsilon;
RESET dp_pg.epsilon;
SELECT dp_count(*) IS NOT NULL FROM person;
SELECT * FROM spent();
SET dp_pg.epsilon = '2';
COMMIT;
SELECT dp_count(*) IS NOT NULL FROM person;
SELECT * FROM spent();
-- a cursor that is kept is paid in its transaction
BEGIN;
SET dp_pg.epsilon = '2';
DECLARE kept CURSOR WITH HOLD FOR SELECT dp_count(*) IS NOT NULL FROM person;
COMMIT;
FETCH kept;
CLOSE kept;
SELECT * FROM spent();
-- a plan follows: private in one transaction, refused in the next
PREPARE plain AS SELECT count(*) > 0 FROM person WHERE false;
BEGIN;
SET dp_pg.transparent = on;
EXECUTE plain;
COMMIT;
EXECUTE plain;
BEGIN;
SET LOCAL dp_pg.split = on;
SET dp_pg.epsilon = '2';
SELECT dp_count(*) IS NOT NULL, dp_count(age) IS NOT NULL FROM person;
SELECT * FROM spent();
COMMIT;
SELECT dp_count(*) IS NOT NULL, dp_count(age) IS NOT NULL FROM person;
SELECT * FROM spent();
-- parallel workers take the values of their leader
BEGIN;
SELECT set_config(:'forced_parallel', 'on', true) \g /dev/null
SET dp_pg.epsilon = '2';
SELECT count(*), current_setting('dp_pg.epsilon') FROM pg_class WHERE relname = 'pg_class';
SELECT dp_count(*) IS NOT NULL FROM person;
COMMIT;
SELECT * FROM spent();
-- a value from before ends with the transaction that changes the scope
RESET ROLE;
SET dp_pg.setting_scope = session;
SET dp_pg.epsilon = '7';
SET dp_pg.setting_scope = transaction;
SHOW dp_pg.epsilon;
SET dp_pg.setting_scope = session;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
