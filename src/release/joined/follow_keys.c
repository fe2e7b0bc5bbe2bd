/*
 * follow_keys.c
 *	  Units that are behind keys, found where private rows are read.
 *
 * A row of lineitem has the customer of its order.  So rows of lineitem, and
 * the key and customer of each order, are gathered by order number
 * (units/gather.c), in bounded memory, and leave with their unit.  Orders
 * whose customer is behind another key first wait for it likewise: steps are
 * taken from the last one, which has units, to the first.  A row that matches
 * no key has no unit and is dropped.
 *
 * If a key has several columns, the bytes of all of them are compared, each
 * preceded by their number; a row with a NULL among them refers to no key.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"

#include "../../base/dp_compat.h"
#include "../../query/domains/dp_domains.h"
#include "../../query/rowsets/dp_rowsets.h"
#include "../../measure/units/dp_units.h"
#include "joined_internal.h"

/* Sources of a step's gathering, in the order in which they are given. */
enum
{
	KEYS = 1,					/* (key, unit) */
	WAITING						/* rows without a unit */
};

/* A key in rows of one kind. */
typedef struct follow_key
{
	int			n;
	AttrNumber *columns;
	dp_gather_unit *each;		/* how each column is read */
	dp_gather_unit how;			/* how all of them together are read */
	bytea	   *made;			/* the bytes of several columns, or NULL */
} follow_key;

/* What a scan reads: keys of a step, or rows whose unit is looked for. */
typedef struct follow_scan
{
	DestReceiver receiver;		/* first */
	dp_followed *all;
	int			step;			/* -1: the rows */
	TupleTableSlot *slot;		/* for the rows it reads */
} follow_scan;

typedef struct follow_step
{
	dp_gather  *gather;
	follow_key	key;
	follow_key	from;			/* in the rows that refer to the key */
	follow_scan scan;
	TupleTableSlot *units;		/* of KEYS */
} follow_step;

struct dp_followed
{
	int			n;
	follow_step *steps;
	follow_scan rows;
	AttrNumber	unit;			/* column of the rows that receives it */
	int			at;				/* the current step */
	bool		found;			/* the current key's unit is known */
	Datum		value;
	int16		length;			/* of the unit's type */
	bool		by_value;
	MemoryContext row;			/* reset for each row */
	dp_follow_sink sink;
	void	   *sink_context;
};

/* How the bytes of several columns are read. */
static const dp_gather_unit bytes_of_several = {DP_READ_TEXT, true};

static dp_gather_unit
how_to_read(TupleDesc desc, AttrNumber column)
{
	Oid			type =
	getBaseType(TupleDescAttr(desc, column - 1)->atttypid);
	dp_gather_unit how = {dp_domains_read_way(type), get_typlen(type) == -1};

	return how;
}

static void
init_key(follow_key *key, int n)
{
	key->n = n;
	key->columns = palloc(sizeof(AttrNumber) * n);
	key->each = palloc(sizeof(dp_gather_unit) * n);
	if (n > 1)
		key->made = palloc(VARHDRSZ + DP_UNITS_UNIT_BYTES);
}

/* Use n columns of a row from number `first` on. */
static void
init_key_from(follow_key *key, TupleDesc desc, int first, int n)
{
	int			i;

	init_key(key, n);
	for (i = 0; i < n; i++)
	{
		key->columns[i] = first + i;
		key->each[i] = how_to_read(desc, first + i);
	}
	key->how = n == 1 ? key->each[0] : bytes_of_several;
}

/* Use the columns of a row with these numbers. */
static void
init_key_of(follow_key *key, TupleDesc desc, const List *columns)
{
	ListCell   *lc;

	init_key(key, list_length(columns));
	foreach(lc, columns)
	{
		int			i = foreach_current_index(lc);

		key->columns[i] = lfirst_int(lc);
		key->each[i] = how_to_read(desc, lfirst_int(lc));
	}
	key->how = key->n == 1 ? key->each[0] : bytes_of_several;
}

/* Append bytes of a key; false if it is longer than any that counts. */
static bool
append(follow_key *key, Size *length, const void *bytes, Size n)
{
	if (n > DP_UNITS_UNIT_BYTES - *length)
		return false;
	memcpy(VARDATA(key->made) + *length, bytes, n);
	*length += n;
	return true;
}

/*
 * Append one of several columns: the number of bytes that decide its equality,
 * and these.
 */
static bool
follow_keys_append_column(follow_key *key, const dp_gather_unit *how,
						  Datum value, Size *length)
{
	dp_value_bytes read;
	int64		number;
	uint32		n;
	bool		fits;

	if (dp_domains_read_integer(how->way, value, &number))
	{
		n = sizeof(number);
		return append(key, length, &n, sizeof(n)) &&
			append(key, length, &number, n);
	}
	if (how->varlena &&
		toast_raw_datum_size(value) - VARHDRSZ > DP_UNITS_UNIT_BYTES)
		return false;
	dp_domains_read_bytes(how->way, value, &read);
	n = (uint32) read.length;
	fits = append(key, length, &n, sizeof(n)) &&
		append(key, length, read.bytes, n);
	if (read.copy != NULL)
		pfree(read.copy);
	return fits;
}

/* Get the key of a row, valid until the next call; false if it has none. */
static bool
follow_keys_read_key(follow_key *key, TupleTableSlot *slot, Datum *value)
{
	Size		length = 0;
	bool		isnull;
	int			i;

	for (i = 0; i < key->n; i++)
	{
		*value = slot_getattr(slot, key->columns[i], &isnull);
		if (isnull)
			return false;
		if (key->n > 1 &&
			!follow_keys_append_column(key, &key->each[i], *value, &length))
			return false;
	}
	if (key->n > 1)
	{
		SET_VARSIZE(key->made, VARHDRSZ + length);
		*value = PointerGetDatum(key->made);
	}
	return true;
}

/* ---- rows of scans ---- */

static void
follow_keys_add_row(follow_step *step, int source, follow_key *key,
					TupleTableSlot *slot)
{
	Datum		value;
	MinimalTuple tuple;
	bool		ours;

	if (!follow_keys_read_key(key, slot, &value))
		return;
	tuple = ExecFetchSlotMinimalTuple(slot, &ours);
	dp_units_gather_add(step->gather, source, &key->how, value, tuple, 0);
	if (ours)
		pfree(tuple);
}

/* Let a row wait for the unit of the key that it refers to. */
static void
wait_for(follow_step *step, TupleTableSlot *slot)
{
	follow_keys_add_row(step, WAITING, &step->from, slot);
}

static void
follow_keys_add_key(follow_step *step, TupleTableSlot *slot)
{
	follow_keys_add_row(step, KEYS, &step->key, slot);
}

static bool
follow_keys_receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	follow_scan *scan = (follow_scan *) self;
	dp_followed *all = scan->all;

	if (scan->step < 0)
		wait_for(&all->steps[0], slot);
	else if (scan->step < all->n - 1)
		wait_for(&all->steps[scan->step + 1], slot);
	else
		follow_keys_add_key(&all->steps[scan->step], slot);
	return true;
}

static void
init_scan(follow_scan *scan, dp_followed *all, int step, const List *targets)
{
	scan->receiver = *None_Receiver;
	scan->receiver.receiveSlot = follow_keys_receive_row;
	scan->all = all;
	scan->step = step;
	scan->slot = MakeSingleTupleTableSlot(ExecTypeFromTL((List *) targets),
										  &TTSOpsMinimalTuple);
}

/*
 * dp_joined_follow_scan: the receiver of the rows, or with n > 0 of the n-th
 * keys.
 */
DestReceiver *
dp_joined_follow_scan(dp_followed *all, int n)
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
	const follow_step *step = &all->steps[all->at];
	TupleTableSlot *slot = step->units;
	bool		isnull;
	Datum		unit;

	begin_key(all);
	ExecStoreMinimalTuple(tuple, slot, false);
	unit = slot_getattr(slot, step->key.n + 1, &isnull);
	all->found = !isnull;
	if (all->found)
		all->value = datumCopy(unit, all->by_value, all->length);
	ExecClearTuple(slot);
}

/* Give out one of the rows, with its unit. */
static void
follow_keys_give_row(dp_followed *all, MinimalTuple tuple)
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

/*
 * Pass a key to the step before, with its unit in place of the key that it
 * waited for.
 */
static void
give_key(dp_followed *all, MinimalTuple tuple)
{
	follow_step *before = &all->steps[all->at - 1];
	TupleTableSlot *slot = before->scan.slot;
	int			n = before->key.n;
	bool	   *nulls = palloc0(sizeof(bool) * (n + 1));
	Datum	   *values = palloc(sizeof(Datum) * (n + 1));
	Datum		key;
	int			i;

	ExecStoreMinimalTuple(tuple, slot, false);
	if (follow_keys_read_key(&before->key, slot, &key))
	{
		for (i = 0; i < n; i++)
			values[i] = slot_getattr(slot, i + 1, &nulls[i]);
		values[n] = all->value;
		dp_units_gather_add(before->gather, KEYS, &before->key.how, key,
							heap_form_minimal_tuple(
									before->units->tts_tupleDescriptor,
									values, nulls, 0), 0);
	}
	ExecClearTuple(slot);
}

static void
give_unit(dp_followed *all, MinimalTuple tuple)
{
	MemoryContext old = MemoryContextSwitchTo(all->row);

	if (all->at == 0)
		follow_keys_give_row(all, tuple);
	else
		give_key(all, tuple);
	MemoryContextSwitchTo(old);
	MemoryContextReset(all->row);
}

/* dp_gather_sink: keys come before the rows that wait for them. */
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
 * dp_joined_follow
 *	  After all has been read: give the sink the rows that have a unit, with
 *	  it.
 */
void
dp_joined_follow(dp_followed *all)
{
	for (all->at = all->n - 1; all->at >= 0; all->at--)
		while (dp_units_gather_next(all->steps[all->at].gather, take, all))
			CHECK_FOR_INTERRUPTS();
}

/* ---- all of it ---- */

/* The row type (key, unit). */
static TupleDesc
describe_units(const dp_followed *all, TupleDesc keys, int n)
{
	TupleDesc	rows = all->rows.slot->tts_tupleDescriptor;
	TupleDesc	desc = CreateTemplateTupleDesc(n + 1);
	int			i;

	for (i = 1; i <= n; i++)
		TupleDescCopyEntry(desc, i, keys, i);
	TupleDescCopyEntry(desc, n + 1, rows, all->unit);
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
	int			columns = list_length(list_nth(source->step_keys, n));
	TupleDesc	keys;

	init_scan(&step->scan, all, n, query->targetList);
	keys = step->scan.slot->tts_tupleDescriptor;
	step->units = MakeSingleTupleTableSlot(describe_units(all, keys, columns),
										   &TTSOpsMinimalTuple);
	step->gather = dp_units_gather_create(&limits);
	init_key_from(&step->key, keys, 1, columns);
	if (n == 0)
		init_key_of(&step->from, all->rows.slot->tts_tupleDescriptor,
					source->follow);
	else
		init_key_from(&step->from,
					  all->steps[n - 1].scan.slot->tts_tupleDescriptor,
					  all->steps[n - 1].key.n + 1, columns);
}

/*
 * dp_joined_follow_create
 *	  For a source whose rows have their unit behind keys, in the current
 *	  context.  The unit's type is that of the rows' column for it.
 */
dp_followed *
dp_joined_follow_create(const dp_joined *source, dp_follow_sink sink,
						void *context)
{
	dp_followed *all = palloc0(sizeof(dp_followed));
	int			i;

	all->n = list_length(source->steps);
	all->steps = palloc0(sizeof(follow_step) * all->n);
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
