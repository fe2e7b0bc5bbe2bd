/*
 * key_decision.c
 *	  Law and charge of the decision which undeclared keys are told.
 *
 * A key is told by the number of units that keep it (doc/theory.md T104).
 * The decision is a release of its own, with the default price and the
 * setting's delta, before the values of told keys (T105).
 */
#include "postgres.h"

#include "dp_measure.h"

static dp_fixed
require_delta(void)
{
	dp_fixed	delta;

	if (!dp_measure_read_delta(&delta))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("group keys that are not public need a delta"),
				 errdetail("Which of them are told is decided by a threshold, "
						   "and dp_pg.delta is not set any more."),
				 errhint("SET dp_pg.delta = '1e-9', well below one over the "
						 "number of people; or declare the keys.")));
	return delta;
}

/* changes times the rho of epsilon / changes, or the rho of epsilon. */
static dp_fixed
decision_rho(const dp_key_decision *decision)
{
	const dp_rational parts = {1, decision->changes};
	dp_rational part;
	dp_fixed	rho;
	dp_fixed	all = 0;
	uint64		i;

	if (dp_mech_rational_multiply(&decision->epsilon, &parts,
								  &part) == DP_OK &&
		dp_acct_rho_from_pure(&part, &rho) == DP_OK)
	{
		for (i = 0; i < decision->changes; i++)
			all = dp_acct_fixed_add(all, rho);
		return all;
	}
	dp_bridge_check_status(dp_acct_rho_from_pure(&decision->epsilon, &rho),
						   "compute a charge");
	return rho;
}

/*
 * dp_measure_set_decision
 *	  Of a release with undeclared keys, whose bounds are known: epsilon is
 *	  that of one of `share` values, and the charge is added to the release's.
 *
 * Errors: 22023 dp_pg.delta is not set, or too small for a threshold.
 * Source: doc/theory.md T104.
 */
void
dp_measure_set_decision(dp_release_spec *spec, int share)
{
	dp_key_decision *decision = &spec->decision;
	dp_rational delta;
	dp_status	status;

	decision->epsilon = dp_measure_default_price(share);
	decision->delta = require_delta();
	decision->changes = (uint64) spec->max_keys * (spec->replace_one ? 2 : 1);
	dp_bridge_check_status(dp_acct_fixed_to_rational(decision->delta, &delta),
						   "compute a threshold of keys");
	status = dp_mech_key_law_make(&decision->epsilon, &delta,
								  decision->changes, &decision->law);
	if (status == DP_E_OVERFLOW || status == DP_E_RANGE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("epsilon or delta is too small to tell any group key"),
				 errdetail("No number of units would be enough."),
				 errhint("Ask with a larger dp_pg.epsilon or dp_pg.delta, or "
						 "a smaller dp_pg.max_keys; or declare the keys.")));
	dp_bridge_check_status(status, "compute a threshold of keys");
	dp_bridge_check_scale(&decision->law.scale);
	status = dp_acct_fixed_from_rational(&decision->epsilon, DP_ROUND_UP,
										 &decision->charge.epsilon);
	dp_bridge_check_status(status, "compute a charge");
	decision->charge.rho = decision_rho(decision);
	decision->charge.delta = decision->delta;
	dp_bridge_check_status(dp_acct_charge_add(&spec->charge,
											  &decision->charge),
						   "add up the charge of a query");
}
