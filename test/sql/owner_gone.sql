-- A dataset whose owner was dropped belongs to superusers: errors say so, and
-- a role that is created under the old name gets nothing.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test owner_gone
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
\set VERBOSITY default
CREATE ROLE regress_owner_gone_left;
GRANT CREATE, USAGE ON SCHEMA :schema TO regress_owner_gone_left;
SET ROLE regress_owner_gone_left;
CREATE TABLE gone (id int PRIMARY KEY);
SELECT dp_protect('gone', unit => 'id', dataset => 'regress_owner_gone_left') \g /dev/null
SELECT dp_grant(:'analyst', epsilon => 1) \g /dev/null
RESET ROLE;
SET ROLE :owner;
SELECT dp_grant(:'analyst', 'regress_owner_gone_left', epsilon => 1);
RESET ROLE;
REASSIGN OWNED BY regress_owner_gone_left TO :owner;
DROP OWNED BY regress_owner_gone_left;
DROP ROLE regress_owner_gone_left;
CREATE ROLE regress_owner_gone_left;
GRANT CREATE, USAGE ON SCHEMA :schema TO regress_owner_gone_left;
SET ROLE regress_owner_gone_left;
SELECT dp_grant(:'analyst', 'regress_owner_gone_left', epsilon => 1);
CREATE TABLE again (id int PRIMARY KEY);
SELECT dp_protect('again', unit => 'id');
RESET ROLE;
SET ROLE :owner;
SELECT dp_declare('gone', rows => 1000);
SELECT dp_unprotect('gone');
SELECT dp_protect('gone', unit => 'id', dataset => :'schema') \g /dev/null
RESET ROLE;
-- the superuser gives it away, as owner.md says
UPDATE dp_pg.dataset SET owner_oid = 'regress_owner_gone_left'::regrole, owner_name = 'regress_owner_gone_left'
WHERE name = 'regress_owner_gone_left';
SET ROLE regress_owner_gone_left;
SELECT dp_protect('again', unit => 'id') \g /dev/null
SELECT role, epsilon FROM dp_pg.budgets;
RESET ROLE;
SET client_min_messages = error;
DROP OWNED BY regress_owner_gone_left CASCADE;
DROP ROLE regress_owner_gone_left;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
