/*
 * leaf.c
 *	  The leaves of a verified block: what its rows and columns come from at
 *	  all levels, and what outer joins leave out.
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"

#include "../../base/dp_base.h"
#include "dp_rowsets.h"
#include "rowsets_internal.h"

/* ----------------
 *		The leaves of a verified block: the sources of its rows at all levels.
 * ----------------
 */

/*
 * dp_rowsets_leaf_number
 *	  The number, from 1, of an entry of a verified block that is no subquery.
 *	  It is the name of named rows (named_rows.c); a relation that is not named
 *	  is the only protected one.
 */
int
dp_rowsets_leaf_number(const RangeTblEntry *entry)
{
	return entry->rtekind == RTE_NAMEDTUPLESTORE ? atoi(entry->enrname) : 1;
}

static List *
list_items(const Node *item, List *items)
{
	const JoinExpr *join = (const JoinExpr *) item;

	if (IsA(item, RangeTblRef))
		return lappend_int(items, ((const RangeTblRef *) item)->rtindex);
	items = list_items(join->larg, items);
	return dp_rowsets_only_asks(join) ? items : list_items(join->rarg, items);
}

/*
 * dp_rowsets_list_items
 *	  Range table indexes of the entries from which a level's rows are made;
 *	  with UNION ALL each row is made from one of them.
 */
List *
dp_rowsets_list_items(const Query *level)
{
	List	   *items = NIL;
	ListCell   *lc;

	foreach(lc, dp_rowsets_from(level))
		items = list_items(lfirst(lc), items);
	return items;
}

/* dp_rowsets_leaf_of: the leaf of an entry, or NULL. */
dp_leaf *
dp_rowsets_leaf_of(const dp_rowset *rowset, const RangeTblEntry *entry)
{
	ListCell   *lc;

	foreach(lc, rowset->leaves)
		if (((dp_leaf *) lfirst(lc))->entry == entry)
			return lfirst(lc);
	return NULL;
}

/* dp_rowsets_leaf: the leaf with a number. */
dp_leaf *
dp_rowsets_leaf(const dp_rowset *rowset, int number)
{
	return list_nth(rowset->leaves, number - 1);
}

/* dp_rowsets_has_join: is anything joined, at any level? */
bool
dp_rowsets_has_join(const dp_rowset *rowset)
{
	return list_length(rowset->leaves) > 1;
}

/* dp_rowsets_joins_private: are several protected relations joined? */
bool
dp_rowsets_joins_private(const dp_rowset *rowset)
{
	return dp_rowsets_has_join(rowset) &&
		((const dp_leaf *) lsecond(rowset->leaves))->relation != NULL;
}

/*
 * dp_rowsets_relation_of
 *	  The relation to which all columns of an expression over base columns
 *	  belong; InvalidOid if they are public, or belong to several relations.
 *	  *nullable: an outer join may leave some of them out.
 */
Oid
dp_rowsets_relation_of(const dp_rowset *rowset, Node *base, bool *nullable)
{
	Relids		numbers = pull_varnos(NULL, base);
	const dp_leaf *leaf = linitial(rowset->leaves);
	int			n = -1;

	*nullable = false;
	while ((n = bms_next_member(numbers, n)) >= 0)
	{
		leaf = dp_rowsets_leaf(rowset, n);
		*nullable = *nullable || leaf->nullable;
	}
	if (bms_membership(numbers) == BMS_MULTIPLE || leaf->relation == NULL)
		return InvalidOid;
	return leaf->relation->relid;
}

/*
 * dp_rowsets_is_private
 *	  Does an entry of a verified level have private rows?  A subquery that is
 *	  no leaf does.
 */
bool
dp_rowsets_is_private(const RangeTblEntry *entry, const dp_rowset *rowset)
{
	const dp_leaf *leaf = dp_rowsets_leaf_of(rowset, entry);

	return leaf == NULL ? entry->rtekind == RTE_SUBQUERY :
		leaf->relation != NULL;
}

/* ----------------
 *		Full joins of private rows, and rows that outer joins leave out.
 *
 *		SELECT dp_count(*), dp_count(a.id), dp_count(b.id)
 *		FROM visits a FULL JOIN calls b ON a.person = b.person
 *
 * Each side's rows are of one unit, and if both sides have a row the join's
 * own condition ensures that the unit is the same.  So a row of the result is
 * of one unit, that of a side that is there (doc/theory.md T152).
 *
 * PostgreSQL implements it in two ways.  One sorts, which is not allowed for
 * private rows; the other hashes one side by an equality of both.  The
 * equality of units is always there, so other conditions are arbitrary; but
 * the hash table must hold rows as they are (inner/public_join.c), so one of
 * the sides must not be a join.
 * ----------------
 */

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
 * dp_rowsets_is_present: does each row of a level contain a row of one of the
 * items?
 */
bool
dp_rowsets_is_present(const Query *query, Relids items)
{
	ListCell   *lc;

	foreach(lc, query->jointree->fromlist)
		if (has_some(lfirst(lc), items))
			return true;
	return false;
}

/*
 * dp_rowsets_is_nullable: whether an outer join of the level may leave the
 * item out.
 */
bool
dp_rowsets_is_nullable(const Query *query, int item)
{
	return query->setOperations == NULL &&
		!dp_rowsets_is_present(query, bms_make_singleton(item));
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
 * dp_rowsets_above_joins
 *	  A column of an entry as it is above all joins of the level: from 16 on it
 *	  carries the joins that may make it NULL.
 */
Var *
dp_rowsets_above_joins(const Query *query, Var *column)
{
	Relids		joins = NULL;
	int			join = -1;
	ListCell   *lc;

	foreach(lc, query->jointree->fromlist)
		(void) add_nulling(lfirst(lc), column->varno, &joins);
	while ((join = bms_next_member(joins, join)) >= 0)
		column = (Var *) dp_base_add_nulling((Node *) column, join);
	return column;
}

/* ---- what can be planned ---- */

static bool is_lone_level(const Query *level);

/* Does the item have rows of one name, or an Append of such? */
static bool
leaf_is_lone(const Node *item, const Query *level)
{
	const RangeTblEntry *entry;

	if (IsA(item, JoinExpr))
		return dp_rowsets_only_asks((const JoinExpr *) item) &&
			leaf_is_lone(((const JoinExpr *) item)->larg, level);
	entry = rt_fetch(((const RangeTblRef *) item)->rtindex, level->rtable);
	return entry->rtekind != RTE_SUBQUERY || is_lone_level(entry->subquery);
}

static bool
is_lone_level(const Query *level)
{
	List	   *from = dp_rowsets_from(level);
	ListCell   *lc;

	if (dp_rowsets_is_whole(level))
		return true;
	if (level->setOperations == NULL && list_length(from) > 1)
		return false;
	foreach(lc, from)
		if (!leaf_is_lone(lfirst(lc), level))
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

	foreach(lc, dp_rowsets_add_conjuncts(NIL, condition))
		if (bms_is_empty(pull_varnos(NULL, lfirst(lc))))
			return true;
	return false;
}

/*
 * dp_rowsets_check_full
 *	  Refuses a full join of a level that cannot be planned.  Its sides and its
 *	  condition are verified.
 */
dp_refusal *
dp_rowsets_check_full(const JoinExpr *join, const Query *query)
{
	if (has_constant(join->quals))
		return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1, NULL,
							  "Leave it out, or join parts that are "
							  "filtered in subqueries.",
							  "a condition of FULL JOIN names no column");
	if (!leaf_is_lone(join->larg, query) && !leaf_is_lone(join->rarg, query))
		return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
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
is_full_join(Node *node, const dp_walk *walk)
{
	return IsA(node, JoinExpr) && ((JoinExpr *) node)->jointype == JOIN_FULL;
}

/*
 * dp_rowsets_keep_full
 *	  Change an inner query so that the planner keeps the conditions of full
 *	  joins.
 */
void
dp_rowsets_keep_full(Query *inner)
{
	if (dp_base_contains((Node *) inner, is_full_join, NULL,
						 QTW_IGNORE_JOINALIASES))
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
	conjuncts = dp_rowsets_add_conjuncts(NIL, join->quals);
	if (list_length(conjuncts) != 1)
		return false;
	equality = linitial(conjuncts);
	a = pull_varnos(NULL, linitial(equality->args));
	b = pull_varnos(NULL, lsecond(equality->args));
	return (has_some(join->larg, a) && has_some(join->rarg, b)) ||
		(has_some(join->larg, b) && has_some(join->rarg, a));
}

/*
 * dp_rowsets_full_once
 *	  Do the full joins of a verified level keep one row per unit, if each item
 *	  has one?
 */
bool
dp_rowsets_full_once(const Query *query)
{
	ListCell   *lc;

	foreach(lc, query->jointree->fromlist)
		if (!joins_once(lfirst(lc)))
			return false;
	return true;
}

/* ----------------
 *		Expressions of a verified level over the columns of leaves.
 *
 * A column of a subquery is what the subquery computes.  If an outer join
 * leaves out the subquery's row it is NULL instead.  Most expressions are NULL
 * anyway if all their columns are; for others the base is CASE WHEN the leaf
 * has a row THEN .. END.  Likewise a column of UNION ALL is CASE WHEN the
 * second arm has a row THEN .. ELSE .. END.
 * ----------------
 */

static Node *is_there(const RangeTblEntry *entry);

/*
 * An expression that is true if an item has a row: that of a leaf which is
 * left out only together with all others, or for a full join that of either
 * side.
 */
static Node *
item_is_there(const Node *item, const Query *level)
{
	const JoinExpr *join = (const JoinExpr *) item;

	if (IsA(item, RangeTblRef))
		return is_there(rt_fetch(((const RangeTblRef *) item)->rtindex,
								 level->rtable));
	if (join->jointype == JOIN_FULL)
		return (Node *)
			makeBoolExpr(OR_EXPR, list_make2(item_is_there(join->larg, level),
											 item_is_there(join->rarg, level)),
						 -1);
	return item_is_there(join->jointype == JOIN_RIGHT ? join->rarg :
						 join->larg, level);
}

static Node *
is_there(const RangeTblEntry *entry)
{
	Var		   *row;

	if (entry->rtekind == RTE_SUBQUERY)
		return item_is_there(linitial(dp_rowsets_from(entry->subquery)),
							 entry->subquery);
	row = makeVar(dp_rowsets_leaf_number(entry), InvalidAttrNumber, RECORDOID,
				  -1, InvalidOid, 0);
	return dp_rowsets_null_test((Node *) row, IS_NOT_NULL);
}

/* CASE WHEN the entry has a row THEN base ELSE other END */
static Node *
choose(const RangeTblEntry *entry, Node *base, Node *other)
{
	CaseExpr   *result = makeNode(CaseExpr);
	CaseWhen   *when = makeNode(CaseWhen);

	when->expr = (Expr *) is_there(entry);
	when->result = (Expr *) base;
	when->location = -1;
	result->casetype = exprType(base);
	result->casecollid = exprCollation(base);
	result->args = list_make1(when);
	result->defresult = (Expr *) other;
	result->location = -1;
	return (Node *) result;
}

/* The base of a column of a subquery that may be left out. */
static Node *
null_if_absent(Node *base, const RangeTblEntry *entry)
{
	if (!bms_is_empty(pull_varnos(NULL, base)) &&
		!contain_nonstrict_functions(base))
		return base;
	return choose(entry, base, (Node *) makeNullConst(exprType(base),
													  exprTypmod(base),
													  exprCollation(base)));
}

static Node *
base_of_column(Query *level, AttrNumber column)
{
	TargetEntry *target = get_tle_by_resno(level->targetList, column);
	Node	   *base = NULL;
	ListCell   *lc;

	if (target == NULL)
		elog(ERROR, "subquery column %d not found", column);
	if (level->setOperations == NULL)
		return dp_rowsets_base(level, (Node *) target->expr);

	/* a column of UNION ALL is that of one of the arms */
	foreach(lc, dp_rowsets_from(level))
	{
		RangeTblEntry *arm = rt_fetch(((RangeTblRef *) lfirst(lc))->rtindex,
									  level->rtable);
		Node	   *own = base_of_column(arm->subquery, column);

		base = base == NULL ? own : choose(arm, own, base);
	}
	return base;
}

/*
 * The base of a window function: an aggregate, since like an aggregate it
 * depends on many rows and is not a value of one of them.
 */
static Node *
base_of_window(const WindowFunc *function, Query *query)
{
	Aggref	   *base = makeNode(Aggref);
	Node	   *filter = dp_rowsets_base(query,
										 (Node *) function->aggfilter);
	ListCell   *lc;

	base->aggfnoid = function->winfnoid;
	base->aggtype = function->wintype;
	base->aggcollid = function->wincollid;
	base->inputcollid = function->inputcollid;
	foreach(lc, function->args)
	{
		Node	   *arg = dp_rowsets_base(query, lfirst(lc));

		base->aggargtypes = lappend_oid(base->aggargtypes, exprType(arg));
		(void) dp_rowsets_add_target(&base->args, arg, NULL);
	}
	base->aggfilter = (Expr *)
		(filter != NULL ? filter : makeBoolConst(true, false));
	base->aggstar = function->winstar;
	base->aggkind = AGGKIND_NORMAL;
	base->aggsplit = AGGSPLIT_SIMPLE;
	base->aggno = function->winref;
	base->aggtransno = -1;
	base->location = function->location;
	return (Node *) base;
}

static Node *
base_mutator(Node *node, void *context)
{
	Query	   *query = context;
	RangeTblEntry *entry;
	Node	   *base;
	Var		   *var;

	if (node == NULL)
		return NULL;
	if (IsA(node, WindowFunc))
		return base_of_window((const WindowFunc *) node, query);
	if (!IsA(node, Var))
		return expression_tree_mutator(node, base_mutator, context);
	var = (Var *) node;
	entry = rt_fetch(var->varno, query->rtable);
	if (entry->rtekind != RTE_SUBQUERY)
	{
		var = copyObject(var);
		var->varno = dp_rowsets_leaf_number(entry);
		dp_base_forget_nulling(var);
		return (Node *) var;
	}
	base = base_of_column(entry->subquery, var->varattno);
	return dp_rowsets_is_nullable(query, var->varno) ?
		null_if_absent(base, entry) : base;
}

/*
 * dp_rowsets_base
 *	  The expression over the columns of leaves to which an expression of a
 *	  verified level reduces.  The varno of its Vars is a leaf's number.
 */
Node *
dp_rowsets_base(Query *query, Node *expression)
{
	return base_mutator(expression, query);
}
