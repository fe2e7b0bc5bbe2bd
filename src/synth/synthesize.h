/*
 * synthesize.h
 *	  Private to the synth room: dp_synthesize's pieces.
 */
#ifndef DP_SYNTH_SYNTHESIZE_H
#define DP_SYNTH_SYNTHESIZE_H

#include "access/tupdesc.h"

#include "../model/dp_generator.h"
#include "synth.h"

/* Most cells of all tables, of a distribution's tree, of places of rows. */
#define DP_SYNTHESIZE_CELLS (INT64CONST(1) << 23)
#define DP_SYNTHESIZE_TREE (INT64CONST(1) << 19)
#define DP_SYNTHESIZE_PLACES (INT64CONST(1) << 27)
#define DP_SYNTHESIZE_TABLES 16384

/*
 * The engine's columns are the universe's axes, smallest first, which makes
 * its inner loops long.  Tables are the wanted ones and all their parts; the
 * first ones are the single columns.
 */
typedef struct dp_synthesis
{
	dp_universe *universe;
	int			order[DP_UNIVERSE_AXES];	/* axis of an engine's column */
	dp_axis    *axes[DP_UNIVERSE_AXES]; /* in the engine's order */
	dp_generator_terms terms;
	dp_generator_table *tables; /* = terms.table */
	int			nwanted;
	int			marginals;		/* columns of each wanted table; 0: sets */
	List	   *sets;			/* of char *, as given */
	int64		cells;			/* of all tables */
	dp_reading *reading;
	dp_fixed	epsilon_fixed;
	dp_rational epsilon;
	dp_fixed	delta;
	dp_fixed	rho;
	dp_charge	charge;
	bool		weights;		/* method mwem, else aim */
	int			rounds;			/* of mwem */
	int64		n;				/* public number of rows; negative: none */
	int64		rows;			/* to return; negative: as many as there are */
	dp_generator_report report;
	int64		id;				/* of the charge */
} dp_synthesis;

/* synthesize.c */

/*
 * synthesize_run.c.  Rows come some at a time: the place of row i on the
 * engine's column k is places[i * columns + k].
 */
typedef void (*dp_synthesis_rows) (void *context, const int32 *places,
								   int64 n);
extern int64 dp_synth_synthesis_run(dp_synthesis *s, dp_reader_charge pay,
									dp_synthesis_rows put, void *context);
extern void dp_synth_synthesis_init(void);

#endif							/* DP_SYNTH_SYNTHESIZE_H */
