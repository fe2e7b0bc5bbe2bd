/*
 * iterate_call.c
 *	  dp_iterate: the iterative construction (book, section 5.2), with the
 *	  update algorithm and the distinguisher of the caller's choice.  An
 *	  algorithm that the caller wrote is driven by iterate_own.c.
 *
 * Order: the universe and the weights of its cells by queries are found; the
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
#include "../model/dp_smalldb.h"
#include "iterate.h"

#define OWN_COLUMN "probability double precision"
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

	dp_bridge_require_argument(fcinfo, ARG_UPDATE, "update of dp_iterate",
							   "It is multiplicative, median, or the name of "
							   "a function.");
	word = text_to_cstring(PG_GETARG_TEXT_PP(ARG_UPDATE));
	update = find_word(word, updates);
	s->terms.update = update < 0 ? DP_ITERATE_OWN : update;
	if (s->terms.update == DP_ITERATE_OWN)
		s->own = dp_synth_own_find(word);
	s->update = s->own ? s->own->name : updates[update];
}

static void
read_distinguisher(FunctionCallInfo fcinfo, dp_iteration *s)
{
	const char *all = "It is one of: exponential, permute_and_flip, gaussian.";
	char	   *word;
	int			distinguisher;

	dp_bridge_require_argument(fcinfo, ARG_DISTINGUISHER,
							   "distinguisher of dp_iterate", all);
	word = text_to_cstring(PG_GETARG_TEXT_PP(ARG_DISTINGUISHER));
	distinguisher = find_word(word, distinguishers);
	if (distinguisher < 0)
		dp_bridge_raise_parameter(psprintf("unknown distinguisher \"%s\"",
										   word), all);
	s->terms.distinguisher = distinguisher;
	s->distinguisher = distinguishers[distinguisher];
}

static void
read_n(FunctionCallInfo fcinfo, dp_iteration *s)
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
read_universe(FunctionCallInfo fcinfo, dp_iteration *s)
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
expand_queries(dp_iteration *s)
{
	int32	   *next;
	ListCell   *lc;

	next = s->weights =
		palloc_extended(dp_synth_iterate_weights(&s->terms) +
						dp_synth_iterate_guesses(&s->terms),
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
is_feasible(const dp_iteration *s, int64 size)
{
	int64		candidates = dp_model_iterate_candidates(s->terms.cells, size);

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
					   dp_synth_counted(s->terms.cells, "cell", "cells"),
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
		dp_bridge_check_status(dp_model_smalldb_size(queries, s->alpha / 2,
													 &size),
							   "find the number of candidates");
	else
		while (size < MOST_SIZE && is_feasible(s, size + 1))
			size++;
	if (!is_feasible(s, (int64) Min(size, PG_INT32_MAX)))
		raise_size(s, size);
	s->terms.size = (int64) size;
	s->terms.candidates = dp_model_iterate_candidates(s->terms.cells,
													  s->terms.size);
}

/*
 * The default number of rounds: as many as can be needed or, without alpha, as
 * many as minimise a bound on the error, like dp_model_mwem_rounds.
 */
static int
default_rounds(const dp_iteration *s)
{
	double		rounds;

	if (s->terms.update == DP_ITERATE_MEDIAN || s->alpha > 0)
		rounds = dp_synth_iterate_needed(&s->terms, s->alpha);
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
read_rounds(FunctionCallInfo fcinfo, dp_iteration *s)
{
	Numeric		alpha = dp_bridge_number(fcinfo, ARG_ALPHA);

	if (alpha != NULL)
		s->alpha = dp_acct_fixed_approx(
			dp_bridge_check_number(alpha, "alpha", DP_RANGE_INNER,
								   DP_ROUND_DOWN, "It is an error, as a "
								   "fraction of the rows."));
	if (s->terms.update == DP_ITERATE_MEDIAN)
		plan_candidates(s);
	if (s->own != NULL)
		s->own->chosen = !PG_ARGISNULL(ARG_ROUNDS);
	s->terms.rounds = PG_ARGISNULL(ARG_ROUNDS) ? default_rounds(s) :
		PG_GETARG_INT32(ARG_ROUNDS);
	if (s->terms.rounds < 1 || s->terms.rounds > DP_ITERATE_ROUNDS)
		dp_bridge_raise_parameter(psprintf("rounds must be from 1 to %d",
										   DP_ITERATE_ROUNDS),
								  "Each of them finds and counts a query, for "
								  "an equal part of the price.");
}

/* ---- the whole request ---- */

static void
read_delta(FunctionCallInfo fcinfo, dp_iteration *s)
{
	bool		gaussian = s->terms.distinguisher == DP_ITERATE_GAUSSIAN;
	Numeric		number = dp_bridge_number(fcinfo, ARG_DELTA);

	if (!gaussian && number != NULL)
		dp_bridge_raise_parameter(psprintf("distinguisher \"%s\" takes no "
										   "delta",
										   s->distinguisher),
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
}

static void
read_request(FunctionCallInfo fcinfo, dp_iteration *s)
{
	dp_synth_check_place(fcinfo, "dp_iterate");
	read_universe(fcinfo, s);
	read_update(fcinfo, s);
	read_distinguisher(fcinfo, s);
	s->epsilon = dp_bridge_epsilon(fcinfo, ARG_EPSILON, &s->epsilon_fixed);
	read_n(fcinfo, s);
	dp_synth_iterate_verify(s);
	read_rounds(fcinfo, s);
	read_delta(fcinfo, s);
	if (s->own != NULL)
		dp_synth_own_begin(s);
	dp_synth_iterate_price(s);
	expand_queries(s);
}

/* ---- the result ---- */

static void
put_cells(const dp_iteration *s, ReturnSetInfo *result)
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
check_last_column(const dp_iteration *s, TupleDesc wanted)
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
	dp_iteration s;

	MemSet(&s, 0, sizeof(s));
	read_request(fcinfo, &s);
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	dp_workload_check_columns(s.universe, result->setDesc, OWN_COLUMN);
	check_last_column(&s, result->setDesc);
	ereport(NOTICE,
			(errmsg("universe of %s, %s, at most %s",
					dp_synth_counted(s.terms.cells, "cell", "cells"),
					dp_synth_counted(s.terms.queries, "query", "queries"),
					dp_synth_counted(s.own ? s.own->updates : s.terms.rounds,
									 "round", "rounds")),
			 errdetail("%s", dp_synth_iterate_bounds_text(&s))));
	s.probability = palloc_extended(sizeof(double) * s.terms.cells,
									MCXT_ALLOC_HUGE);
	if (s.own != NULL)
		dp_synth_own_run(&s);
	else
	{
		if (s.alpha > 0)
			dp_synth_iterate_tell_alpha(&s.terms, s.alpha);
		dp_synth_iterate_release(&s);
	}
	put_cells(&s, result);
	return (Datum) 0;
}
