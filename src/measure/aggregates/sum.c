/*
 * sum.c
 *	  Aggregates of sums: dp_sum, dp_avg, dp_variance and its kin, and those of
 *	  pairs of numbers.
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

#include "../../math/numbers/dp_numbers.h"
#include "../../math/noise/dp_noise.h"
#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../exact/dp_exact.h"
#include "../units/dp_units.h"
#include "dp_aggregates.h"
#include "aggregates_internal.h"

/*
 * The grids of the two arguments: of x, which comes second in the call, and of
 * y.  The grid of an unused argument has one point.
 */
static inline const dp_grid *
pair_grid_x(const dp_measure *measure)
{
	return &measure->second.grid;
}

static inline const dp_grid *
pair_grid_y(const dp_measure *measure)
{
	return &measure->grid;
}

/* Does a measurement of only one argument use y? */
static inline bool
pair_is_of_y(const dp_measure *measure)
{
	return measure->ops->kind == DP_AGG_REGR_AVGY ||
		measure->ops->kind == DP_AGG_REGR_SYY;
}

/* ---- exact arithmetic on numeric ---- */

static inline Datum
exact_number(dp_int128 x)
{
	return NumericGetDatum(dp_base_int128_to_numeric(x));
}

static inline Datum
exact_times(Datum a, Datum b)
{
	return DirectFunctionCall2(numeric_mul, a, b);
}

static inline Datum
exact_plus(Datum a, Datum b)
{
	return DirectFunctionCall2(numeric_add, a, b);
}

static inline Datum
exact_minus(Datum a, Datum b)
{
	return DirectFunctionCall2(numeric_sub, a, b);
}

static inline int
exact_sign(Datum a)
{
	return DatumGetInt32(DirectFunctionCall2(numeric_cmp, a, exact_number(0)));
}

/* ----------------
 *		dp_sum: the sum of values clamped to bounds.
 *
 * Sensitivity in granules (doc/theory.md T42, T160): rows are clamped, so with
 * B = max(|low|, |high|) sums change by S B in L1 and sqrt(N) B in L2, N as
 * dp_aggregates_unit_squares says.  A replaced unit may have other keys, so
 * this costs 2 S B in general, and in L2 sqrt(2 N B w), where w is the width
 * of the interval that contains low, 0 and high; if S is a multiple of m, only
 * sqrt(N) times the larger of w and sqrt(2) B.  Without group keys the one
 * total of its m rows stays within m times that interval (a row may also be
 * excluded by WHERE or NULL): m w.
 * ----------------
 */

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
	dp_uint128	square = dp_aggregates_product(most, most);
	bool		filled = dp_aggregates_unit_rows(c) % c->rows == 0;

	if (c->replace && !c->grouped)
		square = dp_aggregates_product(width, width);
	else if (c->replace && filled)
		square = Max(dp_aggregates_product(width, width),
					 dp_aggregates_product(square, 2));
	else if (c->replace)
		square = dp_aggregates_product(dp_aggregates_product(most, width), 2);
	return dp_aggregates_product(square, dp_aggregates_unit_squares(c));
}

static void
sum_prepare(dp_measure *measure)
{
	const dp_contribution *c = &measure->contribution;
	dp_uint128	width;			/* of the interval that contains low, 0 and
								 * high */
	dp_uint128	most;
	dp_uint128	l1;
	dp_uint128	l2 = 0;			/* squared; may not fit into 128 bits */

	dp_aggregates_set_bounds(measure);
	most = Max(magnitude(measure->grid.low), magnitude(measure->grid.high));
	dp_aggregates_refine(measure, DP_UNITS_SUM, most);
	most = Max(most << measure->bound.fine, 1);
	width = magnitude(Max(measure->grid.high, 0)) +
		magnitude(Min(measure->grid.low, 0));
	width = Max(width, 1);
	l1 = dp_aggregates_product(c->replace && !c->grouped ? width : most,
							   dp_aggregates_unit_rows(c));
	if (c->replace && c->grouped)
		l1 = dp_aggregates_product(l1, 2);
	if (measure->gaussian)
		l2 = squared_sensitivity(c, most, width);
	dp_aggregates_set_noise(measure, l1, l2, !c->grouped);
}

static void
sum_load(const dp_measure *measure, const Datum *values, const bool *nulls,
		 dp_cell *cells, MemoryContext keep)
{
	dp_cell		rows = {0};

	dp_exact_load_sum(values, nulls, &rows, &cells[0]);
}

static void
sum_add(const dp_measure *measure, const dp_units_part *part, dp_cell *cells,
		MemoryContext keep)
{
	cells[0].integer += part->numbers[0];
}

static Datum
sum_release(const dp_measure *measure, const dp_cell *cells, bool *isnull,
			double *error)
{
	*error = dp_aggregates_error_of_sum(measure);
	return dp_aggregates_from_granules(measure,
									   dp_aggregates_add_noise(measure,
														   cells[0].integer),
									   measure->aggregate->aggtype);
}

static const char *const sum_forms[] = {"", "e", "lu", "lue", NULL};

const dp_measure_ops dp_aggregates_sum = {
	DP_AGG_SUM, "sum", sum_forms, sum_prepare, dp_aggregates_bounded_sum,
	sum_load, sum_release, NULL, dp_aggregates_row_granules, sum_add
};

/* ----------------
 *		dp_avg: the mean of values clamped to bounds, by two sums.
 *
 * Released are A = sum(x - low) and B = sum(high - x), each with noise.  One
 * row changes A + B by exactly w = high - low, so one price pays for both
 * (doc/theory.md T43, T160): S w in L1 and sqrt(N) w in L2, twice and sqrt(2)
 * times that if a unit is replaced.  The mean is low + w A / (A + B), clamped,
 * and NULL if A + B <= 0, like the mean of no rows; with dp_pg.suppress, also
 * if A + B may be noise alone.  The true number of rows is never a divisor.
 * ----------------
 */

enum
{
	CELL_ABOVE,					/* A */
	CELL_TOTAL					/* A + B */
};

static void
mean_prepare(dp_measure *measure)
{
	dp_aggregates_set_bounds(measure);
	dp_aggregates_refine(measure, DP_UNITS_MEAN,
						 (dp_uint128) ((dp_int128) measure->grid.high -
									   measure->grid.low));
	measure->ncells = 2;
	dp_aggregates_set_group_noise(measure,
								  (dp_uint128) dp_aggregates_width(measure),
								  true);
}

static void
mean_load(const dp_measure *measure, const Datum *values, const bool *nulls,
		  dp_cell *cells, MemoryContext keep)
{
	dp_cell		rows = {0};
	dp_cell		sum = {0};

	dp_exact_load_sum(values, nulls, &rows, &sum);
	cells[CELL_ABOVE].integer += sum.integer -
		rows.integer * measure->grid.low;
	cells[CELL_TOTAL].integer += rows.integer * dp_aggregates_width(measure);
}

static void
mean_add(const dp_measure *measure, const dp_units_part *part, dp_cell *cells,
		 MemoryContext keep)
{
	cells[CELL_ABOVE].integer += part->numbers[0];
	cells[CELL_TOTAL].integer += part->numbers[1];
}

static Datum
numeric_datum(dp_int128 x)
{
	return NumericGetDatum(dp_base_int128_to_numeric(x));
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
		return dp_base_int128_to_numeric(low);
	mean = DirectFunctionCall2(numeric_mul, numeric_datum(above),
							   numeric_datum(dp_aggregates_width(measure)));
	mean = DirectFunctionCall2(numeric_div, mean, numeric_datum(total));
	mean = DirectFunctionCall2(numeric_add, mean, numeric_datum(low));
	return DatumGetNumeric(mean);
}

/*
 * dp_aggregates_release_mean
 *	  The noisy mean of values with these A and A + B; NULL if their noisy
 *	  number is not positive, or cannot be told from none; and its error.
 */
Datum
dp_aggregates_release_mean(const dp_measure *measure, dp_int128 above,
						   dp_int128 total, bool *isnull, double *error)
{
	dp_int128	below = dp_aggregates_add_noise(measure, total - above);
	Numeric		mean;
	int			digits;

	above = dp_aggregates_add_noise(measure, above);
	if (__builtin_add_overflow(above, below, &total))
		dp_base_check_status(DP_E_OVERFLOW, "add noise");
	if (total <= dp_aggregates_none(measure, 2))
	{
		*isnull = true;
		return (Datum) 0;
	}
	above = Max(Min(above, total), 0);
	*error = dp_aggregates_error_of_mean(measure, above, total,
										 &measure->grid);
	mean = mean_granules(measure, above, total);
	if (measure->grid.exponent != 0)
		mean = dp_exact_scale_numeric(mean, measure->grid.exponent);
	if (measure->aggregate->aggtype == FLOAT8OID)
		return DirectFunctionCall1(numeric_float8_no_overflow,
								   NumericGetDatum(mean));
	digits = Max(16, (int) ceil(-measure->grid.exponent * 0.30103) + 6);
	return DirectFunctionCall2(numeric_round, NumericGetDatum(mean),
							   Int32GetDatum(digits));
}

static Datum
mean_release(const dp_measure *measure, const dp_cell *cells, bool *isnull,
			 double *error)
{
	return dp_aggregates_release_mean(measure, cells[CELL_ABOVE].integer,
									  cells[CELL_TOTAL].integer, isnull,
									  error);
}

static const char *const mean_forms[] = {"", "e", "lu", "lue", NULL};

const dp_measure_ops dp_aggregates_mean = {
	DP_AGG_AVG, "avg", mean_forms, mean_prepare, dp_aggregates_bounded_sum,
	mean_load, mean_release, " / rows", dp_aggregates_row_granules, mean_add
};

/* ----------------
 *		dp_variance and dp_stddev, dp_var_pop and dp_stddev_pop: the variance
 *		of a sample, or of a population, of values clamped to bounds, by three
 *		sums.
 *
 * With k = x - low in granules and G = high - low, released are the sums of (G
 * - k)^2, of 2 k (G - k) and of k^2, each with noise.  A row changes them by
 * exactly G^2 in L1 together, so one price pays for all three (doc/theory.md
 * T51, T160): S G^2 in L1 and sqrt(N) G^2 in L2, twice and sqrt(2) times that
 * if a unit is replaced.  Their total is n G^2; number of rows, mean and
 * second moment follow, and the variance from those.  The true number of rows
 * is never a divisor.
 * ----------------
 */

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
sum_check_result(const dp_measure *measure)
{
	uint64		width = (uint64) dp_aggregates_width(measure);
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
variance_prepare(dp_measure *measure)
{
	dp_uint128	row;

	dp_aggregates_set_bounds(measure);
	dp_aggregates_coarsen(measure, measure->gaussian ? MAX_WIDTH_GAUSSIAN :
						  MAX_WIDTH);
	measure->power = 2;
	row = (dp_uint128) (measure->grid.high - measure->grid.low);
	dp_aggregates_refine(measure, DP_UNITS_SQUARES, row * row);
	measure->ncells = CELLS;
	sum_check_result(measure);
	row = (dp_uint128) dp_aggregates_width(measure);
	dp_aggregates_set_group_noise(measure, dp_aggregates_product(row, row),
								  true);
}

static void
variance_load(const dp_measure *measure, const Datum *values,
			  const bool *nulls, dp_cell *cells, MemoryContext keep)
{
	dp_int128	width = dp_aggregates_width(measure);
	dp_cell		rows = {0};
	dp_cell		sum = {0};
	dp_cell		squares = {0};
	dp_int128	middle;

	dp_exact_load_squares(values, nulls, &rows, &sum, &squares);
	middle = 2 * (width * sum.integer - squares.integer);
	cells[CELL_BELOW].integer += rows.integer * width * width - middle -
		squares.integer;
	cells[CELL_MIDDLE].integer += middle;
	cells[CELL_SQUARES].integer += squares.integer;
}

static void
variance_add(const dp_measure *measure, const dp_units_part *part,
			 dp_cell *cells, MemoryContext keep)
{
	cells[CELL_BELOW].integer += part->numbers[0];
	cells[CELL_MIDDLE].integer += part->numbers[1];
	cells[CELL_SQUARES].integer += part->numbers[2];
}

/*
 * variance_granules
 *	  The variance in granules squared, from such released sums, or from a
 *	  common multiple of them.
 *
 * The population variance over G^2 is v / (4 t^2), v = 4 t q - (b + 2 q)^2,
 * where t is the total, b the middle sum and q the sum of squares; the
 * sample's is n/(n - 1) times that, n = t / G^2, and no sample of two or more
 * values has more than G^2/2: clamped to [0, G^2/2], that of a population to
 * [0, G^2/4].  Requires t > 0.
 */
static Datum
variance_granules(bool sample, dp_int128 width, dp_int128 middle,
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
	dp_int128	width = dp_aggregates_width(measure);
	dp_int128	below = cells[CELL_BELOW].integer;
	dp_int128	middle = cells[CELL_MIDDLE].integer;
	dp_int128	squares = cells[CELL_SQUARES].integer;
	dp_int128	total;
	Datum		square;

	below = dp_aggregates_add_noise(measure, below);
	middle = dp_aggregates_add_noise(measure, middle);
	squares = dp_aggregates_add_noise(measure, squares);
	if (__builtin_add_overflow(below, middle, &total) ||
		__builtin_add_overflow(total, squares, &total))
		dp_base_check_status(DP_E_OVERFLOW, "add noise");
	if (total - (dp_base_suppresses() && is_sample(measure) ?
				 width * width : 0) <= dp_aggregates_none(measure, CELLS))
	{
		*isnull = true;
		return (Datum) 0;
	}
	square = variance_granules(is_sample(measure), width, middle,
							   squares, total);
	*share = dp_numeric_to_double(DatumGetNumeric(square)) /
		((double) width * (double) width);
	*error = dp_aggregates_error_of_variance(measure, is_sample(measure),
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
sum_in_units(const dp_measure *measure, int power, double share)
{
	double		width = (double) dp_aggregates_width(measure);

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
	*error = sum_in_units(measure, 2,
						  dp_aggregates_variance_within(is_sample(measure),
														share, *error));
	variance = dp_exact_scale_numeric(DatumGetNumeric(square),
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
	*error = sum_in_units(measure, 1,
						  dp_aggregates_error_of_root(is_sample(measure),
													  share, *error));
	deviation = DatumGetNumeric(DirectFunctionCall1(numeric_sqrt, square));
	deviation = dp_exact_scale_numeric(deviation, measure->grid.exponent);
	return as_result(measure, NumericGetDatum(deviation),
					 result_digits(measure));
}

static List *
variance_inner(const dp_measure *measure)
{
	return dp_exact_bounded_squares(measure->aggregate,
									measure->argument_type, &measure->grid);
}

static const char *const variance_forms[] = {"", "e", "lu", "lue", NULL};

const dp_measure_ops dp_aggregates_variance = {
	DP_AGG_VARIANCE, "variance", variance_forms, variance_prepare,
	variance_inner, variance_load,
	release_variance, " / rows", dp_aggregates_row_granules, variance_add
};

const dp_measure_ops dp_aggregates_stddev = {
	DP_AGG_STDDEV, "stddev", variance_forms, variance_prepare, variance_inner,
	variance_load,
	release_stddev, " / (2 rows stddev)", dp_aggregates_row_granules,
	variance_add
};

const dp_measure_ops dp_aggregates_var_pop = {
	DP_AGG_VAR_POP, "var_pop", variance_forms, variance_prepare,
	variance_inner, variance_load,
	release_variance, " / rows", dp_aggregates_row_granules, variance_add
};

const dp_measure_ops dp_aggregates_stddev_pop = {
	DP_AGG_STDDEV_POP, "stddev_pop", variance_forms, variance_prepare,
	variance_inner, variance_load,
	release_stddev, " / (2 rows stddev)", dp_aggregates_row_granules,
	variance_add
};

/* ----------------
 *		Covariance, correlation and regression of pairs of numbers clamped to
 *		bounds: results from their noisy sums.
 *
 * Let T be the noisy sum of the four products, with a, b, c, d for those of k
 * l, k (H - l), (G - k) l and (G - k) (H - l).  Then T / (f G H) is the number
 * of rows, G (a + b) / T the mean of k, and G H (a d - b c) / T^2 the
 * covariance; with p the noisy sum of w k (G - k), the variance of k is
 *
 *		G^2 (a + b) (T - a - b) / T^2 - p f G H / (w T)
 *
 * (doc/theory.md T110).  Whether a variance is positive is decided exactly;
 * double precision is used only after that.
 * ----------------
 */

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
		noisy[i] = dp_aggregates_add_noise(measure, cells[i].integer);
		if (noisy[i] >= MOST_NOISY || noisy[i] <= -MOST_NOISY)
			dp_base_check_status(DP_E_OVERFLOW, "add noise");
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
	dp_int128	one = dp_base_suppresses() && sample ?
	(dp_int128) measure->score_unit : 0;

	return total - one <= dp_aggregates_none(measure, noises);
}

/* dp_regr_count: rows with both numbers. */
static Datum
release_pair_rows(const dp_measure *measure, const dp_cell *cells,
				  bool *isnull, double *error)
{
	dp_int128	noisy[DP_PAIR_CELLS];

	draw(measure, cells, 0, noisy);
	*error = dp_aggregates_error_of_sum(measure);
	return dp_aggregates_from_granules(measure, noisy[0], INT8OID);
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
static Datum
release_pair_mean(const dp_measure *measure, const dp_cell *cells,
				  bool *isnull, double *error)
{
	dp_int128	noisy[DP_PAIR_CELLS];
	dp_int128	total = draw(measure, cells, 2, noisy);

	*isnull = has_none(measure, total, 2, false);
	if (*isnull)
		return (Datum) 0;
	*error = dp_aggregates_error_of_mean(measure,
										 Max(Min(noisy[0], total), 0), total,
										 own_grid(measure));
	return Float8GetDatum(mean_of(own_grid(measure), noisy[0], total));
}

/*
 * dp_regr_sxx, dp_regr_syy: the variance of dp_var_pop, times the number of
 * rows.
 */
static Datum
release_pair_squares(const dp_measure *measure,
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
	variance = variance_granules(false, measure->bound.pairs.width,
								 noisy[1], noisy[2], total);
	*error = dp_aggregates_error_of_squares(measure, total,
											to_double(variance) /
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
static Datum
release_covariance(const dp_measure *measure, const dp_cell *cells,
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
		dp_aggregates_error_of_covariance(measure, total, share);
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
static Datum
release_corr(const dp_measure *measure, const dp_cell *cells,
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
static Datum
release_line(const dp_measure *measure, const dp_cell *cells,
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

/* ----------------
 *		Covariance, correlation and regression of pairs of numbers clamped to
 *		bounds: the measurements.
 *
 * The sums are those of noise/pair.c: the number of rows as one number, a mean
 * as in dp_avg, a sum of squares as in dp_variance, and for what needs both
 * numbers four products, with an additional spread for each variance needed.
 * Gaussian noise takes the spreads with twice the weight, which costs nothing
 * in L2 (doc/theory.md T110).
 * ----------------
 */

/* Bounds further from 1 than this many powers of two are refused. */
#define MAX_EXPONENT 200

/* What an aggregate needs. */
static dp_pair_kind
sum_kind_of(dp_aggregate_kind kind)
{
	switch (kind)
	{
		case DP_AGG_REGR_COUNT:
			return DP_PAIR_ROWS;
		case DP_AGG_REGR_AVGX:
		case DP_AGG_REGR_AVGY:
			return DP_PAIR_MEAN;
		case DP_AGG_REGR_SXX:
		case DP_AGG_REGR_SYY:
			return DP_PAIR_SQUARES;
		default:
			return DP_PAIR_PRODUCTS;
	}
}

static int64
width_of(const dp_grid *grid)
{
	return Max(grid->high - grid->low, 1);
}

/*
 * Bounds so large or so small that results might not be double precision
 * numbers are refused before anything is charged.
 */
static void
check_exponent(const dp_measure *measure, const dp_grid *grid)
{
	if (abs(grid->exponent) > MAX_EXPONENT)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("bounds of dp_%s are too far apart or too close",
						measure->ops->name),
				 errdetail("Products of such numbers do not fit in double "
						   "precision."),
				 errhint("Use bounds nearer to 1, or another unit.")));
}

static void
set_grid_y(dp_measure *measure)
{
	dp_aggregates_set_bounds(measure);
	dp_aggregates_coarsen(measure, DP_PAIR_WIDTH);
	check_exponent(measure, &measure->grid);
}

/* The same, with x as the argument. */
static void
set_grid_x(dp_measure *measure)
{
	dp_measure	x = *measure;

	x.relid = measure->second.relid;
	x.base_attnum = measure->second.base_attnum;
	x.base = measure->second.base;
	x.lower = measure->second.lower;
	x.upper = measure->second.upper;
	set_grid_y(&x);
	measure->second.lower = x.lower;
	measure->second.upper = x.upper;
	measure->second.grid = x.grid;
	measure->on_grid = true;
}

/* Set noise and price for the rows of a unit in all groups (T110, T160). */
static void
set_noise(dp_measure *measure)
{
	const dp_contribution *c = &measure->contribution;
	const dp_pair_shape *shape = &measure->bound.pairs;
	dp_uint128	times = c->replace ? 2 : 1;
	dp_uint128	l1 = dp_aggregates_product(dp_noise_pair_l1(shape),
										   dp_aggregates_unit_rows(c));
	dp_uint128	l2 = (dp_uint128) shape->row;	/* squared, below; may not fit
												 * into 128 bits */

	if (measure->gaussian)
		l2 = dp_aggregates_product(dp_aggregates_product(l2, l2),
								   dp_aggregates_unit_squares(c) * times);
	dp_aggregates_set_noise(measure, dp_aggregates_product(l1, times), l2,
							shape->kind == DP_PAIR_ROWS && !c->grouped);
}

/*
 * x comes first, unless only y is used.  A variance is measured with c = 1,
 * with Gaussian noise with 2.
 */
static void
pair_prepare(dp_measure *measure, bool needs_x, bool needs_y, bool spread_x,
			 bool spread_y)
{
	const dp_grid *x = pair_grid_x(measure);
	const dp_grid *y = pair_grid_y(measure);
	int			c = measure->gaussian ? 2 : 1;

	if (needs_y)
		set_grid_y(measure);
	if (needs_x)
		set_grid_x(measure);
	if (sum_kind_of(measure->ops->kind) == DP_PAIR_ROWS)
		dp_aggregates_refine(measure, DP_UNITS_PAIRS, 1);
	else
		dp_aggregates_set_bound(measure, DP_UNITS_PAIRS);
	dp_noise_pair_make(sum_kind_of(measure->ops->kind),
					   width_of(pair_is_of_y(measure) ? y : x), width_of(y),
					   spread_x ? c : 0, spread_y ? c : 0,
					   &measure->bound.pairs);
	if (measure->bound.fine > 0)
		measure->bound.pairs.factor = measure->bound.pairs.row =
			INT64CONST(1) << measure->bound.fine;
	measure->score_unit = (dp_uint128) measure->bound.pairs.row;
	measure->ncells = measure->bound.pairs.ncells;
	measure->state_size = sizeof(dp_pair_sums);
	set_noise(measure);
}

static void
sum_prepare_rows(dp_measure *measure)
{
	pair_prepare(measure, false, false, false, false);
}

static void
prepare_x(dp_measure *measure)
{
	pair_prepare(measure, true, false, false, false);
}

static void
prepare_y(dp_measure *measure)
{
	pair_prepare(measure, false, true, false, false);
}

static void
prepare_products(dp_measure *measure)
{
	pair_prepare(measure, true, true, false, false);
}

static void
prepare_line(dp_measure *measure)
{
	pair_prepare(measure, true, true, true, false);
}

static void
prepare_all(dp_measure *measure)
{
	pair_prepare(measure, true, true, true, true);
}

static List *
pair_inner(const dp_measure *measure)
{
	List	   *arguments = measure->aggregate->args;
	Expr	   *y = linitial_node(TargetEntry, arguments)->expr;
	Expr	   *x = lsecond_node(TargetEntry, arguments)->expr;
	const dp_grid *grid_x = pair_grid_x(measure);
	const dp_grid *grid_y = pair_grid_y(measure);

	if (pair_is_of_y(measure))
		return dp_exact_bounded_pairs(measure->aggregate, y, grid_y, x,
									  grid_x);
	return dp_exact_bounded_pairs(measure->aggregate, x, grid_x, y, grid_y);
}

static void
pair_load(const dp_measure *measure, const Datum *values, const bool *nulls,
		  dp_cell *cells, MemoryContext keep)
{
	dp_pair_sums sums = dp_exact_read_pairs(values, nulls);
	dp_int128	numbers[DP_PAIR_CELLS];
	int			i;

	dp_noise_pair_cells(&measure->bound.pairs, &sums, numbers);
	for (i = 0; i < measure->ncells; i++)
		cells[i].integer += numbers[i];
}

static void
pair_add(const dp_measure *measure, const dp_units_part *part, dp_cell *cells,
		 MemoryContext keep)
{
	int			i;

	for (i = 0; i < measure->ncells; i++)
		cells[i].integer += part->numbers[i];
}

static const char *const none[] = {"", "e", NULL};
static const char *const of_x[] = {"", "e", "LU", "LUe", NULL};
static const char *const of_y[] = {"", "e", "lu", "lue", NULL};
static const char *const of_both[] = {"", "e", "luLU", "luLUe", NULL};

#define SUFFIX " rows in each sum"

#define MEASURE(KIND, name, pair_forms, pair_prepare, pair_release) \
const dp_measure_ops dp_aggregates_##name = { \
	KIND, #name, pair_forms, pair_prepare, pair_inner, pair_load, \
	pair_release, SUFFIX, NULL, pair_add \
}

MEASURE(DP_AGG_CORR, corr, of_both, prepare_all, release_corr);
MEASURE(DP_AGG_COVAR_POP, covar_pop, of_both, prepare_products,
		release_covariance);
MEASURE(DP_AGG_COVAR_SAMP, covar_samp, of_both, prepare_products,
		release_covariance);
MEASURE(DP_AGG_REGR_AVGX, regr_avgx, of_x, prepare_x,
		release_pair_mean);
MEASURE(DP_AGG_REGR_AVGY, regr_avgy, of_y, prepare_y,
		release_pair_mean);
MEASURE(DP_AGG_REGR_COUNT, regr_count, none, sum_prepare_rows,
		release_pair_rows);
MEASURE(DP_AGG_REGR_INTERCEPT, regr_intercept, of_both, prepare_line,
		release_line);
MEASURE(DP_AGG_REGR_R2, regr_r2, of_both, prepare_all,
		release_corr);
MEASURE(DP_AGG_REGR_SLOPE, regr_slope, of_both, prepare_line,
		release_line);
MEASURE(DP_AGG_REGR_SXX, regr_sxx, of_x, prepare_x,
		release_pair_squares);
MEASURE(DP_AGG_REGR_SXY, regr_sxy, of_both, prepare_products,
		release_covariance);
MEASURE(DP_AGG_REGR_SYY, regr_syy, of_y, prepare_y,
		release_pair_squares);
