/*
 * sparse_request.c
 *	  Parameters of a sparse vector, and the plan for them.
 *
 * Nothing here reads a private row or charges.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "sparse.h"

#define MAX_THRESHOLD ((dp_int128) 1 << 62)

/* dp_session_to_bigint: a released number, ending at the ends of bigint. */
int64
dp_session_to_bigint(dp_int128 x)
{
	return x > PG_INT64_MAX ? PG_INT64_MAX :
		x < PG_INT64_MIN ? PG_INT64_MIN : (int64) x;
}

static char *
numeric_text(Numeric x)
{
	return DatumGetCString(DirectFunctionCall1(numeric_out,
											   NumericGetDatum(x)));
}

/* dp_session_integer_text: in decimal digits, for messages. */
char *
dp_session_integer_text(dp_uint128 x)
{
	return numeric_text(dp_bridge_int128_to_numeric((dp_int128) x));
}

/* ---- arguments ---- */

static void
refuse_null(const char *what)
{
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
	if (PG_ARGISNULL(place))
		refuse_null(psprintf("relation of %s", function));
	return PG_GETARG_OID(place);
}

static Numeric
number_argument(FunctionCallInfo fcinfo, int place, bool floats)
{
	if (PG_ARGISNULL(place))
		return NULL;
	if (floats)
		return dp_bridge_float8_to_numeric(PG_GETARG_FLOAT8(place));
	return PG_GETARG_NUMERIC(place);
}

/* Counts are integers, so a threshold means the next integer. */
static int64
read_threshold(Numeric x)
{
	dp_int128	threshold = MAX_THRESHOLD + 1;

	if (x == NULL)
		refuse_null("threshold");
	if (!numeric_is_nan(x) && !numeric_is_inf(x))
	{
		Datum		ceiling = DirectFunctionCall1(numeric_ceil,
												  NumericGetDatum(x));

		if (!dp_bridge_numeric_to_int128(DatumGetNumeric(ceiling),
										 &threshold))
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
				 errmsg("%s must be at least 1", what)));
	return x;
}

static dp_fixed
read_epsilon(Numeric x)
{
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
 * Left out, delta is 0, so that a session is pure; under dp_pg.mechanism =
 * gaussian it is dp_pg.delta, if that is set.
 */
static dp_fixed
read_delta(Numeric x)
{
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

/* 1 - confidence */
static dp_fixed
read_beta(Numeric x)
{
	dp_fixed	confidence = 0;

	if (x == NULL)
		refuse_null("confidence");
	if (dp_bridge_numeric_to_fixed(x, DP_ROUND_UP, &confidence) !=
		DP_NUMBER_OK || confidence == 0 || confidence >= DP_FIXED_ONE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("confidence must lie between 0 and 1"),
				 errhint("It is the probability that every answer is right "
						 "within alpha, such as 0.95.")));
	return DP_FIXED_ONE - confidence;
}

static dp_sparse_method
read_method(FunctionCallInfo fcinfo, int place)
{
	dp_sparse_method method = DP_SPARSE_BEST;
	char	   *name;

	if (PG_ARGISNULL(place))
		refuse_null("method");
	name = text_to_cstring(PG_GETARG_TEXT_PP(place));
	if (!dp_acct_sparse_parse(name, &method))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown method \"%s\"", name),
				 errhint("Methods are best, geometric, rounds and book.")));
	return method;
}

/*
 * dp_session_read_sparse
 *	  The parameters of a call; what depends on the relation is left open.
 *
 * Errors: 22004 a NULL where none is allowed, 22023 a bad value.
 */
void
dp_session_read_sparse(FunctionCallInfo fcinfo, bool floats,
					   const dp_sparse_places *places, dp_sparse_call *out)
{
	dp_sparse_request *request = &out->request;

	MemSet(out, 0, sizeof(*out));
	out->terms.kind = DP_SESSION_SPARSE_VECTOR;
	out->terms.threshold =
		read_threshold(number_argument(fcinfo, places->threshold, floats));
	if (PG_ARGISNULL(places->cutoff))
		refuse_null("cutoff");
	request->cutoff = read_positive(PG_GETARG_INT32(places->cutoff),
									"cutoff");
	request->epsilon = read_epsilon(number_argument(fcinfo, places->epsilon,
													floats));
	if (places->questions >= 0)
	{
		if (PG_ARGISNULL(places->questions))
			refuse_null("questions");
		request->questions =
			read_positive(PG_GETARG_INT64(places->questions), "questions");
	}
	if (PG_ARGISNULL(places->numeric))
		refuse_null("numeric_answers");
	request->numeric = PG_GETARG_BOOL(places->numeric);
	request->delta = read_delta(number_argument(fcinfo, places->delta,
												floats));
	request->beta = read_beta(number_argument(fcinfo, places->confidence,
											  floats));
	request->method = read_method(fcinfo, places->method);
	out->alpha = number_argument(fcinfo, places->alpha, floats);
}

/* ---- the plan ---- */

/* An alpha that was asked for must be reached. */
static void
check_alpha(const dp_sparse_call *call)
{
	dp_uint128	least = call->terms.plan.alpha;
	Numeric		reached = dp_bridge_int128_to_numeric((dp_int128) least);

	if (!numeric_is_nan(call->alpha) &&
		DatumGetInt32(DirectFunctionCall2(numeric_cmp,
										  NumericGetDatum(reached),
										  NumericGetDatum(call->alpha))) <= 0)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("alpha %s cannot be reached", numeric_text(call->alpha)),
			 errdetail("The least alpha for these parameters is %s, at "
					   "confidence %s.", numeric_text(reached),
					   dp_bridge_fixed_to_cstring(DP_FIXED_ONE -
												  call->request.beta)),
			 errhint("Ask for alpha %s, or with a larger epsilon, fewer "
					 "questions, a smaller cutoff or a lower confidence.",
					 numeric_text(reached))));
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
				 errdetail("Epsilon is too small to be divided, confidence "
						   "too close to 1, or the book's formula for a "
						   "delta does not hold for this epsilon."),
				 errhint("Use method best and moderate numbers.")));
	dp_bridge_check_status(status, "plan a sparse vector");
}

/*
 * dp_session_plan_sparse
 *	  How the call will be done on the counts of a reading, and its price.
 *
 * Counts all move one way when a unit comes or goes, so the family is
 * monotone; not when a unit is replaced.  More "above"s than questions cannot
 * be, so no more are paid for.
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
	terms->beta = (double) request->beta / (double) DP_FIXED_ONE;
	terms->replace_one = reading->standing.replace_one;
	terms->sensitivity = reading->sensitivity;
	snprintf(call->mechanism, DP_MECHANISM_LENGTH,
			 "sparse vector, %s: threshold " INT64_FORMAT
			 ", cutoff %d, " INT64_FORMAT " questions%s",
			 dp_acct_sparse_name(terms->plan.method), terms->threshold,
			 terms->cutoff, questions,
			 request->numeric ? ", numeric answers" : "");
}
