/*
 * additive.c
 *	  Laplace and Gaussian noise on exact integers: price, scale, charge and
 *	  95% error.
 */
#include "postgres.h"

#include <math.h>

#include "../../math/numbers/dp_numbers.h"
#include "../../math/noise/dp_noise.h"
#include "../../math/accounting/dp_accounting.h"
#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../exact/dp_exact.h"
#include "dp_aggregates.h"
#include "aggregates_internal.h"

/* ----------------
 *		Laplace and Gaussian noise on exact integers: price, scale and charge.
 *
 * dp_pg.mechanism decides between the two.  Both take the sensitivity of all
 * numbers of a measurement together, over all groups, so one price pays for
 * all of them and each number gets noise of the same distribution.
 * ----------------
 */

/* Limit on the bits of sigma^2's numerator and denominator. */
#define VARIANCE_BITS 62

static void
set_laplace(dp_measure *measure, dp_uint128 sensitivity)
{
	dp_charge  *charge = &measure->charge;

	measure->mechanism = DP_MECHANISM_LAPLACE;
	measure->sensitivity = sensitivity;
	dp_base_check_status(dp_noise_scale_make(sensitivity, &measure->epsilon,
											 &measure->scale),
						 "compute a noise scale");
	dp_base_check_scale(&measure->scale);
	dp_base_check_status(dp_accounting_fixed_from_rational(&measure->epsilon,
														   DP_ROUND_UP,
														   &charge->epsilon),
						 "compute a charge");
	dp_base_check_status(dp_base_laplace_rho(sensitivity,
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
	status = dp_numbers_rational_make(rounded.num, rounded.den, &rounded);
	if (status == DP_OK)
		status = dp_numbers_rational_multiply(&rounded, &squared, &variance);
	dp_base_check_status(status, "compute a noise variance");
	return variance;
}

/*
 * dp_aggregates_read_delta
 *	  Read so many quarters of the setting dp_pg.delta, 0: all of it; false if
 *	  it is not set.
 *
 * Errors: 22023 nothing is left of it.
 */
bool
dp_aggregates_read_delta(int quarters, dp_fixed *delta)
{
	if (dp_setting_delta[0] == '\0')
		return false;
	if (dp_base_numeric_to_fixed(dp_base_text_to_numeric(dp_setting_delta),
								 DP_ROUND_DOWN, delta) != DP_NUMBER_OK)
		elog(ERROR, "setting dp_pg.delta is not a number");
	if (quarters > 0)
		*delta = *delta / 4 * quarters;
	if (quarters > 0 && *delta == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("dp_pg.delta is too small to measure a bound"),
				 errdetail("dp_pg.bounds is measure, so a quarter of it is "
						   "for that, and a delta has 24 decimal places."),
				 errhint("SET dp_pg.delta = '1e-9', well below one over the "
						 "number of people.")));
	return true;
}

/* The same, for noise; 22023 if it is not set. */
static dp_fixed
delta_setting(int quarters)
{
	dp_fixed	delta;

	if (!dp_aggregates_read_delta(quarters, &delta))
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
 * dp_aggregates_unit_noise
 *	  Root mean square of the noise that hides a one at this price, about: for
 *	  comparing bounds only.
 */
double
dp_aggregates_unit_noise(const dp_rational *epsilon)
{
	double		price = (double) epsilon->num / (double) epsilon->den;
	dp_fixed	delta;

	if (dp_setting_mechanism != DP_SETTING_GAUSSIAN ||
		!dp_aggregates_read_delta(0, &delta))
		return sqrt(2) / price;
	return sqrt(2 * log(1.25 / dp_accounting_fixed_approx(delta))) / price;
}

/*
 * Variance, rho and charge of Gaussian noise; where the total is measured by
 * the formula whose charge is the same for each.
 * Source: doc/theory.md T36 (rho, exact delta of a scalar), T47 (vectors,
 * which charge which budget pays).
 */
static void
set_gaussian(dp_measure *measure, dp_uint128 squared, bool scalar)
{
	dp_uint128	root = ceiling_root(squared);
	dp_fixed	delta = delta_setting(measure->quarters);
	dp_fixed	epsilon;
	dp_fixed	rho;
	dp_rational variance;
	dp_rational unit;
	dp_status	status = DP_E_RANGE;

	measure->mechanism = DP_MECHANISM_GAUSSIAN;
	measure->sensitivity = root;
	measure->delta = delta;
	dp_base_check_status(dp_accounting_fixed_from_rational(&measure->epsilon,
														   DP_ROUND_DOWN,
														   &epsilon),
						 "compute a charge");
	if (scalar && measure->quarters == 0 && (root >> 60) == 0)
	{
		status = dp_base_gaussian_variance((uint64) root, epsilon, delta,
										   &variance);
		if (status == DP_OK)
			status = dp_accounting_rho_from_gaussian((uint64) root, &variance,
													 &rho);
	}
	/* Variances outside the range of the exact formula use the general one. */
	if (status != DP_OK)
	{
		status = dp_accounting_variance_zcdp(1, epsilon, delta, &unit);
		if (status == DP_OK)
			status = dp_accounting_rho_from_gaussian(1, &unit, &rho);
		if (status == DP_OK)
			variance = scale_variance(&unit, squared);
	}
	dp_base_check_status(status, "compute a noise variance");
	dp_base_check_status(dp_noise_gaussian_make(&variance, &measure->noise),
						 "compute a noise variance");
	dp_accounting_charge_gaussian(measure->filter, epsilon, delta, rho,
								  &measure->charge);
}

/*
 * dp_aggregates_set_noise
 *	  Set price, distribution and charge of noise on numbers that differ
 *	  between neighbours by at most l1 in L1 and the root of l2_squared in L2,
 *	  in granules and over all groups; `scalar`: there is only one number.
 *
 * Source: doc/theory.md T6 (discrete Laplace is epsilon-DP in L1), T22 and T41
 * (its rho, for vectors too); Gaussian as set_gaussian.
 */
void
dp_aggregates_set_noise(dp_measure *measure, dp_uint128 l1,
						dp_uint128 l2_squared, bool scalar)
{
	if (measure->gaussian)
		set_gaussian(measure, l2_squared, scalar);
	else
		set_laplace(measure, l1);
}

/*
 * dp_aggregates_unit_rows
 *	  Most rows of a unit in all groups: S = min(kappa m, T).
 */
dp_uint128
dp_aggregates_unit_rows(const dp_contribution *c)
{
	return (dp_uint128) Min(c->kappa * c->rows, c->total);
}

/*
 * dp_aggregates_unit_squares
 *	  Most of the sum of squares of its rows in a group: of numbers from 0 to m
 *	  with the sum S, all but one are 0 or m (doc/theory.md T160).
 */
dp_uint128
dp_aggregates_unit_squares(const dp_contribution *c)
{
	dp_uint128	most = (dp_uint128) c->rows;
	dp_uint128	rows = dp_aggregates_unit_rows(c);
	dp_uint128	rest = rows % most;

	return rows / most * most * most + rest * rest;
}

/*
 * dp_aggregates_set_group_noise
 *	  The same for several numbers of each group, which a row changes by at
 *	  most `row` in L1: S row in L1 and sqrt(N) row in L2 overall, N as
 *	  dp_aggregates_unit_squares says.  If a unit is replaced, twice that, but
 *	  in L2 only sqrt(2) times if units only add to the numbers, `positive`
 *	  (T43, T160).
 */
void
dp_aggregates_set_group_noise(dp_measure *measure, dp_uint128 row,
							  bool positive)
{
	const dp_contribution *c = &measure->contribution;
	dp_uint128	l1 = dp_aggregates_product(row, dp_aggregates_unit_rows(c));
	dp_uint128	l2 = 0;			/* squared; may not fit into 128 bits */

	if (measure->gaussian)
	{
		l2 = dp_aggregates_product(dp_aggregates_product(row, row),
								   dp_aggregates_unit_squares(c));
		l2 = dp_aggregates_product(l2, !c->replace ? 1 : positive ? 2 : 4);
	}
	if (c->replace)
		l1 = dp_aggregates_product(l1, 2);
	dp_aggregates_set_noise(measure, l1, l2, false);
}

/* dp_aggregates_add_noise: exact + one fresh draw of the measure's law. */
dp_int128
dp_aggregates_add_noise(const dp_measure *measure, dp_int128 exact)
{
	dp_source  *source = dp_base_source();
	dp_int128	noise;
	dp_int128	sum;
	dp_status	status;

	status = measure->mechanism == DP_MECHANISM_GAUSSIAN ?
		dp_noise_discrete_gaussian(source, &measure->noise, &noise) :
		dp_noise_discrete_laplace(source, &measure->scale, &noise);
	dp_base_check_status(status, "draw noise");
	if (__builtin_add_overflow(exact, noise, &sum))
		dp_base_check_status(DP_E_OVERFLOW, "add noise");
	return sum;
}

/* dp_aggregates_noise_scale: the Laplace scale or sigma, for display. */
double
dp_aggregates_noise_scale(const dp_measure *measure)
{
	const dp_rational *variance = &measure->noise.variance;

	if (measure->mechanism == DP_MECHANISM_GAUSSIAN)
		return sqrt((double) variance->num / (double) variance->den);
	return dp_noise_scale_approx(&measure->scale);
}

/*
 * dp_aggregates_none
 *	  If dp_pg.suppress is on, a number that the sum of `noises` noises exceeds
 *	  with probability at most 1/20, so that smaller sums may be noise alone;
 *	  else 0.
 */
dp_int128
dp_aggregates_none(const dp_measure *measure, int noises)
{
	double		error;

	if (!dp_base_suppresses())
		return 0;
	error = noises * dp_aggregates_noise_error(measure, 0.05 / noises);
	return error < 1e37 ? (dp_int128) error : (dp_int128) 1 << 124;
}

/*
 * dp_aggregates_noise_error: what |noise| exceeds with probability beta, for
 * display; Gaussian noise by the continuous distribution of the same variance,
 * rounded to integers.
 */
double
dp_aggregates_noise_error(const dp_measure *measure, double beta)
{
	double		low = 0;
	double		high = 40;

	if (measure->mechanism != DP_MECHANISM_GAUSSIAN)
		return dp_noise_laplace_error(&measure->scale, beta);
	while (high - low > 1e-9)
	{
		double		middle = (low + high) / 2;

		if (erfc(middle * M_SQRT1_2) > beta)
			low = middle;
		else
			high = middle;
	}
	return ceil(high * dp_aggregates_noise_scale(measure) - 0.5);
}

/* ----------------
 *		The 95% error of a released value, returned by dp_error.
 *
 * It is the error of the noise only: the value differs by more than this from
 * the value without noise, on the same rows as clamped and bounded, with
 * probability at most 1/20.  It follows from public numbers and from the noisy
 * ones from which the value is computed (doc/theory.md T131), so it is as
 * public as the value.  If several numbers are noisy, any of them is off by
 * more than additive_noise_error() with at most that probability; the value's
 * error then follows by arithmetic.
 *
 * Numbers are double precision, rounded up by more than the error of the
 * arithmetic.
 * ----------------
 */

#define BETA 0.05

/*
 * Bounds the relative error of double precision arithmetic, in beta and in
 * results.
 */
#define SLACK 1e-12

/*
 * None of `noises` noises is larger, except with probability 1/20; in
 * granules.
 */
static double
additive_noise_error(const dp_measure *measure, int noises)
{
	double		error;

	if (measure->mechanism != DP_MECHANISM_GAUSSIAN)
		return dp_aggregates_noise_error(measure, BETA / noises * (1 - SLACK));
	if (dp_base_gaussian_error(&measure->noise.variance, noises, &error))
		return error;
	/* that rounds to the nearest integer, for a law with heavier tails */
	return dp_aggregates_noise_error(measure, BETA / noises * (1 - SLACK)) + 1;
}

/*
 * dp_aggregates_highest_noise
 *	  None of `noises` noises is above this, except with probability 1/20; 2^60
 *	  at most.  The larger ones are half of those with larger absolute values.
 */
int64
dp_aggregates_highest_noise(const dp_measure *measure, int noises)
{
	double		error = additive_noise_error(measure, (noises + 1) / 2);

	return error < 0x1p60 ? (int64) error : INT64CONST(1) << 60;
}

/* The error, if the value and the true value are both from 0 to `most`. */
static double
within(double error, double value, double most)
{
	return Min(error * (1 + SLACK), Max(value, most - value));
}

/*
 * dp_aggregates_rounded_error
 *	  The error of a number of granules after dp_aggregates_from_granules, if
 *	  that rounds it: noise of at most `error` moves the rounded number by no
 *	  more than this.
 */
double
dp_aggregates_rounded_error(const dp_measure *measure, double error)
{
	int			fine = measure->bound.fine;

	if (fine == 0 || measure->bound.kind == DP_UNITS_MEAN ||
		measure->bound.kind == DP_UNITS_SQUARES)
		return error;
	return ldexp(ceil(ldexp(error, -fine)), fine);
}

/*
 * dp_aggregates_error_of_sum: the error of one released number, in the
 * argument's unit.
 */
double
dp_aggregates_error_of_sum(const dp_measure *measure)
{
	return ldexp(dp_aggregates_rounded_error(measure,
											 additive_noise_error(measure,
																  1)),
				 measure->grid.exponent);
}

/*
 * dp_aggregates_error_of_mean
 *	  The error of low + (high - low) above / total, for total > 0 and above
 *	  from 0 to total.
 */
double
dp_aggregates_error_of_mean(const dp_measure *measure, dp_int128 above,
							dp_int128 total, const dp_grid *grid)
{
	double		error = additive_noise_error(measure, 2) / (double) total;
	double		share = (double) above / (double) total;

	return ldexp((double) (grid->high - grid->low) * within(error, share, 1),
				 grid->exponent);
}

/*
 * The error of a population's variance, in squares of the bounds' distance:
 * three noises of at most `error`, relative to a total of 1.
 */
static double
population_error(double error)
{
	return error + 2.25 * error * error;
}

/*
 * The additional error by n / (n - 1), where n is total / row, above 1, with
 * `noises` noises of at most `error`; at most `most`.
 */
static double
sample_error(double population, double most, double total, double row,
			 double error, int noises)
{
	double		rest = Max(row, total - noises * error - row);

	return population * total / (total - row) +
		most * noises * error * row / ((total - row) * rest);
}

/*
 * dp_aggregates_error_of_variance
 *	  The error of a variance, in squares of the bounds' distance, before the
 *	  limits of variances are applied; a row adds `row` to total > 0.
 */
double
dp_aggregates_error_of_variance(const dp_measure *measure, bool sample,
								dp_int128 row, dp_int128 total)
{
	double		error = additive_noise_error(measure, 3);
	double		population = population_error(error / (double) total);

	if (!sample)
		return population;
	if (total <= row)
		return 1;				/* no information */
	return sample_error(population, 0.25, (double) total, (double) row, error,
						3);
}

/*
 * dp_aggregates_variance_within: the error after applying the limits, for the
 * value `share`.
 */
double
dp_aggregates_variance_within(bool sample, double share, double error)
{
	return within(error, share, sample ? 0.5 : 0.25);
}

/* dp_aggregates_error_of_root: the error of its square root. */
double
dp_aggregates_error_of_root(bool sample, double share, double error)
{
	double		root = sqrt(share);
	double		off = share > error ?
	error / (root + sqrt(share - error)) :
	Max(root, error / (root + sqrt(share + error)));

	return within(off, root, sqrt(sample ? 0.5 : 0.25));
}

/*
 * dp_aggregates_error_of_squares
 *	  The error of the number of rows times such a variance, in rows times that
 *	  unit.
 */
double
dp_aggregates_error_of_squares(const dp_measure *measure, dp_int128 total,
							   double share)
{
	double		error = additive_noise_error(measure, 3);
	double		population = population_error(error / (double) total);
	double		most = Min(0.25, share + population);

	return (population * (double) total + most * 3 * error) /
		(double) measure->score_unit * (1 + SLACK);
}

/*
 * dp_aggregates_error_of_covariance
 *	  The error of the result of release_covariance, in products of
 *	  the bounds' distances, where it is `share`; for dp_regr_sxy in rows times
 *	  that.
 */
double
dp_aggregates_error_of_covariance(const dp_measure *measure, dp_int128 total,
								  double share)
{
	dp_aggregate_kind kind = measure->ops->kind;
	double		error = additive_noise_error(measure, 4);
	double		of_one = error / (double) total;
	double		population = 1.25 * of_one + 4 * of_one * of_one;
	double		row = (double) measure->score_unit;
	double		most = kind == DP_AGG_COVAR_SAMP ? 0.5 : 0.25;

	if (kind == DP_AGG_REGR_SXY)
		return (population * (double) total + 0.25 * 4 * error) / row *
			(1 + SLACK);
	if (kind == DP_AGG_COVAR_SAMP)
		population = (double) total <= row ? 1 :
			sample_error(population, 0.25, (double) total, row, error, 4);
	return within(population, share + most, 2 * most);
}
