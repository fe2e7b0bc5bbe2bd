/*
 * interval.h
 *	  Proved bounds on logarithms and exponentials, over integers.  Private to
 *	  src/acct.
 *
 * A bound is an integer in units of 2^-DP_BOUND_BITS.  DP_ROUND_DOWN asks for
 * a number that is not above the true value, DP_ROUND_UP for one that is not
 * below; neither is the nearest, both are within 2^16 units.  Each function
 * answers false when OpenSSL could not allocate; nothing else can go wrong,
 * but that a number may be too large for dp_acct_integer_get.
 */
#ifndef DP_ACCT_INTERVAL_H
#define DP_ACCT_INTERVAL_H

#include "dp_acct.h"

#include <openssl/bn.h>

#define DP_BOUND_BITS 192

extern bool dp_acct_integer_set(BIGNUM *out, dp_uint128 x);
extern bool dp_acct_integer_get(const BIGNUM *x, dp_uint128 *out);
extern bool dp_acct_bound_ratio(BIGNUM *out, const BIGNUM *num,
								const BIGNUM *den, dp_rounding rounding,
								BN_CTX *ctx);
extern bool dp_acct_bound_log(BIGNUM *out, const BIGNUM *num,
							  const BIGNUM *den, dp_rounding rounding,
							  BN_CTX *ctx);
extern bool dp_acct_bound_exp(BIGNUM *out, const BIGNUM *num,
							  const BIGNUM *den, dp_rounding rounding,
							  BN_CTX *ctx);
extern bool dp_acct_bound_sinh(BIGNUM *out, const BIGNUM *num,
							   const BIGNUM *den, BN_CTX *ctx);

#endif							/* DP_ACCT_INTERVAL_H */
