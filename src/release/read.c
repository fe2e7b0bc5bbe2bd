/*
 * read.c
 *	  Plan and execute one inner query: the one place where private rows are
 *	  read.
 *
 * Nothing of the data leaves but what the receiver is given.  While private
 * rows are about, messages go to nobody and statistics are not counted; an
 * error of planning and execution is replaced by one text and SQLSTATE, except
 * that planning may say what is unsupported, and that cancels, deadlocks,
 * serialization failures and lock timeouts keep their SQLSTATE, which depends
 * on other sessions and not on the rows.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "executor/executor.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "release.h"

/* ---- preconditions ---- */

/*
 * dp_release_check_preconditions
 *	  Refuse where private rows cannot be read privately, or not at all.
 *
 * Errors: 25000 in a parallel operation, 0A000 in a serializable transaction,
 * 25006 during recovery.
 */
void
dp_release_check_preconditions(void)
{
	dp_bridge_refuse_parallel();
	dp_bridge_refuse_serializable();
	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("a private query cannot run during recovery"),
				 errdetail("Its charge could not be written."),
				 errhint("Ask on the primary server.")));
}

/* ---- silence while private rows are about ---- */

/*
 * Memory of the inner query's sorts and hash tables, whatever the analyst set:
 * groups are private until they meet the public ones, and how many there are
 * must not show in the memory that the server takes, or runs out of.
 */
#define INNER_WORK_MEM "64MB"

/*
 * dp_inner_begin
 *	  From here to dp_inner_end nothing is told about what is done.  After an
 *	  error the end of the (sub)transaction restores the settings.
 */
void
dp_inner_begin(dp_inner *run)
{
	run->buffers = pgBufferUsage;
	run->wal = pgWalUsage;
	run->nest = NewGUCNestLevel();
	dp_bridge_set_local("client_min_messages", "error");
	dp_bridge_set_local("exit_on_error", "off");	/* else errors are FATAL */
	dp_bridge_set_local("track_counts", "off");
	dp_bridge_set_local("track_functions", "none");
	dp_bridge_set_local("work_mem", INNER_WORK_MEM);
	dp_bridge_set_local("hash_mem_multiplier", "2");
}

/* dp_inner_end: see dp_inner_begin. */
void
dp_inner_end(dp_inner *run)
{
	AtEOXact_GUC(false, run->nest);
	pgBufferUsage = run->buffers;
	pgWalUsage = run->wal;
}

/* ---- errors of the inner run ---- */

static bool
may_keep_code(int code)
{
	return code == ERRCODE_QUERY_CANCELED ||
		code == ERRCODE_T_R_SERIALIZATION_FAILURE ||
		code == ERRCODE_T_R_DEADLOCK_DETECTED ||
		code == ERRCODE_LOCK_NOT_AVAILABLE;
}

static bool
may_pass_from_planning(int code)
{
	int			category = ERRCODE_TO_CATEGORY(code);

	return category == ERRCODE_FEATURE_NOT_SUPPORTED ||
		category == ERRCODE_SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION;
}

/*
 * Replace the error being handled.  Called in a PG_CATCH block; the original
 * goes to the server log only.
 */
static void
mask_error(const dp_inner *run, bool planning)
{
	ErrorData  *original;
	int			code;

	pgBufferUsage = run->buffers;
	pgWalUsage = run->wal;
	MemoryContextSwitchTo(run->context);
	original = CopyErrorData();
	code = original->sqlerrcode;
	if (planning && may_pass_from_planning(code))
		PG_RE_THROW();

	/*
	 * Telling the log looks for interrupts, and a second parallel worker's
	 * error would go to the client as it is.  Raising lets them in again.
	 */
	HOLD_INTERRUPTS();
	FlushErrorState();
	if (may_keep_code(code))
		ereport(ERROR,
				(errcode(code),
				 errmsg("the private query was interrupted"),
				 errdetail("SQLSTATE %s; the charge stands if it was made.",
						   unpack_sql_state(code))));
	ereport(LOG_SERVER_ONLY,
			(errmsg("private query failed: %s: %s", unpack_sql_state(code),
					original->message)));
	ereport(ERROR,
			(errcode(ERRCODE_DATA_EXCEPTION),
			 errmsg("the private query failed"),
			 errdetail("What failed is not told, because it could depend on "
					   "private rows; the charge stands if it was made."),
			 errhint("The server log says more to the administrator.")));
}

/* ---- planning and execution ---- */

/*
 * dp_release_execute
 *	  Run a plan under the active snapshot.
 */
void
dp_release_execute(const dp_inner *run, PlannedStmt *plan,
				   DestReceiver *receiver)
{
	QueryDesc  *desc = CreateQueryDesc(plan, DP_PRIVATE_QUERY_TEXT,
									   GetActiveSnapshot(), InvalidSnapshot,
									   receiver, run->params,
									   run->environment, 0);

	ExecutorStart(desc, 0);
	ExecutorRun(desc, ForwardScanDirection, 0);
	ExecutorFinish(desc);
	ExecutorEnd(desc);
	FreeQueryDesc(desc);
}

/*
 * dp_inner_plan
 *	  Plan an inner query; which is changed.  `workers`: parallel plans are
 *	  allowed.  The plan lives in the current context.
 */
PlannedStmt *
dp_inner_plan(const dp_inner *run, Query *inner, bool workers)
{
	PlannedStmt *volatile plan = NULL;

	PG_TRY();
	{
		plan = dp_public_plan(inner, workers, run->params);
	}
	PG_CATCH();
	{
		mask_error(run, true);
	}
	PG_END_TRY();
	return plan;
}

/*
 * dp_inner_execute
 *	  Read the private rows; whoever calls has made the charge durable.
 */
void
dp_inner_execute(const dp_inner *run, PlannedStmt *plan,
				 DestReceiver *receiver)
{
	PG_TRY();
	{
		dp_release_execute(run, plan, receiver);
	}
	PG_CATCH();
	{
		mask_error(run, false);
	}
	PG_END_TRY();
}
