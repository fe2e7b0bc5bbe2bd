/*
 * iterate_call.c
 *	  dp_iterate: the iterative construction (book, section 5.2), with the
 *	  update algorithm and the distinguisher of the caller's choice, or an
 *	  algorithm that the caller wrote.
 *
 * Order: the universe and the weights of its cells by queries are found; the
 * reading is verified; all rounds are charged, as one charge; one pass over
 * the private rows counts the cells, and the rounds run where that is done
 * (iterate_run.c).  What is released are the steps, which dp_pg.releases
 * keeps, and the hypothesis that follows from them.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/namespace.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "parser/parse_func.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

#include "../../math/numbers/dp_numbers.h"
#include "../../math/noise/dp_noise.h"
#include "../../math/accounting/dp_accounting.h"
#include "../../math/models/dp_models.h"
#include "../../base/dp_base.h"
#include "../../ledger/dp_ledger.h"
#include "../../query/split/dp_split.h"
#include "../../measure/exact/dp_exact.h"
#include "../readings/dp_readings.h"
#include "../workload/dp_workload.h"
#include "tables_internal.h"

/* ----------------
 *		Whether an iterative construction that aims at alpha is sure to end
 *		within it.
 *
 * Everything here is public: terms and price.  Nothing depends on rows.
 * ----------------
 */

#define BETA 0.05				/* probability that it ends otherwise */

/* Least alpha n: below it roundings to whole rows matter (T126, T127). */
#define MULTIPLICATIVE_ROWS 27
#define MEDIAN_ROWS 21

/* The probability that a round's count is off by more than `rows`: T6, T12. */
static double
count_tail(const dp_iterate_terms *terms, double rows)
{
	double		variance;

	if (terms->distinguisher != DP_ITERATE_GAUSSIAN)
		return exp(-rows / dp_noise_scale_approx(&terms->scale));
	variance = (double) terms->noise.variance.num /
		(double) terms->noise.variance.den;
	return 2 * exp(-rows * rows / (2 * variance));
}

/* The probability that a choice or a count of any round is off by `rows`. */
static double
failure(const dp_iterate_terms *terms, double rows)
{
	double		rate = (double) terms->rate.num / (double) terms->rate.den;

	return terms->rounds * ((double) terms->queries * exp(-rate * rows) +
							count_tail(terms, rows));
}

/*
 * iterate_needed
 *	  The number of rounds in which the run must end; alpha must be above 0,
 *	  except for the median, which does not use it.
 *
 * Source: doc/theory.md T126, T127.
 */
static double
iterate_needed(const dp_iterate_terms *terms, double alpha)
{
	if (terms->update == DP_ITERATE_MEDIAN)
		return 1 + floor(log2((double) terms->candidates));
	return 1 + floor(5 * log((double) terms->cells) / (alpha * alpha));
}

/* Why T126 or T127 does not hold with probability 0.95; NULL: it does. */
static char *
doubt(const dp_iterate_terms *terms, double alpha)
{
	double		rows = alpha * (double) terms->n;
	double		needed = iterate_needed(terms, alpha);

	if (rows < (terms->update == DP_ITERATE_MEDIAN ? MEDIAN_ROWS :
				MULTIPLICATIVE_ROWS))
		return psprintf("It is %.4g rows, too few for counts that are rounded "
						"to whole rows.", rows);
	if (terms->rounds < needed)
		return psprintf("It may take %.0f rounds, and there are %d.", needed,
						terms->rounds);
	if (failure(terms, rows / 4) > BETA)
		return psprintf("It is %.4g rows, and noise of a fourth of that in "
						"one of %d rounds is likely at this price.", rows,
						terms->rounds);
	return NULL;
}

/*
 * notice_alpha
 *	  Raise a NOTICE if alpha, which is above 0, is not assured, before
 *	  anything is charged; the call goes on, since the bounds are worst-case.
 */
static void
notice_alpha(const dp_iterate_terms *terms, double alpha)
{
	char	   *why = doubt(terms, alpha);
	double		needed = iterate_needed(terms, alpha);

	if (why != NULL)
		ereport(NOTICE,
				(errmsg("alpha %.4g is not assured", alpha),
				 errdetail("%s", why),
				 terms->rounds < needed && needed <= DP_ITERATE_ROUNDS ?
				 errhint("Leave rounds out, or use a larger alpha.") :
				 errhint("Use a larger alpha or epsilon, or fewer cells or "
						 "queries.  Without alpha, rounds end where noise "
						 "begins.")));
}

/* ----------------
 *		What a charge of dp_iterate costs, and the noise that it pays for: for
 *		all rounds, or for one if the update is the caller's own.
 * ----------------
 */

/* Pure epsilon: half of a round's part for the choice, half for the count. */
static dp_status
plan_pure(dp_iteration *s)
{
	uint64		sensitivity = dp_readings_rows(s->reading);
	dp_rational parts = {2 * (dp_uint128) s->terms.rounds, 1};
	dp_rational part;
	dp_fixed	choice = 0;
	dp_fixed	count = 0;
	dp_status	status;
	int			i;

	s->charge.epsilon = s->epsilon_fixed;
	status = dp_numbers_rational_divide(&s->epsilon, &parts, &part);
	if (status == DP_OK)
		status = dp_noise_selection_rate(&part, sensitivity, false,
										 &s->terms.rate);
	if (status == DP_OK)
		status = dp_noise_scale_make(sensitivity, &part, &s->terms.scale);
	if (status == DP_OK)
		status = s->terms.distinguisher == DP_ITERATE_EXPONENTIAL ?
			dp_accounting_rho_from_exponential(&part, &choice) :
			dp_accounting_rho_from_pure(&part, &choice);
	if (status == DP_OK)
		status = dp_accounting_rho_from_laplace(sensitivity, &part, &count);
	for (i = 0; i < s->terms.rounds; i++)
		s->charge.rho = dp_accounting_fixed_add(s->charge.rho,
												dp_accounting_fixed_add(choice,
																	count));
	return status;
}

/*
 * The rho of one charge.  Where only rho is added up, charges share the rho of
 * the whole price, which is more than each would have alone.
 */
static dp_status
find_rho(const dp_iteration *s, dp_filter filter, dp_fixed *rho)
{
	dp_status	status;

	if (s->own == NULL || filter == DP_FILTER_BASIC)
		return dp_accounting_rho_of_zcdp(s->epsilon_fixed, s->delta, rho);
	status = dp_accounting_rho_of_zcdp(s->own->epsilon, s->own->delta, rho);
	*rho /= (dp_fixed) s->own->updates;
	return status;
}

/* zCDP: a tenth of a round's rho for the choice, the rest for the count. */
static dp_status
plan_gaussian(dp_iteration *s)
{
	dp_filter	filter = dp_ledger_charge_filter(&s->reading->standing);
	dp_generator_terms counts = {.sensitivity = dp_readings_rows(s->reading)};
	dp_generator_step step;
	dp_fixed	rho = 0;
	dp_status	status;

	status = find_rho(s, filter, &rho);
	if (status == DP_OK)
		status = dp_models_generator_step_last(&counts, rho /
											   (dp_fixed) s->terms.rounds,
											   &step);
	if (status != DP_OK)
		return status;
	s->terms.rate = step.rate;
	s->terms.noise = step.noise;
	dp_accounting_charge_gaussian(filter, s->epsilon_fixed, s->delta, rho,
								  &s->charge);
	return DP_OK;
}

/*
 * Split the price into charges of one round each, which add up to no more than
 * the whole.  Unless the caller gave a number of rounds, there are at most as
 * many as leave each charge at the floor or above.
 */
static void
share_price(dp_iteration *s)
{
	dp_own_update *own = s->own;
	dp_fixed	least = Max(dp_ledger_floor(&s->reading->standing), 1);

	if (!own->chosen && own->epsilon / least < (dp_fixed) own->updates)
		own->updates = Max((int) (own->epsilon / least), 1);
	own->chosen = true;
	s->epsilon_fixed = own->epsilon / (dp_fixed) own->updates;
	s->delta = own->delta / (dp_fixed) own->updates;
	if (s->epsilon_fixed < least)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("epsilon is too small for this many updates"),
				 errdetail("Epsilon %s for %s is below the floor of %s for "
						   "each.", dp_base_fixed_to_cstring(own->epsilon),
						   dp_tables_counted(own->updates, "update",
											 "updates"),
						   dp_base_fixed_to_cstring(least)),
				 errhint("Use fewer rounds or a larger epsilon.")));
	dp_base_check_status(dp_accounting_fixed_to_rational(s->epsilon_fixed,
														 &s->epsilon),
						 "share epsilon among updates");
}

static void
iterate_call_check_price(const dp_iteration *s)
{
	const dp_ledger_standing *standing = &s->reading->standing;
	const char *dataset = s->reading->dataset;

	dp_ledger_check_floor(standing, dataset, s->epsilon_fixed);
	dp_ledger_check_ceiling(standing, dataset, s->own ? s->own->epsilon :
							s->epsilon_fixed);
	if (s->terms.distinguisher == DP_ITERATE_GAUSSIAN)
		dp_ledger_check_delta(standing, dataset, s->own ? s->own->delta :
							  s->delta);
}

static void
iterate_call_plan_price(dp_iteration *s)
{
	MemSet(&s->charge, 0, sizeof(s->charge));
	dp_base_check_status(s->terms.distinguisher == DP_ITERATE_GAUSSIAN ?
						 plan_gaussian(s) : plan_pure(s),
						 "plan the rounds");
}

/* What noise alone hardly ever exceeds. */
static double
iterate_call_noise_error(const dp_iterate_terms *terms)
{
	if (terms->distinguisher == DP_ITERATE_GAUSSIAN)
		return 2 * sqrt((double) terms->noise.variance.num /
						(double) terms->noise.variance.den);
	return dp_noise_laplace_error(&terms->scale, .05);
}

/*
 * Find when to stop: within the book's 3/4 alpha n or, without alpha, within
 * what noise and the size of candidates explain.  After plan_price.
 */
static void
plan_end(dp_iteration *s)
{
	s->terms.eta = s->alpha / 2;
	s->terms.near = s->alpha > 0 ? .75 * s->alpha * (double) s->terms.n :
		iterate_call_noise_error(&s->terms);
	if (s->alpha == 0 && s->terms.update == DP_ITERATE_MEDIAN)
		s->terms.near += (double) s->terms.n / (double) s->terms.size;
}

/*
 * iterate_price
 *	  Find the next charge, its noise, and when rounds end, for a verified
 *	  reading.
 *
 * Errors: 22023 a price or delta that the dataset does not allow.
 * Source: doc/theory.md T125, T129.
 */
static void
iterate_price(dp_iteration *s)
{
	if (s->own != NULL)
		share_price(s);
	iterate_call_check_price(s);
	iterate_call_plan_price(s);
	plan_end(s);
}

/* ----------------
 *		A charge of dp_iterate and the rounds that it pays for: prepared,
 *		charged, run where the rows are read, and recorded.
 * ----------------
 */

/* ---- prepare ---- */

/* iterate_verify: verify the reading as it is now. */
static void
iterate_verify(dp_iteration *s)
{
	dp_reading_table table;
	int		   *axes = palloc(sizeof(int) * s->universe->naxes);
	int			i;

	for (i = 0; i < s->universe->naxes; i++)
		axes[i] = i;
	table.naxes = s->universe->naxes;
	table.axes = axes;
	s->reading = dp_readings_of_tables(s->universe->relid, s->universe->naxes,
									   s->universe->axes, 1, &table);
}

/*
 * iterate_prepare
 *	  Verify the reading as it is now, and find the price and the end.
 *
 * Errors: 42P01, 55000 the relation or a column is gone or has changed; those
 * of dp_readings_of_tables and iterate_price.
 */
static void
iterate_prepare(dp_iteration *s)
{
	iterate_verify(s);
	iterate_price(s);
}

/*
 * iterate_bounds_text
 *	  A DETAIL: when rounds end, and how many rows of a unit count.
 */
static const char *
iterate_bounds_text(const dp_iteration *s)
{
	return psprintf("Rounds end when a noisy count is within %.4g rows of its "
					"guess.%s", s->terms.near,
					dp_readings_rows_text(s->reading));
}

/* ---- charge and run ---- */

/* dp_reader_charge */
static void
pay(void *context)
{
	dp_iteration *s = context;
	dp_ledger_request request;
	dp_tables_record record;

	dp_tables_request(&request, s->reading->dataset, &s->reading->standing,
					  s->reading->fingerprint, &s->charge,
					  psprintf("iterate: %s, %s", s->own ? "own" : s->update,
							   s->distinguisher));
	request.releases = 2 * s->terms.rounds;
	dp_tables_record_begin(&record, "iterate", s->reading);
	dp_tables_record_universe(&record, s->universe);
	dp_tables_record_text(&record, "update", s->update);
	dp_tables_record_text(&record, "distinguisher", s->distinguisher);
	dp_tables_record_integer(&record, "rounds", s->own ? s->own->updates :
							 s->terms.rounds);
	if (s->own)
		dp_tables_record_integer(&record, "round", s->own->round);
	dp_tables_record_number(&record, "alpha", s->alpha > 0 ?
							psprintf("%.17g", s->alpha) : NULL);
	dp_tables_record_number(&record, "near", psprintf("%.17g",
													  s->terms.near));
	dp_tables_record_integer(&record, "n", s->terms.n);
	dp_tables_record_texts(&record, "queries", s->texts);
	s->id = dp_tables_charge(&request, &record);
	dp_base_progress(DP_PHASE_READING, 0);
}

#define PIECE 16384				/* bytes of the source's pieces */

/* dp_reader_source: weights of cells by queries, and guesses */
static const void *
iterate_call_next_piece(void *context, Size *size)
{
	dp_iteration *s = context;
	Size		whole = dp_tables_iterate_weights(&s->terms) +
		dp_tables_iterate_guesses(&s->terms);
	const char *piece = (const char *) s->weights + s->sent;

	*size = Min(whole - s->sent, PIECE);
	s->sent += *size;
	return *size > 0 ? piece : NULL;
}

/* dp_reader_sink: of progress, and then of the result */
static void
take_piece(void *context, const void *data, Size size)
{
	dp_iteration *s = context;
	const dp_tables_iterated *piece = data;

	if (dp_tables_hear_progress(data))
		return;
	if (piece->of.done == DP_ITERATED_STEPS)
	{
		s->taken = piece->n;
		memcpy(s->steps, DP_ITERATED_DATA(piece),
			   sizeof(dp_iterate_step) * piece->n);
		return;
	}
	memcpy(s->probability + s->filled, DP_ITERATED_DATA(piece),
		   sizeof(double) * piece->n);
	s->filled += piece->n;
}

static void
run(dp_iteration *s)
{
	dp_reading_use use = {DP_USE_ITERATE, &s->terms, sizeof(s->terms),
	iterate_call_next_piece, pay, take_piece, s};

	s->sent = 0;
	s->steps = palloc0(sizeof(dp_iterate_step) * s->terms.rounds);
	dp_base_progress_begin(DP_WORK_ITERATE, s->universe->relid,
						   s->terms.rounds);
	dp_readings_run(s->reading, &use);
	dp_base_progress_end();
	if (s->own == NULL && s->filled != s->terms.cells)
		elog(ERROR, "construction gave other cells than were planned");
}

/* "steps": [{"query": 1, "guess": .., "answer": ..}, ...] */
static char *
steps_text(const dp_iteration *s)
{
	StringInfoData text;
	int64		i;

	initStringInfo(&text);
	appendStringInfoString(&text, "\"steps\": [");
	for (i = 0; i < s->taken; i++)
		appendStringInfo(&text, "%s{\"query\": " INT64_FORMAT
						 ", \"guess\": " INT64_FORMAT ", \"answer\": %s}",
						 i > 0 ? ", " : "", s->steps[i].query + 1,
						 s->steps[i].guess,
						 dp_numeric_text(dp_base_int128_to_numeric(
											 s->steps[i].answer)));
	appendStringInfoChar(&text, ']');
	return text.data;
}

/*
 * iterate_release
 *	  A charge and what it pays for: the steps, and the hypothesis unless the
 *	  update is the caller's own.
 *
 * Errors: those of a charge and of dp_readings_run.
 */
static void
iterate_release(dp_iteration *s)
{
	run(s);
	dp_tables_finish(s->reading->dataset, s->id, NAN, steps_text(s));
}

/* ----------------
 *		dp_iterate with an update algorithm of the caller's own: a function of
 *		public numbers, called in the caller's connection and with the caller's
 *		rights, between rounds that are charged and read one by one.
 *
 * While the function runs nothing private is held anywhere: the round before
 * has released its step, durably, and the next one has not begun.  So it may
 * do what the caller may do, fail, or never return; all it decides are the
 * guesses of the next round, which is verified and charged anew with the
 * relation, the rights and the role as they are then (T129).
 * ----------------
 */

#define NARGUMENTS 6
#define SIGNATURE "(hypothesis double precision[], query double " \
	"precision[], guess bigint, answer bigint, n bigint, round integer) " \
	"RETURNS double precision[]"
#define SUM_TOLERANCE 1e-6

/* ---- the function ---- */

static Oid
find_function(const char *name)
{
	Oid			arguments[NARGUMENTS] = {FLOAT8ARRAYOID, FLOAT8ARRAYOID,
	INT8OID, INT8OID, INT8OID, INT4OID};
	List	   *names = textToQualifiedNameList(cstring_to_text(name));
	Oid			function = LookupFuncName(names, NARGUMENTS, arguments, true);

	if (!OidIsValid(function))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown update \"%s\"", name),
				 errdetail("It is multiplicative, median, or the name of a "
						   "function of yours."),
				 errhint("Such a function has this form: %s" SIGNATURE ".",
						 name)));
	return function;
}

static void
iterate_call_check_result(Oid function, const char *name)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Form_pg_proc form;
	bool		right;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	form = (Form_pg_proc) GETSTRUCT(tuple);
	right = form->prokind == PROKIND_FUNCTION && !form->proretset &&
		form->prorettype == FLOAT8ARRAYOID;
	ReleaseSysCache(tuple);
	if (!right)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("update function %s does not return one array of "
						"double precision", name),
				 errhint("Write %s" SIGNATURE ".", name)));
}

static char *
qualified_name(Oid function)
{
	char	   *schema = get_namespace_name(get_func_namespace(function));

	return quote_qualified_identifier(schema, get_func_name(function));
}

static void
take_function(dp_own_update *own, Oid function)
{
	AclResult	right = object_aclcheck(ProcedureRelationId, function,
										GetUserId(), ACL_EXECUTE);

	if (right != ACLCHECK_OK)
		aclcheck_error(right, OBJECT_FUNCTION, own->name);
	InvokeFunctionExecuteHook(function);
	iterate_call_check_result(function, own->name);
	fmgr_info(function, &own->function);
}

/*
 * own_find
 *	  The update function of that name, with the caller's right to execute it.
 *
 * Errors: 42601, 42602 not a name; 22023 no such function; 42804 it returns
 * something else; 42501.
 */
static dp_own_update *
own_find(const char *name)
{
	dp_own_update *own = palloc0(sizeof(dp_own_update));
	Oid			function = find_function(name);

	own->name = qualified_name(function);
	take_function(own, function);
	return own;
}

/*
 * Look the function up again, before a round is charged: meanwhile it may have
 * been dropped or replaced, or the right to it revoked.
 */
static void
find_again(dp_own_update *own)
{
	Oid			function = own->function.fn_oid;

	if (!SearchSysCacheExists1(PROCOID, ObjectIdGetDatum(function)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("update function %s does not exist any more",
						own->name),
				 errdetail("Rounds before round %d stay charged.",
						   own->round),
				 errhint("The steps so far are in dp_pg.releases.")));
	take_function(own, function);
}

/*
 * own_begin
 *	  Keep the price of all updates, and plan one round at a time.
 */
static void
own_begin(dp_iteration *s)
{
	s->own->epsilon = s->epsilon_fixed;
	s->own->delta = s->delta;
	s->own->updates = s->terms.rounds;
	s->terms.rounds = 1;
}

/* ---- its arguments ---- */

static Datum
iterate_call_array_of(const double *x, int64 n)
{
	Datum	   *elements = palloc_extended(sizeof(Datum) * n,
										   MCXT_ALLOC_HUGE);
	int64		i;

	for (i = 0; i < n; i++)
		elements[i] = Float8GetDatum(x[i]);
	return PointerGetDatum(construct_array(elements, (int) n, FLOAT8OID,
										   sizeof(float8), FLOAT8PASSBYVAL,
										   TYPALIGN_DOUBLE));
}

/* The weights of the cells by a query. */
static Datum
query_array(const dp_iteration *s, int64 query)
{
	const int32 *weights = s->weights + query * s->terms.cells;
	double	   *x = palloc_extended(sizeof(double) * s->terms.cells,
									MCXT_ALLOC_HUGE);
	int64		i;

	for (i = 0; i < s->terms.cells; i++)
		x[i] = (double) weights[i] / (double) s->terms.one;
	return iterate_call_array_of(x, s->terms.cells);
}

/* A noisy answer, which is public, clamped to bigint. */
static int64
clamped(dp_int128 answer)
{
	return answer > PG_INT64_MAX ? PG_INT64_MAX :
		answer < PG_INT64_MIN ? PG_INT64_MIN : (int64) answer;
}

/* ---- its result ---- */

static void
raise_result(const dp_own_update *own, int sqlstate, const char *what,
			 const char *hint)
{
	ereport(ERROR,
			(errcode(sqlstate),
			 errmsg("update function %s returned %s", own->name, what),
			 errdetail("In round %d. What was charged stays charged, and the "
					   "steps so far are in dp_pg.releases.", own->round),
			 errhint("%s", hint)));
}

static void
take_element(dp_iteration *s, int i, Datum value, bool isnull)
{
	double		x = isnull ? 0 : DatumGetFloat8(value);

	if (isnull)
		raise_result(s->own, ERRCODE_NULL_VALUE_NOT_ALLOWED,
					 psprintf("NULL for cell %d", i + 1),
					 "Return a probability for each cell.");
	if (!(x >= 0 && x <= 1 + SUM_TOLERANCE))
		raise_result(s->own, ERRCODE_INVALID_PARAMETER_VALUE,
					 psprintf("no probability for cell %d", i + 1),
					 "Each element must be from 0 to 1.");
	s->probability[i] = x;
}

/* Check and take the next hypothesis. */
static void
take_hypothesis(dp_iteration *s, ArrayType *array)
{
	const char *hint = "Return one probability for each cell, in the order of "
		"the hypothesis that is given.";
	Datum	   *values;
	bool	   *nulls;
	long double sum = 0;
	int			n;
	int			i;

	if (ARR_NDIM(array) != 1)
		raise_result(s->own, ERRCODE_INVALID_PARAMETER_VALUE,
					 "no array of one dimension", hint);
	deconstruct_array(array, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL,
					  TYPALIGN_DOUBLE, &values, &nulls, &n);
	if (n != s->terms.cells)
		raise_result(s->own, ERRCODE_INVALID_PARAMETER_VALUE,
					 psprintf("%d elements for " INT64_FORMAT " cells", n,
							  s->terms.cells), hint);
	for (i = 0; i < n; i++)
	{
		take_element(s, i, values[i], nulls[i]);
		sum += s->probability[i];
	}
	if (fabsl(sum - 1) > SUM_TOLERANCE)
		raise_result(s->own, ERRCODE_INVALID_PARAMETER_VALUE,
					 psprintf("probabilities that add up to %.6g",
							  (double) sum), "Divide each by their sum.");
}

static void
update(dp_iteration *s)
{
	LOCAL_FCINFO(call, NARGUMENTS);
	const dp_iterate_step *step = &s->steps[0];
	Datum		result;
	int			i;

	InitFunctionCallInfoData(*call, &s->own->function, NARGUMENTS, InvalidOid,
							 NULL, NULL);
	call->args[0].value = iterate_call_array_of(s->probability,
												s->terms.cells);
	call->args[1].value = query_array(s, step->query);
	call->args[2].value = Int64GetDatum(step->guess);
	call->args[3].value = Int64GetDatum(clamped(step->answer));
	call->args[4].value = Int64GetDatum(s->terms.n);
	call->args[5].value = Int32GetDatum(s->own->round);
	for (i = 0; i < NARGUMENTS; i++)
		call->args[i].isnull = false;
	result = FunctionCallInvoke(call);
	if (call->isnull)
		raise_result(s->own, ERRCODE_NULL_VALUE_NOT_ALLOWED, "NULL",
					 "Return the given hypothesis to leave it as "
					 "it is.");
	take_hypothesis(s, DatumGetArrayTypeP(result));
}

/* ---- rounds ---- */

static bool
is_near(const dp_iteration *s)
{
	const dp_iterate_step *step = &s->steps[0];

	return fabs((double) (step->answer - step->guess)) < s->terms.near;
}

/* Settings of how many rows of a unit count may have changed meanwhile. */
static void
prepare_again(dp_iteration *s)
{
	find_again(s->own);
	iterate_prepare(s);
	if (dp_readings_rows(s->reading) == s->own->sensitivity)
		return;
	s->own->sensitivity = dp_readings_rows(s->reading);
	ereport(NOTICE,
			(errmsg("from round %d on other settings hold", s->own->round),
			 errdetail("%s", iterate_bounds_text(s))));
}

/* Run a round; false: it is the last. */
static bool
run_round(dp_iteration *s)
{
	if (s->own->round > 1)
		prepare_again(s);
	dp_models_iterate_guess(&s->terms, s->weights, s->probability,
							(int64 *) ((char *) s->weights +
									   dp_tables_iterate_weights(&s->terms)));
	iterate_release(s);
	if (is_near(s))
		return false;
	update(s);
	return true;
}

/*
 * own_run
 *	  All rounds, from the uniform distribution; the last hypothesis is
 *	  s->probability.  The first round has been prepared.
 *
 * Errors: those of the function, and of what it returned; in each round those
 * of a reading and of a charge.  The rounds before stay charged.
 * Source: doc/theory.md T129.
 */
static void
own_run(dp_iteration *s)
{
	MemoryContext each = AllocSetContextCreate(CurrentMemoryContext,
											   "dp_pg update",
											   ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(each);
	bool		more = true;
	int64		i;

	s->own->sensitivity = dp_readings_rows(s->reading);
	for (i = 0; i < s->terms.cells; i++)
		s->probability[i] = 1 / (double) s->terms.cells;
	for (s->own->round = 1; more && s->own->round <= s->own->updates;
		 s->own->round++)
	{
		CHECK_FOR_INTERRUPTS();
		more = run_round(s);
		MemoryContextReset(each);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(each);
}

#define MOST_N (INT64CONST(1) << 40)
#define MOST_SIZE 64			/* of a candidate, unless alpha is given */

/* Places of the arguments. */
enum
{
	ARG_RELATION,
	ARG_COLUMNS,
	ARG_QUERIES,
	ARG_EPSILON,
	ARG_N,
	ARG_UPDATE,
	ARG_DISTINGUISHER,
	ARG_ROUNDS,
	ARG_BINS,
	ARG_ALPHA,
	ARG_DELTA
};

static const char *const updates[] = {"multiplicative", "median", NULL};
static const char *const distinguishers[] = {
	"exponential", "permute_and_flip", "gaussian", NULL
};

/* ---- arguments ---- */

/* The index of a word in a list; -1 if it is not there. */
static int
find_word(const char *word, const char *const *words)
{
	int			i;

	for (i = 0; words[i] != NULL; i++)
		if (strcmp(words[i], word) == 0)
			return i;
	return -1;
}

static void
read_update(FunctionCallInfo fcinfo, dp_iteration *s)
{
	char	   *word;
	int			update;

	dp_base_require_argument(fcinfo, ARG_UPDATE, "update of dp_iterate",
							 "It is multiplicative, median, or the name of "
							 "a function.");
	word = text_to_cstring(PG_GETARG_TEXT_PP(ARG_UPDATE));
	update = find_word(word, updates);
	s->terms.update = update < 0 ? DP_ITERATE_OWN : update;
	if (s->terms.update == DP_ITERATE_OWN)
		s->own = own_find(word);
	s->update = s->own ? s->own->name : updates[update];
}

static void
read_distinguisher(FunctionCallInfo fcinfo, dp_iteration *s)
{
	const char *all = "It is one of: exponential, permute_and_flip, gaussian.";
	char	   *word;
	int			distinguisher;

	dp_base_require_argument(fcinfo, ARG_DISTINGUISHER,
							 "distinguisher of dp_iterate", all);
	word = text_to_cstring(PG_GETARG_TEXT_PP(ARG_DISTINGUISHER));
	distinguisher = find_word(word, distinguishers);
	if (distinguisher < 0)
		dp_base_raise_parameter(psprintf("unknown distinguisher \"%s\"",
										 word), all);
	s->terms.distinguisher = distinguisher;
	s->distinguisher = distinguishers[distinguisher];
}

static void
iterate_call_read_n(FunctionCallInfo fcinfo, dp_iteration *s)
{
	dp_base_require_argument(fcinfo, ARG_N, "n of dp_iterate",
							 "Give the public number of rows, or a noisy "
							 "one: SELECT dp_count(*).");
	s->terms.n = PG_GETARG_INT64(ARG_N);
	if (s->terms.n < 1 || s->terms.n > MOST_N)
		dp_base_raise_parameter("n must be at least 1 and at most 2^40",
								"It is the number of rows.");
}

static void
iterate_call_read_universe(FunctionCallInfo fcinfo, dp_iteration *s)
{
	dp_base_require_argument(fcinfo, ARG_RELATION, "relation of dp_iterate",
							 "Write its name.");
	dp_base_require_argument(fcinfo, ARG_COLUMNS, "columns of dp_iterate",
							 "Write columns => ARRAY['smoker', 'ward'].");
	dp_base_require_argument(fcinfo, ARG_QUERIES, "queries of dp_iterate",
							 "Give predicates or weights, as an array of "
							 "text.");
	s->universe = dp_workload_make_universe(
		PG_GETARG_OID(ARG_RELATION), PG_GETARG_ARRAYTYPE_P(ARG_COLUMNS),
		PG_ARGISNULL(ARG_BINS) ? NULL : PG_GETARG_ARRAYTYPE_P(ARG_BINS),
		DP_UNIVERSE_CELLS);
	s->texts = dp_split_predicate_texts(PG_GETARG_ARRAYTYPE_P(ARG_QUERIES));
	s->terms.cells = s->universe->size;
	s->terms.queries = list_length(s->texts);
	s->terms.one = DP_WEIGHT_ONE;
	if (s->terms.cells < 2)
		dp_base_raise_parameter("universe has one cell only",
								"There is nothing to learn about it.");
	if (s->terms.queries > DP_ITERATE_WEIGHTS / s->terms.cells)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("there are too many queries over too many cells"),
				 errdetail("%s times %s; at most " INT64_FORMAT " together.",
						   dp_tables_counted(s->terms.queries, "query",
											 "queries"),
						   dp_tables_counted(s->terms.cells, "cell", "cells"),
						   DP_ITERATE_WEIGHTS),
				 errhint("Use fewer columns, bins or queries.%s",
						 dp_workload_null_hint(s->universe))));
}

static void
expand_queries(dp_iteration *s)
{
	int32	   *next;
	ListCell   *lc;

	next = s->weights =
		palloc_extended(dp_tables_iterate_weights(&s->terms) +
						dp_tables_iterate_guesses(&s->terms),
						MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	foreach(lc, s->texts)
	{
		CHECK_FOR_INTERRUPTS();
		dp_workload_expand(s->universe,
						   dp_workload_read_query(s->universe, lfirst(lc)),
						   next);
		next += s->terms.cells;
	}
}

/* ---- rounds and accuracy ---- */

static bool
iterate_call_is_feasible(const dp_iteration *s, int64 size)
{
	int64		candidates = dp_models_iterate_candidates(s->terms.cells,
														  size);

	return size <= DP_ITERATE_SIZE &&
		candidates <= DP_ITERATE_CANDIDATES &&
		candidates <= DP_ITERATE_ANSWERS / s->terms.queries &&
		candidates <= DP_ITERATE_WORK / s->terms.queries / size;
}

static void
raise_size(const dp_iteration *s, uint64 size)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("there are too many candidates for update \"median\""),
			 errdetail("They are all tables of " UINT64_FORMAT " rows over "
					   "%s; at most " INT64_FORMAT " can be held, and "
					   INT64_FORMAT " times queries.", size,
					   dp_tables_counted(s->terms.cells, "cell", "cells"),
					   DP_ITERATE_CANDIDATES, DP_ITERATE_ANSWERS),
			 errhint("Use a larger alpha, fewer cells or queries, or update "
					 "=> 'multiplicative'.")));
}

/* The size that half of alpha asks for, or the largest that can be held. */
static void
plan_candidates(dp_iteration *s)
{
	double		queries = Max((double) s->terms.queries, 3);
	uint64		size = 1;

	if (s->alpha > 0)
		dp_base_check_status(dp_models_smalldb_size(queries, s->alpha / 2,
													&size),
							 "find the number of candidates");
	else
		while (size < MOST_SIZE && iterate_call_is_feasible(s, size + 1))
			size++;
	if (!iterate_call_is_feasible(s, (int64) Min(size, PG_INT32_MAX)))
		raise_size(s, size);
	s->terms.size = (int64) size;
	s->terms.candidates = dp_models_iterate_candidates(s->terms.cells,
													   s->terms.size);
}

/*
 * The default number of rounds: as many as can be needed or, without alpha, as
 * many as minimise a bound on the error, like dp_models_mwem_rounds.
 */
static int
default_rounds(const dp_iteration *s)
{
	double		rounds;

	if (s->terms.update == DP_ITERATE_MEDIAN || s->alpha > 0)
		rounds = iterate_needed(&s->terms, s->alpha);
	else
		rounds = pow((double) s->terms.n *
					 dp_accounting_fixed_approx(s->epsilon_fixed) *
					 sqrt(log((double) s->terms.cells)) /
					 (10 * (double) dp_readings_rows(s->reading) *
					  log(2.0 + (double) s->terms.queries)), 2.0 / 3);
	return rounds < 1 ? 1 : rounds > DP_ITERATE_ROUNDS ? DP_ITERATE_ROUNDS :
		(int) rounds;
}

static void
read_rounds(FunctionCallInfo fcinfo, dp_iteration *s)
{
	Numeric		alpha = dp_base_number(fcinfo, ARG_ALPHA);

	if (alpha != NULL)
		s->alpha = dp_accounting_fixed_approx(
			dp_base_check_number(alpha, "alpha", DP_RANGE_INNER,
								 DP_ROUND_DOWN, "It is an error, as a "
								 "fraction of the rows."));
	if (s->terms.update == DP_ITERATE_MEDIAN)
		plan_candidates(s);
	if (s->own != NULL)
		s->own->chosen = !PG_ARGISNULL(ARG_ROUNDS);
	s->terms.rounds = PG_ARGISNULL(ARG_ROUNDS) ? default_rounds(s) :
		PG_GETARG_INT32(ARG_ROUNDS);
	if (s->terms.rounds < 1 || s->terms.rounds > DP_ITERATE_ROUNDS)
		dp_base_raise_parameter(psprintf("rounds must be from 1 to %d",
										 DP_ITERATE_ROUNDS),
								"Each of them finds and counts a query, for "
								"an equal part of the price.");
}

/* ---- the whole request ---- */

static void
iterate_call_read_delta(FunctionCallInfo fcinfo, dp_iteration *s)
{
	bool		gaussian = s->terms.distinguisher == DP_ITERATE_GAUSSIAN;
	Numeric		number = dp_base_number(fcinfo, ARG_DELTA);

	if (!gaussian && number != NULL)
		dp_base_raise_parameter(psprintf("distinguisher \"%s\" takes no "
										 "delta",
										 s->distinguisher),
								"It is epsilon-differentially private.");
	if (!gaussian)
		return;
	if (number == NULL && dp_setting_delta[0] != '\0')
		number = dp_base_text_to_numeric(dp_setting_delta);
	if (number == NULL)
		dp_base_raise_parameter("distinguisher \"gaussian\" needs a delta",
								"Give delta => 1e-9, well below one over "
								"the number of people, or SET "
								"dp_pg.delta.");
	s->delta = dp_base_check_number(number, "delta", DP_RANGE_INNER,
									DP_ROUND_DOWN, "It is a probability, "
									"well below one over the number of "
									"people.");
}

static void
iterate_call_read_request(FunctionCallInfo fcinfo, dp_iteration *s)
{
	dp_tables_check_place(fcinfo, "dp_iterate");
	iterate_call_read_universe(fcinfo, s);
	read_update(fcinfo, s);
	read_distinguisher(fcinfo, s);
	s->epsilon = dp_base_epsilon(fcinfo, ARG_EPSILON, &s->epsilon_fixed);
	iterate_call_read_n(fcinfo, s);
	iterate_verify(s);
	read_rounds(fcinfo, s);
	iterate_call_read_delta(fcinfo, s);
	if (s->own != NULL)
		own_begin(s);
	iterate_price(s);
	expand_queries(s);
}

/* ---- the result ---- */

PG_FUNCTION_INFO_V1(dp_synth_sql_iterate);

/*
 * dp_synth_sql_iterate
 *	  dp_iterate(relation, columns, queries, epsilon, n, update,
 *	  distinguisher, rounds, bins, alpha, delta): the hypothesis.  See
 *	  sql/88_iterate.sql.
 */
Datum
dp_synth_sql_iterate(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	dp_iteration s;

	MemSet(&s, 0, sizeof(s));
	iterate_call_read_request(fcinfo, &s);
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	dp_workload_check_distribution(s.universe, result->setDesc);
	ereport(NOTICE,
			(errmsg("universe of %s, %s, at most %s",
					dp_tables_counted(s.terms.cells, "cell", "cells"),
					dp_tables_counted(s.terms.queries, "query", "queries"),
					dp_tables_counted(s.own ? s.own->updates : s.terms.rounds,
									  "round", "rounds")),
			 errdetail("%s", iterate_bounds_text(&s))));
	s.probability = palloc_extended(sizeof(double) * s.terms.cells,
									MCXT_ALLOC_HUGE);
	if (s.own != NULL)
		own_run(&s);
	else
	{
		if (s.alpha > 0)
			notice_alpha(&s.terms, s.alpha);
		iterate_release(&s);
	}
	dp_workload_put_distribution(s.universe, s.probability, result);
	return (Datum) 0;
}
