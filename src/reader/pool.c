/*
 * pool.c
 *	  The pool of readers: entries, waiters, and which of them gets which
 *	  reader.
 *
 * reader_internal.h states the life of an entry and the locking.  A reader
 * that becomes free goes to the waiting connection of its database whose role
 * has the fewest readers at work; among these, to the one that has waited
 * longest.  So a role that asks much does not keep others out.  No role may
 * have all readers, nor all kept ones (base/workers.c), unless there is only
 * one, since a run may take long.
 */
#include "postgres.h"

#include <signal.h>

#include "miscadmin.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/shmem.h"

#include "../base/dp_base.h"
#include "reader_internal.h"

/* ----------------
 *		The pool of readers in shared memory: size and initialization.
 * ----------------
 */

dp_reader_pool *dp_reader_shared = NULL;

static Size
entries_size(void)
{
	return CACHELINEALIGN(mul_size(dp_setting_readers,
								   sizeof(dp_reader_entry)));
}

static Size
waiters_size(void)
{
	return CACHELINEALIGN(mul_size(MaxBackends, sizeof(dp_reader_waiter)));
}

static Size
pool_shared_size(void)
{
	Size		size = CACHELINEALIGN(sizeof(dp_reader_pool));

	size = add_size(size, entries_size());
	size = add_size(size, waiters_size());
	return add_size(size, mul_size(2 * DP_READER_QUEUE, dp_setting_readers));
}

static void
pool_start_shmem(void *area, bool fresh, LWLock *lock)
{
	char	   *base = area;
	int			i;

	dp_reader_shared = area;
	if (!fresh)
		return;
	dp_reader_shared->lock = lock;
	dp_reader_shared->readers = dp_setting_readers;
	base += CACHELINEALIGN(sizeof(dp_reader_pool));
	dp_reader_shared->entry = (dp_reader_entry *) base;
	base += entries_size();
	dp_reader_shared->waiter = (dp_reader_waiter *) base;
	base += waiters_size();
	dp_reader_shared->queues = base;
	dlist_init(&dp_reader_shared->free);
	dlist_init(&dp_reader_shared->waiting);
	for (i = 0; i < MaxBackends; i++)
		dlist_push_tail(&dp_reader_shared->free,
						&dp_reader_shared->waiter[i].node);
}

/* dp_reader_pool_init: request the memory; from _PG_init, preloading. */
void
dp_reader_pool_init(void)
{
	dp_base_share("dp_pg_reader", pool_shared_size, pool_start_shmem);
}

/*
 * dp_reader_queue: memory of the queue to the connection, or of that from it.
 */
char *
dp_reader_queue(int entry, bool to_session)
{
	return dp_reader_shared->queues +
		(Size) DP_READER_QUEUE * (2 * entry + (to_session ? 1 : 0));
}

/* dp_reader_leader_memory: bytes that a reader's parallel worker reserves. */
Size
dp_reader_leader_memory(void)
{
	int			i;

	for (i = 0; i < dp_reader_shared->readers; i++)
		if (dp_reader_shared->entry[i].proc == MyProc->lockGroupLeader)
			return dp_reader_shared->entry[i].memory;
	return 0;					/* its leader is no reader */
}

/* ms that connections wait before another database gives up a reader */
#define OTHERS_PATIENCE 500

static void
lock_pool(void)
{
	LWLockAcquire(dp_reader_shared->lock, LW_EXCLUSIVE);
}

static void
unlock_pool(void)
{
	LWLockRelease(dp_reader_shared->lock);
}

/* ---- pairing; the caller locks ---- */

static int
count_busy(Oid role, bool kept_only)
{
	int			busy = 0;
	int			i;

	for (i = 0; i < dp_reader_shared->readers; i++)
	{
		const dp_reader_entry *entry = &dp_reader_shared->entry[i];

		if (entry->client != NULL && entry->role == role &&
			(entry->kept || !kept_only))
			busy++;
	}
	return busy;
}

/*
 * dp_reader_has_all
 *	  Does the role have all readers that it may have? The caller holds the
 *	  lock.
 */
bool
dp_reader_has_all(Oid role)
{
	return count_busy(role, false) >= Max(dp_reader_shared->readers - 1, 1);
}

/* The same for kept readers. */
static bool
has_all_kept(Oid role)
{
	return count_busy(role, true) >= Max(dp_reader_shared->kept - 1, 1);
}

/* May the role have this reader, so that others still have one? */
static bool
may_have(Oid role, const dp_reader_entry *entry)
{
	return !dp_reader_has_all(role) &&
		(!entry->kept || !has_all_kept(role));
}

static void
give(int number, dp_reader_waiter *waiter)
{
	dp_reader_entry *entry = &dp_reader_shared->entry[number];

	entry->state = DP_ENTRY_GIVEN;
	entry->client = waiter->proc;
	entry->role = waiter->role;
	entry->abandoned = false;
	entry->code = 0;
	waiter->entry = number;
	dlist_delete(&waiter->node);
}

static dp_reader_waiter *
choose_waiter(const dp_reader_entry *entry)
{
	dp_reader_waiter *best = NULL;
	int			least = 0;
	dlist_iter	iter;

	dlist_foreach(iter, &dp_reader_shared->waiting)
	{
		dp_reader_waiter *waiter = dlist_container(dp_reader_waiter, node,
												   iter.cur);
		int			busy;

		if (waiter->database != entry->database ||
			!may_have(waiter->role, entry))
			continue;
		busy = count_busy(waiter->role, false);
		if (best == NULL || busy < least)
		{
			best = waiter;
			least = busy;
		}
	}
	return best;
}

/* Has a connection of another database waited for long, and for an entry? */
static bool
lacks_entry(const dp_reader_entry *entry)
{
	dlist_iter	iter;
	int			i;

	for (i = 0; i < dp_reader_shared->readers; i++)
		if (dp_reader_shared->entry[i].state == DP_ENTRY_NONE ||
			(dp_reader_shared->entry[i].state == DP_ENTRY_IDLE &&
			 dp_reader_shared->entry[i].leave))
			return false;
	dlist_foreach(iter, &dp_reader_shared->waiting)
	{
		const dp_reader_waiter *waiter = dlist_container(dp_reader_waiter,
														 node, iter.cur);

		if (waiter->database != entry->database &&
			!dp_reader_has_all(waiter->role) &&
			TimestampDifferenceExceeds(waiter->since, entry->since,
									   OTHERS_PATIENCE))
			return true;
	}
	return false;
}

/* The reader is idle: give it to the next waiter that may have it, if any. */
static void
serve_next(int number)
{
	dp_reader_entry *entry = &dp_reader_shared->entry[number];
	dp_reader_waiter *waiter;

	entry->state = DP_ENTRY_IDLE;
	waiter = entry->leave ? NULL : choose_waiter(entry);
	if (waiter != NULL)
	{
		give(number, waiter);
		SetLatch(&waiter->proc->procLatch);
	}
	else if (entry->leave)
		SetLatch(&entry->proc->procLatch);
}

/* Wake waiters of a role, which may have one more now. */
static void
wake_role(Oid role)
{
	dlist_iter	iter;

	dlist_foreach(iter, &dp_reader_shared->waiting)
	{
		dp_reader_waiter *waiter = dlist_container(dp_reader_waiter, node,
												   iter.cur);

		if (waiter->role == role)
			SetLatch(&waiter->proc->procLatch);
	}
}

/*
 * A role has released a reader: it may now have one that idles for another
 * database, if its connection there has waited longer than the one here.
 */
static void
serve_elsewhere(Oid role, Oid here)
{
	dlist_iter	iter;

	dlist_foreach(iter, &dp_reader_shared->waiting)
	{
		dp_reader_waiter *waiter = dlist_container(dp_reader_waiter, node,
												   iter.cur);

		if (waiter->role != role)
			continue;
		if (waiter->database == here)
			return;
		dp_reader_give_idle(waiter);
		if (waiter->entry >= 0)
		{
			SetLatch(&waiter->proc->procLatch);
			return;				/* the waiter has left the list */
		}
	}
}

/* No connection holds the reader any more. */
static void
pass_on(int number)
{
	dp_reader_entry *entry = &dp_reader_shared->entry[number];
	Oid			role = entry->role;

	entry->client = NULL;
	entry->role = InvalidOid;
	entry->since = GetCurrentTimestamp();
	if (entry->yield || lacks_entry(entry))
		entry->leave = true;
	serve_elsewhere(role, entry->database);
	serve_next(number);
	wake_role(role);
}

/*
 * The connection that holds the entry no longer needs it; the caller holds the
 * lock.
 */
static void
give_back(int number)
{
	dp_reader_entry *entry = &dp_reader_shared->entry[number];
	Oid			role;

	switch (entry->state)
	{
		case DP_ENTRY_WORKING:
			entry->abandoned = true;
			kill(entry->pid, SIGINT);
			break;
		case DP_ENTRY_GIVEN:
		case DP_ENTRY_DONE:
			pass_on(number);
			break;
		case DP_ENTRY_DEAD:
			role = entry->role;
			MemSet(entry, 0, sizeof(*entry));
			wake_role(role);
			break;
		default:
			break;
	}
}

/* ---- the connection's side ---- */

/*
 * dp_reader_give_idle
 *	  Give the waiter the reader that worked last, of the idle ones of this
 *	  database that it may have, if there is one.  The caller holds the lock.
 */
void
dp_reader_give_idle(dp_reader_waiter *waiter)
{
	int			latest = -1;
	int			i;

	for (i = 0; i < dp_reader_shared->readers; i++)
	{
		const dp_reader_entry *entry = &dp_reader_shared->entry[i];

		if (entry->state == DP_ENTRY_IDLE && !entry->leave &&
			entry->database == waiter->database &&
			may_have(waiter->role, entry) &&
			(latest < 0 ||
			 entry->since > dp_reader_shared->entry[latest].since))
			latest = i;
	}
	if (latest >= 0)
		give(latest, waiter);
}

/*
 * dp_reader_held_back
 *	  Has the waiter no reader because of those that its role has already?
 *	  *all: the role may have no further reader of any kind.  The caller holds
 *	  the lock.
 */
bool
dp_reader_held_back(const dp_reader_waiter *waiter, bool *all)
{
	int			i;

	*all = dp_reader_has_all(waiter->role);
	for (i = 0; i < dp_reader_shared->readers; i++)
	{
		const dp_reader_entry *entry = &dp_reader_shared->entry[i];

		if (entry->state == DP_ENTRY_IDLE && !entry->leave &&
			entry->database == waiter->database)
			return true;
	}
	return *all ||
		(dp_reader_shared->kept > 0 && has_all_kept(waiter->role));
}

/*
 * dp_reader_enter
 *	  Queue for a reader, or get the idle one that worked last.  Raises
 *	  nothing; NULL if too many wait.
 */
dp_reader_waiter *
dp_reader_enter(Oid role)
{
	dp_reader_waiter *waiter = NULL;

	lock_pool();
	if (!dlist_is_empty(&dp_reader_shared->free))
	{
		waiter = dlist_container(dp_reader_waiter, node,
								 dlist_pop_head_node(&dp_reader_shared->free));
		waiter->proc = MyProc;
		waiter->database = MyDatabaseId;
		waiter->role = role;
		waiter->since = GetCurrentTimestamp();
		waiter->failures = 0;
		waiter->entry = -1;
		dlist_push_tail(&dp_reader_shared->waiting, &waiter->node);
		dp_reader_give_idle(waiter);
	}
	unlock_pool();
	return waiter;
}

static bool
pool_is_wanted(Oid database)
{
	dlist_iter	iter;

	dlist_foreach(iter, &dp_reader_shared->waiting)
		if (dlist_container(dp_reader_waiter, node,
							iter.cur)->database == database)
			return true;
	return false;
}

/*
 * dp_reader_drop_unwanted
 *	  Drop entries that want a process although no connection waits any more,
 *	  and those whose process was registered too long ago.  The caller holds
 *	  the lock.
 */
void
dp_reader_drop_unwanted(void)
{
	int			i;

	for (i = 0; i < dp_reader_shared->readers; i++)
	{
		dp_reader_entry *entry = &dp_reader_shared->entry[i];

		if (entry->state != DP_ENTRY_STARTING || entry->pid != 0)
			continue;
		if (entry->registered &&
			!TimestampDifferenceExceeds(entry->since, GetCurrentTimestamp(),
										DP_READER_START_TIMEOUT))
			continue;
		entry->registered = false;
		if (!pool_is_wanted(entry->database))
			MemSet(entry, 0, sizeof(*entry));
	}
}

/*
 * dp_reader_note_failure
 *	  Note that a process of the database ended before it was a reader.  The
 *	  caller holds the lock.
 */
void
dp_reader_note_failure(Oid database)
{
	dlist_iter	iter;

	dlist_foreach(iter, &dp_reader_shared->waiting)
	{
		dp_reader_waiter *waiter = dlist_container(dp_reader_waiter, node,
												   iter.cur);

		if (waiter->database == database)
			waiter->failures++;
	}
}

/* Free a waiter; the caller holds the lock. */
static void
free_waiter(dp_reader_waiter *waiter)
{
	dp_reader_drop_unwanted();
	waiter->proc = NULL;
	dlist_push_tail(&dp_reader_shared->free, &waiter->node);
}

static bool
is_only_busy(int number)
{
	int			i;

	for (i = 0; i < dp_reader_shared->readers; i++)
		if (i != number && dp_reader_shared->entry[i].client != NULL)
			return false;
	return dlist_is_empty(&dp_reader_shared->waiting);
}

/*
 * dp_reader_given
 *	  The entry that the waiter was given, which ends the wait, and whether no
 *	  other connection uses one; else -1.
 */
int
dp_reader_given(dp_reader_waiter *waiter, bool *alone)
{
	int			entry;

	lock_pool();
	entry = waiter->entry;
	*alone = is_only_busy(entry);
	if (entry >= 0)
		free_waiter(waiter);
	unlock_pool();
	return entry;
}

/* dp_reader_is_alone: does only this entry's connection use a reader? */
bool
dp_reader_is_alone(int entry)
{
	bool		alone;

	LWLockAcquire(dp_reader_shared->lock, LW_SHARED);
	alone = is_only_busy(entry);
	LWLockRelease(dp_reader_shared->lock);
	return alone;
}

/*
 * dp_reader_withdraw: stop waiting, and give back the reader if one was given.
 */
void
dp_reader_withdraw(dp_reader_waiter *waiter)
{
	lock_pool();
	if (waiter->entry < 0)
		dlist_delete(&waiter->node);
	else
		give_back(waiter->entry);
	free_waiter(waiter);
	unlock_pool();
}

/* dp_reader_start_work: the queues are set up; wake the reader. */
void
dp_reader_start_work(int number)
{
	dp_reader_entry *entry = &dp_reader_shared->entry[number];
	PGPROC	   *proc = NULL;

	lock_pool();
	if (entry->state == DP_ENTRY_GIVEN)
	{
		entry->state = DP_ENTRY_WORKING;
		proc = entry->proc;
	}
	unlock_pool();
	if (proc != NULL)
		SetLatch(&proc->procLatch);
}

/* dp_reader_look: the state of the reader; *code is set if DONE. */
dp_reader_state
dp_reader_look(int number, int *code)
{
	dp_reader_entry *entry = &dp_reader_shared->entry[number];
	dp_reader_state state;

	LWLockAcquire(dp_reader_shared->lock, LW_SHARED);
	state = entry->state;
	*code = entry->code;
	LWLockRelease(dp_reader_shared->lock);
	return state;
}

/*
 * dp_reader_let_go
 *	  The connection no longer needs the reader; if it is at work it is
 *	  stopped.
 */
void
dp_reader_let_go(int number)
{
	lock_pool();
	give_back(number);
	unlock_pool();
}

/* ---- the reader's side ---- */

/*
 * dp_reader_announce: announce that the reader is ready for work; false if it
 * is no longer wanted.
 */
bool
dp_reader_announce(int number)
{
	dp_reader_entry *entry = &dp_reader_shared->entry[number];
	bool		mine;

	lock_pool();
	mine = entry->state == DP_ENTRY_STARTING && entry->pid == MyProcPid;
	if (mine)
	{
		entry->proc = MyProc;
		entry->since = GetCurrentTimestamp();
		serve_next(number);		/* it has served no connection yet */
	}
	unlock_pool();
	return mine;
}

/*
 * dp_reader_end_work: report the result to the connection, if it is still
 * there.
 */
void
dp_reader_end_work(int number, int code)
{
	dp_reader_entry *entry = &dp_reader_shared->entry[number];
	PGPROC	   *client = NULL;
	bool		yield = dp_base_must_yield(DP_WORKER_READER,
											   OTHERS_PATIENCE);

	lock_pool();
	entry->yield = entry->yield || yield;
	if (entry->abandoned)
		pass_on(number);
	else
	{
		entry->state = DP_ENTRY_DONE;
		entry->code = code;
		client = entry->client;
	}
	unlock_pool();
	if (client != NULL)
		SetLatch(&client->procLatch);
}

/*
 * dp_reader_vanish
 *	  Called when a reader ends for whatever reason: wakes the connection that
 *	  waits for it, and all that wait for a reader, in any database.
 */
void
dp_reader_vanish(int number)
{
	dp_reader_entry *entry = &dp_reader_shared->entry[number];
	dlist_iter	iter;

	lock_pool();
	if (entry->pid == MyProcPid)
	{
		bool		used = entry->state == DP_ENTRY_GIVEN ||
			entry->state == DP_ENTRY_DONE ||
			(entry->state == DP_ENTRY_WORKING && !entry->abandoned);

		if (used)
		{
			entry->state = DP_ENTRY_DEAD;
			entry->pid = 0;
			entry->proc = NULL;
			SetLatch(&entry->client->procLatch);
		}
		else
		{
			if (entry->state == DP_ENTRY_STARTING)
				dp_reader_note_failure(entry->database);
			MemSet(entry, 0, sizeof(*entry));
		}
		dlist_foreach(iter, &dp_reader_shared->waiting)
			SetLatch(&dlist_container(dp_reader_waiter, node,
									  iter.cur)->proc->procLatch);
	}
	unlock_pool();
}
