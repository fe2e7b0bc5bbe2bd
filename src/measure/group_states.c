/*
 * group_states.c
 *	  Counts and sums of all public groups in one state each.
 *
 * Where a block asks for nothing but counts and bounded sums, its inner query
 * need not group at all: one aggregate without GROUP BY holds an array with
 * the numbers of every public group and adds each row at its place
 * (group_place.c).  That takes less time than a hash table of groups, and its
 * memory follows from the number of groups alone.
 *
 *	  dp_pg.group_counts(place, spec)		rows
 *	  dp_pg.group_sums(place, x, spec)		as dp_pg.bounded_sum: three words,
 *											sum_state.c
 *
 * A state is that of a tally: flat, updated in place, n words.  A row whose
 * place is NULL counts nowhere.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"

#include "../count/dp_to_grid.h"
#include "dp_measure.h"

/* States larger than this are not made; groups are hashed then. */
#define STATE_BYTES (64 * 1024 * 1024)

typedef struct group_spec
{
	int32		vl_len_;
	Oid			type;			/* of x; InvalidOid for counts */
	int64		words;			/* of the state */
	dp_sum_spec grid;			/* for sums */
} group_spec;

/* Of a call site that sums. */
typedef struct sum_site
{
	dp_numeric_bounds bounds;	/* where x is numeric */
} sum_site;

PG_FUNCTION_INFO_V1(dp_group_count_add);
PG_FUNCTION_INFO_V1(dp_group_sum_add);
PG_FUNCTION_INFO_V1(dp_group_sum_combine);

/* dp_group_count_add: transition function (state, place, spec) -> state. */
Datum
dp_group_count_add(PG_FUNCTION_ARGS)
{
	const group_spec *spec;
	dp_tally_state *state;

	if (unlikely(fcinfo->flinfo->fn_extra == NULL))
		dp_count_check_call_site(fcinfo);
	spec = (const group_spec *) PG_GETARG_POINTER(2);
	state = dp_tally_state_of(fcinfo, spec->words);
	if (!PG_ARGISNULL(1))
		state->counts[PG_GETARG_INT32(1)]++;
	PG_RETURN_POINTER(state);
}

static pg_noinline void
make_site(FunctionCallInfo fcinfo)
{
	MemoryContext old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	sum_site   *site = palloc0(sizeof(sum_site));
	const group_spec *spec;

	dp_count_check_call_site(fcinfo);
	spec = (const group_spec *) PG_GETARG_POINTER(3);
	if (spec->type == NUMERICOID)
		site->bounds = numeric_bounds(&spec->grid);
	fcinfo->flinfo->fn_extra = site;
	MemoryContextSwitchTo(old);
}

/* Granules of a value; false for NaN, which is skipped. */
static inline bool
granules_of(const group_spec *spec, const sum_site *site, Datum x,
			int64 *granules)
{
	float8		number;
	Numeric		numeric;

	switch (spec->type)
	{
		case INT4OID:
			*granules = granules_of_integer(&spec->grid, DatumGetInt32(x));
			return true;
		case INT8OID:
			*granules = granules_of_integer(&spec->grid, DatumGetInt64(x));
			return true;
		case INT2OID:
			*granules = granules_of_integer(&spec->grid, DatumGetInt16(x));
			return true;
		case FLOAT4OID:
		case FLOAT8OID:
			number = spec->type == FLOAT8OID ? DatumGetFloat8(x) :
				DatumGetFloat4(x);
			if (unlikely(isnan(number)))
				return false;
			*granules = granules_of_float(&spec->grid, number);
			return true;
		default:
			numeric = DatumGetNumeric(x);
			if (numeric_is_nan(numeric))
				return false;
			*granules = granules_of_numeric(&spec->grid, &site->bounds,
											numeric);
			return true;
	}
}

/* dp_group_sum_add: transition function (state, place, x, spec) -> state. */
Datum
dp_group_sum_add(PG_FUNCTION_ARGS)
{
	const group_spec *spec;
	dp_tally_state *state;
	int64		granules;

	if (unlikely(fcinfo->flinfo->fn_extra == NULL))
		make_site(fcinfo);
	spec = (const group_spec *) PG_GETARG_POINTER(3);
	state = dp_tally_state_of(fcinfo, spec->words);
	if (!PG_ARGISNULL(1) && !PG_ARGISNULL(2) &&
		granules_of(spec, fcinfo->flinfo->fn_extra, PG_GETARG_DATUM(2),
					&granules))
		dp_sum_state_add((dp_sum_state *) state->counts + PG_GETARG_INT32(1),
						 granules);
	PG_RETURN_POINTER(state);
}

/* dp_group_sum_combine: sums add, group by group. */
Datum
dp_group_sum_combine(PG_FUNCTION_ARGS)
{
	dp_tally_state *a;
	const dp_tally_state *b;
	int			i;

	if (unlikely(fcinfo->flinfo->fn_extra == NULL))
		dp_count_check_call_site(fcinfo);
	a = (dp_tally_state *) PG_GETARG_POINTER(0);
	b = (const dp_tally_state *) PG_GETARG_POINTER(1);
	if (a->n != b->n)
		elog(ERROR, "sums of different groups");
	for (i = 0; i < a->n / DP_SUM_WORDS; i++)
		dp_sum_state_merge((dp_sum_state *) a->counts + i,
						   (const dp_sum_state *) b->counts + i);
	PG_RETURN_POINTER(a);
}

/* ---- for the release ---- */

/* Words that a group takes of a measure's state; 0: it cannot be held so. */
static int
words_of(const dp_measure *measure)
{
	switch (measure->ops->kind)
	{
		case DP_AGG_COUNT:
			return measure->aggregate->aggdistinct == NIL ? 1 : 0;
		case DP_AGG_SUM:
		case DP_AGG_AVG:
			return DP_SUM_WORDS;
		default:
			return 0;
	}
}

/* dp_measure_fits_states: can states hold all groups of the release? */
bool
dp_measure_fits_states(const dp_release_spec *spec)
{
	int64		words = 0;
	int			i;

	for (i = 0; i < spec->nmeasures; i++)
	{
		int			n = words_of(&spec->measures[i]);

		if (n == 0)
			return false;
		words += n;
	}
	return spec->nkeys > 0 && spec->nmeasures > 0 &&
		words * spec->groups <= STATE_BYTES / (int64) sizeof(int64);
}

static Const *
make_spec(const dp_release_spec *spec, const dp_measure *measure)
{
	group_spec *group = palloc0(sizeof(group_spec));

	group->words = spec->groups * words_of(measure);
	if (measure->ops->kind != DP_AGG_COUNT)
	{
		group->type = measure->argument_type;
		group->grid = *(const dp_sum_spec *) DatumGetPointer(
			dp_count_sum_spec(&measure->grid)->constvalue);
	}
	return dp_places_tally_spec_const(group, sizeof(group_spec));
}

/* A row counts where its argument is not NULL, and passes the filter. */
static Expr *
filter_of(const Aggref *native)
{
	NullTest   *test;

	if (native->args == NIL)
		return native->aggfilter;
	test = makeNode(NullTest);
	test->arg = ((TargetEntry *) linitial(native->args))->expr;
	test->nulltesttype = IS_NOT_NULL;
	test->argisrow = false;
	test->location = -1;
	if (native->aggfilter == NULL)
		return (Expr *) test;
	return (Expr *) makeBoolExpr(AND_EXPR,
								 list_make2(native->aggfilter, test), -1);
}

static Aggref *
make_aggregate(const Aggref *native, const char *name, List *arguments,
			   Expr *filter)
{
	Aggref	   *aggregate = copyObject((Aggref *) native);
	Oid			types[3];
	ListCell   *lc;

	aggregate->args = NIL;
	aggregate->aggargtypes = NIL;
	aggregate->aggstar = false;
	aggregate->aggfilter = filter;
	aggregate->aggtype = dp_catalog_type("tally_state");
	foreach(lc, arguments)
	{
		int			i = foreach_current_index(lc);
		Expr	   *argument = lfirst(lc);

		types[i] = exprType((Node *) argument);
		aggregate->aggargtypes = lappend_oid(aggregate->aggargtypes, types[i]);
		aggregate->args = lappend(aggregate->args,
								  makeTargetEntry(argument, i + 1, NULL,
												  false));
	}
	if (list_length(arguments) == 3)
		types[1] = ANYELEMENTOID;
	aggregate->aggfnoid = dp_catalog_function(name, list_length(arguments),
											  types);
	return aggregate;
}

/*
 * dp_measure_group_state
 *	  The aggregate of a verified inner query for all groups at once.
 */
Aggref *
dp_measure_group_state(const dp_release_spec *spec, const dp_measure *measure,
					   const Aggref *native, Expr *place)
{
	Const	   *constant = make_spec(spec, measure);

	if (measure->ops->kind == DP_AGG_COUNT)
		return make_aggregate(native, "group_counts",
							  list_make2(copyObject(place), constant),
							  filter_of(native));
	return make_aggregate(native, "group_sums",
						  list_make3(copyObject(place),
									 ((TargetEntry *) linitial(native->args))
									 ->expr, constant),
						  native->aggfilter);
}

/*
 * dp_measure_group_value
 *	  What the aggregate of one group would have answered.
 */
Datum
dp_measure_group_value(const dp_measure *measure, Datum state, int64 group)
{
	dp_tally_state *all = (dp_tally_state *) DatumGetPointer(state);

	if (words_of(measure) == 1)
		return Int64GetDatum(all->counts[group]);
	return PointerGetDatum((dp_sum_state *) all->counts + group);
}
