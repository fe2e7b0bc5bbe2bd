/*
 * fit.c
 *	  A distribution fitted to all noisy marginals at once, polished, and rows
 *	  drawn from it.
 */
#include <math.h>
#include <string.h>

#include "../numbers/dp_numbers.h"
#include "../noise/dp_noise.h"
#include "dp_models.h"
#include "models_internal.h"

/* ----------------
 *		Fit a distribution to all noisy marginals at once.
 *
 * The loss is the sum of squared differences between expected and noisy
 * counts, each divided by its variance: a convex function of the marginals.
 * Entropic mirror descent minimises it over all distributions of the tree:
 * each step subtracts a multiple of the loss's gradient from the potentials,
 * and is taken back and halved unless the loss falls by at least half of what
 * the gradient promises for the move.
 * ----------------
 */

#define FARTHEST 30.0			/* that one step may move a potential */
#define HALVINGS 40				/* before a fit is taken to be at rest */

/*
 * dp_models_distribution_loss
 *	  Half of the weighted sum of squared differences.
 *
 * Requires: marginals up to date (dp_models_distribution_infer).
 * Gives:	 as said; 0 with nothing measured.
 * Source:	 doc/theory.md T70.
 */
double
dp_models_distribution_loss(const dp_distribution *d)
{
	double		loss = 0;
	int			i;
	int64_t		k;

	for (i = 0; i < d->nfactors; i++)
	{
		const dp_factor *f = &d->factor[i];
		double		sum = 0;

		for (k = 0; k < f->cells; k++)
		{
			double		gap = f->marginal[k] - f->value[k];

			sum += gap * gap;
		}
		loss += f->weight * sum / 2;
	}
	return loss;
}

/* Gradients at the current marginals, which are copied to `before`. */
static void
take_gradient(dp_distribution *d, double *before)
{
	int			i;
	int64_t		k;

	for (i = 0; i < d->nfactors; i++)
	{
		dp_factor  *f = &d->factor[i];

		memcpy(before, f->marginal, sizeof(double) * (size_t) f->cells);
		before += f->cells;
		for (k = 0; k < f->cells; k++)
			f->gradient[k] = f->weight * (f->marginal[k] - f->value[k]);
	}
}

static void
move(dp_distribution *d, double step)
{
	int			i;
	int64_t		k;

	for (i = 0; i < d->nfactors; i++)
		for (k = 0; k < d->factor[i].cells; k++)
			d->factor[i].potential[k] -= step * d->factor[i].gradient[k];
	dp_models_distribution_infer(d);
}

/* The fall of the loss that the gradient promises for the move made. */
static double
promised(const dp_distribution *d, const double *before)
{
	double		sum = 0;
	int			i;
	int64_t		k;

	for (i = 0; i < d->nfactors; i++)
	{
		const dp_factor *f = &d->factor[i];

		for (k = 0; k < f->cells; k++)
			sum += f->gradient[k] * (before[k] - f->marginal[k]);
		before += f->cells;
	}
	return sum;
}

/* A step that moves no potential by more than 1. */
static double
unit_step(const dp_distribution *d)
{
	double		most = 0;
	int			i;
	int64_t		k;

	for (i = 0; i < d->nfactors; i++)
		for (k = 0; k < d->factor[i].cells; k++)
			most = fmax(most, fabs(d->factor[i].gradient[k]));
	return most > 0 ? 1 / most : 1;
}

/*
 * A loss that is low enough.  The true distribution has one half for each
 * cell, from noise alone.  A fit follows the noise of counts that stand out of
 * it and so falls below that: by half of these cells, as tables with columns
 * in common do not leave all of them free.
 */
static double
enough_loss(const dp_distribution *d)
{
	double		cells = 0;
	double		clear = 0;
	int			i;
	int64_t		k;

	for (i = 0; i < d->nfactors; i++)
	{
		const dp_factor *f = &d->factor[i];
		double		noise = 1 / sqrt(f->weight);

		cells += (double) f->cells;
		for (k = 0; k < f->cells; k++)
			clear += f->marginal[k] > 2 * noise;
	}
	return (cells - clear / 2) / 2;
}

/*
 * dp_models_distribution_fit
 *	  At most `iterations` steps from the distribution as it is; fewer when
 *	  the loss falls by less than `tolerance` of itself ten times in a row, or
 *	  is at most `enough` times what suffices: a better fit would be a fit to
 *	  noise.
 *
 * Requires: iterations >= 0; tolerance >= 0; enough >= 0.
 * Gives:	 the loss never larger than before; everything inferred.
 * Source:	 doc/theory.md T70.
 */
void
dp_models_distribution_fit(dp_distribution *d, int iterations,
						   double tolerance, double enough)
{
	const dp_host *host = d->host;
	size_t		cells = 0;
	double	   *before;
	double		loss;
	int			calm = 0;
	int			i;

	for (i = 0; i < d->nfactors; i++)
		cells += (size_t) d->factor[i].cells;
	before = host->allocate(host->state, sizeof(double) * (cells + 1));
	dp_models_distribution_infer(d);
	loss = dp_models_distribution_loss(d);
	d->step = 0;
	for (i = 0; i < iterations && calm < 10 && loss > enough * enough_loss(d);
		 i++)
	{
		double		unit;
		double		now;
		int			halved;

		take_gradient(d, before);
		unit = unit_step(d);
		d->step = d->step > 0 ? fmin(2 * d->step, FARTHEST * unit) : unit;
		move(d, d->step);
		now = dp_models_distribution_loss(d);
		for (halved = 0; loss - now < promised(d, before) / 2 &&
			 halved < HALVINGS; halved++)
		{
			move(d, -d->step / 2);
			d->step /= 2;
			now = dp_models_distribution_loss(d);
		}
		calm = loss - now <= tolerance * loss ? calm + 1 : 0;
		loss = now;
	}
	host->release(host->state, before);
}

/* ----------------
 *		Move drawn rows nearer to the counts that the distribution expects:
 *		rounding each cell of a node leaves errors in tables whose cells sum
 *		many of those.
 *
 * A greedy search.  Row by row and column by column, the place that makes the
 * sum of squared differences least is taken, over all tables at once: those of
 * the terms, so that the wanted ones come out right, and those of the nodes,
 * so that everything else stays as it was drawn.
 * ----------------
 */

#define MOST_PASSES 4
#define MOST_LOOKS 2e9			/* at cells: some seconds */
#define PULSE_LOOKS 1e5
#define WINDOW 128				/* places to choose among */

/* A table, and by how much the rows exceed what is expected of each cell. */
typedef struct target
{
	int			columns;
	int			column[DP_SHAPE_COLUMNS];
	int64_t		stride[DP_SHAPE_COLUMNS];	/* of any column; 0: not there */
	double	   *excess;
	double	   *cell;			/* of the current row, in excess */
} target;

typedef struct polish
{
	const dp_distribution *d;
	const dp_host *host;
	const dp_shape *shape;
	dp_source  *source;
	int			ntargets;
	target	   *target;
	int			nhaving[DP_SHAPE_COLUMNS];
	int		   *having[DP_SHAPE_COLUMNS];	/* targets with the column */
	double		looks;
	double		rest;			/* looks to make until the next pulse */
	bool		changed;
} polish;

/* Count looks, and let the host interrupt every so often. */
static void
look(polish *p, double looks)
{
	p->looks += looks;
	p->rest -= looks;
	if (p->rest > 0)
		return;
	p->rest = PULSE_LOOKS;
	if (p->host->pulse != NULL)
		p->host->pulse(p->host->state);
}

/* Add a set's table, unless its marginal is too much work. */
static void
fit_add_target(polish *p, dp_columns set, int64_t rows)
{
	target	   *t = &p->target[p->ntargets];
	int64_t		cells = (int64_t) dp_models_shape_cells(p->shape, set);
	int64_t		stride = 1;
	int64_t		k;
	int			i;

	look(p, PULSE_LOOKS);
	t->columns = 0;
	t->excess = p->host->allocate(p->host->state,
								  sizeof(double) * (size_t) cells);
	if (dp_models_distribution_marginal(p->d, set, MOST_PRODUCT, t->excess) !=
		DP_OK)
	{
		p->host->release(p->host->state, t->excess);
		return;
	}
	for (k = 0; k < cells; k++)
		t->excess[k] *= -(double) rows / p->d->total;
	for (i = p->shape->columns - 1; i >= 0; i--)
	{
		bool		has = (set & DP_COLUMN(i)) != 0;

		t->stride[i] = has ? stride : 0;
		if (!has)
			continue;
		stride *= p->shape->size[i];
		t->column[t->columns++] = i;
		p->having[i][p->nhaving[i]++] = p->ntargets;
	}
	p->ntargets++;
}

static void
begin(polish *p, const dp_distribution *d, const dp_generator_terms *t,
	  dp_source *source, int64_t rows)
{
	const dp_host *host = d->host;
	size_t		most = (size_t) (t->ntables + d->tree.nodes);
	int			i;
	int			k;

	memset(p, 0, sizeof(*p));
	p->d = d;
	p->host = host;
	p->shape = &d->shape;
	p->source = source;
	p->target = host->allocate(host->state, sizeof(target) * most);
	for (i = 0; i < d->shape.columns; i++)
		p->having[i] = host->allocate(host->state, sizeof(int) * most);
	for (i = 0; i < t->ntables; i++)
		fit_add_target(p, t->table[i].set, rows);
	for (i = 0; i < d->tree.nodes; i++)
	{
		for (k = 0; k < t->ntables; k++)
			if (t->table[k].set == d->tree.node[i].set)
				break;
		if (k == t->ntables)
			fit_add_target(p, d->tree.node[i].set, rows);
	}
}

static void
end(polish *p)
{
	const dp_host *host = p->host;
	int			i;

	for (i = 0; i < p->ntargets; i++)
		host->release(host->state, p->target[i].excess);
	for (i = 0; i < p->shape->columns; i++)
		host->release(host->state, p->having[i]);
	host->release(host->state, p->target);
}

/* Find a row's cell in every table. */
static void
locate(polish *p, const int32_t *row)
{
	int			i;
	int			k;

	for (i = 0; i < p->ntargets; i++)
	{
		target	   *t = &p->target[i];

		t->cell = t->excess;
		for (k = 0; k < t->columns; k++)
			t->cell += row[t->column[k]] * t->stride[t->column[k]];
	}
	look(p, p->ntargets);
}

/*
 * The best of `n` places of a column from `first` on, if it is better than the
 * row's own.  A row that leaves a cell with the excess x for one with y
 * changes the sum of squares by 2 (y - x + 1).
 */
static int64_t
best_place(polish *p, int column, int64_t own, int64_t first, int64_t n)
{
	const int  *having = p->having[column];
	int			ntargets = p->nhaving[column];
	double		sum[WINDOW] = {0};
	double		least = -1e-6 - ntargets;
	int64_t		best = own;
	int64_t		v;
	int			i;

	for (i = 0; i < ntargets; i++)
	{
		const target *t = &p->target[having[i]];
		int64_t		stride = t->stride[column];
		const double *from = t->cell + (first - own) * stride;

		least += *t->cell;
		for (v = 0; v < n; v++)
			sum[v] += from[v * stride];
	}
	for (v = 0; v < n; v++)
		if (sum[v] < least)
		{
			least = sum[v];
			best = first + v;
		}
	look(p, (double) ntargets * (double) n);
	return best;
}

/* Move the current row to the best place in a column. */
static dp_status
improve(polish *p, int32_t *row, int column)
{
	int64_t		size = p->shape->size[column];
	int64_t		first = 0;
	int64_t		best;
	int			i;

	if (size > WINDOW)
	{
		uint64_t	drawn;
		dp_status	status;

		status = dp_noise_uniform_below(p->source,
										(uint64_t) (size - WINDOW + 1),
										&drawn);
		if (status != DP_OK)
			return status;
		first = (int64_t) drawn;
		size = WINDOW;
	}
	best = best_place(p, column, row[column], first, size);
	if (best == row[column])
		return DP_OK;
	for (i = 0; i < p->nhaving[column]; i++)
	{
		target	   *t = &p->target[p->having[column][i]];

		*t->cell -= 1;
		t->cell += (best - row[column]) * t->stride[column];
		*t->cell += 1;
	}
	row[column] = (int32_t) best;
	p->changed = true;
	return DP_OK;
}

/*
 * dp_models_generator_polish
 *	  Change places of rows so that the rows' counts of the terms' tables come
 *	  nearer to what the distribution expects.  Time is bounded, whatever the
 *	  number of rows; the first ones are looked at first, so rows should be in
 *	  an order without meaning.
 *
 * Requires: everything inferred; places of dp_models_distribution_sample; the
 *			 terms' shape is d's.
 * Gives:	 DP_OK: the sum of squared differences, over the terms' tables and
 *			 the nodes, is not larger than before; DP_E_RANDOM.
 * Source:	 doc/theory.md T70 (post-processing only).
 */
dp_status
dp_models_generator_polish(const dp_distribution *d,
						   const dp_generator_terms *t, dp_source *source,
						   int64_t rows, int32_t *places)
{
	int			columns = d->shape.columns;
	dp_status	status = DP_OK;
	polish		p;
	int64_t		k;
	int			pass;
	int			i;

	begin(&p, d, t, source, rows);
	for (k = 0; k < rows; k++)
	{
		locate(&p, places + k * columns);
		for (i = 0; i < p.ntargets; i++)
			*p.target[i].cell += 1;
	}
	p.looks = 0;
	p.changed = true;
	for (pass = 0; pass < MOST_PASSES && p.changed; pass++)
	{
		p.changed = false;
		for (k = 0; k < rows && p.looks < MOST_LOOKS && status == DP_OK; k++)
		{
			locate(&p, places + k * columns);
			for (i = 0; i < columns && status == DP_OK; i++)
				status = improve(&p, places + k * columns, i);
		}
	}
	end(&p);
	return status;
}

/* ----------------
 *		Rows from a distribution, with as little randomness as possible: node
 *		by node from the root, rows that agree on the separator share out the
 *		cells of the node's other columns.  A cell gets its expected number of
 *		rows rounded down, or up with the probability of the remainder, and
 *		which rows get it is drawn.
 * ----------------
 */

/*
 * dp_models_sample_uniform
 *	  A number drawn uniformly from the multiples of 2^-53 in [0, 1).
 *
 * Requires: source, out non-NULL.
 * Gives:	 DP_OK, or DP_E_RANDOM.
 * Source:	 doc/theory.md T70 (post-processing only).
 */
dp_status
dp_models_sample_uniform(dp_source *source, double *out)
{
	uint64_t	bits;
	dp_status	status = dp_noise_random_bytes(source, &bits, sizeof(bits));

	if (status == DP_OK)
		*out = (double) (bits >> 11) * 0x1p-53;
	return status;
}

/*
 * dp_models_sample_share
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
dp_models_sample_share(dp_source *source, const double *odds, int64_t n,
					   double mass, int64_t rows, int64_t *counts)
{
	double		scale = mass > 0 ? (double) rows / mass : 0;
	double		sum = 0;
	double		start;
	int64_t		left = rows;
	int64_t		picked = 0;
	int64_t		likeliest = 0;
	int64_t		i;
	dp_status	status = dp_models_sample_uniform(source, &start);

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
	l->apart = (int64_t) dp_models_shape_cells(&d->shape, l->node->separator);
	l->rest = (int64_t) dp_models_shape_cells(&d->shape, others);
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
		status = dp_noise_uniform_below(source, (uint64_t) n, &k);
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
	status = dp_models_sample_share(source, l->share, l->rest, mass, rows,
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
 * dp_models_distribution_sample
 *	  Draw rows; the place of row i in column k is places[i * columns + k].
 *
 * Requires: everything inferred; rows >= 0; sizes below 2^31; places of
 *			 rows * columns.
 * Gives:	 DP_OK with every place set; DP_E_RANDOM.
 * Source:	 doc/theory.md T70.
 */
dp_status
dp_models_distribution_sample(const dp_distribution *d, dp_source *source,
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
