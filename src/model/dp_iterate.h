/*
 * dp_iterate.h
 *	  Public interface of the iterative construction: a hypothesis about a
 *	  database that is corrected where a private distinguisher finds it wrong
 *	  (book, section 5.2, Algorithm 8).
 *
 * Pure C.  Queries weigh cells from 0 to `one` granules; their counts are
 * whole rows, each moved by at most 1 by one unit.  What leaves a run is the
 * steps: which query was found, its noisy count, and the guess at that time.
 * The hypothesis is a function of them and of public numbers.
 */
#ifndef DP_ITERATE_H
#define DP_ITERATE_H

#include "dp_distribution.h"

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

/* ---- iterate.c ---- */
extern dp_status dp_model_iterate(const dp_host *host, dp_source *source,
								  const dp_iterate_terms *terms,
								  const int32_t *weights,
								  const int64_t *counts, double *probability,
								  dp_iterate_step *steps, int *taken);
extern void dp_model_iterate_guess(const dp_iterate_terms *terms,
								   const int32_t *weights,
								   const double *probability,
								   int64_t *guesses);
extern dp_status dp_model_iterate_round(const dp_host *host,
										dp_source *source,
										const dp_iterate_terms *terms,
										const int64_t *guesses,
										const int64_t *counts,
										dp_iterate_step *step);

/* ---- iterate.c; private to the two ---- */
typedef struct dp_iterate_median
{
	int32_t    *answers;		/* of each candidate, by query */
	int32_t    *left;			/* candidates that are left */
	int32_t    *values;			/* room for one query's */
	int64_t		n;				/* how many are left */
	int64_t    *median;			/* by query */
} dp_iterate_median;

extern int64_t dp_model_iterate_candidates(int64_t cells, int64_t size);

#endif							/* DP_ITERATE_H */
