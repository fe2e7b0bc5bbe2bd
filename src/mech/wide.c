/*
 * wide.c
 *	  Uniform integers and exponential coins of any width.
 */
#include "dp_mech.h"

#include <openssl/bn.h>
#include <openssl/crypto.h>

#include "sampler.h"
#include "wide.h"

/* A unit test clears this to send every product to BIGNUM. */
#ifndef NARROW_PRODUCT
#define NARROW_PRODUCT 1
#endif

/*
 * dp_mech_wide_uniform
 *	  Draw an integer uniformly from [0, n).
 *
 * Requires: n >= 1 below 2^(8 DP_SOURCE_BUFFER); out is not n.
 * Gives:	 DP_OK with *out set; DP_E_RANGE when n is out of bounds,
 *			 DP_E_RANDOM, DP_E_MEMORY; *out may hold anything then.
 * Source:	 doc/theory.md T1.
 */
dp_status
dp_mech_wide_uniform(dp_source *source, const BIGNUM *n, BIGNUM *out)
{
	BIGNUM	   *top;
	unsigned char *p;
	unsigned	bits;
	unsigned	bytes;
	dp_status	status;

	if (BN_is_zero(n) || BN_is_negative(n) ||
		BN_num_bytes(n) > DP_SOURCE_BUFFER)
		return DP_E_RANGE;
	top = BN_dup(n);
	if (top == NULL)
		return DP_E_MEMORY;
	if (!BN_sub_word(top, 1))
	{
		BN_free(top);
		return DP_E_MEMORY;
	}
	bits = (unsigned) BN_num_bits(top);
	bytes = (bits + 7) / 8;
	BN_zero(out);
	status = DP_OK;
	if (bits > 0)
	{
		do
		{
			status = source_reserve(source, bytes);
			if (status != DP_OK)
				break;
			p = source->buffer + source->next;
			p[bytes - 1] &= (unsigned char) (0xff >> (8 * bytes - bits));
			if (BN_lebin2bn(p, (int) bytes, out) == NULL)
				status = DP_E_MEMORY;
			OPENSSL_cleanse(p, bytes);
			source->next += bytes;
		} while (status == DP_OK && BN_cmp(out, top) > 0);
	}
	BN_free(top);
	return status;
}

/* Success with probability exp(-num/den) for num <= den. */
static dp_status
bernoulli_exp_fraction(dp_source *source, const BIGNUM *num,
					   const BIGNUM *den, BIGNUM *value, bool *out)
{
	BERNOULLI_EXP_BODY(dp_mech_wide_uniform(source, den, value),
					   BN_cmp(value, num) >= 0);
}

/* The same for any num >= 0; whole, rest and value are scratch. */
static dp_status
bernoulli_exp_any(dp_source *source, const BIGNUM *num, const BIGNUM *den,
				  BN_CTX *context, BIGNUM *whole, BIGNUM *rest, BIGNUM *value,
				  bool *out)
{
	bool		success;
	dp_status	status;

	/* num = whole den + rest with 0 < rest <= den, unless num = 0 */
	BN_zero(whole);
	BN_zero(rest);
	if (!BN_is_zero(num) &&
		(BN_copy(value, num) == NULL || !BN_sub_word(value, 1) ||
		 !BN_div(whole, rest, value, den, context) ||
		 !BN_add_word(rest, 1)))
		return DP_E_MEMORY;
	for (; !BN_is_zero(whole);)
	{
		status = bernoulli_exp_one(source, &success);
		if (status != DP_OK)
			return status;
		if (!success)
		{
			*out = false;
			return DP_OK;
		}
		if (!BN_sub_word(whole, 1))
			return DP_E_MEMORY;
	}
	return bernoulli_exp_fraction(source, rest, den, value, out);
}

/*
 * dp_mech_wide_bernoulli_exp
 *	  Draw a coin that is true with probability exp(-num/den).
 *
 * Requires: num >= 0, den >= 1.
 * Gives:	 DP_OK with P[*out] = exp(-num/den) exactly; DP_E_RANGE when den
 *			 is out of bounds, DP_E_RANDOM, DP_E_MEMORY; *out is then
 *			 untouched.
 * Source:	 doc/theory.md T3, T13.
 */
dp_status
dp_mech_wide_bernoulli_exp(dp_source *source, const BIGNUM *num,
						   const BIGNUM *den, BN_CTX *context, bool *out)
{
	BIGNUM	   *whole = BN_new();
	BIGNUM	   *rest = BN_new();
	BIGNUM	   *value = BN_new();
	dp_status	status = DP_E_MEMORY;

	if (BN_is_zero(den) || BN_is_negative(den) || BN_is_negative(num))
		status = DP_E_RANGE;
	else if (whole != NULL && rest != NULL && value != NULL)
		status = bernoulli_exp_any(source, num, den, context, whole, rest,
								   value, out);
	BN_clear_free(value);
	BN_clear_free(rest);
	BN_clear_free(whole);
	return status;
}

static dp_status
product_wide(dp_source *source, dp_uint128 gap, const dp_rational *rate,
			 bool *out)
{
	BN_CTX	   *context = BN_CTX_new();
	BIGNUM	   *num = BN_new();
	BIGNUM	   *den = BN_new();
	dp_status	status = DP_E_MEMORY;

	/* den holds the numerator of the rate for a moment */
	if (context != NULL && num != NULL && den != NULL &&
		wide_set(num, gap) && wide_set(den, rate->num) &&
		BN_mul(num, num, den, context) && wide_set(den, rate->den))
		status = dp_mech_wide_bernoulli_exp(source, num, den, context, out);
	BN_free(den);
	BN_clear_free(num);
	BN_CTX_free(context);
	return status;
}

/*
 * dp_mech_bernoulli_exp_product
 *	  Draw a coin that is true with probability exp(-gap rate).
 *
 * Requires: rate->den > 0.
 * Gives:	 DP_OK with P[*out] = exp(-gap rate) exactly, for gap = 0 without
 *			 consuming anything; DP_E_RANGE when the denominator is 0,
 *			 DP_E_RANDOM, DP_E_MEMORY; *out is then untouched.
 * Source:	 doc/theory.md T3, T13.
 */
dp_status
dp_mech_bernoulli_exp_product(dp_source *source, dp_uint128 gap,
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
	return dp_mech_bernoulli_exp(source, &gamma, out);
}
