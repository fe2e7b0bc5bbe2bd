/*
 * rational.c
 *	  Exact non-negative rationals of 128-bit halves.
 *
 * Every result is exact and in lowest terms, or refused: DP_E_OVERFLOW means
 * that the reduced result itself does not fit, never that a step on the way
 * did not.  Where a step may not fit 128 bits it is taken by integers of any
 * size.
 */
#include "dp_big.h"

#include "integer.h"

/* The sum of two reduced rationals, by integers of any size. */
static dp_status
add_bignum(const dp_rational *a, const dp_rational *b, dp_rational *out)
{
	dp_big		big;
	dp_rational result;
	BIGNUM	   *a_den;
	BIGNUM	   *b_den;
	BIGNUM	   *num;
	BIGNUM	   *den;
	BIGNUM	   *common;
	dp_status	status;

	dp_big_begin(&big);
	a_den = big_of(&big, a->den);
	b_den = big_of(&big, b->den);
	num = big_add(&big, big_multiply(&big, big_of(&big, a->num), b_den),
				  big_multiply(&big, big_of(&big, b->num), a_den));
	den = big_multiply(&big, a_den, b_den);
	common = big_common_divisor(&big, num, den);
	num = big_divide(&big, num, common);
	den = big_divide(&big, den, common);
	if (big_bits(&big, num) > 128 || big_bits(&big, den) > 128)
		(void) dp_big_check(&big, DP_E_OVERFLOW);
	result.num = dp_big_get(&big, num);
	result.den = dp_big_get(&big, den);
	status = dp_big_end(&big);
	if (status == DP_OK)
		*out = result;
	return status;
}

/*
 * dp_mech_rational_make
 *	  num/den in lowest terms.
 *
 * Requires: nothing.
 * Gives:	 DP_OK with *out reduced, zero as 0/1; DP_E_RANGE when den = 0,
 *			 with *out untouched.
 * Source:	 doc/theory.md T8.
 */
dp_status
dp_mech_rational_make(dp_uint128 num, dp_uint128 den, dp_rational *out)
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
 * dp_mech_rational_compare
 *	  The sign of a - b.
 *
 * Requires: positive denominators; lowest terms are not needed.
 * Gives:	 -1, 0 or 1; exact, for the products are taken in 256 bits.
 * Source:	 doc/theory.md T8.
 */
int
dp_mech_rational_compare(const dp_rational *a, const dp_rational *b)
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
 * dp_mech_rational_add
 *	  a + b.
 *
 * Requires: out may be a or b.
 * Gives:	 DP_OK with *out exact and reduced; DP_E_OVERFLOW when the reduced
 *			 sum does not fit, DP_E_RANGE when a denominator is 0,
 *			 DP_E_MEMORY; *out is then untouched.
 * Source:	 doc/theory.md T8.
 */
dp_status
dp_mech_rational_add(const dp_rational *a, const dp_rational *b,
					 dp_rational *out)
{
	dp_rational x;
	dp_rational y;
	dp_uint128	common;
	dp_uint128	left;
	dp_uint128	right;
	dp_uint128	num;
	dp_uint128	den;

	if (dp_mech_rational_make(a->num, a->den, &x) != DP_OK ||
		dp_mech_rational_make(b->num, b->den, &y) != DP_OK)
		return DP_E_RANGE;
	common = gcd128(x.den, y.den);
	if (__builtin_mul_overflow(x.num, y.den / common, &left) ||
		__builtin_mul_overflow(y.num, x.den / common, &right) ||
		__builtin_add_overflow(left, right, &num) ||
		__builtin_mul_overflow(x.den / common, y.den, &den))
		return add_bignum(&x, &y, out);
	return dp_mech_rational_make(num, den, out);
}

/*
 * dp_mech_rational_multiply
 *	  a b.
 *
 * Requires: out may be a or b.
 * Gives:	 as dp_mech_rational_add.  Common factors are cancelled across
 *			 before multiplying, so the products are the reduced result and
 *			 overflow exactly when it does not fit.
 * Source:	 doc/theory.md T8.
 */
dp_status
dp_mech_rational_multiply(const dp_rational *a, const dp_rational *b,
						  dp_rational *out)
{
	dp_rational x;
	dp_rational y;
	dp_uint128	across;
	dp_uint128	back;
	dp_uint128	num;
	dp_uint128	den;

	if (dp_mech_rational_make(a->num, a->den, &x) != DP_OK ||
		dp_mech_rational_make(b->num, b->den, &y) != DP_OK)
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
 * dp_mech_rational_divide
 *	  a / b.
 *
 * Requires: out may be a or b.
 * Gives:	 as dp_mech_rational_multiply; DP_E_RANGE also when b = 0.
 * Source:	 doc/theory.md T8.
 */
dp_status
dp_mech_rational_divide(const dp_rational *a, const dp_rational *b,
						dp_rational *out)
{
	dp_rational inverse;

	if (b->num == 0 || b->den == 0)
		return DP_E_RANGE;
	inverse.num = b->den;
	inverse.den = b->num;
	return dp_mech_rational_multiply(a, &inverse, out);
}
