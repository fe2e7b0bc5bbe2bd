/*
 * workload_internal.h
 *	  Private to workloads: tables of truth and of weights.
 */
#ifndef WORKLOAD_INTERNAL_H
#define WORKLOAD_INTERNAL_H

#include "dp_workload.h"

/* Ordered so that AND is the least and OR the largest. */
#define DP_TRUTH_FALSE 0
#define DP_TRUTH_UNKNOWN 1
#define DP_TRUTH_TRUE 2

/* One value for each cell of the product of some axes. */
typedef struct dp_truth
{
	int			naxes;
	int		   *axes;			/* ascending */
	int64		size;
	signed char *values;		/* NULL: of a weight, */
	int32	   *weights;		/* in granules; else NULL */
} dp_truth;

/* ---- universe.c ---- */
extern void dp_workload_strides(const dp_universe *universe, int nwhole,
								const int *whole, int npart, const int *part,
								int64 *strides);

#endif							/* WORKLOAD_INTERNAL_H */
