/*
 * distribution.c
 *	  A factored distribution: what was measured, the junction tree that
 *	  follows, and inference in it.
 *
 * The distribution is proportional to exp(sum of potentials), one potential
 * table for each measured set.  Inference goes up the tree, from the last node
 * to the root, and turns each node's potentials into probabilities of its
 * columns given its separator; each node's normalising sums become a potential
 * of its parent.  On the way down these conditionals times the parent's
 * marginals are the node's own.  Potentials are scaled per separator cell
 * before exp, so nothing overflows and no cell that matters underflows.
 */
#include <math.h>
#include <string.h>

#include "../numbers/dp_numbers.h"
#include "dp_models.h"
#include "models_internal.h"

/* ----------------
 *		Tables of numbers over sets of columns: sums, products, projections.
 *
 * A large table is walked in its own order; neighbouring columns that a small
 * table either has or has not are walked as one, so that the innermost loop is
 * as long as possible and the compiler can use vectors.
 * ----------------
 */

#define OPERANDS 3				/* most tables in one operation */

/* How the cells of a large table lie in smaller ones. */
typedef struct walk
{
	int			runs;			/* runs of columns that are treated alike */
	int64_t		size[DP_SHAPE_COLUMNS];
	int64_t		step[DP_SHAPE_COLUMNS][OPERANDS];
	int64_t		at[DP_SHAPE_COLUMNS];
	int64_t		offset[OPERANDS];
} walk;

/*
 * dp_models_shape_cells
 *	  Cells of a table over a set of columns, as a double that cannot
 *	  overflow; exact below 2^53.
 *
 * Requires: shape non-NULL; set within its columns.
 * Gives:	 the product of sizes, 1 for the empty set.
 * Source:	 doc/theory.md T70 (definition).
 */
double
dp_models_shape_cells(const dp_shape *shape, dp_columns set)
{
	double		cells = 1;
	int			i;

	for (i = 0; i < shape->columns; i++)
		if (set & DP_COLUMN(i))
			cells *= (double) shape->size[i];
	return cells;
}

/* Which of the operands have a column, as bits. */
static unsigned
who_has(int column, int operands, const dp_columns *operand)
{
	unsigned	has = 0;
	int			k;

	for (k = 0; k < operands; k++)
		if (operand[k] & DP_COLUMN(column))
			has |= 1u << k;
	return has;
}

/*
 * Begin to walk the cells over `over`, each operand a table over a subset.
 * The walk stands on the first of its innermost runs: size[runs - 1] cells,
 * of which operand k's begin at offset[k] and lie step[runs - 1][k] apart.
 */
static void
begin_walk(walk *w, const dp_shape *shape, dp_columns over, int operands,
		   const dp_columns *operand)
{
	int64_t		stride[OPERANDS];
	unsigned	last = ~0u;
	int			i;
	int			k;

	w->runs = 0;
	for (i = 0; i < shape->columns; i++)
	{
		unsigned	has = who_has(i, operands, operand);

		if (!(over & DP_COLUMN(i)) || shape->size[i] == 1)
			continue;
		if (has == last)
			w->size[w->runs - 1] *= shape->size[i];
		else
		{
			w->size[w->runs] = shape->size[i];
			for (k = 0; k < operands; k++)
				w->step[w->runs][k] = (has >> k) & 1;
			w->runs++;
		}
		last = has;
	}
	if (w->runs == 0)
	{
		w->runs = 1;
		w->size[0] = 1;
		for (k = 0; k < operands; k++)
			w->step[0][k] = 0;
	}
	for (k = 0; k < operands; k++)
	{
		stride[k] = 1;
		w->offset[k] = 0;
	}
	for (i = w->runs - 1; i >= 0; i--)
	{
		w->at[i] = 0;
		for (k = 0; k < operands; k++)
		{
			int64_t		has = w->step[i][k];

			w->step[i][k] = has * stride[k];
			if (has)
				stride[k] *= w->size[i];
		}
	}
}

/* Go on to the next innermost run; false when there is none. */
static bool
next_run(walk *w, int operands)
{
	int			i;
	int			k;

	for (i = w->runs - 2; i >= 0; i--)
	{
		for (k = 0; k < operands; k++)
			w->offset[k] += w->step[i][k];
		if (++w->at[i] < w->size[i])
			return true;
		w->at[i] = 0;
		for (k = 0; k < operands; k++)
			w->offset[k] -= w->step[i][k] * w->size[i];
	}
	return false;
}

/*
 * dp_models_table_add
 *	  large += small, over the columns that small has.
 *
 * Requires: small_set within large_set; tables of their shapes.
 * Gives:	 large.
 * Source:	 doc/theory.md T70 (sum of potentials).
 */
void
dp_models_table_add(const dp_shape *shape, dp_columns large_set, double *large,
					dp_columns small_set, const double *small)
{
	walk		w;

	begin_walk(&w, shape, large_set, 1, &small_set);
	do
	{
		int64_t		n = w.size[w.runs - 1];
		const double *from = small + w.offset[0];
		int64_t		i;

		if (w.step[w.runs - 1][0] == 0)
			for (i = 0; i < n; i++)
				large[i] += *from;
		else
			for (i = 0; i < n; i++)
				large[i] += from[i];
		large += n;
	} while (next_run(&w, 1));
}

/*
 * dp_models_table_multiply
 *	  large *= small, over the columns that small has.
 *
 * Requires: as dp_models_table_add.
 * Gives:	 large.
 * Source:	 doc/theory.md T70 (product of factors).
 */
void
dp_models_table_multiply(const dp_shape *shape, dp_columns large_set,
						 double *large, dp_columns small_set,
						 const double *small)
{
	walk		w;

	begin_walk(&w, shape, large_set, 1, &small_set);
	do
	{
		int64_t		n = w.size[w.runs - 1];
		const double *from = small + w.offset[0];
		int64_t		i;

		if (w.step[w.runs - 1][0] == 0)
			for (i = 0; i < n; i++)
				large[i] *= *from;
		else
			for (i = 0; i < n; i++)
				large[i] *= from[i];
		large += n;
	} while (next_run(&w, 1));
}

/*
 * dp_models_table_sum
 *	  small = large summed over the columns that small lacks.
 *
 * Requires: as dp_models_table_add; the two do not overlap.
 * Gives:	 small.
 * Source:	 doc/theory.md T70 (marginals).
 */
void
dp_models_table_sum(const dp_shape *shape, dp_columns large_set,
					const double *large, dp_columns small_set, double *small)
{
	int64_t		cells = (int64_t) dp_models_shape_cells(shape, small_set);
	walk		w;
	int64_t		i;

	for (i = 0; i < cells; i++)
		small[i] = 0;
	begin_walk(&w, shape, large_set, 1, &small_set);
	do
	{
		int64_t		n = w.size[w.runs - 1];
		double	   *to = small + w.offset[0];
		double		sum = 0;

		if (w.step[w.runs - 1][0] == 0)
		{
			for (i = 0; i < n; i++)
				sum += large[i];
			*to += sum;
		}
		else
			for (i = 0; i < n; i++)
				to[i] += large[i];
		large += n;
	} while (next_run(&w, 1));
}

/*
 * table_maximum
 *	  small = the largest of large over the columns that small lacks.
 *
 * Requires: as dp_models_table_sum; no NaN.
 * Gives:	 small.
 * Source:	 doc/theory.md T70 (scaling against underflow).
 */
static void
table_maximum(const dp_shape *shape, dp_columns large_set,
			  const double *large, dp_columns small_set,
			  double *small)
{
	int64_t		cells = (int64_t) dp_models_shape_cells(shape, small_set);
	walk		w;
	int64_t		i;

	for (i = 0; i < cells; i++)
		small[i] = -1e300;
	begin_walk(&w, shape, large_set, 1, &small_set);
	do
	{
		int64_t		n = w.size[w.runs - 1];
		double	   *to = small + w.offset[0];
		double		most = *to;

		if (w.step[w.runs - 1][0] == 0)
		{
			for (i = 0; i < n; i++)
				most = large[i] > most ? large[i] : most;
			*to = most;
		}
		else
			for (i = 0; i < n; i++)
				to[i] = large[i] > to[i] ? large[i] : to[i];
		large += n;
	} while (next_run(&w, 1));
}

/*
 * table_contract
 *	  out = the product of a and b, summed over the columns that out lacks.
 *
 * Requires: out_set within the union of a_set and b_set; out apart from both.
 * Gives:	 out.
 * Source:	 doc/theory.md T70 (variable elimination).
 */
static void
table_contract(const dp_shape *shape, dp_columns a_set,
			   const double *a, dp_columns b_set, const double *b,
			   dp_columns out_set, double *out)
{
	int64_t		cells = (int64_t) dp_models_shape_cells(shape, out_set);
	dp_columns	operand[3];
	walk		w;
	int64_t		i;

	for (i = 0; i < cells; i++)
		out[i] = 0;
	operand[0] = a_set;
	operand[1] = b_set;
	operand[2] = out_set;
	begin_walk(&w, shape, a_set | b_set, 3, operand);
	do
	{
		const int64_t *step = w.step[w.runs - 1];
		int64_t		n = w.size[w.runs - 1];
		const double *x = a + w.offset[0];
		const double *y = b + w.offset[1];
		double	   *to = out + w.offset[2];

		if (step[2] == 0)
		{
			double		sum = 0;

			for (i = 0; i < n; i++)
				sum += x[i * step[0]] * y[i * step[1]];
			*to += sum;
		}
		else
			for (i = 0; i < n; i++)
				to[i] += x[i * step[0]] * y[i * step[1]];
	} while (next_run(&w, 3));
}

/* ----------------
 *		Junction trees: the sets of columns within which a distribution with
 *		given marginals is kept, and how they are connected.
 *
 * The sets make a graph of columns.  Columns are eliminated one by one, the
 * cheapest first; a column and its neighbours then make a clique.  The maximal
 * cliques, joined by a spanning tree of the largest separators, are a junction
 * tree: nodes with a column in common are connected through nodes that have
 * it.  Parts that have nothing in common are joined by empty separators.
 * ----------------
 */

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
			dp_models_shape_cells(g->shape, neighbours | DP_COLUMN(i));
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
		cells += dp_models_shape_cells(shape, clique[i]);
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
 * dp_models_tree_make
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
dp_models_tree_make(const dp_shape *shape, const dp_columns *sets, int nsets,
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
 * dp_models_tree_find
 *	  The smallest node that holds a set.
 *
 * Requires: a tree of dp_models_tree_make.
 * Gives:	 its index, or -1 when no node holds the set.
 * Source:	 doc/theory.md T70.
 */
int
dp_models_tree_find(const dp_tree *tree, const dp_shape *shape, dp_columns set)
{
	double		least = 0;
	int			best = -1;
	int			i;

	for (i = 0; i < tree->nodes; i++)
	{
		double		cells = dp_models_shape_cells(shape, tree->node[i].set);

		if ((set & ~tree->node[i].set) == 0 && (best < 0 || cells < least))
		{
			best = i;
			least = cells;
		}
	}
	return best;
}

static void *
zeroed(const dp_host *host, size_t n)
{
	return memset(host->allocate(host->state, n), 0, n);
}

static void
pulse(const dp_host *host)
{
	if (host->pulse != NULL)
		host->pulse(host->state);
}

static void
free_tree(dp_distribution *d)
{
	const dp_host *host = d->host;
	int			i;

	for (i = 0; i < d->tree.nodes; i++)
	{
		host->release(host->state, d->conditional[i]);
		host->release(host->state, d->belief[i]);
	}
	d->tree.nodes = 0;
}

/* A tree that holds all factors, with room for its tables. */
static void
plant_tree(dp_distribution *d)
{
	const dp_host *host = d->host;
	size_t		most = sizeof(dp_columns) * (size_t) (d->nfactors + 1);
	dp_columns *sets = host->allocate(host->state, most);
	int			i;

	free_tree(d);
	for (i = 0; i < d->nfactors; i++)
		sets[i] = d->factor[i].set;
	d->cells = dp_models_tree_make(&d->shape, sets, d->nfactors, &d->tree);
	host->release(host->state, sets);
	for (i = 0; i < d->tree.nodes; i++)
	{
		size_t		cells = (size_t) dp_models_shape_cells(&d->shape,
													   d->tree.node[i].set);

		d->conditional[i] = zeroed(host, cells * sizeof(double));
		d->belief[i] = zeroed(host, cells * sizeof(double));
	}
	for (i = 0; i < d->nfactors; i++)
		d->factor[i].node = dp_models_tree_find(&d->tree, &d->shape,
												d->factor[i].set);
}

/*
 * dp_models_distribution_make
 *	  The uniform distribution, with nothing measured.
 *
 * Requires: host outlives it; shape of 1 to DP_SHAPE_COLUMNS columns; total
 *			 the number of rows when that is public, else negative.
 * Gives:	 a distribution that dp_models_distribution_free frees.
 * Source:	 doc/theory.md T70.
 */
dp_distribution *
dp_models_distribution_make(const dp_host *host, const dp_shape *shape,
							double total)
{
	dp_distribution *d = zeroed(host, sizeof(dp_distribution));

	d->host = host;
	d->shape = *shape;
	d->total_known = total >= 0;
	d->total = total > 1 ? total : 1;
	plant_tree(d);
	dp_models_distribution_infer(d);
	return d;
}

/*
 * dp_models_distribution_free
 *	  Free a distribution and all its tables.
 *
 * Requires: d of dp_models_distribution_make, or NULL.
 * Gives:	 nothing.
 * Source:	 doc/theory.md T70.
 */
void
dp_models_distribution_free(dp_distribution *d)
{
	const dp_host *host;
	int			i;

	if (d == NULL)
		return;
	host = d->host;
	free_tree(d);
	for (i = 0; i < d->nfactors; i++)
		host->release(host->state, d->factor[i].value);
	if (d->factor != NULL)
		host->release(host->state, d->factor);
	host->release(host->state, d);
}

/*
 * The number of rows: every measured marginal sums to it but for noise, so the
 * sums are averaged with weights inverse to their variances.
 */
static void
estimate_total(dp_distribution *d)
{
	double		sum = 0;
	double		weight = 0;
	int			i;
	int64_t		k;

	if (d->total_known)
		return;
	for (i = 0; i < d->nfactors; i++)
	{
		const dp_factor *f = &d->factor[i];
		double		rows = 0;

		for (k = 0; k < f->cells; k++)
			rows += f->value[k];
		sum += rows * f->weight / (double) f->cells;
		weight += f->weight / (double) f->cells;
	}
	d->total = weight > 0 && sum / weight > 1 ? sum / weight : 1;
}

/* One more factor without a value; its four tables are one piece of memory. */
static dp_factor *
add_factor(dp_distribution *d, dp_columns set)
{
	const dp_host *host = d->host;
	dp_factor  *f;

	if (d->nfactors == d->room)
	{
		int			room = d->room > 0 ? 2 * d->room : 16;
		dp_factor  *larger = zeroed(host, sizeof(dp_factor) * (size_t) room);

		if (d->factor != NULL)
		{
			memcpy(larger, d->factor,
				   sizeof(dp_factor) * (size_t) d->nfactors);
			host->release(host->state, d->factor);
		}
		d->factor = larger;
		d->room = room;
	}
	f = &d->factor[d->nfactors];
	f->set = set;
	f->cells = (int64_t) dp_models_shape_cells(&d->shape, set);
	f->weight = 0;
	f->value = zeroed(host, 4 * sizeof(double) * (size_t) f->cells);
	f->potential = f->value + f->cells;
	f->gradient = f->potential + f->cells;
	f->marginal = f->gradient + f->cells;
	d->nfactors++;
	return f;
}

/*
 * dp_models_distribution_measure
 *	  Add a noisy marginal, for dp_models_distribution_fit.
 *
 * Requires: value of the set's cells, finite; variance > 0; the set not
 *			 empty and within the shape; its tree of a size that memory holds.
 * Gives:	 the same distribution, in a tree that holds the set, with a new
 *			 total; nothing is inferred yet.
 * Source:	 doc/theory.md T70.
 */
void
dp_models_distribution_measure(dp_distribution *d, dp_columns set,
							   const double *value, double variance)
{
	dp_factor  *f = NULL;
	double		weight = 1 / variance;
	int			i;
	int64_t		k;

	for (i = 0; i < d->nfactors && f == NULL; i++)
		if (d->factor[i].set == set)
			f = &d->factor[i];
	if (f == NULL)
	{
		f = add_factor(d, set);
		f->node = dp_models_tree_find(&d->tree, &d->shape, set);
		if (f->node < 0)
			plant_tree(d);
	}
	for (k = 0; k < f->cells; k++)
		f->value[k] = (f->weight * f->value[k] + weight * value[k]) /
			(f->weight + weight);
	f->weight += weight;
	estimate_total(d);
}

/*
 * dp_models_distribution_size
 *	  Cells that the tree would have with one more set measured.
 *
 * Requires: a set within the shape.
 * Gives:	 as said; without a change when a node holds the set already.
 * Source:	 doc/theory.md T70.
 */
double
dp_models_distribution_size(const dp_distribution *d, dp_columns more)
{
	const dp_host *host = d->host;
	dp_columns *sets;
	double		cells;
	int			i;

	if (dp_models_tree_find(&d->tree, &d->shape, more) >= 0)
		return d->cells;
	sets = host->allocate(host->state,
						  sizeof(dp_columns) * (size_t) (d->nfactors + 1));
	for (i = 0; i < d->nfactors; i++)
		sets[i] = d->factor[i].set;
	sets[d->nfactors] = more;
	cells = dp_models_tree_make(&d->shape, sets, d->nfactors + 1, NULL);
	host->release(host->state, sets);
	return cells;
}

/* Turn node i's potentials into conditionals; its parent gets the rest. */
static void
distribution_normalise(dp_distribution *d, int i)
{
	const dp_tree_node *node = &d->tree.node[i];
	const dp_host *host = d->host;
	int64_t		cells = (int64_t) dp_models_shape_cells(&d->shape, node->set);
	int64_t		apart = (int64_t) dp_models_shape_cells(&d->shape,
														node->separator);
	double	   *table = d->conditional[i];
	double	   *most = host->allocate(host->state,
									  2 * sizeof(double) * (size_t) apart);
	double	   *sum = most + apart;
	int64_t		k;

	table_maximum(&d->shape, node->set, table, node->separator, most);
	for (k = 0; k < apart; k++)
		most[k] = -most[k];
	dp_models_table_add(&d->shape, node->set, table, node->separator, most);
	for (k = 0; k < cells; k++)
		table[k] = table[k] > -700 ? exp(table[k]) : 0;
	dp_models_table_sum(&d->shape, node->set, table, node->separator, sum);
	for (k = 0; k < apart; k++)
	{
		most[k] = log(sum[k]) - most[k];
		sum[k] = 1 / sum[k];
	}
	dp_models_table_multiply(&d->shape, node->set, table, node->separator,
							 sum);
	if (node->parent >= 0)
		dp_models_table_add(&d->shape, d->tree.node[node->parent].set,
							d->conditional[node->parent], node->separator,
							most);
	host->release(host->state, most);
}

/*
 * dp_models_distribution_infer
 *	  Bring conditionals, beliefs and the factors' marginals up to date with
 *	  the potentials.
 *
 * Requires: potentials finite.
 * Gives:	 as said; marginals are counts, total times probability.
 * Source:	 doc/theory.md T70.
 */
void
dp_models_distribution_infer(dp_distribution *d)
{
	const dp_host *host = d->host;
	int			i;
	int64_t		k;

	for (i = 0; i < d->tree.nodes; i++)
		memset(d->conditional[i], 0, sizeof(double) *
			   (size_t) dp_models_shape_cells(&d->shape, d->tree.node[i].set));
	for (i = 0; i < d->nfactors; i++)
		dp_models_table_add(&d->shape, d->tree.node[d->factor[i].node].set,
							d->conditional[d->factor[i].node],
							d->factor[i].set, d->factor[i].potential);
	for (i = d->tree.nodes - 1; i >= 0; i--)
	{
		pulse(host);
		distribution_normalise(d, i);
	}
	for (i = 0; i < d->tree.nodes; i++)
	{
		const dp_tree_node *node = &d->tree.node[i];
		size_t		apart = (size_t) dp_models_shape_cells(&d->shape,
														   node->separator);
		double	   *share;

		pulse(host);
		memcpy(d->belief[i], d->conditional[i], sizeof(double) *
			   (size_t) dp_models_shape_cells(&d->shape, node->set));
		if (node->parent < 0)
			continue;
		share = host->allocate(host->state, sizeof(double) * apart);
		dp_models_table_sum(&d->shape, d->tree.node[node->parent].set,
							d->belief[node->parent], node->separator, share);
		dp_models_table_multiply(&d->shape, node->set, d->belief[i],
								 node->separator, share);
		host->release(host->state, share);
	}
	for (i = 0; i < d->nfactors; i++)
	{
		dp_factor  *f = &d->factor[i];

		dp_models_table_sum(&d->shape, d->tree.node[f->node].set,
							d->belief[f->node], f->set, f->marginal);
		for (k = 0; k < f->cells; k++)
			f->marginal[k] *= d->total;
	}
}

/* ----------------
 *		Marginals of any set of columns, also of columns that no node holds
 *		together, by elimination of all others along the tree.
 *
 * Each wanted column counts for the highest node that has it.  The nodes
 * between those and the lowest one that has all of them below it are enough:
 * all others sum to 1, and the topmost one starts from its belief.  From the
 * leaves on, each node is multiplied by what its children hand up, and
 * everything is summed out that is neither wanted nor in a separator still to
 * be used.
 * ----------------
 */

/* A marginal that is being computed. */
typedef struct question
{
	const dp_distribution *d;
	dp_columns	wanted;
	double		most;			/* cells of a product; more: too much work */
	int			below[DP_SHAPE_COLUMNS];	/* wanted columns in the subtree */
	int			top;
	dp_columns	handed_set[DP_SHAPE_COLUMNS];
	double	   *handed[DP_SHAPE_COLUMNS];	/* by a node to its parent */
} question;

static void
count_below(question *q)
{
	const dp_tree *tree = &q->d->tree;
	dp_columns	left = q->wanted;
	int			all = __builtin_popcountll(q->wanted);
	int			i;

	for (i = 0; i < tree->nodes; i++)
	{
		q->below[i] = __builtin_popcountll(left & tree->node[i].set);
		left &= ~tree->node[i].set;
	}
	for (i = tree->nodes - 1; i > 0; i--)
		q->below[tree->node[i].parent] += q->below[i];
	for (i = 0; i < tree->nodes; i++)
		if (q->below[i] == all)
			q->top = i;
}

/* Separators to children that take part and come after `after`. */
static dp_columns
pending(const question *q, int node, int after)
{
	const dp_tree *tree = &q->d->tree;
	dp_columns	set = 0;
	int			i;

	for (i = after + 1; i < tree->nodes; i++)
		if (tree->node[i].parent == node && q->below[i] > 0)
			set |= tree->node[i].separator;
	return set;
}

static double *
distribution_table_of(const question *q, dp_columns set)
{
	const dp_host *host = q->d->host;

	return host->allocate(host->state, sizeof(double) *
						  (size_t) dp_models_shape_cells(&q->d->shape, set));
}

/* Make the table that node i hands up; false when that is too much work. */
static bool
ask_node(question *q, int i)
{
	const dp_distribution *d = q->d;
	const dp_tree_node *node = &d->tree.node[i];
	dp_columns	keep = q->wanted | (i == q->top ? 0 : node->separator);
	dp_columns	set = node->set & (keep | pending(q, i, i));
	double	   *table = distribution_table_of(q, set);
	int			k;

	dp_models_table_sum(&d->shape, node->set,
						i == q->top ? d->belief[i] : d->conditional[i], set,
						table);
	for (k = i + 1; k < d->tree.nodes; k++)
	{
		dp_columns	both;
		dp_columns	next_set;
		double	   *next;

		if (d->tree.node[k].parent != i || q->below[k] == 0)
			continue;
		both = set | q->handed_set[k];
		next_set = both & (keep | pending(q, i, k));
		if (dp_models_shape_cells(&d->shape, both) > q->most)
		{
			d->host->release(d->host->state, table);
			return false;
		}
		next = distribution_table_of(q, next_set);
		table_contract(&d->shape, set, table, q->handed_set[k],
					   q->handed[k], next_set, next);
		d->host->release(d->host->state, table);
		table = next;
		set = next_set;
	}
	q->handed[i] = table;
	q->handed_set[i] = set;
	return true;
}

/*
 * dp_models_distribution_marginal
 *	  The counts that the distribution expects in the cells of a set.
 *
 * Requires: everything inferred; set not empty, within the shape, with at
 *			 most `most` cells; out of as many.
 * Gives:	 DP_OK with out filled; DP_E_RANGE when a product of more than
 *			 `most` cells would be needed on the way.
 * Source:	 doc/theory.md T70.
 */
dp_status
dp_models_distribution_marginal(const dp_distribution *d, dp_columns set,
								double most, double *out)
{
	const dp_host *host = d->host;
	int64_t		cells = (int64_t) dp_models_shape_cells(&d->shape, set);
	int			at = dp_models_tree_find(&d->tree, &d->shape, set);
	bool		done = true;
	question	q;
	int64_t		k;
	int			i;

	if (at >= 0)
		dp_models_table_sum(&d->shape, d->tree.node[at].set, d->belief[at],
							set, out);
	else
	{
		memset(&q, 0, sizeof(q));
		q.d = d;
		q.wanted = set;
		q.most = most;
		count_below(&q);
		for (i = d->tree.nodes - 1; i >= q.top && done; i--)
			if (q.below[i] > 0)
				done = ask_node(&q, i);
		if (done)
			memcpy(out, q.handed[q.top], sizeof(double) * (size_t) cells);
		for (i = 0; i < d->tree.nodes; i++)
			if (q.handed[i] != NULL)
				host->release(host->state, q.handed[i]);
	}
	if (!done)
		return DP_E_RANGE;
	for (k = 0; k < cells; k++)
		out[k] *= d->total;
	return DP_OK;
}
