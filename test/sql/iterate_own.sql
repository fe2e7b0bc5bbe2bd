-- dp_iterate with an update algorithm of the caller's own: the same hypothesis
-- as multiplicative weights on the same steps, each update charged separately,
-- and functions that fail, lie, run queries, or change objects that the run
-- uses.
--
-- Epsilon is 100000 for 400 rounds at most: the scale of a count is 800/100000
-- and a query that is one row worse is chosen with probability exp(-60), so
-- that choices and counts are the true ones but with probability below 1e-20.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test iterate_own
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
SET ROLE :owner;
CREATE TABLE drawn (k int NOT NULL, g boolean NOT NULL);
INSERT INTO drawn SELECT (random() * random() * 4.4)::int, random() < .3 FROM generate_series(1, 400 + (random() * 200)::int) i;
SELECT dp_protect('drawn', dataset => :'schema') \g /dev/null
SELECT dp_declare('drawn', 'k', lower => 0, upper => 4) \g /dev/null
RESET ROLE;
SELECT count(*) AS n FROM drawn \gset
-- weights with constants of this run
SELECT 10 + (random() * 89)::int AS c, 1 + (random() * 3)::int AS d \gset
\set one 'CASE WHEN g THEN 0.':c' ELSE k / 4.0 END'
SELECT array_agg(q) AS several FROM unnest(ARRAY[format('k = %s', :d), 'g', 'k / 4.0', format('CASE WHEN g THEN 0.%s ELSE k / 4.0 END', :c), format('k > %s', :d), 'NOT g AND k < 2']) q \gset
SET ROLE :analyst;
-- Algorithm 5, eta = alpha/2
CREATE FUNCTION algorithm5(x float8[], f float8[], guess bigint, answer bigint, n bigint, round int) RETURNS float8[] LANGUAGE sql
BEGIN ATOMIC
	SELECT dp_weights_step(x, f, CASE WHEN answer < guess THEN 0 ELSE 1 END, 0.15);
END;
CREATE TABLE released (run text, k int, g boolean, probability float8);
SELECT spent() \g /dev/null
-- of one query no other can be found: both runs have the same steps
INSERT INTO released SELECT 'builtin', t.* FROM dp_iterate('drawn', ARRAY['k', 'g'], ARRAY[:'one'], n => :n, alpha => 0.3)
	AS t(k int, g boolean, probability float8);
INSERT INTO released SELECT 'own', t.* FROM dp_iterate('drawn', ARRAY['k', 'g'], ARRAY[:'one'], n => :n, alpha => 0.3, update => 'algorithm5')
	AS t(k int, g boolean, probability float8);
INSERT INTO released SELECT 'several', t.* FROM dp_iterate('drawn', ARRAY['k', 'g'], :'several'::text[], n => :n, rounds => 20,
	update => format('%I.algorithm5', :'schema'), distinguisher => 'permute_and_flip') AS t(k int, g boolean, probability float8);
GRANT SELECT ON released TO PUBLIC;
RESET ROLE;
SELECT count(*) AS cells, max(abs(a.probability - b.probability)) < 1e-12 AS same FROM released a JOIN released b USING (k, g) WHERE a.run = 'builtin' AND b.run = 'own';
CREATE VIEW step AS SELECT r.id, row_number() OVER (PARTITION BY parameters ->> 'rounds', parameters ->> 'update' ORDER BY r.id) AS i, parameters ->> 'update' AS update,
	(parameters ->> 'rounds')::int AS rounds, (parameters ->> 'round')::int AS round, (parameters ->> 'near')::float8 AS near,
	jsonb_array_length(parameters -> 'steps') AS steps, parameters #> '{steps,0}' AS step
FROM dp_pg.releases r WHERE mechanism = 'iterate' AND dataset = current_setting('regress.dataset');
SELECT a.parameters -> 'steps' = b.steps AS same_steps
FROM dp_pg.releases a, (SELECT jsonb_agg(step ORDER BY id) AS steps FROM step WHERE round IS NOT NULL AND rounds = 128) b
WHERE a.dataset = :'schema' AND a.parameters ->> 'update' = 'multiplicative';
SELECT update = format('%s.algorithm5', :'schema') AS named, rounds, bool_and(round = i) AS in_order, bool_and(steps = 1) AS one_step,
	bool_and((abs((step ->> 'answer')::bigint - (step ->> 'guess')::bigint) < near) <= (i = number)) AS ended
FROM (SELECT *, count(*) OVER (PARTITION BY rounds) AS number FROM step WHERE round IS NOT NULL) s GROUP BY update, rounds ORDER BY rounds;
-- each update is charged by itself, and none that was not made
SELECT l.mechanism, l.epsilon, l.releases, l.delta, count(*) = s.number AS as_many FROM dp_pg.ledger l
JOIN (SELECT update, rounds, count(*) AS number, min(id) AS first, max(id) AS last FROM step WHERE round IS NOT NULL GROUP BY update, rounds) s ON l.id BETWEEN s.first AND s.last
WHERE dataset = :'schema' GROUP BY 1, 2, 3, 4, s.number ORDER BY 2;
-- every step again: choice, guess, count, update
CREATE FUNCTION weigh(query text, k int, g boolean) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	w float8;
BEGIN
	EXECUTE format('SELECT floor((%s) * 1048576 + 0.5) / 1048576 FROM (SELECT %s AS k, %L::boolean AS g) c',
		CASE WHEN query ~ '[/.]' THEN '(' || query || ')::float8' ELSE '(' || query || ')::int::float8' END, k, g) INTO w;
	RETURN w;
END $$;
CREATE TABLE weight AS SELECT i, k, g, weigh(query, k, g) AS w, row_number() OVER (PARTITION BY i ORDER BY k, g) AS cell
FROM unnest(:'several'::text[]) WITH ORDINALITY q(query, i), generate_series(0, 4) k, unnest(ARRAY[false, true]) g;
CREATE TABLE truth AS SELECT i, floor(sum(w) + 0.5)::bigint AS rows FROM drawn JOIN weight USING (k, g) GROUP BY i;
CREATE FUNCTION replay(number bigint, OUT guesses boolean, OUT chosen boolean, OUT counted boolean, OUT same boolean) LANGUAGE plpgsql AS $$
DECLARE
	x float8[] := array_fill(0.1::float8, ARRAY[10]);
	s record;
	near float8;
	f float8[];
	lower boolean;
	worst float8;
BEGIN
	guesses := true; chosen := true; counted := true;
	FOR s IN SELECT (step ->> 'query')::bigint AS q, (step ->> 'guess')::bigint AS guess, (step ->> 'answer')::bigint AS answer, step.near FROM step
		WHERE round IS NOT NULL AND rounds = 20 ORDER BY id LOOP
		SELECT array_agg(w ORDER BY cell) INTO f FROM weight WHERE i = s.q;
		guesses := guesses AND abs(s.guess - number * (SELECT sum(a * b) FROM unnest(x, f) u(a, b))) <= 0.5 + 1e-6;
		SELECT max(abs(rows - number * (SELECT sum(w * x[cell]) FROM weight w WHERE w.i = t.i))) INTO worst FROM truth t;
		chosen := chosen AND (SELECT abs(rows - s.guess) FROM truth WHERE i = s.q) >= worst - 1.5;
		counted := counted AND s.answer = (SELECT rows FROM truth WHERE i = s.q);
		EXIT WHEN abs(s.answer - s.guess) < s.near;
		-- by the definition, not by dp_weights_step
		lower := s.answer < s.guess;
		SELECT array_agg(y / total ORDER BY c) INTO x FROM (SELECT c, y, sum(y) OVER () AS total FROM (
			SELECT c, v * exp(-0.15 * CASE WHEN lower THEN f[c] ELSE 1 - f[c] END) AS y FROM unnest(x) WITH ORDINALITY u(v, c)) z) z;
	END LOOP;
	SELECT bool_and(abs(probability - x[cell]) < 1e-12) INTO same FROM released JOIN weight USING (k, g) WHERE run = 'several' AND i = 1;
END $$;
SELECT * FROM replay(:n);

-- it runs in the session, as the caller, and sees no private row
SET ROLE :analyst;
CREATE TABLE seen (round int, who name, pid int, cells int, weights int, number bigint, private text);
CREATE FUNCTION curious(x float8[], f float8[], guess bigint, answer bigint, n bigint, round int) RETURNS float8[] LANGUAGE plpgsql AS $$
DECLARE
	state text := 'read';
BEGIN
	BEGIN
		PERFORM FROM drawn;
	EXCEPTION WHEN OTHERS THEN
		state := SQLSTATE;
	END;
	INSERT INTO seen VALUES (round, current_user, pg_backend_pid(), cardinality(x), cardinality(f), n, state);
	RETURN x;
END $$;
SELECT count(*) FROM dp_iterate('drawn', ARRAY['k', 'g'], ARRAY['k / 4.0', 'g'], n => 100000, rounds => 3, update => 'curious') AS t(k int, g boolean, probability float8);
SELECT round, who = :'analyst' AS me, pid = pg_backend_pid() AS here, cells, weights, number, private FROM seen ORDER BY round;

-- what it may not return
CREATE FUNCTION lies(x float8[], f float8[], guess bigint, answer bigint, n bigint, round int) RETURNS float8[] LANGUAGE plpgsql AS $$
DECLARE
	y float8[];
BEGIN
	IF round < 2 THEN
		RETURN x;
	END IF;
	EXECUTE 'SELECT ' || current_setting('regress.lie') INTO y USING x;
	RETURN y;
END $$;
CREATE FUNCTION told(lie text, OUT state text, OUT hinted boolean, OUT charges bigint) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('regress.lie', lie, false);
	SELECT o.* INTO state, hinted, charges FROM outcome($s$SELECT * FROM dp_iterate('drawn', ARRAY['k', 'g'], ARRAY['k / 4.0', 'g'], n => 100000, rounds => 3, update => 'lies')
		AS t(k int, g boolean, probability float8)$s$) o;
END $$;
SELECT lie, t.* FROM unnest(ARRAY['$1', 'NULL', '$1[1:9]', '$1 || 0.0::float8', '''{}''', 'array_fill(0.1::float8, ARRAY[2, 5])',
	'array_replace($1, $1[1], ''NaN'')', 'array_replace($1, $1[1], ''Infinity'')', 'array_replace($1, $1[1], NULL)',
	'ARRAY[-0.1, 0.3] || $1[3:]', 'ARRAY[0.2 + 1e-5, 0] || $1[3:]', 'ARRAY[0.2 + 1e-9, 0] || $1[3:]', 'array_fill(0::float8, ARRAY[10])', 'array_fill(1::float8, ARRAY[10])',
	'array_fill(0.1::float8, ARRAY[10], ARRAY[0])', 'array_fill(1 / (random() * 0), ARRAY[10])']) lie, LATERAL told(lie) t;
-- the steps of a run that failed are told, and only once
SELECT parameters -> 'round' AS round, parameters ->> 'update' LIKE '%lies' AS update, jsonb_array_length(parameters -> 'steps') AS steps
FROM dp_pg.releases ORDER BY id DESC LIMIT 2;

-- functions that are none
CREATE FUNCTION other(x float8[], f float8[], guess bigint, answer bigint, n bigint, round int) RETURNS float8 LANGUAGE sql RETURN 1;
CREATE FUNCTION many(x float8[], f float8[], guess bigint, answer bigint, n bigint, round int) RETURNS SETOF float8[] LANGUAGE sql RETURN x;
CREATE FUNCTION short(x float8[], f float8[]) RETURNS float8[] LANGUAGE sql RETURN x;
CREATE PROCEDURE proc(x float8[], f float8[], guess bigint, answer bigint, n bigint, round int) LANGUAGE sql BEGIN ATOMIC END;
RESET ROLE;
CREATE FUNCTION hidden(x float8[], f float8[], guess bigint, answer bigint, n bigint, round int) RETURNS float8[] LANGUAGE sql RETURN x;
REVOKE EXECUTE ON FUNCTION hidden FROM PUBLIC;
SET ROLE :analyst;
SELECT name, o.* FROM unnest(ARRAY['other', 'many', 'short', 'proc', 'hidden', 'nothing', 'no.such.name.here', '1 name', '', 'pg_catalog.sum']) name,
	LATERAL outcome(format('SELECT * FROM dp_iterate(%L, ARRAY[%L], ARRAY[%L], n => 100, rounds => 3, update => %L) AS t(k int, probability float8)', 'drawn', 'k', 'k = 1', name)) o;

-- the price: epsilon over the rounds, no charge below the floor
CREATE FUNCTION same(x float8[], f float8[], guess bigint, answer bigint, n bigint, round int) RETURNS float8[] LANGUAGE sql IMMUTABLE STRICT RETURN x;
SELECT arguments, o.* FROM unnest(ARRAY['rounds => 3, epsilon => 1', 'rounds => 400, epsilon => 0.1', 'rounds => 100, epsilon => 0.1', 'epsilon => 0.005, alpha => 0.1', 'rounds => 1, epsilon => 2000000',
	'rounds => 401', 'rounds => 3, epsilon => 1, distinguisher => ''gaussian'', delta => 1e-6', 'rounds => 3, epsilon => 1, delta => 1e-6']) arguments,
	LATERAL outcome(format('SELECT * FROM dp_iterate(%L, ARRAY[%L], ARRAY[%L], n => 1000000, update => ''same'', %s) AS t(k int, probability float8)', 'drawn', 'k', 'k = 1', arguments)) o;
RESET ROLE;
SELECT mechanism, epsilon, delta, rho > 0 AS rho, count(*) FROM (SELECT * FROM dp_pg.ledger WHERE dataset = :'schema' ORDER BY id DESC LIMIT 112) l GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3;
SELECT sum(epsilon) <= 1 AS never_more, sum(epsilon) > 1 - 1e-20 AS nearly FROM dp_pg.ledger WHERE dataset = :'schema' AND epsilon = 0.333333333333333333333333;
SELECT abs(sum(l.rho) - dp_zcdp_rho(1, 1e-6)) < 1e-20 AS whole_rho, sum(l.rho) <= dp_zcdp_rho(1, 1e-6) AS never_more FROM dp_pg.ledger l WHERE dataset = :'schema' AND mechanism = 'iterate: own, gaussian';

-- a function that changes its own settings and role, and asks again
SET ROLE :analyst;
CREATE FUNCTION restless(x float8[], f float8[], guess bigint, answer bigint, n bigint, round int) RETURNS float8[] LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('dp_pg.epsilon', '7', true), set_config('dp_pg.delta', '0.5', true), set_config('search_path', 'pg_catalog', true);
	PERFORM public.dp_count(*) FROM drawn_here;
	RETURN x;
EXCEPTION WHEN undefined_table THEN
	RETURN x;
END $$;
CREATE FUNCTION again(x float8[], f float8[], guess bigint, answer bigint, n bigint, round int) RETURNS float8[] LANGUAGE plpgsql AS $$
BEGIN
	RETURN (SELECT array_agg(probability ORDER BY k) FROM dp_iterate('drawn', ARRAY['k'], ARRAY['k = 2'], epsilon => 3, n => 1000000, rounds => 2, update => 'same') AS t(k int, probability float8));
END $$;
CREATE FUNCTION forever(x float8[], f float8[], guess bigint, answer bigint, n bigint, round int) RETURNS float8[] LANGUAGE plpgsql AS $$
BEGIN
	PERFORM FROM dp_iterate('drawn', ARRAY['k'], ARRAY['k = 2'], epsilon => 0.001, n => 1000000, rounds => 1, update => 'forever') AS t(k int, probability float8);
	RETURN x;
END $$;
RESET ROLE;
CREATE FUNCTION cancel() RETURNS boolean LANGUAGE sql SECURITY DEFINER RETURN pg_cancel_backend(pg_backend_pid());
SET ROLE :analyst;
CREATE FUNCTION cancelled(x float8[], f float8[], guess bigint, answer bigint, n bigint, round int) RETURNS float8[] LANGUAGE plpgsql AS $$
BEGIN
	IF round = 2 THEN
		PERFORM cancel();
		PERFORM pg_sleep(10);
	END IF;
	RETURN x;
END $$;
CREATE FUNCTION late(x float8[], f float8[], guess bigint, answer bigint, n bigint, round int) RETURNS float8[] LANGUAGE plpgsql AS $$
BEGIN
	IF round = 3 THEN
		RAISE EXCEPTION 'enough' USING ERRCODE = 'ZZ001', HINT = 'of this';
	END IF;
	RETURN x;
END $$;
CREATE FUNCTION commits(x float8[], f float8[], guess bigint, answer bigint, n bigint, round int) RETURNS float8[] LANGUAGE plpgsql AS $$
BEGIN
	COMMIT;
	RETURN x;
END $$;
SELECT spent() \g /dev/null
SELECT name, o.* FROM unnest(ARRAY['restless', 'again', 'late', 'commits']) name,
	LATERAL outcome(format('SELECT * FROM dp_iterate(%L, ARRAY[%L], ARRAY[%L], epsilon => 4, n => 1000000, rounds => 4, update => %L) AS t(k int, probability float8)', 'drawn', 'k', 'k = 1', name)) o;
SELECT FROM dp_iterate('drawn', ARRAY['k'], ARRAY['k = 1'], epsilon => 4, n => 1000000, rounds => 4, update => 'cancelled') AS t(k int, probability float8);
SELECT * FROM spent();
RESET ROLE;
SELECT epsilon, count(*) FROM (SELECT * FROM dp_pg.ledger WHERE dataset = :'schema' ORDER BY id DESC LIMIT 18) l GROUP BY epsilon ORDER BY epsilon;
-- it calls itself until the budget ends: every call is charged
\set poor regress_ :test _poor
CREATE ROLE :poor;
SELECT dp_grant(:'poor', dataset => :'schema', epsilon => 0.02, delta => 0, filter => 'basic') \g /dev/null
GRANT USAGE ON SCHEMA :schema TO :poor;
GRANT EXECUTE ON FUNCTION forever TO :poor;
SET ROLE :poor;
SELECT state, hinted, charges FROM outcome($$SELECT * FROM dp_iterate('drawn', ARRAY['k'], ARRAY['k = 2'], epsilon => 0.001, n => 1000000, rounds => 1, update => 'forever') AS t(k int, probability float8)$$);
RESET ROLE;

-- what is under it changes: by an owner's function that the caller may call
SET ROLE :owner;
CREATE FUNCTION change(what text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = regress_iterate_own, public AS $$
BEGIN
	EXECUTE what;
END $$;
SET ROLE :analyst;
CREATE FUNCTION changes(x float8[], f float8[], guess bigint, answer bigint, n bigint, round int) RETURNS float8[] LANGUAGE plpgsql AS $$
BEGIN
	IF round = 1 THEN
		PERFORM regress_iterate_own.change(current_setting('regress.change'));
	END IF;
	RETURN x;
END $$;
-- ZZ000: it ended well, and is undone
CREATE FUNCTION undo(bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'undone' USING ERRCODE = 'ZZ000';
END $$;
CREATE FUNCTION changed(what text, OUT state text, OUT hinted boolean, OUT charges bigint) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('regress.change', what, false);
	SELECT o.* INTO state, hinted, charges FROM outcome($s$SELECT undo(count(*)) FROM dp_iterate('drawn', ARRAY['k'], ARRAY['k = 2'], epsilon => 4, n => 1000000, rounds => 2,
		update => 'changes') AS t(k int, probability float8)$s$) o;
END $$;
CREATE FUNCTION becomes(x float8[], f float8[], guess bigint, answer bigint, n bigint, round int) RETURNS float8[] LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('role', 'regress_iterate_own_poor', true);
	RETURN x;
END $$;
-- another role has another budget, and perhaps no right on the function
REVOKE EXECUTE ON FUNCTION becomes FROM PUBLIC;
SELECT state, hinted, charges FROM outcome($$SELECT undo(count(*)) FROM dp_iterate('drawn', ARRAY['k'], ARRAY['k = 2'], epsilon => 4, n => 1000000, rounds => 2, update => 'becomes') AS t(k int, probability float8)$$);
GRANT EXECUTE ON FUNCTION becomes TO :poor;
SELECT state, hinted, charges FROM outcome($$SELECT undo(count(*)) FROM dp_iterate('drawn', ARRAY['k'], ARRAY['k = 2'], epsilon => 4, n => 1000000, rounds => 2, update => 'becomes') AS t(k int, probability float8)$$);
SELECT what, c.* FROM unnest(ARRAY['SELECT 1', 'DROP TABLE drawn CASCADE', 'ALTER TABLE drawn DROP COLUMN k', 'ALTER TABLE drawn ALTER k TYPE bigint',
	'ALTER TABLE drawn RENAME k TO l', 'SELECT dp_unprotect(''drawn'')', 'SELECT dp_revoke(''regress_iterate_own_analyst'', ''regress_iterate_own'')',
	'SELECT dp_declare(''drawn'', ''k'', lower => 0, upper => 9)', 'SELECT dp_limit(''regress_iterate_own'', epsilon => 1000000, epsilon_floor => 5)',
	'INSERT INTO drawn VALUES (1, true)', 'TRUNCATE drawn', 'LOCK TABLE drawn IN ACCESS EXCLUSIVE MODE', 'DROP FUNCTION changes', 'ALTER FUNCTION changes RENAME TO changing', 'REVOKE EXECUTE ON FUNCTION changes FROM PUBLIC']) what, LATERAL changed(what) c;
RESET ROLE;
-- where rho is not counted each update has its part of epsilon and delta
SELECT dp_grant(:'poor', dataset => :'schema', epsilon => 5, delta => 1e-5, filter => 'basic') \g /dev/null
GRANT EXECUTE ON FUNCTION same TO :poor;
SET ROLE :poor;
SELECT o.* FROM outcome($$SELECT * FROM dp_iterate('drawn', ARRAY['k'], ARRAY['k = 2'], epsilon => 1, n => 1000000, rounds => 4, distinguisher => 'gaussian', delta => 1e-6, update => 'same') AS t(k int, probability float8)$$) o;
SELECT o.* FROM outcome($$SELECT * FROM dp_iterate('drawn', ARRAY['k'], ARRAY['k = 2'], epsilon => 1, n => 1000000, rounds => 4, distinguisher => 'gaussian', delta => 2e-5, update => 'same') AS t(k int, probability float8)$$) o;
RESET ROLE;
SELECT epsilon, delta, rho <= dp_zcdp_rho(0.25, 2.5e-7) AND rho > 0.999999 * dp_zcdp_rho(0.25, 2.5e-7) AS rho, count(*) FROM dp_pg.ledger WHERE dataset = :'schema' AND delta > 0 GROUP BY 1, 2, 3;
-- it may change how many rows of a unit count, which is told
SET ROLE :owner;
CREATE TABLE visits (pid int NOT NULL, k int NOT NULL);
INSERT INTO visits SELECT i % 9, i % 5 FROM generate_series(1, 200) i;
SELECT dp_protect('visits', unit => 'pid', dataset => :'schema') \g /dev/null
SELECT dp_declare('visits', 'k', lower => 0, upper => 4) \g /dev/null
SET ROLE :analyst;
CREATE FUNCTION raises(x float8[], f float8[], guess bigint, answer bigint, n bigint, round int) RETURNS float8[] LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('dp_pg.max_rows', '500', true);
	RETURN x;
END $$;
BEGIN;
SET LOCAL dp_pg.max_rows = 1;
SET LOCAL client_min_messages = notice;
\set VERBOSITY default
SELECT count(*) FROM dp_iterate('visits', ARRAY['k'], ARRAY['k = 1'], epsilon => 8, n => 1000000, rounds => 3, update => 'raises') AS t(k int, probability float8);
\set VERBOSITY sqlstate
COMMIT;
RESET ROLE;
DROP OWNED BY :poor;
DROP ROLE :poor;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
