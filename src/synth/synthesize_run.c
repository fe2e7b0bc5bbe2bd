/*
 * synthesize_run.c
 *	  The mechanism at work: one pass over the private rows counts all tables,
 *	  then the engine runs on the counts in memory, in a context of its own.
 *
 * The engine asks for memory and reports back through a dp_host; a cancel may
 * come in either, and the context is freed with the transaction.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "synthesize.h"

#define PROGRESS_TOTAL 1000		/* parts of the budget, or rounds of mwem */

/* ---- the engine's host ---- */

typedef struct host_state
{
	dp_synthesis *synthesis;
	MemoryContext context;
	int64		shown;
} host_state;

static void *
host_allocate(void *state, size_t n)
{
	return MemoryContextAllocHuge(((host_state *) state)->context,
								  n > 0 ? n : 1);
}

static void
host_release(void *state, void *memory)
{
	pfree(memory);
}

/* How much of the budget is used: a public number, as rounds are. */
static int64
done(const dp_synthesis *s)
{
	if (s->weights)
		return s->report.rounds;
	return (int64) (PROGRESS_TOTAL *
					dp_acct_fixed_approx(s->report.spent) /
					dp_acct_fixed_approx(s->rho));
}

static void
host_pulse(void *state)
{
	host_state *h = state;

	CHECK_FOR_INTERRUPTS();
	if (done(h->synthesis) == h->shown)
		return;
	h->shown = done(h->synthesis);
	dp_synth_progress(DP_SYNTH_FITTING, h->shown);
}

/* ---- reading ---- */

/* Exact counts of every table, whose pointers are set to them. */
static int64 *
read_tables(dp_synthesis *s, dp_reader_charge pay)
{
	int64	   *counts = MemoryContextAllocHuge(CurrentMemoryContext,
												sizeof(int64) * s->cells);
	int64	   *next = counts;
	int			i;

	dp_reading_count(s->reading, counts, pay, s);
	for (i = 0; i < s->terms.ntables; i++)
	{
		s->tables[i].counts = next;
		next += (int64) dp_shape_cells(&s->terms.shape, s->tables[i].set);
	}
	return counts;
}

/* ---- how many rows ---- */

/*
 * As many as were asked for, else as there seem to be; a noisy number of rows
 * that memory cannot hold is cut, since the charge is made.
 */
static int64
rows_of(const dp_synthesis *s)
{
	int64		most = DP_SYNTHESIZE_PLACES / s->universe->naxes;

	if (s->rows >= 0)
		return s->rows;
	if (s->report.total > (double) most)
	{
		ereport(WARNING,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("only " INT64_FORMAT " rows are drawn", most),
				 errdetail("The universe has about %.0f.", s->report.total)));
		return most;
	}
	return (int64) floor(s->report.total + .5);
}

static int32 *
room_for_rows(const dp_synthesis *s, int64 nrows)
{
	return MemoryContextAllocHuge(CurrentMemoryContext, sizeof(int32) *
								  Max(nrows * s->universe->naxes, 1));
}

/* ---- the two mechanisms ---- */

static int32 *
run_aim(dp_synthesis *s, const dp_host *host, int64 *nrows)
{
	dp_distribution *d;
	int32	   *places;

	dp_bridge_check_status(dp_generator_run(host, dp_bridge_source(),
											&s->terms, s->rho, &d,
											&s->report),
						   "generate a distribution");
	*nrows = rows_of(s);
	places = room_for_rows(s, *nrows);
	dp_synth_progress(DP_SYNTH_SAMPLING, PROGRESS_TOTAL);
	dp_bridge_check_status(dp_distribution_sample(d, dp_bridge_source(),
												  *nrows, places),
						   "draw rows");
	dp_bridge_check_status(dp_generator_polish(d, &s->terms,
											   dp_bridge_source(), *nrows,
											   places),
						   "draw rows");
	dp_generator_rows_error(d, &s->terms, *nrows, places, &s->report);
	return places;
}

/* MWEM's queries: the cells of wanted tables and of every column. */
static dp_generator_terms
weights_terms(const dp_synthesis *s)
{
	dp_generator_terms terms = s->terms;
	dp_generator_table *tables = palloc(sizeof(dp_generator_table) *
										s->terms.ntables);
	int			n = 0;
	int			i;

	for (i = 0; i < s->terms.ntables; i++)
		if (s->tables[i].wanted || i < s->terms.shape.columns)
			tables[n++] = s->tables[i];
	terms.ntables = n;
	terms.table = tables;
	return terms;
}

static int32 *
run_weights(dp_synthesis *s, const dp_host *host, int64 *nrows)
{
	dp_generator_terms terms = weights_terms(s);
	dp_mwem		weights;
	int32	   *places;

	dp_bridge_check_status(dp_mwem_run(host, dp_bridge_source(), &terms,
									   &s->epsilon, s->rounds, &weights,
									   &s->report),
						   "generate a distribution");
	*nrows = rows_of(s);
	places = room_for_rows(s, *nrows);
	dp_synth_progress(DP_SYNTH_SAMPLING, s->rounds);
	dp_bridge_check_status(dp_mwem_sample(&weights, dp_bridge_source(),
										  *nrows, places),
						   "draw rows");
	dp_mwem_rows_error(&weights, &terms, *nrows, places, &s->report);
	return places;
}

/*
 * dp_synthesis_run
 *	  Read, after `pay` has made the charge, generate, draw.  The place of row
 *	  i on the engine's column k is element i * columns + k; s->report is
 *	  filled.
 */
int32 *
dp_synthesis_run(dp_synthesis *s, dp_reader_charge pay, int64 *nrows)
{
	host_state	state = {s, NULL, -1};
	dp_host		host = {host_allocate, host_release, host_pulse, NULL};
	int64	   *counts;
	int32	   *places;

	state.context = AllocSetContextCreate(CurrentMemoryContext,
										  "dp_pg synthesize",
										  ALLOCSET_DEFAULT_SIZES);
	host.state = &state;
	dp_synth_progress_begin(DP_SYNTH_SYNTHESIZE, s->universe->relid,
							s->weights ? s->rounds : PROGRESS_TOTAL);
	counts = read_tables(s, pay);
	places = s->weights ? run_weights(s, &host, nrows) :
		run_aim(s, &host, nrows);
	explicit_bzero(counts, sizeof(int64) * s->cells);
	pfree(counts);
	MemoryContextDelete(state.context);
	dp_synth_progress_end();
	return places;
}
