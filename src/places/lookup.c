/*
 * lookup.c
 *	  From a place among public values to its value.  The opposite, which is
 *	  done for every row, is in dp_places.h.
 */
#include "postgres.h"

#include "utils/date.h"

#include "dp_places.h"

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
 *	  The value at a place; `values` are by place, unused if places are dense.
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
