/*
 * smalldb_thread.c
 *	  Threads that scan beside the caller.
 *
 * They run dp_model_smalldb_step and nothing else, with every signal blocked:
 * they know nothing of the process they live in.  The caller must join them
 * before it frees or reuses any memory of the problem, whatever happens.
 */
#include "dp_smalldb.h"

#include <signal.h>

/* Bytes of a thread's stack; a step needs a few thousand. */
#define STACK (256 * 1024)

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
 * Gives:	 threads->count, perhaps 0, to be joined.  The caller has to step
 *			 with a worker of its own until there is no chunk left, so that
 *			 the scan ends in any case.
 * Source:	 doc/theory.md T66.
 */
void
dp_model_smalldb_threads_start(dp_smalldb_threads *threads,
							   dp_smalldb_worker *workers, int count)
{
	pthread_attr_t attributes;
	sigset_t	all;
	sigset_t	before;

	threads->count = 0;
	if (count > DP_SMALLDB_THREADS)
		count = DP_SMALLDB_THREADS;
	if (count < 1 || pthread_attr_init(&attributes) != 0)
		return;
	sigfillset(&all);
	if (pthread_attr_setstacksize(&attributes, STACK) == 0 &&
		pthread_sigmask(SIG_SETMASK, &all, &before) == 0)
	{
		while (threads->count < count &&
			   pthread_create(&threads->threads[threads->count], &attributes,
							  scan, &workers[threads->count]) == 0)
			threads->count++;
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	pthread_attr_destroy(&attributes);
}

/*
 * dp_model_smalldb_threads_join
 *	  Wait until every thread has ended: soon, when the chunks are used up or
 *	  problem->cancel is set.
 *
 * Requires: threads from dp_model_smalldb_threads_start, or its count 0.
 * Gives:	 count 0; calling it again does nothing.
 * Source:	 doc/theory.md T66.
 */
void
dp_model_smalldb_threads_join(dp_smalldb_threads *threads)
{
	while (threads->count > 0)
		pthread_join(threads->threads[--threads->count], NULL);
}
