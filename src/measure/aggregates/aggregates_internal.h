/*
 * aggregates_internal.h
 *	  Private to the aggregates: measurements, their parameters and cells.
 *
 * A measurement turns exact integers ("cells", additive over rows and over
 * groups) into one noisy value.  It lives through these steps, all on public
 * data but the last two:
 *
 *	  prepare	parameters -> grid, sensitivity, noise or rate, charge, cells
 *	  inner		the exact aggregates that the inner query computes for it
 *	  load		add one inner row's results to a group's cells
 *	  release	cells + noise -> the value
 *
 * Several inner rows may belong to one group, so load adds.  A new measurement
 * needs one file, a kind and its symbol in the catalog's list, a line in
 * registry.c, and SQL.
 *
 * Functions begin with dp_measure_, or dp_cells_: the exact integers of all
 * groups.
 *
 * Include postgres.h first.
 */
#ifndef AGGREGATES_INTERNAL_H
#define AGGREGATES_INTERNAL_H

#include "executor/tuptable.h"
#include "nodes/primnodes.h"
#include "tcop/dest.h"
#include "utils/array.h"
#include "utils/numeric.h"

#include "../../math/numbers/dp_numbers.h"
#include "../../math/noise/dp_noise.h"
#include "../../math/accounting/dp_accounting.h"
#include "../../catalog/dp_catalog.h"
#include "../../query/domains/dp_domains.h"
#include "../exact/dp_exact.h"
#include "../units/dp_units.h"
#include "dp_aggregates.h"

/*
 * Parameters after the argument, as the letters of a form: 'l' and 'u' bounds,
 * 'L' and 'U' those of the second one of a pair, 'f' a fraction, 'n' a number
 * of buckets or of answers, 'c' an array of candidates, 'e' epsilon (always
 * last).
 */
#define DP_PARAMETERS_MAX 5

/* ---- measurement.c: shared steps ---- */
extern dp_attribute *dp_aggregates_find_bounds(dp_measure *measure);
extern void dp_aggregates_set_bounds(dp_measure *measure);
extern void dp_aggregates_coarsen(dp_measure *measure, int64 width);
extern dp_int128 dp_aggregates_width(const dp_measure *measure);
extern dp_uint128 dp_aggregates_product(dp_uint128 a, dp_uint128 b);
extern Datum dp_aggregates_from_granules(const dp_measure *measure,
										 dp_int128 granules, Oid type);
extern List *dp_aggregates_bounded_sum(const dp_measure *measure);
extern Const *dp_aggregates_column_spec(const dp_measure *measure,
										dp_axis_kind kind, int64 n,
										const Const *lookup);
extern List *dp_aggregates_count_column(const dp_measure *measure,
										const Const *spec);
extern void dp_aggregates_load_tally(const dp_measure *measure,
									 const Datum *values, const bool *nulls,
									 dp_cell *cells, MemoryContext keep);

/* ---- sum.c ---- */
extern Datum dp_aggregates_release_mean(const dp_measure *measure,
										dp_int128 rows, dp_int128 sum,
										bool *isnull, double *error);

/* ---- choose_value.c: what a choice by rank needs ---- */
extern void dp_aggregates_set_rank_grid(dp_measure *measure);
extern List *dp_aggregates_count_ranks(const dp_measure *measure);
extern void dp_aggregates_add_rank(const dp_measure *measure,
								   const dp_units_part *part, dp_cell *cells,
								   MemoryContext keep);
extern void dp_aggregates_load_ranks(const dp_measure *measure,
									 const Datum *values, const bool *nulls,
									 dp_cell *cells, MemoryContext keep);

/* ---- choose_value.c: one candidate by integer scores ---- */
extern int64 dp_aggregates_public_values(const dp_measure *measure,
										 Datum **values);
extern void dp_aggregates_set_votes(dp_measure *measure, int rounds);
extern int64 dp_aggregates_select(const dp_measure *measure,
								  const dp_int128 *scores, int64 n);

/* ---- parameters.c ---- */
extern int64 dp_aggregates_number(const dp_measure *measure, int64 least,
								  int64 most, const char *what);

/* ---- additive.c: Laplace and Gaussian noise on integers ---- */
extern void dp_aggregates_set_noise(dp_measure *measure, dp_uint128 l1,
									dp_uint128 l2_squared, bool scalar);
extern void dp_aggregates_set_group_noise(dp_measure *measure, dp_uint128 row,
										  bool positive);
extern dp_uint128 dp_aggregates_unit_rows(const dp_contribution *c);
extern dp_uint128 dp_aggregates_unit_squares(const dp_contribution *c);
extern bool dp_aggregates_read_delta(int quarters, dp_fixed *delta);
extern int64 dp_aggregates_highest_noise(const dp_measure *measure,
										 int noises);
extern dp_int128 dp_aggregates_add_noise(const dp_measure *measure,
										 dp_int128 exact);
extern dp_int128 dp_aggregates_none(const dp_measure *measure, int noises);

/* ---- additive.c: the 95% error beside a value ---- */
extern double dp_aggregates_error_of_sum(const dp_measure *measure);
extern double dp_aggregates_error_of_mean(const dp_measure *measure,
										  dp_int128 above, dp_int128 total,
										  const dp_grid *grid);
extern double dp_aggregates_error_of_variance(const dp_measure *measure,
											  bool sample, dp_int128 row,
											  dp_int128 total);
extern double dp_aggregates_variance_within(bool sample, double share,
											double error);
extern double dp_aggregates_error_of_squares(const dp_measure *measure,
											 dp_int128 total, double share);
extern double dp_aggregates_error_of_root(bool sample, double share,
										  double error);
extern double dp_aggregates_error_of_covariance(const dp_measure *measure,
												dp_int128 total, double share);

/* ---- the measurements ---- */
extern const dp_measure_ops dp_aggregates_conditions;
extern const dp_measure_ops dp_aggregates_count;
extern const dp_measure_ops dp_aggregates_sum;
extern const dp_measure_ops dp_aggregates_mean;
extern const dp_measure_ops dp_aggregates_quantile;
extern const dp_measure_ops dp_aggregates_median;
extern const dp_measure_ops dp_aggregates_min;
extern const dp_measure_ops dp_aggregates_sum_distinct;
extern const dp_measure_ops dp_aggregates_mean_distinct;
extern const dp_measure_ops dp_aggregates_max;
extern const dp_measure_ops dp_aggregates_variance;
extern const dp_measure_ops dp_aggregates_stddev;
extern const dp_measure_ops dp_aggregates_var_pop;
extern const dp_measure_ops dp_aggregates_stddev_pop;
extern const dp_measure_ops dp_aggregates_histogram;
extern const dp_measure_ops dp_aggregates_sizes;
extern const dp_measure_ops dp_aggregates_argmax;
extern const dp_measure_ops dp_aggregates_topk;
extern const dp_measure_ops dp_aggregates_bounds;
extern const dp_measure_ops dp_aggregates_corr;
extern const dp_measure_ops dp_aggregates_covar_pop;
extern const dp_measure_ops dp_aggregates_covar_samp;
extern const dp_measure_ops dp_aggregates_regr_avgx;
extern const dp_measure_ops dp_aggregates_regr_avgy;
extern const dp_measure_ops dp_aggregates_regr_count;
extern const dp_measure_ops dp_aggregates_regr_intercept;
extern const dp_measure_ops dp_aggregates_regr_r2;
extern const dp_measure_ops dp_aggregates_regr_slope;
extern const dp_measure_ops dp_aggregates_regr_sxx;
extern const dp_measure_ops dp_aggregates_regr_sxy;
extern const dp_measure_ops dp_aggregates_regr_syy;

/* ---- a whole block ---- */

/* ---- key_decision.c ---- */
extern void dp_aggregates_adapt(const dp_release_spec *spec, int64 told);
typedef struct dp_key_names dp_key_names;
extern Size dp_aggregates_names_most(const dp_release_spec *spec);
extern dp_key_names *dp_aggregates_names_create(const dp_release_spec *spec);
extern bool dp_aggregates_is_by_threshold(const dp_release_spec *spec,
										  int key);
extern int dp_aggregates_names_number(const dp_key_names *names);
extern Size dp_aggregates_names_write(const dp_key_names *names,
									  const Datum *values, const bool *nulls,
									  char *to);
extern void dp_aggregates_names_read(const dp_key_names *names,
									 const char *from,
									 Datum *values, bool *nulls);

/* ---- parameters.c ---- */
extern dp_rational dp_aggregates_default_price(int share);

/* ---- group_place.c ---- */
extern Expr *dp_aggregates_row_place(const dp_measure *measure, Expr *argument,
									 dp_axis_kind kind, const Const *lookup);
extern Datum dp_aggregates_group_value(const dp_measure *measure, Datum state,
									   int64 group);

/* ---- unit_cells.c ---- */
typedef struct dp_measure_units dp_measure_units;
extern Expr *dp_aggregates_row_granules(const dp_measure *measure,
										Expr *argument);
extern Expr *dp_aggregates_row_case(Expr *condition, Expr *result);
extern void dp_aggregates_add_value(const dp_measure *measure,
									const dp_units_part *part, dp_cell *cells,
									MemoryContext keep);
extern void dp_aggregates_set_bound(dp_measure *measure, dp_units_kind kind);
extern void dp_aggregates_refine(dp_measure *measure, dp_units_kind kind,
								 dp_uint128 most);
extern void dp_aggregates_list_rows(const dp_release_spec *spec, Query *inner,
									Expr *place, List *crossing);
extern Size dp_aggregates_units_memory(const dp_release_spec *spec);
extern dp_measure_units *dp_aggregates_units_make(const dp_release_spec *spec,
												  int helpers);
extern void dp_aggregates_units_add(dp_measure_units *units,
									TupleTableSlot *slot);
extern void dp_aggregates_units_end_part(dp_measure_units *units,
										 dp_cell *cells, int width,
										 MemoryContext keep);
extern void dp_aggregates_units_finish(dp_measure_units *units, dp_cell *cells,
									   int width, MemoryContext keep);
typedef void (*dp_aggregates_released) (void *context, int64 group);
extern void dp_aggregates_units_release(dp_measure_units *units,
										dp_cell *cells,
										int width, dp_aggregates_released told,
										void *context);
extern void dp_aggregates_units_released_keys(const dp_measure_units *units,
											  Datum *values, bool *nulls);

#endif							/* AGGREGATES_INTERNAL_H */
