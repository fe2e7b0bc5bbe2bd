/*
 * sparse_session.c
 *	  dp_sparse_vector_open, _ask, _close: one question at a time, each chosen
 *	  after seeing the answers before it.
 *
 * session.h has the design.  Such a session keeps no details of its own.
 */
#include "postgres.h"

#include "session_sparse.h"

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
	Oid			relid = dp_session_relation(fcinfo, 0,
											"dp_sparse_vector_open");
	dp_sparse_call call;
	dp_reading *reading;
	int64		id;

	dp_session_read_sparse(fcinfo, &places, &call);

	/* What holds for one predicate holds for any: rights, sensitivity. */
	reading = dp_reading_of_predicates(relid, list_make1("true"));
	dp_reading_check_joined(reading);
	dp_session_plan_sparse(&call, reading, relid, call.request.questions);
	id = dp_session_open(&call.terms, "",
						 (int32) Min(call.terms.questions, PG_INT32_MAX),
						 reading->fingerprint, call.mechanism);
	dp_session_tell_sparse(id, &call);
	PG_RETURN_INT64(id);
}

/* ---- ask ---- */

static Datum
reply_row(FunctionCallInfo fcinfo, const dp_session_terms *terms,
		  const dp_session_reply *reply)
{
	Datum		values[4];
	bool		nulls[4] = {false};

	values[0] = BoolGetDatum(reply->above);
	values[1] = Int64GetDatum(dp_session_to_bigint(reply->answer));
	nulls[1] = !reply->numeric;
	values[2] = Int64GetDatum(terms->questions - reply->asked);
	values[3] = Int32GetDatum(terms->cutoff - reply->above_count);
	return dp_bridge_make_row(fcinfo, values, nulls);
}

/*
 * dp_session_sql_sparse_ask
 *	  dp_sparse_vector_ask(session, predicate): see
 *	  sql/80_sparse_vector.sql.
 */
Datum
dp_session_sql_sparse_ask(PG_FUNCTION_ARGS)
{
	int64		id = dp_session_id(fcinfo);
	dp_session *session;
	dp_session_question question;
	dp_session_reply reply;
	dp_reading *reading;
	char	   *predicate = dp_session_predicate(fcinfo);

	dp_session_check_predicate(predicate);
	session = dp_session_find(id, DP_SESSION_SPARSE_VECTOR, false);
	reading = dp_reading_of_predicates(session->terms.relid,
									   list_make1(predicate));
	MemSet(&question, 0, sizeof(question));
	question.predicate = predicate;
	question.seen = -1;
	dp_session_ask(session, reading, &question, &reply);
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
	dp_session_close(dp_session_id(fcinfo), DP_SESSION_SPARSE_VECTOR);
	PG_RETURN_VOID();
}
