/*
 * smalldb_lanes.h
 *	  Private to SmallDB: vectors of one number per query, of 16 or 32 bits.
 */
#ifndef DP_MODEL_SMALLDB_LANES_H
#define DP_MODEL_SMALLDB_LANES_H

#include "dp_models.h"

/* Lanes come in multiples of this; the kernels rely on it. */
#define SMALLDB_LANES 16

extern void dp_models_smalldb_subtract(bool wide, const void *from,
									   const void *step, unsigned lanes,
									   void *out);
extern void dp_models_smalldb_subtract_times(bool wide, const void *from,
											 const void *step, unsigned times,
											 unsigned lanes, void *out);
extern void dp_models_smalldb_levels_along(bool wide, void *sums,
										   const void *change, unsigned lanes,
										   unsigned count, uint32_t *levels);
extern void dp_models_smalldb_levels(bool wide, const void *sums,
									 const void *steps, unsigned lanes,
									 unsigned count, uint32_t *levels);

static inline size_t
lane_bytes(const dp_smalldb *problem)
{
	return (size_t) problem->lanes * (problem->wide ? 4 : 2);
}

/* The i-th vector of a table. */
static inline void *
lane_row(const dp_smalldb *problem, void *table, uint64_t i)
{
	return (char *) table + i * lane_bytes(problem);
}

/* Multisets of `size` cells out of `cells` kinds. */
static inline uint64_t
ways_of(const dp_smalldb *problem, uint64_t size, uint64_t cells)
{
	return problem->ways[size * (problem->shape.cells + 1) + cells];
}

#endif							/* DP_MODEL_SMALLDB_LANES_H */
