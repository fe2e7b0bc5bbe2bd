/*
 * declared.c
 *	  Declared texts as values, and the types of which values are integers.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "dp_places.h"

/* dp_places_is_integer: int2, int4 or int8. */
bool
dp_places_is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

/* dp_places_is_time: a type whose values count days or microseconds. */
bool
dp_places_is_time(Oid type)
{
	return type == DATEOID || type == TIMESTAMPOID || type == TIMESTAMPTZOID;
}

/*
 * dp_places_time_numeric
 *	  A date in days, a timestamp in microseconds since 2000; infinite ones
 *	  become infinite numbers.
 */
Numeric
dp_places_time_numeric(Datum value, Oid type)
{
	if (type == DATEOID)
	{
		DateADT		date = DatumGetDateADT(value);

		if (DATE_NOT_FINITE(date))
			return dp_bridge_text_to_numeric(DATE_IS_NOBEGIN(date) ?
											 "-Infinity" : "Infinity");
		return int64_to_numeric(date);
	}
	if (TIMESTAMP_NOT_FINITE(DatumGetTimestamp(value)))
		return dp_bridge_text_to_numeric(
			TIMESTAMP_IS_NOBEGIN(DatumGetTimestamp(value)) ?
			"-Infinity" : "Infinity");
	return int64_to_numeric(DatumGetTimestamp(value));
}

/*
 * dp_places_read_declared
 *	  A declared text as a value of the type; 55000 if the type rejects it, as
 *	  after ALTER COLUMN TYPE.
 */
Datum
dp_places_read_declared(const char *text, Oid type, int32 typmod)
{
	MemoryContext context = CurrentMemoryContext;
	Oid			input;
	Oid			param;
	volatile Datum value = (Datum) 0;

	getTypeInputInfo(type, &input, &param);
	PG_TRY();
	{
		value = OidInputFunctionCall(input, pstrdup(text), param, typmod);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		if (ERRCODE_TO_CATEGORY(geterrcode()) != ERRCODE_DATA_EXCEPTION)
			PG_RE_THROW();
		FlushErrorState();
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("declaration of a column no longer fits its type"),
				 errhint("Ask the data owner to run dp_declare again.")));
	}
	PG_END_TRY();
	return value;
}

/* dp_places_declared_integer: a declared text of a dense axis's type. */
int64
dp_places_declared_integer(const char *text, Oid type)
{
	return dp_places_integer(type, dp_places_read_declared(text, type, -1));
}
