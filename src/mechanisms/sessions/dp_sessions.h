/*
 * dp_sessions.h
 *	  Public interface of sessions: interactive mechanisms.
 *
 * Include postgres.h first.
 */
#ifndef DP_SESSIONS_H
#define DP_SESSIONS_H

extern void dp_sessions_init(void); /* from _PG_init, preloading only */

#endif							/* DP_SESSIONS_H */
