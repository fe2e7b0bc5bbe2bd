/*
 * charged_text.c
 *	  What an error says of charges that the statement has not made.
 *
 * A statement may ask several private queries, one after the other: where one
 * fails before its charge, those before it stand.
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
		"Nothing more was charged; what the statement asked before stands." :
		"Nothing was charged.";
}
