/*
 * integer.h
 *	  Wide integer arithmetic that rationals and scales share.  Private to
 *	  src/mech.
 */
#ifndef DP_MECH_INTEGER_H
#define DP_MECH_INTEGER_H

#include "dp_mech.h"

/* Greatest common divisor; that of a and 0 is a. */
static inline dp_uint128
gcd128(dp_uint128 a, dp_uint128 b)
{
	dp_uint128	rest;

	while (b != 0)
	{
		rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/* a b = high 2^128 + low. */
static inline void
multiply_wide(dp_uint128 a, dp_uint128 b, dp_uint128 *high, dp_uint128 *low)
{
	uint64_t	a0 = (uint64_t) a;
	uint64_t	a1 = (uint64_t) (a >> 64);
	uint64_t	b0 = (uint64_t) b;
	uint64_t	b1 = (uint64_t) (b >> 64);
	dp_uint128	bottom = (dp_uint128) a0 * b0;

	/* each sum is at most (2^64-1)^2 + 2^64 - 1 < 2^128 */
	dp_uint128	cross = (dp_uint128) a1 * b0 + (uint64_t) (bottom >> 64);
	dp_uint128	middle = (dp_uint128) a0 * b1 + (uint64_t) cross;

	*low = middle << 64 | (uint64_t) bottom;
	*high = (dp_uint128) a1 * b1 + (uint64_t) (cross >> 64) +
		(uint64_t) (middle >> 64);
}

#endif							/* DP_MECH_INTEGER_H */
