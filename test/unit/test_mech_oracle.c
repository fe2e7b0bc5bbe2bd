/*
 * test_mech_oracle.c
 *	  Conformity with the oracle's vectors, by computation and by sampling
 *	  on OpenSSL's source.
 *
 * False alarms: the 20 chi-squares and coin tests have 1e-12 each; the 20
 * moment tests (10 standard errors) have less, except the variance at scale
 * 1/10, which rests on 91 expected events: 3e-11.  In total below 1e-10.
 */
#include <math.h>

#include "chisq.h"
#include "csv.h"
#include "dp_numbers.h"
#include "dp_noise.h"
#include "mech_law.h"
#include "tap.h"

#define DRAWS 1000000
#define ROWS 64
#define SCALES 16

static dp_source source;

typedef struct scale_case
{
	char		label[16];
	unsigned long long num;
	unsigned long long den;
	dp_scale	scale;
	double		sample[DRAWS];
} scale_case;

static dp_scale
scale_of(unsigned long long num, unsigned long long den)
{
	const dp_rational epsilon = {den, num};
	dp_scale	scale;

	if (dp_noise_scale_make(1, &epsilon, &scale) != DP_OK)
		exit(2);
	return scale;
}

/* Relative distance, with equal zeros at distance 0. */
static long double
distance(long double a, long double b)
{
	return a == b ? 0 : fabsl(a - b) / fmaxl(fabsl(a), fabsl(b));
}

/* P[X >= m] at scale 1/inverse, accurate on either side of 0. */
static long double
tail(long double inverse, long double m)
{
	long double p = expl(-inverse);

	if (m >= 1)
		return expl(-m * inverse) / (1 + p);
	return 1 - expl(-(1 - m) * inverse) / (1 + p);
}

/* ---- bernoulli_exp.csv ---- */

static bool
flip_exp(void *state, bool *out)
{
	return dp_noise_bernoulli_exp(&source, state, out) == DP_OK;
}

static void
test_bernoulli_exp(void)
{
	csv_file	csv;
	unsigned long long num;
	unsigned long long den;
	dp_rational gamma;
	double		expected;
	double		p;

	csv_open(&csv, "bernoulli_exp.csv");
	while (csv_next(&csv))
	{
		csv_fraction(&csv, "gamma", &num, &den);
		gamma = (dp_rational) {num, den};
		expected = (double) csv_number(&csv, "exp_minus_gamma");
		p = law_coin(flip_exp, &gamma, expected, 4 * DRAWS);
		tap_ok(p >= DP_CHISQ_ALPHA,
			   "bernoulli_exp(%s) follows the oracle: p = %.3g",
			   csv_text(&csv, "gamma"), p);
	}
	tap_ok(csv.records == 10, "bernoulli_exp.csv has 10 records");
}

/* ---- discrete_laplace.csv ---- */

static int
compare_doubles(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

/* Sorted draws: how many are <= k. */
static double
count_to(const double *sample, double k)
{
	int			low = 0;
	int			high = DRAWS;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (sample[middle] <= k)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * The cells of one scale are the oracle's points k and the gaps between
 * them, with masses from the oracle's pmf and tails alone.
 */
static double
oracle_p(const double *sample, const double *k, const double *pmf,
		 const double *cdf, const double *sf, int rows)
{
	double		observed[2 * ROWS + 1];
	double		expected[2 * ROWS + 1];
	double		gap;
	int			n = 0;
	int			i;

	for (i = 0; i < rows; i++)
	{
		if (i == 0)
			gap = cdf[i] - pmf[i];
		else if (k[i] <= 0)
			gap = cdf[i] - pmf[i] - cdf[i - 1];
		else
			gap = sf[i - 1] - pmf[i - 1] - sf[i];
		observed[n] = count_to(sample, k[i] - 1) -
			(i == 0 ? 0 : count_to(sample, k[i - 1]));

		/* adjacent points have no gap, whatever the subtraction left */
		if (i == 0 || k[i] - k[i - 1] > 1)
			expected[n++] = DRAWS * gap;
		else if (observed[n] != 0)
			return 0;
		observed[n] = count_to(sample, k[i]) - count_to(sample, k[i] - 1);
		expected[n++] = DRAWS * pmf[i];
	}
	observed[n] = DRAWS - count_to(sample, k[rows - 1]);
	expected[n++] = DRAWS * (sf[rows - 1] - pmf[rows - 1]);
	return dp_chisq_test(observed, expected, n).p;
}

static void
test_discrete_laplace(scale_case *cases, int *scales)
{
	csv_file	csv;
	double		k[ROWS];
	double		pmf[ROWS];
	double		cdf[ROWS];
	double		sf[ROWS];
	int			rows = 0;
	int			n = 0;
	long double worst = 0;
	long double inverse;
	long double x;
	dp_int128	draw;
	scale_case *c = NULL;
	bool		more;
	int			i;

	csv_open(&csv, "discrete_laplace.csv");
	for (;;)
	{
		more = csv_next(&csv);
		if (c != NULL &&
			(!more || strcmp(c->label, csv_text(&csv, "scale")) != 0))
		{
			double		p = oracle_p(c->sample, k, pmf, cdf, sf, rows);

			tap_ok(p >= DP_CHISQ_ALPHA,
				   "discrete Laplace at %s follows the oracle: p = %.3g",
				   c->label, p);
			c = NULL;
		}
		if (!more)
			break;
		if (c == NULL)
		{
			if (n == SCALES)
				exit(2);
			c = &cases[n++];
			snprintf(c->label, sizeof(c->label), "%s",
					 csv_text(&csv, "scale"));
			csv_fraction(&csv, "scale", &c->num, &c->den);
			c->scale = scale_of(c->num, c->den);
			for (i = 0; i < DRAWS; i++)
			{
				if (dp_noise_discrete_laplace(&source, &c->scale,
											  &draw) != DP_OK)
					exit(2);
				c->sample[i] = (double) draw;
			}
			qsort(c->sample, DRAWS, sizeof(double), compare_doubles);
			rows = 0;
		}
		inverse = (long double) c->den / c->num;
		x = csv_number(&csv, "k");
		k[rows] = (double) x;
		pmf[rows] = (double) csv_number(&csv, "pmf");
		cdf[rows] = (double) csv_number(&csv, "cdf_le_k");
		sf[rows] = (double) csv_number(&csv, "sf_ge_k");
		worst = fmaxl(worst, distance(csv_number(&csv, "pmf"),
									  tanhl(inverse / 2) *
									  expl(-fabsl(x) * inverse)));
		worst = fmaxl(worst, distance(csv_number(&csv, "sf_ge_k"),
									  tail(inverse, x)));
		worst = fmaxl(worst, distance(csv_number(&csv, "cdf_le_k"),
									  tail(inverse, -x)));
		rows++;
	}
	tap_ok(csv.records == 250 && n == 10 && worst < 1e-15L,
		   "discrete_laplace.csv: theorem T5 gives pmf, cdf and tail of %d "
		   "records, worst relative distance %.2Lg", csv.records, worst);
	*scales = n;
}

/* ---- discrete_laplace_moments.csv ---- */

static void
test_moments(const scale_case *cases, int scales)
{
	static const struct
	{
		const char *column;
		double		beta;
	}			quantile[] =
	{
		{"abs_q_beta0.05", 0.05},
		{"abs_q_beta0.01", 0.01},
		{"abs_q_beta0.001", 0.001},
		{"abs_q_beta0.05_union10", 0.05 / 10},
		{"abs_q_beta0.05_union10000", 0.05 / 10000},
	};
	csv_file	csv;
	const scale_case *c;
	long double p;
	long double variance;
	long double mean;
	long double worst = 0;
	double		sum;
	double		squares;
	double		fourths;
	double		error;
	bool		quantiles = true;
	int			i;

	csv_open(&csv, "discrete_laplace_moments.csv");
	while (csv_next(&csv))
	{
		c = NULL;
		for (i = 0; i < scales; i++)
			if (strcmp(cases[i].label, csv_text(&csv, "scale")) == 0)
				c = &cases[i];
		if (c == NULL)
			exit(2);
		p = expl(-(long double) c->den / c->num);
		variance = csv_number(&csv, "variance");
		mean = csv_number(&csv, "mean_abs");
		worst = fmaxl(worst, distance(variance, 2 * p / (1 - p) / (1 - p)));
		worst = fmaxl(worst, distance(mean, 2 * p / (1 - p) / (1 + p)));
		worst = fmaxl(worst, distance(csv_number(&csv, "pmf0"),
									  (1 - p) / (1 + p)));
		for (i = 0; i < 5; i++)
			quantiles = quantiles &&
				dp_noise_laplace_error(&c->scale, quantile[i].beta) ==
				(double) csv_number(&csv, quantile[i].column);

		sum = squares = fourths = 0;
		for (i = 0; i < DRAWS; i++)
		{
			double		square = c->sample[i] * c->sample[i];

			sum += fabs(c->sample[i]);
			squares += square;
			fourths += square * square;
		}

		/*
		 * Standard errors: that of |X| from the oracle's moments, that of
		 * X^2 from the fourth moment of the sample.
		 */
		error = sqrt((double) (variance - mean * mean) / DRAWS);
		tap_ok(fabs(sum / DRAWS - (double) mean) < 10 * error,
			   "E|X| at %s: %.6g, oracle %.6Lg", c->label, sum / DRAWS, mean);
		error = sqrt(fourths) / DRAWS;
		tap_ok(fabs(squares / DRAWS - (double) variance) < 10 * error,
			   "variance at %s: %.6g, oracle %.6Lg", c->label,
			   squares / DRAWS, variance);
	}

	/* 1 - p loses up to three digits at scale 1000 */
	tap_ok(csv.records == 10 && worst < 1e-14L,
		   "discrete_laplace_moments.csv: theorem T5 gives variance, E|X| "
		   "and P[0], worst relative distance %.2Lg", worst);
	tap_ok(quantiles, "discrete_laplace_moments.csv: all 50 quantiles");
}

/* ---- laplace_accuracy.csv ---- */

/* A decimal fraction of few digits, exactly. */
static dp_rational
decimal(const char *text)
{
	dp_rational x = {0, 1};
	bool		point = false;

	for (; *text != '\0'; text++)
	{
		if (*text == '.')
		{
			point = true;
			continue;
		}
		x.num = 10 * x.num + (dp_uint128) (*text - '0');
		if (point)
			x.den *= 10;
	}
	return x;
}

static void
test_accuracy(void)
{
	csv_file	csv;
	dp_rational epsilon;
	dp_scale	scale;
	double		k;
	double		beta;
	bool		good = true;

	csv_open(&csv, "laplace_accuracy.csv");
	while (csv_next(&csv))
	{
		epsilon = decimal(csv_text(&csv, "eps"));
		if (dp_noise_scale_make(1, &epsilon, &scale) != DP_OK)
			exit(2);
		k = (double) csv_number(&csv, "k");
		beta = (double) csv_number(&csv, "beta");
		good = good && dp_noise_laplace_error(&scale, beta / k) ==
			(double) csv_number(&csv, "discrete_union_alpha") &&
			fabs(dp_noise_scale_approx(&scale) * log(k / beta) /
				 (double) csv_number(&csv, "thm3_8_alpha") - 1) < 1e-15;
	}
	tap_ok(csv.records == 8 && good, "laplace_accuracy.csv: all 8 records");
}

/* laplace_error is the smallest a, at many scales and levels. */
static void
test_error_minimal(void)
{
	dp_scale	scale;
	long double inverse;
	double		beta;
	double		a;
	int			bad = 0;
	int			cases = 0;
	unsigned	num;
	unsigned	den;

	for (num = 1; num < 3000; num += 7)
		for (den = 1; den < 40; den += 3)
			for (beta = 0.9; beta > 1e-15; beta /= 7)
			{
				scale = scale_of(num, den);
				inverse = (long double) den / num;
				a = dp_noise_laplace_error(&scale, beta);
				cases++;
				if (!(2 * tail(inverse, a + 1) <= beta) ||
					(a > 0 && !((a == 1 ? 1 - tanhl(inverse / 2)
								 : 2 * tail(inverse, a)) > beta)))
					bad++;
			}
	tap_ok(bad == 0, "error bound is the smallest, %d cases, %d bad", cases,
		   bad);
}

int
main(void)
{
	scale_case *cases = calloc(SCALES, sizeof(scale_case));
	int			scales = 0;

	if (cases == NULL)
		return 2;
	dp_noise_source_init(&source, dp_noise_fill_openssl, NULL);
	test_bernoulli_exp();
	test_discrete_laplace(cases, &scales);
	test_moments(cases, scales);
	test_accuracy();
	test_error_minimal();
	free(cases);
	return tap_done();
}
