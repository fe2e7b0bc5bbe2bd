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

/* dp_places_axis_raise: 22023, a column without public values. */
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
 *	  The value at a place, 0 <= place < size: of a bin its representative.
 *	  References stay with the axis.
 */
Datum
dp_places_axis_value(const dp_axis *axis, int64 place, bool *isnull)
{
	return dp_places_value(&axis->values->finder->places,
						   axis->values->values, place, isnull);
}

/*
 * dp_places_axis_is_complete
 *	  Has every value that the column may have a place, as far as is public?
 *	  Not those of other keys than the declared ones, nor outside of bounds
 *	  that are not cut into bins, nor NaN; nor those of an axis from a list.
 */
bool
dp_places_axis_is_complete(const dp_axis *axis)
{
	return axis->values->complete;
}

/* ---- making ---- */

/*
 * dp_places_axis_make_finder
 *	  The flat form of places around a spec of a tally, or NULL, of *length
 *	  bytes, in the current context.
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
 *	  Give the axis a flat form around a spec of dp_places.h, or NULL.  No
 *	  value has a place in it yet.
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

/* dp_places_axis_set_last_places: `known` places, and those behind them. */
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

/* dp_places_axis_make_dense: integers of the type that follow each other. */
void
dp_places_axis_make_dense(dp_axis *axis, Oid type, Datum first)
{
	dp_places_axis_set_finder(axis, DP_AXIS_DENSE, type, NULL);
	axis->values->finder->places.first = dp_places_integer(type, first);
}

/*
 * dp_places_axis_make_listed
 *	  The first `known` of the values are looked up; they stay with the axis.
 *
 * Errors: 22023 none, two equal, or a type that cannot be looked up.
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
