/*
 * ledger_tables.c
 *	  Rows of the datasets, budgets and parts of the ledger, and of the
 *	  clusters in which OIDs of roles hold.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "commands/sequence.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "table_access.h"

/* ----------------
 *		Clusters whose role OIDs mean the same roles here.
 *
 * Both pg_upgrade and a restore bring rows of another cluster: pg_upgrade
 * changes the system identifier and keeps OIDs; after a restore OIDs may be
 * those of other roles.  dp_pg.lineage distinguishes them: it has every
 * identifier that this database has had since the extension was created in it,
 * and is not dumped.
 * ----------------
 */

enum
{
	LINEAGE_CLUSTER = 1,
	LINEAGE_END
};

static const dp_table lineage = {"lineage", LINEAGE_END - 1};

/* The last lookup, and its table. */
static Oid	asked_table = InvalidOid;
static int64 asked = 0;
static bool answer = false;

/*
 * Whether an identifier is listed.  Those of other clusters are never added
 * while the server runs, so a negative result can be cached.
 */
static bool
ledger_is_listed(int64 cluster)
{
	Oid			relid = get_relname_relid(lineage.name,
										  dp_bridge_catalog_namespace());
	ScanKeyData key;
	HeapTuple	tuple;
	dp_values	row;

	if (relid == asked_table && cluster == asked &&
		(answer || cluster != dp_bridge_cluster_id()))
		return answer;
	dp_catalog_key(&key, LINEAGE_CLUSTER, INT8OID, Int64GetDatum(cluster));
	answer = dp_catalog_find_row(&lineage, NULL, &key, 1, NULL, DP_ROW_READ,
								 &tuple, &row) == DP_FOUND;
	asked_table = relid;
	asked = cluster;
	return answer;
}

/*
 * dp_catalog_in_lineage
 *	  Whether role OIDs that this cluster wrote are valid here; otherwise names
 *	  are.
 *
 * Errors: 55000 when the extension is not installed here.
 */
bool
dp_catalog_in_lineage(int64 cluster)
{
	return cluster == dp_bridge_cluster_id() || ledger_is_listed(cluster);
}

/*
 * dp_catalog_extend_lineage
 *	  Add the system identifier, which is new after pg_upgrade.  The worker
 *	  does this with each charge, in time before the next pg_upgrade.
 */
void
dp_catalog_extend_lineage(void)
{
	dp_values	row;

	if (ledger_is_listed(dp_bridge_cluster_id()))
		return;
	dp_catalog_start_row(&lineage, &row);
	dp_catalog_set_int64(&row, LINEAGE_CLUSTER, dp_bridge_cluster_id());
	dp_catalog_append_rows(&lineage, &row, 1);
}

/* ----------------
 *		Rows of dp_pg.dataset: owner, cap, and the sums over all roles.
 * ----------------
 */

/* Columns in the order of sql/20_ledger.sql. */
enum
{
	DATASET_NAME = 1,
	DATASET_OWNER_OID,
	DATASET_OWNER_NAME,
	DATASET_CLUSTER,
	DATASET_NEIGHBOURS,
	DATASET_CAP,				/* first of DP_LIMIT_COLUMNS */
	DATASET_SPENT = DATASET_CAP + DP_LIMIT_COLUMNS, /* of DP_SUM_COLUMNS */
	DATASET_FLOOR = DATASET_SPENT + DP_SUM_COLUMNS,
	DATASET_CEILING,
	DATASET_HOME,				/* written by SQL */
	DATASET_END
};

const dp_table dp_catalog_datasets = {"dataset", DATASET_END - 1};

/*
 * Find the current owner of the dataset.  In the cluster that wrote the row
 * the OID decides: a new role with the old name owns nothing.  In another
 * cluster, after a restore, the name decides.
 */
static void
ledger_resolve_owner(const dp_values *row, dp_dataset_row *out)
{
	Oid			stored = dp_catalog_get_oid(row, DATASET_OWNER_OID);
	NameData	stored_name = dp_catalog_get_name(row, DATASET_OWNER_NAME);
	NameData	name;

	if (!dp_catalog_in_lineage(dp_catalog_get_int64(row, DATASET_CLUSTER)))
	{
		out->owner = get_role_oid(NameStr(stored_name), true);
		out->stale = OidIsValid(out->owner);
		return;
	}
	dp_catalog_name_role(stored, &name);
	out->owner = NameStr(name)[0] ? stored : InvalidOid;
	out->stale = OidIsValid(out->owner) &&
		strcmp(NameStr(name), NameStr(stored_name)) != 0;
}

/*
 * dp_catalog_read_dataset
 *	  The row of a dataset, locked as `lock` says.
 */
dp_found
dp_catalog_read_dataset(const char *name, dp_row_lock lock,
						dp_dataset_row *out)
{
	NameData	key;
	ScanKeyData scan_key;
	dp_values	row;
	dp_found	found;

	MemSet(out, 0, sizeof(*out));
	namestrcpy(&key, name);
	dp_catalog_key(&scan_key, DATASET_NAME, NAMEOID, NameGetDatum(&key));
	found = dp_catalog_find_row(&dp_catalog_datasets, NULL, &scan_key, 1,
								NULL, lock, &out->tuple, &row);
	if (found != DP_FOUND)
		return found;
	out->name = dp_catalog_get_name(&row, DATASET_NAME);
	ledger_resolve_owner(&row, out);
	out->replace_one = dp_catalog_get_neighbours(&row, DATASET_NEIGHBOURS);
	out->capped = !dp_catalog_is_null(&row, DATASET_CAP);
	if (out->capped)
		dp_catalog_get_limit(&row, DATASET_CAP, &out->cap);
	dp_catalog_get_sums(&row, DATASET_SPENT, &out->spent);
	out->floored = !dp_catalog_is_null(&row, DATASET_FLOOR);
	if (out->floored)
		out->floor = dp_catalog_get_fixed(&row, DATASET_FLOOR);
	out->ceiled = !dp_catalog_is_null(&row, DATASET_CEILING);
	if (out->ceiled)
		out->ceiling = dp_catalog_get_fixed(&row, DATASET_CEILING);
	return DP_FOUND;
}

static int
ledger_compare_names(const void *a, const void *b)
{
	return strncmp(NameStr(*(const NameData *) a),
				   NameStr(*(const NameData *) b), NAMEDATALEN);
}

/* dp_catalog_list_datasets: all names in order, palloc'd. */
int
dp_catalog_list_datasets(NameData **names)
{
	List	   *rows;
	ListCell   *lc;
	int			n = 0;

	rows = dp_catalog_list_rows(&dp_catalog_datasets, NULL, NULL, 0, NULL);
	*names = palloc(sizeof(NameData) * (list_length(rows) + 1));
	foreach(lc, rows)
		(*names)[n++] = dp_catalog_get_name(lfirst(lc), DATASET_NAME);
	qsort(*names, n, sizeof(NameData), ledger_compare_names);
	return n;
}

/*
 * dp_catalog_insert_dataset
 *	  False if the name is taken, perhaps by a concurrent insert.  Needs SPI as
 *	  the owner of the extension.
 */
bool
dp_catalog_insert_dataset(const char *name, Oid owner)
{
	Oid			types[4] = {NAMEOID, OIDOID, NAMEOID, INT8OID};
	Datum		values[4];
	NameData	key;
	NameData	owner_name;

	namestrcpy(&key, name);
	dp_catalog_name_role(owner, &owner_name);
	values[0] = NameGetDatum(&key);
	values[1] = ObjectIdGetDatum(owner);
	values[2] = NameGetDatum(&owner_name);
	values[3] = Int64GetDatum(dp_bridge_cluster_id());
	return dp_catalog_run("INSERT INTO dp_pg.dataset"
						  " (name, owner_oid, owner_name, cluster,"
						  " spent_squares, home)"
						  " VALUES ($1, $2, $3, $4, 0, dp_pg.home())"
						  " ON CONFLICT DO NOTHING",
						  4, types, values, NULL) == 1;
}

/*
 * Store the current owner if the row is outdated: after a restore in another
 * cluster, or after the role was renamed.
 */
static void
set_owner(dp_values *values, const dp_dataset_row *row, NameData *name)
{
	if (!row->stale)
		return;
	dp_catalog_name_role(row->owner, name);
	dp_catalog_set_oid(values, DATASET_OWNER_OID, row->owner);
	dp_catalog_set_name(values, DATASET_OWNER_NAME, name);
	dp_catalog_set_int64(values, DATASET_CLUSTER, dp_bridge_cluster_id());
}

/* dp_catalog_adopt_dataset: store the current owner; the row is locked. */
void
dp_catalog_adopt_dataset(const dp_dataset_row *row)
{
	dp_values	values;
	NameData	name;

	if (!row->stale)
		return;
	dp_catalog_start_row(&dp_catalog_datasets, &values);
	set_owner(&values, row, &name);
	dp_catalog_update_row(&dp_catalog_datasets, row->tuple, &values);
}

/* dp_catalog_write_dataset: write sums after a charge; the row is locked. */
void
dp_catalog_write_dataset(const dp_dataset_row *row)
{
	dp_values	values;
	NameData	name;

	dp_catalog_start_row(&dp_catalog_datasets, &values);
	set_owner(&values, row, &name);
	dp_catalog_set_sums(&values, DATASET_SPENT, &row->spent);
	dp_catalog_update_row(&dp_catalog_datasets, row->tuple, &values);
}

/* dp_catalog_write_cap: write cap, floor, ceiling; the row is locked. */
void
dp_catalog_write_cap(const dp_dataset_row *row)
{
	dp_values	values;

	int			i;

	dp_catalog_start_row(&dp_catalog_datasets, &values);
	if (row->capped)
		dp_catalog_set_limit(&values, DATASET_CAP, &row->cap);
	else
		for (i = 0; i < DP_LIMIT_COLUMNS; i++)
			dp_catalog_set_null(&values, DATASET_CAP + i);
	if (row->floored)
		dp_catalog_set_fixed(&values, DATASET_FLOOR, row->floor);
	else
		dp_catalog_set_null(&values, DATASET_FLOOR);
	if (row->ceiled)
		dp_catalog_set_fixed(&values, DATASET_CEILING, row->ceiling);
	else
		dp_catalog_set_null(&values, DATASET_CEILING);
	dp_catalog_update_row(&dp_catalog_datasets, row->tuple, &values);
}

/* dp_catalog_write_neighbours: write the relation; the row is locked. */
void
dp_catalog_write_neighbours(const dp_dataset_row *row)
{
	dp_values	values;

	dp_catalog_start_row(&dp_catalog_datasets, &values);
	dp_catalog_set_neighbours(&values, DATASET_NEIGHBOURS, row->replace_one);
	dp_catalog_update_row(&dp_catalog_datasets, row->tuple, &values);
}

/* ----------------
 *		Rows of dp_pg.budget: what a role may spend on a dataset and has spent.
 *
 * A row belongs to a role by OID in the cluster that wrote it, also after
 * pg_upgrade, and by name in a cluster where it was restored.  Nothing here
 * ever lowers a total.
 * ----------------
 */

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
ledger_fetch(const dp_values *row, dp_budget_row *out)
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
ledger_is_foreign(const dp_values *row)
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
	return !ledger_is_foreign(row) && charged_more(row, best);
}

/* Rows that were restored from another cluster. */
static bool
prefer_foreign(const dp_values *row, const dp_values *best)
{
	return ledger_is_foreign(row) && charged_more(row, best);
}

/* Those, and those of dropped roles. */
static bool
prefer_heritage(const dp_values *row, const dp_values *best)
{
	return (ledger_is_foreign(row) ||
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
		ledger_fetch(&row, out);
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
	ledger_fetch(&row, out);
	return true;
}

/* The role that a row belongs to in this cluster, or InvalidOid. */
static Oid
role_of(const dp_values *row)
{
	Oid			role = dp_catalog_get_oid(row, BUDGET_ROLE_OID);
	NameData	name = dp_catalog_get_name(row, BUDGET_ROLE_NAME);

	if (ledger_is_foreign(row))
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

/* ----------------
 *		Rows of dp_pg.part: what was spent on each part of a partition.
 *
 * Only the worker writes them.  They are not dumped: after a restore the sums
 * of all parts are zero while the totals stay, which costs more, never less.
 * ----------------
 */

/* Columns in the order of sql/20_ledger.sql. */
enum
{
	PART_DATASET = 1,
	PART_PAYER_OID,
	PART_PARTITION,
	PART_KEY,
	PART_PERIOD,
	PART_SPENT,					/* first of DP_SUM_COLUMNS */
	PART_END = PART_SPENT + DP_SUM_COLUMNS
};

static const dp_table parts = {"part", PART_END - 1};

/* dp_catalog_new_partition: see dp_catalog.h. */
int64
dp_catalog_new_partition(void)
{
	return nextval_internal(dp_catalog_sequence("partition_seq"), false);
}

/* dp_catalog_last_partition: the last number assigned; 0: none yet. */
int64
dp_catalog_last_partition(void)
{
	dp_owner_sql saved;
	int64		last = 0;

	dp_bridge_owner_begin(&saved);
	if (dp_catalog_run("SELECT last_value FROM dp_pg.partition_seq"
					   " WHERE is_called", 0, NULL, NULL, NULL) == 1)
		last = DatumGetInt64(dp_catalog_result(0, 1));
	dp_bridge_owner_end(&saved);
	return last;
}

/*
 * dp_catalog_read_part
 *	  Read the sums of the dataset, payer, partition and key in *row, locked as
 *	  `lock` says; zero if they are missing or of another period.
 */
dp_found
dp_catalog_read_part(dp_part_row *row, dp_row_lock lock)
{
	ScanKeyData keys[4];
	dp_values	values;
	dp_found	found;

	dp_catalog_key(&keys[0], PART_DATASET, NAMEOID,
				   NameGetDatum(&row->dataset));
	dp_catalog_key(&keys[1], PART_PAYER_OID, OIDOID,
				   ObjectIdGetDatum(row->payer));
	dp_catalog_key(&keys[2], PART_PARTITION, INT8OID,
				   Int64GetDatum(row->partition));
	dp_catalog_key(&keys[3], PART_KEY, NAMEOID, NameGetDatum(&row->key));
	MemSet(&row->spent, 0, sizeof(row->spent));
	row->tuple = NULL;
	found = dp_catalog_find_row(&parts, NULL, keys, 4, NULL, lock,
								&row->tuple, &values);
	if (found == DP_FOUND &&
		dp_catalog_get_int64(&values, PART_PERIOD) == row->period)
		dp_catalog_get_sums(&values, PART_SPENT, &row->spent);
	return found;
}

/* dp_catalog_write_part: update a row that was read, or insert it. */
void
dp_catalog_write_part(const dp_part_row *row)
{
	dp_values	values;

	dp_catalog_start_row(&parts, &values);
	dp_catalog_set_int64(&values, PART_PERIOD, row->period);
	dp_catalog_set_sums(&values, PART_SPENT, &row->spent);
	if (row->tuple != NULL)
	{
		dp_catalog_update_row(&parts, row->tuple, &values);
		return;
	}
	dp_catalog_set_name(&values, PART_DATASET, &row->dataset);
	dp_catalog_set_oid(&values, PART_PAYER_OID, row->payer);
	dp_catalog_set_int64(&values, PART_PARTITION, row->partition);
	dp_catalog_set_name(&values, PART_KEY, &row->key);
	dp_catalog_append_rows(&parts, &values, 1);
}
