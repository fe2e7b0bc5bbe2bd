/*
 * tally_bucket.c
 *	  The place of a value among n intervals of equal width.
 *
 * Bucket i (from 0) of [lower, upper] holds x with edge(i) <= x < edge(i+1),
 * edge(i) = lower + i (upper - lower) / n, and the last one also upper.
 * Values outside, NaN and infinities are in none.
 *
 * The spec has the edges in a form in which comparisons are exact:
 *
 *	  integers, dates, times	the least integer >= edge(i)
 *	  numeric					n edge(i), which is a finite decimal, to be
 *								compared with n x
 *	  floats					the float of the column's type nearest to
 *								edge(i), so that an edge with few decimals
 *								equals the same decimal in a row
 *
 * A multiplication estimates the bucket, and the edges decide.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "dp_places.h"

/* Edges of floats: decimal digits after the point before rounding. */
#define EDGE_DIGITS "1e40"
#define EDGE_UNIT "1e-40"

typedef union dp_edge
{
	int64		integer;
	float8		number;
	int64		offset;			/* of a numeric, from the spec's start */
} dp_edge;

typedef struct dp_bucket_spec
{
	int32		vl_len_;
	Oid			type;			/* of the argument */
	int64		n;
	int64		reach;			/* edges within the range of values, <= n */
	float8		factor;			/* buckets per unit */
	dp_edge		lower;			/* numeric only: the bounds themselves */
	dp_edge		upper;			/* inclusive */
	dp_edge		edges[FLEXIBLE_ARRAY_MEMBER];	/* n of them, ascending */
} dp_bucket_spec;

/* ---- finding a bucket ---- */

/* The last edge <= x by bisection; x is at least the first. */
#define BISECT(spec, is_at_least) \
	int64		low = 0; \
	int64		high = (spec)->reach - 1; \
	while (low < high) \
	{ \
		int64		middle = low + (high - low + 1) / 2; \
		if (is_at_least(middle)) \
			low = middle; \
		else \
			high = middle - 1; \
	} \
	return low

static pg_noinline int64
bisect_integer(const dp_bucket_spec *spec, int64 x)
{
#define AT_LEAST(i) (x >= spec->edges[i].integer)
	BISECT(spec, AT_LEAST);
#undef AT_LEAST
}

static pg_noinline int64
bisect_float(const dp_bucket_spec *spec, float8 x)
{
#define AT_LEAST(i) (x >= spec->edges[i].number)
	BISECT(spec, AT_LEAST);
#undef AT_LEAST
}

static inline int64
bucket_of_integer(const dp_bucket_spec *spec, int64 x)
{
	uint64		above = (uint64) x - (uint64) spec->edges[0].integer;
	int64		guess;

	if (spec->reach == 0 || x < spec->edges[0].integer ||
		x > spec->upper.integer)
		return -1;
	guess = (int64) ((double) above * spec->factor);
	if (guess >= spec->reach)
		guess = spec->reach - 1;
	if (likely(x >= spec->edges[guess].integer &&
			   (guess + 1 == spec->reach ||
				x < spec->edges[guess + 1].integer)))
		return guess;
	return bisect_integer(spec, x);
}

static inline int64
bucket_of_float(const dp_bucket_spec *spec, float8 x)
{
	double		place;
	int64		guess;

	/* also false for NaN */
	if (!(x >= spec->edges[0].number && x <= spec->upper.number))
		return -1;
	place = (x - spec->edges[0].number) * spec->factor;
	guess = place < (double) spec->n ? (int64) place : spec->n - 1;
	if (likely(x >= spec->edges[guess].number &&
			   (guess + 1 == spec->n ||
				x < spec->edges[guess + 1].number)))
		return guess;
	return bisect_float(spec, x);
}

static inline Datum
numeric_edge(const dp_bucket_spec *spec, dp_edge edge)
{
	return PointerGetDatum((const char *) spec + edge.offset);
}

static bool
numeric_at_least(Datum x, Datum y)
{
	return DatumGetInt32(DirectFunctionCall2(numeric_cmp, x, y)) >= 0;
}

static int64
bisect_numeric(const dp_bucket_spec *spec, Datum scaled)
{
#define AT_LEAST(i) \
	numeric_at_least(scaled, numeric_edge(spec, spec->edges[i]))
	BISECT(spec, AT_LEAST);
#undef AT_LEAST
}

/*
 * The bounds are compared first, so that there is no arithmetic on huge
 * values; values between them can be multiplied by n, as the bounds could.
 */
static int64
bucket_of_numeric(const dp_bucket_spec *spec, Datum value)
{
	Numeric		number = DatumGetNumeric(value);
	Datum		x = NumericGetDatum(number);

	if (numeric_is_nan(number) ||
		!numeric_at_least(x, numeric_edge(spec, spec->lower)) ||
		!numeric_at_least(numeric_edge(spec, spec->upper), x))
		return -1;
	return bisect_numeric(spec, DirectFunctionCall2(
							  numeric_mul, x,
							  NumericGetDatum(int64_to_numeric(spec->n))));
}

static inline int64
bucket_of(const dp_bucket_spec *spec, Datum x)
{
	switch (spec->type)
	{
		case INT4OID:
		case DATEOID:
			return bucket_of_integer(spec, DatumGetInt32(x));
		case INT8OID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return bucket_of_integer(spec, DatumGetInt64(x));
		case FLOAT8OID:
			return bucket_of_float(spec, DatumGetFloat8(x));
		case FLOAT4OID:
			return bucket_of_float(spec, DatumGetFloat4(x));
		case INT2OID:
			return bucket_of_integer(spec, DatumGetInt16(x));
		default:
			return bucket_of_numeric(spec, x);
	}
}

/* Whether a value that is in no bucket is above all buckets. */
static bool
is_above(const dp_bucket_spec *spec, Datum x)
{
	switch (spec->type)
	{
		case INT4OID:
		case DATEOID:
			return DatumGetInt32(x) > spec->upper.integer;
		case INT8OID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return DatumGetInt64(x) > spec->upper.integer;
		case INT2OID:
			return DatumGetInt16(x) > spec->upper.integer;
		case FLOAT8OID:
			return DatumGetFloat8(x) > spec->upper.number;
		case FLOAT4OID:
			return DatumGetFloat4(x) > spec->upper.number;
		default:
			return numeric_at_least(x, numeric_edge(spec, spec->upper));
	}
}

static bool
is_nan(const dp_bucket_spec *spec, Datum x)
{
	switch (spec->type)
	{
		case FLOAT8OID:
			return isnan(DatumGetFloat8(x));
		case FLOAT4OID:
			return isnan(DatumGetFloat4(x));
		case NUMERICOID:
			return numeric_is_nan(DatumGetNumeric(x));
		default:
			return false;
	}
}

/*
 * dp_places_tally_bucket
 *	  The bucket of a value, or -1.
 */
int64
dp_places_tally_bucket(const void *spec, Datum value)
{
	return bucket_of(spec, value);
}

/*
 * dp_places_tally_find_bucket
 *	  The bucket of a value clamped to the bounds; -1 for NaN.
 */
int64
dp_places_tally_find_bucket(const void *spec, Datum value)
{
	const dp_bucket_spec *buckets = spec;
	int64		bucket = bucket_of(buckets, value);

	if (likely(bucket >= 0))
		return bucket;
	if (is_nan(buckets, value))
		return -1;
	return is_above(buckets, value) ? buckets->n - 1 : 0;
}

/*
 * dp_places_tally_bucket_limits
 *	  The least and the greatest integer, day or microsecond of a bucket; first
 *	  > last if it is empty.
 */
void
dp_places_tally_bucket_limits(const void *spec, int64 bucket, int64 *first,
							  int64 *last)
{
	const dp_bucket_spec *buckets = spec;

	*first = buckets->edges[bucket].integer;
	*last = bucket + 1 == buckets->n ? buckets->upper.integer :
		buckets->edges[bucket + 1].integer - 1;
}

/* ---- the spec ---- */

static Datum
multiply(Datum a, Datum b)
{
	return DirectFunctionCall2(numeric_mul, a, b);
}

static Datum
from_integer(int64 x)
{
	return NumericGetDatum(int64_to_numeric(x));
}

/* n edge(i) = n lower + i (upper - lower), exactly. */
static Datum
scaled_edge(Numeric lower, Numeric upper, int64 n, int64 i)
{
	Datum		width = DirectFunctionCall2(numeric_sub,
											NumericGetDatum(upper),
											NumericGetDatum(lower));

	return DirectFunctionCall2(numeric_add,
							   multiply(NumericGetDatum(lower),
										from_integer(n)),
							   multiply(width, from_integer(i)));
}

/* floor(x / n), n > 0, exactly. */
static Datum
floor_quotient(Datum x, int64 n)
{
	Datum		divisor = from_integer(n);
	Datum		quotient = DirectFunctionCall2(numeric_div_trunc, x, divisor);

	if (!numeric_at_least(x, multiply(quotient, divisor)))
		quotient = DirectFunctionCall2(numeric_sub, quotient,
									   from_integer(1));
	return quotient;
}

/* The least integer >= x / n in *out; returns 1 if it is above 64 bits. */
static int
integer_edge(Datum x, int64 n, int64 *out)
{
	Datum		minus = DirectFunctionCall1(numeric_uminus, x);
	Datum		edge = DirectFunctionCall1(numeric_uminus,
										   floor_quotient(minus, n));
	dp_int128	value;

	if (numeric_at_least(from_integer(PG_INT64_MIN), edge))
		*out = PG_INT64_MIN;
	else if (!numeric_at_least(from_integer(PG_INT64_MAX), edge))
		return 1;
	else if (dp_bridge_numeric_to_int128(DatumGetNumeric(edge), &value))
		*out = (int64) value;
	return 0;
}

static void
fill_integers(dp_bucket_spec *spec, Numeric lower, Numeric upper)
{
	int64		beyond;
	int64		i;

	for (i = 0; i < spec->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (integer_edge(scaled_edge(lower, upper, spec->n, i), spec->n,
						 &spec->edges[i].integer) != 0)
			break;
	}
	spec->reach = i;

	/* floor(upper) = the least integer >= -upper, negated */
	if (!numeric_at_least(NumericGetDatum(upper),
						  from_integer(PG_INT64_MIN)))
		spec->reach = 0;
	else if (integer_edge(DirectFunctionCall1(numeric_uminus,
											  NumericGetDatum(upper)),
						  1, &beyond) == 0)
		spec->upper.integer = beyond == PG_INT64_MIN ? PG_INT64_MAX : -beyond;
	else
		spec->upper.integer = PG_INT64_MIN; /* upper is -2^63 */
}

/* The float of the type nearest to x / n. */
static float8
float_edge(Oid type, Datum x, int64 n)
{
	Datum		quotient;
	float8		edge;

	quotient = DirectFunctionCall2(numeric_div,
								   multiply(x, NumericGetDatum(
									   dp_bridge_text_to_numeric(
										   EDGE_DIGITS))),
								   from_integer(n));
	quotient = multiply(quotient, NumericGetDatum(
							dp_bridge_text_to_numeric(EDGE_UNIT)));
	edge = DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow,
											  quotient));
	if (type == FLOAT4OID)
		edge = (float8) (float4) edge;
	return edge;
}

static void
fill_floats(dp_bucket_spec *spec, Numeric lower, Numeric upper)
{
	int64		i;

	for (i = 0; i < spec->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		spec->edges[i].number =
			float_edge(spec->type, scaled_edge(lower, upper, spec->n, i),
					   spec->n);
		if (i > 0 && spec->edges[i].number < spec->edges[i - 1].number)
			spec->edges[i].number = spec->edges[i - 1].number;
	}
	spec->upper.number = float_edge(spec->type, NumericGetDatum(upper), 1);
	spec->reach = spec->n;
	if (isinf(spec->upper.number) || isinf(spec->edges[0].number) ||
		spec->upper.number <= spec->edges[0].number)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("bounds are out of range for the type of the "
						"column"),
				 errhint("Use bounds further apart and within its range.")));
}

/* Store a numeric at *end of the spec and advance *end. */
static dp_edge
place_numeric(dp_bucket_spec *spec, Size *end, Numeric number)
{
	dp_edge		edge;

	edge.offset = (int64) *end;
	memcpy((char *) spec + *end, number, VARSIZE(number));
	*end += MAXALIGN(VARSIZE(number));
	return edge;
}

/* Make the spec for numerics, which follow the edges. */
static dp_bucket_spec *
fill_numerics(dp_bucket_spec *spec, Size *size, Numeric lower, Numeric upper)
{
	int64		n = spec->n;
	Numeric    *edges = palloc(sizeof(Numeric) * (n + 1));
	Size		end = MAXALIGN(*size);
	int64		i;

	/* the last one only checks that upper can be multiplied by n */
	for (i = 0; i <= n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		edges[i] = DatumGetNumeric(scaled_edge(lower, upper, n, i));
	}
	*size = end + MAXALIGN(VARSIZE(lower)) + MAXALIGN(VARSIZE(upper));
	for (i = 0; i < n; i++)
		*size += MAXALIGN(VARSIZE(edges[i]));
	spec = repalloc(spec, *size);
	memset((char *) spec + end, 0, *size - end);
	spec->lower = place_numeric(spec, &end, lower);
	spec->upper = place_numeric(spec, &end, upper);
	for (i = 0; i < n; i++)
		spec->edges[i] = place_numeric(spec, &end, edges[i]);
	spec->reach = n;
	return spec;
}

/*
 * dp_places_tally_bucket_spec
 *	  The spec of n buckets with finite bounds lower < upper for values of the
 *	  type; bounds of dates and times are in days and microseconds.
 *
 * Errors: 22023 if the column's type cannot distinguish the bounds.
 */
Const *
dp_places_tally_bucket_spec(Oid type, Numeric lower, Numeric upper, int64 n)
{
	Size		size = offsetof(dp_bucket_spec, edges) + sizeof(dp_edge) * n;
	dp_bucket_spec *spec = palloc0(size);
	Datum		width = DirectFunctionCall2(numeric_sub,
											NumericGetDatum(upper),
											NumericGetDatum(lower));

	spec->type = type;
	spec->n = n;
	spec->factor = (double) n /
		DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow,
										   width));
	if (!isfinite(spec->factor))
		spec->factor = 0;
	if (type == FLOAT4OID || type == FLOAT8OID)
		fill_floats(spec, lower, upper);
	else if (type == NUMERICOID)
		spec = fill_numerics(spec, &size, lower, upper);
	else
		fill_integers(spec, lower, upper);
	return dp_places_tally_spec_const(spec, size);
}
