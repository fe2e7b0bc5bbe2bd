/*
 * condition_atom.c
 *	  Recognizes one comparison of a column with constants.
 *
 * It must be the default equality of the compared type, of a built-in type
 * whose values count_tables can look up, under a deterministic collation.
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "condition_atom.h"

/* The column of the query's own level that a node is, or NULL. */
static Var *
plain_var(Node *node)
{
	Var		   *var;

	while (node != NULL && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	if (node == NULL || !IsA(node, Var))
		return NULL;
	var = (Var *) node;
	return var->varlevelsup == 0 && var->varattno > 0 ? var : NULL;
}

/* Is `operator` the equality of two integer types? */
static bool
is_integer_equality(Oid operator)
{
	return get_op_opfamily_strategy(operator, INTEGER_BTREE_FAM_OID) ==
		BTEqualStrategyNumber;
}

/* Is it the operator that `=` resolves to for these types? */
static bool
is_equality(Oid operator, Oid left, Oid right)
{
	if (left == right)
		return lookup_type_cache(left, TYPECACHE_EQ_OPR)->eq_opr == operator;
	return dp_places_is_integer(left) &&
		dp_places_is_integer(right) && is_integer_equality(operator);
}

static bool
match_operator(dp_atom *a, Oid operator, Oid left, Oid right, Oid collation)
{
	if (!dp_places_tally_can_read(left) ||
		(OidIsValid(collation) && !get_collation_isdeterministic(collation)))
		return false;
	a->type = left;
	a->negated = false;
	if (is_equality(operator, left, right))
		return true;
	a->negated = true;
	operator = get_negator(operator);
	return OidIsValid(operator) && is_equality(operator, left, right);
}

/*
 * Convert a constant to the column's type; false if it equals no such value.
 */
static bool
convert_integer(Datum *value, Oid from, Oid to)
{
	int64		x = from == INT2OID ? DatumGetInt16(*value) :
	from == INT4OID ? DatumGetInt32(*value) : DatumGetInt64(*value);

	switch (to)
	{
		case INT2OID:
			*value = Int16GetDatum((int16) x);
			return x >= PG_INT16_MIN && x <= PG_INT16_MAX;
		case INT4OID:
			*value = Int32GetDatum((int32) x);
			return x >= PG_INT32_MIN && x <= PG_INT32_MAX;
		default:
			*value = Int64GetDatum(x);
			return true;
	}
}

static void
take_values(dp_atom *a, const Datum *values, const bool *nulls, int n,
			Oid type)
{
	int			i;

	a->values = palloc(sizeof(Datum) * Max(n, 1));
	for (i = 0; i < n; i++)
	{
		Datum		value = values[i];

		if (nulls[i])
			a->has_null = true;
		else if (type == a->type || convert_integer(&value, type, a->type))
			a->values[a->nvalues++] = value;
	}
}

/* column = constant, column <> constant, column IS DISTINCT FROM constant */
static bool
read_comparison(OpExpr *comparison, dp_atom *a)
{
	Node	   *left;
	Node	   *right;
	Const	   *constant;
	bool		isnull = false;

	if (list_length(comparison->args) != 2)
		return false;
	left = linitial(comparison->args);
	right = lsecond(comparison->args);
	if (IsA(left, Const))
	{
		left = right;
		right = linitial(comparison->args);
	}
	a->var = plain_var(left);
	if (a->var == NULL || !IsA(right, Const))
		return false;
	constant = (Const *) right;
	if (constant->constisnull ||
		!match_operator(a, comparison->opno, exprType(left),
						constant->consttype, comparison->inputcollid))
		return false;
	take_values(a, &constant->constvalue, &isnull, 1, constant->consttype);
	if (!IsA(comparison, DistinctExpr))
		return true;
	a->kind = DP_ATOM_SAME;
	a->negated = !a->negated;
	return true;
}

/* column = ANY (array), column <> ALL (array) */
static bool
read_list(ScalarArrayOpExpr *comparison, dp_atom *a)
{
	Node	   *left = linitial(comparison->args);
	Node	   *right = lsecond(comparison->args);
	ArrayType  *array;
	Datum	   *values;
	bool	   *nulls;
	int16		length;
	bool		by_value;
	char		align;
	int			n;

	a->var = plain_var(left);
	if (a->var == NULL || !IsA(right, Const) ||
		((Const *) right)->constisnull ||
		!OidIsValid(get_element_type(((Const *) right)->consttype)))
		return false;
	array = DatumGetArrayTypeP(((Const *) right)->constvalue);
	if (!match_operator(a, comparison->opno, exprType(left),
						ARR_ELEMTYPE(array), comparison->inputcollid) ||
		a->negated == comparison->useOr)
		return false;
	get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &by_value, &align);
	deconstruct_array(array, ARR_ELEMTYPE(array), length, by_value, align,
					  &values, &nulls, &n);
	/* with an empty list the comparison is not NULL even for NULL */
	if (n == 0)
		return false;
	take_values(a, values, nulls, n, ARR_ELEMTYPE(array));
	return true;
}

static void
set_boolean(dp_atom *a, bool value)
{
	a->type = BOOLOID;
	a->nvalues = 1;
	a->values = palloc(sizeof(Datum));
	a->values[0] = BoolGetDatum(value);
}

static bool
read_boolean_test(BooleanTest *test, dp_atom *a)
{
	a->var = plain_var((Node *) test->arg);
	if (a->var == NULL)
		return false;
	a->kind = DP_ATOM_SAME;
	switch (test->booltesttype)
	{
		case IS_TRUE:
		case IS_NOT_TRUE:
			set_boolean(a, true);
			a->negated = test->booltesttype == IS_NOT_TRUE;
			return true;
		case IS_FALSE:
		case IS_NOT_FALSE:
			set_boolean(a, false);
			a->negated = test->booltesttype == IS_NOT_FALSE;
			return true;
		case IS_UNKNOWN:
		case IS_NOT_UNKNOWN:
			a->kind = DP_ATOM_NULL;
			a->negated = test->booltesttype == IS_NOT_UNKNOWN;
			return true;
	}
	return false;
}

/*
 * dp_count_read_atom
 *	  Read the comparison of a node; false, with *a undefined, if it is not
 *	  recognised.
 */
bool
dp_count_read_atom(Node *node, dp_atom *a)
{
	memset(a, 0, sizeof(dp_atom));
	switch (nodeTag(node))
	{
		case T_OpExpr:
		case T_DistinctExpr:
			return read_comparison((OpExpr *) node, a);
		case T_ScalarArrayOpExpr:
			return read_list((ScalarArrayOpExpr *) node, a);
		case T_BooleanTest:
			return read_boolean_test((BooleanTest *) node, a);
		case T_NullTest:
			a->kind = DP_ATOM_NULL;
			a->negated = ((NullTest *) node)->nulltesttype == IS_NOT_NULL;
			a->var = plain_var((Node *) ((NullTest *) node)->arg);
			return a->var != NULL && !((NullTest *) node)->argisrow;
		default:
			a->var = plain_var(node);
			if (a->var == NULL || exprType(node) != BOOLOID)
				return false;
			set_boolean(a, true);
			return true;
	}
}
