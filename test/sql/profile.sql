-- dp_profile: what it measures, charges, says and declares.  At these prices
-- noise changes a count with probability below 2 exp(-100000 / 40).
\getenv abs_srcdir PG_ABS_SRCDIR
\set test profile
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
SET client_min_messages = warning;

-- 300 people with 1 to 5 visits; half of them were in one ward only
SET ROLE :owner;
CREATE TABLE visit (visit int PRIMARY KEY, who int NOT NULL, ward text, at timestamp NOT NULL, cost numeric(6, 2), n int NOT NULL, urgent boolean NOT NULL, feel mood, note text, code char(2) NOT NULL);
INSERT INTO visit SELECT 100 * i + j, i, (ARRAY['A', 'B'])[1 + (j % 2) * (i % 2)], timestamp '2024-01-31 10:00' + j * interval '1 month',
	CASE WHEN j > 1 THEN i END, CASE WHEN i % 2 = 0 THEN -5 ELSE 9 END, j = 1, (ARRAY['sad', NULL, 'ok'])[1 + j % 3]::mood, repeat('x', i), 'c'
FROM generate_series(1, 300) i, generate_series(1, 1 + i % 5) j;
SELECT dp_protect('visit', unit => 'who', dataset => :'schema') \g /dev/null
SELECT spent() \g /dev/null

SELECT attribute, what, value, error, statement FROM dp_profile('visit', epsilon => 100000);
SELECT * FROM spent();
SELECT mechanism, epsilon, releases, payer IS NULL AS exempt FROM dp_pg.ledger WHERE dataset = :'schema' ORDER BY id DESC LIMIT 1;
-- columns and expressions that queries group by
SELECT * FROM dp_profile('visit', 100000, columns => ARRAY['date_trunc(''month'', at)', 'ward']);
SELECT * FROM spent();
-- with a delta, texts: one value of each person
SELECT * FROM dp_profile('visit', 100000, 1e-6, ARRAY['ward'], apply => true);
SELECT attribute, what, value FROM dp_profile('visit', 100000, columns => ARRAY['ward']) WHERE attribute = 'ward';
SELECT * FROM spent();
SELECT attribute, what, value, error FROM dp_profile('visit', 100000, 1e-6) WHERE attribute IN ('ward', 'code', 'feel');
-- not if most people have another (told all the same with a probability below 10^-12)
SELECT attribute, what, error BETWEEN 299 AND 301 AS all_others, statement IS NULL AS none FROM dp_profile('visit', 1000, 1e-15, ARRAY['note']) WHERE what = 'keys';
-- Gaussian noise, where the cap counts rho: what the price is in rho, for all histograms together
CREATE TABLE other AS SELECT i AS id, i % 7 AS a, i % 5 AS b, i / 3.0 AS c, 'v' || i % 2 AS d FROM generate_series(1, 400) i;
ALTER TABLE other ADD PRIMARY KEY (id);
SELECT dp_protect('other', unit => 'id', dataset => 'regress_profile_rho'), dp_limit('regress_profile_rho', epsilon => 10, delta => 1e-3, filter => 'zcdp') \g /dev/null
SET dp_pg.mechanism = gaussian;
SELECT count(*) FROM dp_profile('other', 1, 1e-6);
SELECT count(*) FROM dp_profile('other', 1, 1e-6, ARRAY['a', 'b', 'c']);
SELECT mechanism, releases, round(delta, 15) AS delta, round(rho / CASE n WHEN 1 THEN dp_zcdp_rho(0.6, 5e-7) WHEN 3 THEN dp_zcdp_rho(1, 1e-6) END, 9) AS rho
FROM (SELECT l.*, row_number() OVER (ORDER BY id) AS n FROM dp_pg.ledger l WHERE dataset = 'regress_profile_rho') l ORDER BY id;
RESET dp_pg.mechanism;

-- what it declares, by text and by apply
CREATE TABLE small (id int PRIMARY KEY, age int, born date NOT NULL, score real, zero int, big numeric(4, 1));
INSERT INTO small SELECT i, nullif(i % 90, 0), date '1950-01-01' + 50 * i, i / 8.0, 0, 999.9 FROM generate_series(1, 300) i;
SELECT dp_protect('small', unit => 'id', dataset => :'schema') \g /dev/null
SELECT spent() \g /dev/null
SELECT * FROM dp_profile('small', 100000);
SELECT * FROM spent();
SELECT attname, lower, upper FROM dp_pg.attribute WHERE relid = 'small'::regclass ORDER BY 1;
SELECT count(*) FROM dp_profile('small', 100000, apply => true);
SELECT attname, lower, upper FROM dp_pg.attribute WHERE relid = 'small'::regclass ORDER BY 1;
SELECT dp_profile('small', 20000, columns => ARRAY['age']) \g /dev/null
SELECT relid, dataset, epsilon, delta FROM dp_pg.profile ORDER BY relid::text;

-- a unit behind keys
CREATE TABLE line (line int PRIMARY KEY, visit int NOT NULL REFERENCES visit, q int NOT NULL);
INSERT INTO line SELECT 10 * visit + k, visit, k FROM visit, generate_series(1, 2) k;
SELECT dp_protect('line', unit => 'visit -> visit.who', dataset => :'schema') \g /dev/null
SELECT * FROM dp_profile('line', 100000);

-- nothing is there: no bounds are made of nothing
CREATE TABLE none (id int, x int, t timestamptz);
SELECT dp_protect('none', unit => 'id', dataset => :'schema') \g /dev/null
SELECT attribute, what, value, statement FROM dp_profile('none', 100000);
INSERT INTO none SELECT i FROM generate_series(1, 300) i;
SELECT attribute, what, value, statement FROM dp_profile('none', 100000);
INSERT INTO none VALUES (NULL, 7, now());
SELECT attribute, what, value, statement FROM dp_profile('none', 100000);

-- refusals cost nothing
SELECT spent() \g /dev/null
SELECT statement, o.* FROM (VALUES ('dp_profile(NULL)'), ('dp_profile(''visit'', NULL)'), ('dp_profile(''visit'', 0)'), ('dp_profile(''visit'', -1)'),
	('dp_profile(''visit'', ''NaN'')'), ('dp_profile(''visit'', ''Infinity'')'), ('dp_profile(''visit'', 1, 0)'), ('dp_profile(''visit'', 1, 1)'), ('dp_profile(''visit'', 1, 1e-30)'),
	('dp_profile(''visit'', 1, columns => ARRAY[''nope''])'), ('dp_profile(''visit'', 1, columns => ARRAY[NULL])'), ('dp_profile(''visit'', 1, columns => ARRAY[''random()''])'),
	('dp_profile(''visit'', 1, columns => ARRAY[''left(ward, 1)''])'), ('dp_profile(''visit'', 1, columns => ''{}'')'), ('dp_profile(''small'', 1, columns => ''{}'')'),
	('dp_profile(''visit'', 1, apply => NULL)'), ('dp_profile(''pg_class'')')) s (statement), outcome('SELECT ' || statement) o;
-- nor does one that the cap does not admit
SELECT dp_limit(:'schema', epsilon => 1, filter => 'basic') \g /dev/null
SELECT * FROM outcome('SELECT dp_profile(''visit'')');
SELECT dp_unlimit(:'schema') \g /dev/null
-- what it cost stays when it is rolled back, the profile does not
BEGIN;
SELECT count(*) FROM dp_profile('visit', 30000, columns => '{}');
ROLLBACK;
SELECT * FROM spent();
SELECT epsilon FROM dp_pg.profile WHERE relid = 'visit'::regclass;
BEGIN READ ONLY;
SELECT dp_profile('visit');
ROLLBACK;
-- nor is a function of somebody else called in place of ours
RESET ROLE;
CREATE FUNCTION public.dp_declare(text, text, lower numeric, upper numeric) RETURNS void LANGUAGE sql AS '';
SET ROLE :owner;
SELECT * FROM outcome('SELECT dp_profile(''visit'')');
RESET ROLE;
DROP FUNCTION public.dp_declare(text, text, numeric, numeric);
SET ROLE :owner;
-- nothing of its settings is left
SHOW dp_pg.delta; SHOW dp_pg.max_rows; SHOW timezone;

-- others: no call, not through the owner's functions, nor over its catalog
CREATE FUNCTION lent() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT count(*) FROM dp_profile(''visit'')';
GRANT EXECUTE ON FUNCTION lent() TO PUBLIC;
RESET ROLE;
SET ROLE :analyst;
SELECT statement, o.* FROM (VALUES ('dp_profile(''visit'')'), ('lent()'), ('dp_pg.profile_dataset(''visit'', false)'), ('dp_pg.profile_keep(''visit'', 1, NULL, ''[]'', ''[]'')')) s (statement), outcome('SELECT ' || statement) o;
-- it shows to who has a budget
SELECT relid, epsilon FROM dp_pg.profile ORDER BY relid::text;
SELECT attribute, regexp_replace(note, 'profile of [0-9-]*', 'profile of DATE') AS note FROM dp_describe('small') WHERE note ~ 'profile of';
RESET ROLE;
CREATE ROLE regress_profile_other;
GRANT USAGE ON SCHEMA :schema TO regress_profile_other;
SET ROLE regress_profile_other;
SELECT count(*) FROM dp_pg.profile;
SELECT count(*) FROM dp_describe('small') WHERE note ~ 'profile of';
UPDATE dp_pg.profile SET epsilon = 0;
RESET ROLE;
DROP OWNED BY regress_profile_other;
DROP ROLE regress_profile_other;

-- a least number of units adds a number to the query, not to the price
SET ROLE :owner;
SELECT dp_declare('line', min_units => 5) \g /dev/null
SELECT count(*) > 0 AS profiled FROM dp_profile('line', epsilon => 1);
SELECT epsilon BETWEEN 0.999999 AND 1 AS price FROM dp_pg.ledger WHERE dataset = :'schema' ORDER BY id DESC LIMIT 1;

-- it goes with the protection
SELECT dp_report(:'schema') ~ '<h2>Profiles</h2>.*rows' AS reported;
SELECT dp_unprotect('none');
DROP TABLE line;
SELECT relid FROM dp_pg.profile ORDER BY relid::text;
RESET ROLE;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
