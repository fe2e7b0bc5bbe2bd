/*
 * plan.c
 *	  What a budget buys: plans for k equal queries, and the error that Laplace
 *	  noise makes.
 */
#include "value.h"

/* Whether k charges of epsilon fit a sum of squares. */
static dp_status
squares_fit(dp_fixed epsilon, int64_t k, dp_fixed limit, bool *fits)
{
	dp_fixed	each = dp_acct_square(epsilon);

	*fits = each != DP_FIXED_INFINITE && each <= limit / (dp_uint128) k;
	return DP_OK;
}

/* Whether k charges of epsilon fit a sum of rho. */
static dp_status
rho_fits(dp_fixed epsilon, int64_t k, dp_fixed limit, bool *fits)
{
	dp_rational e;
	dp_fixed	rho = 0;
	dp_status	status = dp_acct_fixed_to_rational(epsilon, &e);

	if (status == DP_OK)
		status = dp_acct_rho_from_pure(&e, &rho);
	*fits = status == DP_OK && rho <= limit / (dp_uint128) k;
	return status;
}

/* The largest epsilon below `high` that fits; 0 always does. */
static dp_status
largest(dp_status (*test) (dp_fixed, int64_t, dp_fixed, bool *), int64_t k,
		dp_fixed limit, dp_fixed high, dp_fixed *out)
{
	dp_fixed	low = 0;

	while (high - low > 1)
	{
		dp_fixed	middle = low + (high - low) / 2;
		bool		fits;
		dp_status	status = test(middle, k, limit, &fits);

		if (status != DP_OK)
			return status;
		if (fits)
			low = middle;
		else
			high = middle;
	}
	*out = low;
	return DP_OK;
}

/* A rule that does not apply gives 0; other failures are returned. */
static dp_status
optional(dp_status status, dp_fixed *out)
{
	if (status != DP_E_RANGE && status != DP_E_OVERFLOW)
		return status;
	*out = 0;
	return DP_OK;
}

/*
 * dp_acct_plan
 *	  The epsilon that each of k equal pure queries may have, per rule.
 *
 * The filters split delta as dp_acct_limit_make does; a batch of pure queries
 * has no use for d'' and gets all of delta as slack.
 *
 * Requires: out non-NULL.
 * Gives:	 DP_OK and, per rule, an epsilon such that k charges of it are
 *			 admitted (the largest for the filters and the theorem; for the
 *			 optimum see dp_acct_epsilon_for_optimal); 0 where the rule
 *			 gives none: all but basic for delta = 0, the corollary where it
 *			 is false, the optimum for k > 2^20 or a total above 1000.
 *			 DP_E_RANGE when k < 1, the total is 0 or infinite, or
 *			 delta >= 1; DP_E_MEMORY.
 * Source:	 doc/theory.md T39.
 */
dp_status
dp_acct_plan(dp_fixed epsilon_total, dp_fixed delta, int64_t k, dp_plan *out)
{
	dp_plan		plan = {0, 0, 0, 0, 0, 0, 0};
	dp_fixed	half = delta / 2;
	dp_fixed	limit;
	dp_fixed	most;
	dp_limit	zcdp;
	dp_status	status;

	if (k < 1 || epsilon_total == 0 || epsilon_total == DP_FIXED_INFINITE ||
		delta >= DP_FIXED_ONE)
		return DP_E_RANGE;
	plan.basic = epsilon_total / (dp_uint128) k;
	plan.best = plan.basic;
	if (half > 0)
	{
		status = dp_acct_squares_limit(epsilon_total, half, &limit);
		if (status == DP_OK)
			status = largest(squares_fit, k, limit, epsilon_total + 1,
							 &plan.advanced);
		if (status != DP_OK)
			return status;
		status = dp_acct_limit_make(DP_FILTER_ZCDP, epsilon_total, delta,
									&zcdp);
		if (status != DP_OK)
			return status;
		/* rho(2E + 1) > E > rho_B: above it nothing fits */
		most = dp_acct_fixed_add(epsilon_total,
								 dp_acct_fixed_add(epsilon_total,
												   DP_FIXED_ONE));
		if (most == DP_FIXED_INFINITE)
			most--;
		status = largest(rho_fits, k, zcdp.rho, most, &plan.zcdp);
		if (status != DP_OK)
			return status;
		if (plan.zcdp > plan.best)
			plan.best = plan.zcdp;
	}
	if (delta > 0)
	{
		status = optional(dp_acct_epsilon_for(epsilon_total, k, delta,
											  &plan.corollary),
						  &plan.corollary);
		if (status == DP_OK)
			status = optional(dp_acct_epsilon_for_advanced(epsilon_total, k,
														   delta,
														   &plan.theorem),
							  &plan.theorem);
		if (status == DP_OK)
			status = optional(dp_acct_epsilon_for_optimal(epsilon_total, k,
														  delta,
														  &plan.optimal),
							  &plan.optimal);
		if (status != DP_OK)
			return status;
	}
	*out = plan;
	return DP_OK;
}

static bool
error_domain(dp_fixed epsilon, int64_t k, dp_fixed beta)
{
	return epsilon > 0 && epsilon != DP_FIXED_INFINITE && k >= 1 &&
		beta > 0 && beta < DP_FIXED_ONE;
}

/*
 * dp_acct_laplace_bound
 *	  The error of Theorem 3.8: ln(k/beta) sensitivity / epsilon.
 *
 * Requires: out non-NULL.
 * Gives:	 DP_OK and the number rounded up; DP_E_RANGE when epsilon is 0 or
 *			 infinite, sensitivity infinite, k < 1 or beta not in (0, 1);
 *			 DP_E_OVERFLOW; DP_E_MEMORY.
 * Source:	 doc/theory.md T39 (book, Theorem 3.8).
 */
dp_status
dp_acct_laplace_bound(dp_fixed sensitivity, dp_fixed epsilon, int64_t k,
					  dp_fixed beta, dp_fixed *out)
{
	dp_big		b;
	BIGNUM	   *x;

	if (!error_domain(epsilon, k, beta) || sensitivity == DP_FIXED_INFINITE)
		return DP_E_RANGE;
	dp_mech_big_begin(&b);
	x = value_log_over(&b, (uint64_t) k, beta, DP_ROUND_UP);
	x = big_multiply(&b, x, big_of(&b, sensitivity));
	x = big_add_word(&b, big_divide(&b, x, big_of(&b, epsilon)), 1);
	return dp_acct_end_fixed(&b, value_to_fixed(&b, x, DP_ROUND_UP), out);
}

/*
 * max(0, ceil(b (ln(k/beta) + ln(2/(1+p)))) - 1), b = sensitivity / epsilon,
 * p = e^(-1/b); without the second logarithm when one-sided.
 */
static dp_status
integer_error(uint64_t sensitivity, dp_fixed epsilon, int64_t k,
			  dp_fixed beta, bool two_sided, dp_uint128 *out)
{
	dp_big		b;
	BIGNUM	   *l;
	BIGNUM	   *d;
	BIGNUM	   *e;
	BIGNUM	   *x;
	dp_uint128	a;
	dp_status	status;

	if (!error_domain(epsilon, k, beta) || sensitivity == 0)
		return DP_E_RANGE;
	dp_mech_big_begin(&b);
	l = value_log_over(&b, (uint64_t) k, beta, DP_ROUND_UP);
	d = big_multiply_word(&b, big_of(&b, DP_FIXED_ONE), sensitivity);
	e = big_of(&b, epsilon);
	if (two_sided)
	{
		x = big_add(&b, value_one(&b), value_exp(&b, e, d, DP_ROUND_DOWN));
		x = value_log(&b, big_shift(&b, value_one(&b), 1), x, DP_ROUND_UP);
		l = big_add(&b, l, x);
	}
	/* ceil(l d / e / 2^B) - 1 = floor((l d - 1) / (e 2^B)), and not below 0 */
	x = big_subtract_word(&b, big_multiply(&b, l, d), 1);
	a = dp_mech_big_get(&b, big_divide(&b, x,
									   big_shift(&b, e, DP_VALUE_BITS)));
	if (a >> 127 != 0)
		(void) dp_mech_big_check(&b, DP_E_OVERFLOW);
	status = dp_mech_big_end(&b);
	if (status == DP_OK)
		*out = a;
	return status;
}

/*
 * dp_acct_laplace_error
 *	  The least a such that none of k discrete Laplace variates of scale
 *	  sensitivity / epsilon exceeds a in size, except with probability beta
 *	  (by the union bound).
 *
 * Requires: out non-NULL.
 * Gives:	 DP_OK and that integer, or one more where the exact bound lies
 *			 within 2^-60 of an integer; DP_E_RANGE when epsilon is 0 or
 *			 infinite, sensitivity 0, k < 1 or beta not in (0, 1);
 *			 DP_E_OVERFLOW; DP_E_MEMORY.
 * Source:	 doc/theory.md T39, T7.
 */
dp_status
dp_acct_laplace_error(uint64_t sensitivity, dp_fixed epsilon, int64_t k,
					  dp_fixed beta, dp_uint128 *out)
{
	return integer_error(sensitivity, epsilon, k, beta, true, out);
}

/*
 * dp_acct_geometric_error
 *	  As dp_acct_laplace_error, for one-sided geometric variates.
 *
 * Requires: out non-NULL.
 * Gives:	 as dp_acct_laplace_error.
 * Source:	 doc/theory.md T39, T4.
 */
dp_status
dp_acct_geometric_error(uint64_t sensitivity, dp_fixed epsilon, int64_t k,
						dp_fixed beta, dp_uint128 *out)
{
	return integer_error(sensitivity, epsilon, k, beta, false, out);
}
