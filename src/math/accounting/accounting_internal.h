/*
 * accounting_internal.h
 *	  Private to accounting: proved bounds and conversions from them.
 *
 * A value is a number of a context (dp_numbers.h) in units of
 * 2^-DP_VALUE_BITS, each step to which was rounded in one direction.
 * DP_ROUND_DOWN asks for a number that is not above the true value,
 * DP_ROUND_UP for one that is not below; both are within 2^16 units.
 */
#ifndef ACCOUNTING_INTERNAL_H
#define ACCOUNTING_INTERNAL_H

#include "../numbers/dp_numbers.h"
#include "dp_accounting.h"

/* ---- numbers of any size (value.c) ---- */

extern dp_status dp_accounting_decimal_to_fixed(const dp_decimal *x,
												dp_fixed *out); /* rounds up */

#define DP_VALUE_BITS 192

/* 1 as a value. */
static inline BIGNUM *
value_one(dp_big *b)
{
	return big_power(b, DP_VALUE_BITS);
}

/* Bound on num/den, of two integers or of two values. */
static inline BIGNUM *
value_ratio(dp_big *b, const BIGNUM *num, const BIGNUM *den,
			dp_rounding rounding)
{
	return dp_numbers_big_ratio(b, num, den, DP_VALUE_BITS, rounding);
}

/* Bound on a product of two values. */
static inline BIGNUM *
value_product(dp_big *b, const BIGNUM *x, const BIGNUM *y,
			  dp_rounding rounding)
{
	return dp_numbers_big_product(b, x, y, DP_VALUE_BITS, rounding);
}

/* Bound on the square root of a value. */
static inline BIGNUM *
value_root(dp_big *b, const BIGNUM *x, dp_rounding rounding)
{
	return dp_numbers_big_root(b, big_shift(b, x, DP_VALUE_BITS), rounding);
}

/* Bound on ln(num/den), num >= den > 0. */
static inline BIGNUM *
value_log(dp_big *b, const BIGNUM *num, const BIGNUM *den,
		  dp_rounding rounding)
{
	return dp_numbers_big_log(b, num, den, DP_VALUE_BITS, rounding);
}

/* Bound on exp(-num/den). */
static inline BIGNUM *
value_exp(dp_big *b, const BIGNUM *num, const BIGNUM *den,
		  dp_rounding rounding)
{
	return dp_numbers_big_exp(b, num, den, DP_VALUE_BITS, rounding);
}

/* Bound on x * 10^-24. */
static inline BIGNUM *
value_from_fixed(dp_big *b, dp_fixed x, dp_rounding rounding)
{
	return value_ratio(b, big_of(b, x), big_of(b, DP_FIXED_ONE), rounding);
}

/* Bound on ln(n / x), n >= 1 and 0 < x <= 1 in units of 10^-24. */
static inline BIGNUM *
value_log_over(dp_big *b, uint64_t n, dp_fixed x, dp_rounding rounding)
{
	return value_log(b, big_multiply_word(b, big_of(b, DP_FIXED_ONE), n),
					 big_of(b, x), rounding);
}

extern dp_fixed dp_accounting_ratio_to_fixed(dp_big *b, const BIGNUM *num,
											 const BIGNUM *den,
											 dp_rounding rounding);

/* A value on the grid of 10^-24, as dp_accounting_ratio_to_fixed. */
static inline dp_fixed
value_to_fixed(dp_big *b, const BIGNUM *x, dp_rounding rounding)
{
	return dp_accounting_ratio_to_fixed(b, x, value_one(b), rounding);
}

extern dp_status dp_accounting_end_fixed(dp_big *b, dp_fixed x, dp_fixed *out);
extern dp_rational dp_accounting_to_dyadic(dp_big *b, const BIGNUM *num,
										   const BIGNUM *den);
extern dp_decimal dp_accounting_decimal_from_loss(dp_big *b,
												  const BIGNUM *loss);
extern dp_status dp_accounting_decimal_from_log(long double log_value,
												dp_decimal *out);
extern long double dp_accounting_fixed_wide(dp_fixed x);

#endif							/* ACCOUNTING_INTERNAL_H */
