/*
 * released_error.c
 *	  The 95% error of a released value, which is told beside it (dp_error).
 *
 * It is of the noise alone: the value is further from what it would be without
 * noise, on the same rows as they were clamped and bounded, with probability
 * 1/20 at most.  It follows from public numbers and from the noisy ones that
 * the value is made of (doc/theory.md T131), so it is as public as the value
 * is.  Where several numbers are noisy none of them is further off than
 * noise_error() but with that probability; what follows for the value is then
 * arithmetic.
 *
 * Numbers are double precision, rounded up by more than the arithmetic errs.
 */
#include "postgres.h"

#include <math.h>

#include "dp_measure.h"

#define BETA 0.05

/* Double precision arithmetic errs by less, beta and results. */
#define SLACK 1e-12

/* None of so many noises is larger, but with probability 1/20; in granules. */
static double
noise_error(const dp_measure *measure, int noises)
{
	double		error;

	if (measure->mechanism != DP_MECHANISM_GAUSSIAN)
		return dp_measure_noise_error(measure, BETA / noises * (1 - SLACK));
	if (dp_bridge_gaussian_error(&measure->noise.variance, noises, &error))
		return error;
	/* that one is rounded to the nearest, of a law with more in its tails */
	return dp_measure_noise_error(measure, BETA / noises * (1 - SLACK)) + 1;
}

/* The value and what it stands for are both from 0 to `most`. */
static double
within(double error, double value, double most)
{
	return Min(error * (1 + SLACK), Max(value, most - value));
}

/* dp_measure_error_of_sum: of one noisy number in the argument's unit. */
double
dp_measure_error_of_sum(const dp_measure *measure)
{
	return ldexp(noise_error(measure, 1), measure->grid.exponent);
}

/*
 * dp_measure_error_of_mean
 *	  Of low + (high - low) above / total; total > 0, above from 0 to it.
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
 * How far a population's variance may be off, in squares of the bounds'
 * distance: three noises of the size `error` over a total that is 1.
 */
static double
population_error(double error)
{
	return error + 2.25 * error * error;
}

/*
 * What n / (n - 1) adds, where n is total / row, larger than 1, and of so many
 * noises that none is larger than `error`; times at most `most`.
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
 *	  Of a variance, in squares of the bounds' distance, but for what bounds of
 *	  variances leave; a row adds `row` to total > 0.
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
		return 1;				/* nothing is known of it */
	return sample_error(population, 0.25, (double) total, (double) row, error,
						3);
}

/* dp_measure_variance_within: that of the value, which is share. */
double
dp_measure_variance_within(bool sample, double share, double error)
{
	return within(error, share, sample ? 0.5 : 0.25);
}

/* dp_measure_error_of_root: of its square root. */
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
 *	  Of the number of rows times such a variance, in rows times that unit.
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
 *	  Of what dp_measure_release_covariance gives, share of the product of the
 *	  bounds' distances; for dp_regr_sxy in rows times that.
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
