/*
 * dp_models.h
 *	  Public interface of models: distributions over many columns, generators
 *	  of synthetic rows, SmallDB's candidates, the iterative construction.
 */
#ifndef DP_MODELS_H
#define DP_MODELS_H

#include <stdatomic.h>

#include "../numbers/dp_numbers.h"
#include "../noise/dp_noise.h"
#include "../accounting/dp_accounting.h"

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

extern double dp_models_shape_cells(const dp_shape *shape, dp_columns set);
extern void dp_models_table_sum(const dp_shape *shape, dp_columns large_set,
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

extern dp_distribution *dp_models_distribution_make(const dp_host *host,
													const dp_shape *shape,
													double total);
extern void dp_models_distribution_free(dp_distribution *d);
extern void dp_models_distribution_measure(dp_distribution *d, dp_columns set,
										   const double *value,
										   double variance);
extern double dp_models_distribution_size(const dp_distribution *d,
										  dp_columns more);
extern void dp_models_distribution_infer(dp_distribution *d);
extern dp_status dp_models_distribution_marginal(const dp_distribution *d,
												 dp_columns set, double most,
												 double *out);
extern void dp_models_distribution_fit(dp_distribution *d, int iterations,
									   double tolerance, double enough);
/* What the fit minimises; exported for tests. */
extern double dp_models_distribution_loss(const dp_distribution *d);

/* ---- rows (fit.c) ---- */

extern dp_status dp_models_distribution_sample(const dp_distribution *d,
											   dp_source *source, int64_t rows,
											   int32_t *places);
/* Parts of sampling; exported for tests. */
extern dp_status dp_models_sample_uniform(dp_source *source, double *out);
extern dp_status dp_models_sample_share(dp_source *source, const double *odds,
										int64_t n, double mass, int64_t rows,
										int64_t *counts);

/* ---- steps of multiplicative weights (multiplicative.c) ---- */
extern void dp_models_weights_step(double *p, int64_t n, const double *factor,
								   const int32_t *place, double least);

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
			dp_models_score_sensitivity(const dp_generator_terms *t);
extern dp_status dp_models_generator_step_make(const dp_generator_terms *t,
											   double epsilon, double sigma,
											   dp_generator_step *out);
extern dp_status dp_models_generator_step_last(const dp_generator_terms *t,
											   dp_fixed left,
											   dp_generator_step *out);

/* ---- the adaptive generator (generator.c); for tests, all but run ---- */

extern void dp_models_generator_score(const dp_generator_terms *t, int table,
									  const int64_t *expected, double sigma,
									  dp_int128 *out);
extern dp_status dp_models_generator_choose(dp_source *source,
											const dp_generator_terms *t,
											const dp_generator_step *step,
											const int *candidate,
											int ncandidates,
											int64_t *const *expected,
											dp_int128 *score, int *chosen);
extern dp_status dp_models_generator_measure(dp_source *source,
											 const dp_host *host,
											 const dp_generator_step *step,
											 const int64_t *counts,
											 int64_t cells, double *out);
extern dp_status dp_models_generator_run(const dp_host *host,
										 dp_source *source,
										 const dp_generator_terms *t,
										 dp_fixed rho, dp_distribution **out,
										 dp_generator_report *report);

/* ---- rows nearer to the expected counts (fit.c) ---- */

extern dp_status dp_models_generator_polish(const dp_distribution *d,
											const dp_generator_terms *t,
											dp_source *source, int64_t rows,
											int32_t *places);

/* ---- what rounding to rows adds (rows_error.c) ---- */
extern void dp_models_generator_rows_error(const dp_distribution *d,
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

extern int	dp_models_mwem_rounds(const dp_generator_terms *t, double epsilon,
								  double total);
extern dp_status dp_models_mwem_run(const dp_host *host, dp_source *source,
									const dp_generator_terms *t,
									const dp_rational *epsilon, int rounds,
									dp_mwem *out, dp_generator_report *report);
extern double dp_models_mwem_theorem_alpha(double universe, double queries,
										   double n, double epsilon,
										   double beta);
/* For tests and after an error; the server frees memory as a whole. */
extern void dp_models_mwem_free(dp_mwem *w);
extern void dp_models_mwem_marginal(const dp_mwem *w, dp_columns set,
									double *out);
extern dp_status dp_models_mwem_sample(const dp_mwem *w, dp_source *source,
									   int64_t rows, int32_t *places);

/* ---- what rounding to rows adds (rows_error.c) ---- */
extern void dp_models_mwem_rows_error(const dp_mwem *w,
									  const dp_generator_terms *t,
									  int64_t rows, const int32_t *places,
									  dp_generator_report *report);

/* ---- the iterative construction (iterate.c) ---- */

#define DP_ITERATE_ROUNDS 400
#define DP_ITERATE_WEIGHTS (INT64_C(1) << 24)	/* queries times cells */
#define DP_ITERATE_CANDIDATES (INT64_C(1) << 16)
#define DP_ITERATE_ANSWERS (INT64_C(1) << 22)	/* candidates times queries */
#define DP_ITERATE_SIZE 1024	/* cells of a candidate */
#define DP_ITERATE_WORK (INT64_C(1) << 28)	/* answers times size */

/* Database update algorithms. */
typedef enum dp_iterate_update
{
	DP_ITERATE_MULTIPLICATIVE,	/* Algorithm 5 */
	DP_ITERATE_MEDIAN,			/* halves a set of candidates */
	DP_ITERATE_OWN				/* the caller's, between runs of one round */
} dp_iterate_update;

/* How a query is chosen, and the noise of its count. */
typedef enum dp_iterate_distinguisher
{
	DP_ITERATE_EXPONENTIAL,		/* discrete Laplace */
	DP_ITERATE_PERMUTE_AND_FLIP,	/* discrete Laplace */
	DP_ITERATE_GAUSSIAN			/* exponential, discrete Gaussian: zCDP */
} dp_iterate_distinguisher;

/* All public. */
typedef struct dp_iterate_terms
{
	dp_iterate_update update;
	dp_iterate_distinguisher distinguisher;
	int64_t		cells;
	int64_t		queries;
	int64_t		one;			/* granules of the weight 1, below 2^21 */
	int64_t		n;				/* rows */
	int			rounds;
	double		near;			/* rows: an answer within it ends the run */
	double		eta;			/* multiplicative: the step; 0: twice how far
								 * the answer is off, as a fraction of n */
	int64_t		size;			/* median: cells of a candidate, */
	int64_t		candidates;		/* and how many there are */
	dp_rational rate;			/* of the choice of a query */
	dp_scale	scale;			/* of its count's noise, or */
	dp_gaussian noise;			/* this, of DP_ITERATE_GAUSSIAN */
} dp_iterate_terms;

/* Released. */
typedef struct dp_iterate_step
{
	int64_t		query;
	int64_t		guess;
	dp_int128	answer;
} dp_iterate_step;

extern dp_status dp_models_iterate(const dp_host *host, dp_source *source,
								   const dp_iterate_terms *terms,
								   const int32_t *weights,
								   const int64_t *counts, double *probability,
								   dp_iterate_step *steps, int *taken);
extern void dp_models_iterate_guess(const dp_iterate_terms *terms,
									const int32_t *weights,
									const double *probability,
									int64_t *guesses);
extern dp_status dp_models_iterate_round(const dp_host *host,
										 dp_source *source,
										 const dp_iterate_terms *terms,
										 const int64_t *guesses,
										 const int64_t *counts,
										 dp_iterate_step *step);

/* ---- iterate.c; private to the two ---- */

extern int64_t dp_models_iterate_candidates(int64_t cells, int64_t size);

/* Limits of one selection; all of them are about public numbers. */
#define DP_SMALLDB_CANDIDATES (UINT64_C(1) << 32)
#define DP_SMALLDB_WORK (UINT64_C(1) << 40) /* candidates times queries */
#define DP_SMALLDB_LEVELS (UINT64_C(1) << 19)	/* size, queries and one */
#define DP_SMALLDB_ONE 128

#define DP_SMALLDB_THREADS DP_THREADS

/* The size of a selection; public. */
typedef struct dp_smalldb_shape
{
	uint64_t	cells;			/* of the universe */
	uint64_t	queries;
	uint64_t	size;			/* m, cells of a candidate */
	uint64_t	one;			/* granules of the weight 1; 1: predicates */
	uint64_t	candidates;		/* UINT64_MAX: that many or more */
} dp_smalldb_shape;

typedef enum dp_smalldb_scan
{
	DP_SMALLDB_HISTOGRAM,		/* count every level */
	DP_SMALLDB_LEVEL			/* count one level, by chunks */
} dp_smalldb_scan;

/*
 * A selection under way.  Fields are private to src/math/models but `done`,
 * `total` and `cancel`.
 */
typedef struct dp_smalldb
{
	dp_smalldb_shape shape;
	int64_t		n;
	unsigned	lanes;			/* queries, rounded up */
	bool		wide;			/* lanes of 32 bits, else of 16 */
	bool		by_counts;		/* how candidates are walked through */
	unsigned	suffix;			/* cells of a suffix, 1 .. size */
	uint64_t	suffixes;
	uint64_t	modulus;		/* K = 2 queries + 1 */
	uint64_t	levels;			/* K m one + 1 */

	/* in the caller's memory */
	int64_t    *values;			/* K + 1 of them, private */
	uint64_t   *ways;			/* multisets by size and cells */
	void	   *start;			/* lanes, for no cell at all; private */
	void	   *steps;			/* lanes for each cell */
	void	   *tails;			/* lanes for each suffix */
	uint64_t   *found;			/* per chunk, second scan */

	dp_smalldb_scan scan;
	uint64_t	level;			/* of the second scan */
	uint64_t	chunks;
	atomic_uint_fast64_t next;	/* chunk to hand out */
	atomic_uint_fast64_t done;	/* candidates, of both scans together */
	atomic_bool cancel;
	uint64_t	total;			/* `done` at the end */
} dp_smalldb;

/* One thread's own memory. */
typedef struct dp_smalldb_worker
{
	dp_smalldb *problem;
	uint32_t   *cells;			/* the current multiset, then its counts */
	void	   *sums;			/* lanes for each prefix */
	uint64_t   *histogram;		/* of problem->levels */
} dp_smalldb_worker;

/* ---- sizes and accuracy (smalldb.c) ---- */
extern dp_status dp_models_smalldb_size(double queries, double alpha,
										uint64_t *size);
extern dp_status dp_models_smalldb_size_for_dimension(uint64_t cells,
													  uint64_t dimension,
													  double alpha,
													  uint64_t *size);
extern double dp_models_smalldb_log_candidates(uint64_t cells, uint64_t size);
extern double dp_models_smalldb_net_error(double log_candidates, double n,
										  double epsilon, double beta);
extern double dp_models_smalldb_size_error(double queries, uint64_t size);
extern double dp_models_smalldb_size_error_for_dimension(uint64_t cells,
														 uint64_t dimension,
														 uint64_t size);
extern double dp_models_smalldb_theorem_alpha(uint64_t cells, double queries,
											  double n, double epsilon,
											  double beta);
extern dp_status dp_models_smalldb_shape_make(uint64_t cells, uint64_t queries,
											  uint64_t size,
											  dp_smalldb_shape *out);

/* ---- the problem (smalldb.c) ---- */
extern size_t dp_models_smalldb_memory(const dp_smalldb_shape *shape);
extern dp_status dp_models_smalldb_make(const dp_smalldb_shape *shape,
										const uint8_t *weights,
										const int64_t *counts, int64_t n,
										void *memory, dp_smalldb *out);
extern size_t dp_models_smalldb_worker_memory(const dp_smalldb *problem);
extern void dp_models_smalldb_worker_make(dp_smalldb *problem, void *memory,
										  dp_smalldb_worker *out);
extern dp_int128 dp_models_smalldb_score(const dp_smalldb *problem,
										 uint64_t level);
extern void dp_models_smalldb_unrank(const dp_smalldb *problem, uint64_t rank,
									 uint32_t *cells);

/* ---- the draw (smalldb.c) ---- */
extern size_t dp_models_smalldb_draw_memory(const dp_smalldb *problem);
extern dp_status dp_models_smalldb_draw(dp_source *source, dp_smalldb *problem,
										const dp_rational *rate,
										dp_smalldb_worker *workers, int count,
										void *memory, uint64_t *level,
										uint64_t *rank);

/* ---- scans (smalldb_scan.c) ---- */
extern bool dp_models_smalldb_step(dp_smalldb_worker *worker);
extern void dp_models_smalldb_begin(dp_smalldb *problem, dp_smalldb_scan scan,
									uint64_t level);
extern uint64_t dp_models_smalldb_candidate(dp_smalldb_worker *worker,
											uint64_t rank);

/* ---- threads (smalldb_scan.c) ---- */
extern void dp_models_smalldb_threads_start(dp_threads *threads,
											dp_smalldb_worker *workers,
											int count);

#endif							/* DP_MODELS_H */
