/*
 * smalldb.h
 *	  Private to the synth room: SmallDB's pieces.
 */
#ifndef DP_SYNTH_SMALLDB_H
#define DP_SYNTH_SMALLDB_H

#include "../model/dp_smalldb.h"
#include "synth.h"

/*
 * Queries over all cells: weights[query * universe->size + cell], in granules;
 * a predicate weighs 0 or `one`.
 */
typedef struct dp_synth_queries
{
	const dp_universe *universe;
	int64		n;
	List	   *texts;			/* of char *; NIL for marginals */
	bool		weighted;		/* one is not a predicate */
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

/* smalldb_release.c */

/*
 * What a selection needs in addition to its source, the weights of all queries
 * in order, one byte for each cell.  All of it is public.
 */
typedef struct dp_synth_selection
{
	dp_smalldb_shape shape;
	dp_rational rate;
	int64		n;				/* 0: to be counted */
	dp_scale	count;			/* noise of that */
	int			workers;		/* threads, the process's own the first */
} dp_synth_selection;

typedef struct dp_synth_selected
{
	dp_synth_piece piece;
	int64		n;
	uint32		cells[FLEXIBLE_ARRAY_MEMBER];	/* shape.size, ascending */
} dp_synth_selected;
extern void dp_synth_smalldb_init(void);

#endif							/* DP_SYNTH_SMALLDB_H */
