/*
 * cells.c
 *	  The exact integers of every public group, and their release.
 *
 * Groups are numbered in the order of the answer: the first key varies
 * slowest.  The receiver adds inner rows to their groups, in any order; a row
 * whose key is not public does not count.  Release visits the groups in order,
 * including empty ones, and draws fresh noise for every value.  So the number,
 * the order and the spelling of the rows depend only on public things, and
 * with dp_pg.suppress or an owner's min_units on released values.
 *
 * With undeclared keys groups are returned as they are released
 * (unit_cells.c).
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "../../query/domains/dp_domains.h"
#include "../../reader/dp_reader.h"
#include "../exact/dp_exact.h"
#include "dp_aggregates.h"
#include "aggregates_internal.h"

struct dp_cells
{
	DestReceiver receiver;		/* first, so that it can be cast */
	const dp_release_spec *spec;
	int			width;			/* cells per group */
	dp_cell    *cells;			/* spec->groups * width */
	dp_measure_units *units;	/* if spec->many */
	MemoryContext keep;			/* of the cells and their states */
	MemoryContext scratch;		/* reset for every row */
};

/* Add the only row, with the exact numbers of all groups. */
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
			int			column = measure->first_column;
			bool		isnull = slot->tts_isnull[column];
			Datum		value = 0;

			if (!isnull)
				value = dp_aggregates_group_value(measure,
												  slot->tts_values[column],
												  group);
			measure->ops->load(measure, &value, &isnull, cell, cells->keep);
			cell += measure->ncells;
		}
}

/* Add the exact numbers of one group. */
static void
add_group(dp_cells *cells, TupleTableSlot *slot)
{
	const dp_release_spec *spec = cells->spec;
	int64		group = 0;
	dp_cell    *cell;
	int			i;

	if (spec->nkeys > 0 && slot->tts_isnull[0])
		return;					/* in no public group */
	if (spec->nkeys > 0)
		group = DatumGetInt32(slot->tts_values[0]);
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
cells_receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	dp_cells   *cells = (dp_cells *) self;
	MemoryContext old = MemoryContextSwitchTo(cells->scratch);

	slot_getallattrs(slot);
	if (cells->spec->many)
		dp_aggregates_units_add(cells->units, slot);
	else if (cells->spec->states)
		add_states(cells, slot);
	else
		add_group(cells, slot);
	MemoryContextSwitchTo(old);
	MemoryContextReset(cells->scratch);
	return true;
}

/*
 * dp_aggregates_cells_create
 *	  Create it with all groups at zero, in the current context; `helpers`: how
 *	  many threads may choose for units.
 */
dp_cells *
dp_aggregates_cells_create(const dp_release_spec *spec, int helpers)
{
	dp_cells   *cells = palloc0(sizeof(dp_cells));
	int			i;

	cells->receiver = *None_Receiver;
	cells->receiver.receiveSlot = cells_receive_row;
	cells->spec = spec;
	cells->keep = CurrentMemoryContext;
	for (i = 0; i < spec->nmeasures; i++)
		cells->width += spec->measures[i].ncells;
	cells->cells = palloc_extended(sizeof(dp_cell) * spec->held *
								   cells->width,
								   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	if (spec->many)
		cells->units = dp_aggregates_units_make(spec, helpers);
	cells->scratch = AllocSetContextCreate(CurrentMemoryContext,
										   "dp_pg release row",
										   ALLOCSET_SMALL_SIZES);
	return cells;
}

/* dp_aggregates_cells_receiver: the receiver of the inner query's rows. */
DestReceiver *
dp_aggregates_cells_receiver(dp_cells *cells)
{
	return &cells->receiver;
}

/*
 * dp_aggregates_cells_end_part
 *	  The rows received so far are all that their units have.
 */
void
dp_aggregates_cells_end_part(dp_cells *cells)
{
	dp_aggregates_units_end_part(cells->units, cells->cells, cells->width,
								 cells->keep);
}

/* The destination of the answer's rows. */
typedef struct answer
{
	dp_cells   *cells;
	TupleTableSlot *slot;
	dp_reader_sink sink;
	void	   *context;
	int64		cut;			/* up to this count groups are left out */
	const int64 *own_none;		/* and for values */
} answer;

static void
cells_give_row(const answer *to)
{
	TupleTableSlot *slot = to->slot;
	MinimalTuple tuple;

	ExecStoreVirtualTuple(slot);
	tuple = ExecCopySlotMinimalTuple(slot);
	to->sink(to->context, tuple, tuple->t_len);
	ExecClearTuple(slot);
}

/*
 * The largest released count, of the n-th aggregate from 1, that may be noise
 * alone: an empty group exceeds it with probability at most 1/20. -1 for n =
 * 0: no count decides.
 */
static int64
size_of_none(const dp_release_spec *spec, int n)
{
	double		error;

	if (n == 0)
		return -1;
	error = dp_aggregates_noise_error(&spec->measures[n - 1], 0.05);
	error = floor(ldexp(error, -spec->measures[n - 1].bound.fine) + 0.5);
	return error < 1e18 ? (int64) error : INT64CONST(1000000000000000000);
}

/* The largest released count with which a group is left out; -1: none is. */
static int64
largest_left_out(const dp_release_spec *spec)
{
	const dp_block *block = spec->block;

	if (block->size == 0)
		return -1;
	return Max(size_of_none(spec, block->omits_empty ? block->size : 0),
			   spec->least - 1);
}

/* Whether the group is left out, by a released value. */
static bool
is_left_out(const answer *to)
{
	const dp_release_spec *spec = to->cells->spec;

	return to->cut >= 0 &&
		DatumGetInt64(to->slot->tts_values[spec->nkeys + spec->block->size -
										   1]) <= to->cut;
}

/* Set the public keys of a group; released ones follow. */
static void
set_keys(const answer *to, int64 group)
{
	const dp_release_spec *spec = to->cells->spec;
	TupleTableSlot *slot = to->slot;
	int64		rest = group;
	int			i;

	for (i = spec->nkeys - 1; i >= 0; i--)
	{
		int64		size;

		if (dp_aggregates_is_by_threshold(spec, i))
			continue;
		size = dp_domains_size(spec->domains[i]);
		slot->tts_values[i] = dp_domains_domain_value(spec->domains[i],
													  rest % size,
													  &slot->tts_isnull[i]);
		rest /= size;
	}
}

/* Draw noise for the values of a group; their errors follow them. */
static void
cells_set_values(const answer *to, const dp_cell *cell)
{
	const dp_release_spec *spec = to->cells->spec;
	Datum	   *values = to->slot->tts_values + spec->nkeys;
	bool	   *nulls = to->slot->tts_isnull + spec->nkeys;
	int			n = spec->nmeasures;
	bool		errors = to->slot->tts_tupleDescriptor->natts >=
	spec->nkeys + 2 * n;
	double		error;
	int			i;

	for (i = 0; i < n; i++)
	{
		const dp_measure *measure = &spec->measures[i];

		nulls[i] = false;
		error = NAN;
		values[i] = measure->ops->release(measure, cell, &nulls[i], &error);
		cell += measure->ncells;
		if (!errors)
			continue;
		values[n + i] = Float8GetDatum(error);
		nulls[n + i] = isnan(error);
	}
	for (i = 0; i < n; i++)
	{
		int			size = spec->measures[i].value->size;

		/* if its count cannot be told from none */
		if (size > 0 && DatumGetInt64(values[size - 1]) <= to->own_none[i])
			nulls[i] = true;
		if (errors)
			nulls[n + i] |= nulls[i];
	}
}

static void
give_group(const answer *to, int64 group, const dp_cell *cell, bool told)
{
	MemoryContext old = MemoryContextSwitchTo(to->cells->scratch);
	const dp_release_spec *spec = to->cells->spec;

	CHECK_FOR_INTERRUPTS();
	set_keys(to, group);
	if (told)
		dp_aggregates_units_released_keys(to->cells->units,
										  to->slot->tts_values,
										  to->slot->tts_isnull);
	cells_set_values(to, cell);
	if (!is_left_out(to))
		cells_give_row(to);
	else if (spec->nkeys == 0)
	{
		memset(to->slot->tts_isnull, true,
			   to->slot->tts_tupleDescriptor->natts * sizeof(bool));
		cells_give_row(to);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(to->cells->scratch);
}

/* dp_aggregates_released: returns a released group */
static void
give_released(void *context, int64 group)
{
	const answer *to = context;

	give_group(to, group, to->cells->cells, true);
}

/*
 * dp_aggregates_cells_release
 *	  Draw noise and pass the sink one row per public group, in order, each a
 *	  minimal tuple; with undeclared keys, one per released group, in an order
 *	  that reveals nothing.  Groups are left out by a released count if the
 *	  block says so; a release without keys is one row of NULL then.
 */
void
dp_aggregates_cells_release(dp_cells *cells, TupleDesc result,
							dp_reader_sink sink, void *context)
{
	const dp_release_spec *spec = cells->spec;
	answer		to = {cells, MakeSingleTupleTableSlot(result, &TTSOpsVirtual),
	sink, context};
	int64	   *none = palloc(sizeof(int64) * Max(spec->nmeasures, 1));
	int64		group;
	int			i;

	to.cut = largest_left_out(spec);
	for (i = 0; i < spec->nmeasures; i++)
		none[i] = size_of_none(spec, spec->measures[i].value->size);
	to.own_none = none;
	if (spec->undeclared)
		dp_aggregates_units_release(cells->units, cells->cells, cells->width,
									give_released, &to);
	else
	{
		if (spec->many)
			dp_aggregates_units_finish(cells->units, cells->cells,
									   cells->width, cells->keep);
		for (group = 0; group < spec->groups; group++)
			give_group(&to, group, cells->cells + group * cells->width,
					   false);
	}
	ExecDropSingleTupleTableSlot(to.slot);
}
