/*
 * rational.c
 *	  Exact non-negative rationals of 128-bit halves.
 *
 * Every result is exact and in lowest terms, or refused: DP_E_OVERFLOW means
 * that the reduced result itself does not fit, never that a step on the way
 * did not.
 */
#include "dp_numbers.h"

/*
 * dp_numbers_rational_make
 *	  num/den in lowest terms.
 *
 * Requires: nothing.
 * Gives:	 DP_OK with *out reduced, zero as 0/1; DP_E_RANGE when den = 0,
 *			 with *out untouched.
 * Source:	 doc/theory.md T8.
 */
dp_status
dp_numbers_rational_make(dp_uint128 num, dp_uint128 den, dp_rational *out)
{
	dp_uint128	common;

	if (den == 0)
		return DP_E_RANGE;
	common = gcd128(num, den);
	out->num = num / common;
	out->den = den / common;
	return DP_OK;
}

/*
 * dp_numbers_rational_compare
 *	  The sign of a - b.
 *
 * Requires: positive denominators; lowest terms are not needed.
 * Gives:	 -1, 0 or 1; exact, for the products are taken in 256 bits.
 * Source:	 doc/theory.md T8.
 */
int
dp_numbers_rational_compare(const dp_rational *a, const dp_rational *b)
{
	dp_uint128	left_high;
	dp_uint128	left_low;
	dp_uint128	right_high;
	dp_uint128	right_low;

	multiply_wide(a->num, b->den, &left_high, &left_low);
	multiply_wide(b->num, a->den, &right_high, &right_low);
	if (left_high != right_high)
		return left_high < right_high ? -1 : 1;
	if (left_low != right_low)
		return left_low < right_low ? -1 : 1;
	return 0;
}

/*
 * dp_numbers_rational_multiply
 *	  a b.
 *
 * Requires: out may be a or b.
 * Gives:	 DP_OK with *out exact and reduced; DP_E_OVERFLOW when the reduced
 *			 product does not fit, DP_E_RANGE when a denominator is 0; *out is
 *			 then untouched.  Common factors are cancelled across before
 *			 multiplying, so the products are the reduced result and overflow
 *			 exactly when it does not fit.
 * Source:	 doc/theory.md T8.
 */
dp_status
dp_numbers_rational_multiply(const dp_rational *a, const dp_rational *b,
							 dp_rational *out)
{
	dp_rational x;
	dp_rational y;
	dp_uint128	across;
	dp_uint128	back;
	dp_uint128	num;
	dp_uint128	den;

	if (dp_numbers_rational_make(a->num, a->den, &x) != DP_OK ||
		dp_numbers_rational_make(b->num, b->den, &y) != DP_OK)
		return DP_E_RANGE;
	across = gcd128(x.num, y.den);
	back = gcd128(y.num, x.den);
	if (__builtin_mul_overflow(x.num / across, y.num / back, &num) ||
		__builtin_mul_overflow(x.den / back, y.den / across, &den))
		return DP_E_OVERFLOW;
	out->num = num;
	out->den = den;
	return DP_OK;
}

/*
 * dp_numbers_rational_divide
 *	  a / b.
 *
 * Requires: out may be a or b.
 * Gives:	 as dp_numbers_rational_multiply; DP_E_RANGE also when b = 0.
 * Source:	 doc/theory.md T8.
 */
dp_status
dp_numbers_rational_divide(const dp_rational *a, const dp_rational *b,
						   dp_rational *out)
{
	dp_rational inverse;

	if (b->num == 0 || b->den == 0)
		return DP_E_RANGE;
	inverse.num = b->den;
	inverse.den = b->num;
	return dp_numbers_rational_multiply(a, &inverse, out);
}
