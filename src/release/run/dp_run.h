/*
 * dp_run.h
 *	  Public interface of run: the planner hook and the node that charges, has
 *	  rows read and noise added.
 *
 * Include postgres.h first.
 */
#ifndef DP_RUN_H
#define DP_RUN_H

#include "nodes/params.h"
#include "nodes/plannodes.h"
#include "tcop/dest.h"
#include "utils/queryenvironment.h"

#include "../../ledger/dp_ledger.h"
#include "../../query/rowsets/dp_rowsets.h"
#include "../joined/dp_joined.h"

extern void dp_run_init(void);	/* from _PG_init, preloading only */

/* ---- run.c ---- */

/*
 * The text of a query over a relation that an argument names; the release
 * recognizes it by its address.
 */
extern const char dp_run_named_text[];

extern Query *dp_run_make_ready(const dp_block *block,
								const dp_ledger_standing *standing,
								Query *inner, Const *part, dp_inner *run);
extern dp_block *dp_run_choose_gathering(dp_block *block, Size row,
										 int64 counted,
										 const dp_joined_sizes *joined);

#endif							/* DP_RUN_H */
