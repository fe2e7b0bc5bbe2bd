/*
 * cells.c
 *	  The exact integers of every public group, and their release.
 *
 * Groups are numbered in the order of the answer: the first key varies
 * slowest.  The receiver adds inner rows to their groups, in any order; a row
 * whose key is not public counts nowhere.  Release walks the groups in order,
 * empty ones too, and draws fresh noise for every value.  So the number, the
 * order and the spelling of the rows depend on public things only, and with
 * dp_pg.suppress on released values.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "dp_measure.h"

struct dp_cells
{
	DestReceiver receiver;		/* first, so that it can be cast */
	const dp_release_spec *spec;
	int			width;			/* cells of one group */
	dp_cell    *cells;			/* spec->groups * width */
	dp_measure_units *units;	/* spec->many only */
	MemoryContext keep;			/* of the cells and their states */
	MemoryContext scratch;		/* reset for every row */
};

/* The place of an inner row among the groups, or -1. */
static int64
group_of(const dp_release_spec *spec, TupleTableSlot *slot)
{
	if (spec->nkeys == 0)
		return 0;
	return slot->tts_isnull[0] ? -1 : DatumGetInt32(slot->tts_values[0]);
}

/* One row: the exact numbers of all groups. */
static void
add_states(dp_cells *cells, TupleTableSlot *slot)
{
	const dp_release_spec *spec = cells->spec;
	dp_cell    *cell = cells->cells;
	int64		group;
	int			i;

	for (group = 0; group < spec->groups; group++)
		for (i = 0; i < spec->nmeasures; i++)
		{
			const dp_measure *measure = &spec->measures[i];
			bool		isnull = slot->tts_isnull[i];
			Datum		value = 0;

			if (!isnull)
				value = dp_measure_group_value(measure, slot->tts_values[i],
											   group);
			measure->ops->load(measure, &value, &isnull, cell, cells->keep);
			cell += measure->ncells;
		}
}

/* The exact numbers of one group. */
static void
add_group(dp_cells *cells, TupleTableSlot *slot)
{
	const dp_release_spec *spec = cells->spec;
	int64		group = group_of(spec, slot);
	dp_cell    *cell;
	int			i;

	if (group < 0)
		return;
	cell = cells->cells + group * cells->width;
	for (i = 0; i < spec->nmeasures; i++)
	{
		const dp_measure *measure = &spec->measures[i];

		measure->ops->load(measure, slot->tts_values + measure->first_column,
						   slot->tts_isnull + measure->first_column, cell,
						   cells->keep);
		cell += measure->ncells;
	}
}

static bool
receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	dp_cells   *cells = (dp_cells *) self;
	MemoryContext old = MemoryContextSwitchTo(cells->scratch);

	slot_getallattrs(slot);
	if (cells->spec->many)
		dp_measure_units_add(cells->units, slot);
	else if (cells->spec->states)
		add_states(cells, slot);
	else
		add_group(cells, slot);
	MemoryContextSwitchTo(old);
	MemoryContextReset(cells->scratch);
	return true;
}

static void
receive_startup(DestReceiver *self, int operation, TupleDesc typeinfo)
{
}

static void
receive_nothing(DestReceiver *self)
{
}

/*
 * dp_measure_cells_create
 *	  All groups at zero, in the current context.
 */
dp_cells *
dp_measure_cells_create(const dp_release_spec *spec)
{
	dp_cells   *cells = palloc0(sizeof(dp_cells));
	int			i;

	cells->receiver.receiveSlot = receive_row;
	cells->receiver.rStartup = receive_startup;
	cells->receiver.rShutdown = receive_nothing;
	cells->receiver.rDestroy = receive_nothing;
	cells->receiver.mydest = DestNone;
	cells->spec = spec;
	cells->keep = CurrentMemoryContext;
	for (i = 0; i < spec->nmeasures; i++)
		cells->width += spec->measures[i].ncells;
	cells->cells = palloc_extended(sizeof(dp_cell) * spec->groups *
								   cells->width,
								   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	if (spec->many)
		cells->units = dp_measure_units_create(spec);
	cells->scratch = AllocSetContextCreate(CurrentMemoryContext,
										   "dp_pg release row",
										   ALLOCSET_SMALL_SIZES);
	return cells;
}

/* dp_measure_cells_receiver: for the executor of the inner query. */
DestReceiver *
dp_measure_cells_receiver(dp_cells *cells)
{
	return &cells->receiver;
}

static void
give_row(TupleTableSlot *slot, dp_reader_sink sink, void *context)
{
	MinimalTuple tuple;

	ExecStoreVirtualTuple(slot);
	tuple = ExecCopySlotMinimalTuple(slot);
	sink(context, tuple, tuple->t_len);
	ExecClearTuple(slot);
}

/*
 * Up to which released number of rows, the n-th aggregate from 1, there may be
 * none: with more, no rows would be taken for some with probability 1/20 at
 * most.  -1 for n = 0, where no number decides.
 */
static int64
size_of_none(const dp_release_spec *spec, int n)
{
	double		error;

	if (n == 0)
		return -1;
	error = dp_measure_noise_error(&spec->measures[n - 1], 0.05);
	return error < 1e18 ? (int64) error : INT64CONST(1000000000000000000);
}

/* Values that are told only where there are rows; NULL: all are. */
static int64 *
sizes_of_none(const dp_release_spec *spec)
{
	int64	   *none;
	int			i;

	if (spec->block->sizes == NIL)
		return NULL;
	none = palloc(sizeof(int64) * Max(spec->nmeasures, 1));
	for (i = 0; i < spec->nmeasures; i++)
		none[i] = size_of_none(spec, list_nth_int(spec->block->sizes, i));
	return none;
}

/* Make values NULL whose number of rows cannot be told from none. */
static void
forget_values(const dp_release_spec *spec, const int64 *none,
			  const Datum *values, bool *nulls)
{
	int			i;

	for (i = 0; none != NULL && i < spec->nmeasures; i++)
	{
		int			size = list_nth_int(spec->block->sizes, i);

		if (size > 0 && DatumGetInt64(values[size - 1]) <= none[i])
			nulls[i] = true;
	}
}

/*
 * dp_measure_cells_release
 *	  Draw noise and give the sink one row per public group, in order, each a
 *	  minimal tuple.  Groups whose released number of rows cannot be told from
 *	  none are left out where the block says so.
 */
void
dp_measure_cells_release(dp_cells *cells, TupleDesc result,
						 dp_reader_sink sink, void *context)
{
	const dp_release_spec *spec = cells->spec;
	TupleTableSlot *slot = MakeSingleTupleTableSlot(result, &TTSOpsVirtual);
	Datum	   *values = slot->tts_values;
	bool	   *nulls = slot->tts_isnull;
	int			size = spec->nkeys + spec->block->size - 1;
	int64		none = size_of_none(spec, spec->block->size);
	int64	   *own_none = sizes_of_none(spec);
	int64		group;

	if (spec->many)
		dp_measure_units_finish(cells->units, cells->cells, cells->width,
								cells->keep);
	for (group = 0; group < spec->groups; group++)
	{
		MemoryContext old = MemoryContextSwitchTo(cells->scratch);
		const dp_cell *cell = cells->cells + group * cells->width;
		int64		rest = group;
		int			i;

		CHECK_FOR_INTERRUPTS();
		for (i = spec->nkeys - 1; i >= 0; i--)
		{
			int64		size = dp_places_domain_size(spec->domains[i]);

			values[i] = dp_places_domain_value(spec->domains[i], rest % size,
											   &nulls[i]);
			rest /= size;
		}
		for (i = 0; i < spec->nmeasures; i++)
		{
			const dp_measure *measure = &spec->measures[i];

			nulls[spec->nkeys + i] = false;
			values[spec->nkeys + i] =
				measure->ops->release(measure, cell, &nulls[spec->nkeys + i]);
			cell += measure->ncells;
		}
		forget_values(spec, own_none, values + spec->nkeys,
					  nulls + spec->nkeys);
		if (none < 0 || DatumGetInt64(values[size]) > none)
			give_row(slot, sink, context);
		MemoryContextSwitchTo(old);
		MemoryContextReset(cells->scratch);
	}
	ExecDropSingleTupleTableSlot(slot);
}
