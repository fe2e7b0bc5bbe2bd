/*
 * measure_sum.c
 *	  dp_sum: the sum of values clamped to bounds.
 *
 * Sensitivity in granules, B = max(|low|, |high|) (doc/theory.md T42): the
 * unit's total of each of at most kappa keys is clamped, so sums move by
 * kappa B in L1 and sqrt(kappa) B in L2.  Replacing a unit may move it to
 * other keys, so it costs 2 kappa B in general, and in L2 sqrt(kappa) times
 * the larger of the width and sqrt(2) B; without group keys its one total
 * moves within [min(low, 0), max(high, 0)] (a row may also leave through WHERE
 * or NULL), whose width is the sensitivity.
 */
#include "postgres.h"

#include "dp_measure.h"

static dp_uint128
magnitude(int64 x)
{
	return x < 0 ? (dp_uint128) -(dp_int128) x : (dp_uint128) x;
}

static void
prepare(dp_measure *measure)
{
	const dp_contribution *c = &measure->contribution;
	dp_uint128	width;			/* of the interval with low, 0 and high */
	dp_uint128	most;
	dp_uint128	l1;
	dp_uint128	l2;				/* squared */

	/* The inner aggregate clamps rows, not yet totals of a unit. */
	if (c->rows != 1)
		elog(ERROR, "sums over many rows of a unit are not supported");
	dp_measure_set_bounds(measure);
	most = Max(magnitude(measure->grid.low), magnitude(measure->grid.high));
	width = magnitude(Max(measure->grid.high, 0)) +
		magnitude(Min(measure->grid.low, 0));
	if (c->replace && !c->grouped)
	{
		l1 = width;
		l2 = dp_measure_product(width, width);
	}
	else
	{
		l1 = dp_measure_product(most, (dp_uint128) c->kappa);
		l2 = dp_measure_product(most, most);
		if (c->replace)
		{
			l1 = dp_measure_product(l1, 2);
			l2 = Max(dp_measure_product(width, width),
					 dp_measure_product(l2, 2));
		}
		l2 = dp_measure_product(l2, (dp_uint128) c->kappa);
	}
	dp_measure_set_noise(measure, l1, l2, !c->grouped);
}

static void
load(const dp_measure *measure, const Datum *values, const bool *nulls,
	 dp_cell *cells, MemoryContext keep)
{
	dp_cell		rows = {0};

	dp_count_load_sum(values, nulls, &rows, &cells[0]);
}

static Datum
release(const dp_measure *measure, const dp_cell *cells)
{
	return dp_measure_from_granules(measure,
									dp_measure_add_noise(measure,
														 cells[0].integer),
									measure->aggregate->aggtype);
}

static const char *const forms[] = {"", "e", "lu", "lue", NULL};

const dp_measure_ops dp_measure_sum = {
	DP_AGG_SUM, "sum", forms, prepare, dp_measure_bounded_sum, load, release
};
