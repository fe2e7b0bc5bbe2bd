/*
 * gathered.h
 *	  Private to the bound folder: rows of several sources as records, and
 *	  those of one unit.  Include postgres.h first.
 */
#ifndef DP_BOUND_GATHERED_H
#define DP_BOUND_GATHERED_H

#include "records.h"

/*
 * A record's group is its source.  Its first word tells how long the unit is,
 * and above that by how many bytes the row's values are longer than they are
 * here.  The unit's bytes follow, of others than integers, and the tuple.
 */
static inline uint64
dp_bound_gather_word(Size unit, Size packed)
{
	return (uint64) packed << DP_BOUND_LENGTH_BITS | unit;
}

static inline Size
dp_bound_gather_unit(const dp_bound_record *record)
{
	return dp_bound_unit_length(record->words[0]);
}

static inline MinimalTuple
dp_bound_gather_tuple(const dp_bound_record *record)
{
	return (MinimalTuple) ((char *) (record->words + 1) +
						   MAXALIGN(dp_bound_gather_unit(record)));
}

/* What a row takes where its values are used. */
static inline Size
dp_bound_gather_size(const dp_bound_layout *layout,
					 const dp_bound_record *record)
{
	return dp_bound_record_size(layout, record) +
		(record->words[0] >> DP_BOUND_LENGTH_BITS);
}

/* ---- gather_unit.c ---- */

/* Rows of one unit: entries, or those of a partition that are of the unit. */
typedef struct dp_unit_rows
{
	const dp_bound_record *unit;
	const dp_bound_entry *entries;	/* by source; NULL: in the partition */
	int64		n;
	int64		at;
	dp_bound_cursor cursor;
} dp_unit_rows;

/* What they come to. */
typedef struct dp_unit_share
{
	int			sources;		/* 1 to so many */
	int64	   *counts;			/* of rows, by source */
	Size	   *bytes;
	int64		most;			/* rows that each source keeps */
	Size		most_bytes;		/* of all rows that are kept */
	Size		kept;			/* bytes of rows, at most */
	Size		joined;			/* bytes of what is made of them, at most */
} dp_unit_share;

extern void dp_bound_unit_weigh(dp_unit_rows *rows,
								const dp_bound_layout *layout,
								const dp_gather_limits *limits,
								dp_unit_share *share);
extern void dp_bound_unit_give(dp_unit_rows *rows,
							   const dp_bound_layout *layout,
							   const dp_unit_share *share, uint64 seed,
							   dp_gather_sink sink, void *context);

#endif							/* DP_BOUND_GATHERED_H */
