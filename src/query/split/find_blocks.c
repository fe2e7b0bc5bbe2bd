/*
 * find_blocks.c
 *	  Find every DP block of a query tree, at every level, and split it.
 *
 * Levels are visited from the outside in.  If a level is a block, its range
 * table moves into the inner query and is not visited again, since everything
 * in it has been verified.  The level's targets and HAVING stay outside and
 * are searched further, since subqueries there may contain blocks of their
 * own.
 *
 * Before it is split, a level may be rewritten: one of group keys alone, which
 * is a block, too; unused private values of a subquery, which become NULL; and
 * private rows that are compared with an outer query, which are grouped by
 * what is compared, so that values are looked up in the groups.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/bitmapset.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parse_oper.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../protect/dp_protect.h"
#include "../domains/dp_domains.h"
#include "../rowsets/dp_rowsets.h"
#include "dp_split.h"
#include "split_internal.h"

/* ----------------
 *		Levels that ask only for group keys: SELECT DISTINCT, and GROUP BY
 *		without an aggregate.
 *
 * Over private rows the answer would show who is there.  So for a role that
 * may not read the rows, such a level is a block without aggregates: it
 * returns the public values of its keys, reads no row and costs nothing.  If
 * dp_pg.delta is set, keys that are not public are released by threshold, for
 * a charge.  Any other level whose keys are not public stays unchanged, and is
 * refused for lack of rights.
 * ----------------
 */

/* Judged by the form of the level only. */
static bool
may_be_keys_alone(const Query *query)
{
	return query->commandType == CMD_SELECT && !query->hasAggs &&
		!query->hasWindowFuncs && !query->hasTargetSRFs &&
		!query->hasDistinctOn && query->groupingSets == NIL &&
		query->setOperations == NULL && query->rowMarks == NIL &&
		(query->groupClause != NIL ||
		 (query->distinctClause != NIL && query->havingQual == NULL)) &&
		query->jointree != NULL && list_length(query->jointree->fromlist) == 1;
}

static bool
lacks_rights(Node *node, const dp_walk *walk)
{
	return IsA(node, Query) && !dp_base_has_rights((Query *) node);
}

/* Split a copy of the level; NULL if it is no block. */
static Query *
split_copy(const Query *query, List *cte_stack, dp_block **block,
		   RangeTblEntry **entry)
{
	Query	   *copy = copyObject((Query *) query);
	List	   *stack = lcons(copy->cteList, list_copy(cte_stack));

	if (copy->groupClause == NIL)
		copy->groupClause = copyObject(copy->distinctClause);
	if (dp_split_one(copy, stack, block, entry) != NULL ||
		(*block)->subqueries != NIL ||
		!dp_base_contains((Node *) (*block)->inner, lacks_rights, NULL, 0))
		return NULL;
	return copy;
}

/*
 * block_split_keys
 *	  Split a level of keys alone in place, as dp_split_one does; false,
 *	  and nothing has changed, if it is none.
 *
 * It is tried on copies of all that it could change, including the WITH
 * queries in reach.
 */
static bool
block_split_keys(Query *query, List *cte_stack, dp_block **block,
				 RangeTblEntry **entry)
{
	Query	   *copy;

	if (!may_be_keys_alone(query) ||
		split_copy(query, copyObject(cte_stack), block, entry) == NULL)
		return false;
	copy = split_copy(query, cte_stack, block, entry);
	if (copy == NULL)
		elog(ERROR, "a query of keys alone was not split as before");
	*query = *copy;
	return true;
}

/* ----------------
 *		Unused private values of a subquery are not released: they become NULL
 *		before the subquery is split.
 *
 * Tools wrap queries in several levels, each with all columns of the one
 * below.  A value that is not released costs nothing.  The planner drops such
 * columns, too, but too late: the release would have been charged for them.
 * ----------------
 */

typedef struct column_use
{
	int			entry;			/* its range table index */
	Bitmapset  *columns;
	bool		whole;			/* the row is used as a whole */
} column_use;

static bool
add_use(Node *node, const dp_walk *walk)
{
	column_use *use = walk->context;
	const Var  *var = (Var *) node;

	if (!IsA(node, Var) || (int) var->varlevelsup != walk->depth ||
		var->varno != use->entry)
		return false;
	if (var->varattno <= 0)
		use->whole = true;
	else
		use->columns = bms_add_member(use->columns, var->varattno);
	return false;
}

/* May values of the subquery be dropped without changing its rows? */
static bool
has_loose_columns(const Query *subquery)
{
	return subquery->commandType == CMD_SELECT &&
		subquery->setOperations == NULL && subquery->distinctClause == NIL &&
		!subquery->hasDistinctOn && !subquery->hasTargetSRFs &&
		dp_catalog_has_own_aggregate(subquery);
}

static bool
can_drop(const TargetEntry *target, const column_use *use)
{
	return !target->resjunk && target->ressortgroupref == 0 &&
		!bms_is_member(target->resno, use->columns) &&
		dp_catalog_has_aggregate((Node *) target->expr) &&
		!contain_volatile_functions((Node *) target->expr);
}

/*
 * Drop unused values: those that use the number of rows, or all others.  The
 * subquery must remain an aggregation, with one row, or one for each public
 * key: its last private value stays.
 */
static void
drop_columns(Query *subquery, const column_use *use, bool sizes)
{
	ListCell   *lc;

	foreach(lc, subquery->targetList)
	{
		TargetEntry *target = lfirst_node(TargetEntry, lc);
		Expr	   *kept = target->expr;

		if (!can_drop(target, use) ||
			dp_split_holds_size((Node *) kept) != sizes)
			continue;
		target->expr = (Expr *) makeNullConst(exprType((Node *) kept),
											  exprTypmod((Node *) kept),
											  exprCollation((Node *) kept));
		if (!dp_catalog_has_own_aggregate(subquery))
			target->expr = kept;
	}
}

/*
 * drop_unused
 *	  Replace unused private values of subqueries in the level's FROM by NULL.
 */
static void
drop_unused(Query *query)
{
	ListCell   *lc;

	if (query->setOperations != NULL || query->rowMarks != NIL)
		return;
	foreach(lc, query->rtable)
	{
		RangeTblEntry *entry = lfirst_node(RangeTblEntry, lc);
		column_use	use = {foreach_current_index(lc) + 1, NULL, false};

		if (entry->rtekind != RTE_SUBQUERY ||
			!has_loose_columns(entry->subquery))
			continue;
		(void) dp_base_contains((Node *) query, add_use, &use, 0);
		if (use.whole)
			continue;
		drop_columns(entry->subquery, &use, false);
		drop_columns(entry->subquery, &use, true);
	}
}

/* ----------------
 *		Private aggregates over rows that are compared with an outer query.
 *
 *		SELECT o.part FROM offers o
 *		WHERE o.stock > (SELECT 0.5 * dp_sum(l.amount) FROM lines l
 *					   WHERE l.part = o.part AND l.day > '2024-01-01')
 *
 * would release a sum for every offer.  Instead the compared columns become
 * group keys: all groups are released once, and each outer row looks up its
 * own (doc/theory.md T156):
 *
 *		(SELECT 0.5 * r.sum FROM (SELECT) AS one LEFT JOIN
 *		   (SELECT l.part, dp_sum(l.amount) AS sum FROM lines l
 *			WHERE l.day > '2024-01-01' AND l.part IS NOT NULL
 *			GROUP BY l.part) AS r ON r.part = o.part)
 *
 * It finds one group, or none; then a count is 0 and everything else NULL, as
 * over no rows.  If an owner has groups with few units left out, a count is
 * NULL, too, since the group may have rows.
 *
 * If the rows are compared with columns of one table of the outer query, the
 * groups are that table's values, read before the charge: lines are joined
 * with SELECT part FROM offers GROUP BY part, and grouped by its part.  This
 * is not done for several columns if they can be released by threshold, nor if
 * an outer row may have a value that the table lacks.
 * ----------------
 */

/* Range table entries of the level that looks up the group. */
enum
{
	ONE = 1,					/* one row without columns */
	GROUPS,						/* the released groups */
	JOIN						/* their join */
};

/* ---- what can be taken apart ---- */

/* Does the level aggregate all of its private rows, and nothing else? */
static bool
aggregates_all(const Query *query)
{
	return query->commandType == CMD_SELECT &&
		dp_catalog_has_own_aggregate(query) && query->groupClause == NIL &&
		query->groupingSets == NIL && query->setOperations == NULL &&
		query->distinctClause == NIL && query->sortClause == NIL &&
		query->limitCount == NULL && query->limitOffset == NULL &&
		!query->hasTargetSRFs && !query->hasWindowFuncs &&
		!query->hasModifyingCTE && query->rowMarks == NIL &&
		query->jointree->quals != NULL;
}

/* Does an expression of the level refer to an outer query, at any depth? */
static bool
is_outer(Node *expression)
{
	return dp_rowsets_refers_outside(expression, 0);
}

static bool
has_own(Node *expression)
{
	return contain_vars_of_level(expression, 0);
}

/*
 * Which operand of an equality uses only the level's rows, if the other one
 * uses only outer rows; or -1.
 */
static int
own_side(const OpExpr *equality)
{
	int			i;

	if (!IsA(equality, OpExpr) || !dp_rowsets_is_equality(equality) ||
		checkExprHasSubLink((Node *) equality))
		return -1;
	for (i = 0; i < 2; i++)
	{
		Node	   *own = list_nth(equality->args, i);
		Node	   *other = list_nth(equality->args, 1 - i);

		if (has_own(own) && !is_outer(own) && !has_own(other))
			return i;
	}
	return -1;
}

/*
 * Separate the equalities with outer rows, with conditions on these only, from
 * the level's own conditions; false if some condition is neither.
 */
static bool
take_apart(Node *quals, List **compared, List **others)
{
	ListCell   *lc;

	*compared = NIL;
	*others = NIL;
	foreach(lc, dp_rowsets_add_conjuncts(NIL, quals))
	{
		Node	   *conjunct = lfirst(lc);

		if (!is_outer(conjunct))
			*others = lappend(*others, conjunct);
		else if (own_side((OpExpr *) conjunct) >= 0 ||
				 (!has_own(conjunct) && !checkExprHasSubLink(conjunct)))
			*compared = lappend(*compared, conjunct);
		else
			return false;
	}
	return *compared != NIL;
}

/* ---- the groups ---- */

static void
walk_add_key(Query *groups, Node *key)
{
	(void) dp_rowsets_add_target(&groups->targetList, copyObject(key), "key");
}

static Node *
is_present(const void *value)
{
	return dp_rowsets_null_test(copyObject((Node *) value), IS_NOT_NULL);
}

static Node *
walk_column_of(const Query *groups, int n)
{
	Var		   *column = makeVarFromTargetEntry(GROUPS,
												list_nth(groups->targetList,
														 n - 1));

	return (Node *) column;
}

/* ---- the values of the outer query ---- */

/* Can the values of an entry be read separately, and again? */
static bool
can_read(const RangeTblEntry *entry)
{
	Node	   *rows = (Node *) entry->values_lists;

	if (entry->rtekind == RTE_VALUES)
		return !entry->lateral && !dp_rowsets_refers_outside(rows, 0) &&
			!contain_volatile_functions(rows) && !checkExprHasSubLink(rows);
	return entry->rtekind == RTE_RELATION && entry->tablesample == NULL &&
		dp_protect_lookup(entry->relid) == NULL &&
		!OidIsValid(dp_protect_root(entry->relid));
}

/*
 * The public values of several columns are all combinations of the columns'
 * values; by threshold there may be any number of them.
 */
static bool
has_many_values(const List *operands)
{
	return list_length(operands) > 1 && dp_setting_delta[0] != '\0';
}

/* May an outer join leave an entry's columns NULL? */
static bool
is_nulled(Node *item, int n)
{
	const JoinExpr *join = (const JoinExpr *) item;
	bool		left;

	if (!IsA(item, JoinExpr))
		return false;
	left = bms_is_member(n, get_relids_in_jointree(join->larg, false, false));
	if (join->jointype == JOIN_FULL ||
		join->jointype == (left ? JOIN_RIGHT : JOIN_LEFT))
		return left || bms_is_member(n, get_relids_in_jointree(join->rarg,
															   false, false));
	return is_nulled(join->larg, n) || is_nulled(join->rarg, n);
}

/*
 * May an outer row have a value of the entry that the table, read separately,
 * does not have?  It may have NULL by an outer join or grouping sets, a row
 * that this statement writes, one that others have changed (row locks), or
 * EXCLUDED.
 */
static bool
is_other(const Query *outer, int n)
{
	ListCell   *lc;

	if (n == outer->resultRelation || outer->groupingSets != NIL ||
		(outer->onConflict != NULL && outer->onConflict->exclRelIndex == n))
		return true;
	foreach(lc, outer->rowMarks)
		if (lfirst_node(RowMarkClause, lc)->rti == n)
			return true;
	foreach(lc, outer->jointree->fromlist)
		if (is_nulled(lfirst(lc), n))
			return true;
	return false;
}

/* Do the operands use one table of the outer query only?  Its number, or 0. */
static int
outer_table(const List *operands, const Query *outer)
{
	List	   *vars = pull_vars_of_level((Node *) operands, 1);
	int			n = 0;
	ListCell   *lc;

	foreach(lc, vars)
	{
		const Var  *var = lfirst(lc);

		if ((n != 0 && (int) var->varno != n) || var->varattno <= 0)
			return 0;
		n = var->varno;
	}
	if (n == 0 || outer == NULL || has_many_values(operands) ||
		dp_rowsets_refers_outside((Node *) operands, 1) ||
		contain_volatile_functions((Node *) operands) ||
		contain_aggs_of_level((Node *) operands, 1) ||
		checkExprHasSubLink((Node *) operands) || is_other(outer, n))
		return 0;
	return can_read(rt_fetch(n, outer->rtable)) ? n : 0;
}

/* SELECT operand, .. FROM table WHERE they are not NULL GROUP BY all */
static Query *
walk_read_values(const List *operands, int table, const Query *outer)
{
	Query	   *from = copyObject((Query *) outer);
	Query	   *values = dp_rowsets_entry_query(from,
												rt_fetch(table, from->rtable));
	List	   *present = NIL;
	ListCell   *lc;

	foreach(lc, operands)
	{
		Node	   *value = copyObject(lfirst(lc));

		IncrementVarSublevelsUp(value, -1, 1);
		ChangeVarNodes(value, table, 1, 0);
		present = lappend(present, is_present(value));
		(void) dp_rowsets_add_target(&values->targetList, value, "value");
	}
	values->jointree->quals = dp_rowsets_and(present);
	dp_rowsets_group_by_all(values);
	return values;
}

/* Make value = value, for values of one type. */
static Node *
walk_equal_values(Node *left, Node *right)
{
	Oid			operator;
	bool		hashable;

	get_sort_group_operators(exprType(left), false, true, false, NULL,
							 &operator, NULL, &hashable);
	return (Node *) make_opclause(operator, BOOLOID, false, (Expr *) left,
								  (Expr *) right, InvalidOid,
								  exprCollation(left));
}

static List *
outer_operands(const List *compared)
{
	List	   *operands = NIL;
	ListCell   *lc;

	foreach(lc, compared)
	{
		const OpExpr *equality = lfirst(lc);
		int			side = own_side(equality);

		if (side >= 0)
			operands = lappend(operands, list_nth(equality->args, 1 - side));
	}
	return operands;
}

/* Make the groups those of the values of a table of the outer query. */
static List *
group_by_values(Query *groups, const List *compared, int table,
				const Query *outer)
{
	List	   *operands = outer_operands(compared);
	Query	   *values = walk_read_values(operands, table, outer);
	int			item = list_length(groups->rtable) + 1;
	List	   *found = NIL;
	int			n = 0;
	ListCell   *lc;

	groups->rtable = lappend(groups->rtable,
							 dp_rowsets_subquery_entry(values));
	groups->jointree->fromlist = lappend(groups->jointree->fromlist,
										 dp_rowsets_make_item(item));
	foreach(lc, compared)
	{
		OpExpr	   *equality = copyObject(lfirst(lc));
		int			side = own_side(equality);
		Node	   *value;

		if (side < 0)
		{
			found = lappend(found, equality);
			continue;
		}
		value = (Node *)
			makeVarFromTargetEntry(item, list_nth(values->targetList, n++));
		walk_add_key(groups, value);
		found = lappend(found,
						walk_equal_values(walk_column_of(groups, n),
										  list_nth(equality->args, 1 - side)));
		lfirst(list_nth_cell(equality->args, 1 - side)) = copyObject(value);
		groups->jointree->quals =
			make_and_qual(groups->jointree->quals, (Node *) equality);
	}
	return found;
}

/* ---- the groups of a level's rows ---- */

/* *found: the condition by which an outer row's group is found. */
static Query *
walk_make_groups(const Query *query, List *compared, List *others,
				 const Query *outer, List **found)
{
	Query	   *groups = copyObject((Query *) query);
	int			table = outer_table(outer_operands(compared), outer);
	ListCell   *lc;

	groups->targetList = NIL;
	groups->havingQual = NULL;
	if (table != 0)
	{
		groups->jointree->quals = dp_rowsets_and(copyObject(others));
		*found = group_by_values(groups, compared, table, outer);
		dp_rowsets_group_by_all(groups);
		return groups;
	}
	*found = NIL;
	foreach(lc, compared)
	{
		OpExpr	   *equality = copyObject(lfirst(lc));
		int			side = own_side(equality);

		*found = lappend(*found, equality);
		if (side >= 0)
		{
			ListCell   *own = list_nth_cell(equality->args, side);

			others = lappend(others, is_present(lfirst(own)));
			walk_add_key(groups, lfirst(own));
			lfirst(own) = walk_column_of(groups,
										 list_length(groups->targetList));
		}
	}
	groups->jointree->quals = dp_rowsets_and(copyObject(others));
	dp_rowsets_group_by_all(groups);
	return groups;
}

/* ---- what is looked up ---- */

/* Values of groups that are looked up. */
typedef struct look_up_values
{
	Query	   *groups;
	List	   *counts;			/* of Node *: those that are 0 for no group */
} look_up_values;

/* A value of the group that was found, or its value over no rows. */
static Node *
value_of_group(look_up_values *values, Aggref *aggregate)
{
	Query	   *groups = values->groups;
	TargetEntry *target = NULL;
	CoalesceExpr *value;
	Node	   *column;
	ListCell   *lc;

	foreach(lc, groups->targetList)
		if (equal(((TargetEntry *) lfirst(lc))->expr, aggregate))
			target = lfirst(lc);
	if (target == NULL)
		target = dp_rowsets_add_target(&groups->targetList,
									   copyObject((Node *) aggregate),
									   "value");
	column = dp_base_add_nulling(walk_column_of(groups, target->resno),
								 JOIN);
	if (!dp_catalog_counts_rows(
			dp_catalog_aggregate_kind(aggregate->aggfnoid)))
		return column;
	value = makeNode(CoalesceExpr);
	value->coalescetype = exprType(column);
	value->args = list_make2(column, makeConst(INT8OID, -1, InvalidOid,
											   sizeof(int64),
											   Int64GetDatum(0), false,
											   FLOAT8PASSBYVAL));
	value->location = -1;
	values->counts = lappend(values->counts, value);
	return (Node *) value;
}

static Node *
value_mutator(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Aggref) && ((Aggref *) node)->agglevelsup == 0)
		return value_of_group(context, (Aggref *) node);
	if (IsA(node, Query))
		return node;
	return expression_tree_mutator(node, value_mutator, context);
}

/*
 * Does what is asked of the level use its rows only in aggregates, and no
 * outer rows in these?  An error from dp_error belongs to its aggregate.
 */
static bool
asks_values_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref) && ((Aggref *) node)->agglevelsup == 0)
		return is_outer(node) || checkExprHasSubLink(node);
	if ((IsA(node, Var) && ((Var *) node)->varlevelsup == 0) ||
		IsA(node, GroupingFunc) ||
		(IsA(node, FuncExpr) &&
		 ((FuncExpr *) node)->funcid == dp_catalog_error_function()))
		return true;
	if (IsA(node, Query))
		return contain_vars_of_level(node, 1) ||
			contain_aggs_of_level(node, 1);
	return expression_tree_walker(node, asks_values_walker, context);
}

static bool
asks_values(const Query *query)
{
	return !asks_values_walker((Node *) query->targetList, NULL) &&
		!asks_values_walker(query->havingQual, NULL);
}

/* ---- the level ---- */

static RangeTblEntry *
make_one(void)
{
	Query	   *one = dp_rowsets_make_level(NIL);

	(void) dp_rowsets_add_target(&one->targetList, makeBoolConst(true, false),
								 "one");
	return dp_rowsets_subquery_entry(one);
}

/*
 * Turn the level into one that looks up a group and returns its values; adds
 * those that are 0 for no group to *counts.
 */
static void
look_up(Query *query, Query *groups, List *found, List **counts)
{
	JoinExpr   *join = makeNode(JoinExpr);
	look_up_values values = {groups, *counts};

	query->targetList = (List *) value_mutator((Node *) query->targetList,
											   &values);
	query->havingQual = value_mutator(query->havingQual, &values);
	*counts = values.counts;
	IncrementVarSublevelsUp((Node *) groups, 1, 1);
	join->jointype = JOIN_LEFT;
	join->larg = dp_rowsets_make_item(ONE);
	join->rarg = dp_rowsets_make_item(GROUPS);
	join->quals = dp_rowsets_and(found);
	join->rtindex = JOIN;
	dp_compat_drop_entries(query);
	query->rtable = list_make3(make_one(), dp_rowsets_subquery_entry(groups),
							   dp_rowsets_join_entry(JOIN_LEFT));
	query->jointree = makeFromExpr(list_make1(join), query->havingQual);
	query->havingQual = NULL;
	query->cteList = NIL;		/* they now belong to the groups */
	query->hasAggs = false;
	query->hasRowSecurity = false;
}

/*
 * decorrelate
 *	  If a level aggregates private rows that it compares with those of an
 *	  outer query by equality, replace it in place by one that looks the values
 *	  up in groups that are released without the outer query.  Other levels are
 *	  left unchanged.  `outer`: the level around it, or NULL.  Returns the
 *	  level that groups, or NULL.
 */
static Query *
decorrelate(Query *query, const Query *outer, List **counts)
{
	List	   *compared;
	List	   *others;
	List	   *found;
	Query	   *groups;

	if (!aggregates_all(query) || !is_outer(query->jointree->quals) ||
		!take_apart(query->jointree->quals, &compared, &others) ||
		!asks_values(query))
		return NULL;
	groups = walk_make_groups(query, compared, others, outer, &found);
	look_up(query, groups, found, counts);
	return groups;
}

/*
 * refuse_other
 *	  Refuse groups for look-up, whose block has been split, if one of them is
 *	  for all undeclared values: no outer row would find it, so these values
 *	  would seem to have no rows.
 */
static dp_refusal *
refuse_other(const dp_block *block)
{
	ListCell   *lc;

	foreach(lc, block->keys)
	{
		const dp_key *key = lfirst(lc);
		const dp_key *column = key->base != NULL ? key->base : key;
		const char *name;
		const dp_attribute *declared;

		if (column->kind != DP_KEY_DECLARED)
			continue;
		name = get_attname(column->relid, column->attnum, false);
		declared = dp_catalog_find_attribute(column->relid, name);
		if (declared == NULL || declared->other == NULL)
			continue;
		return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
							  "Rows with values that are not declared are "
							  "counted together.",
							  "Compare with columns of one table; or group "
							  "by the column, and join the result.",
							  "an outer query cannot look up values of "
							  "column \"%s\"", name);
	}
	return NULL;
}

/*
 * Make counts of no group NULL in an expression of a level that looks one up,
 * also below GREATEST, which would make them 0 again.
 */
static Node *
forget_zero_mutator(Node *node, void *counts)
{
	const MinMaxExpr *greatest = (const MinMaxExpr *) node;

	if (node == NULL || IsA(node, Query))
		return node;
	if (list_member_ptr(counts, node))
		return linitial(((CoalesceExpr *) node)->args);
	if (IsA(node, MinMaxExpr) && greatest->op == IS_GREATEST &&
		list_length(greatest->args) == 2 &&
		list_member_ptr(counts, linitial(greatest->args)) &&
		IsA(lsecond(greatest->args), Const))
		return dp_split_larger_count(forget_zero_mutator(linitial(
														   greatest->args),
														 counts),
									 lsecond(greatest->args));
	return expression_tree_mutator(node, forget_zero_mutator, counts);
}

/*
 * finish_look_up
 *	  After the groups that a level looks up have been split.
 */
static dp_refusal *
finish_look_up(Query *level, const dp_block *block, List *counts)
{
	if (block->least > 0)
	{
		level->targetList = (List *)
			forget_zero_mutator((Node *) level->targetList, counts);
		level->jointree->quals =
			forget_zero_mutator(level->jointree->quals, counts);
	}
	return refuse_other(block);
}

typedef struct block_walk
{
	dp_block_consumer consumer;
	void	   *consumer_context;
	List	   *cte_stack;		/* cteLists in reach, innermost first */
	Query	   *outer;			/* the level around the current one */
	List	   *looked_up;		/* of Query *: groups that a level looks up */
	List	   *counts;			/* of Node *: see look_up_values */
	List	  **inval_items;
	dp_refusal *refusal;
} block_walk;

static bool walk_level(Query *query, block_walk *walk);

/* ---- the walk ---- */

static bool
visit_below(Node *node, const dp_walk *at)
{
	block_walk *walk = at->context;
	const WindowFunc *window = (WindowFunc *) node;

	if (IsA(node, WindowFunc) &&
		dp_catalog_aggregate_kind(window->winfnoid) != DP_AGG_NONE)
		walk->refusal =
			dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, window->location,
						   "A window would release a value for every row.",
						   "Aggregate with GROUP BY, and use window "
						   "functions over the released values.",
						   "%s cannot be a window function",
						   get_func_name(window->winfnoid));
	if (IsA(node, Query))
		(void) walk_level((Query *) node, walk);
	return walk->refusal != NULL;
}

static void
split_level(Query *query, block_walk *walk)
{
	List	   *stack = lcons(query->cteList, list_copy(walk->cte_stack));
	dp_block   *block;
	RangeTblEntry *entry;

	walk->refusal = dp_split_one(query, stack, &block, &entry);
	if (walk->refusal == NULL && list_member_ptr(walk->looked_up, query))
		walk->refusal = finish_look_up(walk->outer, block, walk->counts);
	if (walk->refusal == NULL)
		walk->consumer(block, entry, walk->consumer_context);
}

/* Split a level without aggregates if it asks only for public keys. */
static bool
split_keys(Query *query, block_walk *walk)
{
	dp_block   *block;
	RangeTblEntry *entry;

	if (!block_split_keys(query, walk->cte_stack, &block, &entry))
		return false;
	walk->consumer(block, entry, walk->consumer_context);
	return true;
}

/* Visit one level; true if it was a block.  Stops at a refusal. */
static bool
walk_level(Query *query, block_walk *walk)
{
	List	   *saved_stack = walk->cte_stack;
	Query	   *outer = walk->outer;
	Query	   *groups;
	List	   *bodies;
	bool		released;
	ListCell   *lc;

	check_stack_depth();
	bodies = dp_rowsets_inline_functions(query, walk->inval_items);
	foreach(lc, bodies)
		if (walk->refusal == NULL)
			walk->refusal = dp_split_place_errors(lfirst(lc),
												  walk->inval_items);
	if (walk->refusal != NULL)
		return false;
	groups = decorrelate(query, walk->outer, &walk->counts);
	if (groups != NULL)
		walk->looked_up = lappend(walk->looked_up, groups);
	released = dp_catalog_has_own_aggregate(query);
	if (released)
		split_level(query, walk);
	else
		released = split_keys(query, walk);
	if (walk->refusal != NULL)
		return released;

	drop_unused(query);
	walk->cte_stack = lcons(query->cteList, list_copy(saved_stack));
	walk->outer = query;
	foreach(lc, query->rtable)
	{
		RangeTblEntry *entry = lfirst(lc);

		/* A released level must remain a level: it must not be pulled up. */
		if (entry->rtekind == RTE_SUBQUERY && walk->refusal == NULL &&
			walk_level(entry->subquery, walk))
			entry->security_barrier = true;
	}
	if (walk->refusal == NULL)
		(void) dp_base_contains((Node *) query, visit_below, walk,
								DP_WALK_INSIDE | DP_WALK_ONE_LEVEL |
								QTW_IGNORE_RT_SUBQUERIES);
	walk->cte_stack = saved_stack;
	walk->outer = outer;
	return released;
}

/*
 * dp_split_all
 *	  See dp_split.h.
 */
dp_refusal *
dp_split_all(Query *query, dp_block_consumer consumer, void *context,
			 List **inval_items)
{
	block_walk	walk;

	memset(&walk, 0, sizeof(walk));
	walk.consumer = consumer;
	walk.consumer_context = context;
	walk.inval_items = inval_items;
	walk.refusal = dp_split_place_errors(query, inval_items);
	if (walk.refusal == NULL)
		(void) walk_level(query, &walk);
	return walk.refusal;
}
