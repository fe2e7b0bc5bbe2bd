-- How tools and people find what they can query: published views, their
-- comments, dp_describe.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test discover
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
SELECT current_user AS superuser \gset
CREATE SCHEMA "Discover bi" AUTHORIZATION :owner;
CREATE SCHEMA discover_other AUTHORIZATION :owner;
GRANT USAGE ON SCHEMA "Discover bi", discover_other TO :analyst;
SET ROLE :owner;
CREATE TABLE "Odd table" ("the ""unit""" int NOT NULL, "Col é" text, plain int);
CREATE TABLE second (a int);
CREATE TABLE third (a int);

-- a schema in which everything is published
SET dp_pg.publish_schema = 'Discover bi';
SELECT dp_protect('"Odd table"', unit => 'the "unit"', dataset => :'schema', max_total => 1) \g /dev/null
SELECT dp_protect('second', dataset => :'schema', publish => '') \g /dev/null
SELECT dp_protect('third', dataset => :'schema', publish => 'discover_other.third') \g /dev/null
SELECT relid::text, published::text FROM dp_pg.relation WHERE dataset = :'schema' ORDER BY 1;
-- again: what is published stays, and what is not is published
SET dp_pg.publish_schema = 'discover_other';
SELECT dp_protect('"Odd table"', unit => 'the "unit"', dataset => :'schema', max_total => 1) \g /dev/null
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

-- what may be asked, with examples that run
CREATE DOMAIN percent AS int CHECK (VALUE <= 100);
CREATE DOMAIN small_percent AS percent;
CREATE TYPE pair AS (a int, b text);
CREATE TABLE every (gone int, person int NOT NULL, i2 int2, i4 int4 NOT NULL, i8 int8, f4 float4, f8 float8, n numeric(9,2), m money,
	t text, v varchar(9), c char(3), u uuid, j json, jb jsonb, b bytea, sex boolean, feel mood NOT NULL, d date, ts timestamp, tz timestamptz,
	ti time, iv interval, a int[], p point, pc percent, sp small_percent, pr pair, ip inet, "Group" text, "sélect" int, x xml, r int4range);
ALTER TABLE every DROP COLUMN gone;
INSERT INTO every (person, i4, feel) SELECT i % 10, i, 'ok' FROM generate_series(1, 100) i;
SELECT dp_protect('every', unit => 'person', dataset => :'schema', publish => 'discover_other.every', rows => 100, max_total => 1) \g /dev/null
SELECT dp_declare('every', c.name, lower => 0, upper => 50) FROM (VALUES ('i4'), ('f8'), ('n'), ('pc'), ('sp')) c (name) \g /dev/null
SELECT dp_declare('every', 'd', lower => date '2020-01-01', upper => date '2020-12-31') \g /dev/null
SELECT dp_declare('every', 'ts', lower => timestamp '2020-01-01', upper => timestamp '2020-12-31') \g /dev/null
SELECT dp_declare('every', 'tz', lower => timestamptz '2020-01-01', upper => timestamptz '2020-12-31') \g /dev/null
SELECT dp_declare('every', 'Group', keys => ARRAY['x', 'y'], other => 'z', nulls => false) \g /dev/null
SELECT dp_declare('every', 'i2', keys => ARRAY[1, 2]) \g /dev/null
SELECT dp_declare('every', 'i2', immutable => false) \g /dev/null
ALTER VIEW discover_other.every RENAME i8 TO big;
CREATE FUNCTION run_examples(relation regclass, OUT examples bigint, OUT failed text[]) LANGUAGE plpgsql AS $$
DECLARE
	e record;
BEGIN
	examples := 0;
	FOR e IN SELECT * FROM dp_describe(relation) LOOP
		BEGIN
			examples := examples + 1;
			EXECUTE e.example;
		EXCEPTION WHEN OTHERS THEN
			failed := failed || format('%s: %s %s', e.example, SQLSTATE, SQLERRM);
		END;
	END LOOP;
END $$;
SET ROLE :analyst;
SELECT * FROM dp_describe('discover_other.every');
SELECT * FROM run_examples('every');
SELECT * FROM run_examples('discover_other.every');
SELECT * FROM run_examples('"Discover bi"."Odd table"');
SELECT * FROM run_examples('person');
SET search_path = pg_catalog;
SELECT attribute, example FROM public.dp_describe('regress_discover.person') WHERE attribute IN ('age', 'ward') OR attribute IS NULL;
SELECT set_config('search_path', :'schema' || ', public', false) \g /dev/null
-- it describes what is protected only, and costs nothing
SELECT * FROM spent() \g /dev/null
SELECT dp_describe('told_later') FROM (VALUES (1)) x;
SELECT * FROM dp_describe('pg_class');
SELECT count(*) FROM dp_describe(NULL);
SELECT count(*) FROM dp_describe('person');
SELECT * FROM spent();
-- a part of a protected relation, and a view that nobody published
SET ROLE :owner;
CREATE VIEW mine AS SELECT * FROM person;
SET ROLE :analyst;
SELECT * FROM dp_describe('mine');
-- declarations by every name
SELECT * FROM dp_pg.attributes WHERE relation = 'discover_other.every'::regclass ORDER BY attribute;
SELECT attribute FROM dp_pg.attributes WHERE relation = 'every'::regclass EXCEPT SELECT attribute FROM dp_pg.attributes WHERE relation = 'discover_other.every'::regclass;
-- releases by every name
SELECT dp_count(*) IS NOT NULL FROM discover_other.every;
SELECT value, relations FROM dp_last_release();
SELECT (SELECT dp_count(*) FROM person) IS NOT NULL, (SELECT dp_count(*) FROM every) IS NOT NULL;
SELECT count(*) FROM dp_last_release() WHERE 'discover_other.every'::regclass = ANY (relations);
SELECT relations FROM dp_last_release() WHERE 'person'::regclass = ANY (relations);
SET ROLE :owner;

-- comments: the owner's own text, then what was declared
CREATE TABLE visit (who int, ward text, cost numeric, "at" timestamptz, day date, note text);
COMMENT ON TABLE visit IS 'Visits since 2020';
COMMENT ON COLUMN visit.cost IS 'Euros';
COMMENT ON COLUMN visit.note IS 'Free text';
CREATE VIEW told AS
SELECT c.relname || coalesce('.' || a.attname, '') AS about, d.description
FROM pg_description d JOIN pg_class c ON c.oid = d.objoid AND c.relnamespace = 'discover_other'::regnamespace
LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.objsubid AND a.attnum > 0
WHERE d.classoid = 'pg_class'::regclass AND c.relname LIKE '%visit%' ORDER BY d.objsubid;
GRANT SELECT ON told TO PUBLIC;
\pset format unaligned
SELECT dp_protect('visit', unit => 'who', dataset => :'schema', publish => 'discover_other.visit', rows => 1234) \g /dev/null
SELECT * FROM told;
SELECT dp_declare('visit', 'cost', lower => 0, upper => 99.5) \g /dev/null
SELECT dp_declare('visit', 'ward', keys => ARRAY['A', 'it''s', repeat('ü', 40)], other => 'rest') \g /dev/null
SELECT dp_declare('visit', 'at', lower => timestamptz '2020-01-01 00:00+01', upper => timestamptz '2021-01-01') \g /dev/null
SELECT dp_declare('visit', 'day', keys => (SELECT array_agg(date '2020-01-01' + i) FROM generate_series(0, 29) i), nulls => false) \g /dev/null
SELECT dp_declare('visit', max_rows => 5) \g /dev/null
SELECT dp_declare('visit', rows => NULL) \g /dev/null
SELECT * FROM told;
-- declared again, otherwise
SELECT dp_declare('visit', 'cost', lower => -1, upper => 1) \g /dev/null
SELECT dp_declare('visit', 'ward', keys => ARRAY['A']) \g /dev/null
SELECT dp_declare('visit', 'day', keys => ARRAY[date '2020-02-02']) \g /dev/null
SELECT dp_protect('visit', dataset => :'schema') \g /dev/null
SELECT dp_declare('visit', 'ward', immutable => true) \g /dev/null
SELECT * FROM told;
SELECT dp_declare('visit', 'ward', immutable => false) \g /dev/null
SELECT description FROM told WHERE about = 'visit.ward';
-- comments written later
COMMENT ON COLUMN visit.cost IS 'Dollars';
COMMENT ON COLUMN visit.note IS NULL;
COMMENT ON TABLE visit IS 'Visits';
COMMENT ON COLUMN discover_other.visit.ward IS 'Ward [A to Z]';
SELECT dp_declare('visit', 'cost', lower => 0, upper => 1) \g /dev/null
SELECT * FROM told;
COMMENT ON COLUMN discover_other.visit.ward IS NULL;
COMMENT ON VIEW discover_other.visit IS 'Seen';
SELECT * FROM told;
-- a column renamed, in the table or in the view, and one dropped from the view
ALTER TABLE visit RENAME cost TO price;
ALTER VIEW discover_other.visit RENAME ward TO station;
ALTER VIEW discover_other.visit RENAME TO seen_visit;
SELECT dp_declare('visit', 'price', lower => 0, upper => 2) \g /dev/null
SELECT dp_declare('visit', 'ward', keys => ARRAY['B']) \g /dev/null
SELECT * FROM told;
-- not wanted, and wanted again
SELECT dp_protect('visit', dataset => :'schema', comment => false) \g /dev/null
SELECT * FROM told;
SELECT dp_declare('visit', 'price', lower => 0, upper => 3) \g /dev/null
SELECT dp_protect('visit', dataset => :'schema') \g /dev/null
COMMENT ON TABLE visit IS 'Not for the view';
SELECT count(*) FROM told WHERE description LIKE '%[dp_pg%' OR description LIKE 'Not%';
SELECT dp_protect('visit', dataset => :'schema', comment => true) \g /dev/null
SELECT count(*) FROM told WHERE description LIKE '%[dp_pg%]';
-- an analyst sees them, as does everybody who sees declarations
SET ROLE :analyst;
SELECT * FROM told WHERE about LIKE '%.cost';
-- with the transaction they go
SET ROLE :owner;
BEGIN;
SELECT dp_declare('visit', 'price', lower => 0, upper => 4) \g /dev/null
ROLLBACK;
SELECT description FROM told WHERE about LIKE '%.cost';
-- a view that is no longer what was published tells nothing
CREATE OR REPLACE VIEW discover_other.seen_visit WITH (security_invoker) AS SELECT who, ward AS station, price + 1 AS cost, "at", day, note FROM visit;
SELECT dp_declare('visit', 'price', lower => 0, upper => 5) \g /dev/null
SELECT * FROM told;
CREATE OR REPLACE VIEW discover_other.seen_visit WITH (security_invoker) AS SELECT who, ward AS station, price AS cost, "at", day, note FROM visit;
SELECT dp_declare('visit', 'price', lower => 0, upper => 5) \g /dev/null
SELECT count(*) FROM told WHERE description LIKE '%[dp_pg%]';
-- unprotected: the view of another stays, and says nothing of declarations
RESET ROLE;
ALTER VIEW discover_other.seen_visit OWNER TO :superuser;
SET ROLE :owner;
SELECT dp_declare('visit', 'price', lower => 0, upper => 6) \g /dev/null
SELECT description FROM told WHERE about LIKE '%.cost';
SELECT dp_unprotect('visit') \g /dev/null
SELECT * FROM told;
\pset format aligned

RESET ROLE;
SET client_min_messages = error;
DROP SCHEMA "Discover bi", discover_other CASCADE;
SET client_min_messages = warning;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
