/*
 * fixed.c
 *	  Fixed-point numbers of exactly 24 decimal digits: what charges and
 *	  limits are made of.
 *
 * A dp_fixed x stands for the number x * 10^-24.  DP_FIXED_INFINITE is not a
 * number but "no finite bound": a sum that reaches it stays there, and no
 * filter admits it where a finite sum is required.
 */
#include <math.h>

#include "../numbers/dp_numbers.h"
#include "dp_accounting.h"

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
 * dp_accounting_fixed_from_rational
 *	  Put an exact rational on the grid of 10^-24.
 *
 * Requires: x in the form dp_noise.h states; out non-NULL.
 * Gives:	 DP_OK and the floor (DP_ROUND_DOWN) or the ceiling (DP_ROUND_UP)
 *			 of x * 10^24; DP_E_RANGE when x->den is 0; DP_E_OVERFLOW when
 *			 that is not below DP_FIXED_INFINITE (about 3.4 * 10^14).
 * Source:	 doc/theory.md T20.
 */
dp_status
dp_accounting_fixed_from_rational(const dp_rational *x, dp_rounding rounding,
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
 * dp_accounting_fixed_to_rational
 *	  The exact value of a fixed-point number.
 *
 * Requires: out non-NULL.
 * Gives:	 DP_OK and x * 10^-24 in lowest terms; DP_E_RANGE for
 *			 DP_FIXED_INFINITE.
 * Source:	 doc/theory.md T20.
 */
dp_status
dp_accounting_fixed_to_rational(dp_fixed x, dp_rational *out)
{
	if (x == DP_FIXED_INFINITE)
		return DP_E_RANGE;
	return dp_numbers_rational_make(x, DP_FIXED_ONE, out);
}

/*
 * dp_accounting_fixed_add
 *	  Sum of two fixed-point numbers.
 *
 * Requires: nothing.
 * Gives:	 the exact sum when both are finite and it is below
 *			 DP_FIXED_INFINITE, else DP_FIXED_INFINITE.
 * Source:	 doc/theory.md T20.
 */
dp_fixed
dp_accounting_fixed_add(dp_fixed a, dp_fixed b)
{
	return b > DP_FIXED_INFINITE - a ? DP_FIXED_INFINITE : a + b;
}

/*
 * dp_accounting_fixed_left
 *	  What is left of a limit.
 *
 * Requires: nothing.
 * Gives:	 limit - spent, or 0 where that is less.
 * Source:	 doc/theory.md T20.
 */
dp_fixed
dp_accounting_fixed_left(dp_fixed limit, dp_fixed spent)
{
	return spent >= limit ? 0 : limit - spent;
}

/*
 * dp_accounting_fixed_approx
 *	  Nearby floating-point number, for display and for proposals: it proves
 *	  nothing.
 *
 * Requires: nothing.
 * Gives:	 x * 10^-24 to about 15 digits; infinity for DP_FIXED_INFINITE.
 * Source:	 doc/theory.md T20.
 */
double
dp_accounting_fixed_approx(dp_fixed x)
{
	return x == DP_FIXED_INFINITE ? (double) INFINITY : (double) x / 1e24;
}

/* ----------------
 *		Fixed-point numbers as groups of four decimal digits, which is how SQL
 *		numeric holds and sends its values.
 *
 * Group i of n stands for digits[i] * 10000^(weight - i).  A dp_fixed has 24
 * digits after the point, so the unit 10^-24 is a group boundary: the group
 * of weight -6.
 * ----------------
 */

#define GROUP 10000
/* weights of the last group of a dp_fixed and of the first one below 10^12 */
#define LAST_WEIGHT (-DP_FIXED_DIGITS / 4)
#define FIRST_WEIGHT 2

/*
 * dp_accounting_fixed_from_groups
 *	  Put a decimal number on the grid of 10^-24.
 *
 * Requires: digits[0 .. n) below 10000, n >= 0; out, exact non-NULL.
 * Gives:	 DP_OK and the floor (DP_ROUND_DOWN) or the ceiling (DP_ROUND_UP)
 *			 of the number times 10^24, *exact telling whether they agree;
 *			 DP_E_OVERFLOW for a number of 10^12 or more; DP_E_RANGE for a
 *			 group of 10000 or more.
 * Source:	 doc/theory.md T20.
 */
dp_status
dp_accounting_fixed_from_groups(const uint16_t *digits, int n, int weight,
								dp_rounding rounding, dp_fixed *out,
								bool *exact)
{
	dp_fixed	x = 0;
	bool		cut = false;
	int			last = weight - n + 1;	/* weight of the last group read */
	int			i;

	for (i = 0; i < n; i++)
	{
		if (digits[i] >= GROUP)
			return DP_E_RANGE;
		if (digits[i] != 0 && weight - i > FIRST_WEIGHT)
			return DP_E_OVERFLOW;
		if (weight - i >= LAST_WEIGHT)
			x = x * GROUP + digits[i];
		else
			cut = cut || digits[i] != 0;
	}
	if (x != 0)
		for (i = last; i > LAST_WEIGHT; i--)
			x *= GROUP;
	if (cut && rounding == DP_ROUND_UP)
		x++;
	*out = x;
	*exact = !cut;
	return DP_OK;
}

/*
 * dp_accounting_fixed_to_groups
 *	  The digits of a fixed-point number, without zeros at either end.
 *
 * Requires: x not DP_FIXED_INFINITE; digits has room for DP_FIXED_GROUPS.
 * Gives:	 the number of groups, 0 for zero, with the weight of the first in
 *			 *weight and the number of decimal digits after the point, zeros
 *			 at the end not counted, in *scale.
 * Source:	 doc/theory.md T20.
 */
int
dp_accounting_fixed_to_groups(dp_fixed x, uint16_t *digits, int *weight,
							  int *scale)
{
	const uint64_t part = UINT64_C(10000000000000000);	/* four groups */
	uint64_t	parts[3];
	uint16_t	all[12];
	int			first = 0;
	int			end = 12;
	int			tail;
	int			i;
	int			j;

	parts[2] = (uint64_t) (x % part);
	x /= part;
	parts[1] = (uint64_t) (x % part);
	parts[0] = (uint64_t) (x / part);
	for (i = 0; i < 3; i++)
		for (j = 3; j >= 0; j--)
		{
			all[4 * i + j] = (uint16_t) (parts[i] % GROUP);
			parts[i] /= GROUP;
		}
	while (first < 12 && all[first] == 0)
		first++;
	*weight = 11 - first + LAST_WEIGHT;
	*scale = 0;
	if (first == 12)
	{
		*weight = 0;
		return 0;
	}
	while (all[end - 1] == 0)
		end--;
	/* The last group has weight 11 - (end - 1) + LAST_WEIGHT. */
	if (12 - end + LAST_WEIGHT < 0)
	{
		*scale = 4 * (end - 12 - LAST_WEIGHT);
		for (tail = all[end - 1]; tail % 10 == 0; tail /= 10)
			(*scale)--;
	}
	for (i = first; i < end; i++)
		digits[i - first] = all[i];
	return end - first;
}
