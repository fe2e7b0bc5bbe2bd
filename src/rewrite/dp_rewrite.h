/*
 * dp_rewrite.h
 *	  Public interface of the rewrite folder: transparent mode, in which plain
 *	  aggregates over protected relations are read as private ones; and what
 *	  tools are shown of statistics that dp_harden() has closed.
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
 * *changed: it may have become another one, since it reads rows that the user
 * may not read.  Where every right is there, nothing changes.
 */
extern dp_refusal *dp_rewrite_query(Query *query, const char *text,
									bool *changed);

/* closed_statistics.c */
extern bool dp_rewrite_may_lack_statistics(void);
extern bool dp_rewrite_close_statistics(Query *query);

#endif							/* DP_REWRITE_H */
