/*
 * sum_state.c
 *	  The fused clamp-and-sum aggregate of the inner query.
 *
 * dp_pg.bounded_sum(x, spec) puts each row on the public grid of its spec,
 * clamps it, and adds: the state is the number of rows that counted and the
 * exact sum of their granules in 128 bits.  Integer addition is associative,
 * so every plan (parallel, hashed, reordered) gives the same state, and one
 * row changes it by a bounded amount, exactly (doc/theory.md T40).
 *
 * Representation.  sum_state is a flat fixed-length type updated in place;
 * sum_spec is a constant that only dp_exact_sum_spec builds (its input
 * function refuses).  Both hold 8-byte aligned words only.
 *
 * What a row adds is in transitions.h.
 */
#include "postgres.h"

#include "fmgr.h"
#include "nodes/makefuncs.h"

#include "../../math/noise/dp_noise.h"
#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "dp_exact.h"
#include "dp_to_grid.h"
#include "exact_internal.h"
#include "transitions.h"

static pg_noinline void
check_call_site(FunctionCallInfo fcinfo)
{
	dp_base_check_call_site(fcinfo, !PG_ARGISNULL(0) &&
							!PG_ARGISNULL(PG_NARGS() - 1),
							"dp_pg.bounded_sum", "Use dp_sum or dp_avg.");
}

static inline Datum
skip_row(FunctionCallInfo fcinfo)
{
	return PG_GETARG_DATUM(0);
}

static inline Datum
count_row(FunctionCallInfo fcinfo, const dp_sum_spec *spec, int64 granules)
{
	dp_sum_state_add((dp_sum_state *) PG_GETARG_POINTER(0), granules);
	return PG_GETARG_DATUM(0);
}

/* dp_sum_add_*: transition functions (state, x, spec) -> state, in place. */
DP_NUMBER_TRANSITIONS(dp_sum_add)

PG_FUNCTION_INFO_V1(dp_sum_combine);
PG_FUNCTION_INFO_V1(dp_sum_state_in);
PG_FUNCTION_INFO_V1(dp_sum_state_out);
PG_FUNCTION_INFO_V1(dp_sum_spec_in);
PG_FUNCTION_INFO_V1(dp_sum_spec_out);

/* dp_sum_combine: states add; used by parallel and partitionwise plans. */
Datum
dp_sum_combine(PG_FUNCTION_ARGS)
{
	if (unlikely(fcinfo->flinfo->fn_extra == NULL))
		check_call_site(fcinfo);
	dp_sum_state_merge((dp_sum_state *) PG_GETARG_POINTER(0),
					   (const dp_sum_state *) PG_GETARG_POINTER(1));
	return PG_GETARG_DATUM(0);
}

/* dp_sum_state_in: only the empty text, the aggregate's initial state. */
Datum
dp_sum_state_in(PG_FUNCTION_ARGS)
{
	if (PG_GETARG_CSTRING(0)[0] != '\0')
		dp_base_forbid_input("dp_pg.sum_state");
	PG_RETURN_POINTER(palloc0(sizeof(dp_sum_state)));
}

/* dp_sum_state_out: refuses with 0A000; a state is an exact private value. */
Datum
dp_sum_state_out(PG_FUNCTION_ARGS)
{
	dp_base_forbid_output("dp_pg.sum_state");
}

/* dp_sum_spec_in: refuses with 0A000; see dp_exact_sum_spec. */
Datum
dp_sum_spec_in(PG_FUNCTION_ARGS)
{
	dp_base_forbid_input("dp_pg.sum_spec");
}

/* dp_sum_spec_out: a placeholder, for printed plans. */
Datum
dp_sum_spec_out(PG_FUNCTION_ARGS)
{
	PG_RETURN_CSTRING(pstrdup("(bounds)"));
}

/* ---- for the release ---- */

/*
 * dp_exact_fill_spec
 *	  Convert the grid to the form for transition functions.  Looks up nothing,
 *	  since they call this at their first row.
 */
void
dp_exact_fill_spec(const dp_grid *grid, dp_sum_spec *spec)
{
	spec->low = grid->low;
	spec->high = grid->high;
	spec->low_float = (float8) grid->low;
	spec->high_float = (float8) grid->high;
	spec->factor = ldexp(1.0, -grid->exponent);
	spec->exponent = grid->exponent;
}

/* dp_exact_sum_spec: the grid as a constant of the inner query. */
Const *
dp_exact_sum_spec(const dp_grid *grid)
{
	dp_sum_spec *spec = palloc0(sizeof(dp_sum_spec));

	dp_exact_fill_spec(grid, spec);
	return makeConst(dp_catalog_type("sum_spec"), -1, InvalidOid,
					 sizeof(dp_sum_spec), PointerGetDatum(spec), false,
					 false);
}

/*
 * dp_exact_load_sum
 *	  Add an inner sum_state (never NULL: the aggregate starts at zero).
 */
void
dp_exact_load_sum(const Datum *values, const bool *nulls, dp_cell *rows,
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
 * dp_exact_bounded_sum
 *	  The single aggregate dp_pg.bounded_sum(argument, grid); the argument has
 *	  this base type.
 */
List *
dp_exact_bounded_sum(const Aggref *asked, Oid type, const dp_grid *grid)
{
	return dp_exact_exact(asked, "bounded_sum", type,
						  dp_exact_sum_spec(grid),
						  dp_catalog_type("sum_state"));
}
