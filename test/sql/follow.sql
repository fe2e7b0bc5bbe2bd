-- Tables that come to the name of a followed relation, and of one that is not.
\set VERBOSITY terse
\set owner regress_follow_owner
\set other regress_follow_other
\set ana regress_follow_ana
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS dp_pg;
CREATE ROLE :owner;
CREATE ROLE :other;
CREATE ROLE :ana;
CREATE SCHEMA follow AUTHORIZATION :owner;
CREATE SCHEMA "follow It's" AUTHORIZATION :owner;
GRANT USAGE ON SCHEMA follow, "follow It's" TO PUBLIC;
GRANT CREATE ON SCHEMA follow TO :other;
SELECT format('GRANT CREATE ON DATABASE %I TO %I', current_database(), :'owner') \gexec
CREATE VIEW state AS
SELECT n.name, n.relid, n.follow, n.kept IS NOT NULL AS kept, r.dataset, r.unit, r.unit_through AS through, r.published, r.rows,
	concat(r.max_rows, '/' || r.max_total, '/' || r.min_units) AS m, (SELECT string_agg(concat(a.attname, a.attnum, a.lower, '-', a.upper, a.keys::text), ' ' ORDER BY a.attname)
	FROM dp_pg.attribute AS a WHERE a.relid = r.relid) AS columns
FROM dp_pg.relation_name AS n LEFT JOIN dp_pg.relation AS r USING (relid)
WHERE n.schema ~ 'follow' ORDER BY 1, n.schema;
GRANT SELECT ON state TO :owner;
SET ROLE :owner;
SET search_path = follow, public;
SET client_min_messages = notice;

CREATE TABLE person (id int PRIMARY KEY, "Wa""rd" text, age int);
INSERT INTO person SELECT i, 'a', i FROM generate_series(1, 100) AS i;
SELECT dp_protect('person', unit => 'id', dataset => 'regress_follow', publish => '"follow It''s"."p v"', rows => 100, follow => true);
SELECT dp_declare('person', 'Wa"rd', keys => ARRAY['a', 'b']);
SELECT dp_declare('person', 'age', lower => 0, upper => 120);
SELECT dp_grant(:'ana', 'regress_follow', epsilon => 1000);
TABLE state;

-- dbt
CREATE VIEW "follow It's".user_view AS SELECT id FROM "follow It's"."p v";
BEGIN;
CREATE TABLE person_tmp AS SELECT age, id, "Wa""rd", 1 AS more FROM person;
GRANT SELECT ON person_tmp TO :ana;
ALTER TABLE person RENAME TO person_backup;
ALTER TABLE person_tmp RENAME TO person;
DROP TABLE person_backup CASCADE;
COMMIT;
TABLE state;
SELECT array_agg(attname ORDER BY attnum), has_table_privilege(:'ana', attrelid, 'SELECT') AS granted
FROM pg_attribute WHERE attrelid = '"follow It''s"."p v"'::regclass AND attnum > 0 GROUP BY attrelid;
SELECT has_table_privilege(:'ana', 'person', 'SELECT') AS readable;
SELECT note FROM dp_describe('person') WHERE attribute IS NULL;

-- a later GRANT, by all ways
GRANT SELECT ON person TO :ana;
GRANT SELECT (age) ON person TO :ana;
GRANT SELECT ON ALL TABLES IN SCHEMA follow TO :ana;
CREATE VIEW raw AS TABLE person;
GRANT SELECT ON raw TO :ana;
DROP VIEW raw;

-- dropped with its view, which is made anew
DROP TABLE person CASCADE;
TABLE state;
SELECT id, "Wa""rd", age INTO person FROM generate_series(1, 3) AS id, (VALUES ('a')) AS w ("Wa""rd"), generate_series(1, 1) AS age;
TABLE state;

-- what cannot be: types, columns, kinds, row security, owners
\set VERBOSITY default
BEGIN;
DROP TABLE person CASCADE;
CREATE TABLE person (id int, "Wa""rd" varchar(3), age int);
COMMIT;
BEGIN;
DROP TABLE person CASCADE;
CREATE TABLE person (id int, "Wa""rd" text COLLATE "C");
COMMIT;
BEGIN;
ALTER TABLE person RENAME TO base;
CREATE VIEW person AS TABLE base;
COMMIT;
BEGIN;
ALTER TABLE person ENABLE ROW LEVEL SECURITY;
ALTER TABLE person RENAME TO base;
CREATE TABLE person AS TABLE base;
COMMIT;
BEGIN;
ALTER TABLE person ENABLE ROW LEVEL SECURITY;
CREATE TABLE base AS TABLE person;
SELECT dp_protect('base', unit => 'id', dataset => 'regress_follow', revoke => true);
ALTER TABLE person RENAME TO earlier;
ALTER TABLE base RENAME TO person;
COMMIT;
BEGIN;
ALTER TABLE person ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE person RENAME TO base;
CREATE TABLE person (LIKE base);
ALTER TABLE person ENABLE ROW LEVEL SECURITY;
COMMIT;
BEGIN;
ALTER TABLE person RENAME TO base;
SET ROLE :other;
CREATE TABLE person (id int, "Wa""rd" text, age int);
COMMIT;
SET ROLE :other;
SELECT dp_unfollow('follow.person');
SET ROLE :owner;
\set VERBOSITY terse
-- until the transaction ends it may become fit
BEGIN;
DROP TABLE person CASCADE;
CREATE TABLE person (id int, "Wa""rd" text);
SAVEPOINT a;
ALTER TABLE person ADD age int;
ROLLBACK TO a;
ALTER TABLE person ADD age int;
COMMIT;
TABLE state;

-- names that go round; one that was protected before
BEGIN;
ALTER TABLE person RENAME TO b;
CREATE TABLE c AS TABLE b;
ALTER TABLE c RENAME TO person;
ALTER TABLE person RENAME TO d;
ALTER TABLE b RENAME TO person;
COMMIT;
SELECT relid FROM dp_pg.relation WHERE dataset = 'regress_follow' ORDER BY relid::text;
SELECT dp_unprotect('d');
DROP TABLE d;
CREATE TABLE e AS TABLE person;
SELECT dp_protect('e', dataset => 'regress_follow');
GRANT SELECT ON e TO :ana;
BEGIN;
DROP TABLE person CASCADE;
ALTER TABLE e RENAME TO person;
COMMIT;
SELECT dp_unprotect('e'), dp_protect('e', unit => 'id', dataset => 'regress_follow', revoke => true);
GRANT SELECT ON e TO :ana;
BEGIN;
DROP TABLE person CASCADE;
ALTER TABLE e RENAME TO person;
COMMIT;
SELECT has_table_privilege(:'ana', 'person', 'SELECT') AS readable;
-- a temporary table has another name
CREATE TEMP TABLE person (x int);
DROP TABLE pg_temp.person;

-- units behind it, in any order
ALTER TABLE person ADD PRIMARY KEY (id);
CREATE TABLE visit (n int, person_id int, cost int);
SELECT dp_protect('visit', unit => 'person_id -> person.id', dataset => 'regress_follow', follow => true);
SELECT dp_declare('visit', max_rows => 3, max_total => 7, min_units => 4);
SELECT dp_declare('visit', max_rows => 0);
BEGIN;
DROP TABLE visit, person CASCADE;
CREATE TABLE visit (cost int, person_id int);
CREATE TABLE person (id int PRIMARY KEY, "Wa""rd" text, age int);
COMMIT;
TABLE state;
BEGIN;
ALTER TABLE person RENAME TO person_old;
CREATE TABLE person AS TABLE person_old;
DROP TABLE person_old CASCADE;
SELECT dp_count(*) FROM visit;
ROLLBACK;
BEGIN;
ALTER TABLE person RENAME TO person_old;
CREATE TABLE person AS TABLE person_old;
ALTER TABLE person ADD PRIMARY KEY (id);
DROP TABLE person_old CASCADE;
SELECT dp_count(*) IS NOT NULL AS answered FROM visit;
COMMIT;

-- without the key that the unit of another is behind, and row security without its policies
\set VERBOSITY default
BEGIN;
ALTER TABLE person RENAME TO person_old;
CREATE TABLE person AS TABLE person_old;
DROP TABLE person_old CASCADE;
COMMIT;
ALTER TABLE person ADD PRIMARY KEY (id);
CREATE POLICY mine ON person FOR SELECT USING (age > 3);
ALTER TABLE person ENABLE ROW LEVEL SECURITY;
BEGIN;
ALTER TABLE person RENAME TO person_old;
CREATE TABLE person (LIKE person_old INCLUDING ALL);
ALTER TABLE person ENABLE ROW LEVEL SECURITY;
CREATE POLICY mine ON person FOR INSERT WITH CHECK (true);
DROP TABLE person_old CASCADE;
COMMIT;
BEGIN;
ALTER TABLE person RENAME TO person_old;
CREATE TABLE person (LIKE person_old INCLUDING ALL);
SET LOCAL client_min_messages = error;
ALTER TABLE person ENABLE ROW LEVEL SECURITY;
CREATE POLICY mine ON person USING (true);
RESET client_min_messages;
SET client_min_messages = notice;
DROP TABLE person_old CASCADE;
COMMIT;
SET client_min_messages = error;
DROP POLICY mine ON person;
ALTER TABLE person DISABLE ROW LEVEL SECURITY;
SET client_min_messages = notice;
-- privileges that are taken away are told, the first three
CREATE TABLE spare (LIKE person INCLUDING ALL);
GRANT SELECT, INSERT ON spare TO :ana;
GRANT UPDATE (age) ON spare TO :other;
GRANT SELECT (id, age) ON spare TO PUBLIC;
BEGIN;
ALTER TABLE person RENAME TO person_old;
ALTER TABLE spare RENAME TO person;
DROP TABLE person_old CASCADE;
COMMIT;
\set VERBOSITY terse

-- schemas
CREATE SCHEMA follow_new;
CREATE TABLE follow_new.visit AS TABLE visit;
CREATE TABLE follow_new.person (LIKE person INCLUDING ALL);
BEGIN;
ALTER SCHEMA follow RENAME TO follow_old;
ALTER SCHEMA follow_new RENAME TO follow;
COMMIT;
TABLE state;
SELECT relid FROM dp_pg.relation WHERE dataset = 'regress_follow' ORDER BY relid::text;
DROP SCHEMA follow_old CASCADE;
CREATE SCHEMA follow_old;
ALTER TABLE visit SET SCHEMA follow_old;
CREATE SCHEMA follow_next CREATE TABLE visit (person_id int);
ALTER TABLE follow_next.visit SET SCHEMA follow;
SELECT relid FROM dp_pg.relation WHERE dataset = 'regress_follow' ORDER BY relid::text;
DROP SCHEMA follow_old, follow_next CASCADE;

-- immutable columns
\set VERBOSITY default
SELECT dp_declare('person', 'Wa"rd', immutable => true);
CREATE TABLE fixed (id int, kind bool);
SELECT dp_protect('fixed', unit => 'id', dataset => 'regress_follow');
SELECT dp_declare('fixed', 'kind', immutable => true);
SELECT dp_protect('fixed', unit => 'id', follow => true);
SELECT dp_declare('follow.fixed', 'kind', immutable => false);
\set VERBOSITY terse

-- parts
ALTER DEFAULT PRIVILEGES IN SCHEMA follow GRANT SELECT ON TABLES TO :ana;
CREATE TABLE log (id int, at int, kind text) PARTITION BY LIST (at);
SELECT dp_protect('log', unit => 'id', dataset => 'regress_follow', revoke => true, follow => true, max_total => 1);
SELECT dp_declare('log', 'kind', keys => ARRAY['x']), dp_declare('log', min_units => 5);
CREATE TABLE log_1 PARTITION OF log FOR VALUES IN (1);
SELECT has_table_privilege(:'ana', 'log_1', 'SELECT') AS readable;
ALTER TABLE log DETACH PARTITION log_1;
SELECT * FROM state WHERE name ~ 'log';
ALTER TABLE log ATTACH PARTITION log_1 FOR VALUES IN (1);
ALTER TABLE log DETACH PARTITION log_1;
CREATE TABLE child () INHERITS (visit);
ALTER TABLE child NO INHERIT visit;
SELECT * FROM state WHERE name ~ 'child';
-- a profile goes to the next table, and to a part that is detached
CREATE TABLE daily (id int NOT NULL, at int) PARTITION BY LIST (at);
CREATE TABLE daily_1 PARTITION OF daily FOR VALUES IN (1);
SELECT dp_protect('daily', unit => 'id', dataset => 'regress_follow', revoke => true, follow => true);
INSERT INTO daily SELECT i, 1 FROM generate_series(1, 100) AS i;
SELECT count(*) > 0 AS profiled FROM dp_profile('daily');
ALTER TABLE daily DETACH PARTITION daily_1;
DROP TABLE daily;
CREATE TABLE daily (id int NOT NULL, at int);
SELECT p.relid, p.at > now() - interval '1 hour' AS at, p.epsilon, jsonb_array_length(p.lines) > 0 AS lines FROM dp_pg.profile AS p ORDER BY p.relid::text;

-- keys of several columns, as they are in the primary key
CREATE TABLE orders (no int, day date, person_id int NOT NULL, PRIMARY KEY (no, day));
CREATE TABLE item (no int NOT NULL, day date NOT NULL, cost int);
SELECT dp_protect('orders', unit => 'person_id', dataset => 'regress_follow', revoke => true, follow => true),
	dp_protect('item', unit => '(no, day) -> orders.person_id', dataset => 'regress_follow', revoke => true, follow => true);
BEGIN;
DROP TABLE item, orders;
CREATE TABLE item (cost int, day date NOT NULL, no int NOT NULL);
CREATE TABLE orders (person_id int NOT NULL, day date, no int, PRIMARY KEY (no, day));
COMMIT;
SELECT relid, unit, unit_more, unit_more_attnums, unit_through, unit_key, unit_key_more, unit_key_more_attnums
FROM dp_pg.relation WHERE relid = 'item'::regclass;
CREATE TABLE again AS TABLE item;
BEGIN;
ALTER TABLE item RENAME TO item_before;
ALTER TABLE again RENAME TO item;
SELECT unit, unit_more, unit_through FROM dp_pg.relation WHERE relid = 'item'::regclass;
ALTER TABLE orders DROP CONSTRAINT orders_pkey, ADD PRIMARY KEY (day, no);
DROP TABLE item;
CREATE TABLE item (cost int, day date NOT NULL, no int NOT NULL);
COMMIT;
SELECT dp_unprotect('item');
DROP TABLE item, orders CASCADE;
SELECT dp_unfollow('orders');

-- a name that is kept for tables of another role
GRANT USAGE, CREATE ON SCHEMA follow TO :other;
BEGIN;
DROP TABLE visit CASCADE;
SET ROLE :other;
CREATE TABLE visit (id int);
SELECT dp_protect('visit', dataset => 'regress_follow_other');
ROLLBACK;
BEGIN;
DROP TABLE visit CASCADE;
SET ROLE :other;
CREATE TABLE others (id int) PARTITION BY LIST (id);
SELECT dp_protect('others', dataset => 'regress_follow_other', revoke => true);
CREATE TABLE visit PARTITION OF others FOR VALUES IN (1);
ALTER TABLE others DETACH PARTITION visit;
ROLLBACK;
SET ROLE :owner;

-- what opens a part, and is not a privilege on it; what an analyst was answered does not
GRANT USAGE, CREATE ON SCHEMA follow TO :ana;
SET ROLE :ana;
SET dp_pg.transparent = on;
SET dp_pg.epsilon = 1;
CREATE MATERIALIZED VIEW answered AS SELECT count(*) FROM log;
SET dp_pg.transparent = off;
SET ROLE :owner;
CREATE TABLE log_2 (LIKE log) PARTITION BY LIST (id);
CREATE TABLE log_2_1 PARTITION OF log_2 FOR VALUES IN (1);
CREATE VIEW log_2_view AS TABLE log_2_1;
ALTER TABLE log ATTACH PARTITION log_2 FOR VALUES IN (2);
SELECT relname, has_table_privilege(:'ana', oid, 'SELECT') AS readable FROM pg_class WHERE relname ~ '^log_2' ORDER BY 1;

RESET ROLE;
DROP MATERIALIZED VIEW answered;
SET ROLE :owner;

-- one that becomes a part of what others may read
CREATE TABLE above (LIKE person) PARTITION BY LIST (age);
ALTER TABLE above ATTACH PARTITION person DEFAULT;
DROP TABLE above;

-- views, which default privileges open, or which are open before
CREATE VIEW raw AS TABLE person;
CREATE MATERIALIZED VIEW raw AS TABLE person;
EXPLAIN ANALYZE CREATE MATERIALIZED VIEW raw AS TABLE person;
CREATE VIEW raw AS SELECT 1 AS id;
CREATE OR REPLACE VIEW raw AS SELECT id FROM person;
CREATE OR REPLACE VIEW raw WITH (security_invoker) AS SELECT id FROM person;
CREATE VIEW raw_more AS TABLE raw;
ALTER VIEW raw RESET (security_invoker);
DROP VIEW raw CASCADE;

-- a column of the view has another name
ALTER VIEW "follow It's"."p v" RENAME COLUMN age TO years;
BEGIN;
CREATE TABLE person_tmp AS TABLE person;
ALTER TABLE person_tmp ADD PRIMARY KEY (id);
ALTER TABLE person RENAME TO person_backup;
ALTER TABLE person_tmp RENAME TO person;
DROP TABLE person_backup;
COMMIT;
SELECT array_agg(attname ORDER BY attnum) FROM pg_attribute WHERE attrelid = '"follow It''s"."p v"'::regclass;

-- two that change places, behind which units are
CREATE TABLE a (id int PRIMARY KEY, person int NOT NULL);
CREATE TABLE b (LIKE a INCLUDING ALL);
CREATE TABLE of_a (a int NOT NULL);
CREATE TABLE of_b (b int NOT NULL);
SELECT dp_protect(t, unit => 'person', dataset => 'regress_follow', revoke => true, follow => true)
FROM unnest('{a,b}'::regclass[]) AS t;
SELECT dp_protect('of_a', unit => 'a -> a.person', dataset => 'regress_follow', revoke => true);
BEGIN;
ALTER TABLE a RENAME TO c;
ALTER TABLE b RENAME TO a;
ALTER TABLE c RENAME TO b;
COMMIT;
SELECT relid, unit_through FROM dp_pg.relation WHERE relid = 'of_a'::regclass;
SELECT dp_protect('of_b', unit => 'b -> b.person', dataset => 'regress_follow', revoke => true);
BEGIN;
ALTER TABLE a RENAME TO c;
ALTER TABLE b RENAME TO a;
ALTER TABLE c RENAME TO b;
COMMIT;
-- one that goes on, and another in its place
BEGIN;
ALTER TABLE b RENAME TO c;
ALTER TABLE a RENAME TO b;
CREATE TABLE a (LIKE b INCLUDING ALL);
COMMIT;
SELECT relid, unit_through FROM dp_pg.relation WHERE relid IN ('of_a'::regclass, 'of_b'::regclass) ORDER BY 1;
SET client_min_messages = error;
DROP TABLE of_a, of_b, a, b, c;
SET client_min_messages = notice;
SELECT dp_unfollow('a'), dp_unfollow('b');

-- one that keeps its new name
CREATE TABLE moved AS SELECT 1 AS id;
SELECT dp_protect('moved', unit => 'id', dataset => 'regress_follow', revoke => true, follow => true);
ALTER TABLE moved RENAME TO stays;
DROP TABLE stays;
CREATE TABLE stays AS SELECT 1 AS id;
SELECT has_table_privilege(:'ana', 'stays', 'SELECT') AS readable;
SELECT dp_unprotect('stays');
SELECT dp_unfollow('moved');
DROP TABLE stays;
-- where one that was not followed had it before
CREATE TABLE stays AS SELECT 1 AS id;
SELECT dp_protect('stays', unit => 'id', dataset => 'regress_follow', revoke => true);
DROP TABLE stays;
CREATE TABLE moved AS SELECT 1 AS id;
SELECT dp_protect('moved', unit => 'id', dataset => 'regress_follow', revoke => true, follow => true);
ALTER TABLE moved RENAME TO stays;
DROP TABLE stays;
CREATE TABLE stays AS SELECT 1 AS id;
SELECT name, relid, follow FROM state WHERE name IN ('moved', 'stays');
-- a part whose rows a view of a materialized view shows
CREATE TABLE copied AS SELECT 1 AS id;
CREATE MATERIALIZED VIEW copy AS TABLE copied;
CREATE VIEW of_copy AS TABLE copy;
GRANT SELECT ON of_copy TO :ana;
ALTER TABLE copied INHERIT stays;
SELECT has_table_privilege(:'ana', 'of_copy', 'SELECT') AS readable;
DROP TABLE copied CASCADE;
SELECT dp_unprotect('stays');
SELECT dp_unfollow('moved');
DROP TABLE stays;

-- both names of one that was renamed end with either
CREATE TABLE moved AS SELECT 1 AS id;
SELECT dp_protect('moved', unit => 'id', dataset => 'regress_follow', revoke => true, follow => true);
ALTER TABLE moved RENAME TO stays;
SELECT dp_unfollow('stays');
SELECT name, relid, follow FROM state WHERE name IN ('moved', 'stays');
-- DROP warns of no name that another table has
CREATE TABLE moved AS SELECT 1 AS id;
ALTER TABLE moved RENAME TO moved_away;
CREATE TABLE moved AS SELECT 1 AS id;
ALTER TABLE stays RENAME TO left_behind;
CREATE TABLE stays AS SELECT 1 AS id;
DROP TABLE left_behind;
DROP TABLE moved, moved_away, stays;

-- of names that are not followed the last hundred are kept
SET client_min_messages = error;
SELECT count(*) AS names FROM dp_pg.relation_name WHERE relid = 0 AND NOT follow AND owner_name = :'owner';
DO $$ BEGIN
FOR i IN 1 .. 105 LOOP
	EXECUTE format('CREATE TABLE short_%s (id int)', i);
	PERFORM dp_protect(format('short_%s', i)::regclass, dataset => 'regress_follow', revoke => true);
	EXECUTE format('DROP TABLE short_%s', i);
END LOOP;
END $$;
SELECT count(*) AS names FROM dp_pg.relation_name WHERE relid = 0 AND NOT follow AND owner_name = :'owner';
RESET ROLE;
DELETE FROM dp_pg.relation_name WHERE name ~ '^short';
SET ROLE :owner;
SET client_min_messages = notice;

-- what is not followed: warned of once, and audited
DROP TABLE log_1;
CREATE TABLE log_1 (id int);
CREATE TABLE beside (id int);
CREATE VIEW v AS SELECT 1;
-- what others made before stops nobody's GRANT and view
CREATE TABLE opened (id int, x int);
CREATE VIEW opened_view AS TABLE opened;
SET client_min_messages = error;
SELECT dp_protect('opened', unit => 'id', dataset => 'follow', revoke => true, follow => true) \g /dev/null
GRANT INSERT ON opened_view TO :ana;
CREATE UNIQUE INDEX ON opened (x);
SELECT count(*) > 0 AS open FROM dp_audit() WHERE object ~ 'follow.opened';
RESET ROLE;
SET ROLE :other;
CREATE TEMPORARY TABLE own (id int);
CREATE TEMPORARY VIEW own_view AS TABLE own;
GRANT SELECT ON ALL TABLES IN SCHEMA pg_temp TO :ana;
RESET ROLE;
SET ROLE :owner;
SET client_min_messages = notice;
SELECT dp_unfollow('opened') \g /dev/null
DROP TABLE opened CASCADE;
-- views may read each other
CREATE VIEW ring AS SELECT 1 AS id;
CREATE VIEW ring_2 AS TABLE ring;
CREATE OR REPLACE VIEW ring AS TABLE ring_2;
SELECT severity, finding, object, remedy FROM dp_audit() WHERE object ~ '^follow' AND severity = 'high';
SELECT dp_unfollow('log_1');
SELECT dp_unfollow('log_1');
SELECT dp_unfollow('visit');
SELECT dp_unfollow('a.b.c');
SELECT dp_unfollow(NULL);
DROP TABLE visit CASCADE;
DROP TABLE person CASCADE;
SELECT severity, finding, object, remedy FROM dp_audit() WHERE object ~ '^follow' AND finding ~ 'no table';
SELECT dp_unfollow('follow.person');
CREATE TABLE person (id int);
SELECT dp_unprotect('log');
SELECT name, relid, follow, kept, unit FROM state;

RESET ROLE;
SET client_min_messages = error;
DROP SCHEMA follow, "follow It's" CASCADE;
DROP VIEW state;
SELECT count(*) FROM dp_pg.relation_name WHERE schema ~ 'follow';
DELETE FROM dp_pg.relation_name WHERE schema ~ 'follow';
DROP OWNED BY :owner, :other, :ana CASCADE;
DROP ROLE :owner, :other, :ana;
