/*
 * memory.c
 *	  The pool of readers in shared memory: size and initialization.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/proc.h"
#include "storage/shmem.h"

#include "reader.h"

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
shared_size(void)
{
	Size		size = CACHELINEALIGN(sizeof(dp_reader_pool));

	size = add_size(size, entries_size());
	size = add_size(size, waiters_size());
	return add_size(size, mul_size(2 * DP_READER_QUEUE, dp_setting_readers));
}

static void
start_shmem(void *area, bool fresh, LWLock *lock)
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
	dp_bridge_share("dp_pg_reader", shared_size, start_shmem);
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
