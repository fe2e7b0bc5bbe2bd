-- Contribution bounds: what the owner declares (max_rows, max_keys), what a
-- connection sets, and what dp_suggest_bounds shows the owner about them.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test contribution
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
CREATE FUNCTION declared(OUT relid text, OUT rows bigint, OUT max_rows bigint, OUT max_keys bigint) RETURNS SETOF record LANGUAGE sql
BEGIN ATOMIC SELECT relid::text, rows, max_rows, max_keys FROM dp_pg.relation WHERE dataset = 'regress_contribution' ORDER BY 1; END;

-- ---- declared ----
SET ROLE :owner;
CREATE TABLE visit (unit int, ward text, day date);
SELECT * FROM outcome('SELECT dp_declare(''visit'', max_rows => 3)');
SELECT dp_protect('visit', unit => 'unit', dataset => :'schema');
-- nothing is declared by itself
SELECT * FROM declared() WHERE relid = 'visit';
SET ROLE :analyst;
SELECT * FROM outcome('SELECT dp_declare(''visit'', max_rows => 3)');
SET ROLE :owner;
SELECT dp_declare('visit', max_rows => 3);
SELECT * FROM declared() WHERE relid = 'visit';
SELECT dp_declare('visit', max_keys => 5);
SELECT * FROM declared() WHERE relid = 'visit';
-- NULL and what is left out stay
SELECT dp_declare('visit', max_keys => 2147483647, max_rows => NULL);
SELECT * FROM declared() WHERE relid = 'visit';
SELECT dp_declare('visit', max_rows => 2147483647, max_keys => 1);
SELECT * FROM declared() WHERE relid = 'visit';
SELECT a, o.* FROM unnest(ARRAY['max_rows => -1', 'max_rows => 2147483648',
	'max_keys => 9223372036854775807', 'max_rows => NULL', 'max_rows => NULL, max_keys => NULL', 'max_rows => 2, max_keys => -1']) WITH ORDINALITY a (a, i), outcome(format('SELECT dp_declare(''visit'', %s)', a)) o ORDER BY i;
SELECT * FROM outcome('SELECT dp_declare(''visit'')');
SELECT * FROM outcome('SELECT dp_declare(NULL, max_rows => 2)');
BEGIN READ ONLY;
SELECT dp_declare('visit', max_rows => 2);
ROLLBACK;
SELECT * FROM declared() WHERE relid = 'visit';
BEGIN;
SELECT dp_declare('visit', max_rows => 2);
ROLLBACK;
SELECT * FROM declared() WHERE relid = 'visit';
-- 0 withdraws one; what is then missing, or of no use, is said
SELECT dp_declare('visit', max_total => 7, min_units => 5);
SELECT dp_declare('visit', max_keys => 0, min_units => 0);
SELECT max_total, max_keys, max_rows, min_units FROM dp_pg.relation WHERE relid = 'visit'::regclass;
SET client_min_messages = notice;
\set VERBOSITY default
SELECT dp_declare('visit', max_rows => 0, max_total => 0);
SELECT d.note FROM dp_describe('visit') d WHERE attribute IS NULL;
SELECT dp_protect('visit', unit => 'unit', max_total => 3);
SELECT dp_protect('visit', unit => 'unit', max_total => 0);
CREATE TABLE once (unit int PRIMARY KEY);
SELECT dp_protect('once', unit => 'unit', dataset => :'schema');
SELECT dp_declare('once', max_total => 5);
SELECT dp_declare('once', max_rows => 0, max_keys => 0, max_total => 0);
SELECT dp_unprotect('once');
SET client_min_messages = warning;
\set VERBOSITY sqlstate
DROP TABLE once;
-- the size class is another thing, and a name tells which is meant
SELECT dp_declare('visit', rows => 1000);
SELECT dp_declare('visit', max_rows => 4, max_keys => 2);
SELECT * FROM declared() WHERE relid = 'visit';
SELECT dp_declare('visit', rows => NULL);
SELECT * FROM declared() WHERE relid = 'visit';
SELECT * FROM outcome('SELECT dp_declare(''visit'', 7)');
PREPARE say (int, bigint) AS SELECT dp_declare('visit', max_rows => $1, max_keys => $2);
EXECUTE say (6, 7);
EXECUTE say (8, NULL);
SELECT * FROM declared() WHERE relid = 'visit';
DEALLOCATE say;
-- the same unit keeps it, under another name too; another unit ends it
SELECT dp_protect('visit', unit => 'unit', rows => 20);
ALTER TABLE visit RENAME COLUMN unit TO person;
SELECT dp_protect('visit', unit => 'person');
SELECT * FROM declared() WHERE relid = 'visit';
SELECT dp_protect('visit');
SELECT * FROM declared() WHERE relid = 'visit';
-- a row may be the unit as well (joins give it more rows)
SELECT dp_declare('visit', max_keys => 3);
SELECT dp_protect('visit');
SELECT * FROM declared() WHERE relid = 'visit';
SELECT dp_unprotect('visit');
SELECT dp_protect('visit', unit => 'person', dataset => :'schema');
SELECT * FROM declared() WHERE relid = 'visit';
-- of a whole tree, not of its parts
CREATE TABLE year (person int, day date) PARTITION BY RANGE (day);
CREATE TABLE year_1 PARTITION OF year FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
SELECT dp_protect('year', unit => 'person', dataset => :'schema');
SELECT dp_declare('year', max_rows => 2);
SELECT * FROM outcome('SELECT dp_declare(''year_1'', max_rows => 2)');
SELECT * FROM declared();
-- by nobody's hand
UPDATE dp_pg.relation SET max_rows = 9;
RESET ROLE;
UPDATE dp_pg.relation SET max_rows = 0 WHERE relid = 'visit'::regclass;
UPDATE dp_pg.relation SET max_keys = 2147483648 WHERE relid = 'visit'::regclass;

-- ---- set, by everybody ----
SET ROLE :analyst;
SHOW dp_pg.max_rows;
SHOW dp_pg.max_keys;
SET dp_pg.max_rows = 2147483647;
SET dp_pg.max_keys = 3;
SHOW dp_pg.max_rows;
SET dp_pg.max_rows = -1;
SET dp_pg.max_keys = 2147483648;
SET dp_pg.max_keys = 'few';
SHOW dp_pg.max_keys;
SELECT name, setting, min_val, max_val, boot_val, context FROM pg_settings WHERE name IN ('dp_pg.max_rows', 'dp_pg.max_keys') ORDER BY name;
-- a reader takes them over, and answers
SELECT dp_count(*) FROM person;
RESET dp_pg.max_rows;
RESET dp_pg.max_keys;
SELECT dp_count(*) FROM person;
RESET ROLE;

-- ---- suggested, to the owner ----
SET ROLE :owner;
-- units 1 .. 6 have 1 .. 6 rows, the k-th in ward k % 4, and unit 7 has 30 rows
-- without a ward; rows without a unit are nobody's
CREATE TABLE "odd ""one" ("the unit" int, "select" text, day date, doc json);
INSERT INTO "odd ""one" SELECT i, 'w' || k % 4, date '2026-01-01' + k FROM generate_series(1, 6) i, generate_series(1, i) k;
INSERT INTO "odd ""one" SELECT 7, NULL, date '2026-02-01' FROM generate_series(1, 30);
INSERT INTO "odd ""one" SELECT NULL, 'w1', date '2026-02-01' FROM generate_series(1, 999);
SELECT dp_protect('"odd ""one"', unit => 'the unit', dataset => :'schema');
CREATE FUNCTION suggested(VARIADIC keys text[]) RETURNS TABLE (what text, bound bigint, units_kept numeric, rows_kept numeric) LANGUAGE sql
BEGIN ATOMIC SELECT what, bound, round(units_kept::numeric, 4), round(rows_kept::numeric, 4) FROM dp_suggest_bounds('"odd ""one"', keys); END;
SELECT what, bound, round(units_kept::numeric, 4) units_kept, round(rows_kept::numeric, 4) rows_kept FROM dp_suggest_bounds('"odd ""one"');
SELECT * FROM suggested('select');
SELECT statement FROM dp_suggest_bounds('"odd ""one"', ARRAY['select']) WHERE bound = 5;
SELECT * FROM suggested('select', 'day');
-- keys are also expressions, as queries group by them; a name is a column first
SELECT a.keys, s.* FROM (VALUES (ARRAY['date_trunc(''month'', day)']), (ARRAY['upper("select")', 'extract(year FROM day)']), (ARRAY['"odd ""one"."select"']),
	(ARRAY['CASE WHEN day < ''2026-01-03'' THEN "select" END']), (ARRAY['lower("select") -- '])) a (keys), LATERAL suggested(VARIADIC a.keys) s;
ALTER TABLE "odd ""one" RENAME "select" TO "lower(doc)";
SELECT * FROM suggested('lower(doc)') s WHERE s.bound = 1;
ALTER TABLE "odd ""one" RENAME "lower(doc)" TO "select";
-- an expression and no more, of what private queries may group by
CREATE FUNCTION mine(text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT $1';
SELECT a, o.* FROM unnest(ARRAY['ward; SELECT 1', 'ward, day', 'ward FROM visit', '(SELECT ward)', 'ward) x; DROP TABLE visit; --', 'dp_count(ward)', 'count(*)', 'sum(1) OVER ()',
	'generate_series(1, 2) + length(ward)', 'random() + length(ward)', 'nothing', 'ctid', 'visit', 'visit.*', 'pg_sleep(1)', 'other.ward', 'ward AS w', 'ward ORDER BY 1', '', '1', '''x''', '$1',
	'regress_contribution.mine(ward)', 'mine(ward)', 'ward OPERATOR(regress_contribution.+) ward', 'ward::regress_contribution.ward', 'pg_read_file(ward)', 'ward || ''a', 'ward /* ', 't.ward'])
	WITH ORDINALITY k (a, i), outcome(format('SELECT * FROM dp_suggest_bounds(''visit'', ARRAY[%L])', a)) o ORDER BY i;
\set VERBOSITY default
SELECT what FROM dp_suggest_bounds('visit', ARRAY['ward, day']);
SELECT what FROM dp_suggest_bounds('visit', ARRAY['regress_contribution.mine(ward)']);
SELECT what FROM dp_suggest_bounds('visit', ARRAY['day', 'length(wrd)']);
SELECT what FROM dp_suggest_bounds('visit', ARRAY['7']);
SELECT what FROM dp_suggest_bounds('visit', ARRAY['day', NULL]);
-- what is said of one that fails for a row shows nothing of it
\set SHOW_CONTEXT always
SELECT what FROM dp_suggest_bounds('"odd ""one"', ARRAY['100 / ("the unit" - 5)']);
\set SHOW_CONTEXT never
SELECT count(*) > 0 AS answered FROM dp_suggest_bounds('"odd ""one"', ARRAY['100 / nullif("the unit" - 5, 0)']);
SELECT dp_protect('"odd ""one"', unit => 'the unit', publish => 'regress_contribution.shown') \g /dev/null
SELECT what FROM dp_suggest_bounds('shown');
\set VERBOSITY sqlstate
-- the same numbers, counted another way: rows lost at random are in the mean
SELECT s.bound, s.rows_kept = round(avg(kept), 4) AS same FROM suggested('day') s, LATERAL (
	SELECT sum(least(1, s.bound::numeric / g) * n) / 51 AS kept FROM (
		SELECT count(DISTINCT day) AS g, count(*) AS n FROM "odd ""one" WHERE "the unit" IS NOT NULL GROUP BY "the unit") u) x
WHERE s.what = 'max_keys' GROUP BY s.bound, s.rows_kept ORDER BY 1;
-- where nobody is kept whole the share is 0
TRUNCATE visit;
INSERT INTO visit SELECT u, 'w' || k, date '2026-01-01' FROM generate_series(1, 2) u, generate_series(1, 2) k;
SELECT * FROM dp_suggest_bounds('visit', ARRAY['ward']);
SELECT * FROM dp_suggest_bounds('visit');
-- no rows, no shares; NULL is no column
TRUNCATE visit;
SELECT * FROM dp_suggest_bounds('visit', ARRAY['ward']);
SELECT * FROM dp_suggest_bounds('visit', NULL);
SELECT * FROM dp_suggest_bounds('year', '{}');
SELECT a, o.* FROM unnest(ARRAY['NULL', '''person''', '''visit_not''', '''year_1''', '''visit'', ARRAY[''nothing'']', '''visit'', ARRAY[''ctid'']',
	'''visit'', ARRAY[NULL]', '''visit'', ARRAY[''ward; SELECT 1'']', '''"odd ""one"'', ARRAY[''doc'']']) WITH ORDINALITY a (a, i), outcome(format('SELECT * FROM dp_suggest_bounds(%s)', a)) o ORDER BY i;
-- a quoted name cannot end the query
ALTER TABLE visit RENAME COLUMN ward TO "w FROM visit; DROP TABLE visit; --";
SELECT what, bound FROM dp_suggest_bounds('visit', ARRAY['w FROM visit; DROP TABLE visit; --']);
-- one that reads for others is refused
CREATE FUNCTION show() RETURNS SETOF record LANGUAGE sql SECURITY DEFINER SET search_path = regress_contribution, public
AS $$ SELECT what, bound, units_kept, rows_kept FROM dp_suggest_bounds('visit') $$;
SELECT count(*) > 0 AS owner FROM show() AS t (a text, b bigint, c float8, d float8);
SET ROLE :analyst;
SELECT * FROM outcome('SELECT * FROM show() AS t (a text, b bigint, c float8, d float8)');
SELECT * FROM outcome('SELECT * FROM dp_suggest_bounds(''visit'')');
SELECT * FROM outcome('SELECT dp_pg.profile_dataset(''visit'', true)');
-- names found on the way to another function are not the extension's
SET ROLE :owner;
CREATE FUNCTION unnest(text[]) RETURNS SETOF text LANGUAGE sql AS $$ SELECT 'taken' $$;
SET search_path = regress_contribution, pg_catalog, public;
SELECT what, bound FROM dp_suggest_bounds('visit', ARRAY['day']);
-- a restored row keeps what it says
RESET ROLE;
SET search_path = regress_contribution, public;
SELECT dp_declare('visit', max_rows => 4, max_keys => 2);
UPDATE dp_pg.relation SET relid_origin = 1, unit_attnum = 77 WHERE relid = 'visit'::regclass;
ALTER TABLE visit ADD COLUMN more int;
SELECT r.relid_origin = r.relid AS adopted, d.* FROM declared() d JOIN dp_pg.relation r ON r.relid::text = d.relid WHERE d.relid = 'visit';

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
