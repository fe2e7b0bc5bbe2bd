-- Private rows joined with public ones: tables, lists, functions, released
-- values; and with private ones of the same unit.  Joins that would mix units,
-- or leave a row without one, are refused.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_join
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
CREATE TABLE visit (id int PRIMARY KEY, unit int, clinic int, cost int, k int, note text);
INSERT INTO visit SELECT i, nullif(i % 100, 99), i % 7, i % 50, i % 3, repeat('n', i % 5) FROM generate_series(1, 1000) i;
SELECT dp_protect('visit', unit => 'unit', dataset => :'schema') \g /dev/null
SELECT dp_declare('visit', max_rows => 1) \g /dev/null
SELECT dp_declare('visit', 'k', lower => 0, upper => 2) \g /dev/null
SELECT dp_declare('visit', 'cost', lower => 0, upper => 50) \g /dev/null
CREATE TABLE clinic (gone int, id int, city text, large boolean, label text);
INSERT INTO clinic SELECT 0, i, 'city' || i % 3, i % 2 = 0, repeat('x', 300000) FROM generate_series(0, 5) i;
ALTER TABLE clinic DROP gone;
CREATE TABLE hidden (id int);
CREATE VIEW clinics AS SELECT * FROM clinic;
CREATE POLICY small ON clinic TO :analyst USING (id < 5);
GRANT SELECT ON clinic, clinics TO :analyst;
RESET ROLE;

SET ROLE :analyst;
SET dp_pg.max_rows = 100;
SET dp_pg.max_keys = 10;
-- inner, outer, comma; a row counts as often as it has partners
SELECT dp_count(*) FROM visit v JOIN clinic c ON v.clinic = c.id;
SELECT dp_count(*) FROM visit v, clinic c WHERE v.clinic = c.id AND c.city = 'city1';
SET dp_pg.max_rows = 20;	-- noise of sums of 100 would be seen
SELECT k, dp_count(*), dp_sum(cost), dp_count(city) FROM visit v LEFT JOIN clinic c ON v.clinic = c.id WHERE k IS NOT NULL GROUP BY k;
SET dp_pg.max_rows = 100;
SELECT dp_count(*), dp_count(c.id) FROM clinic c RIGHT JOIN visit v ON v.clinic = c.id;
SELECT dp_count(*) FROM visit v JOIN clinic c USING (id);
SELECT dp_count(*), dp_count(DISTINCT unit), dp_count(DISTINCT d.city) FROM visit v, clinic c, clinic d WHERE v.clinic = c.id AND c.city = d.city;
SELECT dp_count(*) FROM visit v JOIN (clinic c JOIN clinic d ON c.city = d.city) ON v.clinic = c.id;
SELECT dp_count(*) FROM visit v JOIN clinic c ON v.clinic < c.id;
SELECT dp_count(*) FROM visit CROSS JOIN clinic;
-- one condition over two public relations, which are not joined with one another first
SELECT dp_count(*) FROM visit v, clinic c, clinic d WHERE v.cost = c.id + d.id + 10;
-- what a row is made of: bounds of each column are its own
SET dp_pg.max_rows = 20;
SELECT dp_sum(v.cost), round(dp_avg(v.cost), 2) AS dp_avg, dp_sum(v.cost * 2), dp_sum(c.id, 0, 10) FROM visit v JOIN clinic c ON v.clinic = c.id;
SET dp_pg.max_rows = 100;
SELECT * FROM outcome('SELECT dp_sum(c.id) FROM visit v JOIN clinic c ON v.clinic = c.id');
SELECT * FROM outcome('SELECT dp_sum(c.id + v.cost) FROM visit v JOIN clinic c ON v.clinic = c.id');
-- long values, and dropped columns
SELECT dp_count(*) FROM visit v JOIN clinic c ON v.clinic = c.id WHERE length(c.label) > v.cost;
-- keys: of the private side as ever, of the other where they are named
SELECT city, dp_count(*) FROM visit v JOIN clinic c ON v.clinic = c.id WHERE city IN ('city0', 'city1', 'nowhere') GROUP BY city;
SELECT large, dp_count(*) FROM visit v LEFT JOIN clinic c ON v.clinic = c.id GROUP BY large;
SELECT k % 2 AS odd, city, dp_count(*) FROM visit v JOIN clinic c ON v.clinic = c.id WHERE city = 'city2' AND k IS NOT NULL GROUP BY k % 2, city;
SELECT CASE WHEN city = 'city0' THEN 'here' ELSE 'elsewhere' END AS place, dp_count(*) FROM visit v LEFT JOIN clinic c ON v.clinic = c.id GROUP BY place;
SELECT DISTINCT k FROM visit v JOIN clinic c ON v.clinic = c.id;
SELECT city, dp_count(*) FROM visit v JOIN clinic c ON v.clinic = c.id GROUP BY city;
-- a condition of an outer join is none of its rows
SELECT k, dp_count(*) FROM visit v LEFT JOIN clinic c ON v.clinic = c.id AND v.k = 1 GROUP BY k;
SELECT large, dp_count(*) FROM visit v LEFT JOIN clinic c ON v.clinic = c.id AND c.large = true GROUP BY large;
-- lists, functions, WITH, views, released values, levels
SELECT dp_count(*) FROM visit JOIN (VALUES (1), (2)) AS w (k) USING (k);
SELECT dp_count(*) FROM visit CROSS JOIN unnest(ARRAY[1, 2, 3]);
SELECT dp_count(*) FROM visit JOIN generate_series(0, 5, 2) s ON s = clinic;
WITH one AS (SELECT 1 AS k) SELECT dp_count(*) FROM one JOIN visit USING (k);
SELECT dp_count(*) FROM visit v JOIN clinics c ON v.clinic = c.id;
SELECT dp_count(*) FROM (SELECT v.unit, v.k, c.city FROM visit v JOIN clinic c ON v.clinic = c.id) q JOIN clinic d USING (city) WHERE k = 1;
SELECT charges FROM spent();
WITH a AS (SELECT dp_avg(cost) AS mean FROM visit) SELECT dp_count(*) FROM visit, a WHERE cost > mean;
SELECT charges FROM spent();
PREPARE here(text, int) AS SELECT dp_count(*) FROM visit v JOIN clinic c ON v.clinic = c.id AND c.city = $1 WHERE v.k = $2;
EXECUTE here('city1', 1);
EXECUTE here('nowhere', 1);
SET plan_cache_mode = force_generic_plan;
EXECUTE here('city1', 1);
RESET plan_cache_mode;
DEALLOCATE here;
BEGIN;
DECLARE c CURSOR FOR SELECT k, dp_count(*) FROM visit v JOIN clinic c ON v.clinic = c.id WHERE k > 0 GROUP BY k;
FETCH ALL FROM c;
COMMIT;
-- partial functions in a join's condition are total
SELECT dp_count(*) FROM visit v JOIN clinic c ON 10 / v.k = c.id;
-- nothing matches, nothing is there
SELECT dp_count(*) FROM visit v JOIN clinic c ON v.clinic = c.id WHERE c.id > 100;
-- bounds of a unit count joined rows
SET dp_pg.max_rows = 2;
SELECT dp_count(*), dp_sum(cost) <= 2 * 99 * 50 AS at_most FROM visit CROSS JOIN clinic;
EXPLAIN (COSTS off) SELECT dp_count(*) FROM visit v JOIN clinic c ON v.clinic = c.id;
RESET dp_pg.max_rows;

-- each row is a unit, and no column tells which: at most one row of each
SELECT ward, c.city, dp_count(*), dp_sum(age) FROM person p JOIN clinic c ON c.id = p.age % 10 GROUP BY 1, 2 HAVING dp_count(*) > 0.5;
SELECT c.large, dp_count(*), dp_count(DISTINCT ward), dp_median(age) > 20 AS above FROM person p LEFT JOIN clinic c ON c.id = p.age GROUP BY 1;
SELECT dp_count(*), dp_count(c.id) FROM (SELECT p.age, c.id FROM person p LEFT JOIN clinic c ON c.id = p.age) c;
SELECT dp_count(*), dp_count(d.id) FROM person p LEFT JOIN clinic c ON c.id = p.age LEFT JOIN clinic d ON d.id = c.id + 1;
SELECT q, o.* FROM unnest(ARRAY['person p JOIN clinic c ON c.id <= p.age', 'person p LEFT JOIN clinic c ON c.large', 'person p CROSS JOIN generate_series(1, 2)', 'person p JOIN (VALUES (1), (1)) w (age) USING (age)',
	'person p JOIN person q USING (id)', 'person p JOIN clinic c ON c.id = p.age JOIN clinic d ON d.city = c.city']) WITH ORDINALITY a (q, i), outcome('SELECT dp_count(*) FROM ' || q) o ORDER BY i;
EXPLAIN (COSTS off) SELECT dp_count(*) FROM person p JOIN clinic c ON c.id = p.age;
-- how many rows what is joined makes of a row
CREATE FUNCTION joined_rows(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN plan #>> '{0,Plan,Joined Rows}';
END $$;
SELECT joined_rows('SELECT dp_count(*) FROM visit, generate_series(1, 1000) g, generate_series(1, 10) h WHERE g <> h');
RESET ROLE;
ANALYZE clinic;
SET ROLE :analyst;
SELECT joined_rows('SELECT dp_count(*) FROM visit v JOIN clinic c ON v.clinic = c.id');
SELECT joined_rows('SELECT dp_count(*) FROM visit v JOIN (SELECT i, i % 5 AS five FROM generate_series(1, 1000) i) g ON g.five = v.clinic, generate_series(1, 2)');
SELECT joined_rows('SELECT dp_count(*) FROM visit v JOIN (SELECT k AS of, dp_count(*) FROM visit GROUP BY k) g ON g.of = v.k');

-- ---- private with private ----
RESET ROLE;
SET ROLE :owner;
CREATE TABLE member (name bigint PRIMARY KEY, age int NOT NULL, town text NOT NULL);
INSERT INTO member SELECT i, i % 90, (ARRAY['x', 'y'])[1 + i % 2] FROM generate_series(0, 79) i;
CREATE TABLE letter (code text, unit varchar(10));
CREATE TABLE note (code varchar(20), word text COLLATE "C");
INSERT INTO letter SELECT 'p' || i % 10, 'p' || i % 10 FROM generate_series(1, 40) i;
INSERT INTO note SELECT 'p' || i % 12, 'w' || i % 2 FROM generate_series(1, 36) i;
ALTER TABLE note ALTER word SET STORAGE PLAIN;
CREATE TABLE elsewhere (unit int);
SELECT dp_protect('member', unit => 'name', dataset => :'schema'), dp_protect('letter', unit => 'unit', dataset => :'schema'),
	dp_protect('note', unit => 'code', dataset => :'schema') \g /dev/null
SELECT dp_protect('elsewhere', unit => 'unit', dataset => :'schema' || '2') \g /dev/null
SELECT dp_declare('member', 'age', lower => 0, upper => 100), dp_declare('member', 'town', keys => ARRAY['x', 'y']) \g /dev/null
SET ROLE :analyst;
SET dp_pg.max_rows = 12;
SELECT dp_count(*), dp_sum(age), dp_sum(cost), dp_count(DISTINCT name), dp_count(DISTINCT v.unit) FROM member m JOIN visit v ON v.unit = m.name;
SELECT dp_count(*), round(dp_avg(age), 2) AS dp_avg FROM member m, visit v, visit w, clinic c WHERE m.name = v.unit AND w.unit = m.name AND v.clinic = c.id AND w.clinic = c.id AND c.large;
SET dp_pg.max_rows = 200;
SELECT town, k, dp_count(*) FROM member m, visit v WHERE m.name = v.unit AND k IS NOT NULL GROUP BY town, k;
SELECT town, dp_count(*), dp_count(v.id) FROM member m LEFT JOIN visit v ON v.unit = m.name AND v.k = 1 GROUP BY town;
SELECT k, dp_count(*) FROM visit v RIGHT JOIN member m ON v.unit = m.name GROUP BY k;
SELECT dp_count(*) FROM visit v JOIN visit w ON v.unit = w.unit AND v.id < w.id;
SELECT dp_count(*) FROM (SELECT unit AS who, k FROM visit WHERE k > 0) a JOIN (SELECT name, age FROM member) b ON a.who = b.name WHERE age < 50;
SELECT dp_count(*) FROM (SELECT v.*, m.age FROM visit v LEFT JOIN member m ON m.name = v.unit) q JOIN visit w USING (unit) WHERE q.k = w.k;
SELECT dp_count(*) FROM letter l JOIN note n ON l.unit = n.code AND n.word = 'w1';
EXPLAIN (COSTS off) SELECT town, dp_count(*) FROM member m JOIN visit v ON v.unit = m.name GROUP BY town;
-- charged once, and for nothing that was refused
SELECT charges FROM spent();
SELECT q, o.* FROM unnest(ARRAY['member m JOIN visit v ON m.age = v.k', 'member m JOIN visit v ON m.name < v.unit', 'member m LEFT JOIN visit v ON m.age = v.k WHERE m.name = v.unit',
	'member m LEFT JOIN visit v ON true', 'member m JOIN visit v ON m.name = v.unit + 0', 'member m JOIN visit v ON m.name = v.unit OR v.k = 1',
	'member m JOIN visit v ON m.name = v.unit JOIN visit w ON w.k = v.k', 'member m, visit v, visit w WHERE m.name = v.unit AND v.k = w.k', 'letter l JOIN note n ON l.code = n.code',
	'letter l JOIN member m ON l.unit = m.name::text', 'letter l JOIN note n ON l.unit::bpchar = n.code::bpchar', 'visit v JOIN elsewhere e USING (unit)', 'visit v JOIN person p ON p.id = v.unit',
	'(SELECT unit % 2 AS unit FROM visit) a JOIN visit b USING (unit)', '(SELECT m.name FROM visit v LEFT JOIN member m ON m.name = v.unit) q JOIN (SELECT k FROM visit) r ON q.name = r.k']) WITH ORDINALITY a (q, i),
	outcome('SELECT dp_count(*) FROM ' || q) o ORDER BY i;
-- many rows of one unit, more than a part holds, and units of text
RESET ROLE;
SET ROLE :owner;
INSERT INTO letter VALUES ('heavy', 'heavy'), ('heavier', 'heavier');
INSERT INTO note SELECT 'heavy', repeat('w', 2000) FROM generate_series(1, 1900);
INSERT INTO note SELECT 'n' || i % 2000, repeat('w', 300) FROM generate_series(1, 30000) i;
SET ROLE :analyst;
SET dp_pg.epsilon = 1000000;
SET dp_pg.max_rows = 6000;
SELECT dp_count(*), dp_count(DISTINCT n.code) FROM letter l JOIN note n ON l.unit = n.code AND length(word) > 0;
-- what one unit has is more than memory holds: as much as fits, by fresh digests
SET ROLE :owner;
INSERT INTO note SELECT 'heavier', i || repeat('w', 2000) FROM generate_series(1, 6000) i;
SET ROLE :analyst;
SELECT dp_count(*) FILTER (WHERE l.unit <> 'heavier'), dp_count(*) FILTER (WHERE l.unit = 'heavier') BETWEEN 1900 AND 2100 AS third FROM letter l JOIN note n ON l.unit = n.code AND length(word) > 0;
SET dp_pg.epsilon = 100000;
-- long values that are in no page, of rows that are older than their column
SET ROLE :owner;
CREATE TABLE stay (name text, k int) PARTITION BY LIST (k);
CREATE TABLE stay0 PARTITION OF stay FOR VALUES IN (0);
CREATE TABLE stay1 PARTITION OF stay FOR VALUES IN (1);
INSERT INTO stay SELECT 'p' || i % 10, i % 2 FROM generate_series(1, 40) i;
SELECT dp_protect('stay', unit => 'name', dataset => :'schema') \g /dev/null
ALTER TABLE stay ADD told varchar(100000) DEFAULT repeat('x', 16000);
ALTER TABLE stay1 ALTER told SET DEFAULT '';
SET ROLE :analyst;
SET dp_pg.max_rows = 16;
SELECT dp_count(*) FROM stay s JOIN letter l ON l.unit = s.name WHERE s.told LIKE 'x%';
SET ROLE :owner;
ALTER TABLE stay ADD said varchar(100000) DEFAULT repeat('y', 16000);
SET ROLE :analyst;
\set VERBOSITY default
SELECT dp_count(*) FROM stay s JOIN letter l ON l.unit = s.name WHERE s.told LIKE 'x%' AND s.said LIKE 'y%';
SELECT dp_count(*) FROM (SELECT name, said, told FROM stay GROUP BY 1, 2, 3) s WHERE said IS NOT NULL AND told IS NOT NULL;
SELECT dp_count(*) FROM stay s CROSS JOIN generate_series(1, 10) i WHERE s.told LIKE 'x%' AND s.said LIKE 'y%';
\set VERBOSITY sqlstate
SELECT dp_count(*) FROM stay s JOIN letter l ON l.unit = s.name WHERE s.said LIKE 'y%';
SELECT dp_count(*) FROM stay WHERE told LIKE 'x%' AND said LIKE 'y%';
SET ROLE :owner;
VACUUM FULL stay;
SET ROLE :analyst;
SELECT dp_count(*) FROM stay s JOIN letter l ON l.unit = s.name WHERE s.told LIKE 'x%' AND s.said LIKE 'y%';
RESET dp_pg.max_rows;

-- ---- refused, and nothing is charged ----
SELECT q, o.* FROM unnest(ARRAY[
	'clinic c LEFT JOIN visit v ON v.clinic = c.id', 'visit v RIGHT JOIN clinic c ON v.clinic = c.id', 'visit v FULL JOIN clinic c ON v.clinic = c.id',
	'visit v JOIN visit w ON v.k = w.k', 'visit v, visit w', 'visit v LEFT JOIN visit w ON v.k = w.k WHERE v.unit = w.unit', 'visit v JOIN person p ON v.id = p.id',
	'visit v, LATERAL (SELECT v.k) q', 'visit v, generate_series(1, v.k) q', 'visit v JOIN hidden h ON h.id = v.k',
	'visit v JOIN clinic c ON v.clinic = c.id WHERE c.ctid IS NOT NULL', 'visit v JOIN clinic c ON c IS NOT NULL', 'visit v JOIN clinic c TABLESAMPLE system (50) ON true',
	'(SELECT DISTINCT k FROM visit) v JOIN clinic c ON v.k = c.id', 'visit v JOIN clinic c ON v.clinic = (SELECT max(id) FROM visit)', 'clinic']) WITH ORDINALITY a (q, i),
	outcome('SELECT dp_count(*) FROM ' || q) o ORDER BY i;
-- a function of the analyst's sees public rows only
CREATE FUNCTION look(int) RETURNS int LANGUAGE plpgsql AS $$BEGIN RAISE NOTICE 'look: %', $1; RETURN $1; END$$;
SELECT * FROM outcome('SELECT dp_count(*) FROM visit v JOIN clinic c ON look(v.clinic) = c.id');
SELECT dp_count(*) FROM visit v JOIN (SELECT look(id) AS id FROM clinic WHERE id < 2) c ON v.clinic = c.id;
DROP FUNCTION look;
-- it fails before anything is charged
SELECT * FROM outcome('SELECT dp_count(*) FROM visit v JOIN (SELECT 1 / (id - 3) AS id FROM clinic) c ON v.clinic = c.id');
RESET ROLE;

-- ---- row security of what is joined, and who may read the rows anyway ----
SET ROLE :owner;
ALTER TABLE clinic ENABLE ROW LEVEL SECURITY;
SELECT dp_count(*) FROM visit v JOIN clinic c ON v.clinic = c.id;
SET ROLE :analyst;
SET dp_pg.max_rows = 100;
SELECT dp_count(*) FROM visit v JOIN clinic c ON v.clinic = c.id;
SELECT dp_count(*) FROM visit v JOIN clinics c ON v.clinic = c.id;
RESET dp_pg.max_rows;
RESET dp_pg.max_keys;

-- ---- told once: joins that make more rows of one than count ----
\set VERBOSITY default
SET client_min_messages = notice;
-- nothing is lost, or nobody knows
SELECT dp_count(*) FROM visit v LEFT JOIN clinic c ON v.clinic = c.id WHERE v.id = 0;
SELECT dp_count(*) FROM visit v WHERE EXISTS (SELECT FROM clinic c WHERE c.id <= v.clinic) AND v.id = 0;
SELECT dp_count(DISTINCT unit) FROM visit CROSS JOIN generate_series(0, 1) WHERE id = 0;
SELECT dp_count(*) FROM (SELECT unit, count(*) AS n FROM visit CROSS JOIN generate_series(0, 1) GROUP BY unit) s WHERE n < 0;
SELECT dp_count(*) FROM member m JOIN visit v ON v.unit = m.name WHERE v.id = 0;
SELECT dp_count(*) FROM person p JOIN clinic c ON c.id = p.age WHERE p.id = 0;
SET dp_pg.max_rows = 2;
SELECT dp_count(*) FROM visit CROSS JOIN generate_series(0, 1) WHERE id = 0;
SET dp_pg.max_rows = 1;
SET dp_pg.max_keys = 2;
SELECT x, dp_count(*) FROM visit CROSS JOIN generate_series(0, 1) x WHERE id = 0 GROUP BY x;
-- several rows, of one group: what it is joined by is its key
SET dp_pg.max_keys = 1;
SELECT w.k, dp_count(*) FROM visit v JOIN (VALUES (1), (1), (2)) AS w (k) USING (k) WHERE id = 0 GROUP BY w.k;
-- several groups
SELECT x, dp_count(*) FROM visit CROSS JOIN generate_series(0, 1) x WHERE id = 0 GROUP BY x;
-- once
SELECT x, dp_count(*) FROM visit CROSS JOIN generate_series(0, 3) x WHERE id = 0 GROUP BY x;
SELECT dp_count(*) FROM visit CROSS JOIN generate_series(0, 2) x WHERE id = 0;
RESET client_min_messages;
\set VERBOSITY sqlstate
RESET dp_pg.max_rows;
RESET dp_pg.max_keys;
RESET ROLE;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
