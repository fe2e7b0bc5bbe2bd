/*
 * decide_time.c
 *	  The values of a key that is a field of a date or timestamp, that its
 *	  conditions leave.
 *
 * Key and conditions are evaluated at one time of every cell (time_cells.c).
 * A bucket stays if the conditions hold in one of its cells, even beyond the
 * declared bounds, since the first and last bucket hold rows from there.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/int.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "domain.h"

/*
 * Days beyond the bounds within which every value of a field occurs; the
 * second number is for hours and minutes.
 */
#define DAYS_BEYOND 14610
#define DAYS_BEYOND_SHORT 366

/* A value of the key found in a cell. */
typedef struct cell_value
{
	Datum		value;
	bool		inside;			/* occurs within the bounds */
	bool		kept;			/* occurs where the conditions hold */
} cell_value;

typedef struct cell_walk
{
	const dp_key *key;
	Oid			type;			/* of the column */
	bool		repeats;		/* values recur: bounds do not limit them */
	dp_value_range bounds;			/* as declared */
	dp_value_range narrowed;		/* what comparisons leave */
	dp_value_range range;			/* to be visited */
	int64		length;			/* of a cell */
	List	   *conditions;		/* constant within a cell */
	dp_conditions *asked;
	cell_value *found;
	int64		nfound;
	int64		room;
	bool		null;			/* NULL is among the kept values */
	FmgrInfo   *compare;
} cell_walk;

static int64
add_or_stop(int64 a, int64 b)
{
	int64		sum;

	if (pg_add_s64_overflow(a, b, &sum))
		return b < 0 ? PG_INT64_MIN / 2 : PG_INT64_MAX / 2;
	return sum;
}

/* ---- where to look ---- */

static int64
beyond_bounds(const cell_walk *w)
{
	const char *field = w->key->field;
	int64		days = DAYS_BEYOND;

	if (!w->repeats)
		return dp_places_cells_reach(w->key->image, w->type);
	if (strcmp(field, "hour") == 0 || strcmp(field, "minute") == 0)
		days = DAYS_BEYOND_SHORT;
	return w->type == DATEOID ? days : days * USECS_PER_DAY;
}

/*
 * The range to visit: the declared bounds and beyond, without what comparisons
 * exclude, but extended by the length of a bucket, to see whether the bucket
 * is within the bounds.
 */
static void
find_range(cell_walk *w)
{
	int64		beyond = beyond_bounds(w);

	w->narrowed = w->bounds;
	w->narrowed.first = add_or_stop(w->bounds.first, -beyond);
	w->narrowed.last = add_or_stop(w->bounds.last, beyond);
	dp_places_narrow(w->key, w->type, &w->narrowed);
	w->range = w->narrowed;
	if (w->repeats || w->range.first > w->range.last)
		return;
	w->range.first = add_or_stop(w->range.first, -beyond);
	w->range.last = add_or_stop(w->range.last, beyond);
}

/*
 * Find cells short enough for the key and for as many conditions as possible;
 * other conditions are not used.
 */
static bool
find_cells(cell_walk *w)
{
	ListCell   *lc;

	if (!dp_places_cells_refine(w->key->image, w->type, &w->range,
								&w->length))
		return false;
	foreach(lc, w->key->conditions)
		if (!dp_places_mentions(lfirst(lc), DP_KEY_COLUMN) ||
			dp_places_is_comparison(lfirst(lc), w->type) ||
			dp_places_cells_refine(lfirst(lc), w->type, &w->range,
								   &w->length))
			w->conditions = lappend(w->conditions, lfirst(lc));
	return w->length > 0 && w->range.last / w->length -
		w->range.first / w->length < DP_DECIDED_MAX;
}

/* ---- looking ---- */

static int
compare_values(const cell_walk *w, Datum a, Datum b)
{
	return DatumGetInt32(FunctionCall2Coll(w->compare, w->key->collation, a,
										   b));
}

static int
compare_found(const void *a, const void *b, void *arg)
{
	return compare_values(arg, ((const cell_value *) a)->value,
						  ((const cell_value *) b)->value);
}

static cell_value *
add_found(cell_walk *w, Datum value)
{
	cell_value *last = w->nfound == 0 ? NULL : &w->found[w->nfound - 1];

	if (last != NULL && compare_values(w, last->value, value) == 0)
		return last;
	if (w->nfound == w->room)
	{
		w->room = Max(2 * w->room, 64);
		w->found = w->found == NULL ?
			palloc(sizeof(cell_value) * w->room) :
			repalloc_huge(w->found, sizeof(cell_value) * w->room);
	}
	last = &w->found[w->nfound++];
	last->value = value;
	last->inside = last->kept = false;
	return last;
}

static void
visit_moment(cell_walk *w, int64 at)
{
	Datum		column = dp_places_ordered_datum(w->type, at);
	bool		isnull;
	Datum		value = dp_places_conditions_image(w->asked, column, false,
												   &isnull);
	cell_value *found;

	if (isnull)
	{
		w->null |= w->key->kind == DP_KEY_IMAGE &&
			at >= w->bounds.first && at <= w->bounds.last &&
			dp_places_conditions_hold(w->asked, column, false, value, true);
		return;
	}
	found = add_found(w, value);
	found->inside |= w->repeats ||
		(at >= w->bounds.first && at <= w->bounds.last);
	found->kept |= dp_places_conditions_hold(w->asked, column, false, value,
											 false);
}

/* The start of the next cell, or of its next part if a bound divides it. */
static int64
next_moment(const cell_walk *w, int64 at)
{
	int64		cuts[4];
	int64		into = at % w->length;
	int64		next = at - into + (into < 0 ? 0 : w->length);
	int			i;

	cuts[0] = w->bounds.first;
	cuts[1] = add_or_stop(w->bounds.last, 1);
	cuts[2] = w->narrowed.first;
	cuts[3] = add_or_stop(w->narrowed.last, 1);
	for (i = 0; i < lengthof(cuts); i++)
		if (cuts[i] > at && cuts[i] < next)
			next = cuts[i];
	return next;
}

static void
visit_cells(cell_walk *w)
{
	int64		at = w->range.first;

	while (at <= w->range.last)
	{
		CHECK_FOR_INTERRUPTS();
		visit_moment(w, at);
		at = next_moment(w, at);
	}
}

/* The key for rows whose time is NULL. */
static void
visit_null(cell_walk *w)
{
	bool		isnull;
	Datum		value = dp_places_conditions_image(w->asked, (Datum) 0, true,
												   &isnull);
	cell_value *found;

	if (!w->key->nullable ||
		!dp_places_conditions_hold(w->asked, (Datum) 0, true, value, isnull))
		return;
	w->null |= isnull;
	if (isnull)
		return;
	found = add_found(w, value);
	found->inside = found->kept = true;
}

/* ---- what was found ---- */

static dp_domain *
collect(cell_walk *w)
{
	dp_domain  *domain = dp_places_domain_empty(getBaseType(w->key->type));
	int64		i = 0;

	if (w->nfound > 1)
		qsort_arg(w->found, w->nfound, sizeof(cell_value), compare_found, w);
	while (i < w->nfound)
	{
		Datum		value = w->found[i].value;
		bool		inside = false;
		bool		kept = false;

		for (; i < w->nfound &&
			 compare_values(w, w->found[i].value, value) == 0; i++)
		{
			inside |= w->found[i].inside;
			kept |= w->found[i].kept;
		}
		if (inside && kept)
			dp_places_domain_append(domain, value);
	}
	dp_places_domain_end(domain, w->null);
	return domain;
}

/*
 * dp_places_decide_time
 *	  The domain of a DP_KEY_TRUNC or DP_KEY_EXTRACT, or a DP_KEY_IMAGE of a
 *	  timestamp; NULL if the bounds are too far apart to visit all cells.
 */
dp_domain *
dp_places_decide_time(const dp_key *key)
{
	cell_walk	w;
	dp_domain  *domain;
	bool		monotone = true;
	int			first;
	int			last;

	memset(&w, 0, sizeof(w));
	if (key->kind == DP_KEY_EXTRACT)
		(void) dp_places_key_extract_range(key->field, &monotone, &first,
										   &last);
	w.key = key;
	w.type = getBaseType(get_atttype(key->relid, key->attnum));
	w.repeats = !monotone;
	w.compare = &lookup_type_cache(getBaseType(key->type),
								   TYPECACHE_CMP_PROC_FINFO)->cmp_proc_finfo;
	w.bounds = dp_places_declared_interval(key, w.type);
	find_range(&w);
	if (!find_cells(&w))
		return NULL;
	w.asked = dp_places_conditions_begin(key, w.conditions);
	visit_cells(&w);
	visit_null(&w);
	domain = collect(&w);
	dp_places_conditions_end(w.asked);
	return domain;
}

/* dp_places_key_has_cells: see dp_places.h. */
bool
dp_places_key_has_cells(const dp_key *key)
{
	Oid			type = getBaseType(get_atttype(key->relid, key->attnum));
	dp_value_range bounds = dp_places_declared_interval(key, type);
	int64		length = 0;

	return dp_places_cells_refine(key->image, type, &bounds, &length) &&
		length > 0;
}
