/*
 * public_plan.c
 *	  Plans of inner queries follow from public facts.
 *
 * Which plan was chosen is visible in pg_stat_activity and pg_locks (parallel
 * workers), in counters, in time, and in the pages that are read.  If the
 * planner used statistics of private columns, an analyst's cost settings could
 * turn each of its choices into a question about exact numbers.  So while an
 * inner query is planned
 *
 *	- statistics, widths and indexes of its relations do not exist, except
 *	  one index whose pages its owner declared public (public_index.c);
 *	- every relation has the same size, except that the number of workers
 *	  follows the size its owner declared (public_size.c);
 *	- settings of costs, and those that enable kinds of plans, as far
 *	  as these can be part of such a plan, have constant values;
 *	- nothing is compiled by LLVM: what is inlined depends on costs, and
 *	  inlining takes minutes for wide queries;
 *
 * and the plan has only the nodes listed below.  None sorts, except for
 * windows over rows of some units (bound/gather.c), in memory.  None hashes,
 * except Agg, whose groups are public, and joins, which hash rows of one name
 * or groups; so nothing is written to disk.  None waits for a value that is
 * found while rows are read.  (If workers hand rows over, a node below Gather
 * packs them, reader/pack.c; below a nested loop a node keeps rows of one name
 * in memory, public_join.c.) What remains to choose by is public: the text of
 * the query, declarations, bounds of partitions, and the session's settings
 * for parallel workers and constraint_exclusion.
 *
 * The hook that hides sizes is called for every relation, so rights of
 * ordinary statements are checked there once more (rights.c).
 */
#include "postgres.h"

#include "access/transam.h"
#include "jit/jit.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/geqo.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/plancat.h"
#include "optimizer/planmain.h"
#include "rewrite/rewriteHandler.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "public.h"

static get_relation_info_hook_type previous_info = NULL;
static set_rel_pathlist_hook_type previous_pathlist = NULL;

/*
 * An inner query passed to the planner by plan_once.  Our planner hook
 * recognizes it by its address or by that of its text, since another library's
 * hook before ours may copy either.
 */
typedef struct inner_query
{
	struct inner_query *outer;
	const Query *query;
	dp_public_facts *facts;
	bool		met;			/* our hook was called for it */
} inner_query;

static inner_query *awaited = NULL; /* the innermost */
static const char inner_text[] = DP_PRIVATE_QUERY_TEXT;

/*
 * Set while the planner works on an inner query only, not while it works on
 * statements of a function that planning calls, for a constraint for example
 * (planner.c).
 */
static dp_inner_planning *in_force = NULL;
static dp_public_facts *planning = NULL;	/* its facts, or NULL */

/* The hooks that ours replace meanwhile. */
static get_relation_stats_hook_type others_stats;
static get_index_stats_hook_type others_index_stats;
static get_attavgwidth_hook_type others_width;

/* ---- settings ---- */

static const struct
{
	bool	   *setting;
	bool		value;
}			switches[] =
{
	{&enable_async_append, true},
	{&enable_bitmapscan, false},
	{&enable_gathermerge, true},
	{&enable_geqo, false},
	{&enable_hashagg, true},
	{&enable_hashjoin, false},	/* public_join.c makes them */
	{&enable_incremental_sort, false},
	{&enable_indexonlyscan, false},
	{&enable_indexscan, true},
	{&enable_material, false},
	{&enable_memoize, false},
	{&enable_mergejoin, false},
	{&enable_nestloop, false},
	{&enable_parallel_append, true},
	{&enable_parallel_hash, false},
	{&enable_partition_pruning, true},
	{&enable_partitionwise_aggregate, false},
	{&enable_partitionwise_join, false},
	{&enable_seqscan, true},
	{&enable_sort, false},
	{&enable_tidscan, false},
	{&jit_enabled, false},
};

/* Workers cost nothing, so that as many are used as allowed. */
static const struct
{
	double	   *setting;
	double		value;
}			costs[] =
{
	{&cpu_index_tuple_cost, DEFAULT_CPU_INDEX_TUPLE_COST},
	{&cpu_operator_cost, DEFAULT_CPU_OPERATOR_COST},
	{&cpu_tuple_cost, DEFAULT_CPU_TUPLE_COST},
	DP_COMPAT_DISABLE_COST(DP_RUN_OFF)
	{&hash_mem_multiplier, 2},
	{&parallel_setup_cost, 0},
	{&parallel_tuple_cost, 0},
	{&random_page_cost, DEFAULT_RANDOM_PAGE_COST},
	{&seq_page_cost, DEFAULT_SEQ_PAGE_COST},
};

/* The defaults. */
static const struct
{
	int		   *setting;
	int			value;
}			limits[] =
{
	{&effective_cache_size, DEFAULT_EFFECTIVE_CACHE_SIZE},
	{&dp_compat_forced_parallel, 0},
	{&from_collapse_limit, 8},
	{&join_collapse_limit, 8},
	{&work_mem, MAX_KILOBYTES},
};

struct dp_inner_planning
{
	dp_public_facts *facts;
	/* saved settings */
	bool		switches[lengthof(switches)];
	double		costs[lengthof(costs)];
	int			limits[lengthof(limits)];
};

static void
set_all(dp_inner_planning *saved)
{
	int			i;

	for (i = 0; i < lengthof(switches); i++)
	{
		saved->switches[i] = *switches[i].setting;
		*switches[i].setting = switches[i].value;
	}
	for (i = 0; i < lengthof(costs); i++)
	{
		saved->costs[i] = *costs[i].setting;
		*costs[i].setting = costs[i].value;
	}
	for (i = 0; i < lengthof(limits); i++)
	{
		saved->limits[i] = *limits[i].setting;
		*limits[i].setting = limits[i].value;
	}
}

static void
reset_all(const dp_inner_planning *saved)
{
	int			i;

	for (i = 0; i < lengthof(switches); i++)
		*switches[i].setting = saved->switches[i];
	for (i = 0; i < lengthof(costs); i++)
		*costs[i].setting = saved->costs[i];
	for (i = 0; i < lengthof(limits); i++)
		*limits[i].setting = saved->limits[i];
}

/* ---- what the planner hears of relations ---- */

static void
hide_relation(PlannerInfo *root, Oid relid, bool is_parent, RelOptInfo *rel)
{
	if (planning == NULL)
		dp_run_check_rights_met(root, relid);
	if (previous_info)
		previous_info(root, relid, is_parent, rel);
	if (planning == NULL)
	{
		dp_run_hide_rows(root, rel);
		return;
	}
	rel->statlist = NIL;
	dp_run_find_public_index(relid, rel, planning);
	if (!is_parent)				/* its parts have a size, it has none */
		dp_run_public_size(root, relid, rel, planning);
}

static bool
hide_stats(PlannerInfo *root, RangeTblEntry *entry, AttrNumber attnum,
		   VariableStatData *data)
{
	data->statsTuple = NULL;
	return true;
}

static bool
hide_index_stats(PlannerInfo *root, Oid index, AttrNumber column,
				 VariableStatData *data)
{
	data->statsTuple = NULL;
	return true;
}

static int32
hide_width(Oid relid, AttrNumber attnum)
{
	Oid			type;
	Oid			collation;
	int32		typmod;

	get_atttypetypmodcoll(relid, attnum, &type, &typmod, &collation);
	return get_typavgwidth(type, typmod);
}

/*
 * Prevent the planner from making rows of a semijoin unique to join them
 * earlier: that hashes groups of unknown number (block/unit_levels.c).
 */
static void
keep_asked_rows(PlannerInfo *root)
{
	ListCell   *lc;

	foreach(lc, root->join_info_list)
	{
		SpecialJoinInfo *join = lfirst(lc);

		join->semi_can_btree = false;
		join->semi_can_hash = false;
	}
}

/*
 * Drop the order in which windows leave rows, so that nothing above merges by
 * it or groups rows as they arrive.
 */
static void
forget_order(RelOptInfo *rel)
{
	ListCell   *lc;

	foreach(lc, rel->pathlist)
		((Path *) lfirst(lc))->pathkeys = NIL;
}

/* Raise the error for a foreign partition of a protected relation. */
pg_noreturn static void
raise_foreign(Oid relid)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot read foreign table \"%s\" in a private query",
					get_rel_name(relid)),
			 errdetail("It is part of a protected relation, but another "
					   "server keeps its rows and would see what is asked of "
					   "them.  %s", dp_ledger_told_uncharged()),
			 errhint("Add conditions that exclude it, or ask the owner to "
					 "detach it; dp_audit() shows the command.")));
}

/*
 * All paths of a relation or part are known, and the sizes of all parts.
 * Paths of a partitioned relation are made again from those of its parts, so
 * each of them must do without workers.
 */
static void
hide_paths(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *entry)
{
	if (previous_pathlist)
		previous_pathlist(root, rel, rti, entry);
	if (planning != NULL)
	{
		keep_asked_rows(root);
		forget_order(rel);
		if (entry->rtekind == RTE_NAMEDTUPLESTORE && planning->shares_rows &&
			dp_run_is_public_name(entry->enrname, planning))
			dp_run_share_rows(root, rel);
	}
	if (entry->rtekind != RTE_RELATION)
		return;
	if (planning == NULL)
	{
		dp_run_hide_rows_first(root, rel, entry);
		return;
	}
	if (rel->fdwroutine != NULL)
		raise_foreign(entry->relid);
	if (dp_run_prefer_public_index(rel) ||
		!dp_run_may_share_public(root, planning))
	{
		rel->partial_pathlist = NIL;
		rel->consider_parallel = false;
	}
}

/* Hooks that are installed only meanwhile: planning calls them often. */
static void
enter_hooks(void)
{
	others_stats = get_relation_stats_hook;
	get_relation_stats_hook = hide_stats;
	others_index_stats = get_index_stats_hook;
	get_index_stats_hook = hide_index_stats;
	others_width = get_attavgwidth_hook;
	get_attavgwidth_hook = hide_width;
	dp_run_weigh_public_joins(planning);
}

static void
leave_hooks(void)
{
	get_relation_stats_hook = others_stats;
	get_index_stats_hook = others_index_stats;
	get_attavgwidth_hook = others_width;
	dp_run_weigh_public_joins(NULL);
}

/* dp_run_enter_inner: resume what dp_run_leave_inner returned. */
void
dp_run_enter_inner(dp_inner_planning *inner)
{
	set_all(inner);
	in_force = inner;
	planning = inner->facts;
	enter_hooks();
}

/*
 * dp_run_leave_inner: suspend the inner query being planned; NULL if there is
 * none.
 */
dp_inner_planning *
dp_run_leave_inner(void)
{
	dp_inner_planning *inner = in_force;

	if (inner == NULL)
		return NULL;
	leave_hooks();
	planning = NULL;
	in_force = NULL;
	reset_all(inner);
	return inner;
}

/* dp_run_is_inner: is this the inner query that the planner hook waits for? */
bool
dp_run_is_inner(const Query *query, const char *text)
{
	return awaited != NULL && (query == awaited->query || text == inner_text);
}

/* dp_run_plan_met: plan the inner query, by the planner behind our hook. */
PlannedStmt *
dp_run_plan_met(planner_hook_type behind, Query *query, const char *text,
				int options, ParamListInfo params)
{
	dp_inner_planning inner = {awaited->facts};
	PlannedStmt *volatile plan = NULL;

	awaited->met = true;
	dp_run_enter_inner(&inner);
	PG_TRY();
	{
		plan = behind(query, text, options, params);
	}
	PG_FINALLY();
	{
		(void) dp_run_leave_inner();
	}
	PG_END_TRY();
	return plan;
}

/* ---- what comes out ---- */

static bool
is_allowed(const Plan *plan, const dp_public_facts *facts)
{
	switch (nodeTag(plan))
	{
		case T_Agg:
		case T_Append:
		case T_Gather:
		case T_Group:
		case T_Hash:
		case T_HashJoin:
		case T_NamedTuplestoreScan:
		case T_NestLoop:
		case T_Result:
		case T_SeqScan:
		case T_SubqueryScan:
			return true;
		case T_CustomScan:
			return dp_run_is_shared(plan);
		case T_WindowAgg:
			return facts->private_names > 0;
		case T_IndexScan:
			return dp_run_reads_public_part((const IndexScan *) plan, facts);
		default:
			return false;
	}
}

static void
raise_step(const char *what, int type)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("the plan of a private query has a step that must not "
					"read private rows"),
			 errdetail("Its %s has type %d.  %s", what,
					   type, dp_ledger_told_uncharged()),
			 errhint("Another extension may have added it; otherwise please "
					 "report it.")));
}

static void
raise_full_join(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("the condition of a FULL JOIN is never true"),
			 errdetail("What it compares with is NULL or false.  Nothing was "
					   "charged."),
			 errhint("Ask of each side by itself.")));
}

/* Initial number of rows for hash tables of joins. */
#define HASHED_ROWS 1000

/*
 * Check that nodes are allowed; limit the initial size of hash tables of
 * groups to the number of groups, and keep that of joins small.
 */
static void
check_nodes(Plan *plan, const dp_public_facts *facts)
{
	ListCell   *lc;

	if (plan == NULL)
		return;
	if (IsA(plan, MergeJoin) && ((Join *) plan)->jointype == JOIN_FULL)
		raise_full_join();
	if (!is_allowed(plan, facts))
		raise_step("node", (int) nodeTag(plan));
	if (IsA(plan, Agg))
		((Agg *) plan)->numGroups = Min(((Agg *) plan)->numGroups,
										 Max(facts->groups, 1));
	if (IsA(plan, Hash))
		plan->lefttree->plan_rows = HASHED_ROWS;
	if (IsA(plan, WindowAgg) && IsA(plan->lefttree, Sort))
	{
		check_nodes(plan->lefttree->lefttree, facts);
		return;
	}
	foreach(lc, dp_bridge_plans_below(plan))
		check_nodes(lfirst(lc), facts);
}

/*
 * Check that no step passes a value to another: if it excluded partitions, the
 * choice would depend on rows.  (Parameters without a type only trigger a
 * rescan.)
 */
static void
check_plan(const PlannedStmt *plan, const dp_public_facts *facts)
{
	ListCell   *lc;

	if (dp_run_hashes_joined(plan->planTree, facts))
		raise_step("hash table of a join", (int) T_Hash);
	check_nodes(plan->planTree, facts);
	foreach(lc, plan->subplans)
		check_nodes(lfirst(lc), facts);
	foreach(lc, plan->paramExecTypes)
		if (OidIsValid(lfirst_oid(lc)))
			raise_step("parameter", (int) lfirst_oid(lc));
	Assert(plan->jitFlags == PGJIT_NONE);
}

/* Raise the error for a plan made by statistics. */
pg_noreturn static void
raise_unmet(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("another extension planned the private part of a query"),
			 errdetail("Its planner hook passed on another statement.  %s",
					   dp_ledger_told_uncharged()),
			 errhint("Put it before dp_pg in shared_preload_libraries.")));
}

static PlannedStmt *
plan_once(Query *inner, dp_workers workers, dp_public_facts *facts)
{
	PlannedStmt *volatile plan = NULL;
	inner_query query = {awaited, inner, facts};

	awaited = &query;
	PG_TRY();
	{
		AcquireRewriteLocks(inner, true, false);
		plan = pg_plan_query(inner, inner_text,
							 workers == DP_WORKERS_NONE ? 0 :
							 CURSOR_OPT_PARALLEL_OK, NULL);
	}
	PG_FINALLY();
	{
		awaited = query.outer;
	}
	PG_END_TRY();
	if (!query.met)
		raise_unmet();
	return plan;
}

/* Do workers hand over only states of groups? */
static bool
hands_over_states(const Plan *plan)
{
	ListCell   *lc;

	if (IsA(plan, Gather) && !IsA(plan->lefttree, Agg))
		return false;
	foreach(lc, dp_bridge_plans_below(plan))
		if (!hands_over_states(lfirst(lc)))
			return false;
	return true;
}

static PlannedStmt *
plan_checked(Query *inner, dp_workers workers, dp_public_facts *facts)
{
	PlannedStmt *plan = plan_once(copyObject(inner), workers, facts);

	check_plan(plan, facts);
	dp_run_keep_rows(plan->planTree);
	facts->copied = dp_run_tell_shared(plan->planTree, false);
	return plan;
}

/*
 * dp_run_public_plan
 *	  Plan a verified inner query without parameters, which is changed.  The
 *	  plan lives in the current context; facts->index is the index that it may
 *	  read, or InvalidOid.
 *
 * No workers are used if they would hand rows to a step that is not the last
 * one, or rows instead of states.
 *
 * Errors: those of planning, and 0A000 if the plan has a step that must not
 * read private rows.
 */
PlannedStmt *
dp_run_public_plan(Query *inner, dp_workers workers, dp_public_facts *facts)
{
	PlannedStmt *plan;
	bool		fit;

	dp_run_enter_joins(inner);
	plan = plan_checked(inner, workers, facts);
	fit = workers == DP_WORKERS_ROWS ? dp_reader_pack_rows(plan) :
		hands_over_states(plan->planTree);
	return fit ? plan : plan_checked(inner, DP_WORKERS_NONE, facts);
}

/* dp_run_public_plan_init: install the hooks; once, while preloading. */
void
dp_run_public_plan_init(void)
{
	dp_bridge_add_hook(&get_relation_info_hook, hide_relation, &previous_info);
	dp_bridge_add_hook(&set_rel_pathlist_hook, hide_paths, &previous_pathlist);
}
