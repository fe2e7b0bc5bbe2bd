-- The expression rules over whole queries: subqueries, views, row security,
-- scalar subqueries, and every part of a query that can see a row.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test expression_query
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

CREATE FUNCTION evil(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE LEAKPROOF COST 0.0001 AS 'BEGIN RAISE WARNING ''saw %'', $1; RETURN true; END';
SET ROLE :owner;
CREATE TABLE other (id int PRIMARY KEY, ward text, age int);
INSERT INTO other SELECT i, 'A', i FROM generate_series(1, 10) i;
SELECT dp_protect('other', dataset => :'schema') \g /dev/null
CREATE VIEW tidy WITH (security_invoker) AS SELECT id, age + 1 AS next, date_trunc('month', seen) AS month, lower(ward) AS ward, score * 2 AS twice, feel, sex FROM person WHERE id * 2 > 3;
CREATE VIEW tidier WITH (security_invoker, security_barrier) AS SELECT next * 2 AS n, coalesce(feel, 'ok') AS feel, month, extract(year FROM month) AS year FROM tidy WHERE ward LIKE 'a%' OR sex;
CREATE VIEW evil_column WITH (security_invoker) AS SELECT id, age, evil(age) AS e FROM person;
CREATE VIEW evil_filter WITH (security_invoker) AS SELECT id, age FROM person WHERE evil(age);
CREATE VIEW evil_nested WITH (security_invoker) AS SELECT age FROM evil_filter WHERE age > 3;
CREATE VIEW text_column WITH (security_invoker) AS SELECT id, age, age::text AS shown FROM person;
CREATE VIEW text_owner AS SELECT id, age, age::text AS shown FROM person;
CREATE VIEW sublink_view WITH (security_invoker) AS SELECT id, age FROM person WHERE age IN (SELECT 3);
CREATE VIEW scalar_view WITH (security_invoker) AS SELECT id, age FROM person WHERE age > (SELECT 49);
GRANT SELECT ON tidy, tidier, evil_column, evil_filter, evil_nested, text_column, text_owner, sublink_view, scalar_view TO :analyst;
RESET ROLE;

SET ROLE :analyst;
CREATE TABLE ward_name (ward text PRIMARY KEY, beds int);
INSERT INTO ward_name VALUES ('A', 10), ('B', 20);
CREATE FUNCTION answers(queries text, OUT query text, OUT state text, OUT charges bigint) RETURNS SETOF record LANGUAGE sql AS $$
	SELECT q, o.state, o.charges FROM regexp_split_to_table(queries, '\n') WITH ORDINALITY x(q, n), outcome(q) o ORDER BY n
$$;

-- Does a query's answer equal the exact one?  It must have no empty groups.
CREATE FUNCTION rows_of(query text, OUT rows text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT string_agg(r::text, '' '' ORDER BY r::text) FROM (%s) r', query) INTO rows;
END $$;
RESET ROLE;
CREATE FUNCTION exact_rows_of(query text, OUT rows text) LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
	EXECUTE format('SELECT string_agg(r::text, '' '' ORDER BY r::text) FROM (%s) r',
		regexp_replace(regexp_replace(query, 'dp_sum\((.*?), 0, \d+\)', 'sum(\1)', 'g'), 'dp_count', 'count', 'g')) INTO rows;
END $$;
SET ROLE :analyst;
CREATE FUNCTION compare(queries text, OUT query text, OUT exact boolean, OUT rows text) RETURNS SETOF record LANGUAGE sql AS $$
	SELECT q, r.rows = e.rows, left(r.rows, 30) FROM regexp_split_to_table(queries, '\n') WITH ORDINALITY x(q, n), rows_of(q) r, exact_rows_of(q) e ORDER BY n
$$;
SELECT * FROM compare($$SELECT dp_count(*) FILTER (WHERE age + 1 > 50), dp_sum(age * 2, 0, 200) FROM person WHERE ward LIKE 'A%'
SELECT sum(n) FROM (SELECT feel, date_trunc('month', born), extract(year FROM born), dp_count(*) AS n FROM person GROUP BY 1, 2, 3) r
SELECT dp_sum(age, 0, 100) FROM (SELECT age, born + 1 AS next FROM person ORDER BY born) s WHERE next > '2020-03-01'
SELECT dp_sum(a, 0, 100) FROM (SELECT b + 1 AS a FROM (SELECT c * 2 AS b FROM (SELECT age % 10 AS c FROM person WHERE id % 2 = 0) x WHERE c * c > 4) y) z WHERE a - 1 > 8
SELECT dp_count(DISTINCT ward), dp_count(DISTINCT age % 10), dp_count(DISTINCT upper(ward)), dp_count(DISTINCT date_trunc('month', born)) FROM person
SELECT dp_sum(CASE WHEN sex THEN age ELSE NULL END, 0, 100) FROM person
WITH p AS (SELECT age * 2 AS a FROM person WHERE ward ILIKE 'a') SELECT dp_count(*) FROM p WHERE a + 1 > 100
SELECT dp_count(*) FROM person HAVING dp_count(*) / 0.5 > 1 AND random() >= 0 AND dp_count(*)::text ~ '^10'
SELECT dp_count(*) AS a, to_char(dp_count(*), '999') AS b, dp_count(*)::text || sex ~ '0' AS c, (ARRAY[dp_count(*)])[1] > 0 AS d FROM person GROUP BY sex ORDER BY md5(sex::text)
SELECT dp_sum(age, 0, 100), dp_count(*) FROM person WHERE age BETWEEN 2 - 2 AND 10 * 1 AND sex AND born > (SELECT make_date(2020, 1, 2))$$);
-- the parameters of an aggregate are made of public values, by any function
SELECT dp_sum(age, 0, length(repeat('x', 100))) AS sum FROM person;

-- refused for what they compute: no charge
SELECT * FROM answers($$SELECT count(*) FROM (SELECT ward, dp_count(*) FROM person GROUP BY ward, age::text) r
SELECT dp_count(*) FILTER (WHERE evil(age)) FROM person
SELECT dp_sum(evil(age)::int, 0, 1) FROM person
SELECT dp_sum(age, 0, age) FROM person
SELECT dp_sum(age, 0, random() * 100) FROM person
SELECT dp_sum(age, 0, (SELECT max(beds) FROM ward_name)) FROM person
SELECT dp_count(*) FROM person GROUP BY current_setting(ward)
SELECT dp_count(*) FROM person GROUP BY ARRAY[age]
SELECT dp_count(*) FROM person GROUP BY ROW(age, ward)
SELECT dp_count(*) FROM person GROUP BY person
SELECT dp_count(person) FROM person
SELECT dp_count(person.*) FROM person
SELECT dp_count(DISTINCT age::text) FROM person
SELECT dp_count(DISTINCT person.*) FROM person
SELECT dp_count(DISTINCT (age, ward)) FROM person
SELECT dp_count(ctid) FROM person
SELECT dp_count(*) FROM (SELECT ctid FROM person) p
SELECT dp_count(*) FROM (SELECT person FROM person) p
SELECT dp_count(*) FROM (SELECT *, ctid AS where_ FROM person) p WHERE age > 3
SELECT dp_count(*) FROM (SELECT age, age::text AS shown FROM person) p WHERE p.age > 3
SELECT dp_count(*) FROM (SELECT * FROM (SELECT * FROM person WHERE evil(age)) a) b
SELECT dp_count(*) FROM (SELECT (SELECT evil(age)) FROM person) p
SELECT dp_count(*) FROM (SELECT random() FROM person) p
SELECT dp_count(*) FROM (SELECT generate_series(1, 2) FROM person) p
SELECT dp_count(*) FROM (SELECT unnest(ARRAY[1, 2]) FROM person) p
SELECT dp_count(*) FROM (SELECT row_number() OVER () FROM person) p
SELECT dp_count(*) FROM (SELECT count(*) FROM person) p
SELECT dp_count(*) FROM (SELECT age FROM person GROUP BY age) p
SELECT dp_count(*) FROM (SELECT age FROM person GROUP BY ROLLUP (age)) p
SELECT dp_count(*) FROM (SELECT DISTINCT age FROM person) p
SELECT dp_count(*) FROM (SELECT age FROM person LIMIT 3) p
SELECT dp_count(*) FROM (SELECT age FROM person ORDER BY age FETCH FIRST 1 ROW WITH TIES) p
SELECT dp_count(*) FROM (SELECT age FROM person GROUP BY age HAVING count(*) > 1) p
SELECT dp_count(*) FROM (SELECT age FROM person FOR UPDATE) p
SELECT dp_count(*) FROM (SELECT age FROM person UNION SELECT id FROM other) p
SELECT dp_count(*) FROM (SELECT age FROM person EXCEPT ALL SELECT 3) p
SELECT dp_count(*) FROM (VALUES (1)) v
SELECT dp_count(*) FROM person TABLESAMPLE system (10)
SELECT dp_count(*) FROM person, generate_series(1, 3)
SELECT dp_count(*) FROM person, ROWS FROM (generate_series(1, 3)) g
SELECT dp_count(*) FROM person JOIN other USING (id)
SELECT dp_count(*) FROM person NATURAL JOIN ward_name
SELECT dp_count(*) FROM person a, LATERAL (SELECT a.age) s
SELECT dp_count(*) FROM LATERAL (SELECT age FROM person) s, LATERAL (SELECT s.age) t
SELECT dp_count(*) FROM person, XMLTABLE('/a' PASSING NULL COLUMNS a int)
SELECT dp_count(*), grouping(age) FROM person GROUP BY age
SELECT dp_count(*) FROM person GROUP BY GROUPING SETS ((), (sex))
SELECT dp_count(*) FROM person GROUP BY CUBE (sex)
SELECT dp_count(*), max(age) FROM person
SELECT dp_count(*), array_agg(age) FROM person
SELECT dp_count(*), string_agg(ward, '') FROM person
SELECT dp_count(*) FILTER (WHERE dp_count(*) > 1) FROM person
SELECT dp_sum(age ORDER BY id, 0, 1) FROM person
SELECT dp_sum(DISTINCT age, 0, 100) FROM person
SELECT dp_count(*), age FROM person
SELECT dp_count(*), 1 / 0 FROM person WHERE age = 1 / 0$$);

-- views: what they compute is judged like the query's own expressions
SELECT * FROM compare($$SELECT dp_count(*), dp_sum(next, 0, 200) FROM tidy WHERE month = '2020-01-01'
SELECT sum(k) FROM (SELECT month, dp_count(*) AS k FROM (SELECT date_trunc('year', born) AS month FROM person) p GROUP BY 1) r
SELECT dp_count(*) FROM tidy WHERE ward = 'a' AND twice + 1 > 30
SELECT dp_count(*), dp_sum(n, 0, 400) FROM tidier WHERE feel = 'ok' AND year = 2020
SELECT sum(k) FROM (SELECT feel, dp_count(*) AS k FROM tidier GROUP BY feel) r
SELECT dp_count(*) FROM scalar_view WHERE age < (SELECT 60)$$);
SELECT * FROM answers($$SELECT dp_count(*) FROM evil_column
SELECT dp_count(*) FROM evil_column WHERE age > 3
SELECT dp_count(e) FROM evil_column
SELECT dp_count(*) FROM evil_filter
SELECT dp_count(*) FROM evil_nested
SELECT dp_count(*) FROM text_column
SELECT dp_count(*) FROM text_column WHERE shown = '3'
SELECT dp_count(*) FROM text_owner WHERE shown = '3'
SELECT dp_count(*) FROM sublink_view
SELECT dp_count(*) FROM tidy WHERE next::text = '3'
SELECT dp_count(*) FROM tidy WHERE evil(next)$$);

-- scalar subqueries of public tables run once, before, by the analyst's right
CREATE FUNCTION own(int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN $1 + 1; END';
SELECT * FROM compare($$SELECT dp_count(*) FROM person WHERE age < (SELECT 10)
SELECT dp_count(*) FROM person WHERE age < (SELECT own(beds) FROM ward_name WHERE ward ~ 'A')
SELECT dp_count(*) FILTER (WHERE age + 1 <= (SELECT max(beds)::text::int FROM ward_name)) FROM person
SELECT dp_sum(age + (SELECT 1), 0, 200), dp_sum((SELECT 2), 0, 2) FROM person
SELECT sum(n) FROM (SELECT age < (SELECT 10) AS young, dp_count(*) AS n FROM person GROUP BY 1) r WHERE young
SELECT dp_count(*) FROM (SELECT age * (SELECT 2) AS a FROM person WHERE id > (SELECT 500)) p WHERE a > (SELECT 100)
SELECT dp_count(*) FROM person WHERE age IN ((SELECT 1), (SELECT 2), 3)
SELECT dp_count(*) FROM person WHERE age = ANY ((SELECT ARRAY[1, 2])::int[])
SELECT dp_count(*) FROM person WHERE ward = ANY ((SELECT array_agg(ward) FROM ward_name)::text[])
SELECT dp_count(*) FROM person WHERE age BETWEEN (SELECT 1) AND (SELECT 9) AND ward > (SELECT '' COLLATE "C")
SELECT dp_count(*) FROM person WHERE age < (SELECT a FROM (SELECT count(*)::int AS a FROM ward_name) s WHERE a > (SELECT 1))
SELECT dp_count(*) FROM person WHERE (SELECT true) AND age < 10
SELECT dp_count(*) FROM person WHERE age < (SELECT beds FROM ward_name WHERE false)
SELECT dp_count(*) FROM person WHERE feel = (SELECT 'ok'::mood) AND born > (SELECT date '2020-03-01') AND income < (SELECT 40.0)$$);
SELECT * FROM answers($$SELECT dp_count(*) FROM person WHERE age > (SELECT random() * 0)
SELECT dp_count(*) FROM person WHERE age > (SELECT 0 FROM pg_class LIMIT 1)
SELECT dp_count(*) FROM person WHERE starts_with(ward, (SELECT 'A'))
SELECT dp_count(*) FROM person WHERE ward LIKE (SELECT 'A%')
SELECT dp_count(*) FROM person WHERE ward LIKE ANY (ARRAY[(SELECT 'A%')])
SELECT dp_count(*) FROM person WHERE date_trunc((SELECT 'day'), seen) > now()
SELECT dp_count(*) FROM person WHERE seen AT TIME ZONE (SELECT 'UTC') > now()
SELECT dp_count(*) FROM person WHERE evil((SELECT 3))
SELECT dp_count(*) FROM person WHERE age > (SELECT age)
SELECT dp_count(*) FROM person WHERE age > (SELECT beds FROM ward_name w WHERE w.ward = person.ward)
SELECT dp_count(*) FROM person p WHERE age > (SELECT max(beds + p.age) FROM ward_name)
SELECT dp_count(*) FROM person WHERE (age, id) = (SELECT 1, 2)
SELECT dp_count(*) FROM person WHERE EXISTS (SELECT 1)
SELECT dp_count(*) FROM person WHERE age = ANY (SELECT 1)
SELECT dp_count(*) FROM person WHERE age NOT IN (SELECT beds FROM ward_name)
SELECT dp_count(*) FROM person WHERE age = ANY (ARRAY(SELECT beds FROM ward_name))
SELECT dp_count(*) FROM person WHERE age > (SELECT max(age) FROM person)
SELECT dp_count(*) FROM person WHERE age > (SELECT age FROM other LIMIT 1)
SELECT dp_count(*) FROM person WHERE age > (SELECT beds FROM ward_name)
SELECT dp_count(*) FROM person WHERE age > (SELECT 1 / (beds - 10) FROM ward_name WHERE ward = 'A')
SELECT dp_count(*) FROM person WHERE age > (SELECT dp_count(*) FROM other)
SELECT dp_count(*) FROM person WHERE age > (SELECT dp_count(*) FROM other WHERE evil(age))$$);
RESET ROLE;

-- row security of the protected table is part of the query: a table for each
-- policy, and what the analyst gets of it
CREATE TABLE rule (id serial PRIMARY KEY, condition text);
INSERT INTO rule (condition) SELECT regexp_split_to_table($$true
false
null
age < 10
age * 2 + 1 < 21 AND ward LIKE 'A%'
lower(ward) = 'a' OR date_trunc('month', born) = '2020-01-01'
current_user = 'regress_expression_query_analyst' AND age < 20
current_user = 'regress_expression_query_owner'
age = ANY ('{1,2}') AND CASE WHEN sex THEN age > 1 ELSE true END
ward > 'B' COLLATE "C"
seen > now() - interval '1 day'
evil(age)
evil(1)
age < 10 AND evil(age)
age::text = '3'
ward ~ 'A'
ward LIKE feel::text
ward = current_setting('regress.ward')
pg_has_role(current_user, 'pg_read_all_data', 'member')
age < (SELECT 10)
age IN (SELECT beds FROM ward_name)
EXISTS (SELECT FROM ward_name w WHERE w.ward = guarded.ward)
ctid = '(0,1)'
random() < 0.5
1 / (age - 7) > 0
guarded IS NOT NULL$$, '\n');
DO $$
DECLARE
	r record;
BEGIN
	FOR r IN SELECT * FROM rule LOOP
		EXECUTE format('CREATE TABLE guarded AS SELECT * FROM person');
		EXECUTE format('CREATE POLICY p ON guarded USING (%s)', r.condition);
		EXECUTE format('ALTER TABLE guarded ENABLE ROW LEVEL SECURITY');
		EXECUTE format('ALTER TABLE guarded OWNER TO %I', current_setting('regress.dataset') || '_owner');
		EXECUTE format('ALTER TABLE guarded RENAME TO guarded%s', r.id);
	END LOOP;
END $$;
SET ROLE :owner;
SELECT count(dp_protect(relname::regclass::text, dataset => :'schema')) FROM pg_class WHERE relname ~ '^guarded\d';
RESET ROLE;
-- ward_name is the analyst's own, and public: still refused, as a subquery
GRANT SELECT ON rule TO :analyst;
SET ROLE :analyst;
CREATE FUNCTION number_of(query text, OUT answer bigint) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE query INTO answer;
EXCEPTION WHEN OTHERS THEN
	NULL;
END $$;
SELECT condition, o.state, o.charges, answer FROM rule, outcome(format('SELECT dp_count(*) FROM guarded%s', id)) o, number_of(format('SELECT dp_count(*) FROM guarded%s', id)) ORDER BY id;
-- beside a filter of the query's own, and through a view
SELECT dp_count(*) FROM guarded4 WHERE age > 4 AND age + 1 <> 6;
CREATE VIEW mine WITH (security_invoker) AS SELECT age + 1 AS next FROM guarded5 WHERE sex;
SELECT dp_count(*) FROM mine WHERE next * 2 > 4;
SELECT * FROM outcome('SELECT dp_count(*) FROM guarded4 WHERE evil(age)');
SET row_security = off;
SELECT * FROM outcome('SELECT dp_count(*) FROM guarded4');
RESET row_security;
RESET ROLE;
-- more than one policy, for somebody else, and for the owner
SET client_min_messages = error;
CREATE POLICY q ON guarded4 AS RESTRICTIVE USING (age + 0 >= 5);
CREATE POLICY r ON guarded4 USING (age * 1 = 50);
CREATE POLICY q ON guarded2 TO :owner USING (evil(age));
CREATE POLICY q ON guarded3 FOR UPDATE USING (evil(age));
CREATE POLICY q ON guarded6 AS RESTRICTIVE USING (age::text <> '1');
SET client_min_messages = warning;
SET ROLE :analyst;
SELECT dp_count(*) FROM guarded4;
SELECT dp_count(*) FROM guarded2;
SELECT dp_count(*) FROM guarded3;
SELECT * FROM outcome('SELECT dp_count(*) FROM guarded6');
SET ROLE :owner;
SELECT dp_count(*) FROM guarded4;
ALTER TABLE guarded4 FORCE ROW LEVEL SECURITY;
SELECT dp_count(*) FROM guarded4;
-- a policy that comes between two executions
SET ROLE :analyst;
PREPARE ask AS SELECT dp_count(*) FROM guarded1;
EXECUTE ask;
SET ROLE :owner;
ALTER POLICY p ON guarded1 USING (age + 1 <= 10);
SET ROLE :analyst;
EXECUTE ask;
SET ROLE :owner;
ALTER POLICY p ON guarded1 USING (age::text = '1');
SET ROLE :analyst;
SELECT * FROM spent() \g /dev/null
EXECUTE ask;
SELECT charges FROM spent();

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
