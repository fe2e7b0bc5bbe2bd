/*
 * models_internal.h
 *	  Private to models: the adaptive generator's state, and what the files of
 *	  a mechanism share.
 */
#ifndef MODELS_INTERNAL_H
#define MODELS_INTERNAL_H

#include <stdatomic.h>

#include "../noise/dp_noise.h"
#include "../accounting/dp_accounting.h"
#include "dp_models.h"

/* ---- tables (distribution.c) ---- */
extern void dp_models_table_add(const dp_shape *shape, dp_columns large_set,
								double *large, dp_columns small_set,
								const double *small);
extern void dp_models_table_multiply(const dp_shape *shape,
									 dp_columns large_set, double *large,
									 dp_columns small_set,
									 const double *small);

/* ---- junction trees (distribution.c) ---- */

extern double dp_models_tree_make(const dp_shape *shape,
								  const dp_columns *sets,
								  int nsets, dp_tree *out);
extern int	dp_models_tree_find(const dp_tree *tree, const dp_shape *shape,
								dp_columns set);

/* ---- steps of multiplicative weights (multiplicative.c) ---- */

extern void dp_models_weights_normalise(double *p, int64_t n);

/* ---- what rounding to rows adds (rows_error.c) ---- */

extern void dp_models_generator_summarize(const dp_generator_terms *t,
										  const dp_bound *bound,
										  dp_generator_report *report);

/* ---- private to iterate.c ---- */
typedef struct dp_iterate_median
{
	int32_t    *answers;		/* of each candidate, by query */
	int32_t    *left;			/* candidates that are left */
	int32_t    *values;			/* room for one query's */
	int64_t		n;				/* how many are left */
	int64_t    *median;			/* by query */
} dp_iterate_median;

/* ---- private to smalldb.c ---- */
#define DP_SMALLDB_CHUNKS 4096

/* ---- the adaptive generator (generator.c, generator_state.c, fit.c) ---- */

/* Most cells of an intermediate product for a marginal. */
#define MOST_PRODUCT 0x1p24

/* E|X| of a normal variable over its sigma. */
#define MEAN_NOISE 0.79788456080286535588

/* The probability that each bound from a release is wrong. */
typedef struct dp_odds
{
	double		wanted;			/* a cell of a wanted table */
	double		part;			/* one of another table, or of no columns */
	double		sum;			/* of a wanted table's errors */
} dp_odds;

/* The last release of a table. */
typedef struct dp_evidence
{
	int			table;
	bool		closing;
	double		sigma;
	dp_odds		odds;
	double	   *value;
} dp_evidence;

typedef struct generator
{
	const dp_host *host;
	dp_source  *source;
	const dp_generator_terms *t;
	dp_generator_report *report;
	dp_distribution *d;
	dp_fixed	rho;			/* of the rounds, then of everything */
	dp_fixed	used;
	bool		closing;		/* all wanted tables are released in the end */
	double		choice_score;	/* at most what the last choice scored */
	double		choice_miss;	/* by which it may have missed the best */
	double		choice_sigma;
	double		epsilon;		/* of the schedule; the step has it rounded */
	double		sigma;
	dp_generator_step step;
	int			ncandidates;
	int		   *candidate;		/* indexes of tables */
	dp_int128  *score;			/* private; of the candidates */
	int			chosen;			/* a table */
	int64_t   **expected;		/* of each table, when it was scored last */
	double	   *noisy;			/* the last measurement */
	double	   *scratch;
	int			releases;		/* so far */
	int			nevidence;
	dp_evidence *evidence;		/* one for each table that was measured */
	dp_bound   *bound;
} generator;

extern void dp_models_generator_begin(generator *g, const dp_host *host,
									  dp_source *source,
									  const dp_generator_terms *t,
									  dp_generator_report *report);
extern void dp_models_generator_end(generator *g, dp_distribution **out);
extern void dp_models_generator_independent(const generator *g, dp_columns set,
											double *out);
extern int64_t dp_models_generator_noise_size(double sigma, int64_t cells);
extern double dp_models_generator_noise_bound(double sigma, double cells,
											  double beta);
extern bool dp_models_generator_is_whole(const dp_generator_terms *t,
										 int table);
extern void dp_models_generator_keep(generator *g, int table, bool closing);
extern void dp_models_generator_remember(generator *g);

#endif							/* MODELS_INTERNAL_H */
