-- A refused statement is never planned: it leaves nothing that follows from
-- statistics of a protected relation, in whatever way it names the relation.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test attack_plan
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
CREATE TABLE whole (id int, age int) PARTITION BY RANGE (id);
CREATE TABLE part PARTITION OF whole FOR VALUES FROM (0) TO (10000);
INSERT INTO whole SELECT g, g % 100 FROM generate_series(1, 5000) g;
CREATE TABLE ancestor (id int, age int);
CREATE TABLE child () INHERITS (ancestor);
INSERT INTO child SELECT g, g % 100 FROM generate_series(1, 5000) g;
CREATE VIEW definer AS SELECT * FROM person;
CREATE VIEW deep AS SELECT * FROM definer WHERE age > 3;
CREATE VIEW invoker WITH (security_invoker) AS SELECT * FROM person;
GRANT SELECT ON invoker TO :analyst;
CREATE TABLE unprotected (id int, age int);
INSERT INTO unprotected SELECT g, g % 100 FROM generate_series(1, 5000) g;
ANALYZE person, whole, ancestor, child, unprotected;
SELECT dp_protect(r, dataset => :'schema') FROM unnest('{whole,child}'::regclass[]) r \g /dev/null
RESET ROLE;

-- how many plans a refused statement left behind after eight executions, and
-- the ends of it
CREATE FUNCTION left_of(statement text, OUT states text, OUT plans bigint) LANGUAGE plpgsql AS $$
DECLARE
	seen text[] := '{}';
BEGIN
	EXECUTE 'PREPARE tried(int) AS ' || statement;
	FOR i IN 1 .. 8 LOOP
		BEGIN
			EXECUTE 'EXECUTE tried(' || i || ')';
			seen := seen || '00000'::text;
		EXCEPTION WHEN OTHERS THEN
			seen := seen || SQLSTATE::text;
		END;
	END LOOP;
	SELECT generic_plans + custom_plans INTO plans FROM pg_prepared_statements WHERE name = 'tried';
	DEALLOCATE tried;
	SELECT string_agg(DISTINCT s, ' ') INTO states FROM unnest(seen) s;
END $$;
CREATE TABLE statement (n serial, statement text);
INSERT INTO statement (statement) VALUES
	('SELECT FROM person WHERE age < $1'),
	('SELECT FROM person, generate_series(1, $1)'),
	('SELECT FROM part WHERE age < $1'), ('SELECT FROM whole WHERE age < $1'),
	('SELECT FROM child WHERE age < $1'), ('SELECT FROM ancestor WHERE age < $1'),
	('SELECT FROM definer WHERE age < $1'), ('SELECT FROM deep WHERE age < $1'), ('SELECT FROM invoker WHERE age < $1'),
	('SELECT FROM generate_series(1, 3) g WHERE EXISTS (SELECT FROM person WHERE age < $1)'),
	('SELECT FROM generate_series(1, 3) g WHERE g IN (SELECT age FROM definer WHERE age < $1)'),
	('WITH c AS (SELECT * FROM person WHERE age < $1) SELECT FROM c'),
	('WITH c AS MATERIALIZED (SELECT * FROM person WHERE age < $1) SELECT FROM c'),
	('SELECT FROM (SELECT 1 UNION ALL SELECT id FROM person WHERE age < $1) s'),
	('SELECT FROM generate_series(1, 3), LATERAL (SELECT FROM person WHERE age < $1 LIMIT 1) s'),
	('SELECT (SELECT count(*) FROM person WHERE age < $1)'),
	('SELECT FROM person WHERE false AND age < $1'),
	('UPDATE person SET age = 0 WHERE age < $1'), ('DELETE FROM person WHERE age < $1'),
	('INSERT INTO person SELECT $1, 1 FROM generate_series(1, 3)'),
	('MERGE INTO person p USING generate_series(1, $1) g ON p.id = g WHEN MATCHED THEN DELETE'),
	('SELECT FROM person WHERE age < $1 FOR UPDATE'),
	('SELECT FROM person TABLESAMPLE SYSTEM (1) WHERE age < $1');
GRANT SELECT ON statement TO :analyst;
SET ROLE :analyst;
SELECT states, plans, count(*), min(statement) FROM statement, left_of(statement) GROUP BY 1, 2;
-- nor of EXPLAIN, cursors, functions and what they inline
EXPLAIN SELECT FROM person WHERE age < 3;
DECLARE c CURSOR WITH HOLD FOR SELECT FROM definer;
COPY (SELECT FROM person) TO STDOUT;
CREATE FUNCTION reads(int) RETURNS bigint LANGUAGE sql STABLE AS 'SELECT count(*) FROM regress_attack_plan.person WHERE age < $1';
CREATE FUNCTION rows(int) RETURNS SETOF int LANGUAGE sql STABLE AS 'SELECT id FROM regress_attack_plan.person WHERE age < $1';
SELECT left_of('SELECT reads($1)'), left_of('SELECT FROM rows($1)');
-- functions that our own inlining leaves to the planner's
CREATE FUNCTION of_part(int) RETURNS SETOF int LANGUAGE sql STABLE AS 'SELECT id FROM regress_attack_plan.part WHERE age < $1';
CREATE FUNCTION of_ancestor(int) RETURNS SETOF int LANGUAGE sql STABLE AS 'SELECT id FROM regress_attack_plan.ancestor WHERE age < $1';
CREATE FUNCTION in_exists(int) RETURNS SETOF int LANGUAGE sql STABLE AS 'SELECT 1 WHERE EXISTS (SELECT FROM regress_attack_plan.rows($1))';
CREATE FUNCTION in_cte(int) RETURNS SETOF int LANGUAGE sql STABLE AS 'WITH c AS MATERIALIZED (SELECT * FROM regress_attack_plan.rows($1)) SELECT 1 FROM c';
CREATE FUNCTION with_default(int, x int DEFAULT 0) RETURNS SETOF int LANGUAGE sql STABLE AS 'SELECT id FROM regress_attack_plan.person WHERE age < $1 + x';
CREATE FUNCTION of_view(int) RETURNS SETOF int LANGUAGE sql STABLE AS 'SELECT id FROM regress_attack_plan.deep WHERE age < $1';
SELECT s, (left_of(s)).* FROM unnest(ARRAY['SELECT FROM of_part($1)', 'SELECT FROM of_ancestor($1)', 'SELECT FROM in_exists($1)', 'SELECT FROM in_cte($1)',
	'SELECT FROM with_default($1)', 'SELECT FROM of_view($1)',
	'SELECT FROM rows(CASE WHEN $1 > 0 THEN $1 ELSE random()::int END)', 'SELECT FROM generate_series(1, 2), of_part($1)']) s;
-- functions within functions
DO $$ BEGIN
	EXECUTE $f$CREATE FUNCTION nested_0(int) RETURNS SETOF int LANGUAGE sql STABLE AS 'SELECT id FROM regress_attack_plan.person WHERE age < $1'$f$;
	FOR i IN 1 .. 110 LOOP
		EXECUTE format($f$CREATE FUNCTION nested_%s(int) RETURNS SETOF int LANGUAGE sql STABLE AS 'SELECT * FROM regress_attack_plan.nested_%s($1)'$f$, i, i - 1);
	END LOOP;
END $$;
SELECT left_of('SELECT FROM nested_30($1)'), left_of('SELECT FROM nested_110($1)');
-- a relation that nobody protected is planned as ever, and refused when run
SELECT * FROM left_of('SELECT FROM unprotected WHERE age < $1');
-- a comparison's distance from 0 depends on who compiled it
EXPLAIN SELECT dp_count(*) FROM person WHERE btint4cmp(age, 3) < -1;
SELECT dp_count(*) FROM person WHERE greatest(age, 3) > 5;
RESET ROLE;
-- while it folds constants the planner calls a function that makes another one
-- anew, which it puts into FROM then: no plan of it is printed, none is left
SET ROLE :analyst;
CREATE FUNCTION swapped(int) RETURNS SETOF int LANGUAGE plpgsql STABLE AS 'BEGIN RETURN; END';
CREATE FUNCTION swap() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'CREATE OR REPLACE FUNCTION swapped(int) RETURNS SETOF int LANGUAGE sql STABLE AS ''SELECT id FROM person WHERE age < $1''';
END $$;
CREATE FUNCTION swapping() RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	PERFORM swap();
	RETURN 1;
END $$;
CREATE TABLE closed (id int);
REVOKE SELECT ON closed FROM :analyst;
BEGIN;
SELECT swapping(); -- has plans of its own
ROLLBACK;
SET client_min_messages = log;
SET debug_print_plan = on;
SELECT x FROM generate_series(1, swapping()), swapped(5) x;
SELECT x FROM generate_series(1, swapping()), closed, swapped(5) x;
SELECT (SELECT count(*) FROM generate_series(1, swapping()), swapped(5));
RESET debug_print_plan;
RESET client_min_messages;
SELECT * FROM left_of('SELECT FROM generate_series(1, swapping()), swapped($1)');
SELECT * FROM left_of('SELECT FROM generate_series(1, swapping()), closed, swapped($1)');
SELECT lanname FROM pg_language JOIN pg_proc ON prolang = pg_language.oid WHERE proname = 'swapped'; -- as it was
RESET ROLE;
-- who may read is not in the way: the owner, and whom a view is granted
SET ROLE :owner;
SELECT * FROM left_of('SELECT FROM person WHERE age < $1');
GRANT SELECT ON deep TO :analyst;
SET ROLE :analyst;
SELECT * FROM left_of('SELECT FROM deep WHERE age < $1');
SELECT * FROM left_of('SELECT FROM deep, unprotected WHERE deep.age < $1');
RESET ROLE;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
