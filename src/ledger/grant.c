/*
 * grant.c
 *	  Budgets and limits, which the owner of a dataset grants to roles and
 *	  revokes.
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/varlena.h"

#include "../math/numbers/dp_numbers.h"
#include "../math/accounting/dp_accounting.h"
#include "../base/dp_base.h"
#include "../catalog/dp_catalog.h"
#include "dp_ledger.h"
#include "ledger_internal.h"

/* ----------------
 *		Arguments of the functions that a dataset's owner calls: which dataset,
 *		numbers, filters.
 * ----------------
 */

/*
 * dp_ledger_check_writable
 *	  Raise 25006 where the catalog cannot be written.
 */
void
dp_ledger_check_writable(const char *what)
{
	if (RecoveryInProgress() || XactReadOnly)
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot execute %s in a read-only transaction",
						what),
				 errhint("Run it on the primary server, in a read-write "
						 "transaction.")));
}

/* The table or view that a text names in SQL, or InvalidOid. */
static Oid
find_named_relation(const char *text)
{
	List	   *names;
	Oid			namespace;

	if (!SplitIdentifierString(pstrdup(text), '.', &names) ||
		names == NIL || list_length(names) > 2)
		return InvalidOid;
	if (list_length(names) == 1)
		return RelnameGetRelid(linitial(names));
	namespace = get_namespace_oid(linitial(names), true);
	return OidIsValid(namespace) ?
		get_relname_relid(lsecond(names), namespace) : InvalidOid;
}

/*
 * Raise 42704.  If the name is that of a protected table or its published
 * view, name their dataset, which anyone can read in dp_pg.relation.
 */
static void
raise_no_dataset(const char *name)
{
	Oid			relid = find_named_relation(name);
	Oid			shown = OidIsValid(relid) ?
		dp_catalog_find_published(relid) : InvalidOid;
	dp_relation_row row;
	bool		is_relation = OidIsValid(relid) &&
		dp_catalog_find_relation(OidIsValid(shown) ? shown : relid, &row);

	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("dataset \"%s\" does not exist", name),
			 is_relation ?
			 errdetail("\"%s\" is a %s in dataset \"%s\".", name,
					   OidIsValid(shown) ? "view" : "table",
					   NameStr(row.dataset)) : 0,
			 is_relation ?
			 errhint("Name the dataset: budgets and caps are for all of its "
					 "tables together.") :
			 errhint("dp_protect creates a dataset when it protects the "
					 "first table.")));
}

/* dp_ledger_raise_not_owner: see dp_ledger.h. */
void
dp_ledger_raise_not_owner(const char *dataset, const char *detail,
						  const char *hint)
{
	dp_dataset_row row;
	bool		orphan;

	orphan = dp_catalog_read_dataset(dataset, DP_ROW_READ, &row) == DP_FOUND &&
		!OidIsValid(row.owner);
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("must be owner of dataset \"%s\"", dataset),
			 orphan ?
			 errdetail("Its owner was dropped, so only superusers own it; a "
					   "role created later with that name does not.") :
			 detail ? errdetail("%s", detail) : 0,
			 orphan ?
			 errhint("A superuser can give it to a role by setting owner_oid "
					 "and owner_name in dp_pg.dataset; or name another "
					 "dataset.") :
			 errhint("%s", hint)));
}

/*
 * dp_ledger_owner_dataset
 *	  See dp_ledger.h.  Errors: 22023, 42501, 42704.
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
				 errhint("Leave the name out to get a dataset with the name "
						 "of your role.")));
	dp_base_owner_begin(&saved);
	found = dp_catalog_read_dataset(name, DP_ROW_READ, &row);
	if (found != DP_FOUND && create)
	{
		(void) dp_catalog_insert_dataset(name, caller);
		found = dp_catalog_read_dataset(name, DP_ROW_READ, &row);
	}
	if (found == DP_FOUND && row.stale && !XactReadOnly &&
		dp_ledger_payer_owns(caller, &row) &&
		dp_catalog_read_dataset(name, DP_ROW_WAIT, &row) == DP_FOUND)
		dp_catalog_write_dataset(&row, 0);
	dp_base_owner_end(&saved);
	if (found != DP_FOUND)
		raise_no_dataset(name);
	if (!dp_ledger_payer_owns(caller, &row))
		dp_ledger_raise_not_owner(name, NULL,
								  "A dataset belongs to the role that first "
								  "named it; ask that role, or name another "
								  "dataset.");
	return name;
}

/* dp_ledger_owner_serves: see dp_ledger.h. */
bool
dp_ledger_owner_serves(Oid owner, Oid role)
{
	return OidIsValid(owner) && OidIsValid(role) &&
		is_member_of_role_nosuper(owner, role);
}

/* dp_ledger_dataset_serves: see dp_ledger.h. */
bool
dp_ledger_dataset_serves(const char *dataset, Oid role)
{
	dp_dataset_row row;

	return dp_catalog_read_dataset(dataset, DP_ROW_READ, &row) == DP_FOUND &&
		dp_ledger_owner_serves(row.owner, role);
}

/* Read a number, rounded down to the grid; raises 22023. */
static dp_fixed
grant_read_number(Datum value, bool isnull, const char *what,
				  dp_number_range range, const char *hint)
{
	Numeric		x = isnull ? NULL : DatumGetNumeric(value);
	dp_fixed	fixed = dp_base_check_number(x, what, range, DP_ROUND_DOWN,
											 hint);
	dp_rational exact;
	dp_number_fault fault = dp_base_numeric_to_rational(x, &exact);

	if (fault != DP_NUMBER_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s is not valid", what),
				 errdetail("It is %s.", dp_base_number_fault_text(fault)),
				 errhint("%s", hint)));
	return fixed;
}

/* ledger_read_epsilon: a positive number, rounded down, or 22023. */
static dp_fixed
ledger_read_epsilon(Datum value, bool isnull, const char *what)
{
	return grant_read_number(value, isnull, what, DP_RANGE_POSITIVE,
							 "Give a positive number; budgets usually lie "
							 "between 0.1 and 10.");
}

/* dp_ledger_read_delta: a number in [0, 1), rounded down, or 22023. */
dp_fixed
dp_ledger_read_delta(Datum value, bool isnull)
{
	return grant_read_number(value, isnull, "delta", DP_RANGE_DELTA,
							 "Give 0, or a number far below one divided by "
							 "the number of people.");
}

/* read_filter: the filter that an argument names, or 22023. */
static dp_filter
read_filter(FunctionCallInfo fcinfo, int argument)
{
	char	   *name = PG_ARGISNULL(argument) ? NULL :
	text_to_cstring(PG_GETARG_TEXT_PP(argument));
	dp_filter	filter;

	if (name == NULL || !dp_accounting_filter_parse(name, &filter))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 name ? errmsg("filter \"%s\" does not exist", name) :
				 errmsg("filter must not be NULL"),
				 errhint("Filters are basic, advanced, zcdp and best.")));
	return filter;
}

/*
 * make_limit
 *	  The limit with which a filter guarantees (epsilon, delta); 22023 if there
 *	  is none.
 */
static dp_limit
make_limit(dp_filter filter, dp_fixed epsilon, dp_fixed delta)
{
	dp_limit	limit;
	dp_status	status;

	if ((filter == DP_FILTER_ZCDP || filter == DP_FILTER_ADVANCED) &&
		delta == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("filter %s needs a positive delta",
						dp_accounting_filter_name(filter)),
				 errdetail("Without delta, a sum of %s promises no "
						   "epsilon.", filter == DP_FILTER_ZCDP ? "rho" :
						   "squared epsilons"),
				 errhint("Give a delta, or use filter basic.")));
	status = dp_accounting_limit_make(filter, epsilon, delta, &limit);
	if (status == DP_E_RANGE || status == DP_E_OVERFLOW)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot make a budget of this epsilon and delta"),
				 errdetail("Filter %s cannot certify them.",
						   dp_accounting_filter_name(filter)),
				 errhint("Use a larger delta, a smaller epsilon, or filter "
						 "basic.")));
	dp_base_check_status(status, "make a budget");
	return limit;
}

/*
 * dp_ledger_owner_dataset_argument
 *	  The dataset that an argument names (NULL: the default one), which the
 *	  caller must own.  Errors: 22023, 42704, 42501.
 */
char *
dp_ledger_owner_dataset_argument(FunctionCallInfo fcinfo, int argument)
{
	return dp_ledger_owner_dataset(PG_ARGISNULL(argument) ? NULL :
								   NameStr(*PG_GETARG_NAME(argument)),
								   false);
}

/*
 * dp_ledger_owner_decimal
 *	  A float8 argument as the shortest decimal that denotes it.
 */
Datum
dp_ledger_owner_decimal(FunctionCallInfo fcinfo, int argument)
{
	if (PG_ARGISNULL(argument))
		return (Datum) 0;
	return NumericGetDatum(
		dp_base_float8_to_numeric(PG_GETARG_FLOAT8(argument)));
}

/* ----------------
 *		What the owner decides for a whole dataset: the cap over all roles,
 *		bounds on prices, and the neighbouring relation.
 *
 * Like dp_grant these functions are transactional.  Each locks the dataset's
 * row until the end of the transaction; meanwhile the worker charges nothing
 * to the dataset.
 * ----------------
 */

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

	dp_base_owner_begin(&saved);
	lock_dataset(name, &row);
	row.capped = wanted->capped;
	row.cap = wanted->cap;
	row.floored = wanted->floored;
	row.floor = wanted->floor;
	row.ceiled = wanted->ceiled;
	row.ceiling = wanted->ceiling;
	dp_catalog_write_dataset(&row, DP_DATASET_CAP);
	dp_base_owner_end(&saved);
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
	wanted.cap = make_limit(read_filter(fcinfo, 3),
							ledger_read_epsilon(epsilon,
												PG_ARGISNULL(1),
												"epsilon"),
							dp_ledger_read_delta(delta,
												 PG_ARGISNULL(2)));
	wanted.floored = !PG_ARGISNULL(4);
	if (wanted.floored)
		wanted.floor = ledger_read_epsilon(floor, false, "epsilon_floor");
	wanted.ceiled = !PG_ARGISNULL(5);
	if (wanted.ceiled)
		wanted.ceiling = ledger_read_epsilon(ceiling, false,
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
grant_read_relation(FunctionCallInfo fcinfo, int argument)
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
	replace_one = grant_read_relation(fcinfo, 1);
	name = dp_ledger_owner_dataset_argument(fcinfo, 0);
	dp_base_owner_begin(&saved);
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
		dp_catalog_write_dataset(&row, DP_DATASET_NEIGHBOURS);
	}
	dp_base_owner_end(&saved);
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

/* ----------------
 *		Budgets, which the owner of a dataset grants to roles and revokes.
 *
 * The functions are not SECURITY DEFINER.  Each checks that the current user
 * owns the dataset and only then writes the catalog as the extension's owner.
 * They are transactional: effective at COMMIT and undone by ROLLBACK, which is
 * safe because none of them changes spending.
 * ----------------
 */

/* Longest renewal period, in days. */
#define MAX_RENEWAL_DAYS 36525

PG_FUNCTION_INFO_V1(dp_ledger_sql_grant);
PG_FUNCTION_INFO_V1(dp_ledger_sql_grant_float);
PG_FUNCTION_INFO_V1(dp_ledger_sql_revoke);

/* Read the renewal: NULL, or a positive interval without negative parts. */
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
				 errdetail("None of its parts may be negative, and at least "
						   "one must be positive."),
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
 * GRANT or REVOKE SELECT on the dataset's published views, as their owners.
 * Views whose owner's rights the caller does not have are skipped.
 */
static void
share_views(const char *dataset, const char *role, Oid caller, bool grant)
{
	Oid		   *views;
	int			n = dp_catalog_list_published(dataset, grant, &views);
	Oid			user;
	int			security;
	int			i;

	GetUserIdAndSecContext(&user, &security);
	for (i = 0; i < n; i++)
	{
		Oid			owner = dp_catalog_owner(views[i]);
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

/* Tell the owner if a new grant ends the renewal, perhaps by omission. */
static void
notice_renewal_ends(const dp_budget_row *row, const dp_budget_row *grant)
{
	char	   *renew;

	if (!row->active || !row->renews || grant->renews)
		return;
	renew = DatumGetCString(DirectFunctionCall1(
		interval_out, IntervalPGetDatum(&row->renew)));
	ereport(NOTICE,
			(errmsg("budget of role \"%s\" on dataset \"%s\" no longer renews",
					NameStr(grant->role_name), NameStr(grant->dataset)),
			 errdetail("It renewed every %s.  A grant replaces the previous "
					   "one entirely, including its renewal.", renew),
			 errhint("Grant again with renew => '%s' to keep the renewal.",
					 renew)));
}

/*
 * Apply a new grant to an existing row.  What was spent in the current period
 * stays spent; a changed renewal begins a period without a refund.
 */
static void
replace_grant(dp_budget_row *row, const dp_budget_row *grant)
{
	TimestampTz now = GetCurrentTimestamp();

	notice_renewal_ends(row, grant);
	dp_ledger_roll(row, now);
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
	dp_catalog_write_budget(row, DP_BUDGET_LIMIT);
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

/* (role, dataset, epsilon, delta, filter, renew), numbers as numeric */
static Datum
grant_budget(FunctionCallInfo fcinfo, Datum epsilon, Datum delta)
{
	Oid			caller = GetUserId();
	dp_budget_row grant;
	dp_owner_sql saved;

	dp_ledger_check_writable("dp_grant");
	MemSet(&grant, 0, sizeof(grant));
	grant.role = find_role(fcinfo, 0, false);
	grant.role_name = *PG_GETARG_NAME(0);
	grant.cluster = dp_base_cluster_id();
	grant.active = true;
	grant.limit = make_limit(read_filter(fcinfo, 4),
							 ledger_read_epsilon(epsilon, PG_ARGISNULL(2),
										  "epsilon"),
							 dp_ledger_read_delta(delta, PG_ARGISNULL(3)));
	grant.renews = read_renew(fcinfo, 5, &grant.renew);
	grant.period_start = GetCurrentTimestamp();
	namestrcpy(&grant.dataset, dp_ledger_owner_dataset_argument(fcinfo, 1));

	dp_base_owner_begin(&saved);
	dp_catalog_lock_ledger(RowExclusiveLock);
	write_grant(&grant);
	share_views(NameStr(grant.dataset), NameStr(grant.role_name), caller,
				true);
	dp_base_owner_end(&saved);
	PG_RETURN_VOID();
}

/*
 * dp_ledger_sql_grant
 *	  dp_grant(role, dataset, epsilon, delta, filter, renew): give a role a
 *	  budget, or replace the limits of the one it has; never its spending.
 *
 * Errors: 22023, 42704, 42501, 25006.
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
	return grant_budget(fcinfo, dp_ledger_owner_decimal(fcinfo, 2),
						dp_ledger_owner_decimal(fcinfo, 3));
}

/*
 * dp_ledger_sql_revoke
 *	  dp_revoke(role, dataset): the budget can no longer be spent.  Nothing is
 *	  refunded.  The role may have been dropped.
 *
 * Errors: 22023, 42704 also if the role has no budget on the dataset, 42501,
 * 25006.
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

	dp_ledger_check_writable("dp_revoke");
	role = find_role(fcinfo, 0, true);
	name = *PG_GETARG_NAME(0);
	dataset = dp_ledger_owner_dataset_argument(fcinfo, 1);

	dp_base_owner_begin(&saved);
	dp_catalog_lock_ledger(RowExclusiveLock);
	found = dp_catalog_read_budget(dataset, role, NameStr(name), DP_ROW_WAIT,
								   &row) == DP_FOUND ||
		dp_catalog_find_heritage(dataset, NameStr(name), &row);
	if (found)
	{
		row.active = false;
		dp_catalog_write_budget(&row, DP_BUDGET_LIMIT);
		dp_catalog_forget_answers(dataset, row.role);
		if (OidIsValid(role))
			share_views(dataset, NameStr(name), caller, false);
	}
	dp_base_owner_end(&saved);
	if (!found)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("role \"%s\" has no budget on dataset \"%s\"",
						NameStr(name), dataset),
				 errhint("dp_pg.budgets lists who has one.")));
	PG_RETURN_VOID();
}
