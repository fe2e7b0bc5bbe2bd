/*
 * pool.c
 *	  The pool of readers: entries, who waits, who gets which.
 *
 * reader.h states the life of an entry and the locking.  A reader that gets
 * free goes to the waiting session of its database whose role has the fewest
 * readers at work, the longest waiting one of these: nobody is kept out by a
 * role that asks much.
 */
#include "postgres.h"

#include <signal.h>

#include "miscadmin.h"
#include "storage/latch.h"

#include "reader.h"

/* ms that sessions of a database wait before others give up a reader */
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
count_busy(Oid role)
{
	int			busy = 0;
	int			i;

	for (i = 0; i < dp_reader_shared->readers; i++)
		if (dp_reader_shared->entry[i].client != NULL &&
			dp_reader_shared->entry[i].role == role)
			busy++;
	return busy;
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
choose_waiter(Oid database)
{
	dp_reader_waiter *best = NULL;
	int			least = 0;
	dlist_iter	iter;

	dlist_foreach(iter, &dp_reader_shared->waiting)
	{
		dp_reader_waiter *waiter = dlist_container(dp_reader_waiter, node,
												   iter.cur);
		int			busy;

		if (waiter->database != database)
			continue;
		busy = count_busy(waiter->role);
		if (best == NULL || busy < least)
		{
			best = waiter;
			least = busy;
		}
	}
	return best;
}

/* Does somebody of another database wait for long, and for an entry? */
static bool
must_make_room(const dp_reader_entry *entry)
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
			TimestampDifferenceExceeds(waiter->since, entry->since,
									   OTHERS_PATIENCE))
			return true;
	}
	return false;
}

/* Nobody holds the reader any more: the next one, if somebody waits. */
static void
pass_on(int number)
{
	dp_reader_entry *entry = &dp_reader_shared->entry[number];
	dp_reader_waiter *waiter;

	entry->client = NULL;
	entry->role = InvalidOid;
	entry->since = GetCurrentTimestamp();
	if (must_make_room(entry))
		entry->leave = true;
	entry->state = DP_ENTRY_IDLE;
	waiter = entry->leave ? NULL : choose_waiter(entry->database);
	if (waiter != NULL)
	{
		give(number, waiter);
		SetLatch(&waiter->proc->procLatch);
	}
	else if (entry->leave)
		SetLatch(&entry->proc->procLatch);
}

/* The session that holds the entry needs it no longer; the caller locks. */
static void
give_back(int number)
{
	dp_reader_entry *entry = &dp_reader_shared->entry[number];

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
			MemSet(entry, 0, sizeof(*entry));
			break;
		default:
			break;
	}
}

/* ---- the session's side ---- */

/*
 * dp_reader_enter
 *	  Wait for a reader, behind those who wait already, or get the one that
 *	  worked last.  Raises nothing; NULL when too many wait.
 */
dp_reader_waiter *
dp_reader_enter(Oid role)
{
	dp_reader_waiter *waiter = NULL;
	int			latest = -1;
	int			i;

	lock_pool();
	if (!dlist_is_empty(&dp_reader_shared->free))
	{
		waiter = dlist_container(dp_reader_waiter, node,
								 dlist_pop_head_node(&dp_reader_shared->free));
		waiter->proc = MyProc;
		waiter->database = MyDatabaseId;
		waiter->role = role;
		waiter->since = GetCurrentTimestamp();
		waiter->entry = -1;
		dlist_push_tail(&dp_reader_shared->waiting, &waiter->node);
		for (i = 0; i < dp_reader_shared->readers; i++)
		{
			dp_reader_entry *entry = &dp_reader_shared->entry[i];

			if (entry->state == DP_ENTRY_IDLE && !entry->leave &&
				entry->database == MyDatabaseId &&
				(latest < 0 ||
				 entry->since > dp_reader_shared->entry[latest].since))
				latest = i;
		}
		if (latest >= 0)
			give(latest, waiter);
	}
	unlock_pool();
	return waiter;
}

/* The waiter waits no longer; the caller locks. */
static void
free_waiter(dp_reader_waiter *waiter)
{
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
 *	  The entry that the waiter was given, which ends the wait, and whether
 *	  nobody else uses one; else -1, and *since is when the wait began.
 */
int
dp_reader_given(dp_reader_waiter *waiter, TimestampTz *since, bool *alone)
{
	int			entry;

	lock_pool();
	entry = waiter->entry;
	*since = waiter->since;
	*alone = is_only_busy(entry);
	if (entry >= 0)
		free_waiter(waiter);
	unlock_pool();
	return entry;
}

/* dp_reader_is_alone: does nobody but this entry's session use a reader? */
bool
dp_reader_is_alone(int entry)
{
	bool		alone;

	LWLockAcquire(dp_reader_shared->lock, LW_SHARED);
	alone = is_only_busy(entry);
	LWLockRelease(dp_reader_shared->lock);
	return alone;
}

/* An idle reader of another database makes room. */
static void
make_room(void)
{
	int			oldest = -1;
	int			i;

	for (i = 0; i < dp_reader_shared->readers; i++)
	{
		dp_reader_entry *entry = &dp_reader_shared->entry[i];

		if (entry->state != DP_ENTRY_IDLE || entry->database == MyDatabaseId)
			continue;
		if (entry->leave)
			return;				/* on its way */
		if (oldest < 0 ||
			entry->since < dp_reader_shared->entry[oldest].since)
			oldest = i;
	}
	if (oldest < 0)
		return;
	dp_reader_shared->entry[oldest].leave = true;
	SetLatch(&dp_reader_shared->entry[oldest].proc->procLatch);
}

/*
 * dp_reader_want
 *	  An entry for a new reader of this database, which the caller registers;
 *	  -1 when there is none, or one is starting already.  *running tells
 *	  whether some reader of this database is there or on its way.
 */
int
dp_reader_want(bool *running)
{
	TimestampTz now = GetCurrentTimestamp();
	int			wanted = -1;
	bool		starting = false;
	int			i;

	*running = false;
	lock_pool();
	for (i = 0; i < dp_reader_shared->readers; i++)
	{
		dp_reader_entry *entry = &dp_reader_shared->entry[i];

		if (entry->state == DP_ENTRY_STARTING && entry->pid == 0 &&
			TimestampDifferenceExceeds(entry->since, now,
									   DP_READER_START_TIMEOUT))
			MemSet(entry, 0, sizeof(*entry));
		if (entry->state == DP_ENTRY_NONE)
			wanted = wanted < 0 ? i : wanted;
		else if (entry->database == MyDatabaseId &&
				 entry->state != DP_ENTRY_DEAD)
		{
			*running = true;
			starting = starting || entry->state == DP_ENTRY_STARTING;
		}
	}
	if (starting)
		wanted = -1;
	else if (wanted >= 0)
	{
		dp_reader_entry *entry = &dp_reader_shared->entry[wanted];

		MemSet(entry, 0, sizeof(*entry));
		entry->state = DP_ENTRY_STARTING;
		entry->database = MyDatabaseId;
		entry->since = now;
	}
	else
		make_room();
	unlock_pool();
	return wanted;
}

/* dp_reader_forget: the process of an entry that was wanted never ran. */
void
dp_reader_forget(int number)
{
	dp_reader_entry *entry = &dp_reader_shared->entry[number];

	lock_pool();
	if (entry->state == DP_ENTRY_STARTING && entry->pid == 0 &&
		entry->database == MyDatabaseId)
		MemSet(entry, 0, sizeof(*entry));
	unlock_pool();
}

/* dp_reader_withdraw: wait no longer, and give back what was given. */
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

/* dp_reader_look: how far is it?  *code is set when DONE. */
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
 *	  The session needs the reader no longer; one that is at work is stopped.
 */
void
dp_reader_let_go(int number)
{
	lock_pool();
	give_back(number);
	unlock_pool();
}

/*
 * dp_reader_ask_to_leave
 *	  Have the readers of a database leave; false when there are none.
 */
bool
dp_reader_ask_to_leave(Oid database)
{
	bool		there = false;
	int			i;

	lock_pool();
	for (i = 0; i < dp_reader_shared->readers; i++)
	{
		dp_reader_entry *entry = &dp_reader_shared->entry[i];

		if (entry->state == DP_ENTRY_NONE || entry->state == DP_ENTRY_DEAD ||
			entry->database != database)
			continue;
		there = true;
		entry->leave = true;
		if (entry->proc != NULL)
			SetLatch(&entry->proc->procLatch);
	}
	unlock_pool();
	return there;
}

/* ---- the reader's side ---- */

/*
 * dp_reader_take_entry
 *	  The entry becomes this process's; returns its database, or InvalidOid
 *	  when it is too late.
 */
Oid
dp_reader_take_entry(int number)
{
	dp_reader_entry *entry = &dp_reader_shared->entry[number];
	Oid			database = InvalidOid;

	lock_pool();
	if (entry->state == DP_ENTRY_STARTING && entry->pid == 0)
	{
		entry->pid = MyProcPid;
		database = entry->database;
	}
	unlock_pool();
	return database;
}

/* dp_reader_announce: ready for work; false: nobody expects it any more. */
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
		pass_on(number);
	}
	unlock_pool();
	return mine;
}

/* dp_reader_end_work: tell the session how it ended, if it is still there. */
void
dp_reader_end_work(int number, int code)
{
	dp_reader_entry *entry = &dp_reader_shared->entry[number];
	PGPROC	   *client = NULL;

	lock_pool();
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
 * dp_reader_may_leave
 *	  Leave when nothing is to be done; decided under the lock, so that no
 *	  session can be given a reader that is gone.  `idle`: the idle time is
 *	  over; otherwise only a wish makes it leave.
 */
bool
dp_reader_may_leave(int number, bool idle)
{
	dp_reader_entry *entry = &dp_reader_shared->entry[number];
	bool		leave;

	lock_pool();
	leave = entry->state == DP_ENTRY_IDLE && (idle || entry->leave);
	if (leave)
		entry->leave = true;
	unlock_pool();
	return leave;
}

/*
 * dp_reader_vanish
 *	  Last act of a reader, whatever ended it: a session that waits for it
 *	  learns, and those who wait for one, in any database, look again.
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
			MemSet(entry, 0, sizeof(*entry));
		dlist_foreach(iter, &dp_reader_shared->waiting)
			SetLatch(&dlist_container(dp_reader_waiter, node,
									  iter.cur)->proc->procLatch);
	}
	unlock_pool();
}
