/*
 * shield.h
 *	  Owners' procedures while other roles call them: what is hidden from the
 *	  caller (shield.c), and which functions are such procedures
 *	  (shield_find.c).
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

extern const dp_shield_setting dp_shield_settings[DP_SHIELD_SETTINGS];

/* What the catalog says about a function. */
typedef struct dp_shield_facts
{
	Oid			function;
	bool		definer;		/* SECURITY DEFINER */
	bool		known;			/* to call a building block */
	uint32		kept;			/* bits: dp_shield_settings that its header
								 * sets */
} dp_shield_facts;

/* shield_find.c */
extern dp_shield_facts dp_ledger_shield_find(Oid function);
extern bool dp_ledger_shield_may_ask(Oid role);

/* shield.c */
extern void dp_ledger_shield_init(void);	/* from _PG_init, preloading */

#endif							/* SHIELD_H */
