/*
 * net.h
 *	  Private to the synth room: the net mechanism's pieces.
 */
#ifndef DP_SYNTH_NET_H
#define DP_SYNTH_NET_H

#include "access/tupdesc.h"
#include "utils/tuplestore.h"

#include "synth.h"

#define NET_CANDIDATES (INT64CONST(1) << 24)

/* The user's candidates, read once: rows of (answers, wanted columns). */
typedef struct dp_net_candidates
{
	Oid			relid;
	char	   *name;			/* qualified; the table may be dropped since */
	TupleDesc	desc;
	Tuplestorestate *rows;
	int64		n;
	int			queries;		/* answers that each has */
} dp_net_candidates;

/* net_grid.c */
extern dp_binary_grid dp_synth_net_grid_for(Numeric sensitivity,
											dp_uint128 *granules);

/* net_candidates.c */
extern void dp_synth_net_read_candidates(dp_net_candidates *out, Oid relid,
										 const char *answers, int queries,
										 TupleDesc wanted);
extern void dp_synth_net_put(const dp_net_candidates *candidates, int64 chosen,
							 ReturnSetInfo *result);

/*
 * The candidates' answers in granules, some candidates at a time: a
 * dp_reader_source whose context is a dp_net_answers.
 */
typedef struct dp_net_answers
{
	const dp_net_candidates *candidates;
	const dp_binary_grid *grid;
	TupleTableSlot *slot;
	MemoryContext context;		/* of one row */
	int64		room;			/* candidates of a piece */
	dp_int128  *piece;
} dp_net_answers;

extern void dp_synth_net_answers_begin(dp_net_answers *answers,
									   const dp_net_candidates *candidates,
									   const dp_binary_grid *grid);
extern const void *dp_synth_net_answers_next(void *context, Size *size);
extern void dp_synth_net_answers_end(dp_net_answers *answers);

/* net_run.c */

/* What a choice needs in addition to its source, the answers; public. */
typedef struct dp_net_choice
{
	dp_rational rate;
	int64		candidates;
	int			queries;
} dp_net_choice;

typedef struct dp_net_chosen
{
	dp_synth_piece piece;
	int64		candidate;
} dp_net_chosen;

extern void dp_synth_net_score(const dp_int128 *answers, int64 n, int queries,
							   const dp_int128 *truths, dp_int128 *scores);
extern int64 dp_synth_net_choose(const dp_net_choice *choice,
								 dp_int128 *scores);
extern void dp_synth_net_init(void);

#endif							/* DP_SYNTH_NET_H */
