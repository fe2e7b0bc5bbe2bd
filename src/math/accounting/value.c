/*
 * value.c
 *	  Arithmetic on proved bounds, and conversions from it: to fixed point,
 *	  dyadic rationals, decimals of any size.
 */
#include <float.h>
#include <math.h>

#include "../numbers/dp_numbers.h"
#include "dp_accounting.h"
#include "accounting_internal.h"

#if LDBL_MANT_DIG < 64
#error "the margins of doc/theory.md T31 need a long double of 64 bits"
#endif

/* Decimals below 10^-DECIMAL_LEAST are replaced by about that. */
#define DECIMAL_LEAST 1000000
#define DECIMAL_DIGITS 18
#define DECIMAL_ONE UINT64_C(1000000000000000000)

/*
 * dp_accounting_ratio_to_fixed
 *	  Put num/den on the grid of 10^-24.
 *
 * Requires: den > 0.
 * Gives:	 the floor or the ceiling of num 10^24 / den, 0 when num is
 *			 negative; DP_FIXED_INFINITE when that is not below it.
 * Source:	 doc/theory.md T20.
 */
dp_fixed
dp_accounting_ratio_to_fixed(dp_big *b, const BIGNUM *num, const BIGNUM *den,
							 dp_rounding rounding)
{
	unsigned	mark = b->used;
	BIGNUM	   *rest;
	BIGNUM	   *x;
	dp_fixed	answer;

	if (big_is_negative(b, num))
		return 0;
	x = big_multiply(b, big_of(b, DP_FIXED_ONE), num);
	x = big_divide_rest(b, x, den, &rest);
	if (rounding == DP_ROUND_UP && !big_is_zero(b, rest))
		x = big_add_word(b, x, 1);
	answer = dp_numbers_big_get(b, x);
	big_release(b, mark);
	return answer;
}

/*
 * dp_accounting_end_fixed
 *	  End a computation whose result is a fixed-point number.
 *
 * Requires: out non-NULL.
 * Gives:	 the status of b, or DP_E_OVERFLOW when x is infinite; *out = x for
 *			 DP_OK, else untouched.
 * Source:	 doc/theory.md T20.
 */
dp_status
dp_accounting_end_fixed(dp_big *b, dp_fixed x, dp_fixed *out)
{
	dp_status	status = dp_numbers_big_end(b);

	if (status == DP_OK && x == DP_FIXED_INFINITE)
		return DP_E_OVERFLOW;
	if (status == DP_OK)
		*out = x;
	return status;
}

/*
 * dp_accounting_to_dyadic
 *	  A rational m 2^-s that is not below num / den, m of at most 64 bits.
 *
 * Requires: num, den > 0.
 * Gives:	 the rational, above num/den by less than a relative 2^-62, s at
 *			 most 127; b fails with DP_E_OVERFLOW when num/den is 2^127 or
 *			 more.
 * Source:	 doc/theory.md T36.
 */
dp_rational
dp_accounting_to_dyadic(dp_big *b, const BIGNUM *num, const BIGNUM *den)
{
	dp_rational answer = {0, 1};
	int			shift = 63 - (big_bits(b, num) - big_bits(b, den));
	BIGNUM	   *q;
	dp_uint128	m;

	if (shift > 127)
		shift = 127;
	q = big_shift(b, num, shift > 0 ? shift : 0);
	q = big_divide(b, big_subtract_word(b, q, 1),
				   big_shift(b, den, shift < 0 ? -shift : 0));
	m = dp_numbers_big_get(b, big_add_word(b, q, 1));
	if (shift < -63 || (shift < 0 && m >> (127 + shift) != 0))
		(void) dp_numbers_big_check(b, DP_E_OVERFLOW);
	else if (shift < 0)
		answer.num = m << -shift;
	else
		(void) dp_numbers_rational_make(m, (dp_uint128) 1 << shift, &answer);
	return answer;
}

/*
 * dp_accounting_decimal_from_loss
 *	  exp(-loss), rounded up to 18 digits.
 *
 * With n <= loss / ln 10, loss - n ln 10 lies in [0, ln 10], where e^-y can
 * be bounded without losing digits.
 *
 * Requires: loss a value; a negative one counts as 0.
 * Gives:	 a decimal that is not below; at most 10^-999999 for everything
 *			 smaller.
 * Source:	 doc/theory.md T24.
 */
dp_decimal
dp_accounting_decimal_from_loss(dp_big *b, const BIGNUM *loss)
{
	BIGNUM	   *ln10 = value_log(b, big_of(b, 10), big_of(b, 1),
								 DP_ROUND_UP);
	BIGNUM	   *rest = big_of(b, 0);
	dp_uint128	n = 0;
	dp_uint128	digits;
	dp_decimal	answer;

	if (!big_is_negative(b, loss))
	{
		BIGNUM	   *whole = big_divide(b, loss, ln10);

		n = dp_numbers_big_get(b, whole);
		if (n < DECIMAL_LEAST)
			rest = big_subtract(b, loss, big_multiply(b, whole, ln10));
		else
			n = DECIMAL_LEAST;
	}
	rest = value_exp(b, rest, value_one(b), DP_ROUND_UP);
	rest = big_subtract_word(b, big_multiply_word(b, rest, DECIMAL_ONE), 1);
	rest = dp_numbers_big_shrink(b, rest, DP_VALUE_BITS, DP_ROUND_UP);
	digits = dp_numbers_big_get(b, rest);
	answer.exponent = -(int32_t) n - DECIMAL_DIGITS;
	if (digits >= DECIMAL_ONE)
	{
		digits = DECIMAL_ONE / 10;
		answer.exponent++;
	}
	answer.digits = (uint64_t) digits;
	return answer;
}

/*
 * dp_accounting_decimal_from_log
 *	  exp(log_value) of a floating-point number, rounded up.
 *
 * Requires: log_value not NaN; above 0 it counts as 0.
 * Gives:	 DP_OK and a decimal that is not below; DP_E_MEMORY.
 * Source:	 doc/theory.md T31.
 */
dp_status
dp_accounting_decimal_from_log(long double log_value, dp_decimal *out)
{
	dp_big		b;
	BIGNUM	   *x;
	dp_decimal	answer;
	dp_status	status;
	long double loss = log_value < 0 ? -log_value : 0;
	long double fraction;
	int			exponent;

	if (loss > 4e9L)
		loss = 4e9L;			/* far below the least decimal */
	fraction = frexpl(loss, &exponent);
	exponent += DP_VALUE_BITS - 64;
	dp_numbers_big_begin(&b);
	x = big_of(&b, (dp_uint128) ldexpl(fraction, 64));
	answer = dp_accounting_decimal_from_loss(&b, big_shift(&b, x, exponent));
	status = dp_numbers_big_end(&b);
	if (status == DP_OK)
		*out = answer;
	return status;
}

/*
 * dp_accounting_decimal_to_fixed
 *	  The least fixed-point number that is not below a decimal.
 *
 * Requires: out non-NULL.
 * Gives:	 DP_OK; DP_E_OVERFLOW when it is not below DP_FIXED_INFINITE.
 * Source:	 doc/theory.md T20.
 */
dp_status
dp_accounting_decimal_to_fixed(const dp_decimal *x, dp_fixed *out)
{
	dp_uint128	value = x->digits;
	int32_t		shift = x->exponent + DP_FIXED_DIGITS;

	for (; shift > 0 && value > 0; shift--)
	{
		if (value > (DP_FIXED_INFINITE - 1) / 10)
			return DP_E_OVERFLOW;
		value *= 10;
	}
	for (; shift < 0 && value > 1; shift++)
		value = (value + 9) / 10;
	*out = value;
	return DP_OK;
}

/*
 * dp_accounting_fixed_wide
 *	  A fixed-point number as long double.
 *
 * Requires: x finite.
 * Gives:	 x * 10^-24 with a relative error below 2^-62.
 * Source:	 doc/theory.md T31 (10^24 is exact in 64 bits).
 */
long double
dp_accounting_fixed_wide(dp_fixed x)
{
	return (long double) x / 1e24L;
}
