/*
 * run_internal.h
 *	  Private to run: the steps of running a release.
 */
#ifndef RUN_INTERNAL_H
#define RUN_INTERNAL_H

#include "executor/instrument.h"
#include "executor/tuptable.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"
#include "optimizer/planner.h"
#include "tcop/dest.h"
#include "utils/tuplestore.h"

#include "../../ledger/dp_ledger.h"
#include "../../query/rowsets/dp_rowsets.h"
#include "../../reader/dp_reader.h"
#include "../../measure/aggregates/dp_aggregates.h"
#include "../inner/dp_inner.h"
#include "../answers/dp_answers.h"

/* ---- run.c ---- */
extern dp_release_spec *dp_run_measure(const dp_release_spec *spec,
									   const dp_ledger_standing *standing,
									   EState *estate);
extern Tuplestorestate *dp_run_release(const dp_release_spec *spec,
									   const dp_ledger_standing *standing,
									   EState *estate, TupleDesc result,
									   dp_kept_job *wanted,
									   TimestampTz *stored_at);
extern TimestampTz dp_run_look_ahead(const dp_release_spec *spec,
									 const dp_ledger_standing *standing,
									 EState *estate, TupleDesc result);

/* ---- ordinary.c ---- */
extern bool dp_run_is_ordinary(Query *query);
extern bool dp_run_may_hold_block(Query *query);

/* ---- kept_plan.c ---- */
typedef struct dp_kept_plan dp_kept_plan;

extern PlannedStmt *dp_run_find_plan(const Query *query, const char *text,
									 int options, ParamListInfo params);
extern dp_kept_plan *dp_run_want_plan(Query *query, const char *text,
									  int options, ParamListInfo params);
extern void dp_run_keep_plan(dp_kept_plan *wanted, PlannedStmt *plan);

/* ---- reader_work.c ---- */
extern void dp_run_fill_job(const dp_release *release, dp_reader_job *job);
extern void dp_run_work_init(void);

/* ---- custom_scan.c ---- */
typedef struct dp_shared_store
{
	EState	   *root;
	int64		nonce;
	int			index;
	Tuplestorestate *store;		/* NULL until the release has run */
	TimestampTz stored_at;		/* when the stored answer was stored, or 0 */
	const dp_release_spec *spec;	/* what it ran as; NULL for a kept job or
									 * answer */
	List	   *others;			/* of the keys (group_keys.c) */
	int			references;
} dp_shared_store;
/* The node that the custom scan of a release carries. */
typedef struct dp_release_plan
{
	ExtensibleNode node;
	dp_block   *block;
	int64		nonce;			/* of the planner call */
	int			index;			/* of the block in that call */
} dp_release_plan;

/* What a reader is sent for a release (reader_work.c). */
typedef struct dp_release_input
{
	ExtensibleNode node;
	dp_block   *block;			/* without subqueries, which have run */
	List	   *arguments;		/* of Const *: for dp_prepare_release */
	List	   *domains;		/* of the keys, each a list */
	List	   *aggregates;		/* exact ones, of all measurements */
	List	   *fine;			/* integers: bound.fine of each measurement */
	List	   *types;			/* OIDs: of the columns of the answer */
} dp_release_input;

extern void dp_run_node_init(void);
extern void dp_run_add_path(PlannerInfo *root, RelOptInfo *rel,
								dp_block *block, uint64 nonce, int index);
extern bool dp_run_is_release(const Plan *plan);

/* ---- quiet.c ---- */
extern void dp_run_quiet_init(void);
extern void dp_run_forbid_loud(void);

#endif							/* RUN_INTERNAL_H */
