-- UNION ALL and UNION of rows of protected relations, with the unit in one
-- column of all parts.  Each answer is compared with that of the plain query.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_union
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
CREATE TABLE patient (id int PRIMARY KEY, town text, age int);
INSERT INTO patient SELECT i, 'town' || i % 3, nullif(i % 8, 0) FROM generate_series(1, 30) i;
CREATE TABLE visit (unit int, k int, cost int, note text);
INSERT INTO visit SELECT CASE WHEN i % 40 < 25 THEN i % 40 END, i % 5, nullif(i * 7 % 11, 3), nullif('n' || i % 4, 'n1') FROM generate_series(1, 120) i;
CREATE TABLE rating (unit bigint, stars int);
INSERT INTO rating SELECT i % 33, nullif(i % 6, 4) FROM generate_series(1, 60) i;
CREATE TABLE nobody (unit int);
CREATE TABLE other (unit int);
CREATE TABLE fee (k int, least int, w text);
INSERT INTO fee VALUES (0, 3, 'n0'), (0, 9, 'n2'), (2, 4, NULL), (4, NULL, 'n3');
GRANT SELECT ON fee TO :analyst;
SELECT dp_protect('patient', unit => 'id', dataset => :'schema'), dp_protect('visit', unit => 'unit', dataset => :'schema'),
	dp_protect('rating', unit => 'unit', dataset => :'schema'), dp_protect('nobody', dataset => :'schema'),
	dp_protect('other', unit => 'unit', dataset => :'schema' || '2') \g /dev/null
SELECT dp_declare('patient', 'town', keys => ARRAY['town1', 'town2']), dp_declare('patient', 'age', lower => 0, upper => 10),
	dp_declare('visit', 'cost', lower => -5, upper => 8), dp_declare('visit', max_rows => 50, max_keys => 5), dp_declare('patient', max_rows => 1, max_keys => 2) \g /dev/null
RESET ROLE;

\set file :abs_srcdir '/sql/include/compare.psql'
\i :file
SET dp_pg.max_rows = 100;
SET dp_pg.max_keys = 10;
SELECT q, b.* FROM unnest(ARRAY[
	'FROM (SELECT unit, cost FROM visit WHERE unit IS NOT NULL UNION ALL SELECT id, age FROM patient) s',
	'FROM (SELECT unit, cost FROM visit WHERE k = 1 UNION ALL SELECT id, age FROM patient UNION ALL SELECT unit, k FROM visit) s WHERE cost < 3 AND unit IS NOT NULL',
	'FROM (SELECT unit, cost FROM visit UNION ALL (SELECT id, age FROM patient UNION ALL SELECT unit, k FROM visit) ORDER BY 2) s WHERE cost IS NULL AND unit IS NOT NULL',
	'FROM (SELECT v.unit, least FROM visit v JOIN fee USING (k) UNION ALL SELECT unit, cost FROM visit) s WHERE least > 2 AND unit IS NOT NULL',
	'FROM (SELECT unit FROM visit WHERE EXISTS (SELECT FROM rating r WHERE r.unit = visit.unit AND stars = 1) UNION ALL SELECT id FROM patient WHERE id NOT IN (SELECT unit FROM rating WHERE stars = 2)) s',
	-- each row once
	'FROM (SELECT unit, k FROM visit WHERE unit IS NOT NULL UNION SELECT id, age FROM patient) s',
	'FROM (SELECT unit, k, note FROM visit WHERE unit IS NOT NULL UNION SELECT unit, cost, note FROM visit WHERE unit IS NOT NULL UNION ALL SELECT id, age, NULL FROM patient UNION SELECT id, 1, town FROM patient) s WHERE k < 5',
	'FROM (SELECT unit FROM visit WHERE unit IS NOT NULL UNION SELECT id FROM patient WHERE age > 3 ORDER BY 1) s',
	'FROM patient p WHERE id NOT IN (WITH w AS (SELECT unit, k FROM visit WHERE unit IS NOT NULL) SELECT unit FROM w WHERE k = 1 UNION SELECT id FROM patient WHERE age = (SELECT min(k) FROM fee) + 2)',
	'FROM (SELECT unit, k FROM visit WHERE unit IS NOT NULL UNION ALL (SELECT id, age FROM patient UNION SELECT unit, k FROM visit WHERE unit < 9 ORDER BY 1)) s',
	-- above: groups, joins, questions, conditions, further parts
	'FROM (SELECT unit, count(*) AS n, max(cost) AS most FROM (SELECT unit, cost FROM visit UNION ALL SELECT id, age FROM patient) s WHERE unit IS NOT NULL GROUP BY unit) t WHERE n > 3 OR most > 8',
	'FROM (SELECT DISTINCT unit, cost FROM (SELECT unit, cost FROM visit UNION ALL SELECT id, age FROM patient) s WHERE unit IS NOT NULL) t',
	'FROM patient p JOIN (SELECT unit, cost FROM visit UNION ALL SELECT id, age FROM patient) s ON s.unit = p.id WHERE p.age < s.cost',
	'FROM patient p LEFT JOIN (SELECT unit, cost FROM visit WHERE k = 1 UNION ALL SELECT id, age FROM patient WHERE age > 5) s ON s.unit = p.id AND s.cost > 2',
	'FROM (SELECT unit, cost FROM visit UNION ALL SELECT id, age FROM patient) s JOIN (SELECT unit, k FROM visit UNION ALL SELECT id, age FROM patient) r USING (unit) WHERE cost = k',
	'FROM patient p WHERE id NOT IN (SELECT unit FROM visit WHERE k = 1 AND unit IS NOT NULL UNION ALL SELECT id FROM patient WHERE age = 3) AND EXISTS (SELECT FROM (SELECT unit, cost FROM visit UNION ALL SELECT id, age FROM patient) s WHERE s.unit = p.id AND s.cost > p.age)',
	'FROM patient p WHERE NOT EXISTS (SELECT FROM (SELECT unit, k FROM visit UNION ALL SELECT id, age FROM patient) s WHERE s.unit = p.id AND s.k <> p.age)',
	'FROM (SELECT unit, 1 AS x FROM visit WHERE unit IS NOT NULL UNION ALL SELECT unit, y FROM (SELECT unit, cost AS y FROM visit UNION ALL SELECT id, 7 FROM patient) t WHERE y > 5 AND unit IS NOT NULL) s']) WITH ORDINALITY a (q, i), compare(q) b ORDER BY i;

SET ROLE :analyst;
-- values of keys: constants, conditions, names, or released by threshold
SELECT what, dp_count(*), dp_count(DISTINCT unit) FROM (SELECT unit, 'visit' AS what FROM visit UNION ALL SELECT id, 'patient' FROM patient) s GROUP BY what ORDER BY what;
SELECT x > 3 AS large, dp_count(x) FROM (SELECT unit, cost AS x FROM visit UNION ALL SELECT id, age FROM patient) s GROUP BY 1 ORDER BY 1;
SELECT x, dp_count(*) FROM (SELECT unit, note AS x FROM visit UNION ALL SELECT id, town FROM patient) s WHERE x IN ('n0', 'town1') GROUP BY x ORDER BY x;
SET dp_pg.delta = '1e-9';
SELECT x, dp_count(*) FROM (SELECT unit, note AS x FROM visit UNION ALL SELECT id, town FROM patient) s GROUP BY x ORDER BY x;
RESET dp_pg.delta;
SELECT * FROM outcome('SELECT town, dp_count(*) FROM (SELECT id, town FROM patient UNION ALL SELECT id, town FROM patient) s GROUP BY town');
SELECT * FROM outcome('SELECT upper(x), dp_count(*) FROM (SELECT id, town AS x FROM patient UNION ALL SELECT unit, ''a'' FROM visit) s GROUP BY 1');
-- bounds are those of all parts
SELECT dp_sum(x), dp_sum(x) FILTER (WHERE x > 2) FROM (SELECT unit, cost AS x FROM visit UNION ALL SELECT id, age FROM patient) s;
SELECT * FROM outcome('SELECT dp_sum(x) FROM (SELECT unit, k AS x FROM visit UNION ALL SELECT id, age FROM patient) s');
-- transparent mode, WITH, a view
SET dp_pg.transparent = on;
SELECT count(*) FROM (SELECT unit, k FROM visit UNION ALL SELECT id, age FROM patient) s WHERE k = 1;
WITH w AS (SELECT unit, k FROM visit UNION ALL SELECT id, age FROM patient) SELECT count(*) FROM (SELECT unit, count(*) AS n FROM w GROUP BY unit) t WHERE n = 4;
RESET dp_pg.transparent;

RESET dp_pg.max_rows;
RESET dp_pg.max_keys;
\set file :abs_srcdir '/sql/include/bound.psql'
\i :file
-- parts add up, what is joined does not
SELECT bound('SELECT dp_count(*) FROM (SELECT unit FROM visit UNION ALL SELECT id FROM patient UNION ALL SELECT unit FROM visit) s');
SELECT bound('SELECT dp_count(*) FROM (SELECT unit FROM visit UNION ALL SELECT id FROM patient) s JOIN visit USING (unit) GROUP BY k IN (1), unit > 3');
SELECT bound('SELECT dp_count(*) FROM (SELECT unit FROM visit UNION SELECT id FROM patient) s');
SELECT bound('SELECT dp_count(*) FROM (SELECT DISTINCT unit FROM (SELECT unit FROM visit UNION ALL SELECT id FROM patient) s) t');
SET dp_pg.max_rows = 7;
SELECT bound('SELECT dp_count(*) FROM (SELECT unit FROM visit UNION ALL SELECT id FROM patient) s');
RESET dp_pg.max_rows;

-- ---- refused, and nothing is charged ----
SELECT q, o.* FROM unnest(ARRAY[
	'SELECT unit, income FROM visit, person UNION SELECT id, 1.0 FROM patient', 'SELECT unit, cost::numeric FROM visit UNION SELECT id, 1.0 FROM patient', 'SELECT cost FROM visit UNION SELECT age FROM patient', 'SELECT unit FROM visit INTERSECT ALL SELECT id FROM patient', 'SELECT unit FROM visit EXCEPT ALL SELECT id FROM patient',
	'SELECT cost FROM visit UNION ALL SELECT age FROM patient', 'SELECT unit, k FROM visit UNION ALL SELECT age, id FROM patient', 'SELECT unit FROM visit UNION ALL SELECT id + 0 FROM patient', 'SELECT unit FROM visit UNION ALL SELECT unit FROM rating',
	'SELECT unit FROM visit UNION ALL SELECT k FROM fee', 'SELECT unit FROM visit UNION ALL SELECT 3', 'SELECT unit FROM visit UNION ALL SELECT unit FROM other', 'SELECT unit FROM visit UNION ALL SELECT unit FROM nobody', 'SELECT unit FROM visit UNION ALL SELECT dp_count(*)::int FROM visit',
	'SELECT unit FROM visit UNION ALL SELECT v.unit FROM patient p LEFT JOIN visit v ON v.unit = p.id', 'SELECT unit FROM visit UNION ALL SELECT k FROM visit GROUP BY k', 'SELECT unit FROM visit UNION ALL SELECT id FROM patient LIMIT 3',
	'SELECT unit FROM visit UNION ALL SELECT id FROM patient, fee WHERE age < ANY (SELECT cost FROM visit)', 'SELECT unit, note FROM visit UNION ALL SELECT id, town FROM patient WHERE town ~ ''a''',
	'SELECT unit, 1 FROM visit UNION ALL SELECT id, 2.5 FROM patient', 'SELECT unit, 2.5 FROM visit UNION ALL SELECT id, 1 FROM patient', 'SELECT unit, date ''2024-01-01'' FROM visit UNION ALL SELECT id, timestamp ''2024-01-01'' FROM patient', 'SELECT unit FROM rating UNION ALL SELECT unit FROM visit',
	'SELECT unit FROM visit' || repeat(' UNION ALL SELECT unit FROM visit', 16)]) WITH ORDINALITY a (q, i),
	outcome('SELECT dp_count(*) FROM (' || q || ') s') o ORDER BY i;
SELECT * FROM outcome('SELECT dp_count(*) FROM visit v JOIN (SELECT k, unit FROM visit UNION ALL SELECT age, id FROM patient) s ON s.k = v.k');
\set VERBOSITY terse
SELECT dp_count(*) FROM (SELECT cost FROM visit UNION ALL SELECT age FROM patient) s;
\set VERBOSITY sqlstate
RESET ROLE;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
