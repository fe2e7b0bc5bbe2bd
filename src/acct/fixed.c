/*
 * fixed.c
 *	  Fixed-point numbers of exactly 24 decimal digits: what charges and
 *	  limits are made of.
 *
 * A dp_fixed x stands for the number x * 10^-24.  DP_FIXED_INFINITE is not a
 * number but "no finite bound": a sum that reaches it stays there, and no
 * filter admits it where a finite sum is required.
 */
#include "dp_acct.h"

#include <math.h>

/*
 * Quotient and remainder of a * b / n, for a < n.  The quotient is at most b
 * and b is read one bit at a time, so no intermediate result exceeds 128 bits.
 *
 * Invariant: a * (bits of b read so far) = quotient * n + rest, rest < n.
 */
static dp_uint128
multiply_divide(dp_uint128 a, dp_uint128 b, dp_uint128 n, dp_uint128 *rest)
{
	dp_uint128	quotient = 0;
	dp_uint128	r = 0;
	int			bit;

	for (bit = 127; bit >= 0; bit--)
	{
		/* r = 2r mod n; n - r does not wrap, 2r might */
		quotient <<= 1;
		if (r >= n - r)
		{
			r -= n - r;
			quotient |= 1;
		}
		else
			r += r;

		if ((b >> bit) & 1)
		{
			if (r >= n - a)
			{
				r -= n - a;
				quotient++;
			}
			else
				r += a;
		}
	}
	*rest = r;
	return quotient;
}

/*
 * dp_acct_fixed_from_rational
 *	  Put an exact rational on the grid of 10^-24.
 *
 * Requires: x in the form dp_mech.h states; out non-NULL.
 * Gives:	 DP_OK and the floor (DP_ROUND_DOWN) or the ceiling (DP_ROUND_UP)
 *			 of x * 10^24; DP_E_RANGE when x->den is 0; DP_E_OVERFLOW when
 *			 that is not below DP_FIXED_INFINITE (about 3.4 * 10^14).
 * Source:	 doc/theory.md T20.
 */
dp_status
dp_acct_fixed_from_rational(const dp_rational *x, dp_rounding rounding,
							dp_fixed *out)
{
	dp_uint128	whole;
	dp_uint128	part;
	dp_uint128	rest;

	if (x->den == 0)
		return DP_E_RANGE;
	whole = x->num / x->den;
	part = multiply_divide(x->num % x->den, DP_FIXED_ONE, x->den, &rest);
	if (rounding == DP_ROUND_UP && rest != 0)
		part++;					/* at most DP_FIXED_ONE */
	if (whole > (DP_FIXED_INFINITE - 1 - part) / DP_FIXED_ONE)
		return DP_E_OVERFLOW;
	*out = whole * DP_FIXED_ONE + part;
	return DP_OK;
}

/*
 * dp_acct_fixed_to_rational
 *	  The exact value of a fixed-point number.
 *
 * Requires: out non-NULL.
 * Gives:	 DP_OK and x * 10^-24 in lowest terms; DP_E_RANGE for
 *			 DP_FIXED_INFINITE.
 * Source:	 doc/theory.md T20.
 */
dp_status
dp_acct_fixed_to_rational(dp_fixed x, dp_rational *out)
{
	if (x == DP_FIXED_INFINITE)
		return DP_E_RANGE;
	return dp_mech_rational_make(x, DP_FIXED_ONE, out);
}

/*
 * dp_acct_fixed_add
 *	  Sum of two fixed-point numbers.
 *
 * Requires: nothing.
 * Gives:	 the exact sum when both are finite and it is below
 *			 DP_FIXED_INFINITE, else DP_FIXED_INFINITE.
 * Source:	 doc/theory.md T20.
 */
dp_fixed
dp_acct_fixed_add(dp_fixed a, dp_fixed b)
{
	return b > DP_FIXED_INFINITE - a ? DP_FIXED_INFINITE : a + b;
}

/*
 * dp_acct_fixed_left
 *	  What is left of a limit.
 *
 * Requires: nothing.
 * Gives:	 limit - spent, or 0 where that is less.
 * Source:	 doc/theory.md T20.
 */
dp_fixed
dp_acct_fixed_left(dp_fixed limit, dp_fixed spent)
{
	return spent >= limit ? 0 : limit - spent;
}

/*
 * dp_acct_fixed_approx
 *	  Nearby floating-point number, for display and for proposals: it proves
 *	  nothing.
 *
 * Requires: nothing.
 * Gives:	 x * 10^-24 to about 15 digits; infinity for DP_FIXED_INFINITE.
 * Source:	 doc/theory.md T20.
 */
double
dp_acct_fixed_approx(dp_fixed x)
{
	return x == DP_FIXED_INFINITE ? (double) INFINITY : (double) x / 1e24;
}
