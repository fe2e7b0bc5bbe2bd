/*
 * axis.c
 *	  The public values of a column as places 0 .. size - 1.
 *
 * Three kinds.  A dense axis holds the integers (dates, booleans) first ..
 * first + known - 1.  A listed one holds declared keys or enum labels, in the
 * order of a group key.  Bins are equal half-open intervals between declared
 * bounds, the last one closed, with the exact edges of dp_histogram; a value
 * outside of the bounds counts at the nearer end, NaN nowhere.  Behind these
 * `known` places stand the key for all other values and NULL.
 *
 * Rows are looked up in a flat form, one piece of memory without pointers, so
 * that it can be a constant of a plan.  The list form holds values as text,
 * written and read under fixed settings, and types by name.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/lsyscache.h"

#include "dp_places.h"

/* ---- errors ---- */

/* dp_axis_raise: 22023, a column without public values. */
void
dp_axis_raise(const dp_axis *axis, const char *detail, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("column \"%s\" has no public values to count by",
					NameStr(axis->name)),
			 errdetail("%s", detail),
			 errhint("%s", hint)));
}

/* ---- looking up ---- */

static inline int64
dense_value(Oid type, Datum value)
{
	switch (type)
	{
		case INT2OID:
			return DatumGetInt16(value);
		case INT4OID:
		case DATEOID:
			return DatumGetInt32(value);
		case INT8OID:
			return DatumGetInt64(value);
		default:
			return DatumGetBool(value) ? 1 : 0;
	}
}

/*
 * dp_axis_find_flat
 *	  The place of a value in an axis's flat form, or -1: nowhere.
 */
int64
dp_axis_find_flat(const dp_axis_finder *finder, Datum value, bool isnull)
{
	int64		place;

	if (isnull)
		return finder->null;
	switch ((dp_axis_kind) finder->kind)
	{
		case DP_AXIS_DENSE:
			if (__builtin_sub_overflow(dense_value(finder->type, value),
									   finder->first, &place) ||
				place < 0 || place >= finder->known)
				return finder->other;
			return place;
		case DP_AXIS_LISTED:
			place = dp_tally_find_value(finder->spec, value);
			return place < 0 ? finder->other : place;
		case DP_AXIS_BINS:
			return dp_tally_find_bucket(finder->spec, value);
	}
	return -1;
}

/* dp_axis_integer_datum: an integer as a value of a dense axis's type. */
Datum
dp_axis_integer_datum(Oid type, int64 value)
{
	switch (type)
	{
		case INT2OID:
			return Int16GetDatum((int16) value);
		case INT4OID:
			return Int32GetDatum((int32) value);
		case DATEOID:
			return DateADTGetDatum((DateADT) value);
		case INT8OID:
			return Int64GetDatum(value);
		default:
			return BoolGetDatum(value != 0);
	}
}

/*
 * dp_axis_value
 *	  The value at a place, 0 <= place < size: of a bin its representative.
 *	  References stay with the axis.
 */
Datum
dp_axis_value(const dp_axis *axis, int64 place, bool *isnull)
{
	const dp_axis_finder *finder = axis->values->finder;

	*isnull = place == finder->null;
	if (*isnull)
		return (Datum) 0;
	if (finder->kind == DP_AXIS_DENSE)
		return dp_axis_integer_datum(finder->type, finder->first + place);
	return axis->values->values[place];
}

/*
 * dp_axis_is_complete
 *	  Has every value that the column may have a place, as far as is public?
 *	  Not those of other keys than the declared ones, nor outside of bounds
 *	  that are not cut into bins, nor NaN; nor those of an axis from a list.
 */
bool
dp_axis_is_complete(const dp_axis *axis)
{
	return axis->values->complete;
}

/* ---- making ---- */

/*
 * dp_axis_make_finder
 *	  A flat form around a spec of a tally, or NULL, of *length bytes, in the
 *	  current context.  No value has a place in it yet.
 */
dp_axis_finder *
dp_axis_make_finder(dp_axis_kind kind, Oid type, const Const *spec,
					Size *length)
{
	Size		size = spec == NULL ? 0 :
	VARSIZE(DatumGetPointer(spec->constvalue));
	dp_axis_finder *finder;

	*length = offsetof(dp_axis_finder, spec) + MAXALIGN(size);
	finder = palloc_extended(*length, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	if (spec != NULL)
		memcpy(finder->spec, DatumGetPointer(spec->constvalue), size);
	finder->kind = (int32) kind;
	finder->type = type;
	return finder;
}

/*
 * dp_axis_set_finder
 *	  Give the axis a flat form around a spec of dp_places.h, or NULL.
 */
void
dp_axis_set_finder(dp_axis *axis, dp_axis_kind kind, Oid type,
				   const Const *spec)
{
	struct dp_axis_values *values = palloc0(sizeof(struct dp_axis_values));

	values->finder = dp_axis_make_finder(kind, type, spec, &values->size);
	axis->values = values;
}

/* dp_axis_set_last_places: `known` places, and those behind them. */
void
dp_axis_set_last_places(dp_axis *axis, int64 known, bool other, bool null)
{
	dp_axis_finder *finder = axis->values->finder;

	axis->size = known;
	finder->known = known;
	finder->other = other ? axis->size++ : -1;
	finder->null = null ? axis->size++ : -1;
}

/* dp_axis_make_dense: integers of the type that follow each other. */
void
dp_axis_make_dense(dp_axis *axis, Oid type, Datum first)
{
	dp_axis_set_finder(axis, DP_AXIS_DENSE, type, NULL);
	axis->values->finder->first = dense_value(type, first);
}

/*
 * dp_axis_make_listed
 *	  The first `known` of the values are looked up; they stay with the axis.
 *
 * Errors: 22023 none, two equal, or a type that cannot be looked up.
 */
void
dp_axis_make_listed(dp_axis *axis, Oid type, Datum *values, int64 known)
{
	int64		twice;
	Const	   *spec;

	if (!dp_tally_can_read(type))
		dp_axis_raise(axis, "Its type has no built-in equality.",
					  "Choose a column of another type.");
	if (known < 1)
		dp_axis_raise(axis, "No values are declared.",
					  "Ask the data owner to run dp_declare.");
	spec = dp_tally_value_spec(type, values, known, &twice);
	if (spec == NULL)
		dp_axis_raise(axis, "Two of its declared values are equal.",
					  "Ask the data owner to run dp_declare again.");
	dp_axis_set_finder(axis, DP_AXIS_LISTED, type, spec);
	axis->values->values = values;
}
