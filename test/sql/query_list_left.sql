-- Lists that name groups: VALUES and functions' rows on the kept side of an
-- outer join.  Same answers as the plain query, also for a value that no row
-- has.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_list_left
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
CREATE TABLE visit (id int PRIMARY KEY, unit int, day date NOT NULL, cost int, k int, note text, rate numeric(4, 2));
INSERT INTO visit SELECT i, CASE WHEN i % 50 > 0 THEN i % 100 END, date '2020-01-01' + i % 60, nullif(i % 50, 7), nullif(i % 6, 5), 'n' || i % 3, i % 2 FROM generate_series(1, 400) i;
CREATE TABLE member (name int PRIMARY KEY, age int NOT NULL);
INSERT INTO member SELECT i, i % 90 FROM generate_series(0, 79) i;
CREATE TABLE other (unit int, k int);
CREATE TABLE clinic (k int, city text);
INSERT INTO clinic VALUES (1, 'a'), (2, 'a'), (3, 'b');
GRANT SELECT ON clinic TO :analyst;
SELECT dp_protect('visit', unit => 'unit', dataset => :'schema'), dp_protect('member', unit => 'name', dataset => :'schema'),
	dp_protect('other', unit => 'unit', dataset => :'schema' || '2') \g /dev/null
SELECT dp_declare('visit', 'cost', lower => 0, upper => 50), dp_declare('visit', 'note', keys => ARRAY['n0', 'n1', 'n2']) \g /dev/null
-- the private query and the plain one, where no row lacks a unit
CREATE VIEW usual AS SELECT * FROM visit WHERE unit IS NOT NULL;
\set file :abs_srcdir '/sql/include/same.psql'
\i :file
SET dp_pg.max_rows = 100;
SET dp_pg.max_keys = 20;
SELECT q, s.* FROM unnest(ARRAY[
	'SELECT w.k, dp_count(u.id), dp_count(cost), dp_count(DISTINCT unit) FROM (VALUES (1), (9), (3)) AS w (k) LEFT JOIN usual u ON u.k = w.k GROUP BY w.k',
	'SELECT k, dp_count(id) FROM usual RIGHT JOIN unnest(ARRAY[4, 2, 77]) AS k USING (k) GROUP BY k',
	-- NULL in a list is a group, too; no condition of the join leaves out a group
	'SELECT w.k, dp_count(id) FROM (VALUES (1), (NULL), (3)) AS w (k) LEFT JOIN usual u ON u.k = w.k GROUP BY w.k',
	'SELECT w.k, dp_count(id) FROM (VALUES (1), (NULL), (3)) AS w (k) LEFT JOIN usual u ON u.k = w.k OR u.k IS NULL GROUP BY w.k',
	'SELECT w.k, dp_count(id) FROM (VALUES (1), (2), (3)) AS w (k) LEFT JOIN usual u ON u.k = w.k AND w.k <> 2 AND u.cost > 10 GROUP BY w.k',
	'SELECT w.k, dp_count(id) FROM (VALUES (1), (2)) AS w (k) LEFT JOIN usual u ON u.k = w.k AND false GROUP BY w.k',
	'SELECT w.k, dp_count(id) FROM (VALUES (1), (2)) AS w (k) LEFT JOIN (SELECT * FROM usual WHERE false) u ON u.k = w.k GROUP BY w.k',
	'SELECT w.k, dp_count(id) FROM (VALUES (1), (2)) AS w (k) LEFT JOIN (SELECT * FROM usual WHERE k IN (1, 5)) u ON u.k = w.k GROUP BY w.k',
	-- but WHERE does
	'SELECT w.k, dp_count(id) FROM (VALUES (1), (2), (3)) AS w (k) LEFT JOIN usual u ON u.k = w.k WHERE w.k <> 2 GROUP BY w.k',
	-- ranges, months, texts; several columns, several lists; expressions over them
	'SELECT low, dp_count(cost) FROM (VALUES (0, 9), (10, 19), (60, 70)) AS b (low, high) LEFT JOIN usual ON cost BETWEEN low AND high GROUP BY low',
	'SELECT low, high, dp_count(cost) FROM (VALUES (0, 9), (10, 19), (60, 70)) AS b (low, high) LEFT JOIN usual ON cost BETWEEN low AND high GROUP BY low, high',
	'SELECT low / 10 AS ten, dp_count(cost) FROM generate_series(0, 60, 20) AS low LEFT JOIN usual ON cost >= low GROUP BY ten',
	'SELECT m::date, dp_count(id) FROM generate_series(timestamp ''2019-12-01'', ''2020-04-01'', ''1 month'') AS m LEFT JOIN usual ON date_trunc(''month'', day) = m GROUP BY m',
	'SELECT m, w.k, dp_count(id) FROM generate_series(1, 3) AS m CROSS JOIN (VALUES (1), (9)) AS w (k) LEFT JOIN usual u ON extract(month FROM day) = m AND u.k = w.k GROUP BY m, w.k',
	'SELECT word, dp_count(DISTINCT unit) FROM (SELECT unnest(ARRAY[''n0'', ''n9'']) AS word) AS s LEFT JOIN usual ON note = word GROUP BY word',
	'WITH s AS (VALUES (1, ''one''), (8, ''eight'')) SELECT word, dp_count(id) FROM s LEFT JOIN usual u ON u.k = s.column1 JOIN (SELECT column1 AS n, column2 AS word FROM s) t ON n = s.column1 GROUP BY word',
	'WITH s (k) AS (VALUES (1), (8)) SELECT s.k, dp_count(id) FROM s LEFT JOIN usual u ON u.k = s.k GROUP BY s.k',
	'SELECT g, i, dp_count(id) FROM unnest(ARRAY[1, 1, 9]) WITH ORDINALITY AS w (g, i) LEFT JOIN usual u ON u.k = g GROUP BY g, i',
	'SELECT r, dp_count(id) FROM (VALUES (1.0), (7.5)) AS w (r) LEFT JOIN usual u ON u.rate = r GROUP BY r',
	-- what is joined further, on either side
	'SELECT w.k, dp_count(age), dp_count(id) FROM (VALUES (1), (9)) AS w (k) LEFT JOIN usual u ON u.k = w.k LEFT JOIN member m ON m.name = u.unit GROUP BY w.k',
	'SELECT w.k, dp_count(age) FROM (VALUES (1), (9)) AS w (k) LEFT JOIN (usual u JOIN member m ON m.name = u.unit AND age > 30) ON u.k = w.k GROUP BY w.k',
	'SELECT w.k, dp_count(age) FROM (VALUES (1), (9)) AS w (k) LEFT JOIN (usual u FULL JOIN member m ON m.name = u.unit) ON u.k = w.k GROUP BY w.k',
	'SELECT city, dp_count(id) FROM (VALUES (''a''), (''z'')) AS w (city) LEFT JOIN (usual u JOIN clinic c USING (k)) USING (city) GROUP BY city',
	'SELECT w.n, dp_count(visits) FROM generate_series(1, 12) AS w (n) LEFT JOIN (SELECT unit, count(*) AS visits FROM usual GROUP BY unit) v ON visits = n GROUP BY w.n',
	'SELECT w.k, dp_count(id) FROM (VALUES (1), (9)) AS w (k) LEFT JOIN (SELECT * FROM usual WHERE EXISTS (SELECT FROM member WHERE name = unit AND age > 30)) u ON u.k = w.k GROUP BY w.k',
	'SELECT w.k, dp_count(id) FROM (VALUES (1), (9)) AS w (k) LEFT JOIN usual u ON u.k = w.k WHERE NOT EXISTS (SELECT FROM member WHERE name = unit AND age > 30) GROUP BY w.k',
	-- where private columns are asked for NULL, and nothing follows from the row that is not there
	'SELECT w.k, dp_count(id) FILTER (WHERE cost IS NULL), dp_count(coalesce(u.k, id)), dp_count(CASE WHEN cost > 9 OR cost IS NULL THEN id END) FROM (VALUES (1), (9)) AS w (k) LEFT JOIN usual u ON u.k = w.k GROUP BY w.k',
	'SELECT dp_count(id) FROM (VALUES (1), (9)) AS w (k) LEFT JOIN usual u ON u.k = w.k AND cost IS NULL',
	-- none at all
	'SELECT dp_count(id) FROM generate_series(2, 1) AS k LEFT JOIN usual u ON u.k > 0']) q, same(q) s;
-- each row of a list once; the private side filtered, all rows count; further keys
SELECT w.k, dp_count(id) FROM (VALUES (1), (2), (1), (9), (9), (2)) AS w (k) LEFT JOIN visit v ON v.k = w.k GROUP BY w.k;
SELECT r, dp_count(id) FROM (VALUES (1.00), (7), (1.0)) AS w (r) LEFT JOIN visit v ON v.rate = r GROUP BY r;
SELECT w.k, dp_count(*) FROM (VALUES (1), (9)) AS w (k) LEFT JOIN visit v ON v.k = w.k WHERE cost < 10 GROUP BY w.k;
SELECT w.k, dp_count(*) FILTER (WHERE cost < 10), dp_sum(cost), CASE WHEN dp_sum(cost) > 0 THEN round(dp_avg(cost), 0) END AS dp_avg, dp_median(cost, 0, 50) IS NULL AS none FROM (VALUES (1), (9)) AS w (k) LEFT JOIN visit v ON v.k = w.k GROUP BY w.k;
SELECT w.k, note, dp_count(id) FROM (VALUES (1), (9)) AS w (k) LEFT JOIN visit v ON v.k = w.k WHERE note <> 'n2' GROUP BY w.k, note;
SELECT v.k, dp_count(id) FROM (VALUES (1), (9)) AS w (k) LEFT JOIN visit v ON v.k = w.k GROUP BY v.k;
-- keys alone, parameters, prepared; as in EXPLAIN
SELECT w.k FROM (VALUES (1), (9)) AS w (k) LEFT JOIN visit v ON v.k = w.k GROUP BY w.k;
PREPARE listed(int[], boolean) AS SELECT k, dp_count(id) FROM unnest($1) k LEFT JOIN visit v USING (k) WHERE $2 GROUP BY k;
SET plan_cache_mode = force_generic_plan;
EXECUTE listed('{3, 3, 8}', true);
EXECUTE listed('{}', true);
EXECUTE listed('{3}', false);
EXECUTE listed(NULL, NULL);
RESET plan_cache_mode;
EXPLAIN (COSTS OFF) SELECT w.k, dp_count(id) FROM (VALUES (1), (9)) AS w (k) LEFT JOIN visit v ON v.k = w.k GROUP BY w.k;
RESET ROLE;
SET ROLE :analyst;
SET dp_pg.transparent = on;
SET dp_pg.suppress = off;
SELECT w.k, count(id), count(DISTINCT unit) FROM (VALUES (1), (9)) AS w (k) LEFT JOIN visit v ON v.k = w.k GROUP BY w.k ORDER BY 1;
RESET dp_pg.transparent;
RESET dp_pg.suppress;
-- refused: what would count the row that is not there, or show it; lists below,
-- or left out themselves; tables; a list that is another each time
SELECT q, o.* FROM unnest(ARRAY[
	'SELECT w.k, dp_count(*) FROM (VALUES (1), (9)) AS w (k) LEFT JOIN visit v ON v.k = w.k GROUP BY w.k',
	'SELECT w.k, dp_count(w.k) FROM (VALUES (1), (9)) AS w (k) LEFT JOIN visit v ON v.k = w.k GROUP BY w.k',
	'SELECT w.k, dp_count(id), dp_sum(1, 0, 1) FROM (VALUES (1), (9)) AS w (k) LEFT JOIN visit v ON v.k = w.k GROUP BY w.k',
	'SELECT w.k, dp_count(id) FROM (VALUES (1), (9)) AS w (k) LEFT JOIN visit v ON v.k = w.k GROUP BY w.k HAVING dp_count(*) > 0',
	'SELECT w.k, dp_count(*) FILTER (WHERE id IS NULL) FROM (VALUES (1), (9)) AS w (k) LEFT JOIN visit v ON v.k = w.k GROUP BY w.k',
	'SELECT w.k, dp_count(*) FILTER (WHERE cost > 3 OR w.k > 3) FROM (VALUES (1), (9)) AS w (k) LEFT JOIN visit v ON v.k = w.k GROUP BY w.k',
	'SELECT w.k, dp_sum(coalesce(cost, 20)) FROM (VALUES (1), (9)) AS w (k) LEFT JOIN visit v ON v.k = w.k GROUP BY w.k',
	'SELECT w.k, dp_count(id IS NULL) FROM (VALUES (1), (9)) AS w (k) LEFT JOIN visit v ON v.k = w.k GROUP BY w.k',
	'SELECT w.k, dp_count(id) FROM (VALUES (1), (9)) AS w (k) LEFT JOIN visit v ON v.k = w.k WHERE id IS NULL GROUP BY w.k',
	'SELECT w.k, dp_count(id) FROM (VALUES (1), (9)) AS w (k) LEFT JOIN visit v ON v.k = w.k WHERE cost > 3 OR cost IS NULL GROUP BY w.k',
	'SELECT w.k, dp_count(id) FROM (VALUES (1), (9)) AS w (k) LEFT JOIN visit v ON v.k = w.k WHERE (cost > 3) IS NOT TRUE GROUP BY w.k',
	'SELECT coalesce(note, ''none''), dp_count(id) FROM (VALUES (1), (9)) AS w (k) LEFT JOIN visit v ON v.k = w.k GROUP BY 1',
	'SELECT cost IS NULL, dp_count(id) FROM (VALUES (1), (9)) AS w (k) LEFT JOIN visit v ON v.k = w.k GROUP BY 1',
	'SELECT k, dp_count(id) FROM (SELECT w.k, id FROM (VALUES (1), (9)) AS w (k) LEFT JOIN visit v ON v.k = w.k) s GROUP BY k',
	'SELECT n, dp_count(*) FROM (SELECT w.k, count(id) AS n FROM (VALUES (1), (9)) AS w (k) LEFT JOIN visit v ON v.k = w.k GROUP BY w.k) s WHERE n IN (1, 2) GROUP BY n',
	'SELECT w.k, dp_count(age) FROM member m LEFT JOIN ((VALUES (1), (9)) AS w (k) LEFT JOIN visit v ON v.k = w.k) ON m.name = v.unit GROUP BY w.k',
	'SELECT w.k, dp_count(id) FROM (VALUES (1), (9)) AS w (k) FULL JOIN visit v ON v.k = w.k GROUP BY w.k',
	'SELECT c.k, dp_count(id) FROM clinic c LEFT JOIN visit v ON v.k = c.k GROUP BY c.k',
	'SELECT c.k, dp_count(id) FROM unnest(ARRAY(SELECT k FROM clinic)) AS c (k) LEFT JOIN visit v ON v.k = c.k GROUP BY c.k',
	'SELECT w.k, dp_count(id) FROM (VALUES (1), (9)) AS w (k) LEFT JOIN clinic c ON c.k = w.k LEFT JOIN visit v ON v.k = c.k GROUP BY w.k',
	'SELECT w.k, dp_count(id) FROM (VALUES (1), (9)) AS w (k) LEFT JOIN visit v ON v.k = w.k LEFT JOIN member m ON m.age = v.k GROUP BY w.k',
	'SELECT w.k, dp_count(v.id), dp_count(o.unit) FROM (VALUES (1), (9)) AS w (k) LEFT JOIN visit v ON v.k = w.k LEFT JOIN other o ON o.unit = v.unit GROUP BY w.k',
	'SELECT w.k, dp_count(id) FROM (VALUES (1), (9)) AS w (k) LEFT JOIN visit v ON v.k = w.k WHERE w.k IN (SELECT age FROM member) GROUP BY w.k',
	'SELECT w.k, dp_count(id) FROM (VALUES (1), (9)) AS w (k) LEFT JOIN LATERAL (SELECT * FROM visit v WHERE v.k = w.k) v ON true GROUP BY w.k',
	'SELECT k, dp_count(id) FROM generate_series(1, 1 + (random() * 5)::int) AS k LEFT JOIN visit v USING (k) GROUP BY k',
	'SELECT w.j, dp_count(id) FROM (VALUES (json ''1''), (''2'')) AS w (j) LEFT JOIN visit v ON w.j::text = v.note GROUP BY 1']) q, outcome(q) o;
\set VERBOSITY default
SELECT w.k, dp_count(*) FROM (VALUES (1), (9)) AS w (k) LEFT JOIN visit v ON v.k = w.k GROUP BY w.k;
SELECT w.k, dp_count(id) FROM (VALUES (1), (9)) AS w (k) LEFT JOIN visit v ON v.k = w.k WHERE id IS NULL GROUP BY w.k;
