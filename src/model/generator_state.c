/*
 * generator_state.c
 *	  The adaptive generator's memory, and what it can say about its errors.
 */
#include <math.h>
#include <string.h>

#include "generator.h"

/*
 * How the odds of being wrong are shared out, 0.05 in all: what the last
 * choice says, what the rounds measured, what the last release of all wanted
 * tables did; without the latter the rounds have its share.
 */
#define CHOICE_ODDS 0.01
#define ROUNDS_ODDS 0.01
#define CLOSING_ODDS 0.03

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
	g->evidence = zeroed(host, n * sizeof(dp_evidence));
	g->bound = zeroed(host, n * sizeof(dp_bound));
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
	for (i = 0; i < g->nevidence; i++)
		host->release(host->state, g->evidence[i].value);
	host->release(host->state, g->evidence);
	host->release(host->state, g->bound);
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

/*
 * dp_generator_is_whole
 *	  A wanted table that is not part of another one.
 *
 * Requires: table is one of t's.
 * Gives:	 whether it is; public.
 * Source:	 doc/theory.md T73.
 */
bool
dp_generator_is_whole(const dp_generator_terms *t, int table)
{
	int			i;

	if (!t->table[table].wanted)
		return false;
	for (i = 0; i < t->ntables; i++)
		if (i != table && t->table[i].wanted &&
			(t->table[table].set & ~t->table[i].set) == 0)
			return false;
	return true;
}

/* How many wanted tables there are within a set. */
static int
wanted_within(const dp_generator_terms *t, dp_columns set)
{
	int			n = 0;
	int			i;

	for (i = 0; i < t->ntables; i++)
		n += t->table[i].wanted && (t->table[i].set & ~set) == 0;
	return n;
}

/*
 * Odds of each of the two things that a release says about a wanted table.
 * Release j of the rounds has 1/(j(j + 1)) of their share, so that it does not
 * matter how many there will be, nor that it depends on earlier ones which
 * table comes next.  In the last release every table is told of by one other.
 */
static double
odds_of(const generator *g, int table, bool closing)
{
	const dp_generator_terms *t = g->t;
	double		j = g->releases;
	double		share = ROUNDS_ODDS + (g->closing ? 0 : CLOSING_ODDS);

	if (closing)
		return CLOSING_ODDS / (2. * wanted_within(t, ~(dp_columns) 0));
	return share / (j * (j + 1)) /
		(2. * wanted_within(t, t->table[table].set) + 1);
}

/*
 * dp_generator_keep
 *	  Keep the measurement made last, in place of an earlier one of its table.
 *
 * Requires: g->noisy and g->step of that measurement.
 * Gives:	 evidence for dp_generator_estimate.
 * Source:	 doc/theory.md T74.
 */
void
dp_generator_keep(generator *g, int table, bool closing)
{
	size_t		size = sizeof(double) *
		(size_t) dp_shape_cells(&g->t->shape, g->t->table[table].set);
	dp_evidence *e;
	int			i;

	g->releases++;
	for (i = 0; i < g->nevidence && g->evidence[i].table != table; i++)
		;
	e = &g->evidence[i];
	if (i == g->nevidence)
	{
		e->table = table;
		e->value = g->host->allocate(g->host->state, size);
		g->nevidence++;
	}
	e->closing = closing;
	e->sigma = g->step.sigma;
	e->odds = odds_of(g, table, closing);
	memcpy(e->value, g->noisy, size);
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
	double		beta = CHOICE_ODDS / 2;
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

static void
tighten(dp_bound *b, double table, double cell)
{
	b->table = fmin(b->table, table);
	b->cell = fmin(b->cell, fmin(cell, table));
}

/* Of the last release, the smallest table that tells of one; public. */
static int
home_of(const dp_generator_terms *t, int table)
{
	int			home = -1;
	double		least = 0;
	int			i;

	for (i = 0; i < t->ntables; i++)
	{
		double		cells = dp_shape_cells(&t->shape, t->table[i].set);

		if ((t->table[table].set & ~t->table[i].set) != 0 ||
			(home >= 0 && cells >= least) || !dp_generator_is_whole(t, i))
			continue;
		home = i;
		least = cells;
	}
	return home;
}

/*
 * By measurements that have the table's columns: projected, their noise has
 * the variance of as many cells as are summed.  What is expected of the table
 * is in scratch.
 */
static void
bound_measured(generator *g, int table, dp_bound *out)
{
	const dp_shape *shape = &g->t->shape;
	dp_columns	set = g->t->table[table].set;
	double		cells = dp_shape_cells(shape, set);
	int			home = g->closing ? home_of(g->t, table) : -1;
	int64_t		k;
	int			i;

	for (i = 0; i < g->nevidence; i++)
	{
		const dp_evidence *e = &g->evidence[i];
		dp_columns	from = g->t->table[e->table].set;
		double		sigma = e->sigma *
			sqrt(dp_shape_cells(shape, from) / cells);
		double		sum = 0;
		double		most = 0;

		if ((set & ~from) != 0 || (e->closing && e->table != home))
			continue;
		dp_table_sum(shape, from, e->value, set, g->noisy);
		for (k = 0; k < (int64_t) cells; k++)
		{
			double		gap = fabs(g->noisy[k] - g->scratch[k]);

			sum += gap;
			most = fmax(most, gap);
		}
		tighten(out, sum + noise_bound(sigma, cells, e->odds),
				most + sigma * sqrt(2 * log(2 * cells / e->odds)));
	}
}

/* By the last choice. */
static void
bound_passed_over(generator *g, int table, dp_bound *out)
{
	const dp_generator_table *r = &g->t->table[table];
	int64_t		cells = (int64_t) dp_shape_cells(&g->t->shape, r->set);
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
		sqrt(2 / M_PI) * g->choice_sigma * (double) cells;
	tighten(out, moved, moved);
}

/*
 * dp_generator_estimate
 *	  Bounds of the wanted tables' errors, from public numbers: by what was
 *	  measured, or by the last choice.
 *
 * Requires: after dp_generator_remember and the last fit.
 * Gives:	 the report's errors, and the terms' bounds when there is room.
 * Source:	 doc/theory.md T74.
 */
void
dp_generator_estimate(generator *g)
{
	const dp_generator_terms *t = g->t;
	int			i;

	g->report->total = g->d->total;
	for (i = 0; i < t->ntables; i++)
	{
		g->bound[i].table = g->bound[i].cell = INFINITY;
		if (!t->table[i].wanted ||
			dp_distribution_marginal(g->d, t->table[i].set, MOST_PRODUCT,
									 g->scratch) != DP_OK)
			continue;
		if (g->host->pulse != NULL)
			g->host->pulse(g->host->state);
		bound_measured(g, i, &g->bound[i]);
		bound_passed_over(g, i, &g->bound[i]);
	}
	dp_generator_summarize(t, g->bound, g->report);
	if (t->bound != NULL)
		memcpy(t->bound, g->bound, (size_t) t->ntables * sizeof(dp_bound));
}
