/*
 * count_shares.c
 *	  How many released values of a query take the default price.
 *
 * With dp_pg.split the setting dp_pg.epsilon is the price of the whole query:
 * it is divided among the values that name no price of their own.  The number
 * is that of the query's text, with what runs before a release included;
 * those are planned when the release runs and are then told the number of the
 * query they belong to.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"

#include "dp_measure.h"

/* Of the query whose subquery is being planned; 0 outside of that. */
static int	enclosing_share = 0;

static bool
takes_default(const Aggref *aggregate, int kind)
{
	const dp_measure_ops *ops = dp_measure_find(kind);

	return strchr(dp_measure_form(ops, aggregate), 'e') == NULL;
}

/*
 * Could a query that is not split yet have keys that are told by threshold?
 * One share too many costs accuracy only.
 */
static bool
may_decide(const Query *query)
{
	return dp_setting_delta[0] != '\0' &&
		(query->groupClause != NIL || query->distinctClause != NIL);
}

static bool
count_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref))
	{
		Aggref	   *aggregate = (Aggref *) node;
		int			kind = dp_catalog_aggregate_kind(aggregate->aggfnoid);

		if (kind != DP_AGG_NONE && takes_default(aggregate, kind))
			++*(int *) context;
	}
	if (IsA(node, Query))
	{
		if (may_decide((const Query *) node))
			++*(int *) context;
		*(int *) context += dp_block_added_sizes((Query *) node);
		return query_tree_walker((Query *) node, count_walker, context, 0);
	}
	return expression_tree_walker(node, count_walker, context);
}

/* dp_measure_count_default: values of a block that name no price. */
int
dp_measure_count_default(const dp_block *block)
{
	int			n = 0;
	ListCell   *lc;

	foreach(lc, block->values)
		n += takes_default(dp_block_aggregate(block,
											  foreach_current_index(lc)),
						   ((const dp_value *) lfirst(lc))->kind);
	return n;
}

/*
 * dp_measure_count_share
 *	  Values with the default price in the blocks of one planner call.
 */
int
dp_measure_count_share(List *blocks)
{
	int			share = 0;
	ListCell   *lc;
	ListCell   *target;

	if (enclosing_share > 0)
		return enclosing_share;
	foreach(lc, blocks)
	{
		dp_block   *block = lfirst(lc);

		share += dp_measure_count_default(block);
		if (dp_block_has_undeclared(block))
			share++;			/* the decision about keys */
		(void) expression_tree_walker((Node *) block->subqueries, count_walker,
									  &share);
		foreach(target, block->sources)
		{
			const dp_joined *source = lfirst(target);

			if (source->twin == 0)
				(void) count_walker((Node *) source->query, &share);
		}
	}
	return share;
}

/*
 * dp_measure_enter_share
 *	  Until the given number is set back with this function, queries that are
 *	  planned belong to a query with `share` values; returns the old number.
 */
int
dp_measure_enter_share(int share)
{
	int			outer = enclosing_share;

	enclosing_share = share;
	return outer;
}
