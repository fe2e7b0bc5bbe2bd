-- How much of one unit counts: what the owner declares (max_rows, max_keys),
-- what a session sets, and what dp_suggest_bounds tells the owner about it.
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
SELECT a, o.* FROM unnest(ARRAY['max_rows => 0', 'max_keys => 0', 'max_rows => -1', 'max_rows => 2147483648',
	'max_keys => 9223372036854775807', 'max_rows => NULL', 'max_rows => NULL, max_keys => NULL', 'max_rows => 2, max_keys => 0']) WITH ORDINALITY a (a, i), outcome(format('SELECT dp_declare(''visit'', %s)', a)) o ORDER BY i;
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

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
