/*
 * test_acct_decimal.c
 *	  Groups of four decimal digits: conversions against decimal text, both
 *	  rounding directions, limits, and that a wrong weight is caught.
 *
 * Every check is exact: the false-alarm rate is 0.
 */
#include "acct_support.h"

#include <string.h>

typedef int (*to_groups) (dp_fixed x, uint16_t *digits, int *weight,
						  int *scale);

/* Forgets that zeros at the end carry weight: must be caught. */
static int
broken_groups(dp_fixed x, uint16_t *digits, int *weight, int *scale)
{
	int			n = dp_accounting_fixed_to_groups(x, digits, weight, scale);

	if (n < 3)
		(*weight)--;
	return n;
}

/* The text of groups, by printing each of them. */
static void
groups_text(const uint16_t *digits, int n, int weight, char *out)
{
	int			top = weight > 0 ? weight : 0;
	int			w;

	for (w = top; w >= -6; w--)
	{
		int			i = weight - w;

		if (w == -1)
			*out++ = '.';
		out += sprintf(out, "%04d", i >= 0 && i < n ? digits[i] : 0);
	}
	*out = '\0';
}

/* Numbers of random size whose groups are not their decimal digits. */
static int
wrong_digits(to_groups f, int rounds)
{
	stream		s = {20261122};
	int			wrong = 0;
	int			i;

	for (i = 0; i < rounds; i++)
	{
		dp_fixed	x = stream_wide(&s, 128);
		uint16_t	digits[DP_FIXED_GROUPS];
		char		text[80];
		char		whole[80];
		const char *p;
		const char *point;
		int			weight;
		int			scale;
		int			n;
		int			places;

		if (i % 3 == 0)
			x = (x >> 64) * wide("100000000000000000000");
		if (x == DP_FIXED_INFINITE)
			continue;
		n = f(x, digits, &weight, &scale);
		groups_text(digits, n, weight, text);
		/* without the point it is the integer x, but for zeros in front */
		point = strchr(text, '.');
		memcpy(whole, text, point - text);
		strcpy(whole + (point - text), point + 1);
		for (p = whole; *p == '0' && p[1] != '\0'; p++)
			;
		wrong += strcmp(p, wide_text(x)) != 0;
		for (places = 24; places > 0 && point[places] == '0'; places--)
			;
		wrong += scale != places || n > DP_FIXED_GROUPS ||
			(n > 0 && (digits[0] == 0 || digits[n - 1] == 0));
	}
	return wrong;
}

/* Numbers below 10^12 that do not come back as they were. */
static int
wrong_trips(int rounds)
{
	stream		s = {20261123};
	int			wrong = 0;
	int			i;

	for (i = 0; i < rounds; i++)
	{
		dp_fixed	x = stream_wide(&s, 119);	/* below 10^36 */
		dp_fixed	down = 1;
		dp_fixed	up = 2;
		uint16_t	digits[DP_FIXED_GROUPS + 2];
		bool		exact = false;
		int			weight;
		int			scale;
		int			n = dp_accounting_fixed_to_groups(x, digits, &weight,
													  &scale);

		wrong += dp_accounting_fixed_from_groups(digits, n, weight,
												 DP_ROUND_DOWN,
												 &down, &exact) != DP_OK ||
			!exact || down != x;
		wrong += dp_accounting_fixed_from_groups(digits, n, weight,
												 DP_ROUND_UP,
												 &up, &exact) != DP_OK ||
			!exact || up != x;
		/* with digits beyond the grid */
		for (; weight - n + 1 > -6; n++)
			digits[n] = 0;
		digits[n++] = 0;
		digits[n++] = (uint16_t) (1 + stream_below(&s, 9999));
		wrong += dp_accounting_fixed_from_groups(digits, n, weight,
												 DP_ROUND_DOWN,
												 &down, &exact) != DP_OK ||
			exact || down != x;
		wrong += dp_accounting_fixed_from_groups(digits, n, weight,
												 DP_ROUND_UP,
												 &up, &exact) != DP_OK ||
			exact || up != x + 1;
	}
	return wrong;
}

static void
test_edges(void)
{
	uint16_t	digits[DP_FIXED_GROUPS];
	uint16_t	nines[9];
	uint16_t	given[2] = {1, 0};
	dp_fixed	x = 5;
	bool		exact;
	int			weight;
	int			scale;
	int			i;

	tap_ok(dp_accounting_fixed_to_groups(0, digits, &weight, &scale) == 0 &&
		   scale == 0, "zero has no groups");
	tap_ok(dp_accounting_fixed_from_groups(digits, 0, 0, DP_ROUND_UP, &x,
										   &exact) == DP_OK && x == 0 && exact,
		   "no groups are zero");
	tap_ok(dp_accounting_fixed_to_groups(DP_FIXED_INFINITE - 1, digits,
										 &weight, &scale) == DP_FIXED_GROUPS &&
		   weight == 3 && scale == 24, "the largest finite number");
	tap_ok(dp_accounting_fixed_to_groups(fixed("0.1"), digits, &weight,
										 &scale) == 1 && digits[0] == 1000 &&
		   weight == -1 && scale == 1, "0.1 is one group");
	tap_ok(dp_accounting_fixed_to_groups(fixed("10000"), digits, &weight,
										 &scale) == 1 && digits[0] == 1 &&
		   weight == 1 && scale == 0, "10000 is one group");
	for (i = 0; i < 9; i++)
		nines[i] = 9999;
	tap_ok(dp_accounting_fixed_from_groups(nines, 9, 2, DP_ROUND_DOWN, &x,
										   &exact) == DP_OK && exact &&
		   x == wide("999999999999999999999999999999999999"),
		   "the largest number read");
	x = 5;
	tap_ok(dp_accounting_fixed_from_groups(given, 1, 3, DP_ROUND_DOWN, &x,
										   &exact) == DP_E_OVERFLOW && x == 5,
		   "10^12 is too large, untouched");
	tap_ok(dp_accounting_fixed_from_groups(given, 1, -7, DP_ROUND_UP, &x,
										   &exact) == DP_OK && x == 1 &&
										   !exact &&
		   dp_accounting_fixed_from_groups(given, 1, -3000, DP_ROUND_DOWN, &x,
										   &exact) == DP_OK && x == 0 &&
										   !exact,
		   "far below the grid: up to one unit, down to zero");
	given[0] = 10000;
	x = 5;
	tap_ok(dp_accounting_fixed_from_groups(given, 2, 0, DP_ROUND_DOWN, &x,
										   &exact) == DP_E_RANGE && x == 5,
		   "a group of 10000 is out of range");
}

int
main(void)
{
	int			wrong = wrong_digits(dp_accounting_fixed_to_groups, 20000);

	tap_ok(wrong == 0, "20000 random numbers: groups are their digits (%d)",
		   wrong);
	wrong = wrong_trips(20000);
	tap_ok(wrong == 0, "20000 round trips, exact and rounded (%d)", wrong);
	tap_ok(wrong_digits(broken_groups, 2000) > 50,
		   "a wrong weight is caught");
	test_edges();
	return tap_done();
}
