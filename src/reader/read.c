/*
 * read.c
 *	  The one place that reads private rows.
 *
 * Of the data only what a job's sink receives leaves the process.  An error
 * that is raised while rows are read is replaced by one text and SQLSTATE;
 * only cancels, deadlocks, serialization failures and lock timeouts keep their
 * SQLSTATE, which depends on other sessions and not on the rows.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "executor/instrument.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "../base/dp_base.h"
#include "../ledger/dp_ledger.h"
#include "dp_reader.h"
#include "reader_internal.h"

static const dp_reader_methods *methods[DP_READER_KINDS];

/* dp_reader_register: see dp_reader.h. */
void
dp_reader_register(dp_reader_kind kind, const dp_reader_methods *how)
{
	methods[kind] = how;
}

/* dp_reader_find: the methods of a kind of jobs. */
const dp_reader_methods *
dp_reader_find(dp_reader_kind kind)
{
	if (methods[kind] == NULL)
		elog(ERROR, "reader has no methods for kind %d", (int) kind);
	return methods[kind];
}

/* ---- errors ---- */

/* Does the SQLSTATE depend on other sessions only? */
static bool
may_keep_code(int code)
{
	return code == ERRCODE_QUERY_CANCELED ||
		code == ERRCODE_T_R_SERIALIZATION_FAILURE ||
		code == ERRCODE_T_R_DEADLOCK_DETECTED ||
		code == ERRCODE_LOCK_NOT_AVAILABLE;
}

/*
 * dp_reader_raise: raise the error that an analyst sees for a failed reading.
 */
void
dp_reader_raise(int code)
{
	if (may_keep_code(code))
		ereport(ERROR,
				(errcode(code),
				 errmsg("the private query was interrupted"),
				 errdetail("SQLSTATE %s; the charge stands if it was made.",
						   unpack_sql_state(code))));
	ereport(ERROR,
			(errcode(ERRCODE_DATA_EXCEPTION),
			 errmsg("the private query failed"),
			 errdetail("The cause is not shown, because it could depend on "
					   "private rows; the charge stands if it was made."),
			 errhint("The server log tells the administrator more.")));
}

/* dp_reader_log: write the error to the server log only. */
void
dp_reader_log(const ErrorData *error)
{
	ereport(LOG_SERVER_ONLY,
			(errmsg("private query failed: %s: %s",
					unpack_sql_state(error->sqlerrcode), error->message)));
}

/* dp_reader_raise_gone: raised in a reader, so no client sees it. */
void
dp_reader_raise_gone(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_QUERY_CANCELED),
			 errmsg("the connection of a private query is gone")));
}

/*
 * Is the error about something unsupported or too large? Plans are made from
 * public facts, so these may be shown.
 */
static bool
may_pass_from_planning(int code)
{
	int			category = ERRCODE_TO_CATEGORY(code);

	return category == ERRCODE_FEATURE_NOT_SUPPORTED ||
		category == ERRCODE_SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION ||
		category == ERRCODE_PROGRAM_LIMIT_EXCEEDED;
}

/*
 * dp_reader_mask_error
 *	  Replace the error being handled.  Called in a PG_CATCH block; the
 *	  original goes to the server log only, and its text is made in `context`.
 */
void
dp_reader_mask_error(MemoryContext context, bool planning)
{
	ErrorData  *original;
	int			code;

	MemoryContextSwitchTo(context);
	original = CopyErrorData();
	code = original->sqlerrcode;
	if (planning && may_pass_from_planning(code))
		PG_RE_THROW();

	/*
	 * Logging checks for interrupts, and a second parallel worker's error
	 * would go to the client unchanged.  Raising an error allows interrupts
	 * again.
	 */
	HOLD_INTERRUPTS();
	FlushErrorState();
	if (!may_keep_code(code))
		dp_reader_log(original);
	dp_reader_raise(code);
}

/* ---- reading ---- */

static QueryDesc *
start(PlannedStmt *plan, DestReceiver *receiver,
	  QueryEnvironment *environment)
{
	QueryDesc  *desc = CreateQueryDesc(plan, DP_PRIVATE_QUERY_TEXT,
									   GetActiveSnapshot(), InvalidSnapshot,
									   dp_reader_unpack(plan, receiver), NULL,
									   environment, 0);

	ExecutorStart(desc, 0);
	return desc;
}

static QueryDesc *
start_main(const dp_opened *opened)
{
	const dp_reader_methods *how = opened->how;

	return start(opened->plan, how->receiver(opened->state),
				 how->environment == NULL ? NULL :
				 how->environment(opened->state));
}

static void
end(QueryDesc *desc, bool run)
{
	if (run)
		ExecutorRun(desc, ForwardScanDirection, 0);
	ExecutorFinish(desc);
	ExecutorEnd(desc);
	FreeQueryDesc(desc);
}

/*
 * dp_reader_open
 *	  Prepare plans over private rows for execution under the active snapshot:
 *	  rights are checked and everything is opened, but nothing is read.  The
 *	  caller has set how, state and plan.
 */
void
dp_reader_open(dp_opened *opened, List *scans)
{
	ListCell   *lc;

	opened->scans = NIL;
	foreach(lc, scans)
	{
		DestReceiver *receiver =
		opened->how->scan(opened->state, foreach_current_index(lc));

		opened->scans = lappend(opened->scans,
								start(lfirst_node(PlannedStmt, lc), receiver,
									  NULL));
	}
	opened->main = start_main(opened);
}

/*
 * dp_reader_execute
 *	  Read the rows.  If there are scans, the plan was opened only so that
 *	  everything is looked up: it then runs anew for each part.
 */
void
dp_reader_execute(dp_opened *opened)
{
	ListCell   *lc;

	if (opened->scans == NIL)
	{
		end(opened->main, true);
		return;
	}
	foreach(lc, opened->scans)
		end(lfirst(lc), true);
	end(opened->main, false);
	while (opened->how->next(opened->state))
		end(start_main(opened), true);
}

/*
 * Settings of a process that reads, whatever the asking role has set: no
 * messages, no statistics, and no hash table or sort goes to disk.  Groups of
 * hash tables are public ones, whose total size was checked before
 * (prepare/prepare.c), and sorts are of rows of some units (units/gather.c).
 */
static const char *const quiet[][2] = {
	{"client_min_messages", "error"},
	{"exit_on_error", "off"},	/* otherwise errors are FATAL */
	{"track_counts", "off"},
	{"track_functions", "none"},
	{"trace_sort", "off"},
	{"work_mem", "2147483647"},
	{"hash_mem_multiplier", "2"},
};

/*
 * dp_reader_be_quiet
 *	  Apply them: for good, or until the innermost nest level (NewGUCNestLevel)
 *	  ends.
 */
void
dp_reader_be_quiet(bool for_good)
{
	int			i;

	for (i = 0; i < lengthof(quiet); i++)
		if (for_good)
			dp_base_force(quiet[i][0], quiet[i][1]);
		else
			dp_base_set_local(quiet[i][0], quiet[i][1]);
}

static void
execute_masked(const dp_reader_job *job, const dp_reader_methods *how,
			   void *state)
{
	MemoryContext context = CurrentMemoryContext;
	BufferUsage buffers = pgBufferUsage;
	WalUsage	wal = pgWalUsage;
	int			nest = NewGUCNestLevel();
	dp_opened	opened = {how, state, job->plan};

	dp_reader_be_quiet(false);
	PG_TRY();
	{
		dp_reader_open(&opened, job->scans);
		dp_reader_execute(&opened);
	}
	PG_CATCH();
	{
		pgBufferUsage = buffers;
		pgWalUsage = wal;
		dp_reader_mask_error(context, false);
	}
	PG_END_TRY();
	AtEOXact_GUC(false, nest);
	pgBufferUsage = buffers;
	pgWalUsage = wal;
}

/*
 * dp_reader_run_local
 *	  Run a job in this process, for a role that may read the rows anyway.
 */
void
dp_reader_run_local(const dp_reader_job *job, dp_reader_charge charge,
					void *charge_context, dp_reader_sink sink,
					void *sink_context)
{
	const dp_reader_methods *how = dp_reader_find(job->kind);
	void	   *state = how->begin(job->input, job->data, job->source,
								   job->source_context);

	if (job->request != NULL)
		dp_ledger_charge(job->request, job->receipt);
	charge(charge_context);
	execute_masked(job, how, state);
	how->finish(state, sink, sink_context);
}
