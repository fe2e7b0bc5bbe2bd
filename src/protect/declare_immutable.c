/*
 * declare_immutable.c
 *	  Partition columns: values that no row ever changes.
 *
 * Queries about the rows of one part cost the units of other parts nothing, as
 * long as no unit moves between parts (doc/theory.md T50).  The owner promises
 * that; a trigger enforces it on UPDATE, replicated changes included.  Only
 * plain tables are allowed: for triggers, a row that UPDATE moves between
 * partitions is deleted and inserted, and inheritance children have triggers
 * of their own.  Values of the allowed types are equal exactly if their texts
 * are, so the ledger can compare parts by text.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/primnodes.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "../base/dp_base.h"
#include "../catalog/dp_catalog.h"
#include "../catalog/dp_names.h"
#include "dp_protect.h"
#include "protect_internal.h"

static bool
is_partition_type(Oid type)
{
	switch (type)
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case DATEOID:
		case TEXTOID:
		case VARCHAROID:
		case UUIDOID:
			return true;
		default:
			return false;
	}
}

/* A table without parents, partitions or children. */
static bool
is_plain_table(Oid relid)
{
	Relation	rel = relation_open(relid, AccessShareLock);
	bool		plain = rel->rd_rel->relkind == RELKIND_RELATION &&
	!rel->rd_rel->relispartition &&
	find_inheritance_children(relid, NoLock) == NIL &&
	!has_superclass(relid);

	relation_close(rel, AccessShareLock);
	return plain;
}

/*
 * A generated column changes with what it is computed from, and with its
 * expression, for which no trigger fires.
 */
static bool
is_generated(Oid relid, AttrNumber attnum)
{
	HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid),
										Int16GetDatum(attnum));
	bool		generated = true;

	if (HeapTupleIsValid(tuple))
	{
		generated = ((Form_pg_attribute) GETSTRUCT(tuple))->attgenerated != 0;
		ReleaseSysCache(tuple);
	}
	return generated;
}

static void
immutable_check_column(const dp_target *column)
{
	if (!is_plain_table(column->relid))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("columns of \"%s\" cannot be declared immutable",
						get_rel_name(column->relid)),
				 errdetail("It has, or is one of, partitions or inheritance "
						   "children, between which rows can move unseen by "
						   "triggers."),
				 errhint("Use a plain table.")));
	if (is_generated(column->relid, column->attnum))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("generated column \"%s\" cannot be declared immutable",
						NameStr(column->name)),
				 errdetail("A change of its expression could move all rows "
						   "unseen by triggers."),
				 errhint("Store the value in a column of its own.")));
	if (!is_partition_type(column->type))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("column \"%s\" cannot divide a relation into parts",
						NameStr(column->name)),
				 errdetail("It has type %s, whose equal values can have "
						   "different texts.", format_type_be(column->type)),
				 errhint("Use a column of type boolean, smallint, integer, "
						 "bigint, date, text, varchar or uuid.")));
	if (OidIsValid(column->collation) &&
		!get_collation_isdeterministic(column->collation))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("column \"%s\" cannot divide a relation into parts",
						NameStr(column->name)),
				 errdetail("Its collation is not deterministic."),
				 errhint("Give the column a deterministic collation.")));
}

/* Named by a number that a dump preserves, unlike column numbers. */
static char *
trigger_name(int64 guard)
{
	return psprintf("dp_pg_immutable_" INT64_FORMAT, guard);
}

static Oid
trigger_function(void)
{
	return dp_catalog_function("refuse_change", 0, NULL);
}

/* Whether the node is this column of OLD or NEW. */
static bool
is_value_of(Node *node, int row, AttrNumber attnum)
{
	while (node != NULL && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	return node != NULL && IsA(node, Var) && ((Var *) node)->varno == row &&
		((Var *) node)->varattno == attnum;
}

/* Whether the condition is true whenever the column changes. */
static bool
covers_change(Node *condition, AttrNumber attnum)
{
	ListCell   *lc;

	if (is_orclause(condition))
	{
		foreach(lc, ((BoolExpr *) condition)->args)
			if (covers_change(lfirst(lc), attnum))
				return true;
		return false;
	}
	if (condition == NULL || !IsA(condition, DistinctExpr) ||
		((DistinctExpr *) condition)->opno >= FirstNormalObjectId)
		return false;
	return is_value_of(linitial(((DistinctExpr *) condition)->args),
					   PRS2_OLD_VARNO, attnum) &&
		is_value_of(lsecond(((DistinctExpr *) condition)->args),
					PRS2_NEW_VARNO, attnum);
}

/*
 * Whether the trigger refuses every change of the column and of the unit
 * column.
 */
static bool
is_guard(Relation triggers, HeapTuple tuple, Oid relid, AttrNumber attnum)
{
	Form_pg_trigger form = (Form_pg_trigger) GETSTRUCT(tuple);
	const char *unit = dp_protect_declared_unit(relid);
	Datum		stored;
	Node	   *condition;
	bool		isnull;

	if (form->tgfoid != trigger_function() || form->tgenabled != 'A' ||
		!TRIGGER_FOR_ROW(form->tgtype) || !TRIGGER_FOR_AFTER(form->tgtype) ||
		!TRIGGER_FOR_UPDATE(form->tgtype) || form->tgattr.dim1 != 0)
		return false;
	stored = heap_getattr(tuple, Anum_pg_trigger_tgqual,
						  RelationGetDescr(triggers), &isnull);
	if (isnull)
		return true;
	condition = stringToNode(TextDatumGetCString(stored));
	return covers_change(condition, attnum) &&
		(unit == NULL || covers_change(condition, get_attnum(relid, unit)));
}

static bool
has_trigger(Oid relid, AttrNumber attnum, int64 guard, Snapshot snapshot)
{
	Relation	rel = table_open(TriggerRelationId, AccessShareLock);
	char	   *name = trigger_name(guard);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		found = false;

	ScanKeyInit(&key, Anum_pg_trigger_tgrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(rel, TriggerRelidNameIndexId, true, NULL, 1,
							  &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_trigger form = (Form_pg_trigger) GETSTRUCT(tuple);

		if (strcmp(NameStr(form->tgname), name) == 0 &&
			is_guard(rel, tuple, relid, attnum) &&
			dp_catalog_visible_to(tuple, snapshot))
			found = true;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return found;
}

/*
 * dp_protect_declare_is_guarded
 *	  See dp_protect.h.  A snapshot older than the trigger may see rows as they
 *	  were before they were moved.
 */
bool
dp_protect_declare_is_guarded(Oid relid, AttrNumber attnum, Snapshot snapshot)
{
	dp_attribute *declared = dp_protect_attribute(relid, attnum);

	return declared != NULL && declared->guard != 0 &&
		is_plain_table(relid) && !is_generated(relid, attnum) &&
		has_trigger(relid, attnum, declared->guard, snapshot);
}

/* Run DDL as the caller, who owns the table; `command` qualifies all names. */
static void
run_ddl(const char *command)
{
	int			nest = NewGUCNestLevel();

	dp_base_set_local("search_path", "pg_catalog, pg_temp");
	dp_base_set_local("client_min_messages", "error");
	if (SPI_connect() != SPI_OK_CONNECT || SPI_execute(command, false, 0) < 0)
		elog(ERROR, "could not run: %s", command);
	SPI_finish();
	AtEOXact_GUC(true, nest);
}

/*
 * A unit behind a key changes with rows of other relations, for which no
 * trigger of this one fires.
 */
static void
check_unit_stays(Oid relid)
{
	dp_relation_row row;

	if (!dp_catalog_find_relation(relid, &row) ||
		!OidIsValid(row.unit_through))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("columns of relation \"%s\" cannot be immutable",
					get_rel_name(relid)),
			 errdetail("Its unit is behind a key (%s), so its rows can get "
					   "another unit without being changed.",
					   dp_protect_unit_text(&row)),
			 errhint("Add a column with the unit to the relation.")));
}

static void
create_trigger(const dp_target *column, int64 guard)
{
	const char *table = dp_protect_qualified_name(column->relid);
	const char *name = quote_identifier(NameStr(column->name));
	char	   *unit = dp_protect_declared_unit(column->relid);
	char	   *trigger = trigger_name(guard);
	StringInfoData moves;

	initStringInfo(&moves);
	appendStringInfo(&moves, "OLD.%s IS DISTINCT FROM NEW.%s", name, name);
	if (unit != NULL)
		appendStringInfo(&moves, " OR OLD.%s IS DISTINCT FROM NEW.%s",
						 quote_identifier(unit), quote_identifier(unit));
	run_ddl(psprintf("CREATE TRIGGER %s AFTER UPDATE ON %s FOR EACH ROW"
					 " WHEN (%s) EXECUTE FUNCTION dp_pg.refuse_change()",
					 trigger, table, moves.data));
	run_ddl(psprintf("ALTER TABLE %s ENABLE ALWAYS TRIGGER %s", table,
					 trigger));
}

static void
drop_trigger(Oid relid, int64 guard)
{
	run_ddl(psprintf("DROP TRIGGER IF EXISTS %s ON %s", trigger_name(guard),
					 dp_protect_qualified_name(relid)));
}

/*
 * dp_protect_declare_forget_partitions
 *	  No column of the relation is immutable any more: it is no longer
 *	  protected, its rows belong to other units now, or it is a partition.
 *	  False: none was.
 */
bool
dp_protect_declare_forget_partitions(Oid relid)
{
	Bitmapset  *columns = dp_protect_attribute_partitions(relid);
	int			attnum = -1;

	if (columns == NULL)
		return false;
	while ((attnum = bms_next_member(columns, attnum)) >= 0)
	{
		dp_attribute *declared = dp_protect_attribute(relid, attnum);

		if (declared != NULL && declared->guard != 0)
			drop_trigger(relid, declared->guard);
	}
	dp_catalog_forget_partitions(relid);
	dp_protect_invalidate_tree(relid);
	return true;
}

/* Both numbers, or 0 and 0 for a column that is not immutable. */
static void
write_partition(const dp_target *column, int64 partition, int64 guard,
				bool public_sizes)
{
	dp_catalog_write_partition(column->relid, &column->name, partition, guard,
							   public_sizes);
	dp_protect_invalidate_tree(column->relid);
	dp_protect_comment(column->relid);
}

static void
declare_not_immutable(const dp_target *column, bool public_sizes)
{
	if (public_sizes)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("only an immutable column has parts with public "
						"sizes"),
				 errhint("Declare immutable => true as well.")));
	write_partition(column, 0, 0, false);
}

/* Anew: rows may have moved before, so this is another partition. */
static void
declare_immutable(const dp_target *column, bool public_sizes)
{
	int64		partition;

	check_unit_stays(column->relid);
	partition = dp_catalog_new_partition();
	create_trigger(column, partition);
	write_partition(column, partition, partition, public_sizes);
}

PG_FUNCTION_INFO_V1(dp_declare_immutable);

/*
 * dp_declare_immutable
 *	  SQL: dp_declare(relation regclass, attribute name, immutable boolean,
 *	  public_sizes boolean) returns void; NULL public_sizes: as it was.
 *
 * Errors: 42501, 42703, 42704 (not protected), 25006; 22023 for NULL and for
 * a column that cannot divide a relation, or public sizes without parts; 0A000
 * where the relation is followed.
 */
Datum
dp_declare_immutable(PG_FUNCTION_ARGS)
{
	dp_target	column;
	dp_attribute *declared;
	bool		immutable;
	bool		public_sizes;

	dp_protect_declare_read_column(fcinfo, &column);
	dp_protect_declare_require_value(PG_ARGISNULL(2), "immutable");
	immutable = PG_GETARG_BOOL(2);
	if (immutable)
		immutable_check_column(&column);
	if (immutable && dp_catalog_is_followed(column.relid))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("columns of followed relation \"%s\" cannot be "
						"immutable", get_rel_name(column.relid)),
				 errdetail("A table that is built anew may move people "
						   "between the parts, which are charged as "
						   "statements about different people."),
				 errhint("Call dp_unfollow('%s') first.",
						 dp_protect_qualified_name(column.relid))));
	declared = dp_protect_attribute(column.relid, column.attnum);
	public_sizes = PG_ARGISNULL(3) ?
		immutable && declared != NULL && declared->public_sizes :
		PG_GETARG_BOOL(3);
	if (immutable && declared != NULL && declared->partition != 0 &&
		has_trigger(column.relid, column.attnum, declared->guard, NULL))
	{
		write_partition(&column, declared->partition, declared->guard,
						public_sizes);
		PG_RETURN_VOID();
	}
	if (declared != NULL && declared->guard != 0)
		drop_trigger(column.relid, declared->guard);
	if (immutable)
		declare_immutable(&column, public_sizes);
	else
		declare_not_immutable(&column, public_sizes);
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(dp_declare_refuse_change);

/* dp_declare_refuse_change: the trigger's function; raises 55000. */
Datum
dp_declare_refuse_change(PG_FUNCTION_ARGS)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("a column that was declared immutable cannot be changed"),
			 errdetail("Statements about its values were charged as "
					   "statements about different people."),
			 errhint("Call dp_declare(relation, attribute, "
					 "immutable => false) first.")));
	PG_RETURN_NULL();
}
