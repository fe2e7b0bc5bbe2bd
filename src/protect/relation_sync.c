/*
 * relation_sync.c
 *	  Triggers that keep dp_pg.relation, dp_pg.attribute and dp_pg.hardened
 *	  consistent with the system catalogs; dp_pg.hardened has the first columns
 *	  of dp_pg.attribute.
 *
 * Two event triggers and a row trigger, all ENABLE ALWAYS.  The event triggers
 * run for every role's DDL, so they first check, by catalog scans that need no
 * privilege and cannot fail, whether anything must change; only then do they
 * write, as the owner of the extension.  They take no input from the command.
 *
 * The row trigger fills relid_origin and the column number of a row that
 * dp_protect, dp_declare, dp_harden or a restore inserts.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_type.h"
#include "commands/event_trigger.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "../base/dp_base.h"
#include "../catalog/dp_catalog.h"
#include "../catalog/dp_table.h"
#include "protect_internal.h"

/* ----------------
 *		What rows of dp_pg.relation, dp_pg.attribute and dp_pg.hardened have in
 *		common: they name a column of a relation.
 *
 * A row also has the OID of its relation when it was written (relid_origin)
 * and the column's number.
 * ----------------
 */

/* The first of dp_pg.attribute and dp_pg.hardened. */
#define DP_ROW dp_relation_row
static const dp_column declared_columns[] = {
	DP_COL_OR_NULL("relid", VALUE, relid, 0),
	DP_COL_OR_NULL("relid_origin", VALUE, origin, 0),
	DP_COL_IF("attname", BYTES, unit, 0, has_unit),
	DP_COL_OR_NULL("attnum", VALUE, unit_attnum, 0)
};
#undef DP_ROW

static const dp_table declared_attributes =
DP_TABLE("attribute", dp_relation_row, declared_columns);
static const dp_table declared_hardened =
DP_TABLE("hardened", dp_relation_row, declared_columns);
static const dp_table *const declared_tables[] = {
	&dp_catalog_relations, &declared_attributes, &declared_hardened
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

/*
 * read_declared
 *	  Read a row for which a trigger of one of the tables was called; a relid
 *	  of NULL is InvalidOid.
 */
static void
read_declared(Relation rel, HeapTuple tuple, dp_relation_row *out)
{
	bool		is_unit = strcmp(RelationGetRelationName(rel),
								 dp_catalog_relations.name) == 0;

	dp_catalog_read_row(is_unit ? &dp_catalog_relations :
						&declared_attributes, rel, tuple, out);
	out->is_unit = is_unit;
	dp_catalog_read_more(out);
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
 * place_declared
 *	  A copy of the tuple with relid_origin and the column numbers from *row; a
 *	  number is NULL if the row names no such column.
 */
static HeapTuple
place_declared(Relation rel, HeapTuple tuple, const dp_relation_row *row)
{
	const char *const names[5] = {"relid_origin", row->is_unit ?
		"unit_attnum" : "attnum", "unit_key_attnum", "unit_more_attnums",
	"unit_key_more_attnums"};
	int			columns[5];
	Datum		values[5];
	bool		nulls[5] = {false, !row->has_unit,
		!OidIsValid(row->unit_through), row->unit_more == NIL,
	row->unit_more == NIL};
	int			i;

	for (i = 0; i < (row->is_unit ? 5 : 2); i++)
		columns[i] = dp_catalog_column(row->is_unit ? &dp_catalog_relations :
									   &declared_attributes, names[i]);
	values[0] = ObjectIdGetDatum(row->origin);
	values[1] = Int16GetDatum(row->unit_attnum);
	values[2] = Int16GetDatum(row->unit_key_attnum);
	values[3] = relation_numbers_of(row->unit_more, false);
	values[4] = relation_numbers_of(row->unit_more, true);
	return heap_modify_tuple_by_cols(tuple, RelationGetDescr(rel),
									 row->is_unit ? 5 : 2, columns, values,
									 nulls);
}

static void
run_all(const char *const *commands)
{
	dp_owner_sql saved;

	dp_base_owner_begin(&saved);
	for (; *commands; commands++)
		(void) dp_catalog_run(*commands, NULL, 0);
	dp_base_owner_end(&saved);
}

/* Which disagreements a scan looks for. */
typedef enum dp_disagreement
{
	DP_NAMES_MOVED,
	DP_OBJECTS_GONE
} dp_disagreement;

/* Whether column attnum of relid exists, and its name. */
static bool
live_column(Oid relid, AttrNumber attnum, NameData *name)
{
	HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid),
										Int16GetDatum(attnum));
	bool		alive = false;

	if (HeapTupleIsValid(tuple))
	{
		Form_pg_attribute form = (Form_pg_attribute) GETSTRUCT(tuple);

		alive = !form->attisdropped;
		*name = form->attname;
		ReleaseSysCache(tuple);
	}
	return alive;
}

static bool
relation_exists(Oid relid)
{
	return SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid));
}

/* Whether the column was renamed. */
static bool
was_renamed(Oid relid, AttrNumber attnum, const NameData *name)
{
	NameData	current;

	return live_column(relid, attnum, &current) &&
		strcmp(NameStr(current), NameStr(*name)) != 0;
}

/*
 * Whether a row disagrees with the system catalogs.  A row without a column
 * name is about a relation whose rows are units, or about the whole relation.
 */
static bool
column_disagrees(const dp_relation_row *row, dp_disagreement what)
{
	NameData	current;
	ListCell   *lc;

	if (what == DP_OBJECTS_GONE)
		return !relation_exists(row->relid) ||
			(!row->is_unit && row->has_unit && row->relid == row->origin &&
			 !live_column(row->relid, row->unit_attnum, &current));
	if (row->relid != row->origin)
		return relation_exists(row->relid);
	foreach(lc, row->unit_more)
	{
		const dp_unit_column *column = lfirst(lc);

		if (was_renamed(row->relid, column->from_attnum, &column->from) ||
			was_renamed(row->unit_through, column->key_attnum, &column->key))
			return true;
	}
	return (row->has_unit && was_renamed(row->relid, row->unit_attnum,
										 &row->unit)) ||
		(OidIsValid(row->unit_through) &&
		 was_renamed(row->unit_through, row->unit_key_attnum, &row->unit_key));
}

static bool
row_disagrees(const dp_relation_row *row, dp_disagreement what)
{
	return column_disagrees(row, what) ||
		(what == DP_OBJECTS_GONE &&
		 ((OidIsValid(row->published) && !relation_exists(row->published)) ||
		  (OidIsValid(row->twin) && !relation_exists(row->twin))));
}

/* Whether any row of the three tables disagrees with the catalogs. */
static bool
catalog_disagrees(dp_disagreement what)
{
	bool		found = false;
	int			i;

	for (i = 0; i < lengthof(declared_tables) && !found; i++)
	{
		dp_relation_row row;
		dp_scan		scan;

		dp_catalog_start_rows(&scan, declared_tables[i], NULL, 0);
		while (!found && dp_catalog_next_row(&scan, &row))
		{
			row.is_unit = i == 0;
			dp_catalog_read_more(&row);
			found = row_disagrees(&row, what);
		}
		dp_catalog_end_rows(&scan);
	}
	return found;
}

static void
require_event_trigger(FunctionCallInfo fcinfo)
{
	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function must be called by an event trigger")));
}

PG_FUNCTION_INFO_V1(dp_relation_follow_names);

/*
 * dp_relation_follow_names
 *	  Event trigger on ddl_command_end of the ALTER commands that can rename a
 *	  column.
 */
Datum
dp_relation_follow_names(PG_FUNCTION_ARGS)
{
	require_event_trigger(fcinfo);
	if (catalog_disagrees(DP_NAMES_MOVED))
		run_all(follow_names);
	PG_RETURN_NULL();
}

PG_FUNCTION_INFO_V1(dp_relation_forget_dropped);

/*
 * dp_relation_forget_dropped
 *	  Event trigger on sql_drop.
 */
Datum
dp_relation_forget_dropped(PG_FUNCTION_ARGS)
{
	require_event_trigger(fcinfo);
	dp_protect_keep_dropped();
	if (catalog_disagrees(DP_OBJECTS_GONE))
		run_all(forget_dropped);
	PG_RETURN_NULL();
}

PG_FUNCTION_INFO_V1(dp_relation_fill_origin);

/*
 * dp_relation_fill_origin
 *	  BEFORE INSERT row trigger of the tables: relid_origin and the numbers of
 *	  columns are what they are now.  A row whose relation does not exist is
 *	  skipped with a warning; a column that does not exist gets number 0, which
 *	  no lookup accepts.  A twin is tied to its relation again.
 */
Datum
dp_relation_fill_origin(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	dp_relation_row row;
	ListCell   *lc;

	if (!CALLED_AS_TRIGGER(fcinfo) ||
		!TRIGGER_FIRED_BEFORE(trigger->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(trigger->tg_event) ||
		!TRIGGER_FIRED_BY_INSERT(trigger->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function must be called by a trigger before "
						"insert")));
	read_declared(trigger->tg_relation, trigger->tg_trigtuple, &row);
	if (!relation_exists(row.relid))
	{
		ereport(WARNING,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("a row of \"%s\" about a relation that does not exist "
						"was skipped",
						RelationGetRelationName(trigger->tg_relation))));
		return PointerGetDatum(NULL);
	}
	if (OidIsValid(row.twin) && relation_exists(row.twin))
		dp_protect_tie_twin(row.relid, row.twin);
	row.origin = row.relid;
	row.unit_attnum = row.has_unit ? get_attnum(row.relid,
												NameStr(row.unit)) : 0;
	row.unit_key_attnum = OidIsValid(row.unit_through) ?
		get_attnum(row.unit_through, NameStr(row.unit_key)) : 0;
	foreach(lc, row.unit_more)
	{
		dp_unit_column *column = lfirst(lc);

		column->from_attnum = get_attnum(row.relid, NameStr(column->from));
		column->key_attnum = get_attnum(row.unit_through,
										NameStr(column->key));
	}
	return PointerGetDatum(place_declared(trigger->tg_relation,
										  trigger->tg_trigtuple, &row));
}
