/*
 * named_stores.c
 *	  Rows that the plan of an inner query finds by name, where private rows
 *	  are read: in tuplestores.
 *
 * Public ones arrive in pieces before anything is read (joined_rows.c);
 * parallel workers get a copy of them (shared_rows.c).  Private ones that are
 * gathered by unit are scanned by plans of their own (plan_scans.c); then the
 * plan of the inner query runs over the rows of some units at a time
 * (bound/gather.c), until there are no more.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "run.h"

/* Groups keep no longer text, and no numeric is longer (allow_list.h). */
#define LONGEST_KEPT ((Size) 80 * 1024)

/*
 * The longest row of a page, with values it does not store, its unit, its
 * header and alignment.
 */
StaticAssertDecl(MaxHeapTupleSize + DP_ROW_DEFAULTS + DP_BOUND_UNIT_BYTES +
				 1024 <= DP_GATHER_ROW, "rows could be left out");

/* The rows of one name. */
typedef struct named_store
{
	DestReceiver receiver;		/* first; for rows of a scan */
	dp_named_stores *all;
	int			number;			/* 0: unused */
	bool		private;
	bool		long_values;	/* some columns may have packed ones */
	AttrNumber	unit;
	dp_gather_unit how;
	dp_followed *followed;		/* until its rows have their units; or NULL */
	int			scans;			/* number of scans that give its rows and
								 * keys */
	EphemeralNamedRelation named;
	TupleTableSlot *slot;
} named_store;

struct dp_named_stores
{
	QueryEnvironment *environment;
	int			n;
	named_store *stores;		/* by number */
	dp_gather  *gather;			/* NULL without private stores */
	MemoryContext context;
	MemoryContext part;			/* private rows of the current units */
};

/* A tuplestore that never spills: its memory is not limited. */
static Tuplestorestate *
new_store(MemoryContext context)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	Tuplestorestate *store = tuplestore_begin_heap(false, false,
												   MAX_KILOBYTES);

	MemoryContextSwitchTo(old);
	return store;
}

static void
name_rows(dp_named_stores *all, named_store *store, const dp_joined *source)
{
	EphemeralNamedRelation named = palloc0(sizeof(EphemeralNamedRelationData));

	named->md.name = psprintf("%d", source->number);
	named->md.reliddesc = InvalidOid;
	named->md.tupdesc = ExecTypeFromTL(source->query->targetList);
	named->md.enrtype = ENR_NAMED_TUPLESTORE;
	named->reldata = new_store(OidIsValid(source->relid) ? all->part :
							   all->context);
	register_ENR(all->environment, named);
	store->all = all;
	store->number = source->number;
	store->named = named;
	store->slot = MakeSingleTupleTableSlot(named->md.tupdesc,
										   &TTSOpsMinimalTuple);
}

/* ---- rows of scans ---- */

static bool
has_long_values(TupleDesc desc)
{
	int			i;

	for (i = 0; i < desc->natts; i++)
		if (TupleDescAttr(desc, i)->attlen == -1)
			return true;
	return false;
}

/* By how much values grow when they are expanded, up to the limit. */
static Size
packed_bytes(const named_store *store, TupleTableSlot *slot)
{
	Size		sum = 0;
	int			i;

	if (!store->long_values)
		return 0;
	slot_getallattrs(slot);
	for (i = 0; i < slot->tts_tupleDescriptor->natts; i++)
	{
		struct varlena *value =
		(struct varlena *) DatumGetPointer(slot->tts_values[i]);

		if (slot->tts_isnull[i] ||
			TupleDescAttr(slot->tts_tupleDescriptor, i)->attlen != -1 ||
			!(VARATT_IS_EXTERNAL(value) || VARATT_IS_COMPRESSED(value)))
			continue;
		sum += Min(toast_raw_datum_size(slot->tts_values[i]), LONGEST_KEPT);
	}
	return sum;
}

/* Take a row of a scan; one without a unit is dropped. */
static bool
receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	named_store *store = (named_store *) self;
	MinimalTuple tuple;
	bool		ours;
	bool		isnull;
	Datum		unit = slot_getattr(slot, store->unit, &isnull);

	if (isnull)
		return true;
	tuple = ExecFetchSlotMinimalTuple(slot, &ours);
	dp_bound_gather_add(store->all->gather, store->number, &store->how, unit,
						tuple, packed_bytes(store, slot));
	if (ours)
		pfree(tuple);
	return true;
}

/* dp_follow_sink */
static void
receive_followed(void *context, Datum unit, MinimalTuple tuple)
{
	named_store *store = context;

	ExecStoreMinimalTuple(tuple, store->slot, false);
	dp_bound_gather_add(store->all->gather, store->number, &store->how, unit,
						tuple, packed_bytes(store, store->slot));
	ExecClearTuple(store->slot);
}

static void
scan_rows(named_store *store, const dp_joined *source)
{
	TupleDesc	desc = store->named->md.tupdesc;
	Oid			type =
	getBaseType(TupleDescAttr(desc, source->unit - 1)->atttypid);

	store->private = true;
	store->long_values = has_long_values(desc);
	store->unit = source->unit;
	store->how.way = dp_places_read_way(type);
	store->how.varlena = get_typlen(type) == -1;
	store->receiver = *None_Receiver;
	store->receiver.receiveSlot = receive_row;
	store->scans = 1 + list_length(source->steps);
	if (source->follow != NIL)
		store->followed = dp_run_follow_create(source, receive_followed,
											   store);
}

/* dp_run_named_scan: the receiver of the n-th scan's rows. */
DestReceiver *
dp_run_named_scan(dp_named_stores *all, int n)
{
	int			number;

	for (number = 1; number <= all->n; number++)
	{
		named_store *store = &all->stores[number];

		if (!store->private)
			continue;
		if (n < store->scans)
			return store->followed == NULL ? &store->receiver :
				dp_run_follow_scan(store->followed, n);
		n -= store->scans;
	}
	elog(ERROR, "scan of private rows has no name");
}

/* dp_gather_sink */
static void
put_row(void *context, int number, MinimalTuple tuple)
{
	dp_named_stores *all = context;
	named_store *store = &all->stores[number];

	ExecStoreMinimalTuple(tuple, store->slot, false);
	tuplestore_puttupleslot(store->named->reldata, store->slot);
	ExecClearTuple(store->slot);
}

/*
 * dp_run_named_next
 *	  Fill the stores with the rows of the next units; false if there are none.
 *	  No plan that reads them may be open.
 */
bool
dp_run_named_next(dp_named_stores *all)
{
	MemoryContext old = MemoryContextSwitchTo(all->context);
	bool		more;
	int			i;

	MemoryContextReset(all->part);
	for (i = 1; i <= all->n; i++)
	{
		named_store *store = &all->stores[i];

		if (!store->private)
			continue;
		if (store->followed != NULL)
			dp_run_follow(store->followed);
		store->followed = NULL;
		store->named->reldata = new_store(all->part);
	}
	more = dp_bound_gather_next(all->gather, put_row, all);
	MemoryContextSwitchTo(old);
	return more;
}

/* ---- public rows ---- */

static void
store_piece(dp_named_stores *all, const char *piece, Size size)
{
	Size		at = 0;

	while (at < size)
	{
		dp_piece_row head;

		memcpy(&head, piece + at, sizeof(head));
		at += MAXALIGN(sizeof(head));
		if (head.number < 1 || head.number > all->n ||
			all->stores[head.number].number == 0 ||
			all->stores[head.number].private || head.size > size - at ||
			HeapTupleHeaderGetNatts((MinimalTuple) (piece + at)) !=
			all->stores[head.number].named->md.tupdesc->natts)
			elog(ERROR, "joined row is not of a source");
		put_row(all, head.number, (MinimalTuple) (piece + at));
		at += MAXALIGN(head.size);
	}
}

/* ---- all of them ---- */

/*
 * dp_run_named_create
 *	  Create the stores of all that a block joins, in the current context, with
 *	  all pieces of the source and no private rows yet; NULL if the block joins
 *	  nothing.  Adds the number of private sources and the size of the pieces
 *	  to the limits.  Private sources have the first numbers.
 */
dp_named_stores *
dp_run_named_create(const dp_block *block, dp_gather_limits *limits,
					dp_reader_source source, void *context)
{
	dp_named_stores *all;
	const char *piece;
	Size		size;
	ListCell   *lc;

	limits->sources = 0;
	if (block->sources == NIL)
		return NULL;
	all = palloc0(sizeof(dp_named_stores));
	all->context = CurrentMemoryContext;
	all->part = AllocSetContextCreate(all->context, "dp_pg rows of a part",
									  ALLOCSET_DEFAULT_SIZES);
	all->environment = create_queryEnv();
	all->n = list_length(block->relids);
	all->stores = palloc0(sizeof(named_store) * (all->n + 1));
	foreach(lc, block->sources)
	{
		const dp_joined *joined = lfirst(lc);
		named_store *store = &all->stores[joined->number];

		name_rows(all, store, joined);
		if (!OidIsValid(joined->relid))
			continue;
		scan_rows(store, joined);
		limits->sources++;
	}
	limits->public = 0;
	while (source != NULL && (piece = source(context, &size)) != NULL)
	{
		store_piece(all, piece, size);
		limits->public += size;
	}
	if (limits->sources > 0)
		all->gather = dp_bound_gather_create(limits);
	return all;
}

/*
 * dp_run_named_environment: the environment in which a plan finds the names.
 */
QueryEnvironment *
dp_run_named_environment(const dp_named_stores *all)
{
	return all->environment;
}
