/*
 * ask.c
 *	  The session's side of a reading: get a reader, have it make everything
 *	  ready, charge, or have it submit the charge, take what is released.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "reader.h"

#define POLL_INTERVAL 1000		/* ms; a safety net: events set the latch */
#define SLOT_POLL 50			/* ms until a worker slot may be free */
#define START_ATTEMPTS 3		/* readers one session starts in vain */

/* All that an error has to give back. */
typedef struct dp_asking
{
	const dp_reader_job *job;
	dp_reader_charge charge;
	void	   *charge_context;
	dp_ledger_deferred deferred;	/* the job's, until all has ended */
	TimestampTz since;			/* when that began */
	dp_reader_waiter *waiter;	/* waits for a reader, or NULL */
	int			entry;			/* reader that works for this session, or -1 */
	shm_mq_handle *to;			/* it */
	shm_mq_handle *from;
	BackgroundWorkerHandle *handle; /* of a reader it has registered */
	int			wanted;			/* entry of that one */
	int			attempts;
	bool		no_slot;		/* for a process was free */
	bool		alone;			/* nobody else uses a reader */
	bool		charged;
} dp_asking;

static void
give_up(int code, Datum arg)
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

/* 53000, and nothing was charged. */
pg_noreturn static void
raise_none(const char *detail, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
			 errmsg("no process is available to read private rows"),
			 errdetail("%s Nothing was charged.", detail),
			 errhint("%s", hint)));
}

/* ---- getting a reader ---- */

static bool
register_reader(dp_asking *asking, int entry)
{
	asking->handle = dp_bridge_register_worker("dp_reader_main",
											   "dp_pg reader",
											   Int32GetDatum(entry));
	asking->wanted = entry;
	return asking->handle != NULL;
}

/*
 * No reader is free: start one, if one may be.  An error only where none is
 * there to wait for.
 */
static void
rouse_reader(dp_asking *asking)
{
	pid_t		pid;
	bool		running;
	int			entry;

	asking->no_slot = false;
	if (asking->handle != NULL &&
		GetBackgroundWorkerPid(asking->handle, &pid) == BGWH_STOPPED)
	{
		asking->handle = NULL;
		dp_reader_forget(asking->wanted);
	}
	entry = dp_reader_want(&running);
	if (entry >= 0 && asking->attempts >= START_ATTEMPTS)
	{
		dp_reader_forget(entry);
		if (!running)
			raise_none("Readers ended as soon as they were started.",
					   "See the server log for the reason.");
	}
	else if (entry >= 0 && register_reader(asking, entry))
		asking->attempts++;
	else if (entry >= 0)
	{
		asking->no_slot = !running;
		dp_reader_forget(entry);
	}
}

static void
get_reader(dp_asking *asking)
{
	TimestampTz since;

	asking->waiter = dp_reader_enter(GetOuterUserId());
	if (asking->waiter == NULL)
		raise_none("Too many connections are waiting for one.", "Try again.");
	for (;;)
	{
		asking->entry = dp_reader_given(asking->waiter, &since,
										&asking->alone);
		if (asking->entry >= 0)
			break;
		rouse_reader(asking);
		if (!TimestampDifferenceExceeds(since, GetCurrentTimestamp(),
										dp_setting_reader_timeout))
			dp_bridge_wait(Min(asking->no_slot ? SLOT_POLL : POLL_INTERVAL,
							   dp_setting_reader_timeout));
		else if (asking->no_slot)
			raise_none("All background worker slots of the server are in use.",
					   "Increase max_worker_processes.");
		else
			raise_none("All readers were busy for longer than "
					   "dp_pg.reader_timeout.",
					   "Try again later, or increase dp_pg.readers.");
	}
	asking->waiter = NULL;
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

/* 57000: somebody ended the reader while it worked. */
pg_noreturn static void
raise_dead(const dp_asking *asking)
{
	ereport(ERROR,
			(errcode(ERRCODE_OPERATOR_INTERVENTION),
			 errmsg("the process that reads private rows was terminated"),
			 asking->charged ? errdetail("The charge stands.") :
			 errdetail("Nothing was charged."),
			 errhint("Run the query again.")));
}

/* What a reader that could not make everything ready has to say. */
pg_noreturn static void
raise_not_ready(int code)
{
	if (code == ERRCODE_LOCK_NOT_AVAILABLE)
		ereport(ERROR,
				(errcode(code),
				 errmsg("could not obtain a lock that the private query "
						"needs"),
				 errdetail("Somebody has held it, or waited for it, longer "
						   "than dp_pg.worker_lock_timeout.  Nothing was "
						   "charged."),
				 errhint("Run the query again, in a new transaction if this "
						 "one has locked catalogs.")));
	if (ERRCODE_TO_CATEGORY(code) == ERRCODE_INSUFFICIENT_RESOURCES ||
		code == ERRCODE_STATEMENT_TOO_COMPLEX)
		ereport(ERROR,
				(errcode(code),
				 errmsg("a process that reads private rows lacks resources"),
				 errdetail("SQLSTATE %s.  Nothing was charged.",
						   unpack_sql_state(code)),
				 errhint("The server log tells the administrator more.")));
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("could not prepare the private query"),
			 errdetail("SQLSTATE %s.  Nothing was charged.",
					   unpack_sql_state(code)),
			 errhint("Something it depends on may have changed: run it "
					 "again.")));
}

/* ---- a charge that the reader has made ---- */

/* Did the last one take too long to watch for the next one? */
static bool late = false;

static void
note_charge(dp_asking *asking)
{
	asking->charge(asking->charge_context);
	asking->charged = true;
}

static bool
awaits_charge(const dp_asking *asking)
{
	return asking->deferred.slot != NULL && !asking->charged;
}

/* Raises what refused it. */
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

/* The reader has ended the job, or itself: was it charged before? */
static void
settle_charge(dp_asking *asking)
{
	if (awaits_charge(asking) &&
		dp_ledger_settle(&asking->deferred, asking->job->receipt))
		note_charge(asking);
}

/* The reader has read, or so it says. */
static void
require_charge(dp_asking *asking)
{
	look_at_charge(asking);
	if (!asking->charged)
		elog(ERROR, "reader has read what was not charged");
}

/*
 * Wait for the reader, which may be waiting for a charge.  A cancel that comes
 * meanwhile finds a charge that was made noted.
 */
static void
wait_for_reader(dp_asking *asking)
{
	int			spin = !awaits_charge(asking) ? DP_READER_SPIN :
		late ? 0 : DP_READER_SPIN_CHARGE;

	HOLD_INTERRUPTS();
	dp_bridge_watch(asking->alone ? spin : 0, POLL_INTERVAL);
	RESUME_INTERRUPTS();
	look_at_charge(asking);
	CHECK_FOR_INTERRUPTS();
}

/* The reader has ended the job, or itself; wait until it says how. */
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
is_dead(const dp_asking *asking)
{
	int			code;

	return dp_reader_look(asking->entry, &code) == DP_ENTRY_DEAD;
}

static void
send_message(dp_asking *asking, const void *data, Size size)
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
				if (is_dead(asking))
					hear_end(asking);
				dp_bridge_wait(POLL_INTERVAL);
				break;
		}
	}
}

/* The next message; false: there is none, and all went well. */
static bool
receive_message(dp_asking *asking, void **data, Size *size)
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
				if (is_dead(asking))
					hear_end(asking);
				wait_for_reader(asking);
				break;
		}
	}
}

/* What the message has no room for; an empty piece ends it. */
static void
send_pieces(dp_asking *asking, const dp_reader_job *job)
{
	const void *data;
	Size		size;

	while ((data = job->source(job->source_context, &size)) != NULL)
		send_message(asking, data, size);
	send_message(asking, "", 0);
}

static void
wait_until_ready(dp_asking *asking)
{
	void	   *data;
	Size		size;

	if (!receive_message(asking, &data, &size) || size != 1 ||
		*(char *) data != DP_TELL_READY)
		elog(ERROR, "reader told something unknown");
}

/* The charge is made when the reader is ready, and by it if that can be. */
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
	const char	go = DP_TELL_GO;

	if (asking->deferred.slot != NULL)
		return;
	wait_until_ready(asking);
	dp_ledger_hurry(true);
	note_charge(asking);
	dp_ledger_hurry(false);
	send_message(asking, &go, 1);
}

static void
ask(dp_asking *asking, StringInfo message, dp_reader_sink sink,
	void *sink_context)
{
	void	   *data;
	Size		size;

	get_reader(asking);
	prepare_charge(asking, message);
	set_up_queues(asking);
	send_message(asking, message->data, message->len);
	if (asking->job->source != NULL)
		send_pieces(asking, asking->job);
	make_charge(asking);
	while (receive_message(asking, &data, &size))
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
	StringInfoData message;

	if (job->local)
	{
		dp_reader_run_local(job, charge, charge_context, sink, sink_context);
		return;
	}
	initStringInfo(&message);
	dp_reader_build_message(job, &message);
	PG_ENSURE_ERROR_CLEANUP(give_up, PointerGetDatum(&asking));
	{
		ask(&asking, &message, sink, sink_context);
	}
	PG_END_ENSURE_ERROR_CLEANUP(give_up, PointerGetDatum(&asking));
	give_up(0, PointerGetDatum(&asking));
	pfree(message.data);
}

/* dp_reader_init: everything of readers that _PG_init must set up. */
void
dp_reader_init(void)
{
	dp_reader_pool_init();
	dp_reader_warm_init();
	dp_reader_pack_init();
	dp_ledger_on_clearing(dp_reader_ask_to_leave);
}
