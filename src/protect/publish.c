/*
 * publish.c
 *	  The view that shows tools what may be asked: dp_protect(publish => ...).
 *
 * It is a security_invoker view: whoever reads it needs his own privilege on
 * the protected relation, and has none, so it gives no row away; a private
 * query sees the relation through it.  It belongs to the caller of dp_protect.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/varlena.h"

#include "relation_internal.h"

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
 * May a published view be granted?  Only while it is what dp_protect made: a
 * security_invoker view of columns of the relation.  Another one could show
 * rows: warn and grant nothing.
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
 *	  SQL: dp_pg.check_published(relation oid) returns boolean: has the
 *	  relation a published view that can still be granted?  Warns when it
 *	  is not.
 */
Datum
dp_publish_check(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	Oid			view = dp_protect_published_view(relid);

	PG_RETURN_BOOL(OidIsValid(view) && check_view(relid, view));
}

/*
 * dp_protect_share
 *	  Grant SELECT on a relation to all roles that hold a budget on the
 *	  dataset.  (dp_grant does it for those that come later.)
 */
void
dp_protect_share(Oid relid, const char *dataset)
{
	dp_owner_sql saved;
	ListCell   *cell;

	dp_bridge_owner_begin(&saved);
	foreach(cell, dp_catalog_list_holders(dataset))
		dp_protect_run_command(psprintf("GRANT SELECT ON %s TO %s",
										dp_protect_qualified_name(relid),
										quote_identifier(lfirst(cell))));
	dp_bridge_owner_end(&saved);
}

/*
 * dp_protect_publish_grant
 *	  Share the published view of a relation.
 */
void
dp_protect_publish_grant(Oid relid, Oid view, const char *dataset)
{
	if (check_view(relid, view))
		dp_protect_share(view, dataset);
}

/*
 * dp_protect_find_name
 *	  The name as the caller wrote it, with the schema it means; raises what
 *	  CREATE would, and says what to do.  `what` is "view" or "table".
 */
RangeVar *
dp_protect_find_name(char *publish, const char *what)
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
 *	  The name under which a relation is published where none is given, by
 *	  dp_pg.publish_schema; NULL: under none.
 */
char *
dp_protect_publish_name(Oid relid)
{
	char	   *name = get_rel_name(relid);

	if (name == NULL || dp_setting_publish_schema[0] == '\0')
		return NULL;
	return quote_qualified_identifier(dp_setting_publish_schema, name);
}

/* dp_protect_check_free: may it be created there, and is it not yet? */
void
dp_protect_check_free(const RangeVar *name, const char *what)
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
 *	  the current user, unless the relation has it already; answers its OID.
 *
 * Errors: 55000 published under another name; 42P07 the name is taken; 22023 a
 * temporary schema; 42602 not a name; 42501, 3F000 as CREATE VIEW.
 */
Oid
dp_protect_publish_view(Oid relid, char *publish)
{
	RangeVar   *name = dp_protect_find_name(publish, "view");
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
	dp_protect_check_free(name, "view");
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

/* Columns of a relation that another one does not have. */
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
count_columns(Oid relid)
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
 * What a view of columns of `before` shows of relid.  False: not in a way that
 * could replace the view, as a column is gone or has another type.
 */
static bool
append_view(StringInfo list, Oid view, Oid before, Oid relid)
{
	Query	   *query = dp_protect_view_query(view);
	int			hidden = count_columns(before);
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
 *	  Let the published view of `before` show relid, with the columns that it
 *	  has shown, and new ones if it has shown all; as the current user.  If the
 *	  view is gone (InvalidOid), it is made anew under the qualified name, with
 *	  those of the columns (char *; NIL: all) that there are.  Answers its OID.
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
