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

#include "../rules/dp_rules.h"
#include "dp_places.h"

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

static Node *
cut_mutator(Node *node, void *context)
{
	List	  **publics = context;

	if (node == NULL)
		return NULL;
	check_stack_depth();
	if (IsA(node, List))
		return expression_tree_mutator(node, cut_mutator, context);
	if (IsA(node, CaseWhen))
	{
		CaseWhen   *when = makeNode(CaseWhen);

		when->result = (Expr *)
			cut_mutator((Node *) ((CaseWhen *) node)->result, context);
		return (Node *) when;
	}
	if (!IsA(node, Const) && is_known_type(exprType(node)) &&
		dp_rules_is_public_scalar(node) &&
		!dp_bridge_contains(node, is_hole, NULL, DP_WALK_ONE_LEVEL))
	{
		Param	   *param = makeNode(Param);

		param->paramkind = PARAM_EXEC;
		param->paramid = list_length(*publics);
		param->paramtype = exprType(node);
		param->paramtypmod = exprTypmod(node);
		param->paramcollid = exprCollation(node);
		param->location = -1;
		*publics = lappend(*publics, dp_rules_make_total(copyObject(node)));
		return (Node *) param;
	}
	switch (nodeTag(node))
	{
		case T_FuncExpr:
		case T_OpExpr:
		case T_NullIfExpr:
		case T_CoalesceExpr:
		case T_MinMaxExpr:
		case T_RelabelType:
			return expression_tree_mutator(node, cut_mutator, context);
		case T_CaseExpr:
			{
				CaseExpr   *from = (CaseExpr *) node;
				CaseExpr   *to = makeNode(CaseExpr);

				to->casetype = from->casetype;
				to->casecollid = from->casecollid;
				to->args = (List *) cut_mutator((Node *) from->args, context);
				to->defresult = (Expr *)
					cut_mutator((Node *) from->defresult, context);
				return (Node *) to;
			}
		default:
			return copyObject(node);
	}
}

/*
 * dp_places_cut_public
 *	  Copy of an expression with only what determines its range: without
 *	  conditions, and with parts that use no columns replaced by numbered
 *	  parameters of kind PARAM_EXEC and added to *publics.  Precondition:
 *	  dp_rules_check allows it.
 */
Node *
dp_places_cut_public(Node *expression, List **publics)
{
	return cut_mutator(expression, publics);
}
