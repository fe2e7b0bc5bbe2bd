/*
 * polish.c
 *	  Move drawn rows nearer to the counts that the distribution expects:
 *	  rounding each cell of a node leaves errors in tables whose cells sum many
 *	  of those.
 *
 * A greedy search.  Row by row and column by column, the place that makes the
 * sum of squared differences least is taken, over all tables at once: those of
 * the terms, so that the wanted ones come out right, and those of the nodes,
 * so that everything else stays as it was drawn.
 */
#include <math.h>
#include <string.h>

#include "generator.h"

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
add_target(polish *p, dp_columns set, int64_t rows)
{
	target	   *t = &p->target[p->ntargets];
	int64_t		cells = (int64_t) dp_model_shape_cells(p->shape, set);
	int64_t		stride = 1;
	int64_t		k;
	int			i;

	look(p, PULSE_LOOKS);
	t->columns = 0;
	t->excess = p->host->allocate(p->host->state,
								  sizeof(double) * (size_t) cells);
	if (dp_model_distribution_marginal(p->d, set, MOST_PRODUCT, t->excess) !=
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
		add_target(p, t->table[i].set, rows);
	for (i = 0; i < d->tree.nodes; i++)
	{
		for (k = 0; k < t->ntables; k++)
			if (t->table[k].set == d->tree.node[i].set)
				break;
		if (k == t->ntables)
			add_target(p, d->tree.node[i].set, rows);
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

		status = dp_mech_uniform_below(p->source,
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
 * dp_model_generator_polish
 *	  Change places of rows so that the rows' counts of the terms' tables come
 *	  nearer to what the distribution expects.  Time is bounded, whatever the
 *	  number of rows; the first ones are looked at first, so rows should be in
 *	  an order without meaning.
 *
 * Requires: everything inferred; places of dp_model_distribution_sample; the
 *			 terms' shape is d's.
 * Gives:	 DP_OK: the sum of squared differences, over the terms' tables and
 *			 the nodes, is not larger than before; DP_E_RANDOM.
 * Source:	 doc/theory.md T70 (post-processing only).
 */
dp_status
dp_model_generator_polish(const dp_distribution *d,
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
