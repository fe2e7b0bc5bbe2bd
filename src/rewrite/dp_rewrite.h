/*
 * dp_rewrite.h
 *	  Public interface of the rewrite folder: transparent mode, in which plain
 *	  aggregates over protected relations are read as private ones.
 *
 * Include postgres.h first.
 */
#ifndef DP_REWRITE_H
#define DP_REWRITE_H

#include "nodes/parsenodes.h"

#include "../protect/dp_protect.h"

/*
 * Rewrite an analysed query in place, before blocks are found in it; `text` is
 * what the planner was given as its text.  Returns a refusal, or NULL;
 * *depends: what it became depends on the user whose query it is.
 */
extern dp_refusal *dp_rewrite_query(Query *query, const char *text,
									bool *depends);

#endif							/* DP_REWRITE_H */
