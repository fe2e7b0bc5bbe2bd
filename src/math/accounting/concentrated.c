/*
 * concentrated.c
 *	  Conversions between rho-zCDP and (epsilon, delta), both ways, and the
 *	  odometer: for planning, and for stating what was spent.
 *
 * As in filter.c, floating point proposes the order alpha = 1 + b and
 * nothing else; the answer is a proved bound for that order.  b is a dyadic
 * number of 53 bits here, so the answer is optimal to far below 10^-12.
 */
#include <math.h>

#include "../numbers/dp_numbers.h"
#include "dp_accounting.h"
#include "accounting_internal.h"

/* ----------------
 *		The discrete Gaussian mechanism: what a variance costs, and which
 *		variance a price allows.
 *
 * variance means the parameter sigma^2 = a/c of the law P[X = x] ~
 * exp(-x^2 / (2 sigma^2)) on the integers; sensitivity is that of an integer
 * (or, for rho, the L2 sensitivity of a vector of them).
 * ----------------
 */

/* Above this standard deviation terms are summed in blocks, */
#define SIGMA_EXACT 1024.0L
/* of at most sigma / 64, and a sixteenth of the way from t. */
#define BLOCK_SIGMA 64
#define BLOCK_WAY 16
#define MANTISSA_BITS 20

static bool
is_variance(const dp_rational *variance)
{
	return variance->num > 0 && variance->den > 0;
}

/*
 * dp_accounting_rho_from_gaussian
 *	  zCDP of discrete Gaussian noise.
 *
 * Requires: variance in the form dp_noise.h states; rho non-NULL.
 * Gives:	 DP_OK and the exact ceiling of sensitivity^2 / (2 sigma^2) in
 *			 units of 10^-24; DP_E_RANGE when the variance is 0;
 *			 DP_E_OVERFLOW; DP_E_MEMORY.
 * Source:	 doc/theory.md T36.
 */
dp_status
dp_accounting_rho_from_gaussian(uint64_t sensitivity,
								const dp_rational *variance, dp_fixed *rho)
{
	dp_big		b;
	BIGNUM	   *num;
	BIGNUM	   *den;

	if (!is_variance(variance))
		return DP_E_RANGE;
	dp_numbers_big_begin(&b);
	num = big_multiply(&b, big_of(&b, (dp_uint128) sensitivity * sensitivity),
					   big_of(&b, variance->den));
	den = big_shift(&b, big_of(&b, variance->num), 1);
	return dp_accounting_end_fixed(&b,
								   dp_accounting_ratio_to_fixed(&b, num, den,
															DP_ROUND_UP), rho);
}

/*
 * The loss exceeds epsilon where x > t = epsilon sigma^2 / D - D / 2. *first =
 * floor(t) + 1 and *beyond = *first - t in (0, 1].  DP_E_RANGE when |t| is
 * 2^60 or more.
 */
static dp_status
threshold(uint64_t sensitivity, const dp_rational *variance,
		  dp_fixed epsilon, int64_t *first, long double *beyond)
{
	dp_big		b;
	BIGNUM	   *num;
	BIGNUM	   *den;
	BIGNUM	   *rest;
	dp_uint128	q;
	dp_uint128	part;
	bool		negative;
	dp_status	status;

	/* t = (2 a e - D^2 c 10^24) / (2 D c 10^24) */
	dp_numbers_big_begin(&b);
	den = big_multiply(&b, big_of(&b, variance->den),
					   big_of(&b, DP_FIXED_ONE));
	den = big_multiply_word(&b, den, sensitivity);
	num = big_multiply(&b, big_of(&b, variance->num), big_of(&b, epsilon));
	num = big_subtract(&b, big_shift(&b, num, 1),
					   big_multiply_word(&b, den, sensitivity));
	den = big_shift(&b, den, 1);
	negative = big_is_negative(&b, num);
	if (negative)
		num = big_subtract(&b, big_of(&b, 0), num);
	q = dp_numbers_big_get(&b, big_divide_rest(&b, num, den, &rest));
	/* the remainder over den, to 100 bits */
	part = dp_numbers_big_get(&b,
							  big_divide(&b, big_shift(&b, rest, 100), den));
	if (q >> 60 != 0)
		(void) dp_numbers_big_check(&b, DP_E_RANGE);
	status = dp_numbers_big_end(&b);
	if (status != DP_OK)
		return status;
	*beyond = ldexpl((long double) part, -100);
	if (negative)
	{
		/* t = -(q + part): floor(t) + 1 = -q, or 1 - q when part is 0 */
		*first = -(int64_t) q;
		if (*beyond <= 0)
		{
			*first += 1;
			*beyond = 1;
		}
	}
	else
	{
		*first = (int64_t) q + 1;
		*beyond = 1 - *beyond;
	}
	return DP_OK;
}

/*
 * Upper bound on the logarithm of the sum over x >= first of
 * f(x) = e^(-x^2/2v) (1 - e^(-(x - t) D / v)).
 *
 * ln f is concave beyond t, so n integers with the middle z add at most
 * n f(z) e^(s^2 (n^2 - 1) / 24), s = (ln f)'(z) = D/v / (e^((z - t) D/v) - 1)
 * - z/v; |s| n is below 1/3.  Terms far out are replaced by geometric bounds:
 * the sum over x > y > 0 of e^(-x^2/2v) is at most e^(-y^2/2v) v/y.
 *
 * Source: doc/theory.md T36, T31.
 */
static long double
log_tail(long double v, long double d, int64_t first, long double beyond)
{
	long double sigma = sqrtl(v);
	long double low = floorl(-14 * sigma);
	long double sum = 0;
	long double terms = 0;
	long double reference;
	long double offset = 0;		/* x - first */
	long double n;
	long double margin;

	if ((long double) first < low)
	{
		/* what is skipped is below the bound */
		offset = low - (long double) first;
		sum = 2 * expl(-98) * sigma;
	}
	reference = first > 0 ? (long double) first : 0;
	for (;; offset += n)
	{
		long double x = (long double) first + offset;
		long double way = offset + beyond;
		long double slope = 0;
		long double end;
		long double p;

		n = 1;
		if (sigma > SIGMA_EXACT)
		{
			n = fminl(sigma / BLOCK_SIGMA, way / BLOCK_WAY);
			n = floorl(fminl(n, v / (4 * fabsl(x))));
			n = fmaxl(n, 1);
		}
		end = x + n - 1;
		if (n > 1)
		{
			x += (n - 1) / 2;
			way += (n - 1) / 2;
			slope = d / v / expm1l(way * d / v) - x / v;
		}
		p = expl(slope * slope * (n * n - 1) / 24 -
				 (x - reference) * (x + reference) / (2 * v));
		sum += n * p * -expm1l(-way * d / v);
		terms++;
		if (end > 0)
		{
			long double rest = expl(-(end - reference) * (end + reference) /
									(2 * v)) * (v / end);

			if (rest < sum * 0x1p-70L)
			{
				sum += rest;
				break;
			}
		}
	}

	/* roundings: of the sum, of the exponents (largest there, 64 v), else */
	margin = (terms + 4096) * 0x1p-62L;
	return logl(sum) + margin - reference * reference / (2 * v) *
		(1 - 0x1p-60L);
}

/*
 * Lower bound on ln of the normaliser, the sum of e^(-x^2/2v): by Poisson
 * summation it is sqrt(2 pi v) (1 + 2 e^(-2 pi^2 v) + ...).
 */
static long double
log_normaliser(long double v)
{
	long double sum = 1;
	long double x;

	if (v >= 4)
		return logl(6.283185307179586476L * v) / 2 - 0x1p-58L;
	for (x = 1; x < 40; x++)
		sum += 2 * expl(-x * x / (2 * v));
	return logl(sum) - 0x1p-58L;
}

/*
 * dp_accounting_delta_of_gaussian
 *	  The least delta for which discrete Gaussian noise on one integer is
 *	  (epsilon, delta)-DP (Canonne, Kamath, Steinke 2020, Theorem 7).
 *
 * Requires: variance in the form dp_noise.h states; delta non-NULL.
 * Gives:	 DP_OK and that delta rounded up: by a relative 10^-12 at most
 *			 while sigma <= 1024 and delta > 10^-400, by 2 10^-4 for larger
 *			 sigma, where terms are summed in blocks.  DP_E_RANGE when
 *			 sensitivity or variance is 0, epsilon infinite, the variance
 *			 outside [10^-3, 10^24], or sensitivity or the threshold is 2^60
 *			 or more; DP_E_MEMORY.
 * Source:	 doc/theory.md T36, T31.
 */
dp_status
dp_accounting_delta_of_gaussian(uint64_t sensitivity,
								const dp_rational *variance,
								dp_fixed epsilon, dp_decimal *delta)
{
	long double v;
	long double beyond;
	int64_t		first;
	dp_status	status;

	if (sensitivity == 0 || sensitivity >> 60 != 0 ||
		!is_variance(variance) || epsilon == DP_FIXED_INFINITE)
		return DP_E_RANGE;
	v = (long double) variance->num / (long double) variance->den;
	if (v < 1e-3L || v > 1e24L)
		return DP_E_RANGE;
	status = threshold(sensitivity, variance, epsilon, &first, &beyond);
	if (status != DP_OK)
		return status;
	return dp_accounting_decimal_from_log(
										  log_tail(v,
												   (long double) sensitivity,
												   first, beyond) -
										  log_normaliser(v) + 0x1p-50L, delta);
}

/*
 * dp_accounting_variance_zcdp
 *	  The variance whose zCDP fits (epsilon, delta).
 *
 * Requires: variance non-NULL.
 * Gives:	 DP_OK and a dyadic rational, above sensitivity^2 / (2 rho) by a
 *			 relative 2^-62 at most, rho from dp_accounting_rho_of_zcdp.
 *			 DP_E_RANGE when sensitivity is 0, rho comes out 0, epsilon is
 *			 infinite or delta not in (0, 1); DP_E_OVERFLOW; DP_E_MEMORY.
 * Source:	 doc/theory.md T36, T34.
 */
dp_status
dp_accounting_variance_zcdp(uint64_t sensitivity, dp_fixed epsilon,
							dp_fixed delta, dp_rational *variance)
{
	dp_big		b;
	BIGNUM	   *num;
	dp_rational answer;
	dp_fixed	rho;
	dp_status	status;

	if (sensitivity == 0)
		return DP_E_RANGE;
	status = dp_accounting_rho_of_zcdp(epsilon, delta, &rho);
	if (status != DP_OK)
		return status;
	if (rho == 0)
		return DP_E_RANGE;
	dp_numbers_big_begin(&b);
	num = big_multiply(&b, big_of(&b, (dp_uint128) sensitivity * sensitivity),
					   big_of(&b, DP_FIXED_ONE));
	answer = dp_accounting_to_dyadic(&b, num,
									 big_shift(&b, big_of(&b, rho), 1));
	status = dp_numbers_big_end(&b);
	if (status == DP_OK)
		*variance = answer;
	return status;
}

/* Whether (epsilon, delta) is proved for one scalar with variance m 2^e. */
static dp_status
scalar_proved(uint64_t sensitivity, dp_uint128 m, int e, dp_fixed epsilon,
			  dp_fixed delta, dp_rational *variance, bool *proved)
{
	dp_decimal	exact;
	dp_fixed	d = 0;
	dp_status	status;

	status = dp_numbers_rational_make(e >= 0 ? m << e : m,
									  e >= 0 ? 1 : (dp_uint128) 1 << -e,
									  variance);
	if (status == DP_OK)
		status = dp_accounting_delta_of_gaussian(sensitivity, variance,
												 epsilon, &exact);
	if (status == DP_OK)
		status = dp_accounting_decimal_to_fixed(&exact, &d);
	*proved = status == DP_OK && d <= delta;
	return status;
}

/*
 * dp_accounting_variance_exact
 *	  The smallest dyadic variance whose exact delta is within delta, for one
 *	  scalar release.
 *
 * Dyadic means m 2^e with 2^19 <= m < 2^20.  The search starts from the
 * variance of zCDP, which is always enough, and halves an interval; its
 * answer is proved whatever path it took.
 *
 * Requires: variance non-NULL.
 * Gives:	 DP_OK and a variance with dp_accounting_delta_of_gaussian <=
 *			 delta, while the next smaller m is not proved (or the search ended
 *			 at a sixteenth of the variance of zCDP).  Errors as
 *			 dp_accounting_variance_zcdp and dp_accounting_delta_of_gaussian.
 * Source:	 doc/theory.md T36.
 */
dp_status
dp_accounting_variance_exact(uint64_t sensitivity, dp_fixed epsilon,
							 dp_fixed delta, dp_rational *variance)
{
	dp_rational found;
	dp_rational trial;
	dp_uint128	low;
	dp_uint128	high;
	bool		proved;
	int			e = 0;
	int			octave;
	dp_status	status;

	status = dp_accounting_variance_zcdp(sensitivity, epsilon, delta,
										 &trial);
	if (status != DP_OK)
		return status;

	/* m 2^e at or above it */
	high = trial.num;
	for (; trial.den > 1; trial.den >>= 1)
		e--;
	for (; high >> MANTISSA_BITS != 0; e++)
		high = (high + 1) >> 1;
	for (; high >> (MANTISSA_BITS - 1) == 0; e--)
		high <<= 1;
	if (e < -100 || e > 100)
		return DP_E_RANGE;
	status = scalar_proved(sensitivity, high, e, epsilon, delta, &found,
						   &proved);
	if (status != DP_OK)
		return status;
	if (!proved)
	{
		/* only where summing in blocks costs more than zCDP loses */
		return dp_accounting_variance_zcdp(sensitivity, epsilon, delta,
										   variance);
	}

	/* whole octaves down, then halve */
	low = high;
	for (octave = 0; octave < 4; octave++)
	{
		status = scalar_proved(sensitivity, high, e - 1, epsilon, delta,
							   &trial, &proved);
		if (status == DP_E_RANGE)
			break;
		if (status != DP_OK)
			return status;
		if (!proved)
			break;
		found = trial;
		e--;
	}
	/* high 2^e is proved, high 2^(e-1) is not (or was not tried) */
	low = high;
	e--;
	high = high << 1;
	while (high - low > 1)
	{
		dp_uint128	middle = low + (high - low) / 2;

		status = scalar_proved(sensitivity, middle, e, epsilon, delta,
							   &trial, &proved);
		if (status != DP_OK && status != DP_E_RANGE)
			return status;
		if (proved)
		{
			high = middle;
			found = trial;
		}
		else
			low = middle;
	}
	*variance = found;
	return DP_OK;
}

/*
 * dp_accounting_variance_classical
 *	  The variance of Theorem 3.22, 2 ln(1.25/delta) (sensitivity/epsilon)^2.
 *
 * Requires: variance non-NULL.
 * Gives:	 DP_OK and a dyadic rational, above it by a relative 2^-62 at
 *			 most, for which zCDP proves (epsilon, delta) of the discrete
 *			 law as well.  DP_E_RANGE when epsilon is not in (0, 1], delta
 *			 not in (0, 1), sensitivity is 0, or that proof fails;
 *			 DP_E_OVERFLOW; DP_E_MEMORY.
 * Source:	 doc/theory.md T36 (book, Theorem 3.22; errata 3).
 */
dp_status
dp_accounting_variance_classical(uint64_t sensitivity, dp_fixed epsilon,
								 dp_fixed delta, dp_rational *variance)
{
	dp_big		b;
	BIGNUM	   *num;
	BIGNUM	   *den;
	BIGNUM	   *one;
	dp_rational answer;
	dp_fixed	rho;
	dp_fixed	proved;
	dp_status	status;

	if (sensitivity == 0 || epsilon == 0 || epsilon > DP_FIXED_ONE ||
		delta == 0 || delta >= DP_FIXED_ONE)
		return DP_E_RANGE;

	/* ln(5 10^24 / 4 d), then times 2 D^2 10^48 / e^2 2^B */
	dp_numbers_big_begin(&b);
	one = big_of(&b, DP_FIXED_ONE);
	num = value_log(&b, big_multiply_word(&b, one, 5),
					big_multiply_word(&b, big_of(&b, delta), 4), DP_ROUND_UP);
	num = big_multiply(&b, num, big_of(&b, (dp_uint128) sensitivity *
									   sensitivity));
	num = big_multiply(&b, big_shift(&b, num, 1), big_square(&b, one));
	den = big_shift(&b, big_square(&b, big_of(&b, epsilon)), DP_VALUE_BITS);
	answer = dp_accounting_to_dyadic(&b, num, den);
	status = dp_numbers_big_end(&b);
	if (status == DP_OK)
		status = dp_accounting_rho_from_gaussian(sensitivity, &answer, &rho);
	if (status == DP_OK)
		status = dp_accounting_epsilon_of_zcdp(rho, delta, &proved);
	if (status == DP_OK && proved > epsilon)
		status = DP_E_RANGE;
	if (status == DP_OK)
		*variance = answer;
	return status;
}

/* pi^2 / 6 rounded up, in units of 10^-24 */
#define BASEL_HIGH UINT64_C(1644934066848)
#define BASEL_LOW UINT64_C(226436472416)

/* An order: a/c = alpha, m/c = alpha - 1, and bounds of its logarithms. */
typedef struct order
{
	BIGNUM	   *a;
	BIGNUM	   *c;
	BIGNUM	   *m;
	BIGNUM	   *log_alpha;		/* <= ln alpha */
	BIGNUM	   *log_step;		/* <= ln(alpha / (alpha - 1)) */
} order;

/* alpha = 1 + beta for a beta > 0. */
static order
order_make(dp_big *b, double beta)
{
	order		o;
	int			exponent;
	double		fraction;

	if (!(beta >= 1e-25))
		beta = 1e-25;
	if (beta > 1e25)
		beta = 1e25;
	fraction = frexp(beta, &exponent);
	exponent -= 53;
	o.m = big_shift(b, big_of(b, (dp_uint128) ldexp(fraction, 53)),
					exponent > 0 ? exponent : 0);
	o.c = big_power(b, exponent < 0 ? (unsigned) -exponent : 0);
	o.a = big_add(b, o.m, o.c);
	o.log_alpha = value_log(b, o.a, o.c, DP_ROUND_DOWN);
	o.log_step = value_log(b, o.a, o.m, DP_ROUND_DOWN);
	return o;
}

/* Upper bound on (x - ln alpha) c/m - ln(alpha/(alpha-1)), any sign. */
static BIGNUM *
overhead(dp_big *b, const order *o, const BIGNUM *x)
{
	BIGNUM	   *r = big_multiply(b, big_subtract(b, x, o->log_alpha), o->c);

	/* division truncates towards 0; one more is above in either case */
	r = big_add_word(b, big_divide(b, r, o->m), 1);
	return big_subtract(b, r, o->log_step);
}

/* alpha rho from above, as value. */
static BIGNUM *
scaled(dp_big *b, const order *o, dp_fixed rho)
{
	return value_ratio(b, big_multiply(b, big_of(b, rho), o->a),
					   big_multiply(b, big_of(b, DP_FIXED_ONE), o->c),
					   DP_ROUND_UP);
}

static bool
is_delta(dp_fixed delta)
{
	return delta > 0 && delta < DP_FIXED_ONE;
}

/* b solves rho b^2 + ln(1 + b) = l (T26); the left side increases. */
static double
order_of_rho(double rho, double l)
{
	double		low = 1e-25;
	double		high = 1e25;
	int			i;

	for (i = 0; i < 200; i++)
	{
		double		b = sqrt(low * high);

		if (rho * b * b + log1p(b) < l)
			low = b;
		else
			high = b;
	}
	return high;
}

/* b at which the optimal pair of T26 has the given epsilon; E falls in b. */
static double
order_of_epsilon(double epsilon, double l)
{
	double		low = 1e-25;
	double		high = fmin(expm1(l), 1e25);
	int			i;

	for (i = 0; i < 200 && low < high; i++)
	{
		double		b = sqrt(low * high);
		double		rho = (l - log1p(b)) / b / b;

		if (rho * (1 + 2 * b) - log1p(1 / b) > epsilon)
			low = b;
		else
			high = b;
	}
	return sqrt(low * high);
}

/* b solves (1 + 2b) rho - epsilon = ln(1 + 1/b). */
static double
order_of_pair(double rho, double epsilon)
{
	double		low = 1e-25;
	double		high = 1e25;
	int			i;

	for (i = 0; i < 200; i++)
	{
		double		b = sqrt(low * high);

		if ((1 + 2 * b) * rho - epsilon < log1p(1 / b))
			low = b;
		else
			high = b;
	}
	return high;
}

/*
 * dp_accounting_epsilon_of_zcdp
 *	  What rho-zCDP means as epsilon at a given delta.
 *
 * Requires: epsilon non-NULL.
 * Gives:	 DP_OK and a proved epsilon, the optimum of T23 to 10^-12 of it and
 *			 one unit; 0 for rho = 0.  DP_E_RANGE when rho is infinite or
 *			 delta not in (0, 1); DP_E_OVERFLOW; DP_E_MEMORY.
 * Source:	 doc/theory.md T34 (T23, T24, T26).
 */
dp_status
dp_accounting_epsilon_of_zcdp(dp_fixed rho, dp_fixed delta, dp_fixed *epsilon)
{
	dp_big		b;
	BIGNUM	   *x;
	order		o;
	double		log_delta;

	if (rho == DP_FIXED_INFINITE || !is_delta(delta))
		return DP_E_RANGE;
	if (rho == 0)
	{
		*epsilon = 0;
		return DP_OK;
	}
	log_delta = -log(dp_accounting_fixed_approx(delta));
	dp_numbers_big_begin(&b);
	o = order_make(&b,
				   order_of_rho(dp_accounting_fixed_approx(rho), log_delta));
	x = overhead(&b, &o, value_log_over(&b, 1, delta, DP_ROUND_UP));
	x = big_add(&b, x, scaled(&b, &o, rho));
	return dp_accounting_end_fixed(&b, value_to_fixed(&b, x, DP_ROUND_UP),
								   epsilon);
}

/*
 * dp_accounting_rho_of_zcdp
 *	  The largest rho whose zCDP is proved to imply (epsilon, delta)-DP.
 *
 * Requires: rho non-NULL.
 * Gives:	 DP_OK and a proved rho, the optimum of T23 but for 10^-12 of it
 *			 and one unit.  DP_E_RANGE when epsilon is infinite or delta not
 *			 in (0, 1); DP_E_OVERFLOW; DP_E_MEMORY.
 * Source:	 doc/theory.md T34 (T23, T24, T26).
 */
dp_status
dp_accounting_rho_of_zcdp(dp_fixed epsilon, dp_fixed delta, dp_fixed *rho)
{
	dp_big		b;
	BIGNUM	   *x;
	order		o;
	double		log_delta;

	if (epsilon == DP_FIXED_INFINITE || !is_delta(delta))
		return DP_E_RANGE;
	log_delta = -log(dp_accounting_fixed_approx(delta));
	dp_numbers_big_begin(&b);
	o = order_make(&b, order_of_epsilon(dp_accounting_fixed_approx(epsilon),
										log_delta));
	x = overhead(&b, &o, value_log_over(&b, 1, delta, DP_ROUND_UP));
	x = big_subtract(&b, value_from_fixed(&b, epsilon, DP_ROUND_DOWN), x);
	x = big_divide(&b, big_multiply(&b, x, o.c), o.a);
	return dp_accounting_end_fixed(&b, value_to_fixed(&b, x, DP_ROUND_DOWN),
								   rho);
}

/*
 * dp_accounting_delta_of_zcdp
 *	  What rho-zCDP means as delta at a given epsilon.
 *
 * Requires: delta non-NULL.
 * Gives:	 DP_OK and a proved delta of 18 digits, at most 1, the optimum of
 *			 T23 to a relative 10^-12; 0 for rho = 0.  DP_E_RANGE when an
 *			 argument is infinite; DP_E_MEMORY.
 * Source:	 doc/theory.md T34 (T23, T24).
 */
dp_status
dp_accounting_delta_of_zcdp(dp_fixed rho, dp_fixed epsilon, dp_decimal *delta)
{
	static const dp_decimal none = {0, 0};
	dp_big		b;
	BIGNUM	   *loss;
	order		o;
	dp_decimal	answer;
	dp_status	status;

	if (rho == DP_FIXED_INFINITE || epsilon == DP_FIXED_INFINITE)
		return DP_E_RANGE;
	if (rho == 0)
	{
		*delta = none;
		return DP_OK;
	}

	/*
	 * ln(1/delta) >= b (epsilon + ln(alpha/b) - alpha rho) + ln alpha, where
	 * dividing rounds towards 0: one less is below in either case
	 */
	dp_numbers_big_begin(&b);
	o = order_make(&b, order_of_pair(dp_accounting_fixed_approx(rho),
									 dp_accounting_fixed_approx(epsilon)));
	loss = big_add(&b, value_from_fixed(&b, epsilon, DP_ROUND_DOWN),
				   o.log_step);
	loss = big_subtract(&b, loss, scaled(&b, &o, rho));
	loss = big_divide(&b, big_multiply(&b, loss, o.m), o.c);
	loss = big_add(&b, big_subtract_word(&b, loss, 1), o.log_alpha);
	answer = dp_accounting_decimal_from_loss(&b, loss);
	status = dp_numbers_big_end(&b);
	if (status == DP_OK)
		*delta = answer;
	return status;
}

/*
 * dp_accounting_odometer_read
 *	  An epsilon that holds at every moment at once, for the sum of rho that
 *	  was spent so far, however the stopping time was chosen.
 *
 * Requires: epsilon non-NULL.
 * Gives:	 DP_OK and R_j + 2 sqrt(R_j ln(1/d_j)) rounded up, for the least
 *			 R_j = 2^(j-10) >= rho and d_j = 6 delta / (pi (j+1))^2; 0 for
 *			 rho = 0.  The charges' own deltas are to be added to delta.
 *			 DP_E_RANGE when rho is infinite or delta not in (0, 1);
 *			 DP_E_MEMORY.
 * Source:	 doc/theory.md T38.
 */
dp_status
dp_accounting_odometer_read(dp_fixed rho, dp_fixed delta, dp_fixed *epsilon)
{
	dp_big		b;
	BIGNUM	   *x;
	BIGNUM	   *level;
	int			j = 0;

	if (rho == DP_FIXED_INFINITE || !is_delta(delta))
		return DP_E_RANGE;
	if (rho == 0)
	{
		*epsilon = 0;
		return DP_OK;
	}
	/* 2^(j-10) >= rho; 2^-10 is a multiple of the grid's unit */
	while (j < 10 ? rho > (DP_FIXED_ONE >> (10 - j)) :
		   (rho + (((dp_uint128) 1 << (j - 10)) - 1)) >> (j - 10) >
		   DP_FIXED_ONE)
		j++;

	dp_numbers_big_begin(&b);
	x = big_of(&b, (dp_uint128) BASEL_HIGH * UINT64_C(1000000000000) +
			   BASEL_LOW);
	x = big_multiply_word(&b, x, (uint64_t) (j + 1) * (uint64_t) (j + 1));
	x = value_log(&b, x, big_of(&b, delta), DP_ROUND_UP);
	level = big_power(&b, (unsigned) (DP_VALUE_BITS + j - 10));
	x = value_root(&b, value_product(&b, x, level, DP_ROUND_UP), DP_ROUND_UP);
	x = big_add(&b, big_shift(&b, x, 1), level);
	return dp_accounting_end_fixed(&b, value_to_fixed(&b, x, DP_ROUND_UP),
								   epsilon);
}
