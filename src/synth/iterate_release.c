/*
 * iterate_release.c
 *	  A charge of dp_iterate and the rounds that it pays for: prepared,
 *	  charged, run where the rows are read, and recorded.
 */
#include "postgres.h"

#include <math.h>

#include "../bridge/dp_numeric.h"
#include "iterate.h"

/* ---- prepare ---- */

/* dp_synth_iterate_verify: see iterate.h. */
void
dp_synth_iterate_verify(dp_iteration *s)
{
	dp_reading_table table;
	int		   *axes = palloc(sizeof(int) * s->universe->naxes);
	int			i;

	for (i = 0; i < s->universe->naxes; i++)
		axes[i] = i;
	table.naxes = s->universe->naxes;
	table.axes = axes;
	s->reading = dp_reading_of_tables(s->universe->relid, s->universe->naxes,
									  s->universe->axes, 1, &table);
}

/*
 * dp_synth_iterate_prepare
 *	  See iterate.h.
 *
 * Errors: 42P01, 55000 the relation or a column is gone or has changed; those
 * of dp_reading_of_tables and dp_synth_iterate_price.
 */
void
dp_synth_iterate_prepare(dp_iteration *s)
{
	dp_synth_iterate_verify(s);
	dp_synth_iterate_price(s);
}

/* dp_synth_iterate_bounds_text: see iterate.h. */
const char *
dp_synth_iterate_bounds_text(const dp_iteration *s)
{
	return psprintf("Rounds end when a noisy count is within %.4g rows of its "
					"guess.%s", s->terms.near,
					dp_reading_rows_text(s->reading));
}

/* ---- charge and run ---- */

/* dp_reader_charge */
static void
pay(void *context)
{
	dp_iteration *s = context;
	dp_ledger_request request;
	dp_synth_record record;

	dp_synth_request(&request, s->reading->dataset, &s->reading->standing,
					 s->reading->fingerprint, &s->charge,
					 psprintf("iterate: %s, %s", s->own ? "own" : s->update,
							  s->distinguisher));
	request.releases = 2 * s->terms.rounds;
	dp_synth_record_begin(&record, "iterate", s->reading);
	dp_synth_record_universe(&record, s->universe);
	dp_synth_record_text(&record, "update", s->update);
	dp_synth_record_text(&record, "distinguisher", s->distinguisher);
	dp_synth_record_integer(&record, "rounds", s->own ? s->own->updates :
							s->terms.rounds);
	if (s->own)
		dp_synth_record_integer(&record, "round", s->own->round);
	dp_synth_record_number(&record, "alpha", s->alpha > 0 ?
						   psprintf("%.17g", s->alpha) : NULL);
	dp_synth_record_number(&record, "near", psprintf("%.17g",
													 s->terms.near));
	dp_synth_record_integer(&record, "n", s->terms.n);
	dp_synth_record_texts(&record, "queries", s->texts);
	s->id = dp_synth_charge(&request, &record);
	dp_bridge_progress(DP_PHASE_READING, 0);
}

#define PIECE 16384				/* bytes of the source's pieces */

/* dp_reader_source: weights of cells by queries, and guesses */
static const void *
next_piece(void *context, Size *size)
{
	dp_iteration *s = context;
	Size		whole = dp_synth_iterate_weights(&s->terms) +
		dp_synth_iterate_guesses(&s->terms);
	const char *piece = (const char *) s->weights + s->sent;

	*size = Min(whole - s->sent, PIECE);
	s->sent += *size;
	return *size > 0 ? piece : NULL;
}

/* dp_reader_sink: of progress, and then of the result */
static void
take_piece(void *context, const void *data, Size size)
{
	dp_iteration *s = context;
	const dp_synth_iterated *piece = data;

	if (dp_synth_hear_progress(data))
		return;
	if (piece->of.done == DP_ITERATED_STEPS)
	{
		s->taken = piece->n;
		memcpy(s->steps, DP_ITERATED_DATA(piece),
			   sizeof(dp_iterate_step) * piece->n);
		return;
	}
	memcpy(s->probability + s->filled, DP_ITERATED_DATA(piece),
		   sizeof(double) * piece->n);
	s->filled += piece->n;
}

static void
run(dp_iteration *s)
{
	dp_reading_use use = {DP_USE_ITERATE, &s->terms, sizeof(s->terms),
	next_piece, pay, take_piece, s};

	s->sent = 0;
	s->steps = palloc0(sizeof(dp_iterate_step) * s->terms.rounds);
	dp_bridge_progress_begin(DP_WORK_ITERATE, s->universe->relid,
							 s->terms.rounds);
	dp_reading_run(s->reading, &use);
	dp_bridge_progress_end();
	if (s->own == NULL && s->filled != s->terms.cells)
		elog(ERROR, "construction gave other cells than were planned");
}

/* "steps": [{"query": 1, "guess": .., "answer": ..}, ...] */
static char *
steps_text(const dp_iteration *s)
{
	StringInfoData text;
	int64		i;

	initStringInfo(&text);
	appendStringInfoString(&text, "\"steps\": [");
	for (i = 0; i < s->taken; i++)
		appendStringInfo(&text, "%s{\"query\": " INT64_FORMAT
						 ", \"guess\": " INT64_FORMAT ", \"answer\": %s}",
						 i > 0 ? ", " : "", s->steps[i].query + 1,
						 s->steps[i].guess,
						 dp_numeric_text(dp_bridge_int128_to_numeric(
											 s->steps[i].answer)));
	appendStringInfoChar(&text, ']');
	return text.data;
}

/*
 * dp_synth_iterate_release
 *	  See iterate.h.
 *
 * Errors: those of a charge and of dp_reading_run.
 */
void
dp_synth_iterate_release(dp_iteration *s)
{
	run(s);
	dp_synth_finish(s->reading->dataset, s->id, NAN, steps_text(s));
}
