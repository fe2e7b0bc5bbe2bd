/*
 * rowsets_internal.h
 *	  Private to rowsets: steps of verifying what FROM gives.
 */
#ifndef ROWSETS_INTERNAL_H
#define ROWSETS_INTERNAL_H

#include "nodes/pathnodes.h"

#include "../../base/dp_base.h"
#include "../../protect/dp_protect.h"
#include "dp_rowsets.h"

/*
 * Does the level group or use windows, so that filters must not be pushed
 * below it?
 */
static inline bool
dp_rowsets_is_whole(const Query *level)
{
	return dp_rowsets_is_grouped(level) || level->hasWindowFuncs;
}

/* ---- make_level.c ---- */
extern Node *dp_rowsets_join_items(Node *left, Node *right);
extern void dp_rowsets_group_by(Query *level, TargetEntry *target);
extern Node *dp_rowsets_of_all(Oid function, Node *condition);

/* ---- united.c ---- */
extern bool dp_rowsets_is_united(const Query *level);
extern List *dp_rowsets_from(const Query *level);
extern void dp_rowsets_group_operation(Query *level);
extern dp_refusal *dp_rowsets_check_arm(const Query *united, const Query *arm);

/* ---- list_rows.c ---- */
extern void dp_rowsets_expand_lists(Query *query, dp_rowset *rowset);

/* ---- named_groups.c ---- */
extern void dp_rowsets_name_groups(Query *query, List *cte_stack);

/* ---- with_query.c ---- */
extern dp_refusal *dp_rowsets_expand_with(RangeTblEntry *entry,
										  List *cte_stack,
										  const CommonTableExpr **found);
extern bool dp_rowsets_reads_private(Query *query, List *cte_stack);
extern bool dp_rowsets_reads_relation(Query *query, List *cte_stack);
extern dp_refusal *dp_rowsets_note_expanded(dp_rowset *rowset,
											const CommonTableExpr *cte);
extern dp_refusal *dp_rowsets_expand_with_inside(RangeTblEntry *entry,
												 List *cte_stack,
												 dp_rowset *rowset);
extern dp_refusal *dp_rowsets_check_with(const dp_rowset *rowset);

/* ---- leaf.c ---- */
extern dp_leaf *dp_rowsets_leaf_of(const dp_rowset *rowset,
								   const RangeTblEntry *entry);
extern bool dp_rowsets_joins_private(const dp_rowset *rowset);
extern bool dp_rowsets_is_private(const RangeTblEntry *entry,
								  const dp_rowset *rowset);
extern bool dp_rowsets_is_present(const Query *query, Relids items);
extern bool dp_rowsets_is_nullable(const Query *query, int item);
extern dp_refusal *dp_rowsets_check_full(const JoinExpr *join,
										 const Query *query);
extern bool dp_rowsets_full_once(const Query *query);

/* ---- exists.c ---- */
extern dp_refusal *dp_rowsets_join_subqueries(Query *query, List *cte_stack,
											  List **joins);
/* Verifies the right side of a join, which is nullable, and its condition. */
typedef dp_refusal *(*dp_join_verifier) (Query *query, JoinExpr *join,
										 List *cte_stack, dp_rowset *rowset);

extern dp_refusal *dp_rowsets_mark_subqueries(Query *query, bool top,
											  List *cte_stack,
											  dp_rowset *rowset,
											  dp_join_verifier verify);

/* ---- unit_levels.c ---- */
extern void dp_rowsets_number_windows(Query *query, int level);
extern void dp_rowsets_order_by_chance(Query *level);

/* ---- join.c ---- */
extern bool dp_rowsets_looks_up(const dp_joined *source);

/* ---- unit.c ---- */
extern const Node *dp_rowsets_uncast(const Node *node);
extern List *dp_rowsets_unit_outputs(Query *query, const dp_rowset *rowset);
extern bool dp_rowsets_names_step(Query *query, const List *numbers,
								  const dp_rowset *rowset);
extern bool dp_rowsets_names_unit(Query *query, const Node *expression,
								  const dp_rowset *rowset);
extern bool dp_rowsets_equates_units(const Node *condition,
									 const List *conditions, Query *query,
									 const dp_rowset *rowset, Relids *a,
									 Relids *b);
extern dp_refusal *dp_rowsets_check_units(const dp_relation *relation,
										  const dp_relation *first);
extern TargetEntry *dp_rowsets_group_unit(Query *level,
										  const dp_rowset *rowset);
extern void dp_rowsets_add_unit_key(RangeTblEntry *entry,
									const dp_rowset *rowset);

#endif							/* ROWSETS_INTERNAL_H */
