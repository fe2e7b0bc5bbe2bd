/*
 * rewrite.c
 *	  Transparent mode: find the levels of a query whose plain aggregates are
 *	  read as private ones.
 *
 * The query is analysed and rewritten: views are expanded, names and types of
 * its columns are fixed.  A relation is private where it is protected and the
 * user whose rights it is checked with has no right to read what the query
 * reads of it.  So owners, and functions and views that read with their
 * rights, keep exact answers, and nobody else has any to lose: without this
 * mode the query would be refused.
 *
 * Levels are looked at from the inside out.  Rows of a private relation stay
 * private rows through levels that neither group nor aggregate, and through
 * those whose keys contain the unit.  The lowest level above them that does
 * aggregate becomes private (replace_aggregate.c), and what it gives is
 * released values, over which everything is plain SQL again.
 *
 * Nothing here has to be right for privacy.  What it makes is what an analyst
 * could have written: it is verified, split, checked and charged as that.
 */
#include "postgres.h"

#include "access/transam.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"

#include "level.h"

typedef struct rewriting
{
	dp_level   *level;			/* around what is walked */
	const char *text;			/* of the query */
	bool		met;			/* rows that are private */
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
			/* the cheaper question first; most relations may be read */
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

/* Everything below the level; true when rows of FROM are private. */
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

/* By its form: does what it gives not consist of rows that it reads? */
static bool
groups_rows(const Query *query)
{
	return query->hasAggs || query->groupClause != NIL ||
		query->groupingSets != NIL ||
		(query->distinctClause != NIL && !query->hasDistinctOn);
}

/* A SELECT over private rows; true when it gives private rows, too. */
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

/* Rewrite one level and all below; true when it gives private rows. */
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

/* Once, so that nobody takes the answers for exact ones. */
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
