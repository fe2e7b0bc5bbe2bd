/*
 * unit.c
 *	  The unit of each row: proof that a relation has one row per unit, columns
 *	  that name units, and conditions that say they are equal.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/tlist.h"
#include "parser/parse_clause.h"
#include "parser/parse_coerce.h"
#include "parser/parse_oper.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../protect/dp_protect.h"
#include "../domains/dp_domains.h"
#include "dp_rowsets.h"
#include "rowsets_internal.h"

/* ----------------
 *		Columns that name units, and equality of them.
 *
 * Equality of units is a built-in operator on two columns that name units, of
 * types whose bytes tell units apart.  If the unit of a relation is behind a
 * key, equality of its column with that key of the referenced relation, or of
 * the columns of two relations that refer to one key, serves as well, since
 * the key has one unit.  A key of several columns needs all of them, in
 * conditions that hold together and for the same two rows.  Another column
 * that happens to have values of that key does not serve, since its row's unit
 * may differ.
 * ----------------
 */

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
 * dp_rowsets_uncast
 *	  The expression under casts that change neither values nor equality, as
 *	  from varchar to text and to longer integers.  NULL if there is another
 *	  cast, as to char(n), which makes different texts equal.
 */
const Node *
dp_rowsets_uncast(const Node *node)
{
	node = dp_rowsets_widened((Node *) node);
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
		if (!dp_rowsets_is_present(level, name.items))
			name.items = NULL;
		return name;
	}
	foreach(lc, dp_rowsets_from(level))
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
	const Node *plain = dp_rowsets_uncast(node);
	const Var  *var = (const Var *) plain;
	RangeTblEntry *entry;
	const dp_leaf *leaf;
	unit_name	name;

	if (plain != NULL && IsA(plain, CoalesceExpr))
		return name_of_any((const CoalesceExpr *) plain, walk);
	if (plain == NULL || !IsA(plain, Var) || var->varlevelsup != 0)
		return none;
	entry = rt_fetch(var->varno, walk->query->rtable);
	if (!dp_rowsets_is_private(entry, walk->rowset))
		return none;
	leaf = dp_rowsets_leaf_of(walk->rowset, entry);
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
 * dp_rowsets_unit_outputs
 *	  Numbers of the targets of a verified level that are the unit of its rows.
 */
List *
dp_rowsets_unit_outputs(Query *query, const dp_rowset *rowset)
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
 * dp_rowsets_names_step
 *	  Do targets of a verified level, given by number, include all columns of
 *	  the first step of a path to the unit of its rows?  Then rows that agree
 *	  in them belong to one unit.
 */
bool
dp_rowsets_names_step(Query *query, const List *numbers,
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
 * dp_rowsets_names_unit
 *	  Is an expression of a verified level a unit that is present in each row?
 */
bool
dp_rowsets_names_unit(Query *query, const Node *expression,
					  const dp_rowset *rowset)
{
	const name_walk walk = {query, rowset};
	unit_name	name = name_of(expression, &walk);

	return name.items != NULL && !OidIsValid(name.relid) &&
		dp_rowsets_is_present(query, name.items);
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

	if (!IsA(condition, OpExpr) || !dp_rowsets_is_equality(comparison))
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
 * dp_rowsets_equates_units
 *	  Does a condition of a level, with other conditions, equate the units of
 *	  private items?  Sets *a and *b to these items.
 */
bool
dp_rowsets_equates_units(const Node *condition, const List *conditions,
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

/* ----------------
 *		The unit of each row, as an expression of a verified block's level.
 *
 * Subqueries need not select the column that names the unit; each gets one
 * more target then.  Only the inner query sees it.  A level that groups has
 * the unit among its keys, one of UNION ALL among its columns.
 * ----------------
 */

static const char column_name[] = "unit";

static TargetEntry *
target_of(const Query *level, const SortGroupClause *clause)
{
	return get_sortgroupclause_tle((SortGroupClause *) clause,
								   level->targetList);
}

/* The first key of a level that is one of some targets, or NULL. */
static TargetEntry *
key_among(const Query *level, const List *numbers)
{
	ListCell   *lc;

	foreach(lc, level->groupClause)
	{
		TargetEntry *target = target_of(level, lfirst(lc));

		if (list_member_int(numbers, target->resno))
			return target;
	}
	return NULL;
}

/*
 * dp_rowsets_group_unit
 *	  The group key of a level that names the unit of its rows, or NULL.
 */
TargetEntry *
dp_rowsets_group_unit(Query *level, const dp_rowset *rowset)
{
	return key_among(level, dp_rowsets_unit_outputs(level, rowset));
}

/* The target of a subquery that is the unit of its rows. */
static TargetEntry *
unit_target(Query *subquery, const dp_rowset *rowset)
{
	TargetEntry *target;
	Expr	   *inside;

	if (subquery->setOperations != NULL)
		return get_tle_by_resno(subquery->targetList,
								linitial_int(dp_rowsets_unit_outputs(subquery,
																	 rowset)));
	if (dp_rowsets_is_grouped(subquery))
	{
		target = dp_rowsets_group_unit(subquery, rowset);
		if (target == NULL)
			elog(ERROR, "a level that groups has no unit among its keys");
		target->resjunk = false;
		return target;
	}
	inside = dp_rowsets_unit(subquery, rowset);
	target = makeTargetEntry(inside, list_length(subquery->targetList) + 1,
							 pstrdup(column_name), false);
	subquery->targetList = lappend(subquery->targetList, target);
	return target;
}

/* The column of a private item that gives the unit of its row. */
static Expr *
unit_of_entry(int varno, const Query *query, const dp_rowset *rowset)
{
	RangeTblEntry *entry = rt_fetch(varno, query->rtable);
	TargetEntry *target;
	Var		   *unit;

	if (entry->rtekind != RTE_SUBQUERY)
	{
		const dp_relation *relation =
		dp_rowsets_leaf_of(rowset, entry)->relation;

		unit = makeVar(varno, relation->unit_attnum, relation->unit_type,
					   relation->unit_typmod, relation->unit_collation, 0);
		return (Expr *) dp_rowsets_above_joins(query, unit);
	}
	target = unit_target(entry->subquery, rowset);
	dp_rowsets_name_columns(entry, target->resno, column_name);
	unit = makeVarFromTargetEntry(varno, target);
	return (Expr *) dp_rowsets_above_joins(query, unit);
}

/* The common type of units of two types: see dp_rowsets_check_units. */
static Oid
common_type(Oid a, Oid b)
{
	a = getBaseType(a);
	b = getBaseType(b);
	if (a == b)
		return a;
	if (a == TEXTOID || b == TEXTOID)
		return TEXTOID;
	return get_typlen(a) > get_typlen(b) ? a : b;
}

static Expr *
unit_as_type(Expr *unit, Oid type)
{
	return (Expr *) coerce_to_target_type(NULL, (Node *) unit,
										  exprType((Node *) unit), type, -1,
										  COERCION_IMPLICIT,
										  COERCE_IMPLICIT_CAST, -1);
}

/* The unit of a full join's row: that of a side that is there. */
static Expr *
either_unit(Expr *left, Expr *right)
{
	CoalesceExpr *either = makeNode(CoalesceExpr);
	Oid			type = common_type(exprType((Node *) left),
								   exprType((Node *) right));

	either->coalescetype = type;
	either->coalescecollid = exprCollation((Node *) left);
	either->args = list_make2(unit_as_type(left, type),
							  unit_as_type(right, type));
	either->location = -1;
	return (Expr *) either;
}

/* The unit of an item's rows, never NULL; or NULL if they have none. */
static Expr *
unit_of_item(const Node *item, const Query *query, const dp_rowset *rowset)
{
	const JoinExpr *join = (const JoinExpr *) item;
	Expr	   *left;

	if (IsA(item, RangeTblRef))
	{
		int			n = ((const RangeTblRef *) item)->rtindex;

		return dp_rowsets_is_private(rt_fetch(n, query->rtable), rowset) ?
			unit_of_entry(n, query, rowset) : NULL;
	}
	if (join->jointype == JOIN_RIGHT)
		return unit_of_item(join->rarg, query, rowset);
	left = unit_of_item(join->larg, query, rowset);
	if (join->jointype == JOIN_FULL)
		return either_unit(left, unit_of_item(join->rarg, query, rowset));
	return left != NULL || join->jointype == JOIN_LEFT ||
		dp_rowsets_only_asks(join) ? left :
		unit_of_item(join->rarg, query, rowset);
}

/*
 * dp_rowsets_unit
 *	  The unit of each row of a level: a column of the first private item that
 *	  no outer join leaves out, or, below full joins, of the first item that is
 *	  there.  Subqueries below get an additional column.
 */
Expr *
dp_rowsets_unit(Query *query, const dp_rowset *rowset)
{
	Expr	   *found = NULL;
	ListCell   *lc;

	foreach(lc, query->jointree->fromlist)
		if (found == NULL)
			found = unit_of_item(lfirst(lc), query, rowset);
	return found;
}

/* Numbers of the targets that a level groups by. */
static List *
group_keys(const Query *level)
{
	List	   *numbers = NIL;
	ListCell   *lc;

	foreach(lc, level->groupClause)
		numbers = lappend_int(numbers, target_of(level, lfirst(lc))->resno);
	return numbers;
}

/*
 * dp_rowsets_add_unit_key
 *	  If a level groups by the first step of a path to the unit, as lines by
 *	  their order, make the unit a key, too, which changes no group.
 */
void
dp_rowsets_add_unit_key(RangeTblEntry *entry, const dp_rowset *rowset)
{
	Query	   *level = entry->subquery;
	SortGroupClause *clause = makeNode(SortGroupClause);
	TargetEntry *target;

	if (dp_rowsets_group_unit(level, rowset) != NULL ||
		!dp_rowsets_names_step(level, group_keys(level), rowset))
		return;
	target = makeTargetEntry(dp_rowsets_unit(level, rowset),
							 list_length(level->targetList) + 1,
							 pstrdup(column_name), false);
	get_sort_group_operators(exprType((Node *) target->expr), false, true,
							 false, &clause->sortop, &clause->eqop, NULL,
							 &clause->hashable);
	clause->tleSortGroupRef = assignSortGroupRef(target, level->targetList);
	level->targetList = lappend(level->targetList, target);
	level->groupClause = lappend(level->groupClause, clause);
	dp_rowsets_name_columns(entry, target->resno, column_name);
}

/* ----------------
 *		Units can be told apart and compared with those of another relation.
 * ----------------
 */

/*
 * dp_rowsets_refuse_many
 *	  The refusal where a unit must have one row, and this is not proved for
 *	  the relation.
 */
dp_refusal *
dp_rowsets_refuse_many(const dp_relation *relation)
{
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
						  relation->unit_steps != NIL ?
						  psprintf("The privacy unit is behind a key (%s), "
								   "so one unit may have many rows.",
								   relation->unit) :
						  psprintf("Column \"%s\" names the privacy unit "
								   "but is not provably unique, so one unit "
								   "may have many rows.", relation->unit),
						  "This needs one row per unit; if the column is "
						  "unique, let a primary key or a UNIQUE index and "
						  "NOT NULL prove it.",
						  "relation \"%s\" may have many rows per privacy "
						  "unit", get_rel_name(relation->relid));
}

static bool
distinguishes_units(Oid type, Oid collation)
{
	return dp_domains_read_way(getBaseType(type)) != DP_READ_NONE &&
		(!OidIsValid(collation) || get_collation_isdeterministic(collation));
}

static dp_refusal *
unit_refuse_type(const dp_relation *relation, Oid type)
{
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
						  psprintf("Units of column \"%s\" cannot be told "
								   "apart by their bytes; its type, or that "
								   "of a key that it is behind, is %s.",
								   relation->unit, format_type_be(type)),
						  "The owner should number the people, or give the "
						  "column a built-in type and a deterministic "
						  "collation.",
						  "rows of a unit in relation \"%s\" cannot be "
						  "bounded", get_rel_name(relation->relid));
}

/*
 * dp_rowsets_check_unit_type
 *	  Refuses a relation whose units, or the keys that they are behind, cannot
 *	  be told apart by their bytes.  They could when it was protected; types of
 *	  columns may have changed.
 */
dp_refusal *
dp_rowsets_check_unit_type(const dp_relation *relation)
{
	ListCell   *lc;

	if (!distinguishes_units(relation->unit_type, relation->unit_collation))
		return unit_refuse_type(relation, relation->unit_type);
	foreach(lc, relation->unit_steps)
	{
		const dp_unit_step *step = lfirst(lc);
		ListCell   *key;

		foreach(key, step->key)
		{
			Oid			type;
			int32		typmod;
			Oid			collation;

			get_atttypetypmodcoll(step->relid, lfirst_int(key), &type, &typmod,
								  &collation);
			if (!distinguishes_units(type, collation))
				return unit_refuse_type(relation, type);
		}
	}
	return NULL;
}

/* ---- of two relations ---- */

static bool
is_whole_number(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

/* Are equal units of both types the same bytes, or the same number? */
static bool
units_match(Oid a, Oid b)
{
	if (a == b || (is_whole_number(a) && is_whole_number(b)))
		return true;
	return (a == TEXTOID || a == VARCHAROID) &&
		(b == TEXTOID || b == VARCHAROID);
}

static Oid
unit_type(const dp_relation *relation)
{
	return getBaseType(relation->unit_type);
}

/* dp_rowsets_check_units: refuses relations whose units cannot be compared. */
dp_refusal *
dp_rowsets_check_units(const dp_relation *relation, const dp_relation *first)
{
	const char *name = get_rel_name(relation->relid);

	if (relation->unit == NULL)
		return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
							  "Each of its rows is a privacy unit, and no "
							  "column tells which.",
							  "Ask its owner to protect it with a unit "
							  "column.",
							  "relation \"%s\" cannot be joined privately",
							  name);
	if (!units_match(unit_type(relation), unit_type(first)))
		return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
							  "Their units are of different types.",
							  "Ask their owner to give them one type.",
							  "relations \"%s\" and \"%s\" cannot be joined "
							  "privately", get_rel_name(first->relid), name);
	return dp_rowsets_check_unit_type(relation);
}
