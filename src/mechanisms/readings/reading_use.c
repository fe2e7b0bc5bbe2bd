/*
 * reading_use.c
 *	  Running a reading: its exact counts, and what is made of them, stay where
 *	  the rows are read.
 *
 * A mechanism with a charge of its own has a use of a kind; the room of the
 * mechanism registers how it is done.  What a reading's job carries is public:
 * the conditions, how many counts there are, and the data of the use.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "../../ledger/dp_ledger.h"
#include "../../query/domains/dp_domains.h"
#include "../../query/rowsets/dp_rowsets.h"
#include "../../query/split/dp_split.h"
#include "../../reader/dp_reader.h"
#include "../../measure/exact/dp_exact.h"
#include "../../measure/units/dp_units.h"
#include "../../release/joined/dp_joined.h"
#include "../../release/inner/dp_inner.h"
#include "../../release/run/dp_run.h"
#include "dp_readings.h"
#include "readings_internal.h"

/* ----------------
 *		Counts of a relation whose units have many rows: what the rows of each
 *		unit add to them is bounded where they are read.
 *
 * The inner query gives, for each row, its unit and then the conditions, or
 * the columns that tables are over.  src/measure/units takes them, unit by
 * unit and in memory that does not grow with their number.  c rows of a unit
 * for which a predicate holds count as min(c, m), and weights add up to m at
 * most: nothing is drawn, and asking twice gives the same.  Tables must agree
 * with each other and with sums of their cells, so in them m rows of each unit
 * count, chosen at random from all of its rows that have a place in some
 * table, and the same rows in all tables (doc/theory.md T135, T136).
 *
 * Where rows are gathered by unit (T158), they come part by part, and a part
 * has all rows of its units.
 * ----------------
 */

enum
{
	COLUMN_UNIT,
	COLUMN_FIRST				/* conditions, or columns */
};

struct dp_reading_rows
{
	dp_units_column column;
	dp_bounder *bounder;
	const Const *spec;			/* of tables; else NULL and */
	List	   *conditions;
	dp_condition_words *packing;
	uint64	   *words;			/* room for a row's */
	int64	   *counts;			/* to be added to */
	MemoryContext scratch;		/* reset for every row */
};

/* ---- the connection's side ---- */

/*
 * rows_targets
 *	  The targets of an inner query that gives rows.
 */
static List *
rows_targets(const struct dp_reading_plan *plan)
{
	const dp_block *block = plan->block;
	TargetEntry *unit = list_nth(block->inner->targetList,
								 dp_rowsets_first_aggregate(block) - 1);
	List	   *targets = list_make1(makeTargetEntry(copyObject(unit->expr), 1,
													 pstrdup("unit"), false));
	ListCell   *lc;

	foreach(lc, plan->spec != NULL ? plan->columns : plan->conditions)
		targets = lappend(targets,
						  makeTargetEntry(copyObject(lfirst(lc)),
										  list_length(targets) + 1,
										  pstrdup("row"), false));
	return targets;
}

/* ---- where the rows are read ---- */

/* A row is its places on axes, two to a word. */
static void
begin_tables(dp_reading_rows *rows)
{
	rows->column.kind = DP_UNITS_ROWS;
	rows->column.words = (dp_exact_tables_axes(rows->spec) + 1) / 2;
}

static void
begin_conditions(dp_reading_rows *rows)
{
	dp_units_column *column = &rows->column;

	rows->packing = dp_exact_words_plan(rows->conditions);
	column->kind = DP_UNITS_TOTALS;
	column->high = DP_WEIGHT_ONE;
	column->bits = dp_exact_words_bits(rows->packing);
	column->weights = dp_exact_words_weights(rows->packing);
	column->words = dp_units_total_words(column->bits, column->weights);
}

/* How rows are bounded, without m. */
static dp_units_spec
begin_rows(dp_reading_rows *rows, Node *of, Oid unit)
{
	Oid			type = getBaseType(unit);
	dp_units_spec bound = {.kappa = 1, .groups = 1, .ncolumns = 1};

	if (IsA(of, Const))
		rows->spec = (const Const *) of;
	else
		rows->conditions = castNode(List, of);
	if (rows->spec != NULL)
		begin_tables(rows);
	else
		begin_conditions(rows);
	bound.unit = dp_domains_read_way(type);
	bound.varlena = get_typlen(type) == -1;
	bound.columns = &rows->column;
	return bound;
}

/*
 * rows_bytes
 *	  Bytes of a row in memory, without those of its unit; arguments as of
 *	  rows_create.
 */
static Size
rows_bytes(Node *of, Oid unit)
{
	dp_reading_rows rows = {0};
	dp_units_spec bound = begin_rows(&rows, of, unit);

	return dp_units_record_bytes(&bound);
}

/*
 * rows_create
 *	  An empty collection, in the current context.  of: the spec of tables
 *	  (Const), or a list of conditions; unit: the type of the column that names
 *	  units; m: how many rows of each count.
 */
static dp_reading_rows *
rows_create(Node *of, Oid unit, int64 m)
{
	dp_reading_rows *rows = palloc0(sizeof(dp_reading_rows));
	dp_units_spec bound = begin_rows(rows, of, unit);

	bound.rows = bound.total = m;
	rows->words = palloc0(sizeof(uint64) * Max(rows->column.words, 1));
	rows->bounder = dp_units_create(&bound);
	rows->scratch = AllocSetContextCreate(CurrentMemoryContext,
										  "dp_pg row of a unit",
										  ALLOCSET_SMALL_SIZES);
	return rows;
}

/* Pack a row into rows->words; false: it is counted nowhere. */
static bool
use_pack(dp_reading_rows *rows, const Datum *values, const bool *nulls)
{
	if (rows->spec != NULL)
		return dp_exact_tables_find(rows->spec, values, nulls,
									(int32 *) rows->words);
	dp_exact_words_pack(rows->packing, values, nulls, rows->words);
	return true;
}

/* rows_add: a row of the inner query. */
static void
rows_add(dp_reading_rows *rows, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(rows->scratch);
	Datum		words = PointerGetDatum(rows->words);
	bool		none = false;

	if (!slot->tts_isnull[COLUMN_UNIT] &&
		use_pack(rows, slot->tts_values + COLUMN_FIRST,
				 slot->tts_isnull + COLUMN_FIRST))
		dp_units_add(rows->bounder, 0, slot->tts_values[COLUMN_UNIT], &words,
					 &none);
	MemoryContextSwitchTo(old);
	MemoryContextReset(rows->scratch);
}

/* dp_units_sink */
static void
use_add_part(void *context, int64 group, int column, const dp_units_part *part)
{
	dp_reading_rows *rows = context;
	int			i;

	if (rows->spec != NULL)
		dp_exact_tables_add(rows->spec, (const int32 *) part->words,
							rows->counts);
	else
		for (i = 0; i < list_length(rows->conditions); i++)
			rows->counts[i] +=
				part->totals[dp_exact_words_total(rows->packing, i)];
}

/*
 * rows_end_part
 *	  After all rows of the units that have any so far: add what they
 *	  contribute to the counts, of weights in granules.
 */
static void
rows_end_part(dp_reading_rows *rows, int64 *counts)
{
	rows->counts = counts;
	dp_units_finish(rows->bounder, use_add_part, rows);
}

/* rows_finish: end the last part, and give counts in whole rows. */
static void
rows_finish(dp_reading_rows *rows, int64 *counts)
{
	ListCell   *lc;

	rows_end_part(rows, counts);
	foreach(lc, rows->conditions)
	{
		int64	   *count = &counts[foreach_current_index(lc)];

		if (dp_split_is_weight(lfirst(lc)))
			*count = dp_weight_rows(*count);
	}
}

/* Bytes that each parallel worker may hand over. */
#define WORKERS_MOST ((Size) 8 * 1024 * 1024)

static const dp_use_methods *methods[DP_USES];

/* dp_readings_register: see dp_readings.h. */
void
dp_readings_register(dp_use_kind kind, const dp_use_methods *how)
{
	methods[kind] = how;
}

/* ---- where the rows are read ---- */

/*
 * Data of a job; the use's follow at an aligned place.  Input of the job, a
 * list of two: the conditions or, when tables are counted, NULL (their spec if
 * units have many rows); and the block if it joins something or gathers rows,
 * else NULL.  Pieces of the source: joined rows, then the use's.
 */
typedef struct reading_data
{
	int64		ncounts;
	int64		rows;			/* of a unit that count; 0: it has one */
	Oid			unit_type;		/* unless rows is 0 */
	dp_joined_sizes joined;
	int			pieces;			/* of what is joined */
	bool		more;			/* the use's follow */
	Size		size;			/* of the use's data */
	dp_use_kind kind;
} reading_data;

#define USE_DATA(data) ((const char *) (data) + MAXALIGN(sizeof(reading_data)))

typedef struct reading_work
{
	DestReceiver receiver;		/* first, so that it can be cast */
	dp_condition_counting *counting;	/* NULL: tables, or rows */
	dp_reading_rows *rows;		/* of units with many; or NULL */
	dp_named_stores *named;		/* or NULL */
	int64		ncounts;
	int64	   *counts;
	const dp_use_methods *how;
	void	   *state;			/* of the use */
} reading_work;

/* Receive the one row of exact aggregates, or a row of a unit. */
static bool
receive_counts(TupleTableSlot *slot, DestReceiver *self)
{
	reading_work *work = (reading_work *) self;

	slot_getallattrs(slot);
	if (work->rows != NULL)
		rows_add(work->rows, slot);
	else if (work->counting != NULL)
		dp_exact_conditions_load(work->counting, slot->tts_values,
								 slot->tts_isnull, work->counts);
	else if (!slot->tts_isnull[0])
		memcpy(work->counts,
			   ((dp_tally_state *)
				DatumGetPointer(slot->tts_values[0]))->counts,
			   sizeof(int64) * work->ncounts);
	return true;
}

/* The first pieces of a source. */
typedef struct first_pieces
{
	dp_reader_source source;
	void	   *context;
	int			left;
} first_pieces;

/* dp_reader_source */
static const void *
next_of_first(void *context, Size *size)
{
	first_pieces *pieces = context;

	if (pieces->left == 0)
		return NULL;
	pieces->left--;
	return pieces->source(pieces->context, size);
}

/* Prepare what the block joins, and the gathering of its rows. */
static void
begin_named(reading_work *work, const reading_data *head,
			const dp_block *block, Node *of, dp_reader_source source,
			void *context)
{
	first_pieces pieces = {source, context, head->pieces};
	dp_gather_limits limits = {.fanout = head->joined.fanout};

	if (block == NULL)
		return;
	if (work->rows != NULL)
		dp_joined_set_levels(block, rows_bytes(of, head->unit_type),
							 head->joined.widest, &limits);
	work->named = dp_joined_named_create(block, &limits, next_of_first,
										 &pieces);
	if (limits.sources > 0 && work->rows == NULL)
		elog(ERROR, "reading gathers rows that are units");
}

/* Check that nothing follows that the use does not take. */
static void
take_end(const reading_data *head, dp_reader_source source, void *context)
{
	Size		size;

	if (source != NULL && !head->more && source(context, &size) != NULL)
		elog(ERROR, "reading was sent what it does not use");
}

static void *
begin(const Node *input, const void *data, dp_reader_source source,
	  void *context)
{
	const reading_data *head = data;
	Node	   *of = linitial((List *) input);
	reading_work *work = palloc0(sizeof(reading_work));

	if (head->kind >= DP_USES || methods[head->kind] == NULL)
		elog(ERROR, "reading has a use of unknown kind %d", (int) head->kind);
	work->receiver = *None_Receiver;
	work->receiver.receiveSlot = receive_counts;
	if (head->rows > 0)
		work->rows = rows_create(of, head->unit_type, head->rows);
	else if (of != NULL)
		work->counting = dp_exact_conditions_plan((List *) of);
	begin_named(work, head, lsecond((List *) input), of, source, context);
	take_end(head, source, context);
	work->ncounts = head->ncounts;
	work->counts = palloc_extended(sizeof(int64) * work->ncounts,
								   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	work->how = methods[head->kind];
	work->state = work->how->begin(USE_DATA(data), head->size, head->ncounts,
								   head->more ? source : NULL, context);
	return work;
}

static QueryEnvironment *
environment(void *state)
{
	reading_work *work = state;

	return work->named == NULL ? NULL : dp_joined_environment(work->named);
}

static DestReceiver *
scan(void *state, int n)
{
	return dp_joined_named_scan(((reading_work *) state)->named, n);
}

/* Gathered rows are of units with many rows, so `rows` is there. */
static bool
next(void *state)
{
	reading_work *work = state;

	rows_end_part(work->rows, work->counts);
	return dp_joined_named_next(work->named);
}

static DestReceiver *
receiver(void *state)
{
	return &((reading_work *) state)->receiver;
}

static void
finish(void *state, dp_reader_sink sink, void *context)
{
	reading_work *work = state;

	if (work->rows != NULL)
		rows_finish(work->rows, work->counts);
	work->how->finish(work->state, work->counts, sink, context);
	explicit_bzero(work->counts, sizeof(int64) * work->ncounts);
}

static const dp_reader_methods reader_methods = {
	.begin = begin,
	.environment = environment,
	.scan = scan,
	.next = next,
	.receiver = receiver,
	.finish = finish,
	.prompt = true
};

/* dp_readings_init: from _PG_init, in every process. */
void
dp_readings_init(void)
{
	dp_reader_register(DP_READER_READING, &reader_methods);
}

/* ---- the connection's side ---- */

/* The block's inner query with other targets: aggregates, or rows. */
static Query *
use_inner_query(const dp_reading *reading, const dp_block *block)
{
	const struct dp_reading_plan *plan = reading->plan;
	Query	   *inner = copyObject(block->inner);
	List	   *natives;
	Aggref	   *asked = makeNode(Aggref);	/* it has no FILTER */
	ListCell   *lc;

	if (reading->many)
	{
		inner->targetList = rows_targets(plan);
		inner->hasAggs = false;
		return inner;
	}

	natives = plan->counting != NULL ?
		dp_exact_conditions_natives(plan->counting, asked) :
		list_make1(dp_exact_tables_native(asked, plan->spec, plan->columns));
	inner->targetList = NIL;
	foreach(lc, natives)
		inner->targetList =
			lappend(inner->targetList,
					makeTargetEntry(lfirst(lc),
									foreach_current_index(lc) + 1, "exact",
									false));
	return inner;
}

/* The value to which the relation restricts its partition column, or NULL. */
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

/* Bytes of the states of its exact aggregates. */
static Size
memory_of(const dp_reading *reading)
{
	return reading->plan->counting == NULL ?
		sizeof(int64) * reading->ncounts :
		dp_exact_conditions_memory(reading->plan->counting);
}

/* The input to counting: conditions, or the spec of tables. */
static Node *
counted(const struct dp_reading_plan *plan, bool many)
{
	if (plan->spec == NULL)
		return (Node *) dp_readings_block_conditions(plan->block);
	return many ? (Node *) plan->spec : NULL;
}

/* Joined rows, and then the use's pieces, for the job's source. */
typedef struct all_pieces
{
	dp_joined_rows *joined;		/* or NULL: there are no more of these */
	dp_reader_source source;	/* or NULL */
	void	   *context;
} all_pieces;

/* dp_reader_source */
static const void *
next_of_all(void *context, Size *size)
{
	all_pieces *pieces = context;
	const void *piece = pieces->joined == NULL ? NULL :
	dp_joined_next(pieces->joined, size);

	if (piece != NULL)
		return piece;
	pieces->joined = NULL;
	return pieces->source == NULL ? NULL :
		pieces->source(pieces->context, size);
}

/* The input of the job; subqueries that were run before are left out. */
static List *
use_input_of(const dp_reading *reading, const dp_block *block)
{
	dp_block   *sent = NULL;

	if (block->sources != NIL)
	{
		sent = palloc(sizeof(dp_block));
		*sent = *block;
		sent->subqueries = NIL;
	}
	return list_make2(counted(reading->plan, reading->many), sent);
}

/* The block to read, which depends on the sizes of what it joins. */
static dp_block *
find_way(const dp_reading *reading, const dp_joined_sizes *joined)
{
	dp_block   *block = reading->plan->block;

	if (block->sources == NIL)
		return block;
	if (reading->many)
		dp_joined_notice_rows_lost(block, joined->matched,
								   (int64) dp_readings_rows(reading));
	return dp_run_choose_gathering(block, reading->many ?
								   rows_bytes(counted(reading->plan, true),
											  block->unit_type) : 0,
								   reading->many ?
								   (int64) dp_readings_rows(reading) : 1,
								   joined);
}

static void
fill_data(const dp_reading *reading, const dp_reading_use *use,
		  const dp_joined_sizes *joined, int pieces, dp_reader_job *job)
{
	reading_data *data;

	job->size = MAXALIGN(sizeof(reading_data)) + use->size;
	data = palloc_extended(job->size, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	data->ncounts = reading->ncounts;
	data->rows = reading->many ? (int64) dp_readings_rows(reading) : 0;
	data->unit_type = reading->plan->block->unit_type;
	data->joined = *joined;
	data->pieces = pieces;
	data->more = use->source != NULL;
	data->size = use->size;
	data->kind = use->kind;
	memcpy((char *) USE_DATA(data), use->data, use->size);
	job->data = data;
}

/* What workers hand over: rows if units have many, else states, if small. */
static dp_workers
use_find_workers(const dp_reading *reading, Size row)
{
	if (reading->many)
		return DP_WORKERS_ROWS;
	return row <= WORKERS_MOST ? DP_WORKERS_STATES : DP_WORKERS_NONE;
}

/*
 * dp_readings_run
 *	  Read the private rows, and hand what is made of them to the use's sink.
 *	  See dp_readings.h.  The snapshot is a new one, or the transaction's.
 *
 * Errors: those of the use's charge and begin, and as a private query's run:
 * 25000, 0A000, 25006 of the circumstances, 42501 and 55000 of rights, 54000
 * what is joined is too much, those of reading it, and those of dp_reader_run.
 */
void
dp_readings_run(dp_reading *reading, const dp_reading_use *use)
{
	struct dp_reading_plan *plan = reading->plan;
	MemoryContext work = AllocSetContextCreate(CurrentMemoryContext,
											   "dp_pg reading",
											   ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(work);
	dp_inner	run = {NULL, NULL, work, true};
	bool		replace_one = reading->standing.replace_one;
	all_pieces	pieces = {NULL, use->source, use->context};
	dp_joined_sizes sizes;
	dp_reader_job job;
	dp_block   *block;

	memset(&job, 0, sizeof(job));
	dp_inner_check_preconditions();
	dp_ledger_require_budget(reading->dataset, &reading->standing);
	/*
	 * The plan is for these neighbours; if they have changed the charge fails.
	 */
	reading->standing.replace_one = replace_one;
	run.local = reading->standing.exempt;
	PushActiveSnapshot(GetTransactionSnapshot());
	pieces.joined = dp_joined_read(plan->block, &run);
	sizes = dp_joined_get_sizes(pieces.joined);
	block = find_way(reading, &sizes);
	(void) dp_run_make_ready(block, &reading->standing,
							 use_inner_query(reading, block),
							 part_value(block), &run);
	job.kind = DP_READER_READING;
	job.row = memory_of(reading);
	/* the first row is copied */
	job.memory = 2 * job.row + (reading->many ? DP_UNITS_MEMORY : 0);
	dp_inner_plan_job(block, &run, use_find_workers(reading, job.row),
					  pieces.joined, &job);
	job.input = (Node *) use_input_of(reading, block);
	fill_data(reading, use, &sizes, dp_joined_pieces(pieces.joined), &job);
	if (pieces.joined != NULL || use->source != NULL)
		job.source = next_of_all;
	job.source_context = &pieces;
	job.local = reading->standing.exempt;
	dp_reader_run(&job, use->charge, use->context, use->sink, use->context);
	PopActiveSnapshot();
	MemoryContextSwitchTo(old);
	MemoryContextDelete(work);
}

/*
 * dp_readings_check_joined
 *	  See dp_readings.h.  Errors: 54000 what is joined is too much, and those
 *	  of reading it.
 */
void
dp_readings_check_joined(const dp_reading *reading)
{
	MemoryContext work = AllocSetContextCreate(CurrentMemoryContext,
											   "dp_pg joined rows",
											   ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(work);
	dp_inner	run = {NULL, NULL, work, true};
	dp_joined_sizes sizes;

	PushActiveSnapshot(GetTransactionSnapshot());
	sizes = dp_joined_get_sizes(dp_joined_read(reading->plan->block,
											   &run));
	(void) find_way(reading, &sizes);
	PopActiveSnapshot();
	MemoryContextSwitchTo(old);
	MemoryContextDelete(work);
}
