/*
 * setting_scope.c
 *	  dp_pg.setting_scope: how long a client's settings for private queries
 *	  last.
 *
 * A connection pool gives one session to many clients, a transaction at a
 * time, so what one of them SETs would choose the price that the next ones
 * pay.  With scope "transaction" a client's value counts only in the
 * transaction that set it:
 *
 *	- SET outside of a transaction block, which would have no effect, raises an
 *	  error before it is executed; so does ALTER ROLE of the session's own
 *	  role, whose values all clients would get;
 *	- before a transaction commits, what was set in it and would outlive it is
 *	  reset to the default of role, database or server, as by a ROLLBACK.  If
 *	  it was set outside of a block, for example by set_config, the transaction
 *	  fails, so that nobody relies on the value;
 *	- nothing is charged with a value that came otherwise: from the
 *	  connection's options, or from before the scope was changed.
 *
 * SET LOCAL and the SET clause of a function end by themselves.  This applies
 * to client sessions only: readers and workers get their values from a
 * session.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/guc_tables.h"

#include "dp_bridge.h"

int			dp_setting_scope = DP_SETTING_SESSION;

/*
 * All settings that any user may set, except dp_pg.procedure, which is only
 * for function headers.
 */
static const char *const names[] = {
	"dp_pg.delta", "dp_pg.epsilon", "dp_pg.max_keys", "dp_pg.max_rows",
	"dp_pg.mechanism", "dp_pg.publish_schema", "dp_pg.reuse", "dp_pg.split",
	"dp_pg.suppress", "dp_pg.transparent",
};

static ProcessUtility_hook_type next_process_utility = NULL;

/*
 * A value was set within a block in the current transaction.  For several
 * statements sent together this cannot be seen when it ends.
 */
static bool set_in_block = false;

/* The server's record of a setting, which is never moved. */
static const struct config_generic *
record_of(int i)
{
	static struct config_generic *records[lengthof(names)];

	if (records[i] == NULL)
		records[i] = dp_bridge_find_setting(names[i]);
	return records[i];
}

static bool
applies(void)
{
	return dp_setting_scope == DP_SETTING_TRANSACTION &&
		(MyBackendType == B_BACKEND || MyBackendType == B_WAL_SENDER);
}

static bool
is_scoped(const char *name)
{
	int			i;

	for (i = 0; name != NULL && i < lengthof(names); i++)
		if (pg_strcasecmp(name, names[i]) == 0)
			return true;
	return false;
}

/*
 * dp_bridge_scope_assigned: called from the assign hooks of these settings.  A
 * subtransaction may be that of a function and does not imply a block.
 */
void
dp_bridge_scope_assigned(void)
{
	if (IsTransactionState() && IsTransactionBlock() && !IsSubTransaction())
		set_in_block = true;
}

/* ---- statements ---- */

static void
raise_outside(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_NO_ACTIVE_SQL_TRANSACTION),
			 errmsg("\"%s\" cannot be set outside of a transaction block",
					name),
			 errdetail("dp_pg.setting_scope is transaction: other clients may "
					   "share the session, so a value counts only within the "
					   "transaction that sets it."),
			 errhint("Use SET LOCAL in a transaction block; ALTER ROLE by an "
					 "administrator sets a default.")));
}

static void
forbid_set(const VariableSetStmt *statement)
{
	if ((statement->kind == VAR_SET_VALUE ||
		 statement->kind == VAR_SET_CURRENT) && !statement->is_local &&
		is_scoped(statement->name) && !IsTransactionBlock())
		raise_outside(statement->name);
}

/* Clients must not change the defaults of a role that others share. */
static void
forbid_alter_role(const AlterRoleSetStmt *statement)
{
	if (statement->role == NULL || superuser() ||
		get_rolespec_oid(statement->role, true) != GetSessionUserId() ||
		(statement->setstmt->kind != VAR_RESET_ALL &&
		 !is_scoped(statement->setstmt->name)))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("permission denied to change the session's own role"),
			 errdetail("dp_pg.setting_scope is transaction: other clients may "
					   "share the role, and its settings would choose what "
					   "they pay."),
			 errhint("Ask an administrator.")));
}

static void
check_statement(PlannedStmt *statement, const char *query,
				bool read_only_tree, ProcessUtilityContext context,
				ParamListInfo params, QueryEnvironment *environment,
				DestReceiver *receiver, QueryCompletion *completion)
{
	const Node *utility = statement->utilityStmt;

	if (IsA(utility, VariableSetStmt) && applies())
		forbid_set((const VariableSetStmt *) utility);
	else if (IsA(utility, AlterRoleSetStmt) && applies())
		forbid_alter_role((const AlterRoleSetStmt *) utility);
	if (next_process_utility)
		next_process_utility(statement, query, read_only_tree, context,
							 params, environment, receiver, completion);
	else
		standard_ProcessUtility(statement, query, read_only_tree, context,
								params, environment, receiver, completion);
}

/* ---- transactions ---- */

/* Whether the value would outlive its transaction. */
static bool
is_lasting(const struct config_generic *record)
{
	return record->stack != NULL && (record->stack->state == GUC_SET ||
									 record->stack->state == GUC_SET_LOCAL);
}

/* Before the transaction ends, reset what a client has set to the default. */
static void
set_back(void)
{
	int			i;

	for (i = 0; i < lengthof(names); i++)
	{
		const struct config_generic *record = record_of(i);

		if (record->source < PGC_S_INTERACTIVE && !is_lasting(record))
			continue;
		if (is_lasting(record) && record->source >= PGC_S_INTERACTIVE &&
			!IsTransactionBlock() && !set_in_block)
			raise_outside(names[i]);
		(void) set_config_option(names[i], NULL, PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SET, true, 0, false);
	}
}

static void
end_transaction(XactEvent event, void *argument)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			if (applies())
				set_back();
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			set_in_block = false;
			break;
		default:
			break;
	}
}

/* ---- charges ---- */

/*
 * dp_bridge_check_scope
 *	  Raise an error if a setting that affects charges was not made as
 *	  dp_pg.setting_scope requires.
 *
 * Errors: 55000.
 */
void
dp_bridge_check_scope(void)
{
	int			i;

	for (i = 0; applies() && i < lengthof(names); i++)
	{
		const struct config_generic *record = record_of(i);

		/*
		 * if the current transaction set it, the former value is on the stack
		 */
		if (record->source != PGC_S_CLIENT &&
			(record->source < PGC_S_INTERACTIVE || record->stack != NULL))
			continue;
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("\"%s\" was not set by this transaction", names[i]),
				 errdetail("dp_pg.setting_scope is transaction, but the value "
						   "is that of the connection.  Nothing was charged."),
				 record->source == PGC_S_CLIENT ?
				 errhint("Remove it from the connection's options, and use "
						 "SET LOCAL in a transaction block.") :
				 errhint("RESET %s, and use SET LOCAL in a transaction block.",
						 names[i])));
	}
}

/* dp_bridge_scope_init: once, while preloading. */
void
dp_bridge_scope_init(void)
{
	dp_bridge_add_hook(&ProcessUtility_hook, check_statement,
					   &next_process_utility);
	RegisterXactCallback(end_transaction, NULL);
}
