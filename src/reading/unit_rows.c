/*
 * unit_rows.c
 *	  dp_pg.rows_of_unit(relation): how many rows of a unit would count.
 */
#include "postgres.h"

#include "fmgr.h"

#include "reading.h"

PG_FUNCTION_INFO_V1(dp_reading_sql_rows_of_unit);

/* dp_reading_sql_rows_of_unit: see sql/84_smalldb.sql. */
Datum
dp_reading_sql_rows_of_unit(PG_FUNCTION_ARGS)
{
	const dp_reading *reading =
	dp_reading_of_predicates(PG_GETARG_OID(0), list_make1("true"));

	PG_RETURN_INT64((int64) reading->sensitivity);
}
