/*
 * vc_dimension.c
 *	  dp_vc_dimension: the VC dimension of a list of queries.  Reads public
 *	  values only and charges nothing.
 */
#include "postgres.h"

#include "synth.h"

/* Places of the arguments and of the row. */
enum
{
	ARG_RELATION,
	ARG_COLUMNS,
	ARG_QUERIES,
	ARG_BINS
};

enum
{
	OUT_DIMENSION,
	OUT_EXACT,
	OUT_SHATTERED,
	OUT_UNIVERSE,
	OUT_QUERIES,
	OUT_END
};

/*
 * The universe.  Only roles that may query the relation may see it, so a
 * reading is verified as dp_smalldb's is, but not run.
 */
static dp_universe *
vc_dimension_read_universe(FunctionCallInfo fcinfo)
{
	dp_universe *universe;
	int			first = 0;
	dp_reading_table table = {1, &first};

	dp_bridge_require_argument(fcinfo, ARG_RELATION,
							   "relation of dp_vc_dimension",
							   "Give the name of a table or view.");
	dp_bridge_require_argument(fcinfo, ARG_COLUMNS,
							   "columns of dp_vc_dimension",
							   "Write columns => ARRAY['smoker', 'age'].");
	universe = dp_workload_make_universe(
		PG_GETARG_OID(ARG_RELATION), PG_GETARG_ARRAYTYPE_P(ARG_COLUMNS),
		PG_ARGISNULL(ARG_BINS) ? NULL : PG_GETARG_ARRAYTYPE_P(ARG_BINS),
		PG_INT64_MAX);
	(void) dp_reading_of_tables(universe->relid, universe->naxes,
								universe->axes, 1, &table);
	return universe;
}

PG_FUNCTION_INFO_V1(dp_synth_sql_vc_dimension);

/*
 * dp_synth_sql_vc_dimension
 *	  dp_vc_dimension(relation, columns, queries, bins): see
 *	  sql/84_smalldb.sql.
 *
 * Errors: 22004 a NULL; those of dp_workload_make_universe, of
 * dp_reading_of_tables, of dp_block_predicate_texts and of
 * dp_workload_dimension.
 */
Datum
dp_synth_sql_vc_dimension(PG_FUNCTION_ARGS)
{
	Datum		values[OUT_END];
	bool		nulls[OUT_END] = {false};
	dp_universe *universe = vc_dimension_read_universe(fcinfo);
	dp_dimension found;

	dp_bridge_require_argument(fcinfo, ARG_QUERIES,
							   "queries of dp_vc_dimension",
							   "Write them as ARRAY['smoker', 'age < 18'].");
	dp_workload_dimension(universe, dp_block_predicate_texts(
							PG_GETARG_ARRAYTYPE_P(ARG_QUERIES)), &found);

	values[OUT_DIMENSION] = Int64GetDatum(found.dimension);
	values[OUT_EXACT] = BoolGetDatum(found.exact);
	values[OUT_SHATTERED] = Int64GetDatum(found.found);
	values[OUT_UNIVERSE] = Int64GetDatum(universe->size);
	values[OUT_QUERIES] = Int64GetDatum(found.queries);
	PG_RETURN_DATUM(dp_bridge_make_row(fcinfo, values, nulls));
}
