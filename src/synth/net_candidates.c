/*
 * net_candidates.c
 *	  The user's candidates: a table with, in each row, a synopsis of any form
 *	  and its answers to the queries.
 *
 * They are read once, as the asking role, before anything is charged, and
 * checked: after the charge nothing about them can fail.  They have to be
 * public, so a protected relation is refused; rights stop views of one, since
 * only its owner may read it.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "executor/tstoreReceiver.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "net.h"

/* ---- what to read ---- */

static void
check_column(const dp_net_candidates *c, Form_pg_attribute wanted)
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

		check_column(c, column);
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
check_rows(dp_net_candidates *c)
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
 * dp_synth_net_read_candidates
 *	  Read and check them all.  Call it where nothing has been charged.
 *
 * Errors: 0A000 protected; 42703, 42804 columns; 22023 answers, none at all;
 * 54000 too many; 42501 and whatever reading the table raises.
 */
void
dp_synth_net_read_candidates(dp_net_candidates *out, Oid relid,
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
	out->name = dp_synth_relation_name(relid);
	out->queries = queries;
	out->rows = tuplestore_begin_heap(true, false, work_mem);
	execute(out, make_query(out, answers, wanted));
	check_rows(out);
	if (out->n == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("table %s has no candidates", out->name)));
}

/* ---- their answers ---- */

#define PIECE 32768				/* bytes of a piece, unless one has more */

/* dp_synth_net_answers_begin: from the first candidate on. */
void
dp_synth_net_answers_begin(dp_net_answers *answers,
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
		out[i] = dp_bridge_grid_numeric(answers->grid,
										DatumGetNumeric(values[i]));
	MemoryContextSwitchTo(old);
	MemoryContextReset(answers->context);
	return true;
}

/* dp_synth_net_answers_next: the next piece; NULL after the last candidate. */
const void *
dp_synth_net_answers_next(void *context, Size *size)
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

/* dp_synth_net_answers_end: gives everything back. */
void
dp_synth_net_answers_end(dp_net_answers *answers)
{
	ExecDropSingleTupleTableSlot(answers->slot);
	MemoryContextDelete(answers->context);
	pfree(answers->piece);
}

/* dp_synth_net_put: the chosen row's wanted columns; ends the rows. */
void
dp_synth_net_put(const dp_net_candidates *candidates, int64 chosen,
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
