-- dp_pg.epsilon_floor and the floor of dp_limit are about whole charges: the
-- whole cost of one release, one line of the ledger.  No values are tested: no
-- false alarms.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_floor
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
SHOW dp_pg.epsilon_floor;
GRANT EXECUTE ON FUNCTION dp_pg.charge(name, text, numeric, numeric, numeric, bigint, name) TO :analyst;
-- how each statement ends, how many lines it was charged by, the smallest of them
CREATE FUNCTION tried(VARIADIC statements text[]) RETURNS TABLE (statement text, state text, hinted boolean, charges bigint, smallest numeric) LANGUAGE plpgsql AS $$
DECLARE
	before bigint;
BEGIN
	FOREACH statement IN ARRAY statements LOOP
		before := coalesce(max(id), 0) FROM dp_pg.ledger;
		SELECT o.state, o.hinted, o.charges INTO state, hinted, charges FROM outcome(statement) o;
		smallest := min(l.epsilon) FROM dp_pg.ledger l WHERE l.id > before;
		RETURN NEXT;
	END LOOP;
END $$;
SET ROLE :analyst;

-- one value
SELECT * FROM tried('SELECT dp_count(1, 0.001) FROM person', 'SELECT dp_count(1, 0.000999999999999999999999) FROM person');
-- several values of a block are one charge; each may be as small as it likes
SELECT * FROM tried('SELECT dp_count(1, 0.0005), dp_sum(age, 0.0005) FROM person',
	'SELECT dp_count(1, 0.0005), dp_sum(age, 0.000499) FROM person',
	'SELECT dp_count(1, 0.001), dp_sum(age, 1e-24), dp_avg(age, 1e-24), dp_median(age, 0, 120, 1e-24), dp_argmax(ward, NULL, 1e-20), dp_stddev(age, 1e-20) FROM person',
	'SELECT dp_count(1, 1e-24) FROM person');
-- the same value written twice is one
SELECT * FROM tried('SELECT dp_count(1, 0.0005), dp_count(1, 0.0005) FROM person');
-- noise that might not fit 128 bits is refused before the charge
SELECT * FROM tried('SELECT dp_count(1, 0.001), dp_sum(id, -1000000000, 1000000000, 1e-24) FROM person');
-- groups and selections divide it within
SELECT * FROM tried('SELECT ward, dp_count(1, 0.001) FROM person GROUP BY ward',
	'SELECT dp_topk(ward, 3, NULL, 0.001) FROM person', 'SELECT dp_topk(ward, 3, NULL, 0.0009) FROM person',
	'SELECT sex, dp_topk(ward, 4, NULL, 0.001), dp_histogram(age, 0, 120, 5, 1e-6) FROM person GROUP BY sex',
	'SELECT dp_argmax(''person''::regclass, ARRAY[''age > 3'', ''sex''], 0.001)', 'SELECT dp_argmax(''person''::regclass, ARRAY[''age > 3'', ''sex''], 0.0009)');
-- blocks are charges of their own, however a statement combines them
SELECT * FROM tried(
	'SELECT dp_count(1, 0.0005), (SELECT dp_count(1, 0.0005) FROM person WHERE sex) FROM person',
	'SELECT dp_count(1, 0.0005) FROM person UNION ALL SELECT dp_count(1, 0.0006) FROM person',
	'WITH a AS (SELECT dp_count(1, 0.0005) AS n FROM person), b AS (SELECT dp_sum(age, 0.0005) AS s FROM person) SELECT n, s FROM a, b',
	'SELECT dp_count(1, 0.001) FROM person WHERE age > (SELECT dp_avg(age, 0.0005) FROM person)',
	'SELECT n FROM (SELECT dp_count(1, 0.001) AS n FROM person) t UNION ALL SELECT dp_count(1, 0.001) FROM person');
-- a prepared statement, a loop and a cursor
PREPARE price(numeric) AS SELECT dp_count(1, $1) FROM person;
SELECT * FROM tried('EXECUTE price(0.001)', 'EXECUTE price(0.0001)',
	'DO $d$ BEGIN FOR i IN 1 .. 3 LOOP PERFORM dp_count(1, 0.0004) FROM person; END LOOP; END $d$');
BEGIN;
DECLARE c CURSOR FOR SELECT dp_count(1, 0.0009) FROM person;
FETCH c;
ROLLBACK;
-- EXPLAIN says the same
EXPLAIN (COSTS OFF) SELECT dp_count(1, 0.0005), dp_sum(age, 0.0004) FROM person;

-- dp_pg.split: parts may be below
SET dp_pg.split = on;
SET dp_pg.epsilon = 0.001;
SELECT * FROM tried('SELECT dp_count(*), dp_sum(age), dp_avg(age), dp_count(age), dp_count(ward), dp_count(born), dp_count(seen) FROM person',
	'SELECT dp_count(*), dp_sum(age) FROM person UNION ALL SELECT dp_count(*), 1 FROM person');
SELECT DISTINCT epsilon FROM dp_last_release();
RESET dp_pg.split;
-- the epsilon that was asked for counts, also where rho is charged
SET dp_pg.mechanism = gaussian; SET dp_pg.delta = '1e-9';
SELECT * FROM tried('SELECT dp_count(1, 0.001) FROM person', 'SELECT dp_count(1, 0.0009) FROM person', 'SELECT dp_count(1, 0.0005), dp_sum(age, 0.0005) FROM person',
	'SELECT dp_topk(ward, 2, NULL, 0.0009) FROM person');
RESET dp_pg.mechanism; RESET dp_pg.delta;

-- mechanisms with a charge of their own
SELECT * FROM tried(
	'SELECT * FROM dp_sparse_vector(''person'', ARRAY[''sex'', ''age > 5''], 500, cutoff => 2, epsilon => 0.001, numeric_answers => true)',
	'SELECT * FROM dp_sparse_vector(''person'', ARRAY[''sex'', ''age > 5''], 500, epsilon => 0.0009)',
	'SELECT dp_sparse_vector_open(''person'', 500, epsilon => 0.001, questions => 5)',
	'SELECT dp_sparse_vector_open(''person'', 500, epsilon => 0.0009, questions => 5)',
	'SELECT dp_weights_open(''person'', ARRAY[''sex''], 3, 0.0009, n => 1000000)',
	'SELECT dp_weights_open(''person'', ARRAY[''sex''], 3, 0.001, n => 10000000)',
	'SELECT dp_pg.charge(''regress_query_floor'', ''m'', 0.001)', 'SELECT dp_pg.charge(''regress_query_floor'', ''m'', 0.0009)',
	'SELECT * FROM dp_synthesize(''person'', ARRAY[''sex''], epsilon => 0.0009, delta => 1e-9, rows => 5) AS t(sex boolean)',
	'SELECT * FROM dp_smalldb(''person'', ARRAY[''sex'', ''ward''], 2, 0.0009, 12, alpha => 0.59) AS t(sex boolean, ward text, weight float8)');
-- the number of rows of a session is a charge of its own: a twentieth
SELECT * FROM tried('SELECT dp_weights_open(''person'', ARRAY[''sex''], 3, 0.0199)');
\set VERBOSITY default
SELECT dp_weights_open('person', ARRAY['sex'], 3, 0.0199);
\set VERBOSITY sqlstate
-- a batch pays for its queries at once, but each reads: its price counts
SELECT * FROM tried('SELECT dp_batch_open(''regress_query_floor'', 0.0009, 100)');
-- the local model charges nothing
SELECT dp_randomized_response(true, 0.0001) IS NOT NULL AS drawn;

-- only who may set the setting gets below it; empty is no floor
SELECT * FROM tried('SET dp_pg.epsilon_floor = ''''', 'SET dp_pg.epsilon_floor = ''0.000001''', 'SELECT set_config(''dp_pg.epsilon_floor'', '''', false)');
RESET ROLE;
SET dp_pg.epsilon_floor = '';
SET ROLE :analyst;
SELECT * FROM tried('SELECT dp_count(1, 1e-24) FROM person');
RESET ROLE;
RESET dp_pg.epsilon_floor;
-- a dataset's floor is about the same; the greater one counts
SET ROLE :owner;
SELECT dp_limit(:'schema', epsilon => 1e11, delta => 1e-6, epsilon_floor => 0.05, epsilon_ceiling => 0.5);
SELECT * FROM tried('SELECT dp_count(1, 0.04) FROM person');
SET ROLE :analyst;
SELECT * FROM tried('SELECT dp_count(1, 0.02), dp_sum(age, 0.03) FROM person', 'SELECT dp_count(1, 0.02), dp_sum(age, 0.02) FROM person',
	'SELECT dp_count(1, 0.5), dp_sum(age, 0.5) FROM person', 'SELECT dp_count(1, 0.5), dp_sum(age, 0.51) FROM person',
	'SELECT dp_weights_open(''person'', ARRAY[''sex''], 3, 0.5)');
SET ROLE :owner;
SELECT dp_limit(:'schema', epsilon => 1e11, delta => 1e-6, epsilon_floor => 0.0001);
SET ROLE :analyst;
SELECT * FROM tried('SELECT dp_count(1, 0.0005) FROM person');

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
