/*
 * accounting_sparse.c
 *	  The errors that sparse vector sessions and online multiplicative weights
 *	  promise, as SQL functions: thin wrappers over src/acct, which plans the
 *	  sessions themselves by the same code.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "utils/builtins.h"

#include "accounting.h"

#define POSITIVE DP_ACCOUNTING_POSITIVE
#define DELTA DP_ACCOUNTING_DELTA
#define INNER DP_ACCOUNTING_INNER

#define NUMBER(i, name, domain, rounding) \
	dp_accounting_number(fcinfo, i, is_float, name, domain, rounding)
#define COUNT(i, name) \
	dp_accounting_count(fcinfo, i, name, 1, PG_INT64_MAX)

/* Columns of the answers. */
#define SPARSE_COLUMNS 10
#define WEIGHTS_COLUMNS 10

static Datum
fixed_datum(dp_fixed x)
{
	return NumericGetDatum(dp_bridge_fixed_to_numeric(x));
}

/* An integer as numeric. */
static Datum
whole_datum(dp_uint128 x)
{
	if (x > PG_INT64_MAX)
		dp_accounting_done(DP_E_OVERFLOW, "compute the error", "", "");
	return NumericGetDatum(int64_to_numeric((int64) x));
}

static Datum
row_datum(FunctionCallInfo fcinfo, Datum *values, bool *nulls)
{
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values,
											 nulls));
}

static dp_sparse_method
read_method(FunctionCallInfo fcinfo, int i)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(i));
	dp_sparse_method method;

	if (!dp_acct_sparse_parse(name, &method))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("method \"%s\" does not exist", name),
				 errdetail("A session is planned by one of four methods."),
				 errhint("Methods are best, geometric, rounds and book.")));
	return method;
}

/* The confidence given as argument i, as the probability of failure. */
static dp_fixed
failure(FunctionCallInfo fcinfo, int i, bool is_float)
{
	return DP_FIXED_ONE - NUMBER(i, "confidence", INNER, DP_ROUND_UP);
}

/*
 * dp_sparse_vector_error(questions, cutoff, epsilon, delta, confidence,
 *						  numeric_answers, method, monotone, sensitivity)
 */
DP_ACCOUNTING(sparse_vector_error)
{
	dp_sparse_request request = {0};
	dp_sparse_plan plan;
	Datum		values[SPARSE_COLUMNS];
	bool		nulls[SPARSE_COLUMNS] = {false};

	request.questions = COUNT(0, "questions");
	request.cutoff = COUNT(1, "cutoff");
	request.epsilon = NUMBER(2, "epsilon", POSITIVE, DP_ROUND_DOWN);
	request.delta = NUMBER(3, "delta", DELTA, DP_ROUND_DOWN);
	request.beta = failure(fcinfo, 4, is_float);
	request.numeric = PG_GETARG_BOOL(5);
	request.method = read_method(fcinfo, 6);
	request.monotone = PG_GETARG_BOOL(7);
	request.sensitivity = (uint64) COUNT(8, "sensitivity");
	if (request.cutoff > request.questions)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cutoff must not be above questions"),
				 errdetail("It is " INT64_FORMAT " of " INT64_FORMAT ".",
						   request.cutoff, request.questions),
				 errhint("A session of so many questions has no more "
						 "\"above\"s than that.")));
	dp_accounting_done(dp_acct_sparse_plan(&request, &plan),
					   "plan a sparse vector session",
					   "Epsilon cannot be divided among so many, or the "
					   "book's theorem does not hold for this delta.",
					   "Give a larger epsilon, a smaller delta or another "
					   "method.");
	values[0] = whole_datum(plan.alpha);
	values[1] = CStringGetTextDatum(dp_acct_sparse_name(plan.method));
	values[2] = Int64GetDatum(plan.fresh ? request.cutoff : 1);
	values[3] = fixed_datum(plan.threshold_epsilon);
	values[4] = fixed_datum(plan.query_epsilon);
	nulls[5] = !plan.numeric;
	values[5] = fixed_datum(plan.answer_epsilon);
	values[6] = Int64GetDatum(plan.offset);
	values[7] = fixed_datum(plan.charge.epsilon);
	values[8] = fixed_datum(plan.charge.delta);
	values[9] = fixed_datum(plan.charge.rho);
	return row_datum(fcinfo, values, nulls);
}

/* An alpha that was asked for, argument 6, or 0 when it is NULL. */
static dp_fixed
read_alpha(FunctionCallInfo fcinfo, bool is_float)
{
	dp_fixed	alpha;

	if (PG_ARGISNULL(6))
		return 0;
	alpha = NUMBER(6, "alpha", POSITIVE, DP_ROUND_DOWN);
	if (alpha > DP_FIXED_ONE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("alpha must be at most 1"),
				 errdetail("It is a fraction of n."),
				 errhint("Leave it out for the least that can be reached.")));
	return alpha;
}

static void
refuse_alpha(dp_fixed asked, dp_fixed least)
{
	if (least == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("no alpha up to 1 can be reached"),
				 errdetail("The noise is larger than n."),
				 errhint("Give more rows, a larger epsilon or fewer "
						 "cells.")));
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("alpha %s cannot be reached",
					dp_bridge_fixed_to_cstring(asked)),
			 errdetail("The least that can be is %s.",
					   dp_bridge_fixed_to_cstring(least)),
			 errhint("Ask for that, or give more rows, a larger epsilon or "
					 "fewer cells.")));
}

/*
 * dp_weights_error(cells, n, questions, epsilon, delta, confidence, alpha,
 *					method, sensitivity); alpha may be NULL
 */
DP_ACCOUNTING(weights_error)
{
	dp_weights_request request = {0};
	dp_weights_plan plan = {0};
	Datum		values[WEIGHTS_COLUMNS];
	bool		nulls[WEIGHTS_COLUMNS] = {false};
	dp_status	status;
	dp_uint128	error;
	int			i;

	for (i = 0; i < 9; i++)
		if (i != 6 && PG_ARGISNULL(i))
			PG_RETURN_NULL();
	request.cells = COUNT(0, "cells");
	request.n = COUNT(1, "n");
	request.questions = COUNT(2, "questions");
	request.epsilon = NUMBER(3, "epsilon", POSITIVE, DP_ROUND_DOWN);
	request.delta = NUMBER(4, "delta", DELTA, DP_ROUND_DOWN);
	request.beta = failure(fcinfo, 5, is_float);
	request.alpha = read_alpha(fcinfo, is_float);
	request.method = read_method(fcinfo, 7);
	request.sensitivity = (uint64) COUNT(8, "sensitivity");
	status = dp_acct_weights_plan(&request, &plan);
	if (status == DP_E_RANGE)
		refuse_alpha(request.alpha, plan.alpha);
	dp_accounting_done(status, "plan a session of multiplicative weights",
					   "", "");
	values[0] = fixed_datum(plan.alpha);
	/* T + A + 1 is what T55 proves; answers lie from 0 to n */
	error = (dp_uint128) plan.threshold + plan.sparse.alpha + 1;
	values[1] = whole_datum(Min(error, (dp_uint128) request.n));
	values[2] = Int64GetDatum(plan.updates);
	values[3] = Int64GetDatum(plan.threshold);
	values[4] = whole_datum(plan.sparse.alpha);
	values[5] = CStringGetTextDatum(dp_acct_sparse_name(plan.sparse.method));
	values[6] = fixed_datum(plan.step);
	values[7] = fixed_datum(plan.sparse.charge.epsilon);
	values[8] = fixed_datum(plan.sparse.charge.delta);
	values[9] = fixed_datum(plan.sparse.charge.rho);
	return row_datum(fcinfo, values, nulls);
}
