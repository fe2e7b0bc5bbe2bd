/*
 * dp_numeric.h
 *	  PostgreSQL's functions on numeric, called with Numerics.
 *
 * Include postgres.h first.  Errors are those of the functions.
 */
#ifndef DP_NUMERIC_H
#define DP_NUMERIC_H

#include "fmgr.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

static inline Numeric
dp_numeric_call1(PGFunction function, Numeric a)
{
	return DatumGetNumeric(DirectFunctionCall1(function, NumericGetDatum(a)));
}

static inline Numeric
dp_numeric_call2(PGFunction function, Numeric a, Numeric b)
{
	return DatumGetNumeric(DirectFunctionCall2(function, NumericGetDatum(a),
											   NumericGetDatum(b)));
}

/* -1, 0, 1 as a <, =, > b. */
static inline int
dp_numeric_compare(Numeric a, Numeric b)
{
	return DatumGetInt32(DirectFunctionCall2(numeric_cmp, NumericGetDatum(a),
											 NumericGetDatum(b)));
}

/* The nearest double; 22003 if out of range. */
static inline double
dp_numeric_to_double(Numeric a)
{
	return DatumGetFloat8(DirectFunctionCall1(numeric_float8,
											  NumericGetDatum(a)));
}

/* Its decimal text, palloc'd. */
static inline char *
dp_numeric_text(Numeric a)
{
	return DatumGetCString(DirectFunctionCall1(numeric_out,
											   NumericGetDatum(a)));
}

#endif							/* DP_NUMERIC_H */
