/*
 * bound.c
 *	  Bounds on the adaptive generator's errors, from public numbers.
 *
 * Every release gives a range for the counts of its table's cells and, summed,
 * for those of each part of the table.  No count is negative or above that of
 * the part's cell around it, and cells that hold nearly all rows must overlap.
 * The wanted tables' cells are within their ranges; sums of a table's errors
 * have bounds of their own, which are much smaller than the sum of the cells'
 * bounds.
 */
#include <math.h>
#include <string.h>

#include "generator.h"

#define MOST_COMBINED 5			/* columns of a table whose parts are, too */

/* The ranges of the counts of a table's cells. */
typedef struct range
{
	double	   *low;
	double	   *high;
} range;

/* The last release's means for a table, and the inverse of their variance. */
typedef struct mean
{
	double	   *value;
	double		weight;			/* times sigma^2, for one cell's sum */
} mean;

typedef struct bounds
{
	generator  *g;
	const dp_generator_terms *t;
	const dp_shape *shape;
	double		low;			/* of the number of rows */
	double		high;
	range	   *of;				/* of each table */
	mean	   *mean;			/* of each table, the last: of no columns */
	double		closing_sigma;
	dp_odds		closing_odds;
} bounds;

static double
cells_of(const bounds *b, dp_columns set)
{
	return dp_model_shape_cells(b->shape, set);
}

static double *
table_for(const bounds *b, dp_columns set)
{
	return b->g->host->allocate(b->g->host->state, sizeof(double) *
								(size_t) cells_of(b, set));
}

static void
release(const bounds *b, void *memory)
{
	if (memory != NULL)
		b->g->host->release(b->g->host->state, memory);
}

/* A table's index, ntables for no columns, -1 when there is none. */
static int
find(const bounds *b, dp_columns set)
{
	int			i;

	for (i = 0; i < b->t->ntables && set != 0; i++)
		if (b->t->table[i].set == set)
			return i;
	return set == 0 ? b->t->ntables : -1;
}

/* A standard normal variable exceeds this in size with probability beta. */
static double
quantile(double beta)
{
	double		low = 0;
	double		high = 40;
	int			i;

	for (i = 0; i < 60; i++)
	{
		double		middle = (low + high) / 2;

		if (erfc(middle * M_SQRT1_2) > beta)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* Half of a range; half a row is for rounding counts: doc/theory.md T77. */
static double
half_width(double sigma, double odds)
{
	return quantile(odds) * sigma + .5;
}

static double
cell_odds(const bounds *b, int table, const dp_odds *odds)
{
	return b->t->table[table].wanted ? odds->wanted : odds->part;
}

static void
narrow(range *r, int64_t cells, const double *value, double width)
{
	int64_t		k;

	for (k = 0; k < cells; k++)
	{
		r->low[k] = fmax(r->low[k], value[k] - width);
		r->high[k] = fmin(r->high[k], value[k] + width);
	}
}

/* Narrow a table's ranges by the rounds' releases that have its columns. */
static void
narrow_by_rounds(bounds *b, int table)
{
	dp_columns	set = b->t->table[table].set;
	double		cells = cells_of(b, set);
	int			i;

	for (i = 0; i < b->g->nevidence; i++)
	{
		const dp_evidence *e = &b->g->evidence[i];
		dp_columns	from = b->t->table[e->table].set;
		double		sigma = e->sigma * sqrt(cells_of(b, from) / cells);

		if (e->closing || (set & ~from) != 0)
			continue;
		dp_model_table_sum(b->shape, from, e->value, set, b->g->noisy);
		narrow(&b->of[table], (int64_t) cells, b->g->noisy,
			   half_width(sigma, cell_odds(b, table, &e->odds)));
	}
}

/* The mean of the last releases that have a set's columns. */
static void
take_mean(bounds *b, int at, dp_columns set)
{
	int64_t		cells = (int64_t) cells_of(b, set);
	mean	   *out = &b->mean[at];
	int64_t		k;
	int			i;

	out->value = table_for(b, set);
	memset(out->value, 0, sizeof(double) * (size_t) cells);
	for (i = 0; i < b->g->nevidence; i++)
	{
		const dp_evidence *e = &b->g->evidence[i];
		dp_columns	from = b->t->table[e->table].set;
		double		weight = 1 / cells_of(b, from);

		if (!e->closing || (set & ~from) != 0)
			continue;
		dp_model_table_sum(b->shape, from, e->value, set, b->g->noisy);
		for (k = 0; k < cells; k++)
			out->value[k] += weight * b->g->noisy[k];
		out->weight += weight;
	}
	for (k = 0; k < cells && out->weight > 0; k++)
		out->value[k] /= out->weight;
}

/*
 * The variance of a combined table, times cells^2 / sigma^2, summed over its
 * parts; 0 when a part is not known.
 */
static double
parts_variance(const bounds *b, dp_columns set)
{
	dp_columns	part = set;
	double		sum = 0;

	for (;;)
	{
		int			at = find(b, part);
		double		free = 1;
		int			i;

		if (at < 0)
			return 0;
		for (i = 0; i < b->shape->columns; i++)
			if (part & DP_COLUMN(i))
				free *= (double) b->shape->size[i] - 1;
		sum += free / b->mean[at].weight;
		if (part == 0)
			return sum;
		part = (part - 1) & set;
	}
}

/* Fit a table to the means of its parts, those of most columns first. */
static void
combine(bounds *b, dp_columns set, double *value)
{
	double	   *gap = table_for(b, set);
	int			columns;

	for (columns = __builtin_popcountll(set) - 1; columns >= 0; columns--)
	{
		dp_columns	part = set;

		while (part != 0)
		{
			const mean *known;
			double		cells;
			int64_t		k;

			part = (part - 1) & set;
			if (__builtin_popcountll(part) != columns)
				continue;
			known = &b->mean[find(b, part)];
			cells = cells_of(b, part);
			dp_model_table_sum(b->shape, set, value, part, gap);
			for (k = 0; k < (int64_t) cells; k++)
				gap[k] = (known->value[k] - gap[k]) * cells /
					cells_of(b, set);
			dp_model_table_add(b->shape, set, value, part, gap);
		}
	}
	release(b, gap);
}

/* Narrow a table's ranges by the last release, of all wanted tables. */
static void
narrow_by_closing(bounds *b, int table)
{
	dp_columns	set = b->t->table[table].set;
	double		cells = cells_of(b, set);
	double		variance = 0;
	double	   *value;

	if (b->mean[table].weight == 0)
		return;
	value = table_for(b, set);
	memcpy(value, b->mean[table].value, sizeof(double) * (size_t) cells);
	if (__builtin_popcountll(set) <= MOST_COMBINED)
		variance = parts_variance(b, set) / cells / cells;
	if (variance > 0)
		combine(b, set, value);
	else
		variance = 1 / (cells * b->mean[table].weight);
	narrow(&b->of[table], (int64_t) cells, value,
		   half_width(b->closing_sigma * sqrt(variance),
					  cell_odds(b, table, &b->closing_odds)));
	release(b, value);
}

/* No cell of a table is above the part's cell around it. */
static void
narrow_above(bounds *b, int table, int part, double *room)
{
	dp_columns	set = b->t->table[table].set;
	int64_t		cells = (int64_t) cells_of(b, set);
	double	   *high = b->of[table].high;
	int64_t		k;

	memset(room, 0, sizeof(double) * (size_t) cells);
	dp_model_table_add(b->shape, set, room, b->t->table[part].set,
					   b->of[part].high);
	for (k = 0; k < cells; k++)
		high[k] = fmin(high[k], room[k]);
}

/* Two parts' cells overlap in what exceeds the number of rows. */
static void
narrow_below(bounds *b, int table, int rest, int column, double *room)
{
	const dp_generator_table *all = b->t->table;
	dp_columns	set = all[table].set;
	int64_t		cells = (int64_t) cells_of(b, set);
	double	   *low = b->of[table].low;
	int64_t		k;

	memset(room, 0, sizeof(double) * (size_t) cells);
	dp_model_table_add(b->shape, set, room, all[rest].set, b->of[rest].low);
	dp_model_table_add(b->shape, set, room, all[column].set,
					   b->of[column].low);
	for (k = 0; k < cells; k++)
		low[k] = fmax(low[k], room[k] - b->high);
}

static void
narrow_by_parts(bounds *b, int table)
{
	dp_columns	set = b->t->table[table].set;
	double	   *room = table_for(b, set);
	int			i;

	for (i = 0; i < b->shape->columns; i++)
	{
		int			rest;
		int			column;

		if (!(set & DP_COLUMN(i)) || set == DP_COLUMN(i))
			continue;
		rest = find(b, set & ~DP_COLUMN(i));
		column = find(b, DP_COLUMN(i));
		if (rest < 0 || column < 0)
			continue;
		narrow_above(b, table, rest, room);
		narrow_above(b, table, column, room);
		narrow_below(b, table, rest, column, room);
	}
	release(b, room);
}

/* Find a range for the number of rows, to which every release sums. */
static void
find_total(bounds *b)
{
	range		only = {&b->low, &b->high};
	const mean *last = &b->mean[b->t->ntables];
	int			i;

	b->low = 0;
	b->high = INFINITY;
	for (i = 0; i < b->g->nevidence; i++)
	{
		const dp_evidence *e = &b->g->evidence[i];
		dp_columns	from = b->t->table[e->table].set;
		double		sum;

		if (e->closing)
			continue;
		dp_model_table_sum(b->shape, from, e->value, 0, &sum);
		narrow(&only, 1, &sum, half_width(e->sigma * sqrt(cells_of(b, from)),
										  e->odds.part));
	}
	if (last->weight > 0)
		narrow(&only, 1, last->value,
			   half_width(b->closing_sigma / sqrt(last->weight),
						  b->closing_odds.part));
}

static void
find_means(bounds *b)
{
	int			i;

	for (i = 0; i < b->g->nevidence; i++)
		if (b->g->evidence[i].closing)
		{
			b->closing_sigma = b->g->evidence[i].sigma;
			b->closing_odds = b->g->evidence[i].odds;
		}
	for (i = 0; i <= b->t->ntables && b->g->closing; i++)
	{
		if (b->g->host->pulse != NULL)
			b->g->host->pulse(b->g->host->state);
		take_mean(b, i, i < b->t->ntables ? b->t->table[i].set : 0);
	}
}

static void
find_ranges(bounds *b)
{
	const dp_host *host = b->g->host;
	int			columns;
	int			i;
	int64_t		k;

	for (columns = 1; columns <= b->shape->columns; columns++)
		for (i = 0; i < b->t->ntables; i++)
		{
			dp_columns	set = b->t->table[i].set;

			if (__builtin_popcountll(set) != columns)
				continue;
			if (host->pulse != NULL)
				host->pulse(host->state);
			b->of[i].low = table_for(b, set);
			b->of[i].high = table_for(b, set);
			for (k = 0; k < (int64_t) cells_of(b, set); k++)
			{
				b->of[i].low[k] = 0;
				b->of[i].high[k] = b->high;
			}
			narrow_by_rounds(b, i);
			narrow_by_closing(b, i);
			narrow_by_parts(b, i);
		}
}

/* ---- bounds of a table ---- */

static void
tighten(const bounds *b, dp_bound *out, double table)
{
	double		total = b->g->d->total;
	double		off = fmax(b->high - total, total - b->low);

	out->table = fmin(out->table, table);
	/* what is too much in some cells is missing in others */
	out->cell = fmin(out->cell, fmin(table, (table + off) / 2));
}

/* Bound a table's errors by the ranges; its expected counts are in scratch. */
static void
bound_by_range(const bounds *b, int table, dp_bound *out)
{
	const double *expected = b->g->scratch;
	const range *r = &b->of[table];
	double		above = 0;
	double		below = 0;
	double		most = 0;
	int64_t		k;

	for (k = 0; k < (int64_t) cells_of(b, b->t->table[table].set); k++)
	{
		double		over = fmax(0, expected[k] - r->low[k]);
		double		under = fmax(0, r->high[k] - expected[k]);

		above += over;
		below += under;
		most = fmax(most, fmax(over, under));
	}
	out->cell = fmin(out->cell, most);
	tighten(b, out, 2 * above + b->high - b->g->d->total);
	tighten(b, out, 2 * below + b->g->d->total - b->low);
}

/* Bound the sum of a table's errors by one release. */
static void
bound_by_release(const bounds *b, const dp_evidence *e, int table,
				 dp_bound *out)
{
	dp_columns	from = b->t->table[e->table].set;
	dp_columns	set = b->t->table[table].set;
	double		cells = cells_of(b, set);
	double		sum = 0;
	int64_t		k;

	dp_model_table_sum(b->shape, from, e->value, set, b->g->noisy);
	for (k = 0; k < (int64_t) cells; k++)
		sum += fabs(b->g->scratch[k] - b->g->noisy[k]);
	tighten(b, out, sum +
			dp_model_generator_noise_bound(e->sigma *
										   sqrt(cells_of(b, from) / cells),
										   cells, e->odds.sum));
}

/* The smallest table of the last release with a table's columns; public. */
static int
home_of(const dp_generator_terms *t, int table)
{
	int			home = -1;
	double		least = 0;
	int			i;

	for (i = 0; i < t->ntables; i++)
	{
		double		cells = dp_model_shape_cells(&t->shape, t->table[i].set);

		if ((t->table[table].set & ~t->table[i].set) != 0 ||
			(home >= 0 && cells >= least) ||
			!dp_model_generator_is_whole(t, i))
			continue;
		home = i;
		least = cells;
	}
	return home;
}

/* Bound a table by the measurements that have its columns. */
static void
bound_measured(const bounds *b, int table, dp_bound *out)
{
	int			home = b->g->closing ? home_of(b->t, table) : -1;
	int			i;

	for (i = 0; i < b->g->nevidence; i++)
	{
		const dp_evidence *e = &b->g->evidence[i];

		if ((b->t->table[table].set & ~b->t->table[e->table].set) == 0 &&
			(!e->closing || e->table == home))
			bound_by_release(b, e, table, out);
	}
}

/* Bound a table that the last choice passed over. */
static void
bound_passed_over(const bounds *b, int table, dp_bound *out)
{
	const generator *g = b->g;
	const dp_generator_table *r = &b->t->table[table];
	int64_t		cells = (int64_t) cells_of(b, r->set);
	double		moved = 0;
	bool		candidate = false;
	int64_t		k;
	int			i;

	for (i = 0; i < g->ncandidates; i++)
		candidate = candidate || g->candidate[i] == table;
	if (!candidate)
		return;
	for (k = 0; k < cells; k++)
		moved += fabs(g->scratch[k] - (double) g->expected[table][k]);
	moved += (g->choice_score + g->choice_miss) / (double) r->weight +
		(double) dp_model_generator_noise_size(g->choice_sigma, cells);
	tighten(b, out, moved);
}

static void
begin(bounds *b, generator *g)
{
	size_t		n = (size_t) g->t->ntables;

	memset(b, 0, sizeof(*b));
	b->g = g;
	b->t = g->t;
	b->shape = &g->t->shape;
	b->of = g->host->allocate(g->host->state, n * sizeof(range));
	memset(b->of, 0, n * sizeof(range));
	b->mean = g->host->allocate(g->host->state, (n + 1) * sizeof(mean));
	memset(b->mean, 0, (n + 1) * sizeof(mean));
}

static void
end(bounds *b)
{
	int			i;

	for (i = 0; i < b->t->ntables; i++)
	{
		release(b, b->of[i].low);
		release(b, b->of[i].high);
		release(b, b->mean[i].value);
	}
	release(b, b->mean[b->t->ntables].value);
	release(b, b->of);
	release(b, b->mean);
}

/*
 * dp_model_generator_estimate
 *	  Bounds of the wanted tables' errors, from public numbers: by what was
 *	  measured, or by the last choice.
 *
 * Requires: after dp_model_generator_remember and the last fit.
 * Gives:	 the report's errors, and the terms' bounds when there is room.
 * Source:	 doc/theory.md T74, T77.
 */
void
dp_model_generator_estimate(generator *g)
{
	const dp_generator_terms *t = g->t;
	bounds		b;
	int			i;

	g->report->total = g->d->total;
	begin(&b, g);
	find_means(&b);
	find_total(&b);
	find_ranges(&b);
	for (i = 0; i < t->ntables; i++)
	{
		g->bound[i].table = g->bound[i].cell = INFINITY;
		if (!t->table[i].wanted ||
			dp_model_distribution_marginal(g->d, t->table[i].set, MOST_PRODUCT,
										   g->scratch) != DP_OK)
			continue;
		if (g->host->pulse != NULL)
			g->host->pulse(g->host->state);
		bound_by_range(&b, i, &g->bound[i]);
		bound_measured(&b, i, &g->bound[i]);
		bound_passed_over(&b, i, &g->bound[i]);
	}
	end(&b);
	dp_model_generator_summarize(t, g->bound, g->report);
	if (t->bound != NULL)
		memcpy(t->bound, g->bound, (size_t) t->ntables * sizeof(dp_bound));
}
