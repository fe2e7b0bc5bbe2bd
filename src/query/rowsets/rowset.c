/*
 * rowset.c
 *	  Verify the rows that a block reads, before any of them is read.
 *
 * A private rowset must be unit-local: its rows are the union, over units, of
 * rows computed from that unit's rows and public data alone.  Accepted are
 * levels (subqueries, views, CTEs) that select, project and filter the rows of
 * one item of FROM, or of several that are joined as join.c requires; and
 * levels that group rows by unit (unit_levels.c), have windows over them
 * (unit_levels.c), or combine those of several queries (united.c).
 *
 * A chain of levels over one protected relation maps every row, independently,
 * to at most one row.  So it keeps "one row per unit", if that is proved of
 * the relation (unit.c).  Otherwise, and if anything is joined, a unit's rows
 * are bounded where they are counted; if each row is a unit without a name, it
 * may be joined with at most one row (joined/joined_rows.c).
 *
 * Public is what reaches protected relations only through private aggregates:
 * a table, a list of values, a function's rows, a query over released values.
 * It is run separately, as the asking role's own query, before the charge
 * (named_rows.c).
 *
 * Rewritten in place meanwhile: a CTE becomes a subquery, since a CTE belongs
 * to the outer query and its rows would leave unprotected; an uncorrelated
 * subquery in an expression becomes a parameter, since it runs before the
 * charge of this block, with a charge of its own (hoist.c); ORDER BY of a
 * subquery is dropped, since it has no effect; join aliases become the
 * columns.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "../../base/dp_base.h"
#include "../../protect/dp_protect.h"
#include "../expressions/dp_expressions.h"
#include "dp_rowsets.h"
#include "rowsets_internal.h"

#define FROM_HINT \
	"Name the protected relation in FROM.  In dp_argmax(relation, " \
	"predicates) write the relation as a literal or cast it to regclass."

/* State of verifying a level. */
typedef struct level_walk
{
	Query	   *query;
	List	   *cte_stack;
	dp_rowset  *rowset;
} level_walk;

static dp_refusal *verify_level(Query *query, bool top, bool nullable,
								List *cte_stack, dp_rowset *rowset);

/* ---- FROM ---- */

/* Protected leaves come first, so that a single one has number 1. */
static void
add_leaf(level_walk *walk, RangeTblEntry *entry, dp_relation *relation,
		 bool nullable, const CommonTableExpr *cte)
{
	dp_rowset  *rowset = walk->rowset;
	dp_leaf    *leaf = palloc0(sizeof(dp_leaf));
	int			n = 0;

	leaf->level = walk->query;
	leaf->entry = entry;
	leaf->relation = relation;
	leaf->nullable = nullable;
	leaf->cte = cte;
	while (relation != NULL && n < list_length(rowset->leaves) &&
		   ((dp_leaf *) list_nth(rowset->leaves, n))->relation != NULL)
		n++;
	if (relation == NULL)
		n = list_length(rowset->leaves);
	rowset->leaves = list_insert_nth(rowset->leaves, n, leaf);
}

static dp_refusal *
verify_relation(RangeTblEntry *entry, bool nullable, level_walk *walk)
{
	dp_relation *relation;
	Oid			root;

	if (entry->tablesample != NULL)
		return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
							  "Which rows a sample holds depends on where "
							  "other rows are stored.",
							  "Leave TABLESAMPLE out.",
							  "TABLESAMPLE of a private relation is not "
							  "supported");
	relation = dp_protect_lookup(entry->relid);
	root = relation == NULL ? dp_protect_root(entry->relid) : InvalidOid;
	if (OidIsValid(root))
		return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
							  "It is a part of a protected relation.",
							  psprintf("Query \"%s\" instead.",
									   get_rel_name(root)),
							  "relation \"%s\" cannot be queried by itself",
							  get_rel_name(entry->relid));
	add_leaf(walk, entry, relation, nullable, NULL);
	return NULL;
}

/* Add an entry that reads no private row and is no relation. */
static dp_refusal *
verify_public(RangeTblEntry *entry, bool nullable, const CommonTableExpr *cte,
			  level_walk *walk)
{
	if (entry->lateral || (entry->rtekind != RTE_SUBQUERY &&
						   entry->rtekind != RTE_FUNCTION &&
						   entry->rtekind != RTE_TABLEFUNC &&
						   entry->rtekind != RTE_VALUES))
		return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
							  "Private aggregates read protected relations, "
							  "views and subqueries of them, and what is "
							  "joined with them without LATERAL.",
							  entry->lateral ?
							  "As LATERAL items, only lists in a text are "
							  "supported: unnest(string_to_array(text, "
							  "','))." :
							  "Name the protected relation in FROM.",
							  "FROM item \"%s\" cannot be aggregated "
							  "privately",
							  entry->eref ? entry->eref->aliasname : "?");
	add_leaf(walk, entry, NULL, nullable, cte);
	return dp_rowsets_expand_with_inside(entry, walk->cte_stack, walk->rowset);
}

static dp_refusal *
verify_entry(RangeTblEntry *entry, bool nullable, level_walk *walk)
{
	const CommonTableExpr *cte = NULL;
	dp_refusal *refusal = NULL;
	bool		private;

	if (entry->rtekind == RTE_RELATION)
		return verify_relation(entry, nullable, walk);
	if (entry->rtekind == RTE_CTE)
		refusal = dp_rowsets_expand_with(entry, walk->cte_stack, &cte);
	if (refusal != NULL)
		return refusal;
	private = !entry->lateral && entry->rtekind == RTE_SUBQUERY &&
		dp_rowsets_reads_private(entry->subquery, walk->cte_stack);
	if (!private)
		return verify_public(entry, nullable, cte, walk);
	if (cte != NULL)
		refusal = dp_rowsets_note_expanded(walk->rowset, cte);
	if (refusal != NULL)
		return refusal;
	return verify_level(entry->subquery, false, nullable, walk->cte_stack,
						walk->rowset);
}

/* Verify every item of FROM and every join condition. */
static dp_refusal *
verify_item(Node *item, bool nullable, level_walk *walk)
{
	JoinExpr   *join = (JoinExpr *) item;
	dp_refusal *refusal;

	check_stack_depth();
	if (IsA(item, RangeTblRef))
		return verify_entry(rt_fetch(((RangeTblRef *) item)->rtindex,
									 walk->query->rtable), nullable, walk);
	join = castNode(JoinExpr, item);
	refusal = verify_item(join->larg, nullable ||
						  join->jointype == JOIN_RIGHT ||
						  join->jointype == JOIN_FULL, walk);
	if (refusal == NULL)
		refusal = verify_item(join->rarg, nullable ||
							  join->jointype == JOIN_LEFT ||
							  join->jointype == JOIN_FULL, walk);
	if (refusal != NULL)
		return refusal;
	join->quals = dp_rowsets_hoist(join->quals, walk->rowset);
	return dp_expressions_check(join->quals);
}

/*
 * Verify the right side of a join that is added while the level is verified.
 */
static dp_refusal *
verify_right(JoinExpr *join, bool nullable, level_walk *walk)
{
	dp_refusal *refusal = verify_item(join->rarg, nullable, walk);

	if (refusal != NULL)
		return refusal;
	join->quals = dp_rowsets_hoist(join->quals, walk->rowset);
	return dp_expressions_check(join->quals);
}

static dp_refusal *
verify_left_out(Query *query, JoinExpr *join, List *cte_stack,
				dp_rowset *rowset)
{
	level_walk	walk = {query, cte_stack, rowset};

	return verify_right(join, true, &walk);
}

/*
 * Turn EXISTS and IN of private rows into joins, each around the others, and
 * around all existing semijoins and antijoins (unit_levels.c).
 */
static dp_refusal *
verify_subqueries(bool top, bool nullable, level_walk *walk)
{
	List	   *joins = NIL;
	ListCell   *lc;
	dp_refusal *refusal = dp_rowsets_mark_subqueries(walk->query, top,
													 walk->cte_stack,
													 walk->rowset,
													 verify_left_out);

	if (refusal == NULL)
		refusal = dp_rowsets_join_subqueries(walk->query, walk->cte_stack,
											 &joins);
	foreach(lc, joins)
		if (refusal == NULL)
			refusal = verify_right(lfirst(lc), nullable, walk);
	return refusal;
}

/* Replace join aliases by the columns. */
static void
flatten_joins(Query *query)
{
	ListCell   *lc;
	bool		joins = false;

	foreach(lc, query->rtable)
		joins = joins || lfirst_node(RangeTblEntry, lc)->rtekind == RTE_JOIN;
	if (!joins)
		return;
	query->targetList = (List *)
		dp_compat_flatten_joins(query, (Node *) query->targetList);
	query->havingQual = dp_compat_flatten_joins(query, query->havingQual);
	query->jointree = (FromExpr *)
		dp_compat_flatten_joins(query, (Node *) query->jointree);
}

/*
 * The clause because of which a level other than the block itself is not
 * select-project-filter, or NULL.
 */
static const char *
forbidden_clause(Query *query)
{
	if (query->commandType != CMD_SELECT)
		return "a data-modifying statement";
	if (query->setOperations != NULL && !dp_rowsets_is_united(query))
		return "INTERSECT ALL or EXCEPT ALL";
	if (query->rowMarks != NIL)
		return "FOR UPDATE or FOR SHARE";
	if (query->groupingSets != NIL)
		return "GROUPING SETS, ROLLUP or CUBE";
	if (query->groupClause == NIL &&
		(query->hasAggs || query->havingQual != NULL))
		return "an aggregate without GROUP BY";
	if (query->hasWindowFuncs && query->groupClause != NIL)
		return "GROUP BY";
	if (query->distinctClause != NIL)
		return "DISTINCT";
	if (query->limitCount != NULL || query->limitOffset != NULL)
		return "LIMIT or OFFSET";
	if (query->hasTargetSRFs)
		return "a set-returning function";
	if (query->hasModifyingCTE)
		return "a data-modifying WITH query";
	return NULL;
}

/* Turn DISTINCT into GROUP BY of all columns. */
static void
group_distinct(Query *level)
{
	if (level->distinctClause == NIL || level->hasDistinctOn ||
		level->hasAggs || level->groupClause != NIL ||
		level->hasWindowFuncs || level->hasTargetSRFs)
		return;
	level->groupClause = level->distinctClause;
	level->distinctClause = NIL;
}

/*
 * Aggregates of two levels may look the same, like count(*), and differ: over
 * base columns (leaf.c) a number that the planner sets anew
 * distinguishes them.
 */
static bool
rowset_number_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref))
		((Aggref *) node)->aggno = *(const int *) context;
	return expression_tree_walker(node, rowset_number_walker, context);
}

/* Verify the outputs of a level below the block's own, after its inputs. */
static dp_refusal *
verify_outputs(Query *query, dp_rowset *rowset)
{
	bool		grouped = dp_rowsets_is_grouped(query);
	dp_refusal *refusal;

	query->targetList = (List *)
		dp_rowsets_hoist((Node *) query->targetList, rowset);
	query->havingQual = dp_rowsets_hoist(query->havingQual, rowset);
	dp_rowsets_order_by_chance(query);
	refusal = grouped ?
	dp_expressions_check_groups((Node *) query->targetList) :
		query->hasWindowFuncs ?
		dp_expressions_check_window_targets((Node *) query->targetList) :
		dp_expressions_check((Node *) query->targetList);
	if (refusal == NULL && grouped)
		refusal = dp_expressions_check_groups(query->havingQual);
	if (refusal == NULL && query->hasWindowFuncs)
		refusal = dp_expressions_check_windows(query);
	if (query->hasWindowFuncs)
		dp_rowsets_number_windows(query, ++rowset->grouped);
	if (grouped)
	{
		rowset->grouped++;
		(void) rowset_number_walker((Node *) query->targetList,
									&rowset->grouped);
		(void) rowset_number_walker(query->havingQual, &rowset->grouped);
	}
	query->hasSubLinks = false;
	query->sortClause = NIL;
	query->cteList = NIL;		/* expanded where used */
	return refusal;
}

/* Arms of all levels; their rows together are counted (unit_levels.c). */
#define ARMS_MAX 16

static dp_refusal *
refuse_many_arms(void)
{
	return dp_base_refuse(ERRCODE_PROGRAM_LIMIT_EXCEEDED, -1,
						  psprintf("At most %d are possible.", ARMS_MAX),
						  "Ask in several queries.",
						  "too many parts of UNION, INTERSECT and EXCEPT "
						  "below a private aggregate");
}

/* Verify every arm of UNION ALL; each of their rows belongs to one unit. */
static dp_refusal *
verify_arms(bool nullable, level_walk *walk)
{
	ListCell   *lc;

	foreach(lc, dp_rowsets_from(walk->query))
	{
		RangeTblEntry *entry = rt_fetch(((RangeTblRef *) lfirst(lc))->rtindex,
										walk->query->rtable);
		dp_refusal *refusal;

		if (!dp_rowsets_reads_private(entry->subquery, walk->cte_stack))
			return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
								  "Its rows belong to no privacy unit.",
								  "Compare with public rows in WHERE, by IN "
								  "or NOT IN; combine released values with "
								  "it in an outer query.",
								  "a part of UNION, INTERSECT or EXCEPT "
								  "reads no protected relation");
		refusal = ++walk->rowset->arms > ARMS_MAX ? refuse_many_arms() :
			verify_level(entry->subquery, false, nullable, walk->cte_stack,
						 walk->rowset);
		if (refusal == NULL)
			refusal = dp_rowsets_check_arm(walk->query, entry->subquery);
		if (refusal != NULL)
			return refusal;
	}
	walk->query->sortClause = NIL;
	walk->query->cteList = NIL; /* expanded where used */
	return NULL;
}

static dp_refusal *
refuse_beside_windows(const char *clause)
{
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1, NULL,
						  "Put it into a subquery of its own, below the "
						  "windows or around them.",
						  "%s is not supported together with windows below "
						  "a private aggregate", clause);
}

static dp_refusal *
verify_level(Query *query, bool top, bool nullable, List *cte_stack,
			 dp_rowset *rowset)
{
	level_walk	walk = {query, cte_stack, rowset};
	FromExpr   *from;
	const char *forbidden;
	dp_refusal *refusal;
	ListCell   *lc;

	check_stack_depth();
	if (!top)
	{
		dp_base_ungroup(query);
		group_distinct(query);
		dp_rowsets_group_operation(query);
		walk.cte_stack = lcons(query->cteList, list_copy(cte_stack));
	}
	forbidden = top ? NULL : forbidden_clause(query);
	if (forbidden != NULL && query->hasWindowFuncs)
		return refuse_beside_windows(forbidden);
	if (forbidden != NULL)
		return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
							  "There, rows of one privacy unit would depend "
							  "on rows of another.",
							  "Aggregate privately at that level, or leave "
							  "it to the outer query.",
							  "%s is not supported below a private "
							  "aggregate", forbidden);
	if (top && (query->setOperations != NULL || query->rowMarks != NIL))
		return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1, NULL, NULL,
							  "this kind of query is not supported with "
							  "private aggregates");
	if (query->setOperations != NULL)
		return verify_arms(nullable, &walk);
	from = query->jointree;
	if (from == NULL || from->fromlist == NIL)
		return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
							  "A private aggregate reads protected "
							  "relations, or views or subqueries of them.",
							  FROM_HINT, "private aggregate without FROM");
	flatten_joins(query);
	if (top)
		dp_rowsets_name_groups(query, walk.cte_stack);
	dp_rowsets_expand_lists(query, rowset);
	from = query->jointree;
	foreach(lc, from->fromlist)
	{
		refusal = verify_item(lfirst(lc), nullable, &walk);
		if (refusal != NULL)
			return refusal;
	}
	refusal = verify_subqueries(top, nullable, &walk);
	if (refusal != NULL)
		return refusal;
	from = query->jointree;

	from->quals = dp_rowsets_hoist(from->quals, rowset);
	refusal = dp_expressions_check(from->quals);
	if (refusal != NULL || top)
		return refusal;
	return verify_outputs(query, rowset);
}

/* ---- leaves ---- */

/* Require a protected relation, and one dataset for all. */
static dp_refusal *
check_leaves(dp_rowset *rowset)
{
	dp_leaf    *first = linitial(rowset->leaves);
	const RangeTblEntry *entry = first->entry;
	ListCell   *lc;

	if (first->relation == NULL && entry->rtekind == RTE_RELATION)
		return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
							  "Private queries read protected relations "
							  "only.",
							  "If its rows are public, query it without "
							  "dp_pg; else ask the owner to run dp_protect "
							  "on it.",
							  "relation \"%s\" is not protected",
							  get_rel_name(entry->relid));
	if (first->relation == NULL)
		return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
							  "Private aggregates read protected relations, "
							  "or views or subqueries of them.",
							  "Name the protected relation in FROM.",
							  "FROM item \"%s\" cannot be aggregated "
							  "privately",
							  entry->eref ? entry->eref->aliasname : "?");
	rowset->relation = first->relation;
	foreach(lc, rowset->leaves)
	{
		const dp_leaf *leaf = lfirst(lc);

		if (leaf->relation != NULL &&
			strcmp(leaf->relation->dataset, first->relation->dataset) != 0)
			return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
								  psprintf("They are in datasets \"%s\" and "
										   "\"%s\".",
										   first->relation->dataset,
										   leaf->relation->dataset),
								  "Ask their owner to protect them in one "
								  "dataset.",
								  "relations \"%s\" and \"%s\" cannot be "
								  "joined privately",
								  get_rel_name(first->relation->relid),
								  get_rel_name(leaf->relation->relid));
	}
	return NULL;
}

/*
 * dp_rowsets_verify
 *	  Verify and normalise everything below a block: FROM and WHERE of its
 *	  level, and all levels below.
 *
 * cte_stack holds the cteLists in reach, the block's own first.  On success
 * rowset->relation is the protected relation, or the first of them;
 * dp_rowsets_check_join checks whether they may be joined.  Scalar subqueries
 * in the block's own targets are not touched: see dp_rowsets_hoist.
 */
dp_refusal *
dp_rowsets_verify(Query *query, List *cte_stack, dp_rowset *rowset)
{
	dp_refusal *refusal = verify_level(query, true, false, cte_stack, rowset);

	if (refusal == NULL)
		refusal = check_leaves(rowset);
	if (refusal == NULL)
		refusal = dp_rowsets_check_with(rowset);
	if (refusal != NULL)
		return refusal;
	rowset->many = rowset->grouped > 0 ||
		!dp_protect_prove_one_row(rowset->relation, NULL) ||
		(dp_rowsets_has_join(rowset) &&
		 (rowset->relation->unit != NULL || dp_rowsets_joins_private(rowset)));
	return NULL;
}
