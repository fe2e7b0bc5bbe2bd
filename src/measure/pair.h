/*
 * pair.h
 *	  Private to the measure room: pairs of numbers, how they are measured
 *	  (measure_pair.c) and what follows from that (release_pair.c).
 */
#ifndef DP_MEASURE_PAIR_H
#define DP_MEASURE_PAIR_H

#include "dp_measure.h"

/*
 * The grids of the two arguments: of x, which comes second in the call, and of
 * y.  The grid of an unused argument has one point.
 */
static inline const dp_grid *
pair_grid_x(const dp_measure *measure)
{
	return &measure->second.grid;
}

static inline const dp_grid *
pair_grid_y(const dp_measure *measure)
{
	return &measure->grid;
}

/* Does a measurement of only one argument use y? */
static inline bool
pair_is_of_y(const dp_measure *measure)
{
	return measure->ops->kind == DP_AGG_REGR_AVGY ||
		measure->ops->kind == DP_AGG_REGR_SYY;
}

/* ---- release_pair.c: of dp_measure_ops ---- */
extern Datum dp_measure_release_pair_rows(const dp_measure *measure,
										  const dp_cell *cells, bool *isnull,
										  double *error);
extern Datum dp_measure_release_pair_mean(const dp_measure *measure,
										  const dp_cell *cells, bool *isnull,
										  double *error);
extern Datum dp_measure_release_pair_squares(const dp_measure *measure,
											 const dp_cell *cells,
											 bool *isnull, double *error);
extern Datum dp_measure_release_covariance(const dp_measure *measure,
										   const dp_cell *cells,
										   bool *isnull, double *error);
extern Datum dp_measure_release_corr(const dp_measure *measure,
									 const dp_cell *cells, bool *isnull,
									 double *error);
extern Datum dp_measure_release_line(const dp_measure *measure,
									 const dp_cell *cells, bool *isnull,
									 double *error);

/* ---- measure_variance.c ---- */
extern Datum dp_measure_variance_granules(bool sample, dp_int128 width,
										  dp_int128 middle, dp_int128 squares,
										  dp_int128 total);

#endif							/* DP_MEASURE_PAIR_H */
