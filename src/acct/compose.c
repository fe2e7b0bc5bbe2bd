/*
 * compose.c
 *	  Composition theorems of the book as functions: several mechanisms, or
 *	  several people, at once.
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
 * dp_acct_compose_basic
 *	  k mechanisms of (epsilon, delta) each.
 *
 * Requires: outputs non-NULL.
 * Gives:	 DP_OK and k epsilon, k delta, exactly (a delta of 1 or more says
 *			 nothing).  DP_E_RANGE when k < 1 or an argument is infinite;
 *			 DP_E_OVERFLOW.
 * Source:	 doc/theory.md T32 (book, Theorem 3.16).
 */
dp_status
dp_acct_compose_basic(dp_fixed epsilon, dp_fixed delta, int64_t k,
					  dp_fixed *epsilon_out, dp_fixed *delta_out)
{
	dp_fixed	e;
	dp_fixed	d;
	dp_status	status;

	if (k < 1)
		return DP_E_RANGE;
	status = times(epsilon, (dp_uint128) k, &e);
	if (status == DP_OK)
		status = times(delta, (dp_uint128) k, &d);
	if (status != DP_OK)
		return status;
	*epsilon_out = e;
	*delta_out = d;
	return DP_OK;
}

/*
 * dp_acct_compose_sum
 *	  Different mechanisms together.
 *
 * Requires: charges[0..n), out non-NULL.
 * Gives:	 DP_OK and the sums, epsilon infinite when one is or the sum does
 *			 not fit; DP_E_OVERFLOW when rho or delta does not fit.
 * Source:	 doc/theory.md T32 (book, Theorem 3.16), T28.
 */
dp_status
dp_acct_compose_sum(const dp_charge *charges, size_t n, dp_charge *out)
{
	dp_charge	sum = {0, 0, 0};
	size_t		i;

	for (i = 0; i < n; i++)
	{
		dp_status	status = dp_acct_charge_add(&sum, &charges[i]);

		if (status != DP_OK)
			return status;
	}
	*out = sum;
	return DP_OK;
}

static bool
is_slack(dp_fixed delta)
{
	return delta > 0 && delta < DP_FIXED_ONE;
}

/* Bound on sqrt(2 k ln(1/slack)). */
static bool
deviation(BIGNUM *out, int64_t k, dp_fixed slack, dp_rounding rounding,
		  BN_CTX *ctx)
{
	return dp_acct_value_log_inverse(out, slack, rounding, ctx) &&
		BN_mul_word(out, (BN_ULONG) k) && BN_lshift1(out, out) &&
		dp_acct_value_sqrt(out, out, rounding, ctx);
}

/*
 * Upper bound on e s + k e (exp(e) - 1), where s >= sqrt(2 k ln(1/slack)).
 * exp(e) is the reciprocal of a lower bound on exp(-e).
 */
static dp_status
total(dp_fixed epsilon, int64_t k, const BIGNUM *s, dp_fixed *out,
	  BN_CTX *ctx)
{
	BIGNUM	   *e;
	BIGNUM	   *one;
	BIGNUM	   *grid;
	BIGNUM	   *growth;
	dp_status	status = DP_E_MEMORY;

	BN_CTX_start(ctx);
	e = BN_CTX_get(ctx);
	one = BN_CTX_get(ctx);
	grid = BN_CTX_get(ctx);
	growth = BN_CTX_get(ctx);
	if (growth == NULL ||
		!BN_set_word(one, 1) || !BN_lshift(one, one, DP_BOUND_BITS) ||
		!dp_acct_integer_set(e, epsilon) ||
		!dp_acct_integer_set(grid, DP_FIXED_ONE) ||
		!dp_acct_bound_exp(growth, e, grid, DP_ROUND_DOWN, ctx) ||
		!dp_acct_value_divide(growth, one, growth, DP_ROUND_UP, ctx) ||
		!BN_sub(growth, growth, one) ||
		!BN_mul_word(growth, (BN_ULONG) k) ||
		!BN_add(growth, growth, s) ||
		!dp_acct_value_from_fixed(e, epsilon, DP_ROUND_UP, ctx) ||
		!dp_acct_value_multiply(growth, growth, e, DP_ROUND_UP, ctx))
		goto done;
	status = dp_acct_value_to_fixed(growth, DP_ROUND_UP, out, ctx);
done:
	BN_CTX_end(ctx);
	return status;
}

/*
 * dp_acct_compose_advanced
 *	  k mechanisms of (epsilon, delta) each, by Theorem 3.20 as printed.
 *
 * Requires: outputs non-NULL.
 * Gives:	 DP_OK, sqrt(2 k ln(1/slack)) epsilon + k epsilon (e^epsilon - 1)
 *			 rounded up (it may exceed k epsilon: as printed), and
 *			 k delta + slack.  DP_E_RANGE when k < 1, epsilon or delta is
 *			 infinite or slack not in (0, 1); DP_E_OVERFLOW; DP_E_MEMORY.
 * Source:	 doc/theory.md T32 (book, Theorem 3.20), T24.
 */
dp_status
dp_acct_compose_advanced(dp_fixed epsilon, dp_fixed delta, int64_t k,
						 dp_fixed slack, dp_fixed *epsilon_out,
						 dp_fixed *delta_out)
{
	BN_CTX	   *ctx;
	BIGNUM	   *s;
	dp_fixed	d;
	dp_fixed	e = 0;
	dp_status	status;

	if (k < 1 || epsilon == DP_FIXED_INFINITE || !is_slack(slack))
		return DP_E_RANGE;
	status = times(delta, (dp_uint128) k, &d);
	if (status != DP_OK)
		return status;
	d = dp_acct_fixed_add(d, slack);
	if (d == DP_FIXED_INFINITE || epsilon > EPSILON_MOST)
		return DP_E_OVERFLOW;
	ctx = BN_CTX_new();
	if (ctx == NULL)
		return DP_E_MEMORY;
	BN_CTX_start(ctx);
	s = BN_CTX_get(ctx);
	status = DP_E_MEMORY;
	if (s != NULL && deviation(s, k, slack, DP_ROUND_UP, ctx))
		status = total(epsilon, k, s, &e, ctx);
	BN_CTX_end(ctx);
	BN_CTX_free(ctx);
	if (status != DP_OK)
		return status;
	*epsilon_out = e;
	*delta_out = d;
	return DP_OK;
}

/*
 * dp_acct_epsilon_for
 *	  Per-mechanism epsilon of Corollary 3.21: E / (2 sqrt(2 k ln(1/slack))).
 *
 * The corollary is false for slack near 1, so its claim is proved by Theorem
 * 3.20 before it is answered.
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
	BN_CTX	   *ctx;
	BIGNUM	   *s;
	BIGNUM	   *e;
	dp_fixed	each = 0;
	dp_fixed	proved = 0;
	dp_status	status = DP_E_MEMORY;

	if (k < 1 || epsilon_total == 0 || epsilon_total == DP_FIXED_INFINITE ||
		!is_slack(slack))
		return DP_E_RANGE;
	ctx = BN_CTX_new();
	if (ctx == NULL)
		return DP_E_MEMORY;
	BN_CTX_start(ctx);
	s = BN_CTX_get(ctx);
	e = BN_CTX_get(ctx);
	if (e == NULL || !deviation(s, k, slack, DP_ROUND_UP, ctx) ||
		!dp_acct_value_from_fixed(e, epsilon_total, DP_ROUND_DOWN, ctx) ||
		!dp_acct_value_divide(e, e, s, DP_ROUND_DOWN, ctx) ||
		!BN_rshift1(e, e))
		goto done;
	status = dp_acct_value_to_fixed(e, DP_ROUND_DOWN, &each, ctx);
	if (status == DP_E_OVERFLOW || (status == DP_OK && each > EPSILON_MOST))
		status = DP_E_RANGE;
	if (status == DP_OK)
		status = total(each, k, s, &proved, ctx);
	if (status == DP_E_OVERFLOW ||
		(status == DP_OK && proved > epsilon_total))
		status = DP_E_RANGE;
done:
	BN_CTX_end(ctx);
	BN_CTX_free(ctx);
	if (status == DP_OK)
		*out = each;
	return status;
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
	BN_CTX	   *ctx;
	BIGNUM	   *s;
	dp_fixed	low = 0;
	dp_fixed	high = EPSILON_MOST;	/* never proved: it overflows */
	dp_status	status = DP_OK;

	if (k < 1 || epsilon_total == 0 || epsilon_total == DP_FIXED_INFINITE ||
		!is_slack(slack))
		return DP_E_RANGE;
	ctx = BN_CTX_new();
	if (ctx == NULL)
		return DP_E_MEMORY;
	BN_CTX_start(ctx);
	s = BN_CTX_get(ctx);
	if (s == NULL || !deviation(s, k, slack, DP_ROUND_UP, ctx))
		status = DP_E_MEMORY;
	while (status == DP_OK && high - low > 1)
	{
		dp_fixed	middle = low + (high - low) / 2;
		dp_fixed	proved = 0;

		status = total(middle, k, s, &proved, ctx);
		if (status == DP_OK && proved <= epsilon_total)
			low = middle;
		else
		{
			high = middle;
			if (status == DP_E_OVERFLOW)
				status = DP_OK;
		}
	}
	BN_CTX_end(ctx);
	BN_CTX_free(ctx);
	if (status == DP_OK)
		*out = low;
	return status;
}

/*
 * Upper bound on delta (e^(g e) - 1) / (e^e - 1), which is
 * delta (1 - e^-ge) / ((1 - e^-e) e^-(g-1)e); 1 when it is not below 1.
 */
static dp_status
group_delta(dp_fixed epsilon, dp_fixed delta, int64_t g, dp_fixed *out,
			BN_CTX *ctx)
{
	BIGNUM	   *e;
	BIGNUM	   *grid;
	BIGNUM	   *one;
	BIGNUM	   *x;
	BIGNUM	   *num;
	BIGNUM	   *den;
	dp_status	status = DP_E_MEMORY;

	BN_CTX_start(ctx);
	e = BN_CTX_get(ctx);
	grid = BN_CTX_get(ctx);
	one = BN_CTX_get(ctx);
	x = BN_CTX_get(ctx);
	num = BN_CTX_get(ctx);
	den = BN_CTX_get(ctx);
	if (den == NULL ||
		!BN_set_word(one, 1) || !BN_lshift(one, one, DP_BOUND_BITS) ||
		!dp_acct_integer_set(grid, DP_FIXED_ONE) ||
		!dp_acct_integer_set(e, epsilon) ||
		!BN_copy(x, e) || !BN_mul_word(x, (BN_ULONG) g) ||
		!dp_acct_bound_exp(num, x, grid, DP_ROUND_DOWN, ctx) ||
		!BN_sub(num, one, num) ||
		!dp_acct_bound_exp(den, e, grid, DP_ROUND_UP, ctx) ||
		!BN_sub(den, one, den) ||
		!BN_sub(x, x, e) ||
		!dp_acct_bound_exp(x, x, grid, DP_ROUND_DOWN, ctx) ||
		!dp_acct_value_multiply(den, den, x, DP_ROUND_DOWN, ctx) ||
		!dp_acct_value_from_fixed(x, delta, DP_ROUND_UP, ctx) ||
		!dp_acct_value_multiply(num, num, x, DP_ROUND_UP, ctx) ||
		!dp_acct_value_divide(num, num, den, DP_ROUND_UP, ctx))
		goto done;
	status = dp_acct_value_to_fixed(num, DP_ROUND_UP, out, ctx);
	if (status == DP_E_OVERFLOW || (status == DP_OK && *out > DP_FIXED_ONE))
	{
		*out = DP_FIXED_ONE;
		status = DP_OK;
	}
done:
	BN_CTX_end(ctx);
	return status;
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
	{
		BN_CTX	   *ctx = BN_CTX_new();

		if (ctx == NULL)
			return DP_E_MEMORY;
		status = group_delta(charge->epsilon, charge->delta, g, &group.delta,
							 ctx);
		BN_CTX_free(ctx);
		if (status != DP_OK)
			return status;
	}
	*out = group;
	return DP_OK;
}
