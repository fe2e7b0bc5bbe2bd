/*
 * dp_synth.h
 *	  Public interface of the synth room: released tables.
 *
 * Include postgres.h first.
 */
#ifndef DP_SYNTH_H
#define DP_SYNTH_H

extern void dp_synth_init(void);	/* from _PG_init, preloading only */

#endif							/* DP_SYNTH_H */
