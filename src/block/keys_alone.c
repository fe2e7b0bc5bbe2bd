/*
 * keys_alone.c
 *	  Levels that ask only for group keys: SELECT DISTINCT, and GROUP BY
 *	  without an aggregate.
 *
 * Over private rows the answer would show who is there.  So for a role that
 * may not read the rows, such a level is a block without aggregates: it
 * returns the public values of its keys, reads no row and costs nothing.  If
 * dp_pg.delta is set, keys that are not public are released by threshold, for
 * a charge.  Any other level whose keys are not public stays unchanged, and is
 * refused for lack of rights.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"

#include "split.h"

/* Judged by the form of the level only. */
static bool
may_be_keys_alone(const Query *query)
{
	return query->commandType == CMD_SELECT && !query->hasAggs &&
		!query->hasWindowFuncs && !query->hasTargetSRFs &&
		!query->hasDistinctOn && query->groupingSets == NIL &&
		query->setOperations == NULL && query->rowMarks == NIL &&
		(query->groupClause != NIL ||
		 (query->distinctClause != NIL && query->havingQual == NULL)) &&
		query->jointree != NULL && list_length(query->jointree->fromlist) == 1;
}

static bool
lacks_right_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return !dp_bridge_has_rights((Query *) node) ||
			query_tree_walker((Query *) node, lacks_right_walker, context, 0);
	return expression_tree_walker(node, lacks_right_walker, context);
}

/* Split a copy of the level; NULL if it is no block. */
static Query *
split_copy(const Query *query, List *cte_stack, dp_block **block,
		   RangeTblEntry **entry)
{
	Query	   *copy = copyObject((Query *) query);
	List	   *stack = lcons(copy->cteList, list_copy(cte_stack));

	if (copy->groupClause == NIL)
		copy->groupClause = copyObject(copy->distinctClause);
	if (dp_block_split_one(copy, stack, block, entry) != NULL ||
		(*block)->subqueries != NIL ||
		!lacks_right_walker((Node *) (*block)->inner, NULL))
		return NULL;
	return copy;
}

/*
 * dp_block_split_keys
 *	  Split a level of keys alone in place, as dp_block_split_one does; false,
 *	  and nothing has changed, if it is none.
 *
 * It is tried on copies of all that it could change, including the WITH
 * queries in reach.
 */
bool
dp_block_split_keys(Query *query, List *cte_stack, dp_block **block,
					RangeTblEntry **entry)
{
	Query	   *copy;

	if (!may_be_keys_alone(query) ||
		split_copy(query, copyObject(cte_stack), block, entry) == NULL)
		return false;
	copy = split_copy(query, cte_stack, block, entry);
	if (copy == NULL)
		elog(ERROR, "a query of keys alone was not split as before");
	*query = *copy;
	return true;
}
