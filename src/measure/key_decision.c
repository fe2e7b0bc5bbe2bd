/*
 * key_decision.c
 *	  Law and charge of the decision which undeclared keys are released.
 *
 * Whether a key is released depends on the number of units that keep it
 * (doc/theory.md T104).  The decision is a release of its own, with the
 * default price and the setting's delta, before the values of released keys
 * (T105).
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
				 errdetail("A threshold decides which of them are released, "
						   "and dp_pg.delta is no longer set."),
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
 *	  Set the decision of a release with undeclared keys, whose bounds are
 *	  known: epsilon is that of one of `share` values, and the charge is added
 *	  to the release's.
 *
 * Errors: 22023 dp_pg.delta is not set, or too small for a threshold.  Source:
 * doc/theory.md T104.
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
				 errmsg("epsilon or delta is too small to release any group "
						"key"),
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

/* ---- as many groups as are released ---- */

/*
 * dp_measure_keep_unprepared
 *	  Called before prepare: keep a copy, so that the measurement can be
 *	  prepared again.
 */
void
dp_measure_keep_unprepared(dp_measure *measure)
{
	dp_measure *copy = palloc(sizeof(dp_measure));

	*copy = *measure;
	measure->unprepared = copy;
}

/*
 * dp_measure_allow_fewer
 *	  Called after prepare: set a charge that suffices for any smaller number
 *	  of groups of a unit.  Noise without delta is epsilon-DP for each number,
 *	  so the charge of a pure mechanism suffices; Gaussian noise has one charge
 *	  for all.
 *
 * Source: doc/theory.md T21, T105.
 */
void
dp_measure_allow_fewer(dp_measure *measure)
{
	dp_charge  *charge = &measure->charge;
	dp_fixed	rho;

	if (charge->epsilon == DP_FIXED_INFINITE || charge->delta != 0)
		return;
	dp_bridge_check_status(dp_acct_rho_from_pure(&measure->epsilon, &rho),
						   "compute a charge");
	charge->rho = Max(charge->rho, rho);
}

/* Does the measurement count as the other one does, and cost no more? */
static bool
can_stand_for(const dp_measure *a, const dp_measure *b)
{
	return a->ncells == b->ncells && a->power == b->power &&
		a->state_size == b->state_size && a->on_grid == b->on_grid &&
		a->grid.exponent == b->grid.exponent &&
		a->grid.low == b->grid.low && a->grid.high == b->grid.high &&
		a->bound.kind == b->bound.kind && a->bound.low == b->bound.low &&
		a->bound.high == b->bound.high && a->bound.rows == b->bound.rows &&
		a->charge.epsilon <= b->charge.epsilon &&
		a->charge.rho <= b->charge.rho && a->charge.delta <= b->charge.delta;
}

/*
 * dp_measure_adapt
 *	  Only `told` groups are released: no unit is in more of them, and noise
 *	  need not hide more.  A measurement whose charge would be larger, or that
 *	  would count differently, stays unchanged.
 *
 * Source: doc/theory.md T105.
 */
void
dp_measure_adapt(const dp_release_spec *spec, int64 told)
{
	int			i;

	if (told == 0 || told >= spec->max_keys)
		return;
	for (i = 0; i < spec->nmeasures; i++)
	{
		dp_measure *measure = &spec->measures[i];
		dp_measure	fewer = *measure->unprepared;

		fewer.contribution.kappa = told;
		fewer.ops->prepare(&fewer);
		if (!can_stand_for(&fewer, measure))
			continue;
		fewer.charge = measure->charge;
		fewer.first_column = measure->first_column;
		fewer.unprepared = measure->unprepared;
		*measure = fewer;
	}
}
