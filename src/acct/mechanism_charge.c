/*
 * mechanism_charge.c
 *	  What a mechanism is charged as, where its proofs leave a choice.
 */
#include "dp_acct.h"

/*
 * dp_acct_rho_from_exponential
 *	  zCDP of the exponential mechanism that is epsilon-DP: its loss lies in
 *	  an interval of length epsilon (bounded range), at rate epsilon/(2 D), and
 *	  at epsilon/D for monotone scores.
 *
 * Permute-and-flip and noisy max have no bounded range; they cost what
 * dp_acct_rho_from_pure says.
 *
 * Requires: epsilon in the form dp_mech.h states; rho non-NULL.
 * Gives:	 DP_OK and the smaller of epsilon^2/8, rounded up by at most two
 *			 units of 10^-24, and dp_acct_rho_from_pure; errors as there.
 * Source:	 doc/theory.md T16, T21.
 */
dp_status
dp_acct_rho_from_exponential(const dp_rational *epsilon, dp_fixed *rho)
{
	dp_fixed	pure;
	dp_fixed	square;
	dp_fixed	eighth;
	dp_status	status;

	status = dp_acct_rho_from_pure(epsilon, &pure);
	if (status != DP_OK)
		return status;
	status = dp_acct_fixed_from_rational(epsilon, DP_ROUND_UP, &square);
	if (status != DP_OK)
		return status;
	square = dp_acct_square(square);
	eighth = square / 8 + (square % 8 != 0 ? 1 : 0);
	*rho = square != DP_FIXED_INFINITE && eighth < pure ? eighth : pure;
	return DP_OK;
}

/* Whether rho without delta counts under a limit; no limit forbids nothing. */
static bool
takes_rho(const dp_limit *limit)
{
	return limit == NULL || limit->filter == DP_FILTER_ZCDP ||
		(limit->filter == DP_FILTER_BEST && limit->rho > 0);
}

/*
 * dp_acct_charge_filter
 *	  The filter by which to choose how a Gaussian release is charged, when it
 *	  must pass the limit of a payer and the cap of a dataset.
 *
 * Requires: NULL for a limit that does not exist.
 * Gives:	 DP_FILTER_BEST when there is a limit and all limits count rho,
 *			 else DP_FILTER_BASIC.
 * Source:	 doc/theory.md T27, T28, T29.
 */
dp_filter
dp_acct_charge_filter(const dp_limit *payer, const dp_limit *cap)
{
	if (payer == NULL && cap == NULL)
		return DP_FILTER_BASIC;
	return takes_rho(payer) && takes_rho(cap) ? DP_FILTER_BEST :
		DP_FILTER_BASIC;
}

/*
 * dp_acct_charge_gaussian
 *	  How to charge a release that is (epsilon, delta)-DP and rho-zCDP.
 *
 * Filters that count rho alone need no delta for it: (infinite, rho, 0).  The
 * others get (epsilon, rho, delta), which every filter may be given, since
 * min(P, e^epsilon Q) keeps all but delta of P, has a loss of at most epsilon
 * and divergences no larger than those of P.
 *
 * Requires: out non-NULL; filter from dp_acct_charge_filter, a public fact of
 *			 the grant.
 * Gives:	 *out.
 * Source:	 doc/theory.md T27, T28, T29, T36.
 */
void
dp_acct_charge_gaussian(dp_filter filter, dp_fixed epsilon, dp_fixed delta,
						dp_fixed rho, dp_charge *out)
{
	bool		concentrated = filter == DP_FILTER_ZCDP ||
	filter == DP_FILTER_BEST;

	out->epsilon = concentrated ? DP_FIXED_INFINITE : epsilon;
	out->rho = rho;
	out->delta = concentrated ? 0 : delta;
}
