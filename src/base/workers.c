/*
 * workers.c
 *	  The pool of dp_pg's processes.
 *
 * The ledger and the readers are background workers.  Slots for these are few
 * and shared with parallel queries and others.  So dp_pg.workers of them are
 * registered while the library is preloaded, which secures their slots, and
 * wait without a database.  More are registered when needed, as long as the
 * server has slots, and exit when idle.
 *
 * Each kind of worker (ledger, reader) has its own list of wanted workers.  A
 * kept worker takes the oldest entry, and becomes and remains a worker of that
 * kind and database.  It can change its database only as a new process: it
 * exits with code 1, the postmaster starts it again at once, and writes a line
 * to the log.  So this is done only if a database finds no process: the worker
 * that has been idle longest is asked to leave, and one that is always busy
 * leaves after a while.
 *
 * One of the kept workers is never a reader: readers wait for the ledger, and
 * the ledger waits for nobody.
 */
#include "postgres.h"

#include <sched.h>
#include <signal.h>

#include "miscadmin.h"
#include "pgstat.h"
#include "portability/instr_time.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/pmsignal.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "dp_base.h"
#include "base_internal.h"

/* ----------------
 *		Waiting for another process of dp_pg.
 * ----------------
 */

/*
 * dp_base_spin
 *	  Spin on this process's latch for a while; true if it was set.  Yields the
 *	  processor to other processes meanwhile.
 */
bool
dp_base_spin(int usec)
{
	volatile Latch *latch = MyLatch;
	instr_time	start;
	instr_time	now;

	INSTR_TIME_SET_CURRENT(start);
	do
	{
		if (latch->is_set)
			return true;
		CHECK_FOR_INTERRUPTS();
		sched_yield();
		INSTR_TIME_SET_CURRENT(now);
		INSTR_TIME_SUBTRACT(now, start);
	} while (INSTR_TIME_GET_MICROSEC(now) < usec);
	return latch->is_set;
}

/*
 * dp_base_wait
 *	  Wait until this process's latch is set, at most `timeout` ms, and reset
 *	  it.  The caller then checks the condition that it waits for.
 */
void
dp_base_wait(long timeout)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 timeout, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

/*
 * dp_base_watch
 *	  The same, after spinning on the latch for `usec`.
 */
void
dp_base_watch(int usec, long timeout)
{
	if (usec > 0 && dp_base_spin(usec))
	{
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
	else
		dp_base_wait(timeout);
}

/* ----------------
 *		What dp_pg's background workers share: settings that nobody can change
 *		for them, and areas of shared memory.
 * ----------------
 */

/* ---- settings ---- */

/*
 * dp_base_force
 *	  Set a setting for the rest of this process, overriding those of the
 *	  server, the database and the role.
 */
void
dp_base_force(const char *name, const char *value)
{
	SetConfigOption(name, value, PGC_SUSET, PGC_S_OVERRIDE);
}

/*
 * dp_base_force_worker_settings
 *	  No setting may change the meaning of a worker's statements or interrupt
 *	  it.
 */
void
dp_base_force_worker_settings(void)
{
	dp_base_force("search_path", "pg_catalog, pg_temp");
	dp_base_force("default_transaction_isolation", "read committed");
	dp_base_force("default_transaction_deferrable", "off");
	dp_base_force("statement_timeout", "0");
	dp_base_force("idle_in_transaction_session_timeout", "0");
	if (GetConfigOption("transaction_timeout", true, false) != NULL)
		dp_base_force("transaction_timeout", "0");		/* since 17 */
	dp_base_force("jit", "off");
}

/*
 * dp_base_force_lock_timeout
 *	  Wait for locks no longer than the present dp_pg.worker_lock_timeout: the
 *	  deadlock detector does not see connections that wait for a worker.
 */
void
dp_base_force_lock_timeout(void)
{
	char		value[16];

	if (LockTimeout == dp_setting_worker_lock_timeout)
		return;
	snprintf(value, sizeof(value), "%d", dp_setting_worker_lock_timeout);
	dp_base_force("lock_timeout", value);
}

/* ---- shared memory ---- */

#define AREAS 4					/* of workers, ledger, readers and answers */

typedef struct shared_area
{
	const char *name;
	Size		(*size) (void);
	void		(*start) (void *area, bool fresh, LWLock *lock);
} shared_area;

static shared_area areas[AREAS];
static int	nareas = 0;
static bool requested = false;
static shmem_request_hook_type next_shmem_request = NULL;
static shmem_startup_hook_type next_shmem_startup = NULL;

static void
request_areas(void)
{
	int			i;

	if (next_shmem_request)
		next_shmem_request();
	for (i = 0; i < nareas; i++)
	{
		RequestAddinShmemSpace(areas[i].size());
		RequestNamedLWLockTranche(areas[i].name, 1);
	}
	requested = true;
}

/* Some libraries do not call the hook that was installed before theirs. */
static void
require_requested(void)
{
	if (!requested && !IsUnderPostmaster)
		ereport(FATAL,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("shared memory of dp_pg was not requested"),
				 errdetail("A library that is preloaded after dp_pg does not "
						   "call the shmem_request_hook that was installed "
						   "before its own."),
				 errhint("Put dp_pg last in shared_preload_libraries.")));
}

static void
start_areas(void)
{
	int			i;

	if (next_shmem_startup)
		next_shmem_startup();
	require_requested();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	for (i = 0; i < nareas; i++)
	{
		Size		size = areas[i].size();
		bool		found;
		void	   *area = ShmemInitStruct(areas[i].name, size, &found);

		if (!found)
			memset(area, 0, size);
		areas[i].start(area, !found,
					   &GetNamedLWLockTranche(areas[i].name)->lock);
	}
	LWLockRelease(AddinShmemInitLock);
}

/*
 * dp_base_share
 *	  Request an area of shared memory with a lock; from _PG_init, preloading.
 *	  `start` is called in every process that attaches it; a fresh area is all
 *	  zero and must be initialized.
 */
void
dp_base_share(const char *name, Size (*size) (void),
			  void (*start) (void *area, bool fresh, LWLock *lock))
{
	Assert(nareas < AREAS);
	if (nareas == 0)
	{
		next_shmem_request = shmem_request_hook;
		shmem_request_hook = request_areas;
		next_shmem_startup = shmem_startup_hook;
		shmem_startup_hook = start_areas;
	}
	areas[nareas].name = name;
	areas[nareas].size = size;
	areas[nareas++].start = start;
}

#define LIBRARY "dp_pg"
#define TYPE "dp_pg worker"

/* ms that a worker must idle before it leaves for a database with a process */
#define IDLE_ENOUGH 1000
/* ms before another worker is asked to leave */
#define LEAVE_AGAIN 20
/* ms after which a shortage is over unless it is reported again */
#define SHORT_FORGOTTEN 2000

typedef struct kept_worker
{
	PGPROC	   *proc;			/* NULL: does not run */
	bool		seen;			/* has run once, so the server had a slot */
	dp_worker_kind kind;		/* DP_WORKER_KINDS: waits */
} kept_worker;

/* A database finds no process of a kind. */
typedef struct shortage
{
	TimestampTz since;			/* 0: no shortage */
	TimestampTz seen;			/* last report */
	Oid			database;		/* that reported it */
} shortage;

typedef struct kept_workers
{
	LWLock	   *lock;			/* immutable; never held with another one */
	TimestampTz asked;			/* when a worker was last asked to leave */
	shortage	lacking[DP_WORKER_KINDS];
	kept_worker worker[FLEXIBLE_ARRAY_MEMBER];
} kept_workers;

static kept_workers *shared = NULL;
static const dp_worker_methods *methods[DP_WORKER_KINDS];
static kept_worker *mine = NULL;	/* NULL unless this is a kept worker */

static Size
workers_shared_size(void)
{
	return add_size(offsetof(kept_workers, worker),
					mul_size(dp_setting_workers, sizeof(kept_worker)));
}

static void
workers_start_shared(void *area, bool fresh, LWLock *lock)
{
	int			i;

	shared = area;
	if (!fresh)
		return;
	shared->lock = lock;
	for (i = 0; i < dp_setting_workers; i++)
		shared->worker[i].kind = DP_WORKER_KINDS;
}

/* ---- registration ---- */

static void
describe(BackgroundWorker *worker, const char *function, Datum arg)
{
	MemSet(worker, 0, sizeof(*worker));
	worker->bgw_flags = BGWORKER_SHMEM_ACCESS |
		BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker->bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker->bgw_restart_time = BGW_NEVER_RESTART;
	strlcpy(worker->bgw_library_name, LIBRARY, BGW_MAXLEN);
	strlcpy(worker->bgw_function_name, function, BGW_MAXLEN);
	strlcpy(worker->bgw_name, TYPE, BGW_MAXLEN);
	strlcpy(worker->bgw_type, TYPE, BGW_MAXLEN);
	worker->bgw_main_arg = arg;
}

/* dp_base_workers_init: from _PG_init, preloading. */
void
dp_base_workers_init(void)
{
	BackgroundWorker worker;
	int			i;

	dp_base_share("dp_pg_workers", workers_shared_size,
				  workers_start_shared);
	for (i = 0; i < dp_setting_workers; i++)
	{
		describe(&worker, "dp_base_worker_main", Int32GetDatum(i));
		worker.bgw_restart_time = 0;
		RegisterBackgroundWorker(&worker);
	}
}

/* dp_base_add_workers: register a kind; from _PG_init, preloading. */
void
dp_base_add_workers(dp_worker_kind kind, const dp_worker_methods *table)
{
	methods[kind] = table;
}

/* ---- the kept workers; the caller of a static function locks ---- */

static int
count_seen(void)
{
	int			n = 0;
	int			i;

	for (i = 0; i < dp_setting_workers; i++)
		n += shared->worker[i].seen ? 1 : 0;
	return n;
}

/* Whether one more kept worker may be of this kind. */
static bool
may_be(dp_worker_kind kind)
{
	int			others = 0;
	int			i;

	if (kind != DP_WORKER_READER)
		return true;
	for (i = 0; i < dp_setting_workers; i++)
		if (shared->worker[i].kind == kind && shared->worker[i].proc != NULL)
			others++;
	return others + 1 < count_seen();
}

static bool
wake_waiting(void)
{
	bool		waits = false;
	int			i;

	for (i = 0; i < dp_setting_workers; i++)
	{
		const kept_worker *kept = &shared->worker[i];

		if (kept->proc == NULL || kept->kind != DP_WORKER_KINDS)
			continue;
		SetLatch(&kept->proc->procLatch);
		waits = true;
	}
	return waits;
}

/* dp_base_kept_readers: how many kept workers may be readers. */
int
dp_base_kept_readers(void)
{
	int			seen;

	LWLockAcquire(shared->lock, LW_SHARED);
	seen = count_seen();
	LWLockRelease(shared->lock);
	return Max(seen - 1, 0);
}

/* dp_base_is_kept: whether this process is a kept worker. */
bool
dp_base_is_kept(void)
{
	return mine != NULL;
}

/*
 * dp_base_leave
 *	  Exit; a kept worker is started again.
 */
void
dp_base_leave(void)
{
	proc_exit(mine != NULL ? 1 : 0);
}

static void
workers_vanish(int code, Datum arg)
{
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	mine->proc = NULL;
	mine->kind = DP_WORKER_KINDS;
	LWLockRelease(shared->lock);
}

static void
appear(int number)
{
	mine = &shared->worker[number];
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	mine->proc = MyProc;
	mine->seen = true;
	mine->kind = DP_WORKER_KINDS;
	(void) wake_waiting();		/* there is one more, so may_be can be true */
	LWLockRelease(shared->lock);
	on_shmem_exit(workers_vanish, (Datum) 0);
}

/* Become a worker of the kind, or wait again if DP_WORKER_KINDS. */
static bool
become(dp_worker_kind kind)
{
	bool		may;

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	may = may_be(kind);
	if (may)
	{
		mine->kind = kind;
		if (kind != DP_WORKER_KINDS)
			shared->lacking[kind].since = 0;
	}
	LWLockRelease(shared->lock);
	return may;
}

/* Take the oldest entry; false: there is none that this process may take. */
static bool
workers_serve(void)
{
	dp_worker_kind best = DP_WORKER_KINDS;
	dp_worker_kind kind;
	TimestampTz oldest = DT_NOEND;
	Datum		arg = (Datum) 0;

	for (kind = 0; kind < DP_WORKER_KINDS; kind++)
	{
		TimestampTz since;
		Datum		wanted;
		bool		may;

		LWLockAcquire(shared->lock, LW_SHARED);
		may = may_be(kind);
		LWLockRelease(shared->lock);
		if (!may || !methods[kind]->wanted(&since, &wanted) || since >= oldest)
			continue;
		best = kind;
		oldest = since;
		arg = wanted;
	}
	if (best == DP_WORKER_KINDS || !become(best))
		return false;
	methods[best]->main(arg);

	/* Another worker was faster. */
	(void) become(DP_WORKER_KINDS);
	return true;
}

/*
 * dp_base_worker_main
 *	  Entry point of a kept worker; arg is its number.
 */
void
dp_base_worker_main(Datum arg)
{
	appear(DatumGetInt32(arg));
	for (;;)
	{
		pqsignal(SIGTERM, die);
		pqsignal(SIGHUP, SignalHandlerForConfigReload);
		pqsignal(SIGINT, SIG_IGN);
		BackgroundWorkerUnblockSignals();
		ResetLatch(MyLatch);
		if (ProcDiePending)
			proc_exit(1);		/* no message: it was idle */
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
		if (!workers_serve())
			(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH, -1,
							 PG_WAIT_EXTENSION);
	}
}

/* ---- requests for workers ---- */

/* Report a shortage to busy workers; the lock is held. */
static void
note_shortage(dp_worker_kind kind, TimestampTz now)
{
	shortage   *lack = &shared->lacking[kind];

	if (lack->since == 0 ||
		TimestampDifferenceExceeds(lack->seen, now, SHORT_FORGOTTEN))
		lack->since = now;
	lack->seen = now;
	lack->database = MyDatabaseId;
}

/* Whether a kept worker has exited and is not back yet.  The lock is held. */
static bool
is_one_missing(void)
{
	int			i;

	for (i = 0; i < dp_setting_workers; i++)
		if (shared->worker[i].seen && shared->worker[i].proc == NULL)
			return true;
	return false;
}

/*
 * No process is free: ask an idle one to leave.
 *
 * Up to PostgreSQL 15, if a child exits just before the postmaster sleeps,
 * that may not notice for up to a minute, because the signal was handled
 * before its select().  So it is signaled.
 */
static void
workers_make_room(dp_worker_kind kind, bool urgent)
{
	TimestampTz now = GetCurrentTimestamp();
	bool		asked = false;
	bool		kept_too;
	bool		leaving;
	bool		missing;
	int			idle;

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	leaving = !TimestampDifferenceExceeds(shared->asked, now, LEAVE_AGAIN);
	kept_too = may_be(kind);
	missing = is_one_missing();
	if (urgent)
		note_shortage(kind, now);
	LWLockRelease(shared->lock);
	if (missing)
		SendPostmasterSignal(PMSIGNAL_BACKGROUND_WORKER_CHANGE);
	if (leaving)
		return;
	for (idle = DP_WORKER_KINDS - 1; idle >= 0 && !asked; idle--)
		asked = methods[idle]->spare(urgent ? 0 : IDLE_ENOUGH,
									 kept_too || idle == DP_WORKER_READER);
	if (!asked)
		return;
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	shared->asked = now;
	LWLockRelease(shared->lock);
}

/*
 * dp_base_call_worker
 *	  Find a process for a wanted worker of this kind and database.  If one is
 *	  registered, with `arg`, *handle is set, palloc'd.  Otherwise call again
 *	  soon, since workers that were woken may take an older entry.  False:
 *	  there is no process.
 */
bool
dp_base_call_worker(dp_worker_kind kind, Datum arg, dp_urgency urgency,
					BackgroundWorkerHandle **handle)
{
	BackgroundWorker worker;
	bool		woken;

	*handle = NULL;
	LWLockAcquire(shared->lock, LW_SHARED);
	woken = urgency != DP_URGENCY_SPARE && may_be(kind) && wake_waiting();
	LWLockRelease(shared->lock);
	if (woken)
		return true;
	describe(&worker, methods[kind]->function, arg);
	worker.bgw_notify_pid = MyProcPid;
	if (RegisterDynamicBackgroundWorker(&worker, handle))
		return true;
	*handle = NULL;
	if (urgency != DP_URGENCY_SPARE)
		workers_make_room(kind, urgency == DP_URGENCY_NONE_THERE);
	return false;
}

/*
 * Whether it would help against a lack of `kind` if this process, of kind
 * `own`, left.
 */
static bool
can_help(dp_worker_kind own, dp_worker_kind kind)
{
	return mine == NULL || own == DP_WORKER_READER || may_be(kind);
}

/*
 * dp_base_must_yield
 *	  Whether this busy process of kind `own` must leave because another
 *	  database has found no process for `patience` ms.  True once per shortage.
 */
bool
dp_base_must_yield(dp_worker_kind own, int patience)
{
	TimestampTz now = GetCurrentTimestamp();
	bool		yield = false;
	dp_worker_kind kind;

	for (kind = 0; kind < DP_WORKER_KINDS && !yield; kind++)
	{
		shortage   *lack = &shared->lacking[kind];

		if (lack->since == 0)	/* usual; read without the lock, a delay is
								 * harmless */
			continue;
		LWLockAcquire(shared->lock, LW_EXCLUSIVE);
		yield = lack->since != 0 && lack->database != MyDatabaseId &&
			can_help(own, kind) &&
			!TimestampDifferenceExceeds(lack->seen, now, SHORT_FORGOTTEN) &&
			TimestampDifferenceExceeds(lack->since, now, patience);
		if (yield)
			lack->since = 0;
		LWLockRelease(shared->lock);
	}
	return yield;
}
