/*
 * dp_tables.h
 *	  Public interface of released tables.
 *
 * Include postgres.h first.
 */
#ifndef DP_TABLES_H
#define DP_TABLES_H

extern void dp_tables_init(void);	/* from _PG_init, preloading only */

#endif							/* DP_TABLES_H */
