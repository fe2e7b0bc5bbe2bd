/*
 * rowset.h
 *	  Private to the query folder: the rows a block reads.
 */
#ifndef DP_QUERY_ROWSET_H
#define DP_QUERY_ROWSET_H

#include "dp_query.h"

typedef struct dp_rowset
{
	dp_relation *relation;		/* the one protected relation */
	List	   *hoisted;		/* of Query *: uncorrelated subqueries */
} dp_rowset;

extern dp_refusal *dp_rowset_verify(Query *query, List *cte_stack,
									dp_rowset *rowset);
extern Node *dp_rowset_hoist(Node *expression, dp_rowset *rowset);
extern bool dp_query_refers_outside(Node *node, int level);

#endif							/* DP_QUERY_ROWSET_H */
