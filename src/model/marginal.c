/*
 * marginal.c
 *	  Marginals of any set of columns, also of columns that no node holds
 *	  together, by elimination of all others along the tree.
 *
 * Each wanted column counts for the highest node that has it.  The nodes
 * between those and the lowest one that has all of them below it are enough:
 * all others sum to 1, and the topmost one starts from its belief.  From the
 * leaves on, each node is multiplied by what its children hand up, and
 * everything is summed out that is neither wanted nor in a separator still to
 * be used.
 */
#include <string.h>

#include "dp_distribution.h"

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
table_of(const question *q, dp_columns set)
{
	const dp_host *host = q->d->host;

	return host->allocate(host->state, sizeof(double) *
						  (size_t) dp_model_shape_cells(&q->d->shape, set));
}

/* Make the table that node i hands up; false when that is too much work. */
static bool
ask_node(question *q, int i)
{
	const dp_distribution *d = q->d;
	const dp_tree_node *node = &d->tree.node[i];
	dp_columns	keep = q->wanted | (i == q->top ? 0 : node->separator);
	dp_columns	set = node->set & (keep | pending(q, i, i));
	double	   *table = table_of(q, set);
	int			k;

	dp_model_table_sum(&d->shape, node->set,
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
		if (dp_model_shape_cells(&d->shape, both) > q->most)
		{
			d->host->release(d->host->state, table);
			return false;
		}
		next = table_of(q, next_set);
		dp_model_table_contract(&d->shape, set, table, q->handed_set[k],
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
 * dp_model_distribution_marginal
 *	  The counts that the distribution expects in the cells of a set.
 *
 * Requires: everything inferred; set not empty, within the shape, with at
 *			 most `most` cells; out of as many.
 * Gives:	 DP_OK with out filled; DP_E_RANGE when a product of more than
 *			 `most` cells would be needed on the way.
 * Source:	 doc/theory.md T70.
 */
dp_status
dp_model_distribution_marginal(const dp_distribution *d, dp_columns set,
							   double most, double *out)
{
	const dp_host *host = d->host;
	int64_t		cells = (int64_t) dp_model_shape_cells(&d->shape, set);
	int			at = dp_model_tree_find(&d->tree, &d->shape, set);
	bool		done = true;
	question	q;
	int64_t		k;
	int			i;

	if (at >= 0)
		dp_model_table_sum(&d->shape, d->tree.node[at].set, d->belief[at], set,
						   out);
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
