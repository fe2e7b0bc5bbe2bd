/*
 * measure_sum.c
 *	  dp_sum: the sum of values clamped to bounds.
 *
 * Sensitivity in granules (doc/theory.md T42): rows are clamped, and the
 * unit's total of each of at most kappa keys is kept within m min(low, 0) and
 * m max(high, 0).  With B = m max(|low|, |high|), sums change by kappa B in L1
 * and sqrt(kappa) B in L2.  A replaced unit may have other keys, so this costs
 * 2 kappa B in general, and in L2 sqrt(kappa) times the larger of that
 * interval's width and sqrt(2) B; without group keys its one total stays
 * within the interval (a row may also be excluded by WHERE or NULL), whose
 * width is the sensitivity.
 */
#include "postgres.h"

#include "dp_measure.h"

static dp_uint128
magnitude(int64 x)
{
	return x < 0 ? (dp_uint128) -(dp_int128) x : (dp_uint128) x;
}

/* In L2, squared: how much one unit changes the sums of all groups. */
static dp_uint128
squared_sensitivity(const dp_contribution *c, dp_uint128 most,
					dp_uint128 width)
{
	dp_uint128	square = dp_measure_product(most, most);

	if (c->replace && !c->grouped)
		return dp_measure_product(width, width);
	if (c->replace)
		square = Max(dp_measure_product(width, width),
					 dp_measure_product(square, 2));
	return dp_measure_product(square, (dp_uint128) c->kappa);
}

static void
prepare(dp_measure *measure)
{
	const dp_contribution *c = &measure->contribution;
	dp_uint128	width;			/* of the interval that contains low, 0 and
								 * high */
	dp_uint128	most;
	dp_uint128	l1;
	dp_uint128	l2 = 0;			/* squared; may not fit into 128 bits */

	dp_measure_set_bounds(measure);
	dp_measure_set_bound(measure, DP_BOUND_SUM);
	most = Max(magnitude(measure->grid.low), magnitude(measure->grid.high));
	most = Max(most, 1);
	width = magnitude(Max(measure->grid.high, 0)) +
		magnitude(Min(measure->grid.low, 0));
	width = Max(width, 1);
	most = dp_measure_product(most, (dp_uint128) c->rows);
	width = dp_measure_product(width, (dp_uint128) c->rows);
	if (c->replace && !c->grouped)
		l1 = width;
	else
		l1 = dp_measure_product(most, (dp_uint128) c->kappa *
								(c->replace ? 2 : 1));
	if (measure->gaussian)
		l2 = squared_sensitivity(c, most, width);
	dp_measure_set_noise(measure, l1, l2, !c->grouped);
}

static void
load(const dp_measure *measure, const Datum *values, const bool *nulls,
	 dp_cell *cells, MemoryContext keep)
{
	dp_cell		rows = {0};

	dp_count_load_sum(values, nulls, &rows, &cells[0]);
}

static void
add(const dp_measure *measure, const dp_bound_part *part, dp_cell *cells,
	MemoryContext keep)
{
	cells[0].integer += part->numbers[0];
}

static Datum
release(const dp_measure *measure, const dp_cell *cells, bool *isnull,
		double *error)
{
	*error = dp_measure_error_of_sum(measure);
	return dp_measure_from_granules(measure,
									dp_measure_add_noise(measure,
														 cells[0].integer),
									measure->aggregate->aggtype);
}

static const char *const forms[] = {"", "e", "lu", "lue", NULL};

const dp_measure_ops dp_measure_sum = {
	DP_AGG_SUM, "sum", forms, prepare, dp_measure_bounded_sum, load, release,
	NULL, dp_measure_row_granules, add
};
