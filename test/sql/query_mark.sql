-- EXISTS and IN within expressions: under OR, in CASE, in FILTER, in
-- arguments, keys and columns.  Each answer is compared with that of the plain
-- query.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_mark
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
CREATE TABLE patient (id int PRIMARY KEY, town text, age int);
INSERT INTO patient SELECT i, 'town' || i % 3, nullif(i % 8, 0) FROM generate_series(1, 30) i;
CREATE TABLE visit (unit int, k int, cost int, note text, score numeric);
INSERT INTO visit SELECT CASE WHEN i % 40 < 25 THEN i % 40 END, i % 5, nullif(i * 7 % 11, 3), nullif('n' || i % 4, 'n1'), CASE i % 3 WHEN 0 THEN 1.0 WHEN 1 THEN 1.00 END FROM generate_series(1, 120) i;
CREATE TABLE nobody (x int);
INSERT INTO nobody SELECT i % 5 FROM generate_series(1, 20) i;
CREATE TABLE other (unit int);
CREATE TABLE fee (k int, least int, w text);
INSERT INTO fee VALUES (0, 3, 'n0'), (0, 9, 'n2'), (2, 4, NULL), (4, NULL, 'n3'), (NULL, 1, 'n1');
GRANT SELECT ON fee TO :analyst;
SELECT dp_protect('patient', unit => 'id', dataset => :'schema'), dp_protect('visit', unit => 'unit', dataset => :'schema'),
	dp_protect('nobody', dataset => :'schema'), dp_protect('other', unit => 'unit', dataset => :'schema' || '2') \g /dev/null
SELECT dp_declare('patient', 'town', keys => ARRAY['town0', 'town1', 'town2']), dp_declare('patient', 'age', lower => 0, upper => 10), dp_declare('visit', 'cost', lower => -5, upper => 8),
	dp_declare('visit', max_rows => 50, max_keys => 5), dp_declare('patient', max_rows => 1) \g /dev/null
RESET ROLE;

\set file :abs_srcdir '/sql/include/compare.psql'
\i :file
SET dp_pg.max_rows = 100;
SET dp_pg.max_keys = 10;
SELECT q, b.* FROM unnest(ARRAY[
	-- beside OR, AND, NOT, in CASE
	'FROM patient WHERE age > 5 OR EXISTS (SELECT FROM visit WHERE unit = id AND k = 2)',
	'FROM patient WHERE age > 5 OR NOT EXISTS (SELECT FROM visit WHERE unit = id AND k = 2)',
	'FROM patient WHERE age = 5 OR EXISTS (SELECT FROM visit WHERE unit = id AND k = 2) OR EXISTS (SELECT FROM visit WHERE unit = id AND cost = 9)',
	'FROM patient WHERE NOT (age < 5 AND EXISTS (SELECT FROM visit WHERE unit = id AND k = 2))',
	'FROM patient WHERE CASE WHEN EXISTS (SELECT FROM visit WHERE unit = id AND k = 2) THEN age > 3 ELSE age < 2 END',
	'FROM patient WHERE CASE town WHEN ''town1'' THEN EXISTS (SELECT FROM visit WHERE unit = id) ELSE age = 3 END',
	'FROM patient WHERE EXISTS (SELECT FROM visit WHERE unit = id AND k = 2) = (age < 5)',
	'FROM patient WHERE id IN (SELECT unit FROM visit WHERE k = 2) OR age < 3',
	'FROM patient WHERE id NOT IN (SELECT unit FROM visit WHERE k = 2 AND unit IS NOT NULL) OR age < 3',
	'FROM patient WHERE (id IN (SELECT unit FROM visit WHERE k = 2)) IS NOT TRUE',
	-- compared with more
	'FROM patient WHERE town = ''town1'' OR EXISTS (SELECT FROM visit WHERE unit = id AND k = age)',
	'FROM patient WHERE town = ''town1'' OR EXISTS (SELECT FROM visit WHERE unit = id AND k + 1 = age - 1 AND age > 3)',
	'FROM patient WHERE town = ''town1'' OR (id, age) IN (SELECT unit, cost FROM visit)',
	'FROM visit v WHERE unit IS NOT NULL AND (k = 1 OR EXISTS (SELECT FROM visit w WHERE w.unit = v.unit AND w.k = v.k + 1 AND w.cost > 5))',
	-- three values
	'FROM patient WHERE town = ''town1'' OR age NOT IN (SELECT cost FROM visit WHERE unit = id)',
	'FROM patient WHERE (age IN (SELECT cost FROM visit WHERE unit = id)) IS NULL',
	'FROM patient WHERE (age IN (SELECT cost FROM visit WHERE unit = id)) IS TRUE',
	'FROM patient WHERE (age IN (SELECT cost FROM visit WHERE unit = id)) IS FALSE',
	'FROM patient WHERE (age IN (SELECT cost FROM visit WHERE unit = id AND k = 9)) IS FALSE',
	'FROM patient WHERE ((id, age) IN (SELECT unit, cost FROM visit WHERE unit IS NOT NULL)) IS NULL',
	'FROM patient WHERE ((id, age) NOT IN (SELECT unit, cost FROM visit WHERE unit IS NOT NULL)) OR age = 1',
	'FROM patient WHERE CASE WHEN age IN (SELECT cost FROM visit WHERE unit = id) THEN false WHEN age NOT IN (SELECT cost FROM visit WHERE unit = id) THEN true ELSE age IS NULL END',
	'FROM visit v WHERE unit IS NOT NULL AND ((cost IN (SELECT w.k FROM visit w WHERE w.unit = v.unit AND w.k = v.k)) IS NULL OR note = ''n2'')',
	-- over public rows
	'FROM patient WHERE age = 3 OR EXISTS (SELECT FROM fee WHERE k = age AND least > 3)',
	'FROM patient WHERE age = 3 OR (age, town) IN (SELECT k, w FROM fee WHERE w = town) OR age IN (SELECT k FROM fee)',
	'FROM visit WHERE unit IS NOT NULL AND ((k IN (SELECT f.k FROM fee f WHERE f.w = note)) IS NULL OR cost = 1)',
	'FROM visit WHERE unit IS NOT NULL AND (cost < 2 OR k NOT IN (SELECT k FROM fee WHERE k IS NOT NULL))',
	'FROM nobody WHERE x = 1 OR EXISTS (SELECT FROM fee WHERE k = x)',
	-- what is asked groups, joins, is of several parts, asks itself
	'FROM patient WHERE age = 3 OR id IN (SELECT unit FROM visit GROUP BY unit HAVING count(*) > 3)',
	'FROM patient WHERE age = 3 OR EXISTS (SELECT unit FROM visit WHERE unit = id GROUP BY unit, k HAVING sum(cost) > 10)',
	'FROM patient WHERE age = 3 OR EXISTS (SELECT FROM visit JOIN fee USING (k) WHERE unit = id AND w = note)',
	'FROM patient p WHERE age = 3 OR EXISTS (SELECT FROM visit JOIN patient q ON unit = q.id WHERE q.id = p.id AND q.age = k)',
	'FROM patient p WHERE age = 3 OR id IN (SELECT unit FROM visit WHERE k = 1 EXCEPT SELECT unit FROM visit WHERE cost = 1)',
	'FROM patient p WHERE age = 3 OR id IN (SELECT unit FROM visit v WHERE k = 1 OR NOT EXISTS (SELECT FROM visit w WHERE w.unit = v.unit AND w.k = 2))',
	'FROM patient p WHERE (age = 3 OR id IN (SELECT unit FROM visit WHERE k = 2)) AND NOT EXISTS (SELECT FROM visit WHERE unit = id AND cost > p.age + 3) AND id IN (SELECT id FROM patient WHERE age < 6)',
	'FROM patient p WHERE age = 3 OR id IN (WITH w AS (SELECT unit, k FROM visit) SELECT unit FROM w WHERE k = 2)',
	-- columns of levels below
	'FROM (SELECT id, EXISTS (SELECT FROM visit WHERE unit = id AND k = 2) AS e, age IN (SELECT cost FROM visit WHERE unit = id) AS i FROM patient) s WHERE e OR i IS NULL',
	'FROM (SELECT unit, count(*) FILTER (WHERE EXISTS (SELECT FROM patient WHERE id = unit AND age = k)) AS n, bool_or(unit IN (SELECT id FROM patient WHERE age > 3)) AS b FROM visit WHERE unit IS NOT NULL GROUP BY unit) s WHERE n > 0 OR b',
	'FROM (SELECT DISTINCT unit, k IN (SELECT age FROM patient WHERE id = unit) AS i FROM visit WHERE unit IS NOT NULL) s WHERE i IS NOT FALSE',
	'FROM patient p JOIN visit v ON unit = id WHERE v.k = 1 OR EXISTS (SELECT FROM visit w WHERE w.unit = p.id AND w.k = p.age)',
	'FROM patient p LEFT JOIN visit v ON unit = id AND k = 2 WHERE v.k IS NULL OR EXISTS (SELECT FROM visit w WHERE w.unit = v.unit AND w.k = p.age)',
	'FROM patient p LEFT JOIN visit v ON unit = id AND k = 2 WHERE p.age = 1 OR v.unit NOT IN (SELECT unit FROM visit WHERE cost = 9 AND unit = p.id)']) WITH ORDINALITY a (q, i), compare(q) b ORDER BY i;

SET ROLE :analyst;
-- FILTER, arguments, keys
SELECT dp_count(*) FILTER (WHERE EXISTS (SELECT FROM visit WHERE unit = id AND k = 2)) AS n, dp_count(*), dp_sum(CASE WHEN id IN (SELECT unit FROM visit) THEN age END) AS s,
	dp_count(*) FILTER (WHERE NOT EXISTS (SELECT FROM visit WHERE unit = id AND k = 2)) AS others FROM patient;
SELECT EXISTS (SELECT FROM visit WHERE unit = id AND k = 2) AS e, dp_count(*) FROM patient GROUP BY 1 HAVING EXISTS (SELECT FROM fee) ORDER BY e;
SELECT CASE WHEN id IN (SELECT unit FROM visit WHERE k = 2) THEN 'some' ELSE 'none' END AS has, dp_count(*) FROM patient GROUP BY 1 ORDER BY 1;
SELECT town, dp_count(*) FILTER (WHERE EXISTS (SELECT FROM visit WHERE unit = id AND k = 2)) FROM patient GROUP BY town ORDER BY town;
-- one released value, however often it is written
SELECT spent() \g /dev/null
SELECT dp_count(*) FILTER (WHERE age = 3 OR id IN (SELECT unit FROM visit)) AS n, round(dp_error(dp_count(*) FILTER (WHERE age = 3 OR id IN (SELECT unit FROM visit)))) AS e FROM patient;
SELECT charges FROM spent();
PREPARE asked(int) AS SELECT dp_count(*) FROM patient WHERE age = $1 OR EXISTS (SELECT FROM visit WHERE unit = id AND k = $1);
EXECUTE asked(3);
EXECUTE asked(1);
SET dp_pg.transparent = on;
SELECT count(*) FILTER (WHERE EXISTS (SELECT FROM visit WHERE unit = id AND k = 2)), count(*) FROM patient WHERE age > 2 OR id IN (SELECT unit FROM visit);
RESET dp_pg.transparent;

RESET dp_pg.max_rows;
RESET dp_pg.max_keys;
\set file :abs_srcdir '/sql/include/bound.psql'
\i :file
-- the bounds are those of the rows that ask, also where the join is written out, but not of another one
SELECT bound('SELECT dp_count(*) FROM patient WHERE age > 5 OR EXISTS (SELECT FROM visit WHERE unit = id AND k = 2)');
SELECT bound('SELECT dp_count(*) FROM patient LEFT JOIN (SELECT DISTINCT unit, k FROM visit) v ON unit = id AND k = age');
SELECT bound('SELECT dp_count(*) FROM patient LEFT JOIN (SELECT DISTINCT unit, k FROM visit) v ON unit = id');
SELECT bound('SELECT dp_count(*) FROM patient LEFT JOIN (SELECT DISTINCT unit, k FROM visit) v ON unit = id AND k = unit');
SELECT bound('SELECT dp_count(*) FROM patient JOIN (SELECT DISTINCT unit, k FROM visit) v ON unit = id AND k = age');

-- ---- refused, and nothing is charged ----
SELECT q, o.* FROM unnest(ARRAY[
	-- of others' rows
	'FROM patient WHERE age = 3 OR EXISTS (SELECT FROM visit)', 'FROM patient WHERE age = 3 OR EXISTS (SELECT FROM visit WHERE k = 2)', 'FROM patient WHERE age = 3 OR EXISTS (SELECT FROM visit WHERE k = age)',
	'FROM patient WHERE age = 3 OR EXISTS (SELECT FROM visit WHERE unit = 7)', 'FROM patient WHERE age = 3 OR EXISTS (SELECT FROM visit WHERE unit = age)', 'FROM patient WHERE age = 3 OR id IN (SELECT k FROM visit)',
	'FROM patient WHERE age = 3 OR EXISTS (SELECT FROM visit WHERE age = 4)', 'FROM patient WHERE age = 3 OR EXISTS (SELECT FROM other WHERE unit = id)', 'FROM patient WHERE age = 3 OR EXISTS (SELECT FROM nobody WHERE x = id)',
	'FROM patient WHERE age = 3 OR age NOT IN (SELECT cost FROM visit)', 'FROM patient WHERE age = 3 OR EXISTS (SELECT FROM visit WHERE unit = id OR k = 3)', 'FROM patient WHERE age = 3 OR EXISTS (SELECT FROM visit WHERE unit + 0 = id)',
	'FROM fee WHERE least = 3 OR EXISTS (SELECT FROM visit WHERE unit = k)', 'FROM patient, fee WHERE least = 3 OR EXISTS (SELECT FROM visit WHERE unit = fee.k)', 'FROM nobody WHERE x = 1 OR EXISTS (SELECT FROM visit WHERE unit = x)',
	-- other comparisons
	'FROM patient WHERE age = 3 OR EXISTS (SELECT FROM visit WHERE unit = id AND cost > age)', 'FROM patient WHERE age = 3 OR age > ANY (SELECT cost FROM visit WHERE unit = id)', 'FROM patient WHERE age = 3 OR age <> ALL (SELECT cost FROM visit WHERE unit = id)',
	'FROM patient WHERE age = 3 OR EXISTS (SELECT FROM fee WHERE k > age)', 'FROM patient WHERE age = 3 OR ((age, town) IN (SELECT k, w FROM fee)) IS NULL', 'FROM patient WHERE ((age, town) IN (SELECT cost, note FROM visit WHERE unit = id)) IS NULL',
	'FROM patient WHERE age = 3 OR EXISTS (SELECT FROM visit WHERE unit = id AND score = 1.5 + age)', 'FROM patient WHERE age = 3 OR EXISTS (SELECT count(*) FROM visit WHERE unit = id)', 'FROM patient WHERE age = 3 OR EXISTS (SELECT FROM visit WHERE unit = id OFFSET 1)',
	-- elsewhere
	'FROM patient p JOIN visit v ON unit = id AND (v.k = 1 OR EXISTS (SELECT FROM visit w WHERE w.unit = p.id))', 'FROM (SELECT unit, count(*) AS n FROM visit GROUP BY unit HAVING count(*) > 3 OR EXISTS (SELECT FROM patient WHERE id = unit)) s',
	'FROM (SELECT unit, (SELECT max(age) FROM patient WHERE id = unit) AS n FROM visit) s']) WITH ORDINALITY a (q, i),
	outcome('SELECT dp_count(*) ' || q) o ORDER BY i;
\set VERBOSITY terse
SELECT dp_count(*) FROM patient WHERE age = 3 OR EXISTS (SELECT FROM visit WHERE k = age);
SELECT dp_count(*) FROM patient WHERE age = 3 OR EXISTS (SELECT FROM visit WHERE unit = id AND cost > age);
SELECT dp_count(*) FROM patient WHERE ((age, town) IN (SELECT cost, note FROM visit WHERE unit = id)) IS NULL;
SELECT dp_count(*) FILTER (WHERE EXISTS (SELECT FROM visit WHERE k = age)) FROM patient;
\set VERBOSITY sqlstate
RESET ROLE;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
