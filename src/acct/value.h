/*
 * value.h
 *	  Arithmetic on proved bounds, as interval.h has them: integers in units
 *	  of 2^-DP_BOUND_BITS, each step rounded in one direction.  Private to
 *	  src/acct.
 *
 * Functions that answer with a bool say false when OpenSSL could not
 * allocate.
 */
#ifndef DP_ACCT_VALUE_H
#define DP_ACCT_VALUE_H

#include "interval.h"

extern bool dp_acct_value_from_fixed(BIGNUM *out, dp_fixed x,
									 dp_rounding rounding, BN_CTX *ctx);
extern dp_status dp_acct_value_to_fixed(const BIGNUM *value,
										dp_rounding rounding, dp_fixed *out,
										BN_CTX *ctx);
extern bool dp_acct_value_multiply(BIGNUM *r, const BIGNUM *a,
								   const BIGNUM *b, dp_rounding rounding,
								   BN_CTX *ctx);
extern bool dp_acct_value_divide(BIGNUM *r, const BIGNUM *a, const BIGNUM *b,
								 dp_rounding rounding, BN_CTX *ctx);
extern bool dp_acct_value_sqrt(BIGNUM *r, const BIGNUM *a,
							   dp_rounding rounding, BN_CTX *ctx);
extern bool dp_acct_value_log_inverse(BIGNUM *out, dp_fixed x,
									  dp_rounding rounding, BN_CTX *ctx);
extern dp_status dp_acct_value_to_dyadic(const BIGNUM *num,
										 const BIGNUM *den, dp_rational *out,
										 BN_CTX *ctx);
extern dp_status dp_acct_decimal_from_loss(const BIGNUM *loss,
										   dp_decimal *out, BN_CTX *ctx);
extern dp_status dp_acct_decimal_from_log(long double log_value,
										  dp_decimal *out);
extern long double dp_acct_fixed_wide(dp_fixed x);

#endif							/* DP_ACCT_VALUE_H */
