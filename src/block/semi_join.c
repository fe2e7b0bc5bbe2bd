/*
 * semi_join.c
 *	  EXISTS and IN over private rows, as joins.
 *
 *	  SELECT dp_count(*) FROM patients p
 *	  WHERE EXISTS (SELECT FROM visits v WHERE v.patient = p.id AND v.cost > 9)
 *
 * becomes a join that keeps each row of patients once if it has a partner, or
 * for NOT EXISTS if it has none:
 *
 *	  FROM patients p SEMI JOIN (SELECT v.patient FROM visits v
 *								 WHERE v.cost > 9) AS s ON s.patient = p.id
 *
 * From then on it is a join like others, except that only its own condition
 * sees its right side: this must have the units of the left one (join.c;
 * doc/theory.md T150), and adds no rows.  The planner transforms such
 * subqueries likewise.
 *
 * Only conjuncts of WHERE become such joins: there NULL has the effect of
 * false. mark_join.c turns others into outer joins.  References to the outer
 * query must be in conditions of the subquery's own WHERE or HAVING.
 *
 * x NOT IN (SELECT y ..) is true unless for some row x = y is true or NULL.
 * If x and y name units neither is NULL, since rows without a unit do not
 * occur; so the equality itself identifies rows of one unit (join.c).
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parse_clause.h"
#include "parser/parse_oper.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "read_rows.h"

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
 * dp_block_is_joined
 *	  Is it EXISTS or IN that becomes a join?  Not if it is over public rows,
 *	  uncorrelated and of one column, and so is run before (hoist.c).
 */
bool
dp_block_is_joined(const SubLink *link, List *cte_stack)
{
	const Query *subquery = (const Query *) link->subselect;

	if (!IsA(subquery, Query) || (link->subLinkType != EXISTS_SUBLINK &&
								  link->subLinkType != ANY_SUBLINK))
		return false;
	if (dp_block_reads_private((Query *) subquery, cte_stack))
		return true;
	return subquery->jointree->fromlist != NIL &&
		(contain_vars_of_level((Node *) subquery, 1) ||
		 (link->subLinkType == ANY_SUBLINK &&
		  !IsA(link->testexpr, OpExpr)));
}

/* dp_block_is_asked: is a conjunct such an EXISTS or IN, possibly negated? */
bool
dp_block_is_asked(Node *conjunct, List *cte_stack)
{
	bool		negated;
	const SubLink *link = link_of(conjunct, &negated);

	return link != NULL && dp_block_is_joined(link, cte_stack);
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
		dp_rules_written_number(subquery->limitCount, &isnull, &limit) &&
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
			(!dp_block_is_grouped(subquery) || IsA(inside, Aggref) ||
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
			(dp_block_is_grouped(subquery) && !IsA(inside, Aggref));
		target = makeTargetEntry((Expr *) inside,
								 list_length(subquery->targetList) + 1,
								 pstrdup("column"), false);
		subquery->targetList = lappend(subquery->targetList, target);
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
		(IsA(node, CoalesceExpr) && !dp_block_is_grouped(c->subquery) &&
		 !contain_vars_of_level(node, 1)) ||
		(dp_block_is_grouped(c->subquery) && !IsA(node, Const) &&
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
add_key(Var *column, Query *subquery)
{
	SortGroupClause *clause = makeNode(SortGroupClause);
	TargetEntry *target = makeTargetEntry((Expr *) copyObject(column),
										  list_length(subquery->targetList) +
										  1, pstrdup("column"), false);

	subquery->targetList = lappend(subquery->targetList, target);
	get_sort_group_operators(column->vartype, false, true, false, NULL,
							 &clause->eqop, NULL, &clause->hashable);
	clause->tleSortGroupRef = assignSortGroupRef(target,
												 subquery->targetList);
	subquery->groupClause = lappend(subquery->groupClause, clause);
}

/*
 * Compared columns, which have one value for each outer row, may become
 * additional keys of the groups: those that a row is compared with stay the
 * same.
 */
static void
add_keys(const Node *conjunct, Query *subquery)
{
	const OpExpr *equality = (const OpExpr *) conjunct;
	int			i;

	if (!dp_block_is_grouped(subquery) || subquery->groupingSets != NIL ||
		!IsA(conjunct, OpExpr) || !dp_block_is_equality(equality))
		return;
	for (i = 0; i < 2; i++)
	{
		Var		   *column = list_nth(equality->args, i);

		if (IsA(column, Var) && column->varlevelsup == 0 &&
			(!OidIsValid(column->varcollid) ||
			 get_collation_isdeterministic(column->varcollid)) &&
			!contain_vars_of_level(list_nth(equality->args, 1 - i), 0) &&
			find_output((Node *) column, subquery) == NULL)
			add_key(column, subquery);
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

	foreach(lc, dp_block_add_conjuncts(NIL, *clause))
	{
		Node	   *conjunct = lfirst(lc);

		if (!contain_vars_of_level(conjunct, 1) ||
			checkExprHasSubLink(conjunct))
		{
			left = lappend(left, conjunct);
			continue;
		}
		if (clause != &c->subquery->havingQual)
			add_keys(conjunct, c->subquery);
		taken = lappend(taken, raise_mutator(conjunct, c));
	}
	*clause = dp_block_and(left);
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

	foreach(lc, dp_block_add_conjuncts(NIL, test_mutator(link->testexpr, c)))
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
	return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1, NULL,
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
	return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
							"It would be computed again for every private "
							"row.",
							"Leave it out; or compute it in a subquery in "
							"FROM, and compare with its columns.",
							"%s is not supported in a subquery that refers to "
							"the outer query and is evaluated for private "
							"rows",
							clause);
}

/* dp_block_whole_from: FROM as one item. */
Node *
dp_block_whole_from(const FromExpr *from)
{
	Node	   *whole = linitial(from->fromlist);
	ListCell   *lc;

	for_each_from(lc, from->fromlist, 1)
		whole = dp_block_join_items(whole, lfirst(lc));
	return whole;
}

/*
 * dp_block_pull_up
 *	  Copy the subquery of a link into an entry that will be the level's next
 *	  one, and get the conditions by which it is joined: those of its WHERE and
 *	  HAVING that refer to the level, then the *tested comparisons of IN, or
 *	  for NOT IN that they are not false.
 */
dp_refusal *
dp_block_pull_up(const Query *query, const SubLink *link, bool negated,
				 RangeTblEntry **entry, List **conditions, int *tested)
{
	Query	   *subquery = copyObject((Query *) link->subselect);
	bool		exists = link->subLinkType == EXISTS_SUBLINK;
	correlation c = {subquery, list_length(query->rtable) + 1};
	List	   *test = NIL;
	const char *clause;

	dp_bridge_ungroup(subquery);
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
	*entry = dp_block_subquery_entry(subquery);
	return NULL;
}

static dp_refusal *
add_join(Query *query, const SubLink *link, bool negated, List **joins)
{
	JoinExpr   *join = makeNode(JoinExpr);
	RangeTblEntry *entry;
	List	   *conditions;
	int			tested;
	dp_refusal *refusal = dp_block_pull_up(query, link, negated, &entry,
										   &conditions, &tested);

	if (refusal != NULL)
		return refusal;
	query->rtable = lappend(query->rtable, entry);
	join->jointype = negated ? JOIN_ANTI : JOIN_SEMI;
	join->larg = dp_block_whole_from(query->jointree);
	join->rarg = dp_block_make_item(list_length(query->rtable));
	join->quals = dp_block_and(conditions);
	query->jointree->fromlist = list_make1(join);
	*joins = lappend(*joins, join);
	return NULL;
}

/*
 * dp_block_join_subqueries
 *	  Turn the subqueries in a level's WHERE that read private rows, or refer
 *	  to the level's rows, into joins; *joins: of JoinExpr *, from the inside
 *	  out, whose right sides are not verified yet.
 */
dp_refusal *
dp_block_join_subqueries(Query *query, List *cte_stack, List **joins)
{
	List	   *left = NIL;
	ListCell   *lc;

	*joins = NIL;
	foreach(lc, dp_block_add_conjuncts(NIL, query->jointree->quals))
	{
		Node	   *conjunct = lfirst(lc);
		bool		negated;
		const SubLink *link = link_of(conjunct, &negated);
		dp_refusal *refusal;

		if (link == NULL || !dp_block_is_joined(link, cte_stack))
		{
			left = lappend(left, conjunct);
			continue;
		}
		refusal = add_join(query, link, negated, joins);
		if (refusal != NULL)
			return refusal;
	}
	if (*joins != NIL)
		query->jointree->quals = dp_block_and(left);
	return NULL;
}
