/*
 * walk.c
 *	  Find every DP block of a query tree, at every level, and split it.
 *
 * Levels are visited from the outside in.  If a level is a block, its range
 * table moves into the inner query and is not visited again, since everything
 * in it has been verified.  The level's targets and HAVING stay outside and
 * are searched further, since subqueries there may contain blocks of their
 * own.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "split.h"

typedef struct block_walk
{
	dp_block_consumer consumer;
	void	   *consumer_context;
	List	   *cte_stack;		/* cteLists in reach, innermost first */
	Query	   *outer;			/* the level around the current one */
	List	   *looked_up;		/* of Query *: groups that a level looks up */
	List	  **inval_items;
	dp_refusal *refusal;
} block_walk;

static bool walk_level(Query *query, block_walk *walk);

/* ---- the walk ---- */

static bool
walk_walker(Node *node, void *context)
{
	block_walk *walk = context;

	if (node == NULL)
		return false;
	if (IsA(node, WindowFunc) &&
		dp_catalog_aggregate_kind(((WindowFunc *) node)->winfnoid) !=
		DP_AGG_NONE)
	{
		WindowFunc *window = (WindowFunc *) node;

		walk->refusal =
			dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, window->location,
							 "A window would release a value for every row.",
							 "Aggregate with GROUP BY, and use window "
							 "functions over the released values.",
							 "%s cannot be a window function",
							 get_func_name(window->winfnoid));
		return true;
	}
	if (IsA(node, Query))
	{
		(void) walk_level((Query *) node, walk);
		return walk->refusal != NULL;
	}
	return expression_tree_walker(node, walk_walker, context);
}

static void
split_level(Query *query, block_walk *walk)
{
	List	   *stack = lcons(query->cteList, list_copy(walk->cte_stack));
	dp_block   *block;
	RangeTblEntry *entry;

	walk->refusal = dp_block_split_one(query, stack, &block, &entry);
	if (walk->refusal == NULL && list_member_ptr(walk->looked_up, query))
		walk->refusal = dp_block_refuse_other(block);
	if (walk->refusal == NULL)
		walk->consumer(block, entry, walk->consumer_context);
}

/* Split a level without aggregates if it asks only for public keys. */
static bool
split_keys(Query *query, block_walk *walk)
{
	dp_block   *block;
	RangeTblEntry *entry;

	if (!dp_block_split_keys(query, walk->cte_stack, &block, &entry))
		return false;
	walk->consumer(block, entry, walk->consumer_context);
	return true;
}

/* Visit one level; true if it was a block.  Stops at a refusal. */
static bool
walk_level(Query *query, block_walk *walk)
{
	List	   *saved_stack = walk->cte_stack;
	Query	   *outer = walk->outer;
	Query	   *groups;
	List	   *bodies;
	bool		released;
	ListCell   *lc;

	check_stack_depth();
	bodies = dp_block_inline_functions(query, walk->inval_items);
	foreach(lc, bodies)
		if (walk->refusal == NULL)
			walk->refusal = dp_block_place_errors(lfirst(lc),
												  walk->inval_items);
	if (walk->refusal != NULL)
		return false;
	groups = dp_block_decorrelate(query, walk->outer);
	if (groups != NULL)
		walk->looked_up = lappend(walk->looked_up, groups);
	released = dp_catalog_has_own_aggregate(query);
	if (released)
		split_level(query, walk);
	else
		released = split_keys(query, walk);
	if (walk->refusal != NULL)
		return released;

	dp_block_drop_unused(query);
	walk->cte_stack = lcons(query->cteList, list_copy(saved_stack));
	walk->outer = query;
	foreach(lc, query->rtable)
	{
		RangeTblEntry *entry = lfirst(lc);

		/* A released level must remain a level: it must not be pulled up. */
		if (entry->rtekind == RTE_SUBQUERY && walk->refusal == NULL &&
			walk_level(entry->subquery, walk))
			entry->security_barrier = true;
	}
	if (walk->refusal == NULL)
		(void) query_tree_walker(query, walk_walker, walk,
								 QTW_IGNORE_RT_SUBQUERIES);
	walk->cte_stack = saved_stack;
	walk->outer = outer;
	return released;
}

/*
 * dp_block_split_all
 *	  See dp_block.h.
 */
dp_refusal *
dp_block_split_all(Query *query, dp_block_consumer consumer, void *context,
				   List **inval_items)
{
	block_walk	walk;

	memset(&walk, 0, sizeof(walk));
	walk.consumer = consumer;
	walk.consumer_context = context;
	walk.inval_items = inval_items;
	walk.refusal = dp_block_place_errors(query, inval_items);
	if (walk.refusal == NULL)
		(void) walk_level(query, &walk);
	return walk.refusal;
}
