/*
 * row_granules.c
 *	  dp_pg.granules(x, spec): a row's value on the public grid, as a number of
 *	  granules, for rows that are not added up by the plan but counted by unit
 *	  (src/measure/units).
 *
 * It is clamp(floor(x / granule + 1/2)), NULL for NULL and NaN: what a row
 * adds to dp_pg.bounded_sum.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "utils/date.h"
#include "utils/timestamp.h"

#define VALUE_ARGUMENT 0
#include "transitions.h"

#include "../../catalog/dp_catalog.h"
#include "dp_exact.h"
#include "dp_to_grid.h"
#include "exact_internal.h"

static pg_noinline void
check_call_site(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("dp_pg.granules can be used only inside private "
						"queries"),
				 errhint("Use dp_sum or dp_avg.")));
	fcinfo->flinfo->fn_extra = fcinfo->flinfo;
}

static inline Datum
skip_row(FunctionCallInfo fcinfo)
{
	PG_RETURN_NULL();
}

static inline Datum
count_row(FunctionCallInfo fcinfo, const dp_sum_spec *spec, int64 granules)
{
	PG_RETURN_INT64(granules);
}

/* dp_granules_*: (x, spec) -> bigint. */
DP_NUMBER_TRANSITIONS(dp_granules)
DP_INTEGER_TRANSITION(dp_granules_date, PG_GETARG_DATEADT)
DP_INTEGER_TRANSITION(dp_granules_timestamp, PG_GETARG_TIMESTAMP)

/*
 * dp_exact_row_granules
 *	  dp_pg.granules(argument, grid); the argument has this base type.
 */
Expr *
dp_exact_row_granules(Expr *argument, Oid type, const dp_grid *grid)
{
	Const	   *spec = dp_exact_sum_spec(grid);
	Oid			types[2] = {type, spec->consttype};

	return (Expr *) makeFuncExpr(dp_catalog_function("granules", 2, types),
								 INT8OID,
								 list_make2(copyObject(argument), spec),
								 InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CALL);
}
