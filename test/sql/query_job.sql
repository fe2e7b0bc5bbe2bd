-- The request of a plan to a reader and to the ledger is kept for its next
-- run, which then reads no row of dp_pg's tables.  All changes in between
-- count, and every run is charged.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_job
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
SET dp_pg.reuse = off;
-- looks into the dataset's table, of this process and transaction
CREATE FUNCTION looks() RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS $$ SELECT sum(pg_stat_get_xact_numscans(indexrelid))::bigint FROM pg_index WHERE indrelid = 'dp_pg.dataset'::regclass $$;
-- asks until it takes none, or says false after five minutes (while autovacuum writes, for one, it takes some); which charge is the last one's
CREATE FUNCTION again(statement text, most int DEFAULT 6000, OUT answer text, OUT kept boolean, OUT paid boolean, OUT told boolean) LANGUAGE plpgsql AS $$
DECLARE
	before bigint;
	asked int := 0;
BEGIN
	PERFORM spent();
	LOOP
		before := looks();
		EXECUTE statement INTO answer;
		asked := asked + 1;
		kept := looks() = before;
		EXIT WHEN kept OR asked = most;
		PERFORM pg_sleep(0.05) WHERE asked > 20;
	END LOOP;
	told := (SELECT max(ledger_id) FROM dp_last_release()) = last_line();
	paid := (SELECT charges FROM spent()) = asked;
END $$;
CREATE FUNCTION last_line() RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS $$ SELECT max(id) FROM dp_pg.ledger WHERE dataset = current_setting('regress.dataset') $$;
SET ROLE :analyst;
\set count 'SELECT dp_count(*) FROM person WHERE age >= 50'
\set query 'SELECT dp_sum(age), dp_count(*) FROM person WHERE age >= 50 GROUP BY ward'
\set seen 'SELECT dp_count(*) FROM person WHERE seen < timestamptz ''2020-01-11 01:00+01'' AND seen::date = date ''2020-01-10'''
SELECT * FROM again(:'count');
PREPARE groups AS :query;
SELECT * FROM again('EXECUTE groups');
EXECUTE groups;
-- not of a text whose plan does more than that
SELECT * FROM again('SELECT max(a) FROM (' || :'count' || ') q(a)', 5);
-- prepared
PREPARE p AS SELECT dp_avg(age) FROM person WHERE sex;
SELECT * FROM again('EXECUTE p');
-- rows
RESET ROLE;
SET ROLE :owner;
DELETE FROM person WHERE age = 99;
SET ROLE :analyst;
SELECT * FROM again(:'count');
-- settings; where the meaning depends on one, nothing is kept
SELECT * FROM again(:'seen', 5);
SET timezone = 'Asia/Tokyo';
SELECT * FROM outcome(:'seen');
SELECT * FROM again(:'seen', 5);
SET timezone = 'UTC';
SELECT * FROM again(:'seen', 5);
SET dp_pg.epsilon = '50000';
SELECT spent() \g /dev/null
:count;
SELECT * FROM spent();
SELECT * FROM again(:'count');
SET dp_pg.epsilon = '100000';
SELECT * FROM again(:'count');
SELECT * FROM again('EXECUTE groups');
RESET ROLE;
SET dp_pg.max_groups = 2;
SET ROLE :analyst;
SELECT * FROM outcome('EXECUTE groups');
RESET ROLE;
RESET dp_pg.max_groups;
SET ROLE :analyst;
SELECT * FROM again('EXECUTE groups');
SELECT * FROM again(:'count');
SET dp_pg.mechanism = 'gaussian';
SELECT * FROM outcome(:'count');
RESET dp_pg.mechanism;
SET max_parallel_workers_per_gather = 0;
SELECT * FROM outcome('EXECUTE groups');
SELECT * FROM again('EXECUTE groups');
RESET max_parallel_workers_per_gather;
SET dp_pg.reuse = '1 hour';
SELECT * FROM outcome(:'count');
SELECT * FROM outcome(:'count');
SET dp_pg.reuse = off;
SELECT * FROM again(:'count');
-- what is never kept: who is exempt, stored answers, transactions that have written or keep a snapshot, parameters
RESET ROLE;
SET ROLE :owner;
SELECT kept FROM again(:'count', 5);
SET ROLE :analyst;
CREATE TABLE own (i int);
SELECT * FROM again(:'count');
BEGIN;
INSERT INTO own VALUES (1);
SELECT kept FROM again(:'count', 5);
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT kept FROM again(:'count', 5);
COMMIT;
PREPARE above(int) AS SELECT dp_count(*) FROM person WHERE age > $1;
SELECT kept FROM again('EXECUTE above(50)', 5);
EXECUTE above(10);
SELECT * FROM again(:'count');
-- EXPLAIN looks for itself
BEGIN;
SELECT looks() AS before \gset
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) :count \g /dev/null
SELECT looks() > :before AS looked;
COMMIT;
-- an owner's limits, and those that no message tells of
SELECT * FROM again(:'count');
RESET ROLE;
UPDATE dp_pg.dataset SET epsilon_ceiling = 10 WHERE name = :'schema';
SET ROLE :analyst;
SELECT * FROM outcome(:'count');
RESET ROLE;
UPDATE dp_pg.dataset SET epsilon_ceiling = NULL WHERE name = :'schema';
SET ROLE :analyst;
SELECT * FROM again(:'count');
RESET ROLE;
SET ROLE :owner;
SELECT dp_limit(dataset => :'schema', epsilon => 1e11, epsilon_ceiling => 10);
SET ROLE :analyst;
SELECT * FROM outcome(:'count');
RESET ROLE;
SET ROLE :owner;
SELECT dp_unlimit(:'schema');
SET ROLE :analyst;
SELECT * FROM again(:'count');
-- neighbours: the price of a sum is another one
\set total 'SELECT dp_sum(age) FROM person'
PREPARE bounded AS SELECT dp_sum(age, -20, 120) FROM person;
SELECT * FROM again('EXECUTE bounded');
EXECUTE bounded;
SELECT sensitivity FROM dp_last_release();
RESET ROLE;
UPDATE dp_pg.dataset SET neighbours = 'replace_one' WHERE name = :'schema';
SET ROLE :analyst;
SELECT * FROM again('EXECUTE bounded');
EXECUTE bounded;
SELECT sensitivity FROM dp_last_release();
RESET ROLE;
UPDATE dp_pg.dataset SET neighbours = 'add_remove' WHERE name = :'schema';
SET ROLE :owner;
-- a budget that is used up by others' charges and by these
SELECT dp_grant(:'analyst', dataset => :'schema', epsilon => (SELECT total_epsilon FROM dp_pg.budget WHERE role_name = :'analyst') + 40 * 100000, filter => 'basic');
SET ROLE :analyst;
CREATE FUNCTION exhaust(statement text, OUT asked bigint, OUT state text, OUT paid boolean) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM spent();
	asked := 0;
	BEGIN
		WHILE asked < 100 LOOP
			EXECUTE statement;
			asked := asked + 1;
		END LOOP;
	EXCEPTION WHEN OTHERS THEN
		state := SQLSTATE;
	END;
	paid := (SELECT charges FROM spent()) = asked;
END $$;
SELECT * FROM exhaust(:'count');
RESET ROLE;
SET ROLE :owner;
SELECT dp_grant(:'analyst', dataset => :'schema', epsilon => 1e11, delta => 1e-6);
SET ROLE :analyst;
SELECT * FROM again(:'count');
-- who asks
RESET ROLE;
CREATE ROLE regress_query_job_other;
GRANT USAGE ON SCHEMA :schema TO regress_query_job_other;
SET ROLE :analyst;
SELECT * FROM again(:'count');
RESET ROLE;
SET ROLE regress_query_job_other;
SELECT * FROM outcome(:'count');
RESET ROLE;
SET ROLE :analyst;
SELECT * FROM again(:'count');
RESET ROLE;
SET ROLE :owner;
SELECT dp_grant('regress_query_job_other', dataset => :'schema', epsilon => 1e11);
SET ROLE :analyst;
SELECT * FROM again(:'count');
RESET ROLE;
SET ROLE regress_query_job_other;
SELECT * FROM again(:'count');
RESET ROLE;
SELECT DISTINCT payer FROM (SELECT payer FROM dp_pg.ledger WHERE dataset = :'schema' ORDER BY id DESC LIMIT 1) l;
SET ROLE :analyst;
SELECT * FROM again(:'count');
RESET ROLE;
SET ROLE :owner;
SELECT dp_revoke(:'analyst', :'schema');
SET ROLE :analyst;
SELECT * FROM outcome(:'count');
RESET ROLE;
SET ROLE :owner;
SELECT dp_grant(:'analyst', dataset => :'schema', epsilon => 1e11, delta => 1e-6);
SET ROLE :analyst;
-- what is declared, and taken back by a rollback
SELECT * FROM again(:'total');
RESET ROLE;
SET ROLE :owner;
SELECT dp_declare('person', 'age', lower => 0, upper => 10);
SET ROLE :analyst;
SELECT * FROM again(:'total');
RESET ROLE;
SET ROLE :owner;
SELECT dp_declare('person', 'age', lower => 0, upper => 120);
BEGIN;
SELECT dp_declare('person', 'age', lower => 0, upper => 10);
SET LOCAL ROLE :analyst;
SELECT answer, kept FROM again(:'total', 5);
ROLLBACK;
SET ROLE :analyst;
SELECT * FROM again(:'total');
-- a cursor that is begun with a job, and run by somebody else or after a change
RESET ROLE;
SET ROLE :analyst;
SELECT * FROM again(:'count');
BEGIN;
DECLARE c CURSOR FOR SELECT dp_count(*) FROM person WHERE age >= 50;
SET LOCAL dp_pg.epsilon = '50000';
SELECT spent() \g /dev/null
FETCH c;
SELECT * FROM spent();
COMMIT;
RESET ROLE;
BEGIN;
SET LOCAL ROLE :analyst;
DECLARE c CURSOR FOR SELECT dp_count(*) FROM person WHERE age >= 50;
RESET ROLE;
UPDATE dp_pg.dataset SET epsilon_floor = 200000 WHERE name = :'schema';
SET LOCAL ROLE :analyst;
FETCH c;
ROLLBACK;
DROP OWNED BY regress_query_job_other;
DROP ROLE regress_query_job_other;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
