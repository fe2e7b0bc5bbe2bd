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

#include "access/xlog.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/optimizer.h"
#include "pgstat.h"
#include "utils/guc.h"

#include "run.h"

/* ---- preconditions ---- */

/*
 * dp_run_check_preconditions
 *	  Raise an error where private rows cannot be read, or not privately.
 *
 * Errors: 25000 in a parallel operation, 0A000 in a serializable transaction,
 * 25006 during recovery.
 */
void
dp_run_check_preconditions(void)
{
	dp_bridge_forbid_parallel();
	dp_bridge_forbid_serializable();
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
settle_mutator(Node *node, void *context)
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
		return (Node *) query_tree_mutator((Query *) node, settle_mutator,
										   context, 0);
	return fold(expression_tree_mutator(node, settle_mutator, context),
				context);
}

/*
 * dp_run_settle
 *	  A copy of an inner query with the present values of its parameters and
 *	  times as constants.
 */
Query *
dp_run_settle(Query *inner, ParamListInfo params)
{
	PlannerGlobal *glob = makeNode(PlannerGlobal);
	PlannerInfo *root = makeNode(PlannerInfo);

	glob->boundParams = params;
	root->glob = glob;
	return (Query *) settle_mutator((Node *) inner, root);
}

/* ---- planning ---- */

/* Most bytes of a row that workers hand over. */
#define ROW_MOST ((Size) 1024 * 1024)

/*
 * What workers may hand over: nothing if their look-ups would be visible (not
 * if run->local), or if rows may be too long to reserve memory for.
 */
static dp_workers
allowed_workers(const dp_inner *run, dp_workers wanted, bool needs_none)
{
	if ((!needs_none && !run->local) ||
		(wanted == DP_WORKERS_ROWS && run->row > ROW_MOST))
		return DP_WORKERS_NONE;
	return wanted;
}

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

	none = dp_run_find_needs(inner, &run->needs, &toast);
	if (run->unknown)
	{
		dp_rules_settle_levels(inner);
		return dp_run_public_plan(inner, DP_WORKERS_NONE, &run->facts);
	}
	inner = dp_run_settle(inner, run->params);
	*refusal = dp_rules_check_settled((Node *) inner);
	if (*refusal != NULL)
		return NULL;
	dp_rules_settle_levels(inner);
	inner = dp_rules_limit_memory(inner, &run->memory);
	run->memory += dp_rules_window_memory(inner);
	run->row = dp_rules_row_bytes(inner, run->facts.widest);
	run->facts.toast_needed = toast && !run->local;
	planned = dp_run_public_plan(inner, allowed_workers(run, workers, none),
								 &run->facts);
	run->relations = list_concat(run->relations, planned->relationOids);
	toasts = dp_run_lock_toast(planned->relationOids, &run->relations);
	if (toast)
		run->needs.toast = toasts;
	if (OidIsValid(run->facts.index))
		run->relations = lappend_oid(run->relations, run->facts.index);
	return planned;
}

/* Settings that produce messages or statistics, or make any error fatal. */
typedef struct telling_settings
{
	int			messages;
	int			functions;
	bool		counts;
	bool		exits;
} telling_settings;

/*
 * Whatever the asking role has set, planning sends no messages and keeps no
 * statistics, as reading does (dp_reader_be_quiet).  The variables are set
 * directly, since a nest level of settings costs more than planning a small
 * query.
 */
static void
be_quiet(telling_settings *saved)
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
tell_again(const telling_settings *saved)
{
	client_min_messages = saved->messages;
	pgstat_track_functions = saved->functions;
	pgstat_track_counts = saved->counts;
	ExitOnAnyError = saved->exits;
}

/*
 * dp_run_plan_inner
 *	  Plan an inner query, which is changed.  The plan lives in the current
 *	  context and has no parameters; sets run->needs to what its execution
 *	  needs, and run->relations to all relations that it opens, which are
 *	  locked.
 */
PlannedStmt *
dp_run_plan_inner(dp_inner *run, Query *inner, dp_workers workers)
{
	PlannedStmt *volatile planned = NULL;
	dp_refusal *refusal = NULL;
	BufferUsage buffers = pgBufferUsage;
	WalUsage	wal = pgWalUsage;
	telling_settings saved;

	be_quiet(&saved);
	PG_TRY();
	{
		planned = plan(run, inner, workers, &refusal);
	}
	PG_CATCH();
	{
		tell_again(&saved);
		pgBufferUsage = buffers;
		pgWalUsage = wal;
		dp_reader_mask_error(run->context, true);
	}
	PG_END_TRY();
	tell_again(&saved);
	pgBufferUsage = buffers;
	pgWalUsage = wal;
	if (refusal != NULL)
		dp_bridge_raise_refusal(refusal, NULL);
	return planned;
}
