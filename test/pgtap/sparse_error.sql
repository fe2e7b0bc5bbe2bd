-- dp_sparse_vector_error and dp_weights_error against the oracle's alphas.
-- Nothing here is random: the false-alarm rate is 0.
\set QUIET on
\pset format unaligned
\pset tuples_only on
\pset pager off
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS dp_pg;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE SCHEMA regress_sparse_error;
SET search_path = regress_sparse_error, public;
SELECT * FROM no_plan();

CREATE TABLE svt (k bigint, c bigint, eps numeric, beta numeric, thm3_24 numeric, thm3_26_pure numeric, thm3_26_delta numeric, thm3_28_pure numeric, thm3_28_delta numeric,
	needed_pure numeric, needed_delta numeric, geo_general numeric, geo_monotone numeric);
\copy svt FROM 'test/oracle/svt_accuracy.csv' (FORMAT csv, HEADER)
SELECT is(count(*)::int, 48, 'svt_accuracy.csv has 48 records') FROM svt;
-- whole numbers: below the real one by less than 2, above it by less than 1
CREATE FUNCTION whole(have numeric, want numeric) RETURNS boolean IMMUTABLE LANGUAGE sql AS
	'SELECT have > want - 2 AND have < want + 1 AND have = trunc(have)';
CREATE VIEW possible AS SELECT * FROM svt WHERE c <= k;
SELECT is(count(*)::int, 44, 'of which 44 have no more aboves than questions') FROM possible;
SELECT is_empty($$SELECT * FROM possible, dp_sparse_vector_error(k, c, eps, confidence => 1 - beta, method => 'geometric') e
	WHERE (whole(e.alpha, geo_general) AND e.alpha <= geo_general AND e.rounds = 1 AND threshold_epsilon + query_epsilon = eps AND e.epsilon = eps AND e.delta = 0
		AND e.rho = dp_pure_rho(eps)) IS NOT TRUE$$, 'geometric');
SELECT is_empty($$SELECT * FROM possible, dp_sparse_vector_error(k, c, eps, confidence => 1 - beta, method => 'geometric', monotone => true) e
	WHERE whole(e.alpha, geo_monotone) IS NOT TRUE$$, 'geometric, monotone');
SELECT is_empty($$SELECT * FROM possible, dp_sparse_vector_error(k, c, eps, confidence => 1 - beta, method => 'book') e
	WHERE (whole(e.alpha, thm3_26_pure) AND whole(e.alpha, coalesce(thm3_24, thm3_26_pure)) AND e.rounds = c) IS NOT TRUE$$, 'Theorems 3.24 and 3.26');
SELECT is_empty($$SELECT * FROM possible, dp_sparse_vector_error(k, c, eps, 1e-6, confidence => 1 - beta, method => 'book') e
	WHERE (whole(e.alpha, thm3_26_delta) AND e.epsilon <= eps AND e.delta <= 1e-6) IS NOT TRUE$$, 'Theorem 3.26 with delta');
SELECT is_empty($$SELECT * FROM possible, dp_sparse_vector_error(k, c, eps, confidence => 1 - beta, method => 'book', numeric_answers => true) e
	WHERE (whole(e.alpha, greatest(thm3_28_pure, needed_pure)) AND answer_epsilon > 0) IS NOT TRUE$$, 'Theorem 3.28, corrected');
SELECT is_empty($$SELECT * FROM possible, dp_sparse_vector_error(k, c, eps, 1e-6, confidence => 1 - beta, method => 'book', numeric_answers => true) e
	WHERE whole(e.alpha, greatest(thm3_28_delta, needed_delta)) IS NOT TRUE$$, 'Theorem 3.28 with delta, corrected');
SELECT is_empty($$SELECT * FROM possible, dp_sparse_vector_error(k, c, eps, 1e-6, confidence => 1 - beta) b, dp_sparse_vector_error(k, c, eps, 1e-6, confidence => 1 - beta, method => 'geometric') g,
		dp_sparse_vector_error(k, c, eps, 1e-6, confidence => 1 - beta, method => 'rounds') r
	WHERE (b.alpha = least(g.alpha, r.alpha) AND b.method IN (g.method, r.method)) IS NOT TRUE$$, 'best is the better one');
SELECT is_empty($$SELECT * FROM possible, dp_sparse_vector_error(k, c, eps, confidence => 1 - beta) a, dp_sparse_vector_error(k, c, eps::float8, confidence => (1 - beta)::float8) b
	WHERE a IS DISTINCT FROM b$$, 'double precision gives the same');
SELECT ok(g.alpha > 100 * r.alpha / 99 AND r.delta = 1e-6 AND r.epsilon = 1, 'many aboves and a delta: rounds by optimal composition')
FROM dp_sparse_vector_error(10000, 2000, 1, 1e-6, method => 'geometric') g, dp_sparse_vector_error(10000, 2000, 1, 1e-6, method => 'rounds') r;
SELECT is(alpha, 3 * 135.0, 'alpha scales with the sensitivity, to the rounding')
FROM (SELECT round(alpha / 5) * 5 AS alpha FROM dp_sparse_vector_error(1000, 10, 1, sensitivity => 3)) e;

CREATE TABLE mw (x bigint, q bigint, n bigint, eps numeric, beta numeric, delta numeric, printed32 numeric, corrected36 numeric, alpha1 numeric, alpha2 numeric, mwem numeric);
\copy mw FROM 'test/oracle/mw_accuracy.csv' (FORMAT csv, HEADER)
SELECT is(count(*)::int, 36, 'mw_accuracy.csv has 36 records') FROM mw;
-- what dp_weights_open would refuse is refused here too
CREATE FUNCTION refusal(x bigint, q bigint, eps numeric, n bigint, confidence numeric) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM dp_weights_error(x, q, eps, n, confidence => confidence);
	RETURN NULL;
EXCEPTION WHEN invalid_parameter_value THEN
	RETURN SQLERRM;
END $$;
SELECT results_eq('SELECT DISTINCT refusal(x, q, eps, n, 1 - beta) FROM mw WHERE n * eps <= 1000', ARRAY['no useful accuracy can be reached'], 'no alpha up to 1/3: refused');
CREATE VIEW reached AS SELECT * FROM mw WHERE n * eps > 1000;
SELECT is(count(*)::int, 30, 'mw_accuracy.csv has 30 records with an alpha up to 1/3') FROM reached;
SELECT is_empty($$SELECT * FROM reached, dp_weights_error(x, q, eps, n, confidence => 1 - beta) e
	WHERE (e.alpha < 0.45 * corrected36 AND error <= 3 * e.alpha * n AND error <= n AND updates <= q AND threshold > noise + e.alpha * n
		AND e.epsilon = eps AND e.delta = 0 AND rho <= dp_pure_rho(eps)) IS NOT TRUE$$, 'better than the corrected Theorem 4.14');
CREATE VIEW book AS SELECT * FROM mw WHERE corrected36 < 0.33;
SELECT is(count(*)::int, 10, 'of which 10 have so many questions that the book''s alpha is that of its theorem')
FROM book, dp_weights_error(x, 2 * q, eps, n, confidence => 1 - beta, method => 'book') e WHERE updates < 2 * q;
SELECT is_empty($$SELECT * FROM book, dp_weights_error(x, 2 * q, eps, n, confidence => 1 - beta, method => 'book') e
	WHERE updates < 2 * q AND (e.alpha BETWEEN 0.99 * corrected36 AND 1.01 * corrected36) IS NOT TRUE$$, 'the book''s is the corrected Theorem 4.14');
SELECT is_empty($$SELECT * FROM reached, dp_weights_error(x, q, eps, n, confidence => 1 - beta) e, dp_weights_error(x, q, eps, n, confidence => 1 - beta, alpha => e.alpha) again
	WHERE again IS DISTINCT FROM e$$, 'the least alpha can be asked for');
SELECT is_empty($$SELECT * FROM reached, dp_weights_error(x, q, eps, n, confidence => 1 - beta) a, dp_weights_error(x, q, eps::float8, n, confidence => (1 - beta)::float8) b
	WHERE a IS DISTINCT FROM b$$, 'double precision gives the same');

SELECT is(dp_sparse_vector_error(10, 3, NULL::numeric), NULL, 'NULL gives NULL');
SELECT is(dp_weights_error(10, 10, 1, NULL), NULL, 'NULL gives NULL');
SELECT is(dp_weights_error(10, 10, 1, 1000, delta => NULL), NULL, 'NULL gives NULL, in the midst');
SELECT is(dp_weights_error(10, 10, 1, 1000000, alpha => NULL), dp_weights_error(10, 10, 1, 1000000), 'NULL is the least alpha');
SELECT throws_ok('SELECT dp_weights_error(16, 500, 0.001, 48842)', '22023', 'no useful accuracy can be reached', 'an error above n is refused');
SELECT throws_ok('SELECT dp_weights_error(16, 500, 1, 48842, 0.34)', '22023', 'alpha must be above 0 and at most 1/3', 'an alpha that says nothing is refused');
SELECT throws_ok('SELECT dp_weights_error(10, 10, 1, 1000, method => ''worst'')', '22023', 'unknown method "worst"', 'weights: an unknown method is called that');
SELECT throws_ok('SELECT dp_sparse_vector_error(10, 1, 1, method => ''worst'')', '22023', 'unknown method "worst"', 'sparse_vector: an unknown method is called that');
-- an alpha above 2^63 is a number like others
SELECT ok((SELECT alpha > 2::numeric ^ 63 FROM dp_sparse_vector_error(1000, 10, 1e-17, method => 'book')), 'no alpha is too large to be shown');
SELECT throws_ok('SELECT ' || q, '22023', NULL, q) FROM unnest(ARRAY['dp_sparse_vector_error(0, 1, 1)', 'dp_sparse_vector_error(5, 0, 1)', 'dp_sparse_vector_error(5, 6, 1)', 'dp_sparse_vector_error(5, 1, 0)',
	'dp_sparse_vector_error(5, 1, -1)', 'dp_sparse_vector_error(5, 1, 1, 1)', 'dp_sparse_vector_error(5, 1, 1, -0.1)', 'dp_sparse_vector_error(5, 1, 1, 0, 1)', 'dp_sparse_vector_error(5, 1, 1, 0, 0)',
	$$dp_sparse_vector_error(5, 1, 1, method => 'worst')$$, 'dp_sparse_vector_error(5, 1, 1, sensitivity => 0)', 'dp_sparse_vector_error(5, 1, ''NaN''::numeric)', 'dp_sparse_vector_error(5, 1, ''Infinity''::float8)',
	$$dp_sparse_vector_error(9, 3, 1, 0.9, method => 'book')$$, 'dp_sparse_vector_error(5, 1, 1e-20, sensitivity => 9223372036854775807)',
	'dp_weights_error(0, 10, 1, 1000)', 'dp_weights_error(10, 10, 1, 0)', 'dp_weights_error(10, 0, 1, 1000)', 'dp_weights_error(10, 10, 0, 1000)', 'dp_weights_error(10, 10, 1, 1000, alpha => 1.5)',
	'dp_weights_error(10, 10, 1, 1000, alpha => -1)', 'dp_weights_error(10, 10, 1, 1000, alpha => 0)', 'dp_weights_error(10, 10, 1, 1000, confidence => 1)', 'dp_weights_error(10, 10, 1, 10)']) q;
SELECT throws_ok('SELECT dp_weights_error(1024, 1000, 1, 1000000, alpha => 0.001)', '22023', 'alpha 0.001 cannot be reached', 'an unreachable alpha is refused');
SELECT * FROM finish();
DROP SCHEMA regress_sparse_error CASCADE;
