/*
 * argument.c
 *	  Arguments and results of SQL functions, read the same way in all rooms.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "../math/numbers/dp_numbers.h"
#include "../math/accounting/dp_accounting.h"
#include "dp_base.h"

/*
 * dp_base_declared_type
 *	  Declared type of a parameter of the called function, which tells how to
 *	  read its Datum.  (Some callers have no call expression.)
 */
Oid
dp_base_declared_type(FunctionCallInfo fcinfo, int place)
{
	Oid		   *types;
	int			n;
	Oid			type;

	(void) get_func_signature(fcinfo->flinfo->fn_oid, &types, &n);
	type = place < n ? types[place] : InvalidOid;
	pfree(types);
	return type;
}

/*
 * dp_base_number
 *	  An argument of type numeric or double precision, as numeric.  A double is
 *	  converted by its shortest decimal text, so that 0.1 means the same in
 *	  both.  NULL pointer for SQL NULL.
 */
Numeric
dp_base_number(FunctionCallInfo fcinfo, int place)
{
	if (PG_ARGISNULL(place))
		return NULL;
	if (dp_base_declared_type(fcinfo, place) == FLOAT8OID)
		return dp_base_float8_to_numeric(PG_GETARG_FLOAT8(place));
	return PG_GETARG_NUMERIC(place);
}

/*
 * dp_base_require_argument
 *	  Raise an error if the argument is NULL.  `what` names it; hint may be
 *	  NULL.
 *
 * Errors: 22004.
 */
void
dp_base_require_argument(FunctionCallInfo fcinfo, int place,
						 const char *what, const char *hint)
{
	if (PG_ARGISNULL(place))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be NULL", what),
				 hint ? errhint("%s", hint) : 0));
}

/*
 * dp_base_epsilon
 *	  An epsilon, or dp_pg.epsilon for NULL, in both forms.  More than 24
 *	  digits after the point raise an error, so nothing is rounded: noise and
 *	  charge use the same number.
 *
 * Errors: 22023.
 */
dp_rational
dp_base_epsilon(FunctionCallInfo fcinfo, int place, dp_fixed *fixed)
{
	Numeric		x = dp_base_number(fcinfo, place);
	dp_rational epsilon;

	if (x == NULL)
		x = dp_base_text_to_numeric(dp_setting_epsilon);
	epsilon = dp_base_check_epsilon(x, false, "epsilon");
	dp_base_check_status(dp_accounting_fixed_from_rational(&epsilon,
														   DP_ROUND_UP, fixed),
						 "read epsilon");
	return epsilon;
}

static const char *
range_text(dp_number_range range)
{
	switch (range)
	{
		case DP_RANGE_ANY:
			return "at least 0";
		case DP_RANGE_POSITIVE:
			return "above 0";
		case DP_RANGE_DELTA:
			return "at least 0 and below 1";
		case DP_RANGE_INNER:
			return "above 0 and below 1";
	}
	return "valid";
}

/*
 * dp_base_check_number
 *	  Round x, which must be in the range, to 24 digits after the point.
 *	  `name` is the argument's name; x is a NULL pointer for SQL NULL.
 *
 * Errors: 22023.
 */
dp_fixed
dp_base_check_number(Numeric x, const char *name, dp_number_range range,
					 dp_rounding rounding, const char *hint)
{
	bool		fraction = range == DP_RANGE_DELTA || range == DP_RANGE_INNER;
	bool		positive = range == DP_RANGE_POSITIVE ||
		range == DP_RANGE_INNER;
	dp_fixed	fixed = 0;
	dp_number_fault fault = dp_base_numeric_to_fixed(x, rounding, &fixed);
	const char *problem = NULL;

	if (fault != DP_NUMBER_OK)
		problem = dp_base_number_fault_text(fault);
	else if (fixed == 0 && positive)
		problem = "zero, or below 10^-24, which counts as zero";
	else if (fixed >= DP_FIXED_ONE && fraction)
		problem = "not below 1";
	if (problem == NULL)
		return fixed;
	if (hint == NULL)
		hint = fraction ? "Give a fraction of 1 with at most 24 digits after "
			"the point, such as 0.000001 or 0.95." :
			"Give a number below 10^12 with at most 24 digits after the "
			"point.";
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s must be %s", name, range_text(range)),
			 errdetail("It is %s.", problem),
			 errhint("%s", hint)));
	return 0;
}

/*
 * dp_base_raise_parameter
 *	  Raise 22023: invalid parameter.
 */
void
dp_base_raise_parameter(const char *message, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s", message),
			 errhint("%s", hint)));
}

/*
 * dp_base_failure
 *	  1 - confidence, in (0, 1); the confidence is rounded up.  `promise`
 *	  completes "the probability that" in the hint.
 *
 * Errors: 22004 NULL, 22023.
 */
dp_fixed
dp_base_failure(FunctionCallInfo fcinfo, int place, const char *promise)
{
	char	   *hint = psprintf("It is the probability that %s, such as "
								"0.95.", promise);

	dp_base_require_argument(fcinfo, place, "confidence", hint);
	return DP_FIXED_ONE -
		dp_base_check_number(dp_base_number(fcinfo, place), "confidence",
							 DP_RANGE_INNER, DP_ROUND_UP, hint);
}

/*
 * dp_base_require_aggregate
 *	  Raise 0A000 unless called by an Agg, which owns the state. *context,
 *	  unless NULL, gets its aggregate context.
 */
void
dp_base_require_aggregate(FunctionCallInfo fcinfo, MemoryContext *context)
{
	if (!AggCheckCallContext(fcinfo, context))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("function may only be called as part of an "
						"aggregate")));
}

/* dp_base_forbid_input: raise 0A000; users cannot make values of `type`. */
void
dp_base_forbid_input(const char *type)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot accept a value of type %s", type)));
}

/* dp_base_forbid_output: raise 0A000; values of `type` are private. */
void
dp_base_forbid_output(const char *type)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot display a value of type %s", type)));
}

/*
 * dp_base_check_call_site
 *	  Check, once per call site of a function that updates its state in place,
 *	  that it is called by an Agg and by a private query (`ours`): elsewhere an
 *	  inner aggregate can only be given a NULL spec.  Marks the call site as
 *	  checked.
 *
 * Errors: 0A000.
 */
void
dp_base_check_call_site(FunctionCallInfo fcinfo, bool ours,
						const char *aggregate, const char *hint)
{
	if (!ours)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s can be used only inside private queries",
						aggregate),
				 errhint("%s", hint)));
	dp_base_require_aggregate(fcinfo, NULL);
	fcinfo->flinfo->fn_extra = fcinfo->flinfo;
}

/*
 * dp_base_make_row
 *	  The result row of a function with OUT parameters.
 */
Datum
dp_base_make_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls)
{
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values,
											 nulls));
}

/*
 * dp_base_sparse_method
 *	  An argument that names a method of sparse vector.
 *
 * Errors: 22004 NULL, 22023 no such method.
 */
dp_sparse_method
dp_base_sparse_method(FunctionCallInfo fcinfo, int place)
{
	dp_sparse_method method = DP_SPARSE_BEST;
	char	   *name;

	dp_base_require_argument(fcinfo, place, "method",
							 "Leave it out for method best.");
	name = text_to_cstring(PG_GETARG_TEXT_PP(place));
	if (!dp_accounting_sparse_parse(name, &method))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown method \"%s\"", name),
				 errhint("Methods are best, geometric, rounds and book.")));
	return method;
}
