/*
 * decide_key.c
 *	  Decide which public values of a group key its conditions leave.
 *
 * All rows satisfy the conditions of WHERE, so a value for which a condition
 * is false or NULL has no rows and is omitted.  Decisions follow from the
 * query, parameters, settings and declarations.  Undecided values stay, so no
 * row that WHERE keeps is lost:
 *
 *	- the key is a column: its conditions are evaluated for every value;
 *	- it is a field of a date or timestamp: for every cell (time_cells.c), also
 *	  beyond the declared bounds as far as one bucket reaches, since rows there
 *	  are counted in the first or last bucket;
 *	- otherwise: those that mention the key itself are evaluated for its
 *	  values.
 *
 * `other` stands for undeclared values: it stays unless only NULL is left.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "domain.h"

/* ---- conditions by what they mention ---- */

static bool
is_constant(const Node *condition)
{
	return !dp_places_mentions(condition, DP_KEY_COLUMN) &&
		!dp_places_mentions(condition, DP_KEY_VALUE);
}

/* Conditions that do not mention the key's column. */
static List *
about_value(const dp_key *key)
{
	List	   *found = NIL;
	ListCell   *lc;

	foreach(lc, key->conditions)
		if (!dp_places_mentions(lfirst(lc), DP_KEY_COLUMN))
			found = lappend(found, lfirst(lc));
	return found;
}

/* Whether a condition without columns, such as WHERE false, is not true. */
static bool
excludes_all(const dp_key *key)
{
	List	   *constant = NIL;
	ListCell   *lc;
	dp_conditions *asked;
	bool		holds;

	foreach(lc, key->conditions)
		if (is_constant(lfirst(lc)))
			constant = lappend(constant, lfirst(lc));
	asked = dp_places_conditions_begin(key, constant);
	holds = dp_places_conditions_hold(asked, (Datum) 0, true, (Datum) 0, true);
	dp_places_conditions_end(asked);
	return !holds;
}

/* Whether a condition leaves only NULL, so that `other` has no rows. */
static bool
leaves_null_only(List *conditions)
{
	ListCell   *lc;

	foreach(lc, conditions)
	{
		const NullTest *test = lfirst(lc);

		if (IsA(test, NullTest) && test->nulltesttype == IS_NULL &&
			IsA(test->arg, Var))
			return true;
	}
	return false;
}

/* ---- values one by one ---- */

static bool
is_kept(dp_conditions *asked, const dp_domain *from, int64 place)
{
	bool		isnull;
	Datum		value = dp_places_domain_value(from, place, &isnull);

	CHECK_FOR_INTERRUPTS();
	return dp_places_conditions_hold(asked, value, isnull, value, isnull);
}

/* If all kept values of a dense domain are contiguous, make a dense domain. */
static bool
keep_dense(dp_domain *kept, const dp_domain *from, const bool *keep)
{
	int64		known = from->places.known;
	int64		first = 0;
	int64		last = known - 1;
	int64		i;

	while (first < known && !keep[first])
		first++;
	while (last >= first && !keep[last])
		last--;
	for (i = first; i <= last; i++)
		if (!keep[i])
			return false;
	if (first > last)
		return false;
	dp_places_domain_fill_dense(kept, from->places.first + first,
								from->places.first + last);
	return true;
}

static dp_domain *
keep_values(const dp_domain *from, dp_conditions *asked, bool other)
{
	dp_domain  *kept = dp_places_domain_empty(from->places.type);
	int64		known = from->places.known;
	bool	   *keep = palloc_extended(known + 1, MCXT_ALLOC_HUGE);
	bool		isnull;
	int64		i;

	for (i = 0; i < known; i++)
		keep[i] = is_kept(asked, from, i);
	if (from->places.kind != DP_AXIS_DENSE || !keep_dense(kept, from, keep))
		for (i = 0; i < known; i++)
			if (keep[i])
				dp_places_domain_append(kept, dp_places_domain_value(from, i,
																	 &isnull));
	pfree(keep);
	if (other && from->places.other >= 0)
	{
		dp_places_domain_append(kept,
								dp_places_domain_value(from,
													   from->places.other,
													   &isnull));
		kept->places.other = --kept->places.known;
	}
	dp_places_domain_end(kept, from->places.null >= 0 &&
						 is_kept(asked, from, from->places.null));
	return kept;
}

static dp_domain *
decide_values(const dp_key *key, const dp_domain *from, List *conditions)
{
	dp_conditions *asked;
	dp_domain  *kept;

	if (conditions == NIL || from->places.known > DP_DECIDED_MAX)
		return (dp_domain *) from;
	asked = dp_places_conditions_begin(key, conditions);
	kept = keep_values(from, asked, !leaves_null_only(conditions));
	dp_places_conditions_end(asked);
	return kept;
}

/* Integers and dates within declared bounds. */
static dp_domain *
decide_range(const dp_key *key)
{
	Oid			type = getBaseType(key->type);
	dp_domain  *domain = dp_places_domain_empty(type);
	dp_value_range interval = dp_places_declared_interval(key, type);

	dp_places_narrow(key, type, &interval);
	if (interval.first <= interval.last)
		dp_places_domain_fill_dense(domain, interval.first, interval.last);
	dp_places_domain_end(domain, key->nullable);
	return decide_values(key, domain, key->conditions);
}

/* The column's values, by the conditions that mention only the column. */
static dp_domain *
decide_column(const dp_key *key)
{
	dp_key		column = *key->base;
	ListCell   *lc;

	column.conditions = NIL;
	foreach(lc, key->conditions)
		if (!dp_places_mentions(lfirst(lc), DP_KEY_VALUE))
			column.conditions = lappend(column.conditions, lfirst(lc));
	return dp_places_domain_decide(&column);
}

/* dp_places_domain_decide: see dp_places.h; errors as for _make_any. */
dp_domain *
dp_places_domain_decide(const dp_key *key)
{
	dp_domain  *domain;

	if (key->conditions == NIL && key->kind != DP_KEY_CASES &&
		key->kind != DP_KEY_IMAGE)
	{
		domain = dp_places_domain_make_any(key);
		domain->undecided = key;
		return domain;
	}
	if (excludes_all(key))
	{
		domain = dp_places_domain_empty(getBaseType(key->type));
		dp_places_domain_end(domain, false);
		return domain;
	}
	switch (key->kind)
	{
		case DP_KEY_LISTED:
			return decide_values(key, dp_places_decide_list(key),
								 key->image == NULL && key->attnum != 0 ?
								 key->conditions : about_value(key));
		case DP_KEY_CASES:
			domain = decide_values(key, dp_places_decide_cases(key),
								   about_value(key));
			return dp_places_keep_reached(key, domain);
		case DP_KEY_IMAGE:
			return dp_places_decide_image(key, key->image == NULL ||
										  key->base == NULL ? NULL :
										  decide_column(key));
		case DP_KEY_RANGE:
			return decide_range(key);
		case DP_KEY_TRUNC:
		case DP_KEY_EXTRACT:
			domain = dp_places_decide_time(key);
			if (domain != NULL)
				return domain;
			break;
		default:
			break;
	}
	if (key->image == NULL && key->attnum != 0)
		return decide_values(key, dp_places_domain_make_any(key),
							 key->conditions);
	domain = decide_values(key, dp_places_domain_make_any(key),
						   about_value(key));
	return dp_places_keep_reached(key, domain);
}
