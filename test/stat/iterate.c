/*
 * iterate.c
 *	  The iterative construction: the law of its second round, which depends on
 *	  what the first one released; audits on neighbouring databases; and
 *	  variants that these tests must reject.
 *
 * The law is computed here anew, by definition: over everything that the first
 * round can release.  Two cells, three queries, two rounds.
 *
 * Rates: as subject.h says; 3 law tests and 4 audits of sound mechanisms.  Of
 * RELEASES runs each is as accurate as theory.md T126 and T127 say with
 * probability .95; fewer than LEAST are with probability below 1e-12.
 */
#include "dp_iterate.h"
#include "model_host.h"
#include "subject.h"

#define CELLS 2
#define QUERIES 3
#define ROWS 20
#define REACH 60				/* of noise; beyond it are exp(-30) */
#define WIDTH 128				/* between the numbers of two queries */
#define RUNS 100000				/* of an audit, on either input */

typedef enum variant
{
	SOUND,
	UNDIVIDED,					/* each choice and count has all of epsilon */
	FIRST_ROUND_PAID,			/* the price is shared by one round's two */
	COUNT_REUSED,				/* the second count has the first's noise */
	CHOICE_EXACT				/* the worst query, always */
} variant;

typedef struct database
{
	variant		defect;
	dp_iterate_terms terms;
	double		part;			/* of epsilon; of DP_ITERATE_GAUSSIAN: */
	double		choice;			/* the choice's, and */
	double		variance;		/* the count's */
	int64_t		counts[QUERIES];
} database;

/* Granules of 4: everything, the first cell, and 3/4 of it with 1/2. */
static const int32_t weights[QUERIES * CELLS] = {4, 4, 4, 0, 3, 2};

static const int64_t neighbours[2][QUERIES] = {{15, 12, 13}, {14, 11, 12}};

/* ---- draws ---- */

static void
spoil(const database *d, dp_iterate_step *steps, int taken)
{
	if (d->defect == COUNT_REUSED && taken == 2)
		steps[1].answer = d->counts[steps[1].query] + steps[0].answer -
			d->counts[steps[0].query];
}

static int
run(database *d, dp_iterate_step *steps)
{
	double		probability[CELLS];
	int			taken;

	subject_check(dp_model_iterate(&test_host, &source, &d->terms, weights,
								   d->counts, probability, steps, &taken));
	spoil(d, steps, taken);
	return taken;
}

/* Query and answer of the second round in one number; -1: there was none. */
static bool
draw_second(void *input, double *out)
{
	dp_iterate_step steps[2];

	out[0] = -1;
	if (run(input, steps) == 2)
		out[0] = WIDTH * (double) steps[1].query + WIDTH / 2 +
			(double) (steps[1].answer - neighbours[0][steps[1].query]);
	return true;
}

/* Both answers. */
static bool
draw_answers(void *input, double *out)
{
	dp_iterate_step steps[2];
	int			taken = run(input, steps);

	out[0] = (double) steps[0].answer;
	out[1] = taken == 2 ? (double) steps[1].answer : NAN;
	return true;
}

/* ---- one database ---- */

static void
open_database(database *d, int input, dp_iterate_distinguisher how,
			  int epsilon_times_4, variant defect)
{
	dp_uint128	parts = defect == UNDIVIDED ? 1 :
		defect == FIRST_ROUND_PAID ? 2 : 4;
	dp_rational part;
	dp_rational variance = {8, 1};

	memset(d, 0, sizeof(*d));
	d->defect = defect;
	memcpy(d->counts, neighbours[input], sizeof(d->counts));
	d->terms.distinguisher = how;
	d->terms.cells = CELLS;
	d->terms.queries = QUERIES;
	d->terms.one = 4;
	d->terms.n = ROWS;
	d->terms.rounds = 2;
	d->terms.near = 1;
	d->terms.eta = .75;
	subject_check(dp_mech_rational_make((dp_uint128) epsilon_times_4,
										4 * parts, &part));
	d->part = d->choice = (double) part.num / (double) part.den;
	d->variance = 8;
	subject_check(dp_mech_selection_rate(&part, 1, false, &d->terms.rate));
	if (defect == CHOICE_EXACT)
		d->terms.rate.num *= 1000;
	subject_check(dp_mech_scale_make(1, &part, &d->terms.scale));
	subject_check(dp_mech_gaussian_make(&variance, &d->terms.noise));
}

/* ---- the law, by definition ---- */

static double
noise_mass(const database *d, int x)
{
	double		p = exp(-d->part);
	double		sum = 0;
	int			y;

	if (d->terms.distinguisher != DP_ITERATE_GAUSSIAN)
		return (1 - p) / (1 + p) * pow(p, abs(x));
	for (y = -200; y <= 200; y++)
		sum += exp(-y * y / (2 * d->variance));
	return exp(-x * x / (2 * d->variance)) / sum;
}

/* What two cells of which the first has probability x say, and miss by. */
static void
miss(const database *d, double x, double *guess, double *score)
{
	int			q;

	for (q = 0; q < QUERIES; q++)
	{
		double		mean = (x * weights[q * CELLS] +
							(1 - x) * weights[q * CELLS + 1]) / 4;

		guess[q] = floor(ROWS * mean + .5);
		score[q] = fabs((double) d->counts[q] - guess[q]);
	}
}

/* Flips in every order of three; the largest score's coin is certain. */
static void
flip(const double *coin, double *chosen)
{
	static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
	{1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
	int			i;
	int			k;

	memset(chosen, 0, sizeof(double) * QUERIES);
	for (i = 0; i < 6; i++)
	{
		double		left = 1.0 / 6;

		for (k = 0; k < 3; k++)
		{
			chosen[orders[i][k]] += left * coin[orders[i][k]];
			left *= 1 - coin[orders[i][k]];
		}
	}
}

static void
choose(const database *d, const double *score, double *chosen)
{
	double		most = fmax(score[0], fmax(score[1], score[2]));
	double		coin[QUERIES];
	double		sum = 0;
	int			q;

	for (q = 0; q < QUERIES; q++)
		sum += coin[q] = exp(d->choice / 2 * (score[q] - most));
	if (d->terms.distinguisher == DP_ITERATE_PERMUTE_AND_FLIP)
	{
		flip(coin, chosen);
		return;
	}
	for (q = 0; q < QUERIES; q++)
		chosen[q] = coin[q] / sum;
}

/* The first cell's probability after a step from one half. */
static double
learn(const database *d, int q, bool lower)
{
	double		f = weights[q * CELLS] / 4.0;
	double		g = weights[q * CELLS + 1] / 4.0;
	double		a = exp(-d->terms.eta * (lower ? f : 1 - f));
	double		b = exp(-d->terms.eta * (lower ? g : 1 - g));

	return a / (a + b);
}

/* Adds the second round's law from a hypothesis, times a probability. */
static void
add_round(const database *d, double x, double times, law *l)
{
	double		guess[QUERIES];
	double		score[QUERIES];
	double		chosen[QUERIES];
	int			q;
	int			z;

	miss(d, x, guess, score);
	choose(d, score, chosen);
	for (q = 0; q < QUERIES; q++)
		for (z = -REACH; z <= REACH; z++)
			l->probability[q * WIDTH + WIDTH / 2 + z] +=
				times * chosen[q] * noise_mass(d, z);
}

static void
law_of(const database *d, law *l)
{
	double		guess[QUERIES];
	double		score[QUERIES];
	double		chosen[QUERIES];
	int			q;
	int			z;

	law_begin(l, 0);
	for (q = 0; q < QUERIES * WIDTH; q++)
		law_add(l, 1, 0);
	miss(d, .5, guess, score);
	choose(d, score, chosen);
	for (q = 0; q < QUERIES; q++)
	{
		double		lower = 0;
		double		upper = 0;

		for (z = -400; z <= 400; z++)
			if ((double) d->counts[q] + z < guess[q])
				lower += noise_mass(d, z);
			else if ((double) d->counts[q] + z > guess[q])
				upper += noise_mass(d, z);
		add_round(d, learn(d, q, true), chosen[q] * lower, l);
		add_round(d, learn(d, q, false), chosen[q] * upper, l);
	}
}

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

/* The largest error of what is released, in rows. */
static double
release_large(const dp_iterate_terms *terms, const large *l)
{
	double		probability[LARGE_CELLS];
	dp_iterate_step steps[DP_ITERATE_ROUNDS];
	double		worst = 0;
	int			taken;
	int			i;
	int			q;

	subject_check(dp_model_iterate(&test_host, &source, terms, l->weights,
								   l->counts, probability, steps, &taken));
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
	subject_check(dp_mech_selection_rate(&part, 1, false, &terms.rate));
	subject_check(dp_mech_scale_make(1, &part, &terms.scale));
	for (i = 0; i < RELEASES; i++)
	{
		make_large(&l, (int) terms.cells);
		right += release_large(&terms, &l) <= times * alpha * LARGE_ROWS + 1;
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
	terms.update = DP_ITERATE_MEDIAN;
	terms.cells = 3;
	terms.size = (int64_t) ceil(log(LARGE_QUERIES) / .01);
	terms.candidates = dp_model_iterate_candidates(terms.cells, terms.size);
	terms.rounds = 1 + (int) log2((double) terms.candidates);
	test_accuracy("median", terms, .2, 3);
}

/* ---- tests ---- */

static subject
subject_of(database *pair, dp_iterate_distinguisher how, int epsilon_times_4,
		   variant defect, subject_draw draw, int numbers)
{
	subject		s = {draw, {&pair[0], &pair[1]}, numbers, {14, 14}, 1,
	epsilon_times_4 / 4.0, 0, RUNS};

	open_database(&pair[0], 0, how, epsilon_times_4, defect);
	open_database(&pair[1], 1, how, epsilon_times_4, defect);
	return s;
}

static void
test_law(const char *name, dp_iterate_distinguisher how)
{
	database	pair[2];
	subject		s = subject_of(pair, how, 8, SOUND, draw_second, 1);
	law			l;

	law_of(&pair[0], &l);
	accept_law(name, &s, &l);
}

static void
test_audit(const char *name, dp_iterate_distinguisher how, int times_4,
		   subject_draw draw, double share)
{
	database	pair[2];
	subject		s = subject_of(pair, how, times_4, SOUND, draw,
								draw == draw_answers ? 2 : 1);

	accept_audit(name, &s, share);
}

static void
test_broken(const char *name, variant defect, int by)
{
	database	pair[2];
	database	sound;
	law			l;
	subject		s = subject_of(pair, DP_ITERATE_EXPONENTIAL, 4, defect,
								draw_second, 1);
	double		x;

	open_database(&sound, 0, DP_ITERATE_EXPONENTIAL, 4, SOUND);
	law_of(&sound, &l);
	if (by & BY_LAW)
	{
		x = subject_law_p(&s, &l, RUNS);
		table_reject(x < DP_CHISQ_ALPHA, "iterative construction", name,
					 "exact law", "p = %.2g", x);
	}
	if (by & BY_AUDIT)
	{
		s.draw = draw_answers;
		s.numbers = 2;
		x = subject_loss(&s);
		table_reject(x > s.epsilon, "iterative construction", name, "audit",
					 "loss > %.3f, claim %.3f", x, s.epsilon);
	}
}

int
main(void)
{
	dp_mech_source_init(&source, dp_mech_fill_openssl, NULL);
	test_law("second round, exponential mechanism", DP_ITERATE_EXPONENTIAL);
	test_law("second round, permute-and-flip", DP_ITERATE_PERMUTE_AND_FLIP);
	test_law("second round, Gaussian noise", DP_ITERATE_GAUSSIAN);
	test_audit("both counts, exponential mechanism", DP_ITERATE_EXPONENTIAL,
			   8, draw_answers, .15);
	test_audit("both counts, permute-and-flip", DP_ITERATE_PERMUTE_AND_FLIP,
			   8, draw_answers, .15);
	test_audit("second round, exponential mechanism", DP_ITERATE_EXPONENTIAL,
			   8, draw_second, 0);
	test_audit("second round, permute-and-flip", DP_ITERATE_PERMUTE_AND_FLIP,
			   8, draw_second, 0);
	test_accuracies();
	test_broken("epsilon not divided", UNDIVIDED, BY_LAW | BY_AUDIT);
	test_broken("paid for one round of two", FIRST_ROUND_PAID, BY_LAW);
	test_broken("noise reused in the second count", COUNT_REUSED, BY_LAW);
	test_broken("the worst query always", CHOICE_EXACT, BY_LAW);
	return table_done();
}
