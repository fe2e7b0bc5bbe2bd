/*
 * smalldb_thread.c
 *	  Threads that scan beside the caller: they run dp_model_smalldb_step and
 *	  nothing else.
 */
#include "dp_smalldb.h"

static void *
scan(void *worker)
{
	while (dp_model_smalldb_step(worker))
		continue;
	return NULL;
}

/*
 * dp_model_smalldb_threads_start
 *	  One thread for each of `count` workers, at most DP_SMALLDB_THREADS; as
 *	  many as the system gives.
 *
 * Requires: dp_model_smalldb_begin was called; the workers belong to nobody
 *			 else.
 * Gives:	 threads->count, perhaps 0, to be joined; they end when the chunks
 *			 are used up or problem->cancel is set.  The caller has to step
 *			 with a worker of its own until there is no chunk left, so that
 *			 the scan ends in any case.
 * Source:	 doc/theory.md T66.
 */
void
dp_model_smalldb_threads_start(dp_threads *threads, dp_smalldb_worker *workers,
							   int count)
{
	dp_mech_threads_start(threads, scan, workers, sizeof(dp_smalldb_worker),
						  count);
}
