/*
 * shared_rows.c
 *	  Public rows in plans whose parallel workers join them with private ones.
 *
 * PostgreSQL's workers do not see tuplestores.  So if the rows of a name are
 * public, and not too many, the planner gets a path of its own for them,
 * DpShared: the reader scans the tuplestore as usual, and workers get a copy
 * of it in shared memory when they start.  Each process builds the hash table
 * of a join itself, from memory that it has reserved.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "executor/executor.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"

#include "public.h"
#include "stored_row.h"

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

static Plan *plan_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
					   List *targets, List *clauses, List *custom_plans);
static Node *create_state(CustomScan *scan);

static const CustomPathMethods path_methods = {
	.CustomName = "DpShared",
	.PlanCustomPath = plan_path
};

static const CustomScanMethods scan_methods = {
	.CustomName = "DpShared",
	.CreateCustomScanState = create_state
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
 * dp_run_share_rows
 *	  Let parallel workers see the public rows of a name: called from the
 *	  planner's hook for paths, replaces the path that it made.  Nothing
 *	  changes if workers are not allowed, or may not evaluate the conditions
 *	  and targets.
 */
void
dp_run_share_rows(PlannerInfo *root, RelOptInfo *rel)
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

/* dp_run_is_shared_path: was the path made by dp_run_share_rows? */
bool
dp_run_is_shared_path(const Path *path)
{
	return IsA(path, CustomPath) &&
		((const CustomPath *) path)->methods == &path_methods;
}

/* dp_run_is_shared: is it a plan of such a path? */
bool
dp_run_is_shared(const Plan *plan)
{
	return IsA(plan, CustomScan) &&
		((const CustomScan *) plan)->methods == &scan_methods;
}

/*
 * dp_run_tell_shared
 *	  Mark such nodes below a Gather in a finished plan (gathered: all of it is
 *	  below one) as "parallel aware", so that they get shared memory.  The
 *	  planner allows no such node elsewhere.  Returns whether there are any, so
 *	  that workers get a copy of rows.
 */
bool
dp_run_tell_shared(Plan *plan, bool gathered)
{
	bool		told = false;
	ListCell   *lc;

	gathered |= IsA(plan, Gather);
	if (dp_run_is_shared(plan))
		told = plan->parallel_aware = gathered;
	foreach(lc, dp_bridge_plans_below(plan))
		told |= dp_run_tell_shared(lfirst(lc), gathered);
	return told;
}

static Plan *
plan_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *targets,
		  List *clauses, List *custom_plans)
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
fetch_row(shared_state *state)
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
next_row(ScanState *node)
{
	shared_state *state = (shared_state *) node;
	TupleTableSlot *slot = node->ss_ScanTupleSlot;

	ExecClearTuple(slot);
	return fetch_row(state) ? dp_run_show_stored(slot, state->minimal) : slot;
}

static bool
recheck_row(ScanState *node, TupleTableSlot *slot)
{
	return true;
}

static TupleTableSlot *
exec_shared(CustomScanState *node)
{
	return ExecScan(&node->ss, next_row, recheck_row);
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
	while (fetch_row(state))
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
create_state(CustomScan *scan)
{
	shared_state *state = (shared_state *) newNode(sizeof(shared_state),
												   T_CustomScanState);

	state->css.methods = &exec_methods;
	return (Node *) state;
}

/* dp_run_shared_rows_init: once, while preloading. */
void
dp_run_shared_rows_init(void)
{
	RegisterCustomScanMethods(&scan_methods);
}
