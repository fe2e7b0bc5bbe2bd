/*
 * smalldb_thread.c
 *	  Threads that scan alongside the caller: they run dp_model_smalldb_step
 *	  and nothing else.
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
 * Requires: dp_model_smalldb_begin was called; nothing else touches the
 *			 workers.
 * Gives:	 threads->count, possibly 0, to be joined; they end when the chunks
 *			 are used up or problem->cancel is set.  The caller itself must
 *			 step with another worker until no chunk is left, so that the scan
 *			 ends in any case.
 * Source:	 doc/theory.md T66.
 */
void
dp_model_smalldb_threads_start(dp_threads *threads, dp_smalldb_worker *workers,
							   int count)
{
	dp_mech_threads_start(threads, scan, workers, sizeof(dp_smalldb_worker),
						  count);
}
