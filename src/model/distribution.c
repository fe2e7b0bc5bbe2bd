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

#include "dp_distribution.h"

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
	d->cells = dp_model_tree_make(&d->shape, sets, d->nfactors, &d->tree);
	host->release(host->state, sets);
	for (i = 0; i < d->tree.nodes; i++)
	{
		size_t		cells = (size_t) dp_model_shape_cells(&d->shape,
														  d->tree.node[i].set);

		d->conditional[i] = zeroed(host, cells * sizeof(double));
		d->belief[i] = zeroed(host, cells * sizeof(double));
	}
	for (i = 0; i < d->nfactors; i++)
		d->factor[i].node = dp_model_tree_find(&d->tree, &d->shape,
											   d->factor[i].set);
}

/*
 * dp_model_distribution_make
 *	  The uniform distribution, with nothing measured.
 *
 * Requires: host outlives it; shape of 1 to DP_SHAPE_COLUMNS columns; total
 *			 the number of rows when that is public, else negative.
 * Gives:	 a distribution that dp_model_distribution_free frees.
 * Source:	 doc/theory.md T70.
 */
dp_distribution *
dp_model_distribution_make(const dp_host *host, const dp_shape *shape,
						   double total)
{
	dp_distribution *d = zeroed(host, sizeof(dp_distribution));

	d->host = host;
	d->shape = *shape;
	d->total_known = total >= 0;
	d->total = total > 1 ? total : 1;
	plant_tree(d);
	dp_model_distribution_infer(d);
	return d;
}

/*
 * dp_model_distribution_free
 *	  Free a distribution and all its tables.
 *
 * Requires: d of dp_model_distribution_make, or NULL.
 * Gives:	 nothing.
 * Source:	 doc/theory.md T70.
 */
void
dp_model_distribution_free(dp_distribution *d)
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
	f->cells = (int64_t) dp_model_shape_cells(&d->shape, set);
	f->weight = 0;
	f->value = zeroed(host, 4 * sizeof(double) * (size_t) f->cells);
	f->potential = f->value + f->cells;
	f->gradient = f->potential + f->cells;
	f->marginal = f->gradient + f->cells;
	d->nfactors++;
	return f;
}

/*
 * dp_model_distribution_measure
 *	  Add a noisy marginal, for dp_model_distribution_fit.
 *
 * Requires: value of the set's cells, finite; variance > 0; the set not
 *			 empty and within the shape; its tree of a size that memory holds.
 * Gives:	 the same distribution, in a tree that holds the set, with a new
 *			 total; nothing is inferred yet.
 * Source:	 doc/theory.md T70.
 */
void
dp_model_distribution_measure(dp_distribution *d, dp_columns set,
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
		f->node = dp_model_tree_find(&d->tree, &d->shape, set);
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
 * dp_model_distribution_size
 *	  Cells that the tree would have with one more set measured.
 *
 * Requires: a set within the shape.
 * Gives:	 as said; without a change when a node holds the set already.
 * Source:	 doc/theory.md T70.
 */
double
dp_model_distribution_size(const dp_distribution *d, dp_columns more)
{
	const dp_host *host = d->host;
	dp_columns *sets;
	double		cells;
	int			i;

	if (dp_model_tree_find(&d->tree, &d->shape, more) >= 0)
		return d->cells;
	sets = host->allocate(host->state,
						  sizeof(dp_columns) * (size_t) (d->nfactors + 1));
	for (i = 0; i < d->nfactors; i++)
		sets[i] = d->factor[i].set;
	sets[d->nfactors] = more;
	cells = dp_model_tree_make(&d->shape, sets, d->nfactors + 1, NULL);
	host->release(host->state, sets);
	return cells;
}

/* Turn node i's potentials into conditionals; its parent gets the rest. */
static void
normalise(dp_distribution *d, int i)
{
	const dp_tree_node *node = &d->tree.node[i];
	const dp_host *host = d->host;
	int64_t		cells = (int64_t) dp_model_shape_cells(&d->shape, node->set);
	int64_t		apart = (int64_t) dp_model_shape_cells(&d->shape,
													   node->separator);
	double	   *table = d->conditional[i];
	double	   *most = host->allocate(host->state,
									  2 * sizeof(double) * (size_t) apart);
	double	   *sum = most + apart;
	int64_t		k;

	dp_model_table_maximum(&d->shape, node->set, table, node->separator, most);
	for (k = 0; k < apart; k++)
		most[k] = -most[k];
	dp_model_table_add(&d->shape, node->set, table, node->separator, most);
	for (k = 0; k < cells; k++)
		table[k] = table[k] > -700 ? exp(table[k]) : 0;
	dp_model_table_sum(&d->shape, node->set, table, node->separator, sum);
	for (k = 0; k < apart; k++)
	{
		most[k] = log(sum[k]) - most[k];
		sum[k] = 1 / sum[k];
	}
	dp_model_table_multiply(&d->shape, node->set, table, node->separator, sum);
	if (node->parent >= 0)
		dp_model_table_add(&d->shape, d->tree.node[node->parent].set,
						   d->conditional[node->parent], node->separator,
						   most);
	host->release(host->state, most);
}

/*
 * dp_model_distribution_infer
 *	  Bring conditionals, beliefs and the factors' marginals up to date with
 *	  the potentials.
 *
 * Requires: potentials finite.
 * Gives:	 as said; marginals are counts, total times probability.
 * Source:	 doc/theory.md T70.
 */
void
dp_model_distribution_infer(dp_distribution *d)
{
	const dp_host *host = d->host;
	int			i;
	int64_t		k;

	for (i = 0; i < d->tree.nodes; i++)
		memset(d->conditional[i], 0, sizeof(double) *
			   (size_t) dp_model_shape_cells(&d->shape, d->tree.node[i].set));
	for (i = 0; i < d->nfactors; i++)
		dp_model_table_add(&d->shape, d->tree.node[d->factor[i].node].set,
						   d->conditional[d->factor[i].node], d->factor[i].set,
						   d->factor[i].potential);
	for (i = d->tree.nodes - 1; i >= 0; i--)
	{
		pulse(host);
		normalise(d, i);
	}
	for (i = 0; i < d->tree.nodes; i++)
	{
		const dp_tree_node *node = &d->tree.node[i];
		size_t		apart = (size_t) dp_model_shape_cells(&d->shape,
														  node->separator);
		double	   *share;

		pulse(host);
		memcpy(d->belief[i], d->conditional[i], sizeof(double) *
			   (size_t) dp_model_shape_cells(&d->shape, node->set));
		if (node->parent < 0)
			continue;
		share = host->allocate(host->state, sizeof(double) * apart);
		dp_model_table_sum(&d->shape, d->tree.node[node->parent].set,
						   d->belief[node->parent], node->separator, share);
		dp_model_table_multiply(&d->shape, node->set, d->belief[i],
								node->separator, share);
		host->release(host->state, share);
	}
	for (i = 0; i < d->nfactors; i++)
	{
		dp_factor  *f = &d->factor[i];

		dp_model_table_sum(&d->shape, d->tree.node[f->node].set,
						   d->belief[f->node], f->set, f->marginal);
		for (k = 0; k < f->cells; k++)
			f->marginal[k] *= d->total;
	}
}
