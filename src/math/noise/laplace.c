/*
 * laplace.c
 *	  Laplace noise: its scale, the discrete law, bounded noise, and the
 *	  threshold above which undeclared keys are told.
 */
#include "../numbers/dp_numbers.h"
#include "dp_noise.h"
#include "noise_internal.h"

/* ----------------
 *		The scale of Laplace noise and the discrete Laplace law.
 * ----------------
 */

/*
 * dp_noise_scale_make
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
dp_noise_scale_make(dp_uint128 sensitivity, const dp_rational *epsilon,
					dp_scale *out)
{
	dp_rational reduced;
	dp_uint128	common;
	dp_uint128	high;
	dp_uint128	low;
	dp_uint128	s;
	dp_status	status;

	status = dp_numbers_rational_make(epsilon->num, epsilon->den, &reduced);
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
 * dp_noise_discrete_laplace
 *	  Draw X with P[X = x] proportional to exp(-|x| s/t), x any integer.
 *
 * Requires: scale from dp_noise_scale_make.
 * Gives:	 DP_OK with *out set; DP_E_OVERFLOW when the exact draw has
 *			 |X| >= 2^127 (the sign is not drawn then, so the refusal is
 *			 symmetric and says nothing but that), DP_E_RANGE, DP_E_RANDOM,
 *			 DP_E_MEMORY; *out is then untouched.
 * Source:	 doc/theory.md T5.
 */
dp_status
dp_noise_discrete_laplace(dp_source *source, const dp_scale *scale,
						  dp_int128 *out)
{
	dp_int128	magnitude;
	unsigned	sign;
	dp_status	status;

	do
	{
		status = dp_noise_geometric(source, scale, &magnitude);
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

/* ----------------
 *		Discrete Laplace noise of bounded support.
 * ----------------
 */

/* Whether bound < t/s, of any width. */
static dp_status
below_scale_wide(dp_uint128 bound, const dp_scale *scale, bool *out)
{
	dp_big		b;
	BIGNUM	   *t;
	BIGNUM	   *s;
	bool		below;
	dp_status	status;

	dp_numbers_big_begin(&b);
	t = dp_numbers_big_of_limbs(&b, scale->t, 4);
	s = dp_numbers_big_of_limbs(&b, scale->s, 4);
	below = big_compare(&b, big_multiply(&b, big_of(&b, bound), s), t) < 0;
	status = dp_numbers_big_end(&b);
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

	dp_numbers_big_begin(&b);
	t = dp_numbers_big_of_limbs(&b, scale->t, 4);
	s = dp_numbers_big_of_limbs(&b, scale->s, 4);
	dp_noise_wide_bernoulli_exp(&b, source,
								big_multiply(&b, big_of(&b, magnitude), s), t,
								out);
	return dp_numbers_big_end(&b);
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
			status = dp_noise_bernoulli_exp(source, &gamma, &accepted);
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
 * dp_noise_truncated_laplace
 *	  Draw X with P[X = x] proportional to exp(-|x| s/t), |x| <= bound.
 *
 * Requires: scale from dp_noise_scale_make, bound >= 0 and public.
 * Gives:	 DP_OK with *out set; DP_E_RANGE when bound is negative or t or s
 *			 is 0, DP_E_RANDOM, DP_E_MEMORY; *out is then untouched.  Fewer
 *			 than three proposals are drawn on average whatever the bound.
 * Source:	 doc/theory.md T15.
 */
dp_status
dp_noise_truncated_laplace(dp_source *source, const dp_scale *scale,
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
		status = dp_noise_discrete_laplace(source, scale, &x);
		if (status != DP_OK && status != DP_E_OVERFLOW)
			return status;
	} while (status != DP_OK || x > bound || x < -bound);
	*out = x;
	return DP_OK;
}

/* ----------------
 *		Which group keys may be released when the keys themselves are private:
 *		those with enough units that one more or less hardly matters.
 *
 * A key with n units is released iff n >= 1 and n + X > k, where X is discrete
 * Laplace noise on [-k, k].  No rule with the same epsilon and delta releases
 * a key more often, except for what is lost because k is an integer.
 * ----------------
 */

/*
 * Precision of the bounds that give k: it is the least but for ties closer
 * than that.
 */
#define BITS 512

/* k and what is compared with it stay below this. */
#define MOST (UINT64_C(1) << 62)

/*
 * The least k with delta_k <= delta / changes, where s/t is the epsilon of one
 * change.  With q = e^(-s/t) and d = delta / changes that is
 *
 *	  e^(k s/t) >= (1 - q (1 - 2d)) / (d (1 + q)),
 *
 * whose right side falls with q, so that a lower bound of q gives no k that is
 * too small.
 */
static BIGNUM *
least_threshold(dp_big *b, const dp_rational *delta, uint64_t changes,
				const BIGNUM *s, const BIGNUM *t)
{
	BIGNUM	   *part = big_of(b, delta->num);
	BIGNUM	   *whole = big_multiply_word(b, big_of(b, delta->den), changes);
	BIGNUM	   *one = big_power(b, BITS);
	BIGNUM	   *q = dp_numbers_big_exp(b, s, t, BITS, DP_ROUND_DOWN);
	BIGNUM	   *left;
	BIGNUM	   *right;
	BIGNUM	   *k;
	BIGNUM	   *rest;

	left = big_multiply(b, big_subtract(b, one, q), whole);
	left = big_add(b, left, big_shift(b, big_multiply(b, part, q), 1));
	right = big_multiply(b, part, big_add(b, one, q));
	k = dp_numbers_big_log(b, left, right, BITS, DP_ROUND_UP);
	k = big_divide_rest(b, big_multiply(b, k, t), big_shift(b, s, BITS),
						&rest);
	return big_is_zero(b, rest) ? k : big_add_word(b, k, 1);
}

/*
 * dp_noise_key_law_make
 *	  The law by which keys are released, when one privacy unit changes the
 *	  number of units of at most `changes` keys, each by one.
 *
 * Requires: nothing.
 * Gives:	 DP_OK with *out set so that the release of all keys is (epsilon,
 *			 delta)-DP, whatever law.least is then set to; DP_E_RANGE
 *			 unless epsilon > 0, 0 < delta < 1 and changes >= 1;
 *			 DP_E_OVERFLOW when k would be 2^62 or more; DP_E_MEMORY; *out
 *			 is then untouched.
 * Source:	 doc/theory.md T104 (the law), T24 (the bounds).
 */
dp_status
dp_noise_key_law_make(const dp_rational *epsilon, const dp_rational *delta,
					  uint64_t changes, dp_key_law *out)
{
	dp_key_law	law;
	dp_big		b;
	BIGNUM	   *k;
	dp_uint128	bound;
	dp_status	status;

	if (delta->num == 0 || delta->num >= delta->den || changes == 0)
		return DP_E_RANGE;
	status = dp_noise_scale_make(changes, epsilon, &law.scale);
	if (status != DP_OK)
		return status;
	dp_numbers_big_begin(&b);
	k = least_threshold(&b, delta, changes,
						dp_numbers_big_of_limbs(&b, law.scale.s, 4),
						dp_numbers_big_of_limbs(&b, law.scale.t, 4));
	bound = dp_numbers_big_get(&b, k);
	status = dp_numbers_big_end(&b);
	if (status != DP_OK)
		return status;
	if (bound >= MOST)
		return DP_E_OVERFLOW;
	law.threshold = (uint64_t) bound;
	law.least = 0;
	*out = law;
	return DP_OK;
}

/*
 * dp_noise_key_is_released
 *	  Decide whether a key with n units is released.
 *
 * Requires: law from dp_noise_key_law_make.
 * Gives:	 DP_OK with *told set: false for n = 0, true with P[n + X > k and
 *			 n + X >= least] for n >= 1; DP_E_RANDOM, DP_E_MEMORY; *told is
 *			 then untouched.
 * Source:	 doc/theory.md T104, T106 (least).
 */
dp_status
dp_noise_key_is_released(dp_source *source, const dp_key_law *law, uint64_t n,
						 bool *told)
{
	dp_int128	x;
	dp_status	status;

	if (n == 0)
	{
		*told = false;
		return DP_OK;
	}
	status = dp_noise_truncated_laplace(source, &law->scale,
										(dp_int128) law->threshold, &x);
	if (status == DP_OK)
		*told = (dp_int128) n + x > (dp_int128) law->threshold &&
			(dp_int128) n + x >= (dp_int128) law->least;
	return status;
}
