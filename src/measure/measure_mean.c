/*
 * measure_mean.c
 *	  dp_avg: the mean of values clamped to bounds, by two sums.
 *
 * Released are A = sum(x - low) and B = sum(high - x), each with noise.  One
 * row changes A + B by exactly w = high - low, so one price pays for both
 * (doc/theory.md T43): kappa m w in L1 and sqrt(kappa) m w in L2, twice that
 * if a unit is replaced.  The mean is low + w A / (A + B), clamped, and NULL
 * if A + B <= 0, like the mean of no rows; with dp_pg.suppress, also if A + B
 * may be noise alone.  The true number of rows is never a divisor.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "dp_measure.h"

enum
{
	CELL_ROWS,
	CELL_SUM
};

static void
prepare(dp_measure *measure)
{
	const dp_contribution *c = &measure->contribution;
	dp_uint128	unit;			/* change by a unit in one group */

	dp_measure_set_bounds(measure);
	dp_measure_set_bound(measure, DP_BOUND_MEAN);
	measure->ncells = 2;
	unit = (dp_uint128) dp_measure_width(measure);
	unit = dp_measure_product(unit, (dp_uint128) c->rows);
	dp_measure_set_group_noise(measure, unit);
}

static void
load(const dp_measure *measure, const Datum *values, const bool *nulls,
	 dp_cell *cells, MemoryContext keep)
{
	dp_count_load_sum(values, nulls, &cells[CELL_ROWS], &cells[CELL_SUM]);
}

/* Add the sum of x - low of m' rows. */
static void
add(const dp_measure *measure, const dp_bound_part *part, dp_cell *cells,
	MemoryContext keep)
{
	cells[CELL_ROWS].integer += part->rows;
	cells[CELL_SUM].integer += part->numbers[0] +
		(dp_int128) part->rows * measure->grid.low;
}

static Datum
numeric_datum(dp_int128 x)
{
	return NumericGetDatum(dp_bridge_int128_to_numeric(x));
}

/*
 * low + w * above / total as numeric granules; 0 <= above <= total.  Equal
 * bounds leave one value.
 */
static Numeric
mean_granules(const dp_measure *measure, dp_int128 above, dp_int128 total)
{
	int64		low = measure->grid.low;
	Datum		mean;

	if (measure->grid.high == low)
		return dp_bridge_int128_to_numeric(low);
	mean = DirectFunctionCall2(numeric_mul, numeric_datum(above),
							   numeric_datum(dp_measure_width(measure)));
	mean = DirectFunctionCall2(numeric_div, mean, numeric_datum(total));
	mean = DirectFunctionCall2(numeric_add, mean, numeric_datum(low));
	return DatumGetNumeric(mean);
}

/*
 * dp_measure_release_mean
 *	  The noisy mean of `rows` values with this sum, in granules; NULL if their
 *	  noisy number is not positive, or cannot be told from none; and its error.
 */
Datum
dp_measure_release_mean(const dp_measure *measure, dp_int128 rows,
						dp_int128 sum, bool *isnull, double *error)
{
	dp_int128	above;
	dp_int128	below;
	dp_int128	total;
	Numeric		mean;
	int			digits;

	above = dp_measure_add_noise(measure, sum - rows * measure->grid.low);
	below = dp_measure_add_noise(measure, rows *
								 (measure->grid.low +
								  dp_measure_width(measure)) - sum);
	if (__builtin_add_overflow(above, below, &total))
		dp_bridge_check_status(DP_E_OVERFLOW, "add noise");
	if (total <= dp_measure_none(measure, 2))
	{
		*isnull = true;
		return (Datum) 0;
	}
	above = Max(Min(above, total), 0);
	*error = dp_measure_error_of_mean(measure, above, total, &measure->grid);
	mean = mean_granules(measure, above, total);
	if (measure->grid.exponent != 0)
		mean = dp_count_scale_numeric(mean, measure->grid.exponent);
	if (measure->aggregate->aggtype == FLOAT8OID)
		return DirectFunctionCall1(numeric_float8_no_overflow,
								   NumericGetDatum(mean));
	digits = Max(16, (int) ceil(-measure->grid.exponent * 0.30103) + 6);
	return DirectFunctionCall2(numeric_round, NumericGetDatum(mean),
							   Int32GetDatum(digits));
}

static Datum
release(const dp_measure *measure, const dp_cell *cells, bool *isnull,
		double *error)
{
	return dp_measure_release_mean(measure, cells[CELL_ROWS].integer,
								   cells[CELL_SUM].integer, isnull, error);
}

static const char *const forms[] = {"", "e", "lu", "lue", NULL};

const dp_measure_ops dp_measure_mean = {
	DP_AGG_AVG, "avg", forms, prepare, dp_measure_bounded_sum, load, release,
	" / rows", dp_measure_row_granules, add
};
