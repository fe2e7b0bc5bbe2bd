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

/* net.c */

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

extern void dp_synth_net_init(void);

#endif							/* DP_SYNTH_NET_H */
