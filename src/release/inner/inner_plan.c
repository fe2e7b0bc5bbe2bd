/*
 * inner_plan.c
 *	  Plan one inner query in the connection: from public facts, without
 *	  messages, and with nothing that another process would evaluate
 *	  differently.
 *
 * Errors of planning are replaced by one text and SQLSTATE, except those about
 * unsupported features and exceeded limits.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "access/transam.h"
#include "access/xlog.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/optimizer.h"
#include "pgstat.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "../../base/dp_base.h"
#include "../../ledger/dp_ledger.h"
#include "../../query/expressions/dp_expressions.h"
#include "../../query/rowsets/dp_rowsets.h"
#include "../../reader/dp_reader.h"
#include "../../measure/units/dp_units.h"
#include "../rights/dp_rights.h"
#include "../joined/dp_joined.h"
#include "dp_inner.h"
#include "inner_internal.h"

/* ----------------
 *		What an inner query may look up while it is executed: out-of-line
 *		values, labels of enum types, collations.
 *
 * Everything that could be dropped is locked until the transaction ends.  A
 * reader looks it up beforehand (src/reader/warm.c).  Parallel workers are new
 * processes, which would look it up when a row requires it, and pg_locks shows
 * that; so a query with such needs has no workers.  Which relations have
 * out-of-line values is found when the query is planned (public_plan.c).
 * ----------------
 */

typedef struct needs_context
{
	bool		toastable;		/* a column may have out-of-line values */
	dp_reader_needs *needs;
} needs_context;

/*
 * May a column of a relation or of its children be out of line? A value no
 * larger than a TOAST pointer never is.
 */
static bool
is_toastable(Oid relid, AttrNumber attnum)
{
	HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid),
										Int16GetDatum(attnum));
	Form_pg_attribute attribute;
	bool		toastable = true;
	int32		most;

	if (HeapTupleIsValid(tuple))
	{
		attribute = (Form_pg_attribute) GETSTRUCT(tuple);
		most = type_maximum_size(attribute->atttypid, attribute->atttypmod);
		toastable = attribute->attlen == -1 &&
			(most <= 0 || most > MAXALIGN(TOAST_POINTER_SIZE));
		ReleaseSysCache(tuple);
	}
	return toastable;
}

static void
look_at_var(const Var *var, const Query *level, needs_context *context)
{
	const RangeTblEntry *entry;

	if (var->varlevelsup > 0 ||
		var->varno > list_length(level->rtable))
	{
		context->toastable = true;
		return;
	}
	entry = list_nth_node(RangeTblEntry, level->rtable, var->varno - 1);
	if (entry->rtekind == RTE_RELATION &&
		is_toastable(entry->relid, var->varattno))
		context->toastable = true;
}

/*
 * The base type or domain directly below a domain; InvalidOid for other types.
 * *own: it belongs to the extension, which cannot lose it.
 */
static Oid
domain_over(Oid type, bool *own)
{
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	Oid			base = InvalidOid;

	*own = false;
	if (HeapTupleIsValid(tuple))
	{
		base = ((Form_pg_type) GETSTRUCT(tuple))->typbasetype;
		*own = ((Form_pg_type) GETSTRUCT(tuple))->typnamespace ==
			dp_base_catalog_namespace();
		ReleaseSysCache(tuple);
	}
	return base;
}

/*
 * Lock a type or a collation against being dropped or changed until the
 * transaction ends: rows that need it would fail where others do not.
 */
static void
hold(Oid class, Oid object, int cache)
{
	/* during recovery stronger locks are not allowed */
	LockDatabaseObject(class, object, 0,
					   RecoveryInProgress() ? AccessShareLock : ShareLock);
	if (!SearchSysCacheExists1(cache, ObjectIdGetDatum(object)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("a %s that the private query uses does not exist any "
						"more", class == TypeRelationId ? "type" :
						"collation"),
				 errdetail("%s", dp_ledger_uncharged_text()),
				 errhint("Prepare the query again.")));
}

/*
 * Look at a type, what it is a domain over, and the elements of both.  A type
 * that cannot be dropped is neither an enum nor made of one.
 */
static void
look_at_type(Oid type, dp_reader_needs *needs)
{
	Oid			element;
	Oid			domain;
	bool		own;

	while (type >= FirstUnpinnedObjectId)
	{
		domain = domain_over(type, &own);
		if (own)
			return;
		hold(TypeRelationId, type, TYPEOID);
		if (type_is_enum(type))
			needs->enums = list_append_unique_oid(needs->enums, type);
		element = get_element_type(type);
		type = OidIsValid(element) ? element : domain;
	}
}

static void
look_at_collation(Oid collation, dp_reader_needs *needs)
{
	if (!OidIsValid(collation) || collation == DEFAULT_COLLATION_OID ||
		collation == C_COLLATION_OID)
		return;
	if (collation >= FirstUnpinnedObjectId)
		hold(CollationRelationId, collation, COLLOID);
	needs->collations = list_append_unique_oid(needs->collations, collation);
}

static bool
look_at_node(Node *node, const dp_walk *walk)
{
	needs_context *context = walk->context;
	ListCell   *lc;

	if (IsA(node, Query))
		return false;
	if (IsA(node, Var))
		look_at_var((Var *) node, walk->level, context);
	look_at_type(dp_reader_value_type(node), context->needs);
	look_at_collation(exprInputCollation(node), context->needs);
	if (IsA(node, RowCompareExpr))
		foreach(lc, ((RowCompareExpr *) node)->inputcollids)
			look_at_collation(lfirst_oid(lc), context->needs);
	return false;
}

/*
 * find_needs
 *	  Find the needs of a query, except needs->toast; *toast: it may need
 *	  out-of-line values of the relations that it reads.  Returns whether it
 *	  needs nothing else.
 */
static bool
find_needs(Query *inner, dp_reader_needs *needs, bool *toast)
{
	needs_context context = {false, needs};

	memset(needs, 0, sizeof(*needs));
	(void) dp_base_contains((Node *) inner, look_at_node, &context, 0);
	*toast = context.toastable;
	return needs->enums == NIL && needs->collations == NIL;
}

/* ---- preconditions ---- */

/*
 * dp_inner_check_preconditions
 *	  Raise an error where private rows cannot be read, or not privately.
 *
 * Errors: 25000 in a parallel operation, 0A000 in a serializable transaction,
 * 25006 during recovery.
 */
void
dp_inner_check_preconditions(void)
{
	dp_base_forbid_parallel();
	dp_base_forbid_serializable();
	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("a private query cannot run during recovery"),
				 errdetail("Its charge could not be recorded."),
				 errhint("Run the query on the primary server.")));
}

/* ---- what only the session knows ---- */

static bool
are_constants(const List *args)
{
	ListCell   *lc;

	foreach(lc, args)
		if (!IsA(lfirst(lc), Const))
			return false;
	return true;
}

/*
 * Reduce what is computed from constants to one, even if it depends on a
 * setting, as now() - interval '1 month' does: so it can exclude partitions.
 */
static Node *
fold(Node *node, void *context)
{
	if ((IsA(node, FuncExpr) && are_constants(((FuncExpr *) node)->args)) ||
		(IsA(node, OpExpr) && are_constants(((OpExpr *) node)->args)) ||
		(IsA(node, RelabelType) && IsA(((RelabelType *) node)->arg, Const)) ||
		(IsA(node, CoerceViaIO) && IsA(((CoerceViaIO *) node)->arg, Const)))
		return estimate_expression_value(context, node);
	return node;
}

/*
 * Make constants of parameters, of the transaction's and the statement's time,
 * and of the user's name.  Functions without arguments that are allowed on
 * private rows are such times.
 */
static Node *
inner_plan_settle_mutator(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if ((IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXTERN) ||
		(IsA(node, FuncExpr) && ((FuncExpr *) node)->args == NIL) ||
		IsA(node, SQLValueFunction))
	{
		Node	   *value = estimate_expression_value(context, node);

		if (!IsA(value, Const))
			elog(ERROR, "parameter of an inner query has no value");
		return value;
	}
	if (IsA(node, Query))
		return (Node *) query_tree_mutator((Query *) node,
										   inner_plan_settle_mutator,
										   context, 0);
	return fold(expression_tree_mutator(node, inner_plan_settle_mutator,
										context),
				context);
}

/*
 * dp_inner_settle
 *	  A copy of an inner query with the present values of its parameters and
 *	  times as constants.
 */
Query *
dp_inner_settle(Query *inner, ParamListInfo params)
{
	PlannerGlobal *glob = makeNode(PlannerGlobal);
	PlannerInfo *root = makeNode(PlannerInfo);

	glob->boundParams = params;
	root->glob = glob;
	return (Query *) inner_plan_settle_mutator((Node *) inner, root);
}

/* ---- planning ---- */

/* Most bytes of a row that workers hand over. */
#define ROW_MOST ((Size) 1024 * 1024)

/*
 * Make the plan, or *refusal because of the value of a parameter.  With
 * unknown values only the shape of the plan means anything.
 */
static PlannedStmt *
plan(dp_inner *run, Query *inner, dp_workers workers, dp_refusal **refusal)
{
	bool		toast;
	bool		none;
	PlannedStmt *planned;
	List	   *toasts;

	none = find_needs(inner, &run->needs, &toast);
	if (run->unknown)
	{
		dp_expressions_settle_levels(inner);
		return dp_inner_public_plan(inner, DP_WORKERS_NONE, &run->facts);
	}
	inner = dp_inner_settle(inner, run->params);
	*refusal = dp_expressions_check_settled((Node *) inner);
	if (*refusal != NULL)
		return NULL;
	dp_expressions_settle_levels(inner);
	inner = dp_expressions_limit_memory(inner, &run->memory);
	run->memory += dp_expressions_window_memory(inner);
	run->row = dp_expressions_row_bytes(inner, run->facts.widest);
	run->facts.toast_needed = toast && !run->local;
	/* their look-ups would be visible; or memory cannot be reserved */
	if ((!none && !run->local) ||
		(workers == DP_WORKERS_ROWS && run->row > ROW_MOST))
		workers = DP_WORKERS_NONE;
	planned = dp_inner_public_plan(inner, workers, &run->facts);
	run->relations = list_concat(run->relations, planned->relationOids);
	toasts = dp_rights_lock_toast(planned->relationOids, &run->relations);
	if (toast)
		run->needs.toast = toasts;
	if (OidIsValid(run->facts.index))
		run->relations = lappend_oid(run->relations, run->facts.index);
	return planned;
}

/* Settings that produce messages or statistics, or make any error fatal. */
typedef struct loud_settings
{
	int			messages;
	int			functions;
	bool		counts;
	bool		exits;
} loud_settings;

/*
 * Whatever the asking role has set, planning sends no messages and keeps no
 * statistics, as reading does (dp_reader_be_quiet).  The variables are set
 * directly, since a nest level of settings costs more than planning a small
 * query.
 */
static void
be_quiet(loud_settings *saved)
{
	saved->messages = client_min_messages;
	saved->functions = pgstat_track_functions;
	saved->counts = pgstat_track_counts;
	saved->exits = ExitOnAnyError;
	client_min_messages = ERROR;
	pgstat_track_functions = TRACK_FUNC_OFF;
	pgstat_track_counts = false;
	ExitOnAnyError = false;
}

static void
restore_settings(const loud_settings *saved)
{
	client_min_messages = saved->messages;
	pgstat_track_functions = saved->functions;
	pgstat_track_counts = saved->counts;
	ExitOnAnyError = saved->exits;
}

/*
 * Plan an inner query, which is changed.  The plan lives in the current
 * context and has no parameters; sets run->needs to what its execution needs,
 * and adds to run->relations all that it opens, which are locked.
 */
static PlannedStmt *
plan_quietly(dp_inner *run, Query *inner, dp_workers workers)
{
	PlannedStmt *volatile planned = NULL;
	dp_refusal *refusal = NULL;
	BufferUsage buffers = pgBufferUsage;
	WalUsage	wal = pgWalUsage;
	loud_settings saved;

	be_quiet(&saved);
	PG_TRY();
	{
		planned = plan(run, inner, workers, &refusal);
	}
	PG_CATCH();
	{
		restore_settings(&saved);
		pgBufferUsage = buffers;
		pgWalUsage = wal;
		dp_reader_mask_error(run->context, true);
	}
	PG_END_TRY();
	restore_settings(&saved);
	pgBufferUsage = buffers;
	pgWalUsage = wal;
	if (refusal != NULL)
		dp_base_raise_refusal(refusal, NULL);
	return planned;
}

/* ----------------
 *		Plans that read private rows into partitions (named_stores.c).
 *
 * If rows are gathered by unit, each relation is read by a plan of its own,
 * and so are the relations that lead to units behind keys; the plan of the
 * inner query runs over the result.
 * ----------------
 */

#define STEPS 16				/* most steps of one query: each takes
								 * memory */

/* Plan the scan of one of several relations, or of a step. */
static void
plan_scan(const dp_ready *ready, const dp_inner *inner, dp_reader_job *job)
{
	dp_inner	run = {inner->params, inner->environment, inner->context};
	PlannedStmt *plan;

	run.local = inner->local;
	run.facts.relid = ready->relid;
	run.facts.rows = ready->relation->rows;
	run.relations = list_copy(ready->relids);
	plan = plan_quietly(&run, ready->query, DP_WORKERS_ROWS);
	job->scans = lappend(job->scans, plan);
	job->relations = list_concat_unique_oid(job->relations, run.relations);
	job->needs.toast = list_concat_unique_oid(job->needs.toast,
											  run.needs.toast);
	job->needs.enums = list_concat_unique_oid(job->needs.enums,
											  run.needs.enums);
	job->needs.collations = list_concat_unique_oid(job->needs.collations,
												   run.needs.collations);
	job->memory += run.memory;
	dp_reader_expect_packs(job, plan, run.memory, run.row);
}

/*
 * The number of the block's steps to units.  A reader reserves memory for
 * fewer of them than a query may have relations.
 */
static int
count_steps(const dp_block *block)
{
	int			steps = 0;
	ListCell   *lc;

	foreach(lc, block->sources)
		steps += list_length(((const dp_joined *) lfirst(lc))->steps);
	if (steps > STEPS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("private query follows too many keys"),
				 errdetail("Units of its relations are %d keys away in all; "
						   "at most %d are possible, since each takes "
						   "memory.  %s", steps, STEPS,
						   dp_ledger_uncharged_text()),
				 errhint("Join fewer relations whose units are behind "
						 "keys.")));
	return steps;
}

/*
 * dp_inner_check_ready
 *	  Raise what making the block's queries ready would raise about rights, row
 *	  security, units and steps; plans nothing.  Requires an active snapshot.
 */
void
dp_inner_check_ready(const dp_block *block, const dp_ledger_standing *standing)
{
	List	   *all = dp_rights_list_private(block, copyObject(block->inner));
	ListCell   *lc;

	(void) count_steps(block);
	foreach(lc, all)
	{
		dp_refusal *refusal =
		dp_expressions_check_policies(((dp_ready *) lfirst(lc))->query);

		if (refusal != NULL)
			dp_base_raise_refusal(refusal, NULL);
	}
	dp_rights_take(block, standing, all);
	dp_rights_prove(block, all);
}

/*
 * dp_inner_plan_job
 *	  Plan the block's queries, which are ready, and set all that a reader
 *	  needs for them.  `workers`: what workers may hand over; `joined`: rows
 *	  that the block joins, or NULL.  The job is zero, but memory and row are
 *	  what its exact numbers take.
 *
 * Errors: those of planning; 54000 too many keys lead to units.
 */
void
dp_inner_plan_job(const dp_block *block, dp_inner *run, dp_workers workers,
				  const dp_joined_rows *joined, dp_reader_job *job)
{
	const dp_ready *own = linitial(run->ready);
	int			steps = count_steps(block);
	Size		held = dp_joined_memory(joined);
	ListCell   *lc;

	job->plan = plan_quietly(run, own->query, workers);
	job->relations = run->relations;
	job->needs = run->needs;
	job->memory += run->memory;
	if (workers == DP_WORKERS_ROWS)
		dp_reader_expect_packs(job, job->plan, run->memory, run->row);
	else
		job->worker = dp_reader_process_memory(job->memory, job->row);
	job->memory += held;
	job->worker += held;
	job->shared = run->facts.copied ? dp_joined_bytes(joined) : 0;
	for_each_from(lc, run->ready, 1)
		plan_scan(lfirst(lc), run, job);
	if (job->scans != NIL)
		job->memory += (steps + 1) * DP_GATHER_MEMORY;
}
