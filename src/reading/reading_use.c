/*
 * reading_use.c
 *	  Running a reading: its exact counts, and what is made of them, stay where
 *	  the rows are read.
 *
 * A mechanism with a charge of its own has a use of a kind; the folder of the
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

#include "reading.h"

/* Bytes that each parallel worker may hand over. */
#define WORKERS_MOST ((Size) 8 * 1024 * 1024)

static const dp_use_methods *methods[DP_USES];

/* dp_reading_register: see dp_reading.h. */
void
dp_reading_register(dp_use_kind kind, const dp_use_methods *how)
{
	methods[kind] = how;
}

/* ---- where the rows are read ---- */

/*
 * Data of a job; those of the use follow at an aligned place.  Input of the
 * job: the conditions; when tables are counted nothing, or of units with many
 * rows their spec.
 */
typedef struct reading_data
{
	int64		ncounts;
	int64		rows;			/* of a unit that count; 0: it has one */
	Oid			unit_type;		/* else */
	Size		size;			/* of the use's data */
	dp_use_kind kind;
} reading_data;

#define USE_DATA(data) ((const char *) (data) + MAXALIGN(sizeof(reading_data)))

typedef struct reading_work
{
	DestReceiver receiver;		/* first, so that it can be cast */
	dp_condition_counting *counting;	/* NULL: tables, or rows */
	dp_reading_rows *rows;		/* of units with many; or NULL */
	int64		ncounts;
	int64	   *counts;
	const dp_use_methods *how;
	void	   *state;			/* of the use */
} reading_work;

static void
receive_startup(DestReceiver *self, int operation, TupleDesc typeinfo)
{
}

static void
receive_nothing(DestReceiver *self)
{
}

/* The one row of exact aggregates, or a row of a unit. */
static bool
receive_counts(TupleTableSlot *slot, DestReceiver *self)
{
	reading_work *work = (reading_work *) self;

	slot_getallattrs(slot);
	if (work->rows != NULL)
		dp_reading_rows_add(work->rows, slot);
	else if (work->counting != NULL)
		dp_count_conditions_load(work->counting, slot->tts_values,
								 slot->tts_isnull, work->counts);
	else if (!slot->tts_isnull[0])
		memcpy(work->counts,
			   ((dp_tally_state *)
				DatumGetPointer(slot->tts_values[0]))->counts,
			   sizeof(int64) * work->ncounts);
	return true;
}

static void *
begin(const Node *input, const void *data, dp_reader_source source,
	  void *context)
{
	const reading_data *head = data;
	reading_work *work = palloc0(sizeof(reading_work));

	if (head->kind >= DP_USES || methods[head->kind] == NULL)
		elog(ERROR, "reading has a use of unknown kind %d", (int) head->kind);
	work->receiver.receiveSlot = receive_counts;
	work->receiver.rStartup = receive_startup;
	work->receiver.rShutdown = receive_nothing;
	work->receiver.rDestroy = receive_nothing;
	work->receiver.mydest = DestNone;
	if (head->rows > 0)
		work->rows = dp_reading_rows_create((Node *) input, head->unit_type,
											head->rows);
	else if (input != NULL)
		work->counting = dp_count_conditions_plan((List *) input);
	work->ncounts = head->ncounts;
	work->counts = palloc_extended(sizeof(int64) * work->ncounts,
								   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	work->how = methods[head->kind];
	work->state = work->how->begin(USE_DATA(data), head->size, head->ncounts,
								   source, context);
	return work;
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
		dp_reading_rows_finish(work->rows, work->counts);
	work->how->finish(work->state, work->counts, sink, context);
	explicit_bzero(work->counts, sizeof(int64) * work->ncounts);
}

static const dp_reader_methods reader_methods = {
	.begin = begin,
	.receiver = receiver,
	.finish = finish,
	.prompt = true
};

/* dp_reading_init: from _PG_init, in every process. */
void
dp_reading_init(void)
{
	dp_reader_register(DP_READER_READING, &reader_methods);
}

/* ---- the session's side ---- */

/* The block's relation with other targets: SELECT aggregates, or rows. */
static Query *
inner_query(const dp_reading *reading)
{
	const struct dp_reading_plan *plan = reading->plan;
	Query	   *inner = copyObject(plan->block->inner);
	List	   *natives;
	Aggref	   *asked = makeNode(Aggref);	/* it has no FILTER */
	ListCell   *lc;

	if (reading->many)
	{
		inner->targetList = dp_reading_rows_targets(plan);
		inner->hasAggs = false;
		return inner;
	}

	natives = plan->counting != NULL ?
		dp_count_conditions_natives(plan->counting, asked) :
		list_make1(dp_count_tables_native(asked, plan->spec, plan->columns));
	inner->targetList = NIL;
	foreach(lc, natives)
		inner->targetList =
			lappend(inner->targetList,
					makeTargetEntry(lfirst(lc),
									foreach_current_index(lc) + 1, "exact",
									false));
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

/* Bytes of the states of its exact aggregates. */
static Size
memory_of(const dp_reading *reading)
{
	return reading->plan->counting == NULL ?
		sizeof(int64) * reading->ncounts :
		dp_count_conditions_memory(reading->plan->counting);
}

/* What whoever reads makes the counts of. */
static Node *
input_of(const struct dp_reading_plan *plan, bool many)
{
	if (plan->spec == NULL)
		return (Node *) dp_reading_block_conditions(plan->block);
	return many ? (Node *) plan->spec : NULL;
}

static void
fill_data(const dp_reading *reading, const dp_reading_use *use,
		  dp_reader_job *job)
{
	reading_data *data;

	job->size = MAXALIGN(sizeof(reading_data)) + use->size;
	data = palloc_extended(job->size, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	data->ncounts = reading->ncounts;
	data->rows = reading->many ? (int64) reading->sensitivity : 0;
	data->unit_type = reading->plan->block->unit_type;
	data->size = use->size;
	data->kind = use->kind;
	memcpy((char *) USE_DATA(data), use->data, use->size);
	job->data = data;
}

/*
 * dp_reading_run
 *	  Read the private rows, and hand what is made of them to the use's sink.
 *	  See dp_reading.h.  The snapshot is a new one, or the transaction's.
 *
 * Errors: those of the use's charge and begin, and as a private query's run:
 * 25000, 0A000, 25006 of the circumstances, 42501 and 55000 of rights, those
 * of dp_reader_run.
 */
void
dp_reading_run(dp_reading *reading, const dp_reading_use *use)
{
	struct dp_reading_plan *plan = reading->plan;
	MemoryContext work = AllocSetContextCreate(CurrentMemoryContext,
											   "dp_pg reading",
											   ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(work);
	dp_inner	run = {NULL, NULL, work, true};
	bool		replace_one = reading->standing.replace_one;
	dp_reader_job job;
	Query	   *inner;

	memset(&job, 0, sizeof(job));
	dp_run_check_preconditions();
	dp_ledger_require_budget(reading->dataset, &reading->standing);
	/* What is planned is for these neighbours; others fail the charge. */
	reading->standing.replace_one = replace_one;
	run.local = reading->standing.exempt;
	PushActiveSnapshot(GetTransactionSnapshot());
	inner = dp_run_make_ready(plan->block, &reading->standing,
								  inner_query(reading),
								  part_value(plan->block),
								  &run);
	job.kind = DP_READER_READING;
	job.row = memory_of(reading);
	job.plan = dp_run_plan_inner(&run, inner, !reading->many &&
								 job.row <= WORKERS_MOST);
	job.relations = run.relations;
	job.needs = run.needs;
	job.memory = 2 * job.row + run.memory + /* the first is copied */
		(reading->many ? DP_BOUND_MEMORY : 0);
	job.input = input_of(plan, reading->many);
	fill_data(reading, use, &job);
	job.source = use->source;
	job.source_context = use->context;
	job.local = reading->standing.exempt;
	dp_reader_run(&job, use->charge, use->context, use->sink, use->context);
	PopActiveSnapshot();
	MemoryContextSwitchTo(old);
	MemoryContextDelete(work);
}
