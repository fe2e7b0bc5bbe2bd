-- dp_corr, dp_covar_pop, dp_covar_samp, dp_regr_*, and the exact aggregate behind them.

CREATE TYPE dp_pg.pair_state;
CREATE FUNCTION dp_pg.pair_state_in(cstring) RETURNS dp_pg.pair_state
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_pair_state_in';
CREATE FUNCTION dp_pg.pair_state_out(dp_pg.pair_state) RETURNS cstring
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_pair_state_out';
CREATE TYPE dp_pg.pair_state (
	input = dp_pg.pair_state_in, output = dp_pg.pair_state_out,
	internallength = 88, alignment = double, storage = plain
);
COMMENT ON TYPE dp_pg.pair_state IS
'state of dp_pg.bounded_pairs: number of rows counted, exact 128-bit sums of both numbers, of their squares and products';
COMMENT ON FUNCTION dp_pg.pair_state_in(cstring) IS 'accepts the empty text';
COMMENT ON FUNCTION dp_pg.pair_state_out(dp_pg.pair_state) IS
'raises 0A000';

CREATE FUNCTION dp_pg.pair_combine(dp_pg.pair_state, dp_pg.pair_state)
RETURNS dp_pg.pair_state
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_pair_combine';
COMMENT ON FUNCTION dp_pg.pair_combine(dp_pg.pair_state, dp_pg.pair_state) IS
'adds two states; only within an aggregate';
REVOKE ALL ON FUNCTION dp_pg.pair_combine(dp_pg.pair_state, dp_pg.pair_state)
FROM PUBLIC;

CREATE FUNCTION dp_pg.pair_add(dp_pg.pair_state, double precision, dp_pg.sum_spec,
							   double precision, dp_pg.sum_spec)
RETURNS dp_pg.pair_state
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_pair_transit';
COMMENT ON FUNCTION dp_pg.pair_add(dp_pg.pair_state, double precision, dp_pg.sum_spec, double precision, dp_pg.sum_spec) IS
'adds two numbers, clamped and rounded to their grids, their squares and product; only within an aggregate';
REVOKE ALL ON FUNCTION dp_pg.pair_add(dp_pg.pair_state, double precision, dp_pg.sum_spec, double precision, dp_pg.sum_spec)
FROM PUBLIC;

CREATE AGGREGATE dp_pg.bounded_pairs(double precision, dp_pg.sum_spec,
									 double precision, dp_pg.sum_spec) (
	sfunc = dp_pg.pair_add, stype = dp_pg.pair_state, initcond = '',
	combinefunc = dp_pg.pair_combine, parallel = safe
);
COMMENT ON AGGREGATE dp_pg.bounded_pairs(double precision, dp_pg.sum_spec, double precision, dp_pg.sum_spec) IS
'exact sums of pairs of numbers clamped to grids, of squares and products; rows with NULL or NaN are skipped; used only within private queries';

CREATE FUNCTION dp_pg.granule_pair(double precision, dp_pg.sum_spec,
								   double precision, dp_pg.sum_spec)
RETURNS bigint
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_granule_pair';
COMMENT ON FUNCTION dp_pg.granule_pair(double precision, dp_pg.sum_spec, double precision, dp_pg.sum_spec) IS
'two numbers clamped and rounded to their grids, as granules above the lower bounds, packed into one number; NULL for NULL and NaN; used only within private queries, 0A000 elsewhere';

-- ---------------------------------------------------------------------------
-- dp_corr(y, x [, y_lower, y_upper, x_lower, x_upper] [, epsilon]) and the like
-- ---------------------------------------------------------------------------

DO $make$
DECLARE
	-- name, result, bounds and what it is
	made CONSTANT text[] := ARRAY[
		['corr', 'double precision', '[, y_lower, y_upper, x_lower, x_upper] ', 'correlation of y and x, between -1 and 1, by six sums; NULL when a released variance'],
		['covar_pop', 'double precision', '[, y_lower, y_upper, x_lower, x_upper] ', 'covariance of y and x as a population, by four sums; NULL when the released number of rows'],
		['covar_samp', 'double precision', '[, y_lower, y_upper, x_lower, x_upper] ', 'covariance of y and x as a sample, by four sums; NULL when the released number of rows'],
		['regr_avgx', 'double precision', '[, lower, upper] ', 'mean of x, by two sums; NULL when the released number of rows'],
		['regr_avgy', 'double precision', '[, lower, upper] ', 'mean of y, by two sums; NULL when the released number of rows'],
		['regr_count', 'bigint', '', 'number of rows that have y and x; where it'],
		['regr_intercept', 'double precision', '[, y_lower, y_upper, x_lower, x_upper] ', 'value at 0 of the least-squares line of y over x, by five sums; NULL when the released variance of x'],
		['regr_r2', 'double precision', '[, y_lower, y_upper, x_lower, x_upper] ', 'square of the correlation of y and x, by six sums; NULL when a released variance'],
		['regr_slope', 'double precision', '[, y_lower, y_upper, x_lower, x_upper] ', 'slope of the least-squares line of y over x, by five sums; NULL when the released variance of x'],
		['regr_sxx', 'double precision', '[, lower, upper] ', 'sum of squares of x around its mean, by three sums; NULL when the released number of rows'],
		['regr_sxy', 'double precision', '[, y_lower, y_upper, x_lower, x_upper] ', 'sum of products of y and x around their means, by four sums; NULL when the released number of rows'],
		['regr_syy', 'double precision', '[, lower, upper] ', 'sum of squares of y around its mean, by three sums; NULL when the released number of rows']];
	m text[];
	parameters text;
	signature text;
	final text;
	comment text;
BEGIN
	FOREACH m SLICE 1 IN ARRAY made LOOP
		final := pg_catalog.format('dp_pg.final_%s', m[1]);
		EXECUTE pg_catalog.format($sql$
			CREATE FUNCTION %1$s(internal) RETURNS %2$s
			LANGUAGE c AS 'MODULE_PATHNAME', 'dp_aggregate_%3$s';
			COMMENT ON FUNCTION %1$s(internal) IS
			'raises 55000 unless the planner hook replaced dp_%3$s';
		$sql$, final, m[2], m[1]);
		comment := CASE m[1] WHEN 'regr_count' THEN
			'private number of rows that have y and x, as regr_count(y, x); NULL and NaN are skipped; discrete Laplace noise of scale 1 / epsilon; 22023 for a bad parameter, 53400 when the budget is exhausted'
		ELSE pg_catalog.format(
			'dp_%2$s(y, x %3$s[, epsilon]): private %1$s is not positive; every row that has y and x, neither NULL nor NaN, counts with its values clamped to their bounds; without bounds the declared or inferred ones, epsilon is dp_pg.epsilon by default; as %2$s(y, x); 22023 for a bad parameter, 53400 when the budget is exhausted; Dwork and Roth, Definition 3.3',
			m[4], m[1], m[3]) END;
		FOREACH parameters IN ARRAY ARRAY['', CASE m[1]
			WHEN 'regr_count' THEN ', double precision'
			ELSE ', VARIADIC double precision[]' END] LOOP
			signature := 'double precision, double precision'
				OPERATOR(pg_catalog.||) parameters;
			EXECUTE pg_catalog.format($sql$
				CREATE AGGREGATE @extschema@.dp_%1$s(%2$s) (
					sfunc = dp_pg.skip, stype = internal,
					finalfunc = %3$s
				);
				COMMENT ON AGGREGATE @extschema@.dp_%1$s(%2$s) IS %4$L;
			$sql$, m[1], signature, final, comment);
		END LOOP;
	END LOOP;
END
$make$;
