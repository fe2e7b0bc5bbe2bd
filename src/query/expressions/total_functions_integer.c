/*
 * total_functions_integer.c
 *	  Integer arithmetic and narrowing casts that return NULL on overflow and
 *	  division by zero.
 *
 * Why they cannot raise errors: they are C arithmetic after tests for every
 * case in which the result does not fit; nothing is allocated or looked up.
 */
#include "postgres.h"

#include "common/int.h"
#include "fmgr.h"

#include "expressions_internal.h"

/* Sum, difference, product in the wider type of the two. */
#define DP_OPERATION(name, LEFT, RIGHT, RESULT, type, overflows) \
DP_TOTAL_FUNCTION(name) \
{ \
	type		result; \
\
	if (overflows((type) PG_GETARG_##LEFT(0), (type) PG_GETARG_##RIGHT(1), \
				  &result)) \
		PG_RETURN_NULL(); \
	PG_RETURN_##RESULT(result); \
}

/*
 * Quotient and remainder.  A remainder by -1 is 0; for the least integer the
 * processor would trap.
 */
#define DP_QUOTIENT(name, LEFT, RIGHT, RESULT, type, least) \
DP_TOTAL_FUNCTION(name) \
{ \
	type		left = PG_GETARG_##LEFT(0); \
	type		right = PG_GETARG_##RIGHT(1); \
\
	if (right == 0 || (right == -1 && left == least)) \
		PG_RETURN_NULL(); \
	PG_RETURN_##RESULT(left / right); \
}

#define DP_REMAINDER(name, INTEGER, type) \
DP_TOTAL_FUNCTION(name) \
{ \
	type		left = PG_GETARG_##INTEGER(0); \
	type		right = PG_GETARG_##INTEGER(1); \
\
	if (right == 0) \
		PG_RETURN_NULL(); \
	if (right == -1) \
		PG_RETURN_##INTEGER(0); \
	PG_RETURN_##INTEGER(left % right); \
}

#define DP_NEGATION(name, INTEGER, type, least, condition) \
DP_TOTAL_FUNCTION(name) \
{ \
	type		x = PG_GETARG_##INTEGER(0); \
\
	if (x == least) \
		PG_RETURN_NULL(); \
	PG_RETURN_##INTEGER((condition) ? -x : x); \
}

#define DP_NARROWING(name, WIDE, NARROW, type, least, greatest) \
DP_TOTAL_FUNCTION(name) \
{ \
	type		x = PG_GETARG_##WIDE(0); \
\
	if (x < least || x > greatest) \
		PG_RETURN_NULL(); \
	PG_RETURN_##NARROW(x); \
}

#define DP_PAIR(pair, LEFT, RIGHT, RESULT, bits) \
DP_OPERATION(int##pair##pl, LEFT, RIGHT, RESULT, int##bits, \
			 pg_add_s##bits##_overflow) \
DP_OPERATION(int##pair##mi, LEFT, RIGHT, RESULT, int##bits, \
			 pg_sub_s##bits##_overflow) \
DP_OPERATION(int##pair##mul, LEFT, RIGHT, RESULT, int##bits, \
			 pg_mul_s##bits##_overflow) \
DP_QUOTIENT(int##pair##div, LEFT, RIGHT, RESULT, int##bits, \
			PG_INT##bits##_MIN)

#define DP_SINGLE(one, INTEGER, bits) \
DP_REMAINDER(int##one##mod, INTEGER, int##bits) \
DP_NEGATION(int##one##um, INTEGER, int##bits, PG_INT##bits##_MIN, true) \
DP_NEGATION(int##one##abs, INTEGER, int##bits, PG_INT##bits##_MIN, x < 0)

DP_PAIR(2, INT16, INT16, INT16, 16)
DP_PAIR(24, INT16, INT32, INT32, 32)
DP_PAIR(28, INT16, INT64, INT64, 64)
DP_PAIR(42, INT32, INT16, INT32, 32)
DP_PAIR(4, INT32, INT32, INT32, 32)
DP_PAIR(48, INT32, INT64, INT64, 64)
DP_PAIR(82, INT64, INT16, INT64, 64)
DP_PAIR(84, INT64, INT32, INT64, 64)
DP_PAIR(8, INT64, INT64, INT64, 64)

DP_SINGLE(2, INT16, 16)
DP_SINGLE(4, INT32, 32)
DP_SINGLE(8, INT64, 64)

DP_NARROWING(i4toi2, INT32, INT16, int32, PG_INT16_MIN, PG_INT16_MAX)
DP_NARROWING(int82, INT64, INT16, int64, PG_INT16_MIN, PG_INT16_MAX)
DP_NARROWING(int84, INT64, INT32, int64, PG_INT32_MIN, PG_INT32_MAX)
