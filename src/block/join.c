/*
 * join.c
 *	  Joins that keep rows apart by units.
 *
 * Private rows may be joined with public ones as one likes: a row has the unit
 * of the private row that it is made from.  Private with private: the units of
 * both are equal, by a condition that holds for every row of the result, so
 * that a row is made from rows of one unit.  Of an outer join the side that it
 * may leave out has its rows only where its condition holds, so there the
 * condition of the join itself must say so; and the other side must be the
 * private one, else the rows that are left over would be of nobody, and would
 * tell whom nobody has.  So it is with the right side of a join that only asks
 * whether it has rows (semi_join.c, mark_join.c).  A full join leaves out
 * either side, and has private rows on both (full_join.c).
 *
 * Equality of units is an operator of PostgreSQL's own over two columns that
 * name units, of types whose bytes tell units apart (unit_column.c).  Where
 * the unit of a relation is behind a key, its column and that key of the
 * relation it refers to, or the columns of two relations that refer to one
 * key, are as good: the key has one unit.  Another column that happens to have
 * values of that key is not, since the unit of its row may be another.
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "read_rows.h"

/* Items of FROM whose units are equal in every row: numbers of entries. */
typedef struct join_side
{
	List	   *classes;		/* of Relids; of private items only */
} join_side;

typedef struct join_walk
{
	Query	   *query;			/* the level */
	const dp_rowset *rowset;
	dp_refusal *refusal;
} join_walk;

/*
 * dp_block_is_private
 *	  Has an entry of a verified level private rows?  A subquery that is no
 *	  leaf reads some.
 */
bool
dp_block_is_private(const RangeTblEntry *entry, const dp_rowset *rowset)
{
	const dp_leaf *leaf = dp_block_leaf_of(rowset, entry);

	return leaf == NULL ? entry->rtekind == RTE_SUBQUERY :
		leaf->relation != NULL;
}

/* ---- columns that name units ---- */

/*
 * What an expression of a level says of the unit of a private item: it is the
 * unit, or a value of a column of `relid` that is a key where `step` is said.
 * Of several items, as COALESCE is, it says so of one that is there.
 */
typedef struct unit_name
{
	Relids		items;			/* NULL: it is no column of private items */
	Oid			relid;			/* InvalidOid: the unit */
	AttrNumber	column;
	bool		step;			/* the first step of the item's own path */
} unit_name;

static unit_name name_of(const Node *node, const join_walk *walk);

static bool
same_name(const unit_name *a, const unit_name *b)
{
	return a->relid == b->relid && a->column == b->column;
}

/*
 * dp_block_uncast
 *	  What an expression is another name of: under casts that change neither
 *	  values nor which of them are equal, as from varchar to text and to longer
 *	  whole numbers.  NULL: a cast is another, as to char(n), which takes texts
 *	  for equal that are not.
 */
const Node *
dp_block_uncast(const Node *node)
{
	node = dp_block_widened((Node *) node);
	while (IsA(node, RelabelType))
	{
		const RelabelType *relabel = (const RelabelType *) node;
		Oid			to = getBaseType(relabel->resulttype);
		Oid			from = getBaseType(exprType((Node *) relabel->arg));

		if (to != from && !(to == TEXTOID && from == VARCHAROID))
			return NULL;
		node = (const Node *) relabel->arg;
	}
	return node;
}

static unit_name
name_of_column(const dp_relation *relation, AttrNumber column)
{
	unit_name	name = {NULL, relation->relid, column, false};
	const dp_unit_step *step = relation->unit_steps == NIL ? NULL :
	linitial(relation->unit_steps);

	if (column == relation->unit_attnum)
	{
		name.relid = InvalidOid;
		name.column = 0;
	}
	else if (step != NULL && step->from == column)
	{
		name.relid = step->relid;
		name.column = step->key;
		name.step = true;
	}
	return name;
}

/* What a column of a level says of the unit of its rows. */
static unit_name
name_of_output(Query *level, AttrNumber column, const dp_rowset *rowset)
{
	const join_walk walk = {level, rowset, NULL};
	const TargetEntry *target = get_tle_by_resno(level->targetList, column);
	unit_name	name = {NULL};
	ListCell   *lc;

	if (target == NULL)
		return name;
	if (level->setOperations == NULL)
	{
		name = name_of((const Node *) target->expr, &walk);
		if (!dp_block_is_present(level, name.items))
			name.items = NULL;
		return name;
	}
	foreach(lc, dp_block_from(level))
	{
		RangeTblEntry *arm = rt_fetch(((RangeTblRef *) lfirst(lc))->rtindex,
									  level->rtable);
		unit_name	other = name_of_output(arm->subquery, column, rowset);

		if (foreach_current_index(lc) == 0)
			name = other;
		else if (other.items == NULL || !same_name(&other, &name) ||
				 other.step != name.step)
			name.items = NULL;
	}
	return name;
}

/*
 * COALESCE names units as its operands do.  Whoever takes it for a name sees
 * to it that the items are of one unit.
 */
static unit_name
name_of_any(const CoalesceExpr *any, const join_walk *walk)
{
	unit_name	name = {NULL};
	ListCell   *lc;

	foreach(lc, any->args)
	{
		unit_name	one = name_of(lfirst(lc), walk);

		if (one.items == NULL ||
			(name.items != NULL && !same_name(&one, &name)))
			return (unit_name) {NULL};
		one.items = bms_union(one.items, name.items);
		one.step = one.step || name.step;
		name = one;
	}
	return name;
}

static unit_name
name_of(const Node *node, const join_walk *walk)
{
	const unit_name none = {NULL};
	const Node *plain = dp_block_uncast(node);
	const Var  *var = (const Var *) plain;
	RangeTblEntry *entry;
	const dp_leaf *leaf;
	unit_name	name;

	if (plain != NULL && IsA(plain, CoalesceExpr))
		return name_of_any((const CoalesceExpr *) plain, walk);
	if (plain == NULL || !IsA(plain, Var) || var->varlevelsup != 0)
		return none;
	entry = rt_fetch(var->varno, walk->query->rtable);
	if (!dp_block_is_private(entry, walk->rowset))
		return none;
	leaf = dp_block_leaf_of(walk->rowset, entry);
	if (leaf != NULL)
		name = name_of_column(leaf->relation, var->varattno);
	else
	{
		name = name_of_output(entry->subquery, var->varattno, walk->rowset);
		if (name.items == NULL)
			return none;
	}
	name.items = bms_make_singleton(var->varno);
	return name;
}

/*
 * dp_block_unit_outputs
 *	  Numbers of the targets of a verified level that are the unit of its rows;
 *	  `step`: that are of one unit only, as first steps of paths to it.
 */
List *
dp_block_unit_outputs(Query *query, const dp_rowset *rowset, bool step)
{
	List	   *outputs = NIL;
	ListCell   *lc;

	foreach(lc, query->targetList)
	{
		const TargetEntry *target = lfirst(lc);
		unit_name	name = name_of_output(query, target->resno, rowset);

		if (name.items != NULL &&
			(step ? name.step : !OidIsValid(name.relid)))
			outputs = lappend_int(outputs, target->resno);
	}
	return outputs;
}

/*
 * dp_block_names_unit
 *	  Is an expression of a verified level a unit, which is there in each row?
 */
bool
dp_block_names_unit(Query *query, const Node *expression,
					const dp_rowset *rowset)
{
	const join_walk walk = {query, rowset, NULL};
	unit_name	name = name_of(expression, &walk);

	return name.items != NULL && !OidIsValid(name.relid) &&
		dp_block_is_present(query, name.items);
}

/* ---- conditions ---- */

/* Does a condition say that the units of items are equal?  Which. */
static bool
equates_units(const Node *condition, const join_walk *walk, Relids *a,
			  Relids *b)
{
	const OpExpr *comparison = (const OpExpr *) condition;
	unit_name	left;
	unit_name	right;

	if (!IsA(condition, OpExpr) || !dp_block_is_equality(comparison))
		return false;
	left = name_of(linitial(comparison->args), walk);
	right = name_of(lsecond(comparison->args), walk);
	*a = left.items;
	*b = right.items;
	if (*a == NULL || *b == NULL || bms_overlap(*a, *b) ||
		!same_name(&left, &right))
		return false;
	return !OidIsValid(left.relid) || left.step || right.step;
}

/* The class that has all of the items, or NULL. */
static ListCell *
class_of(List *classes, Relids items)
{
	ListCell   *lc;

	foreach(lc, classes)
		if (bms_is_subset(items, lfirst(lc)))
			return lc;
	return NULL;
}

/* Items of both classes are of one unit from here on. */
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
	ListCell   *lc;
	Relids		a;
	Relids		b;

	foreach(lc, dp_block_add_conjuncts(NIL, condition))
		if (equates_units(lfirst(lc), walk, &a, &b))
			side->classes = unite(side->classes, a, b);
}

/* ---- joins ---- */

static dp_refusal *
refuse_left_over(void)
{
	return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
							"Rows without a partner would be of no privacy "
							"unit, and would show which values no unit has.",
							"Use an inner join; public groups without rows "
							"are answered anyway.",
							"an outer join that keeps rows without private "
							"ones is not supported below a private aggregate");
}

static dp_refusal *
refuse_mixture(void)
{
	return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
							"A row of the result would be made from rows of "
							"two privacy units.",
							"Join them on the columns that name their units; "
							"of an outer join, in its own condition.",
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
							"=: of EXISTS in its own WHERE; of IN they may be "
							"what it compares.",
							"a subquery over private rows is not compared on "
							"privacy units");
}

/* An outer join: the items of `left_out` only where its condition holds. */
static void
join_outer(join_side *kept, join_side *left_out, Node *condition,
		   join_walk *walk, dp_refusal *(*refuse_others) (void))
{
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

		foreach(lc2, dp_block_add_conjuncts(NIL, condition))
		{
			if (with != NULL || !equates_units(lfirst(lc2), walk, &a, &b))
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
 * NOT IN asks for what is not false.  An equality of units that are there is
 * true then.
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
			equates_units((Node *) test->arg, walk, &a, &b) &&
			dp_block_is_present(walk->query, a) &&
			dp_block_is_present(walk->query, b))
			conjuncts = lappend(conjuncts, test->arg);
		else
			conjuncts = lappend(conjuncts, lfirst(lc));
	}
	return dp_block_and(conjuncts);
}

/*
 * A join that only asks whether `asked` has rows.  Where it has private ones,
 * so has what is kept, or the rows would be of nobody.
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

/* Was it made of a subquery, whose groups it asks for (mark_join.c)? */
static bool
is_mark(const JoinExpr *join, const Query *query)
{
	const RangeTblRef *right = (const RangeTblRef *) join->rarg;

	return IsA(right, RangeTblRef) &&
		!rt_fetch(right->rtindex, query->rtable)->inFromCl;
}

/* Does a condition say that the units of both sides are equal? */
static bool
equates_sides(Node *condition, const join_side *left, const join_side *right,
			  const join_walk *walk)
{
	ListCell   *lc;
	Relids		a;
	Relids		b;

	foreach(lc, dp_block_add_conjuncts(NIL, condition))
		if (equates_units(lfirst(lc), walk, &a, &b) &&
			((class_of(left->classes, a) && class_of(right->classes, b)) ||
			 (class_of(left->classes, b) && class_of(right->classes, a))))
			return true;
	return false;
}

/* A full join: each side has rows of one unit, and both together have. */
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
							"it is, of one type, at the same place in all "
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
		return dp_block_unit_outputs(query, rowset, false) == NIL ?
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
 *	  Is every row of a verified block made from rows of one unit?
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
