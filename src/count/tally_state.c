/*
 * tally_state.c
 *	  The state of aggregates that count rows by public cells.
 *
 * It is a flat type that is updated in place.  Its size depends only on the
 * spec and it has only counts of public cells; counts add, so every plan
 * (parallel, hashed, reordered) gives the same state.  What a row adds depends
 * only on the row, and no value can raise an error.
 */
#include "postgres.h"

#include "dp_count.h"

PG_FUNCTION_INFO_V1(dp_tally_combine);
PG_FUNCTION_INFO_V1(dp_tally_state_in);
PG_FUNCTION_INFO_V1(dp_tally_state_out);

/*
 * dp_count_check_call_site
 *	  0A000 unless called as a transition of an aggregate with a spec; marks
 *	  the call site as good.  A direct call of the aggregate can only pass NULL
 *	  as spec.
 */
void
dp_count_check_call_site(FunctionCallInfo fcinfo)
{
	dp_bridge_check_call_site(fcinfo, !PG_ARGISNULL(PG_NARGS() - 1),
							  "aggregate",
							  "Use dp_histogram, dp_argmax or dp_topk.");
}

/* dp_count_tally_new: n counts of zero, in the current context. */
dp_tally_state *
dp_count_tally_new(int64 n)
{
	Size		size = offsetof(dp_tally_state, counts) + sizeof(int64) * n;
	dp_tally_state *state = palloc0(size);

	SET_VARSIZE(state, size);
	state->n = (int32) n;
	return state;
}

/* dp_tally_combine: counts add; used by parallel and partitionwise plans. */
Datum
dp_tally_combine(PG_FUNCTION_ARGS)
{
	dp_tally_state *a;
	dp_tally_state *b;
	int			i;

	if (unlikely(fcinfo->flinfo->fn_extra == NULL))
		dp_count_check_call_site(fcinfo);
	a = (dp_tally_state *) PG_GETARG_POINTER(0);
	b = (dp_tally_state *) PG_GETARG_POINTER(1);
	if (a->n != b->n)
		elog(ERROR, "tallies of different sizes");
	for (i = 0; i < a->n; i++)
		a->counts[i] += b->counts[i];
	PG_RETURN_POINTER(a);
}

/* dp_tally_state_in: refuses with 0A000; a state begins as NULL. */
Datum
dp_tally_state_in(PG_FUNCTION_ARGS)
{
	dp_bridge_forbid_input("dp_pg.tally_state");
}

/* dp_tally_state_out: refuses with 0A000; a state is exact private counts. */
Datum
dp_tally_state_out(PG_FUNCTION_ARGS)
{
	dp_bridge_forbid_output("dp_pg.tally_state");
}
