/*
 * grid.c
 *	  The public grid on which bounded values are added.
 *
 * A column with bounds [L, U] is read in granules g = 2^e, by default the
 * largest power of two that is at most (U - L) / 2^20, and 1 for integers.
 * Only the bounds decide, never data.  The arithmetic is numeric's, which is
 * exact here: multiplying by a power of two or by its finite decimal inverse.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "measure.h"

#define MAX_EXPONENT 1010		/* of a granule: 2^-e stays a normal double */
#define MAX_LOG2 1100			/* of bounds */

static Numeric
call1(PGFunction function, Numeric a)
{
	return DatumGetNumeric(DirectFunctionCall1(function, NumericGetDatum(a)));
}

static Numeric
call2(PGFunction function, Numeric a, Numeric b)
{
	return DatumGetNumeric(DirectFunctionCall2(function, NumericGetDatum(a),
											   NumericGetDatum(b)));
}

static int
compare(Numeric a, Numeric b)
{
	return DatumGetInt32(DirectFunctionCall2(numeric_cmp, NumericGetDatum(a),
											 NumericGetDatum(b)));
}

/* 2^exponent, exactly: 2^-n is 5^n / 10^n, a finite decimal. */
static Numeric
power_of_two(int exponent)
{
	Numeric		result = dp_bridge_text_to_numeric("1");
	Numeric		base = dp_bridge_text_to_numeric(exponent < 0 ? "0.5" : "2");
	int			n = abs(exponent);

	for (; n > 0; n >>= 1)
	{
		if (n & 1)
			result = call2(numeric_mul, result, base);
		if (n > 1)
			base = call2(numeric_mul, base, base);
	}
	return result;
}

/* The largest e with 2^e <= x, x > 0. */
static int
floor_log2(Numeric x)
{
	double		approximate =
	DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow,
									   NumericGetDatum(x)));
	int			e;

	if (!(approximate > 0) || isinf(approximate))
		e = approximate > 0 ? MAX_LOG2 : -MAX_LOG2;
	else
		e = (int) floor(log2(approximate));
	while (e > -MAX_LOG2 && compare(power_of_two(e), x) > 0)
		e--;
	while (e < MAX_LOG2 && compare(power_of_two(e + 1), x) <= 0)
		e++;
	return e;
}

/*
 * dp_release_scale_numeric
 *	  x * 2^exponent, exactly; never fails for x in the range of double.
 */
Numeric
dp_release_scale_numeric(Numeric x, int exponent)
{
	return call2(numeric_mul, x, power_of_two(exponent));
}

static void
refuse_bounds(const char *message, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s", message),
			 errhint("%s", hint)));
}

static int64
to_granules(Numeric x, PGFunction round)
{
	dp_int128	value;

	if (!dp_bridge_numeric_to_int128(call1(round, x), &value) ||
		value > PG_INT64_MAX || value < PG_INT64_MIN)
		refuse_bounds("bounds are too far from zero for their distance",
					  "Use bounds further apart, or declare a coarser "
					  "granule.");
	return (int64) value;
}

/*
 * dp_release_grid
 *	  The grid of bounds lower < upper; granule NULL means the default.
 *
 * Errors: 22023 when the bounds are not finite, not ordered, or the grid does
 * not fit into 64 bits.
 */
dp_grid
dp_release_grid(Numeric lower, Numeric upper, Numeric granule, bool integers)
{
	dp_grid		grid;
	Numeric		scale;

	if (numeric_is_nan(lower) || numeric_is_nan(upper) ||
		numeric_is_inf(lower) || numeric_is_inf(upper))
		refuse_bounds("bounds must be finite numbers",
					  "Give the smallest and the largest value that a row may "
					  "count with.");
	if (compare(lower, upper) >= 0)
		refuse_bounds("lower bound must be less than upper bound",
					  "Give the smaller bound first.");
	if (granule != NULL)
		grid.exponent = floor_log2(granule);
	else if (integers)
		grid.exponent = 0;
	else
		grid.exponent = floor_log2(call2(numeric_sub, upper, lower)) - 20;
	if (abs(grid.exponent) > MAX_EXPONENT)
		refuse_bounds("bounds are out of range",
					  "Use bounds between 1e-290 and 1e308 in size.");
	scale = power_of_two(-grid.exponent);
	grid.low = to_granules(call2(numeric_mul, lower, scale), numeric_ceil);
	grid.high = to_granules(call2(numeric_mul, upper, scale), numeric_floor);
	if (grid.low >= grid.high)
		refuse_bounds("no two grid points lie between the bounds",
					  integers ? "Bounds of an integer column must enclose at "
					  "least two integers." :
					  "Use wider bounds or a finer granule.");
	return grid;
}

/*
 * dp_release_grid_value
 *	  granules * 2^exponent as numeric, rounded to the digits that tell
 *	  neighbouring grid points apart.  Only for values already released.
 */
Numeric
dp_release_grid_value(const dp_grid *grid, dp_int128 granules)
{
	Numeric		value = dp_bridge_int128_to_numeric(granules);
	int			digits;

	if (grid->exponent == 0)
		return value;
	value = call2(numeric_mul, value, power_of_two(grid->exponent));
	if (grid->exponent > 0)
		return value;
	digits = (int) ceil(-grid->exponent * 0.30102999566398120);
	return DatumGetNumeric(DirectFunctionCall2(numeric_round,
											   NumericGetDatum(value),
											   Int32GetDatum(digits)));
}
