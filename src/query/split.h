/*
 * split.h
 *	  Private to the query folder: splitting one block.
 */
#ifndef DP_QUERY_SPLIT_H
#define DP_QUERY_SPLIT_H

#include "dp_query.h"
#include "rowset.h"

/* A block being split; on the stack of dp_query_split_block. */
typedef struct dp_splitter
{
	Query	   *query;			/* the block, becomes the outer query */
	int			level;			/* depth of the walk below the block */
	dp_rowset	rowset;
	List	   *keys;			/* of Node *: grouping expressions */
	List	   *aggregates;		/* of Aggref *: distinct, level 0 */
	List	   *names;			/* of String: release columns */
	List	   *types;
	List	   *typmods;
	List	   *collations;
	dp_refusal *refusal;		/* first refusal of a walk */
} dp_splitter;

/* ---- split.c ---- */
extern dp_refusal *dp_query_split_block(Query *query, List *cte_stack,
										dp_block **block,
										RangeTblEntry **entry);

/* ---- part.c ---- */
extern void dp_query_find_part(dp_splitter *s, dp_block *block);

/* ---- generated.c ---- */
extern dp_refusal *dp_query_expand_generated(Query **query);

/* ---- outer.c ---- */
extern Aggref *dp_query_lift_aggregate(Aggref *aggregate, int level);
extern dp_refusal *dp_query_make_outer(dp_splitter *s, RangeTblEntry **entry);

/* ---- fingerprint.c ---- */
extern int64 dp_query_fingerprint(Query *inner);

#endif							/* DP_QUERY_SPLIT_H */
