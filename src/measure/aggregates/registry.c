/*
 * registry.c
 *	  The list of measurements, and among how many values a query divides its
 *	  price (dp_pg.split).
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"

#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../query/rowsets/dp_rowsets.h"
#include "../../query/keys/dp_keys.h"
#include "../../query/split/dp_split.h"
#include "dp_aggregates.h"
#include "aggregates_internal.h"

static const dp_measure_ops *const measures[] =
{
	&dp_aggregates_count,
	&dp_aggregates_sum,
	&dp_aggregates_mean,
	&dp_aggregates_quantile,
	&dp_aggregates_median,
	&dp_aggregates_min,
	&dp_aggregates_max,
	&dp_aggregates_variance,
	&dp_aggregates_stddev,
	&dp_aggregates_var_pop,
	&dp_aggregates_stddev_pop,
	&dp_aggregates_histogram,
	&dp_aggregates_sizes,
	&dp_aggregates_argmax,
	&dp_aggregates_topk,
	&dp_aggregates_conditions,
	&dp_aggregates_bounds,
	&dp_aggregates_sum_distinct,
	&dp_aggregates_mean_distinct,
	&dp_aggregates_corr,
	&dp_aggregates_covar_pop,
	&dp_aggregates_covar_samp,
	&dp_aggregates_regr_avgx,
	&dp_aggregates_regr_avgy,
	&dp_aggregates_regr_count,
	&dp_aggregates_regr_intercept,
	&dp_aggregates_regr_r2,
	&dp_aggregates_regr_slope,
	&dp_aggregates_regr_sxx,
	&dp_aggregates_regr_sxy,
	&dp_aggregates_regr_syy
};

/*
 * dp_aggregates_find: the measurement of a kind; raises for one that
 * split_block.c does not accept.
 */
const dp_measure_ops *
dp_aggregates_find(dp_aggregate_kind kind)
{
	int			i;

	for (i = 0; i < lengthof(measures); i++)
		if (measures[i]->kind == kind)
			return measures[i];
	elog(ERROR, "no measurement for aggregate kind %d", (int) kind);
	return NULL;
}

/* ----------------
 *		How many released values of a query have the default price.
 *
 * With dp_pg.split the setting dp_pg.epsilon is the price of the whole query:
 * it is divided among the values without a price of their own.  They are
 * counted in the query's text, including queries that run before a release;
 * those are planned when the release runs, and then use the number of the
 * enclosing query.
 * ----------------
 */

/* The number of the query whose subquery is being planned; otherwise 0. */
static int	enclosing_share = 0;

static bool
takes_default(const Aggref *aggregate, int kind)
{
	const dp_measure_ops *ops = dp_aggregates_find(kind);

	return strchr(dp_aggregates_form(ops, aggregate), 'e') == NULL;
}

/*
 * May a query that is not split yet have keys that are released by threshold?
 * One share too many only costs accuracy.
 */
static bool
may_decide(const Query *query)
{
	return dp_setting_delta[0] != '\0' &&
		(query->groupClause != NIL || query->distinctClause != NIL);
}

typedef struct share_count
{
	int			values;
	int			levels;			/* with private aggregates */
} share_count;

static bool
add_share(Node *node, const dp_walk *walk)
{
	share_count *share = walk->context;

	if (IsA(node, Aggref))
	{
		Aggref	   *aggregate = (Aggref *) node;
		int			kind = dp_catalog_aggregate_kind(aggregate->aggfnoid);

		if (kind != DP_AGG_NONE &&
			takes_default(dp_split_lift_aggregate(aggregate, 0), kind))
			share->values++;
	}
	if (IsA(node, Query))
	{
		const Query *query = (const Query *) node;

		share->values += may_decide(query);
		if (dp_catalog_has_own_aggregate(query))
		{
			share->values += dp_split_added_sizes(query);
			share->levels++;
		}
	}
	return false;
}

/*
 * dp_aggregates_count_default: number of a block's values without a price of
 * their own.
 */
int
dp_aggregates_count_default(const dp_block *block)
{
	int			n = 0;
	ListCell   *lc;

	foreach(lc, block->values)
		n += takes_default(dp_rowsets_aggregate(block,
												foreach_current_index(lc)),
						   ((const dp_value *) lfirst(lc))->kind);
	return n;
}

/*
 * dp_aggregates_count_share
 *	  Number of values with the default price in the blocks of one planner
 *	  call.
 */
int
dp_aggregates_count_share(List *blocks)
{
	share_count share = {0, 0};
	ListCell   *lc;
	ListCell   *target;

	if (enclosing_share > 0)
		return enclosing_share;
	foreach(lc, blocks)
	{
		dp_block   *block = lfirst(lc);

		share.values += dp_aggregates_count_default(block);
		if (dp_keys_has_undeclared(block))
			share.values++;		/* the decision about keys */
		(void) dp_base_contains((Node *) block->subqueries, add_share,
								&share, 0);
		foreach(target, block->sources)
		{
			const dp_joined *source = lfirst(target);

			if (source->twin == 0)
				(void) dp_base_contains((Node *) source->query, add_share,
										&share, 0);
		}
	}
	return share.values + (share.levels == 0 ? 0 :
						   dp_catalog_has_min_units() * share.levels);
}

/*
 * dp_aggregates_enter_share
 *	  Until the given number is set back with this function, queries that are
 *	  planned belong to a query with `share` values; returns the old number.
 */
int
dp_aggregates_enter_share(int share)
{
	int			outer = enclosing_share;

	enclosing_share = share;
	return outer;
}
