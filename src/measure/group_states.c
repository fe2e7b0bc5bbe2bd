/*
 * group_states.c
 *	  Counts and sums of all public groups in one state each.
 *
 * If a block asks only for counts and bounded sums, its inner query need not
 * group: one aggregate without GROUP BY has an array with the numbers of every
 * public group (count/group_sums.c) and adds each row at its place
 * (group_place.c).  That is faster than a hash table of groups, and its memory
 * follows from the number of groups.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"

#include "../count/dp_to_grid.h"
#include "dp_measure.h"

/* If states would be larger than this, groups are hashed instead. */
#define STATE_BYTES (64 * 1024 * 1024)

/* Words that a group takes in a measurement's state; 0 if not supported. */
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

/*
 * dp_measure_fits_states: can one state per measurement hold all groups of the
 * release?
 */
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

/* Count a row if its argument is not NULL and it passes the filter. */
static Expr *
filter_of(const Aggref *native)
{
	Expr	   *counts;

	if (native->args == NIL)
		return native->aggfilter;
	counts = (Expr *)
		dp_block_null_test((Node *)
						   ((TargetEntry *) linitial(native->args))->expr,
						   IS_NOT_NULL);
	if (native->aggfilter == NULL)
		return counts;
	return makeBoolExpr(AND_EXPR, list_make2(native->aggfilter, counts), -1);
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
	bool		counts = measure->ops->kind == DP_AGG_COUNT;
	Const	   *constant =
	dp_count_group_spec(spec->groups * words_of(measure),
						counts ? NULL : &measure->grid);

	if (counts)
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
 *	  What the aggregate of one group would have returned.
 */
Datum
dp_measure_group_value(const dp_measure *measure, Datum state, int64 group)
{
	dp_tally_state *all = (dp_tally_state *) DatumGetPointer(state);

	if (words_of(measure) == 1)
		return Int64GetDatum(all->counts[group]);
	return PointerGetDatum((dp_sum_state *) all->counts + group);
}
