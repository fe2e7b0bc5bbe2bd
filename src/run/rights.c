/*
 * rights.c
 *	  Checks rights on protected relations before a planner sees the statement.
 *
 * PostgreSQL checks rights when a plan is executed.  By then the planner has
 * read statistics, and the extreme values of indexes, for a role that may read
 * none of them: the counters of pg_prepared_statements, which depend on costs
 * of plans that were then refused, revealed exact numbers of rows.
 */
#include "postgres.h"

#include "catalog/pg_inherits.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"

#include "run.h"

/*
 * Walk over everything of a level that the planner will see: not over SELECTs
 * in WITH that are not referenced, or no longer, because a block took them.
 */
static bool
walk_level(Query *level, bool (*walker) (Node *node, void *context),
		   void *context, int flags)
{
	ListCell   *lc;

	foreach(lc, level->cteList)
	{
		CommonTableExpr *cte = lfirst_node(CommonTableExpr, lc);

		if ((cte->cterefcount != 0 ||
			 castNode(Query, cte->ctequery)->commandType != CMD_SELECT) &&
			walker(cte->ctequery, context))
			return true;
	}
	return query_tree_walker(level, walker, context,
							 flags | QTW_IGNORE_CTE_SUBQUERIES);
}

/* Is a right missing at any level? Raises nothing. */
static bool
lacks_right_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return !dp_bridge_has_rights((Query *) node) ||
			walk_level((Query *) node, lacks_right_walker, context, 0);
	return expression_tree_walker(node, lacks_right_walker, context);
}

/* Is it a protected relation, or does it contain rows of one? */
static bool
holds_protected(Oid relid)
{
	ListCell   *lc;

	if (OidIsValid(dp_protect_root(relid)))
		return true;
	foreach(lc, find_all_inheritors(relid, NoLock, NULL))
		if (OidIsValid(dp_protect_root(lfirst_oid(lc))))
			return true;
	return false;
}

static bool
reaches_protected_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		Oid			relid = ((RangeTblEntry *) node)->relid;

		return OidIsValid(relid) && holds_protected(relid);
	}
	if (IsA(node, Query))
		return walk_level((Query *) node, reaches_protected_walker, context,
						  QTW_EXAMINE_RTES_BEFORE);
	return expression_tree_walker(node, reaches_protected_walker, context);
}

/* Raise 42501 at the first level where a right is missing. */
static bool
check_rights_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		dp_bridge_check_rights((Query *) node);
		return walk_level((Query *) node, check_rights_walker, context, 0);
	}
	return expression_tree_walker(node, check_rights_walker, context);
}

/* dp_run_lacks_right: is a right missing on any relation of a statement? */
bool
dp_run_lacks_right(Query *query)
{
	return lacks_right_walker((Node *) query, NULL);
}

/* dp_run_reaches_protected: does it reach a protected relation? */
bool
dp_run_reaches_protected(Query *query)
{
	return reaches_protected_walker((Node *) query, NULL);
}

/*
 * dp_run_check_rights_first
 *	  Raise 42501 when a right is missing for a statement that reaches a
 *	  protected relation: directly, through a part of it or a view, at any
 *	  level.  Everything else is left to execution.
 *
 * A right on any relation of such a statement counts, since its plan uses
 * statistics of all of them, even if planning would have dropped the relation.
 * A statement that has all rights costs one more check.
 */
void
dp_run_check_rights_first(Query *query)
{
	dp_refusal *refusal;

	if (!dp_run_lacks_right(query) || !dp_run_reaches_protected(query))
		return;
	refusal = dp_run_refuse_rows(query);
	if (refusal != NULL)
		dp_bridge_raise_refusal(refusal, NULL);
	(void) check_rights_walker((Node *) query, NULL);
}

/*
 * dp_run_check_rights_met
 *	  The same for a relation that the planner looks up, in any statement: the
 *	  bodies of SQL functions that it inlines into FROM were not part of the
 *	  statement above.  They cannot be known in advance, since planning may
 *	  call functions that replace others.  Called before statistics of the
 *	  relation are read.
 */
void
dp_run_check_rights_met(PlannerInfo *root, Oid relid)
{
	PlannerInfo *level;
	dp_refusal *refusal;

	if (relid < FirstNormalObjectId)
		return;
	for (level = root; level != NULL; level = level->parent_root)
		if (!dp_bridge_has_rights(level->parse) && holds_protected(relid))
		{
			refusal = dp_run_refuse_entries(level->parse);
			if (refusal != NULL)
				dp_bridge_raise_refusal(refusal, NULL);
			dp_bridge_check_rights(level->parse);
		}
}
