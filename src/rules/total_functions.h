/*
 * total_functions.h
 *	  Private to the rules room: common parts of the total versions of
 *	  built-in functions.
 *
 * A total version has the arguments, result and volatility of the built-in,
 * and returns NULL for arguments outside a range in which the built-in is
 * proved to succeed.  Most check the range and then call the built-in, so that
 * within the range results are the same.
 */
#ifndef DP_RULES_TOTAL_FUNCTIONS_H
#define DP_RULES_TOTAL_FUNCTIONS_H

#include "fmgr.h"

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
extern dp_pattern_fault dp_rules_pattern_check(const char *pattern,
											   int length);
extern bool dp_rules_fold_is_safe(Oid collation);

/* ---- total_functions_time.c ---- */
extern bool dp_rules_field_is_known(text *field, Oid type, bool trunc);
extern bool dp_rules_zone_is_known(text *zone);

#endif							/* DP_RULES_TOTAL_FUNCTIONS_H */
