/*
 * group_size.c
 *	  dp_pg.suppress: counts of rows among the released values, by which the
 *	  release decides what it returns.
 *
 * A plain query has no row for an empty group, a private one a row for every
 * public group; and a plain minimum of no rows is NULL, a private one any
 * value.  Groups whose released count cannot be told from none are left out of
 * the answer, and selections (minimum, quantile, most frequent value) among
 * values whose count cannot be told from none are NULL.  This follows from
 * released values only, so it costs nothing but the counts themselves, which
 * are added if the query does not release them anyway.
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"

#include "split.h"

/* ---- the aggregates of a level ---- */

typedef struct aggregate_search
{
	int			level;
	List	   *found;			/* of Aggref *: distinct, level 0 */
} aggregate_search;

static bool
aggregate_walker(Node *node, void *context)
{
	aggregate_search *search = context;

	if (node == NULL)
		return false;
	if (IsA(node, Aggref) &&
		(int) ((Aggref *) node)->agglevelsup == search->level)
		search->found =
			list_append_unique(search->found,
							   dp_block_lift_aggregate((Aggref *) node,
													   search->level));
	if (IsA(node, Query))
	{
		search->level++;
		(void) query_tree_walker((Query *) node, aggregate_walker, context, 0);
		search->level--;
		return false;
	}
	return expression_tree_walker(node, aggregate_walker, context);
}

/* ---- numbers of rows ---- */

/* Is it the number of rows, dp_count(*)? */
static bool
is_size(const Aggref *aggregate)
{
	return aggregate->aggstar && aggregate->aggfilter == NULL &&
		dp_catalog_aggregate_kind(aggregate->aggfnoid) == DP_AGG_COUNT;
}

static Aggref *
make_count(int nargs)
{
	const Oid	any = ANYOID;
	Aggref	   *size = makeNode(Aggref);

	size->aggfnoid = dp_catalog_aggregate("dp_count", nargs, &any);
	if (!OidIsValid(size->aggfnoid))
		elog(ERROR, "aggregate dp_count not found");
	size->aggtype = INT8OID;
	size->aggkind = AGGKIND_NORMAL;
	size->aggsplit = AGGSPLIT_SIMPLE;
	size->aggno = -1;
	size->aggtransno = -1;
	size->location = -1;
	return size;
}

/* The position of an aggregate, from 1; it is added if missing. */
static int
place_of(List **aggregates, Aggref *wanted)
{
	ListCell   *lc;

	foreach(lc, *aggregates)
		if (equal(lfirst(lc), wanted))
			return foreach_current_index(lc) + 1;
	*aggregates = lappend(*aggregates, wanted);
	return list_length(*aggregates);
}

/* The position of the number of rows, dp_count(*). */
static int
size_place(List **aggregates)
{
	Aggref	   *size;
	ListCell   *lc;

	foreach(lc, *aggregates)
		if (is_size(lfirst(lc)))
			return foreach_current_index(lc) + 1;
	size = make_count(0);
	size->aggstar = true;
	return place_of(aggregates, size);
}

/*
 * The position of the number of values among which an aggregate selects,
 * dp_count(x).
 */
static int
values_place(List **aggregates, const Aggref *selection)
{
	TargetEntry *first = linitial(selection->args);
	Aggref	   *size = make_count(1);

	size->args = list_make1(makeTargetEntry(copyObject(first->expr), 1, NULL,
											false));
	size->aggargtypes = list_make1_oid(exprType((Node *) first->expr));
	size->inputcollid = exprCollation((Node *) first->expr);
	size->aggfilter = copyObject(selection->aggfilter);
	return place_of(aggregates, size);
}

/* Does it return some value whether or not there is a row? */
static bool
selects(const Aggref *aggregate)
{
	switch (dp_catalog_aggregate_kind(aggregate->aggfnoid))
	{
		case DP_AGG_QUANTILE:
		case DP_AGG_MEDIAN:
		case DP_AGG_MIN:
		case DP_AGG_MAX:
		case DP_AGG_ARGMAX:
			return true;
		default:
			return false;
	}
}

/*
 * Add the counts that decide.  *group: that of the whole group, or 0 if there
 * are no keys; the list has for each aggregate the position of its own, or 0.
 */
static List *
add_sizes(List **aggregates, bool grouped, int *group)
{
	List	   *own = NIL;
	int			n = list_length(*aggregates);
	int			i;

	*group = grouped && n > 0 ? size_place(aggregates) : 0;
	for (i = 0; i < n; i++)
	{
		const Aggref *aggregate = list_nth(*aggregates, i);

		own = lappend_int(own, !selects(aggregate) ? 0 :
						  values_place(aggregates, aggregate));
	}
	while (list_length(own) < list_length(*aggregates))
		own = lappend_int(own, 0);
	return own;
}

/* ---- what splitting asks for ---- */

/* dp_block_holds_size: does an expression of a level use such a count? */
bool
dp_block_holds_size(Node *expression)
{
	aggregate_search search = {0, NIL};
	ListCell   *lc;

	(void) aggregate_walker(expression, &search);
	foreach(lc, search.found)
		if (is_size(lfirst(lc)))
			return true;
	return false;
}

/*
 * dp_block_added_sizes
 *	  How many counts a level that is not yet split will release in addition to
 *	  what it asks for.
 */
int
dp_block_added_sizes(const Query *query)
{
	aggregate_search search = {0, NIL};
	int			group;
	int			n;

	if (!dp_bridge_suppresses() || !dp_catalog_has_own_aggregate(query))
		return 0;
	(void) aggregate_walker((Node *) query->targetList, &search);
	(void) aggregate_walker(query->havingQual, &search);
	n = list_length(search.found);
	(void) add_sizes(&search.found, query->groupClause != NIL, &group);
	return list_length(search.found) - n;
}

/*
 * dp_block_add_sizes
 *	  Find the counts that decide among the collected aggregates, or add them,
 *	  and record them in the block.
 */
void
dp_block_add_sizes(dp_splitter *s, dp_block *block)
{
	if (dp_bridge_suppresses())
		s->sizes = add_sizes(&s->aggregates, s->query->groupClause != NIL,
							 &block->size);
}
