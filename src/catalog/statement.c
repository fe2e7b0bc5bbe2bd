/*
 * statement.c
 *	  SQL on the extension's own tables, for changes that need their triggers,
 *	  defaults or constraints.
 *
 * SPI must be connected as the owner of the extension (owner_sql.c).
 */
#include "postgres.h"

#include "executor/spi.h"

#include "table_access.h"

/*
 * dp_catalog_run
 *	  Run a statement with n arguments.  `nulls`, unless NULL, has 'n' for NULL
 *	  arguments.  Returns the number of rows returned or changed.
 */
uint64
dp_catalog_run(const char *statement, int n, Oid *types, Datum *values,
			   const char *nulls)
{
	int			result = SPI_execute_with_args(statement, n, types, values,
											   nulls, false, 0);

	if (result < 0)
		elog(ERROR, "could not run: %s: %s", statement,
			 SPI_result_code_string(result));
	return SPI_processed;
}

/* dp_catalog_run_as_owner: the same; connects as the owner itself. */
void
dp_catalog_run_as_owner(const char *statement, int n, Oid *types,
						Datum *values, const char *nulls)
{
	dp_owner_sql saved;

	dp_bridge_owner_begin(&saved);
	(void) dp_catalog_run(statement, n, types, values, nulls);
	dp_bridge_owner_end(&saved);
}

/*
 * dp_catalog_result
 *	  A value of the last result, which must not be NULL; columns count from 1.
 */
Datum
dp_catalog_result(int row, int column)
{
	bool		isnull;
	Datum		value = SPI_getbinval(SPI_tuptable->vals[row],
									  SPI_tuptable->tupdesc, column, &isnull);

	if (isnull)
		elog(ERROR, "column %d of the extension's catalog is null", column);
	return value;
}
