/*
 * wide.c
 *	  Uniform integers and exponential coins of any width.
 */
#include <openssl/crypto.h>

#include "../numbers/dp_numbers.h"
#include "dp_noise.h"
#include "noise_internal.h"

/* A unit test clears this to send every product to BIGNUM. */
#ifndef NARROW_PRODUCT
#define NARROW_PRODUCT 1
#endif

/*
 * dp_noise_wide_uniform
 *	  Draw an integer uniformly from [0, n).
 *
 * Requires: n >= 1 below 2^(8 DP_SOURCE_BUFFER); out another number of b.
 * Gives:	 the status of b, DP_OK with *out set; b fails with DP_E_RANGE when
 *			 n is out of bounds, DP_E_RANDOM, DP_E_MEMORY; *out may hold
 *			 anything then.
 * Source:	 doc/theory.md T1.
 */
dp_status
dp_noise_wide_uniform(dp_big *b, dp_source *source, const BIGNUM *n,
					  BIGNUM *out)
{
	unsigned	mark = b->used;
	const BIGNUM *top = big_subtract_word(b, n, 1);
	unsigned	bits = (unsigned) big_bits(b, top);
	unsigned	bytes = (bits + 7) / 8;
	unsigned char *p;
	bool		below = false;

	if (big_is_zero(b, n) || big_is_negative(b, n) ||
		bytes > DP_SOURCE_BUFFER)
		(void) dp_numbers_big_check(b, DP_E_RANGE);
	if (b->status == DP_OK && bits == 0)
	{
		BN_zero(out);
		below = true;
	}
	while (!below && b->status == DP_OK &&
		   dp_numbers_big_check(b, source_reserve(source, bytes)))
	{
		p = source->buffer + source->next;
		p[bytes - 1] &= (unsigned char) (0xff >> (8 * bytes - bits));
		(void) big_made(b, out, BN_lebin2bn(p, (int) bytes, out) != NULL);
		OPENSSL_cleanse(p, bytes);
		source->next += bytes;
		below = big_compare(b, out, top) <= 0;
	}
	big_release(b, mark);
	return b->status;
}

/* Success with probability exp(-num/den) for num <= den. */
static dp_status
bernoulli_exp_fraction(dp_big *b, dp_source *source, const BIGNUM *num,
					   const BIGNUM *den, bool *out)
{
	BIGNUM	   *value = dp_numbers_big_new(b);

	BERNOULLI_EXP_BODY(dp_noise_wide_uniform(b, source, den, value),
					   big_compare(b, value, num) >= 0);
}

/* Success with probability exp(-n); n is counted down. */
static bool
bernoulli_exp_whole(dp_big *b, dp_source *source, BIGNUM *n)
{
	unsigned	mark = b->used;
	bool		success = true;

	while (success && !big_is_zero(b, n) &&
		   dp_numbers_big_check(b, bernoulli_exp_one(source, &success)))
	{
		big_assign(b, n, big_subtract_word(b, n, 1));
		big_release(b, mark);
	}
	return success;
}

/*
 * dp_noise_wide_bernoulli_exp
 *	  Draw a coin that is true with probability exp(-num/den).
 *
 * Requires: num >= 0, den >= 1.
 * Gives:	 *out set with P[*out] = exp(-num/den) exactly; b fails with
 *			 DP_E_RANGE when den is out of bounds, DP_E_RANDOM, DP_E_MEMORY;
 *			 *out is then untouched.
 * Source:	 doc/theory.md T3, T13.
 */
void
dp_noise_wide_bernoulli_exp(dp_big *b, dp_source *source, const BIGNUM *num,
							const BIGNUM *den, bool *out)
{
	BIGNUM	   *whole;
	BIGNUM	   *rest;

	if (big_is_zero(b, den) || big_is_negative(b, den) ||
		big_is_negative(b, num))
		(void) dp_numbers_big_check(b, DP_E_RANGE);

	/* num = whole den + rest with 0 < rest <= den, unless num = 0 */
	whole = big_divide_rest(b, num, den, &rest);
	if (big_is_zero(b, rest) && !big_is_zero(b, whole))
	{
		whole = big_subtract_word(b, whole, 1);
		rest = big_add_word(b, den, 0);
	}
	if (bernoulli_exp_whole(b, source, whole))
		(void) dp_numbers_big_check(b,
									bernoulli_exp_fraction(b, source, rest,
														   den, out));
	else if (b->status == DP_OK)
		*out = false;
}

static dp_status
product_wide(dp_source *source, dp_uint128 gap, const dp_rational *rate,
			 bool *out)
{
	dp_big		b;

	dp_numbers_big_begin(&b);
	dp_noise_wide_bernoulli_exp(&b, source,
								big_multiply(&b, big_of(&b, gap),
											 big_of(&b, rate->num)),
								big_of(&b, rate->den), out);
	return dp_numbers_big_end(&b);
}

/*
 * dp_noise_bernoulli_exp_product
 *	  Draw a coin that is true with probability exp(-gap rate).
 *
 * Requires: rate->den > 0.
 * Gives:	 DP_OK with P[*out] = exp(-gap rate) exactly, for gap = 0 without
 *			 consuming anything; DP_E_RANGE when the denominator is 0,
 *			 DP_E_RANDOM, DP_E_MEMORY; *out is then untouched.
 * Source:	 doc/theory.md T3, T13.
 */
dp_status
dp_noise_bernoulli_exp_product(dp_source *source, dp_uint128 gap,
							   const dp_rational *rate, bool *out)
{
	dp_rational gamma;
	dp_uint128	num;

	if (rate->den == 0)
		return DP_E_RANGE;
	if (gap == 0)
	{
		*out = true;
		return DP_OK;
	}
	if (!NARROW_PRODUCT || __builtin_mul_overflow(gap, rate->num, &num))
		return product_wide(source, gap, rate, out);
	gamma.num = num;
	gamma.den = rate->den;
	return dp_noise_bernoulli_exp(source, &gamma, out);
}
