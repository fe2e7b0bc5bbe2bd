/*
 * binary.c
 *	  Powers of two as numeric, for grids whose granule is one.
 *
 * Everything is exact: 2^-n is 5^n / 10^n, a decimal of n digits.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "dp_bridge.h"

/* Exponents with a power_of_two that every numeric operation keeps exact. */
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

	/* a guess, then exact comparisons */
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
