/*
 * read_rows.h
 *	  Private to the block room: the rows a block reads.
 */
#ifndef DP_BLOCK_READ_ROWS_H
#define DP_BLOCK_READ_ROWS_H

#include "nodes/pathnodes.h"

#include "dp_block.h"

/* An item of FROM that provides rows, at any level of a block. */
typedef struct dp_leaf
{
	Query	   *level;			/* the level that contains it */
	RangeTblEntry *entry;
	dp_relation *relation;		/* protected; NULL: its rows are public */
	bool		nullable;		/* an outer join may leave out its rows */
	const CommonTableExpr *cte; /* the WITH query whose rows it has, if public,
								 * or NULL */
} dp_leaf;

typedef struct dp_rowset
{
	dp_relation *relation;		/* whose units the rows have */
	bool		many;			/* a unit may have many rows */
	int			grouped;		/* levels that group rows by unit, or have
								 * windows over rows of one unit */
	int			arms;			/* of UNION ALL, also where others are
								 * rewritten to it, at all levels */
	bool		lists;			/* it has lists in texts (list_rows.c) */
	List	   *leaves;			/* of dp_leaf *, protected ones first */
	List	   *hoisted;		/* of Query *: uncorrelated subqueries */
	List	   *expanded;		/* of CommonTableExpr *: copied into levels,
								 * one entry for each copy */
} dp_rowset;

/* Does a level below a block's own group its rows, by unit? */
static inline bool
dp_block_is_grouped(const Query *level)
{
	return level->groupClause != NIL;
}

/*
 * Does the level group or use windows, so that filters must not be pushed
 * below it?
 */
static inline bool
dp_block_is_whole(const Query *level)
{
	return dp_block_is_grouped(level) || level->hasWindowFuncs;
}

/* Is the join a semijoin or antijoin? */
static inline bool
dp_block_only_asks(const JoinExpr *join)
{
	return join->jointype == JOIN_SEMI || join->jointype == JOIN_ANTI;
}

extern dp_refusal *dp_block_rowset_verify(Query *query, List *cte_stack,
										  dp_rowset *rowset);

/* ---- make_level.c ---- */
extern List *dp_block_add_conjuncts(List *conjuncts, Node *condition);
extern Node *dp_block_and(List *conjuncts);
extern bool dp_block_is_equality(const OpExpr *comparison);
extern Node *dp_block_join_items(Node *left, Node *right);
extern void dp_block_name_columns(RangeTblEntry *entry, int n,
								  const char *name);
extern void dp_block_group_by(Query *level, TargetEntry *target);
extern void dp_block_group_by_all(Query *level);
extern void dp_block_add_distinct(Query *query, Node *value);
extern Node *dp_block_of_all(Oid function, Node *condition);

/* ---- united.c ---- */
extern bool dp_block_is_united(const Query *level);
extern List *dp_block_from(const Query *level);
extern void dp_block_group_operation(Query *level);
extern dp_refusal *dp_block_check_arm(const Query *united, const Query *arm);

/* ---- hoist.c ---- */
extern Node *dp_block_rowset_hoist(Node *expression, dp_rowset *rowset);
extern bool dp_block_refers_outside(Node *node, int level);

/* ---- list_rows.c ---- */
extern void dp_block_expand_lists(Query *query, dp_rowset *rowset);
extern dp_refusal *dp_block_check_lists(const Query *query,
										const dp_rowset *rowset);

/* ---- named_groups.c ---- */
extern Node *dp_block_naming_lists(const JoinExpr *join, const Query *query);
extern void dp_block_name_groups(Query *query, List *cte_stack);
extern void dp_block_forget_naming(Query *inner);
extern dp_refusal *dp_block_check_naming(const Query *query,
										 const dp_rowset *rowset,
										 const List *keys,
										 const List *aggregates);

/* ---- with_query.c ---- */
extern dp_refusal *dp_block_expand_with(RangeTblEntry *entry, List *cte_stack,
										const CommonTableExpr **found);
extern bool dp_block_reads_private(Query *query, List *cte_stack);
extern bool dp_block_reads_relation(Query *query, List *cte_stack);
extern dp_refusal *dp_block_note_expanded(dp_rowset *rowset,
										  const CommonTableExpr *cte);
extern dp_refusal *dp_block_expand_with_inside(RangeTblEntry *entry,
											   List *cte_stack,
											   dp_rowset *rowset);
extern dp_refusal *dp_block_check_with(const dp_rowset *rowset);

/* ---- leaf.c ---- */
extern List *dp_block_list_items(const Query *level);
extern dp_leaf *dp_block_leaf_of(const dp_rowset *rowset,
								 const RangeTblEntry *entry);
extern int	dp_block_leaf_number(const RangeTblEntry *entry);
extern dp_leaf *dp_block_leaf(const dp_rowset *rowset, int number);
extern bool dp_block_has_join(const dp_rowset *rowset);
extern bool dp_block_joins_private(const dp_rowset *rowset);
extern Oid	dp_block_relation_of(const dp_rowset *rowset, Node *base,
								 bool *nullable);
extern bool dp_block_is_private(const RangeTblEntry *entry,
								const dp_rowset *rowset);
extern bool dp_block_is_present(const Query *query, Relids items);
extern bool dp_block_is_nullable(const Query *query, int item);
extern Var *dp_block_above_joins(const Query *query, Var *column);
extern dp_refusal *dp_block_check_full(const JoinExpr *join,
									   const Query *query);
extern bool dp_block_full_once(const Query *query);
extern void dp_block_keep_full(Query *inner);

/* ---- exists.c ---- */
extern dp_refusal *dp_block_join_subqueries(Query *query, List *cte_stack,
											List **joins);
/* Verifies the right side of a join, which is nullable, and its condition. */
typedef dp_refusal *(*dp_join_verifier) (Query *query, JoinExpr *join,
										 List *cte_stack, dp_rowset *rowset);

extern dp_refusal *dp_block_mark_subqueries(Query *query, bool top,
											List *cte_stack,
											dp_rowset *rowset,
											dp_join_verifier verify);

/* ---- unit_levels.c ---- */
extern Node *dp_block_bounds_of_groups(Node *base);
extern void dp_block_group_asked(Query *query, dp_rowset *rowset);
extern dp_refusal *dp_block_check_groups(Query *query,
										 const dp_rowset *rowset);
extern void dp_block_number_windows(Query *query, int level);
extern void dp_block_order_by_chance(Query *level);
extern bool dp_block_reads_once(const dp_block *block);

/* ---- join.c ---- */
extern dp_refusal *dp_block_check_join(Query *query,
									   const dp_rowset *rowset);
/* A condition over base columns. */
typedef struct dp_join_condition
{
	Node	   *base;
	Relids		usable;			/* it holds for rows in which one of these
								 * leaves has a row; NULL: for all rows */
	bool		matches;		/* it decides which private rows belong to a
								 * group that a list names, not which groups
								 * there are (named_groups.c) */
} dp_join_condition;

extern List *dp_block_join_conditions(Query *query);
extern bool dp_block_looks_up(const dp_joined *source);
extern void dp_block_find_join_keys(const Query *query,
									const List *conditions,
									const dp_rowset *rowset, dp_block *block);

/* ---- named_rows.c ---- */
extern Query *dp_block_entry_query(Query *level, RangeTblEntry *joined);
extern void dp_block_name_rows(dp_rowset *rowset, dp_block *block);
extern dp_refusal *dp_block_select_rows(dp_block *block);

/* ---- unit.c ---- */
extern const Node *dp_block_uncast(const Node *node);
extern List *dp_block_unit_outputs(Query *query, const dp_rowset *rowset);
extern bool dp_block_names_step(Query *query, const List *numbers,
								const dp_rowset *rowset);
extern bool dp_block_names_unit(Query *query, const Node *expression,
								const dp_rowset *rowset);
extern bool dp_block_equates_units(const Node *condition,
								   const List *conditions, Query *query,
								   const dp_rowset *rowset, Relids *a,
								   Relids *b);
extern dp_refusal *dp_block_check_unit_type(const dp_relation *relation);
extern dp_refusal *dp_block_check_units(const dp_relation *relation,
										const dp_relation *first);
extern TargetEntry *dp_block_group_unit(Query *level,
										const dp_rowset *rowset);
extern Expr *dp_block_rowset_unit(Query *query, const dp_rowset *rowset);
extern void dp_block_add_unit_key(RangeTblEntry *entry,
								  const dp_rowset *rowset);

#endif							/* DP_BLOCK_READ_ROWS_H */
