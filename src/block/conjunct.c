/*
 * conjunct.c
 *	  Conditions as lists of conjuncts.
 */
#include "postgres.h"

#include "access/transam.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "read_rows.h"

/*
 * dp_block_add_conjuncts: append the conjuncts of a condition to a list of
 * Node *.
 */
List *
dp_block_add_conjuncts(List *conjuncts, Node *condition)
{
	ListCell   *lc;

	if (condition == NULL)
		return conjuncts;
	if (!is_andclause(condition))
		return lappend(conjuncts, condition);
	foreach(lc, ((BoolExpr *) condition)->args)
		conjuncts = dp_block_add_conjuncts(conjuncts, lfirst(lc));
	return conjuncts;
}

/* dp_block_and: the conjunction of all; NULL if there are none. */
Node *
dp_block_and(List *conjuncts)
{
	return conjuncts == NIL ? NULL :
		(Node *) make_ands_explicit(conjuncts);
}

/* dp_block_is_equality: is it a built-in equality of two operands? */
bool
dp_block_is_equality(const OpExpr *comparison)
{
	Oid			left;

	if (list_length(comparison->args) != 2)
		return false;
	left = exprType(linitial(comparison->args));
	return comparison->opno < FirstGenbkiObjectId &&
		op_mergejoinable(comparison->opno, left) &&
		op_hashjoinable(comparison->opno, left) &&
		(!OidIsValid(comparison->inputcollid) ||
		 get_collation_isdeterministic(comparison->inputcollid));
}

/*
 * dp_block_widened
 *	  The integer expression under a cast to a longer integer type, which USING
 *	  adds if types differ; or the expression itself.
 */
Node *
dp_block_widened(Node *node)
{
	const FuncExpr *call = (const FuncExpr *) node;

	return IsA(node, FuncExpr) &&
		(call->funcid == F_INT8_INT4 || call->funcid == F_INT8_INT2 ||
		 call->funcid == F_INT4_INT2) ? linitial(call->args) : node;
}
