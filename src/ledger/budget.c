/*
 * budget.c
 *	  Rows of dp_pg.budget: what a role may spend on a dataset and has spent.
 *
 * A row belongs to a role by OID in the cluster that wrote it, and by name in
 * another cluster, where it was restored.  Nothing here ever lowers a total.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "catalog.h"

#define COLUMNS \
	"SELECT ctid, dataset, role_oid, role_name, cluster, active," \
	" filter, epsilon, delta, delta_conversion, delta_sum, rho, alpha," \
	" renew, period_start," \
	" spent_epsilon, spent_rho, spent_delta, charges," \
	" total_epsilon, total_rho, total_delta, total_charges" \
	" FROM dp_pg.budget"
#define BY_OID COLUMNS \
	" WHERE dataset = $1 AND role_oid = $2 AND cluster = $3"
#define BY_NAME COLUMNS \
	" WHERE dataset = $1 AND role_name = $2 AND cluster <> $3" \
	" ORDER BY total_charges DESC LIMIT 1"
#define SKIP " FOR NO KEY UPDATE SKIP LOCKED"
#define WAIT " FOR NO KEY UPDATE"

static dp_statement by_oid[] =
{
	{BY_OID, 3, {NAMEOID, OIDOID, INT8OID}},
	{BY_OID SKIP, 3, {NAMEOID, OIDOID, INT8OID}},
	{BY_OID WAIT, 3, {NAMEOID, OIDOID, INT8OID}}
};

static dp_statement by_name[] =
{
	{BY_NAME, 3, {NAMEOID, NAMEOID, INT8OID}},
	{BY_NAME SKIP, 3, {NAMEOID, NAMEOID, INT8OID}},
	{BY_NAME WAIT, 3, {NAMEOID, NAMEOID, INT8OID}}
};

static dp_statement heritage =
{
	COLUMNS " WHERE dataset = $1 AND role_name = $2"
	" ORDER BY total_charges DESC" WAIT,
	2, {NAMEOID, NAMEOID}
};

static dp_statement list_active =
{
	"SELECT role_oid, role_name, cluster FROM dp_pg.budget"
	" WHERE dataset = $1 AND active",
	1, {NAMEOID}
};

static dp_statement insert_row =
{
	"INSERT INTO dp_pg.budget (dataset, role_oid, role_name, cluster, active,"
	" filter, epsilon, delta, delta_conversion, delta_sum, rho, alpha,"
	" renew, period_start)"
	" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)"
	" ON CONFLICT DO NOTHING",
	14, {NAMEOID, OIDOID, NAMEOID, INT8OID, BOOLOID, TEXTOID, NUMERICOID,
		NUMERICOID, NUMERICOID, NUMERICOID, NUMERICOID, INT8OID, INTERVALOID,
	TIMESTAMPTZOID}
};

static dp_statement update_limit =
{
	"UPDATE dp_pg.budget SET role_oid = $2, role_name = $3, cluster = $4,"
	" active = $5, filter = $6, epsilon = $7, delta = $8,"
	" delta_conversion = $9, delta_sum = $10, rho = $11, alpha = $12,"
	" renew = $13, period_start = $14,"
	" spent_epsilon = $15, spent_rho = $16, spent_delta = $17, charges = $18"
	" WHERE ctid = $1",
	18, {TIDOID, OIDOID, NAMEOID, INT8OID, BOOLOID, TEXTOID, NUMERICOID,
		NUMERICOID, NUMERICOID, NUMERICOID, NUMERICOID, INT8OID, INTERVALOID,
	TIMESTAMPTZOID, NUMERICOID, NUMERICOID, NUMERICOID, INT8OID}
};

static dp_statement update_sums =
{
	"UPDATE dp_pg.budget SET role_oid = $2, role_name = $3, cluster = $4,"
	" period_start = $5,"
	" spent_epsilon = $6, spent_rho = $7, spent_delta = $8, charges = $9,"
	" total_epsilon = $10, total_rho = $11, total_delta = $12,"
	" total_charges = $13 WHERE ctid = $1",
	13, {TIDOID, OIDOID, NAMEOID, INT8OID, TIMESTAMPTZOID, NUMERICOID,
		NUMERICOID, NUMERICOID, INT8OID, NUMERICOID, NUMERICOID, NUMERICOID,
	INT8OID}
};

static void
fetch(int row, dp_budget_row *out)
{
	bool		isnull;
	Datum		value;

	MemSet(out, 0, sizeof(*out));
	out->tid = *(ItemPointer) DatumGetPointer(dp_column(row, 1, NULL));
	out->dataset = *DatumGetName(dp_column(row, 2, NULL));
	out->role = DatumGetObjectId(dp_column(row, 3, NULL));
	out->role_name = *DatumGetName(dp_column(row, 4, NULL));
	out->cluster = DatumGetInt64(dp_column(row, 5, NULL));
	out->active = DatumGetBool(dp_column(row, 6, NULL));
	dp_column_limit(row, 7, &out->limit);
	value = dp_column(row, 14, &isnull);
	out->renews = !isnull;
	if (out->renews)
		out->renew = *DatumGetIntervalP(value);
	out->period_start = DatumGetTimestampTz(dp_column(row, 15, NULL));
	dp_column_sums(row, 16, &out->spent);
	dp_column_sums(row, 20, &out->total);
}

/* One of the two keys, telling a locked row from a missing one. */
static dp_found
read_by(dp_statement *statements, const dp_args *args, dp_row_lock lock,
		dp_budget_row *out)
{
	if (dp_statement_run(&statements[lock], args, SPI_OK_SELECT) > 0)
	{
		fetch(0, out);
		return DP_FOUND;
	}
	if (lock == DP_ROW_SKIP_LOCKED &&
		dp_statement_run(&statements[DP_ROW_READ], args, SPI_OK_SELECT) > 0)
		return DP_LOCKED;
	return DP_MISSING;
}

/*
 * dp_catalog_read_budget
 *	  The row that belongs to a role here and now, locked as told, active or
 *	  not.  role_name must be the present name of the role.
 */
dp_found
dp_catalog_read_budget(const char *dataset, Oid role, const char *role_name,
					   dp_row_lock lock, dp_budget_row *out)
{
	NameData	key;
	NameData	name;
	dp_args		args;
	dp_found	found;

	namestrcpy(&key, dataset);
	dp_args_start(&args);
	dp_args_add(&args, NameGetDatum(&key));
	dp_args_add(&args, ObjectIdGetDatum(role));
	dp_args_add(&args, Int64GetDatum(dp_bridge_cluster_id()));
	found = read_by(by_oid, &args, lock, out);
	if (found != DP_MISSING)
		return found;
	namestrcpy(&name, role_name);
	args.value[1] = NameGetDatum(&name);
	return read_by(by_name, &args, lock, out);
}

/*
 * dp_catalog_find_heritage
 *	  The row whose spending a new grant to a role of this name continues: of
 *	  a dropped role, or restored from another cluster.  Locks it.  A row of a
 *	  living role that was merely renamed is not one.
 */
bool
dp_catalog_find_heritage(const char *dataset, const char *role_name,
						 dp_budget_row *out)
{
	NameData	key;
	NameData	name;
	dp_args		args;
	uint64		n;
	uint64		i;

	namestrcpy(&key, dataset);
	namestrcpy(&name, role_name);
	dp_args_start(&args);
	dp_args_add(&args, NameGetDatum(&key));
	dp_args_add(&args, NameGetDatum(&name));
	n = dp_statement_run(&heritage, &args, SPI_OK_SELECT);
	for (i = 0; i < n; i++)
	{
		fetch((int) i, out);
		if (out->cluster != dp_bridge_cluster_id() ||
			GetUserNameFromId(out->role, true) == NULL)
			return true;
	}
	return false;
}

/*
 * dp_catalog_list_roles
 *	  Roles of this cluster with an active budget on a dataset; palloc'd in
 *	  SPI's context.
 */
int
dp_catalog_list_roles(const char *dataset, Oid **roles)
{
	NameData	key;
	dp_args		args;
	uint64		n;
	uint64		i;
	int			found = 0;

	namestrcpy(&key, dataset);
	dp_args_start(&args);
	dp_args_add(&args, NameGetDatum(&key));
	n = dp_statement_run(&list_active, &args, SPI_OK_SELECT);
	*roles = palloc(sizeof(Oid) * (n + 1));
	for (i = 0; i < n; i++)
	{
		Oid			role = DatumGetObjectId(dp_column((int) i, 1, NULL));
		Name		name = DatumGetName(dp_column((int) i, 2, NULL));
		int			j;

		if (DatumGetInt64(dp_column((int) i, 3, NULL)) !=
			dp_bridge_cluster_id())
			role = get_role_oid(NameStr(*name), true);
		else if (GetUserNameFromId(role, true) == NULL)
			role = InvalidOid;
		for (j = 0; j < found && (*roles)[j] != role; j++)
			;
		if (OidIsValid(role) && j == found)
			(*roles)[found++] = role;
	}
	return found;
}

static void
add_identity(dp_args *args, const dp_budget_row *row)
{
	dp_args_add(args, ObjectIdGetDatum(row->role));
	dp_args_add(args, NameGetDatum(&row->role_name));
	dp_args_add(args, Int64GetDatum(row->cluster));
}

static void
add_grant(dp_args *args, const dp_budget_row *row)
{
	dp_args_add(args, BoolGetDatum(row->active));
	dp_args_add_limit(args, &row->limit);
	if (row->renews)
		dp_args_add(args, IntervalPGetDatum(&row->renew));
	else
		dp_args_add_null(args);
	dp_args_add(args, TimestampTzGetDatum(row->period_start));
}

/*
 * dp_catalog_insert_budget
 *	  A first grant; nothing is spent yet.  False when a concurrent grant was
 *	  faster.
 */
bool
dp_catalog_insert_budget(const dp_budget_row *row)
{
	dp_args		args;

	dp_args_start(&args);
	dp_args_add(&args, NameGetDatum(&row->dataset));
	add_identity(&args, row);
	add_grant(&args, row);
	return dp_statement_run(&insert_row, &args, SPI_OK_INSERT) == 1;
}

/*
 * dp_catalog_write_limit
 *	  Identity, limits and period of a row that the caller has locked.  The
 *	  period's spending is written as read, or rolled; totals stay.
 */
void
dp_catalog_write_limit(const dp_budget_row *row)
{
	dp_args		args;

	dp_args_start(&args);
	dp_args_add(&args, PointerGetDatum(&row->tid));
	add_identity(&args, row);
	add_grant(&args, row);
	dp_args_add_sums(&args, &row->spent);
	if (dp_statement_run(&update_limit, &args, SPI_OK_UPDATE) != 1)
		elog(ERROR, "budget row is gone");
}

/* dp_catalog_write_budget: sums after a charge; the row is locked. */
void
dp_catalog_write_budget(const dp_budget_row *row)
{
	dp_args		args;

	dp_args_start(&args);
	dp_args_add(&args, PointerGetDatum(&row->tid));
	add_identity(&args, row);
	dp_args_add(&args, TimestampTzGetDatum(row->period_start));
	dp_args_add_sums(&args, &row->spent);
	dp_args_add_sums(&args, &row->total);
	if (dp_statement_run(&update_sums, &args, SPI_OK_UPDATE) != 1)
		elog(ERROR, "budget row is gone");
}

/* Days and months are those of UTC, whatever the session's time zone. */
static TimestampTz
add_interval(TimestampTz start, const Interval *step)
{
	return DatumGetTimestamp(DirectFunctionCall2(timestamp_pl_interval,
												 TimestampGetDatum(start),
												 IntervalPGetDatum(step)));
}

/* dp_catalog_renewal: end of the present period; the row must renew. */
TimestampTz
dp_catalog_renewal(const dp_budget_row *row)
{
	return add_interval(row->period_start, &row->renew);
}

/*
 * dp_catalog_roll
 *	  Begin the period that `now` lies in: whole intervals are added to its
 *	  start and the period's spending is zero again.  Totals are kept.
 */
void
dp_catalog_roll(dp_budget_row *row, TimestampTz now)
{
	int64		usec = row->renew.time + row->renew.day * USECS_PER_DAY;

	if (!row->renews || dp_catalog_renewal(row) > now)
		return;
	if (row->renew.month == 0)
	{
		if (usec <= 0)
			elog(ERROR, "renewal interval is not positive");
		row->period_start += (now - row->period_start) / usec * usec;
	}
	else
	{
		if (row->renew.month < 0 || usec < 0)
			elog(ERROR, "renewal interval is not positive");
		while (dp_catalog_renewal(row) <= now)
			row->period_start = dp_catalog_renewal(row);
	}
	MemSet(&row->spent, 0, sizeof(row->spent));
}
