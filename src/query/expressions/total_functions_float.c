/*
 * total_functions_float.c
 *	  Floating-point arithmetic, functions and casts to integers that return
 *	  NULL instead of raising errors.
 *
 * Why they cannot raise errors: they are arithmetic of the processor and of
 * libm, and return NULL where the built-ins' overflow and underflow tests
 * fail; nothing is allocated or looked up.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"

#include "expressions_internal.h"

/* An infinite result of finite arguments is an overflow. */
#define OVERFLOWED(result, a, b) (isinf(result) && !isinf(a) && !isinf(b))

#define DP_SUM(name, LEFT, RIGHT, RESULT, type, sign) \
DP_TOTAL_FUNCTION(name) \
{ \
	type		a = PG_GETARG_##LEFT(0); \
	type		b = PG_GETARG_##RIGHT(1); \
	type		result = a sign b; \
\
	if (OVERFLOWED(result, a, b)) \
		PG_RETURN_NULL(); \
	PG_RETURN_##RESULT(result); \
}

#define DP_PRODUCT(name, LEFT, RIGHT, RESULT, type) \
DP_TOTAL_FUNCTION(name) \
{ \
	type		a = PG_GETARG_##LEFT(0); \
	type		b = PG_GETARG_##RIGHT(1); \
	type		result = a * b; \
\
	if (OVERFLOWED(result, a, b) || (result == 0 && a != 0 && b != 0)) \
		PG_RETURN_NULL(); \
	PG_RETURN_##RESULT(result); \
}

#define DP_QUOTIENT(name, LEFT, RIGHT, RESULT, type) \
DP_TOTAL_FUNCTION(name) \
{ \
	type		a = PG_GETARG_##LEFT(0); \
	type		b = PG_GETARG_##RIGHT(1); \
	type		result; \
\
	if (b == 0 && !isnan(a)) \
		PG_RETURN_NULL(); \
	result = a / b; \
	if ((isinf(result) && !isinf(a)) || \
		(result == 0 && a != 0 && !isinf(b))) \
		PG_RETURN_NULL(); \
	PG_RETURN_##RESULT(result); \
}

/* Rounded to the nearest integer, halves to even; NULL for NaN. */
#define DP_INTEGER(name, FLOAT, INTEGER, type, fits, integer) \
DP_TOTAL_FUNCTION(name) \
{ \
	type		x = rint(PG_GETARG_##FLOAT(0)); \
\
	if (isnan(x) || !fits(x)) \
		PG_RETURN_NULL(); \
	PG_RETURN_##INTEGER((integer) x); \
}

#define DP_PAIR(pair, LEFT, RIGHT, RESULT, type) \
DP_SUM(float##pair##pl, LEFT, RIGHT, RESULT, type, +) \
DP_SUM(float##pair##mi, LEFT, RIGHT, RESULT, type, -) \
DP_PRODUCT(float##pair##mul, LEFT, RIGHT, RESULT, type) \
DP_QUOTIENT(float##pair##div, LEFT, RIGHT, RESULT, type)

DP_PAIR(4, FLOAT4, FLOAT4, FLOAT4, float4)
DP_PAIR(48, FLOAT4, FLOAT8, FLOAT8, float8)
DP_PAIR(84, FLOAT8, FLOAT4, FLOAT8, float8)
DP_PAIR(8, FLOAT8, FLOAT8, FLOAT8, float8)

DP_INTEGER(ftoi2, FLOAT4, INT16, float4, FLOAT4_FITS_IN_INT16, int16)
DP_INTEGER(ftoi4, FLOAT4, INT32, float4, FLOAT4_FITS_IN_INT32, int32)
DP_INTEGER(ftoi8, FLOAT4, INT64, float4, FLOAT4_FITS_IN_INT64, int64)
DP_INTEGER(dtoi2, FLOAT8, INT16, float8, FLOAT8_FITS_IN_INT16, int16)
DP_INTEGER(dtoi4, FLOAT8, INT32, float8, FLOAT8_FITS_IN_INT32, int32)
DP_INTEGER(dtoi8, FLOAT8, INT64, float8, FLOAT8_FITS_IN_INT64, int64)

DP_TOTAL_FUNCTION(dtof)
{
	float8		x = PG_GETARG_FLOAT8(0);
	float4		result = (float4) x;

	if ((isinf(result) && !isinf(x)) || (result == 0 && x != 0))
		PG_RETURN_NULL();
	PG_RETURN_FLOAT4(result);
}

DP_TOTAL_FUNCTION(dsqrt)
{
	float8		x = PG_GETARG_FLOAT8(0);

	if (x < 0)
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(sqrt(x));
}

DP_TOTAL_FUNCTION(dexp)
{
	float8		x = PG_GETARG_FLOAT8(0);
	float8		result;

	if (isnan(x))
		PG_RETURN_FLOAT8(x);
	if (isinf(x))
		PG_RETURN_FLOAT8(x > 0 ? x : 0.0);
	errno = 0;
	result = exp(x);
	if (errno == ERANGE || isinf(result) || result == 0)
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(result);
}

/* The logarithm of a positive double is 0 only for 1, and never infinite. */
DP_TOTAL_FUNCTION(dlog1)
{
	float8		x = PG_GETARG_FLOAT8(0);

	if (x <= 0)
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(log(x));
}

DP_TOTAL_FUNCTION(dlog10)
{
	float8		x = PG_GETARG_FLOAT8(0);

	if (x <= 0)
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(log10(x));
}

/*
 * Bounds whose distance times count overflows are also out of range: there the
 * built-in has an undefined cast.
 */
DP_TOTAL_FUNCTION(width_bucket_float8)
{
	float8		operand = PG_GETARG_FLOAT8(0);
	float8		low = PG_GETARG_FLOAT8(1);
	float8		high = PG_GETARG_FLOAT8(2);
	int32		count = PG_GETARG_INT32(3);

	if (count <= 0 || count == PG_INT32_MAX || isnan(operand) ||
		isnan(low) || isnan(high) || low == high ||
		isinf((high - low) * count))
		PG_RETURN_NULL();
	return width_bucket_float8(fcinfo);
}
