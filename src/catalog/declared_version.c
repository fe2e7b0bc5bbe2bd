/*
 * declared_version.c
 *	  Identify the catalog row versions that define a relation and its
 *	  declarations, by TID and xmin, which no other version of a row shares
 *	  during the life of stored answers.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "declared_row.h"
#include "table_access.h"

static const dp_table relations = {"relation", RELATION_END - 1};
static const dp_table attributes = {"attribute", ATTRIBUTE_END - 1};

static void
append_version(StringInfo out, HeapTuple tuple)
{
	appendStringInfo(out, " %u/%u/%u",
					 ItemPointerGetBlockNumberNoCheck(&tuple->t_self),
					 ItemPointerGetOffsetNumberNoCheck(&tuple->t_self),
					 HeapTupleHeaderGetRawXmin(tuple->t_data));
}

/*
 * dp_catalog_append_extension
 *	  Append OID and row version of the extension.
 */
void
dp_catalog_append_extension(StringInfo out)
{
	Relation	rel = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyData key;
	dp_scan		scan;
	HeapTuple	tuple;

	appendStringInfo(out, " %u", dp_bridge_extension_oid());
	dp_catalog_key(&key, Anum_pg_extension_oid, OIDOID,
				   ObjectIdGetDatum(dp_bridge_extension_oid()));
	dp_catalog_start_scan(&scan, rel, "pg_extension_oid_index", NULL, &key, 1);
	while (HeapTupleIsValid(tuple = dp_catalog_next(&scan)))
		append_version(out, tuple);
	dp_catalog_end_scan(&scan);
	table_close(rel, AccessShareLock);
}

/* Append versions of the rows whose first column is the relation. */
static void
append_rows(StringInfo out, const dp_table *table, Oid relid)
{
	Relation	rel = dp_catalog_try_table(table);
	ScanKeyData key;
	dp_scan		scan;
	HeapTuple	tuple;

	if (rel == NULL)
		return;
	dp_catalog_key(&key, 1, OIDOID, ObjectIdGetDatum(relid));
	dp_catalog_start_scan(&scan, rel, NULL, NULL, &key, 1);
	while (HeapTupleIsValid(tuple = dp_catalog_next(&scan)))
		append_version(out, tuple);
	dp_catalog_end_scan(&scan);
	table_close(rel, AccessShareLock);
}

/*
 * dp_catalog_append_versions
 *	  Append the versions of a relation's row of pg_class and of all
 *	  declarations about it: equal if and only if nothing was changed, not even
 *	  back and forth.
 */
void
dp_catalog_append_versions(StringInfo out, Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));

	appendStringInfo(out, "\nrelation %u", relid);
	if (HeapTupleIsValid(tuple))
	{
		append_version(out, tuple);
		ReleaseSysCache(tuple);
	}
	appendStringInfoString(out, " :");
	append_rows(out, &relations, relid);
	appendStringInfoString(out, " :");
	append_rows(out, &attributes, relid);
}

static bool
is_seen(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	bool		seen;

	if (!HeapTupleIsValid(tuple))
		return false;
	seen = !XidInMVCCSnapshot(HeapTupleHeaderGetXmin(tuple->t_data),
							  GetActiveSnapshot());
	ReleaseSysCache(tuple);
	return seen;
}

/*
 * dp_catalog_is_seen
 *	  Whether the active snapshot sees the current pg_class rows of a relation
 *	  and its children.  If not, one may since have been truncated or rewritten
 *	  (TRUNCATE, ALTER TABLE), and its earlier rows are invisible to the
 *	  snapshot.
 */
bool
dp_catalog_is_seen(Oid relid)
{
	List	   *relids = find_all_inheritors(relid, NoLock, NULL);
	ListCell   *lc;

	foreach(lc, relids)
		if (!is_seen(lfirst_oid(lc)))
			return false;
	return true;
}
