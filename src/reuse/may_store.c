/*
 * may_store.c
 *	  Whether the current transaction reads what others would read, and how old
 *	  that is.
 *
 * A transaction that has written may read what is never committed, and one
 * that has imported a snapshot reads data older than itself.  Neither may
 * become an answer to other queries of the same budget.
 */
#include "postgres.h"

#include "access/xact.h"
#include "tcop/pquery.h"
#include "tcop/utility.h"
#include "utils/timestamp.h"

#include "answers.h"

static ProcessUtility_hook_type next_process_utility = NULL;

/* Start of the last transaction that imported a snapshot. */
static TimestampTz imported = 0;

/* Note SET TRANSACTION SNAPSHOT, whose snapshot can have any age. */
static void
note_import(PlannedStmt *statement, const char *text, bool read_only_tree,
			ProcessUtilityContext context, ParamListInfo params,
			QueryEnvironment *environment, DestReceiver *dest,
			QueryCompletion *completion)
{
	const VariableSetStmt *set = (VariableSetStmt *) statement->utilityStmt;

	if (IsA(set, VariableSetStmt) && set->kind == VAR_SET_MULTI &&
		set->name != NULL && strcmp(set->name, "TRANSACTION SNAPSHOT") == 0)
		imported = GetCurrentTransactionStartTimestamp();
	(next_process_utility ? next_process_utility : standard_ProcessUtility)
		(statement, text, read_only_tree, context, params, environment, dest,
		 completion);
}

/* dp_reuse_may_store: whether an answer of this transaction may be stored. */
bool
dp_reuse_may_store(void)
{
	return !TransactionIdIsValid(GetTopTransactionIdIfAny()) &&
		imported != GetCurrentTransactionStartTimestamp();
}

/*
 * dp_reuse_time_of_rows
 *	  A lower bound of the time of the current snapshot, valid if
 *	  dp_reuse_may_store: an answer is as old as the rows that were read for
 *	  it.
 */
TimestampTz
dp_reuse_time_of_rows(void)
{
	TimestampTz at = GetCurrentStatementStartTimestamp();

	if (IsolationUsesXactSnapshot())
		at = Min(at, GetCurrentTransactionStartTimestamp());
	if (ActivePortal != NULL)
		at = Min(at, ActivePortal->creation_time);
	return at;
}

/* dp_reuse_init: once, while the library is preloaded. */
void
dp_reuse_init(void)
{
	dp_reuse_shared_init();
	dp_ledger_register_task(DP_TASK_ANSWER, &dp_reuse_tasks);
	dp_bridge_add_hook(&ProcessUtility_hook, note_import,
					   &next_process_utility);
}
