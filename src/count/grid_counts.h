/*
 * grid_counts.h
 *	  Private to the count room: the number of rows at each grid point.
 *
 * dp_pg.grid_counts(x, spec) counts the rows of a group by their granule, at
 * most DP_COUNTS_CELLS of them; saved, its state is a bytea.  Include
 * postgres.h first.
 */
#ifndef DP_COUNT_GRID_COUNTS_H
#define DP_COUNT_GRID_COUNTS_H

#include "dp_count.h"

typedef enum dp_counts_form
{
	DP_COUNTS_HASH,
	DP_COUNTS_DENSE,			/* 32 bits per cell */
	DP_COUNTS_WIDE,				/* 64 */
	DP_COUNTS_LIST,				/* like HASH without gaps, read only */
	DP_COUNTS_SAVED				/* an array that was freed */
} dp_counts_form;

typedef struct dp_counts_entry
{
	uint32		cell;
	uint32		rows;			/* 0: free */
} dp_counts_entry;

struct dp_grid_counts
{
	dp_counts_form form;
	uint32		cells;			/* of the grid */
	uint32		used;			/* entries with rows; HASH and LIST */
	uint32		capacity;		/* a power of two; HASH */
	int			shift;			/* 32 - log2(capacity); HASH */
	dp_counts_entry *entries;	/* HASH and LIST */
	uint32	   *dense;			/* DENSE */
	bool		owned;			/* dense is a chunk of its own */
	uint64	   *wide;			/* WIDE */
};

/* ---- grid_counts.c ---- */
extern dp_grid_counts *dp_count_grid_new(MemoryContext context, uint32 cells);
extern void dp_count_grid_add_rows(dp_grid_counts *state, uint32 cell,
								   uint64 rows);
extern void dp_count_grid_add_all(dp_grid_counts *state,
								  const dp_grid_counts *other);
extern bytea *dp_count_grid_save_state(dp_grid_counts *state);
extern dp_grid_counts *dp_count_grid_load_state(Datum saved);

#endif							/* DP_COUNT_GRID_COUNTS_H */
