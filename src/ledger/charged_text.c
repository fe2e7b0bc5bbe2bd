/*
 * charged_text.c
 *	  What an error says about charges when it comes before one.
 *
 * A statement may hold several private queries.  If one fails before its
 * charge, earlier charges of the statement stand.
 */
#include "postgres.h"

#include "access/xact.h"

#include "ledger.h"

/* The statement that was charged last. */
static TimestampTz charged_statement = 0;

/* dp_ledger_note_charged: the statement was charged. */
void
dp_ledger_note_charged(void)
{
	charged_statement = GetCurrentStatementStartTimestamp();
}

/* dp_ledger_told_uncharged: see dp_ledger.h. */
const char *
dp_ledger_told_uncharged(void)
{
	return charged_statement == GetCurrentStatementStartTimestamp() ?
		"Nothing more was charged; earlier charges of this statement stand." :
		"Nothing was charged.";
}
