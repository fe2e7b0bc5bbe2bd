/*
 * squares.c
 *	  Sums of squared epsilons, which the advanced filter counts: what a
 *	  charge adds, and their bound.
 */
#include "value.h"

#define TRILLION UINT64_C(1000000000000)

/*
 * dp_acct_square
 *	  What a pure charge adds to the advanced filter's sum.
 *
 * Requires: nothing.
 * Gives:	 epsilon^2 rounded up to the grid; DP_FIXED_INFINITE when it does
 *			 not fit or epsilon is infinite.
 * Source:	 doc/theory.md T37, T20.
 */
dp_fixed
dp_acct_square(dp_fixed epsilon)
{
	/* e = a 10^12 + b: e^2 / 10^24 = a^2 + (2ab + b^2/10^12) / 10^12 */
	dp_uint128	a = epsilon / TRILLION;
	dp_uint128	b = epsilon % TRILLION;
	dp_uint128	rest;

	if (epsilon == DP_FIXED_INFINITE || a >> 64 != 0)
		return DP_FIXED_INFINITE;
	rest = 2 * a * b + (b * b + TRILLION - 1) / TRILLION;
	return dp_acct_fixed_add(a * a, (rest + TRILLION - 1) / TRILLION);
}

/*
 * dp_acct_squares_limit
 *	  The bound of the advanced filter on sums of squared epsilons.
 *
 * sqrt(2 L S) + S/2 <= E, L = ln(1/delta), holds exactly for
 * S <= 2 E^2 / (2L + E + 2 sqrt(L (L + E))).
 *
 * Requires: squares non-NULL.
 * Gives:	 DP_OK and that S rounded down (by 2^-100 of it and one unit);
 *			 DP_E_RANGE when epsilon is infinite or delta not in (0, 1);
 *			 DP_E_OVERFLOW; DP_E_MEMORY.
 * Source:	 doc/theory.md T37.
 */
dp_status
dp_acct_squares_limit(dp_fixed epsilon, dp_fixed delta, dp_fixed *squares)
{
	dp_big		b;
	BIGNUM	   *l;
	BIGNUM	   *e;
	BIGNUM	   *den;
	BIGNUM	   *x;

	if (epsilon == DP_FIXED_INFINITE || delta == 0 || delta >= DP_FIXED_ONE)
		return DP_E_RANGE;
	dp_mech_big_begin(&b);
	l = value_log_over(&b, 1, delta, DP_ROUND_UP);
	e = big_add(&b, value_from_fixed(&b, epsilon, DP_ROUND_UP), l);
	den = value_root(&b, value_product(&b, l, e, DP_ROUND_UP), DP_ROUND_UP);
	den = big_add(&b, big_add(&b, big_shift(&b, den, 1), e), l);
	x = big_square(&b, value_from_fixed(&b, epsilon, DP_ROUND_DOWN));
	x = big_divide(&b, big_shift(&b, x, 1), den);
	return dp_acct_end_fixed(&b, value_to_fixed(&b, x, DP_ROUND_DOWN),
							 squares);
}
