/*
 * dp_session.h
 *	  Public interface of the session room: interactive mechanisms.
 *
 * Include postgres.h first.
 */
#ifndef DP_SESSION_H
#define DP_SESSION_H

extern void dp_session_init(void);	/* from _PG_init, preloading only */

#endif							/* DP_SESSION_H */
