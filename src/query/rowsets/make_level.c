/*
 * make_level.c
 *	  Makes parts of queries: levels, entries, items of FROM, groups,
 *	  conditions.
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_clause.h"
#include "parser/parse_oper.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "dp_rowsets.h"
#include "rowsets_internal.h"

/* ----------------
 *		Conditions as lists of conjuncts.
 * ----------------
 */

/*
 * dp_rowsets_add_conjuncts: append the conjuncts of a condition to a list of
 * Node *.
 */
List *
dp_rowsets_add_conjuncts(List *conjuncts, Node *condition)
{
	ListCell   *lc;

	if (condition == NULL)
		return conjuncts;
	if (!is_andclause(condition))
		return lappend(conjuncts, condition);
	foreach(lc, ((BoolExpr *) condition)->args)
		conjuncts = dp_rowsets_add_conjuncts(conjuncts, lfirst(lc));
	return conjuncts;
}

/* dp_rowsets_and: the conjunction of all; NULL if there are none. */
Node *
dp_rowsets_and(List *conjuncts)
{
	return conjuncts == NIL ? NULL :
		(Node *) make_ands_explicit(conjuncts);
}

/* dp_rowsets_is_equality: is it a built-in equality of two operands? */
bool
dp_rowsets_is_equality(const OpExpr *comparison)
{
	Oid			left;

	if (list_length(comparison->args) != 2)
		return false;
	left = exprType(linitial(comparison->args));
	return comparison->opno < FirstGenbkiObjectId &&
		op_mergejoinable(comparison->opno, left) &&
		op_hashjoinable(comparison->opno, left) &&
		(!OidIsValid(comparison->inputcollid) ||
		 get_collation_isdeterministic(comparison->inputcollid));
}

/*
 * dp_rowsets_widened
 *	  The integer expression under a cast to a longer integer type, which USING
 *	  adds if types differ; or the expression itself.
 */
Node *
dp_rowsets_widened(Node *node)
{
	const FuncExpr *call = (const FuncExpr *) node;

	return IsA(node, FuncExpr) &&
		(call->funcid == F_INT8_INT4 || call->funcid == F_INT8_INT2 ||
		 call->funcid == F_INT4_INT2) ? linitial(call->args) : node;
}

/* ---- levels ---- */

/* dp_rowsets_make_level: a level with these entries and an empty FROM. */
Query *
dp_rowsets_make_level(List *entries)
{
	Query	   *level = makeNode(Query);

	level->commandType = CMD_SELECT;
	level->querySource = QSRC_ORIGINAL;
	level->canSetTag = true;
	level->stmt_location = -1;
	level->rtable = entries;
	level->jointree = makeFromExpr(NIL, NULL);
	return level;
}

/* dp_rowsets_make_item: a reference to the n-th entry of a level, from 1. */
Node *
dp_rowsets_make_item(int n)
{
	RangeTblRef *item = makeNode(RangeTblRef);

	item->rtindex = n;
	return (Node *) item;
}

/* dp_rowsets_join_items: their cross join. */
Node *
dp_rowsets_join_items(Node *left, Node *right)
{
	JoinExpr   *join = makeNode(JoinExpr);

	join->jointype = JOIN_INNER;
	join->larg = left;
	join->rarg = right;
	return (Node *) join;
}

/* dp_rowsets_subquery_entry: an entry for a subquery. */
RangeTblEntry *
dp_rowsets_subquery_entry(Query *subquery)
{
	RangeTblEntry *entry = makeNode(RangeTblEntry);
	List	   *names = NIL;
	ListCell   *lc;

	foreach(lc, subquery->targetList)
	{
		const char *name = ((TargetEntry *) lfirst(lc))->resname;

		names = lappend(names, makeString(pstrdup(name ? name : "column")));
	}
	entry->rtekind = RTE_SUBQUERY;
	entry->subquery = subquery;
	entry->alias = makeAlias("subquery", NIL);
	entry->eref = makeAlias("subquery", names);
	entry->inFromCl = false;
	return entry;
}

/* dp_rowsets_join_entry: an entry for an outer join. */
RangeTblEntry *
dp_rowsets_join_entry(JoinType type)
{
	RangeTblEntry *entry = makeNode(RangeTblEntry);

	entry->rtekind = RTE_JOIN;
	entry->jointype = type;
	entry->eref = makeAlias("unnamed_join", NIL);
	return entry;
}

/*
 * dp_rowsets_name_columns: give an entry n column names; `name` where there is
 * none.
 */
void
dp_rowsets_name_columns(RangeTblEntry *entry, int n, const char *name)
{
	while (list_length(entry->eref->colnames) < n)
		entry->eref->colnames = lappend(entry->eref->colnames,
										makeString(pstrdup(name)));
}

/*
 * dp_rowsets_add_target
 *	  Append a column to a list of targets, or an argument without a name;
 *	  returns it.
 */
TargetEntry *
dp_rowsets_add_target(List **targets, Node *expression, const char *name)
{
	TargetEntry *target = makeTargetEntry((Expr *) expression,
										  list_length(*targets) + 1,
										  name == NULL ? NULL : pstrdup(name),
										  false);

	*targets = lappend(*targets, target);
	return target;
}

/* dp_rowsets_group_by: add a column of a level to its GROUP BY. */
void
dp_rowsets_group_by(Query *level, TargetEntry *target)
{
	SortGroupClause *clause = makeNode(SortGroupClause);

	get_sort_group_operators(exprType((Node *) target->expr), false, true,
							 false, NULL, &clause->eqop, NULL,
							 &clause->hashable);
	clause->tleSortGroupRef = assignSortGroupRef(target, level->targetList);
	level->groupClause = lappend(level->groupClause, clause);
}

/*
 * dp_rowsets_group_by_all
 *	  Make a level without GROUP BY group by all of its columns.
 */
void
dp_rowsets_group_by_all(Query *level)
{
	ListCell   *lc;

	foreach(lc, level->targetList)
		dp_rowsets_group_by(level, lfirst(lc));
}

/* dp_rowsets_add_distinct: add a column to SELECT DISTINCT. */
void
dp_rowsets_add_distinct(Query *query, Node *value)
{
	SortGroupClause *clause = makeNode(SortGroupClause);
	TargetEntry *target = dp_rowsets_add_target(&query->targetList, value,
												"key");

	get_sort_group_operators(exprType(value), true, true, false,
							 &clause->sortop, &clause->eqop, NULL,
							 &clause->hashable);
	clause->tleSortGroupRef = target->ressortgroupref = target->resno;
	query->distinctClause = lappend(query->distinctClause, clause);
}

/*
 * dp_rowsets_distinct_columns
 *	  A query for the distinct values of columns (of Var *) in the rows of an
 *	  uncorrelated query.
 */
Query *
dp_rowsets_distinct_columns(Query *query, const List *columns)
{
	RangeTblEntry *entry = dp_rowsets_subquery_entry(copyObject(query));
	Query	   *level = dp_rowsets_make_level(list_make1(entry));
	ListCell   *lc;

	level->jointree->fromlist = list_make1(dp_rowsets_make_item(1));
	foreach(lc, columns)
	{
		Var		   *column = copyObject(lfirst_node(Var, lc));

		column->varno = 1;
		(void) dp_rowsets_add_target(&level->targetList, (Node *) column,
									 "key");
	}
	dp_rowsets_group_by_all(level);
	return level;
}

/* ---- expressions ---- */

/* dp_rowsets_of_all: the aggregate bool_and or bool_or of a condition. */
Node *
dp_rowsets_of_all(Oid function, Node *condition)
{
	Aggref	   *all = makeNode(Aggref);

	all->aggfnoid = function;
	all->aggtype = BOOLOID;
	all->aggargtypes = list_make1_oid(BOOLOID);
	all->args = list_make1(makeTargetEntry((Expr *) condition, 1, NULL,
										   false));
	all->aggkind = AGGKIND_NORMAL;
	all->aggsplit = AGGSPLIT_SIMPLE;
	all->aggno = -1;
	all->aggtransno = -1;
	all->location = -1;
	return (Node *) all;
}

/* dp_rowsets_null_test: IS NULL or IS NOT NULL of a scalar. */
Node *
dp_rowsets_null_test(Node *value, NullTestType type)
{
	NullTest   *test = makeNode(NullTest);

	test->arg = (Expr *) value;
	test->nulltesttype = type;
	test->location = -1;
	return (Node *) test;
}
