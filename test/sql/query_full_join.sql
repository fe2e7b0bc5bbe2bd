-- FULL JOIN of rows of protected relations on their units.  Each answer is
-- compared with that of the plain query.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_full_join
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
CREATE TABLE patient (id int PRIMARY KEY, town text NOT NULL, age int NOT NULL);
INSERT INTO patient SELECT i, 'town' || i % 3, i % 8 FROM generate_series(1, 30) i;
CREATE TABLE visit (id int PRIMARY KEY, unit int, k int, cost int, town text);
INSERT INTO visit SELECT i, CASE WHEN i % 40 < 35 THEN 10 + i % 40 END, i % 5, nullif(i * 7 % 11, 3), nullif('town' || i % 4, 'town1') FROM generate_series(1, 120) i;
CREATE TABLE rating (unit bigint, stars int);
INSERT INTO rating SELECT i % 53, nullif(i % 6, 4) FROM generate_series(1, 90) i;
CREATE TABLE line (visit int REFERENCES visit, what text, price int);
INSERT INTO line SELECT nullif(1 + i % 121, 121), 'w' || i % 3, i % 9 FROM generate_series(1, 240) i;
CREATE TABLE note (code varchar(10), word text);
INSERT INTO note SELECT 'p' || i % 12, 'w' || i % 2 FROM generate_series(1, 36) i;
CREATE TABLE letter (code text);
INSERT INTO letter SELECT 'p' || i FROM generate_series(8, 20) i;
CREATE TABLE nobody (unit int);
CREATE TABLE other (unit int);
CREATE TABLE fee (k int, least int, w text);
INSERT INTO fee VALUES (0, 3, 'n0'), (0, 9, 'n2'), (2, 4, NULL), (4, NULL, 'n3');
GRANT SELECT ON fee TO :analyst;
SELECT dp_protect('patient', unit => 'id', dataset => :'schema'), dp_protect('visit', unit => 'unit', dataset => :'schema'),
	dp_protect('rating', unit => 'unit', dataset => :'schema'), dp_protect('line', unit => 'visit -> visit.unit', dataset => :'schema'), dp_protect('note', unit => 'code', dataset => :'schema'),
	dp_protect('letter', unit => 'code', dataset => :'schema'), dp_protect('nobody', dataset => :'schema'), dp_protect('other', unit => 'unit', dataset => :'schema' || '2') \g /dev/null
SELECT dp_declare('patient', 'town', keys => ARRAY['town0', 'town1', 'town2']), dp_declare('visit', 'town', keys => ARRAY['town0', 'town2', 'town3']), dp_declare('patient', 'age', lower => 0, upper => 10),
	dp_declare('visit', 'cost', lower => -5, upper => 12), dp_declare('visit', 'k', lower => 0, upper => 4) \g /dev/null
SELECT dp_declare('visit', max_rows => 1), dp_declare('rating', max_rows => 1) \g /dev/null
RESET ROLE;

\set file :abs_srcdir '/sql/include/compare.psql'
\i :file
SET dp_pg.max_rows = 100;
SET dp_pg.max_keys = 20;
SELECT q, b.* FROM unnest(ARRAY[
	'FROM patient p FULL JOIN (SELECT * FROM visit WHERE unit IS NOT NULL) v ON v.unit = p.id',
	'FROM (SELECT * FROM visit WHERE unit IS NOT NULL) v FULL OUTER JOIN patient p ON p.id = v.unit',
	'FROM patient p FULL JOIN (SELECT * FROM visit WHERE false) v ON v.unit = p.id',
	'FROM (SELECT * FROM visit WHERE k = NULL) v FULL OUTER JOIN patient p ON p.id = v.unit',
	'FROM patient FULL JOIN rating r ON r.unit = patient.id',
	'FROM (SELECT id AS unit, age FROM patient) p FULL JOIN rating r USING (unit)',
	'FROM (SELECT id AS unit, age FROM patient) p FULL JOIN rating r USING (unit) WHERE unit = 5',
	'FROM (SELECT id AS unit, age FROM patient) p FULL JOIN rating r USING (unit) WHERE unit = 50 AND stars > 1',
	'FROM (SELECT id AS unit, age FROM patient) p FULL JOIN rating r USING (unit) WHERE unit IN (5, 50, 52) AND age IS NULL',
	-- other conditions beside that of units
	'FROM patient p FULL JOIN rating r ON r.unit = p.id AND r.stars > p.age',
	'FROM patient p FULL JOIN rating r ON r.unit = p.id AND r.stars = p.age AND p.town = ''town1''',
	'FROM patient p FULL JOIN rating r ON r.unit = p.id AND (r.stars IS NULL OR p.age > 3)',
	'FROM patient p FULL JOIN rating r ON r.unit = p.id WHERE p.id IS NULL',
	'FROM patient p FULL JOIN rating r ON r.unit = p.id WHERE r.unit IS NULL AND age > 2',
	'FROM patient p FULL JOIN rating r ON r.unit = p.id WHERE age > 2',
	'FROM patient p FULL JOIN rating r ON r.unit = p.id WHERE age > 2 OR stars = 1',
	'FROM patient p FULL JOIN rating r ON r.unit = p.id AND r.stars > p.age WHERE p.id = 7',
	-- further joins, above and below
	'FROM patient p FULL JOIN rating r ON r.unit = p.id LEFT JOIN fee f ON f.k = p.age',
	'FROM patient p FULL JOIN rating r ON r.unit = p.id JOIN fee f ON f.k = r.stars',
	'FROM fee f, patient p FULL JOIN rating r ON r.unit = p.id WHERE f.least > coalesce(p.age, r.stars)',
	'FROM (patient p JOIN fee f ON f.k = p.age) FULL JOIN rating r ON r.unit = p.id',
	'FROM (patient p LEFT JOIN fee f ON f.k = p.age) FULL JOIN rating r ON r.unit = p.id AND f.least > 1',
	'FROM rating r FULL JOIN (patient p LEFT JOIN fee f ON f.k = p.age) ON r.unit = p.id',
	'FROM (patient p JOIN visit v ON v.unit = p.id) FULL JOIN rating r ON r.unit = p.id',
	'FROM rating r FULL JOIN (patient p JOIN visit v ON v.unit = p.id AND v.k = 1) ON r.unit = v.unit',
	'FROM patient p FULL JOIN rating r ON r.unit = p.id JOIN visit v ON v.unit = r.unit',
	'FROM patient p FULL JOIN rating r ON r.unit = p.id LEFT JOIN visit v ON v.unit = p.id AND v.k = 2',
	'FROM visit v LEFT JOIN (patient p FULL JOIN rating r ON r.unit = p.id) ON v.unit = p.id WHERE v.unit IS NOT NULL',
	'FROM visit v JOIN (patient p FULL JOIN rating r ON r.unit = p.id) ON v.unit = coalesce(p.id, r.unit)',
	'FROM visit v LEFT JOIN (SELECT coalesce(p.id, r.unit) AS unit, age FROM patient p FULL JOIN rating r ON r.unit = p.id) q USING (unit) WHERE v.unit IS NOT NULL',
	'FROM (SELECT id AS unit, age FROM patient) p FULL JOIN rating r USING (unit) FULL JOIN (SELECT * FROM visit WHERE unit IS NOT NULL) v USING (unit)',
	'FROM (SELECT id AS unit, age FROM patient) p FULL JOIN rating r USING (unit) FULL JOIN (SELECT * FROM visit WHERE unit IS NOT NULL) v USING (unit) WHERE unit = 7 OR age > 3 OR k = 2',
	'FROM patient p FULL JOIN rating r ON r.unit = p.id FULL JOIN (SELECT * FROM visit WHERE unit IS NOT NULL) v ON v.unit = p.id',
	'FROM patient p FULL JOIN (rating r FULL JOIN (SELECT unit, k FROM visit WHERE unit IS NOT NULL) v USING (unit)) ON unit = p.id AND (age > k OR age > stars)',
	'FROM note n FULL JOIN letter l ON l.code = n.code', 'FROM letter l FULL JOIN note n USING (code) WHERE code > ''p1''',
	-- along a path
	'FROM (SELECT l.* FROM line l WHERE EXISTS (SELECT FROM visit v WHERE v.id = l.visit AND unit IS NOT NULL)) l FULL JOIN (SELECT * FROM visit WHERE unit IS NOT NULL) v ON l.visit = v.id',
	'FROM (SELECT id AS visit, k FROM visit WHERE k > 2 AND unit IS NOT NULL) v FULL JOIN (SELECT l.* FROM line l WHERE what = ''w1'' AND EXISTS (SELECT FROM visit v WHERE v.id = l.visit AND unit IS NOT NULL)) l USING (visit)',
	-- levels
	'FROM (SELECT unit, count(*) AS n FROM visit WHERE unit IS NOT NULL GROUP BY unit) a FULL JOIN (SELECT unit, count(*) AS m FROM rating GROUP BY unit) b USING (unit) WHERE coalesce(n, 0) > coalesce(m, 0)',
	'FROM (SELECT unit, count(*) AS n FROM visit WHERE unit IS NOT NULL GROUP BY unit) a FULL JOIN (SELECT unit, count(*) AS m FROM rating GROUP BY unit) b ON a.unit = b.unit AND n > m',
	'FROM (SELECT unit, count(v.k) AS n, sum(stars) AS s FROM (SELECT * FROM visit WHERE unit IS NOT NULL) v FULL JOIN rating r USING (unit) GROUP BY unit) q WHERE n > 2 OR s > 4',
	'FROM (SELECT DISTINCT unit, k, stars FROM (SELECT * FROM visit WHERE unit IS NOT NULL) v FULL JOIN rating r USING (unit)) q',
	'FROM (SELECT unit, k FROM visit WHERE unit IS NOT NULL UNION ALL SELECT id, age FROM patient) s FULL JOIN rating r USING (unit)',
	'FROM (SELECT unit::bigint AS unit, k FROM visit WHERE unit IS NOT NULL UNION ALL SELECT coalesce(p.id, r.unit), stars FROM patient p FULL JOIN rating r ON r.unit = p.id) s WHERE k = 1',
	-- what is asked
	'FROM (SELECT id AS unit, age FROM patient) p FULL JOIN rating r USING (unit) WHERE EXISTS (SELECT FROM visit v WHERE v.unit = p.unit AND v.k = stars)',
	'FROM (SELECT id AS unit, age FROM patient) p FULL JOIN rating r USING (unit) WHERE unit NOT IN (SELECT unit FROM visit WHERE unit IS NOT NULL AND k = 1)',
	'FROM visit v WHERE unit NOT IN (SELECT coalesce(p.id, r.unit) FROM patient p FULL JOIN rating r ON r.unit = p.id AND age > 4 WHERE age IS NULL)',
	'FROM visit v WHERE unit IS NOT NULL AND NOT EXISTS (SELECT FROM patient p FULL JOIN rating r ON r.unit = p.id WHERE v.unit = coalesce(p.id, r.unit) AND (stars = 1 OR age > v.k))',
	'FROM visit v WHERE EXISTS (SELECT FROM (SELECT id AS unit, age FROM patient) p FULL JOIN rating r USING (unit) WHERE unit = v.unit AND (stars = v.k OR age = v.k))',
	-- the hash table is of the side that joins nothing, however small the other seems
	'FROM (visit v JOIN rating w ON w.unit = v.unit AND w.stars = v.k AND w.stars < v.cost AND v.k = 1 AND v.town = ''town0'') FULL JOIN patient p ON p.id = v.unit']) WITH ORDINALITY a (q, i), compare(q) b ORDER BY i;

SET ROLE :analyst;
-- values of either side, and the unit itself
SELECT dp_count(*), dp_count(p.id), dp_count(v.id), dp_count(DISTINCT p.id), dp_count(DISTINCT v.unit), dp_count(DISTINCT coalesce(p.id, v.unit)), dp_sum(age), dp_sum(cost), dp_sum(coalesce(age, 3)) FROM patient p FULL JOIN visit v ON v.unit = p.id;
SELECT dp_count(DISTINCT unit), dp_sum(CASE WHEN age IS NULL THEN 7 ELSE age END) FROM (SELECT id AS unit, age FROM patient) p FULL JOIN (SELECT unit, k FROM visit) v USING (unit);
-- keys of either side have a group of what is left out
SELECT p.town, dp_count(*) FROM patient p FULL JOIN visit v ON v.unit = p.id GROUP BY p.town ORDER BY 1;
SELECT v.town, dp_count(*) FROM patient p FULL JOIN visit v ON v.unit = p.id GROUP BY v.town ORDER BY 1;
SELECT upper(p.town), dp_count(*) FROM patient p FULL JOIN visit v ON v.unit = p.id GROUP BY 1 ORDER BY 1;
SELECT k, dp_count(*), dp_count(age) FROM patient p FULL JOIN visit v ON v.unit = p.id AND k < 2 WHERE k > 0 OR k IS NULL GROUP BY k ORDER BY 1;
SELECT age > 3 AS old, cost IS NULL AS free, dp_count(*) FROM patient p FULL JOIN visit v ON v.unit = p.id GROUP BY 1, 2 ORDER BY 1, 2;
SELECT p.town, dp_count(*) FROM patient p FULL JOIN visit v ON v.unit = p.id WHERE p.town IN ('town1', 'town2') GROUP BY p.town ORDER BY 1;
SELECT f.w, dp_count(*) FROM (patient p LEFT JOIN fee f ON f.k = p.age) FULL JOIN visit v ON v.unit = p.id GROUP BY f.w ORDER BY 1;
-- columns that USING merges: named, conditions, or released by threshold
SELECT town, dp_count(*) FROM (SELECT id AS unit, town FROM patient) p FULL JOIN (SELECT unit, town FROM visit) v USING (unit, town) WHERE town IN ('town0', 'town3') GROUP BY town ORDER BY 1;
SELECT town = 'town2' AS two, dp_count(*) FROM (SELECT id AS unit, town FROM patient) p FULL JOIN (SELECT unit, town FROM visit) v USING (unit, town) GROUP BY 1 ORDER BY 1;
SET dp_pg.delta = '1e-9';
SELECT town, dp_count(*) FROM (SELECT id AS unit, town FROM patient) p FULL JOIN (SELECT unit, town FROM visit) v USING (unit, town) GROUP BY town ORDER BY 1;
RESET dp_pg.delta;
SELECT * FROM outcome('SELECT town, dp_count(*) FROM (SELECT id AS unit, town FROM patient) p FULL JOIN (SELECT unit, town FROM visit) v USING (unit, town) GROUP BY town');
-- a left out row of a subquery is NULL, whatever it computes
SELECT one, dp_count(*) FROM (SELECT id, 1 AS one FROM patient) p FULL JOIN visit v ON v.unit = p.id GROUP BY one ORDER BY 1;
SELECT s.one, dp_count(*) FROM patient q LEFT JOIN (SELECT coalesce(p.id, v.unit) AS unit, 1 AS one FROM patient p FULL JOIN visit v ON v.unit = p.id WHERE k = 1) s ON s.unit = q.id GROUP BY s.one ORDER BY 1;
SELECT dp_sum(x) FROM patient q LEFT JOIN (SELECT coalesce(p.id, v.unit) AS unit, coalesce(cost, 2) AS x FROM patient p FULL JOIN visit v ON v.unit = p.id) s ON s.unit = q.id;
-- transparent mode, WITH, parameters, a view
SET dp_pg.transparent = on;
SET dp_pg.max_rows = 2;
WITH w AS (SELECT unit, count(*) AS n FROM visit GROUP BY unit) SELECT count(*), count(n), sum(least(greatest(n, 0), 9)) FROM w FULL JOIN rating r USING (unit);
RESET dp_pg.transparent;
SET dp_pg.max_rows = 100;
PREPARE of_unit(int, int) AS SELECT dp_count(*) FROM (SELECT id AS unit, age FROM patient) p FULL JOIN rating r ON r.unit = p.unit AND age > $2 WHERE coalesce(p.unit, r.unit) = $1;
EXECUTE of_unit(5, 1);
EXECUTE of_unit(50, 1);
SELECT * FROM outcome('EXECUTE of_unit(5, NULL)');
DEALLOCATE of_unit;

SET dp_pg.max_rows = 7;
RESET dp_pg.max_keys;
\set file :abs_srcdir '/sql/include/bound.psql'
\i :file
-- one row of each unit, or not
SELECT q, bound('SELECT dp_count(*) FROM ' || q) FROM unnest(ARRAY[
	'(SELECT unit, count(*) AS n FROM visit GROUP BY unit) a FULL JOIN (SELECT unit, count(*) AS m FROM rating GROUP BY unit) b USING (unit)',
	'(SELECT unit, count(*) AS n FROM visit GROUP BY unit) a FULL JOIN (SELECT unit, count(*) AS m FROM rating GROUP BY unit) b USING (unit) FULL JOIN (SELECT DISTINCT id AS unit FROM patient) c USING (unit)',
	'(SELECT unit, count(*) AS n FROM visit GROUP BY unit) a FULL JOIN (SELECT unit, count(*) AS m FROM rating GROUP BY unit) b ON a.unit = b.unit AND n > m',
	'(SELECT unit, count(*) AS n FROM visit GROUP BY unit) a FULL JOIN (SELECT unit, count(*) AS m FROM rating GROUP BY unit) b USING (unit) FULL JOIN (SELECT DISTINCT id AS unit FROM patient) c ON c.unit = b.unit',
	'patient a FULL JOIN (SELECT unit, count(*) AS m FROM rating GROUP BY unit) b ON b.unit = a.id']) WITH ORDINALITY a (q, i) ORDER BY i;
-- whoever is there counts once, also where USING merges columns of two types
CREATE FUNCTION sensitivity(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		IF line ~ 'Released' THEN RETURN NEXT substring(line, 'sensitivity [0-9]+'); END IF;
	END LOOP;
END $$;
SELECT q, sensitivity('SELECT dp_count(DISTINCT ' || q || ') FROM patient p FULL JOIN rating r ON r.unit = p.id') FROM unnest(ARRAY['p.id', 'coalesce(p.id, r.unit)', 'coalesce(r.unit, p.id::bigint)', 'coalesce(p.id, r.stars)', 'coalesce(p.age, p.id)']) WITH ORDINALITY a (q, i) ORDER BY i;
RESET dp_pg.max_rows;

-- ---- refused, and nothing is charged ----
SELECT q, o.* FROM unnest(ARRAY[
	'patient p FULL JOIN fee f ON f.k = p.age', 'fee f FULL JOIN patient p ON f.k = p.age', 'patient p FULL JOIN rating r ON r.stars = p.age', 'patient p FULL JOIN rating r ON r.stars = p.age WHERE p.id = r.unit',
	'patient p FULL JOIN rating r ON r.unit = p.id OR age = 1', 'patient p FULL JOIN rating r ON r.unit <= p.id', 'patient p FULL JOIN rating r ON true', 'patient p FULL JOIN rating r ON r.unit = p.id AND false',
	'patient p FULL JOIN other o ON o.unit = p.id', 'patient p FULL JOIN nobody n ON n.unit = p.id', 'nobody n FULL JOIN nobody m ON n.unit = m.unit', 'line l FULL JOIN visit v ON l.price = v.id', 'line l FULL JOIN visit v ON l.visit = v.k',
	'(patient p CROSS JOIN visit v) FULL JOIN rating r ON r.unit = p.id WHERE p.id = v.unit', '(patient p JOIN visit v ON v.unit = p.id) FULL JOIN (rating r JOIN visit w ON w.unit = r.unit) ON r.unit = p.id',
	'(patient p JOIN visit v ON true) FULL JOIN rating r ON r.unit = coalesce(p.id, v.unit)', 'patient p FULL JOIN rating r ON r.unit = p.id JOIN visit v ON v.unit = coalesce(p.id, r.stars)', 'visit v LEFT JOIN (SELECT coalesce(p.id, 7) AS unit FROM patient p FULL JOIN rating r ON r.unit = p.id) q USING (unit)', 'visit v JOIN (SELECT p.id FROM patient p FULL JOIN rating r ON r.unit = p.id) q ON q.id = v.unit',
	'patient p, rating r, visit v WHERE v.unit = coalesce(p.id, r.unit)', '(SELECT p.id, count(*) FROM patient p FULL JOIN rating r ON r.unit = p.id GROUP BY p.id) q',
	'(SELECT p.id FROM patient p FULL JOIN rating r ON r.unit = p.id UNION ALL SELECT id FROM patient) q', 'visit v WHERE EXISTS (SELECT FROM patient p FULL JOIN rating r ON r.unit = p.id WHERE v.unit = p.id)', 'visit v WHERE v.k NOT IN (SELECT p.age FROM patient p FULL JOIN rating r ON r.unit = p.id)']) WITH ORDINALITY a (q, i),
	outcome('SELECT dp_count(*) FROM ' || q) o ORDER BY i;
\set VERBOSITY terse
SELECT dp_count(*) FROM (patient p JOIN visit v ON v.unit = p.id) FULL JOIN (rating r JOIN visit w ON w.unit = r.unit) ON r.unit = p.id;
SELECT dp_count(*) FROM patient p FULL JOIN rating r ON r.unit = p.id AND current_date > '2024-01-01';
SELECT dp_count(*) FROM patient p FULL JOIN rating r ON r.unit = p.id AND age > NULL::int;
EXPLAIN SELECT dp_count(*) FROM patient p FULL JOIN rating r ON r.unit = p.id AND age > NULL::int;
\set VERBOSITY sqlstate
RESET ROLE;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
