-- Sizes that an owner declares: of a relation (rows => ...) and of the parts
-- of an immutable column (public_sizes => true).  Who may declare them, how
-- they are stored, and that answers do not change.  t/attack_planner.pl tests
-- the plans.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test public_size
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
CREATE FUNCTION sizes(OUT relid text, OUT rows bigint) RETURNS SETOF record LANGUAGE sql
BEGIN ATOMIC SELECT relid::text, rows FROM dp_pg.relation WHERE dataset = 'regress_public_size' ORDER BY relid::text; END;
CREATE FUNCTION parts(OUT attname name, OUT immutable boolean, OUT public_sizes boolean) RETURNS SETOF record LANGUAGE sql
BEGIN ATOMIC SELECT attname, partition IS NOT NULL, public_sizes FROM dp_pg.attribute WHERE relid::text = 'place' ORDER BY 1; END;

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

-- ---- public sizes of parts ----
SET ROLE :owner;
CREATE TABLE place (id int PRIMARY KEY, ward text NOT NULL, kind varchar(5) COLLATE "C" NOT NULL, born date, n int NOT NULL);
CREATE INDEX ON place (ward);
CREATE INDEX ON place (kind) INCLUDE (n);
CREATE INDEX ON place (born);
INSERT INTO place SELECT i, 'w' || i % 15, 'k' || i % 12, date '2020-01-01' + i % 31, i % 100 FROM generate_series(1, 3000) i;
SELECT dp_protect('place', dataset => :'schema');
SELECT dp_declare('place', 'n', lower => 0, upper => 99);
SELECT dp_declare('place', 'ward', keys => array_agg('w' || i)) FROM generate_series(0, 13) i;
SELECT dp_declare('place', 'kind', keys => array_agg('k' || i)) FROM generate_series(0, 11) i;
SELECT dp_declare('place', 'born', lower => date '2020-01-01', upper => date '2020-01-31');
SELECT * FROM outcome('SELECT dp_declare(''place'', ''ward'', immutable => false, public_sizes => true)');
SELECT * FROM outcome('SELECT dp_declare(''place'', ''ward'', immutable => NULL, public_sizes => true)');
SET ROLE :analyst;
SELECT * FROM outcome('SELECT dp_declare(''place'', ''ward'', immutable => true, public_sizes => true)');
SET ROLE :owner;
SELECT dp_declare('place', 'ward', immutable => true);
SELECT * FROM parts();
-- what was said stays until another thing is said; parts stay what they are
SELECT partition AS before FROM dp_pg.attribute WHERE relid = 'place'::regclass AND attname = 'ward' \gset
SELECT dp_declare('place', 'ward', immutable => true, public_sizes => true);
SELECT dp_declare('place', 'ward', immutable => true);
SELECT * FROM parts();
SELECT partition = :before AS same FROM dp_pg.attribute WHERE relid = 'place'::regclass AND attname = 'ward';
SELECT dp_declare('place', 'ward', immutable => true, public_sizes => false);
SELECT * FROM parts();
SELECT dp_declare('place', 'ward', immutable => true, public_sizes => true);
SELECT dp_declare('place', 'kind', immutable => true, public_sizes => true);
SELECT dp_declare('place', 'born', immutable => true, public_sizes => true);
SELECT * FROM parts();
-- answers from an index: the rows that are there, for whom they are there
DELETE FROM place WHERE id IN (1, 16);
UPDATE place SET n = 0 WHERE id = 31;
SET ROLE :analyst;
SELECT dp_count(*), dp_sum(n) FROM place WHERE ward = 'w1';
SELECT dp_count(*) FROM place WHERE ward = 'w1' AND n = 0;
SELECT dp_count(*) FROM place WHERE 'w1' = ward AND ward > 'w' AND ward IN ('w1', 'w2') AND ward IS NOT NULL;
SELECT dp_count(*) FROM place WHERE ward = 'w1' AND ward = 'w2';
SELECT dp_count(*) FROM place WHERE ward = 'w1' AND ward > 'w1';
SELECT dp_count(*) FROM place WHERE ward = 'w14';
SELECT dp_count(*) FROM place WHERE ward = 'w1' AND kind = 'k1';
SELECT dp_count(*), dp_median(n) FROM place WHERE kind = 'k3';
SELECT dp_count(*) FROM place WHERE kind = 'k3'::varchar(2);
SELECT dp_count(*) FROM place WHERE born = '2020-01-05';
SELECT dp_count(*) FROM place WHERE born = '2020-02-05';
SELECT dp_count(*) FROM place WHERE born = NULL;
PREPARE one AS SELECT dp_count(*) FROM place WHERE born = $1;
EXECUTE one('2020-01-05');
SET plan_cache_mode = force_generic_plan;
EXECUTE one('2020-01-05');
EXECUTE one('2021-01-05');
EXECUTE one(NULL);
RESET plan_cache_mode;
SELECT ward, dp_count(*) FROM place WHERE ward = 'w1' GROUP BY ward HAVING dp_count(*) <> 0;
SELECT n, dp_count(DISTINCT kind) FROM place WHERE ward = 'w1' GROUP BY n HAVING dp_count(DISTINCT kind) <> 0 ORDER BY n;
SELECT dp_argmax('place', ARRAY['ward = ''w1''', 'ward = ''w14''']);
-- seen by a transaction of its own
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT dp_count(*) FROM place WHERE ward = 'w2';
COMMIT;
-- the owner reads in his own process
SET ROLE :owner;
BEGIN;
INSERT INTO place VALUES (5000, 'w2', 'k2', '2020-01-02', 5);
SELECT dp_count(*) FROM place WHERE ward = 'w2';
ROLLBACK;
-- other values, and another unit, make other parts, of which nothing was said
SELECT dp_declare('place', 'ward', keys => array_agg('w' || i)) FROM generate_series(0, 13) i;
SELECT dp_declare('place', 'born', lower => date '2020-01-01', upper => date '2020-02-28');
SELECT * FROM parts();
SELECT dp_declare('place', 'ward', keys => array_agg('w' || i)) FROM generate_series(0, 14) i;
SELECT * FROM parts();
SELECT dp_declare('place', 'kind', immutable => false);
SELECT dp_declare('place', 'ward', immutable => true, public_sizes => true);
SELECT * FROM parts();
SELECT dp_protect('place', unit => 'id');
SELECT * FROM parts();
RESET ROLE;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
