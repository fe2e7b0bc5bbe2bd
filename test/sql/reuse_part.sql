-- dp_pg.reuse: a stored release of the same rows and keys that has more values
-- answers a query for some of them, and no other does.  `cost` is the number
-- of charges; NULL after an error.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test reuse_part
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
SET dp_pg.epsilon_floor = '';
CREATE FUNCTION cost(statement text) RETURNS bigint LANGUAGE sql AS $$ SELECT CASE state WHEN '00000' THEN charges END FROM outcome(statement) $$;
-- the one column of a statement, as text
CREATE FUNCTION list(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	v text;
BEGIN
	EXECUTE 'SELECT array_agg(v)::text FROM (' || statement || ') r (v)' INTO v;
	RETURN v;
END $$;
SET ROLE :owner;
CREATE TABLE visit (who int NOT NULL, ward text NOT NULL, cost int, code text NOT NULL);
INSERT INTO visit SELECT i % 100, (ARRAY['A','B'])[1 + i % 2], i % 50, 'c' || i % 3 FROM generate_series(1, 1000) i;
SELECT dp_protect('visit', unit => 'who', dataset => :'schema') \g /dev/null
SELECT dp_declare('visit', max_rows => 1) \g /dev/null
SELECT dp_declare('visit', 'ward', keys => ARRAY['A','B']) \g /dev/null
SELECT dp_declare('visit', 'cost', 0, 50) \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SET dp_pg.reuse = '1 hour';
SET dp_pg.epsilon = 0.001;

-- one release, asked for in parts: its values, in any order, with their errors
SELECT array_agg(feel)::text AS feel, array_agg(n)::text AS n, array_agg(s)::text AS s, array_agg(a)::text AS a, array_agg(e)::text AS e,
	array_agg(h)::text AS h, array_agg(m)::text AS m, array_agg(t)::text AS t
FROM (SELECT feel, dp_count(*) AS n, dp_sum(age) AS s, dp_avg(age, 0, 120, 10) AS a, dp_error(dp_avg(age, 0, 120, 10)) AS e, dp_histogram(age, 0, 100, 3) AS h, dp_max(born) AS m, dp_topk(ward, 2) AS t
	FROM person WHERE sex GROUP BY feel) w \gset
SELECT cost(q), v = :'feel' AS feel, v = :'n' AS n, v = :'s' AS s, v = :'a' AS a, v = :'e' AS e, v = :'h' AS h, v = :'m' AS m, v = :'t' AS t, q
FROM unnest(ARRAY['SELECT dp_count(*) FROM person WHERE sex GROUP BY feel',
	'SELECT s FROM (SELECT dp_sum(age) AS s, feel FROM person WHERE sex GROUP BY feel) q WHERE feel IS NULL OR feel IS NOT NULL',
	'SELECT feel FROM (SELECT dp_sum(age) AS s, feel FROM person WHERE sex GROUP BY feel) q WHERE s < 1e10',
	'SELECT dp_topk(ward, 2) FROM person WHERE sex GROUP BY feel',
	'SELECT dp_error(a) FROM (SELECT dp_avg(age, 0, 120, 10) AS a, feel FROM person WHERE sex GROUP BY feel) q',
	'SELECT dp_histogram(age, 0, 100, 3) FROM person WHERE sex GROUP BY feel HAVING dp_count(*) > -1e10',
	'SELECT m FROM (SELECT dp_max(born) AS m, dp_histogram(age, 0, 100, 3) AS h, dp_avg(age, 0, 120, 10) AS a, dp_sum(age), dp_count(*) FROM person WHERE sex GROUP BY feel) q WHERE h IS NOT NULL AND (a IS NULL OR a IS NOT NULL)',
	'SELECT p.a FROM (SELECT q.feel, dp_avg(q.age, 0, 120, 10) AS a FROM person q WHERE q.sex GROUP BY q.feel) p',
	'WITH r AS (SELECT feel, dp_count(*) AS n, dp_topk(ward, 2) AS t FROM person WHERE sex GROUP BY 1) SELECT n FROM r WHERE t IS NOT NULL']) q,
	list(q) v;
-- what decides about a row need not be shown
SELECT cost('SELECT feel, dp_sum(age) FROM person WHERE sex GROUP BY feel HAVING dp_count(*) > 0');
PREPARE part (int) AS SELECT dp_avg(age), dp_count(*) FROM person WHERE age > $1;
SELECT cost('EXECUTE part (18)'), cost('SELECT dp_count(*) FROM person WHERE age > 18'), cost('SELECT dp_count(*) FROM person WHERE age > 19');

-- other questions, each asked twice
SELECT cost(q) AS first, cost(q) AS again, q FROM unnest(ARRAY[
'SELECT feel, dp_count(1, 0.002) FROM person WHERE sex GROUP BY feel',
'SELECT feel, dp_count(age) FROM person WHERE sex GROUP BY feel',
'SELECT feel, dp_count(*) FILTER (WHERE age > 3) FROM person WHERE sex GROUP BY feel',
'SELECT feel, dp_count(*) FROM person WHERE NOT sex GROUP BY feel',
'SELECT dp_count(*) FROM person WHERE sex',
'SELECT sex, dp_count(*) FROM person WHERE sex GROUP BY sex',
'SELECT feel, sex, dp_count(*) FROM person WHERE sex GROUP BY feel, sex',
'SELECT feel, dp_sum(age, 0, 119) FROM person WHERE sex GROUP BY feel',
'SELECT feel, dp_avg(age, 0, 121) FROM person WHERE sex GROUP BY feel',
'SELECT feel, dp_variance(age) FROM person WHERE sex GROUP BY feel',
'SELECT feel, dp_histogram(age, 0, 100, 4) FROM person WHERE sex GROUP BY feel',
'SELECT feel, dp_min(born) FROM person WHERE sex GROUP BY feel',
'SELECT feel, dp_topk(ward, 1) FROM person WHERE sex GROUP BY feel',
'SELECT feel, dp_count(*), dp_stddev(age) FROM person WHERE sex GROUP BY feel']) q;
-- half of it stored here and half there is not stored
SELECT cost('SELECT feel, dp_stddev(age), dp_sum(age) FROM person WHERE sex GROUP BY feel');
-- under other settings
SET dp_pg.mechanism = gaussian;
SET dp_pg.delta = '1e-9';
SELECT cost('SELECT feel, dp_count(*) FROM person WHERE sex GROUP BY feel');
RESET dp_pg.mechanism;
RESET dp_pg.delta;
-- an epsilon that is divided by the number of values is another price
SET dp_pg.split = on;
SET dp_pg.epsilon = 0.01;
SELECT cost('SELECT dp_count(*), dp_sum(age) FROM person WHERE age > 50'), cost('SELECT dp_count(*) FROM person WHERE age > 50'),
	cost('SELECT dp_sum(age), dp_count(*) FROM person WHERE age > 50');
RESET dp_pg.split;
SELECT cost('SELECT dp_count(1, 0.005) FROM person WHERE age > 50');

-- the younger of two, so that what is asked together agrees
SET dp_pg.epsilon = 0.001;
SELECT cost('SELECT dp_count(*) FROM person WHERE age > 60') AS one;
SELECT dp_sum(age) AS s, dp_count(*) AS n FROM person WHERE age > 60 \gset
SELECT :n = dp_count(*) AS same FROM person WHERE age > 60;

-- units with many rows; keys that are told, and these alone
SET dp_pg.max_rows = 3;
SELECT cost('SELECT ward, dp_count(*), dp_sum(cost), dp_count(DISTINCT who) FROM visit GROUP BY ward') AS asked,
	cost('SELECT ward, dp_sum(cost) FROM visit GROUP BY ward') AS part, cost('SELECT ward, dp_count(DISTINCT who), dp_count(*) FROM visit GROUP BY ward') AS parts;
SET dp_pg.max_rows = 4;
SELECT cost('SELECT ward, dp_sum(cost) FROM visit GROUP BY ward') AS other;
RESET dp_pg.max_rows;
SET dp_pg.delta = '1e-9';
SET dp_pg.epsilon = 10;
SELECT array_agg(s)::text AS told FROM (SELECT code, dp_count(1, 0.001) AS n, dp_sum(cost, 0, 50, 0.001) AS s FROM visit GROUP BY code HAVING dp_count(1, 0.001) > -1e10) t \gset
SELECT list('SELECT s FROM (SELECT code, dp_sum(cost, 0, 50, 0.001) AS s FROM visit GROUP BY code) q') = :'told' AS same,
	cost('SELECT code, dp_count(1, 0.001) FROM visit GROUP BY code') AS part, cost('SELECT DISTINCT code FROM visit') AS keys, cost('SELECT code FROM visit GROUP BY code') AS grouped;
-- more of them is not told by fewer
SELECT cost('SELECT DISTINCT code FROM visit WHERE cost > 3') AS keys, cost('SELECT code, dp_count(1, 0.001) FROM visit WHERE cost > 3 GROUP BY code') AS more;
RESET dp_pg.delta;

-- groups that are left out by a number of rows that is released, too
SET dp_pg.suppress = on;
SET dp_pg.epsilon = 1;
SELECT cost('SELECT ward, dp_sum(age), dp_count(*), dp_min(age) FROM person GROUP BY ward') AS asked,
	cost('SELECT ward, dp_count(*) FROM person GROUP BY ward') AS part, cost('SELECT ward, dp_sum(age) FROM person GROUP BY ward') AS without_it,
	cost('SELECT ward, dp_min(age) FROM person GROUP BY ward') AS selected, cost('SELECT ward, dp_max(age) FROM person GROUP BY ward') AS another;
SET dp_pg.suppress = off;
SELECT cost('SELECT ward, dp_count(*) FROM person GROUP BY ward') AS all_groups, cost('SELECT ward, dp_sum(age) FROM person GROUP BY ward') AS sums;
RESET dp_pg.suppress;

-- EXPLAIN says so, and dp_last_release() what was given
CREATE FUNCTION plan(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE statement;
END $$;
SET dp_pg.epsilon = 0.001;
SELECT regexp_replace(p, '\d+ seconds?', 'n seconds') FROM plan('EXPLAIN SELECT feel, dp_sum(age) FROM person WHERE sex GROUP BY feel') p WHERE p ~ 'Answer|Charge';
SELECT feel, dp_sum(age) FROM person WHERE sex GROUP BY feel \g /dev/null
SELECT value, l.epsilon FROM dp_last_release() l;
SELECT max(hits) > 5 AS counted FROM dp_pg.answers;
-- a key is what it is computed to be: by other parameters, users and clocks it is another question
SET dp_pg.epsilon = 100000;
PREPARE third(int) AS SELECT (age + $1) % 3 AS g, dp_count(*) FROM person GROUP BY 1 ORDER BY 1;
EXECUTE third(0);
EXECUTE third(1);
PREPARE half(int) AS SELECT width_bucket(age, $1, 100, 2) AS g, dp_count(*) FROM person GROUP BY 1 ORDER BY 1;
SET plan_cache_mode = force_generic_plan;
EXECUTE half(10);
EXECUTE half(80);
RESET plan_cache_mode;
SELECT cost('EXECUTE half(80)'), cost('SELECT (age + CASE WHEN current_user = ''nobody'' THEN 0 ELSE 1 END) % 3 AS g, dp_count(*) FROM person GROUP BY 1'),
	cost('SELECT (age + CASE WHEN current_user = ''nobody'' THEN 1 ELSE 0 END) % 3 AS g, dp_count(*) FROM person GROUP BY 1');
PREPARE clock AS SELECT (age + extract(epoch FROM clock_timestamp())::int) % 3 AS g, dp_count(*) FROM person GROUP BY 1;
PREPARE second AS SELECT (age + extract(microsecond FROM now())::int) % 3 AS g, dp_count(*) FROM person GROUP BY 1;
SELECT cost('EXECUTE clock'), cost('EXECUTE second') + cost('EXECUTE second') + cost('EXECUTE second') > 0 AS drawn;
SET dp_pg.epsilon = 0.001;
-- who has no right to ask gets no part
RESET ROLE;
CREATE ROLE regress_reuse_part_other;
GRANT USAGE ON SCHEMA :schema TO regress_reuse_part_other;
SET ROLE regress_reuse_part_other;
SELECT * FROM outcome('SELECT feel, dp_count(*) FROM person WHERE sex GROUP BY feel');
RESET ROLE;
REVOKE USAGE ON SCHEMA :schema FROM regress_reuse_part_other;
DROP ROLE regress_reuse_part_other;
