/*
 * deviation.c
 *	  Standard deviations and errors for planning: conversions between sigma
 *	  and the variance that a sampler takes, the tail of discrete Gaussian
 *	  noise, the standard error of randomized response.
 */
#include <math.h>

#include "../numbers/dp_numbers.h"
#include "dp_accounting.h"
#include "accounting_internal.h"

/* Up to this standard deviation tails are summed, above it integrated. */
#define SIGMA_EXACT 8192.0L

/*
 * Mantissa of a variance without exact rational; above
 * dp_accounting_to_dyadic's
 */
#define SIGMA_BITS 71

/*
 * dp_accounting_sigma_from_variance
 *	  scale sqrt(variance), for display: noise of that variance on a grid whose
 *	  step is scale.
 *
 * Requires: variance in the form dp_noise.h states; sigma non-NULL.
 * Gives:	 DP_OK and the exact ceiling in units of 10^-24; DP_E_RANGE when
 *			 scale is infinite; DP_E_OVERFLOW; DP_E_MEMORY.
 * Source:	 doc/theory.md T36.
 */
dp_status
dp_accounting_sigma_from_variance(dp_fixed scale, const dp_rational *variance,
								  dp_fixed *sigma)
{
	dp_big		b;
	BIGNUM	   *n;
	BIGNUM	   *rest;
	BIGNUM	   *root;

	if (scale == DP_FIXED_INFINITE)
		return DP_E_RANGE;

	/* n = ceil(scale^2 variance), then the root of that integer */
	dp_numbers_big_begin(&b);
	n = big_multiply(&b, big_square(&b, big_of(&b, scale)),
					 big_of(&b, variance->num));
	n = big_divide_rest(&b, n, big_of(&b, variance->den), &rest);
	if (!big_is_zero(&b, rest))
		n = big_add_word(&b, n, 1);
	root = dp_numbers_big_root(&b, n, DP_ROUND_DOWN);
	if (big_compare(&b, big_square(&b, root), n) < 0)
		root = big_add_word(&b, root, 1);
	return dp_accounting_end_fixed(&b, dp_numbers_big_get(&b, root), sigma);
}

/* The greatest rational of SIGMA_BITS bits, nearly, below (s/g)^2. */
static dp_status
square_below(dp_uint128 s, dp_uint128 g, dp_rational *out)
{
	dp_big		b;
	BIGNUM	   *num;
	BIGNUM	   *den;
	dp_uint128	m;
	int			shift;
	dp_status	status;

	dp_numbers_big_begin(&b);
	num = big_square(&b, big_of(&b, s));
	den = big_square(&b, big_of(&b, g));
	shift = SIGMA_BITS - (big_bits(&b, num) - big_bits(&b, den));
	if (shift > 127)
		shift = 127;
	if (shift < SIGMA_BITS - 126)
		(void) dp_numbers_big_check(&b, DP_E_OVERFLOW);
	m = dp_numbers_big_get(&b, big_divide(&b,
										  big_shift(&b, num,
													shift > 0 ? shift : 0),
										  big_shift(&b, den,
													shift < 0 ? -shift : 0)));
	status = dp_numbers_big_end(&b);
	if (status != DP_OK)
		return status;
	if (m == 0)
		return DP_E_RANGE;
	if (shift >= 0)
		return dp_numbers_rational_make(m, (dp_uint128) 1 << shift, out);
	return dp_numbers_rational_make(m << -shift, 1, out);
}

/*
 * dp_accounting_variance_from_sigma
 *	  (sigma / granule)^2: the variance of noise of a standard deviation sigma
 *	  on a grid whose step is granule.
 *
 * Requires: variance non-NULL.
 * Gives:	 DP_OK and a rational that is not above, exact when sigma/granule
 *			 in lowest terms has no more than 63 bits, otherwise by a relative
 *			 2^-69 at most; never below a variance of 70 bits of which sigma
 *			 is dp_accounting_sigma_from_variance.  DP_E_RANGE when an argument
 *			 is 0 or infinite or the variance below 2^-127; DP_E_OVERFLOW;
 *			 DP_E_MEMORY.
 * Source:	 doc/theory.md T36.
 */
dp_status
dp_accounting_variance_from_sigma(dp_fixed sigma, dp_fixed granule,
								  dp_rational *variance)
{
	dp_rational ratio;
	dp_status	status;

	if (sigma == 0 || sigma == DP_FIXED_INFINITE ||
		granule == 0 || granule == DP_FIXED_INFINITE)
		return DP_E_RANGE;
	/* too large for rational_make only where the other branch is as well */
	status = dp_numbers_rational_make(sigma, granule, &ratio);
	if (status != DP_OK)
		return status;
	if (ratio.num >> 63 == 0 && ratio.den >> 63 == 0)
		return dp_numbers_rational_make(ratio.num * ratio.num,
										ratio.den * ratio.den, variance);
	return square_below(ratio.num, ratio.den, variance);
}

/* Upper bound on P[|X| > a], by the terms themselves. */
static long double
tail(long double v, int64_t a)
{
	long double sum = 0;
	long double all = 1;
	long double terms = 1;
	long double x;

	for (x = (long double) a + 1;; x++)
	{
		long double p = expl(-x * x / (2 * v));

		sum += p;
		terms++;
		/* what follows x is at most p v / x */
		if (p * (v / x) <= sum * 0x1p-70L)
		{
			sum += p * (v / x);
			break;
		}
	}
	if (v >= 4)
		all = sqrtl(6.283185307179586476L * v);
	else
		for (x = 1; x < 40; x++)
			all += 2 * expl(-x * x / (2 * v));
	return 2 * sum / all * (1 + (terms + 4096) * 0x1p-62L);
}

/*
 * dp_accounting_error_of_gaussian
 *	  An a such that none of k discrete Gaussian variates exceeds a in size,
 *	  except with probability beta (by the union bound).
 *
 * Requires: variance in the form dp_noise.h states; out non-NULL.
 * Gives:	 DP_OK and that integer: the least one while sigma <= 8192,
 *			 otherwise at most one more; or one more where 10^-12 of beta
 *			 decides.  DP_E_RANGE when the variance is 0 or above 10^30,
 *			 k < 1 or beta not in (0, 1).
 * Source:	 doc/theory.md T36, T31: P[|X| > a] is at most the integral from a,
 *			 over sqrt(2 pi v), which is erfc(a / sqrt(2 v)).
 */
dp_status
dp_accounting_error_of_gaussian(const dp_rational *variance, int64_t k,
								dp_fixed beta, dp_uint128 *out)
{
	long double v;
	long double room;
	long double root;
	dp_uint128	low = 0;
	dp_uint128	high;

	if (variance->num == 0 || variance->den == 0 || k < 1 ||
		beta == 0 || beta >= DP_FIXED_ONE)
		return DP_E_RANGE;
	v = (long double) variance->num / (long double) variance->den *
		(1 + 0x1p-60L);
	if (v > 1e30L)
		return DP_E_RANGE;
	/* erfcl is trusted to 2^-40, which is generous */
	room = dp_accounting_fixed_wide(beta) / (long double) k * (1 - 0x1p-40L);
	root = sqrtl(2 * v);

	/* erfc(12) is below 10^-64, room above 10^-43 */
	high = (dp_uint128) (12 * root) + 1;
	while (high - low > 1)
	{
		dp_uint128	middle = low + (high - low) / 2;

		if (erfcl((long double) middle / root) <= room)
			high = middle;
		else
			low = middle;
	}
	if (v <= SIGMA_EXACT * SIGMA_EXACT)
		while (high > 0 && tail(v, (int64_t) high - 1) <= room)
			high--;
	*out = high;
	return DP_OK;
}

/*
 * dp_accounting_error_of_coins
 *	  Standard error of a count that is estimated from n answers of the book's
 *	  two coins, given the truth: sqrt(3 n) / 2.
 *
 * Requires: out non-NULL.
 * Gives:	 DP_OK and the number rounded up; DP_E_RANGE when n < 1;
 *			 DP_E_MEMORY.
 * Source:	 doc/theory.md T14.
 */
dp_status
dp_accounting_error_of_coins(int64_t n, dp_fixed *out)
{
	dp_rational variance = {0, 4};

	if (n < 1)
		return DP_E_RANGE;
	variance.num = (dp_uint128) n * 3;
	return dp_accounting_sigma_from_variance(DP_FIXED_ONE, &variance, out);
}

/*
 * dp_accounting_error_of_response
 *	  Standard error of a count that is estimated from n randomized responses
 *	  among c candidates, given the truth: with x = e^-epsilon at most
 *	  sqrt(n (c - 1) x) / (1 - x), and exactly that for c = 2.
 *
 * The largest of p(1-p) and q(1-q), each over (p-q)^2, is e^epsilon (c - 1) /
 * (e^epsilon - 1)^2.
 *
 * Requires: out non-NULL.
 * Gives:	 DP_OK and the number rounded up; DP_E_RANGE when n < 1, c < 2 or
 *			 epsilon is 0 or infinite; DP_E_OVERFLOW; DP_E_MEMORY.
 * Source:	 doc/theory.md T14, T24.
 */
dp_status
dp_accounting_error_of_response(int64_t n, int64_t c, dp_fixed epsilon,
								dp_fixed *out)
{
	dp_big		b;
	BIGNUM	   *x;
	BIGNUM	   *y;

	if (n < 1 || c < 2 || epsilon == 0 || epsilon == DP_FIXED_INFINITE)
		return DP_E_RANGE;
	dp_numbers_big_begin(&b);
	x = value_exp(&b, big_of(&b, epsilon), big_of(&b, DP_FIXED_ONE),
				  DP_ROUND_UP);
	y = big_multiply_word(&b, x, (uint64_t) n);
	y = big_multiply_word(&b, y, (uint64_t) (c - 1));
	y = value_ratio(&b, value_root(&b, y, DP_ROUND_UP),
					big_subtract(&b, value_one(&b), x), DP_ROUND_UP);
	return dp_accounting_end_fixed(&b, value_to_fixed(&b, y, DP_ROUND_UP),
								   out);
}
