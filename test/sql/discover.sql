-- How tools and people find what may be asked: published views, their
-- comments, dp_describe.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test discover
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
CREATE SCHEMA "Discover bi" AUTHORIZATION :owner;
CREATE SCHEMA discover_other AUTHORIZATION :owner;
GRANT USAGE ON SCHEMA "Discover bi", discover_other TO :analyst;
SET ROLE :owner;
CREATE TABLE "Odd table" ("the ""unit""" int NOT NULL, "Col é" text, plain int);
CREATE TABLE second (a int);
CREATE TABLE third (a int);

-- a schema in which everything is published
SET dp_pg.publish_schema = 'Discover bi';
SELECT dp_protect('"Odd table"', unit => 'the "unit"', dataset => :'schema') \g /dev/null
SELECT dp_protect('second', dataset => :'schema', publish => '') \g /dev/null
SELECT dp_protect('third', dataset => :'schema', publish => 'discover_other.third') \g /dev/null
SELECT relid::text, published::text FROM dp_pg.relation WHERE dataset = :'schema' ORDER BY 1;
-- again: what is published stays, and what is not is published
SET dp_pg.publish_schema = 'discover_other';
SELECT dp_protect('"Odd table"', unit => 'the "unit"', dataset => :'schema') \g /dev/null
SELECT dp_protect('second', dataset => :'schema') \g /dev/null
SELECT relid::text, published::text FROM dp_pg.relation WHERE dataset = :'schema' ORDER BY 1;
SET ROLE :analyst;
SELECT dp_count(*) FROM "Discover bi"."Odd table";
SELECT state, hinted FROM outcome('SELECT * FROM discover_other.second');
-- schemas that do not do
SET ROLE :owner;
CREATE TABLE fourth (a int);
SET dp_pg.publish_schema = 'discover_nowhere';
SELECT dp_protect('fourth', dataset => :'schema');
SET dp_pg.publish_schema = :schema;
SELECT dp_protect('fourth', dataset => :'schema');
SET dp_pg.publish_schema = 'pg_catalog';
SELECT dp_protect('fourth', dataset => :'schema');
SET dp_pg.publish_schema = 'pg_temp';
SELECT dp_protect('fourth', dataset => :'schema');
SELECT count(*) FROM dp_pg.relation WHERE relid = 'fourth'::regclass;
RESET dp_pg.publish_schema;

RESET ROLE;
SET client_min_messages = error;
DROP SCHEMA "Discover bi", discover_other CASCADE;
SET client_min_messages = warning;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
