/*
 * threads.c
 *	  Threads that compute alongside the caller.
 *
 * Every signal is blocked in them.  The caller must join them before it frees
 * or reuses any memory that they see, whatever happens.
 */
#include <signal.h>

#include "dp_numbers.h"

/* Bytes of a thread's stack; what runs in them needs a few thousand. */
#define STACK (256 * 1024)

static void
start(dp_threads *threads, const pthread_attr_t *attributes,
	  void *(*run) (void *worker), char *workers, size_t size, int count)
{
	while (threads->count < count &&
		   pthread_create(&threads->threads[threads->count], attributes, run,
						  workers + size * threads->count) == 0)
		threads->count++;
}

/*
 * dp_numbers_threads_start
 *	  One thread for each of `count` workers, of `size` bytes, at most
 *	  DP_THREADS; as many as the system gives.
 *
 * Requires: run() returns and calls only what is safe in threads; nothing else
 *			 touches a worker meanwhile.
 * Gives:	 threads->count, possibly 0, to be joined.  The caller does the
 *			 work that is left.
 * Source:	 doc/theory.md T66.
 */
void
dp_numbers_threads_start(dp_threads *threads, void *(*run) (void *worker),
						 void *workers, size_t size, int count)
{
	pthread_attr_t attributes;
	sigset_t	all;
	sigset_t	before;

	threads->count = 0;
	if (count > DP_THREADS)
		count = DP_THREADS;
	if (count < 1 || pthread_attr_init(&attributes) != 0)
		return;
	sigfillset(&all);
	if (pthread_attr_setstacksize(&attributes, STACK) == 0 &&
		pthread_sigmask(SIG_SETMASK, &all, &before) == 0)
	{
		start(threads, &attributes, run, workers, size, count);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	pthread_attr_destroy(&attributes);
}

/*
 * dp_numbers_threads_join
 *	  Wait until every thread has ended.
 *
 * Requires: threads from dp_numbers_threads_start, or its count 0.
 * Gives:	 count 0; calling it again does nothing.
 * Source:	 doc/theory.md T66.
 */
void
dp_numbers_threads_join(dp_threads *threads)
{
	while (threads->count > 0)
		pthread_join(threads->threads[--threads->count], NULL);
}
