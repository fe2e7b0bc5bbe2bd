/*
 * attribute_row.c
 *	  Rows of dp_pg.attribute: declarations about columns.
 *
 * They are read and written like those of dp_pg.relation (relation_row.c).
 * Texts are canonical (ISO dates, shortest floats, UTC), so that their meaning
 * does not depend on the connection's settings.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "declared_row.h"
#include "table_access.h"

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
get_number(const dp_values *row, int column)
{
	return dp_catalog_is_null(row, column) ? 0 :
		dp_catalog_get_int64(row, column);
}

static dp_attribute *
fetch(const dp_values *row)
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
	out->partition = get_number(row, ATTRIBUTE_PARTITION);
	out->guard = get_number(row, ATTRIBUTE_GUARD);
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
		result = fetch(&row);
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
