/*
 * refuse_rows.c
 *	  Transparent mode: say why rows cannot be read, by the name that the user
 *	  wrote, and what can be asked instead.
 *
 * Tools ask published views; PostgreSQL's own message names a table that the
 * user never named.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "run.h"

typedef struct row_search
{
	Query	   *level;
	Oid			view;			/* the outermost view around it, or none */
	Oid			named;			/* found: what the user wrote */
	Oid			relid;			/* and the protected relation, or none */
} row_search;

/* The view that a subquery in FROM stands for, or InvalidOid. */
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
	Query	   *outer = search->level;
	ListCell   *lc;
	bool		found;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, row_walker, context);
	search->level = (Query *) node;
	foreach(lc, search->level->rtable)
	{
		RangeTblEntry *entry = lfirst_node(RangeTblEntry, lc);
		Oid			around = search->view;

		if (entry->rtekind == RTE_RELATION &&
			entry->relkind != RELKIND_VIEW &&
			!dp_compat_has_right(search->level, entry) &&
			OidIsValid(dp_protect_root(entry->relid)))
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
	foreach(lc, search->level->cteList)
	{
		CommonTableExpr *cte = lfirst_node(CommonTableExpr, lc);

		/* what nothing refers to any more is not planned */
		if (cte->cterefcount != 0 && row_walker(cte->ctequery, context))
			return true;
	}
	found = query_tree_walker(search->level, row_walker, context,
							  QTW_IGNORE_RT_SUBQUERIES |
							  QTW_IGNORE_CTE_SUBQUERIES);
	search->level = outer;
	return found;
}

/* "dataset "hospital", where epsilon 2.6 remains", or only that it is one. */
static char *
standing_text(Oid relid)
{
	const dp_relation *relation = dp_protect_lookup(dp_protect_root(relid));
	dp_ledger_standing standing;

	if (relation == NULL)
		return pstrdup("");
	dp_ledger_read_standing(relation->dataset, &standing);
	if (!standing.found)
		return pstrdup("");
	if (standing.exempt)
		return psprintf(", in dataset \"%s\"", relation->dataset);
	return psprintf(", in dataset \"%s\", where epsilon %s remains to you",
					relation->dataset, dp_bridge_fixed_to_cstring(
						dp_ledger_remaining(&standing.limit,
											&standing.spent)));
}

/*
 * dp_run_refuse_rows
 *	  The refusal of a statement that would read rows of a protected relation
 *	  without the right to; NULL where there is none such.
 */
dp_refusal *
dp_run_refuse_rows(Query *query)
{
	row_search	search = {NULL, InvalidOid, InvalidOid, InvalidOid};
	const char *kind;

	if (!row_walker((Node *) query, &search))
		return NULL;
	kind = get_rel_relkind(search.named) == RELKIND_VIEW ? "view" : "table";
	return dp_bridge_refuse(ERRCODE_INSUFFICIENT_PRIVILEGE, -1,
							psprintf("Its rows are protected%s.",
									 standing_text(search.relid)),
							"Ask for aggregates, such as count(*) or avg, "
							"over all rows or grouped by columns with "
							"public values.",
							"permission denied for %s %s", kind,
							get_rel_name(search.named));
}
