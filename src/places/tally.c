/*
 * tally.c
 *	  The state that dp_pg.bucket_counts and dp_pg.value_counts share;
 *	  dp_places.h says how they work.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"

#include "dp_places.h"

PG_FUNCTION_INFO_V1(dp_tally_combine);
PG_FUNCTION_INFO_V1(dp_tally_state_in);
PG_FUNCTION_INFO_V1(dp_tally_state_out);
PG_FUNCTION_INFO_V1(dp_tally_spec_in);
PG_FUNCTION_INFO_V1(dp_tally_spec_out);

/*
 * dp_places_tally_check_call_site
 *	  0A000 unless called as a transition of an aggregate with a spec; marks
 *	  the call site as good.  Whoever calls the aggregate by hand has no spec
 *	  but NULL to give.
 */
void
dp_places_tally_check_call_site(FunctionCallInfo fcinfo)
{
	dp_bridge_check_call_site(fcinfo, !PG_ARGISNULL(PG_NARGS() - 1),
							  "aggregate",
							  "Use dp_histogram, dp_argmax or dp_topk.");
}

/* dp_places_tally_new: n counts of zero, in the current context. */
dp_tally_state *
dp_places_tally_new(int64 n)
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
		dp_places_tally_check_call_site(fcinfo);
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

/* dp_tally_spec_in: refuses with 0A000; only the release makes specs. */
Datum
dp_tally_spec_in(PG_FUNCTION_ARGS)
{
	dp_bridge_forbid_input("dp_pg.tally_spec");
}

/* dp_tally_spec_out: a stand-in, should a plan be printed. */
Datum
dp_tally_spec_out(PG_FUNCTION_ARGS)
{
	PG_RETURN_CSTRING(pstrdup("(cells)"));
}

/* ---- the spec ---- */

/* dp_places_tally_spec_const: a flat spec as a constant of the inner query. */
Const *
dp_places_tally_spec_const(void *spec, Size size)
{
	SET_VARSIZE(spec, size);
	return makeConst(dp_catalog_type("tally_spec"), -1, InvalidOid, -1,
					 PointerGetDatum(spec), false, false);
}
