-- Linear queries over rowsets of any shape: units behind keys, joins with
-- private and public rows, groups, UNION ALL.  Every number is compared with
-- plain SQL over the same rows.
--
-- Epsilon is 100000 for at most 40 answers, as in linear_rows.sql.  Plain SQL
-- needs only the rows of a shape, each with its unit.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test linear_rowsets
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
CREATE TABLE stay (u text NOT NULL, k int NOT NULL, g boolean NOT NULL, age int);
INSERT INTO stay SELECT 'p' || u, (u + j) % 4, (u * j) % 3 = 0, CASE WHEN u % 7 > 0 THEN u + j END FROM generate_series(1, 150) u, generate_series(1, 1 + u % 4) j;
CREATE TABLE bed (id int PRIMARY KEY, u text, w int, sick boolean);
INSERT INTO bed SELECT i, CASE WHEN i % 11 > 0 THEN 'p' || 1 + i / 2 END, i % 3, i % 5 = 0 FROM generate_series(1, 160) i;
CREATE TABLE meal (bed int, hot boolean, k int NOT NULL);
INSERT INTO meal SELECT i % 200, i % 4 = 0, i % 4 FROM generate_series(1, 500) i;
CREATE TABLE bite (id int PRIMARY KEY, meal int, big boolean);
CREATE TABLE lone (k int NOT NULL, g boolean);
INSERT INTO lone SELECT i % 5, i % 3 = 0 FROM generate_series(1, 333) i;
-- one unit with very many rows
INSERT INTO stay SELECT 'many', 3, true, 7 FROM generate_series(1, 400);
INSERT INTO bed VALUES (1000, 'many', 2, true), (1001, 'many', 1, NULL);
INSERT INTO meal SELECT 1000, true, 3 FROM generate_series(1, 2000);
SELECT dp_protect('stay', unit => 'u', dataset => :'schema'), dp_protect('bed', unit => 'u', dataset => :'schema'),
	dp_protect('meal', unit => 'bed -> bed.u', dataset => :'schema'), dp_protect('lone', dataset => :'schema') \g /dev/null
SELECT dp_declare(t, 'k', keys => ARRAY[0, 1, 2, 3]) FROM unnest(ARRAY['stay', 'meal', 'lone']::regclass[]) t \g /dev/null
SELECT dp_declare('stay', 'age', lower => 0, upper => 200), dp_declare('bed', 'w', lower => 0, upper => 2) \g /dev/null
SELECT dp_declare('stay', max_rows => 1), dp_declare('bed', max_rows => 1), dp_declare('meal', max_rows => 1) \g /dev/null
-- public
CREATE TABLE ward (k int PRIMARY KEY, name text NOT NULL, big boolean NOT NULL, beds float8);
INSERT INTO ward SELECT i, 'w' || i, i > 1, i / 4.0 FROM generate_series(0, 3) i;
CREATE TABLE tag (k int, t text);
INSERT INTO tag SELECT i % 4, 't' || i FROM generate_series(1, 60) i;
GRANT SELECT ON ward, tag TO :analyst;

CREATE VIEW by_key AS SELECT bed, hot, k, k > 1 AS more FROM meal;
CREATE VIEW on_units AS SELECT a.u, a.k, a.g, b.w, b.sick, a.g AND b.sick AS gs FROM stay a JOIN bed b ON a.u = b.u;
CREATE VIEW on_units_left AS SELECT a.u, a.k, a.g, b.w, b.sick, b.id IS NULL AS alone FROM stay a LEFT JOIN bed b ON a.u = b.u AND b.w > 0;
CREATE VIEW on_units_full AS SELECT COALESCE(a.u, b.u) AS u, a.k, b.w, a.g, b.sick FROM stay a FULL JOIN bed b ON a.u = b.u;
CREATE VIEW along_path AS SELECT b.u, m.hot, m.k, b.w, b.sick FROM meal m JOIN bed b ON m.bed = b.id;
CREATE VIEW twice AS SELECT a.u, a.k, b.g FROM stay a JOIN stay b ON a.u = b.u AND b.k > 1;
CREATE VIEW looked_up AS SELECT s.u, s.k, s.g, p.name, p.big, p.beds FROM stay s JOIN ward p ON s.k = p.k;
CREATE VIEW looked_up_left AS SELECT s.u, s.k, s.g, p.big FROM stay s LEFT JOIN ward p ON s.k = p.k AND p.big;
CREATE VIEW spread AS SELECT s.u, s.k, s.g, p.big FROM stay s JOIN ward p ON s.k >= p.k WHERE s.u <> 'many';
CREATE VIEW spread_far AS SELECT s.u, s.k, s.g, t.t FROM stay s JOIN tag t ON s.k = t.k WHERE s.u <> 'many';
CREATE VIEW asked AS SELECT s.u, s.k, s.g, EXISTS (SELECT FROM bed b WHERE b.u = s.u AND b.sick) AS sick FROM stay s WHERE s.u IN (SELECT u FROM bed WHERE w < 2);
CREATE VIEW of_units AS SELECT u, count(*) AS n, max(k) AS k, bool_or(g) AS g, sum(age) AS age FROM stay GROUP BY u HAVING count(*) < 4;
CREATE VIEW of_groups AS SELECT u, g, count(*) AS n, max(k) AS k FROM stay GROUP BY u, g;
CREATE VIEW of_joined AS SELECT b.u, count(*) AS n, bool_or(m.hot) AS hot FROM meal m JOIN bed b ON m.bed = b.id GROUP BY b.u;
CREATE VIEW joined_groups AS SELECT o.u, o.n, o.k, b.sick FROM of_units o JOIN bed b ON b.u = o.u;
CREATE VIEW distinct_rows AS SELECT DISTINCT u, k FROM stay;
CREATE VIEW together AS SELECT u, k, g FROM stay WHERE g UNION ALL SELECT u, w, sick FROM bed;
CREATE VIEW views AS SELECT u, big AS g, k FROM looked_up WHERE k > (SELECT min(k) FROM ward);
CREATE VIEW listed AS SELECT s.u, s.k, s.g, v.x FROM stay s JOIN (VALUES (0, true), (1, false)) AS v(k, x) ON s.k = v.k;
CREATE VIEW of_rows AS SELECT l.k, l.g, p.big FROM lone l JOIN ward p ON l.k = p.k;
RESET ROLE;
CREATE TABLE shape (name text PRIMARY KEY, own boolean, rows text);
INSERT INTO shape SELECT name, rows IS NOT NULL, coalesce(rows, 'TABLE ' || name) FROM (VALUES ('by_key', 'SELECT b.u, m.hot, m.k, k > 1 AS more FROM meal m JOIN bed b ON m.bed = b.id'),
	('on_units', NULL), ('on_units_left', NULL), ('on_units_full', NULL), ('along_path', NULL), ('twice', NULL), ('looked_up', NULL), ('looked_up_left', NULL), ('spread', NULL), ('spread_far', NULL),
	('asked', NULL), ('of_units', NULL), ('of_groups', NULL), ('of_joined', NULL), ('joined_groups', NULL), ('distinct_rows', NULL), ('together', NULL), ('views', NULL), ('listed', NULL),
	('of_rows', 'SELECT row_number() OVER () AS u, * FROM of_rows')) v(name, rows);
SET client_min_messages = error;
DO $$
DECLARE
	name text;
BEGIN
	FOR name IN SELECT s.name FROM shape s LOOP
		EXECUTE format('GRANT SELECT ON %I TO %I', name, current_setting('regress.dataset') || '_analyst');
	END LOOP;
END $$;

SET client_min_messages = warning;
\set file :abs_srcdir '/sql/include/slow.psql'
\i :file
CREATE TABLE truth (name text, i int, query text, m int, rows bigint);
INSERT INTO truth SELECT name, i, query, m, slow(rows, query, m)
FROM shape, LATERAL (SELECT row_number() OVER () AS i, query FROM unnest(ARRAY['true'] || CASE name
	WHEN 'by_key' THEN ARRAY['hot', 'k = 3', 'more AND NOT hot', 'CASE WHEN hot THEN 0.25 ELSE 0.5 END'] WHEN 'on_units' THEN ARRAY['g', 'w = 2 AND k > 1', 'sick IS NULL', 'gs', 'w / 2.0']
	WHEN 'on_units_left' THEN ARRAY['alone', 'w IS NULL', 'sick', 'k = 3'] WHEN 'on_units_full' THEN ARRAY['k IS NULL', 'w IS NULL', 'g AND sick', 'u = ''p3''']
	WHEN 'along_path' THEN ARRAY['hot', 'sick AND k = 3', 'w = 2', 'w / 4.0'] WHEN 'twice' THEN ARRAY['g', 'k = 0', 'g AND k = 2']
	WHEN 'looked_up' THEN ARRAY['big', 'name = ''w1''', 'g AND NOT big', 'least(greatest(beds, 0), 1)'] WHEN 'looked_up_left' THEN ARRAY['big IS NULL', 'g AND big'] WHEN 'spread' THEN ARRAY['big', 'k = 3 AND big']
	WHEN 'spread_far' THEN ARRAY['t < ''t3''', 'g', 't = ''t7'''] WHEN 'asked' THEN ARRAY['sick', 'sick AND g', 'k = 1'] WHEN 'of_units' THEN ARRAY['n > 2', 'g', 'k = 3', 'age > 100']
	WHEN 'of_groups' THEN ARRAY['g', 'n > 1', 'k = 2 AND NOT g'] WHEN 'of_joined' THEN ARRAY['hot', 'n > 3'] WHEN 'joined_groups' THEN ARRAY['n > 1', 'k = 3 AND sick']
	WHEN 'distinct_rows' THEN ARRAY['k = 1', 'k > 1'] WHEN 'together' THEN ARRAY['g', 'k > 1', 'g IS NULL'] WHEN 'views' THEN ARRAY['g', 'k = 2'] WHEN 'listed' THEN ARRAY['x', 'g']
	WHEN 'of_rows' THEN ARRAY['g', 'big', 'k = 2'] END) AS query) q, unnest(ARRAY[1, 2, 5, 20]) m;
GRANT SELECT ON truth, shape TO :analyst;
-- one row of each unit, whatever is set
UPDATE truth SET rows = (SELECT rows FROM truth t WHERE t.name = truth.name AND t.i = truth.i AND t.m = 1) WHERE name IN ('of_units', 'of_joined', 'of_rows');

-- ---- lists ----
SET ROLE :analyst;
CREATE FUNCTION listed(relation text, bound int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	wrong text;
BEGIN
	PERFORM set_config('dp_pg.max_rows', bound::text, false);
	SELECT string_agg(format('%s: %s, not %s', predicate, answer, rows), '; ') INTO wrong
	FROM truth t LEFT JOIN dp_sparse_vector(relation::regclass, (SELECT array_agg(query ORDER BY i) FROM truth WHERE name = relation AND m = bound), -1, 40, numeric_answers => true) v
		ON v.query = t.i WHERE name = relation AND m = bound AND answer IS DISTINCT FROM rows;
	RETURN wrong;
END $$;
SELECT name, count(*) AS bounds, string_agg(wrong, '; ') AS wrong FROM (SELECT DISTINCT name, m FROM truth) t, LATERAL listed(name, m) AS wrong GROUP BY name ORDER BY name;
RESET dp_pg.max_rows;
-- what holds for most rows, and candidates of one's own
SELECT bool_and(dp_argmax(name::regclass, ARRAY['false', 'true']) = 'true') AS argmax FROM shape;
CREATE TABLE candidate AS SELECT name, c, (SELECT array_agg(rows + 20 * (3 - c)::numeric ORDER BY i) FROM truth t WHERE m = 5 AND t.name = shape.name) AS answers
	FROM shape, generate_series(1, 5) c WHERE name IN ('by_key', 'on_units', 'looked_up', 'of_groups', 'together');
SET dp_pg.max_rows = 5;
CREATE FUNCTION nearest(relation text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	best int;
BEGIN
	CREATE TEMPORARY TABLE own ON COMMIT DROP AS SELECT c, answers FROM candidate WHERE name = relation;
	SELECT t.c INTO best FROM dp_net(relation::regclass, 'own', (SELECT array_agg(query ORDER BY i) FROM truth WHERE name = relation AND m = 5)) AS t(c int);
	DROP TABLE own;
	RETURN best;
END $$;
SELECT name, nearest(name) FROM (SELECT DISTINCT name FROM candidate) c ORDER BY name;
RESET dp_pg.max_rows;

-- ---- tables: all rows count ----
RESET ROLE;
DELETE FROM meal WHERE bed = 1000;
DELETE FROM stay WHERE u = 'many';
DELETE FROM bed WHERE u = 'many';
CREATE TABLE cell (name text, columns text[], query text, rows bigint);
INSERT INTO cell SELECT name, columns, query, slow(rows, query, 100000) FROM (VALUES
	('by_key', ARRAY['k', 'hot'], ARRAY['hot', 'k = 3 AND NOT hot', 'k / 4.0']), ('on_units', ARRAY['k', 'g'], ARRAY['g', 'k = 1 AND NOT g']),
	('on_units_left', ARRAY['alone', 'sick'], ARRAY['alone', 'sick', 'sick IS NULL']), ('on_units_full', ARRAY['k', 'g', 'sick'], ARRAY['k = 2', 'k IS NULL', 'g AND sick', 'g IS NULL AND sick']),
	('along_path', ARRAY['hot', 'k', 'w'], ARRAY['w = 1', 'w > k AND hot', 'w / 4.0']), ('twice', ARRAY['k', 'g'], ARRAY['g', 'k = 0 AND g']),
	('looked_up', ARRAY['k', 'big'], ARRAY['big', 'k = 1', 'k = 1 AND big']), ('looked_up_left', ARRAY['big', 'g'], ARRAY['big IS NULL', 'big AND g']),
	('spread', ARRAY['big', 'k'], ARRAY['big AND k = 3', 'NOT big']), ('spread_far', ARRAY['k', 'g'], ARRAY['k = 3', 'g']), ('asked', ARRAY['sick', 'k'], ARRAY['sick', 'k = 2 AND NOT sick']),
	('of_units', ARRAY['k', 'g'], ARRAY['g', 'k = 3', 'k = 2 AND g']), ('of_groups', ARRAY['g', 'k'], ARRAY['g', 'k = 3', 'k = 2 AND NOT g']), ('of_joined', ARRAY['hot'], ARRAY['hot', 'NOT hot']),
	('joined_groups', ARRAY['k', 'sick'], ARRAY['k = 3', 'k = 2 AND sick', 'sick IS NULL']), ('distinct_rows', ARRAY['k'], ARRAY['k = 2', 'k < 2']), ('together', ARRAY['g'], ARRAY['g', 'g IS NULL']),
	('views', ARRAY['k', 'g'], ARRAY['g', 'k = 2']), ('listed', ARRAY['x', 'k'], ARRAY['x', 'k = 1 AND x']), ('of_rows', ARRAY['k', 'g', 'big'], ARRAY['k = 1', 'g', 'big AND k = 3'])) AS c(name, columns, queries)
	JOIN shape USING (name), unnest(queries) query;
GRANT SELECT ON cell TO :analyst;
SET ROLE :analyst;
SET dp_pg.max_rows = 100;
CREATE FUNCTION counted(relation text, columns text[], asked text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT FROM dp_iterate(%L, %L, ARRAY[%L], n => 100, rounds => 1) AS t(%s, probability float8)', relation, columns, asked,
		(SELECT string_agg(format('%I %s', c, format_type(a.atttypid, -1)), ', ' ORDER BY i) FROM unnest(columns) WITH ORDINALITY u(c, i), pg_attribute a
			WHERE attrelid = relation::regclass AND attname = c));
	RETURN (SELECT parameters -> 'steps' -> 0 ->> 'answer' FROM dp_pg.releases ORDER BY id DESC LIMIT 1);
END $$;
SELECT name, count(*) AS queries, count(*) FILTER (WHERE rows > 0) AS some, string_agg(format('%s: %s, not %s', query, counted, rows), '; ') FILTER (WHERE counted IS DISTINCT FROM rows) AS wrong
FROM cell, LATERAL counted(name, columns, query) GROUP BY name ORDER BY name;
-- weights, SmallDB and synthetic rows of some
SELECT dp_weights_open('along_path', ARRAY['hot', 'k', 'w'], 20, 1000000, alpha => 0.01) AS w \gset
SELECT bool_and(abs(a.answer - rows) <= 0.03 * (SELECT max(rows) FROM truth WHERE name = 'along_path')), bool_and(NOT updated OR a.answer = rows)
	FROM cell, LATERAL dp_weights_ask(:w, query) a WHERE name = 'along_path';
SELECT count(*) > 0 AS rows FROM dp_smalldb('of_groups', ARRAY['g', 'k'], ARRAY['g', 'k = 3', 'k = 2'], alpha => 0.9) AS t(g boolean, k int);
SELECT g, abs(count(*) - (SELECT rows FROM cell WHERE name = 'looked_up_left' AND query = 'big IS NULL')) < 5 AS near FROM dp_synthesize('looked_up_left', ARRAY['g', 'big'], 2, epsilon => 100000, method => 'mwem')
	AS t(g boolean, big boolean) WHERE big IS NULL GROUP BY ROLLUP (g) ORDER BY g NULLS FIRST LIMIT 1;
RESET dp_pg.max_rows;
-- which columns have public values
SELECT relation, c, state, hinted, charges FROM (VALUES ('looked_up', 'name'), ('looked_up', 'beds'), ('of_groups', 'n'), ('together', 'k'), ('on_units', 'sick'), ('views', 'g')) v(relation, c),
	LATERAL outcome(format('SELECT dp_weights_open(%L, ARRAY[%L], 2, 1000, n => 1000)', relation, c));
\set VERBOSITY default
SELECT dp_weights_open('of_groups', ARRAY['n'], 2, 1000, n => 1000, bins => ARRAY[4]);
SELECT dp_weights_open('looked_up', ARRAY['beds'], 2, 1000, n => 1000, bins => ARRAY[4]);
\set VERBOSITY sqlstate
-- by default as many rows of a unit count as owners declared: of what a row is made of the most, of arms all
RESET ROLE;
SET ROLE :owner;
SELECT dp_declare('stay', max_rows => 3) \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SELECT name, dp_pg.rows_of_unit(name::regclass) AS rows FROM unnest(ARRAY['by_key', 'on_units', 'together', 'of_units', 'of_groups', 'of_rows', 'spread']) name;
RESET ROLE;
SET ROLE :owner;
SET client_min_messages = notice;
\set VERBOSITY default
SELECT above FROM dp_sparse_vector('together', ARRAY['g'], 1000000, epsilon => 1);
SELECT above FROM dp_sparse_vector('of_units', ARRAY['g'], 1000000, epsilon => 1);
SELECT above FROM dp_sparse_vector('spread', ARRAY['g'], 1000000, epsilon => 1);
