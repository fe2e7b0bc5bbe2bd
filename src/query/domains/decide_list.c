/*
 * decide_list.c
 *	  Public values named by the query: key = constant, key IN (...), key = ANY
 *	  (array), and these joined by OR.
 *
 * Rows with other values do not pass WHERE, so these are all possible groups,
 * whatever is declared.  Declared values come first, in their order; others
 * follow in the order of their type.
 */
#include "postgres.h"

#include <math.h>

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../protect/dp_protect.h"
#include "dp_domains.h"
#include "domains_internal.h"

typedef struct naming
{
	const dp_key *key;
	AttrNumber	input;			/* DP_KEY_COLUMN or _VALUE, as named */
	bool		collecting;		/* parameters have become constants */
	List	   *found;			/* of Const * */
} naming;

typedef struct named_order
{
	FmgrInfo   *compare;
	Oid			collation;
} named_order;

/* ---- finding ---- */

static const Var *
list_input_of(const naming *n, const Node *node)
{
	node = dp_base_unlabelled(node);
	return node != NULL && IsA(node, Var) &&
		((const Var *) node)->varattno == n->input ? (const Var *) node : NULL;
}

/* Whether a value of type `from` equals at most one value of type `to`. */
static bool
can_convert(Oid from, Oid to)
{
	from = getBaseType(from);
	to = getBaseType(to);
	return from == to ||
		(dp_domains_is_integer(from) && dp_domains_is_integer(to)) ||
		(from == TEXTOID && to == VARCHAROID) ||
		(from == FLOAT8OID && to == FLOAT4OID);
}

static bool
list_is_equality(const naming *n, Oid operator, const Var *input)
{
	Oid			type = getBaseType(input->vartype);
	TypeCacheEntry *cache;

	cache = lookup_type_cache(type == VARCHAROID ? TEXTOID : type,
							  TYPECACHE_BTREE_OPFAMILY);
	return get_op_opfamily_strategy(operator, cache->btree_opf) ==
		BTEqualStrategyNumber;
}

static bool
list_add_constant(naming *n, Node *value)
{
	if (!n->collecting)
		return !contain_var_clause(value);
	if (!IsA(value, Const))
		return false;
	n->found = lappend(n->found, value);
	return true;
}

static bool
named_by_operator(naming *n, const OpExpr *comparison)
{
	Node	   *left = linitial(comparison->args);
	Node	   *right = llast(comparison->args);
	const Var  *input = list_input_of(n, left);

	if (list_length(comparison->args) != 2)
		return false;
	if (input == NULL)
	{
		Node	   *other = left;

		input = list_input_of(n, right);
		right = other;
	}
	return input != NULL && list_is_equality(n, comparison->opno, input) &&
		can_convert(exprType(right), input->vartype) &&
		list_add_constant(n, right);
}

static void
add_elements(naming *n, const Const *array, Oid element)
{
	int16		length;
	bool		by_value;
	char		align;
	Datum	   *values;
	bool	   *nulls;
	int			count;
	int			i;

	if (array->constisnull)
		return;
	get_typlenbyvalalign(element, &length, &by_value, &align);
	deconstruct_array(DatumGetArrayTypeP(array->constvalue), element, length,
					  by_value, align, &values, &nulls, &count);
	for (i = 0; i < count; i++)
		if (!nulls[i])
			n->found = lappend(n->found, makeConst(element, -1, InvalidOid,
												   length, values[i], false,
												   by_value));
}

static bool
named_by_array(naming *n, const ScalarArrayOpExpr *any)
{
	const Var  *input = list_input_of(n, linitial(any->args));
	Node	   *array = lsecond(any->args);
	Oid			element = get_element_type(exprType(array));

	if (!any->useOr || input == NULL || !OidIsValid(element) ||
		!list_is_equality(n, any->opno, input) ||
		!can_convert(element, input->vartype))
		return false;
	if (!n->collecting)
		return !contain_var_clause(array);
	if (!IsA(array, Const))
		return false;
	add_elements(n, (const Const *) array, element);
	return true;
}

/* Whether the condition leaves only named values, or NULL. */
static bool
list_is_named(naming *n, Node *condition)
{
	ListCell   *lc;

	switch (nodeTag(condition))
	{
		case T_OpExpr:
			return named_by_operator(n, (OpExpr *) condition);
		case T_ScalarArrayOpExpr:
			return named_by_array(n, (ScalarArrayOpExpr *) condition);
		case T_NullTest:
			return ((NullTest *) condition)->nulltesttype == IS_NULL &&
				list_input_of(n,
							  (Node *) ((NullTest *) condition)->arg) != NULL;
		case T_BoolExpr:
			break;
		default:
			/* folded to false: a comparison with NULL or an empty array */
			return n->collecting && IsA(condition, Const) &&
				(((Const *) condition)->constisnull ||
				 !DatumGetBool(((Const *) condition)->constvalue));
	}
	foreach(lc, ((BoolExpr *) condition)->args)
	{
		bool		named = list_is_named(n, lfirst(lc));

		switch (((BoolExpr *) condition)->boolop)
		{
			case OR_EXPR:
				if (!named)
					return false;
				break;
			case AND_EXPR:
				if (named)
					return true;
				break;
			case NOT_EXPR:
				return false;
		}
	}
	return ((BoolExpr *) condition)->boolop == OR_EXPR;
}

static naming
begin_naming(const dp_key *key, bool collecting)
{
	naming		n = {key, dp_domains_named_input(key), collecting, NIL};

	return n;
}

/* dp_domains_key_can_be_named: see dp_domains.h. */
bool
dp_domains_key_can_be_named(const dp_key *key)
{
	Oid			type = getBaseType(key->type);
	TypeCacheEntry *cache = lookup_type_cache(type, TYPECACHE_CMP_PROC_FINFO);

	return dp_domains_tally_can_read(type) &&
		OidIsValid(cache->cmp_proc_finfo.fn_oid) &&
		(!OidIsValid(key->collation) ||
		 get_collation_isdeterministic(key->collation));
}

/* dp_domains_key_is_named: see dp_domains.h. */
bool
dp_domains_key_is_named(const dp_key *key)
{
	naming		n = begin_naming(key, false);
	ListCell   *lc;

	if (!dp_domains_key_can_be_named(key))
		return false;
	foreach(lc, key->conditions)
		if (list_is_named(&n, lfirst(lc)) && !IsA(lfirst(lc), NullTest))
			return true;
	return false;
}

/* ---- values of the key's type ---- */

static bool
convert_float(Datum value, Datum *out)
{
	double		wide = DatumGetFloat8(value);
	float		narrow = (float) wide;

	*out = Float4GetDatum(narrow);
	return isnan(wide) || (double) narrow == wide;
}

static bool
list_convert_integer(const Const *value, Oid to, Datum *out)
{
	int64		number = dp_domains_integer(getBaseType(value->consttype),
											value->constvalue);

	*out = dp_domains_integer_datum(to, number);
	return dp_domains_integer(to, *out) == number;
}

/* Pad to char(n), unless the value is longer. */
static Datum
pad(Datum value, int32 typmod)
{
	if (typmod <= (int32) VARHDRSZ ||
		DatumGetInt32(DirectFunctionCall1(bpcharlen, value)) >
		typmod - (int32) VARHDRSZ)
		return value;
	return DirectFunctionCall3(bpchar, value, Int32GetDatum(typmod),
							   BoolGetDatum(true));
}

/* The value of the key that equals a constant; false if there is none. */
static bool
convert(const dp_key *key, const Const *value, Datum *out)
{
	Oid			from = getBaseType(value->consttype);
	Oid			to = getBaseType(key->type);

	if (value->constisnull)
		return false;
	*out = value->constvalue;
	if (value->constlen == -1)
		*out = PointerGetDatum(PG_DETOAST_DATUM_COPY(*out));
	if (from == FLOAT8OID && to == FLOAT4OID)
		return convert_float(*out, out);
	if (dp_domains_is_integer(from))
		return list_convert_integer(value, to, out);
	if (to == BPCHAROID)
		*out = pad(*out, key->typmod);
	return true;
}

/* ---- their order ---- */

static int
compare_named(const void *a, const void *b, void *arg)
{
	const named_order *order = arg;

	return DatumGetInt32(FunctionCall2Coll(order->compare, order->collation,
										   *(const Datum *) a,
										   *(const Datum *) b));
}

static int
remove_twice(Datum *values, int n, named_order *order)
{
	int			kept = 0;
	int			i;

	qsort_arg(values, n, sizeof(Datum), compare_named, order);
	for (i = 0; i < n; i++)
		if (kept == 0 ||
			compare_named(&values[kept - 1], &values[i], order) != 0)
			values[kept++] = values[i];
	return kept;
}

/* Append those that are declared, and mark them as used. */
static void
list_append_declared(dp_domain *domain, const dp_key *key, const Datum *values,
					 bool *used, int n, named_order *order)
{
	dp_attribute *declared = key->image != NULL || key->attnum == 0 ? NULL :
		dp_protect_attribute(key->relid, key->attnum);
	ListCell   *lc;

	if (declared == NULL)
		return;
	foreach(lc, declared->keys)
	{
		Datum		value = dp_domains_read_declared(lfirst(lc),
													 domain->places.type,
													 key->typmod);
		Datum	   *at = bsearch_arg(&value, values, n, sizeof(Datum),
									 compare_named, order);

		if (at == NULL)
			continue;
		used[at - values] = true;
		dp_domains_append(domain, value);
	}
}

/*
 * dp_domains_decide_list
 *	  The values that the key's conditions name; none if their parameters are
 *	  unknown.
 */
dp_domain *
dp_domains_decide_list(const dp_key *key)
{
	naming		n = begin_naming(key, true);
	dp_domain  *domain = dp_domains_empty(getBaseType(key->type));
	TypeCacheEntry *cache;
	named_order order;
	Datum	   *values;
	bool	   *used;
	ListCell   *lc;
	int			count = 0;
	int			i;

	foreach(lc, key->conditions)
	{
		n.found = NIL;
		if (list_is_named(&n, lfirst(lc)) && !IsA(lfirst(lc), NullTest))
			break;
		n.found = NIL;
	}
	values = palloc(sizeof(Datum) * Max(list_length(n.found), 1));
	used = palloc0(Max(list_length(n.found), 1));
	foreach(lc, n.found)
		if (convert(key, lfirst(lc), &values[count]))
			count++;
	cache = lookup_type_cache(domain->places.type, TYPECACHE_CMP_PROC_FINFO);
	order.compare = &cache->cmp_proc_finfo;
	order.collation = key->collation;
	count = remove_twice(values, count, &order);
	list_append_declared(domain, key, values, used, count, &order);
	for (i = 0; i < count; i++)
		if (!used[i])
			dp_domains_append(domain, values[i]);
	dp_domains_end(domain, key->nullable);
	return domain;
}
