/*
 * background.c
 *	  What dp_pg's background workers share: settings that nobody can change
 *	  for them, and areas of shared memory.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "utils/guc.h"

#include "dp_bridge.h"

/* ---- settings ---- */

/*
 * dp_bridge_force
 *	  Set a setting for the rest of this process, overriding those of the
 *	  server, the database and the role.
 */
void
dp_bridge_force(const char *name, const char *value)
{
	SetConfigOption(name, value, PGC_SUSET, PGC_S_OVERRIDE);
}

/*
 * dp_bridge_force_worker_settings
 *	  No setting may change the meaning of a worker's statements or interrupt
 *	  it.
 */
void
dp_bridge_force_worker_settings(void)
{
	dp_bridge_force("search_path", "pg_catalog, pg_temp");
	dp_bridge_force("default_transaction_isolation", "read committed");
	dp_bridge_force("default_transaction_deferrable", "off");
	dp_bridge_force("statement_timeout", "0");
	dp_bridge_force("idle_in_transaction_session_timeout", "0");
	if (GetConfigOption("transaction_timeout", true, false) != NULL)
		dp_bridge_force("transaction_timeout", "0");	/* since 17 */
	dp_bridge_force("jit", "off");
}

/*
 * dp_bridge_force_lock_timeout
 *	  Wait for locks no longer than the present dp_pg.worker_lock_timeout: the
 *	  deadlock detector does not see connections that wait for a worker.
 */
void
dp_bridge_force_lock_timeout(void)
{
	char		value[16];

	if (LockTimeout == dp_setting_worker_lock_timeout)
		return;
	snprintf(value, sizeof(value), "%d", dp_setting_worker_lock_timeout);
	dp_bridge_force("lock_timeout", value);
}

/* ---- shared memory ---- */

#define AREAS 4					/* of workers, ledger, readers and answers */

typedef struct shared_area
{
	const char *name;
	Size		(*size) (void);
	void		(*start) (void *area, bool fresh, LWLock *lock);
} shared_area;

static shared_area areas[AREAS];
static int	nareas = 0;
static bool requested = false;
static shmem_request_hook_type next_shmem_request = NULL;
static shmem_startup_hook_type next_shmem_startup = NULL;

static void
request_areas(void)
{
	int			i;

	if (next_shmem_request)
		next_shmem_request();
	for (i = 0; i < nareas; i++)
	{
		RequestAddinShmemSpace(areas[i].size());
		RequestNamedLWLockTranche(areas[i].name, 1);
	}
	requested = true;
}

/* Some libraries do not call the hook that was installed before theirs. */
static void
require_requested(void)
{
	if (!requested && !IsUnderPostmaster)
		ereport(FATAL,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("shared memory of dp_pg was not requested"),
				 errdetail("A library that is preloaded after dp_pg does not "
						   "call the shmem_request_hook that was installed "
						   "before its own."),
				 errhint("Put dp_pg last in shared_preload_libraries.")));
}

static void
start_areas(void)
{
	int			i;

	if (next_shmem_startup)
		next_shmem_startup();
	require_requested();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	for (i = 0; i < nareas; i++)
	{
		Size		size = areas[i].size();
		bool		found;
		void	   *area = ShmemInitStruct(areas[i].name, size, &found);

		if (!found)
			memset(area, 0, size);
		areas[i].start(area, !found,
					   &GetNamedLWLockTranche(areas[i].name)->lock);
	}
	LWLockRelease(AddinShmemInitLock);
}

/*
 * dp_bridge_share
 *	  Request an area of shared memory with a lock; from _PG_init, preloading.
 *	  `start` is called in every process that attaches it; a fresh area is all
 *	  zero and must be initialized.
 */
void
dp_bridge_share(const char *name, Size (*size) (void),
				void (*start) (void *area, bool fresh, LWLock *lock))
{
	Assert(nareas < AREAS);
	if (nareas == 0)
	{
		next_shmem_request = shmem_request_hook;
		shmem_request_hook = request_areas;
		next_shmem_startup = shmem_startup_hook;
		shmem_startup_hook = start_areas;
	}
	areas[nareas].name = name;
	areas[nareas].size = size;
	areas[nareas++].start = start;
}
