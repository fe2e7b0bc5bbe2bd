/*
 * owner.h
 *	  Arguments of the functions that a dataset's owner calls (owner.c).
 */
#ifndef LEDGER_OWNER_H
#define LEDGER_OWNER_H

#include "fmgr.h"

#include "ledger.h"

extern void dp_ledger_check_writable(const char *what);
extern char *dp_ledger_owner_dataset_argument(FunctionCallInfo fcinfo,
											  int argument);
extern dp_fixed dp_ledger_read_epsilon(Datum value, bool isnull,
									   const char *what);
extern dp_fixed dp_ledger_read_delta(Datum value, bool isnull);
extern dp_filter dp_ledger_read_filter(FunctionCallInfo fcinfo, int argument);
extern dp_limit dp_ledger_make_limit(dp_filter filter, dp_fixed epsilon,
									 dp_fixed delta);
extern Datum dp_ledger_owner_decimal(FunctionCallInfo fcinfo, int argument);

#endif							/* LEDGER_OWNER_H */
