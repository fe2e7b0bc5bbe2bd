-- dp_variance, dp_stddev, dp_var_pop, dp_stddev_pop, and the exact aggregate behind them.

CREATE TYPE dp_pg.square_state;
CREATE FUNCTION dp_pg.square_state_in(cstring) RETURNS dp_pg.square_state
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_square_state_in';
CREATE FUNCTION dp_pg.square_state_out(dp_pg.square_state) RETURNS cstring
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_square_state_out';
CREATE TYPE dp_pg.square_state (
	input = dp_pg.square_state_in, output = dp_pg.square_state_out,
	internallength = 40, alignment = double, storage = plain
);
COMMENT ON TYPE dp_pg.square_state IS
'state of dp_pg.bounded_squares: number of rows counted, exact 128-bit sum and sum of squares';
COMMENT ON FUNCTION dp_pg.square_state_in(cstring) IS 'accepts the empty text';
COMMENT ON FUNCTION dp_pg.square_state_out(dp_pg.square_state) IS
'raises 0A000';

CREATE FUNCTION dp_pg.square_combine(dp_pg.square_state, dp_pg.square_state)
RETURNS dp_pg.square_state
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_square_combine';
COMMENT ON FUNCTION dp_pg.square_combine(dp_pg.square_state, dp_pg.square_state) IS
'adds two states; only within an aggregate';
REVOKE ALL ON FUNCTION dp_pg.square_combine(dp_pg.square_state, dp_pg.square_state)
FROM PUBLIC;

DO $make$
DECLARE
	types CONSTANT text[] := ARRAY['smallint', 'integer', 'bigint', 'real',
								   'double precision', 'numeric'];
	symbols CONSTANT text[] := ARRAY['int2', 'int4', 'int8', 'float4',
									 'float8', 'numeric'];
	results CONSTANT text[] := ARRAY['numeric', 'numeric', 'numeric',
									 'double precision', 'double precision',
									 'numeric'];
	kinds CONSTANT text[] := ARRAY['variance', 'stddev', 'var_pop',
								   'stddev_pop'];
	comments CONSTANT text[] := ARRAY[
		'dp_variance(expr [, lower, upper] [, epsilon]): private sample variance of expr; every row counts with its value clamped to [lower, upper], NULL and NaN are skipped; three sums with discrete Laplace noise of scale (upper - lower)^2 / epsilon each; without bounds the declared or inferred ones, epsilon is dp_pg.epsilon by default; result as variance(expr), not negative, NULL when the released number of rows is not positive; 22023 for a bad parameter, 53400 when the budget is exhausted; Dwork and Roth, Definition 3.3',
		'dp_stddev(expr [, lower, upper] [, epsilon]): private sample standard deviation of expr, the root of dp_variance at the same price; result as stddev(expr), not negative, NULL as dp_variance; 22023 for a bad parameter, 53400 when the budget is exhausted',
		'dp_var_pop(expr [, lower, upper] [, epsilon]): private population variance of expr, by the sums of dp_variance at the same price; result as var_pop(expr), not negative, NULL as dp_variance; 22023 for a bad parameter, 53400 when the budget is exhausted',
		'dp_stddev_pop(expr [, lower, upper] [, epsilon]): private population standard deviation of expr, the root of dp_var_pop at the same price; result as stddev_pop(expr), not negative, NULL as dp_variance; 22023 for a bad parameter, 53400 when the budget is exhausted'];
	signature text;
	final text;
BEGIN
	FOR i IN 1 .. 6 LOOP
		EXECUTE pg_catalog.format($sql$
			CREATE FUNCTION dp_pg.square_add(dp_pg.square_state, %1$s, dp_pg.sum_spec)
			RETURNS dp_pg.square_state
			LANGUAGE c IMMUTABLE PARALLEL SAFE
			AS 'MODULE_PATHNAME', 'dp_square_add_%2$s';
			COMMENT ON FUNCTION dp_pg.square_add(dp_pg.square_state, %1$s, dp_pg.sum_spec) IS
			'adds a value, clamped and rounded to the grid, and its square; only within an aggregate';
			REVOKE ALL ON FUNCTION dp_pg.square_add(dp_pg.square_state, %1$s, dp_pg.sum_spec)
			FROM PUBLIC;
			CREATE AGGREGATE dp_pg.bounded_squares(%1$s, dp_pg.sum_spec) (
				sfunc = dp_pg.square_add, stype = dp_pg.square_state,
				initcond = '', combinefunc = dp_pg.square_combine,
				parallel = safe
			);
			COMMENT ON AGGREGATE dp_pg.bounded_squares(%1$s, dp_pg.sum_spec) IS
			'exact sum and sum of squares of values clamped to a grid; NULL and NaN are skipped; used only within private queries';
		$sql$, types[i], symbols[i]);
	END LOOP;
	FOR k IN 1 .. 4 LOOP
		FOR i IN 1 .. 6 LOOP
			final := pg_catalog.format('dp_pg.final_%s_%s', kinds[k],
				pg_catalog.replace(results[i], ' ', '_'));
			IF pg_catalog.to_regprocedure(pg_catalog.format('%s(internal)', final)) IS NULL THEN
				EXECUTE pg_catalog.format($sql$
					CREATE FUNCTION %1$s(internal) RETURNS %2$s
					LANGUAGE c AS 'MODULE_PATHNAME', 'dp_aggregate_%3$s';
					COMMENT ON FUNCTION %1$s(internal) IS
					'raises 55000 unless the planner hook replaced dp_%3$s';
				$sql$, final, results[i], kinds[k]);
			END IF;
			FOREACH signature IN ARRAY ARRAY[types[i],
				types[i] OPERATOR(pg_catalog.||)
				', VARIADIC double precision[]'] LOOP
				EXECUTE pg_catalog.format($sql$
					CREATE AGGREGATE @extschema@.dp_%1$s(%2$s) (
						sfunc = dp_pg.skip, stype = internal,
						finalfunc = %3$s
					);
					COMMENT ON AGGREGATE @extschema@.dp_%1$s(%2$s) IS %4$L;
				$sql$, kinds[k], signature, final, comments[k]);
			END LOOP;
		END LOOP;
	END LOOP;
END
$make$;
