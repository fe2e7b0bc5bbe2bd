/*
 * compose.c
 *	  Composition theorems of the book as functions: several mechanisms, or
 *	  several units, at once.
 *
 * Everything is computed with proved bounds (value.h): totals round up,
 * allowances round down.
 */
#include "value.h"

/* An epsilon whose e^epsilon no total could hold: k e e^e > 3.4 * 10^14. */
#define EPSILON_MOST (64 * DP_FIXED_ONE)

/* x * n, DP_E_OVERFLOW unless below infinite. */
static dp_status
times(dp_fixed x, dp_uint128 n, dp_fixed *out)
{
	if (x == DP_FIXED_INFINITE)
		return DP_E_RANGE;
	if (n != 0 && x > (DP_FIXED_INFINITE - 1) / n)
		return DP_E_OVERFLOW;
	*out = x * n;
	return DP_OK;
}

/*
 * dp_acct_cap_delta
 *	  A bound on a probability is 1 at most: whatever holds with more holds
 *	  with 1.
 *
 * Requires: nothing.
 * Gives:	 the smaller of delta, which may be infinite, and 1.
 * Source:	 doc/theory.md T32.
 */
dp_fixed
dp_acct_cap_delta(dp_fixed delta)
{
	return delta < DP_FIXED_ONE ? delta : DP_FIXED_ONE;
}

/* min(1, k delta + slack). */
static dp_fixed
total_delta(dp_fixed delta, int64_t k, dp_fixed slack)
{
	dp_fixed	d = DP_FIXED_ONE;

	if (times(dp_acct_cap_delta(delta), (dp_uint128) k, &d) != DP_OK)
		return DP_FIXED_ONE;
	return dp_acct_cap_delta(dp_acct_fixed_add(d, slack));
}

/*
 * dp_acct_compose_basic
 *	  k mechanisms of (epsilon, delta) each.
 *
 * Requires: outputs non-NULL.
 * Gives:	 DP_OK and k epsilon exactly, k delta exactly or 1 if that is less.
 *			 DP_E_RANGE when k < 1 or an argument is infinite;
 *			 DP_E_OVERFLOW when k epsilon does not fit.
 * Source:	 doc/theory.md T32 (book, Theorem 3.16).
 */
dp_status
dp_acct_compose_basic(dp_fixed epsilon, dp_fixed delta, int64_t k,
					  dp_fixed *epsilon_out, dp_fixed *delta_out)
{
	dp_fixed	e;
	dp_status	status;

	if (k < 1 || delta == DP_FIXED_INFINITE)
		return DP_E_RANGE;
	status = times(epsilon, (dp_uint128) k, &e);
	if (status != DP_OK)
		return status;
	*epsilon_out = e;
	*delta_out = total_delta(delta, k, 0);
	return DP_OK;
}

static bool
is_slack(dp_fixed delta)
{
	return delta > 0 && delta < DP_FIXED_ONE;
}

/* Bound on sqrt(2 k ln(1/slack)). */
static BIGNUM *
deviation(dp_big *b, int64_t k, dp_fixed slack)
{
	BIGNUM	   *x = value_log_over(b, 1, slack, DP_ROUND_UP);

	x = big_shift(b, big_multiply_word(b, x, (uint64_t) k), 1);
	return value_root(b, x, DP_ROUND_UP);
}

/*
 * Upper bound on e s + k e (exp(e) - 1), where s >= sqrt(2 k ln(1/slack));
 * infinite when it does not fit.  exp(e) is the reciprocal of a lower bound
 * on exp(-e).
 */
static dp_fixed
total(dp_big *b, dp_fixed epsilon, int64_t k, const BIGNUM *s)
{
	unsigned	mark = b->used;
	BIGNUM	   *one = value_one(b);
	BIGNUM	   *x;
	dp_fixed	answer;

	x = value_exp(b, big_of(b, epsilon), big_of(b, DP_FIXED_ONE),
				  DP_ROUND_DOWN);
	x = big_subtract(b, value_ratio(b, one, x, DP_ROUND_UP), one);
	x = big_add(b, big_multiply_word(b, x, (uint64_t) k), s);
	x = value_product(b, x, value_from_fixed(b, epsilon, DP_ROUND_UP),
					  DP_ROUND_UP);
	answer = value_to_fixed(b, x, DP_ROUND_UP);
	big_release(b, mark);
	return answer;
}

/*
 * dp_acct_compose_advanced
 *	  k mechanisms of (epsilon, delta) each, by Theorem 3.20 as printed.
 *
 * Requires: outputs non-NULL.
 * Gives:	 DP_OK, sqrt(2 k ln(1/slack)) epsilon + k epsilon (e^epsilon - 1)
 *			 rounded up (it may exceed k epsilon: as printed), and
 *			 k delta + slack, or 1 if that is less.  DP_E_RANGE when k < 1,
 *			 epsilon or delta is infinite or slack not in (0, 1);
 *			 DP_E_OVERFLOW; DP_E_MEMORY.
 * Source:	 doc/theory.md T32 (book, Theorem 3.20), T24.
 */
dp_status
dp_acct_compose_advanced(dp_fixed epsilon, dp_fixed delta, int64_t k,
						 dp_fixed slack, dp_fixed *epsilon_out,
						 dp_fixed *delta_out)
{
	dp_big		b;
	dp_status	status;

	if (k < 1 || epsilon == DP_FIXED_INFINITE ||
		delta == DP_FIXED_INFINITE || !is_slack(slack))
		return DP_E_RANGE;
	if (epsilon > EPSILON_MOST)
		return DP_E_OVERFLOW;
	dp_mech_big_begin(&b);
	status = dp_acct_end_fixed(&b, total(&b, epsilon, k,
										 deviation(&b, k, slack)),
							   epsilon_out);
	if (status == DP_OK)
		*delta_out = total_delta(delta, k, slack);
	return status;
}

/*
 * dp_acct_epsilon_for
 *	  Per-mechanism epsilon of Corollary 3.21: E / (2 sqrt(2 k ln(1/slack))).
 *
 * The corollary is false for slack near 1, so its claim is proved by Theorem
 * 3.20 before it is returned.
 *
 * Requires: out non-NULL.
 * Gives:	 DP_OK and the number rounded down; DP_E_RANGE when k < 1, the
 *			 total is 0 or infinite, slack not in (0, 1), or Theorem 3.20
 *			 does not confirm the corollary; DP_E_MEMORY.
 * Source:	 doc/theory.md T32 (book, Corollary 3.21; errata 4).
 */
dp_status
dp_acct_epsilon_for(dp_fixed epsilon_total, int64_t k, dp_fixed slack,
					dp_fixed *out)
{
	dp_big		b;
	BIGNUM	   *s;
	BIGNUM	   *e;
	dp_fixed	each;

	if (k < 1 || epsilon_total == 0 || epsilon_total == DP_FIXED_INFINITE ||
		!is_slack(slack))
		return DP_E_RANGE;
	dp_mech_big_begin(&b);
	s = deviation(&b, k, slack);
	e = value_from_fixed(&b, epsilon_total, DP_ROUND_DOWN);
	e = big_shift(&b, value_ratio(&b, e, s, DP_ROUND_DOWN), -1);
	each = value_to_fixed(&b, e, DP_ROUND_DOWN);
	if (each > EPSILON_MOST || total(&b, each, k, s) > epsilon_total)
		(void) dp_mech_big_check(&b, DP_E_RANGE);
	return dp_acct_end_fixed(&b, each, out);
}

/*
 * dp_acct_epsilon_for_advanced
 *	  The largest per-mechanism epsilon that Theorem 3.20 allows.
 *
 * Requires: out non-NULL.
 * Gives:	 DP_OK and the largest grid number for which
 *			 dp_acct_compose_advanced proves at most epsilon_total (it may be
 *			 0); DP_E_RANGE when k < 1, the total is 0 or infinite, or slack
 *			 not in (0, 1); DP_E_MEMORY.
 * Source:	 doc/theory.md T32.
 */
dp_status
dp_acct_epsilon_for_advanced(dp_fixed epsilon_total, int64_t k,
							 dp_fixed slack, dp_fixed *out)
{
	dp_big		b;
	BIGNUM	   *s;
	dp_fixed	low = 0;
	dp_fixed	high = EPSILON_MOST;	/* never proved: it overflows */

	if (k < 1 || epsilon_total == 0 || epsilon_total == DP_FIXED_INFINITE ||
		!is_slack(slack))
		return DP_E_RANGE;
	dp_mech_big_begin(&b);
	s = deviation(&b, k, slack);
	while (b.status == DP_OK && high - low > 1)
	{
		dp_fixed	middle = low + (high - low) / 2;

		if (total(&b, middle, k, s) <= epsilon_total)
			low = middle;
		else
			high = middle;
	}
	return dp_acct_end_fixed(&b, low, out);
}

/*
 * Upper bound on delta (e^(g e) - 1) / (e^e - 1), which is
 * delta (1 - e^-ge) / ((1 - e^-e) e^-(g-1)e); 1 when it is not below 1.
 */
static dp_status
group_delta(dp_fixed epsilon, dp_fixed delta, int64_t g, dp_fixed *out)
{
	dp_big		b;
	BIGNUM	   *grid;
	BIGNUM	   *one;
	BIGNUM	   *e;
	BIGNUM	   *ge;
	BIGNUM	   *num;
	BIGNUM	   *den;
	BIGNUM	   *x;
	dp_fixed	answer;

	dp_mech_big_begin(&b);
	grid = big_of(&b, DP_FIXED_ONE);
	one = value_one(&b);
	e = big_of(&b, epsilon);
	ge = big_multiply_word(&b, e, (uint64_t) g);
	num = big_subtract(&b, one, value_exp(&b, ge, grid, DP_ROUND_DOWN));
	den = big_subtract(&b, one, value_exp(&b, e, grid, DP_ROUND_UP));
	x = value_exp(&b, big_subtract(&b, ge, e), grid, DP_ROUND_DOWN);
	den = value_product(&b, den, x, DP_ROUND_DOWN);
	x = value_from_fixed(&b, delta, DP_ROUND_UP);
	num = value_product(&b, num, x, DP_ROUND_UP);
	answer = value_to_fixed(&b, value_ratio(&b, num, den, DP_ROUND_UP),
							DP_ROUND_UP);
	return dp_acct_end_fixed(&b, answer > DP_FIXED_ONE ? DP_FIXED_ONE :
							 answer, out);
}

/*
 * dp_acct_group
 *	  What a charge means for g units at once.
 *
 * Requires: out non-NULL.
 * Gives:	 DP_OK: g epsilon (infinite when it is or does not fit), g^2 rho,
 *			 both exact, and delta (e^(g epsilon) - 1)/(e^epsilon - 1) rounded
 *			 up, at most 1.  With delta > 0 and an infinite epsilon nothing
 *			 is known of delta: 1.  DP_E_RANGE when g < 1 or delta > 1;
 *			 DP_E_OVERFLOW when rho does not fit; DP_E_MEMORY.
 * Source:	 doc/theory.md T35 (book, Theorem 2.2).
 */
dp_status
dp_acct_group(const dp_charge *charge, int64_t g, dp_charge *out)
{
	dp_charge	group = {DP_FIXED_INFINITE, 0, 0};
	dp_status	status;

	if (g < 1 || charge->delta > DP_FIXED_ONE)
		return DP_E_RANGE;
	status = times(charge->rho, (dp_uint128) g * (dp_uint128) g, &group.rho);
	if (status != DP_OK)
		return status;
	if (charge->epsilon != DP_FIXED_INFINITE &&
		times(charge->epsilon, (dp_uint128) g, &group.epsilon) != DP_OK)
		group.epsilon = DP_FIXED_INFINITE;

	if (charge->delta == 0 || g == 1)
		group.delta = charge->delta;
	else if (charge->epsilon == 0)
		group.delta = charge->delta > DP_FIXED_ONE / (dp_uint128) g ?
			DP_FIXED_ONE : charge->delta * (dp_uint128) g;
	else if (group.epsilon == DP_FIXED_INFINITE ||
			 group.epsilon - charge->epsilon > EPSILON_MOST)
		group.delta = DP_FIXED_ONE; /* 10^-24 e^64 > 1 */
	else
		status = group_delta(charge->epsilon, charge->delta, g, &group.delta);
	if (status == DP_OK)
		*out = group;
	return status;
}
