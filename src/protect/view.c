/*
 * view.c
 *	  The query of a view, and what a view reads.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteSupport.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "relation_internal.h"

typedef struct view_search
{
	Oid			view;			/* whose query is being searched */
	bool		invoker;
	List	   *views;			/* OIDs of those searched */
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

/*
 * dp_protect_is_projection
 *	  SELECT of some columns FROM the relation, and nothing else.
 */
bool
dp_protect_is_projection(const Query *query, Oid relid)
{
	RangeTblRef *from;
	ListCell   *cell;

	if (query->commandType != CMD_SELECT || query->setOperations != NULL ||
		query->cteList != NIL || query->hasAggs || query->hasWindowFuncs ||
		query->hasTargetSRFs || query->hasSubLinks ||
		query->groupClause != NIL || query->groupingSets != NIL ||
		query->havingQual != NULL || query->distinctClause != NIL ||
		query->sortClause != NIL || query->limitOffset != NULL ||
		query->limitCount != NULL || query->rowMarks != NIL ||
		query->jointree->quals != NULL ||
		list_length(query->jointree->fromlist) != 1 ||
		!IsA(linitial(query->jointree->fromlist), RangeTblRef))
		return false;
	from = linitial(query->jointree->fromlist);
	if (rt_fetch(from->rtindex, query->rtable)->rtekind != RTE_RELATION ||
		rt_fetch(from->rtindex, query->rtable)->relid != relid)
		return false;
	foreach(cell, query->targetList)
	{
		TargetEntry *target = lfirst_node(TargetEntry, cell);

		if (!IsA(target->expr, Var) ||
			((Var *) target->expr)->varno != from->rtindex)
			return false;
	}
	return true;
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
	CHECK_FOR_INTERRUPTS();
	/* CREATE OR REPLACE VIEW can have views read each other */
	if (list_member_oid(search->views, view))
		return;
	search->views = lappend_oid(search->views, view);
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
	view_search search = {InvalidOid, invoker, NIL, NIL};

	search_view(view, &search);
	return search.read;
}

/*
 * dp_protect_view_shows
 *	  OIDs of the tables whose rows a view can show, whoever reads them: also
 *	  materialized views, and what these read.
 */
List *
dp_protect_view_shows(Oid view)
{
	List	   *read = dp_protect_view_reads(view, false);
	int			i;

	/* the list grows while it is walked */
	for (i = 0; i < list_length(read); i++)
	{
		Oid			relid = list_nth_oid(read, i);

		if (get_rel_relkind(relid) == RELKIND_MATVIEW)
			read = list_concat_unique_oid(read,
										  dp_protect_view_reads(relid, false));
	}
	return read;
}

PG_FUNCTION_INFO_V1(dp_publish_shown_column);

/*
 * dp_publish_shown_column
 *	  SQL: dp_pg.shown_column(relation oid, named oid, attnum int2) returns
 *	  int2: the number of the relation's column that a column of `named` shows;
 *	  NULL when that is neither the relation nor a view of its columns.
 */
Datum
dp_publish_shown_column(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	Oid			named = PG_GETARG_OID(1);
	AttrNumber	attnum = PG_GETARG_INT16(2);
	Query	   *query;
	TargetEntry *target;

	if (relid == named)
		PG_RETURN_INT16(attnum);
	query = dp_protect_view_query(named);
	if (query == NULL || !dp_protect_is_projection(query, relid))
		PG_RETURN_NULL();
	target = get_tle_by_resno(query->targetList, attnum);
	if (target == NULL || target->resjunk)
		PG_RETURN_NULL();
	PG_RETURN_INT16(((Var *) target->expr)->varattno);
}
