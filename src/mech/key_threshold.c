/*
 * key_threshold.c
 *	  Which group keys may be released when the keys themselves are private:
 *	  those with enough units that one more or less hardly matters.
 *
 * A key with n units is released iff n >= 1 and n + X > k, where X is discrete
 * Laplace noise on [-k, k].  No rule with the same epsilon and delta releases
 * a key more often, except for what is lost because k is an integer.
 */
#include "dp_big.h"

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
	BIGNUM	   *q = dp_mech_big_exp(b, s, t, BITS, DP_ROUND_DOWN);
	BIGNUM	   *left;
	BIGNUM	   *right;
	BIGNUM	   *k;
	BIGNUM	   *rest;

	left = big_multiply(b, big_subtract(b, one, q), whole);
	left = big_add(b, left, big_shift(b, big_multiply(b, part, q), 1));
	right = big_multiply(b, part, big_add(b, one, q));
	k = dp_mech_big_log(b, left, right, BITS, DP_ROUND_UP);
	k = big_divide_rest(b, big_multiply(b, k, t), big_shift(b, s, BITS),
						&rest);
	return big_is_zero(b, rest) ? k : big_add_word(b, k, 1);
}

/*
 * dp_mech_key_law_make
 *	  The law by which keys are released, when one privacy unit changes the
 *	  number of units of at most `changes` keys, each by one.
 *
 * Requires: nothing.
 * Gives:	 DP_OK with *out set so that the release of all keys is (epsilon,
 *			 delta)-DP; DP_E_RANGE unless epsilon > 0, 0 < delta < 1 and
 *			 changes >= 1; DP_E_OVERFLOW when k would be 2^62 or more;
 *			 DP_E_MEMORY; *out is then untouched.
 * Source:	 doc/theory.md T104 (the law), T24 (the bounds).
 */
dp_status
dp_mech_key_law_make(const dp_rational *epsilon, const dp_rational *delta,
					 uint64_t changes, dp_key_law *out)
{
	dp_key_law	law;
	dp_big		b;
	BIGNUM	   *k;
	dp_uint128	bound;
	dp_status	status;

	if (delta->num == 0 || delta->num >= delta->den || changes == 0)
		return DP_E_RANGE;
	status = dp_mech_scale_make(changes, epsilon, &law.scale);
	if (status != DP_OK)
		return status;
	dp_mech_big_begin(&b);
	k = least_threshold(&b, delta, changes,
						dp_mech_big_of_limbs(&b, law.scale.s, 4),
						dp_mech_big_of_limbs(&b, law.scale.t, 4));
	bound = dp_mech_big_get(&b, k);
	status = dp_mech_big_end(&b);
	if (status != DP_OK)
		return status;
	if (bound >= MOST)
		return DP_E_OVERFLOW;
	law.threshold = (uint64_t) bound;
	*out = law;
	return DP_OK;
}

/*
 * dp_mech_key_told
 *	  Decide whether a key with n units is released.
 *
 * Requires: law from dp_mech_key_law_make.
 * Gives:	 DP_OK with *told set: false for n = 0, true with P[n + X > k] for
 *			 n >= 1; DP_E_RANDOM, DP_E_MEMORY; *told is then untouched.
 * Source:	 doc/theory.md T104.
 */
dp_status
dp_mech_key_told(dp_source *source, const dp_key_law *law, uint64_t n,
				 bool *told)
{
	dp_int128	x;
	dp_status	status;

	if (n == 0)
	{
		*told = false;
		return DP_OK;
	}
	status = dp_mech_truncated_laplace(source, &law->scale,
									   (dp_int128) law->threshold, &x);
	if (status == DP_OK)
		*told = (dp_int128) n + x > (dp_int128) law->threshold;
	return status;
}
