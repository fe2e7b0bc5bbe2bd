/*
 * twin.c
 *	  The table of synthetic rows that stands for a protected relation where a
 *	  tool wants to see rows: dp_publish_twin.
 *
 * It has the relation's columns; those that were asked for are filled by
 * dp_synthesize, once and for its price, and the others are NULL.  So all that
 * anybody learns from it was released.  It is an ordinary table of the caller,
 * which the roles with a budget may read; transparent mode shows its rows in
 * previews (src/rewrite/synthetic_rows.c).
 *
 * All that can fail for another reason than the release comes before it.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "relation_internal.h"

/* Places of the arguments; from ARG_COLUMNS on they are dp_synthesize's. */
enum
{
	ARG_RELATION,
	ARG_PUBLISH,
	ARG_COLUMNS,
	ARG_END = 10
};

/* What the statements about a twin are made of. */
typedef struct twin_texts
{
	char	   *name;			/* qualified */
	StringInfoData columns;		/* "a, b" */
	StringInfoData list;		/* "a integer, b text" */
	StringInfoData rest;		/* "NULL::date, .." of all others, or empty */
} twin_texts;

/* ---- columns ---- */

/* 42703, unless all names are columns of the relation. */
static Bitmapset *
read_columns(Oid relid, ArrayType *array, twin_texts *texts)
{
	Bitmapset  *filled = NULL;
	Datum	   *names;
	bool	   *nulls;
	int			n;
	int			i;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &names, &nulls,
					  &n);
	for (i = 0; i < n; i++)
	{
		char	   *name = nulls[i] ? "NULL" : TextDatumGetCString(names[i]);
		AttrNumber	attnum = nulls[i] ? 0 : get_attnum(relid, name);
		Oid			type;
		Oid			collation;
		int32		typmod;

		if (attnum <= 0)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("column \"%s\" of relation \"%s\" does not exist",
							name, get_rel_name(relid)),
					 errdetail("Nothing was charged."),
					 errhint("Write columns => ARRAY['smoker', 'ward'].")));
		get_atttypetypmodcoll(relid, attnum, &type, &typmod, &collation);
		appendStringInfo(&texts->columns, "%s%s", i > 0 ? ", " : "",
						 quote_identifier(name));
		appendStringInfo(&texts->list, "%s%s %s", i > 0 ? ", " : "",
						 quote_identifier(name),
						 format_type_with_typemod(type, typmod));
		filled = bms_add_member(filled, attnum);
	}
	return filled;
}

/* NULLs of the columns that are not filled: their domains must allow it. */
static void
list_rest(Oid relid, const Bitmapset *filled, twin_texts *texts)
{
	Relation	relation = table_open(relid, NoLock);
	TupleDesc	columns = RelationGetDescr(relation);
	int			i;

	for (i = 0; i < columns->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(columns, i);

		if (!column->attisdropped && !bms_is_member(column->attnum, filled))
			appendStringInfo(&texts->rest, "%sNULL::%s",
							 texts->rest.len > 0 ? ", " : "",
							 format_type_with_typemod(column->atttypid,
													  column->atttypmod));
	}
	table_close(relation, NoLock);
}

/* ---- the table ---- */

/*
 * dp_protect_tie_twin
 *	  Whoever drops the relation drops its twin.  No dump has that.
 */
void
dp_protect_tie_twin(Oid relid, Oid twin)
{
	ObjectAddress depending;
	ObjectAddress referenced;

	ObjectAddressSet(depending, RelationRelationId, twin);
	ObjectAddressSet(referenced, RelationRelationId, relid);
	recordDependencyOn(&depending, &referenced, DEPENDENCY_AUTO);
}

static Oid
create_table(Oid relid, const RangeVar *name, const twin_texts *texts)
{
	Oid			twin;

	if (texts->rest.len > 0 &&
		SPI_execute(psprintf("SELECT %s", texts->rest.data), true, 0) < 0)
		elog(ERROR, "could not try NULLs");
	dp_protect_run_command(psprintf("CREATE TABLE %s AS SELECT * FROM %s"
									" WITH NO DATA", texts->name,
									dp_protect_qualified_name(relid)));
	CommandCounterIncrement();
	twin = RangeVarGetRelid(name, NoLock, false);
	dp_protect_tie_twin(relid, twin);
	return twin;
}

/* Release rows into it. */
static void
fill(FunctionCallInfo fcinfo, Oid relid, const twin_texts *texts)
{
	Oid			types[ARG_END - ARG_COLUMNS];
	Datum		values[ARG_END - ARG_COLUMNS];
	char		nulls[ARG_END - ARG_COLUMNS];
	const char *schema = get_namespace_name(dp_bridge_extension_namespace());
	char	   *command;
	int			i;

	for (i = 0; i < lengthof(types); i++)
	{
		types[i] = dp_bridge_declared_type(fcinfo, ARG_COLUMNS + i);
		nulls[i] = PG_ARGISNULL(ARG_COLUMNS + i) ? 'n' : ' ';
		values[i] = PG_ARGISNULL(ARG_COLUMNS + i) ? (Datum) 0 :
			PG_GETARG_DATUM(ARG_COLUMNS + i);
	}

	/* Of its declared types: what others create there could be nearer. */
	command = psprintf("INSERT INTO %s (%s) SELECT * FROM %s.dp_synthesize"
					   "(%s::dp_pg.regrelation,"
					   " $1, $2, $3, $4, $5, $6, $7, $8) AS t(%s)",
					   texts->name, texts->columns.data,
					   quote_identifier(schema),
					   quote_literal_cstr(dp_protect_qualified_name(relid)),
					   texts->list.data);
	if (SPI_execute_with_args(command, lengthof(types), types, values, nulls,
							  false, 0) < 0)
		elog(ERROR, "SPI_execute failed: %s", command);
}

static void
require_none(Oid relid)
{
	Oid			twin = dp_protect_twin(relid);

	if (OidIsValid(twin))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("relation \"%s\" has a twin already",
						get_rel_name(relid)),
				 errdetail("It is %s.  Nothing was charged.",
						   dp_protect_qualified_name(twin)),
				 errhint("DROP TABLE %s first.",
						 dp_protect_qualified_name(twin))));
}

/* The relation, locked; the dataset is palloc'd. */
static Oid
read_relation(FunctionCallInfo fcinfo, char **dataset)
{
	Oid			relid;

	dp_bridge_require_argument(fcinfo, ARG_RELATION,
							   "relation of dp_publish_twin",
							   "Write its name.");
	dp_bridge_require_argument(fcinfo, ARG_PUBLISH,
							   "publish of dp_publish_twin",
							   "It names the table, for example 'bi.twin'.");
	dp_bridge_require_argument(fcinfo, ARG_COLUMNS,
							   "columns of dp_publish_twin",
							   "Write columns => ARRAY['smoker', 'ward'].");
	relid = PG_GETARG_OID(ARG_RELATION);
	dp_protect_require_writable("dp_publish_twin()");
	dp_protect_require_owner(relid);
	LockRelationOid(relid, ShareUpdateExclusiveLock);
	dp_protect_require_owner(relid);
	*dataset = dp_protect_require_protected(relid);
	dp_protect_require_dataset(*dataset);
	require_none(relid);
	return relid;
}

PG_FUNCTION_INFO_V1(dp_publish_twin);

/*
 * dp_publish_twin
 *	  dp_publish_twin(relation, publish, columns, marginals, epsilon, n, bins,
 *	  delta, method, rows) returns void.  See sql/86_synthesize.sql.
 */
Datum
dp_publish_twin(PG_FUNCTION_ARGS)
{
	char	   *dataset;
	Oid			relid;
	Oid			twin;
	RangeVar   *name;
	twin_texts	texts;

	dp_bridge_require_preload();
	relid = read_relation(fcinfo, &dataset);
	name = dp_protect_find_name(
		text_to_cstring(PG_GETARG_TEXT_PP(ARG_PUBLISH)), "table");
	dp_protect_check_free(name, "table");
	texts.name = quote_qualified_identifier(name->schemaname, name->relname);
	initStringInfo(&texts.columns);
	initStringInfo(&texts.list);
	initStringInfo(&texts.rest);
	list_rest(relid, read_columns(relid, PG_GETARG_ARRAYTYPE_P(ARG_COLUMNS),
								  &texts), &texts);
	SPI_connect();
	twin = create_table(relid, name, &texts);
	dp_catalog_write_twin(relid, twin);
	dp_protect_share(twin, dataset);
	fill(fcinfo, relid, &texts);
	SPI_finish();
	PG_RETURN_VOID();
}
