/*
 * public_parts.c
 *	  Parts of an expression over private rows that do not use columns.
 *
 * They are evaluated once, in their total versions, when parameters are known,
 * so that bounds can follow from $1, now() or casts that depend on settings.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "../../base/dp_base.h"
#include "../expressions/dp_expressions.h"
#include "dp_domains.h"
#include "domains_internal.h"

static bool
is_hole(Node *node, const dp_walk *walk)
{
	return IsA(node, CaseTestExpr) ||
		(IsA(node, Param) && ((Param *) node)->paramid < 0);
}

static bool
is_known_type(Oid type)
{
	switch (getBaseType(type))
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case FLOAT4OID:
		case FLOAT8OID:
		case NUMERICOID:
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case INTERVALOID:
		case TEXTOID:
			return true;
	}
	return false;
}

/* The parameter that stands for a public part. */
static Param *
public_param(Node *node, List **publics)
{
	Param	   *param = makeNode(Param);
	Node	   *total = dp_expressions_make_total(copyObject(node));
	ListCell   *lc;

	param->paramkind = PARAM_EXEC;
	param->paramid = list_length(*publics);
	param->paramtype = exprType(node);
	param->paramtypmod = exprTypmod(node);
	param->paramcollid = exprCollation(node);
	param->location = -1;
	foreach(lc, *publics)
		if (equal(lfirst(lc), total))
		{
			param->paramid = foreach_current_index(lc);
			return param;
		}
	*publics = lappend(*publics, total);
	return param;
}

static Node *cut_mutator(Node *node, void *context);

/* The same for x IN (values), each of which is cut. */
static Node *
cut_list(const ScalarArrayOpExpr *asked, void *context)
{
	ScalarArrayOpExpr *cut = copyObject((ScalarArrayOpExpr *) asked);
	ArrayExpr  *array = lsecond(cut->args);

	linitial(cut->args) = cut_mutator(linitial(cut->args), context);
	if (IsA(array, ArrayExpr))
		array->elements = (List *) cut_mutator((Node *) array->elements,
											   context);
	return (Node *) cut;
}

static Node *
cut_mutator(Node *node, void *context)
{
	List	  **publics = context;

	if (node == NULL)
		return NULL;
	check_stack_depth();
	if (IsA(node, List) || IsA(node, CaseWhen) || IsA(node, TargetEntry))
		return expression_tree_mutator(node, cut_mutator, context);
	if (IsA(node, SortGroupClause))
		return copyObject(node);
	if (!IsA(node, Const) && is_known_type(exprType(node)) &&
		dp_expressions_is_public_scalar(node) &&
		!dp_base_contains(node, is_hole, NULL, DP_WALK_ONE_LEVEL))
		return (Node *) public_param(node, publics);
	switch (nodeTag(node))
	{
		case T_FuncExpr:
		case T_OpExpr:
		case T_NullIfExpr:
		case T_CoalesceExpr:
		case T_MinMaxExpr:
		case T_RelabelType:
		case T_CaseExpr:
		case T_BoolExpr:
		case T_Aggref:
			return expression_tree_mutator(node, cut_mutator, context);
		case T_ScalarArrayOpExpr:
			return cut_list((ScalarArrayOpExpr *) node, context);
		default:
			return copyObject(node);
	}
}

/*
 * dp_domains_cut_public
 *	  Copy of an expression in which parts that use no columns are replaced by
 *	  numbered parameters of kind PARAM_EXEC, and added to *publics; the same
 *	  part has the same number, so that equal expressions stay equal.
 *	  Precondition: dp_expressions_check allows it.
 */
Node *
dp_domains_cut_public(Node *expression, List **publics)
{
	return cut_mutator(expression, publics);
}

/*
 * dp_domains_public_value
 *	  The constant that an expression from dp_domains_cut_public is, or NULL.
 */
const Const *
dp_domains_public_value(Node *node, const dp_known *known)
{
	const Param *param = (const Param *) node;

	if (IsA(node, Const))
		return (const Const *) node;
	if (IsA(node, Param) && param->paramkind == PARAM_EXEC)
		return list_nth_node(Const, known->publics, param->paramid);
	return NULL;
}
