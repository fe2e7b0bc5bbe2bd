/*
 * selection.c
 *	  Private selection of one candidate among integer scores.
 *
 * Scores are compared through gaps best - score, which fit dp_uint128 for
 * every pair of dp_int128.  A candidate's index is all that leaves: no score,
 * no noisy score and no gap.  Noisy max with Gumbel noise is the exponential
 * mechanism (theory T16), and goes by that name here.
 */
#include "../numbers/dp_numbers.h"
#include "dp_noise.h"
#include "noise_internal.h"

/* A noisy score relative to the best one: noise - gap, in 192 bits. */
typedef struct standing
{
	int			high;
	dp_uint128	low;
} standing;

/* Steps of a loop over candidates from one pulse to the next. */
#define PULSE_EVERY 4096

static inline void
pulse_at(const dp_source *source, size_t step)
{
	if (step % PULSE_EVERY == PULSE_EVERY - 1 && source->pulse != NULL)
		source->pulse();
}

static dp_int128
best_score(const dp_int128 *scores, size_t n)
{
	dp_int128	best = scores[0];
	size_t		i;

	for (i = 1; i < n; i++)
		if (scores[i] > best)
			best = scores[i];
	return best;
}

static inline dp_uint128
gap_between(dp_int128 best, dp_int128 score)
{
	return (dp_uint128) best - (dp_uint128) score;
}

/*
 * dp_noise_selection_rate
 *	  The rate lambda of a selection: epsilon/(2 sensitivity), or
 *	  epsilon/sensitivity when every score moves in the same direction
 *	  between neighbours.
 *
 * Requires: sensitivity of each score; monotone only if that is proved (counts
 *			 under add/remove; never under replace one).
 * Gives:	 DP_OK with *out exact; DP_E_RANGE when epsilon or sensitivity is
 *			 0, DP_E_OVERFLOW when the rate does not fit; *out is then
 *			 untouched.
 * Source:	 doc/theory.md T16, T17.
 */
dp_status
dp_noise_selection_rate(const dp_rational *epsilon, dp_uint128 sensitivity,
						bool monotone, dp_rational *out)
{
	const dp_rational half = {1, 2};
	dp_rational divisor = {sensitivity, 1};
	dp_rational rate;
	dp_status	status;

	if (epsilon->den == 0 || epsilon->num == 0 || sensitivity == 0)
		return DP_E_RANGE;
	status = dp_numbers_rational_divide(epsilon, &divisor, &rate);
	if (status == DP_OK && !monotone)
		status = dp_numbers_rational_multiply(&rate, &half, &rate);
	if (status == DP_OK)
		*out = rate;
	return status;
}

/*
 * dp_noise_exponential
 *	  Draw index i with probability proportional to exp(rate scores[i]).
 *
 * Requires: n >= 1 scores, rate from dp_noise_selection_rate.
 * Gives:	 DP_OK with *out set; DP_E_RANGE when n or the rate is 0,
 *			 DP_E_RANDOM, DP_E_MEMORY; *out is then untouched.  At most n
 *			 proposals are drawn on average.
 * Source:	 doc/theory.md T16 (book, Theorem 3.10).
 */
dp_status
dp_noise_exponential(dp_source *source, const dp_int128 *scores, size_t n,
					 const dp_rational *rate, size_t *out)
{
	dp_int128	best;
	uint64_t	i;
	size_t		step = 0;
	bool		accepted;
	dp_status	status;

	if (n == 0 || rate->den == 0 || rate->num == 0)
		return DP_E_RANGE;
	best = best_score(scores, n);
	do
	{
		pulse_at(source, step++);
		status = uniform64(source, n, &i);
		if (status != DP_OK)
			return status;
		status = dp_noise_bernoulli_exp_product(source,
												gap_between(best, scores[i]),
												rate, &accepted);
		if (status != DP_OK)
			return status;
	} while (!accepted);
	*out = i;
	return DP_OK;
}

/*
 * dp_noise_permute_and_flip
 *	  Take the candidates in random order; each is chosen with probability
 *	  exp(-rate gap), and the first chosen one is the answer.
 *
 * Requires: as dp_noise_exponential; order is room for n indices.
 * Gives:	 as dp_noise_exponential, with at most n flips; order may hold
 *			 anything afterwards.
 * Source:	 doc/theory.md T17 (McKenna and Sheldon 2020).
 */
dp_status
dp_noise_permute_and_flip(dp_source *source, const dp_int128 *scores, size_t n,
						  const dp_rational *rate, size_t *order, size_t *out)
{
	dp_int128	best;
	uint64_t	pick;
	size_t		chosen;
	size_t		i;
	bool		accepted;
	dp_status	status;

	if (n == 0 || rate->den == 0 || rate->num == 0)
		return DP_E_RANGE;
	best = best_score(scores, n);
	for (i = 0; i < n; i++)
		order[i] = i;

	/* a best candidate is always accepted, so the loop ends */
	for (i = 0;; i++)
	{
		pulse_at(source, i);
		status = uniform64(source, n - i, &pick);
		if (status != DP_OK)
			return status;
		chosen = order[i + pick];
		order[i + pick] = order[i];
		status = dp_noise_bernoulli_exp_product(source,
												gap_between(best,
															scores[chosen]),
												rate, &accepted);
		if (status != DP_OK)
			return status;
		if (accepted)
			break;
	}
	*out = chosen;
	return DP_OK;
}

/*
 * dp_noise_noisy_max
 *	  The index of the largest score after adding fresh noise to each; of
 *	  equal ones the lowest index.
 *
 * Requires: n >= 1 scores, scale of noise 1/rate (dp_noise_scale_make of twice
 *			 the sensitivity, or of the sensitivity for monotone scores).
 * Gives:	 DP_OK with *out set; DP_E_RANGE when n or the scale is 0 or the
 *			 noise unknown, DP_E_OVERFLOW when a noise does not fit (its odds
 *			 do not depend on the scores), DP_E_RANDOM, DP_E_MEMORY; *out is
 *			 then untouched.
 * Source:	 doc/theory.md T19.
 */
dp_status
dp_noise_noisy_max(dp_source *source, const dp_int128 *scores, size_t n,
				   const dp_scale *scale, dp_noise noise, size_t *out)
{
	standing	top = {0, 0};
	standing	now;
	dp_int128	best;
	dp_int128	x;
	dp_uint128	gap;
	size_t		leader = 0;
	size_t		i;
	dp_status	status;

	if (n == 0 || (noise != DP_NOISE_LAPLACE && noise != DP_NOISE_GEOMETRIC))
		return DP_E_RANGE;
	best = best_score(scores, n);
	for (i = 0; i < n; i++)
	{
		pulse_at(source, i);
		if (noise == DP_NOISE_LAPLACE)
			status = dp_noise_discrete_laplace(source, scale, &x);
		else
			status = dp_noise_geometric(source, scale, &x);
		if (status != DP_OK)
			return status;
		gap = gap_between(best, scores[i]);
		now.low = (dp_uint128) x - gap;
		now.high = (x < 0 ? -1 : 0) - ((dp_uint128) x < gap ? 1 : 0);
		if (i == 0 || now.high > top.high ||
			(now.high == top.high && now.low > top.low))
		{
			top = now;
			leader = i;
		}
	}
	*out = leader;
	return DP_OK;
}
