/*
 * test_acct_fixed.c
 *	  Fixed point: rounding directions against exact integer arithmetic,
 *	  saturation, and that a conversion with a wrong direction is caught.
 *
 * Every check is exact: the false-alarm rate is 0.
 */
#include "acct_support.h"

#include <math.h>

typedef dp_status (*convert) (const dp_rational *x, dp_rounding rounding,
							  dp_fixed *out);

/* Ignores its direction, so it rounds charges down: must be caught. */
static dp_status
broken_down(const dp_rational *x, dp_rounding rounding, dp_fixed *out)
{
	(void) rounding;
	return dp_accounting_fixed_from_rational(x, DP_ROUND_DOWN, out);
}

/* Rounds limits up: must be caught. */
static dp_status
broken_up(const dp_rational *x, dp_rounding rounding, dp_fixed *out)
{
	(void) rounding;
	return dp_accounting_fixed_from_rational(x, DP_ROUND_UP, out);
}

/* Adds one always, also to exact values: must be caught. */
static dp_status
broken_careful(const dp_rational *x, dp_rounding rounding, dp_fixed *out)
{
	dp_status	status = dp_accounting_fixed_from_rational(x, DP_ROUND_DOWN,
														   out);

	if (status == DP_OK && rounding == DP_ROUND_UP)
		*out += 1;
	return status;
}

/*
 * The number of random rationals for which `f` is not exactly the floor or
 * the ceiling: for x = n/d, floor f means f d <= n 10^24 < (f+1) d.
 */
static int
wrong_roundings(convert f, int rounds)
{
	stream		s = {20261121};
	int			wrong = 0;
	int			i;

	for (i = 0; i < rounds; i++)
	{
		dp_uint128	n = stream_wide(&s, 128);
		dp_uint128	d = stream_wide(&s, 128);
		dp_rational x;
		dp_fixed	down = 7;
		dp_fixed	up = 7;
		dp_status	status_down;
		dp_status	status_up;

		if (i % 4 == 0)
			d = ((dp_uint128) 1 << (i % 25)) * (i % 3 == 0 ? 125 : 1);
		if (d == 0)
			continue;
		x = ratio(n, d);
		status_down = f(&x, DP_ROUND_DOWN, &down);
		status_up = f(&x, DP_ROUND_UP, &up);
		/* it fits iff n 10^24 / d rounds to at most 2^128 - 2 */
		if (status_down == DP_E_OVERFLOW)
			wrong += down != 7 ||
				compare_products(n, DP_FIXED_ONE, DP_FIXED_INFINITE, d) < 0;
		else
			wrong += status_down != DP_OK || down == DP_FIXED_INFINITE ||
				compare_products(down, d, n, DP_FIXED_ONE) > 0 ||
				compare_products(down + 1, d, n, DP_FIXED_ONE) <= 0;
		if (status_up == DP_E_OVERFLOW)
			wrong += up != 7 ||
				compare_products(n, DP_FIXED_ONE, DP_FIXED_INFINITE - 1,
								 d) <= 0;
		else
			wrong += status_up != DP_OK || up == DP_FIXED_INFINITE ||
				compare_products(up, d, n, DP_FIXED_ONE) < 0 ||
				(up > 0 && compare_products(up - 1, d, n, DP_FIXED_ONE) >= 0);
	}
	return wrong;
}

static void
test_edges(void)
{
	dp_rational x;
	dp_rational y = {5, 7};
	dp_fixed	f;
	dp_rational no_den = {1, 0};
	const dp_uint128 top = DP_FIXED_INFINITE / DP_FIXED_ONE;

	x = ratio(3, 10);
	tap_ok(dp_accounting_fixed_from_rational(&x, DP_ROUND_DOWN, &f) == DP_OK &&
		   f == fixed("0.3") &&
		   dp_accounting_fixed_from_rational(&x, DP_ROUND_UP, &f) == DP_OK &&
		   f == fixed("0.3"), "0.3 is on the grid in both directions");
	x = ratio(1, 3);
	tap_ok(dp_accounting_fixed_from_rational(&x, DP_ROUND_DOWN, &f) == DP_OK &&
		   f == wide("333333333333333333333333") &&
		   dp_accounting_fixed_from_rational(&x, DP_ROUND_UP, &f) == DP_OK &&
		   f == wide("333333333333333333333334"), "1/3 down and up");
	x = ratio(~(dp_uint128) 0 - 1, ~(dp_uint128) 0);
	tap_ok(dp_accounting_fixed_from_rational(&x, DP_ROUND_DOWN, &f) == DP_OK &&
		   f == DP_FIXED_ONE - 1 &&
		   dp_accounting_fixed_from_rational(&x, DP_ROUND_UP, &f) == DP_OK &&
		   f == DP_FIXED_ONE,
		   "(2^128-2)/(2^128-1): carry into the whole part");
	x = ratio(DP_FIXED_INFINITE - 1, DP_FIXED_ONE);
	tap_ok(dp_accounting_fixed_from_rational(&x, DP_ROUND_UP, &f) == DP_OK &&
		   f == DP_FIXED_INFINITE - 1, "the largest finite number fits");
	x = ratio(DP_FIXED_INFINITE, DP_FIXED_ONE);
	f = 3;
	tap_ok(dp_accounting_fixed_from_rational(&x, DP_ROUND_DOWN, &f) ==
		   DP_E_OVERFLOW && f == 3,
		   "a number that would read as infinite is an overflow");
	x = ratio(top + 1, 1);
	tap_ok(dp_accounting_fixed_from_rational(&x, DP_ROUND_DOWN, &f) ==
		   DP_E_OVERFLOW && f == 3, "too large is an overflow, untouched");
	tap_ok(dp_accounting_fixed_from_rational(&no_den, DP_ROUND_DOWN, &f) ==
		   DP_E_RANGE && f == 3, "denominator 0 is out of range");

	tap_ok(dp_accounting_fixed_to_rational(fixed("0.25"), &y) == DP_OK &&
		   y.num == 1 && y.den == 4, "0.25 is 1/4");
	tap_ok(dp_accounting_fixed_to_rational(0, &y) == DP_OK && y.num == 0 &&
		   y.den == 1, "0 is 0/1");
	tap_ok(dp_accounting_fixed_to_rational(DP_FIXED_INFINITE - 1,
										   &y) == DP_OK &&
		   compare_products(y.num, DP_FIXED_ONE, DP_FIXED_INFINITE - 1,
							y.den) == 0, "the largest number is exact");
	y.num = 9;
	tap_ok(dp_accounting_fixed_to_rational(DP_FIXED_INFINITE,
										   &y) == DP_E_RANGE &&
		   y.num == 9, "infinity is not a rational");

	tap_ok(dp_accounting_fixed_add(fixed("0.1"), fixed("0.2")) == fixed("0.3"),
		   "0.1 + 0.2 = 0.3");
	tap_ok(dp_accounting_fixed_add(DP_FIXED_INFINITE - 1, 0) ==
		   DP_FIXED_INFINITE - 1 &&
		   dp_accounting_fixed_add(DP_FIXED_INFINITE - 1,
								   1) == DP_FIXED_INFINITE &&
		   dp_accounting_fixed_add(DP_FIXED_INFINITE - 1,
								   DP_FIXED_INFINITE - 1) ==
		   DP_FIXED_INFINITE &&
		   dp_accounting_fixed_add(DP_FIXED_INFINITE,
								   0) == DP_FIXED_INFINITE &&
		   dp_accounting_fixed_add(1, DP_FIXED_INFINITE) == DP_FIXED_INFINITE,
		   "sums saturate and stay saturated");
	tap_ok(isinf(dp_accounting_fixed_approx(DP_FIXED_INFINITE)) &&
		   dp_accounting_fixed_approx(0) == 0 &&
		   fabs(dp_accounting_fixed_approx(fixed("0.1")) - 0.1) < 1e-16,
		   "approximation for people");
}

int
main(void)
{
	int			wrong = wrong_roundings(dp_accounting_fixed_from_rational,
										20000);

	tap_ok(wrong == 0, "20000 random rationals: floor and ceiling exact (%d)",
		   wrong);
	tap_ok(wrong_roundings(broken_down, 2000) > 100,
		   "rounding charges down is caught");
	tap_ok(wrong_roundings(broken_up, 2000) > 100,
		   "rounding limits up is caught");
	tap_ok(wrong_roundings(broken_careful, 2000) > 10,
		   "adding a unit to exact values is caught");
	test_edges();
	return tap_done();
}
