-- dp_bounds, and the ranges behind it.

DO $make$
DECLARE
	t text;
	signature text;
BEGIN
	FOR i IN 1 .. 3 LOOP
		t := (ARRAY['bigint', 'double precision', 'numeric'])[i];
		EXECUTE pg_catalog.format($sql$
			CREATE FUNCTION dp_pg.magnitude(%1$s) RETURNS integer
			LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
			AS 'MODULE_PATHNAME', 'dp_magnitude_%2$s';
			COMMENT ON FUNCTION dp_pg.magnitude(%1$s) IS
			'place of a number among ranges of powers of two, negative ones first; NULL for NULL and NaN; never an error; used only within private queries';
			CREATE FUNCTION dp_pg.range_add(dp_pg.tally_state, %1$s, dp_pg.tally_spec)
			RETURNS dp_pg.tally_state
			LANGUAGE c IMMUTABLE PARALLEL SAFE
			AS 'MODULE_PATHNAME', 'dp_range_add_%2$s';
			COMMENT ON FUNCTION dp_pg.range_add(dp_pg.tally_state, %1$s, dp_pg.tally_spec) IS
			'counts a number in its range; only within an aggregate';
			REVOKE ALL ON FUNCTION dp_pg.range_add(dp_pg.tally_state, %1$s, dp_pg.tally_spec)
			FROM PUBLIC;
			CREATE AGGREGATE dp_pg.range_counts(%1$s, dp_pg.tally_spec) (
				sfunc = dp_pg.range_add, stype = dp_pg.tally_state,
				combinefunc = dp_pg.tally_combine, parallel = safe
			);
			COMMENT ON AGGREGATE dp_pg.range_counts(%1$s, dp_pg.tally_spec) IS
			'exact number of rows in each range of dp_pg.magnitude; used only within private queries';
		$sql$, t, (ARRAY['int8', 'float8', 'numeric'])[i]);
	END LOOP;
	CREATE FUNCTION dp_pg.final_bounds(internal) RETURNS numeric[]
	LANGUAGE c AS 'MODULE_PATHNAME', 'dp_aggregate_bounds';
	COMMENT ON FUNCTION dp_pg.final_bounds(internal) IS
	'raises 55000 unless the planner hook replaced dp_bounds';
	-- an argument of any number type is read without its cast to double precision
	FOREACH signature IN ARRAY ARRAY['double precision',
									 'double precision, double precision'] LOOP
		EXECUTE pg_catalog.format($sql$
			CREATE AGGREGATE @extschema@.dp_bounds(%1$s) (
				sfunc = dp_pg.skip, stype = internal,
				finalfunc = dp_pg.final_bounds
			);
			COMMENT ON AGGREGATE @extschema@.dp_bounds(%1$s) IS
			'private bounds of expr, {lower, upper}, to within a factor of two: the rows in each range between powers of two are counted with discrete Laplace noise of scale 1 / epsilon, and the bounds enclose the ranges whose count noise alone would not explain; for dp_sum and similar aggregates where no bounds are declared; NULL and NaN are skipped; epsilon is dp_pg.epsilon by default; NULL when no range has enough rows; 22023 for a bad epsilon, 53400 when the budget is exhausted; Dwork and Roth, Theorem 3.6';
		$sql$, signature);
	END LOOP;
END
$make$;
