/*
 * row_value.c
 *	  Reading and setting columns of the extension's tables.
 *
 * dp_catalog_set_* sets a column to a value, which must live until the row is
 * written; dp_catalog_get_* returns a value that must not be NULL.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "table_access.h"

/* dp_catalog_set: set a column to any value. */
void
dp_catalog_set(dp_values *row, int column, Datum value)
{
	Assert(column >= 1 && column <= row->n);
	row->value[column - 1] = value;
	row->null[column - 1] = false;
	row->set[column - 1] = true;
}

/* dp_catalog_set_null: set a column to NULL. */
void
dp_catalog_set_null(dp_values *row, int column)
{
	Assert(column >= 1 && column <= row->n);
	row->value[column - 1] = (Datum) 0;
	row->null[column - 1] = true;
	row->set[column - 1] = true;
}

void
dp_catalog_set_bool(dp_values *row, int column, bool x)
{
	dp_catalog_set(row, column, BoolGetDatum(x));
}

void
dp_catalog_set_int32(dp_values *row, int column, int32 x)
{
	dp_catalog_set(row, column, Int32GetDatum(x));
}

void
dp_catalog_set_int64(dp_values *row, int column, int64 x)
{
	dp_catalog_set(row, column, Int64GetDatum(x));
}

void
dp_catalog_set_oid(dp_values *row, int column, Oid x)
{
	dp_catalog_set(row, column, ObjectIdGetDatum(x));
}

void
dp_catalog_set_name(dp_values *row, int column, const NameData *x)
{
	dp_catalog_set(row, column, NameGetDatum(x));
}

void
dp_catalog_set_text(dp_values *row, int column, const char *x)
{
	dp_catalog_set(row, column, CStringGetTextDatum(x));
}

void
dp_catalog_set_time(dp_values *row, int column, TimestampTz x)
{
	dp_catalog_set(row, column, TimestampTzGetDatum(x));
}

void
dp_catalog_set_double(dp_values *row, int column, double x)
{
	dp_catalog_set(row, column, Float8GetDatum(x));
}

/* dp_catalog_set_fixed: an exact numeric; infinite is 'Infinity'. */
void
dp_catalog_set_fixed(dp_values *row, int column, dp_fixed x)
{
	dp_catalog_set(row, column,
				   NumericGetDatum(dp_bridge_fixed_to_numeric(x)));
}

/* dp_catalog_set_neighbours: the neighbouring relation. */
void
dp_catalog_set_neighbours(dp_values *row, int column, bool replace_one)
{
	dp_catalog_set_text(row, column,
						replace_one ? "replace_one" : "add_remove");
}

/*
 * dp_catalog_set_limit
 *	  Set filter, epsilon, delta, delta_conversion, delta_sum, rho, alpha,
 *	  squares.
 */
void
dp_catalog_set_limit(dp_values *row, int first, const dp_limit *limit)
{
	dp_catalog_set_text(row, first, dp_acct_filter_name(limit->filter));
	dp_catalog_set_fixed(row, first + 1, limit->epsilon);
	dp_catalog_set_fixed(row, first + 2, limit->delta);
	dp_catalog_set_fixed(row, first + 3, limit->delta_conversion);
	dp_catalog_set_fixed(row, first + 4, limit->delta_sum);
	dp_catalog_set_fixed(row, first + 5, limit->rho);
	dp_catalog_set_int64(row, first + 6, (int64) limit->alpha);
	dp_catalog_set_fixed(row, first + 7, limit->squares);
}

/* dp_catalog_set_sums: set epsilon, rho, delta, squares, charges. */
void
dp_catalog_set_sums(dp_values *row, int first, const dp_spent *spent)
{
	dp_catalog_set_fixed(row, first, spent->epsilon);
	dp_catalog_set_fixed(row, first + 1, spent->rho);
	dp_catalog_set_fixed(row, first + 2, spent->delta);
	dp_catalog_set_fixed(row, first + 3, spent->squares);
	dp_catalog_set_int64(row, first + 4, spent->charges);
}

/* dp_catalog_is_null: whether the column is NULL. */
bool
dp_catalog_is_null(const dp_values *row, int column)
{
	Assert(column >= 1 && column <= row->n);
	return row->null[column - 1];
}

/* dp_catalog_get: a value that must not be NULL. */
Datum
dp_catalog_get(const dp_values *row, int column)
{
	Assert(column >= 1 && column <= row->n);
	if (row->null[column - 1])
		elog(ERROR, "column %d of the extension's catalog is null", column);
	return row->value[column - 1];
}

bool
dp_catalog_get_bool(const dp_values *row, int column)
{
	return DatumGetBool(dp_catalog_get(row, column));
}

int16
dp_catalog_get_int16(const dp_values *row, int column)
{
	return DatumGetInt16(dp_catalog_get(row, column));
}

int32
dp_catalog_get_int32(const dp_values *row, int column)
{
	return DatumGetInt32(dp_catalog_get(row, column));
}

int64
dp_catalog_get_int64(const dp_values *row, int column)
{
	return DatumGetInt64(dp_catalog_get(row, column));
}

Oid
dp_catalog_get_oid(const dp_values *row, int column)
{
	return DatumGetObjectId(dp_catalog_get(row, column));
}

NameData
dp_catalog_get_name(const dp_values *row, int column)
{
	return *DatumGetName(dp_catalog_get(row, column));
}

char *
dp_catalog_get_text(const dp_values *row, int column)
{
	return TextDatumGetCString(dp_catalog_get(row, column));
}

TimestampTz
dp_catalog_get_time(const dp_values *row, int column)
{
	return DatumGetTimestampTz(dp_catalog_get(row, column));
}

double
dp_catalog_get_double(const dp_values *row, int column)
{
	return DatumGetFloat8(dp_catalog_get(row, column));
}

/*
 * dp_catalog_get_fixed
 *	  A number in the catalog.  Limits were rounded when they were granted, so
 *	  every value is on the grid; a sum above its range counts as infinite.
 */
dp_fixed
dp_catalog_get_fixed(const dp_values *row, int column)
{
	Numeric		numeric = DatumGetNumeric(dp_catalog_get(row, column));
	dp_fixed	x = 0;
	dp_number_fault fault;

	fault = dp_bridge_numeric_to_fixed(numeric, DP_ROUND_UP, &x);
	if (fault == DP_NUMBER_INFINITE || fault == DP_NUMBER_TOO_LARGE)
		return DP_FIXED_INFINITE;
	if (fault != DP_NUMBER_OK)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("the ledger's catalog holds an invalid number"),
				 errdetail("It is %s.", dp_bridge_number_fault_text(fault))));
	return x;
}

/* dp_catalog_get_neighbours: true for replace_one. */
bool
dp_catalog_get_neighbours(const dp_values *row, int column)
{
	return strcmp(dp_catalog_get_text(row, column), "replace_one") == 0;
}

/*
 * dp_catalog_get_limit
 *	  Get the columns of dp_catalog_set_limit.  In caps from dumps of older
 *	  versions squares may be NULL; their filters do not use them.
 */
void
dp_catalog_get_limit(const dp_values *row, int first, dp_limit *out)
{
	char	   *name = dp_catalog_get_text(row, first);

	if (!dp_acct_filter_parse(name, &out->filter))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("the ledger's catalog names an unknown filter")));
	out->epsilon = dp_catalog_get_fixed(row, first + 1);
	out->delta = dp_catalog_get_fixed(row, first + 2);
	out->delta_conversion = dp_catalog_get_fixed(row, first + 3);
	out->delta_sum = dp_catalog_get_fixed(row, first + 4);
	out->rho = dp_catalog_get_fixed(row, first + 5);
	out->alpha = (uint64_t) dp_catalog_get_int64(row, first + 6);
	out->squares = dp_catalog_is_null(row, first + 7) ? 0 :
		dp_catalog_get_fixed(row, first + 7);
}

/* dp_catalog_get_sums: get the columns of dp_catalog_set_sums. */
void
dp_catalog_get_sums(const dp_values *row, int first, dp_spent *out)
{
	out->epsilon = dp_catalog_get_fixed(row, first);
	out->rho = dp_catalog_get_fixed(row, first + 1);
	out->delta = dp_catalog_get_fixed(row, first + 2);
	out->squares = dp_catalog_get_fixed(row, first + 3);
	out->charges = dp_catalog_get_int64(row, first + 4);
}
