/*
 * grid_counts.h
 *	  Private to the release folder: how many rows stand at each grid point.
 *
 * dp_pg.grid_counts(x, spec) counts the rows of a group by their granule, at
 * most DP_COUNTS_CELLS of them; saved, its state is a bytea.  Include
 * postgres.h first.
 */
#ifndef DP_RELEASE_GRID_COUNTS_H
#define DP_RELEASE_GRID_COUNTS_H

#include "measure.h"

/* Most points of a grid; the counts of one group take at most 8 bytes each. */
#define DP_COUNTS_CELLS (4 * 1024 * 1024)

typedef struct dp_grid_counts dp_grid_counts;

/* Saved counts added to state, or a new one in `keep` when that is NULL. */
extern dp_grid_counts *dp_counts_merge(dp_grid_counts *state, Datum saved,
									   MemoryContext keep);

/*
 * The points that have rows, in ascending order, and their rows: n of them;
 * *values is NULL when entry i is the point low + i.
 */
extern size_t dp_counts_list(const dp_grid_counts *state, int64 low,
							 int64 **values, uint64 **counts);

extern List *dp_counts_inner(const dp_measure *measure);

#endif							/* DP_RELEASE_GRID_COUNTS_H */
