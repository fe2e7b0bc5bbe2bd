/*
 * error.c
 *	  The errors that theorems and recipes promise are the errors that occur.
 *
 * Rates: a measured frequency is compared with the exact one by a two-sided
 * binomial test at DP_CHISQ_ALPHA, or with a bound on it by a one-sided one;
 * fewer than 60 of them make less than 6e-11 a run.  Root mean squares and
 * variances leave 10% or 5% around their expectation where that is at least
 * ten standard errors: fewer than 30 of them, below 1e-20.
 */
#include "dp_noise.h"
#include "dp_numbers.h"
#include "mech_choice.h"

#include "additive_broken.h"
#include "csv.h"
#include "dp_accounting.h"
#include "subject.h"

/*
 * Theorem 3.8, the largest of k noises: ln(k/beta)/epsilon is reached with
 * probability at most beta by continuous noise.  For noise on integers that
 * needs one granule more, as 2p^(a+1)/(1+p) <= p^a; the oracle's "discrete"
 * number is the least a that keeps k P[|X| > a] <= beta.
 */

static void
test_laplace_accuracy(void)
{
	csv_file	csv;

	csv_open(&csv, "laplace_accuracy.csv");
	while (csv_next(&csv))
	{
		int			k = (int) csv_number(&csv, "k");
		double		beta = (double) csv_number(&csv, "beta");
		dp_rational epsilon = choice_rational(csv_text(&csv, "eps"));
		double		inverse = (double) epsilon.num / (double) epsilon.den;
		double		alpha = (double) csv_number(&csv, "thm3_8_alpha");
		double		discrete = (double) csv_number(&csv,
												   "discrete_union_alpha");
		int			blocks = k > 1000 ? 400 : 60000;
		int			beyond = 0;
		int			beyond_discrete = 0;
		additive	a;
		double		one;
		double		exact;
		double		exact_discrete;
		double		largest;
		int			i;
		int			j;

		a = laplace_of(0, (uint64_t) epsilon.den, (uint64_t) epsilon.num);
		for (i = 0; i < blocks; i++)
		{
			largest = 0;
			for (j = 0; j < k; j++)
				largest = fmax(largest, fabs(laplace_noise(&a)));
			beyond += largest >= alpha + 1;
			beyond_discrete += largest > discrete;
		}
		one = 2 * exp(-ceil(alpha + 1) * inverse) / (1 + exp(-inverse));
		exact = -expm1(k * log1p(-one));
		one = 2 * exp(-(discrete + 1) * inverse) / (1 + exp(-inverse));
		exact_discrete = -expm1(k * log1p(-one));
		tap_ok(exact <= beta && exact_discrete <= beta &&
			   binomial_p(blocks, exact, beyond) >= DP_CHISQ_ALPHA &&
			   binomial_p(blocks, exact_discrete, beyond_discrete) >=
			   DP_CHISQ_ALPHA,
			   "T3.8: %d noises, epsilon %g: beyond %.2f + 1 with rate "
			   "%.4f, exactly %.4f, at most %g promised; beyond %g: %.4f", k,
			   inverse, alpha, (double) beyond / blocks, exact, beta,
			   discrete, (double) beyond_discrete / blocks);
	}
	tap_ok(csv.records == 8, "laplace_accuracy.csv has 8 records");
}

/* ---- Theorem 3.11: the exponential mechanism's gap ---- */

#define CANDIDATES 200

/* How many candidates share the best score, and what the others have. */
static void
make_scores(int kind, dp_int128 *score)
{
	int			i;

	for (i = 0; i < CANDIDATES; i++)
		score[i] = kind == 0 ? -i / 2 : kind == 1 ? (i < 5 ? 0 : -20) :
			i < 2 ? 0 : -23;
}

static void
test_exponential_accuracy(int kind, bool permute)
{
	static const double t[] = {0.25, 1, 2, 4};
	const dp_rational epsilon = {1, 2};
	const double lambda = 0.25;
	dp_int128	score[CANDIDATES];
	size_t		order[CANDIDATES];
	dp_rational rate;
	double		beyond[4] = {0};
	double		exact[4] = {0};
	double		bound[4];
	double		sum = 0;
	int			best = 0;
	int			i;
	size_t		j;

	make_scores(kind, score);
	subject_check(dp_noise_selection_rate(&epsilon, 1, false, &rate));
	for (i = 0; i < CANDIDATES; i++)
		best += score[i] == 0;
	for (j = 0; j < 4; j++)
		bound[j] = (log((double) CANDIDATES / best) + t[j]) / lambda;
	for (i = 0; i < CANDIDATES; i++)
	{
		sum += exp(lambda * (double) score[i]);
		for (j = 0; j < 4; j++)
			if (-(double) score[i] >= bound[j])
				exact[j] += exp(lambda * (double) score[i]);
	}
	for (i = 0; i < SUBJECT_DRAWS; i++)
	{
		size_t		chosen;

		subject_check(permute ?
					  dp_noise_permute_and_flip(&source, score, CANDIDATES,
												&rate, order, &chosen) :
					  dp_noise_exponential(&source, score, CANDIDATES, &rate,
										   &chosen));
		for (j = 0; j < 4; j++)
			beyond[j] += -(double) score[chosen] >= bound[j];
	}
	for (j = 0; j < 4; j++)
	{
		double		promised = exp(-t[j]);

		/* permute-and-flip's gap is never the larger one in law */
		exact[j] /= sum;
		tap_ok(exact[j] <= promised && (permute ?
										binomial_upper(SUBJECT_DRAWS,
													   exact[j], beyond[j]) :
										binomial_p(SUBJECT_DRAWS, exact[j],
												   beyond[j])) >=
			   DP_CHISQ_ALPHA,
			   "T3.11, %s, scores %d, t = %g: gap of at least %.1f with rate "
			   "%.5f, at most %.5f promised",
			   permute ? "permute-and-flip" : "exponential mechanism", kind,
			   t[j], bound[j], beyond[j] / SUBJECT_DRAWS, promised);
	}
}

/* Expected gaps, exactly: permute-and-flip's is the smaller one. */
static void
test_expected_gap(void)
{
	csv_file	csv[2];
	double		gap[2] = {0, 0};
	int			laws = 0;
	int			better = 0;
	char		law_now[96];
	char		law_before[96] = "";
	bool		more;
	int			i;

	csv_open(&csv[0], "permute_and_flip.csv");
	csv_open(&csv[1], "exponential_mechanism.csv");
	do
	{
		more = csv_next(&csv[0]);
		if (csv_next(&csv[1]) != more)
			exit(2);
		snprintf(law_now, sizeof(law_now), "%s/%s/%s",
				 more ? csv_text(&csv[0], "scores") : "",
				 more ? csv_text(&csv[0], "eps") : "",
				 more ? csv_text(&csv[0], "monotone") : "");
		if (strcmp(law_now, law_before) != 0)
		{
			if (law_before[0] != '\0')
			{
				laws++;
				better += gap[0] > gap[1];
			}
			strcpy(law_before, law_now);
			gap[0] = gap[1] = 0;
		}
		for (i = 0; more && i < 2; i++)
			gap[i] += (double) (csv_number(&csv[i], "probability") *
								csv_number(&csv[i], "score"));
	} while (more);
	tap_ok(laws == 18 && better == laws,
		   "permute-and-flip's expected score is above the exponential "
		   "mechanism's in %d of %d laws", better, laws);
}

/* ---- variances ---- */

static void
test_variances(const char *file, const char *column, bool gaussian)
{
	csv_file	csv;
	double		worst = 0;
	int			tried = 0;

	csv_open(&csv, file);
	while (csv_next(&csv))
	{
		double		variance = (double) csv_number(&csv, "variance");
		additive	a = additive_of(0, gaussian,
									choice_rational(csv_text(&csv, column)));
		double		sum = 0;
		double		x;
		int			i;

		/* smaller ones are seen by too few draws */
		if (variance < 0.2)
			continue;
		for (i = 0; i < 2 * SUBJECT_DRAWS; i++)
		{
			x = gaussian ? gaussian_noise(&a) : laplace_noise(&a);
			sum += x * x;
		}
		worst = fmax(worst, fabs(sum / (2 * SUBJECT_DRAWS) / variance - 1));
		tried++;
	}
	tap_ok(tried >= 8 && worst < 0.05, "%s: %d variances, off by at most "
		   "%.2f%%", file, tried, 100 * worst);
}

/* ---- recipes of means: n = 1000, epsilon 1/2, mean 1/2 ---- */

#define ROWS 1000
#define GRANULES 1048576.		/* of the width of the bounds */

static void
check_recipe(const char *name, double squares, int runs, double promised)
{
	double		rmse = sqrt(squares / runs);

	tap_ok(fabs(rmse / promised - 1) < 0.1,
		   "%s: root mean square error %.5f, %.4f promised", name, rmse,
		   promised);
}

static void
test_recipes(void)
{
	const int	runs = 100000;
	additive	pair = laplace_of(0, (uint64_t) GRANULES * 2, 1);
	additive	centred = laplace_of(0, (uint64_t) GRANULES * 2, 1);
	additive	plain = laplace_of(0, (uint64_t) GRANULES * 4, 1);
	additive	count = laplace_of(0, 4, 1);
	double		squares[3] = {0, 0, 0};
	double		a;
	double		b;
	int			i;

	for (i = 0; i < runs; i++)
	{
		/* two sums share one epsilon: a row moves them by the width */
		a = ROWS / 2 * GRANULES + laplace_noise(&pair);
		b = ROWS / 2 * GRANULES + laplace_noise(&pair);
		squares[0] += pow(a / (a + b) - 0.5, 2);

		/* epsilon / 2 each: the sum of x - 1/2, and the count */
		a = laplace_noise(&centred) / GRANULES;
		squares[1] += pow(a / (ROWS + laplace_noise(&count)), 2);

		/* epsilon / 2 each: the sum of x, and the count */
		a = ROWS / 2 + laplace_noise(&plain) / GRANULES;
		squares[2] += pow(a / (ROWS + laplace_noise(&count)) - 0.5, 2);
	}
	check_recipe("mean by two sums", squares[0], runs, 0.0020);
	check_recipe("mean by centred sum and count", squares[1], runs, 0.0028);
	check_recipe("mean by plain sum and count", squares[2], runs, 0.0063);
}

/* Theorem 3.22's sigma at (1, 1e-5) is about 30% above the exact one. */
static void
test_classical(void)
{
	dp_fixed	one = DP_FIXED_ONE;
	dp_fixed	delta = DP_FIXED_ONE / 100000;
	dp_rational variance;
	double		exact;
	double		classical = sqrt(2 * log(1.25e5));

	subject_check(dp_accounting_variance_exact(1000, one, delta,
											   &variance));
	exact = sqrt((double) variance.num / (double) variance.den) / 1000;
	tap_ok(fabs(classical / exact / 1.3 - 1) < 0.1,
		   "T3.22's sigma at (1, 1e-5) is %.3f, the exact one %.3f",
		   classical, exact);
}

int
main(void)
{
	int			kind;

	dp_noise_source_init(&source, dp_noise_fill_openssl, NULL);
	test_laplace_accuracy();
	for (kind = 0; kind < 3; kind++)
	{
		test_exponential_accuracy(kind, false);
		test_exponential_accuracy(kind, true);
	}
	test_expected_gap();
	test_variances("discrete_laplace_moments.csv", "scale", false);
	test_variances("discrete_gaussian.csv", "sigma2", true);
	test_recipes();
	test_classical();
	return tap_done();
}
