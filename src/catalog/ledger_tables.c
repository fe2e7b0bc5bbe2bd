/*
 * ledger_tables.c
 *	  Rows of the ledger: datasets, budgets, lines, batches and parts, and the
 *	  clusters in which OIDs of roles hold.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_type.h"
#include "commands/sequence.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "../math/accounting/dp_accounting.h"
#include "../base/dp_base.h"
#include "dp_catalog.h"
#include "dp_table.h"

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

typedef struct lineage_row
{
	HeapTuple	tuple;
	int64		cluster;
} lineage_row;

#define DP_ROW lineage_row
static const dp_column lineage_columns[] = {
	DP_COL("cluster", VALUE, cluster, 0)
};
#undef DP_ROW

static const dp_table lineage = DP_TABLE("lineage", lineage_row,
										 lineage_columns);

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
										  dp_base_catalog_namespace());
	ScanKeyData key;
	lineage_row row;

	if (relid == asked_table && cluster == asked &&
		(answer || cluster != dp_base_cluster_id()))
		return answer;
	dp_catalog_key(&key, &lineage, "cluster", Int64GetDatum(cluster));
	answer = dp_catalog_find_row(&lineage, NULL, &key, 1, NULL, DP_ROW_READ,
								 &row) == DP_FOUND;
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
	return cluster == dp_base_cluster_id() || ledger_is_listed(cluster);
}

/*
 * dp_catalog_extend_lineage
 *	  Add the system identifier, which is new after pg_upgrade.  The worker
 *	  does this with each charge, in time before the next pg_upgrade.
 */
void
dp_catalog_extend_lineage(void)
{
	lineage_row row = {NULL, dp_base_cluster_id()};

	if (!ledger_is_listed(row.cluster))
		dp_catalog_insert_rows(&lineage, &row, 1);
}

/* ----------------
 *		Rows of dp_pg.dataset: owner, cap, and the sums over all roles.
 * ----------------
 */

#define DATASET_OWNER 1			/* beside DP_DATASET_CAP and others */

/* In the order of sql/20_ledger.sql. */
#define DP_ROW dp_dataset_row
static const dp_column dataset_columns[] = {
	DP_COL("name", BYTES, name, 0),
	DP_COL("owner_oid", VALUE, owner, DATASET_OWNER),
	DP_COL("owner_name", BYTES, owner_name, DATASET_OWNER),
	DP_COL("cluster", VALUE, cluster, DATASET_OWNER),
	DP_COL_NEIGHBOURS("neighbours", replace_one, DP_DATASET_NEIGHBOURS),
	DP_COLS_LIMIT("cap_", cap, DP_DATASET_CAP, DP_COL_AT(capped)),
	DP_COLS_SPENT("spent", "charges", spent, DP_DATASET_SPENT),
	DP_COL_IF("epsilon_floor", FIXED, floor, DP_DATASET_CAP, floored),
	DP_COL_IF("epsilon_ceiling", FIXED, ceiling, DP_DATASET_CAP, ceiled),
	{"home"}					/* written by SQL */
};
#undef DP_ROW

static const dp_table datasets = DP_TABLE("dataset", dp_dataset_row,
										  dataset_columns);

/*
 * Find the current owner of the dataset.  In the cluster that wrote the row
 * the OID decides: a new role with the old name owns nothing.  In another
 * cluster, after a restore, the name decides.
 */
static void
ledger_resolve_owner(dp_dataset_row *row)
{
	NameData	name;

	if (!dp_catalog_in_lineage(row->cluster))
	{
		row->owner = get_role_oid(NameStr(row->owner_name), true);
		row->stale = OidIsValid(row->owner);
		return;
	}
	dp_catalog_name_role(row->owner, &name);
	if (NameStr(name)[0] == '\0')
		row->owner = InvalidOid;
	row->stale = OidIsValid(row->owner) &&
		strcmp(NameStr(name), NameStr(row->owner_name)) != 0;
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
	dp_found	found;

	namestrcpy(&key, name);
	dp_catalog_key(&scan_key, &datasets, "name",
				   NameGetDatum(&key));
	found = dp_catalog_find_row(&datasets, NULL, &scan_key, 1,
								NULL, lock, out);
	if (found != DP_MISSING)
		ledger_resolve_owner(out);
	return found;
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

	rows = dp_catalog_list_rows(&datasets, NULL, NULL, 0, NULL,
								0);
	*names = palloc(sizeof(NameData) * (list_length(rows) + 1));
	foreach(lc, rows)
		(*names)[n++] = ((const dp_dataset_row *) lfirst(lc))->name;
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
	NameData	key;
	NameData	owner_name;
	dp_argument args[] = {
		DP_ARG_NAME(&key), DP_ARG_OID(owner), DP_ARG_NAME(&owner_name),
		DP_ARG_INT64(dp_base_cluster_id())
	};

	namestrcpy(&key, name);
	dp_catalog_name_role(owner, &owner_name);
	return dp_catalog_run("INSERT INTO dp_pg.dataset"
						  " (name, owner_oid, owner_name, cluster,"
						  " spent_squares, home)"
						  " VALUES ($1, $2, $3, $4, 0, dp_pg.home())"
						  " ON CONFLICT DO NOTHING", args, 4) == 1;
}

/*
 * dp_catalog_write_dataset
 *	  Write columns of a locked row, and the current owner if the row is
 *	  outdated: after a restore in another cluster, or after the role was
 *	  renamed.
 */
void
dp_catalog_write_dataset(const dp_dataset_row *row, int sets)
{
	dp_dataset_row now = *row;

	if (row->stale)
	{
		sets |= DATASET_OWNER;
		dp_catalog_name_role(row->owner, &now.owner_name);
		now.cluster = dp_base_cluster_id();
	}
	if (sets != 0)
		dp_catalog_update_row(&datasets, &now, sets);
}

/* ----------------
 *		Rows of dp_pg.budget: what a role may spend on a dataset and has spent.
 *
 * A row belongs to a role by OID in the cluster that wrote it, also after
 * pg_upgrade, and by name in a cluster where it was restored.  Nothing here
 * ever lowers a total.
 * ----------------
 */

#define BUDGET_ANY (DP_BUDGET_LIMIT | DP_BUDGET_TOTAL)

/* In the order of sql/20_ledger.sql. */
#define DP_ROW dp_budget_row
static const dp_column budget_columns[] = {
	DP_COL("dataset", BYTES, dataset, 0),
	DP_COL("role_oid", VALUE, role, BUDGET_ANY),
	DP_COL("role_name", BYTES, role_name, BUDGET_ANY),
	DP_COL("cluster", VALUE, cluster, BUDGET_ANY),
	DP_COL("active", VALUE, active, DP_BUDGET_LIMIT),
	DP_COLS_LIMIT("", limit, DP_BUDGET_LIMIT, 0, 0),
	DP_COL_IF("renew", BYTES, renew, DP_BUDGET_LIMIT, renews),
	DP_COL("period_start", VALUE, period_start, BUDGET_ANY),
	DP_COL("period", VALUE, period, BUDGET_ANY),
	DP_COLS_SPENT("spent", "charges", spent, BUDGET_ANY),
	DP_COLS_SPENT("total", "total_charges", total, DP_BUDGET_TOTAL)
};
#undef DP_ROW

#define NAME_INDEX "budget_role_name"

static const dp_table budgets = DP_TABLE("budget", dp_budget_row,
										 budget_columns);

static bool
ledger_is_foreign(const dp_budget_row *row)
{
	return !dp_catalog_in_lineage(row->cluster);
}

/*
 * Of two rows with one name, prefer the one charged more often; if equal, that
 * of the younger role, which got the name after the other gave it up.  The
 * view dp_pg.budgets does the same.
 */
static bool
charged_more(const dp_budget_row *row, const dp_budget_row *best)
{
	if (best == NULL)
		return true;
	if (row->total.charges == best->total.charges)
		return row->role > best->role;
	return row->total.charges > best->total.charges;
}

/* Rows of this cluster: one, unless rows of two databases were merged. */
static bool
prefer_own(const void *row, const void *best)
{
	return !ledger_is_foreign(row) && charged_more(row, best);
}

/* Rows that were restored from another cluster. */
static bool
prefer_foreign(const void *row, const void *best)
{
	return ledger_is_foreign(row) && charged_more(row, best);
}

/* Those, and those of dropped roles. */
static bool
prefer_heritage(const void *row, const void *best)
{
	return (ledger_is_foreign(row) ||
			GetUserNameFromId(((const dp_budget_row *) row)->role,
							  true) == NULL) &&
		charged_more(row, best);
}

static dp_found
find_by_name(const char *dataset, const char *role_name, dp_prefer prefer,
			 dp_row_lock lock, dp_budget_row *out)
{
	NameData	key;
	NameData	name;
	ScanKeyData keys[2];

	namestrcpy(&key, dataset);
	namestrcpy(&name, role_name);
	dp_catalog_key(&keys[0], &budgets, "dataset",
				   NameGetDatum(&key));
	dp_catalog_key(&keys[1], &budgets, "role_name",
				   NameGetDatum(&name));
	return dp_catalog_find_row(&budgets, NAME_INDEX, keys, 2,
							   prefer, lock, out);
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
	NameData	key;
	ScanKeyData keys[2];
	dp_found	found;

	namestrcpy(&key, dataset);
	dp_catalog_key(&keys[0], &budgets, "dataset",
				   NameGetDatum(&key));
	dp_catalog_key(&keys[1], &budgets, "role_oid",
				   ObjectIdGetDatum(role));
	found = dp_catalog_find_row(&budgets, NULL, keys, 2, prefer_own,
								lock, out);
	return found != DP_MISSING ? found :
		find_by_name(dataset, role_name, prefer_foreign, lock, out);
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
	return find_by_name(dataset, role_name, prefer_heritage, DP_ROW_WAIT,
						out) == DP_FOUND;
}

/* The role that a row belongs to in this cluster, or InvalidOid. */
static Oid
role_of(const dp_budget_row *row)
{
	if (ledger_is_foreign(row))
		return get_role_oid(NameStr(row->role_name), true);
	return GetUserNameFromId(row->role, true) ? row->role : InvalidOid;
}

/* All rows of a dataset. */
static List *
list_budgets(const char *dataset)
{
	NameData	key;
	ScanKeyData scan_key;

	namestrcpy(&key, dataset);
	dp_catalog_key(&scan_key, &budgets, "dataset",
				   NameGetDatum(&key));
	return dp_catalog_list_rows(&budgets, NULL, &scan_key, 1, NULL,
								0);
}

/*
 * dp_catalog_list_roles
 *	  Roles of this cluster with an active budget on a dataset, palloc'd.
 */
int
dp_catalog_list_roles(const char *dataset, Oid **roles)
{
	List	   *rows = list_budgets(dataset);
	ListCell   *lc;
	int			found = 0;

	*roles = palloc(sizeof(Oid) * (list_length(rows) + 1));
	foreach(lc, rows)
	{
		const dp_budget_row *row = lfirst(lc);
		Oid			role;
		int			j;

		if (!row->active)
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
	ListCell   *lc;
	int			n = 0;

	MemSet(sum, 0, sizeof(*sum));
	foreach(lc, list_budgets(dataset))
	{
		const dp_budget_row *row = lfirst(lc);
		Oid			payer = role_of(row);

		if (!OidIsValid(payer) || !is_member_of_role_nosuper(role, payer))
			continue;
		dp_base_check_status(dp_accounting_spent_sum(sum, &row->total),
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
	NameData	key;
	dp_argument args[] = {DP_ARG_NAME(&key)};
	List	   *names = NIL;
	int			n;
	int			i;

	namestrcpy(&key, dataset);
	n = (int) dp_catalog_run("SELECT r.rolname FROM dp_pg.budget AS b"
							 " JOIN pg_catalog.pg_roles AS r ON CASE"
							 " WHEN dp_pg.in_lineage(b.cluster)"
							 " THEN r.oid = b.role_oid"
							 " ELSE r.rolname = b.role_name END"
							 " WHERE b.dataset = $1 AND b.active", args, 1);
	for (i = 0; i < n; i++)
		names = lappend(names,
						NameStr(*DatumGetName(dp_catalog_result(i, 1))));
	return names;
}

/*
 * dp_catalog_insert_budget
 *	  Insert an inactive row, to be filled in with DP_BUDGET_LIMIT; does
 *	  nothing if a concurrent grant was faster.  Needs SPI as the owner of the
 *	  extension.
 */
void
dp_catalog_insert_budget(const dp_budget_row *row)
{
	dp_argument args[] = {
		DP_ARG_NAME(&row->dataset), DP_ARG_OID(row->role),
		DP_ARG_NAME(&row->role_name), DP_ARG_INT64(row->cluster)
	};

	(void) dp_catalog_run("INSERT INTO dp_pg.budget"
						  " (dataset, role_oid, role_name, cluster,"
						  " active, filter, epsilon, delta,"
						  " delta_conversion, delta_sum, rho, alpha,"
						  " spent_squares, total_squares)"
						  " VALUES ($1, $2, $3, $4, false, 'basic', 0, 0,"
						  " 0, 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING",
						  args, 4);
}

/*
 * dp_catalog_write_budget
 *	  Write columns of a locked row; totals stay with DP_BUDGET_LIMIT.
 */
void
dp_catalog_write_budget(const dp_budget_row *row, int set)
{
	dp_catalog_update_row(&budgets, row, set);
}

/* ----------------
 *		Rows of dp_pg.part: what was spent on each part of a partition.
 *
 * Only the worker writes them.  They are not dumped: after a restore the sums
 * of all parts are zero while the totals stay, which costs more, never less.
 * ----------------
 */

#define PART_CHARGE 1			/* what an update writes */

/* In the order of sql/20_ledger.sql. */
#define DP_ROW dp_part_row
static const dp_column part_columns[] = {
	DP_COL("dataset", BYTES, dataset, 0),
	DP_COL("payer_oid", VALUE, payer, 0),
	DP_COL("partition", VALUE, partition, 0),
	DP_COL("part", BYTES, key, 0),
	DP_COL("period", VALUE, period, PART_CHARGE),
	DP_COLS_SPENT("spent", "charges", spent, PART_CHARGE)
};
#undef DP_ROW

static const dp_table parts = DP_TABLE("part", dp_part_row, part_columns);

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

	dp_base_owner_begin(&saved);
	if (dp_catalog_run("SELECT last_value FROM dp_pg.partition_seq"
					   " WHERE is_called", NULL, 0) == 1)
		last = DatumGetInt64(dp_catalog_result(0, 1));
	dp_base_owner_end(&saved);
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
	dp_part_row stored;
	dp_found	found;

	dp_catalog_key(&keys[0], &parts, "dataset", NameGetDatum(&row->dataset));
	dp_catalog_key(&keys[1], &parts, "payer_oid",
				   ObjectIdGetDatum(row->payer));
	dp_catalog_key(&keys[2], &parts, "partition",
				   Int64GetDatum(row->partition));
	dp_catalog_key(&keys[3], &parts, "part", NameGetDatum(&row->key));
	MemSet(&row->spent, 0, sizeof(row->spent));
	found = dp_catalog_find_row(&parts, NULL, keys, 4, NULL, lock, &stored);
	row->tuple = stored.tuple;
	if (found == DP_FOUND && stored.period == row->period)
		row->spent = stored.spent;
	return found;
}

/* dp_catalog_write_part: update a row that was read, or insert it. */
void
dp_catalog_write_part(const dp_part_row *row)
{
	if (row->tuple != NULL)
		dp_catalog_update_row(&parts, row, PART_CHARGE);
	else
		dp_catalog_insert_rows(&parts, row, 1);
}

/* ----------------
 *		Lines of dp_pg.ledger, which only the worker appends.
 * ----------------
 */

/* In the order of sql/20_ledger.sql. */
#define DP_ROW dp_ledger_line
static const dp_column ledger_columns[] = {
	DP_COL("id", VALUE, id, 0),
	DP_COL("at", VALUE, at, 0),
	DP_COL("role", BYTES, role, 0),
	DP_COL("role_oid", VALUE, role_oid, 0),
	DP_COL("cluster", VALUE, cluster, 0),
	DP_COL("login_role", BYTES, login, 0),
	DP_COL_IF("payer", BYTES, payer, 0, paid),
	DP_COL("dataset", BYTES, dataset, 0),
	DP_COL("mechanism", TEXT, mechanism, 0),
	DP_COL("epsilon", FIXED, charged.epsilon, 0),
	DP_COL("delta", FIXED, charged.delta, 0),
	DP_COL("rho", FIXED, charged.rho, 0),
	DP_COL("releases", VALUE, releases, 0),
	DP_COL("fingerprint", VALUE, fingerprint, 0),
	DP_COL_IF("price_epsilon", FIXED, price.epsilon, 0, priced),
	DP_COL_IF("price_delta", FIXED, price.delta, 0, priced),
	DP_COL_IF("price_rho", FIXED, price.rho, 0, priced),
	DP_COL_OR_NULL("batch", VALUE, batch, 0),
	DP_COL_OR_NULL("partition", VALUE, partition, 0),
	DP_COL_IF("part", BYTES, part, 0, partition),
	DP_COL_IF("period", VALUE, period, 0, paid)
};
#undef DP_ROW

static const dp_table ledger = DP_TABLE("ledger", dp_ledger_line,
										ledger_columns);

/*
 * dp_catalog_lock_ledger
 *	  Lock the three tables until the end of the transaction, and check that
 *	  they are the extension's.
 *
 * Errors: 55000 when the extension is not installed here, 55P03.
 */
void
dp_catalog_lock_ledger(LOCKMODE mode)
{
	table_close(dp_catalog_open_table(&datasets, mode), NoLock);
	table_close(dp_catalog_open_table(&budgets, mode), NoLock);
	table_close(dp_catalog_open_table(&ledger, mode), NoLock);
}

/*
 * dp_catalog_has_foreign_lines
 *	  Whether the active snapshot sees lines that another cluster wrote.
 */
bool
dp_catalog_has_foreign_lines(void)
{
	Relation	rel = dp_catalog_open_table(&ledger, AccessShareLock);
	Datum		here = Int64GetDatum(dp_base_cluster_id());
	ScanKeyData keys[2];
	AttrNumber	cluster = dp_catalog_column(&ledger, "cluster");
	bool		found = false;
	int			i;

	ScanKeyInit(&keys[0], cluster, BTLessStrategyNumber, F_INT8LT, here);
	ScanKeyInit(&keys[1], cluster, BTGreaterStrategyNumber, F_INT8GT, here);
	for (i = 0; i < lengthof(keys) && !found; i++)
	{
		dp_scan		scan;

		dp_catalog_start_scan(&scan, rel, "ledger_asker", GetActiveSnapshot(),
							  &keys[i], 1);
		found = HeapTupleIsValid(dp_catalog_next(&scan));
		dp_catalog_end_scan(&scan);
	}
	table_close(rel, NoLock);
	return found;
}

/*
 * dp_catalog_next_line
 *	  The id of the next line; ids of lines that are not written leave gaps.
 */
int64
dp_catalog_next_line(void)
{
	return nextval_internal(dp_catalog_sequence("ledger_id_seq"), false);
}

/*
 * dp_catalog_append_lines
 *	  Append lines, whose ids are already set.
 */
void
dp_catalog_append_lines(dp_ledger_line *lines, int n)
{
	TimestampTz now = GetCurrentTimestamp();
	int			i;

	for (i = 0; i < n; i++)
	{
		const dp_charge *price = &lines[i].price;
		const dp_charge *charged = &lines[i].charged;

		lines[i].at = now;
		lines[i].cluster = dp_base_cluster_id();
		lines[i].priced = price->epsilon != charged->epsilon ||
			price->delta != charged->delta || price->rho != charged->rho;
	}
	dp_catalog_insert_rows(&ledger, lines, n);
}

/* ----------------
 *		Rows of dp_pg.batch: queries that were paid for together.
 *
 * Only the worker writes them.  Like a budget, a row belongs to a role by OID
 * in the cluster that wrote it, and by name in others (ledger_tables.c).  It
 * is looked up by the role's current name: a renamed role finds its batch
 * again when it is renamed back.
 * ----------------
 */

#define BATCH_USE 1				/* what an update writes */

/* In the order of sql/20_ledger.sql. */
#define DP_ROW dp_batch_row
static const dp_column batch_columns[] = {
	DP_COL("id", VALUE, id, 0),
	DP_COL("dataset", BYTES, dataset, 0),
	DP_COL("role", BYTES, role_name, 0),
	DP_COL("role_oid", VALUE, role, BATCH_USE),
	DP_COL("cluster", VALUE, cluster, BATCH_USE),
	DP_COL_IF("payer", BYTES, payer_name, BATCH_USE, payer),
	DP_COL_OR_NULL("payer_oid", VALUE, payer, BATCH_USE),
	DP_COL("period", VALUE, period, 0),
	DP_COL("epsilon", FIXED, epsilon, 0),
	DP_COL("queries", VALUE, queries, 0),
	DP_COL("used", VALUE, used, BATCH_USE),
	DP_COL("method", CHARS, method, 0),
	DP_COL("opened", VALUE, opened, 0),
	DP_COL_IF("closed", VALUE, closed_at, BATCH_USE, closed)
};
#undef DP_ROW

/* on (dataset, role), without closed rows */
#define OPEN_INDEX "batch_open"

static const dp_table batches = DP_TABLE("batch", dp_batch_row,
										 batch_columns);

static dp_found
find(int64 id, dp_row_lock lock, dp_batch_row *out)
{
	ScanKeyData key;

	dp_catalog_key(&key, &batches, "id", Int64GetDatum(id));
	return dp_catalog_find_row(&batches, NULL, &key, 1, NULL, lock, out);
}

/* dp_catalog_find_batch: the latest committed row, not locked. */
bool
dp_catalog_find_batch(int64 id, dp_batch_row *out)
{
	return find(id, DP_ROW_READ, out) == DP_FOUND;
}

/*
 * dp_catalog_read_batch
 *	  The open batch of a role on a dataset, locked as `lock` says.
 */
dp_found
dp_catalog_read_batch(const char *dataset, Oid role, const char *role_name,
					  dp_row_lock lock, dp_batch_row *out)
{
	NameData	key;
	NameData	name;
	ScanKeyData keys[2];
	ListCell   *lc;

	MemSet(out, 0, sizeof(*out));
	namestrcpy(&key, dataset);
	namestrcpy(&name, role_name);
	dp_catalog_key(&keys[0], &batches, "dataset", NameGetDatum(&key));
	dp_catalog_key(&keys[1], &batches, "role", NameGetDatum(&name));
	foreach(lc, dp_catalog_list_rows(&batches, OPEN_INDEX, keys, 2, NULL, 0))
	{
		const dp_batch_row *row = lfirst(lc);

		if (!row->closed && (row->role == role ||
							 !dp_catalog_in_lineage(row->cluster)))
			return find(row->id, lock, out);
	}
	return DP_MISSING;
}

/*
 * dp_catalog_write_batch
 *	  Insert a new row, or update one that was read and locked: identities,
 *	  number of used queries, end.
 */
void
dp_catalog_write_batch(const dp_batch_row *row)
{
	if (row->tuple != NULL)
		dp_catalog_update_row(&batches, row, BATCH_USE);
	else
		dp_catalog_insert_rows(&batches, row, 1);
}
