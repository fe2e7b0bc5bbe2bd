/*
 * heritage.c
 *	  What a relation takes over from another: the next table of its name
 *	  (dp_pg.relation_name), or a detached partition.
 *
 * dp_pg.keep and dp_pg.unlike (sql/36_follow.sql) decide what is taken over,
 * and what a table lacks for it.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/builtins.h"

#include "dp_names.h"
#include "table_access.h"

static char *
copy_text(MemoryContext context, int column)
{
	return MemoryContextStrdup(context,
							   TextDatumGetCString(dp_catalog_result(0,
																	 column)));
}

static int64
get_number(int column)
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
	Oid			types[3] = {NAMEOID, NAMEOID, OIDOID};
	Datum		values[3];
	dp_heritage *out = NULL;
	dp_owner_sql saved;

	values[0] = NameGetDatum(&row->schema);
	values[1] = NameGetDatum(&row->name);
	values[2] = ObjectIdGetDatum(relid);
	dp_bridge_owner_begin(&saved);
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
					   " coalesce(p.max_keys, 0), p.commented,"
					   " (h.kept->>'relid')::oid"
					   " FROM dp_pg.heritage($1, $2) AS h (kept)"
					   " CROSS JOIN LATERAL jsonb_populate_record("
					   "NULL::dp_pg.relation, h.kept->'relation') AS p"
					   " WHERE h.kept IS NOT NULL",
					   3, types, values, NULL) == 1)
	{
		out = MemoryContextAllocZero(context, sizeof(dp_heritage));
		out->dataset = copy_text(context, 1);
		out->unit = copy_text(context, 2);
		out->key = copy_text(context, 3);
		out->through = copy_text(context, 4);
		out->view_schema = copy_text(context, 5);
		out->view = copy_text(context, 6);
		out->lacking = copy_text(context, 7);
		out->rows = get_number(8);
		out->max_rows = get_number(9);
		out->max_keys = get_number(10);
		out->commented = DatumGetBool(dp_catalog_result(0, 11));
		out->relid = DatumGetObjectId(dp_catalog_result(0, 12));
	}
	dp_bridge_owner_end(&saved);
	return out;
}

/* dp_catalog_list_kept: columns (char *) of the dropped view. */
List *
dp_catalog_list_kept(const dp_name_row *row)
{
	MemoryContext context = CurrentMemoryContext;
	Oid			types[2] = {NAMEOID, NAMEOID};
	Datum		values[2];
	dp_owner_sql saved;
	List	   *result = NIL;
	uint64		n;
	uint64		i;

	values[0] = NameGetDatum(&row->schema);
	values[1] = NameGetDatum(&row->name);
	dp_bridge_owner_begin(&saved);
	n = dp_catalog_run("SELECT c.name FROM dp_pg.heritage($1, $2) AS h (kept)"
					   " CROSS JOIN LATERAL jsonb_array_elements_text("
					   "h.kept->'columns') WITH ORDINALITY AS c (name, place)"
					   " ORDER BY c.place", 2, types, values, NULL);
	for (i = 0; i < n; i++)
	{
		char	   *name = TextDatumGetCString(dp_catalog_result(i, 1));
		MemoryContext before = MemoryContextSwitchTo(context);

		result = lappend(result, pstrdup(name));
		MemoryContextSwitchTo(before);
	}
	dp_bridge_owner_end(&saved);
	return result;
}

/*
 * dp_catalog_write_heirs
 *	  Write the column declarations kept under a name for the relation that has
 *	  it now, and make it the referenced relation of those whose unit was
 *	  behind its predecessor.
 */
void
dp_catalog_write_heirs(const dp_name_row *row, Oid relid)
{
	Oid			types[3] = {NAMEOID, NAMEOID, OIDOID};
	Datum		values[3];
	dp_owner_sql saved;

	values[0] = NameGetDatum(&row->schema);
	values[1] = NameGetDatum(&row->name);
	values[2] = ObjectIdGetDatum(relid);
	dp_bridge_owner_begin(&saved);
	(void) dp_catalog_run("INSERT INTO dp_pg.attribute (relid, relid_origin,"
						  " attname, attnum, lower, upper, granule, keys,"
						  " other, nulls) SELECT $3, $3, p.attname, 0,"
						  " p.lower, p.upper, p.granule, p.keys, p.other,"
						  " p.nulls FROM dp_pg.heritage($1, $2) AS h (kept)"
						  " CROSS JOIN LATERAL jsonb_array_elements("
						  "h.kept->'attributes') AS x (declared)"
						  " CROSS JOIN LATERAL jsonb_populate_record("
						  "NULL::dp_pg.attribute, x.declared) AS p"
						  " ON CONFLICT DO NOTHING", 3, types, values, NULL);
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
						  3, types, values, NULL);
	dp_bridge_owner_end(&saved);
}

/* dp_catalog_write_published: the view now shows this relation. */
void
dp_catalog_write_published(Oid relid, Oid view)
{
	Oid			types[2] = {OIDOID, OIDOID};
	Datum		values[2];

	values[0] = ObjectIdGetDatum(relid);
	values[1] = ObjectIdGetDatum(view);
	dp_catalog_run_as_owner("UPDATE dp_pg.relation SET published ="
							" CASE WHEN relid = $1 THEN $2 END"
							" WHERE relid = $1 OR published = $2",
							2, types, values, NULL);
}

/*
 * dp_catalog_write_detached
 *	  Give a detached partition the declarations of its former root, except for
 *	  the number of rows.
 */
void
dp_catalog_write_detached(Oid part, Oid root)
{
	Oid			types[2] = {OIDOID, OIDOID};
	Datum		values[2];
	dp_owner_sql saved;

	values[0] = ObjectIdGetDatum(part);
	values[1] = ObjectIdGetDatum(root);
	dp_bridge_owner_begin(&saved);
	(void) dp_catalog_run("INSERT INTO dp_pg.relation (relid, relid_origin,"
						  " dataset, unit, unit_more, unit_through, unit_key,"
						  " unit_key_more, max_rows, max_keys, commented)"
						  " SELECT $1, $1, dataset, unit, unit_more,"
						  " unit_through, unit_key, unit_key_more, max_rows,"
						  " max_keys, commented FROM dp_pg.relation"
						  " WHERE relid = $2",
						  2, types, values, NULL);
	(void) dp_catalog_run("INSERT INTO dp_pg.attribute (relid, relid_origin,"
						  " attname, attnum, lower, upper, granule, keys,"
						  " other, nulls) SELECT $1, $1, attname, 0, lower,"
						  " upper, granule, keys, other, nulls"
						  " FROM dp_pg.attribute WHERE relid = $2",
						  2, types, values, NULL);
	dp_bridge_owner_end(&saved);
}
