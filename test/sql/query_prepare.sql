-- PREPARE and EXECUTE: custom and generic plans, prices and bounds as
-- parameters, replanning, and the checks at every execution.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_prepare
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :analyst;
SELECT * FROM spent() \g /dev/null
-- six executions: the sixth would be generic
PREPARE plain(int) AS SELECT dp_count(*) FROM person WHERE age < $1;
EXECUTE plain(10);
EXECUTE plain(20);
EXECUTE plain(30);
EXECUTE plain(40);
EXECUTE plain(50);
EXECUTE plain(60);
EXECUTE plain(NULL);
SELECT * FROM spent();
-- in both plan modes: epsilon, bounds and values as parameters
CREATE FUNCTION modes() RETURNS SETOF text LANGUAGE sql AS $$ VALUES ('force_custom_plan'), ('force_generic_plan') $$;
PREPARE price(numeric) AS SELECT dp_count(1, $1) FROM person;
PREPARE price8(float8) AS SELECT dp_count(1, $1) FROM person;
PREPARE half(numeric) AS SELECT dp_count(1, $1 / 2), dp_sum(age, $1 / 2) FROM person;
PREPARE bounds(numeric, numeric) AS SELECT dp_sum(age, $1, $2), round(dp_avg(age, $1, $2), 2) FROM person;
PREPARE bounds8(float8, float8, float8) AS SELECT dp_sum(age, $1, $2, $3) FROM person;
PREPARE unknown AS SELECT dp_sum(age, $1, $2, $3), dp_count(1, $4) FROM person WHERE ward = $5 GROUP BY sex ORDER BY 1 LIMIT $6;
PREPARE keys(text, int) AS SELECT ward, dp_count(*) FROM person WHERE ward <> $1 GROUP BY ward HAVING dp_count(*) >= $2;
SELECT count(*) FROM pg_prepared_statements;
SET plan_cache_mode = force_custom_plan;
EXECUTE price(40000);
EXECUTE price8(40000);
EXECUTE half(80000);
SELECT * FROM spent();
EXECUTE bounds(0, 50);
EXECUTE bounds8(0, 50, 50000);
EXECUTE unknown(0, 50, 50000, 50000, 'A', 1);
EXECUTE keys('A', 1);
SELECT * FROM spent();
SET plan_cache_mode = force_generic_plan;
EXECUTE price(40000);
EXECUTE price8(40000);
EXECUTE half(80000);
SELECT * FROM spent();
EXECUTE bounds(0, 50);
EXECUTE bounds8(0, 50, 50000);
EXECUTE unknown(0, 50, 50000, 50000, 'A', 1);
EXECUTE keys('A', 1);
SELECT * FROM spent();
RESET plan_cache_mode;
-- 0.1 as double precision is 0.1, not 0.1000000000000000055
EXECUTE price8(0.1) \g /dev/null
SELECT * FROM spent();
EXECUTE price8(1e-3) \g /dev/null
EXECUTE price(0.30) \g /dev/null
SELECT * FROM spent();
-- bad parameters: own SQLSTATE, hint, no charge; in both modes
CREATE FUNCTION bad() RETURNS TABLE (mode text, statement text, state text, hinted boolean, charges bigint) LANGUAGE plpgsql AS $$
BEGIN
	FOR mode IN SELECT * FROM modes() LOOP
		PERFORM set_config('plan_cache_mode', mode, true);
		FOREACH statement IN ARRAY ARRAY['price(NULL)', 'price(0)', 'price(-1)', 'price(''NaN'')',
			'price(''Infinity'')', 'price(1e-30)', 'price(1e30)', 'price8(NULL)', 'price8(''NaN'')',
			'price8(''-Infinity'')', 'price8(-0.0)', 'price8(1e-300)', 'price8(1e300)', 'half(0)',
			'bounds(1, 0)', 'bounds(0, 0)', 'bounds(NULL, 1)', 'bounds(0, NULL)', 'bounds(0, ''Infinity'')',
			'bounds(''NaN'', 1)', 'bounds8(''-Infinity'', 1, 1)', 'bounds8(0, ''NaN'', 1)', 'bounds8(5, 4, 1)',
			'bounds8(0, 1, 0)', 'price(''x'')', 'price()'] LOOP
			SELECT o.* INTO state, hinted, charges FROM outcome('EXECUTE ' || statement) o;
			RETURN NEXT;
		END LOOP;
	END LOOP;
END $$;
SELECT statement, array_agg(DISTINCT state) state, array_agg(DISTINCT hinted) hinted, sum(charges) charges, count(*)
FROM bad() GROUP BY statement ORDER BY statement COLLATE "C";

-- replanning after DDL, revoke and SET ROLE
PREPARE again AS SELECT dp_count(*), dp_sum(age) FROM person;
SET plan_cache_mode = force_generic_plan;
EXECUTE again;
RESET ROLE;
SET ROLE :owner;
ALTER TABLE person ADD COLUMN extra int;
ALTER TABLE person RENAME COLUMN age TO years;
ALTER TABLE person RENAME COLUMN years TO age;
SET ROLE :analyst;
EXECUTE again;
RESET ROLE;
SET ROLE :owner;
SELECT dp_declare('person', 'age', lower => 0, upper => 10);
SET ROLE :analyst;
EXECUTE again;
RESET ROLE;
SET ROLE :owner;
SELECT dp_revoke(:'analyst', :'schema');
SET ROLE :analyst;
SELECT * FROM outcome('EXECUTE again');
RESET ROLE;
SET ROLE :owner;
SELECT dp_grant(:'analyst', dataset => :'schema', epsilon => 1e11, delta => 1e-6);
SET ROLE :analyst;
EXECUTE again;
RESET ROLE;
SET ROLE :owner;
SELECT dp_unprotect('person');
SET ROLE :analyst;
SELECT * FROM outcome('EXECUTE again');
RESET ROLE;
SET ROLE :owner;
SELECT dp_protect('person', dataset => :'schema');
SELECT dp_declare('person', 'age', lower => 0, upper => 120);
SET ROLE :analyst;
EXECUTE again;
SELECT * FROM spent();
-- the owner asks with the analyst's prepared statement: the owner is charged
RESET ROLE;
SET ROLE :owner;
EXECUTE again;
SELECT role = :'owner' AS owner, payer FROM dp_pg.ledger WHERE dataset = :'schema' ORDER BY id DESC LIMIT 1;
-- a role without a budget
RESET ROLE;
CREATE ROLE regress_query_prepare_poor;
GRANT USAGE ON SCHEMA :schema TO regress_query_prepare_poor;
SET ROLE regress_query_prepare_poor;
SELECT * FROM outcome('EXECUTE again');
SELECT * FROM outcome('SELECT dp_count(*) FROM person');
RESET ROLE;
REVOKE USAGE ON SCHEMA :schema FROM regress_query_prepare_poor;
DROP ROLE regress_query_prepare_poor;
RESET plan_cache_mode;
-- the table goes
SET ROLE :owner;
DROP TABLE person;
SET ROLE :analyst;
SELECT * FROM outcome('EXECUTE again');
DEALLOCATE ALL;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
