/*
 * smalldb_run.c
 *	  The selection of one SmallDB candidate: two scans on all processors that
 *	  the session may use.
 *
 * Threads.  PostgreSQL is not made for threads, so those here run
 * dp_smalldb_step and nothing else: they call no function of the server, have
 * every signal blocked, and touch only the memory of the selection, which was
 * allocated before they started.  This process's own thread scans with them,
 * chunk by chunk, and looks for interrupts and shows progress in between.
 * Whatever ends the scan, an error or the end of the process, the threads are
 * told and waited for before the memory can go: hence the cleanup that runs
 * for FATAL too.
 */
#include "postgres.h"

#include <unistd.h>

#include "miscadmin.h"
#include "optimizer/cost.h"
#include "storage/ipc.h"

#include "smalldb.h"

typedef struct selection
{
	dp_smalldb	problem;
	int			count;			/* of workers, our own the first */
	dp_smalldb_worker workers[DP_SMALLDB_THREADS + 1];
	dp_smalldb_threads threads;
} selection;

/* As many as a parallel query would use, on the processors there are. */
static int
worker_count(void)
{
	long		processors = sysconf(_SC_NPROCESSORS_ONLN);
	int			count = 1 + max_parallel_workers_per_gather;

	count = Min(count, (int) Max(processors, 1));
	return Min(count, DP_SMALLDB_THREADS + 1);
}

static void
stop_threads(int code, Datum arg)
{
	selection  *s = (selection *) DatumGetPointer(arg);

	atomic_store(&s->problem.cancel, true);
	dp_smalldb_threads_join(&s->threads);
}

static void
scan(selection *s, dp_smalldb_scan kind, uint64 level)
{
	dp_synth_phase phase = kind == DP_SMALLDB_HISTOGRAM ?
	DP_SYNTH_SCANNING : DP_SYNTH_FINDING;

	dp_smalldb_begin(&s->problem, kind, level);
	s->threads.count = 0;
	PG_ENSURE_ERROR_CLEANUP(stop_threads, PointerGetDatum(s));
	{
		dp_smalldb_threads_start(&s->threads, s->workers + 1, s->count - 1);
		while (dp_smalldb_step(&s->workers[0]))
		{
			CHECK_FOR_INTERRUPTS();
			dp_synth_progress(phase,
							  (int64) atomic_load(&s->problem.done));
		}
		dp_smalldb_threads_join(&s->threads);
	}
	PG_END_ENSURE_ERROR_CLEANUP(stop_threads, PointerGetDatum(s));
}

static void *
allocate(Size size)
{
	return MemoryContextAllocHuge(CurrentMemoryContext, size);
}

/*
 * dp_synth_smalldb_select
 *	  Draw one candidate: its shape->size cells, ascending.
 *
 * Called after the charge.  What fails here does not fail for a reason that
 * lies in the data.
 */
void
dp_synth_smalldb_select(const dp_smalldb_shape *shape, const bool *holds,
						const int64 *counts, int64 n,
						const dp_rational *rate, uint32 *cells)
{
	MemoryContext work = AllocSetContextCreate(CurrentMemoryContext,
											   "dp_pg smalldb",
											   ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(work);
	selection  *s = palloc0(sizeof(selection));
	void	   *memory = allocate(dp_smalldb_memory(shape));
	char	   *worker_memory;
	Size		worker_size;
	uint64		level = 0;
	uint64		rank = 0;
	int			i;

	dp_bridge_check_status(dp_smalldb_make(shape, holds, counts, n, memory,
										   &s->problem), "score candidates");
	worker_size = dp_smalldb_worker_memory(&s->problem);
	s->count = worker_count();
	worker_memory = allocate(worker_size * s->count);
	for (i = 0; i < s->count; i++)
		dp_smalldb_worker_make(&s->problem, worker_memory + worker_size * i,
							   &s->workers[i]);
	scan(s, DP_SMALLDB_HISTOGRAM, 0);
	dp_bridge_check_status(
		dp_smalldb_draw(dp_bridge_source(), &s->problem, rate, s->workers,
						s->count, allocate(dp_smalldb_draw_memory(
											   &s->problem)),
						&level, &rank), "select a candidate");
	scan(s, DP_SMALLDB_LEVEL, level);
	dp_smalldb_unrank(&s->problem, dp_smalldb_candidate(&s->workers[0], rank),
					  cells);
	explicit_bzero(memory, dp_smalldb_memory(shape));
	explicit_bzero(worker_memory, worker_size * s->count);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(work);
}
