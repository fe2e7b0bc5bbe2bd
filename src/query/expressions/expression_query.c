/*
 * expression_query.c
 *	  The final check of a whole inner query, after views are expanded, row
 *	  security is attached and total versions are in place.
 *
 * Allowed at each level: a SELECT over relations, named rows, joins and
 * subqueries, or UNION ALL of subqueries, with WHERE, targets and ORDER BY.
 * At the top level also aggregates and a plain GROUP BY; below it, groups of
 * units, whose keys the block has verified (rowsets/unit_levels.c), and
 * windows, whose partitions it has verified (rowsets/unit_levels.c).  All
 * expressions, and the functions that sorting and grouping call, are checked
 * by the expression rules.  Everything else is refused, by name if it has one.
 *
 * Known gap: index predicates and CHECK constraints of the protected table
 * itself, which the planner evaluates, are code of its owner.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "../../base/dp_base.h"
#include "dp_expressions.h"
#include "expressions_internal.h"

static dp_refusal *query_check_level(Query *query, bool top);

static dp_refusal *
refuse_part(const char *part)
{
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
						  "Below a private aggregate, rows come from a "
						  "protected table through filters and projections.",
						  NULL, "%s cannot be used on private rows", part);
}

/* See dp_expressions.h. */
bool
dp_expressions_unites_all(const Node *operation)
{
	const SetOperationStmt *united = (const SetOperationStmt *) operation;

	return IsA(operation, RangeTblRef) ||
		(united->op == SETOP_UNION && united->all &&
		 dp_expressions_unites_all(united->larg) &&
		 dp_expressions_unites_all(united->rarg));
}

/* Name of a part of the query that is not allowed, or NULL. */
static const char *
forbidden_part(Query *query, bool top)
{
	if (query->commandType != CMD_SELECT || query->utilityStmt != NULL ||
		query->resultRelation != 0 || query->hasModifyingCTE)
		return "a command other than SELECT";
	if (query->cteList != NIL || query->hasRecursive)
		return "WITH";
	if (query->hasSubLinks)
		return "a subquery in an expression";
	if ((query->hasWindowFuncs || query->windowClause != NIL) &&
		(top || !query->hasWindowFuncs || query->groupClause != NIL))
		return "a window function";
	if (query->hasTargetSRFs)
		return "a set-returning function";
	if (query->distinctClause != NIL || query->hasDistinctOn)
		return "DISTINCT";
	if (query->limitCount != NULL || query->limitOffset != NULL)
		return "LIMIT or OFFSET";
	if (query->setOperations != NULL &&
		(top || !dp_expressions_unites_all(query->setOperations)))
		return "a set operation";
	if (query->groupingSets != NIL)
		return "GROUPING SETS";
	if (top && query->havingQual != NULL)
		return "HAVING";
	if (query->rowMarks != NIL || query->hasForUpdate)
		return "FOR UPDATE";
	if (!top && query->groupClause == NIL &&
		(query->hasAggs || query->havingQual != NULL))
		return "an aggregate in a subquery without GROUP BY";
	return NULL;
}

static dp_refusal *
check_expressions(Node *node)
{
	dp_expression_walk walk = {0};

	walk.rewritten = true;
	dp_expressions_walker(node, &walk);
	return walk.refusal;
}

/*
 * Targets and HAVING, with exact aggregates of the release or those of units.
 */
static dp_refusal *
check_targets(Query *query, bool top)
{
	dp_expression_walk walk = {0};

	walk.rewritten = true;
	walk.aggregates = top;
	walk.groups = !top && query->groupClause != NIL;
	walk.windows = !top && query->hasWindowFuncs;
	(void) (dp_expressions_walker((Node *) query->targetList, &walk) ||
			dp_expressions_walker(query->havingQual, &walk));
	return walk.refusal;
}

/* A support function, which must be built in. */
static dp_refusal *
check_support(Oid function)
{
	if (OidIsValid(function) && function >= FirstGenbkiObjectId)
		return refuse_part("an operator class made by a user");
	return NULL;
}

/* The equality, hash and order functions of one ORDER BY or GROUP BY item. */
static dp_refusal *
check_sort(SortGroupClause *clause, List *targets)
{
	Node	   *key = get_sortgroupclause_expr(clause, targets);
	List	   *args = list_make1(key);
	Oid			collation = exprCollation(key);
	int			location = exprLocation(key);
	dp_refusal *refusal;
	Oid			family;
	Oid			type;
	dp_order	strategy;
	RegProcedure left;
	RegProcedure right;

	refusal = dp_expressions_check_function(get_opcode(clause->eqop),
											clause->eqop, args, collation,
											location, false, true);
	if (refusal == NULL && clause->hashable &&
		get_op_hash_functions(clause->eqop, &left, &right))
	{
		refusal = check_support(left);
		if (refusal == NULL)
			refusal = check_support(right);
	}
	if (refusal != NULL || !OidIsValid(clause->sortop))
		return refusal;
	refusal = dp_expressions_check_function(get_opcode(clause->sortop),
											clause->sortop, args, collation,
											location, false, true);
	if (refusal != NULL)
		return refusal;
	if (!get_ordering_op_properties(clause->sortop, &family, &type, &strategy))
		return refuse_part("an order without an operator class");
	refusal = check_support(get_opfamily_proc(family, type, type,
											  BTORDER_PROC));
	return refusal != NULL ? refusal :
		check_support(get_opfamily_proc(family, type, type,
										BTSORTSUPPORT_PROC));
}

static dp_refusal *
check_sorts(List *clauses, List *targets)
{
	ListCell   *cell;
	dp_refusal *refusal;

	foreach(cell, clauses)
	{
		refusal = check_sort(lfirst_node(SortGroupClause, cell), targets);
		if (refusal != NULL)
			return refusal;
	}
	return NULL;
}

/* The windows of a level; their sort keys are among its targets. */
static dp_refusal *
check_windows(const Query *query)
{
	dp_refusal *refusal = query->windowClause == NIL ? NULL :
	dp_expressions_check_windows(query);
	ListCell   *cell;

	foreach(cell, query->windowClause)
	{
		const WindowClause *window = lfirst_node(WindowClause, cell);

		if (refusal == NULL)
			refusal = check_sorts(window->partitionClause, query->targetList);
		if (refusal == NULL)
			refusal = check_sorts(window->orderClause, query->targetList);
	}
	return refusal;
}

/* Conditions of policies; checked first, so that refusals name the policy. */
static dp_refusal *
check_policies(Query *query)
{
	return dp_expressions_check_in_policies(query, check_expressions,
											dp_expressions_check);
}

static dp_refusal *
check_entry(RangeTblEntry *entry)
{
	if (entry->lateral)
		return refuse_part("LATERAL");
	if (entry->tablesample != NULL)
		return refuse_part("TABLESAMPLE");
	if (entry->rtekind == RTE_SUBQUERY)
		return query_check_level(entry->subquery, false);
	if (entry->rtekind == RTE_JOIN || entry->rtekind == RTE_NAMEDTUPLESTORE)
		return NULL;
	if (entry->rtekind != RTE_RELATION)
		return refuse_part("anything but tables, views and subqueries in "
						   "FROM");
	switch (entry->relkind)
	{
		case RELKIND_RELATION:
		case RELKIND_PARTITIONED_TABLE:
		case RELKIND_MATVIEW:
		case RELKIND_FOREIGN_TABLE:
			return NULL;
		default:
			return refuse_part("this kind of relation");
	}
}

/* An item of FROM: an entry of the range table, or a join of such. */
static dp_refusal *
check_item(Node *item)
{
	JoinExpr   *join = (JoinExpr *) item;
	dp_refusal *refusal;

	check_stack_depth();
	if (IsA(item, RangeTblRef))
		return NULL;
	if (!IsA(item, JoinExpr) || (join->jointype != JOIN_INNER &&
								 join->jointype != JOIN_LEFT &&
								 join->jointype != JOIN_RIGHT &&
								 join->jointype != JOIN_FULL &&
								 join->jointype != JOIN_SEMI &&
								 join->jointype != JOIN_ANTI))
		return refuse_part("this kind of join");
	refusal = check_item(join->larg);
	if (refusal == NULL)
		refusal = check_item(join->rarg);
	return refusal != NULL ? refusal : check_expressions(join->quals);
}

/* FROM: a list of items, and one condition. */
static dp_refusal *
check_from(FromExpr *from)
{
	ListCell   *cell;

	if (from == NULL)
		return NULL;
	foreach(cell, from->fromlist)
	{
		dp_refusal *refusal = check_item(lfirst(cell));

		if (refusal != NULL)
			return refusal;
	}
	return check_expressions(from->quals);
}

/* Whether FROM uses the entry. */
static bool
is_scanned(Query *query, int index)
{
	return bms_is_member(index,
						 get_relids_in_jointree((Node *) query->jointree,
												true, true));
}

static dp_refusal *
query_check_level(Query *query, bool top)
{
	const char *part = forbidden_part(query, top);
	dp_refusal *refusal = check_policies(query);
	ListCell   *cell;
	RangeTblEntry *entry;

	check_stack_depth();
	if (refusal != NULL)
		return refusal;
	if (part != NULL)
		return refuse_part(part);
	foreach(cell, query->rtable)
	{
		/* A relation that is not read: a view's OLD or NEW. */
		entry = lfirst_node(RangeTblEntry, cell);
		if (entry->rtekind == RTE_RELATION &&
			!is_scanned(query, foreach_current_index(cell) + 1))
			continue;
		refusal = check_entry(entry);
		if (refusal != NULL)
			return refusal;
	}
	refusal = check_from(query->jointree);
	if (refusal == NULL)
		refusal = check_targets(query, top);
	if (refusal == NULL)
		refusal = check_sorts(query->sortClause, query->targetList);
	if (refusal == NULL)
		refusal = check_sorts(query->groupClause, query->targetList);
	return refusal != NULL ? refusal : check_windows(query);
}

/* See dp_expressions.h. */
dp_refusal *
dp_expressions_check_query(Query *query)
{
	return query_check_level(query, true);
}

static bool
has_unsafe_policies(Node *node, const dp_walk *walk)
{
	dp_refusal **refusal = walk->context;

	if (IsA(node, Query))
		*refusal = check_policies((Query *) node);
	return *refusal != NULL;
}

/* See dp_expressions.h. */
dp_refusal *
dp_expressions_check_policies(Query *query)
{
	dp_refusal *refusal = NULL;

	dp_expressions_settle_policies(query);
	(void) dp_base_contains((Node *) query, has_unsafe_policies, &refusal,
							0);
	return refusal;
}
