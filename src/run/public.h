/*
 * public.h
 *	  What the public_*.c files share: plans from public facts.
 */
#ifndef DP_RUN_PUBLIC_H
#define DP_RUN_PUBLIC_H

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

#include "run.h"

/* named_stores.c */
extern void dp_run_share_rows(PlannerInfo *root, RelOptInfo *rel);
extern bool dp_run_is_shared_path(const Path *path);
extern bool dp_run_is_shared(const Plan *plan);
extern bool dp_run_tell_shared(Plan *plan, bool gathered);

/* Cost of a step that settings turn off, before 18: more than all others. */
#define DP_RUN_OFF 1e80

/* public_join.c */
extern bool dp_run_is_public_name(const char *name,
								  const dp_public_facts *facts);
extern void dp_run_enter_joins(Query *inner);
extern void dp_run_weigh_public_joins(const dp_public_facts *facts);
extern bool dp_run_hashes_joined(const Plan *plan,
								 const dp_public_facts *facts);
extern void dp_run_keep_rows(Plan *plan);

#endif							/* DP_RUN_PUBLIC_H */
