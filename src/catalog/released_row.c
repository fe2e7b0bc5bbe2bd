/*
 * released_row.c
 *	  Rows of dp_pg.released: released tables.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "table_access.h"

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
 *	  Insert a release without results; `what` is a JSON text.
 */
void
dp_catalog_insert_release(const dp_release_row *new, const char *what)
{
	dp_values	row;

	dp_catalog_start_row(&releases, &row);
	dp_catalog_set_int64(&row, RELEASED_ID, new->id);
	dp_catalog_set_name(&row, RELEASED_ROLE, &new->role_name);
	dp_catalog_set_oid(&row, RELEASED_ROLE_OID, new->role);
	dp_catalog_set_int64(&row, RELEASED_CLUSTER, dp_bridge_cluster_id());
	dp_catalog_set_name(&row, RELEASED_DATASET, &new->dataset);
	dp_catalog_set_time(&row, RELEASED_AT, new->at);
	dp_catalog_set(&row, RELEASED_WHAT, json_of(what));
	dp_catalog_append_rows(&releases, &row, 1);
}

/* dp_catalog_read_release: a release, locked as `lock` says. */
dp_found
dp_catalog_read_release(int64 id, dp_row_lock lock, dp_release_row *out)
{
	ScanKeyData key;
	dp_values	row;
	dp_found	found;

	MemSet(out, 0, sizeof(*out));
	dp_catalog_key(&key, RELEASED_ID, INT8OID, Int64GetDatum(id));
	found = dp_catalog_find_row(&releases, NULL, &key, 1, NULL, lock,
								&out->tuple, &row);
	if (found != DP_FOUND)
		return found;
	out->id = id;
	out->role_name = dp_catalog_get_name(&row, RELEASED_ROLE);
	out->role = dp_catalog_get_oid(&row, RELEASED_ROLE_OID);
	out->dataset = dp_catalog_get_name(&row, RELEASED_DATASET);
	out->at = dp_catalog_get_time(&row, RELEASED_AT);
	out->complete = !dp_catalog_is_null(&row, RELEASED_RESULTS);
	return DP_FOUND;
}

/*
 * dp_catalog_complete_release
 *	  Write the results, a JSON text, and the error (NaN: none) of a release
 *	  that was read and locked.
 */
void
dp_catalog_complete_release(const dp_release_row *row, double error,
							const char *results)
{
	dp_values	values;

	dp_catalog_start_row(&releases, &values);
	if (!isnan(error))
		dp_catalog_set_double(&values, RELEASED_ERROR, error);
	dp_catalog_set(&values, RELEASED_RESULTS, json_of(results));
	dp_catalog_update_row(&releases, row->tuple, &values);
}
