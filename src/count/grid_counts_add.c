/*
 * grid_counts_add.c
 *	  dp_pg.grid_counts(x, spec) as PostgreSQL calls it: one transition for
 *	  each type, and the steps of parallel plans.
 *
 * A row counts at clamp(floor(x / granule + 1/2)); NULL and NaN count nowhere,
 * infinities clamp.  What a row adds depends on the row alone.  The functions
 * are not strict, because the executor's test of all arguments costs more
 * than ours of one.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "parser/parse_func.h"
#include "utils/date.h"
#include "utils/timestamp.h"

#include "dp_granule.h"
#include "grid_counts.h"

static pg_noinline void
check_call_site(FunctionCallInfo fcinfo)
{
	dp_bridge_check_call_site(fcinfo, !PG_ARGISNULL(2), "dp_pg.grid_counts",
							  "Use dp_quantile or dp_median.");
}

static inline const dp_sum_spec *
spec_argument(FunctionCallInfo fcinfo)
{
	if (unlikely(fcinfo->flinfo->fn_extra == NULL))
		check_call_site(fcinfo);
	return (const dp_sum_spec *) PG_GETARG_POINTER(2);
}

static pg_noinline dp_grid_counts *
first_state(FunctionCallInfo fcinfo, const dp_sum_spec *spec)
{
	MemoryContext context;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "counting outside an aggregate");
	return dp_counts_new(context, (uint32) (spec->high - spec->low + 1));
}

/* Counts one row; answers the state. */
static inline Datum
count_row(FunctionCallInfo fcinfo, const dp_sum_spec *spec, int64 granules)
{
	uint32		cell = (uint32) (granules - spec->low);
	dp_grid_counts *state;

	if (unlikely(PG_ARGISNULL(0)))
		state = first_state(fcinfo, spec);
	else
		state = (dp_grid_counts *) PG_GETARG_POINTER(0);
	if (likely(state->form == DP_COUNTS_DENSE && cell < state->cells &&
			   state->dense[cell] != PG_UINT32_MAX))
		state->dense[cell]++;
	else
		dp_counts_add_rows(state, cell, 1);
	PG_RETURN_POINTER(state);
}

/* The state as it is: the row counts nowhere. */
static inline Datum
skip_row(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	return PG_GETARG_DATUM(0);
}

PG_FUNCTION_INFO_V1(dp_counts_add_int2);
PG_FUNCTION_INFO_V1(dp_counts_add_int4);
PG_FUNCTION_INFO_V1(dp_counts_add_int8);
PG_FUNCTION_INFO_V1(dp_counts_add_float4);
PG_FUNCTION_INFO_V1(dp_counts_add_float8);
PG_FUNCTION_INFO_V1(dp_counts_add_numeric);
PG_FUNCTION_INFO_V1(dp_counts_add_date);
PG_FUNCTION_INFO_V1(dp_counts_add_timestamp);
PG_FUNCTION_INFO_V1(dp_counts_combine);
PG_FUNCTION_INFO_V1(dp_counts_save);
PG_FUNCTION_INFO_V1(dp_counts_load);

/*
 * dp_counts_add_*: transition functions (state, x, spec) -> state, in place.
 * Infinite dates and timestamps are the least and greatest integers, and so
 * clamp.
 */
#define ADD_INTEGER(name, get) \
	Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		const dp_sum_spec *spec = spec_argument(fcinfo); \
		\
		if (PG_ARGISNULL(1)) \
			return skip_row(fcinfo); \
		return count_row(fcinfo, spec, granules_of_integer(spec, get(1))); \
	}

#define ADD_FLOAT(name, get) \
	Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		const dp_sum_spec *spec = spec_argument(fcinfo); \
		\
		if (PG_ARGISNULL(1) || isnan(get(1))) \
			return skip_row(fcinfo); \
		return count_row(fcinfo, spec, granules_of_float(spec, get(1))); \
	}

ADD_INTEGER(dp_counts_add_int2, PG_GETARG_INT16)
ADD_INTEGER(dp_counts_add_int4, PG_GETARG_INT32)
ADD_INTEGER(dp_counts_add_int8, PG_GETARG_INT64)
ADD_INTEGER(dp_counts_add_date, PG_GETARG_DATEADT)
ADD_INTEGER(dp_counts_add_timestamp, PG_GETARG_TIMESTAMP)
ADD_FLOAT(dp_counts_add_float4, PG_GETARG_FLOAT4)
ADD_FLOAT(dp_counts_add_float8, PG_GETARG_FLOAT8)

static const dp_numeric_bounds *
bounds_of(FunctionCallInfo fcinfo)
{
	dp_numeric_bounds *cached = fcinfo->flinfo->fn_extra;
	MemoryContext old;

	if (likely(cached != NULL))
		return cached;
	check_call_site(fcinfo);
	fcinfo->flinfo->fn_extra = NULL;
	old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	cached = palloc(sizeof(dp_numeric_bounds));
	*cached = numeric_bounds((dp_sum_spec *) PG_GETARG_POINTER(2));
	fcinfo->flinfo->fn_extra = cached;
	MemoryContextSwitchTo(old);
	return cached;
}

/* dp_counts_add_numeric: the same for numeric. */
Datum
dp_counts_add_numeric(PG_FUNCTION_ARGS)
{
	const dp_numeric_bounds *bounds = bounds_of(fcinfo);
	const dp_sum_spec *spec = (const dp_sum_spec *) PG_GETARG_POINTER(2);
	Numeric		x;

	if (PG_ARGISNULL(1))
		return skip_row(fcinfo);
	x = PG_GETARG_NUMERIC(1);
	if (numeric_is_nan(x))
		return skip_row(fcinfo);
	return count_row(fcinfo, spec, granules_of_numeric(spec, bounds, x));
}

/*
 * dp_counts_combine: counts add; used by parallel and partitionwise plans.
 * The second state may be read only and short-lived.
 */
Datum
dp_counts_combine(PG_FUNCTION_ARGS)
{
	dp_grid_counts *state;
	dp_grid_counts *other;
	MemoryContext context;

	dp_bridge_require_aggregate(fcinfo, &context);
	if (PG_ARGISNULL(1))
		return skip_row(fcinfo);
	other = (dp_grid_counts *) PG_GETARG_POINTER(1);
	if (PG_ARGISNULL(0))
		state = dp_counts_new(context, other->cells);
	else
		state = (dp_grid_counts *) PG_GETARG_POINTER(0);
	dp_counts_add_all(state, other);
	PG_RETURN_POINTER(state);
}

/* dp_counts_save: a state as bytea, for another process or the release. */
Datum
dp_counts_save(PG_FUNCTION_ARGS)
{
	PG_RETURN_BYTEA_P(dp_counts_save_state((dp_grid_counts *)
										   PG_GETARG_POINTER(0)));
}

/* dp_counts_load: the inverse of dp_counts_save. */
Datum
dp_counts_load(PG_FUNCTION_ARGS)
{
	dp_bridge_require_aggregate(fcinfo, NULL);
	PG_RETURN_POINTER(dp_counts_load_state(PG_GETARG_DATUM(0)));
}

/* dp_counts_inner: dp_pg.grid_counts(argument, grid), and no other. */
List *
dp_counts_inner(const Aggref *asked, Oid type, const dp_grid *grid)
{
	TargetEntry *argument = linitial(asked->args);
	Const	   *spec = dp_count_sum_spec(grid);
	Oid			types[2];
	Oid			function;

	types[0] = type;
	types[1] = spec->consttype;
	function = LookupFuncName(list_make2(makeString("dp_pg"),
										 makeString("grid_counts")),
							  2, types, false);
	return list_make1(dp_count_native(asked, function, BYTEAOID,
									  list_make2(argument->expr, spec)));
}
