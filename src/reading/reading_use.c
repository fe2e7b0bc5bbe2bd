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
		dp_run_set_levels(block, dp_reading_rows_bytes(of, head->unit_type),
						  head->joined.widest, &limits);
	work->named = dp_run_named_create(block, &limits, next_of_first, &pieces);
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
		work->rows = dp_reading_rows_create(of, head->unit_type, head->rows);
	else if (of != NULL)
		work->counting = dp_count_conditions_plan((List *) of);
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

	return work->named == NULL ? NULL : dp_run_named_environment(work->named);
}

static DestReceiver *
scan(void *state, int n)
{
	return dp_run_named_scan(((reading_work *) state)->named, n);
}

/* Gathered rows are of units with many rows, so `rows` is there. */
static bool
next(void *state)
{
	reading_work *work = state;

	dp_reading_rows_end_part(work->rows, work->counts);
	return dp_run_named_next(work->named);
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
	.environment = environment,
	.scan = scan,
	.next = next,
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

/* ---- the connection's side ---- */

/* The block's inner query with other targets: aggregates, or rows. */
static Query *
inner_query(const dp_reading *reading, const dp_block *block)
{
	const struct dp_reading_plan *plan = reading->plan;
	Query	   *inner = copyObject(block->inner);
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
		dp_count_conditions_memory(reading->plan->counting);
}

/* The input to counting: conditions, or the spec of tables. */
static Node *
counted(const struct dp_reading_plan *plan, bool many)
{
	if (plan->spec == NULL)
		return (Node *) dp_reading_block_conditions(plan->block);
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
	dp_run_next_joined(pieces->joined, size);

	if (piece != NULL)
		return piece;
	pieces->joined = NULL;
	return pieces->source == NULL ? NULL :
		pieces->source(pieces->context, size);
}

/* The input of the job; subqueries that were run before are left out. */
static List *
input_of(const dp_reading *reading, const dp_block *block)
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
		dp_run_tell_rows_lost(block, joined->matched,
							  (int64) reading->sensitivity);
	return dp_run_find_way(block, reading->many ?
						   dp_reading_rows_bytes(counted(reading->plan, true),
												 block->unit_type) : 0,
						   reading->many ? (int64) reading->sensitivity : 1,
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
	data->rows = reading->many ? (int64) reading->sensitivity : 0;
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
find_workers(const dp_reading *reading, Size row)
{
	if (reading->many)
		return DP_WORKERS_ROWS;
	return row <= WORKERS_MOST ? DP_WORKERS_STATES : DP_WORKERS_NONE;
}

/*
 * dp_reading_run
 *	  Read the private rows, and hand what is made of them to the use's sink.
 *	  See dp_reading.h.  The snapshot is a new one, or the transaction's.
 *
 * Errors: those of the use's charge and begin, and as a private query's run:
 * 25000, 0A000, 25006 of the circumstances, 42501 and 55000 of rights, 54000
 * what is joined is too much, those of reading it, and those of dp_reader_run.
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
	all_pieces	pieces = {NULL, use->source, use->context};
	dp_joined_sizes sizes;
	dp_reader_job job;
	dp_block   *block;
	Query	   *inner;

	memset(&job, 0, sizeof(job));
	dp_run_check_preconditions();
	dp_ledger_require_budget(reading->dataset, &reading->standing);
	/*
	 * The plan is for these neighbours; if they have changed the charge fails.
	 */
	reading->standing.replace_one = replace_one;
	run.local = reading->standing.exempt;
	PushActiveSnapshot(GetTransactionSnapshot());
	pieces.joined = dp_run_read_joined(plan->block, &run);
	dp_run_add_joined_facts(pieces.joined, &run.facts);
	sizes = dp_run_get_joined_sizes(pieces.joined);
	block = find_way(reading, &sizes);
	inner = dp_run_make_ready(block, &reading->standing,
								  inner_query(reading, block),
								  part_value(block), &run);
	job.kind = DP_READER_READING;
	job.row = memory_of(reading);
	job.plan = dp_run_plan_inner(&run, inner, find_workers(reading, job.row));
	job.relations = run.relations;
	job.needs = run.needs;
	job.memory = 2 * job.row + run.memory + /* the first is copied */
		(reading->many ? DP_BOUND_MEMORY : 0);
	dp_run_add_workers(&job, reading->many, &run, pieces.joined);
	dp_run_plan_scans(block, &reading->standing, &run, &job);
	job.input = (Node *) input_of(reading, block);
	fill_data(reading, use, &sizes, dp_run_joined_pieces(pieces.joined), &job);
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
 * dp_reading_check_joined
 *	  See dp_reading.h.  Errors: 54000 what is joined is too much, and those of
 *	  reading it.
 */
void
dp_reading_check_joined(const dp_reading *reading)
{
	MemoryContext work = AllocSetContextCreate(CurrentMemoryContext,
											   "dp_pg joined rows",
											   ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(work);
	dp_inner	run = {NULL, NULL, work, true};
	dp_joined_sizes sizes;

	PushActiveSnapshot(GetTransactionSnapshot());
	sizes = dp_run_get_joined_sizes(dp_run_read_joined(reading->plan->block,
													   &run));
	(void) find_way(reading, &sizes);
	PopActiveSnapshot();
	MemoryContextSwitchTo(old);
	MemoryContextDelete(work);
}
