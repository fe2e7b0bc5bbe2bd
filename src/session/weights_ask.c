/*
 * weights_ask.c
 *	  Questions to a session of online multiplicative weights, and what its
 *	  hypothesis says free of charge.
 *
 * A question compares the exact count with the hypothesis's guess, an integer:
 * only the sparse vector under the session sees how far they are apart.  Near
 * enough, the guess is the answer; else the answer is a noisy count, from
 * which the hypothesis learns.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "weights.h"

/* The column that dp_weights_hypothesis adds to the universe's. */
#define OWN_COLUMN "probability double precision"

/* ---- ask ---- */

/* A query's answer by the hypothesis; public. */
typedef struct weights_guess
{
	double		fraction;
	int64		count;
} weights_guess;

static void
make_guess(const dp_hypothesis *hypothesis, const dp_linear_query *query,
		   weights_guess *out)
{
	out->fraction = dp_session_hypothesis_fraction(hypothesis, query);
	out->count = dp_session_hypothesis_count(hypothesis, out->fraction);
}

/* One try; false when the hypothesis was no longer the newest. */
static bool
ask_once(const dp_session *session, const dp_universe *universe,
		 const dp_linear_query *query, weights_guess *guess,
		 dp_session_reply *reply)
{
	const dp_hypothesis *hypothesis = dp_session_hypothesis_of(session);
	dp_session_question question;

	make_guess(hypothesis, query, guess);
	MemSet(&question, 0, sizeof(question));
	question.predicate = query->text;
	question.weights = query->weights;
	question.distance = true;
	question.seen = hypothesis->updates;
	question.guess = guess->count;
	dp_session_ask(session, dp_workload_reading(universe, query), &question,
				   reply);
	return !reply->stale;
}

static Datum
reply_row(FunctionCallInfo fcinfo, const dp_session *session, int64 n,
		  const dp_session_reply *reply, const weights_guess *guess)
{
	int64		noisy = (int64) Max(Min(reply->answer, (dp_int128) n), 0);
	Datum		values[5];
	bool		nulls[5] = {false};

	values[0] = Int64GetDatum(reply->above ? noisy : guess->count);
	values[1] = Float8GetDatum(reply->above ? (double) noisy / (double) n :
							   guess->fraction);
	values[2] = BoolGetDatum(reply->above);
	values[3] = Int64GetDatum(session->terms.questions - reply->asked);
	values[4] = Int32GetDatum(session->terms.cutoff - reply->above_count);
	return dp_bridge_make_row(fcinfo, values, nulls);
}

PG_FUNCTION_INFO_V1(dp_session_sql_weights_ask);
PG_FUNCTION_INFO_V1(dp_session_sql_weights_estimate);
PG_FUNCTION_INFO_V1(dp_session_sql_weights_hypothesis);
PG_FUNCTION_INFO_V1(dp_session_sql_weights_close);

/*
 * dp_session_sql_weights_ask
 *	  dp_weights_ask(session, predicate): see sql/82_weights.sql.
 */
Datum
dp_session_sql_weights_ask(PG_FUNCTION_ARGS)
{
	int64		id = dp_session_id(fcinfo);
	char	   *predicate = dp_session_predicate(fcinfo);
	dp_session *session = dp_session_find(id, DP_SESSION_WEIGHTS, false);
	dp_weights_details details;
	dp_linear_query *query;
	dp_session_reply reply;
	weights_guess guess;

	dp_session_check_predicate(predicate);
	dp_session_read_weights(session->details, &details);
	query = dp_workload_read_query(details.universe, predicate);
	while (!ask_once(session, details.universe, query, &guess, &reply))
	{
		CHECK_FOR_INTERRUPTS();
		session = dp_session_find(id, DP_SESSION_WEIGHTS, false);
	}
	return reply_row(fcinfo, session, details.n, &reply, &guess);
}

/* ---- free of charge ---- */

/*
 * dp_session_sql_weights_estimate
 *	  dp_weights_estimate(session, predicate): see sql/82_weights.sql.
 */
Datum
dp_session_sql_weights_estimate(PG_FUNCTION_ARGS)
{
	int64		id = dp_session_id(fcinfo);
	char	   *predicate = dp_session_predicate(fcinfo);
	dp_session *session = dp_session_find(id, DP_SESSION_WEIGHTS, true);
	const dp_hypothesis *hypothesis = dp_session_hypothesis_of(session);
	weights_guess guess;
	Datum		values[2];
	bool		nulls[2] = {false};

	make_guess(hypothesis,
			   dp_workload_read_query(hypothesis->details.universe,
									  predicate), &guess);
	values[0] = Int64GetDatum(guess.count);
	values[1] = Float8GetDatum(guess.fraction);
	return dp_bridge_make_row(fcinfo, values, nulls);
}

/* Require a column list, which a call in a SELECT list lacks. */
static void
require_from(const dp_session *session, const dp_universe *universe,
			 const ReturnSetInfo *rsinfo)
{
	if (rsinfo != NULL && IsA(rsinfo, ReturnSetInfo) &&
		(rsinfo->allowedModes & SFRM_Materialize) != 0 &&
		rsinfo->expectedDesc != NULL)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_SYNTAX_ERROR),
			 errmsg("dp_weights_hypothesis needs a column list"),
			 errhint("Write SELECT * FROM dp_weights_hypothesis("
					 INT64_FORMAT ") AS t(%s, " OWN_COLUMN ").", session->id,
					 dp_workload_columns_text(universe))));
}

static void
check_last_column(const dp_universe *universe, TupleDesc wanted)
{
	Form_pg_attribute last = TupleDescAttr(wanted, wanted->natts - 1);

	if (strcmp(NameStr(last->attname), "probability") == 0 &&
		last->atttypid == FLOAT8OID)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("column list must end with " OWN_COLUMN),
			 errdetail("Its last column must have this name and type; it is "
					   "%s %s.", quote_identifier(NameStr(last->attname)),
					   format_type_be(last->atttypid)),
			 errhint("Write AS t(%s, " OWN_COLUMN ").",
					 dp_workload_columns_text(universe))));
}

static void
put_cells(const dp_hypothesis *hypothesis, ReturnSetInfo *rsinfo)
{
	const dp_universe *universe = hypothesis->details.universe;
	Datum		values[DP_UNIVERSE_AXES + 1];
	bool		nulls[DP_UNIVERSE_AXES + 1];
	int64		cell;

	nulls[universe->naxes] = false;
	for (cell = 0; cell < universe->size; cell++)
	{
		CHECK_FOR_INTERRUPTS();
		dp_workload_values(universe, cell, values, nulls);
		values[universe->naxes] =
			Float8GetDatum(hypothesis->probability[cell]);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values,
							 nulls);
	}
}

/*
 * dp_session_sql_weights_hypothesis
 *	  dp_weights_hypothesis(session): see sql/82_weights.sql.
 */
Datum
dp_session_sql_weights_hypothesis(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	int64		id = dp_session_id(fcinfo);
	dp_session *session = dp_session_find(id, DP_SESSION_WEIGHTS, true);
	const dp_hypothesis *hypothesis;
	const dp_universe *universe;

	hypothesis = dp_session_hypothesis_of(session);
	universe = hypothesis->details.universe;
	require_from(session, universe, rsinfo);
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	dp_workload_check_columns(universe, rsinfo->setDesc, OWN_COLUMN);
	check_last_column(universe, rsinfo->setDesc);
	put_cells(hypothesis, rsinfo);
	return (Datum) 0;
}

/* ---- close ---- */

/*
 * dp_session_sql_weights_close
 *	  dp_weights_close(session): see sql/82_weights.sql.
 */
Datum
dp_session_sql_weights_close(PG_FUNCTION_ARGS)
{
	dp_session_close(dp_session_id(fcinfo), DP_SESSION_WEIGHTS);
	PG_RETURN_VOID();
}
