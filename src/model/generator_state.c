/*
 * generator_state.c
 *	  The adaptive generator's memory, and what it can say about its errors.
 */
#include <math.h>
#include <string.h>

#include "generator.h"

#define CONFIDENCE 0.95

static void *
zeroed(const dp_host *host, size_t n)
{
	return memset(host->allocate(host->state, n), 0, n);
}

/*
 * dp_generator_begin
 *	  Memory for a run, and an empty report.
 *
 * Requires: as dp_generator_run.
 * Gives:	 *g, that dp_generator_end ends.
 * Source:	 doc/theory.md T73.
 */
void
dp_generator_begin(generator *g, const dp_host *host, dp_source *source,
				   const dp_generator_terms *t,
				   dp_generator_report *report)
{
	size_t		n = (size_t) t->ntables;
	double		most = 1;
	int			i;

	memset(g, 0, sizeof(*g));
	memset(report, 0, sizeof(*report));
	g->host = host;
	g->source = source;
	g->t = t;
	g->report = report;
	g->candidate = zeroed(host, n * sizeof(int));
	g->score = zeroed(host, n * sizeof(dp_int128));
	g->expected = zeroed(host, n * sizeof(int64_t *));
	for (i = 0; i < t->ntables; i++)
	{
		double		cells = dp_shape_cells(&t->shape, t->table[i].set);

		g->expected[i] = zeroed(host, (size_t) cells * sizeof(int64_t));
		most = fmax(most, cells);
	}
	g->noisy = zeroed(host, (size_t) most * sizeof(double));
	g->scratch = zeroed(host, (size_t) most * sizeof(double));
	g->d = dp_distribution_make(host, &t->shape, (double) t->total);
}

/*
 * dp_generator_end
 *	  Free the memory of a run; the distribution goes to *out, if not NULL.
 *
 * Requires: g of dp_generator_begin.
 * Gives:	 *out; scores are wiped.
 * Source:	 doc/theory.md T73.
 */
void
dp_generator_end(generator *g, dp_distribution **out)
{
	const dp_host *host = g->host;
	int			i;

	memset(g->score, 0, (size_t) g->t->ntables * sizeof(dp_int128));
	for (i = 0; i < g->t->ntables; i++)
		host->release(host->state, g->expected[i]);
	host->release(host->state, g->candidate);
	host->release(host->state, g->score);
	host->release(host->state, g->expected);
	host->release(host->state, g->noisy);
	host->release(host->state, g->scratch);
	if (out != NULL)
		*out = g->d;
	else
		dp_distribution_free(g->d);
}

/*
 * dp_generator_independent
 *	  Expected counts of a set as if its columns were independent.
 *
 * Requires: set within the shape; out of its cells.
 * Gives:	 out.
 * Source:	 doc/theory.md T73 (any public expectation will do).
 */
void
dp_generator_independent(const generator *g, dp_columns set, double *out)
{
	const dp_distribution *d = g->d;
	int64_t		cells = (int64_t) dp_shape_cells(&d->shape, set);
	int64_t		k;
	int			i;

	for (k = 0; k < cells; k++)
		out[k] = d->total;
	for (i = 0; i < d->shape.columns; i++)
	{
		double	   *one;

		if (!(set & DP_COLUMN(i)))
			continue;
		one = g->host->allocate(g->host->state, sizeof(double) *
								(size_t) d->shape.size[i]);
		/* one column always lies within a node */
		(void) dp_distribution_marginal(d, DP_COLUMN(i), MOST_PRODUCT, one);
		for (k = 0; k < d->shape.size[i]; k++)
			one[k] /= d->total;
		dp_table_multiply(&d->shape, set, out, DP_COLUMN(i), one);
		g->host->release(g->host->state, one);
	}
}

/* || noise ||_1 stays below this with the given odds. */
static double
noise_bound(double sigma, double cells, double beta)
{
	return sigma * (sqrt(2 / M_PI) * cells + sqrt(2 * cells * log(1 / beta)));
}

static double
odds_of(const dp_generator_terms *t)
{
	return (1 - CONFIDENCE) / (3 * t->ntables + 2);
}

/*
 * dp_generator_remember
 *	  Keep what the last choice says about tables that it passed over.
 *
 * Requires: after the last round, before another release.
 * Gives:	 g's choice_*: the chosen table's score was at most what its
 *			 measurement tells, and no candidate's was higher by more than
 *			 the exponential mechanism may miss.
 * Source:	 doc/theory.md T74.
 */
void
dp_generator_remember(generator *g)
{
	const dp_generator_table *r = &g->t->table[g->chosen];
	const int64_t *expected = g->expected[g->chosen];
	double		cells = dp_shape_cells(&g->t->shape, r->set);
	double		beta = odds_of(g->t);
	double		sum = 0;
	int64_t		k;

	for (k = 0; k < (int64_t) cells; k++)
		sum += fabs(g->noisy[k] - (double) expected[k]);
	g->choice_sigma = g->step.sigma;
	g->choice_score = (double) r->weight *
		(sum + noise_bound(g->step.sigma, cells, beta) -
		 sqrt(2 / M_PI) * g->step.sigma * cells);
	g->choice_miss = log(g->ncandidates / beta) *
		(double) g->step.rate.den / (double) g->step.rate.num;
}

/* Bounds of one table's errors: of all cells together, of a single one. */
typedef struct bounds
{
	double		table;
	double		cell;
} bounds;

static void
tighten(bounds *b, double table, double cell)
{
	b->table = fmin(b->table, table);
	b->cell = fmin(b->cell, fmin(cell, table));
}

/*
 * By a measurement that has the table's columns: projected, its noise has the
 * variance of as many cells as are summed.
 */
static void
bound_measured(generator *g, int table, double beta, bounds *out)
{
	const dp_distribution *d = g->d;
	dp_columns	set = g->t->table[table].set;
	double		cells = dp_shape_cells(&d->shape, set);
	int64_t		k;
	int			i;

	for (i = 0; i < d->nfactors; i++)
	{
		const dp_factor *f = &d->factor[i];
		double		sigma = sqrt((double) f->cells / cells / f->weight);
		double		sum = 0;
		double		most = 0;

		if ((set & ~f->set) != 0)
			continue;
		dp_table_sum(&d->shape, f->set, f->value, set, g->noisy);
		dp_table_sum(&d->shape, f->set, f->marginal, set, g->scratch);
		for (k = 0; k < (int64_t) cells; k++)
		{
			double		gap = fabs(g->noisy[k] - g->scratch[k]);

			sum += gap;
			most = fmax(most, gap);
		}
		tighten(out, sum + noise_bound(sigma, cells, beta),
				most + sigma * sqrt(2 * log(2 * cells / beta)));
	}
}

/* By the last choice. */
static void
bound_passed_over(generator *g, int table, bounds *out)
{
	const dp_generator_table *r = &g->t->table[table];
	int64_t		cells = (int64_t) dp_shape_cells(&g->t->shape, r->set);
	double		moved = 0;
	bool		candidate = false;
	int64_t		k;
	int			i;

	for (i = 0; i < g->ncandidates; i++)
		candidate = candidate || g->candidate[i] == table;
	if (!candidate ||
		dp_distribution_marginal(g->d, r->set, MOST_PRODUCT,
								 g->scratch) != DP_OK)
		return;
	for (k = 0; k < cells; k++)
		moved += fabs(g->scratch[k] - (double) g->expected[table][k]);
	moved += (g->choice_score + g->choice_miss) / (double) r->weight +
		sqrt(2 / M_PI) * g->choice_sigma * (double) cells;
	tighten(out, moved, moved);
}

/*
 * dp_generator_estimate
 *	  Bounds of the wanted tables' errors, from public numbers: by what was
 *	  measured, or by the last choice.
 *
 * Requires: after dp_generator_remember and the last fit.
 * Gives:	 the report's errors.  A table whose bound is all rows or more,
 *			 which says nothing of a cell, counts as unbounded.
 * Source:	 doc/theory.md T74.
 */
void
dp_generator_estimate(generator *g)
{
	const dp_generator_terms *t = g->t;
	dp_generator_report *report = g->report;
	double		sum = 0;
	int			n = 0;
	int			i;

	report->total = g->d->total;
	for (i = 0; i < t->ntables; i++)
	{
		bounds		b = {INFINITY, INFINITY};

		if (!t->table[i].wanted)
			continue;
		bound_measured(g, i, odds_of(t), &b);
		bound_passed_over(g, i, &b);
		if (b.table >= g->d->total)
		{
			report->unbounded++;
			continue;
		}
		sum += b.table;
		n++;
		report->max_error = fmax(report->max_error, b.table / g->d->total);
		report->cell_error = fmax(report->cell_error, b.cell);
	}
	if (n == 0)
		report->max_error = report->cell_error = NAN;
	report->mean_error = n > 0 ? sum / n / g->d->total : NAN;
}
