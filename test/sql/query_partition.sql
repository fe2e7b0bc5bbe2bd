-- Partitioned and inherited tables: queried as a whole with all parts, later
-- ones included; parts queried alone are protected likewise.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_partition
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
CREATE TABLE visit (id int NOT NULL, day date NOT NULL, ward text NOT NULL, cost int) PARTITION BY RANGE (day);
CREATE TABLE visit_1 PARTITION OF visit FOR VALUES FROM ('2020-01-01') TO ('2020-02-01');
CREATE TABLE visit_2 (ward text NOT NULL, cost int, gone int, id int NOT NULL, day date NOT NULL);
ALTER TABLE visit_2 DROP COLUMN gone;
ALTER TABLE visit ATTACH PARTITION visit_2 FOR VALUES FROM ('2020-02-01') TO ('2020-03-01');
CREATE TABLE visit_3 PARTITION OF visit FOR VALUES FROM ('2020-03-01') TO ('2020-04-01') PARTITION BY LIST (ward);
CREATE TABLE visit_3_a PARTITION OF visit_3 FOR VALUES IN ('A');
CREATE TABLE visit_3_b PARTITION OF visit_3 DEFAULT;
INSERT INTO visit SELECT i, date '2020-01-01' + i % 90, (ARRAY['A','B','C'])[1 + i % 3], i % 10 FROM generate_series(1, 900) i;
SELECT dp_protect('visit', dataset => :'schema', rows => 10000000);
SELECT dp_declare('visit', 'ward', keys => ARRAY['A','B','C']);
SELECT dp_declare('visit', 'cost', lower => 0, upper => 10);
SELECT dp_declare('visit', 'day', lower => date '2020-01-01', upper => date '2020-04-30');
CREATE TABLE animal (name text NOT NULL, weight int);
CREATE TABLE dog (breed text) INHERITS (animal);
CREATE TABLE puppy () INHERITS (dog);
INSERT INTO animal SELECT 'a', i FROM generate_series(1, 10) i;
INSERT INTO dog SELECT 'd', i, 'b' FROM generate_series(1, 20) i;
INSERT INTO puppy SELECT 'p', i, 'b' FROM generate_series(1, 30) i;
SELECT dp_protect('animal', dataset => :'schema', rows => 10000000);
SELECT dp_declare('animal', 'name', keys => ARRAY['p','d','a']);
SELECT dp_declare('animal', 'weight', lower => 0, upper => 100);
RESET ROLE;

SET ROLE :analyst;
SELECT * FROM spent() \g /dev/null
SELECT dp_count(*), dp_sum(cost), round(dp_avg(cost), 2) FROM visit;
SELECT ward, dp_count(*), dp_sum(cost) FROM visit GROUP BY ward;
SELECT date_trunc('month', day)::date m, dp_count(*) FROM visit GROUP BY date_trunc('month', day);
SELECT extract(month FROM day) m, dp_count(*) FROM visit WHERE ward = 'A' GROUP BY m HAVING dp_count(*) > 0;
SELECT dp_count(*) FROM visit WHERE day < '2020-01-11';
SELECT dp_count(*) FROM visit WHERE day >= '2021-01-01';
SELECT name, dp_count(*), dp_sum(weight) FROM animal GROUP BY name;
SELECT name, dp_count(*) FROM ONLY animal GROUP BY name;
SELECT * FROM spent();
-- plans that join, gather or prune parts in another way give the same
SET enable_partitionwise_aggregate = on;
SET enable_partition_pruning = off;
SELECT ward, dp_count(*), dp_sum(cost) FROM visit GROUP BY ward;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT ward, dp_count(*), dp_sum(cost), dp_avg(cost) FROM visit GROUP BY ward HAVING dp_count(*) > 0;
RESET enable_partitionwise_aggregate;
RESET enable_partition_pruning;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
-- a part alone: private too, never raw
SELECT * FROM outcome('SELECT * FROM visit_1');
SELECT * FROM outcome('SELECT count(*) FROM visit_3_a');
SELECT * FROM outcome('SELECT * FROM dog');
SELECT * FROM outcome('SELECT * FROM ONLY puppy');
SELECT * FROM outcome('SELECT tableoid, dp_count(*) FROM visit GROUP BY tableoid');
-- nor does a plan show them
CREATE FUNCTION plan(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY EXECUTE 'EXPLAIN (VERBOSE) ' || statement; END $$;
SELECT count(*) FILTER (WHERE p ~ 'visit_') FROM plan('SELECT dp_count(*) FROM visit') p;
-- later parts, without a new declaration
RESET ROLE;
SET ROLE :owner;
CREATE TABLE visit_4 PARTITION OF visit FOR VALUES FROM ('2020-04-01') TO ('2020-05-01');
INSERT INTO visit VALUES (901, '2020-04-15', 'A', 3);
CREATE TABLE cat () INHERITS (animal);
INSERT INTO cat VALUES ('a', 5);
SET ROLE :analyst;
SELECT dp_count(*), dp_sum(cost) FROM visit;
SELECT name, dp_count(*) FROM animal GROUP BY name;
SELECT * FROM outcome('SELECT * FROM visit_4');
SELECT * FROM outcome('SELECT * FROM cat');
RESET ROLE;
SET ROLE :owner;
ALTER TABLE visit DETACH PARTITION visit_1;
ALTER TABLE cat NO INHERIT animal;
SET ROLE :analyst;
SELECT dp_count(*) FROM visit;
SELECT name, dp_count(*) FROM animal GROUP BY name;
-- prepared before a part is attached
PREPARE ask AS SELECT dp_count(*) FROM visit;
SET plan_cache_mode = force_generic_plan;
EXECUTE ask;
RESET ROLE;
SET ROLE :owner;
ALTER TABLE visit ATTACH PARTITION visit_1 FOR VALUES FROM ('2020-01-01') TO ('2020-02-01');
SET ROLE :analyst;
EXECUTE ask;
RESET plan_cache_mode;
-- declared once at the root, read at the root
SELECT dp_sum(weight) FROM animal;

-- a part whose rows another server keeps: warned of, found, and read by no private query
RESET ROLE;
CREATE EXTENSION file_fdw;
CREATE SERVER regress_files FOREIGN DATA WRAPPER file_fdw;
CREATE FOREIGN TABLE visit_far PARTITION OF visit FOR VALUES FROM ('2031-01-01') TO ('2031-02-01')
	SERVER regress_files OPTIONS (filename '/nowhere');
CREATE FOREIGN TABLE cat_far () INHERITS (animal) SERVER regress_files OPTIONS (filename '/nowhere');
SELECT severity, replace(finding, :'schema', 's') AS finding, replace(remedy, :'schema', 's') AS remedy
FROM dp_audit() WHERE object ~ '_far' AND finding ~ 'foreign' ORDER BY object;
SET ROLE :analyst;
SELECT dp_count(*) FROM visit;
SELECT dp_count(*) FROM visit WHERE day < '2031-01-01';
SELECT dp_sum(weight) FROM animal;
RESET ROLE;
ALTER TABLE visit DETACH PARTITION visit_far;
ALTER FOREIGN TABLE cat_far NO INHERIT animal;
SET ROLE :analyst;
SELECT dp_count(*) FROM visit;
SELECT dp_sum(weight) FROM animal;
RESET ROLE;
DROP EXTENSION file_fdw CASCADE;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
