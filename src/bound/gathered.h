/*
 * gathered.h
 *	  Private to the bound room: records of rows of several sources, and the
 *	  rows of one unit.  Include postgres.h first.
 */
#ifndef DP_BOUND_GATHERED_H
#define DP_BOUND_GATHERED_H

#include "records.h"

/*
 * A record's group is its source.  Its first word has the length of the unit
 * and, in its upper bits, by how many bytes the row's values are longer where
 * they are used.  The unit's bytes, unless it is an integer, and the tuple
 * follow.
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

/* Bytes of a row where its values are used. */
static inline Size
dp_bound_gather_size(const dp_bound_layout *layout,
					 const dp_bound_record *record)
{
	return dp_bound_record_size(layout, record) +
		(record->words[0] >> DP_BOUND_LENGTH_BITS);
}

/* ---- gather_unit.c ---- */

/* Rows of one unit: entries, or its records in a partition. */
typedef struct dp_unit_rows
{
	const dp_bound_record *unit;
	const dp_bound_entry *entries;	/* by source; NULL: in the partition */
	int64		n;
	int64		at;
	dp_bound_cursor cursor;
} dp_unit_rows;

/* Their numbers and bytes, and what is kept of them. */
typedef struct dp_unit_share
{
	int			sources;		/* numbered from 1 */
	int64	   *counts;			/* of rows, by source */
	Size	   *bytes;
	int64		most;			/* rows that each source keeps */
	Size		most_bytes;		/* of all rows that are kept */
	Size		kept;			/* most bytes of rows */
	Size		joined;			/* most bytes of the rows made of them */
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
