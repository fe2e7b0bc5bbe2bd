/*
 * additive.c
 *	  Laplace and Gaussian noise on exact integers: price, scale and charge.
 *
 * dp_pg.mechanism decides between the two.  Both take the sensitivity of all
 * numbers of a measurement together, over all groups, so one price pays for
 * all of them and each number gets noise of the same distribution.
 */
#include "postgres.h"

#include <math.h>

#include "dp_measure.h"

/* Limit on the bits of sigma^2's numerator and denominator. */
#define VARIANCE_BITS 62

static void
set_laplace(dp_measure *measure, dp_uint128 sensitivity)
{
	dp_charge  *charge = &measure->charge;

	measure->mechanism = DP_MECHANISM_LAPLACE;
	measure->sensitivity = sensitivity;
	dp_bridge_check_status(dp_mech_scale_make(sensitivity, &measure->epsilon,
											  &measure->scale),
						   "compute a noise scale");
	dp_bridge_check_scale(&measure->scale);
	dp_bridge_check_status(dp_acct_fixed_from_rational(&measure->epsilon,
													   DP_ROUND_UP,
													   &charge->epsilon),
						   "compute a charge");
	dp_bridge_check_status(dp_bridge_laplace_rho(sensitivity,
												 &measure->epsilon,
												 &charge->rho),
						   "compute a charge");
	charge->delta = 0;
}

/* The smallest integer whose square is at least x. */
static dp_uint128
ceiling_root(dp_uint128 x)
{
	dp_uint128	low = 0;
	dp_uint128	high = (dp_uint128) 1 << 64;

	while (low < high)
	{
		dp_uint128	middle = low + (high - low) / 2;

		if (middle >= (dp_uint128) 1 << 64 || middle * middle >= x)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/*
 * unit * factor, rounded up if it does not fit: a larger variance is more
 * private.
 */
static dp_rational
scale_variance(const dp_rational *unit, dp_uint128 factor)
{
	dp_rational squared = {factor, 1};
	dp_rational rounded = *unit;
	dp_rational variance;
	int			bits = VARIANCE_BITS;
	dp_status	status;

	/* Factors up to 2^64 leave the numerator 62 bits, larger ones fewer. */
	while (bits > 1 && (factor >> (126 - bits)) != 0)
		bits--;
	while ((rounded.num >> bits) != 0 && rounded.den > 1)
	{
		rounded.num = rounded.num / 2 + 1;
		rounded.den /= 2;
	}
	status = dp_mech_rational_make(rounded.num, rounded.den, &rounded);
	if (status == DP_OK)
		status = dp_mech_rational_multiply(&rounded, &squared, &variance);
	dp_bridge_check_status(status, "compute a noise variance");
	return variance;
}

/*
 * dp_measure_read_delta: read the setting dp_pg.delta; false if it is not set.
 */
bool
dp_measure_read_delta(dp_fixed *delta)
{
	if (dp_setting_delta[0] == '\0')
		return false;
	if (dp_bridge_numeric_to_fixed(dp_bridge_text_to_numeric(dp_setting_delta),
								   DP_ROUND_DOWN, delta) != DP_NUMBER_OK)
		elog(ERROR, "setting dp_pg.delta is not a number");
	return true;
}

/* The same, for noise; 22023 if it is not set. */
static dp_fixed
delta_setting(void)
{
	dp_fixed	delta;

	if (!dp_measure_read_delta(&delta))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("Gaussian noise needs a delta"),
				 errdetail("Setting dp_pg.mechanism is gaussian, and "
						   "dp_pg.delta is not set."),
				 errhint("SET dp_pg.delta = '1e-9', well below one over the "
						 "number of people; or SET dp_pg.mechanism = "
						 "laplace.")));
	return delta;
}

/*
 * Variance, rho and charge of Gaussian noise.
 * Source: doc/theory.md T36 (rho, exact delta of a scalar), T47 (vectors,
 * which charge which budget pays).
 */
static void
set_gaussian(dp_measure *measure, dp_uint128 squared, bool scalar)
{
	dp_uint128	root = ceiling_root(squared);
	dp_fixed	delta = delta_setting();
	dp_fixed	epsilon;
	dp_fixed	rho;
	dp_rational variance;
	dp_rational unit;
	dp_status	status = DP_E_RANGE;

	measure->mechanism = DP_MECHANISM_GAUSSIAN;
	measure->sensitivity = root;
	measure->delta = delta;
	dp_bridge_check_status(dp_acct_fixed_from_rational(&measure->epsilon,
													   DP_ROUND_DOWN,
													   &epsilon),
						   "compute a charge");
	if (scalar && (root >> 60) == 0)
	{
		status = dp_bridge_gaussian_variance((uint64) root, epsilon, delta,
											 &variance);
		if (status == DP_OK)
			status = dp_acct_rho_from_gaussian((uint64) root, &variance, &rho);
	}
	/* Variances outside the range of the exact formula use the general one. */
	if (status != DP_OK)
	{
		status = dp_acct_gaussian_variance_zcdp(1, epsilon, delta, &unit);
		if (status == DP_OK)
			status = dp_acct_rho_from_gaussian(1, &unit, &rho);
		if (status == DP_OK)
			variance = scale_variance(&unit, squared);
	}
	dp_bridge_check_status(status, "compute a noise variance");
	dp_bridge_check_status(dp_mech_gaussian_make(&variance, &measure->noise),
						   "compute a noise variance");
	dp_acct_charge_gaussian(measure->filter, epsilon, delta, rho,
							&measure->charge);
}

/*
 * dp_measure_set_noise
 *	  Set price, distribution and charge of noise on numbers that differ
 *	  between neighbours by at most l1 in L1 and the root of l2_squared in L2,
 *	  in granules and over all groups; `scalar`: there is only one number.
 *
 * Source: doc/theory.md T6 (discrete Laplace is epsilon-DP in L1), T22 and T41
 * (its rho, for vectors too); Gaussian as set_gaussian.
 */
void
dp_measure_set_noise(dp_measure *measure, dp_uint128 l1,
					 dp_uint128 l2_squared, bool scalar)
{
	if (measure->gaussian)
		set_gaussian(measure, l2_squared, scalar);
	else
		set_laplace(measure, l1);
}

/*
 * dp_measure_set_group_noise
 *	  The same for several numbers of a group, which a unit changes by at most
 *	  `most` in L1 in each of kappa groups: kappa most in L1 and sqrt(kappa)
 *	  most in L2 overall, twice that if a unit is replaced (T43).
 */
void
dp_measure_set_group_noise(dp_measure *measure, dp_uint128 most)
{
	const dp_contribution *c = &measure->contribution;
	dp_uint128	l1 = dp_measure_product(most, (dp_uint128) c->kappa);
	dp_uint128	l2 = 0;			/* squared; may not fit into 128 bits */

	if (measure->gaussian)
		l2 = dp_measure_product(dp_measure_product(l1, most),
								c->replace ? 4 : 1);
	if (c->replace)
		l1 = dp_measure_product(l1, 2);
	dp_measure_set_noise(measure, l1, l2, false);
}

/* dp_measure_add_noise: exact + one fresh draw of the measure's law. */
dp_int128
dp_measure_add_noise(const dp_measure *measure, dp_int128 exact)
{
	dp_source  *source = dp_bridge_source();
	dp_int128	noise;
	dp_int128	sum;
	dp_status	status;

	status = measure->mechanism == DP_MECHANISM_GAUSSIAN ?
		dp_mech_discrete_gaussian(source, &measure->noise, &noise) :
		dp_mech_discrete_laplace(source, &measure->scale, &noise);
	dp_bridge_check_status(status, "draw noise");
	if (__builtin_add_overflow(exact, noise, &sum))
		dp_bridge_check_status(DP_E_OVERFLOW, "add noise");
	return sum;
}

/* dp_measure_noise_scale: the Laplace scale or sigma, for display. */
double
dp_measure_noise_scale(const dp_measure *measure)
{
	const dp_rational *variance = &measure->noise.variance;

	if (measure->mechanism == DP_MECHANISM_GAUSSIAN)
		return sqrt((double) variance->num / (double) variance->den);
	return dp_mech_scale_approx(&measure->scale);
}

/*
 * dp_measure_none
 *	  If dp_pg.suppress is on, a number that the sum of `noises` noises exceeds
 *	  with probability at most 1/20, so that smaller sums may be noise alone;
 *	  else 0.
 */
dp_int128
dp_measure_none(const dp_measure *measure, int noises)
{
	double		error;

	if (!dp_bridge_suppresses())
		return 0;
	error = noises * dp_measure_noise_error(measure, 0.05 / noises);
	return error < 1e37 ? (dp_int128) error : (dp_int128) 1 << 124;
}

/*
 * dp_measure_noise_error: what |noise| exceeds with probability beta, for
 * display; Gaussian noise by the continuous distribution of the same variance,
 * rounded to integers.
 */
double
dp_measure_noise_error(const dp_measure *measure, double beta)
{
	double		low = 0;
	double		high = 40;

	if (measure->mechanism != DP_MECHANISM_GAUSSIAN)
		return dp_mech_laplace_error(&measure->scale, beta);
	while (high - low > 1e-9)
	{
		double		middle = (low + high) / 2;

		if (erfc(middle * M_SQRT1_2) > beta)
			low = middle;
		else
			high = middle;
	}
	return ceil(high * dp_measure_noise_scale(measure) - 0.5);
}
