/*
 * grid_counts_add.c
 *	  dp_pg.grid_counts(x, spec) as PostgreSQL calls it: one transition for
 *	  each type, and the steps of parallel plans.
 *
 * A row counts at clamp(floor(x / granule + 1/2)).
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/date.h"
#include "utils/timestamp.h"

#include "grid_counts.h"
#include "transitions.h"

static pg_noinline void
check_call_site(FunctionCallInfo fcinfo)
{
	dp_bridge_check_call_site(fcinfo, !PG_ARGISNULL(2), "dp_pg.grid_counts",
							  "Use dp_quantile, dp_median, dp_min or "
							  "dp_max.");
}

static pg_noinline dp_grid_counts *
first_state(FunctionCallInfo fcinfo, const dp_sum_spec *spec)
{
	MemoryContext context;

	dp_bridge_require_aggregate(fcinfo, &context);
	return dp_count_grid_new(context, (uint32) (spec->high - spec->low + 1));
}

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
		dp_count_grid_add_rows(state, cell, 1);
	PG_RETURN_POINTER(state);
}

static inline Datum
skip_row(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	return PG_GETARG_DATUM(0);
}

/*
 * dp_counts_add_*: transition functions (state, x, spec) -> state, in place.
 * Infinite dates and timestamps are the smallest and largest integers, and so
 * are clamped.
 */
DP_NUMBER_TRANSITIONS(dp_counts_add)
DP_INTEGER_TRANSITION(dp_counts_add_date, PG_GETARG_DATEADT)
DP_INTEGER_TRANSITION(dp_counts_add_timestamp, PG_GETARG_TIMESTAMP)

PG_FUNCTION_INFO_V1(dp_counts_combine);
PG_FUNCTION_INFO_V1(dp_counts_save);
PG_FUNCTION_INFO_V1(dp_counts_load);

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
		state = dp_count_grid_new(context, other->cells);
	else
		state = (dp_grid_counts *) PG_GETARG_POINTER(0);
	dp_count_grid_add_all(state, other);
	PG_RETURN_POINTER(state);
}

/* dp_counts_save: a state as bytea, for another process or the release. */
Datum
dp_counts_save(PG_FUNCTION_ARGS)
{
	PG_RETURN_BYTEA_P(dp_count_grid_save_state((dp_grid_counts *)
											   PG_GETARG_POINTER(0)));
}

/* dp_counts_load: the inverse of dp_counts_save. */
Datum
dp_counts_load(PG_FUNCTION_ARGS)
{
	dp_bridge_require_aggregate(fcinfo, NULL);
	PG_RETURN_POINTER(dp_count_grid_load_state(PG_GETARG_DATUM(0)));
}

/*
 * dp_count_grid_inner: the single aggregate dp_pg.grid_counts(argument, grid).
 */
List *
dp_count_grid_inner(const Aggref *asked, Oid type, const dp_grid *grid)
{
	return dp_count_exact(asked, "grid_counts", type, dp_count_sum_spec(grid),
						  BYTEAOID);
}
