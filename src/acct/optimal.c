/*
 * optimal.c
 *	  Optimal composition of k equal pure mechanisms (Kairouz, Oh, Viswanath
 *	  2015).
 *
 * With r = e^epsilon the loss of the worst mechanism is a_j = (2j - k) epsilon
 * with probability w_j / sum w, w_j = C(k,j) r^j, and
 *
 *	  delta(E) = sum over a_j > E of w_j (1 - e^(E - a_j)) / sum w.
 *
 * All terms are positive.  They are summed in long double from the mode
 * outwards, and the sum is enlarged by a proved margin (T31); the differences
 * E - a_j, where digits could be lost, are exact integers.
 */
#include "value.h"

#include <float.h>
#include <math.h>

#define K_MOST (INT64_C(1) << 20)
#define EPSILON_MOST (1000 * DP_FIXED_ONE)

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
	l->ratio = expl(dp_acct_fixed_wide(epsilon));
	l->mode = (int64_t) ((long double) k * (l->ratio / (1 + l->ratio)));
	if (l->mode > k)
		l->mode = k;
	l->margin = 1 + ((16 + 4 * dp_acct_fixed_wide(epsilon)) *
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
in_domain(dp_fixed epsilon, int64_t k)
{
	return k >= 1 && k <= K_MOST && epsilon <= EPSILON_MOST;
}

/*
 * dp_acct_optimal_delta
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
dp_acct_optimal_delta(dp_fixed epsilon, int64_t k, dp_fixed epsilon_total,
					  dp_decimal *out)
{
	static const dp_decimal none = {0, 0};
	long double slope;
	law			l;

	if (!in_domain(epsilon, k) || epsilon_total == DP_FIXED_INFINITE)
		return DP_E_RANGE;
	if (epsilon_total >= epsilon * (dp_uint128) k)
	{
		*out = none;
		return DP_OK;
	}
	law_make(&l, epsilon, k);
	return dp_acct_decimal_from_log(logl(law_delta(&l, epsilon_total,
												   &slope)) + 0x1p-48L, out);
}

/* The least total, nearly, that the law proves for slack. */
static dp_fixed
least_total(const law *l, dp_fixed slack)
{
	long double target = dp_acct_fixed_wide(slack) * (1 - 0x1p-60L);
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
 * dp_acct_compose_optimal
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
dp_acct_compose_optimal(dp_fixed epsilon, dp_fixed delta, int64_t k,
						dp_fixed slack, dp_fixed *epsilon_out,
						dp_fixed *delta_out)
{
	dp_fixed	basic;
	dp_fixed	d;
	law			l;
	dp_status	status;

	if (!in_domain(epsilon, k) || slack == 0 || slack >= DP_FIXED_ONE)
		return DP_E_RANGE;
	status = dp_acct_compose_basic(epsilon, delta, k, &basic, &d);
	if (status != DP_OK)
		return status;
	if (epsilon == 0)
		*epsilon_out = 0;
	else
	{
		law_make(&l, epsilon, k);
		*epsilon_out = least_total(&l, slack);
	}
	*delta_out = dp_acct_cap_delta(dp_acct_fixed_add(d, slack));
	return DP_OK;
}

/*
 * dp_acct_epsilon_for_optimal
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
dp_acct_epsilon_for_optimal(dp_fixed epsilon_total, int64_t k,
							dp_fixed slack, dp_fixed *out)
{
	long double target;
	dp_fixed	low;
	dp_fixed	high;

	if (!in_domain(epsilon_total, k) || epsilon_total == 0 || slack == 0 ||
		slack >= DP_FIXED_ONE)
		return DP_E_RANGE;
	target = dp_acct_fixed_wide(slack) * (1 - 0x1p-60L);
	low = epsilon_total / (dp_uint128) k;	/* delta is 0 there */
	high = EPSILON_MOST;
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
