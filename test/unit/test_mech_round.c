/*
 * test_mech_round.c
 *	  The one rounding to granules against exact integer arithmetic: ties,
 *	  numbers beside ties, ends, random numbers; and that the roundings which
 *	  it is not are caught.
 *
 * Every check is exact: the false-alarm rate is 0.
 */
#include "tap.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "dp_round.h"

#define NUMBERS 2000000

typedef dp_int128 (*rounding) (double y);

static uint64_t state = 20261123;

static uint64_t
next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* floor(y + 1/2) from the bits of y, |y| < 2^64. */
static dp_int128
exact(double y)
{
	int			exponent;
	dp_int128	m = (dp_int128) ldexp(frexp(y, &exponent), 53);

	exponent -= 53;				/* y = m * 2^exponent */
	if (exponent >= 0)
		return m * ((dp_int128) 1 << exponent);
	if (exponent < -60)
		return 0;
	return (m + ((dp_int128) 1 << (-exponent - 1))) >> -exponent;
}

static dp_int128
scaled(double y)
{
	return dp_round_scaled(y);
}

static dp_int128
wide(double y)
{
	return dp_round_double(ldexp(y, 7), 7, 100);
}

static dp_int128
half_even(double y)
{
	return (dp_int128) rint(y);
}

static dp_int128
sum_first(double y)
{
	return (dp_int128) floor(y + .5);
}

static dp_int128
half_away(double y)
{
	return (dp_int128) round(y);
}

/* A number near an integer or a half, of a size from tiny to 2^62. */
static double
pick(void)
{
	double		y = (double) (int64_t) (next() >> (2 + next() % 61));
	int			steps = (int) (next() % 5) - 2;

	y = ldexp(y, -(int) (next() % 3));
	while (steps != 0)
	{
		y = nextafter(y, steps > 0 ? INFINITY : -INFINITY);
		steps += steps > 0 ? -1 : 1;
	}
	if (next() % 4 == 0)
		y *= (double) next() * 0x1p-64;
	return next() % 2 ? y : -y;
}

static int
wrong(rounding f)
{
	int			n = 0;
	int			i;

	state = 20261123;
	for (i = 0; i < NUMBERS; i++)
	{
		double		y = pick();

		n += f(y) != exact(y);
	}
	return n;
}

static int
wrong_integers(void)
{
	int			n = 0;
	int			i;

	for (i = 0; i < NUMBERS; i++)
	{
		int64_t		x = (int64_t) next() >> (next() % 64);
		int			e = (int) (next() % 65);
		dp_int128	k = dp_round_integer(x, e);
		dp_int128	twice = 2 * (dp_int128) x;
		dp_int128	g = (dp_int128) 1 << e;

		/* k - 1/2 <= x/g < k + 1/2 */
		n += !((2 * k - 1) * g <= twice && twice < (2 * k + 1) * g);
		if (e < 63)
			n += dp_round_integer(x, -e) != x * g;
	}
	return n;
}

int
main(void)
{
	tap_ok(wrong(scaled) == 0, "%d numbers", NUMBERS);
	tap_ok(wrong(wide) == 0, "the same of any size and granule");
	tap_ok(wrong_integers() == 0, "%d integers", NUMBERS);
	tap_ok(wrong(half_even) > 0, "ties to even are caught");
	tap_ok(wrong(sum_first) > 0, "a rounded sum is caught");
	tap_ok(wrong(half_away) > 0, "ties away from zero are caught");
	tap_ok(dp_round_integer(INT64_MIN, 65) == 0 &&
		   dp_round_integer(INT64_MIN, 64) == 0 &&
		   dp_round_integer(INT64_MIN, 63) == -1 &&
		   dp_round_integer(INT64_MAX, 63) == 1, "the ends of 64 bits");
	tap_ok(dp_round_double(NAN, 0, 100) == 0 &&
		   dp_round_double(INFINITY, 5, 100) == (dp_int128) 1 << 100 &&
		   dp_round_double(-INFINITY, 5, 100) == -((dp_int128) 1 << 100) &&
		   dp_round_double(DBL_MAX, -1000, 100) == (dp_int128) 1 << 100 &&
		   dp_round_double(DBL_MIN, 1000, 100) == 0 &&
		   dp_round_double(-DBL_MIN, 1000, 100) == 0, "what is no number");
	return tap_done();
}
