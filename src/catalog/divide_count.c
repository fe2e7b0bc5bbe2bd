/*
 * divide_count.c
 *	  Division by a released count.
 *
 * Noise may make a small count 0; then sum(x) / count(*) would be an error,
 * after the charge, for the whole query.  So if the divisor is a private count
 * of the same level, casts aside, a 0 becomes NULL, and so does the quotient,
 * just as an average is NULL if its own count is not positive.  This is
 * applied to released values only.  Any other divisor has its usual meaning.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "dp_catalog.h"

static bool
divides(Oid function)
{
	switch (function)
	{
		case F_INT2DIV:
		case F_INT24DIV:
		case F_INT28DIV:
		case F_INT4DIV:
		case F_INT42DIV:
		case F_INT48DIV:
		case F_INT8DIV:
		case F_INT82DIV:
		case F_INT84DIV:
		case F_FLOAT4DIV:
		case F_FLOAT48DIV:
		case F_FLOAT8DIV:
		case F_FLOAT84DIV:
		case F_NUMERIC_DIV:
		case F_NUMERIC_DIV_TRUNC:
		case F_DIV:
		case F_INTERVAL_DIV:
		case F_CASH_DIV_FLT4:
		case F_CASH_DIV_FLT8:
		case F_CASH_DIV_INT2:
		case F_CASH_DIV_INT4:
		case F_CASH_DIV_INT8:
		case F_INT2MOD:
		case F_INT4MOD:
		case F_INT8MOD:
		case F_NUMERIC_MOD:
		case F_MOD_INT2_INT2:
		case F_MOD_INT4_INT4:
		case F_MOD_INT8_INT8:
		case F_MOD_NUMERIC_NUMERIC:
			return true;
		default:
			return false;
	}
}

/* The arguments of a division; NIL for other nodes. */
static List *
division_arguments(Node *node)
{
	if (IsA(node, OpExpr) && divides(get_opcode(((OpExpr *) node)->opno)))
		return ((OpExpr *) node)->args;
	if (IsA(node, FuncExpr) && divides(((FuncExpr *) node)->funcid))
		return ((FuncExpr *) node)->args;
	return NIL;
}

/* The node below casts. */
static Node *
without_casts(Node *node)
{
	for (;;)
	{
		if (IsA(node, RelabelType))
			node = (Node *) ((RelabelType *) node)->arg;
		else if (IsA(node, FuncExpr) &&
				 (((FuncExpr *) node)->funcformat == COERCE_EXPLICIT_CAST ||
				  ((FuncExpr *) node)->funcformat == COERCE_IMPLICIT_CAST))
			node = linitial(((FuncExpr *) node)->args);
		else
			return node;
	}
}

/* Also below GREATEST(x, 0), in which transparent mode wraps counts. */
static Node *
innermost(Node *node)
{
	const MinMaxExpr *greatest = (const MinMaxExpr *) without_casts(node);

	if (!IsA(greatest, MinMaxExpr) || greatest->op != IS_GREATEST ||
		list_length(greatest->args) != 2 ||
		!IsA(without_casts(lsecond(greatest->args)), Const))
		return (Node *) greatest;
	return without_casts(linitial(greatest->args));
}

static bool
is_count(Node *node, int level)
{
	const Aggref *aggregate = (const Aggref *) innermost(node);

	return IsA(aggregate, Aggref) && (int) aggregate->agglevelsup == level &&
		dp_catalog_is_count(aggregate->aggfnoid);
}

/* NULLIF(divisor, 0) */
static Node *
null_if_zero(Node *divisor)
{
	NullIfExpr *tested = makeNode(NullIfExpr);
	Oid			type = exprType(divisor);
	int16		length;
	bool		by_value;
	Oid			input;
	Oid			parameter;
	Const	   *zero;

	getTypeInputInfo(type, &input, &parameter);
	get_typlenbyval(type, &length, &by_value);
	zero = makeConst(type, -1, InvalidOid, length,
					 OidInputFunctionCall(input, "0", parameter, -1), false,
					 by_value);
	tested->opno = lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr;
	set_opfuncid((OpExpr *) tested);
	tested->opresulttype = type;
	tested->args = list_make2(divisor, zero);
	tested->location = -1;
	return (Node *) tested;
}

/*
 * dp_catalog_guard_division
 *	  If a node, `level` levels below that of the aggregates, divides by a
 *	  count that is or becomes private, make `copy`, the same node over
 *	  released values, return NULL if the count is 0.
 */
void
dp_catalog_guard_division(Node *node, int level, Node *copy)
{
	List	   *arguments = division_arguments(node);

	if (list_length(arguments) == 2 && is_count(lsecond(arguments), level))
	{
		ListCell   *divisor = list_nth_cell(division_arguments(copy), 1);

		lfirst(divisor) = null_if_zero(lfirst(divisor));
	}
}
