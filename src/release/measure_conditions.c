/*
 * measure_conditions.c
 *	  dp_pg.conditions: which of several conditions holds for most rows.
 *
 * A row may satisfy many of the conditions, so the counts as a vector can
 * move a lot; but only the place of one condition is released, and for that
 * it is enough that each count by itself moves by at most m, the rows of a
 * unit in a group, when a unit comes or goes (book, section 3.3, the most
 * common medical condition).  All of them then move the same way, so the rate
 * is epsilon/m, and epsilon/(2 m) when a unit is replaced (doc/theory.md T48).
 * A unit has rows in at most kappa groups, and each group's selection gets an
 * equal part of the price.
 *
 * Conditions that compare columns with constants are counted by tables
 * (condition_counts.c).  The exact counts of the others, and of all where
 * there are group keys, come from dp_pg.count_conditions, which counts up to
 * CHUNK conditions in one call per row.  Its state is a flat fixed-length
 * type, updated in place.  A condition that is NULL does not hold.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parse_func.h"
#include "utils/syscache.h"

#include "count_tables.h"

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

/* ---- the exact aggregate ---- */

PG_FUNCTION_INFO_V1(dp_conditions_add);
PG_FUNCTION_INFO_V1(dp_conditions_combine);
PG_FUNCTION_INFO_V1(dp_conditions_state_in);
PG_FUNCTION_INFO_V1(dp_conditions_state_out);

/* Once per call site: the state may be updated in place only in an Agg. */
static pg_noinline void
check_call_site(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(0) || PG_NARGS() > CHUNK + 1 ||
		get_fn_expr_variadic(fcinfo->flinfo) ||
		!AggCheckCallContext(fcinfo, NULL))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("dp_pg.count_conditions can be used only inside "
						"private queries"),
				 errhint("Use dp_argmax.")));
	fcinfo->flinfo->fn_extra = fcinfo->flinfo;
}

static inline dp_condition_counts *
state_argument(FunctionCallInfo fcinfo)
{
	if (unlikely(fcinfo->flinfo->fn_extra == NULL))
		check_call_site(fcinfo);
	return (dp_condition_counts *) PG_GETARG_POINTER(0);
}

/* dp_conditions_add: transition function (state, booleans), in place. */
Datum
dp_conditions_add(PG_FUNCTION_ARGS)
{
	dp_condition_counts *state = state_argument(fcinfo);
	int			n = PG_NARGS();
	int			i;

	CHECK_FOR_INTERRUPTS();		/* a row may take long */
	for (i = 1; i < n; i++)
		state->counts[i - 1] += !PG_ARGISNULL(i) && PG_GETARG_BOOL(i);
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
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot accept a value of type %s",
						"dp_pg.condition_counts")));
	PG_RETURN_POINTER(palloc0(sizeof(dp_condition_counts)));
}

/* dp_conditions_state_out: refuses with 0A000; exact counts are private. */
Datum
dp_conditions_state_out(PG_FUNCTION_ARGS)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot display a value of type %s",
					"dp_pg.condition_counts")));
	PG_RETURN_NULL();
}

/* ---- the measurement ---- */

/* The conditions, each a boolean expression over a row. */
static List *
conditions(const dp_measure *measure)
{
	TargetEntry *argument = linitial(measure->aggregate->args);

	return castNode(ArrayExpr, argument->expr)->elements;
}

static void
prepare(dp_measure *measure)
{
	measure->ncells = list_length(conditions(measure));
	measure->choices = measure->ncells;
	/* tables for each private group would take memory as the data wants */
	measure->evaluated = measure->ncells;
	if (!measure->contribution.grouped)
	{
		measure->plan = dp_conditions_plan(conditions(measure));
		measure->evaluated = dp_conditions_evaluated(measure->plan);
	}
	dp_measure_set_votes(measure, 1);
}

static Oid
counts_function(void)
{
	Oid			any = ANYOID;

	return LookupFuncName(list_make2(makeString("dp_pg"),
									 makeString("count_conditions")),
						  1, &any, false);
}

/*
 * dp_measure_count_conditions
 *	  The exact aggregates that count conditions, under the measure's FILTER;
 *	  dp_measure_load_condition reads their results.
 */
List *
dp_measure_count_conditions(const dp_measure *measure, List *all)
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
						  dp_measure_native(measure, function, type, chunk));
	}
	return natives;
}

/*
 * dp_measure_load_condition
 *	  The i-th of the counts that dp_measure_count_conditions gave, 0 for a
 *	  state that is NULL.
 */
int64
dp_measure_load_condition(const Datum *values, const bool *nulls, int i)
{
	const dp_condition_counts *state;

	if (nulls[i / CHUNK])
		return 0;
	state = (const dp_condition_counts *) DatumGetPointer(values[i / CHUNK]);
	return state->counts[i % CHUNK];
}

static List *
inner(const dp_measure *measure)
{
	if (measure->plan != NULL)
		return dp_conditions_natives(measure->plan, measure);
	return dp_measure_count_conditions(measure, conditions(measure));
}

static void
load(const dp_measure *measure, const Datum *values, const bool *nulls,
	 dp_cell *cells, MemoryContext keep)
{
	int64	   *counts;
	int			i;

	if (measure->plan == NULL)
	{
		for (i = 0; i < measure->ncells; i++)
			cells[i].integer += dp_measure_load_condition(values, nulls, i);
		return;
	}
	counts = palloc0(sizeof(int64) * measure->ncells);
	dp_conditions_load(measure->plan, values, nulls, counts);
	for (i = 0; i < measure->ncells; i++)
		cells[i].integer += counts[i];
}

/* The place of the chosen condition, from 1. */
static Datum
release(const dp_measure *measure, const dp_cell *cells)
{
	dp_int128  *scores = palloc(sizeof(dp_int128) * measure->ncells);
	int			i;

	for (i = 0; i < measure->ncells; i++)
		scores[i] = cells[i].integer;
	return Int32GetDatum(1 + (int32) dp_measure_select(measure, scores,
													   measure->ncells));
}

static const char *const forms[] = {"", "e", NULL};

const dp_measure_ops dp_measure_conditions = {
	DP_AGG_CONDITIONS, "conditions", forms, prepare, inner, load, release
};
