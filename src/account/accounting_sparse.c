/*
 * accounting_sparse.c
 *	  The errors that sparse vector sessions and online multiplicative weights
 *	  promise, as SQL functions: thin wrappers over src/acct, which plans the
 *	  sessions themselves by the same code.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "accounting.h"

#define POSITIVE DP_RANGE_POSITIVE
#define DELTA DP_RANGE_DELTA
#define INNER DP_RANGE_INNER

#define NUMBER(i, name, range, rounding) \
	dp_account_number(fcinfo, i, name, range, rounding)
#define COUNT(i, name) \
	dp_account_count(fcinfo, i, name, 1, PG_INT64_MAX)

/* Columns of the results. */
#define SPARSE_COLUMNS 10
#define WEIGHTS_COLUMNS 10

#define ALPHA 4					/* argument of dp_weights_error */

/* An integer as numeric, whatever its size. */
static Datum
whole_datum(dp_uint128 x)
{
	return NumericGetDatum(dp_bridge_int128_to_numeric((dp_int128) x));
}

static Datum
fixed_datum(dp_fixed x)
{
	return NumericGetDatum(dp_bridge_fixed_to_numeric(x));
}

/*
 * dp_sparse_vector_error(questions, cutoff, epsilon, delta, confidence,
 *						  method, numeric_answers, monotone, sensitivity)
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
	request.beta = dp_account_failure(fcinfo, 4);
	request.method = dp_bridge_sparse_method(fcinfo, 5);
	request.numeric = PG_GETARG_BOOL(6);
	request.monotone = PG_GETARG_BOOL(7);
	request.sensitivity = (uint64) COUNT(8, "sensitivity");
	if (request.cutoff > request.questions)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cutoff must not be above questions"),
				 errdetail("The cutoff is " INT64_FORMAT ", and questions is "
						   INT64_FORMAT ".", request.cutoff,
						   request.questions),
				 errhint("A session cannot answer \"above\" more often than "
						 "it has questions.")));
	dp_account_done(dp_acct_sparse_plan(&request, &plan),
					"plan a sparse vector session",
					"Epsilon cannot be divided by this cutoff, or the "
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
	return dp_bridge_make_row(fcinfo, values, nulls);
}

/*
 * dp_weights_error(cells, questions, epsilon, n, alpha, delta, confidence,
 *					method, sensitivity); alpha may be NULL
 */
DP_ACCOUNTING(weights_error)
{
	dp_weights_request request = {0};
	dp_weights_plan plan;
	Datum		values[WEIGHTS_COLUMNS];
	bool		nulls[WEIGHTS_COLUMNS] = {false};
	dp_uint128	error;
	int			i;

	for (i = 0; i < 9; i++)
		if (i != ALPHA && PG_ARGISNULL(i))
			PG_RETURN_NULL();
	request.cells = COUNT(0, "cells");
	request.questions = COUNT(1, "questions");
	request.epsilon = NUMBER(2, "epsilon", POSITIVE, DP_ROUND_DOWN);
	request.n = COUNT(3, "n");
	request.alpha =
		dp_account_weights_alpha(dp_bridge_number(fcinfo, ALPHA));
	request.delta = NUMBER(5, "delta", DELTA, DP_ROUND_DOWN);
	request.beta = dp_account_failure(fcinfo, 6);
	request.method = dp_bridge_sparse_method(fcinfo, 7);
	request.sensitivity = (uint64) COUNT(8, "sensitivity");
	dp_account_weights_plan(&request, false, &plan);
	values[0] = fixed_datum(plan.alpha);
	/* T + A + 1 is what T55 proves, at most 3 alpha n and so n */
	error = (dp_uint128) plan.threshold + plan.sparse.alpha + 1;
	values[1] = whole_datum(error);
	values[2] = Int64GetDatum(plan.updates);
	values[3] = Int64GetDatum(plan.threshold);
	values[4] = whole_datum(plan.sparse.alpha);
	values[5] = CStringGetTextDatum(dp_acct_sparse_name(plan.sparse.method));
	values[6] = fixed_datum(plan.step);
	values[7] = fixed_datum(plan.sparse.charge.epsilon);
	values[8] = fixed_datum(plan.sparse.charge.delta);
	values[9] = fixed_datum(plan.sparse.charge.rho);
	return dp_bridge_make_row(fcinfo, values, nulls);
}
