-- dp_error: the 95% error of a released value, which costs nothing.  At
-- epsilon 0.7 a count's is 4: the least a with P[|X| > a] <= 1/20.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_error
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
SET dp_pg.epsilon_floor = '';
SET ROLE :owner;
CREATE TABLE visit (who int NOT NULL, ward text NOT NULL, cost int);
INSERT INTO visit SELECT i % 100, (ARRAY['A','B'])[1 + i % 2], i % 50 FROM generate_series(1, 1000) i;
SELECT dp_protect('visit', unit => 'who', dataset => :'schema') \g /dev/null
SELECT dp_declare('visit', max_rows => 1) \g /dev/null
SELECT dp_declare('visit', 'ward', keys => ARRAY['A','B']) \g /dev/null
CREATE VIEW by_ward AS SELECT ward, dp_count(1, 0.7) AS n, dp_error(dp_count(1, 0.7)) AS e, dp_avg(age) AS a FROM person GROUP BY ward;
CREATE FUNCTION wards(low int) RETURNS TABLE (w text, n bigint, e float8) LANGUAGE sql STABLE
AS $$ SELECT ward, n, dp_error(n) FROM (SELECT ward, dp_count(1, 0.7) AS n FROM person WHERE age >= low GROUP BY ward) q $$;
GRANT SELECT ON by_ward TO :analyst;
RESET ROLE;

-- what a statement tells, and what it costs
CREATE FUNCTION told(statement text, OUT error text, OUT charges bigint, OUT epsilon numeric) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM spent();
	EXECUTE 'SELECT string_agg(DISTINCT e::text, '', '' ORDER BY e::text) FROM (' || statement || ') r (e)' INTO error;
	SELECT s.charges, s.epsilon INTO charges, epsilon FROM spent() s;
END $$;
SET ROLE :analyst;

-- the aggregate written again is one release
SELECT ward, dp_count(1, 0.7) IS NOT NULL AS n, dp_error(dp_count(1, 0.7)) FROM person GROUP BY ward;
SELECT * FROM told('SELECT dp_error(dp_count(1, 0.7)) FROM person');
SELECT * FROM told('SELECT dp_error(dp_count(1, 0.7)) + 0 * dp_count(1, 0.7) FROM person');
SELECT * FROM told('SELECT dp_error(dp_sum(age, 0, 120, 0.7)) FROM person');
-- EXPLAIN says the same, and so does dp_last_release()
SELECT dp_count(1, 0.7) IS NULL, dp_sum(age, 0, 120, 0.7) IS NULL FROM person \g /dev/null
SELECT value, error_95 FROM dp_last_release();

-- columns of subqueries, views, WITH queries, functions, branches
SELECT t.*, q FROM unnest(ARRAY[
'SELECT dp_error(n) FROM (SELECT dp_count(1, 0.7) AS n FROM person) q',
'SELECT dp_error(n) FROM (SELECT m AS n FROM (SELECT dp_count(1, 0.7) AS m FROM person) q OFFSET 0) r',
'SELECT dp_error(n) FROM (SELECT m AS n FROM (SELECT ward, dp_count(1, 0.7) AS m FROM person GROUP BY ward ORDER BY dp_avg(age)) q) r',
'SELECT dp_error(n) FROM by_ward',
'SELECT e FROM by_ward',
'SELECT dp_error(e.n) FROM by_ward AS e (w, n)',
'WITH q AS (SELECT dp_count(1, 0.7) AS n FROM person) SELECT dp_error(q.n) FROM q',
'WITH q AS (SELECT dp_count(1, 0.7) AS n FROM person) SELECT dp_error(q.n) - dp_error(r.n) FROM q, q r',
'WITH q AS (SELECT dp_count(1, 0.7) AS n FROM person), r AS (SELECT n AS m FROM q) SELECT dp_error(m) FROM r',
'WITH q AS MATERIALIZED (SELECT dp_count(1, 0.7) AS n FROM person) SELECT (SELECT dp_error(n) FROM q) + r.n - r.n FROM q r',
'SELECT e FROM wards(18)',
'SELECT e + dp_error(n) FROM wards(18)',
'SELECT dp_error(n) FROM wards(18)',
'SELECT dp_error(n) FROM (SELECT dp_count(1, 0.7) AS n FROM person UNION ALL SELECT dp_count(1, 0.35) FROM person) q',
'SELECT max(dp_error(n)) FROM (SELECT ward, dp_count(1, 0.7) AS n FROM person GROUP BY ward) q',
'SELECT sum(dp_error(n)) OVER () FROM (SELECT ward, dp_count(1, 0.7) AS n FROM person GROUP BY ward) q',
'SELECT e FROM (SELECT n, dp_error(n) AS e, count(*) FROM (SELECT ward, dp_count(1, 0.7) AS n FROM person GROUP BY ward) q GROUP BY 1, 2) r',
'SELECT e FROM (SELECT DISTINCT dp_error(n) AS e FROM (SELECT ward, dp_count(1, 0.7) AS n FROM person GROUP BY ward) q) r',
'SELECT (SELECT dp_error(q.n)) FROM (SELECT dp_count(1, 0.7) AS n FROM person) q',
'SELECT e FROM (SELECT dp_count(1, 0.7) AS n FROM person) q, LATERAL (SELECT dp_error(q.n) AS e) r',
'SELECT dp_error(n) FROM (SELECT dp_count(1, 0.7) AS n FROM person) q WHERE dp_error(n) > 1',
'SELECT dp_error(dp_count(1, 0.7)) FROM person GROUP BY ward HAVING dp_error(dp_count(1, 0.7)) < 10 AND dp_count(1, 0.7) > -1000',
'SELECT dp_error(n) FROM (VALUES (1)) v (i) LEFT JOIN (SELECT ward, dp_count(1, 0.7) AS n FROM person GROUP BY ward) q ON q.ward = ''none''',
'SELECT dp_error(n::numeric) FROM (SELECT dp_count(1, 0.7)::int AS n FROM person) q',
'SELECT dp_error(j.n) FROM ((SELECT dp_count(1, 0.7) AS n FROM person) q CROSS JOIN (SELECT 1) r) AS j (n)',
'SELECT dp_error(greatest(dp_count(1, 0.7), 0)) FROM person']) q, told(q) t;

-- of each aggregate; NULL: nothing is known in the unit of the value
SELECT v, t.error::float8 >= 0 AS told, t.charges FROM unnest(ARRAY[
'dp_count(*)', 'dp_count(DISTINCT age)', 'dp_sum(age)', 'dp_sum(DISTINCT age)', 'dp_avg(age)', 'dp_avg(DISTINCT age)',
'dp_variance(age)', 'dp_stddev(age)', 'dp_var_pop(age)', 'dp_stddev_pop(age)', 'dp_histogram(age, 0, 100, 4)',
'dp_regr_count(age, income)', 'dp_regr_avgx(age, income)', 'dp_regr_avgy(age, income)', 'dp_regr_sxx(age, income)',
'dp_regr_syy(age, income)', 'dp_regr_sxy(age, income)', 'dp_covar_pop(age, income)', 'dp_covar_samp(age, income)',
'dp_corr(age, income)', 'dp_regr_r2(age, income)', 'dp_regr_slope(age, income)', 'dp_regr_intercept(age, income)',
'dp_median(age)', 'dp_quantile(age, 0.5)', 'dp_min(age)', 'dp_max(age)', 'dp_argmax(ward)', 'dp_topk(ward, 2)']) v,
told('SELECT dp_error(' || v || ') FROM person') t;
-- a mean of no rows has neither value nor error
SELECT dp_avg(age), dp_error(dp_avg(age)) FROM person WHERE id < 0;
-- a value without noise to speak of, and bounds that leave one value
SELECT dp_error(dp_avg(age)) < 0.01, dp_error(dp_avg(age, 50, 50, 0.7)), dp_avg(age, 50, 50, 0.7) FROM person;

-- Gaussian noise, units with many rows, undeclared keys, ROLLUP
SET dp_pg.delta = '1e-7';
SET dp_pg.mechanism = gaussian;
SELECT * FROM told('SELECT dp_error(dp_count(1, 0.7)) FROM person');
SELECT dp_gaussian_error(dp_gaussian_sigma(1, 0.7, 1e-7), 0.95);
RESET dp_pg.mechanism;
SET dp_pg.max_rows = 10;
SELECT * FROM told('SELECT dp_error(dp_count(1, 7)) FROM visit');
RESET dp_pg.max_rows;
SELECT * FROM told('SELECT dp_error(dp_count(1, 0.7)) FROM visit GROUP BY cost % 2');
SET dp_pg.max_keys = 3;
-- noise is for as many groups as are told, and so is the error
SELECT * FROM told('SELECT dp_error(dp_count(1, 0.7)) FROM visit GROUP BY cost');
SELECT * FROM told('SELECT dp_error(dp_count(1, 0.7)) FROM visit GROUP BY cost % 2');
RESET dp_pg.max_keys;
RESET dp_pg.delta;
SET dp_pg.transparent = on;
SET dp_pg.reuse = off;
SET dp_pg.suppress = off;
SET dp_pg.split = off;
SET dp_pg.epsilon = 0.7;
SELECT t.*, q FROM unnest(ARRAY[
'SELECT dp_error(count(*)) FROM person',
'SELECT dp_error(sum(age)) FROM person',
'SELECT dp_error(count(*)) FROM person GROUP BY ROLLUP (ward)',
'SELECT dp_error(n) FROM (SELECT ward, count(*) AS n FROM person GROUP BY GROUPING SETS ((), (ward), (ward, sex))) q',
'SELECT dp_error(n) FROM (SELECT count(*)::numeric AS n FROM (SELECT * FROM person WHERE age > 18) p) q',
'WITH r AS (SELECT ward, count(*) AS n FROM person GROUP BY ward) SELECT dp_error(n) FROM r',
'SELECT dp_error(count(*)) FROM person WHERE false',
'SELECT dp_error(count(*)) FROM person LIMIT 0']) q, told(q) t;
-- groups that are left out have no error
SET dp_pg.suppress = on;
SELECT ward, dp_error(count(*)) FROM person GROUP BY ward HAVING count(*) > 100;
-- at 0.7 a group without rows is told of by chance with probability 0.025
SET dp_pg.epsilon = 100000;
SELECT min(age), dp_error(min(age)) FROM person WHERE id < 0;
SET dp_pg.epsilon = 0.7;
RESET dp_pg.suppress;
RESET dp_pg.split;
RESET dp_pg.reuse;
RESET dp_pg.transparent;

-- stored answers: the same errors, free; and free for who did not ask first
SET dp_pg.epsilon = 0.7;
SET dp_pg.reuse = '1 hour';
SELECT * FROM told('SELECT dp_error(dp_avg(age)) FROM person WHERE sex') \gset first_
SELECT * FROM told('SELECT dp_error(dp_avg(age)) FROM person WHERE sex') \gset again_
SELECT :'first_error' = :'again_error' AS same, :first_charges AS first, :again_charges AS again;
SELECT * FROM told('SELECT dp_avg(age) IS NULL FROM person WHERE NOT sex');
SELECT charges FROM told('SELECT dp_error(dp_avg(age)) FROM person WHERE NOT sex');
RESET dp_pg.reuse;

-- prepared, in PL/pgSQL, in COPY and CREATE TABLE AS
PREPARE by_age (int, numeric) AS SELECT dp_error(dp_count(1, $2)) FROM person WHERE age > $1;
EXECUTE by_age (18, 0.7);
EXECUTE by_age (20, 0.35);
SET plan_cache_mode = force_generic_plan;
EXECUTE by_age (20, 0.35);
RESET plan_cache_mode;
CREATE TEMPORARY TABLE chart AS SELECT ward, dp_count(1, 0.7) AS n, dp_error(dp_count(1, 0.7)) FROM person GROUP BY ward;
SELECT ward, dp_error FROM chart WHERE n - dp_error < n + dp_error;
COPY (SELECT dp_error(n) FROM (SELECT dp_count(1, 0.7) AS n FROM person) q) TO STDOUT;
DO $$
DECLARE
	r record;
BEGIN
	FOR r IN SELECT n, dp_error(n) AS e FROM (SELECT dp_count(1, 0.7) AS n FROM person) q LOOP
		IF r.e <> 4 THEN RAISE 'an error of %', r.e; END IF;
	END LOOP;
END $$;

-- no private value
SELECT o.*, q FROM unnest(ARRAY[
'SELECT dp_error(5)',
'SELECT dp_error(NULL)',
'SELECT dp_error(count(*)) FROM pg_class',
'SELECT dp_error(5), dp_count(*) FROM person',
'SELECT dp_error(dp_count(*) + 1) FROM person',
'SELECT dp_error(round(dp_avg(age), 1)) FROM person',
'SELECT dp_error(dp_avg(age)::numeric(5, 1)) FROM person',
'SELECT dp_error(dp_count(*)::text) FROM person',
'SELECT dp_error(greatest(dp_count(*), 1)) FROM person',
'SELECT dp_error(greatest(dp_sum(age), 0)) FROM person',
'SELECT dp_error(dp_error(dp_count(*))) FROM person',
'SELECT ward, dp_error(ward), dp_count(*) FROM person GROUP BY ward',
'SELECT dp_count(*) FROM person WHERE dp_error(age) > 1',
'SELECT dp_count(*) FILTER (WHERE dp_error(age) > 1) FROM person',
'SELECT dp_sum(dp_error(age)) FROM person',
'SELECT dp_error(age) FROM person',
'SELECT dp_error(n + 1) FROM (SELECT dp_count(*) AS n FROM person) q',
'SELECT dp_error(n) FROM (SELECT dp_count(*) + 1 AS n FROM person) q',
'SELECT dp_error(n) FROM (SELECT max(m) AS n FROM (SELECT dp_count(*) AS m FROM person GROUP BY ward) q) r',
'SELECT n, dp_error(n), count(*) FROM (SELECT dp_count(*) AS n FROM person GROUP BY ward) q GROUP BY n',
'SELECT dp_error(n) FROM (SELECT n FROM (SELECT dp_count(*) AS n FROM person GROUP BY ward) q GROUP BY n) r',
'SELECT dp_error(n) FROM (SELECT DISTINCT n FROM (SELECT dp_count(*) AS n FROM person GROUP BY ward) q) r',
'SELECT dp_error(n) FROM (SELECT dp_count(*) AS n FROM person UNION SELECT dp_count(*) FROM person) q',
'SELECT dp_error(n) FROM (SELECT dp_count(*) AS n FROM person UNION ALL SELECT 1) q',
'SELECT dp_error(q) FROM (SELECT dp_count(*) AS n FROM person) q',
'WITH RECURSIVE q AS (SELECT dp_count(*) AS n FROM person UNION ALL SELECT n FROM q WHERE false) SELECT dp_error(n) FROM q',
'SELECT dp_error(dp_count(*)) OVER () FROM person']) q, outcome(q) o;
\set VERBOSITY default
SELECT dp_error(n + 1) FROM (SELECT dp_count(*) AS n FROM person) q;
SELECT dp_error(5);
\set VERBOSITY sqlstate

-- more values than a row has room for errors of
SELECT format('SELECT %s FROM person', string_agg(format('dp_count(*) FILTER (WHERE age > %s)', i), ', ')) AS many FROM generate_series(1, 900) i \gset
SET dp_pg.epsilon = 0.001;
SELECT state, charges FROM outcome(:'many');
SELECT format('SELECT dp_error(dp_count(*)), %s FROM person', string_agg(format('dp_count(*) FILTER (WHERE age > %s)', i), ', ')) AS many FROM generate_series(1, 900) i \gset
SELECT state, charges FROM outcome(:'many');
-- more than a row has room for
SELECT format('SELECT %s FROM person HAVING %s', string_agg(format('dp_count(*) FILTER (WHERE age > %s)', i), ', '), string_agg(format('dp_count(*) FILTER (WHERE age < %s) > 0', i), ' OR ')) AS many FROM generate_series(1, 850) i \gset
SELECT * FROM outcome(:'many');
-- a row as a whole has no errors; and a value with fewer digits another error
SELECT o.* FROM unnest(ARRAY['SELECT q, dp_error(q.n) FROM (SELECT dp_count(1, 0.7) AS n FROM person) q', 'SELECT b, dp_error(b.n) FROM by_ward b',
	'SELECT q.n, dp_error(q.n) FROM (SELECT dp_median(age, 0, 120, 1) AS n FROM person) q WHERE q IS NOT NULL', 'WITH w AS (SELECT dp_count(1, 0.7) AS n FROM person) SELECT dp_error(w.n), (SELECT count(v.*) FROM w v) FROM w',
	'SELECT dp_error(n) FROM (SELECT dp_avg(age, 0, 120, 5)::int AS n FROM person) q', 'SELECT dp_error(n) FROM (SELECT dp_sum(age, 0, 120, 5)::real AS n FROM person) q',
	'SELECT dp_error(q.n), row_to_json(v) FROM (SELECT dp_count(1, 0.7) AS n FROM person) q, (VALUES (1, 2)) v']) q, outcome(q) o;

-- a NOTICE where the value whose error is asked for is not used, once a query
\set VERBOSITY default
SET client_min_messages = notice;
SELECT dp_count(1, 0.7) IS NULL AS n, dp_error(dp_count(1, 0.7)) FROM person;
SELECT dp_count(1, 0.35) IS NULL AS n, dp_error(dp_count(1, 0.7)) FROM person;
EXPLAIN SELECT dp_count(1, 0.35), dp_error(dp_count(1, 0.7)) FROM person \g /dev/null
SELECT dp_error(n) FROM (SELECT dp_count(1, 0.7) AS n FROM person) q;
SELECT n IS NULL AS n, dp_error(n) FROM (SELECT dp_count(1, 0.7) AS n FROM person) q;
SELECT dp_error(n) FROM (SELECT dp_count(1, 0.7) AS n FROM person) q ORDER BY n;
SELECT (SELECT dp_error(dp_count(1, 0.7)) FROM person) AS a, (SELECT dp_error(dp_count(1, 0.7)) FROM person WHERE age > 18) AS b;
SELECT dp_error(dp_count(1, 0.7)) FROM person HAVING dp_count(1, 0.7) > -1000;
SET dp_pg.transparent = on;
SET dp_pg.epsilon = 100000;
SET client_min_messages = warning;
SELECT count(*) IS NULL AS n FROM person;
SET client_min_messages = notice;
SELECT ward, count(*) IS NULL AS n, dp_error(count(*)) >= 0 AS e FROM person GROUP BY ROLLUP (ward) ORDER BY ward;
SELECT count(*) IS NULL AS n, dp_error(sum(age)) >= 0 AS e FROM person;
RESET dp_pg.transparent;
SET client_min_messages = warning;
\set VERBOSITY sqlstate
RESET ROLE;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
