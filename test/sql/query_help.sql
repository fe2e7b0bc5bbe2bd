-- Positions in errors about parameters, what EXPLAIN says is missing, and the
-- dataset of a relation that was named instead of it.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_help
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
SET ROLE :owner;
SELECT dp_protect('person', dataset => :'schema', publish => 'person_view') \g /dev/null
SELECT dp_grant(:'analyst', :'schema', epsilon => 10, delta => 0.000001, filter => 'basic') \g /dev/null
CREATE FUNCTION regress_query_help.lacking(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		IF line LIKE '%Budget:%' THEN
			RETURN line;
		END IF;
	END LOOP;
END $$;
SET ROLE :analyst;
SET dp_pg.epsilon = 1;
\set VERBOSITY default

-- at the bound, at the price, or at the aggregate that has none
SELECT ward, dp_count(*),
	dp_sum(age, 100, 0) FROM person GROUP BY ward;
SELECT 'ü', dp_avg(age, NULL, 1) FROM person;
SELECT dp_sum(age, 0, NULL::int) FROM person;
SELECT dp_count(*), dp_sum(id) FROM person;
SELECT dp_count(*), dp_quantile(id, 0.5) FROM person_view;
EXPLAIN SELECT dp_avg(id) FROM person;
SELECT dp_quantile(age, 0.5, 10, 5) FROM person;
SELECT dp_sum(age, 0) FROM person;
SELECT dp_sum(age, 0, 100, -1) FROM person;
SELECT dp_count(1, -0.5) FROM person;
SELECT dp_median(seen, timestamp '2021-01-01', timestamp '2020-01-01') FROM person;
SELECT dp_histogram(age, 0, 100, 0) FROM person;
SELECT dp_topk(ward, NULL) FROM person;
-- not where the client's text is another one
PREPARE ask AS SELECT dp_sum(id) FROM person;
EXECUTE ask;
CREATE TEMP VIEW asked AS SELECT dp_sum(id) FROM person;
SELECT * FROM asked;
BEGIN;
DECLARE c CURSOR FOR SELECT dp_sum(id) FROM person;
FETCH c;
ROLLBACK;
DO $$ BEGIN PERFORM dp_sum(id) FROM person; END $$;
-- nothing of it was charged
SELECT * FROM spent();

-- what is lacking: delta, epsilon, both
SELECT lacking('SELECT dp_count(1, 11) FROM person');
SET dp_pg.mechanism = gaussian;
SET dp_pg.delta = '7e-7';
SELECT dp_count(*) IS NOT NULL FROM person;
SELECT lacking('SELECT dp_count(*) FROM person');
SELECT lacking('SELECT dp_count(1, 10) FROM person');
SET dp_pg.delta = '1e-7';
SELECT lacking('SELECT dp_count(*) FROM person');
SELECT lacking('SELECT dp_count(1, 10) FROM person');
RESET dp_pg.mechanism;
RESET dp_pg.delta;
SELECT lacking('SELECT dp_count(*) FROM person');
RESET ROLE;
SELECT dp_limit(:'schema', epsilon => 3, delta => 0.00001) \g /dev/null
SET ROLE :analyst;
SELECT lacking('SELECT dp_count(1, 2.5) FROM person');

-- a relation where a dataset is meant
SET ROLE :owner;
SELECT dp_grant(:'analyst', 'person', epsilon => 1, delta => 0);
SELECT dp_grant(:'analyst', 'regress_query_help.person_view', epsilon => 1, delta => 0);
SELECT dp_limit('person', epsilon => 1, delta => 0);
SELECT dp_revoke(:'analyst', 'person');
SELECT dp_grant(:'analyst', 'no_relation', epsilon => 1, delta => 0);
SELECT dp_grant(:'analyst', 'no.rela.tion', epsilon => 1, delta => 0);
SELECT dp_grant(:'analyst', '"', epsilon => 1, delta => 0);
SELECT dp_grant(:'analyst', 'pg_class', epsilon => 1, delta => 0);

-- what is said in place of an aggregate, and of bounds, in either mode
SELECT dp_unlimit(:'schema'), dp_grant(:'analyst', :'schema', epsilon => 1000, delta => 0.000001, filter => 'basic') \g /dev/null
SET ROLE :analyst;
CREATE FUNCTION pg_temp.advised(mode text, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	advice text;
BEGIN
	PERFORM set_config('dp_pg.transparent', mode, true);
	EXECUTE 'SELECT ' || query || ' FROM person';
	RETURN 'answered';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS advice = PG_EXCEPTION_HINT;
	RETURN concat(SQLERRM, ': ', advice);
END $$;
SELECT q, pg_temp.advised('off', 'dp_count(*), ' || q) AS private, pg_temp.advised('on', q) AS plain FROM unnest(ARRAY['max(ward)', 'array_agg(ward)', 'bool_or(age > 7)',
	'percentile_cont(ARRAY[0.5]) WITHIN GROUP (ORDER BY age)', 'percentile_cont(0.5) WITHIN GROUP (ORDER BY seen - seen)', 'sum(seen - seen)', 'bit_or(age)']) q \gx
SELECT pg_temp.advised('off', 'dp_max(seen)') AS private, pg_temp.advised('on', 'max(seen)') AS plain, pg_temp.advised('on', 'corr(id, age)') AS pair, pg_temp.advised('on', 'mode() WITHIN GROUP (ORDER BY id)') AS mode,
	pg_temp.advised('on', 'stddev(DISTINCT age)') AS distinct, pg_temp.advised('on', 'percentile_cont(2) WITHIN GROUP (ORDER BY age)') AS fraction \gx
-- which is answered as it stands
SELECT mode, q, pg_temp.advised(mode, q) FROM (VALUES ('off', 'dp_argmax(ward)'), ('off', 'dp_count(*) FILTER (WHERE age > 7)'), ('off', 'dp_quantile(age, 0.5)'), ('off', 'dp_max(seen, ''2026-01-01'', ''2026-12-31'')'),
	('on', 'mode() WITHIN GROUP (ORDER BY ward)'), ('on', 'count(*) FILTER (WHERE age > 7)'), ('on', 'percentile_cont(0.5) WITHIN GROUP (ORDER BY age)')) t(mode, q);
SET dp_pg.transparent = on;
SELECT max(seen) IS NULL OR true AS answered, count(*) IS NOT NULL AS counted FROM person WHERE seen BETWEEN '2026-01-01' AND '2026-12-31';
SELECT corr(age, id) IS NULL OR true AS answered FROM person WHERE age BETWEEN 0 AND 100 AND id BETWEEN 0 AND 100;
SELECT corr(GREATEST(LEAST(age, 100), 0), GREATEST(LEAST(id, 100), 0)) IS NULL OR true AS answered FROM person;
SELECT ward, count(*) IS NOT NULL AS counted FROM person WHERE ward IN ('A', 'B') GROUP BY ward;
SELECT count(*) IS NOT NULL AS counted, sum(extract(epoch FROM seen - seen)) IS NOT NULL AS seconds FROM person WHERE extract(epoch FROM seen - seen) BETWEEN 0 AND 100;
RESET dp_pg.transparent;
\set VERBOSITY sqlstate

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
