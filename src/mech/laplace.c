/*
 * laplace.c
 *	  The scale of Laplace noise and the discrete Laplace law.
 */
#include "dp_mech.h"

#include "integer.h"
#include "sampler.h"

/*
 * dp_mech_scale_make
 *	  The exact scale sensitivity / epsilon of Laplace noise.
 *
 * Requires: sensitivity in granules of the value, epsilon a rational.
 * Gives:	 DP_OK with *out = t/s in lowest terms, t < 2^256 and s < 2^128,
 *			 so this never overflows; DP_E_RANGE when sensitivity or epsilon
 *			 is 0 (no noise is no mechanism) or epsilon's denominator is 0,
 *			 with *out untouched.
 * Source:	 doc/theory.md T6 (the Laplace mechanism), T8 (narrow).
 */
dp_status
dp_mech_scale_make(dp_uint128 sensitivity, const dp_rational *epsilon,
				   dp_scale *out)
{
	dp_rational reduced;
	dp_uint128	common;
	dp_uint128	high;
	dp_uint128	low;
	dp_uint128	s;
	dp_status	status;

	status = dp_mech_rational_make(epsilon->num, epsilon->den, &reduced);
	if (status != DP_OK)
		return status;
	if (sensitivity == 0 || reduced.num == 0)
		return DP_E_RANGE;

	/* sensitivity den / num, in lowest terms as num and den are coprime */
	common = gcd128(sensitivity, reduced.num);
	multiply_wide(sensitivity / common, reduced.den, &high, &low);
	s = reduced.num / common;
	out->t[0] = (uint64_t) low;
	out->t[1] = (uint64_t) (low >> 64);
	out->t[2] = (uint64_t) high;
	out->t[3] = (uint64_t) (high >> 64);
	out->s[0] = (uint64_t) s;
	out->s[1] = (uint64_t) (s >> 64);
	out->s[2] = 0;
	out->s[3] = 0;
	out->narrow = high == 0 && low >> 96 == 0;
	return DP_OK;
}

/*
 * dp_mech_discrete_laplace
 *	  Draw X with P[X = x] proportional to exp(-|x| s/t), x any integer.
 *
 * Requires: scale from dp_mech_scale_make.
 * Gives:	 DP_OK with *out set; DP_E_OVERFLOW when the exact draw has
 *			 |X| >= 2^127 (the sign is not drawn then, so the refusal is
 *			 symmetric and says nothing but that), DP_E_RANGE, DP_E_RANDOM,
 *			 DP_E_MEMORY; *out is then untouched.
 * Source:	 doc/theory.md T5.
 */
dp_status
dp_mech_discrete_laplace(dp_source *source, const dp_scale *scale,
						 dp_int128 *out)
{
	dp_int128	magnitude;
	unsigned	sign;
	dp_status	status;

	do
	{
		status = dp_mech_geometric(source, scale, &magnitude);
		if (status != DP_OK)
			return status;
		status = source_byte(source, &sign);
		if (status != DP_OK)
			return status;
		sign &= 1;
	} while (sign == 1 && magnitude == 0);
	*out = sign == 1 ? -magnitude : magnitude;
	return DP_OK;
}
