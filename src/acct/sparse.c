/*
 * sparse.c
 *	  Plans of sparse vector mechanisms: how a session's epsilon is split,
 *	  what error that promises, what the session is charged.
 *
 * Whatever decides privacy is exact.  The best split of an epsilon is
 * irrational; it is computed to 24 digits, and what is stored are the parts,
 * whose sum is the whole to the last digit.  All noise follows from the
 * stored parts, and the error is computed from them as well, rounded up: so
 * a split that is off by a digit costs nothing but an error that is off by
 * as little.  doc/theory.md T52 (privacy), T53 (error), T54 (the book's).
 */
#include <string.h>

#include "sparse_plan.h"

static const char *const method_name[] = {
	[DP_SPARSE_BEST] = "best",
	[DP_SPARSE_GEOMETRIC] = "geometric",
	[DP_SPARSE_ROUNDS] = "rounds",
	[DP_SPARSE_BOOK] = "book",
};

#define METHODS (sizeof(method_name) / sizeof(method_name[0]))

/*
 * dp_acct_sparse_name
 *	  The name of a method.
 *
 * Requires: nothing.
 * Gives:	 a static text; NULL for a number that is no method.
 * Source:	 doc/theory.md T53.
 */
const char *
dp_acct_sparse_name(dp_sparse_method method)
{
	return (unsigned) method < METHODS ? method_name[method] : NULL;
}

/*
 * dp_acct_sparse_parse
 *	  The method of a name.
 *
 * Requires: name, out non-NULL.
 * Gives:	 true with *out set; false, *out untouched, for any other text.
 * Source:	 doc/theory.md T53.
 */
bool
dp_acct_sparse_parse(const char *name, dp_sparse_method *out)
{
	unsigned	i;

	for (i = 0; i < METHODS; i++)
		if (strcmp(name, method_name[i]) == 0)
		{
			*out = (dp_sparse_method) i;
			return true;
		}
	return false;
}

static bool
is_request(const dp_sparse_request *q)
{
	return (unsigned) q->method < METHODS && q->sensitivity > 0 &&
		q->cutoff >= 1 && q->cutoff <= q->questions &&
		q->epsilon > 0 && q->epsilon != DP_FIXED_INFINITE &&
		q->delta < DP_FIXED_ONE && q->beta > 0 && q->beta < DP_FIXED_ONE;
}

/*
 * Splits s->each among threshold, queries and answers: exactly, for the last
 * part is what the others leave.
 *
 * The weights of the two noises are w1 = sqrt(L2) and w2 = sqrt(m s L1), and
 * of the whole threshold against the answers, a = (w1 + w2)^2 / 2 and
 * n = s ln(2c/beta).
 */
static dp_status
split(const dp_sparse_request *q, const sparse_shape *s, dp_sparse_plan *plan)
{
	uint64_t	spread = (uint64_t) s->spread;
	dp_big		b;
	BIGNUM	   *w1;
	BIGNUM	   *w2;
	BIGNUM	   *a;
	BIGNUM	   *n;
	dp_fixed	e1;
	dp_fixed	e3 = 0;
	dp_status	status;

	dp_mech_big_begin(&b);
	w1 = value_root(&b, value_log_over(&b, (uint64_t) s->rounds, side_beta(q),
									   DP_ROUND_UP), DP_ROUND_UP);
	w2 = value_log_over(&b, (uint64_t) q->questions, side_beta(q),
						DP_ROUND_UP);
	w2 = big_shift(&b, big_multiply_word(&b, w2, spread), q->monotone ? 0 : 1);
	w2 = value_root(&b, w2, DP_ROUND_UP);
	if (q->numeric)
	{
		a = big_add(&b, w1, w2);
		a = big_shift(&b, value_product(&b, a, a, DP_ROUND_UP), -1);
		n = value_log_over(&b, (uint64_t) q->cutoff, answer_beta(q),
						   DP_ROUND_UP);
		n = big_multiply_word(&b, n, spread);
		e3 = sparse_share(&b, s->each, n, a);
	}
	e1 = sparse_share(&b, s->each - e3, w1, w2);
	status = dp_mech_big_end(&b);
	if (status != DP_OK)
		return status;
	plan->threshold_epsilon = e1;
	plan->query_epsilon = s->each - e3 - e1;
	plan->answer_epsilon = e3;
	/* the query's part is never the smallest */
	return e1 > 0 && (!q->numeric || e3 > 0) ? DP_OK : DP_E_RANGE;
}

/*
 * alpha and the offset for one-sided noise.  With g1 and g2 the sizes that
 * the noises do not exceed, a false "above" needs alpha + 1 + offset > g2 to
 * be excluded and a false "below" alpha + 2 - offset > g1.
 */
static dp_status
one_sided_error(const dp_sparse_request *q, const sparse_shape *s,
				dp_sparse_plan *plan)
{
	dp_uint128	g1;
	dp_uint128	g2;
	dp_uint128	a;
	dp_status	status;

	status = dp_acct_geometric_error(plan->threshold_sensitivity,
									 plan->threshold_epsilon, s->rounds,
									 side_beta(q), &g1);
	if (status == DP_OK)
		status = dp_acct_geometric_error(plan->query_sensitivity,
										 plan->query_epsilon, q->questions,
										 side_beta(q), &g2);
	if (status != DP_OK)
		return status;
	if (g1 > INT64_MAX || g2 > INT64_MAX)
		return DP_E_OVERFLOW;
	a = (g1 + g2) / 2;
	plan->alpha = a;
	plan->offset = (int64_t) g2 - (int64_t) a;
	return dp_acct_sparse_answers(q, plan);
}

static dp_status
one_sided_plan(const dp_sparse_request *q, dp_sparse_method method,
			   const sparse_shape *s, dp_sparse_plan *out)
{
	dp_sparse_plan plan = {0};
	dp_status	status;

	plan.method = method;
	plan.numeric = q->numeric;
	plan.fresh = method == DP_SPARSE_ROUNDS;
	plan.threshold_sensitivity = q->sensitivity;
	if (!multiply_sensitivity(q->sensitivity, (uint64_t) s->spread,
							  &plan.answer_sensitivity) ||
		!multiply_sensitivity(plan.answer_sensitivity, q->monotone ? 1 : 2,
							  &plan.query_sensitivity))
		return DP_E_OVERFLOW;
	if (!q->numeric)
		plan.answer_sensitivity = 0;
	status = split(q, s, &plan);
	if (status == DP_OK)
		status = one_sided_error(q, s, &plan);
	if (status == DP_OK)
		status = dp_acct_sparse_price(q, s, &plan);
	if (status == DP_OK)
		*out = plan;
	return status;
}

static dp_status
geometric_plan(const dp_sparse_request *q, dp_sparse_plan *out)
{
	const sparse_shape s = {q->cutoff, 1, q->epsilon, 0};

	return one_sided_plan(q, DP_SPARSE_GEOMETRIC, &s, out);
}

/*
 * The largest epsilon that each of the cutoff's rounds may have: by the sum,
 * or with the slack delta by optimal composition or Theorem 3.20.
 */
static dp_status
largest_round(const dp_sparse_request *q, sparse_shape *s)
{
	dp_fixed	other;
	dp_status	status;
	int			i;

	s->spread = 1;
	s->rounds = q->cutoff;
	s->each = q->epsilon / (dp_uint128) q->cutoff;
	s->delta = 0;
	for (i = 0; q->delta > 0 && i < 2; i++)
	{
		status = i == 0 ?
			dp_acct_epsilon_for_optimal(q->epsilon, q->cutoff, q->delta,
										&other) :
			dp_acct_epsilon_for_advanced(q->epsilon, q->cutoff, q->delta,
										 &other);
		if (status == DP_E_MEMORY)
			return status;
		if (status == DP_OK && other > s->each)
		{
			s->each = other;
			s->delta = q->delta;
		}
	}
	return s->each > 0 ? DP_OK : DP_E_RANGE;
}

static dp_status
rounds_plan(const dp_sparse_request *q, dp_sparse_plan *out)
{
	sparse_shape s;
	dp_status	status = largest_round(q, &s);

	if (status != DP_OK)
		return status;
	return one_sided_plan(q, DP_SPARSE_ROUNDS, &s, out);
}

static dp_status
best_plan(const dp_sparse_request *q, dp_sparse_plan *out)
{
	dp_sparse_plan rounds;
	dp_status	status = geometric_plan(q, out);
	dp_status	other = rounds_plan(q, &rounds);

	if (status == DP_E_MEMORY || other == DP_E_MEMORY)
		return DP_E_MEMORY;
	if (other == DP_OK && (status != DP_OK || rounds.alpha < out->alpha))
	{
		*out = rounds;
		return DP_OK;
	}
	return status;
}

/*
 * dp_acct_sparse_plan
 *	  How a sparse vector session spends its epsilon, and the error that it
 *	  promises.
 *
 * Requires: sensitivity is that of each question; monotone only when
 *			 neighbours move all questions' values the same way.
 * Gives:	 DP_OK and the plan.  The epsilons of one mechanism add up to no
 *			 more than the request's, exactly, and the charge is valid for
 *			 the mechanism with the law of dp_acct_sparse_law that halts
 *			 after `cutoff` "above"s.  alpha holds as the header says, when
 *			 no more than `questions` are asked.
 *			 DP_E_RANGE when a number lies outside its domain, epsilon
 *			 cannot be split on the grid, or Theorem 3.20 does not confirm
 *			 the book's per-round epsilon; DP_E_OVERFLOW when a scale or an
 *			 error does not fit; DP_E_MEMORY; *out is then untouched.
 * Source:	 doc/theory.md T52, T53, T54.
 */
dp_status
dp_acct_sparse_plan(const dp_sparse_request *request, dp_sparse_plan *out)
{
	dp_sparse_plan plan;
	dp_status	status;

	if (!is_request(request) || side_beta(request) == 0)
		return DP_E_RANGE;
	if (request->method == DP_SPARSE_GEOMETRIC)
		status = geometric_plan(request, &plan);
	else if (request->method == DP_SPARSE_ROUNDS)
		status = rounds_plan(request, &plan);
	else if (request->method == DP_SPARSE_BOOK)
		status = dp_acct_sparse_book(request, &plan);
	else
		status = best_plan(request, &plan);
	if (status == DP_OK)
		*out = plan;
	return status;
}

static dp_status
scale_of(uint64_t sensitivity, dp_fixed epsilon, dp_scale *out)
{
	dp_rational exact;
	dp_status	status = dp_acct_fixed_to_rational(epsilon, &exact);

	return status == DP_OK ?
		dp_mech_scale_make(sensitivity, &exact, out) : status;
}

/*
 * dp_acct_sparse_law
 *	  The noise of a plan, for src/mech.
 *
 * Requires: plan from dp_acct_sparse_plan; charge and alpha are not read.
 * Gives:	 DP_OK and scales that are exactly sensitivity / epsilon of the
 *			 plan's stored numbers; DP_E_RANGE when one of them is 0 or
 *			 infinite; *out is then untouched.
 * Source:	 doc/theory.md T52.
 */
dp_status
dp_acct_sparse_law(const dp_sparse_plan *plan, dp_threshold_law *out)
{
	dp_threshold_law law = {0};
	dp_status	status;

	law.two_sided = plan->two_sided;
	law.numeric = plan->numeric;
	status = scale_of(plan->threshold_sensitivity, plan->threshold_epsilon,
					  &law.threshold);
	if (status == DP_OK)
		status = scale_of(plan->query_sensitivity, plan->query_epsilon,
						  &law.query);
	if (status == DP_OK && plan->numeric)
		status = scale_of(plan->answer_sensitivity, plan->answer_epsilon,
						  &law.answer);
	if (status == DP_OK)
		*out = law;
	return status;
}
