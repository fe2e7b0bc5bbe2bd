/*
 * iterate.c
 *	  The iterative construction: the law of its second round, which depends on
 *	  what the first one released; audits on neighbouring databases; and
 *	  variants that these tests must reject.
 *
 * The law is computed here anew, by definition: over everything that the first
 * round can release.  Two cells, three queries, two rounds.  Audits order what
 * a whole run released by the ratio of its exact probabilities on the two
 * databases: no event shows more of the loss.  An update of one's own (T129)
 * makes guesses of an adversary's, out of the answer before.
 *
 * Rates: as subject.h says; 5 law tests and 9 audits of sound mechanisms.
 * The shares that audits must see, and the claims that those of variants must
 * exceed, lie seven standard errors of what is seen away, or more.  Of
 * RELEASES runs each is as accurate as theory.md T126, T127 and T129 say with
 * probability .95; fewer than LEAST are with probability below 1e-12.  T129's
 * update is none of the extension's: a step of gradient descent.
 */
#include "dp_models.h"
#include "dp_noise.h"
#include "dp_numbers.h"
#include "iterate_law.h"

#include "dp_accounting.h"

#define RUNS 100000				/* of an audit, on either input */

/* ---- accuracy ---- */

#define RELEASES 100
#define LEAST 70
#define LARGE_CELLS 8
#define LARGE_QUERIES 12
#define LARGE_ROWS 100000

typedef struct large
{
	int32_t		weights[LARGE_QUERIES * LARGE_CELLS];
	int64_t		counts[LARGE_QUERIES];
} large;

/* A database and weights of this run's own. */
static void
make_large(large *l, int cells)
{
	double		share[LARGE_CELLS];
	double		sum = 0;
	int			i;
	int			q;

	for (i = 0; i < cells; i++)
		sum += share[i] = pow(any_number(&source), 3);
	for (q = 0; q < LARGE_QUERIES; q++)
	{
		double		count = 0;

		for (i = 0; i < cells; i++)
		{
			l->weights[q * cells + i] = any_below(&source, 1025);
			count += LARGE_ROWS * share[i] / sum *
				l->weights[q * cells + i] / 1024;
		}
		l->counts[q] = (int64_t) floor(count + .5);
	}
}

/* The distribution nearest to x: x less a constant, and at least 0. */
static void
project(double *x, int cells)
{
	double		low = -1;
	double		high = 1;
	int			i;
	int			halves;

	for (i = 0; i < cells; i++)
		high = fmax(high, x[i]);
	for (halves = 0; halves < 60; halves++)
	{
		double		middle = (low + high) / 2;
		double		sum = 0;

		for (i = 0; i < cells; i++)
			sum += fmax(0, x[i] - middle);
		if (sum > 1)
			low = middle;
		else
			high = middle;
	}
	for (i = 0; i < cells; i++)
		x[i] = fmax(0, x[i] - low);
}

/*
 * An update of one's own: x + eta (f - 1/2) or x - eta (f - 1/2), projected.
 * Where x is wrong by g or more this takes 2 eta g - eta^2 cells/4 or more
 * from its squared distance to the true distribution, which is below 1 at
 * first.  At eta = 4 g/cells these are 4 g^2/cells, so there are fewer than
 * cells/(4 g^2) such updates.
 */
static void
descend(double *x, const int32_t *query, int cells, double eta)
{
	int			i;

	for (i = 0; i < cells; i++)
		x[i] += eta * (query[i] / 1024.0 - .5);
	project(x, cells);
}

/* As dp_iterate runs an update of one's own, with alpha. */
static void
run_descent(const dp_iterate_terms *terms, const large *l, double wrong,
			double *x)
{
	int64_t		guesses[LARGE_QUERIES];
	int			cells = (int) terms->cells;
	int			i;

	for (i = 0; i < cells; i++)
		x[i] = 1.0 / cells;
	for (i = 0; i < terms->rounds; i++)
	{
		dp_iterate_step step;
		double		off;

		dp_models_iterate_guess(terms, l->weights, x, guesses);
		subject_check(dp_models_iterate_round(&test_host, &source, terms,
											  guesses, l->counts, &step));
		off = (double) (step.answer - step.guess);
		if (fabs(off) < terms->near)
			return;
		descend(x, l->weights + step.query * cells, cells,
				(off < 0 ? -4 : 4) * wrong / cells);
	}
}

/* The largest error of what is released, in rows. */
static double
release_large(const dp_iterate_terms *terms, const large *l, double alpha)
{
	double		probability[LARGE_CELLS];
	dp_iterate_step steps[DP_ITERATE_ROUNDS];
	double		worst = 0;
	int			taken;
	int			i;
	int			q;

	if (terms->update == DP_ITERATE_OWN)
		run_descent(terms, l, alpha / 2 - 1.0 / LARGE_ROWS, probability);
	else
		subject_check(dp_models_iterate(&test_host, &source, terms, l->weights,
										l->counts, probability, steps,
										&taken));
	for (q = 0; q < LARGE_QUERIES; q++)
	{
		double		mean = 0;

		for (i = 0; i < terms->cells; i++)
			mean += probability[i] * l->weights[q * terms->cells + i] / 1024;
		worst = fmax(worst, fabs(LARGE_ROWS * mean -
								 (double) l->counts[q]));
	}
	return worst;
}

/* Epsilon is such that T126's condition holds with beta = .05. */
static void
test_accuracy(const char *name, dp_iterate_terms terms, double alpha,
			  double times)
{
	double		need = log(40.0 * terms.rounds * LARGE_QUERIES) * 2 /
		(alpha * LARGE_ROWS / 4);
	dp_rational part = {(dp_uint128) ceil(need * 1048576), 1048576};
	large		l;
	int			right = 0;
	int			i;

	terms.queries = LARGE_QUERIES;
	terms.one = 1024;
	terms.n = LARGE_ROWS;
	terms.near = .75 * alpha * LARGE_ROWS;
	terms.eta = alpha / 2;
	subject_check(dp_noise_selection_rate(&part, 1, false, &terms.rate));
	subject_check(dp_noise_scale_make(1, &part, &terms.scale));
	for (i = 0; i < RELEASES; i++)
	{
		make_large(&l, (int) terms.cells);
		right += release_large(&terms, &l, alpha) <=
			times * alpha * LARGE_ROWS + 1;
	}
	tap_ok(right >= LEAST, "accuracy: %s: %d of %d are within %g alpha n",
		   name, right, RELEASES, times);
}

static void
test_accuracies(void)
{
	dp_iterate_terms terms = {DP_ITERATE_MULTIPLICATIVE,
	DP_ITERATE_EXPONENTIAL, .cells = LARGE_CELLS};

	terms.rounds = 1 + (int) (5 * log(LARGE_CELLS) / .04);
	test_accuracy("multiplicative weights", terms, .2, 1.25);
	terms.distinguisher = DP_ITERATE_PERMUTE_AND_FLIP;
	test_accuracy("multiplicative weights, permute-and-flip", terms, .2,
				  1.25);
	terms.update = DP_ITERATE_OWN;
	terms.rounds = 1 + (int) ceil(LARGE_CELLS / (4 * pow(.1 - 1e-5, 2)));
	test_accuracy("an update of one's own", terms, .2, 1.25);
	terms.distinguisher = DP_ITERATE_EXPONENTIAL;
	test_accuracy("an update of one's own, exponential", terms, .2, 1.25);
	terms.update = DP_ITERATE_MEDIAN;
	terms.distinguisher = DP_ITERATE_PERMUTE_AND_FLIP;
	terms.cells = 3;
	terms.size = (int64_t) ceil(log(LARGE_QUERIES) / .01);
	terms.candidates = dp_models_iterate_candidates(terms.cells, terms.size);
	terms.rounds = 1 + (int) log2((double) terms.candidates);
	test_accuracy("median", terms, .2, 3);
}

/* ---- tests ---- */

static subject
subject_of(database *pair, const int64_t counts[2][QUERIES],
		   dp_iterate_distinguisher how, int epsilon_times_4, variant defect,
		   subject_draw draw)
{
	subject		s = {draw, {&pair[0], &pair[1]}, 1, {0, 0}, 1,
	epsilon_times_4 / 4.0, 0, RUNS};

	open_database(&pair[0], counts, 0, how, epsilon_times_4, defect);
	open_database(&pair[1], counts, 1, how, epsilon_times_4, defect);
	if (draw == draw_answers)
	{
		s.numbers = 2;
		s.centre[0] = s.centre[1] = 14;
	}
	if (draw == draw_first_ratio)
		s.epsilon /= 2;			/* of one round */
	if (draw == draw_ratio || draw == draw_first_ratio)
		s.step = s.epsilon / 24;
	return s;
}

static void
test_law(const char *name, dp_iterate_distinguisher how, bool own)
{
	database	pair[2];
	subject		s = subject_of(pair, neighbours, how, 8, SOUND, draw_second);
	law			l;

	pair[0].own = own;
	law_of(&pair[0], &l);
	accept_law(name, &s, &l);
}

static void
test_audit(const char *name, dp_iterate_distinguisher how, bool own,
		   subject_draw draw, double share)
{
	database	pair[2];
	subject		s = subject_of(pair, draw == draw_answers ? neighbours :
								crossing, how, 8, SOUND, draw);

	pair[0].own = pair[1].own = own;
	accept_audit(name, &s, share);
}

/*
 * Two rounds at choice^2/8 + 1/(2 variance) of rho; (epsilon, delta) by T23.
 */
static void
test_audit_gaussian(bool own)
{
	database	pair[2];
	subject		s = subject_of(pair, crossing, DP_ITERATE_GAUSSIAN, 8, SOUND,
								draw_ratio);
	double		rho = 2 * (.5 * .5 / 8 + 1 / 16.0);
	dp_fixed	epsilon;

	subject_check(dp_accounting_epsilon_of_zcdp((dp_fixed) (rho * 1e18) *
												(DP_FIXED_ONE / 1000000000 /
												 1000000000),
												 DP_FIXED_ONE / 100,
												&epsilon));
	s.epsilon = dp_accounting_fixed_approx(epsilon);
	s.delta = .01;
	s.step = s.epsilon / 24;
	pair[0].own = pair[1].own = own;
	accept_audit(own ? "a run of Gaussian noise, own updates" :
				 "a run of Gaussian noise", &s, .4);
}

static void
test_broken(const char *name, variant defect, const int64_t counts[2][QUERIES],
			bool by_law, subject_draw draw)
{
	database	pair[2];
	database	sound;
	law			l;
	subject		s = subject_of(pair, counts, DP_ITERATE_EXPONENTIAL, 8,
								defect, draw_second);
	double		x;

	if (by_law)
	{
		open_database(&sound, counts, 0, DP_ITERATE_EXPONENTIAL, 8, SOUND);
		law_of(&sound, &l);
		x = subject_law_p(&s, &l, RUNS);
		table_reject(x < DP_CHISQ_ALPHA, "iterative construction", name,
					 "exact law", "p = %.2g", x);
	}
	s = subject_of(pair, counts, DP_ITERATE_EXPONENTIAL, 8, defect, draw);
	x = subject_loss(&s);
	table_reject(x > s.epsilon, "iterative construction", name, "audit",
				 "loss > %.3f, claim %.3f", x, s.epsilon);
}

static void
test_all_broken(void)
{
	test_broken("epsilon not divided", UNDIVIDED, crossing, true, draw_ratio);
	test_broken("paid for one round of two", FIRST_ROUND_PAID, crossing, true,
				draw_ratio);
	test_broken("noise reused in the second count", COUNT_REUSED, alone, true,
				draw_difference);
	test_broken("the worst query always", CHOICE_EXACT, alone, true,
				draw_choice);
	test_broken("the choice's factor 2 left out", CHOICE_MONOTONE, crossing,
				true, draw_first_ratio);
	test_broken("half the noise of counts", COUNT_HALVED, crossing, true,
				draw_first_ratio);
}

int
main(void)
{
	dp_noise_source_init(&source, dp_noise_fill_openssl, NULL);
	test_law("second round, exponential mechanism", DP_ITERATE_EXPONENTIAL,
			 false);
	test_law("second round, permute-and-flip", DP_ITERATE_PERMUTE_AND_FLIP,
			 false);
	test_law("second round, Gaussian noise", DP_ITERATE_GAUSSIAN, false);
	test_law("second round, own updates", DP_ITERATE_EXPONENTIAL, true);
	test_law("second round, Gaussian noise, own updates", DP_ITERATE_GAUSSIAN,
			 true);
	test_audit("both counts, exponential mechanism", DP_ITERATE_EXPONENTIAL,
			   false, draw_answers, .15);
	test_audit("both counts, permute-and-flip", DP_ITERATE_PERMUTE_AND_FLIP,
			   false, draw_answers, .15);
	test_audit("a run, exponential mechanism", DP_ITERATE_EXPONENTIAL, false,
			   draw_ratio, .5);
	test_audit("a run, permute-and-flip", DP_ITERATE_PERMUTE_AND_FLIP, false,
			   draw_ratio, .5);
	test_audit("the first round, exponential mechanism",
			   DP_ITERATE_EXPONENTIAL, false, draw_first_ratio, .6);
	test_audit("a run of own updates, exponential mechanism",
			   DP_ITERATE_EXPONENTIAL, true, draw_ratio, .5);
	test_audit("a run of own updates, permute-and-flip",
			   DP_ITERATE_PERMUTE_AND_FLIP, true, draw_ratio, .5);
	test_audit_gaussian(false);
	test_audit_gaussian(true);
	test_accuracies();
	test_all_broken();
	return table_done();
}
