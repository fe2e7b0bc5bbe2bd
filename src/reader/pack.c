/*
 * pack.c
 *	  Rows that parallel workers hand over, many at a time.
 *
 * Where rows are not grouped before they leave a worker, handing each of them
 * over would take longer than reading it.  So below the plan's Gather stands a
 * node of its own, DpPack, that gives packs of rows, each a bytea; a receiver
 * takes them apart again.  In a pack every row of fixed width is a bitmap of
 * NULLs and as many words; other rows are minimal tuples.
 *
 * A worker keeps no more than a pack, and the process that collects them one
 * of each worker, whatever the rows.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"

#include "reader.h"

/* A varlena of type bytea; its length may be more than its rows take. */
typedef struct row_pack
{
	int32		vl_len;			/* see SET_VARSIZE */
	uint32		words;			/* that its rows take */
	uint64		rows[FLEXIBLE_ARRAY_MEMBER];
} row_pack;

#define PACK_WORDS \
	((DP_READER_PACK - offsetof(row_pack, rows)) / sizeof(uint64))
/* A shorter value would get a header of one byte, and rows no alignment. */
#define LEAST_WORDS 32

typedef struct pack_state
{
	CustomScanState css;		/* first, so that it can be cast */
	bool		fixed;			/* rows are of fixed width */
	row_pack   *pack;
	uint32		room;			/* words */
	TupleTableSlot *waiting;	/* a row that did not fit, or NULL */
	bool		ended;
} pack_state;

/* ---- rows of fixed width ---- */

static bool
is_fixed(TupleDesc desc)
{
	int			i;

	for (i = 0; i < desc->natts; i++)
		if (!TupleDescAttr(desc, i)->attbyval)
			return false;
	return true;
}

static int
null_words(TupleDesc desc)
{
	return (desc->natts + 63) / 64;
}

static void
write_row(const TupleTableSlot *slot, uint64 *to)
{
	int			n = slot->tts_tupleDescriptor->natts;
	int			nulls = null_words(slot->tts_tupleDescriptor);
	int			i;

	memset(to, 0, sizeof(uint64) * nulls);
	for (i = 0; i < n; i++)
	{
		to[i / 64] |= (uint64) slot->tts_isnull[i] << (i % 64);
		to[nulls + i] = slot->tts_isnull[i] ? 0 : slot->tts_values[i];
	}
}

static const uint64 *
read_row(const uint64 *from, TupleTableSlot *slot)
{
	int			n = slot->tts_tupleDescriptor->natts;
	int			nulls = null_words(slot->tts_tupleDescriptor);
	int			i;

	for (i = 0; i < n; i++)
	{
		slot->tts_isnull[i] = from[i / 64] >> (i % 64) & 1;
		slot->tts_values[i] = (Datum) from[nulls + i];
	}
	return from + nulls + n;
}

/* ---- the node ---- */

static void
make_room(pack_state *state, uint32 words)
{
	Size		bytes = offsetof(row_pack, rows) +
	sizeof(uint64) * Max(words, PACK_WORDS);

	if (state->pack != NULL)
		pfree(state->pack);
	state->pack = MemoryContextAllocZero(state->css.ss.ps.state->es_query_cxt,
										 bytes);
	state->room = Max(words, PACK_WORDS);
}

/* Where a row of so many words goes; NULL: into the next pack. */
static uint64 *
find_place(pack_state *state, Size words)
{
	row_pack   *pack = state->pack;
	uint64	   *place;

	if (words > state->room - pack->words)
	{
		if (pack->words > 0)
			return NULL;
		make_room(state, words);
		pack = state->pack;
	}
	place = pack->rows + pack->words;
	pack->words += words;
	return place;
}

/* False: the row does not fit any more. */
static bool
put_row(pack_state *state, TupleTableSlot *slot)
{
	TupleDesc	desc = slot->tts_tupleDescriptor;
	uint64	   *place;
	MinimalTuple tuple;
	bool		ours;

	slot_getallattrs(slot);
	if (state->fixed)
	{
		place = find_place(state, null_words(desc) + desc->natts);
		if (place != NULL)
			write_row(slot, place);
		return place != NULL;
	}
	tuple = ExecFetchSlotMinimalTuple(slot, &ours);
	place = find_place(state, MAXALIGN(tuple->t_len) / sizeof(uint64));
	if (place != NULL)
		memcpy(place, tuple, tuple->t_len);
	if (ours)
		pfree(tuple);
	return place != NULL;
}

static void
begin_pack(CustomScanState *node, EState *estate, int eflags)
{
	pack_state *state = (pack_state *) node;
	CustomScan *scan = (CustomScan *) node->ss.ps.plan;
	PlanState  *rows = ExecInitNode(linitial(scan->custom_plans), estate,
									eflags);

	node->custom_ps = list_make1(rows);
	state->fixed = is_fixed(ExecGetResultType(rows));
	make_room(state, 0);
}

/* CustomExecMethods: the next pack */
static TupleTableSlot *
exec_pack(CustomScanState *node)
{
	pack_state *state = (pack_state *) node;
	TupleTableSlot *to = node->ss.ss_ScanTupleSlot;
	TupleTableSlot *slot = state->waiting;

	ExecClearTuple(to);
	state->pack->words = 0;
	while (!state->ended)
	{
		if (slot == NULL)
			slot = ExecProcNode(linitial(node->custom_ps));
		if (TupIsNull(slot))
		{
			state->ended = true;
			slot = NULL;
		}
		else if (!put_row(state, slot))
			break;
		else
			slot = NULL;
	}
	state->waiting = slot;
	if (state->pack->words == 0)
		return to;
	SET_VARSIZE(state->pack, offsetof(row_pack, rows) + sizeof(uint64) *
				Max(state->pack->words, LEAST_WORDS));
	to->tts_values[0] = PointerGetDatum(state->pack);
	to->tts_isnull[0] = false;
	return ExecStoreVirtualTuple(to);
}

static void
end_pack(CustomScanState *node)
{
	ExecEndNode(linitial(node->custom_ps));
}

static void
rescan_pack(CustomScanState *node)
{
	elog(ERROR, "rows are packed once");
}

static const CustomExecMethods exec_methods = {
	.CustomName = "DpPack",
	.BeginCustomScan = begin_pack,
	.ExecCustomScan = exec_pack,
	.EndCustomScan = end_pack,
	.ReScanCustomScan = rescan_pack
};

static Node *
create_state(CustomScan *scan)
{
	pack_state *state = palloc0(sizeof(pack_state));

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &exec_methods;
	return (Node *) state;
}

static const CustomScanMethods scan_methods = {
	.CustomName = "DpPack",
	.CreateCustomScanState = create_state
};

/* ---- plans ---- */

/* The one column of a node that gives packs, as one above it sees it. */
static List *
pack_target(int varno)
{
	Var		   *var = makeVar(varno, 1, BYTEAOID, -1, InvalidOid, 0);

	return list_make1(makeTargetEntry((Expr *) var, 1, pstrdup("pack"),
									  false));
}

/*
 * dp_reader_pack_rows
 *	  Have the parallel workers of a plan hand rows over in packs.  False: its
 *	  workers are elsewhere than right below its top, and it is as it was.
 */
bool
dp_reader_pack_rows(PlannedStmt *plan)
{
	Plan	   *gather = plan->planTree;
	CustomScan *scan;

	if (!plan->parallelModeNeeded)
		return true;
	if (!IsA(gather, Gather) || gather->qual != NIL)
		return false;
	scan = makeNode(CustomScan);
	scan->scan.plan = *gather->lefttree;
	NodeSetTag(scan, T_CustomScan);
	scan->scan.plan.qual = NIL;
	scan->scan.plan.lefttree = NULL;
	scan->scan.plan.righttree = NULL;
	scan->scan.plan.initPlan = NIL;
	scan->scan.plan.plan_node_id = -1;
	scan->scan.plan.parallel_aware = false;
	scan->scan.plan.targetlist = pack_target(INDEX_VAR);
	scan->custom_scan_tlist =
		list_make1(makeTargetEntry((Expr *) makeNullConst(BYTEAOID, -1,
														  InvalidOid), 1,
								   pstrdup("pack"), false));
	scan->custom_plans = list_make1(gather->lefttree);
	scan->methods = &scan_methods;
	gather->lefttree = (Plan *) scan;
	gather->targetlist = pack_target(OUTER_VAR);
	return true;
}

/*
 * dp_reader_expect_packs
 *	  Parallel workers of a job may send packs of rows of at most so many
 *	  bytes, and their expressions take `memory`.  A worker has the row as a
 *	  tuple, its pack and what it sends.
 */
void
dp_reader_expect_packs(dp_reader_job *job, Size memory, Size row)
{
	Size		pack = DP_READER_PACK + row;

	job->row = Max(job->row, pack);
	job->worker = Max(job->worker, memory + 3 * pack);
}

/* The plan whose rows come in packs, or NULL. */
static const Plan *
packed_plan(const PlannedStmt *plan)
{
	const Plan *below = plan->planTree->lefttree;

	if (!IsA(plan->planTree, Gather) || !IsA(below, CustomScan) ||
		((const CustomScan *) below)->methods != &scan_methods)
		return NULL;
	return linitial(((const CustomScan *) below)->custom_plans);
}

/*
 * dp_reader_pack_workers
 *	  How many parallel workers hand rows of a plan over in packs.
 */
int
dp_reader_pack_workers(const PlannedStmt *plan)
{
	return packed_plan(plan) == NULL ? 0 :
		((const Gather *) plan->planTree)->num_workers;
}

/* ---- the other side ---- */

typedef struct unpacker
{
	DestReceiver receiver;		/* first, so that it can be cast */
	DestReceiver *to;
	bool		fixed;
	TupleTableSlot *slot;
} unpacker;

static bool
receive_pack(TupleTableSlot *slot, DestReceiver *self)
{
	unpacker   *packs = (unpacker *) self;
	bool		isnull;
	const row_pack *pack = (const row_pack *)
	DatumGetPointer(slot_getattr(slot, 1, &isnull));
	const uint64 *at = pack->rows;

	while (at < pack->rows + pack->words)
	{
		ExecClearTuple(packs->slot);
		if (packs->fixed)
		{
			at = read_row(at, packs->slot);
			ExecStoreVirtualTuple(packs->slot);
		}
		else
		{
			MinimalTuple tuple = (MinimalTuple) at;

			ExecStoreMinimalTuple(tuple, packs->slot, false);
			at += MAXALIGN(tuple->t_len) / sizeof(uint64);
		}
		if (!packs->to->receiveSlot(packs->slot, packs->to))
			return false;
	}
	return true;
}

static void
start_packs(DestReceiver *self, int operation, TupleDesc typeinfo)
{
	unpacker   *packs = (unpacker *) self;

	packs->to->rStartup(packs->to, operation,
						packs->slot->tts_tupleDescriptor);
}

static void
end_packs(DestReceiver *self)
{
	unpacker   *packs = (unpacker *) self;

	ExecClearTuple(packs->slot);
	packs->to->rShutdown(packs->to);
}

static void
destroy_packs(DestReceiver *self)
{
}

/*
 * dp_reader_unpack
 *	  Where the rows of a plan are to be put, so that `to` gets each of them:
 *	  `to` itself, or what takes packs apart, in the current context.
 */
DestReceiver *
dp_reader_unpack(const PlannedStmt *plan, DestReceiver *to)
{
	const Plan *rows = packed_plan(plan);
	unpacker   *packs;
	TupleDesc	desc;

	if (rows == NULL)
		return to;
	packs = palloc0(sizeof(unpacker));
	desc = ExecTypeFromTL(rows->targetlist);
	packs->receiver.receiveSlot = receive_pack;
	packs->receiver.rStartup = start_packs;
	packs->receiver.rShutdown = end_packs;
	packs->receiver.rDestroy = destroy_packs;
	packs->receiver.mydest = DestNone;
	packs->to = to;
	packs->fixed = is_fixed(desc);
	packs->slot = MakeSingleTupleTableSlot(desc, packs->fixed ?
										   &TTSOpsVirtual :
										   &TTSOpsMinimalTuple);
	return &packs->receiver;
}

/* dp_reader_pack_init: once, while preloading. */
void
dp_reader_pack_init(void)
{
	RegisterCustomScanMethods(&scan_methods);
}
