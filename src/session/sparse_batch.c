/*
 * sparse_batch.c
 *	  dp_sparse_vector: which of many predicates hold for at least so many
 *	  rows, for one charge.
 *
 * The order is that of every private query: the predicates are verified, the
 * plan is made from public numbers, the charge becomes durable, all counts are
 * read in one scan; then they are compared with the noisy threshold one after
 * the other, and only the answers leave.
 */
#include "postgres.h"

#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "sparse.h"

PG_FUNCTION_INFO_V1(dp_session_sql_sparse_vector);

#define COLUMNS 4				/* query, predicate, above, answer */

typedef struct batch_charge
{
	const dp_sparse_call *call;
	const dp_reading *reading;
} batch_charge;

/* dp_reader_charge */
static void
charge_call(void *context)
{
	const batch_charge *charge = context;
	const dp_sparse_call *call = charge->call;
	const dp_reading *reading = charge->reading;
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
	dp_session_tell_sparse(0, call);
}

static void
put_answer(ReturnSetInfo *result, int query, const char *predicate,
		   bool above, bool numeric, dp_int128 answer)
{
	Datum		values[COLUMNS];
	bool		nulls[COLUMNS] = {false};

	values[0] = Int32GetDatum(query);
	values[1] = CStringGetTextDatum(predicate);
	values[2] = BoolGetDatum(above);
	values[3] = Int64GetDatum(dp_session_to_bigint(answer));
	nulls[3] = !numeric;
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

static void
arm(const dp_session_terms *terms, const dp_threshold_law *law,
	dp_int128 *armed)
{
	dp_int128	threshold = (dp_int128) terms->threshold + terms->plan.offset;

	dp_bridge_check_status(dp_mech_threshold_arm(dp_bridge_source(), law,
												 threshold, armed),
						   "arm a threshold");
}

/*
 * Answer the predicates in their order, until the cutoff; how many were
 * answered.  How many that is follows from the answers, which are released.
 */
static int
answer_all(const dp_session_terms *terms, const int64 *counts, List *texts,
		   ReturnSetInfo *result)
{
	dp_source  *source = dp_bridge_source();
	dp_threshold_law law;
	dp_int128	armed;
	int32		found = 0;
	int			i;

	dp_bridge_check_status(dp_acct_sparse_law(&terms->plan, &law),
						   "make the noise of a sparse vector");
	arm(terms, &law, &armed);
	for (i = 0; i < list_length(texts) && found < terms->cutoff; i++)
	{
		dp_int128	answer = 0;
		bool		above;

		CHECK_FOR_INTERRUPTS();
		dp_bridge_check_status(dp_mech_threshold_test(source, &law, armed,
													  counts[i], &above),
							   "compare with a threshold");
		if (above && law.numeric)
			dp_bridge_check_status(dp_mech_threshold_answer(source, &law,
															counts[i],
															&answer),
								   "draw an answer");
		put_answer(result, i + 1, list_nth(texts, i), above,
				   above && law.numeric, answer);
		if (above && ++found < terms->cutoff && terms->plan.fresh)
			arm(terms, &law, &armed);
	}
	explicit_bzero(&armed, sizeof(armed));
	return i;
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
	Oid			relid = dp_session_relation(fcinfo, 0, "dp_sparse_vector");
	dp_sparse_call call;
	dp_reading *reading;
	batch_charge charge;
	List	   *texts;
	int64	   *counts;
	int			answered;

	InitMaterializedSRF(fcinfo, 0);
	dp_bridge_require_argument(fcinfo, 1, "queries",
							   "Give an array of SQL conditions.");
	texts = dp_query_predicate_texts(PG_GETARG_ARRAYTYPE_P(1));
	dp_session_read_sparse(fcinfo, &places, &call);
	reading = dp_reading_of_predicates(relid, texts);
	dp_session_plan_sparse(&call, reading, relid, list_length(texts));
	counts = palloc(sizeof(int64) * list_length(texts));

	charge.call = &call;
	charge.reading = reading;
	dp_reading_count(reading, counts, charge_call, &charge);
	answered = answer_all(&call.terms, counts, texts,
						  (ReturnSetInfo *) fcinfo->resultinfo);
	explicit_bzero(counts, sizeof(int64) * list_length(texts));
	if (answered < list_length(texts))
		ereport(NOTICE,
				(errmsg("cutoff %d is reached: %d of %d predicates were not "
						"answered", call.terms.cutoff,
						list_length(texts) - answered, list_length(texts))));
	return (Datum) 0;
}
