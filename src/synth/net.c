/*
 * net.c
 *	  dp_net: one of the user's own candidates, by the exponential mechanism
 *	  (book, Section 5.1, Algorithm 7).
 *
 * A candidate is a row of a public table: a synopsis of any form and size,
 * and what it answers to each query.  The queries are predicates, counted
 * over a protected relation; or the data's owner gives the values of any
 * queries, linear or not, and vouches for how far one unit can move one.  For
 * predicates the choice is made where the rows are read (net_run.c).
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "net.h"

#define BETA .05

/* A call of either form. */
typedef struct net
{
	const char *dataset;
	dp_ledger_standing standing;
	dp_reading *reading;		/* NULL: an owner's values */
	int64		fingerprint;
	List	   *texts;			/* predicates; NIL: an owner's values */
	dp_binary_grid grid;
	dp_uint128	sensitivity;	/* in granules */
	dp_rational epsilon;
	dp_charge	charge;
	dp_rational rate;
	dp_net_candidates candidates;
	dp_net_answers answers;		/* of these */
	int64		id;				/* of the charge */
	int64		chosen;
} net;

/* The candidates, and the result's form. */
static void
read_candidates(FunctionCallInfo fcinfo, net *s, int place, int answers,
				int queries)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	dp_bridge_require_argument(fcinfo, place, "candidates",
							   "Name the table that holds them.");
	dp_bridge_require_argument(fcinfo, answers, "answers",
							   "Name the column that holds them, or leave "
							   "it out.");
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	dp_synth_net_read_candidates(&s->candidates, PG_GETARG_OID(place),
								 NameStr(*PG_GETARG_NAME(answers)), queries,
								 result->setDesc);
}

static void
plan_price(FunctionCallInfo fcinfo, net *s, int place)
{
	s->epsilon = dp_bridge_epsilon(fcinfo, place, &s->charge.epsilon);
	dp_bridge_check_status(dp_acct_rho_from_exponential(&s->epsilon,
														&s->charge.rho),
						   "compute a charge");
	dp_bridge_check_status(dp_mech_selection_rate(&s->epsilon,
												  s->sensitivity, false,
												  &s->rate),
						   "compute a rate");
	dp_ledger_check_price(&s->standing, s->dataset, s->charge.epsilon);
}

/*
 * By how much the choice may be worse than the best, in the queries' unit;
 * counts of predicates are whole, so only the candidates' answers are rounded;
 * for weights both are.
 */
static double
choice_error(const net *s)
{
	return ldexp(2 * (double) s->sensitivity * (double) s->epsilon.den /
				 (double) s->epsilon.num *
				 (log((double) s->candidates.n) - log(BETA)) +
				 (s->texts && !s->reading->weighted ? 1 : 2),
				 s->grid.exponent);
}

/* dp_reader_charge */
static void
pay(void *context)
{
	net		   *s = context;
	dp_ledger_request request;
	dp_synth_record record;

	ereport(NOTICE,
			(errmsg("%s, %s",
					dp_synth_counted(s->candidates.n, "candidate",
									 "candidates"),
					dp_synth_counted(s->candidates.queries, "query",
									 "queries")),
			 errdetail("With probability %g the chosen one's largest error "
					   "exceeds the best one's by less than %.4g%s.%s",
					   1 - BETA, choice_error(s),
					   s->reading ? " rows" : "", s->reading ?
					   dp_reading_rows_text(s->reading) : "")));
	dp_synth_request(&request, s->dataset, &s->standing, s->fingerprint,
					 &s->charge, s->texts ? "net: exponential mechanism" :
					 "net: owner's values, exponential mechanism");
	dp_synth_record_begin(&record, "net", s->reading);
	dp_synth_record_text(&record, "table", s->candidates.name);
	dp_synth_record_integer(&record, "candidates", s->candidates.n);
	dp_synth_record_integer(&record, "queries", s->candidates.queries);
	dp_synth_record_texts(&record, "predicates", s->texts);
	s->id = dp_synth_charge(&request, &record);
	if (s->reading != NULL)
		dp_bridge_progress(DP_PHASE_READING, 0);
}

static void
fill_choice(const net *s, dp_net_choice *choice)
{
	MemSet(choice, 0, sizeof(*choice));
	choice->rate = s->rate;
	choice->candidates = s->candidates.n;
	choice->queries = s->candidates.queries;
}

/* Give the chosen row, and complete the record. */
static void
give(FunctionCallInfo fcinfo, const net *s, int64 chosen)
{
	dp_synth_net_put(&s->candidates, chosen,
					 (ReturnSetInfo *) fcinfo->resultinfo);
	dp_synth_finish(s->dataset, s->id, NAN, "");
}

/* dp_reader_source */
static const void *
next_answers(void *context, Size *size)
{
	return dp_synth_net_answers_next(&((net *) context)->answers, size);
}

/* dp_reader_sink: of progress, and then of the result */
static void
take_piece(void *context, const void *data, Size size)
{
	net		   *s = context;

	if (!dp_synth_hear_progress(data))
		s->chosen = ((const dp_net_chosen *) data)->candidate;
}

PG_FUNCTION_INFO_V1(dp_synth_sql_net);

/*
 * dp_synth_sql_net
 *	  dp_net(relation, candidates, queries, epsilon, answers): the chosen row
 *	  of candidates.  See sql/84_smalldb.sql.
 */
Datum
dp_synth_sql_net(PG_FUNCTION_ARGS)
{
	net			s;
	dp_net_choice choice;
	dp_reading_use use = {DP_USE_NET, &choice, sizeof(choice), next_answers,
	pay, take_piece, &s};

	dp_synth_check_place(fcinfo, "dp_net");
	MemSet(&s, 0, sizeof(s));
	dp_bridge_require_argument(fcinfo, 0, "relation of dp_net",
							   "Write its name.");
	dp_bridge_require_argument(fcinfo, 2, "queries of dp_net",
							   "Give predicates as an array of text.");
	s.texts = dp_block_predicate_texts(PG_GETARG_ARRAYTYPE_P(2));
	s.reading = dp_reading_of_predicates(PG_GETARG_OID(0), s.texts);
	s.dataset = s.reading->dataset;
	s.standing = s.reading->standing;
	s.fingerprint = s.reading->fingerprint;
	s.grid = dp_bridge_make_grid(0);
	s.sensitivity = s.reading->sensitivity;
	plan_price(fcinfo, &s, 3);
	read_candidates(fcinfo, &s, 1, 4, (int) s.reading->ncounts);
	fill_choice(&s, &choice);

	dp_bridge_progress_begin(DP_WORK_NET, s.reading->relid, s.candidates.n);
	/* Reading candidates may have run any code. */
	(void) dp_synth_relation_name(s.reading->relid);
	dp_synth_net_answers_begin(&s.answers, &s.candidates, &s.grid);
	dp_reading_run(s.reading, &use);
	dp_synth_net_answers_end(&s.answers);
	give(fcinfo, &s, s.chosen);
	dp_bridge_progress_end();
	return (Datum) 0;
}

/* The owner's values, numeric[] or double precision[], unread. */
static Datum *
read_values(FunctionCallInfo fcinfo, bool *floats, bool **nulls, int *n)
{
	ArrayType  *array;
	Datum	   *values;

	dp_bridge_require_argument(fcinfo, 0, "array of values",
							   "Give the value of each query.");
	array = PG_GETARG_ARRAYTYPE_P(0);
	*floats = ARR_ELEMTYPE(array) == FLOAT8OID;
	deconstruct_array(array, ARR_ELEMTYPE(array), *floats ? 8 : -1, *floats,
					  *floats ? TYPALIGN_DOUBLE : TYPALIGN_INT, &values,
					  nulls, n);
	if (*n == 0)
		dp_bridge_raise_parameter("there are no values",
								  "Give the value of each query, as an "
								  "array.");
	return values;
}

/* Choose by exact values. */
static int64
choose(net *s, const dp_int128 *truths)
{
	dp_net_choice choice;
	dp_int128  *scores;
	const void *piece;
	int64		scored = 0;
	Size		size;

	fill_choice(s, &choice);
	scores = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(dp_int128) *
									choice.candidates);
	dp_synth_net_answers_begin(&s->answers, &s->candidates, &s->grid);
	while ((piece = dp_synth_net_answers_next(&s->answers, &size)) != NULL)
	{
		int64		n = size / (sizeof(dp_int128) * choice.queries);

		dp_synth_net_score(piece, n, choice.queries, truths, scores + scored);
		scored += n;
	}
	dp_synth_net_answers_end(&s->answers);
	return dp_synth_net_choose(&choice, scores);
}

PG_FUNCTION_INFO_V1(dp_synth_sql_net_values);

/*
 * dp_synth_sql_net_values
 *	  dp_net_values(value, sensitivity, candidates, dataset, epsilon,
 *	  answers): the chosen row of candidates, for values that the data's owner
 *	  computed.  After the charge nothing fails for a reason that lies in a
 *	  value.
 */
Datum
dp_synth_sql_net_values(PG_FUNCTION_ARGS)
{
	dp_int128  *truths;
	Datum	   *values;
	bool	   *nulls;
	bool		floats;
	int64		chosen;
	int			n;
	int			i;
	net			s;

	dp_synth_check_place(fcinfo, "dp_net_values");
	dp_ledger_require_shield();
	MemSet(&s, 0, sizeof(s));
	values = read_values(fcinfo, &floats, &nulls, &n);
	dp_bridge_require_argument(fcinfo, 1, "sensitivity",
							   "Give the most by which one person can change "
							   "one value.");
	s.grid = dp_synth_net_grid_for(dp_bridge_number(fcinfo, 1),
								   &s.sensitivity);
	dp_bridge_require_argument(fcinfo, 3, "dataset",
							   "Name the one that pays.");
	s.dataset = NameStr(*PG_GETARG_NAME(3));
	dp_ledger_require_budget(s.dataset, &s.standing);
	plan_price(fcinfo, &s, 4);
	read_candidates(fcinfo, &s, 2, 5, n);
	truths = palloc(sizeof(dp_int128) * n);

	pay(&s);
	for (i = 0; i < n; i++)
		truths[i] = nulls[i] ? 0 : floats ?
			dp_bridge_grid_double(&s.grid, DatumGetFloat8(values[i])) :
			dp_bridge_grid_numeric(&s.grid, DatumGetNumeric(values[i]));
	chosen = choose(&s, truths);
	explicit_bzero(truths, sizeof(dp_int128) * n);
	give(fcinfo, &s, chosen);
	return (Datum) 0;
}
