/*
 * split_internal.h
 *	  Private to split: one block being split.
 *
 * Include postgres.h first.
 */
#ifndef SPLIT_INTERNAL_H
#define SPLIT_INTERNAL_H

#include "access/tupdesc.h"
#include "datatype/timestamp.h"
#include "nodes/parsenodes.h"
#include "nodes/primnodes.h"
#include "utils/array.h"
#include "utils/snapshot.h"

#include "../../base/dp_base.h"
#include "../rowsets/dp_rowsets.h"
#include "dp_split.h"

/* ---- blocks as text (canonical.c) ---- */
typedef enum dp_constants
{
	DP_CONSTANTS_BLANKED,
	DP_CONSTANTS_KEPT
} dp_constants;

extern int64 dp_split_fingerprint(const dp_block *block);

/* ---- canonical.c ---- */

extern PGDLLEXPORT char *dp_split_write_canonical(const dp_block *block,
												  dp_constants constants);

/* ---- predicates given as texts (predicates.c) ---- */

#define DP_PREDICATES_MAX 10000

/* A block being split; on the stack of dp_split_one. */
typedef struct dp_splitter
{
	Query	   *query;			/* the block; becomes the outer query */
	int			level;			/* depth of the walk below the block */
	dp_rowset	rowset;
	List	   *conditions;		/* of dp_join_condition * */
	List	   *keys;			/* of Node *: grouping expressions */
	List	   *others;			/* of Expr *: keys of other sets, as targets
								 * of the inner query */
	List	   *combined;		/* of Node *: conditions on released keys */
	List	   *aggregates;		/* of Aggref *: distinct, level 0 */
	List	   *sizes;			/* of int, one for each, as in dp_value; or
								 * NIL */
	int			units;			/* number, from 1, of the added count of which
								 * each unit adds one, or 0 */
	bool		nullable;		/* counts are NULL where few units have rows */
	List	   *names;			/* of String: release columns */
	List	   *types;
	List	   *typmods;
	List	   *collations;
	Oid			error;			/* the function dp_error */
	bool		errors;			/* aggregates are followed by their errors */
	Bitmapset  *shown;			/* columns of values that are used */
	Bitmapset  *asked;			/* columns of values whose errors are used */
	dp_refusal *refusal;		/* the first one of a walk */
} dp_splitter;

/* ---- split_block.c ---- */
extern dp_refusal *dp_split_one(Query *query, List *cte_stack,
										dp_block **block,
										RangeTblEntry **entry);

/* ---- check_aggregate.c ---- */
extern dp_refusal *dp_split_check_aggregate(dp_splitter *s, Aggref *aggregate,
											dp_value *value);
extern bool dp_split_counts_units(const dp_splitter *s, const dp_block *block,
								  const Aggref *aggregate);

/* ---- error_place.c ---- */
extern Node *dp_split_error_of(const FuncExpr *call);
extern Node *dp_split_kept_count(Node *node);
extern dp_refusal *dp_split_place_errors(Query *query, List **inval_items);

/* ---- outer.c ---- */
extern bool dp_split_holds_size(Node *expression);
extern Node *dp_split_larger_count(Node *count, Node *least);
extern void dp_split_add_sizes(dp_splitter *s, dp_block *block);
extern dp_refusal *dp_split_make_outer(dp_splitter *s, RangeTblEntry **entry);

#endif							/* SPLIT_INTERNAL_H */
