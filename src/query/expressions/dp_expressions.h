/*
 * dp_expressions.h
 *	  Public interface of expressions: what expressions over private rows may
 *	  contain.
 *
 * SQL-callable functions are named dp_expression_, and dp_total_ for total
 * versions of built-in functions.
 *
 * Include postgres.h first.
 */
#ifndef DP_EXPRESSIONS_H
#define DP_EXPRESSIONS_H

#include "nodes/parsenodes.h"

#include "../../base/dp_base.h"

/* ---- expression_check.c ---- */

/*
 * Check an expression (or list, or NULL) that will be evaluated on private
 * rows.  Returns NULL if every node is allowed, otherwise the first refusal,
 * pointing at the offending token.  Vars of level 0 with attno > 0 are
 * allowed; Aggrefs, SubLinks, window functions and everything not listed are
 * not.
 */
extern dp_refusal *dp_expressions_check(Node *expression);

/*
 * The same for targets and HAVING of a level that groups rows by their unit,
 * in which the aggregates of unit_aggregate.c are allowed.
 */
extern dp_refusal *dp_expressions_check_groups(Node *expression);

/*
 * The same for a level with windows, whose functions are checked separately.
 */
extern dp_refusal *dp_expressions_check_window_targets(Node *expression);

/* ---- expression_query.c ---- */

/* Whether a level's set operations are only UNION ALL. */
extern bool dp_expressions_unites_all(const Node *operation);

/*
 * The final check of a whole inner Query, after rewriting: targets, quals,
 * join quals, security quals, sort and group operators of every level.
 * Aggregates at the top level are not checked (the release made them); their
 * arguments and filters are.  Precondition: dp_expressions_make_total was
 * applied; partial built-ins are refused here.
 */
extern dp_refusal *dp_expressions_check_query(Query *query);

/*
 * dp_expressions_settle_policies, and what dp_expressions_check_query would
 * refuse of row security.
 */
extern dp_refusal *dp_expressions_check_policies(Query *query);

/* ---- expression_constant.c ---- */

/*
 * Check a verified inner Query or expression after parameters, and calls
 * without columns, have become constants: patterns, fields and time zones must
 * be valid, and nothing may be left that was allowed because it would become a
 * constant.
 */
extern dp_refusal *dp_expressions_check_settled(Node *query);

/* ---- expression_public.c ---- */

extern bool dp_expressions_written_number(const Node *node, bool *isnull,
										  int64 *value);

/* True when the expression holds no Var, aggregate, sublink or volatile call:
 * a constant, a parameter or a computation over them. */
extern bool dp_expressions_is_public_scalar(Node *expression);

/* ---- policy.c ---- */

/*
 * In the row security of all levels of an inner Query, replace what depends
 * only on settings, user and time by its current value.  In place.  Errors:
 * those of computing it, such as 42704 for a missing setting.
 */
extern void dp_expressions_settle_policies(Query *query);

/* ---- expression_total.c ---- */

/*
 * Copy of the expression in which every allowed-but-partial built-in
 * (date_trunc, extract, date -> timestamp casts, integer arithmetic ...) is
 * replaced by this extension's total version, which returns NULL where the
 * built-in raises an error, also in sub-Query nodes.  Precondition:
 * dp_expressions_check returned NULL for it.  Raises 55000 if the installed
 * extension lacks a version.
 */
extern Node *dp_expressions_make_total(Node *expression);

/* Load and cache what a call would load at a row: time zones, dictionaries of
 * initcap. */
extern void dp_expressions_warm(const FuncExpr *call);

/* ---- null_on_error.c ---- */

/*
 * A call of a function or operator by which NULL takes the place of an error,
 * if it is a built-in one of numbers, dates or times that can fail; otherwise
 * the call itself.  Only for released values: private rows take total
 * versions.
 */
extern Node *dp_expressions_null_on_error(Node *call);

/*
 * What the planner would make of a call, if that is of a built-in function or
 * operator in SQL, as log(numeric) is; otherwise the call itself.
 */
extern Node *dp_expressions_inline_builtin(Node *call);

/* ---- unit_aggregate.c ---- */

/*
 * Memory that an allowed aggregate keeps for a group, and what it may return.
 */
extern Size dp_expressions_aggregate_keeps(const Aggref *aggregate,
										   bool *value);
extern bool dp_expressions_is_extreme(const Aggref *aggregate);
extern bool dp_expressions_is_between(const Aggref *aggregate);

/* ---- unit_window.c ---- */

/*
 * Check that the windows of a level, their functions and frames, are allowed
 * by unit_window.c.  That partitions are of one unit is not checked.
 */
extern dp_refusal *dp_expressions_check_windows(const Query *level);

/* Whether a window has functions that depend on peers, not on single rows. */
extern bool dp_expressions_looks_at_peers(const Query *level,
										  const WindowClause *window);

/* The name of a window whose rows may be in any order. */
#define DP_EXPRESSIONS_ANY_ORDER "any order"

/* Memory that the windows of a query's levels keep, without rows. */
extern Size dp_expressions_window_memory(const Query *query);

/* ---- settle_levels.c ---- */

/*
 * Make levels of a verified inner Query that group by the unit or have windows
 * depend on the unit's rows only, and never raise errors.  In place; total
 * versions of everything else are already there.
 */
extern void dp_expressions_settle_levels(Query *query);

/* ---- expression_memory.c ---- */

/* Most bytes of an expression's value that a group keeps. */
extern Size dp_expressions_kept_bytes(Node *value, const Query *level);

/*
 * Make values longer than 1 MB, of columns without a known length, NULL in the
 * expressions of a verified inner Query whose parameters have become
 * constants. *bytes: memory that its expressions may take for one row; 54000
 * if that is too much.
 */
extern Query *dp_expressions_limit_memory(Query *query, Size *bytes);

/*
 * Most bytes of a result row of such a query, if public named rows have at
 * most `widest`.
 */
extern Size dp_expressions_row_bytes(const Query *query, Size widest);

#endif							/* DP_EXPRESSIONS_H */
