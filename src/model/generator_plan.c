/*
 * generator_plan.c
 *	  What one round of the adaptive generator costs, exactly.
 *
 * The schedule is computed in floating point, from public numbers; then the
 * choice's epsilon is rounded down and the noise's variance up to short
 * rationals, and rho is computed from those, rounded up.
 */
#include <math.h>

#include "dp_generator.h"

#define SHORT_BITS 20			/* of a rounded number */

/* x on a grid of 20 bits, up or down; den is a power of two. */
static dp_status
short_rational(double x, bool up, dp_rational *out)
{
	int			exponent;
	double		digits;

	if (!(x > 0x1p-40 && x < 0x1p80))
		return DP_E_RANGE;
	digits = frexp(x, &exponent) * 0x1p20;
	digits = up ? ceil(digits) : floor(digits);
	exponent -= SHORT_BITS;
	if (exponent >= 0)
		return dp_mech_rational_make((dp_uint128) digits << exponent, 1, out);
	return dp_mech_rational_make((dp_uint128) digits,
								 (dp_uint128) 1 << -exponent, out);
}

/*
 * dp_model_score_sensitivity
 *	  How far one unit can move a score: weight times || counts - expected ||_1
 *	  moves by at most weight times the L1 sensitivity of a table.
 *
 * Requires: terms complete.
 * Gives:	 as said, over all tables.
 * Source:	 doc/theory.md T72.
 */
dp_uint128
dp_model_score_sensitivity(const dp_generator_terms *t)
{
	int64_t		most = 1;
	int			i;

	for (i = 0; i < t->ntables; i++)
		if (t->table[i].weight > most)
			most = t->table[i].weight;
	return (dp_uint128) most * t->sensitivity * (t->replace_one ? 2 : 1);
}

/*
 * dp_model_generator_step_make
 *	  A round with a choice of at most this epsilon and noise of at least this
 *	  sigma on each count.
 *
 * Requires: terms complete; epsilon and sigma positive.
 * Gives:	 DP_OK with *out: the laws and their rho, rounded up; DP_E_RANGE
 *			 and DP_E_OVERFLOW for extreme numbers.
 * Source:	 doc/theory.md T21, T36, T71, T72.
 */
dp_status
dp_model_generator_step_make(const dp_generator_terms *t, double epsilon,
							 double sigma, dp_generator_step *out)
{
	dp_generator_step step;
	dp_status	status;

	status = short_rational(epsilon, false, &step.epsilon);
	if (status == DP_OK)
		status = short_rational(sigma * sigma, true, &step.variance);
	if (status == DP_OK)
		status = dp_mech_selection_rate(&step.epsilon,
										dp_model_score_sensitivity(t),
										false, &step.rate);
	if (status == DP_OK)
		status = dp_mech_gaussian_make(&step.variance, &step.noise);
	if (status == DP_OK)
		status = dp_acct_rho_from_exponential(&step.epsilon,
											  &step.choice_rho);
	if (status == DP_OK)
		status = dp_acct_rho_from_gaussian(t->sensitivity, &step.variance,
										   &step.measure_rho);
	if (status != DP_OK)
		return status;
	if (t->replace_one)			/* two cells move: the square doubles */
		step.measure_rho = dp_acct_fixed_add(step.measure_rho,
											 step.measure_rho);
	step.sigma = sqrt((double) step.variance.num /
					  (double) step.variance.den);
	*out = step;
	return DP_OK;
}

/*
 * dp_model_generator_step_last
 *	  The round that spends what is left: a tenth on the choice, the rest on
 *	  the measurement.
 *
 * Requires: terms complete; left > 0.
 * Gives:	 DP_OK with choice_rho + measure_rho <= left; DP_E_RANGE when
 *			 left is too little for that.
 * Source:	 doc/theory.md T73.
 */
dp_status
dp_model_generator_step_last(const dp_generator_terms *t, dp_fixed left,
							 dp_generator_step *out)
{
	double		rho = dp_acct_fixed_approx(left) * (1 - 1e-9);
	double		l2 = (double) t->sensitivity * (t->replace_one ? M_SQRT2 : 1);
	dp_generator_step step;
	dp_status	status;

	status = dp_model_generator_step_make(t, sqrt(.8 * rho),
										  l2 / sqrt(1.8 * rho), &step);
	if (status != DP_OK)
		return status;
	if (dp_acct_fixed_add(step.choice_rho, step.measure_rho) > left)
		return DP_E_RANGE;
	*out = step;
	return DP_OK;
}
