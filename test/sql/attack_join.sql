-- Attack: joins.  What a joined item refers to, how many rows it makes while
-- private rows are read, what is drawn twice, and what is revealed about rows
-- that an outer join leaves out.
--
-- Bounds of 30,000 rows have noise of scale .03 here, wrong with probability
-- 1e-14; the largest, of 300,000 rows, may be off by nine, which has 1e-13.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test attack_join
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
CREATE TABLE visit (id int PRIMARY KEY, unit int, clinic int, cost int, k int);
INSERT INTO visit SELECT i, i % 100, i % 7, i % 50, i % 3 FROM generate_series(1, 1000) i;
CREATE TABLE member (name int PRIMARY KEY, age int NOT NULL);
INSERT INTO member SELECT i, i % 90 FROM generate_series(0, 79) i;
SELECT dp_protect('visit', unit => 'unit', dataset => :'schema'), dp_protect('member', unit => 'name', dataset => :'schema') \g /dev/null
SELECT dp_declare('visit', 'k', lower => 0, upper => 2), dp_declare('visit', 'cost', lower => 0, upper => 50), dp_declare('member', 'age', lower => 0, upper => 100) \g /dev/null
CREATE TABLE clinic (id int, city text, large boolean);
INSERT INTO clinic SELECT i, 'city' || i % 3, i % 2 = 0 FROM generate_series(0, 5) i;
CREATE TABLE day (d int, city text);
INSERT INTO day SELECT i, 'city' || i % 3 FROM generate_series(1, 300) i;
CREATE TABLE hidden (id int);
CREATE TABLE nothing (id int);
GRANT SELECT ON clinic, day, nothing TO :analyst;
RESET ROLE;
SET ROLE :analyst;
SET dp_pg.max_rows = 12;
SET dp_pg.max_keys = 5;

-- ---- what an item refers to outside of itself ----
SELECT q, o.* FROM unnest(ARRAY[
	'SELECT (SELECT dp_count(*) FROM visit v, (SELECT o.id AS y) s WHERE v.k = s.y) FROM clinic o',
	'SELECT (SELECT dp_count(*) FROM visit v, (VALUES (o.id)) s (y) WHERE v.k = s.y) FROM clinic o',
	'SELECT (SELECT dp_count(*) FROM visit v, generate_series(1, o.id) s WHERE v.k = s) FROM clinic o',
	'SELECT (SELECT dp_count(*) FROM visit v, (SELECT max(o.id) AS y) s WHERE v.k = s.y) FROM clinic o',
	'SELECT (SELECT dp_count(*) FROM visit v JOIN (SELECT c.id FROM clinic c WHERE c.city = o.city) s ON v.k = s.id) FROM clinic o',
	'SELECT (SELECT dp_count(*) FROM visit v JOIN LATERAL (SELECT v.k AS y) s ON true)']) WITH ORDINALITY a (q, i),
	outcome(q) o ORDER BY i;

-- ---- how many rows one row may make: public, and told before the charge ----
SELECT dp_count(*) FROM visit v JOIN day ON d = v.cost WHERE v.clinic = 1;
SELECT q, o.* FROM unnest(ARRAY[
	'visit v, day a, day b', 'visit v, day a, day b WHERE a.d <= b.d', 'visit v CROSS JOIN generate_series(1, 100000)',
	'visit v JOIN member m ON m.name = v.unit, day a, day b', 'visit v JOIN day a ON a.d = v.id LEFT JOIN (day b CROSS JOIN day c) ON b.d = a.d AND c.d < v.id']) WITH ORDINALITY a (q, i),
	outcome('SELECT dp_count(*) FROM ' || q) o ORDER BY i;
SELECT charges FROM spent();
-- 300 for each, 30,000 of a unit: its rows are brought together first
SET dp_pg.epsilon = 1000000;
SET dp_pg.max_rows = 30000;
SELECT dp_count(*), dp_count(DISTINCT unit), dp_count(DISTINCT v.id) FROM visit v CROSS JOIN day;
SET dp_pg.max_rows = 3000;	-- in each of four groups
SELECT k, dp_count(*) FROM visit v LEFT JOIN day ON d > 290 AND d % 3 = k GROUP BY k;
SET dp_pg.max_rows = 30000;
SELECT dp_count(*) FROM (SELECT unit, k, city FROM visit v, day) q JOIN day r ON q.city = r.city AND r.d = 3 WHERE k = 1;
-- as many as match by equal columns, whatever else is there
SELECT dp_count(*) FROM visit v JOIN clinic c ON v.clinic = c.id JOIN day a ON a.d = v.cost JOIN day b ON b.d = a.d AND b.city = a.city;
SELECT dp_count(*), dp_count(c.id), dp_count(a.d) FROM visit v LEFT JOIN clinic c ON v.clinic = c.id LEFT JOIN day a ON a.d = c.id;
-- the product of a unit's own rows: of six times ten, eight are kept
SELECT dp_count(*) FROM visit v JOIN visit w USING (unit) JOIN visit x USING (unit) WHERE unit < 50;
SET dp_pg.max_rows = 300000;
SELECT dp_count(*) BETWEEN 262135 AND 262153 AS eight_each FROM visit a JOIN visit b USING (unit) JOIN visit c USING (unit) JOIN visit d USING (unit) JOIN visit e USING (unit) JOIN visit f USING (unit) WHERE unit = 1;
SET dp_pg.max_rows = 12;
SET dp_pg.epsilon = 100000;
-- a public item without rows, or without one that could match
SELECT dp_count(*) FROM visit v JOIN member m ON m.name = v.unit JOIN nothing n ON n.id = v.k;
SELECT dp_count(*), dp_count(n.id) FROM visit v JOIN member m ON m.name = v.unit LEFT JOIN (SELECT NULL::int AS id FROM day) n ON n.id = v.k;
-- public relations are never hashed together, whatever the planner is told
SET join_collapse_limit = 1;
SELECT dp_count(*) FROM visit v JOIN (clinic c JOIN day a ON a.d = c.id) ON v.clinic = c.id;
RESET join_collapse_limit;
SELECT * FROM outcome('SELECT dp_count(*) FROM visit v LEFT JOIN (clinic c JOIN day a ON a.d = c.id) ON v.clinic = c.id');
SELECT dp_count(*), dp_count(s.d) FROM visit v LEFT JOIN (SELECT c.id, a.d FROM clinic c JOIN day a ON a.d = c.id) s ON v.clinic = s.id;

-- ---- columns that changed since the query was analysed: a function is inlined anew ----
CREATE TABLE changing (id int, x text COLLATE "C");
INSERT INTO changing VALUES (1, 'hello');
CREATE FUNCTION change() RETURNS SETOF changing LANGUAGE sql STABLE AS 'SELECT * FROM changing';
PREPARE joined AS SELECT dp_count(*) FROM visit v JOIN change() c ON c.x LIKE 'h%' AND v.unit > 0;
PREPARE scalar AS SELECT dp_count(*) FROM visit v WHERE v.cost < (SELECT id FROM change());
PREPARE late AS SELECT dp_count(*) FROM visit v JOIN change() c ON c.x LIKE 'h%' AND v.unit > 0;
EXECUTE joined;
EXECUTE scalar;
ALTER TABLE changing ALTER x TYPE bigint USING 4702111234474983745, ALTER id TYPE bigint;
SELECT charges FROM spent();
SELECT q, o.* FROM unnest(ARRAY['joined', 'scalar', 'late']) WITH ORDINALITY a (q, i), outcome('EXECUTE ' || q) o ORDER BY i;
DEALLOCATE ALL;
SELECT dp_count(*) FROM visit v JOIN change() c ON v.k = c.id;
-- likewise over private rows alone
CREATE TABLE shape (a int, b text);
CREATE VIEW rows AS SELECT id, 'x'::text || (NOT k IS NULL)::text FROM visit;
CREATE FUNCTION rows() RETURNS SETOF shape LANGUAGE sql STABLE AS 'SELECT * FROM rows';
PREPARE own AS SELECT dp_count(*) FROM rows() r WHERE r.b LIKE 'x%';
PREPARE own_late AS SELECT dp_count(*) FROM rows() r WHERE r.b LIKE 'x%';
EXECUTE own;
DROP VIEW rows;
ALTER TABLE shape ALTER b TYPE bigint USING 1;
CREATE VIEW rows AS SELECT id, id::bigint * 1000 FROM visit;
SELECT charges FROM spent();
SELECT q, o.* FROM unnest(ARRAY['own', 'own_late']) WITH ORDINALITY a (q, i), outcome('EXECUTE ' || q) o ORDER BY i;
DEALLOCATE ALL;
DROP VIEW rows;
DROP TABLE shape CASCADE;
DROP TABLE changing CASCADE;

-- ---- rows that an outer join leaves out ----
SELECT dp_count(*), dp_count(one), dp_count(two), dp_sum(one), round(dp_avg(age), 2) AS dp_avg, dp_sum(coalesce(one, 5)) FROM member m LEFT JOIN (SELECT unit, 1 AS one, k + 1 AS two FROM visit WHERE id <= 40) v ON v.unit = m.name;
SELECT one, dp_count(*) FROM member m LEFT JOIN (SELECT unit, CASE WHEN k = 0 THEN 'a' ELSE 'b' END AS one FROM visit WHERE id <= 40) v ON v.unit = m.name GROUP BY one;
SELECT one, dp_count(*) FROM member m LEFT JOIN (SELECT unit, coalesce(k, 0) = 0 AS one FROM visit WHERE id <= 40) v ON v.unit = m.name GROUP BY one;
SELECT one, dp_count(*) FROM member m LEFT JOIN (SELECT unit, 7 AS one FROM visit WHERE id <= 40) v ON v.unit = m.name GROUP BY one;
SELECT dp_count(*) FROM member m LEFT JOIN (SELECT unit, 7 AS one FROM visit WHERE id <= 40) v ON v.unit = m.name WHERE one = 7;
SELECT dp_count(*) FROM member m LEFT JOIN (SELECT unit, 7 AS one FROM visit WHERE id <= 40) v ON v.unit = m.name WHERE one IS NULL;
SELECT dp_count(x), dp_sum(x) FROM member m LEFT JOIN (SELECT unit, coalesce(k, 9) AS x FROM visit WHERE id <= 40) v ON v.unit = m.name;
SELECT * FROM outcome('SELECT x, dp_count(*) FROM member m LEFT JOIN (SELECT unit, coalesce(k, 9) AS x FROM visit WHERE id <= 40) v ON v.unit = m.name GROUP BY x');
SELECT x, dp_count(*) FROM member m LEFT JOIN (SELECT unit, k + 1 AS x FROM visit WHERE id <= 40) v ON v.unit = m.name GROUP BY x;

-- ---- WITH queries: the same rows for every use ----
SELECT charges FROM spent();
WITH a AS (SELECT dp_count(*) AS n FROM visit) SELECT dp_count(*) FROM visit v, a x, a y WHERE x.n = y.n;
SELECT charges FROM spent();
WITH a AS (SELECT id, city FROM clinic) SELECT y.city, dp_count(*) FROM visit v JOIN a x ON x.id = v.clinic JOIN a y ON y.city = x.city AND x.city <> 'city0' WHERE y.city IN ('city0', 'city1') GROUP BY y.city;
SELECT q, o.* FROM unnest(ARRAY[
	'WITH a AS (SELECT dp_count(*) AS n FROM visit) SELECT dp_count(*), (SELECT n FROM a) FROM visit v, a WHERE v.k < a.n',
	'WITH a AS (SELECT dp_count(*) AS n FROM visit) SELECT * FROM (SELECT dp_count(*) FROM visit v, a WHERE v.k < a.n) s, a',
	'WITH a AS (SELECT random() AS n) SELECT dp_count(*) FROM visit v, a x, (SELECT * FROM a) y WHERE x.n = y.n',
	'WITH a AS (SELECT dp_count(*) AS n FROM visit), b AS (SELECT v.k FROM visit v, a WHERE v.k < a.n) SELECT dp_count(*) FROM b',
	'WITH b AS (SELECT v.unit, v.k FROM visit v, (SELECT dp_count(*) AS n FROM visit) a WHERE v.k < a.n) SELECT dp_count(*) FROM b x JOIN b y USING (unit)',
	'WITH a AS (SELECT 1 AS k) SELECT dp_count(*) FROM visit v, (SELECT dp_count(*) AS n FROM visit JOIN a USING (k)) s WHERE v.k < s.n',
	'SELECT dp_count(*) FROM visit v, (WITH a AS (SELECT 1 AS k) SELECT * FROM a) s WHERE v.k = s.k',
	'WITH b AS (SELECT 2 AS k) SELECT dp_count(*) FROM visit v, (WITH a AS (SELECT k FROM b) SELECT * FROM a, (SELECT k AS l FROM b) c) s WHERE v.k = s.k',
	'SELECT dp_count(*) FROM visit v, (WITH RECURSIVE r AS (SELECT 1 AS k UNION ALL SELECT k + 1 FROM r WHERE k < 5) SELECT * FROM r) s WHERE v.k = s.k',
	'WITH RECURSIVE r AS (SELECT 1 AS k UNION ALL SELECT k + 1 FROM r WHERE k < 5) SELECT dp_count(*) FROM visit v, r WHERE v.k = r.k']) WITH ORDINALITY a (q, i),
	outcome(q) o ORDER BY i;
-- what is joined shows what it costs
EXPLAIN (COSTS off) WITH a AS (SELECT dp_count(*) AS n FROM member) SELECT dp_count(*) FROM visit v, a x, a y, clinic c WHERE x.n = y.n AND v.clinic = c.id;

-- ---- texts that are different, and equal as char(n): any of them is found ----
SELECT dp_count(*) FROM (SELECT DISTINCT unit FROM visit WHERE unit = 3) q LEFT JOIN (SELECT unit, left('          ', clinic) AS t FROM visit GROUP BY 1, 2) v ON v.unit = q.unit AND v.t::bpchar = '';
-- ---- outer joins of which one row of each side is too much already ----
SELECT o.* FROM outcome('SELECT dp_count(*) FROM visit a LEFT JOIN visit b ON b.unit = a.unit LEFT JOIN visit c ON c.unit = a.unit LEFT JOIN visit d ON d.unit = a.unit, generate_series(1, 40000) g') o;
SELECT o.* FROM outcome('SELECT dp_count(*) FROM visit v' || (SELECT string_agg(format(' LEFT JOIN visit v%s ON v%1$s.unit = v.unit', i), '') FROM generate_series(1, 19) i)) o;

-- ---- rights, policies and sublinks of what is joined ----
SELECT * FROM outcome('SELECT DISTINCT k FROM visit v JOIN hidden h ON h.id = v.k');
SELECT * FROM outcome('SELECT k FROM visit v JOIN (SELECT id FROM hidden) h ON h.id = v.k GROUP BY k');
SELECT DISTINCT k FROM visit v JOIN clinic c ON c.id = v.clinic;
SELECT dp_count(*) FROM (SELECT v.k FROM visit v JOIN (SELECT c.id FROM clinic c WHERE c.id IN (SELECT d FROM day WHERE d < 3)) c ON v.clinic = c.id) q;
SELECT dp_count(*) FROM (SELECT v.k FROM visit v JOIN generate_series(1, (SELECT max(id) FROM clinic)) g ON v.clinic = g) q;
RESET ROLE;
SET ROLE :owner;
CREATE POLICY few ON clinic TO :analyst USING (id IN (SELECT d FROM day WHERE d < 3));
ALTER TABLE clinic ENABLE ROW LEVEL SECURITY;
SET ROLE :analyst;
SELECT dp_count(*) FROM (SELECT v.k FROM visit v JOIN clinic c ON v.clinic = c.id) q;
SELECT dp_count(*) FROM visit v JOIN clinic c ON v.clinic = c.id;
RESET dp_pg.max_rows;
RESET dp_pg.max_keys;
RESET ROLE;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
