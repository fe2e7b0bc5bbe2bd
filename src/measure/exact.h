/*
 * exact.h
 *	  Private to the measure room: arithmetic over released numbers in numeric,
 *	  exact until a division.
 */
#ifndef DP_MEASURE_EXACT_H
#define DP_MEASURE_EXACT_H

#include "fmgr.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "../bridge/dp_bridge.h"

static inline Datum
exact_number(dp_int128 x)
{
	return NumericGetDatum(dp_bridge_int128_to_numeric(x));
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

#endif							/* DP_MEASURE_EXACT_H */
