-- The demo's script; test/demo/demo.sh runs it on a server of its own.
\pset pager off
\set VERBOSITY default
\set SHOW_CONTEXT never
\pset footer off
SET client_min_messages = warning;

\echo
\echo '== 1. Once per database: the administrator'
\echo
\set ECHO queries
CREATE EXTENSION dp_pg;
CREATE ROLE owner LOGIN;
CREATE ROLE analyst LOGIN;
CREATE ROLE publisher LOGIN;
\set ECHO none
CREATE SCHEMA survey AUTHORIZATION owner;
CREATE SCHEMA work AUTHORIZATION analyst;
GRANT USAGE ON SCHEMA survey TO analyst, publisher;
GRANT USAGE, CREATE ON SCHEMA work TO publisher;
ALTER DATABASE demo SET search_path = survey, public;
ALTER ROLE analyst SET search_path = work, survey, public;
ALTER ROLE publisher SET search_path = work, survey, public;

\echo
\echo '== 2. The data owner: a table, one row per person and year'
\echo '      (People stayed in the experiment for up to five years.  What is'
\echo '      protected here is a year of a person: the file does not tell whose.)'
\echo
\connect - owner
SET client_min_messages = warning;
CREATE TEMPORARY TABLE randhie (
	mdvis int, lncoins float8, idp int, lpi float8, fmde float8,
	physlm float8, disea float8, hlthg int, hlthf int, hlthp int);
\set copy '\\copy randhie FROM ' :'csv' ' CSV HEADER'
:copy
\set ECHO queries
CREATE TABLE person (
	health text NOT NULL,			-- as the person sees it
	deductible boolean NOT NULL,	-- does the insurance plan have one?
	visits int NOT NULL,			-- to a doctor, in a year
	diseases float8 NOT NULL);		-- index of chronic diseases
\set ECHO none
INSERT INTO person
SELECT CASE WHEN hlthg = 1 THEN 'good' WHEN hlthf = 1 THEN 'fair'
		WHEN hlthp = 1 THEN 'poor' ELSE 'excellent' END,
	idp = 1, mdvis, disea
FROM randhie;
\set ECHO queries
SELECT count(*) FROM person;
\set ECHO none

\echo 'He protects it, declares what is public about it (bounds and keys, never'
\echo 'looked up in the data), and gives the analyst a budget.'
\echo
\o /dev/null
\set ECHO queries
SELECT dp_protect('person', dataset => 'rand');
SELECT dp_declare('person', 'health',
				  keys => ARRAY['excellent', 'good', 'fair', 'poor']);
SELECT dp_declare('person', 'visits', lower => 0, upper => 50);
SELECT dp_declare('person', 'diseases', lower => 0, upper => 60);
SELECT dp_grant('analyst', dataset => 'rand', epsilon => 3);
\set ECHO none
\o
\echo

\echo '== 3. The analyst cannot read a single row'
\echo
\connect - analyst
\set ECHO queries
SELECT * FROM person LIMIT 1;
\echo SQLSTATE :LAST_ERROR_SQLSTATE
COPY person TO STDOUT;
\echo SQLSTATE :LAST_ERROR_SQLSTATE
\set ECHO none

\echo
\echo '== 4. What would a private query cost, and how exact would it be?'
\echo '      EXPLAIN tells, for nothing.'
\echo
\set ECHO queries
EXPLAIN SELECT health, dp_count(*), dp_avg(visits, 0, 50, 0.5)
FROM person GROUP BY health;
\set ECHO none

\echo '== 5. Private answers: plain SQL around dp_count, dp_sum, dp_avg'
\echo
\set ECHO queries
SELECT dp_count(*) FROM person WHERE visits > 10;
SELECT deductible, dp_avg(visits, 0, 50, 0.5) FROM person GROUP BY deductible;
\set ECHO none
\echo 'Code of the analyst never runs on a row.'
\echo
\set ECHO queries
CREATE FUNCTION spy(n int) RETURNS boolean LANGUAGE plpgsql AS
$$ BEGIN RAISE NOTICE 'somebody has % visits', n; RETURN true; END $$;
SELECT dp_count(*) FROM person WHERE spy(visits);
\echo SQLSTATE :LAST_ERROR_SQLSTATE
\set ECHO none

\echo
\echo '== 6. Answers beside the truth'
\echo '      The analyst keeps a release; its price 0.4 + 0.5 + 0.5 was charged once.'
\echo
\set ECHO queries
CREATE TABLE released AS
SELECT health, dp_count(1, 0.4) AS persons,
	dp_sum(visits, 0, 50, 0.5) AS visits,
	dp_avg(diseases, 0, 60, 0.5) AS diseases
FROM person GROUP BY health;
SELECT value, mechanism, epsilon, sensitivity, scale, error_95
FROM dp_last_release();
\set ECHO none
CREATE TABLE promised AS SELECT value, error_95 FROM dp_last_release();
GRANT USAGE ON SCHEMA work TO owner;
GRANT SELECT ON released, promised TO owner;

\echo 'The owner may compare it with the truth.  Each error stays below the promised'
\echo 'one with probability 95%.  (visits and diseases: clamped to the bounds.)'
\echo
\connect - owner
WITH truth AS (
	SELECT health, count(*)::numeric AS persons,
		sum(least(visits, 50))::numeric AS visits,
		avg(least(diseases, 60))::numeric AS diseases
	FROM person GROUP BY health),
answer AS (
	SELECT o.n, t.health, o.name, o.released, o.truth,
		split_part(p.error_95, ' ', 1)::numeric /
		CASE WHEN p.error_95 LIKE '%/ rows' THEN t.persons ELSE 1 END AS promise
	FROM truth AS t
	JOIN work.released AS r USING (health)
	CROSS JOIN LATERAL (VALUES
		(1, 'dp_count', r.persons::numeric, t.persons),
		(2, 'dp_sum', r.visits::numeric, t.visits),
		(3, 'dp_avg', r.diseases::numeric, t.diseases))
		AS o(n, name, released, truth)
	JOIN work.promised AS p ON p.value LIKE o.name || '(%')
SELECT CASE name WHEN 'dp_count' THEN 'persons' WHEN 'dp_sum' THEN 'visits'
		ELSE 'average diseases' END AS value,
	health, round(released, CASE WHEN n = 3 THEN 3 ELSE 0 END) AS released,
	round(truth, CASE WHEN n = 3 THEN 3 ELSE 0 END) AS truth,
	round(abs(released - truth), CASE WHEN n = 3 THEN 3 ELSE 0 END) AS error,
	round(promise, CASE WHEN n = 3 THEN 3 ELSE 0 END) AS "promised (95%)"
FROM answer
ORDER BY n, array_position(ARRAY['excellent', 'good', 'fair', 'poor'], health);

\echo '== 7. More than counts and means'
\echo
\connect - analyst
\set ECHO queries
SELECT dp_median(visits, 0.1) AS median_visits,
	dp_quantile(visits, 0.9, 0.1) AS nine_in_ten_at_most,
	dp_argmax(health, NULL, 0.1) AS most_frequent
FROM person;
SELECT * FROM dp_histogram_rows(
	(SELECT dp_histogram(visits, 0, 20, 5, 0.1) FROM person), 0, 20);
\set ECHO none

\echo '== 8. Many questions for one price'
\echo '      The owner allows more: a grant replaces limits, never spending.'
\echo
\connect - owner
\o /dev/null
\set ECHO queries
SELECT dp_grant('analyst', dataset => 'rand', epsilon => 6);
\set ECHO none
\o
\echo 'Which groups are large?  One charge, whatever the number of predicates, until'
\echo 'two answers were "above".'
\echo
\connect - analyst
\set ECHO queries
SELECT * FROM dp_sparse_vector('person', ARRAY[
		'visits > 40', 'health = ''poor''', 'visits = 0', 'diseases > 50',
		'health = ''excellent'' AND visits < 5', 'deductible'],
	threshold => 4000, cutoff => 2, epsilon => 1, numeric_answers => true);
\set ECHO none
\echo 'Questions chosen one after the other, to a model of the data that learns from'
\echo 'those it cannot answer yet.'
\echo
\set ECHO queries
SELECT dp_weights_open('person', columns => ARRAY['health', 'deductible'],
	queries => 100, epsilon => 2) AS session \gset
SELECT * FROM dp_weights_ask(:session, 'health = ''excellent''');
SELECT * FROM dp_weights_ask(:session, 'health = ''poor'' AND deductible');
SELECT * FROM dp_weights_hypothesis(:session)
	AS cell(health text, deductible boolean, probability float8);
SELECT session, kind, state, asked, questions_left, updates, updates_left
FROM dp_pg.sessions;
\set ECHO none

\echo '== 9. Tables to keep: paid once, read for ever'
\echo '      Synthetic rows are made by another role, whose budget has a delta.'
\echo
\connect - owner
\o /dev/null
\set ECHO queries
SELECT dp_grant('analyst', dataset => 'rand', epsilon => 7);
SELECT dp_grant('publisher', dataset => 'rand', epsilon => 1.5, delta => 1e-9);
\set ECHO none
\o
\echo 'Thirteen rows that answer eight counts as well as any thirteen rows do, more'
\echo 'or less: each such table is the more probable the better it answers.'
\echo
\connect - analyst
\set ECHO queries
CREATE TABLE small AS
SELECT * FROM dp_smalldb('person', columns => ARRAY['health', 'deductible'],
		marginals => 2, alpha => 0.4, epsilon => 1)
	AS t(health text, deductible boolean, weight float8);
\set ECHO none
GRANT SELECT ON small TO owner;
\echo 'As many synthetic rows as there are true ones, of all four columns.'
\echo
\connect - publisher
SET dp_pg.delta = '5e-10';
\set ECHO queries
CREATE TABLE synthetic AS
SELECT * FROM dp_synthesize('person',
		columns => ARRAY['health', 'deductible', 'visits', 'diseases'],
		bins => ARRAY[0, 0, 10, 12], epsilon => 1)
	AS t(health text, deductible boolean, visits int, diseases float8);
\set ECHO none
GRANT SELECT ON synthetic TO owner;
\echo 'The owner sees what is public, and may compare it with the truth.'
\echo
\connect - owner
\set ECHO queries
SELECT id, role, mechanism, epsilon, round(error) AS error_95, target
FROM dp_pg.releases ORDER BY id;
\set ECHO none
SELECT health, deductible, t.truth, s.synthetic, round(m.small) AS small
FROM (SELECT health, deductible, count(*) AS truth
	FROM person GROUP BY 1, 2) AS t
LEFT JOIN (SELECT health, deductible, count(*) AS synthetic
	FROM work.synthetic GROUP BY 1, 2) AS s USING (health, deductible)
LEFT JOIN (SELECT health, deductible, sum(weight) AS small
	FROM work.small GROUP BY 1, 2) AS m USING (health, deductible)
ORDER BY array_position(ARRAY['excellent', 'good', 'fair', 'poor'], health), 2;
\connect - analyst

\echo '== 10. The ledger: every charge, written before the data were read'
\echo
\set ECHO queries
SELECT id, role, dataset, mechanism, epsilon, round(rho, 6) AS rho
FROM dp_pg.ledger ORDER BY id;
\set ECHO none
\set ECHO queries
SELECT dataset, epsilon, spent, remaining_epsilon, calls_left
FROM dp_pg.my_budget;
\set ECHO none

\echo '== 11. ROLLBACK takes nothing back, and an empty budget answers nothing'
\echo
\set ECHO queries
BEGIN;
SELECT dp_count(1, 0.5) FROM person;
ROLLBACK;
SELECT spent, remaining_epsilon FROM dp_pg.my_budget;
SELECT dp_count(1, 0.9) FROM person;
\echo SQLSTATE :LAST_ERROR_SQLSTATE
\set ECHO none
\echo
\echo 'End of the demo.  The server and its folder are gone.'
