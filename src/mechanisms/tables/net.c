/*
 * net.c
 *	  dp_net: one of the user's own candidates, by the exponential mechanism
 *	  (book, Section 5.1, Algorithm 7).
 *
 * A candidate is a row of a public table: a synopsis of any form and size, and
 * what it answers to each query.  The queries are predicates, counted over a
 * protected relation; or the data's owner gives the values of any queries,
 * linear or not, and vouches for how far one unit can move one.  For
 * predicates the choice is made where the rows are read.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "executor/tstoreReceiver.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "../../math/numbers/dp_numbers.h"
#include "../../math/noise/dp_noise.h"
#include "../../math/accounting/dp_accounting.h"
#include "../../base/dp_base.h"
#include "../../ledger/dp_ledger.h"
#include "../../protect/dp_protect.h"
#include "../../query/split/dp_split.h"
#include "../../reader/dp_reader.h"
#include "../readings/dp_readings.h"
#include "tables_internal.h"

/* ----------------
 *		Numbers as integers: floor(x / 2^e + 1/2), which turns a distance of d
 *		into at most ceil(d / 2^e) (theory T69).
 *
 * Counts lie on the integers.  For an owner's values 2^e is at most a
 * millionth of the sensitivity, and depends on nothing else.
 * ----------------
 */

#define RESOLUTION 20
#define SENSITIVITY_LOG2 100	/* sensitivities from 2^-100 to 2^100 */

/*
 * net_grid_for
 *	  The grid for values of a sensitivity, and the sensitivity in granules,
 *	  rounded up.
 *
 * Errors: 22023 sensitivity is not a positive number of moderate size.
 */
static dp_binary_grid
net_grid_for(Numeric sensitivity, dp_uint128 *granules)
{
	dp_binary_grid grid;
	int			size;

	if (!dp_base_floor_log2(sensitivity, &size) ||
		abs(size) > SENSITIVITY_LOG2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sensitivity must be a positive number"),
				 errdetail("It must lie between 1e-30 and 1e30."),
				 errhint("Give the most by which one person can change one "
						 "value.")));
	grid = dp_base_make_grid(size - RESOLUTION);
	*granules = dp_base_grid_distance(&grid, sensitivity);
	return grid;
}

/* ----------------
 *		The user's candidates: a table with, in each row, a synopsis of any
 *		form and its answers to the queries.
 *
 * They are read once, as the asking role, before anything is charged, and
 * checked: after the charge nothing about them can fail.  They have to be
 * public, so a protected relation is refused; rights stop views of one, since
 * only its owner may read it.
 * ----------------
 */

/* ---- what to read ---- */

static void
net_check_column(const dp_net_candidates *c, Form_pg_attribute wanted)
{
	AttrNumber	attnum = get_attnum(c->relid, NameStr(wanted->attname));
	Oid			type;
	Oid			collation;
	int32		typmod;

	if (attnum <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("table %s of candidates has no column \"%s\"",
						c->name, NameStr(wanted->attname)),
				 errhint("List columns of that table after AS t(...).")));
	get_atttypetypmodcoll(c->relid, attnum, &type, &typmod, &collation);
	if (type != wanted->atttypid ||
		(wanted->atttypmod >= 0 && wanted->atttypmod != typmod))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of candidates is of type %s, not %s",
						NameStr(wanted->attname),
						format_type_with_typemod(type, typmod),
						format_type_with_typemod(wanted->atttypid,
												 wanted->atttypmod)),
				 errhint("Write that type after AS t(...).")));
}

/* SELECT answers, wanted columns FROM candidates; and its form. */
static char *
make_query(dp_net_candidates *c, const char *answers, TupleDesc wanted)
{
	StringInfoData text;
	int			i;

	if (get_attnum(c->relid, answers) <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("table %s of candidates has no column \"%s\"",
						c->name, answers),
				 errhint("Give answers => the column that holds an array "
						 "with one number for each query.")));
	initStringInfo(&text);
	appendStringInfo(&text, "SELECT c.%s::pg_catalog.numeric[]",
					 quote_identifier(answers));
	c->desc = CreateTemplateTupleDesc(wanted->natts + 1);
	TupleDescInitEntry(c->desc, 1, "answers", NUMERICARRAYOID, -1, 0);
	for (i = 0; i < wanted->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(wanted, i);

		net_check_column(c, column);
		appendStringInfo(&text, ", c.%s",
						 quote_identifier(NameStr(column->attname)));
		TupleDescInitEntry(c->desc, i + 2, NameStr(column->attname),
						   column->atttypid, -1, 0);
	}
	appendStringInfo(&text, " FROM %s AS c", c->name);
	return text.data;
}

/*
 * Run the query as the asking role.  Inside a SECURITY DEFINER function of the
 * data's owner the current user is the owner, with whose rights a view of the
 * asking role must not run; nor may it act on the connection.  By now the name
 * may be another table's: the result must still have the types.
 */
static void
execute(dp_net_candidates *c, const char *query)
{
	MemoryContext context = CurrentMemoryContext;
	dp_acting	acting;
	SPIExecuteOptions options;
	DestReceiver *receiver = CreateDestReceiver(DestTuplestore);

	SetTuplestoreDestReceiverParams(receiver, c->rows, context, false,
									c->desc, gettext_noop("the table of "
														  "candidates was "
														  "changed"));
	MemSet(&options, 0, sizeof(options));
	options.read_only = true;
	options.dest = receiver;
	dp_ledger_act_as_asker(&acting, true);
	if (SPI_connect() != SPI_OK_CONNECT ||
		SPI_execute_extended(query, &options) != SPI_OK_SELECT)
		elog(ERROR, "could not read the candidates");
	SPI_finish();
	dp_ledger_act_as_before(&acting);
}

/* ---- what was read ---- */

/* The numbers of one row; *n is -1 if one is missing or not finite. */
static Datum *
answers_of(TupleTableSlot *slot, int *n)
{
	bool		isnull;
	Datum		array = slot_getattr(slot, 1, &isnull);
	Datum	   *values;
	bool	   *nulls;
	int			i;

	*n = -1;
	if (isnull)
		return NULL;
	deconstruct_array(DatumGetArrayTypeP(array), NUMERICOID, -1, false,
					  TYPALIGN_INT, &values, &nulls, n);
	for (i = 0; i < *n; i++)
		if (nulls[i] || numeric_is_nan(DatumGetNumeric(values[i])) ||
			numeric_is_inf(DatumGetNumeric(values[i])))
			*n = -1;
	return values;
}

static void
check_row(dp_net_candidates *c, int n)
{
	c->n++;
	if (n != c->queries)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a candidate does not have one answer for each "
						"query"),
				 n < 0 ? errdetail("Its array is NULL, or an element is "
								   "NULL, NaN or infinite.") :
				 errdetail("Queries: %d; answers: %d.",
						   c->queries, n),
				 errhint("Give each row an array of finite numbers, in the "
						 "order of the queries.")));
	if (c->n > NET_CANDIDATES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("there are too many candidates"),
				 errdetail("At most " INT64_FORMAT " are allowed.",
						   NET_CANDIDATES),
				 errhint("Fewer candidates also mean a smaller error.")));
}

static void
net_check_rows(dp_net_candidates *c)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(c->desc,
													&TTSOpsMinimalTuple);
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "dp_pg candidate",
												  ALLOCSET_DEFAULT_SIZES);
	int			n;

	tuplestore_rescan(c->rows);
	/* A row read back from disk belongs to the slot: not to the context. */
	while (tuplestore_gettupleslot(c->rows, true, false, slot))
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		CHECK_FOR_INTERRUPTS();
		(void) answers_of(slot, &n);
		check_row(c, n);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	MemoryContextDelete(context);
	ExecDropSingleTupleTableSlot(slot);
}

/*
 * net_read_candidates
 *	  Read and check them all.  Call it where nothing has been charged.
 *
 * Errors: 0A000 protected; 42703, 42804 columns; 22023 answers, none at all;
 * 54000 too many; 42501 and whatever reading the table raises.
 */
static void
net_read_candidates(dp_net_candidates *out, Oid relid,
					const char *answers, int queries,
					TupleDesc wanted)
{
	if (OidIsValid(dp_protect_root(relid)))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("protected relation \"%s\" cannot hold the candidates",
						get_rel_name(relid)),
				 errdetail("Candidates must be public."),
				 errhint("Name a table that you made from public or released "
						 "values.")));
	MemSet(out, 0, sizeof(*out));
	out->relid = relid;
	out->name = dp_tables_relation_name(relid);
	out->queries = queries;
	out->rows = tuplestore_begin_heap(true, false, work_mem);
	execute(out, make_query(out, answers, wanted));
	net_check_rows(out);
	if (out->n == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("table %s has no candidates", out->name)));
}

/* ---- their answers ---- */

#define PIECE 32768				/* bytes of a piece, unless one has more */

/* net_answers_begin: from the first candidate on. */
static void
net_answers_begin(dp_net_answers *answers,
				  const dp_net_candidates *candidates,
				  const dp_binary_grid *grid)
{
	Size		one = sizeof(dp_int128) * candidates->queries;

	answers->candidates = candidates;
	answers->grid = grid;
	answers->slot = MakeSingleTupleTableSlot(candidates->desc,
											 &TTSOpsMinimalTuple);
	answers->context = AllocSetContextCreate(CurrentMemoryContext,
											 "dp_pg candidate",
											 ALLOCSET_DEFAULT_SIZES);
	answers->room = Max(PIECE / one, 1);
	answers->piece = palloc(answers->room * one);
	tuplestore_rescan(candidates->rows);
}

/* One candidate's answers in granules; false: there is none left. */
static bool
next_candidate(dp_net_answers *answers, dp_int128 *out)
{
	const dp_net_candidates *c = answers->candidates;
	MemoryContext old;
	Datum	   *values;
	int			n;
	int			i;

	/* A row read back from disk belongs to the slot: not to the context. */
	if (!tuplestore_gettupleslot(c->rows, true, false, answers->slot))
		return false;
	old = MemoryContextSwitchTo(answers->context);
	CHECK_FOR_INTERRUPTS();
	values = answers_of(answers->slot, &n);
	if (n != c->queries)
		elog(ERROR, "candidate has changed");
	for (i = 0; i < n; i++)
		out[i] = dp_base_grid_numeric(answers->grid,
									  DatumGetNumeric(values[i]));
	MemoryContextSwitchTo(old);
	MemoryContextReset(answers->context);
	return true;
}

/* net_answers_next: the next piece; NULL after the last candidate. */
static const void *
net_answers_next(void *context, Size *size)
{
	dp_net_answers *answers = context;
	int			queries = answers->candidates->queries;
	int64		n = 0;

	while (n < answers->room &&
		   next_candidate(answers, answers->piece + n * queries))
		n++;
	*size = n * sizeof(dp_int128) * queries;
	return n > 0 ? answers->piece : NULL;
}

/* net_answers_end: gives everything back. */
static void
net_answers_end(dp_net_answers *answers)
{
	ExecDropSingleTupleTableSlot(answers->slot);
	MemoryContextDelete(answers->context);
	pfree(answers->piece);
}

/* net_put: the chosen row's wanted columns; ends the rows. */
static void
net_put(const dp_net_candidates *candidates, int64 chosen,
		ReturnSetInfo *result)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(candidates->desc,
													&TTSOpsMinimalTuple);

	tuplestore_rescan(candidates->rows);
	if (!tuplestore_skiptuples(candidates->rows, chosen, true) ||
		!tuplestore_gettupleslot(candidates->rows, true, false, slot))
		elog(ERROR, "candidate has gone");
	slot_getallattrs(slot);
	tuplestore_putvalues(result->setResult, result->setDesc,
						 slot->tts_values + 1, slot->tts_isnull + 1);
	ExecDropSingleTupleTableSlot(slot);
	tuplestore_end(candidates->rows);	/* it may be a file */
}

/* ----------------
 *		The net mechanism's choice: scores from exact numbers, and the draw;
 *		for predicates, where the rows are read.
 *
 * The candidates' answers come before the charge, and are kept in memory or in
 * a temporary file: they are public.
 * ----------------
 */

/*
 * net_score
 *	  Minus the largest distance of a candidate's answers from the truths, for
 *	  each of n candidates.
 */
static void
net_score(const dp_int128 *answers, int64 n, int queries,
		  const dp_int128 *truths, dp_int128 *scores)
{
	int64		candidate;
	int			i;

	for (candidate = 0; candidate < n; candidate++)
	{
		dp_int128	worst = 0;

		for (i = 0; i < queries; i++)
		{
			dp_int128	distance = truths[i] - *answers++;

			if (distance < 0)
				distance = -distance;
			if (distance > worst)
				worst = distance;
		}
		scores[candidate] = -worst;
	}
}

/* net_choose: the number of the drawn candidate; scores are wiped. */
static int64
net_choose(const dp_net_choice *choice, dp_int128 *scores)
{
	size_t		chosen = 0;

	dp_base_check_status(dp_noise_exponential(dp_base_source(), scores,
											  (size_t) choice->candidates,
											  &choice->rate, &chosen),
						 "select a candidate");
	explicit_bzero(scores, sizeof(dp_int128) * choice->candidates);
	return (int64) chosen;
}

/* ---- where the rows are read ---- */

typedef struct choosing
{
	dp_net_choice choice;
	TupleDesc	desc;			/* of pieces: one bytea */
	Tuplestorestate *pieces;
	dp_int128  *truths;
	dp_int128  *scores;
	dp_tables_reporter teller;
} choosing;

/* Keep a piece, and return how many candidates it has. */
static int64
keep(choosing *c, const void *piece, Size size)
{
	bytea	   *bytes = palloc(VARHDRSZ + size);
	Datum		value = PointerGetDatum(bytes);
	bool		isnull = false;

	SET_VARSIZE(bytes, VARHDRSZ + size);
	memcpy(VARDATA(bytes), piece, size);
	tuplestore_putvalues(c->pieces, c->desc, &value, &isnull);
	pfree(bytes);
	return size / (sizeof(dp_int128) * c->choice.queries);
}

static void *
begin(const void *data, Size size, int64 ncounts, dp_reader_source source,
	  void *context)
{
	choosing   *c = palloc0(sizeof(choosing));
	int64		kept = 0;
	const void *piece;
	Size		n;

	c->choice = *(const dp_net_choice *) data;
	if (ncounts != c->choice.queries)
		elog(ERROR, "choice counts other queries than it is of");
	c->truths = palloc(sizeof(dp_int128) * ncounts);
	c->scores = MemoryContextAllocHuge(CurrentMemoryContext,
									   sizeof(dp_int128) *
									   c->choice.candidates);
	c->desc = CreateTemplateTupleDesc(1);
	TupleDescInitEntry(c->desc, 1, "answers", BYTEAOID, -1, 0);
	c->pieces = tuplestore_begin_heap(false, false, work_mem);
	while ((piece = source(context, &n)) != NULL)
		kept += keep(c, piece, n);
	if (kept != c->choice.candidates)
		elog(ERROR, "choice has other candidates than were planned");
	return c;
}

/* Score a copy of a kept piece, in which answers are not aligned. */
static int64
score_piece(choosing *c, TupleTableSlot *slot, dp_int128 *scores)
{
	bool		isnull;
	bytea	   *bytes = DatumGetByteaPP(slot_getattr(slot, 1, &isnull));
	Size		size = VARSIZE_ANY_EXHDR(bytes);
	dp_int128  *answers = palloc(size);
	int64		n = size / (sizeof(dp_int128) * c->choice.queries);

	memcpy(answers, VARDATA_ANY(bytes), size);
	net_score(answers, n, c->choice.queries, c->truths, scores);
	pfree(answers);
	return n;
}

static void
finish(void *state, const int64 *counts, dp_reader_sink sink, void *context)
{
	choosing   *c = state;
	TupleTableSlot *slot = MakeSingleTupleTableSlot(c->desc,
													&TTSOpsMinimalTuple);
	dp_net_chosen chosen = {{0}};
	int64		scored = 0;
	int			i;

	c->teller.sink = sink;
	c->teller.context = context;
	for (i = 0; i < c->choice.queries; i++)
		c->truths[i] = counts[i];
	while (tuplestore_gettupleslot(c->pieces, true, false, slot))
	{
		CHECK_FOR_INTERRUPTS();
		dp_tables_report_progress(&c->teller, DP_PHASE_SCANNING, scored);
		scored += score_piece(c, slot, c->scores + scored);
	}
	ExecDropSingleTupleTableSlot(slot);
	tuplestore_end(c->pieces);
	chosen.candidate = net_choose(&c->choice, c->scores);
	explicit_bzero(c->truths, sizeof(dp_int128) * c->choice.queries);
	sink(context, &chosen, sizeof(chosen));
}

static const dp_use_methods methods = {begin, finish};

/* dp_tables_net_init: from _PG_init, in every process. */
void
dp_tables_net_init(void)
{
	dp_readings_register(DP_USE_NET, &methods);
}

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

	dp_base_require_argument(fcinfo, place, "candidates",
							 "Name the table that holds them.");
	dp_base_require_argument(fcinfo, answers, "answers",
							 "Name the column that holds them, or leave "
							 "it out.");
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	net_read_candidates(&s->candidates, PG_GETARG_OID(place),
						NameStr(*PG_GETARG_NAME(answers)), queries,
						result->setDesc);
}

static void
net_plan_price(FunctionCallInfo fcinfo, net *s, int place)
{
	s->epsilon = dp_base_epsilon(fcinfo, place, &s->charge.epsilon);
	dp_base_check_status(dp_accounting_rho_from_exponential(&s->epsilon,
															&s->charge.rho),
						 "compute a charge");
	dp_base_check_status(dp_noise_selection_rate(&s->epsilon,
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
net_choice_error(const net *s)
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
	dp_tables_record record;

	ereport(NOTICE,
			(errmsg("%s, %s",
					dp_tables_counted(s->candidates.n, "candidate",
									  "candidates"),
					dp_tables_counted(s->candidates.queries, "query",
									  "queries")),
			 errdetail("With probability %g the chosen one's largest error "
					   "exceeds the best one's by less than %.4g%s.%s",
					   1 - BETA, net_choice_error(s),
					   s->reading ? " rows" : "", s->reading ?
					   dp_readings_rows_text(s->reading) : "")));
	dp_tables_request(&request, s->dataset, &s->standing, s->fingerprint,
					  &s->charge, s->texts ? "net: exponential mechanism" :
					  "net: owner's values, exponential mechanism");
	dp_tables_record_begin(&record, "net", s->reading);
	dp_tables_record_text(&record, "table", s->candidates.name);
	dp_tables_record_integer(&record, "candidates", s->candidates.n);
	dp_tables_record_integer(&record, "queries", s->candidates.queries);
	dp_tables_record_texts(&record, "predicates", s->texts);
	s->id = dp_tables_charge(&request, &record);
	if (s->reading != NULL)
		dp_base_progress(DP_PHASE_READING, 0);
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
	net_put(&s->candidates, chosen,
			(ReturnSetInfo *) fcinfo->resultinfo);
	dp_tables_finish(s->dataset, s->id, NAN, "");
}

/* dp_reader_source */
static const void *
next_answers(void *context, Size *size)
{
	return net_answers_next(&((net *) context)->answers, size);
}

/* dp_reader_sink: of progress, and then of the result */
static void
take_piece(void *context, const void *data, Size size)
{
	net		   *s = context;

	if (!dp_tables_hear_progress(data))
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

	dp_tables_check_place(fcinfo, "dp_net");
	MemSet(&s, 0, sizeof(s));
	dp_base_require_argument(fcinfo, 0, "relation of dp_net",
							 "Write its name.");
	dp_base_require_argument(fcinfo, 2, "queries of dp_net",
							 "Give predicates as an array of text.");
	s.texts = dp_split_predicate_texts(PG_GETARG_ARRAYTYPE_P(2));
	s.reading = dp_readings_of_predicates(PG_GETARG_OID(0), s.texts);
	s.dataset = s.reading->dataset;
	s.standing = s.reading->standing;
	s.fingerprint = s.reading->fingerprint;
	s.grid = dp_base_make_grid(0);
	s.sensitivity = dp_readings_rows(s.reading);
	net_plan_price(fcinfo, &s, 3);
	read_candidates(fcinfo, &s, 1, 4, (int) s.reading->ncounts);
	fill_choice(&s, &choice);

	dp_base_progress_begin(DP_WORK_NET, s.reading->relid, s.candidates.n);
	/* Reading candidates may have run any code. */
	(void) dp_tables_relation_name(s.reading->relid);
	net_answers_begin(&s.answers, &s.candidates, &s.grid);
	dp_readings_run(s.reading, &use);
	net_answers_end(&s.answers);
	give(fcinfo, &s, s.chosen);
	dp_base_progress_end();
	return (Datum) 0;
}

/* The owner's values, numeric[] or double precision[], unread. */
static Datum *
net_read_values(FunctionCallInfo fcinfo, bool *floats, bool **nulls, int *n)
{
	ArrayType  *array;
	Datum	   *values;

	dp_base_require_argument(fcinfo, 0, "array of values",
							 "Give the value of each query.");
	array = PG_GETARG_ARRAYTYPE_P(0);
	*floats = ARR_ELEMTYPE(array) == FLOAT8OID;
	deconstruct_array(array, ARR_ELEMTYPE(array), *floats ? 8 : -1, *floats,
					  *floats ? TYPALIGN_DOUBLE : TYPALIGN_INT, &values,
					  nulls, n);
	if (*n == 0)
		dp_base_raise_parameter("there are no values",
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
	net_answers_begin(&s->answers, &s->candidates, &s->grid);
	while ((piece = net_answers_next(&s->answers, &size)) != NULL)
	{
		int64		n = size / (sizeof(dp_int128) * choice.queries);

		net_score(piece, n, choice.queries, truths, scores + scored);
		scored += n;
	}
	net_answers_end(&s->answers);
	return net_choose(&choice, scores);
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

	dp_tables_check_place(fcinfo, "dp_net_values");
	dp_ledger_require_shield();
	MemSet(&s, 0, sizeof(s));
	values = net_read_values(fcinfo, &floats, &nulls, &n);
	dp_base_require_argument(fcinfo, 1, "sensitivity",
							 "Give the most by which one person can change "
							 "one value.");
	s.grid = net_grid_for(dp_base_number(fcinfo, 1),
						  &s.sensitivity);
	dp_base_require_argument(fcinfo, 3, "dataset",
							 "Name the one that pays.");
	s.dataset = NameStr(*PG_GETARG_NAME(3));
	dp_ledger_require_budget(s.dataset, &s.standing);
	net_plan_price(fcinfo, &s, 4);
	read_candidates(fcinfo, &s, 2, 5, n);
	truths = palloc(sizeof(dp_int128) * n);

	pay(&s);
	for (i = 0; i < n; i++)
		truths[i] = nulls[i] ? 0 : floats ?
			dp_base_grid_double(&s.grid, DatumGetFloat8(values[i])) :
			dp_base_grid_numeric(&s.grid, DatumGetNumeric(values[i]));
	chosen = choose(&s, truths);
	explicit_bzero(truths, sizeof(dp_int128) * n);
	give(fcinfo, &s, chosen);
	return (Datum) 0;
}
