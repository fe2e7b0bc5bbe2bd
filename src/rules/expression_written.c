/*
 * expression_written.c
 *	  Numbers that are looked at before anybody has judged them, and so must
 *	  not be computed: a function that the asker wrote would run, maybe with
 *	  another role's rights, and could give another number next time.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/primnodes.h"
#include "utils/fmgroids.h"

#include "dp_rules.h"

/*
 * dp_rules_written_number
 *	  Is an expression that the parser makes a bigint a number as it stands, or
 *	  NULL?  Nothing of it is computed: it may not have been judged.
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
