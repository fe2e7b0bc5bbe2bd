/*
 * dp_explain.h
 *	  Public interface of EXPLAIN and dp_last_release: what a release would
 *	  give and cost, and what the last one did.
 */
#ifndef DP_EXPLAIN_H
#define DP_EXPLAIN_H

#include "executor/instrument.h"
#include "executor/tuptable.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"
#include "optimizer/planner.h"
#include "tcop/dest.h"
#include "utils/tuplestore.h"

#include "../../ledger/dp_ledger.h"
#include "../../measure/aggregates/dp_aggregates.h"

struct ExplainState;

/* ---- explain.c ---- */
extern void dp_explain_release(const dp_release_spec *spec, bool charged,
							   TimestampTz stored_at, EState *estate,
							   struct ExplainState *es);
extern void dp_explain_notices(const dp_release_spec *spec);
typedef struct dp_past_release dp_past_release;

extern void dp_explain_remember(const dp_release_spec *spec,
								const dp_ledger_receipt *receipt);
extern dp_past_release *dp_explain_hold_past(MemoryContext context,
											 int64 *ledger_id);
extern void dp_explain_remember_past(dp_past_release *past, int64 ledger_id);

#endif							/* DP_EXPLAIN_H */
