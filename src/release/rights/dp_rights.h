/*
 * dp_rights.h
 *	  Public interface of rights: who may read what a release reads.
 *
 * Include postgres.h first.
 */
#ifndef DP_RIGHTS_H
#define DP_RIGHTS_H

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

#include "../../base/dp_base.h"
#include "../../ledger/dp_ledger.h"
#include "../../protect/dp_protect.h"
#include "../../query/rowsets/dp_rowsets.h"

/* A query of a block over a protected relation (rights.c). */
typedef struct dp_ready
{
	Query	   *query;
	Oid			relid;
	List	   *key;			/* of a step to units: columns of its key */

	/* set when rights are taken */
	const dp_relation *relation;
	List	   *relids;			/* OIDs of all relations that it names */
} dp_ready;

/* ---- rights.c ---- */
extern void dp_rights_ask_others(const List *all);
extern List *dp_rights_list_private(const dp_block *block, Query *inner);
extern void dp_rights_take(const dp_block *block,
						   const dp_ledger_standing *standing,
						   const List *all);
extern void dp_rights_prove(const dp_block *block, const List *all);
extern const dp_relation *dp_rights_look_up(const dp_block *block, Oid relid);
extern bool dp_rights_lacks_right(Query *query);
extern bool dp_rights_reaches_protected(Query *query);
extern void dp_rights_check_first(Query *query);
extern void dp_rights_check_met(PlannerInfo *root, Oid relid);
extern dp_refusal *dp_rights_make_refusal(Oid named, Oid relid, Query *query,
										  const char *hint);
extern dp_refusal *dp_rights_refuse_entries(Query *level);

/* ---- row_security.c ---- */

extern void dp_rights_hide_rows(PlannerInfo *root, RelOptInfo *rel);
extern void dp_rights_hide_rows_first(PlannerInfo *root, RelOptInfo *rel,
									   const RangeTblEntry *entry);
extern List *dp_rights_lock_toast(const List *relids, List **locked);

#endif							/* DP_RIGHTS_H */
