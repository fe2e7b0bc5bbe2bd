/*
 * run.c
 *	  Run one release: plan, charge, execute, add noise.
 *
 * The order is what makes it private:
 *
 *	  1. subqueries of the block run, each with a charge of its own;
 *	  2. the inner query is planned, with the table owner's right to read;
 *	  3. the charge becomes durable;
 *	  4. the inner query is executed; only now is a private row read;
 *	  5. noise is drawn, and the exact numbers are forgotten.
 *
 * Nothing of the data leaves but the noisy rows.  While private rows are
 * about, messages go to nobody and statistics are not counted; an error of
 * steps 2 and 4 is replaced by one text and SQLSTATE, except that planning may
 * say what is unsupported, and that cancels, deadlocks, serialization
 * failures and lock timeouts keep their SQLSTATE, which depends on other
 * sessions and not on the rows.
 *
 * Rights: the current user never changes.  The inner query's entry of the
 * protected relation is checked as its owner (checkAsUser), so no function
 * ever runs with the owner's rights.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "rewrite/rewriteHandler.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "release.h"

/* ---- preconditions ---- */

static void
check_preconditions(void)
{
	if (IsParallelWorker() || IsInParallelMode())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("a private query cannot run inside a parallel "
						"operation")));
	if (IsolationIsSerializable())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a private query cannot run in a serializable "
						"transaction"),
				 errdetail("Predicate locks would show which rows were "
						   "read."),
				 errhint("Use REPEATABLE READ or READ COMMITTED.")));
	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("a private query cannot run during recovery"),
				 errdetail("Its charge could not be written."),
				 errhint("Ask on the primary server.")));
}

/* ---- rights ---- */

typedef struct rights_context
{
	Oid			relid;
	Oid			owner;
	List	   *entries;		/* of RangeTblEntry * */
} rights_context;

static bool
rights_walker(Node *node, void *context)
{
	rights_context *rights = context;

	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		RangeTblEntry *entry = (RangeTblEntry *) node;

		if (entry->rtekind != RTE_RELATION)
			return false;
		if (entry->relid == rights->relid)
			entry->checkAsUser = rights->owner;
		rights->entries = lappend(rights->entries, entry);
		return false;
	}
	if (IsA(node, Query))
	{
		((Query *) node)->queryId = UINT64CONST(0);
		return query_tree_walker((Query *) node, rights_walker, context,
								 QTW_EXAMINE_RTES_BEFORE);
	}
	return expression_tree_walker(node, rights_walker, context);
}

/*
 * The owner of a dataset asks without limit, but only about his own tables:
 * one that was given to another role is no longer his to read.
 */
static void
check_exempt(const dp_relation *relation, const dp_ledger_standing *standing)
{
	if (!standing->exempt || has_privs_of_role(standing->asking,
											   relation->owner))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("relation \"%s\" does not belong to the owner of its "
					"dataset", get_rel_name(relation->relid)),
			 errdetail("Role \"%s\" owns dataset \"%s\" and asks without "
					   "limit, but does not own the relation.",
					   GetUserNameFromId(standing->asking, false),
					   relation->dataset),
			 errhint("Unprotect the relation and protect it in a dataset of "
					 "its owner.")));
}

/*
 * dp_release_take_rights
 *	  Give the inner query the owner's right to read the protected relation.
 *	  Answers the query's relation entries, permissions checked.
 *
 * The caller has made sure that the asking role holds a budget on the
 * dataset, or the charge will before anything is read.
 *
 * Errors: 42501 no right on something else in the query; 55000 the relation
 * is no longer protected.
 */
List *
dp_release_take_rights(const dp_block *block,
					   const dp_ledger_standing *standing, Query *query)
{
	rights_context rights;
	dp_relation *relation = dp_relation_lookup(block->relid);
	dp_refusal *refusal;

	if (relation == NULL || strcmp(relation->dataset, block->dataset) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("protection of a relation changed since the query was "
						"planned"),
				 errhint("Run the query again.")));
	refusal = dp_query_check_unit(relation, GetActiveSnapshot());
	if (refusal != NULL)
		dp_bridge_raise_refusal(refusal, NULL);
	check_exempt(relation, standing);
	rights.relid = relation->relid;
	rights.owner = relation->owner;
	rights.entries = NIL;
	(void) rights_walker((Node *) query, &rights);
	(void) ExecCheckRTPerms(rights.entries, true);
	return rights.entries;
}

/* ---- silence while private rows are about ---- */

/*
 * Memory of the inner query's sorts and hash tables, whatever the analyst set:
 * groups are private until they meet the public ones, and how many there are
 * must not show in the memory that the server takes, or runs out of.
 */
#define INNER_WORK_MEM "64MB"

#define SMALL_STATE 128			/* cells that workers may hand over */

typedef struct silence
{
	int			nest;
	BufferUsage buffers;
	WalUsage	wal;
} silence;

static void
silence_begin(silence *s)
{
	s->buffers = pgBufferUsage;
	s->wal = pgWalUsage;
	s->nest = NewGUCNestLevel();
	dp_bridge_set_local("client_min_messages", "error");
	dp_bridge_set_local("exit_on_error", "off");	/* else errors are FATAL */
	dp_bridge_set_local("track_counts", "off");
	dp_bridge_set_local("track_functions", "none");
	dp_bridge_set_local("work_mem", INNER_WORK_MEM);
	dp_bridge_set_local("hash_mem_multiplier", "2");
}

static void
silence_end(silence *s)
{
	AtEOXact_GUC(false, s->nest);
	pgBufferUsage = s->buffers;
	pgWalUsage = s->wal;
}

/* ---- errors of the inner run ---- */

static bool
may_keep_code(int code)
{
	return code == ERRCODE_QUERY_CANCELED ||
		code == ERRCODE_T_R_SERIALIZATION_FAILURE ||
		code == ERRCODE_T_R_DEADLOCK_DETECTED ||
		code == ERRCODE_LOCK_NOT_AVAILABLE;
}

static bool
may_pass_from_planning(int code)
{
	int			category = ERRCODE_TO_CATEGORY(code);

	return category == ERRCODE_FEATURE_NOT_SUPPORTED ||
		category == ERRCODE_SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION;
}

/*
 * Replace the error being handled.  Called in a PG_CATCH block; the original
 * goes to the server log only.
 */
static void
mask_error(MemoryContext context, const silence *quiet, bool planning)
{
	ErrorData  *original;
	int			code;

	pgBufferUsage = quiet->buffers;
	pgWalUsage = quiet->wal;
	MemoryContextSwitchTo(context);
	original = CopyErrorData();
	code = original->sqlerrcode;
	if (planning && may_pass_from_planning(code))
		PG_RE_THROW();
	FlushErrorState();
	if (may_keep_code(code))
		ereport(ERROR,
				(errcode(code),
				 errmsg("the private query was interrupted"),
				 errdetail("SQLSTATE %s; the charge stands if it was made.",
						   unpack_sql_state(code))));
	ereport(LOG_SERVER_ONLY,
			(errmsg("private query failed: %s: %s", unpack_sql_state(code),
					original->message)));
	ereport(ERROR,
			(errcode(ERRCODE_DATA_EXCEPTION),
			 errmsg("the private query failed"),
			 errdetail("What failed is not told, because it could depend on "
					   "private rows; the charge stands if it was made."),
			 errhint("The server log says more to the administrator.")));
}

/* ---- subqueries of the block ---- */

typedef struct scalar_receiver
{
	DestReceiver receiver;
	int			rows;
	bool		isnull;
	Datum		value;
	int16		length;
	bool		by_value;
	MemoryContext context;
} scalar_receiver;

static bool
receive_scalar(TupleTableSlot *slot, DestReceiver *self)
{
	scalar_receiver *scalar = (scalar_receiver *) self;
	MemoryContext old;

	if (++scalar->rows > 1)
		ereport(ERROR,
				(errcode(ERRCODE_CARDINALITY_VIOLATION),
				 errmsg("more than one row returned by a subquery used as an "
						"expression")));
	scalar->value = slot_getattr(slot, 1, &scalar->isnull);
	old = MemoryContextSwitchTo(scalar->context);
	if (!scalar->isnull)
		scalar->value = datumCopy(scalar->value, scalar->by_value,
								  scalar->length);
	MemoryContextSwitchTo(old);
	return true;
}

static void
scalar_startup(DestReceiver *self, int operation, TupleDesc typeinfo)
{
}

static void
scalar_nothing(DestReceiver *self)
{
}

static void
execute(PlannedStmt *plan, EState *estate, DestReceiver *receiver)
{
	QueryDesc  *desc = CreateQueryDesc(plan, DP_PRIVATE_QUERY_TEXT,
									   GetActiveSnapshot(), InvalidSnapshot,
									   receiver, estate->es_param_list_info,
									   estate->es_queryEnv, 0);

	ExecutorStart(desc, 0);
	ExecutorRun(desc, ForwardScanDirection, 0, true);
	ExecutorFinish(desc);
	ExecutorEnd(desc);
	FreeQueryDesc(desc);
}

/*
 * dp_release_plan_subquery
 *	  Plan a hoisted subquery of the block as the analyst's own query.
 */
PlannedStmt *
dp_release_plan_subquery(const dp_block *block, Query *subquery,
						 EState *estate)
{
	Query	   *query = copyObject(subquery);
	PlannedStmt *plan;
	int			outer = dp_release_enter_share(block->share);

	PG_TRY();
	{
		AcquireRewriteLocks(query, true, false);
		plan = pg_plan_query(query, DP_PRIVATE_QUERY_TEXT, 0,
							 estate->es_param_list_info);
	}
	PG_FINALLY();
	{
		(void) dp_release_enter_share(outer);
	}
	PG_END_TRY();
	return plan;
}

/*
 * Run one uncorrelated scalar subquery as the analyst, with whatever charges
 * it makes, and answer its value as a constant.
 */
static Const *
run_subquery(const dp_block *block, Query *subquery, EState *estate)
{
	TargetEntry *target = linitial(subquery->targetList);
	Oid			type = exprType((Node *) target->expr);
	scalar_receiver scalar;
	PlannedStmt *plan;

	memset(&scalar, 0, sizeof(scalar));
	scalar.receiver.receiveSlot = receive_scalar;
	scalar.receiver.rStartup = scalar_startup;
	scalar.receiver.rShutdown = scalar_nothing;
	scalar.receiver.rDestroy = scalar_nothing;
	scalar.receiver.mydest = DestNone;
	scalar.isnull = true;
	scalar.context = CurrentMemoryContext;
	get_typlenbyval(type, &scalar.length, &scalar.by_value);

	plan = dp_release_plan_subquery(block, subquery, estate);
	execute(plan, estate, &scalar.receiver);
	return makeConst(type, exprTypmod((Node *) target->expr),
					 exprCollation((Node *) target->expr), scalar.length,
					 scalar.isnull ? (Datum) 0 : scalar.value, scalar.isnull,
					 scalar.by_value);
}

/* What made-up parameters stand for. */
typedef struct made_up
{
	List	   *constants;		/* of Const *: results of hoisted subqueries */
	Const	   *part;			/* value of the charged part, or NULL */
} made_up;

static Const *
constant_of(const Param *param, const made_up *values)
{
	int			n = DP_HOISTED_PARAM(param->paramid);
	Const	   *constant = values->part;

	if (param->paramid != DP_PART_PARAM)
	{
		if (n >= list_length(values->constants))
			elog(ERROR, "parameter of a subquery is out of range");
		constant = list_nth(values->constants, n);
	}
	if (constant == NULL || constant->consttype != param->paramtype)
		elog(ERROR, "parameter of a subquery has an unexpected type");
	return copyObject(constant);
}

static Node *
fill_params_mutator(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXTERN &&
		((Param *) node)->paramid < 0)
		return (Node *) constant_of((Param *) node, context);
	if (IsA(node, Query))
		return (Node *) query_tree_mutator((Query *) node,
										   fill_params_mutator, context, 0);
	return expression_tree_mutator(node, fill_params_mutator, context);
}

/* ---- the steps ---- */

/*
 * Which plan is chosen shows in pg_stat_activity and in pg_locks (parallel
 * workers), and the planner's choice follows statistics of private columns
 * and settings of the analyst.  So the shape of the inner plan is made to
 * depend on public things: the table is always read as a whole, by as many
 * workers as its size and the settings give.
 */
typedef struct plan_settings
{
	bool		indexscan;
	bool		indexonlyscan;
	bool		bitmapscan;
	double		setup_cost;
	double		tuple_cost;
} plan_settings;

static void
make_plans_public(plan_settings *saved)
{
	saved->indexscan = enable_indexscan;
	saved->indexonlyscan = enable_indexonlyscan;
	saved->bitmapscan = enable_bitmapscan;
	saved->setup_cost = parallel_setup_cost;
	saved->tuple_cost = parallel_tuple_cost;
	enable_indexscan = false;
	enable_indexonlyscan = false;
	enable_bitmapscan = false;
	parallel_setup_cost = 0;
	parallel_tuple_cost = 0;
}

static void
restore_settings(const plan_settings *saved)
{
	enable_indexscan = saved->indexscan;
	enable_indexonlyscan = saved->indexonlyscan;
	enable_bitmapscan = saved->bitmapscan;
	parallel_setup_cost = saved->setup_cost;
	parallel_tuple_cost = saved->tuple_cost;
}

/*
 * Workers hand over one state for each of their groups, which are as many as
 * there are private keys; where states are large they would fill disks.
 */
static bool
may_use_workers(const dp_release_spec *spec)
{
	int64		cells = 0;
	int			i;

	for (i = 0; i < spec->nmeasures; i++)
	{
		cells += spec->measures[i].ncells;
		if (spec->measures[i].ops->kind == DP_AGG_QUANTILE ||
			spec->measures[i].ops->kind == DP_AGG_MEDIAN)
			cells += SMALL_STATE;
	}
	return spec->nkeys == 0 || cells <= SMALL_STATE;
}

static PlannedStmt *
plan_inner(const dp_release_spec *spec, Query *inner, EState *estate,
		   const silence *quiet, MemoryContext context)
{
	PlannedStmt *volatile plan = NULL;
	plan_settings saved;

	make_plans_public(&saved);
	PG_TRY();
	{
		AcquireRewriteLocks(inner, true, false);
		plan = pg_plan_query(inner, DP_PRIVATE_QUERY_TEXT,
							 may_use_workers(spec) ?
							 CURSOR_OPT_PARALLEL_OK : 0,
							 estate->es_param_list_info);
	}
	PG_CATCH();
	{
		restore_settings(&saved);
		mask_error(context, quiet, true);
	}
	PG_END_TRY();
	restore_settings(&saved);
	return plan;
}

static void
execute_inner(PlannedStmt *plan, EState *estate, dp_cells *cells,
			  const silence *quiet, MemoryContext context)
{
	PG_TRY();
	{
		execute(plan, estate, dp_cells_receiver(cells));
	}
	PG_CATCH();
	{
		mask_error(context, quiet, false);
	}
	PG_END_TRY();
}

/* dp_release_request: what the release asks the ledger for. */
void
dp_release_request(const dp_release_spec *spec, dp_ledger_request *request)
{
	memset(request, 0, sizeof(*request));
	namestrcpy(&request->dataset, spec->block->dataset);
	strlcpy(request->mechanism, dp_release_mechanism_text(spec),
			DP_MECHANISM_LENGTH);
	request->charge = spec->charge;
	request->releases = spec->nmeasures;
	request->fingerprint = spec->block->fingerprint;
	request->replace_one = spec->replace_one;
	request->part = spec->part;
}

static void
charge_release(dp_release_spec *spec)
{
	dp_ledger_request request;
	dp_ledger_receipt receipt;

	dp_release_request(spec, &request);
	dp_ledger_charge(&request, &receipt);
	dp_release_remember(spec, &receipt);
}

/*
 * dp_release_run
 *	  Run a prepared release and answer its rows.  The tuplestore lives in the
 *	  current context; everything else is freed.
 */
Tuplestorestate *
dp_release_run(dp_release_spec *spec, const dp_ledger_standing *standing,
			   EState *estate, TupleDesc result)
{
	Tuplestorestate *store = tuplestore_begin_heap(true, false, work_mem);
	MemoryContext work = AllocSetContextCreate(CurrentMemoryContext,
											   "dp_pg release",
											   ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(work);
	Query	   *inner = dp_release_inner_query(spec);
	made_up		values = {NIL, spec->part_value};
	PlannedStmt *plan;
	dp_refusal *refusal;
	dp_cells   *cells;
	silence		quiet;
	ListCell   *lc;

	check_preconditions();
	PushActiveSnapshot(estate->es_snapshot);
	dp_release_check_part(spec, estate->es_snapshot);
	foreach(lc, spec->block->subqueries)
		values.constants = lappend(values.constants,
								   run_subquery(spec->block, lfirst(lc),
												estate));
	if (values.constants != NIL || values.part != NULL)
		inner = (Query *) fill_params_mutator((Node *) inner, &values);
	refusal = dp_expression_check_query(inner);
	if (refusal != NULL)
		dp_bridge_raise_refusal(refusal, NULL);
	(void) dp_release_take_rights(spec->block, standing, inner);
	dp_release_lock_storage(spec->block->relid);
	cells = dp_cells_create(spec);

	silence_begin(&quiet);
	plan = plan_inner(spec, inner, estate, &quiet, work);
	charge_release(spec);
	execute_inner(plan, estate, cells, &quiet, work);
	silence_end(&quiet);
	PopActiveSnapshot();

	dp_cells_release(cells, result, store);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(work);
	return store;
}
