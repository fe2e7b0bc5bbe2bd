/*
 * weights.c
 *	  Multiplicative weights: sessions are opened, asked and shown; their
 *	  hypothesis, and one step on a public one.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/nodes.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "../../math/numbers/dp_numbers.h"
#include "../../math/noise/dp_noise.h"
#include "../../math/accounting/dp_accounting.h"
#include "../../math/models/dp_models.h"
#include "../../base/dp_base.h"
#include "../../ledger/dp_ledger.h"
#include "../../measure/exact/dp_exact.h"
#include "../readings/dp_readings.h"
#include "../workload/dp_workload.h"
#include "../accounting_functions/dp_accounting_functions.h"
#include "sessions_internal.h"

/* What dp_session.details holds. */
typedef struct dp_weights_details
{
	dp_universe *universe;
	int64		n;				/* public number of rows */
	dp_fixed	alpha;			/* answers are within 3 alpha n */
	dp_fixed	step;			/* of an update at least: eta */
} dp_weights_details;

/* A public distribution over the cells (weights.c owns it). */
typedef struct dp_hypothesis
{
	int64		session;
	char	   *text;			/* the session's details */
	dp_weights_details details;
	int32		updates;		/* "above"s that it has learned from */
	int64		asked_at;		/* which question the last of them was */
	double		slack;			/* most rows that an answer is off by */
	double	   *probability;	/* adds up to 1 */
} dp_hypothesis;

/* ----------------
 *		dp_weights_open: the universe, the number of rows, the plan, the
 *		charge.
 *
 * Without n, a twentieth of epsilon pays for a noisy number of rows: a release
 * and a charge of its own, made first, because the plan needs n.  The rest of
 * epsilon pays for the session; the two charges add up to epsilon exactly.
 * ----------------
 */

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

/* write_weights: as JSON, for dp_session.details. */
static char *
write_weights(const dp_weights_details *details)
{
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfoString(&json, "{\"columns\": ");
	escape_json(&json, dp_workload_columns_text(details->universe));
	appendStringInfo(&json, ", \"n\": " INT64_FORMAT ", \"alpha\": %s",
					 details->n, dp_base_fixed_to_cstring(details->alpha));
	appendStringInfo(&json, ", \"step\": %s, \"universe\": ",
					 dp_base_fixed_to_cstring(details->step));
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
weights_read_fixed(Datum json, const char *name)
{
	char	   *text = read_text(json, name);
	dp_fixed	fixed = 0;

	if (dp_base_numeric_to_fixed(dp_base_text_to_numeric(text),
								 DP_ROUND_DOWN, &fixed) != DP_NUMBER_OK)
		elog(ERROR, "unexpected number \"%s\" in a session", text);
	return fixed;
}

/*
 * read_weights
 *	  What a session of this kind keeps, in the current context.
 *
 * Errors: those of dp_domains_axis_from_list.
 */
static void
read_weights(const char *text, dp_weights_details *out)
{
	Datum		json = CStringGetTextDatum(text);
	char	   *universe = read_text(json, "universe");

	out->universe = dp_workload_from_list(castNode(List,
												   stringToNode(universe)));
	out->n = pg_strtoint64(read_text(json, "n"));
	out->alpha = weights_read_fixed(json, "alpha");
	out->step = weights_read_fixed(json, "step");
}

/* ---- arguments ---- */

static int64
weights_read_n(int64 n)
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

	dp_base_require_argument(fcinfo, ARG_QUERIES,
							 "the number of questions, queries,",
							 "Give the largest number that will be asked.");
	request->questions = PG_GETARG_INT32(ARG_QUERIES);
	if (request->questions < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the number of questions, queries, must be at least "
						"1"),
				 errhint("Give the largest number that will be asked.")));
	(void) dp_base_epsilon(fcinfo, ARG_EPSILON, &call->epsilon);
	request->epsilon = call->epsilon;
	if (!PG_ARGISNULL(ARG_N))
		request->n = weights_read_n(PG_GETARG_INT64(ARG_N));
	request->alpha = dp_accounting_functions_alpha(
		dp_base_number(fcinfo, ARG_ALPHA));
	request->delta = dp_sessions_delta(fcinfo, ARG_DELTA);
	request->beta = dp_base_failure(fcinfo, ARG_CONFIDENCE,
									"every answer is within 3 alpha");
	request->method = dp_base_sparse_method(fcinfo, ARG_METHOD);
}

static void
read_call(FunctionCallInfo fcinfo, weights_call *call)
{
	MemSet(call, 0, sizeof(*call));
	call->relid = dp_sessions_relation(fcinfo, ARG_RELATION,
									   "dp_weights_open");
	dp_base_require_argument(fcinfo, ARG_COLUMNS, "columns",
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
	dp_base_check_status(dp_accounting_rho_from_laplace(
							dp_readings_rows(reading), &charge->epsilon,
							&request.charge.rho),
						 "charge the number of rows");
	request.releases = 1;
	request.fingerprint = reading->fingerprint;
	request.replace_one = reading->standing.replace_one;
	dp_ledger_charge(&request, &receipt);
}

/* Charges `price`, durably, before it reads. */
static int64
weights_noisy_count(dp_reading *reading, dp_fixed price)
{
	count_charge charge = {reading};

	charge.price = price;
	dp_base_check_status(dp_accounting_fixed_to_rational(price,
														 &charge.epsilon),
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
					   dp_base_fixed_to_cstring(price), reading->dataset,
					   dp_base_fixed_to_cstring(Max(floor, 1))),
			 errhint("Use a larger epsilon, or give n.")));
}

static void
count_rows(weights_call *call, dp_reading *reading)
{
	dp_fixed	price = call->epsilon / DP_WORKLOAD_COUNT_SHARE;
	int64		n;

	check_count_price(reading, price);
	n = weights_noisy_count(reading, price);
	if (n < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the noisy number of rows is " INT64_FORMAT, n),
				 errdetail("So few rows cannot be told from none. Epsilon %s "
						   "was charged for the count.",
						   dp_base_fixed_to_cstring(price)),
				 errhint("Use a larger epsilon, or give n.")));
	call->request.n = n;
	call->request.epsilon = call->epsilon - price;
}

/* ---- the plan ---- */

static void
weights_fill_terms(const weights_call *call, const dp_reading *reading,
				   dp_session_terms *terms)
{
	MemSet(terms, 0, sizeof(*terms));
	terms->kind = DP_SESSION_WEIGHTS;
	terms->relid = call->relid;
	namestrcpy(&terms->dataset, reading->dataset);
	terms->sensitivity = dp_readings_rows(reading);
	terms->threshold = call->plan.threshold;
	terms->questions = call->request.questions;
	terms->cutoff = (int32) call->plan.updates;
	terms->beta = dp_accounting_fixed_approx(call->request.beta);
	terms->replace_one = reading->standing.replace_one;
	terms->plan = call->plan.sparse;
}

static int64
open_planned(const weights_call *call, const dp_reading *reading)
{
	dp_weights_details details = {call->universe, call->request.n,
	call->plan.alpha, call->plan.step};
	dp_session_terms terms;

	weights_fill_terms(call, reading, &terms);
	return dp_sessions_open(&terms, write_weights(&details),
							(int32) Min(terms.questions, PG_INT32_MAX),
							reading->fingerprint,
							psprintf("multiplicative weights, %s: "
								 INT64_FORMAT " cells, cutoff %d, "
								 INT64_FORMAT " questions",
								 dp_accounting_sparse_name(terms.plan.method),
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
notice_session(int64 id, const weights_call *call, const dp_reading *reading)
{
	const dp_weights_plan *plan = &call->plan;
	double		alpha = dp_accounting_fixed_approx(plan->alpha);
	dp_fixed	for_n = call->epsilon - call->request.epsilon;

	ereport(NOTICE,
			(errmsg("session " INT64_FORMAT ": with probability %s every "
					"answer is within %.4g of the true fraction", id,
					dp_base_fixed_to_cstring(DP_FIXED_ONE -
											 call->request.beta),
					3 * alpha),
			 errdetail("Universe of %s; n " INT64_FORMAT "%s; alpha %.4g, 3 "
					   "alpha %.4g or " INT64_FORMAT " rows; at most %s and "
					   "%s; method %s.%s  %s",
					   dp_sessions_number_text(call->universe->size, "cell"),
					   call->request.n, for_n > 0 ?
					   " (noisy, which adds its own error)" : "", alpha,
					   3 * alpha, rows_off(call),
					   dp_sessions_number_text(plan->updates, "update"),
					   dp_sessions_number_text(call->request.questions,
											   "question"),
					   dp_accounting_sparse_name(plan->sparse.method),
					   dp_readings_rows_text(reading),
					   dp_sessions_charge_text(&plan->sparse.charge, for_n,
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
	reading = dp_readings_of_tables(call.relid, call.universe->naxes,
									call.universe->axes, 1, &all_rows);
	dp_readings_check_joined(reading);
	dp_ledger_check_price(&reading->standing, reading->dataset, call.epsilon);
	if (call.request.n == 0)
		count_rows(&call, reading);
	call.request.sensitivity = dp_readings_rows(reading);
	dp_accounting_functions_weights(&call.request,
									call.request.epsilon < call.epsilon,
						   &call.plan);
	id = open_planned(&call, reading);
	notice_session(id, &call, reading);
	PG_RETURN_INT64(id);
}

/* ----------------
 *		The hypothesis of online multiplicative weights: a distribution over
 *		the cells of a universe.
 *
 * It starts uniform.  Each "above" of the session moves it: cells that the
 * query weighs w (a predicate: 1 or 0) are multiplied by exp(s w), s negative
 * where the noisy answer lay below the guess, then all are divided by their
 * sum.  |s| is the plan's step at least; it is larger where a larger step
 * surely stops short of the true mean: the answer is off by at most `slack`
 * rows, except with probability beta (doc/theory.md T63, T124).
 *
 * All of this is computed from what the session has released, so anybody who
 * may see the session may see the hypothesis, and floating point is harmless
 * (doc/weights.md).
 *
 * The last hypothesis is kept in a memory context of its own and brought up to
 * date by the "above"s that are new.
 * ----------------
 */

#define MOST_STEP 600			/* so that its exponential is finite */
#define STEP_HALVINGS 40

static MemoryContext kept_context = NULL;
static dp_hypothesis *kept = NULL;

/* ---- making ---- */

static void
weights_forget(void)
{
	MemoryContext old = kept_context;

	kept = NULL;
	kept_context = NULL;
	if (old != NULL)
		MemoryContextDelete(old);
}

static dp_hypothesis *
make_uniform(const dp_session *session)
{
	dp_hypothesis *hypothesis = palloc0(sizeof(dp_hypothesis));
	int64		size;
	int64		cell;

	hypothesis->session = session->id;
	hypothesis->text = pstrdup(session->details);
	read_weights(session->details, &hypothesis->details);
	size = hypothesis->details.universe->size;
	hypothesis->slack = (double) session->terms.plan.alpha;
	hypothesis->probability = palloc(sizeof(double) * size);
	for (cell = 0; cell < size; cell++)
		hypothesis->probability[cell] = 1.0 / size;
	return hypothesis;
}

/* The kept one if it is of this session, else a uniform one, which is kept. */
static dp_hypothesis *
begin(const dp_session *session)
{
	MemoryContext context;
	MemoryContext old;
	dp_hypothesis *hypothesis;

	if (kept != NULL && kept->session == session->id &&
		kept->updates <= session->above &&
		strcmp(kept->text, session->details) == 0)
		return kept;
	weights_forget();
	context = AllocSetContextCreate(CurrentMemoryContext,
									"dp_pg hypothesis",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	hypothesis = make_uniform(session);
	MemoryContextSwitchTo(old);
	MemoryContextSetParent(context, TopMemoryContext);
	kept_context = context;
	kept = hypothesis;
	return hypothesis;
}

/* ---- learning ---- */

/* An update: the mass of each cell of the query's own table. */
typedef struct update
{
	const dp_linear_query *query;
	int32	   *cells;			/* of the table, by cell of the universe */
	double	   *mass;			/* of each cell of the table */
	double		least;			/* weight of a cell, and the largest one */
	double		most;
} update;

static double
weights_weight_of(const dp_linear_query *query, int64 cell)
{
	return (double) query->weights[cell] / (double) DP_WEIGHT_ONE;
}

static void
weights_weigh(update *of, const dp_hypothesis *hypothesis)
{
	const dp_universe *universe = hypothesis->details.universe;
	int64		cell;

	of->cells = palloc(sizeof(int32) * universe->size);
	of->mass = palloc0(sizeof(double) * of->query->size);
	dp_workload_map(universe, of->query, of->cells);
	for (cell = 0; cell < universe->size; cell++)
		of->mass[of->cells[cell]] += hypothesis->probability[cell];
	of->least = of->most = weights_weight_of(of->query, 0);
	for (cell = 1; cell < of->query->size; cell++)
	{
		of->least = Min(of->least, weights_weight_of(of->query, cell));
		of->most = Max(of->most, weights_weight_of(of->query, cell));
	}
}

/* The mean weight after a step s. */
static double
mean_after(const update *of, double s)
{
	long double sum = 0;
	long double all = 0;
	int64		cell;

	for (cell = 0; cell < of->query->size; cell++)
	{
		double		weight = weights_weight_of(of->query, cell);
		long double mass = (long double) of->mass[cell] * exp(s * weight);

		sum += mass * weight;
		all += mass;
	}
	return (double) (sum / all);
}

/* The s after which the mean is p, or lies a little short of it. */
static double
step_to_mean(const update *of, double p)
{
	double		near = 0;
	double		far = mean_after(of, 0) < p ? MOST_STEP : -MOST_STEP;
	int			i;

	for (i = 0; i < STEP_HALVINGS; i++)
	{
		double		s = (near + far) / 2;

		CHECK_FOR_INTERRUPTS();
		if ((mean_after(of, s) < p) == (far > 0))
			near = s;
		else
			far = s;
	}
	return near;
}

/*
 * The same for a predicate, from both masses: a fraction may be 1 in floating
 * point although some mass is outside.
 */
static double
step_to_fraction(const update *of, double p)
{
	double		mass[2] = {0, 0};
	double		s;
	int64		cell;

	for (cell = 0; cell < of->query->size; cell++)
		mass[of->query->weights[cell] > 0] += of->mass[cell];
	s = log(p / (1 - p)) - log(mass[true] / mass[false]);
	return Min(Max(s, -MOST_STEP), MOST_STEP);
}

/*
 * The s that brings the mean weight of a query to where the answer lies, less
 * the slack; at least the plan's step.
 */
static double
choose_step(const dp_hypothesis *hypothesis, const dp_session_above *above,
			const update *of)
{
	double		n = (double) hypothesis->details.n;
	double		step = dp_accounting_fixed_approx(hypothesis->details.step);
	double		slack = hypothesis->slack;
	double		margin = (of->most - of->least) * 0.5 / n;
	bool		down = above->answer < above->guess;
	double		p = (double) above->answer;
	double		s;

	if (of->most <= of->least)
		return 0;
	if (!of->query->predicate)
		slack += 0.5;			/* its number of rows has been rounded */
	p = (down ? p + slack : p - slack) / n;
	p = Min(Max(p, of->least + margin), of->most - margin);
	s = of->query->predicate ? step_to_fraction(of, p) : step_to_mean(of, p);
	return down ? Min(s, -step) : Max(s, step);
}

static void
weights_multiply(dp_hypothesis *hypothesis, const update *of, double s)
{
	double	   *factor = palloc(sizeof(double) * of->query->size);
	int64		cell;

	for (cell = 0; cell < of->query->size; cell++)
		factor[cell] = exp(s * weights_weight_of(of->query, cell));
	dp_models_weights_step(hypothesis->probability,
						   hypothesis->details.universe->size, factor,
						   of->cells, DBL_MIN);
}

static void
learn(dp_hypothesis *hypothesis, const dp_session_above *above)
{
	update		of = {dp_workload_read_query(hypothesis->details.universe,
											 above->predicate)};

	weights_weigh(&of, hypothesis);
	weights_multiply(hypothesis, &of, choose_step(hypothesis, above, &of));
	hypothesis->updates = above->number;
	hypothesis->asked_at = above->asked_at;
}

static void
learn_all(dp_hypothesis *hypothesis, List *aboves)
{
	MemoryContext each = AllocSetContextCreate(CurrentMemoryContext,
											   "dp_pg update",
											   ALLOCSET_DEFAULT_SIZES);
	ListCell   *lc;

	foreach(lc, aboves)
	{
		MemoryContext old = MemoryContextSwitchTo(each);

		CHECK_FOR_INTERRUPTS();
		learn(hypothesis, lfirst(lc));
		MemoryContextSwitchTo(old);
		MemoryContextReset(each);
	}
	MemoryContextDelete(each);
}

/*
 * hypothesis_of
 *	  The hypothesis after the session's "above"s, `updates` of them; at least
 *	  those that the session had when it was found.  It stays valid until the
 *	  next call.
 *
 * Errors: what reading the universe and the predicates again raises.
 */
static dp_hypothesis *
hypothesis_of(const dp_session *session)
{
	dp_hypothesis *hypothesis = begin(session);

	if (hypothesis->updates < session->above)
	{
		PG_TRY();
		{
			learn_all(hypothesis,
					  dp_sessions_list_aboves(session->id,
											  hypothesis->asked_at));
		}
		PG_CATCH();
		{
			weights_forget();			/* it may have learned half of one */
			PG_RE_THROW();
		}
		PG_END_TRY();
	}
	return hypothesis;
}

/* ---- answers ---- */

/* hypothesis_fraction: its mean weight, in [0, 1]. */
static double
hypothesis_fraction(const dp_hypothesis *hypothesis,
					const dp_linear_query *query)
{
	const dp_universe *universe = hypothesis->details.universe;
	int32	   *weights = palloc(sizeof(int32) * universe->size);
	long double inside = 0;
	long double outside = 0;
	int64		cell;

	dp_workload_expand(universe, query, weights);
	for (cell = 0; cell < universe->size; cell++)
	{
		long double p = hypothesis->probability[cell];

		inside += p * weights[cell];
		outside += p * (DP_WEIGHT_ONE - weights[cell]);
	}
	pfree(weights);
	return (double) (inside / (inside + outside));
}

/* hypothesis_count: that fraction of n rows, rounded. */
static int64
hypothesis_count(const dp_hypothesis *hypothesis, double fraction)
{
	return (int64) rint(fraction * (double) hypothesis->details.n);
}

/* ----------------
 *		Questions to a session of online multiplicative weights, and what its
 *		hypothesis says free of charge.
 *
 * A question compares the exact count with the hypothesis's guess, an integer:
 * only the sparse vector under the session sees how far they are apart.  Near
 * enough, the guess is the answer; else the answer is a noisy count, from
 * which the hypothesis learns.
 * ----------------
 */

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
	out->fraction = hypothesis_fraction(hypothesis, query);
	out->count = hypothesis_count(hypothesis, out->fraction);
}

/* One try; false when the hypothesis was no longer the newest. */
static bool
ask_once(const dp_session *session, const dp_universe *universe,
		 const dp_linear_query *query, weights_guess *guess,
		 dp_session_reply *reply)
{
	const dp_hypothesis *hypothesis = hypothesis_of(session);
	dp_session_question question;

	make_guess(hypothesis, query, guess);
	MemSet(&question, 0, sizeof(question));
	question.predicate = query->text;
	question.weights = query->weights;
	question.distance = true;
	question.seen = hypothesis->updates;
	question.guess = guess->count;
	dp_sessions_ask(session, dp_workload_reading(universe, query), &question,
					reply);
	return !reply->stale;
}

static Datum
weights_reply_row(FunctionCallInfo fcinfo, const dp_session *session, int64 n,
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
	return dp_base_make_row(fcinfo, values, nulls);
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
	int64		id = dp_sessions_id(fcinfo);
	char	   *predicate = dp_sessions_predicate(fcinfo);
	dp_session *session = dp_sessions_find(id, DP_SESSION_WEIGHTS, false);
	dp_weights_details details;
	dp_linear_query *query;
	dp_session_reply reply;
	weights_guess guess;

	dp_sessions_check_predicate(predicate);
	read_weights(session->details, &details);
	query = dp_workload_read_query(details.universe, predicate);
	while (!ask_once(session, details.universe, query, &guess, &reply))
	{
		CHECK_FOR_INTERRUPTS();
		session = dp_sessions_find(id, DP_SESSION_WEIGHTS, false);
	}
	return weights_reply_row(fcinfo, session, details.n, &reply, &guess);
}

/* ---- free of charge ---- */

/*
 * dp_session_sql_weights_estimate
 *	  dp_weights_estimate(session, predicate): see sql/82_weights.sql.
 */
Datum
dp_session_sql_weights_estimate(PG_FUNCTION_ARGS)
{
	int64		id = dp_sessions_id(fcinfo);
	char	   *predicate = dp_sessions_predicate(fcinfo);
	dp_session *session = dp_sessions_find(id, DP_SESSION_WEIGHTS, true);
	const dp_hypothesis *hypothesis = hypothesis_of(session);
	weights_guess guess;
	Datum		values[2];
	bool		nulls[2] = {false};

	make_guess(hypothesis,
			   dp_workload_read_query(hypothesis->details.universe,
									  predicate), &guess);
	values[0] = Int64GetDatum(guess.count);
	values[1] = Float8GetDatum(guess.fraction);
	return dp_base_make_row(fcinfo, values, nulls);
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
					 INT64_FORMAT ") AS t(%s, " DP_PROBABILITY_COLUMN ").",
					 session->id, dp_workload_columns_text(universe))));
}

/*
 * dp_session_sql_weights_hypothesis
 *	  dp_weights_hypothesis(session): see sql/82_weights.sql.
 */
Datum
dp_session_sql_weights_hypothesis(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	int64		id = dp_sessions_id(fcinfo);
	dp_session *session = dp_sessions_find(id, DP_SESSION_WEIGHTS, true);
	const dp_hypothesis *hypothesis;
	const dp_universe *universe;

	hypothesis = hypothesis_of(session);
	universe = hypothesis->details.universe;
	require_from(session, universe, rsinfo);
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	dp_workload_check_distribution(universe, rsinfo->setDesc);
	dp_workload_put_distribution(universe, hypothesis->probability, rsinfo);
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
	dp_sessions_close(dp_sessions_id(fcinfo), DP_SESSION_WEIGHTS);
	PG_RETURN_VOID();
}

/* ----------------
 *		dp_weights_step: the update of multiplicative weights as the book has
 *		it (Algorithm 5), on a distribution that the caller holds.
 *
 * Everything in it is public, so floating point is harmless.  Sessions take
 * their own steps, which may be larger.
 * ----------------
 */

#define SUM_TOLERANCE 1e-6

/* The numbers of an array of one dimension, each from 0 to 1. */
static float8 *
read_fractions(ArrayType *array, const char *name, int *n)
{
	Datum	   *values;
	bool	   *nulls;
	float8	   *x;
	int			i;

	if (ARR_NDIM(array) != 1)
		dp_base_raise_parameter(psprintf("%s must be an array of one "
										 "dimension", name),
								"Give one number for each cell.");
	deconstruct_array(array, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL,
					  TYPALIGN_DOUBLE, &values, &nulls, n);
	x = palloc(sizeof(float8) * *n);
	for (i = 0; i < *n; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("element %d of %s is NULL", i + 1, name),
					 errhint("Give one number for each cell.")));
		x[i] = DatumGetFloat8(values[i]);
		if (!(x[i] >= 0 && x[i] <= 1))
			dp_base_raise_parameter(psprintf("element %d of %s is not from "
											 "0 to 1", i + 1, name),
									"Probabilities and the values of a "
									"query are.");
	}
	return x;
}

static void
check_numbers(float8 answer, float8 eta, int n, int other)
{
	if (n != other)
		dp_base_raise_parameter("distribution and query must have the same "
								"length",
								"Give one number for each cell in both.");
	if (!(answer >= 0 && answer <= 1))
		dp_base_raise_parameter("answer must be from 0 to 1",
								"Divide the released number of rows by n, "
								"and clamp it.");
	if (!(eta > 0 && eta <= 1))
		dp_base_raise_parameter("eta must be above 0 and at most 1",
								"The book takes alpha/2, half of the error "
								"that is aimed at.");
}

/* x.f, once x is known to add up to 1. */
static long double
expectation(const float8 *x, const float8 *f, int n)
{
	long double sum = 0;
	long double all = 0;
	int			i;

	for (i = 0; i < n; i++)
	{
		all += x[i];
		sum += (long double) x[i] * f[i];
	}
	if (fabsl(all - 1) > SUM_TOLERANCE)
		dp_base_raise_parameter("distribution does not add up to 1",
								"Divide each element by their sum.");
	return sum / all;
}

PG_FUNCTION_INFO_V1(dp_session_sql_weights_step);

/*
 * dp_session_sql_weights_step
 *	  dp_weights_step(distribution, query, answer, eta): the next distribution.
 *
 * Errors: 22004 a NULL element, 22023 otherwise.
 * Source: doc/theory.md T121 (book, Algorithm 5).
 */
Datum
dp_session_sql_weights_step(PG_FUNCTION_ARGS)
{
	int			n;
	int			other;
	float8	   *x = read_fractions(PG_GETARG_ARRAYTYPE_P(0), "distribution",
								   &n);
	float8	   *f = read_fractions(PG_GETARG_ARRAYTYPE_P(1), "query", &other);
	float8		answer = PG_GETARG_FLOAT8(2);
	float8		eta = PG_GETARG_FLOAT8(3);
	Datum	   *out;
	int			i;

	check_numbers(answer, eta, n, other);
	if (answer < expectation(x, f, n))
		eta = -eta;
	for (i = 0; i < n; i++)
		f[i] = exp(eta * f[i]);
	dp_models_weights_step(x, n, f, NULL, 0);
	out = palloc(sizeof(Datum) * n);
	for (i = 0; i < n; i++)
		out[i] = Float8GetDatum(x[i]);
	PG_RETURN_ARRAYTYPE_P(construct_array(out, n, FLOAT8OID, sizeof(float8),
										  FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}
