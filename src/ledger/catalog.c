/*
 * catalog.c
 *	  Access to the ledger's tables through SPI.
 *
 * Callers are connected to SPI with a search_path of pg_catalog: the worker by
 * itself, sessions between dp_bridge_owner_begin and dp_bridge_owner_end.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

#include "catalog.h"

/* Is it an ordinary table that a superuser owns? */
static bool
is_trusted_table(Oid relid)
{
	HeapTuple	tuple;
	Form_pg_class form;
	bool		trusted;

	if (!OidIsValid(relid))
		return false;
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_class) GETSTRUCT(tuple);
	trusted = form->relkind == RELKIND_RELATION &&
		superuser_arg(form->relowner);
	ReleaseSysCache(tuple);
	return trusted;
}

/*
 * dp_catalog_open
 *	  Lock the three tables until the end of the transaction and make sure
 *	  that they are the extension's.
 *
 * The worker acts as a superuser.  After DROP EXTENSION anybody who may
 * create schemas could put tables with defaults and triggers of his own in
 * their place; a table that no superuser owns is not touched.
 *
 * Errors: 55000 when the extension is not installed here, 55P03.
 */
void
dp_catalog_open(LOCKMODE mode)
{
	static const char *const name[] = {"dataset", "budget", "ledger"};
	bool		trusted = OidIsValid(dp_bridge_extension_oid());
	int			i;

	for (i = 0; trusted && i < lengthof(name); i++)
	{
		RangeVar   *table = makeRangeVar("dp_pg", pstrdup(name[i]), -1);

		trusted = is_trusted_table(RangeVarGetRelid(table, mode, true));
	}
	if (!trusted)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("extension dp_pg is not installed in this database"),
				 errdetail("Its catalog is missing or was replaced."),
				 errhint("Run CREATE EXTENSION dp_pg.")));
}

/* dp_args_start: no arguments yet. */
void
dp_args_start(dp_args *args)
{
	args->n = 0;
}

/* dp_args_add: append a value, which must live until the statement ran. */
void
dp_args_add(dp_args *args, Datum value)
{
	Assert(args->n < DP_STATEMENT_ARGS);
	args->value[args->n] = value;
	args->null[args->n] = ' ';
	args->n++;
}

/* dp_args_add_null: append NULL. */
void
dp_args_add_null(dp_args *args)
{
	Assert(args->n < DP_STATEMENT_ARGS);
	args->value[args->n] = (Datum) 0;
	args->null[args->n] = 'n';
	args->n++;
}

/* dp_args_add_fixed: append an exact numeric; infinite is 'Infinity'. */
void
dp_args_add_fixed(dp_args *args, dp_fixed x)
{
	dp_args_add(args, NumericGetDatum(dp_bridge_fixed_to_numeric(x)));
}

/*
 * dp_args_add_limit
 *	  Append filter, epsilon, delta, delta_conversion, delta_sum, rho, alpha.
 */
void
dp_args_add_limit(dp_args *args, const dp_limit *limit)
{
	dp_args_add(args, CStringGetTextDatum(dp_acct_filter_name(limit->filter)));
	dp_args_add_fixed(args, limit->epsilon);
	dp_args_add_fixed(args, limit->delta);
	dp_args_add_fixed(args, limit->delta_conversion);
	dp_args_add_fixed(args, limit->delta_sum);
	dp_args_add_fixed(args, limit->rho);
	dp_args_add(args, Int64GetDatum((int64) limit->alpha));
}

/* dp_args_add_sums: append epsilon, rho, delta, charges. */
void
dp_args_add_sums(dp_args *args, const dp_spent *spent)
{
	dp_args_add_fixed(args, spent->epsilon);
	dp_args_add_fixed(args, spent->rho);
	dp_args_add_fixed(args, spent->delta);
	dp_args_add(args, Int64GetDatum(spent->charges));
}

/*
 * dp_statement_run
 *	  Run a statement that must end with the given SPI code; answers the
 *	  number of rows.  What only reads sees the newest committed rows too.
 */
uint64
dp_statement_run(dp_statement *statement, const dp_args *args, int expected)
{
	int			code;

	Assert(args->n == statement->nargs);
	if (statement->plan == NULL)
	{
		SPIPlanPtr	plan = SPI_prepare(statement->text, statement->nargs,
									   statement->types);

		if (plan == NULL || SPI_keepplan(plan) != 0)
			elog(ERROR, "could not prepare a statement of the ledger: %s",
				 SPI_result_code_string(SPI_result));
		statement->plan = plan;
	}
	code = SPI_execute_plan(statement->plan, (Datum *) args->value,
							args->null, false, 0);
	if (code != expected)
		elog(ERROR, "statement of the ledger ended with %s",
			 SPI_result_code_string(code));
	return SPI_processed;
}

/* dp_column: a value of the last result; columns count from 1. */
Datum
dp_column(int row, int column, bool *isnull)
{
	bool		null;
	Datum		value = SPI_getbinval(SPI_tuptable->vals[row],
									  SPI_tuptable->tupdesc, column, &null);

	if (isnull)
		*isnull = null;
	else if (null)
		elog(ERROR, "column %d of the ledger's catalog is null", column);
	return value;
}

/*
 * dp_column_fixed
 *	  A number of the catalog.  Limits were rounded when they were granted, so
 *	  every value is exact; a sum beyond the grid counts as infinite.
 */
dp_fixed
dp_column_fixed(int row, int column, bool *isnull)
{
	Datum		value = dp_column(row, column, isnull);
	dp_fixed	x = 0;
	dp_number_fault fault;

	if (isnull && *isnull)
		return 0;
	fault = dp_bridge_numeric_to_fixed(DatumGetNumeric(value), DP_ROUND_UP,
									   &x);
	if (fault == DP_NUMBER_INFINITE || fault == DP_NUMBER_TOO_LARGE)
		return DP_FIXED_INFINITE;
	if (fault != DP_NUMBER_OK)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("the ledger's catalog holds an invalid number"),
				 errdetail("It is %s.", dp_bridge_number_fault_text(fault))));
	return x;
}

/* dp_column_limit: the seven columns of dp_args_add_limit. */
void
dp_column_limit(int row, int first, dp_limit *out)
{
	char	   *name = TextDatumGetCString(dp_column(row, first, NULL));

	if (!dp_acct_filter_parse(name, &out->filter))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("the ledger's catalog names an unknown filter")));
	out->epsilon = dp_column_fixed(row, first + 1, NULL);
	out->delta = dp_column_fixed(row, first + 2, NULL);
	out->delta_conversion = dp_column_fixed(row, first + 3, NULL);
	out->delta_sum = dp_column_fixed(row, first + 4, NULL);
	out->rho = dp_column_fixed(row, first + 5, NULL);
	out->alpha = (uint64_t) DatumGetInt64(dp_column(row, first + 6, NULL));
}

/* dp_column_sums: the four columns of dp_args_add_sums. */
void
dp_column_sums(int row, int first, dp_spent *out)
{
	out->epsilon = dp_column_fixed(row, first, NULL);
	out->rho = dp_column_fixed(row, first + 1, NULL);
	out->delta = dp_column_fixed(row, first + 2, NULL);
	out->charges = DatumGetInt64(dp_column(row, first + 3, NULL));
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
