/*
 * dp_value_spec.h
 *	  Candidates in the flat form for looking up rows (tally.c): the part
 *	  that is done for every row.
 *
 * Include postgres.h first.
 */
#ifndef DP_VALUE_SPEC_H
#define DP_VALUE_SPEC_H

#include "dp_value_bytes.h"

typedef struct dp_value_spec
{
	int32		vl_len_;
	int32		reading;		/* dp_read_way */
	int32		direct;			/* use slots[value - first] */
	int64		n;
	int64		first;
	uint64		nslots;			/* a power of two unless direct */
	int64		longest;		/* length of the longest candidate; texts
								 * only */
	int64		keys;			/* offset of n int64: values, or entries'
								 * offsets */
	int32		slots[FLEXIBLE_ARRAY_MEMBER];
} dp_value_spec;

static inline uint64
dp_places_scatter(uint64 x)
{
	x *= UINT64CONST(0x9E3779B97F4A7C15);
	return x ^ (x >> 32);
}

static inline const int64 *
dp_places_keys(const dp_value_spec *spec)
{
	return (const int64 *) ((const char *) spec + spec->keys);
}

/* A place, or -1; *slot is the last slot examined. */
static inline int64
dp_places_find_integer(const dp_value_spec *spec, int64 x, uint64 *slot)
{
	uint64		mask = spec->nslots - 1;

	if (likely(spec->direct))
	{
		*slot = (uint64) x - (uint64) spec->first;
		return *slot < spec->nslots ? spec->slots[*slot] - 1 : -1;
	}
	*slot = dp_places_scatter((uint64) x);
	for (*slot &= mask;; *slot = (*slot + 1) & mask)
	{
		int64		place = spec->slots[*slot] - 1;

		if (place < 0 || dp_places_keys(spec)[place] == x)
			return place;
	}
}

/* The same for values that are bytes. */
extern int64 dp_places_tally_find_bytes(const dp_value_spec *spec,
										Datum value);

/* The place of the candidate that equals a value, or -1. */
static inline int64
dp_places_tally_find_value(const void *candidates, Datum value)
{
	const dp_value_spec *spec = candidates;
	uint64		slot;
	int64		x;

	if (dp_places_read_integer((dp_read_way) spec->reading, value, &x))
		return dp_places_find_integer(spec, x, &slot);
	return dp_places_tally_find_bytes(spec, value);
}

#endif							/* DP_VALUE_SPEC_H */
