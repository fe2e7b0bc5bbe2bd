/*
 * measure_variance.c
 *	  dp_variance and dp_stddev, dp_var_pop and dp_stddev_pop: the variance of
 *	  a sample, or of a population, of values clamped to bounds, by three sums.
 *
 * With k = x - low in granules and G = high - low, released are the sums of (G
 * - k)^2, of 2 k (G - k) and of k^2, each with noise.  A row changes them by
 * exactly G^2 in L1 together, so one price pays for all three (doc/theory.md
 * T51): kappa m G^2 in L1 and sqrt(kappa) m G^2 in L2, twice that if a unit is
 * replaced.  Their total is n G^2; number of rows, mean and second moment
 * follow, and the variance from those.  The true number of rows is never a
 * divisor.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "port/pg_bitutils.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "../bridge/dp_numeric.h"
#include "exact.h"
#include "pair.h"

/* Width G of the grid: G^2 times 2^64 rows fits 128 bits. */
#define MAX_WIDTH ((INT64CONST(1) << 31) - 1)
/* With Gaussian noise, G^4 times a variance must fit, too. */
#define MAX_WIDTH_GAUSSIAN ((INT64CONST(1) << 24) - 1)

enum
{
	CELL_BELOW,					/* sum of (G - k)^2 */
	CELL_MIDDLE,				/* of 2 k (G - k) */
	CELL_SQUARES,				/* of k^2 */
	CELLS
};

/*
 * If the result is double precision, the square of the width must be such a
 * number; checked before anything is charged.
 */
static void
check_result(const dp_measure *measure)
{
	uint64		width = (uint64) dp_measure_width(measure);
	int			bits = pg_leftmost_one_pos64(width) + 1;

	if ((measure->ops->kind == DP_AGG_VARIANCE ||
		 measure->ops->kind == DP_AGG_VAR_POP) &&
		measure->aggregate->aggtype == FLOAT8OID &&
		2 * (measure->grid.exponent + bits) >= DBL_MAX_EXP)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("bounds of dp_%s are too far apart",
						measure->ops->name),
				 errdetail("The square of their distance does not fit in "
						   "double precision."),
				 errhint("Use narrower bounds, or cast the argument to "
						 "numeric.")));
}

static void
prepare(dp_measure *measure)
{
	const dp_contribution *c = &measure->contribution;
	dp_uint128	unit;			/* change by a unit in one group */

	dp_measure_set_bounds(measure);
	dp_measure_coarsen(measure, measure->gaussian ? MAX_WIDTH_GAUSSIAN :
					   MAX_WIDTH);
	dp_measure_set_bound(measure, DP_BOUND_SQUARES);
	measure->ncells = CELLS;
	measure->power = 2;
	check_result(measure);
	unit = (dp_uint128) dp_measure_width(measure);
	unit = dp_measure_product(unit, unit);
	unit = dp_measure_product(unit, (dp_uint128) c->rows);
	dp_measure_set_group_noise(measure, unit);
}

static void
load(const dp_measure *measure, const Datum *values, const bool *nulls,
	 dp_cell *cells, MemoryContext keep)
{
	dp_int128	width = dp_measure_width(measure);
	dp_cell		rows = {0};
	dp_cell		sum = {0};
	dp_cell		squares = {0};
	dp_int128	middle;

	dp_count_load_squares(values, nulls, &rows, &sum, &squares);
	middle = 2 * (width * sum.integer - squares.integer);
	cells[CELL_BELOW].integer += rows.integer * width * width - middle -
		squares.integer;
	cells[CELL_MIDDLE].integer += middle;
	cells[CELL_SQUARES].integer += squares.integer;
}

static void
add(const dp_measure *measure, const dp_bound_part *part, dp_cell *cells,
	MemoryContext keep)
{
	cells[CELL_BELOW].integer += part->numbers[0];
	cells[CELL_MIDDLE].integer += part->numbers[1];
	cells[CELL_SQUARES].integer += part->numbers[2];
}

/*
 * dp_measure_variance_granules
 *	  The variance in granules squared, from such released sums, or from a
 *	  common multiple of them.
 *
 * The population variance over G^2 is v / (4 t^2), v = 4 t q - (b + 2 q)^2,
 * where t is the total, b the middle sum and q the sum of squares; the
 * sample's is n/(n - 1) times that, n = t / G^2, and no sample of two or more
 * values has more than G^2/2: clamped to [0, G^2/2], that of a population to
 * [0, G^2/4].  Requires t > 0.
 */
Datum
dp_measure_variance_granules(bool sample, dp_int128 width, dp_int128 middle,
							 dp_int128 squares, dp_int128 total)
{
	Datum		square = exact_number(width * width);
	Datum		t = exact_number(total);
	Datum		twice_mean;
	Datum		v;
	Datum		rest;
	Datum		most;

	twice_mean = exact_plus(exact_number(middle),
							exact_times(exact_number(2),
										exact_number(squares)));
	v = exact_minus(exact_times(exact_times(exact_number(4), t),
								exact_number(squares)),
					exact_times(twice_mean, twice_mean));
	if (exact_sign(v) < 0)
		v = exact_number(0);
	rest = exact_minus(t, square);
	if (!sample || exact_sign(rest) <= 0)
		rest = t;				/* n <= 1: no correction */
	v = DirectFunctionCall2(numeric_div, exact_times(v, square),
							exact_times(exact_times(exact_number(4), t),
										rest));
	most = DirectFunctionCall2(numeric_div, square,
							   exact_number(sample ? 2 : 4));
	return DirectFunctionCall2(numeric_smaller, v, most);
}

static bool
is_sample(const dp_measure *measure)
{
	return measure->ops->kind == DP_AGG_VARIANCE ||
		measure->ops->kind == DP_AGG_STDDEV;
}

/*
 * The released variance, in granules squared; NULL if the released number of
 * rows is not positive, like the variance of no rows; with dp_pg.suppress,
 * also if it, or for a sample one less, may be noise alone.  *share is the
 * same divided by the square of the width, and *error its error.
 */
static Datum
draw_variance(const dp_measure *measure, const dp_cell *cells, bool *isnull,
			  double *share, double *error)
{
	dp_int128	width = dp_measure_width(measure);
	dp_int128	below = cells[CELL_BELOW].integer;
	dp_int128	middle = cells[CELL_MIDDLE].integer;
	dp_int128	squares = cells[CELL_SQUARES].integer;
	dp_int128	total;
	Datum		square;

	below = dp_measure_add_noise(measure, below);
	middle = dp_measure_add_noise(measure, middle);
	squares = dp_measure_add_noise(measure, squares);
	if (__builtin_add_overflow(below, middle, &total) ||
		__builtin_add_overflow(total, squares, &total))
		dp_bridge_check_status(DP_E_OVERFLOW, "add noise");
	if (total - (dp_bridge_suppresses() && is_sample(measure) ?
				 width * width : 0) <= dp_measure_none(measure, CELLS))
	{
		*isnull = true;
		return (Datum) 0;
	}
	square = dp_measure_variance_granules(is_sample(measure), width, middle,
										  squares, total);
	*share = dp_numeric_to_double(DatumGetNumeric(square)) /
		((double) width * (double) width);
	*error = dp_measure_error_of_variance(measure, is_sample(measure),
										  width * width, total);
	return square;
}

static Datum
as_result(const dp_measure *measure, Datum value, int digits)
{
	if (measure->aggregate->aggtype == FLOAT8OID)
		return DirectFunctionCall1(numeric_float8_no_overflow, value);
	return DirectFunctionCall2(numeric_round, value, Int32GetDatum(digits));
}

/* Digits after the decimal point that a granule justifies, and some more. */
static int
result_digits(const dp_measure *measure)
{
	return Max(16, -measure->grid.exponent * 31 / 100 + 6);
}

/* A share of a power of the width, in the argument's unit. */
static double
in_units(const dp_measure *measure, int power, double share)
{
	double		width = (double) dp_measure_width(measure);

	return ldexp(power == 2 ? share * width * width : share * width,
				 power * measure->grid.exponent);
}

static Datum
release_variance(const dp_measure *measure, const dp_cell *cells, bool *isnull,
				 double *error)
{
	double		share;
	Datum		square = draw_variance(measure, cells, isnull, &share, error);
	Numeric		variance;

	if (*isnull)
		return square;
	*error = in_units(measure, 2,
					  dp_measure_variance_within(is_sample(measure), share,
												 *error));
	variance = dp_count_scale_numeric(DatumGetNumeric(square),
									  2 * measure->grid.exponent);
	return as_result(measure, NumericGetDatum(variance),
					 2 * result_digits(measure) - 16);
}

static Datum
release_stddev(const dp_measure *measure, const dp_cell *cells, bool *isnull,
			   double *error)
{
	double		share;
	Datum		square = draw_variance(measure, cells, isnull, &share, error);
	Numeric		deviation;

	if (*isnull)
		return square;
	*error = in_units(measure, 1,
					  dp_measure_error_of_root(is_sample(measure), share,
											   *error));
	deviation = DatumGetNumeric(DirectFunctionCall1(numeric_sqrt, square));
	deviation = dp_count_scale_numeric(deviation, measure->grid.exponent);
	return as_result(measure, NumericGetDatum(deviation),
					 result_digits(measure));
}

static List *
inner(const dp_measure *measure)
{
	return dp_count_bounded_squares(measure->aggregate,
									measure->argument_type, &measure->grid);
}

static const char *const forms[] = {"", "e", "lu", "lue", NULL};

const dp_measure_ops dp_measure_variance = {
	DP_AGG_VARIANCE, "variance", forms, prepare, inner, load,
	release_variance, " / rows", dp_measure_row_granules, add
};

const dp_measure_ops dp_measure_stddev = {
	DP_AGG_STDDEV, "stddev", forms, prepare, inner, load,
	release_stddev, " / (2 rows stddev)", dp_measure_row_granules, add
};

const dp_measure_ops dp_measure_var_pop = {
	DP_AGG_VAR_POP, "var_pop", forms, prepare, inner, load,
	release_variance, " / rows", dp_measure_row_granules, add
};

const dp_measure_ops dp_measure_stddev_pop = {
	DP_AGG_STDDEV_POP, "stddev_pop", forms, prepare, inner, load,
	release_stddev, " / (2 rows stddev)", dp_measure_row_granules, add
};
