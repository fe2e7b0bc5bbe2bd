/*
 * interval.c
 *	  Arithmetic on intervals of numbers, rounded outwards.
 *
 * Ends are numeric, and exact except that quotients and long numbers are
 * rounded outwards; an unknown end is infinite.  All numbers here are public,
 * and rows are clamped to the interval: a wrong one would cost accuracy, never
 * privacy (doc/theory.md T90).
 */
#include "postgres.h"

#include <math.h>

#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "../../math/noise/dp_noise.h"
#include "../../base/dp_base.h"
#include "dp_domains.h"
#include "domains_internal.h"

/* Ends beyond 10^400 are infinite; digits beyond 10^-400 are rounded. */
#define END_DIGITS 400
/* numeric's quotients have at least 16 significant digits */
#define QUOTIENT_STEP "1e-15"

static Numeric
interval_read_number(const char *text)
{
	return dp_base_text_to_numeric(text);
}

static Numeric
infinity(bool up)
{
	return interval_read_number(up ? "Infinity" : "-Infinity");
}

static int
sign(Numeric x)
{
	return dp_numeric_compare(x, int64_to_numeric(0));
}

/* Normalize an end: NaN and numbers that are too large become unknown. */
static Numeric
tidy(Numeric x, bool up)
{
	Numeric		cut;
	Numeric		size;

	if (numeric_is_nan(x))
		return infinity(up);
	if (numeric_is_inf(x))
		return x;
	size = dp_numeric_call1(numeric_abs, x);
	if (dp_numeric_compare(size, interval_read_number("1e400")) > 0)
		return sign(x) > 0 && !up ? interval_read_number("1e400") :
			sign(x) < 0 && up ? interval_read_number("-1e400") : infinity(up);
	x = dp_numeric_call1(numeric_trim_scale, x);
	cut = DatumGetNumeric(DirectFunctionCall2(numeric_trunc,
											  NumericGetDatum(x),
											  Int32GetDatum(END_DIGITS)));
	if (up && dp_numeric_compare(cut, x) < 0)
		return dp_numeric_call2(numeric_add, cut,
								interval_read_number("1e-400"));
	if (!up && dp_numeric_compare(cut, x) > 0)
		return dp_numeric_call2(numeric_sub, cut,
								interval_read_number("1e-400"));
	return cut;
}

static dp_interval
make(Numeric low, Numeric high)
{
	dp_interval a;

	a.empty = false;
	a.low = tidy(low, false);
	a.high = tidy(high, true);
	return a;
}

static Numeric
least(Numeric a, Numeric b)
{
	return dp_numeric_compare(a, b) <= 0 ? a : b;
}

static Numeric
greatest(Numeric a, Numeric b)
{
	return dp_numeric_compare(a, b) >= 0 ? a : b;
}

/* dp_domains_interval_nothing: for an expression that is always NULL. */
dp_interval
dp_domains_interval_nothing(void)
{
	dp_interval a = {true, NULL, NULL};

	return a;
}

/* dp_domains_interval_everything: nothing is known. */
dp_interval
dp_domains_interval_everything(void)
{
	return make(infinity(false), infinity(true));
}

/*
 * dp_domains_interval_point: one number; nothing for NaN, which does not
 * count.
 */
dp_interval
dp_domains_interval_point(Numeric x)
{
	return numeric_is_nan(x) ? dp_domains_interval_nothing() : make(x, x);
}

/* dp_domains_interval_between: from one integer to another. */
dp_interval
dp_domains_interval_between(int64 low, int64 high)
{
	return make(int64_to_numeric(low), int64_to_numeric(high));
}

/* dp_domains_interval_is_bounded: not empty, and both ends are known. */
bool
dp_domains_interval_is_bounded(dp_interval a)
{
	return !a.empty && !numeric_is_inf(a.low) && !numeric_is_inf(a.high);
}

/* dp_domains_interval_hull: the smallest interval that contains both. */
dp_interval
dp_domains_interval_hull(dp_interval a, dp_interval b)
{
	if (a.empty || b.empty)
		return a.empty ? b : a;
	return make(least(a.low, b.low), greatest(a.high, b.high));
}

/*
 * dp_domains_interval_meet
 *	  The numbers that are in both, or the first if there are none.
 */
dp_interval
dp_domains_interval_meet(dp_interval a, dp_interval b)
{
	dp_interval both;

	if (a.empty || b.empty)
		return a;
	both = make(greatest(a.low, b.low), least(a.high, b.high));
	return dp_numeric_compare(both.low, both.high) <= 0 ? both : a;
}

/* dp_domains_interval_add: a + b. */
dp_interval
dp_domains_interval_add(dp_interval a, dp_interval b)
{
	if (a.empty || b.empty)
		return dp_domains_interval_nothing();
	return make(dp_numeric_call2(numeric_add, a.low, b.low),
				dp_numeric_call2(numeric_add, a.high, b.high));
}

/* dp_domains_interval_negate: -a. */
dp_interval
dp_domains_interval_negate(dp_interval a)
{
	if (a.empty)
		return a;
	return make(dp_numeric_call1(numeric_uminus, a.high),
				dp_numeric_call1(numeric_uminus, a.low));
}

/* 0 times an unknown end is 0. */
static Numeric
product(Numeric a, Numeric b)
{
	Numeric		x = dp_numeric_call2(numeric_mul, a, b);

	return numeric_is_nan(x) ? int64_to_numeric(0) : x;
}

/* dp_domains_interval_multiply: a * b. */
dp_interval
dp_domains_interval_multiply(dp_interval a, dp_interval b)
{
	Numeric		ends[4];
	Numeric		low;
	Numeric		high;
	int			i;

	if (a.empty || b.empty)
		return dp_domains_interval_nothing();
	ends[0] = product(a.low, b.low);
	ends[1] = product(a.low, b.high);
	ends[2] = product(a.high, b.low);
	ends[3] = product(a.high, b.high);
	low = high = ends[0];
	for (i = 1; i < 4; i++)
	{
		low = least(low, ends[i]);
		high = greatest(high, ends[i]);
	}
	return make(low, high);
}

/* a / b, b not 0, rounded up or down; 0 if b is unknown. */
static Numeric
quotient(Numeric a, Numeric b, bool up)
{
	Numeric		q;
	Numeric		step;

	if (numeric_is_inf(b))
		return int64_to_numeric(0);
	q = dp_numeric_call2(numeric_div, a, b);
	if (numeric_is_inf(a) ||
		dp_numeric_compare(dp_numeric_call2(numeric_mul, q, b), a) == 0)
		return q;
	step = dp_numeric_call2(numeric_mul, dp_numeric_call1(numeric_abs, q),
							interval_read_number(QUOTIENT_STEP));
	step = dp_numeric_call2(numeric_add, step, interval_read_number("1e-400"));
	return dp_numeric_call2(up ? numeric_add : numeric_sub, q, step);
}

/* a / b for b from 0, or above it, up to an end; b = 0 gives NULL. */
static dp_interval
divide_by_natural(dp_interval a, Numeric most)
{
	dp_interval q = dp_domains_interval_everything();

	if (sign(a.low) >= 0)
		q.low = quotient(a.low, most, false);
	if (sign(a.high) <= 0)
		q.high = quotient(a.high, most, true);
	return q;
}

/*
 * dp_domains_interval_divide
 *	  a / b, which is NULL where b is 0; everything if b is 0, or may have
 *	  either sign.
 */
dp_interval
dp_domains_interval_divide(dp_interval a, dp_interval b)
{
	Numeric		low;
	Numeric		high;
	int			i;

	if (a.empty || b.empty)
		return dp_domains_interval_nothing();
	if (sign(b.low) == 0 && sign(b.high) > 0)
		return divide_by_natural(a, b.high);
	if (sign(b.low) < 0 && sign(b.high) == 0)
		return dp_domains_interval_divide(dp_domains_interval_negate(a),
										  dp_domains_interval_negate(b));
	if (sign(b.low) <= 0 && sign(b.high) >= 0)
		return dp_domains_interval_everything();
	low = quotient(a.low, b.low, false);
	high = quotient(a.low, b.low, true);
	for (i = 1; i < 4; i++)
	{
		Numeric		x = i & 1 ? a.high : a.low;
		Numeric		y = i & 2 ? b.high : b.low;

		low = least(low, quotient(x, y, false));
		high = greatest(high, quotient(x, y, true));
	}
	return make(low, high);
}

/*
 * dp_domains_interval_remainder
 *	  a mod b: it has the dividend's sign, and is no larger than it and smaller
 *	  than the divisor.
 */
dp_interval
dp_domains_interval_remainder(dp_interval a, dp_interval b, bool integers)
{
	Numeric		zero = int64_to_numeric(0);
	Numeric		most;

	if (a.empty || b.empty)
		return dp_domains_interval_nothing();
	most = dp_domains_interval_absolute(b).high;
	if (integers)
		most = greatest(zero, dp_numeric_call2(numeric_sub, most,
											   int64_to_numeric(1)));
	return make(greatest(least(a.low, zero),
						 dp_numeric_call1(numeric_uminus, most)),
				least(greatest(a.high, zero), most));
}

/* dp_domains_interval_absolute: abs(a). */
dp_interval
dp_domains_interval_absolute(dp_interval a)
{
	Numeric		zero = int64_to_numeric(0);
	dp_interval minus;

	if (a.empty)
		return a;
	minus = dp_domains_interval_negate(a);
	return make(greatest(zero, greatest(a.low, minus.low)),
				greatest(a.high, minus.high));
}

/*
 * dp_domains_interval_greatest
 *	  GREATEST(a, b); `both`: neither can be NULL, which GREATEST ignores.
 */
dp_interval
dp_domains_interval_greatest(dp_interval a, dp_interval b, bool both)
{
	if (a.empty || b.empty)
		return a.empty ? b : a;
	return make(both ? greatest(a.low, b.low) : least(a.low, b.low),
				greatest(a.high, b.high));
}

/* dp_domains_interval_map: apply a nondecreasing function of numeric. */
dp_interval
dp_domains_interval_map(dp_interval a, PGFunction monotone)
{
	if (a.empty)
		return a;
	return make(dp_numeric_call1(monotone, a.low),
				dp_numeric_call1(monotone, a.high));
}

static Numeric
interval_to_digits(PGFunction function, Numeric x, int digits)
{
	return DatumGetNumeric(DirectFunctionCall2(function, NumericGetDatum(x),
											   Int32GetDatum(digits)));
}

/* dp_domains_interval_map_to: the same with a number of digits. */
dp_interval
dp_domains_interval_map_to(dp_interval a, PGFunction monotone, int digits)
{
	if (a.empty)
		return a;
	return make(interval_to_digits(monotone, a.low, digits),
				interval_to_digits(monotone, a.high, digits));
}

/*
 * dp_domains_interval_nearest
 *	  The nearest integer; halves may go either way, since floats and numeric
 *	  round them differently.
 */
dp_interval
dp_domains_interval_nearest(dp_interval a)
{
	Numeric		half = dp_base_power_of_two(-1);

	if (a.empty)
		return a;
	return make(dp_numeric_call1(numeric_ceil,
								 dp_numeric_call2(numeric_sub, a.low, half)),
				dp_numeric_call1(numeric_floor,
								 dp_numeric_call2(numeric_add, a.high,
												  half)));
}

/* dp_domains_interval_widen: extend both sides. */
dp_interval
dp_domains_interval_widen(dp_interval a, int64 by)
{
	return dp_domains_interval_add(a, dp_domains_interval_between(-by, by));
}

/*
 * dp_domains_interval_clip
 *	  The part of a bounded interval that is in [low, high]; beyond, the
 *	  expression is NULL.
 */
dp_interval
dp_domains_interval_clip(dp_interval a, int64 low, int64 high)
{
	Numeric		first = int64_to_numeric(low);
	Numeric		last = int64_to_numeric(high);

	if (!dp_domains_interval_is_bounded(a))
		return a;
	if (dp_numeric_compare(a.low, last) > 0 ||
		dp_numeric_compare(a.high, first) < 0)
		return dp_domains_interval_nothing();
	return make(greatest(a.low, first), least(a.high, last));
}

/* The exact value of a double. */
static Numeric
exact_double(double x)
{
	int			exponent;
	double		fraction = frexp(x, &exponent);

	return dp_numeric_call2(numeric_mul,
							int64_to_numeric((int64) ldexp(fraction, 53)),
							dp_base_power_of_two(exponent - 53));
}

/* x or the nearest float, whichever is farther out. */
static Numeric
float_end(Numeric x, bool single, bool up)
{
	double		nearest;

	if (numeric_is_inf(x))
		return x;
	nearest = DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow,
												 NumericGetDatum(x)));
	if (single)
	{
		float		next = (float) nearest;

		/*
		 * it was rounded twice: take the next one if it is on the wrong side
		 */
		if (!isinf(next) &&
			dp_numeric_compare(exact_double(next), x) == (up ? -1 : 1))
			next = nextafterf(next, up ? INFINITY : -INFINITY);
		nearest = next;
	}
	if (isinf(nearest))
		return infinity(up);
	return up ? greatest(x, exact_double(nearest)) :
		least(x, exact_double(nearest));
}

/*
 * dp_domains_interval_float
 *	  Numbers of the interval rounded to double precision or real; rounding is
 *	  monotone, so the rounded ends are bounds.
 */
dp_interval
dp_domains_interval_float(dp_interval a, bool single)
{
	if (a.empty)
		return a;
	return make(float_end(a.low, single, false),
				float_end(a.high, single, true));
}

/* dp_domains_interval_of_double: its exact value; nothing for NaN. */
dp_interval
dp_domains_interval_of_double(double x)
{
	if (isnan(x))
		return dp_domains_interval_nothing();
	return dp_domains_interval_point(isinf(x) ? infinity(x > 0) :
									 exact_double(x));
}

/* ---- constants ---- */

/*
 * Whether the interval has the form of a difference of timestamps: whole days
 * and less than one more, with the same sign.
 */
static bool
is_difference(const Interval *span)
{
	return span->month == 0 &&
		span->time > -USECS_PER_DAY && span->time < USECS_PER_DAY &&
		(span->day == 0 || span->time == 0 ||
		 (span->day > 0) == (span->time > 0));
}

static Numeric
span_microseconds(const Interval *span)
{
	return dp_base_int128_to_numeric((dp_int128) span->day * USECS_PER_DAY +
									 span->time);
}

/* dp_domains_interval_of_constant: everything, if its type has no numbers. */
dp_interval
dp_domains_interval_of_constant(const Const *constant)
{
	Datum		value = constant->constvalue;
	int64		integer;

	if (constant->constisnull)
		return dp_domains_interval_nothing();
	switch (getBaseType(constant->consttype))
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
			integer = dp_domains_integer(getBaseType(constant->consttype),
										 value);
			return dp_domains_interval_between(integer, integer);
		case NUMERICOID:
			return dp_domains_interval_point(DatumGetNumeric(value));
		case FLOAT4OID:
			return dp_domains_interval_of_double(DatumGetFloat4(value));
		case FLOAT8OID:
			return dp_domains_interval_of_double(DatumGetFloat8(value));
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return dp_domains_interval_point(
				dp_domains_time_numeric(value, constant->consttype));
		case INTERVALOID:
			if (is_difference(DatumGetIntervalP(value)))
				return dp_domains_interval_point(
					span_microseconds(DatumGetIntervalP(value)));
	}
	return dp_domains_interval_everything();
}
