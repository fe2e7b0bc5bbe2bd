/*
 * select_candidate.c
 *	  One candidate chosen by integer scores.
 *
 * Only dp_pg.mechanism decides how: laplace means permute-and-flip, the best
 * for a pure price; gaussian means the exponential mechanism, whose rho is
 * epsilon^2/8 and which needs no delta.  Only the chosen candidate is
 * released, no score and no gap.
 */
#include "postgres.h"

#include "dp_measure.h"

/*
 * Set rate and price of `rounds` selections that share the measurement's
 * epsilon.
 */
static void
set_rounds(dp_measure *measure, dp_uint128 sensitivity, bool monotone,
		   int rounds)
{
	const dp_rational parts = {(dp_uint128) rounds, 1};
	dp_charge  *charge = &measure->charge;
	dp_rational epsilon;
	dp_fixed	rho;
	dp_status	status;

	status = dp_mech_rational_divide(&measure->epsilon, &parts, &epsilon);
	if (status == DP_OK)
		status = dp_mech_selection_rate(&epsilon, sensitivity, monotone,
										&measure->rate);
	dp_bridge_check_status(status, "compute a selection's rate");
	status = measure->mechanism == DP_MECHANISM_EXPONENTIAL ?
		dp_acct_rho_from_exponential(&epsilon, &rho) :
		dp_acct_rho_from_pure(&epsilon, &rho);
	if (status == DP_OK)
		status = dp_acct_fixed_from_rational(&measure->epsilon, DP_ROUND_UP,
											 &charge->epsilon);
	dp_bridge_check_status(status, "compute a charge");
	if (dp_acct_compose_basic(rho, 0, rounds, &charge->rho,
							  &charge->delta) != DP_OK)
		charge->rho = DP_FIXED_INFINITE;
	charge->delta = 0;
}

/*
 * dp_measure_set_exponential
 *	  Set law and charge of one exponential mechanism at the measurement's
 *	  epsilon, for scores that each differ between neighbours by at most
 *	  `sensitivity`, all in one direction if `monotone`.
 *
 * Source: doc/theory.md T16 (book, Theorem 3.10).
 */
void
dp_measure_set_exponential(dp_measure *measure, dp_uint128 sensitivity,
						   bool monotone)
{
	measure->mechanism = DP_MECHANISM_EXPONENTIAL;
	measure->sensitivity = sensitivity;
	set_rounds(measure, sensitivity, monotone, 1);
}

/*
 * The same for `rounds` consecutive selections, each with an equal part of the
 * epsilon, by the mechanism that dp_pg.mechanism selects.
 *
 * Source: doc/theory.md T16, T17; basic composition of the rounds.
 */
static void
set_selection(dp_measure *measure, dp_uint128 sensitivity, bool monotone,
			  int rounds)
{
	measure->mechanism = measure->gaussian ? DP_MECHANISM_EXPONENTIAL :
		DP_MECHANISM_PERMUTE_AND_FLIP;
	measure->sensitivity = sensitivity;
	set_rounds(measure, sensitivity, monotone, rounds);
}

/*
 * dp_measure_set_votes
 *	  The same for candidates whose scores are numbers of rows: `rounds`
 *	  selections in each group, counts being monotone unless units are
 *	  replaced.
 *
 * Source: doc/theory.md T48.
 */
void
dp_measure_set_votes(dp_measure *measure, int rounds)
{
	const dp_contribution *c = &measure->contribution;

	if (c->kappa > PG_INT32_MAX / rounds)
		dp_bridge_check_status(DP_E_OVERFLOW, "compute a sensitivity");
	set_selection(measure, (dp_uint128) c->rows, !c->replace,
				  rounds * (int) c->kappa);
}

/*
 * dp_measure_select
 *	  Index of the selected one of n >= 1 scores, by one round.
 */
int64
dp_measure_select(const dp_measure *measure, const dp_int128 *scores, int64 n)
{
	size_t		chosen;
	size_t	   *order;
	dp_status	status;

	if (measure->mechanism == DP_MECHANISM_EXPONENTIAL)
		status = dp_mech_exponential(dp_bridge_source(), scores, n,
									 &measure->rate, &chosen);
	else
	{
		order = palloc_extended(sizeof(size_t) * n, MCXT_ALLOC_HUGE);
		status = dp_mech_permute_and_flip(dp_bridge_source(), scores, n,
										  &measure->rate, order, &chosen);
		pfree(order);
	}
	dp_bridge_check_status(status, "select a candidate");
	return (int64) chosen;
}
