/*
 * dp_to_grid.h
 *	  Maps rows onto the public grid, for the inner aggregates.  Public,
 *	  because states of groups have the same form.
 *
 * A spec is a constant of the inner query that only dp_exact_sum_spec builds
 * (or dp_exact_fill_spec, if there is no constant).  The caller skips NaN;
 * infinities are clamped; the result depends only on the value, and nothing
 * here raises an error.
 */
#ifndef DP_TO_GRID_H
#define DP_TO_GRID_H

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "../../math/noise/dp_noise.h"
#include "../../math/noise/dp_round.h"
#include "../../base/dp_base.h"
#include "dp_exact.h"

typedef struct dp_sum_spec
{
	int64		low;			/* granules */
	int64		high;
	float8		low_float;		/* the same, rounded to double */
	float8		high_float;
	float8		factor;			/* 2^-exponent */
	int64		exponent;
} dp_sum_spec;

extern void dp_exact_fill_spec(const dp_grid *grid, dp_sum_spec *spec);

/* The exact sum of rows, as stored in a state; a multiple of 8 bytes. */
typedef struct dp_sum_state
{
	int64		rows;			/* rows that counted */
	uint64		sum_low;		/* sum of granules, two's complement */
	int64		sum_high;
} dp_sum_state;

#define DP_SUM_WORDS ((int) (sizeof(dp_sum_state) / sizeof(int64)))

static inline void
dp_sum_state_add(dp_sum_state *state, int64 granules)
{
	uint64		before = state->sum_low;

	state->sum_low += (uint64) granules;
	state->sum_high += (granules >> 63) + (state->sum_low < before ? 1 : 0);
	state->rows++;
}

static inline void
dp_sum_state_merge(dp_sum_state *state, const dp_sum_state *other)
{
	uint64		before = state->sum_low;

	state->sum_low += other->sum_low;
	state->sum_high += other->sum_high + (state->sum_low < before ? 1 : 0);
	state->rows += other->rows;
}

/* clamp(floor(x / granule + 1/2)); the granule is 1 unless declared. */
static inline int64
granules_of_integer(const dp_sum_spec *spec, int64 x)
{
	if (unlikely(spec->exponent != 0))
	{
		dp_int128	y = dp_round_integer(x, Max((int) spec->exponent, -63));

		return (int64) Min(Max(y, spec->low), spec->high);
	}
	if (x < spec->low)
		return spec->low;
	if (x > spec->high)
		return spec->high;
	return x;
}

/*
 * The same for floats; x is not NaN.  The result between the bounds is below
 * 2^63 in absolute value, as they are.
 */
static inline int64
granules_of_float(const dp_sum_spec *spec, float8 x)
{
	double		y = x * spec->factor;
	int64		granules;

	if (y <= spec->low_float)
		return spec->low;
	if (y >= spec->high_float)
		return spec->high;
	granules = dp_round_scaled(y);
	if (granules < spec->low)
		return spec->low;
	if (granules > spec->high)
		return spec->high;
	return granules;
}

/* The bounds in units of the column; computed once per call site. */
typedef struct dp_numeric_bounds
{
	Numeric		low;
	Numeric		high;
	Numeric		factor;			/* 2^-exponent, exactly */
	Numeric		half;			/* 1/2 */
} dp_numeric_bounds;

static inline dp_numeric_bounds
numeric_bounds(const dp_sum_spec *spec)
{
	dp_numeric_bounds bounds;

	bounds.low = dp_exact_scale_numeric(int64_to_numeric(spec->low),
										  (int) spec->exponent);
	bounds.high = dp_exact_scale_numeric(int64_to_numeric(spec->high),
										   (int) spec->exponent);
	bounds.factor = dp_exact_scale_numeric(int64_to_numeric(1),
											 -(int) spec->exponent);
	bounds.half = dp_base_power_of_two(-1);
	return bounds;
}

static inline int
compare_numeric(Numeric a, Numeric b)
{
	return DatumGetInt32(DirectFunctionCall2(numeric_cmp, NumericGetDatum(a),
											 NumericGetDatum(b)));
}

/*
 * The same for numeric.  The value is compared with the bounds first, so that
 * no arithmetic is done on huge ones; values between are scaled and rounded in
 * numeric, which cannot fail for such magnitudes. x is not NaN.
 */
static inline int64
granules_of_numeric(const dp_sum_spec *spec, const dp_numeric_bounds *bounds,
					Numeric x)
{
	Datum		y;

	if (compare_numeric(x, bounds->low) <= 0)
		return spec->low;
	if (compare_numeric(x, bounds->high) >= 0)
		return spec->high;
	y = DirectFunctionCall2(numeric_mul, NumericGetDatum(x),
							NumericGetDatum(bounds->factor));
	y = DirectFunctionCall2(numeric_add, y, NumericGetDatum(bounds->half));
	return DatumGetInt64(DirectFunctionCall1(
							 numeric_int8,
							 DirectFunctionCall1(numeric_floor, y)));
}

static inline bool
dp_find_float_granules(const dp_sum_spec *spec, float8 x, int64 *granules)
{
	if (isnan(x))
		return false;
	*granules = granules_of_float(spec, x);
	return true;
}

static inline bool
dp_find_numeric_granules(const dp_sum_spec *spec,
						 const dp_numeric_bounds *bounds, Numeric x,
						 int64 *granules)
{
	if (numeric_is_nan(x))
		return false;
	*granules = granules_of_numeric(spec, bounds, x);
	return true;
}

/*
 * The same for a value of a numeric base type: false if it is not counted,
 * because it is NaN.  `bounds` are needed for numeric only.
 */
static pg_attribute_always_inline bool
dp_find_granules(const dp_sum_spec *spec, const dp_numeric_bounds *bounds,
				 Oid type, Datum value, int64 *granules)
{
	switch (type)
	{
		case INT2OID:
			*granules = granules_of_integer(spec, DatumGetInt16(value));
			return true;
		case INT4OID:
			*granules = granules_of_integer(spec, DatumGetInt32(value));
			return true;
		case INT8OID:
			*granules = granules_of_integer(spec, DatumGetInt64(value));
			return true;
		case FLOAT4OID:
			return dp_find_float_granules(spec, DatumGetFloat4(value),
										  granules);
		case FLOAT8OID:
			return dp_find_float_granules(spec, DatumGetFloat8(value),
										  granules);
		default:
			return dp_find_numeric_granules(spec, bounds,
											DatumGetNumeric(value), granules);
	}
}

#endif							/* DP_TO_GRID_H */
