/*
 * split.h
 *	  Private to the query folder: splitting one block.
 */
#ifndef DP_QUERY_SPLIT_H
#define DP_QUERY_SPLIT_H

#include "dp_query.h"

extern dp_refusal *dp_query_split_block(Query *query, List *cte_stack,
										dp_block **block,
										RangeTblEntry **entry);

#endif							/* DP_QUERY_SPLIT_H */
