/*
 * refresh.c
 *	  Materialized views, which their owners fill with released values.
 *
 * PostgreSQL fills one with its owner's rights, in a security-restricted
 * operation, whoever asks.  Private queries are allowed there where its owner
 * asks: the query is then his own, and his budget pays, as it would for the
 * same query in INSERT .. SELECT.  Where somebody else refreshes it, a
 * superuser or a member of its owner, nobody chose to pay.
 *
 * What runs there is the innermost statement: another one, such as ANALYZE
 * with an index expression that asks, is no REFRESH although one began it.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "tcop/utility.h"

#include "ledger.h"

static ProcessUtility_hook_type next_process_utility = NULL;

/* Does the innermost utility statement fill a materialized view? */
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
 *	  Is a materialized view being filled by its owner, with his rights?
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
