/*
 * exists.c
 *	  EXISTS and IN over private rows, as joins: where WHERE asks nothing else,
 *	  and elsewhere.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parse_oper.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../expressions/dp_expressions.h"
#include "dp_rowsets.h"
#include "rowsets_internal.h"

/* ----------------
 *		EXISTS and IN over private rows, as joins.
 *
 *		SELECT dp_count(*) FROM patients p
 *		WHERE EXISTS (SELECT FROM visits v WHERE v.patient = p.id AND v.cost >
 *		9)
 *
 * becomes a join that keeps each row of patients once if it has a partner, or
 * for NOT EXISTS if it has none:
 *
 *		FROM patients p SEMI JOIN (SELECT v.patient FROM visits v
 *								 WHERE v.cost > 9) AS s ON s.patient = p.id
 *
 * From then on it is a join like others, except that only its own condition
 * sees its right side: this must have the units of the left one (join.c;
 * doc/theory.md T150), and adds no rows.  The planner transforms such
 * subqueries likewise.
 *
 * Only conjuncts of WHERE become such joins: there NULL has the effect of
 * false.  Others become outer joins.  References to the outer query must be in
 * conditions of the subquery's own WHERE or HAVING.
 *
 * x NOT IN (SELECT y ..) is true unless for some row x = y is true or NULL.
 * If x and y name units neither is NULL, since rows without a unit do not
 * occur; so the equality itself identifies rows of one unit (join.c).
 * ----------------
 */

/*
 * Which expressions of the outer query are compared with which columns of the
 * subquery.
 */
typedef struct correlation
{
	Query	   *subquery;
	int			item;			/* its range table index at the outer level */
	bool		missing;		/* the groups lack the column */
} correlation;

/* ---- which subqueries ---- */

static SubLink *
link_of(Node *conjunct, bool *negated)
{
	SubLink    *link = (SubLink *) conjunct;

	*negated = is_notclause(conjunct);
	if (*negated)
		link = (SubLink *) get_notclausearg((Expr *) conjunct);
	return IsA(link, SubLink) && IsA(link->subselect, Query) &&
		(link->subLinkType == EXISTS_SUBLINK ||
		 link->subLinkType == ANY_SUBLINK) ? link : NULL;
}

/*
 * block_is_joined
 *	  Is it EXISTS or IN that becomes a join?  Not if it is over public rows,
 *	  uncorrelated and of one column, and so is run before (hoist.c).
 */
static bool
block_is_joined(const SubLink *link, List *cte_stack)
{
	const Query *subquery = (const Query *) link->subselect;

	if (!IsA(subquery, Query) || (link->subLinkType != EXISTS_SUBLINK &&
								  link->subLinkType != ANY_SUBLINK))
		return false;
	if (dp_rowsets_reads_private((Query *) subquery, cte_stack))
		return true;
	return subquery->jointree->fromlist != NIL &&
		(contain_vars_of_level((Node *) subquery, 1) ||
		 (link->subLinkType == ANY_SUBLINK &&
		  !IsA(link->testexpr, OpExpr)));
}

/* block_is_asked: is a conjunct such an EXISTS or IN, possibly negated? */
static bool
block_is_asked(Node *conjunct, List *cte_stack)
{
	bool		negated;
	const SubLink *link = link_of(conjunct, &negated);

	return link != NULL && block_is_joined(link, cte_stack);
}

/* ---- its columns ---- */

static bool
is_group_key(const Query *subquery, const TargetEntry *target)
{
	return target->ressortgroupref != 0 &&
		get_sortgroupref_clause_noerr(target->ressortgroupref,
									  subquery->groupClause) != NULL;
}

static bool
is_window_key(const Query *subquery, const TargetEntry *target)
{
	ListCell   *lc;

	foreach(lc, subquery->windowClause)
	{
		const WindowClause *window = lfirst(lc);

		if (target->ressortgroupref != 0 &&
			(get_sortgroupref_clause_noerr(target->ressortgroupref,
										   window->partitionClause) != NULL ||
			 get_sortgroupref_clause_noerr(target->ressortgroupref,
										   window->orderClause) != NULL))
			return true;
	}
	return false;
}

/* EXISTS ignores columns, order and duplicates, of rows or of windows. */
static void
drop_outputs(Query *subquery, bool all)
{
	List	   *kept = NIL;
	ListCell   *lc;

	subquery->sortClause = NIL;
	if (all || !subquery->hasDistinctOn)
	{
		subquery->distinctClause = NIL;
		subquery->hasDistinctOn = false;
	}
	if (all)
	{
		subquery->windowClause = NIL;
		subquery->hasWindowFuncs = false;
	}
	foreach(lc, subquery->targetList)
	{
		TargetEntry *target = lfirst(lc);

		if (!is_group_key(subquery, target) &&
			!is_window_key(subquery, target) && (all || target->resjunk))
			continue;
		target->resno = list_length(kept) + 1;
		target->resjunk = false;
		kept = lappend(kept, target);
	}
	subquery->targetList = kept;
}

/* For EXISTS a limit on the number of rows does not matter. */
static void
drop_limit(Query *subquery)
{
	bool		isnull;
	int64		limit;

	if (subquery->limitCount != NULL &&
		dp_expressions_written_number(subquery->limitCount, &isnull, &limit) &&
		(isnull || limit > 0))
		subquery->limitCount = NULL;
}

static TargetEntry *
find_output(Node *inside, const Query *subquery)
{
	ListCell   *lc;

	foreach(lc, subquery->targetList)
	{
		TargetEntry *target = lfirst(lc);

		if (equal(target->expr, inside) &&
			(!dp_rowsets_is_grouped(subquery) || IsA(inside, Aggref) ||
			 is_group_key(subquery, target)))
			return target;
	}
	return NULL;
}

/* A column of the subquery, as the outer level sees it. */
static Node *
output_of(Node *inside, correlation *c)
{
	Query	   *subquery = c->subquery;
	TargetEntry *target = find_output(inside, subquery);

	if (target == NULL)
	{
		c->missing = c->missing ||
			(dp_rowsets_is_grouped(subquery) && !IsA(inside, Aggref));
		target = dp_rowsets_add_target(&subquery->targetList, inside,
									   "column");
	}
	return (Node *) makeVarFromTargetEntry(c->item, target);
}

/*
 * A condition of the subquery as one of the outer level.  COALESCE may name
 * the unit of a full join's row although none of its operands does.
 */
static Node *
raise_mutator(Node *node, void *context)
{
	correlation *c = context;

	if (node == NULL)
		return NULL;
	if ((IsA(node, Var) && ((Var *) node)->varlevelsup == 0) ||
		(IsA(node, Aggref) && ((Aggref *) node)->agglevelsup == 0) ||
		(IsA(node, CoalesceExpr) && !dp_rowsets_is_grouped(c->subquery) &&
		 !contain_vars_of_level(node, 1)) ||
		(dp_rowsets_is_grouped(c->subquery) && !IsA(node, Const) &&
		 find_output(node, c->subquery) != NULL))
		return output_of(copyObject(node), c);
	if (IsA(node, Var))
	{
		node = copyObject(node);
		((Var *) node)->varlevelsup--;
		return node;
	}
	return expression_tree_mutator(node, raise_mutator, context);
}

/* ---- conditions ---- */

static void
exists_add_key(Var *column, Query *subquery)
{
	dp_rowsets_group_by(subquery,
						dp_rowsets_add_target(&subquery->targetList,
											  copyObject((Node *) column),
											  "column"));
}

/*
 * Compared columns, which have one value for each outer row, may become
 * additional keys of the groups: those that a row is compared with stay the
 * same.
 */
static void
exists_add_keys(const Node *conjunct, Query *subquery)
{
	const OpExpr *equality = (const OpExpr *) conjunct;
	int			i;

	if (!dp_rowsets_is_grouped(subquery) || subquery->groupingSets != NIL ||
		!IsA(conjunct, OpExpr) || !dp_rowsets_is_equality(equality))
		return;
	for (i = 0; i < 2; i++)
	{
		Var		   *column = list_nth(equality->args, i);

		if (IsA(column, Var) && column->varlevelsup == 0 &&
			(!OidIsValid(column->varcollid) ||
			 get_collation_isdeterministic(column->varcollid)) &&
			!contain_vars_of_level(list_nth(equality->args, 1 - i), 0) &&
			find_output((Node *) column, subquery) == NULL)
			exists_add_key(column, subquery);
	}
}

/*
 * Take the conditions that refer to the outer query, and contain no subquery,
 * out of a clause of the subquery.
 */
static List *
take_conditions(Node **clause, correlation *c)
{
	List	   *taken = NIL;
	List	   *left = NIL;
	ListCell   *lc;

	foreach(lc, dp_rowsets_add_conjuncts(NIL, *clause))
	{
		Node	   *conjunct = lfirst(lc);

		if (!contain_vars_of_level(conjunct, 1) ||
			checkExprHasSubLink(conjunct))
		{
			left = lappend(left, conjunct);
			continue;
		}
		if (clause != &c->subquery->havingQual)
			exists_add_keys(conjunct, c->subquery);
		taken = lappend(taken, raise_mutator(conjunct, c));
	}
	*clause = dp_rowsets_and(left);
	return taken;
}

static Node *
test_mutator(Node *node, void *context)
{
	correlation *c = context;

	if (node == NULL || IsA(node, SubLink))
		return node;			/* a subquery's own expressions */
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_SUBLINK)
		return (Node *)
			makeVarFromTargetEntry(c->item,
								   list_nth(c->subquery->targetList,
											((Param *) node)->paramid - 1));
	return expression_tree_mutator(node, test_mutator, context);
}

/*
 * The comparisons of IN; for NOT IN, the conditions that they are not false.
 */
static List *
test_conditions(const SubLink *link, bool negated, correlation *c)
{
	List	   *conditions = NIL;
	ListCell   *lc;

	foreach(lc, dp_rowsets_add_conjuncts(NIL, test_mutator(link->testexpr, c)))
	{
		BooleanTest *test;

		if (!negated)
		{
			conditions = lappend(conditions, lfirst(lc));
			continue;
		}
		test = makeNode(BooleanTest);
		test->arg = lfirst(lc);
		test->booltesttype = IS_NOT_FALSE;
		test->location = link->location;
		conditions = lappend(conditions, test);
	}
	return conditions;
}

/* ---- the join ---- */

static dp_refusal *
refuse_reference(void)
{
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1, NULL,
						  "Compare with columns of the outer query in the "
						  "subquery's own WHERE, in conditions that AND "
						  "connects; where it groups, by its keys.",
						  "a subquery over private rows refers to the outer "
						  "query elsewhere than in its WHERE");
}

/*
 * A clause because of which a condition may not be moved from the result to
 * the rows below, or NULL.
 */
static const char *
barrier(const Query *subquery)
{
	if (dp_catalog_has_own_aggregate(subquery))
		return "a private aggregate";
	if (subquery->groupingSets != NIL)
		return "GROUPING SETS, ROLLUP or CUBE";
	if (subquery->groupClause == NIL &&
		(subquery->hasAggs || subquery->havingQual != NULL))
		return "an aggregate without GROUP BY";
	if (subquery->hasWindowFuncs)
		return "a window function";
	if (subquery->hasDistinctOn)
		return "DISTINCT ON";
	if (subquery->limitCount != NULL || subquery->limitOffset != NULL)
		return "LIMIT or OFFSET";
	if (subquery->hasTargetSRFs)
		return "a set-returning function";
	if (subquery->rowMarks != NIL)
		return "FOR UPDATE or FOR SHARE";
	if (contain_volatile_functions((Node *) subquery))
		return "a volatile function";
	return NULL;
}

static dp_refusal *
refuse_barrier(const char *clause)
{
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
						  "It would be computed again for every private "
						  "row.",
						  "Leave it out; or compute it in a subquery in "
						  "FROM, and compare with its columns.",
						  "%s is not supported in a subquery that refers to "
						  "the outer query and is evaluated for private "
						  "rows",
						  clause);
}

/* whole_from: FROM as one item. */
static Node *
whole_from(const FromExpr *from)
{
	Node	   *whole = linitial(from->fromlist);
	ListCell   *lc;

	for_each_from(lc, from->fromlist, 1)
		whole = dp_rowsets_join_items(whole, lfirst(lc));
	return whole;
}

/*
 * pull_up
 *	  Copy the subquery of a link into an entry that will be the level's next
 *	  one, and get the conditions by which it is joined: those of its WHERE and
 *	  HAVING that refer to the level, then the *tested comparisons of IN, or
 *	  for NOT IN that they are not false.
 */
static dp_refusal *
pull_up(const Query *query, const SubLink *link, bool negated,
		RangeTblEntry **entry, List **conditions, int *tested)
{
	Query	   *subquery = copyObject((Query *) link->subselect);
	bool		exists = link->subLinkType == EXISTS_SUBLINK;
	correlation c = {subquery, list_length(query->rtable) + 1};
	List	   *test = NIL;
	const char *clause;

	dp_base_ungroup(subquery);
	if (exists)
		drop_limit(subquery);
	if (!subquery->hasTargetSRFs && subquery->setOperations == NULL &&
		subquery->limitCount == NULL && subquery->limitOffset == NULL)
		drop_outputs(subquery, exists);
	clause = barrier(subquery);
	*conditions = take_conditions(&subquery->jointree->quals, &c);
	*conditions = list_concat(*conditions,
							  take_conditions(&subquery->havingQual, &c));
	if (c.missing || contain_vars_of_level((Node *) subquery, 1))
		return refuse_reference();
	if (clause != NULL && *conditions != NIL)
		return refuse_barrier(clause);
	if (!exists)
		test = test_conditions(link, negated, &c);
	*tested = list_length(test);
	*conditions = list_concat(*conditions, test);
	*entry = dp_rowsets_subquery_entry(subquery);
	return NULL;
}

static dp_refusal *
add_join(Query *query, const SubLink *link, bool negated, List **joins)
{
	JoinExpr   *join = makeNode(JoinExpr);
	RangeTblEntry *entry;
	List	   *conditions;
	int			tested;
	dp_refusal *refusal = pull_up(query, link, negated, &entry,
								  &conditions, &tested);

	if (refusal != NULL)
		return refusal;
	query->rtable = lappend(query->rtable, entry);
	join->jointype = negated ? JOIN_ANTI : JOIN_SEMI;
	join->larg = whole_from(query->jointree);
	join->rarg = dp_rowsets_make_item(list_length(query->rtable));
	join->quals = dp_rowsets_and(conditions);
	query->jointree->fromlist = list_make1(join);
	*joins = lappend(*joins, join);
	return NULL;
}

/*
 * dp_rowsets_join_subqueries
 *	  Turn the subqueries in a level's WHERE that read private rows, or refer
 *	  to the level's rows, into joins; *joins: of JoinExpr *, from the inside
 *	  out, whose right sides are not verified yet.
 */
dp_refusal *
dp_rowsets_join_subqueries(Query *query, List *cte_stack, List **joins)
{
	List	   *left = NIL;
	ListCell   *lc;

	*joins = NIL;
	foreach(lc, dp_rowsets_add_conjuncts(NIL, query->jointree->quals))
	{
		Node	   *conjunct = lfirst(lc);
		bool		negated;
		const SubLink *link = link_of(conjunct, &negated);
		dp_refusal *refusal;

		if (link == NULL || !block_is_joined(link, cte_stack))
		{
			left = lappend(left, conjunct);
			continue;
		}
		refusal = add_join(query, link, negated, joins);
		if (refusal != NULL)
			return refusal;
	}
	if (*joins != NIL)
		query->jointree->quals = dp_rowsets_and(left);
	return NULL;
}

/* ----------------
 *		EXISTS and IN that are not conjuncts of WHERE, as outer joins.
 *
 *		SELECT dp_count(*) FROM patients p
 *		WHERE p.age > 70 OR EXISTS (SELECT FROM visits v
 *								  WHERE v.patient = p.id AND v.ward = 'A')
 *
 * becomes a join with groups of the subquery's rows, by the columns that are
 * compared, of which each row finds one or none:
 *
 *		FROM patients p LEFT JOIN (SELECT v.patient FROM visits v
 *								 WHERE v.ward = 'A' GROUP BY v.patient) AS s
 *		  ON s.patient = p.id
 *		WHERE p.age > 70 OR s.patient IS NOT NULL
 *
 * This applies under OR and in CASE, FILTER, group keys and arguments, and in
 * columns of levels below the block's own.  The comparison must be by
 * equality, and on units if the subquery's rows are private (join.c;
 * doc/theory.md T155).
 *
 * x IN (SELECT y ..) is NULL where no y is equal and x or some y is NULL.  If
 * NULL does not have the effect of false there, and x and y do not both name
 * units, which are never NULL, further groups say whether there are rows to
 * compare with, and whether one has a NULL y.
 * ----------------
 */

/* The expression that replaces a subquery, which may occur repeatedly. */
typedef struct mark
{
	const SubLink *link;
	bool		loose;			/* it may be false instead of NULL */
	Node	   *value;
} mark;

typedef struct marking
{
	Query	   *query;			/* the level */
	List	   *cte_stack;
	dp_rowset  *rowset;
	dp_join_verifier verify;
	List	   *marks;			/* of mark * */
	List	   *keys;			/* of Node *: the keys of the level's groups */
	dp_refusal *refusal;
} marking;

/* A join with groups of a subquery's rows. */
typedef struct group_join
{
	int			item;			/* range table index of the groups */
	int			join;			/* and of the join */
	Query	   *groups;
	List	   *conditions;		/* of the join */
} group_join;

/* ---- what is refused ---- */

static dp_refusal *
refuse_comparison(void)
{
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
						  "Under OR, and in CASE, FILTER and columns, it is "
						  "looked up among groups of equal rows.",
						  "Compare with columns of the outer query by =, in "
						  "conditions that AND connects; or compute it in a "
						  "subquery in FROM, grouped by the privacy unit: "
						  "max(x) > y tells whether some x is.",
						  "a subquery that is not a condition of WHERE is "
						  "compared with the outer query by other operators "
						  "than =");
}

static dp_refusal *
refuse_null(void)
{
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
						  "If no row is equal, NULLs among them make it "
						  "NULL, which is not the same as false here.",
						  "Use EXISTS or NOT EXISTS; or write IN (..) IS "
						  "TRUE.",
						  "IN or NOT IN is not supported here for what it "
						  "compares");
}

/* ---- conditions ---- */

static bool
is_of_item(Node *side, int item)
{
	Relids		items = pull_varnos(NULL, side);

	return bms_membership(items) == BMS_SINGLETON &&
		bms_is_member(item, items);
}

static bool
has_item(Node *node, int item)
{
	return bms_is_member(item, pull_varnos(NULL, node));
}

/*
 * Which operand of an equality uses only the subquery, if the other one does
 * not use it; or -1.
 */
static int
inner_side(const OpExpr *equality, int item)
{
	int			i;

	if (!IsA(equality, OpExpr) || !dp_rowsets_is_equality(equality))
		return -1;
	for (i = 0; i < 2; i++)
		if (is_of_item(list_nth(equality->args, i), item) &&
			!has_item(list_nth(equality->args, 1 - i), item))
			return i;
	return -1;
}

static Node *
exists_column_of(const group_join *joined, int n)
{
	TargetEntry *target = list_nth(joined->groups->targetList, n - 1);
	Var		   *column = makeVarFromTargetEntry(joined->item, target);

	return dp_base_add_nulling((Node *) column, joined->join);
}

/* Turn an expression of the subquery into a column of the groups. */
static void
exists_add_column(group_join *joined, Node *side)
{
	Node	   *inside = copyObject(side);

	ChangeVarNodes(inside, joined->item, 1, 0);
	(void) dp_rowsets_add_target(&joined->groups->targetList, inside,
								 "column");
}

/* Turn the conditions into ones on groups, with each compared column a key. */
static dp_refusal *
exists_compare_groups(group_join *joined, const List *conditions)
{
	ListCell   *lc;

	foreach(lc, conditions)
	{
		OpExpr	   *equality = copyObject(lfirst(lc));
		int			side = inner_side(equality, joined->item);

		if (side < 0 && has_item((Node *) equality, joined->item))
			return refuse_comparison();
		if (side >= 0)
		{
			ListCell   *inside = list_nth_cell(equality->args, side);

			exists_add_column(joined, lfirst(inside));
			lfirst(inside) =
				makeVarFromTargetEntry(joined->item,
									   llast(joined->groups->targetList));
		}
		joined->conditions = lappend(joined->conditions, equality);
	}
	return joined->groups->targetList == NIL ? refuse_comparison() : NULL;
}

/* ---- joins ---- */

static void
begin_groups(group_join *joined, RangeTblEntry *entry, const Query *query)
{
	joined->groups = dp_rowsets_make_level(list_make1(entry));
	joined->groups->jointree->fromlist = list_make1(dp_rowsets_make_item(1));
	IncrementVarSublevelsUp((Node *) entry->subquery, 1, 1);
	joined->item = list_length(query->rtable) + 1;
	joined->join = joined->item + 1;
}

static dp_refusal *
add_group_join(group_join *joined, marking *m)
{
	Query	   *query = m->query;
	JoinExpr   *join = makeNode(JoinExpr);

	query->rtable = lappend(query->rtable,
							dp_rowsets_subquery_entry(joined->groups));
	query->rtable = lappend(query->rtable, dp_rowsets_join_entry(JOIN_LEFT));
	join->jointype = JOIN_LEFT;
	join->larg = whole_from(query->jointree);
	join->rarg = dp_rowsets_make_item(joined->item);
	join->quals = dp_rowsets_and(joined->conditions);
	join->rtindex = joined->join;
	query->jointree->fromlist = list_make1(join);
	return m->verify(query, join, m->cte_stack, m->rowset);
}

/* ---- values ---- */

/*
 * Has a row found its group?  No key of the group is NULL, since all are
 * compared by =.
 */
static Node *
found(const group_join *joined)
{
	return dp_rowsets_null_test(exists_column_of(joined, 1), IS_NOT_NULL);
}

static CaseWhen *
make_when(Node *condition, Node *result)
{
	CaseWhen   *when = makeNode(CaseWhen);

	when->expr = (Expr *) condition;
	when->result = (Expr *) result;
	when->location = -1;
	return when;
}

/* CASE WHEN equal THEN true WHEN unknown THEN NULL ELSE false END */
static Node *
three_valued(Node *equal, Node *unknown)
{
	CaseExpr   *value = makeNode(CaseExpr);

	value->casetype = BOOLOID;
	value->args = list_make2(make_when(equal, makeBoolConst(true, false)),
							 make_when(unknown, makeBoolConst(false, true)));
	value->defresult = (Expr *) makeBoolConst(false, false);
	value->location = -1;
	return (Node *) value;
}

/* Does a condition of the join compare units, none of which is NULL? */
static bool
compares_units(const OpExpr *compared, const group_join *joined,
			   const marking *m)
{
	int			side = inner_side(compared, joined->item);
	Node	   *inside = list_nth(compared->args, side);
	Node	   *outside = list_nth(compared->args, 1 - side);

	return IsA(inside, Var) &&
		list_member_int(dp_rowsets_unit_outputs(joined->groups, m->rowset),
						((Var *) inside)->varattno) &&
		dp_rowsets_names_unit(m->query, outside, m->rowset);
}

/*
 * Find the only comparison of IN that may be NULL; *unknown is its position,
 * or none.  `conditions` are those of the join; IN compares the last n.
 */
static dp_refusal *
find_unknown(const group_join *joined, int n, const marking *m, int *unknown)
{
	int			i;

	*unknown = -1;
	for (i = list_length(joined->conditions) - n;
		 i < list_length(joined->conditions); i++)
	{
		const OpExpr *compared = list_nth(joined->conditions, i);

		if (inner_side(compared, joined->item) >= 0 &&
			compares_units(compared, joined, m))
			continue;
		if (*unknown >= 0 || inner_side(compared, joined->item) < 0)
			return refuse_null();
		*unknown = i;
	}
	return NULL;
}

/*
 * Is there a row to compare with, and is x or one of their y NULL?  The
 * condition at position `at` compares x and y.
 */
static Node *
make_unknown(const SubLink *link, int at, marking *m)
{
	group_join	joined = {0};
	RangeTblEntry *entry;
	List	   *conditions;
	OpExpr	   *compared;
	Node	   *inside;
	Node	   *compared_null;
	Node	   *some_null;
	int			tested;
	int			side;

	m->refusal = pull_up(m->query, link, false, &entry, &conditions,
						 &tested);
	if (m->refusal != NULL)
		return NULL;
	begin_groups(&joined, entry, m->query);
	compared = list_nth(conditions, at);
	side = inner_side(compared, joined.item);
	m->refusal = exists_compare_groups(&joined,
									   list_delete_nth_cell(conditions,
																	 at));
	if (m->refusal != NULL)
		return NULL;
	dp_rowsets_group_by_all(joined.groups);
	inside = copyObject(list_nth(compared->args, side));
	exists_add_column(&joined,
					  dp_rowsets_of_all(F_BOOL_OR, dp_rowsets_null_test(inside,
																	IS_NULL)));
	joined.groups->hasAggs = true;
	m->refusal = add_group_join(&joined, m);
	compared_null = dp_rowsets_null_test(list_nth(compared->args, 1 - side),
										 IS_NULL);
	some_null = exists_column_of(&joined,
								 list_length(joined.groups->targetList));
	return make_and_qual(found(&joined), (Node *)
						 make_orclause(list_make2(compared_null, some_null)));
}

static Node *
exists_make_value(const SubLink *link, bool loose, marking *m)
{
	group_join	joined = {0};
	RangeTblEntry *entry;
	List	   *conditions;
	int			tested;
	int			unknown;
	Node	   *value;

	m->refusal = pull_up(m->query, link, false, &entry, &conditions,
						 &tested);
	if (m->refusal != NULL)
		return NULL;
	begin_groups(&joined, entry, m->query);
	m->refusal = exists_compare_groups(&joined, conditions);
	if (m->refusal != NULL)
		return NULL;
	dp_rowsets_group_by_all(joined.groups);
	m->refusal = add_group_join(&joined, m);
	if (m->refusal != NULL)
		return NULL;
	value = found(&joined);
	if (loose)
		return value;
	m->refusal = find_unknown(&joined, tested, m, &unknown);
	if (m->refusal != NULL || unknown < 0)
		return value;
	return three_valued(value, make_unknown(link, unknown, m));
}

/* ---- where they stand ---- */

static Node *
mark_link(SubLink *link, bool loose, marking *m)
{
	mark	   *made;
	ListCell   *lc;

	if (m->refusal != NULL || !block_is_joined(link, m->cte_stack))
		return (Node *) link;
	loose = loose || link->subLinkType == EXISTS_SUBLINK;
	foreach(lc, m->marks)
	{
		const mark *known = lfirst(lc);

		if (known->loose == loose && equal(known->link, link))
			return copyObject(known->value);
	}
	made = palloc(sizeof(mark));
	made->link = link;
	made->loose = loose;
	made->value = exists_make_value(link, loose, m);
	if (m->refusal != NULL)
		return (Node *) link;
	m->marks = lappend(m->marks, made);
	return made->value;
}

static Node *mark_mutator(Node *node, void *context);

/* A condition in which NULL has the effect of false. */
static Node *
mark_condition(Node *node, marking *m)
{
	BoolExpr   *made;
	ListCell   *lc;

	if (node != NULL && IsA(node, SubLink))
		return mark_link((SubLink *) node, true, m);
	if (node == NULL || !(is_andclause(node) || is_orclause(node)))
		return mark_mutator(node, m);
	made = copyObject((BoolExpr *) node);
	foreach(lc, made->args)
		lfirst(lc) = mark_condition(lfirst(lc), m);
	return (Node *) made;
}

static Node *
mark_aggregate(const Aggref *aggregate, marking *m)
{
	Aggref	   *made = copyObject(unconstify(Aggref *, aggregate));

	made->aggfilter = NULL;
	made = (Aggref *) expression_tree_mutator((Node *) made, mark_mutator, m);
	made->aggfilter = (Expr *)
		mark_condition((Node *) aggregate->aggfilter, m);
	return (Node *) made;
}

/* CASE WHEN .. without an operand. */
static Node *
mark_case(const CaseExpr *choice, marking *m)
{
	CaseExpr   *made = copyObject(unconstify(CaseExpr *, choice));
	ListCell   *lc;

	foreach(lc, made->args)
	{
		CaseWhen   *when = lfirst(lc);

		when->expr = (Expr *) mark_condition((Node *) when->expr, m);
		when->result = (Expr *) mark_mutator((Node *) when->result, m);
	}
	made->defresult = (Expr *) mark_mutator((Node *) made->defresult, m);
	return (Node *) made;
}

static Node *
mark_mutator(Node *node, void *context)
{
	marking    *m = context;

	if (node == NULL || IsA(node, Query))
		return node;
	if (IsA(node, SubLink))
		return mark_link((SubLink *) node, false, m);
	if (IsA(node, Aggref))
		return mark_aggregate((Aggref *) node, m);
	if (IsA(node, CaseExpr) && ((CaseExpr *) node)->arg == NULL)
		return mark_case((CaseExpr *) node, m);
	return expression_tree_mutator(node, mark_mutator, context);
}

/*
 * The keys and aggregates of a level that groups depend on rows; the rest
 * depends on groups, and on the block's own level belongs to the outer query.
 */
static Node *
group_mutator(Node *node, void *context)
{
	marking    *m = context;

	if (node == NULL || IsA(node, Query))
		return node;
	if ((IsA(node, Aggref) && ((Aggref *) node)->agglevelsup == 0) ||
		list_member(m->keys, node))
		return mark_mutator(node, m);
	return IsA(node, SubLink) ? node :
		expression_tree_mutator(node, group_mutator, context);
}

static void
mark_where(marking *m)
{
	List	   *conjuncts = NIL;
	ListCell   *lc;

	foreach(lc, dp_rowsets_add_conjuncts(NIL, m->query->jointree->quals))
	{
		Node	   *conjunct = lfirst(lc);

		if (!block_is_asked(conjunct, m->cte_stack))
			conjunct = mark_condition(conjunct, m);
		conjuncts = lappend(conjuncts, conjunct);
	}
	m->query->jointree->quals = dp_rowsets_and(conjuncts);
}

/*
 * dp_rowsets_mark_subqueries
 *	  Turn subqueries in a level's expressions, over private rows or compared
 *	  with the level's rows, into joins; except conjuncts of WHERE that are
 *	  such subqueries, and join conditions.  `top`: it is the block's own
 *	  level.  `verify` verifies what is joined.
 */
dp_refusal *
dp_rowsets_mark_subqueries(Query *query, bool top, List *cte_stack,
						   dp_rowset *rowset, dp_join_verifier verify)
{
	marking		m = {query, cte_stack, rowset, verify};
	Node	   *targets = (Node *) query->targetList;

	if (checkExprHasSubLink(query->jointree->quals))
		mark_where(&m);
	m.keys = copyObject(get_sortgrouplist_exprs(query->groupClause,
												query->targetList));
	if (checkExprHasSubLink(targets) ||
		checkExprHasSubLink(query->havingQual))
	{
		bool		grouped = top || dp_rowsets_is_grouped(query);

		targets = grouped ? group_mutator(targets, &m) :
			mark_mutator(targets, &m);
		query->targetList = (List *) targets;
		query->havingQual = group_mutator(query->havingQual, &m);
	}
	return m.refusal;
}
