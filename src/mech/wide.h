/*
 * wide.h
 *	  Draws on integers of any width (dp_big.h).  Private to src/mech.
 *
 * Each draw makes the reservations that sampler.h makes for the same numbers
 * and gives the same value for the same bytes, so that a sampler may leave
 * its 128-bit path at any draw without changing its law or what it consumes.
 */
#ifndef DP_MECH_WIDE_H
#define DP_MECH_WIDE_H

#include "dp_big.h"

extern dp_status dp_mech_wide_uniform(dp_big *b, dp_source *source,
									  const BIGNUM *n, BIGNUM *out);
extern void dp_mech_wide_bernoulli_exp(dp_big *b, dp_source *source,
									   const BIGNUM *num, const BIGNUM *den,
									   bool *out);
extern dp_status dp_mech_bernoulli_exp_product(dp_source *source,
											   dp_uint128 gap,
											   const dp_rational *rate,
											   bool *out);

#endif							/* DP_MECH_WIDE_H */
