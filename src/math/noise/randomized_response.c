/*
 * randomized_response.c
 *	  Randomized response: two answers, the book's coins, many candidates.
 */
#include "../numbers/dp_numbers.h"
#include "dp_noise.h"
#include "noise_internal.h"

/*
 * dp_noise_randomized_response
 *	  Answer the truth with probability 1/(1 + exp(-epsilon)), else its
 *	  opposite.
 *
 * Requires: epsilon a positive rational.
 * Gives:	 DP_OK with *out set; DP_E_RANGE when epsilon or its denominator is
 *			 0, DP_E_RANDOM; *out is then untouched.
 * Source:	 doc/theory.md T14.
 */
dp_status
dp_noise_randomized_response(dp_source *source, const dp_rational *epsilon,
							 bool truth, bool *out)
{
	unsigned	coin;
	bool		flip;
	dp_status	status;

	if (epsilon->den == 0 || epsilon->num == 0)
		return DP_E_RANGE;
	for (;;)
	{
		status = source_byte(source, &coin);
		if (status != DP_OK)
			return status;
		if ((coin & 1) == 1)
		{
			*out = truth;
			return DP_OK;
		}
		status = dp_noise_bernoulli_exp(source, epsilon, &flip);
		if (status != DP_OK)
			return status;
		if (flip)
		{
			*out = !truth;
			return DP_OK;
		}
	}
}

/*
 * dp_noise_two_coins
 *	  The book's coins: heads, answer the truth; tails, toss again and answer
 *	  what falls.
 *
 * Requires: source initialised.
 * Gives:	 DP_OK with P[*out = truth] = 3/4 exactly (epsilon = ln 3);
 *			 DP_E_RANDOM, with *out untouched.
 * Source:	 doc/theory.md T14.
 */
dp_status
dp_noise_two_coins(dp_source *source, bool truth, bool *out)
{
	unsigned	coins;
	dp_status	status = source_byte(source, &coins);

	if (status == DP_OK)
		*out = (coins & 1) == 1 ? truth : (coins & 2) == 2;
	return status;
}

/*
 * dp_noise_randomized_response_among
 *	  The same among candidates 0 .. candidates - 1: the truth with
 *	  exp(epsilon) times the probability of each other one.
 *
 * Requires: truth < candidates, epsilon a positive rational.
 * Gives:	 as dp_noise_randomized_response; DP_E_RANGE also when truth is no
 *			 candidate.
 * Source:	 doc/theory.md T14.
 */
dp_status
dp_noise_randomized_response_among(dp_source *source,
								   const dp_rational *epsilon, uint64_t truth,
								   uint64_t candidates, uint64_t *out)
{
	uint64_t	candidate;
	bool		accepted;
	dp_status	status;

	if (epsilon->den == 0 || epsilon->num == 0 || truth >= candidates)
		return DP_E_RANGE;
	do
	{
		status = uniform64(source, candidates, &candidate);
		if (status != DP_OK)
			return status;
		accepted = true;
		if (candidate != truth)
			status = dp_noise_bernoulli_exp(source, epsilon, &accepted);
		if (status != DP_OK)
			return status;
	} while (!accepted);
	*out = candidate;
	return DP_OK;
}
