/*
 * axis.c
 *	  The public values of a column as places 0 .. size - 1.
 *
 * Three kinds.  A dense axis holds the integers (dates, booleans) first ..
 * first + known - 1.  A listed one holds declared keys or enum labels, in the
 * order of a group key.  Bins are equal half-open intervals between declared
 * bounds, the last one closed, with the exact edges of dp_histogram; a value
 * outside of the bounds counts in the nearer end bin, NaN in none.  After
 * these `known` places come those of all other values and of NULL.
 *
 * Rows are looked up in a flat form, one piece of memory without pointers, so
 * that it can be a constant in a plan.  The list form has values as texts,
 * written and read under fixed settings, and types by name.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/lsyscache.h"

#include "dp_places.h"

/* ---- errors ---- */

/* dp_places_axis_raise: raise 22023: the column has no public values. */
void
dp_places_axis_raise(const dp_axis *axis, const char *detail, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("column \"%s\" has no public values to count by",
					NameStr(axis->name)),
			 errdetail("%s", detail),
			 errhint("%s", hint)));
}

/*
 * dp_places_axis_value
 *	  The value at a place, 0 <= place < size; for a bin, its representative.
 *	  Values by reference belong to the axis.
 */
Datum
dp_places_axis_value(const dp_axis *axis, int64 place, bool *isnull)
{
	return dp_places_value(&axis->values->finder->places,
						   axis->values->values, place, isnull);
}

/*
 * dp_places_axis_is_complete
 *	  Whether every possible value of the column has a place, as far as is
 *	  publicly known.  False if there are undeclared values without `other`,
 *	  values outside of bounds without bins, or NaN; also for an axis made from
 *	  a list.
 */
bool
dp_places_axis_is_complete(const dp_axis *axis)
{
	return axis->values->complete;
}

/* ---- making ---- */

/*
 * dp_places_axis_make_finder
 *	  The flat form of places with a tally's spec, or NULL: *length bytes,
 *	  palloc'd.
 */
dp_axis_finder *
dp_places_axis_make_finder(const dp_places *places, const Const *spec,
						   Size *length)
{
	Size		size = spec == NULL ? 0 :
	VARSIZE(DatumGetPointer(spec->constvalue));
	dp_axis_finder *finder;

	*length = offsetof(dp_axis_finder, spec) + MAXALIGN(size);
	finder = palloc_extended(*length, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	if (spec != NULL)
		memcpy(finder->spec, DatumGetPointer(spec->constvalue), size);
	finder->places = *places;
	return finder;
}

/*
 * dp_places_axis_set_finder
 *	  Give the axis a flat form with a tally's spec, or NULL, still without
 *	  places.
 */
void
dp_places_axis_set_finder(dp_axis *axis, dp_axis_kind kind, Oid type,
						  const Const *spec)
{
	struct dp_axis_values *values = palloc0(sizeof(struct dp_axis_values));
	dp_places	places = {kind, type, 0, 0, -1, -1};

	values->finder = dp_places_axis_make_finder(&places, spec, &values->size);
	axis->values = values;
}

/* dp_places_axis_set_last_places: set `known` and the last places. */
void
dp_places_axis_set_last_places(dp_axis *axis, int64 known, bool other,
							   bool null)
{
	dp_axis_finder *finder = axis->values->finder;

	axis->size = known;
	finder->places.known = known;
	finder->places.other = other ? axis->size++ : -1;
	finder->places.null = null ? axis->size++ : -1;
}

/* dp_places_axis_make_dense: consecutive integers of the type. */
void
dp_places_axis_make_dense(dp_axis *axis, Oid type, Datum first)
{
	dp_places_axis_set_finder(axis, DP_AXIS_DENSE, type, NULL);
	axis->values->finder->places.first = dp_places_integer(type, first);
}

/*
 * dp_places_axis_make_listed
 *	  The first `known` of the values are looked up; the axis keeps the array.
 *
 * Errors: 22023 no values, two equal ones, or a type without built-in
 * equality.
 */
void
dp_places_axis_make_listed(dp_axis *axis, Oid type, Datum *values, int64 known)
{
	int64		twice;
	Const	   *spec;

	if (!dp_places_tally_can_read(type))
		dp_places_axis_raise(axis, "Its type has no built-in equality.",
							 "Choose a column of another type.");
	if (known < 1)
		dp_places_axis_raise(axis, "No values are declared.",
							 "Ask the data owner to run dp_declare.");
	spec = dp_places_tally_value_spec(type, values, known, &twice);
	if (spec == NULL)
		dp_places_axis_raise(axis, "Two of its declared values are equal.",
							 "Ask the data owner to run dp_declare again.");
	dp_places_axis_set_finder(axis, DP_AXIS_LISTED, type, spec);
	axis->values->values = values;
}
