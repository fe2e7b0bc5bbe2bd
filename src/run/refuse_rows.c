/*
 * refuse_rows.c
 *	  Says why rows cannot be read, by the name that the user wrote, and what
 *	  can be asked instead.
 *
 * PostgreSQL's own message names a table that the user of a view never named,
 * and does not say what is allowed.  This text follows from the catalog and
 * from the budget of the asking role, which it may see anyway.  Nothing is
 * refused here that PostgreSQL would not refuse.
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "run.h"

typedef struct row_search
{
	Oid			view;			/* the outermost view around it, or none */
	Oid			named;			/* result: what the user wrote */
	Oid			relid;			/* result: the protected relation, or
								 * InvalidOid */
} row_search;

/* ---- searching ---- */

/* Does it read rows of a protected relation without the right to? */
static bool
reads_protected(Query *level, const RangeTblEntry *entry)
{
	return entry->rtekind == RTE_RELATION &&
		entry->relkind != RELKIND_VIEW &&
		entry->relid >= FirstNormalObjectId &&
		dp_compat_lacks_table(level, entry) &&
		OidIsValid(dp_protect_root(entry->relid)) &&
		!dp_compat_may_read(level, entry);
}

/* The view for which a subquery in FROM stands, or InvalidOid. */
static Oid
view_of(const RangeTblEntry *entry)
{
	const RangeTblEntry *first;

	if (OidIsValid(entry->relid))
		return entry->relid;	/* from 16 on */
	if (entry->subquery->rtable == NIL)
		return InvalidOid;
	first = linitial_node(RangeTblEntry, entry->subquery->rtable);
	return first->rtekind == RTE_RELATION &&
		first->relkind == RELKIND_VIEW ? first->relid : InvalidOid;
}

static bool
row_walker(Node *node, void *context)
{
	row_search *search = context;
	Query	   *level = (Query *) node;
	ListCell   *lc;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, row_walker, context);
	foreach(lc, level->rtable)
	{
		RangeTblEntry *entry = lfirst_node(RangeTblEntry, lc);
		Oid			around = search->view;

		if (reads_protected(level, entry))
		{
			search->relid = entry->relid;
			search->named = OidIsValid(around) ? around : entry->relid;
			return true;
		}
		if (entry->rtekind != RTE_SUBQUERY)
			continue;
		if (!OidIsValid(around))
			search->view = view_of(entry);
		if (row_walker((Node *) entry->subquery, context))
			return true;
		search->view = around;
	}
	foreach(lc, level->cteList)
	{
		CommonTableExpr *cte = lfirst_node(CommonTableExpr, lc);

		/* a CTE that is no longer referenced is not planned */
		if (cte->cterefcount != 0 && row_walker(cte->ctequery, context))
			return true;
	}
	return query_tree_walker(level, row_walker, context,
							 QTW_IGNORE_RT_SUBQUERIES |
							 QTW_IGNORE_CTE_SUBQUERIES);
}

/* Is there an aggregate that is not private? *context receives its OID. */
static bool
plain_aggregate_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref) &&
		dp_catalog_aggregate_kind(((Aggref *) node)->aggfnoid) == DP_AGG_NONE)
	{
		*(Oid *) context = ((Aggref *) node)->aggfnoid;
		return true;
	}
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, plain_aggregate_walker,
								 context, 0);
	return expression_tree_walker(node, plain_aggregate_walker, context);
}

/* ---- texts ---- */

/*
 * The name by which the user finds the relation; of what a function with
 * another role's rights reads, only what PostgreSQL's message shows.
 */
static char *
visible_name(Oid relid)
{
	return RelationIsVisible(relid) || dp_bridge_has_others_rights() ?
		get_rel_name(relid) : dp_protect_qualified_name(relid);
}

static const char *
kind_of(Oid relid)
{
	return get_rel_relkind(relid) == RELKIND_VIEW ? "view" : "table";
}

/* What the asking role may still spend, the cap included. */
static dp_fixed
remaining(const dp_ledger_standing *standing)
{
	dp_fixed	own = dp_ledger_remaining(&standing->limit, &standing->spent);

	return !standing->capped ? own :
		Min(own, dp_ledger_remaining(&standing->cap, &standing->cap_spent));
}

/*
 * That it is protected; for roles that may ask, also in which dataset, and how
 * much remains.
 */
static char *
detail_text(Oid named, const char *dataset, const dp_ledger_standing *standing)
{
	char	   *text = psprintf("Rows of %s \"%s\" are protected by "
								"differential privacy", kind_of(named),
								visible_name(named));

	if (!standing->found)
		return psprintf("%s.", text);
	if (standing->exempt)
		return psprintf("%s, in dataset \"%s\".", text, dataset);
	return psprintf("%s, in dataset \"%s\", where epsilon %s remains to you.",
					text, dataset,
					dp_bridge_epsilon_text(remaining(standing),
										   DP_ROUND_DOWN));
}

/* What to write instead. */
static char *
hint_text(Query *query, const dp_ledger_standing *standing)
{
	Oid			plain = InvalidOid;

	if (!standing->found)
		return pstrdup("Aggregates such as dp_count(*) answer roles that have "
					   "a budget; ask the owner of the table for one.");
	if (dp_setting_transparent)
		return pstrdup("Ask for aggregates, such as count(*) or avg, over all "
					   "rows or grouped by columns with public values.");
	if (query != NULL && plain_aggregate_walker((Node *) query, &plain))
		return dp_catalog_private_advice(plain);
	return pstrdup("Ask for aggregates, such as dp_count(*) or dp_avg, over "
				   "all rows or grouped by columns with public values.");
}

/*
 * dp_run_make_refusal
 *	  The refusal to show rows of a protected relation, or of a part of one,
 *	  which the user named `named`; `query` may be NULL; `hint`, if given, is
 *	  for roles that may ask.
 */
dp_refusal *
dp_run_make_refusal(Oid named, Oid relid, Query *query, const char *hint)
{
	const char *dataset = dp_protect_dataset(dp_protect_root(relid));
	dp_ledger_standing standing;

	MemSet(&standing, 0, sizeof(standing));
	if (dataset != NULL)
		dp_ledger_read_standing(dataset, &standing);
	return dp_bridge_refuse(ERRCODE_INSUFFICIENT_PRIVILEGE, -1,
							detail_text(named, dataset, &standing),
							hint != NULL && standing.found ? hint :
							hint_text(query, &standing),
							"permission denied for %s %s", kind_of(named),
							get_rel_name(named));
}

/* ---- statements ---- */

/*
 * dp_run_refuse_rows
 *	  The refusal of a statement that would read rows of a protected relation
 *	  without the right to; NULL if there is none.
 */
dp_refusal *
dp_run_refuse_rows(Query *query)
{
	row_search	search = {InvalidOid, InvalidOid, InvalidOid};

	if (!row_walker((Node *) query, &search))
		return NULL;
	return dp_run_make_refusal(search.named, search.relid, query, NULL);
}

/*
 * The first view among the entries that reads the relation, or the relation.
 */
static Oid
find_named(const List *entries, Oid relid)
{
	ListCell   *lc;

	foreach(lc, entries)
	{
		const RangeTblEntry *entry = lfirst_node(RangeTblEntry, lc);

		if (OidIsValid(entry->relid) && entry->relkind == RELKIND_VIEW &&
			list_member_oid(dp_protect_view_reads(entry->relid, false), relid))
			return entry->relid;
	}
	return relid;
}

/*
 * dp_run_refuse_entries
 *	  The same for one level that the planner has changed, or the entries of a
 *	  plan, where views are entries among others.
 */
dp_refusal *
dp_run_refuse_entries(Query *level)
{
	ListCell   *lc;

	foreach(lc, level->rtable)
	{
		const RangeTblEntry *entry = lfirst_node(RangeTblEntry, lc);

		if (reads_protected(level, entry))
			return dp_run_make_refusal(find_named(level->rtable, entry->relid),
									   entry->relid, NULL, NULL);
	}
	return NULL;
}
