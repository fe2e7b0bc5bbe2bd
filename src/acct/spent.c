/*
 * spent.c
 *	  Sums of charges and of sums: several draws of a release, charges made
 *	  elsewhere, and parallel composition over the parts of a partition.
 *
 * What is spent on a partition is, in each component, the largest sum over
 * its parts: a privacy unit lives in one of them, so its own sums are at most
 * these.  A ledger keeps the sums of each part, their componentwise maximum,
 * and adds to the total whatever the maximum rises by.
 */
#include "dp_acct.h"

/*
 * dp_acct_charge_add
 *	  Compose two charges into one, for a release that makes several draws.
 *
 * Requires: sum, charge non-NULL.
 * Gives:	 DP_OK with *sum increased, epsilon infinite when one of the two
 *			 is or the sum does not fit; DP_E_OVERFLOW, *sum untouched, when
 *			 the sum of rho or delta does not fit.
 * Source:	 doc/theory.md T20, T27, T28.
 */
dp_status
dp_acct_charge_add(dp_charge *sum, const dp_charge *charge)
{
	dp_fixed	rho = dp_acct_fixed_add(sum->rho, charge->rho);
	dp_fixed	delta = dp_acct_fixed_add(sum->delta, charge->delta);

	if (rho == DP_FIXED_INFINITE || delta == DP_FIXED_INFINITE)
		return DP_E_OVERFLOW;
	sum->epsilon = dp_acct_fixed_add(sum->epsilon, charge->epsilon);
	sum->rho = rho;
	sum->delta = delta;
	return DP_OK;
}

/*
 * dp_acct_spent_sum
 *	  Add sums to sums.
 *
 * Requires: spent, more non-NULL.
 * Gives:	 DP_OK; what does not fit becomes infinite.  DP_E_OVERFLOW, spent
 *			 untouched, when the number of charges does not fit; DP_E_RANGE
 *			 when one is negative.
 * Source:	 doc/theory.md T20, T27.
 */
dp_status
dp_acct_spent_sum(dp_spent *spent, const dp_spent *more)
{
	if (spent->charges < 0 || more->charges < 0)
		return DP_E_RANGE;
	if (spent->charges > INT64_MAX - more->charges)
		return DP_E_OVERFLOW;
	spent->epsilon = dp_acct_fixed_add(spent->epsilon, more->epsilon);
	spent->rho = dp_acct_fixed_add(spent->rho, more->rho);
	spent->delta = dp_acct_fixed_add(spent->delta, more->delta);
	spent->squares = dp_acct_fixed_add(spent->squares, more->squares);
	spent->charges += more->charges;
	return DP_OK;
}

/* What a component rises by; nothing rises above infinity. */
static dp_fixed
rise(dp_fixed maximum, dp_fixed part)
{
	if (part <= maximum)
		return 0;
	return part == DP_FIXED_INFINITE ? part : part - maximum;
}

/*
 * dp_acct_spent_rise
 *	  Add to a total what the maximum over the parts rises by when the sums of
 *	  one part become `part`, and count one charge.
 *
 * Requires: total, maximum, part non-NULL; total includes maximum.
 * Gives:	 DP_OK with total increased by max(0, part - maximum) in each
 *			 component, infinite where that is; else as dp_acct_spent_sum.
 * Source:	 doc/ledger.md, "Parts"; doc/theory.md T20, T27, T28.
 */
dp_status
dp_acct_spent_rise(dp_spent *total, const dp_spent *maximum,
				   const dp_spent *part)
{
	dp_spent	more = {0};

	more.epsilon = rise(maximum->epsilon, part->epsilon);
	more.rho = rise(maximum->rho, part->rho);
	more.delta = rise(maximum->delta, part->delta);
	more.squares = rise(maximum->squares, part->squares);
	more.charges = 1;
	return dp_acct_spent_sum(total, &more);
}

/*
 * dp_acct_spent_maximum
 *	  Raise a maximum to the sums of one part; the number of charges is that
 *	  of all parts, so it grows by one.
 *
 * Requires: maximum, part non-NULL; maximum->charges < INT64_MAX.
 * Gives:	 the componentwise maximum.
 * Source:	 doc/ledger.md, "Parts"; doc/theory.md T27, T28.
 */
void
dp_acct_spent_maximum(dp_spent *maximum, const dp_spent *part)
{
	if (part->epsilon > maximum->epsilon)
		maximum->epsilon = part->epsilon;
	if (part->rho > maximum->rho)
		maximum->rho = part->rho;
	if (part->delta > maximum->delta)
		maximum->delta = part->delta;
	if (part->squares > maximum->squares)
		maximum->squares = part->squares;
	maximum->charges++;
}
