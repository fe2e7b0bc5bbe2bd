/*
 * expression_public.c
 *	  Expressions that do not depend on rows.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "nodes/primnodes.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"
#include "utils/pg_locale.h"

#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "dp_expressions.h"
#include "expressions_internal.h"

/* True at the first node that depends on rows. */
static bool
depends_on_rows(Node *node, const dp_walk *walk)
{
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
			return false;
	}
}

/* See dp_expressions.h. */
bool
dp_expressions_is_public_scalar(Node *expression)
{
	return !dp_base_contains(expression, depends_on_rows, NULL,
							 DP_WALK_ONE_LEVEL) &&
		!contain_volatile_functions(expression) &&
		!expression_returns_set(expression);
}

/* ----------------
 *		Numbers that are used before their expressions have been checked, and
 *		so must not be evaluated: a user's function could run with another
 *		role's rights, or return another number next time.
 * ----------------
 */

/*
 * dp_expressions_written_number
 *	  Whether an expression that the parser has made a bigint is a literal
 *	  number or NULL.  Nothing is evaluated.
 */
bool
dp_expressions_written_number(const Node *node, bool *isnull, int64 *value)
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

/* ----------------
 *		Limit texts that are compared linguistically or divided into words.
 *
 * ICU keeps the collation elements of two texts until they differ: up to 18
 * elements of 8 bytes for a letter of 3 bytes (U+FDFA), as long as primary
 * weights are equal, in arrays that double. initcap() divides text without
 * spaces by a dictionary, with 60 bytes for each byte.  For a text of 1 MB
 * that would be 200 MB.  The C library needs no memory, but quadratic time, in
 * a call that cannot be interrupted.
 *
 * So under a collation other than C, values longer than
 * DP_TOTAL_COLLATED_LIMIT count as NULL there: dp_pg.sortable_value is put
 * around them, wherever they come from.  Equality compares bytes and needs no
 * limit.
 *
 * Custom rules may make more elements of a letter; collations with rules are
 * refused (expression_constant.c).
 * ----------------
 */

/* dp_expressions_sortable_value: OID of dp_pg.sortable_value(anyelement). */
Oid
dp_expressions_sortable_value(void)
{
	Oid			type = ANYELEMENTOID;

	return dp_catalog_function("sortable_value", 1, &type);
}

/*
 * dp_expressions_linguistic: whether the collation, if any, is other than C.
 */
bool
dp_expressions_linguistic(Oid collation)
{
	return OidIsValid(collation) && !(dp_compat_collate_is_c(collation) &&
									  dp_compat_ctype_is_c(collation));
}

static bool
uses_words(Oid function)
{
	const dp_expression_rule *rule = dp_expressions_find_by_total(function);

	switch (rule == NULL ? function : rule->function)
	{
		case F_INITCAP:
		case F_TEXT_LT:
		case F_TEXT_LE:
		case F_TEXT_GT:
		case F_TEXT_GE:
		case F_TEXT_LARGER:
		case F_TEXT_SMALLER:
		case F_BTTEXTCMP:
		case F_BPCHARLT:
		case F_BPCHARLE:
		case F_BPCHARGT:
		case F_BPCHARGE:
		case F_BPCHAR_LARGER:
		case F_BPCHAR_SMALLER:
		case F_BPCHARCMP:
		case F_NAMELTTEXT:
		case F_NAMELETEXT:
		case F_NAMEGTTEXT:
		case F_NAMEGETEXT:
		case F_BTNAMETEXTCMP:
		case F_TEXTLTNAME:
		case F_TEXTLENAME:
		case F_TEXTGTNAME:
		case F_TEXTGENAME:
		case F_BTTEXTNAMECMP:
			return true;
		default:
			return false;
	}
}

/*
 * dp_expressions_collates: whether the result of such a call depends on a
 * language.
 */
bool
dp_expressions_collates(Oid function, Oid collation)
{
	return uses_words(function) && dp_expressions_linguistic(collation);
}
