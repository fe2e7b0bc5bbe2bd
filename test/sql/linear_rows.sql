-- Linear queries over a relation whose units have many rows: of a predicate
-- min(c, m) of a unit's c rows count, of tables m of its rows.
--
-- Data and predicates are drawn anew in every run and compared with plain
-- SQL.  Epsilon is 100000 for at most 40 answers: scales are below 40 * 3 * 9
-- / 100000, so an answer is off with probability below exp(-90) each.  For
-- tables of counts, the rows of units with more than m of them are in one
-- cell, so no random choice changes a count.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test linear_rows
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

-- 150 units of one to nine rows, one of 20000, and rows of nobody
SET ROLE :owner;
CREATE TABLE visit (u int, ward text NOT NULL, age int, cost numeric, sick boolean);
INSERT INTO visit SELECT u, (ARRAY['A','B','C','D'])[1 + (random() * 3)::int], CASE WHEN random() < .9 THEN (random() * 140)::int - 10 END,
	CASE WHEN random() < .9 THEN (random() * 1.2 - .1)::numeric(12, 9) END, CASE WHEN random() < .9 THEN random() < .4 END
FROM generate_series(1, 150) u, generate_series(1, 1 + u % 9);
INSERT INTO visit SELECT 1000, 'D', 17, 0.75, true FROM generate_series(1, 20000);
INSERT INTO visit SELECT NULL, 'A', 30, 0.5, true FROM generate_series(1, 20);
SELECT dp_protect('visit', unit => 'u', dataset => :'schema') \g /dev/null
SELECT dp_declare('visit', 'ward', keys => ARRAY['A','B','C','D']) \g /dev/null
SELECT dp_declare('visit', 'age', lower => 0, upper => 120) \g /dev/null
SELECT dp_declare('visit', 'cost', lower => 0, upper => 1) \g /dev/null
SELECT dp_declare('visit', max_rows => 3) \g /dev/null
CREATE VIEW few AS SELECT * FROM visit WHERE u < 10;
GRANT SELECT ON few TO :analyst;
RESET ROLE;

\set file :abs_srcdir '/sql/include/slow.psql'
\i :file
CREATE TABLE asked AS SELECT i, format((ARRAY['age > %s', 'ward = ''A''', 'sick AND ward IN (''B'', ''D'')', 'cost', 'age / %s.0', 'sick',
	'NOT sick', 'age < %s OR ward = ''C''', 'least(greatest(cost - 0.%s, 0), 1)', 'true', 'false', 'age IS NULL', 'ward = ''D'''])[1 + i % 13],
	(random() * 60)::int + CASE WHEN i % 13 = 4 THEN 120 ELSE 10 END) AS query
FROM generate_series(0, 31) i;
CREATE TABLE truth AS SELECT i, m, slow('TABLE visit', query, m) AS rows FROM asked, unnest(ARRAY[1, 3, 9]) m;
GRANT SELECT ON asked, truth TO :analyst;
SELECT rows FROM truth, asked WHERE truth.i = asked.i AND m = 3 AND query = 'false' LIMIT 1;

SET ROLE :analyst;
-- ---- lists ----
CREATE FUNCTION exact(bound int) RETURNS boolean LANGUAGE sql AS $$
	SELECT bool_and(v.answer = t.rows) AND count(*) = 32 FROM dp_sparse_vector('visit', (SELECT array_agg(query ORDER BY i) FROM asked), -1,
		cutoff => 32, numeric_answers => true) v JOIN truth t ON t.i = v.query - 1 WHERE t.m = bound
$$;
SELECT spent() \g /dev/null
SELECT exact(3);
SELECT * FROM spent();
SET dp_pg.max_rows = 1;
SELECT exact(1);
SET dp_pg.max_rows = 9;
SELECT exact(9);
RESET dp_pg.max_rows;
-- the one with 20000 rows counts three times
SELECT above FROM dp_sparse_vector('visit', ARRAY['age = 17 AND cost = 0.75 AND sick'], 1000);
SELECT dp_argmax('visit', ARRAY['age = 17 AND cost = 0.75', 'ward = ''B''', 'u IS NULL']);
SELECT dp_argmax('visit', ARRAY['cost', 'true', '0.5']);
SELECT * FROM dp_predicate_cost('visit', ARRAY['ward = ''A''', 'ward = ''B''', 'cost']);
-- as SQL, with keys and FILTER; a place for each group
SELECT dp_pg.conditions(ARRAY[ward = 'E', ward = 'A', ward = 'E']) FROM visit;
SELECT ward, dp_pg.conditions(ARRAY[ward = 'A', ward = 'B', ward = 'C', ward = 'D']) AS place, abs(dp_count(*)) < 1e6 AS counted FROM visit GROUP BY ward ORDER BY ward;
SELECT dp_pg.conditions(ARRAY[ward = 'A', ward = 'B']) FILTER (WHERE ward = 'B') FROM visit;
SELECT state, hinted, charges FROM outcome('SET LOCAL dp_pg.delta = ''1e-9''; SELECT cost, dp_pg.conditions(ARRAY[sick, true]) FROM visit GROUP BY 1');
-- the net mechanism: candidate 3 says what is true
CREATE TABLE candidate AS SELECT c, (SELECT array_agg(rows + 20 * (3 - c)::numeric ORDER BY i) FROM truth WHERE m = 3) AS answers
	FROM generate_series(1, 5) c;
SELECT * FROM dp_net('visit', 'candidate', (SELECT array_agg(query ORDER BY i) FROM asked)) AS t(c int);
-- too many for a row
SELECT state, hinted, charges FROM outcome('SELECT dp_argmax(''visit'', array_fill(''sick''::text, ARRAY[1601]))');
RESET ROLE;
SET dp_pg.max_predicates_per_row = 10000;
SET ROLE :analyst;
SELECT state, hinted, charges FROM outcome('SELECT dp_argmax(''visit'', array_fill(''sick''::text, ARRAY[1601]))');
SELECT state, hinted, charges FROM outcome('SELECT * FROM dp_sparse_vector(''visit'', array_fill(''cost''::text, ARRAY[1601]), 1)');
SELECT state, hinted, charges FROM outcome(format('SELECT dp_pg.conditions(ARRAY[%s]), dp_pg.conditions(ARRAY[%s]) FROM visit',
	(SELECT string_agg('sick', ',') FROM generate_series(1, 801)), (SELECT string_agg('age > 3', ',') FROM generate_series(1, 801))));
SELECT count(*) FROM dp_sparse_vector('few', array_fill('cost'::text, ARRAY[800]) || array_fill('sick'::text, ARRAY[800]), 1000000000);
RESET ROLE;
RESET dp_pg.max_predicates_per_row;
SET ROLE :analyst;

-- ---- sessions ----
-- one keeps its bound, and its price is of it
SELECT dp_sparse_vector_open('visit', -1, 40, 1000000, 50, numeric_answers => true) AS s \gset
SELECT sensitivity, threshold_sensitivity, answer_sensitivity FROM dp_pg.session WHERE id = :s;
SELECT bool_and(v.answer = rows) FROM asked JOIN truth USING (i), LATERAL dp_sparse_vector_ask(:s, query) v WHERE m = 3 AND i < 13;
SET dp_pg.max_rows = 1000;
SELECT bool_and(v.answer = rows) FROM asked JOIN truth USING (i), LATERAL dp_sparse_vector_ask(:s, query) v WHERE m = 3 AND i < 13;
SET dp_pg.max_rows = 1;
SELECT bool_and(v.answer = rows) FROM asked JOIN truth USING (i), LATERAL dp_sparse_vector_ask(:s, query) v WHERE m = 3 AND i < 13;
RESET dp_pg.max_rows;
-- a table that had one row per unit, and has many by now, is bounded at one
RESET ROLE;
SET ROLE :owner;
CREATE TABLE once (u int PRIMARY KEY, x int NOT NULL);
INSERT INTO once SELECT i, i % 2 FROM generate_series(1, 100) i;
SELECT dp_protect('once', unit => 'u', dataset => :'schema') \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SELECT dp_sparse_vector_open('once', -1, 10, 100000, 10, numeric_answers => true) AS s \gset
SELECT answer FROM dp_sparse_vector_ask(:s, 'x = 1');
RESET ROLE;
SET ROLE :owner;
ALTER TABLE once DROP CONSTRAINT once_pkey;
INSERT INTO once SELECT 1, 1 FROM generate_series(1, 500);
RESET ROLE;
SET ROLE :analyst;
SET dp_pg.max_rows = 100;
SELECT answer FROM dp_sparse_vector_ask(:s, 'x = 1');
SELECT answer FROM dp_sparse_vector('once', ARRAY['x = 1'], -1, numeric_answers => true);
RESET dp_pg.max_rows;

-- ---- tables ----
-- m rows of each unit, where those with more have them in one cell
RESET ROLE;
SET ROLE :owner;
CREATE TABLE stay (u text NOT NULL, k int NOT NULL, g boolean NOT NULL, rest text);
INSERT INTO stay SELECT 'p' || u, (u + j) % 4, (u * j) % 3 = 0 FROM generate_series(1, 150) u, generate_series(1, 1 + u % 4) j;
INSERT INTO stay SELECT repeat('q', u), u % 4, u < 3 FROM generate_series(1, 5) u, generate_series(1, u * 3000);
-- of one unit no row is in the universe
INSERT INTO stay SELECT 'r', 9, true FROM generate_series(1, 10);
SELECT dp_protect('stay', unit => 'u', dataset => :'schema') \g /dev/null
SELECT dp_declare('stay', 'k', keys => ARRAY[0, 1, 2, 3]) \g /dev/null
SELECT dp_declare('stay', max_rows => 4) \g /dev/null
CREATE TABLE kept AS SELECT k, g, sum(least(n, 4))::bigint AS rows FROM (SELECT u, k, g, count(*) AS n FROM stay WHERE k < 4 GROUP BY u, k, g) s GROUP BY k, g;
GRANT SELECT ON kept TO :analyst;
SELECT sum(rows) AS n FROM kept \gset
CREATE VIEW stays AS SELECT g, k, u FROM stay WHERE k < 9;
GRANT SELECT ON stays TO :analyst;
RESET ROLE;
SET ROLE :analyst;
CREATE TABLE queries AS SELECT query, sum(rows * weight)::bigint AS rows FROM (
	SELECT format('k = %s AND g', i) AS query, rows, (k = i AND g)::int::numeric AS weight FROM kept, generate_series(0, 3) i UNION ALL
	SELECT format('k = %s', i), rows, (k = i)::int FROM kept, generate_series(0, 3) i UNION ALL
	SELECT 'k / 4.0', rows, k / 4.0 FROM kept UNION ALL SELECT 'NOT g', rows, (NOT g)::int FROM kept) q GROUP BY query;
-- weights: n is what counts, outside of the universe too; an answer that is
-- not near is exact
SELECT dp_weights_open('stay', ARRAY['k', 'g'], 40, 1000000, alpha => 0.01) AS w \gset
SELECT sensitivity, (details::json ->> 'n')::bigint = :n + 4 AS n FROM dp_pg.session WHERE id = :w;
SELECT bool_and(abs(a.answer - rows) <= 0.03 * :n), bool_and(NOT updated OR a.answer = rows) FROM queries, LATERAL dp_weights_ask(:w, query) a;
SET dp_pg.max_rows = 100000;
SELECT bool_and(abs(a.answer - rows) <= 0.03 * :n) FROM queries, LATERAL dp_weights_ask(:w, query) a;
RESET dp_pg.max_rows;
-- through a view
SELECT bool_and(v.answer = rows) FROM kept, LATERAL dp_sparse_vector('stays', ARRAY[format('k = %s AND g = %L', k, g)], -1, numeric_answers => true) v;
-- the iterative construction: all steps are exact
SELECT count(*) FROM dp_iterate('stay', ARRAY['k', 'g'], (SELECT array_agg(query ORDER BY query) FROM queries), n => :n, rounds => 30)
	AS t(k int, g boolean, probability float8);
SELECT bool_and((step ->> 'answer')::bigint = rows) AND count(*) > 0 FROM dp_pg.releases r, jsonb_array_elements(parameters -> 'steps') step
	JOIN (SELECT row_number() OVER (ORDER BY query) AS number, rows FROM queries) q ON number = (step ->> 'query')::int
WHERE r.id = (SELECT max(id) FROM dp_pg.releases);
-- SmallDB: with n public, and the table that is nearest
SELECT count(*) > 0 AS rows, abs(sum(weight) - :n) < 1 AS n FROM dp_smalldb('stay', ARRAY['k', 'g'], (SELECT array_agg(query) FROM queries), n => :n, alpha => 0.5)
	AS t(k int, g boolean, weight float8);
SELECT abs(sum(weight) - :n) < 1 AS n FROM dp_smalldb('stay', ARRAY['k', 'g'], (SELECT array_agg(query) FROM queries), alpha => 0.5) AS t(k int, g boolean, weight float8);
-- synthetic rows: cells are those of the rows that count
SELECT count(*), max(abs(coalesce(t.n, 0) - rows)) < 0.02 * :n AS near FROM kept LEFT JOIN (SELECT k, g, count(*) AS n
	FROM dp_synthesize('stay', ARRAY['k', 'g'], 2, epsilon => 100, delta => 1e-9) AS t(k int, g boolean) GROUP BY k, g) t USING (k, g);
SELECT count(*), max(abs(coalesce(t.n, 0) - rows)) < 0.02 * :n AS near FROM kept LEFT JOIN (SELECT k, g, count(*) AS n
	FROM dp_synthesize('stay', ARRAY['k', 'g'], 2, epsilon => 100000, method => 'mwem') AS t(k int, g boolean) GROUP BY k, g) t USING (k, g);

-- ---- what is said ----
RESET ROLE;
GRANT SELECT ON candidate, asked TO :owner;
SET ROLE :owner;
SET client_min_messages = notice;
\set VERBOSITY default
SELECT above FROM dp_sparse_vector('visit', ARRAY['sick'], 1000000, epsilon => 1);
SET dp_pg.max_rows = 1;
SELECT above FROM dp_sparse_vector('visit', ARRAY['sick'], 1000000, epsilon => 1);
RESET dp_pg.max_rows;
SELECT above FROM dp_sparse_vector('person', ARRAY['sex'], 1000000, epsilon => 1);
SELECT count(*) FROM dp_iterate('stay', ARRAY['k'], ARRAY['k = 1'], n => 1000, rounds => 3, epsilon => 1) AS t(k int, probability float8);
SELECT count(*) FROM dp_net('visit', 'candidate', (SELECT array_agg(query ORDER BY i) FROM asked), epsilon => 1) AS t(c int);
SELECT count(*) FROM dp_smalldb('stay', ARRAY['k'], ARRAY['k = 1', 'k = 2', 'k = 3'], n => 1000, alpha => 0.9, epsilon => 1) AS t(k int);
\set VERBOSITY sqlstate
SET client_min_messages = warning;

-- ---- units behind keys, groups, joins, rows put together (linear_rowsets.sql) ----
RESET ROLE;
SET ROLE :owner;
CREATE TABLE item (key int, x boolean);
CREATE TABLE stay_of (id int PRIMARY KEY, u text);
INSERT INTO stay_of SELECT i, 'p' || i / 2 FROM generate_series(1, 20) i;
INSERT INTO item SELECT 1, true FROM generate_series(1, 1000);
INSERT INTO item SELECT i, false FROM generate_series(1, 5) i;
SELECT dp_protect('stay_of', unit => 'u', dataset => :'schema') \g /dev/null
SELECT dp_protect('item', unit => 'key -> stay_of.u', dataset => :'schema') \g /dev/null
SELECT dp_declare('item', max_rows => 1) \g /dev/null
CREATE VIEW counted AS SELECT u, count(*) AS n FROM stay GROUP BY u;
CREATE VIEW joined AS SELECT a.u, a.k FROM stay a JOIN stay_of b ON a.u = b.u;
CREATE VIEW both_of AS SELECT u, k FROM stay UNION ALL SELECT u, k FROM stay;
GRANT SELECT ON counted, joined, both_of TO :analyst;
RESET ROLE;
SET ROLE :analyst;
SELECT relation, left(call, 25) AS call, state, hinted, charges FROM unnest(ARRAY['item', 'counted', 'joined', 'both_of']) relation,
	unnest(ARRAY['SELECT * FROM dp_sparse_vector(%L, ARRAY[''true''], 5)', 'SELECT dp_sparse_vector_open(%L, 1)',
		'SELECT dp_argmax(%L, ARRAY[''true'', ''false''])']) call, LATERAL outcome(format(call, relation));
-- of a unit behind a key, and of groups, which are one row a unit
SELECT dp_argmax('item', ARRAY['x', 'NOT x', 'key > 5']);
SELECT dp_argmax('counted', ARRAY['n > 100', 'n < 5', 'n < 3']);
