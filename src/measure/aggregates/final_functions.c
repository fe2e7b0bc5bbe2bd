/*
 * final_functions.c
 *	  Bodies of the dp_ aggregates, which are not executed if the planner hook
 *	  has replaced them.
 *
 * To clients and catalogs dp_count and the others are ordinary aggregates.
 * Executed as such they have no state and raise an error, so that a server
 * that did not preload the library returns nothing.  The symbol of the final
 * function identifies the aggregate: see src/catalog/aggregate.c.
 */
#include "postgres.h"

#include "fmgr.h"

#include "../../base/dp_base.h"

PG_FUNCTION_INFO_V1(dp_aggregate_skip);

/* dp_aggregate_skip: transition function of every dp_ aggregate. */
Datum
dp_aggregate_skip(PG_FUNCTION_ARGS)
{
	PG_RETURN_NULL();
}

static void
raise_plain_execution(void)
{
	dp_base_require_preload();
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("private aggregate is not part of a verified query"),
			 errhint("Use it in a SELECT over a protected relation.")));
}

/*
 * dp_aggregate_count, dp_aggregate_sum, ...: final functions, one symbol for
 * each kind (see catalog/aggregate.c); they raise 55000 or 0A000.
 */
#define TRAP(name) \
	PG_FUNCTION_INFO_V1(name); \
	Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		raise_plain_execution(); \
		PG_RETURN_NULL(); \
	}

TRAP(dp_aggregate_count)
TRAP(dp_aggregate_sum)
TRAP(dp_aggregate_avg)
TRAP(dp_aggregate_variance)
TRAP(dp_aggregate_stddev)
TRAP(dp_aggregate_var_pop)
TRAP(dp_aggregate_stddev_pop)
TRAP(dp_aggregate_quantile)
TRAP(dp_aggregate_median)
TRAP(dp_aggregate_min)
TRAP(dp_aggregate_max)
TRAP(dp_aggregate_histogram)
TRAP(dp_aggregate_argmax)
TRAP(dp_aggregate_topk)
TRAP(dp_aggregate_conditions)
TRAP(dp_aggregate_bounds)
TRAP(dp_aggregate_corr)
TRAP(dp_aggregate_covar_pop)
TRAP(dp_aggregate_covar_samp)
TRAP(dp_aggregate_regr_avgx)
TRAP(dp_aggregate_regr_avgy)
TRAP(dp_aggregate_regr_count)
TRAP(dp_aggregate_regr_intercept)
TRAP(dp_aggregate_regr_r2)
TRAP(dp_aggregate_regr_slope)
TRAP(dp_aggregate_regr_sxx)
TRAP(dp_aggregate_regr_sxy)
TRAP(dp_aggregate_regr_syy)

PG_FUNCTION_INFO_V1(dp_error_called);

/*
 * dp_error_called
 *	  SQL: dp_error(value) outside of a private query, where the value has no
 *	  error.
 */
Datum
dp_error_called(PG_FUNCTION_ARGS)
{
	dp_base_require_preload();
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("dp_error needs a private value"),
			 errdetail("Its argument is not a value of a private query in the "
					   "same statement."),
			 errhint("Write it in the query of the aggregate, as in SELECT "
					 "dp_count(*), dp_error(dp_count(*)) FROM ...")));
	PG_RETURN_NULL();
}
