-- dp_pg.transparent: plain aggregates become private ones.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test transparent
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
SET dp_pg.transparent = on;
SET dp_pg.epsilon = '1000000';
SELECT set_config('regress.owner', :'owner', false), set_config('regress.analyst', :'analyst', false) \g /dev/null
SET ROLE :owner;
CREATE TABLE plain_ward (code text PRIMARY KEY, name text);
INSERT INTO plain_ward VALUES ('A', 'first'), ('B', 'second'), ('C', 'third');
GRANT SELECT ON plain_ward TO :analyst;
CREATE VIEW people WITH (security_invoker) AS SELECT * FROM person;
GRANT SELECT ON people TO :analyst;
CREATE TABLE visit (who int NOT NULL, ward text NOT NULL, pay int);
INSERT INTO visit SELECT 1 + i % 50, (ARRAY['A','B'])[1 + i % 2], i % 10 FROM generate_series(1, 500) i;
SELECT dp_protect('visit', unit => 'who', dataset => :'schema') \g /dev/null
SELECT dp_declare('visit', 'ward', keys => ARRAY['A','B']) \g /dev/null
SELECT dp_declare('visit', 'pay', lower => 0, upper => 10) \g /dev/null
RESET ROLE;

-- the rows that a query gives, by who asks
CREATE FUNCTION rows_as(asker text, query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	rows text[];
BEGIN
	PERFORM set_config('role', asker, true);
	EXECUTE format('SELECT array_agg(t::text) FROM (%s) t', query) INTO rows;
	PERFORM set_config('role', 'none', true);
	RETURN rows;
END $$;
-- the owner's plain answer, and whether the analyst's is the same
CREATE FUNCTION same(query text, OUT plain text[], OUT same boolean) LANGUAGE plpgsql AS $$
BEGIN
	plain := rows_as(current_setting('regress.owner'), query);
	same := plain IS NOT DISTINCT FROM rows_as(current_setting('regress.analyst'), query);
END $$;

CREATE FUNCTION explained(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE 'EXPLAIN (COSTS OFF) ' || query;
END $$;

-- every aggregate, as it is written
SELECT * FROM same('SELECT count(*), count(feel), count(1), count(1.5), count(NULL), count(DISTINCT age) FROM person');
SELECT * FROM same('SELECT sum(1), sum(age), sum(age) FILTER (WHERE sex), sum(DISTINCT age), sum(CASE WHEN sex THEN 1 ELSE 0 END) FROM people');
SELECT * FROM same('SELECT round(avg(age), 2), round(avg(income), 2), round(avg(score)::numeric, 1), round(avg(age) FILTER (WHERE NOT sex), 2) FROM person');
SELECT * FROM same('SELECT round(variance(age), 1), round(var_samp(age), 1), round(var_pop(age)), round(stddev(age), 2), round(stddev_samp(age), 2), round(stddev_pop(age), 2) FROM person');
SELECT * FROM same('SELECT round(var_pop(score)::numeric), round(stddev_pop(income), 2), round(stddev_samp(score)::numeric, 2) FROM person');
SELECT * FROM same('SELECT min(age), max(age), min(born), max(born), min(DISTINCT age), max(CASE WHEN feel IS NULL THEN 1 ELSE 0 END) FROM person');
SELECT * FROM same('SELECT percentile_disc(0.255) WITHIN GROUP (ORDER BY age), percentile_disc(0.255) WITHIN GROUP (ORDER BY age DESC), percentile_disc(0.505) WITHIN GROUP (ORDER BY born) FROM person');
SELECT * FROM same('SELECT abs(percentile_cont(0.905) WITHIN GROUP (ORDER BY age) - 90) <= 1, abs(percentile_cont(0.095) WITHIN GROUP (ORDER BY age DESC) - 90) <= 1, abs(percentile_cont(0.5) WITHIN GROUP (ORDER BY income) - 25) <= 1 FROM person');
SELECT * FROM same('SELECT round(corr(age, score)::numeric, 3), round(covar_pop(age, score)::numeric), round(covar_samp(score, age)::numeric), regr_count(age, score), round(regr_avgx(age, score)::numeric, 1), round(regr_avgy(age, score)::numeric, 1) FROM person');
SELECT * FROM same('SELECT round(regr_slope(score, age)::numeric, 2), round(regr_intercept(score, age)::numeric, 1), round(regr_r2(score, age)::numeric, 2), round(regr_sxx(score, age)::numeric / 1000), round(regr_sxy(score, age)::numeric / 1000), round(regr_syy(score, age)::numeric / 1000) FROM person');
SELECT * FROM same('SELECT mode() WITHIN GROUP (ORDER BY ward) FROM person WHERE ward <> ''A'' AND ward <> ''B''');
-- none that answers the same: refused, with a hint
SET ROLE :analyst;
SELECT * FROM outcome('SELECT string_agg(ward, '','') FROM person');
SELECT * FROM outcome('SELECT count(*), array_agg(age) FROM person');
SELECT * FROM outcome('SELECT min(ward) FROM person');
SELECT * FROM outcome('SELECT percentile_cont(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY age) FROM person');
SELECT * FROM outcome('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY ward) FROM person');
SELECT * FROM outcome('SELECT ward FROM person GROUP BY ROLLUP (ward)');
SELECT * FROM outcome('SELECT sum(pay) FROM (SELECT who, sum(pay) AS pay FROM visit GROUP BY who) v');
SELECT * FROM outcome('SELECT who, sum(pay) FROM visit GROUP BY who');
-- what is cast to another type of numbers keeps its grid
RESET ROLE;
SELECT * FROM same('SELECT sum(age::float8), sum(age::numeric), max(age::float8), percentile_cont(0.255) WITHIN GROUP (ORDER BY age::numeric) BETWEEN 25 AND 26, stddev(age::bigint)::numeric(6, 2), sum(DISTINCT age::int8) FROM person');
SET ROLE :analyst;
-- names and types are those of the plain query
CREATE TABLE made AS SELECT count(*), sum(age), avg(age), stddev_pop(score), max(born), min(age), sum(income) AS "All", percentile_cont(0.5) WITHIN GROUP (ORDER BY age), percentile_disc(0.5) WITHIN GROUP (ORDER BY age) AS half, sum(1) AS one, variance(age::float4), sum(age::bigint) AS big, sum(score::real) FILTER (WHERE sex) AS small, count(*) + 1 AS more FROM person;
RESET ROLE;
SET dp_pg.transparent = off;
SET ROLE :owner;
CREATE TABLE plain_made AS SELECT count(*), sum(age), avg(age), stddev_pop(score), max(born), min(age), sum(income) AS "All", percentile_cont(0.5) WITHIN GROUP (ORDER BY age), percentile_disc(0.5) WITHIN GROUP (ORDER BY age) AS half, sum(1) AS one, variance(age::float4), sum(age::bigint) AS big, sum(score::real) FILTER (WHERE sex) AS small, count(*) + 1 AS more FROM person;
RESET ROLE;
SET dp_pg.transparent = on;
SELECT count(*), bool_and((a.attname, a.atttypid) = (b.attname, b.atttypid)) AS same FROM pg_attribute a JOIN pg_attribute b USING (attnum)
WHERE a.attrelid = 'made'::regclass AND b.attrelid = 'plain_made'::regclass AND attnum > 0;

-- what tools write
SELECT * FROM same('SELECT ward, count(*) FROM people WHERE ward <> ''X'' GROUP BY 1 ORDER BY 1 DESC LIMIT 2');
SELECT * FROM same('SELECT ''x''::text AS one FROM person HAVING (COUNT(1) > 0)');
SELECT * FROM same('SELECT ''x''::text AS one FROM person WHERE age > 500 HAVING (COUNT(1) > 0)');
SELECT * FROM same('SELECT CAST(p.ward AS TEXT) AS w, COALESCE(SUM(CAST(p.age AS DOUBLE PRECISION)), 0) FROM people p WHERE ward IN (''A'', ''C'') GROUP BY 1 ORDER BY 1 FETCH NEXT 500 ROWS ONLY');
SELECT * FROM same('select "_"."ward", "_"."a0" from (select "rows"."ward" as "ward", sum("rows"."age") as "a0", count(1) as a1 from (select "_"."ward", "_"."age", "_"."id", "_"."born" from people "_" where "_"."age" < 50 and ward < ''D'') "rows" group by "ward") "_" where not "_"."a0" is null order by 1 limit 1000001');
SELECT * FROM same('SELECT ward, born, SUM(SUM(age)) OVER (PARTITION BY ward ORDER BY born ROWS UNBOUNDED PRECEDING) FROM person WHERE born < date ''2020-01-04'' AND ward IN (''A'', ''B'') GROUP BY ward, born ORDER BY 1, 2');
SELECT * FROM same('SELECT s.m, COUNT(*), LAG(COUNT(*), 1) OVER (ORDER BY s.m) FROM (SELECT DATE_TRUNC(''month'', born) AS m FROM person) s GROUP BY s.m ORDER BY 1');
SELECT * FROM same('SELECT ward, round(100.0 * count(*) / sum(count(*)) OVER (), 1) FROM person WHERE ward < ''D'' GROUP BY ward ORDER BY 1');
SELECT * FROM same('SELECT ward, 100 * count(CASE WHEN age > 49 THEN id END) / NULLIF(count(id), 0) FROM person WHERE ward < ''D'' GROUP BY ward ORDER BY 1');
SELECT * FROM same('SELECT count(distinct feel) + max(case when feel is null then 1 else 0 end) FROM person');
SELECT * FROM same('SELECT date_trunc(''day'', (born::timestamptz AT TIME ZONE ''UTC'')), count(*) FROM person WHERE born < date ''2020-01-03'' GROUP BY 1 ORDER BY 1');
SELECT * FROM same('SELECT floor(age / 25.0) * 25, count(*) FROM person GROUP BY 1 ORDER BY 1');
SELECT * FROM same('WITH a AS (SELECT ward, age FROM people), b AS (SELECT ward, sum(age) AS s FROM a WHERE ward < ''D'' GROUP BY ward) SELECT max(s), count(*), avg(s) FROM b');
SELECT * FROM same('SELECT ward, n, max(n) OVER () FROM (SELECT ward, count(*) AS n FROM person WHERE ward < ''D'' GROUP BY ward) q WHERE n > (SELECT count(*) / 5 FROM people) ORDER BY 1');
SELECT * FROM same('SELECT p.name, q.n FROM plain_ward p LEFT JOIN (SELECT ward, count(*) AS n FROM person GROUP BY ward) q ON q.ward = p.code ORDER BY 1');
SELECT * FROM same('SELECT count(*) FROM person WHERE ward < ''D'' UNION ALL SELECT count(*) FROM plain_ward');
SELECT * FROM same('SELECT ward, (SELECT count(*) FROM plain_ward w WHERE w.code = p.ward) AS known, sum(age) FROM person p WHERE ward < ''C'' GROUP BY ward ORDER BY 1');
-- grouping sets: a level for each
SELECT * FROM same('SELECT ward, count(*), grouping(ward) FROM person WHERE ward < ''D'' GROUP BY ROLLUP (ward) ORDER BY 3, 1');
SELECT * FROM same('SELECT sex, ward, upper(ward) || ''x'', sum(age), grouping(ward, sex) FROM people WHERE ward < ''C'' GROUP BY CUBE (sex, ward) HAVING sum(age) > 0 ORDER BY 5, 1, 2 LIMIT 7');
SELECT * FROM same('WITH p AS (SELECT sex, feel FROM people) SELECT coalesce(sex::text, ''all''), n, sum(n) OVER (PARTITION BY sex IS NULL) FROM (SELECT sex, count(*) AS n FROM p GROUP BY GROUPING SETS ((sex), (), (sex))) q ORDER BY 1, 2');
-- their keys have the type modifiers of the plain query
SET ROLE :owner;
CREATE TABLE coded (id int PRIMARY KEY, code varchar(7));
INSERT INTO coded SELECT i, chr(65 + i % 2) FROM generate_series(1, 100) i;
SELECT dp_protect('coded', dataset => :'schema') \g /dev/null
SELECT dp_declare('coded', 'code', keys => ARRAY['A', 'B']) \g /dev/null
SET ROLE :analyst;
CREATE TABLE rolled AS SELECT code, count(*) FROM coded GROUP BY ROLLUP (code);
RESET ROLE;
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'rolled'::regclass AND attnum > 0 ORDER BY attnum;
-- keys alone are public values
SELECT * FROM same('SELECT DISTINCT sex FROM person ORDER BY 1');
SELECT * FROM same('SELECT count(*) FROM (SELECT sex FROM person GROUP BY sex) q');

-- groups that look empty are left out, counts are not negative
SET ROLE :analyst;
SELECT ward, count(*) FROM person GROUP BY ward ORDER BY ward;
SELECT ward, sum(age) FROM person GROUP BY ward ORDER BY ward;
SET dp_pg.suppress = off;
SELECT ward, count(*) FROM person GROUP BY ward ORDER BY ward;
SET dp_pg.epsilon = '0.01';
SELECT min(n) >= 0 AS never, count(*) FROM (SELECT age, count(*) AS n FROM person WHERE id < 0 GROUP BY age) q;
SET dp_pg.suppress = auto;
-- 121 groups of which each is told of by chance with probability 0.025
SELECT count(*) < 30 AS few FROM (SELECT age, count(*) AS n FROM person WHERE id < 0 GROUP BY age) q;
SET dp_pg.epsilon = '1000000';
SELECT line FROM explained('SELECT ward, sum(age) FROM person GROUP BY ward') line WHERE line ~ 'Released|Left Out';
SET dp_pg.suppress = on;
SET dp_pg.transparent = off;
SELECT ward, dp_count(*) FROM person GROUP BY ward ORDER BY ward;
RESET dp_pg.suppress;
SELECT ward, dp_count(*) FROM person GROUP BY ward ORDER BY ward;
SET dp_pg.transparent = on;

-- values of no rows are NULL, or 0; without the mode some are any
SET ROLE :analyst;
SELECT count(*), sum(age), min(age), max(born), percentile_cont(0.5) WITHIN GROUP (ORDER BY age), mode() WITHIN GROUP (ORDER BY ward), max(age) FILTER (WHERE sex) FROM person WHERE id < 0;
SELECT min(age), min(age) FILTER (WHERE age > 200), max(age) FILTER (WHERE age < 50), var_pop(age) FILTER (WHERE id = 7) IS NULL AS pop FROM person;
-- of 160 means and variances each is told of by chance with probability 0.025 at most: more than 40 with one below 1e-22
CREATE FUNCTION told() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	told bigint := 0;
BEGIN
	FOR i IN 1 .. 40 LOOP
		SELECT told + num_nonnulls(a, b, c, d) INTO told FROM (SELECT avg(age) AS a, stddev(age) AS b, var_pop(age) AS c, (SELECT variance(age) FROM person WHERE id = 7 AND age <> i + 1000) AS d FROM person WHERE id < 0 AND age <> i + 1000) q;
	END LOOP;
	RETURN told;
END $$;
SELECT told() <= 40 AS few;
SELECT min(age), max(age), max(age) FILTER (WHERE sex) FROM person;
SELECT value, epsilon FROM dp_last_release();

-- dp_pg.epsilon is the price of the query, the added number included
SET dp_pg.epsilon = '1';
SELECT spent() \g /dev/null
SELECT count(*) > 0 AS answered FROM (SELECT ward, sum(age) AS s, avg(age) AS a FROM person GROUP BY ward) q WHERE s > -1e9 AND a > -1e9;
SELECT * FROM spent();
SELECT count(*) > 0 AS answered FROM (SELECT ward, count(*) AS n FROM person WHERE age >= (SELECT min(a) FROM (SELECT sex, avg(age) AS a FROM person GROUP BY sex) p) GROUP BY ward) q;
SELECT * FROM spent();
-- what nothing uses is not released
SELECT ward FROM (SELECT ward, count(*) AS n, sum(age) AS s, avg(age) AS a FROM person WHERE ward IN ('A', 'B', 'C') GROUP BY ward) q ORDER BY 1;
SELECT value, epsilon FROM dp_last_release();
SELECT count(*) FROM (SELECT s FROM (SELECT count(*) AS n, sum(age) AS s, avg(age) AS a FROM person) p) q;
SELECT value, epsilon FROM dp_last_release();
SELECT * FROM spent();
SET dp_pg.transparent = off;
SELECT n > 0 AS answered FROM (SELECT dp_count(*) AS n, dp_sum(age) AS s, random() AS r FROM person) q;
SELECT value, epsilon FROM dp_last_release();
-- the row as such, set operations and DISTINCT use all of it
SELECT q IS NOT NULL AS answered FROM (SELECT dp_count(*) AS n, dp_sum(age) AS s FROM person) q;
SELECT count(*) FROM (SELECT dp_count(*), dp_sum(age) FROM person UNION SELECT 1, 2) q;
SELECT count(*) FROM (SELECT DISTINCT dp_count(*), dp_sum(age) FROM person) q;
SELECT * FROM spent();
SET dp_pg.transparent = on;
SET dp_pg.epsilon = '1000000';

-- probes are free
SELECT * FROM person LIMIT 0;
SELECT p.ward FROM (SELECT ward, age FROM people) p LIMIT 0;
SELECT count(*), count(age), sum(age), avg(age), string_agg(ward, ','), corr(age, score), 1 AS one FROM person WHERE 1 = 0;
SELECT count(*) FROM person WHERE false AND age = 1 HAVING count(*) > 0;
SELECT dp_count(age), dp_regr_count(age, score), dp_sum(age), regr_count(age, score) FROM person WHERE false;
SELECT ward, count(*) FROM person WHERE 1 = 0 GROUP BY ward;
SELECT ward, age FROM person WHERE false;
SELECT count(*) FROM (SELECT * FROM person WHERE 1 = 0) q;
WITH q AS (SELECT * FROM person) SELECT * FROM q LIMIT 0;
SELECT count(*), sum(age) FROM person LIMIT 0;
EXPLAIN (COSTS OFF) SELECT age FROM person LIMIT 0;
SELECT * FROM spent();
-- previews have no rows, and say so; in statements that write and functions they are refused
SET client_min_messages = notice;
\set VERBOSITY terse
SELECT ward, age + 1 AS older FROM people ORDER BY 2 LIMIT 100;
SELECT * FROM (SELECT * FROM people LIMIT 10) p WHERE age > 3;
BEGIN;
DECLARE c CURSOR FOR SELECT ward FROM (SELECT * FROM person) p WHERE age > 1 LIMIT 10;
FETCH ALL FROM c;
COMMIT;
EXPLAIN (COSTS OFF) SELECT ward FROM person LIMIT 10;
SET client_min_messages = warning;
\set VERBOSITY sqlstate
SELECT ward FROM person;
SELECT ward FROM person LIMIT (SELECT 1);
SELECT row_number() OVER () FROM person LIMIT 1;
SELECT ward FROM person, plain_ward LIMIT 1;
CREATE TABLE taken AS SELECT ward FROM person LIMIT 1;
INSERT INTO made (one) SELECT age FROM person LIMIT 1;
SELECT (SELECT ward FROM person LIMIT 1);
SELECT * FROM (SELECT ward FROM person LIMIT 1) q, plain_ward;
SELECT ward FROM person LIMIT 1 FOR UPDATE;
SELECT * FROM outcome('SELECT ward FROM person LIMIT 1');
EXPLAIN CREATE TABLE taken AS SELECT ward FROM person LIMIT 1;
PREPARE first AS SELECT ward FROM person LIMIT 1;
EXECUTE first;
COPY (SELECT ward FROM person LIMIT 1) TO STDOUT;
SELECT ward FROM person UNION ALL SELECT code FROM plain_ward LIMIT 1;
SELECT 1 WHERE EXISTS (SELECT FROM person WHERE age = 3);
UPDATE person SET age = 0;
DELETE FROM person WHERE age = (SELECT min(age) FROM person);
SELECT * FROM spent();
-- a refusal names what was asked, and says what can be
\set VERBOSITY default
SET dp_pg.transparent = on;
DO $$
DECLARE
	detail text;
	hint text;
	q text;
BEGIN
	FOREACH q IN ARRAY ARRAY['SELECT * FROM people', 'SELECT id FROM (SELECT * FROM people) p', 'SELECT * FROM person', 'WITH p AS (SELECT age FROM people) SELECT max(age) OVER () FROM p'] LOOP
		BEGIN
			EXECUTE q;
		EXCEPTION WHEN insufficient_privilege THEN
			GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
			RAISE WARNING '% | % | %', SQLERRM, regexp_replace(detail, '[0-9.]{4,}', 'N'), hint;
		END;
	END LOOP;
END $$;
\set VERBOSITY sqlstate

-- prepared plans follow the settings
SET plan_cache_mode = force_generic_plan;
PREPARE counted AS SELECT count(*) FROM person WHERE age < $1;
EXECUTE counted(10);
SET dp_pg.transparent = off;
EXECUTE counted(10);
SET dp_pg.transparent = on;
EXECUTE counted(10);
PREPARE wards AS SELECT ward, count(*) FROM person GROUP BY ward ORDER BY ward;
EXECUTE wards;
SET dp_pg.suppress = off;
EXECUTE wards;
RESET dp_pg.suppress;
RESET plan_cache_mode;
-- who may not read a view is told nothing of it
RESET ROLE;
REVOKE SELECT ON people FROM :analyst;
SET ROLE :analyst;
SELECT ward FROM people LIMIT 0;
SELECT ward FROM people LIMIT 10;
SELECT count(*) FROM people WHERE false;
RESET ROLE;
GRANT SELECT ON people TO :analyst;
SET ROLE :analyst;
-- one empty set; an integer that is cast where it is chosen; no value where none is chosen from
SELECT * FROM same('SELECT count(*) FROM person GROUP BY ()');
SELECT * FROM same('SELECT count(*), sum(age) FROM person GROUP BY GROUPING SETS (())');
SELECT q, o.* FROM unnest(ARRAY['age::numeric', 'age::float8', 'age::bigint']) q, outcome('SELECT mode() WITHIN GROUP (ORDER BY ' || q || ') FROM person WHERE age > 98') o;
SELECT max(CASE WHEN age > 500 THEN age END), min(nullif(age, age)), percentile_cont(0.5) WITHIN GROUP (ORDER BY CASE WHEN age > 500 THEN age END) FROM person;
SELECT ward, max(CASE WHEN feel = 'happy' THEN age END) FROM person WHERE ward < 'D' GROUP BY 1;
SELECT mode() WITHIN GROUP (ORDER BY feel) FROM person WHERE feel IS NULL;
SELECT 1 AS one FROM person WHERE false HAVING true;
SELECT ward, grouping(ward), count(*) FROM person WHERE false GROUP BY ward;
-- groups of the unit, through chains of WITH queries, either side of a FULL JOIN and UNION ALL: with a delta, too
CREATE VIEW any_visit AS SELECT who, a.pay FROM visit a FULL JOIN visit b USING (who);
GRANT SELECT ON any_visit TO :owner;
CREATE FUNCTION by_unit() RETURNS SETOF text LANGUAGE sql AS $$ SELECT format('SELECT * FROM same(%L);', q) FROM unnest(ARRAY[
	'WITH a AS (SELECT who, pay FROM visit WHERE pay > 0), b AS (SELECT who, pay FROM a WHERE pay < 90), g AS (SELECT who, count(*) AS n FROM b GROUP BY who) SELECT count(*) FROM g WHERE n > 1',
	'WITH a AS (SELECT who FROM visit), g AS (SELECT who, count(*) AS n FROM (SELECT who FROM a) s GROUP BY who) SELECT count(*) FROM g WHERE n > 1',
	'WITH a AS (SELECT who FROM visit), b AS (WITH a AS (SELECT 1 AS who) SELECT who FROM visit), g AS (SELECT who, count(*) AS n FROM b GROUP BY who) SELECT count(*) FROM g WHERE n > 1',
	'WITH a AS (SELECT who FROM visit), b AS (SELECT who FROM a WHERE who > 5), c AS (SELECT who FROM a UNION ALL SELECT who FROM b), g AS (SELECT who, count(*) AS n FROM c GROUP BY who) SELECT count(*) FROM g WHERE n > 1',
	'SELECT count(*) FROM (SELECT who, count(*) AS n FROM visit a FULL JOIN visit b USING (who) GROUP BY who) t WHERE n > 1',
	'SELECT count(*) FROM (SELECT coalesce(a.who, b.who) AS who, count(*) AS n FROM visit a FULL JOIN visit b ON a.who = b.who GROUP BY 1) t WHERE n > 1',
	'SELECT count(*) FROM (SELECT who, count(*) AS n FROM any_visit GROUP BY who) t WHERE n > 1',
	'WITH a AS (SELECT who FROM visit), b AS (SELECT who FROM a) SELECT count(*) FROM (SELECT DISTINCT who FROM b) t',
	'SELECT count(*) FROM (SELECT who::bigint AS w, count(*) AS n FROM visit GROUP BY 1) t WHERE n > 1']) q $$;
SELECT by_unit() \gexec
SET dp_pg.delta = '1e-9';
SELECT by_unit() \gexec
RESET dp_pg.delta;
-- queries that use one another twice are refused soon
CREATE FUNCTION doubled(n int, first text, next text, last text) RETURNS text LANGUAGE sql AS $$
	SELECT 'WITH c0 AS (' || first || '), ' || string_agg(format('c%s AS (%s)', i, replace(next, '@', 'c' || i - 1)), ', ') || ' ' || replace(last, '@', 'c' || n) FROM generate_series(1, n) i
$$;
SET statement_timeout = '60s';
SELECT state, hinted FROM outcome(doubled(30, 'SELECT who FROM visit', 'SELECT who FROM @ UNION ALL SELECT who FROM @', 'SELECT count(*) FROM (SELECT who, count(*) AS n FROM @ GROUP BY who) t'));
SELECT state, hinted FROM outcome(doubled(30, 'SELECT who FROM visit', 'SELECT coalesce(a.who, b.who) AS who FROM @ a FULL JOIN @ b ON a.who = b.who', 'SELECT count(*) FROM (SELECT who, count(*) AS n FROM @ GROUP BY who) t'));
SELECT state, hinted FROM outcome(doubled(30, 'SELECT who FROM visit', 'SELECT coalesce(a.who, b.who) AS who FROM @ a FULL JOIN @ b ON a.who = b.who', 'SELECT dp_count(*) FROM @'));
RESET statement_timeout;
-- an unprotected table is not looked at
SELECT count(*), string_agg(code, ',' ORDER BY code), count(*) OVER () FROM plain_ward;
EXPLAIN (COSTS OFF) SELECT count(*) FROM plain_ward;
-- a session is told once
\c -
SELECT set_config('search_path', :'schema', false) \g /dev/null
\set VERBOSITY terse
SET dp_pg.transparent = on;
SET ROLE :analyst;
SELECT count(*) AS none FROM person WHERE false;
SELECT count(*) > 500 AS most FROM person;
SELECT count(*) > 500 AS most FROM person;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
