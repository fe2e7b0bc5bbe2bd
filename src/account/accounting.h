/*
 * accounting.h
 *	  What the SQL functions of the accounting share: reading and checking
 *	  arguments, building results.  Private to src/account.
 *
 * These functions are for planning.  They read no data and charge nothing, so
 * their errors may show the arguments.  NULL gives NULL, except for the alpha
 * of dp_weights_error.  Arguments that are refused are 22023 with detail and
 * hint.  What each of them returns is said by its COMMENT in
 * sql/70_accounting.sql or sql/74_sparse_error.sql.
 */
#ifndef DP_ACCOUNT_ACCOUNTING_H
#define DP_ACCOUNT_ACCOUNTING_H

#include "fmgr.h"

#include "dp_account.h"

/*
 * An SQL function, or one for numeric and one for double precision: an
 * argument is read by its type.  The body follows the macro.
 */
#define DP_ACCOUNTING(name) \
	PG_FUNCTION_INFO_V1(dp_accounting_##name); \
	Datum \
	dp_accounting_##name(PG_FUNCTION_ARGS)

extern dp_fixed dp_account_number(FunctionCallInfo fcinfo, int i,
								  const char *name,
								  dp_number_range range,
								  dp_rounding rounding);
extern dp_fixed dp_account_failure(FunctionCallInfo fcinfo, int i);
extern int64 dp_account_count(FunctionCallInfo fcinfo, int i,
							  const char *name, int64 least, int64 most);
extern void dp_account_done(dp_status status, const char *what,
							const char *detail, const char *hint);
extern Numeric dp_account_decimal(const dp_decimal *x);
extern Datum dp_account_pair(FunctionCallInfo fcinfo, dp_fixed epsilon,
							 dp_fixed delta);

#define RETURN_FIXED(x) \
	PG_RETURN_NUMERIC(dp_bridge_fixed_to_numeric(x))

#endif							/* DP_ACCOUNT_ACCOUNTING_H */
