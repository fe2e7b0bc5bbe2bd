/*
 * custom_scan.c
 *	  DpRelease, the custom scan that stands for a release in a plan, and the
 *	  rows that several nodes share.
 */
#include "postgres.h"

#include "access/relation.h"
#include "commands/explain.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "tcop/pquery.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "../../base/dp_base.h"
#include "../../ledger/dp_ledger.h"
#include "../../query/domains/dp_domains.h"
#include "../../query/rowsets/dp_rowsets.h"
#include "../../measure/aggregates/dp_aggregates.h"
#include "../rights/dp_rights.h"
#include "../joined/dp_joined.h"
#include "../inner/dp_inner.h"
#include "../prepare/dp_prepare.h"
#include "../explain/dp_explain.h"
#include "../answers/dp_answers.h"
#include "run_internal.h"

/* ----------------
 *		The rows of a release, for all nodes of a plan that stand for it.
 *
 * Some plans hold the same node twice (EvalPlanQual, subqueries pulled up
 * twice): they share one store, found by (outermost executor state, planner
 * nonce, block).  So a release is charged and drawn at most once per execution
 * of a plan.
 *
 * The list shared_stores is local to this backend; entries live in the
 * outermost executor state's context and leave the list when that is reset,
 * also after errors.
 * ----------------
 */

static List *shared_stores = NIL;

static EState *
outermost_state(EState *estate)
{
	while (estate->es_epq_active != NULL)
		estate = estate->es_epq_active->parentestate;
	return estate;
}

static void
forget_shared(void *arg)
{
	shared_stores = list_delete_ptr(shared_stores, arg);
}

static dp_shared_store *
find_shared(EState *root, int64 nonce, int index)
{
	ListCell   *lc;

	foreach(lc, shared_stores)
	{
		dp_shared_store *shared = lfirst(lc);

		if (shared->root == root && shared->nonce == nonce &&
			shared->index == index)
			return shared;
	}
	return NULL;
}

/*
 * attach_shared
 *	  The store of a release, for one more node; released by
 *	  detach_shared.
 */
static dp_shared_store *
attach_shared(EState *estate, int64 nonce, int index)
{
	EState	   *root = outermost_state(estate);
	dp_shared_store *shared = find_shared(root, nonce, index);
	MemoryContextCallback *callback;
	MemoryContext old;

	if (shared == NULL)
	{
		old = MemoryContextSwitchTo(root->es_query_cxt);
		shared = palloc0(sizeof(dp_shared_store));
		shared->root = root;
		shared->nonce = nonce;
		shared->index = index;
		callback = palloc0(sizeof(MemoryContextCallback));
		callback->func = forget_shared;
		callback->arg = shared;
		MemoryContextRegisterResetCallback(root->es_query_cxt, callback);
		MemoryContextSwitchTo(TopMemoryContext);
		shared_stores = lappend(shared_stores, shared);
		MemoryContextSwitchTo(old);
	}
	shared->references++;
	return shared;
}

/* detach_shared: the last node frees the store. */
static void
detach_shared(dp_shared_store *shared)
{
	if (--shared->references > 0)
		return;
	if (shared->store != NULL)
		tuplestore_end(shared->store);
	shared->store = NULL;
	shared_stores = list_delete_ptr(shared_stores, shared);
}

/* ----------------
 *		DpRelease, the custom scan that stands for a release in a plan.
 *
 * The node runs its release at the first fetch and then only reads its
 * tuplestore, however the plan loops, rewinds or runs backwards.  Nodes that
 * occur twice in a plan share one store.
 * ----------------
 */

#define JUST_BEGUN 10			/* ms */

#define PLAN_FIELD(kind, name) DP_NODE_FIELD(dp_release_plan, kind, name)

static const dp_node_field plan_fields[] = {
	PLAN_FIELD(DP_FIELD_NODE, block),
	PLAN_FIELD(DP_FIELD_INTEGER, nonce),
	PLAN_FIELD(DP_FIELD_INTEGER, index)
};

static const dp_node_type plan_type =
DP_NODE_TYPE(dp_release_plan, plan_fields);

typedef struct release_state
{
	CustomScanState css;		/* first, so that it can be cast */
	dp_block   *block;
	List	   *parameters;		/* of ExprState * */
	List	   *conditions;		/* of ExprState *: over several keys */
	dp_ledger_standing standing;	/* of the asking role, at begin */
	uint64		job;			/* number of a kept job to run again, or 0 */
	bool		stamped;
	bool		exact;
	dp_stamp	stamp;			/* valid if `stamped`; taken before `standing`
								 * was read; commits of charges are not counted
								 * in it */
	TimestampTz begun;			/* start of the node and of the client's
								 * statement */
	TimestampTz statement;
	List	   *relations;		/* pinned from begin to end */
	dp_shared_store *shared;
	bool		attached;		/* has a read pointer of its own */
	int			pointer;
	TupleTableSlot *minimal;
} release_state;

static Plan *node_plan_path(PlannerInfo *root, RelOptInfo *rel,
							CustomPath *path,
							List *targets, List *clauses, List *custom_plans);
static Node *node_create_state(CustomScan *scan);
static void begin_release(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *exec_release(CustomScanState *node);
static void end_release(CustomScanState *node);
static void rescan_release(CustomScanState *node);
static void explain_release(CustomScanState *node, List *ancestors,
							ExplainState *es);

static const CustomPathMethods path_methods = {
	.CustomName = "DpRelease",
	.PlanCustomPath = node_plan_path
};

static const CustomScanMethods scan_methods = {
	.CustomName = "DpRelease",
	.CreateCustomScanState = node_create_state
};

static const CustomExecMethods exec_methods = {
	.CustomName = "DpRelease",
	.BeginCustomScan = begin_release,
	.ExecCustomScan = exec_release,
	.EndCustomScan = end_release,
	.ReScanCustomScan = rescan_release,
	.ExplainCustomScan = explain_release
};

/* dp_run_is_release: is the plan a release's node, with nothing below? */
bool
dp_run_is_release(const Plan *plan)
{
	return IsA(plan, CustomScan) &&
		((const CustomScan *) plan)->methods == &scan_methods &&
		((const CustomScan *) plan)->custom_plans == NIL;
}

/* dp_run_node_init: register the node types; once, while preloading. */
void
dp_run_node_init(void)
{
	RegisterExtensibleNodeMethods(&plan_type.methods);
	RegisterCustomScanMethods(&scan_methods);
}

/* ---- planning ---- */

static double
estimated_groups(const dp_block *block)
{
	double		groups = 1;
	ListCell   *lc;

	foreach(lc, block->keys)
		groups *= dp_domains_estimate(lfirst(lc));
	return clamp_row_est(Min(groups, dp_setting_max_groups));
}

/*
 * dp_run_add_path
 *	  Make the release the only way to scan the marker's relation.  Costs and
 *	  rows come from public facts: the number of group keys.
 */
void
dp_run_add_path(PlannerInfo *root, RelOptInfo *rel, dp_block *block,
					uint64 nonce, int index)
{
	CustomPath *path = makeNode(CustomPath);
	dp_release_plan *plan = dp_make_node(dp_release_plan);

	plan->block = block;
	plan->nonce = (int64) nonce;
	plan->index = index;
	rel->pathlist = NIL;
	rel->partial_pathlist = NIL;
	rel->rows = estimated_groups(block);
	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	path->path.param_info = NULL;
	path->path.parallel_aware = false;
	path->path.parallel_safe = false;
	path->path.parallel_workers = 0;
	path->path.rows = rel->rows;
	path->path.startup_cost = 1000;
	path->path.total_cost = 1000 + rel->rows * cpu_tuple_cost;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION |
		CUSTOMPATH_SUPPORT_BACKWARD_SCAN;
	path->custom_private = list_make1(plan);
	path->methods = &path_methods;
	add_path(rel, (Path *) path);
}

static Plan *
node_plan_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
			   List *targets, List *clauses, List *custom_plans)
{
	CustomScan *scan = makeNode(CustomScan);
	RangeTblEntry *entry = planner_rt_fetch(rel->relid, root);
	RangeTblFunction *function = linitial(entry->functions);
	dp_release_plan *plan = linitial(path->custom_private);
	int			i;

	scan->scan.plan.targetlist = targets;
	scan->scan.plan.qual = extract_actual_clauses(clauses, false);
	scan->scan.scanrelid = 0;
	scan->flags = path->flags;
	scan->custom_private = copyObject(path->custom_private);
	scan->custom_exprs = (List *)
		eval_const_expressions(root,
						   (Node *) dp_prepare_parameter_exprs(plan->block));
	scan->methods = &scan_methods;
	for (i = 0; i < function->funccolcount; i++)
	{
		Var		   *var = makeVar(rel->relid, i + 1,
								  list_nth_oid(function->funccoltypes, i),
								  list_nth_int(function->funccoltypmods, i),
								  list_nth_oid(function->funccolcollations, i),
								  0);
		char	   *name = strVal(list_nth(function->funccolnames, i));

		scan->custom_scan_tlist =
			lappend(scan->custom_scan_tlist,
					makeTargetEntry((Expr *) var, i + 1, pstrdup(name),
									false));
	}
	return (Plan *) scan;
}

/* ---- execution ---- */

static Node *
node_create_state(CustomScan *scan)
{
	release_state *state = (release_state *) newNode(sizeof(release_state),
													 T_CustomScanState);

	state->css.methods = &exec_methods;
	return (Node *) state;
}

static void
pin(release_state *state, const List *relids)
{
	ListCell   *lc;

	foreach(lc, relids)
		state->relations = lappend(state->relations,
								   relation_open(lfirst_oid(lc), NoLock));
}

/* Check rights on all that the block reads, and keep it open. */
static void
pin_relations(release_state *state)
{
	const dp_block *block = state->block;
	List	   *all = dp_rights_list_private(block, copyObject(block->inner));
	ListCell   *lc;

	dp_rights_take(block, &state->standing, all);
	dp_rights_ask_others(all);
	foreach(lc, all)
		pin(state, ((const dp_ready *) lfirst(lc))->relids);
}

/* Open the relations of a kept job; all other checks still hold. */
static bool
begin_kept(release_state *state, const dp_release_plan *plan)
{
	const dp_ledger_standing *standing;
	const List *named;

	state->job = dp_answers_find_job(plan->nonce, plan->index, &standing,
									 &named);
	if (state->job == 0)
		return false;
	state->standing = *standing;
	pin(state, named);
	return true;
}

/* Check rights and get what the asking role may spend. */
static void
begin_anew(release_state *state, const dp_release_plan *plan)
{
	if (!dp_answers_kept_standing(plan->nonce, plan->index, &state->standing))
	{
		state->stamped = dp_ledger_read_stamp(&state->stamp, &state->exact);
		state->begun = GetCurrentTimestamp();
		state->statement = GetCurrentStatementStartTimestamp();
		dp_ledger_require_budget(state->block->dataset, &state->standing);
	}
	pin_relations(state);
}

static void
begin_release(CustomScanState *node, EState *estate, int eflags)
{
	release_state *state = (release_state *) node;
	CustomScan *scan = (CustomScan *) node->ss.ps.plan;
	TupleDesc	desc = node->ss.ss_ScanTupleSlot->tts_tupleDescriptor;
	dp_release_plan *plan = linitial(scan->custom_private);

	state->block = plan->block;
	state->shared = attach_shared(estate, plan->nonce, plan->index);
	if (estate->es_instrument != 0 || (eflags & EXEC_FLAG_EXPLAIN_ONLY) ||
		!begin_kept(state, plan))
		begin_anew(state, plan);
	state->parameters = ExecInitExprList(scan->custom_exprs,
										 (PlanState *) node);
	state->conditions = dp_prepare_begin_key_conditions(state->block,
														(PlanState *) node);
	state->minimal = ExecInitExtraTupleSlot(estate, desc, &TTSOpsMinimalTuple);
}

static Const *
node_evaluate(ExprState *state, ExprContext *econtext)
{
	Node	   *expression = (Node *) state->expr;
	Oid			type = exprType(expression);
	int16		length;
	bool		by_value;
	bool		isnull;
	Datum		value = ExecEvalExpr(state, econtext, &isnull);

	get_typlenbyval(type, &length, &by_value);
	if (!isnull)
		value = datumCopy(value, by_value, length);
	return makeConst(type, exprTypmod(expression), exprCollation(expression),
					 length, isnull ? (Datum) 0 : value, isnull, by_value);
}

static bool
is_extern_param(Node *node, const dp_walk *walk)
{
	return IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXTERN;
}

/*
 * The value of a public part of bounds; with GENERIC_PLAN parameters have
 * none, and nothing follows from them.
 */
static Const *
node_evaluate_part(ExprState *state, const release_state *release)
{
	Node	   *expression = (Node *) state->expr;
	const PlanState *ps = &release->css.ss.ps;

	if ((ps->state->es_top_eflags & DP_COMPAT_NO_VALUES) != 0 &&
		dp_base_contains(expression, is_extern_param, NULL,
						 DP_WALK_ONE_LEVEL))
		return makeNullConst(exprType(expression), exprTypmod(expression),
							 exprCollation(expression));
	return node_evaluate(state, ps->ps_ExprContext);
}

/* Prepare it for the present bounds, or to measure one. */
static dp_release_spec *
prepare_bounded(release_state *state, List *arguments, List *domains,
				int *location)
{
	Snapshot	snapshot = state->css.ss.ps.state->es_snapshot;
	dp_unit_bounds bounds = {0};
	dp_measuring *measuring;

	if (dp_setting_bounds == DP_SETTING_MEASURE)
		bounds = dp_prepare_unit_bounds(state->block, NULL);
	if (!OidIsValid(bounds.missing))
		return dp_prepare_release(state->block, &state->standing, arguments,
								  domains, NULL, snapshot, location);
	measuring = palloc0(sizeof(dp_measuring));
	measuring->block = state->block;
	measuring->standing = &state->standing;
	measuring->arguments = arguments;
	measuring->domains = domains;
	measuring->bounds = bounds;
	measuring->snapshot = snapshot;
	return dp_prepare_measured(measuring, location);
}

/* Prepare the release, in the current context; `tell`: with NOTICEs. */
static dp_release_spec *
prepare_release(release_state *state, bool tell)
{
	dp_release_spec *spec;
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	EState	   *estate = state->css.ss.ps.state;
	List	   *arguments = NIL;
	List	   *domains;
	List	   *keys;
	dp_pointer	pointer;
	ListCell   *lc;

	foreach(lc, state->parameters)
		arguments = lappend(arguments,
							foreach_current_index(lc) <
							list_length(state->block->publics) ?
							node_evaluate_part(lfirst(lc), state) :
							node_evaluate(lfirst(lc), econtext));
	domains = dp_prepare_decide_keys(state->block, estate, &keys);
	dp_base_point_begin(&pointer, estate->es_sourceText);
	spec = prepare_bounded(state, arguments, domains, &pointer.location);
	spec->settled_keys = keys;
	dp_base_point_end(&pointer);
	dp_prepare_check_prices(spec, &state->standing);
	dp_aggregates_check_cost(spec, tell);
	if (tell)
		dp_prepare_notice_outside(spec);
	return spec;
}

/*
 * Did the statement begin just now, and will it run to its end? Portals of
 * cursors have names, and the extended protocol executes them in later
 * messages than those that begin them.
 */
static bool
is_just_begun(const release_state *state)
{
	return ActivePortal != NULL && ActivePortal->name[0] == '\0' &&
		state->statement == GetCurrentStatementStartTimestamp() &&
		!TimestampDifferenceExceeds(state->begun, GetCurrentTimestamp(),
									JUST_BEGUN);
}

/*
 * Rights, floor and ceiling may have changed since a cursor began; charges
 * change neither.  Returns whether nothing is known to have changed.
 */
static bool
renew_standing(release_state *state)
{
	dp_stamp	now;
	bool		exact;
	bool		stamped = dp_ledger_read_stamp(&now, &exact) && state->stamped;
	bool		same = stamped && state->exact &&
		state->stamp.ended == now.ended;

	if (!stamped ||
		!dp_base_same_caches(&state->stamp.caches, &now.caches) ||
		(!same && !is_just_begun(state)) ||
		dp_ledger_is_renewed(&state->standing, GetCurrentTimestamp()))
	{
		dp_ledger_require_budget(state->block->dataset, &state->standing);
		return false;
	}
	return same;
}

/* What the release's job is kept with, or NULL. */
static dp_kept_job *
want_job(const release_state *state, const dp_release_spec *spec)
{
	List	   *named = NIL;
	ListCell   *lc;

	foreach(lc, state->relations)
		named = lappend_oid(named, RelationGetRelid((Relation) lfirst(lc)));
	return dp_answers_want_job(state->shared->nonce, state->shared->index,
							   &state->stamp, &state->standing, named, spec);
}

/* Have the release find a stored answer, or make one. */
static void
find_or_run_answer(release_state *state, const dp_stamp *stamp, bool stamped)
{
	EState	   *estate = state->css.ss.ps.state;
	const CustomScan *scan = (CustomScan *) state->css.ss.ps.plan;
	TupleDesc	result = state->minimal->tts_tupleDescriptor;
	dp_shared_store *shared = state->shared;
	bool		same = renew_standing(state);
	dp_release_spec *spec = prepare_release(state, true);
	bool		follows = dp_answers_follows_from_plan(spec,
													   scan->custom_exprs,
											   estate->es_param_list_info);

	dp_explain_notices(spec);
	shared->spec = spec;
	if (spec->measuring != NULL)
	{
		shared->spec = spec = dp_run_measure(spec, &state->standing, estate);
		follows = false;
	}
	shared->others = dp_prepare_find_others(spec);
	shared->store = dp_run_release(spec, &state->standing, estate, result,
								   same && follows ?
								   want_job(state, spec) : NULL,
								   &shared->stored_at);
	if (shared->stored_at != 0 && stamped && follows)
		dp_answers_keep(shared->nonce, shared->index, stamp, &state->standing,
						result, shared->stored_at, shared->store);
}

static void
run_release(release_state *state)
{
	dp_shared_store *shared = state->shared;
	MemoryContext old = MemoryContextSwitchTo(shared->root->es_query_cxt);
	BufferUsage buffers = pgBufferUsage;
	WalUsage	wal = pgWalUsage;
	TupleDesc	result = state->minimal->tts_tupleDescriptor;
	dp_stamp	stamp;
	bool		stamped;

	if (state->job != 0)
		shared->store = dp_answers_do_kept_job(state->job, shared->nonce,
											   shared->index,
											   state->css.ss.ps.state, result);
	if (shared->store == NULL)
	{
		shared->store = dp_answers_give_kept(shared->nonce, shared->index,
											 result, &stamp, &stamped,
											 &shared->stored_at);
		if (shared->store == NULL)
			find_or_run_answer(state, &stamp, stamped);
	}
	MemoryContextSwitchTo(old);
	/* reading pages of the ledger may prune them, which is not counted */
	pgBufferUsage = buffers;
	pgWalUsage = wal;
}

static void
attach_read_pointer(release_state *state)
{
	if (state->shared->store == NULL)
	{
		run_release(state);
		state->pointer = 0;
	}
	else
	{
		tuplestore_select_read_pointer(state->shared->store, 0);
		state->pointer =
			tuplestore_alloc_read_pointer(state->shared->store,
										  EXEC_FLAG_REWIND |
										  EXEC_FLAG_BACKWARD);
	}
	tuplestore_select_read_pointer(state->shared->store, state->pointer);
	tuplestore_rescan(state->shared->store);
	state->attached = true;
}

/* Return the next row of the store, or an empty slot at its end. */
static TupleTableSlot *
next_stored(ScanState *node)
{
	release_state *state = (release_state *) node;
	TupleTableSlot *slot = node->ss_ScanTupleSlot;
	bool		forward = ScanDirectionIsForward(node->ps.state->es_direction);

	ExecClearTuple(slot);
	tuplestore_select_read_pointer(state->shared->store, state->pointer);
	if (!tuplestore_gettupleslot(state->shared->store, forward, true,
								 state->minimal))
		return slot;
	return dp_joined_show_stored(slot, state->minimal);
}

static TupleTableSlot *
node_next_row(ScanState *node)
{
	release_state *state = (release_state *) node;
	ExprContext *econtext = node->ps.ps_ExprContext;
	TupleTableSlot *slot;

	if (!state->attached)
		attach_read_pointer(state);
	do
	{
		CHECK_FOR_INTERRUPTS();
		ResetExprContext(econtext);
		slot = next_stored(node);
	} while (!TupIsNull(slot) &&
			 !dp_prepare_may_have_rows(state->conditions,
									   state->shared->others, slot, econtext));
	return slot;
}

/*
 * When a row is rechecked (EvalPlanQual) after a concurrent update, its
 * subqueries run again.  Older minor versions of PostgreSQL call this for
 * scans without a relation.
 */
static bool
node_recheck_row(ScanState *node, TupleTableSlot *slot)
{
	return !TupIsNull(node_next_row(node));
}

static TupleTableSlot *
exec_release(CustomScanState *node)
{
	return ExecScan(&node->ss, node_next_row, node_recheck_row);
}

static void
rescan_release(CustomScanState *node)
{
	release_state *state = (release_state *) node;

	ExecScanReScan(&node->ss);
	if (state->attached)
	{
		tuplestore_select_read_pointer(state->shared->store, state->pointer);
		tuplestore_rescan(state->shared->store);
	}
}

static void
end_release(CustomScanState *node)
{
	release_state *state = (release_state *) node;
	ListCell   *lc;

	foreach(lc, state->relations)
		relation_close((Relation) lfirst(lc), NoLock);
	state->relations = NIL;
	ExecClearTuple(state->minimal);
	detach_shared(state->shared);
}

static void
explain_release(CustomScanState *node, List *ancestors, ExplainState *es)
{
	release_state *state = (release_state *) node;
	const dp_release_spec *spec = state->shared->spec;
	EState	   *estate = node->ss.ps.state;
	bool		charged = state->shared->store != NULL;
	TimestampTz stored_at = charged ? state->shared->stored_at : 0;

	if (spec == NULL)
		spec = prepare_release(state, false);
	/* an EXPLAIN after the query (auto_explain) is not refused */
	if ((estate->es_top_eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0 &&
		ActiveSnapshotSet())
		stored_at = dp_run_look_ahead(spec, &state->standing, estate,
									  state->minimal->tts_tupleDescriptor);
	dp_explain_release(spec, charged, stored_at, estate, es);
}
