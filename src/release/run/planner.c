/*
 * planner.c
 *	  The planner hook: in transparent mode have the statement rewritten, find
 *	  private blocks, split them, and make the node of each release the way to
 *	  scan its range table entry.  The refusals of rights where no planner call
 *	  comes first: ExecutorStart, COPY and LOCK.
 *
 * A release stands in the outer query as a call of the marker function
 * dp_pg.release(nonce, index).  The nonce is drawn for every planner call, so
 * that no user can forge a marker: it is accepted only during the planner call
 * that made it, or one nested in it.
 *
 * Ordinary statements cost one walk over their tree (ordinary.c).  The
 * verified inner query of a release is planned unchanged.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/transam.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "optimizer/planmain.h"
#include "optimizer/planner.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "../../math/noise/dp_noise.h"
#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../protect/dp_protect.h"
#include "../../query/domains/dp_domains.h"
#include "../../query/rowsets/dp_rowsets.h"
#include "../../query/split/dp_split.h"
#include "../../query/transparent/dp_transparent.h"
#include "../../reader/dp_reader.h"
#include "../../measure/aggregates/dp_aggregates.h"
#include "../rights/dp_rights.h"
#include "../joined/dp_joined.h"
#include "../inner/dp_inner.h"
#include "dp_run.h"
#include "run_internal.h"

/* ----------------
 *		The refusals of rights.c where no planner call comes first: plans
 *		made for another role, COPY of a table, and LOCK.
 *
 * PostgreSQL's own checks follow and decide: nothing that they would allow is
 * refused here, and nothing else is allowed.
 * ----------------
 */

static ExecutorStart_hook_type next_start = NULL;
static ProcessUtility_hook_type next_utility = NULL;

static void
raise_refusal(const dp_refusal *refusal)
{
	if (refusal != NULL)
		dp_base_raise_refusal(refusal, NULL);
}

/* A plan whose rights are held costs one more check of rights on tables. */
static void
planner_start_executor(QueryDesc *desc, int flags)
{
	Query		level;

	if (!IsParallelWorker())
	{
		dp_compat_plan_level(desc->plannedstmt, &level);
		raise_refusal(dp_rights_refuse_entries(&level));
	}
	if (next_start != NULL)
		next_start(desc, flags);
	else
		standard_ExecutorStart(desc, flags);
}

/* Does the user have no right at all on the table or its columns? */
static bool
has_no_right(Oid relid)
{
	const AclMode any = ACL_SELECT | ACL_INSERT | ACL_UPDATE | ACL_DELETE |
		ACL_TRUNCATE | ACL_MAINTAIN;

	return pg_class_aclmask(relid, GetUserId(), any, ACLMASK_ANY) == 0 &&
		pg_attribute_aclcheck_all(relid, GetUserId(), ACL_SELECT,
								  ACLMASK_ANY) != ACLCHECK_OK;
}

/*
 * The protected relation without a right that a table is, or that a view reads
 * with its reader's rights; or InvalidOid.
 */
static Oid
find_unreadable(Oid relid)
{
	List	   *read = get_rel_relkind(relid) == RELKIND_VIEW ?
		dp_protect_view_reads(relid, true) : list_make1_oid(relid);
	ListCell   *lc;

	foreach(lc, read)
		if (has_no_right(lfirst_oid(lc)) &&
			OidIsValid(dp_protect_root(lfirst_oid(lc))))
			return lfirst_oid(lc);
	return InvalidOid;
}

/*
 * Raise the refusal if a command names something that shows rows of a
 * protected relation.
 */
static void
forbid_named(const RangeVar *name, const char *hint)
{
	Oid			named = RangeVarGetRelid(name, NoLock, true);
	Oid			relid;

	if (named < FirstNormalObjectId)
		return;
	relid = find_unreadable(named);
	if (OidIsValid(relid))
		raise_refusal(dp_rights_make_refusal(named, relid, NULL, hint));
}

static void
forbid_reading(Node *statement)
{
	ListCell   *lc;

	if (IsA(statement, CopyStmt))
	{
		const CopyStmt *copy = (CopyStmt *) statement;

		if (copy->relation != NULL && !copy->is_from)
			forbid_named(copy->relation,
						 psprintf("Copy the answer of a query, as in COPY "
								  "(SELECT %s(*) FROM ..) TO ..",
								  dp_catalog_shown_name("dp_count")));
	}
	else if (IsA(statement, LockStmt))
		foreach(lc, ((LockStmt *) statement)->relations)
			forbid_named(lfirst_node(RangeVar, lc),
						 "Private queries need no lock; pg_dump leaves the "
						 "relation out with --exclude-table.");
}

static void
planner_process_utility(PlannedStmt *statement, const char *query,
						bool read_only_tree,
						ProcessUtilityContext context, ParamListInfo params,
						QueryEnvironment *environment, DestReceiver *receiver,
						QueryCompletion *completion)
{
	forbid_reading(statement->utilityStmt);
	if (next_utility != NULL)
		next_utility(statement, query, read_only_tree, context, params,
					 environment, receiver, completion);
	else
		standard_ProcessUtility(statement, query, read_only_tree, context,
								params, environment, receiver, completion);
}

/* denial_init: called once, while the library is preloaded. */
static void
denial_init(void)
{
	dp_base_add_hook(&ExecutorStart_hook, planner_start_executor,
					 &next_start);
	dp_base_add_hook(&ProcessUtility_hook, planner_process_utility,
					 &next_utility);
}

/* The blocks of one planner call; on the stack of plan_release_query. */
typedef struct planner_call
{
	struct planner_call *outer;
	uint64		nonce;
	List	   *blocks;			/* of dp_block * */
	List	   *relations;		/* OIDs the plan depends on */
	List	   *inval_items;
	Oid			marker;
	bool		tells;			/* raises a NOTICE each time it is planned */
} planner_call;

static planner_hook_type previous_planner = NULL;
static set_rel_pathlist_hook_type previous_pathlist = NULL;
static planner_call *current_call = NULL;

/* ---- the marker function ---- */

static Oid	marker_cache = InvalidOid;
static bool marker_callback = false;

static void
forget_marker(Datum arg, int cacheid, uint32 hashvalue)
{
	marker_cache = InvalidOid;
}

/* The OID of the marker, dp_pg.release(bigint, integer), or InvalidOid. */
static Oid
find_marker(void)
{
	Oid			namespace;
	Oid			types[2] = {INT8OID, INT4OID};

	if (OidIsValid(marker_cache))
		return marker_cache;
	if (!marker_callback)
	{
		CacheRegisterSyscacheCallback(PROCOID, forget_marker, (Datum) 0);
		CacheRegisterSyscacheCallback(NAMESPACEOID, forget_marker, (Datum) 0);
		marker_callback = true;
	}
	namespace = dp_base_catalog_namespace();
	if (!OidIsValid(namespace))
		return InvalidOid;
	marker_cache = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
								   CStringGetDatum("release"),
								   PointerGetDatum(buildoidvector(types, 2)),
								   ObjectIdGetDatum(namespace));
	return marker_cache;
}

static void
raise_forged_marker(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("dp_pg.release cannot be called"),
			 errhint("It stands for a private query inside a plan.")));
}

PG_FUNCTION_INFO_V1(dp_release_called);

/* dp_release_called: the marker's body, reached only by a forged call. */
Datum
dp_release_called(PG_FUNCTION_ARGS)
{
	raise_forged_marker();
	PG_RETURN_NULL();
}

/* The current planner call whose marker this is, or NULL. */
static planner_call *
call_of_marker(FuncExpr *function, int *index)
{
	planner_call *call;
	Const	   *nonce;
	Const	   *place;

	if (list_length(function->args) != 2 ||
		!IsA(linitial(function->args), Const) ||
		!IsA(lsecond(function->args), Const))
		return NULL;
	nonce = linitial(function->args);
	place = lsecond(function->args);
	if (nonce->constisnull || place->constisnull)
		return NULL;
	*index = DatumGetInt32(place->constvalue);
	for (call = current_call; call != NULL; call = call->outer)
		if (call->blocks != NIL &&
			call->nonce == (uint64) DatumGetInt64(nonce->constvalue) &&
			*index >= 0 && *index < list_length(call->blocks))
			return call;
	return NULL;
}

static bool
is_forged_marker(Node *node, const dp_walk *walk)
{
	FuncExpr   *call = (FuncExpr *) node;
	int			index;

	return IsA(node, FuncExpr) && call->funcid == *(Oid *) walk->context &&
		call_of_marker(call, &index) == NULL;
}

/* ---- splitting ---- */

static void
add_dependencies(planner_call *call, Query *query)
{
	List	   *relations;
	List	   *inval_items;
	bool		row_security;

	extract_query_dependencies((Node *) copyObject(query), &relations,
							   &inval_items, &row_security);
	call->relations = list_concat_unique_oid(call->relations, relations);
	call->inval_items = list_concat(call->inval_items, inval_items);
}

/* Record a block and make its entry a call of the marker. */
static void
planner_take_block(dp_block *block, RangeTblEntry *entry, void *context)
{
	planner_call *call = context;
	RangeTblFunction *function = linitial(entry->functions);
	Const	   *nonce = makeConst(INT8OID, -1, InvalidOid, sizeof(int64),
								  Int64GetDatum((int64) call->nonce), false,
								  FLOAT8PASSBYVAL);
	Const	   *index = makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
								  Int32GetDatum(list_length(call->blocks)),
								  false, true);
	FuncExpr   *marker;
	ListCell   *lc;
	ListCell   *lc2;

	marker = makeFuncExpr(call->marker, RECORDOID, list_make2(nonce, index),
						  InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
	marker->funcretset = true;
	function->funcexpr = (Node *) marker;
	call->blocks = lappend(call->blocks, block);
	add_dependencies(call, block->inner);
	foreach(lc, block->subqueries)
		add_dependencies(call, lfirst(lc));
	foreach(lc, block->sources)
	{
		dp_joined  *source = lfirst(lc);

		add_dependencies(call, source->query);
		foreach(lc2, source->steps)
			add_dependencies(call, lfirst(lc2));
	}
	foreach(lc, list_concat_copy(block->keys, block->others))
		if (((dp_key *) lfirst(lc))->values != NULL)
			add_dependencies(call,
							 (Query *) ((dp_key *) lfirst(lc))->values);
}

/*
 * An error is free if its value is returned too; alone, or with another price
 * than the value, it is an additional release, which does not appear in the
 * result.
 */
static void
notice_error_alone(void)
{
	ereport(NOTICE,
			(errmsg("dp_error asks for the error of a value that the query "
					"does not use"),
			 errdetail("The value is released for its error alone, and is "
					   "paid for."),
			 errhint("An error is free if its value is used: use the same "
					 "aggregate, with the same arguments and price.")));
}

static void
split_query(planner_call *call, Query *query, const char *text)
{
	dp_refusal *refusal;
	uint64		drawn[2];
	ListCell   *lc;
	int			share;

	call->marker = find_marker();
	if (!OidIsValid(call->marker))
		return;
	if (dp_base_contains((Node *) query, is_forged_marker, &call->marker, 0))
		raise_forged_marker();
	dp_base_check_status(dp_noise_random_bytes(dp_base_source(), drawn,
											   sizeof(drawn)),
						 "draw a nonce");
	call->nonce = drawn[0];
	refusal = dp_split_all(query, planner_take_block, call,
						   &call->inval_items);
	if (refusal != NULL)
		dp_base_raise_refusal(refusal, text);
	share = dp_aggregates_count_share(call->blocks);
	foreach(lc, call->blocks)
	{
		((dp_block *) lfirst(lc))->share = share;
		((dp_block *) lfirst(lc))->seed = (int64) drawn[1];
		call->tells |= ((dp_block *) lfirst(lc))->error_alone;
	}
	if (call->blocks != NIL && dp_catalog_has_aggregate((Node *) query))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("private aggregate at an unsupported place")));
	if (call->blocks != NIL)
		dp_split_guard_released(query, call->marker);
	if (call->tells)
		notice_error_alone();
}

/*
 * Make a cached plan depend on whatever its releases depend on: by entries
 * that only lock the relations, and by every object that the inner queries
 * use.
 */
static void
add_plan_dependencies(planner_call *call, PlannedStmt *plan)
{
	ListCell   *lc;

	plan->relationOids = list_concat_unique_oid(plan->relationOids,
												call->relations);
	plan->invalItems = list_concat(plan->invalItems, call->inval_items);
	plan->dependsOnRole = true;
	foreach(lc, call->relations)
	{
		RangeTblEntry *entry = makeNode(RangeTblEntry);

		entry->rtekind = RTE_RELATION;
		entry->relid = lfirst_oid(lc);
		entry->relkind = get_rel_relkind(entry->relid);
		entry->rellockmode = AccessShareLock;
		entry->eref = makeAlias("private", NIL);
		plan->rtable = lappend(plan->rtable, entry);
	}
}

/*
 * In transparent mode, read plain aggregates as private ones.  Queries that a
 * release plans have been rewritten already, or read as the owner.  True if
 * the statement may have changed.
 */
static bool
rewrite_query(Query *query, const char *text)
{
	dp_refusal *refusal;
	bool		changed = false;

	if (!dp_setting_transparent ||
		(text != NULL && strcmp(text, DP_PRIVATE_QUERY_TEXT) == 0))
		return false;
	refusal = dp_transparent_query(query, text, &changed);
	if (refusal != NULL)
		dp_base_raise_refusal(refusal, text);
	if (changed)
		dp_rowsets_recount_with(query);
	return changed;
}

/*
 * Could another role get another plan? In transparent mode, if it reads users'
 * relations: the role may lack a right.  And if it reads pg_class, whose
 * statistics may be closed for the role.
 */
static bool
depends_on_role(const PlannedStmt *plan)
{
	ListCell   *lc;

	if (list_member_oid(plan->relationOids, RelationRelationId))
		return true;
	if (dp_setting_transparent)
		foreach(lc, plan->relationOids)
			if (lfirst_oid(lc) >= FirstNormalObjectId)
				return true;
	return false;
}

/* Call the planner that would have planned it without us. */
static PlannedStmt *
hand_on(Query *query, const char *text, int options, ParamListInfo params)
{
	return previous_planner ?
		previous_planner(query, text, options, params) :
		standard_planner(query, text, options, params);
}

static PlannedStmt *
plan_statement(Query *query, const char *text, int options,
			   ParamListInfo params)
{
	planner_call call;
	PlannedStmt *plan;
	dp_kept_plan *wanted = NULL;
	bool		alone = current_call == NULL;
	bool		inlines;		/* it may inline functions into FROM */
	bool		lacks;
	bool		changed;
	bool		closed;

	dp_run_forbid_loud();
	if (dp_inner_is_ours(query, text))
		return dp_inner_plan_met(hand_on, query, text, options, params);
	if (dp_run_is_ordinary(query))
	{
		plan = hand_on(query, text, options, params);
		plan->dependsOnRole |= depends_on_role(plan);
		return plan;
	}
	closed = dp_transparent_close_statistics(query);
	plan = alone ? dp_run_find_plan(query, text, options, params) : NULL;
	if (plan != NULL)
		return plan;
	/* with every right, nothing is private */
	lacks = dp_rights_lacks_right(query);
	changed = lacks && rewrite_query(query, text);
	if (changed)
		lacks = dp_rights_lacks_right(query);
	memset(&call, 0, sizeof(call));
	inlines = dp_run_may_hold_block(query);
	if (inlines && alone)
		wanted = dp_run_want_plan(query, text, options, params);
	/* without a right, it may ask for public keys only */
	if (inlines || (lacks && dp_rights_reaches_protected(query)))
	{
		split_query(&call, query, text);
		dp_rowsets_recount_with(query);
		dp_rights_check_first(query);
	}
	if (call.blocks != NIL)
		options &= ~CURSOR_OPT_PARALLEL_OK;

	/* Always pushed: an unrelated planner call must not see outer blocks. */
	call.outer = current_call;
	current_call = &call;
	PG_TRY();
	{
		plan = hand_on(query, text, options, params);
	}
	PG_FINALLY();
	{
		current_call = call.outer;
	}
	PG_END_TRY();

	if (call.blocks != NIL)
		add_plan_dependencies(&call, plan);
	plan->dependsOnRole |= changed || closed || depends_on_role(plan);
	if (wanted != NULL && !call.tells)
		dp_run_keep_plan(wanted, plan);
	return plan;
}

/*
 * If the statement is run while an inner query is planned, that is suspended.
 */
static PlannedStmt *
plan_release_query(Query *query, const char *text, int options,
				   ParamListInfo params)
{
	dp_inner_planning *inner = dp_inner_leave();
	PlannedStmt *volatile plan = NULL;

	if (inner == NULL)
		return plan_statement(query, text, options, params);
	PG_TRY();
	{
		plan = plan_statement(query, text, options, params);
	}
	PG_FINALLY();
	{
		dp_inner_enter(inner);
	}
	PG_END_TRY();
	return plan;
}

/* ---- paths ---- */

static void
add_release_path(PlannerInfo *root, RelOptInfo *rel, Index rti,
				 RangeTblEntry *entry)
{
	RangeTblFunction *function;
	planner_call *call;
	int			index;

	if (previous_pathlist)
		previous_pathlist(root, rel, rti, entry);
	if (entry->rtekind != RTE_FUNCTION || list_length(entry->functions) != 1)
		return;
	function = linitial(entry->functions);
	if (!IsA(function->funcexpr, FuncExpr) ||
		((FuncExpr *) function->funcexpr)->funcid < FirstNormalObjectId ||
		((FuncExpr *) function->funcexpr)->funcid != find_marker())
		return;
	call = call_of_marker((FuncExpr *) function->funcexpr, &index);
	if (call == NULL)
		raise_forged_marker();
	if (IS_DUMMY_REL(rel))
		return;
	if (!bms_is_empty(rel->lateral_relids))
		elog(ERROR, "release depends on an outer relation");
	dp_run_add_path(root, rel, list_nth(call->blocks, index), call->nonce,
						index);
}

/*
 * dp_run_init
 *	  Install the hooks and the node; called once, while preloading.
 */
void
dp_run_init(void)
{
	dp_run_node_init();
	dp_joined_shared_rows_init();
	dp_run_quiet_init();
	dp_inner_public_plan_init();
	dp_run_work_init();
	denial_init();
	dp_base_add_hook(&planner_hook, plan_release_query, &previous_planner);
	dp_base_add_hook(&set_rel_pathlist_hook, add_release_path,
					 &previous_pathlist);
}
