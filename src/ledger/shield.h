/*
 * shield.h
 *	  Owners' procedures while other roles call them: what is hidden from the
 *	  caller (shield.c), and which functions are such procedures
 *	  (shield.c).
 *
 * Include postgres.h first.
 */
#ifndef SHIELD_H
#define SHIELD_H

/* Settings that a shielded function has, whatever its caller has set. */
typedef struct dp_shield_setting
{
	const char *name;
	const char *value;
} dp_shield_setting;

#define DP_SHIELD_SETTINGS 8

/* What the catalog says about a function. */
typedef struct dp_shield_facts
{
	Oid			function;
	bool		definer;		/* SECURITY DEFINER */
	bool		known;			/* to call a building block */
	uint32		kept;			/* bits: shield_settings that its header
								 * sets */
} dp_shield_facts;

/* shield.c */
extern void dp_ledger_shield_init(void);	/* from _PG_init, preloading */

#endif							/* SHIELD_H */
