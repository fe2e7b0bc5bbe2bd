/*
 * unused_column.c
 *	  Unused private values of a subquery are not released: they become NULL
 *	  before the subquery is split.
 *
 * Tools wrap queries in several levels, each with all columns of the one
 * below.  A value that is not released costs nothing.  The planner drops such
 * columns, too, but too late: the release would have been charged for them.
 */
#include "postgres.h"

#include "nodes/bitmapset.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"

#include "split.h"

typedef struct column_use
{
	int			level;
	int			entry;			/* its range table index */
	Bitmapset  *columns;
	bool		whole;			/* the row is used as a whole */
} column_use;

static bool
use_walker(Node *node, void *context)
{
	column_use *use = context;

	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		Var		   *var = (Var *) node;

		if ((int) var->varlevelsup != use->level || var->varno != use->entry)
			return false;
		if (var->varattno <= 0)
			use->whole = true;
		else
			use->columns = bms_add_member(use->columns, var->varattno);
		return false;
	}
	if (IsA(node, Query))
	{
		use->level++;
		(void) query_tree_walker((Query *) node, use_walker, context, 0);
		use->level--;
		return false;
	}
	return expression_tree_walker(node, use_walker, context);
}

/* May values of the subquery be dropped without changing its rows? */
static bool
has_loose_columns(const Query *subquery)
{
	return subquery->commandType == CMD_SELECT &&
		subquery->setOperations == NULL && subquery->distinctClause == NIL &&
		!subquery->hasDistinctOn && !subquery->hasTargetSRFs &&
		dp_catalog_has_own_aggregate(subquery);
}

static bool
can_drop(const TargetEntry *target, const column_use *use)
{
	return !target->resjunk && target->ressortgroupref == 0 &&
		!bms_is_member(target->resno, use->columns) &&
		dp_catalog_has_aggregate((Node *) target->expr) &&
		!contain_volatile_functions((Node *) target->expr);
}

/*
 * Drop unused values: those that use the number of rows, or all others.  The
 * subquery must remain an aggregation, with one row, or one for each public
 * key: its last private value stays.
 */
static void
drop_columns(Query *subquery, const column_use *use, bool sizes)
{
	ListCell   *lc;

	foreach(lc, subquery->targetList)
	{
		TargetEntry *target = lfirst_node(TargetEntry, lc);
		Expr	   *kept = target->expr;

		if (!can_drop(target, use) ||
			dp_block_holds_size((Node *) kept) != sizes)
			continue;
		target->expr = (Expr *) makeNullConst(exprType((Node *) kept),
											  exprTypmod((Node *) kept),
											  exprCollation((Node *) kept));
		if (!dp_catalog_has_own_aggregate(subquery))
			target->expr = kept;
	}
}

/*
 * dp_block_drop_unused
 *	  Replace unused private values of subqueries in the level's FROM by NULL.
 */
void
dp_block_drop_unused(Query *query)
{
	ListCell   *lc;

	if (query->setOperations != NULL || query->rowMarks != NIL)
		return;
	foreach(lc, query->rtable)
	{
		RangeTblEntry *entry = lfirst_node(RangeTblEntry, lc);
		column_use	use = {0, foreach_current_index(lc) + 1, NULL, false};

		if (entry->rtekind != RTE_SUBQUERY ||
			!has_loose_columns(entry->subquery))
			continue;
		(void) query_tree_walker(query, use_walker, &use, 0);
		if (use.whole)
			continue;
		drop_columns(entry->subquery, &use, false);
		drop_columns(entry->subquery, &use, true);
	}
}
