-- An owner's least group: min_units of dp_declare.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_least
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
-- what EXPLAIN says about groups that are left out, and what is released
CREATE FUNCTION explained(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN QUERY SELECT concat_ws(E'\n', p->>'Value', p->>'Least Group', p->>'Groups Left Out', p->>'Undeclared Keys', p->>'Charge')
	FROM jsonb_path_query(plan::jsonb, '$.**') p WHERE p ? 'Value' OR p ? 'Public Groups';
END $$;

SET ROLE :owner;
-- of the first 78 people 20 are in ward A and in B, 19 in C and elsewhere
SELECT dp_declare('person', min_units => 20);
-- person i comes i times; ten people come to A, 40 to B, only odd ones to C
CREATE TABLE visit (who int, ward text NOT NULL, pay int);
INSERT INTO visit SELECT i, w.ward, 10 FROM generate_series(1, 40) i, generate_series(1, i) n,
	(VALUES ('A'), ('B'), ('C')) w (ward)
	WHERE CASE w.ward WHEN 'A' THEN i <= 10 WHEN 'B' THEN true ELSE i % 2 = 1 END;
SELECT dp_protect('visit', unit => 'who', dataset => :'schema') \g /dev/null
SELECT dp_declare('visit', 'ward', keys => ARRAY['A','B','C','D']) \g /dev/null
SELECT dp_declare('visit', 'pay', lower => 0, upper => 10) \g /dev/null
SELECT dp_declare('visit', max_rows => 40, max_keys => 4, min_units => 20);
-- what it promises at a price: exact tails of the number's noise
\set VERBOSITY default
SET client_min_messages = notice;
SET dp_pg.epsilon = 0.1;
SELECT dp_declare('person', min_units => 20), dp_declare('visit', min_units => 20);
SELECT dp_declare('person', min_units => 82);
SET dp_pg.epsilon = 0.5;
SELECT dp_declare('person', min_units => 32);
SET dp_pg.epsilon = '1000000';
\set VERBOSITY sqlstate
SET client_min_messages = warning;
SELECT dp_declare('person', min_units => 20) \g /dev/null
RESET ROLE;
SET ROLE :analyst;

-- rows that are units: dp_count(*) decides, and is added where it is missing
SELECT ward, dp_count(*) FROM person WHERE id <= 78 GROUP BY ward;
SELECT ward, dp_sum(age) FROM person WHERE id <= 78 GROUP BY ward;
SELECT ward, dp_count(DISTINCT id), dp_count(*) FILTER (WHERE sex) FROM person WHERE id <= 78 GROUP BY ward;
SELECT explained('SELECT ward, dp_count(*) FROM person GROUP BY ward');
SELECT explained('SELECT ward, dp_sum(age), dp_count(age), dp_count(*) FILTER (WHERE sex) FROM person GROUP BY ward');
-- without keys every value is NULL, and its error
SELECT dp_count(*), dp_sum(age), dp_error(dp_sum(age)) FROM person WHERE id < 20;
SELECT dp_count(*), dp_error(dp_count(*)) < 1 AS near FROM person WHERE id <= 20;
SELECT GREATEST(dp_count(*), 0) AS count, GREATEST(dp_count(*), 1) AS user_text FROM person WHERE id < 20;
SELECT explained('SELECT dp_sum(age) FROM person');
-- keys alone are public; a query that reads no row shows them
SELECT ward FROM person GROUP BY ward;
SELECT ward, dp_count(*) FROM person WHERE false GROUP BY ward;

-- units with many rows: the number of units decides, not that of rows
SELECT ward, dp_count(*), dp_sum(pay) FROM visit GROUP BY ward;
SELECT ward, dp_count(DISTINCT who) FROM visit GROUP BY ward;
SELECT ward, dp_count(*), dp_count(DISTINCT who) FILTER (WHERE pay > 100) FROM visit GROUP BY ward;
SELECT dp_count(*) FROM visit WHERE ward = 'A';
SELECT dp_count(*) FROM visit WHERE ward = 'C';
SELECT explained('SELECT ward, dp_count(*), dp_sum(pay) FROM visit GROUP BY ward');
SELECT explained('SELECT ward, dp_sum(pay), dp_count(DISTINCT who) FROM visit GROUP BY ward');
-- a condition on the unit counts fewer: a number is added
SELECT explained('SELECT ward, dp_count(DISTINCT CASE WHEN pay > 5 THEN who END) FROM visit GROUP BY ward');
-- what was added is charged, as each value is
SELECT charges > 0 AS before FROM spent();
SELECT dp_count(*) FROM person \g /dev/null
SELECT * FROM spent();
SELECT dp_sum(age) FROM person \g /dev/null
SELECT * FROM spent();
SELECT ward, dp_count(*) FROM visit GROUP BY ward \g /dev/null
SELECT * FROM spent();
SELECT value, epsilon, sensitivity FROM dp_last_release();
SELECT ward, dp_count(DISTINCT who) FROM visit GROUP BY ward \g /dev/null
SELECT * FROM spent();

-- it has the largest price of all values
SET dp_pg.epsilon = '0.001';
SELECT ward, dp_sum(age, 0, 120, 100000) FROM person WHERE id <= 78 GROUP BY ward;
SELECT explained('SELECT ward, dp_count(*), dp_sum(age, 0, 120, 100000), dp_count(age, 7) FROM person GROUP BY ward');
SELECT value, epsilon FROM dp_last_release();
SELECT ward, dp_count(*), dp_sum(age, 0, 120, 100000) FROM person WHERE id <= 78 GROUP BY ward;
SELECT value, epsilon FROM dp_last_release();
SELECT ward, dp_sum(pay, 0, 10, 100000) FROM visit GROUP BY ward;
SET dp_pg.epsilon = '100000';

-- joins: the largest number holds
RESET ROLE;
SET ROLE :owner;
CREATE TABLE call (who int NOT NULL, ward text NOT NULL);
INSERT INTO call SELECT i, 'B' FROM generate_series(1, 40) i;
SELECT dp_protect('call', unit => 'who', dataset => :'schema'), dp_declare('call', 'ward', keys => ARRAY['A', 'B']), dp_declare('call', max_rows => 1, max_keys => 1) \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SELECT c.ward, dp_count(DISTINCT v.who) FROM call c JOIN visit v ON c.who = v.who WHERE v.ward = 'C' GROUP BY c.ward;
SELECT c.ward, dp_count(*) > 0 AS some FROM call c JOIN visit v ON c.who = v.who WHERE v.ward = 'A' GROUP BY c.ward;
SELECT ward, dp_count(*) FROM call GROUP BY ward ORDER BY 1 LIMIT 1;
SELECT c.ward, dp_count(*) FROM call c WHERE EXISTS (SELECT FROM visit v WHERE v.who = c.who AND v.ward = 'A') GROUP BY c.ward;
SELECT c.ward, dp_count(DISTINCT c.who) FROM call c WHERE EXISTS (SELECT FROM visit v WHERE v.who = c.who AND v.ward = 'C') GROUP BY c.ward;
-- who an outer join leaves out is not counted, so a number is added
SELECT explained('SELECT c.ward, dp_count(DISTINCT v.who) FROM call c LEFT JOIN visit v ON c.who = v.who GROUP BY c.ward');
SELECT explained('SELECT c.ward, dp_count(DISTINCT c.who) FROM call c LEFT JOIN visit v ON c.who = v.who GROUP BY c.ward');
-- a lookup leaves one row of each unit
CREATE TABLE wing (ward text PRIMARY KEY, wing text);
INSERT INTO wing VALUES ('A', 'north'), ('B', 'south'), ('C', 'south');
GRANT SELECT ON wing TO :owner;
SELECT wing, dp_count(*) FROM person JOIN wing USING (ward) WHERE id <= 20 GROUP BY wing;
SELECT wing, dp_count(*) FROM person JOIN wing USING (ward) WHERE id <= 40 GROUP BY wing;
-- groups that a list names
SELECT w, dp_count(p.id) FROM (VALUES ('A'), ('C'), ('Z')) v (w) LEFT JOIN person p ON p.ward = v.w AND p.id <= 78 GROUP BY w;
SELECT w, dp_sum(x.pay) FROM (VALUES ('A'), ('B'), ('Z')) v (w) LEFT JOIN visit x ON x.ward = v.w GROUP BY w;
-- FULL JOIN
SELECT dp_count(*) FROM visit v FULL JOIN call c USING (who) WHERE v.ward = 'A';
SELECT explained('SELECT dp_count(DISTINCT who) FROM visit v FULL JOIN call c USING (who)');
-- UNION ALL, one value for each unit, windows below
SELECT ward, dp_count(DISTINCT who) FROM (SELECT who, ward FROM visit UNION ALL SELECT who, ward FROM call) u WHERE ward IN ('A', 'B') GROUP BY ward;
SELECT explained('SELECT ward, dp_count(DISTINCT who) FROM (SELECT who, ward FROM visit UNION ALL SELECT who, ward FROM call) u WHERE ward IN (''B'', ''C'') GROUP BY ward');
SELECT many, dp_count(*) FROM (SELECT who, count(*) > 30 AS many FROM visit GROUP BY who) p GROUP BY many;
SELECT explained('SELECT many, dp_count(*) FROM (SELECT who, count(*) > 30 AS many FROM visit GROUP BY who) p GROUP BY many');
-- a unit behind a key
RESET ROLE;
SET ROLE :owner;
CREATE TABLE bill (id int PRIMARY KEY, who int NOT NULL);
INSERT INTO bill SELECT i, i % 10 FROM generate_series(1, 100) i;
CREATE TABLE line (bill int NOT NULL REFERENCES bill, pay int NOT NULL, big boolean NOT NULL);
INSERT INTO line SELECT i, 5, i % 2 = 0 FROM generate_series(1, 100) i;
SELECT dp_protect('bill', unit => 'who', dataset => :'schema'), dp_protect('line', unit => 'bill -> bill.who', dataset => :'schema'), dp_declare('line', max_rows => 50, max_keys => 2, min_units => 6) \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SELECT big, dp_count(*) FROM line GROUP BY big;
SELECT dp_count(*) FROM line;
SELECT explained('SELECT dp_count(*) FROM line');

-- numbers of units need no bound on rows
RESET ROLE;
SET ROLE :owner;
CREATE TABLE loose (who int NOT NULL, big boolean NOT NULL);
INSERT INTO loose SELECT i % 30, i % 2 = 0 FROM generate_series(1, 100) i;
SELECT dp_protect('loose', unit => 'who', dataset => :'schema'), dp_declare('loose', min_units => 12) \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SELECT dp_count(DISTINCT CASE WHEN big THEN who END), dp_count(DISTINCT who) FROM loose WHERE who < 20;
SELECT dp_count(DISTINCT CASE WHEN big THEN who END) FROM loose WHERE who < 20;

-- undeclared keys: the number that decides about them must reach it, too
SET dp_pg.delta = '1e-8';
SELECT id % 4 AS k, dp_count(*) FROM person WHERE id <= 78 GROUP BY 1;
SELECT id % 4 AS k, dp_sum(age) > 0 AS some FROM person WHERE id <= 78 GROUP BY 1;
SELECT id % 4 AS k FROM person WHERE id <= 78 GROUP BY 1;
SELECT who / 10 AS k, dp_count(DISTINCT who), dp_count(*) FROM visit GROUP BY 1;
SELECT who / 21 AS k, dp_sum(pay) FROM visit GROUP BY 1;
SELECT explained('SELECT who / 21 AS k, dp_sum(pay) FROM visit GROUP BY 1');
SELECT explained('SELECT who / 21 AS k, dp_sum(pay), dp_count(DISTINCT who) FROM visit GROUP BY 1');
SELECT explained('SELECT id % 4 AS k, dp_count(*) FROM person GROUP BY 1');
SELECT explained('SELECT id % 4 AS k FROM person GROUP BY 1');
RESET dp_pg.delta;

-- mechanisms that show no groups take no part
SELECT explained('SELECT dp_pg.conditions(ARRAY[sex, age > 50]) FROM person');
SELECT explained('SELECT dp_pg.conditions(ARRAY[sex, age > 50]), dp_count(age) FROM person');
SELECT dp_argmax('person', ARRAY['age < 90', 'age < 10']);
SELECT explained('SELECT ward, dp_pg.conditions(ARRAY[sex, age > 50]) FROM person GROUP BY ward');
SELECT ward, dp_argmax(sex) FROM person WHERE id <= 78 GROUP BY ward;
SELECT dp_topk(ward, 2) FROM person WHERE id <= 78;
SELECT n FROM (SELECT dp_histogram(age, 0, 100, 2) AS h FROM person WHERE id <= 78) b, unnest(ARRAY[1]) n;

-- over released rows: HAVING, subqueries, windows, values looked up
SELECT ward, dp_count(*) FROM person WHERE id <= 78 GROUP BY ward HAVING dp_count(*) < 100;
SELECT sum(n), count(*) FROM (SELECT ward, dp_count(*) AS n FROM person WHERE id <= 78 GROUP BY ward) w;
SELECT ward, n, sum(n) OVER (ORDER BY ward) FROM (SELECT ward, dp_count(*) AS n FROM person WHERE id <= 78 GROUP BY ward) w;
SELECT ward, (SELECT n FROM (SELECT dp_count(*) AS n FROM person WHERE id < 20) o) FROM wing;
SELECT wing, (SELECT dp_count(*) FROM person p WHERE p.ward = w.ward AND p.id <= 78) AS n FROM wing w ORDER BY ward;

SELECT wing, (SELECT coalesce(dp_sum(age), -1) FROM person p WHERE p.ward = w.ward AND p.id <= 78) AS s, (SELECT coalesce(dp_count(*), -1) FROM person p WHERE p.ward = w.ward AND p.id <= 78) AS n FROM wing w ORDER BY ward;

-- dp_pg.suppress: the same number decides
SET dp_pg.suppress = on;
SELECT explained('SELECT ward, dp_sum(age), dp_min(age) FROM person GROUP BY ward');
SELECT explained('SELECT ward, dp_count(*) FROM visit GROUP BY ward');
SELECT ward, dp_count(*) FROM visit GROUP BY ward;
RESET dp_pg.suppress;

-- transparent mode, where the values of a query divide its price
SET dp_pg.transparent = on;
SET dp_pg.epsilon = '1000000';
SELECT ward, count(*) FROM person WHERE id <= 78 GROUP BY ward;
SELECT count(*), sum(age), avg(age) FROM person WHERE id < 20;
SELECT ward, count(*), sum(pay) FROM visit GROUP BY ROLLUP (ward) ORDER BY 1;
SELECT ward, sum(pay) / count(*) AS each FROM visit WHERE ward <> 'B' GROUP BY GROUPING SETS ((ward), ()) ORDER BY 1;
SELECT count(*) + 1 AS more FROM visit WHERE ward = 'A';
SELECT explained('SELECT ward, sum(pay) FROM visit GROUP BY ward');
SELECT explained('SELECT ward, count(DISTINCT who), count(*) FROM visit GROUP BY ward');
SELECT wing, (SELECT count(*) FROM person p WHERE p.ward = w.ward AND p.id <= 78) AS n FROM wing w ORDER BY ward;
SELECT explained('SELECT dp_pg.ward, (SELECT count(*) FROM visit WHERE pay > 1) FROM person dp_pg GROUP BY ward');
-- split: all values of a query, added ones included, divide its price
SELECT charges > 0 AS before FROM spent();
SELECT ward, sum(age) FROM person GROUP BY ward \g /dev/null
SELECT * FROM spent();
SELECT sum(pay), (SELECT sum(age) FROM person) FROM visit \g /dev/null
SELECT * FROM spent();
RESET dp_pg.transparent;
SET dp_pg.epsilon = '100000';

-- a stored answer, and one for fewer values
SET dp_pg.reuse = '1h';
SELECT ward, dp_count(*), dp_sum(age) FROM person WHERE id <= 78 GROUP BY ward;
SELECT charges FROM spent();
SELECT ward, dp_count(*) FROM person WHERE id <= 78 GROUP BY ward;
SELECT ward, dp_sum(age) FROM person WHERE id <= 78 GROUP BY ward;
SELECT charges FROM spent();
RESET ROLE;
SET ROLE :owner;
SELECT dp_declare('person', min_units => 21);
RESET ROLE;
SET ROLE :analyst;
SELECT ward, dp_count(*) FROM person WHERE id <= 78 GROUP BY ward;
SELECT charges FROM spent();
RESET dp_pg.reuse;

-- a prepared statement follows the declaration
PREPARE by_ward AS SELECT ward, dp_sum(age) FROM person WHERE id <= 78 GROUP BY ward;
EXECUTE by_ward;
RESET ROLE;
SET ROLE :owner;
SELECT dp_declare('person', min_units => 19);
RESET ROLE;
SET ROLE :analyst;
EXECUTE by_ward;

-- exempt roles see all, also by a plan that another role made, and it sees no more
RESET ROLE;
SET ROLE :owner;
SELECT ward, dp_count(*) FROM person WHERE id <= 7 GROUP BY ward;
SELECT dp_count(*) FROM visit WHERE ward = 'A' AND who < 3;
SELECT explained('SELECT ward, dp_sum(pay) FROM visit GROUP BY ward');
CREATE FUNCTION wards() RETURNS SETOF bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
	RETURN QUERY SELECT dp_count(*) FROM person WHERE id <= 7 GROUP BY ward;
END $$;
SELECT wards();
RESET ROLE;
SET ROLE :analyst;
SELECT wards();
RESET ROLE;

-- what is said, once for each relation
\set VERBOSITY default
SET client_min_messages = notice;
SET ROLE :analyst;
SELECT dp_count(*) FROM person;
SELECT dp_count(*) > 0 AS some FROM person;
SELECT dp_count(DISTINCT who) FROM visit WHERE ward = 'B';
RESET ROLE;
\set VERBOSITY sqlstate
SET client_min_messages = warning;

-- the declaration
SET ROLE :owner;
SELECT min_units, max_rows, max_keys FROM dp_pg.relation WHERE relid IN ('visit'::regclass, 'person'::regclass) ORDER BY relid::text;
SELECT note ~ '; groups with fewer than 20 units, by a noisy number, are not shown' AS said FROM dp_describe('visit') WHERE attribute IS NULL;
SELECT dp_protect('call', unit => 'who', publish => 'calls'), dp_declare('call', min_units => 3) \g /dev/null
SELECT obj_description('calls'::regclass) ~ '; groups with fewer than 3 units, by a noisy number, are not shown\]$' AS said;
SELECT dp_protect('call', unit => 'ward') \g /dev/null
SELECT unit, min_units FROM dp_pg.relation WHERE relid = 'call'::regclass;
SELECT dp_declare('visit', min_units => -1);
SELECT dp_declare('visit', min_units => 2147483648);
SELECT dp_declare('visit', min_units => NULL);
SELECT dp_declare('wing', min_units => 3);
SELECT dp_declare('visit', 7);
SELECT dp_declare('visit', max_rows => 5), dp_declare('visit', min_units => 0);
SELECT rows, min_units, max_rows, max_keys FROM dp_pg.relation WHERE relid = 'visit'::regclass;
RESET ROLE;
SET ROLE :analyst;
SELECT dp_declare('person', min_units => 0);
SELECT dp_count(DISTINCT who) FROM visit WHERE ward = 'A' AND who < 3;
RESET ROLE;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
