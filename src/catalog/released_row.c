/*
 * released_row.c
 *	  Rows of dp_pg.released: what was released as a table.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "dp_rows.h"

/* Columns in the order of sql/84_smalldb.sql. */
enum
{
	RELEASED_ID = 1,
	RELEASED_ROLE,
	RELEASED_ROLE_OID,
	RELEASED_CLUSTER,
	RELEASED_DATASET,
	RELEASED_AT,
	RELEASED_WHAT,
	RELEASED_ERROR,
	RELEASED_RESULTS,
	RELEASED_END
};


static const dp_table releases = {"released", RELEASED_END - 1};

static Datum
json_of(const char *text)
{
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(text));
}

/*
 * dp_catalog_insert_release
 *	  A release without results; `what` is a JSON text.
 */
void
dp_catalog_insert_release(const dp_release_row *new, const char *what)
{
	dp_values	row;

	dp_row_start(&releases, &row);
	dp_set(&row, RELEASED_ID, Int64GetDatum(new->id));
	dp_set(&row, RELEASED_ROLE, NameGetDatum(&new->role_name));
	dp_set(&row, RELEASED_ROLE_OID, ObjectIdGetDatum(new->role));
	dp_set(&row, RELEASED_CLUSTER, Int64GetDatum(dp_bridge_cluster_id()));
	dp_set(&row, RELEASED_DATASET, NameGetDatum(&new->dataset));
	dp_set(&row, RELEASED_AT, TimestampTzGetDatum(new->at));
	dp_set(&row, RELEASED_WHAT, json_of(what));
	dp_row_append(&releases, &row, 1);
}

/* dp_catalog_read_release: a release, locked as told. */
dp_found
dp_catalog_read_release(int64 id, dp_row_lock lock, dp_release_row *out)
{
	ScanKeyData key;
	dp_values	row;
	dp_found	found;

	MemSet(out, 0, sizeof(*out));
	dp_row_key(&key, RELEASED_ID, INT8OID, Int64GetDatum(id));
	found = dp_row_find(&releases, NULL, &key, 1, NULL, lock,
						&out->tuple, &row);
	if (found != DP_FOUND)
		return found;
	out->id = id;
	out->role_name = *DatumGetName(dp_get(&row, RELEASED_ROLE));
	out->role = DatumGetObjectId(dp_get(&row, RELEASED_ROLE_OID));
	out->dataset = *DatumGetName(dp_get(&row, RELEASED_DATASET));
	out->at = DatumGetTimestampTz(dp_get(&row, RELEASED_AT));
	out->complete = !row.null[RELEASED_RESULTS - 1];
	return DP_FOUND;
}

/*
 * dp_catalog_complete_release
 *	  The results, a JSON text, and the error, NaN for none, of a release that
 *	  was read and locked.
 */
void
dp_catalog_complete_release(const dp_release_row *row, double error,
							const char *results)
{
	dp_values	values;

	dp_row_start(&releases, &values);
	if (!isnan(error))
		dp_set(&values, RELEASED_ERROR, Float8GetDatum(error));
	dp_set(&values, RELEASED_RESULTS, json_of(results));
	dp_row_update(&releases, row->tuple, &values);
}
