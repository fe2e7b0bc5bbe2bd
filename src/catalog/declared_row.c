/*
 * declared_row.c
 *	  What rows of dp_pg.relation, dp_pg.attribute and dp_pg.hardened have in
 *	  common: they name a column of a relation.
 *
 * A row also has the OID of its relation when it was written (relid_origin)
 * and the column's number.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/rel.h"

#include "declared_row.h"
#include "table_access.h"

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
read_array(const dp_values *row, int column, Oid type, Datum **elements)
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
 * dp_catalog_get_unit_more
 *	  The further columns of unit and key in a row of dp_pg.relation.
 */
List *
dp_catalog_get_unit_more(const dp_values *row)
{
	Datum	   *from;
	Datum	   *from_attnums;
	Datum	   *key;
	Datum	   *key_attnums;
	int			n = read_array(row, RELATION_UNIT_MORE, NAMEOID, &from);
	int			keys = read_array(row, RELATION_UNIT_KEY_MORE, NAMEOID, &key);
	int			numbers = read_array(row, RELATION_UNIT_MORE_ATTNUMS, INT2OID,
									 &from_attnums);
	int			key_numbers = read_array(row, RELATION_UNIT_KEY_MORE_ATTNUMS,
										 INT2OID, &key_attnums);
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
	out->more = dp_catalog_get_unit_more(row);
}

static void
fetch(const dp_values *row, bool is_unit, dp_declared_row *out)
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
		fetch(&row, table == &tables[0], &declared);
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
	fetch(&row, is_unit, out);
}

/* Numbers of the further columns of the unit, or of the key: int2[]. */
static Datum
numbers_of(const List *more, bool key)
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
	values[3] = numbers_of(row->more, false);
	values[4] = numbers_of(row->more, true);
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
