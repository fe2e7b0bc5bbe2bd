/*
 * dp_transparent.h
 *	  Public interface of transparent mode, which turns plain aggregates over
 *	  protected relations into private ones; and what tools are shown of
 *	  statistics that dp_harden() has closed.
 *
 * Include postgres.h first.
 */
#ifndef DP_TRANSPARENT_H
#define DP_TRANSPARENT_H

#include "nodes/parsenodes.h"

#include "../../base/dp_base.h"

/*
 * Rewrite an analyzed query in place, before blocks are found in it; `text` is
 * the planner's query text.  Returns a refusal, or NULL. *changed: the query
 * may have changed, because it reads rows that the user has no right to read.
 * If all rights are granted, nothing changes.
 */
extern dp_refusal *dp_transparent_query(Query *query, const char *text,
										bool *changed);

/* ---- closed_statistics.c ---- */
extern bool dp_transparent_may_lack_statistics(void);
extern bool dp_transparent_close_statistics(Query *query);

#endif							/* DP_TRANSPARENT_H */
