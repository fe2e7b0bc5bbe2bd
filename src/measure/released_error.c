/*
 * released_error.c
 *	  The 95% error of a released value, returned by dp_error.
 *
 * It is the error of the noise only: the value differs by more than this from
 * the value without noise, on the same rows as clamped and bounded, with
 * probability at most 1/20.  It follows from public numbers and from the noisy
 * ones from which the value is computed (doc/theory.md T131), so it is as
 * public as the value.  If several numbers are noisy, any of them is off by
 * more than noise_error() with at most that probability; the value's error
 * then follows by arithmetic.
 *
 * Numbers are double precision, rounded up by more than the error of the
 * arithmetic.
 */
#include "postgres.h"

#include <math.h>

#include "dp_measure.h"

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
noise_error(const dp_measure *measure, int noises)
{
	double		error;

	if (measure->mechanism != DP_MECHANISM_GAUSSIAN)
		return dp_measure_noise_error(measure, BETA / noises * (1 - SLACK));
	if (dp_bridge_gaussian_error(&measure->noise.variance, noises, &error))
		return error;
	/* that rounds to the nearest integer, for a law with heavier tails */
	return dp_measure_noise_error(measure, BETA / noises * (1 - SLACK)) + 1;
}

/* The error, if the value and the true value are both from 0 to `most`. */
static double
within(double error, double value, double most)
{
	return Min(error * (1 + SLACK), Max(value, most - value));
}

/*
 * dp_measure_error_of_sum: the error of one noisy number, in the argument's
 * unit.
 */
double
dp_measure_error_of_sum(const dp_measure *measure)
{
	return ldexp(noise_error(measure, 1), measure->grid.exponent);
}

/*
 * dp_measure_error_of_mean
 *	  The error of low + (high - low) above / total, for total > 0 and above
 *	  from 0 to total.
 */
double
dp_measure_error_of_mean(const dp_measure *measure, dp_int128 above,
						 dp_int128 total, const dp_grid *grid)
{
	double		error = noise_error(measure, 2) / (double) total;
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
 * dp_measure_error_of_variance
 *	  The error of a variance, in squares of the bounds' distance, before the
 *	  limits of variances are applied; a row adds `row` to total > 0.
 */
double
dp_measure_error_of_variance(const dp_measure *measure, bool sample,
							 dp_int128 row, dp_int128 total)
{
	double		error = noise_error(measure, 3);
	double		population = population_error(error / (double) total);

	if (!sample)
		return population;
	if (total <= row)
		return 1;				/* no information */
	return sample_error(population, 0.25, (double) total, (double) row, error,
						3);
}

/*
 * dp_measure_variance_within: the error after applying the limits, for the
 * value `share`.
 */
double
dp_measure_variance_within(bool sample, double share, double error)
{
	return within(error, share, sample ? 0.5 : 0.25);
}

/* dp_measure_error_of_root: the error of its square root. */
double
dp_measure_error_of_root(bool sample, double share, double error)
{
	double		root = sqrt(share);
	double		off = share > error ?
	error / (root + sqrt(share - error)) :
	Max(root, error / (root + sqrt(share + error)));

	return within(off, root, sqrt(sample ? 0.5 : 0.25));
}

/*
 * dp_measure_error_of_squares
 *	  The error of the number of rows times such a variance, in rows times that
 *	  unit.
 */
double
dp_measure_error_of_squares(const dp_measure *measure, dp_int128 total,
							double share)
{
	double		error = noise_error(measure, 3);
	double		population = population_error(error / (double) total);
	double		most = Min(0.25, share + population);

	return (population * (double) total + most * 3 * error) /
		(double) measure->score_unit * (1 + SLACK);
}

/*
 * dp_measure_error_of_covariance
 *	  The error of the result of dp_measure_release_covariance, in products of
 *	  the bounds' distances, where it is `share`; for dp_regr_sxy in rows times
 *	  that.
 */
double
dp_measure_error_of_covariance(const dp_measure *measure, dp_int128 total,
							   double share)
{
	dp_aggregate_kind kind = measure->ops->kind;
	double		error = noise_error(measure, 4);
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
