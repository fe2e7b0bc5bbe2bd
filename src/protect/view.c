/*
 * view.c
 *	  The query of a view, and what a view reads.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "rewrite/rewriteSupport.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "relation_internal.h"

typedef struct view_search
{
	Oid			view;			/* whose query is being searched */
	bool		invoker;
	List	   *read;			/* OIDs */
} view_search;

/*
 * dp_protect_view_query
 *	  The query of a view, NULL when it is none any more.
 */
Query *
dp_protect_view_query(Oid view)
{
	HeapTuple	rule = SearchSysCache2(RULERELNAME, ObjectIdGetDatum(view),
									   PointerGetDatum(ViewSelectRuleName));
	List	   *queries;

	if (!HeapTupleIsValid(rule))
		return NULL;
	queries = dp_protect_rule_queries(rule);
	ReleaseSysCache(rule);
	return list_length(queries) == 1 ? linitial_node(Query, queries) : NULL;
}

static void search_view(Oid view, view_search *search);

static bool
view_walker(Node *node, void *context)
{
	view_search *search = context;
	const RangeTblEntry *entry = (RangeTblEntry *) node;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, view_walker, context,
								 QTW_EXAMINE_RTES_BEFORE);
	if (!IsA(node, RangeTblEntry))
		return expression_tree_walker(node, view_walker, context);
	/* up to 15 a view's query has entries of the view itself */
	if (entry->rtekind != RTE_RELATION || entry->relid == search->view)
		return false;
	if (entry->relkind == RELKIND_VIEW)
		search_view(entry->relid, search);
	else
		search->read = list_append_unique_oid(search->read, entry->relid);
	return false;
}

static void
search_view(Oid view, view_search *search)
{
	Oid			outer = search->view;

	check_stack_depth();
	if (search->invoker && !dp_protect_is_security_invoker(view))
		return;
	search->view = view;
	(void) view_walker((Node *) dp_protect_view_query(view), search);
	search->view = outer;
}

/*
 * dp_protect_view_reads
 *	  OIDs of the tables that a view reads, itself or through other views;
 *	  `invoker`: only those that it reads with the rights of its reader.
 */
List *
dp_protect_view_reads(Oid view, bool invoker)
{
	view_search search = {InvalidOid, invoker, NIL};

	search_view(view, &search);
	return search.read;
}
