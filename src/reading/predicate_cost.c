/*
 * predicate_cost.c
 *	  dp_predicate_cost(relation, predicates): how many of a list are evaluated
 *	  for every row.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/array.h"

#include "reading.h"

PG_FUNCTION_INFO_V1(dp_release_sql_predicate_cost);

/*
 * dp_release_sql_predicate_cost
 *	  dp_predicate_cost(relation, predicates): (predicates, per_row, most).
 *	  See sql/56_conditions.sql.
 */
Datum
dp_release_sql_predicate_cost(PG_FUNCTION_ARGS)
{
	Datum		values[3];
	bool		nulls[3] = {false};
	List	   *texts;

	dp_bridge_require_preload();
	dp_bridge_require_argument(fcinfo, 0, "relation of dp_predicate_cost",
							   "Name the protected relation.");
	dp_bridge_require_argument(fcinfo, 1, "predicates of dp_predicate_cost",
							   "Give an array of SQL conditions.");
	texts = dp_block_predicate_texts(PG_GETARG_ARRAYTYPE_P(1));
	values[0] = Int32GetDatum(list_length(texts));
	values[1] = Int32GetDatum(dp_reading_evaluated(PG_GETARG_OID(0), texts));
	values[2] = Int32GetDatum(dp_setting_max_predicates_per_row);
	return dp_bridge_make_row(fcinfo, values, nulls);
}
