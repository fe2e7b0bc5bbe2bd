/*
 * value.c
 *	  Arithmetic on proved bounds, and the ways out of it: fixed point,
 *	  dyadic rationals, decimals of any size.
 */
#include "value.h"

#include <float.h>
#include <math.h>

#if LDBL_MANT_DIG < 64
#error "the margins of doc/theory.md T31 need a long double of 64 bits"
#endif

/* Decimals below 10^-DECIMAL_LEAST are replaced by about that. */
#define DECIMAL_LEAST 1000000
#define DECIMAL_DIGITS 18

/*
 * dp_acct_value_from_fixed
 *	  Bound on x * 10^-24.
 *
 * Requires: x finite.
 * Gives:	 the bound; false when OpenSSL could not allocate.
 * Source:	 doc/theory.md T20, T24.
 */
bool
dp_acct_value_from_fixed(BIGNUM *out, dp_fixed x, dp_rounding rounding,
						 BN_CTX *ctx)
{
	BIGNUM	   *one;
	BIGNUM	   *number;
	bool		ok;

	BN_CTX_start(ctx);
	one = BN_CTX_get(ctx);
	number = BN_CTX_get(ctx);
	ok = number != NULL && dp_acct_integer_set(one, DP_FIXED_ONE) &&
		dp_acct_integer_set(number, x) &&
		dp_acct_bound_ratio(out, number, one, rounding, ctx);
	BN_CTX_end(ctx);
	return ok;
}

/*
 * dp_acct_value_to_fixed
 *	  Put a bound on the grid of 10^-24.
 *
 * Requires: out non-NULL.
 * Gives:	 DP_OK and the floor or the ceiling, 0 for a negative value;
 *			 DP_E_OVERFLOW when it is not below DP_FIXED_INFINITE;
 *			 DP_E_MEMORY.
 * Source:	 doc/theory.md T20.
 */
dp_status
dp_acct_value_to_fixed(const BIGNUM *value, dp_rounding rounding,
					   dp_fixed *out, BN_CTX *ctx)
{
	BIGNUM	   *number;
	BIGNUM	   *rest;
	dp_uint128	x;
	dp_status	status = DP_E_MEMORY;

	if (BN_is_negative(value))
	{
		*out = 0;
		return DP_OK;
	}
	BN_CTX_start(ctx);
	number = BN_CTX_get(ctx);
	rest = BN_CTX_get(ctx);
	if (rest == NULL || !dp_acct_integer_set(number, DP_FIXED_ONE) ||
		!BN_mul(number, number, value, ctx) ||
		BN_copy(rest, number) == NULL ||
		!BN_rshift(number, number, DP_BOUND_BITS))
		goto done;
	if (rounding == DP_ROUND_UP)
	{
		/* this fails only for numbers that are shorter already */
		(void) BN_mask_bits(rest, DP_BOUND_BITS);
		if (!BN_is_zero(rest) && !BN_add_word(number, 1))
			goto done;
	}
	if (BN_num_bits(number) > 128)
		status = DP_E_OVERFLOW;
	else if (dp_acct_integer_get(number, &x))
	{
		if (x == DP_FIXED_INFINITE)
			status = DP_E_OVERFLOW;
		else
		{
			*out = x;
			status = DP_OK;
		}
	}
done:
	BN_CTX_end(ctx);
	return status;
}

/*
 * dp_acct_value_multiply
 *	  Bound on a product of two values.
 *
 * Requires: a, b >= 0, both bounds in the direction of `rounding`.
 * Gives:	 the bound; false when OpenSSL could not allocate.
 * Source:	 doc/theory.md T24.
 */
bool
dp_acct_value_multiply(BIGNUM *r, const BIGNUM *a, const BIGNUM *b,
					   dp_rounding rounding, BN_CTX *ctx)
{
	return BN_mul(r, a, b, ctx) &&
		BN_rshift(r, r, DP_BOUND_BITS) &&
		(rounding == DP_ROUND_DOWN || BN_add_word(r, 1));
}

/*
 * dp_acct_value_divide
 *	  Bound on a quotient of two values.
 *
 * Requires: a >= 0, b > 0; b a bound in the other direction.
 * Gives:	 the bound; false when OpenSSL could not allocate.
 * Source:	 doc/theory.md T24.
 */
bool
dp_acct_value_divide(BIGNUM *r, const BIGNUM *a, const BIGNUM *b,
					 dp_rounding rounding, BN_CTX *ctx)
{
	return dp_acct_bound_ratio(r, a, b, rounding, ctx);
}

/*
 * dp_acct_value_sqrt
 *	  Bound on the square root of a value.
 *
 * Newton's iteration from above: x >= sqrt(n) falls until it is the floor.
 *
 * Requires: a >= 0, a bound in the direction of `rounding`.
 * Gives:	 the bound; false when OpenSSL could not allocate.
 * Source:	 doc/theory.md T24.
 */
bool
dp_acct_value_sqrt(BIGNUM *r, const BIGNUM *a, dp_rounding rounding,
				   BN_CTX *ctx)
{
	BIGNUM	   *n;
	BIGNUM	   *x;
	BIGNUM	   *next;
	bool		ok = false;

	BN_CTX_start(ctx);
	n = BN_CTX_get(ctx);
	x = BN_CTX_get(ctx);
	next = BN_CTX_get(ctx);
	if (next == NULL || !BN_lshift(n, a, DP_BOUND_BITS) ||
		!BN_set_word(x, 1) ||
		!BN_lshift(x, x, (BN_num_bits(n) + 1) / 2))
		goto done;
	for (;;)
	{
		if (!BN_div(next, NULL, n, x, ctx) || !BN_add(next, next, x) ||
			!BN_rshift1(next, next))
			goto done;
		if (BN_cmp(next, x) >= 0)
			break;
		if (BN_copy(x, next) == NULL)
			goto done;
	}
	ok = BN_copy(r, x) != NULL &&
		(rounding == DP_ROUND_DOWN || BN_add_word(r, 1));
done:
	BN_CTX_end(ctx);
	return ok;
}

/*
 * dp_acct_value_log_inverse
 *	  Bound on ln(1 / x) of a fixed-point number.
 *
 * Requires: 0 < x <= DP_FIXED_ONE.
 * Gives:	 the bound; false when OpenSSL could not allocate.
 * Source:	 doc/theory.md T24.
 */
bool
dp_acct_value_log_inverse(BIGNUM *out, dp_fixed x, dp_rounding rounding,
						  BN_CTX *ctx)
{
	BIGNUM	   *one;
	BIGNUM	   *number;
	bool		ok;

	BN_CTX_start(ctx);
	one = BN_CTX_get(ctx);
	number = BN_CTX_get(ctx);
	ok = number != NULL && dp_acct_integer_set(one, DP_FIXED_ONE) &&
		dp_acct_integer_set(number, x) &&
		dp_acct_bound_log(out, one, number, rounding, ctx);
	BN_CTX_end(ctx);
	return ok;
}

/*
 * dp_acct_value_to_dyadic
 *	  A rational m 2^-s that is not below num / den, m of at most 64 bits.
 *
 * Requires: num, den > 0; out non-NULL.
 * Gives:	 DP_OK and the rational, above num/den by less than a relative
 *			 2^-62; DP_E_OVERFLOW when num/den is 2^127 or more, or so small
 *			 that s would exceed 127 (then 2^-127 would do); DP_E_MEMORY.
 * Source:	 doc/theory.md T36.
 */
dp_status
dp_acct_value_to_dyadic(const BIGNUM *num, const BIGNUM *den,
						dp_rational *out, BN_CTX *ctx)
{
	BIGNUM	   *q;
	BIGNUM	   *d;
	int			shift = 63 - (BN_num_bits(num) - BN_num_bits(den));
	dp_uint128	m;
	dp_status	status = DP_E_MEMORY;

	if (shift > 127)
		shift = 127;
	if (shift < -63)
		return DP_E_OVERFLOW;
	BN_CTX_start(ctx);
	q = BN_CTX_get(ctx);
	d = BN_CTX_get(ctx);
	if (d == NULL ||
		!BN_lshift(q, num, shift > 0 ? shift : 0) ||
		!BN_lshift(d, den, shift < 0 ? -shift : 0) ||
		!BN_sub_word(q, 1) || !BN_div(q, NULL, q, d, ctx) ||
		!BN_add_word(q, 1) || !dp_acct_integer_get(q, &m))
		goto done;
	if (shift >= 0)
		status = dp_mech_rational_make(m, (dp_uint128) 1 << shift, out);
	else if (m >> (127 + shift) != 0)
		status = DP_E_OVERFLOW;
	else
		status = dp_mech_rational_make(m << -shift, 1, out);
done:
	BN_CTX_end(ctx);
	return status;
}

/*
 * dp_acct_decimal_from_loss
 *	  exp(-loss), rounded up to 18 digits.
 *
 * With n <= loss / ln 10, loss - n ln 10 lies in [0, ln 10], where e^-y can
 * be bounded without losing digits.
 *
 * Requires: loss a value; a negative one counts as 0.
 * Gives:	 DP_OK and a decimal that is not below; at most 10^-999999 for
 *			 everything smaller.  DP_E_MEMORY.
 * Source:	 doc/theory.md T24.
 */
dp_status
dp_acct_decimal_from_loss(const BIGNUM *loss, dp_decimal *out, BN_CTX *ctx)
{
	BIGNUM	   *ln10;
	BIGNUM	   *number;
	BIGNUM	   *unit;
	dp_uint128	n = 0;
	dp_uint128	digits;
	dp_status	status = DP_E_MEMORY;

	BN_CTX_start(ctx);
	ln10 = BN_CTX_get(ctx);
	number = BN_CTX_get(ctx);
	unit = BN_CTX_get(ctx);
	if (unit == NULL || !BN_set_word(number, 10) || !BN_set_word(unit, 1) ||
		!dp_acct_bound_log(ln10, number, unit, DP_ROUND_UP, ctx) ||
		!BN_lshift(unit, unit, DP_BOUND_BITS))
		goto done;
	BN_zero(number);
	if (!BN_is_negative(loss))
	{
		if (!BN_div(number, NULL, loss, ln10, ctx))
			goto done;
		if (BN_num_bits(number) > 30 ||
			!dp_acct_integer_get(number, &n) || n >= DECIMAL_LEAST)
		{
			n = DECIMAL_LEAST;
			BN_zero(number);
		}
		else if (!BN_mul(number, number, ln10, ctx) ||
				 !BN_sub(number, loss, number))
			goto done;
	}
	if (!dp_acct_bound_exp(number, number, unit, DP_ROUND_UP, ctx) ||
		!dp_acct_integer_set(ln10, UINT64_C(1000000000000000000)) ||
		!BN_mul(number, number, ln10, ctx) ||
		!BN_sub_word(number, 1) ||
		!BN_rshift(number, number, DP_BOUND_BITS) ||
		!BN_add_word(number, 1) ||
		!dp_acct_integer_get(number, &digits))
		goto done;
	out->exponent = -(int32_t) n - DECIMAL_DIGITS;
	if (digits >= UINT64_C(1000000000000000000))
	{
		digits = UINT64_C(100000000000000000);
		out->exponent++;
	}
	out->digits = (uint64_t) digits;
	status = DP_OK;
done:
	BN_CTX_end(ctx);
	return status;
}

/*
 * dp_acct_decimal_from_log
 *	  exp(log_value) of a floating-point number, rounded up.
 *
 * Requires: log_value not NaN; above 0 it counts as 0.
 * Gives:	 DP_OK and a decimal that is not below; DP_E_MEMORY.
 * Source:	 doc/theory.md T31.
 */
dp_status
dp_acct_decimal_from_log(long double log_value, dp_decimal *out)
{
	BN_CTX	   *ctx;
	BIGNUM	   *loss;
	dp_status	status = DP_E_MEMORY;

	ctx = BN_CTX_new();
	if (ctx == NULL)
		return DP_E_MEMORY;
	BN_CTX_start(ctx);
	loss = BN_CTX_get(ctx);
	if (loss != NULL)
	{
		long double x = log_value < 0 ? -log_value : 0;
		int			exponent;
		long double fraction;

		if (x > 4e9L)
			x = 4e9L;			/* far below the least decimal */
		fraction = frexpl(x, &exponent);
		exponent += DP_BOUND_BITS - 64;
		if (dp_acct_integer_set(loss, (dp_uint128) ldexpl(fraction, 64)) &&
			(exponent >= 0 ? BN_lshift(loss, loss, exponent) :
			 BN_rshift(loss, loss, -exponent)))
			status = dp_acct_decimal_from_loss(loss, out, ctx);
	}
	BN_CTX_end(ctx);
	BN_CTX_free(ctx);
	return status;
}

/*
 * dp_acct_decimal_to_fixed
 *	  The least fixed-point number that is not below a decimal.
 *
 * Requires: out non-NULL.
 * Gives:	 DP_OK; DP_E_OVERFLOW when it is not below DP_FIXED_INFINITE.
 * Source:	 doc/theory.md T20.
 */
dp_status
dp_acct_decimal_to_fixed(const dp_decimal *x, dp_fixed *out)
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
 * dp_acct_fixed_wide
 *	  A fixed-point number as long double.
 *
 * Requires: x finite.
 * Gives:	 x * 10^-24 with a relative error below 2^-62.
 * Source:	 doc/theory.md T31 (10^24 is exact in 64 bits).
 */
long double
dp_acct_fixed_wide(dp_fixed x)
{
	return (long double) x / 1e24L;
}
