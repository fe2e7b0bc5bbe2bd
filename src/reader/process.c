/*
 * process.c
 *	  A reader, the background worker that reads private rows: its loop, its
 *	  transaction, snapshot and locks, and trees that come again.
 */
#include "postgres.h"

#include <signal.h>

#include "access/xact.h"
#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/nodes.h"
#include "pgstat.h"
#include "port/pg_bitutils.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "tcop/tcopprot.h"
#include "utils/combocid.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timeout.h"

#include "../math/numbers/dp_numbers.h"
#include "../base/dp_base.h"
#include "../ledger/dp_ledger.h"
#include "dp_reader.h"
#include "reader_internal.h"

/* ----------------
 *		The nodes of a message, and those of messages that are repeated.
 *
 * Connections repeat small queries, and reading their plans from text takes as
 * long as executing them.  So a reader keeps the trees of texts that were
 * received twice, at places given by their hashes.  A text follows from the
 * question and from public facts, and its trees from the text.
 *
 * The executor changes nothing in a plan except what is set here in its head.
 * ----------------
 */

#define PLACES 16
#define MOST_TEXT 32768			/* bytes */

/* Lives in a memory context of its own. */
typedef struct kept_trees
{
	MemoryContext context;
	Size		size;
	char	   *text;
	dp_reader_trees trees;
} kept_trees;

/* Hashes of the last text at each place, also before its trees are kept. */
static uint32 last_hash[PLACES];
static kept_trees *kept[PLACES];

static void
parse(const dp_message *message, dp_reader_trees *out)
{
	out->plan = stringToNode(dp_reader_find_part(message, DP_PART_PLAN));
	out->scans = stringToNode(dp_reader_find_part(message, DP_PART_SCANS));
	out->input = stringToNode(dp_reader_find_part(message, DP_PART_INPUT));
}

static PlannedStmt *
copy_head(const PlannedStmt *plan)
{
	PlannedStmt *copy = palloc(sizeof(PlannedStmt));

	*copy = *plan;
	return copy;
}

/* Copy the heads, for one job. */
static void
lend(const dp_reader_trees *trees, dp_reader_trees *out)
{
	ListCell   *lc;

	out->plan = copy_head(trees->plan);
	out->scans = NIL;
	foreach(lc, trees->scans)
		out->scans = lappend(out->scans,
							 copy_head(lfirst_node(PlannedStmt, lc)));
	out->input = copyObject(trees->input);
}

static kept_trees *
keep(const dp_message *message, const char *text, Size size)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "dp_pg kept trees",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	kept_trees *trees = palloc(sizeof(kept_trees));

	trees->context = context;
	trees->size = size;
	trees->text = palloc(size);
	memcpy(trees->text, text, size);
	parse(message, &trees->trees);
	MemoryContextSwitchTo(old);
	MemoryContextSetParent(context, TopMemoryContext);
	return trees;
}

/*
 * read_trees
 *	  Get the plan, the scans and the input of a message.  The caller may
 *	  change the heads of the first two and all of the last.
 */
static void
read_trees(const dp_message *message, dp_reader_trees *out)
{
	const char *text = dp_reader_find_part(message, DP_PART_PLAN);
	Size		size = dp_reader_find_part(message, DP_PART_DATA) - text;
	uint32		hash;
	int			place;

	if (size > MOST_TEXT)
	{
		parse(message, out);
		return;
	}
	hash = DatumGetUInt32(hash_any((const unsigned char *) text, (int) size));
	place = hash % PLACES;
	if (kept[place] == NULL || kept[place]->size != size ||
		memcmp(kept[place]->text, text, size) != 0)
	{
		if (last_hash[place] != hash)
		{
			last_hash[place] = hash;
			parse(message, out);
			return;
		}
		if (kept[place] != NULL)
			MemoryContextDelete(kept[place]->context);
		kept[place] = NULL;
		kept[place] = keep(message, text, size);
	}
	lend(&kept[place]->trees, out);
}

/* ----------------
 *		A reader takes over what a job depends on, settings, transaction,
 *		snapshot and user, and drops it afterwards.
 *
 * The reader's transaction relates to the connection's as a parallel worker's
 * does: it sees what that has written and not committed, and writes nothing.
 * It is always rolled back, which costs nothing and leaves no trace.
 * ----------------
 */

/*
 * state_apply_settings
 *	  Apply the settings outside of a transaction, so that they persist.
 *	  Nothing is done if they are those of the last job, and settings that have
 *	  their value already are not set again.
 */
static void
state_apply_settings(const dp_message *message)
{
	static StringInfoData applied = {0};
	const char *at = dp_reader_find_part(message, DP_PART_SETTINGS);
	int			size = message->size[DP_PART_SETTINGS];
	const char *end = at + size;

	if (applied.data == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

		initStringInfo(&applied);
		MemoryContextSwitchTo(old);
	}
	if (applied.len == size && memcmp(applied.data, at, size) == 0)
		return;
	resetStringInfo(&applied);	/* valid again when all are applied */
	while (at < end)
	{
		const char *name = at;
		const char *value = name + strlen(name) + 1;

		if (strcmp(GetConfigOption(name, false, false), value) != 0)
			SetConfigOption(name, value, PGC_SUSET, PGC_S_SESSION);
		at = value + strlen(value) + 1;
	}
	appendBinaryStringInfo(&applied, end - size, size);
}

/*
 * state_begin
 *	  Begin a transaction with the connection's snapshot, as its user.
 *
 * What its transaction has written to catalogs is only in its own caches, so
 * the reader's are reset.
 */
static void
state_begin(const dp_message *message, PGPROC *session)
{
	char	   *state = (char *) dp_reader_find_part(message,
													 DP_PART_TRANSACTION);
	Snapshot	snapshot;

	SetCurrentStatementStartTimestamp();
	StartParallelWorkerTransaction(state);
	RestoreComboCIDState((char *) dp_reader_find_part(message, DP_PART_COMBO));
	snapshot = RestoreSnapshot((char *) dp_reader_find_part(message,
															DP_PART_SNAPSHOT));
	RestoreTransactionSnapshot(snapshot, session);
	PushActiveSnapshot(snapshot);
	if (message->writes)
		InvalidateSystemCaches();
	SetUserIdAndSecContext(message->user, message->security |
						   SECURITY_LOCAL_USERID_CHANGE |
						   SECURITY_RESTRICTED_OPERATION);
}

/* ---- locks ---- */

/* Join the connection's lock group, as its parallel workers do. */
static void
join_group(PGPROC *session)
{
	if (MyProc->lockGroupLeader == NULL &&
		!BecomeLockGroupMember(session, session->pid))
		dp_reader_raise_gone();
}

/*
 * state_lock
 *	  Lock every relation for reading, as the connection has.  False if the
 *	  plan must do without parallel workers.
 *
 * Only the connection itself can hold a conflicting lock.  But another process
 * may be queued for one, waiting for the connection, and the deadlock detector
 * does not know that the connection waits for its reader.  Then the reader
 * joins the lock group of the connection, which is granted such locks at once.
 * A member of a group cannot lead one of its own, so it has no workers then.
 */
static bool
state_lock(const dp_message *message, PGPROC *session)
{
	const Oid  *relids = (const Oid *) dp_reader_find_part(message,
														   DP_PART_RELATIONS);
	int			n = message->size[DP_PART_RELATIONS] / sizeof(Oid);
	int			i;

	for (i = 0; i < n; i++)
	{
		if (ConditionalLockRelationOid(relids[i], AccessShareLock))
			continue;
		join_group(session);
		LockRelationOid(relids[i], AccessShareLock);
	}
	return MyProc->lockGroupLeader == NULL;
}

/* Is the process a member of the group?  *alone: is it the only one? */
static bool
is_member(PGPROC *leader, const PGPROC *process, bool *alone)
{
	bool		found = false;
	int			n = 0;
	dlist_iter	iter;

	dlist_foreach(iter, &leader->lockGroupMembers)
	{
		n++;
		if (dlist_container(PGPROC, lockGroupLink, iter.cur) == process)
			found = true;
	}
	*alone = found && n == 1;
	return found;
}

/*
 * Leave the lock group, the connection's or that of this process and its
 * parallel workers, which have ended; all locks are released.  If the leader
 * of a group has ended, the last member must clean up when it ends, so a
 * reader in that case ends (false).
 */
static bool
leave_group(void)
{
	PGPROC	   *leader = MyProc->lockGroupLeader;
	LWLock	   *lock;
	bool		alone;
	bool		left;

	if (leader == NULL)
		return true;
	lock = LockHashPartitionLockByProc(leader);
	LWLockAcquire(lock, LW_EXCLUSIVE);
	left = is_member(leader, leader, &alone) && (leader != MyProc || alone);
	if (left)
	{
		dlist_delete(&MyProc->lockGroupLink);
		MyProc->lockGroupLeader = NULL;
	}
	LWLockRelease(lock);
	return left;
}

/*
 * state_end
 *	  Roll back and release everything; also called after an error, and if
 *	  nothing has begun.  False if this process cannot continue.
 */
static bool
state_end(const dp_message *message)
{
	AbortOutOfAnyTransaction();
	if (message != NULL && message->writes)
		InvalidateSystemCaches();
	return leave_group();
}

/* ----------------
 *		A reader: the background worker that reads private rows for
 *		connections.
 *
 * Readers of a database are started by the connections that need them and
 * leave when idle. reader_internal.h states the protocol.
 *
 * What a reader does must depend neither on anything that a user can set,
 * apart from what a message contains, nor on the rows of earlier jobs:
 * settings are overridden, and nothing of a job survives its transaction
 * except PostgreSQL's caches of catalogs and the trees of texts that are
 * repeated.
 * ----------------
 */

#define SHARED_BYTES ((Size) 512 * 1024)
#define SHARED_WORKER ((Size) 96 * 1024)	/* mostly its queues */
#define ROW_HEADER 65536		/* of a row that is sent, with its keys */
#define PLAN_FACTOR 5			/* a copy, and two sizes of the text */
#define SLACK ((Size) 1024 * 1024)	/* fragmentation: free memory in pieces
									 * that are too small */
#define GIVE_BACK_AFTER 1000	/* milliseconds */

typedef struct dp_reading_work
{
	shm_mq_handle *from;		/* the queue from the connection */
	shm_mq_handle *to;
	const dp_message *message;	/* NULL until it was received */
	bool		ended;			/* there are no more pieces of it */
	bool		prompt;			/* what is released is sent at once */
} dp_reading_work;

static int	my_entry = -1;
static volatile sig_atomic_t working = false;
static bool settled = true;		/* nothing to give back since the last job */

static void
process_vanish(int code, Datum arg)
{
	dp_reader_vanish(my_entry);
}

/*
 * SIGINT: the connection gave up, or a timeout of this process.  One that
 * arrives late must not affect the next job.
 */
static void
process_handle_cancel(SIGNAL_ARGS)
{
	if ((working && dp_reader_shared->entry[my_entry].abandoned) ||
		get_timeout_indicator(LOCK_TIMEOUT, false))
		StatementCancelHandler(postgres_signal_arg);
}

static void
process_force_settings(void)
{
	dp_base_be_alone();
	dp_base_force_worker_settings();
	dp_reader_be_quiet(true);
	dp_base_force("default_transaction_read_only", "on");
	dp_base_force("temp_file_limit", "-1");
}

/* ---- one job ---- */

static const void *
process_receive_message(dp_reading_work *work, Size *size)
{
	void	   *data;
	shm_mq_result result = shm_mq_receive(work->from, size, &data, true);

	if (result == SHM_MQ_WOULD_BLOCK)
	{
		if (dp_reader_is_alone(my_entry))
			(void) dp_base_spin(DP_READER_SPIN);
		result = shm_mq_receive(work->from, size, &data, false);
	}
	if (result != SHM_MQ_SUCCESS)
		dp_reader_raise_gone();
	return data;
}

static void
process_send_message(dp_reading_work *work, const void *data, Size size,
					 bool flush)
{
	if (shm_mq_send(work->to, size, data, false, flush) != SHM_MQ_SUCCESS)
		dp_reader_raise_gone();
}

/* dp_reader_source: what follows the message; an empty piece ends it */
static const void *
receive_piece(void *context, Size *size)
{
	dp_reading_work *work = context;
	const void *data = process_receive_message(work, size);

	work->ended = *size == 0;
	return work->ended ? NULL : data;
}

/* dp_reader_sink: sends values that may be released */
static void
send_released(void *context, const void *data, Size size)
{
	dp_reading_work *work = context;

	process_send_message(work, data, size, work->prompt);
}

static void *
begin(dp_reading_work *work, const dp_reader_methods *how, const Node *input)
{
	const dp_message *message = work->message;
	void	   *state;

	work->prompt = how->prompt;
	work->ended = !message->more;
	state = how->begin(input, dp_reader_find_part(message, DP_PART_DATA),
					   message->more ? receive_piece : NULL, work);
	if (!work->ended)
		elog(ERROR, "reader has not received all that was sent");
	return state;
}

/* Number of parallel workers that a plan asks for. */
static int
count_workers(const Plan *plan)
{
	int			n = 0;
	ListCell   *lc;

	if (plan == NULL)
		return 0;
	if (IsA(plan, Gather))
		n = ((const Gather *) plan)->num_workers;
	foreach(lc, dp_base_plans_below(plan))
		n += count_workers(lfirst(lc));
	return n;
}

static int
workers_of(const PlannedStmt *plan)
{
	int			workers;
	ListCell   *lc;

	if (!plan->parallelModeNeeded)
		return 0;
	workers = count_workers(plan->planTree);
	foreach(lc, plan->subplans)
		workers += count_workers(lfirst(lc));
	return Min(workers, max_worker_processes);
}

/* Most shared memory that the executor takes for this number of workers. */
static Size
shared_bytes(const dp_message *message, int workers)
{
	return SHARED_BYTES + workers * SHARED_WORKER + message->shared +
		message->size[DP_PART_PLAN] + message->size[DP_PART_SCANS];
}

/*
 * Reserve what rows may need.  With parallel workers the reader does the work
 * of one in addition to its own, holds a row of each, in memory of at most
 * twice the size, and the plan as text for them, which grows by doubling.
 * Scans run one after another.  What workers share is not taken yet, but must
 * be available.
 */
static void
reserve(const dp_message *message, const PlannedStmt *plan, const List *scans,
		int contexts)
{
	Size		own = SLACK + dp_reader_process_memory(message->memory,
													   message->row);
	int			workers = workers_of(plan);
	ListCell   *lc;

	foreach(lc, scans)
		workers = Max(workers, workers_of(lfirst(lc)));
	dp_reader_shared->entry[my_entry].memory = message->worker;
	dp_base_reserve(workers == 0 ? own :
					own + message->worker +
					PLAN_FACTOR * (message->size[DP_PART_PLAN] +
								   message->size[DP_PART_SCANS]) +
					workers * (Size) pg_nextpower2_64(message->row +
													  ROW_HEADER),
					contexts);
	if (workers > 0)
		dp_base_try_shared(shared_bytes(message, workers));
}

/* Everything is ready: wait for the charge. */
static void
wait_for_charge(dp_reading_work *work)
{
	const char	ready = DP_MESSAGE_READY;
	const char *told;
	Size		size;

	if (work->message->ticket.number != 0)
	{
		if (!dp_ledger_submit_and_wait(&work->message->ticket))
			dp_reader_raise_gone();
		return;
	}
	process_send_message(work, &ready, 1, true);
	told = process_receive_message(work, &size);
	if (size != 1 || *told != DP_MESSAGE_GO)
		elog(ERROR, "unexpected message to a reader");
}

/* Do everything except the charge and reading rows. */
static void
make_ready(dp_reading_work *work, dp_opened *opened)
{
	const dp_message *message = work->message;
	PGPROC	   *session = dp_reader_shared->entry[my_entry].client;
	dp_reader_trees trees;
	bool		parallel;
	ListCell   *lc;
	int			contexts;

	dp_base_force_lock_timeout();
	state_apply_settings(message);
	state_begin(message, session);
	parallel = state_lock(message, session);
	read_trees(message, &trees);
	trees.plan->parallelModeNeeded &= parallel;
	foreach(lc, trees.scans)
		lfirst_node(PlannedStmt, lc)->parallelModeNeeded &= parallel;
	opened->plan = trees.plan;
	opened->state = begin(work, opened->how, trees.input);
	dp_reader_open(opened, trees.scans);
	contexts = dp_reader_warm(message, opened);

	/* of libraries loaded meanwhile */
	dp_base_clear_hooks(NULL);

	/* last: memory that only rows need */
	reserve(message, trees.plan, trees.scans, contexts);
	wait_for_charge(work);
}

static void
do_job(dp_reading_work *work)
{
	dp_opened	opened = {NULL};
	const void *data;
	void	   *copy;
	Size		size;

	data = process_receive_message(work, &size);
	copy = palloc_extended(size, MCXT_ALLOC_HUGE);
	memcpy(copy, data, size);
	work->message = dp_reader_check_message(copy, size);
	opened.how = dp_reader_find(work->message->kind);
	make_ready(work, &opened);
	dp_reader_execute(&opened);
	opened.how->finish(opened.state, send_released, work);
}

/* Get the SQLSTATE of the error being handled, which only the log shows. */
static int
log_error(MemoryContext context)
{
	ErrorData  *error;
	int			code;

	HOLD_INTERRUPTS();
	MemoryContextSwitchTo(context);
	error = CopyErrorData();
	code = error->sqlerrcode;
	if (!dp_reader_shared->entry[my_entry].abandoned)
		dp_reader_log(error);
	FlushErrorState();
	RESUME_INTERRUPTS();
	return code;
}

/*
 * Serve a job.  The connection gets the result when nothing of the job is left
 * here.
 */
static void
process_serve(MemoryContext context)
{
	dp_reading_work work = {NULL};
	volatile int code = 0;

	MemoryContextSwitchTo(context);
	working = true;
	pgstat_report_activity(STATE_RUNNING, DP_PRIVATE_QUERY_TEXT);
	work.from = shm_mq_attach((shm_mq *) dp_reader_queue(my_entry, false),
							  NULL, NULL);
	work.to = shm_mq_attach((shm_mq *) dp_reader_queue(my_entry, true), NULL,
							NULL);
	PG_TRY();
	{
		do_job(&work);
	}
	PG_CATCH();
	{
		code = log_error(context);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	HOLD_INTERRUPTS();			/* a late cancel may still arrive for this
								 * job */
	if (!state_end(work.message))
		dp_base_leave();
	MemoryContextSwitchTo(context);
	shm_mq_detach(work.to);
	shm_mq_detach(work.from);
	working = false;
	QueryCancelPending = false;
	RESUME_INTERRUPTS();
	dp_reader_end_work(my_entry, code);
	MemoryContextReset(context);
	dp_base_hold();
	settled = false;
	pgstat_report_activity(STATE_IDLE, NULL);
}

/*
 * Wait for work.  After a while without any, give back memory, and later
 * leave.
 */
static void
wait_for_work(void)
{
	int			events = WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH;
	int			timeout = settled ? dp_setting_worker_idle :
		Min(GIVE_BACK_AFTER, dp_setting_worker_idle);

	if (!(WaitLatch(MyLatch, events, timeout, PG_WAIT_EXTENSION) & WL_TIMEOUT))
		return;
	if (!settled)
		dp_base_give_back();
	else if (dp_reader_may_leave(my_entry, true))
		dp_base_leave();
	settled = true;
}

static void *
do_nothing(void *worker)
{
	return NULL;
}

/*
 * Allocate up front everything that any job could need: the stacks of threads,
 * which stay after they have ended, and all mapped pages.
 */
static void
settle_in(void)
{
	char		workers[DP_THREADS_OF_ROWS] = {0};
	dp_threads	threads;

	dp_numbers_threads_start(&threads, do_nothing, workers, 1,
							 DP_THREADS_OF_ROWS);
	dp_numbers_threads_join(&threads);
	dp_base_reserve_init(SIZE_MAX);
	dp_base_populate_mappings();
	dp_base_hold();
}

/*
 * dp_reader_main
 *	  Entry point of a reader; arg is the number of its entry.  Returns only if
 *	  another process has taken it.
 */
void
dp_reader_main(Datum arg)
{
	MemoryContext context;
	Oid			database;
	bool		served = false; /* the last job ended just now, and the next
								 * may follow at once */
	int			code;

	/* Interrupts are processed only where the loop checks for them. */
	pqsignal(SIGTERM, die);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGINT, process_handle_cancel);

	my_entry = DatumGetInt32(arg);
	database = dp_reader_take_entry(my_entry);
	if (!OidIsValid(database))
		return;
	on_shmem_exit(process_vanish, (Datum) 0);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(database, InvalidOid, 0);
	process_force_settings();
	dp_base_scratch_open();		/* always open, so that use of it does not
								 * show */
	settle_in();
	context = AllocSetContextCreate(TopMemoryContext, "dp_pg reader",
									ALLOCSET_DEFAULT_SIZES);
	pgstat_report_appname("dp_pg reader");
	pgstat_report_activity(STATE_IDLE, NULL);
	if (!dp_reader_announce(my_entry))
		dp_base_leave();

	for (;;)
	{
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
		if (dp_reader_look(my_entry, &code) == DP_ENTRY_WORKING)
		{
			process_serve(context);
			served = true;
			continue;
		}
		if (dp_reader_may_leave(my_entry, false))
			dp_base_leave();
		if (served && dp_reader_is_alone(my_entry) &&
			dp_base_spin(DP_READER_SPIN))
		{
			served = false;
			continue;
		}
		served = false;
		wait_for_work();
	}
}
