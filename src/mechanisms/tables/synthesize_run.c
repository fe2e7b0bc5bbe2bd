/*
 * synthesize_run.c
 *	  The mechanism, where the rows are read: one pass over them counts all
 *	  tables, then the engine runs on the counts in memory, in a context of its
 *	  own, and rows are drawn.
 *
 * The engine asks for memory and reports back through a dp_host; a cancel may
 * come in either, and the context is freed with the transaction.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "../../math/numbers/dp_numbers.h"
#include "../../math/accounting/dp_accounting.h"
#include "../../math/models/dp_models.h"
#include "../../base/dp_base.h"
#include "../../reader/dp_reader.h"
#include "../readings/dp_readings.h"
#include "tables_internal.h"

#define PROGRESS_TOTAL 1000		/* parts of the budget, or rounds of mwem */

/* ---- what is sent ---- */

typedef struct plan_table
{
	dp_columns	set;
	int64		weight;
	bool		wanted;
} plan_table;

/* All that generating depends on, except counts; public. */
typedef struct synthesis_plan
{
	dp_shape	shape;
	uint64		sensitivity;
	bool		replace_one;
	bool		weights;
	int			rounds;			/* of mwem */
	dp_rational epsilon;
	dp_fixed	rho;
	int64		total;			/* public number of rows; negative: none */
	int64		rows;			/* to draw; negative: as many as there are */
	int			ntables;
	plan_table	table[FLEXIBLE_ARRAY_MEMBER];
} synthesis_plan;

/* The first part of a release; parts with rows follow. */
typedef struct drawn
{
	dp_tables_piece piece;
	dp_generator_report report;
	int64		nrows;
} drawn;

/* Places of some rows. */
typedef struct drawn_rows
{
	dp_tables_piece piece;
	int32		places[FLEXIBLE_ARRAY_MEMBER];
} drawn_rows;

#define PIECE 16384				/* bytes of rows in a piece */

/* ---- the engine's host ---- */

typedef struct generating
{
	const synthesis_plan *plan;
	dp_generator_terms terms;
	dp_generator_table *tables; /* = terms.table */
	dp_generator_report report;
	MemoryContext context;
	int64		shown;
	dp_tables_reporter teller;
} generating;

static void *
host_allocate(void *state, size_t n)
{
	return MemoryContextAllocHuge(((generating *) state)->context,
								  n > 0 ? n : 1);
}

static void
host_release(void *state, void *memory)
{
	pfree(memory);
}

/* The part of the budget that is used; public, as rounds are. */
static int64
done(const generating *g)
{
	if (g->plan->weights)
		return g->report.rounds;
	return (int64) (PROGRESS_TOTAL *
					dp_accounting_fixed_approx(g->report.spent) /
					dp_accounting_fixed_approx(g->plan->rho));
}

static void
synthesize_run_host_pulse(void *state)
{
	generating *g = state;

	CHECK_FOR_INTERRUPTS();
	if (done(g) == g->shown)
		return;
	g->shown = done(g);
	dp_tables_report_progress(&g->teller, DP_PHASE_FITTING, g->shown);
}

/* ---- how many rows ---- */

static int64
most_rows(int columns)
{
	return DP_SYNTHESIZE_PLACES / columns;
}

/*
 * As many as were asked for, else the estimated number, cut to what memory can
 * hold, since the charge has been made.
 */
static int64
synthesize_run_rows_of(const generating *g)
{
	int64		most = most_rows(g->plan->shape.columns);

	if (g->plan->rows >= 0)
		return g->plan->rows;
	return g->report.total > (double) most ? most :
		(int64) floor(g->report.total + .5);
}

static int32 *
room_for_rows(const generating *g, int64 nrows)
{
	return MemoryContextAllocHuge(CurrentMemoryContext, sizeof(int32) *
								  Max(nrows * g->plan->shape.columns, 1));
}

/* ---- the two mechanisms ---- */

static int32 *
run_aim(generating *g, const dp_host *host, int64 *nrows)
{
	dp_distribution *d;
	int32	   *places;

	dp_base_check_status(dp_models_generator_run(host, dp_base_source(),
												 &g->terms, g->plan->rho, &d,
												 &g->report),
						 "generate a distribution");
	*nrows = synthesize_run_rows_of(g);
	places = room_for_rows(g, *nrows);
	dp_tables_report_progress(&g->teller, DP_PHASE_SAMPLING, PROGRESS_TOTAL);
	dp_base_check_status(dp_models_distribution_sample(d, dp_base_source(),
													   *nrows, places),
						 "draw rows");
	dp_base_check_status(dp_models_generator_polish(d, &g->terms,
													dp_base_source(),
													*nrows, places),
						 "draw rows");
	dp_models_generator_rows_error(d, &g->terms, *nrows, places, &g->report);
	return places;
}

/* MWEM's queries: the cells of wanted tables and of every column. */
static dp_generator_terms
weights_terms(const generating *g)
{
	dp_generator_terms terms = g->terms;
	dp_generator_table *tables = palloc(sizeof(dp_generator_table) *
										g->terms.ntables);
	int			n = 0;
	int			i;

	for (i = 0; i < g->terms.ntables; i++)
		if (g->tables[i].wanted || i < g->terms.shape.columns)
			tables[n++] = g->tables[i];
	terms.ntables = n;
	terms.table = tables;
	return terms;
}

static int32 *
run_weights(generating *g, const dp_host *host, int64 *nrows)
{
	dp_generator_terms terms = weights_terms(g);
	dp_mwem		weights;
	int32	   *places;

	dp_base_check_status(dp_models_mwem_run(host, dp_base_source(), &terms,
											&g->plan->epsilon,
											g->plan->rounds, &weights,
											&g->report),
						 "generate a distribution");
	*nrows = synthesize_run_rows_of(g);
	places = room_for_rows(g, *nrows);
	dp_tables_report_progress(&g->teller, DP_PHASE_SAMPLING, g->plan->rounds);
	dp_base_check_status(dp_models_mwem_sample(&weights, dp_base_source(),
											   *nrows, places),
						 "draw rows");
	dp_models_mwem_rows_error(&weights, &terms, *nrows, places, &g->report);
	return places;
}

/* ---- where the rows are read ---- */

static int64
synthesize_run_cells_of(const generating *g, int table)
{
	return (int64) dp_models_shape_cells(&g->plan->shape,
										 g->tables[table].set);
}

/* Tables without counts, and room for bounds on their errors. */
static void
synthesize_run_fill_terms(generating *g)
{
	const synthesis_plan *plan = g->plan;
	int			i;

	g->tables = palloc0(sizeof(dp_generator_table) * plan->ntables);
	for (i = 0; i < plan->ntables; i++)
	{
		g->tables[i].set = plan->table[i].set;
		g->tables[i].weight = plan->table[i].weight;
		g->tables[i].wanted = plan->table[i].wanted;
	}
	g->terms.shape = plan->shape;
	g->terms.ntables = plan->ntables;
	g->terms.table = g->tables;
	g->terms.sensitivity = plan->sensitivity;
	g->terms.replace_one = plan->replace_one;
	g->terms.total = plan->total;
	g->terms.most_cells = DP_SYNTHESIZE_TREE;
	g->terms.bound = palloc(sizeof(dp_bound) * plan->ntables);
}

static void *
begin(const void *data, Size size, int64 ncounts, dp_reader_source source,
	  void *context)
{
	generating *g = palloc0(sizeof(generating));
	int64		cells = 0;
	int			i;

	g->plan = data;
	g->shown = -1;
	synthesize_run_fill_terms(g);
	for (i = 0; i < g->plan->ntables; i++)
		cells += synthesize_run_cells_of(g, i);
	if (cells != ncounts)
		elog(ERROR, "tables count other cells than they have");
	g->context = AllocSetContextCreate(CurrentMemoryContext,
									   "dp_pg synthesize",
									   ALLOCSET_DEFAULT_SIZES);
	return g;
}

static void
give_rows(const generating *g, const int32 *places, int64 nrows)
{
	int			columns = g->plan->shape.columns;
	int64		room = PIECE / (sizeof(int32) * columns);
	Size		row = sizeof(int32) * columns;
	drawn_rows *rows = palloc0(offsetof(drawn_rows, places) + room * row);
	int64		i;

	for (i = 0; i < nrows; i += room)
	{
		int64		n = Min(room, nrows - i);

		CHECK_FOR_INTERRUPTS();
		memcpy(rows->places, places + i * columns, n * row);
		g->teller.sink(g->teller.context, rows,
					   offsetof(drawn_rows, places) + n * row);
	}
}

static void
finish(void *state, const int64 *counts, dp_reader_sink sink, void *context)
{
	generating *g = state;
	dp_host		host = {host_allocate, host_release, synthesize_run_host_pulse,
	g};
	drawn		result;
	int32	   *places;
	int			i;

	g->teller.sink = sink;
	g->teller.context = context;
	for (i = 0; i < g->plan->ntables; i++)
	{
		g->tables[i].counts = counts;
		counts += synthesize_run_cells_of(g, i);
	}
	MemSet(&result, 0, sizeof(result));
	places = g->plan->weights ? run_weights(g, &host, &result.nrows) :
		run_aim(g, &host, &result.nrows);
	MemoryContextDelete(g->context);
	result.report = g->report;
	sink(context, &result, sizeof(result));
	give_rows(g, places, result.nrows);
	pfree(places);
}

static const dp_use_methods methods = {begin, finish};

/* dp_tables_synthesis_init: from _PG_init, in every process. */
void
dp_tables_synthesis_init(void)
{
	dp_readings_register(DP_USE_SYNTHESIZE, &methods);
}

/* ---- the connection's side ---- */

typedef struct synthesis_call
{
	dp_synthesis *synthesis;
	dp_reader_charge pay;
	dp_synthesis_rows put;
	void	   *context;
	bool		drawn;			/* the report is there */
	int64		nrows;
} synthesis_call;

static synthesis_plan *
synthesize_run_make_plan(const dp_synthesis *s, Size *size)
{
	synthesis_plan *plan;
	int			i;

	*size = offsetof(synthesis_plan, table) +
		sizeof(plan_table) * s->terms.ntables;
	plan = palloc0(*size);
	plan->shape = s->terms.shape;
	plan->sensitivity = s->terms.sensitivity;
	plan->replace_one = s->terms.replace_one;
	plan->weights = s->weights;
	plan->rounds = s->rounds;
	plan->epsilon = s->epsilon;
	plan->rho = s->rho;
	plan->total = s->terms.total;
	plan->rows = s->rows;
	plan->ntables = s->terms.ntables;
	for (i = 0; i < s->terms.ntables; i++)
	{
		plan->table[i].set = s->tables[i].set;
		plan->table[i].weight = s->tables[i].weight;
		plan->table[i].wanted = s->tables[i].wanted;
	}
	return plan;
}

/* dp_reader_charge */
static void
synthesize_run_charge_call(void *context)
{
	const synthesis_call *call = context;

	call->pay(call->synthesis);
}

static void
take_report(synthesis_call *call, const drawn *result)
{
	const dp_synthesis *s = call->synthesis;

	call->drawn = true;
	call->nrows = result->nrows;
	call->synthesis->report = result->report;
	if (s->rows < 0 &&
		result->report.total > (double) most_rows(s->universe->naxes))
		ereport(WARNING,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("only " INT64_FORMAT " rows are drawn",
						result->nrows),
				 errdetail("The universe has about %.0f.",
						   result->report.total)));
}

/* dp_reader_sink: of progress, the report and rows */
static void
take_piece(void *context, const void *data, Size size)
{
	synthesis_call *call = context;
	const drawn_rows *rows = data;

	if (dp_tables_hear_progress(data))
		return;
	if (!call->drawn)
		take_report(call, data);
	else
		call->put(call->context, rows->places,
				  (size - offsetof(drawn_rows, places)) /
				  (sizeof(int32) * call->synthesis->universe->naxes));
}

/*
 * dp_tables_synthesis_run
 *	  Read, after `pay` has made the charge, generate and draw; returns how
 *	  many rows `put` was given.  s->report is filled.
 */
int64
dp_tables_synthesis_run(dp_synthesis *s, dp_reader_charge pay,
						dp_synthesis_rows put, void *context)
{
	synthesis_call call = {s, pay, put, context};
	dp_reading_use use = {DP_USE_SYNTHESIZE, NULL, 0, NULL,
	synthesize_run_charge_call, take_piece, &call};

	use.data = synthesize_run_make_plan(s, &use.size);
	dp_base_progress_begin(DP_WORK_SYNTHESIZE, s->universe->relid,
						   s->weights ? s->rounds : PROGRESS_TOTAL);
	dp_readings_run(s->reading, &use);
	dp_base_progress_end();
	return call.nrows;
}
