/*
 * truncated_laplace.c
 *	  Discrete Laplace noise of bounded support.
 */
#include "dp_mech.h"
#include "sampler.h"
#include "wide.h"

/* Whether bound < t/s, of any width. */
static dp_status
below_scale_wide(dp_uint128 bound, const dp_scale *scale, bool *out)
{
	dp_big		b;
	BIGNUM	   *t;
	BIGNUM	   *s;
	bool		below;
	dp_status	status;

	dp_mech_big_begin(&b);
	t = dp_mech_big_of_limbs(&b, scale->t, 4);
	s = dp_mech_big_of_limbs(&b, scale->s, 4);
	below = big_compare(&b, big_multiply(&b, big_of(&b, bound), s), t) < 0;
	status = dp_mech_big_end(&b);
	if (status == DP_OK)
		*out = below;
	return status;
}

static dp_status
below_scale(dp_uint128 bound, const dp_scale *scale, bool *out)
{
	dp_uint128	product;

	if (!scale->narrow)
		return below_scale_wide(bound, scale, out);
	*out = !__builtin_mul_overflow(bound, (dp_uint128) scale->s[1] << 64 |
								   scale->s[0], &product) &&
		product < ((dp_uint128) scale->t[1] << 64 | scale->t[0]);
	return DP_OK;
}

/* A coin of probability exp(-magnitude s/t), of any width. */
static dp_status
truncated_keep_wide(dp_source *source, const dp_scale *scale,
					dp_uint128 magnitude, bool *out)
{
	dp_big		b;
	BIGNUM	   *t;
	BIGNUM	   *s;

	dp_mech_big_begin(&b);
	t = dp_mech_big_of_limbs(&b, scale->t, 4);
	s = dp_mech_big_of_limbs(&b, scale->s, 4);
	dp_mech_wide_bernoulli_exp(&b, source,
							   big_multiply(&b, big_of(&b, magnitude), s), t,
							   out);
	return dp_mech_big_end(&b);
}

/* Uniform proposals, for a bound below the scale. */
static dp_status
truncated_by_uniform(dp_source *source, const dp_scale *scale, dp_int128 bound,
					 dp_int128 *out)
{
	dp_uint128	place;
	dp_uint128	magnitude;
	dp_int128	x;
	dp_rational gamma;
	bool		accepted;
	dp_status	status;

	do
	{
		status = uniform128(source, 2 * (dp_uint128) bound + 1, &place);
		if (status != DP_OK)
			return status;
		x = place <= (dp_uint128) bound ? (dp_int128) place :
			-(dp_int128) (place - (dp_uint128) bound);
		magnitude = (dp_uint128) (x < 0 ? -x : x);
		if (scale->narrow)
		{
			/* magnitude s <= bound s < t < 2^96 */
			gamma.num = magnitude *
				((dp_uint128) scale->s[1] << 64 | scale->s[0]);
			gamma.den = (dp_uint128) scale->t[1] << 64 | scale->t[0];
			status = dp_mech_bernoulli_exp(source, &gamma, &accepted);
		}
		else
			status = truncated_keep_wide(source, scale, magnitude, &accepted);
		if (status != DP_OK)
			return status;
	} while (!accepted);
	*out = x;
	return DP_OK;
}

/*
 * dp_mech_truncated_laplace
 *	  Draw X with P[X = x] proportional to exp(-|x| s/t), |x| <= bound.
 *
 * Requires: scale from dp_mech_scale_make, bound >= 0 and public.
 * Gives:	 DP_OK with *out set; DP_E_RANGE when bound is negative or t or s
 *			 is 0, DP_E_RANDOM, DP_E_MEMORY; *out is then untouched.  Fewer
 *			 than three proposals are drawn on average whatever the bound.
 * Source:	 doc/theory.md T15.
 */
dp_status
dp_mech_truncated_laplace(dp_source *source, const dp_scale *scale,
						  dp_int128 bound, dp_int128 *out)
{
	dp_int128	x;
	bool		small;
	dp_status	status;

	if (bound < 0 ||
		(scale->t[0] | scale->t[1] | scale->t[2] | scale->t[3]) == 0 ||
		(scale->s[0] | scale->s[1] | scale->s[2] | scale->s[3]) == 0)
		return DP_E_RANGE;
	status = below_scale((dp_uint128) bound, scale, &small);
	if (status != DP_OK)
		return status;
	if (small)
		return truncated_by_uniform(source, scale, bound, out);
	do
	{
		/* a draw that does not fit is beyond every bound */
		status = dp_mech_discrete_laplace(source, scale, &x);
		if (status != DP_OK && status != DP_E_OVERFLOW)
			return status;
	} while (status != DP_OK || x > bound || x < -bound);
	*out = x;
	return DP_OK;
}
