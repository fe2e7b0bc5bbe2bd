-- Bad input gets its own SQLSTATE, a hint, and no charge.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_parameter
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
RESET dp_pg.epsilon_ceiling;
RESET dp_pg.epsilon;
SHOW dp_pg.epsilon;

SET ROLE :analyst;
CREATE TABLE public_number (e numeric);
INSERT INTO public_number VALUES (0.5);
-- one row per statement, all of them in one table
CREATE FUNCTION refused(VARIADIC expressions text[]) RETURNS TABLE (expression text, state text, hinted boolean, charges bigint)
LANGUAGE plpgsql AS $$
BEGIN
	FOREACH expression IN ARRAY expressions LOOP
		SELECT o.* INTO state, hinted, charges FROM outcome(format('SELECT %s FROM person', expression)) o;
		RETURN NEXT;
	END LOOP;
END $$;
-- epsilon
SELECT * FROM refused('dp_count(1, 0)', 'dp_count(1, 0.0)', 'dp_count(1, -0.1)', 'dp_count(1, NULL)', 'dp_count(1, NULL::numeric)',
	'dp_count(1, NULL::float8)', 'dp_count(1, ''NaN'')', 'dp_count(1, ''NaN''::numeric)', 'dp_count(1, ''NaN''::float8)',
	'dp_count(1, ''Infinity''::numeric)', 'dp_count(1, ''Infinity''::float8)', 'dp_count(1, ''-Infinity''::float8)',
	'dp_count(1, 1e-7)', 'dp_count(1, 0.0009999)', 'dp_count(1, 10.000001)', 'dp_count(1, 1e400)', 'dp_count(1, 1e-400)', 'dp_count(1, 1e-30::float8)', 'dp_count(1, 1e300::float8)',
	'dp_sum(age, 0)', 'dp_sum(age, -1)', 'dp_sum(age, 11)', 'dp_sum(age, 0, 1, 0)', 'dp_sum(age, 0, 1, NULL)', 'dp_sum(age, 0, 1, ''NaN''::float8)',
	'dp_avg(age, 0)', 'dp_avg(age, 0, 1, 0)', 'dp_avg(age, 0, 1, -1e-30)', 'dp_avg(score, 1e10)');
-- the limits themselves are allowed
SELECT state FROM refused('dp_count(1, 0.001)', 'dp_count(1, 10)', 'dp_count(1, 1e1::float8)', 'dp_avg(age, 0, 1, 10.0)');
-- parameters that depend on rows
SELECT * FROM refused('dp_count(1, score)', 'dp_count(1, income / 100)', 'dp_count(1, age)', 'dp_count(1, 0.1 + 0 * income)',
	'dp_sum(age, 0, age)', 'dp_sum(age, age, 100)', 'dp_sum(age, 0, 10, income)', 'dp_avg(age, score, 100)',
	'dp_count(1, random())', 'dp_sum(age, 0, random()::int)', 'dp_count(1, (SELECT max(income) FROM person))',
	'dp_count(1, CASE WHEN sex THEN 0.1 ELSE 0.2 END)', 'dp_sum(age, 0, max(age))', 'dp_count(1, count(*))');
-- and such that do not
SELECT state, charges FROM refused('dp_count(1, 1.0 / 2)', 'dp_count(1, abs(-0.5))', 'dp_count(1, current_setting(''dp_pg.epsilon'')::numeric / 2)',
	'dp_sum(age, 0, 10 * 10, 2 * 0.25)', 'dp_count(1, 0.5::text::numeric)');
-- an epsilon that fails to compute
SELECT state, charges FROM refused('dp_count(1, 1 / 0)', 'dp_count(1, ''abc'')', 'dp_count(1, 1.0 / 0)');
-- bounds
SELECT * FROM refused('dp_sum(age, 1, 0)', 'dp_sum(age, 5, 5)', 'dp_sum(age, 0, NULL)', 'dp_sum(age, NULL, 0)', 'dp_sum(age, NULL, NULL)',
	'dp_sum(age, 0, ''Infinity''::numeric)', 'dp_sum(age, ''-Infinity''::float8, 0)', 'dp_sum(age, ''NaN''::float8, 0)', 'dp_sum(age, 0, ''NaN''::numeric)',
	'dp_sum(score, 1, 0)', 'dp_sum(score, 0, ''Infinity'')', 'dp_avg(age, 1, 0)', 'dp_avg(age, 5, 5)', 'dp_avg(age, 0, NULL)',
	'dp_avg(income, 0, ''Infinity'', 1)', 'dp_avg(score, 5, 4, 1)', 'dp_sum(id)', 'dp_avg(id)', 'dp_sum(id, 0.5)', 'dp_sum(age + 1)', 'dp_sum(score::real)',
	'dp_sum(CASE WHEN sex THEN age END)', 'dp_sum(1)', 'dp_sum(NULL::int)');
-- declared bounds are the column's, through subqueries and renames
SELECT round(dp_sum(a, 10.0)) > 0 FROM (SELECT age AS a FROM person) t;
SELECT * FROM outcome('SELECT dp_sum(a) FROM (SELECT age + 1 AS a FROM person) t');
-- types and numbers of arguments
SELECT * FROM refused('dp_sum(ward)', 'dp_sum(ward, 0, 1)', 'dp_avg(born, 0, 1)', 'dp_sum(sex, 0, 1)', 'dp_sum(age, ''a'', ''b'')', 'dp_sum(*)', 'dp_avg()',
	'dp_count(1, 2, 3)', 'dp_sum(age, 1, 2, 3, 4)', 'dp_count(1, true)', 'dp_sum(age, lower => 0, upper => 1)', 'dp_count(0.5)', 'dp_count(1.5)', 'dp_count(-0.5)', 'dp_count(0.5::float8)',
	'dp_total(age)', 'dp_count(nobody)');
-- a lone integer is a count of rows
SELECT state, charges FROM refused('dp_count(1)', 'dp_count(2)', 'dp_count(0)', 'dp_count(true)');
-- the default epsilon
SELECT * FROM outcome('SET dp_pg.epsilon = ''abc''');
SELECT * FROM outcome('SET dp_pg.epsilon = 0');
SELECT * FROM outcome('SET dp_pg.epsilon = -1');
SELECT * FROM outcome('SET dp_pg.epsilon = ''NaN''');
SELECT * FROM outcome('SET dp_pg.epsilon = ''Infinity''');
SELECT * FROM outcome('SET dp_pg.epsilon = ''''');
SHOW dp_pg.epsilon;
SET dp_pg.epsilon = 20;
SELECT * FROM refused('dp_count(*)', 'dp_count(1)', 'dp_sum(age)');
SET dp_pg.epsilon = 0.25;
SELECT * FROM spent() \g /dev/null
SELECT dp_count(*) IS NOT NULL, dp_sum(age) IS NOT NULL, dp_avg(age, 0, 1) IS NOT NULL FROM person;
SELECT * FROM spent();
-- what only the owner or a superuser may set
SELECT * FROM outcome('SET dp_pg.epsilon_ceiling = 1000');
SELECT * FROM outcome('SET dp_pg.epsilon_floor = 0');
SELECT * FROM outcome('SET dp_pg.max_groups = 1000');
SELECT * FROM outcome(format('SELECT dp_grant(%L, %L, 100, 0)', :'analyst', :'schema'));
SELECT * FROM outcome(format('SELECT dp_limit(%L, 100, 0)', :'schema'));
SELECT * FROM outcome(format('SELECT dp_revoke(%L, %L)', :'analyst', :'schema'));
SELECT * FROM outcome('SELECT dp_declare(''person'', ''age'', 0, 1)');
SELECT * FROM outcome('SELECT dp_unprotect(''person'')');
SELECT * FROM outcome('SELECT dp_protect(''person'')');

-- the floor and the ceiling of the owner
RESET ROLE;
SET ROLE :owner;
SELECT dp_limit(:'schema', epsilon => 1e10, delta => 1e-5, epsilon_floor => 0.05, epsilon_ceiling => 0.5);
SET ROLE :analyst;
SELECT * FROM refused('dp_count(1, 0.9)', 'dp_count(1, 0.01)', 'dp_count(1, 0.500001)', 'dp_count(1, 0.049999)');
SELECT state, charges FROM refused('dp_count(1, 0.5)', 'dp_count(1, 0.05)');
RESET ROLE;

-- what an owner types wrongly
SET ROLE :owner;
CREATE FUNCTION wrong(VARIADIC calls text[]) RETURNS TABLE (call text, state text, hinted boolean) LANGUAGE plpgsql AS $$
BEGIN
	FOREACH call IN ARRAY calls LOOP
		SELECT o.state, o.hinted INTO state, hinted FROM outcome('SELECT ' ||
			replace(replace(call, ':analyst', '''regress_query_parameter_analyst'''), ':schema', '''regress_query_parameter''')) o;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT * FROM wrong(
	'dp_declare(''person'', ''nothing'', lower => 0, upper => 1)', 'dp_declare(''nothing'', ''age'', lower => 0, upper => 1)',
	'dp_declare(''person'', ''age'', lower => 1, upper => 0)', 'dp_declare(''person'', ''age'', lower => 1, upper => 1)',
	'dp_declare(''person'', ''age'', lower => NULL::int, upper => 1)', 'dp_declare(''person'', ''age'', lower => ''-Infinity''::numeric, upper => 1)',
	'dp_declare(''person'', ''score'', lower => 0, upper => ''Infinity''::float8)', 'dp_declare(''person'', ''score'', lower => ''NaN''::float8, upper => 1)',
	'dp_declare(''person'', ''ward'', lower => 0, upper => 1)', 'dp_declare(''person'', ''born'', lower => date ''infinity'', upper => date ''2020-01-01'')',
	'dp_declare(''person'', ''born'', lower => date ''2020-02-01'', upper => date ''2020-01-01'')', 'dp_declare(''person'', ''score'', lower => 0, upper => 1, granule => -1)',
	'dp_declare(''person'', ''score'', lower => 0, upper => 1, granule => 0)', 'dp_declare(''person'', ''score'', lower => 0, upper => 1, granule => 0.3)',
	'dp_declare(''person'', ''ward'', keys => ARRAY[]::text[])', 'dp_declare(''person'', ''ward'', keys => ARRAY[''A'', ''A''])',
	'dp_declare(''person'', ''ward'', keys => ARRAY[''A'', NULL])', 'dp_declare(''person'', ''ward'', keys => NULL::text[])',
	'dp_declare(''person'', ''ward'', keys => ARRAY[''A'', ''B''], other => ''A'')', 'dp_declare(''person'', ''age'', keys => ARRAY[''x''])',
	'dp_declare(''person'', ''feel'', keys => ARRAY[''angry''])',
	'dp_grant(''nobody at all'', :schema, epsilon => 1)', 'dp_grant(:analyst, ''no such dataset'', epsilon => 1)', 'dp_grant(:analyst, :schema, epsilon => 0)',
	'dp_grant(:analyst, :schema, epsilon => -1)', 'dp_grant(:analyst, :schema, epsilon => NULL)', 'dp_grant(:analyst, :schema, epsilon => ''NaN''::numeric)',
	'dp_grant(:analyst, :schema, epsilon => ''Infinity''::float8)', 'dp_grant(:analyst, :schema, epsilon => 1, delta => 1)', 'dp_grant(:analyst, :schema, epsilon => 1, delta => -0.1)',
	'dp_grant(:analyst, :schema, epsilon => 1, delta => NULL::numeric)', 'dp_grant(:analyst, :schema, epsilon => 1, filter => ''none'')', 'dp_grant(:analyst, :schema, epsilon => 1, filter => NULL)',
	'dp_grant(:analyst, :schema, epsilon => 1, renew => ''-1 day'')', 'dp_grant(:analyst, :schema, epsilon => 1, renew => ''0 days'')',
	'dp_limit(:schema, epsilon => 0)', 'dp_limit(:schema, epsilon => -1)', 'dp_limit(:schema, epsilon => ''NaN''::numeric)', 'dp_limit(''no such dataset'', epsilon => 1)',
	'dp_limit(:schema, epsilon => 1, delta => 2)', 'dp_limit(:schema, epsilon => 1, epsilon_floor => 2, epsilon_ceiling => 1)', 'dp_limit(:schema, epsilon => 1, epsilon_floor => -1)',
	'dp_revoke(''nobody at all'', :schema)', 'dp_revoke(:analyst, ''no such dataset'')');

-- nothing of that was half done
SELECT attname, lower, upper, granule, keys, other FROM dp_pg.attribute WHERE relid = 'person'::regclass ORDER BY attname COLLATE "C";
SELECT epsilon, delta, filter, renew FROM dp_pg.budget WHERE dataset = :'schema';

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
