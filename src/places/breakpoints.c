/*
 * breakpoints.c
 *	  Values of a column that represent all its values, for expressions that
 *	  only compare it with constants.
 *
 * Such an expression is the same for all values between two neighbouring
 * constants.  So the constants, a value between each two, one below, one above
 * and NULL yield all its results, whatever is declared.  In this way the
 * results of a CASE over income that WHERE excludes are omitted.
 */
#include "postgres.h"

#include <math.h>

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/typcache.h"

#include "domain.h"

typedef struct breaking
{
	Oid			type;			/* of the column */
	Oid			family;			/* of its order */
	FmgrInfo   *compare;
	Datum	   *constants;
	int			n;
	int			room;
} breaking;

static void
add(breaking *b, Datum value)
{
	if (b->n == b->room)
	{
		b->room = Max(2 * b->room, 16);
		b->constants = b->constants == NULL ?
			palloc(sizeof(Datum) * b->room) :
			repalloc(b->constants, sizeof(Datum) * b->room);
	}
	b->constants[b->n++] = value;
}

static bool
is_column(const Node *node)
{
	while (node != NULL && IsA(node, RelabelType))
		node = (const Node *) ((const RelabelType *) node)->arg;
	return node != NULL && IsA(node, Var) &&
		((const Var *) node)->varattno == DP_KEY_COLUMN;
}

static bool
is_ordering(const breaking *b, Oid operator)
{
	Oid			negator = get_negator(operator);

	return op_in_opfamily(operator, b->family) ||
		(OidIsValid(negator) && op_in_opfamily(negator, b->family));
}

/* Whether the value has neighbours on both sides. */
static bool
is_finite(Oid type, Datum value)
{
	if (type == FLOAT8OID)
		return isfinite(DatumGetFloat8(value));
	return type != NUMERICOID ||
		(!numeric_is_nan(DatumGetNumeric(value)) &&
		 !numeric_is_inf(DatumGetNumeric(value)));
}

static bool
add_constant(breaking *b, const Node *node)
{
	const Const *value = (const Const *) node;

	if (!IsA(node, Const) || getBaseType(value->consttype) != b->type ||
		(!value->constisnull && !is_finite(b->type, value->constvalue)))
		return false;
	if (!value->constisnull)
		add(b, value->constvalue);
	return true;
}

static bool
add_array(breaking *b, const Node *node)
{
	const Const *array = (const Const *) node;
	Datum	   *values;
	bool	   *nulls;
	int16		length;
	bool		by_value;
	char		align;
	int			count;
	int			i;

	if (!IsA(node, Const) ||
		get_element_type(array->consttype) != b->type)
		return false;
	if (array->constisnull)
		return true;
	get_typlenbyvalalign(b->type, &length, &by_value, &align);
	deconstruct_array(DatumGetArrayTypeP(array->constvalue), b->type, length,
					  by_value, align, &values, &nulls, &count);
	for (i = 0; i < count; i++)
		if (!nulls[i] && !is_finite(b->type, values[i]))
			return false;
	for (i = 0; i < count; i++)
		if (!nulls[i])
			add(b, values[i]);
	return true;
}

/*
 * If it is a comparison of the column with constants, adds them and returns
 * true.
 */
static bool
is_comparison(breaking *b, const Node *node)
{
	const OpExpr *pair = (const OpExpr *) node;
	const ScalarArrayOpExpr *list = (const ScalarArrayOpExpr *) node;

	switch (nodeTag(node))
	{
		case T_OpExpr:
		case T_DistinctExpr:
			if (list_length(pair->args) != 2 || !is_ordering(b, pair->opno))
				return false;
			return is_column(linitial(pair->args)) ?
				add_constant(b, lsecond(pair->args)) :
				is_column(lsecond(pair->args)) &&
				add_constant(b, linitial(pair->args));
		case T_ScalarArrayOpExpr:
			return is_ordering(b, list->opno) &&
				is_column(linitial(list->args)) &&
				add_array(b, lsecond(list->args));
		case T_NullTest:
			return is_column((const Node *) ((const NullTest *) node)->arg);
		default:
			return false;
	}
}

/* True if the column is used in any other way. */
static bool
breaking_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (is_comparison(context, node))
		return false;
	if (IsA(node, Var))
		return ((Var *) node)->varattno == DP_KEY_COLUMN;
	return expression_tree_walker(node, breaking_walker, context);
}

/* ---- values between ---- */

static int
compare_constants(const void *a, const void *b, void *arg)
{
	return DatumGetInt32(FunctionCall2Coll(((breaking *) arg)->compare,
										   InvalidOid, *(const Datum *) a,
										   *(const Datum *) b));
}

static bool
is_whole(Oid type)
{
	return dp_places_is_integer(type) || dp_places_is_time(type);
}

/* The next value in one direction; false at the end of the type's range. */
static bool
next_to(Oid type, Datum value, int step, Datum *out)
{
	int64		number;
	Numeric		one = int64_to_numeric(step);

	if (type == NUMERICOID)
	{
		*out = DirectFunctionCall2(numeric_add, value, NumericGetDatum(one));
		return true;
	}
	if (type == FLOAT8OID)
	{
		*out = Float8GetDatum(nextafter(DatumGetFloat8(value),
										step * INFINITY));
		return true;
	}
	if (pg_add_s64_overflow(dp_places_ordered(type, value), step, &number))
		return false;
	*out = dp_places_ordered_datum(type, number);
	return dp_places_ordered(type, *out) == number;
}

static Datum
numeric_of(const char *text)
{
	return NumericGetDatum(dp_bridge_text_to_numeric(text));
}

static Datum
halfway(Datum a, Datum b)
{
	return DirectFunctionCall2(numeric_mul,
							   DirectFunctionCall2(numeric_add, a, b),
							   numeric_of("0.5"));
}

/* Add a value on each side of every constant. */
static void
add_neighbours(breaking *b)
{
	int			n = b->n;
	int			i;

	qsort_arg(b->constants, n, sizeof(Datum), compare_constants, b);
	for (i = 0; i < n; i++)
	{
		Datum		next;

		if (next_to(b->type, b->constants[i], -1, &next))
			add(b, next);
		if (next_to(b->type, b->constants[i], 1, &next))
			add(b, next);
		if (b->type == NUMERICOID && i > 0)
			add(b, halfway(b->constants[i - 1], b->constants[i]));
	}
	if (b->type == FLOAT8OID)
		add(b, Float8GetDatum(NAN));
	if (b->type == NUMERICOID)
		add(b, numeric_of("NaN"));
	if (n > 0)
		return;
	/* compared with nothing but NULL */
	add(b, b->type == NUMERICOID ? NumericGetDatum(int64_to_numeric(0)) :
		b->type == FLOAT8OID ? Float8GetDatum(0) :
		dp_places_ordered_datum(b->type, 0));
}

/*
 * dp_places_breakpoints
 *	  *n values that represent all of a column of the type. *conditions are
 *	  those of the key that they decide.  NULL if the key does more than
 *	  compare the column with constants.
 */
Datum *
dp_places_breakpoints(const dp_key *key, Oid column_type, List **conditions,
					  int *n)
{
	breaking	b = {column_type};
	TypeCacheEntry *cache = lookup_type_cache(column_type,
											  TYPECACHE_BTREE_OPFAMILY |
											  TYPECACHE_CMP_PROC_FINFO);
	ListCell   *lc;

	*conditions = NIL;
	if (!is_whole(column_type) && column_type != NUMERICOID &&
		column_type != FLOAT8OID)
		return NULL;
	b.family = cache->btree_opf;
	b.compare = &cache->cmp_proc_finfo;
	if (breaking_walker(key->image, &b))
		return NULL;
	foreach(lc, key->conditions)
		if (!breaking_walker(lfirst(lc), &b))
			*conditions = lappend(*conditions, lfirst(lc));
	add_neighbours(&b);
	*n = b.n;
	return b.constants;
}
