/*
 * expression_public.c
 *	  Expressions that do not depend on rows.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"

#include "dp_rules.h"

/* True at the first node that depends on rows. */
static bool
private_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Param:
			return ((Param *) node)->paramkind != PARAM_EXTERN;
		case T_Var:
		case T_Aggref:
		case T_GroupingFunc:
		case T_WindowFunc:
		case T_SubLink:
		case T_SubPlan:
		case T_Query:
		case T_CurrentOfExpr:
		case T_NextValueExpr:
		case T_PlaceHolderVar:
			return true;
		default:
			return expression_tree_walker(node, private_walker, context);
	}
}

/* See dp_rules.h. */
bool
dp_rules_is_public_scalar(Node *expression)
{
	return !private_walker(expression, NULL) &&
		!contain_volatile_functions(expression) &&
		!expression_returns_set(expression);
}
