/*
 * whole_row.c
 *	  Whole rows of subqueries: q in SELECT q FROM (..) AS q.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"

#include "split.h"

typedef struct whole_row_walk
{
	List	   *levels;			/* of Query *, the innermost first */
	const Var  *found;
} whole_row_walk;

static bool
whole_row_walker(Node *node, void *context)
{
	whole_row_walk *walk = context;
	const Var  *var = (const Var *) node;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		bool		stop;

		walk->levels = lcons(node, walk->levels);
		stop = query_tree_walker((Query *) node, whole_row_walker, context,
								 QTW_IGNORE_JOINALIASES);
		walk->levels = list_delete_first(walk->levels);
		return stop;
	}
	if (!IsA(node, Var))
		return expression_tree_walker(node, whole_row_walker, context);
	if (var->varattno == 0 && (int) var->varlevelsup <
		list_length(walk->levels))
	{
		const Query *level = list_nth(walk->levels, var->varlevelsup);
		RTEKind		kind = rt_fetch(var->varno, level->rtable)->rtekind;

		if (kind == RTE_SUBQUERY || kind == RTE_CTE)
			walk->found = var;
	}
	return walk->found != NULL;
}

/*
 * dp_block_check_whole_rows
 *	  Refuse a query that uses a whole row of a subquery, since the row would
 *	  include the errors of its columns.
 */
dp_refusal *
dp_block_check_whole_rows(Query *query)
{
	whole_row_walk walk = {NIL};

	if (!whole_row_walker((Node *) query, &walk))
		return NULL;
	return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
							walk.found->location,
							"The error would be one more column of that row.",
							"Name the columns that are wanted.",
							"dp_error is not supported together with a whole "
							"row of a subquery");
}
