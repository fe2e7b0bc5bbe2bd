/*
 * iterate.h
 *	  Private to the synth folder: the iterative construction's two sides.
 */
#ifndef DP_SYNTH_ITERATE_H
#define DP_SYNTH_ITERATE_H

#include "../model/dp_iterate.h"
#include "synth.h"

/*
 * What the process that reads gives back, piece by piece: the steps, then the
 * distribution.  `of.done` of a part says which it is.
 */
#define DP_ITERATED_STEPS 0
#define DP_ITERATED_CELLS 1

typedef struct dp_synth_iterated
{
	dp_synth_piece of;			/* phase 0 */
	int64		n;				/* how many follow */
} dp_synth_iterated;

/* Where they begin in a piece: aligned for both. */
#define DP_ITERATED_DATA(piece) \
	((char *) (piece) + MAXALIGN(sizeof(dp_synth_iterated)))

/* ---- iterate_alpha.c ---- */
extern void dp_synth_iterate_tell_alpha(const dp_iterate_terms *terms,
										double alpha);

/* ---- iterate_run.c ---- */
extern void dp_synth_iterate_init(void);

#endif							/* DP_SYNTH_ITERATE_H */
