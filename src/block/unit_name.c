/*
 * unit_name.c
 *	  Columns that name units, and equality of them.
 *
 * Equality of units is an operator of PostgreSQL's own over two columns that
 * name units, of types whose bytes tell units apart (unit_column.c).  Where
 * the unit of a relation is behind a key, its column and that key of the
 * relation it refers to, or the columns of two relations that refer to one
 * key, are as good: the key has one unit.  Of a key of several columns that
 * takes all of them, by conditions that stand together and of the same two
 * rows.  Another column that happens to have values of that key is not, since
 * the unit of its row may be another.
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
 * What an expression of a level says of the unit of a private item: it is the
 * unit, or a value of a column of `relid` that is a key where `step` is said.
 * Of several items, as COALESCE is, it says so of one that is there.
 */
typedef struct unit_name
{
	Relids		items;			/* NULL: it is no column of private items */
	Oid			relid;			/* InvalidOid: the unit */
	AttrNumber	column;
	const dp_unit_step *step;	/* the first of the item's own path, or NULL */
	const dp_leaf *leaf;		/* whose column it is; NULL: of several */
} unit_name;

static unit_name name_of(const Node *node, const name_walk *walk);

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

/* The column of a step's key that a column refers to by it, or 0. */
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
	unit_name	name = {NULL, relation->relid, column, NULL, leaf};
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

/* What a column of a level says of the unit of its rows. */
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
 * COALESCE names units as its operands do.  Whoever takes it for a name sees
 * to it that the items are of one unit.
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

/* Is it a part of a step, or all of it, that is taken from the same row? */
static bool
is_of_step(const unit_name *name, const unit_name *first)
{
	return name->items != NULL && name->step != NULL &&
		name->relid == first->relid && bms_equal(name->items, first->items) &&
		(name->leaf == first->leaf);
}

/*
 * dp_block_names_step
 *	  Do targets of a verified level, by their numbers, have all columns of the
 *	  first step of a path to the unit of its rows?  Then rows that agree in
 *	  them are of one unit.
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
 *	  Is an expression of a verified level a unit, which is there in each row?
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

/* Does a condition say that what names units is equal?  The names. */
static bool
equates_names(const Node *condition, const name_walk *walk, unit_name *left,
			  unit_name *right)
{
	const OpExpr *comparison = (const OpExpr *) condition;

	if (!IsA(condition, OpExpr) || !dp_block_is_equality(comparison))
		return false;
	*left = name_of(linitial(comparison->args), walk);
	*right = name_of(lsecond(comparison->args), walk);
	if (left->items == NULL || right->items == NULL ||
		bms_overlap(left->items, right->items) || !same_name(left, right))
		return false;
	return !OidIsValid(left->relid) || left->step != NULL ||
		right->step != NULL;
}

/* Are two names of columns of the same row? */
static bool
is_same_row(const unit_name *a, const unit_name *b)
{
	return a->leaf == b->leaf && bms_equal(a->items, b->items);
}

/*
 * Of a key of several columns one by itself says nothing.  Do all conditions
 * together say of the same two rows that all of it is equal?
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
 *	  Does a condition of a level, with the others beside it, say that the
 *	  units of private items are equal?  Which.
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
