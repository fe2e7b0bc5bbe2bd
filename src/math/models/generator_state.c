/*
 * generator_state.c
 *	  The adaptive generator's plan and memory, and the odds that its bounds
 *	  fail.
 */
#include <math.h>
#include <string.h>

#include "../numbers/dp_numbers.h"
#include "../noise/dp_noise.h"
#include "../accounting/dp_accounting.h"
#include "dp_models.h"
#include "models_internal.h"

/* ----------------
 *		What one round of the adaptive generator costs, exactly.
 *
 * The schedule is computed in floating point, from public numbers; then the
 * choice's epsilon is rounded down and the noise's variance up to short
 * rationals, and rho is computed from those, rounded up.
 * ----------------
 */

#define SHORT_BITS 20			/* of a rounded number */

/* x on a grid of 20 bits, up or down; den is a power of two. */
static dp_status
short_rational(double x, bool up, dp_rational *out)
{
	int			exponent;
	double		digits;

	if (!(x > 0x1p-40 && x < 0x1p80))
		return DP_E_RANGE;
	digits = frexp(x, &exponent) * 0x1p20;
	digits = up ? ceil(digits) : floor(digits);
	exponent -= SHORT_BITS;
	if (exponent >= 0)
		return dp_numbers_rational_make((dp_uint128) digits << exponent, 1,
										out);
	return dp_numbers_rational_make((dp_uint128) digits,
									(dp_uint128) 1 << -exponent, out);
}

/*
 * dp_models_score_sensitivity
 *	  How far one unit can move a score: weight times || counts - expected ||_1
 *	  moves by at most weight times the L1 sensitivity of a table.
 *
 * Requires: terms complete.
 * Gives:	 as said, over all tables.
 * Source:	 doc/theory.md T72.
 */
dp_uint128
dp_models_score_sensitivity(const dp_generator_terms *t)
{
	int64_t		most = 1;
	int			i;

	for (i = 0; i < t->ntables; i++)
		if (t->table[i].weight > most)
			most = t->table[i].weight;
	return (dp_uint128) most * t->sensitivity * (t->replace_one ? 2 : 1);
}

/*
 * dp_models_generator_step_make
 *	  A round with a choice of at most this epsilon and noise of at least this
 *	  sigma on each count.
 *
 * Requires: terms complete; epsilon and sigma positive.
 * Gives:	 DP_OK with *out: the laws and their rho, rounded up; DP_E_RANGE
 *			 and DP_E_OVERFLOW for extreme numbers.
 * Source:	 doc/theory.md T21, T36, T71, T72.
 */
dp_status
dp_models_generator_step_make(const dp_generator_terms *t, double epsilon,
							  double sigma, dp_generator_step *out)
{
	dp_generator_step step;
	dp_status	status;

	status = short_rational(epsilon, false, &step.epsilon);
	if (status == DP_OK)
		status = short_rational(sigma * sigma, true, &step.variance);
	if (status == DP_OK)
		status = dp_noise_selection_rate(&step.epsilon,
										 dp_models_score_sensitivity(t),
										 false, &step.rate);
	if (status == DP_OK)
		status = dp_noise_gaussian_make(&step.variance, &step.noise);
	if (status == DP_OK)
		status = dp_accounting_rho_from_exponential(&step.epsilon,
													&step.choice_rho);
	if (status == DP_OK)
		status = dp_accounting_rho_from_gaussian(t->sensitivity,
												 &step.variance,
												 &step.measure_rho);
	if (status != DP_OK)
		return status;
	if (t->replace_one)			/* two cells move: the square doubles */
		step.measure_rho = dp_accounting_fixed_add(step.measure_rho,
												   step.measure_rho);
	step.sigma = sqrt((double) step.variance.num /
					  (double) step.variance.den);
	*out = step;
	return DP_OK;
}

/*
 * dp_models_generator_step_last
 *	  The round that spends what is left: a tenth on the choice, the rest on
 *	  the measurement.
 *
 * Requires: terms complete; left > 0.
 * Gives:	 DP_OK with choice_rho + measure_rho <= left; DP_E_RANGE when
 *			 left is too little for that.
 * Source:	 doc/theory.md T73.
 */
dp_status
dp_models_generator_step_last(const dp_generator_terms *t, dp_fixed left,
							  dp_generator_step *out)
{
	double		rho = dp_accounting_fixed_approx(left) * (1 - 1e-9);
	double		l2 = (double) t->sensitivity * (t->replace_one ? M_SQRT2 : 1);
	dp_generator_step step;
	dp_status	status;

	status = dp_models_generator_step_make(t, sqrt(.8 * rho),
										   l2 / sqrt(1.8 * rho), &step);
	if (status != DP_OK)
		return status;
	if (dp_accounting_fixed_add(step.choice_rho, step.measure_rho) > left)
		return DP_E_RANGE;
	*out = step;
	return DP_OK;
}

/* ----------------
 *		The adaptive generator's memory, and the odds that its bounds fail.
 * ----------------
 */

/*
 * How the odds that a bound fails, 0.05 in all, are shared out: between the
 * last choice, the rounds' measurements, and the last release of all wanted
 * tables; without the latter the rounds have its share.
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
 * dp_models_generator_begin
 *	  Memory for a run, and an empty report.
 *
 * Requires: as dp_models_generator_run.
 * Gives:	 *g, that dp_models_generator_end ends.
 * Source:	 doc/theory.md T73.
 */
void
dp_models_generator_begin(generator *g, const dp_host *host, dp_source *source,
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
		double		cells = dp_models_shape_cells(&t->shape, t->table[i].set);

		g->expected[i] = zeroed(host, (size_t) cells * sizeof(int64_t));
		most = fmax(most, cells);
	}
	g->noisy = zeroed(host, (size_t) most * sizeof(double));
	g->scratch = zeroed(host, (size_t) most * sizeof(double));
	g->evidence = zeroed(host, n * sizeof(dp_evidence));
	g->bound = zeroed(host, n * sizeof(dp_bound));
	g->d = dp_models_distribution_make(host, &t->shape, (double) t->total);
}

/*
 * dp_models_generator_end
 *	  Free the memory of a run; the distribution goes to *out, if not NULL.
 *
 * Requires: g of dp_models_generator_begin.
 * Gives:	 *out; scores are wiped.
 * Source:	 doc/theory.md T73.
 */
void
dp_models_generator_end(generator *g, dp_distribution **out)
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
		dp_models_distribution_free(g->d);
}

/*
 * dp_models_generator_independent
 *	  Expected counts of a set as if its columns were independent.
 *
 * Requires: set within the shape; out of its cells.
 * Gives:	 out.
 * Source:	 doc/theory.md T73 (any public expectation will do).
 */
void
dp_models_generator_independent(const generator *g, dp_columns set,
								double *out)
{
	const dp_distribution *d = g->d;
	int64_t		cells = (int64_t) dp_models_shape_cells(&d->shape, set);
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
		(void) dp_models_distribution_marginal(d, DP_COLUMN(i), MOST_PRODUCT,
											   one);
		for (k = 0; k < d->shape.size[i]; k++)
			one[k] /= d->total;
		dp_models_table_multiply(&d->shape, set, out, DP_COLUMN(i), one);
		g->host->release(g->host->state, one);
	}
}

/*
 * dp_models_generator_noise_size
 *	  The size that noise alone would give the difference of a table.
 *
 * Requires: sigma >= 0, cells >= 0.
 * Gives:	 an integer; public.
 * Source:	 the mean of |N(0, sigma^2)|, doc/theory.md T72.
 */
int64_t
dp_models_generator_noise_size(double sigma, int64_t cells)
{
	return (int64_t) floor(MEAN_NOISE * sigma * (double) cells + .5);
}

/*
 * dp_models_generator_noise_bound
 *	  What || noise ||_1 of a table exceeds with probability at most beta.
 *
 * Requires: sigma > 0; cells > 0; 0 < beta < 1.
 * Gives:	 as said.
 * Source:	 doc/theory.md T74.
 */
double
dp_models_generator_noise_bound(double sigma, double cells, double beta)
{
	return sigma * (sqrt(2 / M_PI) * cells + sqrt(2 * cells * log(1 / beta)));
}

/*
 * dp_models_generator_is_whole
 *	  A wanted table that is not part of another one.
 *
 * Requires: table is one of t's.
 * Gives:	 whether it is; public.
 * Source:	 doc/theory.md T73.
 */
bool
dp_models_generator_is_whole(const dp_generator_terms *t, int table)
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

/*
 * The odds that each bound from a release of a set's columns fails: ranges of
 * the cells of every table within it, and sums of wanted ones.  Cells of
 * wanted tables have most of them.
 */
static dp_odds
share_out(const dp_generator_terms *t, dp_columns set, double odds)
{
	double		wanted = 0;
	double		part = 1;		/* that of no columns */
	double		sums = 0;
	dp_odds		out;
	int			i;

	for (i = 0; i < t->ntables; i++)
	{
		double		cells = dp_models_shape_cells(&t->shape, t->table[i].set);

		if ((t->table[i].set & ~set) != 0)
			continue;
		if (t->table[i].wanted)
		{
			wanted += cells;
			sums++;
		}
		else
			part += cells;
	}
	out.wanted = odds * 2 / 3 / fmax(1, wanted);
	out.part = odds / 6 / part;
	out.sum = odds / 6 / fmax(1, sums);
	return out;
}

/*
 * Release j of the rounds has 1/(j(j + 1)) of their share, so that neither
 * their number matters, nor that the choice of the next table depends on
 * earlier ones.  The last release, as a whole, gives each bound once.
 */
static dp_odds
odds_of(const generator *g, int table, bool closing)
{
	const dp_generator_terms *t = g->t;
	double		j = g->releases;
	double		share = ROUNDS_ODDS + (g->closing ? 0 : CLOSING_ODDS);

	if (closing)
		return share_out(t, ~(dp_columns) 0, CLOSING_ODDS);
	return share_out(t, t->table[table].set, share / (j * (j + 1)));
}

/*
 * dp_models_generator_keep
 *	  Keep the last measurement, in place of an earlier one of its table.
 *
 * Requires: g->noisy and g->step of that measurement.
 * Gives:	 evidence for generator_estimate.
 * Source:	 doc/theory.md T74.
 */
void
dp_models_generator_keep(generator *g, int table, bool closing)
{
	size_t		size = sizeof(double) *
		(size_t) dp_models_shape_cells(&g->t->shape, g->t->table[table].set);
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
 * dp_models_generator_remember
 *	  Keep what the last choice says about tables that it passed over.
 *
 * Requires: after the last round, before another release.
 * Gives:	 g's choice_*: the chosen table's score was at most what its
 *			 measurement tells, and no candidate's was higher by more than
 *			 the exponential mechanism may miss.
 * Source:	 doc/theory.md T74.
 */
void
dp_models_generator_remember(generator *g)
{
	const dp_generator_table *r = &g->t->table[g->chosen];
	const int64_t *expected = g->expected[g->chosen];
	double		cells = dp_models_shape_cells(&g->t->shape, r->set);
	double		beta = CHOICE_ODDS / 2;
	double		sum = 0;
	int64_t		k;

	for (k = 0; k < (int64_t) cells; k++)
		sum += fabs(g->noisy[k] - (double) expected[k]);
	g->choice_sigma = g->step.sigma;
	g->choice_score = (double) r->weight *
		(sum + dp_models_generator_noise_bound(g->step.sigma, cells, beta) -
		 dp_models_generator_noise_size(g->step.sigma, (int64_t) cells));
	g->choice_miss = log(g->ncandidates / beta) *
		(double) g->step.rate.den / (double) g->step.rate.num;
}
