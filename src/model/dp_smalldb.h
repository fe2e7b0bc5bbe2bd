/*
 * dp_smalldb.h
 *	  Public interface of SmallDB: the exponential mechanism over every
 *	  multiset of `size` cells of a small universe.
 *
 * Pure C: no PostgreSQL header, no allocation, no mutable static state.  The
 * caller provides memory; functions return its size.
 *
 * Design.  A query f weighs cells from 0 to `one` granules, a set of cells by
 * 0 or 1; F_f is the sum over rows, n is public.  A candidate y, a multiset of
 * m cells, has the score
 *
 *		- max over f of | m min(F_f, n one) - n sum over i in y of f(y_i) |
 *
 * whose sensitivity is m times that of F_f (doc/theory.md T65, T128).  All
 * scores are known before the first candidate is scored: per query there are m
 * one + 1 distances.  They are replaced by small numbers in the same order,
 * which are again linear in the number of cells that match (T66), so a
 * candidate is scored by adding and comparing 16-bit numbers, many at a time.
 *
 * Scan 1 counts the candidates of each level of equal score.  The envelope
 * sampler draws a level and a rank in it.  Scan 2 counts that level by chunks
 * of candidates, and the chunk that holds the rank is walked to it.
 *
 * Threads.  Chunks are handed out by an atomic counter; a worker touches its
 * own memory and, read only, the problem's.  So any number of threads may
 * scan, with signals blocked, while the owner looks at `done` and may set
 * `cancel`; a worker sees it after one chunk at most.
 */
#ifndef DP_SMALLDB_H
#define DP_SMALLDB_H

#include <stdatomic.h>

#include "../mech/dp_mech.h"
#include "../mech/dp_threads.h"

/* Limits of one selection; all of them are about public numbers. */
#define DP_SMALLDB_CANDIDATES (UINT64_C(1) << 32)
#define DP_SMALLDB_WORK (UINT64_C(1) << 40) /* candidates times queries */
#define DP_SMALLDB_LEVELS (UINT64_C(1) << 19)	/* size, queries and one */
#define DP_SMALLDB_ONE 128
#define DP_SMALLDB_CHUNKS 4096
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
 * A selection under way.  Fields are private to src/model but `done`, `total`
 * and `cancel`.
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
extern dp_status dp_model_smalldb_size(double queries, double alpha,
									   uint64_t *size);
extern dp_status dp_model_smalldb_size_for_dimension(uint64_t cells,
													 uint64_t dimension,
													 double alpha,
													 uint64_t *size);
extern double dp_model_smalldb_log_candidates(uint64_t cells, uint64_t size);
extern double dp_model_smalldb_net_error(double log_candidates, double n,
										 double epsilon, double beta);
extern double dp_model_smalldb_size_error(double queries, uint64_t size);
extern double dp_model_smalldb_size_error_for_dimension(uint64_t cells,
														uint64_t dimension,
														uint64_t size);
extern double dp_model_smalldb_theorem_alpha(uint64_t cells, double queries,
											 double n, double epsilon,
											 double beta);
extern dp_status dp_model_smalldb_shape_make(uint64_t cells, uint64_t queries,
											 uint64_t size,
											 dp_smalldb_shape *out);

/* ---- the problem (smalldb.c) ---- */
extern size_t dp_model_smalldb_memory(const dp_smalldb_shape *shape);
extern dp_status dp_model_smalldb_make(const dp_smalldb_shape *shape,
									   const uint8_t *weights,
									   const int64_t *counts, int64_t n,
									   void *memory, dp_smalldb *out);
extern size_t dp_model_smalldb_worker_memory(const dp_smalldb *problem);
extern void dp_model_smalldb_worker_make(dp_smalldb *problem, void *memory,
										 dp_smalldb_worker *out);
extern dp_int128 dp_model_smalldb_score(const dp_smalldb *problem,
										uint64_t level);
extern void dp_model_smalldb_unrank(const dp_smalldb *problem, uint64_t rank,
									uint32_t *cells);

/* ---- scans (smalldb_scan.c) ---- */
extern bool dp_model_smalldb_step(dp_smalldb_worker *worker);
extern void dp_model_smalldb_begin(dp_smalldb *problem, dp_smalldb_scan scan,
								   uint64_t level);
extern uint64_t dp_model_smalldb_candidate(dp_smalldb_worker *worker,
										   uint64_t rank);

/* ---- threads (smalldb_scan.c) ---- */
extern void dp_model_smalldb_threads_start(dp_threads *threads,
										   dp_smalldb_worker *workers,
										   int count);

/* ---- the draw (smalldb.c) ---- */
extern size_t dp_model_smalldb_draw_memory(const dp_smalldb *problem);
extern dp_status dp_model_smalldb_draw(dp_source *source, dp_smalldb *problem,
									   const dp_rational *rate,
									   dp_smalldb_worker *workers, int count,
									   void *memory, uint64_t *level,
									   uint64_t *rank);

#endif							/* DP_SMALLDB_H */
