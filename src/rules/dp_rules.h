/*
 * dp_rules.h
 *	  Public interface of the rules folder: what an expression over private
 *	  rows may contain.
 *
 * Functions are named by what they are about: dp_expression_, and dp_total_
 * for total versions of built-in functions.
 *
 * Include postgres.h first.
 */
#ifndef DP_RULES_H
#define DP_RULES_H

#include "nodes/parsenodes.h"

#include "../bridge/dp_bridge.h"

/*
 * Check an expression (or list, or NULL) that will be evaluated on private
 * rows.  Returns NULL when every node is allowed, else the first refusal,
 * pointing at the offending token.  Vars of level 0 with attno > 0 are
 * allowed; Aggrefs, SubLinks, window functions and everything not listed are
 * not.
 */
extern dp_refusal *dp_rules_check(Node *expression);

/*
 * The same of what a level that groups rows by their unit gives: aggregates of
 * unit_aggregate.c are allowed in it.
 */
extern dp_refusal *dp_rules_check_groups(Node *expression);

/* And of what one with windows gives, whose functions are judged besides. */
extern dp_refusal *dp_rules_check_window_targets(Node *expression);

/*
 * Are the windows of a level, its functions and frames, those of
 * unit_window.c?  Whether partitions are of one unit is not looked at.
 */
extern dp_refusal *dp_rules_check_windows(const Query *level);

/* Has a window functions that look at peers, not at single rows? */
extern bool dp_rules_looks_at_peers(const Query *level,
									const WindowClause *window);

/* ---- expression_written.c ---- */
extern bool dp_rules_written_number(const Node *node, bool *isnull,
									int64 *value);

/* The name of a window that may leave its rows in any order. */
#define DP_RULES_ANY_ORDER "any order"

/* What an allowed aggregate holds for a group, and may give. */
extern Size dp_rules_aggregate_keeps(const Aggref *aggregate, bool *value);

/* Bytes that a value which a group keeps may have, of an expression. */
extern Size dp_rules_kept_bytes(Node *value, const Query *level);
extern bool dp_rules_is_extreme(const Aggref *aggregate);
extern bool dp_rules_is_between(const Aggref *aggregate);

/*
 * Have the levels of a verified inner Query that group by the unit, or have
 * windows, give what follows from the unit's rows, without an error.  In
 * place; the total versions of everything else are there.
 */
extern void dp_rules_settle_levels(Query *query);

/* What the windows of its levels hold, but for rows. */
extern Size dp_rules_window_memory(const Query *query);

/*
 * Copy of the expression in which every allowed-but-partial built-in
 * (date_trunc, extract, date -> timestamp casts, integer arithmetic ...) is
 * replaced by this extension's total version, which gives NULL where the
 * built-in raises an error.  Walks into sub-Query nodes too.  Precondition:
 * dp_rules_check answered NULL for it.  Raises 55000 when the installed
 * extension lacks a version.
 */
extern Node *dp_rules_make_total(Node *expression);

/* Of a level's set operations: are they nothing but UNION ALL? */
extern bool dp_rules_unites_all(const Node *operation);

/*
 * The last look at a whole inner Query, after rewriting: targets, quals,
 * join quals, security quals, sort and group operators of every level.
 * Aggregates at its top level are not judged (the release made them); their
 * arguments and filters are.  Precondition: dp_rules_make_total was
 * applied; a partial built-in is refused here.
 */
extern dp_refusal *dp_rules_check_query(Query *query);

/* The same of the row security of one level, settled, and nothing else. */
extern dp_refusal *dp_rules_check_policies(Query *level);

/*
 * In place: in the row security of all levels of an inner Query, what follows
 * from settings, user and time alone becomes a constant, as they are now.
 * Errors: what computing it raises, such as 42704 a setting that is not there.
 */
extern void dp_rules_settle_policies(Query *query);

/*
 * A verified inner Query or expression, constants in place of all parameters
 * and of calls that are free of columns: are patterns, fields and time zones
 * that were parameters fit to be used, and is nothing left that was allowed
 * because it would be a constant?
 */
extern dp_refusal *dp_rules_check_settled(Node *query);

/*
 * A verified inner Query, constants in place of all parameters, in which
 * columns of no known length count as NULL where they are longer than 1 MB.
 * *bytes: what its expressions may take for one row; 54000 when too much.
 */
extern Query *dp_rules_limit_memory(Query *query, Size *bytes);

/*
 * Most bytes of a row that such a query gives, where a row by a public name
 * has at most `widest`.
 */
extern Size dp_rules_row_bytes(const Query *query, Size widest);

/* Read now what a call would where a row reaches it: a time zone, dictionaries
 * of initcap; they stay. */
extern void dp_rules_warm(const FuncExpr *call);

/* True when the expression holds no Var, aggregate, sublink or volatile call:
 * a constant, a parameter or a computation over them. */
extern bool dp_rules_is_public_scalar(Node *expression);

#endif							/* DP_RULES_H */
