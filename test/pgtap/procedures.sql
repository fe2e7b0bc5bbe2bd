-- The data owner's building blocks: signatures, properties, and how values are
-- read on the grid, against numeric arithmetic.  At epsilon 10^5 and at most
-- 600 granules of sensitivity a draw is not 0 with probability 2 exp(-166); 60
-- values are all even with 2^-60.
\set QUIET on
\pset format unaligned
\pset tuples_only on
\pset pager off
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS dp_pg;
CREATE EXTENSION IF NOT EXISTS pgtap;
SELECT dp_pg.open_dataset('regress_procedures_tap') \g /dev/null
BEGIN;
SET LOCAL dp_pg.epsilon_ceiling = '1000000000';
SET LOCAL dp_pg.epsilon_floor = '';
SELECT * FROM no_plan();

CREATE TEMP VIEW block AS
	SELECT p.*, p.oid::regprocedure AS id FROM pg_proc p
	JOIN pg_extension e ON e.extnamespace = p.pronamespace AND e.extname = 'dp_pg'
	WHERE proname IN ('dp_laplace', 'dp_gaussian', 'dp_exponential', 'dp_noisy_max');
SELECT is((SELECT count(*)::int FROM block), 8, 'eight building blocks');
SELECT is_empty($$ SELECT id FROM block WHERE provolatile <> 'v' OR proparallel <> 'u' OR proisstrict OR prosecdef OR proleakproof $$,
	'volatile, parallel unsafe, not strict');
SELECT is_empty($$ SELECT id FROM block WHERE has_function_privilege('public', id, 'EXECUTE') $$, 'only with a grant');
SELECT is_empty($$ SELECT id FROM block WHERE prorettype <> 'anyelement'::regtype $$, 'the answer is of the type of the value or candidates');
SELECT is_empty($$ SELECT proname FROM block GROUP BY proname HAVING count(DISTINCT proargnames) <> 1 OR count(*) <> 2 $$,
	'both overloads have the same parameters');

-- 2^e, exactly; power() and division would round
CREATE FUNCTION pg_temp.two(e int) RETURNS numeric LANGUAGE sql IMMUTABLE AS
$$ SELECT CASE WHEN e < 0 THEN round(5::numeric ^ -e, 0) * ('1e' || e)::numeric ELSE round(2::numeric ^ e, 0) END $$;
SELECT is(pg_temp.two(-30) * pg_temp.two(30), 1.0, 'powers of two are exact');

-- floor(x/g + 1/2) in granules: dyadic values, so that doubles are exact
SELECT setseed(0.5) \g /dev/null
CREATE TEMP TABLE sample AS
	SELECT e, pg_temp.two(e) AS g, k, floor((random() - 0.5) * 2 ^ (4 + k % 40))::bigint * pg_temp.two(e - 6) AS x
	FROM unnest(ARRAY[-30, -3, -1, 0, 1, 5]) e, generate_series(1, 500) k
	UNION ALL SELECT e, pg_temp.two(e), 500 + k, (k - 50) * pg_temp.two(e - 1)
	FROM unnest(ARRAY[-30, -3, -1, 0, 1, 5]) e, generate_series(1, 100) k;
CREATE TEMP TABLE expected AS
	SELECT e, g, array_agg(x ORDER BY k) AS x, array_agg(trim_scale(floor(x * pg_temp.two(-e) + 0.5) * g) ORDER BY k) AS y FROM sample GROUP BY e, g;
CREATE FUNCTION pg_temp.trimmed(v anyarray) RETURNS numeric[] LANGUAGE sql AS
$$ SELECT array_agg(trim_scale(a::numeric) ORDER BY o) FROM unnest(v::text::numeric[]) WITH ORDINALITY u(a, o) $$;
SELECT is(pg_temp.trimmed(dp_laplace(x, g, 100000, 'regress_procedures_tap', granule => g)), y, 'numeric, granule ' || g) FROM expected;
SELECT is(dp_laplace(x::text::float8[], g, 100000, 'regress_procedures_tap', granule => g), y::text::float8[], 'double precision, granule ' || g) FROM expected;
SELECT is(dp_laplace(x::bigint[], g, 100000, 'regress_procedures_tap', granule => g),
	(SELECT array_agg((floor(v::bigint * pg_temp.two(-e) + 0.5) * g)::bigint ORDER BY o) FROM unnest(x) WITH ORDINALITY u(v, o)), 'bigint, granule ' || g)
FROM expected WHERE e >= 0;

-- granules that are chosen: 2^(floor(log2 sensitivity) - 20 - a - b); the
-- answers are multiples of it, and not of twice as much
CREATE FUNCTION pg_temp.granule_is(sensitivity numeric, epsilon numeric, n int, e int) RETURNS text LANGUAGE sql AS $$
	SELECT is((SELECT max(CASE WHEN v % pg_temp.two(e) <> 0 THEN 0 WHEN v % pg_temp.two(e + 1) <> 0 THEN 1 ELSE 2 END)
			|| '-' || min(CASE WHEN v % pg_temp.two(e) <> 0 THEN 0 WHEN v % pg_temp.two(e + 1) <> 0 THEN 1 ELSE 2 END)
		FROM (SELECT unnest(dp_laplace(array_fill(0.3, ARRAY[n]), sensitivity, epsilon, 'regress_procedures_tap')) FROM generate_series(1, (60 + n) / n)) s(v)), '2-1',
		format('sensitivity %s, epsilon %s, %s values: granule 2^%s', sensitivity, epsilon, n, e)) $$;
SELECT pg_temp.granule_is(1, 1, 1, -20);
SELECT pg_temp.granule_is(1, 0.001, 1, -20);
SELECT pg_temp.granule_is(1.99, 1, 1, -20);
SELECT pg_temp.granule_is(0.99, 1, 1, -21);
SELECT pg_temp.granule_is(1, 1.0001, 1, -21);
SELECT pg_temp.granule_is(100, 4, 1, -16);
SELECT pg_temp.granule_is(100, 4, 5, -19);
SELECT pg_temp.granule_is(1e9, 1, 64, 3);

-- whether a call is refused depends on its parameters, never on the value
CREATE FUNCTION pg_temp.ends(call text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'SELECT ' || call;
	RETURN '00000';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
CREATE TEMP TABLE ending AS
SELECT c, type, array_agg(DISTINCT pg_temp.ends(replace(c, '@', format('%L::%s', v, type)))) AS states
FROM unnest(ARRAY[
	'dp_laplace(@, 1e-280, 1e-20, ''regress_procedures_tap'')', 'dp_laplace(@, 1e280, 1, ''regress_procedures_tap'')',
	'dp_laplace(@, 1, 1e6, ''regress_procedures_tap'', granule => ' || pg_temp.two(300) || ')',
	'dp_laplace(@, 1, 1, ''regress_procedures_tap'', granule => 5)', 'dp_laplace(@, 1, 1e-24, ''regress_procedures_tap'')',
	'dp_laplace(@, 1e25, 1e-6, ''regress_procedures_tap'')', 'dp_laplace(@, 1e25, 1e-5, ''regress_procedures_tap'')',
	'dp_laplace(ARRAY[@, NULL], 3, 0.7, ''regress_procedures_tap'')',
	'dp_gaussian(@, 3, 0.1, 1e-9, ''regress_procedures_tap'')', 'dp_gaussian(@, 1e-200, 3, 1e-9, ''regress_procedures_tap'', ''zcdp'')',
	'dp_gaussian(@, 3, 3, 1e-9, ''regress_procedures_tap'', ''classical'')', 'dp_gaussian(ARRAY[@, NULL], 3.3, 0.1, 1e-9, ''regress_procedures_tap'')',
	'dp_exponential(ARRAY[1, 2, 3], ARRAY[@, NULL, 5], 1e-100, 3, ''regress_procedures_tap'')', 'dp_exponential(ARRAY[1, 2, 3], ARRAY[@, NULL, 5], 1e200, 1e-24, ''regress_procedures_tap'', true)',
	'dp_noisy_max(ARRAY[1, 2, 3], ARRAY[@, NULL, 5], 1e-100, 3, ''regress_procedures_tap'')',
	'dp_noisy_max(ARRAY[1, 2, 3], ARRAY[@, NULL, 5], 7, 3, ''regress_procedures_tap'', ''permute_and_flip'')',
	'dp_noisy_max(ARRAY[1, 2, 3], ARRAY[@, NULL, 5], 7, 3, ''regress_procedures_tap'', ''exponential'')']) c,
	(VALUES ('numeric', '{0,NULL,NaN,Infinity,-Infinity,1e131071,-1e131071,1e-16383,-1e-16383,0.5,1e30}'::text[]),
		('float8', '{0,NULL,NaN,Infinity,-Infinity,1.7976931348623157e308,-1.7976931348623157e308,4.9e-324,-4.9e-324,0.5,1e30}'),
		('float4', '{0,NULL,NaN,Infinity,-Infinity,3.4e38,-3.4e38,1e-45,0.5}'),
		('bigint', '{0,NULL,9223372036854775807,-9223372036854775808}'), ('smallint', '{0,NULL,32767,-32768}')) t(type, vs),
	unnest(vs) v
GROUP BY c, type;
SELECT is_empty('SELECT c, type, states FROM ending WHERE cardinality(states) <> 1', 'no error depends on a value');
SELECT is_empty($$ SELECT c, type, states FROM ending WHERE states <@ '{00000,22003,22023}' IS NOT TRUE $$, 'and none is unforeseen');
SELECT cmp_ok((SELECT count(*)::int FROM ending WHERE states = '{00000}'), '>=', 50, 'most are answered');
SELECT cmp_ok((SELECT count(*)::int FROM ending WHERE states <> '{00000}'), '>=', 10, 'some are refused');

-- both overloads read the same numbers
SELECT ok(dp_laplace(1, 3, 0.1, 'regress_procedures_tap') IS NOT NULL, 'numeric');
SELECT ok(dp_laplace(1, 3::float8, 0.1::float8, 'regress_procedures_tap') IS NOT NULL, 'double precision');
SELECT results_eq($$ SELECT epsilon, count(DISTINCT rho) FROM (SELECT * FROM dp_pg.ledger ORDER BY id DESC LIMIT 2) l GROUP BY epsilon $$,
	$$ VALUES (0.1, 1::bigint) $$, 'both cost the same');
SELECT * FROM finish();
ROLLBACK;
