/*
 * ledger_lines.c
 *	  Lines of the ledger, and batches.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_type.h"
#include "commands/sequence.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "dp_table.h"

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
	table_close(dp_catalog_open_table(&dp_catalog_datasets, mode), NoLock);
	table_close(dp_catalog_open_table(&dp_catalog_budgets, mode), NoLock);
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
	Datum		here = Int64GetDatum(dp_bridge_cluster_id());
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
		lines[i].cluster = dp_bridge_cluster_id();
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
