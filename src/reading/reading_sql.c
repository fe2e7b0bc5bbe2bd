/*
 * reading_sql.c
 *	  dp_argmax over predicates and dp_predicate_cost; how many rows of a unit
 *	  count.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "tcop/tcopprot.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

#include "reading.h"

/* ----------------
 *		dp_pg.rows_of_unit(relation): how many rows of a unit would count.
 * ----------------
 */

PG_FUNCTION_INFO_V1(dp_reading_sql_rows_of_unit);

/* dp_reading_sql_rows_of_unit: see sql/84_smalldb.sql. */
Datum
dp_reading_sql_rows_of_unit(PG_FUNCTION_ARGS)
{
	const dp_reading *reading =
	dp_reading_of_predicates(PG_GETARG_OID(0), list_make1("true"));

	PG_RETURN_INT64((int64) reading->sensitivity);
}

/* ----------------
 *		dp_predicate_cost(relation, predicates): how many of a list are
 *		evaluated for every row.
 * ----------------
 */

PG_FUNCTION_INFO_V1(dp_release_sql_predicate_cost);

/*
 * dp_release_sql_predicate_cost
 *	  dp_predicate_cost(relation, predicates): (predicates, per_row, most).
 *	  See sql/56_conditions.sql.
 */
Datum
dp_release_sql_predicate_cost(PG_FUNCTION_ARGS)
{
	Datum		values[3];
	bool		nulls[3] = {false};
	List	   *texts;

	dp_bridge_require_preload();
	dp_bridge_require_argument(fcinfo, 0, "relation of dp_predicate_cost",
							   "Name the protected relation.");
	dp_bridge_require_argument(fcinfo, 1, "predicates of dp_predicate_cost",
							   "Give an array of SQL conditions.");
	texts = dp_block_predicate_texts(PG_GETARG_ARRAYTYPE_P(1));
	values[0] = Int32GetDatum(list_length(texts));
	values[1] = Int32GetDatum(dp_reading_evaluated(PG_GETARG_OID(0), texts));
	values[2] = Int32GetDatum(dp_setting_max_predicates_per_row);
	return dp_bridge_make_row(fcinfo, values, nulls);
}

/* ----------------
 *		dp_argmax(relation, predicates): which predicate holds for most rows,
 *		or which weight is heaviest.
 *
 * The predicates become the array of one dp_pg.conditions over the relation,
 * and that query takes the way of every private query: rewriting (views, row
 * security), the planner hook (verification, the split) and the executor
 * (rights, the charge, the noise).  So whatever holds for a dp_ aggregate that
 * the caller could have written holds here.
 * ----------------
 */

static PlannedStmt *
plan_query(Query *query, const char *text)
{
	ErrorContextCallback callback;
	PlannedStmt *plan;

	callback.callback = dp_reading_forget_position;
	callback.arg = NULL;
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	plan = pg_plan_query(query, text, 0, NULL);
	error_context_stack = callback.previous;
	return plan;
}

/* ---- its one row ---- */

typedef struct integer_receiver
{
	DestReceiver receiver;
	int			rows;
	int32		value;
} integer_receiver;

static bool
receive_integer(TupleTableSlot *slot, DestReceiver *self)
{
	integer_receiver *integer = (integer_receiver *) self;
	bool		isnull;

	integer->rows++;
	integer->value = DatumGetInt32(slot_getattr(slot, 1, &isnull));
	if (isnull)
		elog(ERROR, "private query gave NULL");
	return true;
}

static int32
run_query(Query *query, const char *text)
{
	integer_receiver integer;

	memset(&integer, 0, sizeof(integer));
	integer.receiver = *None_Receiver;
	integer.receiver.receiveSlot = receive_integer;

	PushActiveSnapshot(GetTransactionSnapshot());
	dp_run_execute(plan_query(query, text), text, &integer.receiver, NULL,
					   NULL);
	PopActiveSnapshot();
	if (integer.rows != 1)
		elog(ERROR, "private query gave %d rows", integer.rows);
	return integer.value;
}

/* ---- SQL ---- */

static void
raise_null(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("%s of dp_argmax must not be NULL", what)));
}

static Const *
numeric_const(bool isnull, Numeric value)
{
	return makeConst(NUMERICOID, -1, InvalidOid, -1,
					 isnull ? (Datum) 0 : NumericGetDatum(value), isnull,
					 false);
}

/* Refuse weights as a reading does: they must be from 0 to 1. */
static void
check_weights(Oid relid, List *texts, Query *query)
{
	ListCell   *lc;

	foreach(lc, query->targetList)
	{
		if (!dp_block_is_weight((Node *) lfirst_node(TargetEntry, lc)->expr))
			continue;
		(void) dp_reading_evaluated(relid, texts);
		break;
	}
}

/* epsilon NULL: dp_pg.epsilon counts. */
static Datum
most_common(FunctionCallInfo fcinfo, Const *epsilon)
{
	List	   *texts;
	Query	   *query;
	int32		chosen;

	dp_bridge_require_preload();
	if (PG_ARGISNULL(0))
		raise_null("relation");
	if (PG_ARGISNULL(1))
		raise_null("predicates");
	texts = dp_block_predicate_texts(PG_GETARG_ARRAYTYPE_P(1));
	query = dp_block_read_predicates(PG_GETARG_OID(0), texts);
	check_weights(PG_GETARG_OID(0), texts, query);
	query = dp_reading_rewrite_conditions(query, epsilon);
	chosen = run_query(query, dp_run_named_text);
	return CStringGetTextDatum(list_nth(texts, chosen - 1));
}

PG_FUNCTION_INFO_V1(dp_argmax_conditions);
PG_FUNCTION_INFO_V1(dp_argmax_conditions_numeric);
PG_FUNCTION_INFO_V1(dp_argmax_conditions_float8);

/* dp_argmax(regrelation, text[]): see sql/56_conditions.sql. */
Datum
dp_argmax_conditions(PG_FUNCTION_ARGS)
{
	return most_common(fcinfo, NULL);
}

/* dp_argmax(regrelation, text[], numeric). */
Datum
dp_argmax_conditions_numeric(PG_FUNCTION_ARGS)
{
	return most_common(fcinfo, numeric_const(PG_ARGISNULL(2),
											 PG_ARGISNULL(2) ? NULL :
											 PG_GETARG_NUMERIC(2)));
}

/* dp_argmax(regrelation, text[], double precision). */
Datum
dp_argmax_conditions_float8(PG_FUNCTION_ARGS)
{
	Numeric		epsilon = PG_ARGISNULL(2) ? NULL :
	dp_bridge_float8_to_numeric(PG_GETARG_FLOAT8(2));

	return most_common(fcinfo, numeric_const(epsilon == NULL, epsilon));
}
