/*
 * dp_distribution.h
 *	  Public interface of factored distributions over discrete columns: a
 *	  graphical model of marginals, fitted to noisy ones, that is never spelled
 *	  out cell by cell.
 *
 * Pure C.  All of it is post-processing of released numbers, so it is in
 * floating point: nothing here meets private data.
 *
 * A table over a set of columns has the columns in ascending order and the
 * places of the last one next to each other, as dp_reading_table has.
 */
#ifndef DP_DISTRIBUTION_H
#define DP_DISTRIBUTION_H

#include "../acct/dp_acct.h"

#define DP_SHAPE_COLUMNS 64

typedef uint64_t dp_columns;	/* a set: bit i is column i */

#define DP_COLUMN(i) ((dp_columns) 1 << (i))

/*
 * What the caller provides.  allocate never returns NULL: it raises an error,
 * as palloc does.  pulse is called every few milliseconds of work and may
 * raise an error, too; the handler frees all memory at once, as a memory
 * context is freed.  pulse may be NULL.
 */
typedef struct dp_host
{
	void	   *(*allocate) (void *state, size_t n);
	void		(*release) (void *state, void *memory);
	void		(*pulse) (void *state);
	void	   *state;
} dp_host;

/* Columns and how many places each has, at least one. */
typedef struct dp_shape
{
	int			columns;
	int64_t		size[DP_SHAPE_COLUMNS];
} dp_shape;

/* ---- tables (distribution.c) ---- */

extern double dp_model_shape_cells(const dp_shape *shape, dp_columns set);
extern void dp_model_table_add(const dp_shape *shape, dp_columns large_set,
							   double *large, dp_columns small_set,
							   const double *small);
extern void dp_model_table_multiply(const dp_shape *shape,
									dp_columns large_set, double *large,
									dp_columns small_set, const double *small);
extern void dp_model_table_sum(const dp_shape *shape, dp_columns large_set,
							   const double *large, dp_columns small_set,
							   double *small);

/* ---- junction trees (distribution.c) ---- */

typedef struct dp_tree_node
{
	dp_columns	set;			/* a maximal clique */
	dp_columns	separator;		/* what it shares with its parent */
	int			parent;			/* lower than its own index; -1: the root */
} dp_tree_node;

typedef struct dp_tree
{
	int			nodes;
	dp_tree_node node[DP_SHAPE_COLUMNS];
} dp_tree;

extern double dp_model_tree_make(const dp_shape *shape, const dp_columns *sets,
								 int nsets, dp_tree *out);
extern int	dp_model_tree_find(const dp_tree *tree, const dp_shape *shape,
							   dp_columns set);

/* ---- distributions (distribution.c, fit.c) ---- */

/* A released marginal; those of one set are merged. */
typedef struct dp_factor
{
	dp_columns	set;
	int64_t		cells;
	int			node;			/* tree node that holds it */
	double		weight;			/* 1 / variance of a cell's noise */
	double	   *value;			/* the noisy counts */
	double	   *potential;		/* logarithms of weights */
	double	   *gradient;
	double	   *marginal;		/* counts that the distribution expects */
} dp_factor;

typedef struct dp_distribution
{
	const dp_host *host;
	dp_shape	shape;
	double		total;			/* estimated number of rows */
	bool		total_known;
	int			nfactors;
	int			room;
	dp_factor  *factor;
	dp_tree		tree;
	double		cells;			/* of all nodes */
	double	   *conditional[DP_SHAPE_COLUMNS];	/* of a node's columns, given
												 * its separator */
	double	   *belief[DP_SHAPE_COLUMNS];	/* probabilities of a node */
	double		step;			/* of the last descent */
} dp_distribution;

extern dp_distribution *dp_model_distribution_make(const dp_host *host,
												   const dp_shape *shape,
												   double total);
extern void dp_model_distribution_free(dp_distribution *d);
extern void dp_model_distribution_measure(dp_distribution *d, dp_columns set,
										  const double *value,
										  double variance);
extern double dp_model_distribution_size(const dp_distribution *d,
										 dp_columns more);
extern void dp_model_distribution_infer(dp_distribution *d);
extern dp_status dp_model_distribution_marginal(const dp_distribution *d,
												dp_columns set, double most,
												double *out);
extern void dp_model_distribution_fit(dp_distribution *d, int iterations,
									  double tolerance, double enough);
/* What the fit minimises; exported for tests. */
extern double dp_model_distribution_loss(const dp_distribution *d);

/* ---- rows (fit.c) ---- */

extern dp_status dp_model_distribution_sample(const dp_distribution *d,
											  dp_source *source, int64_t rows,
											  int32_t *places);
/* Parts of sampling; exported for tests. */
extern dp_status dp_model_sample_uniform(dp_source *source, double *out);
extern dp_status dp_model_sample_share(dp_source *source, const double *odds,
									   int64_t n, double mass, int64_t rows,
									   int64_t *counts);

/* ---- steps of multiplicative weights (multiplicative.c) ---- */

extern void dp_model_weights_normalise(double *p, int64_t n);
extern void dp_model_weights_step(double *p, int64_t n, const double *factor,
								  const int32_t *place, double least);

#endif							/* DP_DISTRIBUTION_H */
