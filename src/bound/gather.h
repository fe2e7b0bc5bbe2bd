/*
 * gather.h
 *	  Private to the bound folder: rows of several sources as records, and
 *	  those of one unit.  Include postgres.h first.
 */
#ifndef DP_BOUND_GATHER_H
#define DP_BOUND_GATHER_H

#include "records.h"

/* What follows a record's head: the unit's bytes, then the row's tuple. */
typedef struct dp_gather_head
{
	uint64		unit;			/* bytes */
	uint64		packed;			/* bytes that its values have besides, once
								 * they are fetched and not compressed */
} dp_gather_head;

static inline dp_gather_head *
dp_bound_gather_head(const dp_bound_record *record)
{
	return (dp_gather_head *) (record->words + 1);
}

static inline char *
dp_bound_gather_unit(const dp_bound_record *record)
{
	return (char *) (dp_bound_gather_head(record) + 1);
}

static inline MinimalTuple
dp_bound_gather_tuple(const dp_bound_record *record)
{
	return (MinimalTuple) (dp_bound_gather_unit(record) +
						   MAXALIGN(dp_bound_gather_head(record)->unit));
}

/* What a row takes where its values are used. */
static inline Size
dp_bound_gather_size(const dp_bound_layout *layout,
					 const dp_bound_record *record)
{
	return dp_bound_record_size(layout, record) +
		dp_bound_gather_head(record)->packed;
}

/* Order of units: 0 for the same one. */
static inline int
dp_bound_gather_compare(const dp_bound_record *a, const dp_bound_record *b)
{
	uint64		length = dp_bound_gather_head(a)->unit;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (length != dp_bound_gather_head(b)->unit)
		return length < dp_bound_gather_head(b)->unit ? -1 : 1;
	return memcmp(dp_bound_gather_unit(a), dp_bound_gather_unit(b), length);
}

/* ---- gather_unit.c ---- */

/* Rows of one unit: records, or those of a partition that are of the unit. */
typedef struct dp_unit_rows
{
	const dp_bound_record *unit;
	const dp_bound_record **records;	/* NULL: in the partition */
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

#endif							/* DP_BOUND_GATHER_H */
