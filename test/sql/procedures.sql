-- The data owner's building blocks: who may call them, who pays, what they
-- return.  At epsilon 100000 noise is negligible: an integer moves with
-- probability 2 exp(-100000), a number by 0.01 with less than exp(-900).
\getenv abs_srcdir PG_ABS_SRCDIR
\set test procedures
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
GRANT EXECUTE ON FUNCTION dp_laplace(anyelement, numeric, numeric, name, numeric),
	dp_laplace(anyelement, float8, float8, name, float8),
	dp_gaussian(anyelement, numeric, numeric, numeric, name, text, numeric),
	dp_gaussian(anyelement, float8, float8, float8, name, text, float8),
	dp_exponential(anyarray, anycompatiblearray, numeric, numeric, name, boolean),
	dp_exponential(anyarray, anycompatiblearray, float8, float8, name, boolean),
	dp_noisy_max(anyarray, anycompatiblearray, numeric, numeric, name, text, boolean),
	dp_noisy_max(anyarray, anycompatiblearray, float8, float8, name, text, boolean)
TO :owner;
-- the last charges, newest last
CREATE FUNCTION last_charges(n int) RETURNS TABLE (role name, payer name, mechanism text, epsilon numeric, delta numeric, releases int)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS $$
	SELECT role, payer, mechanism, epsilon, delta, releases FROM
		(SELECT * FROM dp_pg.ledger WHERE dataset = current_setting('regress.dataset') ORDER BY id DESC LIMIT n) l ORDER BY id $$;

-- nobody but those with a grant
SET ROLE :analyst;
SELECT * FROM outcome($$SELECT dp_laplace(1, 1, 1, 'regress_procedures')$$);
SELECT * FROM outcome($$SELECT dp_laplace(1, 1.0, 1.0, 'regress_procedures')$$);
SELECT * FROM outcome($$SELECT dp_gaussian(1, 1, 1, 1e-6, 'regress_procedures')$$);
SELECT * FROM outcome($$SELECT dp_exponential(ARRAY[1], ARRAY[1], 1, 1, 'regress_procedures')$$);
SELECT * FROM outcome($$SELECT dp_noisy_max(ARRAY[1], ARRAY[1], 1, 1, 'regress_procedures')$$);
RESET ROLE;

-- the example of the documentation
SET ROLE :owner;
CREATE PROCEDURE total_income(ward text, epsilon numeric, INOUT total numeric DEFAULT NULL)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = regress_procedures, public, pg_temp AS $$
DECLARE
	exact numeric;
BEGIN
	SELECT sum(least(greatest(p.income, 0), 100)) INTO exact
	FROM person p WHERE p.ward = total_income.ward;
	total := dp_laplace(exact, 100, epsilon, 'regress_procedures');
END $$;
REVOKE EXECUTE ON PROCEDURE total_income FROM PUBLIC;
GRANT EXECUTE ON PROCEDURE total_income TO :analyst;
CREATE FUNCTION people(epsilon numeric) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = regress_procedures, public, pg_temp
RETURN dp_laplace((SELECT count(*) FROM person), 1, epsilon, 'regress_procedures');
-- the same without SECURITY DEFINER, which a query may inline
CREATE FUNCTION people_invoker(epsilon numeric) RETURNS bigint
LANGUAGE sql AS $$ SELECT dp_laplace(1::bigint, 1, epsilon, 'regress_procedures') $$;
RESET ROLE;
SELECT spent() \g /dev/null
SET ROLE :analyst;
CALL total_income('A', 100000) \gset
SELECT abs(:total - 6125) < 1 AS near;
SELECT * FROM last_charges(1);
SELECT people(100000);
SELECT * FROM outcome('SELECT people_invoker(100000)');
SELECT * FROM outcome($$SELECT people(100000) FROM generate_series(1, 3)$$);
SELECT * FROM outcome($$SELECT * FROM people(100000), generate_series(1, 3)$$);
SELECT * FROM outcome($$CALL total_income('nowhere', 100000)$$);
-- a ward of nobody is answered like any other
CALL total_income('nowhere', 100000) \gset
SELECT abs(:total) < 1 AS near;
RESET ROLE;

-- nothing refunds
SET ROLE :analyst;
SELECT spent() \g /dev/null
BEGIN;
SELECT people(100000);
SAVEPOINT s;
SELECT people(100000);
ROLLBACK TO s;
DO $$ BEGIN PERFORM people(100000); RAISE division_by_zero; EXCEPTION WHEN division_by_zero THEN NULL; END $$;
ROLLBACK;
SELECT * FROM spent();
-- read only is no obstacle; serializable is refused, before the charge
BEGIN READ ONLY;
SELECT people(100000);
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT people(100000);
COMMIT;
SELECT * FROM spent();
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT people(100000);
ROLLBACK;
-- a cursor pays for the rows that are fetched
BEGIN;
DECLARE c CURSOR FOR SELECT people(100000) FROM generate_series(1, 5);
FETCH 2 FROM c;
COMMIT;
SELECT * FROM spent();
-- a private query cannot call a block on its rows
SELECT * FROM outcome($$SELECT dp_count(dp_laplace(age, 1, 1, 'regress_procedures')) FROM person$$);
-- where code runs that nobody chose to run
SELECT * FROM outcome('CREATE MATERIALIZED VIEW m AS SELECT people(1)');
-- never in a parallel worker
SET :forced_parallel = on;
SELECT * FROM outcome('SELECT people(100000) FROM generate_series(1, 2)');
-- nor when a function is labelled wrongly
RESET ROLE;
ALTER FUNCTION people PARALLEL SAFE;
SET ROLE :analyst;
SELECT spent() \g /dev/null
SELECT people(100000);
SELECT * FROM spent();
RESET :forced_parallel;
RESET ROLE;
ALTER FUNCTION people PARALLEL UNSAFE;

-- the budget of the asker is what counts
SELECT dp_grant(:'analyst', :'schema', 3) FROM (SELECT dp_revoke(:'analyst', :'schema')) r;
SET ROLE :analyst;
SELECT * FROM outcome('SELECT people(1)');
SELECT * FROM outcome($$CALL total_income('A', 1)$$);
RESET ROLE;
CREATE ROLE regress_procedures_poor;
CREATE ROLE regress_procedures_none;
GRANT USAGE ON SCHEMA :schema TO regress_procedures_poor, regress_procedures_none;
SELECT dp_grant('regress_procedures_poor', :'schema', 1);
SET ROLE regress_procedures_poor;
SELECT * FROM outcome('SELECT people(0.6)');
SELECT * FROM outcome('SELECT people(0.6)');
SELECT * FROM outcome('SELECT people(0.4)');
SELECT * FROM outcome('SELECT people(0.001)');
SET ROLE regress_procedures_none;
SELECT * FROM outcome('SELECT people(0.1)');
RESET ROLE;
SELECT dp_grant(:'analyst', :'schema', 1e11, 1e-6);
-- the owner himself is exempt, and recorded
SET ROLE :owner;
SELECT people(100000);
SELECT role, payer, mechanism FROM last_charges(1);
RESET ROLE;

-- Gaussian noise: rho alone where the filters of payer and cap count it
SET ROLE :owner;
CREATE FUNCTION gaussian(method text DEFAULT NULL) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = regress_procedures, public, pg_temp
RETURN dp_gaussian((SELECT count(*) FROM person), 1, 0.5, 1e-9, 'regress_procedures', method);
CREATE FUNCTION gaussians() RETURNS bigint[]
LANGUAGE sql SECURITY DEFINER SET search_path = regress_procedures, public, pg_temp
RETURN dp_gaussian((SELECT ARRAY[count(*), count(income)] FROM person), sqrt(2::numeric), 0.5, 1e-9, 'regress_procedures');
RESET ROLE;
CREATE VIEW charged AS SELECT mechanism, epsilon, delta, round(rho, 6) AS rho, releases FROM dp_pg.ledger WHERE dataset = 'regress_procedures' ORDER BY id DESC LIMIT 1;
-- payer basic, no cap
SELECT dp_grant(:'analyst', :'schema', 1e9, 1e-3, 'basic') \g /dev/null
SET ROLE :analyst;
SELECT gaussian() IS NOT NULL AS answered;
RESET ROLE;
SELECT * FROM charged;
-- payer basic, cap best
SELECT dp_grant(:'analyst', :'schema', 1e9, 1e-3, 'basic'), dp_limit(:'schema', 1e9, 0.5, 'best') \g /dev/null
SET ROLE :analyst;
SELECT gaussian() IS NOT NULL AS answered;
RESET ROLE;
SELECT * FROM charged;
-- payer best, cap basic
SELECT dp_grant(:'analyst', :'schema', 1e9, 1e-3, 'best'), dp_limit(:'schema', 1e9, 0.5, 'basic') \g /dev/null
SET ROLE :analyst;
SELECT gaussian('zcdp') IS NOT NULL AS answered;
RESET ROLE;
SELECT * FROM charged;
-- payer basic, cap basic
SELECT dp_grant(:'analyst', :'schema', 1e9, 1e-3, 'basic'), dp_limit(:'schema', 1e9, 0.5, 'basic') \g /dev/null
SET ROLE :analyst;
SELECT gaussians() IS NOT NULL AS answered;
RESET ROLE;
SELECT * FROM charged;
-- payer zcdp, cap zcdp
SELECT dp_grant(:'analyst', :'schema', 1e9, 1e-3, 'zcdp'), dp_limit(:'schema', 1e9, 0.5, 'zcdp') \g /dev/null
SET ROLE :analyst;
SELECT gaussian() IS NOT NULL AS answered;
RESET ROLE;
SELECT * FROM charged;
-- payer best, cap best
SELECT dp_grant(:'analyst', :'schema', 1e9, 1e-3, 'best'), dp_limit(:'schema', 1e9, 0.5, 'best') \g /dev/null
SET ROLE :analyst;
SELECT gaussian('classical') IS NOT NULL AS answered;
RESET ROLE;
SELECT * FROM charged;
-- payer best, cap zcdp
SELECT dp_grant(:'analyst', :'schema', 1e9, 1e-3, 'best'), dp_limit(:'schema', 1e9, 0.5, 'zcdp') \g /dev/null
SET ROLE :analyst;
SELECT gaussians() IS NOT NULL AS answered;
RESET ROLE;
SELECT * FROM charged;
-- a cap that sums epsilon has seen its last
SELECT dp_limit(:'schema', 1e9, 0.5, 'basic') \g /dev/null
SET ROLE :analyst;
SELECT gaussian();
RESET ROLE;
SELECT spent_epsilon FROM dp_pg.dataset WHERE name = :'schema';
SELECT dp_grant(:'analyst', :'schema', 1e11, 1e-6, 'best'), dp_limit(:'schema', 1e11, 0.5) \g /dev/null

-- the owner's floor and ceiling hold
SET ROLE :owner;
SELECT dp_limit(:'schema', 1e11, 0.5, epsilon_floor => 0.01, epsilon_ceiling => 200000);
SET ROLE :analyst;
SELECT * FROM outcome('SELECT people(0.001)');
SELECT * FROM outcome('SELECT people(300000)');
SELECT * FROM outcome('SELECT people(100000)');
RESET ROLE;
SELECT dp_limit(:'schema', 1e11, 0.5);

-- parameters: refused before anything is charged, and never with the value
SET ROLE :owner;
CREATE FUNCTION refused(arguments text, OUT state text, OUT hinted bool, OUT charges bigint, OUT told bool, OUT what text) LANGUAGE plpgsql AS $$
DECLARE
	m text;
	d text;
	h text;
BEGIN
	what := arguments;
	SELECT o.state, o.hinted, o.charges INTO state, hinted, charges FROM outcome('SELECT ' || arguments) o;
	BEGIN
		EXECUTE 'SELECT ' || arguments;
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS m = MESSAGE_TEXT, d = PG_EXCEPTION_DETAIL, h = PG_EXCEPTION_HINT;
		told := concat(m, d, h) ~ '4711';
	END;
END $$;
SELECT r.* FROM unnest(ARRAY[
	'dp_laplace(4711, 0, 1, ''regress_procedures'')',
	'dp_laplace(4711, -1, 1, ''regress_procedures'')',
	'dp_laplace(4711, NULL::numeric, 1.0, ''regress_procedures'')',
	'dp_laplace(4711, ''NaN''::numeric, 1.0, ''regress_procedures'')',
	'dp_laplace(4711, ''Infinity''::float8, 1.0, ''regress_procedures'')',
	'dp_laplace(4711, 1e-300, 1.0, ''regress_procedures'')',
	'dp_laplace(4711, 1e300, 1.0, ''regress_procedures'')',
	'dp_laplace(4711, 1e38, 1.0, ''regress_procedures'')',
	'dp_laplace(4711, 1e30, 0.01, ''regress_procedures'')',
	'dp_laplace(4711, 1, 0, ''regress_procedures'')',
	'dp_laplace(4711, 1, -1, ''regress_procedures'')',
	'dp_laplace(4711, 1, NULL::numeric, ''regress_procedures'')',
	'dp_laplace(4711, 1, ''NaN''::float8, ''regress_procedures'')',
	'dp_laplace(4711, 1, 0.0000000000000000000000001, ''regress_procedures'')',
	'dp_laplace(4711, 1, 1, NULL)',
	'dp_laplace(4711, 1, 1, ''regress_procedures_missing'')',
	'dp_laplace(''4711''::text, 1, 1, ''regress_procedures'')',
	'dp_laplace(ARRAY[''4711'']::text[], 1, 1, ''regress_procedures'')',
	'dp_laplace(NULL::int[], 1, 1, ''regress_procedures'')',
	'dp_laplace(''{}''::int[], 1, 1, ''regress_procedures'')',
	'dp_laplace(4711, 1, 1, ''regress_procedures'', granule => 0.5)',
	'dp_laplace(4711.5, 1, 1, ''regress_procedures'', granule => 0.3)',
	'dp_laplace(4711.5, 1, 1, ''regress_procedures'', granule => 0)',
	'dp_gaussian(4711, 1, 1, 0, ''regress_procedures'')',
	'dp_gaussian(4711, 1, 1, 1, ''regress_procedures'')',
	'dp_gaussian(4711, 1, 1, -0.1, ''regress_procedures'')',
	'dp_gaussian(4711, 1, 1, NULL::numeric, ''regress_procedures'')',
	'dp_gaussian(4711, 1, 1, 1e-30, ''regress_procedures'')',
	'dp_gaussian(4711, 1, 1.1, 1e-6, ''regress_procedures'', ''classical'')',
	'dp_gaussian(4711, 1, 1, 1e-6, ''regress_procedures'', ''best'')',
	'dp_gaussian(ARRAY[4711, 1], 1, 1, 1e-6, ''regress_procedures'', ''exact'')',
	'dp_gaussian(4711, 1e30, 1, 1e-6, ''regress_procedures'')',
	'dp_exponential(ARRAY[''a''], ARRAY[4711, 1], 1, 1, ''regress_procedures'')',
	'dp_exponential(NULL::text[], ARRAY[4711, 1], 1, 1, ''regress_procedures'')',
	'dp_exponential(ARRAY[''a''], NULL::int[], 1, 1, ''regress_procedures'')',
	'dp_exponential(''{}''::text[], ''{}''::int[], 1, 1, ''regress_procedures'')',
	'dp_exponential(ARRAY[''a''], ARRAY[''4711''], 1, 1, ''regress_procedures'')',
	'dp_exponential(ARRAY[''a''], ARRAY[4711], 1, 1, ''regress_procedures'', NULL)',
	'dp_noisy_max(ARRAY[''a''], ARRAY[4711], 1, 1, ''regress_procedures'', ''gauss'')',
	'dp_noisy_max(ARRAY[''a''], ARRAY[4711], 1, 1, ''regress_procedures'', NULL)',
	'dp_noisy_max(ARRAY[''a''], ARRAY[4711], 0, 1, ''regress_procedures'')'
	]) a, refused(a) r;

-- no value is refused: what is charged is answered
SELECT o.*, v FROM unnest(ARRAY['NULL', '''NaN''', '''Infinity''', '''-Infinity''', '1e308', '-1e308', '1e-308', '0']) v,
	outcome(format('SELECT dp_laplace(%s::float8, 1, 100000, ''regress_procedures'')', v)) o;
SELECT o.*, v FROM unnest(ARRAY['NULL', '''NaN''', '''Infinity''', '''-Infinity''', '1e131000', '-1e131000', '1e-16383']) v,
	outcome(format('SELECT dp_laplace(%s::numeric, 1, 100000, ''regress_procedures'')', v)) o;
SELECT o.*, v FROM unnest(ARRAY['NULL', '''NaN''', '''Infinity''', '1e131000']) v,
	outcome(format('SELECT dp_gaussian(%s::numeric, 1, 100000, 1e-6, ''regress_procedures''), dp_noisy_max(ARRAY[1, 2], ARRAY[%1$s, 1]::numeric[], 1, 100000, ''regress_procedures'')', v)) o;
SELECT dp_laplace(v::int2, 1, 100000, 'regress_procedures'), dp_laplace(v::int4, 1, 100000, 'regress_procedures'), dp_laplace(v::int8, 1, 100000, 'regress_procedures')
FROM (VALUES (NULL), (-32768), (32767)) a(v);
SELECT count(*) FILTER (WHERE dp_laplace(32767::int2, 1, 0.001, 'regress_procedures') = 32767) BETWEEN 20 AND 80 AS saturated FROM generate_series(1, 100);

-- types, shapes, grids
SELECT dp_laplace('[3:4][1:2]={{1,2},{3,4}}'::bigint[], 1, 100000, 'regress_procedures');
SELECT dp_gaussian('[3:4][1:2]={{1,2},{3,NULL}}'::bigint[], sqrt(2), 100000, 1e-6, 'regress_procedures');
SELECT pg_typeof(dp_laplace(v.i, 1, 1, 'regress_procedures')) i, pg_typeof(dp_laplace(v.n, 1, 1, 'regress_procedures')) n,
	pg_typeof(dp_laplace(v.r, 1, 1, 'regress_procedures')) r, pg_typeof(dp_laplace(v.f, 1, 1, 'regress_procedures')) f
FROM (VALUES (1::int, 1::numeric, 1::float4, 1::float8)) v(i, n, r, f);
-- granule 2^(0 - 20): every answer is a multiple of it, whatever the value
CREATE FUNCTION grid(answers numeric[], granule numeric) RETURNS bool LANGUAGE sql AS
$$ SELECT bool_and(a % granule = 0) AND count(DISTINCT a) > 1 FROM unnest(answers) a $$;
SELECT grid(array_agg(dp_laplace(v, 1, 1, 'regress_procedures')), 1 / 1048576.0) FROM unnest(ARRAY[0, 0.1, 1e-9, 123456.789, 1e20]) v;
SELECT bool_and(a * 1048576 = floor(a * 1048576)), bool_and(r * 1048576 = floor(r * 1048576)) FROM unnest(ARRAY[0, 0.1, 1e-9, 123456.789]::float8[]) v,
	dp_laplace(v, 1, 1, 'regress_procedures') a, dp_laplace(v::float4, 1, 1, 'regress_procedures') r;
SELECT grid(array_agg(dp_laplace(v, 1.5, 4, 'regress_procedures')), 1 / 4194304.0) FROM unnest(ARRAY[0, 0.1, 1e-9]) v;
SELECT grid(dp_laplace(ARRAY[0, 0.1, 1e-9, 3, 4]::numeric[], 1, 1, 'regress_procedures'), 1 / 8388608.0);
SELECT grid(array_agg(dp_laplace(v, 1, 1, 'regress_procedures', granule => 0.25)), 0.25) FROM unnest(ARRAY[0, 0.1, 1e-9, 3, 4]) v;
SELECT grid(array_agg(dp_laplace(v, 10, 0.1, 'regress_procedures', granule => 8)), 8) FROM unnest(ARRAY[0, 1, 7, 3, 4]) v;
SELECT grid(array_agg(dp_gaussian(v, 1, 1, 1e-6, 'regress_procedures')), 1 / 1048576.0) FROM unnest(ARRAY[0, 0.1, 1e-9, 3, 4]) v;
-- values are rounded to it half up: 0.125 lies between 0 and 0.25
SELECT n, dp_laplace(n::float8, 1, 100000, 'regress_procedures', granule => 0.25) f, dp_laplace(n, 1, 100000, 'regress_procedures', granule => 0.25)
FROM unnest(ARRAY[0.12499999999999999, 0.125, -0.125, -0.12500000000000003, 0.375, -0.375]) n;
SELECT dp_laplace(v, 1, 100000, 'regress_procedures', granule => 4) FROM unnest(ARRAY[1, 2, 5, 6, -1, -2, -3]) v;
-- float8 parameters by their shortest decimal
SELECT spent() \g /dev/null
SELECT dp_laplace(5, 1.0::float8, 0.1::float8, 'regress_procedures') IS NOT NULL;
SELECT * FROM spent();

-- selection
SELECT dp_exponential(ARRAY['a','b','c'], ARRAY[1, 3, 2], 1, 100000, 'regress_procedures'),
	dp_exponential(ARRAY['a','b','c'], ARRAY[1, 3, 2], 1, 100000, 'regress_procedures', monotone => true),
	dp_exponential(ARRAY[date '2020-01-01', NULL], ARRAY[1, 3.5], 1, 100000, 'regress_procedures'),
	dp_exponential(ARRAY[1.5, 2.5], ARRAY[0.25, NULL]::float8[], 1, 100000, 'regress_procedures');
SELECT n, dp_noisy_max(ARRAY['a','b','c'], ARRAY[1, 3, 2], 1, 100000, 'regress_procedures', n), dp_noisy_max(ARRAY['a','b'], ARRAY[-1, -2]::bigint[], 1, 100000, 'regress_procedures', n, true)
FROM unnest(ARRAY['laplace', 'exponential', 'gumbel', 'permute_and_flip']) n;
SELECT dp_noisy_max(ARRAY['a','b','c'], ARRAY[1, 3, 2], 1, 100000, 'regress_procedures') FROM generate_series(1, 2);
SELECT mechanism, epsilon, releases FROM last_charges(14) GROUP BY 1, 2, 3 ORDER BY 1;
-- a dataset whose neighbours differ by replacing one unit: charged as ever, but nothing is monotone there
RESET ROLE;
SELECT dp_pg.open_dataset('regress_procedures_replace');
SELECT dp_neighbours('regress_procedures_replace', 'replace_one');
SELECT dp_laplace(5, 1, 100000, 'regress_procedures_replace'), dp_gaussian(5, 1, 100000, 1e-6, 'regress_procedures_replace'),
	dp_exponential(ARRAY['a','b'], ARRAY[1, 3], 1, 100000, 'regress_procedures_replace'), dp_noisy_max(ARRAY['a','b'], ARRAY[1, 3], 1, 100000, 'regress_procedures_replace');
SELECT dp_exponential(ARRAY['a','b'], ARRAY[1, 3], 1, 100000, 'regress_procedures_replace', monotone => true);
SELECT dp_noisy_max(ARRAY['a','b'], ARRAY[1, 3], 1, 100000, 'regress_procedures_replace', monotone => true);

-- the safe forms of the documentation: read by a process of its own, or
-- computed before
SET ROLE :owner;
CREATE PROCEDURE total_income_safe(ward text, epsilon numeric, INOUT total numeric DEFAULT NULL)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = regress_procedures, public, pg_temp AS $$
BEGIN
	SELECT dp_sum(p.income, 0, 100, total_income_safe.epsilon) INTO total
	FROM person p WHERE p.ward = total_income_safe.ward;
END $$;
CREATE FUNCTION gaussian_safe() RETURNS bigint LANGUAGE sql SECURITY DEFINER
SET search_path = regress_procedures, public, pg_temp SET dp_pg.mechanism = gaussian SET dp_pg.delta = '1e-9'
AS $$ SELECT dp_count(1, 0.5) FROM person $$;
CREATE FUNCTION most_safe() RETURNS TABLE (what text, which text) LANGUAGE sql SECURITY DEFINER
SET search_path = regress_procedures, public, pg_temp AS $$
	SELECT 'argmax', dp_argmax('person', ARRAY['age < 10', 'age >= 10', 'sex'], 100000)
	UNION ALL SELECT 'column', dp_argmax(feel, NULL, 100000)::text FROM person WHERE id < 500
	UNION ALL SELECT 'above', (SELECT query::text FROM dp_sparse_vector('person', ARRAY['age < 10', 'age < 20', 'age < 30'],
		threshold => 150, cutoff => 1, epsilon => 100000) WHERE above)
$$;
CREATE TABLE statistic (name text PRIMARY KEY, value double precision NOT NULL);
INSERT INTO statistic SELECT 'income A', sum(least(greatest(p.income, 0), 100)) FROM person p WHERE p.ward = 'A';
CREATE FUNCTION kept_statistic(name text, epsilon double precision) RETURNS double precision
LANGUAGE sql SECURITY DEFINER SET search_path = regress_procedures, public, pg_temp AS $$
	SELECT dp_laplace((SELECT s.value FROM statistic s WHERE s.name = kept_statistic.name),
		100, epsilon, 'regress_procedures')
$$;
RESET ROLE;
SET ROLE :analyst;
CALL total_income_safe('A', 100000) \gset
SELECT abs(:total - 6125) < 1 AS near;
SELECT * FROM last_charges(1);
SELECT gaussian_safe() BETWEEN 900 AND 1100 AS near;
SELECT * FROM most_safe();
SELECT abs(kept_statistic('income A', 100000) - 6125) < 1 AS near;
RESET ROLE;
SELECT mechanism, epsilon, releases FROM last_charges(5);

DROP OWNED BY regress_procedures_poor, regress_procedures_none CASCADE;
DROP ROLE regress_procedures_poor, regress_procedures_none;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
