/*
 * rewrite.c
 *	  Transparent mode: find the levels of a query whose plain aggregates
 *	  become private.
 *
 * The query is analyzed and rewritten: views are expanded, names and types of
 * its columns are fixed.  A relation is private if it is protected and the
 * user whose rights are checked may not read what the query reads of it.  So
 * owners, and functions and views with their rights, still get exact results;
 * for others the query would fail without this mode.
 *
 * Levels are visited from the inside out.  Rows of a private relation remain
 * private rows through levels that neither group nor aggregate, and through
 * those whose keys contain the unit.  The lowest level above that aggregates
 * becomes private (replace_aggregate.c); its results are released values, over
 * which everything is plain SQL.
 *
 * Privacy does not depend on this code: its result is a query that an analyst
 * could have written, and is verified, split, checked and charged like one.
 */
#include "postgres.h"

#include "access/transam.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"

#include "level.h"

typedef struct rewriting
{
	dp_level   *level;			/* the level being walked */
	const char *text;			/* of the query */
	bool		met;			/* private rows were found */
	bool		private;		/* a level became private */
	dp_refusal *refusal;
} rewriting;

static bool rewrite_level(Query *query, rewriting *r);

/* ---- what a level reads ---- */

static bool
reads_raw_rows(dp_level *level, RangeTblEntry *entry, rewriting *r)
{
	bool		raw = false;

	switch (entry->rtekind)
	{
		case RTE_RELATION:
			/* the cheaper test first: most relations may be read */
			if (entry->relid < FirstNormalObjectId ||
				dp_compat_has_right(level->query, entry) ||
				!dp_rewrite_is_protected(entry))
				return false;
			r->met = true;
			return true;
		case RTE_SUBQUERY:
			return rewrite_level(entry->subquery, r);
		case RTE_CTE:
			(void) dp_rewrite_find_cte(level, entry, &raw);
			return raw;
		default:
			return false;
	}
}

static bool
sublink_walker(Node *node, void *context)
{
	rewriting  *r = context;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		(void) rewrite_level((Query *) node, r);
		return r->refusal != NULL;
	}
	return expression_tree_walker(node, sublink_walker, context);
}

/* Rewrite everything below the level; true if rows of FROM are private. */
static bool
rewrite_below(dp_level *level, rewriting *r)
{
	bool		raw = false;
	ListCell   *lc;

	foreach(lc, level->query->cteList)
	{
		CommonTableExpr *cte = lfirst_node(CommonTableExpr, lc);

		if (rewrite_level(castNode(Query, cte->ctequery), r))
			level->raw_ctes = lappend(level->raw_ctes, cte);
	}
	foreach(lc, level->query->rtable)
		if (reads_raw_rows(level, lfirst_node(RangeTblEntry, lc), r))
			raw = true;
	if (r->refusal == NULL)
		(void) query_tree_walker(level->query, sublink_walker, r,
								 QTW_IGNORE_RT_SUBQUERIES |
								 QTW_IGNORE_CTE_SUBQUERIES);
	return raw;
}

/* ---- levels over private rows ---- */

/*
 * Whether the level groups or aggregates, so that its rows are not those it
 * reads.
 */
static bool
groups_rows(const Query *query)
{
	return query->hasAggs || query->groupClause != NIL ||
		query->groupingSets != NIL ||
		(query->distinctClause != NIL && !query->hasDistinctOn);
}

/* Rewrite a SELECT over private rows; true if it returns private rows, too. */
static bool
rewrite_raw(dp_level *level, rewriting *r)
{
	Query	   *query = level->query;
	List	   *sets;
	ListCell   *lc;

	if (query->setOperations != NULL)
		return true;
	dp_bridge_ungroup(query);
	if (dp_rewrite_answer_probe(query))
		return false;
	if (!groups_rows(query))
		return !(level->parent == NULL &&
				 dp_rewrite_answer_preview(query, r->text));
	if (dp_rewrite_has_unit_key(level))
		return true;
	r->private = true;
	if (query->groupingSets != NIL && dp_rewrite_split_sets(query, &sets))
	{
		foreach(lc, sets)
			if (r->refusal == NULL)
				r->refusal = dp_rewrite_replace_aggregates(lfirst(lc));
	}
	else if (query->hasAggs)
		r->refusal = dp_rewrite_replace_aggregates(query);
	return false;
}

/* Rewrite one level and all below; true if it returns private rows. */
static bool
rewrite_level(Query *query, rewriting *r)
{
	dp_level	level = {query, r->level, NIL};
	bool		raw;

	check_stack_depth();
	if (r->refusal != NULL || query->commandType == CMD_UTILITY)
		return false;
	r->level = &level;
	raw = rewrite_below(&level, r);
	r->level = level.parent;
	if (!raw || query->commandType != CMD_SELECT || r->refusal != NULL)
		return false;
	return rewrite_raw(&level, r);
}

/* ---- the query ---- */

/* Tell the user, once per connection, that answers are not exact. */
static void
tell_private(void)
{
	static bool told = false;

	if (told)
		return;
	told = true;
	ereport(NOTICE,
			(errmsg("answers about protected relations are private"),
			 errdetail("Counts, sums and averages have random noise, values "
					   "count up to the declared bounds, and a minimum or "
					   "maximum leaves some rows beyond it."),
			 errhint("EXPLAIN shows the noise and the price of a query; SET "
					 "dp_pg.transparent = off ends this mode.")));
}

/*
 * dp_rewrite_query
 *	  See dp_rewrite.h.
 */
dp_refusal *
dp_rewrite_query(Query *query, const char *text, bool *changed)
{
	rewriting	r;

	memset(&r, 0, sizeof(r));
	r.text = text;
	(void) rewrite_level(query, &r);
	*changed = r.met;
	if (r.private && r.refusal == NULL)
		tell_private();
	return r.refusal;
}
