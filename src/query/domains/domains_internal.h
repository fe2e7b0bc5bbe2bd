/*
 * domains_internal.h
 *	  Private to domains: construction of a group key's public values, and
 *	  arithmetic on intervals of numbers.
 *
 * Include postgres.h first.
 */
#ifndef DOMAINS_INTERNAL_H
#define DOMAINS_INTERNAL_H

#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "fmgr.h"
#include "nodes/extensible.h"
#include "nodes/pg_list.h"
#include "nodes/primnodes.h"
#include "utils/numeric.h"

#include "../../catalog/dp_catalog.h"
#include "dp_domains.h"

/* ---- declared texts and types (axis.c) ---- */
extern Numeric dp_domains_read_bound(const char *text, Oid type);

/*
 * Scale of numeric(p, s) from its typmod: eleven bits, signed, as in
 * numeric_typmod_scale of numeric.c.
 */
static inline int
dp_domains_typmod_digits(int32 typmod)
{
	return (int) ((((typmod - VARHDRSZ) & 0x7ff) ^ 1024) - 1024);
}

/* ---- axis.c ---- */
extern void dp_domains_axis_make_dense(dp_axis *axis, Oid type, Datum first);

/* ---- from a value to its place and back (key_value.c) ---- */

extern Datum dp_domains_value(const dp_places *places, const Datum *values,
							  int64 place, bool *isnull);

/* For types of dense axes: an integer as a value, and back. */
extern Datum dp_domains_integer_datum(Oid type, int64 value);

/* ---- tally.c ---- */
extern void dp_domains_tally_bucket_limits(const void *spec, int64 bucket,
										   int64 *first, int64 *last);

/*
 * Construction of a group key's public
 * values.
 */

/* Most values, or cells, for which conditions are evaluated. */
#define DP_DECIDED_MAX (1 << 20)

/* ---- domain.c ---- */
extern dp_attribute *dp_domains_declaration(const dp_key *key);
extern dp_domain *dp_domains_make_any(const dp_key *key);
extern dp_domain *dp_domains_empty(Oid type);
extern void dp_domains_append(dp_domain *domain, Datum value);
extern void dp_domains_fill_dense(dp_domain *domain, int64 first,
								  int64 last);
extern void dp_domains_end(dp_domain *domain, bool null);

/* ---- key_condition.c: evaluation of a key's conditions ---- */
typedef struct dp_conditions dp_conditions;

extern dp_conditions *dp_domains_conditions_begin(const dp_key *key,
												  const List *conditions);
extern bool dp_domains_conditions_hold(dp_conditions *conditions, Datum column,
									   bool column_null, Datum value,
									   bool value_null);
extern Datum dp_domains_conditions_image(dp_conditions *conditions,
										 Datum column, bool column_null,
										 bool *isnull);
extern void dp_domains_conditions_end(dp_conditions *conditions);

/* ---- narrow.c: what they leave of an ordered column ---- */

/* The values from `first` to `last`, none when first > last. */
typedef struct dp_value_range
{
	int64		first;
	int64		last;
} dp_value_range;

extern dp_value_range dp_domains_declared_interval(const dp_key *key,
											   Oid column_type);
extern int64 dp_domains_ordered(Oid type, Datum value);
extern Datum dp_domains_ordered_datum(Oid type, int64 value);
extern bool dp_domains_is_column(const Node *node);
extern bool dp_domains_is_comparison(const Node *condition, Oid column_type);
extern void dp_domains_narrow(const dp_key *key, Oid column_type,
							  dp_value_range *interval);
extern double dp_domains_part(const dp_value_range *interval,
							  const dp_value_range *bounds);

/*
 * Arithmetic on intervals of numbers.
 *
 * Every function returns an interval that contains all results of the
 * operation on numbers of its arguments.
 */

/* ---- narrow.c ---- */
extern dp_interval dp_domains_interval_meet_condition(dp_interval a,
													  Node *node,
													  Node *condition,
													  const dp_known *known);

/* ---- decide_key.c, decide_list.c, decide_time.c ---- */
extern dp_domain *dp_domains_decide_list(const dp_key *key);

/* ---- key_condition.c ---- */

extern bool dp_domains_mentions(const Node *condition, AttrNumber which);

/* ---- decide_time.c ---- */

extern dp_domain *dp_domains_decide_time(const dp_key *key);

/* ---- interval.c ---- */
extern dp_interval dp_domains_interval_nothing(void);
extern dp_interval dp_domains_interval_everything(void);
extern dp_interval dp_domains_interval_point(Numeric x);
extern dp_interval dp_domains_interval_between(int64 low, int64 high);
extern bool dp_domains_interval_is_bounded(dp_interval a);
extern dp_interval dp_domains_interval_hull(dp_interval a, dp_interval b);
extern dp_interval dp_domains_interval_meet(dp_interval a, dp_interval b);
extern dp_interval dp_domains_interval_add(dp_interval a, dp_interval b);
extern dp_interval dp_domains_interval_negate(dp_interval a);
extern dp_interval dp_domains_interval_multiply(dp_interval a, dp_interval b);
extern dp_interval dp_domains_interval_divide(dp_interval a, dp_interval b);
extern dp_interval dp_domains_interval_remainder(dp_interval a, dp_interval b,
												 bool integers);
extern dp_interval dp_domains_interval_absolute(dp_interval a);
extern dp_interval dp_domains_interval_greatest(dp_interval a, dp_interval b,
												bool both);
extern dp_interval dp_domains_interval_map(dp_interval a, PGFunction monotone);
extern dp_interval dp_domains_interval_map_to(dp_interval a,
											  PGFunction monotone, int digits);
extern dp_interval dp_domains_interval_nearest(dp_interval a);
extern dp_interval dp_domains_interval_widen(dp_interval a, int64 by);
extern dp_interval dp_domains_interval_clip(dp_interval a, int64 low,
											int64 high);
extern dp_interval dp_domains_interval_float(dp_interval a, bool single);
extern dp_interval dp_domains_interval_of_double(double x);
extern dp_interval dp_domains_interval_of_constant(const Const *constant);

/* ---- public_parts.c ---- */
extern const Const *dp_domains_public_value(Node *node, const dp_known *known);

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

#endif							/* DOMAINS_INTERNAL_H */
