/*
 * unit_column.c
 *	  The unit of each row, as an expression of a verified block's level.
 *
 * Subqueries need not select the column that names the unit; each gets one
 * more target then.  Only the inner query sees it.  A level that groups has
 * the unit among its keys, one of UNION ALL among its columns.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/tlist.h"
#include "parser/parse_clause.h"
#include "parser/parse_coerce.h"
#include "parser/parse_oper.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "read_rows.h"

static const char column_name[] = "unit";

static TargetEntry *
target_of(const Query *level, const SortGroupClause *clause)
{
	return get_sortgroupclause_tle((SortGroupClause *) clause,
								   level->targetList);
}

/* The first key of a level that is one of some targets, or NULL. */
static TargetEntry *
key_among(const Query *level, const List *numbers)
{
	ListCell   *lc;

	foreach(lc, level->groupClause)
	{
		TargetEntry *target = target_of(level, lfirst(lc));

		if (list_member_int(numbers, target->resno))
			return target;
	}
	return NULL;
}

/*
 * dp_block_group_unit
 *	  The group key of a level that names the unit of its rows, or NULL.
 */
TargetEntry *
dp_block_group_unit(Query *level, const dp_rowset *rowset)
{
	return key_among(level, dp_block_unit_outputs(level, rowset));
}

/* The target of a subquery that is the unit of its rows. */
static TargetEntry *
unit_target(Query *subquery, const dp_rowset *rowset)
{
	TargetEntry *target;
	Expr	   *inside;

	if (subquery->setOperations != NULL)
		return get_tle_by_resno(subquery->targetList,
								linitial_int(dp_block_unit_outputs(subquery,
																   rowset)));
	if (dp_block_is_grouped(subquery))
	{
		target = dp_block_group_unit(subquery, rowset);
		if (target == NULL)
			elog(ERROR, "a level that groups has no unit among its keys");
		target->resjunk = false;
		return target;
	}
	inside = dp_block_rowset_unit(subquery, rowset);
	target = makeTargetEntry(inside, list_length(subquery->targetList) + 1,
							 pstrdup(column_name), false);
	subquery->targetList = lappend(subquery->targetList, target);
	return target;
}

/* The column of a private item that gives the unit of its row. */
static Expr *
unit_of_entry(int varno, const Query *query, const dp_rowset *rowset)
{
	RangeTblEntry *entry = rt_fetch(varno, query->rtable);
	TargetEntry *target;
	Var		   *unit;

	if (entry->rtekind != RTE_SUBQUERY)
	{
		const dp_relation *relation =
		dp_block_leaf_of(rowset, entry)->relation;

		unit = makeVar(varno, relation->unit_attnum, relation->unit_type,
					   relation->unit_typmod, relation->unit_collation, 0);
		return (Expr *) dp_block_above_joins(query, unit);
	}
	target = unit_target(entry->subquery, rowset);
	dp_block_name_columns(entry, target->resno, column_name);
	unit = makeVarFromTargetEntry(varno, target);
	return (Expr *) dp_block_above_joins(query, unit);
}

/* The common type of units of two types: see dp_block_check_units (unit.c). */
static Oid
common_type(Oid a, Oid b)
{
	a = getBaseType(a);
	b = getBaseType(b);
	if (a == b)
		return a;
	if (a == TEXTOID || b == TEXTOID)
		return TEXTOID;
	return get_typlen(a) > get_typlen(b) ? a : b;
}

static Expr *
as_type(Expr *unit, Oid type)
{
	return (Expr *) coerce_to_target_type(NULL, (Node *) unit,
										  exprType((Node *) unit), type, -1,
										  COERCION_IMPLICIT,
										  COERCE_IMPLICIT_CAST, -1);
}

/* The unit of a full join's row: that of a side that is there. */
static Expr *
either_unit(Expr *left, Expr *right)
{
	CoalesceExpr *either = makeNode(CoalesceExpr);
	Oid			type = common_type(exprType((Node *) left),
								   exprType((Node *) right));

	either->coalescetype = type;
	either->coalescecollid = exprCollation((Node *) left);
	either->args = list_make2(as_type(left, type), as_type(right, type));
	either->location = -1;
	return (Expr *) either;
}

/* The unit of an item's rows, never NULL; or NULL if they have none. */
static Expr *
unit_of_item(const Node *item, const Query *query, const dp_rowset *rowset)
{
	const JoinExpr *join = (const JoinExpr *) item;
	Expr	   *left;

	if (IsA(item, RangeTblRef))
	{
		int			n = ((const RangeTblRef *) item)->rtindex;

		return dp_block_is_private(rt_fetch(n, query->rtable), rowset) ?
			unit_of_entry(n, query, rowset) : NULL;
	}
	if (join->jointype == JOIN_RIGHT)
		return unit_of_item(join->rarg, query, rowset);
	left = unit_of_item(join->larg, query, rowset);
	if (join->jointype == JOIN_FULL)
		return either_unit(left, unit_of_item(join->rarg, query, rowset));
	return left != NULL || join->jointype == JOIN_LEFT ||
		dp_block_only_asks(join) ? left :
		unit_of_item(join->rarg, query, rowset);
}

/*
 * dp_block_rowset_unit
 *	  The unit of each row of a level: a column of the first private item that
 *	  no outer join leaves out, or, below full joins, of the first item that is
 *	  there.  Subqueries below get an additional column.
 */
Expr *
dp_block_rowset_unit(Query *query, const dp_rowset *rowset)
{
	Expr	   *found = NULL;
	ListCell   *lc;

	foreach(lc, query->jointree->fromlist)
		if (found == NULL)
			found = unit_of_item(lfirst(lc), query, rowset);
	return found;
}

/* Numbers of the targets that a level groups by. */
static List *
group_keys(const Query *level)
{
	List	   *numbers = NIL;
	ListCell   *lc;

	foreach(lc, level->groupClause)
		numbers = lappend_int(numbers, target_of(level, lfirst(lc))->resno);
	return numbers;
}

/*
 * dp_block_add_unit_key
 *	  If a level groups by the first step of a path to the unit, as lines by
 *	  their order, make the unit a key, too, which changes no group.
 */
void
dp_block_add_unit_key(RangeTblEntry *entry, const dp_rowset *rowset)
{
	Query	   *level = entry->subquery;
	SortGroupClause *clause = makeNode(SortGroupClause);
	TargetEntry *target;

	if (dp_block_group_unit(level, rowset) != NULL ||
		!dp_block_names_step(level, group_keys(level), rowset))
		return;
	target = makeTargetEntry(dp_block_rowset_unit(level, rowset),
							 list_length(level->targetList) + 1,
							 pstrdup(column_name), false);
	get_sort_group_operators(exprType((Node *) target->expr), false, true,
							 false, &clause->sortop, &clause->eqop, NULL,
							 &clause->hashable);
	clause->tleSortGroupRef = assignSortGroupRef(target, level->targetList);
	level->targetList = lappend(level->targetList, target);
	level->groupClause = lappend(level->groupClause, clause);
	dp_block_name_columns(entry, target->resno, column_name);
}
