-- dp_publish_twin: released synthetic rows that previews show.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test twin
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
CREATE ROLE regress_twin_later;
CREATE ROLE regress_twin_nobody;
GRANT USAGE ON SCHEMA :schema TO regress_twin_later, regress_twin_nobody;
SET client_min_messages = warning;
SET dp_pg.delta = '1e-9';
SET ROLE :owner;
CREATE VIEW people WITH (security_invoker) AS SELECT ward, age, sex FROM person;
GRANT SELECT ON people TO :analyst, regress_twin_nobody;
SELECT * FROM spent() \g /dev/null
-- before there is one
SET ROLE :analyst;
SET dp_pg.transparent = on;
SELECT * FROM person LIMIT 3;
SET dp_pg.transparent = off;

-- what is refused costs nothing and leaves nothing
SELECT dp_publish_twin('person', 'person_twin', ARRAY['ward', 'sex']);
SET ROLE :owner;
SELECT dp_publish_twin('people', 'person_twin', ARRAY['ward', 'sex']);
SELECT dp_publish_twin(NULL, 'person_twin', ARRAY['ward', 'sex']);
SELECT dp_publish_twin('person', NULL, ARRAY['ward', 'sex']);
SELECT dp_publish_twin('person', 'person_twin', NULL);
SELECT dp_publish_twin('person', 'person_twin', ARRAY['ward', 'none']);
SELECT dp_publish_twin('person', 'person_twin', ARRAY['ward', NULL]);
SELECT dp_publish_twin('person', 'person_twin', ARRAY['ward', 'income']);
SELECT dp_publish_twin('person', 'person', ARRAY['ward', 'sex']);
SELECT dp_publish_twin('person', 'a.b.c', ARRAY['ward', 'sex']);
SELECT dp_publish_twin('person', 'nowhere.twin', ARRAY['ward', 'sex']);
SELECT dp_publish_twin('person', 'pg_catalog.twin', ARRAY['ward', 'sex']);
SELECT dp_publish_twin('person', 'pg_temp.twin', ARRAY['ward', 'sex']);
SELECT dp_publish_twin('person', 'person_twin', ARRAY['ward', 'sex'], method => 'none');
SELECT dp_publish_twin('person', 'person_twin', ARRAY['ward', 'sex'], epsilon => -1);
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT dp_publish_twin('person', 'person_twin', ARRAY['ward', 'sex']);
ROLLBACK;
BEGIN READ ONLY;
SELECT dp_publish_twin('person', 'person_twin', ARRAY['ward', 'sex']);
ROLLBACK;
CREATE DOMAIN filled AS int CHECK (VALUE IS NOT NULL);
CREATE TABLE strict (id int PRIMARY KEY, sex boolean NOT NULL, n filled);
INSERT INTO strict SELECT i, true, 1 FROM generate_series(1, 100) i;
SELECT dp_protect('strict', dataset => :'schema') \g /dev/null
SELECT dp_publish_twin('strict', 'strict_twin', ARRAY['sex']);
SELECT to_regclass('person_twin') IS NULL AND to_regclass('strict_twin') IS NULL AS nothing;
SELECT * FROM spent();

-- one charge, as dp_synthesize's
SELECT dp_publish_twin('person', 'person_twin', ARRAY['sex', 'ward', 'age'], epsilon => 1000, bins => ARRAY[0, 0, 4], n => 1000);
SELECT * FROM spent();
SELECT mechanism, relation, columns, delivered FROM dp_pg.releases ORDER BY id DESC LIMIT 1;
SELECT twin FROM dp_pg.relation WHERE relid = 'person'::regclass;
SELECT dp_publish_twin('person', 'other_twin', ARRAY['sex']);
SELECT count(*) BETWEEN 900 AND 1100 AS rows, count(id) + count(income) + count(score) + count(feel) + count(born) + count(seen) AS others,
	count(DISTINCT ward), bool_and(ward <> 'X') AS public, abs(count(*) FILTER (WHERE sex) - 500) < 30 AS halves FROM person_twin;
SELECT count(*), bool_and((a.attname, a.atttypid, a.atttypmod, a.attcollation) = (b.attname, b.atttypid, b.atttypmod, b.attcollation)) AS same
FROM pg_attribute a JOIN pg_attribute b USING (attnum) WHERE a.attrelid = 'person'::regclass AND b.attrelid = 'person_twin'::regclass AND attnum > 0;
-- those with a budget may read it, those without may not, later ones come
SELECT r, has_table_privilege(r, 'person_twin', 'SELECT') AS reads, has_table_privilege(r, 'person_twin', 'INSERT, UPDATE, DELETE, TRUNCATE') AS writes
FROM unnest(ARRAY[:'analyst', 'regress_twin_later', 'regress_twin_nobody']) r;
SELECT dp_grant('regress_twin_later', dataset => :'schema', epsilon => 1) \g /dev/null
SELECT has_table_privilege('regress_twin_later', 'person_twin', 'SELECT') AS granted;
SELECT dp_revoke('regress_twin_later', :'schema') \g /dev/null
SELECT has_table_privilege('regress_twin_later', 'person_twin', 'SELECT') AS granted;
-- any SQL, for nothing
SET ROLE :analyst;
SELECT sex, count(*) > 400 AS many, min(age) >= 0 AS inside FROM person_twin GROUP BY sex ORDER BY sex;
SELECT * FROM spent();

-- previews
SET dp_pg.transparent = on;
SELECT sex IS NULL AS no_sex, ward IN ('A', 'B', 'C', 'E', 'other') AS ward, age BETWEEN 0 AND 120 AS age, id, income, score, feel, born, seen FROM person LIMIT 2;
\pset format unaligned
SELECT * FROM person WHERE ward = 'none' LIMIT 2;
SELECT * FROM person WHERE ward = 'A' AND age < 0 ORDER BY age DESC, ward FETCH NEXT 5 ROWS ONLY;
\pset format aligned
SELECT ward FROM people WHERE ward = 'A' ORDER BY ward LIMIT 2;
SELECT w FROM (SELECT ward || '!' AS w, age FROM (SELECT * FROM people LIMIT 100000) q) r WHERE w = 'A!' LIMIT 1;
SELECT 1 AS n FROM person WHERE ward = 'A' LIMIT 1;
EXPLAIN (COSTS OFF) SELECT id, ward FROM person WHERE age > 5 LIMIT 3;
BEGIN;
DECLARE c CURSOR FOR SELECT ward FROM person WHERE ward = 'B' LIMIT 2;
FETCH ALL c;
COMMIT;
-- the notice says what they are
SET client_min_messages = notice;
\set VERBOSITY default
SELECT ward FROM person WHERE ward = 'A' LIMIT 1;
\set VERBOSITY sqlstate
SET client_min_messages = warning;
-- no preview: whole rows, what is not the twin's, statements that are none
SELECT p FROM person p LIMIT 1;
SELECT ctid FROM person LIMIT 1;
SELECT tableoid, ward FROM person LIMIT 1;
SELECT * FROM person TABLESAMPLE SYSTEM (100) LIMIT 1;
SELECT ward FROM person;
PREPARE shown AS SELECT ward FROM person LIMIT 1;
EXECUTE shown;
SELECT * FROM outcome('SELECT ward FROM person LIMIT 1');
CREATE TABLE taken AS SELECT ward FROM person LIMIT 1;
COPY (SELECT ward FROM person LIMIT 1) TO STDOUT;
SELECT ward FROM person LIMIT 1 FOR UPDATE;
SELECT (SELECT ward FROM person LIMIT 1);
SELECT a.ward FROM person a JOIN person b USING (id) LIMIT 1;
-- aggregates are private as ever, and not the twin's
SET dp_pg.epsilon = '100000';
SELECT count(*) FROM person;
SELECT count(*) FROM person WHERE income > 40;
SELECT * FROM spent() \g /dev/null
-- who may not read the twin sees no row
SET ROLE regress_twin_nobody;
SELECT ward FROM people LIMIT 1;
SELECT ward FROM person_twin LIMIT 1;
SET ROLE :owner;
REVOKE SELECT ON person_twin FROM :analyst;
GRANT SELECT (ward) ON person_twin TO :analyst;
SET ROLE :analyst;
SELECT ward FROM person LIMIT 1;
SET ROLE :owner;
GRANT SELECT ON person_twin TO :analyst;
-- row security decides by itself: nothing is shown
ALTER TABLE person_twin ENABLE ROW LEVEL SECURITY;
SET ROLE :analyst;
SELECT ward FROM person LIMIT 1;
SET ROLE :owner;
ALTER TABLE person_twin DISABLE ROW LEVEL SECURITY;
-- a preview shows what was released, not what was put under the twin since; who reads the twin would read that
ALTER TABLE person INHERIT person_twin;
SET ROLE :analyst;
SELECT id FROM person WHERE id IS NOT NULL LIMIT 1;
SELECT ward IS NOT NULL AS ward FROM person LIMIT 1;
SET ROLE :owner;
ALTER TABLE person NO INHERIT person_twin;
-- nor what is routed into a twin that became a part of the relation
CREATE TABLE parted (id int, ward text) PARTITION BY LIST (ward);
CREATE TABLE parted_a PARTITION OF parted FOR VALUES IN ('A');
INSERT INTO parted SELECT i, 'A' FROM generate_series(1, 100) i;
SELECT dp_protect('parted', dataset => :'schema') \g /dev/null
SELECT dp_declare('parted', 'ward', keys => ARRAY['A', 'B']) \g /dev/null
SELECT dp_publish_twin('parted', 'parted_twin', ARRAY['ward'], ARRAY['ward'], epsilon => 1000::float8, rows => 50);
DELETE FROM parted_twin;
ALTER TABLE parted ATTACH PARTITION parted_twin FOR VALUES IN ('B');
INSERT INTO parted VALUES (101, 'B');
SET ROLE :analyst;
SELECT id FROM parted LIMIT 1;
-- nobody is granted it any more, and dp_unprotect leaves it
SET ROLE :owner;
SELECT dp_grant('regress_twin_nobody', :'schema', epsilon => 1);
SELECT has_table_privilege('regress_twin_nobody', 'parted_twin', 'SELECT') AS granted;
SELECT dp_revoke('regress_twin_nobody', :'schema') \g /dev/null
SELECT dp_unprotect('parted');
SELECT count(*) FROM parted_twin;
DROP TABLE parted;
-- columns that differ: names and types are the relation's
DROP VIEW people;
ALTER TABLE person ADD COLUMN more numeric(5,2) DEFAULT 3;
ALTER TABLE person DROP COLUMN feel;
ALTER TABLE person ALTER COLUMN age TYPE bigint;
ALTER TABLE person RENAME COLUMN sex TO gender;
SET ROLE :analyst;
SELECT * FROM person WHERE ward = 'A' LIMIT 1;
SELECT * FROM person p WHERE p.more IS NULL AND p.age IS NULL AND p.ward = 'B' ORDER BY more LIMIT 1;
SELECT pg_typeof(age) AS age, pg_typeof(more) AS more, more, gender, age FROM person WHERE ward = 'A' LIMIT 1;

-- with the relation
SET ROLE :owner;
BEGIN;
SELECT dp_unprotect('person');
SELECT to_regclass('person_twin') IS NULL AS gone;
ROLLBACK;
CREATE VIEW depends AS SELECT * FROM person_twin;
SELECT dp_unprotect('person');
DROP VIEW depends;
DROP TABLE person_twin;
SELECT twin FROM dp_pg.relation WHERE relid = 'person'::regclass;
SET ROLE :analyst;
SELECT ward FROM person LIMIT 1;
SET ROLE :owner;
SELECT dp_publish_twin('person', 'second', ARRAY['ward'], ARRAY['ward'], epsilon => 1000::float8, rows => 50);
SELECT count(*) FROM second;
SET ROLE :analyst;
SELECT count(*) FROM (SELECT ward FROM second LIMIT 3) q;
SELECT ward IS NOT NULL AS ward, id FROM person LIMIT 1;
SET ROLE :owner;
DROP TABLE person;
SELECT to_regclass('second') IS NULL AS gone;
RESET ROLE;
DROP OWNED BY regress_twin_later, regress_twin_nobody;
DROP ROLE regress_twin_later, regress_twin_nobody;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
