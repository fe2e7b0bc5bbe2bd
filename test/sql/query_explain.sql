-- EXPLAIN previews, charges nothing and shows nothing of the rows; EXPLAIN
-- ANALYZE runs and charges once, and still hides the inner rows.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_explain
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :analyst;
SELECT * FROM spent() \g /dev/null
CREATE FUNCTION plan(statement text, options text DEFAULT '') RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE 'EXPLAIN ' || options || ' ' || statement;
END $$;
CREATE FUNCTION plan_json(statement text, options text DEFAULT '') RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	j jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON' || options || ') ' || statement INTO j;
	RETURN j;
END $$;
-- every object of a plan that says a mechanism
CREATE FUNCTION released(statement text, options text DEFAULT '') RETURNS TABLE (mechanism text, epsilon numeric,
	delta numeric, rho numeric, sensitivity numeric, scale numeric, error boolean) LANGUAGE sql AS $$
	SELECT r ->> 'Mechanism', (r ->> 'Epsilon')::numeric, (r ->> 'Delta')::numeric, round((r ->> 'Rho')::numeric, 6),
		(r ->> 'Sensitivity')::numeric, (r ->> 'Scale')::numeric, r ->> 'Error 95%' <> ''
	FROM jsonb_path_query(plan_json(statement, options), 'strict $.** ? (exists (@."Mechanism"))') r
$$;
-- mechanism, epsilon, delta, rho, sensitivity, scale, 95% error, remainder
SELECT * FROM released('SELECT dp_count(1, 0.5) FROM person');
SELECT * FROM released('SELECT dp_sum(age, 0.5), dp_avg(age, 2), dp_sum(age, -10, 5, 1), dp_count(1, 0.001) FROM person GROUP BY ward');
SELECT bool_or(p LIKE '%Laplace%') mechanism, bool_or(p LIKE '%epsilon 0.5%') epsilon, bool_or(p LIKE '%delta 0%') AS delta,
	bool_or(p LIKE '%rho 0.1%') rho, bool_or(p LIKE '%sensitivity 1,%') sensitivity, bool_or(p LIKE '%scale 2,%') scale,
	bool_or(p ~ '95% error 6') error, bool_or(p ~* 'budget.*remain') remaining
FROM plan('SELECT dp_count(1, 0.5) FROM person') p;
-- 95% error of a count: least m with P(|X| > m) <= 0.05: 6 at epsilon 0.5
-- (P(|X| >= 7) = 2 p^7 / (1 + p) = 0.0376, P(|X| >= 6) = 0.062)
SELECT * FROM spent();
-- in every format
SELECT bool_or(p LIKE '%Laplace%') FROM plan('SELECT dp_count(*) FROM person', '(FORMAT YAML)') p;
SELECT bool_or(p LIKE '%Laplace%') FROM plan('SELECT dp_count(*) FROM person', '(VERBOSE, SETTINGS, COSTS OFF)') p;
DO $$
DECLARE
	x xml;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT XML) SELECT dp_count(*) FROM person' INTO x;
	IF x::text NOT LIKE '%Laplace%' THEN
		RAISE 'no mechanism';
	END IF;
END $$;
EXPLAIN (FORMAT JSON) EXECUTE nothing;
PREPARE p(numeric) AS SELECT dp_count(1, $1) FROM person;
SELECT * FROM released('EXECUTE p(0.5)');
SET plan_cache_mode = force_generic_plan;
SELECT * FROM released('EXECUTE p(0.5)');
RESET plan_cache_mode;
SELECT * FROM released('CREATE TABLE x AS SELECT dp_count(1, 0.25) FROM person');
SELECT epsilon FROM released('SELECT (SELECT dp_count(1, 0.25) FROM person), dp_count(1, 0.5) FROM person WHERE age > (SELECT dp_avg(age, 0.125) FROM person)') ORDER BY 1;
SELECT * FROM spent();
-- an epsilon that is not allowed is refused before
SELECT * FROM outcome('EXPLAIN SELECT dp_count(1, 0) FROM person');
SELECT * FROM outcome('EXPLAIN SELECT dp_count(1, -1) FROM person');
SELECT * FROM outcome('EXPLAIN SELECT * FROM person JOIN (SELECT dp_count(*) FROM person) r ON true');
SELECT * FROM outcome('EXPLAIN SELECT income FROM person GROUP BY income');
SELECT * FROM outcome('EXPLAIN ANALYZE SELECT * FROM person');
-- nothing that depends on rows: the same text on a table of another size
RESET ROLE;
SET ROLE :owner;
CREATE TABLE empty (LIKE person INCLUDING ALL);
SELECT dp_protect('empty', dataset => :'schema');
SELECT dp_declare('empty', 'age', lower => 0, upper => 120);
SELECT dp_declare('empty', 'ward', keys => ARRAY['C','A','B','E'], other => 'other');
RESET ROLE;
ANALYZE person;
ANALYZE empty;
SET ROLE :analyst;
SELECT count(*) > 0 AS plans, count(*) FILTER (WHERE p IS DISTINCT FROM e) AS different FROM (
	SELECT p, replace(e, 'empty', 'person') e FROM ROWS FROM (
		plan('SELECT ward, dp_count(*), dp_sum(age) FROM person WHERE age < 50 AND id = 7 GROUP BY ward HAVING dp_count(*) > 3 ORDER BY 2', '(VERBOSE)'),
		plan('SELECT ward, dp_count(*), dp_sum(age) FROM empty WHERE age < 50 AND id = 7 GROUP BY ward HAVING dp_count(*) > 3 ORDER BY 2', '(VERBOSE)')) AS t(p, e)) t;
SELECT * FROM spent();
-- EXPLAIN ANALYZE: once, and no inner node
SELECT count(*) FILTER (WHERE p ~ 'Scan' AND p !~ 'DpRelease'), count(*) FILTER (WHERE p ~ 'Rows Removed'), count(*) FILTER (WHERE p ~ 'actual')
FROM plan('SELECT ward, dp_count(1, 0.75) FROM person WHERE age < 50 GROUP BY ward', '(ANALYZE, VERBOSE, TIMING OFF)') p;
SELECT * FROM spent();
-- BUFFERS and WAL tell nothing of the rows: the same for both tables (asked
-- twice, because the first time fills caches)
CREATE FUNCTION usage(t text) RETURNS jsonb LANGUAGE sql AS $$
	SELECT jsonb_path_query_array(plan_json('SELECT dp_count(1, 0.25) FROM ' || t, ', ANALYZE, BUFFERS, WAL, TIMING OFF'),
		'strict $[0].Plan.keyvalue() ? (@.key like_regex "Blocks|WAL|Rows").value')
$$;
SELECT usage('person') IS NOT NULL, usage('empty') IS NOT NULL;
SELECT usage('person') = usage('empty') AS same;
SELECT * FROM spent();
-- the rows of the node are the public groups
SELECT jsonb_path_query_array(plan_json('SELECT ward, dp_count(1, 0.5) FROM person WHERE age > 1000 GROUP BY ward', ', ANALYZE'), '$.**."Actual Rows".floor()');
SELECT * FROM spent();
-- the plan of what runs before is shown with ANALYZE, too, whatever its nodes
RESET ROLE;
SET ROLE :owner;
CREATE TABLE floor (id int PRIMARY KEY);
INSERT INTO floor SELECT generate_series(1, 100);
GRANT SELECT ON floor TO :analyst;
RESET ROLE;
ANALYZE floor;
SET ROLE :analyst;
SELECT ltrim(p) AS p FROM plan('SELECT dp_count(*) FROM person WHERE age < (SELECT max(id) FROM floor)', '(ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)') p WHERE p ~ 'Index Only|Heap Fetches';
SET enable_seqscan = off;
SELECT ltrim(p) AS p FROM plan('SELECT dp_count(*) FROM person p JOIN floor f ON p.age = f.id', '(ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)') p WHERE p ~ 'Index Only|Heap Fetches';
SELECT jsonb_path_query_array(plan_json('SELECT dp_count(*) FROM person WHERE age < (SELECT max(id) FROM floor)', ', ANALYZE, BUFFERS, WAL, VERBOSE'), 'strict $.** ? (exists (@."Heap Fetches"))."Heap Fetches"');
RESET enable_seqscan;
-- from 16 on a price can be asked for before parameters are known
CREATE FUNCTION priced(statement text) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	RETURN current_setting('server_version_num')::int < 160000 OR
		(SELECT bool_or(p ~ 'Charge: ') FROM plan(statement, '(GENERIC_PLAN)') p);
END $$;
SELECT priced('SELECT dp_count(*) FROM person WHERE age < $1'), priced('SELECT dp_count(*) FROM person p JOIN floor f ON p.age = f.id WHERE f.id > $1'),
	priced('SELECT dp_sum(age) FROM person WHERE age < $1');
SET dp_pg.reuse = '1 hour';
SELECT priced('SELECT dp_count(*) FROM person WHERE age < $1');
RESET dp_pg.reuse;
SELECT * FROM spent();

-- dp_last_release: the same for the last query of the session
SELECT dp_count(1, 0.5) IS NOT NULL, dp_sum(age, 0, 10, 2) IS NOT NULL FROM person;
SELECT dataset = current_setting('regress.dataset') AS dataset, mechanism, epsilon, delta, round(rho, 6) AS rho, sensitivity, scale, error_95 <> '' AS error
FROM dp_last_release();
SELECT count(DISTINCT ledger_id), max(at) <= now() + interval '1 minute',
	max(ledger_id) = (SELECT max(id) FROM dp_pg.ledger) AS last FROM dp_last_release();
-- it is not changed by EXPLAIN, refusals or other statements
EXPLAIN (COSTS OFF) SELECT dp_count(1, 0.125) FROM person \g /dev/null
SELECT dp_count(1, 0) FROM person;
SELECT 1;
SELECT epsilon FROM dp_last_release();
-- two blocks in one statement
SELECT (SELECT dp_count(1, 0.25) FROM person) IS NOT NULL, (SELECT dp_count(1, 0.125) FROM person) IS NOT NULL;
SELECT sum(epsilon), count(DISTINCT ledger_id) FROM dp_last_release();
-- what is printed for the eye: 95% error of a count at epsilon 0.1 is 30
SELECT dp_count(1, 0.1) IS NOT NULL FROM person;
SELECT sensitivity, scale, error_95 FROM dp_last_release();
RESET ROLE;
\c -
SET search_path = regress_query_explain, public;
-- a new session has released nothing
SELECT count(*) FROM dp_last_release();

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
