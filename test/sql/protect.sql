-- dp_protect, dp_unprotect: who may call them, what can be protected, what
-- must be closed first, and that declarations follow DDL.  A refusal is
-- identified by its SQLSTATE; wording may change freely.
\set VERBOSITY sqlstate
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS dp_pg;
CREATE ROLE regress_protect_owner;
CREATE ROLE regress_protect_other;
CREATE ROLE regress_protect_analyst;
CREATE ROLE regress_protect_third;
CREATE SCHEMA regress_protect AUTHORIZATION regress_protect_owner;
GRANT USAGE ON SCHEMA regress_protect TO PUBLIC;
SET search_path = regress_protect, public;

SET ROLE regress_protect_owner;
CREATE TABLE person (id int PRIMARY KEY, age int, ward text, doc json);
CREATE TABLE survey (answer boolean);
CREATE TABLE part_root (id int, day date) PARTITION BY RANGE (day);
CREATE TABLE part_a PARTITION OF part_root
FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
CREATE TABLE parent (id int);
CREATE TABLE child () INHERITS (parent);
CREATE VIEW a_view AS SELECT * FROM person;
CREATE MATERIALIZED VIEW a_matview AS SELECT 1 AS id;
CREATE SEQUENCE a_sequence;
CREATE TEMP TABLE a_temp (id int);
RESET ROLE;
CREATE FOREIGN DATA WRAPPER regress_protect_fdw;
CREATE SERVER regress_protect_server FOREIGN DATA WRAPPER regress_protect_fdw;
CREATE FOREIGN TABLE a_foreign (id int) SERVER regress_protect_server;

-- what was protected, without OIDs
CREATE FUNCTION protected() RETURNS TABLE (relation text, dataset name,
	unit name, attnum int2, published text) LANGUAGE sql
SET search_path = pg_catalog AS $$
	SELECT relid::text, dataset, unit, unit_attnum, published::text
	FROM dp_pg.relation WHERE relid::text LIKE 'regress\_protect.%'
	ORDER BY relid::text COLLATE "C"
$$;

-- only the owner
SET ROLE regress_protect_other;
SELECT dp_protect('person', dataset => 'regress_protect');
SELECT dp_unprotect('person');
RESET ROLE;

SET ROLE regress_protect_owner;
-- only tables
SELECT dp_protect('a_view');
SELECT dp_protect('a_matview');
SELECT dp_protect('a_sequence');
SELECT dp_protect('a_temp');
RESET ROLE;
SELECT dp_protect('a_foreign', dataset => 'regress_protect_super');
SELECT dp_protect('pg_catalog.pg_class', dataset => 'regress_protect_super');
SELECT dp_protect('dp_pg.relation', dataset => 'regress_protect_super');
SELECT dp_protect('person_pkey', dataset => 'regress_protect_super');
SELECT dp_protect(NULL);
SELECT dp_protect('no_such_table');
SELECT dp_protect(4294967295::oid::regclass);

SET ROLE regress_protect_owner;
-- the unit
SELECT dp_protect('person', unit => 'nobody', dataset => 'regress_protect');
SELECT dp_protect('person', unit => 'ctid', dataset => 'regress_protect');
SELECT dp_protect('person', unit => 'doc', dataset => 'regress_protect');
SELECT dp_protect('person', unit => 'id -> parent.id', dataset => 'regress_protect');
SELECT * FROM protected();

-- not in a read-only transaction
BEGIN READ ONLY;
SELECT dp_protect('person', unit => 'id', dataset => 'regress_protect');
ROLLBACK;

-- rolled back means not protected
BEGIN;
SELECT dp_protect('person', unit => 'id', dataset => 'regress_protect');
SELECT * FROM protected();
ROLLBACK;
SELECT * FROM protected();

SELECT dp_protect('person', unit => 'id', dataset => 'regress_protect');
-- again: the unit is what the last call says, with a warning when it differs;
-- the dataset stays
SELECT dp_protect('person');
SELECT * FROM protected();
SELECT dp_protect('person', unit => 'id');
SELECT dp_protect('person', unit => 'id', dataset => 'regress_protect_second');
SELECT * FROM protected();
RESET ROLE;

-- somebody else's dataset
CREATE TABLE others_table (id int);
ALTER TABLE others_table OWNER TO regress_protect_other;
SET ROLE regress_protect_other;
SELECT dp_protect('others_table', dataset => 'regress_protect');
RESET ROLE;
DROP TABLE others_table;

-- Privileges through which rows can be learnt: each is refused.
SET ROLE regress_protect_owner;
GRANT SELECT ON survey TO regress_protect_other;
SELECT dp_protect('survey', dataset => 'regress_protect');
REVOKE ALL ON survey FROM regress_protect_other;
GRANT UPDATE ON survey TO PUBLIC;
SELECT dp_protect('survey', dataset => 'regress_protect');
REVOKE ALL ON survey FROM PUBLIC;
GRANT DELETE ON survey TO regress_protect_other;
SELECT dp_protect('survey', dataset => 'regress_protect');
REVOKE ALL ON survey FROM regress_protect_other;
GRANT REFERENCES ON survey TO regress_protect_other;
SELECT dp_protect('survey', dataset => 'regress_protect');
REVOKE ALL ON survey FROM regress_protect_other;
GRANT TRIGGER ON survey TO regress_protect_other;
SELECT dp_protect('survey', dataset => 'regress_protect');
REVOKE ALL ON survey FROM regress_protect_other;
GRANT SELECT (answer) ON survey TO regress_protect_other;
SELECT dp_protect('survey', dataset => 'regress_protect');
REVOKE ALL ON survey FROM regress_protect_other;
-- INSERT tells something only where a unique index answers
GRANT INSERT ON survey TO regress_protect_other;
SELECT dp_protect('survey', dataset => 'regress_protect');
SELECT dp_unprotect('survey');
CREATE UNIQUE INDEX survey_answer ON survey (answer);
SELECT dp_protect('survey', dataset => 'regress_protect');
DROP INDEX survey_answer;
REVOKE ALL ON survey FROM regress_protect_other;
-- parts and ancestors count, and who owns them
GRANT SELECT ON part_a TO regress_protect_other;
SELECT dp_protect('part_root', dataset => 'regress_protect');
REVOKE ALL ON part_a FROM regress_protect_other;
GRANT SELECT ON parent TO regress_protect_other;
SELECT dp_protect('child', dataset => 'regress_protect');
REVOKE ALL ON parent FROM regress_protect_other;
RESET ROLE;
GRANT CREATE ON SCHEMA regress_protect TO regress_protect_other;
ALTER TABLE child OWNER TO regress_protect_other;
SET ROLE regress_protect_owner;
SELECT dp_protect('parent', dataset => 'regress_protect');
SELECT dp_protect('parent', dataset => 'regress_protect', revoke => true);
RESET ROLE;
ALTER TABLE child OWNER TO regress_protect_owner;
-- a superuser's privilege is nothing new
CREATE ROLE regress_protect_super SUPERUSER;
SET ROLE regress_protect_owner;
GRANT SELECT ON survey TO regress_protect_super;
SELECT dp_protect('survey', dataset => 'regress_protect');
SELECT dp_unprotect('survey');
REVOKE ALL ON survey FROM regress_protect_super;
SELECT * FROM protected();

-- The hint's commands mend it.
GRANT SELECT, UPDATE ON survey TO regress_protect_other WITH GRANT OPTION;
GRANT SELECT (answer) ON survey TO PUBLIC;
RESET ROLE;
SET ROLE regress_protect_other;
GRANT SELECT ON survey TO regress_protect_third;
RESET ROLE;
SET ROLE regress_protect_owner;
DO $$
DECLARE
	told text;
	command text;
BEGIN
	PERFORM dp_protect('survey', dataset => 'regress_protect');
	RAISE EXCEPTION 'accepted';
EXCEPTION WHEN object_not_in_prerequisite_state THEN
	GET STACKED DIAGNOSTICS told = PG_EXCEPTION_HINT;
	FOR command IN SELECT (regexp_matches(told, 'REVOKE [^;]*;', 'g'))[1]
	LOOP
		EXECUTE command;
	END LOOP;
END $$;
SELECT dp_protect('survey', dataset => 'regress_protect');
SELECT replace(relacl::text, 'xtm/', 'xt/') AS relacl FROM pg_class WHERE oid = 'survey'::regclass; -- m: MAINTAIN, since 17
SELECT dp_unprotect('survey');

-- revoke => true does the same at once, in the whole tree
GRANT SELECT ON part_root TO PUBLIC;
GRANT SELECT, INSERT, TRUNCATE ON part_a TO regress_protect_other;
SELECT dp_protect('part_root', dataset => 'regress_protect', revoke => true);
SELECT relname, replace(relacl::text, 'xtm/', 'xt/') AS relacl FROM pg_class
WHERE oid IN ('part_root'::regclass, 'part_a'::regclass) ORDER BY 1;

-- A part belongs to the dataset of its tree, with its unit.
SELECT dp_protect('part_a', dataset => 'regress_protect_second');
SELECT dp_protect('part_a', unit => 'id', dataset => 'regress_protect');
SELECT dp_protect('part_a', dataset => 'regress_protect');
SELECT dp_unprotect('part_a');
SELECT dp_unprotect('part_a');

-- Later commands that open a protected relation warn.
GRANT SELECT ON person TO regress_protect_other;
GRANT SELECT (age) ON person TO regress_protect_other;
GRANT SELECT ON part_a TO regress_protect_other;
GRANT TRUNCATE ON part_root TO regress_protect_other;
REVOKE ALL ON person, part_a, part_root FROM regress_protect_other CASCADE;
REVOKE ALL (age) ON person FROM regress_protect_other;
RESET ROLE;
GRANT SELECT ON ALL TABLES IN SCHEMA regress_protect TO regress_protect_other;
REVOKE ALL ON ALL TABLES IN SCHEMA regress_protect FROM regress_protect_other;
SET ROLE regress_protect_owner;
GRANT SELECT ON survey TO regress_protect_other;	-- not protected: silent
CREATE TABLE part_b (id int, day date);
GRANT SELECT ON part_b TO regress_protect_other;	-- not yet a part: silent
ALTER TABLE part_root ATTACH PARTITION part_b
FOR VALUES FROM ('2021-01-01') TO ('2022-01-01');
ALTER TABLE part_root DETACH PARTITION part_b;
ALTER DEFAULT PRIVILEGES IN SCHEMA regress_protect
GRANT SELECT ON TABLES TO regress_protect_other;
CREATE TABLE part_c PARTITION OF part_root
FOR VALUES FROM ('2022-01-01') TO ('2023-01-01');
ALTER DEFAULT PRIVILEGES IN SCHEMA regress_protect
REVOKE SELECT ON TABLES FROM regress_protect_other;
CREATE TABLE lonely () INHERITS (person);
GRANT SELECT ON lonely TO regress_protect_other;
ALTER TABLE lonely NO INHERIT person;
ALTER TABLE lonely INHERIT person;
DROP TABLE lonely, part_b, part_c;
CREATE TABLE read_above (a int) PARTITION BY LIST (a);
CREATE TABLE read_over (a int);
GRANT SELECT ON read_above, read_over TO regress_protect_other;
CREATE TABLE put_under (a int);
SELECT dp_protect('put_under', dataset => 'regress_protect');
ALTER TABLE read_above ATTACH PARTITION put_under DEFAULT;
ALTER TABLE read_above DETACH PARTITION put_under;
ALTER TABLE put_under INHERIT read_over;
SELECT dp_unprotect('put_under');
DROP TABLE put_under, read_over, read_above;
CREATE POLICY a_policy ON person USING (true);
CREATE RULE a_rule AS ON INSERT TO person DO ALSO NOTHING;
CREATE FUNCTION a_trigger() RETURNS trigger LANGUAGE plpgsql AS
'BEGIN RETURN NEW; END';
CREATE TRIGGER a_trigger BEFORE INSERT ON person
FOR EACH ROW EXECUTE FUNCTION a_trigger();
CREATE TRIGGER a_trigger BEFORE INSERT ON survey
FOR EACH ROW EXECUTE FUNCTION a_trigger();			-- not protected: silent
\set VERBOSITY default
ALTER POLICY a_policy ON person USING (false);
ALTER TABLE person ENABLE ROW LEVEL SECURITY;
DROP POLICY a_policy ON person;
ALTER TABLE person NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY;
\set VERBOSITY sqlstate
DROP RULE a_rule ON person;
DROP FUNCTION a_trigger() CASCADE;

-- Names follow.
ALTER TABLE person RENAME COLUMN id TO person_id;
SELECT * FROM protected();
ALTER TABLE person RENAME TO human;
SELECT * FROM protected();
ALTER TABLE human RENAME TO person;
BEGIN;
ALTER TABLE person RENAME COLUMN person_id TO other_id;
SELECT * FROM protected();
ROLLBACK;
SELECT * FROM protected();
RESET ROLE;
SET session_replication_role = replica;
ALTER TABLE person RENAME COLUMN person_id TO id;
RESET session_replication_role;
SELECT * FROM protected();
-- a superuser renames for the owner; strangers' DDL is not disturbed
ALTER TABLE person RENAME COLUMN id TO person_id;
SET ROLE regress_protect_other;
CREATE TABLE strangers (a int);
ALTER TABLE strangers RENAME COLUMN a TO b;
ALTER TABLE strangers DROP COLUMN b;
DROP TABLE strangers;
RESET ROLE;
-- a restored row has an OID of another server: adopted by name
UPDATE dp_pg.relation SET relid_origin = 1, unit_attnum = 77
WHERE relid = 'person'::regclass;
CREATE TABLE restored (a int);
ALTER TABLE restored ADD COLUMN b int;
DROP TABLE restored;
SELECT * FROM protected();
SELECT relid_origin = relid::oid AS adopted FROM dp_pg.relation
WHERE relid = 'person'::regclass;
-- a row that names no relation is not restored
INSERT INTO dp_pg.relation (relid, relid_origin, dataset)
VALUES (4294967295, 4294967295, 'regress_protect');
SELECT * FROM protected();

-- Published views.
SET ROLE regress_protect_owner;
DO $$
BEGIN
	PERFORM dp_grant('regress_protect_analyst', dataset => 'regress_protect',
					 epsilon => 1, delta => 1e-6);
END $$;
SELECT dp_protect('person', unit => 'person_id',
				  publish => 'regress_protect.person_public');
SELECT reloptions, relacl IS NOT NULL AS granted FROM pg_class
WHERE oid = 'person_public'::regclass;
SELECT has_table_privilege('regress_protect_analyst', 'person_public', 'SELECT'),
	has_table_privilege('regress_protect_third', 'person_public', 'SELECT'),
	has_table_privilege('regress_protect_analyst', 'person', 'SELECT');
SELECT dp_protect('person', unit => 'person_id',
				  publish => 'regress_protect.person_public');
SELECT dp_protect('person', unit => 'person_id', publish => 'person_second');
SELECT dp_protect('person', unit => 'person_id');
SELECT * FROM protected();
SELECT dp_protect('survey', dataset => 'regress_protect', revoke => true,
				  publish => 'regress_protect.person');
SELECT dp_protect('survey', dataset => 'regress_protect', revoke => true,
				  publish => 'pg_temp.survey_public');
SELECT dp_protect('survey', dataset => 'regress_protect', revoke => true,
				  publish => 'a bad.name.of.a.view');
SELECT * FROM protected();
RESET ROLE;
-- dp_grant passes the view on to roles that get a budget later
SET ROLE regress_protect_owner;
DO $$
BEGIN
	PERFORM dp_grant('regress_protect_third', dataset => 'regress_protect',
					 epsilon => 1, delta => 1e-6);
END $$;
SELECT has_table_privilege('regress_protect_third', 'person_public', 'SELECT');
-- a view that would show rows is not granted
ALTER VIEW person_public RESET (security_invoker);
REVOKE SELECT ON person_public FROM regress_protect_third;
SELECT dp_protect('person', unit => 'person_id',
				  publish => 'regress_protect.person_public');
SELECT has_table_privilege('regress_protect_third', 'person_public', 'SELECT');
ALTER VIEW person_public SET (security_invoker = true);
RESET ROLE;
SET ROLE regress_protect_analyst;
SELECT * FROM person_public;
SELECT count(*) FROM person_public;
SELECT * FROM person;
SELECT count(*) > 0 AS readable FROM dp_pg.relation;
DELETE FROM dp_pg.relation;
RESET ROLE;

-- Dropping.
SET ROLE regress_protect_owner;
CREATE VIEW on_public AS SELECT * FROM person_public;
SELECT dp_unprotect('person');
DROP VIEW on_public;
SELECT dp_unprotect('person');
SELECT to_regclass('person_public'), to_regclass('person');
SELECT dp_unprotect('person');
SELECT dp_protect('person', unit => 'person_id', dataset => 'regress_protect',
				  publish => 'regress_protect.person_public');
DROP VIEW person_public;
SELECT * FROM protected();
-- a dropped unit is not replaced by a column of its name
ALTER TABLE person DROP COLUMN person_id CASCADE;
ALTER TABLE person ADD COLUMN person_id int;
SELECT * FROM protected();
SELECT severity, object FROM dp_audit()
WHERE object = 'regress_protect.person' AND severity = 'high';
SELECT dp_protect('person', unit => 'person_id');
SELECT severity, object FROM dp_audit()
WHERE object = 'regress_protect.person' AND severity = 'high';
DROP TABLE person CASCADE;
DROP TABLE part_root;
SELECT * FROM protected();
RESET ROLE;

-- What Citus distributes.  Debian has no package of it; this is the column of
-- its catalog that says so.
BEGIN;
SET LOCAL allow_system_table_mods = on;
CREATE TABLE pg_catalog.pg_dist_partition (partmethod "char", logicalrelid regclass);
CREATE TABLE sharded (id int PRIMARY KEY);
CREATE TABLE kept (id int PRIMARY KEY);
ALTER TABLE sharded OWNER TO regress_protect_owner;
ALTER TABLE kept OWNER TO regress_protect_owner;
INSERT INTO pg_dist_partition VALUES ('h', 'sharded');
SET LOCAL ROLE regress_protect_owner;
SAVEPOINT before;
SELECT dp_protect('sharded', dataset => 'regress_protect');
ROLLBACK TO before;
SELECT dp_protect('kept', dataset => 'regress_protect');
RESET ROLE;
INSERT INTO pg_dist_partition VALUES ('h', 'kept');
SELECT severity, finding, remedy FROM dp_audit() WHERE object = 'regress_protect.kept' AND finding ~ 'Citus';
ROLLBACK;

DROP FOREIGN DATA WRAPPER regress_protect_fdw CASCADE;
RESET search_path;
SET client_min_messages = error;
DROP OWNED BY regress_protect_owner, regress_protect_other,
	regress_protect_analyst, regress_protect_third CASCADE;
DROP SCHEMA IF EXISTS regress_protect CASCADE;
DROP ROLE regress_protect_owner, regress_protect_other,
	regress_protect_analyst, regress_protect_third, regress_protect_super;
