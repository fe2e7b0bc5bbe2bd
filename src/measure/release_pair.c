/*
 * release_pair.c
 *	  Covariance, correlation and regression of pairs of numbers clamped to
 *	  bounds: results from the noisy sums of measure_pair.c.
 *
 * Let T be the noisy sum of the four products, with a, b, c, d for those of k
 * l, k (H - l), (G - k) l and (G - k) (H - l).  Then T / (f G H) is the number
 * of rows, G (a + b) / T the mean of k, and G H (a d - b c) / T^2 the
 * covariance; with p the noisy sum of w k (G - k), the variance of k is
 *
 *	  G^2 (a + b) (T - a - b) / T^2 - p f G H / (w T)
 *
 * (doc/theory.md T110).  Whether a variance is positive is decided exactly;
 * double precision is used only after that.
 */
#include "postgres.h"

#include <math.h>

#include "utils/builtins.h"

#include "exact.h"
#include "pair.h"

/* Any sum of noisy cells below this fits. */
#define MOST_NOISY ((dp_int128) 1 << 124)

static double
to_double(Datum exact)
{
	return DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow,
											  exact));
}

/* Draw the noisy cells; returns the sum of the first `summed` of them. */
static dp_int128
draw(const dp_measure *measure, const dp_cell *cells, int summed,
	 dp_int128 *noisy)
{
	dp_int128	total = 0;
	int			i;

	for (i = 0; i < measure->ncells; i++)
	{
		noisy[i] = dp_measure_add_noise(measure, cells[i].integer);
		if (noisy[i] >= MOST_NOISY || noisy[i] <= -MOST_NOISY)
			dp_bridge_check_status(DP_E_OVERFLOW, "add noise");
		if (i < summed)
			total += noisy[i];
	}
	return total;
}

/*
 * Is the number of rows given by `total`, less one for a sample, not positive,
 * or with dp_pg.suppress possibly noise alone?
 */
static bool
has_none(const dp_measure *measure, dp_int128 total, int noises, bool sample)
{
	dp_int128	one = dp_bridge_suppresses() && sample ?
	(dp_int128) measure->score_unit : 0;

	return total - one <= dp_measure_none(measure, noises);
}

/* dp_regr_count: rows with both numbers. */
Datum
dp_measure_release_pair_rows(const dp_measure *measure, const dp_cell *cells,
							 bool *isnull, double *error)
{
	dp_int128	noisy[DP_PAIR_CELLS];

	draw(measure, cells, 0, noisy);
	*error = dp_measure_error_of_sum(measure);
	return Int64GetDatum((int64) Max(Min(noisy[0], PG_INT64_MAX),
									 PG_INT64_MIN));
}

/* The grid of the argument that dp_regr_avgx and the like are about. */
static const dp_grid *
own_grid(const dp_measure *measure)
{
	return pair_is_of_y(measure) ? pair_grid_y(measure) :
		pair_grid_x(measure);
}

/* low + (high - low) above / total within the bounds, in the column's unit. */
static double
mean_of(const dp_grid *grid, dp_int128 above, dp_int128 total)
{
	double		share = (double) Max(Min(above, total), 0) / (double) total;

	return ldexp((double) grid->low +
				 share * (double) (grid->high - grid->low), grid->exponent);
}

/* dp_regr_avgx, dp_regr_avgy: as dp_avg. */
Datum
dp_measure_release_pair_mean(const dp_measure *measure, const dp_cell *cells,
							 bool *isnull, double *error)
{
	dp_int128	noisy[DP_PAIR_CELLS];
	dp_int128	total = draw(measure, cells, 2, noisy);

	*isnull = has_none(measure, total, 2, false);
	if (*isnull)
		return (Datum) 0;
	*error = dp_measure_error_of_mean(measure,
									  Max(Min(noisy[0], total), 0), total,
									  own_grid(measure));
	return Float8GetDatum(mean_of(own_grid(measure), noisy[0], total));
}

/*
 * dp_regr_sxx, dp_regr_syy: the variance of dp_var_pop, times the number of
 * rows.
 */
Datum
dp_measure_release_pair_squares(const dp_measure *measure,
								const dp_cell *cells, bool *isnull,
								double *error)
{
	dp_int128	noisy[DP_PAIR_CELLS];
	dp_int128	total = draw(measure, cells, 3, noisy);
	double		rows = (double) total / (double) measure->score_unit;
	double		width = (double) measure->bound.pairs.width;
	Datum		variance;

	*isnull = has_none(measure, total, 3, false);
	if (*isnull)
		return (Datum) 0;
	variance = dp_measure_variance_granules(false, measure->bound.pairs.width,
											noisy[1], noisy[2], total);
	*error = dp_measure_error_of_squares(measure, total, to_double(variance) /
										 (width * width));
	*error = ldexp(*error * width * width, 2 * own_grid(measure)->exponent);
	return Float8GetDatum(ldexp(rows * to_double(variance),
								2 * own_grid(measure)->exponent));
}

/* a d - b c, exactly: T^2 / (G H) times the covariance. */
static Datum
cross(const dp_int128 *noisy)
{
	return exact_minus(exact_times(exact_number(noisy[0]),
								   exact_number(noisy[3])),
					   exact_times(exact_number(noisy[1]),
								   exact_number(noisy[2])));
}

/* G H, in the product of the columns' units. */
static double
area(const dp_measure *measure)
{
	const dp_pair_shape *shape = &measure->bound.pairs;

	return ldexp((double) shape->width * (double) shape->second_width,
				 pair_grid_x(measure)->exponent +
				 pair_grid_y(measure)->exponent);
}

/*
 * dp_covar_pop, dp_covar_samp, dp_regr_sxy.  The covariance of numbers within
 * the bounds is at most G H / 4 in absolute value, that of a sample at most G
 * H / 2.
 */
Datum
dp_measure_release_covariance(const dp_measure *measure, const dp_cell *cells,
							  bool *isnull, double *error)
{
	dp_aggregate_kind kind = measure->ops->kind;
	bool		sample = kind == DP_AGG_COVAR_SAMP;
	dp_int128	noisy[DP_PAIR_CELLS];
	dp_int128	total = draw(measure, cells, 4, noisy);
	dp_int128	row = (dp_int128) measure->score_unit;
	double		share;

	*isnull = has_none(measure, total, 4, sample);
	if (*isnull)
		return (Datum) 0;
	share = to_double(cross(noisy)) / (double) total / (double) total;
	share = Max(Min(share, 0.25), -0.25);
	if (kind == DP_AGG_REGR_SXY)
		share *= (double) total / (double) row;
	else if (sample && total > row)
	{
		share *= (double) total / (double) (total - row);
		share = Max(Min(share, 0.5), -0.5);
	}
	*error = area(measure) *
		dp_measure_error_of_covariance(measure, total, share);
	return Float8GetDatum(share * area(measure));
}

/*
 * w T^2 times the variance of k, exactly: `above` is the noisy sum of the
 * mean, `spread` that of weight * k * (G - k).
 */
static Datum
scaled_variance(dp_int128 above, dp_int128 total, dp_int128 spread,
				int64 weight, int64 width, dp_int128 row)
{
	Datum		means = exact_times(exact_number(above),
									exact_minus(exact_number(total),
												exact_number(above)));
	Datum		spreads = exact_times(exact_number(spread),
									  exact_number(total));

	return exact_minus(exact_times(means,
								   exact_number((dp_int128) weight * width *
												width)),
					   exact_times(spreads, exact_number(row)));
}

/*
 * dp_corr, and dp_regr_r2, its square; NULL if one of the noisy variances is
 * not positive.
 */
Datum
dp_measure_release_corr(const dp_measure *measure, const dp_cell *cells,
						bool *isnull, double *error)
{
	const dp_pair_shape *shape = &measure->bound.pairs;
	dp_int128	row = (dp_int128) measure->score_unit;
	dp_int128	noisy[DP_PAIR_CELLS];
	dp_int128	total = draw(measure, cells, 4, noisy);
	Datum		x;
	Datum		y;
	double		r;

	*isnull = has_none(measure, total, 4, false);
	if (*isnull)
		return (Datum) 0;
	x = scaled_variance(noisy[0] + noisy[1], total, noisy[4], shape->weight,
						shape->width, row);
	y = scaled_variance(noisy[0] + noisy[2], total, noisy[5],
						shape->second_weight, shape->second_width, row);
	*isnull = exact_sign(x) <= 0 || exact_sign(y) <= 0;
	if (*isnull)
		return (Datum) 0;
	r = to_double(cross(noisy)) *
		(double) shape->width * (double) shape->second_width *
		sqrt((double) shape->weight) * sqrt((double) shape->second_weight) /
		(sqrt(to_double(x)) * sqrt(to_double(y)));
	r = Max(Min(r, 1.0), -1.0);
	return Float8GetDatum(measure->ops->kind == DP_AGG_REGR_R2 ? r * r : r);
}

/*
 * dp_regr_slope and dp_regr_intercept; NULL if the noisy variance of x is not
 * positive.
 */
Datum
dp_measure_release_line(const dp_measure *measure, const dp_cell *cells,
						bool *isnull, double *error)
{
	const dp_pair_shape *shape = &measure->bound.pairs;
	const dp_grid *x = pair_grid_x(measure);
	const dp_grid *y = pair_grid_y(measure);
	dp_int128	noisy[DP_PAIR_CELLS];
	dp_int128	total = draw(measure, cells, 4, noisy);
	Datum		variance;
	double		slope;

	*isnull = has_none(measure, total, 4, false);
	if (*isnull)
		return (Datum) 0;
	variance = scaled_variance(noisy[0] + noisy[1], total, noisy[4],
							   shape->weight, shape->width,
							   (dp_int128) measure->score_unit);
	*isnull = exact_sign(variance) <= 0;
	if (*isnull)
		return (Datum) 0;
	slope = ldexp(to_double(cross(noisy)) / to_double(variance) *
				  (double) shape->weight * (double) shape->width *
				  (double) shape->second_width, y->exponent - x->exponent);
	if (measure->ops->kind == DP_AGG_REGR_SLOPE)
		return Float8GetDatum(slope);
	return Float8GetDatum(mean_of(y, noisy[0] + noisy[2], total) -
						  slope * mean_of(x, noisy[0] + noisy[1], total));
}
