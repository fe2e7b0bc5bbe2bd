/*
 * axis_bins.c
 *	  Axes of bins: equal intervals between the declared bounds of a column.
 *
 * The edges are those of dp_histogram (tally_bucket.c).  Each bin has a
 * representative in the bin, near its middle and short: the middle integer, a
 * round time, a number with few decimals.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "dp_places.h"

static void
raise_bins(const dp_axis *axis, const char *detail, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("column \"%s\" cannot be cut into %d bins",
					NameStr(axis->name), axis->bins),
			 errdetail("%s", detail),
			 errhint("%s", hint)));
}

static bool
counts_whole(Oid type)
{
	return dp_places_is_integer(type) || dp_places_is_time(type);
}

/* A round time of a bin, near its middle. */
static int64
round_moment(int64 first, int64 middle)
{
	static const int64 units[] = {USECS_PER_DAY, USECS_PER_HOUR,
	USECS_PER_MINUTE, USECS_PER_SEC, 1000};
	int			i;

	for (i = 0; i < lengthof(units); i++)
	{
		int64		rest = middle % units[i];
		int64		rounded = middle - rest - (rest < 0 ? units[i] : 0);

		if (rounded >= first)
			return rounded;
	}
	return middle;
}

static Datum
middle_integer(const dp_axis *axis, int64 bin)
{
	const dp_axis_finder *finder = axis->values->finder;
	Oid			type = finder->places.type;
	int64		first;
	int64		last;
	int64		middle;

	dp_places_tally_bucket_limits(finder->spec, bin, &first, &last);
	if (first > last)
		raise_bins(axis, "One of the bins would hold no value of its type.",
				   "Use fewer bins.");
	middle = first + (int64) (((uint64) last - (uint64) first) / 2);
	if (type == TIMESTAMPOID || type == TIMESTAMPTZOID)
		return Int64GetDatum(round_moment(first, middle));
	return dp_places_integer_datum(type, middle);
}

static Datum
to_type(Oid type, Datum number)
{
	if (type == FLOAT8OID)
		return DirectFunctionCall1(numeric_float8, number);
	if (type == FLOAT4OID)
		return DirectFunctionCall1(numeric_float4, number);
	return number;
}

/* lower + (bin + 1/2) (upper - lower) / bins, to 16 digits or more. */
static Datum
exact_middle(const dp_axis *axis, int64 bin)
{
	Datum		lower = NumericGetDatum(axis->values->lower);
	Datum		width = DirectFunctionCall2(
		numeric_sub, NumericGetDatum(axis->values->upper), lower);
	Datum		part = NumericGetDatum(int64_to_numeric(2 * bin + 1));
	Datum		parts = NumericGetDatum(int64_to_numeric(2 * (int64)
														 axis->bins));

	return DirectFunctionCall2(
		numeric_add, lower,
		DirectFunctionCall2(numeric_div,
							DirectFunctionCall2(numeric_mul, width, part),
							parts));
}

/* Digits after the point that the column keeps; -1: all. */
static int
digits_kept(const dp_axis *axis)
{
	if (axis->values->finder->places.type != NUMERICOID ||
		axis->typmod < (int32) VARHDRSZ)
		return -1;
	return dp_places_typmod_digits(axis->typmod);
}

/* Round the middle of a bin; false if the result is not in the bin. */
static bool
round_middle(const dp_axis *axis, int64 bin, Datum middle, int digits,
			 Datum *out)
{
	const dp_axis_finder *finder = axis->values->finder;
	Datum		number = DirectFunctionCall2(numeric_round, middle,
											 Int32GetDatum(digits));

	*out = to_type(finder->places.type, number);
	return dp_places_tally_find_bucket(finder->spec, *out) == bin &&
		DatumGetBool(DirectFunctionCall2(
						 numeric_le, NumericGetDatum(axis->values->lower),
						 number)) &&
		DatumGetBool(DirectFunctionCall2(
						 numeric_le, number,
						 NumericGetDatum(axis->values->upper)));
}

/* The middle, rounded to about a tenth of the bin's width or finer. */
static Datum
middle_number(const dp_axis *axis, int64 bin)
{
	Datum		middle = exact_middle(axis, bin);
	int			kept = digits_kept(axis);
	double		width;
	Datum		value;
	int			digits;
	int			i;

	width = DatumGetFloat8(DirectFunctionCall1(
							   numeric_float8_no_overflow,
							   DirectFunctionCall2(
								   numeric_sub,
								   NumericGetDatum(axis->values->upper),
								   NumericGetDatum(axis->values->lower))));
	digits = (int) ceil(-log10(width / axis->bins / 5));
	for (i = 0; i < 4; i++)
		if ((kept == -1 || digits + i <= kept) &&
			round_middle(axis, bin, middle, digits + i, &value))
			return value;
	if (!round_middle(axis, bin, middle, kept == -1 ? digits + 20 : kept,
					  &value))
		raise_bins(axis, "One of the bins would hold no value of its type.",
				   "Use fewer bins.");
	return value;
}

/*
 * dp_places_axis_make_bins
 *	  The finder and the representatives of axis->bins bins, from the bounds.
 *
 * Errors: 22023 if the type cannot distinguish the bins.
 */
void
dp_places_axis_make_bins(dp_axis *axis, Oid type, Numeric lower, Numeric upper)
{
	int64		i;

	dp_places_axis_set_finder(axis, DP_AXIS_BINS, type,
							  dp_places_tally_bucket_spec(type, lower, upper,
														  axis->bins));
	axis->values->lower = lower;
	axis->values->upper = upper;
	axis->values->values = palloc_extended(sizeof(Datum) * axis->bins,
										   MCXT_ALLOC_HUGE);
	for (i = 0; i < axis->bins; i++)
	{
		CHECK_FOR_INTERRUPTS();
		axis->values->values[i] = counts_whole(type) ?
			middle_integer(axis, i) : middle_number(axis, i);
	}
}

static Numeric
bound_number(const char *text, Oid type)
{
	if (!dp_places_is_time(type))
		return DatumGetNumeric(dp_places_read_declared(text, NUMERICOID, -1));
	return dp_places_time_numeric(dp_places_read_declared(text, type, -1),
								   type);
}

static bool
can_have_bins(Oid type)
{
	return counts_whole(type) || type == NUMERICOID || type == FLOAT4OID ||
		type == FLOAT8OID;
}

/* The declaration of the column, or NULL. */
static dp_attribute *
find_declared(Oid relid, AttrNumber attnum)
{
	return attnum == 0 ? NULL : dp_protect_attribute(relid, attnum);
}

/*
 * dp_places_axis_can_have_bins
 *	  Whether it is a column of numbers, dates or timestamps with declared
 *	  bounds.  `attnum` as for dp_places_axis_make_declared_bins.
 */
bool
dp_places_axis_can_have_bins(const dp_axis *axis, Oid relid, AttrNumber attnum)
{
	dp_attribute *declared = find_declared(relid, attnum);
	Oid			type = getBaseType(axis->type);

	return declared != NULL && declared->lower != NULL &&
		can_have_bins(type) &&
		getBaseType(get_atttype(relid, attnum)) == type;
}

/*
 * dp_places_axis_make_declared_bins
 *	  The bins and the place of NULL.  `attnum` is the underlying column of the
 *	  protected relation; 0: there is none.
 *
 * Errors: 22023 no bounds, wrong type of column, or invalid number of bins.
 */
void
dp_places_axis_make_declared_bins(dp_axis *axis, Oid relid, AttrNumber attnum,
								  bool nullable)
{
	dp_attribute *declared = find_declared(relid, attnum);
	Oid			type = getBaseType(axis->type);

	if (axis->bins < 0)
		raise_bins(axis, "The number of bins is negative.",
				   "Use a positive number, or 0 for none.");
	if (!can_have_bins(type) || attnum == 0 ||
		getBaseType(get_atttype(relid, attnum)) != type)
		raise_bins(axis, "Bins are parts of a column of numbers, dates or "
				   "timestamps.", "Leave its bins out.");
	if (declared == NULL || declared->lower == NULL)
		raise_bins(axis, "Its bounds are not declared.",
				   "Ask the data owner to run dp_declare(relation, column, "
				   "lower => ..., upper => ...).");
	dp_places_axis_make_bins(axis, type, bound_number(declared->lower, type),
							 bound_number(declared->upper, type));
	dp_places_axis_set_last_places(axis, axis->bins, false, nullable);
	axis->values->complete = counts_whole(type);	/* there is no NaN */
}
