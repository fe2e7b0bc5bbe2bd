/*
 * domain.h
 *	  Private to the places room: construction of a group key's public
 *	  values.
 */
#ifndef DP_PLACES_DOMAIN_H
#define DP_PLACES_DOMAIN_H

#include "dp_places.h"

struct dp_domain
{
	int64		size;			/* all values, other and NULL included */
	dp_places	places;			/* dense or listed */
	Datum	   *values;			/* by place; unused when dense */
	dp_axis_finder *finder;		/* flat form; NULL until needed */
	Size		length;			/* of finder */
	dp_domain  *base;			/* of the column by which rows are looked up */
	int32	   *map;			/* by place of `base`; NULL without base */
	const dp_key *undecided;	/* the key of which these are all values; or
								 * NULL */
};

/* Most values, or cells, for which conditions are evaluated. */
#define DP_DECIDED_MAX (1 << 20)

/* ---- domain.c ---- */
extern dp_attribute *dp_places_declaration(const dp_key *key);
extern dp_domain *dp_places_domain_make_any(const dp_key *key);
extern dp_domain *dp_places_domain_empty(Oid type);
extern void dp_places_domain_append(dp_domain *domain, Datum value);
extern void dp_places_domain_fill_dense(dp_domain *domain, int64 first,
										int64 last);
extern void dp_places_domain_end(dp_domain *domain, bool null);

/* ---- condition.c: evaluation of a key's conditions ---- */
typedef struct dp_conditions dp_conditions;

extern dp_conditions *dp_places_conditions_begin(const dp_key *key,
												 const List *conditions);
extern bool dp_places_conditions_hold(dp_conditions *conditions, Datum column,
									  bool column_null, Datum value,
									  bool value_null);
extern Datum dp_places_conditions_image(dp_conditions *conditions,
										Datum column, bool column_null,
										bool *isnull);
extern void dp_places_conditions_end(dp_conditions *conditions);

/* ---- narrow.c: what they leave of an ordered column ---- */

/* The values from `first` to `last`, none when first > last. */
typedef struct dp_value_range
{
	int64		first;
	int64		last;
} dp_value_range;

extern dp_value_range dp_places_declared_interval(const dp_key *key,
											   Oid column_type);
extern int64 dp_places_ordered(Oid type, Datum value);
extern Datum dp_places_ordered_datum(Oid type, int64 value);
extern bool dp_places_is_column(const Node *node);
extern bool dp_places_is_comparison(const Node *condition, Oid column_type);
extern void dp_places_narrow(const dp_key *key, Oid column_type,
							 dp_value_range *interval);

/* ---- decide_time.c: spans of time in which expressions are constant ---- */

/* ---- decide_key.c, decide_list.c, decide_time.c ---- */
extern dp_domain *dp_places_decide_list(const dp_key *key);
extern bool dp_places_mentions(const Node *condition, AttrNumber which);
extern dp_domain *dp_places_decide_time(const dp_key *key);

#endif							/* DP_PLACES_DOMAIN_H */
