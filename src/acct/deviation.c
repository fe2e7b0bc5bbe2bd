/*
 * deviation.c
 *	  Standard deviations and errors for people who plan: between sigma and
 *	  the variance that a sampler takes, the tail of discrete Gaussian noise,
 *	  the standard error of randomized response.
 */
#include "value.h"

#include <math.h>

/* Up to this standard deviation tails are summed, above it integrated. */
#define SIGMA_EXACT 8192.0L

/* Mantissa of a variance that has no exact rational; above value_to_dyadic */
#define SIGMA_BITS 71

/*
 * dp_acct_sigma_from_variance
 *	  scale sqrt(variance), for people: noise of that variance on a grid whose
 *	  step is scale.
 *
 * Requires: variance in the form dp_mech.h states; sigma non-NULL.
 * Gives:	 DP_OK and the exact ceiling in units of 10^-24; DP_E_RANGE when
 *			 scale is infinite; DP_E_OVERFLOW; DP_E_MEMORY.
 * Source:	 doc/theory.md T36.
 */
dp_status
dp_acct_sigma_from_variance(dp_fixed scale, const dp_rational *variance,
							dp_fixed *sigma)
{
	BN_CTX	   *ctx;
	BIGNUM	   *n;
	BIGNUM	   *root;
	BIGNUM	   *x;
	dp_uint128	answer;
	dp_status	status = DP_E_MEMORY;

	if (scale == DP_FIXED_INFINITE)
		return DP_E_RANGE;
	ctx = BN_CTX_new();
	if (ctx == NULL)
		return DP_E_MEMORY;
	BN_CTX_start(ctx);
	n = BN_CTX_get(ctx);
	root = BN_CTX_get(ctx);
	x = BN_CTX_get(ctx);

	/* n = ceil(scale^2 variance), then the root of that integer */
	if (x == NULL || !dp_acct_integer_set(n, scale) || !BN_sqr(n, n, ctx) ||
		!dp_acct_integer_set(x, variance->num) || !BN_mul(n, n, x, ctx) ||
		!dp_acct_integer_set(x, variance->den) ||
		!BN_div(n, root, n, x, ctx) ||
		(!BN_is_zero(root) && !BN_add_word(n, 1)) ||
		!BN_lshift(x, n, DP_BOUND_BITS) ||
		!dp_acct_value_sqrt(root, x, DP_ROUND_DOWN, ctx) ||
		!BN_rshift(root, root, DP_BOUND_BITS) || !BN_sqr(x, root, ctx) ||
		(BN_cmp(x, n) < 0 && !BN_add_word(root, 1)))
		goto done;
	if (BN_num_bits(root) > 128)
		status = DP_E_OVERFLOW;
	else if (dp_acct_integer_get(root, &answer))
	{
		status = answer == DP_FIXED_INFINITE ? DP_E_OVERFLOW : DP_OK;
		if (status == DP_OK)
			*sigma = answer;
	}
done:
	BN_CTX_end(ctx);
	BN_CTX_free(ctx);
	return status;
}

/* The greatest rational of SIGMA_BITS bits, nearly, below (s/g)^2. */
static dp_status
square_below(dp_uint128 s, dp_uint128 g, dp_rational *out)
{
	BN_CTX	   *ctx = BN_CTX_new();
	BIGNUM	   *num;
	BIGNUM	   *den;
	dp_uint128	m;
	int			shift;
	dp_status	status = DP_E_MEMORY;

	if (ctx == NULL)
		return DP_E_MEMORY;
	BN_CTX_start(ctx);
	num = BN_CTX_get(ctx);
	den = BN_CTX_get(ctx);
	if (den == NULL ||
		!dp_acct_integer_set(num, s) || !BN_sqr(num, num, ctx) ||
		!dp_acct_integer_set(den, g) || !BN_sqr(den, den, ctx))
		goto done;
	shift = SIGMA_BITS - (BN_num_bits(num) - BN_num_bits(den));
	if (shift > 127)
		shift = 127;
	if (shift < SIGMA_BITS - 126)
	{
		status = DP_E_OVERFLOW;
		goto done;
	}
	if (!BN_lshift(num, num, shift > 0 ? shift : 0) ||
		!BN_lshift(den, den, shift < 0 ? -shift : 0) ||
		!BN_div(num, NULL, num, den, ctx) || !dp_acct_integer_get(num, &m))
		goto done;
	if (m == 0)
		status = DP_E_RANGE;
	else if (shift >= 0)
		status = dp_mech_rational_make(m, (dp_uint128) 1 << shift, out);
	else
		status = dp_mech_rational_make(m << -shift, 1, out);
done:
	BN_CTX_end(ctx);
	BN_CTX_free(ctx);
	return status;
}

/*
 * dp_acct_variance_from_sigma
 *	  (sigma / granule)^2: the variance of noise of a standard deviation sigma
 *	  on a grid whose step is granule.
 *
 * Requires: variance non-NULL.
 * Gives:	 DP_OK and a rational that is not above, exact when sigma/granule
 *			 in lowest terms has no more than 63 bits, otherwise by a relative
 *			 2^-69 at most; never below a variance of 70 bits of which sigma
 *			 is dp_acct_sigma_from_variance.  DP_E_RANGE when an argument is 0
 *			 or infinite or the variance below 2^-127; DP_E_OVERFLOW;
 *			 DP_E_MEMORY.
 * Source:	 doc/theory.md T36.
 */
dp_status
dp_acct_variance_from_sigma(dp_fixed sigma, dp_fixed granule,
							dp_rational *variance)
{
	dp_rational ratio;
	dp_status	status;

	if (sigma == 0 || sigma == DP_FIXED_INFINITE ||
		granule == 0 || granule == DP_FIXED_INFINITE)
		return DP_E_RANGE;
	/* too large for rational_make only where the other branch is as well */
	status = dp_mech_rational_make(sigma, granule, &ratio);
	if (status != DP_OK)
		return status;
	if (ratio.num >> 63 == 0 && ratio.den >> 63 == 0)
		return dp_mech_rational_make(ratio.num * ratio.num,
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
 * dp_acct_gaussian_error
 *	  An a such that none of k discrete Gaussian variates exceeds a in size,
 *	  except with probability beta (by the union bound).
 *
 * Requires: variance in the form dp_mech.h states; out non-NULL.
 * Gives:	 DP_OK and that integer: the least one while sigma <= 8192,
 *			 otherwise at most one more; or one more where 10^-12 of beta
 *			 decides.  DP_E_RANGE when the variance is 0 or above 10^30,
 *			 k < 1 or beta not in (0, 1).
 * Source:	 doc/theory.md T36, T31: P[|X| > a] is at most the integral from a,
 *			 over sqrt(2 pi v), which is erfc(a / sqrt(2 v)).
 */
dp_status
dp_acct_gaussian_error(const dp_rational *variance, int64_t k, dp_fixed beta,
					   dp_uint128 *out)
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
	room = dp_acct_fixed_wide(beta) / (long double) k * (1 - 0x1p-40L);
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
 * dp_acct_two_coins_error
 *	  Standard error of a count that is estimated from n answers of the book's
 *	  two coins, given the truth: sqrt(3 n) / 2.
 *
 * Requires: out non-NULL.
 * Gives:	 DP_OK and the number rounded up; DP_E_RANGE when n < 1;
 *			 DP_E_MEMORY.
 * Source:	 doc/theory.md T14.
 */
dp_status
dp_acct_two_coins_error(int64_t n, dp_fixed *out)
{
	dp_rational variance = {0, 4};

	if (n < 1)
		return DP_E_RANGE;
	variance.num = (dp_uint128) n * 3;
	return dp_acct_sigma_from_variance(DP_FIXED_ONE, &variance, out);
}

/*
 * dp_acct_response_error
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
dp_acct_response_error(int64_t n, int64_t c, dp_fixed epsilon, dp_fixed *out)
{
	BN_CTX	   *ctx;
	BIGNUM	   *x;
	BIGNUM	   *one;
	BIGNUM	   *y;
	dp_status	status = DP_E_MEMORY;

	if (n < 1 || c < 2 || epsilon == 0 || epsilon == DP_FIXED_INFINITE)
		return DP_E_RANGE;
	ctx = BN_CTX_new();
	if (ctx == NULL)
		return DP_E_MEMORY;
	BN_CTX_start(ctx);
	x = BN_CTX_get(ctx);
	one = BN_CTX_get(ctx);
	y = BN_CTX_get(ctx);
	if (y != NULL &&
		dp_acct_integer_set(x, epsilon) &&
		dp_acct_integer_set(one, DP_FIXED_ONE) &&
		dp_acct_bound_exp(x, x, one, DP_ROUND_UP, ctx) &&
		BN_copy(y, x) != NULL && BN_mul_word(y, (BN_ULONG) n) &&
		BN_mul_word(y, (BN_ULONG) (c - 1)) &&
		dp_acct_value_sqrt(y, y, DP_ROUND_UP, ctx) &&
		BN_set_word(one, 1) && BN_lshift(one, one, DP_BOUND_BITS) &&
		BN_sub(one, one, x) &&
		dp_acct_value_divide(y, y, one, DP_ROUND_UP, ctx))
		status = dp_acct_value_to_fixed(y, DP_ROUND_UP, out, ctx);
	BN_CTX_end(ctx);
	BN_CTX_free(ctx);
	return status;
}
