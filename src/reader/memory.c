/*
 * memory.c
 *	  The pool of readers in shared memory: its size and its beginning.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/shmem.h"

#include "reader.h"

#define TRANCHE "dp_pg_reader"

dp_reader_pool *dp_reader_shared = NULL;

static shmem_request_hook_type next_shmem_request = NULL;
static shmem_startup_hook_type next_shmem_startup = NULL;

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
request_shmem(void)
{
	if (next_shmem_request)
		next_shmem_request();
	RequestAddinShmemSpace(shared_size());
	RequestNamedLWLockTranche(TRANCHE, 1);
}

static void
start_shmem(void)
{
	bool		found;
	char	   *base;
	int			i;

	if (next_shmem_startup)
		next_shmem_startup();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	base = ShmemInitStruct(TRANCHE, shared_size(), &found);
	dp_reader_shared = (dp_reader_pool *) base;
	if (!found)
	{
		memset(base, 0, shared_size());
		dp_reader_shared->lock = &GetNamedLWLockTranche(TRANCHE)->lock;
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
	LWLockRelease(AddinShmemInitLock);
}

/* dp_reader_pool_init: ask for the memory; from _PG_init, preloading. */
void
dp_reader_pool_init(void)
{
	next_shmem_request = shmem_request_hook;
	shmem_request_hook = request_shmem;
	next_shmem_startup = shmem_startup_hook;
	shmem_startup_hook = start_shmem;
}

/* dp_reader_queue: memory of the queue to the session, or of that from it. */
char *
dp_reader_queue(int entry, bool to_session)
{
	return dp_reader_shared->queues +
		(Size) DP_READER_QUEUE * (2 * entry + (to_session ? 1 : 0));
}
