-- Values of one release with FILTERs that exclude each other: together they
-- cost what the costliest costs (theory T122).  t/disjoint.pl tries random ones.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_disjoint
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
SET ROLE :owner;
CREATE TABLE visit (patient int NOT NULL, ward text NOT NULL, age int);
INSERT INTO visit SELECT i % 100, 'A', i % 90 FROM generate_series(1, 300) i;
SELECT dp_protect('visit', unit => 'patient', dataset => :'schema') \g /dev/null
SELECT dp_declare('visit', max_rows => 1) \g /dev/null
CREATE TABLE alone (age int NOT NULL);
INSERT INTO alone SELECT i % 3 FROM generate_series(1, 30) i;
SELECT dp_protect('alone', dataset => :'schema') \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SET dp_pg.epsilon = 0.1;
SELECT spent() \g /dev/null
-- the line of EXPLAIN, and what is charged
CREATE FUNCTION asked(filters text[], rest text DEFAULT 'person', aggregate text DEFAULT 'dp_count(*)') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	query text := 'SELECT ' || (SELECT string_agg(format('%s FILTER (WHERE %s)', aggregate, f), ', ' ORDER BY o) FROM unnest(filters) WITH ORDINALITY u(f, o)) || ' FROM ' || rest;
	line text;
	said text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Disjoint' THEN
			said := regexp_replace(line, '^ *Disjoint: (.*): no row .*', '\1');
		END IF;
	END LOOP;
	PERFORM spent();
	EXECUTE query;
	RETURN coalesce(nullif(said, ''), '-') || '  ' || (SELECT s.epsilon FROM spent() s);
END $$;
SELECT asked(ARRAY['ward = ''A''', 'ward = ''B''']) AS constants, asked(ARRAY['sex', 'NOT sex']) AS booleans,
	asked(ARRAY['ward IN (''A'', ''B'')', 'ward IN (''C'', ''X'')', 'ward = ''E''']) AS lists,
	asked(ARRAY['age < 18', 'age BETWEEN 18 AND 64', 'age > 64', 'age IS NULL']) AS ranges,
	asked(ARRAY['born < ''2020-02-01''', 'born >= ''2020-02-01''']) AS dates, asked(ARRAY['feel = ''sad''', 'feel = ''ok''']) AS labels,
	asked(ARRAY['income = 1.0', 'income = 2', 'income > 2.0']) AS numerics, asked(ARRAY['score < 1', 'score >= 1.5']) AS floats;
-- a row may be in two: each is paid
SELECT asked(ARRAY['ward = ''A''', 'age = 1']) AS columns, asked(ARRAY['age <= 18', 'age >= 18']) AS edge,
	asked(ARRAY['ward IN (''A'', ''B'')', 'ward IN (''B'', ''C'')']) AS lists, asked(ARRAY['income = 1.0', 'income = 1.00']) AS spellings,
	asked(ARRAY['age = 1', 'age IS NOT NULL']) AS nulls, asked(ARRAY['age = 1', 'age + 0 = 2']) AS expressions,
	asked(ARRAY['ward LIKE ''A%''', 'ward LIKE ''B%''']) AS patterns, asked(ARRAY['true', 'sex']) AS all_rows;
-- one column is enough; a set may hold several values, and families add
SELECT asked(ARRAY['ward = ''A'' AND age < 5', 'ward = ''B'' AND age < 9']) AS conjunctions, asked(ARRAY['ward = ''A'' OR age = 1', 'ward = ''B''']) AS disjunction,
	asked(ARRAY['sex', 'NOT sex', 'age < 5', 'age >= 5']) AS families, asked(ARRAY['age < 10', 'age >= 10', 'age < 5']) AS greedy;
EXPLAIN (COSTS OFF) SELECT dp_count(*) FILTER (WHERE sex), dp_sum(age, 0.3) FILTER (WHERE NOT sex), dp_avg(age, 0.2) FILTER (WHERE NOT sex), dp_count(*) FROM person;
SELECT dp_count(*) FILTER (WHERE sex) IS NOT NULL AND dp_sum(age, 0.3) FILTER (WHERE NOT sex) IS NOT NULL AND dp_avg(age, 0.2) FILTER (WHERE NOT sex) IS NOT NULL AND dp_count(*) IS NOT NULL AS answered FROM person;
SELECT * FROM spent();
-- long lists are compared, longer ones not; nor is what is too much together
SELECT asked(ARRAY[format('age IN (%s)', (SELECT string_agg(i::text, ',') FROM generate_series(1, 90) i)), format('age IN (%s)', (SELECT string_agg(i::text, ',') FROM generate_series(91, 180) i))]) AS lists,
	asked(ARRAY[format('age IN (%s)', (SELECT string_agg(i::text, ',') FROM generate_series(1, 400) i)), 'age = 1000']) AS long_list,
	asked(ARRAY[(SELECT string_agg('age = ' || i, ' OR ') FROM generate_series(1, 200) i), 'age = 1000']) AS long_text,
	asked(ARRAY(SELECT format('age = %s', i) FROM generate_series(1, 70) i)) AS many;
SELECT asked(ARRAY(SELECT format('age IN (%s)', (SELECT string_agg((100 * i + j)::text, ',') FROM generate_series(1, 90) j)) FROM generate_series(1, n) i)) ~ ' 0.1$' AS all_compared FROM unnest(ARRAY[5, 20]) AS n;
-- with groups, WHERE, a view, HAVING; other kinds of values
SELECT asked(ARRAY['sex', 'NOT sex'], 'person WHERE age > 3 GROUP BY ward') AS grouped,
	asked(ARRAY['ward = ''A''', 'ward = ''B'''], 'person', 'dp_median(age)') AS medians,
	asked(ARRAY['ward = ''A''', 'ward = ''B'''], 'person', 'dp_count(DISTINCT age)') AS distinct_values,
	asked(ARRAY['ward = ''A''', 'ward = ''B'''], '(SELECT ward, age FROM person WHERE sex) AS v', 'dp_histogram(age, 0, 100, 4)') AS histograms,
	asked(ARRAY['ward = ''A''', 'ward = ''B'''], 'person', 'dp_argmax(feel)') AS choices;
SELECT count(*) <= 5 AS answered FROM (SELECT ward FROM person GROUP BY ward HAVING dp_count(*) FILTER (WHERE sex) > dp_count(*) FILTER (WHERE NOT sex)) AS h;
SELECT * FROM spent();
-- values are right, whatever they cost together
SET dp_pg.epsilon = 100000;
SELECT dp_count(*) FILTER (WHERE age < 18) AS child, dp_count(*) FILTER (WHERE age >= 18) AS adult, dp_sum(age) FILTER (WHERE age >= 18) AS years FROM person;
SELECT epsilon FROM spent();
SET dp_pg.epsilon = 0.1;
-- what parameters stand for is not looked at
PREPARE pair(text, text) AS SELECT dp_count(*) FILTER (WHERE ward = $1) IS NOT NULL AND dp_count(*) FILTER (WHERE ward = $2) IS NOT NULL AS answered FROM person;
EXECUTE pair('A', 'A');
SELECT epsilon FROM spent();
EXECUTE pair('A', 'B');
SELECT epsilon FROM spent();
-- released values within: computed before, not looked at either
SELECT dp_count(*) FILTER (WHERE age < (SELECT dp_avg(age) FROM person)) IS NOT NULL AND dp_count(*) FILTER (WHERE age >= 50) IS NOT NULL AS answered FROM person;
SELECT * FROM spent();
-- rho and delta likewise, componentwise
SET dp_pg.mechanism = gaussian;
SET dp_pg.delta = 1e-9;
SELECT dp_count(*) FILTER (WHERE sex) IS NOT NULL AND dp_sum(age) FILTER (WHERE NOT sex) IS NOT NULL AS answered FROM person;
SELECT abs((SELECT max(r.rho) FROM dp_last_release() r) / l.rho - 1) < 1e-5 AS rho, (SELECT sum(r.rho) FROM dp_last_release() r) / l.rho > 1.5 AS not_the_sum, l.epsilon FROM dp_pg.ledger l ORDER BY id DESC LIMIT 1;
SELECT spent() \g /dev/null
RESET dp_pg.mechanism;
RESET dp_pg.delta;
-- a share of dp_pg.epsilon each, and less than it together
SET dp_pg.split = on;
SELECT asked(ARRAY['sex', 'NOT sex']) AS split;
RESET dp_pg.split;
-- the owner's floor is about what is charged
RESET ROLE;
SET ROLE :owner;
SELECT dp_limit(:'schema', 1e11, 0.5, epsilon_floor => 0.15) \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SELECT * FROM outcome('SELECT dp_count(*) FILTER (WHERE sex), dp_count(*) FILTER (WHERE NOT sex) FROM person');
SELECT * FROM outcome('SELECT dp_count(*) FILTER (WHERE sex), dp_count(*) FILTER (WHERE age < 5) FROM person');
RESET ROLE;
SET ROLE :owner;
SELECT dp_limit(:'schema', 1e11, 0.5, epsilon_floor => 0.001) \g /dev/null
RESET ROLE;
SET ROLE :analyst;
-- a unit of many rows is in both; so are rows whose keys nobody declared
SELECT asked(ARRAY['ward = ''A''', 'ward = ''B'''], 'visit') AS many, asked(ARRAY['age < 5', 'age >= 5'], 'visit', 'dp_count(DISTINCT patient)') AS units;
-- so is a row that a join makes two of: both are paid, or it is refused
SELECT asked(ARRAY['k = 1', 'k = 2'], 'visit, (VALUES (1), (2)) AS v(k)') AS listed, asked(ARRAY['k = 1', 'k = 2'], 'visit, generate_series(1, 2) AS v(k)') AS generated,
	asked(ARRAY['kind = ''a''', 'kind = ''b'''], 'visit JOIN (VALUES (1, ''a''), (1, ''b'')) AS v(age, kind) USING (age)') AS joined;
SELECT * FROM outcome('SELECT dp_count(*) FILTER (WHERE k = 1), dp_count(*) FILTER (WHERE k = 2) FROM alone, (VALUES (1), (2)) AS v(k)');
SELECT asked(ARRAY['kind = ''a''', 'kind = ''b'''], 'alone JOIN (VALUES (1, ''a''), (2, ''b'')) AS v(age, kind) USING (age)') AS joined_once;
SET dp_pg.delta = 1e-7;
SELECT asked(ARRAY['sex', 'NOT sex'], 'person GROUP BY income') AS undeclared;
RESET dp_pg.delta;
RESET ROLE;
-- text that is too long for a language compares as NULL there, but is equal to itself: a row is in both.
-- Where the constant is too long, all rows are in such a test
SET ROLE :owner;
CREATE TABLE letter (id int PRIMARY KEY, body text COLLATE "und-x-icu");
INSERT INTO letter VALUES (1, repeat('b', 20000));
SELECT dp_protect('letter', dataset => :'schema') \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SELECT asked(ARRAY['(body < ''z'') IS NOT TRUE', 'body = repeat(''b'', 20000)'], 'letter') AS not_true, asked(ARRAY['(body < ''z'') IS UNKNOWN', 'body = repeat(''b'', 20000)'], 'letter') AS is_unknown,
	asked(ARRAY['(lower(body) > ''a'' AND body < ''z'') IS NOT TRUE', 'body IN (repeat(''b'', 20000))'], 'letter') AS listed,
	asked(ARRAY['(body < repeat(''z'', 20000)) IS NOT TRUE', 'body = ''b'''], 'letter') AS long_constant,
	asked(ARRAY['NOT (body < ''z'')', 'body = repeat(''b'', 20000)'], 'letter') AS negated, asked(ARRAY['sex IS NOT TRUE', 'sex']) AS of_a_column;
SET dp_pg.epsilon = 1000;
SELECT dp_count(*) FILTER (WHERE (body < 'z') IS NOT TRUE) AS not_true, dp_count(*) FILTER (WHERE body = repeat('b', 20000)) AS equal, dp_count(*) FILTER (WHERE NOT (body < 'z')) AS negated FROM letter;
SET dp_pg.epsilon = 0.1;
RESET ROLE;
-- a collation in which different texts are equal proves nothing
CREATE COLLATION regress_any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
SET ROLE :owner;
CREATE TABLE folded (id int PRIMARY KEY, name text COLLATE regress_any_case);
SELECT dp_protect('folded', dataset => :'schema') \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SELECT state <> '00000' OR charges = 1 AS refused_or_paid FROM outcome('SELECT dp_count(*) FILTER (WHERE name = ''a''), dp_count(*) FILTER (WHERE name = ''b'') FROM folded');
RESET ROLE;
SET ROLE :owner;
DROP TABLE folded;
RESET ROLE;
DROP COLLATION regress_any_case;
-- neighbours that replace one unit: it may leave one and enter another
SET ROLE :owner;
CREATE TABLE swap (id int PRIMARY KEY, age int);
SELECT dp_protect('swap', dataset => 'regress_query_disjoint_swap') \g /dev/null
SELECT dp_declare('swap', 'age', lower => 0, upper => 120) \g /dev/null
SELECT dp_neighbours('regress_query_disjoint_swap', 'replace_one') \g /dev/null
SELECT dp_grant(:'analyst', 'regress_query_disjoint_swap', epsilon => 1000) \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SET dp_pg.epsilon = 0.1;
EXPLAIN (COSTS OFF) SELECT dp_count(*) FILTER (WHERE age < 10), dp_sum(age, 0.3) FILTER (WHERE age BETWEEN 10 AND 20), dp_count(1, 0.2) FILTER (WHERE age > 20) FROM swap;
RESET ROLE;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
