-- dp_weights_open, _ask, _estimate, _hypothesis, _close.
--
-- Sessions here pay 1000000 for at most 50 updates, so that the noise of a
-- comparison or an answer has scale 2 * 50 / 300000 at most: it is 0 except
-- with probability below exp(-2900), and answers are as in the expected
-- output.  Numbers of sessions are those of ledger lines, so they are not
-- printed.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test weights
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

-- One row per cell of a session's universe, with a weight.
CREATE TABLE cell (ward text, sex boolean, age integer, feel mood, w double precision);
GRANT ALL ON cell TO :analyst;
CREATE FUNCTION fill(s bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	DELETE FROM cell;
	INSERT INTO cell SELECT * FROM dp_weights_hypothesis(s)
		AS t(ward text, sex boolean, age integer, feel mood, probability double precision);
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN n;
END $$;

-- Algorithm 5 with T63's steps in SQL, over the "above"s that were kept: are
-- all guesses its guesses, and is the hypothesis its distribution?
CREATE FUNCTION replay(s bigint, n bigint, eta double precision,
	OUT updates bigint, OUT guess_wrong boolean, OUT hypothesis_wrong boolean)
LANGUAGE plpgsql AS $$
DECLARE
	a record;
	slack double precision := alpha FROM dp_pg.session WHERE id = s;
	p double precision;
	q double precision;
	move double precision;
BEGIN
	updates := 0;
	guess_wrong := false;
	PERFORM fill(s);
	UPDATE cell SET w = 1;
	FOR a IN SELECT * FROM dp_pg.session_above WHERE session = s ORDER BY number LOOP
		updates := updates + 1;
		EXECUTE format('SELECT coalesce(sum(w) FILTER (WHERE %s), 0) / sum(w) FROM cell', a.predicate) INTO q;
		guess_wrong := guess_wrong OR a.number <> updates OR abs(n * q - a.guess) > 0.5 + 1e-6;
		IF a.answer < a.guess THEN
			p := greatest((a.answer + slack) / n, 0.5 / n);
			move := least(ln(p / (1 - p)) - ln(q / (1 - q)), -eta);
		ELSE
			p := least((a.answer - slack) / n, 1 - 0.5 / n);
			move := greatest(ln(greatest(p, 0.5 / n) / (1 - greatest(p, 0.5 / n))) - ln(q / (1 - q)), eta);
		END IF;
		EXECUTE format('UPDATE cell SET w = w * exp(%L::double precision) WHERE %s', move, a.predicate);
	END LOOP;
	SELECT coalesce(max(abs(probability - w / total)), 0) > 1e-9 INTO hypothesis_wrong
	FROM dp_weights_hypothesis(s) AS t(ward text, sex boolean, age integer, feel mood, probability double precision)
	JOIN cell c USING (ward, sex, age) CROSS JOIN (SELECT sum(w) AS total FROM cell) all_cells
	WHERE t.feel IS NOT DISTINCT FROM c.feel;
END $$;
-- What the hypothesis says about a predicate, and the cells themselves.
CREATE FUNCTION estimate(s bigint, predicate text, OUT cells bigint, OUT wrong boolean)
LANGUAGE plpgsql AS $$
DECLARE
	p double precision;
BEGIN
	EXECUTE format('SELECT count(*), coalesce(sum(w), 0) FROM cell AS person WHERE %s', predicate) INTO cells, p;
	SELECT abs(fraction - p) > 1e-9 OR answer <> round(1000 * fraction) INTO wrong FROM dp_weights_estimate(s, predicate);
END $$;
SET ROLE :owner;
ALTER TABLE person ADD other int NOT NULL DEFAULT 0;
CREATE TABLE tiny (id int PRIMARY KEY, sex boolean NOT NULL);
SELECT dp_protect('tiny', dataset => :'schema') \g /dev/null
RESET ROLE;

SET ROLE :analyst;
SELECT * FROM spent() \g /dev/null

-- steps are 4 alpha at least
-- the universe: declared keys, other, boolean, bins, enum and NULL
SELECT dp_weights_open('person', ARRAY['ward', 'sex', 'age', 'feel'], 50, 1000000, n => 1000,
	bins => ARRAY[0, NULL, 4, 0], alpha => 0.1) AS s \gset
SELECT * FROM spent();
SELECT fill(:s);
SELECT count(*), min(w) = max(w) AS uniform, abs(sum(w) - 1) < 1e-9 AS whole FROM cell;
SELECT ward, count(*) FROM cell GROUP BY ward ORDER BY ward;
SELECT age IS NULL AS none, count(*), bool_and(age BETWEEN 0 AND 120) AS inside FROM cell GROUP BY 1 ORDER BY 1;
SELECT feel, count(*) FROM cell GROUP BY feel ORDER BY feel;
-- in a row of its own: what a session costs, and the line that it is
SELECT epsilon, delta, releases, mechanism FROM dp_pg.ledger WHERE id = :s;
SELECT kind, state, asked, questions_left, above, updates, updates_left FROM dp_pg.sessions WHERE session = :s;
-- what people need to know of it; alpha: 3 n times the one asked for
SELECT columns, n, alpha, threshold + (SELECT s.alpha FROM dp_pg.session s WHERE id = session) < alpha AS kept
FROM dp_pg.sessions WHERE session = :s;

-- predicates: the same as WHERE over the cells, by parts or as a whole
SELECT p, e.* FROM unnest(ARRAY['true', 'false', 'NULL', 'sex', 'NOT sex', $$ward = 'A'$$, $$ward = 'A' AND sex$$,
	$$ward = 'A' OR sex AND age > 60$$, 'age IS NULL', 'age > 60', 'NOT age > 60', $$age > 60 OR feel = 'happy'$$,
	$$feel IN ('sad', 'ok') AND (age BETWEEN 10 AND 40 OR sex)$$, $$(ward, sex) = ('A', true)$$, '100 / (age - 15) > 1',
	$$ward LIKE '%B%' AND NOT sex$$, 'CASE WHEN sex THEN age > 3 ELSE feel IS NULL END', 'person.age < 50',
	'(feel IS NULL) = (age IS NULL)', 'age % 2 = 1 AND feel IS DISTINCT FROM ''ok''', 'age IN (15, 45, NULL)',
	'NOT (age IN (5, NULL)) OR sex', $$ward || 'x' ~ '^[AB]'$$, 'NOT (sex AND age > 10 OR NOT sex AND age <= 70)']) AS p, estimate(:s, p) AS e;

-- questions: near enough to the hypothesis, or not
SELECT * FROM dp_weights_ask(:s, 'sex');
SELECT * FROM dp_weights_ask(:s, $$ward = 'A'$$);
SELECT answer, updated, questions_left, updates_left FROM dp_weights_ask(:s, $$sex AND ward IN ('A', 'C')$$);
SELECT answer, fraction, updated, questions_left, updates_left FROM dp_weights_ask(:s, 'age IS NULL');
SELECT answer, fraction, updated, questions_left, updates_left FROM dp_weights_ask(:s, 'feel IS NULL');
SELECT answer, fraction, updated FROM dp_weights_ask(:s, $$feel = 'happy'$$);
-- a bin is taken by a value inside it: ages 0 to 29 count for 15
SELECT answer, updated FROM dp_weights_ask(:s, 'age < 20 AND feel IS NULL OR age < 20 AND feel IS NOT NULL');
SELECT answer, updated FROM dp_weights_ask(:s, 'true');
SELECT answer, updated FROM dp_weights_ask(:s, 'false');
SELECT count(*), bool_and(abs(answer - truth) <= 300) AS within_3_alpha
FROM (VALUES ($$ward = 'B' AND sex$$, 250), ('NOT sex', 500), ($$feel = 'sad'$$, 250), ($$feel = 'ok' AND NOT sex$$, 250),
	($$ward = 'E' OR age IS NULL$$, 0), ($$ward IN ('A', 'C') AND NOT sex$$, 500)) v(predicate, truth), dp_weights_ask(:s, predicate);
SELECT updates > 3 AS updated, guess_wrong, hypothesis_wrong FROM replay(:s, 1000, 0.4);
SELECT fill(:s), (estimate(:s, $$ward = 'A' AND age > 60 OR feel = 'sad'$$)).wrong;
-- one charge for all of it
SELECT * FROM spent();

-- nothing takes an answer back
SELECT asked, above FROM dp_pg.session WHERE id = :s \gset before_
BEGIN;
SELECT answer, updated FROM dp_weights_ask(:s, $$ward = 'B' AND sex AND feel IS NULL AND age > 60$$);
SAVEPOINT one;
SELECT updated FROM dp_weights_ask(:s, 'true');
ROLLBACK TO one;
SELECT (outcome('SELECT 1 / 0')).state;
ROLLBACK;
SELECT asked - :before_asked AS asked FROM dp_pg.session WHERE id = :s;
BEGIN READ ONLY;
SELECT updated FROM dp_weights_ask(:s, 'true');
COMMIT;
-- a snapshot of before sees the hypothesis of now
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) > 0 FROM dp_weights_estimate(:s, 'true');
SELECT updated FROM dp_weights_ask(:s, $$ward = 'B' AND sex AND feel IS NULL$$);
SELECT updated FROM dp_weights_ask(:s, $$ward = 'B' AND sex AND feel IS NULL$$);
COMMIT;
SELECT guess_wrong, hypothesis_wrong FROM replay(:s, 1000, 0.4);

-- what a predicate cannot be; nothing is asked
SELECT asked FROM dp_pg.session WHERE id = :s \gset before_
SELECT p, (outcome(format('SELECT dp_weights_ask(%s, %L)', :s, p))).*, (outcome(format('SELECT dp_weights_estimate(%s, %L)', :s, p))).state
FROM unnest(ARRAY['other = 0', 'id > 3 AND income > 2', 'nobody = 1', 'age', 'age >', 'age > 1; SELECT 1', 'age > (SELECT 1)', 'random() < 0.5',
	'current_date > ''2020-01-01''', 'count(*) > 1', 'ctid IS NULL', 'person IS NULL', 'person.* IS NULL', '$1 = 1',
	'generate_series(1, 2) = 1', 'regress_weights.spent() IS NULL', 'outcome('''') IS NULL', 'dp_count(*) > 1', '']) AS p;
SELECT (outcome(format('SELECT dp_weights_ask(%s, NULL)', :s))).*;
SELECT asked - :before_asked AS asked FROM dp_pg.session WHERE id = :s;
SELECT t, (outcome(format('SELECT * FROM dp_weights_hypothesis(%s) AS t(%s)', :s, t))).state
FROM (VALUES
	($$ward text, sex boolean, age integer, feel mood, probability double precision$$),
	($$ward text, sex boolean, age integer, feel mood, probability real$$),
	($$ward text, sex boolean, age integer, feel mood$$),
	($$ward text, sex boolean, age bigint, feel mood, probability double precision$$),
	($$sex boolean, ward text, age integer, feel mood, probability double precision$$),
	($$ward varchar, sex boolean, age integer, feel mood, probability double precision$$),
	($$probability double precision$$),
	($$ward text, sex boolean, age integer, feel mood, more text, probability double precision$$)
) AS v(t);
SELECT (outcome(format('SELECT * FROM dp_weights_hypothesis(%s)', :s))).state;

-- the session of its role alone
RESET ROLE;
SET ROLE :owner;
SELECT call, (outcome(format(call, :s))).state FROM unnest(ARRAY['SELECT dp_weights_ask(%s, ''true'')', 'SELECT dp_weights_estimate(%s, ''true'')',
	'SELECT * FROM dp_weights_hypothesis(%s) AS t(probability double precision)']) AS call;
-- declarations of later change nothing for it
SELECT dp_declare('person', 'ward', keys => ARRAY['A', 'B']) \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SELECT count(DISTINCT ward) FROM dp_weights_hypothesis(:s) AS t(ward text, sex boolean, age integer, feel mood, probability double precision);
SELECT guess_wrong, hypothesis_wrong FROM replay(:s, 1000, 0.4);
SELECT answer BETWEEN 0 AND 300 FROM dp_weights_ask(:s, $$ward = 'C' AND sex$$);

-- closed: no question, but what was learned
SELECT dp_weights_close(:s);
SELECT (outcome(format('SELECT dp_weights_ask(%s, ''true'')', :s))).*;
SELECT answer, fraction FROM dp_weights_estimate(:s, 'true');
SELECT guess_wrong, hypothesis_wrong FROM replay(:s, 1000, 0.4);
SELECT (outcome('SELECT dp_weights_ask(-1, ''true'')')).*;
-- closed already; the other kind's functions; not in FROM
SELECT call, (outcome(format(call, :s))).state FROM unnest(ARRAY['SELECT dp_weights_close(%s)', 'SELECT dp_sparse_vector_close(%s)',
	'SELECT dp_sparse_vector_ask(%s, ''true'')', 'SELECT dp_weights_hypothesis(%s)', 'SELECT dp_weights_close(-%s)']) AS call;
\set VERBOSITY terse
DO $$
DECLARE
	s bigint := max(session) FROM dp_pg.sessions WHERE kind = 'weights';
	detail text;
	hint text;
BEGIN
	BEGIN
		PERFORM dp_weights_ask(s, 'true');
	EXCEPTION WHEN object_not_in_prerequisite_state THEN
		GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	END;
	BEGIN
		PERFORM dp_weights_hypothesis(s);
	EXCEPTION WHEN syntax_error THEN
		GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	END;
	RAISE WARNING '% %', detail, substring(hint FROM 'AS t.*');
	BEGIN
		PERFORM * FROM dp_weights_hypothesis(s) AS t(ward text);
	EXCEPTION WHEN invalid_parameter_value THEN
		GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	END;
	RAISE WARNING '%', hint;
	BEGIN
		PERFORM dp_weights_open('person', ARRAY['sex', 'income'], 10, 1, 1000);
	EXCEPTION WHEN invalid_parameter_value THEN
		GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	END;
	RAISE WARNING '%', hint;
END $$;
\set VERBOSITY sqlstate
SELECT * FROM spent() \g /dev/null

-- the noisy count: two charges that add up to epsilon, the first for n; at
-- 7.7 it is 1000, but for an error above 400 with probability exp(-154)
SELECT dp_weights_open('person', ARRAY['sex'], 3, 1000000) AS s \gset
SELECT * FROM spent();
SELECT epsilon, releases, mechanism FROM dp_pg.ledger WHERE dataset = :'schema' AND id IN (:s, :s - 1) ORDER BY id;
SELECT dp_weights_open('person', ARRAY['sex'], 3, 7.7) AS s2 \gset
SELECT * FROM spent();

-- used up: said so, and the hypothesis goes on
SELECT answer, fraction, updated, questions_left, updates_left FROM dp_weights_ask(:s, 'NOT sex');
SELECT answer, questions_left FROM dp_weights_ask(:s, 'sex');
SELECT answer, questions_left FROM dp_weights_ask(:s, 'true');
SELECT (outcome(format('SELECT dp_weights_ask(%s, ''true'')', :s))).*;
SELECT answer FROM dp_weights_estimate(:s, 'sex');
SELECT dp_weights_open('person', ARRAY['age'], 2, 1000000, 1000) AS s \gset
SELECT updated, questions_left, updates_left FROM dp_weights_ask(:s, 'age < 10');
SELECT updated, questions_left, updates_left FROM dp_weights_ask(:s, 'age >= 100');
SELECT (outcome(format('SELECT dp_weights_ask(%s, ''true'')', :s))).*;
SELECT sum(probability) > 0.999 AS whole FROM dp_weights_hypothesis(:s) AS t(age integer, probability double precision);

-- what cannot be opened; only a noisy count that was made is charged (it is
-- above 60 in an empty table with probability exp(-30))
SELECT e, (outcome(format('SELECT dp_weights_open(%s)', e))).* FROM (VALUES
	($$'person', ARRAY['sex'], 10, 1, 1000, alpha => 0.01$$),
	($$'person', ARRAY['sex'], 10, 0.001, 1000$$),
	($$'person', ARRAY['sex'], 10, 1, alpha => 0.01$$),
	($$'tiny', ARRAY['sex'], 10, 10$$),
	($$'person', ARRAY['sex'], 10, 1, 1000, alpha => 0.4$$),
	($$'person', ARRAY['sex'], 10, 1, 1000, alpha => 0$$),
	($$'person', ARRAY['sex'], 10, 1, 0$$),
	($$'person', ARRAY['sex'], 0, 1, 1000$$),
	($$'person', ARRAY['sex'], 10, 0, 1000$$),
	($$'person', ARRAY['sex'], 10, 'NaN'::numeric, 1000$$),
	($$'person', ARRAY['sex'], 10, 1, 1000, confidence => 1$$),
	($$'person', ARRAY['sex'], 10, 1, 1000, delta => 1$$),
	($$'person', ARRAY['sex'], 10, 1, 1000, method => 'worst'$$),
	($$'person', ARRAY[]::text[], 10, 1, 1000$$),
	($$'person', ARRAY['sex', 'sex'], 10, 1, 1000$$),
	($$'person', ARRAY['sex', NULL], 10, 1, 1000$$),
	($$'person', ARRAY['nobody'], 10, 1, 1000$$),
	($$'person', ARRAY['income'], 10, 1, 1000$$),
	($$'person', ARRAY['other'], 10, 1, 1000$$),
	($$'person', ARRAY['sex', 'age'], 10, 1, 1000, bins => ARRAY[1]$$),
	($$'person', ARRAY['age'], 10, 1, 1000, bins => ARRAY[-1]$$),
	($$'person', ARRAY['ward'], 10, 1, 1000, bins => ARRAY[2]$$),
	($$'person', ARRAY['age', 'born', 'income', 'score'], 10, 1, 1000, bins => ARRAY[0, 0, 20, 5]$$),
	($$NULL, ARRAY['sex'], 10, 1, 1000$$),
	($$'person', NULL, 10, 1, 1000$$),
	($$'person', ARRAY['sex'], NULL, 1, 1000$$),
	($$'cell', ARRAY['sex'], 10, 1, 1000$$)
) AS v(e);
-- as a driver that binds double precision has it
SELECT dp_weights_open('person', ARRAY['sex'], 10, 1000000::double precision, 1000, alpha => 0.1::double precision, delta => 0::double precision,
	confidence => 0.9::double precision, method => 'geometric') AS s \gset
SELECT epsilon FROM dp_pg.ledger WHERE id = :s;
-- without an epsilon, which is dp_pg.epsilon then; the relation as a regclass, by name
SET dp_pg.epsilon = 1000000;
SELECT dp_weights_open('person'::regclass, ARRAY['sex'], 3) AS s, dp_weights_open(relation => 'person', columns => ARRAY['sex'], queries => 3, n => 1000) AS t \gset
RESET dp_pg.epsilon;
SELECT epsilon FROM dp_pg.ledger WHERE id IN (:s, :t) ORDER BY id;

-- a view, whose columns have other names; the session keeps its own
RESET ROLE;
SET ROLE :owner;
CREATE VIEW young AS SELECT sex AS woman, feel, ward FROM person WHERE age < 50;
GRANT SELECT ON young TO :analyst;
RESET ROLE;
SET ROLE :analyst;
SELECT dp_weights_open('young', ARRAY['woman', 'feel'], 10, 1000000) AS s \gset
SELECT answer, updated FROM dp_weights_ask(:s, 'woman AND feel IS NULL');
SELECT answer, updated FROM dp_weights_ask(:s, $$young.feel = 'sad'$$);
SELECT (outcome(format('SELECT dp_weights_ask(%s, %L)', :s, 'sex'))).*;
RESET ROLE;
SET ROLE :owner;
ALTER VIEW young RENAME woman TO lady;
RESET ROLE;
SET ROLE :analyst;
SELECT (outcome(format('SELECT dp_weights_ask(%s, %L)', :s, 'woman'))).*;
SELECT answer FROM dp_weights_estimate(:s, $$feel = 'sad'$$);
RESET ROLE;
SET ROLE :owner;
DROP VIEW young;
RESET ROLE;
SET ROLE :analyst;
SELECT (outcome(format('SELECT dp_weights_ask(%s, %L)', :s, 'true'))).*;
SELECT answer FROM dp_weights_estimate(:s, $$feel = 'sad'$$);

-- one step of Algorithm 5 on a public distribution
SELECT abs((dp_weights_step(ARRAY[0.5, 0.5], ARRAY[1, 0], 0.25, 0.5))[1] - exp(-0.5::float8) / (exp(-0.5::float8) + 1)) < 1e-15 AS down,
	(dp_weights_step('{0.5,0.5}', '{1,0}', 0.75, 0.5))[1] > 0.62 AS up,
	dp_weights_step('{0.25,0,0.75}', '{1,1,1}', 1, 1) AS zero_stays,
	dp_weights_step('{1}', '{1}', 1, 1) AS alone, dp_weights_step('{1}', NULL, 1, 1) IS NULL AS nothing;
SELECT * FROM (VALUES ('(''{0.5,0.5}'', ''{1}'', 0, 1)'), ('(''{0.5,0.4}'', ''{1,0}'', 0, 1)'), ('(''{0.5,0.5}'', ''{1.1,0}'', 0, 1)'), ('(''{1.5,-0.5}'', ''{1,0}'', 0, 1)'),
	('(''{0.5,0.5}'', ''{NaN,0}'', 0, 1)'), ('(''{0.5,NULL}'', ''{1,0}'', 0, 1)'), ('(''{0.5,0.5}'', ''{1,0}'', 2, 1)'), ('(''{0.5,0.5}'', ''{1,0}'', ''NaN'', 1)'),
	('(''{0.5,0.5}'', ''{1,0}'', 0, 0)'), ('(''{0.5,0.5}'', ''{1,0}'', 0, 1.5)'), ('(''{}'', ''{}'', 0, 1)'), ('(''{{0.5,0.5}}'', ''{1,0}'', 0, 1)')
) AS c(call), LATERAL outcome('SELECT dp_weights_step' || call);

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
