-- dp_pg.reuse: an identical query is answered with the values released before,
-- and no other query is.  `cost` is the number of charges: 0 if an answer was
-- reused, NULL after an error.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test reuse
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
\set member regress_ :test _member
\set other regress_ :test _other
CREATE ROLE :member IN ROLE :analyst;
CREATE ROLE :other;
GRANT USAGE, CREATE ON SCHEMA :schema TO :other;
CREATE FUNCTION cost(statement text) RETURNS bigint LANGUAGE sql AS $$ SELECT CASE state WHEN '00000' THEN charges END FROM outcome(statement) $$;
SET ROLE :owner;
SELECT dp_grant(:'other', dataset => :'schema', epsilon => 1e11) \g /dev/null
CREATE TABLE visit (who int NOT NULL, ward text NOT NULL, cost int, code text NOT NULL);
INSERT INTO visit SELECT i % 100, (ARRAY['A','B'])[1 + i % 2], i % 50, 'c' || i % 3 FROM generate_series(1, 1000) i;
SELECT dp_protect('visit', unit => 'who', dataset => :'schema') \g /dev/null
SELECT dp_declare('visit', max_rows => 1) \g /dev/null
SELECT dp_declare('visit', 'ward', keys => ARRAY['A','B']) \g /dev/null
RESET ROLE;

-- the default: off, but in transparent mode
SET ROLE :analyst;
SELECT cost(q), cost(q) FROM (VALUES ('SELECT dp_count(*) FROM person')) v (q);
SET dp_pg.transparent = on;
SELECT cost(q), cost(q) FROM (VALUES ('SELECT count(*) FROM person')) v (q);
SET dp_pg.reuse = off;
SELECT cost('SELECT count(*) FROM person');
RESET dp_pg.transparent;
-- what it may be
SET dp_pg.reuse = 'on';
SET dp_pg.reuse = '0';
SET dp_pg.reuse = '-1 hour';
SET dp_pg.reuse = '2 years';
SET dp_pg.reuse = 'tomorrow';
SET dp_pg.reuse = '1 day 02:00';
SET dp_pg.reuse = 'Auto';
SET dp_pg.reuse = '1 hour';

-- one question in many ways
SELECT cost('SELECT ward, dp_avg(age), dp_count(*) FROM person WHERE age >= 18 AND sex GROUP BY ward') AS asked;
SELECT cost(q), q FROM unnest(ARRAY[
'SELECT ward, dp_avg(age), dp_count(*) FROM person WHERE age >= 18 AND sex GROUP BY ward',
'SELECT p.ward AS w, dp_avg(p.age) a, dp_count(*) FROM person AS p WHERE p.sex AND p.age >= 18 GROUP BY 1 ORDER BY 3 LIMIT 1',
'SELECT max(n) FROM (SELECT ward, dp_avg(age) AS a, dp_count(*) AS n FROM person WHERE sex AND age >= 18 GROUP BY ward) r WHERE a > 0',
'WITH root AS (SELECT ward, dp_avg(age), dp_count(*) FROM person WHERE age >= 18 AND sex GROUP BY ward) SELECT r.*, s.* FROM root r, root s',
'SELECT 1 FROM (SELECT ward, dp_avg(age) AS a, dp_count(*) AS n FROM person WHERE age >= 18 AND sex GROUP BY ward HAVING dp_count(*) > 10) r WHERE a > n OFFSET 2']) q;
PREPARE by_age (int) AS SELECT ward, dp_avg(age), dp_count(*) FROM person WHERE age >= $1 AND sex GROUP BY ward;
SELECT cost('EXECUTE by_age (18)'), cost('EXECUTE by_age (19)'), cost('EXECUTE by_age (19)');
SELECT cost('SELECT ward, dp_avg(age), dp_count(*) FROM person WHERE age >= 19 AND sex GROUP BY ward');
SET plan_cache_mode = force_generic_plan;
SELECT cost('EXECUTE by_age (18)'), cost('EXECUTE by_age (20)'), cost('EXECUTE by_age (20)');
RESET plan_cache_mode;

-- the same block twice in a statement: one charge, one draw
RESET ROLE;
SET dp_pg.epsilon_floor = '';
SET ROLE :analyst;
SELECT spent() \g /dev/null
SELECT a.h = b.h AS same FROM (SELECT dp_histogram(age, 0, 100, 100, 0.000001) AS h FROM person) a,
	(SELECT dp_histogram(age, 0, 100, 100, 0.000001) AS h FROM person) b;
SELECT * FROM spent();
SELECT ledger_id = (SELECT max(id) FROM dp_pg.ledger) AS told, dp_last_release.epsilon FROM dp_last_release();

-- each of these is another question: asked once, it costs; asked again, not
SELECT cost(q) AS first, cost(q) AS again, q FROM unnest(ARRAY[
'SELECT dp_count(*) FROM person WHERE age >= 18',
'SELECT dp_count(*) FROM person WHERE age >= 18::bigint',
'SELECT dp_count(*) FROM person WHERE age >= 18.0',
'SELECT dp_count(*) FROM person WHERE age > 18',
'SELECT dp_count(*) FROM person WHERE NOT age >= 18',
'SELECT dp_count(*) FROM person WHERE age >= 18 OR sex',
'SELECT dp_count(*) FROM person WHERE age >= 18 AND sex',
'SELECT dp_count(age) FROM person WHERE age >= 18',
'SELECT dp_count(income) FROM person WHERE age >= 18',
'SELECT dp_count(*) FILTER (WHERE sex) FROM person WHERE age >= 18',
'SELECT dp_count(*) FILTER (WHERE NOT sex) FROM person WHERE age >= 18',
'SELECT dp_count(1, 0.5) FROM person WHERE age >= 18',
'SELECT dp_count(1, 0.50001) FROM person WHERE age >= 18',
'SELECT dp_count(*), dp_count(*) FILTER (WHERE sex) FROM person WHERE age >= 18',
'SELECT dp_count(DISTINCT age) FROM person',
'SELECT dp_count(DISTINCT born) FROM person',
'SELECT dp_sum(age) FROM person',
'SELECT dp_sum(age, 0, 120) FROM person',
'SELECT dp_sum(age, 0, 119) FROM person',
'SELECT dp_sum(age, 1, 120) FROM person',
'SELECT dp_sum(age + 0) FROM person',
'SELECT dp_avg(age) FROM person',
'SELECT dp_variance(age) FROM person',
'SELECT dp_stddev(age) FROM person',
'SELECT dp_quantile(age, 0.5) FROM person',
'SELECT dp_quantile(age, 0.25) FROM person',
'SELECT dp_median(age) FROM person',
'SELECT dp_min(age) FROM person',
'SELECT dp_max(age) FROM person',
'SELECT dp_histogram(age, 0, 100, 10) FROM person',
'SELECT dp_histogram(age, 0, 100, 11) FROM person',
'SELECT dp_argmax(ward) FROM person',
'SELECT dp_argmax(ward, ARRAY[''A'',''B'']) FROM person',
'SELECT dp_argmax(ward, ARRAY[''B'',''A'']) FROM person',
'SELECT dp_topk(ward, 2) FROM person',
'SELECT ward, dp_count(*) FROM person GROUP BY ward',
'SELECT ward, dp_count(*) FROM person WHERE ward <> ''A'' GROUP BY ward',
'SELECT ward, dp_count(*) FROM person WHERE ward IN (''A'', ''B'') GROUP BY ward',
'SELECT ward, dp_count(*) FROM person WHERE ward IN (''B'', ''A'') GROUP BY ward',
'SELECT sex, dp_count(*) FROM person GROUP BY sex',
'SELECT feel, dp_count(*) FROM person GROUP BY feel',
'SELECT sex, feel, dp_count(*) FROM person GROUP BY sex, feel',
'SELECT date_trunc(''month'', born), dp_count(*) FROM person GROUP BY 1',
'SELECT date_trunc(''quarter'', born), dp_count(*) FROM person GROUP BY 1',
'SELECT extract(month FROM born), dp_count(*) FROM person GROUP BY 1',
'SELECT dp_count(*) FROM person WHERE ward = ''A'' COLLATE "C"',
'SELECT dp_count(*) FROM person WHERE ward = ''A''',
'SELECT dp_count(*) FROM person WHERE ward LIKE ''A%''',
'SELECT dp_count(*) FROM person WHERE seen >= timestamptz ''2020-02-01''',
'SELECT dp_count(*) FROM person WHERE seen >= timestamp ''2020-02-01''',
'SELECT dp_count(*) FROM person WHERE extract(hour FROM seen) = 3',
'SELECT dp_count(*) FROM visit',
'SELECT ward, dp_count(*) FROM visit GROUP BY ward',
'SELECT dp_count(DISTINCT who) FROM visit',
'SELECT dp_count(*) FROM visit v JOIN (SELECT * FROM visit WHERE cost > 3) w USING (who)',
'SELECT dp_count(*) FROM visit v JOIN (SELECT * FROM visit WHERE cost > 4) w USING (who)']) q;

-- and under each of these settings
SELECT spent() \g /dev/null
CREATE FUNCTION cost_under(setting text, value text, statement text) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
	former text := current_setting(setting);
	costs bigint[];
BEGIN
	PERFORM set_config(setting, value, false);
	costs := ARRAY[cost(statement), cost(statement)];
	PERFORM set_config(setting, former, false);
	RETURN costs || cost(statement);
END $$;
SELECT cost('SELECT dp_count(*) FROM person WHERE extract(hour FROM seen) = 3');
SELECT s, cost_under(s, v, 'SELECT dp_count(*) FROM person WHERE extract(hour FROM seen) = 3')
FROM (VALUES ('TimeZone', 'Asia/Tokyo'), ('DateStyle', 'SQL, DMY'), ('IntervalStyle', 'iso_8601'), ('extra_float_digits', '0'),
	('bytea_output', 'escape'), ('dp_pg.epsilon', '50000'), ('dp_pg.max_rows', '2'), ('dp_pg.max_total', '2'), ('dp_pg.split', 'on'),
	('dp_pg.suppress', 'on'), ('dp_pg.delta', '1e-9')) v (s, v);
SELECT cost('SELECT ward, dp_count(*) FROM visit GROUP BY ward');
SELECT s, cost_under(s, v, 'SELECT ward, dp_count(*) FROM visit GROUP BY ward')
FROM (VALUES ('dp_pg.max_rows', '3'), ('dp_pg.max_keys', '2')) v (s, v);
SET dp_pg.delta = '1e-9';
SELECT cost(q) AS first, cost(q) AS again, q FROM unnest(ARRAY[
'SELECT code, dp_count(*) FROM visit GROUP BY code',
'SELECT code, dp_count(DISTINCT who) FROM visit GROUP BY code',
'SELECT DISTINCT code FROM visit']) q;
SET dp_pg.mechanism = gaussian;
SELECT cost(q) AS first, cost(q) AS again, q FROM unnest(ARRAY['SELECT dp_count(1, 0.5) FROM person WHERE age >= 18']) q;
RESET dp_pg.mechanism;
SET dp_pg.delta = '1e-8';
SELECT cost('SELECT code, dp_count(*) FROM visit GROUP BY code');
RESET dp_pg.delta;
-- keys that were told come back as they were; a unit is in three
SET dp_pg.max_keys = 3;
SET dp_pg.delta = '1e-9';
CREATE TEMPORARY TABLE told AS SELECT code, dp_count(*) AS n FROM visit GROUP BY code;
SELECT count(*), bool_and(t.n = v.n) FROM told t JOIN (SELECT code, dp_count(*) AS n FROM visit GROUP BY code) v USING (code);
-- nothing is told of sorting them, or who does not read it would hold up who waits
SET client_min_messages = log;
SET trace_sort = on;
SELECT count(*) FROM (SELECT code, dp_count(*) FROM visit WHERE cost > 1 GROUP BY code) v;
SET trace_sort = off;
SET client_min_messages = warning;
RESET dp_pg.max_keys;
RESET dp_pg.delta;

-- a time that moves is another question each time; within a transaction it does not move
SELECT cost(q), cost(q) FROM (VALUES ('SELECT dp_count(*) FROM person WHERE seen < now() - interval ''1 day''')) v (q);
SELECT cost('SELECT dp_count(*) FROM person WHERE seen < now() - interval ''1 day''');
-- whose name it is
SELECT cost('SELECT dp_count(*) FROM person WHERE ward = current_user::text') AS asked,
	cost('SELECT dp_count(*) FROM person WHERE ward = current_user::text') AS again;
SET ROLE :member;
SELECT cost('SELECT dp_count(*) FROM person WHERE ward = current_user::text') AS of_another,
	cost('SELECT dp_count(*) FROM person WHERE age >= 18') AS of_the_group;
SET ROLE :other;
SELECT cost('SELECT dp_count(*) FROM person WHERE age >= 18') AS of_nobody_else;

-- results of subqueries count, not how they are asked
SET ROLE :analyst;
CREATE TABLE cut (age int);
INSERT INTO cut VALUES (30);
GRANT SELECT ON cut TO :member;
SELECT cost('SELECT dp_count(*) FROM person WHERE age > (SELECT max(age) FROM cut)') AS asked,
	cost('SELECT dp_count(*) FROM person WHERE age > (SELECT min(age) FROM cut)') AS same;
UPDATE cut SET age = 31;
SELECT cost('SELECT dp_count(*) FROM person WHERE age > (SELECT max(age) FROM cut)') AS changed;
-- a private one is free with it
SELECT cost('SELECT dp_count(*) FROM person WHERE age > (SELECT dp_avg(age, 0, 120, 0.001) FROM person)') AS asked,
	cost('SELECT dp_count(*) FROM person WHERE age > (SELECT dp_avg(age, 0, 120, 0.001) FROM person)') AS same;

-- joined rows count by what they hold
CREATE TABLE name (ward text, title text);
INSERT INTO name VALUES ('A', 'first'), ('B', 'second');
GRANT SELECT ON name TO :member;
CREATE FUNCTION joined() RETURNS bigint LANGUAGE sql AS $$ SELECT cost('SELECT n.title, dp_count(*) FROM person p JOIN name n USING (ward) GROUP BY n.title') $$;
SELECT joined() AS asked, joined() AS same;
TRUNCATE name;
INSERT INTO name VALUES ('B', 'second'), ('A', 'first');
SELECT joined() AS other_order;
UPDATE name SET ward = 'C' WHERE ward = 'A';
SELECT joined() AS changed, joined() AS same;
SET ROLE :member;
SELECT joined() AS of_the_group;
-- a right on what is joined is asked for every time
SET ROLE :other;
CREATE TABLE title (ward text, title text);
INSERT INTO title VALUES ('A', 'third'), ('B', 'fourth');
GRANT SELECT ON title TO :analyst;
SET ROLE :analyst;
SELECT * FROM outcome('SELECT n.title, dp_count(*) FROM person p JOIN title n USING (ward) GROUP BY n.title');
SELECT * FROM outcome('SELECT n.title, dp_count(*) FROM person p JOIN title n USING (ward) GROUP BY n.title');
SET ROLE :other;
REVOKE SELECT ON title FROM :analyst;
SET ROLE :analyst;
SELECT * FROM outcome('SELECT n.title, dp_count(*) FROM person p JOIN title n USING (ward) GROUP BY n.title');

-- what a transaction that writes reads may never be committed
SET ROLE :owner;
GRANT INSERT ON visit TO :analyst;
SET ROLE :analyst;
BEGIN;
INSERT INTO visit SELECT 1000 + i, 'A', 1, 'c' FROM generate_series(1, 500) i;
SELECT cost('SELECT dp_count(DISTINCT who) FROM visit WHERE ward = ''A''');
ROLLBACK;
SELECT cost('SELECT dp_count(DISTINCT who) FROM visit WHERE ward = ''A''');

-- declarations that were changed, and changed back
SELECT cost('SELECT dp_sum(score) FROM person') AS asked, cost('SELECT dp_sum(score) FROM person') AS again;
SET ROLE :owner;
SELECT dp_declare('person', 'score', lower => 0, upper => 90) \g /dev/null
SELECT dp_declare('person', 'score', lower => 0, upper => 100) \g /dev/null
SET ROLE :analyst;
SELECT cost('SELECT dp_sum(score) FROM person') AS declared, cost('SELECT dp_sum(score) FROM person') AS again;

-- given up: one's own, and the owner's all
SET ROLE :other;
SELECT cost('SELECT dp_count(*) FROM person WHERE age >= 18');
SET ROLE :analyst;
SELECT dp_refresh(:'schema') > 50 AS many;
SELECT cost('SELECT dp_count(*) FROM person WHERE age >= 18') AS refreshed;
SET ROLE :other;
SELECT cost('SELECT dp_count(*) FROM person WHERE age >= 18') AS not_others;
SET ROLE :owner;
SELECT dp_refresh(:'schema');
SET ROLE :other;
SELECT cost('SELECT dp_count(*) FROM person WHERE age >= 18') AS all_of_them;
SELECT dp_refresh('no such');
RESET ROLE;
CREATE ROLE regress_reuse_nobody;
SET ROLE regress_reuse_nobody;
SELECT dp_refresh(:'schema');

-- how old it may be
SET ROLE :analyst;
SET dp_pg.reuse = '1 millisecond';
SELECT cost('SELECT dp_count(*) FROM person') AS stored, pg_sleep(0.01) \g /dev/null
SELECT spent() \g /dev/null
SELECT cost('SELECT dp_count(*) FROM person') AS too_old;
SET dp_pg.reuse = '1 hour';
SELECT cost('SELECT dp_count(*) FROM person') AS young_enough;

-- who sees what: the group and the owner, and nobody the values
SELECT count(*) > 0 AS seen, bool_and(role = :'analyst') AS own FROM dp_pg.answers;
SELECT count(*) FROM dp_pg.answer;
SET ROLE :member;
SELECT count(*) > 0 AS seen FROM dp_pg.answers;
SET ROLE :other;
SELECT count(*) AS seen, sum(hits) AS hits FROM dp_pg.answers;
SELECT cost('SELECT dp_count(*) FROM person WHERE age >= 18');
SELECT count(*) AS seen, sum(hits) AS hits, bool_and(last_hit > at) AS later FROM dp_pg.answers;
SET ROLE :owner;
SELECT count(DISTINCT payer) FROM dp_pg.answers WHERE dataset = :'schema';
SET ROLE regress_reuse_nobody;
SELECT count(*) FROM dp_pg.answers;
-- the owner is exempt: never stored, never shared
SET ROLE :owner;
SELECT cost(q), cost(q) FROM (VALUES ('SELECT dp_count(*) FROM person WHERE age >= 18')) v (q);

-- an answer that is stored is given when the budget is used up, and not when the right has gone
SET ROLE :owner;
SELECT dp_grant(:'other', dataset => :'schema', epsilon => 1e-3) \g /dev/null
SET ROLE :other;
SELECT * FROM outcome('SELECT dp_count(*) FROM person WHERE age >= 18');
SELECT * FROM outcome('SELECT dp_count(*) FROM person WHERE age >= 19');
SET ROLE :owner;
SELECT dp_revoke(:'other', dataset => :'schema') \g /dev/null
SET ROLE :other;
SELECT * FROM outcome('SELECT dp_count(*) FROM person WHERE age >= 18');
SET ROLE :owner;
SELECT dp_grant(:'other', dataset => :'schema', epsilon => 1e11) \g /dev/null
SET ROLE :other;
SELECT * FROM outcome('SELECT dp_count(*) FROM person WHERE age >= 18');

-- an answer that is too old makes room for the next one
SET ROLE :analyst;
SET dp_pg.reuse = '1 millisecond';
SELECT cost('SELECT dp_count(*) FROM person WHERE age = 7');
SELECT pg_sleep(0.01) \g /dev/null
SELECT cost('SELECT dp_count(*) FROM person WHERE age = 7');
SET dp_pg.reuse = '1 hour';
RESET ROLE;
SELECT count(*) > 0 AS stored, count(*) = count(DISTINCT (payer, digest)) AS once FROM dp_pg.answer;

-- EXPLAIN
SET ROLE :analyst;
CREATE FUNCTION plan(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE statement;
END $$;
SELECT regexp_replace(p, '\d+ seconds?', 'n seconds') FROM plan('EXPLAIN SELECT dp_count(*) FROM person') p WHERE p ~ 'Answer|Charge';
SELECT regexp_replace(p, '\d+ seconds?', 'n seconds') FROM plan('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT dp_count(*) FROM person') p WHERE p ~ 'Answer|Charge';
SELECT p ~ 'Charge' FROM plan('EXPLAIN SELECT dp_count(*) FROM person WHERE age = 3') p WHERE p ~ 'Answer|Charge';
SET dp_pg.reuse = off;
SELECT p ~ 'Charge' FROM plan('EXPLAIN SELECT dp_count(*) FROM person') p WHERE p ~ 'Answer|Charge';
SELECT * FROM spent();

RESET ROLE;
DROP ROLE regress_reuse_nobody;
