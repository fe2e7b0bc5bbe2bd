/*
 * wide.h
 *	  Draws on integers of any width, by OpenSSL's BIGNUM.  Private to
 *	  src/mech.
 *
 * Each draw makes the reservations that sampler.h makes for the same numbers
 * and gives the same value for the same bytes, so that a sampler may leave
 * its 128-bit path at any draw without changing its law or what it consumes.
 */
#ifndef DP_MECH_WIDE_H
#define DP_MECH_WIDE_H

#include <openssl/bn.h>

#include "dp_mech.h"

/* number = value; false when OpenSSL cannot allocate. */
static inline bool
wide_set(BIGNUM *number, dp_uint128 value)
{
	unsigned char bytes[16];
	unsigned	i;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char) (value >> (8 * i));
	return BN_lebin2bn(bytes, sizeof(bytes), number) != NULL;
}

/* number = an integer of n limbs, least significant first. */
static inline bool
wide_set_limbs(BIGNUM *number, const uint64_t *limbs, unsigned n)
{
	BN_zero(number);
	while (n-- > 0)
		if (!BN_lshift(number, number, 64) ||
			!BN_add_word(number, limbs[n]))
			return false;
	return true;
}

/* out = ceil(x / 2^bits). */
static inline bool
wide_shift_up(BIGNUM *out, const BIGNUM *x, unsigned bits)
{
	bool		exact;
	int			i;

	exact = BN_is_zero(x);
	for (i = 0; !exact && i < (int) bits && !BN_is_bit_set(x, i); i++)
		;
	exact = exact || i == (int) bits;
	return BN_rshift(out, x, (int) bits) && (exact || BN_add_word(out, 1));
}

extern dp_status dp_mech_wide_uniform(dp_source *source, const BIGNUM *n,
									  BIGNUM *out);
extern dp_status dp_mech_wide_bernoulli_exp(dp_source *source,
											const BIGNUM *num,
											const BIGNUM *den,
											BN_CTX *context, bool *out);
extern dp_status dp_mech_bernoulli_exp_product(dp_source *source,
											   dp_uint128 gap,
											   const dp_rational *rate,
											   bool *out);

/* exponent.c */
extern bool dp_mech_wide_interval_multiply(BN_CTX *context, BIGNUM *low,
										   BIGNUM *high, const BIGNUM *low2,
										   const BIGNUM *high2, unsigned w);
extern bool dp_mech_wide_exp_bounds(BN_CTX *context, dp_uint128 gap,
									const dp_rational *rate, unsigned p,
									BIGNUM *low, BIGNUM *high);

#endif							/* DP_MECH_WIDE_H */
