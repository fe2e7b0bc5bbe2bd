/*
 * inline_function.c
 *	  SQL functions in FROM that reach private rows: replaced by their queries.
 */
#include "postgres.h"

#include "access/transam.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/clauses.h"

#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../protect/dp_protect.h"
#include "dp_rowsets.h"

/*
 * Functions nested deeper are an error, since the planner would inline them.
 */
#define INLINE_DEPTH 100

static bool
is_protected(Node *node, const dp_walk *walk)
{
	const RangeTblEntry *entry = (const RangeTblEntry *) node;

	return IsA(node, RangeTblEntry) && entry->rtekind == RTE_RELATION &&
		dp_protect_lookup(entry->relid) != NULL;
}

static Query *
inlined_body(Query *query, RangeTblEntry *entry, List **inval_items)
{
	PlannerInfo *root = makeNode(PlannerInfo);
	Query	   *body;

	root->glob = makeNode(PlannerGlobal);
	root->parse = query;
	root->planner_cxt = CurrentMemoryContext;
	body = inline_set_returning_function(root, entry);
	if (body != NULL)
		*inval_items = list_concat(*inval_items, root->glob->invalItems);
	return body;
}

static bool
is_user_function(RangeTblEntry *entry)
{
	RangeTblFunction *function;

	if (entry->rtekind != RTE_FUNCTION || list_length(entry->functions) != 1)
		return false;
	function = linitial(entry->functions);
	return IsA(function->funcexpr, FuncExpr) &&
		((FuncExpr *) function->funcexpr)->funcid >= FirstNormalObjectId;
}

/*
 * Inline functions in FROM that reach private rows, as the planner would do
 * later, when it is too late to split.  Returns those inlined into the level
 * itself.
 */
static List *
inline_functions(Query *query, List **inval_items, int depth)
{
	List	   *bodies = NIL;
	ListCell   *lc;

	check_stack_depth();
	foreach(lc, query->rtable)
	{
		RangeTblEntry *entry = lfirst(lc);
		Query	   *body;

		/* At depth 0 the walk visits the subquery later. */
		if (entry->rtekind == RTE_SUBQUERY && depth > 0)
			(void) inline_functions(entry->subquery, inval_items, depth + 1);
		if (!is_user_function(entry))
			continue;
		body = inlined_body(query, entry, inval_items);
		if (body == NULL)
			continue;
		if (depth > INLINE_DEPTH)
			ereport(ERROR,
					(errcode(ERRCODE_STATEMENT_TOO_COMPLEX),
					 errmsg("SQL functions in FROM are nested too deeply"),
					 errdetail("They call one another to a depth of more than "
							   "%d.",
							   INLINE_DEPTH),
					 errhint("Nest them less deeply, or write one of them in "
							 "PL/pgSQL.")));
		(void) inline_functions(body, inval_items, depth + 1);
		if (!dp_catalog_has_aggregate((Node *) body) &&
			!dp_base_contains((Node *) body, is_protected, NULL,
							  QTW_EXAMINE_RTES_BEFORE))
			continue;
		entry->rtekind = RTE_SUBQUERY;
		entry->subquery = body;
		entry->security_barrier = false;
		entry->functions = NIL;
		entry->funcordinality = false;
		bodies = lappend(bodies, body);
	}
	return bodies;
}

/*
 * dp_rowsets_inline_functions
 *	  Replace functions in FROM of a level that reach private rows by their
 *	  queries, and return these.
 */
List *
dp_rowsets_inline_functions(Query *query, List **inval_items)
{
	return inline_functions(query, inval_items, 0);
}
