/*
 * grant.c
 *	  What the owner of a dataset decides: budgets, caps, revocation.
 *
 * The functions are not SECURITY DEFINER.  Each checks that the current user
 * owns the dataset and only then writes the catalog as the extension's owner.
 * They are ordinary transactional DDL: they count from COMMIT on and a
 * ROLLBACK undoes them, which is safe because none of them changes spending.
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "catalog.h"

/* Longest renewal period, in days: beyond, say none. */
#define MAX_RENEWAL_DAYS 36525

PG_FUNCTION_INFO_V1(dp_ledger_sql_grant);
PG_FUNCTION_INFO_V1(dp_ledger_sql_grant_float);
PG_FUNCTION_INFO_V1(dp_ledger_sql_limit);
PG_FUNCTION_INFO_V1(dp_ledger_sql_limit_float);
PG_FUNCTION_INFO_V1(dp_ledger_sql_revoke);
PG_FUNCTION_INFO_V1(dp_ledger_sql_open_dataset);

static void
check_writable(const char *what)
{
	if (RecoveryInProgress() || XactReadOnly)
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot execute %s in a read-only transaction",
						what),
				 errhint("Run it on the primary server, in a read-write "
						 "transaction.")));
}

/*
 * dp_ledger_owner_dataset
 *	  Name of the dataset an owner's function means; see dp_ledger.h.
 */
char *
dp_ledger_owner_dataset(const char *dataset, bool create)
{
	Oid			caller = GetUserId();
	char	   *name = dataset ? pstrdup(dataset) :
	GetUserNameFromId(caller, false);
	dp_dataset_row row;
	dp_owner_sql saved;
	dp_found	found;

	if (name[0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the name of a dataset must not be empty"),
				 errhint("Without a name, the dataset is named like your "
						 "role.")));
	dp_bridge_owner_begin(&saved);
	found = dp_catalog_read_dataset(name, DP_ROW_READ, &row);
	if (found != DP_FOUND && create)
	{
		(void) dp_catalog_insert_dataset(name, caller);
		found = dp_catalog_read_dataset(name, DP_ROW_READ, &row);
	}
	if (found == DP_FOUND && row.stale && !XactReadOnly &&
		dp_payer_owns(caller, &row) &&
		dp_catalog_read_dataset(name, DP_ROW_WAIT, &row) == DP_FOUND)
		dp_catalog_adopt_dataset(&row);
	dp_bridge_owner_end(&saved);
	if (found != DP_FOUND)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("dataset \"%s\" does not exist", name),
				 errhint("dp_protect makes a dataset when it protects the "
						 "first table.")));
	if (!dp_payer_owns(caller, &row))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be owner of dataset \"%s\"", name),
				 errhint("A dataset belongs to the role that first named "
						 "it; choose another name.")));
	return name;
}

/* An argument that must be on the grid, or 22023. */
static dp_fixed
read_number(Datum value, bool isnull, dp_rounding rounding, const char *what,
			const char *hint)
{
	Numeric		x = isnull ? NULL : DatumGetNumeric(value);
	dp_number_fault fault;
	dp_rational exact;
	dp_fixed	fixed = 0;

	fault = dp_bridge_numeric_to_rational(x, &exact);
	if (fault == DP_NUMBER_OK)
		fault = dp_bridge_numeric_to_fixed(x, rounding, &fixed);
	if (fault != DP_NUMBER_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s is not valid", what),
				 errdetail("It is %s.", dp_bridge_number_fault_text(fault)),
				 errhint("%s", hint)));
	return fixed;
}

static dp_fixed
read_epsilon(Datum value, bool isnull, const char *what)
{
	static const char *const hint =
	"Give a positive number; budgets usually lie between 0.1 and 10.";
	dp_fixed	epsilon = read_number(value, isnull, DP_ROUND_DOWN, what,
									  hint);

	if (epsilon == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be positive", what),
				 errdetail("It is zero."),
				 errhint("%s", hint)));
	return epsilon;
}

static dp_fixed
read_delta(Datum value, bool isnull)
{
	static const char *const hint =
	"Give 0, or a number far below one over the number of people.";
	dp_fixed	delta = read_number(value, isnull, DP_ROUND_DOWN, "delta",
									hint);

	if (delta >= DP_FIXED_ONE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("delta must be below 1"),
				 errdetail("A delta of 1 or more promises nothing."),
				 errhint("%s", hint)));
	return delta;
}

static dp_filter
read_filter(FunctionCallInfo fcinfo, int argument)
{
	char	   *name = PG_ARGISNULL(argument) ? NULL :
	text_to_cstring(PG_GETARG_TEXT_PP(argument));
	dp_filter	filter;

	if (name && strcmp(name, "advanced") == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("filter \"advanced\" is not supported yet"),
				 errhint("Use best, which admits at least as much.")));
	if (name == NULL || !dp_acct_filter_parse(name, &filter))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 name ? errmsg("filter \"%s\" does not exist", name) :
				 errmsg("filter must not be NULL"),
				 errhint("Filters are basic, zcdp and best.")));
	return filter;
}

static dp_limit
make_limit(dp_filter filter, dp_fixed epsilon, dp_fixed delta)
{
	dp_limit	limit;
	dp_status	status;

	if (filter == DP_FILTER_ZCDP && delta == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("filter zcdp needs a positive delta"),
				 errdetail("Without delta, a sum of rho promises no "
						   "epsilon."),
				 errhint("Give a delta, or use filter basic.")));
	status = dp_acct_limit_make(filter, epsilon, delta, &limit);
	if (status == DP_E_RANGE || status == DP_E_OVERFLOW)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("no budget can be made of this epsilon and delta"),
				 errdetail("Filter %s cannot certify them.",
						   dp_acct_filter_name(filter)),
				 errhint("Use a larger delta, a smaller epsilon, or filter "
						 "basic.")));
	dp_bridge_check_status(status, "make a budget");
	return limit;
}

/* Renewal: NULL or a positive interval without negative parts. */
static bool
read_renew(FunctionCallInfo fcinfo, int argument, Interval *out)
{
	Interval   *renew;
	double		days;

	if (PG_ARGISNULL(argument))
		return false;
	renew = PG_GETARG_INTERVAL_P(argument);
	if (renew->month < 0 || renew->day < 0 || renew->time < 0 ||
		(renew->month == 0 && renew->day == 0 && renew->time == 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("renew must be a positive interval"),
				 errdetail("None of its parts may be negative, and one must "
						   "be positive."),
				 errhint("For example '7 days'; leave it out for a budget "
						 "that never renews.")));
	days = renew->month * 31.0 + renew->day +
		(double) renew->time / USECS_PER_DAY;
	if (days > MAX_RENEWAL_DAYS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("renew is too long"),
				 errdetail("It is longer than a hundred years."),
				 errhint("Leave it out for a budget that never renews.")));
	*out = *renew;
	return true;
}

/*
 * The dataset's published views, to grant only those that still show no rows;
 * palloc'd in SPI's context.
 */
static int
list_published(const char *dataset, bool grant, Oid **views)
{
	Oid			types[2] = {NAMEOID, BOOLOID};
	Datum		values[2];
	NameData	key;
	int			n;
	int			i;

	*views = NULL;
	if (!OidIsValid(get_relname_relid("relation",
									  dp_bridge_catalog_namespace())))
		return 0;
	namestrcpy(&key, dataset);
	values[0] = NameGetDatum(&key);
	values[1] = BoolGetDatum(grant);
	if (SPI_execute_with_args("SELECT published::pg_catalog.oid"
							  " FROM dp_pg.relation WHERE dataset = $1"
							  " AND published IS NOT NULL"
							  " AND (NOT $2 OR dp_pg.check_published(relid))",
							  2, types, values, NULL, false, 0) !=
		SPI_OK_SELECT)
		elog(ERROR, "could not read the published views");
	n = (int) SPI_processed;
	*views = palloc(sizeof(Oid) * (n + 1));
	for (i = 0; i < n; i++)
		(*views)[i] = DatumGetObjectId(dp_column(i, 1, NULL));
	return n;
}

static Oid
owner_of_relation(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid			owner = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
		ReleaseSysCache(tuple);
	}
	return owner;
}

/*
 * GRANT or REVOKE SELECT on the dataset's published views, as their owners.
 * A view of another owner than the caller acts for is left alone.
 */
static void
share_views(const char *dataset, const char *role, Oid caller, bool grant)
{
	Oid		   *views;
	int			n = list_published(dataset, grant, &views);
	Oid			user;
	int			security;
	int			i;

	GetUserIdAndSecContext(&user, &security);
	for (i = 0; i < n; i++)
	{
		Oid			owner = owner_of_relation(views[i]);
		char	   *view;

		if (!OidIsValid(owner) || !has_privs_of_role(caller, owner))
			continue;
		view = quote_qualified_identifier(
			get_namespace_name(get_rel_namespace(views[i])),
			get_rel_name(views[i]));
		SetUserIdAndSecContext(owner, security);
		if (SPI_execute(psprintf(grant ? "GRANT SELECT ON TABLE %s TO %s" :
								 "REVOKE SELECT ON TABLE %s FROM %s",
								 view, quote_identifier(role)),
						false, 0) != SPI_OK_UTILITY)
			elog(ERROR, "could not change the rights on a published view");
		SetUserIdAndSecContext(user, security);
	}
}

/*
 * Continue an old row under a new grant.  What was spent in the present
 * period stays spent; another renewal begins a new period without a refund.
 */
static void
replace_grant(dp_budget_row *row, const dp_budget_row *grant)
{
	TimestampTz now = GetCurrentTimestamp();

	dp_catalog_roll(row, now);
	if (row->renews != grant->renews ||
		memcmp(&row->renew, &grant->renew, sizeof(Interval)) != 0)
		row->period_start = now;
	row->role = grant->role;
	row->role_name = grant->role_name;
	row->cluster = grant->cluster;
	row->active = true;
	row->limit = grant->limit;
	row->renews = grant->renews;
	row->renew = grant->renew;
	dp_catalog_write_limit(row);
}

static void
write_grant(const dp_budget_row *grant)
{
	const char *dataset = NameStr(grant->dataset);
	const char *role = NameStr(grant->role_name);
	dp_budget_row row;
	bool		found;

	found = dp_catalog_read_budget(dataset, grant->role, role, DP_ROW_WAIT,
								   &row) == DP_FOUND ||
		dp_catalog_find_heritage(dataset, role, &row);
	if (!found)
	{
		dp_catalog_insert_budget(grant);
		if (dp_catalog_read_budget(dataset, grant->role, role, DP_ROW_WAIT,
								   &row) != DP_FOUND)
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("could not grant because of a concurrent "
							"grant"),
					 errhint("Try again.")));
	}
	replace_grant(&row, grant);
}

static Oid
find_role(FunctionCallInfo fcinfo, int argument, bool missing_ok)
{
	Oid			role;

	if (PG_ARGISNULL(argument))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("role must not be NULL"),
				 errhint("Name a role, or CURRENT_USER.")));
	role = get_role_oid(NameStr(*PG_GETARG_NAME(argument)), true);
	if (!OidIsValid(role) && !missing_ok)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("role \"%s\" does not exist",
						NameStr(*PG_GETARG_NAME(argument))),
				 errhint("Spell the role exactly as in \\du; PUBLIC is not "
						 "a role.")));
	return role;
}

static char *
dataset_argument(FunctionCallInfo fcinfo, int argument)
{
	return dp_ledger_owner_dataset(PG_ARGISNULL(argument) ? NULL :
								   NameStr(*PG_GETARG_NAME(argument)),
								   false);
}

/* (role, dataset, epsilon, delta, filter, renew), numbers as numeric */
static Datum
grant_budget(FunctionCallInfo fcinfo, Datum epsilon, Datum delta)
{
	Oid			caller = GetUserId();
	dp_budget_row grant;
	dp_owner_sql saved;

	check_writable("dp_grant");
	MemSet(&grant, 0, sizeof(grant));
	grant.role = find_role(fcinfo, 0, false);
	grant.role_name = *PG_GETARG_NAME(0);
	grant.cluster = dp_bridge_cluster_id();
	grant.active = true;
	grant.limit = make_limit(read_filter(fcinfo, 4),
							 read_epsilon(epsilon, PG_ARGISNULL(2),
										  "epsilon"),
							 read_delta(delta, PG_ARGISNULL(3)));
	grant.renews = read_renew(fcinfo, 5, &grant.renew);
	grant.period_start = GetCurrentTimestamp();
	namestrcpy(&grant.dataset, dataset_argument(fcinfo, 1));

	dp_bridge_owner_begin(&saved);
	dp_catalog_open(RowExclusiveLock);
	write_grant(&grant);
	share_views(NameStr(grant.dataset), NameStr(grant.role_name), caller,
				true);
	dp_bridge_owner_end(&saved);
	PG_RETURN_VOID();
}

/* (dataset, epsilon, delta, filter, floor, ceiling), numbers as numeric */
static Datum
limit_dataset(FunctionCallInfo fcinfo, Datum epsilon, Datum delta,
			  Datum floor, Datum ceiling)
{
	dp_dataset_row wanted;
	dp_dataset_row row;
	dp_owner_sql saved;

	check_writable("dp_limit");
	MemSet(&wanted, 0, sizeof(wanted));
	wanted.cap = make_limit(read_filter(fcinfo, 3),
							read_epsilon(epsilon, PG_ARGISNULL(1),
										 "epsilon"),
							read_delta(delta, PG_ARGISNULL(2)));
	wanted.floored = !PG_ARGISNULL(4);
	if (wanted.floored)
		wanted.floor = read_epsilon(floor, false, "epsilon_floor");
	wanted.ceiled = !PG_ARGISNULL(5);
	if (wanted.ceiled)
		wanted.ceiling = read_epsilon(ceiling, false, "epsilon_ceiling");
	if (wanted.floored && wanted.ceiled && wanted.floor > wanted.ceiling)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("epsilon_floor must not be above epsilon_ceiling"),
				 errdetail("No query could be asked."),
				 errhint("Exchange the two, or leave one out.")));
	namestrcpy(&wanted.name, dataset_argument(fcinfo, 0));

	dp_bridge_owner_begin(&saved);
	dp_catalog_open(RowExclusiveLock);
	if (dp_catalog_read_dataset(NameStr(wanted.name), DP_ROW_WAIT,
								&row) != DP_FOUND)
		elog(ERROR, "dataset row is gone");
	row.cap = wanted.cap;
	row.floored = wanted.floored;
	row.floor = wanted.floor;
	row.ceiled = wanted.ceiled;
	row.ceiling = wanted.ceiling;
	dp_catalog_write_cap(&row);
	dp_bridge_owner_end(&saved);
	PG_RETURN_VOID();
}

/* A float8 argument as the decimal that a person means by it. */
static Datum
decimal_of(FunctionCallInfo fcinfo, int argument)
{
	if (PG_ARGISNULL(argument))
		return (Datum) 0;
	return NumericGetDatum(
		dp_bridge_float8_to_numeric(PG_GETARG_FLOAT8(argument)));
}

/*
 * dp_ledger_sql_grant
 *	  dp_grant(role, dataset, epsilon, delta, filter, renew): give a role a
 *	  budget, or replace the limits of the one it has; never its spending.
 *
 * Errors: 22023, 42704, 42501, 25006, 0A000 (filter advanced).
 */
Datum
dp_ledger_sql_grant(PG_FUNCTION_ARGS)
{
	return grant_budget(fcinfo, PG_GETARG_DATUM(2), PG_GETARG_DATUM(3));
}

/* dp_ledger_sql_grant_float: dp_grant with double precision numbers. */
Datum
dp_ledger_sql_grant_float(PG_FUNCTION_ARGS)
{
	return grant_budget(fcinfo, decimal_of(fcinfo, 2), decimal_of(fcinfo, 3));
}

/*
 * dp_ledger_sql_limit
 *	  dp_limit(dataset, epsilon, delta, filter, epsilon_floor,
 *	  epsilon_ceiling): cap a dataset over all roles and times, and bound the
 *	  price of one query.
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
	return limit_dataset(fcinfo, decimal_of(fcinfo, 1), decimal_of(fcinfo, 2),
						 decimal_of(fcinfo, 4), decimal_of(fcinfo, 5));
}

/*
 * dp_ledger_sql_revoke
 *	  dp_revoke(role, dataset): the budget can no longer be spent.  Refunds
 *	  nothing; a role dropped meanwhile may be named.
 *
 * Errors: 42704 also when the role has no budget on the dataset; 42501.
 */
Datum
dp_ledger_sql_revoke(PG_FUNCTION_ARGS)
{
	Oid			caller = GetUserId();
	Oid			role;
	NameData	name;
	char	   *dataset;
	dp_budget_row row;
	dp_owner_sql saved;
	bool		found;

	check_writable("dp_revoke");
	role = find_role(fcinfo, 0, true);
	name = *PG_GETARG_NAME(0);
	dataset = dataset_argument(fcinfo, 1);

	dp_bridge_owner_begin(&saved);
	dp_catalog_open(RowExclusiveLock);
	found = dp_catalog_read_budget(dataset, role, NameStr(name), DP_ROW_WAIT,
								   &row) == DP_FOUND ||
		dp_catalog_find_heritage(dataset, NameStr(name), &row);
	if (found)
	{
		row.active = false;
		dp_catalog_write_limit(&row);
		if (OidIsValid(role))
			share_views(dataset, NameStr(name), caller, false);
	}
	dp_bridge_owner_end(&saved);
	if (!found)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("role \"%s\" has no budget on dataset \"%s\"",
						NameStr(name), dataset),
				 errhint("dp_pg.budgets lists who has one.")));
	PG_RETURN_VOID();
}

/*
 * dp_ledger_sql_open_dataset
 *	  dp_pg.open_dataset(dataset) returns name: make a dataset that belongs to
 *	  the current user, unless it has it already; NULL means the default one.
 *	  dp_protect does the same for everybody; this is for databases that
 *	  charge through procedures of their own.
 *
 * Errors: 42501, 25006, 22023 empty name.
 */
Datum
dp_ledger_sql_open_dataset(PG_FUNCTION_ARGS)
{
	Name		name = palloc0(sizeof(NameData));

	check_writable("dp_pg.open_dataset");
	namestrcpy(name, dp_ledger_owner_dataset(PG_ARGISNULL(0) ? NULL :
											 NameStr(*PG_GETARG_NAME(0)),
											 true));
	PG_RETURN_NAME(name);
}
