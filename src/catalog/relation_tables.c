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
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "table_access.h"

struct dp_values;

/* In the order of sql/30_relation.sql. */
enum
{
	RELATION_RELID = 1,
	RELATION_ORIGIN,
	RELATION_DATASET,
	RELATION_UNIT,
	RELATION_UNIT_ATTNUM,
	RELATION_UNIT_THROUGH,
	RELATION_UNIT_KEY,
	RELATION_UNIT_KEY_ATTNUM,
	RELATION_PUBLISHED,
	RELATION_ROWS,
	RELATION_MAX_ROWS,
	RELATION_MAX_KEYS,
	RELATION_COMMENTED,
	RELATION_TWIN,
	RELATION_UNIT_MORE,
	RELATION_UNIT_MORE_ATTNUMS,
	RELATION_UNIT_KEY_MORE,
	RELATION_UNIT_KEY_MORE_ATTNUMS,
	RELATION_END
};

/* The first four are also those of dp_pg.hardened. */
enum
{
	ATTRIBUTE_RELID = 1,
	ATTRIBUTE_ORIGIN,
	ATTRIBUTE_NAME,
	ATTRIBUTE_ATTNUM,
	ATTRIBUTE_LOWER,
	ATTRIBUTE_UPPER,
	ATTRIBUTE_GRANULE,
	ATTRIBUTE_KEYS,
	ATTRIBUTE_OTHER,
	ATTRIBUTE_PARTITION,
	ATTRIBUTE_GUARD,
	ATTRIBUTE_PUBLIC_SIZES,
	ATTRIBUTE_NULLS,
	ATTRIBUTE_END
};

/* ----------------
 *		What rows of dp_pg.relation, dp_pg.attribute and dp_pg.hardened have in
 *		common: they name a column of a relation.
 *
 * A row also has the OID of its relation when it was written (relid_origin)
 * and the column's number.
 * ----------------
 */

static const dp_table tables[] = {
	{"relation", RELATION_END - 1},
	{"attribute", ATTRIBUTE_END - 1},
	{"hardened", ATTRIBUTE_ATTNUM}
};

/*
 * Names follow renamed columns.  Restored rows, whose relid_origin is that of
 * another database, are matched by name and get new numbers.
 */
static const char *const follow_names[] =
{
	"UPDATE dp_pg.relation AS d"
	" SET unit = a.attname"
	" FROM pg_catalog.pg_attribute AS a"
	" WHERE d.relid::pg_catalog.oid = d.relid_origin AND a.attrelid = d.relid"
	" AND a.attnum = d.unit_attnum AND NOT a.attisdropped"
	" AND a.attname <> d.unit",
	"UPDATE dp_pg.relation AS d"
	" SET unit_key = a.attname"
	" FROM pg_catalog.pg_attribute AS a"
	" WHERE d.relid::pg_catalog.oid = d.relid_origin"
	" AND a.attrelid = d.unit_through"
	" AND a.attnum = d.unit_key_attnum AND NOT a.attisdropped"
	" AND a.attname <> d.unit_key",
	"UPDATE dp_pg.relation AS d"
	" SET unit_more = ARRAY(SELECT coalesce(a.attname, m.name)"
	" FROM ROWS FROM (pg_catalog.unnest(d.unit_more),"
	" pg_catalog.unnest(d.unit_more_attnums)) WITH ORDINALITY"
	" AS m(name, attnum, n) LEFT JOIN pg_catalog.pg_attribute AS a"
	" ON a.attrelid = d.relid AND a.attnum = m.attnum"
	" AND NOT a.attisdropped ORDER BY m.n)"
	" WHERE d.relid::pg_catalog.oid = d.relid_origin AND EXISTS (SELECT"
	" FROM ROWS FROM (pg_catalog.unnest(d.unit_more),"
	" pg_catalog.unnest(d.unit_more_attnums)) AS m(name, attnum)"
	" JOIN pg_catalog.pg_attribute AS a ON a.attrelid = d.relid"
	" AND a.attnum = m.attnum AND NOT a.attisdropped"
	" AND a.attname <> m.name)",
	"UPDATE dp_pg.relation AS d"
	" SET unit_key_more = ARRAY(SELECT coalesce(a.attname, m.name)"
	" FROM ROWS FROM (pg_catalog.unnest(d.unit_key_more),"
	" pg_catalog.unnest(d.unit_key_more_attnums)) WITH ORDINALITY"
	" AS m(name, attnum, n) LEFT JOIN pg_catalog.pg_attribute AS a"
	" ON a.attrelid = d.unit_through AND a.attnum = m.attnum"
	" AND NOT a.attisdropped ORDER BY m.n)"
	" WHERE d.relid::pg_catalog.oid = d.relid_origin AND EXISTS (SELECT"
	" FROM ROWS FROM (pg_catalog.unnest(d.unit_key_more),"
	" pg_catalog.unnest(d.unit_key_more_attnums)) AS m(name, attnum)"
	" JOIN pg_catalog.pg_attribute AS a ON a.attrelid = d.unit_through"
	" AND a.attnum = m.attnum AND NOT a.attisdropped"
	" AND a.attname <> m.name)",
	"UPDATE dp_pg.attribute AS d"
	" SET attname = a.attname"
	" FROM pg_catalog.pg_attribute AS a"
	" WHERE d.relid::pg_catalog.oid = d.relid_origin AND a.attrelid = d.relid"
	" AND a.attnum = d.attnum AND NOT a.attisdropped"
	" AND a.attname <> d.attname",
	"UPDATE dp_pg.hardened AS d"
	" SET attname = a.attname"
	" FROM pg_catalog.pg_attribute AS a"
	" WHERE d.relid::pg_catalog.oid = d.relid_origin AND a.attrelid = d.relid"
	" AND a.attnum = d.attnum AND NOT a.attisdropped"
	" AND a.attname <> d.attname",
	"UPDATE dp_pg.relation AS d"
	" SET unit_more_attnums ="
	" ARRAY(SELECT coalesce(a.attnum, 0::pg_catalog.int2)"
	" FROM pg_catalog.unnest(d.unit_more) WITH ORDINALITY AS m(name, n)"
	" LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid = d.relid"
	" AND a.attname = m.name AND NOT a.attisdropped ORDER BY m.n)"
	" WHERE d.relid::pg_catalog.oid <> d.relid_origin"
	" AND d.unit_more IS NOT NULL",
	"UPDATE dp_pg.relation AS d"
	" SET relid_origin = d.relid, unit_attnum = a.attnum"
	" FROM pg_catalog.pg_attribute AS a"
	" WHERE d.relid::pg_catalog.oid <> d.relid_origin AND a.attrelid = d.relid"
	" AND a.attname = d.unit AND NOT a.attisdropped",
	"UPDATE dp_pg.relation AS d SET relid_origin = d.relid"
	" WHERE d.relid::pg_catalog.oid <> d.relid_origin AND d.unit IS NULL",
	"UPDATE dp_pg.attribute AS d"
	" SET relid_origin = d.relid, attnum = a.attnum"
	" FROM pg_catalog.pg_attribute AS a"
	" WHERE d.relid::pg_catalog.oid <> d.relid_origin AND a.attrelid = d.relid"
	" AND a.attname = d.attname AND NOT a.attisdropped",
	"UPDATE dp_pg.hardened AS d"
	" SET relid_origin = d.relid, attnum = (SELECT a.attnum"
	" FROM pg_catalog.pg_attribute AS a WHERE a.attrelid = d.relid"
	" AND a.attname = d.attname AND NOT a.attisdropped)"
	" WHERE d.relid::pg_catalog.oid <> d.relid_origin",
	NULL
};

/*
 * Delete rows of dropped relations and columns.  The row of a relation whose
 * unit column was dropped stays: private queries on it fail with a clear
 * error.
 */
static const char *const forget_dropped[] =
{
	"DELETE FROM dp_pg.attribute AS d"
	" WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_class AS c"
	" WHERE c.oid = d.relid)"
	" OR (d.relid::pg_catalog.oid = d.relid_origin"
	" AND NOT EXISTS (SELECT FROM pg_catalog.pg_attribute AS a"
	" WHERE a.attrelid = d.relid AND a.attnum = d.attnum"
	" AND NOT a.attisdropped))",
	"DELETE FROM dp_pg.hardened AS d"
	" WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_class AS c"
	" WHERE c.oid = d.relid)"
	" OR (d.relid::pg_catalog.oid = d.relid_origin AND d.attname IS NOT NULL"
	" AND NOT EXISTS (SELECT FROM pg_catalog.pg_attribute AS a"
	" WHERE a.attrelid = d.relid AND a.attnum = d.attnum"
	" AND NOT a.attisdropped))",
	"DELETE FROM dp_pg.relation AS d"
	" WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_class AS c"
	" WHERE c.oid = d.relid)",
	"UPDATE dp_pg.relation AS d SET published = NULL"
	" WHERE d.published IS NOT NULL"
	" AND NOT EXISTS (SELECT FROM pg_catalog.pg_class AS c"
	" WHERE c.oid = d.published)",
	"UPDATE dp_pg.relation AS d SET twin = NULL"
	" WHERE d.twin IS NOT NULL"
	" AND NOT EXISTS (SELECT FROM pg_catalog.pg_class AS c"
	" WHERE c.oid = d.twin)",
	NULL
};

/* Elements of an array of names or numbers; none if it is NULL. */
static int
relation_read_array(const dp_values *row, int column, Oid type,
					Datum **elements)
{
	int			n = 0;

	if (!dp_catalog_is_null(row, column))
		deconstruct_array(DatumGetArrayTypeP(dp_catalog_get(row, column)),
						  type, type == NAMEOID ? NAMEDATALEN : sizeof(int16),
						  type != NAMEOID, type == NAMEOID ? TYPALIGN_CHAR :
						  TYPALIGN_SHORT, elements, NULL, &n);
	return n;
}

/*
 * get_unit_more
 *	  The further columns of unit and key in a row of dp_pg.relation.
 */
static List *
get_unit_more(const dp_values *row)
{
	Datum	   *from;
	Datum	   *from_attnums;
	Datum	   *key;
	Datum	   *key_attnums;
	int			n = relation_read_array(row, RELATION_UNIT_MORE, NAMEOID,
										&from);
	int			keys = relation_read_array(row, RELATION_UNIT_KEY_MORE,
										   NAMEOID, &key);
	int			numbers = relation_read_array(row, RELATION_UNIT_MORE_ATTNUMS,
											  INT2OID, &from_attnums);
	int			key_numbers =
		relation_read_array(row, RELATION_UNIT_KEY_MORE_ATTNUMS, INT2OID,
							&key_attnums);
	List	   *more = NIL;
	int			i;

	for (i = 0; i < Max(n, keys); i++)
	{
		dp_unit_column *column = palloc0(sizeof(dp_unit_column));

		if (i < n)
			column->from = *DatumGetName(from[i]);
		if (i < numbers)
			column->from_attnum = DatumGetInt16(from_attnums[i]);
		if (i < keys)
			column->key = *DatumGetName(key[i]);
		if (i < key_numbers)
			column->key_attnum = DatumGetInt16(key_attnums[i]);
		more = lappend(more, column);
	}
	return more;
}

/* Fields that only rows of dp_pg.relation have. */
static void
fetch_of_unit(const dp_values *row, dp_declared_row *out)
{
	if (!dp_catalog_is_null(row, RELATION_UNIT_THROUGH))
		out->through = dp_catalog_get_oid(row, RELATION_UNIT_THROUGH);
	if (!dp_catalog_is_null(row, RELATION_UNIT_KEY))
		out->key = dp_catalog_get_name(row, RELATION_UNIT_KEY);
	if (!dp_catalog_is_null(row, RELATION_UNIT_KEY_ATTNUM))
		out->key_attnum = dp_catalog_get_int16(row, RELATION_UNIT_KEY_ATTNUM);
	if (!dp_catalog_is_null(row, RELATION_PUBLISHED))
		out->published = dp_catalog_get_oid(row, RELATION_PUBLISHED);
	if (!dp_catalog_is_null(row, RELATION_TWIN))
		out->twin = dp_catalog_get_oid(row, RELATION_TWIN);
	out->more = get_unit_more(row);
}

static void
fetch_declared(const dp_values *row, bool is_unit, dp_declared_row *out)
{
	int			name = is_unit ? RELATION_UNIT : ATTRIBUTE_NAME;
	int			attnum = is_unit ? RELATION_UNIT_ATTNUM : ATTRIBUTE_ATTNUM;

	MemSet(out, 0, sizeof(*out));
	out->is_unit = is_unit;
	if (!dp_catalog_is_null(row, RELATION_RELID))
		out->relid = dp_catalog_get_oid(row, RELATION_RELID);
	if (!dp_catalog_is_null(row, RELATION_ORIGIN))
		out->origin = dp_catalog_get_oid(row, RELATION_ORIGIN);
	out->named = !dp_catalog_is_null(row, name);
	if (out->named)
		out->name = dp_catalog_get_name(row, name);
	if (!dp_catalog_is_null(row, attnum))
		out->attnum = dp_catalog_get_int16(row, attnum);
	if (is_unit)
		fetch_of_unit(row, out);
}

static bool
any_of_table(const dp_table *table, dp_declared_test test,
			 const void *context)
{
	Relation	rel = dp_catalog_try_table(table);
	dp_declared_row declared;
	dp_scan		scan;
	dp_values	row;
	HeapTuple	tuple;
	bool		found = false;

	if (rel == NULL)
		return false;
	dp_catalog_start_scan(&scan, rel, NULL, NULL, NULL, 0);
	while (!found && HeapTupleIsValid(tuple = dp_catalog_next(&scan)))
	{
		dp_catalog_read_row(table, rel, tuple, &row);
		fetch_declared(&row, table == &tables[0], &declared);
		found = test(&declared, context);
	}
	dp_catalog_end_scan(&scan);
	table_close(rel, AccessShareLock);
	return found;
}

/*
 * dp_catalog_any_declared
 *	  Whether any row of the three tables passes the test.  False if the
 *	  extension is not installed.
 */
bool
dp_catalog_any_declared(dp_declared_test test, const void *context)
{
	int			i;

	for (i = 0; i < lengthof(tables); i++)
		if (any_of_table(&tables[i], test, context))
			return true;
	return false;
}

static bool
is_of_units(Relation rel)
{
	return strcmp(RelationGetRelationName(rel), tables[0].name) == 0;
}

/*
 * dp_catalog_read_declared
 *	  Read a row for which a trigger of one of the tables was called; a relid
 *	  of NULL is InvalidOid.
 */
void
dp_catalog_read_declared(Relation rel, HeapTuple tuple, dp_declared_row *out)
{
	bool		is_unit = is_of_units(rel);
	dp_values	row;

	dp_catalog_read_row(is_unit ? &tables[0] : &tables[1], rel, tuple, &row);
	fetch_declared(&row, is_unit, out);
}

/* Numbers of the further columns of the unit, or of the key: int2[]. */
static Datum
relation_numbers_of(const List *more, bool key)
{
	Datum	   *numbers = palloc(sizeof(Datum) * (list_length(more) + 1));
	ListCell   *lc;

	foreach(lc, more)
	{
		const dp_unit_column *column = lfirst(lc);

		numbers[foreach_current_index(lc)] =
			Int16GetDatum(key ? column->key_attnum : column->from_attnum);
	}
	return PointerGetDatum(construct_array(numbers, list_length(more), INT2OID,
										   sizeof(int16), true,
										   TYPALIGN_SHORT));
}

/*
 * dp_catalog_place_declared
 *	  A copy of the tuple with relid_origin and the column numbers from *row; a
 *	  number is NULL if the row names no such column.
 */
HeapTuple
dp_catalog_place_declared(Relation rel, HeapTuple tuple,
						  const dp_declared_row *row)
{
	int			columns[5] = {RELATION_ORIGIN, ATTRIBUTE_ATTNUM,
		RELATION_UNIT_KEY_ATTNUM, RELATION_UNIT_MORE_ATTNUMS,
	RELATION_UNIT_KEY_MORE_ATTNUMS};
	Datum		values[5];
	bool		nulls[5] = {false, !row->named, !OidIsValid(row->through),
	row->more == NIL, row->more == NIL};

	if (row->is_unit)
		columns[1] = RELATION_UNIT_ATTNUM;
	values[0] = ObjectIdGetDatum(row->origin);
	values[1] = Int16GetDatum(row->attnum);
	values[2] = Int16GetDatum(row->key_attnum);
	values[3] = relation_numbers_of(row->more, false);
	values[4] = relation_numbers_of(row->more, true);
	return heap_modify_tuple_by_cols(tuple, RelationGetDescr(rel),
									 row->is_unit ? 5 : 2, columns, values,
									 nulls);
}

static void
run_all(const char *const *commands)
{
	dp_owner_sql saved;

	dp_bridge_owner_begin(&saved);
	for (; *commands; commands++)
		(void) dp_catalog_run(*commands, 0, NULL, NULL, NULL);
	dp_bridge_owner_end(&saved);
}

/* dp_catalog_follow_names: bring names and numbers up to date. */
void
dp_catalog_follow_names(void)
{
	run_all(follow_names);
}

/* dp_catalog_forget_dropped: delete rows of dropped objects. */
void
dp_catalog_forget_dropped(void)
{
	run_all(forget_dropped);
}

/* ----------------
 *		Rows of dp_pg.attribute: declarations about columns.
 *
 * They are read and written like those of dp_pg.relation.  Texts are canonical
 * (ISO dates, shortest floats, UTC), so that their meaning does not depend on
 * the connection's settings.
 * ----------------
 */

static const dp_table attributes = {"attribute", ATTRIBUTE_END - 1};

/* The elements of a text[] as a list of palloc'd strings. */
static List *
list_of_texts(Datum array)
{
	Datum	   *elements;
	bool	   *nulls;
	int			n;
	List	   *result = NIL;
	int			i;

	deconstruct_array(DatumGetArrayTypeP(array), TEXTOID, -1, false,
					  TYPALIGN_INT, &elements, &nulls, &n);
	for (i = 0; i < n; i++)
		if (!nulls[i])
			result = lappend(result, TextDatumGetCString(elements[i]));
	return result;
}

static char *
get_text(const dp_values *row, int column)
{
	return dp_catalog_is_null(row, column) ? NULL :
		dp_catalog_get_text(row, column);
}

static int64
relation_get_number(const dp_values *row, int column)
{
	return dp_catalog_is_null(row, column) ? 0 :
		dp_catalog_get_int64(row, column);
}

static dp_attribute *
fetch_attribute(const dp_values *row)
{
	dp_attribute *out = palloc0(sizeof(dp_attribute));

	out->origin = dp_catalog_get_oid(row, ATTRIBUTE_ORIGIN);
	out->attnum = dp_catalog_get_int16(row, ATTRIBUTE_ATTNUM);
	out->lower = get_text(row, ATTRIBUTE_LOWER);
	out->upper = get_text(row, ATTRIBUTE_UPPER);
	if (!dp_catalog_is_null(row, ATTRIBUTE_GRANULE))
		out->granule =
			DatumGetNumericCopy(dp_catalog_get(row, ATTRIBUTE_GRANULE));
	if (!dp_catalog_is_null(row, ATTRIBUTE_KEYS))
		out->keys = list_of_texts(dp_catalog_get(row, ATTRIBUTE_KEYS));
	out->other = get_text(row, ATTRIBUTE_OTHER);
	out->partition = relation_get_number(row, ATTRIBUTE_PARTITION);
	out->guard = relation_get_number(row, ATTRIBUTE_GUARD);
	out->public_sizes = !dp_catalog_is_null(row, ATTRIBUTE_PUBLIC_SIZES) &&
		dp_catalog_get_bool(row, ATTRIBUTE_PUBLIC_SIZES);
	out->no_nulls = !dp_catalog_is_null(row, ATTRIBUTE_NULLS) &&
		!dp_catalog_get_bool(row, ATTRIBUTE_NULLS);
	return out;
}

/*
 * dp_catalog_find_attribute
 *	  The declarations about a column, palloc'd, or NULL.
 */
dp_attribute *
dp_catalog_find_attribute(Oid relid, const char *name)
{
	Relation	rel = dp_catalog_try_table(&attributes);
	dp_attribute *result = NULL;
	ScanKeyData keys[2];
	NameData	key;
	dp_scan		scan;
	dp_values	row;
	HeapTuple	tuple;

	if (rel == NULL)
		return NULL;
	namestrcpy(&key, name);
	dp_catalog_key(&keys[0], ATTRIBUTE_RELID, OIDOID, ObjectIdGetDatum(relid));
	dp_catalog_key(&keys[1], ATTRIBUTE_NAME, NAMEOID, NameGetDatum(&key));
	dp_catalog_start_scan(&scan, rel, NULL, NULL, keys, 2);
	tuple = dp_catalog_next(&scan);
	if (HeapTupleIsValid(tuple))
	{
		dp_catalog_read_row(&attributes, rel, tuple, &row);
		result = fetch_attribute(&row);
	}
	dp_catalog_end_scan(&scan);
	table_close(rel, AccessShareLock);
	return result;
}

/* dp_catalog_list_partitions: numbers of the columns declared immutable. */
Bitmapset *
dp_catalog_list_partitions(Oid relid)
{
	Relation	rel = dp_catalog_try_table(&attributes);
	Bitmapset  *columns = NULL;
	ScanKeyData key;
	dp_scan		scan;
	dp_values	row;
	HeapTuple	tuple;

	if (rel == NULL)
		return NULL;
	dp_catalog_key(&key, ATTRIBUTE_RELID, OIDOID, ObjectIdGetDatum(relid));
	dp_catalog_start_scan(&scan, rel, NULL, NULL, &key, 1);
	while (HeapTupleIsValid(tuple = dp_catalog_next(&scan)))
	{
		AttrNumber	attnum;

		dp_catalog_read_row(&attributes, rel, tuple, &row);
		attnum = dp_catalog_get_int16(&row, ATTRIBUTE_ATTNUM);
		if (!dp_catalog_is_null(&row, ATTRIBUTE_PARTITION) && attnum > 0)
			columns = bms_add_member(columns, attnum);
	}
	dp_catalog_end_scan(&scan);
	table_close(rel, AccessShareLock);
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
	Oid			types[5] = {OIDOID, NAMEOID, TEXTOID, TEXTOID, NUMERICOID};
	Datum		values[5];

	values[0] = ObjectIdGetDatum(relid);
	values[1] = NameGetDatum(name);
	values[2] = CStringGetTextDatum(lower);
	values[3] = CStringGetTextDatum(upper);
	values[4] = granule ? NumericGetDatum(granule) : (Datum) 0;
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
							5, types, values, granule ? NULL : "    n");
}

/* dp_catalog_write_keys: the same for keys; `other` may be NULL. */
void
dp_catalog_write_keys(Oid relid, const NameData *name, ArrayType *keys,
					  const char *other, bool nulls)
{
	Oid			types[5] = {OIDOID, NAMEOID, TEXTARRAYOID, TEXTOID, BOOLOID};
	Datum		values[5];

	values[0] = ObjectIdGetDatum(relid);
	values[1] = NameGetDatum(name);
	values[2] = PointerGetDatum(keys);
	values[3] = other ? CStringGetTextDatum(other) : (Datum) 0;
	values[4] = BoolGetDatum(nulls);
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
							5, types, values, other ? NULL : "   n ");
}

/*
 * dp_catalog_write_partition
 *	  Write partition and guard of a column; 0 and 0: it is not immutable.
 */
void
dp_catalog_write_partition(Oid relid, const NameData *name, int64 partition,
						   int64 guard, bool public_sizes)
{
	Oid			types[5] = {OIDOID, NAMEOID, INT8OID, INT8OID, BOOLOID};
	Datum		values[5];

	values[0] = ObjectIdGetDatum(relid);
	values[1] = NameGetDatum(name);
	values[2] = Int64GetDatum(partition);
	values[3] = Int64GetDatum(guard);
	values[4] = BoolGetDatum(public_sizes);
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
							5, types, values,
							partition == 0 ? "  nnn" : NULL);
}

/*
 * dp_catalog_forget_partitions: no column of the relation remains immutable.
 */
void
dp_catalog_forget_partitions(Oid relid)
{
	Oid			type = OIDOID;
	Datum		value = ObjectIdGetDatum(relid);

	dp_catalog_run_as_owner("UPDATE dp_pg.attribute SET partition = NULL,"
							" guard = NULL, public_sizes = NULL"
							" WHERE relid = $1 AND partition IS NOT NULL",
							1, &type, &value, NULL);
}

/* ----------------
 *		Rows of dp_pg.relation: what is protected.
 *
 * Planning reads them for any user and in any transaction, so they are fetched
 * under a catalog snapshot, without SPI, rights or settings.  They are written
 * by SQL, because triggers and constraints keep them consistent.
 * ----------------
 */

static const dp_table relations = {"relation", RELATION_END - 1};

static void
fetch_relation(const dp_values *row, dp_relation_row *out)
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
	out->unit_more = get_unit_more(row);
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
		fetch_relation(&row, out);
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
		fetch_relation(&row, &relation);
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
