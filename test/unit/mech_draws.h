/*
 * mech_draws.h
 *	  Draws of sampler.h that the extension makes only on the way to others,
 *	  by themselves, so that their laws can be tested.
 */
#ifndef MECH_DRAWS_H
#define MECH_DRAWS_H

#include "dp_numbers.h"
#include "dp_noise.h"
#include "noise_internal.h"

/*
 * uniform_below_wide
 *	  dp_noise_uniform_below for n of up to 128 bits.
 *
 * Requires: source initialised.
 * Gives:	 as dp_noise_uniform_below.
 * Source:	 doc/theory.md T1.
 */
static inline dp_status
uniform_below_wide(dp_source *source, dp_uint128 n, dp_uint128 *out)
{
	if (n == 0)
		return DP_E_RANGE;
	return uniform128(source, n, out);
}

/*
 * bernoulli_rational
 *	  Draw a coin that is true with probability p.
 *
 * Requires: p->den > 0 and p->num <= p->den.
 * Gives:	 DP_OK with P[*out] = p exactly; DP_E_RANGE when p is no
 *			 probability, DP_E_RANDOM when the source fails, with *out
 *			 untouched.
 * Source:	 doc/theory.md T2.
 */
static inline dp_status
bernoulli_rational(dp_source *source, const dp_rational *p, bool *out)
{
	dp_uint128	value;
	dp_status	status;

	if (p->den == 0 || p->num > p->den)
		return DP_E_RANGE;
	status = uniform128(source, p->den, &value);
	if (status == DP_OK)
		*out = value < p->num;
	return status;
}

#endif							/* MECH_DRAWS_H */
