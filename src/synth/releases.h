/*
 * releases.h
 *	  Private to the synth room: how records are kept.
 */
#ifndef DP_SYNTH_RELEASES_H
#define DP_SYNTH_RELEASES_H

extern void dp_synth_releases_init(void);

#endif							/* DP_SYNTH_RELEASES_H */
