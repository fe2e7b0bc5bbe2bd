-- EXISTS and IN over private rows of the same unit, and over public rows that
-- a private row is compared with.  Each answer is compared with that of the
-- plain query, run by the owner.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_exists
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

-- units 1 to 30: visits have some of them, and some have no unit; ratings too
SET ROLE :owner;
CREATE TABLE patient (id int PRIMARY KEY, town text, age int);
INSERT INTO patient SELECT i, CASE WHEN i % 3 > 0 THEN 'town' || i % 3 END, nullif(i % 8, 0) FROM generate_series(1, 30) i;
CREATE TABLE visit (id int PRIMARY KEY, unit int, k int, cost int, note text);
INSERT INTO visit SELECT i, CASE WHEN i % 40 < 25 THEN i % 40 END, i % 5, nullif(i * 7 % 11, 3), nullif('n' || i % 4, 'n1') FROM generate_series(1, 120) i;
CREATE TABLE bill (visit int, price int, paid boolean);
INSERT INTO bill SELECT i % 70, i % 13, i % 4 > 0 FROM generate_series(1, 200) i;
CREATE TABLE rating (unit bigint, stars int);
INSERT INTO rating SELECT i % 33, nullif(i % 6, 4) FROM generate_series(1, 60) i;
CREATE TABLE other (unit int);
CREATE TABLE nobody (x int);
INSERT INTO nobody SELECT i % 4 FROM generate_series(1, 20) i;
CREATE TABLE fee (k int, least int, w text);
INSERT INTO fee VALUES (0, 3, 'n0'), (0, 9, 'n2'), (2, 4, NULL), (4, NULL, 'n3'), (NULL, 1, 'n0');
GRANT SELECT ON fee TO :analyst;
SELECT dp_protect('patient', unit => 'id', dataset => :'schema'), dp_protect('visit', unit => 'unit', dataset => :'schema'),
	dp_protect('rating', unit => 'unit', dataset => :'schema'), dp_protect('nobody', dataset => :'schema'),
	dp_protect('other', unit => 'unit', dataset => :'schema' || '2') \g /dev/null
SELECT dp_protect('bill', unit => format('visit -> %I.visit.unit', :'schema'), dataset => :'schema') \g /dev/null
SELECT dp_declare('patient', 'town', keys => ARRAY['town1', 'town2']), dp_declare('patient', 'age', lower => 0, upper => 10),
	dp_declare('visit', max_rows => 50, max_keys => 5) \g /dev/null
RESET ROLE;

\set file :abs_srcdir '/sql/include/compare.psql'
\i :file
SET dp_pg.max_rows = 100;
SET dp_pg.max_keys = 10;
SELECT q, b.* FROM unnest(ARRAY[
	-- EXISTS: the unit, and whatever else is compared
	'FROM patient p WHERE EXISTS (SELECT FROM visit v WHERE v.unit = p.id)',
	'FROM patient p WHERE NOT EXISTS (SELECT FROM visit v WHERE v.unit = p.id)',
	'FROM patient p WHERE EXISTS (SELECT FROM visit v WHERE p.id = v.unit AND v.cost > p.age)',
	'FROM patient p WHERE NOT EXISTS (SELECT * FROM visit v WHERE p.id = v.unit AND v.cost > p.age LIMIT 1)',
	'FROM patient p WHERE age > 2 AND EXISTS (SELECT 1 FROM rating r WHERE r.unit = p.id AND stars > 1) AND NOT EXISTS (SELECT FROM visit v WHERE unit = p.id)',
	'FROM visit v WHERE EXISTS (SELECT FROM visit w WHERE w.unit = v.unit AND w.k = v.k AND w.id <> v.id)',
	'FROM visit v WHERE NOT EXISTS (SELECT FROM visit w WHERE w.unit = v.unit AND w.id > v.id) AND unit IS NOT NULL',
	-- IN
	'FROM patient p WHERE id IN (SELECT unit FROM visit WHERE cost > 8)',
	'FROM patient p WHERE id = ANY (SELECT unit FROM rating ORDER BY stars)',
	'FROM patient p WHERE (id, age) IN (SELECT unit, cost FROM visit)',
	'FROM patient p WHERE age IN (SELECT cost FROM visit WHERE unit = p.id)',
	'FROM patient p WHERE id IN (SELECT DISTINCT unit FROM visit WHERE k = 2)',
	'FROM patient p WHERE id IN (SELECT unit FROM visit GROUP BY unit HAVING count(cost) > 2)',
	'FROM patient p WHERE (id, 2) IN (SELECT unit, count(cost) FROM visit GROUP BY unit)',
	'FROM patient p WHERE (age IN (SELECT f.k FROM fee f)) IN (SELECT cost > 3 FROM visit WHERE unit = p.id)',
	'FROM patient p WHERE age > ANY (SELECT cost FROM visit WHERE unit = p.id) AND NOT age + 3 < SOME (SELECT cost FROM visit WHERE unit = p.id)',
	-- NOT IN: NULL is not equal, and not different
	'FROM patient p WHERE age NOT IN (SELECT cost FROM visit WHERE unit = p.id)',
	'FROM patient p WHERE age NOT IN (SELECT cost FROM visit WHERE unit = p.id AND cost IS NOT NULL)',
	'FROM patient p WHERE (id, age) NOT IN (SELECT unit, cost FROM visit WHERE unit IS NOT NULL)',
	'FROM patient p WHERE id NOT IN (SELECT unit FROM visit WHERE unit IS NOT NULL AND cost > 8)',
	'FROM patient p WHERE NOT id IN (SELECT unit FROM rating r WHERE r.unit = p.id AND stars > age)',
	-- groups, joins and further subqueries inside; levels above; levels below
	'FROM patient p WHERE EXISTS (SELECT 1 FROM visit WHERE unit = p.id GROUP BY k HAVING count(*) > 1)',
	'FROM patient p WHERE NOT EXISTS (SELECT FROM visit WHERE unit = p.id GROUP BY unit HAVING sum(cost) > p.age)',
	'FROM patient p WHERE EXISTS (SELECT FROM visit v JOIN rating r ON r.unit = v.unit WHERE v.unit = p.id AND r.stars = v.k)',
	'FROM patient p WHERE EXISTS (SELECT FROM visit v LEFT JOIN fee f ON f.k = v.k WHERE v.unit = p.id AND (least > age OR w IS NULL))',
	'FROM patient p WHERE EXISTS (SELECT FROM visit v WHERE unit = p.id AND NOT EXISTS (SELECT FROM rating r WHERE r.unit = v.unit AND stars = k))',
	'FROM (SELECT id, age FROM patient p WHERE id IN (SELECT unit FROM visit)) s WHERE age NOT IN (SELECT stars FROM rating WHERE unit = s.id)',
	'FROM (SELECT unit, count(*) AS n FROM visit v WHERE EXISTS (SELECT FROM patient p WHERE p.id = v.unit AND town IS NULL) GROUP BY unit) s WHERE n > 2',
	'FROM (SELECT unit, max(cost) AS most FROM visit WHERE unit IS NOT NULL GROUP BY unit) s WHERE EXISTS (SELECT FROM patient p WHERE p.id = s.unit AND age < most)',
	'FROM patient p WHERE EXISTS (SELECT FROM visit a WHERE a.unit = p.id AND EXISTS (SELECT FROM visit b WHERE b.unit = a.unit AND b.k = a.k AND EXISTS (SELECT FROM visit c WHERE c.unit = b.unit AND NOT EXISTS (SELECT FROM visit d WHERE d.unit = c.unit AND d.id > c.id))))',
	'FROM patient p WHERE NOT EXISTS (SELECT FROM visit v JOIN bill b ON b.visit = v.id JOIN rating r ON r.unit = v.unit WHERE v.unit = p.id AND b.price > r.stars AND v.k < p.age)',
	-- beside joins
	'FROM patient p JOIN visit v ON v.unit = p.id WHERE EXISTS (SELECT FROM rating r WHERE r.unit = p.id AND stars = v.k)',
	'FROM patient p, visit v WHERE v.unit = p.id AND NOT EXISTS (SELECT FROM rating r WHERE r.unit = v.unit AND stars = age)',
	'FROM patient p LEFT JOIN visit v ON v.unit = p.id AND k = 1 WHERE NOT EXISTS (SELECT FROM rating r WHERE r.unit = v.unit)',
	'FROM visit v JOIN fee f ON f.k = v.k WHERE unit IN (SELECT id FROM patient p WHERE age > f.least)',
	-- along the path to the unit
	'FROM visit v WHERE EXISTS (SELECT FROM bill b WHERE b.visit = v.id AND NOT paid) AND unit IS NOT NULL',
	'FROM bill b WHERE EXISTS (SELECT FROM bill c WHERE c.visit = b.visit AND c.price <> b.price) AND visit IN (SELECT id FROM visit WHERE unit IS NOT NULL)',
	'FROM patient p WHERE EXISTS (SELECT FROM visit v WHERE v.unit = p.id AND v.id NOT IN (SELECT visit FROM bill WHERE paid AND visit IS NOT NULL))',
	-- public rows
	'FROM visit v WHERE EXISTS (SELECT FROM fee f WHERE f.k = v.k AND least < cost) AND unit IS NOT NULL',
	'FROM visit v WHERE NOT EXISTS (SELECT FROM fee f WHERE f.k = v.k) AND unit IS NOT NULL',
	'FROM visit v WHERE note NOT IN (SELECT w FROM fee f WHERE f.k = v.k) AND unit IS NOT NULL',
	'FROM visit v WHERE (k, note) IN (SELECT k, w FROM fee) AND unit IS NOT NULL',
	'FROM nobody WHERE EXISTS (SELECT FROM fee WHERE k <= x)',
	'FROM nobody WHERE (x, x) NOT IN (SELECT k, least FROM fee WHERE k > 0)']) WITH ORDINALITY a (q, i), compare(q) b ORDER BY i;

SET ROLE :analyst;
-- rows without a unit are not there, so they do not make NOT IN NULL
SELECT dp_count(*) FROM patient p WHERE id NOT IN (SELECT unit FROM visit);
-- keys, sums, undeclared keys, WITH, parameters
SELECT town, dp_count(*), dp_sum(age) FROM patient p WHERE EXISTS (SELECT FROM visit WHERE unit = p.id AND k = 1) GROUP BY town ORDER BY town;
SELECT w, dp_count(*) FROM visit v JOIN fee f ON f.k = v.k WHERE NOT EXISTS (SELECT FROM rating r WHERE r.unit = v.unit AND r.stars = f.least) GROUP BY w ORDER BY w;
SET dp_pg.delta = '1e-9';
SELECT cost, dp_count(DISTINCT unit) FROM visit v WHERE cost < 3 AND unit IN (SELECT id FROM patient) GROUP BY cost ORDER BY cost;
RESET dp_pg.delta;
WITH w AS (SELECT unit FROM visit WHERE k = 3) SELECT dp_count(*) FROM patient p WHERE id IN (SELECT unit FROM w) AND id NOT IN (SELECT unit FROM rating WHERE stars > 1);
PREPARE asked (int) AS SELECT dp_count(*) FROM patient p WHERE EXISTS (SELECT FROM visit WHERE unit = p.id AND k = $1) AND age <= ANY (SELECT $1);
EXECUTE asked (1);
EXECUTE asked (4);
-- a scalar subquery is run before; what is asked for is filtered by it
SELECT dp_count(*) FROM patient p WHERE EXISTS (SELECT FROM visit v WHERE unit = p.id AND cost > (SELECT max(least) FROM fee));
-- transparent mode
SET dp_pg.transparent = on;
SELECT count(*) FROM patient p WHERE NOT EXISTS (SELECT * FROM visit v WHERE v.unit = p.id);
SELECT town, count(*) FROM patient p WHERE id IN (SELECT unit FROM visit GROUP BY unit HAVING count(*) > 2) GROUP BY town ORDER BY town;
RESET dp_pg.transparent;

-- rows are asked for, and none are made: the bounds are those of the rows that count
RESET dp_pg.max_rows;
RESET dp_pg.max_keys;
CREATE FUNCTION bound(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		IF line ~ 'Contribution|Released' THEN RETURN NEXT btrim(line); END IF;
	END LOOP;
END $$;
SELECT bound('SELECT dp_count(*) FROM patient p WHERE EXISTS (SELECT FROM visit v WHERE v.unit = p.id)');
SELECT bound('SELECT dp_count(*) FROM visit v WHERE EXISTS (SELECT FROM patient p WHERE v.unit = p.id)');
SELECT bound('SELECT dp_count(*) FROM (SELECT DISTINCT unit FROM visit) v WHERE EXISTS (SELECT FROM visit w WHERE w.unit = v.unit AND k = 1)');
SELECT bound('SELECT dp_count(*) FROM nobody WHERE EXISTS (SELECT FROM fee WHERE k <= x)');

-- ---- refused, and nothing is charged ----
SELECT q, o.* FROM unnest(ARRAY[
	-- the answer would depend on rows of other units
	'patient p WHERE EXISTS (SELECT FROM visit)', 'patient p WHERE NOT EXISTS (SELECT FROM visit WHERE cost = age)', 'patient p WHERE age IN (SELECT cost FROM visit)',
	'patient p WHERE age NOT IN (SELECT cost FROM visit)', 'patient p WHERE EXISTS (SELECT FROM visit v WHERE v.unit < p.id)', 'patient p WHERE EXISTS (SELECT FROM visit v WHERE v.unit = p.id OR v.k = 1)',
	'patient p WHERE EXISTS (SELECT FROM visit v WHERE v.unit + 0 = p.id)', 'visit v WHERE EXISTS (SELECT FROM bill b WHERE b.price = v.id)', 'visit v WHERE id IN (SELECT k FROM visit)',
	'patient p LEFT JOIN visit v ON v.unit = p.id WHERE v.unit NOT IN (SELECT unit FROM rating)', 'patient p WHERE EXISTS (SELECT FROM (SELECT r.unit FROM visit v LEFT JOIN rating r ON r.unit = v.unit) s WHERE s.unit = p.id)',
	'patient p, fee f WHERE EXISTS (SELECT FROM visit v WHERE v.k = f.k)', 'fee f WHERE EXISTS (SELECT FROM visit v WHERE v.k = f.k)', 'patient p WHERE EXISTS (SELECT FROM visit WHERE unit = p.id GROUP BY k HAVING max(unit) = p.age) AND EXISTS (SELECT FROM visit GROUP BY k HAVING count(*) > age)',
	'patient p WHERE id IN (SELECT k FROM visit GROUP BY k)', 'patient p WHERE id IN (SELECT unit FROM other)', 'patient p WHERE EXISTS (SELECT FROM nobody WHERE x = id)', 'nobody WHERE EXISTS (SELECT FROM patient p WHERE x = id)',
	-- not by themselves in WHERE
	'patient p JOIN visit v ON v.unit = p.id AND EXISTS (SELECT FROM visit w WHERE w.unit = p.id)',
	'patient p WHERE id <> ALL (SELECT unit FROM visit)',
	-- references elsewhere
	'patient p WHERE EXISTS (SELECT FROM visit v JOIN fee f ON f.least = p.age WHERE v.unit = p.id)', 'patient p WHERE EXISTS (SELECT FROM visit v WHERE v.unit = p.id AND EXISTS (SELECT FROM rating r WHERE r.unit = p.id))',
	'patient p WHERE age IN (SELECT p.age + k FROM visit WHERE unit = p.id)', 'patient p WHERE EXISTS (SELECT FROM visit WHERE unit = p.id HAVING count(*) < 2)',
	'patient p WHERE EXISTS (SELECT FROM visit WHERE cost = age GROUP BY k)', 'patient p WHERE EXISTS (SELECT FROM visit WHERE unit = p.id AND cost > age GROUP BY unit)',
	-- whatever gives other rows for each row that asks, of public ones too
	'visit v WHERE least(k, 1) IN (SELECT max(f.least) FROM fee f WHERE f.k = v.k)', 'visit v WHERE EXISTS (SELECT FROM fee f WHERE f.k = v.k HAVING count(*) = 0)', 'visit v WHERE k IN (SELECT f.least FROM fee f WHERE f.k = v.k ORDER BY 1 LIMIT 1)',
	'visit v WHERE k IN (SELECT row_number() OVER () FROM fee f WHERE f.k = v.k)', 'visit v WHERE k IN (SELECT DISTINCT ON (w) f.least FROM fee f WHERE f.k = v.k)', 'visit v WHERE EXISTS (SELECT FROM fee f WHERE f.k = v.k AND random() < 2)',
	'visit v WHERE k IN (SELECT f.least FROM fee f WHERE f.k = v.k GROUP BY ROLLUP (f.least, f.k))', 'visit v WHERE EXISTS (SELECT FROM fee f WHERE f.k = v.k FOR SHARE)', 'visit v WHERE k IN (SELECT generate_series(1, f.least) FROM fee f WHERE f.k = v.k)',
	'visit v WHERE k IN (SELECT dp_count(*) FROM visit w WHERE w.unit = v.unit)', 'visit v WHERE EXISTS (SELECT dp_count(*) FROM visit w WHERE w.unit = v.unit)', 'visit v WHERE k IN (SELECT k FROM visit w WHERE w.unit = v.unit GROUP BY k HAVING dp_count(*) > 0)',
	-- clauses
	'patient p WHERE EXISTS (SELECT FROM visit WHERE unit = p.id OFFSET 1)', 'patient p WHERE EXISTS (SELECT FROM visit WHERE unit = p.id LIMIT 0)', 'patient p WHERE id IN (SELECT unit FROM visit LIMIT 3)', 'patient p WHERE id IN (SELECT unit FROM visit UNION SELECT unit FROM rating)',
	'patient p WHERE id IN (SELECT DISTINCT ON (k) unit FROM visit)', 'patient p WHERE EXISTS (SELECT FROM visit TABLESAMPLE system (50) WHERE unit = p.id)', 'patient p WHERE EXISTS (SELECT FROM visit WHERE unit = p.id AND note ~ ''a'')',
	'patient p WHERE EXISTS (SELECT FROM visit WHERE unit = p.id FOR UPDATE)', 'patient p WHERE id IN (SELECT sum(unit) OVER () FROM visit)', 'patient p WHERE id IN (SELECT generate_series(unit, 3) FROM visit)']) WITH ORDINALITY a (q, i),
	outcome('SELECT dp_count(*) FROM ' || q) o ORDER BY i;
\set VERBOSITY terse
SELECT dp_count(*) FROM patient p WHERE age NOT IN (SELECT cost FROM visit);
SELECT dp_count(*) FROM patient p WHERE age IN (SELECT p.age + k FROM visit WHERE unit = p.id);
\set VERBOSITY sqlstate
DEALLOCATE asked;
RESET ROLE;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
