/*
 * relation_row.c
 *	  Rows of dp_pg.relation: what is protected.
 *
 * Planning reads them for any user and in any transaction, so they are fetched
 * under a catalog snapshot, without SPI, rights or settings.  They are written
 * by SQL, because triggers and constraints keep them consistent.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "declared_row.h"
#include "table_access.h"

static const dp_table relations = {"relation", RELATION_END - 1};

static void
fetch(const dp_values *row, dp_relation_row *out)
{
	out->relid = dp_catalog_get_oid(row, RELATION_RELID);
	out->origin = dp_catalog_get_oid(row, RELATION_ORIGIN);
	out->dataset = dp_catalog_get_name(row, RELATION_DATASET);
	out->has_unit = !dp_catalog_is_null(row, RELATION_UNIT);
	if (out->has_unit)
		out->unit = dp_catalog_get_name(row, RELATION_UNIT);
	if (!dp_catalog_is_null(row, RELATION_UNIT_ATTNUM))
		out->unit_attnum = dp_catalog_get_int16(row, RELATION_UNIT_ATTNUM);
	if (!dp_catalog_is_null(row, RELATION_UNIT_THROUGH))
		out->unit_through = dp_catalog_get_oid(row, RELATION_UNIT_THROUGH);
	if (!dp_catalog_is_null(row, RELATION_UNIT_KEY))
		out->unit_key = dp_catalog_get_name(row, RELATION_UNIT_KEY);
	if (!dp_catalog_is_null(row, RELATION_UNIT_KEY_ATTNUM))
		out->unit_key_attnum =
			dp_catalog_get_int16(row, RELATION_UNIT_KEY_ATTNUM);
	if (!dp_catalog_is_null(row, RELATION_PUBLISHED))
		out->published = dp_catalog_get_oid(row, RELATION_PUBLISHED);
	if (!dp_catalog_is_null(row, RELATION_ROWS))
		out->rows = dp_catalog_get_int64(row, RELATION_ROWS);
	if (!dp_catalog_is_null(row, RELATION_MAX_ROWS))
		out->max_rows = dp_catalog_get_int64(row, RELATION_MAX_ROWS);
	if (!dp_catalog_is_null(row, RELATION_MAX_KEYS))
		out->max_keys = dp_catalog_get_int64(row, RELATION_MAX_KEYS);
	out->commented = dp_catalog_get_bool(row, RELATION_COMMENTED);
	if (!dp_catalog_is_null(row, RELATION_TWIN))
		out->twin = dp_catalog_get_oid(row, RELATION_TWIN);
	out->unit_more = dp_catalog_get_unit_more(row);
}

/*
 * dp_catalog_open_relations
 *	  Open the table for dp_catalog_has_relation; the caller closes it with its
 *	  lock.  NULL if the extension is not installed in this database.
 */
Relation
dp_catalog_open_relations(void)
{
	return dp_catalog_try_table(&relations);
}

/* Find the row of a relation; `out` may be NULL. */
static bool
find(Relation rel, Oid relid, dp_relation_row *out)
{
	ScanKeyData key;
	dp_scan		scan;
	dp_values	row;
	HeapTuple	tuple;

	dp_catalog_key(&key, RELATION_RELID, OIDOID, ObjectIdGetDatum(relid));
	dp_catalog_start_scan(&scan, rel, NULL, NULL, &key, 1);
	tuple = dp_catalog_next(&scan);
	if (HeapTupleIsValid(tuple) && out)
	{
		dp_catalog_read_row(&relations, rel, tuple, &row);
		fetch(&row, out);
	}
	dp_catalog_end_scan(&scan);
	return HeapTupleIsValid(tuple);
}

/* dp_catalog_has_relation: whether there is a row for relid. */
bool
dp_catalog_has_relation(Relation rel, Oid relid)
{
	return find(rel, relid, NULL);
}

/* dp_catalog_find_relation: the row of a relation, if it has one. */
bool
dp_catalog_find_relation(Oid relid, dp_relation_row *out)
{
	Relation	rel = dp_catalog_try_table(&relations);
	bool		found;

	if (rel == NULL)
		return false;
	MemSet(out, 0, sizeof(*out));
	found = find(rel, relid, out);
	table_close(rel, AccessShareLock);
	return found;
}

/* dp_catalog_list_relations: OIDs of all protected relations. */
List *
dp_catalog_list_relations(void)
{
	Relation	rel = dp_catalog_try_table(&relations);
	dp_scan		scan;
	dp_values	row;
	HeapTuple	tuple;
	List	   *result = NIL;

	if (rel == NULL)
		return NIL;
	dp_catalog_start_scan(&scan, rel, NULL, NULL, NULL, 0);
	while (HeapTupleIsValid(tuple = dp_catalog_next(&scan)))
	{
		dp_catalog_read_row(&relations, rel, tuple, &row);
		result = lappend_oid(result, dp_catalog_get_oid(&row, RELATION_RELID));
	}
	dp_catalog_end_scan(&scan);
	table_close(rel, AccessShareLock);
	return result;
}

typedef bool (*relation_test) (const dp_relation_row *row, Oid oid);

/* A relation whose row passes the test, or InvalidOid. */
static Oid
find_by(relation_test test, Oid oid)
{
	Relation	rel = dp_catalog_try_table(&relations);
	dp_scan		scan;
	dp_values	row;
	HeapTuple	tuple;
	Oid			found = InvalidOid;

	if (rel == NULL)
		return InvalidOid;
	dp_catalog_start_scan(&scan, rel, NULL, NULL, NULL, 0);
	while (!OidIsValid(found) &&
		   HeapTupleIsValid(tuple = dp_catalog_next(&scan)))
	{
		dp_relation_row relation = {0};

		dp_catalog_read_row(&relations, rel, tuple, &row);
		fetch(&row, &relation);
		if (test(&relation, oid))
			found = relation.relid;
	}
	dp_catalog_end_scan(&scan);
	table_close(rel, AccessShareLock);
	return found;
}

static bool
is_shown_by(const dp_relation_row *row, Oid view)
{
	return OidIsValid(view) && row->published == view;
}

static bool
is_behind(const dp_relation_row *row, Oid relid)
{
	return OidIsValid(relid) && row->unit_through == relid;
}

/* dp_catalog_find_published: the relation that a view shows, or InvalidOid. */
Oid
dp_catalog_find_published(Oid view)
{
	return find_by(is_shown_by, view);
}

/*
 * dp_catalog_relation_behind
 *	  A relation whose unit is behind the key of relid, or InvalidOid.
 */
Oid
dp_catalog_relation_behind(Oid relid)
{
	return find_by(is_behind, relid);
}

/*
 * The further columns of the unit, or of the key that it references: name[].
 */
static Datum
names_of(const List *more, bool key)
{
	Datum	   *names = palloc(sizeof(Datum) * (list_length(more) + 1));
	ListCell   *lc;

	foreach(lc, more)
	{
		const dp_unit_column *column = lfirst(lc);

		names[foreach_current_index(lc)] =
			NameGetDatum(key ? &column->key : &column->from);
	}
	return PointerGetDatum(construct_array(names, list_length(more), NAMEOID,
										   NAMEDATALEN, false,
										   TYPALIGN_CHAR));
}

/*
 * dp_catalog_write_relation
 *	  Insert or replace a row.  In an existing row the dataset stays; so do the
 *	  view if published is InvalidOid, the size class if rows is 0, and the
 *	  contribution bounds if the unit is the same.
 */
void
dp_catalog_write_relation(const dp_relation_row *row)
{
	Oid			types[10] = {OIDOID, NAMEOID, NAMEOID, OIDOID, INT8OID, OIDOID,
	BOOLOID, NAMEOID, NAMEARRAYOID, NAMEARRAYOID};
	Datum		values[10];
	char		nulls[11] = "          ";

	values[0] = ObjectIdGetDatum(row->relid);
	values[1] = NameGetDatum(&row->dataset);
	values[2] = NameGetDatum(&row->unit);
	values[3] = ObjectIdGetDatum(row->published);
	values[4] = Int64GetDatum(row->rows);
	values[5] = ObjectIdGetDatum(row->unit_through);
	values[6] = BoolGetDatum(row->commented);
	values[7] = NameGetDatum(&row->unit_key);
	values[8] = names_of(row->unit_more, false);
	values[9] = names_of(row->unit_more, true);
	if (!OidIsValid(row->unit_through))
		nulls[5] = nulls[7] = 'n';
	if (row->unit_more == NIL)
		nulls[8] = nulls[9] = 'n';
	if (!row->has_unit)
		nulls[2] = 'n';
	if (!OidIsValid(row->published))
		nulls[3] = 'n';
	if (row->rows == 0)
		nulls[4] = 'n';
	dp_catalog_run_as_owner("INSERT INTO dp_pg.relation AS r"
							" (relid, relid_origin, dataset, unit, published,"
							" rows, unit_through, commented, unit_key,"
							" unit_more, unit_key_more)"
							" VALUES ($1, $1, $2, $3, $4, $5, $6, $7, $8, $9,"
							" $10)"
							" ON CONFLICT (relid) DO UPDATE SET"
							" relid_origin = EXCLUDED.relid_origin,"
							" unit = EXCLUDED.unit,"
							" unit_attnum = EXCLUDED.unit_attnum,"
							" unit_through = EXCLUDED.unit_through,"
							" unit_key = EXCLUDED.unit_key,"
							" unit_key_attnum = EXCLUDED.unit_key_attnum,"
							" unit_more = EXCLUDED.unit_more,"
							" unit_more_attnums = EXCLUDED.unit_more_attnums,"
							" unit_key_more = EXCLUDED.unit_key_more,"
							" unit_key_more_attnums ="
							" EXCLUDED.unit_key_more_attnums,"
							" published ="
							" coalesce(EXCLUDED.published, r.published),"
							" rows = coalesce(EXCLUDED.rows, r.rows),"
							" commented = EXCLUDED.commented,"
							" max_rows = CASE WHEN (r.unit, r.unit_through,"
							" r.unit_more) IS NOT DISTINCT FROM"
							" (EXCLUDED.unit, EXCLUDED.unit_through,"
							" EXCLUDED.unit_more) THEN r.max_rows END,"
							" max_keys = CASE WHEN (r.unit, r.unit_through,"
							" r.unit_more) IS NOT DISTINCT FROM"
							" (EXCLUDED.unit, EXCLUDED.unit_through,"
							" EXCLUDED.unit_more) THEN r.max_keys END",
							10, types, values, nulls);
}

/* dp_catalog_write_size: the size class of a relation; 0: none. */
void
dp_catalog_write_size(Oid relid, int64 rows)
{
	Oid			types[2] = {OIDOID, INT8OID};
	Datum		values[2];

	values[0] = ObjectIdGetDatum(relid);
	values[1] = Int64GetDatum(rows);
	dp_catalog_run_as_owner("UPDATE dp_pg.relation SET rows = $2"
							" WHERE relid = $1",
							2, types, values, rows == 0 ? " n" : NULL);
}

/*
 * dp_catalog_write_contribution
 *	  Write the contribution bounds of a relation; 0 keeps the present one.
 */
void
dp_catalog_write_contribution(Oid relid, int64 max_rows, int64 max_keys)
{
	Oid			types[3] = {OIDOID, INT8OID, INT8OID};
	Datum		values[3];
	char		nulls[4] = "   ";

	values[0] = ObjectIdGetDatum(relid);
	values[1] = Int64GetDatum(max_rows);
	values[2] = Int64GetDatum(max_keys);
	if (max_rows == 0)
		nulls[1] = 'n';
	if (max_keys == 0)
		nulls[2] = 'n';
	dp_catalog_run_as_owner("UPDATE dp_pg.relation SET"
							" max_rows = coalesce($2, max_rows),"
							" max_keys = coalesce($3, max_keys)"
							" WHERE relid = $1",
							3, types, values, nulls);
}

/* dp_catalog_write_twin: the table of synthetic rows of a relation. */
void
dp_catalog_write_twin(Oid relid, Oid twin)
{
	Oid			types[2] = {OIDOID, OIDOID};
	Datum		values[2];

	values[0] = ObjectIdGetDatum(relid);
	values[1] = ObjectIdGetDatum(twin);
	dp_catalog_run_as_owner("UPDATE dp_pg.relation SET twin = $2"
							" WHERE relid = $1", 2, types, values, NULL);
}

/* dp_catalog_delete_relation: delete rows of a relation, columns, name. */
void
dp_catalog_delete_relation(Oid relid)
{
	Oid			type = OIDOID;
	Datum		value = ObjectIdGetDatum(relid);

	dp_owner_sql saved;

	dp_bridge_owner_begin(&saved);
	(void) dp_catalog_run("DELETE FROM dp_pg.attribute WHERE relid = $1",
						  1, &type, &value, NULL);
	(void) dp_catalog_run("DELETE FROM dp_pg.relation WHERE relid = $1",
						  1, &type, &value, NULL);
	(void) dp_catalog_run("DELETE FROM dp_pg.relation_name WHERE relid = $1",
						  1, &type, &value, NULL);
	dp_bridge_owner_end(&saved);
}

/*
 * dp_catalog_list_published
 *	  A dataset's published views and twins, palloc'd in SPI's context.
 *	  `safe`: only those that certainly show no private rows: views that pass
 *	  dp_pg.check_published, twins without parent or children.  Needs SPI as
 *	  the owner of the extension.
 */
int
dp_catalog_list_published(const char *dataset, bool safe, Oid **views)
{
	Oid			types[2] = {NAMEOID, BOOLOID};
	Datum		values[2];
	NameData	key;
	int			n;
	int			i;

	*views = NULL;
	if (!OidIsValid(get_relname_relid("relation",
									  dp_bridge_catalog_namespace())))
		return 0;
	namestrcpy(&key, dataset);
	values[0] = NameGetDatum(&key);
	values[1] = BoolGetDatum(safe);
	n = (int) dp_catalog_run("SELECT published::pg_catalog.oid"
							 " FROM dp_pg.relation WHERE dataset = $1"
							 " AND published IS NOT NULL"
							 " AND (NOT $2 OR dp_pg.check_published(relid))"
							 " UNION ALL SELECT twin::pg_catalog.oid"
							 " FROM dp_pg.relation WHERE dataset = $1"
							 " AND twin IS NOT NULL AND (NOT $2 OR NOT EXISTS"
							 " (SELECT FROM pg_catalog.pg_inherits WHERE"
							 " twin IN (inhrelid, inhparent)))",
							 2, types, values, NULL);
	*views = palloc(sizeof(Oid) * (n + 1));
	for (i = 0; i < n; i++)
		(*views)[i] = DatumGetObjectId(dp_catalog_result(i, 1));
	return n;
}
