/*
 * bernoulli.c
 *	  Coins of exactly exponential probability.
 */
#include "../numbers/dp_numbers.h"
#include "dp_noise.h"
#include "noise_internal.h"

/*
 * dp_noise_bernoulli_exp
 *	  Draw a coin that is true with probability exp(-gamma).
 *
 * Requires: gamma->den > 0.
 * Gives:	 DP_OK with P[*out] = exp(-gamma) exactly; DP_E_RANGE when the
 *			 denominator is 0, DP_E_RANDOM when the source fails, with *out
 *			 untouched.  Expected cost is bounded whatever gamma: the first
 *			 failure of an exp(-1) coin ends it.
 * Source:	 doc/theory.md T3 (Canonne, Kamath, Steinke 2020).
 */
dp_status
dp_noise_bernoulli_exp(dp_source *source, const dp_rational *gamma, bool *out)
{
	dp_uint128	num = gamma->num;
	dp_uint128	den = gamma->den;
	bool		success;
	dp_status	status;

	if (den == 0)
		return DP_E_RANGE;
	while (num > den)
	{
		status = bernoulli_exp_one(source, &success);
		if (status != DP_OK)
			return status;
		if (!success)
		{
			*out = false;
			return DP_OK;
		}
		num -= den;
	}
	if ((uint64_t) (den >> 64) == 0)
		return bernoulli_exp64(source, (uint64_t) num, (uint64_t) den, out);
	return bernoulli_exp128(source, num, den, out);
}
