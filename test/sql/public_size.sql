-- What an owner says publicly of the size of a relation (rows => ...).  Who may
-- say it, how it is kept, and that answers are the same with it.  Which plans
-- follow is tested in t/attack_planner.pl.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test public_size
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
CREATE FUNCTION sizes(OUT relid text, OUT rows bigint) RETURNS SETOF record LANGUAGE sql
BEGIN ATOMIC SELECT relid::text, rows FROM dp_pg.relation WHERE dataset = 'regress_public_size' ORDER BY relid::text; END;

-- ---- the size class ----
SET ROLE :analyst;
SELECT * FROM outcome('SELECT dp_declare(''person'', rows => 1000)');
SELECT * FROM sizes();
SET ROLE :owner;
CREATE TABLE bare (i int);
SELECT * FROM outcome('SELECT dp_declare(''bare'', rows => 1000)');
SELECT * FROM outcome('SELECT dp_declare(NULL, rows => 1000)');
SELECT * FROM outcome('SELECT dp_declare(''person'', rows => -1)');
SELECT * FROM outcome('SELECT dp_protect(''bare'', rows => -1)');
BEGIN READ ONLY;
SELECT dp_declare('person', rows => 1000);
ROLLBACK;
-- a power of ten, the nearest by ratio: count(*) is not published
CREATE FUNCTION kept(said bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	PERFORM dp_declare('person', rows => said);
	RETURN (SELECT rows FROM sizes() WHERE relid = 'person');
END $$;
SELECT said, kept(said) FROM unnest('{0,1,3,4,31,32,1234567,3162277,3162278,999999999999999999,9223372036854775807}'::bigint[]) said;
SELECT dp_declare('person', rows => (SELECT count(*) FROM person));
SELECT * FROM sizes();
-- dp_protect keeps it unless it says another; dp_unprotect forgets it
SELECT dp_protect('person');
SELECT * FROM sizes();
SELECT dp_protect('person', rows => 20000);
SELECT * FROM sizes();
SELECT dp_declare('person', rows => NULL);
SELECT * FROM sizes();
SELECT dp_protect('bare', dataset => :'schema', rows => 70);
SELECT * FROM sizes();
SELECT dp_unprotect('bare');
SELECT dp_protect('bare', dataset => :'schema');
SELECT * FROM sizes();
-- the owner of a large table is told what he may say, and nothing is said for
-- him; here a table is large that has a page
INSERT INTO bare VALUES (1);
DELETE FROM bare;
SET client_min_messages = notice;
\set VERBOSITY terse
SET min_parallel_table_scan_size = 1;
SELECT dp_protect('bare');
TRUNCATE bare;
SELECT dp_protect('bare');
INSERT INTO bare SELECT generate_series(1, 300);
ANALYZE bare;
SELECT dp_protect('bare');
SELECT * FROM sizes();
-- and nobody else, whoever protects it for him
CREATE FUNCTION protect() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = regress_public_size, public AS $$ BEGIN PERFORM dp_protect('bare'); END $$;
SET ROLE :analyst;
SELECT protect();
SET ROLE :owner;
SELECT protect();
SELECT dp_protect('bare', rows => 100);
CREATE TABLE divided (i int) PARTITION BY RANGE (i);
CREATE TABLE divided_1 PARTITION OF divided FOR VALUES FROM (0) TO (10);
SELECT dp_protect('divided', dataset => :'schema');
INSERT INTO divided VALUES (5);
SELECT dp_protect('divided');
RESET min_parallel_table_scan_size;
\set VERBOSITY sqlstate
SET client_min_messages = warning;
-- with workers the numbers are the same, however many rows there are
SELECT dp_declare('person', rows => 1000000000);
SET ROLE :analyst;
SELECT dp_count(*), dp_sum(age), dp_avg(age), dp_count(DISTINCT age) FROM person;
SELECT sex, dp_count(*), dp_sum(age) FROM person GROUP BY sex;
SELECT dp_count(*) FROM person WHERE age > 1000;

RESET ROLE;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
