/*
 * iterate_price.c
 *	  What a charge of dp_iterate costs, and the noise that it pays for: for
 *	  all rounds, or for one if the update is the caller's own.
 */
#include "postgres.h"

#include <math.h>

#include "../model/dp_generator.h"
#include "iterate.h"

/* Pure epsilon: half of a round's part for the choice, half for the count. */
static dp_status
plan_pure(dp_iteration *s)
{
	uint64		sensitivity = s->reading->sensitivity;
	dp_rational parts = {2 * (dp_uint128) s->terms.rounds, 1};
	dp_rational part;
	dp_fixed	choice = 0;
	dp_fixed	count = 0;
	dp_status	status;
	int			i;

	s->charge.epsilon = s->epsilon_fixed;
	status = dp_mech_rational_divide(&s->epsilon, &parts, &part);
	if (status == DP_OK)
		status = dp_mech_selection_rate(&part, sensitivity, false,
										&s->terms.rate);
	if (status == DP_OK)
		status = dp_mech_scale_make(sensitivity, &part, &s->terms.scale);
	if (status == DP_OK)
		status = s->terms.distinguisher == DP_ITERATE_EXPONENTIAL ?
			dp_acct_rho_from_exponential(&part, &choice) :
			dp_acct_rho_from_pure(&part, &choice);
	if (status == DP_OK)
		status = dp_acct_rho_from_laplace(sensitivity, &part, &count);
	for (i = 0; i < s->terms.rounds; i++)
		s->charge.rho = dp_acct_fixed_add(s->charge.rho,
										  dp_acct_fixed_add(choice, count));
	return status;
}

/*
 * The rho of one charge.  Where only rho is added up, charges share the rho of
 * the whole price, which is more than each would have alone.
 */
static dp_status
find_rho(const dp_iteration *s, dp_filter filter, dp_fixed *rho)
{
	dp_status	status;

	if (s->own == NULL || filter == DP_FILTER_BASIC)
		return dp_acct_zcdp_rho(s->epsilon_fixed, s->delta, rho);
	status = dp_acct_zcdp_rho(s->own->epsilon, s->own->delta, rho);
	*rho /= (dp_fixed) s->own->updates;
	return status;
}

/* zCDP: a tenth of a round's rho for the choice, the rest for the count. */
static dp_status
plan_gaussian(dp_iteration *s)
{
	dp_filter	filter = dp_ledger_charge_filter(&s->reading->standing);
	dp_generator_terms counts = {.sensitivity = s->reading->sensitivity};
	dp_generator_step step;
	dp_fixed	rho = 0;
	dp_status	status;

	status = find_rho(s, filter, &rho);
	if (status == DP_OK)
		status = dp_model_generator_step_last(&counts, rho /
											  (dp_fixed) s->terms.rounds,
											  &step);
	if (status != DP_OK)
		return status;
	s->terms.rate = step.rate;
	s->terms.noise = step.noise;
	dp_acct_charge_gaussian(filter, s->epsilon_fixed, s->delta, rho,
							&s->charge);
	return DP_OK;
}

/*
 * Split the price into charges of one round each, which add up to no more than
 * the whole.  Unless the caller gave a number of rounds, there are at most as
 * many as leave each charge at the floor or above.
 */
static void
share_price(dp_iteration *s)
{
	dp_own_update *own = s->own;
	dp_fixed	least = Max(dp_ledger_floor(&s->reading->standing), 1);

	if (!own->chosen && own->epsilon / least < (dp_fixed) own->updates)
		own->updates = Max((int) (own->epsilon / least), 1);
	own->chosen = true;
	s->epsilon_fixed = own->epsilon / (dp_fixed) own->updates;
	s->delta = own->delta / (dp_fixed) own->updates;
	if (s->epsilon_fixed < least)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("epsilon is too small for this many updates"),
				 errdetail("Epsilon %s for %s is below the floor of %s for "
						   "each.", dp_bridge_fixed_to_cstring(own->epsilon),
						   dp_synth_counted(own->updates, "update",
											"updates"),
						   dp_bridge_fixed_to_cstring(least)),
				 errhint("Use fewer rounds or a larger epsilon.")));
	dp_bridge_check_status(dp_acct_fixed_to_rational(s->epsilon_fixed,
													 &s->epsilon),
						   "share epsilon among updates");
}

static void
check_price(const dp_iteration *s)
{
	const dp_ledger_standing *standing = &s->reading->standing;
	const char *dataset = s->reading->dataset;

	dp_ledger_check_floor(standing, dataset, s->epsilon_fixed);
	dp_ledger_check_ceiling(standing, dataset, s->own ? s->own->epsilon :
							s->epsilon_fixed);
	if (s->terms.distinguisher == DP_ITERATE_GAUSSIAN)
		dp_ledger_check_delta(standing, dataset, s->own ? s->own->delta :
							  s->delta);
}

static void
plan_price(dp_iteration *s)
{
	MemSet(&s->charge, 0, sizeof(s->charge));
	dp_bridge_check_status(s->terms.distinguisher == DP_ITERATE_GAUSSIAN ?
						   plan_gaussian(s) : plan_pure(s),
						   "plan the rounds");
}

/* What noise alone hardly ever exceeds. */
static double
noise_error(const dp_iterate_terms *terms)
{
	if (terms->distinguisher == DP_ITERATE_GAUSSIAN)
		return 2 * sqrt((double) terms->noise.variance.num /
						(double) terms->noise.variance.den);
	return dp_mech_laplace_error(&terms->scale, .05);
}

/*
 * Find when to stop: within the book's 3/4 alpha n or, without alpha, within
 * what noise and the size of candidates explain.  After plan_price.
 */
static void
plan_end(dp_iteration *s)
{
	s->terms.eta = s->alpha / 2;
	s->terms.near = s->alpha > 0 ? .75 * s->alpha * (double) s->terms.n :
		noise_error(&s->terms);
	if (s->alpha == 0 && s->terms.update == DP_ITERATE_MEDIAN)
		s->terms.near += (double) s->terms.n / (double) s->terms.size;
}

/*
 * dp_synth_iterate_price
 *	  Find the next charge, its noise, and when rounds end, for a verified
 *	  reading.
 *
 * Errors: 22023 a price or delta that the dataset does not allow.
 * Source: doc/theory.md T125, T129.
 */
void
dp_synth_iterate_price(dp_iteration *s)
{
	if (s->own != NULL)
		share_price(s);
	check_price(s);
	plan_price(s);
	plan_end(s);
}
