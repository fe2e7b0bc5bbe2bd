/*
 * weight_interval.c
 *	  Check that the weights of a list are from 0 to 1, by the declarations of
 *	  columns and by their own constants.
 *
 * Privacy does not need it, because rows are clamped (src/count/row_weight.c);
 * but clamping would silently answer another query.
 */
#include "postgres.h"

#include "optimizer/optimizer.h"
#include "utils/builtins.h"

#include "../bridge/dp_numeric.h"
#include "reading.h"

/*
 * Within [0, 1], or beyond by at most half a granule, which rounding corrects.
 */
static bool
is_within(const dp_interval *values)
{
	const Numeric half = dp_bridge_power_of_two(-DP_WEIGHT_BITS - 1);
	const Numeric one = int64_to_numeric(1);

	return dp_numeric_compare(values->low,
							  dp_numeric_call1(numeric_uminus, half)) >= 0 &&
		dp_numeric_compare(values->high,
						   dp_numeric_call2(numeric_add, one, half)) <= 0;
}

/* For display; infinite beyond the largest double. */
static double
approximately(Numeric x)
{
	return DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow,
											  NumericGetDatum(x)));
}

static void
forbid(int number, const char *text, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("weight %d is not known to be from 0 to 1", number),
			 errdetail("%s", detail),
			 errhint("Divide by the largest value, as in age / 120.0, or "
					 "write least(greatest(x, 0), 1); the owner declares "
					 "bounds with dp_declare."),
			 errcontext("predicate %d: %s", number, text)));
}

static void
check_weight(const dp_block *block, int number, const char *text, Node *base)
{
	dp_interval values;

	base = eval_const_expressions(NULL, copyObject(base));
	if (dp_places_find_interval(base, block->relids, NIL, &values))
	{
		if (!is_within(&values))
			forbid(number, text,
				   psprintf("By the declarations of its columns its values "
							"are from %.6g to %.6g.",
							approximately(values.low),
							approximately(values.high)));
	}
	else if (!values.empty)
		forbid(number, text,
			   "Bounds of its values do not follow from what is declared of "
			   "its columns.");
}

/*
 * dp_reading_check_weights
 *	  See reading.h.  Errors: 22023, with the weight in their context.
 */
void
dp_reading_check_weights(const dp_block *block, List *texts)
{
	ArrayExpr  *array = (ArrayExpr *)
	((const dp_value *) linitial(block->values))->base;
	ListCell   *lc;

	if (array == NULL)
		return;
	foreach(lc, array->elements)
	{
		int			i = foreach_current_index(lc);

		if (dp_block_is_weight(lfirst(lc)))
			check_weight(block, i + 1, list_nth(texts, i), lfirst(lc));
	}
}
