/*
 * group_size.c
 *	  dp_pg.suppress: each group has its number of rows among the values that
 *	  are released, by which the release decides whether to tell of the group.
 *
 * A plain query has no row for a group without rows, a private one a row for
 * every public group.  Groups whose released number of rows cannot be told
 * from none are left out of the answer: that follows from released values
 * alone, so it costs nothing but the number itself.
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"

#include "split.h"

typedef struct size_search
{
	int			level;
	bool		found;
} size_search;

/* dp_count(*) over all rows of the group. */
static bool
is_size(const Aggref *aggregate)
{
	return aggregate->aggstar && aggregate->aggfilter == NULL &&
		dp_catalog_aggregate_kind(aggregate->aggfnoid) == DP_AGG_COUNT;
}

static bool
size_walker(Node *node, void *context)
{
	size_search *search = context;

	if (node == NULL)
		return false;
	if (IsA(node, Aggref) &&
		(int) ((Aggref *) node)->agglevelsup == search->level &&
		is_size((Aggref *) node))
		search->found = true;
	if (IsA(node, Query))
	{
		search->level++;
		(void) query_tree_walker((Query *) node, size_walker, context, 0);
		search->level--;
		return false;
	}
	return expression_tree_walker(node, size_walker, context);
}

/* dp_block_holds_size: does an expression of a level use that number? */
bool
dp_block_holds_size(Node *expression)
{
	size_search search = {0, false};

	(void) size_walker(expression, &search);
	return search.found;
}

/*
 * dp_block_adds_size
 *	  Will a level, not yet split, release a number of rows that it does not
 *	  ask for?
 */
bool
dp_block_adds_size(const Query *query)
{
	size_search search = {0, false};

	if (!dp_bridge_suppresses() || query->groupClause == NIL ||
		!dp_catalog_has_own_aggregate(query))
		return false;
	(void) size_walker((Node *) query->targetList, &search);
	(void) size_walker(query->havingQual, &search);
	return !search.found;
}

static Aggref *
make_size(void)
{
	Aggref	   *size = makeNode(Aggref);

	size->aggfnoid = dp_catalog_aggregate("dp_count", 0, NULL);
	if (!OidIsValid(size->aggfnoid))
		elog(ERROR, "aggregate dp_count(*) not found");
	size->aggtype = INT8OID;
	size->aggstar = true;
	size->aggkind = AGGKIND_NORMAL;
	size->aggsplit = AGGSPLIT_SIMPLE;
	size->aggno = -1;
	size->aggtransno = -1;
	size->location = -1;
	return size;
}

/*
 * dp_block_add_size
 *	  Find the number of rows among the collected aggregates of a level with
 *	  keys, or add it; block->size tells its place, from 1.
 */
void
dp_block_add_size(dp_splitter *s, dp_block *block)
{
	ListCell   *lc;

	if (!dp_bridge_suppresses() || s->query->groupClause == NIL ||
		s->aggregates == NIL)
		return;
	foreach(lc, s->aggregates)
		if (is_size(lfirst(lc)))
		{
			block->size = foreach_current_index(lc) + 1;
			return;
		}
	s->aggregates = lappend(s->aggregates, make_size());
	block->size = list_length(s->aggregates);
}
