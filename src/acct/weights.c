/*
 * weights.c
 *	  Plans of online private multiplicative weights: the least error that a
 *	  session can promise, and the sparse vector below it.
 *
 * A session with gap alpha updates its hypothesis only at questions whose
 * answer it misses by alpha n at least, so a budget of updates follows from
 * alpha; the numeric sparse vector with that cutoff has an error A, and the
 * session is sound when A + 2 <= alpha n.  A falls as alpha rises, so the
 * least sound alpha is found by bisection.  doc/theory.md T55, T56.
 */
#include "value.h"

/* alpha is found to six significant digits. */
#define ALPHA_DIGITS 1000000

/*
 * An update of step eta that corrects an error of alpha takes at least eta
 * alpha - eta^2/8 from a potential that starts at no more than ln|X|: at eta =
 * 4 alpha that is 2 alpha^2, here less 10^-8 of it for a step that is off by
 * 10^-4.  The book has eta = alpha/2 and alpha^2/4.
 */
#define UPDATES_NUM 50000001
#define UPDATES_DEN 100000000
#define BOOK_UPDATES 4

/* The search for alpha stops here. */
#define LEAST_ALPHA (DP_FIXED_ONE / 1000000 / 1000000)

static bool
is_request(const dp_weights_request *q)
{
	return q->cells >= 1 && q->questions >= 1 && q->n >= 1 &&
		q->alpha <= DP_FIXED_ONE;
}

/*
 * min(questions, 1 + floor(u ln cells / alpha^2)), the logarithm rounded up:
 * a larger cutoff is always sound.
 */
static dp_status
cutoff_of(const dp_weights_request *q, dp_fixed alpha, int64_t *out)
{
	bool		book = q->method == DP_SPARSE_BOOK;
	dp_big		b;
	BIGNUM	   *x;
	BIGNUM	   *y;
	dp_uint128	c;

	dp_mech_big_begin(&b);
	x = value_log(&b, big_of(&b, (dp_uint128) q->cells), big_of(&b, 1),
				  DP_ROUND_UP);
	x = big_multiply_word(&b, x, book ? BOOK_UPDATES : UPDATES_NUM);
	x = big_multiply(&b, x, big_square(&b, big_of(&b, DP_FIXED_ONE)));
	y = big_shift(&b, big_square(&b, big_of(&b, alpha)), DP_VALUE_BITS);
	y = big_multiply_word(&b, y, book ? 1 : UPDATES_DEN);
	c = dp_mech_big_get(&b, big_divide(&b, x, y));
	*out = c < (dp_uint128) q->questions ? (int64_t) c + 1 : q->questions;
	return dp_mech_big_end(&b);
}

/* floor(alpha n). */
static dp_status
gap_of(const dp_weights_request *q, dp_fixed alpha, dp_uint128 *out)
{
	dp_big		b;
	BIGNUM	   *x;

	dp_mech_big_begin(&b);
	x = big_multiply_word(&b, big_of(&b, alpha), (uint64_t) q->n);
	*out = dp_mech_big_get(&b, big_divide(&b, x, big_of(&b, DP_FIXED_ONE)));
	return dp_mech_big_end(&b);
}

/* The plan at one alpha; DP_E_RANGE when it is not sound there. */
static dp_status
plan_at(const dp_weights_request *q, dp_fixed alpha, dp_weights_plan *out)
{
	dp_sparse_request sparse = {0};
	dp_weights_plan plan = {0};
	dp_uint128	gap = 0;
	dp_status	status;

	status = gap_of(q, alpha, &gap);
	if (status == DP_OK)
		status = cutoff_of(q, alpha, &plan.updates);
	if (status != DP_OK)
		return status;
	if (gap < 2)
		return DP_E_RANGE;
	sparse.method = q->method;
	sparse.sensitivity = q->sensitivity;
	sparse.numeric = true;
	sparse.questions = q->questions;
	sparse.cutoff = plan.updates;
	sparse.epsilon = q->epsilon;
	sparse.delta = q->delta;
	sparse.beta = q->beta;
	status = dp_acct_sparse_plan(&sparse, &plan.sparse);
	if (status != DP_OK)
		return status == DP_E_OVERFLOW ? DP_E_RANGE : status;
	if (plan.sparse.alpha > gap - 2)
		return DP_E_RANGE;

	/* at least alpha n + A + 1/2, and half a row for the hypothesis */
	plan.threshold = (int64_t) (gap + 2 + plan.sparse.alpha);
	plan.alpha = alpha;
	plan.step = q->method == DP_SPARSE_BOOK ? alpha / 2 : 4 * alpha;
	*out = plan;
	return DP_OK;
}

/* x rounded up to six significant digits. */
static dp_fixed
round_alpha(dp_fixed x)
{
	dp_fixed	unit = 1;

	while (x / unit >= ALPHA_DIGITS)
		unit *= 10;
	return x + (unit - x % unit) % unit;
}

/*
 * The least sound alpha, nearly.  First by halves, so that every plan tried
 * is about as large as the one that is wanted.
 */
static dp_status
least_alpha(const dp_weights_request *q, dp_weights_plan *out)
{
	dp_fixed	low = DP_FIXED_ONE;
	dp_fixed	high;
	dp_weights_plan plan;
	dp_status	status = plan_at(q, low, out);

	while (status == DP_OK && low > LEAST_ALPHA)
		status = plan_at(q, low /= 2, &plan);
	if (status != DP_OK && status != DP_E_RANGE)
		return status;
	if (low == DP_FIXED_ONE)
		return status;
	for (high = 2 * low; high - low > high / ALPHA_DIGITS;)
	{
		dp_fixed	middle = round_alpha(low + (high - low) / 2);

		if (middle >= high)
			break;
		status = plan_at(q, middle, &plan);
		if (status == DP_OK)
			high = middle;
		else if (status == DP_E_RANGE)
			low = middle;
		else
			return status;
	}
	for (;; high = high + high / ALPHA_DIGITS + 1)
	{
		high = round_alpha(high);
		if (high > DP_FIXED_ONE)
			high = DP_FIXED_ONE;
		status = plan_at(q, high, out);
		if (status != DP_E_RANGE || high == DP_FIXED_ONE)
			return status;
	}
}

/*
 * dp_acct_weights_plan
 *	  How an online multiplicative weights session spends its epsilon, and the
 *	  error that it promises.
 *
 * Requires: the session answers as T55 says: scores |F - round(n f)| against
 *			 plan->threshold, updates by plan->step with the sign of the noisy
 *			 answer, the halt after plan->updates "above"s.
 * Gives:	 DP_OK and a plan: for the alpha asked for or, when that is 0, the
 *			 least reachable one, rounded up to six digits.  DP_E_RANGE with
 *			 out->alpha the least reachable when the alpha asked for cannot be
 *			 reached; out->alpha is 0 when not even 1 can be, or when a number
 *			 lies outside its domain.  DP_E_OVERFLOW, DP_E_MEMORY; *out is
 *			 then untouched.
 * Source:	 doc/theory.md T55, T56.
 */
dp_status
dp_acct_weights_plan(const dp_weights_request *request, dp_weights_plan *out)
{
	dp_weights_plan plan = {0};
	dp_fixed	least = 0;
	dp_status	status = DP_E_RANGE;

	if (is_request(request) && request->alpha > 0)
		status = plan_at(request, request->alpha, &plan);
	if (status == DP_E_RANGE && is_request(request))
	{
		status = least_alpha(request, &plan);
		if (status == DP_OK && request->alpha > 0)
		{
			least = plan.alpha;
			status = DP_E_RANGE;
		}
	}
	if (status == DP_OK)
		*out = plan;
	else if (status == DP_E_RANGE)
		out->alpha = least;
	return status;
}
