/*
 * budget_row.c
 *	  Rows of dp_pg.budget: what a role may spend on a dataset and has spent.
 *
 * A row belongs to a role by OID in the cluster that wrote it, also after
 * pg_upgrade, and by name in a cluster where it was restored (lineage_row.c).
 * Nothing here ever lowers a total.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "table_access.h"

/* Columns in the order of sql/20_ledger.sql. */
enum
{
	BUDGET_DATASET = 1,
	BUDGET_ROLE_OID,
	BUDGET_ROLE_NAME,
	BUDGET_CLUSTER,
	BUDGET_ACTIVE,
	BUDGET_LIMIT,				/* first of DP_LIMIT_COLUMNS */
	BUDGET_RENEW = BUDGET_LIMIT + DP_LIMIT_COLUMNS,
	BUDGET_PERIOD_START,
	BUDGET_PERIOD,
	BUDGET_SPENT,				/* first of DP_SUM_COLUMNS */
	BUDGET_TOTAL = BUDGET_SPENT + DP_SUM_COLUMNS,	/* likewise */
	BUDGET_TOTAL_CHARGES = BUDGET_TOTAL + DP_SUM_COLUMNS - 1,
	BUDGET_END
};

#define NAME_INDEX "budget_role_name"

const dp_table dp_catalog_budgets = {"budget", BUDGET_END - 1};

static void
fetch(const dp_values *row, dp_budget_row *out)
{
	out->dataset = dp_catalog_get_name(row, BUDGET_DATASET);
	out->role = dp_catalog_get_oid(row, BUDGET_ROLE_OID);
	out->role_name = dp_catalog_get_name(row, BUDGET_ROLE_NAME);
	out->cluster = dp_catalog_get_int64(row, BUDGET_CLUSTER);
	out->active = dp_catalog_get_bool(row, BUDGET_ACTIVE);
	dp_catalog_get_limit(row, BUDGET_LIMIT, &out->limit);
	out->renews = !dp_catalog_is_null(row, BUDGET_RENEW);
	if (out->renews)
		out->renew = *DatumGetIntervalP(dp_catalog_get(row, BUDGET_RENEW));
	out->period_start = dp_catalog_get_time(row, BUDGET_PERIOD_START);
	out->period = dp_catalog_get_int64(row, BUDGET_PERIOD);
	dp_catalog_get_sums(row, BUDGET_SPENT, &out->spent);
	dp_catalog_get_sums(row, BUDGET_TOTAL, &out->total);
}

static bool
is_foreign(const dp_values *row)
{
	return !dp_catalog_in_lineage(dp_catalog_get_int64(row, BUDGET_CLUSTER));
}

/*
 * Of two rows with one name, prefer the one charged more often; if equal, that
 * of the younger role, which got the name after the other gave it up.  The
 * view dp_pg.budgets does the same.
 */
static bool
charged_more(const dp_values *row, const dp_values *best)
{
	int64		a;
	int64		b;

	if (best == NULL)
		return true;
	a = dp_catalog_get_int64(row, BUDGET_TOTAL_CHARGES);
	b = dp_catalog_get_int64(best, BUDGET_TOTAL_CHARGES);
	if (a == b)
	{
		a = dp_catalog_get_oid(row, BUDGET_ROLE_OID);
		b = dp_catalog_get_oid(best, BUDGET_ROLE_OID);
	}
	return a > b;
}

/* Rows of this cluster: one, unless rows of two databases were merged. */
static bool
prefer_own(const dp_values *row, const dp_values *best)
{
	return !is_foreign(row) && charged_more(row, best);
}

/* Rows that were restored from another cluster. */
static bool
prefer_foreign(const dp_values *row, const dp_values *best)
{
	return is_foreign(row) && charged_more(row, best);
}

/* Those, and those of dropped roles. */
static bool
prefer_heritage(const dp_values *row, const dp_values *best)
{
	return (is_foreign(row) ||
			GetUserNameFromId(dp_catalog_get_oid(row, BUDGET_ROLE_OID),
							  true) == NULL) &&
		charged_more(row, best);
}

static dp_found
find_by_oid(const char *dataset, Oid role, dp_row_lock lock, HeapTuple *tuple,
			dp_values *row)
{
	NameData	key;
	ScanKeyData keys[2];

	namestrcpy(&key, dataset);
	dp_catalog_key(&keys[0], BUDGET_DATASET, NAMEOID, NameGetDatum(&key));
	dp_catalog_key(&keys[1], BUDGET_ROLE_OID, OIDOID, ObjectIdGetDatum(role));
	return dp_catalog_find_row(&dp_catalog_budgets, NULL, keys, 2, prefer_own,
							   lock, tuple, row);
}

static dp_found
find_by_name(const char *dataset, const char *role_name, dp_prefer prefer,
			 dp_row_lock lock, HeapTuple *tuple, dp_values *row)
{
	NameData	key;
	NameData	name;
	ScanKeyData keys[2];

	namestrcpy(&key, dataset);
	namestrcpy(&name, role_name);
	dp_catalog_key(&keys[0], BUDGET_DATASET, NAMEOID, NameGetDatum(&key));
	dp_catalog_key(&keys[1], BUDGET_ROLE_NAME, NAMEOID, NameGetDatum(&name));
	return dp_catalog_find_row(&dp_catalog_budgets, NAME_INDEX, keys, 2,
							   prefer, lock, tuple, row);
}

/*
 * dp_catalog_read_budget
 *	  The row that belongs to a role in this cluster, active or not, locked as
 *	  `lock` says. role_name must be the role's current name.  For DP_LOCKED,
 *	  *out is the latest committed row.
 */
dp_found
dp_catalog_read_budget(const char *dataset, Oid role, const char *role_name,
					   dp_row_lock lock, dp_budget_row *out)
{
	dp_values	row;
	dp_found	found;

	MemSet(out, 0, sizeof(*out));
	found = find_by_oid(dataset, role, lock, &out->tuple, &row);
	if (found == DP_MISSING)
		found = find_by_name(dataset, role_name, prefer_foreign, lock,
							 &out->tuple, &row);
	if (found != DP_MISSING)
		fetch(&row, out);
	return found;
}

/*
 * dp_catalog_find_heritage
 *	  The row whose spending a new grant to a role of this name takes over:
 *	  that of a dropped role, or one restored from another cluster; locked.  A
 *	  row of an existing role that was renamed is not one.
 */
bool
dp_catalog_find_heritage(const char *dataset, const char *role_name,
						 dp_budget_row *out)
{
	dp_values	row;

	MemSet(out, 0, sizeof(*out));
	if (find_by_name(dataset, role_name, prefer_heritage, DP_ROW_WAIT,
					 &out->tuple, &row) != DP_FOUND)
		return false;
	fetch(&row, out);
	return true;
}

/* The role that a row belongs to in this cluster, or InvalidOid. */
static Oid
role_of(const dp_values *row)
{
	Oid			role = dp_catalog_get_oid(row, BUDGET_ROLE_OID);
	NameData	name = dp_catalog_get_name(row, BUDGET_ROLE_NAME);

	if (is_foreign(row))
		return get_role_oid(NameStr(name), true);
	return GetUserNameFromId(role, true) ? role : InvalidOid;
}

/*
 * dp_catalog_list_roles
 *	  Roles of this cluster with an active budget on a dataset, palloc'd.
 */
int
dp_catalog_list_roles(const char *dataset, Oid **roles)
{
	NameData	key;
	ScanKeyData scan_key;
	List	   *rows;
	ListCell   *lc;
	int			found = 0;

	namestrcpy(&key, dataset);
	dp_catalog_key(&scan_key, BUDGET_DATASET, NAMEOID, NameGetDatum(&key));
	rows = dp_catalog_list_rows(&dp_catalog_budgets, NULL, &scan_key, 1,
								NULL);
	*roles = palloc(sizeof(Oid) * (list_length(rows) + 1));
	foreach(lc, rows)
	{
		const dp_values *row = lfirst(lc);
		Oid			role;
		int			j;

		if (!dp_catalog_get_bool(row, BUDGET_ACTIVE))
			continue;
		role = role_of(row);
		for (j = 0; j < found && (*roles)[j] != role; j++)
			;
		if (OidIsValid(role) && j == found)
			(*roles)[found++] = role;
	}
	return found;
}

/*
 * dp_catalog_sum_budgets
 *	  Total spending on a dataset from the budgets, even revoked ones, of a
 *	  role and of the roles that it is a member of.  Returns the number of
 *	  budgets.
 */
int
dp_catalog_sum_budgets(const char *dataset, Oid role, dp_spent *sum)
{
	NameData	key;
	ScanKeyData scan_key;
	ListCell   *lc;
	int			n = 0;

	MemSet(sum, 0, sizeof(*sum));
	namestrcpy(&key, dataset);
	dp_catalog_key(&scan_key, BUDGET_DATASET, NAMEOID, NameGetDatum(&key));
	foreach(lc, dp_catalog_list_rows(&dp_catalog_budgets, NULL, &scan_key, 1,
									 NULL))
	{
		const dp_values *row = lfirst(lc);
		Oid			payer = role_of(row);
		dp_spent	total;

		if (!OidIsValid(payer) || !is_member_of_role_nosuper(role, payer))
			continue;
		dp_catalog_get_sums(row, BUDGET_TOTAL, &total);
		dp_bridge_check_status(dp_acct_spent_sum(sum, &total),
							   "add up the spending");
		n++;
	}
	return n;
}

/*
 * dp_catalog_list_holders
 *	  Names (char *) of the roles of this cluster with an active budget on a
 *	  dataset, in SPI's context.  Needs SPI as the owner of the extension.
 */
List *
dp_catalog_list_holders(const char *dataset)
{
	Oid			types[1] = {NAMEOID};
	Datum		values[1];
	NameData	key;
	List	   *names = NIL;
	int			n;
	int			i;

	namestrcpy(&key, dataset);
	values[0] = NameGetDatum(&key);
	n = (int) dp_catalog_run("SELECT r.rolname FROM dp_pg.budget AS b"
							 " JOIN pg_catalog.pg_roles AS r ON CASE"
							 " WHEN dp_pg.in_lineage(b.cluster)"
							 " THEN r.oid = b.role_oid"
							 " ELSE r.rolname = b.role_name END"
							 " WHERE b.dataset = $1 AND b.active",
							 1, types, values, NULL);
	for (i = 0; i < n; i++)
		names = lappend(names,
						NameStr(*DatumGetName(dp_catalog_result(i, 1))));
	return names;
}

/*
 * dp_catalog_insert_budget
 *	  Insert an inactive row, to be filled in by dp_catalog_write_limit; does
 *	  nothing if a concurrent grant was faster.  Needs SPI as the owner of the
 *	  extension.
 */
void
dp_catalog_insert_budget(const dp_budget_row *row)
{
	Oid			types[4] = {NAMEOID, OIDOID, NAMEOID, INT8OID};
	Datum		values[4];

	values[0] = NameGetDatum(&row->dataset);
	values[1] = ObjectIdGetDatum(row->role);
	values[2] = NameGetDatum(&row->role_name);
	values[3] = Int64GetDatum(row->cluster);
	(void) dp_catalog_run("INSERT INTO dp_pg.budget"
						  " (dataset, role_oid, role_name, cluster,"
						  " active, filter, epsilon, delta,"
						  " delta_conversion, delta_sum, rho, alpha,"
						  " spent_squares, total_squares)"
						  " VALUES ($1, $2, $3, $4, false, 'basic', 0, 0,"
						  " 0, 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING",
						  4, types, values, NULL);
}

static void
set_identity(dp_values *values, const dp_budget_row *row)
{
	dp_catalog_set_oid(values, BUDGET_ROLE_OID, row->role);
	dp_catalog_set_name(values, BUDGET_ROLE_NAME, &row->role_name);
	dp_catalog_set_int64(values, BUDGET_CLUSTER, row->cluster);
}

/*
 * dp_catalog_write_limit
 *	  Write identity, limits, period and its spending to a row that the caller
 *	  has locked; totals stay.
 */
void
dp_catalog_write_limit(const dp_budget_row *row)
{
	dp_values	values;

	dp_catalog_start_row(&dp_catalog_budgets, &values);
	set_identity(&values, row);
	dp_catalog_set_bool(&values, BUDGET_ACTIVE, row->active);
	dp_catalog_set_limit(&values, BUDGET_LIMIT, &row->limit);
	if (row->renews)
		dp_catalog_set(&values, BUDGET_RENEW, IntervalPGetDatum(&row->renew));
	else
		dp_catalog_set_null(&values, BUDGET_RENEW);
	dp_catalog_set_time(&values, BUDGET_PERIOD_START, row->period_start);
	dp_catalog_set_int64(&values, BUDGET_PERIOD, row->period);
	dp_catalog_set_sums(&values, BUDGET_SPENT, &row->spent);
	dp_catalog_update_row(&dp_catalog_budgets, row->tuple, &values);
}

/* dp_catalog_write_budget: write sums after a charge; the row is locked. */
void
dp_catalog_write_budget(const dp_budget_row *row)
{
	dp_values	values;

	dp_catalog_start_row(&dp_catalog_budgets, &values);
	set_identity(&values, row);
	dp_catalog_set_time(&values, BUDGET_PERIOD_START, row->period_start);
	dp_catalog_set_int64(&values, BUDGET_PERIOD, row->period);
	dp_catalog_set_sums(&values, BUDGET_SPENT, &row->spent);
	dp_catalog_set_sums(&values, BUDGET_TOTAL, &row->total);
	dp_catalog_update_row(&dp_catalog_budgets, row->tuple, &values);
}
