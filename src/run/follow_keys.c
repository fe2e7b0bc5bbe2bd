/*
 * follow_keys.c
 *	  Units that are behind keys, found where private rows are read.
 *
 * A row of lineitem has the customer of its order.  So rows of lineitem, and
 * of each order its key and its customer, are brought together by the order
 * (bound/gather.c), which needs no more memory however many there are, and
 * leave with their unit; orders whose customer is behind another key wait for
 * it likewise.  Steps are taken from the last one, which has units, to the
 * first.  A row that meets no key has no unit, and is dropped.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"

#include "run.h"

/* Sources of a step's gathering, in the order in which they are given. */
enum
{
	KEYS = 1,					/* (key, unit) */
	WAITING						/* rows without a unit */
};

/* What a scan reads: keys of a step, or the rows whose unit is sought. */
typedef struct follow_scan
{
	DestReceiver receiver;		/* first */
	dp_followed *all;
	int			step;			/* -1: the rows */
	TupleTableSlot *slot;		/* of what it reads */
} follow_scan;

typedef struct follow_step
{
	dp_gather  *gather;
	dp_gather_unit key;			/* how keys are read */
	dp_gather_unit from;		/* and what refers to them */
	follow_scan scan;
	TupleTableSlot *units;		/* of KEYS */
} follow_step;

struct dp_followed
{
	int			n;
	follow_step *steps;
	follow_scan rows;
	AttrNumber	follow;			/* column of the rows */
	AttrNumber	unit;			/* likewise, where the unit is put */
	int			at;				/* the step that is taken */
	bool		found;			/* the key's unit is at hand */
	Datum		value;
	int16		length;			/* of its type */
	bool		by_value;
	MemoryContext row;			/* what one row needs */
	dp_follow_sink sink;
	void	   *sink_context;
};

static dp_gather_unit
how_to_read(TupleDesc desc, AttrNumber column)
{
	Oid			type =
	getBaseType(TupleDescAttr(desc, column - 1)->atttypid);
	dp_gather_unit how = {dp_places_read_way(type), get_typlen(type) == -1};

	return how;
}

/* ---- rows of scans ---- */

/* A row waits for the unit of the key that its column has. */
static void
wait_for(follow_step *step, TupleTableSlot *slot, AttrNumber column)
{
	bool		isnull;
	Datum		key = slot_getattr(slot, column, &isnull);
	MinimalTuple tuple;
	bool		ours;

	if (isnull)
		return;
	tuple = ExecFetchSlotMinimalTuple(slot, &ours);
	dp_bound_gather_add(step->gather, WAITING, &step->from, key, tuple, 0);
	if (ours)
		pfree(tuple);
}

static void
add_key(follow_step *step, TupleTableSlot *slot)
{
	bool		isnull;
	Datum		key = slot_getattr(slot, 1, &isnull);
	MinimalTuple tuple;
	bool		ours;

	if (isnull)
		return;
	tuple = ExecFetchSlotMinimalTuple(slot, &ours);
	dp_bound_gather_add(step->gather, KEYS, &step->key, key, tuple, 0);
	if (ours)
		pfree(tuple);
}

static bool
receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	follow_scan *scan = (follow_scan *) self;
	dp_followed *all = scan->all;

	if (scan->step < 0)
		wait_for(&all->steps[0], slot, all->follow);
	else if (scan->step < all->n - 1)
		wait_for(&all->steps[scan->step + 1], slot, 2);
	else
		add_key(&all->steps[scan->step], slot);
	return true;
}

static void
init_scan(follow_scan *scan, dp_followed *all, int step, const List *targets)
{
	scan->receiver = *None_Receiver;
	scan->receiver.receiveSlot = receive_row;
	scan->all = all;
	scan->step = step;
	scan->slot = MakeSingleTupleTableSlot(ExecTypeFromTL((List *) targets),
										  &TTSOpsMinimalTuple);
}

/* dp_run_follow_scan: where the rows are put, or with n > 0 the n-th keys. */
DestReceiver *
dp_run_follow_scan(dp_followed *all, int n)
{
	return n == 0 ? &all->rows.receiver : &all->steps[n - 1].scan.receiver;
}

/* ---- with their units ---- */

static void
begin_key(void *context)
{
	dp_followed *all = context;

	if (all->found && !all->by_value)
		pfree(DatumGetPointer(all->value));
	all->found = false;
}

static void
note_unit(dp_followed *all, MinimalTuple tuple)
{
	TupleTableSlot *slot = all->steps[all->at].units;
	bool		isnull;
	Datum		unit;

	begin_key(all);
	ExecStoreMinimalTuple(tuple, slot, false);
	unit = slot_getattr(slot, 2, &isnull);
	all->found = !isnull;
	if (all->found)
		all->value = datumCopy(unit, all->by_value, all->length);
	ExecClearTuple(slot);
}

/* One of the rows, with its unit. */
static void
give_row(dp_followed *all, MinimalTuple tuple)
{
	TupleTableSlot *slot = all->rows.slot;

	ExecStoreMinimalTuple(tuple, slot, false);
	slot_getallattrs(slot);
	slot->tts_values[all->unit - 1] = all->value;
	slot->tts_isnull[all->unit - 1] = false;
	all->sink(all->sink_context, all->value,
			  heap_form_minimal_tuple(slot->tts_tupleDescriptor,
									  slot->tts_values, slot->tts_isnull, 0));
	ExecClearTuple(slot);
}

/* A key of the step before, with the unit in place of what it waited for. */
static void
give_key(dp_followed *all, MinimalTuple tuple)
{
	follow_step *before = &all->steps[all->at - 1];
	bool		nulls[2] = {false, false};
	Datum		values[2];

	ExecStoreMinimalTuple(tuple, before->scan.slot, false);
	values[0] = slot_getattr(before->scan.slot, 1, &nulls[0]);
	values[1] = all->value;
	if (!nulls[0])
		dp_bound_gather_add(before->gather, KEYS, &before->key, values[0],
							heap_form_minimal_tuple(
									before->units->tts_tupleDescriptor,
									values, nulls, 0), 0);
	ExecClearTuple(before->scan.slot);
}

static void
give_unit(dp_followed *all, MinimalTuple tuple)
{
	MemoryContext old = MemoryContextSwitchTo(all->row);

	if (all->at == 0)
		give_row(all, tuple);
	else
		give_key(all, tuple);
	MemoryContextSwitchTo(old);
	MemoryContextReset(all->row);
}

/* dp_gather_sink: a key comes before the rows that wait for it. */
static void
take(void *context, int source, MinimalTuple tuple)
{
	dp_followed *all = context;

	if (source == KEYS)
		note_unit(all, tuple);
	else if (all->found)
		give_unit(all, tuple);
}

/*
 * dp_run_follow
 *	  When all was read: give the sink the rows that have a unit, and it.
 */
void
dp_run_follow(dp_followed *all)
{
	for (all->at = all->n - 1; all->at >= 0; all->at--)
		while (dp_bound_gather_next(all->steps[all->at].gather, take, all))
			CHECK_FOR_INTERRUPTS();
}

/* ---- all of it ---- */

/* (key, unit) */
static TupleDesc
describe_units(const dp_followed *all, TupleDesc keys)
{
	TupleDesc	rows = all->rows.slot->tts_tupleDescriptor;
	TupleDesc	desc = CreateTemplateTupleDesc(2);

	TupleDescCopyEntry(desc, 1, keys, 1);
	TupleDescCopyEntry(desc, 2, rows, all->unit);
	return desc;
}

static void
init_step(dp_followed *all, int n, const dp_joined *source)
{
	const dp_gather_limits limits = {
		.sources = WAITING,
		.fanout = 1,
		.begin = begin_key
	};
	follow_step *step = &all->steps[n];
	const Query *query = list_nth(source->steps, n);

	init_scan(&step->scan, all, n, query->targetList);
	step->units =
		MakeSingleTupleTableSlot(describe_units(all, step->scan.slot->
												tts_tupleDescriptor),
								 &TTSOpsMinimalTuple);
	step->gather = dp_bound_gather_create(&limits);
	step->key = how_to_read(step->scan.slot->tts_tupleDescriptor, 1);
	step->from = n == 0 ?
		how_to_read(all->rows.slot->tts_tupleDescriptor, all->follow) :
		how_to_read(all->steps[n - 1].scan.slot->tts_tupleDescriptor, 2);
}

/*
 * dp_run_follow_create
 *	  For a source whose rows have their unit behind keys, in the current
 *	  context.  The unit's type is that of the rows' column for it.
 */
dp_followed *
dp_run_follow_create(const dp_joined *source, dp_follow_sink sink,
					 void *context)
{
	dp_followed *all = palloc0(sizeof(dp_followed));
	int			i;

	all->n = list_length(source->steps);
	all->steps = palloc0(sizeof(follow_step) * all->n);
	all->follow = source->follow;
	all->unit = source->unit;
	all->sink = sink;
	all->sink_context = context;
	all->row = AllocSetContextCreate(CurrentMemoryContext,
									 "dp_pg row with a unit",
									 ALLOCSET_DEFAULT_SIZES);
	init_scan(&all->rows, all, -1, source->query->targetList);
	get_typlenbyval(TupleDescAttr(all->rows.slot->tts_tupleDescriptor,
								  all->unit - 1)->atttypid,
					&all->length, &all->by_value);
	for (i = 0; i < all->n; i++)
		init_step(all, i, source);
	return all;
}
