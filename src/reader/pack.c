/*
 * pack.c
 *	  Packs the rows that parallel workers hand over.
 *
 * If rows are not grouped in a worker, handing over each of them would take
 * longer than reading it.  So a node below the plan's Gather, DpPack, returns
 * packs of rows, each a bytea; a receiver takes them apart.  In a pack a row
 * of fixed width is one word for each column that is not constant, preceded by
 * a bitmap of NULLs if the pack may have any; other rows are minimal tuples.
 *
 * A worker keeps one pack, and the process that collects them one of each
 * worker, whatever the rows: their memory reveals nothing.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "dp_reader.h"
#include "reader_internal.h"

/* A varlena of type bytea with at least LEAST_WORDS words. */
typedef struct row_pack
{
	int32		vl_len;			/* see SET_VARSIZE */
	uint32		words;			/* used by rows */
	uint64		nulls;			/* rows of fixed width: whether they have
								 * bitmaps of NULLs */
	uint64		rows[FLEXIBLE_ARRAY_MEMBER];
} row_pack;

#define PACK_WORDS \
	((DP_READER_PACK - offsetof(row_pack, rows)) / sizeof(uint64))
/* A shorter one might get a one-byte header, which would misalign rows. */
#define LEAST_WORDS 32

/* The form of rows in packs. */
typedef struct row_form
{
	bool		fixed;			/* of fixed width */
	int			ncolumns;		/* if fixed: columns that are not constants */
	int		   *columns;		/* their attribute numbers, from 0 */
	int			nulls;			/* words of a bitmap of NULLs */
} row_form;

typedef struct pack_state
{
	CustomScanState css;		/* first, so that it can be cast */
	row_form	form;
	row_pack   *pack;
	uint32		room;			/* words for rows */
	TupleTableSlot *waiting;	/* a row that did not fit, or NULL */
	bool		ended;			/* there are no more rows */
} pack_state;

/* ---- rows of fixed width ---- */

/* The form in which rows of a plan with these targets are packed. */
static row_form
make_form(List *targets)
{
	row_form	form = {true};
	ListCell   *lc;

	form.columns = palloc(sizeof(int) * list_length(targets));
	foreach(lc, targets)
	{
		Node	   *target = (Node *) lfirst_node(TargetEntry, lc)->expr;

		if (!get_typbyval(exprType(target)))
			form.fixed = false;
		if (!IsA(target, Const))
			form.columns[form.ncolumns++] = foreach_current_index(lc);
	}
	form.nulls = Max((form.ncolumns + 63) / 64, 1);
	return form;
}

/* Constants are not in packs: put them into the slot once. */
static void
set_constants(List *targets, TupleTableSlot *slot)
{
	ListCell   *lc;

	foreach(lc, targets)
	{
		int			i = foreach_current_index(lc);
		Node	   *target = (Node *) lfirst_node(TargetEntry, lc)->expr;

		if (!IsA(target, Const))
			continue;
		slot->tts_values[i] = ((Const *) target)->constvalue;
		slot->tts_isnull[i] = ((Const *) target)->constisnull;
	}
}

static bool
has_nulls(const row_form *form, const TupleTableSlot *slot)
{
	int			i;

	for (i = 0; i < form->ncolumns; i++)
		if (slot->tts_isnull[form->columns[i]])
			return true;
	return form->ncolumns == 0; /* a row has at least one word */
}

static int
row_words(const row_form *form, bool nulls)
{
	return form->ncolumns + (nulls ? form->nulls : 0);
}

static void
pack_write_row(const row_form *form, const TupleTableSlot *slot, bool nulls,
			   uint64 *to)
{
	uint64	   *values = to + (nulls ? form->nulls : 0);
	int			i;

	if (nulls)
		memset(to, 0, sizeof(uint64) * form->nulls);
	for (i = 0; i < form->ncolumns; i++)
	{
		int			column = form->columns[i];
		bool		isnull = slot->tts_isnull[column];

		if (isnull)
			to[i / 64] |= UINT64CONST(1) << (i % 64);
		values[i] = isnull ? 0 : slot->tts_values[column];
	}
}

static void
read_row(const row_form *form, const uint64 *from, bool nulls,
		 TupleTableSlot *slot)
{
	const uint64 *values = from + (nulls ? form->nulls : 0);
	int			i;

	for (i = 0; i < form->ncolumns; i++)
	{
		int			column = form->columns[i];

		slot->tts_isnull[column] = nulls && (from[i / 64] >> (i % 64) & 1);
		slot->tts_values[column] = (Datum) values[i];
	}
}

/* ---- the node ---- */

/* Make an empty pack, large enough also for a row longer than packs are. */
static void
pack_make_room(pack_state *state, uint32 words)
{
	Size		bytes = offsetof(row_pack, rows) +
	sizeof(uint64) * Max(words, PACK_WORDS);

	if (state->pack != NULL)
		pfree(state->pack);
	state->pack = MemoryContextAllocZero(state->css.ss.ps.state->es_query_cxt,
										 bytes);
	state->room = Max(words, PACK_WORDS);
}

/* Where to put a row of `words` words; NULL if it belongs in the next pack. */
static uint64 *
pack_find_place(pack_state *state, Size words)
{
	row_pack   *pack = state->pack;
	uint64	   *place;

	if (words > state->room - pack->words)
	{
		if (pack->words > 0)
			return NULL;
		pack_make_room(state, words);
		pack = state->pack;
	}
	place = pack->rows + pack->words;
	pack->words += words;
	return place;
}

/* The first row of a pack decides whether rows have bitmaps of NULLs. */
static bool
put_fixed(pack_state *state, const TupleTableSlot *slot)
{
	bool		empty = state->pack->words == 0;
	bool		nulls = has_nulls(&state->form, slot);
	uint64	   *place;

	if (!empty && nulls && !state->pack->nulls)
		return false;
	nulls |= !empty && state->pack->nulls;
	place = pack_find_place(state, row_words(&state->form, nulls));
	if (place == NULL)
		return false;
	state->pack->nulls = nulls;
	pack_write_row(&state->form, slot, nulls, place);
	return true;
}

/* Put a row into the pack; false if it does not fit. */
static bool
pack_put_row(pack_state *state, TupleTableSlot *slot)
{
	uint64	   *place;
	MinimalTuple tuple;
	bool		ours;

	slot_getallattrs(slot);
	if (state->form.fixed)
		return put_fixed(state, slot);
	tuple = ExecFetchSlotMinimalTuple(slot, &ours);
	place = pack_find_place(state, MAXALIGN(tuple->t_len) / sizeof(uint64));
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
	state->form = make_form(rows->plan->targetlist);
	pack_make_room(state, 0);
}

/* Add rows while they fit; one that does not waits for the next pack. */
static void
fill_pack(pack_state *state)
{
	PlanState  *rows = linitial(state->css.custom_ps);
	TupleTableSlot *slot = state->waiting;

	state->pack->words = 0;
	if (slot == NULL && !state->ended)
		slot = ExecProcNode(rows);
	while (!TupIsNull(slot) && pack_put_row(state, slot))
		slot = ExecProcNode(rows);
	state->ended = TupIsNull(slot);
	state->waiting = state->ended ? NULL : slot;
}

/* CustomExecMethods: return the next pack */
static TupleTableSlot *
exec_pack(CustomScanState *node)
{
	pack_state *state = (pack_state *) node;
	TupleTableSlot *to = node->ss.ss_ScanTupleSlot;

	ExecClearTuple(to);
	fill_pack(state);
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
	elog(ERROR, "packed rows cannot be rescanned");
}

static const CustomExecMethods exec_methods = {
	.CustomName = "DpPack",
	.BeginCustomScan = begin_pack,
	.ExecCustomScan = exec_pack,
	.EndCustomScan = end_pack,
	.ReScanCustomScan = rescan_pack
};

static Node *
pack_create_state(CustomScan *scan)
{
	pack_state *state = (pack_state *) newNode(sizeof(pack_state),
											   T_CustomScanState);

	state->css.methods = &exec_methods;
	return (Node *) state;
}

static const CustomScanMethods scan_methods = {
	.CustomName = "DpPack",
	.CreateCustomScanState = pack_create_state
};

/* ---- plans ---- */

/* The one column of a node that returns packs. */
static List *
pack_target(Expr *expression)
{
	return list_make1(makeTargetEntry(expression, 1, pstrdup("pack"), false));
}

/* A reference to the pack of a node below, or of the node itself. */
static Expr *
pack_var(int varno)
{
	return (Expr *) makeVar(varno, 1, BYTEAOID, -1, InvalidOid, 0);
}

/* Make a node that packs the rows of another, with its costs and flags. */
static CustomScan *
make_pack(Plan *rows)
{
	CustomScan *scan = makeNode(CustomScan);

	scan->scan.plan = *rows;
	NodeSetTag(scan, T_CustomScan);
	scan->scan.plan.qual = NIL;
	scan->scan.plan.lefttree = NULL;
	scan->scan.plan.righttree = NULL;
	scan->scan.plan.initPlan = NIL;
	scan->scan.plan.plan_node_id = -1;	/* not used by any other node */
	scan->scan.plan.parallel_aware = false;
	scan->scan.plan.targetlist = pack_target(pack_var(INDEX_VAR));
	scan->custom_scan_tlist =
		pack_target((Expr *) makeNullConst(BYTEAOID, -1, InvalidOid));
	scan->custom_plans = list_make1(rows);
	scan->methods = &scan_methods;
	return scan;
}

/*
 * dp_reader_pack_rows
 *	  Have the parallel workers of a plan hand rows over in packs; a plan
 *	  without workers stays as it is.  False, and the plan is unchanged, if its
 *	  Gather is not at its top.
 */
bool
dp_reader_pack_rows(PlannedStmt *plan)
{
	Plan	   *gather = plan->planTree;

	if (!plan->parallelModeNeeded)
		return true;
	if (!IsA(gather, Gather) || gather->qual != NIL)
		return false;
	gather->lefttree = (Plan *) make_pack(gather->lefttree);
	gather->targetlist = pack_target(pack_var(OUTER_VAR));
	return true;
}

/* The plan whose rows are packed, or NULL. */
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
 * dp_reader_pack_workers: how many workers hand rows of a plan over in packs.
 */
int
dp_reader_pack_workers(const PlannedStmt *plan)
{
	return packed_plan(plan) == NULL ? 0 :
		((const Gather *) plan->planTree)->num_workers;
}

/*
 * dp_reader_expect_packs
 *	  Let the job reserve what parallel workers of one of its plans, if it has
 *	  any, need for packs: a row has at most `row` bytes, and evaluating its
 *	  expressions takes `memory`.  The job's numbers suffice for each of its
 *	  plans.  A worker holds the row as a tuple, its pack and what it sends.
 */
void
dp_reader_expect_packs(dp_reader_job *job, const PlannedStmt *plan,
					   Size memory, Size row)
{
	Size		pack = DP_READER_PACK + row;

	if (dp_reader_pack_workers(plan) == 0)
		return;
	job->row = Max(job->row, pack);
	job->worker = Max(job->worker, memory + 3 * pack);
}

/* ---- the other side ---- */

typedef struct unpacker
{
	DestReceiver receiver;		/* first, so that it can be cast */
	DestReceiver *to;
	row_form	form;
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
		if (packs->form.fixed)
		{
			read_row(&packs->form, at, pack->nulls, packs->slot);
			ExecStoreVirtualTuple(packs->slot);
			at += row_words(&packs->form, pack->nulls);
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

/* Pass `to` the columns of the rows, not of the packs. */
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

/*
 * dp_reader_unpack
 *	  The receiver for a plan whose rows `to` should get: `to` itself, or one
 *	  that takes packs apart, in the current context.
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
	packs->receiver = *None_Receiver;
	packs->receiver.receiveSlot = receive_pack;
	packs->receiver.rStartup = start_packs;
	packs->receiver.rShutdown = end_packs;
	packs->to = to;
	packs->form = make_form(rows->targetlist);
	packs->slot = MakeSingleTupleTableSlot(desc, packs->form.fixed ?
										   &TTSOpsVirtual :
										   &TTSOpsMinimalTuple);
	if (packs->form.fixed)
		set_constants(rows->targetlist, packs->slot);
	return &packs->receiver;
}

/* dp_reader_pack_init: once, while preloading. */
void
dp_reader_pack_init(void)
{
	RegisterCustomScanMethods(&scan_methods);
}
