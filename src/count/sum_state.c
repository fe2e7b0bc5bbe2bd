/*
 * sum_state.c
 *	  The fused clamp-and-sum aggregate of the inner query.
 *
 * dp_pg.bounded_sum(x, spec) puts each row on the public grid of its spec,
 * clamps it, and adds: the state is the number of rows that counted and the
 * exact sum of their granules in 128 bits.  Integer addition is associative,
 * so every plan (parallel, hashed, reordered) ends with the same state, and
 * one row moves it by a bounded amount, exactly (doc/theory.md T40).
 *
 * Representation.  sum_state is a flat fixed-length type updated in place;
 * sum_spec is a constant that only dp_count_sum_spec builds (its input
 * function refuses).  Both hold 8-byte aligned words only.
 *
 * Per row: NULL and NaN are skipped; infinities clamp; the result depends on
 * the row alone.  The functions are not strict, because the executor's test
 * of all arguments costs more than ours of one.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "parser/parse_func.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"
#include "utils/syscache.h"

#include "dp_count.h"
#include "dp_granule.h"

static pg_noinline void
check_call_site(FunctionCallInfo fcinfo)
{
	dp_bridge_check_call_site(fcinfo, !PG_ARGISNULL(0) &&
							  !PG_ARGISNULL(PG_NARGS() - 1),
							  "dp_pg.bounded_sum", "Use dp_sum or dp_avg.");
}

static inline dp_sum_state *
state_argument(FunctionCallInfo fcinfo)
{
	if (unlikely(fcinfo->flinfo->fn_extra == NULL))
		check_call_site(fcinfo);
	return (dp_sum_state *) PG_GETARG_POINTER(0);
}

static inline void
add_float(dp_sum_state *state, const dp_sum_spec *spec, float8 x)
{
	if (likely(!isnan(x)))
		dp_sum_state_add(state, granules_of_float(spec, x));
}

PG_FUNCTION_INFO_V1(dp_sum_add_int2);
PG_FUNCTION_INFO_V1(dp_sum_add_int4);
PG_FUNCTION_INFO_V1(dp_sum_add_int8);
PG_FUNCTION_INFO_V1(dp_sum_add_float4);
PG_FUNCTION_INFO_V1(dp_sum_add_float8);
PG_FUNCTION_INFO_V1(dp_sum_add_numeric);
PG_FUNCTION_INFO_V1(dp_sum_combine);
PG_FUNCTION_INFO_V1(dp_sum_state_in);
PG_FUNCTION_INFO_V1(dp_sum_state_out);
PG_FUNCTION_INFO_V1(dp_sum_spec_in);
PG_FUNCTION_INFO_V1(dp_sum_spec_out);

/* dp_sum_add_*: transition functions (state, x, spec) -> state, in place. */
Datum
dp_sum_add_int2(PG_FUNCTION_ARGS)
{
	dp_sum_state *state = state_argument(fcinfo);
	dp_sum_spec *spec = (dp_sum_spec *) PG_GETARG_POINTER(2);

	if (!PG_ARGISNULL(1))
		dp_sum_state_add(state, granules_of_integer(spec, PG_GETARG_INT16(1)));
	PG_RETURN_POINTER(state);
}

Datum
dp_sum_add_int4(PG_FUNCTION_ARGS)
{
	dp_sum_state *state = state_argument(fcinfo);
	dp_sum_spec *spec = (dp_sum_spec *) PG_GETARG_POINTER(2);

	if (!PG_ARGISNULL(1))
		dp_sum_state_add(state, granules_of_integer(spec, PG_GETARG_INT32(1)));
	PG_RETURN_POINTER(state);
}

Datum
dp_sum_add_int8(PG_FUNCTION_ARGS)
{
	dp_sum_state *state = state_argument(fcinfo);
	dp_sum_spec *spec = (dp_sum_spec *) PG_GETARG_POINTER(2);

	if (!PG_ARGISNULL(1))
		dp_sum_state_add(state, granules_of_integer(spec, PG_GETARG_INT64(1)));
	PG_RETURN_POINTER(state);
}

Datum
dp_sum_add_float4(PG_FUNCTION_ARGS)
{
	dp_sum_state *state = state_argument(fcinfo);
	dp_sum_spec *spec = (dp_sum_spec *) PG_GETARG_POINTER(2);

	if (!PG_ARGISNULL(1))
		add_float(state, spec, PG_GETARG_FLOAT4(1));
	PG_RETURN_POINTER(state);
}

Datum
dp_sum_add_float8(PG_FUNCTION_ARGS)
{
	dp_sum_state *state = state_argument(fcinfo);
	dp_sum_spec *spec = (dp_sum_spec *) PG_GETARG_POINTER(2);

	if (!PG_ARGISNULL(1))
		add_float(state, spec, PG_GETARG_FLOAT8(1));
	PG_RETURN_POINTER(state);
}

static dp_numeric_bounds *
bounds_of(FunctionCallInfo fcinfo, const dp_sum_spec *spec)
{
	dp_numeric_bounds *cached = fcinfo->flinfo->fn_extra;
	MemoryContext old;

	if (likely(cached != NULL))
		return cached;
	check_call_site(fcinfo);
	old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	cached = palloc(sizeof(dp_numeric_bounds));
	*cached = numeric_bounds(spec);
	fcinfo->flinfo->fn_extra = cached;
	MemoryContextSwitchTo(old);
	return cached;
}

/* dp_sum_add_numeric: the same for numeric. */
Datum
dp_sum_add_numeric(PG_FUNCTION_ARGS)
{
	dp_sum_state *state = (dp_sum_state *) PG_GETARG_POINTER(0);
	dp_sum_spec *spec = (dp_sum_spec *) PG_GETARG_POINTER(2);
	dp_numeric_bounds *bounds = bounds_of(fcinfo, spec);
	Numeric		x;

	if (PG_ARGISNULL(1))
		PG_RETURN_POINTER(state);
	x = PG_GETARG_NUMERIC(1);
	if (!numeric_is_nan(x))
		dp_sum_state_add(state, granules_of_numeric(spec, bounds, x));
	PG_RETURN_POINTER(state);
}

/* dp_sum_combine: states add; used by parallel and partitionwise plans. */
Datum
dp_sum_combine(PG_FUNCTION_ARGS)
{
	dp_sum_state *a = state_argument(fcinfo);
	dp_sum_state *b = (dp_sum_state *) PG_GETARG_POINTER(1);

	dp_sum_state_merge(a, b);
	PG_RETURN_POINTER(a);
}

/* dp_sum_state_in: only the empty text, the aggregate's initial state. */
Datum
dp_sum_state_in(PG_FUNCTION_ARGS)
{
	if (PG_GETARG_CSTRING(0)[0] != '\0')
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot accept a value of type %s",
						"dp_pg.sum_state")));
	PG_RETURN_POINTER(palloc0(sizeof(dp_sum_state)));
}

/* dp_sum_state_out: refuses with 0A000; a state is an exact private value. */
Datum
dp_sum_state_out(PG_FUNCTION_ARGS)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot display a value of type %s", "dp_pg.sum_state")));
	PG_RETURN_NULL();
}

/* dp_sum_spec_in: refuses with 0A000; see dp_count_sum_spec. */
Datum
dp_sum_spec_in(PG_FUNCTION_ARGS)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot accept a value of type %s", "dp_pg.sum_spec")));
	PG_RETURN_NULL();
}

/* dp_sum_spec_out: a stand-in, should a plan be printed. */
Datum
dp_sum_spec_out(PG_FUNCTION_ARGS)
{
	PG_RETURN_CSTRING(pstrdup("(bounds)"));
}

/* ---- for the release ---- */

/* dp_count_sum_type: OID of dp_pg.sum_state. */
Oid
dp_count_sum_type(void)
{
	return dp_catalog_type("sum_state");
}

/* dp_count_sum_spec: the grid as a constant of the inner query. */
Const *
dp_count_sum_spec(const dp_grid *grid)
{
	dp_sum_spec *spec = palloc0(sizeof(dp_sum_spec));

	spec->low = grid->low;
	spec->high = grid->high;
	spec->low_float = (float8) grid->low;
	spec->high_float = (float8) grid->high;
	spec->factor = ldexp(1.0, -grid->exponent);
	spec->exponent = grid->exponent;
	return makeConst(dp_catalog_type("sum_spec"), -1, InvalidOid,
					 sizeof(dp_sum_spec), PointerGetDatum(spec), false,
					 false);
}

/* dp_count_sum_function: dp_pg.bounded_sum for the argument's type. */
Oid
dp_count_sum_function(Oid argument_type)
{
	Oid			types[2];

	types[0] = argument_type;
	types[1] = dp_catalog_type("sum_spec");
	return LookupFuncName(list_make2(makeString("dp_pg"),
									 makeString("bounded_sum")),
						  2, types, false);
}

/*
 * dp_count_load_sum
 *	  Add an inner sum_state (never NULL: the aggregate starts at zero).
 */
void
dp_count_load_sum(const Datum *values, const bool *nulls, dp_cell *rows,
					dp_cell *sum)
{
	const dp_sum_state *state;

	if (nulls[0])
		return;
	state = (const dp_sum_state *) DatumGetPointer(values[0]);
	rows->integer += state->rows;
	sum->integer += ((dp_int128) state->sum_high << 64) | state->sum_low;
}

/*
 * dp_count_bounded_sum
 *	  dp_pg.bounded_sum(argument, grid), and no other; the argument is of this
 *	  base type.
 */
List *
dp_count_bounded_sum(const Aggref *asked, Oid type, const dp_grid *grid)
{
	TargetEntry *argument = linitial(asked->args);
	Const	   *spec = dp_count_sum_spec(grid);
	Oid			function = dp_count_sum_function(type);

	return list_make1(dp_count_native(asked, function, dp_count_sum_type(),
									  list_make2(argument->expr, spec)));
}
