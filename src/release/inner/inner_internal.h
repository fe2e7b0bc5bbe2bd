/*
 * inner_internal.h
 *	  Private to inner plans: joins that hash only what was read beforehand.
 */
#ifndef INNER_INTERNAL_H
#define INNER_INTERNAL_H

#include "executor/instrument.h"
#include "executor/tuptable.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "optimizer/planner.h"
#include "tcop/dest.h"
#include "utils/tuplestore.h"

#include "../joined/dp_joined.h"
#include "dp_inner.h"

/* ---- public_plan.c ---- */
extern PGDLLEXPORT PlannedStmt *dp_inner_public_plan(Query *inner,
													 dp_workers workers,
													 dp_public_facts *facts);

/* ---- public_join.c ---- */
extern bool dp_inner_is_public_name(const char *name,
									const dp_public_facts *facts);
extern void dp_inner_enter_joins(Query *inner);
extern void dp_inner_weigh_public_joins(const dp_public_facts *facts);
extern bool dp_inner_hashes_joined(const Plan *plan,
								   const dp_public_facts *facts);
extern void dp_inner_keep_rows(Plan *plan);

#endif							/* INNER_INTERNAL_H */
