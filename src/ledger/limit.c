/*
 * limit.c
 *	  What the owner decides for a whole dataset: the cap over all roles,
 *	  bounds on prices, and the neighbouring relation.
 *
 * Like those of grant.c these functions are transactional.  Each locks the
 * dataset's row until the end of the transaction; meanwhile the worker charges
 * nothing to the dataset.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"

#include "ledger.h"
#include "owner.h"

PG_FUNCTION_INFO_V1(dp_ledger_sql_limit);
PG_FUNCTION_INFO_V1(dp_ledger_sql_limit_float);
PG_FUNCTION_INFO_V1(dp_ledger_sql_unlimit);
PG_FUNCTION_INFO_V1(dp_ledger_sql_neighbours);
PG_FUNCTION_INFO_V1(dp_ledger_sql_open_dataset);

/*
 * Read the dataset's row and lock it until the end of the transaction.  The
 * caller is in SPI as the extension's owner.
 */
static void
lock_dataset(const char *name, dp_dataset_row *row)
{
	dp_catalog_lock_ledger(RowExclusiveLock);
	if (dp_catalog_read_dataset(name, DP_ROW_WAIT, row) != DP_FOUND)
		elog(ERROR, "dataset row is gone");
}

/* Replace cap, floor and ceiling; never the spending. */
static void
replace_cap(const char *name, const dp_dataset_row *wanted)
{
	dp_dataset_row row;
	dp_owner_sql saved;

	dp_bridge_owner_begin(&saved);
	lock_dataset(name, &row);
	row.capped = wanted->capped;
	row.cap = wanted->cap;
	row.floored = wanted->floored;
	row.floor = wanted->floor;
	row.ceiled = wanted->ceiled;
	row.ceiling = wanted->ceiling;
	dp_catalog_write_cap(&row);
	dp_bridge_owner_end(&saved);
}

/* dp_limit's arguments (dataset, epsilon, delta, filter, floor, ceiling) */
static Datum
limit_dataset(FunctionCallInfo fcinfo, Datum epsilon, Datum delta,
			  Datum floor, Datum ceiling)
{
	dp_dataset_row wanted;

	dp_ledger_check_writable("dp_limit");
	MemSet(&wanted, 0, sizeof(wanted));
	wanted.capped = true;
	wanted.cap = dp_ledger_make_limit(dp_ledger_read_filter(fcinfo, 3),
									  dp_ledger_read_epsilon(epsilon,
															 PG_ARGISNULL(1),
															 "epsilon"),
									  dp_ledger_read_delta(delta,
														   PG_ARGISNULL(2)));
	wanted.floored = !PG_ARGISNULL(4);
	if (wanted.floored)
		wanted.floor = dp_ledger_read_epsilon(floor, false, "epsilon_floor");
	wanted.ceiled = !PG_ARGISNULL(5);
	if (wanted.ceiled)
		wanted.ceiling = dp_ledger_read_epsilon(ceiling, false,
												"epsilon_ceiling");
	if (wanted.floored && wanted.ceiled && wanted.floor > wanted.ceiling)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("epsilon_floor must not be above epsilon_ceiling"),
				 errdetail("No query could satisfy both."),
				 errhint("Swap the two, or leave one out.")));
	replace_cap(dp_ledger_owner_dataset_argument(fcinfo, 0), &wanted);
	PG_RETURN_VOID();
}

/*
 * dp_ledger_sql_limit
 *	  dp_limit(dataset, epsilon, delta, filter, epsilon_floor,
 *	  epsilon_ceiling): cap a dataset over all roles and times, and bound the
 *	  price of a query.
 *
 * Errors: as dp_grant.
 */
Datum
dp_ledger_sql_limit(PG_FUNCTION_ARGS)
{
	return limit_dataset(fcinfo, PG_GETARG_DATUM(1), PG_GETARG_DATUM(2),
						 PG_GETARG_DATUM(4), PG_GETARG_DATUM(5));
}

/* dp_ledger_sql_limit_float: dp_limit with double precision numbers. */
Datum
dp_ledger_sql_limit_float(PG_FUNCTION_ARGS)
{
	return limit_dataset(fcinfo, dp_ledger_owner_decimal(fcinfo, 1),
						 dp_ledger_owner_decimal(fcinfo, 2),
						 dp_ledger_owner_decimal(fcinfo, 4),
						 dp_ledger_owner_decimal(fcinfo, 5));
}

/*
 * dp_ledger_sql_unlimit
 *	  dp_unlimit(dataset): remove cap, floor and ceiling.  What was spent
 *	  stays counted, so that a later cap counts it.
 *
 * Errors: 42704, 42501, 25006.
 */
Datum
dp_ledger_sql_unlimit(PG_FUNCTION_ARGS)
{
	dp_dataset_row wanted;

	dp_ledger_check_writable("dp_unlimit");
	MemSet(&wanted, 0, sizeof(wanted));
	replace_cap(dp_ledger_owner_dataset_argument(fcinfo, 0), &wanted);
	PG_RETURN_VOID();
}

/* add_remove: false, replace_one: true */
static bool
read_relation(FunctionCallInfo fcinfo, int argument)
{
	char	   *name = PG_ARGISNULL(argument) ? NULL :
	text_to_cstring(PG_GETARG_TEXT_PP(argument));
	bool		replace_one = name && strcmp(name, "replace_one") == 0;

	if (!replace_one && (name == NULL || strcmp(name, "add_remove") != 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 name ?
				 errmsg("neighbouring relation \"%s\" does not exist", name) :
				 errmsg("neighbouring relation must not be NULL"),
				 errhint("Use add_remove (one person more or less) or "
						 "replace_one (one person's data exchanged).")));
	return replace_one;
}

/*
 * dp_ledger_sql_neighbours
 *	  dp_neighbours(dataset, relation): choose the neighbouring relation,
 *	  'add_remove' or 'replace_one', before anything is charged.
 *
 * The row stays locked until COMMIT, so no charge comes between check and
 * change.  The worker refuses a query that was prepared for the other
 * relation.
 *
 * Errors: 22023, 42704, 42501, 25006, 55000 when there are charges.
 */
Datum
dp_ledger_sql_neighbours(PG_FUNCTION_ARGS)
{
	bool		replace_one;
	char	   *name;
	dp_dataset_row row;
	dp_owner_sql saved;

	dp_ledger_check_writable("dp_neighbours");
	replace_one = read_relation(fcinfo, 1);
	name = dp_ledger_owner_dataset_argument(fcinfo, 0);
	dp_bridge_owner_begin(&saved);
	lock_dataset(name, &row);
	if (row.replace_one != replace_one)
	{
		if (row.spent.charges > 0)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("dataset \"%s\" has already been charged", name),
					 errdetail("Its charges were computed for its present "
							   "neighbouring relation."),
					 errhint("Protect the tables in a new dataset, and "
							 "choose before the first query.")));
		row.replace_one = replace_one;
		dp_catalog_write_neighbours(&row);
	}
	dp_bridge_owner_end(&saved);
	PG_RETURN_VOID();
}

/*
 * dp_ledger_sql_open_dataset
 *	  dp_pg.open_dataset(dataset) returns name: create a dataset that belongs
 *	  to the current user, unless it already exists; NULL means the default
 *	  one.  dp_protect does this as well; the function is for databases that
 *	  charge only through their own procedures.
 *
 * Errors: 42501, 25006, 22023 empty name.
 */
Datum
dp_ledger_sql_open_dataset(PG_FUNCTION_ARGS)
{
	Name		name = palloc0(sizeof(NameData));

	dp_ledger_check_writable("dp_pg.open_dataset");
	namestrcpy(name, dp_ledger_owner_dataset(PG_ARGISNULL(0) ? NULL :
											 NameStr(*PG_GETARG_NAME(0)),
											 true));
	PG_RETURN_NAME(name);
}
