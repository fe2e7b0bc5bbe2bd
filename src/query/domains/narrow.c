/*
 * narrow.c
 *	  The range that comparisons leave: of an ordered column in a key's
 *	  conditions, and of an expression in conditions that rows fulfil.
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "dp_domains.h"
#include "domains_internal.h"

/* ----------------
 *		The range of a key's column.
 *
 * "column op constant", for an operator of the type's default order, is
 * monotone in the column, so the value from which it holds is found by
 * evaluating it, by bisection over the integers that represent dates and
 * times.  So a comparison of a date with a timestamp with time zone means the
 * same as for a row.  A comparison of a timestamp with one is not monotone,
 * since local times that a clock change skips equal those an hour later.
 * Other conditions are ignored.
 * ----------------
 */

typedef struct narrowing
{
	const dp_key *key;
	Oid			type;			/* of the column, without domains */
	Oid			family;			/* of its default order */
	dp_value_range *interval;
} narrowing;

static bool
is_timestamp(Oid type)
{
	return type == TIMESTAMPOID || type == TIMESTAMPTZOID;
}

/* dp_domains_ordered: an integer, date or timestamp as an integer. */
int64
dp_domains_ordered(Oid type, Datum value)
{
	return is_timestamp(type) ? DatumGetTimestamp(value) :
		dp_domains_integer(type, value);
}

/* dp_domains_ordered_datum: the opposite. */
Datum
dp_domains_ordered_datum(Oid type, int64 value)
{
	return is_timestamp(type) ? TimestampGetDatum(value) :
		dp_domains_integer_datum(type, value);
}

static bool
holds_at(dp_conditions *asked, Oid type, int64 at)
{
	return dp_domains_conditions_hold(asked,
									  dp_domains_ordered_datum(type, at),
									  false, (Datum) 0, true);
}

/*
 * Number of values at the beginning of the interval for which the comparison
 * is not `wanted`; for all later ones it is.
 */
static uint64
bisect(const narrowing *n, const OpExpr *comparison, bool wanted)
{
	List	   *one = list_make1((void *) comparison);
	dp_conditions *asked = dp_domains_conditions_begin(n->key, one);
	uint64		low = 0;
	uint64		count = (uint64) n->interval->last -
	(uint64) n->interval->first + 1;

	while (count > 0)
	{
		uint64		half = count / 2;
		int64		at = (int64) ((uint64) n->interval->first + low + half);

		if (holds_at(asked, n->type, at) == wanted)
			count = half;
		else
		{
			low += half + 1;
			count -= half + 1;
		}
	}
	dp_domains_conditions_end(asked);
	return low;
}

static void
make_empty(dp_value_range *interval)
{
	interval->first = 1;
	interval->last = 0;
}

/* Narrow the interval by a comparison of the given strategy. */
static void
cut(const narrowing *n, const OpExpr *comparison, int strategy)
{
	dp_value_range *interval = n->interval;
	bool		from = strategy == BTGreaterStrategyNumber ||
		strategy == BTGreaterEqualStrategyNumber;
	uint64		all = (uint64) interval->last - (uint64) interval->first + 1;
	uint64		before;

	if (interval->first > interval->last || all == 0)
		return;
	before = bisect(n, comparison, from);
	if (from ? before == all : before == 0)
	{
		make_empty(interval);
		return;
	}
	if (from)
		interval->first = (int64) ((uint64) interval->first + before);
	else
		interval->last = (int64) ((uint64) interval->first + before - 1);
}

/* The same with another operator of the order for the same operands. */
static void
cut_by(const narrowing *n, const OpExpr *comparison, int strategy)
{
	OpExpr	   *other = copyObject((OpExpr *) comparison);

	other->opno = get_opfamily_member(n->family,
									  exprType(linitial(other->args)),
									  exprType(lsecond(other->args)),
									  strategy);
	if (!OidIsValid(other->opno))
		return;
	other->opfuncid = InvalidOid;
	set_opfuncid(other);
	cut(n, other, strategy);
}

/* dp_domains_is_column: whether it is the key's column, in any type. */
bool
dp_domains_is_column(const Node *node)
{
	node = dp_base_unlabelled(node);
	return node != NULL && IsA(node, Var) &&
		((const Var *) node)->varattno == DP_KEY_COLUMN;
}

/*
 * Whether a comparison of a column of the type with the constant is monotone.
 */
static bool
is_monotone(Oid column_type, const Const *constant)
{
	return column_type != TIMESTAMPOID ||
		getBaseType(constant->consttype) != TIMESTAMPTZOID;
}

static void
narrow_by_comparison(const narrowing *n, OpExpr *comparison)
{
	int			strategy;

	if (list_length(comparison->args) != 2)
		return;
	if (IsA(linitial(comparison->args), Const) &&
		dp_domains_is_column(lsecond(comparison->args)) &&
		OidIsValid(get_commutator(comparison->opno)))
	{
		comparison = copyObject(comparison);
		CommuteOpExpr(comparison);
		set_opfuncid(comparison);
	}
	if (!dp_domains_is_column(linitial(comparison->args)) ||
		!IsA(lsecond(comparison->args), Const) ||
		((Const *) lsecond(comparison->args))->constisnull ||
		!is_monotone(n->type, lsecond(comparison->args)))
		return;
	strategy = get_op_opfamily_strategy(comparison->opno, n->family);
	if (strategy == BTEqualStrategyNumber)
	{
		cut_by(n, comparison, BTGreaterEqualStrategyNumber);
		cut_by(n, comparison, BTLessEqualStrategyNumber);
	}
	else if (strategy != InvalidStrategy)
		cut(n, comparison, strategy);
}

static void
narrow_by(const narrowing *n, Node *condition)
{
	ListCell   *lc;

	if (is_andclause(condition))
		foreach(lc, ((BoolExpr *) condition)->args)
			narrow_by(n, lfirst(lc));
	else if (IsA(condition, OpExpr))
		narrow_by_comparison(n, (OpExpr *) condition);
}

/* dp_domains_declared_interval: the bounds of the key's column. */
dp_value_range
dp_domains_declared_interval(const dp_key *key, Oid column_type)
{
	dp_attribute *declared = dp_domains_declaration(key);
	dp_value_range interval;

	interval.first = dp_domains_ordered(column_type, dp_domains_read_declared(
										   declared->lower, column_type, -1));
	interval.last = dp_domains_ordered(column_type, dp_domains_read_declared(
										  declared->upper, column_type, -1));
	return interval;
}

/* dp_domains_is_comparison: whether dp_domains_narrow uses the condition. */
bool
dp_domains_is_comparison(const Node *condition, Oid column_type)
{
	const OpExpr *comparison = (const OpExpr *) condition;
	TypeCacheEntry *cache = lookup_type_cache(column_type,
											  TYPECACHE_BTREE_OPFAMILY);
	const Node *left;
	const Node *right;

	if (!IsA(condition, OpExpr) || list_length(comparison->args) != 2)
		return false;
	left = linitial(comparison->args);
	right = lsecond(comparison->args);
	return ((dp_domains_is_column(left) && IsA(right, Const) &&
			 is_monotone(column_type, (const Const *) right)) ||
			(dp_domains_is_column(right) && IsA(left, Const) &&
			 is_monotone(column_type, (const Const *) left))) &&
		get_op_opfamily_strategy(comparison->opno, cache->btree_opf) !=
		InvalidStrategy;
}

/*
 * dp_domains_narrow
 *	  Remove from both ends of the interval what the key's conditions exclude.
 *
 * Requires: an integer, a date or a timestamp column; first <= last.
 */
void
dp_domains_narrow(const dp_key *key, Oid column_type, dp_value_range *interval)
{
	narrowing	n;
	ListCell   *lc;

	n.key = key;
	n.type = column_type;
	n.family = lookup_type_cache(column_type,
								 TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	n.interval = interval;
	foreach(lc, key->conditions)
		narrow_by(&n, lfirst(lc));
}

/* dp_domains_part: how much of the bounds the interval has. */
double
dp_domains_part(const dp_value_range *interval, const dp_value_range *bounds)
{
	double		first = (double) Max(interval->first, bounds->first);
	double		last = (double) Min(interval->last, bounds->last);

	return last < first ? 0 : (last - first + 1) /
		((double) bounds->last - (double) bounds->first + 1);
}

/* ----------------
 *		What conditions that rows fulfil leave of an expression's interval
 *		(doc/theory.md T90).
 * ----------------
 */

/*
 * What a comparison of values of one type with a constant says: the types are
 * those of one family of operators, whose numbers compare as they do.
 */
static Oid
number_family(Oid type)
{
	switch (type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
			return INT8OID;
		case FLOAT4OID:
		case FLOAT8OID:
			return FLOAT8OID;
		case NUMERICOID:
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case INTERVALOID:
			return type;
		default:
			return InvalidOid;
	}
}

/* The strategy of a comparison of numbers or times, or InvalidStrategy. */
static int
number_strategy(Oid operator, List *args)
{
	Oid			type = getBaseType(exprType(linitial(args)));
	Oid			other = getBaseType(exprType(lsecond(args)));
	TypeCacheEntry *cache;

	if (!OidIsValid(number_family(type)) ||
		number_family(type) != number_family(other))
		return InvalidStrategy;
	cache = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY);
	return get_op_opfamily_strategy(operator, cache->btree_opf);
}

/* The expression under casts that keep every value. */
static Node *
under_casts(Node *node)
{
	for (;;)
	{
		const FuncExpr *call = (const FuncExpr *) node;

		if (IsA(node, RelabelType))
			node = (Node *) ((RelabelType *) node)->arg;
		else if (!IsA(node, FuncExpr))
			return node;
		else
			switch (call->funcid)
			{
				case F_INT4_INT2:
				case F_INT8_INT2:
				case F_INT8_INT4:
				case F_NUMERIC_INT2:
				case F_NUMERIC_INT4:
				case F_NUMERIC_INT8:
				case F_FLOAT4_INT2:
				case F_FLOAT8_INT2:
				case F_FLOAT8_INT4:
				case F_FLOAT8_FLOAT4:
					node = linitial(call->args);
					break;
				default:
					return node;
			}
	}
}

/* Intervals are compared by months of 30 days, which differences lack. */
static bool
compares_as_number(Node *node)
{
	Oid			function = IsA(node, OpExpr) ? get_opcode(((OpExpr *)
														   node)->opno) :
	IsA(node, FuncExpr) ? ((FuncExpr *) node)->funcid : InvalidOid;

	return getBaseType(exprType(node)) != INTERVALOID ||
		function == F_TIMESTAMP_MI || function == F_TIMESTAMPTZ_MI;
}

/* The values that compare so with one number; whole: they are integers. */
static dp_interval
compared_with(int strategy, Numeric number, bool whole)
{
	dp_interval a = dp_domains_interval_everything();
	Numeric		one = int64_to_numeric(whole ? 1 : 0);
	Numeric		low = whole ? dp_numeric_call1(numeric_ceil, number) : number;
	Numeric		high = whole ? dp_numeric_call1(numeric_floor, number) :
	number;

	switch (strategy)
	{
		case BTLessStrategyNumber:
			a.high = dp_numeric_call2(numeric_sub, low, one);
			break;
		case BTLessEqualStrategyNumber:
			a.high = high;
			break;
		case BTEqualStrategyNumber:
			a.low = a.high = number;
			break;
		case BTGreaterEqualStrategyNumber:
			a.low = low;
			break;
		case BTGreaterStrategyNumber:
			a.low = dp_numeric_call2(numeric_add, high, one);
			break;
	}
	return a;
}

/* The strategy of the comparison with its sides exchanged. */
static int
exchanged(int strategy)
{
	return strategy == InvalidStrategy ? InvalidStrategy :
		BTMaxStrategyNumber + 1 - strategy;
}

/* The strategy that holds where this one does not; none for equality. */
static int
opposite(int strategy)
{
	switch (strategy)
	{
		case BTLessStrategyNumber:
			return BTGreaterEqualStrategyNumber;
		case BTLessEqualStrategyNumber:
			return BTGreaterStrategyNumber;
		case BTGreaterEqualStrategyNumber:
			return BTLessStrategyNumber;
		case BTGreaterStrategyNumber:
			return BTLessEqualStrategyNumber;
		default:
			return InvalidStrategy;
	}
}

/* Whether it is so near to 0 that bounds there would have no grid. */
static bool
is_tiny(Numeric number)
{
	Numeric		size = dp_numeric_call1(numeric_abs, number);

	return dp_numeric_compare(size, int64_to_numeric(0)) > 0 &&
		dp_numeric_compare(size, dp_base_text_to_numeric("1e-200")) < 0;
}

/* Meet with what a comparison with a value says of its other side, a node. */
static dp_interval
meet_comparison(dp_interval a, Node *node, Node *side, int strategy,
				Node *value, const dp_known *known)
{
	const Const *constant = dp_domains_public_value(value, known);
	Oid			type = getBaseType(exprType(node));
	dp_interval number;

	side = under_casts(side);
	if (constant == NULL || strategy == InvalidStrategy ||
		!equal(side, node) || !compares_as_number(node))
		return a;
	number = dp_domains_interval_of_constant(constant);
	if (!dp_domains_interval_is_bounded(number) || is_tiny(number.low))
		return a;
	return dp_domains_interval_meet(
		a, compared_with(strategy, number.low,
						 dp_domains_is_integer(type) || type == DATEOID));
}

/* node IN (values): between the least and the greatest of them. */
static dp_interval
meet_list(dp_interval a, Node *node, const ScalarArrayOpExpr *asked,
		  const dp_known *known)
{
	const ArrayExpr *array = lsecond(asked->args);
	dp_interval hull = dp_domains_interval_nothing();
	ListCell   *lc;

	if (!asked->useOr || !IsA(array, ArrayExpr) || array->multidims)
		return a;
	foreach(lc, array->elements)
	{
		List	   *args = list_make2(linitial(asked->args), lfirst(lc));
		const Const *constant = dp_domains_public_value(lfirst(lc), known);
		dp_interval one =
		meet_comparison(dp_domains_interval_everything(), node, linitial(args),
						number_strategy(asked->opno, args) ==
						BTEqualStrategyNumber ? BTEqualStrategyNumber :
						InvalidStrategy, lsecond(args), known);

		if (constant == NULL || constant->constisnull)
			return a;
		hull = dp_domains_interval_hull(hull, one);
	}
	return dp_domains_interval_meet(a, hull);
}

/*
 * The part of an interval in which the node's values are if a condition is not
 * false, or, negated, not true.  The node's NULLs do not matter, and a
 * condition that compares with NULL says nothing, so that this is the logic of
 * two values.
 */
static dp_interval
meet(dp_interval a, Node *node, Node *condition, bool negated,
	 const dp_known *known)
{
	const BoolExpr *connected = (const BoolExpr *) condition;
	const OpExpr *comparison = (const OpExpr *) condition;
	dp_interval hull = dp_domains_interval_nothing();
	ListCell   *lc;
	int			strategy;

	check_stack_depth();
	if (IsA(condition, ScalarArrayOpExpr) && !negated)
		return meet_list(a, node, (const ScalarArrayOpExpr *) condition,
						 known);
	if (IsA(condition, OpExpr) && list_length(comparison->args) == 2)
	{
		strategy = number_strategy(comparison->opno, comparison->args);
		if (negated)
			strategy = opposite(strategy);
		a = meet_comparison(a, node, linitial(comparison->args), strategy,
							lsecond(comparison->args), known);
		return meet_comparison(a, node, lsecond(comparison->args),
							   exchanged(strategy),
							   linitial(comparison->args), known);
	}
	if (!IsA(condition, BoolExpr))
		return a;
	if (connected->boolop == NOT_EXPR)
		return meet(a, node, linitial(connected->args), !negated, known);
	foreach(lc, connected->args)
	{
		dp_interval one = meet(a, node, lfirst(lc), negated, known);

		if ((connected->boolop == AND_EXPR) != negated)
			a = one;
		else
			hull = dp_domains_interval_hull(hull, one);
	}
	return (connected->boolop == AND_EXPR) != negated ? a : hull;
}

/*
 * dp_domains_interval_meet_condition
 *	  The part of a node's interval in which its values are if a condition is
 *	  not false; both are from dp_domains_cut_public.
 */
dp_interval
dp_domains_interval_meet_condition(dp_interval a, Node *node, Node *condition,
								   const dp_known *known)
{
	return meet(a, node, condition, false, known);
}

/*
 * dp_domains_narrows
 *	  Whether a condition from dp_domains_cut_public may narrow an interval,
 *	  because it compares numbers or times.
 */
bool
dp_domains_narrows(Node *condition)
{
	List	   *args = IsA(condition, OpExpr) ? ((OpExpr *) condition)->args :
	IsA(condition, ScalarArrayOpExpr) ?
	((ScalarArrayOpExpr *) condition)->args : NIL;
	ListCell   *lc;

	check_stack_depth();
	if (list_length(args) == 2)
		return OidIsValid(number_family(getBaseType(exprType(
														linitial(args)))));
	if (IsA(condition, BoolExpr))
		foreach(lc, ((BoolExpr *) condition)->args)
			if (dp_domains_narrows(lfirst(lc)))
				return true;
	return false;
}
