/*
 * utility.c
 *	  Have the worker leave a database that DDL needs without connections;
 *	  forbid choosing the OID of a database.
 *
 * DROP, RENAME, ALTER ... SET TABLESPACE and CREATE DATABASE ... TEMPLATE fail
 * while others are connected.  The worker serves no user itself, so it leaves
 * when one of them begins; the next private query starts another.
 *
 * The OID distinguishes a copy of a database from the original (dp_pg.home()).
 */
#include "postgres.h"

#include "commands/dbcommands.h"
#include "commands/defrem.h"
#include "nodes/parsenodes.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "tcop/utility.h"

#include "../base/dp_base.h"
#include "dp_ledger.h"
#include "ledger_internal.h"

/* ms to wait for a worker that was asked to leave, and between checks */
#define LEAVE_TIMEOUT 5000
#define LEAVE_POLL 10

static ProcessUtility_hook_type next_process_utility = NULL;
static dp_ledger_clearing also_clear = NULL;

/* dp_ledger_on_clearing: see dp_ledger.h. */
void
dp_ledger_on_clearing(dp_ledger_clearing function)
{
	also_clear = function;
}

/*
 * A role that may copy and drop a database could give the copy its OID, and so
 * get back what its budgets spent in between.
 *
 * Errors: 42501.
 */
static void
forbid_oid(void)
{
	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to choose the OID of a database"),
				 errdetail("The OID lets dp_pg distinguish a copy of a "
						   "database from the original."),
				 errhint("Omit OID, or ask a superuser to create the "
						 "database.")));
}

static const char *
name_template(CreatedbStmt *statement)
{
	const char *name = "template1";
	ListCell   *cell;

	foreach(cell, statement->options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, "oid") == 0)
			forbid_oid();
		if (strcmp(option->defname, "template") == 0 && option->arg)
			name = defGetString(option);
	}
	return name;
}

/* The database that the statement needs empty, or NULL. */
static const char *
name_database(Node *statement)
{
	switch (nodeTag(statement))
	{
		case T_DropdbStmt:
			return ((DropdbStmt *) statement)->dbname;
		case T_CreatedbStmt:
			return name_template((CreatedbStmt *) statement);
		case T_RenameStmt:
			if (((RenameStmt *) statement)->renameType == OBJECT_DATABASE)
				return ((RenameStmt *) statement)->subname;
			return NULL;
		case T_AlterDatabaseStmt:
			return ((AlterDatabaseStmt *) statement)->dbname;
		default:
			return NULL;
	}
}

/* Ask the worker to leave; returns whether one is still there. */
static bool
ask_to_leave(Oid database)
{
	dp_worker  *worker;
	bool		there;

	LWLockAcquire(dp_ledger_shared->lock, LW_EXCLUSIVE);
	worker = dp_ledger_find_worker(database);
	there = worker != NULL;
	if (there && worker->pid == 0 && !worker->registered)
	{
		MemSet(worker, 0, sizeof(*worker)); /* those who need it call again */
		there = false;
	}
	else if (there)
	{
		worker->leave = true;
		if (worker->proc)
			SetLatch(&worker->proc->procLatch);
	}
	LWLockRelease(dp_ledger_shared->lock);
	return (also_clear != NULL && also_clear(database)) || there;
}

/*
 * Wait until the worker is gone; after LEAVE_TIMEOUT PostgreSQL decides.  The
 * database may be the connection's own, as the template of another.
 */
static void
clear_database(const char *name)
{
	Oid			database = get_database_oid(name, true);
	int			waited;

	if (!OidIsValid(database))
		return;
	for (waited = 0; waited < LEAVE_TIMEOUT; waited += LEAVE_POLL)
	{
		if (!ask_to_leave(database))
			return;
		dp_base_wait(LEAVE_POLL);
	}
}

static void
utility_process_utility(PlannedStmt *statement, const char *query,
						bool read_only_tree,
						ProcessUtilityContext context, ParamListInfo params,
						QueryEnvironment *environment, DestReceiver *receiver,
						QueryCompletion *completion)
{
	const char *database = name_database(statement->utilityStmt);

	if (database && dp_ledger_shared)
		clear_database(database);
	if (next_process_utility)
		next_process_utility(statement, query, read_only_tree, context,
							 params, environment, receiver, completion);
	else
		standard_ProcessUtility(statement, query, read_only_tree, context,
								params, environment, receiver, completion);
}

/* utility_init: from _PG_init, preloading. */
static void
utility_init(void)
{
	dp_base_add_hook(&ProcessUtility_hook, utility_process_utility,
					 &next_process_utility);
}

static const dp_worker_methods workers = {
	"dp_ledger_worker_main", dp_ledger_worker_main, dp_ledger_find_wanted,
	dp_ledger_spare
};

/* dp_ledger_init: called from _PG_init. */
void
dp_ledger_init(void)
{
	dp_ledger_shmem_init();
	utility_init();
	dp_ledger_refresh_init();
	dp_ledger_shield_init();
	dp_base_add_workers(DP_WORKER_LEDGER, &workers);
}
