/*
 * filter.c
 *	  Privacy filters: whether one more charge keeps the promise of a budget.
 *
 * A charge may depend on every answer before it; the filters hold for such
 * adaptive sequences because each refuses before the release that would
 * break it.  The caller admits and adds under one lock:
 *
 *	  if (dp_acct_limit_admits(limit, spent, charge))
 *		  dp_acct_spent_add(spent, charge), then release
 *
 * All comparisons are of exact integers.  An infinite sum satisfies no
 * clause, whatever it is compared with, so saturation refuses.
 */
#include "dp_acct.h"

#include <string.h>

static const char *const filter_names[] = {
	"basic",					/* DP_FILTER_BASIC */
	"zcdp",						/* DP_FILTER_ZCDP */
	"best",						/* DP_FILTER_BEST */
	"advanced"					/* DP_FILTER_ADVANCED */
};

#define FILTERS ((int) (sizeof(filter_names) / sizeof(filter_names[0])))

/*
 * dp_acct_filter_parse
 *	  The filter of a name.
 *
 * Requires: name, out non-NULL.
 * Gives:	 true with *out set when name is exactly one of basic, zcdp, best,
 *			 advanced; else false.
 * Source:	 doc/theory.md T27 to T29, T37.
 */
bool
dp_acct_filter_parse(const char *name, dp_filter *out)
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
 * dp_acct_filter_name
 *	  The name of a filter.
 *
 * Requires: nothing.
 * Gives:	 a constant string; "unknown" for a value outside the enumeration.
 * Source:	 doc/theory.md T27 to T29, T37.
 */
const char *
dp_acct_filter_name(dp_filter filter)
{
	int			i = (int) filter;

	return i >= 0 && i < FILTERS ? filter_names[i] : "unknown";
}

/*
 * dp_acct_limit_make
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
dp_acct_limit_make(dp_filter filter, dp_fixed epsilon, dp_fixed delta,
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
				status = dp_acct_rho_certificate(epsilon,
												 limit.delta_conversion,
												 &limit.rho, &limit.alpha);
				if (status != DP_OK)
					return status;
			}
			else if (filter == DP_FILTER_ZCDP)
				return DP_E_RANGE;
			break;
		case DP_FILTER_ADVANCED:
			limit.delta_conversion = delta / 2;
			limit.delta_sum = delta - limit.delta_conversion;
			status = dp_acct_squares_limit(epsilon, limit.delta_conversion,
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
 * dp_acct_limit_holds
 *	  Whether sums keep the promise of a limit.
 *
 * Requires: limit made by dp_acct_limit_make.
 * Gives:	 true exactly if the sums satisfy the filter; false for an unknown
 *			 filter.
 * Source:	 doc/theory.md T27 (basic), T28 (zcdp), T29 (best), T37
 *			 (advanced).
 */
bool
dp_acct_limit_holds(const dp_limit *limit, const dp_spent *spent)
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
	spent->epsilon = dp_acct_fixed_add(spent->epsilon, charge->epsilon);
	spent->rho = dp_acct_fixed_add(spent->rho, charge->rho);
	spent->delta = dp_acct_fixed_add(spent->delta, charge->delta);
	spent->squares = dp_acct_fixed_add(spent->squares,
									   dp_acct_square(charge->epsilon));
}

/*
 * dp_acct_limit_admits
 *	  Whether the filter allows a charge after what was spent.
 *
 * Requires: limit made by dp_acct_limit_make; spent holds every charge
 *			 admitted under it.
 * Gives:	 true exactly if the sums including the charge satisfy the filter;
 *			 false for an unknown filter.  Nothing is changed.
 * Source:	 doc/theory.md T27 (basic), T28 (zcdp), T29 (best), T37
 *			 (advanced).
 */
bool
dp_acct_limit_admits(const dp_limit *limit, const dp_spent *spent,
					 const dp_charge *charge)
{
	dp_spent	after = *spent;

	add_sums(&after, charge);
	return dp_acct_limit_holds(limit, &after);
}

/*
 * dp_acct_spent_add
 *	  Add a charge to the running sums.
 *
 * Requires: spent, charge non-NULL.
 * Gives:	 DP_OK; sums too large for dp_fixed become infinite, which no
 *			 filter admits.  DP_E_OVERFLOW, spent untouched, when the number
 *			 of charges does not fit; DP_E_RANGE when it is negative.
 * Source:	 doc/theory.md T20, T27, T37.
 */
dp_status
dp_acct_spent_add(dp_spent *spent, const dp_charge *charge)
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
 * dp_acct_limit_calls
 *	  How many more equal charges the filter would admit, one by one.
 *
 * Each clause of a filter, once false, stays false, so the count of a clause
 * is a quotient, an "and" of clauses their minimum, an "or" their maximum.
 *
 * Requires: as dp_acct_limit_admits.
 * Gives:	 the exact number, INT64_MAX standing for it and everything above.
 * Source:	 doc/theory.md T30, T37.
 */
int64_t
dp_acct_limit_calls(const dp_limit *limit, const dp_spent *spent,
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
								   dp_acct_square(charge->epsilon),
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
