-- Messages when rows of a protected relation cannot be read.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test refuse
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
\set poor regress_ :test _poor
\set reader regress_ :test _reader
\set other regress_ :test _other
CREATE ROLE :poor;
CREATE ROLE :reader;
CREATE ROLE :other;
CREATE SCHEMA refuse_bi AUTHORIZATION :owner;
GRANT USAGE ON SCHEMA refuse_bi TO :analyst, :poor, :other;
GRANT USAGE, CREATE ON SCHEMA :schema TO :poor, :reader, :other;
SET ROLE :owner;
SELECT dp_protect('person', dataset => :'schema', publish => 'refuse_bi.people') \g /dev/null
CREATE VIEW definer AS SELECT * FROM person;
CREATE TABLE part (id int, k text) PARTITION BY LIST (k);
CREATE TABLE part_a PARTITION OF part FOR VALUES IN ('a');
SELECT dp_protect('part', dataset => :'schema') \g /dev/null
CREATE TABLE plain (a int);
CREATE TABLE hidden (a int);
GRANT SELECT ON plain TO :analyst;
GRANT SELECT ON refuse_bi.people TO :poor, :other;
CREATE FUNCTION owners_count() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT count(*) FROM regress_refuse.person';
GRANT INSERT ON person TO :reader;
RESET ROLE;
SET ROLE :analyst;
CREATE VIEW nested AS SELECT age FROM refuse_bi.people;
CREATE VIEW nested_invoker WITH (security_invoker) AS SELECT age FROM nested;
RESET ROLE;
GRANT SELECT ON nested, nested_invoker TO :poor;
SET ROLE :other;
CREATE FUNCTION lookup() RETURNS SETOF int LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN RETURN QUERY SELECT age FROM refuse_bi.people; END';
CREATE FUNCTION inlined() RETURNS SETOF int LANGUAGE sql STABLE AS 'SELECT age FROM refuse_bi.people';
RESET ROLE;

-- all that an error says
CREATE FUNCTION said(statement text, OUT state text, OUT text text) LANGUAGE plpgsql AS $$
DECLARE
	detail text;
	hint text;
BEGIN
	EXECUTE statement;
	state := '00000';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	state := SQLSTATE;
	text := concat_ws(' | ', SQLERRM, nullif(detail, ''), nullif(hint, ''));
END $$;
SELECT dp_grant(:'analyst', :'schema', epsilon => 5, delta => 0.001, filter => 'basic') \g /dev/null
SET dp_pg.epsilon = 1;
\pset format unaligned
\pset tuples_only

-- by the name that was written, with what remains, and what to write
SET ROLE :analyst;
SELECT dp_count(*) IS NOT NULL FROM person;
SELECT text FROM said('SELECT * FROM person');
SELECT text FROM said('SELECT * FROM refuse_bi.people LIMIT 0');
SELECT text FROM said('TABLE part_a');
SELECT text FROM said('SELECT age FROM nested');
SELECT text FROM said('SELECT age FROM nested_invoker n JOIN plain p ON p.a = n.age');
SELECT text FROM said('WITH w AS (SELECT * FROM refuse_bi.people) SELECT (SELECT max(x.age) FROM w x)');
SELECT text FROM said('SELECT count(*) FROM plain WHERE a IN (SELECT id FROM person)');
SELECT text FROM said('SELECT person.ctid FROM person FOR SHARE');
SELECT text FROM said('EXPLAIN SELECT * FROM refuse_bi.people');
SELECT text FROM said('DELETE FROM person WHERE id = 1');
SELECT text FROM said('SELECT min(age) FROM person');
SELECT text FROM said('SELECT var_samp(age) FROM person');
SELECT text FROM said('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY age) FROM person');
SELECT text FROM said('SELECT mode() WITHIN GROUP (ORDER BY age) FROM person');
SELECT text FROM said('SELECT string_agg(ward, ''x'') FROM person');
SELECT text FROM said('SELECT dp_count(*), max(age) FROM person');
SELECT text FROM said('SELECT dp_count(*), string_agg(ward, ''x'') FROM person');
-- commands that no planner sees
\set VERBOSITY default
COPY person TO STDOUT;
COPY person (id, age) TO STDOUT;
COPY refuse_bi.people TO STDOUT;
COPY (SELECT age FROM person) TO STDOUT;
COPY hidden TO STDOUT;
COPY nothing TO STDOUT;
COPY plain TO STDOUT;
\set VERBOSITY sqlstate
SELECT text FROM said('LOCK plain, person IN ACCESS SHARE MODE');
SELECT text FROM said('LOCK refuse_bi.people IN ACCESS SHARE MODE');
SELECT text FROM said('LOCK nested IN ACCESS SHARE MODE');
-- functions: of others, and with others' rights
SELECT text FROM said('SELECT * FROM lookup()');
SELECT text FROM said('SELECT * FROM inlined()');
SELECT owners_count();
-- the cap counts where less remains under it
RESET ROLE;
SELECT dp_limit(:'schema', epsilon => 2, delta => 0.001) \g /dev/null
SET ROLE :analyst;
SELECT text FROM said('SELECT * FROM person');
-- what is no reading of protected rows is as it is without the extension
SELECT text FROM said('INSERT INTO person (id) VALUES (1)');
SELECT text FROM said('DELETE FROM person');
SELECT text FROM said('TRUNCATE person');
SELECT text FROM said('SELECT * FROM hidden');
SELECT text FROM said('LOCK hidden IN ACCESS SHARE MODE');
-- without a budget: neither dataset nor numbers
SET ROLE :poor;
SELECT text FROM said('SELECT * FROM person');
SELECT text FROM said('SELECT sum(age) FROM refuse_bi.people');
SELECT text FROM said('SELECT age FROM nested');
SELECT text FROM said('LOCK person IN ACCESS SHARE MODE');
-- a budget that was taken away is none
RESET ROLE;
SELECT dp_revoke(:'analyst', :'schema') \g /dev/null
SET ROLE :analyst;
SELECT text FROM said('SELECT * FROM person');
RESET ROLE;
SELECT dp_grant(:'analyst', :'schema', epsilon => 5, delta => 0.001, filter => 'basic') \g /dev/null

-- whoever may read is not affected
SET client_min_messages = error;
GRANT SELECT (id) ON person TO :reader;
SET client_min_messages = warning;
SET ROLE :reader;
SELECT state FROM said('SELECT max(id) FROM person');
SELECT state FROM said('INSERT INTO person (id) SELECT 1 WHERE false');
\copy person (id) TO '/dev/null'
\echo :ERROR
COPY person (age) TO STDOUT;
BEGIN;
LOCK person IN ROW EXCLUSIVE MODE;
COMMIT;
SELECT text FROM said('SELECT max(age) FROM person');
SET ROLE :owner;
SELECT max(age), count(*) FROM refuse_bi.people;
BEGIN;
LOCK refuse_bi.people IN ACCESS SHARE MODE;
COMMIT;
RESET ROLE;
SELECT max(age) FROM person;

-- plans that were made for somebody else
\set VERBOSITY default
SET plan_cache_mode = force_generic_plan;
PREPARE by_table(int) AS SELECT count(age) FROM person WHERE id > $1;
PREPARE by_view AS SELECT max(n.age) FROM nested_invoker n;
PREPARE by_definer AS SELECT max(age) FROM definer;
PREPARE of_hidden AS SELECT * FROM hidden;
EXECUTE by_table(10);
SET ROLE :owner;
EXECUTE by_table(10);
EXECUTE by_definer;
SET ROLE :analyst;
EXECUTE by_table(10);
EXPLAIN EXECUTE by_table(10);
EXECUTE by_view;
EXECUTE by_definer;
EXECUTE of_hidden;
SET ROLE :poor;
EXECUTE by_table(10);
SET ROLE :reader;
EXECUTE by_table(10);
RESET ROLE;
EXECUTE by_table(10);
\set VERBOSITY sqlstate

-- the text says nothing of rows: it is the same whatever there is
SET ROLE :analyst;
SELECT text AS before FROM said('SELECT min(age) FROM person WHERE age = 41') \gset
RESET ROLE;
DELETE FROM person WHERE id > 3;
SET ROLE :analyst;
SELECT text = :'before' FROM said('SELECT min(age) FROM person WHERE age = 41');
-- every aggregate that a hint names exists
SELECT a.name FROM said('SELECT string_agg(ward, ''x'') FROM person') s,
	regexp_matches(s.text, 'dp_\w+', 'g') m, LATERAL (SELECT m[1]) a (name)
WHERE NOT EXISTS (SELECT FROM pg_proc p WHERE p.proname = a.name AND p.prokind = 'a');
\pset format aligned
\pset tuples_only off

DEALLOCATE ALL;
RESET ROLE;
DROP OWNED BY :poor, :reader, :other CASCADE;
DROP SCHEMA refuse_bi CASCADE;
DROP ROLE :poor, :reader, :other;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
