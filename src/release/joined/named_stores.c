/*
 * named_stores.c
 *	  Rows that the plan of an inner query finds by name, where private rows
 *	  are read: in tuplestores.
 *
 * Public ones arrive in pieces before anything is read (joined_rows.c);
 * parallel workers get a copy of them.  Private ones that are gathered by unit
 * are scanned by plans of their own (inner_plan.c); then the plan of the inner
 * query runs over the rows of some units at a time (units/gather.c), until
 * there are no more.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "access/parallel.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "../../base/dp_base.h"
#include "../../query/domains/dp_domains.h"
#include "../../query/rowsets/dp_rowsets.h"
#include "../../reader/dp_reader.h"
#include "../../measure/units/dp_units.h"
#include "dp_joined.h"
#include "joined_internal.h"

/* ----------------
 *		Public rows in plans whose parallel workers join them with private
 *		ones.
 *
 * PostgreSQL's workers do not see tuplestores.  So if the rows of a name are
 * public, and not too many, the planner gets a path of its own for them,
 * DpShared: the reader scans the tuplestore as usual, and workers get a copy
 * of it in shared memory when they start.  Each process builds the hash table
 * of a join itself, from memory that it has reserved.
 * ----------------
 */

/* In shared memory: minimal tuples, each at an aligned address. */
typedef struct shared_rows
{
	uint64		bytes;
	char		rows[FLEXIBLE_ARRAY_MEMBER];
} shared_rows;

typedef struct shared_state
{
	CustomScanState css;		/* first, so that it can be cast */
	TupleTableSlot *minimal;
	Tuplestorestate *store;		/* NULL in a worker */
	int			pointer;		/* for reading it */
	const shared_rows *shared;	/* NULL except in a worker */
	uint64		at;				/* offset of the next row in `shared` */
} shared_state;

/* ---- planning ---- */

static Plan *stores_plan_path(PlannerInfo *root, RelOptInfo *rel,
							  CustomPath *path,
							  List *targets, List *clauses,
							  List *custom_plans);
static Node *stores_create_state(CustomScan *scan);

static const CustomPathMethods path_methods = {
	.CustomName = "DpShared",
	.PlanCustomPath = stores_plan_path
};

static const CustomScanMethods scan_methods = {
	.CustomName = "DpShared",
	.CreateCustomScanState = stores_create_state
};

/* May workers evaluate conditions and targets? */
static bool
are_safe(PlannerInfo *root, const RelOptInfo *rel)
{
	ListCell   *lc;

	foreach(lc, rel->baserestrictinfo)
		if (!is_parallel_safe(root,
							  (Node *) lfirst_node(RestrictInfo, lc)->clause))
			return false;
	return is_parallel_safe(root, (Node *) rel->reltarget->exprs);
}

/*
 * dp_joined_share_rows
 *	  Let parallel workers see the public rows of a name: called from the
 *	  planner's hook for paths, replaces the path that it made.  Nothing
 *	  changes if workers are not allowed, or may not evaluate the conditions
 *	  and targets.
 */
void
dp_joined_share_rows(PlannerInfo *root, RelOptInfo *rel)
{
	const Path *serial = linitial(rel->pathlist);
	CustomPath *path;

	if (!root->glob->parallelModeOK || !are_safe(root, rel))
		return;
	path = makeNode(CustomPath);
	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	path->path.param_info = serial->param_info;
	path->path.parallel_safe = true;
	path->path.rows = serial->rows;
	path->path.startup_cost = serial->startup_cost;
	path->path.total_cost = serial->total_cost;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->methods = &path_methods;
	rel->consider_parallel = true;
	rel->pathlist = NIL;
	add_path(rel, (Path *) path);
}

/* dp_joined_is_shared_path: was the path made by dp_joined_share_rows? */
bool
dp_joined_is_shared_path(const Path *path)
{
	return IsA(path, CustomPath) &&
		((const CustomPath *) path)->methods == &path_methods;
}

/* dp_joined_is_shared: is it a plan of such a path? */
bool
dp_joined_is_shared(const Plan *plan)
{
	return IsA(plan, CustomScan) &&
		((const CustomScan *) plan)->methods == &scan_methods;
}

/*
 * dp_joined_mark_shared
 *	  Mark such nodes below a Gather in a finished plan (gathered: all of it is
 *	  below one) as "parallel aware", so that they get shared memory.  The
 *	  planner allows no such node elsewhere.  Returns whether there are any, so
 *	  that workers get a copy of rows.
 */
bool
dp_joined_mark_shared(Plan *plan, bool gathered)
{
	bool		told = false;
	ListCell   *lc;

	gathered |= IsA(plan, Gather);
	if (dp_joined_is_shared(plan))
		told = plan->parallel_aware = gathered;
	foreach(lc, dp_base_plans_below(plan))
		told |= dp_joined_mark_shared(lfirst(lc), gathered);
	return told;
}

static Plan *
stores_plan_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
				 List *targets, List *clauses, List *custom_plans)
{
	CustomScan *scan = makeNode(CustomScan);
	RangeTblEntry *entry = root->simple_rte_array[rel->relid];
	ListCell   *type;
	ListCell   *typmod;
	ListCell   *collation;

	scan->scan.plan.targetlist = targets;
	scan->scan.plan.qual = extract_actual_clauses(clauses, false);
	scan->flags = path->flags;
	scan->custom_private = list_make1(makeString(pstrdup(entry->enrname)));
	scan->methods = &scan_methods;
	forthree(type, entry->coltypes, typmod, entry->coltypmods,
			 collation, entry->colcollations)
	{
		int			n = list_length(scan->custom_scan_tlist) + 1;
		Var		   *var = makeVar(rel->relid, n, lfirst_oid(type),
								  lfirst_int(typmod), lfirst_oid(collation),
								  0);

		scan->custom_scan_tlist =
			lappend(scan->custom_scan_tlist,
					makeTargetEntry((Expr *) var, n, NULL, false));
	}
	return (Plan *) scan;
}

/* ---- rows ---- */

static void
begin_shared(CustomScanState *node, EState *estate, int eflags)
{
	shared_state *state = (shared_state *) node;
	const CustomScan *scan = (const CustomScan *) node->ss.ps.plan;
	TupleDesc	desc = node->ss.ss_ScanTupleSlot->tts_tupleDescriptor;
	EphemeralNamedRelation named;

	state->minimal = ExecInitExtraTupleSlot(estate, desc,
											&TTSOpsMinimalTuple);
	if (IsParallelWorker())
		return;
	named = get_ENR(estate->es_queryEnv,
					strVal(linitial(scan->custom_private)));
	if (named == NULL)
		elog(ERROR, "joined rows are not there");
	state->store = (Tuplestorestate *) named->reldata;
	state->pointer = tuplestore_alloc_read_pointer(state->store,
												   EXEC_FLAG_REWIND);
	tuplestore_select_read_pointer(state->store, state->pointer);
	tuplestore_rescan(state->store);
}

/* Fetch the next row into its slot; false if there is none. */
static bool
stores_fetch_row(shared_state *state)
{
	MinimalTuple tuple;

	if (state->store != NULL)
	{
		tuplestore_select_read_pointer(state->store, state->pointer);
		return tuplestore_gettupleslot(state->store, true, false,
									   state->minimal);
	}
	if (state->shared == NULL)
		elog(ERROR, "a worker was given no shared rows");
	if (state->at >= state->shared->bytes)
		return false;
	tuple = (MinimalTuple) (state->shared->rows + state->at);
	ExecStoreMinimalTuple(tuple, state->minimal, false);
	state->at += MAXALIGN(tuple->t_len);
	return true;
}

static TupleTableSlot *
stores_next_row(ScanState *node)
{
	shared_state *state = (shared_state *) node;
	TupleTableSlot *slot = node->ss_ScanTupleSlot;

	ExecClearTuple(slot);
	return stores_fetch_row(state) ? dp_joined_show_stored(slot,
													   state->minimal) : slot;
}

static bool
stores_recheck_row(ScanState *node, TupleTableSlot *slot)
{
	return true;
}

static TupleTableSlot *
exec_shared(CustomScanState *node)
{
	return ExecScan(&node->ss, stores_next_row, stores_recheck_row);
}

static void
rescan_shared(CustomScanState *node)
{
	shared_state *state = (shared_state *) node;

	ExecScanReScan(&node->ss);
	state->at = 0;
	if (state->store == NULL)
		return;
	tuplestore_select_read_pointer(state->store, state->pointer);
	tuplestore_rescan(state->store);
}

static void
end_shared(CustomScanState *node)
{
}

/* ---- shared memory ---- */

/* Copy all rows of the store one after another to `to`, unless it is NULL. */
static uint64
copy_rows(shared_state *state, char *to)
{
	uint64		bytes = 0;

	rescan_shared(&state->css);
	while (stores_fetch_row(state))
	{
		bool		ours;
		MinimalTuple tuple = ExecFetchSlotMinimalTuple(state->minimal, &ours);

		if (to != NULL)
			memcpy(to + bytes, tuple, tuple->t_len);
		bytes += MAXALIGN(tuple->t_len);
		if (ours)
			pfree(tuple);
	}
	rescan_shared(&state->css);
	return bytes;
}

static Size
estimate_shared(CustomScanState *node, ParallelContext *context)
{
	return offsetof(shared_rows, rows) +
		copy_rows((shared_state *) node, NULL);
}

static void
give_shared(CustomScanState *node, ParallelContext *context, void *memory)
{
	shared_rows *shared = memory;

	shared->bytes = copy_rows((shared_state *) node, shared->rows);
}

static void
take_shared(CustomScanState *node, shm_toc *toc, void *memory)
{
	((shared_state *) node)->shared = memory;
}

static const CustomExecMethods exec_methods = {
	.CustomName = "DpShared",
	.BeginCustomScan = begin_shared,
	.ExecCustomScan = exec_shared,
	.EndCustomScan = end_shared,
	.ReScanCustomScan = rescan_shared,
	.EstimateDSMCustomScan = estimate_shared,
	.InitializeDSMCustomScan = give_shared,
	.InitializeWorkerCustomScan = take_shared
};

static Node *
stores_create_state(CustomScan *scan)
{
	shared_state *state = (shared_state *) newNode(sizeof(shared_state),
												   T_CustomScanState);

	state->css.methods = &exec_methods;
	return (Node *) state;
}

/* dp_joined_shared_rows_init: once, while preloading. */
void
dp_joined_shared_rows_init(void)
{
	RegisterCustomScanMethods(&scan_methods);
}

/*
 * Groups keep no longer text, and no numeric is longer
 * (expressions_internal.h).
 */
#define LONGEST_KEPT ((Size) 80 * 1024)

/*
 * The longest row of a page, with values it does not store, its unit, its
 * header and alignment.
 */
StaticAssertDecl(MaxHeapTupleSize + DP_ROW_DEFAULTS + DP_UNITS_UNIT_BYTES +
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
stores_receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	named_store *store = (named_store *) self;
	MinimalTuple tuple;
	bool		ours;
	bool		isnull;
	Datum		unit = slot_getattr(slot, store->unit, &isnull);

	if (isnull)
		return true;
	tuple = ExecFetchSlotMinimalTuple(slot, &ours);
	dp_units_gather_add(store->all->gather, store->number, &store->how, unit,
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
	dp_units_gather_add(store->all->gather, store->number, &store->how, unit,
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
	store->how.way = dp_domains_read_way(type);
	store->how.varlena = get_typlen(type) == -1;
	store->receiver = *None_Receiver;
	store->receiver.receiveSlot = stores_receive_row;
	store->scans = 1 + list_length(source->steps);
	if (source->follow != NIL)
		store->followed = dp_joined_follow_create(source, receive_followed,
												  store);
}

/* dp_joined_named_scan: the receiver of the n-th scan's rows. */
DestReceiver *
dp_joined_named_scan(dp_named_stores *all, int n)
{
	int			number;

	for (number = 1; number <= all->n; number++)
	{
		named_store *store = &all->stores[number];

		if (!store->private)
			continue;
		if (n < store->scans)
			return store->followed == NULL ? &store->receiver :
				dp_joined_follow_scan(store->followed, n);
		n -= store->scans;
	}
	elog(ERROR, "scan of private rows has no name");
}

/* dp_gather_sink */
static void
stores_put_row(void *context, int number, MinimalTuple tuple)
{
	dp_named_stores *all = context;
	named_store *store = &all->stores[number];

	ExecStoreMinimalTuple(tuple, store->slot, false);
	tuplestore_puttupleslot(store->named->reldata, store->slot);
	ExecClearTuple(store->slot);
}

/*
 * dp_joined_named_next
 *	  Fill the stores with the rows of the next units; false if there are none.
 *	  No plan that reads them may be open.
 */
bool
dp_joined_named_next(dp_named_stores *all)
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
			dp_joined_follow(store->followed);
		store->followed = NULL;
		store->named->reldata = new_store(all->part);
	}
	more = dp_units_gather_next(all->gather, stores_put_row, all);
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
		stores_put_row(all, head.number, (MinimalTuple) (piece + at));
		at += MAXALIGN(head.size);
	}
}

/* ---- all of them ---- */

/*
 * dp_joined_named_create
 *	  Create the stores of all that a block joins, in the current context, with
 *	  all pieces of the source and no private rows yet; NULL if the block joins
 *	  nothing.  Adds the number of private sources and the size of the pieces
 *	  to the limits.  Private sources have the first numbers.
 */
dp_named_stores *
dp_joined_named_create(const dp_block *block, dp_gather_limits *limits,
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
		all->gather = dp_units_gather_create(limits);
	return all;
}

/*
 * dp_joined_environment: the environment in which a plan finds the names.
 */
QueryEnvironment *
dp_joined_environment(const dp_named_stores *all)
{
	return all->environment;
}
