-- Behaviours, one line each: what an analyst may expect, in words.
\set QUIET on
\pset format unaligned
\pset tuples_only on
\pset pager off
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS dp_pg;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE ROLE regress_behaviour_owner;
CREATE ROLE regress_behaviour_analyst;
CREATE ROLE regress_behaviour_stranger;
CREATE SCHEMA regress_behaviour AUTHORIZATION regress_behaviour_owner;
GRANT USAGE, CREATE ON SCHEMA regress_behaviour TO PUBLIC;
SET search_path = regress_behaviour, public;
SET ROLE regress_behaviour_owner;
CREATE TABLE person (id int PRIMARY KEY, ward text NOT NULL, age int);
INSERT INTO person SELECT i, chr(65 + i % 3), i % 100 FROM generate_series(1, 300) i;
SELECT dp_protect('person', unit => 'id', dataset => 'regress_behaviour') \g /dev/null
SELECT dp_declare('person', 'ward', keys => ARRAY['B', 'A', 'Z']) \g /dev/null
SELECT dp_declare('person', 'age', lower => 0, upper => 100) \g /dev/null
SELECT dp_grant('regress_behaviour_analyst', 'regress_behaviour', epsilon => 1000) \g /dev/null
RESET ROLE;
CREATE FUNCTION charged() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS $$ SELECT count(*) FROM dp_pg.ledger WHERE dataset = 'regress_behaviour' $$;
-- a statement that must fail without cost
CREATE FUNCTION free(statement text, state char(5), description text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	before bigint := charged();
BEGIN
	RETURN NEXT throws_ok(statement, state, NULL, description);
	RETURN NEXT is(charged(), before, description || ', and is not charged');
END $$;
SET ROLE regress_behaviour_analyst;
SELECT * FROM no_plan();

-- noise at epsilon 10 has scale 0.1: off by 5 with probability exp(-50)
SELECT ok((SELECT dp_count(1, 10) FROM person) BETWEEN 295 AND 305, 'a count is near the truth');
SELECT ok((SELECT dp_sum(age, 0, 1, 10) FROM person) BETWEEN 292 AND 302, 'a sum of clamped values is near the truth');
SELECT ok((SELECT dp_avg(age, 10) FROM person) BETWEEN 40 AND 60, 'a mean is near the truth');
SELECT results_eq('SELECT ward FROM person GROUP BY ward HAVING dp_count(1) IS NOT NULL', ARRAY['B', 'A', 'Z'], 'declared keys in declared order');
SELECT is_empty('SELECT dp_count(*) FROM person HAVING dp_count(*) > 1e9', 'HAVING filters released values');
SELECT isnt_empty('SELECT dp_count(*) FROM person WHERE age > 1000', 'an empty set is answered');
SELECT lives_ok('PREPARE ask(numeric) AS SELECT dp_count(1, $1) FROM person', 'a price can be a parameter');
SELECT lives_ok('EXECUTE ask(0.25)', 'and is charged when executed');
SELECT is((SELECT epsilon FROM dp_pg.ledger ORDER BY id DESC LIMIT 1), 0.25, 'at what it says');
SELECT is((SELECT count(*) FROM dp_last_release()), 1::bigint, 'dp_last_release shows one value');

SELECT free('SELECT * FROM person', '42501', 'a raw row is denied');
SELECT free('SELECT * FROM dp_suggest_bounds(''person'')', '42501', 'exact shares are the owner''s');
SELECT free('SELECT dp_declare(''person'', max_rows => 5)', '42501', 'as is what counts by default');
SELECT lives_ok('SET dp_pg.max_rows = 5', 'for his own queries an analyst says so himself');
SELECT lives_ok('RESET dp_pg.max_rows', 'or takes it back');
SELECT free('SELECT count(*) FROM person', '42501', 'an exact count is denied');
SELECT free('SELECT dp_count(1, 0) FROM person', '22023', 'epsilon 0 is refused');
SELECT free('SELECT dp_count(1, age) FROM person', '22023', 'an epsilon that depends on rows is refused');
SELECT free('SELECT dp_sum(id) FROM person', '22023', 'a sum without bounds is refused');
SELECT free('SELECT dp_count(0.5) FROM person', '22023', 'a price in the place of the expression is refused');
SELECT free('SELECT id / 2, dp_count(*) FROM person GROUP BY 1', '0A000', 'a key nobody declared is refused');
SELECT free('SELECT dp_count(*) FROM person p JOIN person q USING (age)', '0A000', 'a join of rows of different people is refused');
SELECT free('SELECT dp_count(*) FROM person GROUP BY ROLLUP (ward)', '0A000', 'ROLLUP is refused');
SELECT free('SELECT dp_count(*) FROM pg_class', '0A000', 'public rows need no private aggregate');
SELECT free('SELECT dp_count(1, 11) FROM person', '22023', 'an epsilon above the ceiling is refused');
SELECT free('SELECT dp_pg.release(1, 1)', '42501', 'the marker cannot be called');
SELECT free('SELECT * FROM dp_pg.release(1, 1) AS t(a int)', '42501', 'nor used in FROM');
SELECT free('SELECT dp_count(*) FROM person WHERE random() < 0.5', '0A000', 'volatile functions see no private rows');
SELECT free('SELECT dp_count(*) FROM person WHERE age IN (SELECT age FROM person)', '0A000', 'a private subquery in WHERE that is not about one person is refused');
SELECT free('SELECT dp_protect(''person'')', '42501', 'an analyst protects nothing');
SELECT free('SELECT dp_grant(''regress_behaviour_analyst'', ''regress_behaviour'', 1e6)', '42501', 'an analyst grants nothing');
SELECT free('DELETE FROM dp_pg.ledger', '42501', 'an analyst deletes no charge');
-- one function of the analyst's own, tried everywhere
CREATE FUNCTION spy(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE COST 1e-9 AS $$ BEGIN RAISE NOTICE 'saw %', $1; RETURN true; END $$;
SELECT free('SELECT dp_count(*) FROM person WHERE spy(age)', '0A000', 'own code in WHERE');
SELECT free('SELECT dp_count(*) FILTER (WHERE spy(age)) FROM person', '0A000', 'own code in FILTER');
SELECT free('SELECT dp_sum(spy(age)::int, 0, 1) FROM person', '0A000', 'own code in an argument');
SELECT free('SELECT spy(age), dp_count(*) FROM person GROUP BY 1', '0A000', 'own code in a key');
SELECT lives_ok('SELECT spy(dp_count(*)::int) FROM person', 'own code on released values is free to run');

RESET ROLE;
SET ROLE regress_behaviour_stranger;
SELECT free('SELECT dp_count(*) FROM person', '42501', 'a role without a budget is denied');
SELECT is_empty('SELECT * FROM dp_pg.ledger WHERE dataset = ''regress_behaviour''', 'and sees no charge of another');
SELECT is_empty('SELECT * FROM dp_pg.budgets WHERE dataset = ''regress_behaviour''', 'nor a budget');
RESET ROLE;
SET ROLE regress_behaviour_owner;
SELECT lives_ok('SELECT * FROM person LIMIT 1', 'the owner reads his rows');
SELECT lives_ok('SELECT dp_count(*) FROM person', 'and asks without a budget');
SELECT is((SELECT payer FROM dp_pg.ledger WHERE dataset = 'regress_behaviour' ORDER BY id DESC LIMIT 1), NULL, 'which is recorded, and charged to nobody');
SELECT throws_ok('DELETE FROM dp_pg.ledger', '42501', NULL, 'the owner deletes no charge either');
SELECT * FROM finish();
RESET ROLE;
SET client_min_messages = error;
DROP SCHEMA regress_behaviour CASCADE;
DROP OWNED BY regress_behaviour_owner, regress_behaviour_analyst CASCADE;
DROP ROLE regress_behaviour_owner, regress_behaviour_analyst, regress_behaviour_stranger;
