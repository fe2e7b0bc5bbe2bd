/*
 * ask.c
 *	  The connection's side of a reading: get a reader, have it make everything
 *	  ready, charge or have it submit the charge, and receive what is released.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "../base/dp_base.h"
#include "../ledger/dp_ledger.h"
#include "dp_reader.h"
#include "reader_internal.h"

#define POLL_INTERVAL 1000		/* ms; a safety net: events set the latch */
#define SLOT_POLL 50			/* ms until a worker slot may be free */
#define LONG_WAIT 1000			/* ms after which others' readers make room */
#define START_ATTEMPTS 3		/* readers started in vain */

/* What must be released after an error. */
typedef struct dp_asking
{
	const dp_reader_job *job;
	dp_reader_charge charge;
	void	   *charge_context;
	dp_ledger_deferred deferred;	/* of the job, until everything has
									 * ended */
	TimestampTz since;			/* when that began */
	dp_reader_waiter *waiter;	/* waits for a reader, or NULL */
	int			entry;			/* reader that works for this connection, or
								 * -1 */
	shm_mq_handle *to;			/* queue to it */
	shm_mq_handle *from;
	BackgroundWorkerHandle *handle; /* of a reader registered by this
									 * process */
	int			wanted;			/* its entry */
	TimestampTz registered;		/* when */
	bool		no_slot;		/* no worker slot was free */
	long		poll;			/* ms until the next look for one */
	TimestampTz began;			/* when it had a reader */
	bool		alone;			/* nobody else uses a reader */
	bool		charging;		/* wait for the ledger, which reports by
								 * itself */
	bool		charged;
} dp_asking;

static void
ask_give_up(int code, Datum arg)
{
	dp_asking  *asking = (dp_asking *) DatumGetPointer(arg);

	dp_ledger_hurry(false);
	if (asking->waiter != NULL)
		dp_reader_withdraw(asking->waiter);
	if (asking->to != NULL)
		shm_mq_detach(asking->to);
	if (asking->from != NULL)
		shm_mq_detach(asking->from);
	if (asking->entry >= 0)
		dp_reader_let_go(asking->entry);
	dp_ledger_drop(&asking->deferred);
}

/* Raise 53000; nothing was charged. */
pg_noreturn static void
raise_none(const char *detail, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
			 errmsg("no process is available to read private rows"),
			 errdetail("%s %s", detail, dp_ledger_uncharged_text()),
			 errhint("%s", hint)));
}

/* ---- getting a reader ---- */

/*
 * No reader is free: have one started if one may be.  Raises an error only if
 * there is none to wait for.
 */
static void
rouse_reader(dp_asking *asking)
{
	dp_reader_waiter *waiter = asking->waiter;
	BackgroundWorkerHandle *handle;
	dp_urgency	urgency = DP_URGENCY_MORE;
	pid_t		pid;
	bool		running;
	bool		spare;
	int			entry;

	if (asking->handle != NULL &&
		GetBackgroundWorkerPid(asking->handle, &pid) == BGWH_STOPPED)
	{
		asking->handle = NULL;
		dp_reader_forget(asking->wanted, asking->registered);
	}
	asking->no_slot = false;
	asking->poll = POLL_INTERVAL;
	entry = dp_reader_want(waiter, &running, &spare);
	if (!running && waiter->failures >= START_ATTEMPTS)
		raise_none("Readers ended as soon as they were started.",
				   "See the server log for the reason.");
	if (entry < 0)
		return;
	asking->poll = SLOT_POLL;
	if (spare)
		urgency = DP_URGENCY_SPARE;
	else if (!running ||
			 TimestampDifferenceExceeds(waiter->since, GetCurrentTimestamp(),
										LONG_WAIT))
		urgency = DP_URGENCY_NONE_THERE;
	asking->no_slot = !dp_base_call_worker(DP_WORKER_READER,
										   Int32GetDatum(entry), urgency,
										   &handle) && !spare;
	if (handle != NULL)
	{
		asking->handle = handle;
		asking->wanted = entry;
		asking->registered = dp_reader_registered(entry);
		asking->poll = POLL_INTERVAL;
	}
	else if (spare)
		dp_reader_unwant(entry);
}

static void
get_reader(dp_asking *asking)
{
	asking->waiter = dp_reader_enter(GetOuterUserId());
	if (asking->waiter == NULL)
		raise_none("Too many connections are waiting for one.", "Try again.");
	for (;;)
	{
		asking->entry = dp_reader_given(asking->waiter, &asking->alone);
		if (asking->entry >= 0)
			break;
		rouse_reader(asking);
		if (!TimestampDifferenceExceeds(asking->waiter->since,
										GetCurrentTimestamp(),
										dp_setting_reader_timeout))
			dp_base_wait(Min(asking->poll, dp_setting_reader_timeout));
		else if (asking->no_slot)
			raise_none("All background worker slots of the server are in use.",
					   "Set max_worker_processes to what other libraries "
					   "start, and max_parallel_workers + dp_pg.workers + 1, "
					   "where dp_pg.workers is at least 2.");
		else
			raise_none("All readers, or all that one role may have, were "
					   "busy for longer than dp_pg.reader_timeout.",
					   "Try again later, or increase dp_pg.readers.");
	}
	asking->waiter = NULL;
	asking->began = GetCurrentTimestamp();
}

/* ---- talking to it ---- */

static void
set_up_queues(dp_asking *asking)
{
	PGPROC	   *reader = dp_reader_shared->entry[asking->entry].proc;
	shm_mq	   *to = shm_mq_create(dp_reader_queue(asking->entry, false),
								   DP_READER_QUEUE);
	shm_mq	   *from = shm_mq_create(dp_reader_queue(asking->entry, true),
									 DP_READER_QUEUE);

	shm_mq_set_sender(to, MyProc);
	shm_mq_set_receiver(to, reader);
	shm_mq_set_sender(from, reader);
	shm_mq_set_receiver(from, MyProc);
	asking->to = shm_mq_attach(to, NULL, NULL);
	asking->from = shm_mq_attach(from, NULL, NULL);
	BecomeLockGroupLeader();	/* so that the reader can join */
	dp_reader_start_work(asking->entry);
}

/* Raise 57000: the reader was terminated while it worked. */
pg_noreturn static void
raise_dead(const dp_asking *asking)
{
	ereport(ERROR,
			(errcode(ERRCODE_OPERATOR_INTERVENTION),
			 errmsg("the process that reads private rows was terminated"),
			 asking->charged ? errdetail("The charge stands.") :
			 errdetail("%s", dp_ledger_uncharged_text()),
			 errhint("Run the query again.")));
}

/* Raise the error for a reader that could not make everything ready. */
pg_noreturn static void
raise_not_ready(int code)
{
	if (code == ERRCODE_LOCK_NOT_AVAILABLE)
		ereport(ERROR,
				(errcode(code),
				 errmsg("could not obtain a lock that the private query "
						"needs"),
				 errdetail("Somebody has held it, or waited for it, longer "
						   "than dp_pg.worker_lock_timeout.  %s",
						   dp_ledger_uncharged_text()),
				 errhint("Run the query again, in a new transaction if this "
						 "one has locked catalogs.")));
	if (ERRCODE_TO_CATEGORY(code) == ERRCODE_INSUFFICIENT_RESOURCES ||
		code == ERRCODE_STATEMENT_TOO_COMPLEX)
		ereport(ERROR,
				(errcode(code),
				 errmsg("a process that reads private rows lacks resources"),
				 errdetail("SQLSTATE %s.  %s", unpack_sql_state(code),
						   dp_ledger_uncharged_text()),
				 errhint("The server log tells the administrator more.")));
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("could not prepare the private query"),
			 errdetail("SQLSTATE %s.  %s", unpack_sql_state(code),
					   dp_ledger_uncharged_text()),
			 errhint("Something it depends on may have changed: run it "
					 "again.")));
}

/* ---- a charge that the reader has made ---- */

/* Was the last charge too slow for spinning to pay off? */
static bool late = false;

static void
note_charge(dp_asking *asking)
{
	asking->charging = true;
	asking->charge(asking->charge_context);
	asking->charging = false;
	asking->charged = true;
}

static bool
awaits_charge(const dp_asking *asking)
{
	return asking->deferred.slot != NULL && !asking->charged;
}

/* Look at the result of the charge; raises if it was refused. */
static void
look_at_charge(dp_asking *asking)
{
	if (awaits_charge(asking) &&
		dp_ledger_look(&asking->deferred, asking->job->receipt))
	{
		late = GetCurrentTimestamp() - asking->since > DP_READER_SPIN_CHARGE;
		note_charge(asking);
	}
}

/* The reader has ended the job, or itself: find out whether it was charged. */
static void
settle_charge(dp_asking *asking)
{
	if (awaits_charge(asking) &&
		dp_ledger_settle(&asking->deferred, asking->job->receipt))
		note_charge(asking);
}

/* The reader says that it has read, so it must have been charged. */
static void
require_charge(dp_asking *asking)
{
	look_at_charge(asking);
	if (!asking->charged)
		elog(ERROR, "reader has read what was not charged");
}

/* Milliseconds to wait if no event comes. */
static long
time_to_wait(const dp_asking *asking)
{
	long		wait = POLL_INTERVAL;

	if (awaits_charge(asking) && asking->deferred.rousing.poll > 0)
		wait = asking->deferred.rousing.poll;
	if (dp_setting_run_timeout > 0)
		wait = Min(wait, dp_setting_run_timeout);
	return wait;
}

/* Raise 57014 if the reader has exceeded dp_pg.run_timeout. */
static void
check_run_timeout(dp_asking *asking)
{
	if (dp_setting_run_timeout == 0 ||
		!TimestampDifferenceExceeds(asking->began, GetCurrentTimestamp(),
									dp_setting_run_timeout))
		return;
	settle_charge(asking);
	ereport(ERROR,				/* canceled_context says what became of the
								 * charge */
			(errcode(ERRCODE_QUERY_CANCELED),
			 errmsg("canceling private query due to dp_pg.run_timeout"),
			 errhint("Ask for less at once, or ask the administrator for a "
					 "higher dp_pg.run_timeout.")));
}

/*
 * Wait for the reader, or for a charge.  A charge that was made is noted
 * before a cancel is processed.
 */
static void
wait_for_reader(dp_asking *asking)
{
	int			spin = !awaits_charge(asking) ? DP_READER_SPIN :
		late ? 0 : DP_READER_SPIN_CHARGE;

	HOLD_INTERRUPTS();
	dp_base_watch(asking->alone ? spin : 0, time_to_wait(asking));
	RESUME_INTERRUPTS();
	look_at_charge(asking);
	CHECK_FOR_INTERRUPTS();
	check_run_timeout(asking);
}

/* The reader has ended the job, or itself; wait for its result. */
static void
hear_end(dp_asking *asking)
{
	for (;;)
	{
		int			code;

		switch (dp_reader_look(asking->entry, &code))
		{
			case DP_ENTRY_DONE:
				settle_charge(asking);
				if (code == 0)
					return;
				if (!asking->charged)
					raise_not_ready(code);
				dp_reader_raise(code);
				break;
			case DP_ENTRY_WORKING:
				break;
			default:
				settle_charge(asking);
				raise_dead(asking);
		}
		wait_for_reader(asking);
	}
}

static bool
ask_is_dead(const dp_asking *asking)
{
	int			code;

	return dp_reader_look(asking->entry, &code) == DP_ENTRY_DEAD;
}

static void
ask_send_message(dp_asking *asking, const void *data, Size size)
{
	for (;;)
	{
		switch (shm_mq_send(asking->to, size, data, true, true))
		{
			case SHM_MQ_SUCCESS:
				return;
			case SHM_MQ_DETACHED:
				hear_end(asking);
				raise_dead(asking);
				break;
			case SHM_MQ_WOULD_BLOCK:
				if (ask_is_dead(asking))
					hear_end(asking);
				dp_base_wait(POLL_INTERVAL);
				break;
		}
	}
}

/* Receive the next message; false if there is none and all went well. */
static bool
ask_receive_message(dp_asking *asking, void **data, Size *size)
{
	for (;;)
	{
		switch (shm_mq_receive(asking->from, size, data, true))
		{
			case SHM_MQ_SUCCESS:
				return true;
			case SHM_MQ_DETACHED:
				hear_end(asking);
				return false;
			case SHM_MQ_WOULD_BLOCK:
				if (ask_is_dead(asking))
					hear_end(asking);
				wait_for_reader(asking);
				break;
		}
	}
}

/*
 * Have the reader submit the charge once it is ready, if the mechanism allows
 * that.
 */
static void
prepare_charge(dp_asking *asking, StringInfo message)
{
	if (asking->job->request == NULL)
		return;
	dp_ledger_hurry(true);
	dp_ledger_defer(asking->job->request, &asking->deferred);
	dp_ledger_hurry(false);
	dp_reader_add_ticket(message, &asking->deferred.ticket);
	asking->since = GetCurrentTimestamp();
}

static void
make_charge(dp_asking *asking)
{
	const char	go = DP_MESSAGE_GO;
	void	   *data;
	Size		size;

	if (asking->deferred.slot != NULL)
		return;
	if (!ask_receive_message(asking, &data, &size) || size != 1 ||
		*(char *) data != DP_MESSAGE_READY)
		elog(ERROR, "unexpected message from a reader");
	dp_ledger_hurry(true);
	note_charge(asking);
	dp_ledger_hurry(false);
	ask_send_message(asking, &go, 1);
}

/* ErrorContextCallback: add to a cancel what became of the charge. */
static void
ask_canceled_context(void *arg)
{
	dp_asking  *asking = arg;

	if (geterrcode() != ERRCODE_QUERY_CANCELED || asking->charging)
		return;
	if (asking->charged)
		errdetail("The charge stands.");
	else if (asking->deferred.slot != NULL)
		dp_ledger_explain_deferred(&asking->deferred);
	else
		errdetail("%s", dp_ledger_uncharged_text());
}

static void
ask(dp_asking *asking, StringInfo message, dp_reader_sink sink,
	void *sink_context)
{
	const dp_reader_job *job = asking->job;
	const void *piece;
	void	   *data;
	Size		size;

	get_reader(asking);
	prepare_charge(asking, message);
	set_up_queues(asking);
	ask_send_message(asking, message->data, message->len);
	/* what does not fit into the message; an empty piece ends it */
	while (job->source != NULL &&
		   (piece = job->source(job->source_context, &size)) != NULL)
		ask_send_message(asking, piece, size);
	if (job->source != NULL)
		ask_send_message(asking, "", 0);
	make_charge(asking);
	while (ask_receive_message(asking, &data, &size))
	{
		require_charge(asking);
		sink(sink_context, data, size);
	}
	require_charge(asking);
}

/* dp_reader_run: see dp_reader.h. */
void
dp_reader_run(const dp_reader_job *job, dp_reader_charge charge,
			  void *charge_context, dp_reader_sink sink, void *sink_context)
{
	dp_asking	asking = {job, charge, charge_context, .entry = -1};
	ErrorContextCallback callback = {error_context_stack, ask_canceled_context,
	&asking};
	StringInfoData message;

	if (job->local)
	{
		dp_reader_run_local(job, charge, charge_context, sink, sink_context);
		return;
	}
	initStringInfo(&message);
	dp_reader_build_message(job, &message);
	PG_ENSURE_ERROR_CLEANUP(ask_give_up, PointerGetDatum(&asking));
	{
		error_context_stack = &callback;
		ask(&asking, &message, sink, sink_context);
		error_context_stack = callback.previous;
	}
	PG_END_ENSURE_ERROR_CLEANUP(ask_give_up, PointerGetDatum(&asking));
	ask_give_up(0, PointerGetDatum(&asking));
	pfree(message.data);
}

static const dp_worker_methods workers = {
	"dp_reader_main", dp_reader_main, dp_reader_wanted, dp_reader_spare
};

/* dp_reader_init: everything about readers that _PG_init must set up. */
void
dp_reader_init(void)
{
	dp_reader_pool_init();
	dp_reader_warm_init();
	dp_reader_pack_init();
	dp_ledger_on_clearing(dp_reader_ask_to_leave);
	dp_base_add_workers(DP_WORKER_READER, &workers);
}
