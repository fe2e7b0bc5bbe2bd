/*
 * contains.c
 *	  What trees of expressions and queries contain.
 *
 * Nodes are visited in the order of PostgreSQL's tree walkers, each before
 * what is below it.  Walkers that leave out parts of a tree, change it or
 * follow references are written out where they are used.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"

#include "dp_base.h"

typedef struct contains_walk
{
	dp_walk		place;			/* first: tests are given it */
	dp_node_test test;
	int			flags;
} contains_walk;

static bool contains_walker(Node *node, void *context);

static bool
contains_enter(Query *query, contains_walk *walk)
{
	Query	   *level = walk->place.level;
	bool		found;

	walk->place.level = query;
	walk->place.depth++;
	found = query_tree_walker(query, contains_walker, walk,
							  walk->flags & ~(DP_WALK_ONE_LEVEL |
											  DP_WALK_INSIDE));
	walk->place.depth--;
	walk->place.level = level;
	return found;
}

static bool
contains_walker(Node *node, void *context)
{
	contains_walk *walk = context;

	if (node == NULL)
		return false;
	if (walk->test(node, &walk->place))
		return true;
	if (IsA(node, RangeTblEntry))
		return false;			/* its contents are walked next */
	if (!IsA(node, Query))
		return expression_tree_walker(node, contains_walker, context);
	return (walk->flags & DP_WALK_ONE_LEVEL) == 0 &&
		contains_enter((Query *) node, walk);
}

/*
 * dp_base_contains
 *	  Whether a test holds for a node of a tree, or false for NULL.  The walk
 *	  ends at the first such node; a test that collects returns false.
 *
 *	  flags		0: levels below are entered, all parts of them
 *				QTW_IGNORE_..: but for some parts of levels
 *				QTW_EXAMINE_RTES_BEFORE: tests are given range table entries,
 *				too, before their contents
 *				DP_WALK_ONE_LEVEL: levels below are tested as nodes, but not
 *				entered
 *				DP_WALK_INSIDE: the tree is a Query, which is entered, but not
 *				tested
 */
bool
dp_base_contains(Node *tree, dp_node_test test, void *context, int flags)
{
	bool		level = tree != NULL && IsA(tree, Query);
	contains_walk walk = {{context, NULL, level ? -1 : 0}, test, flags};

	return flags & DP_WALK_INSIDE ? contains_enter((Query *) tree, &walk) :
		contains_walker(tree, &walk);
}

/*
 * dp_base_unlabelled
 *	  The expression, which may be NULL, below casts to binary-compatible
 *	  types.
 */
Node *
dp_base_unlabelled(const Node *node)
{
	while (node != NULL && IsA(node, RelabelType))
		node = (const Node *) ((const RelabelType *) node)->arg;
	return unconstify(Node *, node);
}
