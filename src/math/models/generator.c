/*
 * generator.c
 *	  The adaptive generator of marginals (AIM: McKenna, Mullins, Sheldon and
 *	  Miklau 2022), and the bounds of its error.
 */
#include <math.h>
#include <string.h>

#include "../numbers/dp_numbers.h"
#include "../noise/dp_noise.h"
#include "../accounting/dp_accounting.h"
#include "dp_models.h"
#include "models_internal.h"

/* ----------------
 *		Bounds on the adaptive generator's errors, from public numbers.
 *
 * Every release gives a range for the counts of its table's cells and, summed,
 * for those of each part of the table.  No count is negative or above that of
 * the part's cell around it, and cells that hold nearly all rows must overlap.
 * The wanted tables' cells are within their ranges; sums of a table's errors
 * have bounds of their own, which are much smaller than the sum of the cells'
 * bounds.
 * ----------------
 */

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
generator_table_cells(const bounds *b, dp_columns set)
{
	return dp_models_shape_cells(b->shape, set);
}

static double *
generator_table_for(const bounds *b, dp_columns set)
{
	return b->g->host->allocate(b->g->host->state, sizeof(double) *
								(size_t) generator_table_cells(b, set));
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
	double		cells = generator_table_cells(b, set);
	int			i;

	for (i = 0; i < b->g->nevidence; i++)
	{
		const dp_evidence *e = &b->g->evidence[i];
		dp_columns	from = b->t->table[e->table].set;
		double		sigma = e->sigma *
			sqrt(generator_table_cells(b, from) / cells);

		if (e->closing || (set & ~from) != 0)
			continue;
		dp_models_table_sum(b->shape, from, e->value, set, b->g->noisy);
		narrow(&b->of[table], (int64_t) cells, b->g->noisy,
			   half_width(sigma, cell_odds(b, table, &e->odds)));
	}
}

/* The mean of the last releases that have a set's columns. */
static void
take_mean(bounds *b, int at, dp_columns set)
{
	int64_t		cells = (int64_t) generator_table_cells(b, set);
	mean	   *out = &b->mean[at];
	int64_t		k;
	int			i;

	out->value = generator_table_for(b, set);
	memset(out->value, 0, sizeof(double) * (size_t) cells);
	for (i = 0; i < b->g->nevidence; i++)
	{
		const dp_evidence *e = &b->g->evidence[i];
		dp_columns	from = b->t->table[e->table].set;
		double		weight = 1 / generator_table_cells(b, from);

		if (!e->closing || (set & ~from) != 0)
			continue;
		dp_models_table_sum(b->shape, from, e->value, set, b->g->noisy);
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
generator_combine(bounds *b, dp_columns set, double *value)
{
	double	   *gap = generator_table_for(b, set);
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
			cells = generator_table_cells(b, part);
			dp_models_table_sum(b->shape, set, value, part, gap);
			for (k = 0; k < (int64_t) cells; k++)
				gap[k] = (known->value[k] - gap[k]) * cells /
					generator_table_cells(b, set);
			dp_models_table_add(b->shape, set, value, part, gap);
		}
	}
	release(b, gap);
}

/* Narrow a table's ranges by the last release, of all wanted tables. */
static void
narrow_by_closing(bounds *b, int table)
{
	dp_columns	set = b->t->table[table].set;
	double		cells = generator_table_cells(b, set);
	double		variance = 0;
	double	   *value;

	if (b->mean[table].weight == 0)
		return;
	value = generator_table_for(b, set);
	memcpy(value, b->mean[table].value, sizeof(double) * (size_t) cells);
	if (__builtin_popcountll(set) <= MOST_COMBINED)
		variance = parts_variance(b, set) / cells / cells;
	if (variance > 0)
		generator_combine(b, set, value);
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
	int64_t		cells = (int64_t) generator_table_cells(b, set);
	double	   *high = b->of[table].high;
	int64_t		k;

	memset(room, 0, sizeof(double) * (size_t) cells);
	dp_models_table_add(b->shape, set, room, b->t->table[part].set,
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
	int64_t		cells = (int64_t) generator_table_cells(b, set);
	double	   *low = b->of[table].low;
	int64_t		k;

	memset(room, 0, sizeof(double) * (size_t) cells);
	dp_models_table_add(b->shape, set, room, all[rest].set, b->of[rest].low);
	dp_models_table_add(b->shape, set, room, all[column].set,
						b->of[column].low);
	for (k = 0; k < cells; k++)
		low[k] = fmax(low[k], room[k] - b->high);
}

static void
narrow_by_parts(bounds *b, int table)
{
	dp_columns	set = b->t->table[table].set;
	double	   *room = generator_table_for(b, set);
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
		dp_models_table_sum(b->shape, from, e->value, 0, &sum);
		narrow(&only, 1, &sum,
			   half_width(e->sigma * sqrt(generator_table_cells(b, from)),
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
			b->of[i].low = generator_table_for(b, set);
			b->of[i].high = generator_table_for(b, set);
			for (k = 0; k < (int64_t) generator_table_cells(b, set); k++)
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

	for (k = 0;
		 k < (int64_t) generator_table_cells(b, b->t->table[table].set); k++)
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
	double		cells = generator_table_cells(b, set);
	double		sum = 0;
	int64_t		k;

	dp_models_table_sum(b->shape, from, e->value, set, b->g->noisy);
	for (k = 0; k < (int64_t) cells; k++)
		sum += fabs(b->g->scratch[k] - b->g->noisy[k]);
	tighten(b, out, sum +
			dp_models_generator_noise_bound(
				e->sigma * sqrt(generator_table_cells(b, from) / cells),
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
		double		cells = dp_models_shape_cells(&t->shape, t->table[i].set);

		if ((t->table[table].set & ~t->table[i].set) != 0 ||
			(home >= 0 && cells >= least) ||
			!dp_models_generator_is_whole(t, i))
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
	int64_t		cells = (int64_t) generator_table_cells(b, r->set);
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
		(double) dp_models_generator_noise_size(g->choice_sigma, cells);
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
 * generator_estimate
 *	  Bounds of the wanted tables' errors, from public numbers: by what was
 *	  measured, or by the last choice.
 *
 * Requires: after dp_models_generator_remember and the last fit.
 * Gives:	 the report's errors, and the terms' bounds when there is room.
 * Source:	 doc/theory.md T74, T77.
 */
static void
generator_estimate(generator *g)
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
			dp_models_distribution_marginal(g->d, t->table[i].set,
											MOST_PRODUCT, g->scratch) != DP_OK)
			continue;
		if (g->host->pulse != NULL)
			g->host->pulse(g->host->state);
		bound_by_range(&b, i, &g->bound[i]);
		bound_measured(&b, i, &g->bound[i]);
		bound_passed_over(&b, i, &g->bound[i]);
	}
	end(&b);
	dp_models_generator_summarize(t, g->bound, g->report);
	if (t->bound != NULL)
		memcpy(t->bound, g->bound, (size_t) t->ntables * sizeof(dp_bound));
}

/* ----------------
 *		The adaptive generator of marginals (AIM: McKenna, Mullins, Sheldon and
 *		Miklau 2022), after the paper.
 *
 * First every column is measured.  Then, in each round, the exponential
 * mechanism chooses a table that the distribution predicts badly, more so than
 * noise would explain; the table is released with discrete Gaussian noise, and
 * the distribution is fitted to everything released so far.  Rounds begin
 * cheap; one whose measurement moved the distribution by less than its noise
 * doubles the precision of those to come.  The last one spends what is left.
 *
 * The paper's rounds leave errors in cells of tables that are never chosen.
 * So where the whole workload fits into the tree, the rounds have one half of
 * rho, and the other half goes to one more release, of all wanted tables.
 *
 * Only dp_models_generator_score, which compares integers with integers, and
 * dp_models_generator_measure read exact counts.  All else is public.
 * ----------------
 */

#define PULSE_CELLS (1 << 16)	/* of noise between two pulses */
#define NOMINAL_ROUNDS 16		/* per column */
#define TOLERANCE 1e-4			/* of the loss, when a fit is at rest */

/* Limits of a fit: cells visited, and steps. */
typedef struct patience
{
	double		effort;
	int			most;
} patience;

static const patience after_round = {1e7, 200};
static const patience at_the_end = {4e8, 2000};

#define LEAST_STEPS 25

static int64_t
generator_cells_of(const dp_generator_terms *t, int table)
{
	return (int64_t) dp_models_shape_cells(&t->shape, t->table[table].set);
}

/*
 * dp_models_generator_score
 *	  weight * (|| counts - expected ||_1 - what noise of sigma would add).
 *
 * Requires: expected of the table's cells, public; counts and expected below
 *			 2^53 in size.
 * Gives:	 an integer that one unit moves by at most
 *			 dp_models_score_sensitivity.
 * Source:	 doc/theory.md T72.
 */
void
dp_models_generator_score(const dp_generator_terms *t, int table,
						  const int64_t *expected, double sigma,
						  dp_int128 *out)
{
	const dp_generator_table *r = &t->table[table];
	int64_t		cells = generator_cells_of(t, table);
	dp_int128	sum = 0;
	int64_t		k;

	for (k = 0; k < cells; k++)
	{
		int64_t		gap = r->counts[k] - expected[k];

		sum += gap < 0 ? -gap : gap;
	}
	*out = r->weight * (sum - dp_models_generator_noise_size(sigma, cells));
}

/*
 * dp_models_generator_choose
 *	  Choose a candidate by the exponential mechanism on the scores.
 *
 * Requires: candidates are tables; expected of each is public; score of as
 *			 many elements, whose content is private afterwards.
 * Gives:	 DP_OK with the chosen table; the statuses of
 *			 dp_noise_exponential.
 * Source:	 doc/theory.md T16, T72.
 */
dp_status
dp_models_generator_choose(dp_source *source, const dp_generator_terms *t,
						   const dp_generator_step *step, const int *candidate,
						   int ncandidates, int64_t *const *expected,
						   dp_int128 *score, int *chosen)
{
	size_t		index;
	dp_status	status;
	int			i;

	for (i = 0; i < ncandidates; i++)
		dp_models_generator_score(t, candidate[i], expected[candidate[i]],
								  step->sigma, &score[i]);
	status = dp_noise_exponential(source, score, (size_t) ncandidates,
								  &step->rate, &index);
	if (status == DP_OK)
		*chosen = candidate[index];
	return status;
}

/*
 * dp_models_generator_measure
 *	  Release a table: every count with fresh noise.
 *
 * Requires: a step of dp_models_generator_step_make; out of as many cells;
 *			 host is NULL or has its pulse called.
 * Gives:	 DP_OK with out; the statuses of dp_noise_discrete_gaussian.
 * Source:	 doc/theory.md T71.
 */
dp_status
dp_models_generator_measure(dp_source *source, const dp_host *host,
							const dp_generator_step *step,
							const int64_t *counts, int64_t cells, double *out)
{
	dp_status	status = DP_OK;
	int64_t		k;

	for (k = 0; k < cells && status == DP_OK; k++)
	{
		dp_int128	noise;

		if ((k & (PULSE_CELLS - 1)) == 0 && host != NULL &&
			host->pulse != NULL)
			host->pulse(host->state);
		status = dp_noise_discrete_gaussian(source, &step->noise, &noise);
		if (status == DP_OK)
			out[k] = (double) (counts[k] + noise);
	}
	return status;
}

/* A table's expected counts, rounded; public. */
static void
expect(generator *g, int table)
{
	const dp_generator_terms *t = g->t;
	int64_t		cells = generator_cells_of(t, table);
	int64_t    *to = g->expected[table];
	int64_t		k;

	/* if that is too much work, as if its columns were independent */
	if (dp_models_distribution_marginal(g->d, t->table[table].set,
										MOST_PRODUCT, g->scratch) != DP_OK)
		dp_models_generator_independent(g, t->table[table].set, g->scratch);
	for (k = 0; k < cells; k++)
		to[k] = (int64_t) floor(g->scratch[k] + .5);
}

/* Choose among the candidates; g->chosen. */
static dp_status
choose(generator *g)
{
	int			i;

	for (i = 0; i < g->ncandidates; i++)
	{
		if (g->host->pulse != NULL)
			g->host->pulse(g->host->state);
		expect(g, g->candidate[i]);
	}
	return dp_models_generator_choose(g->source, g->t, &g->step, g->candidate,
									  g->ncandidates, g->expected, g->score,
									  &g->chosen);
}

/* Release a table, which is paid for, and add it to the distribution. */
static dp_status
measure(generator *g, int table, bool closing)
{
	dp_status	status;

	status = dp_models_generator_measure(g->source, g->host, &g->step,
										 g->t->table[table].counts,
										 generator_cells_of(g->t, table),
										 g->noisy);
	if (status != DP_OK)
		return status;
	dp_models_distribution_measure(g->d, g->t->table[table].set, g->noisy,
								   g->step.sigma * g->step.sigma);
	dp_models_generator_keep(g, table, closing);
	return DP_OK;
}

static void
fit(generator *g, const patience *p)
{
	double		steps = fmax(LEAST_STEPS, p->effort / (g->d->cells + 1));

	dp_models_distribution_fit(g->d, (int) fmin(steps, p->most), TOLERANCE, 1);
}

/* Find the tables that the size limit allows by now; public. */
static void
generator_find_candidates(generator *g)
{
	/* with this round's */
	double		used = dp_accounting_fixed_approx(g->used);
	double		most = g->t->most_cells *
		fmin(1, used / dp_accounting_fixed_approx(g->rho));
	int			i;

	g->ncandidates = 0;
	for (i = 0; i < g->t->ntables; i++)
	{
		double		cells;

		if (g->host->pulse != NULL)
			g->host->pulse(g->host->state);
		cells = dp_models_distribution_size(g->d, g->t->table[i].set);

		if (cells <= most || cells == g->d->cells)
			g->candidate[g->ncandidates++] = i;
	}
}

/* Whether the measurement moved the expected counts by less than its noise. */
static bool
was_noise(generator *g)
{
	const int64_t *before = g->expected[g->chosen];
	int64_t		cells = generator_cells_of(g->t, g->chosen);
	double		moved = 0;
	int64_t		k;

	if (dp_models_distribution_marginal(g->d, g->t->table[g->chosen].set,
										MOST_PRODUCT, g->scratch) != DP_OK)
		return false;
	for (k = 0; k < cells; k++)
		moved += fabs(g->scratch[k] - (double) before[k]);
	return moved <= MEAN_NOISE * g->step.sigma * (double) cells;
}

static bool
pay(generator *g, dp_fixed rho)
{
	if (rho > g->rho - g->used)
		return false;
	g->used += rho;
	g->report->spent = g->used;
	return true;
}

/* Measure every column. */
static dp_status
first_round(generator *g)
{
	dp_status	status = DP_OK;
	int			i;

	for (i = 0; i < g->t->shape.columns && status == DP_OK; i++)
		status = pay(g, g->step.measure_rho) ? measure(g, i, false) :
			DP_E_RANGE;
	if (status == DP_OK)
		fit(g, &after_round);
	return status;
}

/* One round; *last is set by the one that spends what is left. */
static dp_status
generator_one_round(generator *g, bool *last)
{
	dp_fixed	left = g->rho - g->used;
	dp_fixed	cost = dp_accounting_fixed_add(g->step.choice_rho,
											   g->step.measure_rho);
	dp_status	status = DP_OK;

	if (cost > left / 2)
	{
		*last = true;
		status = dp_models_generator_step_last(g->t, left, &g->step);
		cost = dp_accounting_fixed_add(g->step.choice_rho,
									   g->step.measure_rho);
	}
	if (status == DP_OK && !pay(g, cost))
		status = DP_E_RANGE;
	if (status != DP_OK)
		return status;
	generator_find_candidates(g);
	status = choose(g);
	if (status == DP_OK)
		status = measure(g, g->chosen, false);
	if (status != DP_OK)
		return status;
	g->report->rounds++;
	g->report->sigma = g->step.sigma;
	fit(g, *last && !g->closing ? &at_the_end : &after_round);
	if (!*last && was_noise(g))
	{
		g->sigma /= 2;
		g->epsilon *= 2;
		status = dp_models_generator_step_make(g->t, g->epsilon, g->sigma,
											   &g->step);
	}
	return status;
}

/* Whether a tree of the allowed size holds all wanted tables; public. */
static bool
workload_fits(const generator *g)
{
	const dp_generator_terms *t = g->t;
	dp_columns *sets = g->host->allocate(g->host->state, sizeof(dp_columns) *
										 (size_t) t->ntables);
	double		cells;
	int			n = 0;
	int			i;

	for (i = 0; i < t->ntables; i++)
		if (t->table[i].wanted)
			sets[n++] = t->table[i].set;
	cells = dp_models_tree_make(&t->shape, sets, n, NULL);
	g->host->release(g->host->state, sets);
	return cells <= t->most_cells;
}

/* Release all wanted tables, with equal noise, for the rho that is left. */
static dp_status
closing_round(generator *g)
{
	double		l2 = (double) g->t->sensitivity *
		(g->t->replace_one ? M_SQRT2 : 1);
	double		left = dp_accounting_fixed_approx(g->rho - g->used) *
	(1 - 1e-9);
	dp_status	status;
	int			n = 0;
	int			i;

	for (i = 0; i < g->t->ntables; i++)
		n += dp_models_generator_is_whole(g->t, i);
	status = dp_models_generator_step_make(g->t, g->epsilon,
										   l2 * sqrt(n / (2 * left)),
										   &g->step);
	for (i = 0; i < g->t->ntables && status == DP_OK; i++)
		if (dp_models_generator_is_whole(g->t, i))
			status = pay(g, g->step.measure_rho) ? measure(g, i, true) :
				DP_E_RANGE;
	if (status != DP_OK)
		return status;
	g->report->sigma = g->step.sigma;
	fit(g, &at_the_end);
	return DP_OK;
}

/*
 * dp_models_generator_run
 *	  The whole mechanism, rho-zCDP.
 *
 * Requires: host, source, terms complete (the first tables are those of single
 *			 columns); rho > 0 and charged.
 * Gives:	 DP_OK with *out, that the caller frees, and *report; DP_E_RANGE
 *			 for an extreme rho (public: it does not depend on counts),
 *			 DP_E_RANDOM, DP_E_OVERFLOW, DP_E_MEMORY.
 * Source:	 doc/theory.md T73.
 */
dp_status
dp_models_generator_run(const dp_host *host, dp_source *source,
						const dp_generator_terms *t, dp_fixed rho,
						dp_distribution **out, dp_generator_report *report)
{
	double		rounds = NOMINAL_ROUNDS * t->shape.columns;
	double		l2 = (double) t->sensitivity * (t->replace_one ? M_SQRT2 : 1);
	bool		last = false;
	generator	g;
	dp_status	status;

	dp_models_generator_begin(&g, host, source, t, report);
	g.closing = workload_fits(&g);
	g.rho = g.closing ? rho / 2 : rho;
	g.sigma = l2 * sqrt(rounds / (1.8 * dp_accounting_fixed_approx(rho)));
	g.epsilon = sqrt(.8 * dp_accounting_fixed_approx(rho) / rounds);
	status = dp_models_generator_step_make(t, g.epsilon, g.sigma, &g.step);
	if (status == DP_OK)
		status = first_round(&g);
	while (status == DP_OK && !last)
		status = generator_one_round(&g, &last);
	if (status == DP_OK)
		dp_models_generator_remember(&g);
	g.rho = rho;
	if (status == DP_OK && g.closing)
		status = closing_round(&g);
	if (status == DP_OK)
		generator_estimate(&g);
	dp_models_generator_end(&g, status == DP_OK ? out : NULL);
	return status;
}
