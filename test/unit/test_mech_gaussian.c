/*
 * test_mech_gaussian.c
 *	  The discrete Gaussian: conformity with the oracle by sampling on
 *	  OpenSSL's source, one path against the other, failure of the source,
 *	  and variants broken on purpose.
 *
 * False alarms: 31 chi-squares of 1e-12 each.  Everything else is
 * deterministic, or a rejection whose odds of failing are below 1e-12.
 */
#include <math.h>

#include "chisq.h"
#include "csv.h"
#include "mech_choice.h"
#include "tap.h"

#define DRAWS 120000
#define BAD_DRAWS 100000
#define REACH 400				/* cells -REACH .. REACH, the rest joins */
#define MAX (~(dp_uint128) 0)
#define BIT(n) ((dp_uint128) 1 << (n))

typedef dp_status (*sampler) (dp_source *source, const dp_gaussian *gaussian,
							  double *out);

static dp_source source;
static dp_source first;
static dp_source second;

static dp_gaussian
gaussian_of(dp_uint128 num, dp_uint128 den)
{
	const dp_rational variance = {num, den};
	dp_gaussian gaussian;

	if (dp_noise_gaussian_make(&variance, &gaussian) != DP_OK)
		exit(2);
	return gaussian;
}

static dp_status
good(dp_source *s, const dp_gaussian *gaussian, double *out)
{
	dp_int128	x;
	dp_status	status = dp_noise_discrete_gaussian(s, gaussian, &x);

	if (status == DP_OK)
		*out = (double) x;
	return status;
}

/* Law by its definition; checked against the oracle below. */
static double
pmf(double variance, double x)
{
	double		reach = 40 * sqrt(variance) + 2;
	double		sum = 1;
	double		k;

	for (k = 1; k <= reach; k++)
		sum += 2 * exp(-k * k / (2 * variance));
	return exp(-x * x / (2 * variance)) / sum;
}

/* Sums of neighbours are cells, too, so correlated draws show. */
static double
law_p(sampler draw, const dp_gaussian *gaussian, double variance, int draws)
{
	static double observed[2 * REACH + 3];
	static double expected[2 * REACH + 3];
	double		pair[4] = {0};
	double		pair_expected[4];
	double		rest = draws;
	double		zero = pmf(variance, 0);
	double		x;
	double		p;
	bool		before = false;
	int			i;

	memset(observed, 0, sizeof(observed));
	for (i = 0; i < draws; i++)
	{
		if (draw(&source, gaussian, &x) != DP_OK || x != floor(x))
			return 0;
		observed[x < -REACH ? 0 : x > REACH ? 2 * REACH + 2 :
				 (int) x + REACH + 1]++;
		if (i % 2 == 1)
			pair[2 * before + (x > 0)]++;
		before = x > 0;
	}
	for (i = -REACH; i <= REACH; i++)
	{
		expected[i + REACH + 1] = draws * zero *
			exp(-(double) i * i / (2 * variance));
		rest -= expected[i + REACH + 1];
	}
	expected[0] = expected[2 * REACH + 2] = fmax(rest / 2, 1e-9);
	p = dp_chisq_test(observed, expected, 2 * REACH + 3).p;
	for (i = 0; i < 4; i++)
		pair_expected[i] = draws / 2 *
			(i / 2 ? (1 - zero) / 2 : (1 + zero) / 2) *
			(i % 2 ? (1 - zero) / 2 : (1 + zero) / 2);
	return fmin(p, dp_chisq_test(pair, pair_expected, 4).p);
}

/* ---- the oracle ---- */

static void
test_oracle(void)
{
	static const char *const tail[] = {"sf_ge_1", "sf_ge_2", "sf_ge_3",
	"sf_ge_5", "sf_ge_10", "sf_ge_50"};
	static const double edge[] = {1, 2, 3, 5, 10, 50};
	csv_file	csv;
	dp_rational variance;
	dp_gaussian gaussian;
	double		observed[13];
	double		expected[13];
	double		upper;
	double		mass;
	double		x;
	double		p;
	double		worst = 0;
	int			i;
	int			j;

	csv_open(&csv, "discrete_gaussian.csv");
	while (csv_next(&csv))
	{
		variance = choice_rational(csv_text(&csv, "sigma2"));
		gaussian = gaussian_of(variance.num, variance.den);
		memset(observed, 0, sizeof(observed));
		for (i = 0; i < DRAWS; i++)
		{
			if (good(&source, &gaussian, &x) != DP_OK)
				exit(2);
			for (j = 0; j < 6 && fabs(x) >= edge[j]; j++)
				;
			observed[x < 0 ? 6 - j : 6 + j]++;
		}
		expected[6] = DRAWS * (double) csv_number(&csv, "pmf0");
		for (j = 0; j < 6; j++)
		{
			upper = j < 5 ? (double) csv_number(&csv, tail[j + 1]) : 0;
			mass = (double) csv_number(&csv, tail[j]) - upper;
			expected[5 - j] = expected[7 + j] = DRAWS * mass;
		}
		p = dp_chisq_test(observed, expected, 13).p;
		tap_ok(p >= DP_CHISQ_ALPHA && gaussian.narrow,
			   "discrete Gaussian of sigma^2 = %s follows the oracle: "
			   "p = %.3g", csv_text(&csv, "sigma2"), p);
	}
	tap_ok(csv.records == 11, "discrete_gaussian.csv has 11 records");

	csv_open(&csv, "discrete_gaussian_pmf.csv");
	while (csv_next(&csv))
	{
		variance = choice_rational(csv_text(&csv, "sigma2"));
		mass = (double) csv_number(&csv, "pmf");
		if (mass > 0)
			worst = fmax(worst,
						 fabs(pmf((double) variance.num /
								  (double) variance.den,
								  (double) csv_number(&csv, "k")) / mass - 1));
	}
	tap_ok(csv.records == 150 && worst < 1e-12,
		   "the law used below agrees with discrete_gaussian_pmf.csv: %.2g",
		   worst);
}

static void
test_law(void)
{
	static const struct
	{
		int			num;
		int			den;
	}			c[] = {{1, 1}, {4, 1}, {10, 1}, {1, 3}, {7, 2}, {99, 100},
	{100, 99}, {1000, 7}};
	dp_gaussian gaussian;
	double		p;
	size_t		i;
	int			wide;

	for (i = 0; i < sizeof(c) / sizeof(c[0]); i++)
		for (wide = 0; wide < 2; wide++)
		{
			if (wide && i % 4 != 0)
				continue;
			gaussian = gaussian_of((dp_uint128) c[i].num,
								   (dp_uint128) c[i].den);
			gaussian.narrow = !wide;
			p = law_p(good, &gaussian, (double) c[i].num / c[i].den,
					  wide ? BAD_DRAWS : DRAWS);
			tap_ok(p >= DP_CHISQ_ALPHA,
				   "law of sigma^2 = %d/%d, %s: p = %.3g", c[i].num, c[i].den,
				   wide ? "BIGNUM" : "128 bits", p);
		}
}

/* ---- paths, failures, refusals ---- */

static void
test_paths(void)
{
	const struct
	{
		const char *label;
		dp_uint128	num;
		dp_uint128	den;
		bool		narrow;
	}			c[] = {
		{"1/100", 1, 100, true}, {"1", 1, 1, true}, {"10/3", 10, 3, true},
		{"2^40", BIT(40), 1, true}, {"2^62 + 1", BIT(62) + 1, 1, true},
		{"2^60/(2^20 + 7)", BIT(60), BIT(20) + 7, true},
		{"2^64", BIT(64), 1, false},
		{"(2^90 + 1)/(2^80 + 1)", BIT(90) + 1, BIT(80) + 1, false},
		{"2^128 - 1", MAX, 1, false}, {"1/(2^128 - 1)", 1, MAX, false},
		{"(2^128 - 1)/(2^128 - 2)", MAX, MAX - 1, false},
	};
	dp_gaussian narrow;
	dp_gaussian wide;
	dp_int128	x;
	dp_int128	y;
	uint64_t	seed_a;
	uint64_t	seed_b;
	bool		same;
	double		square;
	size_t		i;
	int			j;

	for (i = 0; i < sizeof(c) / sizeof(c[0]); i++)
	{
		narrow = wide = gaussian_of(c[i].num, c[i].den);
		same = narrow.narrow == c[i].narrow;
		wide.narrow = false;
		seed_a = seed_b = 77 + i;
		dp_noise_source_init(&first, fake_fill, &seed_a);
		dp_noise_source_init(&second, fake_fill, &seed_b);
		square = 0;
		for (j = 0; same && j < 5000; j++)
		{
			same = dp_noise_discrete_gaussian(&first, &narrow, &x) == DP_OK &&
				dp_noise_discrete_gaussian(&second, &wide, &y) == DP_OK &&
				x == y && seed_a == seed_b && first.next == second.next;
			square += (double) x * (double) x / 5000;
		}
		tap_ok(same, "sigma^2 = %s: both paths agree for 5000 draws",
			   c[i].label);

		/* the stream is fixed: no tolerance for luck, 10 % is generous */
		square /= (double) c[i].num / (double) c[i].den;
		if (c[i].num >= c[i].den)
			tap_ok(square > 0.9 && square < 1.1,
				   "sigma^2 = %s: mean square %.3f sigma^2", c[i].label,
				   square);
		else
			tap_ok(square < 1.1, "sigma^2 = %s: mean square %.3f sigma^2",
				   c[i].label, square);
	}
}

static dp_status
sample(dp_source *s, const void *state, unsigned char *out)
{
	return dp_noise_discrete_gaussian(s, state, (dp_int128 *) (void *) out);
}

static void
test_failure(void)
{
	dp_gaussian gaussian = gaussian_of(1000, 7);
	const dp_rational zero = {0, 1};
	const dp_rational none = {1, 0};
	dp_gaussian untouched;
	unsigned char before[sizeof(dp_gaussian)];
	size_t		points;
	bool		fails;

	fails = choice_fails_well(sample, &gaussian, 150, &points);
	tap_ok(fails, "128 bits: failure at each of %zu points is DP_E_RANDOM, "
		   "output untouched", points);
	gaussian.narrow = false;
	fails = choice_fails_well(sample, &gaussian, 30, &points);
	tap_ok(fails, "BIGNUM: failure at each of %zu points is DP_E_RANDOM, "
		   "output untouched", points);
	memset(&untouched, 0x5a, sizeof(untouched));
	memcpy(before, &untouched, sizeof(untouched));
	tap_ok(dp_noise_gaussian_make(&zero, &untouched) == DP_E_RANGE &&
		   dp_noise_gaussian_make(&none, &untouched) == DP_E_RANGE &&
		   memcmp(before, &untouched, sizeof(untouched)) == 0,
		   "variances 0 and 1/0 are refused, output untouched");
}

/* ---- broken on purpose; state is the good law of sigma^2 = 1/2 or 10 ---- */

static double
uniform_double(dp_source *s)
{
	uint64_t	value;

	if (dp_noise_uniform_below(s, UINT64_C(1) << 53, &value) != DP_OK)
		exit(2);
	return ((double) value + 0.5) * 0x1p-53;
}

static double
normal(dp_source *s, const dp_gaussian *gaussian)
{
	double		radius = sqrt(-2 * log(uniform_double(s)));

	return radius * cos(2 * M_PI * uniform_double(s)) *
		sqrt((double) gaussian->variance.num /
			 (double) gaussian->variance.den);
}

static dp_status
bad_half_scale(dp_source *s, const dp_gaussian *gaussian, double *out)
{
	dp_gaussian half = gaussian_of(gaussian->variance.num,
								   gaussian->variance.den * 4);

	return good(s, &half, out);
}

static dp_status
bad_rounded_float(dp_source *s, const dp_gaussian *gaussian, double *out)
{
	*out = rint(normal(s, gaussian));
	return DP_OK;
}

static dp_status
bad_float(dp_source *s, const dp_gaussian *gaussian, double *out)
{
	*out = normal(s, gaussian);
	return DP_OK;
}

/* The proposal is the answer. */
static dp_status
bad_laplace(dp_source *s, const dp_gaussian *gaussian, double *out)
{
	dp_int128	x;
	dp_status	status = dp_noise_discrete_laplace(s, &gaussian->proposal, &x);

	*out = (double) x;
	return status;
}

static dp_status
bad_no_zero(dp_source *s, const dp_gaussian *gaussian, double *out)
{
	dp_status	status;

	do
		status = good(s, gaussian, out);
	while (status == DP_OK && *out == 0);
	return status;
}

/* Every draw is answered twice. */
static dp_status
bad_reused(dp_source *s, const dp_gaussian *gaussian, double *out)
{
	static double kept;
	static bool again;
	dp_status	status = DP_OK;

	if (!again)
		status = good(s, gaussian, &kept);
	again = !again;
	*out = kept;
	return status;
}

static dp_status
bad_one_sided(dp_source *s, const dp_gaussian *gaussian, double *out)
{
	dp_status	status = good(s, gaussian, out);

	*out = fabs(*out);
	return status;
}

static void
test_broken(void)
{
	static const struct
	{
		const char *label;
		sampler		draw;
	}			bad[] = {
		{"scale halved", bad_half_scale}, {"float noise", bad_float},
		{"float noise, rounded", bad_rounded_float},
		{"proposal not rejected", bad_laplace}, {"no zero", bad_no_zero},
	{"noise reused", bad_reused}, {"one-sided", bad_one_sided}};
	dp_gaussian gaussian;
	double		p;
	size_t		i;
	int			large;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		for (large = 0; large < 2; large++)
		{
			/* rounding hides in a large variance: 10 is too much for it */
			if (large && bad[i].draw == bad_rounded_float)
				continue;
			gaussian = large ? gaussian_of(10, 1) : gaussian_of(1, 2);
			p = law_p(bad[i].draw, &gaussian, large ? 10 : 0.5, BAD_DRAWS);
			tap_ok(p < DP_CHISQ_ALPHA, "broken on purpose, sigma^2 = %s, is "
				   "caught: %s (p = %.3g)", large ? "10" : "1/2",
				   bad[i].label, p);
		}
}

int
main(void)
{
	dp_noise_source_init(&source, dp_noise_fill_openssl, NULL);
	test_oracle();
	test_law();
	test_paths();
	test_failure();
	test_broken();
	return tap_done();
}
