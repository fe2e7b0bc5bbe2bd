/*
 * tally.h
 *	  Private to the release folder: counting rows by public cells.
 *
 * Two exact aggregates of inner queries share one state, an array of counts:
 * dp_pg.bucket_counts(x, spec) counts by intervals, dp_pg.value_counts(x,
 * spec) by candidates.  A spec is a flat constant that only the release
 * makes; its type's input function refuses.
 *
 * The state is a flat type that is updated in place.  Its size depends on the
 * spec alone and it holds nothing but counts of public cells; counts add, so
 * every plan (parallel, hashed, reordered) ends with the same state.  What a
 * row adds depends on the row alone, and no value can raise an error.
 */
#ifndef DP_RELEASE_TALLY_H
#define DP_RELEASE_TALLY_H

#include "fmgr.h"

#include "measure.h"

typedef struct dp_tally_state
{
	int32		vl_len_;
	int32		n;
	int64		counts[FLEXIBLE_ARRAY_MEMBER];
} dp_tally_state;

/* ---- tally.c ---- */
extern void dp_tally_check_call_site(FunctionCallInfo fcinfo);
extern dp_tally_state *dp_tally_new(int64 n);
extern Const *dp_tally_spec_const(void *spec, Size size);

/* ---- tally_bucket.c ---- */
extern Const *dp_tally_bucket_spec(Oid type, Numeric lower, Numeric upper,
								   int64 n);
extern int64 dp_tally_find_bucket(const void *spec, Datum value);
extern void dp_tally_bucket_limits(const void *spec, int64 bucket,
								   int64 *first, int64 *last);

/* ---- tally_value.c ---- */

extern bool dp_tally_can_read(Oid type);

/*
 * NULL when two of the n values are equal, and then *twice is the place of
 * one of them.
 */
extern Const *dp_tally_value_spec(Oid type, const Datum *values, int64 n,
								  int64 *twice);
extern int64 dp_tally_find_value(const void *spec, Datum value);

/*
 * The state of a transition: checked once per call site, made at the first
 * row of a group.  The executor copies a new state into the aggregate's
 * memory.
 */
static inline dp_tally_state *
dp_tally_state_of(FunctionCallInfo fcinfo, int64 n)
{
	if (unlikely(PG_ARGISNULL(0)))
		return dp_tally_new(n);
	return (dp_tally_state *) PG_GETARG_POINTER(0);
}

#endif							/* DP_RELEASE_TALLY_H */
