/*
 * square_state.c
 *	  The inner aggregate behind variances: rows, sum and sum of squares.
 *
 * dp_pg.bounded_squares(x, spec) is dp_pg.bounded_sum (sum_state.c) with the
 * exact sum of squares in addition, of granules counted from the lower bound:
 * 0 <= k < 2^31, so that 2^64 rows fit in 128 bits.
 */
#include "postgres.h"

#include "fmgr.h"

#include "transitions.h"

#include "../../math/numbers/dp_numbers.h"
#include "../../math/noise/dp_noise.h"
#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "dp_exact.h"
#include "dp_to_grid.h"
#include "exact_internal.h"

/* 128-bit numbers as two words, low one first: types align to 8 bytes. */
typedef struct dp_square_state
{
	int64		rows;			/* rows that counted */
	uint64		sum[2];			/* of k */
	uint64		squares[2];		/* of k^2 */
} dp_square_state;

static inline void
add_wide(uint64 *to, uint64 low, uint64 high)
{
	uint64		before = to[0];

	to[0] += low;
	to[1] += high + (to[0] < before ? 1 : 0);
}

static pg_noinline void
check_call_site(FunctionCallInfo fcinfo)
{
	const dp_sum_spec *spec;

	dp_base_check_call_site(fcinfo, !PG_ARGISNULL(0) &&
							!PG_ARGISNULL(PG_NARGS() - 1),
							"dp_pg.bounded_squares",
							"Use dp_variance or dp_stddev.");
	if (PG_NARGS() < 3)
		return;
	spec = (const dp_sum_spec *) PG_GETARG_POINTER(2);
	if ((uint64) spec->high - (uint64) spec->low > PG_INT32_MAX)
		elog(ERROR, "grid of a variance is too wide");
}

static inline Datum
skip_row(FunctionCallInfo fcinfo)
{
	return PG_GETARG_DATUM(0);
}

static inline Datum
count_row(FunctionCallInfo fcinfo, const dp_sum_spec *spec, int64 granules)
{
	dp_square_state *state = (dp_square_state *) PG_GETARG_POINTER(0);
	uint64		k = (uint64) granules - (uint64) spec->low;

	add_wide(state->sum, k, 0);
	add_wide(state->squares, k * k, 0);
	state->rows++;
	return PG_GETARG_DATUM(0);
}

/* dp_square_add_*: transition functions (state, x, spec) -> state. */
DP_NUMBER_TRANSITIONS(dp_square_add)

PG_FUNCTION_INFO_V1(dp_square_combine);
PG_FUNCTION_INFO_V1(dp_square_state_in);
PG_FUNCTION_INFO_V1(dp_square_state_out);

/* dp_square_combine: states add; used by parallel and partitionwise plans. */
Datum
dp_square_combine(PG_FUNCTION_ARGS)
{
	dp_square_state *a = (dp_square_state *) PG_GETARG_POINTER(0);
	const dp_square_state *b = (dp_square_state *) PG_GETARG_POINTER(1);

	if (unlikely(fcinfo->flinfo->fn_extra == NULL))
		check_call_site(fcinfo);
	add_wide(a->sum, b->sum[0], b->sum[1]);
	add_wide(a->squares, b->squares[0], b->squares[1]);
	a->rows += b->rows;
	PG_RETURN_POINTER(a);
}

/* dp_square_state_in: only the empty text, the aggregate's initial state. */
Datum
dp_square_state_in(PG_FUNCTION_ARGS)
{
	if (PG_GETARG_CSTRING(0)[0] != '\0')
		dp_base_forbid_input("dp_pg.square_state");
	PG_RETURN_POINTER(palloc0(sizeof(dp_square_state)));
}

/* dp_square_state_out: refuses with 0A000; a state is an exact value. */
Datum
dp_square_state_out(PG_FUNCTION_ARGS)
{
	dp_base_forbid_output("dp_pg.square_state");
}

/* ---- for the release ---- */

/*
 * dp_exact_bounded_squares: the single aggregate
 * dp_pg.bounded_squares(argument, grid).
 */
List *
dp_exact_bounded_squares(const Aggref *asked, Oid type, const dp_grid *grid)
{
	return dp_exact_exact(asked, "bounded_squares", type,
						  dp_exact_sum_spec(grid),
						  dp_catalog_type("square_state"));
}

/*
 * dp_exact_load_squares
 *	  Add an inner square_state (never NULL: the aggregate starts at zero).
 */
void
dp_exact_load_squares(const Datum *values, const bool *nulls,
						dp_cell *rows, dp_cell *sum, dp_cell *squares)
{
	const dp_square_state *state;

	if (nulls[0])
		return;
	state = (const dp_square_state *) DatumGetPointer(values[0]);
	rows->integer += state->rows;
	sum->integer += (dp_int128) (((dp_uint128) state->sum[1] << 64) |
								 state->sum[0]);
	squares->integer += (dp_int128) (((dp_uint128) state->squares[1] << 64) |
									 state->squares[0]);
}
