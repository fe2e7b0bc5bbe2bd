/*
 * sparse_request.c
 *	  Parameters of a sparse vector, and the plan for them.
 *
 * Nothing here reads a private row or charges.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "../bridge/dp_numeric.h"
#include "session_sparse.h"

#define MAX_THRESHOLD ((dp_int128) 1 << 62)

/* dp_session_to_bigint: a released number, clamped to bigint. */
int64
dp_session_to_bigint(dp_int128 x)
{
	return x > PG_INT64_MAX ? PG_INT64_MAX :
		x < PG_INT64_MIN ? PG_INT64_MIN : (int64) x;
}

/* dp_session_integer_text: in decimal digits, for messages. */
char *
dp_session_integer_text(dp_uint128 x)
{
	return dp_numeric_text(dp_bridge_int128_to_numeric((dp_int128) x));
}

/* ---- arguments ---- */

/* Counts are integers, so a threshold is rounded up. */
static int64
read_threshold(FunctionCallInfo fcinfo, int place)
{
	Numeric		x = dp_bridge_number(fcinfo, place);
	dp_int128	threshold = MAX_THRESHOLD + 1;

	dp_bridge_require_argument(fcinfo, place, "threshold",
							   "Give a number of rows.");
	if (!numeric_is_nan(x) && !numeric_is_inf(x))
	{
		Numeric		ceiling = dp_numeric_call1(numeric_ceil, x);

		if (!dp_bridge_numeric_to_int128(ceiling, &threshold))
			threshold = MAX_THRESHOLD + 1;
	}
	if (threshold > MAX_THRESHOLD || threshold < -MAX_THRESHOLD)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("threshold is out of range"),
				 errdetail("It must lie between -2^62 and 2^62."),
				 errhint("Give a number of rows.")));
	return (int64) threshold;
}

static int64
read_positive(int64 x, const char *what)
{
	if (x < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be at least 1", what),
				 errdetail("It is " INT64_FORMAT ".", x),
				 errhint("Give the largest number that you want to allow.")));
	return x;
}

/*
 * dp_session_read_sparse
 *	  The parameters of a call; what depends on the relation is left open.
 *
 * Errors: 22004 a NULL where none is allowed, 22023 a bad value.
 */
void
dp_session_read_sparse(FunctionCallInfo fcinfo, const dp_sparse_places *places,
					   dp_sparse_call *out)
{
	dp_sparse_request *request = &out->request;

	MemSet(out, 0, sizeof(*out));
	out->terms.kind = DP_SESSION_SPARSE_VECTOR;
	out->terms.threshold = read_threshold(fcinfo, places->threshold);
	dp_bridge_require_argument(fcinfo, places->cutoff, "cutoff",
							   "Leave it out for 1.");
	request->cutoff = read_positive(PG_GETARG_INT32(places->cutoff),
									"cutoff");
	(void) dp_bridge_epsilon(fcinfo, places->epsilon, &request->epsilon);
	if (places->questions >= 0)
	{
		dp_bridge_require_argument(fcinfo, places->questions, "questions",
								   "Leave it out for 1000.");
		request->questions =
			read_positive(PG_GETARG_INT64(places->questions), "questions");
	}
	request->delta = dp_session_delta(fcinfo, places->delta);
	request->beta = dp_bridge_failure(fcinfo, places->confidence,
									  "every answer is right within alpha");
	request->method = dp_bridge_sparse_method(fcinfo, places->method);
	out->alpha = dp_bridge_number(fcinfo, places->alpha);
	dp_bridge_require_argument(fcinfo, places->numeric, "numeric_answers",
							   "Leave it out for false.");
	request->numeric = PG_GETARG_BOOL(places->numeric);
}

/* ---- the plan ---- */

/* An alpha that was asked for must be reached. */
static void
check_alpha(const dp_sparse_call *call)
{
	dp_uint128	least = call->terms.plan.alpha;
	Numeric		reached = dp_bridge_int128_to_numeric((dp_int128) least);

	if (!numeric_is_nan(call->alpha) &&
		dp_numeric_compare(reached, call->alpha) <= 0)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("alpha %s cannot be reached",
					dp_numeric_text(call->alpha)),
			 errdetail("The least alpha for these parameters is %s, at "
					   "confidence %s.", dp_numeric_text(reached),
					   dp_bridge_fixed_to_cstring(DP_FIXED_ONE -
												  call->request.beta)),
			 errhint("Ask for alpha %s, or use a larger epsilon, fewer "
					 "questions, a smaller cutoff or a lower confidence.",
					 dp_numeric_text(reached))));
}

static void
make_plan(const dp_sparse_request *request, dp_sparse_plan *plan)
{
	dp_status	status = dp_acct_sparse_plan(request, plan);

	if (status == DP_E_RANGE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("method \"%s\" cannot use these parameters",
						dp_acct_sparse_name(request->method)),
				 errdetail("Epsilon is too small to be divided, confidence is "
						   "too close to 1, or the book's formula for a delta "
						   "does not hold for this epsilon."),
				 errhint("Use method best, or less extreme numbers.")));
	dp_bridge_check_status(status, "plan a sparse vector");
}

/*
 * dp_session_plan_sparse
 *	  Plan the call on the counts of a reading, and price it.
 *
 * Counts all move one way when a unit comes or goes, so the family is
 * monotone; not when a unit is replaced.  There cannot be more "above"s than
 * questions, so no more are paid for.
 *
 * Errors: 22023 epsilon outside what the owner allows, or an alpha that is
 * not reached; 22023, 22003 no such plan.
 */
void
dp_session_plan_sparse(dp_sparse_call *call, const dp_reading *reading,
					   Oid relid, int64 questions)
{
	dp_sparse_request *request = &call->request;
	dp_session_terms *terms = &call->terms;

	dp_ledger_check_price(&reading->standing, reading->dataset,
						  request->epsilon);
	request->sensitivity = reading->sensitivity;
	request->monotone = !reading->standing.replace_one;
	request->questions = questions;
	request->cutoff = Min(request->cutoff, questions);
	make_plan(request, &terms->plan);
	if (call->alpha != NULL)
		check_alpha(call);
	terms->relid = relid;
	namestrcpy(&terms->dataset, reading->dataset);
	terms->questions = questions;
	terms->cutoff = (int32) request->cutoff;
	terms->beta = dp_acct_fixed_approx(request->beta);
	terms->replace_one = reading->standing.replace_one;
	terms->sensitivity = reading->sensitivity;
	call->rows = dp_reading_rows_text(reading);
	snprintf(call->mechanism, DP_MECHANISM_LENGTH,
			 "sparse vector, %s: threshold " INT64_FORMAT
			 ", cutoff %d, " INT64_FORMAT " questions%s",
			 dp_acct_sparse_name(terms->plan.method), terms->threshold,
			 terms->cutoff, questions,
			 request->numeric ? ", numeric answers" : "");
}
