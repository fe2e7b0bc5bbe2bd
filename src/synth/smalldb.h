/*
 * smalldb.h
 *	  Private to the synth folder: SmallDB's pieces.
 */
#ifndef DP_SYNTH_SMALLDB_H
#define DP_SYNTH_SMALLDB_H

#include "../model/dp_smalldb.h"
#include "synth.h"

/* Queries as truth over all cells: holds[query * universe->size + cell]. */
typedef struct dp_synth_queries
{
	const dp_universe *universe;
	int64		n;
	List	   *texts;			/* of char *; NIL for marginals */
	int			ntables;		/* for marginals */
	dp_reading_table *tables;
} dp_synth_queries;

/* What the error of a selection depends on; public. */
typedef struct dp_synth_smalldb_terms
{
	uint64		universe;
	uint64		queries;		/* 0: any number, of a VC dimension */
	uint64		dimension;		/* 0: not given */
	double		n;
	double		epsilon;
	double		beta;
} dp_synth_smalldb_terms;

/* smalldb_error.c */
extern uint64 dp_synth_smalldb_best_size(const dp_synth_smalldb_terms *terms);
extern double dp_synth_smalldb_alpha(uint64 queries, uint64 size);

/* smalldb_queries.c */
extern void dp_synth_queries_read(dp_synth_queries *out,
								  const dp_universe *universe,
								  ArrayType *texts);
extern void dp_synth_queries_marginals(dp_synth_queries *out,
									   const dp_universe *universe, int k);
extern bool *dp_synth_queries_expand(const dp_synth_queries *queries);

/* smalldb_run.c */
extern void dp_synth_smalldb_select(const dp_smalldb_shape *shape,
									const bool *holds, const int64 *counts,
									int64 n, const dp_rational *rate,
									uint32 *cells);

#endif							/* DP_SYNTH_SMALLDB_H */
