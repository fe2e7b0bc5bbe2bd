/*
 * name_tables.c
 *	  Names of protected relations, and what the next table of a name takes
 *	  over.
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

#include "../base/dp_base.h"
#include "dp_catalog.h"
#include "dp_names.h"
#include "dp_table.h"

/* ----------------
 *		Rows of dp_pg.relation_name: names that protected relations have or
 *		had.
 *
 * A row outlives its relation.  With `follow`, the next table of the name is
 * to be protected in the same way; the declarations are in `kept`, which
 * dp_pg.keep makes before the relation's own rows are deleted.
 * ----------------
 */

/* In the order of sql/30_relation.sql. */
#define DP_ROW dp_name_row
static const dp_column name_columns[] = {
	DP_COL("schema", BYTES, schema, 0),
	DP_COL("name", BYTES, name, 0),
	DP_COL("relid", VALUE, relid, 0),
	DP_COL("follow", VALUE, follow, 0),
	DP_COL("owner_oid", VALUE, owner, 0),
	DP_COL("owner_name", BYTES, owner_name, 0),
	DP_COL("cluster", VALUE, cluster, 0),
	DP_COL("seen", VALUE, seen, 0),
	{"kept"}					/* used by SQL */
};
#undef DP_ROW

static const dp_table names = DP_TABLE("relation_name", dp_name_row,
									   name_columns);

static int
name_compare_names(const ListCell *a, const ListCell *b)
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
	dp_scan		scan;
	dp_name_row row;
	List	   *result = NIL;

	dp_catalog_start_rows(&scan, &names, NULL, 0);
	while (dp_catalog_next_row(&scan, &row))
	{
		/* the OID decides if the cluster's OIDs are valid here */
		if (!dp_catalog_in_lineage(row.cluster))
			row.owner = get_role_oid(NameStr(row.owner_name), true);
		result = lappend(result, memcpy(palloc(sizeof(row)), &row,
										sizeof(row)));
	}
	dp_catalog_end_rows(&scan);
	list_sort(result, name_compare_names);
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
										  dp_base_catalog_namespace());

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
	LockDatabaseObject(ExtensionRelationId, dp_base_extension_oid(), 0,
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
	char	   *schema_name = get_namespace_name(get_rel_namespace(relid));
	char	   *relation_name = get_rel_name(relid);
	NameData	schema;
	NameData	name;
	dp_argument args[] = {
		DP_ARG_OID(relid),
		{BOOLOID, BoolGetDatum(follow != NULL && *follow), follow == NULL},
		DP_ARG_INT64(dp_base_cluster_id()), DP_ARG_NAME(&schema),
		DP_ARG_NAME(&name), DP_ARG_OID(dp_catalog_owner(relid))
	};

	if (schema_name == NULL || relation_name == NULL)
		return;					/* dropped meanwhile */
	namestrcpy(&schema, schema_name);
	namestrcpy(&name, relation_name);
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
							args, 6);
}

/*
 * dp_catalog_write_seen: an unprotected table of the name has been warned of.
 */
void
dp_catalog_write_seen(const dp_name_row *row, Oid seen)
{
	dp_argument args[] = {
		DP_ARG_NAME(&row->schema), DP_ARG_NAME(&row->name), DP_ARG_OID(seen)
	};

	dp_catalog_run_as_owner("UPDATE dp_pg.relation_name SET seen = $3"
							" WHERE schema = $1 AND name = $2",
							args, 3);
}

/* dp_catalog_delete_name: delete the row of a name. */
void
dp_catalog_delete_name(const dp_name_row *row)
{
	dp_argument args[] = {
		DP_ARG_NAME(&row->schema), DP_ARG_NAME(&row->name)
	};

	dp_catalog_run_as_owner("DELETE FROM dp_pg.relation_name"
							" WHERE schema = $1 AND name = $2", args, 2);
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
	dp_argument args[] = {DP_ARG_OID(relid), {JSONBOID, 0, true}};
	dp_owner_sql saved;

	dp_base_owner_begin(&saved);
	if (SPI_execute_with_args("SELECT dp_pg.keep($1)", 1, &args[0].type,
							  &args[0].value, NULL, true, 0) < 0)
		elog(ERROR, "could not read declarations");
	if (SPI_processed == 1)
		args[1].value = SPI_getbinval(SPI_tuptable->vals[0],
									  SPI_tuptable->tupdesc, 1,
									  &args[1].null);
	(void) dp_catalog_run("UPDATE dp_pg.relation_name"
						  " SET relid = 0, kept = CASE WHEN follow THEN $2 END"
						  " WHERE relid = $1",
						  args, 2);
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
						  " AND d.name = l.name", NULL, 0);
	dp_base_owner_end(&saved);
}

/* ----------------
 *		What a relation takes over from another: the next table of its name
 *		(dp_pg.relation_name), or a detached partition.
 *
 * dp_pg.keep and dp_pg.unlike (sql/36_follow.sql) decide what is taken over,
 * and what a table lacks for it.
 * ----------------
 */

static char *
copy_text(MemoryContext context, int column)
{
	return MemoryContextStrdup(context,
							   TextDatumGetCString(dp_catalog_result(0,
																	 column)));
}

static int64
name_get_number(int column)
{
	return DatumGetInt64(dp_catalog_result(0, column));
}

/*
 * dp_catalog_read_heritage
 *	  The declarations kept under a name, palloc'd, and what the relation lacks
 *	  for them; NULL if there are none.
 */
dp_heritage *
dp_catalog_read_heritage(const dp_name_row *row, Oid relid)
{
	MemoryContext context = CurrentMemoryContext;
	dp_argument args[] = {
		DP_ARG_NAME(&row->schema), DP_ARG_NAME(&row->name), DP_ARG_OID(relid)
	};
	dp_heritage *out = NULL;
	dp_owner_sql saved;

	dp_base_owner_begin(&saved);
	if (dp_catalog_run("SELECT p.dataset::text, coalesce(CASE WHEN"
					   " p.unit_key IS NULL THEN p.unit::text ELSE"
					   " format(CASE WHEN p.unit_more IS NULL THEN '%s'"
					   " ELSE '(%s)' END, dp_pg.listed(p.unit, p.unit_more))"
					   " END, ''), coalesce(dp_pg.listed(p.unit_key,"
					   " p.unit_key_more), ''),"
					   " coalesce(h.kept->>'through', ''),"
					   " coalesce(h.kept->>'view_schema', ''),"
					   " coalesce(h.kept->>'view', ''),"
					   " coalesce(dp_pg.unlike($3, h.kept), ''),"
					   " coalesce(p.rows, 0), coalesce(p.max_rows, 0),"
					   " coalesce(p.max_keys, 0), coalesce(p.max_total, 0),"
					   " p.commented,"
					   " (h.kept->>'relid')::oid,"
					   " coalesce(p.min_units, 0)"
					   " FROM dp_pg.heritage($1, $2) AS h (kept)"
					   " CROSS JOIN LATERAL jsonb_populate_record("
					   "NULL::dp_pg.relation, h.kept->'relation') AS p"
					   " WHERE h.kept IS NOT NULL",
					   args, 3) == 1)
	{
		out = MemoryContextAllocZero(context, sizeof(dp_heritage));
		out->dataset = copy_text(context, 1);
		out->unit = copy_text(context, 2);
		out->key = copy_text(context, 3);
		out->through = copy_text(context, 4);
		out->view_schema = copy_text(context, 5);
		out->view = copy_text(context, 6);
		out->lacking = copy_text(context, 7);
		out->rows = name_get_number(8);
		out->max_rows = name_get_number(9);
		out->max_keys = name_get_number(10);
		out->max_total = name_get_number(11);
		out->commented = DatumGetBool(dp_catalog_result(0, 12));
		out->relid = DatumGetObjectId(dp_catalog_result(0, 13));
		out->min_units = name_get_number(14);
	}
	dp_base_owner_end(&saved);
	return out;
}

/* dp_catalog_list_kept: columns (char *) of the dropped view. */
List *
dp_catalog_list_kept(const dp_name_row *row)
{
	MemoryContext context = CurrentMemoryContext;
	dp_argument args[] = {
		DP_ARG_NAME(&row->schema), DP_ARG_NAME(&row->name)
	};
	dp_owner_sql saved;
	List	   *result = NIL;
	uint64		n;
	uint64		i;

	dp_base_owner_begin(&saved);
	n = dp_catalog_run("SELECT c.name FROM dp_pg.heritage($1, $2) AS h (kept)"
					   " CROSS JOIN LATERAL jsonb_array_elements_text("
					   "h.kept->'columns') WITH ORDINALITY AS c (name, place)"
					   " ORDER BY c.place", args, 2);
	for (i = 0; i < n; i++)
	{
		char	   *name = TextDatumGetCString(dp_catalog_result(i, 1));
		MemoryContext before = MemoryContextSwitchTo(context);

		result = lappend(result, pstrdup(name));
		MemoryContextSwitchTo(before);
	}
	dp_base_owner_end(&saved);
	return result;
}

/*
 * dp_catalog_write_heirs
 *	  Write the column declarations and the profile kept under a name for the
 *	  relation that has it now, and make it the referenced relation of those
 *	  whose unit was behind its predecessor.
 */
void
dp_catalog_write_heirs(const dp_name_row *row, Oid relid)
{
	dp_argument args[] = {
		DP_ARG_NAME(&row->schema), DP_ARG_NAME(&row->name), DP_ARG_OID(relid)
	};
	dp_owner_sql saved;

	dp_base_owner_begin(&saved);
	(void) dp_catalog_run("INSERT INTO dp_pg.attribute (relid, relid_origin,"
						  " attname, attnum, lower, upper, granule, keys,"
						  " other, nulls) SELECT $3, $3, p.attname, 0,"
						  " p.lower, p.upper, p.granule, p.keys, p.other,"
						  " p.nulls FROM dp_pg.heritage($1, $2) AS h (kept)"
						  " CROSS JOIN LATERAL jsonb_array_elements("
						  "h.kept->'attributes') AS x (declared)"
						  " CROSS JOIN LATERAL jsonb_populate_record("
						  "NULL::dp_pg.attribute, x.declared) AS p"
						  " ON CONFLICT DO NOTHING", args, 3);
	(void) dp_catalog_run("INSERT INTO dp_pg.profile SELECT $3, p.dataset,"
						  " p.at, p.epsilon, p.delta, p.lines, p.bars"
						  " FROM dp_pg.heritage($1, $2) AS h (kept)"
						  " CROSS JOIN LATERAL jsonb_populate_record("
						  "NULL::dp_pg.profile,"
						  " nullif(h.kept->'profile', 'null')) AS p"
						  " WHERE p.dataset IS NOT NULL"
						  " ON CONFLICT DO NOTHING", args, 3);
	(void) dp_catalog_run("UPDATE dp_pg.relation AS d SET unit_through = $3,"
						  " unit_key_attnum = (SELECT a.attnum"
						  " FROM pg_catalog.pg_attribute AS a"
						  " WHERE a.attrelid = $3 AND a.attname = d.unit_key"
						  " AND NOT a.attisdropped), unit_key_more_attnums ="
						  " CASE WHEN d.unit_key_more IS NOT NULL THEN"
						  " ARRAY(SELECT coalesce(a.attnum,"
						  " 0::pg_catalog.int2) FROM"
						  " pg_catalog.unnest(d.unit_key_more) WITH ORDINALITY"
						  " AS m(name, n) LEFT JOIN"
						  " pg_catalog.pg_attribute AS a ON a.attrelid = $3"
						  " AND a.attname = m.name AND NOT a.attisdropped"
						  " ORDER BY m.n) END"
						  " FROM dp_pg.heritage($1, $2) AS h (kept)"
						  " WHERE d.unit_through::pg_catalog.oid ="
						  " (h.kept->>'relid')::pg_catalog.oid",
						  args, 3);
	dp_base_owner_end(&saved);
}

/* dp_catalog_write_published: the view now shows this relation. */
void
dp_catalog_write_published(Oid relid, Oid view)
{
	dp_argument args[] = {DP_ARG_OID(relid), DP_ARG_OID(view)};

	dp_catalog_run_as_owner("UPDATE dp_pg.relation SET published ="
							" CASE WHEN relid = $1 THEN $2 END"
							" WHERE relid = $1 OR published = $2",
							args, 2);
}

/*
 * dp_catalog_write_detached
 *	  Give a detached partition the declarations of its former root, except for
 *	  the number of rows.
 */
void
dp_catalog_write_detached(Oid part, Oid root)
{
	dp_argument args[] = {DP_ARG_OID(part), DP_ARG_OID(root)};
	dp_owner_sql saved;

	dp_base_owner_begin(&saved);
	(void) dp_catalog_run("INSERT INTO dp_pg.relation (relid, relid_origin,"
						  " dataset, unit, unit_more, unit_through, unit_key,"
						  " unit_key_more, max_rows, max_keys, max_total,"
						  " min_units, commented)"
						  " SELECT $1, $1, dataset, unit, unit_more,"
						  " unit_through, unit_key, unit_key_more, max_rows,"
						  " max_keys, max_total, min_units, commented"
						  " FROM dp_pg.relation WHERE relid = $2",
						  args, 2);
	(void) dp_catalog_run("INSERT INTO dp_pg.attribute (relid, relid_origin,"
						  " attname, attnum, lower, upper, granule, keys,"
						  " other, nulls) SELECT $1, $1, attname, 0, lower,"
						  " upper, granule, keys, other, nulls"
						  " FROM dp_pg.attribute WHERE relid = $2",
						  args, 2);
	(void) dp_catalog_run("INSERT INTO dp_pg.profile SELECT $1, dataset, at,"
						  " epsilon, delta, lines, bars"
						  " FROM dp_pg.profile WHERE relid = $2", args, 2);
	dp_base_owner_end(&saved);
}
