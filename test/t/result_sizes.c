/*
 * result_sizes.c
 *	  For fuzz/extremes.pl: how large the extension takes a value to be at most
 *	  (src/query/expressions/expression_memory.c, whose own functions are
 *	  called), and how large one is.
 */
#include "query/expressions/expression_memory.c"

#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "parser/parser.h"
#include "tcop/tcopprot.h"
#include "utils/array.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(result_sizes_bounds);

/*
 * result_sizes_bounds
 *	  Bytes that each value of a SELECT may have at most: bigint[].
 */
Datum
result_sizes_bounds(PG_FUNCTION_ARGS)
{
	const char *sql = text_to_cstring(PG_GETARG_TEXT_PP(0));
	RawStmt    *raw = linitial(pg_parse_query(sql));
	Query	   *query = linitial(pg_analyze_and_rewrite_fixedparams(raw, sql,
																	NULL, 0,
																	NULL));
	Datum	   *bounds = palloc(sizeof(Datum) *
								list_length(query->targetList));
	int			n = 0;
	ListCell   *lc;

	foreach(lc, query->targetList)
	{
		Node	   *value = (Node *) ((TargetEntry *) lfirst(lc))->expr;

		bounds[n++] = Int64GetDatum((int64) value_bytes(value, query));
	}
	PG_RETURN_ARRAYTYPE_P(construct_array(bounds, n, INT8OID, 8, true,
										  TYPALIGN_DOUBLE));
}

PG_FUNCTION_INFO_V1(result_sizes_real);

/* result_sizes_real: bytes of a value in memory, with its header. */
Datum
result_sizes_real(PG_FUNCTION_ARGS)
{
	int			length = get_typlen(get_fn_expr_argtype(fcinfo->flinfo, 0));

	PG_RETURN_INT64(length > 0 ? length :
					(int64) toast_raw_datum_size(PG_GETARG_DATUM(0)));
}
