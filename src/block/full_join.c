/*
 * full_join.c
 *	  Full joins of private rows, and rows that outer joins leave out.
 *
 *	  SELECT dp_count(*), dp_count(a.id), dp_count(b.id)
 *	  FROM visits a FULL JOIN calls b ON a.person = b.person
 *
 * Each side's rows are of one unit, and if both sides have a row the join's
 * own condition ensures that the unit is the same.  So a row of the result is
 * of one unit, that of a side that is there (doc/theory.md T152).
 *
 * PostgreSQL implements it in two ways.  One sorts, which is not allowed for
 * private rows; the other hashes one side by an equality of both.  The
 * equality of units is always there, so other conditions are arbitrary; but
 * the hash table must hold rows as they are (run/public_join.c), so one of the
 * sides must not be a join.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"

#include "read_rows.h"

/* ---- what outer joins leave out ---- */

/* Does every row of an item contain a row of one of those items? */
static bool
has_some(const Node *item, Relids items)
{
	const JoinExpr *join = (const JoinExpr *) item;

	if (IsA(item, RangeTblRef))
		return bms_is_member(((const RangeTblRef *) item)->rtindex, items);
	switch (join->jointype)
	{
		case JOIN_FULL:
			return has_some(join->larg, items) && has_some(join->rarg, items);
		case JOIN_LEFT:
			return has_some(join->larg, items);
		case JOIN_RIGHT:
			return has_some(join->rarg, items);
		default:
			return has_some(join->larg, items) || has_some(join->rarg, items);
	}
}

/*
 * dp_block_is_present: does each row of a level contain a row of one of the
 * items?
 */
bool
dp_block_is_present(const Query *query, Relids items)
{
	ListCell   *lc;

	foreach(lc, query->jointree->fromlist)
		if (has_some(lfirst(lc), items))
			return true;
	return false;
}

/* dp_block_is_nullable: may an outer join of the level leave the item out? */
bool
dp_block_is_nullable(const Query *query, int item)
{
	return query->setOperations == NULL &&
		!dp_block_is_present(query, bms_make_singleton(item));
}

/*
 * Collect the joins in an item that may leave out an entry; false if the item
 * does not contain it.
 */
static bool
add_nulling(const Node *item, int wanted, Relids *joins)
{
	const JoinExpr *join = (const JoinExpr *) item;
	bool		left;

	if (IsA(item, RangeTblRef))
		return ((const RangeTblRef *) item)->rtindex == wanted;
	left = add_nulling(join->larg, wanted, joins);
	if (!left && !add_nulling(join->rarg, wanted, joins))
		return false;
	if (join->jointype == JOIN_FULL ||
		join->jointype == (left ? JOIN_RIGHT : JOIN_LEFT))
		*joins = bms_add_member(*joins, join->rtindex);
	return true;
}

/*
 * dp_block_above_joins
 *	  A column of an entry as it is above all joins of the level: from 16 on it
 *	  carries the joins that may make it NULL.
 */
Var *
dp_block_above_joins(const Query *query, Var *column)
{
	Relids		joins = NULL;
	int			join = -1;
	ListCell   *lc;

	foreach(lc, query->jointree->fromlist)
		(void) add_nulling(lfirst(lc), column->varno, &joins);
	while ((join = bms_next_member(joins, join)) >= 0)
		column = (Var *) dp_bridge_add_nulling((Node *) column, join);
	return column;
}

/* ---- what can be planned ---- */

static bool is_lone_level(const Query *level);

/* Does the item have rows of one name, or an Append of such? */
static bool
is_lone(const Node *item, const Query *level)
{
	const RangeTblEntry *entry;

	if (IsA(item, JoinExpr))
		return dp_block_only_asks((const JoinExpr *) item) &&
			is_lone(((const JoinExpr *) item)->larg, level);
	entry = rt_fetch(((const RangeTblRef *) item)->rtindex, level->rtable);
	return entry->rtekind != RTE_SUBQUERY || is_lone_level(entry->subquery);
}

static bool
is_lone_level(const Query *level)
{
	List	   *from = dp_block_from(level);
	ListCell   *lc;

	if (dp_block_is_whole(level))
		return true;
	if (level->setOperations == NULL && list_length(from) > 1)
		return false;
	foreach(lc, from)
		if (!is_lone(lfirst(lc), level))
			return false;
	return true;
}

/*
 * A condition without columns may fold to false, and then nothing is hashed.
 */
static bool
has_constant(Node *condition)
{
	ListCell   *lc;

	foreach(lc, dp_block_add_conjuncts(NIL, condition))
		if (bms_is_empty(pull_varnos(NULL, lfirst(lc))))
			return true;
	return false;
}

/*
 * dp_block_check_full
 *	  Refuses a full join of a level that cannot be planned.  Its sides and its
 *	  condition are verified.
 */
dp_refusal *
dp_block_check_full(const JoinExpr *join, const Query *query)
{
	if (has_constant(join->quals))
		return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1, NULL,
								"Leave it out, or join parts that are "
								"filtered in subqueries.",
								"a condition of FULL JOIN names no column");
	if (!is_lone(join->larg, query) && !is_lone(join->rarg, query))
		return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
								"One of them is kept in memory, so it must "
								"not be a join itself.",
								"Join the other relations of one side with "
								"the result of FULL JOIN instead, or group "
								"that side by its privacy unit.",
								"both sides of FULL JOIN join rows");
	return NULL;
}

/*
 * From COALESCE(a.unit, b.unit) = 5 above a full join the planner infers that
 * each unit equals 5 and drops the equality of the units, so that nothing is
 * left to hash by.  It recognizes COALESCE with two arguments, but not with
 * three.
 */
static bool
keep_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, keep_walker, context,
								 QTW_IGNORE_JOINALIASES);
	if (IsA(node, CoalesceExpr) &&
		list_length(((CoalesceExpr *) node)->args) == 2)
		((CoalesceExpr *) node)->args =
			lappend(((CoalesceExpr *) node)->args,
					copyObject(lsecond(((CoalesceExpr *) node)->args)));
	return expression_tree_walker(node, keep_walker, context);
}

/* ---- all full joins ---- */

static bool
find_full_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, JoinExpr) && ((JoinExpr *) node)->jointype == JOIN_FULL)
		return true;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, find_full_walker, context,
								 QTW_IGNORE_JOINALIASES);
	return expression_tree_walker(node, find_full_walker, context);
}

/*
 * dp_block_keep_full
 *	  Change an inner query so that the planner keeps the conditions of full
 *	  joins.
 */
void
dp_block_keep_full(Query *inner)
{
	if (find_full_walker((Node *) inner, NULL))
		(void) keep_walker((Node *) inner, NULL);
}

/*
 * A full join of sides with one row per unit has one row per unit if its
 * condition only equates the units, and each is always present on its side.
 */
static bool
joins_once(const Node *item)
{
	const JoinExpr *join = (const JoinExpr *) item;
	List	   *conjuncts;
	const OpExpr *equality;
	Relids		a;
	Relids		b;

	if (IsA(item, RangeTblRef))
		return true;
	if (!joins_once(join->larg) || !joins_once(join->rarg))
		return false;
	if (join->jointype != JOIN_FULL)
		return true;
	conjuncts = dp_block_add_conjuncts(NIL, join->quals);
	if (list_length(conjuncts) != 1)
		return false;
	equality = linitial(conjuncts);
	a = pull_varnos(NULL, linitial(equality->args));
	b = pull_varnos(NULL, lsecond(equality->args));
	return (has_some(join->larg, a) && has_some(join->rarg, b)) ||
		(has_some(join->larg, b) && has_some(join->rarg, a));
}

/*
 * dp_block_full_once
 *	  Do the full joins of a verified level keep one row per unit, if each item
 *	  has one?
 */
bool
dp_block_full_once(const Query *query)
{
	ListCell   *lc;

	foreach(lc, query->jointree->fromlist)
		if (!joins_once(lfirst(lc)))
			return false;
	return true;
}
