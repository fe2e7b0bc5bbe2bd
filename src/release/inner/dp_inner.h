/*
 * dp_inner.h
 *	  Public interface of inner plans: an inner query is planned from public
 *	  facts.
 *
 * Include postgres.h first.
 */
#ifndef DP_INNER_H
#define DP_INNER_H

#include "executor/instrument.h"
#include "executor/tuptable.h"
#include "nodes/execnodes.h"
#include "nodes/params.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "optimizer/planner.h"
#include "tcop/dest.h"
#include "utils/queryenvironment.h"
#include "utils/tuplestore.h"

#include "../../ledger/dp_ledger.h"
#include "../../query/rowsets/dp_rowsets.h"
#include "../../reader/dp_reader.h"
#include "../joined/dp_joined.h"

/* What parallel workers of an inner query hand over, if it has any. */
typedef enum dp_workers
{
	DP_WORKERS_NONE,
	DP_WORKERS_STATES,			/* a row or a few: states of groups */
	DP_WORKERS_ROWS				/* the rows they read, in packs
								 * (reader/pack.c) */
} dp_workers;

extern void dp_inner_check_preconditions(void);

/* ---- what a block joins, and brings together by units ---- */

/* ---- inner_plan.c ---- */
extern void dp_inner_plan_job(const dp_block *block, dp_inner *run,
							  dp_workers workers, const dp_joined_rows *joined,
							  dp_reader_job *job);
extern void dp_inner_check_ready(const dp_block *block,
								 const dp_ledger_standing *standing);

typedef struct dp_kept_job dp_kept_job; /* kept.c */

/* ---- public_plan.c ---- */
typedef struct dp_inner_planning dp_inner_planning;

extern void dp_inner_public_plan_init(void);
extern dp_inner_planning *dp_inner_leave(void);
extern void dp_inner_enter(dp_inner_planning *inner);
extern bool dp_inner_is_ours(const Query *query, const char *text);
extern PlannedStmt *dp_inner_plan_met(planner_hook_type behind, Query *query,
									  const char *text, int options,
									  ParamListInfo params);

/* ---- inner_plan.c ---- */

/* Parameters, times and the user's name become constants. */
extern Query *dp_inner_settle(Query *inner, ParamListInfo params);

#endif							/* DP_INNER_H */
