/*
 * name_row.c
 *	  Rows of dp_pg.relation_name: names that protected relations have or had.
 *
 * A row outlives its relation.  With `follow`, the next table of the name is
 * to be protected in the same way; the declarations are in `kept`, which
 * dp_pg.keep makes before the relation's own rows are deleted.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "dp_names.h"
#include "table_access.h"

/* Columns in the order of sql/30_relation.sql. */
enum
{
	NAME_SCHEMA = 1,
	NAME_NAME,
	NAME_RELID,
	NAME_FOLLOW,
	NAME_OWNER_OID,
	NAME_OWNER_NAME,
	NAME_CLUSTER,
	NAME_SEEN,
	NAME_KEPT,
	NAME_END
};

static const dp_table names = {"relation_name", NAME_END - 1};

/* The OID decides if the cluster's OIDs are valid here, otherwise the name. */
static Oid
resolve_owner(const dp_values *row)
{
	NameData	name = dp_catalog_get_name(row, NAME_OWNER_NAME);

	if (!dp_catalog_in_lineage(dp_catalog_get_int64(row, NAME_CLUSTER)))
		return get_role_oid(NameStr(name), true);
	return dp_catalog_get_oid(row, NAME_OWNER_OID);
}

static dp_name_row *
fetch(const dp_values *row)
{
	dp_name_row *out = palloc0(sizeof(dp_name_row));

	out->schema = dp_catalog_get_name(row, NAME_SCHEMA);
	out->name = dp_catalog_get_name(row, NAME_NAME);
	out->relid = dp_catalog_get_oid(row, NAME_RELID);
	out->follow = dp_catalog_get_bool(row, NAME_FOLLOW);
	out->owner = resolve_owner(row);
	out->owner_name = dp_catalog_get_name(row, NAME_OWNER_NAME);
	out->seen = dp_catalog_get_oid(row, NAME_SEEN);
	return out;
}

static int
compare_names(const ListCell *a, const ListCell *b)
{
	const dp_name_row *first = lfirst(a);
	const dp_name_row *second = lfirst(b);
	int			order;

	order = strcmp(NameStr(first->schema), NameStr(second->schema));
	return order != 0 ? order :
		strcmp(NameStr(first->name), NameStr(second->name));
}

/*
 * dp_catalog_list_names
 *	  All rows (dp_name_row *) in the order of their names, palloc'd.
 */
List *
dp_catalog_list_names(void)
{
	Relation	rel = dp_catalog_try_table(&names);
	dp_scan		scan;
	dp_values	row;
	HeapTuple	tuple;
	List	   *result = NIL;

	if (rel == NULL)
		return NIL;
	dp_catalog_start_scan(&scan, rel, NULL, NULL, NULL, 0);
	while (HeapTupleIsValid(tuple = dp_catalog_next(&scan)))
	{
		dp_catalog_read_row(&names, rel, tuple, &row);
		result = lappend(result, fetch(&row));
	}
	dp_catalog_end_scan(&scan);
	table_close(rel, AccessShareLock);
	list_sort(result, compare_names);
	return result;
}

/* dp_catalog_find_name: the row of a name as SQL would find it, or NULL. */
const dp_name_row *
dp_catalog_find_name(const char *schema, const char *relation)
{
	ListCell   *cell;

	foreach(cell, dp_catalog_list_names())
	{
		const dp_name_row *name = lfirst(cell);

		if (strcmp(NameStr(name->schema), schema) == 0 &&
			strcmp(NameStr(name->name), relation) == 0)
			return name;
	}
	return NULL;
}

/*
 * dp_catalog_name_holder: the relation that has the name now, or InvalidOid.
 */
Oid
dp_catalog_name_holder(const dp_name_row *row)
{
	Oid			namespace = get_namespace_oid(NameStr(row->schema), true);

	return OidIsValid(namespace) ?
		get_relname_relid(NameStr(row->name), namespace) : InvalidOid;
}

/*
 * dp_catalog_is_followed: whether the next table of its name will be
 * protected.
 */
bool
dp_catalog_is_followed(Oid relid)
{
	ListCell   *cell;

	foreach(cell, dp_catalog_list_names())
	{
		const dp_name_row *row = lfirst(cell);

		if (row->follow && row->relid == relid)
			return true;
	}
	return false;
}

/*
 * dp_catalog_lock_names
 *	  Renaming a schema locks none of its tables.  This lock makes a
 *	  transaction that first sets `follow` (`wishing`) and one that renames and
 *	  then checks `follow` wait for each other, so that one sees the other's
 *	  change.
 */
void
dp_catalog_lock_names(bool wishing)
{
	Oid			relid = get_relname_relid(names.name,
										  dp_bridge_catalog_namespace());

	if (OidIsValid(relid))
		LockRelationOid(relid, wishing ? ExclusiveLock : RowExclusiveLock);
}

/*
 * dp_catalog_lock_opening
 *	  Transactions that opened a relation (`opens`) and those that protected
 *	  one (`protects`) wait for each other here, at their ends, so that one of
 *	  them sees what the other did.
 */
void
dp_catalog_lock_opening(bool opens, bool protects)
{
	LockDatabaseObject(ExtensionRelationId, dp_bridge_extension_oid(), 0,
					   opens && protects ? ShareRowExclusiveLock :
					   opens ? ShareLock : RowExclusiveLock);
}

/*
 * dp_catalog_write_name
 *	  Store the current name of a protected relation; if `follow` is NULL, it
 *	  is kept.  The name is taken from the caches: an old snapshot of the
 *	  transaction need not see the relation.
 */
void
dp_catalog_write_name(Oid relid, const bool *follow)
{
	Oid			types[6] = {OIDOID, BOOLOID, INT8OID, NAMEOID, NAMEOID,
	OIDOID};
	Datum		values[6];
	char	   *schema_name = get_namespace_name(get_rel_namespace(relid));
	char	   *relation_name = get_rel_name(relid);
	NameData	schema;
	NameData	name;

	if (schema_name == NULL || relation_name == NULL)
		return;					/* dropped meanwhile */
	namestrcpy(&schema, schema_name);
	namestrcpy(&name, relation_name);
	values[0] = ObjectIdGetDatum(relid);
	values[1] = BoolGetDatum(follow != NULL && *follow);
	values[2] = Int64GetDatum(dp_bridge_cluster_id());
	values[3] = NameGetDatum(&schema);
	values[4] = NameGetDatum(&name);
	values[5] = ObjectIdGetDatum(dp_catalog_owner(relid));
	dp_catalog_run_as_owner("INSERT INTO dp_pg.relation_name AS r"
							" (schema, name, relid, follow, owner_oid,"
							" owner_name, cluster) VALUES ($4, $5, $1,"
							" coalesce($2, false), $6,"
							" pg_catalog.pg_get_userbyid($6), $3)"
							" ON CONFLICT (schema, name) DO UPDATE SET"
							" relid = EXCLUDED.relid,"
							" follow = coalesce($2, r.follow),"
							" owner_oid = EXCLUDED.owner_oid,"
							" owner_name = EXCLUDED.owner_name,"
							" cluster = EXCLUDED.cluster,"
							" seen = 0, kept = NULL",
							6, types, values,
							follow == NULL ? " n    " : NULL);
}

/*
 * dp_catalog_write_seen: an unprotected table of the name has been warned of.
 */
void
dp_catalog_write_seen(const dp_name_row *row, Oid seen)
{
	Oid			types[3] = {NAMEOID, NAMEOID, OIDOID};
	Datum		values[3];

	values[0] = NameGetDatum(&row->schema);
	values[1] = NameGetDatum(&row->name);
	values[2] = ObjectIdGetDatum(seen);
	dp_catalog_run_as_owner("UPDATE dp_pg.relation_name SET seen = $3"
							" WHERE schema = $1 AND name = $2",
							3, types, values, NULL);
}

/* dp_catalog_delete_name: delete the row of a name. */
void
dp_catalog_delete_name(const dp_name_row *row)
{
	Oid			types[2] = {NAMEOID, NAMEOID};
	Datum		values[2];

	values[0] = NameGetDatum(&row->schema);
	values[1] = NameGetDatum(&row->name);
	dp_catalog_run_as_owner("DELETE FROM dp_pg.relation_name"
							" WHERE schema = $1 AND name = $2",
							2, types, values, NULL);
}

/*
 * dp_catalog_keep_dropped
 *	  Before a relation is dropped, keep what its successor needs.  It is read
 *	  with the snapshot of the command, which still sees the relation in the
 *	  system catalogs.  Of names that are not followed, and that no table has,
 *	  the last 100 of each role are kept.
 */
void
dp_catalog_keep_dropped(Oid relid)
{
	Oid			types[2] = {OIDOID, JSONBOID};
	Datum		values[2];
	bool		isnull = true;
	dp_owner_sql saved;

	values[0] = ObjectIdGetDatum(relid);
	values[1] = (Datum) 0;
	dp_bridge_owner_begin(&saved);
	if (SPI_execute_with_args("SELECT dp_pg.keep($1)", 1, types, values, NULL,
							  true, 0) < 0)
		elog(ERROR, "could not read declarations");
	if (SPI_processed == 1)
		values[1] = SPI_getbinval(SPI_tuptable->vals[0],
								  SPI_tuptable->tupdesc, 1, &isnull);
	(void) dp_catalog_run("UPDATE dp_pg.relation_name"
						  " SET relid = 0, kept = CASE WHEN follow THEN $2 END"
						  " WHERE relid = $1",
						  2, types, values, isnull ? " n" : NULL);
	/*
	 * All names are looked up after each command, so no role has too many;
	 * what another transaction is deleting is not waited for.
	 */
	(void) dp_catalog_run("DELETE FROM dp_pg.relation_name AS d USING ("
						  "SELECT n.schema, n.name"
						  " FROM dp_pg.relation_name AS n JOIN (SELECT"
						  " m.schema, m.name, pg_catalog.row_number() OVER ("
						  "PARTITION BY m.owner_name ORDER BY"
						  " pg_catalog.age(m.xmin), m.schema, m.name) AS place"
						  " FROM dp_pg.relation_name AS m WHERE m.relid = 0"
						  " AND NOT m.follow AND NOT EXISTS (SELECT"
						  " FROM pg_catalog.pg_class AS c WHERE"
						  " c.oid = m.seen)) AS o USING (schema, name)"
						  " WHERE o.place > 100 FOR UPDATE OF n SKIP LOCKED"
						  ") AS l WHERE d.schema = l.schema"
						  " AND d.name = l.name", 0, NULL, NULL, NULL);
	dp_bridge_owner_end(&saved);
}
