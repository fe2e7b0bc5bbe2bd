/*
 * sparse_book.c
 *	  Plans of the book's Algorithms 1 to 3: AboveThreshold, Sparse and
 *	  NumericSparse, with their errata.
 *
 * Algorithm 2 is a threshold drawn afresh after each "above" with noise of
 * sigma = 2c/epsilon, or sqrt(32 c ln(1/delta))/epsilon; that is Algorithm 1
 * run c times at epsilon/c, or at Corollary 3.21's epsilon.  Algorithm 3 gives
 * 8/9 of epsilon (or sqrt(512)/(sqrt(512)+1)) to Algorithm 2 and the rest to
 * the answers.  As printed its epsilon_2 lacks the factor epsilon.
 */
#include "sparse_plan.h"

/*
 * Algorithm 3's division of epsilon between Sparse and the answers: 8 to 1,
 * and sqrt(512) to 1 when delta > 0.
 */
static dp_status
book_division(const dp_sparse_request *q, dp_fixed *answers)
{
	dp_big		b;
	BIGNUM	   *one;
	BIGNUM	   *root;

	if (!q->numeric || q->delta == 0)
	{
		*answers = q->numeric ? q->epsilon / 9 : 0;
		return DP_OK;
	}
	dp_mech_big_begin(&b);
	one = value_one(&b);
	root = value_root(&b, big_shift(&b, one, 9), DP_ROUND_UP);
	return dp_acct_end_fixed(&b, sparse_share(&b, q->epsilon, one, root),
							 answers);
}

/* The epsilon of one of `cutoff` equal parts of `whole`, as in the book. */
static dp_status
book_part(const dp_sparse_request *q, dp_fixed whole, dp_fixed *out)
{
	if (q->delta > 0)
		return dp_acct_epsilon_for(whole, q->cutoff,
								   q->numeric ? q->delta / 2 : q->delta, out);
	*out = whole / (dp_uint128) q->cutoff;
	return DP_OK;
}

/* ceil(2 b (ln k + ln(c/beta))), b the scale of the queries' noise. */
static dp_status
book_error(const dp_sparse_request *q, dp_sparse_plan *plan)
{
	dp_big		b;
	BIGNUM	   *x;
	BIGNUM	   *y;
	dp_uint128	alpha;
	dp_status	status;

	dp_mech_big_begin(&b);
	x = big_multiply_word(&b, big_of(&b, DP_FIXED_ONE),
						  (uint64_t) q->questions);
	x = big_multiply_word(&b, x, (uint64_t) q->cutoff);
	x = value_log(&b, x, big_of(&b, side_beta(q)), DP_ROUND_UP);
	x = big_multiply_word(&b, big_shift(&b, x, 1), plan->query_sensitivity);
	x = big_multiply(&b, x, big_of(&b, DP_FIXED_ONE));
	y = big_shift(&b, big_of(&b, plan->query_epsilon), DP_VALUE_BITS);
	x = big_divide(&b, big_subtract_word(&b, x, 1), y);
	alpha = dp_mech_big_get(&b, big_add_word(&b, x, 1));
	if (alpha >> 126 != 0)
		(void) dp_mech_big_check(&b, DP_E_OVERFLOW);
	status = dp_mech_big_end(&b);
	if (status != DP_OK)
		return status;
	plan->alpha = alpha;
	return dp_acct_sparse_answers(q, plan);
}

/* At small cutoffs the sum is within epsilon without a delta. */
static void
book_price(const dp_sparse_request *q, dp_sparse_plan *plan)
{
	dp_fixed	sum;
	dp_fixed	nothing;

	if (dp_acct_compose_basic(plan->threshold_epsilon +
							  plan->query_epsilon + plan->answer_epsilon,
							  0, q->cutoff, &sum, &nothing) == DP_OK &&
		sum <= q->epsilon)
	{
		plan->charge.epsilon = sum;
		plan->charge.delta = 0;
	}
}

/*
 * dp_acct_sparse_book
 *	  dp_acct_sparse_plan for the book's algorithms.
 *
 * One of the cutoff's rounds is AboveThreshold with Lap(2D/e) at the threshold
 * and Lap(4D/e) at the queries: half of e for each.
 *
 * Requires: a request that dp_acct_sparse_plan has checked.
 * Gives:	 as dp_acct_sparse_plan.
 * Source:	 doc/theory.md T54 (book, Theorems 3.23 to 3.28).
 */
dp_status
dp_acct_sparse_book(const dp_sparse_request *q, dp_sparse_plan *out)
{
	dp_sparse_plan plan = {0};
	sparse_shape s = {1, q->cutoff, 0, q->delta};
	dp_fixed	answers;
	dp_status	status;

	plan.method = DP_SPARSE_BOOK;
	plan.two_sided = true;
	plan.numeric = q->numeric;
	plan.fresh = true;
	plan.threshold_sensitivity = q->sensitivity;
	if (!multiply_sensitivity(q->sensitivity, 2, &plan.query_sensitivity))
		return DP_E_OVERFLOW;
	plan.answer_sensitivity = q->numeric ? q->sensitivity : 0;
	status = book_division(q, &answers);
	if (status == DP_OK && q->numeric)
		status = book_part(q, answers, &plan.answer_epsilon);
	if (status == DP_OK)
		status = book_part(q, q->epsilon - answers, &s.each);
	if (status != DP_OK)
		return status;
	plan.threshold_epsilon = s.each / 2;
	plan.query_epsilon = s.each / 2;
	if (plan.query_epsilon == 0 || (q->numeric && plan.answer_epsilon == 0))
		return DP_E_RANGE;
	status = book_error(q, &plan);
	if (status == DP_OK)
		status = dp_acct_sparse_price(q, &s, &plan);
	if (status != DP_OK)
		return status;
	book_price(q, &plan);
	*out = plan;
	return DP_OK;
}

