/*
 * batch_row.c
 *	  Rows of dp_pg.batch: queries that were paid for together.
 *
 * Nobody but the worker writes them.  As a budget a row belongs to a role by
 * OID in the cluster that wrote it, by name in another cluster.  It is looked
 * for by the role's present name: a role that is renamed finds its batch again
 * when it is renamed back.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "dp_rows.h"

static void
fetch(const dp_values *row, dp_batch_row *out)
{
	out->id = DatumGetInt64(dp_get(row, BATCH_ID));
	out->dataset = *DatumGetName(dp_get(row, BATCH_DATASET));
	out->role = DatumGetObjectId(dp_get(row, BATCH_ROLE_OID));
	out->role_name = *DatumGetName(dp_get(row, BATCH_ROLE));
	out->cluster = DatumGetInt64(dp_get(row, BATCH_CLUSTER));
	if (!row->null[BATCH_PAYER - 1])
	{
		out->payer = DatumGetObjectId(dp_get(row, BATCH_PAYER_OID));
		out->payer_name = *DatumGetName(dp_get(row, BATCH_PAYER));
	}
	out->period = DatumGetInt64(dp_get(row, BATCH_PERIOD));
	out->epsilon = dp_get_fixed(row, BATCH_EPSILON);
	out->queries = DatumGetInt32(dp_get(row, BATCH_QUERIES));
	out->used = DatumGetInt32(dp_get(row, BATCH_USED));
	strlcpy(out->method, TextDatumGetCString(dp_get(row, BATCH_METHOD)),
			DP_METHOD_LENGTH);
	out->opened = DatumGetTimestampTz(dp_get(row, BATCH_OPENED));
	out->closed = !row->null[BATCH_CLOSED - 1];
	if (out->closed)
		out->closed_at = DatumGetTimestampTz(dp_get(row, BATCH_CLOSED));
}

static dp_found
find(int64 id, dp_row_lock lock, dp_batch_row *out)
{
	ScanKeyData key;
	dp_values	row;
	dp_found	found;

	MemSet(out, 0, sizeof(*out));
	dp_row_key(&key, BATCH_ID, INT8OID, Int64GetDatum(id));
	found = dp_row_find(DP_TABLE_BATCH, NULL, &key, 1, NULL, lock,
						&out->tuple, &row);
	if (found == DP_FOUND)
		fetch(&row, out);
	return found;
}

/* dp_catalog_find_batch: the row as it is now; nothing is locked. */
bool
dp_catalog_find_batch(int64 id, dp_batch_row *out)
{
	return find(id, DP_ROW_READ, out) == DP_FOUND;
}

/*
 * dp_catalog_read_batch
 *	  The batch of a role on a dataset that is not closed, locked as told.
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
	dp_row_key(&keys[0], BATCH_DATASET, NAMEOID, NameGetDatum(&key));
	dp_row_key(&keys[1], BATCH_ROLE, NAMEOID, NameGetDatum(&name));
	foreach(lc, dp_row_list(DP_TABLE_BATCH, BATCH_IS_OPEN, keys, 2, NULL))
	{
		const dp_values *row = lfirst(lc);

		if (!row->null[BATCH_CLOSED - 1] ||
			(DatumGetInt64(dp_get(row, BATCH_CLUSTER)) ==
			 dp_bridge_cluster_id() &&
			 DatumGetObjectId(dp_get(row, BATCH_ROLE_OID)) != role))
			continue;
		return find(DatumGetInt64(dp_get(row, BATCH_ID)), lock, out);
	}
	return DP_MISSING;
}

/*
 * dp_catalog_write_batch
 *	  Insert a row that was not read; of one that was read, and is locked,
 *	  store what changes: identity, number of queries asked, the end.
 */
void
dp_catalog_write_batch(const dp_batch_row *row)
{
	dp_values	values;

	dp_row_start(DP_TABLE_BATCH, &values);
	dp_set(&values, BATCH_ROLE_OID, ObjectIdGetDatum(row->role));
	dp_set(&values, BATCH_CLUSTER, Int64GetDatum(row->cluster));
	if (OidIsValid(row->payer))
	{
		dp_set(&values, BATCH_PAYER, NameGetDatum(&row->payer_name));
		dp_set(&values, BATCH_PAYER_OID, ObjectIdGetDatum(row->payer));
	}
	dp_set(&values, BATCH_USED, Int32GetDatum(row->used));
	if (row->closed)
		dp_set(&values, BATCH_CLOSED, TimestampTzGetDatum(row->closed_at));
	if (row->tuple != NULL)
	{
		dp_row_update(DP_TABLE_BATCH, row->tuple, &values);
		return;
	}
	dp_set(&values, BATCH_ID, Int64GetDatum(row->id));
	dp_set(&values, BATCH_DATASET, NameGetDatum(&row->dataset));
	dp_set(&values, BATCH_ROLE, NameGetDatum(&row->role_name));
	dp_set(&values, BATCH_PERIOD, Int64GetDatum(row->period));
	dp_set_fixed(&values, BATCH_EPSILON, row->epsilon);
	dp_set(&values, BATCH_QUERIES, Int32GetDatum(row->queries));
	dp_set(&values, BATCH_METHOD, CStringGetTextDatum(row->method));
	dp_set(&values, BATCH_OPENED, TimestampTzGetDatum(row->opened));
	dp_row_append(DP_TABLE_BATCH, &values, 1);
}
