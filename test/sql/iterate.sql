-- dp_iterate: every step of a run is computed again in SQL, on a workload that
-- is drawn anew in each run; prices, errors.
--
-- Epsilon is 100000 for 400 rounds at most: the scale of a count is 800/100000
-- and a query that is one row worse is chosen with probability exp(-60), so
-- that choices and counts are the true ones but with probability below 1e-20.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test iterate
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
CREATE TABLE drawn (k int NOT NULL, g boolean NOT NULL, h int NOT NULL, x int NOT NULL);
INSERT INTO drawn SELECT (random() * random() * 4.4)::int, random() < .3, (random() * random() * 2.4)::int, i FROM generate_series(1, 400 + (random() * 200)::int) i;
SELECT dp_protect('drawn', dataset => :'schema') \g /dev/null
SELECT dp_declare('drawn', 'k', lower => 0, upper => 4) \g /dev/null
SELECT dp_declare('drawn', 'h', lower => 0, upper => 2) \g /dev/null
RESET ROLE;
SELECT count(*) AS n FROM drawn \gset
-- predicates and weights, with constants of this run
CREATE TABLE workload AS SELECT i, format((ARRAY['k = %1$s', 'g AND k > %1$s', 'k / %3$s.0', 'CASE WHEN g THEN 0.%2$s ELSE k / 4.0 END', 'NOT g',
	'power(k / 4.0, 1.%2$s)', 'k IN (%1$s, 4)'])[1 + i % 7], (random() * 3)::int, 10 + (random() * 89)::int, 4 + (random() * 5)::int) AS query,
	0::bigint AS rows
FROM generate_series(1, 14) i;
CREATE FUNCTION slow(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	EXECUTE format('SELECT floor(sum(floor((%s) * 1048576 + 0.5)) / 1048576 + 0.5) FROM drawn',
		CASE WHEN query ~ '[/.]' THEN '(' || query || ')::float8' ELSE '(' || query || ')::int::float8' END) INTO n;
	RETURN n;
END $$;
UPDATE workload SET rows = slow(query);
-- of three cells, for the median
CREATE TABLE few AS SELECT i, query, slow(query) AS rows FROM (SELECT i, format((ARRAY['h = 0', 'h / 2.0', 'CASE WHEN h = 1 THEN 0.%1$s ELSE 0.2 END', 'h > 0',
	'h = 2', '1 - h / 3.%1$s', '0.%1$s', 'CASE WHEN h = 2 THEN 0.%1$s ELSE 1 END'])[i], 10 + (random() * 89)::int) AS query FROM generate_series(1, 8) i) q;
-- what each query weighs each cell
CREATE FUNCTION weigh(query text, k int, g boolean) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	w float8;
BEGIN
	EXECUTE format('SELECT floor((%s) * 1048576 + 0.5) / 1048576 FROM (SELECT %s AS k, %L::boolean AS g, %2$s AS h) c',
		CASE WHEN query ~ '[/.]' THEN '(' || query || ')::float8' ELSE '(' || query || ')::int::float8' END, k, g) INTO w;
	RETURN w;
END $$;
CREATE TABLE weight AS SELECT i, k, g, weigh(query, k, g) AS w FROM workload, generate_series(0, 4) k, unnest(ARRAY[false, true]) g;
CREATE TABLE few_weight AS SELECT i, h, weigh(query, h, true) AS w FROM few, generate_series(0, 2) h;
GRANT SELECT ON workload, few TO :analyst;
SET ROLE :analyst;
SELECT spent() \g /dev/null
CREATE TABLE released (run text, k int, g boolean, probability float8);
INSERT INTO released SELECT 'exponential', t.* FROM dp_iterate('drawn', ARRAY['k', 'g'], (SELECT array_agg(query ORDER BY i) FROM workload),
	n => :n, rounds => 60) AS t(k int, g boolean, probability float8);
SELECT * FROM spent();
INSERT INTO released SELECT 'permute_and_flip', t.* FROM dp_iterate('drawn', ARRAY['k', 'g'], (SELECT array_agg(query ORDER BY i) FROM workload),
	n => :n, rounds => 60, distinguisher => 'permute_and_flip') AS t(k int, g boolean, probability float8);
INSERT INTO released SELECT 'alpha', t.* FROM dp_iterate('drawn', ARRAY['k', 'g'], (SELECT array_agg(query ORDER BY i) FROM workload),
	n => :n, alpha => 0.12) AS t(k int, g boolean, probability float8);
INSERT INTO released SELECT 'median', t.h, NULL, t.probability FROM dp_iterate('drawn', ARRAY['h'], (SELECT array_agg(query ORDER BY i) FROM few),
	n => :n, update => 'median') AS t(h int, probability float8);
SELECT * FROM spent();
GRANT SELECT ON released TO PUBLIC;
RESET ROLE;
SELECT mechanism, releases, epsilon, delta FROM dp_pg.ledger WHERE dataset = :'schema' ORDER BY id;

-- multiplicative weights by dp_weights_step: guesses, choices, counts, the end
CREATE FUNCTION replay(r text, place int, n bigint, OUT steps bigint, OUT guesses boolean, OUT chosen boolean, OUT counted boolean, OUT ended boolean,
	OUT same boolean) LANGUAGE plpgsql AS $$
DECLARE
	p jsonb := parameters FROM dp_pg.releases WHERE mechanism = 'iterate' AND dataset = current_setting('regress.dataset') ORDER BY id OFFSET place LIMIT 1;
	x float8[] := array_fill(0.1::float8, ARRAY[10]);
	near float8 := (p ->> 'near')::float8;
	alpha float8 := (p ->> 'alpha')::float8;
	s jsonb;
	f float8[];
	off bigint;
	worst bigint;
	done boolean := false;
BEGIN
	steps := 0; guesses := true; chosen := true; counted := true; ended := true;
	FOR s IN SELECT * FROM jsonb_array_elements(p -> 'steps') LOOP
		steps := steps + 1;
		ended := ended AND NOT done;
		SELECT array_agg(w ORDER BY k, g) INTO f FROM weight WHERE i = (s ->> 'query')::int;
		guesses := guesses AND abs((s ->> 'guess')::bigint - n * (SELECT sum(a * b) FROM unnest(x, f) u(a, b))) <= 0.5 + 1e-6;
		SELECT max(abs(rows - (SELECT floor(n * sum(x[c] * w) + 0.5) FROM (SELECT w, row_number() OVER (ORDER BY k, g) AS c FROM weight WHERE weight.i = q.i) y)))
			INTO worst FROM workload q;
		off := abs((SELECT rows FROM workload WHERE i = (s ->> 'query')::int) - (s ->> 'guess')::bigint);
		chosen := chosen AND off >= worst - 1;
		counted := counted AND (s ->> 'answer')::bigint = (SELECT rows FROM workload WHERE i = (s ->> 'query')::int);
		done := abs((s ->> 'answer')::bigint - (s ->> 'guess')::bigint) < near;
		EXIT WHEN done;
		x := dp_weights_step(x, f, CASE WHEN (s ->> 'answer')::bigint < (s ->> 'guess')::bigint THEN 0 ELSE 1 END,
			least(coalesce(alpha / 2, 2.0 * off / n), 1));
	END LOOP;
	ended := ended AND (done OR steps = (p ->> 'rounds')::int) AND steps = jsonb_array_length(p -> 'steps');
	SELECT bool_and(abs(probability - x[c]) < 1e-9) INTO same
	FROM (SELECT probability, row_number() OVER (ORDER BY k, g) AS c FROM released WHERE run = r) y;
END $$;
SELECT run, steps > 1 AS several, guesses, chosen, counted, ended, same
FROM (VALUES ('exponential', 0), ('permute_and_flip', 1), ('alpha', 2)) v(run, place), LATERAL replay(run, place, :n);
-- what was learned is near for every query
SELECT run, max(abs(rows - :n * mean)) < 0.1 * :n AS near FROM (
	SELECT run, q.i, q.rows, sum(probability * w) AS mean FROM released JOIN weight USING (k, g) JOIN workload q USING (i)
	WHERE run IN ('exponential', 'permute_and_flip') GROUP BY run, q.i, q.rows) x GROUP BY run ORDER BY run;
-- the median, by all multisets of its size
CREATE FUNCTION replay_median(n bigint, size int, OUT several boolean, OUT guesses boolean, OUT chosen boolean, OUT counted boolean, OUT same boolean)
LANGUAGE plpgsql AS $$
DECLARE
	p jsonb := parameters FROM dp_pg.releases WHERE mechanism = 'iterate' AND dataset = current_setting('regress.dataset') ORDER BY id OFFSET 3 LIMIT 1;
	s jsonb;
	median float8;
	lower boolean;
	worst float8;
BEGIN
	guesses := true; counted := true; chosen := true;
	CREATE TEMP TABLE said ON COMMIT DROP AS
		SELECT a, b, i, (a * max(w) FILTER (WHERE h = 0) + b * max(w) FILTER (WHERE h = 1) + (size - a - b) * max(w) FILTER (WHERE h = 2)) / size AS answer
		FROM generate_series(0, size) a, generate_series(0, size - a) b, few_weight GROUP BY a, b, i;
	FOR s IN SELECT * FROM jsonb_array_elements(p -> 'steps') LOOP
		SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY answer) INTO median FROM said WHERE i = (s ->> 'query')::int;
		SELECT max(abs(rows - n * m)) INTO worst FROM few JOIN (SELECT i, percentile_disc(0.5) WITHIN GROUP (ORDER BY answer) AS m FROM said GROUP BY i) ms USING (i);
		guesses := guesses AND abs((s ->> 'guess')::bigint - n * median) <= 0.5 + 1e-6;
		counted := counted AND (s ->> 'answer')::bigint = (SELECT rows FROM few WHERE i = (s ->> 'query')::int);
		chosen := chosen AND abs((SELECT rows FROM few WHERE i = (s ->> 'query')::int) - n * median) >= worst - 1.5;
		EXIT WHEN abs((s ->> 'answer')::bigint - (s ->> 'guess')::bigint) < (p ->> 'near')::float8;
		lower := (s ->> 'answer')::bigint < (s ->> 'guess')::bigint;
		CREATE TEMP TABLE kept ON COMMIT DROP AS SELECT a, b FROM said WHERE i = (s ->> 'query')::int
			AND CASE WHEN lower THEN answer < median - 1e-12 ELSE answer > median + 1e-12 END;
		EXIT WHEN NOT EXISTS (SELECT FROM kept);
		DELETE FROM said WHERE (a, b) NOT IN (SELECT a, b FROM kept);
		DROP TABLE kept;
	END LOOP;
	several := jsonb_array_length(p -> 'steps') > 1;
	-- equally near candidates differ by the order of cells only in which is first
	SELECT bool_or(x.far <= y.least + 1e-9) INTO same FROM (
		SELECT a, b, max(abs(answer - m)) AS far FROM said JOIN (SELECT i, percentile_disc(0.5) WITHIN GROUP (ORDER BY answer) AS m FROM said GROUP BY i) ms USING (i)
		GROUP BY a, b) x, (SELECT min(far) AS least FROM (
		SELECT a, b, max(abs(answer - m)) AS far FROM said JOIN (SELECT i, percentile_disc(0.5) WITHIN GROUP (ORDER BY answer) AS m FROM said GROUP BY i) ms USING (i)
		GROUP BY a, b) z) y
	WHERE a = (SELECT round(probability * size) FROM released WHERE run = 'median' AND k = 0)
		AND b = (SELECT round(probability * size) FROM released WHERE run = 'median' AND k = 1);
END $$;
SELECT * FROM replay_median(:n, 64);

-- errors
SET ROLE :analyst;
SELECT arguments, state, hinted, charges FROM unnest(ARRAY[
	$$'drawn', ARRAY['k', 'g'], ARRAY['k = 1'], 1$$,
	$$'drawn', ARRAY['k', 'g'], ARRAY['k = 1'], 1, 0$$,
	$$'drawn', ARRAY['k', 'g'], ARRAY['k = 1'], 1, 100, update => 'mean'$$,
	$$'drawn', ARRAY['k', 'g'], ARRAY['k = 1'], 1, 100, update => NULL$$,
	$$'drawn', ARRAY['k', 'g'], ARRAY['k = 1'], 1, 100, distinguisher => 'laplace'$$,
	$$'drawn', ARRAY['k', 'g'], ARRAY['k = 1'], 1, 100, rounds => 0$$,
	$$'drawn', ARRAY['k', 'g'], ARRAY['k = 1'], 1, 100, rounds => 401$$,
	$$'drawn', ARRAY['k', 'g'], ARRAY['k = 1'], 1, 100, alpha => 1$$,
	$$'drawn', ARRAY['k', 'g'], ARRAY['k = 1'], 1, 100, delta => 1e-6$$,
	$$'drawn', ARRAY['k', 'g'], ARRAY['k = 1'], 1, 100, distinguisher => 'gaussian'$$,
	$$'drawn', ARRAY['k', 'g'], ARRAY['k = 1'], 1, 100, distinguisher => 'gaussian', delta => 2$$,
	$$'drawn', ARRAY['k', 'g'], ARRAY['k = 1'], 0, 100$$,
	$$'drawn', ARRAY['k', 'g'], ARRAY['k = 1'], 2000000, 100$$,
	$$'drawn', ARRAY['k', 'g'], ARRAY['k'], 1, 100$$,
	$$'drawn', ARRAY['k', 'g'], ARRAY['x = 1'], 1, 100$$,
	$$'drawn', ARRAY['k', 'x'], ARRAY['k = 1'], 1, 100$$,
	$$'drawn', ARRAY['k', 'g'], NULL::text[], 1, 100$$,
	$$'drawn', ARRAY['k', 'g'], ARRAY[]::text[], 1, 100$$,
	$$'drawn', ARRAY['k', 'g'], ARRAY['k = 1', 'k = 2', 'g'], 1, 100, update => 'median', alpha => 0.05$$,
	$$'workload', ARRAY['i'], ARRAY['i = 1'], 1, 100$$]) arguments,
	LATERAL outcome(format('SELECT * FROM dp_iterate(%s) AS t(k int, g boolean, probability float8)', arguments));
SELECT columns, state, hinted, charges FROM unnest(ARRAY['k int, g boolean', 'k int, g boolean, probability real', 'k int, g boolean, p float8']) columns,
	LATERAL outcome(format($$SELECT * FROM dp_iterate('drawn', ARRAY['k', 'g'], ARRAY['g'], 1, 100) AS t(%s)$$, columns));
SELECT count(*), abs(sum(probability) - 1) < 1e-9 AS sum FROM dp_iterate('drawn', ARRAY['k', 'g'], ARRAY['k = 1', 'g'], 10::float8, 100, rounds => 5,
	distinguisher => 'gaussian', delta => 1e-6::float8) AS t(k int, g boolean, probability float8);
SELECT * FROM spent();

-- is alpha assured?  If not, why, before the charge; the call goes on
\set VERBOSITY default
SET client_min_messages = notice;
SELECT count(*) FROM dp_iterate('drawn', ARRAY['k', 'g'], ARRAY['k = 1', 'g'], n => 500, alpha => 0.5) AS t(k int, g boolean, probability float8);
SELECT count(*) FROM dp_iterate('drawn', ARRAY['k', 'g'], ARRAY['k = 1', 'g'], n => 500, alpha => 0.12) AS t(k int, g boolean, probability float8);
SELECT count(*) FROM dp_iterate('drawn', ARRAY['k', 'g'], ARRAY['k = 1', 'g'], n => 500, alpha => 0.5, rounds => 3) AS t(k int, g boolean, probability float8);
SELECT count(*) FROM dp_iterate('drawn', ARRAY['k', 'g'], ARRAY['k = 1', 'g'], n => 500, alpha => 0.5, epsilon => 0.1) AS t(k int, g boolean, probability float8);
SELECT count(*) FROM dp_iterate('drawn', ARRAY['k', 'g'], ARRAY['k = 1', 'g'], n => 50, alpha => 0.5) AS t(k int, g boolean, probability float8);
SELECT count(*) FROM dp_iterate('drawn', ARRAY['k', 'g'], ARRAY['k = 1', 'g'], n => 500, alpha => 0.5, epsilon => 0.1,
	distinguisher => 'gaussian', delta => 1e-6) AS t(k int, g boolean, probability float8);
SELECT count(*) FROM dp_iterate('drawn', ARRAY['h'], ARRAY['h = 1', 'h = 2'], n => 500, update => 'median', alpha => 0.9) AS t(h int, probability float8);
SELECT count(*) FROM dp_iterate('drawn', ARRAY['h'], ARRAY['h = 1', 'h = 2'], n => 500, update => 'median', alpha => 0.9, rounds => 2) AS t(h int, probability float8);
-- nobody asks for one
SELECT count(*) FROM dp_iterate('drawn', ARRAY['h'], ARRAY['h = 1', 'h = 2'], n => 500, rounds => 2, epsilon => 0.1) AS t(h int, probability float8);
SET client_min_messages = warning;
\set VERBOSITY sqlstate
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
