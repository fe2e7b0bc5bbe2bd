/*
 * axis.h
 *	  Private to the axis files of the release folder: what an axis is made
 *	  of.
 */
#ifndef DP_RELEASE_AXIS_H
#define DP_RELEASE_AXIS_H

#include "release.h"
#include "tally.h"

typedef enum dp_axis_kind
{
	DP_AXIS_DENSE,
	DP_AXIS_LISTED,
	DP_AXIS_BINS
} dp_axis_kind;

struct dp_axis_finder
{
	int32		kind;
	Oid			type;			/* base type of the column */
	int64		first;			/* DP_AXIS_DENSE only */
	int64		known;
	int64		other;			/* place, or -1 */
	int64		null;			/* place, or -1 */
	char		spec[FLEXIBLE_ARRAY_MEMBER];	/* of tally.h; not dense */
};

struct dp_axis_values
{
	dp_axis_finder *finder;
	Size		size;			/* of the finder */
	Datum	   *values;			/* by place; unused when dense */
	Numeric		lower;			/* DP_AXIS_BINS only; of dates and times */
	Numeric		upper;			/* days or microseconds */
	bool		complete;		/* no value is nowhere, as far as is known */
};

/* ---- domain.c ---- */

/*
 * Public values of a group key in flat form, of so many bytes; it stays with
 * the domain.  0A000 for a type without built-in equality.
 */
extern const dp_axis_finder *dp_domain_finder(dp_domain *domain,
											  Size *length);

/* An axis of a column, by the public values that a key of it would have. */
extern void dp_domain_make_axis(const dp_key *key, dp_axis *axis);

/* ---- axis.c ---- */
pg_noreturn extern void dp_axis_refuse(const dp_axis *axis,
									   const char *detail, const char *hint);
extern dp_axis_finder *dp_axis_make_finder(dp_axis_kind kind, Oid type,
										   const Const *spec, Size *length);
extern void dp_axis_set_finder(dp_axis *axis, dp_axis_kind kind, Oid type,
							   const Const *spec);
extern void dp_axis_set_last_places(dp_axis *axis, int64 known, bool other,
									bool null);
extern void dp_axis_make_listed(dp_axis *axis, Oid type, Datum *values,
								int64 known);
extern void dp_axis_make_dense(dp_axis *axis, Oid type, Datum first);
extern Datum dp_axis_integer_datum(Oid type, int64 value);

/* ---- axis_bins.c ---- */
extern void dp_axis_make_bins(dp_axis *axis, Oid type, Numeric lower,
							  Numeric upper);
extern bool dp_axis_can_have_bins(const dp_axis *axis, Oid relid,
								  AttrNumber attnum);
extern void dp_axis_make_declared_bins(dp_axis *axis, Oid relid,
									   AttrNumber attnum, bool nullable);

#endif							/* DP_RELEASE_AXIS_H */
