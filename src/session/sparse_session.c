/*
 * sparse_session.c
 *	  dp_sparse_vector_open, _ask, _close: one question at a time, each chosen
 *	  after seeing the answers before it.
 *
 * session.h has the design.  Such a session keeps no details of its own.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "sparse.h"

PG_FUNCTION_INFO_V1(dp_session_sql_sparse_open);
PG_FUNCTION_INFO_V1(dp_session_sql_sparse_open_float);
PG_FUNCTION_INFO_V1(dp_session_sql_sparse_ask);
PG_FUNCTION_INFO_V1(dp_session_sql_sparse_close);

/* ---- open ---- */

/* What remains to the payer after the charge, in words. */
static char *
tell_budget(const char *dataset)
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
					dp_bridge_fixed_to_cstring(left));
}

static char *
tell_epsilon(dp_fixed epsilon)
{
	return epsilon == DP_FIXED_INFINITE ? "infinite" :
		dp_bridge_fixed_to_cstring(epsilon);
}

static void
tell_session(int64 id, const dp_sparse_call *call)
{
	const dp_session_terms *terms = &call->terms;
	const dp_charge *charge = &terms->plan.charge;

	ereport(NOTICE,
			(errmsg("session " INT64_FORMAT ": with probability %s every "
					"answer is right within alpha %s rows", id,
					dp_bridge_fixed_to_cstring(DP_FIXED_ONE -
											   call->request.beta),
					dp_session_integer_text(terms->plan.alpha)),
			 errdetail("Method %s; at most " INT64_FORMAT " questions, "
					   "\"above\" at most %d times.  Charged: epsilon %s, "
					   "delta %s, rho %s.  %s",
					   dp_acct_sparse_name(terms->plan.method),
					   terms->questions, terms->cutoff,
					   tell_epsilon(charge->epsilon),
					   dp_bridge_fixed_to_cstring(charge->delta),
					   dp_bridge_fixed_to_cstring(charge->rho),
					   tell_budget(NameStr(terms->dataset)))));
}

static Datum
open_session(FunctionCallInfo fcinfo, bool floats)
{
	const dp_sparse_places places = {1, 2, 3, 4, 5, 6, 7, 8, 9};
	Oid			relid = dp_session_relation(fcinfo, 0,
											"dp_sparse_vector_open");
	dp_sparse_call call;
	dp_reading *reading;
	int64		id;

	dp_session_read_sparse(fcinfo, floats, &places, &call);

	/* What holds for one predicate holds for any: rights, sensitivity. */
	reading = dp_reading_of_predicates(relid, list_make1("true"));
	dp_session_plan_sparse(&call, reading, relid, call.request.questions);
	id = dp_session_open(&call.terms, "",
						 (int32) Min(call.terms.questions, PG_INT32_MAX),
						 reading->fingerprint, call.mechanism);
	tell_session(id, &call);
	PG_RETURN_INT64(id);
}

/*
 * dp_session_sql_sparse_open
 *	  dp_sparse_vector_open(relation, threshold, cutoff, epsilon, questions,
 *	  numeric_answers, delta, confidence, method, alpha): the session's id.
 *	  See sql/80_sparse_vector.sql.
 */
Datum
dp_session_sql_sparse_open(PG_FUNCTION_ARGS)
{
	return open_session(fcinfo, false);
}

/* dp_session_sql_sparse_open_float: with double precision parameters. */
Datum
dp_session_sql_sparse_open_float(PG_FUNCTION_ARGS)
{
	return open_session(fcinfo, true);
}

/* ---- ask ---- */

static int64
session_argument(FunctionCallInfo fcinfo)
{
	dp_bridge_require_preload();
	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("session must not be NULL")));
	return PG_GETARG_INT64(0);
}

static Datum
reply_row(FunctionCallInfo fcinfo, const dp_session_terms *terms,
		  const dp_session_reply *reply)
{
	TupleDesc	desc;
	Datum		values[4];
	bool		nulls[4] = {false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = BoolGetDatum(reply->above);
	values[1] = Int64GetDatum(dp_session_to_bigint(reply->answer));
	nulls[1] = !reply->numeric;
	values[2] = Int64GetDatum(terms->questions - reply->asked);
	values[3] = Int32GetDatum(terms->cutoff - reply->above_count);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values,
											 nulls));
}

/*
 * dp_session_sql_sparse_ask
 *	  dp_sparse_vector_ask(session, predicate): see
 *	  sql/80_sparse_vector.sql.
 */
Datum
dp_session_sql_sparse_ask(PG_FUNCTION_ARGS)
{
	int64		id = session_argument(fcinfo);
	dp_session *session;
	dp_session_question question;
	dp_session_reply reply;
	dp_reading *reading;
	char	   *predicate;
	int64		count = 0;

	if (PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("predicate must not be NULL")));
	predicate = text_to_cstring(PG_GETARG_TEXT_PP(1));
	dp_session_check_predicate(predicate);
	session = dp_session_find(id, DP_SESSION_SPARSE_VECTOR, false);
	reading = dp_reading_of_predicates(session->terms.relid,
									   list_make1(predicate));
	dp_session_read(session, reading, &count);
	MemSet(&question, 0, sizeof(question));
	question.predicate = predicate;
	question.score = count;
	question.value = count;
	question.seen = -1;
	dp_session_ask(session, &question, &reply);
	explicit_bzero(&question, sizeof(question));
	explicit_bzero(&count, sizeof(count));
	return reply_row(fcinfo, &session->terms, &reply);
}

/* ---- close ---- */

/*
 * dp_session_sql_sparse_close
 *	  dp_sparse_vector_close(session): see sql/80_sparse_vector.sql.
 */
Datum
dp_session_sql_sparse_close(PG_FUNCTION_ARGS)
{
	dp_session_close(session_argument(fcinfo), DP_SESSION_SPARSE_VECTOR);
	PG_RETURN_VOID();
}
