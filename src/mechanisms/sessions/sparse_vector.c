/*
 * sparse_vector.c
 *	  dp_sparse_vector and its sessions: parameters and plan, one call, open,
 *	  ask and close.
 */
#include "postgres.h"

#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "../../math/numbers/dp_numbers.h"
#include "../../math/noise/dp_noise.h"
#include "../../math/accounting/dp_accounting.h"
#include "../../base/dp_base.h"
#include "../../ledger/dp_ledger.h"
#include "../../query/split/dp_split.h"
#include "../../reader/dp_reader.h"
#include "../readings/dp_readings.h"
#include "dp_sessions.h"
#include "sessions_internal.h"

/* Places of the parameters among the arguments of a function. */
typedef struct dp_sparse_places
{
	int			threshold;
	int			cutoff;
	int			epsilon;
	int			questions;		/* -1: there is no such argument */
	int			alpha;
	int			delta;
	int			confidence;
	int			method;
	int			numeric;
} dp_sparse_places;

/* A call as it was requested, and its plan; all public. */
typedef struct dp_sparse_call
{
	dp_sparse_request request;
	Numeric		alpha;			/* wanted; NULL: whatever is reached */
	dp_session_terms terms;		/* of plan_sparse */
	char		mechanism[DP_MECHANISM_LENGTH]; /* for the ledger */
	const char *rows;			/* dp_readings_rows_text */
} dp_sparse_call;

/* ----------------
 *		Parameters of a sparse vector, and the plan for them.
 *
 * Nothing here reads a private row or charges.
 * ----------------
 */

#define MAX_THRESHOLD ((dp_int128) 1 << 62)

/* to_bigint: a released number, clamped to bigint. */
static int64
to_bigint(dp_int128 x)
{
	return x > PG_INT64_MAX ? PG_INT64_MAX :
		x < PG_INT64_MIN ? PG_INT64_MIN : (int64) x;
}

/* integer_text: in decimal digits, for messages. */
static char *
integer_text(dp_uint128 x)
{
	return dp_numeric_text(dp_base_int128_to_numeric((dp_int128) x));
}

/* ---- arguments ---- */

/* Counts are integers, so a threshold is rounded up. */
static int64
sparse_vector_read_threshold(FunctionCallInfo fcinfo, int place)
{
	Numeric		x = dp_base_number(fcinfo, place);
	dp_int128	threshold = MAX_THRESHOLD + 1;

	dp_base_require_argument(fcinfo, place, "threshold",
							 "Give a number of rows.");
	if (!numeric_is_nan(x) && !numeric_is_inf(x))
	{
		Numeric		ceiling = dp_numeric_call1(numeric_ceil, x);

		if (!dp_base_numeric_to_int128(ceiling, &threshold))
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
 * read_sparse
 *	  The parameters of a call; what depends on the relation is left open.
 *
 * Errors: 22004 a NULL where none is allowed, 22023 a bad value.
 */
static void
read_sparse(FunctionCallInfo fcinfo, const dp_sparse_places *places,
			dp_sparse_call *out)
{
	dp_sparse_request *request = &out->request;

	MemSet(out, 0, sizeof(*out));
	out->terms.kind = DP_SESSION_SPARSE_VECTOR;
	out->terms.threshold = sparse_vector_read_threshold(fcinfo,
														places->threshold);
	dp_base_require_argument(fcinfo, places->cutoff, "cutoff",
							 "Leave it out for 1.");
	request->cutoff = read_positive(PG_GETARG_INT32(places->cutoff),
									"cutoff");
	(void) dp_base_epsilon(fcinfo, places->epsilon, &request->epsilon);
	if (places->questions >= 0)
	{
		dp_base_require_argument(fcinfo, places->questions, "questions",
								 "Leave it out for 1000.");
		request->questions =
			read_positive(PG_GETARG_INT64(places->questions), "questions");
	}
	request->delta = dp_sessions_delta(fcinfo, places->delta);
	request->beta = dp_base_failure(fcinfo, places->confidence,
									"every answer is right within alpha");
	request->method = dp_base_sparse_method(fcinfo, places->method);
	out->alpha = dp_base_number(fcinfo, places->alpha);
	dp_base_require_argument(fcinfo, places->numeric, "numeric_answers",
							 "Leave it out for false.");
	request->numeric = PG_GETARG_BOOL(places->numeric);
}

/* ---- the plan ---- */

/* An alpha that was asked for must be reached. */
static void
check_alpha(const dp_sparse_call *call)
{
	dp_uint128	least = call->terms.plan.alpha;
	Numeric		reached = dp_base_int128_to_numeric((dp_int128) least);

	if (!numeric_is_nan(call->alpha) &&
		dp_numeric_compare(reached, call->alpha) <= 0)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("alpha %s cannot be reached",
					dp_numeric_text(call->alpha)),
			 errdetail("The least alpha for these parameters is %s, at "
					   "confidence %s.", dp_numeric_text(reached),
					   dp_base_fixed_to_cstring(DP_FIXED_ONE -
												call->request.beta)),
			 errhint("Ask for alpha %s, or use a larger epsilon, fewer "
					 "questions, a smaller cutoff or a lower confidence.",
					 dp_numeric_text(reached))));
}

static void
sparse_vector_make_plan(const dp_sparse_request *request, dp_sparse_plan *plan)
{
	dp_status	status = dp_accounting_sparse_plan(request, plan);

	if (status == DP_E_RANGE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("method \"%s\" cannot use these parameters",
						dp_accounting_sparse_name(request->method)),
				 errdetail("Epsilon is too small to be divided, confidence is "
						   "too close to 1, or the book's formula for a delta "
						   "does not hold for this epsilon."),
				 errhint("Use method best, or less extreme numbers.")));
	dp_base_check_status(status, "plan a sparse vector");
}

/*
 * plan_sparse
 *	  Plan the call on the counts of a reading, and price it.
 *
 * Counts all move one way when a unit comes or goes, so the family is
 * monotone; not when a unit is replaced.  There cannot be more "above"s than
 * questions, so no more are paid for.
 *
 * Errors: 22023 epsilon outside what the owner allows, or an alpha that is
 * not reached; 22023, 22003 no such plan.
 */
static void
plan_sparse(dp_sparse_call *call, const dp_reading *reading,
			Oid relid, int64 questions)
{
	dp_sparse_request *request = &call->request;
	dp_session_terms *terms = &call->terms;

	dp_ledger_check_price(&reading->standing, reading->dataset,
						  request->epsilon);
	request->sensitivity = dp_readings_rows(reading);
	request->monotone = !reading->standing.replace_one;
	request->questions = questions;
	request->cutoff = Min(request->cutoff, questions);
	sparse_vector_make_plan(request, &terms->plan);
	if (call->alpha != NULL)
		check_alpha(call);
	terms->relid = relid;
	namestrcpy(&terms->dataset, reading->dataset);
	terms->questions = questions;
	terms->cutoff = (int32) request->cutoff;
	terms->beta = dp_accounting_fixed_approx(request->beta);
	terms->replace_one = reading->standing.replace_one;
	terms->sensitivity = dp_readings_rows(reading);
	call->rows = dp_readings_rows_text(reading);
	snprintf(call->mechanism, DP_MECHANISM_LENGTH,
			 "sparse vector, %s: threshold " INT64_FORMAT
			 ", cutoff %d, " INT64_FORMAT " questions%s",
			 dp_accounting_sparse_name(terms->plan.method), terms->threshold,
			 terms->cutoff, questions,
			 request->numeric ? ", numeric answers" : "");
}

/* ----------------
 *		What a call says of its accuracy and of what it was charged, in
 *		NOTICEs.
 *
 * All of it is public: parameters, plans and the budget of the asking role.
 * ----------------
 */

/* The rest of the payer's budget after the charge, in words. */
static char *
remaining_budget_text(const char *dataset)
{
	dp_ledger_standing standing;
	dp_fixed	left;

	dp_ledger_read_standing(dataset, &standing);
	if (!standing.found || standing.exempt)
		return pstrdup("The asking role is not limited.");
	left = dp_ledger_remaining(&standing.limit, &standing.spent);
	if (standing.capped)
		left = Min(left, dp_ledger_remaining(&standing.cap,
											 &standing.cap_spent));
	return psprintf("Budget of %s: epsilon %s remains.",
					NameStr(standing.payer),
					dp_base_epsilon_text(left, DP_ROUND_DOWN));
}

static char *
charged_epsilon_text(dp_fixed epsilon)
{
	return epsilon == DP_FIXED_INFINITE ? "infinite" :
		dp_base_epsilon_text(epsilon, DP_ROUND_UP);
}

/*
 * dp_sessions_charge_text
 *	  A charge that was made, and what remains, as sentences; `for_n` was
 *	  charged in addition for a number of rows; 0: nothing was.
 */
char *
dp_sessions_charge_text(const dp_charge *charge, dp_fixed for_n,
						const char *dataset)
{
	return psprintf("Charged: epsilon %s, delta %s, rho %s%s%s.  %s",
					charged_epsilon_text(charge->epsilon),
					dp_base_delta_text(charge->delta, DP_ROUND_UP),
					dp_base_epsilon_text(charge->rho, DP_ROUND_UP),
					for_n == 0 ? "" : ", and for n epsilon ",
					for_n == 0 ? "" : dp_base_epsilon_text(for_n,
														   DP_ROUND_UP),
					remaining_budget_text(dataset));
}

/* dp_sessions_number_text: "1 update", "2 updates". */
char *
dp_sessions_number_text(int64 n, const char *what)
{
	return psprintf(INT64_FORMAT " %s%s", n, what, n == 1 ? "" : "s");
}

/* With such an alpha a count of 0 may be called "above". */
static bool
is_vague(const dp_session_terms *terms)
{
	return terms->threshold > 0 &&
		terms->plan.alpha >= (dp_uint128) terms->threshold;
}

/*
 * notice_sparse
 *	  The accuracy and the charge of a sparse vector; `id` is its session's, 0
 *	  for a call without one.
 */
static void
notice_sparse(int64 id, const dp_sparse_call *call)
{
	const dp_session_terms *terms = &call->terms;

	ereport(NOTICE,
			(errmsg("%swith probability %s every answer is right within "
					"alpha %s rows",
					id == 0 ? "" : psprintf("session " INT64_FORMAT ": ", id),
					dp_base_fixed_to_cstring(DP_FIXED_ONE -
											 call->request.beta),
					integer_text(terms->plan.alpha)),
			 errdetail("Method %s; at most %s, \"above\" at most %s.%s  %s",
					   dp_accounting_sparse_name(terms->plan.method),
					   dp_sessions_number_text(terms->questions, "question"),
					   terms->cutoff == 1 ? "once" :
					   dp_sessions_number_text(terms->cutoff, "time"),
					   call->rows,
					   dp_sessions_charge_text(&terms->plan.charge, 0,
											   NameStr(terms->dataset))),
			 is_vague(terms) ?
			 errhint("Alpha is not below the threshold, so a count of 0 may "
					 "be \"above\". Use a larger epsilon, a smaller cutoff, "
					 "fewer questions or a higher threshold; "
					 "dp_sparse_vector_error shows what they achieve.") : 0));
}

/* ----------------
 *		dp_sparse_vector: which of many predicates hold for at least a
 *		threshold of rows, for one charge.
 *
 * The order is that of every private query: the predicates are verified, the
 * plan is made from public numbers, the charge becomes durable, all counts are
 * read in one scan; then, in the process that reads, they are compared with
 * the noisy threshold one after the other, and only the answers leave it.
 * ----------------
 */

PG_FUNCTION_INFO_V1(dp_session_sql_sparse_vector);

#define COLUMNS 4				/* query, predicate, above, answer */

/* ---- where the rows are read ---- */

/* One answer, in the order of the predicates. */
typedef struct batch_answer
{
	bool		above;
	bool		numeric;		/* answer is set */
	dp_int128	answer;
} batch_answer;

static void
arm(const dp_session_terms *terms, const dp_threshold_law *law,
	dp_int128 *armed)
{
	dp_int128	threshold = (dp_int128) terms->threshold + terms->plan.offset;

	dp_base_check_status(dp_noise_threshold_arm(dp_base_source(), law,
												threshold, armed),
						 "arm a threshold");
}

static void *
begin(const void *data, Size size, int64 ncounts, dp_reader_source source,
	  void *context)
{
	dp_session_terms *terms = palloc(sizeof(dp_session_terms));

	memcpy(terms, data, sizeof(dp_session_terms));
	return terms;
}

/*
 * Answer the predicates in their order, until the cutoff.  How many are
 * answered follows from the answers, which are released.
 */
static void
finish(void *state, const int64 *counts, dp_reader_sink sink, void *context)
{
	const dp_session_terms *terms = state;
	dp_source  *source = dp_base_source();
	dp_threshold_law law;
	dp_int128	armed;
	batch_answer *answers = palloc0(sizeof(batch_answer) * terms->questions);
	int32		found = 0;
	int64		i;

	dp_base_check_status(dp_accounting_sparse_law(&terms->plan, &law),
						 "make the noise of a sparse vector");
	arm(terms, &law, &armed);
	for (i = 0; i < terms->questions && found < terms->cutoff; i++)
	{
		batch_answer *answer = &answers[i];

		CHECK_FOR_INTERRUPTS();
		dp_base_check_status(dp_noise_threshold_test(source, &law, armed,
													 counts[i],
													 &answer->above),
							 "compare with a threshold");
		answer->numeric = answer->above && law.numeric;
		if (answer->numeric)
			dp_base_check_status(dp_noise_threshold_answer(source, &law,
														   counts[i],
														   &answer->answer),
								 "draw an answer");
		if (answer->above && ++found < terms->cutoff && terms->plan.fresh)
			arm(terms, &law, &armed);
	}
	explicit_bzero(&armed, sizeof(armed));
	sink(context, answers, sizeof(batch_answer) * i);
}

static const dp_use_methods methods = {begin, finish};

/* dp_sessions_init: from _PG_init, in every process. */
void
dp_sessions_init(void)
{
	dp_ledger_register_task(DP_TASK_SESSION, &dp_sessions_tasks);
	dp_sessions_question_init();
	dp_readings_register(DP_USE_SPARSE_VECTOR, &methods);
}

/* ---- the connection's side ---- */

typedef struct batch
{
	const dp_sparse_call *call;
	const dp_reading *reading;
	List	   *texts;
	int			answered;
	ReturnSetInfo *result;
} batch;

/* dp_reader_charge */
static void
sparse_vector_charge_call(void *context)
{
	const batch *b = context;
	const dp_sparse_call *call = b->call;
	const dp_reading *reading = b->reading;
	dp_ledger_request request;
	dp_ledger_receipt receipt;

	MemSet(&request, 0, sizeof(request));
	request.dataset = call->terms.dataset;
	strlcpy(request.mechanism, call->mechanism, DP_MECHANISM_LENGTH);
	request.charge = call->terms.plan.charge;
	request.releases = (int32) call->terms.questions;
	request.fingerprint = reading->fingerprint;
	request.replace_one = call->terms.replace_one;
	dp_ledger_charge(&request, &receipt);
	notice_sparse(0, call);
}

static void
sparse_vector_put_answer(batch *b, const batch_answer *answer)
{
	Datum		values[COLUMNS];
	bool		nulls[COLUMNS] = {false};

	values[0] = Int32GetDatum(b->answered + 1);
	values[1] = CStringGetTextDatum(list_nth(b->texts, b->answered));
	values[2] = BoolGetDatum(answer->above);
	values[3] = Int64GetDatum(to_bigint(answer->answer));
	nulls[3] = !answer->numeric;
	tuplestore_putvalues(b->result->setResult, b->result->setDesc, values,
						 nulls);
	b->answered++;
}

/* dp_reader_sink: of all answers */
static void
put_answers(void *context, const void *data, Size size)
{
	const batch_answer *answers = data;
	Size		i;

	for (i = 0; i < size / sizeof(batch_answer); i++)
		sparse_vector_put_answer(context, &answers[i]);
}

/*
 * dp_session_sql_sparse_vector
 *	  dp_sparse_vector(relation, queries, threshold, cutoff, epsilon,
 *	  alpha, delta, confidence, method, numeric_answers): see
 *	  sql/80_sparse_vector.sql.
 */
Datum
dp_session_sql_sparse_vector(PG_FUNCTION_ARGS)
{
	const dp_sparse_places places = {2, 3, 4, -1, 5, 6, 7, 8, 9};
	Oid			relid = dp_sessions_relation(fcinfo, 0, "dp_sparse_vector");
	dp_sparse_call call;
	dp_reading *reading;
	batch		b = {&call};
	dp_reading_use use = {DP_USE_SPARSE_VECTOR, &call.terms,
		sizeof(dp_session_terms), NULL, sparse_vector_charge_call, put_answers,
		&b};
	int			left;

	InitMaterializedSRF(fcinfo, 0);
	dp_base_require_argument(fcinfo, 1, "queries",
							 "Give an array of SQL conditions.");
	b.texts = dp_split_predicate_texts(PG_GETARG_ARRAYTYPE_P(1));
	read_sparse(fcinfo, &places, &call);
	reading = dp_readings_of_predicates(relid, b.texts);
	plan_sparse(&call, reading, relid, list_length(b.texts));
	b.reading = reading;
	b.result = (ReturnSetInfo *) fcinfo->resultinfo;
	dp_readings_run(reading, &use);
	left = list_length(b.texts) - b.answered;
	if (left > 0)
		ereport(NOTICE,
				(errmsg("cutoff %d is reached: %d of %d predicates were not "
						"answered", call.terms.cutoff, left,
						list_length(b.texts))));
	return (Datum) 0;
}

/* ----------------
 *		dp_sparse_vector_open, _ask, _close: one question at a time, each
 *		chosen after seeing the answers before it.
 *
 * sessions_internal.h has the design.  Such a session keeps no details of its
 * own. ----------------
 */

PG_FUNCTION_INFO_V1(dp_session_sql_sparse_open);
PG_FUNCTION_INFO_V1(dp_session_sql_sparse_ask);
PG_FUNCTION_INFO_V1(dp_session_sql_sparse_close);

/* ---- open ---- */

/*
 * dp_session_sql_sparse_open
 *	  dp_sparse_vector_open(relation, threshold, cutoff, epsilon, questions,
 *	  alpha, delta, confidence, method, numeric_answers): the session's id.
 *	  See sql/80_sparse_vector.sql.
 */
Datum
dp_session_sql_sparse_open(PG_FUNCTION_ARGS)
{
	const dp_sparse_places places = {1, 2, 3, 4, 5, 6, 7, 8, 9};
	Oid			relid = dp_sessions_relation(fcinfo, 0,
											 "dp_sparse_vector_open");
	dp_sparse_call call;
	dp_reading *reading;
	int64		id;

	read_sparse(fcinfo, &places, &call);

	/* What holds for one predicate holds for any: rights, sensitivity. */
	reading = dp_readings_of_predicates(relid, list_make1("true"));
	dp_readings_check_joined(reading);
	plan_sparse(&call, reading, relid, call.request.questions);
	id = dp_sessions_open(&call.terms, "",
						  (int32) Min(call.terms.questions, PG_INT32_MAX),
						  reading->fingerprint, call.mechanism);
	notice_sparse(id, &call);
	PG_RETURN_INT64(id);
}

/* ---- ask ---- */

static Datum
sparse_vector_reply_row(FunctionCallInfo fcinfo, const dp_session_terms *terms,
						const dp_session_reply *reply)
{
	Datum		values[4];
	bool		nulls[4] = {false};

	values[0] = BoolGetDatum(reply->above);
	values[1] = Int64GetDatum(to_bigint(reply->answer));
	nulls[1] = !reply->numeric;
	values[2] = Int64GetDatum(terms->questions - reply->asked);
	values[3] = Int32GetDatum(terms->cutoff - reply->above_count);
	return dp_base_make_row(fcinfo, values, nulls);
}

/*
 * dp_session_sql_sparse_ask
 *	  dp_sparse_vector_ask(session, predicate): see
 *	  sql/80_sparse_vector.sql.
 */
Datum
dp_session_sql_sparse_ask(PG_FUNCTION_ARGS)
{
	int64		id = dp_sessions_id(fcinfo);
	dp_session *session;
	dp_session_question question;
	dp_session_reply reply;
	dp_reading *reading;
	char	   *predicate = dp_sessions_predicate(fcinfo);

	dp_sessions_check_predicate(predicate);
	session = dp_sessions_find(id, DP_SESSION_SPARSE_VECTOR, false);
	reading = dp_readings_of_predicates(session->terms.relid,
										list_make1(predicate));
	MemSet(&question, 0, sizeof(question));
	question.predicate = predicate;
	question.seen = -1;
	dp_sessions_ask(session, reading, &question, &reply);
	return sparse_vector_reply_row(fcinfo, &session->terms, &reply);
}

/* ---- close ---- */

/*
 * dp_session_sql_sparse_close
 *	  dp_sparse_vector_close(session): see sql/80_sparse_vector.sql.
 */
Datum
dp_session_sql_sparse_close(PG_FUNCTION_ARGS)
{
	dp_sessions_close(dp_sessions_id(fcinfo), DP_SESSION_SPARSE_VECTOR);
	PG_RETURN_VOID();
}
