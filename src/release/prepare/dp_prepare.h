/*
 * dp_prepare.h
 *	  Public interface of prepare: a block with evaluated parameters, whose
 *	  every public quantity is known.
 *
 * Include postgres.h first.
 */
#ifndef DP_PREPARE_H
#define DP_PREPARE_H

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
#include "../../measure/aggregates/dp_aggregates.h"

/* ---- prepare.c ---- */

extern dp_unit_bounds dp_prepare_unit_bounds(const dp_block *block,
											 const dp_outlook *outlook);
extern void dp_prepare_notice_outside(const dp_release_spec *spec);
extern void dp_prepare_raise_unbounded(const dp_block *block, Oid relid,
									   const dp_release_spec *spec);

/*
 * The parameters of the aggregates, whose values dp_prepare_release takes as a
 * list of constants, and the domains of the keys.
 */
extern List *dp_prepare_parameter_exprs(const dp_block *block);
extern dp_release_spec *dp_prepare_release(dp_block *block,
										   const dp_ledger_standing *standing,
										   List *arguments, List *domains,
										   const dp_unit_bounds *bounds,
										   Snapshot snapshot, int *location);
extern bool dp_prepare_is_free(const dp_release_spec *spec);
extern int	dp_prepare_count_values(const dp_release_spec *spec);
/* The mechanism that decides about undeclared keys. */
extern const char dp_prepare_decision_name[];
/* 22023 if a price is outside what the dataset's owner allows. */
extern void dp_prepare_check_prices(const dp_release_spec *spec,
									const dp_ledger_standing *standing);
extern const char *dp_prepare_mechanism_name(const dp_measure *measure);
extern void dp_prepare_request(const dp_release_spec *spec,
							   dp_ledger_request *request);

/* ---- quarters.c ---- */

/* Quarters of its price that a query pays whose total is measured. */
#define DP_QUARTERS_MEASURED 3

/*
 * What is prepared for a query whose total the query itself measures, with
 * what it was prepared from.
 */
typedef struct dp_measuring
{
	dp_block   *block;
	const dp_ledger_standing *standing;
	List	   *arguments;
	List	   *domains;
	dp_unit_bounds bounds;
	Snapshot	snapshot;
	dp_release_spec *rows;		/* the release that measures it */
	bool		stored;			/* its answer was stored, and paid for then */
	int64		total;			/* what was chosen; 0: it has not run */
} dp_measuring;

extern void dp_prepare_add_measuring(const dp_release_spec *spec,
									 dp_charge *sum);
extern bool dp_prepare_measures_rows(const dp_block *block);
extern dp_unit_bounds dp_prepare_use_measured(const dp_unit_bounds *bounds);

/* ---- measured_bound.c ---- */
extern dp_release_spec *dp_prepare_measured(dp_measuring *measuring,
											int *location);
extern dp_release_spec *dp_prepare_take_total(const dp_release_spec *spec,
											  const int64 *counts,
											  bool stored);

/* ---- price.c ---- */

extern char *dp_prepare_disjoint_text(const dp_release_spec *spec);

/* ---- group_keys.c ---- */

extern char *dp_prepare_large_text(const dp_release_spec *spec);
extern List *dp_prepare_begin_key_conditions(const dp_block *block,
											 PlanState *plan);
extern List *dp_prepare_find_others(const dp_release_spec *spec);
extern bool dp_prepare_may_have_rows(List *conditions, const List *others,
									 TupleTableSlot *slot,
									 ExprContext *econtext);
extern List *dp_prepare_decide_keys(const dp_block *block, EState *estate,
									List **settled);
typedef struct dp_group_order dp_group_order;

extern dp_group_order *dp_prepare_order_begin(const dp_release_spec *spec,
											  TupleDesc result);
extern void dp_prepare_order_add(dp_group_order *order, TupleTableSlot *slot);
extern void dp_prepare_order_end(dp_group_order *order, TupleTableSlot *slot,
								 Tuplestorestate *store);

#endif							/* DP_PREPARE_H */
