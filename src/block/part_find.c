/*
 * part_find.c
 *	  Recognizes that a block reads only one part of its relation.
 *
 * A conjunct "column = value" at the top of WHERE, over a column that the
 * owner declared immutable, keeps the block within the part of the rows that
 * have this value: the ledger may then charge the part (doc/theory.md T50).
 * Otherwise the release is charged in full.
 *
 * The value is computed once, before the charge, and a second conjunct
 * requires that value of the rows: whatever the expression would return when
 * rows are read, they belong to the charged part.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "split.h"

/*
 * Is the compared type the column's own? varchar compares as text; other
 * binary-coercible casts, as to char(n), have another equality.
 */
static bool
same_kind(Oid column, Oid compared)
{
	column = getBaseType(column);
	compared = getBaseType(compared);
	return column == compared ||
		(column == VARCHAROID && compared == TEXTOID);
}

/* Which of `columns` the expression is, or 0. */
static AttrNumber
partition_column(dp_splitter *s, const Bitmapset *columns, Node *expression)
{
	Node	   *base = dp_block_rowset_base(s->query, expression);
	Var		   *column;

	while (IsA(base, RelabelType))
		base = (Node *) ((RelabelType *) base)->arg;
	if (!IsA(base, Var) || ((Var *) base)->varlevelsup != 0)
		return 0;
	column = (Var *) base;
	if (column->varattno <= 0 || !bms_is_member(column->varattno, columns) ||
		!same_kind(column->vartype, exprType(expression)) ||
		!dp_protect_declare_is_guarded(s->rowset.relation->relid,
									   column->varattno, NULL))
		return 0;
	return column->varattno;
}

static bool
has_hoisted_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXTERN)
		return ((Param *) node)->paramid < 0;
	if (IsA(node, SubLink))
		return true;
	return expression_tree_walker(node, has_hoisted_walker, context);
}

/* Is it known before the query runs, and the same at each evaluation? */
static bool
is_plain_value(Node *node)
{
	return dp_rules_is_public_scalar(node) &&
		!contain_mutable_functions(node) && !has_hoisted_walker(node, NULL);
}

static bool
is_equality(OpExpr *comparison)
{
	Oid			type = exprType(linitial(comparison->args));
	TypeCacheEntry *cache;

	if (exprType(lsecond(comparison->args)) != type)
		return false;
	if (OidIsValid(comparison->inputcollid) &&
		!get_collation_isdeterministic(comparison->inputcollid))
		return false;
	cache = lookup_type_cache(type, TYPECACHE_EQ_OPR);
	return cache->eq_opr == comparison->opno;
}

static bool
take_part(dp_splitter *s, dp_block *block, const Bitmapset *columns,
		  Node *column, Node *value)
{
	AttrNumber	attnum = partition_column(s, columns, column);

	if (attnum == 0)
		return false;
	block->part_attnum = attnum;
	block->part_value = (Expr *) copyObject(value);
	return true;
}

/* The comparison with the charged value in place of the expression. */
static Node *
hold_to_part(OpExpr *comparison, const Node *column)
{
	OpExpr	   *copy = (OpExpr *) copyObject(comparison);
	bool		left = linitial(comparison->args) == column;
	Node	   *value = left ? lsecond(comparison->args) :
	linitial(comparison->args);
	Param	   *param = makeNode(Param);

	param->paramkind = PARAM_EXTERN;
	param->paramid = DP_PART_PARAM;
	param->paramtype = exprType(value);
	param->paramtypmod = exprTypmod(value);
	param->paramcollid = exprCollation(value);
	param->location = -1;
	if (left)
		lsecond(copy->args) = param;
	else
		linitial(copy->args) = param;
	return (Node *) copy;
}

/* Add the conjunct that restricts rows to the part to *held. */
static bool
match_comparison(dp_splitter *s, dp_block *block, const Bitmapset *columns,
				 OpExpr *comparison, Node **held)
{
	Node	   *left;
	Node	   *right;

	if (list_length(comparison->args) != 2 || !is_equality(comparison))
		return false;
	left = linitial(comparison->args);
	right = lsecond(comparison->args);
	if (is_plain_value(right) && take_part(s, block, columns, left, right))
		*held = hold_to_part(comparison, left);
	else if (is_plain_value(left) &&
			 take_part(s, block, columns, right, left))
		*held = hold_to_part(comparison, right);
	else
		return false;
	return true;
}

static bool
match_conjunct(dp_splitter *s, dp_block *block, const Bitmapset *columns,
			   Node *conjunct, Node **held)
{
	Node	   *inverted;

	if (IsA(conjunct, OpExpr))
		return match_comparison(s, block, columns, (OpExpr *) conjunct, held);
	if (is_notclause(conjunct))
	{
		inverted = (Node *) get_notclausearg((Expr *) conjunct);
		return IsA(inverted, Var) &&
			take_part(s, block, columns, inverted,
					  makeBoolConst(false, false));
	}
	return IsA(conjunct, Var) &&
		take_part(s, block, columns, conjunct, makeBoolConst(true, false));
}

/*
 * dp_block_find_part
 *	  Set the block's part, or leave it empty.  Called while the query's
 *	  conditions are as written; may add a condition.
 */
void
dp_block_find_part(dp_splitter *s, dp_block *block)
{
	Bitmapset  *columns =
	dp_protect_attribute_partitions(s->rowset.relation->relid);
	Node	   *held = NULL;
	ListCell   *lc;

	if (columns == NULL)
		return;
	foreach(lc, make_ands_implicit((Expr *) s->query->jointree->quals))
	{
		if (!match_conjunct(s, block, columns, lfirst(lc), &held))
			continue;
		if (held != NULL)
			s->query->jointree->quals =
				make_and_qual(s->query->jointree->quals, held);
		return;
	}
}
