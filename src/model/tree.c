/*
 * tree.c
 *	  Junction trees: the sets of columns within which a distribution with
 *	  given marginals is kept, and how they are connected.
 *
 * The sets make a graph of columns.  Columns are eliminated one by one, the
 * cheapest first; a column and its neighbours then make a clique.  The maximal
 * cliques, joined by a spanning tree of the largest separators, are a junction
 * tree: nodes with a column in common are connected through nodes that have
 * it.  Parts that have nothing in common are joined by empty separators.
 */
#include "dp_distribution.h"

/* Which column is cheapest to eliminate. */
typedef enum rule
{
	LEAST_CELLS,
	LEAST_FILL
} rule;

/* Edges that eliminating a column with these neighbours would add. */
static int
missing_edges(const dp_columns *near, dp_columns neighbours, int columns)
{
	int			missing = 0;
	int			i;

	for (i = 0; i < columns; i++)
		if (neighbours & DP_COLUMN(i))
			missing += __builtin_popcountll(neighbours & ~near[i] &
											~DP_COLUMN(i));
	return missing;
}

/* Columns that are left, and what eliminating each of them costs. */
typedef struct graph
{
	const dp_shape *shape;
	rule		by;
	dp_columns	left;
	dp_columns	near[DP_SHAPE_COLUMNS]; /* itself included */
	double		cost[DP_SHAPE_COLUMNS][2];
} graph;

/*
 * Recompute the costs of some columns.  Filling in edges may change the second
 * cost of others, too; an outdated cost makes no tree wrong.
 */
static void
price(graph *g, dp_columns columns)
{
	int			i;

	for (i = 0; i < g->shape->columns; i++)
	{
		dp_columns	neighbours = g->near[i] & g->left & ~DP_COLUMN(i);

		if (!(columns & DP_COLUMN(i)))
			continue;
		g->cost[i][g->by == LEAST_FILL] =
			dp_model_shape_cells(g->shape, neighbours | DP_COLUMN(i));
		g->cost[i][g->by != LEAST_FILL] =
			missing_edges(g->near, neighbours, g->shape->columns);
	}
}

/* The column to eliminate next. */
static int
cheapest(const graph *g)
{
	int			best = -1;
	int			i;

	for (i = 0; i < g->shape->columns; i++)
		if ((g->left & DP_COLUMN(i)) &&
			(best < 0 || g->cost[i][0] < g->cost[best][0] ||
			 (g->cost[i][0] == g->cost[best][0] &&
			  g->cost[i][1] < g->cost[best][1])))
			best = i;
	return best;
}

static void
draw_graph(graph *g, const dp_shape *shape, const dp_columns *sets,
		   int nsets, rule by)
{
	int			i;
	int			k;

	g->shape = shape;
	g->by = by;
	g->left = 0;
	for (i = 0; i < shape->columns; i++)
	{
		g->near[i] = DP_COLUMN(i);
		g->left |= DP_COLUMN(i);
		for (k = 0; k < nsets; k++)
			if (sets[k] & DP_COLUMN(i))
				g->near[i] |= sets[k];
	}
	price(g, g->left);
}

/* The maximal cliques after elimination; returns how many. */
static int
find_cliques(const dp_shape *shape, const dp_columns *sets, int nsets,
			 rule by, dp_columns *clique)
{
	graph		g;
	int			n = 0;
	int			i;
	int			k;

	draw_graph(&g, shape, sets, nsets, by);
	while (g.left != 0)
	{
		int			column = cheapest(&g);
		dp_columns	set = g.near[column] & g.left;

		for (i = 0; i < shape->columns; i++)
			if (set & DP_COLUMN(i))
				g.near[i] |= set;
		g.left &= ~DP_COLUMN(column);
		price(&g, set & g.left);
		for (k = 0; k < n; k++)
			if ((set & ~clique[k]) == 0)
				break;
		if (k == n)
			clique[n++] = set;
	}
	return n;
}

static double
sum_of_cells(const dp_shape *shape, const dp_columns *clique, int n)
{
	double		cells = 0;
	int			i;

	for (i = 0; i < n; i++)
		cells += dp_model_shape_cells(shape, clique[i]);
	return cells;
}

/* A spanning tree of the largest separators, from the first clique on. */
static void
join_cliques(const dp_columns *clique, int n, dp_tree *out)
{
	bool		joined[DP_SHAPE_COLUMNS] = {false};

	out->nodes = 0;
	while (out->nodes < n)
	{
		int			most = -1;
		int			who = 0;
		int			parent = -1;
		int			i;
		int			k;

		for (i = 0; i < n; i++)
			for (k = 0; k < out->nodes && !joined[i]; k++)
			{
				int			common = __builtin_popcountll(clique[i] &
														  out->node[k].set);

				if (common > most)
				{
					most = common;
					who = i;
					parent = k;
				}
			}
		joined[who] = true;
		out->node[out->nodes].set = clique[who];
		out->node[out->nodes].parent = parent;
		out->node[out->nodes].separator =
			parent < 0 ? 0 : clique[who] & out->node[parent].set;
		out->nodes++;
	}
}

/*
 * dp_model_tree_make
 *	  A junction tree in which every one of the sets lies within a node, and
 *	  every column in some node.
 *
 * Both ways of choosing what to eliminate are tried.
 *
 * Requires: shape of 1 to DP_SHAPE_COLUMNS columns; sets within it.
 * Gives:	 *out, unless out is NULL; the cells of all nodes.
 * Source:	 doc/theory.md T70.
 */
double
dp_model_tree_make(const dp_shape *shape, const dp_columns *sets, int nsets,
				   dp_tree *out)
{
	dp_columns	clique[2][DP_SHAPE_COLUMNS];
	double		cells[2];
	int			n[2];
	int			best;
	int			i;

	for (i = 0; i < 2; i++)
	{
		n[i] = find_cliques(shape, sets, nsets, (rule) i, clique[i]);
		cells[i] = sum_of_cells(shape, clique[i], n[i]);
	}
	best = cells[1] < cells[0];
	if (out != NULL)
		join_cliques(clique[best], n[best], out);
	return cells[best];
}

/*
 * dp_model_tree_find
 *	  The smallest node that holds a set.
 *
 * Requires: a tree of dp_model_tree_make.
 * Gives:	 its index, or -1 when no node holds the set.
 * Source:	 doc/theory.md T70.
 */
int
dp_model_tree_find(const dp_tree *tree, const dp_shape *shape, dp_columns set)
{
	double		least = 0;
	int			best = -1;
	int			i;

	for (i = 0; i < tree->nodes; i++)
	{
		double		cells = dp_model_shape_cells(shape, tree->node[i].set);

		if ((set & ~tree->node[i].set) == 0 && (best < 0 || cells < least))
		{
			best = i;
			least = cells;
		}
	}
	return best;
}
