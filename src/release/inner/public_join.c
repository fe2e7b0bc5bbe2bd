/*
 * public_join.c
 *	  Joins in plans of inner queries hash only what was read beforehand.
 *
 * A hash table is built after the first private row, so whether memory
 * suffices would depend on private rows unless it was reserved.  Memory is
 * reserved for public rows as they are (joined_rows.c), and for the rows of
 * some units as they are (units/gather.c); the output of joins has no bound.
 * So a hash table holds the rows of one name, or of several names under UNION
 * ALL. Each parallel worker that joins has tables of its own, and reserves as
 * much (named_stores.c).
 *
 * So hash joins are disabled, and made here: wherever one side has such rows
 * and the join equates something of both sides.  Nested loops are disabled as
 * well, so that the planner takes one only if the query leaves no join order
 * without it, as without equalities.  (To the planner, costs that differ by
 * less than a hundredth are equal: see count_once.) A nested loop also keeps
 * the rows of one name that a condition leaves.
 *
 * The planner would join public items with each other first, since they seem
 * small.  Such joins get a high cost, so that it does this only if the query
 * leaves no other order; that is refused.
 *
 * From 16 on the planner identifies outer joins by their range table indexes,
 * and newer releases include antijoins.  NOT EXISTS and NOT IN
 * (rowsets/exists.c) get such an index here; without it the planner finds no
 * order for some.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"

#include "../../base/dp_base.h"
#include "../../ledger/dp_ledger.h"
#include "../../query/rowsets/dp_rowsets.h"
#include "../joined/dp_joined.h"
#include "inner_internal.h"

#define DEAR 1e100
#define FORBIDDEN 1000

/*
 * While an inner query is planned: its facts, and the hook that ours replaces.
 */
static const dp_public_facts *planning = NULL;
static set_join_pathlist_hook_type others_joins;

/* dp_inner_is_public_name: does the name stand for public rows? */
bool
dp_inner_is_public_name(const char *name, const dp_public_facts *facts)
{
	return atoi(name) > facts->private_names;
}

/* ---- joins that ask for none ---- */

static void
enter_join(Query *query, JoinExpr *join)
{
	query->rtable = lappend(query->rtable,
							dp_rowsets_join_entry(join->jointype));
	join->rtindex = list_length(query->rtable);
}

static void
enter_joins_of(Node *item, Query *query)
{
	JoinExpr   *join = (JoinExpr *) item;
	ListCell   *lc;

	if (IsA(item, FromExpr))
		foreach(lc, ((FromExpr *) item)->fromlist)
			enter_joins_of(lfirst(lc), query);
	if (!IsA(item, JoinExpr))
		return;
	enter_joins_of(join->larg, query);
	enter_joins_of(join->rarg, query);
	if (join->jointype == JOIN_ANTI && join->rtindex == 0)
		enter_join(query, join);
}

static bool
enter_joins_of_level(Node *node, const dp_walk *walk)
{
	if (IsA(node, Query))
		enter_joins_of((Node *) ((Query *) node)->jointree, (Query *) node);
	return false;
}

/*
 * dp_inner_enter_joins
 *	  Give each antijoin of an inner query a range table entry in its level, as
 *	  LEFT JOIN has; the query is changed.
 */
void
dp_inner_enter_joins(Query *inner)
{
	(void) dp_base_contains((Node *) inner, enter_joins_of_level, NULL, 0);
}

/* ---- what is joined first ---- */

static bool
joins_public_only(const PlannerInfo *root, const RelOptInfo *rel)
{
	int			i = -1;

	while ((i = bms_next_member(rel->relids, i)) >= 0)
	{
		const RangeTblEntry *entry = root->simple_rte_array[i];

		if (entry == NULL || entry->rtekind == RTE_JOIN)
			continue;
		if (entry->rtekind != RTE_NAMEDTUPLESTORE ||
			!dp_inner_is_public_name(entry->enrname, planning))
			return false;
	}
	return true;
}

/*
 * From 18 on the plan with fewer disabled steps is taken, whatever its cost.
 */
static void
make_dear(List *paths)
{
	ListCell   *lc;

	foreach(lc, paths)
	{
		Path	   *path = lfirst(lc);

		if (path->total_cost >= DEAR)
			continue;
		path->startup_cost += DEAR;
		path->total_cost += DEAR;
		dp_compat_forbid_path(path, FORBIDDEN);
	}
}

/*
 * A nested loop counts the cost of disabled steps on its inner side for each
 * iteration; count it once, so that another disabled step above still matters.
 */
static void
count_once(List *paths)
{
	ListCell   *lc;

	foreach(lc, paths)
	{
		JoinPath   *join = lfirst(lc);

		if (IsA(join, NestPath) && join->path.total_cost >= DP_JOINED_OFF)
			join->path.startup_cost = join->path.total_cost =
				join->outerjoinpath->total_cost +
				join->innerjoinpath->total_cost + DP_JOINED_OFF;
	}
}

/* ---- hash joins ---- */

/* Are the rows of a path those of one name, or as in is_lone? */
static bool
has_lone_rows(const Path *path)
{
	ListCell   *lc;

	switch (nodeTag(path))
	{
		case T_AggPath:
		case T_WindowAggPath:
			return true;
		case T_ProjectionPath:
			return ((const ProjectionPath *) path)->dummypp &&
				has_lone_rows(((const ProjectionPath *) path)->subpath);
		case T_SubqueryScanPath:
			return has_lone_rows(((const SubqueryScanPath *) path)->subpath);
		case T_HashPath:
		case T_NestPath:
			return (((const JoinPath *) path)->jointype == JOIN_SEMI ||
					((const JoinPath *) path)->jointype == JOIN_ANTI) &&
				has_lone_rows(((const JoinPath *) path)->outerjoinpath);
		case T_AppendPath:
			foreach(lc, ((const AppendPath *) path)->subpaths)
				if (!has_lone_rows(lfirst(lc)))
					return false;
			return true;
		default:
			return path->pathtype == T_NamedTuplestoreScan ||
				path->pathtype == T_Result || dp_joined_is_shared_path(path);
	}
}

/* The cheapest of such paths, or NULL; safe: one that workers may use. */
static Path *
find_lone_path(const RelOptInfo *rel, bool safe)
{
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		Path	   *path = lfirst(lc);

		if (PATH_REQ_OUTER(path) == NULL && has_lone_rows(path) &&
			(!safe || path->parallel_safe))
			return path;
	}
	return NULL;
}

/* The equalities by which a join may hash; for an outer join only its own. */
static List *
hash_clauses(RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
			 JoinType type, const JoinPathExtraData *extra)
{
	List	   *clauses = NIL;
	ListCell   *lc;

	foreach(lc, extra->restrictlist)
	{
		RestrictInfo *clause = lfirst(lc);

		if (!clause->can_join || !OidIsValid(clause->hashjoinoperator) ||
			(IS_OUTER_JOIN(type) &&
			 RINFO_IS_PUSHED_DOWN(clause, joinrel->relids)))
			continue;
		if ((bms_is_subset(clause->left_relids, outer->relids) &&
			 bms_is_subset(clause->right_relids, inner->relids)) ||
			(bms_is_subset(clause->left_relids, inner->relids) &&
			 bms_is_subset(clause->right_relids, outer->relids)))
			clauses = lappend(clauses, clause);
	}
	return clauses;
}

/* A hash join of two paths; NULL if either is NULL or parameterized. */
static Path *
make_hash_join(PlannerInfo *root, RelOptInfo *joinrel, Path *left,
			   Path *right, List *clauses, JoinType type,
			   JoinPathExtraData *extra)
{
	JoinCostWorkspace workspace;
	Path	   *path;

	if (left == NULL || right == NULL || PATH_REQ_OUTER(left) != NULL)
		return NULL;
	enable_hashjoin = true;
	initial_cost_hashjoin(root, &workspace, type, clauses, left, right, extra,
						  false);
	path = (Path *) create_hashjoin_path(root, joinrel, type, &workspace,
										 extra, left, right, false,
										 extra->restrictlist, NULL, clauses);
	enable_hashjoin = false;
	return path;
}

/* Workers cannot tell which hashed rows had no partner in any of them. */
static bool
may_share(const RelOptInfo *joinrel, const RelOptInfo *outer, JoinType type)
{
	return joinrel->consider_parallel && outer->partial_pathlist != NIL &&
		bms_is_empty(joinrel->lateral_relids) &&
		(type == JOIN_INNER || type == JOIN_LEFT || type == JOIN_SEMI ||
		 type == JOIN_ANTI);
}

static void
add_hash_joins(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer,
			   RelOptInfo *inner, JoinType type, JoinPathExtraData *extra)
{
	List	   *clauses = hash_clauses(joinrel, outer, inner, type, extra);
	Path	   *path;

	if (clauses == NIL || type == JOIN_UNIQUE_OUTER ||
		type == JOIN_UNIQUE_INNER)
		return;
	path = make_hash_join(root, joinrel, outer->cheapest_total_path,
						  find_lone_path(inner, false), clauses, type, extra);
	if (path != NULL)
		add_path(joinrel, path);
	if (!may_share(joinrel, outer, type))
		return;
	path = make_hash_join(root, joinrel, linitial(outer->partial_pathlist),
						  find_lone_path(inner, true), clauses, type, extra);
	if (path != NULL)
		add_partial_path(joinrel, path);
}

static void
weigh_joins(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer,
			RelOptInfo *inner, JoinType type, JoinPathExtraData *extra)
{
	if (others_joins)
		others_joins(root, joinrel, outer, inner, type, extra);
	count_once(joinrel->pathlist);
	count_once(joinrel->partial_pathlist);
	add_hash_joins(root, joinrel, outer, inner, type, extra);
	if (!joins_public_only(root, joinrel))
		return;
	make_dear(joinrel->pathlist);
	make_dear(joinrel->partial_pathlist);
}

/*
 * dp_inner_weigh_public_joins: install the hook for an inner query with these
 * facts, or with NULL remove it.
 */
void
dp_inner_weigh_public_joins(const dp_public_facts *facts)
{
	if (facts != NULL)
		others_joins = set_join_pathlist_hook;
	set_join_pathlist_hook = facts != NULL ? weigh_joins : others_joins;
	planning = facts;
}

/* ---- what is hashed ---- */

/* Does a join only keep rows of its left side? */
static bool
only_asks(const Plan *plan)
{
	return (IsA(plan, HashJoin) || IsA(plan, NestLoop)) &&
		(((const Join *) plan)->jointype == JOIN_SEMI ||
		 ((const Join *) plan)->jointype == JOIN_ANTI);
}

/*
 * Is it a condition without columns, which passes all rows unchanged, or none?
 */
static bool
is_gate(const Plan *plan)
{
	return IsA(plan, Result) && plan->lefttree != NULL &&
		((const Result *) plan)->resconstantqual != NULL;
}

/*
 * Does the plan return rows of one name, all or some of them, or groups or
 * window rows made of them (units/gather.c); or none, because a condition
 * is false; or an Append of such?
 */
static bool
public_join_is_lone(const Plan *plan)
{
	ListCell   *lc;

	while (IsA(plan, SubqueryScan) || only_asks(plan) || is_gate(plan))
		plan = IsA(plan, SubqueryScan) ?
			((const SubqueryScan *) plan)->subplan : plan->lefttree;
	if (!IsA(plan, Append))
		return IsA(plan, NamedTuplestoreScan) || dp_joined_is_shared(plan) ||
			IsA(plan, Agg) || IsA(plan, WindowAgg) ||
			(IsA(plan, Result) && plan->lefttree == NULL);
	foreach(lc, ((const Append *) plan)->appendplans)
		if (!public_join_is_lone(lfirst(lc)))
			return false;
	return true;
}

static bool
is_public(const Plan *plan, const dp_public_facts *facts)
{
	if (plan == NULL)
		return true;
	switch (nodeTag(plan))
	{
		case T_NamedTuplestoreScan:
			return dp_inner_is_public_name(
						((const NamedTuplestoreScan *) plan)->enrname, facts);
		case T_CustomScan:
			return dp_joined_is_shared(plan);
		case T_Hash:
		case T_HashJoin:
		case T_NestLoop:
		case T_Result:
			return is_public(plan->lefttree, facts) &&
				is_public(plan->righttree, facts);
		case T_SubqueryScan:
			return is_public(((const SubqueryScan *) plan)->subplan, facts);
		default:
			return false;
	}
}

static void
raise_public_join(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("public relations are joined with one another before "
					"private ones"),
			 errdetail("The result would be computed while private rows are "
					   "read.  %s", dp_ledger_uncharged_text()),
			 errhint("Join them in a subquery of their own: JOIN (SELECT .. "
					 "FROM a JOIN b ON ..) AS s ON ..")));
}

/*
 * dp_inner_hashes_joined
 *	  Does a plan hash only rows of one name?
 *
 * Errors: 0A000 where it joins public rows with one another.
 */
bool
dp_inner_hashes_joined(const Plan *plan, const dp_public_facts *facts)
{
	ListCell   *lc;
	bool		found = false;

	if ((IsA(plan, HashJoin) || IsA(plan, NestLoop)) && is_public(plan, facts))
		raise_public_join();
	if (IsA(plan, Hash) && !public_join_is_lone(plan->lefttree))
		found = true;
	foreach(lc, dp_base_plans_below(plan))
		found |= dp_inner_hashes_joined(lfirst(lc), facts);
	return found;
}

/* ---- what is read again and again ---- */

static Plan *
keep_rows(Plan *scan)
{
	Material   *kept = makeNode(Material);

	kept->plan = *scan;
	NodeSetTag(kept, T_Material);
	kept->plan.qual = NIL;
	kept->plan.lefttree = scan;
	kept->plan.plan_node_id = -1;	/* the number is not used */
	return &kept->plan;
}

/*
 * dp_inner_keep_rows
 *	  If a nested loop rescans the rows of one name and a condition filters
 *	  them, materialize those that pass.  This happens if a joined column
 *	  equals a constant: the planner compares both sides with it instead of
 *	  with each other.
 */
void
dp_inner_keep_rows(Plan *plan)
{
	ListCell   *lc;

	foreach(lc, dp_base_plans_below(plan))
		dp_inner_keep_rows(lfirst(lc));
	if (IsA(plan, NestLoop) && plan->righttree->qual != NIL &&
		(IsA(plan->righttree, NamedTuplestoreScan) ||
		 dp_joined_is_shared(plan->righttree)))
		plan->righttree = keep_rows(plan->righttree);
}
