/*
 * row_value.c
 *	  Columns of the ledger's tables and what they mean.
 */
#include "postgres.h"

#include "access/table.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "dp_rows.h"

/*
 * dp_catalog_open
 *	  Lock the three tables until the end of the transaction and make sure
 *	  that they are the extension's.
 *
 * Errors: 55000 when the extension is not installed here, 55P03.
 */
void
dp_catalog_open(LOCKMODE mode)
{
	table_close(dp_table_open(DP_TABLE_DATASET, mode), NoLock);
	table_close(dp_table_open(DP_TABLE_BUDGET, mode), NoLock);
	table_close(dp_table_open(DP_TABLE_LEDGER, mode), NoLock);
}

/* dp_set: a column's new value, which must live until the row is written. */
void
dp_set(dp_values *row, int column, Datum value)
{
	Assert(column >= 1 && column <= row->n);
	row->value[column - 1] = value;
	row->null[column - 1] = false;
	row->set[column - 1] = true;
}

/* dp_set_null: a column becomes NULL. */
void
dp_set_null(dp_values *row, int column)
{
	Assert(column >= 1 && column <= row->n);
	row->value[column - 1] = (Datum) 0;
	row->null[column - 1] = true;
	row->set[column - 1] = true;
}

/* dp_set_fixed: an exact numeric; infinite is 'Infinity'. */
void
dp_set_fixed(dp_values *row, int column, dp_fixed x)
{
	dp_set(row, column, NumericGetDatum(dp_bridge_fixed_to_numeric(x)));
}

/*
 * dp_set_limit
 *	  Set filter, epsilon, delta, delta_conversion, delta_sum, rho, alpha,
 *	  squares.
 */
void
dp_set_limit(dp_values *row, int first, const dp_limit *limit)
{
	dp_set(row, first,
		   CStringGetTextDatum(dp_acct_filter_name(limit->filter)));
	dp_set_fixed(row, first + 1, limit->epsilon);
	dp_set_fixed(row, first + 2, limit->delta);
	dp_set_fixed(row, first + 3, limit->delta_conversion);
	dp_set_fixed(row, first + 4, limit->delta_sum);
	dp_set_fixed(row, first + 5, limit->rho);
	dp_set(row, first + 6, Int64GetDatum((int64) limit->alpha));
	dp_set_fixed(row, first + 7, limit->squares);
}

/* dp_set_sums: set epsilon, rho, delta, squares, charges. */
void
dp_set_sums(dp_values *row, int first, const dp_spent *spent)
{
	dp_set_fixed(row, first, spent->epsilon);
	dp_set_fixed(row, first + 1, spent->rho);
	dp_set_fixed(row, first + 2, spent->delta);
	dp_set_fixed(row, first + 3, spent->squares);
	dp_set(row, first + 4, Int64GetDatum(spent->charges));
}

/* dp_is_null: has the column no value? */
bool
dp_is_null(const dp_values *row, int column)
{
	Assert(column >= 1 && column <= row->n);
	return row->null[column - 1];
}

/* dp_get: a value that cannot be NULL. */
Datum
dp_get(const dp_values *row, int column)
{
	Assert(column >= 1 && column <= row->n);
	if (row->null[column - 1])
		elog(ERROR, "column %d of the extension's catalog is null", column);
	return row->value[column - 1];
}

/*
 * dp_get_fixed
 *	  A number of the catalog.  Limits were rounded when they were granted, so
 *	  every value is exact; a sum beyond the grid counts as infinite.
 */
dp_fixed
dp_get_fixed(const dp_values *row, int column)
{
	dp_fixed	x = 0;
	dp_number_fault fault;

	fault = dp_bridge_numeric_to_fixed(DatumGetNumeric(dp_get(row, column)),
									   DP_ROUND_UP, &x);
	if (fault == DP_NUMBER_INFINITE || fault == DP_NUMBER_TOO_LARGE)
		return DP_FIXED_INFINITE;
	if (fault != DP_NUMBER_OK)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("the ledger's catalog holds an invalid number"),
				 errdetail("It is %s.", dp_bridge_number_fault_text(fault))));
	return x;
}

/*
 * dp_get_limit
 *	  The columns of dp_set_limit.  A cap of a dump that did not have squares
 *	  yet is NULL there; its filter does not use them.
 */
void
dp_get_limit(const dp_values *row, int first, dp_limit *out)
{
	char	   *name = TextDatumGetCString(dp_get(row, first));

	if (!dp_acct_filter_parse(name, &out->filter))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("the ledger's catalog names an unknown filter")));
	out->epsilon = dp_get_fixed(row, first + 1);
	out->delta = dp_get_fixed(row, first + 2);
	out->delta_conversion = dp_get_fixed(row, first + 3);
	out->delta_sum = dp_get_fixed(row, first + 4);
	out->rho = dp_get_fixed(row, first + 5);
	out->alpha = (uint64_t) DatumGetInt64(dp_get(row, first + 6));
	out->squares = row->null[first + 6] ? 0 : dp_get_fixed(row, first + 7);
}

/* dp_get_sums: the columns of dp_set_sums. */
void
dp_get_sums(const dp_values *row, int first, dp_spent *out)
{
	out->epsilon = dp_get_fixed(row, first);
	out->rho = dp_get_fixed(row, first + 1);
	out->delta = dp_get_fixed(row, first + 2);
	out->squares = dp_get_fixed(row, first + 3);
	out->charges = DatumGetInt64(dp_get(row, first + 4));
}

/* dp_catalog_name_role: the role's name; empty when it is gone. */
void
dp_catalog_name_role(Oid role, NameData *out)
{
	char	   *name = OidIsValid(role) ? GetUserNameFromId(role, true) : NULL;

	MemSet(out, 0, sizeof(NameData));
	if (name)
		namestrcpy(out, name);
}
