/*
 * sparse_price.c
 *	  The last steps of every sparse vector plan: the error of the numeric
 *	  answers, and the charge.
 */
#include "sparse_plan.h"

/*
 * dp_acct_sparse_answers
 *	  Raise plan->alpha to the error of the numeric answers.
 *
 * Requires: a plan whose alpha is that of the threshold.
 * Gives:	 DP_OK; errors of dp_acct_laplace_error.
 * Source:	 doc/theory.md T53, T39.
 */
dp_status
dp_acct_sparse_answers(const dp_sparse_request *q, dp_sparse_plan *plan)
{
	dp_uint128	a;
	dp_status	status;

	if (!q->numeric)
		return DP_OK;
	status = dp_acct_laplace_error(plan->answer_sensitivity,
								   plan->answer_epsilon, q->cutoff,
								   answer_beta(q), &a);
	if (status == DP_OK && a > plan->alpha)
		plan->alpha = a;
	return status;
}

/* Add k times what a mechanism of pure epsilon costs in rho to *rho. */
static dp_status
add_rho(dp_fixed epsilon, int64_t k, dp_fixed *rho)
{
	dp_rational exact;
	dp_fixed	each;
	dp_fixed	all;
	dp_fixed	nothing;
	dp_status	status;

	status = dp_acct_fixed_to_rational(epsilon, &exact);
	if (status == DP_OK)
		status = dp_acct_rho_from_pure(&exact, &each);
	if (status == DP_OK)
		status = dp_acct_compose_basic(each, 0, k, &all, &nothing);
	if (status != DP_OK)
		return status;
	*rho = dp_acct_fixed_add(*rho, all);
	return *rho == DP_FIXED_INFINITE ? DP_E_OVERFLOW : DP_OK;
}

/*
 * dp_acct_sparse_price
 *	  The charge of a plan: the request's epsilon, the shape's delta, and rho
 *	  of the rounds and of the answers one by one.
 *
 * Requires: a plan whose epsilons are set; the rounds and answers compose to
 *			 (q->epsilon, s->delta).
 * Gives:	 DP_OK with plan->charge set; DP_E_OVERFLOW, DP_E_MEMORY.
 * Source:	 doc/theory.md T52, T21.
 */
dp_status
dp_acct_sparse_price(const dp_sparse_request *q, const sparse_shape *s,
					 dp_sparse_plan *plan)
{
	dp_fixed	answer = plan->answer_epsilon / (dp_uint128) s->spread;
	dp_status	status;

	if (plan->answer_epsilon % (dp_uint128) s->spread != 0)
		answer++;
	plan->charge.epsilon = q->epsilon;
	plan->charge.delta = s->delta;
	plan->charge.rho = 0;
	status = add_rho(plan->threshold_epsilon + plan->query_epsilon,
					 s->rounds, &plan->charge.rho);
	if (status == DP_OK && q->numeric)
		status = add_rho(answer, q->cutoff, &plan->charge.rho);
	return status;
}
