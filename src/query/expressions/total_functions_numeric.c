/*
 * total_functions_numeric.c
 *	  Arithmetic, rounding and casts of numeric that return NULL instead of
 *	  raising errors.
 *
 * Why they cannot raise errors.  A numeric has at most 32768 groups of four
 * digits before the point and 16383 digits after it, so every intermediate
 * result of the four operations is below a megabyte.  The only other errors, a
 * result out of that format and division by zero, are reported by the
 * *_opt_error functions of PostgreSQL's own arithmetic.  Rounding can leave
 * the format only by a carry through every digit above the rounding position;
 * a number of at most DP_NUMERIC_BYTES does not have that many digits.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/numeric.h"

#include "../../base/dp_base.h"
#include "expressions_internal.h"

/*
 * 8 kB hold 4096 groups of digits.  A carry out of the format, from position
 * 10^DP_ROUND_LEAST or below, passes more than 32000 groups.
 */
#define DP_NUMERIC_BYTES 8192
#define DP_ROUND_LEAST (-1000)

#define DP_OPERATION(name, operation) \
DP_TOTAL_FUNCTION(name) \
{ \
	bool		failed = false; \
	Numeric		result = operation(PG_GETARG_NUMERIC(0), \
								   PG_GETARG_NUMERIC(1), &failed); \
\
	if (failed) \
		PG_RETURN_NULL(); \
	PG_RETURN_NUMERIC(result); \
}

DP_OPERATION(numeric_add, numeric_add_opt_error)
DP_OPERATION(numeric_sub, numeric_sub_opt_error)
DP_OPERATION(numeric_mul, numeric_mul_opt_error)
DP_OPERATION(numeric_div, numeric_div_opt_error)
DP_OPERATION(numeric_mod, numeric_mod_opt_error)

static bool
is_roundable(Numeric x)
{
	return VARSIZE(x) <= DP_NUMERIC_BYTES;
}

DP_TOTAL_FUNCTION(numeric_ceil)
{
	if (!is_roundable(PG_GETARG_NUMERIC(0)))
		PG_RETURN_NULL();
	return numeric_ceil(fcinfo);
}

DP_TOTAL_FUNCTION(numeric_floor)
{
	if (!is_roundable(PG_GETARG_NUMERIC(0)))
		PG_RETURN_NULL();
	return numeric_floor(fcinfo);
}

DP_TOTAL_FUNCTION(numeric_round)
{
	if (!is_roundable(PG_GETARG_NUMERIC(0)) ||
		PG_GETARG_INT32(1) < DP_ROUND_LEAST)
		PG_RETURN_NULL();
	return numeric_round(fcinfo);
}

DP_TOTAL_FUNCTION(numeric_round_integral)
{
	Numeric		x = PG_GETARG_NUMERIC(0);

	if (!is_roundable(x))
		PG_RETURN_NULL();
	return DirectFunctionCall2(numeric_round, NumericGetDatum(x),
							   Int32GetDatum(0));
}

/*
 * Truncation drops digits and is total, but the built-in is an SQL function.
 */
DP_TOTAL_FUNCTION(numeric_trunc_integral)
{
	return DirectFunctionCall2(numeric_trunc, PG_GETARG_DATUM(0),
							   Int32GetDatum(0));
}

static bool
is_less(Numeric a, Numeric b)
{
	return DatumGetBool(DirectFunctionCall2(numeric_lt, NumericGetDatum(a),
											NumericGetDatum(b)));
}

/* numeric(precision, scale): the last type modifier used, and 10^(p-s). */
typedef struct typmod_limit
{
	int32		typmod;
	Numeric		above;			/* numbers of smaller magnitude fit */
	Numeric		below;			/* the negative of it */
	int32		scale;
} typmod_limit;

static typmod_limit *
limit_of(FunctionCallInfo fcinfo, int32 typmod)
{
	typmod_limit *limit = fcinfo->flinfo->fn_extra;
	MemoryContext old;
	int32		packed = typmod - (int32) VARHDRSZ;
	int32		precision = (packed >> 16) & 0xffff;

	if (limit != NULL && limit->typmod == typmod)
		return limit;
	old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	if (limit == NULL)
		limit = palloc0(sizeof(typmod_limit));
	limit->typmod = typmod;
	limit->scale = ((packed & 0x7ff) ^ 1024) - 1024;
	limit->above = dp_base_text_to_numeric(psprintf("1e%d", precision -
													limit->scale));
	limit->below = dp_base_text_to_numeric(psprintf("-1e%d", precision -
													limit->scale));
	fcinfo->flinfo->fn_extra = limit;
	MemoryContextSwitchTo(old);
	return limit;
}

/*
 * The cast to numeric(precision, scale) rounds to scale and then raises an
 * error if |rounded| >= 10^(precision - scale).  Type modifiers that the
 * parser does not make give NULL.
 */
DP_TOTAL_FUNCTION(numeric)
{
	Numeric		x = PG_GETARG_NUMERIC(0);
	int32		typmod = PG_GETARG_INT32(1);
	int32		packed = typmod - (int32) VARHDRSZ;
	int32		precision = (packed >> 16) & 0xffff;
	typmod_limit *limit;
	Numeric		rounded;

	if (typmod < (int32) VARHDRSZ)
		PG_RETURN_NUMERIC(x);
	if (precision < 1 || precision > NUMERIC_MAX_PRECISION ||
		!is_roundable(x))
		PG_RETURN_NULL();
	if (numeric_is_nan(x))
		PG_RETURN_NUMERIC(x);
	limit = limit_of(fcinfo, typmod);
	if (limit->scale < NUMERIC_MIN_SCALE || limit->scale > NUMERIC_MAX_SCALE)
		PG_RETURN_NULL();
	rounded =
		DatumGetNumeric(DirectFunctionCall2(numeric_round, NumericGetDatum(x),
											Int32GetDatum(limit->scale)));
	if (!is_less(rounded, limit->above) || !is_less(limit->below, rounded))
		PG_RETURN_NULL();
	return numeric(fcinfo);
}

DP_TOTAL_FUNCTION(numeric_int4)
{
	bool		failed = false;
	int32		result = numeric_int4_opt_error(PG_GETARG_NUMERIC(0), &failed);

	if (failed)
		PG_RETURN_NULL();
	PG_RETURN_INT32(result);
}

DP_TOTAL_FUNCTION(numeric_int2)
{
	bool		failed = false;
	int32		result = numeric_int4_opt_error(PG_GETARG_NUMERIC(0), &failed);

	if (failed || result < PG_INT16_MIN || result > PG_INT16_MAX)
		PG_RETURN_NULL();
	PG_RETURN_INT16(result);
}

/*
 * Halves round away from zero, so exactly the numbers strictly between
 * -(2^63 + 1/2) and 2^63 - 1/2 round to a bigint.  NaN compares as greater
 * than all numbers.
 */
DP_TOTAL_FUNCTION(numeric_int8)
{
	Numeric		x = PG_GETARG_NUMERIC(0);
	Numeric    *limits = fcinfo->flinfo->fn_extra;

	if (limits == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);

		limits = palloc(2 * sizeof(Numeric));
		limits[0] = dp_base_text_to_numeric("-9223372036854775808.5");
		limits[1] = dp_base_text_to_numeric("9223372036854775807.5");
		fcinfo->flinfo->fn_extra = limits;
		MemoryContextSwitchTo(old);
	}
	if (!is_less(limits[0], x) || !is_less(x, limits[1]))
		PG_RETURN_NULL();
	return numeric_int8(fcinfo);
}

/*
 * The built-ins raise an error if the nearest double or float is infinite or
 * zero although the number is not.
 */
DP_TOTAL_FUNCTION(numeric_float8)
{
	Numeric		x = PG_GETARG_NUMERIC(0);
	char	   *digits;
	double		result;
	bool		outside;

	if (numeric_is_nan(x) || numeric_is_inf(x))
		return numeric_float8(fcinfo);
	digits = numeric_normalize(x);
	errno = 0;
	result = strtod(digits, NULL);
	outside = errno == ERANGE && (result == 0 || isinf(result));
	pfree(digits);
	if (outside)
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(result);
}

DP_TOTAL_FUNCTION(numeric_float4)
{
	Numeric		x = PG_GETARG_NUMERIC(0);
	char	   *digits;
	float		result;
	bool		outside;

	if (numeric_is_nan(x) || numeric_is_inf(x))
		return numeric_float4(fcinfo);
	digits = numeric_normalize(x);
	errno = 0;
	result = strtof(digits, NULL);
	outside = errno == ERANGE && (result == 0 || isinf(result));
	pfree(digits);
	if (outside)
		PG_RETURN_NULL();
	PG_RETURN_FLOAT4(result);
}

DP_TOTAL_FUNCTION(width_bucket_numeric)
{
	Numeric		low = PG_GETARG_NUMERIC(1);
	Numeric		high = PG_GETARG_NUMERIC(2);
	int32		count = PG_GETARG_INT32(3);

	if (count <= 0 || count == PG_INT32_MAX ||
		numeric_is_nan(PG_GETARG_NUMERIC(0)) ||
		numeric_is_nan(low) || numeric_is_nan(high) ||
		numeric_is_inf(low) || numeric_is_inf(high) ||
		!(is_less(low, high) || is_less(high, low)))
		PG_RETURN_NULL();
	return width_bucket_numeric(fcinfo);
}
