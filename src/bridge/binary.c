/*
 * binary.c
 *	  Powers of two as numeric, and grids whose granule is a power of two.
 *
 * Everything is exact: 2^-n is 5^n / 10^n, a decimal of n digits.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "../mech/dp_round.h"
#include "dp_bridge.h"
#include "dp_numeric.h"

/* Largest exponent whose power every numeric operation keeps exact. */
#define MAX_EXPONENT 1100

/*
 * dp_bridge_power_of_two
 *	  2^exponent, exactly.
 */
Numeric
dp_bridge_power_of_two(int exponent)
{
	Numeric		result = int64_to_numeric(1);
	Numeric		base = exponent < 0 ? dp_bridge_text_to_numeric("0.5") :
	int64_to_numeric(2);
	int			n;

	for (n = abs(exponent); n > 0; n >>= 1)
	{
		if (n & 1)
			result = numeric_mul_opt_error(result, base, NULL);
		if (n > 1)
			base = numeric_mul_opt_error(base, base, NULL);
	}
	return result;
}

/*
 * dp_bridge_floor_log2
 *	  The largest e with 2^e <= x; false when x <= 0, NaN or infinite, or e is
 *	  not in -1100 .. 1100.
 */
bool
dp_bridge_floor_log2(Numeric x, int *exponent)
{
	Datum		value = NumericGetDatum(x);
	Datum		limit;
	double		size;
	int			e;

	limit = NumericGetDatum(dp_bridge_power_of_two(-MAX_EXPONENT));
	if (numeric_is_nan(x) || numeric_is_inf(x) ||
		!DatumGetBool(DirectFunctionCall2(numeric_ge, value, limit)))
		return false;
	limit = NumericGetDatum(dp_bridge_power_of_two(MAX_EXPONENT + 1));
	if (!DatumGetBool(DirectFunctionCall2(numeric_lt, value, limit)))
		return false;

	/* an estimate, corrected by exact comparisons */
	size = DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow,
											  value));
	e = size > 0 && !isinf(size) ? (int) floor(log2(size)) :
		size > 0 ? 1023 : -1074;
	for (;; e--)
	{
		limit = NumericGetDatum(dp_bridge_power_of_two(e));
		if (DatumGetBool(DirectFunctionCall2(numeric_le, limit, value)))
			break;
	}
	for (;; e++)
	{
		limit = NumericGetDatum(dp_bridge_power_of_two(e + 1));
		if (DatumGetBool(DirectFunctionCall2(numeric_gt, limit, value)))
			break;
	}
	*exponent = e;
	return true;
}

/* dp_bridge_make_grid: multiples of 2^exponent, |exponent| <= 1100. */
dp_binary_grid
dp_bridge_make_grid(int exponent)
{
	dp_binary_grid grid;

	grid.exponent = exponent;
	grid.granule = dp_bridge_power_of_two(exponent);
	grid.half = dp_bridge_power_of_two(exponent - 1);
	grid.end = dp_bridge_power_of_two(exponent + DP_GRID_RANGE);
	return grid;
}

/* floor(x / granule), and whether that is exact; 22003 from 10^37 on. */
static dp_int128
floor_quotient(const dp_binary_grid *grid, Numeric x, bool *exact)
{
	Numeric		quotient = dp_numeric_call2(numeric_div_trunc, x,
											grid->granule);
	Numeric		product = dp_numeric_call2(numeric_mul, quotient,
										   grid->granule);
	int			order = dp_numeric_compare(product, x);
	dp_int128	result = 0;

	if (!dp_bridge_numeric_to_int128(quotient, &result))
		dp_bridge_check_status(DP_E_OVERFLOW, "compute a sensitivity");
	*exact = order == 0;
	return order > 0 ? result - 1 : result;
}

/*
 * dp_bridge_grid_numeric
 *	  floor(x / 2^exponent + 1/2) (mech/dp_round.h), clamped to +-2^100; 0 for
 *	  NaN.  Never fails.
 */
dp_int128
dp_bridge_grid_numeric(const dp_binary_grid *grid, Numeric x)
{
	const dp_int128 end = (dp_int128) 1 << DP_GRID_RANGE;
	bool		exact;

	if (numeric_is_nan(x))
		return 0;
	if (dp_numeric_compare(x, grid->end) >= 0)
		return end;
	if (dp_numeric_compare(dp_numeric_call1(numeric_uminus, x),
						   grid->end) >= 0)
		return -end;
	return floor_quotient(grid, dp_numeric_call2(numeric_add, x, grid->half),
						  &exact);
}

/*
 * dp_bridge_grid_double
 *	  The same for a double, without rounding to decimal digits first.
 */
dp_int128
dp_bridge_grid_double(const dp_binary_grid *grid, double x)
{
	return dp_round_double(x, grid->exponent, DP_GRID_RANGE);
}

/*
 * dp_bridge_grid_distance
 *	  ceil(x / 2^exponent), x > 0: the largest distance, in granules, of values
 *	  x apart.
 *
 * Errors: 22003 from 10^37 on.
 */
dp_uint128
dp_bridge_grid_distance(const dp_binary_grid *grid, Numeric x)
{
	bool		exact;
	dp_int128	floor = floor_quotient(grid, x, &exact);

	return (dp_uint128) floor + (exact ? 0 : 1);
}
