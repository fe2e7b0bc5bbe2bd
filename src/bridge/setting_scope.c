/*
 * setting_scope.c
 *	  dp_pg.setting_scope: how long a client's settings of private queries
 *	  last.
 *
 * A pool of connections gives one session to many clients, a transaction at a
 * time.  What one of them SETs would choose the price that the next ones pay.
 * With scope "transaction" a client's value counts only within the transaction
 * that set it:
 *
 *	- SET outside of a transaction block, which could have no effect, is
 *	  refused before it is executed; so is ALTER ROLE of the session's own
 *	  role, whose values all clients would have;
 *	- before a transaction commits, what was set in it and would outlive it is
 *	  set back to the default of role, database or server, which a ROLLBACK
 *	  does by itself.  Where that was outside of a block, as by set_config, the
 *	  transaction fails, so that nobody relies on the value;
 *	- nothing is charged at a value that came otherwise: with the connection's
 *	  options, or before the scope was changed.
 *
 * SET LOCAL, and the SET of a function's header, end by themselves.  Only
 * sessions of clients are concerned: readers and workers have the values that
 * a session gives them.
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

/* All that everybody may set, but dp_pg.procedure, which is of headers. */
static const char *const names[] = {
	"dp_pg.delta", "dp_pg.epsilon", "dp_pg.max_keys", "dp_pg.max_rows",
	"dp_pg.mechanism", "dp_pg.publish_schema", "dp_pg.reuse", "dp_pg.split",
	"dp_pg.suppress", "dp_pg.transparent",
};

static ProcessUtility_hook_type next_process_utility = NULL;

/*
 * Some value was set inside of a block in the present transaction: of several
 * statements that came together this cannot be seen when it ends.
 */
static bool set_in_block = false;

/* The server's record of a setting; it stays where it is. */
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
 * dp_bridge_scope_assigned: from the assign hooks of these settings.  A
 * subtransaction may be one of a function, which tells nothing of a block.
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

/* The defaults of a role that clients share are not theirs to change. */
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
					   "share the role, and would pay by its settings."),
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

/* Would the value outlive its transaction? */
static bool
is_lasting(const struct config_generic *record)
{
	return record->stack != NULL && (record->stack->state == GUC_SET ||
									 record->stack->state == GUC_SET_LOCAL);
}

/* Before the transaction ends, what a client has set becomes the default. */
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
 *	  Do all values that a charge follows from come from where
 *	  dp_pg.setting_scope lets them come from?
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

		/* what the present transaction set has what was before it stacked */
		if (record->source != PGC_S_CLIENT &&
			(record->source < PGC_S_INTERACTIVE || record->stack != NULL))
			continue;
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("\"%s\" was not set by this transaction", names[i]),
				 errdetail("dp_pg.setting_scope is transaction, and the value "
						   "is one of the connection.  Nothing was charged."),
				 record->source == PGC_S_CLIENT ?
				 errhint("Leave it out of the connection's options, and use "
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
