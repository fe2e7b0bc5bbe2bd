/*
 * catalog.h
 *	  What the files that read and write rows share: statements prepared once
 *	  per process, their arguments, and conversions of columns.
 */
#ifndef LEDGER_CATALOG_H
#define LEDGER_CATALOG_H

#include "executor/spi.h"

#include "ledger.h"

#define DP_STATEMENT_ARGS 24

/* A statement; `plan` is made at first use and kept. */
typedef struct dp_statement
{
	const char *text;
	int			nargs;
	Oid			types[DP_STATEMENT_ARGS];
	SPIPlanPtr	plan;
} dp_statement;

/* Arguments in order; dp_args_start empties them. */
typedef struct dp_args
{
	int			n;
	Datum		value[DP_STATEMENT_ARGS];
	char		null[DP_STATEMENT_ARGS];
} dp_args;

extern void dp_args_start(dp_args *args);
extern void dp_args_add(dp_args *args, Datum value);
extern void dp_args_add_null(dp_args *args);
extern void dp_args_add_fixed(dp_args *args, dp_fixed x);
extern void dp_args_add_limit(dp_args *args, const dp_limit *limit);
extern void dp_args_add_sums(dp_args *args, const dp_spent *spent);
extern uint64 dp_statement_run(dp_statement *statement, const dp_args *args,
							   int expected);
extern Datum dp_column(int row, int column, bool *isnull);
extern dp_fixed dp_column_fixed(int row, int column, bool *isnull);
extern void dp_column_limit(int row, int first, dp_limit *out);
extern void dp_column_sums(int row, int first, dp_spent *out);

#endif							/* LEDGER_CATALOG_H */
