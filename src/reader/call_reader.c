/*
 * call_reader.c
 *	  How a database gets a reader: a connection that waits makes an entry, for
 *	  which a kept worker comes or one is registered (base/workers.c).
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/latch.h"

#include "../base/dp_base.h"
#include "reader_internal.h"

/*
 * Ask a reader that idles for another database to leave; see
 * dp_worker_methods.
 */
static bool
ask_idle(long idle, bool kept_too)
{
	TimestampTz now = GetCurrentTimestamp();
	int			oldest = -1;
	int			i;

	for (i = 0; i < dp_reader_shared->readers; i++)
	{
		dp_reader_entry *entry = &dp_reader_shared->entry[i];

		if (entry->state != DP_ENTRY_IDLE ||
			entry->database == MyDatabaseId || (entry->kept && !kept_too))
			continue;
		if (entry->leave)
			return true;		/* it is leaving */
		if (TimestampDifferenceExceeds(entry->since, now, idle) &&
			(oldest < 0 ||
			 entry->since < dp_reader_shared->entry[oldest].since))
			oldest = i;
	}
	if (oldest < 0)
		return false;
	dp_reader_shared->entry[oldest].leave = true;
	SetLatch(&dp_reader_shared->entry[oldest].proc->procLatch);
	return true;
}

/* dp_reader_spare: dp_worker_methods */
bool
dp_reader_spare(long idle, bool kept_too)
{
	bool		asked;

	LWLockAcquire(dp_reader_shared->lock, LW_EXCLUSIVE);
	asked = ask_idle(idle, kept_too);
	LWLockRelease(dp_reader_shared->lock);
	return asked;
}

/* Does the database have a reader, or one that is starting? */
static bool
has_reader(Oid database)
{
	int			i;

	for (i = 0; i < dp_reader_shared->readers; i++)
		if (dp_reader_shared->entry[i].database == database &&
			dp_reader_shared->entry[i].pid != 0)
			return true;
	return false;
}

/*
 * dp_reader_wanted
 *	  The entry that has waited longest for a process; see dp_worker_methods.
 */
bool
dp_reader_wanted(TimestampTz *since, Datum *number)
{
	bool		found = false;
	int			i;

	LWLockAcquire(dp_reader_shared->lock, LW_EXCLUSIVE);
	for (i = 0; i < dp_reader_shared->readers; i++)
	{
		const dp_reader_entry *entry = &dp_reader_shared->entry[i];

		if (entry->state != DP_ENTRY_STARTING || entry->pid != 0 ||
			entry->registered || (found && entry->since >= *since))
			continue;
		found = true;
		*since = entry->since;
		*number = Int32GetDatum(i);
	}
	LWLockRelease(dp_reader_shared->lock);
	return found;
}

/*
 * Is the last free entry reserved for another database?  It goes to the one
 * that has waited longest among those without an entry.
 */
static bool
is_for_others(int entries)
{
	dlist_iter	iter;
	int			i;

	if (entries != 1)
		return false;
	dlist_foreach(iter, &dp_reader_shared->waiting)
	{
		const dp_reader_waiter *waiter = dlist_container(dp_reader_waiter,
														 node, iter.cur);

		if (dp_reader_has_all(waiter->role))
			continue;
		for (i = 0; i < dp_reader_shared->readers; i++)
			if (dp_reader_shared->entry[i].database == waiter->database)
				break;
		if (i < dp_reader_shared->readers)
			continue;
		if (waiter->database == MyDatabaseId)
			return false;
		SetLatch(&waiter->proc->procLatch);
		return true;
	}
	return false;
}

/*
 * dp_reader_want
 *	  The entry of this database for which a process must be found, or -1.
 *	  *running: the database has a reader, or one is starting. *spare: the
 *	  waiter's role has its share of the kept ones, so no other reader must
 *	  leave for it.
 */
int
dp_reader_want(dp_reader_waiter *waiter, bool *running, bool *spare)
{
	bool		all;
	int			wanted = -1;
	int			unused = -1;
	int			entries = 0;
	bool		starting = false;
	int			i;

	LWLockAcquire(dp_reader_shared->lock, LW_EXCLUSIVE);
	dp_reader_drop_unwanted();
	if (waiter->entry < 0)
		dp_reader_give_idle(waiter);
	if (waiter->entry >= 0)
		SetLatch(MyLatch);		/* it need not wait */
	*running = waiter->entry >= 0 || has_reader(MyDatabaseId);
	*spare = dp_reader_held_back(waiter, &all);
	for (i = 0; i < dp_reader_shared->readers; i++)
	{
		const dp_reader_entry *entry = &dp_reader_shared->entry[i];

		if (entry->state == DP_ENTRY_NONE)
		{
			unused = unused < 0 ? i : unused;
			entries++;
		}
		else if (entry->state == DP_ENTRY_STARTING &&
				 entry->database == MyDatabaseId)
		{
			starting = true;
			if (entry->pid == 0 && !entry->registered)
				wanted = i;
		}
	}
	if (waiter->entry >= 0 || all || (*spare && starting))
		wanted = -1;
	else if (!starting && entries > 0 && !is_for_others(entries))
	{
		dp_reader_entry *entry = &dp_reader_shared->entry[unused];

		MemSet(entry, 0, sizeof(*entry));
		entry->state = DP_ENTRY_STARTING;
		entry->database = MyDatabaseId;
		entry->since = GetCurrentTimestamp();
		wanted = unused;
	}
	else if (!starting && entries == 0 && !*spare)
		(void) ask_idle(0, true);
	LWLockRelease(dp_reader_shared->lock);
	return wanted;
}

/*
 * dp_reader_registered
 *	  Note that a process was registered for the entry; returns the time, by
 *	  which dp_reader_forget identifies it.
 */
TimestampTz
dp_reader_registered(int number)
{
	dp_reader_entry *entry = &dp_reader_shared->entry[number];
	TimestampTz now = GetCurrentTimestamp();

	LWLockAcquire(dp_reader_shared->lock, LW_EXCLUSIVE);
	if (entry->state == DP_ENTRY_STARTING && entry->pid == 0 &&
		entry->database == MyDatabaseId)
	{
		entry->registered = true;
		entry->since = now;
	}
	LWLockRelease(dp_reader_shared->lock);
	return now;
}

/* dp_reader_unwant: no process is available for the entry; free it. */
void
dp_reader_unwant(int number)
{
	dp_reader_entry *entry = &dp_reader_shared->entry[number];

	LWLockAcquire(dp_reader_shared->lock, LW_EXCLUSIVE);
	if (entry->state == DP_ENTRY_STARTING && entry->pid == 0 &&
		!entry->registered && entry->database == MyDatabaseId)
		MemSet(entry, 0, sizeof(*entry));
	LWLockRelease(dp_reader_shared->lock);
}

/* dp_reader_forget: the process registered for the entry did not run. */
void
dp_reader_forget(int number, TimestampTz registered)
{
	dp_reader_entry *entry = &dp_reader_shared->entry[number];

	LWLockAcquire(dp_reader_shared->lock, LW_EXCLUSIVE);
	if (entry->state == DP_ENTRY_STARTING && entry->pid == 0 &&
		entry->registered && entry->since == registered &&
		entry->database == MyDatabaseId)
	{
		MemSet(entry, 0, sizeof(*entry));
		dp_reader_note_failure(MyDatabaseId);
	}
	LWLockRelease(dp_reader_shared->lock);
}

/*
 * dp_reader_ask_to_leave
 *	  Ask the readers of a database to leave; false if there are none.
 */
bool
dp_reader_ask_to_leave(Oid database)
{
	bool		there = false;
	int			i;

	LWLockAcquire(dp_reader_shared->lock, LW_EXCLUSIVE);
	for (i = 0; i < dp_reader_shared->readers; i++)
	{
		dp_reader_entry *entry = &dp_reader_shared->entry[i];

		if (entry->state == DP_ENTRY_NONE || entry->state == DP_ENTRY_DEAD ||
			entry->database != database)
			continue;
		if (entry->pid == 0 && !entry->registered)
		{
			MemSet(entry, 0, sizeof(*entry));	/* a connection that needs it
												 * asks again */
			continue;
		}
		there = true;
		entry->leave = true;
		if (entry->proc != NULL)
			SetLatch(&entry->proc->procLatch);
	}
	LWLockRelease(dp_reader_shared->lock);
	return there;
}

/* ---- the process that comes ---- */

/*
 * dp_reader_take_entry
 *	  Make the entry this process's; returns its database, or InvalidOid if it
 *	  is no longer wanted.
 */
Oid
dp_reader_take_entry(int number)
{
	dp_reader_entry *entry = &dp_reader_shared->entry[number];
	Oid			database = InvalidOid;
	int			kept = dp_base_kept_readers();

	LWLockAcquire(dp_reader_shared->lock, LW_EXCLUSIVE);
	if (entry->state == DP_ENTRY_STARTING && entry->pid == 0)
	{
		entry->pid = MyProcPid;
		entry->kept = dp_base_is_kept();
		dp_reader_shared->kept = kept;
		database = entry->database;
	}
	LWLockRelease(dp_reader_shared->lock);
	return database;
}

/*
 * dp_reader_may_leave
 *	  Leave if there is nothing to do; decided under the lock, so that no
 *	  connection can be given a reader that has left.  `idle`: the idle time is
 *	  over, which a kept reader ignores; otherwise it leaves only if asked to.
 */
bool
dp_reader_may_leave(int number, bool idle)
{
	dp_reader_entry *entry = &dp_reader_shared->entry[number];
	bool		leave;

	LWLockAcquire(dp_reader_shared->lock, LW_EXCLUSIVE);
	leave = entry->state == DP_ENTRY_IDLE &&
		((idle && !entry->kept) || entry->leave);
	if (leave)
		entry->leave = true;
	LWLockRelease(dp_reader_shared->lock);
	return leave;
}
