-- INTERSECT and EXCEPT of rows of protected relations, with the unit in one
-- column of all parts.  Each answer is compared with that of the plain query.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_intersect
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
CREATE TABLE patient (id int PRIMARY KEY, town text, age int);
INSERT INTO patient SELECT i, 'town' || i % 3, nullif(i % 8, 0) FROM generate_series(1, 30) i;
CREATE TABLE visit (unit int, k int, cost int, note text, score numeric);
INSERT INTO visit SELECT CASE WHEN i % 40 < 25 THEN i % 40 END, i % 5, nullif(i * 7 % 11, 3), nullif('n' || i % 4, 'n1'), CASE i % 3 WHEN 0 THEN 1.0 WHEN 1 THEN 1.00 END FROM generate_series(1, 120) i;
CREATE TABLE nobody (unit int);
CREATE TABLE other (unit int);
CREATE TABLE fee (k int, least int, w text);
INSERT INTO fee VALUES (0, 3, 'n0'), (0, 9, 'n2'), (2, 4, NULL), (4, NULL, 'n3');
GRANT SELECT ON fee TO :analyst;
SELECT dp_protect('patient', unit => 'id', dataset => :'schema'), dp_protect('visit', unit => 'unit', dataset => :'schema'),
	dp_protect('nobody', dataset => :'schema'), dp_protect('other', unit => 'unit', dataset => :'schema' || '2') \g /dev/null
SELECT dp_declare('patient', 'age', lower => 0, upper => 10), dp_declare('visit', 'cost', lower => -5, upper => 8),
	dp_declare('visit', max_rows => 50, max_keys => 5) \g /dev/null
RESET ROLE;

\set file :abs_srcdir '/sql/include/compare.psql'
\i :file
SET dp_pg.max_rows = 100;
SET dp_pg.max_keys = 10;
SELECT q, b.* FROM unnest(ARRAY[
	'FROM (SELECT unit FROM visit INTERSECT SELECT id FROM patient) s',
	'FROM (SELECT id FROM patient EXCEPT SELECT unit FROM visit) s',
	'FROM (SELECT unit FROM visit WHERE k = 1 AND unit IS NOT NULL EXCEPT SELECT unit FROM visit WHERE cost > 5) s',
	-- NULLs are one value, rows that are equal one row
	'FROM (SELECT unit, cost FROM visit WHERE unit IS NOT NULL INTERSECT SELECT unit, k FROM visit) s',
	'FROM (SELECT unit, cost, note FROM visit WHERE unit IS NOT NULL INTERSECT SELECT unit, nullif(cost, 8), note FROM visit WHERE k <> 2) s WHERE cost IS NULL',
	'FROM (SELECT unit, cost FROM visit WHERE unit IS NOT NULL EXCEPT SELECT unit, nullif(cost, 8) FROM visit WHERE k = 2) s',
	'FROM (SELECT unit, note FROM visit WHERE unit IS NOT NULL EXCEPT SELECT unit, NULL FROM visit WHERE k = 2) s',
	'FROM (SELECT unit, cost FROM visit WHERE k = 1 AND unit IS NOT NULL EXCEPT SELECT unit, cost FROM visit WHERE false) s',
	-- of one another, and of UNION
	'FROM (SELECT unit, k FROM visit WHERE unit IS NOT NULL INTERSECT SELECT unit, cost FROM visit INTERSECT SELECT unit, k + 1 FROM visit) s',
	'FROM (SELECT id, age FROM patient UNION SELECT unit, k FROM visit WHERE unit IS NOT NULL INTERSECT SELECT unit, cost FROM visit) s',
	'FROM (SELECT id, age FROM patient UNION ALL SELECT unit, k FROM visit WHERE unit IS NOT NULL INTERSECT SELECT unit, cost FROM visit) s',
	'FROM (SELECT id, age FROM patient UNION ALL (SELECT unit, k FROM visit WHERE unit IS NOT NULL EXCEPT SELECT unit, cost FROM visit)) s',
	'FROM ((SELECT id, age FROM patient UNION ALL SELECT unit, k FROM visit WHERE unit IS NOT NULL) EXCEPT (SELECT unit, cost FROM visit UNION SELECT id, 3 FROM patient)) s',
	'FROM (SELECT id, age FROM patient EXCEPT SELECT unit, k FROM visit EXCEPT (SELECT unit, cost FROM visit EXCEPT SELECT id, 2 FROM patient)) s',
	'FROM ((SELECT unit, k FROM visit WHERE unit IS NOT NULL UNION SELECT id, age FROM patient) UNION ALL SELECT id, 1 FROM patient) s WHERE k < 4',
	'FROM (SELECT unit, k FROM visit WHERE unit IS NOT NULL UNION ALL (SELECT id, age FROM patient UNION SELECT unit, k FROM visit WHERE unit < 9)) s',
	-- WITH, its own and that around it
	'FROM (WITH v AS (SELECT unit, k FROM visit WHERE unit IS NOT NULL) SELECT unit, k FROM v EXCEPT SELECT unit, k + 1 FROM v WHERE unit > 3) s',
	'FROM (WITH v AS (SELECT unit, k FROM visit WHERE unit IS NOT NULL) SELECT unit FROM (SELECT unit, k FROM v WHERE k > 0 INTERSECT (SELECT unit, k + 1 FROM v EXCEPT SELECT unit, k FROM v WHERE unit > 20)) i GROUP BY unit HAVING count(*) > 1) s',
	'FROM (SELECT unit, k FROM visit WHERE unit IS NOT NULL EXCEPT (WITH w AS (SELECT k FROM fee WHERE least > (SELECT min(k) FROM fee)) SELECT unit, w.k FROM visit JOIN w USING (k))) s',
	-- below: groups, joins, questions; and above
	'FROM (SELECT unit, count(*) FROM visit WHERE unit IS NOT NULL GROUP BY unit INTERSECT SELECT unit, count(cost) FROM visit GROUP BY unit) s',
	'FROM (SELECT v.unit, least FROM visit v JOIN fee USING (k) WHERE unit IS NOT NULL EXCEPT SELECT unit, cost FROM visit) s',
	'FROM (SELECT id FROM patient WHERE NOT EXISTS (SELECT FROM visit WHERE unit = id AND k = 2) EXCEPT SELECT DISTINCT unit FROM visit WHERE k = 1) s',
	'FROM patient p JOIN (SELECT unit, k FROM visit EXCEPT SELECT unit, cost FROM visit) s ON s.unit = p.id WHERE p.age > s.k',
	'FROM patient p LEFT JOIN (SELECT unit, k FROM visit INTERSECT SELECT unit, cost FROM visit) s ON s.unit = p.id',
	'FROM patient p WHERE id IN (SELECT unit FROM visit WHERE k = 1 INTERSECT SELECT unit FROM visit WHERE k = 3)',
	'FROM patient p WHERE id NOT IN (SELECT unit FROM visit WHERE k = 1 AND unit IS NOT NULL EXCEPT SELECT unit FROM visit WHERE k = 3)',
	'FROM patient p WHERE EXISTS (SELECT FROM (SELECT unit, k FROM visit INTERSECT SELECT unit, cost FROM visit) s WHERE s.unit = p.id AND s.k <> p.age)',
	'FROM (SELECT unit, count(*) AS n FROM (SELECT unit, cost FROM visit WHERE unit IS NOT NULL EXCEPT SELECT unit, k FROM visit) s GROUP BY unit) t WHERE n > 1']) WITH ORDINALITY a (q, i), compare(q) b ORDER BY i;

SET ROLE :analyst;
SELECT note IS NULL AS without, dp_count(*), dp_sum(cost) FROM (SELECT unit, cost, note FROM visit INTERSECT SELECT unit, cost, note FROM visit WHERE k < 3) s GROUP BY 1 ORDER BY 1;
SET dp_pg.transparent = on;
SELECT count(*) FROM (SELECT id FROM patient EXCEPT SELECT unit FROM visit) s;
RESET dp_pg.transparent;

RESET dp_pg.max_rows;
RESET dp_pg.max_keys;
\set file :abs_srcdir '/sql/include/bound.psql'
\i :file
SELECT bound('SELECT dp_count(*) FROM (SELECT unit FROM visit EXCEPT SELECT id FROM patient) s');
SELECT bound('SELECT dp_count(*) FROM (SELECT unit, k FROM visit EXCEPT SELECT id, age FROM patient) s');

-- ---- refused, and nothing is charged ----
SELECT q, o.* FROM unnest(ARRAY[
	'SELECT unit FROM visit INTERSECT ALL SELECT id FROM patient', 'SELECT unit FROM visit EXCEPT ALL SELECT id FROM patient', 'SELECT unit FROM visit UNION ALL (SELECT id FROM patient EXCEPT ALL SELECT unit FROM visit)',
	-- of equal spellings one would be shown
	'SELECT unit, score FROM visit INTERSECT SELECT id, 1.0 FROM patient', 'SELECT unit, score FROM visit EXCEPT SELECT id, 1.0 FROM patient', 'SELECT unit, score FROM visit UNION SELECT id, 1.0 FROM patient',
	'SELECT k FROM visit INTERSECT SELECT age FROM patient', 'SELECT unit, k FROM visit EXCEPT SELECT age, id FROM patient', 'SELECT unit FROM visit EXCEPT SELECT id + 0 FROM patient',
	-- nobody's rows
	'SELECT unit, k FROM visit EXCEPT SELECT k, least FROM fee', 'SELECT k FROM fee EXCEPT SELECT unit FROM visit', 'SELECT unit FROM visit INTERSECT SELECT 3', 'SELECT unit FROM visit EXCEPT SELECT dp_count(*)::int FROM visit',
	'SELECT unit FROM visit EXCEPT SELECT unit FROM other', 'SELECT unit FROM visit INTERSECT SELECT unit FROM nobody', 'SELECT unit FROM visit EXCEPT SELECT v.unit FROM patient p LEFT JOIN visit v ON v.unit = p.id',
	'SELECT unit FROM visit EXCEPT SELECT k FROM visit GROUP BY k', 'SELECT unit FROM visit INTERSECT SELECT id FROM patient LIMIT 3', 'SELECT unit, 1 FROM visit EXCEPT SELECT id, 2.5 FROM patient',
	'(SELECT unit, 1 FROM visit UNION SELECT id, 2 FROM patient) EXCEPT SELECT id, 2.5 FROM patient',
	'SELECT unit FROM visit' || repeat(' INTERSECT SELECT unit FROM visit', 9)]) WITH ORDINALITY a (q, i),
	outcome('SELECT dp_count(*) FROM (' || q || ') s') o ORDER BY i;
SELECT * FROM outcome('SELECT dp_count(*) FROM patient p WHERE EXISTS (SELECT unit FROM visit WHERE unit = p.id INTERSECT SELECT unit FROM visit WHERE k = p.age)');
\set VERBOSITY terse
SELECT dp_count(*) FROM (SELECT unit FROM visit INTERSECT ALL SELECT id FROM patient) s;
SELECT dp_count(*) FROM (SELECT unit FROM visit EXCEPT SELECT k FROM fee) s;
\set VERBOSITY sqlstate
RESET ROLE;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
