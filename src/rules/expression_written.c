/*
 * expression_written.c
 *	  Numbers that are used before their expressions have been checked, and so
 *	  must not be evaluated: a user's function could run with another role's
 *	  rights, or return another number next time.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/primnodes.h"
#include "utils/fmgroids.h"

#include "dp_rules.h"

/*
 * dp_rules_written_number
 *	  Whether an expression that the parser has made a bigint is a literal
 *	  number or NULL.  Nothing is evaluated.
 */
bool
dp_rules_written_number(const Node *node, bool *isnull, int64 *value)
{
	const FuncExpr *longer = (const FuncExpr *) node;
	const Const *constant;

	if (IsA(node, FuncExpr) &&
		(longer->funcid == F_INT8_INT2 || longer->funcid == F_INT8_INT4))
		node = linitial(longer->args);
	constant = (const Const *) node;
	if (!IsA(node, Const))
		return false;
	*isnull = constant->constisnull;
	*value = 0;
	if (*isnull)
		return true;
	switch (constant->consttype)
	{
		case INT2OID:
			*value = DatumGetInt16(constant->constvalue);
			return true;
		case INT4OID:
			*value = DatumGetInt32(constant->constvalue);
			return true;
		case INT8OID:
			*value = DatumGetInt64(constant->constvalue);
			return true;
		default:
			return false;
	}
}
