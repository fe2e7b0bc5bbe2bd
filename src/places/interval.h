/*
 * interval.h
 *	  Private to the places room: arithmetic on intervals of numbers.
 *
 * Every function returns an interval that contains all results of the
 * operation on numbers of its arguments.
 */
#ifndef DP_PLACES_INTERVAL_H
#define DP_PLACES_INTERVAL_H

#include "../bridge/dp_numeric.h"
#include "dp_places.h"

/* ---- interval.c ---- */
extern dp_interval dp_places_interval_nothing(void);
extern dp_interval dp_places_interval_everything(void);
extern dp_interval dp_places_interval_point(Numeric x);
extern dp_interval dp_places_interval_between(int64 low, int64 high);
extern bool dp_places_interval_is_bounded(dp_interval a);
extern dp_interval dp_places_interval_hull(dp_interval a, dp_interval b);
extern dp_interval dp_places_interval_meet(dp_interval a, dp_interval b);
extern dp_interval dp_places_interval_add(dp_interval a, dp_interval b);
extern dp_interval dp_places_interval_negate(dp_interval a);
extern dp_interval dp_places_interval_multiply(dp_interval a, dp_interval b);
extern dp_interval dp_places_interval_divide(dp_interval a, dp_interval b);
extern dp_interval dp_places_interval_remainder(dp_interval a, dp_interval b,
												bool integers);
extern dp_interval dp_places_interval_absolute(dp_interval a);
extern dp_interval dp_places_interval_greatest(dp_interval a, dp_interval b,
											   bool both);
extern dp_interval dp_places_interval_map(dp_interval a, PGFunction monotone);
extern dp_interval dp_places_interval_map_to(dp_interval a,
											 PGFunction monotone, int digits);
extern dp_interval dp_places_interval_nearest(dp_interval a);
extern dp_interval dp_places_interval_widen(dp_interval a, int64 by);
extern dp_interval dp_places_interval_clip(dp_interval a, int64 low,
										   int64 high);
extern dp_interval dp_places_interval_float(dp_interval a, bool single);
extern dp_interval dp_places_interval_of_double(double x);
extern dp_interval dp_places_interval_of_constant(const Const *constant);

/* ---- public_parts.c ---- */
extern const Const *dp_places_public_value(Node *node, const dp_known *known);

/* ---- narrow.c ---- */
extern dp_interval dp_places_interval_meet_condition(dp_interval a, Node *node,
													 Node *condition,
													 const dp_known *known);

/* ---- expression_interval.c ---- */

/* How a function maps the intervals of its arguments. */
typedef enum dp_interval_rule
{
	RULE_SAME,					/* as its first argument */
	RULE_ADD,
	RULE_SUBTRACT,
	RULE_MULTIPLY,
	RULE_DIVIDE,
	RULE_REMAINDER,
	RULE_NEGATE,
	RULE_ABSOLUTE,
	RULE_NEAREST,				/* integer */
	RULE_ROUND,					/* to a number of digits */
	RULE_CUT,					/* the same, towards 0 */
	RULE_SCALE,					/* to the scale of a typmod */
	RULE_FLOOR,
	RULE_CEILING,
	RULE_SIGN,
	RULE_ROOT,
	RULE_GREATER,
	RULE_SMALLER,
	RULE_AND,					/* bitwise */
	RULE_NATURAL,				/* not negative, whatever the arguments are */
	RULE_SUM,					/* of many: the sign of its argument */
	RULE_BUCKET,
	RULE_DIGITS,				/* float to numeric: 15 digits */
	RULE_MIDNIGHT,				/* date to timestamp */
	RULE_DAY,					/* timestamp to date */
	RULE_ZONE,					/* timestamp to another zone */
	RULE_EXTRACT
} dp_interval_rule;

#endif							/* DP_PLACES_INTERVAL_H */
