/*
 * part.c
 *	  Find out that a block reads one part of its relation only.
 *
 * A conjunct "column = value" at the top of WHERE, over a column that the
 * owner declared immutable, keeps the block within the part of the rows that
 * have this value: the ledger may then charge the part (doc/theory.md T50).
 * What is not recognised is charged in full.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "split.h"

/* The one of `columns` that the expression is, or 0. */
static AttrNumber
partition_column(dp_splitter *s, const Bitmapset *columns, Node *expression)
{
	Node	   *base = dp_rowset_base(s->query, expression);
	Var		   *column;

	while (IsA(base, RelabelType))
		base = (Node *) ((RelabelType *) base)->arg;
	if (!IsA(base, Var) || ((Var *) base)->varlevelsup != 0)
		return 0;
	column = (Var *) base;
	if (column->varattno <= 0 || !bms_is_member(column->varattno, columns) ||
		!dp_declare_has_trigger(s->rowset.relation->relid, column->varattno))
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

/* Is it known before the query runs, without running a subquery? */
static bool
is_plain_value(Node *node)
{
	return dp_expression_is_public_scalar(node) &&
		!has_hoisted_walker(node, NULL);
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

static bool
match_conjunct(dp_splitter *s, dp_block *block, const Bitmapset *columns,
			   Node *conjunct)
{
	Node	   *left;
	Node	   *right;

	if (IsA(conjunct, OpExpr) &&
		list_length(((OpExpr *) conjunct)->args) == 2)
	{
		if (!is_equality((OpExpr *) conjunct))
			return false;
		left = linitial(((OpExpr *) conjunct)->args);
		right = lsecond(((OpExpr *) conjunct)->args);
		return (is_plain_value(right) &&
				take_part(s, block, columns, left, right)) ||
			(is_plain_value(left) &&
			 take_part(s, block, columns, right, left));
	}
	if (is_notclause(conjunct))
	{
		left = (Node *) get_notclausearg((Expr *) conjunct);
		return IsA(left, Var) &&
			take_part(s, block, columns, left, makeBoolConst(false, false));
	}
	return IsA(conjunct, Var) &&
		take_part(s, block, columns, conjunct, makeBoolConst(true, false));
}

/*
 * dp_query_find_part
 *	  Fill the block's part, or leave it empty.  To be called while the
 *	  query's conditions are as the user wrote them.
 */
void
dp_query_find_part(dp_splitter *s, dp_block *block)
{
	Bitmapset  *columns =
	dp_attribute_partitions(s->rowset.relation->relid);
	ListCell   *lc;

	if (columns == NULL)
		return;
	foreach(lc, make_ands_implicit((Expr *) s->query->jointree->quals))
		if (match_conjunct(s, block, columns, lfirst(lc)))
			return;
}
