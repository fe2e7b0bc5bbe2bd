/*
 * worker.c
 *	  The background worker: takes requests, runs transactions, answers.
 *
 * There is one worker per database, called by the first connection that needs
 * it (call_worker.c).  Each round takes all pending requests and has decide.c
 * record those that are admitted in one transaction. ledger_internal.h states
 * the protocol.
 *
 * What the worker does as a superuser must not depend on anything that users
 * can set: settings of the database are overridden, triggers and rules do not
 * fire, and dp_catalog_lock_ledger checks who owns the tables.
 */
#include "postgres.h"

#include <signal.h>

#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "../base/dp_base.h"
#include "dp_ledger.h"
#include "ledger_internal.h"

/* ms until requests that met a locked row are tried again */
#define RETRY_DELAY 20

/* ms until a failed task that nobody waits for is tried again */
#define FAILED_DELAY 200

/* ms for which it is tried */
#define UNATTENDED_PATIENCE 600000

/* The current batch. */
static dp_slot *batch[DP_LEDGER_BATCH];
static bool again[DP_LEDGER_BATCH]; /* met a locked row */

/* ms that other databases wait for a process before a busy worker leaves */
#define OTHERS_PATIENCE 100

static MemoryContext batch_context;

static bool announced = false;	/* announce_running has been called */

/* Set while a commit waits, when a cancel must not cut it short. */
static volatile sig_atomic_t committing = false;

/*
 * Have connections with pending requests look for a worker; the lock is held.
 */
static void
wake_pending(Oid database)
{
	dlist_iter	iter;

	dlist_foreach(iter, &dp_ledger_shared->pending)
	{
		dp_slot    *slot = dlist_container(dp_slot, node, iter.cur);

		if (slot->database == database)
			dp_ledger_wake(slot);
	}
}

/*
 * Runs whatever ends the worker: waiting connections learn that a request
 * taken but not answered may have been charged, and that pending ones need a
 * new worker.  Called after the process has left the process array, so that a
 * process that waits for the entry to vanish finds the database unused.
 */
static void
leave_queue(int code, Datum arg)
{
	Oid			database = DatumGetObjectId(arg);
	dp_worker  *worker;
	int			i;

	dp_ledger_commit_ends(false);
	LWLockAcquire(dp_ledger_shared->lock, LW_EXCLUSIVE);
	worker = dp_ledger_find_worker(database);
	if (worker && worker->pid == MyProcPid)
	{
		MemSet(worker, 0, sizeof(*worker));
		if (!announced)
			dp_ledger_note_failure(database);
		for (i = 0; i < dp_ledger_shared->slots; i++)
		{
			dp_slot    *slot = &dp_ledger_shared->slot[i];

			if (slot->state != DP_SLOT_TAKEN || slot->database != database)
				continue;
			if (slot->abandoned)
			{
				dp_ledger_free_slot(slot);
				continue;
			}
			if (slot->unattended)
			{
				/*
				 * It may or may not have been done.  Doing it twice is
				 * harmless.
				 */
				slot->state = DP_SLOT_PENDING;
				dlist_push_head(&dp_ledger_shared->pending, &slot->node);
				continue;
			}
			slot->answer.outcome = DP_OUTCOME_UNKNOWN;
			dp_ledger_answer_slot(slot);
			dp_ledger_wake(slot);
		}
		wake_pending(database);
	}
	LWLockRelease(dp_ledger_shared->lock);
}

/* Claim the entry that a connection made; false: another worker has it. */
static bool
enter_queue(Oid database)
{
	dp_worker  *worker;
	bool		mine;

	LWLockAcquire(dp_ledger_shared->lock, LW_EXCLUSIVE);
	worker = dp_ledger_find_worker(database);
	mine = worker && worker->state == DP_WORKER_STARTING && worker->pid == 0;
	if (mine)
	{
		worker->pid = MyProcPid;
		worker->kept = dp_base_is_kept();
	}
	LWLockRelease(dp_ledger_shared->lock);
	return mine;
}

static void
announce_running(Oid database)
{
	dp_worker  *worker;

	LWLockAcquire(dp_ledger_shared->lock, LW_EXCLUSIVE);
	worker = dp_ledger_find_worker(database);
	if (worker == NULL || worker->pid != MyProcPid)
	{
		/* The entry was dropped. */
		LWLockRelease(dp_ledger_shared->lock);
		dp_base_leave();
	}
	worker->state = DP_WORKER_RUNNING;
	worker->proc = MyProc;
	worker->since = DT_NOEND;
	announced = true;
	wake_pending(database);
	LWLockRelease(dp_ledger_shared->lock);
}

/* Why a worker checks whether to leave. */
typedef enum leave_cause
{
	LEAVE_WISH,					/* it may have been asked to */
	LEAVE_IDLE,					/* no request for dp_pg.worker_idle */
	LEAVE_OTHERS				/* another database finds no process */
} leave_cause;

/*
 * Leave if nothing is pending; decided under the lock that guards the queue,
 * so that no request can slip in.  For another database it leaves also if
 * requests are pending, provided that somebody waits for each and will call
 * another worker.
 */
static void
leave(Oid database, leave_cause cause)
{
	dp_worker  *worker;
	bool		leaves;

	LWLockAcquire(dp_ledger_shared->lock, LW_EXCLUSIVE);
	worker = dp_ledger_find_worker(database);
	leaves = worker && (worker->leave || cause == LEAVE_OTHERS ||
						(cause == LEAVE_IDLE && !worker->kept)) &&
		(cause == LEAVE_OTHERS ? !dp_ledger_has_unattended() :
		 !dp_ledger_has_pending(database));
	if (leaves)
	{
		/*
		 * From here on connections see no running worker and call another;
		 * leave_queue removes the entry.
		 */
		worker->leave = true;
		worker->state = DP_WORKER_STARTING;
		worker->proc = NULL;
	}
	else if (worker && worker->since == DT_NOEND &&
			 !dp_ledger_has_pending(database))
		worker->since = GetCurrentTimestamp();	/* it idles from now on */
	LWLockRelease(dp_ledger_shared->lock);
	if (leaves)
		dp_base_leave();
}

/*
 * SIGINT is how lock_timeout interrupts a wait for a lock.  A commit that
 * waits for a synchronous standby would stop waiting.
 */
static void
worker_handle_cancel(SIGNAL_ARGS)
{
	if (!committing)
		StatementCancelHandler(postgres_signal_arg);
}

/*
 * No setting of the server or the database may weaken a commit, change the
 * meaning of a statement or interrupt it.
 */
static void
worker_force_settings(void)
{
	dp_base_force_worker_settings();
	if (synchronous_commit <= SYNCHRONOUS_COMMIT_REMOTE_FLUSH)
		dp_base_force("synchronous_commit", "on");
	else
		dp_base_force("synchronous_commit", "remote_apply");
	dp_base_force("session_replication_role", "replica");
	dp_base_force("default_transaction_read_only", "off");
	dp_base_force("row_security", "off");
	dp_base_force("standard_conforming_strings", "on");
	dp_base_force("transform_null_equals", "off");
	dp_base_force("TimeZone", "UTC");
	dp_base_force(DP_SETTING_FORCED_PARALLEL, "off");
	dp_base_force("enable_indexscan", "on");
	dp_base_force("enable_tidscan", "on");
	dp_base_force("plan_cache_mode", "auto");
}

/* Give the same answer to all requests of a transaction that failed. */
static void
fail(int first, int n, dp_outcome outcome, int sqlstate)
{
	int			i;

	for (i = first; i < first + n; i++)
	{
		MemSet(&batch[i]->answer, 0, sizeof(dp_answer));
		again[i] = outcome == DP_OUTCOME_LOCKED;
		batch[i]->answer.outcome = outcome;
		batch[i]->answer.sqlstate = sqlstate;
	}
}

/* Whether these requests do nothing but charge. */
static bool
only_charges(int first, int n)
{
	int			i;

	for (i = first; i < first + n; i++)
		if (batch[i]->request.action != DP_LEDGER_CHARGE ||
			batch[i]->request.task.kind != DP_TASK_NONE)
			return false;
	return true;
}

/*
 * One transaction.  Returns false if it failed, perhaps because of a single
 * request.  The answers are filled in either way.
 */
static bool
run_transaction(int first, int n)
{
	volatile bool commit_begun = false;
	volatile bool ok = true;

	dp_base_force_lock_timeout();
	pgstat_report_activity(STATE_RUNNING, "recording privacy charges");
	PG_TRY();
	{
		SetCurrentStatementStartTimestamp();
		StartTransactionCommand();
		PushActiveSnapshot(GetTransactionSnapshot());
		dp_ledger_decide(&batch[first], &again[first], n);
		PopActiveSnapshot();
		committing = true;
		CHECK_FOR_INTERRUPTS(); /* a cancel that came before `committing` */
		commit_begun = true;
		if (only_charges(first, n))
			dp_ledger_commit_begins();
		CommitTransactionCommand();
		dp_ledger_commit_ends(true);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		HOLD_INTERRUPTS();
		dp_ledger_commit_ends(false);
		MemoryContextSwitchTo(batch_context);
		error = CopyErrorData();
		EmitErrorReport();
		AbortCurrentTransaction();
		FlushErrorState();
		if (commit_begun)
			fail(first, n, DP_OUTCOME_UNKNOWN, 0);
		else if (error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE)
			fail(first, n, DP_OUTCOME_LOCKED, error->sqlerrcode);
		else
		{
			fail(first, n, DP_OUTCOME_FAILED, error->sqlerrcode);
			ok = false;
		}
		RESUME_INTERRUPTS();
	}
	PG_END_TRY();
	committing = false;
	MemoryContextSwitchTo(batch_context);
	MemoryContextReset(batch_context);

	/*
	 * A termination request may have cut short the wait for a synchronous
	 * standby.  Then the commit must not be acknowledged: the process exits
	 * here, and leave_queue tells the connections that the outcome is unknown.
	 */
	CHECK_FOR_INTERRUPTS();
	return ok;
}

/*
 * A task that nobody waits for must not be lost because it failed once: a disk
 * or the lock table may have been full.  It is tried for ten minutes, but not
 * if the extension was dropped.
 */
static bool
try_unattended_again(dp_slot *slot, TimestampTz now)
{
	const dp_answer *answer = &slot->answer;

	if (!slot->unattended ||
		answer->sqlstate == ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE ||
		(answer->outcome != DP_OUTCOME_FAILED &&
		 answer->outcome != DP_OUTCOME_UNKNOWN))
		return false;
	if (slot->deadline == DT_NOEND)
		slot->deadline = TimestampTzPlusMilliseconds(now, UNATTENDED_PATIENCE);
	return true;
}

/*
 * Decide and answer n requests.  If none of them could be answered, returns
 * the ms after which to try again; otherwise 0.
 */
static long
worker_serve(int n)
{
	TimestampTz now;
	int			answered = 0;
	bool		failed = false;
	int			i;

	if (!run_transaction(0, n) && n > 1)
		for (i = 0; i < n; i++)
			(void) run_transaction(i, 1);
	now = GetCurrentTimestamp();
	for (i = 0; i < n; i++)
	{
		if (try_unattended_again(batch[i], now))
			failed = again[i] = true;
		if (again[i] && now < batch[i]->deadline)
			dp_ledger_put_back(batch[i]);
		else
			batch[answered++] = batch[i];
	}
	dp_ledger_reply(batch, answered);
	pgstat_report_stat(false);
	pgstat_report_activity(STATE_IDLE, NULL);
	return answered > 0 ? 0 : failed ? FAILED_DELAY : RETRY_DELAY;
}

/*
 * dp_ledger_worker_main
 *	  Entry point of the background worker; arg is the database's OID.  Returns
 *	  only if the entry is gone or another process has it.
 */
void
dp_ledger_worker_main(Datum arg)
{
	Oid			database = DatumGetObjectId(arg);
	bool		lone = false;	/* a single connection asks, perhaps again
								 * soon */

	/* Interrupts are serviced only where the loop checks for them. */
	pqsignal(SIGTERM, die);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGINT, worker_handle_cancel);

	if (!enter_queue(database))
		return;
	on_shmem_exit(leave_queue, arg);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(database, InvalidOid, 0);
	worker_force_settings();
	batch_context = AllocSetContextCreate(TopMemoryContext, "dp_pg ledger",
										  ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(batch_context);
	pgstat_report_appname("dp_pg ledger");
	pgstat_report_activity(STATE_IDLE, NULL);
	announce_running(database);

	for (;;)
	{
		int			n;
		int			events = WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH;
		long		timeout = dp_setting_worker_idle;

		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
		n = dp_ledger_take(database, batch, DP_LEDGER_BATCH);
		if (n > 0)
		{
			lone = n == 1;
			timeout = worker_serve(n);
			if (dp_base_must_yield(DP_WORKER_LEDGER, OTHERS_PATIENCE))
				leave(database, LEAVE_OTHERS);
			if (timeout == 0)
				continue;
		}
		else
		{
			leave(database, LEAVE_WISH);
			if (lone && dp_base_spin(DP_LEDGER_SPIN_WORKER))
				continue;
			lone = false;
		}
		if ((WaitLatch(MyLatch, events, timeout, PG_WAIT_EXTENSION) &
			 WL_TIMEOUT) && n == 0)
			leave(database, LEAVE_IDLE);
	}
}
