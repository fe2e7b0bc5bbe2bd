/*
 * measure_sum.c
 *	  dp_sum: the sum of values clamped to bounds.
 *
 * Sensitivity in granules, B = max(|low|, |high|) (doc/theory.md T42): the
 * unit's total of each of at most kappa keys is clamped, so sums move by
 * kappa B in L1.  Replacing a unit may move it to other keys, so it costs
 * 2 kappa B in general; without group keys its one total moves within
 * [min(low, 0), max(high, 0)] (a row may also leave through WHERE or NULL),
 * whose width is the sensitivity.
 */
#include "postgres.h"

#include "measure.h"

static dp_uint128
magnitude(int64 x)
{
	return x < 0 ? (dp_uint128) -(dp_int128) x : (dp_uint128) x;
}

static void
prepare(dp_measure *measure)
{
	const dp_contribution *c = &measure->contribution;
	dp_uint128	low;
	dp_uint128	high;
	dp_uint128	sensitivity;

	/* The inner aggregate clamps rows, not yet totals of a unit. */
	if (c->rows != 1)
		elog(ERROR, "sums over many rows of a unit are not supported");
	dp_measure_set_bounds(measure);
	low = magnitude(measure->grid.low);
	high = magnitude(measure->grid.high);
	if (c->replace && !c->grouped)
		sensitivity = (measure->grid.high > 0 ? high : 0) +
			(measure->grid.low < 0 ? low : 0);
	else
	{
		sensitivity = dp_measure_times(Max(low, high), c->kappa);
		if (c->replace)
			sensitivity = dp_measure_times(sensitivity, 2);
	}
	dp_measure_set_noise(measure, sensitivity);
}

static void
load(const dp_measure *measure, const Datum *values, const bool *nulls,
	 dp_int128 *cells)
{
	dp_int128	rows = 0;

	dp_measure_load_sum(values, nulls, &rows, &cells[0]);
}

static Datum
release(const dp_measure *measure, const dp_int128 *cells)
{
	return dp_measure_from_granules(measure,
									dp_measure_add_noise(measure, cells[0]),
									measure->aggregate->aggtype);
}

const dp_measure_ops dp_measure_sum = {
	DP_AGG_SUM, "sum", 1, prepare, dp_measure_bounded_sum, load, release
};
