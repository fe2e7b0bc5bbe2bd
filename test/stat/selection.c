/*
 * selection.c
 *	  Permute-and-flip, the exponential mechanism, noisy max and peeling:
 *	  their exact laws against the oracle, audits on neighbouring scores, and
 *	  the variants that these tests must reject.
 *
 * Rates: as subject.h says.
 */
#include "csv.h"
#include "mech_problem.h"
#include "selection_broken.h"
#include "subject.h"

/* ---- laws of the oracle ---- */

static void
test_file(const char *file, const char *column, subject_draw draw)
{
	bool		noisy = strncmp(file, "rnm", 3) == 0;
	csv_file	csv;
	char		label[128];
	problem		c;
	law			l;
	subject		s = {draw, {&c, &c}, 1, {0, 0}, 1, 0, 0, 0};

	law_begin(&l, 0);
	csv_open(&csv, file);
	while (csv_next(&csv))
	{
		bool		monotone = !noisy &&
			strcmp(csv_text(&csv, "monotone"), "yes") == 0;

		if (l.cells == 0)
			c = problem_of(csv_text(&csv, "scores"), csv_text(&csv, "eps"),
						   monotone);
		law_add(&l, 1, (double) csv_number(&csv, column));
		if (l.cells < (int) c.n)
			continue;
		snprintf(label, sizeof(label), "%s, scores %s, epsilon %s%s", file,
				 csv_text(&csv, "scores"), csv_text(&csv, "eps"),
				 monotone ? ", monotone" : "");
		accept_law(label, &s, &l);
		law_begin(&l, 0);
	}
	tap_ok(csv.records >= 24 && l.cells == 0, "%s: %d records", file,
		   csv.records);
}

/* ---- audits ---- */

typedef struct selection_case
{
	const char *mechanism;
	const char *variant;
	int			by;
	subject_draw draw;
	dp_noise	noise;
	const char *epsilon;
	const char *scores[2];		/* of neighbours */
	bool		monotone;		/* the flag that is given */
	int			numbers;
	double		claim;			/* 0: epsilon */
	double		tight;			/* of the claim, that an audit has to see */
} selection_case;

/*
 * Every score moves by at most 1; with the flag all move the same way.  Noisy
 * max with Laplace noise and peeling lose less on these than they might.
 */
static const selection_case sound_cases[] = {
	{"permute-and-flip", NULL, 0, draw_permute, DP_NOISE_LAPLACE, "1",
	{"8 0", "7 1"}, false, 1, 0, SUBJECT_TIGHT},
	{"permute-and-flip, monotone", NULL, 0, draw_permute, DP_NOISE_LAPLACE,
	"1", {"3 0", "3 1"}, true, 1, 0, SUBJECT_TIGHT},
	{"exponential mechanism", NULL, 0, draw_exponential, DP_NOISE_LAPLACE,
	"1", {"8 0", "7 1"}, false, 1, 0, SUBJECT_TIGHT},
	{"exponential mechanism, monotone", NULL, 0, draw_exponential,
	DP_NOISE_LAPLACE, "1", {"3 0", "3 1"}, true, 1, 0, SUBJECT_TIGHT},
	{"noisy max, Laplace", NULL, 0, draw_noisy, DP_NOISE_LAPLACE, "1",
	{"8 0 0 0", "7 1 1 1"}, false, 1, 0, .5},
	{"noisy max, Laplace, monotone", NULL, 0, draw_noisy, DP_NOISE_LAPLACE,
	"1", {"4 0 0 0", "4 1 1 1"}, true, 1, 0, .5},
	{"noisy max, geometric", NULL, 0, draw_noisy, DP_NOISE_GEOMETRIC, "1",
	{"8 0", "7 1"}, false, 1, 0, SUBJECT_TIGHT},
	{"noisy max, geometric, monotone", NULL, 0, draw_noisy,
	DP_NOISE_GEOMETRIC, "1", {"3 0", "3 1"}, true, 1, 0, SUBJECT_TIGHT},
	{"two best by peeling, half of epsilon each", NULL, 0, draw_two_best,
	DP_NOISE_LAPLACE, "1/2", {"4 4 0 0", "4 4 1 1"}, true, 2, 1, .5}
};

/* The same where ties matter, and more candidates: no tightness asked. */
static const char *const more_neighbours[][2] = {
	{"1 1 1", "0 0 2"}, {"0 0 0 0 0 0 0 0", "1 -1 -1 -1 -1 -1 -1 -1"},
	{"5 5 4 0 -2", "4 6 5 -1 -1"}
};

static subject
subject_of(const selection_case *c, problem *pair)
{
	subject		s = {c->draw, {&pair[0], &pair[1]}, c->numbers, {0, 0}, 1,
	c->claim, 0, 0};
	const dp_rational epsilon = choice_rational(c->epsilon);
	int			i;

	for (i = 0; i < 2; i++)
	{
		pair[i] = problem_of(c->scores[i], c->epsilon, c->monotone);
		pair[i].noise = c->noise;
	}
	if (c->claim == 0)
		s.epsilon = (double) epsilon.num / (double) epsilon.den;
	return s;
}

static void
test_sound(void)
{
	problem		pair[2];
	subject		s;
	char		label[128];
	size_t		i;
	size_t		j;

	for (i = 0; i < sizeof(sound_cases) / sizeof(sound_cases[0]); i++)
	{
		selection_case c = sound_cases[i];

		s = subject_of(&c, pair);
		accept_audit(c.mechanism, &s, c.tight);
		for (j = 0; !c.monotone &&
			 j < sizeof(more_neighbours) / sizeof(more_neighbours[0]); j++)
		{
			c.scores[0] = more_neighbours[j][0];
			c.scores[1] = more_neighbours[j][1];
			snprintf(label, sizeof(label), "%s, %s and %s", c.mechanism,
					 c.scores[0], c.scores[1]);
			s = subject_of(&c, pair);
			accept_audit(label, &s, 0);
		}
	}
}

/* ---- variants ---- */

/*
 * Scores "1 1 1" and "0 0 2" move in both directions: the flag `monotone`
 * given for them is wrong, and so is Claim 3.9's noise of scale 1/epsilon
 * (errata 2).  "Scale halved" claims 1 at a rate meant for 2.
 */
static const selection_case broken_cases[] = {
	{"permute-and-flip", "scale halved", BY_LAW | BY_AUDIT, draw_permute,
	DP_NOISE_LAPLACE, "2", {"3 0", "3 1"}, true, 1, 1, 0},
	{"permute-and-flip", "wrong monotone flag", BY_LAW | BY_AUDIT,
	draw_permute, DP_NOISE_LAPLACE, "1", {"4 1", "3 2"}, true, 1, 0, 0},
	{"permute-and-flip", "no shuffle", BY_LAW | BY_AUDIT, broken_no_shuffle,
	DP_NOISE_LAPLACE, "1", {"1 1 0", "1 2 0"}, true, 1, 0, 0},
	{"permute-and-flip", "shuffle by swaps with any place", BY_LAW,
	broken_naive_shuffle, DP_NOISE_LAPLACE, "1", {"1 1 1", "2 1 1"}, true, 1,
	0, 0},
	{"permute-and-flip", "ties to the first of the best", BY_LAW | BY_AUDIT,
	broken_ties_to_first, DP_NOISE_LAPLACE, "1", {"1 1", "1 2"}, true, 1,
	0, 0},
	{"permute-and-flip", "number of ties released", BY_AUDIT,
	broken_ties_counted, DP_NOISE_LAPLACE, "1", {"1 1", "1 2"}, true, 2, 0, 0},
	{"permute-and-flip", "gaps to the best one seen so far", BY_LAW,
	broken_running_best, DP_NOISE_LAPLACE, "1", {"3 0", "3 1"}, true, 1, 0, 0},
	{"permute-and-flip", "candidates flipped again", BY_LAW,
	draw_exponential, DP_NOISE_LAPLACE, "1", {"3 0 1", "3 1 1"}, true, 1, 0,
	0},
	{"permute-and-flip", "noise reused for all candidates",
	BY_LAW | BY_AUDIT, broken_argmax, DP_NOISE_LAPLACE, "1",
	{"1 1", "1 2"}, true, 1, 0, 0},
	{"exponential mechanism", "scale halved", BY_LAW | BY_AUDIT,
	draw_exponential, DP_NOISE_LAPLACE, "2", {"3 0", "3 1"}, true, 1, 1, 0},
	{"exponential mechanism", "wrong monotone flag", BY_LAW | BY_AUDIT,
	draw_exponential, DP_NOISE_LAPLACE, "1", {"5 1", "4 2"}, true, 1, 0, 0},
	{"exponential mechanism", "candidates not put back", BY_LAW,
	draw_permute, DP_NOISE_LAPLACE, "2", {"0 1", "1 1"}, false, 1, 0, 0},
	{"exponential mechanism", "one-sided noisy max in its place", BY_LAW,
	broken_one_sided, DP_NOISE_LAPLACE, "2", {"0 1", "1 1"}, false, 1, 0, 0},
	{"exponential mechanism", "weights in doubles, overflow", BY_AUDIT,
	broken_double_weights, DP_NOISE_LAPLACE, "1", {"1418 1417", "1419 1418"},
	false, 1, 0, 0},
	{"exponential mechanism", "weights in doubles, underflow", BY_AUDIT,
	broken_double_weights, DP_NOISE_LAPLACE, "1",
	{"-1490 -1490", "-1489 -1491"}, false, 1, 0, 0},
	{"exponential mechanism", "noise reused for all candidates",
	BY_LAW | BY_AUDIT, broken_argmax, DP_NOISE_LAPLACE, "1", {"1 1", "0 2"},
	false, 1, 0, 0},
	{"noisy max, Laplace", "scale halved", BY_LAW | BY_AUDIT, draw_noisy,
	DP_NOISE_LAPLACE, "2", {"2 0", "2 1"}, true, 1, 1, 0},
	{"noisy max, Laplace", "Claim 3.9's noise, scores not monotone",
	BY_LAW | BY_AUDIT, draw_noisy, DP_NOISE_LAPLACE, "1", {"6 1", "5 2"},
	true, 1, 0, 0},
	{"noisy max, Laplace", "one-sided noise", BY_LAW, broken_other_noise,
	DP_NOISE_LAPLACE, "1", {"1 1 0", "1 2 0"}, true, 1, 0, 0},
	{"noisy max, Laplace", "ties to the last", BY_LAW, broken_ties_to_last,
	DP_NOISE_LAPLACE, "1", {"1 1 0", "1 2 0"}, true, 1, 0, 0},
	{"noisy max, Laplace", "ties reported", BY_LAW, broken_ties_reported,
	DP_NOISE_LAPLACE, "1", {"1 1 0", "1 2 0"}, true, 1, 0, 0},
	{"noisy max, Laplace", "noise in floating point", BY_LAW,
	broken_float_noise, DP_NOISE_LAPLACE, "1", {"1 1 0", "1 2 0"}, true, 1,
	0, 0},
	{"noisy max, Laplace", "noise truncated to integers", BY_LAW,
	broken_truncated_noise, DP_NOISE_LAPLACE, "1", {"1 1 0", "1 2 0"}, true,
	1, 0, 0},
	{"noisy max, Laplace", "noise reused for all candidates",
	BY_LAW | BY_AUDIT, broken_argmax, DP_NOISE_LAPLACE, "1", {"1 1", "1 2"},
	true, 1, 0, 0},
	{"noisy max, Laplace", "noisy maximum released", BY_AUDIT,
	broken_maximum_released, DP_NOISE_LAPLACE, "1", {"0 0 0", "1 1 1"},
	true, 2, 0, 0},
	{"noisy max, Laplace", "true gap released", BY_AUDIT,
	broken_gap_released, DP_NOISE_LAPLACE, "1", {"3 1", "3 2"}, true, 2, 0, 0},
	{"noisy max, geometric", "scale halved", BY_LAW | BY_AUDIT, draw_noisy,
	DP_NOISE_GEOMETRIC, "2", {"2 0", "2 1"}, true, 1, 1, 0},
	{"noisy max, geometric", "wrong monotone flag", BY_LAW | BY_AUDIT,
	draw_noisy, DP_NOISE_GEOMETRIC, "1", {"4 1", "3 2"}, true, 1, 0, 0},
	{"noisy max, geometric", "two-sided noise", BY_LAW, broken_other_noise,
	DP_NOISE_GEOMETRIC, "1", {"1 1 0", "1 2 0"}, true, 1, 0, 0},
	{"noisy max, geometric", "ties to the last", BY_LAW,
	broken_ties_to_last, DP_NOISE_GEOMETRIC, "1", {"1 1 0", "1 2 0"}, true,
	1, 0, 0},
	{"noisy max, geometric", "noisy maximum released", BY_AUDIT,
	broken_maximum_released, DP_NOISE_GEOMETRIC, "1", {"0 0", "1 1"}, true,
	2, 0, 0},
	{"top-k by peeling", "every round at the whole epsilon", BY_AUDIT,
	draw_two_best, DP_NOISE_LAPLACE, "1", {"2 2 0 0", "2 2 1 1"}, true, 2,
	0, 0},
	{"top-k by peeling", "winner stays among the candidates", BY_SUPPORT,
	broken_peeling_with_return, DP_NOISE_LAPLACE, "1/2",
	{"3 2 0", "3 2 1"}, true, 2, 1, 0}
};

/* exp(rate gap), normalised: the exponential mechanism's law. */
static void
exponential_law(const problem *c, law *l)
{
	double		best = selection_score(c, selection_best(c));
	double		sum = 0;
	size_t		i;

	law_begin(l, 0);
	for (i = 0; i < c->n; i++)
	{
		law_add(l, 1, exp(selection_score(c, i) - best));
		sum += l->probability[i];
	}
	for (i = 0; i < c->n; i++)
		l->probability[i] /= sum;
}

/*
 * Permute-and-flip's law: candidate i is the answer when it succeeds and all
 * before it in the order fail.  Given that it stands at a uniform place u of
 * [0, 1], each other one precedes and succeeds with probability u p_j, so
 * P[i] = p_i times the integral over u of the product of 1 - u p_j.
 */
static void
permute_law(const problem *c, law *l)
{
	double		best = selection_score(c, selection_best(c));
	double		coefficient[N_MAX + 1];
	double		sum;
	size_t		i;
	size_t		j;
	size_t		k;

	law_begin(l, 0);
	for (i = 0; i < c->n; i++)
	{
		memset(coefficient, 0, sizeof(coefficient));
		coefficient[0] = 1;
		for (j = 0; j < c->n; j++)
			for (k = N_MAX; j != i && k > 0; k--)
				coefficient[k] -= coefficient[k - 1] *
					exp(selection_score(c, j) - best);
		sum = 0;
		for (k = 0; k <= N_MAX; k++)
			sum += coefficient[k] / (double) (k + 1);
		law_add(l, 1, sum * exp(selection_score(c, i) - best));
	}
}

/*
 * The law of the sound mechanism, at the rate of the scores' true behaviour
 * and of the epsilon claimed.
 */
static void
claimed_law(const selection_case *c, law *l)
{
	problem		p;
	double		probability[N_MAX];
	size_t		i;
	bool		monotone = c->monotone &&
		strcmp(c->variant, "wrong monotone flag") != 0 &&
		strncmp(c->variant, "Claim 3.9", 9) != 0;

	p = problem_of(c->scores[0], c->claim > 0 ? "1" : c->epsilon, monotone);
	p.noise = c->noise;
	if (strncmp(c->mechanism, "noisy", 5) == 0)
	{
		noisy_law(&p, probability);
		law_begin(l, 0);
		for (i = 0; i < p.n; i++)
			law_add(l, 1, probability[i]);
	}
	else if (strncmp(c->mechanism, "exponential", 11) == 0)
		exponential_law(&p, l);
	else
		permute_law(&p, l);
}

/* A second place equal to the first one is outside the support. */
static int
repeated_winners(const subject *s)
{
	double		x[2];
	int			count = 0;
	int			i;

	for (i = 0; i < SUBJECT_DRAWS; i++)
	{
		subject_run(s, 0, x);
		count += x[0] == x[1];
	}
	return count;
}

static void
test_broken(void)
{
	size_t		i;

	for (i = 0; i < sizeof(broken_cases) / sizeof(broken_cases[0]); i++)
	{
		const selection_case *c = &broken_cases[i];
		problem		pair[2];
		subject		s = subject_of(c, pair);
		law			l;
		int			twice;

		claimed_law(c, &l);
		if (c->by & BY_SUPPORT)
		{
			twice = repeated_winners(&s);
			table_reject(twice > 0, c->mechanism, c->variant, "support test",
						 "one candidate twice in %d of %d", twice,
						 SUBJECT_DRAWS);
			continue;
		}
		reject(c->mechanism, c->variant, c->by, &s, &l);
	}
}

/*
 * Errata 1 in numbers: scores (0, 1), epsilon 2: the exponential mechanism
 * answers the worse candidate with probability .2689, permute-and-flip and
 * noisy max with exponential noise with .1839.
 */
static void
test_errata(void)
{
	problem		c = problem_of("0 1", "2", false);
	law			exponential;
	law			permute;
	double		worst = 0;
	double		x[2];
	int			first = 0;
	int			i;

	exponential_law(&c, &exponential);
	permute_law(&c, &permute);
	tap_ok(fabs(exponential.probability[0] - 0.2689) < 5e-5 &&
		   fabs(permute.probability[0] - 0.1839) < 5e-5,
		   "errata 1: .2689 and .1839 are the laws");
	for (i = 0; i < SUBJECT_DRAWS; i++)
	{
		x[0] = 0;
		broken_one_sided(&c, x);
		first += x[0] == 0;
	}
	/* 8 standard errors of .0009: false alarm below 2e-15 */
	tap_ok(fabs((double) first / SUBJECT_DRAWS - 0.1839) < 0.007,
		   "errata 1: noisy max with exponential noise answers %.4f",
		   (double) first / SUBJECT_DRAWS);

	/* the laws computed here are the oracle's */
	c = problem_of("5 5 4 0 -2", "1", false);
	permute_law(&c, &permute);
	exponential_law(&c, &exponential);
	for (i = 0; i < 2; i++)
	{
		csv_file	csv;
		const law  *l = i == 0 ? &permute : &exponential;

		csv_open(&csv, i == 0 ? "permute_and_flip.csv" :
				 "exponential_mechanism.csv");
		while (csv_next(&csv))
			if (strcmp(csv_text(&csv, "vector"), "B") == 0 &&
				strcmp(csv_text(&csv, "eps"), "1") == 0 &&
				strcmp(csv_text(&csv, "monotone"), "no") == 0)
				worst = fmax(worst,
							 fabs(l->probability[(int) csv_number(&csv,
																  "index0")]
								  - (double) csv_number(&csv,
														"probability")));
	}
	tap_ok(worst < 1e-14,
		   "laws of variants' mechanisms agree with the oracle: %.2g",
		   worst);
}

/* ---- the price in rho, exactly ---- */

/* The largest D_alpha(one || other) / alpha, either way, over orders. */
static double
rho_of(const law *one, const law *other)
{
	static const double order[] = {1.001, 1.1, 1.5, 2, 3, 5, 10, 30, 100};
	double		worst = 0;
	size_t		k;
	int			side;
	int			i;

	for (k = 0; k < sizeof(order) / sizeof(order[0]); k++)
		for (side = 0; side < 2; side++)
		{
			const double *p = side == 0 ? one->probability :
				other->probability;
			const double *q = side == 0 ? other->probability :
				one->probability;
			double		sum = 0;

			for (i = 0; i < one->cells; i++)
				sum += pow(p[i], order[k]) * pow(q[i], 1 - order[k]);
			worst = fmax(worst, log(sum) / (order[k] - 1) / order[k]);
		}
	return worst;
}

/*
 * The exponential mechanism costs epsilon^2/8, permute-and-flip what any pure
 * mechanism may, epsilon tanh(epsilon/2): over all pairs of audits.
 */
static void
test_rho(void)
{
	double		worst[2] = {0, 0};
	double		epsilon = 1;
	problem		pair[2];
	law			l[2];
	size_t		i;
	int			k;

	for (i = 0; i < sizeof(more_neighbours) / sizeof(more_neighbours[0]) +
		 sizeof(sound_cases) / sizeof(sound_cases[0]) - 1; i++)
	{
		size_t		pairs = sizeof(more_neighbours) /
			sizeof(more_neighbours[0]);
		bool		monotone = i >= pairs && sound_cases[i - pairs].monotone;
		const char *const *scores = i < pairs ? more_neighbours[i] :
			sound_cases[i - pairs].scores;
		int			which;

		for (which = 0; which < 2; which++)
		{
			for (k = 0; k < 2; k++)
			{
				pair[k] = problem_of(scores[k], "1", monotone);
				if (which == 0)
					exponential_law(&pair[k], &l[k]);
				else
					permute_law(&pair[k], &l[k]);
			}
			worst[which] = fmax(worst[which], rho_of(&l[0], &l[1]));
		}
	}
	tap_ok(worst[0] <= epsilon * epsilon / 8 && worst[0] > 0.1,
		   "exponential mechanism: rho of %.4f at epsilon 1, %.4f charged",
		   worst[0], epsilon * epsilon / 8);
	tap_ok(worst[1] <= epsilon * tanh(epsilon / 2),
		   "permute-and-flip: rho of %.4f at epsilon 1, 0.4621 charged",
		   worst[1]);
	table_reject(worst[1] > epsilon * epsilon / 8, "permute-and-flip",
				 "charged in rho like the exponential mechanism",
				 "exact law", "rho %.4f, charge 0.1250", worst[1]);
}

int
main(void)
{
	dp_noise_source_init(&source, dp_noise_fill_openssl, NULL);
	test_file("permute_and_flip.csv", "probability", draw_permute);
	test_file("exponential_mechanism.csv", "probability", draw_exponential);
	test_file("rnm_discrete_laplace.csv", "probability_ties_low_index",
			  draw_noisy);
	test_errata();
	test_sound();
	test_broken();
	test_rho();
	return table_done();
}
