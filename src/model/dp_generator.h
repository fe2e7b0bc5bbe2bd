/*
 * dp_generator.h
 *	  Public interface of the generators: mechanisms that read exact marginal
 *	  tables and give a public distribution.
 *
 * Pure C.  Exact counts are compared with integers and released with exact
 * noise only (mech); floating point serves only released and public numbers.
 */
#ifndef DP_GENERATOR_H
#define DP_GENERATOR_H

#include "dp_distribution.h"

/* A marginal table that may be measured. */
typedef struct dp_generator_table
{
	dp_columns	set;
	bool		wanted;			/* its errors matter for their own sake */
	int64_t		weight;			/* how much its errors matter, > 0 */
	const int64_t *counts;		/* private */
} dp_generator_table;

/* Bounds on a wanted table's errors, in rows; INFINITY if there is none. */
typedef struct dp_bound
{
	double		table;			/* all cells together */
	double		cell;			/* a single one */
} dp_bound;

/* Public parameters. */
typedef struct dp_generator_terms
{
	dp_shape	shape;
	int			ntables;		/* the first ones: one column each, in order */
	const dp_generator_table *table;
	uint64_t	sensitivity;	/* of one count */
	bool		replace_one;	/* neighbours exchange a unit */
	int64_t		total;			/* public number of rows; negative: none */
	double		most_cells;		/* of a distribution's tree */
	dp_bound   *bound;			/* room for one of each table, or NULL */
} dp_generator_terms;

/* What a generator reports of its run; public. */
typedef struct dp_generator_report
{
	int			rounds;
	dp_fixed	spent;			/* rho; of the adaptive generator only */
	double		sigma;			/* or scale, of the last measurement */
	double		total;			/* estimated number of rows */

	/* bounds that hold with probability 0.95; NAN: none */
	double		mean_error;		/* || given - exact ||_1 / total, over */
	double		max_error;		/* wanted tables that have a bound */
	double		cell_error;		/* of a cell of them, in rows */
	int			unbounded;		/* wanted tables without one */
} dp_generator_report;

/* ---- budget of the adaptive generator (generator_state.c) ---- */

/* One round: choose a table, measure it. */
typedef struct dp_generator_step
{
	dp_rational epsilon;		/* of the choice */
	dp_rational rate;			/* times score */
	dp_rational variance;		/* of the noise on a count */
	dp_gaussian noise;
	double		sigma;
	dp_fixed	choice_rho;
	dp_fixed	measure_rho;
} dp_generator_step;

extern dp_uint128
			dp_model_score_sensitivity(const dp_generator_terms *t);
extern dp_status dp_model_generator_step_make(const dp_generator_terms *t,
											  double epsilon, double sigma,
											  dp_generator_step *out);
extern dp_status dp_model_generator_step_last(const dp_generator_terms *t,
											  dp_fixed left,
											  dp_generator_step *out);

/* ---- the adaptive generator (generator.c); for tests, all but run ---- */

extern void dp_model_generator_score(const dp_generator_terms *t, int table,
									 const int64_t *expected, double sigma,
									 dp_int128 *out);
extern dp_status dp_model_generator_choose(dp_source *source,
										   const dp_generator_terms *t,
										   const dp_generator_step *step,
										   const int *candidate,
										   int ncandidates,
										   int64_t *const *expected,
										   dp_int128 *score, int *chosen);
extern dp_status dp_model_generator_measure(dp_source *source,
											const dp_host *host,
											const dp_generator_step *step,
											const int64_t *counts,
											int64_t cells, double *out);
extern dp_status dp_model_generator_run(const dp_host *host, dp_source *source,
										const dp_generator_terms *t,
										dp_fixed rho, dp_distribution **out,
										dp_generator_report *report);

/* ---- rows nearer to the expected counts (fit.c) ---- */

extern dp_status dp_model_generator_polish(const dp_distribution *d,
										   const dp_generator_terms *t,
										   dp_source *source, int64_t rows,
										   int32_t *places);

/* ---- what rounding to rows adds (rows_error.c) ---- */

extern void dp_model_generator_summarize(const dp_generator_terms *t,
										 const dp_bound *bound,
										 dp_generator_report *report);
extern void dp_model_generator_rows_error(const dp_distribution *d,
										  const dp_generator_terms *t,
										  int64_t rows, const int32_t *places,
										  dp_generator_report *report);

/* ---- multiplicative weights over all cells (mwem.c) ---- */

typedef struct dp_mwem
{
	const dp_host *host;
	dp_shape	shape;
	int64_t		cells;
	double		total;
	double	   *p;				/* probabilities of the cells */
} dp_mwem;

extern int	dp_model_mwem_rounds(const dp_generator_terms *t, double epsilon,
								 double total);
extern dp_status dp_model_mwem_run(const dp_host *host, dp_source *source,
								   const dp_generator_terms *t,
								   const dp_rational *epsilon, int rounds,
								   dp_mwem *out, dp_generator_report *report);
extern double dp_model_mwem_theorem_alpha(double universe, double queries,
										  double n, double epsilon,
										  double beta);
/* For tests and after an error; the server frees memory as a whole. */
extern void dp_model_mwem_free(dp_mwem *w);
extern void dp_model_mwem_marginal(const dp_mwem *w, dp_columns set,
								   double *out);
extern dp_status dp_model_mwem_sample(const dp_mwem *w, dp_source *source,
									  int64_t rows, int32_t *places);
extern void dp_model_mwem_rows_error(const dp_mwem *w,
									 const dp_generator_terms *t, int64_t rows,
									 const int32_t *places,
									 dp_generator_report *report);

#endif							/* DP_GENERATOR_H */
