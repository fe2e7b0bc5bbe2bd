/*
 * rowset.h
 *	  Private to the block folder: the rows a block reads.
 */
#ifndef DP_BLOCK_ROWSET_H
#define DP_BLOCK_ROWSET_H

#include "dp_block.h"

typedef struct dp_rowset
{
	dp_relation *relation;		/* the one protected relation */
	bool		many;			/* a unit may have many rows */
	List	   *hoisted;		/* of Query *: uncorrelated subqueries */
} dp_rowset;

extern dp_refusal *dp_block_rowset_verify(Query *query, List *cte_stack,
										  dp_rowset *rowset);
extern Node *dp_block_rowset_hoist(Node *expression, dp_rowset *rowset);
extern bool dp_block_refers_outside(Node *node, int level);

/* ---- unit_column.c ---- */
extern dp_refusal *dp_block_check_unit_type(const dp_relation *relation);
extern Expr *dp_block_rowset_unit(Query *query, const dp_relation *relation);

#endif							/* DP_BLOCK_ROWSET_H */
