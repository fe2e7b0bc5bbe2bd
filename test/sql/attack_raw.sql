-- Raw rows of a protected table, by every kind of statement an analyst has.
-- Each must end in 42501 (or not see a thing); none is charged.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test attack_raw
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
ANALYZE person;
RESET ROLE;
SET ROLE :analyst;
SELECT * FROM spent() \g /dev/null
CREATE TEMP TABLE own (x int);
INSERT INTO own VALUES (1), (2);
-- reading
SELECT * FROM person;
SELECT 1 FROM person;
SELECT FROM person;
SELECT count(*) FROM person;
SELECT person FROM person;
SELECT ctid FROM person;
SELECT tableoid FROM person LIMIT 0;
TABLE person;
SELECT * FROM ONLY person;
SELECT * FROM person TABLESAMPLE SYSTEM (1);
SELECT * FROM person FOR UPDATE;
SELECT * FROM person FOR KEY SHARE SKIP LOCKED;
SELECT 1 WHERE EXISTS (SELECT FROM person WHERE id = 1);
SELECT (SELECT max(age) FROM person);
SELECT x FROM own WHERE x IN (SELECT id FROM person);
SELECT o.x FROM own o LEFT JOIN person p ON p.id = o.x;
SELECT o.x FROM own o, LATERAL (SELECT FROM person p WHERE p.id = o.x) s;
WITH w AS MATERIALIZED (SELECT * FROM person) SELECT count(*) FROM w;
WITH RECURSIVE w AS (SELECT id FROM person UNION SELECT id FROM w)
SELECT count(*) FROM w;
SELECT 1 UNION ALL SELECT id FROM person;
SELECT income FROM person GROUP BY income;
SELECT dp_count(*) FROM person UNION ALL SELECT age FROM person;
SELECT (SELECT count(*) FROM person), dp_count(*) FROM person;
SELECT dp_count(*) FROM person WHERE age > (SELECT min(age) FROM person);
SELECT dp_count(*) FROM person HAVING dp_count(*) > (SELECT count(*) FROM person);
SELECT dp_count(*) FROM person ORDER BY (SELECT min(age) FROM person);
WITH w AS (SELECT * FROM person) SELECT (SELECT dp_count(*) FROM w), id FROM w;
EXPLAIN SELECT * FROM person;
EXPLAIN (ANALYZE, VERBOSE) SELECT * FROM person;
-- COPY
COPY person TO STDOUT;
COPY person (id) TO STDOUT;
COPY (SELECT * FROM person) TO STDOUT;
COPY (TABLE person) TO STDOUT (FORMAT binary);
COPY person TO PROGRAM 'cat';
COPY person FROM PROGRAM 'true';
-- writing
INSERT INTO person (id, ward, sex, born) VALUES (1, 'A', true, '2020-01-01');
INSERT INTO person (id, ward, sex, born) VALUES (1, 'A', true, '2020-01-01')
ON CONFLICT (id) DO UPDATE SET age = 1 RETURNING *;
UPDATE person SET age = age RETURNING *;
UPDATE person SET age = 1 WHERE false;
DELETE FROM person RETURNING *;
DELETE FROM person WHERE id = 1 AND false;
TRUNCATE person;
MERGE INTO person p USING own o ON p.id = o.x WHEN MATCHED THEN DO NOTHING;
MERGE INTO own o USING person p ON p.id = o.x
WHEN MATCHED THEN UPDATE SET x = p.age;
INSERT INTO own SELECT id FROM person;
INSERT INTO own VALUES (1) RETURNING (SELECT max(id) FROM person);
UPDATE own SET x = p.age FROM person p WHERE p.id = own.x;
DELETE FROM own USING person p WHERE p.id = own.x RETURNING p.*;
CREATE TABLE stolen AS SELECT * FROM person;
CREATE TABLE stolen AS SELECT * FROM person WITH NO DATA;
SELECT * INTO stolen2 FROM person;
-- objects that read for somebody
CREATE VIEW raw AS SELECT * FROM person;
SELECT * FROM raw;
UPDATE raw SET age = 1 RETURNING *;
CREATE VIEW raw_invoker WITH (security_invoker = true, security_barrier = true)
AS SELECT * FROM person;
SELECT * FROM raw_invoker;
CREATE MATERIALIZED VIEW raw_copy AS SELECT * FROM person;
CREATE MATERIALIZED VIEW raw_copy AS SELECT * FROM person WITH NO DATA;
REFRESH MATERIALIZED VIEW raw_copy;
CREATE RULE read AS ON INSERT TO own DO ALSO SELECT * FROM person;
INSERT INTO own VALUES (3);
DROP RULE read ON own;
CREATE FUNCTION read_sql() RETURNS SETOF person LANGUAGE sql
AS 'SELECT * FROM person';
SELECT * FROM read_sql();
CREATE FUNCTION read_definer() RETURNS bigint LANGUAGE sql SECURITY DEFINER
AS 'SELECT count(*) FROM person';
SELECT read_definer();
CREATE FUNCTION read_trigger() RETURNS trigger LANGUAGE plpgsql
AS 'BEGIN PERFORM * FROM person; RETURN NEW; END';
CREATE TRIGGER read BEFORE INSERT ON own FOR EACH ROW
EXECUTE FUNCTION read_trigger();
INSERT INTO own VALUES (3);
DROP TRIGGER read ON own;
DO $$ DECLARE r record; BEGIN FOR r IN SELECT * FROM person LOOP NULL; END LOOP; END $$;
PREPARE raw AS SELECT * FROM person;
EXECUTE raw;
BEGIN;
DECLARE raw CURSOR FOR SELECT * FROM person;
ROLLBACK;
CREATE TABLE child () INHERITS (person);
CREATE TABLE shape (LIKE person INCLUDING ALL);
CREATE TABLE key (x int REFERENCES person);
CREATE TABLE part PARTITION OF person DEFAULT;
CREATE TRIGGER spy BEFORE INSERT ON person FOR EACH ROW
EXECUTE FUNCTION read_trigger();
CREATE RULE spy AS ON INSERT TO person DO ALSO SELECT 1;
CREATE POLICY spy ON person USING (true);
CREATE INDEX ON person (age);
CREATE STATISTICS spy ON age, ward FROM person;
ALTER TABLE person ADD CHECK (age > 50) NOT VALID;
ALTER TABLE person ALTER age SET STATISTICS 10000;
ALTER TABLE person OWNER TO :analyst;
ALTER TABLE own INHERIT person;
GRANT SELECT ON person TO :analyst;
COMMENT ON TABLE person IS 'mine';
BEGIN;
LOCK TABLE person IN ACCESS SHARE MODE;
ROLLBACK;
CLUSTER person USING person_pkey;
REINDEX TABLE person;
-- functions that read tables
SELECT query_to_xml('SELECT * FROM person', true, false, '');
SELECT table_to_xml('person', true, false, '');
SELECT ts_stat('SELECT to_tsvector(ward) FROM person');
SELECT ts_rewrite('a'::tsquery, 'SELECT ward::tsquery, ward::tsquery FROM person');
SELECT currtid2('person', '(0,1)');
SELECT pg_get_viewdef('person'::regclass);
SELECT pg_read_file('PG_VERSION');
-- statistics
SELECT count(*) FROM pg_stats WHERE tablename = 'person';
SELECT count(*) FROM pg_stats_ext WHERE tablename = 'person';
SELECT 1 FROM pg_statistic;
SELECT has_table_privilege('person', 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER'),
	has_any_column_privilege('person', 'SELECT, UPDATE, REFERENCES');
-- the catalog of the extension
UPDATE dp_pg.budget SET epsilon = 1e9;
DELETE FROM dp_pg.ledger;
INSERT INTO dp_pg.relation (relid, dataset) VALUES ('own', 'x');
SELECT * FROM dp_pg.budget FOR UPDATE;
SELECT nextval('dp_pg.ledger_id_seq');
SELECT setval('dp_pg.ledger_id_seq', 1);
TRUNCATE dp_pg.ledger;
CREATE TRIGGER spy BEFORE INSERT ON dp_pg.ledger FOR EACH ROW
EXECUTE FUNCTION read_trigger();
CREATE FUNCTION dp_pg.spy() RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE TABLE dp_pg.spy (x int);
SELECT charges FROM spent();

DROP TABLE own;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
