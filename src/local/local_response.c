/*
 * local_response.c
 *	  Randomized response: the local model of differential privacy.
 *
 * The owner of a value draws a random answer and stores the answer, not the
 * value: whoever reads the table later, the database administrator included,
 * sees only answers, each of which is epsilon-differentially private by
 * itself (doc/theory.md T14).  So nothing is charged: no ledger, no budget,
 * no protected relation takes part.  Inside a private query these functions
 * are refused like every function that is not on the list.
 *
 * The answer is always one of the public candidates, byte for byte as the
 * caller spelled it in the list, never the bytes of the value: 1.0 and 1.00
 * are one candidate.  A NULL or a value that is no candidate is an error
 * without the value, and without the statement, in which a value may stand, in
 * the server's log.
 */
#include "postgres.h"

#include "utils/datum.h"

#include "local.h"

PG_FUNCTION_INFO_V1(dp_randomized_response_coins);
PG_FUNCTION_INFO_V1(dp_randomized_response_numeric);
PG_FUNCTION_INFO_V1(dp_randomized_response_float);
PG_FUNCTION_INFO_V1(dp_randomized_response_among_numeric);
PG_FUNCTION_INFO_V1(dp_randomized_response_among_float);

/* Raises 22023 for a NULL value. */
static void
check_value(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the value of a randomized response must not be "
						"NULL"),
				 errdetail("A NULL answer would show that the value is "
						   "missing."),
				 errhint("Use coalesce(), or a candidate that stands for "
						 "missing values."),
				 errhidestmt(true), errhidecontext(true)));
}

static Datum
respond(FunctionCallInfo fcinfo, const dp_rational *epsilon)
{
	bool		answer;
	dp_status	status =
		dp_mech_randomized_response(dp_bridge_source(), epsilon,
									PG_GETARG_BOOL(0), &answer);

	dp_bridge_check_status(status, "draw a random answer");
	PG_RETURN_BOOL(answer);
}

static Datum
respond_among(FunctionCallInfo fcinfo, const dp_rational *epsilon)
{
	const dp_candidates *candidates = dp_local_read_candidates(fcinfo, 1);
	dp_status	status;
	uint64		answer;
	int			truth;

	check_value(fcinfo);
	truth = dp_local_find_candidate(candidates, PG_GETARG_DATUM(0));
	if (truth < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the value of a randomized response is not one of the "
						"candidates"),
				 errdetail("The candidates must be all possible values.  The "
						   "value is not shown."),
				 errhint("Map rare values to one candidate that stands for "
						 "all others."),
				 errhidestmt(true), errhidecontext(true)));
	status = dp_mech_randomized_response_among(dp_bridge_source(), epsilon,
											   truth, candidates->n, &answer);
	dp_bridge_check_status(status, "draw a random answer");
	/* a copy, since the next call may have other candidates */
	return datumCopy(candidates->values[answer], candidates->type->typbyval,
					 candidates->type->typlen);
}

/*
 * dp_randomized_response(boolean)
 *	  The book's two coins: the truth with probability exactly 3/4.
 */
Datum
dp_randomized_response_coins(PG_FUNCTION_ARGS)
{
	bool		answer;

	check_value(fcinfo);
	dp_bridge_check_status(dp_mech_two_coins(dp_bridge_source(),
											 PG_GETARG_BOOL(0), &answer),
						   "draw a random answer");
	PG_RETURN_BOOL(answer);
}

/*
 * dp_randomized_response(boolean, numeric)
 *	  The truth with probability 1/(1 + exp(-epsilon)).
 */
Datum
dp_randomized_response_numeric(PG_FUNCTION_ARGS)
{
	const dp_rational *epsilon = dp_local_read_numeric(fcinfo, 1, true);

	check_value(fcinfo);
	return respond(fcinfo, epsilon);
}

/*
 * dp_randomized_response(boolean, double precision)
 *	  The same.
 */
Datum
dp_randomized_response_float(PG_FUNCTION_ARGS)
{
	const dp_rational *epsilon = dp_local_read_float(fcinfo, 1, true);

	check_value(fcinfo);
	return respond(fcinfo, epsilon);
}

/*
 * dp_randomized_response(anycompatible, anycompatiblearray, numeric)
 *	  The truth with exp(epsilon) times the probability of each other
 *	  candidate.
 */
Datum
dp_randomized_response_among_numeric(PG_FUNCTION_ARGS)
{
	return respond_among(fcinfo, dp_local_read_numeric(fcinfo, 2, true));
}

/*
 * dp_randomized_response(anycompatible, anycompatiblearray, double precision)
 *	  The same.
 */
Datum
dp_randomized_response_among_float(PG_FUNCTION_ARGS)
{
	return respond_among(fcinfo, dp_local_read_float(fcinfo, 2, true));
}
