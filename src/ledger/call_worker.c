/*
 * call_worker.c
 *	  How a database gets a process for its ledger: a connection that needs one
 *	  makes an entry, which a kept worker or a newly registered one takes
 *	  (base/workers.c), and waits.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/latch.h"

#include "../base/dp_base.h"
#include "dp_ledger.h"
#include "ledger_internal.h"

/* ms; a safety net only, since every event sets the latch */
#define POLL_INTERVAL 1000
/* ms between attempts to find a free process */
#define SLOT_POLL 50
/* failed starts of a worker before a connection gives up */
#define START_ATTEMPTS 3
/* ms after which an entry without requests is dropped */
#define UNWANTED 1000

/* Raises 53000; nothing was charged. */
pg_noreturn static void
raise_no_worker(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
			 errmsg("the privacy ledger has no background worker"),
			 errdetail("%s %s", detail, dp_ledger_uncharged_text()),
			 errhint("Set max_worker_processes to what other libraries start, "
					 "and max_parallel_workers + dp_pg.workers + 1; or see "
					 "the server log for why the worker did not start.")));
}

/*
 * dp_ledger_note_failure
 *	  A worker ended before it announced itself: connections of the database
 *	  that wait for it look again.  The caller holds the lock.
 */
void
dp_ledger_note_failure(Oid database)
{
	dlist_iter	iter;

	dlist_foreach(iter, &dp_ledger_shared->pending)
	{
		dp_slot    *slot = dlist_container(dp_slot, node, iter.cur);

		if (slot->database != database)
			continue;
		slot->failures++;
		dp_ledger_wake(slot);
	}
}

/* The process that was registered for the entry at that time never ran. */
static void
forget_worker(TimestampTz registered)
{
	dp_worker  *worker;

	LWLockAcquire(dp_ledger_shared->lock, LW_EXCLUSIVE);
	worker = dp_ledger_find_worker(MyDatabaseId);
	if (worker && worker->state == DP_WORKER_STARTING && worker->pid == 0 &&
		worker->registered && worker->since == registered)
	{
		MemSet(worker, 0, sizeof(*worker));
		dp_ledger_note_failure(MyDatabaseId);
	}
	LWLockRelease(dp_ledger_shared->lock);
}

typedef enum worker_need
{
	WORKER_WOKEN,				/* it runs; its latch was set */
	WORKER_COMING,				/* one has taken the entry or will */
	WORKER_WANTED				/* one must be called */
} worker_need;

static dp_worker *
call_worker_make_entry(TimestampTz now)
{
	int			i;

	for (i = 0; i < dp_ledger_shared->workers; i++)
	{
		dp_worker  *worker = &dp_ledger_shared->worker[i];

		if (worker->state != DP_WORKER_NONE)
			continue;
		MemSet(worker, 0, sizeof(*worker));
		worker->state = DP_WORKER_STARTING;
		worker->database = MyDatabaseId;
		worker->since = now;
		return worker;
	}
	return NULL;				/* cannot happen: there is an entry for each
								 * backend */
}

/*
 * Drop entries of other databases that nobody waits for any more, since kept
 * workers would serve them first.  The caller holds the lock.
 */
static void
drop_unwanted(TimestampTz now)
{
	int			i;

	for (i = 0; i < dp_ledger_shared->workers; i++)
	{
		dp_worker  *worker = &dp_ledger_shared->worker[i];

		if (worker->state == DP_WORKER_STARTING && worker->pid == 0 &&
			worker->database != MyDatabaseId &&
			TimestampDifferenceExceeds(worker->since, now,
									   worker->registered ?
									   DP_LEDGER_START_TIMEOUT : UNWANTED) &&
			!dp_ledger_has_pending(worker->database))
			MemSet(worker, 0, sizeof(*worker));
	}
}

static worker_need
look_for_worker(void)
{
	TimestampTz now = GetCurrentTimestamp();
	worker_need need = WORKER_COMING;
	dp_worker  *worker;

	LWLockAcquire(dp_ledger_shared->lock, LW_EXCLUSIVE);
	worker = dp_ledger_find_worker(MyDatabaseId);
	if (worker == NULL)
	{
		drop_unwanted(now);
		worker = call_worker_make_entry(now);
	}
	if (worker == NULL)
	{
		LWLockRelease(dp_ledger_shared->lock);
		elog(ERROR, "no entry is left for a ledger worker");
	}
	if (worker->state == DP_WORKER_RUNNING)
	{
		SetLatch(&worker->proc->procLatch);
		need = WORKER_WOKEN;
	}
	else if (worker->pid == 0 &&
			 (!worker->registered ||
			  TimestampDifferenceExceeds(worker->since, now,
										 DP_LEDGER_START_TIMEOUT)))
	{
		worker->registered = false;
		need = WORKER_WANTED;
	}
	LWLockRelease(dp_ledger_shared->lock);
	return need;
}

static TimestampTz
note_registered(void)
{
	TimestampTz now = GetCurrentTimestamp();
	dp_worker  *worker;

	LWLockAcquire(dp_ledger_shared->lock, LW_EXCLUSIVE);
	worker = dp_ledger_find_worker(MyDatabaseId);
	if (worker && worker->state == DP_WORKER_STARTING && worker->pid == 0)
	{
		worker->registered = true;
		worker->since = now;
	}
	LWLockRelease(dp_ledger_shared->lock);
	return now;
}

/* Returns false if no process is free. */
static bool
call_worker(dp_ledger_rousing *rousing)
{
	BackgroundWorkerHandle *handle;
	bool		called = dp_base_call_worker(DP_WORKER_LEDGER,
											 ObjectIdGetDatum(MyDatabaseId),
											 DP_URGENCY_NONE_THERE,
											 &handle);

	if (handle != NULL)
	{
		rousing->handle = handle;
		rousing->registered = note_registered();
		rousing->poll = POLL_INTERVAL;
	}
	return called;
}

/* Raises 53000, unless a worker has taken the request in the meantime. */
static void
call_worker_give_up(dp_slot **slot, const char *detail)
{
	if (slot != NULL && !dp_ledger_withdraw(*slot))
		return;
	if (slot != NULL)
		*slot = NULL;
	raise_no_worker(detail);
}

/*
 * dp_ledger_rouse_worker
 *	  Make sure that a worker will take the pending request *slot, or a later
 *	  one if slot is NULL.
 *
 * Errors: 53000, if no process was free for dp_pg.reader_timeout or workers
 * keep failing to start; the request is then withdrawn and *slot NULL.
 */
void
dp_ledger_rouse_worker(dp_ledger_rousing *rousing, dp_slot **slot)
{
	bool		called = true;
	TimestampTz now;
	pid_t		pid;

	rousing->poll = POLL_INTERVAL;
	if (rousing->handle &&
		GetBackgroundWorkerPid(rousing->handle, &pid) == BGWH_STOPPED)
	{
		rousing->handle = NULL;
		forget_worker(rousing->registered);
	}
	if (slot != NULL && (*slot)->failures >= START_ATTEMPTS)
	{
		call_worker_give_up(slot,
							"The worker ended as soon as it was started.");
		return;
	}
	switch (look_for_worker())
	{
		case WORKER_WOKEN:
			rousing->since = 0;
			return;
		case WORKER_COMING:
			break;
		case WORKER_WANTED:
			rousing->poll = SLOT_POLL;
			called = call_worker(rousing);
			break;
	}
	now = GetCurrentTimestamp();
	if (rousing->since == 0)
		rousing->since = now;
	else if (TimestampDifferenceExceeds(rousing->since, now,
										dp_setting_reader_timeout))
		call_worker_give_up(slot,
							called ? "The worker did not start in time." :
							"All background worker slots of the server are in "
							"use.");
}

/* ---- dp_worker_methods ---- */

/* dp_ledger_find_wanted: the database that has waited longest for one. */
bool
dp_ledger_find_wanted(TimestampTz *since, Datum *database)
{
	bool		found = false;
	int			i;

	LWLockAcquire(dp_ledger_shared->lock, LW_SHARED);
	for (i = 0; i < dp_ledger_shared->workers; i++)
	{
		const dp_worker *worker = &dp_ledger_shared->worker[i];

		if (worker->state != DP_WORKER_STARTING || worker->pid != 0 ||
			worker->registered || (found && worker->since >= *since))
			continue;
		found = true;
		*since = worker->since;
		*database = ObjectIdGetDatum(worker->database);
	}
	LWLockRelease(dp_ledger_shared->lock);
	return found;
}

/* dp_ledger_spare: ask a worker that idles for another database to leave. */
bool
dp_ledger_spare(long idle, bool kept_too)
{
	TimestampTz now = GetCurrentTimestamp();
	dp_worker  *oldest = NULL;
	bool		leaves = false;
	int			i;

	LWLockAcquire(dp_ledger_shared->lock, LW_EXCLUSIVE);
	for (i = 0; i < dp_ledger_shared->workers; i++)
	{
		dp_worker  *worker = &dp_ledger_shared->worker[i];

		if (worker->state == DP_WORKER_NONE ||
			worker->database == MyDatabaseId ||
			(worker->kept && !kept_too))
			continue;
		leaves = leaves ||
			(worker->leave && worker->pid != 0 &&
			 (worker->state == DP_WORKER_STARTING ||
			  !dp_ledger_has_pending(worker->database)));
		if (worker->state == DP_WORKER_RUNNING &&
			!dp_ledger_has_pending(worker->database) &&
			TimestampDifferenceExceeds(worker->since, now, idle) &&
			(oldest == NULL || worker->since < oldest->since))
			oldest = worker;
	}
	if (oldest != NULL && !leaves)
	{
		oldest->leave = true;
		SetLatch(&oldest->proc->procLatch);
		leaves = true;
	}
	LWLockRelease(dp_ledger_shared->lock);
	return leaves;
}
