/*
 * dp_round.h
 *	  The one rule by which values become whole granules.
 *
 * A value x is floor(x/g + 1/2) granules of size g = 2^exponent, exactly: the
 * nearest number, ties upwards.  So a value moves by at most half a granule,
 * equal values of different types become equal numbers, and a distance of d
 * becomes at most ceil(d/g) (doc/theory.md T40).
 *
 * Pure C, inline, because it runs for every row; no function fails.
 */
#ifndef DP_ROUND_H
#define DP_ROUND_H

#include <math.h>

#include "dp_noise.h"

/*
 * dp_round_scaled
 *	  floor(y + 1/2), exactly.
 *
 * Requires: y not NaN and |y| < 2^63.
 *
 * y + 1/2 would round.  Instead y is rounded to the nearest integer, ties to
 * even; the difference is exact, and 1/2 only where a tie went down.  Adding
 * and subtracting 1.5 * 2^52 rounds so without a call where |y| < 2^51.
 */
static inline int64_t
dp_round_scaled(double y)
{
	const double magic = 0x1.8p52;
	double		near;

	if (__builtin_expect(y > -0x1p51 && y < 0x1p51, 1))
		near = (y + magic) - magic;
	else
		near = rint(y);
	if (__builtin_expect(y - near == .5, 0))
		near += 1;				/* exact, as only small numbers have ties */
	return (int64_t) near;
}

/*
 * dp_round_double
 *	  floor(x / 2^exponent + 1/2), clamped to +-2^range; 0 for NaN.
 *
 * Requires: range <= 126.
 *
 * Scaling by a power of two is exact except where the result is too small to
 * matter or too large.  The difference to the floor is not always exact, but
 * rounding never carries it across 1/2.
 */
static inline dp_int128
dp_round_double(double x, int exponent, int range)
{
	double		y = ldexp(x, -exponent);
	double		limit = ldexp(1, range);
	double		below;

	if (isnan(x))
		return 0;
	if (y >= limit)
		return (dp_int128) 1 << range;
	if (y <= -limit)
		return -((dp_int128) 1 << range);
	below = floor(y);
	return (dp_int128) below + (y - below >= .5);
}

/*
 * dp_round_integer
 *	  floor(x / 2^exponent + 1/2) for an exponent of at least -63.
 */
static inline dp_int128
dp_round_integer(int64_t x, int exponent)
{
	if (exponent > 64)
		return 0;				/* |x| is below half a granule */
	if (exponent <= 0)
		return (dp_int128) x * ((dp_int128) 1 << -exponent);
	return ((dp_int128) x + ((dp_int128) 1 << (exponent - 1))) >> exponent;
}

#endif							/* DP_ROUND_H */
