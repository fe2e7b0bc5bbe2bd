/*
 * weights_open.c
 *	  dp_weights_open: the universe, the number of rows, the plan, the charge.
 *
 * Without n, a twentieth of epsilon pays for a noisy number of rows: a release
 * and a charge of its own, made first, because the plan needs n.  The rest of
 * epsilon pays for the session; the two charges add up to epsilon exactly.
 */
#include "postgres.h"

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "nodes/nodes.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"

#include "weights.h"

#define MAX_N INT64CONST(1000000000000)

/* Arguments of dp_weights_open. */
enum
{
	ARG_RELATION,
	ARG_COLUMNS,
	ARG_QUERIES,
	ARG_EPSILON,
	ARG_N,
	ARG_BINS,
	ARG_ALPHA,
	ARG_DELTA,
	ARG_CONFIDENCE,
	ARG_METHOD
};

/* A call as it was asked for; all public. */
typedef struct weights_call
{
	Oid			relid;
	dp_universe *universe;
	dp_fixed	epsilon;		/* of everything */
	dp_weights_request request;
	dp_weights_plan plan;
} weights_call;

/* ---- what the session keeps ---- */

/* dp_session_write_weights: as JSON, for dp_session.details. */
char *
dp_session_write_weights(const dp_weights_details *details)
{
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfoString(&json, "{\"columns\": ");
	escape_json(&json, dp_workload_columns_text(details->universe));
	appendStringInfo(&json, ", \"n\": " INT64_FORMAT ", \"alpha\": %s",
					 details->n, dp_bridge_fixed_to_cstring(details->alpha));
	appendStringInfo(&json, ", \"step\": %s, \"universe\": ",
					 dp_bridge_fixed_to_cstring(details->step));
	escape_json(&json, nodeToString(dp_workload_to_list(details->universe)));
	appendStringInfoChar(&json, '}');
	return json.data;
}

static char *
read_text(Datum json, const char *name)
{
	return TextDatumGetCString(DirectFunctionCall2(
								   json_object_field_text, json,
								   CStringGetTextDatum(name)));
}

static dp_fixed
read_fixed(Datum json, const char *name)
{
	char	   *text = read_text(json, name);
	dp_fixed	fixed = 0;

	if (dp_bridge_numeric_to_fixed(dp_bridge_text_to_numeric(text),
								   DP_ROUND_DOWN, &fixed) != DP_NUMBER_OK)
		elog(ERROR, "unexpected number \"%s\" in a session", text);
	return fixed;
}

/*
 * dp_session_read_weights
 *	  What a session of this kind keeps, in the current context.
 *
 * Errors: those of dp_places_axis_from_list.
 */
void
dp_session_read_weights(const char *text, dp_weights_details *out)
{
	Datum		json = CStringGetTextDatum(text);
	char	   *universe = read_text(json, "universe");

	out->universe = dp_workload_from_list(castNode(List,
												   stringToNode(universe)));
	out->n = pg_strtoint64(read_text(json, "n"));
	out->alpha = read_fixed(json, "alpha");
	out->step = read_fixed(json, "step");
}

/* ---- arguments ---- */

static int64
read_n(int64 n)
{
	if (n < 1 || n > MAX_N)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("n must be from 1 to " INT64_FORMAT, MAX_N),
				 errhint("Give the public number of rows, or leave n out for "
						 "a noisy count.")));
	return n;
}

static void
read_numbers(FunctionCallInfo fcinfo, weights_call *call)
{
	dp_weights_request *request = &call->request;

	dp_bridge_require_argument(fcinfo, ARG_QUERIES,
							   "the number of questions, queries,",
							   "Give the largest number that will be asked.");
	request->questions = PG_GETARG_INT32(ARG_QUERIES);
	if (request->questions < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the number of questions, queries, must be at least "
						"1"),
				 errhint("Give the largest number that will be asked.")));
	(void) dp_bridge_epsilon(fcinfo, ARG_EPSILON, &call->epsilon);
	request->epsilon = call->epsilon;
	if (!PG_ARGISNULL(ARG_N))
		request->n = read_n(PG_GETARG_INT64(ARG_N));
	request->alpha = dp_account_weights_alpha(
		dp_bridge_number(fcinfo, ARG_ALPHA));
	request->delta = dp_session_delta(fcinfo, ARG_DELTA);
	request->beta = dp_bridge_failure(fcinfo, ARG_CONFIDENCE,
									  "every answer is within 3 alpha");
	request->method = dp_bridge_sparse_method(fcinfo, ARG_METHOD);
}

static void
read_call(FunctionCallInfo fcinfo, weights_call *call)
{
	MemSet(call, 0, sizeof(*call));
	call->relid = dp_session_relation(fcinfo, ARG_RELATION,
									  "dp_weights_open");
	dp_bridge_require_argument(fcinfo, ARG_COLUMNS, "columns",
							   "Name columns with public values.");
	read_numbers(fcinfo, call);
	call->universe =
		dp_workload_make_universe(call->relid,
								  PG_GETARG_ARRAYTYPE_P(ARG_COLUMNS),
								  PG_ARGISNULL(ARG_BINS) ? NULL :
								  PG_GETARG_ARRAYTYPE_P(ARG_BINS),
								  DP_UNIVERSE_CELLS);
	call->request.cells = call->universe->size;
}

/* ---- the noisy number of rows ---- */

typedef struct count_charge
{
	const dp_reading *reading;
	dp_rational epsilon;
	dp_fixed	price;
} count_charge;

/* dp_reader_charge */
static void
charge_count(void *context)
{
	const count_charge *charge = context;
	const dp_reading *reading = charge->reading;
	dp_ledger_request request;
	dp_ledger_receipt receipt;

	MemSet(&request, 0, sizeof(request));
	namestrcpy(&request.dataset, reading->dataset);
	strlcpy(request.mechanism, "discrete Laplace: n of multiplicative weights",
			DP_MECHANISM_LENGTH);
	request.charge.epsilon = charge->price;
	dp_bridge_check_status(dp_acct_rho_from_laplace(reading->sensitivity,
													&charge->epsilon,
													&request.charge.rho),
						   "charge the number of rows");
	request.releases = 1;
	request.fingerprint = reading->fingerprint;
	request.replace_one = reading->standing.replace_one;
	dp_ledger_charge(&request, &receipt);
}

/* Charges `price`, durably, before it reads. */
static int64
noisy_count(dp_reading *reading, dp_fixed price)
{
	count_charge charge = {reading};

	charge.price = price;
	dp_bridge_check_status(dp_acct_fixed_to_rational(price, &charge.epsilon),
						   "count the rows");
	return dp_workload_count_rows(reading, &charge.epsilon, -MAX_N, MAX_N,
								  charge_count, &charge);
}

/* The count is a charge of its own, made whether or not a plan is found. */
static void
check_count_price(const dp_reading *reading, dp_fixed price)
{
	dp_fixed	floor = dp_ledger_floor(&reading->standing);

	if (price > 0 && price >= floor)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("epsilon is too small for a noisy count of rows"),
			 errdetail("One part in %d of it, %s, is charged for the count; "
					   "no charge on dataset \"%s\" may be below %s.",
					   DP_WORKLOAD_COUNT_SHARE,
					   dp_bridge_fixed_to_cstring(price), reading->dataset,
					   dp_bridge_fixed_to_cstring(Max(floor, 1))),
			 errhint("Use a larger epsilon, or give n.")));
}

static void
count_rows(weights_call *call, dp_reading *reading)
{
	dp_fixed	price = call->epsilon / DP_WORKLOAD_COUNT_SHARE;
	int64		n;

	check_count_price(reading, price);
	n = noisy_count(reading, price);
	if (n < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the noisy number of rows is " INT64_FORMAT, n),
				 errdetail("So few rows cannot be told from none. Epsilon %s "
						   "was charged for the count.",
						   dp_bridge_fixed_to_cstring(price)),
				 errhint("Use a larger epsilon, or give n.")));
	call->request.n = n;
	call->request.epsilon = call->epsilon - price;
}

/* ---- the plan ---- */

static void
fill_terms(const weights_call *call, const dp_reading *reading,
		   dp_session_terms *terms)
{
	MemSet(terms, 0, sizeof(*terms));
	terms->kind = DP_SESSION_WEIGHTS;
	terms->relid = call->relid;
	namestrcpy(&terms->dataset, reading->dataset);
	terms->sensitivity = reading->sensitivity;
	terms->threshold = call->plan.threshold;
	terms->questions = call->request.questions;
	terms->cutoff = (int32) call->plan.updates;
	terms->beta = dp_acct_fixed_approx(call->request.beta);
	terms->replace_one = reading->standing.replace_one;
	terms->plan = call->plan.sparse;
}

static int64
open_planned(const weights_call *call, const dp_reading *reading)
{
	dp_weights_details details = {call->universe, call->request.n,
	call->plan.alpha, call->plan.step};
	dp_session_terms terms;

	fill_terms(call, reading, &terms);
	return dp_session_open(&terms, dp_session_write_weights(&details),
						   (int32) Min(terms.questions, PG_INT32_MAX),
						   reading->fingerprint,
						   psprintf("multiplicative weights, %s: "
									INT64_FORMAT " cells, cutoff %d, "
									INT64_FORMAT " questions",
									dp_acct_sparse_name(terms.plan.method),
									call->universe->size, terms.cutoff,
									terms.questions));
}

/* 3 alpha n in whole rows; n is at most MAX_N, so nothing overflows. */
static int64
rows_off(const weights_call *call)
{
	return (int64) (3 * call->plan.alpha * (dp_uint128) call->request.n /
					DP_FIXED_ONE);
}

static void
tell_session(int64 id, const weights_call *call, const dp_reading *reading)
{
	const dp_weights_plan *plan = &call->plan;
	double		alpha = dp_acct_fixed_approx(plan->alpha);
	dp_fixed	for_n = call->epsilon - call->request.epsilon;

	ereport(NOTICE,
			(errmsg("session " INT64_FORMAT ": with probability %s every "
					"answer is within %.4g of the true fraction", id,
					dp_bridge_fixed_to_cstring(DP_FIXED_ONE -
											   call->request.beta),
					3 * alpha),
			 errdetail("Universe of %s; n " INT64_FORMAT "%s; alpha %.4g, 3 "
					   "alpha %.4g or " INT64_FORMAT " rows; at most %s and "
					   "%s; method %s.%s  %s",
					   dp_session_tell_number(call->universe->size, "cell"),
					   call->request.n, for_n > 0 ?
					   " (noisy, which adds its own error)" : "", alpha,
					   3 * alpha, rows_off(call),
					   dp_session_tell_number(plan->updates, "update"),
					   dp_session_tell_number(call->request.questions,
											  "question"),
					   dp_acct_sparse_name(plan->sparse.method),
					   dp_reading_rows_text(reading),
					   dp_session_tell_charge(&plan->sparse.charge, for_n,
											  reading->dataset)),
			 plan->alpha >= DP_FIXED_ONE / 9 ?
			 errhint("Answers may be off by a third of all rows. Use a larger "
					 "epsilon, a delta, fewer cells, fewer questions or more "
					 "rows; dp_weights_error shows what they achieve.") : 0));
}

/* ---- SQL ---- */

PG_FUNCTION_INFO_V1(dp_session_sql_weights_open);

/*
 * dp_session_sql_weights_open
 *	  dp_weights_open(relation, columns, queries, epsilon, n, bins, alpha,
 *	  delta, confidence, method): the session's id.  See sql/82_weights.sql.
 */
Datum
dp_session_sql_weights_open(PG_FUNCTION_ARGS)
{
	const dp_reading_table all_rows = {0, NULL};
	weights_call call;
	dp_reading *reading;
	int64		id;

	read_call(fcinfo, &call);
	reading = dp_reading_of_tables(call.relid, call.universe->naxes,
								   call.universe->axes, 1, &all_rows);
	dp_reading_check_joined(reading);
	dp_ledger_check_price(&reading->standing, reading->dataset, call.epsilon);
	if (call.request.n == 0)
		count_rows(&call, reading);
	call.request.sensitivity = reading->sensitivity;
	dp_account_weights_plan(&call.request, call.request.epsilon < call.epsilon,
						   &call.plan);
	id = open_planned(&call, reading);
	tell_session(id, &call, reading);
	PG_RETURN_INT64(id);
}
