/*
 * sample.c
 *	  Rows from a distribution, with as little randomness as possible: node by
 *	  node from the root, rows that agree on the separator share out the cells
 *	  of the node's other columns.  A cell gets its expected number of rows
 *	  rounded down, or up with the probability of the remainder, and which rows
 *	  get it is drawn.
 */
#include <math.h>
#include <string.h>

#include "dp_distribution.h"

/*
 * dp_model_sample_uniform
 *	  A number drawn uniformly from the multiples of 2^-53 in [0, 1).
 *
 * Requires: source, out non-NULL.
 * Gives:	 DP_OK, or DP_E_RANDOM.
 * Source:	 doc/theory.md T70 (post-processing only).
 */
dp_status
dp_model_sample_uniform(dp_source *source, double *out)
{
	uint64_t	bits;
	dp_status	status = dp_mech_random_bytes(source, &bits, sizeof(bits));

	if (status == DP_OK)
		*out = (double) (bits >> 11) * 0x1p-53;
	return status;
}

/*
 * dp_model_sample_share
 *	  Share rows out among n cells by their odds: cell i gets
 *	  rows * odds[i] / mass rounded down, and at most one more.
 *
 * Requires: n > 0; odds >= 0 with sum `mass` but for rounding; 0 <= rows
 *			 < 2^53.
 * Gives:	 counts that sum to rows, in the mean in proportion to the odds;
 *			 DP_E_RANDOM.
 * Source:	 doc/theory.md T70 (systematic sampling).
 */
dp_status
dp_model_sample_share(dp_source *source, const double *odds, int64_t n,
					  double mass, int64_t rows, int64_t *counts)
{
	double		scale = mass > 0 ? (double) rows / mass : 0;
	double		sum = 0;
	double		start;
	int64_t		left = rows;
	int64_t		picked = 0;
	int64_t		likeliest = 0;
	int64_t		i;
	dp_status	status = dp_model_sample_uniform(source, &start);

	if (status != DP_OK)
		return status;
	for (i = 0; i < n; i++)
	{
		counts[i] = (int64_t) fmax(0, fmin(odds[i] * scale, (double) left));
		left -= counts[i];
		if (odds[i] > odds[likeliest])
			likeliest = i;
	}
	for (i = 0; i < n && picked < left; i++)
	{
		double		whole = (double) (int64_t) (odds[i] * scale);

		sum += odds[i] * scale - whole;
		if (sum > start + (double) picked)
		{
			counts[i]++;
			picked++;
		}
	}
	counts[likeliest] += left - picked; /* what rounding left over */
	return DP_OK;
}

/* The work on one node. */
typedef struct lot
{
	const dp_distribution *d;
	const dp_tree_node *node;
	const double *odds;			/* of the node, given the separator */
	int			columns;
	int64_t		stride[DP_SHAPE_COLUMNS];	/* in the node; 0: not there */
	int64_t		apart;			/* cells of the separator */
	int64_t		rest;			/* cells of the other columns */
	int64_t    *rest_at;		/* where in the node each of these is */
	int64_t    *begin;			/* of each separator cell's rows */
	int64_t    *order;			/* rows by separator cell */
	double	   *share;
	int64_t    *counts;
} lot;

/* Cell of the separator that a row lies in. */
static int64_t
separator_cell(const lot *l, const int32_t *row)
{
	int64_t		cell = 0;
	int			i;

	for (i = 0; i < l->columns; i++)
		if (l->node->separator & DP_COLUMN(i))
			cell = cell * l->d->shape.size[i] + row[i];
	return cell;
}

/* The offset in the node of a cell of some of its columns. */
static int64_t
position(const lot *l, dp_columns set, int64_t cell)
{
	int64_t		at = 0;
	int			i;

	for (i = l->columns - 1; i >= 0; i--)
		if (set & DP_COLUMN(i))
		{
			at += cell % l->d->shape.size[i] * l->stride[i];
			cell /= l->d->shape.size[i];
		}
	return at;
}

static void
prepare(lot *l, const dp_distribution *d, int node, int64_t rows)
{
	const dp_host *host = d->host;
	dp_columns	others;
	int64_t		stride = 1;
	int64_t		i;

	memset(l, 0, sizeof(*l));
	l->d = d;
	l->node = &d->tree.node[node];
	l->odds = d->conditional[node];
	l->columns = d->shape.columns;
	others = l->node->set & ~l->node->separator;
	for (i = l->columns - 1; i >= 0; i--)
		if (l->node->set & DP_COLUMN(i))
		{
			l->stride[i] = stride;
			stride *= d->shape.size[i];
		}
	l->apart = (int64_t) dp_model_shape_cells(&d->shape, l->node->separator);
	l->rest = (int64_t) dp_model_shape_cells(&d->shape, others);
	l->rest_at = host->allocate(host->state,
								sizeof(int64_t) * (size_t) l->rest);
	for (i = 0; i < l->rest; i++)
		l->rest_at[i] = position(l, others, i);
	l->begin = host->allocate(host->state,
							  sizeof(int64_t) * (size_t) (l->apart + 1));
	l->order = host->allocate(host->state,
							  sizeof(int64_t) * (size_t) (rows + 1));
	l->share = host->allocate(host->state,
							  sizeof(double) * (size_t) l->rest);
	l->counts = host->allocate(host->state,
							   sizeof(int64_t) * (size_t) l->rest);
}

static void
finish(lot *l)
{
	const dp_host *host = l->d->host;

	host->release(host->state, l->rest_at);
	host->release(host->state, l->begin);
	host->release(host->state, l->order);
	host->release(host->state, l->share);
	host->release(host->state, l->counts);
}

/* Rows between two pulses, in which the host may interrupt. */
#define PULSE_ROWS (1 << 16)

static void
pulse(const dp_distribution *d, int64_t row)
{
	if ((row & (PULSE_ROWS - 1)) == 0 && d->host->pulse != NULL)
		d->host->pulse(d->host->state);
}

/* Rows in the order of their separator cells, by counting. */
static void
sort_rows(lot *l, int64_t rows, const int32_t *places)
{
	int64_t		i;

	memset(l->begin, 0, sizeof(int64_t) * (size_t) (l->apart + 1));
	for (i = 0; i < rows; i++)
	{
		pulse(l->d, i);
		l->begin[separator_cell(l, places + i * l->columns) + 1]++;
	}
	for (i = 0; i < l->apart; i++)
		l->begin[i + 1] += l->begin[i];
	for (i = 0; i < rows; i++)
	{
		int64_t		cell = separator_cell(l, places + i * l->columns);

		pulse(l->d, i);
		l->order[l->begin[cell]++] = i;
	}
	for (i = l->apart; i > 0; i--)
		l->begin[i] = l->begin[i - 1];
	l->begin[0] = 0;
}

static dp_status
shuffle(const dp_distribution *d, dp_source *source, int64_t *order,
		int64_t n)
{
	dp_status	status = DP_OK;

	for (; n > 1 && status == DP_OK; n--)
	{
		uint64_t	k;
		int64_t		kept = order[n - 1];

		pulse(d, n);
		status = dp_mech_uniform_below(source, (uint64_t) n, &k);
		if (status != DP_OK)
			break;
		order[n - 1] = order[k];
		order[k] = kept;
	}
	return status;
}

/* Give the rows of one separator cell their places in the other columns. */
static dp_status
deal(lot *l, dp_source *source, int64_t cell, int32_t *places)
{
	dp_columns	others = l->node->set & ~l->node->separator;
	int64_t		base = position(l, l->node->separator, cell);
	int64_t    *order = l->order + l->begin[cell];
	int64_t		rows = l->begin[cell + 1] - l->begin[cell];
	double		mass = 0;
	int64_t		i;
	dp_status	status;

	if (rows == 0)
		return DP_OK;
	for (i = 0; i < l->rest; i++)
		mass += l->share[i] = l->odds[base + l->rest_at[i]];
	status = dp_model_sample_share(source, l->share, l->rest, mass, rows,
								   l->counts);
	if (status == DP_OK)
		status = shuffle(l->d, source, order, rows);
	for (i = 0; i < l->rest && status == DP_OK; i++)
		for (; l->counts[i] > 0; l->counts[i]--)
		{
			int32_t    *row = places + *order++ * l->columns;
			int64_t		rest = i;
			int			k;

			pulse(l->d, l->counts[i]);
			for (k = l->columns - 1; k >= 0; k--)
				if (others & DP_COLUMN(k))
				{
					row[k] = (int32_t) (rest % l->d->shape.size[k]);
					rest /= l->d->shape.size[k];
				}
		}
	return status;
}

/*
 * dp_model_distribution_sample
 *	  Draw rows; the place of row i in column k is places[i * columns + k].
 *
 * Requires: everything inferred; rows >= 0; sizes below 2^31; places of
 *			 rows * columns.
 * Gives:	 DP_OK with every place set; DP_E_RANDOM.
 * Source:	 doc/theory.md T70.
 */
dp_status
dp_model_distribution_sample(const dp_distribution *d, dp_source *source,
							 int64_t rows, int32_t *places)
{
	dp_status	status = DP_OK;
	int			i;

	memset(places, 0,
		   sizeof(int32_t) * (size_t) rows * (size_t) d->shape.columns);
	for (i = 0; i < d->tree.nodes && status == DP_OK; i++)
	{
		lot			l;
		int64_t		cell;

		prepare(&l, d, i, rows);
		sort_rows(&l, rows, places);
		for (cell = 0; cell < l.apart && status == DP_OK; cell++)
		{
			if (d->host->pulse != NULL)
				d->host->pulse(d->host->state);
			status = deal(&l, source, cell, places);
		}
		finish(&l);
	}
	return status;
}
