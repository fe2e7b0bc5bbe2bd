/*
 * generator.c
 *	  The adaptive generator of marginals (AIM: McKenna, Mullins, Sheldon and
 *	  Miklau 2022), after the paper.
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
 * Only dp_model_generator_score, which compares integers with integers, and
 * dp_model_generator_measure read exact counts.  All else is public.
 */
#include <math.h>
#include <string.h>

#include "dp_generator.h"
#include "generator.h"

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
cells_of(const dp_generator_terms *t, int table)
{
	return (int64_t) dp_model_shape_cells(&t->shape, t->table[table].set);
}

/*
 * dp_model_generator_score
 *	  weight * (|| counts - expected ||_1 - what noise of sigma would add).
 *
 * Requires: expected of the table's cells, public; counts and expected below
 *			 2^53 in size.
 * Gives:	 an integer that one unit moves by at most
 *			 dp_model_score_sensitivity.
 * Source:	 doc/theory.md T72.
 */
void
dp_model_generator_score(const dp_generator_terms *t, int table,
						 const int64_t *expected, double sigma, dp_int128 *out)
{
	const dp_generator_table *r = &t->table[table];
	int64_t		cells = cells_of(t, table);
	dp_int128	sum = 0;
	int64_t		k;

	for (k = 0; k < cells; k++)
	{
		int64_t		gap = r->counts[k] - expected[k];

		sum += gap < 0 ? -gap : gap;
	}
	*out = r->weight * (sum - dp_model_generator_noise_size(sigma, cells));
}

/*
 * dp_model_generator_choose
 *	  Choose a candidate by the exponential mechanism on the scores.
 *
 * Requires: candidates are tables; expected of each is public; score of as
 *			 many elements, whose content is private afterwards.
 * Gives:	 DP_OK with the chosen table; the statuses of
 *			 dp_mech_exponential.
 * Source:	 doc/theory.md T16, T72.
 */
dp_status
dp_model_generator_choose(dp_source *source, const dp_generator_terms *t,
						  const dp_generator_step *step, const int *candidate,
						  int ncandidates, int64_t *const *expected,
						  dp_int128 *score, int *chosen)
{
	size_t		index;
	dp_status	status;
	int			i;

	for (i = 0; i < ncandidates; i++)
		dp_model_generator_score(t, candidate[i], expected[candidate[i]],
								 step->sigma, &score[i]);
	status = dp_mech_exponential(source, score, (size_t) ncandidates,
								 &step->rate, &index);
	if (status == DP_OK)
		*chosen = candidate[index];
	return status;
}

/*
 * dp_model_generator_measure
 *	  Release a table: every count with fresh noise.
 *
 * Requires: a step of dp_model_generator_step_make; out of as many cells; host
 *			 is NULL or has its pulse called.
 * Gives:	 DP_OK with out; the statuses of dp_mech_discrete_gaussian.
 * Source:	 doc/theory.md T71.
 */
dp_status
dp_model_generator_measure(dp_source *source, const dp_host *host,
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
		status = dp_mech_discrete_gaussian(source, &step->noise, &noise);
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
	int64_t		cells = cells_of(t, table);
	int64_t    *to = g->expected[table];
	int64_t		k;

	/* if that is too much work, as if its columns were independent */
	if (dp_model_distribution_marginal(g->d, t->table[table].set, MOST_PRODUCT,
									   g->scratch) != DP_OK)
		dp_model_generator_independent(g, t->table[table].set, g->scratch);
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
	return dp_model_generator_choose(g->source, g->t, &g->step, g->candidate,
									 g->ncandidates, g->expected, g->score,
									 &g->chosen);
}

/* Release a table, which is paid for, and add it to the distribution. */
static dp_status
measure(generator *g, int table, bool closing)
{
	dp_status	status;

	status = dp_model_generator_measure(g->source, g->host, &g->step,
										g->t->table[table].counts,
										cells_of(g->t, table), g->noisy);
	if (status != DP_OK)
		return status;
	dp_model_distribution_measure(g->d, g->t->table[table].set, g->noisy,
								  g->step.sigma * g->step.sigma);
	dp_model_generator_keep(g, table, closing);
	return DP_OK;
}

static void
fit(generator *g, const patience *p)
{
	double		steps = fmax(LEAST_STEPS, p->effort / (g->d->cells + 1));

	dp_model_distribution_fit(g->d, (int) fmin(steps, p->most), TOLERANCE, 1);
}

/* Find the tables that the size limit allows by now; public. */
static void
find_candidates(generator *g)
{
	double		used = dp_acct_fixed_approx(g->used);	/* with this round's */
	double		most = g->t->most_cells *
		fmin(1, used / dp_acct_fixed_approx(g->rho));
	int			i;

	g->ncandidates = 0;
	for (i = 0; i < g->t->ntables; i++)
	{
		double		cells;

		if (g->host->pulse != NULL)
			g->host->pulse(g->host->state);
		cells = dp_model_distribution_size(g->d, g->t->table[i].set);

		if (cells <= most || cells == g->d->cells)
			g->candidate[g->ncandidates++] = i;
	}
}

/* Whether the measurement moved the expected counts by less than its noise. */
static bool
was_noise(generator *g)
{
	const int64_t *before = g->expected[g->chosen];
	int64_t		cells = cells_of(g->t, g->chosen);
	double		moved = 0;
	int64_t		k;

	if (dp_model_distribution_marginal(g->d, g->t->table[g->chosen].set,
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
one_round(generator *g, bool *last)
{
	dp_fixed	left = g->rho - g->used;
	dp_fixed	cost = dp_acct_fixed_add(g->step.choice_rho,
										 g->step.measure_rho);
	dp_status	status = DP_OK;

	if (cost > left / 2)
	{
		*last = true;
		status = dp_model_generator_step_last(g->t, left, &g->step);
		cost = dp_acct_fixed_add(g->step.choice_rho, g->step.measure_rho);
	}
	if (status == DP_OK && !pay(g, cost))
		status = DP_E_RANGE;
	if (status != DP_OK)
		return status;
	find_candidates(g);
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
		status = dp_model_generator_step_make(g->t, g->epsilon, g->sigma,
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
	cells = dp_model_tree_make(&t->shape, sets, n, NULL);
	g->host->release(g->host->state, sets);
	return cells <= t->most_cells;
}

/* Release all wanted tables, with equal noise, for the rho that is left. */
static dp_status
closing_round(generator *g)
{
	double		l2 = (double) g->t->sensitivity *
		(g->t->replace_one ? M_SQRT2 : 1);
	double		left = dp_acct_fixed_approx(g->rho - g->used) * (1 - 1e-9);
	dp_status	status;
	int			n = 0;
	int			i;

	for (i = 0; i < g->t->ntables; i++)
		n += dp_model_generator_is_whole(g->t, i);
	status = dp_model_generator_step_make(g->t, g->epsilon,
										  l2 * sqrt(n / (2 * left)), &g->step);
	for (i = 0; i < g->t->ntables && status == DP_OK; i++)
		if (dp_model_generator_is_whole(g->t, i))
			status = pay(g, g->step.measure_rho) ? measure(g, i, true) :
				DP_E_RANGE;
	if (status != DP_OK)
		return status;
	g->report->sigma = g->step.sigma;
	fit(g, &at_the_end);
	return DP_OK;
}

/*
 * dp_model_generator_run
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
dp_model_generator_run(const dp_host *host, dp_source *source,
					   const dp_generator_terms *t, dp_fixed rho,
					   dp_distribution **out, dp_generator_report *report)
{
	double		rounds = NOMINAL_ROUNDS * t->shape.columns;
	double		l2 = (double) t->sensitivity * (t->replace_one ? M_SQRT2 : 1);
	bool		last = false;
	generator	g;
	dp_status	status;

	dp_model_generator_begin(&g, host, source, t, report);
	g.closing = workload_fits(&g);
	g.rho = g.closing ? rho / 2 : rho;
	g.sigma = l2 * sqrt(rounds / (1.8 * dp_acct_fixed_approx(rho)));
	g.epsilon = sqrt(.8 * dp_acct_fixed_approx(rho) / rounds);
	status = dp_model_generator_step_make(t, g.epsilon, g.sigma, &g.step);
	if (status == DP_OK)
		status = first_round(&g);
	while (status == DP_OK && !last)
		status = one_round(&g, &last);
	if (status == DP_OK)
		dp_model_generator_remember(&g);
	g.rho = rho;
	if (status == DP_OK && g.closing)
		status = closing_round(&g);
	if (status == DP_OK)
		dp_model_generator_estimate(&g);
	dp_model_generator_end(&g, status == DP_OK ? out : NULL);
	return status;
}
