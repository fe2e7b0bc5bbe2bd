/*
 * unit_name.c
 *	  Columns that name units, and equality of them.
 *
 * Equality of units is a built-in operator on two columns that name units, of
 * types whose bytes tell units apart (unit_column.c).  If the unit of a
 * relation is behind a key, equality of its column with that key of the
 * referenced relation, or of the columns of two relations that refer to one
 * key, serves as well, since the key has one unit.  A key of several columns
 * needs all of them, in conditions that hold together and for the same two
 * rows.  Another column that happens to have values of that key does not
 * serve, since its row's unit may differ.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "read_rows.h"

typedef struct name_walk
{
	Query	   *query;			/* the level */
	const dp_rowset *rowset;
} name_walk;

/*
 * What an expression of a level says about the unit of a private item: it is
 * the unit, or, if `step` is set, a value of a key column of `relid`.  For
 * several items, as with COALESCE, this holds for one that is there.
 */
typedef struct unit_name
{
	Relids		items;			/* NULL: not a column of private items */
	Oid			relid;			/* InvalidOid: the unit */
	AttrNumber	column;
	const dp_unit_step *step;	/* first step of the item's own path, or
								 * NULL */
	const dp_leaf *leaf;		/* leaf of the column; NULL: several */
	AttrNumber	own;			/* its number in that leaf's relation */
} unit_name;

static unit_name name_of(const Node *node, const name_walk *walk);

static bool
same_name(const unit_name *a, const unit_name *b)
{
	return a->relid == b->relid && a->column == b->column;
}

/*
 * dp_block_uncast
 *	  The expression under casts that change neither values nor equality, as
 *	  from varchar to text and to longer integers.  NULL if there is another
 *	  cast, as to char(n), which makes different texts equal.
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

/* The column of a step's key to which a column refers, or 0. */
static AttrNumber
column_of_key(const dp_unit_step *step, AttrNumber from)
{
	ListCell   *lc;
	ListCell   *lc2;

	forboth(lc, step->from, lc2, step->key)
		if (lfirst_int(lc) == from)
			return lfirst_int(lc2);
	return InvalidAttrNumber;
}

static unit_name
name_of_column(const dp_leaf *leaf, AttrNumber column)
{
	const dp_relation *relation = leaf->relation;
	unit_name	name = {NULL, relation->relid, column, NULL, leaf, column};
	const dp_unit_step *step = relation->unit_steps == NIL ? NULL :
	linitial(relation->unit_steps);
	AttrNumber	key = step == NULL ? InvalidAttrNumber :
	column_of_key(step, column);

	if (column == relation->unit_attnum)
	{
		name.relid = InvalidOid;
		name.column = 0;
	}
	else if (key != InvalidAttrNumber)
	{
		name.relid = step->relid;
		name.column = key;
		name.step = step;
	}
	return name;
}

/* What a column of a level says about the unit of its rows. */
static unit_name
name_of_output(Query *level, AttrNumber column, const dp_rowset *rowset)
{
	const name_walk walk = {level, rowset};
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
				 (other.step == NULL) != (name.step == NULL))
			name.items = NULL;
		if (name.leaf != other.leaf)
			name.leaf = NULL;
	}
	return name;
}

/*
 * COALESCE names units as its operands do.  The caller must ensure that the
 * items are of one unit.
 */
static unit_name
name_of_any(const CoalesceExpr *any, const name_walk *walk)
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
		if (one.step == NULL)
			one.step = name.step;
		if (list_length(any->args) > 1)
			one.leaf = NULL;
		name = one;
	}
	return name;
}

static unit_name
name_of(const Node *node, const name_walk *walk)
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
		name = name_of_column(leaf, var->varattno);
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
 *	  Numbers of the targets of a verified level that are the unit of its rows.
 */
List *
dp_block_unit_outputs(Query *query, const dp_rowset *rowset)
{
	List	   *outputs = NIL;
	ListCell   *lc;

	foreach(lc, query->targetList)
	{
		const TargetEntry *target = lfirst(lc);
		unit_name	name = name_of_output(query, target->resno, rowset);

		if (name.items != NULL && !OidIsValid(name.relid))
			outputs = lappend_int(outputs, target->resno);
	}
	return outputs;
}

/* Does it name a part of a step, or the whole of it, for the same row? */
static bool
is_of_step(const unit_name *name, const unit_name *first)
{
	return name->items != NULL && name->step != NULL &&
		name->relid == first->relid && bms_equal(name->items, first->items) &&
		(name->leaf == first->leaf);
}

/*
 * dp_block_names_step
 *	  Do targets of a verified level, given by number, include all columns of
 *	  the first step of a path to the unit of its rows?  Then rows that agree
 *	  in them belong to one unit.
 */
bool
dp_block_names_step(Query *query, const List *numbers,
					const dp_rowset *rowset)
{
	ListCell   *lc;
	ListCell   *lc2;

	foreach(lc, numbers)
	{
		unit_name	first = name_of_output(query, lfirst_int(lc), rowset);
		List	   *columns = NIL;

		if (first.items == NULL || first.step == NULL)
			continue;
		if (list_length(first.step->key) == 1)
			return true;
		foreach(lc2, numbers)
		{
			unit_name	name = name_of_output(query, lfirst_int(lc2), rowset);

			if (first.leaf != NULL && is_of_step(&name, &first))
				columns = list_append_unique_int(columns, name.column);
		}
		if (list_length(columns) == list_length(first.step->key))
			return true;
	}
	return false;
}

/*
 * dp_block_names_unit
 *	  Is an expression of a verified level a unit that is present in each row?
 */
bool
dp_block_names_unit(Query *query, const Node *expression,
					const dp_rowset *rowset)
{
	const name_walk walk = {query, rowset};
	unit_name	name = name_of(expression, &walk);

	return name.items != NULL && !OidIsValid(name.relid) &&
		dp_block_is_present(query, name.items);
}

/* ---- equality ---- */

/*
 * A column of a key may also be the unit, or lead on to it.  Where the other
 * column refers to it, it is named as that of the key.
 */
static void
name_as_key(unit_name *name, const unit_name *referring)
{
	if (referring->step == NULL || name->leaf == NULL ||
		name->leaf->relation->relid != referring->relid ||
		name->own != referring->column)
		return;
	name->relid = referring->relid;
	name->column = referring->column;
	name->step = NULL;
}

/* Does a condition equate names of units?  Sets *left and *right. */
static bool
equates_names(const Node *condition, const name_walk *walk, unit_name *left,
			  unit_name *right)
{
	const OpExpr *comparison = (const OpExpr *) condition;

	if (!IsA(condition, OpExpr) || !dp_block_is_equality(comparison))
		return false;
	*left = name_of(linitial(comparison->args), walk);
	*right = name_of(lsecond(comparison->args), walk);
	name_as_key(left, right);
	name_as_key(right, left);
	if (left->items == NULL || right->items == NULL ||
		bms_overlap(left->items, right->items) || !same_name(left, right))
		return false;
	return !OidIsValid(left->relid) || left->step != NULL ||
		right->step != NULL;
}

/* Are both names columns of the same row? */
static bool
is_same_row(const unit_name *a, const unit_name *b)
{
	return a->leaf == b->leaf && bms_equal(a->items, b->items);
}

/*
 * One column of a key of several says nothing.  Do all conditions together
 * equate the whole key for the same two rows?
 */
static bool
equates_all(const unit_name *left, const unit_name *right,
			const List *conditions, const name_walk *walk)
{
	const dp_unit_step *step = left->step != NULL ? left->step : right->step;
	List	   *columns = NIL;
	ListCell   *lc;

	if (list_length(step->key) == 1)
		return true;
	if (left->leaf == NULL || right->leaf == NULL)
		return false;
	foreach(lc, conditions)
	{
		unit_name	a;
		unit_name	b;

		if (equates_names(lfirst(lc), walk, &a, &b) &&
			a.relid == left->relid &&
			((is_same_row(&a, left) && is_same_row(&b, right)) ||
			 (is_same_row(&b, left) && is_same_row(&a, right))))
			columns = list_append_unique_int(columns, a.column);
	}
	return list_difference_int(step->key, columns) == NIL;
}

/*
 * dp_block_equates_units
 *	  Does a condition of a level, with other conditions, equate the units of
 *	  private items?  Sets *a and *b to these items.
 */
bool
dp_block_equates_units(const Node *condition, const List *conditions,
					   Query *query, const dp_rowset *rowset, Relids *a,
					   Relids *b)
{
	const name_walk walk = {query, rowset};
	unit_name	left;
	unit_name	right;

	if (!equates_names(condition, &walk, &left, &right))
		return false;
	*a = left.items;
	*b = right.items;
	return !OidIsValid(left.relid) ||
		equates_all(&left, &right, conditions, &walk);
}
