/*
 * interactive.c
 *	  Plans of sparse vector and of multiplicative weights sessions, and what
 *	  they cost (doc/theory.md T52 - T56).
 */
#include <string.h>

#include "../numbers/dp_numbers.h"
#include "../noise/dp_noise.h"
#include "dp_accounting.h"
#include "accounting_internal.h"

/* The shape that a method gives a session. */
typedef struct sparse_shape
{
	int64_t		spread;			/* "above"s that share one query noise */
	int64_t		rounds;			/* thresholds drawn */
	dp_fixed	each;			/* epsilon of one round */
	dp_fixed	delta;			/* what composing the rounds costs */
} sparse_shape;

/* The share of beta for numeric answers. */
static inline dp_fixed
answer_beta(const dp_sparse_request *q)
{
	return q->beta / 2;
}

/* The share of beta for the threshold, and that for the queries. */
static inline dp_fixed
side_beta(const dp_sparse_request *q)
{
	return q->numeric ? q->beta / 4 : q->beta / 2;
}

static inline bool
multiply_sensitivity(uint64_t sensitivity, uint64_t by, uint64_t *out)
{
	return !__builtin_mul_overflow(sensitivity, by, out);
}

/* floor(whole part / (part + other)); part, other > 0. */
static inline dp_fixed
sparse_share(dp_big *b, dp_fixed whole, const BIGNUM *part,
			 const BIGNUM *other)
{
	BIGNUM	   *x = big_multiply(b, big_of(b, whole), part);

	return dp_numbers_big_get(b, big_divide(b, x, big_add(b, part, other)));
}

/* ----------------
 *		The last steps of every sparse vector plan: the error of the numeric
 *		answers, and the charge.
 * ----------------
 */

/*
 * sparse_answers
 *	  Raise plan->alpha to the error of the numeric answers.
 *
 * Requires: a plan whose alpha is that of the threshold.
 * Gives:	 DP_OK; errors of dp_accounting_error_of_laplace.
 * Source:	 doc/theory.md T53, T39.
 */
static dp_status
sparse_answers(const dp_sparse_request *q, dp_sparse_plan *plan)
{
	dp_uint128	a;
	dp_status	status;

	if (!q->numeric)
		return DP_OK;
	status = dp_accounting_error_of_laplace(plan->answer_sensitivity,
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

	status = dp_accounting_fixed_to_rational(epsilon, &exact);
	if (status == DP_OK)
		status = dp_accounting_rho_from_pure(&exact, &each);
	if (status == DP_OK)
		status = dp_accounting_sum_basic(each, 0, k, &all, &nothing);
	if (status != DP_OK)
		return status;
	*rho = dp_accounting_fixed_add(*rho, all);
	return *rho == DP_FIXED_INFINITE ? DP_E_OVERFLOW : DP_OK;
}

/*
 * sparse_price
 *	  The charge of a plan: the request's epsilon, the shape's delta, and rho
 *	  of the rounds and of the answers one by one.
 *
 * Requires: a plan whose epsilons are set; the rounds and answers compose to
 *			 (q->epsilon, s->delta).
 * Gives:	 DP_OK with plan->charge set; DP_E_OVERFLOW, DP_E_MEMORY.
 * Source:	 doc/theory.md T52, T21.
 */
static dp_status
sparse_price(const dp_sparse_request *q, const sparse_shape *s,
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

/* ----------------
 *		Plans of the book's Algorithms 1 to 3: AboveThreshold, Sparse and
 *		NumericSparse, with their errata.
 *
 * Algorithm 2 is a threshold drawn afresh after each "above" with noise of
 * sigma = 2c/epsilon, or sqrt(32 c ln(1/delta))/epsilon; that is Algorithm 1
 * run c times at epsilon/c, or at Corollary 3.21's epsilon.  Algorithm 3 gives
 * 8/9 of epsilon (or sqrt(512)/(sqrt(512)+1)) to Algorithm 2 and the rest to
 * the answers.  As printed its epsilon_2 lacks the factor epsilon.
 * ----------------
 */

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
	dp_numbers_big_begin(&b);
	one = value_one(&b);
	root = value_root(&b, big_shift(&b, one, 9), DP_ROUND_UP);
	return dp_accounting_end_fixed(&b, sparse_share(&b, q->epsilon, one, root),
								   answers);
}

/* The epsilon of one of `cutoff` equal parts of `whole`, as in the book. */
static dp_status
book_part(const dp_sparse_request *q, dp_fixed whole, dp_fixed *out)
{
	if (q->delta > 0)
		return dp_accounting_find_epsilon(whole, q->cutoff,
										  q->numeric ? q->delta / 2 : q->delta,
										  out);
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

	dp_numbers_big_begin(&b);
	x = big_multiply_word(&b, big_of(&b, DP_FIXED_ONE),
						  (uint64_t) q->questions);
	x = big_multiply_word(&b, x, (uint64_t) q->cutoff);
	x = value_log(&b, x, big_of(&b, side_beta(q)), DP_ROUND_UP);
	x = big_multiply_word(&b, big_shift(&b, x, 1), plan->query_sensitivity);
	x = big_multiply(&b, x, big_of(&b, DP_FIXED_ONE));
	y = big_shift(&b, big_of(&b, plan->query_epsilon), DP_VALUE_BITS);
	x = big_divide(&b, big_subtract_word(&b, x, 1), y);
	alpha = dp_numbers_big_get(&b, big_add_word(&b, x, 1));
	if (alpha >> 126 != 0)
		(void) dp_numbers_big_check(&b, DP_E_OVERFLOW);
	status = dp_numbers_big_end(&b);
	if (status != DP_OK)
		return status;
	plan->alpha = alpha;
	return sparse_answers(q, plan);
}

/* At small cutoffs the sum is within epsilon without a delta. */
static void
book_price(const dp_sparse_request *q, dp_sparse_plan *plan)
{
	dp_fixed	sum;
	dp_fixed	nothing;

	if (dp_accounting_sum_basic(plan->threshold_epsilon +
								plan->query_epsilon + plan->answer_epsilon,
								0, q->cutoff, &sum, &nothing) == DP_OK &&
		sum <= q->epsilon)
	{
		plan->charge.epsilon = sum;
		plan->charge.delta = 0;
	}
}

/*
 * sparse_book
 *	  dp_accounting_sparse_plan for the book's algorithms.
 *
 * One of the cutoff's rounds is AboveThreshold with Lap(2D/e) at the threshold
 * and Lap(4D/e) at the queries: half of e for each.
 *
 * Requires: a request that dp_accounting_sparse_plan has checked.
 * Gives:	 as dp_accounting_sparse_plan.
 * Source:	 doc/theory.md T54 (book, Theorems 3.23 to 3.28).
 */
static dp_status
sparse_book(const dp_sparse_request *q, dp_sparse_plan *out)
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
		status = sparse_price(q, &s, &plan);
	if (status != DP_OK)
		return status;
	book_price(q, &plan);
	*out = plan;
	return DP_OK;
}

/* ----------------
 *		Plans of sparse vector mechanisms: how a session's epsilon is split,
 *		what error that promises, what the session is charged.
 *
 * Whatever decides privacy is exact.  The best split of an epsilon is
 * irrational; it is computed to 24 digits, and what is stored are the parts,
 * whose sum is the whole to the last digit.  All noise follows from the
 * stored parts, and the error is computed from them as well, rounded up: so
 * a split that is off by a digit costs nothing but an error that is off by
 * as little.  doc/theory.md T52 (privacy), T53 (error), T54 (the book's).
 * ----------------
 */

static const char *const method_name[] = {
	[DP_SPARSE_BEST] = "best",
	[DP_SPARSE_GEOMETRIC] = "geometric",
	[DP_SPARSE_ROUNDS] = "rounds",
	[DP_SPARSE_BOOK] = "book",
};

#define METHODS (sizeof(method_name) / sizeof(method_name[0]))

/*
 * dp_accounting_sparse_name
 *	  The name of a method.
 *
 * Requires: nothing.
 * Gives:	 a static text; NULL for a number that is no method.
 * Source:	 doc/theory.md T53.
 */
const char *
dp_accounting_sparse_name(dp_sparse_method method)
{
	return (unsigned) method < METHODS ? method_name[method] : NULL;
}

/*
 * dp_accounting_sparse_parse
 *	  The method of a name.
 *
 * Requires: name, out non-NULL.
 * Gives:	 true with *out set; false, *out untouched, for any other text.
 * Source:	 doc/theory.md T53.
 */
bool
dp_accounting_sparse_parse(const char *name, dp_sparse_method *out)
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
is_sparse_request(const dp_sparse_request *q)
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

	dp_numbers_big_begin(&b);
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
	status = dp_numbers_big_end(&b);
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

	status = dp_accounting_error_of_geometric(plan->threshold_sensitivity,
											  plan->threshold_epsilon,
											  s->rounds, side_beta(q), &g1);
	if (status == DP_OK)
		status = dp_accounting_error_of_geometric(plan->query_sensitivity,
												  plan->query_epsilon,
												  q->questions,
												  side_beta(q), &g2);
	if (status != DP_OK)
		return status;
	if (g1 > INT64_MAX || g2 > INT64_MAX)
		return DP_E_OVERFLOW;
	a = (g1 + g2) / 2;
	plan->alpha = a;
	plan->offset = (int64_t) g2 - (int64_t) a;
	return sparse_answers(q, plan);
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
		status = sparse_price(q, s, &plan);
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
			dp_accounting_find_epsilon_optimal(q->epsilon, q->cutoff, q->delta,
											   &other) :
			dp_accounting_find_epsilon_advanced(q->epsilon, q->cutoff,
												q->delta, &other);
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
 * dp_accounting_sparse_plan
 *	  How a sparse vector session spends its epsilon, and the error that it
 *	  promises.
 *
 * Requires: sensitivity is that of each question; monotone only when
 *			 neighbours move all questions' values the same way.
 * Gives:	 DP_OK and the plan.  The epsilons of one mechanism add up to no
 *			 more than the request's, exactly, and the charge is valid for
 *			 the mechanism with the law of dp_accounting_sparse_law that halts
 *			 after `cutoff` "above"s.  alpha holds as the header says, when
 *			 no more than `questions` are asked.
 *			 DP_E_RANGE when a number lies outside its domain, epsilon
 *			 cannot be split on the grid, or Theorem 3.20 does not confirm
 *			 the book's per-round epsilon; DP_E_OVERFLOW when a scale or an
 *			 error does not fit; DP_E_MEMORY; *out is then untouched.
 * Source:	 doc/theory.md T52, T53, T54.
 */
dp_status
dp_accounting_sparse_plan(const dp_sparse_request *request,
						  dp_sparse_plan *out)
{
	dp_sparse_plan plan;
	dp_status	status;

	if (!is_sparse_request(request) || side_beta(request) == 0)
		return DP_E_RANGE;
	if (request->method == DP_SPARSE_GEOMETRIC)
		status = geometric_plan(request, &plan);
	else if (request->method == DP_SPARSE_ROUNDS)
		status = rounds_plan(request, &plan);
	else if (request->method == DP_SPARSE_BOOK)
		status = sparse_book(request, &plan);
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
	dp_status	status = dp_accounting_fixed_to_rational(epsilon, &exact);

	return status == DP_OK ?
		dp_noise_scale_make(sensitivity, &exact, out) : status;
}

/*
 * dp_accounting_sparse_law
 *	  The noise of a plan, for src/math/noise.
 *
 * Requires: plan from dp_accounting_sparse_plan; charge and alpha are not
 *			 read.
 * Gives:	 DP_OK and scales that are exactly sensitivity / epsilon of the
 *			 plan's stored numbers; DP_E_RANGE when one of them is 0 or
 *			 infinite; *out is then untouched.
 * Source:	 doc/theory.md T52.
 */
dp_status
dp_accounting_sparse_law(const dp_sparse_plan *plan, dp_threshold_law *out)
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

/* ----------------
 *		Plans of online private multiplicative weights: the least error that a
 *		session can promise, and the sparse vector below it.
 *
 * A session with gap alpha updates its hypothesis only at questions whose
 * answer it misses by alpha n at least, so a budget of updates follows from
 * alpha; the numeric sparse vector with that cutoff has an error A, and the
 * session is sound when A + 2 <= alpha n.  A falls as alpha rises, so the
 * least sound alpha is found by bisection.  doc/theory.md T55, T56.
 * ----------------
 */

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
is_weights_request(const dp_weights_request *q)
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

	dp_numbers_big_begin(&b);
	x = value_log(&b, big_of(&b, (dp_uint128) q->cells), big_of(&b, 1),
				  DP_ROUND_UP);
	x = big_multiply_word(&b, x, book ? BOOK_UPDATES : UPDATES_NUM);
	x = big_multiply(&b, x, big_square(&b, big_of(&b, DP_FIXED_ONE)));
	y = big_shift(&b, big_square(&b, big_of(&b, alpha)), DP_VALUE_BITS);
	y = big_multiply_word(&b, y, book ? 1 : UPDATES_DEN);
	c = dp_numbers_big_get(&b, big_divide(&b, x, y));
	*out = c < (dp_uint128) q->questions ? (int64_t) c + 1 : q->questions;
	return dp_numbers_big_end(&b);
}

/* floor(alpha n). */
static dp_status
interactive_gap_of(const dp_weights_request *q, dp_fixed alpha,
				   dp_uint128 *out)
{
	dp_big		b;
	BIGNUM	   *x;

	dp_numbers_big_begin(&b);
	x = big_multiply_word(&b, big_of(&b, alpha), (uint64_t) q->n);
	*out = dp_numbers_big_get(&b, big_divide(&b, x, big_of(&b, DP_FIXED_ONE)));
	return dp_numbers_big_end(&b);
}

/* The plan at one alpha; DP_E_RANGE when it is not sound there. */
static dp_status
plan_at(const dp_weights_request *q, dp_fixed alpha, dp_weights_plan *out)
{
	dp_sparse_request sparse = {0};
	dp_weights_plan plan = {0};
	dp_uint128	gap = 0;
	dp_status	status;

	status = interactive_gap_of(q, alpha, &gap);
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
	status = dp_accounting_sparse_plan(&sparse, &plan.sparse);
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
 * dp_accounting_weights_plan
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
dp_accounting_weights_plan(const dp_weights_request *request,
						   dp_weights_plan *out)
{
	dp_weights_plan plan = {0};
	dp_fixed	least = 0;
	dp_status	status = DP_E_RANGE;

	if (is_weights_request(request) && request->alpha > 0)
		status = plan_at(request, request->alpha, &plan);
	if (status == DP_E_RANGE && is_weights_request(request))
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
