/*
 * relation_sync.c
 *	  Triggers that keep dp_pg.relation, dp_pg.attribute and dp_pg.hardened
 *	  true; the latter has the first columns of dp_pg.attribute.
 *
 * Two event triggers and a row trigger, all ENABLE ALWAYS.  The event triggers
 * run for everybody's DDL, so they first look, by catalog scans that need no
 * privilege and cannot fail, whether anything must change; only then do they
 * write, as the owner of the extension.  They take no input from the command.
 *
 * The row trigger fills relid_origin and the column number when a row is
 * inserted, by dp_protect, dp_declare and dp_harden or by a restore.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_attribute.h"
#include "commands/event_trigger.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "relation_internal.h"

/*
 * Names that moved follow their columns; rows that came in by a restore, and
 * so carry a foreign relid_origin, are matched by name and adopted.
 */
static const char *const follow_names[] =
{
	"UPDATE dp_pg.relation AS d"
	" SET unit = a.attname"
	" FROM pg_catalog.pg_attribute AS a"
	" WHERE d.relid::pg_catalog.oid = d.relid_origin AND a.attrelid = d.relid"
	" AND a.attnum = d.unit_attnum AND NOT a.attisdropped"
	" AND a.attname <> d.unit",
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
 * Rows of what no longer exists.  The row of a relation whose unit column was
 * dropped stays: it stops private queries with a clear error.
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
	NULL
};

/* Which disagreements a scan looks for. */
typedef enum dp_disagreement
{
	DP_NAMES_MOVED,
	DP_OBJECTS_GONE
} dp_disagreement;

static void
run_as_owner(const char *const *commands)
{
	dp_owner_sql saved;

	dp_bridge_owner_begin(&saved);
	for (; *commands; commands++)
		if (SPI_execute(*commands, false, 0) < 0)
			elog(ERROR, "SPI_execute failed: %s", *commands);
	dp_bridge_owner_end(&saved);
}

/* Is column attnum of relid alive, and under which name? */
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

/*
 * Does a row disagree with the system catalogs?  name and attnum describe its
 * column; name is NULL for a relation whose rows are units, or where the whole
 * relation is meant.
 */
static bool
column_disagrees(Oid relid, Oid origin, Name name, AttrNumber attnum,
				 bool is_unit, dp_disagreement what)
{
	NameData	current;

	if (what == DP_OBJECTS_GONE)
		return !relation_exists(relid) ||
			(!is_unit && name != NULL && relid == origin &&
			 !live_column(relid, attnum, &current));
	if (relid != origin)
		return relation_exists(relid);
	return name != NULL && live_column(relid, attnum, &current) &&
		strcmp(NameStr(current), NameStr(*name)) != 0;
}

static bool
row_disagrees(HeapTuple tuple, TupleDesc desc, bool is_unit,
			  dp_disagreement what)
{
	bool		isnull;
	bool		name_null;
	Oid			relid;
	Oid			origin;
	Datum		name;
	AttrNumber	attnum;

	relid = DatumGetObjectId(heap_getattr(tuple, ANUM_RELATION_RELID, desc,
										  &isnull));
	origin = DatumGetObjectId(heap_getattr(tuple, ANUM_RELATION_ORIGIN, desc,
										   &isnull));
	name = heap_getattr(tuple,
						is_unit ? ANUM_RELATION_UNIT : ANUM_ATTRIBUTE_NAME,
						desc, &name_null);
	attnum = DatumGetInt16(heap_getattr(tuple,
										is_unit ? ANUM_RELATION_UNIT_ATTNUM :
										ANUM_ATTRIBUTE_ATTNUM, desc,
										&isnull));
	if (isnull)
		attnum = 0;
	if (column_disagrees(relid, origin, name_null ? NULL : DatumGetName(name),
						 attnum, is_unit, what))
		return true;
	if (is_unit && what == DP_OBJECTS_GONE)
	{
		Datum		view = heap_getattr(tuple, ANUM_RELATION_PUBLISHED, desc,
										&isnull);

		return !isnull && !relation_exists(DatumGetObjectId(view));
	}
	return false;
}

/* Does any row of dp_pg.<table> disagree?  False when it does not exist. */
static bool
table_disagrees(const char *table, bool is_unit, dp_disagreement what)
{
	Oid			relid = get_relname_relid(table,
										  dp_bridge_catalog_namespace());
	Relation	rel;
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		result = false;

	if (!OidIsValid(relid))
		return false;
	rel = table_open(relid, AccessShareLock);
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	while (!result && HeapTupleIsValid(tuple = systable_getnext(scan)))
		result = row_disagrees(tuple, RelationGetDescr(rel), is_unit, what);
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return result;
}

static bool
catalog_disagrees(dp_disagreement what)
{
	return OidIsValid(dp_bridge_extension_oid()) &&
		OidIsValid(dp_bridge_catalog_namespace()) &&
		(table_disagrees("relation", true, what) ||
		 table_disagrees("attribute", false, what) ||
		 table_disagrees("hardened", false, what));
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
		run_as_owner(follow_names);
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
	if (catalog_disagrees(DP_OBJECTS_GONE))
		run_as_owner(forget_dropped);
	PG_RETURN_NULL();
}

PG_FUNCTION_INFO_V1(dp_relation_fill_origin);

/*
 * dp_relation_fill_origin
 *	  BEFORE INSERT row trigger of the tables: relid_origin and the column
 *	  number are what they are now.  A row whose relation does not exist is
 *	  skipped with a warning; a column that does not exist gets number 0, which
 *	  no lookup accepts.
 */
Datum
dp_relation_fill_origin(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	TupleDesc	desc;
	bool		is_unit;
	bool		isnull;
	Oid			relid;
	Datum		name;
	int			columns[2];
	Datum		values[2];
	bool		nulls[2] = {false, false};

	if (!CALLED_AS_TRIGGER(fcinfo) ||
		!TRIGGER_FIRED_BEFORE(trigger->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(trigger->tg_event) ||
		!TRIGGER_FIRED_BY_INSERT(trigger->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function must be called by a trigger before "
						"insert")));
	desc = RelationGetDescr(trigger->tg_relation);
	is_unit = strcmp(RelationGetRelationName(trigger->tg_relation),
					 "relation") == 0;
	relid = DatumGetObjectId(heap_getattr(trigger->tg_trigtuple,
										  ANUM_RELATION_RELID, desc, &isnull));
	if (isnull || !relation_exists(relid))
	{
		ereport(WARNING,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("a row of \"%s\" about a relation that does not exist "
						"was skipped",
						RelationGetRelationName(trigger->tg_relation))));
		return PointerGetDatum(NULL);
	}
	name = heap_getattr(trigger->tg_trigtuple,
						is_unit ? ANUM_RELATION_UNIT : ANUM_ATTRIBUTE_NAME,
						desc, &nulls[1]);
	columns[0] = ANUM_RELATION_ORIGIN;
	values[0] = ObjectIdGetDatum(relid);
	columns[1] = is_unit ? ANUM_RELATION_UNIT_ATTNUM : ANUM_ATTRIBUTE_ATTNUM;
	values[1] = Int16GetDatum(nulls[1] ? 0 :
							  get_attnum(relid, NameStr(*DatumGetName(name))));
	return PointerGetDatum(heap_modify_tuple_by_cols(trigger->tg_trigtuple,
													 desc, 2, columns, values,
													 nulls));
}
