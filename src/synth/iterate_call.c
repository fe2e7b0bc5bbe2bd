/*
 * iterate_call.c
 *	  dp_iterate: the iterative construction (book, section 5.2), with the
 *	  update algorithm and the distinguisher of the caller's choice.
 *
 * Order: the universe and what the queries weigh its cells are found; the
 * reading is verified; all rounds are charged, as one charge; one pass over
 * the private rows counts the cells, and the rounds run where that is done
 * (iterate_run.c).  What is released are the steps, which dp_pg.releases
 * keeps, and the hypothesis that follows from them.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/builtins.h"

#include "../bridge/dp_numeric.h"
#include "../model/dp_generator.h"
#include "../model/dp_smalldb.h"
#include "iterate.h"

#define OWN_COLUMN "probability double precision"
#define MOST_N (INT64CONST(1) << 40)
#define MOST_SIZE 64			/* of a candidate that nobody asked for */

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

typedef struct iteration
{
	dp_universe *universe;
	List	   *texts;
	dp_reading *reading;
	int32	   *weights;
	Size		sent;			/* bytes of weights */
	dp_iterate_terms terms;
	double		alpha;			/* 0: not asked for */
	dp_rational epsilon;
	dp_fixed	epsilon_fixed;
	dp_fixed	delta;
	dp_charge	charge;
	int64		id;				/* of the charge */
	int64		taken;
	dp_iterate_step *steps;
	double	   *probability;
	int64		filled;
} iteration;

/* ---- what is asked ---- */

/* The place of a word among some; 22023 with all of them. */
static int
read_word(FunctionCallInfo fcinfo, int place, const char *name,
		  const char *const *words)
{
	StringInfoData all;
	char	   *word;
	int			i;

	initStringInfo(&all);
	for (i = 0; words[i] != NULL; i++)
		appendStringInfo(&all, "%s%s", i > 0 ? ", " : "", words[i]);
	dp_bridge_require_argument(fcinfo, place, psprintf("%s of dp_iterate",
													   name),
							   psprintf("It is one of: %s.", all.data));
	word = text_to_cstring(PG_GETARG_TEXT_PP(place));
	for (i = 0; words[i] != NULL; i++)
		if (strcmp(words[i], word) == 0)
			return i;
	dp_bridge_raise_parameter(psprintf("unknown %s \"%s\"", name, word),
							  psprintf("It is one of: %s.", all.data));
	return 0;
}

static void
read_names(FunctionCallInfo fcinfo, iteration *s)
{
	s->terms.update = read_word(fcinfo, ARG_UPDATE, "update", updates);
	s->terms.distinguisher = read_word(fcinfo, ARG_DISTINGUISHER,
									   "distinguisher", distinguishers);
}

static void
read_n(FunctionCallInfo fcinfo, iteration *s)
{
	dp_bridge_require_argument(fcinfo, ARG_N, "n of dp_iterate",
							   "Give the public number of rows, or a noisy "
							   "one: SELECT dp_count(*).");
	s->terms.n = PG_GETARG_INT64(ARG_N);
	if (s->terms.n < 1 || s->terms.n > MOST_N)
		dp_bridge_raise_parameter("n must be at least 1 and at most 2^40",
								  "It is the number of rows.");
}

static void
read_universe(FunctionCallInfo fcinfo, iteration *s)
{
	dp_bridge_require_argument(fcinfo, ARG_RELATION, "relation of dp_iterate",
							   "Write its name.");
	dp_bridge_require_argument(fcinfo, ARG_COLUMNS, "columns of dp_iterate",
							   "Write columns => ARRAY['smoker', 'ward'].");
	dp_bridge_require_argument(fcinfo, ARG_QUERIES, "queries of dp_iterate",
							   "Give predicates or weights, as an array of "
							   "text.");
	s->universe = dp_workload_make_universe(
		PG_GETARG_OID(ARG_RELATION), PG_GETARG_ARRAYTYPE_P(ARG_COLUMNS),
		PG_ARGISNULL(ARG_BINS) ? NULL : PG_GETARG_ARRAYTYPE_P(ARG_BINS),
		DP_UNIVERSE_CELLS);
	s->texts = dp_block_predicate_texts(PG_GETARG_ARRAYTYPE_P(ARG_QUERIES));
	s->terms.cells = s->universe->size;
	s->terms.queries = list_length(s->texts);
	s->terms.one = DP_WEIGHT_ONE;
	if (s->terms.cells < 2)
		dp_bridge_raise_parameter("universe has one cell only",
								  "There is nothing to learn about it.");
	if (s->terms.queries > DP_ITERATE_WEIGHTS / s->terms.cells)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("there are too many queries over too many cells"),
				 errdetail("%s times %s; at most " INT64_FORMAT " together.",
						   dp_synth_counted(s->terms.queries, "query",
											"queries"),
						   dp_synth_counted(s->terms.cells, "cell", "cells"),
						   DP_ITERATE_WEIGHTS),
				 errhint("Use fewer columns, bins or queries.%s",
						 dp_workload_null_hint(s->universe))));
}

static void
expand_queries(iteration *s)
{
	int32	   *next;
	ListCell   *lc;

	next = s->weights = palloc_extended(sizeof(int32) * s->terms.queries *
										s->terms.cells, MCXT_ALLOC_HUGE);
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
is_feasible(const iteration *s, int64 size)
{
	int64		candidates = dp_model_iterate_candidates(s->terms.cells, size);

	return size <= DP_ITERATE_SIZE &&
		candidates <= DP_ITERATE_CANDIDATES &&
		candidates <= DP_ITERATE_ANSWERS / s->terms.queries &&
		candidates <= DP_ITERATE_WORK / s->terms.queries / size;
}

static void
forbid_size(const iteration *s, uint64 size)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("there are too many candidates for update \"median\""),
			 errdetail("They are all tables of " UINT64_FORMAT " rows over "
					   "%s; at most " INT64_FORMAT " can be held, and "
					   INT64_FORMAT " times queries.", size,
					   dp_synth_counted(s->terms.cells, "cell", "cells"),
					   DP_ITERATE_CANDIDATES, DP_ITERATE_ANSWERS),
			 errhint("Use a larger alpha, fewer cells or queries, or update "
					 "=> 'multiplicative'.")));
}

/* The size that half of alpha asks for, or the largest that can be held. */
static void
plan_candidates(iteration *s)
{
	double		queries = Max((double) s->terms.queries, 3);
	uint64		size = 1;

	if (s->alpha > 0)
		dp_bridge_check_status(dp_model_smalldb_size(queries, s->alpha / 2,
													 &size),
							   "find the number of candidates");
	else
		while (size < MOST_SIZE && is_feasible(s, size + 1))
			size++;
	if (!is_feasible(s, (int64) Min(size, PG_INT32_MAX)))
		forbid_size(s, size);
	s->terms.size = (int64) size;
	s->terms.candidates = dp_model_iterate_candidates(s->terms.cells,
													  s->terms.size);
}

/* How many rounds, when nobody says: as many as can be needed (T126, T127). */
static int
default_rounds(const iteration *s)
{
	double		rounds;

	if (s->terms.update == DP_ITERATE_MEDIAN)
		rounds = 1 + log2((double) s->terms.candidates);
	else if (s->alpha > 0)
		rounds = 1 + 5 * log((double) s->terms.cells) /
			(s->alpha * s->alpha);
	else
		rounds = pow((double) s->terms.n *
					 dp_acct_fixed_approx(s->epsilon_fixed) *
					 sqrt(log((double) s->terms.cells)) /
					 (10 * (double) s->reading->sensitivity *
					  log(2.0 + (double) s->terms.queries)), 2.0 / 3);
	return rounds < 1 ? 1 : rounds > DP_ITERATE_ROUNDS ? DP_ITERATE_ROUNDS :
		(int) rounds;
}

static void
read_rounds(FunctionCallInfo fcinfo, iteration *s)
{
	Numeric		alpha = dp_bridge_number(fcinfo, ARG_ALPHA);

	if (alpha != NULL)
		s->alpha = dp_acct_fixed_approx(
			dp_bridge_check_number(alpha, "alpha", DP_RANGE_INNER,
								   DP_ROUND_DOWN, "It is an error, as a "
								   "fraction of the rows."));
	if (s->terms.update == DP_ITERATE_MEDIAN)
		plan_candidates(s);
	s->terms.rounds = PG_ARGISNULL(ARG_ROUNDS) ? default_rounds(s) :
		PG_GETARG_INT32(ARG_ROUNDS);
	if (s->terms.rounds < 1 || s->terms.rounds > DP_ITERATE_ROUNDS)
		dp_bridge_raise_parameter(psprintf("rounds must be from 1 to %d",
										   DP_ITERATE_ROUNDS),
								  "Each of them finds and counts a query, for "
								  "an equal part of the price.");
}

/* ---- its price ---- */

/* Pure: half a part for the choice, half for the count. */
static dp_status
plan_pure(iteration *s)
{
	uint64		sensitivity = s->reading->sensitivity;
	dp_rational parts = {2 * (dp_uint128) s->terms.rounds, 1};
	dp_rational part;
	dp_fixed	choice = 0;
	dp_fixed	count = 0;
	dp_status	status;
	int			i;

	s->charge.epsilon = s->epsilon_fixed;
	status = dp_mech_rational_divide(&s->epsilon, &parts, &part);
	if (status == DP_OK)
		status = dp_mech_selection_rate(&part, sensitivity, false,
										&s->terms.rate);
	if (status == DP_OK)
		status = dp_mech_scale_make(sensitivity, &part, &s->terms.scale);
	if (status == DP_OK)
		status = s->terms.distinguisher == DP_ITERATE_EXPONENTIAL ?
			dp_acct_rho_from_exponential(&part, &choice) :
			dp_acct_rho_from_pure(&part, &choice);
	if (status == DP_OK)
		status = dp_acct_rho_from_laplace(sensitivity, &part, &count);
	for (i = 0; i < s->terms.rounds; i++)
		s->charge.rho = dp_acct_fixed_add(s->charge.rho,
										  dp_acct_fixed_add(choice, count));
	return status;
}

/* zCDP: of a round's rho a tenth for the choice, the rest for the count. */
static dp_status
plan_gaussian(iteration *s)
{
	const dp_ledger_standing *standing = &s->reading->standing;
	dp_generator_terms counts = {.sensitivity = s->reading->sensitivity};
	dp_generator_step step;
	dp_fixed	rho = 0;
	dp_status	status;

	status = dp_acct_zcdp_rho(s->epsilon_fixed, s->delta, &rho);
	if (status == DP_OK)
		status = dp_model_generator_step_last(&counts, rho /
											  (dp_fixed) s->terms.rounds,
											  &step);
	if (status != DP_OK)
		return status;
	s->terms.rate = step.rate;
	s->terms.noise = step.noise;
	dp_acct_charge_gaussian(dp_ledger_charge_filter(standing),
							s->epsilon_fixed, s->delta, rho, &s->charge);
	return DP_OK;
}

static void
read_delta(FunctionCallInfo fcinfo, iteration *s)
{
	bool		gaussian = s->terms.distinguisher == DP_ITERATE_GAUSSIAN;
	Numeric		number = dp_bridge_number(fcinfo, ARG_DELTA);

	if (!gaussian && number != NULL)
		dp_bridge_raise_parameter(psprintf("distinguisher \"%s\" takes no "
										   "delta",
										   distinguishers[
											s->terms.distinguisher]),
								  "It is epsilon-differentially private.");
	if (!gaussian)
		return;
	if (number == NULL && dp_setting_delta[0] != '\0')
		number = dp_bridge_text_to_numeric(dp_setting_delta);
	if (number == NULL)
		dp_bridge_raise_parameter("distinguisher \"gaussian\" needs a delta",
								  "Give delta => 1e-9, well below one over "
								  "the number of people, or SET "
								  "dp_pg.delta.");
	s->delta = dp_bridge_check_number(number, "delta", DP_RANGE_INNER,
									  DP_ROUND_DOWN, "It is a probability, "
									  "well below one over the number of "
									  "people.");
	dp_ledger_check_delta(&s->reading->standing, s->reading->dataset,
						  s->delta);
}

static void
plan_price(FunctionCallInfo fcinfo, iteration *s)
{
	dp_ledger_check_price(&s->reading->standing, s->reading->dataset,
						  s->epsilon_fixed);
	read_delta(fcinfo, s);
	dp_bridge_check_status(s->terms.distinguisher == DP_ITERATE_GAUSSIAN ?
						   plan_gaussian(s) : plan_pure(s),
						   "plan the rounds");
}

/* What noise alone does not pass, nearly always. */
static double
noise_error(const dp_iterate_terms *terms)
{
	if (terms->distinguisher == DP_ITERATE_GAUSSIAN)
		return 2 * sqrt((double) terms->noise.variance.num /
						(double) terms->noise.variance.den);
	return dp_mech_laplace_error(&terms->scale, .05);
}

/*
 * When to stop: at the book's 3/4 alpha n, or where what is seen may be noise,
 * and what candidates cannot say.  After plan_price.
 */
static void
plan_end(iteration *s)
{
	s->terms.eta = s->alpha / 2;
	s->terms.near = s->alpha > 0 ? .75 * s->alpha * (double) s->terms.n :
		noise_error(&s->terms);
	if (s->alpha == 0 && s->terms.update == DP_ITERATE_MEDIAN)
		s->terms.near += (double) s->terms.n / (double) s->terms.size;
}

static void
read_request(FunctionCallInfo fcinfo, iteration *s)
{
	dp_reading_table table;
	int		   *axes;
	int			i;

	dp_synth_check_place(fcinfo, "dp_iterate");
	read_universe(fcinfo, s);
	read_names(fcinfo, s);
	s->epsilon = dp_bridge_epsilon(fcinfo, ARG_EPSILON, &s->epsilon_fixed);
	read_n(fcinfo, s);
	axes = palloc(sizeof(int) * s->universe->naxes);
	for (i = 0; i < s->universe->naxes; i++)
		axes[i] = i;
	table.naxes = s->universe->naxes;
	table.axes = axes;
	s->reading = dp_reading_of_tables(s->universe->relid, s->universe->naxes,
									  s->universe->axes, 1, &table);
	read_rounds(fcinfo, s);
	expand_queries(s);
	plan_price(fcinfo, s);
	plan_end(s);
}

/* ---- charge and run ---- */

/* dp_reader_charge */
static void
pay(void *context)
{
	iteration  *s = context;
	dp_ledger_request request;
	dp_synth_record record;

	dp_synth_request(&request, s->reading->dataset, &s->reading->standing,
					 s->reading->fingerprint, &s->charge,
					 psprintf("iterate: %s, %s", updates[s->terms.update],
							  distinguishers[s->terms.distinguisher]));
	request.releases = 2 * s->terms.rounds;
	dp_synth_record_begin(&record, "iterate", s->reading);
	dp_synth_record_universe(&record, s->universe);
	dp_synth_record_text(&record, "update", updates[s->terms.update]);
	dp_synth_record_text(&record, "distinguisher",
						 distinguishers[s->terms.distinguisher]);
	dp_synth_record_integer(&record, "rounds", s->terms.rounds);
	dp_synth_record_number(&record, "alpha", s->alpha > 0 ?
						   psprintf("%.17g", s->alpha) : NULL);
	dp_synth_record_number(&record, "near", psprintf("%.17g",
													 s->terms.near));
	dp_synth_record_integer(&record, "n", s->terms.n);
	dp_synth_record_texts(&record, "queries", s->texts);
	s->id = dp_synth_charge(&request, &record);
	dp_bridge_progress(DP_PHASE_READING, 0);
}

#define PIECE 16384				/* bytes of the source's pieces */

/* dp_reader_source: what queries weigh cells */
static const void *
next_piece(void *context, Size *size)
{
	iteration  *s = context;
	Size		whole = sizeof(int32) * s->terms.queries * s->terms.cells;
	const char *piece = (const char *) s->weights + s->sent;

	*size = Min(whole - s->sent, PIECE);
	s->sent += *size;
	return *size > 0 ? piece : NULL;
}

/* dp_reader_sink: of progress, and then of the result */
static void
take_piece(void *context, const void *data, Size size)
{
	iteration  *s = context;
	const dp_synth_iterated *piece = data;

	if (dp_synth_hear_progress(data))
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
run(iteration *s)
{
	dp_reading_use use = {DP_USE_ITERATE, &s->terms, sizeof(s->terms),
	next_piece, pay, take_piece, s};

	s->steps = palloc0(sizeof(dp_iterate_step) * s->terms.rounds);
	s->probability = palloc_extended(sizeof(double) * s->terms.cells,
									 MCXT_ALLOC_HUGE);
	dp_bridge_progress_begin(DP_WORK_ITERATE, s->universe->relid,
							 s->terms.rounds);
	dp_reading_run(s->reading, &use);
	dp_bridge_progress_end();
	if (s->filled != s->terms.cells)
		elog(ERROR, "construction gave other cells than were planned");
}

/* ---- the result ---- */

/* "steps": [{"query": 1, "guess": .., "answer": ..}, ...] */
static char *
steps_text(const iteration *s)
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
						 dp_numeric_text(dp_bridge_int128_to_numeric(
											 s->steps[i].answer)));
	appendStringInfoChar(&text, ']');
	return text.data;
}

static void
put_cells(const iteration *s, ReturnSetInfo *result)
{
	Datum		values[DP_UNIVERSE_AXES + 1];
	bool		nulls[DP_UNIVERSE_AXES + 1];
	int64		cell;

	nulls[s->universe->naxes] = false;
	for (cell = 0; cell < s->terms.cells; cell++)
	{
		CHECK_FOR_INTERRUPTS();
		dp_workload_values(s->universe, cell, values, nulls);
		values[s->universe->naxes] = Float8GetDatum(s->probability[cell]);
		tuplestore_putvalues(result->setResult, result->setDesc, values,
							 nulls);
	}
}

static void
check_last_column(const iteration *s, TupleDesc wanted)
{
	Form_pg_attribute last = TupleDescAttr(wanted, wanted->natts - 1);

	if (strcmp(NameStr(last->attname), "probability") == 0 &&
		last->atttypid == FLOAT8OID)
		return;
	dp_bridge_raise_parameter("column list must end with " OWN_COLUMN,
							  psprintf("Write AS t(%s, " OWN_COLUMN ").",
									   dp_workload_columns_text(s->universe)));
}

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
	iteration	s;

	MemSet(&s, 0, sizeof(s));
	read_request(fcinfo, &s);
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	dp_workload_check_columns(s.universe, result->setDesc, OWN_COLUMN);
	check_last_column(&s, result->setDesc);
	ereport(NOTICE,
			(errmsg("universe of %s, %s, at most %s",
					dp_synth_counted(s.terms.cells, "cell", "cells"),
					dp_synth_counted(s.terms.queries, "query", "queries"),
					dp_synth_counted(s.terms.rounds, "round", "rounds")),
			 errdetail("Rounds end when a noisy count is within %.4g rows of "
					   "its guess.%s", s.terms.near,
					   dp_reading_rows_text(s.reading))));
	run(&s);
	put_cells(&s, result);
	dp_synth_finish(s.reading->dataset, s.id, NAN, steps_text(&s));
	return (Datum) 0;
}
