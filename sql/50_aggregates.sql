-- The analyst's aggregates, and the exact aggregate behind sums and means.

-- ---------------------------------------------------------------------------
-- Exact clamp-and-sum, used inside private queries only.
-- ---------------------------------------------------------------------------

CREATE TYPE dp_pg.sum_state;
CREATE FUNCTION dp_pg.sum_state_in(cstring) RETURNS dp_pg.sum_state
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_sum_state_in';
CREATE FUNCTION dp_pg.sum_state_out(dp_pg.sum_state) RETURNS cstring
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_sum_state_out';
CREATE TYPE dp_pg.sum_state (
	input = dp_pg.sum_state_in, output = dp_pg.sum_state_out,
	internallength = 24, alignment = double, storage = plain
);
COMMENT ON TYPE dp_pg.sum_state IS
'state of dp_pg.bounded_sum: number of rows counted and exact 128-bit sum';

CREATE TYPE dp_pg.sum_spec;
CREATE FUNCTION dp_pg.sum_spec_in(cstring) RETURNS dp_pg.sum_spec
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_sum_spec_in';
CREATE FUNCTION dp_pg.sum_spec_out(dp_pg.sum_spec) RETURNS cstring
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_sum_spec_out';
CREATE TYPE dp_pg.sum_spec (
	input = dp_pg.sum_spec_in, output = dp_pg.sum_spec_out,
	internallength = 48, alignment = double, storage = plain
);
COMMENT ON TYPE dp_pg.sum_spec IS
'bounds and granule of dp_pg.bounded_sum; made by the extension only';

COMMENT ON FUNCTION dp_pg.sum_state_in(cstring) IS 'accepts the empty text';
COMMENT ON FUNCTION dp_pg.sum_state_out(dp_pg.sum_state) IS 'raises 0A000';
COMMENT ON FUNCTION dp_pg.sum_spec_in(cstring) IS 'raises 0A000';
COMMENT ON FUNCTION dp_pg.sum_spec_out(dp_pg.sum_spec) IS
'a fixed text';

CREATE FUNCTION dp_pg.sum_combine(dp_pg.sum_state, dp_pg.sum_state)
RETURNS dp_pg.sum_state
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_sum_combine';
COMMENT ON FUNCTION dp_pg.sum_combine(dp_pg.sum_state, dp_pg.sum_state) IS
'adds two states; only within an aggregate';

CREATE FUNCTION dp_pg.sum_add(dp_pg.sum_state, smallint, dp_pg.sum_spec)
RETURNS dp_pg.sum_state
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_sum_add_int2';
CREATE FUNCTION dp_pg.sum_add(dp_pg.sum_state, integer, dp_pg.sum_spec)
RETURNS dp_pg.sum_state
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_sum_add_int4';
CREATE FUNCTION dp_pg.sum_add(dp_pg.sum_state, bigint, dp_pg.sum_spec)
RETURNS dp_pg.sum_state
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_sum_add_int8';
CREATE FUNCTION dp_pg.sum_add(dp_pg.sum_state, real, dp_pg.sum_spec)
RETURNS dp_pg.sum_state
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_sum_add_float4';
CREATE FUNCTION dp_pg.sum_add(dp_pg.sum_state, double precision, dp_pg.sum_spec)
RETURNS dp_pg.sum_state
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_sum_add_float8';
CREATE FUNCTION dp_pg.sum_add(dp_pg.sum_state, numeric, dp_pg.sum_spec)
RETURNS dp_pg.sum_state
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_sum_add_numeric';

DO $make$
DECLARE
	t text;
BEGIN
	FOREACH t IN ARRAY ARRAY['smallint', 'integer', 'bigint', 'real',
							 'double precision', 'numeric']
	LOOP
		EXECUTE pg_catalog.format($sql$
			CREATE AGGREGATE dp_pg.bounded_sum(%1$s, dp_pg.sum_spec) (
				sfunc = dp_pg.sum_add, stype = dp_pg.sum_state,
				initcond = '', combinefunc = dp_pg.sum_combine,
				parallel = safe
			);
			COMMENT ON AGGREGATE dp_pg.bounded_sum(%1$s, dp_pg.sum_spec) IS
			'exact sum of values clamped to a grid; NULL and NaN are skipped; used only within private queries';
			COMMENT ON FUNCTION dp_pg.sum_add(dp_pg.sum_state, %1$s, dp_pg.sum_spec) IS
			'adds a value, clamped and rounded to the grid; only within an aggregate';
		$sql$, t);
	END LOOP;
END
$make$;

-- ---------------------------------------------------------------------------
-- dp_count, dp_sum, dp_avg
--
-- Ordinary aggregates to clients and catalogs; the planner hook replaces them.
-- Executed without it, their final functions raise an error.
--
-- Bounds and prices are double precision: what is written as numeric or integer
-- is read without that cast, a double by its shortest decimal.  Aggregates have
-- no default arguments, so most have VARIADIC double precision[] for all forms
-- with parameters; how many there may be is checked where the call is read.
-- dp_sum and dp_avg do not: PostgreSQL prints a view's DISTINCT beside VARIADIC,
-- but does not read it.
-- ---------------------------------------------------------------------------

DO $make$
DECLARE
	arguments text := 'internal';
BEGIN
	FOR i IN 0 .. 5 LOOP
		EXECUTE pg_catalog.format($sql$
			CREATE FUNCTION dp_pg.skip(%1$s) RETURNS internal
			LANGUAGE c AS 'MODULE_PATHNAME', 'dp_aggregate_skip';
			COMMENT ON FUNCTION dp_pg.skip(%1$s) IS
			'transition function of the private aggregates: keeps no state';
		$sql$, arguments);
		arguments := arguments OPERATOR(pg_catalog.||) ', "any"';
	END LOOP;
END
$make$;

CREATE FUNCTION dp_pg.final_count(internal) RETURNS bigint
LANGUAGE c AS 'MODULE_PATHNAME', 'dp_aggregate_count';
COMMENT ON FUNCTION dp_pg.final_count(internal) IS
'raises 55000 unless the planner hook replaced dp_count';

DO $make$
DECLARE
	kind text;
	result text;
	argument text;
	signature text;
	final text;
	types CONSTANT text[] := ARRAY['smallint', 'integer', 'bigint', 'real',
								   'double precision', 'numeric'];
	sums CONSTANT text[] := ARRAY['bigint', 'bigint', 'numeric', 'real',
								  'double precision', 'numeric'];
	means CONSTANT text[] := ARRAY['numeric', 'numeric', 'numeric',
								   'double precision', 'double precision',
								   'numeric'];
	comments CONSTANT text[] := ARRAY[
		'dp_sum(expr [, lower, upper] [, epsilon]): private sum of expr; every row counts with its value clamped to [lower, upper], NULL and NaN are skipped; discrete Laplace noise of scale max(|lower|, |upper|) / epsilon; without bounds the declared or inferred ones, epsilon is dp_pg.epsilon by default; result as sum(expr), bigint saturates, never NULL; 22023 for a bad parameter, 53400 when the budget is exhausted; Dwork and Roth, Definition 3.3',
		'dp_avg(expr [, lower, upper] [, epsilon]): private mean of expr; every row counts with its value clamped to [lower, upper], NULL and NaN are skipped; two sums with discrete Laplace noise of scale (upper - lower) / epsilon each; without bounds the declared or inferred ones, epsilon is dp_pg.epsilon by default; result as avg(expr), within the bounds, NULL when the released number of rows is not positive; 22023 for a bad parameter, 53400 when the budget is exhausted; Dwork and Roth, Definition 3.3'];
BEGIN
	-- dp_count(*), dp_count(expr [, epsilon])
	FOREACH signature IN ARRAY ARRAY['*', '"any"', '"any", double precision']
	LOOP
		EXECUTE pg_catalog.format($sql$
			CREATE AGGREGATE @extschema@.dp_count(%1$s) (
				sfunc = dp_pg.skip, stype = internal,
				finalfunc = dp_pg.final_count
			);
			COMMENT ON AGGREGATE @extschema@.dp_count(%1$s) IS
			'private number of rows, or of non-NULL values of an expression; discrete Laplace noise of scale 1 / epsilon; epsilon is dp_pg.epsilon by default; bigint, may be negative, never NULL; 22023 for a bad parameter, 53400 when the budget is exhausted; Dwork and Roth, Theorem 3.6; dp_count(DISTINCT expr): number of distinct values, from 0 to V where V of them are public, then also measured as how many of these enough units have, where public numbers say that this errs less (EXPLAIN: presence of V values; theory T162)';
		$sql$, signature);
	END LOOP;

	-- dp_sum and dp_avg (expr [, lower, upper] [, epsilon])
	FOREACH kind IN ARRAY ARRAY['sum', 'avg'] LOOP
		FOREACH result IN ARRAY ARRAY['bigint', 'numeric', 'real',
									  'double precision'] LOOP
			final := pg_catalog.format('dp_pg.final_%s_%s', kind,
				pg_catalog.replace(result, ' ', '_'));
			EXECUTE pg_catalog.format($sql$
				CREATE FUNCTION %1$s(internal) RETURNS %2$s
				LANGUAGE c AS 'MODULE_PATHNAME', 'dp_aggregate_%3$s';
				COMMENT ON FUNCTION %1$s(internal) IS
				'raises 55000 unless the planner hook replaced dp_%3$s';
			$sql$, final, result, kind);
		END LOOP;
		FOR i IN 1 .. pg_catalog.array_length(types, 1) LOOP
			argument := types[i];
			result := CASE kind WHEN 'sum' THEN sums[i] ELSE means[i] END;
			final := pg_catalog.format('dp_pg.final_%s_%s', kind,
				pg_catalog.replace(result, ' ', '_'));
			FOR n IN 0 .. 3 LOOP
				signature := argument OPERATOR(pg_catalog.||)
					pg_catalog.repeat(', double precision', n);
				EXECUTE pg_catalog.format($sql$
					CREATE AGGREGATE @extschema@.dp_%1$s(%2$s) (
						sfunc = dp_pg.skip, stype = internal,
						finalfunc = %3$s
					);
					COMMENT ON AGGREGATE @extschema@.dp_%1$s(%2$s) IS %4$L;
				$sql$, kind, signature, final,
					CASE kind WHEN 'sum' THEN comments[1]
						ELSE comments[2] END);
			END LOOP;
		END LOOP;
	END LOOP;
END
$make$;
