-- Windows over the rows of a unit, below a private aggregate: same answers as
-- the plain query, if the order of its rows is defined.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_window
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
CREATE TABLE visit (id int PRIMARY KEY, unit int, day date NOT NULL, cost int, price numeric, weight float8, k int, note text);
INSERT INTO visit SELECT i, CASE WHEN i % 50 > 0 THEN i % 40 END, date '2020-01-01' + i * 7 % 60, nullif(i % 50, 7), CASE i % 3 WHEN 0 THEN 1.0 WHEN 1 THEN 1.00 ELSE 'NaN' END, CASE i % 4 WHEN 0 THEN '-0' WHEN 1 THEN 0 WHEN 2 THEN 1e300 ELSE 0.1 END, nullif(i % 6, 5), 'n' || i % 3 FROM generate_series(1, 400) i;
CREATE TABLE member (name int PRIMARY KEY, town text);
INSERT INTO member SELECT i, 'town' || i % 3 FROM generate_series(0, 29) i;
CREATE TABLE odd (unit int, j jsonb, n name, span interval);
CREATE TABLE person2 (name text, cost int, note text);
INSERT INTO person2 SELECT 'p' || i % 20, i, 'n' || i % 3 FROM generate_series(1, 100) i;
CREATE TABLE clinic (k int, city text);
INSERT INTO clinic VALUES (1, 'a'), (2, 'a'), (3, 'b'), (3, 'c');
GRANT SELECT ON clinic TO :analyst;
SELECT dp_protect('visit', unit => 'unit', dataset => :'schema'), dp_protect('member', unit => 'name', dataset => :'schema'),
	dp_protect('odd', unit => 'unit', dataset => :'schema'), dp_protect('person2', unit => 'name', dataset => :'schema') \g /dev/null
SELECT dp_declare('visit', 'cost', lower => 0, upper => 50), dp_declare('member', 'town', keys => ARRAY['town0', 'town1', 'town2'], nulls => false),
	dp_declare('visit', max_rows => 50, max_keys => 5), dp_declare('member', max_rows => 50, max_keys => 5) \g /dev/null
RESET ROLE;

\set file :abs_srcdir '/sql/include/compare.psql'
\i :file
SET dp_pg.max_rows = 100;
SET dp_pg.max_keys = 10;
CREATE VIEW usual AS SELECT * FROM visit WHERE unit IS NOT NULL;
GRANT SELECT ON usual TO :owner, :analyst;
SELECT q, b.* FROM unnest(ARRAY[
	-- single rows: the first of each unit, differences, numbers of parts
	'FROM (SELECT unit, row_number() OVER (PARTITION BY unit ORDER BY day, id) AS n FROM visit WHERE unit IS NOT NULL) s WHERE n = 1',
	'FROM (SELECT unit, cost, row_number() OVER (PARTITION BY unit ORDER BY cost DESC NULLS LAST, id) AS n FROM visit WHERE unit IS NOT NULL) s WHERE n <= 3 AND cost > 20',
	'FROM (SELECT day - lag(day) OVER (PARTITION BY unit ORDER BY day, id) AS gap FROM visit WHERE unit IS NOT NULL) s WHERE gap > 5',
	'FROM (SELECT lead(cost, 2, -1) OVER (PARTITION BY unit ORDER BY id) AS x, lag(note, 0) OVER (PARTITION BY unit ORDER BY id) AS y, lag(cost, -1) OVER (PARTITION BY unit ORDER BY id) AS z FROM visit WHERE unit IS NOT NULL) s WHERE x = -1 OR y = ''n2'' AND z > 20',
	'FROM (SELECT lag(note, 1, ''none'') OVER w AS n, lag(cost * 2) OVER w AS m, min(note) OVER (PARTITION BY unit ORDER BY id ROWS 2 PRECEDING) AS l FROM visit WHERE unit IS NOT NULL WINDOW w AS (PARTITION BY unit ORDER BY id)) s WHERE n = ''none'' OR m < 70 AND l = ''n0''',
	'FROM (SELECT max(price) OVER (PARTITION BY unit) AS p FROM visit WHERE unit < 10 AND cost < 9) s WHERE p > 0',
	'FROM (SELECT ntile(3) OVER (PARTITION BY unit ORDER BY id) AS n FROM visit WHERE unit IS NOT NULL) s WHERE n = 2',
	-- peers, in whatever order they come
	'FROM (SELECT rank() OVER w AS r, dense_rank() OVER w AS d, percent_rank() OVER w AS p, cume_dist() OVER w AS c FROM visit WHERE unit IS NOT NULL WINDOW w AS (PARTITION BY unit ORDER BY k)) s WHERE r > 3 AND d = 3 AND p > 0.1 AND c > 0.9',
	'FROM (SELECT count(*) OVER (PARTITION BY unit ORDER BY k) AS n, sum(cost) OVER (PARTITION BY unit, k) AS s, max(day) OVER (PARTITION BY unit ORDER BY k GROUPS CURRENT ROW) AS m FROM visit WHERE unit IS NOT NULL) s WHERE n > 4 AND s > 20 AND m > ''2020-01-20''',
	-- both in one window; several windows
	'FROM (SELECT rank() OVER w AS r, row_number() OVER w AS n, count(*) OVER w AS c FROM visit WHERE unit IS NOT NULL WINDOW w AS (PARTITION BY unit ORDER BY note COLLATE "C", id)) s WHERE r = n AND n = c AND c = 2',
	'FROM (SELECT row_number() OVER (PARTITION BY unit ORDER BY id) AS n, row_number() OVER (PARTITION BY unit ORDER BY id DESC) AS m, count(*) OVER (PARTITION BY unit) AS c FROM visit WHERE unit IS NOT NULL) s WHERE n + m = c + 1 AND n > 2',
	-- frames, values of their rows
	'FROM (SELECT avg(cost) OVER (PARTITION BY unit ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS a, min(cost) OVER (PARTITION BY unit ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING) AS m FROM visit WHERE unit IS NOT NULL) s WHERE a > 20 OR m IS NULL',
	'FROM (SELECT first_value(cost) OVER (PARTITION BY unit ORDER BY id) AS f, last_value(cost) OVER w AS l, nth_value(cost, 2) OVER w AS t, cost FROM visit WHERE unit IS NOT NULL WINDOW w AS (PARTITION BY unit ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)) s WHERE f < cost AND l >= cost AND t IS NOT NULL',
	'FROM (SELECT count(*) FILTER (WHERE cost > 25) OVER (PARTITION BY unit ORDER BY id ROWS 3 PRECEDING) AS n, bool_or(cost IS NULL) OVER (PARTITION BY unit) AS o FROM visit WHERE unit IS NOT NULL) s WHERE n = 1 AND NOT o',
	-- over groups, joins, windows, one another; asked for; put together
	'FROM (SELECT unit, row_number() OVER (PARTITION BY unit ORDER BY n DESC, k) AS r, k FROM (SELECT unit, k, count(*) AS n FROM visit WHERE unit IS NOT NULL GROUP BY unit, k) g) s WHERE r = 1 AND k = 1',
	'FROM (SELECT v.unit, v.id, town, row_number() OVER (PARTITION BY v.unit ORDER BY v.id) AS n FROM visit v JOIN member m ON m.name = v.unit) s WHERE n = 2 AND town = ''town1''',
	'FROM member m JOIN (SELECT unit, cost, row_number() OVER (PARTITION BY unit ORDER BY id) AS n FROM visit) s ON s.unit = m.name WHERE n = 1 AND cost > 3',
	'FROM member m LEFT JOIN (SELECT unit, row_number() OVER (PARTITION BY unit ORDER BY id) AS n FROM visit) s ON s.unit = m.name AND n = 5',
	'FROM member m FULL JOIN (SELECT unit, row_number() OVER (PARTITION BY unit ORDER BY id) AS n FROM visit WHERE unit IS NOT NULL) s ON s.unit = m.name AND n < 3',
	'FROM (SELECT row_number() OVER (PARTITION BY unit ORDER BY id, city COLLATE "C") AS n FROM visit v JOIN clinic c USING (k) WHERE unit IS NOT NULL) s WHERE n <= 2',
	'FROM clinic c JOIN (SELECT k, row_number() OVER (PARTITION BY unit ORDER BY id) AS n FROM visit WHERE unit IS NOT NULL) s ON s.k = c.k WHERE n <= 2',
	'FROM (SELECT unit, max(n) AS most FROM (SELECT unit, dense_rank() OVER (PARTITION BY unit ORDER BY k) AS n FROM visit WHERE unit IS NOT NULL) s GROUP BY unit) t WHERE most > 2',
	'FROM (SELECT id, lag(n) OVER (PARTITION BY unit ORDER BY id) AS p FROM (SELECT unit, id, row_number() OVER (PARTITION BY unit ORDER BY cost, id) AS n FROM visit WHERE unit IS NOT NULL) s) t WHERE p > 3',
	'FROM member m WHERE EXISTS (SELECT FROM (SELECT unit, cost, row_number() OVER (PARTITION BY unit ORDER BY id) AS n FROM visit) s WHERE unit = name AND n = 1 AND cost > 20)',
	'FROM member m WHERE name NOT IN (SELECT unit FROM (SELECT unit, count(*) OVER (PARTITION BY unit, k) AS n FROM visit WHERE unit IS NOT NULL) s WHERE n > 3)',
	'FROM (SELECT unit, row_number() OVER (PARTITION BY unit ORDER BY id) AS n FROM visit WHERE unit IS NOT NULL UNION ALL SELECT name, 7::bigint FROM member) s WHERE n = 7',
	'FROM (SELECT name, sum(cost) OVER (PARTITION BY name, note ORDER BY note COLLATE "C" DESC, cost ROWS 1 PRECEDING) AS n FROM person2) s WHERE n > 100',
	'FROM (SELECT name, row_number() OVER (PARTITION BY name ORDER BY cost) AS n FROM person2) s WHERE n = 1',
	-- any order
	'FROM (SELECT unit, row_number() OVER (PARTITION BY unit ORDER BY random()) AS n FROM visit WHERE unit IS NOT NULL) s WHERE n <= 2',
	'FROM (SELECT unit, row_number() OVER (PARTITION BY unit) AS n FROM visit WHERE unit IS NOT NULL) s WHERE n <= 2']) q, compare(q) b;
-- what the others give, by group: keys that are named, bounds, sums
SET ROLE :analyst;
SET dp_pg.max_rows = 12;
SELECT n, dp_count(*), dp_sum(cost), dp_count(DISTINCT unit) FROM (SELECT unit, cost, row_number() OVER (PARTITION BY unit ORDER BY id) AS n FROM visit) s WHERE n IN (1, 2, 99) GROUP BY n;
SELECT town, round(dp_avg(gap, 0, 60), 1) AS dp_avg FROM (SELECT unit, day - lag(day) OVER (PARTITION BY unit ORDER BY day, id) AS gap FROM visit) s JOIN member ON name = unit GROUP BY town;
SELECT dp_sum(most) AS most, dp_sum(mean) > 0 AS mean, dp_sum(later, 0, 50) AS later FROM (SELECT max(cost) OVER (PARTITION BY unit) AS most, avg(cost) OVER (PARTITION BY unit) AS mean, lead(cost) OVER (PARTITION BY unit ORDER BY id) AS later FROM visit) s;
SELECT first > 20 AS high, dp_count(*) FROM (SELECT unit, first_value(cost) OVER (PARTITION BY unit ORDER BY id) AS first FROM visit) s WHERE first IS NOT NULL GROUP BY high;
-- floats and numbers as where rows are grouped: exact, without NaN; rows with equal
-- columns that are spelled differently have one order, whatever is stored where
SELECT round(dp_sum(p, -10, 10)) AS p, dp_sum(w, -10, 10) > 0 AS w FROM (SELECT sum(price) OVER (PARTITION BY unit ORDER BY id ROWS 2 PRECEDING) AS p, sum(weight) OVER (PARTITION BY unit) AS w FROM visit) s;
SELECT dp_sum(c, 0, 50) AS c, dp_count(*) FILTER (WHERE n = 3) AS n FROM (SELECT price AS p, lag(cost) OVER (PARTITION BY unit ORDER BY price) AS c, row_number() OVER (PARTITION BY unit ORDER BY weight) * k AS n FROM visit) s \gset
RESET ROLE;
SET ROLE :owner;
CREATE TABLE copy AS TABLE visit;
TRUNCATE visit;
INSERT INTO visit SELECT * FROM copy ORDER BY md5(id::text);
SET ROLE :analyst;
SELECT dp_sum(c, 0, 50) = :c AS c, dp_count(*) FILTER (WHERE n = 3) = :n AS n FROM (SELECT price AS p, lag(cost) OVER (PARTITION BY unit ORDER BY price) AS c, row_number() OVER (PARTITION BY unit ORDER BY weight) * k AS n FROM visit) s;
EXPLAIN (COSTS OFF) SELECT dp_sum(cost) FROM (SELECT unit, cost, row_number() OVER (PARTITION BY unit ORDER BY day, id) AS n FROM visit) s WHERE n = 1;
-- one unit of many rows and long texts takes part with some of them, and no error
RESET ROLE;
SET ROLE :owner;
INSERT INTO visit SELECT 1000 + i, 77, '2020-03-01', 1, 1, 1, 1, repeat(md5(i::text), 300) FROM generate_series(1, 3000) i;
INSERT INTO odd VALUES (1, '1', 'a', '1 mon'), (1, '1.0', 'b', '30 days');
SET ROLE :analyst;
SELECT dp_count(*) FROM (SELECT unit, note, row_number() OVER (PARTITION BY unit ORDER BY note COLLATE "C") AS n FROM visit) s WHERE unit = 77 AND n = 1;
SELECT dp_count(*) FROM (SELECT unit, n, count(*) OVER (PARTITION BY unit, n) AS m FROM (SELECT unit, dense_rank() OVER (PARTITION BY unit ORDER BY day) AS n FROM visit) s) t WHERE unit = 77 AND n = 1 AND m < 0;
-- plain aggregates in transparent mode
SET dp_pg.transparent = on;
SET dp_pg.suppress = off;
SELECT count(*) FROM (SELECT unit, row_number() OVER (PARTITION BY unit ORDER BY day, id) AS n FROM visit) s WHERE n = 1 AND unit < 40;
RESET dp_pg.transparent;
RESET dp_pg.suppress;
-- refused: other units in a partition, what could fail or tell equal rows apart
SELECT q, o.* FROM unnest(ARRAY['row_number() OVER (ORDER BY day)', 'count(*) OVER ()', 'row_number() OVER (PARTITION BY k ORDER BY day)', 'row_number() OVER (PARTITION BY unit % 2 ORDER BY day)', 'row_number() OVER (PARTITION BY unit + 0)',
	'row_number() OVER (PARTITION BY coalesce(unit, 0))', 'ntile(0) OVER (PARTITION BY unit)', 'ntile(-1) OVER (PARTITION BY unit)', 'ntile(cost) OVER (PARTITION BY unit)', 'nth_value(cost, 0) OVER (PARTITION BY unit)', 'nth_value(cost, k) OVER (PARTITION BY unit)',
	'lag(cost, k) OVER (PARTITION BY unit ORDER BY id)', 'lag(cost, 2147483647) OVER (PARTITION BY unit ORDER BY id)', 'last_value(cost) OVER (PARTITION BY unit ORDER BY day)', 'nth_value(cost, 2) OVER (PARTITION BY unit ORDER BY day GROUPS UNBOUNDED PRECEDING)',
	'sum(cost) OVER (PARTITION BY unit ORDER BY day RANGE ''1 day'' PRECEDING)', 'sum(cost) OVER (PARTITION BY unit ORDER BY day GROUPS 1 PRECEDING)', 'sum(cost) OVER (PARTITION BY unit ORDER BY id ROWS -1 PRECEDING)', 'sum(cost) OVER (PARTITION BY unit ORDER BY id ROWS NULL PRECEDING)',
	'sum(cost) OVER (PARTITION BY unit ORDER BY id ROWS 5000000000 PRECEDING)', 'sum(cost) OVER (PARTITION BY unit ORDER BY id ROWS 2 PRECEDING EXCLUDE TIES)', 'sum(cost) OVER (PARTITION BY unit ORDER BY id ROWS (SELECT 1) PRECEDING)', 'sum(cost) OVER (PARTITION BY unit ORDER BY id ROWS 1 + 1 PRECEDING)', 'sum(cost) OVER (PARTITION BY unit ORDER BY id ROWS BETWEEN 1 PRECEDING AND abs(-1) FOLLOWING)', 'string_agg(note, '''') OVER (PARTITION BY unit)', 'array_agg(cost) OVER (PARTITION BY unit)',
	'stddev(cost) OVER (PARTITION BY unit)', 'percentile_cont(0.5) WITHIN GROUP (ORDER BY cost)', 'dp_count(*) OVER (PARTITION BY unit)', 'count(*) OVER (PARTITION BY unit ORDER BY note || ''x'')', 'count(*) OVER (PARTITION BY unit, upper(note))', 'row_number() OVER (PARTITION BY unit ORDER BY price * price)', 'lag(note || note) OVER (PARTITION BY unit ORDER BY id)', 'lag(note, 1, note || note) OVER (PARTITION BY unit ORDER BY id)',
	'rank() OVER (PARTITION BY unit ORDER BY random())', 'random() + row_number() OVER (PARTITION BY unit)', 'count(*) OVER (PARTITION BY unit ORDER BY random())', 'sum(1 / cost::numeric) OVER (PARTITION BY unit ORDER BY ctid)', 'max((SELECT count(*) FROM visit w WHERE w.cost > v.cost)) OVER (PARTITION BY unit)']) q,
	outcome('SELECT dp_count(*) FROM (SELECT unit, ' || q || ' AS n FROM visit v) s WHERE n IS NOT NULL') o;
SELECT q, o.* FROM unnest(ARRAY['SELECT dp_count(*) FROM (SELECT j, row_number() OVER (PARTITION BY unit) AS n FROM odd) s WHERE n = 1', 'SELECT dp_count(*) FROM (SELECT n, row_number() OVER (PARTITION BY unit) AS m FROM odd) s WHERE m = 1',
	'SELECT dp_count(*) FROM (SELECT row_number() OVER (PARTITION BY unit ORDER BY span) AS m FROM odd) s WHERE m = 1', 'SELECT dp_count(*) FROM (SELECT unit, sum(count(*)) OVER (PARTITION BY unit) AS n FROM visit GROUP BY unit, k) s WHERE n > 2',
	'SELECT dp_count(*) FROM (SELECT DISTINCT unit, count(*) OVER (PARTITION BY unit) AS n FROM visit) s', 'SELECT dp_count(*) FROM (SELECT unit, count(*) OVER (PARTITION BY unit) AS n FROM visit LIMIT 3) s',
	'SELECT dp_count(*) FROM (SELECT a.unit, count(*) OVER (PARTITION BY b.unit) AS n FROM visit a LEFT JOIN visit b ON a.unit = b.unit) s WHERE n > 1', 'SELECT dp_count(*) FROM (SELECT t, count(*) OVER (PARTITION BY unit) AS n FROM (SELECT unit, note || note AS t FROM visit) i) s WHERE n > 1',
	'SELECT unit, row_number() OVER (PARTITION BY unit), dp_count(*) FROM visit GROUP BY unit', 'SELECT dp_count(*) FROM visit, unnest(string_to_array(note, '','')) l JOIN (SELECT unit AS u, row_number() OVER (PARTITION BY unit) AS n FROM visit) s ON true WHERE u = unit AND n = 1']) q, outcome(q) o;
-- in a subquery that is asked for rows they are columns like others, and EXISTS looks at none
SELECT dp_count(*) FROM visit v WHERE (v.unit, 1) IN (SELECT w.unit, row_number() OVER (PARTITION BY w.unit ORDER BY w.id) FROM visit w) AND v.unit = 3;
SELECT dp_count(*) FROM visit v WHERE EXISTS (SELECT row_number() OVER (PARTITION BY w.k ORDER BY w.cost) FROM visit w WHERE w.unit = v.unit WINDOW x AS (ORDER BY w.id)) AND v.unit = 3;
SELECT o.* FROM outcome('SELECT dp_count(*) FROM visit v WHERE v.unit IN (SELECT w.unit FROM visit w WINDOW x AS (PARTITION BY w.k ORDER BY w.id))') o;
SELECT o.* FROM outcome('SELECT dp_count(*) FROM visit v WHERE v.unit IN (SELECT max(w.unit) OVER (PARTITION BY w.unit, w.k) FROM visit w)') o;
\set VERBOSITY default
SELECT dp_count(*) FROM (SELECT unit, row_number() OVER (PARTITION BY k ORDER BY day) AS n FROM visit) s WHERE n = 1;
SELECT dp_count(*) FROM (SELECT unit, last_value(cost) OVER (PARTITION BY unit ORDER BY day) AS n FROM visit) s WHERE n = 1;
SELECT dp_count(*) FROM (SELECT unit, k, sum(count(*)) OVER (PARTITION BY unit) AS n FROM visit GROUP BY unit, k) s WHERE n > 2;
