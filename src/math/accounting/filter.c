/*
 * filter.c
 *	  Privacy filters: whether one more charge keeps the promise of a budget.
 *
 * A charge may depend on every answer before it; the filters hold for such
 * adaptive sequences because each refuses before the release that would
 * break it.  The caller admits and adds under one lock:
 *
 *	  if (dp_accounting_limit_admits(limit, spent, charge))
 *		  dp_accounting_spent_add(spent, charge), then release
 *
 * All comparisons are of exact integers.  An infinite sum satisfies no
 * clause, whatever it is compared with, so saturation refuses.
 */
#include <math.h>
#include <string.h>

#include "../numbers/dp_numbers.h"
#include "dp_accounting.h"
#include "accounting_internal.h"

/* ----------------
 *		The (rho, alpha) that turn a budget (epsilon, delta) into a bound on
 *		sums of rho, and the proof that they may.
 *
 * rho-zCDP implies (epsilon, delta)-DP as soon as one alpha > 1 satisfies
 *
 *		alpha rho + [ln(1/delta) + (alpha-1) ln(1-1/alpha) - ln alpha]
 *				  / (alpha-1)  <=  epsilon						(T23)
 *
 * Floating point proposes alpha and nothing else.  rho is then the largest
 * grid number for which the inequality is proved for that alpha, and the
 * checker proves it again from the stored numbers alone.
 *
 * Integers throughout: alpha = a/c, alpha - 1 = m/c, c = 2^20; epsilon, rho,
 * delta = e, r, d in units u = 10^-24; logarithms in units of 1/B.  Times
 * (alpha-1) c^2 B / u the inequality reads
 *
 *		a m r B + c v / u  <=  e m c B,
 *		v = c B ln(1/delta) - m B ln(a/m) - c B ln(a/c)
 *
 * where v is replaced by an integer that is not below it.
 * ----------------
 */

#define ALPHA_ONE (UINT64_C(1) << 20)
#define ALPHA_MAX (UINT64_C(1) << 62)	/* proposals fit a signed bigint */

/*
 * Both sides that do not hold rho: *left = c v / u, *right = e m c B, and the
 * factor of rho, *factor = a m B.
 */
static void
inequality(dp_big *b, dp_fixed epsilon, dp_fixed delta, uint64_t alpha,
		   BIGNUM **left, BIGNUM **right, BIGNUM **factor)
{
	BIGNUM	   *a = big_of(b, alpha);
	BIGNUM	   *c = big_of(b, ALPHA_ONE);
	BIGNUM	   *m = big_of(b, alpha - ALPHA_ONE);
	BIGNUM	   *v;
	BIGNUM	   *rest;

	/* v: ln(1/delta) from above, the subtracted logarithms from below */
	v = big_subtract(b, value_log_over(b, 1, delta, DP_ROUND_UP),
					 value_log(b, a, c, DP_ROUND_DOWN));
	rest = big_multiply(b, value_log(b, a, m, DP_ROUND_DOWN), m);
	v = big_subtract(b, big_multiply(b, v, c), rest);
	*left = big_multiply(b, big_multiply(b, v, c), big_of(b, DP_FIXED_ONE));
	*right = big_multiply(b, big_multiply(b, big_of(b, epsilon), m), c);
	*right = big_shift(b, *right, DP_VALUE_BITS);
	*factor = big_shift(b, big_multiply(b, a, m), DP_VALUE_BITS);
}

static bool
filter_in_domain(dp_fixed epsilon, dp_fixed delta)
{
	return epsilon != DP_FIXED_INFINITE && delta > 0 && delta < DP_FIXED_ONE;
}

/*
 * An alpha near the best one.  Along the curve of optimal pairs, with
 * beta = alpha - 1 and l = ln(1/delta), rho = (l - ln(1+beta)) / beta^2 and
 * epsilon = rho (1 + 2 beta) + ln(beta / (1 + beta)), which falls as beta
 * grows (T26).  Whatever comes out, even garbage, is only a proposal.
 */
static uint64_t
propose_alpha(dp_fixed epsilon, dp_fixed delta)
{
	double		target = dp_accounting_fixed_approx(epsilon);
	double		l = -log(dp_accounting_fixed_approx(delta));
	double		low = ldexp(1.0, -20);
	double		high = fmin(expm1(l), ldexp(1.0, 41));
	int			i;

	for (i = 0; i < 90 && high > low; i++)
	{
		double		beta = sqrt(low * high);
		double		rho = (l - log1p(beta)) / beta / beta;

		if (rho * (1 + 2 * beta) - log1p(1 / beta) > target)
			low = beta;
		else
			high = beta;
	}
	high = floor(ldexp(sqrt(low * high), 20) + 0.5);
	if (!(high >= 1))
		high = 1;
	if (high > (double) (ALPHA_MAX - ALPHA_ONE))
		high = (double) (ALPHA_MAX - ALPHA_ONE);
	return ALPHA_ONE + (uint64_t) high;
}

/*
 * dp_accounting_rho_certificate
 *	  Find the bound on sums of rho that (epsilon, delta) allows.
 *
 * Requires: rho, alpha non-NULL.
 * Gives:	 DP_OK and a pair that dp_accounting_rho_certified accepts, rho at
 *			 most the optimum.  It is short of it by a relative 1e-9 at most
 *			 while epsilon lies in [1e-9, 1e8], or by one unit of 10^-24 where
 *			 that is more; outside it is still valid.  DP_E_RANGE unless
 *			 epsilon is finite and 0 < delta < 1; DP_E_MEMORY.
 * Source:	 doc/theory.md T23 to T26.
 */
dp_status
dp_accounting_rho_certificate(dp_fixed epsilon, dp_fixed delta, dp_fixed *rho,
							  uint64_t *alpha)
{
	dp_big		b;
	BIGNUM	   *left;
	BIGNUM	   *right;
	BIGNUM	   *factor;
	uint64_t	proposal;
	dp_fixed	value;
	dp_status	status;

	if (!filter_in_domain(epsilon, delta))
		return DP_E_RANGE;
	proposal = propose_alpha(epsilon, delta);

	/* The largest r with a m B r <= right - left; 0 is always private. */
	dp_numbers_big_begin(&b);
	inequality(&b, epsilon, delta, proposal, &left, &right, &factor);
	right = big_subtract(&b, right, left);
	value = big_is_negative(&b, right) ? 0 :
		dp_numbers_big_get(&b, big_divide(&b, right, factor));
	status = dp_numbers_big_end(&b);
	if (status != DP_OK)
		return status;
	*rho = value == DP_FIXED_INFINITE ? value - 1 : value;
	*alpha = proposal;
	return DP_OK;
}

/*
 * dp_accounting_rho_certified
 *	  Prove that rho-zCDP implies (epsilon, delta)-DP, by the order alpha.
 *
 * Requires: nothing; every combination of arguments has an answer.
 * Gives:	 true only if the inequality of T23 is proved, or rho = 0.  False
 *			 when it is not proved (its two sides may agree to 2^-100), when
 *			 epsilon or rho is infinite, delta not in (0, 1) or alpha <= 1,
 *			 and when OpenSSL could not allocate.
 * Source:	 doc/theory.md T23, T24, T25.
 */
bool
dp_accounting_rho_certified(dp_fixed epsilon, dp_fixed delta, dp_fixed rho,
							uint64_t alpha)
{
	dp_big		b;
	BIGNUM	   *left;
	BIGNUM	   *right;
	BIGNUM	   *factor;
	bool		proved;

	if (rho == 0)
		return true;
	if (rho == DP_FIXED_INFINITE || !filter_in_domain(epsilon, delta) ||
		alpha <= ALPHA_ONE)
		return false;
	dp_numbers_big_begin(&b);
	inequality(&b, epsilon, delta, alpha, &left, &right, &factor);
	left = big_add(&b, left, big_multiply(&b, big_of(&b, rho), factor));
	proved = big_compare(&b, left, right) <= 0;
	return dp_numbers_big_end(&b) == DP_OK && proved;
}

static const char *const filter_names[] = {
	"basic",					/* DP_FILTER_BASIC */
	"zcdp",						/* DP_FILTER_ZCDP */
	"best",						/* DP_FILTER_BEST */
	"advanced"					/* DP_FILTER_ADVANCED */
};

#define FILTERS ((int) (sizeof(filter_names) / sizeof(filter_names[0])))

/*
 * dp_accounting_filter_parse
 *	  The filter of a name.
 *
 * Requires: name, out non-NULL.
 * Gives:	 true with *out set when name is exactly one of basic, zcdp, best,
 *			 advanced; else false.
 * Source:	 doc/theory.md T27 to T29, T37.
 */
bool
dp_accounting_filter_parse(const char *name, dp_filter *out)
{
	int			i;

	for (i = 0; i < FILTERS; i++)
	{
		if (strcmp(name, filter_names[i]) == 0)
		{
			*out = (dp_filter) i;
			return true;
		}
	}
	return false;
}

/*
 * dp_accounting_filter_name
 *	  The name of a filter.
 *
 * Requires: nothing.
 * Gives:	 a constant string; "unknown" for a value outside the enumeration.
 * Source:	 doc/theory.md T27 to T29, T37.
 */
const char *
dp_accounting_filter_name(dp_filter filter)
{
	int			i = (int) filter;

	return i >= 0 && i < FILTERS ? filter_names[i] : "unknown";
}

/*
 * dp_accounting_limit_make
 *	  Everything a filter needs to keep a promise of (epsilon, delta).
 *
 * basic keeps the whole delta for the charges; the others give one half, d',
 * to the conversion from rho or squares and the other, d'', to the charges,
 * where d' + d'' = delta.  best without a d' (delta below two units) has no
 * use for rho and behaves as basic.
 *
 * Requires: out non-NULL.
 * Gives:	 DP_OK; DP_E_RANGE when epsilon is 0 or infinite, delta >= 1, the
 *			 filter is unknown, or zcdp or advanced has no d'; DP_E_OVERFLOW
 *			 when the bound on squares does not fit; DP_E_MEMORY.
 * Source:	 doc/theory.md T27 to T29, T37.
 */
dp_status
dp_accounting_limit_make(dp_filter filter, dp_fixed epsilon, dp_fixed delta,
						 dp_limit *out)
{
	dp_limit	limit = {0};
	dp_status	status;

	limit.filter = filter;
	limit.epsilon = epsilon;
	limit.delta = delta;
	limit.delta_sum = delta;
	if (epsilon == 0 || epsilon == DP_FIXED_INFINITE || delta >= DP_FIXED_ONE)
		return DP_E_RANGE;
	switch (filter)
	{
		case DP_FILTER_BASIC:
			break;
		case DP_FILTER_ZCDP:
		case DP_FILTER_BEST:
			limit.delta_conversion = delta / 2;
			limit.delta_sum = delta - limit.delta_conversion;
			if (limit.delta_conversion > 0)
			{
				status = dp_accounting_rho_certificate(epsilon,
													   limit.delta_conversion,
													   &limit.rho,
													   &limit.alpha);
				if (status != DP_OK)
					return status;
			}
			else if (filter == DP_FILTER_ZCDP)
				return DP_E_RANGE;
			break;
		case DP_FILTER_ADVANCED:
			limit.delta_conversion = delta / 2;
			limit.delta_sum = delta - limit.delta_conversion;
			status = dp_accounting_squares_limit(epsilon,
												 limit.delta_conversion,
												 &limit.squares);
			if (status != DP_OK)
				return status;
			break;
		default:
			return DP_E_RANGE;
	}
	*out = limit;
	return DP_OK;
}

/* Whether a sum is finite and within limit. */
static bool
within(dp_fixed sum, dp_fixed limit)
{
	return sum != DP_FIXED_INFINITE && sum <= limit;
}

/*
 * dp_accounting_limit_holds
 *	  Whether sums keep the promise of a limit.
 *
 * Requires: limit made by dp_accounting_limit_make.
 * Gives:	 true exactly if the sums satisfy the filter; false for an unknown
 *			 filter.
 * Source:	 doc/theory.md T27 (basic), T28 (zcdp), T29 (best), T37
 *			 (advanced).
 */
bool
dp_accounting_limit_holds(const dp_limit *limit, const dp_spent *spent)
{
	if (!within(spent->delta, limit->delta_sum))
		return false;
	switch (limit->filter)
	{
		case DP_FILTER_BASIC:
			return within(spent->epsilon, limit->epsilon);
		case DP_FILTER_ZCDP:
			return within(spent->rho, limit->rho);
		case DP_FILTER_BEST:
			return within(spent->epsilon, limit->epsilon) ||
				(limit->rho > 0 && within(spent->rho, limit->rho));
		case DP_FILTER_ADVANCED:
			return within(spent->squares, limit->squares);
	}
	return false;
}

/* Add the components of a charge, but do not count it. */
static void
add_sums(dp_spent *spent, const dp_charge *charge)
{
	spent->epsilon = dp_accounting_fixed_add(spent->epsilon, charge->epsilon);
	spent->rho = dp_accounting_fixed_add(spent->rho, charge->rho);
	spent->delta = dp_accounting_fixed_add(spent->delta, charge->delta);
	spent->squares = dp_accounting_fixed_add(spent->squares,
									 dp_accounting_square(charge->epsilon));
}

/*
 * dp_accounting_limit_admits
 *	  Whether the filter allows a charge after what was spent.
 *
 * Requires: limit made by dp_accounting_limit_make; spent holds every charge
 *			 admitted under it.
 * Gives:	 true exactly if the sums including the charge satisfy the filter;
 *			 false for an unknown filter.  Nothing is changed.
 * Source:	 doc/theory.md T27 (basic), T28 (zcdp), T29 (best), T37
 *			 (advanced).
 */
bool
dp_accounting_limit_admits(const dp_limit *limit, const dp_spent *spent,
						   const dp_charge *charge)
{
	dp_spent	after = *spent;

	add_sums(&after, charge);
	return dp_accounting_limit_holds(limit, &after);
}

/*
 * dp_accounting_spent_add
 *	  Add a charge to the running sums.
 *
 * Requires: spent, charge non-NULL.
 * Gives:	 DP_OK; sums too large for dp_fixed become infinite, which no
 *			 filter admits.  DP_E_OVERFLOW, spent untouched, when the number
 *			 of charges does not fit; DP_E_RANGE when it is negative.
 * Source:	 doc/theory.md T20, T27, T37.
 */
dp_status
dp_accounting_spent_add(dp_spent *spent, const dp_charge *charge)
{
	if (spent->charges < 0)
		return DP_E_RANGE;
	if (spent->charges == INT64_MAX)
		return DP_E_OVERFLOW;
	add_sums(spent, charge);
	spent->charges++;
	return DP_OK;
}

/* How many times charge can be added to spent within limit. */
static int64_t
times_within(dp_fixed spent, dp_fixed charge, dp_fixed limit)
{
	dp_fixed	times;

	if (limit == DP_FIXED_INFINITE)
		limit--;				/* an infinite sum is never within */
	if (spent > limit)
		return 0;
	if (charge == 0)
		return INT64_MAX;
	times = (limit - spent) / charge;
	return times > INT64_MAX ? INT64_MAX : (int64_t) times;
}

/*
 * dp_accounting_limit_calls
 *	  How many more equal charges the filter would admit, one by one.
 *
 * Each clause of a filter, once false, stays false, so the count of a clause
 * is a quotient, an "and" of clauses their minimum, an "or" their maximum.
 *
 * Requires: as dp_accounting_limit_admits.
 * Gives:	 the exact number, INT64_MAX standing for it and everything above.
 * Source:	 doc/theory.md T30, T37.
 */
int64_t
dp_accounting_limit_calls(const dp_limit *limit, const dp_spent *spent,
						  const dp_charge *charge)
{
	int64_t		by_delta = times_within(spent->delta, charge->delta,
										limit->delta_sum);
	int64_t		by_epsilon = times_within(spent->epsilon, charge->epsilon,
										  limit->epsilon);
	int64_t		by_rho = times_within(spent->rho, charge->rho, limit->rho);
	int64_t		by_loss = 0;

	switch (limit->filter)
	{
		case DP_FILTER_ADVANCED:
			by_loss = times_within(spent->squares,
								   dp_accounting_square(charge->epsilon),
								   limit->squares);
			break;
		case DP_FILTER_BASIC:
			by_loss = by_epsilon;
			break;
		case DP_FILTER_ZCDP:
			by_loss = by_rho;
			break;
		case DP_FILTER_BEST:
			by_loss = by_epsilon;
			if (limit->rho > 0 && by_rho > by_loss)
				by_loss = by_rho;
			break;
	}
	return by_loss < by_delta ? by_loss : by_delta;
}
