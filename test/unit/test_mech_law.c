/*
 * test_mech_law.c
 *	  Chi-square of every sampler on OpenSSL's source, and the same tests
 *	  against samplers broken on purpose.
 *
 * A sampler passes when every p-value is at least DP_CHISQ_ALPHA = 1e-12.
 * Fewer than 200 p-values are taken, so a run raises a false alarm with
 * probability below 2e-10; a broken sampler must come out below 1e-12.
 */
#include <math.h>

#include "dp_numbers.h"
#include "dp_noise.h"
#include "mech_draws.h"
#include "mech_law.h"
#include "tap.h"

#define DRAWS 1000000

/* BIGNUM costs ten times as much, and more under the sanitizers. */
#ifdef __SANITIZE_ADDRESS__
#define BIGNUM_DRAWS 100000
#else
#define BIGNUM_DRAWS DRAWS
#endif
#define BIT(n) ((dp_uint128) 1 << (n))
#define MAX (~(dp_uint128) 0)

static dp_source source;

/* What a drawing function needs; shift takes the upper bits of a draw. */
typedef struct parameters
{
	dp_scale	scale;
	double		inverse;		/* 1 / scale */
	double		centre;
	int			shift;
	uint64_t	n;
	dp_uint128	wide;
	dp_rational p;
	double		kept;			/* for a sampler that repeats itself */
	bool		repeat;
} parameters;

static parameters
laplace_parameters(dp_uint128 sensitivity, dp_uint128 num, dp_uint128 den)
{
	const dp_rational epsilon = {num, den};
	parameters	result = {0};

	if (dp_noise_scale_make(sensitivity, &epsilon, &result.scale) != DP_OK)
		exit(2);
	result.inverse = 1 / dp_noise_scale_approx(&result.scale);
	return result;
}

/* ---- the samplers of src/math/noise ---- */

static bool
good_uniform(void *state, double *out)
{
	const parameters *c = state;
	uint64_t	value;

	if (dp_noise_uniform_below(&source, c->n, &value) != DP_OK)
		return false;
	*out = (double) (value >> c->shift);
	return true;
}

static bool
good_uniform_wide(void *state, double *out)
{
	const parameters *c = state;
	dp_uint128	value;

	if (uniform_below_wide(&source, c->wide, &value) != DP_OK)
		return false;
	*out = (double) (value >> c->shift);
	return true;
}

static bool
good_bernoulli(void *state, bool *out)
{
	return bernoulli_rational(&source, &((parameters *) state)->p,
							 out) == DP_OK;
}

static bool
good_exp(void *state, bool *out)
{
	return dp_noise_bernoulli_exp(&source, &((parameters *) state)->p,
								  out) == DP_OK;
}

static bool
good_geometric(void *state, double *out)
{
	const parameters *c = state;
	dp_int128	x;

	if (dp_noise_geometric(&source, &c->scale, &x) != DP_OK)
		return false;
	*out = (double) (x >> c->shift);
	return true;
}

static bool
good_laplace(void *state, double *out)
{
	const parameters *c = state;
	dp_int128	x;

	if (dp_noise_discrete_laplace(&source, &c->scale, &x) != DP_OK)
		return false;
	*out = c->centre + (double) x;
	return true;
}

static bool
fits_laplace(void *state, bool *out)
{
	dp_int128	x;
	dp_status	status;

	status = dp_noise_discrete_laplace(&source,
									   &((parameters *) state)->scale, &x);
	*out = status == DP_OK;
	return status == DP_OK || status == DP_E_OVERFLOW;
}

static void
test_uniform(void)
{
	static const uint64_t n[] = {2, 3, 10, 200, 255, 256, 257, 1000, 65537,
	UINT64_C(1) << 40, (UINT64_C(1) << 53) - 1};
	parameters	c = {0};
	double		p;
	size_t		i;

	for (i = 0; i < sizeof(n) / sizeof(n[0]); i++)
	{
		c.n = n[i];
		p = law_uniform(good_uniform, &c, (double) n[i], DRAWS);
		tap_ok(p >= DP_CHISQ_ALPHA, "uniform below %llu: p = %.3g",
			   (unsigned long long) n[i], p);
	}
	c.n = UINT64_C(3) << 62;
	c.shift = 52;
	p = law_uniform(good_uniform, &c, 3 << 10, DRAWS);
	tap_ok(p >= DP_CHISQ_ALPHA, "uniform below 3 2^62, upper bits: p = %.3g",
		   p);
	c.wide = BIT(64) * 1000;
	c.shift = 64;
	p = law_uniform(good_uniform_wide, &c, 1000, DRAWS);
	tap_ok(p >= DP_CHISQ_ALPHA, "uniform below 1000 2^64, upper bits: "
		   "p = %.3g", p);
	c.wide = BIT(126) * 3;
	c.shift = 116;
	p = law_uniform(good_uniform_wide, &c, 3 << 10, DRAWS);
	tap_ok(p >= DP_CHISQ_ALPHA, "uniform below 3 2^126, upper bits: "
		   "p = %.3g", p);
}

static void
test_coins(void)
{
	static const dp_rational coin[] = {{0, 1}, {1, 1}, {1, 2}, {1, 3},
	{1, 1000}, {999, 1000}, {BIT(126), MAX}};
	static const dp_rational gamma[] = {{0, 1}, {1, 1000}, {1, 3}, {1, 2},
	{1, 1}, {3, 2}, {7, 3}, {5, 1}, {20, 1}, {BIT(100), BIT(101) + 1}};
	parameters	c = {0};
	double		exact;
	double		p;
	size_t		i;

	for (i = 0; i < sizeof(coin) / sizeof(coin[0]); i++)
	{
		c.p = coin[i];
		exact = (double) coin[i].num / (double) coin[i].den;
		p = law_coin(good_bernoulli, &c, exact, DRAWS);
		tap_ok(p >= DP_CHISQ_ALPHA, "bernoulli(%.6g): p = %.3g", exact, p);
	}
	for (i = 0; i < sizeof(gamma) / sizeof(gamma[0]); i++)
	{
		c.p = gamma[i];
		exact = (double) gamma[i].num / (double) gamma[i].den;
		p = law_coin(good_exp, &c, exp(-exact), DRAWS);
		tap_ok(p >= DP_CHISQ_ALPHA, "bernoulli_exp(%.6g): p = %.3g", exact,
			   p);
	}
}

static void
test_scales(void)
{
	static const struct
	{
		const char *label;
		dp_uint128	sensitivity;
		int			num;
		int			den;
	}			cases[] = {
		{"1", 1, 1, 1}, {"10/3", 1, 3, 10}, {"1000", 1000, 1, 1},
	{"2^40", BIT(40), 1, 1}, {"2^41/3", BIT(41), 3, 1}};
	parameters	c;
	double		p;
	size_t		i;
	int			wide;
	int			draws;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (wide = 0; wide < 2; wide++)
		{
			c = laplace_parameters(cases[i].sensitivity,
								   (dp_uint128) cases[i].num,
								   (dp_uint128) cases[i].den);
			c.scale.narrow = wide == 0;
			draws = wide ? BIGNUM_DRAWS : DRAWS;
			p = law_geometric(good_geometric, &c, c.inverse, draws);
			tap_ok(p >= DP_CHISQ_ALPHA, "geometric at %s, %s: p = %.3g",
				   cases[i].label, wide ? "BIGNUM" : "128 bits", p);
			c.centre = 12345;
			p = law_laplace(good_laplace, &c, c.centre, c.inverse, draws);
			tap_ok(p >= DP_CHISQ_ALPHA,
				   "discrete Laplace at %s, %s: p = %.3g", cases[i].label,
				   wide ? "BIGNUM" : "128 bits", p);
		}

	/* little noise: 4.5e-5 of the draws differ from 0, hence more of them */
	c = laplace_parameters(1, 10, 1);
	p = law_laplace(good_laplace, &c, 0, c.inverse, 8 * DRAWS);
	tap_ok(p >= DP_CHISQ_ALPHA, "discrete Laplace at 1/10: p = %.3g", p);

	/*
	 * Wide scales: G >> k has the geometric law of scale b / 2^k exactly,
	 * for P[G >= m 2^k] = exp(-m 2^k / b).
	 */
	c = laplace_parameters(BIT(80), 1, 1);
	c.shift = 60;
	p = law_geometric(good_geometric, &c, 0x1p-20, DRAWS);
	tap_ok(p >= DP_CHISQ_ALPHA, "geometric at 2^80, upper bits: p = %.3g", p);
	c = laplace_parameters(BIT(110), 3, 1);
	c.shift = 90;
	p = law_geometric(good_geometric, &c, 3 * 0x1p-20, BIGNUM_DRAWS);
	tap_ok(p >= DP_CHISQ_ALPHA, "geometric at 2^110/3, upper bits: p = %.3g",
		   p);

	/* P[|X| >= 2^127] at scales 2^127 and 2^126: overflow as often as due */
	c = laplace_parameters(BIT(127), 1, 1);
	p = law_coin(fits_laplace, &c, -expm1(-1), BIGNUM_DRAWS);
	tap_ok(p >= DP_CHISQ_ALPHA, "overflow at 2^127 with odds exp(-1): "
		   "p = %.3g", p);
	c = laplace_parameters(BIT(126), 1, 1);
	p = law_coin(fits_laplace, &c, -expm1(-2), BIGNUM_DRAWS);
	tap_ok(p >= DP_CHISQ_ALPHA, "overflow at 2^126 with odds exp(-2): "
		   "p = %.3g", p);
}

/* ---- samplers broken on purpose ---- */

static double
uniform_double(void)
{
	uint64_t	value;

	if (dp_noise_uniform_below(&source, UINT64_C(1) << 53, &value) != DP_OK)
		exit(2);
	return ((double) value + 0.5) * 0x1p-53;
}

/* A remainder instead of rejection, on one byte. */
static bool
bad_uniform_modulo(void *state, double *out)
{
	const parameters *c = state;
	unsigned char byte;

	if (dp_noise_random_bytes(&source, &byte, 1) != DP_OK)
		return false;
	*out = (double) (byte % c->n);
	return true;
}

/* The same on eight bytes. */
static bool
bad_uniform_modulo_wide(void *state, double *out)
{
	const parameters *c = state;
	uint64_t	word;

	if (dp_noise_random_bytes(&source, &word, 8) != DP_OK)
		return false;
	*out = (double) ((word % c->n) >> c->shift);
	return true;
}

/* n is answered, too. */
static bool
bad_uniform_inclusive(void *state, double *out)
{
	uint64_t	value;

	if (dp_noise_uniform_below(&source, ((parameters *) state)->n + 1,
							   &value) != DP_OK)
		return false;
	*out = (double) value;
	return true;
}

static bool
bad_exp_parity(void *state, bool *out)
{
	if (!good_exp(state, out))
		return false;
	*out = !*out;
	return true;
}

/* gamma above 1 is clamped instead of peeled off. */
static bool
bad_exp_clamped(void *state, bool *out)
{
	parameters	c = *(parameters *) state;

	if (c.p.num > c.p.den)
		c.p.num = c.p.den;
	return good_exp(&c, out);
}

static bool
bad_geometric_from_one(void *state, double *out)
{
	if (!good_geometric(state, out))
		return false;
	*out += 1;
	return true;
}

/* Only U, kept with exp(-U/t): the part t V is forgotten. */
static bool
bad_geometric_truncated(void *state, double *out)
{
	const double t = floor(1 / ((parameters *) state)->inverse);

	do
	{
		if (!good_geometric(state, out))
			return false;
	} while (*out >= t);
	return true;
}

static bool
bad_laplace_half_scale(void *state, double *out)
{
	parameters	c = *(parameters *) state;
	const dp_rational epsilon = {2 * c.p.num, c.p.den};

	if (dp_noise_scale_make(1, &epsilon, &c.scale) != DP_OK)
		return false;
	return good_laplace(&c, out);
}

/* -0 counts as 0 instead of being drawn again. */
static bool
bad_laplace_minus_zero(void *state, double *out)
{
	uint64_t	sign;

	if (!good_geometric(state, out) ||
		dp_noise_uniform_below(&source, 2, &sign) != DP_OK)
		return false;
	if (sign == 1)
		*out = -*out;
	return true;
}

/* 0 is drawn again whatever its sign. */
static bool
bad_laplace_no_zero(void *state, double *out)
{
	do
	{
		if (!good_laplace(state, out))
			return false;
	} while (*out == 0);
	return true;
}

static bool
bad_laplace_one_sided(void *state, double *out)
{
	if (!good_laplace(state, out))
		return false;
	*out = fabs(*out);
	return true;
}

/* Continuous noise added to the value: off the grid. */
static bool
bad_laplace_float(void *state, double *out)
{
	const parameters *c = state;
	double		u = uniform_double() - 0.5;

	*out = c->centre - copysign(log1p(-2 * fabs(u)) / c->inverse, u);
	return true;
}

/* The same rounded to the grid: another law near 0. */
static bool
bad_laplace_rounded(void *state, double *out)
{
	if (!bad_laplace_float(state, out))
		return false;
	*out = floor(*out + 0.5);
	return true;
}

/* Computed in single precision: on the grid, with holes in its support. */
static bool
bad_laplace_single(void *state, double *out)
{
	double		x;

	if (!bad_laplace_float(state, &x))
		return false;
	*out = floor((double) (float) x);
	return true;
}

/* Each draw is used twice, as two processes sharing a buffer would. */
static bool
bad_laplace_repeated(void *state, double *out)
{
	parameters *c = state;

	if (!c->repeat && !good_laplace(state, &c->kept))
		return false;
	c->repeat = !c->repeat;
	*out = c->kept;
	return true;
}

static bool
bad_laplace_silent(void *state, double *out)
{
	*out = ((parameters *) state)->centre;
	return true;
}

static void
caught(double p, const char *label)
{
	tap_ok(p < DP_CHISQ_ALPHA, "caught: %s, p = %.3g", label, p);
}

static void
test_rejection(void)
{
	parameters	c = {0};

	c.n = 200;
	caught(law_uniform(bad_uniform_modulo, &c, 200, DRAWS),
		   "uniform by remainder of a byte");
	caught(law_uniform(bad_uniform_inclusive, &c, 200, DRAWS),
		   "uniform including n");
	c.n = UINT64_C(3) << 62;
	c.shift = 52;
	caught(law_uniform(bad_uniform_modulo_wide, &c, 3 << 10, DRAWS),
		   "uniform by remainder of eight bytes");

	c.p = (dp_rational) {1, 2};
	caught(law_coin(bad_exp_parity, &c, exp(-0.5), DRAWS),
		   "bernoulli_exp with even K");
	c.p = (dp_rational) {3, 2};
	caught(law_coin(bad_exp_clamped, &c, exp(-1.5), DRAWS),
		   "bernoulli_exp clamping gamma to 1");

	c = laplace_parameters(1000, 1, 1);
	caught(law_geometric(bad_geometric_from_one, &c, c.inverse, DRAWS),
		   "geometric starting at 1, scale 1000");
	caught(law_geometric(bad_geometric_truncated, &c, c.inverse, DRAWS),
		   "geometric without t V, scale 1000");
	c = laplace_parameters(1, 3, 10);
	caught(law_geometric(bad_geometric_from_one, &c, c.inverse, DRAWS),
		   "geometric starting at 1, scale 10/3");

	c.p = (dp_rational) {3, 10};
	caught(law_laplace(bad_laplace_half_scale, &c, 0, c.inverse, DRAWS),
		   "half the scale, 10/3");
	caught(law_laplace(bad_laplace_minus_zero, &c, 0, c.inverse, DRAWS),
		   "-0 not rejected, scale 10/3");
	caught(law_laplace(bad_laplace_no_zero, &c, 0, c.inverse, DRAWS),
		   "0 rejected with either sign, scale 10/3");
	caught(law_laplace(bad_laplace_one_sided, &c, 0, c.inverse, DRAWS),
		   "no sign, scale 10/3");
	caught(law_laplace(bad_laplace_rounded, &c, 0, c.inverse, DRAWS),
		   "continuous noise rounded to the grid, scale 10/3");
	caught(law_laplace(bad_laplace_repeated, &c, 0, c.inverse, DRAWS),
		   "every draw used twice, scale 10/3");
	caught(law_laplace(bad_laplace_silent, &c, 0, c.inverse, DRAWS),
		   "no noise, scale 10/3");

	c = laplace_parameters(1000, 1, 1);
	c.p = (dp_rational) {1, 1000};
	caught(law_laplace(bad_laplace_half_scale, &c, 0, c.inverse, DRAWS),
		   "half the scale, 1000");
	caught(law_laplace(bad_laplace_minus_zero, &c, 0, c.inverse, 4 * DRAWS),
		   "-0 not rejected, scale 1000");
	c.centre = 7;
	caught(law_laplace(bad_laplace_float, &c, 7, c.inverse, DRAWS),
		   "floating-point noise off the grid");

	c = laplace_parameters(BIT(40), 1, 1);
	caught(law_laplace(bad_laplace_single, &c, 0, c.inverse, DRAWS),
		   "single precision, scale 2^40");
}

/* ---- the chi-square itself ---- */

static void
test_chisq(void)
{
	const double flat[4] = {250, 250, 250, 250};
	const double skew[4] = {240, 260, 255, 245};
	const double rare[4] = {0, 500, 500, 0};
	dp_chisq	result;
	double		sum;
	double		term;
	double		worst = 0;
	int			half;
	int			i;
	double		x;

	tap_ok(fabs(dp_chisq_p(3.841458820694124, 1) / 0.05 - 1) < 1e-12 &&
		   fabs(dp_chisq_p(18.307038053275146, 10) / 0.05 - 1) < 1e-12,
		   "chi-square quantiles of the tables");

	/* with 2 h degrees of freedom the tail is a Poisson sum */
	for (half = 1; half < 200; half += 3)
		for (x = 0.5; x < 900; x *= 1.3)
		{
			term = exp(-x / 2);
			for (sum = 0, i = 0; i < half; i++)
			{
				sum += term;
				term *= x / 2 / (i + 1);
			}
			worst = fmax(worst, fabs(dp_chisq_p(x, 2 * half) / sum - 1));
		}
	tap_ok(worst < 1e-10, "chi-square tails down to exp(-450), worst relative "
		   "error %.2g", worst);
	tap_ok(fabs(dp_poisson_p(1e-3, 2) / 4.9966679e-7 - 1) < 1e-6 &&
		   dp_poisson_p(5, 0) == 1, "Poisson upper tail");
	result = dp_chisq_test(skew, flat, 4);
	tap_ok(result.freedom == 3 && fabs(result.statistic - 1) < 1e-12,
		   "statistic 1.0 with 3 degrees of freedom");
	result = dp_chisq_test(skew, rare, 4);
	tap_ok(result.p == 0, "an impossible cell has p = 0");
	result = dp_chisq_test(flat, (const double[4]) {50, 450, 450, 50}, 4);
	tap_ok(result.freedom == 1, "small cells are merged");
}

int
main(void)
{
	dp_noise_source_init(&source, dp_noise_fill_openssl, NULL);
	test_chisq();
	test_uniform();
	test_coins();
	test_scales();
	test_rejection();
	return tap_done();
}
