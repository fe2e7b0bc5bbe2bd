/*
 * sparse_noise.c
 *	  The noise of sparse vector mechanisms: arming a threshold, comparing a
 *	  value with it, answering with a number.
 *
 * An armed threshold is a secret: nobody may see it, and a mechanism that
 * has spent it draws another.  Every comparison and every answer draws noise
 * of its own.  What is drawn may be refused as too large, by odds that do not
 * depend on any value; a comparison itself is exact and cannot overflow.
 */
#include "../numbers/dp_numbers.h"
#include "dp_noise.h"

/* One variate of the law's kind. */
static dp_status
draw(dp_source *source, const dp_threshold_law *law, const dp_scale *scale,
	 dp_int128 *out)
{
	return law->two_sided ? dp_noise_discrete_laplace(source, scale, out) :
		dp_noise_geometric(source, scale, out);
}

/* a + b; DP_E_OVERFLOW, with *out untouched, when it does not fit. */
static dp_status
add(dp_int128 a, dp_int128 b, dp_int128 *out)
{
	__int128	sum;

	if (__builtin_add_overflow((__int128) a, (__int128) b, &sum))
		return DP_E_OVERFLOW;
	*out = sum;
	return DP_OK;
}

/* value + noise >= armed, over the integers. */
static bool
reaches(dp_int128 value, dp_int128 noise, dp_int128 armed)
{
	/* differences of dp_int128 fit dp_uint128 when they are not negative */
	if (value >= armed)
		return noise >= 0 ||
			-(dp_uint128) noise <= (dp_uint128) value - (dp_uint128) armed;
	return noise >= 0 &&
		(dp_uint128) noise >= (dp_uint128) armed - (dp_uint128) value;
}

/*
 * dp_noise_threshold_arm
 *	  Draw the noisy threshold: threshold + X, X of law->threshold (T4, or T5
 *	  when two-sided).
 *
 * Requires: law from dp_accounting_sparse_law; threshold public, with the
 *			 plan's offset added.
 * Gives:	 DP_OK with *armed set, which is secret; DP_E_OVERFLOW when it does
 *			 not fit, DP_E_RANGE when a scale is 0, DP_E_RANDOM, DP_E_MEMORY;
 *			 *armed is then untouched.
 * Source:	 doc/theory.md T52.
 */
dp_status
dp_noise_threshold_arm(dp_source *source, const dp_threshold_law *law,
					   dp_int128 threshold, dp_int128 *armed)
{
	dp_int128	noise;
	dp_status	status;

	status = draw(source, law, &law->threshold, &noise);
	if (status != DP_OK)
		return status;
	return add(threshold, noise, armed);
}

/*
 * dp_noise_threshold_test
 *	  Decide whether a value is "above": value + Y >= armed, Y of law->query.
 *
 * Requires: armed from dp_noise_threshold_arm with the same law; every value
 *			 of the sensitivity that the law was made for; no further test of
 *			 a mechanism that has used up its "above"s.
 * Gives:	 DP_OK with *above set, exactly; DP_E_OVERFLOW when the draw does
 *			 not fit, whatever the value, DP_E_RANGE when a scale is 0,
 *			 DP_E_RANDOM, DP_E_MEMORY; *above is then untouched.
 * Source:	 doc/theory.md T52.
 */
dp_status
dp_noise_threshold_test(dp_source *source, const dp_threshold_law *law,
						dp_int128 armed, dp_int128 value, bool *above)
{
	dp_int128	noise;
	dp_status	status;

	status = draw(source, law, &law->query, &noise);
	if (status != DP_OK)
		return status;
	*above = reaches(value, noise, armed);
	return DP_OK;
}

/*
 * dp_noise_threshold_answer
 *	  The number that comes with an "above": value + Z, Z discrete Laplace of
 *	  law->answer, drawn afresh.
 *
 * Requires: a law that is numeric.
 * Gives:	 DP_OK with *answer set; DP_E_RANGE when the law is not numeric or
 *			 its scale is 0; DP_E_OVERFLOW when the sum does not fit, which is
 *			 a function of the noisy sum alone; DP_E_RANDOM, DP_E_MEMORY;
 *			 *answer is then untouched.
 * Source:	 doc/theory.md T6, T52.
 */
dp_status
dp_noise_threshold_answer(dp_source *source, const dp_threshold_law *law,
						  dp_int128 value, dp_int128 *answer)
{
	dp_int128	noise;
	dp_status	status;

	if (!law->numeric)
		return DP_E_RANGE;
	status = dp_noise_discrete_laplace(source, &law->answer, &noise);
	if (status != DP_OK)
		return status;
	return add(value, noise, answer);
}
