-- The relations of schema dp_pg in tools' lists: a REVOKE from PUBLIC removes
-- them, and private queries work without these rights.
\set home :DBNAME
CREATE DATABASE regress_unlisted;
\c regress_unlisted
SET client_min_messages = warning;
SET dp_pg.epsilon_ceiling = '1000000';
CREATE EXTENSION dp_pg;
CREATE ROLE unlisted_owner;
CREATE ROLE unlisted_tool;
CREATE ROLE unlisted_reader;
CREATE SCHEMA bi AUTHORIZATION unlisted_owner;
GRANT USAGE ON SCHEMA bi TO PUBLIC;
-- what information_schema and clients that ask for privileges list
CREATE VIEW bi.listed WITH (security_invoker = true) AS
	SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema NOT IN ('pg_catalog', 'information_schema')
	UNION
	SELECT n.nspname, c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
	WHERE n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') AND c.relkind IN ('r', 'v', 'm', 'f', 'p')
		AND (has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE, REFERENCES, TRIGGER')
			 OR has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE, REFERENCES'));
GRANT SELECT ON bi.listed TO PUBLIC;
SET SESSION AUTHORIZATION unlisted_owner;
CREATE TABLE bi.visits (ward text, age int, stay int);
INSERT INTO bi.visits SELECT (ARRAY['A', 'B'])[1 + i % 2], i % 90, i % 10 FROM generate_series(1, 600) AS i;
SELECT dp_protect('bi.visits', dataset => 'hospital', publish => 'bi.stays');
SELECT dp_declare('bi.visits', 'ward', keys => ARRAY['A', 'B'], nulls => false), dp_declare('bi.visits', 'age', lower => 0, upper => 99);
SELECT dp_grant('unlisted_tool', dataset => 'hospital', epsilon => 1e9), dp_grant('unlisted_reader', dataset => 'hospital', epsilon => 1);
SET SESSION AUTHORIZATION unlisted_tool;
-- by default everybody may read the catalog, each role its own rows
SELECT table_schema, count(*) > 10 AS many FROM bi.listed WHERE table_schema = 'dp_pg' GROUP BY 1;
RESET SESSION AUTHORIZATION;
REVOKE SELECT ON ALL TABLES IN SCHEMA dp_pg FROM PUBLIC;
GRANT SELECT ON dp_pg.my_budget, dp_pg.ledger TO unlisted_reader;
SET SESSION AUTHORIZATION unlisted_tool;
SELECT * FROM bi.listed ORDER BY 1, 2;
SET dp_pg.epsilon = 100000;
SELECT ward, dp_count(*) FROM bi.visits GROUP BY ward ORDER BY ward;
SELECT mechanism, epsilon FROM dp_last_release();
EXPLAIN (COSTS OFF) SELECT dp_count(*) FROM bi.stays WHERE age < 50;
SELECT attribute, note FROM dp_describe('bi.stays');
SELECT dp_describe('bi.listed');
SELECT dp_median(age) FROM bi.visits WHERE ward = 'A';
SELECT count(*) FROM dp_sparse_vector('bi.visits', ARRAY['age < 10', 'age < 80'], threshold => 300, cutoff => 1);
SELECT dp_batch_open(dataset => 'hospital', epsilon => 100000.0, k => 2) AS batch \gset
SELECT dp_count(*) FROM bi.visits;
SELECT dp_batch_close(:batch);
SELECT dp_sparse_vector_open('bi.visits', threshold => 300, cutoff => 1, questions => 4) AS session \gset
SELECT above FROM dp_sparse_vector_ask(:session, 'age < 80');
SELECT dp_sparse_vector_close(:session);
SET dp_pg.transparent = on;
SET client_min_messages = error;
SELECT "s"."ward", COUNT(*), MAX("s"."age") FROM "bi"."stays" "s" GROUP BY 1 ORDER BY 1;
-- an identical query is answered from the stored one
SELECT "s"."ward", COUNT(*), MAX("s"."age") FROM "bi"."stays" "s" GROUP BY 1 ORDER BY 1;
SELECT * FROM bi.stays LIMIT 10;
SELECT dp_refresh('hospital') > 0 AS refreshed;
SET client_min_messages = warning;
SELECT * FROM bi.stays;
-- who was given back something reads what is his, and sees nothing else
SELECT count(*) FROM dp_pg.ledger;
SET SESSION AUTHORIZATION unlisted_reader;
RESET dp_pg.epsilon;
RESET dp_pg.transparent;
SELECT * FROM bi.listed WHERE table_schema = 'dp_pg' ORDER BY 2;
SELECT dp_count(*) IS NOT NULL AS answered FROM bi.visits;
SELECT dataset, spent FROM dp_pg.my_budget;
SELECT role, epsilon FROM dp_pg.ledger;
SELECT count(*) FROM dp_pg.budgets;
-- nor does the owner need it
SET SESSION AUTHORIZATION unlisted_owner;
SELECT dp_declare('bi.visits', 'stay', lower => 0, upper => 30);
SELECT dp_revoke('unlisted_reader', dataset => 'hospital');
SELECT count(*) > 0 AS found FROM dp_audit();
SELECT dp_unprotect('bi.visits');
RESET SESSION AUTHORIZATION;
\c :home
DROP DATABASE regress_unlisted;
DROP ROLE unlisted_owner, unlisted_tool, unlisted_reader;
