-- A repeated text: the process keeps the plan, and changes between two runs
-- count as if it were planned anew.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_again
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
CREATE FUNCTION kept() RETURNS boolean LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS $$ SELECT count(*) > 0 FROM pg_backend_memory_contexts WHERE name = 'dp_pg kept plan' $$;
SET dp_pg.reuse = off;
SET ROLE :analyst;
SELECT * FROM spent() \g /dev/null
SELECT kept();
-- kept when it is asked the second time; each asking is charged
\set sums 'SELECT dp_sum(age), dp_count(*) FROM person WHERE age >= 50;'
:sums
SELECT kept();
:sums
SELECT kept();
:sums
:sums
SELECT * FROM spent();
-- a text of several statements
SELECT dp_count(*) FROM person WHERE age < 10\; SELECT dp_count(*) FROM person WHERE age < 20;
SELECT dp_count(*) FROM person WHERE age < 10\; SELECT dp_count(*) FROM person WHERE age < 20;
SELECT dp_count(*) FROM person WHERE age < 10\; SELECT dp_count(*) FROM person WHERE age < 20;
SELECT * FROM spent();
-- a declaration
RESET ROLE;
SET ROLE :owner;
SELECT dp_declare('person', 'age', lower => 0, upper => 60);
SET ROLE :analyst;
:sums
:sums
:sums
RESET ROLE;
SET ROLE :owner;
SELECT dp_declare('person', 'age', lower => 0, upper => 120);
SET ROLE :analyst;
:sums
:sums
-- the price, another text for error
SET dp_pg.epsilon = '50000';
:sums
SELECT * FROM spent();
SET dp_pg.epsilon = '100000';
-- settings that planning looks at: keys that nobody declared, and suppression
\set words 'SELECT income, dp_count(*) FROM person WHERE income < 1 GROUP BY income;'
SET dp_pg.delta = '1e-9';
:words
:words
:words
RESET dp_pg.delta;
:words
SET dp_pg.delta = '1e-9';
:words
RESET dp_pg.delta;
\set sized 'SELECT ward, dp_count(*) FROM person WHERE age < 0 GROUP BY ward;'
:sized
:sized
:sized
SET dp_pg.suppress = on;
:sized
RESET dp_pg.suppress;
:sized
-- another schema of the same text
RESET ROLE;
CREATE SCHEMA :test AUTHORIZATION :owner;
GRANT USAGE ON SCHEMA :test TO :analyst;
SET ROLE :owner;
CREATE TABLE :test.person (id int PRIMARY KEY, age int);
INSERT INTO :test.person VALUES (1, 70), (2, 80);
SELECT dp_protect(:'test' || '.person', dataset => :'schema');
SELECT dp_declare(:'test' || '.person', 'age', lower => 0, upper => 120);
SET ROLE :analyst;
:sums
:sums
SELECT set_config('search_path', :'test' || ',' || current_setting('search_path'), false) \g /dev/null
:sums
:sums
SELECT set_config('search_path', :'schema' || ', public', false) \g /dev/null
:sums
-- a function in SQL, whose body means what it means now
CREATE FUNCTION old() RETURNS SETOF int LANGUAGE sql STABLE AS 'SELECT age FROM person WHERE age >= 50';
CREATE FUNCTION early() RETURNS SETOF date LANGUAGE sql STABLE AS $$ SELECT born FROM person WHERE born < '02/03/2020' $$;
\set days 'SELECT dp_count(*) FROM ' :schema '.early();'
\set olds 'SELECT dp_count(*) FROM ' :schema '.old();'
:olds
:olds
:olds
:days
:days
:days
SELECT set_config('search_path', :'test' || ',' || current_setting('search_path'), false) \g /dev/null
:olds
SELECT set_config('search_path', :'schema' || ', public', false) \g /dev/null
:olds
SET datestyle = 'ISO, DMY';
:days
SET datestyle = 'ISO, MDY';
:days
-- what a transaction has changed and takes back
RESET ROLE;
CREATE FUNCTION declare_less() RETURNS void LANGUAGE sql SECURITY DEFINER AS $$ SELECT dp_declare('person', 'age', lower => 0, upper => 60) $$;
ALTER FUNCTION declare_less() OWNER TO :owner;
SET ROLE :analyst;
:sums
BEGIN;
:sums
SELECT declare_less();
:sums
:sums
ROLLBACK;
:sums
BEGIN;
SAVEPOINT s;
SELECT declare_less();
:sums
ROLLBACK TO s;
:sums
COMMIT;
-- rights on what is joined, and a view that becomes another one
RESET ROLE;
SET ROLE :owner;
CREATE VIEW old AS SELECT * FROM person WHERE age >= 90;
GRANT SELECT ON old TO :analyst;
SET ROLE :analyst;
\set viewed 'SELECT dp_count(*) FROM old;'
:viewed
:viewed
:viewed
RESET ROLE;
SET ROLE :owner;
CREATE OR REPLACE VIEW old AS SELECT * FROM person WHERE age >= 95;
SET ROLE :analyst;
:viewed
:viewed
:viewed
RESET ROLE;
SET ROLE :owner;
REVOKE SELECT ON old FROM :analyst;
SET ROLE :analyst;
:viewed
RESET ROLE;
SET ROLE :owner;
GRANT SELECT ON old TO :analyst;
SET ROLE :analyst;
:viewed
-- row security
RESET ROLE;
SET ROLE :owner;
ALTER TABLE person ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY half ON person USING (id <= 500);
SET ROLE :analyst;
:sums
:sums
:sums
RESET ROLE;
SET ROLE :owner;
DROP POLICY half ON person;
ALTER TABLE person DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY;
SET ROLE :analyst;
:sums
-- another role, and no budget any more
RESET ROLE;
CREATE ROLE regress_query_again_poor;
GRANT USAGE ON SCHEMA :schema TO regress_query_again_poor;
SET ROLE regress_query_again_poor;
:sums
SET ROLE :owner;
RESET ROLE;
SET ROLE :owner;
SELECT dp_revoke(:'analyst', :'schema');
SET ROLE :analyst;
:sums
RESET ROLE;
SET ROLE :owner;
SELECT dp_grant(:'analyst', dataset => :'schema', epsilon => 1e11, delta => 1e-6);
SET ROLE :analyst;
:sums
-- what planning tells is told each time
SET client_min_messages = notice;
\set error 'SELECT dp_error(dp_count(*)) IS NULL AS none FROM person WHERE age < 10;'
:error
:error
:error
SET client_min_messages = warning;
-- in a function, whose statements are texts, too
CREATE FUNCTION often(n int) RETURNS SETOF bigint LANGUAGE plpgsql AS $$
DECLARE
	r bigint;
BEGIN
	FOR i IN 1 .. n LOOP
		EXECUTE 'SELECT dp_count(*) FROM person WHERE age < 30' INTO r;
		RETURN NEXT r;
	END LOOP;
END $$;
SELECT * FROM spent() \g /dev/null
SELECT * FROM often(5);
SELECT * FROM spent();
-- no longer protected, and another table of the name
RESET ROLE;
REVOKE USAGE ON SCHEMA :schema FROM regress_query_again_poor;
DROP ROLE regress_query_again_poor;
SET ROLE :owner;
SELECT dp_unprotect('person');
SET ROLE :analyst;
:sums
RESET ROLE;
SET ROLE :owner;
DROP TABLE person CASCADE;
CREATE TABLE person (id int PRIMARY KEY, age int);
INSERT INTO person VALUES (1, 55);
SELECT dp_protect('person', dataset => :'schema');
SELECT dp_declare('person', 'age', lower => 0, upper => 120);
SET ROLE :analyst;
:sums
:sums
:sums
RESET ROLE;
SET ROLE :owner;
DROP SCHEMA :test CASCADE;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
