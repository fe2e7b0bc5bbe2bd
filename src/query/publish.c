/*
 * publish.c
 *	  The view that shows tools what may be asked: dp_protect(publish => ...).
 *
 * It is a security_invoker view: whoever reads it needs his own privilege on
 * the protected relation, and has none, so it gives no row away; a private
 * query sees the relation through it.  It belongs to the caller of dp_protect.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/rel.h"

#include "relation_internal.h"

/*
 * dp_relation_run_command
 *	  Run one command as the current user; SPI is connected.
 */
void
dp_relation_run_command(const char *command)
{
	if (SPI_execute(command, false, 0) < 0)
		elog(ERROR, "SPI_execute failed: %s", command);
}

/* Is the view still one that checks its reader's privileges? */
static bool
is_security_invoker(Oid view)
{
	Relation	rel = try_relation_open(view, AccessShareLock);
	bool		result;

	if (rel == NULL)
		return false;
	result = rel->rd_rel->relkind == RELKIND_VIEW &&
		RelationHasSecurityInvoker(rel);
	relation_close(rel, AccessShareLock);
	return result;
}

/*
 * Grant SELECT on a published view; SPI is connected as the owner of the
 * extension.  A view that no longer checks its reader would show rows: warn
 * and grant nothing.
 */
static void
grant_view(Oid view, const char *role)
{
	if (!is_security_invoker(view))
	{
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("view \"%s\" is not granted to role \"%s\"",
						get_rel_name(view), role),
				 errdetail("It is not a security_invoker view any more."),
				 errhint("ALTER VIEW %s SET (security_invoker = true);",
						 dp_relation_qualified_name(view))));
		return;
	}
	dp_relation_run_command(psprintf("GRANT SELECT ON %s TO %s",
									 dp_relation_qualified_name(view),
									 quote_identifier(role)));
}

/*
 * dp_publish_grant
 *	  Grant SELECT on a published view to all roles that hold a budget on the
 *	  dataset.  (dp_grant does it for those that get one later.)
 */
void
dp_publish_grant(Oid view, const char *dataset)
{
	dp_owner_sql saved;
	NameData	name;
	Oid			types[2] = {NAMEOID, INT8OID};
	Datum		values[2];
	SPITupleTable *table;
	uint64		n;

	namestrcpy(&name, dataset);
	values[0] = NameGetDatum(&name);
	values[1] = Int64GetDatum(dp_bridge_cluster_id());
	dp_bridge_owner_begin(&saved);
	if (SPI_execute_with_args("SELECT r.rolname FROM dp_pg.budget AS b"
							  " JOIN pg_catalog.pg_roles AS r ON CASE"
							  " WHEN b.cluster = $2 THEN r.oid = b.role_oid"
							  " ELSE r.rolname = b.role_name END"
							  " WHERE b.dataset = $1 AND b.active",
							  2, types, values, NULL, false,
							  0) != SPI_OK_SELECT)
		elog(ERROR, "could not read dp_pg.budget");
	table = SPI_tuptable;
	n = SPI_processed;
	for (uint64 i = 0; i < n; i++)
		grant_view(view, SPI_getvalue(table->vals[i], table->tupdesc, 1));
	dp_bridge_owner_end(&saved);
}

/*
 * dp_publish_view
 *	  Create the security_invoker view named `publish` over the relation, as
 *	  the current user, unless the relation has it already; answers its OID.
 *
 * Errors: 55000 published under another name; 42P07 the name is taken; 22023 a
 * temporary schema; 42602 not a name; 42501, 3F000 as CREATE VIEW.
 */
Oid
dp_publish_view(Oid relid, char *publish)
{
	List	   *names = stringToQualifiedNameList(publish);
	RangeVar   *name = makeRangeVarFromNameList(names);
	Oid			before = dp_relation_published_view(relid);
	Oid			view = RangeVarGetRelid(name, NoLock, true);
	StringInfoData target;

	if (OidIsValid(before) && before == view)
		return view;
	if (OidIsValid(before))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("relation \"%s\" is published already",
						get_rel_name(relid)),
				 errdetail("Its view is %s.",
						   dp_relation_qualified_name(before)),
				 errhint("Rename that view, or drop it first.")));
	initStringInfo(&target);
	if (name->catalogname)
		appendStringInfo(&target, "%s.", quote_identifier(name->catalogname));
	if (name->schemaname)
		appendStringInfo(&target, "%s.", quote_identifier(name->schemaname));
	appendStringInfoString(&target, quote_identifier(name->relname));

	SPI_connect();
	dp_relation_run_command(psprintf("CREATE VIEW %s"
									 " WITH (security_invoker = true)"
									 " AS SELECT * FROM %s", target.data,
									 dp_relation_qualified_name(relid)));
	SPI_finish();
	CommandCounterIncrement();
	view = RangeVarGetRelid(name, NoLock, false);
	if (get_rel_relkind(view) != RELKIND_VIEW ||
		get_rel_persistence(view) == RELPERSISTENCE_TEMP)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot publish as \"%s\"", publish),
				 errdetail("The name does not denote a permanent view."),
				 errhint("Qualify it with a schema.")));
	return view;
}
