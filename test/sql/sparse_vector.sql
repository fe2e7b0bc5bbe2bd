-- dp_sparse_vector, dp_sparse_vector_open, _ask, _close, dp_above_threshold.
--
-- Epsilon is 100000 unless said otherwise and counts are 10 or more rows away
-- from thresholds, so that scales are below 1/4000 and a wrong "above", or a
-- numeric answer that is not the exact count, has probability below
-- exp(-4000) each, below exp(-50) where epsilon is 1.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test sparse_vector
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
SET dp_pg.epsilon = '100000';

SET ROLE :owner;
CREATE VIEW young AS SELECT id, age, feel FROM person WHERE age < 50;
CREATE VIEW hidden AS SELECT * FROM person;
GRANT SELECT ON young TO :analyst;
CREATE TABLE plain (id int);
RESET ROLE;
CREATE ROLE regress_sparse_vector_second;
GRANT USAGE ON SCHEMA :schema TO regress_sparse_vector_second;

-- the last lines of the ledger, oldest first
CREATE FUNCTION lines(n int) RETURNS TABLE (mechanism text, epsilon numeric, delta numeric, releases int)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS $$
	SELECT mechanism, epsilon, delta, releases
	FROM (SELECT * FROM dp_pg.ledger WHERE dataset = current_setting('regress.dataset') ORDER BY id DESC LIMIT n) l ORDER BY id
$$;
-- state, hint or not, and what the context says of a predicate
CREATE FUNCTION wrong(VARIADIC predicates text[], OUT state text, OUT place text, OUT charges bigint)
LANGUAGE plpgsql AS $$
DECLARE
	context text;
BEGIN
	PERFORM spent();
	BEGIN
		PERFORM * FROM dp_sparse_vector('person', predicates, 500);
		state := '00000';
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
		state := SQLSTATE;
		place := substring(context FROM '^predicate \d+: [^\n]*');
	END;
	SELECT s.charges INTO charges FROM spent() s;
END $$;

SET ROLE :analyst;
SELECT * FROM spent() \g /dev/null
-- ---- one call ----
-- in order, up to the cutoff; what comes after has no row
SELECT * FROM dp_sparse_vector('person', ARRAY['age < 20', 'age < 70', 'age < 80', 'true'], 500);
SELECT * FROM dp_sparse_vector('person', ARRAY['age < 20', 'age < 70', 'sex', 'true', 'age > 90'], 450, cutoff => 3);
SELECT * FROM dp_sparse_vector('person', ARRAY['age < 20', 'false', 'null', 'age > 1 / (id - id)'], 10);
SELECT * FROM dp_sparse_vector('person', ARRAY['false', 'true'], -100);
SELECT * FROM lines(4);
SELECT * FROM spent();
-- with numbers: the exact counts; NULL does not hold
SELECT * FROM dp_sparse_vector('person', ARRAY['age < 20', 'true', $$feel = 'sad'$$, 'feel IS NULL', 'age < 10 OR sex'], 150,
	cutoff => 10, numeric_answers => true);
-- a cutoff above the number of predicates is that number
SELECT * FROM lines(1);
-- a threshold between two counts means the next one; numbers of any type
SELECT threshold, (SELECT array_agg(above) FROM dp_sparse_vector('person', ARRAY['id <= 490', 'id <= 510'], threshold, 2))
FROM (VALUES (499.5), (500.5)) v (threshold);
SELECT above FROM dp_sparse_vector('person', ARRAY['id <= 510'], 500::smallint);
SELECT above FROM dp_sparse_vector('person', ARRAY['id <= 510'], 500::bigint, epsilon => 1000);
SELECT above FROM dp_sparse_vector('person', ARRAY['id <= 510'], 500.25::float8, epsilon => 1000.5::float8, confidence => 0.9::float8);
SELECT above FROM dp_sparse_vector(relation => 'person', queries => '{id <= 510}', threshold => '500', cutoff => 1,
	epsilon => 1000.25, numeric_answers => false, delta => 0,
	confidence => 0.5, method => 'geometric', alpha => 1000);
SELECT above FROM dp_sparse_vector('person', ARRAY['true'], 4e18, epsilon => 1);
SELECT above FROM dp_sparse_vector('person', ARRAY['true'], -4e18, epsilon => 1);
SELECT epsilon, delta FROM lines(5);
-- methods; delta
SELECT method, (SELECT array_agg(coalesce(answer, 0)) FROM dp_sparse_vector('person', ARRAY['id <= 100', 'id <= 510', 'id <= 600', 'true'],
	500, 2, numeric_answers => true, method => method))
FROM unnest(ARRAY['best', 'geometric', 'rounds', 'book']) method;
SELECT epsilon, delta FROM lines(4);
SELECT above FROM dp_sparse_vector('person', ARRAY['id <= 510'], 500, 1, 1000, delta => 1e-9, method => 'rounds');
SELECT above FROM dp_sparse_vector('person', ARRAY['id <= 510'], 500, 1, 1000, delta => 1e-9, method => 'book');
-- the book's formula needs a small epsilon: noise of scales 26 and 52, 2500 rows away
SELECT above FROM dp_sparse_vector('person', ARRAY['true'], -1500, 1, 1, delta => 1e-9, method => 'book');
SELECT delta <= 1e-9 AS small FROM lines(2);
SET dp_pg.mechanism = gaussian;
SELECT above FROM dp_sparse_vector('person', ARRAY['id <= 510'], 500);
SET dp_pg.delta = '1e-12';
SELECT above FROM dp_sparse_vector('person', ARRAY['id <= 510'], 500, method => 'rounds');
SELECT delta <= 1e-12 AS small FROM lines(2);
RESET dp_pg.mechanism;
RESET dp_pg.delta;
SELECT charges FROM spent();

-- wrong predicates: number and text, nothing charged
SELECT * FROM wrong('true', 'age < ');
SELECT * FROM wrong('true', 'age < 10; DROP TABLE person');
SELECT * FROM wrong('low < 10');
SELECT * FROM wrong('age');
SELECT * FROM wrong('age < 10', 'ward ~ ''A''');
SELECT * FROM wrong('age < (SELECT 1)');
SELECT * FROM wrong('dp_count(*) > 1');
-- wrong arguments
SELECT * FROM outcome($$SELECT dp_sparse_vector(NULL, ARRAY['true'], 5)$$);
SELECT * FROM outcome($$SELECT dp_sparse_vector('person', NULL, 5)$$);
SELECT * FROM outcome($$SELECT dp_sparse_vector('person', '{}', 5)$$);
SELECT * FROM outcome($$SELECT dp_sparse_vector('person', ARRAY['true', NULL], 5)$$);
SELECT * FROM outcome($$SELECT dp_sparse_vector('person', ARRAY[['true']], 5)$$);
SELECT * FROM outcome($$SELECT dp_sparse_vector('person', array_fill('true'::text, ARRAY[10001]), 5)$$);
SELECT a, (outcome('SELECT dp_sparse_vector(''person'', ARRAY[''true''], ' || a || ')')).* FROM (VALUES
	($$NULL$$),
	($$'NaN'$$),
	($$'Infinity'$$),
	($$1e19$$),
	($$5, NULL$$),
	($$5, 0$$),
	($$5, -1$$),
	($$5, epsilon => 0$$),
	($$5, epsilon => 'NaN'$$),
	($$5, epsilon => 1000001$$),
	($$5, delta => -0.1$$),
	($$5, delta => 1$$),
	($$5, confidence => 0$$),
	($$5, confidence => 1$$),
	($$5, confidence => 0.999999999999999999999999$$),
	($$5, confidence => NULL$$),
	($$5, numeric_answers => NULL$$),
	($$5, method => NULL$$),
	($$5, method => 'BEST'$$),
	($$5, alpha => 'NaN'$$)
) AS v(a);
SELECT * FROM outcome($$SELECT dp_sparse_vector('plain', ARRAY['true'], 5)$$);
SELECT * FROM outcome($$SELECT dp_sparse_vector('hidden', ARRAY['true'], 5)$$);
SELECT * FROM outcome($$SELECT dp_sparse_vector('nowhere', ARRAY['true'], 5)$$);
SELECT * FROM outcome($$SELECT dp_sparse_vector('person_pkey', ARRAY['true'], 5)$$);
SELECT * FROM outcome($$SELECT dp_sparse_vector('person', ARRAY['true'], 5, epsilon => 1000000)$$);

-- an alpha that is not reached is refused, and the one that is is named
\set VERBOSITY terse
DO $$
DECLARE
	low text;
	high text;
BEGIN
	PERFORM dp_sparse_vector('person', ARRAY['true', 'sex'], 500, epsilon => 0.1, alpha => 1);
EXCEPTION WHEN invalid_parameter_value THEN
	GET STACKED DIAGNOSTICS low = PG_EXCEPTION_DETAIL, high = PG_EXCEPTION_HINT;
	low := substring(low FROM 'is (\d+),');
	PERFORM dp_sparse_vector('person', ARRAY['true', 'sex'], 500, epsilon => 0.1, alpha => low::int);
	BEGIN
		PERFORM dp_sparse_vector('person', ARRAY['true', 'sex'], 500, epsilon => 0.1, alpha => low::int - 1);
	EXCEPTION WHEN invalid_parameter_value THEN
		RAISE WARNING 'reached: %, named: %, refused below', low::int BETWEEN 20 AND 100, high LIKE 'Ask for alpha ' || low || ',%';
	END;
END $$;
\set VERBOSITY sqlstate
SELECT * FROM spent();

-- views and row security as in any query
SELECT * FROM dp_sparse_vector('young', ARRAY['age < 60', $$feel = 'sad'$$], 150, 2, numeric_answers => true);
SELECT * FROM outcome($$SELECT dp_sparse_vector('young', ARRAY['ward = ''A'''], 150)$$);
RESET ROLE;
SET ROLE :owner;
ALTER TABLE person ENABLE ROW LEVEL SECURITY;
CREATE POLICY first_300 ON person FOR SELECT TO :analyst USING (id <= 300);
RESET ROLE;
SET ROLE :analyst;
SELECT * FROM dp_sparse_vector('person', ARRAY['true', 'id > 200', 'id > 300'], 50, 3, numeric_answers => true);
RESET ROLE;
SET ROLE :owner;
ALTER TABLE person DISABLE ROW LEVEL SECURITY;
RESET ROLE;
SET ROLE :analyst;
SELECT charges FROM spent();

-- one call, one charge: transactions, cursors, joins, LATERAL, SELECT lists
BEGIN;
SELECT above FROM dp_sparse_vector('person', ARRAY['true'], 500);
SAVEPOINT s;
SELECT above FROM dp_sparse_vector('person', ARRAY['true'], 500);
ROLLBACK TO s;
ROLLBACK;
BEGIN READ ONLY ISOLATION LEVEL REPEATABLE READ;
SELECT above FROM dp_sparse_vector('person', ARRAY['true'], 500);
COMMIT;
SELECT charges FROM spent();
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT above FROM dp_sparse_vector('person', ARRAY['true'], 500);
ROLLBACK;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT query, above FROM dp_sparse_vector('person', ARRAY['sex', 'false', 'true'], 600);
FETCH 2 c;
MOVE BACKWARD ALL c;
FETCH ALL c;
COMMIT;
SELECT charges FROM spent();
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT count(*), count(DISTINCT above) FROM generate_series(1, 50) i, dp_sparse_vector('person', ARRAY['true'], 500);
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
SELECT charges FROM spent();
SELECT t, above FROM (VALUES (100), (2000)) v (t), LATERAL dp_sparse_vector('person', ARRAY['true'], t);
SELECT charges FROM spent();
SELECT (dp_sparse_vector('person', ARRAY['sex', 'true'], 600)).above;
EXPLAIN (COSTS OFF) SELECT * FROM dp_sparse_vector('person', ARRAY['true'], 500);
PREPARE ask(regclass, text[], numeric) AS SELECT above FROM dp_sparse_vector($1, $2, $3, epsilon => 10000);
EXECUTE ask('person', '{true}', 500);
EXECUTE ask('person', '{false}', 500);
EXECUTE ask('person', '{nonsense}', 500);
SELECT * FROM spent();
CREATE TEMP TABLE kept AS SELECT * FROM dp_sparse_vector('person', ARRAY['sex', 'true'], 600, 2);
SELECT * FROM kept;
CREATE FUNCTION many(low int) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	row record;
BEGIN
	FOR row IN SELECT * FROM dp_sparse_vector('person', (SELECT array_agg(format('age < %s', i)) FROM generate_series(0, 100, 10) i), low, 2) LOOP
		IF row.above THEN
			RETURN NEXT row.predicate;
		END IF;
	END LOOP;
END $$;
SELECT many(550);
-- around and inside private queries: as a subquery that runs before, not on rows
SELECT dp_count(*) FROM person WHERE age < (SELECT answer / 10 FROM dp_sparse_vector('person', ARRAY['sex'], 400, numeric_answers => true));
SELECT * FROM outcome($$SELECT dp_count(*) FROM person WHERE (SELECT bool_or(above) FROM dp_sparse_vector('person', ARRAY[ward], 400))$$);
SELECT * FROM outcome($$SELECT dp_sparse_vector('person', ARRAY['(dp_sparse_vector_ask(1, ''true'')).above'], 400)$$);
COPY (SELECT above FROM dp_sparse_vector('person', ARRAY['sex'], 400)) TO STDOUT;
SELECT charges FROM spent();

-- ---- sessions ----
\set VERBOSITY terse
SET client_min_messages = notice;
DO $$ BEGIN PERFORM dp_sparse_vector('person', ARRAY['true', 'sex', 'sex'], 500); END $$;
-- a call tells its accuracy, too, and when that is worth nothing
RESET ROLE;
SET ROLE :owner;
\set VERBOSITY default
SELECT count(*) FROM dp_sparse_vector('person', ARRAY['true'], 5, epsilon => 0.5);
SELECT count(*) FROM dp_sparse_vector('person', ARRAY['true', 'true'], 500, cutoff => 5, epsilon => 10, method => 'rounds', delta => 1e-9) WHERE query < 1;
RESET ROLE;
SET ROLE :analyst;
SET client_min_messages = warning;
\set VERBOSITY sqlstate
SELECT * FROM spent() \g /dev/null
SELECT dp_sparse_vector_open('person', threshold => 500, cutoff => 2, numeric_answers => true, questions => 100) AS s \gset
SELECT * FROM lines(1);
SELECT * FROM dp_sparse_vector_ask(:s, 'age < 20');
SELECT * FROM dp_sparse_vector_ask(:s, 'age < 70');
-- a wrong predicate costs no question and closes nothing
SELECT * FROM outcome(format('SELECT dp_sparse_vector_ask(%s, ''age <'')', :s));
SELECT * FROM outcome(format('SELECT dp_sparse_vector_ask(%s, ''age'')', :s));
SELECT * FROM outcome(format('SELECT dp_sparse_vector_ask(%s, ''ward ~ ''''A'''''')', :s));
SELECT * FROM outcome(format('SELECT dp_sparse_vector_ask(%s, NULL)', :s));
SELECT * FROM dp_sparse_vector_ask(:s, 'age < 30');
SELECT * FROM dp_sparse_vector_ask(:s, 'true');
-- after the cutoff
SELECT * FROM outcome(format('SELECT dp_sparse_vector_ask(%s, ''age < 30'')', :s));
SELECT dp_sparse_vector_close(:s);
SELECT * FROM outcome(format('SELECT dp_sparse_vector_ask(%s, ''age < 30'')', :s));
-- all of it was one charge
SELECT * FROM spent();
-- the last question
SELECT dp_sparse_vector_open('person', 500, questions => 2) AS s \gset
SELECT * FROM dp_sparse_vector_ask(:s, 'false');
SELECT * FROM dp_sparse_vector_ask(:s, 'age < 30');
SELECT * FROM outcome(format('SELECT dp_sparse_vector_ask(%s, ''true'')', :s));
-- nothing of an ask can be rolled back
SELECT dp_sparse_vector_open('person', 500, cutoff => 3, questions => 20) AS s \gset
BEGIN;
SELECT * FROM dp_sparse_vector_ask(:s, 'true');
SAVEPOINT p;
SELECT * FROM dp_sparse_vector_ask(:s, 'true');
ROLLBACK TO p;
SELECT * FROM dp_sparse_vector_ask(:s, 'false');
ROLLBACK;
SELECT * FROM dp_sparse_vector_ask(:s, 'true');
SELECT * FROM outcome(format('SELECT dp_sparse_vector_ask(%s, ''true'')', :s));
-- nor an opening or a closing
BEGIN;
SELECT dp_sparse_vector_open('person', 500, cutoff => 3) AS s \gset
ROLLBACK;
SELECT * FROM dp_sparse_vector_ask(:s, 'true');
BEGIN;
SELECT dp_sparse_vector_close(:s);
ROLLBACK;
SELECT * FROM outcome(format('SELECT dp_sparse_vector_ask(%s, ''true'')', :s));
SELECT charges FROM spent();
-- cursors ask once however often they are read; a SELECT list asks per call
SELECT dp_sparse_vector_open('person', 500, cutoff => 100) AS s \gset
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT * FROM dp_sparse_vector_ask(:s, 'true');
FETCH ALL c;
MOVE BACKWARD ALL c;
FETCH ALL c;
COMMIT;
SELECT a.above, a.above_left FROM generate_series(1, 3) i, LATERAL (SELECT * FROM dp_sparse_vector_ask(:s, format('id <= %s', i * 400))) a ORDER BY i;
PREPARE again(bigint, text) AS SELECT * FROM dp_sparse_vector_ask($1, $2);
EXECUTE again(:s, 'true');
EXECUTE again(:s, 'sex AND age < 10');
CREATE FUNCTION search(s bigint) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	low int := 0;
	high int := 100;
BEGIN
	WHILE high - low > 1 LOOP
		IF (SELECT above FROM dp_sparse_vector_ask(s, format('age < %s', (low + high) / 2))) THEN
			high := (low + high) / 2;
		ELSE
			low := (low + high) / 2;
		END IF;
	END LOOP;
	RETURN high;
END $$;
-- least age with 500 people below, by questions that depend on answers: 10 people have each age, and 500 are those below 50, on the threshold itself
SELECT search(:s) BETWEEN 50 AND 51 AS found;
SELECT charges FROM spent();

-- ---- whose it is ----
SELECT * FROM outcome('SELECT dp_sparse_vector_ask(-1, ''true'')');
SELECT * FROM outcome('SELECT dp_sparse_vector_ask(NULL, ''true'')');
SELECT * FROM outcome('SELECT dp_sparse_vector_close(-1)');
SELECT * FROM outcome('SELECT dp_sparse_vector_close(NULL)');
SELECT dp_sparse_vector_open('person', 500) AS t \gset
RESET ROLE;
SET ROLE :owner;
-- the dataset's owner does not ask for others, but may close
SELECT * FROM outcome(format('SELECT dp_sparse_vector_ask(%s, ''true'')', :s));
SELECT dp_sparse_vector_close(:t);
CREATE FUNCTION ask_for(s bigint, OUT above boolean) LANGUAGE sql SECURITY DEFINER SET search_path = regress_sparse_vector, public
	AS $$ SELECT above FROM dp_sparse_vector_ask(s, 'true') $$;
CREATE FUNCTION open_for() RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = regress_sparse_vector, public
	AS $$ SELECT dp_sparse_vector_open('person', 500, 3, 77) $$;
GRANT EXECUTE ON FUNCTION ask_for(bigint), open_for() TO PUBLIC;
RESET ROLE;
-- the owner's function asks and opens for its caller, who pays
SET ROLE :analyst;
SELECT ask_for(:s);
SELECT * FROM outcome(format('SELECT dp_sparse_vector_ask(%s, ''true'')', :t));
SELECT * FROM spent() \g /dev/null
SELECT open_for() AS o \gset
SELECT * FROM spent();
SELECT ask_for(:o);
RESET ROLE;
SET ROLE regress_sparse_vector_second;
SELECT * FROM outcome(format('SELECT ask_for(%s)', :o));
SELECT * FROM outcome(format('SELECT dp_sparse_vector_ask(%s, ''true'')', :o));
SELECT * FROM outcome(format('SELECT dp_sparse_vector_close(%s)', :o));
SELECT count(*) FROM dp_pg.sessions;
SELECT * FROM outcome('SELECT armed FROM dp_pg.session_secret');
SELECT * FROM outcome($$SELECT dp_sparse_vector_open('person', 500)$$);
SELECT * FROM outcome($$SELECT dp_sparse_vector('person', ARRAY['true'], 500)$$);
RESET ROLE;
-- exempt
SET ROLE :owner;
SELECT * FROM spent() \g /dev/null
SELECT dp_sparse_vector_open('person', 500) AS o \gset
SELECT * FROM dp_sparse_vector_ask(:o, 'true');
SELECT * FROM spent();
-- what the owner allows a query to cost
SELECT dp_limit(:'schema', epsilon => 1e11, delta => 0.001, epsilon_floor => 0.5, epsilon_ceiling => 200000) \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SELECT * FROM outcome($$SELECT dp_sparse_vector_open('person', 500, epsilon => 0.4)$$);
SELECT * FROM outcome($$SELECT dp_sparse_vector('person', ARRAY['true'], 500, epsilon => 0.4)$$);
SELECT * FROM outcome($$SELECT dp_sparse_vector_open('person', 500, epsilon => 200001)$$);
SELECT a, (outcome('SELECT dp_sparse_vector_open(''person'', ' || a || ')')).* FROM (VALUES
	($$NULL$$),
	($$5, questions => 0$$),
	($$5, questions => NULL$$),
	($$5, cutoff => 0$$),
	($$5, method => 'x'$$),
	($$5, alpha => -1$$),
	($$5, epsilon => 1, alpha => 1$$)
) AS v(a);
SELECT * FROM outcome($$SELECT dp_sparse_vector_open('hidden', 500)$$);
SELECT * FROM outcome($$SELECT dp_sparse_vector_open('plain', 500)$$);

-- a session asks about its relation as it was protected
RESET ROLE;
SET ROLE :owner;
CREATE TABLE moved (id int PRIMARY KEY);
INSERT INTO moved SELECT generate_series(1, 1000);
SELECT dp_protect('moved', dataset => :'schema') \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SELECT dp_sparse_vector_open('moved', 500, 5) AS m \gset
SELECT above FROM dp_sparse_vector_ask(:m, 'id > 100');
RESET ROLE;
SET ROLE :owner;
SELECT dp_unprotect('moved') \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SELECT * FROM outcome(format('SELECT dp_sparse_vector_ask(%s, ''true'')', :m));
RESET ROLE;
SET ROLE :owner;
SELECT dp_protect('moved', dataset => 'regress_sparse_vector_other') \g /dev/null
SELECT dp_grant(:'analyst', 'regress_sparse_vector_other', epsilon => 1e6) \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SELECT * FROM outcome(format('SELECT dp_sparse_vector_ask(%s, ''true'')', :m));
RESET ROLE;
SET ROLE :owner;
DROP TABLE moved;
RESET ROLE;
SET ROLE :analyst;
SELECT * FROM outcome(format('SELECT dp_sparse_vector_ask(%s, ''true'')', :m));

-- neighbours that replace one: counts move both ways, noise is larger
RESET ROLE;
SET ROLE :owner;
CREATE TABLE exchange (id int PRIMARY KEY);
INSERT INTO exchange SELECT generate_series(1, 1000);
SELECT dp_protect('exchange', dataset => 'regress_sparse_vector_replace') \g /dev/null
SELECT dp_neighbours('regress_sparse_vector_replace', 'replace_one') \g /dev/null
SELECT dp_grant(:'analyst', 'regress_sparse_vector_replace', epsilon => 1e6, delta => 1e-5) \g /dev/null
CREATE FUNCTION least_alpha(relation text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	PERFORM dp_sparse_vector_open(relation::regclass, 500, 5, 1, questions => 100, alpha => 0);
EXCEPTION WHEN invalid_parameter_value THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN substring(detail FROM 'is (\d+),')::int;
END $$;
RESET ROLE;
SET ROLE :analyst;
SELECT least_alpha('exchange') > least_alpha('person') * 1.2 AS larger;
SELECT above, answer FROM dp_sparse_vector('exchange', ARRAY['id <= 400', 'id <= 600'], 500, numeric_answers => true);

-- what the preview tells is what is opened and charged
CREATE FUNCTION told(relation text, monotone boolean) RETURNS TABLE (m text, d numeric, n boolean, same boolean) LANGUAGE plpgsql AS $$
BEGIN
	FOR m, d, n IN SELECT * FROM unnest('{best,geometric,rounds,book}'::text[]) x, unnest('{0,1e-9}'::numeric[]) y, unnest('{f,t}'::boolean[]) z LOOP
		same := (SELECT (s.alpha, s.method, s.epsilon, s.delta, l.rho, l.epsilon) = (e.alpha, e.method, e.epsilon, e.delta, e.rho, e.epsilon)
			FROM (SELECT dp_sparse_vector_open(relation::regclass, 10, 7, 0.75, 500, NULL, d, 0.9, m, told.n) AS id OFFSET 0) o,
				LATERAL (SELECT * FROM sessions_now(o.id)) s, LATERAL (SELECT * FROM ledger_now(o.id)) l,
				dp_sparse_vector_error(500, 7, 0.75, d, 0.9, m, told.n, monotone) e);
		RETURN NEXT;
	END LOOP;
END $$;
-- volatile, so that they see what this statement has opened
CREATE FUNCTION sessions_now(s bigint) RETURNS SETOF dp_pg.sessions LANGUAGE plpgsql AS $$
BEGIN RETURN QUERY SELECT * FROM dp_pg.sessions WHERE session = s; END $$;
CREATE FUNCTION ledger_now(l bigint) RETURNS SETOF dp_pg.ledger LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT * FROM dp_pg.ledger WHERE id = l; END $$;
SELECT * FROM told('person', true);
SELECT bool_and(same), count(*) FROM told('exchange', false);

-- rights that end
RESET ROLE;
SET ROLE :owner;
SELECT dp_revoke(:'analyst', :'schema') \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SELECT * FROM outcome(format('SELECT dp_sparse_vector_ask(%s, ''true'')', :s));
SELECT * FROM outcome($$SELECT dp_sparse_vector_open('person', 500)$$);
RESET ROLE;
SET ROLE :owner;
SELECT dp_grant(:'analyst', :'schema', epsilon => 1e11, delta => 1e-6) \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SELECT above FROM dp_sparse_vector_ask(:s, 'true');
-- a budget that is exhausted opens nothing, and asks in what is open
RESET ROLE;
SET ROLE :owner;
SELECT dp_limit(:'schema', epsilon => 1) \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SELECT * FROM outcome($$SELECT dp_sparse_vector_open('person', 500, epsilon => 2)$$);
SELECT * FROM outcome($$SELECT dp_sparse_vector('person', ARRAY['true'], 500, epsilon => 2)$$);
SELECT above FROM dp_sparse_vector_ask(:s, 'true');

-- ---- dp_above_threshold ----
SELECT * FROM outcome($$SELECT dp_above_threshold(ARRAY[1, 2], 1, 1, 1, 'regress_sparse_vector_replace')$$);
RESET ROLE;
GRANT EXECUTE ON FUNCTION dp_above_threshold(anyarray, numeric, numeric, numeric, name, boolean, text),
	dp_above_threshold(anyarray, float8, float8, float8, name, boolean, text) TO :owner;
SET ROLE :owner;
SELECT dp_unlimit(:'schema') \g /dev/null
SELECT dp_above_threshold(ARRAY[100, 400, 600, 900], 500, 1, 100000, :'schema');
SELECT dp_above_threshold(ARRAY[100, 400, 600, 900]::bigint[], 580.5, 10, 100000, :'schema', monotone => true);
SELECT dp_above_threshold(ARRAY[1.5, 2.5, 'NaN', NULL, 7.5], 5, 1.5, 100000, :'schema', method => 'book');
SELECT dp_above_threshold(ARRAY[1.5, 2.5, 'NaN', NULL, 'Infinity']::float8[], 5.5::float8, 1.5::float8, 100000::float8, :'schema');
SELECT dp_above_threshold(ARRAY[-5, NULL, -3], -1, 1, 100000, :'schema');
SELECT dp_above_threshold(ARRAY[1, 2, 3], 1000, 1, 100000, :'schema') IS NULL AS none;
SELECT * FROM lines(6);
-- with one above, methods best, geometric and rounds are the same mechanism: one text, one charge
SELECT m, dp_above_threshold(ARRAY[1, 400], 200, 1, 100000, :'schema', method => m) FROM unnest('{best,geometric,rounds,book}'::text[]) m;
SELECT mechanism, epsilon, rho = first_value(rho) OVER (ORDER BY id) AS same_rho FROM dp_pg.ledger ORDER BY id DESC LIMIT 4;
SELECT a, (outcome('SELECT dp_above_threshold(' || a || ')')).* FROM (VALUES
	($$NULL::int[], 1, 1, 1, 'regress_sparse_vector'$$),
	($$ARRAY[]::int[], 1, 1, 1, 'regress_sparse_vector'$$),
	($$ARRAY['a'], 1, 1, 1, 'regress_sparse_vector'$$),
	($$ARRAY[1], NULL, 1, 1, 'regress_sparse_vector'$$),
	($$ARRAY[1], 'NaN', 1, 1, 'regress_sparse_vector'$$),
	($$ARRAY[1], 1, 0, 1, 'regress_sparse_vector'$$),
	($$ARRAY[1], 1, 1e30, 1, 'regress_sparse_vector'$$),
	($$ARRAY[1], 1, 1, 0, 'regress_sparse_vector'$$),
	($$ARRAY[1], 1, 1, 1, 'regress_sparse_vector', NULL$$),
	($$ARRAY[1], 1, 1, 1, 'regress_sparse_vector', true, 'worst'$$),
	($$ARRAY[1], 1, 1, 1, 'regress_sparse_vector_none'$$),
	($$ARRAY[1], 1, 1, 1, 'regress_sparse_vector_replace', true$$)
) AS v(a);
-- in a procedure its caller pays
CREATE FUNCTION first_ward(epsilon numeric) RETURNS text LANGUAGE sql SECURITY DEFINER SET search_path = regress_sparse_vector, public AS $$
	SELECT (array_agg(ward ORDER BY ward))[dp_above_threshold(array_agg(n ORDER BY ward), 200, 1, $1, 'regress_sparse_vector', monotone => true)]
	FROM (SELECT v.ward, count(id) - 100 * (v.ward < 'C')::int AS n FROM (VALUES ('A'), ('B'), ('C'), ('X')) v (ward)
		LEFT JOIN person USING (ward) GROUP BY v.ward) t $$;
GRANT EXECUTE ON FUNCTION first_ward(numeric) TO :analyst;
RESET ROLE;
SET ROLE :analyst;
SELECT * FROM spent() \g /dev/null
SELECT first_ward(12345);
SELECT * FROM spent();
RESET ROLE;

SET client_min_messages = error;
DROP OWNED BY regress_sparse_vector_second;
DROP ROLE regress_sparse_vector_second;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
