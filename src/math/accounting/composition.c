/*
 * composition.c
 *	  What k uses of a mechanism cost together: basic, advanced and optimal
 *	  composition, and the plans that follow from them.
 */
#include <float.h>
#include <math.h>

#include "../numbers/dp_numbers.h"
#include "../noise/dp_noise.h"
#include "dp_accounting.h"
#include "accounting_internal.h"

/* ----------------
 *		Composition theorems of the book as functions: several mechanisms, or
 *		several units, at once.
 *
 * Everything is computed with proved bounds (accounting_internal.h): totals
 * round up, allowances round down.
 * ----------------
 */

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
 * dp_accounting_cap_delta
 *	  A bound on a probability is 1 at most: whatever holds with more holds
 *	  with 1.
 *
 * Requires: nothing.
 * Gives:	 the smaller of delta, which may be infinite, and 1.
 * Source:	 doc/theory.md T32.
 */
dp_fixed
dp_accounting_cap_delta(dp_fixed delta)
{
	return delta < DP_FIXED_ONE ? delta : DP_FIXED_ONE;
}

/* min(1, k delta + slack). */
static dp_fixed
total_delta(dp_fixed delta, int64_t k, dp_fixed slack)
{
	dp_fixed	d = DP_FIXED_ONE;

	if (times(dp_accounting_cap_delta(delta), (dp_uint128) k, &d) != DP_OK)
		return DP_FIXED_ONE;
	return dp_accounting_cap_delta(dp_accounting_fixed_add(d, slack));
}

/*
 * dp_accounting_sum_basic
 *	  k mechanisms of (epsilon, delta) each.
 *
 * Requires: outputs non-NULL.
 * Gives:	 DP_OK and k epsilon exactly, k delta exactly or 1 if that is less.
 *			 DP_E_RANGE when k < 1 or an argument is infinite;
 *			 DP_E_OVERFLOW when k epsilon does not fit.
 * Source:	 doc/theory.md T32 (book, Theorem 3.16).
 */
dp_status
dp_accounting_sum_basic(dp_fixed epsilon, dp_fixed delta, int64_t k,
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
 * dp_accounting_sum_advanced
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
dp_accounting_sum_advanced(dp_fixed epsilon, dp_fixed delta, int64_t k,
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
	dp_numbers_big_begin(&b);
	status = dp_accounting_end_fixed(&b, total(&b, epsilon, k,
											   deviation(&b, k, slack)),
									 epsilon_out);
	if (status == DP_OK)
		*delta_out = total_delta(delta, k, slack);
	return status;
}

/*
 * dp_accounting_find_epsilon
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
dp_accounting_find_epsilon(dp_fixed epsilon_total, int64_t k, dp_fixed slack,
						   dp_fixed *out)
{
	dp_big		b;
	BIGNUM	   *s;
	BIGNUM	   *e;
	dp_fixed	each;

	if (k < 1 || epsilon_total == 0 || epsilon_total == DP_FIXED_INFINITE ||
		!is_slack(slack))
		return DP_E_RANGE;
	dp_numbers_big_begin(&b);
	s = deviation(&b, k, slack);
	e = value_from_fixed(&b, epsilon_total, DP_ROUND_DOWN);
	e = big_shift(&b, value_ratio(&b, e, s, DP_ROUND_DOWN), -1);
	each = value_to_fixed(&b, e, DP_ROUND_DOWN);
	if (each > EPSILON_MOST || total(&b, each, k, s) > epsilon_total)
		(void) dp_numbers_big_check(&b, DP_E_RANGE);
	return dp_accounting_end_fixed(&b, each, out);
}

/*
 * dp_accounting_find_epsilon_advanced
 *	  The largest per-mechanism epsilon that Theorem 3.20 allows.
 *
 * Requires: out non-NULL.
 * Gives:	 DP_OK and the largest grid number for which
 *			 dp_accounting_sum_advanced proves at most epsilon_total (it may be
 *			 0); DP_E_RANGE when k < 1, the total is 0 or infinite, or slack
 *			 not in (0, 1); DP_E_MEMORY.
 * Source:	 doc/theory.md T32.
 */
dp_status
dp_accounting_find_epsilon_advanced(dp_fixed epsilon_total, int64_t k,
									dp_fixed slack, dp_fixed *out)
{
	dp_big		b;
	BIGNUM	   *s;
	dp_fixed	low = 0;
	dp_fixed	high = EPSILON_MOST;	/* never proved: it overflows */

	if (k < 1 || epsilon_total == 0 || epsilon_total == DP_FIXED_INFINITE ||
		!is_slack(slack))
		return DP_E_RANGE;
	dp_numbers_big_begin(&b);
	s = deviation(&b, k, slack);
	while (b.status == DP_OK && high - low > 1)
	{
		dp_fixed	middle = low + (high - low) / 2;

		if (total(&b, middle, k, s) <= epsilon_total)
			low = middle;
		else
			high = middle;
	}
	return dp_accounting_end_fixed(&b, low, out);
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

	dp_numbers_big_begin(&b);
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
	return dp_accounting_end_fixed(&b, answer > DP_FIXED_ONE ? DP_FIXED_ONE :
								   answer, out);
}

/*
 * dp_accounting_group
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
dp_accounting_group(const dp_charge *charge, int64_t g, dp_charge *out)
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

/* ----------------
 *		Optimal composition of k equal pure mechanisms (Kairouz, Oh, Viswanath
 *		2015).
 *
 * With r = e^epsilon the loss of the worst mechanism is a_j = (2j - k) epsilon
 * with probability w_j / sum w, w_j = C(k,j) r^j, and
 *
 *		delta(E) = sum over a_j > E of w_j (1 - e^(E - a_j)) / sum w.
 *
 * All terms are positive.  They are summed in long double from the mode
 * outwards, and the sum is enlarged by a proved margin (T31); the differences
 * E - a_j, where digits could be lost, are exact integers.
 * ----------------
 */

#define K_MOST (INT64_C(1) << 20)
#define OPTIMAL_EPSILON_MOST (1000 * DP_FIXED_ONE)

/* Weights below this are raised to it, so that none is lost. */
#define WEIGHT_LEAST (LDBL_MIN * 0x1p64L)

/* A weight is negligible once all that follow are below 2^-80 of the sum. */
#define NEGLIGIBLE 0x1p-80L

typedef struct law
{
	dp_fixed	epsilon;
	int64_t		k;
	int64_t		mode;			/* an index near the largest weight */
	long double ratio;			/* r */
	long double total;			/* sum of weights, the mode's being 1 */
	long double margin;			/* factor above every computed quotient */
} law;

/* w_(j+1) from w_j. */
static long double
step_up(const law *l, long double w, int64_t j)
{
	w *= (long double) (l->k - j) / (long double) (j + 1) * l->ratio;
	return w < WEIGHT_LEAST ? WEIGHT_LEAST : w;
}

/* w_(j-1) from w_j. */
static long double
step_down(const law *l, long double w, int64_t j)
{
	w *= (long double) j / ((long double) (l->k - j + 1) * l->ratio);
	return w < WEIGHT_LEAST ? WEIGHT_LEAST : w;
}

static void
law_make(law *l, dp_fixed epsilon, int64_t k)
{
	long double w;
	int64_t		j;

	l->epsilon = epsilon;
	l->k = k;
	l->ratio = expl(dp_accounting_fixed_wide(epsilon));
	l->mode = (int64_t) ((long double) k * (l->ratio / (1 + l->ratio)));
	if (l->mode > k)
		l->mode = k;
	l->margin = 1 + ((16 + 4 * dp_accounting_fixed_wide(epsilon)) *
					 (long double) k + 4096) * 0x1p-63L;
	l->total = 1;
	w = 1;
	for (j = l->mode; j < k; j++)
	{
		w = step_up(l, w, j);
		if (w * (long double) (k - j) < l->total * NEGLIGIBLE)
			break;				/* what is left out makes delta larger */
		l->total += w;
	}
	w = 1;
	for (j = l->mode; j > 0; j--)
	{
		w = step_down(l, w, j);
		if (w * (long double) j < l->total * NEGLIGIBLE)
			break;
		l->total += w;
	}
}

/*
 * Upper bound on delta(E), and the same sum of w_j e^(E - a_j), which is
 * minus the derivative of delta; E < k epsilon.
 */
static long double
law_delta(const law *l, dp_fixed at, long double *slope)
{
	/* the least j with (2j - k) epsilon > at */
	int64_t		first = (int64_t) (at / l->epsilon);
	long double delta = 0;
	long double fall = 0;
	long double w = 1;
	int64_t		j;
	int64_t		start;

	first = (first + l->k) / 2 + 1;
	start = first > l->mode ? first : l->mode;
	for (j = l->mode; j < start; j++)
		w = step_up(l, w, j);
	for (j = start; j <= l->k; j++)
	{
		dp_int128	gap = (dp_int128) (2 * j - l->k) *
			(dp_int128) l->epsilon - (dp_int128) at;
		long double g = (long double) gap / 1e24L;

		delta += w * -expm1l(-g);
		fall += w * expl(-g);
		if (j < l->k)
		{
			w = step_up(l, w, j);
			if (w * (long double) (l->k - j) < delta * NEGLIGIBLE)
			{
				delta += w * (long double) (l->k - j);
				break;
			}
		}
	}
	if (start > first)
	{
		w = 1;
		for (j = l->mode; j > first; j--)
		{
			dp_int128	gap;
			long double g;

			w = step_down(l, w, j);
			if (w * (long double) j < delta * NEGLIGIBLE)
			{
				delta += w * (long double) j;
				break;
			}
			gap = (dp_int128) (2 * (j - 1) - l->k) *
				(dp_int128) l->epsilon - (dp_int128) at;
			g = (long double) gap / 1e24L;
			delta += w * -expm1l(-g);
			fall += w * expl(-g);
		}
	}
	*slope = fall / l->total;
	return delta / l->total * l->margin;
}

static bool
composition_in_domain(dp_fixed epsilon, int64_t k)
{
	return k >= 1 && k <= K_MOST && epsilon <= OPTIMAL_EPSILON_MOST;
}

/*
 * dp_accounting_optimal_delta
 *	  The delta of k mechanisms of pure epsilon together, at a given total.
 *
 * Requires: out non-NULL.
 * Gives:	 DP_OK and the optimum, rounded up by a relative 10^-12 at most
 *			 while (4 + epsilon) k <= 10^6 and it lies above 10^-4000; 0
 *			 where it is.  DP_E_RANGE when k is not in 1..2^20,
 *			 epsilon > 1000 or the total infinite; DP_E_MEMORY.
 * Source:	 doc/theory.md T33, T31.
 */
dp_status
dp_accounting_optimal_delta(dp_fixed epsilon, int64_t k,
							dp_fixed epsilon_total, dp_decimal *out)
{
	static const dp_decimal none = {0, 0};
	long double slope;
	law			l;

	if (!composition_in_domain(epsilon,
							   k) || epsilon_total == DP_FIXED_INFINITE)
		return DP_E_RANGE;
	if (epsilon_total >= epsilon * (dp_uint128) k)
	{
		*out = none;
		return DP_OK;
	}
	law_make(&l, epsilon, k);
	return dp_accounting_decimal_from_log(logl(law_delta(&l, epsilon_total,
														 &slope)) + 0x1p-48L,
														 out);
}

/* The least total, nearly, that the law proves for slack. */
static dp_fixed
least_total(const law *l, dp_fixed slack)
{
	long double target = dp_accounting_fixed_wide(slack) * (1 - 0x1p-60L);
	long double slope;
	long double delta;
	long double room;
	dp_fixed	low = 0;
	dp_fixed	high = l->epsilon * (dp_uint128) l->k;
	dp_fixed	guess;
	dp_fixed	more;
	int64_t		below;
	int64_t		above;

	if (law_delta(l, 0, &slope) <= target)
		return 0;

	/* between which breakpoints (k - 2i) epsilon, i falling? */
	below = (l->k + 1) / 2;		/* not proved, for it is at or below 0 */
	above = 0;					/* proved: k epsilon */
	while (below - above > 1)
	{
		int64_t		middle = above + (below - above) / 2;
		dp_fixed	at = l->epsilon * (dp_uint128) (l->k - 2 * middle);

		if (law_delta(l, at, &slope) <= target)
		{
			above = middle;
			high = at;
		}
		else
		{
			below = middle;
			low = at;
		}
	}

	/* there delta(E) = delta(low) - (e^(E - low) - 1) slope(low) */
	delta = law_delta(l, low, &slope);
	room = log1pl((delta - target) / slope) * 1e24L;
	if (!(room > 0))
		room = 0;
	guess = low + (room < (long double) (high - low) ?
				   (dp_fixed) room : high - low);
	more = (guess >> 56) + 1;
	for (;; more *= 4)
	{
		if (more >= high - guess)
			return high;
		if (law_delta(l, guess + more, &slope) <= target)
			return guess + more;
	}
}

/*
 * dp_accounting_sum_optimal
 *	  k mechanisms of (epsilon, delta) each, by the optimal composition.
 *
 * Requires: outputs non-NULL.
 * Gives:	 DP_OK, an epsilon that is proved for slack, the least one to
 *			 10^-12 of it, and k delta + slack, or 1 if that is less.
 *			 DP_E_RANGE when k is not in 1..2^20, epsilon > 1000, delta is
 *			 infinite or slack not in (0, 1); DP_E_OVERFLOW.
 * Source:	 doc/theory.md T33, T31.
 */
dp_status
dp_accounting_sum_optimal(dp_fixed epsilon, dp_fixed delta, int64_t k,
						  dp_fixed slack, dp_fixed *epsilon_out,
						  dp_fixed *delta_out)
{
	dp_fixed	basic;
	dp_fixed	d;
	law			l;
	dp_status	status;

	if (!composition_in_domain(epsilon,
							   k) || slack == 0 || slack >= DP_FIXED_ONE)
		return DP_E_RANGE;
	status = dp_accounting_sum_basic(epsilon, delta, k, &basic, &d);
	if (status != DP_OK)
		return status;
	if (epsilon == 0)
		*epsilon_out = 0;
	else
	{
		law_make(&l, epsilon, k);
		*epsilon_out = least_total(&l, slack);
	}
	*delta_out = dp_accounting_cap_delta(dp_accounting_fixed_add(d, slack));
	return DP_OK;
}

/*
 * dp_accounting_find_epsilon_optimal
 *	  The largest per-mechanism epsilon that optimal composition allows.
 *
 * Requires: out non-NULL.
 * Gives:	 DP_OK and an epsilon for which the optimal composition of k is
 *			 proved to be (epsilon_total, slack)-DP; the largest one but for
 *			 a relative 10^-12 and 2 units.  DP_E_RANGE when k is not in
 *			 1..2^20, the total is not in (0, 1000] or slack not in (0, 1).
 * Source:	 doc/theory.md T33, T31.
 */
dp_status
dp_accounting_find_epsilon_optimal(dp_fixed epsilon_total, int64_t k,
								   dp_fixed slack, dp_fixed *out)
{
	long double target;
	dp_fixed	low;
	dp_fixed	high;

	if (!composition_in_domain(epsilon_total,
							   k) || epsilon_total == 0 || slack == 0 ||
		slack >= DP_FIXED_ONE)
		return DP_E_RANGE;
	target = dp_accounting_fixed_wide(slack) * (1 - 0x1p-60L);
	low = epsilon_total / (dp_uint128) k;	/* delta is 0 there */
	high = OPTIMAL_EPSILON_MOST;
	while (high - low > (low >> 50) + 1)
	{
		dp_fixed	middle = low + (high - low) / 2;
		long double slope;
		law			l;

		law_make(&l, middle, k);
		if (law_delta(&l, epsilon_total, &slope) <= target)
			low = middle;
		else
			high = middle;
	}
	*out = low;
	return DP_OK;
}

/* ----------------
 *		What a budget buys: plans for k equal queries, and the error that
 *		Laplace noise makes.
 * ----------------
 */

/* Whether k charges of epsilon fit a sum of squares. */
static dp_status
squares_fit(dp_fixed epsilon, int64_t k, dp_fixed limit, bool *fits)
{
	dp_fixed	each = dp_accounting_square(epsilon);

	*fits = each != DP_FIXED_INFINITE && each <= limit / (dp_uint128) k;
	return DP_OK;
}

/* Whether k charges of epsilon fit a sum of rho. */
static dp_status
rho_fits(dp_fixed epsilon, int64_t k, dp_fixed limit, bool *fits)
{
	dp_rational e;
	dp_fixed	rho = 0;
	dp_status	status = dp_accounting_fixed_to_rational(epsilon, &e);

	if (status == DP_OK)
		status = dp_accounting_rho_from_pure(&e, &rho);
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
 * dp_accounting_make_plan
 *	  The epsilon that each of k equal pure queries may have, per rule.
 *
 * The filters split delta as dp_accounting_limit_make does; a batch of pure
 * queries has no use for d'' and gets all of delta as slack.
 *
 * Requires: out non-NULL.
 * Gives:	 DP_OK and, per rule, an epsilon such that k charges of it are
 *			 admitted (the largest for the filters and the theorem; for the
 *			 optimum see dp_accounting_find_epsilon_optimal); 0 where the rule
 *			 gives none: all but basic for delta = 0, the corollary where it
 *			 is false, the optimum for k > 2^20 or a total above 1000.
 *			 DP_E_RANGE when k < 1, the total is 0 or infinite, or
 *			 delta >= 1; DP_E_MEMORY.
 * Source:	 doc/theory.md T39.
 */
dp_status
dp_accounting_make_plan(dp_fixed epsilon_total, dp_fixed delta, int64_t k,
						dp_plan *out)
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
		status = dp_accounting_squares_limit(epsilon_total, half, &limit);
		if (status == DP_OK)
			status = largest(squares_fit, k, limit, epsilon_total + 1,
							 &plan.advanced);
		if (status != DP_OK)
			return status;
		status = dp_accounting_limit_make(DP_FILTER_ZCDP, epsilon_total, delta,
										  &zcdp);
		if (status != DP_OK)
			return status;
		/* rho(2E + 1) > E > rho_B: above it nothing fits */
		most = dp_accounting_fixed_add(epsilon_total,
									   dp_accounting_fixed_add(epsilon_total,
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
		status = optional(dp_accounting_find_epsilon(epsilon_total, k, delta,
													 &plan.corollary),
						  &plan.corollary);
		if (status == DP_OK)
			status =
				optional(dp_accounting_find_epsilon_advanced(epsilon_total, k,
															  delta,
															  &plan.theorem),
							  &plan.theorem);
		if (status == DP_OK)
			status = optional(dp_accounting_find_epsilon_optimal(epsilon_total,
															 k, delta,
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
 * dp_accounting_laplace_bound
 *	  The error of Theorem 3.8: ln(k/beta) sensitivity / epsilon.
 *
 * Requires: out non-NULL.
 * Gives:	 DP_OK and the number rounded up; DP_E_RANGE when epsilon is 0 or
 *			 infinite, sensitivity infinite, k < 1 or beta not in (0, 1);
 *			 DP_E_OVERFLOW; DP_E_MEMORY.
 * Source:	 doc/theory.md T39 (book, Theorem 3.8).
 */
dp_status
dp_accounting_laplace_bound(dp_fixed sensitivity, dp_fixed epsilon, int64_t k,
							dp_fixed beta, dp_fixed *out)
{
	dp_big		b;
	BIGNUM	   *x;

	if (!error_domain(epsilon, k, beta) || sensitivity == DP_FIXED_INFINITE)
		return DP_E_RANGE;
	dp_numbers_big_begin(&b);
	x = value_log_over(&b, (uint64_t) k, beta, DP_ROUND_UP);
	x = big_multiply(&b, x, big_of(&b, sensitivity));
	x = big_add_word(&b, big_divide(&b, x, big_of(&b, epsilon)), 1);
	return dp_accounting_end_fixed(&b, value_to_fixed(&b, x, DP_ROUND_UP),
								   out);
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
	dp_numbers_big_begin(&b);
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
	a = dp_numbers_big_get(&b, big_divide(&b, x,
										  big_shift(&b, e, DP_VALUE_BITS)));
	if (a >> 127 != 0)
		(void) dp_numbers_big_check(&b, DP_E_OVERFLOW);
	status = dp_numbers_big_end(&b);
	if (status == DP_OK)
		*out = a;
	return status;
}

/*
 * dp_accounting_error_of_laplace
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
dp_accounting_error_of_laplace(uint64_t sensitivity, dp_fixed epsilon,
							   int64_t k, dp_fixed beta, dp_uint128 *out)
{
	return integer_error(sensitivity, epsilon, k, beta, true, out);
}

/*
 * dp_accounting_error_of_geometric
 *	  As dp_accounting_error_of_laplace, for one-sided geometric variates.
 *
 * Requires: out non-NULL.
 * Gives:	 as dp_accounting_error_of_laplace.
 * Source:	 doc/theory.md T39, T4.
 */
dp_status
dp_accounting_error_of_geometric(uint64_t sensitivity, dp_fixed epsilon,
								 int64_t k, dp_fixed beta, dp_uint128 *out)
{
	return integer_error(sensitivity, epsilon, k, beta, false, out);
}
