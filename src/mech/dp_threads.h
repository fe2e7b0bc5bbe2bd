/*
 * dp_threads.h
 *	  Public interface of threads (threads.c): they compute alongside the
 *	  caller, and use nothing of the server's.
 */
#ifndef DP_THREADS_H
#define DP_THREADS_H

#include <pthread.h>
#include <stddef.h>

#define DP_THREADS 16			/* most at once */
#define DP_THREADS_OF_ROWS 3	/* most that process private rows */

typedef struct dp_threads
{
	int			count;			/* of running ones */
	pthread_t	threads[DP_THREADS];
} dp_threads;

extern void dp_mech_threads_start(dp_threads *threads,
								  void *(*run) (void *worker), void *workers,
								  size_t size, int count);
extern void dp_mech_threads_join(dp_threads *threads);

#endif							/* DP_THREADS_H */
