-- dp_audit: each leak around the extension is found, its remedy closes it.
-- Only findings about this test's objects are compared: settings, standbys and
-- statistics differ between servers.
\set VERBOSITY sqlstate
SET client_min_messages = error;
CREATE EXTENSION IF NOT EXISTS dp_pg;
CREATE ROLE regress_audit_owner;
CREATE ROLE regress_audit_other;
CREATE ROLE regress_audit_analyst;
CREATE SCHEMA regress_audit AUTHORIZATION regress_audit_owner;
GRANT USAGE, CREATE ON SCHEMA regress_audit TO PUBLIC;
SET search_path = regress_audit, public;

-- findings about this test, and the remedies carried out as superuser
CREATE FUNCTION findings() RETURNS TABLE (severity text, object text,
	remedy text) LANGUAGE sql AS $$
	SELECT severity, object, remedy FROM dp_audit()
	WHERE object LIKE '%regress\_audit%'
$$;
-- as it reads on PostgreSQL 15
CREATE VIEW shown AS SELECT severity, object,
	regexp_replace(remedy, ' GRANTED BY \w+ CASCADE', '') AS remedy FROM findings();
CREATE PROCEDURE mend() LANGUAGE plpgsql AS $$
DECLARE
	command text;
BEGIN
	FOR command IN SELECT remedy FROM findings()
	LOOP
		EXECUTE command;
	END LOOP;
END $$;
REVOKE ALL ON FUNCTION findings() FROM PUBLIC;

SET ROLE regress_audit_owner;
CREATE TABLE person (id int PRIMARY KEY, ward text, boss int);
CREATE TABLE part_root (id int) PARTITION BY LIST (id);
CREATE TABLE part_a PARTITION OF part_root FOR VALUES IN (1);
SELECT dp_protect('person', unit => 'id', dataset => 'regress_audit');
SELECT dp_protect('part_root', dataset => 'regress_audit');
RESET ROLE;
SELECT * FROM shown;

-- grants, on columns and parts too
SET ROLE regress_audit_owner;
GRANT SELECT, INSERT ON person TO regress_audit_other;
GRANT UPDATE (ward) ON person TO PUBLIC;
GRANT SELECT ON part_a TO regress_audit_other;
RESET ROLE;
SELECT * FROM shown;
CALL mend();
SELECT * FROM shown;

-- a part that belongs to somebody else
ALTER TABLE part_a OWNER TO regress_audit_other;
SELECT * FROM shown;
CALL mend();
SELECT * FROM shown;

-- views and materialized views, over views too
SET ROLE regress_audit_owner;
CREATE VIEW v AS SELECT id FROM person;
CREATE VIEW w AS SELECT count(*) FROM v;
CREATE MATERIALIZED VIEW m AS SELECT * FROM v;
CREATE VIEW harmless WITH (security_invoker = on) AS SELECT * FROM person;
GRANT SELECT ON harmless TO PUBLIC;
SELECT 'still private' AS findings WHERE NOT EXISTS
	(SELECT FROM dp_audit() WHERE object LIKE 'regress\_audit.%');
GRANT SELECT ON w, m TO regress_audit_other;
GRANT SELECT (id) ON v TO regress_audit_analyst;
RESET ROLE;
SELECT * FROM shown;
CALL mend();
SELECT * FROM shown;
ALTER MATERIALIZED VIEW m OWNER TO regress_audit_other;
SELECT * FROM shown;
CALL mend();
SELECT * FROM shown;

-- a materialized view is judged by what it holds, or would hold: not released
-- values, nor what its owner cannot fill it with
SET ROLE regress_audit_owner;
CREATE VIEW released AS SELECT dp_count(*) AS n, NULL::int AS id FROM person;
CREATE MATERIALIZED VIEW released_m AS SELECT dp_count(*) FROM person WITH NO DATA;
CREATE MATERIALIZED VIEW released_v AS SELECT * FROM released WITH NO DATA;
CREATE MATERIALIZED VIEW names_only AS SELECT 'person'::regclass;
CREATE MATERIALIZED VIEW to_be AS SELECT * FROM person WITH NO DATA;
GRANT SELECT ON released, released_m, released_v, names_only TO PUBLIC;
SET ROLE regress_audit_analyst;
CREATE MATERIALIZED VIEW of_analyst AS SELECT dp_count(*) FROM person WITH NO DATA;
CREATE MATERIALIZED VIEW of_rows AS SELECT * FROM person WITH NO DATA;
RESET ROLE;
SELECT * FROM shown;
GRANT SELECT ON to_be TO regress_audit_analyst;
SELECT severity, object, finding ~ 'would hold' AS would FROM dp_audit() WHERE object LIKE 'regress\_audit.%';
-- what was filled from a view before the view became one of released values
SET ROLE regress_audit_owner;
DROP MATERIALIZED VIEW to_be;
CREATE VIEW rows AS SELECT NULL::bigint AS n, id FROM person;
CREATE VIEW over_rows AS SELECT * FROM rows;
CREATE MATERIALIZED VIEW copy AS SELECT * FROM over_rows;
GRANT SELECT ON copy TO regress_audit_analyst;
CREATE OR REPLACE VIEW rows AS SELECT dp_count(*) AS n, NULL::int AS id FROM person;
RESET ROLE;
SELECT * FROM shown;
REFRESH MATERIALIZED VIEW copy WITH NO DATA;
SELECT * FROM shown;
DROP VIEW released, rows CASCADE;
DROP MATERIALIZED VIEW released_m, names_only, of_analyst, of_rows;

-- functions that run as somebody who can read
SET ROLE regress_audit_owner;
CREATE FUNCTION peek() RETURNS bigint LANGUAGE sql SECURITY DEFINER
AS 'SELECT count(*) FROM regress_audit.person';
CREATE FUNCTION peek_private() RETURNS bigint LANGUAGE sql
AS 'SELECT count(*) FROM regress_audit.person';
RESET ROLE;
SELECT * FROM shown;
CALL mend();
SELECT * FROM shown;

-- triggers, rules, policies
SET ROLE regress_audit_other;
CREATE FUNCTION spy() RETURNS trigger LANGUAGE plpgsql AS
'BEGIN RETURN NEW; END';
RESET ROLE;
SET ROLE regress_audit_owner;
CREATE TRIGGER spy BEFORE INSERT ON person
FOR EACH ROW EXECUTE FUNCTION spy();
CREATE RULE copy AS ON DELETE TO person DO ALSO NOTHING;
CREATE POLICY some_rows ON person USING (ward <> 'x');
RESET ROLE;
SELECT * FROM shown;
CALL mend();
SELECT * FROM shown;

-- foreign keys in both directions
CREATE TABLE lookup (boss int PRIMARY KEY);
ALTER TABLE lookup OWNER TO regress_audit_other;
ALTER TABLE person ADD CONSTRAINT to_lookup FOREIGN KEY (boss) REFERENCES lookup;
CREATE TABLE probe (id int CONSTRAINT to_person REFERENCES person);
ALTER TABLE probe OWNER TO regress_audit_other;
SELECT * FROM shown;
CALL mend();
SELECT * FROM shown;

-- publications
CREATE PUBLICATION regress_audit_some FOR TABLE person, part_root;
CREATE PUBLICATION regress_audit_schema FOR TABLES IN SCHEMA regress_audit;
SELECT * FROM (SELECT DISTINCT * FROM findings()) AS f
ORDER BY remedy COLLATE "C", object COLLATE "C";
DROP PUBLICATION regress_audit_schema;
CALL mend();
SELECT * FROM shown;
DROP PUBLICATION regress_audit_some;

-- roles
GRANT pg_read_all_data, pg_monitor TO regress_audit_other;
GRANT pg_read_server_files TO regress_audit_analyst;
ALTER ROLE regress_audit_analyst REPLICATION;
SELECT * FROM shown;
CALL mend();
SELECT * FROM shown;
ALTER ROLE regress_audit_analyst SUPERUSER REPLICATION;
GRANT pg_read_all_data TO regress_audit_analyst;
SELECT * FROM shown;
REVOKE pg_read_all_data FROM regress_audit_analyst;
ALTER ROLE regress_audit_analyst NOSUPERUSER NOREPLICATION;
DO $$
BEGIN
	PERFORM dp_grant('regress_audit_analyst', dataset => 'regress_audit',
					 epsilon => 1, delta => 1e-6);
END $$;
GRANT regress_audit_owner TO regress_audit_analyst;
SELECT * FROM shown;
-- under another name too
ALTER ROLE regress_audit_analyst RENAME TO regress_audit_renamed;
SELECT * FROM shown;
ALTER ROLE regress_audit_renamed RENAME TO regress_audit_analyst;
CALL mend();
SELECT * FROM shown;

-- settings and statistics
BEGIN;
SET LOCAL synchronous_commit = off;
SELECT severity, object FROM dp_audit() WHERE object = 'synchronous_commit';
ROLLBACK;
SELECT severity, object FROM dp_audit()
WHERE object IN ('shared_preload_libraries', 'pg_statistic');
BEGIN;
GRANT SELECT ON pg_statistic TO regress_audit_other;
SELECT severity, object, remedy FROM dp_audit() WHERE object = 'pg_statistic';
DO $$
DECLARE
	command text;
BEGIN
	FOR command IN SELECT remedy FROM dp_audit()
		WHERE object IN ('pg_class', 'pg_relation_size', 'pg_stat_all_tables')
	LOOP
		EXECUTE command;
	END LOOP;
END $$;
SELECT object FROM dp_audit()
WHERE object IN ('pg_class', 'pg_relation_size', 'pg_stat_all_tables');
-- and then nobody else sees row counts
SET ROLE regress_audit_other;
SAVEPOINT a;
SELECT reltuples FROM pg_class LIMIT 1;
ROLLBACK TO a;
SELECT pg_total_relation_size('person');
ROLLBACK TO a;
SELECT n_live_tup FROM pg_stat_user_tables LIMIT 1;
ROLLBACK TO a;
SELECT relname FROM pg_class WHERE oid = 'person'::regclass;
ROLLBACK;

-- who can read row counts otherwise is named, and keeps what tells nothing
BEGIN;
REVOKE SELECT ON pg_class FROM PUBLIC;
GRANT SELECT ON pg_class TO regress_audit_other WITH GRANT OPTION;
GRANT SELECT (reltuples, relname) ON pg_class TO regress_audit_analyst;
SET LOCAL ROLE regress_audit_other;
GRANT SELECT ON pg_catalog.pg_class TO regress_audit_owner;
RESET ROLE;
GRANT SELECT (stavalues1) ON pg_statistic TO regress_audit_analyst;
SELECT object, regexp_replace(finding, ' can .*', '') AS who FROM dp_audit()
WHERE object IN ('pg_class', 'pg_statistic');
DO $$
DECLARE
	command text;
BEGIN
	FOR command IN SELECT remedy FROM dp_audit() WHERE object IN ('pg_class', 'pg_statistic')
	LOOP
		EXECUTE command;
	END LOOP;
END $$;
SELECT object FROM dp_audit() WHERE object IN ('pg_class', 'pg_statistic');
SELECT r, array_agg(a.attname::text ORDER BY a.attname) FILTER (WHERE has_column_privilege(r, 'pg_class', a.attname, 'SELECT')) AS columns
FROM unnest(ARRAY['regress_audit_other', 'regress_audit_analyst', 'regress_audit_owner']) AS r,
	unnest(ARRAY['relname', 'relkind', 'reltuples', 'relpages']) AS a (attname) GROUP BY r ORDER BY r;
ROLLBACK;

-- a name ends neither a quotation nor a comment
SET ROLE regress_audit_owner;
DO $$
DECLARE
	mark text;
	name text;
BEGIN
	FOREACH mark IN ARRAY ARRAY[E'\n', E'\r', '''', '"', E'*/\n']
	LOOP
		name := mark || '; CREATE ROLE regress_audit_evil; --';
		EXECUTE format('CREATE VIEW %I AS SELECT id FROM person', name);
		EXECUTE format('GRANT SELECT ON %I TO regress_audit_other', name);
	END LOOP;
END $$;
RESET ROLE;
SELECT count(*) FROM shown;
CALL mend();
SELECT count(*) FROM shown;
SELECT count(*) AS evil FROM pg_roles WHERE rolname = 'regress_audit_evil';

-- anybody may ask; the parts are internal
SET ROLE regress_audit_other;
SELECT count(*) >= 0 AS answers FROM dp_audit();
SELECT * FROM dp_pg.audit_server();
SELECT * FROM dp_pg.audit();
SELECT * FROM dp_pg.exposures();
RESET ROLE;

RESET search_path;
DROP OWNED BY regress_audit_owner, regress_audit_other, regress_audit_analyst
CASCADE;
DROP SCHEMA IF EXISTS regress_audit CASCADE;
DROP ROLE regress_audit_owner, regress_audit_other, regress_audit_analyst;
