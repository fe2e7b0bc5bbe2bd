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
#include "commands/event_trigger.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "relation_internal.h"

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
	return (row->has_unit && was_renamed(row->relid, row->unit_attnum, &row->unit)) ||
		(OidIsValid(row->unit_through) &&
		 was_renamed(row->unit_through, row->unit_key_attnum, &row->unit_key));
}

/* dp_declared_test */
static bool
row_disagrees(const dp_relation_row *row, const void *context)
{
	dp_disagreement what = *(const dp_disagreement *) context;

	return column_disagrees(row, what) ||
		(what == DP_OBJECTS_GONE &&
		 ((OidIsValid(row->published) && !relation_exists(row->published)) ||
		  (OidIsValid(row->twin) && !relation_exists(row->twin))));
}

static bool
catalog_disagrees(dp_disagreement what)
{
	return dp_catalog_any_declared(row_disagrees, &what);
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
		dp_catalog_follow_names();
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
		dp_catalog_forget_dropped();
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
	dp_catalog_read_declared(trigger->tg_relation, trigger->tg_trigtuple,
							 &row);
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
	row.unit_attnum = row.has_unit ? get_attnum(row.relid, NameStr(row.unit)) : 0;
	row.unit_key_attnum = OidIsValid(row.unit_through) ?
		get_attnum(row.unit_through, NameStr(row.unit_key)) : 0;
	foreach(lc, row.unit_more)
	{
		dp_unit_column *column = lfirst(lc);

		column->from_attnum = get_attnum(row.relid, NameStr(column->from));
		column->key_attnum = get_attnum(row.unit_through, NameStr(column->key));
	}
	return PointerGetDatum(dp_catalog_place_declared(trigger->tg_relation,
													 trigger->tg_trigtuple,
													 &row));
}
