/*
 * owner.h
 *	  Arguments of the functions that a dataset's owner calls (grant.c).
 */
#ifndef LEDGER_OWNER_H
#define LEDGER_OWNER_H

#include "fmgr.h"

#include "ledger.h"

extern void dp_ledger_check_writable(const char *what);
extern char *dp_ledger_owner_dataset_argument(FunctionCallInfo fcinfo,
											  int argument);
extern dp_fixed dp_ledger_read_delta(Datum value, bool isnull);
extern Datum dp_ledger_owner_decimal(FunctionCallInfo fcinfo, int argument);

#endif							/* LEDGER_OWNER_H */
