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
#include "sparse.h"

/*
 * Algorithm 3's division of epsilon between Sparse and the answers: 8 to 1,
 * and sqrt(512) to 1 when delta > 0.
 */
static dp_status
book_division(const dp_sparse_request *q, dp_fixed *answers)
{
	BN_CTX	   *ctx;
	BIGNUM	   *one;
	BIGNUM	   *root;
	dp_status	status = DP_E_MEMORY;

	if (!q->numeric || q->delta == 0)
	{
		*answers = q->numeric ? q->epsilon / 9 : 0;
		return DP_OK;
	}
	ctx = BN_CTX_new();
	if (ctx == NULL)
		return DP_E_MEMORY;
	BN_CTX_start(ctx);
	one = BN_CTX_get(ctx);
	root = BN_CTX_get(ctx);
	if (root != NULL && BN_set_word(one, 1) &&
		BN_lshift(one, one, DP_BOUND_BITS) && BN_lshift(root, one, 9) &&
		dp_acct_value_sqrt(root, root, DP_ROUND_UP, ctx) &&
		dp_acct_sparse_share(q->epsilon, one, root, answers, ctx))
		status = DP_OK;
	BN_CTX_end(ctx);
	BN_CTX_free(ctx);
	return status;
}

/* The epsilon of one of the cutoff's equal parts of `whole`, as the book. */
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
	BN_CTX	   *ctx = BN_CTX_new();
	BIGNUM	   *l;
	BIGNUM	   *x;
	dp_status	status = DP_E_MEMORY;

	if (ctx == NULL)
		return DP_E_MEMORY;
	BN_CTX_start(ctx);
	l = BN_CTX_get(ctx);
	x = BN_CTX_get(ctx);
	if (x == NULL ||
		!dp_acct_sparse_log(l, q->questions, q->cutoff, side_beta(q), ctx) ||
		!BN_lshift1(l, l) ||
		!BN_mul_word(l, (BN_ULONG) plan->query_sensitivity) ||
		!dp_acct_integer_set(x, DP_FIXED_ONE) || !BN_mul(l, l, x, ctx) ||
		!dp_acct_integer_set(x, plan->query_epsilon) ||
		!BN_lshift(x, x, DP_BOUND_BITS) || !BN_sub_word(l, 1) ||
		!BN_div(l, NULL, l, x, ctx) || !BN_add_word(l, 1))
		goto done;
	if (BN_num_bits(l) > 126)
		status = DP_E_OVERFLOW;
	else if (dp_acct_integer_get(l, &plan->alpha))
		status = dp_acct_sparse_answers(q, plan);
done:
	BN_CTX_end(ctx);
	BN_CTX_free(ctx);
	return status;
}

/* Small cutoffs need no slack for what the corollary allows. */
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

