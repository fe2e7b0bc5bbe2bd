-- How many predicates of a list are evaluated for every row: shown in advance,
-- and limited before the charge.  Nothing compared is random: no false alarms.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test predicate_cost
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
SHOW dp_pg.max_predicates_per_row;
-- n predicates that no table counts, and n that one counts
CREATE FUNCTION general(n int) RETURNS text[] LANGUAGE sql AS $$ SELECT array_agg(format('age > %s', i)) FROM generate_series(1, n) i $$;
CREATE FUNCTION equal(n int) RETURNS text[] LANGUAGE sql AS $$ SELECT array_agg(format('age = %s AND sex', i)) FROM generate_series(1, n) i $$;
SET ROLE :owner;
CREATE TABLE candidate AS SELECT i AS id, array_fill(i::float8, ARRAY[3]) AS answers FROM generate_series(1, 4) i;
GRANT SELECT ON candidate TO :analyst;
CREATE TABLE unprotected (age int);
GRANT SELECT ON unprotected TO :analyst;
SET ROLE :analyst;

-- the preview, which charges nothing
SELECT * FROM dp_predicate_cost('person', ARRAY['age > 3', 'sex', 'ward IN (''A'', ''B'') AND feel IS NULL', 'age + 1 = 3', 'true']);
SELECT * FROM dp_predicate_cost('person', equal(5000));
SELECT * FROM dp_predicate_cost('person', general(1500) || equal(5));
SELECT charges FROM spent();
SELECT * FROM outcome($$SELECT dp_predicate_cost('person', general(10001))$$);
SELECT * FROM outcome($$SELECT dp_predicate_cost('person', NULL::text[])$$);
SELECT * FROM outcome($$SELECT dp_predicate_cost(NULL, ARRAY['sex'])$$);
SELECT * FROM outcome($$SELECT dp_predicate_cost('person', ARRAY['sex', 'nobody > 3'])$$);
SELECT * FROM outcome($$SELECT dp_predicate_cost('person', ARRAY['ward ~ ''A'''])$$);
SELECT * FROM outcome($$SELECT dp_predicate_cost('unprotected', ARRAY['age > 3'])$$);
-- EXPLAIN of the aggregate: with groups, each is evaluated
EXPLAIN (COSTS OFF) SELECT dp_pg.conditions(ARRAY[age > 3, sex, ward = 'A'], 0.5) FROM person \g (format=unaligned tuples_only=on) | grep Every
EXPLAIN (COSTS OFF) SELECT sex, dp_pg.conditions(ARRAY[age > 3, sex, ward = 'A'], 0.5) FROM person GROUP BY sex \g (format=unaligned tuples_only=on) | grep Every

-- Of the others none evaluates a predicate for a row: they count tables over
-- columns, in which their predicates are looked up afterwards.
RESET ROLE;
SET dp_pg.max_predicates_per_row = 1;
SET ROLE :analyst;
CREATE FUNCTION wards(n int) RETURNS text[] LANGUAGE sql AS $$ SELECT array_agg(format('sex OR ward > %L', i)) FROM generate_series(1, n) i $$;
SELECT * FROM dp_predicate_cost('person', wards(300));
SELECT count(*) > 0 AS answered FROM dp_smalldb('person', ARRAY['sex', 'ward'], wards(300), 100000, 12, alpha => 0.9) AS t(sex boolean, ward text);
SELECT count(*) > 0 AS answered FROM dp_synthesize('person', ARRAY['sex', 'ward'], 2, 1000, n => 1000, delta => 1e-6) AS t(sex boolean, ward text);
SELECT dp_weights_open('person', ARRAY['sex', 'ward'], queries => 10, epsilon => 100000, n => 1000) AS session \gset
SELECT answer IS NOT NULL AS answered FROM dp_weights_ask(:session, 'sex OR ward > ''A''');
SELECT dp_histogram(age, 0, 120, 60) IS NOT NULL AS answered FROM person;
RESET ROLE;
RESET dp_pg.max_predicates_per_row;
SET ROLE :analyst;

-- the limit, before the charge, for every mechanism with a list
SELECT state, hinted, charges FROM outcome($$SELECT dp_argmax('person', general(1001), 1.0)$$);
SELECT state, hinted, charges FROM outcome($$SELECT * FROM dp_sparse_vector('person', general(1001), 500, epsilon => 1)$$);
SELECT state, hinted, charges FROM outcome($$SELECT * FROM dp_net('person', 'candidate', general(1001), 1) AS t(id int)$$);
SET client_min_messages = notice;
\set VERBOSITY terse
SELECT dp_argmax('person', general(1000), 1.0) IS NOT NULL AS answered;
SELECT dp_argmax('person', general(100) || equal(2000), 1.0) IS NOT NULL AS answered;
SELECT count(*) > 0 AS answered FROM dp_sparse_vector('person', general(101) || equal(3), 5, cutoff => 1, epsilon => 1000);
RESET client_min_messages;
\set VERBOSITY sqlstate
SELECT charges FROM spent();
-- lists of one block are evaluated in one scan
RESET ROLE;
SET dp_pg.max_predicates_per_row = 4;
SET ROLE :analyst;
SELECT * FROM outcome('SELECT dp_pg.conditions(ARRAY[age > 3, age > 4, sex], 1.0), dp_pg.conditions(ARRAY[age > 5, age > 6], 1.0) FROM person');
SELECT * FROM outcome('SELECT dp_pg.conditions(ARRAY[age > 3, age > 4, sex], 1.0), dp_pg.conditions(ARRAY[age > 5, age > 6, age > 7], 1.0) FROM person');
SELECT * FROM outcome('SELECT sex, dp_pg.conditions(ARRAY[sex, ward = ''A'', ward = ''B'', ward = ''C'', ward = ''X''], 1.0) FROM person GROUP BY sex');
SELECT * FROM outcome('EXPLAIN SELECT dp_pg.conditions(ARRAY[age > 1, age > 2, age > 3, age > 4, age > 5], 1.0) FROM person');
\set VERBOSITY default
SELECT dp_argmax('person', general(5) || equal(2), 1.0);
\set VERBOSITY sqlstate
-- a question of a session is one
SELECT dp_sparse_vector_open('person', 500, epsilon => 1000, questions => 5) AS session \gset
SELECT above FROM dp_sparse_vector_ask(:session, 'age < 90 AND age > -1');
-- what it is does not depend on rows, nor may the analyst raise it
SELECT * FROM outcome('SET dp_pg.max_predicates_per_row = 100');
SELECT * FROM outcome('SELECT set_config(''dp_pg.max_predicates_per_row'', ''100'', true)');
SET ROLE :owner;
DELETE FROM person;
SET ROLE :analyst;
SELECT * FROM dp_predicate_cost('person', general(9));
SELECT * FROM outcome($$SELECT dp_argmax('person', general(5), 1.0)$$);

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
