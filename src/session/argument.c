/*
 * argument.c
 *	  Arguments that functions of this folder have in common.
 *
 * All of them are public.  A double precision number is read by its shortest
 * decimal text, so that 0.1 means the same in both kinds of functions.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "utils/builtins.h"

#include "argument.h"

/* dp_session_require: raises 22004 for NULL; `what` names the argument. */
void
dp_session_require(FunctionCallInfo fcinfo, int place, const char *what)
{
	if (PG_ARGISNULL(place))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be NULL", what)));
}

/*
 * dp_session_relation
 *	  The relation that a function was given.
 *
 * Errors: 55000 not preloaded, 22004 NULL.
 */
Oid
dp_session_relation(FunctionCallInfo fcinfo, int place, const char *function)
{
	dp_bridge_require_preload();
	dp_session_require(fcinfo, place, psprintf("relation of %s", function));
	return PG_GETARG_OID(place);
}

/*
 * dp_session_id
 *	  The first argument as the number of a session.
 *
 * Errors: 55000 not preloaded, 22004 NULL.
 */
int64
dp_session_id(FunctionCallInfo fcinfo)
{
	dp_bridge_require_preload();
	dp_session_require(fcinfo, 0, "session");
	return PG_GETARG_INT64(0);
}

/* dp_session_predicate: the second argument as a text; 22004 for NULL. */
char *
dp_session_predicate(FunctionCallInfo fcinfo)
{
	dp_session_require(fcinfo, 1, "predicate");
	return text_to_cstring(PG_GETARG_TEXT_PP(1));
}

/* dp_session_number: as numeric; NULL for SQL NULL. */
Numeric
dp_session_number(FunctionCallInfo fcinfo, int place, bool floats)
{
	return dp_bridge_number_argument(fcinfo, place, floats);
}

/*
 * dp_session_epsilon
 *	  An epsilon, dp_pg.epsilon for NULL.  What is rounded off is not charged
 *	  and not spent either: noise follows from the number that is answered.
 *
 * Errors: 22023.
 */
dp_fixed
dp_session_epsilon(FunctionCallInfo fcinfo, int place, bool floats)
{
	Numeric		x = dp_session_number(fcinfo, place, floats);
	dp_rational epsilon;
	dp_fixed	fixed;

	if (x == NULL)
		x = dp_bridge_text_to_numeric(dp_setting_epsilon);
	epsilon = dp_bridge_check_epsilon(x, false, "epsilon");
	dp_bridge_check_status(dp_acct_fixed_from_rational(&epsilon,
													   DP_ROUND_DOWN, &fixed),
						   "read epsilon");
	return fixed;
}

/*
 * dp_session_delta
 *	  A delta in [0, 1).  NULL: 0, so that a session is pure; under
 *	  dp_pg.mechanism = gaussian it is dp_pg.delta, if that is set.
 *
 * Errors: 22023.
 */
dp_fixed
dp_session_delta(FunctionCallInfo fcinfo, int place, bool floats)
{
	Numeric		x = dp_session_number(fcinfo, place, floats);
	dp_fixed	delta = 0;
	dp_number_fault fault;

	if (x == NULL && dp_setting_mechanism == DP_SETTING_GAUSSIAN &&
		dp_setting_delta[0] != '\0')
		x = dp_bridge_text_to_numeric(dp_setting_delta);
	if (x == NULL)
		return 0;
	fault = dp_bridge_numeric_to_fixed(x, DP_ROUND_DOWN, &delta);
	if (fault != DP_NUMBER_OK || delta >= DP_FIXED_ONE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("delta must be at least 0 and below 1"),
				 errdetail("It is %s.", fault == DP_NUMBER_OK ?
						   dp_bridge_fixed_to_cstring(delta) :
						   dp_bridge_number_fault_text(fault)),
				 errhint("Leave it out for a guarantee without delta.")));
	return delta;
}

/*
 * dp_session_beta
 *	  1 - confidence, in (0, 1).  `promise` completes "the probability that",
 *	  for the hint.
 *
 * Errors: 22004 NULL, 22023.
 */
dp_fixed
dp_session_beta(FunctionCallInfo fcinfo, int place, bool floats,
				const char *promise)
{
	dp_fixed	confidence = 0;

	dp_session_require(fcinfo, place, "confidence");
	if (dp_bridge_numeric_to_fixed(dp_session_number(fcinfo, place, floats),
								   DP_ROUND_UP, &confidence) !=
		DP_NUMBER_OK || confidence == 0 || confidence >= DP_FIXED_ONE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("confidence must lie between 0 and 1"),
				 errhint("It is the probability that %s, such as 0.95.",
						 promise)));
	return DP_FIXED_ONE - confidence;
}

/*
 * dp_session_method
 *	  A method of sparse vector, by its name.
 *
 * Errors: 22004 NULL, 22023 no such method.
 */
dp_sparse_method
dp_session_method(FunctionCallInfo fcinfo, int place)
{
	dp_sparse_method method = DP_SPARSE_BEST;
	char	   *name;

	dp_session_require(fcinfo, place, "method");
	name = text_to_cstring(PG_GETARG_TEXT_PP(place));
	if (!dp_acct_sparse_parse(name, &method))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown method \"%s\"", name),
				 errhint("Methods are best, geometric, rounds and book.")));
	return method;
}

/* dp_session_make_row: the one row of a function with OUT parameters. */
Datum
dp_session_make_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls)
{
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values,
											 nulls));
}
