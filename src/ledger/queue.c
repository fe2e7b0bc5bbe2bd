/*
 * queue.c
 *	  The queue and slots in shared memory through which connections, readers
 *	  and the ledger's worker meet; and the number of transactions that have
 *	  ended, without charges, by which connections see what has changed.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/latch.h"
#include "storage/shmem.h"

#include "../base/dp_base.h"
#include "dp_ledger.h"
#include "ledger_internal.h"

/* ----------------
 *		The queue of the ledger in shared memory: slots and workers' entries.
 *
 * ledger_internal.h states the life of a slot and the locking.
 * ----------------
 */

/*
 * Slots beyond one per backend: for those abandoned while a worker holds them,
 * and for connections that hold two while a reader works for them.
 */
#define SPARE_SLOTS 64

dp_shared  *dp_ledger_shared = NULL;

static Size
slots_size(void)
{
	return CACHELINEALIGN(mul_size(MaxBackends + SPARE_SLOTS,
								   sizeof(dp_slot)));
}

/* An entry for each database that may need one: at most one per backend. */
static Size
workers_size(void)
{
	return CACHELINEALIGN(mul_size(MaxBackends, sizeof(dp_worker)));
}

static Size
queue_shared_size(void)
{
	return add_size(CACHELINEALIGN(sizeof(dp_shared)),
					add_size(slots_size(), workers_size()));
}

static void
queue_start_shmem(void *area, bool fresh, LWLock *lock)
{
	char	   *base = area;
	int			i;

	dp_ledger_shared = area;
	if (!fresh)
		return;
	dp_ledger_shared->lock = lock;
	dp_ledger_shared->slots = MaxBackends + SPARE_SLOTS;
	dp_ledger_shared->workers = MaxBackends;
	base += CACHELINEALIGN(sizeof(dp_shared));
	dp_ledger_shared->slot = (dp_slot *) base;
	base += slots_size();
	dp_ledger_shared->worker = (dp_worker *) base;
	pg_atomic_init_u32(&dp_ledger_shared->committing, 0);
	pg_atomic_init_u64(&dp_ledger_shared->charged, 0);
	dlist_init(&dp_ledger_shared->free);
	dlist_init(&dp_ledger_shared->pending);
	for (i = 0; i < dp_ledger_shared->slots; i++)
		dlist_push_tail(&dp_ledger_shared->free,
						&dp_ledger_shared->slot[i].node);
}

/* dp_ledger_shmem_init: ask for the memory; from _PG_init, preloading. */
void
dp_ledger_shmem_init(void)
{
	dp_base_share("dp_pg_ledger", queue_shared_size, queue_start_shmem);
}

/* Wipe the exact numbers that a task may hold. */
static void
wipe_task(dp_slot *slot)
{
	if (slot->request.task.kind != DP_TASK_NONE)
		explicit_bzero(&slot->request.task, sizeof(slot->request.task));
}

/* dp_ledger_free_slot: give a slot back; the caller holds the lock. */
void
dp_ledger_free_slot(dp_slot *slot)
{
	wipe_task(slot);
	if (slot->state == DP_SLOT_PENDING || slot->state == DP_SLOT_TAKEN)
		dp_ledger_shared->used--;
	if (slot->unattended)
		dp_ledger_shared->unattended--;
	slot->state = DP_SLOT_FREE;
	slot->abandoned = false;
	slot->unattended = false;
	slot->proc = NULL;
	dlist_push_tail(&dp_ledger_shared->free, &slot->node);
}

/* dp_ledger_answer_slot: its answer is complete; the caller holds the lock. */
void
dp_ledger_answer_slot(dp_slot *slot)
{
	slot->state = DP_SLOT_DONE;
	dp_ledger_shared->used--;
}

/* dp_ledger_wake: wake the connection that waits for the slot, if any. */
void
dp_ledger_wake(dp_slot *slot)
{
	if (slot->proc)
		SetLatch(&slot->proc->procLatch);
}

/*
 * dp_ledger_submit
 *	  Queue a request; NULL if no slot is free. *alone says that nobody else is
 *	  waiting.
 *
 * Raises nothing, so that the caller can arrange for the slot to be abandoned
 * before anything can go wrong.
 */
dp_slot *
dp_ledger_submit(const dp_slot *content, bool *alone)
{
	dp_slot    *slot = NULL;

	LWLockAcquire(dp_ledger_shared->lock, LW_EXCLUSIVE);
	if (!dlist_is_empty(&dp_ledger_shared->free))
	{
		slot = dlist_container(dp_slot, node,
							   dlist_pop_head_node(&dp_ledger_shared->free));
		*slot = *content;
		slot->ticket = 0;
		slot->proxy = NULL;
		slot->state = DP_SLOT_PENDING;
		slot->abandoned = false;
		slot->proc = MyProc;
		slot->database = MyDatabaseId;
		dlist_push_tail(&dp_ledger_shared->pending, &slot->node);
		*alone = ++dp_ledger_shared->used == 1;
	}
	LWLockRelease(dp_ledger_shared->lock);
	return slot;
}

/*
 * dp_ledger_has_unattended
 *	  Whether this database has a request that nobody waits for.  The caller
 *	  holds the lock.
 */
bool
dp_ledger_has_unattended(void)
{
	int			i;

	if (dp_ledger_shared->unattended > 0)
		for (i = 0; i < dp_ledger_shared->slots; i++)
			if (dp_ledger_shared->slot[i].unattended &&
				dp_ledger_shared->slot[i].database == MyDatabaseId)
				return true;
	return false;
}

/*
 * dp_ledger_reserve_slot
 *	  A reserved slot with a new ticket, or NULL if none is free.  Unless busy
 *	  is NULL, also NULL, with *busy set, if the worker has not yet done all
 *	  requests of dp_ledger_fail.
 */
dp_slot *
dp_ledger_reserve_slot(bool *busy)
{
	dp_slot    *slot = NULL;

	LWLockAcquire(dp_ledger_shared->lock, LW_EXCLUSIVE);
	if (busy != NULL)
		*busy = dp_ledger_has_unattended();
	if ((busy == NULL || !*busy) && !dlist_is_empty(&dp_ledger_shared->free))
	{
		slot = dlist_container(dp_slot, node,
							   dlist_pop_head_node(&dp_ledger_shared->free));
		MemSet(&slot->request, 0, sizeof(slot->request));
		slot->proxy = NULL;
		slot->failures = 0;
		slot->state = DP_SLOT_RESERVED;
		slot->ticket = ++dp_ledger_shared->tickets;
	}
	LWLockRelease(dp_ledger_shared->lock);
	return slot;
}

/*
 * dp_ledger_slot_state
 *	  State of a request of this connection. *alone, unless that is NULL, says
 *	  that nobody else is waiting for an answer.
 */
dp_slot_state
dp_ledger_slot_state(dp_slot *slot, bool *alone)
{
	dp_slot_state state;

	LWLockAcquire(dp_ledger_shared->lock, LW_SHARED);
	state = slot->state;
	if (alone != NULL)
		*alone = dp_ledger_shared->used <= 1;
	LWLockRelease(dp_ledger_shared->lock);
	return state;
}

/*
 * dp_ledger_look_up
 *	  The same for the holder of a ticket.  The ticket is void if the slot is
 *	  no longer that of the ticket, or the connection has given up.
 */
dp_ticket_state
dp_ledger_look_up(const dp_ledger_ticket *ticket, bool *alone)
{
	const dp_slot *slot = &dp_ledger_shared->slot[ticket->slot];
	dp_ticket_state state = DP_TICKET_WAITING;

	LWLockAcquire(dp_ledger_shared->lock, LW_SHARED);
	if (slot->ticket != ticket->number || slot->state == DP_SLOT_FREE ||
		slot->abandoned)
		state = DP_TICKET_VOID;
	else if (slot->state == DP_SLOT_DONE &&
			 slot->answer.outcome == DP_OUTCOME_ADMITTED)
		state = DP_TICKET_ADMITTED;
	*alone = dp_ledger_shared->used <= 1;
	LWLockRelease(dp_ledger_shared->lock);
	return state;
}

/* dp_ledger_release: see dp_ledger.h. */
void
dp_ledger_release(dp_ledger_place *place)
{
	LWLockAcquire(dp_ledger_shared->lock, LW_EXCLUSIVE);
	dp_ledger_free_slot(place->slot);
	LWLockRelease(dp_ledger_shared->lock);
	place->slot = NULL;
}

/*
 * Queue the request of a reserved slot; the caller holds the lock.  If no
 * worker runs, its connection or a later request starts one.
 */
static void
queue_reserved(dp_slot *slot)
{
	dp_worker  *worker = dp_ledger_find_worker(slot->database);

	slot->state = DP_SLOT_PENDING;
	slot->abandoned = false;
	dlist_push_tail(&dp_ledger_shared->pending, &slot->node);
	dp_ledger_shared->used++;
	if (worker && worker->proc)
		SetLatch(&worker->proc->procLatch);
	else if (slot->proxy)
		dp_ledger_wake(slot);
}

/*
 * dp_ledger_submit_reserved
 *	  Queue the request of a ticket, with these data for its task.  If it is
 *	  admitted, wake `proxy`, or the connection if that is NULL.  Does nothing
 *	  and returns false if the connection no longer waits.  Raises nothing.
 */
bool
dp_ledger_submit_reserved(const dp_ledger_ticket *ticket, const void *data,
						  Size size, PGPROC *proxy)
{
	dp_slot    *slot = &dp_ledger_shared->slot[ticket->slot];
	bool		awaited;

	LWLockAcquire(dp_ledger_shared->lock, LW_EXCLUSIVE);
	awaited = slot->state == DP_SLOT_RESERVED &&
		slot->ticket == ticket->number && slot->database == MyDatabaseId;
	if (awaited)
	{
		if (size > 0)
			memcpy(slot->request.task.data, data, Min(size, DP_TASK_DATA));
		slot->proxy = proxy;
		slot->deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
													 ticket->patience);
		queue_reserved(slot);
	}
	LWLockRelease(dp_ledger_shared->lock);
	return awaited;
}

/* dp_ledger_hand_over: see dp_ledger.h. */
bool
dp_ledger_hand_over(const dp_ledger_ticket *ticket, const void *data,
					Size size)
{
	return dp_ledger_submit_reserved(ticket, data, size, NULL);
}

/* Queue a task that nobody waits for, unless the slot's own was submitted. */
static void
submit_unattended(dp_slot *slot, const dp_ledger_request *request)
{
	LWLockAcquire(dp_ledger_shared->lock, LW_EXCLUSIVE);
	if (slot->state == DP_SLOT_RESERVED)
	{
		slot->request = *request;
		slot->unattended = true;
		slot->proc = NULL;
		slot->database = MyDatabaseId;
		slot->deadline = DT_NOEND;
		dp_ledger_shared->unattended++;
		queue_reserved(slot);
		slot = NULL;
	}
	LWLockRelease(dp_ledger_shared->lock);
	if (slot)
		dp_ledger_abandon(slot);
}

/* dp_ledger_fail: see dp_ledger.h. */
void
dp_ledger_fail(dp_ledger_place *place, const dp_ledger_request *request)
{
	submit_unattended(place->slot, request);
	place->slot = NULL;
}

/* Free a slot that the worker has not taken; the caller holds the lock. */
static bool
take_back(dp_slot *slot)
{
	if (slot->state == DP_SLOT_PENDING)
		dlist_delete(&slot->node);
	else if (slot->state != DP_SLOT_RESERVED)
		return false;
	dp_ledger_free_slot(slot);
	return true;
}

/*
 * dp_ledger_abandon
 *	  The connection gives up.  Nothing is charged if the worker has not taken
 *	  the request; otherwise the charge stands and its answer is dropped.
 */
void
dp_ledger_abandon(dp_slot *slot)
{
	LWLockAcquire(dp_ledger_shared->lock, LW_EXCLUSIVE);
	if (!take_back(slot))
	{
		if (slot->state == DP_SLOT_TAKEN)
		{
			slot->abandoned = true;
			slot->proc = NULL;
		}
		else if (slot->state == DP_SLOT_DONE)
			dp_ledger_free_slot(slot);
	}
	LWLockRelease(dp_ledger_shared->lock);
}

/*
 * dp_ledger_withdraw
 *	  Withdraw a request, and return true, if the worker has not taken it;
 *	  otherwise the answer will wake the connection and nobody else.
 */
bool
dp_ledger_withdraw(dp_slot *slot)
{
	bool		withdrawn;

	LWLockAcquire(dp_ledger_shared->lock, LW_EXCLUSIVE);
	slot->proxy = NULL;
	withdrawn = take_back(slot);
	LWLockRelease(dp_ledger_shared->lock);
	return withdrawn;
}

/*
 * dp_ledger_poll
 *	  Fetch the answer, if there is one, and give the slot back.
 */
bool
dp_ledger_poll(dp_slot *slot, dp_answer *answer)
{
	bool		done;

	LWLockAcquire(dp_ledger_shared->lock, LW_EXCLUSIVE);
	done = slot->state == DP_SLOT_DONE;
	if (done)
	{
		*answer = slot->answer;
		dp_ledger_free_slot(slot);
	}
	LWLockRelease(dp_ledger_shared->lock);
	return done;
}

/*
 * dp_ledger_take
 *	  Take the oldest requests of a database, at most `most`.
 */
int
dp_ledger_take(Oid database, dp_slot **batch, int most)
{
	dlist_mutable_iter iter;
	dp_worker  *worker;
	int			n = 0;

	LWLockAcquire(dp_ledger_shared->lock, LW_EXCLUSIVE);
	dlist_foreach_modify(iter, &dp_ledger_shared->pending)
	{
		dp_slot    *slot = dlist_container(dp_slot, node, iter.cur);

		if (n == most)
			break;
		if (slot->database != database)
			continue;
		dlist_delete(&slot->node);
		slot->state = DP_SLOT_TAKEN;
		batch[n++] = slot;
	}
	worker = n > 0 ? dp_ledger_find_worker(database) : NULL;
	if (worker != NULL)
		worker->since = DT_NOEND;
	LWLockRelease(dp_ledger_shared->lock);
	return n;
}

/*
 * dp_ledger_put_back
 *	  A row was locked: queue the request again, behind the others.  Nothing
 *	  was charged for it.
 */
void
dp_ledger_put_back(dp_slot *slot)
{
	LWLockAcquire(dp_ledger_shared->lock, LW_EXCLUSIVE);
	if (slot->abandoned)
		dp_ledger_free_slot(slot);
	else
	{
		slot->state = DP_SLOT_PENDING;
		dlist_push_tail(&dp_ledger_shared->pending, &slot->node);
	}
	LWLockRelease(dp_ledger_shared->lock);
}

static PGPROC *
whom_to_wake(const dp_slot *slot)
{
	return slot->proxy != NULL &&
		slot->answer.outcome == DP_OUTCOME_ADMITTED ?
		slot->proxy : slot->proc;
}

/*
 * dp_ledger_reply
 *	  Give the answers to the connections that still wait, or wake their
 *	  readers.
 *
 * Latches are set after the lock is released, since a connection that wakes
 * needs the lock.  If one has exited meanwhile, another process may have its
 * latch; a spurious wakeup does no harm.
 */
void
dp_ledger_reply(dp_slot **slots, int n)
{
	PGPROC	   *waiters[DP_LEDGER_BATCH];
	int			waiting = 0;
	int			i;

	LWLockAcquire(dp_ledger_shared->lock, LW_EXCLUSIVE);
	for (i = 0; i < n; i++)
	{
		if (slots[i]->abandoned || slots[i]->unattended)
			dp_ledger_free_slot(slots[i]);
		else
		{
			wipe_task(slots[i]);
			dp_ledger_answer_slot(slots[i]);
			waiters[waiting++] = whom_to_wake(slots[i]);
		}
	}
	LWLockRelease(dp_ledger_shared->lock);
	for (i = 0; i < waiting; i++)
		SetLatch(&waiters[i]->procLatch);
}

/* dp_ledger_find_worker: entry of a database or NULL; the lock is held. */
dp_worker *
dp_ledger_find_worker(Oid database)
{
	int			i;

	Assert(LWLockHeldByMe(dp_ledger_shared->lock));
	for (i = 0; i < dp_ledger_shared->workers; i++)
		if (dp_ledger_shared->worker[i].state != DP_WORKER_NONE &&
			dp_ledger_shared->worker[i].database == database)
			return &dp_ledger_shared->worker[i];
	return NULL;
}

/* dp_ledger_has_pending: whether a request is queued.  The lock is held. */
bool
dp_ledger_has_pending(Oid database)
{
	dlist_iter	iter;

	Assert(LWLockHeldByMe(dp_ledger_shared->lock));
	dlist_foreach(iter, &dp_ledger_shared->pending)
		if (dlist_container(dp_slot, node, iter.cur)->database == database)
			return true;
	return false;
}

/* ----------------
 *		Tell whether any transaction that wrote has ended, charges not counted.
 *
 * Where many connections ask small queries, tables, rights and declarations
 * stay the same from query to query, but the number of transactions that have
 * ended (base/stamp.c) grows by those that record charges.  So the workers
 * count these, and their number is subtracted from a stamp.
 *
 * A charge is counted after its commit.  In between, a stamp may be too large
 * by one for each worker that commits, and is not `exact`.  With
 *
 *		O	transactions other than charges that have ended,
 *		L	charges that have ended and are not counted yet,
 *
 * a stamp is O + L.  Let one be exact, and a later one equal to it: O1 + L1 =
 * O2 + L2.  No worker was committing at the first, so L1 counts charges that
 * will never be counted, because their worker ended in between.  Hence L2 >=
 * L1 and, since O2 >= O1, O1 = O2: if the first of two equal stamps is exact,
 * nothing but charges has ended.
 *
 * Charges change only sums of budgets, caps and batches, periods that the
 * clock has ended, and lines.
 * ----------------
 */

static bool begun = false;

/*
 * dp_ledger_commit_begins
 *	  The worker is about to commit a transaction that only charges.  Without a
 *	  transaction ID, it will not be among those that have ended.
 */
void
dp_ledger_commit_begins(void)
{
	if (!TransactionIdIsValid(GetTopTransactionIdIfAny()))
		return;
	begun = true;
	pg_atomic_fetch_add_u32(&dp_ledger_shared->committing, 1);
}

/*
 * dp_ledger_commit_ends
 *	  The commit is over, or was given up (`done` false).  Does nothing if none
 *	  has begun.
 */
void
dp_ledger_commit_ends(bool done)
{
	if (!begun)
		return;
	begun = false;
	if (done)
		pg_atomic_fetch_add_u64(&dp_ledger_shared->charged, 1);
	pg_atomic_fetch_sub_u32(&dp_ledger_shared->committing, 1);
}

/*
 * dp_ledger_read_stamp
 *	  dp_base_read_stamp without charges.  Compare the result only with
 *	  others of this function, of which the first must be *exact.
 */
bool
dp_ledger_read_stamp(dp_stamp *out, bool *exact)
{
	bool		none;			/* no worker was committing meanwhile */
	uint64		charged;

	*exact = false;
	if (dp_ledger_shared == NULL)
		return false;
	none = pg_atomic_read_u32(&dp_ledger_shared->committing) == 0;
	pg_memory_barrier();
	charged = pg_atomic_read_u64(&dp_ledger_shared->charged);
	pg_memory_barrier();		/* what is counted has ended by now */
	if (!dp_base_read_stamp(out))
		return false;
	out->ended -= charged;
	pg_memory_barrier();
	none &= pg_atomic_read_u32(&dp_ledger_shared->committing) == 0;
	pg_memory_barrier();		/* commits are counted before `committing`
								 * falls */
	*exact = none &&
		pg_atomic_read_u64(&dp_ledger_shared->charged) == charged;
	return true;
}
