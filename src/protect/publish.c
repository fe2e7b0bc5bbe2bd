/*
 * publish.c
 *	  Published views: what they read and how they are made; twins.
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
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteSupport.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

#include "../base/dp_base.h"
#include "../catalog/dp_catalog.h"
#include "dp_protect.h"
#include "protect_internal.h"

/* ----------------
 *		The query of a view, and what a view reads.
 * ----------------
 */

typedef struct view_search
{
	Oid			view;			/* whose query is being searched */
	bool		invoker;
	List	   *views;			/* OIDs of those searched */
	List	   *read;			/* OIDs */
} view_search;

/*
 * dp_protect_view_query
 *	  The query of a view; NULL if the relation is no longer a view.
 */
Query *
dp_protect_view_query(Oid view)
{
	HeapTuple	rule = SearchSysCache2(RULERELNAME, ObjectIdGetDatum(view),
									   PointerGetDatum(ViewSelectRuleName));
	List	   *queries;

	if (!HeapTupleIsValid(rule))
		return NULL;
	queries = dp_protect_rule_queries(rule);
	ReleaseSysCache(rule);
	return list_length(queries) == 1 ? linitial_node(Query, queries) : NULL;
}

/*
 * dp_protect_is_projection
 *	  Whether it is a SELECT of columns FROM the relation, and nothing else.
 */
bool
dp_protect_is_projection(const Query *query, Oid relid)
{
	RangeTblRef *from;
	ListCell   *cell;

	if (query->commandType != CMD_SELECT || query->setOperations != NULL ||
		query->cteList != NIL || query->hasAggs || query->hasWindowFuncs ||
		query->hasTargetSRFs || query->hasSubLinks ||
		query->groupClause != NIL || query->groupingSets != NIL ||
		query->havingQual != NULL || query->distinctClause != NIL ||
		query->sortClause != NIL || query->limitOffset != NULL ||
		query->limitCount != NULL || query->rowMarks != NIL ||
		query->jointree->quals != NULL ||
		list_length(query->jointree->fromlist) != 1 ||
		!IsA(linitial(query->jointree->fromlist), RangeTblRef))
		return false;
	from = linitial(query->jointree->fromlist);
	if (rt_fetch(from->rtindex, query->rtable)->rtekind != RTE_RELATION ||
		rt_fetch(from->rtindex, query->rtable)->relid != relid)
		return false;
	foreach(cell, query->targetList)
	{
		TargetEntry *target = lfirst_node(TargetEntry, cell);

		if (!IsA(target->expr, Var) ||
			((Var *) target->expr)->varno != from->rtindex)
			return false;
	}
	return true;
}

static void search_view(Oid view, view_search *search);

static bool
search_entry(Node *node, const dp_walk *walk)
{
	view_search *search = walk->context;
	const RangeTblEntry *entry = (RangeTblEntry *) node;

	if (!IsA(node, RangeTblEntry))
		return false;
	/* up to 15 a view's query has entries of the view itself */
	if (entry->rtekind != RTE_RELATION || entry->relid == search->view)
		return false;
	if (entry->relkind == RELKIND_VIEW)
		search_view(entry->relid, search);
	else
		search->read = list_append_unique_oid(search->read, entry->relid);
	return false;
}

static void
search_view(Oid view, view_search *search)
{
	Oid			outer = search->view;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	/* CREATE OR REPLACE VIEW can have views read each other */
	if (list_member_oid(search->views, view))
		return;
	search->views = lappend_oid(search->views, view);
	if (search->invoker && !dp_protect_is_security_invoker(view))
		return;
	search->view = view;
	(void) dp_base_contains((Node *) dp_protect_view_query(view),
							search_entry, search, QTW_EXAMINE_RTES_BEFORE);
	search->view = outer;
}

/*
 * dp_protect_view_reads
 *	  OIDs of the tables that a view reads, itself or through other views;
 *	  `invoker`: only those that it reads with the rights of its reader.
 */
List *
dp_protect_view_reads(Oid view, bool invoker)
{
	view_search search = {InvalidOid, invoker, NIL, NIL};

	search_view(view, &search);
	return search.read;
}

/* Search a view for tables, through materialized views too. */
static view_search
search_through(Oid view)
{
	view_search search = {InvalidOid, false, NIL, NIL};
	int			i;

	search_view(view, &search);
	/* the list grows while it is walked */
	for (i = 0; i < list_length(search.read); i++)
	{
		Oid			relid = list_nth_oid(search.read, i);

		if (get_rel_relkind(relid) == RELKIND_MATVIEW)
			search_view(relid, &search);
	}
	return search;
}

/*
 * dp_protect_view_shows
 *	  OIDs of the tables whose rows a view can show, with any role's rights,
 *	  including materialized views and the tables that these read.
 */
List *
dp_protect_view_shows(Oid view)
{
	return search_through(view).read;
}

/*
 * dp_protect_view_passes: whether a view is one of some views, or reads one.
 */
bool
dp_protect_view_passes(Oid view, const List *views)
{
	const List *searched = search_through(view).views;
	ListCell   *cell;

	foreach(cell, views)
		if (list_member_oid(searched, lfirst_oid(cell)))
			return true;
	return false;
}

PG_FUNCTION_INFO_V1(dp_publish_shown_column);

/*
 * dp_publish_shown_column
 *	  SQL: dp_pg.shown_column(relation oid, named oid, attnum int2) returns
 *	  int2: the number of the relation's column that a column of `named` shows;
 *	  NULL when that is neither the relation nor a view of its columns.
 */
Datum
dp_publish_shown_column(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	Oid			named = PG_GETARG_OID(1);
	AttrNumber	attnum = PG_GETARG_INT16(2);
	Query	   *query;
	TargetEntry *target;

	if (relid == named)
		PG_RETURN_INT16(attnum);
	query = dp_protect_view_query(named);
	if (query == NULL || !dp_protect_is_projection(query, relid))
		PG_RETURN_NULL();
	target = get_tle_by_resno(query->targetList, attnum);
	if (target == NULL || target->resjunk)
		PG_RETURN_NULL();
	PG_RETURN_INT16(((Var *) target->expr)->varattno);
}

/* ----------------
 *		The published view, which shows tools what can be queried:
 *		dp_protect(publish => ...).
 *
 * It is a security_invoker view: its readers need a privilege of their own on
 * the protected relation, and have none, so it reveals no rows; a private
 * query sees the relation through it.  It belongs to the caller of dp_protect.
 * ----------------
 */

/*
 * dp_protect_run_command
 *	  Run one command as the current user; SPI is connected.
 */
void
dp_protect_run_command(const char *command)
{
	if (SPI_execute(command, false, 0) < 0)
		elog(ERROR, "SPI_execute failed: %s", command);
}

/*
 * Whether a published view may be granted: only while it is a security_invoker
 * view of columns of the relation, as dp_protect made it.  Otherwise it could
 * show rows: warn, and grant nothing.
 */
static bool
check_view(Oid relid, Oid view)
{
	Query	   *query = dp_protect_view_query(view);
	bool		invoker = dp_protect_is_security_invoker(view);

	if (invoker && query != NULL &&
		dp_protect_is_projection(query, relid))
		return true;
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("published view \"%s\" is not granted to anybody",
					get_rel_name(view)),
			 invoker ?
			 errdetail("It no longer shows only columns of relation "
					   "\"%s\".", get_rel_name(relid)) :
			 errdetail("It is no longer a security_invoker view."),
			 invoker ?
			 errhint("Drop it, and publish again with dp_protect(%s, "
					 "publish => ...).", dp_protect_call_text(relid)) :
			 errhint("ALTER VIEW %s SET (security_invoker = true);",
					 dp_protect_qualified_name(view))));
	return false;
}

PG_FUNCTION_INFO_V1(dp_publish_check);

/*
 * dp_publish_check
 *	  SQL: dp_pg.check_published(relation oid) returns boolean: whether the
 *	  relation has a published view that can still be granted; warns if it
 *	  cannot.
 */
Datum
dp_publish_check(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	Oid			view = dp_protect_published_view(relid);

	PG_RETURN_BOOL(OidIsValid(view) && check_view(relid, view));
}

/*
 * protect_share
 *	  Grant SELECT on a relation to all roles that hold a budget on the
 *	  dataset.  (dp_grant does so for later ones.)
 */
static void
protect_share(Oid relid, const char *dataset)
{
	dp_owner_sql saved;
	ListCell   *cell;

	dp_base_owner_begin(&saved);
	foreach(cell, dp_catalog_list_holders(dataset))
		dp_protect_run_command(psprintf("GRANT SELECT ON %s TO %s",
										dp_protect_qualified_name(relid),
										quote_identifier(lfirst(cell))));
	dp_base_owner_end(&saved);
}

/*
 * dp_protect_publish_grant
 *	  Share the published view of a relation.
 */
void
dp_protect_publish_grant(Oid relid, Oid view, const char *dataset)
{
	if (check_view(relid, view))
		protect_share(view, dataset);
}

/*
 * find_name
 *	  The name as written, with its schema filled in; raises the errors of
 *	  CREATE, with hints.  `what` is "view" or "table".
 */
static RangeVar *
find_name(char *publish, const char *what)
{
	List	   *names;
	RangeVar   *name;
	Oid			namespace;

	if (!SplitIdentifierString(pstrdup(publish), '.', &names) ||
		names == NIL || list_length(names) > 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("\"%s\" is not a valid name for a %s", publish,
						what),
				 errdetail("It is a name with or without its schema."),
				 errhint("For example 'bi.visits'.")));
	name = makeRangeVar(list_length(names) == 2 ? linitial(names) : NULL,
						llast(names), -1);
	if (name->schemaname != NULL)
	{
		namespace = LookupNamespaceNoError(name->schemaname);
		if (!OidIsValid(namespace))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_SCHEMA),
					 errmsg("schema \"%s\" does not exist",
							name->schemaname),
					 errdetail("The %s \"%s\" was to be created there.",
							   what, name->relname),
					 errhint("Create the schema first, or name another "
							 "one.")));
	}
	else
	{
		List	   *path = fetch_search_path(false);

		namespace = path == NIL ? InvalidOid : linitial_oid(path);
		if (!OidIsValid(namespace))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_SCHEMA),
					 errmsg("no schema has been selected to create \"%s\" in",
							name->relname),
					 errdetail("No schema of search_path exists."),
					 errhint("Write the schema into the name, for example "
							 "'bi.visits'.")));
		name->schemaname = get_namespace_name(namespace);
	}
	if (isAnyTempNamespace(namespace))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot publish as \"%s\"", publish),
				 errdetail("Nobody else could see a temporary %s.", what),
				 errhint("Name a permanent schema.")));
	return name;
}

/*
 * dp_protect_publish_name
 *	  The default name of a relation's published view, from
 *	  dp_pg.publish_schema; NULL if that is not set.
 */
char *
dp_protect_publish_name(Oid relid)
{
	char	   *name = get_rel_name(relid);

	if (name == NULL || dp_setting_publish_schema[0] == '\0')
		return NULL;
	return quote_qualified_identifier(dp_setting_publish_schema, name);
}

/*
 * check_free: an error unless the relation may be created there and the name
 * is free.
 */
static void
check_free(const RangeVar *name, const char *what)
{
	Oid			namespace = LookupNamespaceNoError(name->schemaname);

	if (object_aclcheck(NamespaceRelationId, namespace, GetUserId(),
						ACL_CREATE) != ACLCHECK_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for schema %s", name->schemaname),
				 errdetail("The %s \"%s\" was to be created there.", what,
						   name->relname),
				 errhint("Name a schema in which you may create.")));
	if (OidIsValid(get_relname_relid(name->relname, namespace)))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_TABLE),
				 errmsg("relation \"%s\" already exists", name->relname),
				 errdetail("It is in schema \"%s\" and is not the published "
						   "%s.", name->schemaname, what),
				 errhint("Choose another name for the %s.", what)));
}

/*
 * dp_protect_publish_view
 *	  Create the security_invoker view named `publish` over the relation, as
 *	  the current user, unless it already exists; returns its OID.
 *
 * Errors: 55000 published under another name; 42P07 the name is taken; 22023 a
 * temporary schema; 42602 not a name; 42501, 3F000 as CREATE VIEW.
 */
Oid
dp_protect_publish_view(Oid relid, char *publish)
{
	RangeVar   *name = find_name(publish, "view");
	Oid			before = dp_protect_published_view(relid);
	Oid			view = RangeVarGetRelid(name, NoLock, true);
	const char *quoted;

	if (OidIsValid(before) && before == view)
		return view;
	if (OidIsValid(before))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("relation \"%s\" is already published",
						get_rel_name(relid)),
				 errdetail("Its view is %s.",
						   dp_protect_qualified_name(before)),
				 errhint("Rename that view, or drop it first.")));
	check_free(name, "view");
	quoted = quote_qualified_identifier(name->schemaname, name->relname);
	SPI_connect();
	dp_protect_run_command(psprintf("CREATE VIEW %s"
									" WITH (security_invoker = true)"
									" AS SELECT * FROM %s", quoted,
									dp_protect_qualified_name(relid)));
	SPI_finish();
	CommandCounterIncrement();
	return RangeVarGetRelid(name, NoLock, false);
}

/* "a AS b" */
static void
append_shown(StringInfo list, const char *column, const char *shown)
{
	appendStringInfo(list, "%s%s AS ", list->len > 0 ? ", " : "",
					 quote_identifier(column));
	appendStringInfoString(list, quote_identifier(shown));
}

/* Append the columns of a relation that another one does not have. */
static void
append_others(StringInfo list, Oid relid, Oid before)
{
	Relation	relation = table_open(relid, AccessShareLock);
	TupleDesc	columns = RelationGetDescr(relation);
	int			i;

	for (i = 0; i < columns->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(columns, i);
		const char *name = NameStr(column->attname);

		if (!column->attisdropped && get_attnum(before, name) <= 0)
			append_shown(list, name, name);
	}
	table_close(relation, NoLock);
}

static int
publish_count_columns(Oid relid)
{
	Relation	relation = table_open(relid, AccessShareLock);
	TupleDesc	columns = RelationGetDescr(relation);
	int			n = 0;
	int			i;

	for (i = 0; i < columns->natts; i++)
		n += TupleDescAttr(columns, i)->attisdropped ? 0 : 1;
	table_close(relation, NoLock);
	return n;
}

/*
 * The select list for relid of a view of columns of `before`.  False if it
 * could not replace the view, because a column is gone or has another type.
 */
static bool
append_view(StringInfo list, Oid view, Oid before, Oid relid)
{
	Query	   *query = dp_protect_view_query(view);
	int			hidden = publish_count_columns(before);
	bool		same = true;
	ListCell   *cell;

	foreach(cell, query->targetList)
	{
		TargetEntry *target = lfirst_node(TargetEntry, cell);
		Var		   *var = castNode(Var, target->expr);
		char	   *name = get_attname(before, var->varattno, true);
		char	   *shown = get_attname(view, target->resno, true);
		AttrNumber	attnum = name ? get_attnum(relid, name) : 0;
		Oid			type;
		Oid			collation;
		int32		typmod;

		if (target->resjunk)
			continue;
		if (name != NULL && strcmp(name, shown) == 0)
			hidden--;
		if (attnum <= 0)
		{
			same = false;
			continue;
		}
		get_atttypetypmodcoll(relid, attnum, &type, &typmod, &collation);
		same = same && type == var->vartype && typmod == var->vartypmod &&
			collation == var->varcollid;
		append_shown(list, name, shown);
	}
	if (hidden == 0)
		append_others(list, relid, before);
	return same;
}

/*
 * dp_protect_publish_again
 *	  Make the published view of `before` show relid, with the same columns,
 *	  and new ones if it showed all; as the current user.  If the view is gone
 *	  (InvalidOid), it is made anew under the qualified name, with those of the
 *	  columns (char *; NIL: all) that exist.  Returns its OID.
 */
Oid
dp_protect_publish_again(Oid view, Oid before, Oid relid, const char *name,
						 List *columns)
{
	bool		exists = OidIsValid(view);
	bool		same = true;
	StringInfoData list;
	List	   *names;
	ListCell   *cell;

	initStringInfo(&list);
	if (exists)
		same = append_view(&list, view, before, relid);
	foreach(cell, columns)
		if (get_attnum(relid, lfirst(cell)) > 0)
			append_shown(&list, lfirst(cell), lfirst(cell));
	SPI_connect();
	if (!same)
		dp_protect_run_command(psprintf("DROP VIEW %s", name));
	dp_protect_run_command(psprintf("CREATE %sVIEW %s"
									" WITH (security_invoker = true)"
									" AS SELECT %s FROM %s",
									exists && same ? "OR REPLACE " : "", name,
									list.len > 0 ? list.data : "*",
									dp_protect_qualified_name(relid)));
	SPI_finish();
	CommandCounterIncrement();
	names = dp_compat_qualified_names(name);
	return RangeVarGetRelid(makeRangeVarFromNameList(names), NoLock, false);
}

/* ----------------
 *		Twins: tables of synthetic rows, shown to tools in place of a protected
 *		relation's rows (dp_publish_twin).
 *
 * A twin has the relation's columns; the named ones are filled by
 * dp_synthesize, once and for its price, and the others are NULL.  So it
 * contains only released values.  It is an ordinary table of the caller, which
 * the roles with a budget may read; transparent mode shows its rows in
 * previews (src/query/transparent/synthetic_rows.c).
 *
 * Everything else that can fail is done before the release.
 * ----------------
 */

/* Places of the arguments; from ARG_COLUMNS on they are dp_synthesize's. */
enum
{
	ARG_RELATION,
	ARG_PUBLISH,
	ARG_COLUMNS,
	ARG_END = 10
};

/* Parts of the statements about a twin. */
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
publish_read_columns(Oid relid, ArrayType *array, twin_texts *texts)
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

/* NULLs for the columns that are not filled; their domains must allow it. */
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
 *	  Make DROP of the relation drop its twin.  Dumps do not contain this
 *	  dependency.
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
	const char *schema = get_namespace_name(dp_base_extension_namespace());
	char	   *command;
	int			i;

	for (i = 0; i < lengthof(types); i++)
	{
		types[i] = dp_base_declared_type(fcinfo, ARG_COLUMNS + i);
		nulls[i] = PG_ARGISNULL(ARG_COLUMNS + i) ? 'n' : ' ';
		values[i] = PG_ARGISNULL(ARG_COLUMNS + i) ? (Datum) 0 :
			PG_GETARG_DATUM(ARG_COLUMNS + i);
	}

	/*
	 * arguments of its declared types, so that no overload of others is chosen
	 */
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
publish_read_relation(FunctionCallInfo fcinfo, char **dataset)
{
	Oid			relid;

	dp_base_require_argument(fcinfo, ARG_RELATION,
							 "relation of dp_publish_twin",
							 "Write its name.");
	dp_base_require_argument(fcinfo, ARG_PUBLISH,
							 "publish of dp_publish_twin",
							 "It names the table, for example 'bi.twin'.");
	dp_base_require_argument(fcinfo, ARG_COLUMNS,
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

	dp_base_require_preload();
	relid = publish_read_relation(fcinfo, &dataset);
	name = find_name(
		text_to_cstring(PG_GETARG_TEXT_PP(ARG_PUBLISH)), "table");
	check_free(name, "table");
	texts.name = quote_qualified_identifier(name->schemaname, name->relname);
	initStringInfo(&texts.columns);
	initStringInfo(&texts.list);
	initStringInfo(&texts.rest);
	list_rest(relid,
			  publish_read_columns(relid, PG_GETARG_ARRAYTYPE_P(ARG_COLUMNS),
										  &texts), &texts);
	SPI_connect();
	twin = create_table(relid, name, &texts);
	dp_catalog_write_twin(relid, twin);
	protect_share(twin, dataset);
	fill(fcinfo, relid, &texts);
	SPI_finish();
	PG_RETURN_VOID();
}
