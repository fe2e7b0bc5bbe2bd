/*
 * split.h
 *	  Private to the block room: splitting one block.
 */
#ifndef DP_BLOCK_SPLIT_H
#define DP_BLOCK_SPLIT_H

#include "dp_block.h"
#include "read_rows.h"

/* A block being split; on the stack of dp_block_split_one. */
typedef struct dp_splitter
{
	Query	   *query;			/* the block; becomes the outer query */
	int			level;			/* depth of the walk below the block */
	dp_rowset	rowset;
	List	   *conditions;		/* of dp_join_condition * */
	List	   *keys;			/* of Node *: grouping expressions */
	List	   *combined;		/* of Node *: conditions on released keys */
	List	   *aggregates;		/* of Aggref *: distinct, level 0 */
	List	   *sizes;			/* of int, one for each, as in dp_value; or
								 * NIL */
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
extern dp_refusal *dp_block_split_one(Query *query, List *cte_stack,
										dp_block **block,
										RangeTblEntry **entry);

/* ---- check_aggregate.c ---- */
extern dp_refusal *dp_block_check_aggregate(dp_splitter *s, Aggref *aggregate,
											dp_value *value);

/* ---- key_joined.c ---- */
extern List *dp_block_key_conjuncts(Query *query);
extern dp_refusal *dp_block_find_key_conditions(const List *conjuncts,
												Node *base, dp_key *key,
												dp_refusal *refusal);
extern dp_refusal *dp_block_classify_joined(const dp_block *block, Node *base,
											const List *conjuncts,
											const List *conditions,
											dp_key *key, Node **values,
											dp_refusal *refusal);
extern List *dp_block_key_conditions(List *bases, const List *conjuncts);
extern List *dp_block_join_keys(const dp_block *block, const List *bases,
								const List *conditions);

/* ---- key.c ---- */
extern Var *dp_block_column_of_extreme(Node *node);
extern dp_refusal *dp_block_classify_image(Query *query, Node *base,
										   dp_key *key, dp_refusal *refusal,
										   Expr **column);
extern dp_refusal *dp_block_classify_undeclared(Node *expression, dp_key *key,
												dp_refusal *refusal);
extern dp_refusal *dp_block_refuse_undeclared(const Aggref *aggregate);
extern Expr *dp_block_no_unit(void);

/* ---- inline_function.c ---- */
extern List *dp_block_inline_functions(Query *query, List **inval_items);

/* ---- error_place.c ---- */
extern Node *dp_block_error_of(const FuncExpr *call);
extern dp_refusal *dp_block_place_errors(Query *query, List **inval_items);

/* ---- split_outer.c ---- */
extern bool dp_block_holds_size(Node *expression);
extern void dp_block_add_sizes(dp_splitter *s, dp_block *block);
extern dp_refusal *dp_block_make_outer(dp_splitter *s, RangeTblEntry **entry);

/* ---- canonical.c ---- */
extern int64 dp_block_fingerprint(const dp_block *block);

#endif							/* DP_BLOCK_SPLIT_H */
