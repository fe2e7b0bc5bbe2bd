/*
 * net_run.c
 *	  The net mechanism's choice: scores from exact numbers, and the draw; for
 *	  predicates, where the rows are read.
 *
 * The candidates' answers come before the charge, and are kept in memory or in
 * a temporary file: they are public.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "miscadmin.h"

#include "net.h"

/*
 * dp_synth_net_score
 *	  Minus the largest distance of a candidate's answers from the truths, for
 *	  each of n candidates.
 */
void
dp_synth_net_score(const dp_int128 *answers, int64 n, int queries,
				   const dp_int128 *truths, dp_int128 *scores)
{
	int64		candidate;
	int			i;

	for (candidate = 0; candidate < n; candidate++)
	{
		dp_int128	worst = 0;

		for (i = 0; i < queries; i++)
		{
			dp_int128	distance = truths[i] - *answers++;

			if (distance < 0)
				distance = -distance;
			if (distance > worst)
				worst = distance;
		}
		scores[candidate] = -worst;
	}
}

/* dp_synth_net_choose: the number of the drawn candidate; scores are wiped. */
int64
dp_synth_net_choose(const dp_net_choice *choice, dp_int128 *scores)
{
	size_t		chosen = 0;

	dp_bridge_check_status(dp_mech_exponential(dp_bridge_source(), scores,
											   (size_t) choice->candidates,
											   &choice->rate, &chosen),
						   "select a candidate");
	explicit_bzero(scores, sizeof(dp_int128) * choice->candidates);
	return (int64) chosen;
}

/* ---- where the rows are read ---- */

typedef struct choosing
{
	dp_net_choice choice;
	TupleDesc	desc;			/* of pieces: one bytea */
	Tuplestorestate *pieces;
	dp_int128  *truths;
	dp_int128  *scores;
	dp_synth_teller teller;
} choosing;

/* Keep a piece, and return how many candidates it has. */
static int64
keep(choosing *c, const void *piece, Size size)
{
	bytea	   *bytes = palloc(VARHDRSZ + size);
	Datum		value = PointerGetDatum(bytes);
	bool		isnull = false;

	SET_VARSIZE(bytes, VARHDRSZ + size);
	memcpy(VARDATA(bytes), piece, size);
	tuplestore_putvalues(c->pieces, c->desc, &value, &isnull);
	pfree(bytes);
	return size / (sizeof(dp_int128) * c->choice.queries);
}

static void *
begin(const void *data, Size size, int64 ncounts, dp_reader_source source,
	  void *context)
{
	choosing   *c = palloc0(sizeof(choosing));
	int64		kept = 0;
	const void *piece;
	Size		n;

	c->choice = *(const dp_net_choice *) data;
	if (ncounts != c->choice.queries)
		elog(ERROR, "choice counts other queries than it is of");
	c->truths = palloc(sizeof(dp_int128) * ncounts);
	c->scores = MemoryContextAllocHuge(CurrentMemoryContext,
									   sizeof(dp_int128) *
									   c->choice.candidates);
	c->desc = CreateTemplateTupleDesc(1);
	TupleDescInitEntry(c->desc, 1, "answers", BYTEAOID, -1, 0);
	c->pieces = tuplestore_begin_heap(false, false, work_mem);
	while ((piece = source(context, &n)) != NULL)
		kept += keep(c, piece, n);
	if (kept != c->choice.candidates)
		elog(ERROR, "choice has other candidates than were planned");
	return c;
}

/* Score a copy of a kept piece, in which answers are not aligned. */
static int64
score_piece(choosing *c, TupleTableSlot *slot, dp_int128 *scores)
{
	bool		isnull;
	bytea	   *bytes = DatumGetByteaPP(slot_getattr(slot, 1, &isnull));
	Size		size = VARSIZE_ANY_EXHDR(bytes);
	dp_int128  *answers = palloc(size);
	int64		n = size / (sizeof(dp_int128) * c->choice.queries);

	memcpy(answers, VARDATA_ANY(bytes), size);
	dp_synth_net_score(answers, n, c->choice.queries, c->truths, scores);
	pfree(answers);
	return n;
}

static void
finish(void *state, const int64 *counts, dp_reader_sink sink, void *context)
{
	choosing   *c = state;
	TupleTableSlot *slot = MakeSingleTupleTableSlot(c->desc,
													&TTSOpsMinimalTuple);
	dp_net_chosen chosen = {{0}};
	int64		scored = 0;
	int			i;

	c->teller.sink = sink;
	c->teller.context = context;
	for (i = 0; i < c->choice.queries; i++)
		c->truths[i] = counts[i];
	while (tuplestore_gettupleslot(c->pieces, true, false, slot))
	{
		CHECK_FOR_INTERRUPTS();
		dp_synth_tell_progress(&c->teller, DP_PHASE_SCANNING, scored);
		scored += score_piece(c, slot, c->scores + scored);
	}
	ExecDropSingleTupleTableSlot(slot);
	tuplestore_end(c->pieces);
	chosen.candidate = dp_synth_net_choose(&c->choice, c->scores);
	explicit_bzero(c->truths, sizeof(dp_int128) * c->choice.queries);
	sink(context, &chosen, sizeof(chosen));
}

static const dp_use_methods methods = {begin, finish};

/* dp_synth_net_init: from _PG_init, in every process. */
void
dp_synth_net_init(void)
{
	dp_reading_register(DP_USE_NET, &methods);
}
