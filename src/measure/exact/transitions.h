/*
 * transitions.h
 *	  Transition functions (state, x, spec) -> state of an exact aggregate over
 *	  numbers, in place, one for each type: shared by bounded_sum,
 *	  bounded_squares and grid_counts.
 *
 * The file of an aggregate includes this once, defines
 *
 *	  check_call_site(fcinfo)			raises unless the inner query calls
 *	  skip_row(fcinfo)					the state: the row is not counted
 *	  count_row(fcinfo, spec, granules)	the state, with the row
 *
 * and names its functions with DP_NUMBER_TRANSITIONS(prefix).  If x is not the
 * second argument, it defines VALUE_ARGUMENT before.
 *
 * NULL and NaN are skipped; infinities are clamped; what a row adds depends
 * only on the row.  The functions are not strict, because the executor's test
 * of all arguments costs more than our test of one.
 */
#ifndef DP_COUNT_TRANSITIONS_H
#define DP_COUNT_TRANSITIONS_H

#include "dp_to_grid.h"

#ifndef VALUE_ARGUMENT
#define VALUE_ARGUMENT 1
#endif

static void check_call_site(FunctionCallInfo fcinfo);
static inline Datum skip_row(FunctionCallInfo fcinfo);
static inline Datum count_row(FunctionCallInfo fcinfo,
							  const dp_sum_spec *spec, int64 granules);

static inline const dp_sum_spec *
grid_argument(FunctionCallInfo fcinfo)
{
	return (const dp_sum_spec *) PG_GETARG_POINTER(VALUE_ARGUMENT + 1);
}

static inline const dp_sum_spec *
checked_grid(FunctionCallInfo fcinfo)
{
	if (unlikely(fcinfo->flinfo->fn_extra == NULL))
		check_call_site(fcinfo);
	return grid_argument(fcinfo);
}

/* A call site of numeric keeps the bounds in fn_extra. */
static pg_noinline const dp_numeric_bounds *
make_bounds(FunctionCallInfo fcinfo)
{
	MemoryContext old;
	dp_numeric_bounds *bounds;

	check_call_site(fcinfo);
	old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	bounds = palloc(sizeof(dp_numeric_bounds));
	*bounds = numeric_bounds(grid_argument(fcinfo));
	fcinfo->flinfo->fn_extra = bounds;
	MemoryContextSwitchTo(old);
	return bounds;
}

static Datum
add_numeric(FunctionCallInfo fcinfo)
{
	const dp_numeric_bounds *bounds = fcinfo->flinfo->fn_extra;
	const dp_sum_spec *spec;
	Numeric		x;

	if (unlikely(bounds == NULL))
		bounds = make_bounds(fcinfo);
	if (PG_ARGISNULL(VALUE_ARGUMENT))
		return skip_row(fcinfo);
	x = PG_GETARG_NUMERIC(VALUE_ARGUMENT);
	if (numeric_is_nan(x))
		return skip_row(fcinfo);
	spec = grid_argument(fcinfo);
	return count_row(fcinfo, spec, granules_of_numeric(spec, bounds, x));
}

#define DP_INTEGER_TRANSITION(name, get) \
	PG_FUNCTION_INFO_V1(name); \
	Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		const dp_sum_spec *spec = checked_grid(fcinfo); \
		\
		if (PG_ARGISNULL(VALUE_ARGUMENT)) \
			return skip_row(fcinfo); \
		return count_row(fcinfo, spec, \
						 granules_of_integer(spec, get(VALUE_ARGUMENT))); \
	}

#define DP_FLOAT_TRANSITION(name, get) \
	PG_FUNCTION_INFO_V1(name); \
	Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		const dp_sum_spec *spec = checked_grid(fcinfo); \
		\
		if (PG_ARGISNULL(VALUE_ARGUMENT) || isnan(get(VALUE_ARGUMENT))) \
			return skip_row(fcinfo); \
		return count_row(fcinfo, spec, \
						 granules_of_float(spec, get(VALUE_ARGUMENT))); \
	}

#define DP_NUMBER_TRANSITIONS(prefix) \
	DP_INTEGER_TRANSITION(prefix##_int2, PG_GETARG_INT16) \
	DP_INTEGER_TRANSITION(prefix##_int4, PG_GETARG_INT32) \
	DP_INTEGER_TRANSITION(prefix##_int8, PG_GETARG_INT64) \
	DP_FLOAT_TRANSITION(prefix##_float4, PG_GETARG_FLOAT4) \
	DP_FLOAT_TRANSITION(prefix##_float8, PG_GETARG_FLOAT8) \
	PG_FUNCTION_INFO_V1(prefix##_numeric); \
	Datum \
	prefix##_numeric(PG_FUNCTION_ARGS) \
	{ \
		return add_numeric(fcinfo); \
	}

#endif							/* DP_COUNT_TRANSITIONS_H */
