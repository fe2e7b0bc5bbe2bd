/*
 * dp_release.h
 *	  Public interface of the release folder: the planner hook and the node
 *	  that charges, runs and adds noise.
 *
 * Include postgres.h first.
 */
#ifndef DP_RELEASE_H
#define DP_RELEASE_H

extern void dp_release_init(void);	/* from _PG_init, preloading only */

#endif							/* DP_RELEASE_H */
