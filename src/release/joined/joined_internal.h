/*
 * joined_internal.h
 *	  Private to joined rows: what its files share.
 */
#ifndef JOINED_INTERNAL_H
#define JOINED_INTERNAL_H

#include "executor/instrument.h"
#include "executor/tuptable.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"
#include "optimizer/planner.h"
#include "tcop/dest.h"
#include "utils/tuplestore.h"

#include "../../query/rowsets/dp_rowsets.h"

/* ---- own_query.c ---- */
extern void dp_joined_open_only(PlannedStmt *plan, ParamListInfo params,
								QueryEnvironment *environment);

/* ---- joined_rows.c ---- */

/* The rows of a source so far. */
typedef struct dp_fanout_tally
{
	const dp_joined *source;
	uint64	   *hashes;			/* of the values in its join columns */
	int64		rows;
	int64		room;
	int64		most;			/* at the end: most rows that match one row, at
								 * least 1 */
} dp_fanout_tally;

/* ---- follow_keys.c ---- */
typedef struct dp_followed dp_followed;

/* Takes a row whose unit has been found. */
typedef void (*dp_follow_sink) (void *context, Datum unit,
								MinimalTuple tuple);

extern dp_followed *dp_joined_follow_create(const dp_joined *source,
											dp_follow_sink sink,
											void *context);
extern DestReceiver *dp_joined_follow_scan(dp_followed *all, int n);
extern void dp_joined_follow(dp_followed *all);

#endif							/* JOINED_INTERNAL_H */
