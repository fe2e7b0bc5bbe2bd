/*
 * expression_interval.c
 *	  The interval of an expression's values, by declarations of columns and by
 *	  the query's constants.
 *
 * It gives the bounds of an aggregate that has none: of dp_sum(1), of CASE
 * WHEN .. THEN 1 ELSE 0 END, of a * b.  The expression is over columns of the
 * protected relation; parts without columns have been evaluated
 * (public_parts.c).  Values are numbers, days and microseconds; a value
 * outside of declared bounds is clamped like any other.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "interval.h"

typedef struct interval_walk
{
	const List *relids;			/* OIDs by varno */
	const List *publics;		/* of Const * */
} interval_walk;

static dp_interval find(Node *node, const interval_walk *walk);

/* ---- leaves ---- */

/*
 * Whether the interval has the form of a difference of timestamps: whole days
 * and less than one more, with the same sign.
 */
static bool
is_difference(const Interval *span)
{
	return span->month == 0 &&
		span->time > -USECS_PER_DAY && span->time < USECS_PER_DAY &&
		(span->day == 0 || span->time == 0 ||
		 (span->day > 0) == (span->time > 0));
}

static Numeric
span_microseconds(const Interval *span)
{
	return dp_bridge_int128_to_numeric((dp_int128) span->day * USECS_PER_DAY +
									   span->time);
}

static dp_interval
find_constant(const Const *constant)
{
	Datum		value = constant->constvalue;
	int64		integer;

	if (constant->constisnull)
		return dp_places_interval_nothing();
	switch (getBaseType(constant->consttype))
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
			integer = dp_places_integer(getBaseType(constant->consttype),
										value);
			return dp_places_interval_between(integer, integer);
		case NUMERICOID:
			return dp_places_interval_point(DatumGetNumeric(value));
		case FLOAT4OID:
			return dp_places_interval_of_double(DatumGetFloat4(value));
		case FLOAT8OID:
			return dp_places_interval_of_double(DatumGetFloat8(value));
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return dp_places_interval_point(
				dp_places_time_numeric(value, constant->consttype));
		case INTERVALOID:
			if (is_difference(DatumGetIntervalP(value)))
				return dp_places_interval_point(
					span_microseconds(DatumGetIntervalP(value)));
	}
	return dp_places_interval_everything();
}

/*
 * Convert to a type: values out of its range become NULL, floats are rounded.
 */
static dp_interval
as_type(dp_interval a, Oid type)
{
	switch (type)
	{
		case INT2OID:
			return dp_places_interval_clip(a, PG_INT16_MIN, PG_INT16_MAX);
		case INT4OID:
			return dp_places_interval_clip(a, PG_INT32_MIN, PG_INT32_MAX);
		case INT8OID:
			return dp_places_interval_clip(a, PG_INT64_MIN, PG_INT64_MAX);
		case FLOAT4OID:
			return dp_places_interval_float(a, true);
		case FLOAT8OID:
			return dp_places_interval_float(a, false);
	}
	return a;
}

static Numeric
read_bound(const char *text, Oid type)
{
	if (!dp_places_is_time(type))
		return DatumGetNumeric(dp_places_read_declared(text, NUMERICOID, -1));
	return dp_places_time_numeric(dp_places_read_declared(text, type, -1),
								  type);
}

static dp_interval
find_column(const Var *var, const interval_walk *walk)
{
	Oid			type = getBaseType(var->vartype);
	Oid			relid = list_nth_oid(walk->relids, var->varno - 1);
	dp_attribute *declared = dp_protect_attribute(relid, var->varattno);

	if (declared == NULL || declared->lower == NULL)
		return dp_places_interval_everything();
	/* the nearest float may be beyond a declared bound */
	return as_type(dp_places_interval_hull(
					   dp_places_interval_point(read_bound(declared->lower,
														   type)),
					   dp_places_interval_point(read_bound(declared->upper,
														   type))), type);
}

static const Const *
public_value(Node *node, const interval_walk *walk)
{
	const Param *param = (const Param *) node;

	if (IsA(node, Const))
		return (const Const *) node;
	if (IsA(node, Param) && param->paramkind == PARAM_EXEC)
		return list_nth_node(Const, walk->publics, param->paramid);
	return NULL;
}

/* ---- calls ---- */

/* The value of a constant integer argument; false if it is none. */
static bool
constant_integer(Node *node, const interval_walk *walk, int *value)
{
	const Const *constant = public_value(node, walk);

	if (constant == NULL || constant->constisnull ||
		constant->consttype != INT4OID)
		return false;
	*value = DatumGetInt32(constant->constvalue);
	return true;
}

static dp_interval
to_digits(PGFunction function, List *args, dp_interval a,
		  const interval_walk *walk)
{
	int			digits = 0;

	if (list_length(args) > 1 &&
		!constant_integer(lsecond(args), walk, &digits))
		return dp_places_interval_everything();
	return dp_places_interval_map_to(a, function, digits);
}

static dp_interval
to_scale(List *args, dp_interval a, const interval_walk *walk)
{
	int			typmod;

	if (!constant_integer(lsecond(args), walk, &typmod))
		return dp_places_interval_everything();
	if (typmod < VARHDRSZ)
		return a;
	return dp_places_interval_map_to(a, numeric_round,
									 dp_places_typmod_digits(typmod));
}

/* Bitwise AND: at most the smaller of two natural numbers. */
static dp_interval
and_bits(dp_interval a, dp_interval b)
{
	const dp_interval natural = {false, int64_to_numeric(0),
	dp_bridge_text_to_numeric("Infinity")};
	bool		first;
	bool		second;

	if (a.empty || b.empty)
		return dp_places_interval_nothing();
	first = dp_numeric_compare(a.low, natural.low) >= 0;
	second = dp_numeric_compare(b.low, natural.low) >= 0;
	if (!first && !second)
		return dp_places_interval_everything();
	if (!first || !second)
		return dp_places_interval_hull(
			dp_places_interval_point(natural.low), first ? a : b);
	if (dp_numeric_compare(b.high, a.high) < 0)
		a = b;
	return dp_places_interval_hull(dp_places_interval_point(natural.low), a);
}

static dp_interval
smaller(dp_interval a, dp_interval b)
{
	a = dp_places_interval_negate(a);
	b = dp_places_interval_negate(b);
	return dp_places_interval_negate(dp_places_interval_greatest(a, b, true));
}

static Datum
fifteen_digits(PG_FUNCTION_ARGS)
{
	Datum		x = DirectFunctionCall1(numeric_float8_no_overflow,
										PG_GETARG_DATUM(0));

	return DirectFunctionCall1(float8_numeric, x);
}

/* Include the ends as rounded by casts from float to numeric. */
static dp_interval
cut_digits(dp_interval a, Oid from)
{
	if (from == FLOAT4OID)
	{
		/* six of seven digits are kept */
		if (!dp_places_interval_is_bounded(a))
			return a;
		return dp_places_interval_multiply(
			a, dp_places_interval_hull(
				dp_places_interval_point(dp_bridge_text_to_numeric("0.99999")),
				dp_places_interval_point(
					dp_bridge_text_to_numeric("1.00001"))));
	}
	return dp_places_interval_hull(a, dp_places_interval_map(a,
															 fifteen_digits));
}

static dp_interval
root_of(Numeric x)
{
	Datum		y = DirectFunctionCall1(numeric_float8_no_overflow,
										NumericGetDatum(x));

	return dp_places_interval_of_double(sqrt(DatumGetFloat8(y)));
}

/* Negative numbers have no root; a correctly rounded root is monotone. */
static dp_interval
find_root(dp_interval a)
{
	const Numeric zero = int64_to_numeric(0);

	if (a.empty || dp_numeric_compare(a.high, zero) < 0)
		return dp_places_interval_nothing();
	if (dp_numeric_compare(a.low, zero) < 0)
		a.low = zero;
	return dp_places_interval_hull(root_of(a.low), root_of(a.high));
}

static dp_interval
to_day(dp_interval a, bool zoned)
{
	const dp_interval day = dp_places_interval_between(USECS_PER_DAY,
													   USECS_PER_DAY);

	if (zoned)
		a = dp_places_interval_widen(a, USECS_PER_DAY);
	return dp_places_interval_map(dp_places_interval_divide(a, day),
								  numeric_floor);
}

static dp_interval
to_midnight(dp_interval a, bool zoned)
{
	const dp_interval day = dp_places_interval_between(USECS_PER_DAY,
													   USECS_PER_DAY);

	a = dp_places_interval_multiply(a, day);
	return zoned ? dp_places_interval_widen(a, USECS_PER_DAY) : a;
}

static dp_interval
find_extract(List *args, dp_interval a, const interval_walk *walk)
{
	const Const *field = public_value(linitial(args), walk);

	if (field == NULL)
		return dp_places_interval_everything();
	return dp_places_interval_extract(field, exprType(lsecond(args)), a);
}

static dp_interval
find_quotient(dp_interval a, dp_interval b, Oid type)
{
	dp_interval q = dp_places_interval_divide(a, b);

	return dp_places_is_integer(type) ?
		dp_places_interval_map_to(q, numeric_trunc, 0) : q;
}

static dp_interval
apply(dp_interval_rule rule, Oid function, Oid type, List *args,
	  const interval_walk *walk)
{
	dp_interval a = find(linitial(args), walk);
	dp_interval b = list_length(args) > 1 ? find(lsecond(args), walk) : a;

	switch (rule)
	{
		case RULE_SAME:
			return a;
		case RULE_ADD:
			return dp_places_interval_add(a, b);
		case RULE_SUBTRACT:
			return dp_places_interval_add(a, dp_places_interval_negate(b));
		case RULE_MULTIPLY:
			return dp_places_interval_multiply(a, b);
		case RULE_DIVIDE:
			return find_quotient(a, b, type);
		case RULE_REMAINDER:
			return dp_places_interval_remainder(a, b,
												dp_places_is_integer(type));
		case RULE_NEGATE:
			return dp_places_interval_negate(a);
		case RULE_ABSOLUTE:
			return dp_places_interval_absolute(a);
		case RULE_NEAREST:
			return dp_places_interval_nearest(a);
		case RULE_ROUND:
			return to_digits(numeric_round, args, a, walk);
		case RULE_CUT:
			return to_digits(numeric_trunc, args, a, walk);
		case RULE_SCALE:
			return to_scale(args, a, walk);
		case RULE_FLOOR:
			return dp_places_interval_map(a, numeric_floor);
		case RULE_CEILING:
			return dp_places_interval_map(a, numeric_ceil);
		case RULE_SIGN:
			return dp_places_interval_map(a, numeric_sign);
		case RULE_ROOT:
			return find_root(a);
		case RULE_GREATER:
			return dp_places_interval_greatest(a, b, true);
		case RULE_SMALLER:
			return smaller(a, b);
		case RULE_AND:
			return and_bits(a, b);
		case RULE_BUCKET:
			return dp_places_interval_hull(
				dp_places_interval_between(0, 0),
				dp_places_interval_add(find(lfourth(args), walk),
									   dp_places_interval_between(1, 1)));
		case RULE_DIGITS:
			return cut_digits(a, exprType(linitial(args)));
		case RULE_MIDNIGHT:
			return to_midnight(a, type == TIMESTAMPTZOID);
		case RULE_DAY:
			return to_day(a, function == F_DATE_TIMESTAMPTZ);
		case RULE_ZONE:
			return dp_places_interval_widen(list_length(args) > 1 ? b : a,
											USECS_PER_DAY);
		case RULE_EXTRACT:
			return find_extract(args, b, walk);
	}
	return dp_places_interval_everything();
}

static dp_interval
find_call(Oid function, Oid type, List *args, const interval_walk *walk)
{
	dp_interval_rule rule;

	if (!dp_places_interval_rule(function, &rule))
		return dp_places_interval_everything();
	return as_type(apply(rule, function, type, args, walk), type);
}

/* ---- the other nodes ---- */

static dp_interval
find_hull(List *nodes, const interval_walk *walk)
{
	dp_interval hull = dp_places_interval_nothing();
	ListCell   *lc;

	foreach(lc, nodes)
		hull = dp_places_interval_hull(hull, find(lfirst(lc), walk));
	return hull;
}

static dp_interval
find_case(const CaseExpr *expression, const interval_walk *walk)
{
	dp_interval hull = dp_places_interval_nothing();
	ListCell   *lc;

	foreach(lc, expression->args)
		hull = dp_places_interval_hull(
			hull, find((Node *) lfirst_node(CaseWhen, lc)->result, walk));
	if (expression->defresult == NULL)
		return hull;
	return dp_places_interval_hull(hull,
								   find((Node *) expression->defresult,
										walk));
}

/*
 * GREATEST ignores NULLs, so only a constant bounds the result from below;
 * without one, the least of all lower ends does.
 */
static dp_interval
find_greatest(List *args, bool negated, const interval_walk *walk)
{
	dp_interval constants = dp_places_interval_nothing();
	dp_interval others = dp_places_interval_nothing();
	dp_interval all;
	ListCell   *lc;

	foreach(lc, args)
	{
		dp_interval one = find(lfirst(lc), walk);

		if (negated)
			one = dp_places_interval_negate(one);
		if (public_value(lfirst(lc), walk) != NULL)
			constants = dp_places_interval_greatest(constants, one, true);
		else
			others = dp_places_interval_greatest(others, one, false);
	}
	all = dp_places_interval_greatest(constants, others, true);
	if (!constants.empty)
		all.low = constants.low;
	return all;
}

static dp_interval
find_extreme(const MinMaxExpr *expression, const interval_walk *walk)
{
	if (expression->op == IS_GREATEST)
		return find_greatest(expression->args, false, walk);
	return dp_places_interval_negate(find_greatest(expression->args, true,
												   walk));
}

/* NULLIF(x, end of x's interval) excludes that end, for integers. */
static dp_interval
find_nullif(const NullIfExpr *expression, const interval_walk *walk)
{
	dp_interval a = find(linitial(expression->args), walk);
	dp_interval b = find(lsecond(expression->args), walk);
	Numeric		one = int64_to_numeric(1);

	if (!dp_places_is_integer(exprType(linitial(expression->args))) ||
		!dp_places_interval_is_bounded(a) ||
		!dp_places_interval_is_bounded(b) ||
		dp_numeric_compare(b.low, b.high) != 0)
		return a;
	if (dp_numeric_compare(a.low, b.low) == 0)
		a.low = dp_numeric_call2(numeric_add, a.low, one);
	if (dp_numeric_compare(a.high, b.low) == 0)
		a.high = dp_numeric_call2(numeric_sub, a.high, one);
	return dp_numeric_compare(a.low, a.high) > 0 ?
		dp_places_interval_nothing() : a;
}

static dp_interval
find(Node *node, const interval_walk *walk)
{
	const Const *constant = public_value(node, walk);

	check_stack_depth();
	if (constant != NULL)
		return find_constant(constant);
	if (exprType(node) == BOOLOID)
		return dp_places_interval_between(0, 1);
	switch (nodeTag(node))
	{
		case T_Var:
			return find_column((Var *) node, walk);
		case T_FuncExpr:
			return find_call(((FuncExpr *) node)->funcid,
							 ((FuncExpr *) node)->funcresulttype,
							 ((FuncExpr *) node)->args, walk);
		case T_OpExpr:
			return find_call(get_opcode(((OpExpr *) node)->opno),
							 ((OpExpr *) node)->opresulttype,
							 ((OpExpr *) node)->args, walk);
		case T_NullIfExpr:
			return find_nullif((NullIfExpr *) node, walk);
		case T_CaseExpr:
			return find_case((CaseExpr *) node, walk);
		case T_CoalesceExpr:
			return find_hull(((CoalesceExpr *) node)->args, walk);
		case T_MinMaxExpr:
			return find_extreme((MinMaxExpr *) node, walk);
		case T_RelabelType:
			return find((Node *) ((RelabelType *) node)->arg, walk);
		default:
			return dp_places_interval_everything();
	}
}

/*
 * dp_places_find_interval
 *	  The interval of an expression from dp_places_cut_public.  `relids` are
 *	  the OIDs of relations by varno; `publics`, the values of its parameters,
 *	  as Consts.  False if an end is unknown, or the expression is always NULL.
 */
bool
dp_places_find_interval(Node *expression, const List *relids,
						const List *publics, dp_interval *interval)
{
	const interval_walk walk = {relids, publics};

	*interval = find(expression, &walk);
	return dp_places_interval_is_bounded(*interval);
}
