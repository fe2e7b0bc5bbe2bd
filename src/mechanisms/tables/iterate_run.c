/*
 * iterate_run.c
 *	  The iterative construction where the rows are read: all its rounds, on
 *	  the counts of a universe's cells.
 *
 * The queries come from the connection before anything is charged, as weights
 * of cells.  An update algorithm of the caller's own runs there: then one
 * round is made here, and the guesses of the hypothesis so far come with the
 * weights.  Nothing here fails for a reason that lies in the data.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "../../math/numbers/dp_numbers.h"
#include "../../math/noise/dp_noise.h"
#include "../../math/models/dp_models.h"
#include "../../base/dp_base.h"
#include "../../reader/dp_reader.h"
#include "../../measure/exact/dp_exact.h"
#include "../readings/dp_readings.h"
#include "tables_internal.h"

#define PIECE_CELLS 8192		/* probabilities in one piece */

typedef struct iterating
{
	dp_iterate_terms terms;
	int32	   *weights;
	int64	   *guesses;		/* DP_ITERATE_OWN only */
	int64	   *counts;			/* of queries; private */
	double	   *probability;
	dp_iterate_step *steps;
	dp_tables_reporter teller;
	int64		round;			/* rounds begun */
} iterating;

/* ---- the engine's host ---- */

static void *
host_allocate(void *state, size_t n)
{
	return MemoryContextAllocHuge(CurrentMemoryContext, Max(n, 1));
}

static void
host_release(void *state, void *memory)
{
	pfree(memory);
}

/* Called once a round; the number of rounds is public. */
static void
iterate_run_host_pulse(void *state)
{
	iterating  *s = state;

	CHECK_FOR_INTERRUPTS();
	dp_tables_report_progress(&s->teller, DP_PHASE_FITTING, s->round++);
}

/* ---- begin and finish ---- */

/* Weights of the cells by queries, and the guesses that a caller made. */
static void
take_source(iterating *s, dp_reader_source source, void *context)
{
	Size		weights = dp_tables_iterate_weights(&s->terms);
	Size		whole = weights + dp_tables_iterate_guesses(&s->terms);
	Size		filled = 0;
	const void *piece;
	Size		n;

	s->weights = MemoryContextAllocHuge(CurrentMemoryContext, whole);
	s->guesses = (int64 *) ((char *) s->weights + weights);
	while ((piece = source(context, &n)) != NULL)
	{
		if (n > whole - filled)
			elog(ERROR, "construction has more queries than were planned");
		memcpy((char *) s->weights + filled, piece, n);
		filled += n;
	}
	if (filled != whole)
		elog(ERROR, "construction has fewer queries than were planned");
}

static void *
begin(const void *data, Size size, int64 ncounts, dp_reader_source source,
	  void *context)
{
	iterating  *s = palloc0(sizeof(iterating));

	s->terms = *(const dp_iterate_terms *) data;
	if (ncounts != s->terms.cells)
		elog(ERROR, "construction counts other cells than it is of");
	take_source(s, source, context);
	s->counts = palloc(sizeof(int64) * s->terms.queries);
	s->probability = MemoryContextAllocHuge(CurrentMemoryContext,
											sizeof(double) * s->terms.cells);
	s->steps = palloc0(sizeof(dp_iterate_step) * s->terms.rounds);
	return s;
}

/* Count in whole rows, so that one row adds at most 1 to each: T123. */
static void
count_queries(iterating *s, const int64 *cells)
{
	int64		query;
	int64		cell;

	for (query = 0; query < s->terms.queries; query++)
	{
		const int32 *weights = s->weights + query * s->terms.cells;
		dp_int128	granules = 0;

		CHECK_FOR_INTERRUPTS();
		for (cell = 0; cell < s->terms.cells; cell++)
			granules += (dp_int128) weights[cell] * cells[cell];
		s->counts[query] = dp_weight_rows(granules);
	}
}

static void
send_part(const iterating *s, int64 kind, const void *data, int64 n, Size each)
{
	Size		size = MAXALIGN(sizeof(dp_tables_iterated)) + each * n;
	dp_tables_iterated *piece = palloc0(size);

	piece->of.done = kind;
	piece->n = n;
	memcpy(DP_ITERATED_DATA(piece), data, each * n);
	s->teller.sink(s->teller.context, piece, size);
	pfree(piece);
}

static void
send_all(const iterating *s, int taken)
{
	int64		cell;

	send_part(s, DP_ITERATED_STEPS, s->steps, taken, sizeof(dp_iterate_step));
	if (s->terms.update == DP_ITERATE_OWN)
		return;					/* the caller has the hypothesis */
	for (cell = 0; cell < s->terms.cells; cell += PIECE_CELLS)
		send_part(s, DP_ITERATED_CELLS, s->probability + cell,
				  Min(PIECE_CELLS, s->terms.cells - cell), sizeof(double));
}

static void
finish(void *state, const int64 *counts, dp_reader_sink sink, void *context)
{
	iterating  *s = state;
	dp_host		host = {host_allocate, host_release, iterate_run_host_pulse,
	s};
	int			taken = 1;
	dp_status	status;

	s->teller.sink = sink;
	s->teller.context = context;
	count_queries(s, counts);
	status = s->terms.update == DP_ITERATE_OWN ?
		dp_models_iterate_round(&host, dp_base_source(), &s->terms,
								s->guesses, s->counts, s->steps) :
		dp_models_iterate(&host, dp_base_source(), &s->terms, s->weights,
						  s->counts, s->probability, s->steps, &taken);
	explicit_bzero(s->counts, sizeof(int64) * s->terms.queries);
	dp_base_check_status(status, "construct a hypothesis");
	send_all(s, taken);
}

static const dp_use_methods methods = {begin, finish};

/* dp_tables_iterate_init: from _PG_init, in every process. */
void
dp_tables_iterate_init(void)
{
	dp_readings_register(DP_USE_ITERATE, &methods);
}
