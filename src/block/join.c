/*
 * join.c
 *	  Joins whose rows each belong to one unit.
 *
 * Private rows may be joined with public ones in any way: a row has the unit
 * of the private row that it is made from.  If private is joined with private,
 * a condition that holds for every row of the result must equate the units, so
 * that a row is made from rows of one unit.  An outer join has rows of its
 * nullable side only if its condition holds, so that condition itself must
 * equate the units; and the other side must be the private one, or rows
 * without a partner would belong to no unit, and would show which values no
 * unit has.  The same holds for the right side of a semijoin or antijoin
 * (semi_join.c, mark_join.c).  A full join may leave out either side, and has
 * private rows on both (full_join.c).
 *
 * unit_name.c: what names units, and when two names are equal.
 */
#include "postgres.h"

#include "parser/parsetree.h"

#include "read_rows.h"

/* Items of FROM whose units are equal in every row, by range table index. */
typedef struct join_side
{
	List	   *classes;		/* of Relids; private items only */
} join_side;

typedef struct join_walk
{
	Query	   *query;			/* the level */
	const dp_rowset *rowset;
	dp_refusal *refusal;
} join_walk;

/* ---- conditions ---- */

/* Does a condition, together with others, equate the units of items? */
static bool
equates_units(const Node *condition, const List *conditions,
			  const join_walk *walk, Relids *a, Relids *b)
{
	return dp_block_equates_units(condition, conditions, walk->query,
								  walk->rowset, a, b);
}

/* The class that contains all of the items, or NULL. */
static ListCell *
class_of(List *classes, Relids items)
{
	ListCell   *lc;

	foreach(lc, classes)
		if (bms_is_subset(items, lfirst(lc)))
			return lc;
	return NULL;
}

/* Merge two classes, whose items are of one unit from here on. */
static List *
unite(List *classes, Relids a, Relids b)
{
	ListCell   *one = class_of(classes, a);
	ListCell   *other = class_of(classes, b);
	Relids		merged;

	if (one == NULL || other == NULL || one == other)
		return classes;
	merged = bms_union(lfirst(one), lfirst(other));
	lfirst(one) = merged;
	return list_delete_cell(classes, other);
}

static void
apply(join_side *side, Node *condition, const join_walk *walk)
{
	List	   *conditions = dp_block_add_conjuncts(NIL, condition);
	ListCell   *lc;
	Relids		a;
	Relids		b;

	foreach(lc, conditions)
		if (equates_units(lfirst(lc), conditions, walk, &a, &b))
			side->classes = unite(side->classes, a, b);
}

/* ---- joins ---- */

static dp_refusal *
refuse_left_over(void)
{
	return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
							"Rows without a partner would belong to no "
							"privacy unit, and would show which values no "
							"unit has.",
							"Use an inner join; public groups without rows "
							"are returned anyway.",
							"an outer join that keeps rows without private "
							"ones is not supported below a private aggregate");
}

static dp_refusal *
refuse_mixture(void)
{
	return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
							"A row of the result would be made from rows of "
							"two privacy units.",
							"Join them on the columns that name their units, "
							"or on all columns of a key that leads to them; "
							"for an outer join, in its own condition.",
							"private relations are joined other than on "
							"their privacy units");
}

static dp_refusal *
refuse_subquery(void)
{
	return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
							"Whether a row counts would depend on the rows of "
							"other privacy units.",
							"Compare the columns that name their units with "
							"=: for EXISTS in its own WHERE; for IN they may "
							"be the compared columns.",
							"a subquery over private rows is not compared on "
							"privacy units");
}

/* An outer join: items of `left_out` have rows only if its condition holds. */
static void
join_outer(join_side *kept, join_side *left_out, Node *condition,
		   join_walk *walk, dp_refusal *(*refuse_others) (void))
{
	List	   *conditions = dp_block_add_conjuncts(NIL, condition);
	ListCell   *lc;
	ListCell   *lc2;

	apply(left_out, condition, walk);
	if (left_out->classes != NIL && kept->classes == NIL &&
		walk->refusal == NULL)
		walk->refusal = refuse_left_over();
	foreach(lc, left_out->classes)
	{
		ListCell   *with = NULL;
		Relids		a;
		Relids		b;

		foreach(lc2, conditions)
		{
			if (with != NULL ||
				!equates_units(lfirst(lc2), conditions, walk, &a, &b))
				continue;
			if (bms_is_subset(b, lfirst(lc)))
				with = class_of(kept->classes, a);
			else if (bms_is_subset(a, lfirst(lc)))
				with = class_of(kept->classes, b);
		}
		if (with != NULL)
			lfirst(with) = bms_union(lfirst(with), lfirst(lc));
		else if (walk->refusal == NULL)
			walk->refusal = refuse_others();
	}
}

/*
 * NOT IN keeps rows for which the comparison is false.  An equality of units
 * that are there is never NULL.
 */
static Node *
settle_units(Node *condition, const join_walk *walk)
{
	List	   *conjuncts = NIL;
	ListCell   *lc;
	Relids		a;
	Relids		b;

	foreach(lc, dp_block_add_conjuncts(NIL, condition))
	{
		const BooleanTest *test = lfirst(lc);

		if (IsA(test, BooleanTest) && test->booltesttype == IS_NOT_FALSE &&
			equates_units((Node *) test->arg, list_make1(test->arg), walk, &a,
						  &b) &&
			dp_block_is_present(walk->query, a) &&
			dp_block_is_present(walk->query, b))
			conjuncts = lappend(conjuncts, test->arg);
		else
			conjuncts = lappend(conjuncts, lfirst(lc));
	}
	return dp_block_and(conjuncts);
}

/*
 * A semijoin or antijoin with `asked`.  If that has private rows, the kept
 * side must have some, or the result would belong to no unit.
 */
static void
join_asked(join_side *kept, join_side *asked, JoinExpr *join,
		   join_walk *walk)
{
	join->quals = settle_units(join->quals, walk);
	if (asked->classes != NIL && kept->classes == NIL &&
		walk->refusal == NULL)
		walk->refusal = refuse_subquery();
	join_outer(kept, asked, join->quals, walk, refuse_subquery);
}

/* Was it made from a subquery, whose groups are joined (mark_join.c)? */
static bool
is_mark(const JoinExpr *join, const Query *query)
{
	const RangeTblRef *right = (const RangeTblRef *) join->rarg;

	return IsA(right, RangeTblRef) &&
		!rt_fetch(right->rtindex, query->rtable)->inFromCl;
}

/* Does a condition equate the units of both sides? */
static bool
equates_sides(Node *condition, const join_side *left, const join_side *right,
			  const join_walk *walk)
{
	List	   *conditions = dp_block_add_conjuncts(NIL, condition);
	ListCell   *lc;
	Relids		a;
	Relids		b;

	foreach(lc, conditions)
		if (equates_units(lfirst(lc), conditions, walk, &a, &b) &&
			((class_of(left->classes, a) && class_of(right->classes, b)) ||
			 (class_of(left->classes, b) && class_of(right->classes, a))))
			return true;
	return false;
}

/* A full join: each side has rows of one unit, and so has the result. */
static join_side
join_full(const join_side *left, const join_side *right, JoinExpr *join,
		  join_walk *walk)
{
	join_side	joined = {NIL};

	if (walk->refusal != NULL)
		return *left;
	if (left->classes == NIL || right->classes == NIL)
		walk->refusal = refuse_left_over();
	else if (list_length(left->classes) > 1 ||
			 list_length(right->classes) > 1 ||
			 !equates_sides(join->quals, left, right, walk))
		walk->refusal = refuse_mixture();
	else
		walk->refusal = dp_block_check_full(join, walk->query);
	if (walk->refusal != NULL)
		return *left;
	joined.classes = list_make1(bms_union(linitial(left->classes),
										  linitial(right->classes)));
	return joined;
}

static join_side
join_item(Node *item, join_walk *walk)
{
	join_side	left = {NIL};
	join_side	right;
	JoinExpr   *join = (JoinExpr *) item;

	if (IsA(item, RangeTblRef))
	{
		int			n = ((RangeTblRef *) item)->rtindex;

		if (dp_block_is_private(rt_fetch(n, walk->query->rtable),
								walk->rowset))
			left.classes = list_make1(bms_make_singleton(n));
		return left;
	}
	left = join_item(join->larg, walk);
	right = join_item(join->rarg, walk);
	switch (join->jointype)
	{
		case JOIN_INNER:
			left.classes = list_concat(left.classes, right.classes);
			apply(&left, join->quals, walk);
			return left;
		case JOIN_LEFT:
			if (is_mark(join, walk->query))
			{
				join_asked(&left, &right, join, walk);
				return left;
			}
			join_outer(&left, &right, join->quals, walk, refuse_mixture);
			return left;
		case JOIN_RIGHT:
			join_outer(&right, &left, join->quals, walk, refuse_mixture);
			return right;
		case JOIN_SEMI:
		case JOIN_ANTI:
			join_asked(&left, &right, join, walk);
			return left;
		default:
			return join_full(&left, &right, join, walk);
	}
}

static dp_refusal *
refuse_arms(void)
{
	return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1, NULL,
							"Select the column that names the privacy unit as "
							"it is, of one type, at the same position in all "
							"parts.",
							"UNION, INTERSECT or EXCEPT does not pass on the "
							"privacy unit of its rows");
}

static dp_refusal *
check_level(Query *query, const dp_rowset *rowset)
{
	join_walk	walk = {query, rowset, NULL};
	join_side	all = {NIL};
	ListCell   *lc;

	foreach(lc, query->rtable)
	{
		RangeTblEntry *entry = lfirst(lc);
		dp_refusal *refusal = NULL;

		if (entry->rtekind == RTE_SUBQUERY &&
			dp_block_leaf_of(rowset, entry) == NULL && entry->subquery != NULL)
			refusal = check_level(entry->subquery, rowset);
		if (refusal != NULL)
			return refusal;
	}
	if (query->setOperations != NULL)
		return dp_block_unit_outputs(query, rowset) == NIL ?
			refuse_arms() : NULL;
	foreach(lc, query->jointree->fromlist)
		all.classes = list_concat(all.classes,
								  join_item(lfirst(lc), &walk).classes);
	apply(&all, query->jointree->quals, &walk);
	if (walk.refusal == NULL && list_length(all.classes) > 1)
		walk.refusal = refuse_mixture();
	return walk.refusal;
}

/*
 * dp_block_check_join
 *	  Refuses a verified block unless each of its rows is made from rows of one
 *	  unit.
 */
dp_refusal *
dp_block_check_join(Query *query, const dp_rowset *rowset)
{
	ListCell   *lc;

	if (!dp_block_has_join(rowset))
		return NULL;
	foreach(lc, rowset->leaves)
	{
		const dp_leaf *leaf = lfirst(lc);
		dp_refusal *refusal = leaf->relation == NULL || !rowset->many ? NULL :
		dp_block_check_units(leaf->relation, rowset->relation);

		if (refusal != NULL)
			return refusal;
	}
	return check_level(query, rowset);
}
