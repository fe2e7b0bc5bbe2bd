/*
 * ordinary.c
 *	  Recognizes statements that dp_pg has nothing to do with.
 *
 * Nearly all statements are ordinary, and cost only this walk.  An ordinary
 * statement has no aggregate of ours, and all rights on the relations it
 * names: views, rules and the conditions of row security are part of the tree
 * when it is planned.  Nor does it call a set-returning function in SQL, which
 * might be inlined into FROM, where its body could have either.  What other
 * functions run are statements that are planned separately.  (A function may
 * be replaced while the planner folds constants: its body then has no block,
 * and rights on it are checked there, rights.c.)
 *
 * The flags of a level are used.  Without subqueries in expressions, only
 * those in FROM and WITH are levels below it, and whatever makes a statement
 * not ordinary is in targets, HAVING and functions in FROM. An aggregate of an
 * outer level is in such a subquery of that level, or in one below it.  The
 * planner relies on the same flags, so a tree with wrong flags fails.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/syscache.h"

#include "../../base/dp_compat.h"
#include "../../catalog/dp_catalog.h"
#include "../../query/transparent/dp_transparent.h"
#include "run_internal.h"

static bool concern_walker(Node *node, void *context);

/*
 * Could the function's set become a query in FROM, or is the function our
 * marker (planner.c), judged by its name? The planner reads the same row.
 */
static bool
may_become_query(Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Form_pg_proc form;
	bool		may;

	if (!HeapTupleIsValid(tuple))
		return true;
	form = (Form_pg_proc) GETSTRUCT(tuple);
	may = form->prolang == SQLlanguageId ||
		strcmp(NameStr(form->proname), "release") == 0;
	ReleaseSysCache(tuple);
	return may;
}

/*
 * Does a level lack a right, or does it read system catalogs or nothing while
 * their statistics may be closed for the user (closed_statistics.c)?
 */
static bool
lacks(Query *level)
{
	ListCell   *lc;

	if (!dp_base_has_rights(level) ||
		(level->rtable == NIL && dp_transparent_may_lack_statistics()))
		return true;
	foreach(lc, level->rtable)
	{
		Oid			relid = lfirst_node(RangeTblEntry, lc)->relid;

		if (OidIsValid(relid) && relid < FirstNormalObjectId &&
			dp_transparent_may_lack_statistics())
			return true;
	}
	return false;
}

/* If context is NULL, rights do not matter. */
static bool
concerns_level(Query *level, void *context)
{
	ListCell   *lc;

	check_stack_depth();
	if (context != NULL && lacks(level))
		return true;
	if (level->hasSubLinks)
		return query_tree_walker(level, concern_walker, context, 0);
	if ((level->hasAggs || level->hasWindowFuncs || level->hasTargetSRFs) &&
		(concern_walker((Node *) level->targetList, context) ||
		 concern_walker(level->havingQual, context)))
		return true;
	foreach(lc, level->rtable)
	{
		RangeTblEntry *entry = lfirst_node(RangeTblEntry, lc);

		if ((entry->subquery != NULL &&
			 concerns_level(entry->subquery, context)) ||
			concern_walker((Node *) entry->functions, context))
			return true;
	}
	foreach(lc, level->cteList)
	{
		CommonTableExpr *cte = lfirst_node(CommonTableExpr, lc);

		if (concerns_level(castNode(Query, cte->ctequery), context))
			return true;
	}
	return false;
}

static bool
is_ours(Oid aggregate)
{
	return dp_catalog_aggregate_kind(aggregate) != DP_AGG_NONE;
}

/* Below a subquery in an expression everything is looked at. */
static bool
concern_walker(Node *node, void *context)
{
	FuncExpr   *call = (FuncExpr *) node;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return (context != NULL && lacks((Query *) node)) ||
			query_tree_walker((Query *) node, concern_walker, context, 0);
	if ((IsA(node, Aggref) && is_ours(((Aggref *) node)->aggfnoid)) ||
		(IsA(node, WindowFunc) && is_ours(((WindowFunc *) node)->winfnoid)) ||
		(IsA(node, FuncExpr) && call->funcretset &&
		 call->funcid >= FirstNormalObjectId &&
		 may_become_query(call->funcid)))
		return true;
	return expression_tree_walker(node, concern_walker, context);
}

/* dp_run_is_ordinary: can the planner do without us? */
bool
dp_run_is_ordinary(Query *query)
{
	bool		rights_matter = true;

	return !concerns_level(query, &rights_matter);
}

/* dp_run_may_hold_block: false if it is ordinary, apart from rights. */
bool
dp_run_may_hold_block(Query *query)
{
	return concerns_level(query, NULL);
}
