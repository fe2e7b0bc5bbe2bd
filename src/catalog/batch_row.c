/*
 * batch_row.c
 *	  Rows of dp_pg.batch: queries that were paid for together.
 *
 * Only the worker writes them.  Like a budget, a row belongs to a role by OID
 * in the cluster that wrote it, and by name in others (lineage_row.c).  It is
 * looked up by the role's current name: a renamed role finds its batch again
 * when it is renamed back.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "table_access.h"

/* Columns in the order of sql/20_ledger.sql. */
enum
{
	BATCH_ID = 1,
	BATCH_DATASET,
	BATCH_ROLE,
	BATCH_ROLE_OID,
	BATCH_CLUSTER,
	BATCH_PAYER,
	BATCH_PAYER_OID,
	BATCH_PERIOD,
	BATCH_EPSILON,
	BATCH_QUERIES,
	BATCH_USED,
	BATCH_METHOD,
	BATCH_OPENED,
	BATCH_CLOSED,
	BATCH_END
};

/* on (dataset, role), without closed rows */
#define OPEN_INDEX "batch_open"

static const dp_table batches = {"batch", BATCH_END - 1};

static void
fetch(const dp_values *row, dp_batch_row *out)
{
	out->id = dp_catalog_get_int64(row, BATCH_ID);
	out->dataset = dp_catalog_get_name(row, BATCH_DATASET);
	out->role = dp_catalog_get_oid(row, BATCH_ROLE_OID);
	out->role_name = dp_catalog_get_name(row, BATCH_ROLE);
	out->cluster = dp_catalog_get_int64(row, BATCH_CLUSTER);
	if (!dp_catalog_is_null(row, BATCH_PAYER))
	{
		out->payer = dp_catalog_get_oid(row, BATCH_PAYER_OID);
		out->payer_name = dp_catalog_get_name(row, BATCH_PAYER);
	}
	out->period = dp_catalog_get_int64(row, BATCH_PERIOD);
	out->epsilon = dp_catalog_get_fixed(row, BATCH_EPSILON);
	out->queries = dp_catalog_get_int32(row, BATCH_QUERIES);
	out->used = dp_catalog_get_int32(row, BATCH_USED);
	strlcpy(out->method, dp_catalog_get_text(row, BATCH_METHOD),
			DP_METHOD_LENGTH);
	out->opened = dp_catalog_get_time(row, BATCH_OPENED);
	out->closed = !dp_catalog_is_null(row, BATCH_CLOSED);
	if (out->closed)
		out->closed_at = dp_catalog_get_time(row, BATCH_CLOSED);
}

static dp_found
find(int64 id, dp_row_lock lock, dp_batch_row *out)
{
	ScanKeyData key;
	dp_values	row;
	dp_found	found;

	MemSet(out, 0, sizeof(*out));
	dp_catalog_key(&key, BATCH_ID, INT8OID, Int64GetDatum(id));
	found = dp_catalog_find_row(&batches, NULL, &key, 1, NULL, lock,
								&out->tuple, &row);
	if (found == DP_FOUND)
		fetch(&row, out);
	return found;
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
	dp_catalog_key(&keys[0], BATCH_DATASET, NAMEOID, NameGetDatum(&key));
	dp_catalog_key(&keys[1], BATCH_ROLE, NAMEOID, NameGetDatum(&name));
	foreach(lc, dp_catalog_list_rows(&batches, OPEN_INDEX, keys, 2, NULL))
	{
		const dp_values *row = lfirst(lc);

		if (!dp_catalog_is_null(row, BATCH_CLOSED) ||
			(dp_catalog_in_lineage(dp_catalog_get_int64(row,
													   BATCH_CLUSTER)) &&
			 dp_catalog_get_oid(row, BATCH_ROLE_OID) != role))
			continue;
		return find(dp_catalog_get_int64(row, BATCH_ID), lock, out);
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
	dp_values	values;

	dp_catalog_start_row(&batches, &values);
	dp_catalog_set_oid(&values, BATCH_ROLE_OID, row->role);
	dp_catalog_set_int64(&values, BATCH_CLUSTER, row->cluster);
	if (OidIsValid(row->payer))
	{
		dp_catalog_set_name(&values, BATCH_PAYER, &row->payer_name);
		dp_catalog_set_oid(&values, BATCH_PAYER_OID, row->payer);
	}
	dp_catalog_set_int32(&values, BATCH_USED, row->used);
	if (row->closed)
		dp_catalog_set_time(&values, BATCH_CLOSED, row->closed_at);
	if (row->tuple != NULL)
	{
		dp_catalog_update_row(&batches, row->tuple, &values);
		return;
	}
	dp_catalog_set_int64(&values, BATCH_ID, row->id);
	dp_catalog_set_name(&values, BATCH_DATASET, &row->dataset);
	dp_catalog_set_name(&values, BATCH_ROLE, &row->role_name);
	dp_catalog_set_int64(&values, BATCH_PERIOD, row->period);
	dp_catalog_set_fixed(&values, BATCH_EPSILON, row->epsilon);
	dp_catalog_set_int32(&values, BATCH_QUERIES, row->queries);
	dp_catalog_set_text(&values, BATCH_METHOD, row->method);
	dp_catalog_set_time(&values, BATCH_OPENED, row->opened);
	dp_catalog_append_rows(&batches, &values, 1);
}
