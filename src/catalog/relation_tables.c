/*
 * relation_tables.c
 *	  Rows of protected relations and of declared columns, and which versions
 *	  of them hold.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "nodes/pg_list.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "../base/dp_base.h"
#include "dp_catalog.h"
#include "dp_table.h"

/* In the order of sql/30_relation.sql.  NULL may come from a trigger. */
#define DP_ROW dp_relation_row
static const dp_column relation_columns[] = {
	DP_COL_OR_NULL("relid", VALUE, relid, 0),
	DP_COL_OR_NULL("relid_origin", VALUE, origin, 0),
	DP_COL_OR_NULL("dataset", BYTES, dataset, 0),
	DP_COL_IF("unit", BYTES, unit, 0, has_unit),
	DP_COL_OR_NULL("unit_attnum", VALUE, unit_attnum, 0),
	DP_COL_OR_NULL("unit_through", VALUE, unit_through, 0),
	DP_COL_OR_NULL("unit_key", BYTES, unit_key, 0),
	DP_COL_OR_NULL("unit_key_attnum", VALUE, unit_key_attnum, 0),
	DP_COL_OR_NULL("published", VALUE, published, 0),
	DP_COL_OR_NULL("rows", VALUE, rows, 0),
	DP_COL_OR_NULL("max_rows", VALUE, max_rows, 0),
	DP_COL_OR_NULL("max_keys", VALUE, max_keys, 0),
	DP_COL_OR_NULL("max_total", VALUE, max_total, 0),
	DP_COL_OR_NULL("commented", VALUE, commented, 0),
	DP_COL_OR_NULL("twin", VALUE, twin, 0),
	DP_COL_OR_NULL("unit_more", LONG, more[0], 0),
	DP_COL_OR_NULL("unit_more_attnums", LONG, more[1], 0),
	DP_COL_OR_NULL("unit_key_more", LONG, more[2], 0),
	DP_COL_OR_NULL("unit_key_more_attnums", LONG, more[3], 0),
	DP_COL_OR_NULL("min_units", VALUE, min_units, 0)
};
#undef DP_ROW

typedef struct attribute_row
{
	Oid			relid;
	NameData	name;
	dp_attribute declared;
	struct varlena *granule;
	ArrayType  *keys;
	bool		nulls_declared;
	bool		nulls;
} attribute_row;

#define DP_ROW attribute_row
static const dp_column attribute_columns[] = {
	DP_COL("relid", VALUE, relid, 0),
	DP_COL("relid_origin", VALUE, declared.origin, 0),
	DP_COL("attname", BYTES, name, 0),
	DP_COL("attnum", VALUE, declared.attnum, 0),
	DP_COL_OR_NULL("lower", TEXT, declared.lower, 0),
	DP_COL_OR_NULL("upper", TEXT, declared.upper, 0),
	DP_COL_OR_NULL("granule", LONG, granule, 0),
	DP_COL_OR_NULL("keys", LONG, keys, 0),
	DP_COL_OR_NULL("other", TEXT, declared.other, 0),
	DP_COL_OR_NULL("partition", VALUE, declared.partition, 0),
	DP_COL_OR_NULL("guard", VALUE, declared.guard, 0),
	DP_COL_OR_NULL("public_sizes", VALUE, declared.public_sizes, 0),
	DP_COL_IF("nulls", VALUE, nulls, 0, nulls_declared)
};

/* Of these columns, what tells which are partitions. */
static const dp_column partition_columns[] = {
	DP_COL("relid", VALUE, relid, 0),
	{"relid_origin"},
	{"attname"},
	DP_COL("attnum", VALUE, declared.attnum, 0),
	{"lower"},
	{"upper"},
	{"granule"},
	{"keys"},
	{"other"},
	DP_COL_OR_NULL("partition", VALUE, declared.partition, 0)
};
#undef DP_ROW

typedef struct profile_row
{
	Oid			relid;
	struct varlena *lines;
	struct varlena *bars;
} profile_row;

#define DP_ROW profile_row
static const dp_column profile_columns[] = {
	DP_COL("relid", VALUE, relid, 0),
	{"dataset"},
	{"at"},
	{"epsilon"},
	{"delta"},
	DP_COL("lines", LONG, lines, 0),
	DP_COL("bars", LONG, bars, 0)
};
#undef DP_ROW

const dp_table dp_catalog_relations = DP_TABLE("relation", dp_relation_row,
											   relation_columns);
static const dp_table attributes = DP_TABLE("attribute", attribute_row,
											attribute_columns);
static const dp_table partitions = DP_TABLE("attribute", attribute_row,
											partition_columns);
static const dp_table profiles = DP_TABLE("profile", profile_row,
										  profile_columns);

/* ----------------
 *		Rows of dp_pg.attribute: declarations about columns.
 *
 * They are read and written like those of dp_pg.relation.  Texts are canonical
 * (ISO dates, shortest floats, UTC), so that their meaning does not depend on
 * the connection's settings.
 * ----------------
 */

/* The elements of a text[] as a list of palloc'd strings. */
static List *
list_of_texts(ArrayType *array)
{
	Datum	   *elements;
	bool	   *nulls;
	int			n;
	List	   *result = NIL;
	int			i;

	deconstruct_array(DatumGetArrayTypeP(PointerGetDatum(array)), TEXTOID, -1,
					  false, TYPALIGN_INT, &elements, &nulls, &n);
	for (i = 0; i < n; i++)
		if (!nulls[i])
			result = lappend(result, TextDatumGetCString(elements[i]));
	return result;
}

/*
 * dp_catalog_find_attribute
 *	  The declarations about a column, palloc'd, or NULL.
 */
dp_attribute *
dp_catalog_find_attribute(Oid relid, const char *name)
{
	dp_attribute *result = NULL;
	ScanKeyData keys[2];
	NameData	key;
	dp_scan		scan;
	attribute_row row;

	namestrcpy(&key, name);
	dp_catalog_key(&keys[0], &attributes, "relid", ObjectIdGetDatum(relid));
	dp_catalog_key(&keys[1], &attributes, "attname", NameGetDatum(&key));
	dp_catalog_start_rows(&scan, &attributes, keys, 2);
	if (dp_catalog_next_row(&scan, &row))
	{
		result = palloc(sizeof(dp_attribute));
		*result = row.declared;
		if (row.granule != NULL)
			result->granule =
				DatumGetNumericCopy(PointerGetDatum(row.granule));
		if (row.keys != NULL)
			result->keys = list_of_texts(row.keys);
		result->no_nulls = row.nulls_declared && !row.nulls;
	}
	dp_catalog_end_rows(&scan);
	return result;
}

/*
 * dp_catalog_find_profile
 *	  The lines and bars of the relation's profile, palloc'd; false: there is
 *	  none.
 */
bool
dp_catalog_find_profile(Oid relid, Jsonb **lines, Jsonb **bars)
{
	ScanKeyData key;
	dp_scan		scan;
	profile_row row;
	bool		found;

	dp_catalog_key(&key, &profiles, "relid", ObjectIdGetDatum(relid));
	dp_catalog_start_rows(&scan, &profiles, &key, 1);
	found = dp_catalog_next_row(&scan, &row);
	if (found)
	{
		*lines = DatumGetJsonbPCopy(PointerGetDatum(row.lines));
		*bars = DatumGetJsonbPCopy(PointerGetDatum(row.bars));
	}
	dp_catalog_end_rows(&scan);
	return found;
}

/* dp_catalog_list_partitions: numbers of the columns declared immutable. */
Bitmapset *
dp_catalog_list_partitions(Oid relid)
{
	Bitmapset  *columns = NULL;
	ScanKeyData key;
	dp_scan		scan;
	attribute_row row;

	dp_catalog_key(&key, &partitions, "relid", ObjectIdGetDatum(relid));
	dp_catalog_start_rows(&scan, &partitions, &key, 1);
	while (dp_catalog_next_row(&scan, &row))
		if (row.declared.partition != 0 && row.declared.attnum > 0)
			columns = bms_add_member(columns, row.declared.attnum);
	dp_catalog_end_rows(&scan);
	return columns;
}

/*
 * dp_catalog_write_bounds
 *	  Write bounds of a column; other declarations about it stay.  If the
 *	  values of a partition column change, its parts change: it gets a new
 *	  partition, whose sizes are not declared public.
 */
void
dp_catalog_write_bounds(Oid relid, const NameData *name, const char *lower,
						const char *upper, Numeric granule)
{
	dp_argument args[] = {
		DP_ARG_OID(relid), DP_ARG_NAME(name),
		{TEXTOID, CStringGetTextDatum(lower)},
		{TEXTOID, CStringGetTextDatum(upper)},
		{NUMERICOID, NumericGetDatum(granule), granule == NULL}
	};

	dp_catalog_run_as_owner("INSERT INTO dp_pg.attribute"
							" (relid, relid_origin, attname, attnum, lower,"
							" upper, granule) VALUES ($1, $1, $2, 0, $3, $4,"
							" $5) ON CONFLICT (relid, attname) DO UPDATE SET"
							" relid_origin = EXCLUDED.relid_origin,"
							" attnum = EXCLUDED.attnum, partition ="
							" CASE WHEN attribute.partition IS NOT NULL"
							" AND (attribute.lower, attribute.upper)"
							" IS DISTINCT FROM"
							" (EXCLUDED.lower, EXCLUDED.upper)"
							" THEN dp_pg.new_partition()"
							" ELSE attribute.partition END,"
							" public_sizes = attribute.public_sizes"
							" AND (attribute.lower, attribute.upper)"
							" IS NOT DISTINCT FROM"
							" (EXCLUDED.lower, EXCLUDED.upper),"
							" lower = EXCLUDED.lower, upper = EXCLUDED.upper,"
							" granule = EXCLUDED.granule",
							args, 5);
}

/* dp_catalog_write_keys: the same for keys; `other` may be NULL. */
void
dp_catalog_write_keys(Oid relid, const NameData *name, ArrayType *keys,
					  const char *other, bool nulls)
{
	dp_argument args[] = {
		DP_ARG_OID(relid), DP_ARG_NAME(name),
		{TEXTARRAYOID, PointerGetDatum(keys)},
		{TEXTOID, other ? CStringGetTextDatum(other) : 0, other == NULL},
		DP_ARG_BOOL(nulls)
	};

	dp_catalog_run_as_owner("INSERT INTO dp_pg.attribute"
							" (relid, relid_origin, attname, attnum, keys,"
							" other, nulls) VALUES ($1, $1, $2, 0, $3, $4,"
							" $5)"
							" ON CONFLICT (relid, attname) DO UPDATE SET"
							" relid_origin = EXCLUDED.relid_origin,"
							" attnum = EXCLUDED.attnum, partition ="
							" CASE WHEN attribute.partition IS NOT NULL"
							" AND attribute.keys IS DISTINCT FROM"
							" EXCLUDED.keys THEN dp_pg.new_partition()"
							" ELSE attribute.partition END,"
							" public_sizes = attribute.public_sizes"
							" AND attribute.keys IS NOT DISTINCT FROM"
							" EXCLUDED.keys,"
							" keys = EXCLUDED.keys, other = EXCLUDED.other,"
							" nulls = EXCLUDED.nulls",
							args, 5);
}

/*
 * dp_catalog_write_partition
 *	  Write partition and guard of a column; 0 and 0: it is not immutable.
 */
void
dp_catalog_write_partition(Oid relid, const NameData *name, int64 partition,
						   int64 guard, bool public_sizes)
{
	dp_argument args[] = {
		DP_ARG_OID(relid), DP_ARG_NAME(name),
		{INT8OID, Int64GetDatum(partition), partition == 0},
		{INT8OID, Int64GetDatum(guard), partition == 0},
		{BOOLOID, BoolGetDatum(public_sizes), partition == 0}
	};

	dp_catalog_run_as_owner("INSERT INTO dp_pg.attribute"
							" (relid, relid_origin, attname, attnum,"
							" partition, guard, public_sizes)"
							" VALUES ($1, $1, $2, 0, $3, $4, $5)"
							" ON CONFLICT (relid, attname) DO UPDATE SET"
							" relid_origin = EXCLUDED.relid_origin,"
							" attnum = EXCLUDED.attnum,"
							" partition = EXCLUDED.partition,"
							" guard = EXCLUDED.guard,"
							" public_sizes = EXCLUDED.public_sizes",
							args, 5);
}

/*
 * dp_catalog_forget_partitions: no column of the relation remains immutable.
 */
void
dp_catalog_forget_partitions(Oid relid)
{
	dp_argument args[] = {DP_ARG_OID(relid)};

	dp_catalog_run_as_owner("UPDATE dp_pg.attribute SET partition = NULL,"
							" guard = NULL, public_sizes = NULL"
							" WHERE relid = $1 AND partition IS NOT NULL",
							args, 1);
}

/* ----------------
 *		Rows of dp_pg.relation: what is protected.
 *
 * Planning reads them for any user and in any transaction, so they are fetched
 * under a catalog snapshot, without SPI, rights or settings.  They are written
 * by SQL, because triggers and constraints keep them consistent.
 * ----------------
 */

/* Elements of an array of names or numbers; none if it is NULL. */
static int
relation_read_array(ArrayType *array, Oid type, Datum **elements)
{
	int			n = 0;

	if (array != NULL)
		deconstruct_array(DatumGetArrayTypeP(PointerGetDatum(array)), type,
						  type == NAMEOID ? NAMEDATALEN : sizeof(int16),
						  type != NAMEOID, type == NAMEOID ? TYPALIGN_CHAR :
						  TYPALIGN_SHORT, elements, NULL, &n);
	return n;
}

/*
 * dp_catalog_read_more
 *	  Make the list of the further columns of unit and key in a row that was
 *	  read.
 */
void
dp_catalog_read_more(dp_relation_row *row)
{
	Datum	   *elements[4];
	int			n[4];
	int			i;

	for (i = 0; i < 4; i++)
		n[i] = relation_read_array(row->more[i], i % 2 == 0 ? NAMEOID :
								   INT2OID, &elements[i]);
	for (i = 0; i < Max(n[0], n[2]); i++)
	{
		dp_unit_column *column = palloc0(sizeof(dp_unit_column));

		if (i < n[0])
			column->from = *DatumGetName(elements[0][i]);
		if (i < n[1])
			column->from_attnum = DatumGetInt16(elements[1][i]);
		if (i < n[2])
			column->key = *DatumGetName(elements[2][i]);
		if (i < n[3])
			column->key_attnum = DatumGetInt16(elements[3][i]);
		row->unit_more = lappend(row->unit_more, column);
	}
	memset(row->more, 0, sizeof(row->more));
}

/*
 * dp_catalog_open_relations
 *	  Open the table for dp_catalog_has_relation; the caller closes it with its
 *	  lock.  NULL if the extension is not installed in this database.
 */
Relation
dp_catalog_open_relations(void)
{
	return dp_catalog_try_table(&dp_catalog_relations);
}

/* dp_catalog_has_relation: whether there is a row for relid. */
bool
dp_catalog_has_relation(Relation rel, Oid relid)
{
	ScanKeyData key;
	dp_scan		scan;
	bool		found;

	dp_catalog_key(&key, &dp_catalog_relations, "relid",
				   ObjectIdGetDatum(relid));
	dp_catalog_start_scan(&scan, rel, NULL, NULL, &key, 1);
	found = HeapTupleIsValid(dp_catalog_next(&scan));
	dp_catalog_end_scan(&scan);
	return found;
}

/* dp_catalog_find_relation: the row of a relation, if it has one. */
bool
dp_catalog_find_relation(Oid relid, dp_relation_row *out)
{
	ScanKeyData key;
	dp_scan		scan;
	bool		found;

	dp_catalog_key(&key, &dp_catalog_relations, "relid",
				   ObjectIdGetDatum(relid));
	dp_catalog_start_rows(&scan, &dp_catalog_relations, &key, 1);
	found = dp_catalog_next_row(&scan, out);
	if (found)
		dp_catalog_read_more(out);
	else
		memset(out, 0, sizeof(*out));
	dp_catalog_end_rows(&scan);
	return found;
}

/* dp_catalog_list_relations: OIDs of all protected relations. */
List *
dp_catalog_list_relations(void)
{
	dp_scan		scan;
	dp_relation_row row;
	List	   *result = NIL;

	dp_catalog_start_rows(&scan, &dp_catalog_relations, NULL, 0);
	while (dp_catalog_next_row(&scan, &row))
		result = lappend_oid(result, row.relid);
	dp_catalog_end_rows(&scan);
	return result;
}

typedef bool (*relation_test) (const dp_relation_row *row, Oid oid);

/* A relation whose row passes the test, or InvalidOid. */
static Oid
find_by(relation_test test, Oid oid)
{
	dp_scan		scan;
	dp_relation_row row;
	Oid			found = InvalidOid;

	dp_catalog_start_rows(&scan, &dp_catalog_relations, NULL, 0);
	while (!OidIsValid(found) && dp_catalog_next_row(&scan, &row))
		if (test(&row, oid))
			found = row.relid;
	dp_catalog_end_rows(&scan);
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
	bool		behind = OidIsValid(row->unit_through);
	bool		one = row->unit_more == NIL;
	dp_argument args[] = {
		DP_ARG_OID(row->relid), DP_ARG_NAME(&row->dataset),
		{NAMEOID, NameGetDatum(&row->unit), !row->has_unit},
		{OIDOID, ObjectIdGetDatum(row->published),
		!OidIsValid(row->published)},
		{INT8OID, Int64GetDatum(row->rows), row->rows == 0},
		{OIDOID, ObjectIdGetDatum(row->unit_through), !behind},
		DP_ARG_BOOL(row->commented),
		{NAMEOID, NameGetDatum(&row->unit_key), !behind},
		{NAMEARRAYOID, names_of(row->unit_more, false), one},
		{NAMEARRAYOID, names_of(row->unit_more, true), one}
	};

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
							" EXCLUDED.unit_more) THEN r.max_keys END,"
							" max_total = CASE WHEN (r.unit, r.unit_through,"
							" r.unit_more) IS NOT DISTINCT FROM"
							" (EXCLUDED.unit, EXCLUDED.unit_through,"
							" EXCLUDED.unit_more) THEN r.max_total END",
							args, 10);
}

/* dp_catalog_write_size: the size class of a relation; 0: none. */
void
dp_catalog_write_size(Oid relid, int64 rows)
{
	dp_argument args[] = {
		DP_ARG_OID(relid), {INT8OID, Int64GetDatum(rows), rows == 0}
	};

	dp_catalog_run_as_owner("UPDATE dp_pg.relation SET rows = $2"
							" WHERE relid = $1", args, 2);
}

/*
 * dp_catalog_write_contribution
 *	  Write how much of a unit counts and how many units a group must have to
 *	  be shown; 0 keeps the present number, -1 withdraws it.
 */
void
dp_catalog_write_contribution(Oid relid, int64 max_rows, int64 max_keys,
							  int64 max_total, int64 min_units)
{
	dp_argument args[] = {
		DP_ARG_OID(relid),
		{INT8OID, Int64GetDatum(max_rows), max_rows == 0},
		{INT8OID, Int64GetDatum(max_keys), max_keys == 0},
		{INT8OID, Int64GetDatum(max_total), max_total == 0},
		{INT8OID, Int64GetDatum(min_units), min_units == 0}
	};

	dp_catalog_run_as_owner("UPDATE dp_pg.relation SET"
							" max_rows = nullif(coalesce($2, max_rows), -1),"
							" max_keys = nullif(coalesce($3, max_keys), -1),"
							" max_total ="
							" nullif(coalesce($4, max_total), -1),"
							" min_units = nullif(coalesce($5, min_units), -1)"
							" WHERE relid = $1",
							args, lengthof(args));
}

/*
 * dp_catalog_has_min_units
 *	  Whether the owner of any protected relation declared one.
 */
bool
dp_catalog_has_min_units(void)
{
	dp_relation_row row;
	dp_scan		scan;
	bool		found = false;

	dp_catalog_start_rows(&scan, &dp_catalog_relations, NULL, 0);
	while (!found && dp_catalog_next_row(&scan, &row))
		found = row.min_units > 0;
	dp_catalog_end_rows(&scan);
	return found;
}

/* dp_catalog_write_twin: the table of synthetic rows of a relation. */
void
dp_catalog_write_twin(Oid relid, Oid twin)
{
	dp_argument args[] = {DP_ARG_OID(relid), DP_ARG_OID(twin)};

	dp_catalog_run_as_owner("UPDATE dp_pg.relation SET twin = $2"
							" WHERE relid = $1", args, 2);
}

/* dp_catalog_delete_relation: delete rows of a relation, columns, name. */
void
dp_catalog_delete_relation(Oid relid)
{
	dp_argument args[] = {DP_ARG_OID(relid)};
	dp_owner_sql saved;

	dp_base_owner_begin(&saved);
	(void) dp_catalog_run("DELETE FROM dp_pg.attribute WHERE relid = $1",
						  args, 1);
	(void) dp_catalog_run("DELETE FROM dp_pg.relation WHERE relid = $1",
						  args, 1);
	(void) dp_catalog_run("DELETE FROM dp_pg.relation_name WHERE relid = $1",
						  args, 1);
	dp_base_owner_end(&saved);
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
	NameData	key;
	dp_argument args[] = {DP_ARG_NAME(&key), DP_ARG_BOOL(safe)};
	int			n;
	int			i;

	*views = NULL;
	if (!OidIsValid(get_relname_relid("relation",
									  dp_base_catalog_namespace())))
		return 0;
	namestrcpy(&key, dataset);
	n = (int) dp_catalog_run("SELECT published::pg_catalog.oid"
							 " FROM dp_pg.relation WHERE dataset = $1"
							 " AND published IS NOT NULL"
							 " AND (NOT $2 OR dp_pg.check_published(relid))"
							 " UNION ALL SELECT twin::pg_catalog.oid"
							 " FROM dp_pg.relation WHERE dataset = $1"
							 " AND twin IS NOT NULL AND (NOT $2 OR NOT EXISTS"
							 " (SELECT FROM pg_catalog.pg_inherits WHERE"
							 " twin IN (inhrelid, inhparent)))",
							 args, 2);
	*views = palloc(sizeof(Oid) * (n + 1));
	for (i = 0; i < n; i++)
		(*views)[i] = DatumGetObjectId(dp_catalog_result(i, 1));
	return n;
}

/* ----------------
 *		Identify the catalog row versions that define a relation and its
 *		declarations, by TID and xmin, which no other version of a row shares
 *		during the life of stored answers.
 * ----------------
 */

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

	appendStringInfo(out, " %u", dp_base_extension_oid());
	ScanKeyInit(&key, Anum_pg_extension_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(dp_base_extension_oid()));
	dp_catalog_start_scan(&scan, rel, "pg_extension_oid_index", NULL, &key, 1);
	while (HeapTupleIsValid(tuple = dp_catalog_next(&scan)))
		append_version(out, tuple);
	dp_catalog_end_scan(&scan);
	table_close(rel, AccessShareLock);
}

/* Append versions of the rows about the relation. */
static void
append_rows(StringInfo out, const dp_table *table, Oid relid)
{
	Relation	rel = dp_catalog_try_table(table);
	ScanKeyData key;
	dp_scan		scan;
	HeapTuple	tuple;

	if (rel == NULL)
		return;
	dp_catalog_key(&key, table, "relid", ObjectIdGetDatum(relid));
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
	append_rows(out, &dp_catalog_relations, relid);
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
