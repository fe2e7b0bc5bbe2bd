/*
 * lineage_row.c
 *	  Clusters whose role OIDs mean the same roles here.
 *
 * Both pg_upgrade and a restore bring rows of another cluster: pg_upgrade
 * changes the system identifier and keeps OIDs; after a restore OIDs may be
 * those of other roles.  dp_pg.lineage distinguishes them: it has every
 * identifier that this database has had since the extension was created in it,
 * and is not dumped.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/lsyscache.h"

#include "table_access.h"

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
is_listed(int64 cluster)
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
	return cluster == dp_bridge_cluster_id() || is_listed(cluster);
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

	if (is_listed(dp_bridge_cluster_id()))
		return;
	dp_catalog_start_row(&lineage, &row);
	dp_catalog_set_int64(&row, LINEAGE_CLUSTER, dp_bridge_cluster_id());
	dp_catalog_append_rows(&lineage, &row, 1);
}
