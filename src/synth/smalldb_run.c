/*
 * smalldb_run.c
 *	  The selection of one SmallDB candidate, where the rows are read: two
 *	  scans on all processors that the connection may use.
 *
 * Threads.  PostgreSQL is not thread-safe, so those here run
 * dp_model_smalldb_step and nothing else: they call no function of the server,
 * have every signal blocked, and touch only the memory of the selection, which
 * was allocated before they started.  This process's own thread scans with
 * them, chunk by chunk, and checks for interrupts and shows progress in
 * between.  Whatever ends the scan, an error or the end of the process, the
 * threads are told and waited for before the memory can go: hence the cleanup
 * that runs for FATAL too.
 */
#include "postgres.h"

#include <unistd.h>

#include "miscadmin.h"
#include "optimizer/cost.h"
#include "storage/ipc.h"

#include "smalldb.h"

typedef struct selection
{
	dp_synth_selection terms;
	uint8	   *weights;
	void	   *memory;			/* of dp_model_smalldb_memory */
	dp_smalldb	problem;
	int			count;			/* of workers, our own the first */
	dp_smalldb_worker workers[DP_SMALLDB_THREADS + 1];
	dp_threads threads;
	dp_synth_teller teller;
} selection;

/*
 * dp_synth_smalldb_workers
 *	  As many as a parallel query would use, but no more than processors.
 */
int
dp_synth_smalldb_workers(void)
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
	dp_mech_threads_join(&s->threads);
}

static void
scan(selection *s, dp_smalldb_scan kind, uint64 level)
{
	dp_phase phase = kind == DP_SMALLDB_HISTOGRAM ?
	DP_PHASE_SCANNING : DP_PHASE_FINDING;

	dp_model_smalldb_begin(&s->problem, kind, level);
	s->threads.count = 0;
	PG_ENSURE_ERROR_CLEANUP(stop_threads, PointerGetDatum(s));
	{
		dp_model_smalldb_threads_start(&s->threads, s->workers + 1,
									   s->count - 1);
		while (dp_model_smalldb_step(&s->workers[0]))
		{
			CHECK_FOR_INTERRUPTS();
			dp_synth_tell_progress(&s->teller, phase,
								   (int64) atomic_load(&s->problem.done));
		}
		dp_mech_threads_join(&s->threads);
	}
	PG_END_ENSURE_ERROR_CLEANUP(stop_threads, PointerGetDatum(s));
}

static void *
allocate(Size size)
{
	return MemoryContextAllocHuge(CurrentMemoryContext, size);
}

static Size
weights_size(const dp_smalldb_shape *shape)
{
	return (Size) shape->queries * shape->cells;
}

/* Allocates the weights and the selection before anything is charged. */
static void *
begin(const void *data, Size size, int64 ncounts, dp_reader_source source,
	  void *context)
{
	selection  *s = palloc0(sizeof(selection));
	const void *piece;
	Size		filled = 0;
	Size		n;

	s->terms = *(const dp_synth_selection *) data;
	if (ncounts != (int64) s->terms.shape.cells)
		elog(ERROR, "selection counts other cells than it is of");
	s->weights = allocate(weights_size(&s->terms.shape));
	s->memory = allocate(dp_model_smalldb_memory(&s->terms.shape));
	while ((piece = source(context, &n)) != NULL)
	{
		if (n > weights_size(&s->terms.shape) - filled)
			elog(ERROR, "selection has more queries than were planned");
		memcpy(s->weights + filled, piece, n);
		filled += n;
	}
	if (filled != weights_size(&s->terms.shape))
		elog(ERROR, "selection has fewer queries than were planned");
	return s;
}

/* The rows of the universe's cells, with noise, at least 1. */
static int64
noisy_count(const selection *s, const int64 *cells)
{
	dp_int128	sum = 0;
	uint64		i;

	for (i = 0; i < s->terms.shape.cells; i++)
		sum += cells[i];
	return dp_workload_noisy_count(&s->terms.count, sum, 1,
								   PG_INT64_MAX / 2);
}

/* The queries' counts in granules; one row adds at most shape->one. */
static int64 *
query_counts(const selection *s, const int64 *cells)
{
	const dp_smalldb_shape *shape = &s->terms.shape;
	int64	   *counts = palloc0(sizeof(int64) * shape->queries);
	const uint8 *weights = s->weights;
	uint64		query;
	uint64		cell;

	for (query = 0; query < shape->queries; query++)
	{
		CHECK_FOR_INTERRUPTS();
		for (cell = 0; cell < shape->cells; cell++)
			counts[query] += weights[cell] * cells[cell];
		weights += shape->cells;
	}
	return counts;
}

/* Draw one candidate: its cells, ascending. */
static void
choose(selection *s, const int64 *counts, int64 n, uint32 *cells)
{
	const dp_smalldb_shape *shape = &s->terms.shape;
	char	   *worker_memory;
	Size		worker_size;
	uint64		level = 0;
	uint64		rank = 0;
	int			i;

	dp_bridge_check_status(dp_model_smalldb_make(shape, s->weights, counts, n,
												 s->memory, &s->problem),
						   "score candidates");
	worker_size = dp_model_smalldb_worker_memory(&s->problem);
	s->count = s->terms.workers;
	worker_memory = allocate(worker_size * s->count);
	for (i = 0; i < s->count; i++)
		dp_model_smalldb_worker_make(&s->problem,
									 worker_memory + worker_size * i,
									 &s->workers[i]);
	scan(s, DP_SMALLDB_HISTOGRAM, 0);
	dp_bridge_check_status(
		dp_model_smalldb_draw(dp_bridge_source(), &s->problem, &s->terms.rate,
							  s->workers, s->count,
							  allocate(
								dp_model_smalldb_draw_memory(&s->problem)),
							  &level, &rank), "select a candidate");
	scan(s, DP_SMALLDB_LEVEL, level);
	dp_model_smalldb_unrank(&s->problem,
							dp_model_smalldb_candidate(&s->workers[0], rank),
							cells);
	explicit_bzero(s->memory, dp_model_smalldb_memory(shape));
	explicit_bzero(worker_memory, worker_size * s->count);
}

/* Nothing here fails for a reason that lies in the data. */
static void
finish(void *state, const int64 *counts, dp_reader_sink sink, void *context)
{
	selection  *s = state;
	Size		size = offsetof(dp_synth_selected, cells) +
	sizeof(uint32) * s->terms.shape.size;
	dp_synth_selected *selected = palloc0(size);
	int64	   *truths = query_counts(s, counts);

	s->teller.sink = sink;
	s->teller.context = context;
	selected->n = s->terms.n == 0 ? noisy_count(s, counts) : s->terms.n;
	choose(s, truths, selected->n, selected->cells);
	explicit_bzero(truths, sizeof(int64) * s->terms.shape.queries);
	sink(context, selected, size);
}

static const dp_use_methods methods = {begin, finish};

/* dp_synth_smalldb_init: from _PG_init, in every process. */
void
dp_synth_smalldb_init(void)
{
	dp_reading_register(DP_USE_SMALLDB, &methods);
}
