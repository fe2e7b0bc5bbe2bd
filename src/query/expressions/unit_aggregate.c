/*
 * unit_aggregate.c
 *	  PostgreSQL's own aggregates, below a private aggregate.
 *
 * If a level groups rows by their unit, each group is of one unit, and results
 * for it must depend only on the unit's rows, not on their order, which other
 * units' rows influence.  They must not raise errors, and their memory must be
 * bounded.  So only some aggregates are allowed, and these are changed:
 *
 *	- sums and averages of floats, which depend on the order, are computed in
 *	  numeric, with 15 digits (float4: 6), and converted back to float;
 *	- for sums and averages of numeric and float, inputs of 10^100 or more, NaN
 *	  and infinities become NULL, others are rounded to 100 digits after the
 *	  point;
 *	- for min and max, equal numbers, such as 1.0 and 1.00, or 0 and -0, get
 *	  the same spelling;
 *	- texts and keys without a known length are NULL if they are too long, as
 *	  elsewhere (expression_memory.c).
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/tlist.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "../../base/dp_base.h"
#include "dp_expressions.h"
#include "expressions_internal.h"

#define MOST_ADDED "1e100"
#define MOST_SCALE 100

/*
 * What has to be changed in an aggregate so that it depends only on the unit's
 * rows.
 */
typedef enum trouble
{
	NO_TROUBLE,					/* nothing */
	LONG_VALUE,					/* it keeps a text */
	NUMERIC_ORDER,				/* it keeps one of equal numbers */
	FLOAT_ORDER,
	NUMERIC_SUM,
	FLOAT_SUM
} trouble;

typedef struct unit_aggregate
{
	Oid			aggregate;
	trouble		trouble;
	Oid			exact;			/* FLOAT_SUM: of numeric */
} unit_aggregate;

static const unit_aggregate unit_aggregates[] = {
	{F_COUNT_, NO_TROUBLE},
	{F_COUNT_ANY, NO_TROUBLE},
	{F_BOOL_AND, NO_TROUBLE},
	{F_BOOL_OR, NO_TROUBLE},
	{F_EVERY, NO_TROUBLE},
	{F_SUM_INT2, NO_TROUBLE},
	{F_SUM_INT4, NO_TROUBLE},
	{F_SUM_INT8, NO_TROUBLE},
	{F_SUM_NUMERIC, NUMERIC_SUM},
	{F_SUM_FLOAT4, FLOAT_SUM, F_SUM_NUMERIC},
	{F_SUM_FLOAT8, FLOAT_SUM, F_SUM_NUMERIC},
	{F_AVG_INT2, NO_TROUBLE},
	{F_AVG_INT4, NO_TROUBLE},
	{F_AVG_INT8, NO_TROUBLE},
	{F_AVG_NUMERIC, NUMERIC_SUM},
	{F_AVG_FLOAT4, FLOAT_SUM, F_AVG_NUMERIC},
	{F_AVG_FLOAT8, FLOAT_SUM, F_AVG_NUMERIC},
	{F_MIN_INT2, NO_TROUBLE},
	{F_MIN_INT4, NO_TROUBLE},
	{F_MIN_INT8, NO_TROUBLE},
	{F_MIN_NUMERIC, NUMERIC_ORDER},
	{F_MIN_FLOAT4, FLOAT_ORDER},
	{F_MIN_FLOAT8, FLOAT_ORDER},
	{F_MIN_DATE, NO_TROUBLE},
	{F_MIN_TIME, NO_TROUBLE},
	{F_MIN_TIMESTAMP, NO_TROUBLE},
	{F_MIN_TIMESTAMPTZ, NO_TROUBLE},
	{F_MIN_TEXT, LONG_VALUE},
	{F_MAX_INT2, NO_TROUBLE},
	{F_MAX_INT4, NO_TROUBLE},
	{F_MAX_INT8, NO_TROUBLE},
	{F_MAX_NUMERIC, NUMERIC_ORDER},
	{F_MAX_FLOAT4, FLOAT_ORDER},
	{F_MAX_FLOAT8, FLOAT_ORDER},
	{F_MAX_DATE, NO_TROUBLE},
	{F_MAX_TIME, NO_TROUBLE},
	{F_MAX_TIMESTAMP, NO_TROUBLE},
	{F_MAX_TIMESTAMPTZ, NO_TROUBLE},
	{F_MAX_TEXT, LONG_VALUE},
};

static const unit_aggregate *
find(Oid aggregate)
{
	int			i;

	for (i = 0; i < lengthof(unit_aggregates); i++)
		if (unit_aggregates[i].aggregate == aggregate)
			return &unit_aggregates[i];
	return NULL;
}

/* ---- what is allowed ---- */

static dp_refusal *
refuse(const Aggref *aggregate, const char *what, const char *detail,
	   const char *hint)
{
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
						  aggregate->location, detail, hint,
						  "%s cannot be computed for each privacy unit",
						  what);
}

/* dp_expressions_is_unit_aggregate: whether the aggregate is allowed. */
bool
dp_expressions_is_unit_aggregate(Oid aggregate)
{
	return find(aggregate) != NULL;
}

/*
 * dp_expressions_check_unit_collation: check the collation of such an
 * aggregate.
 */
dp_refusal *
dp_expressions_check_unit_collation(Oid aggregate, Oid collation, int location)
{
	return find(aggregate)->trouble == LONG_VALUE ?
		dp_expressions_check_collation(collation, location) : NULL;
}

/*
 * dp_expressions_check_aggregate
 *	  Check an aggregate of a level that groups by the unit.  Its arguments and
 *	  filter are checked as expressions.
 */
dp_refusal *
dp_expressions_check_aggregate(const Aggref *aggregate)
{
	const char *name = get_func_name(aggregate->aggfnoid);

	if (find(aggregate->aggfnoid) == NULL)
		return refuse(aggregate, psprintf("aggregate %s", name),
					  "It could depend on the order of rows, raise an error, "
					  "or hold any amount of memory.",
					  "Below a private aggregate, use count, sum, avg, min, "
					  "max, bool_and or bool_or of numbers, times or text.");
	if (aggregate->aggdistinct != NIL || aggregate->aggorder != NIL ||
		aggregate->aggvariadic || aggregate->agglevelsup > 0)
		return refuse(aggregate, psprintf("%s with DISTINCT or ORDER BY",
										  name), NULL,
					  "Group by the value as well, in a separate subquery.");
	return dp_expressions_check_unit_collation(aggregate->aggfnoid,
											   aggregate->inputcollid,
											   aggregate->location);
}

/*
 * dp_expressions_aggregate_keeps
 *	  Bytes that an allowed aggregate keeps for a group, without a value of its
 *	  argument; *value: it keeps one of these.
 */
Size
dp_expressions_aggregate_keeps(const Aggref *aggregate, bool *value)
{
	const unit_aggregate *known = find(aggregate->aggfnoid);

	*value = known->trouble == LONG_VALUE || known->trouble == NUMERIC_ORDER;
	return known->trouble == NUMERIC_SUM || known->trouble == FLOAT_SUM ?
		1024 : 96;
}

static bool
unit_aggregate_is_named(const Aggref *aggregate, const char *name)
{
	return find(aggregate->aggfnoid) != NULL &&
		strcmp(get_func_name(aggregate->aggfnoid), name) == 0;
}

/*
 * dp_expressions_is_extreme: whether it is min or max, one of its argument's
 * values.
 */
bool
dp_expressions_is_extreme(const Aggref *aggregate)
{
	return unit_aggregate_is_named(aggregate,
								   "min") || unit_aggregate_is_named(aggregate,
																	 "max");
}

/*
 * dp_expressions_is_between
 *	  Whether its result lies between values of its argument.  Also for window
 *	  functions, which are represented as aggregates when bounds are inferred
 *	  (rowsets/unit_levels.c).
 */
bool
dp_expressions_is_between(const Aggref *aggregate)
{
	switch (aggregate->aggfnoid)
	{
		case F_FIRST_VALUE:
		case F_LAST_VALUE:
		case F_NTH_VALUE:
		case F_LAG_ANYELEMENT:
		case F_LAG_ANYELEMENT_INT4:
		case F_LEAD_ANYELEMENT:
		case F_LEAD_ANYELEMENT_INT4:
			return true;
		default:
			return dp_expressions_is_extreme(aggregate) ||
				unit_aggregate_is_named(aggregate, "avg");
	}
}

/* ---- how it is computed ---- */

static Node *
call(Oid function, Oid type, List *args)
{
	return (Node *) makeFuncExpr(function, type, args, InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CALL);
}

static Node *
compare(Oid operator, Node *left, Node *right)
{
	OpExpr	   *comparison = (OpExpr *) make_opclause(operator, BOOLOID, false,
													  (Expr *) left,
													  (Expr *) right,
													  InvalidOid, InvalidOid);

	set_opfuncid(comparison);
	return (Node *) comparison;
}

static Node *
number(const char *text)
{
	return (Node *) makeConst(NUMERICOID, -1, InvalidOid, -1,
							  NumericGetDatum(dp_base_text_to_numeric(text)),
							  false, false);
}

static Node *
whole_number(int32 n)
{
	return (Node *) makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
							  Int32GetDatum(n), false, true);
}

/* CASE WHEN .. THEN .. WHEN .. THEN .. END */
static Node *
choose(Oid type, List *conditions, List *results)
{
	CaseExpr   *choice = makeNode(CaseExpr);
	ListCell   *condition;
	ListCell   *result;

	choice->casetype = type;
	choice->location = -1;
	forboth(condition, conditions, result, results)
	{
		CaseWhen   *when = makeNode(CaseWhen);

		when->expr = lfirst(condition);
		when->result = lfirst(result);
		when->location = -1;
		choice->args = lappend(choice->args, when);
	}
	choice->defresult = (Expr *) makeNullConst(type, -1, InvalidOid);
	return (Node *) choice;
}

static Oid
less_than(Oid type)
{
	return lookup_type_cache(type, TYPECACHE_LT_OPR)->lt_opr;
}

/* |x| < most */
static Node *
is_below(Node *x, Node *most, Node *least)
{
	Oid			operator = less_than(exprType(x));

	return (Node *) make_andclause(list_make2(compare(operator, x, most),
											  compare(operator, least,
													  copyObject(x))));
}

static Node *
rounded(Node *x)
{
	return call(F_TRIM_SCALE, NUMERICOID,
				list_make1(call(F_ROUND_NUMERIC_INT4, NUMERICOID,
								list_make2(x, whole_number(MOST_SCALE)))));
}

/* The input of a sum of numeric. */
static Node *
numeric_addend(Node *x)
{
	Node	   *below = is_below(x, number(MOST_ADDED),
								 number("-" MOST_ADDED));
	Node	   *scale = call(F_SCALE, INT4OID, list_make1(copyObject(x)));
	Node	   *is_short = compare(less_than(INT4OID), scale,
								   whole_number(MOST_SCALE + 1));

	return choose(NUMERICOID,
				  list_make2(make_andclause(list_make2(below, is_short)),
							 copyObject(below)),
				  list_make2(copyObject(x), rounded(copyObject(x))));
}

static Node *
float_constant(double value)
{
	return (Node *) makeConst(FLOAT8OID, -1, InvalidOid, sizeof(float8),
							  Float8GetDatum(value), false, FLOAT8PASSBYVAL);
}

static Node *
to_float8(Node *x)
{
	return exprType(x) == FLOAT4OID ?
		call(F_FLOAT8_FLOAT4, FLOAT8OID, list_make1(x)) : x;
}

/* float4 is converted to numeric directly, since it has fewer digits. */
static Node *
float_addend(Node *x)
{
	Node	   *numeric = call(exprType(x) == FLOAT4OID ? F_NUMERIC_FLOAT4 :
							   F_NUMERIC_FLOAT8, NUMERICOID, list_make1(x));

	return choose(NUMERICOID,
				  list_make1(is_below(to_float8(copyObject(x)),
									  float_constant(1e100),
									  float_constant(-1e100))),
				  list_make1(rounded(numeric)));
}

/* The same spelling for equal floats: -0 becomes 0. */
static Node *
plain_float(Node *x)
{
	Oid			type = exprType(x);
	Node	   *zero = type == FLOAT8OID ? float_constant(0) :
	(Node *) makeConst(FLOAT4OID, -1, InvalidOid, sizeof(float4),
					   Float4GetDatum(0), false, true);

	return (Node *) makeFuncExpr(dp_expressions_total_oid(dp_expressions_find(
										type == FLOAT8OID ? F_FLOAT8PL :
										F_FLOAT4PL)), type,
								 list_make2(x, zero), InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CALL);
}

/* A value that is kept, or NULL if it is too long. */
static Node *
short_value(Node *x)
{
	FuncExpr   *shortened;

	if (get_typlen(exprType(x)) != -1)
		return x;
	shortened = makeFuncExpr(dp_expressions_sortable_value(), exprType(x),
							 list_make1(x), exprCollation(x),
							 exprCollation(x), COERCE_EXPLICIT_CALL);
	shortened->location = exprLocation(x);
	return (Node *) shortened;
}

/* A sum of floats, computed in numeric and converted back. */
static Node *
exact_sum(Aggref *aggregate, Oid exact)
{
	Oid			type = aggregate->aggtype;
	Oid			cast = type == FLOAT4OID ? F_FLOAT4_NUMERIC : F_FLOAT8_NUMERIC;

	aggregate->aggfnoid = exact;
	aggregate->aggtype = NUMERICOID;
	aggregate->aggargtypes = list_make1_oid(NUMERICOID);
	return call(dp_expressions_total_oid(dp_expressions_find(cast)), type,
				list_make1(aggregate));
}

/* The replacement of an aggregate's argument. */
static Node *
settle_argument(const unit_aggregate *known, Node *x)
{
	switch (known->trouble)
	{
		case LONG_VALUE:
			return short_value(x);
		case NUMERIC_ORDER:
			return call(F_TRIM_SCALE, NUMERICOID, list_make1(x));
		case FLOAT_ORDER:
			return plain_float(x);
		case NUMERIC_SUM:
			return numeric_addend(x);
		case FLOAT_SUM:
			return float_addend(x);
		case NO_TROUBLE:
			break;
	}
	return x;
}

static Node *
settle_aggregate(Aggref *aggregate)
{
	const unit_aggregate *known = find(aggregate->aggfnoid);
	TargetEntry *argument;

	if (known == NULL)
		elog(ERROR, "aggregate %u is not of units", aggregate->aggfnoid);
	if (known->trouble == NO_TROUBLE)
		return (Node *) aggregate;
	argument = linitial_node(TargetEntry, aggregate->args);
	argument->expr = (Expr *) settle_argument(known, (Node *) argument->expr);
	return known->trouble == FLOAT_SUM ? exact_sum(aggregate, known->exact) :
		(Node *) aggregate;
}

/*
 * dp_expressions_settle_window_aggregate
 *	  The replacement of an allowed window function, which is modified:
 *	  aggregates then depend only on the rows of their frame, and raise no
 *	  errors.
 */
Node *
dp_expressions_settle_window_aggregate(WindowFunc *function)
{
	const unit_aggregate *known = find(function->winfnoid);
	Oid			type = function->wintype;

	if (known == NULL || known->trouble == NO_TROUBLE)
		return (Node *) function;
	linitial(function->args) = settle_argument(known,
											   linitial(function->args));
	if (known->trouble != FLOAT_SUM)
		return (Node *) function;
	function->winfnoid = known->exact;
	function->wintype = NUMERICOID;
	return call(
			dp_expressions_total_oid(dp_expressions_find(type == FLOAT4OID ?
													 F_FLOAT4_NUMERIC :
													 F_FLOAT8_NUMERIC)), type,
				list_make1(function));
}

/* Replace aggregates, and limit keys, of a level that groups by the unit. */
static Node *
level_mutator(Node *node, void *context)
{
	List	   *keys = context;

	if (node == NULL)
		return NULL;
	if (list_member(keys, node))
		return short_value(copyObject(node));
	if (IsA(node, Aggref))
		return settle_aggregate(copyObject((Aggref *) node));
	return expression_tree_mutator(node, level_mutator, context);
}

/*
 * dp_expressions_settle_groups
 *	  Make a level that groups by the unit depend only on the unit's rows,
 *	  without errors; in place.
 */
void
dp_expressions_settle_groups(Query *level)
{
	List	   *keys = get_sortgrouplist_exprs(level->groupClause,
											   level->targetList);

	level->targetList = (List *)
		level_mutator((Node *) level->targetList, keys);
	level->havingQual = level_mutator(level->havingQual, keys);
}
