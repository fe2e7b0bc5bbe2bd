/*
 * exposure_reader.c
 *	  What reads protected rows with the rights of somebody who may: views,
 *	  materialized views and rules.
 *
 * A view that is not security_invoker, and every rule that is not a view's
 * SELECT, reads as the owner of its relation; who may use it, may read.  A
 * materialized view holds copies.  They are found by what pg_depend tells
 * about rewrite rules, and followed: a view of such a view is another one.  A
 * security_invoker view is none itself, but a materialized view of it is.
 *
 * A query that only counts with the dp_ aggregates shows no rows: the private
 * query path takes such a level over, or refuses it.  A materialized view is
 * judged by what it holds: its own query never changes, but a view that it was
 * filled from may count since then, and may have shown rows before.  Without
 * contents it is judged by what a REFRESH would fill it with.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/reloptions.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_rewrite.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "../catalog/dp_catalog.h"
#include "relation_internal.h"

/* What a relation that was reached shows; the more, the greater. */
typedef enum dp_reach
{
	DP_REACH_RELEASED,			/* released values, as far as is known now */
	DP_REACH_CLOSED,			/* rows to those who may read them anyway */
	DP_REACH_OPEN				/* rows to whoever may select from it */
} dp_reach;

/* A relation that was reached. */
typedef struct dp_reached
{
	Oid			relid;
	dp_reach	reach;
	Oid			from;			/* what it reads */
	char	   *rule;			/* NULL: it is a view */
} dp_reached;

/*
 * dp_protect_is_security_invoker
 *	  A view that checks its reader's own rights on what it reads.
 */
bool
dp_protect_is_security_invoker(Oid view)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(view));
	Datum		options;
	bool		isnull;
	bool		result = false;

	if (!HeapTupleIsValid(tuple))
		return false;
	options = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_reloptions,
							  &isnull);
	if (((Form_pg_class) GETSTRUCT(tuple))->relkind == RELKIND_VIEW && !isnull)
	{
		ViewOptions *parsed = (ViewOptions *) view_reloptions(options, false);

		result = parsed != NULL && parsed->security_invoker;
	}
	ReleaseSysCache(tuple);
	return result;
}

/*
 * dp_protect_rule_queries
 *	  The queries (Query *) of a row of pg_rewrite.
 */
List *
dp_protect_rule_queries(HeapTuple rule)
{
	Relation	rel = table_open(RewriteRelationId, AccessShareLock);
	bool		isnull;
	Datum		action = heap_getattr(rule, Anum_pg_rewrite_ev_action,
									  RelationGetDescr(rel), &isnull);
	List	   *result = NIL;

	if (!isnull)
		result = castNode(List, stringToNode(TextDatumGetCString(action)));
	table_close(rel, AccessShareLock);
	return result;
}

/* ---- does a query show rows? ---- */

/* How often FROM of the level itself names the common table expression. */
static int
count_own_references(const Query *query, const CommonTableExpr *cte)
{
	ListCell   *cell;
	int			n = 0;

	foreach(cell, query->rtable)
	{
		RangeTblEntry *entry = lfirst_node(RangeTblEntry, cell);

		if (entry->rtekind == RTE_CTE && entry->ctelevelsup == 0 &&
			strcmp(entry->ctename, cte->ctename) == 0)
			n++;
	}
	return n;
}

static bool
shows_rows_walker(Node *node, void *context)
{
	Oid			relid = *(Oid *) context;
	Query	   *query;
	ListCell   *cell;
	bool		released;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, shows_rows_walker, context);
	query = (Query *) node;
	/* do dp_ aggregates stand between the rows of the level and its reader? */
	released = dp_catalog_has_own_aggregate(query);
	foreach(cell, query->rtable)
	{
		RangeTblEntry *entry = lfirst_node(RangeTblEntry, cell);

		if (released)
			break;
		if (entry->rtekind == RTE_RELATION && entry->relid == relid)
			return true;
		if (entry->rtekind == RTE_SUBQUERY &&
			shows_rows_walker((Node *) entry->subquery, context))
			return true;
	}
	if (!released)
		return query_tree_walker(query, shows_rows_walker, context,
								 QTW_IGNORE_RT_SUBQUERIES);
	foreach(cell, query->cteList)
	{
		CommonTableExpr *cte = lfirst_node(CommonTableExpr, cell);

		if (count_own_references(query, cte) != cte->cterefcount &&
			shows_rows_walker(cte->ctequery, context))
			return true;
	}
	return shows_rows_walker((Node *) query->targetList, context) ||
		shows_rows_walker(query->havingQual, context);
}

static bool
names_relation_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
		return ((RangeTblEntry *) node)->rtekind == RTE_RELATION &&
			((RangeTblEntry *) node)->relid == *(Oid *) context;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, names_relation_walker,
								 context, QTW_EXAMINE_RTES_BEFORE);
	return expression_tree_walker(node, names_relation_walker, context);
}

/* The actions of a rule, or its condition. */
static bool
rule_shows_rows(HeapTuple rule, TupleDesc desc, Oid relid)
{
	bool		isnull;
	Datum		condition = heap_getattr(rule, Anum_pg_rewrite_ev_qual, desc,
										 &isnull);

	return shows_rows_walker((Node *) dp_protect_rule_queries(rule),
							 &relid) ||
		(!isnull &&
		 shows_rows_walker(stringToNode(TextDatumGetCString(condition)),
						   &relid));
}

/* ---- following rules ---- */

/*
 * dp_protect_can_read
 *	  May the role read what belongs to the owner, by its own rights?
 */
bool
dp_protect_can_read(Oid role, Oid owner)
{
	return has_privs_of_role(role, owner) ||
		has_privs_of_role(role, ROLE_PG_READ_ALL_DATA);
}

static bool
is_populated(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	bool		result = false;

	if (HeapTupleIsValid(tuple))
	{
		result = ((Form_pg_class) GETSTRUCT(tuple))->relispopulated;
		ReleaseSysCache(tuple);
	}
	return result;
}

static List *
add_reached(List *reached, Oid relid, dp_reach reach, Oid from,
			const char *rule)
{
	dp_reached *item;
	ListCell   *cell;

	foreach(cell, reached)
	{
		item = lfirst(cell);
		if (item->relid == relid && item->reach >= reach)
			return reached;
	}
	item = palloc0(sizeof(dp_reached));
	item->relid = relid;
	item->reach = reach;
	item->from = from;
	item->rule = rule ? pstrdup(rule) : NULL;
	return lappend(reached, item);
}

/* What a rule's relation shows of rows that the rule shows. */
static dp_reach
reach_of_rows(const dp_reached *item, Oid reader, bool is_select, Oid owner)
{
	if (get_rel_relkind(reader) == RELKIND_MATVIEW)
		return DP_REACH_OPEN;
	if (item->reach == DP_REACH_OPEN &&
		!(is_select && dp_protect_is_security_invoker(reader)) &&
		dp_protect_can_read(dp_catalog_owner(reader), owner))
		return DP_REACH_OPEN;
	return DP_REACH_CLOSED;
}

/* Follow one rule whose queries name the relation that was reached. */
static List *
follow_rule(List *reached, const dp_reached *item, HeapTuple rule,
			TupleDesc desc, Oid owner)
{
	Form_pg_rewrite form = (Form_pg_rewrite) GETSTRUCT(rule);
	Oid			reader = form->ev_class;
	char		kind = get_rel_relkind(reader);
	bool		is_select = form->ev_type == '0' + CMD_SELECT;
	bool		shows;
	dp_reach	reach = DP_REACH_RELEASED;

	if (reader == item->relid || !OidIsValid(dp_catalog_owner(reader)))
		return reached;
	shows = rule_shows_rows(rule, desc, item->relid);
	if (!shows &&
		(kind != RELKIND_VIEW ||
		 !names_relation_walker((Node *) dp_protect_rule_queries(rule),
								(void *) &item->relid)))
		return reached;
	if (shows && item->reach != DP_REACH_RELEASED)
		reach = reach_of_rows(item, reader, is_select, owner);
	else if (kind == RELKIND_MATVIEW && is_populated(reader))
		reach = DP_REACH_OPEN;
	/* what nobody can read with others' rights leads on to copies only */
	if (reach != DP_REACH_OPEN && !is_select)
		return reached;
	return add_reached(reached, reader, reach, item->relid,
					   is_select ? NULL : NameStr(form->rulename));
}

static List *
follow_relation(List *reached, const dp_reached *item, Oid owner)
{
	Relation	depend = table_open(DependRelationId, AccessShareLock);
	Relation	rewrite = table_open(RewriteRelationId, AccessShareLock);
	ScanKeyData key[2];
	SysScanDesc scan;
	HeapTuple	tuple;
	List	   *rules = NIL;
	ListCell   *cell;

	ScanKeyInit(&key[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(RelationRelationId));
	ScanKeyInit(&key[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(item->relid));
	scan = systable_beginscan(depend, DependReferenceIndexId, true, NULL, 2,
							  key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend form = (Form_pg_depend) GETSTRUCT(tuple);

		if (form->classid == RewriteRelationId)
			rules = list_append_unique_oid(rules, form->objid);
	}
	systable_endscan(scan);
	foreach(cell, rules)
	{
		ScanKeyInit(&key[0], Anum_pg_rewrite_oid, BTEqualStrategyNumber,
					F_OIDEQ, ObjectIdGetDatum(lfirst_oid(cell)));
		scan = systable_beginscan(rewrite, RewriteOidIndexId, true, NULL, 1,
								  key);
		tuple = systable_getnext(scan);
		if (HeapTupleIsValid(tuple))
			reached = follow_rule(reached, item, tuple,
								  RelationGetDescr(rewrite), owner);
		systable_endscan(scan);
	}
	table_close(rewrite, AccessShareLock);
	table_close(depend, AccessShareLock);
	return reached;
}

/* ---- telling ---- */

static char *
continue_clause(char *first, const char *rest)
{
	return rest ? psprintf("%s, %s", first, rest) : first;
}

/* A materialized view tells by what it holds, also when it is not ours. */
static void
add_copy(dp_exposure_search *search, const dp_reached *item,
		 const char *severity, const char *clause)
{
	const char *name = dp_protect_qualified_name(item->relid);
	const char *from = dp_protect_qualified_name(item->from);
	Oid			owner = dp_catalog_owner(item->relid);
	bool		populated = is_populated(item->relid);
	const char *holds = populated ? "holds" : "would hold";
	char	   *command = psprintf("DROP MATERIALIZED VIEW %s;", name);

	if (!populated && !dp_protect_can_read(owner, search->owner))
		return;
	if (!dp_protect_exposure_is_owner(owner, search->owner))
		dp_protect_add_other(search, item->relid, severity,
							 psprintf("materialized view %s %s copies of "
									  "rows of %s and belongs to %s", name,
									  holds, from,
									  dp_protect_role_name(owner)),
							 command);
	dp_protect_add_grants(search, item->relid, ACL_SELECT | ACL_MAINTAIN,
						  NIL, severity,
						  continue_clause(psprintf("a materialized view that "
												   "%s copies of rows of %s",
												   holds, from),
										  clause),
						  command);
}

static void
add_reader(dp_exposure_search *search, const dp_reached *item, AclMode mask,
		   const char *severity, const char *clause)
{
	const char *name = dp_protect_qualified_name(item->relid);
	const char *from = dp_protect_qualified_name(item->from);
	const char *rule = item->rule ? quote_identifier(item->rule) : NULL;
	const char *owner;

	owner = dp_protect_role_name(dp_catalog_owner(item->relid));
	if (item->rule != NULL)
		dp_protect_add_grants(search, item->relid,
							  ACL_INSERT | ACL_UPDATE | ACL_DELETE, NIL,
							  severity,
							  continue_clause(psprintf("whose rule %s uses "
													   "%s with the rights "
													   "of %s", rule, from,
													   owner),
											  clause),
							  psprintf("DROP RULE %s ON %s;", rule, name));
	else if (get_rel_relkind(item->relid) == RELKIND_MATVIEW)
		add_copy(search, item, severity, clause);
	else
		dp_protect_add_grants(search, item->relid, mask, NIL, severity,
							  continue_clause(psprintf("a view that reads "
													   "%s with the rights "
													   "of %s", from, owner),
											  clause),
							  psprintf("ALTER VIEW %s SET "
									   "(security_invoker = true);", name));
}

/*
 * dp_protect_add_readers
 *	  Add the privileges of mask on what reads one of these relations with the
 *	  rights of somebody who may; the clause tells where the relations lead to.
 */
void
dp_protect_add_readers(dp_exposure_search *search, const List *relids,
					   AclMode mask, const char *severity,
					   const char *clause)
{
	List	   *reached = NIL;
	ListCell   *cell;
	int			first = list_length(relids);
	int			i;

	foreach(cell, relids)
		reached = add_reached(reached, lfirst_oid(cell), DP_REACH_OPEN,
							  InvalidOid, NULL);
	/* the list grows while it is walked */
	for (i = 0; i < list_length(reached); i++)
	{
		dp_reached *item = list_nth(reached, i);

		/* what fires a rule does not read */
		if (item->rule == NULL)
			reached = follow_relation(reached, item, search->owner);
		if (i >= first && item->reach == DP_REACH_OPEN)
			add_reader(search, item, mask, severity, clause);
	}
}
