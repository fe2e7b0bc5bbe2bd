-- dp_harden runs the remedies that only revoke privileges and lists the
-- others, and dp_unharden gives back exactly what it took.  All in
-- transactions that are rolled back, since other tests use the same system
-- catalogs.
\set VERBOSITY sqlstate
\set SHOW_CONTEXT never
SET client_min_messages = error;
CREATE EXTENSION IF NOT EXISTS dp_pg;
CREATE ROLE regress_harden_owner;
CREATE ROLE regress_harden_other;
CREATE ROLE regress_harden_analyst;
CREATE ROLE regress_harden_writer;
GRANT pg_write_all_data TO regress_harden_writer;
CREATE SCHEMA regress_harden AUTHORIZATION regress_harden_owner;
GRANT USAGE, CREATE ON SCHEMA regress_harden TO PUBLIC;
SET search_path = regress_harden, public;

-- who holds what on system catalogs and on this test's objects
CREATE FUNCTION acls() RETURNS TABLE (class regclass, oid oid, attnum int, privilege text,
	grantable boolean, grantee oid, grantor oid) LANGUAGE sql AS $$
	SELECT 'pg_class'::regclass, c.oid, 0, privilege_type, is_grantable, grantee, grantor
	FROM pg_class c, aclexplode(coalesce(relacl, acldefault('r', relowner)))
	WHERE c.relkind IN ('r', 'v', 'm', 'p') AND c.relpersistence = 'p'
	UNION ALL
	SELECT 'pg_class', attrelid, attnum, privilege_type, is_grantable, grantee, grantor
	FROM pg_attribute, aclexplode(attacl)
	UNION ALL
	SELECT 'pg_proc', p.oid, 0, privilege_type, is_grantable, grantee, grantor
	FROM pg_proc p, aclexplode(coalesce(proacl, acldefault('f', proowner)))
	WHERE pronamespace IN ('pg_catalog'::regnamespace, 'regress_harden'::regnamespace)
$$;
-- what changed since the last look, but for the superuser's and the owner's own
CREATE TEMP TABLE last_acls AS SELECT * FROM acls();
CREATE PROCEDURE look() LANGUAGE sql AS $$
	DELETE FROM last_acls;
	INSERT INTO last_acls SELECT * FROM acls();
$$;
CREATE VIEW changes AS
SELECT change, pg_describe_object(class, oid, attnum) AS object, privilege,
	CASE WHEN grantable THEN 'grantable' END AS option,
	CASE grantee WHEN 0 THEN 'PUBLIC' ELSE pg_get_userbyid(grantee) END AS grantee,
	CASE WHEN pg_get_userbyid(grantor) LIKE 'regress\_harden%' THEN pg_get_userbyid(grantor) END AS grantor
FROM (
	SELECT 'taken' AS change, t.* FROM (SELECT * FROM last_acls EXCEPT SELECT * FROM acls()) t
	UNION ALL
	SELECT 'given', t.* FROM (SELECT * FROM acls() EXCEPT SELECT * FROM last_acls) t
) c
WHERE grantee <> grantor;
-- on this test's objects, and of its roles
CREATE VIEW own_changes AS SELECT * FROM changes
WHERE object LIKE '%regress\_harden%' OR object ~ 'person|view' OR grantee LIKE 'regress\_harden%'
ORDER BY change, object COLLATE "C", privilege, grantee COLLATE "C";

SET ROLE regress_harden_owner;
CREATE TABLE person (id int PRIMARY KEY, ward text, boss int);
SELECT dp_protect('person', unit => 'id', dataset => 'regress_harden');
SELECT dp_grant('regress_harden_analyst', 'regress_harden', epsilon => 100);
RESET ROLE;

-- not for everybody, nor everywhere
SET ROLE regress_harden_owner;
\set VERBOSITY default
SELECT * FROM dp_harden();
SELECT * FROM dp_unharden();
\set VERBOSITY sqlstate
SELECT dp_pg.harden_run('GRANT regress_harden_owner TO regress_harden_analyst', 'pg_class', '{}');
SELECT dp_pg.unharden_run('GRANT regress_harden_owner TO regress_harden_analyst', NULL, '{}');
SELECT * FROM dp_pg.unharden_plan();
SELECT * FROM dp_pg.hardening;
RESET ROLE;
BEGIN READ ONLY;
SELECT * FROM dp_harden();
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT * FROM dp_harden();
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM dp_unharden();
ROLLBACK;

-- everything that is run, and of everything that is told one
GRANT pg_read_all_data TO regress_harden_other;
BEGIN;
SET LOCAL ROLE regress_harden_other;
CREATE FUNCTION spy() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
SET LOCAL ROLE regress_harden_owner;
GRANT SELECT, INSERT ON person TO regress_harden_other WITH GRANT OPTION;
GRANT UPDATE (ward), SELECT (boss) ON person TO PUBLIC;
CREATE VIEW "a ""view" AS SELECT id FROM person;
GRANT SELECT ON "a ""view" TO PUBLIC;
CREATE MATERIALIZED VIEW m_view AS SELECT * FROM person;
GRANT SELECT ON m_view TO regress_harden_analyst;
CREATE VIEW seen_view AS SELECT dp_count(*) FROM person;
GRANT SELECT ON seen_view TO PUBLIC;
CREATE FUNCTION peek() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT count(*) FROM regress_harden.person';
CREATE TRIGGER spy BEFORE INSERT ON person FOR EACH ROW EXECUTE FUNCTION spy();
CREATE POLICY some_rows ON person USING (ward <> 'x');
SET LOCAL ROLE regress_harden_other;
GRANT SELECT ON person TO regress_harden_analyst;
RESET ROLE;
CREATE PUBLICATION regress_harden_all FOR TABLE person;
GRANT SELECT ON pg_statistic TO regress_harden_other;
GRANT SELECT (reltuples, relname) ON pg_class TO regress_harden_analyst;
CALL look();
CREATE TEMP TABLE hardened_first AS SELECT * FROM dp_harden();
SELECT object, done, why FROM hardened_first
WHERE object ~ 'regress_harden|^pg_' ORDER BY object COLLATE "C", command COLLATE "C";
SELECT count(*) AS claimed_but_found FROM hardened_first h JOIN dp_audit() a USING (finding) WHERE done;
SELECT count(*) AS found_but_untold FROM dp_audit() a
WHERE finding NOT IN (SELECT finding FROM hardened_first h WHERE NOT done);
SELECT * FROM own_changes;
-- nothing is left of what everybody could see, and everybody is left the rest
SELECT privilege, grantee, count(*) > 50 AS many FROM changes WHERE object LIKE 'function %' GROUP BY 1, 2;
SELECT string_agg(attname, ' ' ORDER BY attname) FROM pg_attribute
WHERE attrelid = 'pg_class'::regclass AND attnum > 0
	AND NOT has_column_privilege('regress_harden_owner', 'pg_class', attname, 'SELECT')
	AND attname <> 'relallfrozen';
-- a second call finds only what it tells
CREATE TEMP TABLE written AS SELECT * FROM dp_pg.hardened;
SELECT object, done, why FROM dp_harden() WHERE object ~ 'regress_harden|^pg_' ORDER BY object COLLATE "C";
SELECT count(*) FROM ((TABLE written EXCEPT TABLE dp_pg.hardened) UNION ALL (TABLE dp_pg.hardened EXCEPT TABLE written)) d;
-- everybody may read what was changed, only superusers write
SET LOCAL ROLE regress_harden_writer;
SELECT count(*) > 100 AS readable FROM dp_pg.hardened;
SAVEPOINT a;
INSERT INTO dp_pg.hardened (relid, relid_origin, taken, privilege, grantable, grantee, grantee_oid, cluster)
SELECT 'pg_authid', 0, true, 'SELECT', false, 'regress_harden_writer', 'regress_harden_writer'::regrole, dp_pg.cluster();
ROLLBACK TO a;
UPDATE dp_pg.hardened SET relid = 'pg_authid';
ROLLBACK TO a;
DELETE FROM dp_pg.hardened;
ROLLBACK TO a;
RESET ROLE;
-- all is as before
SELECT object, count(*), bool_and(done), min(why) FROM dp_unharden() GROUP BY object ORDER BY object COLLATE "C";
SELECT * FROM changes;
SELECT count(*) FROM dp_pg.hardened;
SELECT * FROM dp_unharden();
SELECT count(*) FROM dp_audit() a WHERE finding NOT IN (SELECT finding FROM hardened_first);
SELECT count(*) FROM hardened_first WHERE finding NOT IN (SELECT finding FROM dp_audit() a);

-- what is kept is found again, and closed by a call that does not keep it
SAVEPOINT a;
SELECT object, done, why FROM dp_harden(keep => ARRAY['pg_class', 'pg_stat_database']) WHERE object ~ '^pg_' ORDER BY object COLLATE "C", done;
SELECT object FROM dp_audit() WHERE object ~ '^pg_';
SELECT has_column_privilege('regress_harden_owner', 'pg_class', 'reltuples', 'SELECT') AS kept,
	has_function_privilege('regress_harden_owner', 'pg_stat_get_db_xact_commit(oid)', 'EXECUTE') AS kept_too,
	has_function_privilege('regress_harden_owner', 'pg_relation_size(regclass)', 'EXECUTE') AS closed;
SELECT object, done FROM dp_harden(keep => NULL) WHERE object ~ '^pg_' ORDER BY object COLLATE "C", done;
\set VERBOSITY default
SAVEPOINT b;
SELECT * FROM dp_harden(keep => ARRAY['pg_stat_all_tables', 'pg_class']);
ROLLBACK TO b;
SELECT * FROM dp_harden(keep => ARRAY['pg_statistic']);
ROLLBACK TO b;
SELECT * FROM dp_harden(keep => ARRAY['pg_class', NULL]);
ROLLBACK TO b;
SELECT * FROM dp_harden('{regress_harden.person}');
ROLLBACK TO b;
\set VERBOSITY sqlstate
ROLLBACK TO a;
-- also where every table is replicated
CREATE PUBLICATION regress_harden_every FOR ALL TABLES;
SELECT object, done FROM dp_harden() WHERE object ~ '^pg_' ORDER BY object COLLATE "C";
SELECT object, done FROM dp_unharden() WHERE object ~ '^pg_' ORDER BY object COLLATE "C";
ROLLBACK TO a;

-- what others changed meanwhile is theirs; names that changed are followed
SELECT count(*) > 4 AS again FROM dp_harden();
GRANT EXECUTE ON FUNCTION pg_table_size TO regress_harden_other;
GRANT EXECUTE ON FUNCTION pg_relation_size(regclass) TO PUBLIC;
GRANT SELECT (reltuples) ON pg_class TO regress_harden_owner;
SET LOCAL ROLE regress_harden_owner;
GRANT DELETE ON person TO regress_harden_analyst;
GRANT SELECT ON m_view TO regress_harden_other;
ALTER TABLE person RENAME ward TO station;
ALTER TABLE person RENAME boss TO ward;
ALTER TABLE person RENAME TO persons;
RESET ROLE;
ALTER ROLE regress_harden_other RENAME TO regress_harden_another;
CREATE ROLE regress_harden_other;
DROP VIEW "a ""view";
CREATE VIEW "a ""view" AS SELECT 1;
SELECT object, count(*), bool_and(done), min(why) FROM dp_unharden() GROUP BY object ORDER BY object COLLATE "C";
SELECT * FROM own_changes;
ROLLBACK;

-- a grant that was ended meanwhile, a dropped role, and a grantor who may not
BEGIN;
CREATE ROLE regress_harden_gone;
SET LOCAL ROLE regress_harden_owner;
GRANT SELECT ON person TO regress_harden_other WITH GRANT OPTION;
GRANT INSERT ON person TO regress_harden_gone;
SET LOCAL ROLE regress_harden_other;
GRANT SELECT ON person TO regress_harden_analyst WITH GRANT OPTION;
SET LOCAL ROLE regress_harden_analyst;
GRANT SELECT ON person TO regress_harden_writer;
RESET ROLE;
CALL look();
SELECT object, done, why FROM dp_harden() WHERE object = 'regress_harden.person';
SELECT * FROM own_changes;
DROP ROLE regress_harden_gone;
-- the whole chain comes back, in order
SAVEPOINT a;
SELECT object, command, done, why FROM dp_unharden() WHERE object LIKE '%person';
SELECT * FROM own_changes WHERE grantee NOT LIKE 'unknown%';
SELECT count(*) FROM dp_pg.hardened;
SELECT current_user = session_user AS still_me;
ROLLBACK TO a;
-- who lost his own right to grant does not grant
ALTER ROLE regress_harden_analyst RENAME TO regress_harden_ana;
REVOKE USAGE ON SCHEMA regress_harden FROM PUBLIC;
SELECT object, command, done, why FROM dp_unharden() WHERE object LIKE '%person';
SELECT relid, privilege, grantee, grantor FROM dp_pg.hardened ORDER BY grantee;
SELECT current_user = session_user AS still_me;
GRANT USAGE ON SCHEMA regress_harden TO PUBLIC;
SELECT object, command, done, why FROM dp_unharden() WHERE object LIKE '%person';
SELECT count(*) FROM dp_pg.hardened;
ROLLBACK;

-- what no command of dp_audit reaches is not called closed
BEGIN;
SET LOCAL ROLE regress_harden_owner;
GRANT SELECT ON person TO regress_harden_other WITH GRANT OPTION;
SET LOCAL ROLE regress_harden_other;
GRANT SELECT ON person TO regress_harden_analyst;
RESET ROLE;
ALTER ROLE regress_harden_other SUPERUSER;
SELECT object, done, why FROM dp_harden() WHERE object = 'regress_harden.person';
SELECT object FROM dp_audit() WHERE object = 'regress_harden.person';
SELECT count(*) FROM dp_pg.hardened WHERE relid = 'person'::regclass;
ROLLBACK;

-- names that others chose: none ends a quotation, none is run
BEGIN;
SET LOCAL ROLE regress_harden_owner;
DO $do$
DECLARE
	mark text;
	name text;
BEGIN
	FOREACH mark IN ARRAY ARRAY[E'\n', E'\r', '''', '"', '"; ', '%I %s', '\', E'*/\n', '$$', '$1']
	LOOP
		name := mark || '; CREATE ROLE regress_harden_evil; --';
		EXECUTE format('CREATE VIEW %I AS SELECT id AS %1$I FROM person', name);
		EXECUTE format('GRANT SELECT, UPDATE (%I) ON %1$I TO regress_harden_other', name);
	END LOOP;
END $do$;
RESET ROLE;
SELECT count(*), bool_and(done), min(why) FROM dp_harden() WHERE object LIKE '%evil%';
SELECT count(*) FROM dp_audit() WHERE object LIKE '%evil%';
SELECT count(*), bool_and(done), min(why) FROM dp_unharden() WHERE object LIKE '%evil%';
SELECT count(*) FROM dp_audit() WHERE object LIKE '%evil%';
SELECT count(*) AS evil FROM pg_roles WHERE rolname LIKE '%evil%';
ROLLBACK;

-- names that change hands between the look and the command: an event trigger
-- does what another session might do
BEGIN;
SET LOCAL ROLE regress_harden_owner;
CREATE VIEW seen AS SELECT id FROM person;
CREATE VIEW decoy AS SELECT 1 AS id;
GRANT SELECT ON seen, decoy TO regress_harden_other;
RESET ROLE;
CREATE FUNCTION swap() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	ALTER VIEW regress_harden.seen RENAME TO kept;
	ALTER VIEW regress_harden.decoy RENAME TO seen;
END $$;
CREATE VIEW holds AS SELECT relname, relacl::text LIKE '%other=%' AS other FROM pg_class
WHERE relnamespace = 'regress_harden'::regnamespace AND relname IN ('seen', 'decoy', 'kept') ORDER BY 1;
CREATE EVENT TRIGGER regress_harden_swap ON ddl_command_start WHEN TAG IN ('GRANT', 'REVOKE')
EXECUTE FUNCTION swap();
SELECT dp_pg.harden_run(remedy, catalog, touched) FROM dp_pg.audit() WHERE object = 'regress_harden.seen';
SELECT * FROM holds;
SELECT count(*) FROM dp_pg.hardened;
ALTER EVENT TRIGGER regress_harden_swap DISABLE;
SELECT dp_pg.harden_run(remedy, catalog, touched) IS NULL AS done FROM dp_pg.audit() WHERE object = 'regress_harden.seen';
REVOKE SELECT ON decoy FROM regress_harden_other;
SELECT * FROM holds;
ALTER EVENT TRIGGER regress_harden_swap ENABLE;
SELECT command, dp_pg.unharden_run(command, grantor, places) FROM dp_pg.unharden_plan();
SELECT * FROM holds;
ALTER EVENT TRIGGER regress_harden_swap DISABLE;
SELECT command, dp_pg.unharden_run(command, grantor, places) IS NULL AS done FROM dp_pg.unharden_plan();
SELECT * FROM holds;
ROLLBACK;

-- objects of the caller's own path and temporary schema
BEGIN;
CREATE SCHEMA regress_harden_evil;
CREATE FUNCTION regress_harden_evil.trap() RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''sprung''; END';
CREATE FUNCTION regress_harden_evil.eq(oid, oid) RETURNS boolean LANGUAGE sql AS 'SELECT regress_harden_evil.trap()';
CREATE FUNCTION regress_harden_evil.eq(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT regress_harden_evil.trap()';
CREATE FUNCTION regress_harden_evil.format(text, VARIADIC text[]) RETURNS text LANGUAGE sql AS 'SELECT regress_harden_evil.trap()::text';
CREATE OPERATOR regress_harden_evil.= (LEFTARG = oid, RIGHTARG = oid, FUNCTION = regress_harden_evil.eq);
CREATE OPERATOR regress_harden_evil.= (LEFTARG = text, RIGHTARG = text, FUNCTION = regress_harden_evil.eq);
CREATE VIEW regress_harden_evil.pg_class AS SELECT regress_harden_evil.trap();
CREATE VIEW regress_harden_evil.pg_roles AS SELECT regress_harden_evil.trap();
CREATE TEMP VIEW pg_proc AS SELECT regress_harden_evil.trap();
CREATE TEMP VIEW hardened AS SELECT regress_harden_evil.trap();
SET LOCAL search_path = regress_harden_evil, pg_temp, pg_catalog, public;
SELECT bool_or(done) FROM public.dp_harden();
SELECT bool_and(done) FROM public.dp_unharden();
ROLLBACK;

RESET search_path;
DROP OWNED BY regress_harden_owner, regress_harden_other, regress_harden_analyst CASCADE;
DROP SCHEMA IF EXISTS regress_harden CASCADE;
DROP ROLE regress_harden_owner, regress_harden_other, regress_harden_analyst, regress_harden_writer;
