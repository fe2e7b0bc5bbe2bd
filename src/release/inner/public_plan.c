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
 *	- statistics, widths and indexes of its relations do not exist, except one
 *	  index whose pages its owner declared public;
 *	- every relation has the same size, except that the number of workers
 *	  follows the size its owner declared;
 *	- settings of costs, and those that enable kinds of plans, as far
 *	  as these can be part of such a plan, have constant values;
 *	- nothing is compiled by LLVM: what is inlined depends on costs, and
 *	  inlining takes minutes for wide queries;
 *
 * and the plan has only the nodes listed below.  None sorts, except for
 * windows over rows of some units (units/gather.c), in memory.  None hashes,
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
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "jit/jit.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/geqo.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "optimizer/planmain.h"
#include "optimizer/planner.h"
#include "rewrite/rewriteHandler.h"
#include "tcop/tcopprot.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "../../base/dp_base.h"
#include "../../ledger/dp_ledger.h"
#include "../../reader/dp_reader.h"
#include "../rights/dp_rights.h"
#include "../joined/dp_joined.h"
#include "dp_inner.h"
#include "inner_internal.h"

/* ----------------
 *		How many parallel workers read a relation, by its declared size.
 *
 * The owner's size class (dp_declare(relation, rows => ...)) decides, by
 * PostgreSQL's rule for pages, with widths estimated from types.  Each part
 * has an equal share of the class, and only parts that constants do not
 * exclude count.  Without a size class there are no workers, unless the owner
 * has set the storage parameter parallel_workers, which is as public.
 *
 * The class decides nothing else in a plan.  Without statistics the number of
 * groups is a guess; with many rows the planner would find sorting cheaper
 * than hashing.  So everything is planned as a million rows.
 * ----------------
 */

/* The number of rows with which every relation is planned. */
#define PUBLIC_PAGES 10000
#define PUBLIC_TUPLES 1000000

#define PARALLEL_PAGES 1024		/* default of min_parallel_table_scan_size */

/* As compute_parallel_worker with default settings. */
static int
workers_for(double pages)
{
	int			workers = 0;
	double		threshold = PARALLEL_PAGES;

	for (; pages >= threshold; threshold *= 3)
		workers++;
	return workers;
}

/* As PostgreSQL estimates a table that was never vacuumed. */
static double
pages_of(double rows, dp_public_facts *facts)
{
	if (rows == 0)
		return 0;
	if (facts->width == 0)
		facts->width = MAXALIGN(get_relation_data_width(facts->relid, NULL)) +
			MAXALIGN(SizeofHeapTupleHeader) + sizeof(ItemIdData);
	return rows * facts->width / (BLCKSZ - SizeOfPageHeaderData);
}

/* The relation of which this is a partition or child in a query, or NULL. */
static const RelOptInfo *
parent_of(PlannerInfo *root, const RelOptInfo *rel)
{
	if (rel->reloptkind != RELOPT_OTHER_MEMBER_REL)
		return NULL;
	return root->simple_rel_array[root->append_rel_array[rel->relid]
								  ->parent_relid];
}

/* Rows of a relation or part by the class, assuming parts of equal size. */
static double
declared_rows(PlannerInfo *root, const RelOptInfo *rel,
			  dp_public_facts *facts)
{
	const RelOptInfo *parent = parent_of(root, rel);
	int			parts;

	if (parent == NULL)
		return root->simple_rte_array[rel->relid]->relid == facts->relid ?
			facts->rows : 0;
	parts = parent->nparts;
	if (parts <= 0)				/* inheritance: children at all levels */
	{
		if (facts->children == 0)
			facts->children = list_length(find_all_inheritors(facts->relid,
															  NoLock, NULL));
		parts = facts->children;
	}
	return declared_rows(root, parent, facts) / parts;
}

static bool
has_toast(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	bool		found = HeapTupleIsValid(tuple) &&
	OidIsValid(((Form_pg_class) GETSTRUCT(tuple))->reltoastrelid);

	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return found;
}

/*
 * public_size
 *	  Give a relation its public size when the planner looks it up.
 */
static void
public_size(PlannerInfo *root, Oid relid, RelOptInfo *rel,
			dp_public_facts *facts)
{
	double		pages;

	rel->pages = PUBLIC_PAGES;
	rel->tuples = PUBLIC_TUPLES;
	rel->allvisfrac = 0;
	if (facts->toast_needed && !facts->toast_met)
		facts->toast_met = has_toast(relid);
	if (rel->rel_parallel_workers > 0)
		facts->workers_known = true;
	if (rel->rel_parallel_workers != -1)
		return;
	pages = pages_of(declared_rows(root, rel, facts), facts);
	rel->rel_parallel_workers = workers_for(pages);
	if (parent_of(root, rel) != NULL && pages > 0)
		rel->rel_parallel_workers = Max(rel->rel_parallel_workers, 1);
}

/* Pages of all parts that are not excluded. */
static double
pages_left(PlannerInfo *root, dp_public_facts *facts)
{
	double		pages = 0;
	int			i;

	for (i = 1; i < root->simple_rel_array_size; i++)
	{
		RelOptInfo *rel = root->simple_rel_array[i];

		if (rel != NULL && rel->rtekind == RTE_RELATION &&
			!root->simple_rte_array[i]->inh && !IS_DUMMY_REL(rel))
			pages += pages_of(declared_rows(root, rel, facts), facts);
	}
	return pages;
}

/*
 * may_share_public
 *	  May workers read what is left of the relation? Call it when excluded
 *	  parts are known.
 */
static bool
may_share_public(PlannerInfo *root, dp_public_facts *facts)
{
	if (facts->toast_met)
		return false;
	if (!facts->workers_known && !facts->pages_counted)
	{
		facts->workers_known = workers_for(pages_left(root, facts)) > 0;
		facts->pages_counted = true;
	}
	return facts->workers_known;
}

/* ----------------
 *		The one index that an inner query may read.
 *
 * The pages read through an index reveal how many rows have a value, and where
 * they are.  The owner may declare that this is public for the parts of an
 * immutable column (dp_declare(..., public_sizes => true)).  A query that
 * WHERE restricts to one of many such parts then reads a btree index whose
 * only key is that column, with conditions on that column only.  Nothing is
 * estimated: where the index can be used, it is.
 * ----------------
 */

static bool
public_plan_is_usable(const IndexOptInfo *index, AttrNumber column)
{
	return index->relam == BTREE_AM_OID && index->nkeycolumns == 1 &&
		index->indexkeys[0] == column && index->indexprs == NIL &&
		index->indpred == NIL && index->opfamily[0] < FirstNormalObjectId;
}

/* amcostestimate: less than any other path costs. */
static void
cost_nothing(PlannerInfo *root, IndexPath *path, double loop_count,
			 Cost *startup, Cost *total, Selectivity *selectivity,
			 double *correlation, double *pages)
{
	*startup = 0;
	*total = 0;
	*selectivity = 0;
	*correlation = 1;
	*pages = 1;
}

/*
 * find_public_index
 *	  Hide all of the relation's indexes from the planner except the one that
 *	  may be read, if any.
 */
static void
find_public_index(Oid relid, RelOptInfo *rel, dp_public_facts *facts)
{
	List	   *indexes = rel->indexlist;
	ListCell   *lc;

	rel->indexlist = NIL;
	if (facts->part_value == NULL || relid != facts->relid)
		return;
	foreach(lc, indexes)
	{
		IndexOptInfo *index = lfirst(lc);

		if (!public_plan_is_usable(index, facts->part_attnum))
			continue;
		index->pages = 1;
		index->tuples = rel->tuples;
		index->tree_height = 0;
		index->amcanparallel = false;
		index->amhasgetbitmap = false;
		index->amcostestimate = cost_nothing;
		rel->indexlist = list_make1(index);
		facts->index = index->indexoid;
		return;
	}
}

/*
 * prefer_public_index
 *	  If there is a path that reads the index, drop all others.
 */
static bool
prefer_public_index(RelOptInfo *rel)
{
	List	   *paths = NIL;
	ListCell   *lc;

	foreach(lc, rel->pathlist)
		if (IsA(lfirst(lc), IndexPath))
			paths = lappend(paths, lfirst(lc));
	if (paths == NIL)
		return false;
	rel->pathlist = paths;
	return true;
}

/* Does a condition restrict the column to the value of the part? */
static bool
holds_to_part(const Node *condition, const Const *part)
{
	const OpExpr *comparison = (const OpExpr *) condition;
	const Const *value;

	if (!IsA(condition, OpExpr) || list_length(comparison->args) != 2)
		return false;
	value = lsecond(comparison->args);
	return IsA(value, Const) && !value->constisnull &&
		value->consttype == part->consttype &&
		comparison->opno == lookup_type_cache(part->consttype,
											  TYPECACHE_EQ_OPR)->eq_opr &&
		datum_image_eq(value->constvalue, part->constvalue, part->constbyval,
					   part->constlen);
}

/*
 * reads_public_part
 *	  Does a step of a plan read the index, with conditions on its column only,
 *	  one of which restricts it to the part?
 */
static bool
reads_public_part(const IndexScan *scan, const dp_public_facts *facts)
{
	Bitmapset  *columns = NULL;
	bool		held = false;
	ListCell   *lc;

	if (!OidIsValid(facts->index) || scan->indexid != facts->index ||
		scan->indexorderby != NIL)
		return false;
	foreach(lc, scan->indexqualorig)
		if (holds_to_part(lfirst(lc), facts->part_value))
			held = true;
	pull_varattnos((Node *) scan->indexqualorig, scan->scan.scanrelid,
				   &columns);
	return held && bms_membership(columns) == BMS_SINGLETON &&
		bms_is_member(facts->part_attnum - FirstLowInvalidHeapAttributeNumber,
					  columns);
}

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
	DP_COMPAT_DISABLE_COST(DP_JOINED_OFF)
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
		dp_rights_check_met(root, relid);
	if (previous_info)
		previous_info(root, relid, is_parent, rel);
	if (planning == NULL)
	{
		dp_rights_hide_rows(root, rel);
		return;
	}
	rel->statlist = NIL;
	find_public_index(relid, rel, planning);
	if (!is_parent)				/* its parts have a size, it has none */
		public_size(root, relid, rel, planning);
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
 * earlier: that hashes groups of unknown number (rowsets/unit_levels.c).
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
					   "them.  %s", dp_ledger_uncharged_text()),
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
			dp_inner_is_public_name(entry->enrname, planning))
			dp_joined_share_rows(root, rel);
	}
	if (entry->rtekind != RTE_RELATION)
		return;
	if (planning == NULL)
	{
		dp_rights_hide_rows_first(root, rel, entry);
		return;
	}
	if (rel->fdwroutine != NULL)
		raise_foreign(entry->relid);
	if (prefer_public_index(rel) ||
		!may_share_public(root, planning))
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
	dp_inner_weigh_public_joins(planning);
}

static void
leave_hooks(void)
{
	get_relation_stats_hook = others_stats;
	get_index_stats_hook = others_index_stats;
	get_attavgwidth_hook = others_width;
	dp_inner_weigh_public_joins(NULL);
}

/* dp_inner_enter: resume what dp_inner_leave returned. */
void
dp_inner_enter(dp_inner_planning *inner)
{
	set_all(inner);
	in_force = inner;
	planning = inner->facts;
	enter_hooks();
}

/*
 * dp_inner_leave: suspend the inner query being planned; NULL if there is
 * none.
 */
dp_inner_planning *
dp_inner_leave(void)
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

/*
 * dp_inner_is_ours: whether this is the inner query that the planner hook
 * waits for.
 */
bool
dp_inner_is_ours(const Query *query, const char *text)
{
	return awaited != NULL && (query == awaited->query || text == inner_text);
}

/* dp_inner_plan_met: plan the inner query, by the planner behind our hook. */
PlannedStmt *
dp_inner_plan_met(planner_hook_type behind, Query *query, const char *text,
				  int options, ParamListInfo params)
{
	dp_inner_planning inner = {awaited->facts};
	PlannedStmt *volatile plan = NULL;

	awaited->met = true;
	dp_inner_enter(&inner);
	PG_TRY();
	{
		plan = behind(query, text, options, params);
	}
	PG_FINALLY();
	{
		(void) dp_inner_leave();
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
			return dp_joined_is_shared(plan);
		case T_WindowAgg:
			return facts->private_names > 0;
		case T_IndexScan:
			return reads_public_part((const IndexScan *) plan, facts);
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
					   type, dp_ledger_uncharged_text()),
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
	foreach(lc, dp_base_plans_below(plan))
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

	if (dp_inner_hashes_joined(plan->planTree, facts))
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
					   dp_ledger_uncharged_text()),
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
	foreach(lc, dp_base_plans_below(plan))
		if (!hands_over_states(lfirst(lc)))
			return false;
	return true;
}

static PlannedStmt *
plan_checked(Query *inner, dp_workers workers, dp_public_facts *facts)
{
	PlannedStmt *plan = plan_once(copyObject(inner), workers, facts);

	check_plan(plan, facts);
	dp_inner_keep_rows(plan->planTree);
	facts->copied = dp_joined_mark_shared(plan->planTree, false);
	return plan;
}

/*
 * dp_inner_public_plan
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
dp_inner_public_plan(Query *inner, dp_workers workers, dp_public_facts *facts)
{
	PlannedStmt *plan;
	bool		fit;

	dp_inner_enter_joins(inner);
	plan = plan_checked(inner, workers, facts);
	fit = workers == DP_WORKERS_ROWS ? dp_reader_pack_rows(plan) :
		hands_over_states(plan->planTree);
	return fit ? plan : plan_checked(inner, DP_WORKERS_NONE, facts);
}

/* dp_inner_public_plan_init: install the hooks; once, while preloading. */
void
dp_inner_public_plan_init(void)
{
	dp_base_add_hook(&get_relation_info_hook, hide_relation, &previous_info);
	dp_base_add_hook(&set_rel_pathlist_hook, hide_paths, &previous_pathlist);
}
