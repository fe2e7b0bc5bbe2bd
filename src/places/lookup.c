/*
 * lookup.c
 *	  From a value to its place among public values, and back.
 *
 * Group keys, axes and tables of counts look rows up here.  Equality is that
 * of value_bytes.c, intervals are those of tally_bucket.c.
 */
#include "postgres.h"

#include "utils/date.h"

#include "dp_places.h"

/*
 * dp_places_axis_find_flat
 *	  The place of a value, or -1: nowhere.  Nothing fails.
 */
int64
dp_places_axis_find_flat(const dp_axis_finder *finder, Datum value,
						 bool isnull)
{
	const dp_places *places = &finder->places;
	int64		place;

	if (isnull)
		return places->null;
	switch ((dp_axis_kind) places->kind)
	{
		case DP_AXIS_DENSE:
			if (__builtin_sub_overflow(dp_places_integer(places->type, value),
									   places->first, &place) ||
				place < 0 || place >= places->known)
				return places->other;
			return place;
		case DP_AXIS_LISTED:
			place = dp_places_tally_find_value(finder->spec, value);
			return place < 0 ? places->other : place;
		case DP_AXIS_BINS:
			return dp_places_tally_find_bucket(finder->spec, value);
		case DP_AXIS_BUCKETS:
			return dp_places_tally_bucket(finder->spec, value);
	}
	return -1;
}

/* dp_places_integer_datum: see dp_places.h. */
Datum
dp_places_integer_datum(Oid type, int64 value)
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
 * dp_places_value
 *	  The value at a place; `values` by place, unused where places are dense.
 */
Datum
dp_places_value(const dp_places *places, const Datum *values, int64 place,
				bool *isnull)
{
	*isnull = place == places->null;
	if (*isnull)
		return (Datum) 0;
	if (places->kind == DP_AXIS_DENSE)
		return dp_places_integer_datum(places->type, places->first + place);
	return values[place];
}
