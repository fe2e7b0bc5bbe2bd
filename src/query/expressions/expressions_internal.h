/*
 * expressions_internal.h
 *	  Private to expressions: the functions that may be called on private rows,
 *	  and total versions of built-in ones.
 */
#ifndef EXPRESSIONS_INTERNAL_H
#define EXPRESSIONS_INTERNAL_H

#include "fmgr.h"
#include "nodes/pg_list.h"

#include "../../base/dp_base.h"

/*
 * Which functions may be called on private
 * rows, and under which conditions.
 *
 * What a new function would read or cache at its first call must be done in
 * dp_expressions_warm (expression_total.c), and the memory that it needs must
 * be counted in expression_memory.c.
 */

/* What must be known before planning for the function to be total. */
typedef enum dp_condition
{
	DP_CONDITION_NONE = 0,
	DP_CONDITION_FIELD,			/* argument 1: constant field name */
	DP_CONDITION_ZONE,			/* argument 1: constant time zone */
	DP_CONDITION_PATTERN,		/* argument 2: constant LIKE pattern */
	DP_CONDITION_PATTERN_FOLD,	/* the same, and case can be folded */
	DP_CONDITION_FOLD,			/* case can be folded */
	DP_CONDITION_ESCAPE,		/* both arguments constant, the escape valid */
	DP_CONDITION_EXPLICIT,		/* argument 3: true (an explicit cast) */
	DP_CONDITION_PRECISION		/* argument 2: constant precision, 0 to 6 */
} dp_condition;

typedef struct dp_expression_rule
{
	Oid			function;		/* a built-in function */
	const char *symbol;			/* of its total version; NULL: total as is */
	dp_condition condition;
} dp_expression_rule;

/* A refused built-in with its own detail or hint. */
typedef struct dp_expression_advice
{
	Oid			function;
	const char *detail;			/* NULL: the common one */
	const char *hint;			/* NULL: the common one */
} dp_expression_advice;

/* ---- allow_list.c ---- */
extern const dp_expression_rule dp_expression_rules[];
extern const int dp_expression_rule_count;
extern const dp_expression_rule *dp_expressions_find(Oid function);
extern bool dp_expressions_is_leakproof(Oid function);
extern bool dp_expressions_is_comparison(Oid function);
extern const dp_expression_advice *dp_expressions_find_advice(Oid function);

/* ---- expression_constant.c ---- */
extern dp_refusal *
dp_expressions_check_condition(const dp_expression_rule *rule, Oid function,
							   List *args, Oid collation, int location,
							   bool settled);
extern bool dp_expressions_is_later(Node *node);
extern dp_refusal *dp_expressions_check_pattern_array(Node *array,
													  int location,
													  bool settled);
extern dp_refusal *dp_expressions_check_collation(Oid collation, int location);

/* ---- policy.c ---- */
typedef dp_refusal *(*dp_expressions_checker) (Node *expression);

extern const char *dp_expressions_policies_text(Query *query);
extern dp_refusal *dp_expressions_check_in_policies(Query *level,
											dp_expressions_checker check,
											dp_expressions_checker check_one);

/* ---- expression_check.c ---- */

/* State of the walk over an expression. */
typedef struct dp_expression_walk
{
	bool		rewritten;		/* total versions are already in place */
	bool		aggregates;		/* Aggrefs are allowed, their inputs checked */
	bool		groups;			/* those of unit_aggregate.c are allowed */
	bool		windows;		/* those of unit_window.c are allowed */
	dp_refusal *refusal;		/* the first one found */
} dp_expression_walk;

extern bool dp_expressions_walker(Node *node, void *context);
extern dp_refusal *dp_expressions_check_function(Oid function, Oid operator,
												 List *args, Oid collation,
												 int location,
												 bool replaceable,
												 bool rewritten);

/* ---- expression_total.c ---- */
extern Oid	dp_expressions_total_oid(const dp_expression_rule *rule);
extern const dp_expression_rule *dp_expressions_find_by_total(Oid function);
extern bool dp_expressions_is_magnitude(Oid function);

/* ---- expression_memory.c ---- */

/* Most memory that expressions may take for one row. */
#define DP_EXPRESSION_MEMORY ((Size) 64 * 1024 * 1024)
#define DP_EXPRESSION_NUMERIC ((Size) 80 * 1024)	/* the longest numeric */
#define DP_EXPRESSION_SHORT ((Size) 64)
#define DP_EXPRESSION_HASHED 9	/* MIN_ARRAY_SIZE_FOR_HASHED_SAOP */

/* ---- unit_aggregate.c ---- */
extern dp_refusal *dp_expressions_check_aggregate(const Aggref *aggregate);
extern bool dp_expressions_is_unit_aggregate(Oid aggregate);
extern dp_refusal *dp_expressions_check_unit_collation(Oid aggregate,
													   Oid collation,
													   int location);
extern Node *dp_expressions_settle_window_aggregate(WindowFunc *function);
extern void dp_expressions_settle_groups(Query *level);

/* ---- unit_window.c ---- */
extern void dp_expressions_settle_windows(Query *level);

/* ---- expression_public.c ---- */
extern Oid	dp_expressions_sortable_value(void);
extern bool dp_expressions_linguistic(Oid collation);
extern bool dp_expressions_collates(Oid function, Oid collation);

/*
 * Common parts of the total versions of
 * built-in functions.
 *
 * A total version has the arguments, result and volatility of the built-in,
 * and returns NULL for arguments outside a range in which the built-in is
 * proved to succeed.  Most check the range and then call the built-in, so that
 * within the range results are the same.
 */

/*
 * Text longer than this gives NULL if the built-in makes wider copies of it:
 * eight bytes for each byte (trim), or four (case folding), so that no copy
 * comes near the limit of one allocation.
 */
#define DP_TOTAL_TEXT_LIMIT (1024 * 1024)

/* Longest text for linguistic comparison (expression_public.c). */
#define DP_TOTAL_COLLATED_LIMIT (16 * 1024)

/* character(n) is padded to n, whatever the value; n is at most this. */
#define DP_TOTAL_CHAR_LIMIT 1000

/* Longest text that is converted to an array. */
#define DP_TOTAL_LIST_LIMIT (128 * 1024)

/*
 * Most wildcards of a LIKE pattern: each open one costs a level of recursion,
 * and the depth depends on the value.
 */
#define DP_TOTAL_WILDCARDS 64

/* Define an SQL-callable function. */
#define DP_TOTAL_FUNCTION(name) \
	PG_FUNCTION_INFO_V1(dp_total_##name); \
	Datum \
	dp_total_##name(PG_FUNCTION_ARGS)

typedef enum dp_pattern_fault
{
	DP_PATTERN_OK = 0,
	DP_PATTERN_ESCAPE,			/* ends in its escape character */
	DP_PATTERN_WILDCARDS		/* too many */
} dp_pattern_fault;

/* ---- total_functions_text.c ---- */
extern dp_pattern_fault dp_expressions_pattern_check(const char *pattern,
													 int length);
extern bool dp_expressions_fold_is_safe(Oid collation);

/* ---- total_functions_time.c ---- */
extern bool dp_expressions_field_is_known(text *field, Oid type, bool trunc);
extern bool dp_expressions_zone_is_known(text *zone);

#endif							/* EXPRESSIONS_INTERNAL_H */
