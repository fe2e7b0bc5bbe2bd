/*
 * iterate.h
 *	  Private to the synth room: the iterative construction's two sides.
 */
#ifndef DP_SYNTH_ITERATE_H
#define DP_SYNTH_ITERATE_H

#include "../model/dp_iterate.h"
#include "synth.h"

/*
 * What the process that reads is sent: the weights of the cells by queries,
 * then, for DP_ITERATE_OWN, the guesses.  The bytes of each.
 */
static inline Size
dp_synth_iterate_weights(const dp_iterate_terms *terms)
{
	return MAXALIGN(sizeof(int32) * terms->queries * terms->cells);
}

static inline Size
dp_synth_iterate_guesses(const dp_iterate_terms *terms)
{
	return terms->update == DP_ITERATE_OWN ?
		sizeof(int64) * terms->queries : 0;
}

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

/* The start of either in a piece, aligned for both. */
#define DP_ITERATED_DATA(piece) \
	((char *) (piece) + MAXALIGN(sizeof(dp_synth_iterated)))

/* ---- iterate_run.c ---- */
extern void dp_synth_iterate_init(void);

/* ---- the connection's side (iterate_call.c) ---- */

typedef struct dp_iteration
{
	dp_universe *universe;
	List	   *texts;
	dp_reading *reading;
	int32	   *weights;		/* and the guesses, as they are sent */
	Size		sent;			/* bytes of them */
	dp_iterate_terms terms;
	const char *update;			/* names */
	const char *distinguisher;
	double		alpha;			/* 0: not given */
	dp_rational epsilon;		/* of a charge, and the same */
	dp_fixed	epsilon_fixed;
	dp_fixed	delta;			/* of a charge */
	dp_charge	charge;
	int64		id;				/* of the charge */
	int64		taken;
	dp_iterate_step *steps;
	double	   *probability;
	int64		filled;
	struct dp_own_update *own;	/* DP_ITERATE_OWN only */
} dp_iteration;

/* ---- what that costs (iterate_call.c) ---- */

/* ---- an update algorithm of the caller's own (iterate_call.c) ---- */

typedef struct dp_own_update
{
	FmgrInfo	function;
	char	   *name;			/* qualified */
	int			updates;		/* most of them, charged one by one */
	bool		chosen;			/* by the caller, and not lowered */
	int			round;			/* from 1 */
	dp_fixed	epsilon;		/* of all of them */
	dp_fixed	delta;
	uint64		sensitivity;	/* of counts, as last shown to the caller */
} dp_own_update;

#endif							/* DP_SYNTH_ITERATE_H */
