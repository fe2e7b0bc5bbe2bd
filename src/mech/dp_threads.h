/*
 * dp_threads.h
 *	  Public interface of threads (threads.c): they compute beside the caller,
 *	  and know nothing of the process that they live in.
 */
#ifndef DP_THREADS_H
#define DP_THREADS_H

#include <pthread.h>
#include <stddef.h>

#define DP_THREADS 16			/* at once, at most */
#define DP_THREADS_OF_ROWS 3	/* that take private rows, at most */

typedef struct dp_threads
{
	int			count;			/* of those that run */
	pthread_t	threads[DP_THREADS];
} dp_threads;

extern void dp_mech_threads_start(dp_threads *threads,
								  void *(*run) (void *worker), void *workers,
								  size_t size, int count);
extern void dp_mech_threads_join(dp_threads *threads);

#endif							/* DP_THREADS_H */
