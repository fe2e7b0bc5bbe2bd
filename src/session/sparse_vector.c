/*
 * sparse_vector.c
 *	  dp_sparse_vector: which of many predicates hold for at least a threshold
 *	  of rows, for one charge.
 *
 * The order is that of every private query: the predicates are verified, the
 * plan is made from public numbers, the charge becomes durable, all counts are
 * read in one scan; then, in the process that reads, they are compared with
 * the noisy threshold one after the other, and only the answers leave it.
 */
#include "postgres.h"

#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "session_sparse.h"

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

	dp_bridge_check_status(dp_mech_threshold_arm(dp_bridge_source(), law,
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
	dp_source  *source = dp_bridge_source();
	dp_threshold_law law;
	dp_int128	armed;
	batch_answer *answers = palloc0(sizeof(batch_answer) * terms->questions);
	int32		found = 0;
	int64		i;

	dp_bridge_check_status(dp_acct_sparse_law(&terms->plan, &law),
						   "make the noise of a sparse vector");
	arm(terms, &law, &armed);
	for (i = 0; i < terms->questions && found < terms->cutoff; i++)
	{
		batch_answer *answer = &answers[i];

		CHECK_FOR_INTERRUPTS();
		dp_bridge_check_status(dp_mech_threshold_test(source, &law, armed,
													  counts[i],
													  &answer->above),
							   "compare with a threshold");
		answer->numeric = answer->above && law.numeric;
		if (answer->numeric)
			dp_bridge_check_status(dp_mech_threshold_answer(source, &law,
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

/* dp_session_sparse_init: from _PG_init, in every process. */
void
dp_session_sparse_init(void)
{
	dp_reading_register(DP_USE_SPARSE_VECTOR, &methods);
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
charge_call(void *context)
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
	dp_session_tell_sparse(0, call);
}

static void
put_answer(batch *b, const batch_answer *answer)
{
	Datum		values[COLUMNS];
	bool		nulls[COLUMNS] = {false};

	values[0] = Int32GetDatum(b->answered + 1);
	values[1] = CStringGetTextDatum(list_nth(b->texts, b->answered));
	values[2] = BoolGetDatum(answer->above);
	values[3] = Int64GetDatum(dp_session_to_bigint(answer->answer));
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
		put_answer(context, &answers[i]);
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
	batch		b = {&call};
	dp_reading_use use = {DP_USE_SPARSE_VECTOR, &call.terms,
		sizeof(dp_session_terms), NULL, charge_call, put_answers, &b};
	int			left;

	InitMaterializedSRF(fcinfo, 0);
	dp_bridge_require_argument(fcinfo, 1, "queries",
							   "Give an array of SQL conditions.");
	b.texts = dp_block_predicate_texts(PG_GETARG_ARRAYTYPE_P(1));
	dp_session_read_sparse(fcinfo, &places, &call);
	reading = dp_reading_of_predicates(relid, b.texts);
	dp_session_plan_sparse(&call, reading, relid, list_length(b.texts));
	b.reading = reading;
	b.result = (ReturnSetInfo *) fcinfo->resultinfo;
	dp_reading_run(reading, &use);
	left = list_length(b.texts) - b.answered;
	if (left > 0)
		ereport(NOTICE,
				(errmsg("cutoff %d is reached: %d of %d predicates were not "
						"answered", call.terms.cutoff, left,
						list_length(b.texts))));
	return (Datum) 0;
}
