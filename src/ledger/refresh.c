/*
 * refresh.c
 *	  Materialized views filled with released values.
 *
 * PostgreSQL fills a materialized view with its owner's rights, in a
 * security-restricted operation, whoever issues the command.  Private queries
 * are allowed there if it is the owner: their budget pays, as for the same
 * query in INSERT .. SELECT.  If another role refreshes it, a superuser or a
 * member of its owner, the owner did not choose to pay.
 *
 * The innermost statement counts: an ANALYZE, with an index expression that
 * asks a private query, is no REFRESH even if it runs within one.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "tcop/utility.h"

#include "ledger.h"

static ProcessUtility_hook_type next_process_utility = NULL;

/* Whether the innermost utility statement fills a materialized view. */
static bool refreshing = false;

static bool
fills_view(const Node *statement)
{
	if (IsA(statement, CreateTableAsStmt))
		return ((const CreateTableAsStmt *) statement)->objtype ==
			OBJECT_MATVIEW;
	return IsA(statement, RefreshMatViewStmt);
}

static void
note_refresh(PlannedStmt *statement, const char *text, bool read_only_tree,
			 ProcessUtilityContext context, ParamListInfo params,
			 QueryEnvironment *environment, DestReceiver *dest,
			 QueryCompletion *completion)
{
	bool		outer = refreshing;

	refreshing = fills_view(statement->utilityStmt);
	PG_TRY();
	{
		(next_process_utility ? next_process_utility : standard_ProcessUtility)
			(statement, text, read_only_tree, context, params, environment,
			 dest, completion);
	}
	PG_FINALLY();
	{
		refreshing = outer;
	}
	PG_END_TRY();
}

/*
 * dp_ledger_refreshes_own
 *	  Whether a materialized view is being filled by its owner.
 */
bool
dp_ledger_refreshes_own(void)
{
	return refreshing && GetUserId() == GetOuterUserId();
}

/* dp_ledger_refresh_init: from _PG_init, preloading. */
void
dp_ledger_refresh_init(void)
{
	dp_bridge_add_hook(&ProcessUtility_hook, note_refresh,
					   &next_process_utility);
}
