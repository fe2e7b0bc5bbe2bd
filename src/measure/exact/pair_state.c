/*
 * pair_state.c
 *	  The inner aggregate behind covariances and regressions.
 *
 * dp_pg.bounded_pairs(x, spec, y, spec) puts both numbers of a row on their
 * public grids, clamped, as granules k and l counted from the lower bounds,
 * and adds up 1, k, l, k^2, l^2 and kl in 128 bits: with bounds at most
 * DP_PAIR_WIDTH apart 2^64 rows fit.  A row with a NULL or a NaN is skipped.
 * If rows are counted by unit (src/measure/units), dp_pg.granule_pair returns
 * both as one number.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"

#include "../../math/noise/dp_noise.h"
#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "dp_exact.h"
#include "dp_to_grid.h"
#include "exact_internal.h"

/* ---- SQL ---- */

/*
 * The two granules of a row, counted from the lower bounds; false if skipped.
 */
static inline bool
read_pair(FunctionCallInfo fcinfo, int place, int64 *k, int64 *l)
{
	const dp_sum_spec *first;
	const dp_sum_spec *second;

	if (PG_ARGISNULL(place) || PG_ARGISNULL(place + 2) ||
		isnan(PG_GETARG_FLOAT8(place)) || isnan(PG_GETARG_FLOAT8(place + 2)))
		return false;
	first = (const dp_sum_spec *) PG_GETARG_POINTER(place + 1);
	second = (const dp_sum_spec *) PG_GETARG_POINTER(place + 3);
	*k = granules_of_float(first, PG_GETARG_FLOAT8(place)) - first->low;
	*l = granules_of_float(second, PG_GETARG_FLOAT8(place + 2)) - second->low;
	return true;
}

static void
check_width(const dp_sum_spec *spec)
{
	if ((uint64) spec->high - (uint64) spec->low > DP_PAIR_WIDTH)
		elog(ERROR, "grid of a pair is too wide");
}

static pg_noinline void
check_call_site(FunctionCallInfo fcinfo)
{
	bool		combines = PG_NARGS() == 2;

	dp_base_check_call_site(fcinfo, !PG_ARGISNULL(0) &&
							(combines ? !PG_ARGISNULL(1) :
							 !PG_ARGISNULL(2) && !PG_ARGISNULL(4)),
							"dp_pg.bounded_pairs", "Use dp_corr.");
	if (combines)
		return;
	check_width((const dp_sum_spec *) PG_GETARG_POINTER(2));
	check_width((const dp_sum_spec *) PG_GETARG_POINTER(4));
}

PG_FUNCTION_INFO_V1(dp_pair_transit);
PG_FUNCTION_INFO_V1(dp_pair_combine);
PG_FUNCTION_INFO_V1(dp_pair_state_in);
PG_FUNCTION_INFO_V1(dp_pair_state_out);
PG_FUNCTION_INFO_V1(dp_granule_pair);

/* dp_pair_transit: transition function (state, x, spec, y, spec) -> state. */
Datum
dp_pair_transit(PG_FUNCTION_ARGS)
{
	int64		k;
	int64		l;

	if (unlikely(fcinfo->flinfo->fn_extra == NULL))
		check_call_site(fcinfo);
	if (read_pair(fcinfo, 1, &k, &l))
		dp_pair_add((dp_pair_sums *) PG_GETARG_POINTER(0), k, l);
	return PG_GETARG_DATUM(0);
}

/* dp_pair_combine: states add; used by parallel and partitionwise plans. */
Datum
dp_pair_combine(PG_FUNCTION_ARGS)
{
	if (unlikely(fcinfo->flinfo->fn_extra == NULL))
		check_call_site(fcinfo);
	dp_pair_merge((dp_pair_sums *) PG_GETARG_POINTER(0),
				  (const dp_pair_sums *) PG_GETARG_POINTER(1));
	return PG_GETARG_DATUM(0);
}

/* dp_pair_state_in: only the empty text, the aggregate's initial state. */
Datum
dp_pair_state_in(PG_FUNCTION_ARGS)
{
	if (PG_GETARG_CSTRING(0)[0] != '\0')
		dp_base_forbid_input("dp_pg.pair_state");
	PG_RETURN_POINTER(palloc0(sizeof(dp_pair_sums)));
}

/* dp_pair_state_out: refuses with 0A000; a state is an exact value. */
Datum
dp_pair_state_out(PG_FUNCTION_ARGS)
{
	dp_base_forbid_output("dp_pg.pair_state");
}

/* dp_granule_pair: (x, spec, y, spec) -> bigint, NULL for a skipped row. */
Datum
dp_granule_pair(PG_FUNCTION_ARGS)
{
	int64		k;
	int64		l;

	if (PG_ARGISNULL(1) || PG_ARGISNULL(3))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("dp_pg.granule_pair can be used only inside private "
						"queries"),
				 errhint("Use dp_corr.")));
	if (!read_pair(fcinfo, 0, &k, &l))
		PG_RETURN_NULL();
	PG_RETURN_INT64(k << DP_PAIR_SHIFT | l);
}

/* ---- for the release ---- */

/* dp_exact_bounded_pairs: dp_pg.bounded_pairs(first, grid, second, grid). */
List *
dp_exact_bounded_pairs(const Aggref *asked, Expr *first, const dp_grid *grid,
					   Expr *second, const dp_grid *second_grid)
{
	Oid			spec = dp_catalog_type("sum_spec");
	Oid			types[4] = {FLOAT8OID, spec, FLOAT8OID, spec};
	List	   *arguments = list_make4(first, dp_exact_sum_spec(grid), second,
									   dp_exact_sum_spec(second_grid));

	return list_make1(dp_exact_native(asked,
									  dp_catalog_function("bounded_pairs", 4,
														  types),
									  dp_catalog_type("pair_state"),
									  arguments));
}

/* dp_exact_row_pair: dp_pg.granule_pair of such an aggregate's arguments. */
Expr *
dp_exact_row_pair(const Aggref *native)
{
	List	   *arguments = NIL;
	Oid			types[4];
	ListCell   *lc;

	Assert(list_length(native->args) == lengthof(types));
	foreach(lc, native->args)
	{
		Expr	   *argument = lfirst_node(TargetEntry, lc)->expr;

		types[foreach_current_index(lc)] = exprType((Node *) argument);
		arguments = lappend(arguments, copyObject(argument));
	}
	return (Expr *) makeFuncExpr(dp_catalog_function("granule_pair", 4, types),
								 INT8OID, arguments, InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CALL);
}

/*
 * dp_exact_read_pairs
 *	  The sums in an inner pair_state; NULL only for a group without rows,
 *	  since the aggregate starts at zero.
 */
dp_pair_sums
dp_exact_read_pairs(const Datum *values, const bool *nulls)
{
	dp_pair_sums none = {0};

	return nulls[0] ? none : *(const dp_pair_sums *)
		DatumGetPointer(values[0]);
}
