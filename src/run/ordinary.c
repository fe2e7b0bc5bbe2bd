/*
 * ordinary.c
 *	  Is a statement one that dp_pg has nothing to do with?
 *
 * Nearly all are, and pay for this one walk.  An ordinary one has no aggregate
 * of ours, and all rights on the relations that it names: views, rules and the
 * conditions of row security are part of the tree when it is planned.  Nor has
 * it a function that might become a part of FROM later, where its body could
 * have either: one in SQL that returns a set.  What else it calls has
 * statements of its own, which are planned by themselves.  (A function may be
 * made anew while the planner folds constants: what it comes to then has no
 * block, and rights on it are looked at there, rights.c.)
 *
 * A level says what it has.  Without subqueries in expressions, only those in
 * FROM and WITH are levels below it, and whatever makes a statement none of
 * these is in targets, HAVING and functions in FROM.  An aggregate of an outer
 * level stands in such a subquery of that level, or in one below it.  The
 * planner relies on the same, so that what says less than it has fails.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/syscache.h"

#include "../rewrite/dp_rewrite.h"
#include "run.h"

static bool concern_walker(Node *node, void *context);

/*
 * Could the set that a function returns become a query in FROM, or is it our
 * marker (planner.c), by its name?  The planner reads the same row.
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
 * Does a level lack a right, or read system catalogs or nothing, while their
 * statistics may be closed for the user (closed_statistics.c)?
 */
static bool
lacks(Query *level)
{
	ListCell   *lc;

	if (!dp_bridge_has_rights(level) ||
		(level->rtable == NIL && dp_rewrite_may_lack_statistics()))
		return true;
	foreach(lc, level->rtable)
	{
		Oid			relid = lfirst_node(RangeTblEntry, lc)->relid;

		if (OidIsValid(relid) && relid < FirstNormalObjectId &&
			dp_rewrite_may_lack_statistics())
			return true;
	}
	return false;
}

/* The context is NULL where rights do not matter. */
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

/* dp_run_is_ordinary: true if nothing but the planner need see it. */
bool
dp_run_is_ordinary(Query *query)
{
	bool		rights_matter = true;

	return !concerns_level(query, &rights_matter);
}

/* dp_run_may_hold_block: false for one that is ordinary but for rights. */
bool
dp_run_may_hold_block(Query *query)
{
	return concerns_level(query, NULL);
}
