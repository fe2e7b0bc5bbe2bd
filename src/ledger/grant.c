/*
 * grant.c
 *	  Budgets, which the owner of a dataset grants to roles and revokes.
 *
 * The functions are not SECURITY DEFINER.  Each checks that the current user
 * owns the dataset and only then writes the catalog as the extension's owner.
 * They are transactional: effective at COMMIT and undone by ROLLBACK, which is
 * safe because none of them changes spending.
 */
#include "postgres.h"

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

#include "ledger.h"
#include "owner.h"

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
tell_renewal_ends(const dp_budget_row *row, const dp_budget_row *grant)
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

	tell_renewal_ends(row, grant);
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
	grant.cluster = dp_bridge_cluster_id();
	grant.active = true;
	grant.limit = dp_ledger_make_limit(dp_ledger_read_filter(fcinfo, 4),
							 dp_ledger_read_epsilon(epsilon, PG_ARGISNULL(2),
										  "epsilon"),
							 dp_ledger_read_delta(delta, PG_ARGISNULL(3)));
	grant.renews = read_renew(fcinfo, 5, &grant.renew);
	grant.period_start = GetCurrentTimestamp();
	namestrcpy(&grant.dataset, dp_ledger_owner_dataset_argument(fcinfo, 1));

	dp_bridge_owner_begin(&saved);
	dp_catalog_lock_ledger(RowExclusiveLock);
	write_grant(&grant);
	share_views(NameStr(grant.dataset), NameStr(grant.role_name), caller,
				true);
	dp_bridge_owner_end(&saved);
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

	dp_bridge_owner_begin(&saved);
	dp_catalog_lock_ledger(RowExclusiveLock);
	found = dp_catalog_read_budget(dataset, role, NameStr(name), DP_ROW_WAIT,
								   &row) == DP_FOUND ||
		dp_catalog_find_heritage(dataset, NameStr(name), &row);
	if (found)
	{
		row.active = false;
		dp_catalog_write_limit(&row);
		dp_catalog_forget_answers(dataset, row.role);
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
