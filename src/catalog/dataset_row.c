/*
 * dataset_row.c
 *	  Rows of dp_pg.dataset: owner, cap, and the sums over all roles.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/acl.h"
#include "utils/builtins.h"

#include "table_access.h"

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
 * cluster, after a restore, the name decides (lineage_row.c).
 */
static void
resolve_owner(const dp_values *row, dp_dataset_row *out)
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
	resolve_owner(&row, out);
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
compare_names(const void *a, const void *b)
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
	qsort(*names, n, sizeof(NameData), compare_names);
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
