/*
 * target.c
 *	  The table that the running statement writes, as far as it shows.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "nodes/plannodes.h"
#include "parser/parsetree.h"
#include "tcop/pquery.h"
#include "utils/lsyscache.h"

#include "../protect/dp_protect.h"
#include "releases.h"

static char *
name_of(Oid relid)
{
	return get_rel_name(relid) ? dp_protect_qualified_name(relid) : NULL;
}

/*
 * dp_synth_target
 *	  The table of CREATE TABLE AS, SELECT INTO or INSERT that the client sent;
 *	  NULL for any other statement.
 */
char *
dp_synth_target(void)
{
	PlannedStmt *statement;

	if (!PortalIsValid(ActivePortal) ||
		list_length(ActivePortal->stmts) != 1)
		return NULL;
	statement = linitial_node(PlannedStmt, ActivePortal->stmts);
	if (statement->commandType == CMD_UTILITY &&
		IsA(statement->utilityStmt, CreateTableAsStmt))
	{
		IntoClause *into =
		((CreateTableAsStmt *) statement->utilityStmt)->into;

		/* it has been created by now */
		return name_of(RangeVarGetRelid(into->rel, NoLock, true));
	}
	if (statement->commandType == CMD_INSERT &&
		statement->resultRelations != NIL)
		return name_of(rt_fetch(linitial_int(statement->resultRelations),
								statement->rtable)->relid);
	return NULL;
}
