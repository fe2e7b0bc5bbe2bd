/*
 * narrow.c
 *	  The range of an ordered column that comparisons in a key's conditions
 *	  leave.
 *
 * "column op constant", for an operator of the type's default order, is
 * monotone in the column, so the value from which it holds is found by
 * evaluating it, by bisection over the integers that represent dates and
 * times.  So a comparison of a date with a timestamp with time zone means the
 * same as for a row.  A comparison of a timestamp with one is not monotone,
 * since local times that a clock change skips equal those an hour later.
 * Other conditions are ignored.
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "domain.h"

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

/* dp_places_ordered: an integer, date or timestamp as an integer. */
int64
dp_places_ordered(Oid type, Datum value)
{
	return is_timestamp(type) ? DatumGetTimestamp(value) :
		dp_places_integer(type, value);
}

/* dp_places_ordered_datum: the opposite. */
Datum
dp_places_ordered_datum(Oid type, int64 value)
{
	return is_timestamp(type) ? TimestampGetDatum(value) :
		dp_places_integer_datum(type, value);
}

static bool
holds_at(dp_conditions *asked, Oid type, int64 at)
{
	return dp_places_conditions_hold(asked,
									 dp_places_ordered_datum(type, at), false,
									 (Datum) 0, true);
}

/*
 * Number of values at the beginning of the interval for which the comparison
 * is not `wanted`; for all later ones it is.
 */
static uint64
bisect(const narrowing *n, const OpExpr *comparison, bool wanted)
{
	List	   *one = list_make1((void *) comparison);
	dp_conditions *asked = dp_places_conditions_begin(n->key, one);
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
	dp_places_conditions_end(asked);
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

/* dp_places_is_column: is it the key's column, perhaps as another type? */
bool
dp_places_is_column(const Node *node)
{
	node = dp_bridge_unlabelled(node);
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
		dp_places_is_column(lsecond(comparison->args)) &&
		OidIsValid(get_commutator(comparison->opno)))
	{
		comparison = copyObject(comparison);
		CommuteOpExpr(comparison);
		set_opfuncid(comparison);
	}
	if (!dp_places_is_column(linitial(comparison->args)) ||
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

/* dp_places_declared_interval: the bounds of the key's column. */
dp_value_range
dp_places_declared_interval(const dp_key *key, Oid column_type)
{
	dp_attribute *declared = dp_places_declaration(key);
	dp_value_range interval;

	interval.first = dp_places_ordered(column_type, dp_places_read_declared(
										   declared->lower, column_type, -1));
	interval.last = dp_places_ordered(column_type, dp_places_read_declared(
										  declared->upper, column_type, -1));
	return interval;
}

/* dp_places_is_comparison: whether dp_places_narrow uses the condition. */
bool
dp_places_is_comparison(const Node *condition, Oid column_type)
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
	return ((dp_places_is_column(left) && IsA(right, Const) &&
			 is_monotone(column_type, (const Const *) right)) ||
			(dp_places_is_column(right) && IsA(left, Const) &&
			 is_monotone(column_type, (const Const *) left))) &&
		get_op_opfamily_strategy(comparison->opno, cache->btree_opf) !=
		InvalidStrategy;
}

/*
 * dp_places_narrow
 *	  Remove from both ends of the interval what the key's conditions exclude.
 *
 * Requires: an integer, a date or a timestamp column; first <= last.
 */
void
dp_places_narrow(const dp_key *key, Oid column_type, dp_value_range *interval)
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
