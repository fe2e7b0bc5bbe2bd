/*
 * count_conditions.c
 *	  dp_pg.count_conditions: the number of rows for which each of up to CHUNK
 *	  conditions holds, and the granules of weights, in one call per row.
 *
 * Its state is a flat fixed-length type, updated in place.  A NULL condition
 * counts as false, a NULL weight as 0.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/lsyscache.h"

#include "dp_count.h"

/*
 * Conditions of one exact aggregate.  A function takes at most FUNC_MAX_ARGS
 * arguments, and the type's length in sql/56_conditions.sql is 8 * CHUNK.
 */
#define CHUNK 64

typedef struct dp_condition_counts
{
	int64		counts[CHUNK];
} dp_condition_counts;

StaticAssertDecl(sizeof(dp_condition_counts) == 512,
				 "length of dp_pg.condition_counts");

PG_FUNCTION_INFO_V1(dp_conditions_add);
PG_FUNCTION_INFO_V1(dp_conditions_combine);
PG_FUNCTION_INFO_V1(dp_conditions_state_in);
PG_FUNCTION_INFO_V1(dp_conditions_state_out);

/* State of a call site: how arguments that are weights become granules. */
typedef struct call_site
{
	dp_weight_scale *scale;
	Oid			weight[CHUNK + 1];	/* base type; InvalidOid: a condition */
} call_site;

static pg_noinline void
check_call_site(FunctionCallInfo fcinfo)
{
	MemoryContext old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	call_site  *site = palloc0(sizeof(call_site));
	int			i;

	dp_bridge_check_call_site(fcinfo, !PG_ARGISNULL(0) &&
							  PG_NARGS() <= CHUNK + 1 &&
							  !get_fn_expr_variadic(fcinfo->flinfo),
							  "dp_pg.count_conditions", "Use dp_argmax.");
	site->scale = dp_count_weight_scale(0);
	for (i = 1; i < PG_NARGS(); i++)
	{
		Oid			type = get_fn_expr_argtype(fcinfo->flinfo, i);

		if (type != BOOLOID)
			site->weight[i] = getBaseType(type);
	}
	fcinfo->flinfo->fn_extra = site;
	MemoryContextSwitchTo(old);
}

static inline dp_condition_counts *
state_argument(FunctionCallInfo fcinfo)
{
	if (unlikely(fcinfo->flinfo->fn_extra == NULL))
		check_call_site(fcinfo);
	return (dp_condition_counts *) PG_GETARG_POINTER(0);
}

/* dp_conditions_add: (state, booleans or weights), in place. */
Datum
dp_conditions_add(PG_FUNCTION_ARGS)
{
	dp_condition_counts *state = state_argument(fcinfo);
	const call_site *site = fcinfo->flinfo->fn_extra;
	int			n = PG_NARGS();
	int			i;

	CHECK_FOR_INTERRUPTS();		/* evaluating a row may take long */
	for (i = 1; i < n; i++)
	{
		if (PG_ARGISNULL(i))
			continue;
		state->counts[i - 1] += OidIsValid(site->weight[i]) ?
			dp_count_weigh(site->scale, PG_GETARG_DATUM(i),
						   site->weight[i]) : PG_GETARG_BOOL(i);
	}
	PG_RETURN_POINTER(state);
}

/* dp_conditions_combine: counts add; for parallel and partitionwise plans. */
Datum
dp_conditions_combine(PG_FUNCTION_ARGS)
{
	dp_condition_counts *a = state_argument(fcinfo);
	const dp_condition_counts *b;
	int			i;

	b = (const dp_condition_counts *) PG_GETARG_POINTER(1);
	for (i = 0; i < CHUNK; i++)
		a->counts[i] += b->counts[i];
	PG_RETURN_POINTER(a);
}

/* dp_conditions_state_in: only the empty text, the initial state. */
Datum
dp_conditions_state_in(PG_FUNCTION_ARGS)
{
	if (PG_GETARG_CSTRING(0)[0] != '\0')
		dp_bridge_forbid_input("dp_pg.condition_counts");
	PG_RETURN_POINTER(palloc0(sizeof(dp_condition_counts)));
}

/* dp_conditions_state_out: refuses with 0A000; exact counts are private. */
Datum
dp_conditions_state_out(PG_FUNCTION_ARGS)
{
	dp_bridge_forbid_output("dp_pg.condition_counts");
}

/* ---- in the inner query ---- */

static Oid
counts_function(void)
{
	Oid			any = ANYOID;

	return dp_catalog_function("count_conditions", 1, &any);
}

/*
 * dp_count_conditions_evaluate
 *	  The exact aggregates that evaluate conditions for each row and count
 *	  them, under the FILTER of the given aggregate;
 *	  dp_count_conditions_load_one reads their results.
 */
List *
dp_count_conditions_evaluate(const Aggref *asked, List *all)
{
	Oid			function = counts_function();
	Oid			type = dp_catalog_type("condition_counts");
	List	   *natives = NIL;
	int			first;

	for (first = 0; first < list_length(all); first += CHUNK)
	{
		List	   *chunk = NIL;
		int			i;

		for (i = first; i < Min(first + CHUNK, list_length(all)); i++)
			chunk = lappend(chunk, list_nth(all, i));
		natives = lappend(natives,
						  dp_count_native(asked, function, type, chunk));
	}
	return natives;
}

/*
 * dp_count_conditions_evaluated_memory
 *	  Most bytes of their states, for n conditions.
 */
Size
dp_count_conditions_evaluated_memory(int n)
{
	return sizeof(dp_condition_counts) * ((n + CHUNK - 1) / CHUNK);
}

/*
 * dp_count_conditions_load_one
 *	  The count of the i-th of `all` in the results of these aggregates; 0 if
 *	  the state is NULL.
 */
int64
dp_count_conditions_load_one(const Datum *values, const bool *nulls, List *all,
							 int i)
{
	const dp_condition_counts *state;

	if (nulls[i / CHUNK])
		return 0;
	state = (const dp_condition_counts *) DatumGetPointer(values[i / CHUNK]);
	return dp_block_is_weight(list_nth(all, i)) ?
		dp_weight_rows(state->counts[i % CHUNK]) : state->counts[i % CHUNK];
}
