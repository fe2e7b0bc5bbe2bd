-- The local model: randomized response and its estimates.
--
-- With epsilon 1000 and at most 1000 candidates an answer is the truth except
-- with probability below 1000 exp(-1000).
\getenv abs_srcdir PG_ABS_SRCDIR
\set test local
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :analyst;
-- anybody may call it, and nothing is charged
SELECT dp_randomized_response(true) IN (true, false) AS answered, charges FROM spent();
SELECT count(*) AS answers, bool_and(dp_randomized_response(i % 2 = 0, 1000) = (i % 2 = 0)) AS truth
FROM generate_series(1, 1000) i;
SELECT charges FROM spent();
-- both answers occur: each is missing with probability below (3/4)^1000
SELECT count(DISTINCT dp_randomized_response(true)) FROM generate_series(1, 1000);
SELECT count(DISTINCT dp_randomized_response(false, 0.1)) FROM generate_series(1, 1000);
SELECT count(DISTINCT dp_randomized_response(3, ARRAY[1, 2, 3, 4], 0.1)) FROM generate_series(1, 1000);
-- a draw for each row, also where nothing of the row is looked at
SELECT count(DISTINCT a) FROM (SELECT dp_randomized_response(true) AS a FROM generate_series(1, 1000)) s;

-- every way to write epsilon
SELECT dp_randomized_response(true, 1000), dp_randomized_response(true, 1000.0), dp_randomized_response(true, 1000::float8),
	dp_randomized_response(true, 1e3), dp_randomized_response(true, epsilon => 1000), dp_randomized_response(true, '1000');
PREPARE draw(boolean, float8) AS SELECT dp_randomized_response($1, $2);
EXECUTE draw(true, 1000);
EXECUTE draw(false, 500);

-- any type with equality; the answer has the type of value and candidates
SELECT dp_randomized_response('red', ARRAY['green', 'red'], 1000), dp_randomized_response('red', '{green,red}'::text[], 1000);
SELECT dp_randomized_response(2, ARRAY[1, 2, 3], 1000), dp_randomized_response(2::smallint, ARRAY[1, 2, 3]::bigint[], 1000);
SELECT dp_randomized_response(date '2020-02-29', ARRAY[date '2020-02-28', '2020-02-29'], 1000);
SELECT dp_randomized_response('ok'::mood, enum_range(NULL::mood), 1000), dp_randomized_response(true, ARRAY[false, true], 1000);
SELECT dp_randomized_response('a'::varchar(3), ARRAY['a', 'b'], 1000), dp_randomized_response('a'::name, ARRAY['a', 'b']::name[], 1000);
SELECT dp_randomized_response('NaN'::float8, ARRAY[0, 'NaN']::float8[], 1000), dp_randomized_response(row(1, 2), ARRAY[row(1, 1), row(1, 2)], 1000);
SELECT dp_randomized_response(ARRAY[1, 2], ARRAY[ARRAY[1, 2], ARRAY[3, 4]], 1000);	-- SQL has no arrays of arrays
SELECT dp_randomized_response('7'::xid, ARRAY['6', '7']::xid[], 1000);	-- no order, equality only
SELECT dp_randomized_response('{}'::json, ARRAY['{}', '[]']::json[], 1000);	-- no equality
CREATE DOMAIN grade AS int CHECK (VALUE BETWEEN 1 AND 6);
SELECT dp_randomized_response(5::grade, ARRAY[1, 5, 6]::grade[], 1000), pg_typeof(dp_randomized_response(5::grade, ARRAY[1, 5]::grade[], 1000));
SELECT pg_typeof(dp_randomized_response('a', ARRAY['a', 'b'], 1)), pg_typeof(dp_randomized_response(1, ARRAY[1, 2.5], 1)), pg_typeof(dp_randomized_response(true, 1));
SELECT bool_and(dp_randomized_response(i, (SELECT array_agg(j) FROM generate_series(1000, 1, -1) j), 1000) = i) FROM generate_series(1, 1000) i;
-- the spelling is the list's, never the value's
SELECT dp_randomized_response(1.000, ARRAY[1.0, 2.0], 1000), dp_randomized_response(0::float8, ARRAY['-0', '1']::float8[], 1000);
SELECT dp_randomized_response('a'::char(9), ARRAY['a', 'b']::char(3)[], 1000) || '|';

-- NULL, and what is no candidate
SELECT dp_randomized_response(NULL);
SELECT dp_randomized_response(NULL::boolean, 1);
SELECT dp_randomized_response(NULL, 1::float8);
SELECT dp_randomized_response(NULL, ARRAY[1, 2], 1);
SELECT dp_randomized_response(3, ARRAY[1, 2], 1);
-- nothing the client is told names the value
CREATE FUNCTION told(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	m text;
	d text;
	h text;
	c text;
BEGIN
	EXECUTE statement USING 'hidden truth'::text;
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS m = MESSAGE_TEXT, d = PG_EXCEPTION_DETAIL, h = PG_EXCEPTION_HINT, c = PG_EXCEPTION_CONTEXT;
	RETURN SQLSTATE || CASE WHEN m || d || h || c ~ 'hidden|truth' THEN ' shows it' ELSE ' hides it' END;
END $$;
SELECT told('SELECT dp_randomized_response($1, ARRAY[''a'', ''b''], 1)');
SELECT told('SELECT dp_randomized_response($1, ARRAY[''a'', ''a''], 1)');
SELECT told('SELECT dp_randomized_response($1, ARRAY[''a'', ''b''], 0)');
SELECT told('SELECT dp_randomized_response(nullif($1, $1), ARRAY[''a'', ''b''], 1)');

-- candidates that are none
\set VERBOSITY default
SELECT dp_randomized_response(1, ARRAY[1], 1);
SELECT dp_randomized_response(1, '{}'::int[], 1);
SELECT dp_randomized_response(1, NULL::int[], 1);
SELECT dp_randomized_response(1, ARRAY[1, NULL], 1);
SELECT dp_randomized_response(1, ARRAY[1, 2, 1], 1);
SELECT dp_randomized_response(1.0, ARRAY[1.0, 2, 1.00], 1);
SELECT dp_randomized_response('1'::xid, ARRAY['1', '2', '1']::xid[], 1);
SELECT dp_randomized_response(1, ARRAY[[1, 2], [3, 4]], 1);
-- epsilons that are none
SELECT dp_randomized_response(true, NULL::numeric);
SELECT dp_randomized_response(true, NULL::float8);
SELECT dp_randomized_response(true, 0);
SELECT dp_randomized_response(true, -1.0);
SELECT dp_randomized_response(true, 'NaN'::numeric);
SELECT dp_randomized_response(true, 'Infinity'::float8);
SELECT dp_randomized_response(1, ARRAY[1, 2], 0.0);
SELECT dp_randomized_response(1, ARRAY[1, 2], 1e-25);
RESET ROLE;
SET dp_pg.epsilon_ceiling = 2;
SET ROLE :analyst;
SELECT dp_randomized_response(true, 2.5);
SELECT dp_randomized_response(1, ARRAY[1, 2], 2.5::float8);
-- answers drawn under another ceiling can still be read
SELECT (dp_randomized_response_estimate(true, 2.5)).n;
RESET ROLE;
SET dp_pg.epsilon_ceiling = 1000000;
SET ROLE :analyst;
\set VERBOSITY sqlstate

-- arguments may change from row to row, and between calls of a function
SELECT i, dp_randomized_response(i, ARRAY[i, i + 1, i + 2], 1000) FROM generate_series(1, 5) i;
SELECT dp_randomized_response(t, c, 1000) FROM (VALUES ('a', '{a,b}'::text[]), ('b', '{a,b}'), ('c', '{b,c}'), ('c', '{c,bb,a}')) v(t, c);
SELECT dp_randomized_response(true, e) FROM unnest(ARRAY[1000, 2000.0, 3000]) e;
DO $$
DECLARE
	answer int;
BEGIN
	FOR i IN 1 .. 20 LOOP
		answer := dp_randomized_response(i, ARRAY[i, i + 1], 1000 + i);
		ASSERT answer = i;
	END LOOP;
END $$;
-- an answer outlives the candidates it came from
SELECT array_agg(a ORDER BY i) FROM (SELECT i, dp_randomized_response(repeat('x', i), ARRAY[repeat('x', i), 'y'], 1000) AS a FROM generate_series(1, 5) i) s;

-- not inside a private query, and no way around the lock
SELECT * FROM outcome('SELECT dp_count(*) FROM person WHERE dp_randomized_response(sex)');
SELECT * FROM outcome('SELECT dp_count(*) FROM person WHERE dp_randomized_response(sex, 0.5)');
SELECT * FROM outcome('SELECT dp_count(*) FROM person WHERE dp_randomized_response(ward, ARRAY[''A'', ''B''], 0.5) = ''A''');
SELECT * FROM outcome('SELECT dp_sum(dp_randomized_response(age, ARRAY[1, 2], 0.5), 0, 2) FROM person');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT dp_randomized_response(sex) AS a FROM person) s WHERE a');
SELECT * FROM outcome('SELECT dp_randomized_response(sex) FROM person');
SELECT * FROM outcome('SELECT dp_randomized_response_estimate(sex) FROM person');
SELECT * FROM outcome('SELECT dp_count(*), dp_randomized_response_estimate(sex) FROM person');
-- released values are public
SELECT state, charges FROM outcome('SELECT dp_randomized_response(dp_count(*) > 500) FROM person');

-- estimates: (c - n q) / (p - q), checked by hand
CREATE TABLE answer AS SELECT i, i <= 400 AS yes, (ARRAY['red', 'red', 'red', 'green', 'green'])[1 + i % 5] AS color FROM generate_series(1, 1000) i;
SELECT (dp_randomized_response_estimate(yes)).* FROM answer;
SELECT e.n, round(e.count::numeric, 9) AS count, round(e.count_error::numeric, 9) AS count_error, round(e.fraction::numeric, 12) AS fraction,
	round(e.fraction_error::numeric, 12) AS fraction_error,
	abs(e.count - (400 - 1000 / (1 + exp(0.5))) / ((exp(0.5) - 1) / (exp(0.5) + 1))) < 1e-9 AS as_the_book,
	abs(e.count_error ^ 2 - 1000 * exp(0.5) / (exp(0.5) - 1) ^ 2) < 1e-9 AS error_as_the_book
FROM (SELECT (dp_randomized_response_estimate(yes, 0.5)).* FROM answer) e;
SELECT round(e.count::numeric, 9) FROM (SELECT (dp_randomized_response_estimate(yes, 0.5::float8)).* FROM answer) e;
-- three candidates, epsilon ln 3 to 24 digits: p = 3/5, q = 1/5, the errors
-- sqrt(500 - 50) and so on
SELECT candidate, n, round(count::numeric, 9) AS count, round(count_error::numeric, 9) AS count_error, round(fraction::numeric, 12) AS fraction, round(fraction_error::numeric, 12) AS fraction_error
FROM unnest((SELECT dp_randomized_response_estimate(color, ARRAY['red', 'green', 'blue'], 1.098612288668109691395245) FROM answer));
SELECT candidate, round(count::numeric, 9) AS count FROM unnest((SELECT dp_randomized_response_estimate(color, '{blue,green,red}'::text[], 1.0986122886681098::float8) FROM answer));
-- two candidates are a boolean
SELECT bool_and(abs(c.count - b.count) < 1e-9 AND abs(c.count_error - b.count_error) < 1e-9) FROM unnest((SELECT dp_randomized_response_estimate(yes, ARRAY[false, true], 0.7) FROM answer)) c,
	(SELECT (dp_randomized_response_estimate(yes, 0.7)).* FROM answer) b WHERE c.candidate = 't';
-- small and large epsilons
SELECT (e).count, (e).count_error, (e).fraction FROM (SELECT dp_randomized_response_estimate(yes, 1000) AS e FROM answer) s;
SELECT round((e).count::numeric, -15), round((e).count_error::numeric, -15) FROM (SELECT dp_randomized_response_estimate(yes, 1e-15) AS e FROM answer) s;
-- nobody answered: NULL; NULL answers are not counted
SELECT dp_randomized_response_estimate(yes) IS NULL AS empty, (dp_randomized_response_estimate(yes)).n FROM answer WHERE false;
SELECT dp_randomized_response_estimate(color, ARRAY['red', 'green'], 1) IS NULL AS empty FROM answer WHERE false;
SELECT dp_randomized_response_estimate(NULL::boolean) IS NULL AS empty, dp_randomized_response_estimate(NULL::text, ARRAY['a', 'b'], 1) IS NULL AS empty FROM answer;
SELECT (dp_randomized_response_estimate(nullif(yes, false))).n FROM answer;
-- groups, filters, windows
SELECT color, (dp_randomized_response_estimate(yes)).n, (dp_randomized_response_estimate(yes)).count FROM answer GROUP BY color ORDER BY color;
SELECT (dp_randomized_response_estimate(yes) FILTER (WHERE i % 2 = 0)).n, (dp_randomized_response_estimate(DISTINCT yes)).n AS different FROM answer;
SELECT i, (dp_randomized_response_estimate(yes) OVER (ORDER BY i)).count FROM answer WHERE i BETWEEN 398 AND 403 ORDER BY i;
SELECT yes, candidate, n FROM (SELECT yes, dp_randomized_response_estimate(color, ARRAY['red', 'green'], 1) AS r FROM answer GROUP BY yes) s, unnest(r) ORDER BY 1 DESC;
-- one mechanism for all rows, and no foreign answers
SELECT dp_randomized_response_estimate(yes, CASE WHEN i < 500 THEN 1 ELSE 2 END) FROM answer;
SELECT dp_randomized_response_estimate(color, CASE WHEN i < 500 THEN ARRAY['red', 'green'] ELSE ARRAY['green', 'red'] END, 1) FROM answer;
SELECT dp_randomized_response_estimate(color, ARRAY['red', 'blue'], 1) FROM answer;
SELECT dp_randomized_response_estimate(color, ARRAY['red', 'red', 'green'], 1) FROM answer;
SELECT dp_randomized_response_estimate(yes, 0) FROM answer;
SELECT dp_randomized_response_estimate(yes, NULL::numeric) FROM answer;

-- parallel plans: the same numbers, and draws in workers
INSERT INTO answer SELECT i, i % 3 = 0, (ARRAY['red', 'green', 'blue'])[1 + i % 3] FROM generate_series(1001, 30000) i;
ANALYZE answer;
CREATE TABLE serial AS SELECT dp_randomized_response_estimate(yes) AS coins, dp_randomized_response_estimate(yes, 0.5) AS e,
	dp_randomized_response_estimate(color, ARRAY['red', 'green', 'blue'], 1) AS k FROM answer;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET parallel_leader_participation = off;
EXPLAIN (COSTS OFF) SELECT dp_randomized_response_estimate(yes), dp_randomized_response_estimate(color, ARRAY['red', 'green', 'blue'], 1) FROM answer;
SELECT serial = parallel AS same FROM serial, (SELECT dp_randomized_response_estimate(yes), dp_randomized_response_estimate(yes, 0.5),
	dp_randomized_response_estimate(color, ARRAY['red', 'green', 'blue'], 1) FROM answer) parallel;
EXPLAIN (COSTS OFF) SELECT count(*) FROM answer WHERE dp_randomized_response(yes, 1000) = yes;
SELECT count(*) FROM answer WHERE dp_randomized_response(yes, 1000) = yes AND dp_randomized_response(color, ARRAY['red', 'green', 'blue'], 1000) = color;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET parallel_leader_participation;

-- the parts cannot be called by hand
-- (42883, in older minor versions 0A000)
SELECT statement, state IN ('42883', '0A000') AS refused
FROM unnest(ARRAY['dp_pg.response_add(NULL, true)', 'dp_pg.response_final(NULL)',
	'dp_pg.response_deserialize(''\x00'', NULL)']) statement,
	outcome('SELECT ' || statement);

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
