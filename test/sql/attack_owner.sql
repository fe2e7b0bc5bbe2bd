-- Attacks around the owner: bounded prices, tables that are given away, keys
-- that refer to tables of others.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test attack_owner
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

-- the price of one query, as the owner bounds it
SET ROLE :owner;
SELECT dp_limit(:'schema', epsilon => 1e9, delta => 1e-6, epsilon_floor => 0.05, epsilon_ceiling => 0.2) \g /dev/null
SET ROLE :analyst;
SELECT * FROM spent() \g /dev/null
SELECT dp_count(1, 0.04999) FROM person;
SELECT dp_count(1, 0.20001) FROM person;
SELECT dp_count(*) FROM person;
SET dp_pg.epsilon = '0.01';
SELECT dp_count(*) FROM person;
SELECT dp_sum(age, 0, 1, 5) FROM person;
SELECT * FROM spent();
SELECT dp_count(1, 0.05) IS NULL, dp_sum(age, 0, 1, 0.2) IS NULL FROM person;
SELECT * FROM spent();
SET dp_pg.epsilon = '100000';
SET ROLE :owner;
SELECT dp_limit(:'schema', epsilon => 1e11, delta => 1e-6) \g /dev/null
RESET ROLE;

-- a table that was handed over: its former owner has no more right to it than
-- his dataset's budget would give anybody
\set heir regress_attack_owner_heir
CREATE ROLE :heir;
GRANT CREATE ON SCHEMA :schema TO :heir;
SET ROLE :owner;
CREATE TABLE estate (id int PRIMARY KEY, x int);
INSERT INTO estate SELECT g, g FROM generate_series(1, 100) g;
SELECT dp_protect('estate', dataset => :'schema') \g /dev/null
SELECT dp_count(*) FROM estate;
RESET ROLE;
ALTER TABLE estate OWNER TO :heir;
SET ROLE :owner;
SELECT count(*) FROM estate;
SELECT dp_count(*) FROM estate;
SELECT dp_count(1, 10) IS NULL FROM estate;
RESET ROLE;
ALTER TABLE estate OWNER TO :owner;
SET ROLE :owner;
SELECT dp_count(*) FROM estate;
RESET ROLE;

-- a foreign key to a table in which others delete or update answers for every
-- key, without noise and without a charge
SET ROLE :owner;
CREATE TABLE place (p text PRIMARY KEY);
INSERT INTO place VALUES ('used'), ('unused');
CREATE TABLE guest (id int PRIMARY KEY, p text REFERENCES place);
INSERT INTO guest VALUES (1, 'used');
GRANT SELECT, DELETE ON place TO :analyst;
SELECT dp_protect('guest', dataset => :'schema');
REVOKE DELETE ON place FROM :analyst;
GRANT UPDATE ON place TO :analyst;
SELECT dp_protect('guest', dataset => :'schema');
REVOKE ALL ON place FROM :analyst;
SELECT dp_protect('guest', dataset => :'schema') \g /dev/null
SET client_min_messages = error;
GRANT DELETE ON place TO :analyst;
SET client_min_messages = warning;
SET ROLE :analyst;
SELECT count(*) > 0 AS audited FROM dp_audit() WHERE concat(finding, object, remedy) ~ 'guest' AND severity IN ('high', 'critical');
RESET ROLE; SET ROLE :owner;
REVOKE ALL ON place FROM :analyst;
SELECT count(*) > 0 AS audited FROM dp_audit() WHERE concat(finding, object, remedy) ~ 'guest';
RESET ROLE;
-- the other way round it is REFERENCES on the protected table, an exposure
SET ROLE :owner;
CREATE TABLE member (id int PRIMARY KEY);
GRANT REFERENCES ON member TO :analyst;
SELECT dp_protect('member', dataset => :'schema');
REVOKE REFERENCES ON member FROM :analyst;
CREATE TABLE visit (m int REFERENCES member);
GRANT INSERT ON visit TO :analyst;
SELECT dp_protect('member', dataset => :'schema');
REVOKE INSERT ON visit FROM :analyst;
SELECT dp_protect('member', dataset => :'schema') \g /dev/null
RESET ROLE;

-- whoever registers a dataset first gives no budgets on others' tables: a superuser's, a member's of his role
SET ROLE :analyst;
CREATE TABLE bait (id int PRIMARY KEY);
SELECT dp_protect('bait', dataset => 'squatted') \g /dev/null
RESET ROLE;
CREATE TABLE secret (id int PRIMARY KEY);
SELECT dp_protect('secret', dataset => 'squatted');
GRANT :analyst TO :owner;
SET ROLE :owner;
CREATE TABLE secret_too (id int PRIMARY KEY);
SELECT dp_protect('secret_too', dataset => 'squatted');
SELECT count(*) FROM dp_pg.relation WHERE relid IN ('secret'::regclass, 'secret_too'::regclass);
-- in his own dataset he can
SELECT dp_protect('secret_too', dataset => :'schema') \g /dev/null
RESET ROLE;
REVOKE :analyst FROM :owner;
-- a table that was given away is nobody's to ask, until it is back
SELECT dp_grant(:'analyst', :'schema', epsilon => 1000000, filter => 'basic') \g /dev/null
SET ROLE :analyst;
SELECT dp_count(*) FROM secret_too;
RESET ROLE;
ALTER TABLE secret_too OWNER TO :heir;
SET ROLE :analyst;
SELECT dp_count(*) FROM secret_too;
SELECT severity, finding, remedy FROM dp_audit() WHERE object = :'schema' || '.secret_too';
RESET ROLE;
ALTER TABLE secret_too OWNER TO :owner;
SET ROLE :analyst;
SELECT dp_count(*) FROM secret_too;
-- ALTER OWNER and REASSIGN OWNED warn, whoever ran them where; not of tables
-- that nobody protects, that stay where they were or that come back
RESET ROLE;
GRANT :heir TO :owner;
BEGIN;
CREATE TABLE unprotected (id int);
ALTER TABLE unprotected OWNER TO :owner;
REASSIGN OWNED BY :owner TO :heir;
ROLLBACK;
REVOKE :heir FROM :owner;
\set VERBOSITY default
BEGIN;
ALTER TABLE secret_too OWNER TO :heir;
ROLLBACK;
BEGIN;
REASSIGN OWNED BY :owner TO :heir;
REASSIGN OWNED BY :owner TO :analyst;
REASSIGN OWNED BY :heir TO :owner;
ROLLBACK;
BEGIN;
DO 'BEGIN REASSIGN OWNED BY regress_attack_owner_owner TO regress_attack_owner_heir; END';
ROLLBACK;
\set VERBOSITY sqlstate
SET ROLE :analyst;
-- a floor that was set after a cursor was declared holds for it
BEGIN;
DECLARE cheap CURSOR FOR SELECT dp_count(1, 0.5) IS NOT NULL FROM secret_too;
RESET ROLE;
SELECT dp_limit(dataset => :'schema', epsilon => 1000000000, filter => 'basic', epsilon_floor => 1) \g /dev/null
SET ROLE :analyst;
FETCH cheap;
ROLLBACK;
RESET ROLE;
DROP TABLE secret, secret_too, bait;

DROP OWNED BY :heir;
DROP ROLE :heir;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
