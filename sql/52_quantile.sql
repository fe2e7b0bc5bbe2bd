-- dp_quantile, dp_median, dp_min and dp_max, and the exact aggregate behind them.

-- ---------------------------------------------------------------------------
-- Rows counted by grid point, used inside private queries only.
-- ---------------------------------------------------------------------------

CREATE FUNCTION dp_pg.counts_combine(internal, internal) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_counts_combine';
COMMENT ON FUNCTION dp_pg.counts_combine(internal, internal) IS
'adds two states of dp_pg.grid_counts; only within an aggregate';

CREATE FUNCTION dp_pg.counts_save(internal) RETURNS bytea
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_counts_save';
COMMENT ON FUNCTION dp_pg.counts_save(internal) IS
'a state of dp_pg.grid_counts for another process; only within an aggregate';

CREATE FUNCTION dp_pg.counts_load(bytea, internal) RETURNS internal
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_counts_load';
COMMENT ON FUNCTION dp_pg.counts_load(bytea, internal) IS
'the inverse of dp_pg.counts_save; only within an aggregate';

DO $make$
DECLARE
	t text;
	symbol text;
	types CONSTANT text[] := ARRAY['smallint', 'integer', 'bigint', 'real',
		'double precision', 'numeric', 'date', 'timestamp', 'timestamptz'];
	symbols CONSTANT text[] := ARRAY['int2', 'int4', 'int8', 'float4',
		'float8', 'numeric', 'date', 'timestamp', 'timestamp'];
BEGIN
	FOR i IN 1 .. pg_catalog.array_length(types, 1) LOOP
		t := types[i];
		symbol := symbols[i];
		EXECUTE pg_catalog.format($sql$
			CREATE FUNCTION dp_pg.counts_add(internal, %1$s, dp_pg.sum_spec)
			RETURNS internal
			LANGUAGE c IMMUTABLE PARALLEL SAFE
			AS 'MODULE_PATHNAME', 'dp_counts_add_%2$s';
			COMMENT ON FUNCTION dp_pg.counts_add(internal, %1$s, dp_pg.sum_spec) IS
			'counts a value, clamped and rounded to the grid; only within an aggregate';
			CREATE AGGREGATE dp_pg.grid_counts(%1$s, dp_pg.sum_spec) (
				sfunc = dp_pg.counts_add, stype = internal, sspace = 256,
				finalfunc = dp_pg.counts_save, finalfunc_modify = read_write,
				combinefunc = dp_pg.counts_combine,
				serialfunc = dp_pg.counts_save,
				deserialfunc = dp_pg.counts_load, parallel = safe
			);
			COMMENT ON AGGREGATE dp_pg.grid_counts(%1$s, dp_pg.sum_spec) IS
			'exact number of rows at each point of a grid; NULL and NaN are skipped; used only within private queries';
		$sql$, t, symbol);
	END LOOP;
END
$make$;

-- ---------------------------------------------------------------------------
-- dp_quantile(expr, fraction [, lower, upper] [, epsilon])
-- dp_median, dp_min, dp_max(expr [, lower, upper] [, epsilon])
--
-- Parameters of numbers are VARIADIC double precision[]; bounds of dates and
-- times are of the type of expr.
-- ---------------------------------------------------------------------------

DO $make$
DECLARE
	kind text;
	argument text;
	form text;
	forms text[];
	signature text;
	final text;
	types CONSTANT text[] := ARRAY['smallint', 'integer', 'bigint', 'real',
		'double precision', 'numeric', 'date', 'timestamp', 'timestamptz'];
	kinds CONSTANT text[] := ARRAY['quantile', 'median', 'min', 'max'];
	comments CONSTANT text[] := ARRAY[
		'dp_quantile(expr, fraction [, lower, upper] [, epsilon]): private quantile of expr, a value that about the given fraction of the rows (0 to 1) are at or below, chosen from a public grid on [lower, upper] by the exponential mechanism, score the distance in rank, rate epsilon / (2 max(fraction, 1 - fraction)) per row; values outside the bounds count at them, NULL and NaN are skipped; without bounds the declared ones, epsilon is dp_pg.epsilon by default; result as expr, within the bounds, never NULL (no rows: any grid value); 22023 for a bad parameter, 53400 when the budget is exhausted; Dwork and Roth, Theorems 3.10 and 3.11',
		'dp_median(expr [, lower, upper] [, epsilon]): private median of expr, dp_quantile(expr, 0.5); chosen from a public grid on [lower, upper] by the exponential mechanism, score the distance in rank, rate epsilon per row; values outside the bounds count at them, NULL and NaN are skipped; without bounds the declared ones, epsilon is dp_pg.epsilon by default; result as expr, within the bounds, never NULL (no rows: any grid value); 22023 for a bad parameter, 53400 when the budget is exhausted; Dwork and Roth, Theorems 3.10 and 3.11',
		'dp_min(expr [, lower, upper] [, epsilon]): private least value of expr, one that about T rows are below, T = 2 (ln points of the grid + ln 20) / epsilon, chosen from a public grid on [lower, upper] by the exponential mechanism, rate epsilon / 2 per row; values outside the bounds count at them, NULL and NaN are skipped; without bounds the declared ones, epsilon is dp_pg.epsilon by default; result as expr, within the bounds, never NULL (fewer than T rows: any grid value); 22023 for a bad parameter, 53400 when the budget is exhausted; Dwork and Roth, Theorems 3.10 and 3.11',
		'dp_max(expr [, lower, upper] [, epsilon]): private greatest value of expr, one that about T rows are above; as dp_min; 22023 for a bad parameter, 53400 when the budget is exhausted; Dwork and Roth, Theorems 3.10 and 3.11'];
BEGIN
	FOREACH kind IN ARRAY kinds LOOP
		FOREACH argument IN ARRAY types LOOP
			-- %1$s argument and bounds, %2$s fraction and epsilon
			forms := CASE
				WHEN argument OPERATOR(pg_catalog.<>) ALL
					(ARRAY['date', 'timestamp', 'timestamptz']) THEN
					ARRAY['%1$s', '%1$s, VARIADIC %2$s[]']
				WHEN kind OPERATOR(pg_catalog.=) 'quantile' THEN
					ARRAY['%1$s, %2$s', '%1$s, %2$s, %2$s',
						  '%1$s, %2$s, %1$s, %1$s',
						  '%1$s, %2$s, %1$s, %1$s, %2$s']
				ELSE ARRAY['%1$s', '%1$s, %2$s', '%1$s, %1$s, %1$s',
						   '%1$s, %1$s, %1$s, %2$s'] END;
			final := pg_catalog.format('dp_pg.final_%s_%s', kind,
				pg_catalog.replace(argument, ' ', '_'));
			EXECUTE pg_catalog.format($sql$
				CREATE FUNCTION %1$s(internal) RETURNS %2$s
				LANGUAGE c AS 'MODULE_PATHNAME', 'dp_aggregate_%3$s';
				COMMENT ON FUNCTION %1$s(internal) IS
				'raises 55000 unless the planner hook replaced dp_%3$s';
			$sql$, final, argument, kind);
			FOREACH form IN ARRAY forms LOOP
				-- a quantile needs its fraction
				CONTINUE WHEN kind OPERATOR(pg_catalog.=) 'quantile'
					AND form OPERATOR(pg_catalog.=) '%1$s';
				signature := pg_catalog.format(form, argument,
											   'double precision');
				EXECUTE pg_catalog.format($sql$
					CREATE AGGREGATE @extschema@.dp_%1$s(%2$s) (
						sfunc = dp_pg.skip, stype = internal,
						finalfunc = %3$s
					);
					COMMENT ON AGGREGATE @extschema@.dp_%1$s(%2$s) IS %4$L;
				$sql$, kind, signature, final,
					comments[pg_catalog.array_position(kinds, kind)]);
			END LOOP;
		END LOOP;
	END LOOP;
END
$make$;
