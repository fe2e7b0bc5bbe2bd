/*
 * gaussian_variance.c
 *	  The discrete Gaussian mechanism: what a variance costs, and which
 *	  variance a price allows.
 *
 * variance means the parameter sigma^2 = a/c of the law P[X = x] ~
 * exp(-x^2 / (2 sigma^2)) on the integers; sensitivity is that of an integer
 * (or, for rho, the L2 sensitivity of a vector of them).
 */
#include "value.h"

#include <math.h>

/* Above this standard deviation terms are summed in blocks. */
#define SIGMA_EXACT 8192.0L
#define MANTISSA_BITS 20

static bool
is_variance(const dp_rational *variance)
{
	return variance->num > 0 && variance->den > 0;
}

/*
 * dp_acct_rho_from_gaussian
 *	  zCDP of discrete Gaussian noise.
 *
 * Requires: variance in the form dp_mech.h states; rho non-NULL.
 * Gives:	 DP_OK and the exact ceiling of sensitivity^2 / (2 sigma^2) in
 *			 units of 10^-24; DP_E_RANGE when the variance is 0;
 *			 DP_E_OVERFLOW; DP_E_MEMORY.
 * Source:	 doc/theory.md T36.
 */
dp_status
dp_acct_rho_from_gaussian(uint64_t sensitivity, const dp_rational *variance,
						  dp_fixed *rho)
{
	dp_big		b;
	BIGNUM	   *num;
	BIGNUM	   *den;

	if (!is_variance(variance))
		return DP_E_RANGE;
	dp_mech_big_begin(&b);
	num = big_multiply(&b, big_of(&b, (dp_uint128) sensitivity * sensitivity),
					   big_of(&b, variance->den));
	den = big_shift(&b, big_of(&b, variance->num), 1);
	return dp_acct_end_fixed(&b, dp_acct_ratio_to_fixed(&b, num, den,
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
	dp_mech_big_begin(&b);
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
	q = dp_mech_big_get(&b, big_divide_rest(&b, num, den, &rest));
	/* the remainder over den, to 100 bits */
	part = dp_mech_big_get(&b, big_divide(&b, big_shift(&b, rest, 100), den));
	if (q >> 60 != 0)
		(void) dp_mech_big_check(&b, DP_E_RANGE);
	status = dp_mech_big_end(&b);
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
 * e^(-x^2/2v) (1 - e^(-(x - t) D / v)), in blocks of `block` integers whose
 * largest term stands for all of them.
 *
 * Terms far out are replaced by geometric bounds: the sum over x > y > 0 of
 * e^(-x^2/2v) is at most e^(-y^2/2v) v/y.
 */
static long double
log_tail(long double v, long double d, int64_t first, long double beyond,
		 int64_t block)
{
	long double sigma = sqrtl(v);
	long double low = -14 * sigma - (long double) block;
	long double sum = 0;
	long double terms = 0;
	long double reference;
	long double offset = 0;		/* x - first */
	long double margin;

	if ((long double) first < low)
	{
		/* skip by whole blocks; what is skipped is below the bound */
		offset = floorl((low - (long double) first) / (long double) block) *
			(long double) block;
		sum = 2 * expl(-98) * sigma;
	}
	reference = first > 0 ? (long double) first : 0;
	for (;; offset += (long double) block)
	{
		long double x = (long double) first + offset;
		long double end = x + (long double) (block - 1);
		long double peak = x > 0 ? x : end < 0 ? end : 0;
		long double p = expl(-(peak - reference) * (peak + reference) /
							 (2 * v));

		sum += (long double) block * p *
			-expm1l(-(offset + (long double) (block - 1) + beyond) * d / v);
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
 * dp_acct_gaussian_delta
 *	  The least delta for which discrete Gaussian noise on one integer is
 *	  (epsilon, delta)-DP (Canonne, Kamath, Steinke 2020, Theorem 7).
 *
 * Requires: variance in the form dp_mech.h states; delta non-NULL.
 * Gives:	 DP_OK and that delta rounded up: by a relative 10^-12 at most
 *			 while sigma <= 8192 and delta > 10^-400, by 10^-2 or so for
 *			 larger sigma, where terms are summed in blocks.  DP_E_RANGE when
 *			 sensitivity or variance is 0, epsilon infinite, the variance
 *			 outside [10^-3, 10^24], or sensitivity or the threshold is 2^60
 *			 or more; DP_E_MEMORY.
 * Source:	 doc/theory.md T36, T31.
 */
dp_status
dp_acct_gaussian_delta(uint64_t sensitivity, const dp_rational *variance,
					   dp_fixed epsilon, dp_decimal *delta)
{
	long double v;
	long double sigma;
	long double beyond;
	int64_t		first;
	int64_t		block = 1;
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
	sigma = sqrtl(v);
	if (sigma > SIGMA_EXACT)
		block = (int64_t) (sigma / (SIGMA_EXACT / 2)) + 1;
	return dp_acct_decimal_from_log(
									log_tail(v, (long double) sensitivity,
											 first, beyond, block) -
									log_normaliser(v) + 0x1p-50L, delta);
}

/*
 * dp_acct_gaussian_variance_zcdp
 *	  The variance whose zCDP fits (epsilon, delta).
 *
 * Requires: variance non-NULL.
 * Gives:	 DP_OK and a dyadic rational, above sensitivity^2 / (2 rho) by a
 *			 relative 2^-62 at most, rho from dp_acct_zcdp_rho.  DP_E_RANGE
 *			 when sensitivity is 0, rho comes out 0, epsilon is infinite or
 *			 delta not in (0, 1); DP_E_OVERFLOW; DP_E_MEMORY.
 * Source:	 doc/theory.md T36, T34.
 */
dp_status
dp_acct_gaussian_variance_zcdp(uint64_t sensitivity, dp_fixed epsilon,
							   dp_fixed delta, dp_rational *variance)
{
	dp_big		b;
	BIGNUM	   *num;
	dp_rational answer;
	dp_fixed	rho;
	dp_status	status;

	if (sensitivity == 0)
		return DP_E_RANGE;
	status = dp_acct_zcdp_rho(epsilon, delta, &rho);
	if (status != DP_OK)
		return status;
	if (rho == 0)
		return DP_E_RANGE;
	dp_mech_big_begin(&b);
	num = big_multiply(&b, big_of(&b, (dp_uint128) sensitivity * sensitivity),
					   big_of(&b, DP_FIXED_ONE));
	answer = dp_acct_to_dyadic(&b, num, big_shift(&b, big_of(&b, rho), 1));
	status = dp_mech_big_end(&b);
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

	status = dp_mech_rational_make(e >= 0 ? m << e : m,
								   e >= 0 ? 1 : (dp_uint128) 1 << -e,
								   variance);
	if (status == DP_OK)
		status = dp_acct_gaussian_delta(sensitivity, variance, epsilon,
										&exact);
	if (status == DP_OK)
		status = dp_acct_decimal_to_fixed(&exact, &d);
	*proved = status == DP_OK && d <= delta;
	return status;
}

/*
 * dp_acct_gaussian_variance_exact
 *	  The smallest dyadic variance whose exact delta is within delta, for one
 *	  scalar release.
 *
 * Dyadic means m 2^e with 2^19 <= m < 2^20.  The search starts from the
 * variance of zCDP, which is always enough, and halves an interval; its
 * answer is proved whatever path it took.
 *
 * Requires: variance non-NULL.
 * Gives:	 DP_OK and a variance with dp_acct_gaussian_delta <= delta, while
 *			 the next smaller m is not proved (or the search ended at a
 *			 sixteenth of the variance of zCDP).  Errors as
 *			 dp_acct_gaussian_variance_zcdp and dp_acct_gaussian_delta.
 * Source:	 doc/theory.md T36.
 */
dp_status
dp_acct_gaussian_variance_exact(uint64_t sensitivity, dp_fixed epsilon,
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

	status = dp_acct_gaussian_variance_zcdp(sensitivity, epsilon, delta,
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
		return dp_acct_gaussian_variance_zcdp(sensitivity, epsilon, delta,
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
 * dp_acct_gaussian_variance_classical
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
dp_acct_gaussian_variance_classical(uint64_t sensitivity, dp_fixed epsilon,
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
	dp_mech_big_begin(&b);
	one = big_of(&b, DP_FIXED_ONE);
	num = value_log(&b, big_multiply_word(&b, one, 5),
					big_multiply_word(&b, big_of(&b, delta), 4), DP_ROUND_UP);
	num = big_multiply(&b, num, big_of(&b, (dp_uint128) sensitivity *
									   sensitivity));
	num = big_multiply(&b, big_shift(&b, num, 1), big_square(&b, one));
	den = big_shift(&b, big_square(&b, big_of(&b, epsilon)), DP_VALUE_BITS);
	answer = dp_acct_to_dyadic(&b, num, den);
	status = dp_mech_big_end(&b);
	if (status == DP_OK)
		status = dp_acct_rho_from_gaussian(sensitivity, &answer, &rho);
	if (status == DP_OK)
		status = dp_acct_zcdp_epsilon(rho, delta, &proved);
	if (status == DP_OK && proved > epsilon)
		status = DP_E_RANGE;
	if (status == DP_OK)
		*variance = answer;
	return status;
}
