/*
 * reading.c
 *	  Exact counts for mechanisms whose charge is made elsewhere.
 *
 * A reading takes the way of a private query up to the noise.  Its conditions
 * or columns become the array of one dp_pg.conditions over the relation; that
 * query is rewritten (views, row security), verified and split as any other,
 * and of the block only the verified expressions are kept.  The inner query
 * that counts is made of them, and runs as the one of a release does
 * (run.c, read.c), without a charge and without noise.
 *
 * One unit has one row (the block's verification says so), so it moves a
 * count by 1 at most.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "release.h"

#define MOST_CELLS (INT64CONST(1) << 24)	/* of a reading's tables */

struct dp_reading_plan
{
	dp_block   *block;
	int			naxes;			/* of a reading of tables */
	dp_axis   **axes;
	int			ntables;
	dp_reading_table *tables;
};

/* ---- verification ---- */

/*
 * dp_release_select_columns
 *	  SELECT true, column IS NULL, ... FROM relation, as the parser would give
 *	  it; the relation stays locked.
 *
 * Errors: 42P01 no such relation, 42501 no right to use its schema.
 */
Query *
dp_release_select_columns(Oid relid, const AttrNumber *columns, int n)
{
	Query	   *query = dp_query_read_predicates(relid,
												 list_make1("true"));
	int			i;

	for (i = 0; i < n; i++)
	{
		NullTest   *test = makeNode(NullTest);
		Oid			type;
		Oid			collation;
		int32		typmod;

		get_atttypetypmodcoll(relid, columns[i], &type, &typmod, &collation);
		test->arg = (Expr *) makeVar(1, columns[i], type, typmod, collation,
									 0);
		test->nulltesttype = IS_NULL;
		test->location = -1;
		query->targetList = lappend(query->targetList,
									makeTargetEntry((Expr *) test, i + 2,
													"column", false));
	}
	return query;
}

static void
take_block(dp_block *block, RangeTblEntry *entry, void *context)
{
	List	  **blocks = context;

	*blocks = lappend(*blocks, block);
}

/*
 * dp_release_verify_conditions
 *	  The block of a query of dp_release_rewrite_conditions, or what is wrong
 *	  with it as an error.
 */
dp_block *
dp_release_verify_conditions(Query *query)
{
	List	   *blocks = NIL;
	List	   *inval_items = NIL;
	dp_refusal *refusal = dp_query_split_all(query, take_block, &blocks,
											 &inval_items);

	if (refusal != NULL)
		dp_bridge_raise_refusal(refusal, NULL);
	if (list_length(blocks) != 1)
		elog(ERROR, "reading has %d blocks", list_length(blocks));
	return linitial(blocks);
}

/* dp_release_block_conditions: its conditions, verified and total. */
List *
dp_release_block_conditions(const dp_block *block)
{
	TargetEntry *target = linitial(block->inner->targetList);
	Aggref	   *aggregate = castNode(Aggref, target->expr);

	target = linitial(aggregate->args);
	return castNode(ArrayExpr, target->expr)->elements;
}

/* A release inside the relation would be charged whenever it is read. */
static void
refuse_releases(const dp_block *block)
{
	if (!dp_query_has_aggregate((Node *) block->subqueries))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("relation \"%s\" is read through a subquery that releases "
					"values", get_rel_name(block->relid)),
			 errdetail("They would be released again whenever it is read."),
			 errhint("Write the values into the view.")));
}

static dp_reading *
make_reading(Oid relid, Query *query)
{
	dp_reading *reading = palloc0(sizeof(dp_reading));
	dp_block   *block;

	dp_bridge_require_preload();
	query = dp_release_rewrite_conditions(query, NULL);
	block = dp_release_verify_conditions(query);
	refuse_releases(block);
	reading->relid = relid;
	reading->dataset = block->dataset;
	reading->sensitivity = 1;
	reading->fingerprint = block->fingerprint;
	reading->plan = palloc0(sizeof(struct dp_reading_plan));
	reading->plan->block = block;
	dp_ledger_require_budget(block->dataset, &reading->standing);
	return reading;
}

/*
 * dp_reading_of_predicates
 *	  See dp_release.h.
 *
 * Errors: those of dp_query_read_predicates, with the predicate in their
 * context; 0A000 what is not allowed on private rows; 42501 no budget.
 */
dp_reading *
dp_reading_of_predicates(Oid relid, List *texts)
{
	dp_reading *reading = make_reading(relid,
									   dp_query_read_predicates(relid,
																texts));

	reading->ncounts = list_length(texts);
	return reading;
}

static int64
table_cells(const dp_reading_table *table, dp_axis *const *axes)
{
	int64		cells = 1;
	int			i;

	for (i = 0; i < table->naxes; i++)
		if (__builtin_mul_overflow(cells, axes[table->axes[i]]->size, &cells))
			return PG_INT64_MAX;
	return cells;
}

static int64
all_cells(dp_axis *const *axes, int ntables, const dp_reading_table *tables)
{
	int64		cells = 0;
	int			i;

	for (i = 0; i < ntables; i++)
		if (__builtin_add_overflow(cells, table_cells(&tables[i], axes),
								   &cells) || cells > MOST_CELLS)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("there are too many cells to count"),
					 errdetail("At most " INT64_FORMAT " are counted in one "
							   "reading.", MOST_CELLS),
					 errhint("Use fewer columns together, or coarser bins.")));
	return cells;
}

static void
check_axis(Oid relid, const dp_axis *axis)
{
	AttrNumber	attnum = get_attnum(relid, NameStr(axis->name));

	if (attnum > 0 && attnum == axis->attnum &&
		get_atttype(relid, attnum) == axis->type)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("column \"%s\" is not what it was", NameStr(axis->name)),
			 errhint("Begin again with the relation as it is now.")));
}

/*
 * dp_reading_of_tables
 *	  See dp_release.h; axes and tables are copied or stay with the caller.
 *
 * Errors: 54000 too many cells; 55000 a column has changed since the axis was
 * made; others as dp_reading_of_predicates.
 */
dp_reading *
dp_reading_of_tables(Oid relid, int naxes, dp_axis *const *axes, int ntables,
					 const dp_reading_table *tables)
{
	int64		cells = all_cells(axes, ntables, tables);
	AttrNumber *columns = palloc(sizeof(AttrNumber) * Max(naxes, 1));
	struct dp_reading_plan *plan;
	dp_reading *reading;
	Query	   *query;
	int			i;

	for (i = 0; i < naxes; i++)
		columns[i] = axes[i]->attnum;
	query = dp_release_select_columns(relid, columns, naxes);
	for (i = 0; i < naxes; i++)
		check_axis(relid, axes[i]);
	reading = make_reading(relid, query);
	reading->ncounts = cells;
	plan = reading->plan;
	plan->naxes = naxes;
	plan->axes = palloc(sizeof(dp_axis *) * Max(naxes, 1));
	memcpy(plan->axes, axes, sizeof(dp_axis *) * naxes);
	plan->ntables = ntables;
	plan->tables = palloc(sizeof(dp_reading_table) * Max(ntables, 1));
	memcpy(plan->tables, tables, sizeof(dp_reading_table) * ntables);
	return reading;
}

/* ---- running ---- */

typedef struct counts_receiver
{
	DestReceiver receiver;		/* first, so that it can be cast */
	const dp_reading *reading;
	int64	   *counts;
	int64	   *places;			/* of a row on each axis */
} counts_receiver;

static void
receive_startup(DestReceiver *self, int operation, TupleDesc typeinfo)
{
}

static void
receive_nothing(DestReceiver *self)
{
}

/* The one row of counts of conditions. */
static bool
receive_conditions(TupleTableSlot *slot, DestReceiver *self)
{
	counts_receiver *receiver = (counts_receiver *) self;
	int64		i;

	slot_getallattrs(slot);
	for (i = 0; i < receiver->reading->ncounts; i++)
		receiver->counts[i] += dp_measure_load_condition(slot->tts_values,
														 slot->tts_isnull,
														 (int) i);
	return true;
}

static int64
cell_of(const dp_reading_table *table, dp_axis *const *axes,
		const int64 *places)
{
	int64		cell = 0;
	int			i;

	for (i = 0; i < table->naxes; i++)
	{
		int			axis = table->axes[i];

		if (places[axis] < 0)
			return -1;
		cell = cell * axes[axis]->size + places[axis];
	}
	return cell;
}

/* A row: its value on each axis. */
static bool
receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	counts_receiver *receiver = (counts_receiver *) self;
	const struct dp_reading_plan *plan = receiver->reading->plan;
	int64	   *counts = receiver->counts;
	int			i;

	slot_getallattrs(slot);
	for (i = 0; i < plan->naxes; i++)
		receiver->places[i] = dp_axis_find(plan->axes[i],
										   slot->tts_values[i],
										   slot->tts_isnull[i]);
	for (i = 0; i < plan->ntables; i++)
	{
		int64		cell = cell_of(&plan->tables[i], plan->axes,
								   receiver->places);

		if (cell >= 0)
			counts[cell]++;
		counts += table_cells(&plan->tables[i], plan->axes);
	}
	return true;
}

/* SELECT counts of the conditions. */
static Query *
conditions_query(const dp_block *block)
{
	Query	   *inner = copyObject(block->inner);
	List	   *targets = NIL;
	dp_measure	measure;
	ListCell   *lc;

	memset(&measure, 0, sizeof(measure));
	measure.aggregate = makeNode(Aggref);
	foreach(lc, dp_measure_count_conditions(
				&measure, dp_release_block_conditions(block)))
		targets = lappend(targets,
						  makeTargetEntry(lfirst(lc),
										  list_length(targets) + 1,
										  "exact", false));
	inner->targetList = targets;
	return inner;
}

/* SELECT columns. */
static Query *
columns_query(const dp_block *block)
{
	Query	   *inner = copyObject(block->inner);
	List	   *targets = NIL;
	ListCell   *lc;

	for_each_from(lc, dp_release_block_conditions(block), 1)
		targets = lappend(targets,
						  makeTargetEntry(lfirst_node(NullTest, lc)->arg,
										  list_length(targets) + 1,
										  "column", false));
	inner->targetList = copyObject(targets);
	inner->hasAggs = false;
	return inner;
}

/* The value to which the relation holds a column by itself, or NULL. */
static Const *
part_value(const dp_block *block)
{
	Node	   *expression = (Node *) block->part_value;
	Oid			type = exprType(expression);
	EState	   *estate;
	ExprState  *state;
	int16		length;
	bool		by_value;
	bool		isnull;
	Datum		value;

	if (expression == NULL)
		return NULL;
	type = exprType(expression);
	get_typlenbyval(type, &length, &by_value);
	estate = CreateExecutorState();
	state = ExecPrepareExpr(copyObject(block->part_value), estate);
	value = ExecEvalExprSwitchContext(state, GetPerTupleExprContext(estate),
									  &isnull);
	if (!isnull)
		value = datumCopy(value, by_value, length);
	FreeExecutorState(estate);
	return makeConst(type, exprTypmod(expression), exprCollation(expression),
					 length, isnull ? (Datum) 0 : value, isnull, by_value);
}

static counts_receiver *
make_receiver(const dp_reading *reading, int64 *counts)
{
	counts_receiver *receiver = palloc0(sizeof(counts_receiver));

	receiver->receiver.receiveSlot = reading->plan->ntables > 0 ?
		receive_row : receive_conditions;
	receiver->receiver.rStartup = receive_startup;
	receiver->receiver.rShutdown = receive_nothing;
	receiver->receiver.rDestroy = receive_nothing;
	receiver->receiver.mydest = DestNone;
	receiver->reading = reading;
	receiver->counts = counts;
	receiver->places = palloc(sizeof(int64) * Max(reading->plan->naxes, 1));
	return receiver;
}

/*
 * dp_reading_run
 *	  Read the private rows; counts is reading->ncounts long.  See
 *	  dp_release.h.  The snapshot is a new one, or the transaction's.
 *
 * Errors: as a private query's run: 25000, 0A000, 25006 of the circumstances,
 * 42501 and 55000 of rights, 22000 anything that reading rows raised.
 */
void
dp_reading_run(dp_reading *reading, int64 *counts)
{
	struct dp_reading_plan *plan = reading->plan;
	MemoryContext work = AllocSetContextCreate(CurrentMemoryContext,
											   "dp_pg reading",
											   ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(work);
	dp_inner	run = {NULL, NULL, work};
	counts_receiver *receiver = make_receiver(reading, counts);
	PlannedStmt *planned;
	Query	   *inner;

	memset(counts, 0, sizeof(int64) * reading->ncounts);
	dp_release_check_preconditions();
	dp_ledger_require_budget(reading->dataset, &reading->standing);
	PushActiveSnapshot(GetTransactionSnapshot());
	inner = plan->ntables > 0 ? columns_query(plan->block) :
		conditions_query(plan->block);
	inner = dp_release_make_ready(plan->block, &reading->standing, inner,
								  part_value(plan->block), &run);
	dp_inner_begin(&run);
	planned = dp_inner_plan(&run, inner, true);
	dp_inner_execute(&run, planned, &receiver->receiver);
	dp_inner_end(&run);
	PopActiveSnapshot();
	MemoryContextSwitchTo(old);
	MemoryContextDelete(work);
}
