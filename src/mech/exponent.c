/*
 * exponent.c
 *	  Proved integer bounds of exp of a negative rational.
 *
 * Everything is rounded outwards, so the bounds hold whatever the precision;
 * a few bits more than wanted are carried to keep them close.
 */
#include "dp_mech.h"

#include <openssl/bn.h>

#include "wide.h"

/*
 * low <= 2^w exp(-n/d) <= high for 0 <= n <= d: partial sums of the
 * alternating series with each term bounded from both sides.  The terms
 * decrease, so what follows the last one taken is at most the next in size,
 * which is at most 1.
 */
static bool
exp_series(BN_CTX *context, const BIGNUM *n, const BIGNUM *d, unsigned w,
		   BIGNUM *low, BIGNUM *high)
{
	BIGNUM	   *least;
	BIGNUM	   *most;
	BIGNUM	   *divisor;
	BIGNUM	   *rest;
	BN_ULONG	k = 0;
	bool		good;

	BN_CTX_start(context);
	least = BN_CTX_get(context);
	most = BN_CTX_get(context);
	divisor = BN_CTX_get(context);
	rest = BN_CTX_get(context);
	good = rest != NULL && BN_one(least) && BN_lshift(least, least, (int) w) &&
		BN_copy(most, least) != NULL;
	if (good)
	{
		BN_zero(low);
		BN_zero(high);
	}
	while (good)
	{
		if (k % 2 == 0)
			good = BN_add(low, low, least) && BN_add(high, high, most);
		else
			good = BN_sub(low, low, most) && BN_sub(high, high, least);
		k++;
		good = good && BN_copy(divisor, d) != NULL &&
			BN_mul_word(divisor, k) &&
			BN_mul(least, least, n, context) &&
			BN_div(least, NULL, least, divisor, context) &&
			BN_mul(most, most, n, context) &&
			BN_div(most, rest, most, divisor, context) &&
			(BN_is_zero(rest) || BN_add_word(most, 1));
		if (good && (BN_is_zero(most) || BN_is_one(most)))
			break;
	}
	good = good && BN_sub_word(low, 1) && BN_add_word(high, 1);
	if (good && BN_is_negative(low))
		BN_zero(low);
	BN_CTX_end(context);
	return good;
}

/*
 * dp_mech_wide_interval_multiply
 *	  [low, high] *= [low2, high2] for non-negative intervals in units of
 *	  2^-w, rounded outwards.
 *
 * Requires: low2 and high2 may be low and high.
 * Gives:	 true; false when OpenSSL cannot allocate.
 * Source:	 doc/theory.md T18.
 */
bool
dp_mech_wide_interval_multiply(BN_CTX *context, BIGNUM *low, BIGNUM *high,
							   const BIGNUM *low2, const BIGNUM *high2,
							   unsigned w)
{
	BIGNUM	   *product;
	bool		good;

	BN_CTX_start(context);
	product = BN_CTX_get(context);
	good = product != NULL && BN_mul(product, low, low2, context) &&
		BN_rshift(low, product, (int) w) &&
		BN_mul(product, high, high2, context) &&
		wide_shift_up(high, product, w);
	BN_CTX_end(context);
	return good;
}

/*
 * dp_mech_wide_exp_bounds
 *	  low <= 2^p exp(-gap rate) <= high.
 *
 * Requires: rate->den > 0; low and high distinct.
 * Gives:	 true, with high - low at most 3; false when OpenSSL cannot
 *			 allocate.
 * Source:	 doc/theory.md T18.
 */
bool
dp_mech_wide_exp_bounds(BN_CTX *context, dp_uint128 gap,
						const dp_rational *rate, unsigned p, BIGNUM *low,
						BIGNUM *high)
{
	BIGNUM	   *whole;
	BIGNUM	   *rest;
	BIGNUM	   *den;
	BIGNUM	   *one;
	BIGNUM	   *base_low;
	BIGNUM	   *base_high;
	unsigned	w = p + 64;
	BN_ULONG	power;
	bool		good;

	BN_CTX_start(context);
	whole = BN_CTX_get(context);
	rest = BN_CTX_get(context);
	den = BN_CTX_get(context);
	one = BN_CTX_get(context);
	base_low = BN_CTX_get(context);
	base_high = BN_CTX_get(context);
	good = base_high != NULL && BN_one(one) && wide_set(whole, gap) &&
		wide_set(den, rate->num) && BN_mul(rest, whole, den, context) &&
		wide_set(den, rate->den) &&
		BN_div(whole, rest, rest, den, context);
	if (good && (BN_num_bits(whole) > 31 || BN_get_word(whole) >= p))
	{
		/* exp(-p) < 2^-p */
		BN_zero(low);
		good = BN_one(high);
		BN_CTX_end(context);
		return good;
	}
	good = good && exp_series(context, rest, den, w, low, high);
	power = good ? BN_get_word(whole) : 0;
	if (power > 0)
		good = good && exp_series(context, one, one, w, base_low, base_high);
	while (good && power > 0)
	{
		if (power % 2 == 1)
			good = dp_mech_wide_interval_multiply(context, low, high, base_low,
												  base_high, w);
		power /= 2;
		if (good && power > 0)
			good = dp_mech_wide_interval_multiply(context, base_low, base_high,
												  base_low, base_high, w);
	}
	good = good && BN_rshift(low, low, (int) (w - p)) &&
		wide_shift_up(high, high, w - p);
	BN_CTX_end(context);
	return good;
}
