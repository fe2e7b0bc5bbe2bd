/*
 * decide_time.c
 *	  The values of a key that is a field of a date or timestamp, that its
 *	  conditions leave.
 *
 * Key and conditions are evaluated at one time of every cell.  A bucket stays
 * if the conditions hold in one of its cells, even beyond the declared bounds,
 * since the first and last bucket hold rows from there.
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "pgtime.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/formatting.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "../../base/dp_base.h"
#include "dp_domains.h"
#include "domains_internal.h"

/* ----------------
 *		Spans of time within which an expression over a timestamp is constant.
 *
 * date_trunc, extract and casts to date depend on a timestamp only through a
 * field of it in some time zone.  If every use of the column is in one of
 * these, the expression is constant within each cell: a span of time whose
 * length divides the shortest field and all offsets and changes of the zones.
 * So the values of an expression over a range of time are those at the starts
 * of its cells.  Nothing has to be monotone, as local time is not.
 * ----------------
 */

#define EPOCH_SECONDS \
	((POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * (int64) SECS_PER_DAY)

typedef struct refining
{
	const dp_value_range *within;
	int64		seconds;		/* length of cells so far */
} refining;

static int64
common_divisor(int64 a, int64 b)
{
	a = a < 0 ? -a : a;
	b = b < 0 ? -b : b;
	while (b != 0)
	{
		int64		rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* ---- time zones ---- */

static pg_time_t
unix_time(Timestamp at)
{
	return at / USECS_PER_SEC + EPOCH_SECONDS;
}

/* Refine by the zone's offsets in the range and the times of their changes. */
static bool
refine_by_zone(refining *r, pg_tz *zone)
{
	pg_time_t	at = unix_time(r->within->first) - 2 * SECS_PER_DAY;
	pg_time_t	last = unix_time(r->within->last) + 2 * SECS_PER_DAY;
	long		before;
	long		after;
	int			is_dst;
	pg_time_t	change;

	for (;;)
	{
		int			found = pg_next_dst_boundary(&at, &before, &is_dst,
												 &change, &after, &is_dst,
												 zone);

		if (found < 0)
			return false;
		r->seconds = common_divisor(r->seconds, before);
		if (found == 0 || change > last)
			return true;
		r->seconds = common_divisor(r->seconds, change);
		r->seconds = common_divisor(r->seconds, after);
		at = change;
	}
}

static char *
constant_text(const Node *node)
{
	node = dp_base_unlabelled(node);
	if (node == NULL || !IsA(node, Const) || ((Const *) node)->constisnull ||
		((Const *) node)->consttype != TEXTOID)
		return NULL;
	return TextDatumGetCString(((Const *) node)->constvalue);
}

/*
 * The same for a zone given by its full name; abbreviations are not supported.
 */
static bool
refine_by_name(refining *r, const Node *name)
{
	char	   *text = constant_text(name);
	pg_tz	   *zone = text == NULL ? NULL : pg_tzset(text);

	return zone != NULL && refine_by_zone(r, zone);
}

/* Whether it is the column, perhaps converted between time zones. */
static bool
refine_by_source(refining *r, const Node *node)
{
	const FuncExpr *call = (const FuncExpr *) node;

	if (IsA(node, RelabelType))
		return refine_by_source(r, (const Node *)
								((const RelabelType *) node)->arg);
	if (IsA(node, Var))
		return ((const Var *) node)->varattno == DP_KEY_COLUMN;
	if (!IsA(node, FuncExpr))
		return false;
	switch (call->funcid)
	{
		case F_TIMESTAMP_TIMESTAMPTZ:
		case F_TIMESTAMPTZ_TIMESTAMP:
			return refine_by_zone(r, session_timezone) &&
				refine_by_source(r, linitial(call->args));
		case F_TIMEZONE_TEXT_TIMESTAMP:
		case F_TIMEZONE_TEXT_TIMESTAMPTZ:
			return refine_by_name(r, linitial(call->args)) &&
				refine_by_source(r, lsecond(call->args));
		default:
			return false;
	}
}

/* ---- fields ---- */

static const struct
{
	const char *field;
	int64		length;			/* of its shortest span, in seconds */
	int64		unit;			/* of its longest span */
}			fields[] =
{
	{"second", 1, 1},
	{"minute", SECS_PER_MINUTE, SECS_PER_MINUTE},
	{"hour", SECS_PER_HOUR, SECS_PER_HOUR},
	{"day", SECS_PER_DAY, SECS_PER_DAY},
	{"dow", SECS_PER_DAY, SECS_PER_DAY},
	{"isodow", SECS_PER_DAY, SECS_PER_DAY},
	{"doy", SECS_PER_DAY, SECS_PER_DAY},
	{"week", SECS_PER_DAY, 7 * SECS_PER_DAY},
	{"month", SECS_PER_DAY, 31 * SECS_PER_DAY},
	{"quarter", SECS_PER_DAY, 92 * SECS_PER_DAY},
	{"year", SECS_PER_DAY, 366 * SECS_PER_DAY},
	{"isoyear", SECS_PER_DAY, 371 * SECS_PER_DAY},
	{"decade", SECS_PER_DAY, (int64) 3653 * SECS_PER_DAY},
	{"century", SECS_PER_DAY, (int64) 36525 * SECS_PER_DAY},
	{"millennium", SECS_PER_DAY, (int64) 365250 * SECS_PER_DAY}
};

/* extract(second ..) has fractions and is not supported; date_trunc is. */
static bool
refine_by_field(refining *r, const Node *field, bool truncates)
{
	char	   *name = constant_text(field);
	int			i;

	if (name == NULL)
		return false;
	name = str_tolower(name, strlen(name), C_COLLATION_OID);
	for (i = truncates ? 0 : 1; i < lengthof(fields); i++)
		if (strcmp(fields[i].field, name) == 0)
		{
			r->seconds = common_divisor(r->seconds, fields[i].length);
			return true;
		}
	return false;
}

/* Refine by floor(extract(epoch from column) / n), which dashboards use. */
static bool
refine_by_epoch(refining *r, const FuncExpr *call)
{
	const OpExpr *quotient = linitial(call->args);
	const FuncExpr *epoch;
	Const	   *divisor;
	char	   *field;
	int32		seconds;

	if (!IsA(quotient, OpExpr) || quotient->opfuncid != F_NUMERIC_DIV ||
		!IsA(linitial(quotient->args), FuncExpr))
		return false;
	epoch = linitial(quotient->args);
	divisor = (Const *) eval_const_expressions(NULL, lsecond(quotient->args));
	if (!IsA(divisor, Const))
		return false;
	if (epoch->funcid != F_EXTRACT_TEXT_TIMESTAMP &&
		epoch->funcid != F_EXTRACT_TEXT_TIMESTAMPTZ)
		return false;
	field = constant_text(linitial(epoch->args));
	if (field == NULL || pg_strcasecmp(field, "epoch") != 0 ||
		divisor->constisnull ||
		!refine_by_source(r, lsecond(epoch->args)))
		return false;
	/* a whole number of seconds that divides a day */
	for (seconds = 1; seconds <= SECS_PER_DAY; seconds++)
		if (SECS_PER_DAY % seconds == 0 &&
			DatumGetBool(DirectFunctionCall2(numeric_eq, divisor->constvalue,
											 NumericGetDatum(
												 int64_to_numeric(seconds)))))
		{
			r->seconds = common_divisor(r->seconds, seconds);
			return true;
		}
	return false;
}

/* Whether it is a call that depends on the column only through a field. */
static bool
refine_by_call(refining *r, const FuncExpr *call)
{
	switch (call->funcid)
	{
		case F_DATE_TRUNC_TEXT_TIMESTAMP:
			return refine_by_field(r, linitial(call->args), true) &&
				refine_by_source(r, lsecond(call->args));
		case F_DATE_TRUNC_TEXT_TIMESTAMPTZ:
			return refine_by_field(r, linitial(call->args), true) &&
				refine_by_zone(r, session_timezone) &&
				refine_by_source(r, lsecond(call->args));
		case F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT:
			return refine_by_field(r, linitial(call->args), true) &&
				refine_by_name(r, lthird(call->args)) &&
				refine_by_source(r, lsecond(call->args));
		case F_EXTRACT_TEXT_TIMESTAMP:
		case F_DATE_PART_TEXT_TIMESTAMP:
			return refine_by_field(r, linitial(call->args), false) &&
				refine_by_source(r, lsecond(call->args));
		case F_EXTRACT_TEXT_TIMESTAMPTZ:
		case F_DATE_PART_TEXT_TIMESTAMPTZ:
			return refine_by_field(r, linitial(call->args), false) &&
				refine_by_zone(r, session_timezone) &&
				refine_by_source(r, lsecond(call->args));
		case F_DATE_TIMESTAMP:
			r->seconds = common_divisor(r->seconds, SECS_PER_DAY);
			return refine_by_source(r, linitial(call->args));
		case F_DATE_TIMESTAMPTZ:
			r->seconds = common_divisor(r->seconds, SECS_PER_DAY);
			return refine_by_zone(r, session_timezone) &&
				refine_by_source(r, linitial(call->args));
		case F_FLOOR_NUMERIC:
			return refine_by_epoch(r, call);
		default:
			return false;
	}
}

/* True if the column is used in any other way. */
static bool
refine_walker(Node *node, void *context)
{
	refining   *r = context;
	refining	before = *r;

	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return ((Var *) node)->varattno == DP_KEY_COLUMN;
	if (IsA(node, FuncExpr))
	{
		if (refine_by_call(r, (FuncExpr *) node))
			return false;
		*r = before;
	}
	return expression_tree_walker(node, refine_walker, context);
}

/* Find the longest unit of time that is named, in days. */
static bool
note_longest_unit(Node *node, const dp_walk *walk)
{
	int64	   *unit = walk->context;
	char	   *name = constant_text(node);
	int			i;

	for (i = 0; name != NULL && i < lengthof(fields); i++)
		if (pg_strcasecmp(fields[i].field, name) == 0)
			*unit = Max(*unit, fields[i].unit / SECS_PER_DAY);
	return false;
}

/*
 * cells_refine
 *	  Shorten cells, whose *length is initially 0, so that the expression is
 *	  constant within each, as long as the column is within the interval; false
 *	  if no cells are short enough.
 *
 * Requires: a column of type date, timestamp or timestamptz.
 */
static bool
cells_refine(const Node *expression, Oid column_type,
			 const dp_value_range *within, int64 *length)
{
	refining	r = {within, *length / USECS_PER_SEC};

	if (column_type == DATEOID)
	{
		*length = 1;
		return true;
	}
	if (refine_walker((Node *) expression, &r))
		return false;
	*length = r.seconds * USECS_PER_SEC;
	return true;
}

/*
 * cells_reach
 *	  Largest distance, in days or microseconds, of values of the column with
 *	  the same value of the expression; includes a day for offsets of zones.
 */
static int64
cells_reach(const Node *expression, Oid column_type)
{
	int64		days = 0;

	(void) dp_base_contains((Node *) expression, note_longest_unit, &days,
							DP_WALK_ONE_LEVEL);
	return column_type == DATEOID ? days + 1 : (days + 1) * USECS_PER_DAY;
}

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
		return cells_reach(w->key->image, w->type);
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
	dp_domains_narrow(w->key, w->type, &w->narrowed);
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

	if (!cells_refine(w->key->image, w->type, &w->range,
					  &w->length))
		return false;
	foreach(lc, w->key->conditions)
		if (!dp_domains_mentions(lfirst(lc), DP_KEY_COLUMN) ||
			dp_domains_is_comparison(lfirst(lc), w->type) ||
			cells_refine(lfirst(lc), w->type, &w->range,
						 &w->length))
			w->conditions = lappend(w->conditions, lfirst(lc));
	return w->length > 0 && w->range.last / w->length -
		w->range.first / w->length < DP_DECIDED_MAX;
}

/* ---- looking ---- */

static int
decide_time_compare_values(const cell_walk *w, Datum a, Datum b)
{
	return DatumGetInt32(FunctionCall2Coll(w->compare, w->key->collation, a,
										   b));
}

static int
compare_found(const void *a, const void *b, void *arg)
{
	return decide_time_compare_values(arg, ((const cell_value *) a)->value,
									  ((const cell_value *) b)->value);
}

static cell_value *
add_found(cell_walk *w, Datum value)
{
	cell_value *last = w->nfound == 0 ? NULL : &w->found[w->nfound - 1];

	if (last != NULL && decide_time_compare_values(w, last->value, value) == 0)
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
	Datum		column = dp_domains_ordered_datum(w->type, at);
	bool		isnull;
	Datum		value = dp_domains_conditions_image(w->asked, column, false,
													&isnull);
	cell_value *found;

	if (isnull)
	{
		w->null |= w->key->kind == DP_KEY_IMAGE &&
			at >= w->bounds.first && at <= w->bounds.last &&
			dp_domains_conditions_hold(w->asked, column, false, value, true);
		return;
	}
	found = add_found(w, value);
	found->inside |= w->repeats ||
		(at >= w->bounds.first && at <= w->bounds.last);
	found->kept |= dp_domains_conditions_hold(w->asked, column, false, value,
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
	Datum		value = dp_domains_conditions_image(w->asked, (Datum) 0, true,
													&isnull);
	cell_value *found;

	if (!w->key->nullable ||
		!dp_domains_conditions_hold(w->asked, (Datum) 0, true, value, isnull))
		return;
	w->null |= isnull;
	if (isnull)
		return;
	found = add_found(w, value);
	found->inside = found->kept = true;
}

/* ---- what was found ---- */

static dp_domain *
decide_time_collect(cell_walk *w)
{
	dp_domain  *domain = dp_domains_empty(getBaseType(w->key->type));
	int64		i = 0;

	if (w->nfound > 1)
		qsort_arg(w->found, w->nfound, sizeof(cell_value), compare_found, w);
	while (i < w->nfound)
	{
		Datum		value = w->found[i].value;
		bool		inside = false;
		bool		kept = false;

		for (; i < w->nfound &&
			 decide_time_compare_values(w, w->found[i].value, value) == 0; i++)
		{
			inside |= w->found[i].inside;
			kept |= w->found[i].kept;
		}
		if (inside && kept)
			dp_domains_append(domain, value);
	}
	dp_domains_end(domain, w->null);
	return domain;
}

/*
 * dp_domains_decide_time
 *	  The domain of a DP_KEY_TRUNC or DP_KEY_EXTRACT, or a DP_KEY_IMAGE of a
 *	  timestamp; NULL if the bounds are too far apart to visit all cells.
 */
dp_domain *
dp_domains_decide_time(const dp_key *key)
{
	cell_walk	w;
	dp_domain  *domain;
	bool		monotone = true;
	int			first;
	int			last;

	memset(&w, 0, sizeof(w));
	if (key->kind == DP_KEY_EXTRACT)
		(void) dp_domains_key_extract_range(key->field, &monotone, &first,
											&last);
	w.key = key;
	w.type = getBaseType(get_atttype(key->relid, key->attnum));
	w.repeats = !monotone;
	w.compare = &lookup_type_cache(getBaseType(key->type),
								   TYPECACHE_CMP_PROC_FINFO)->cmp_proc_finfo;
	w.bounds = dp_domains_declared_interval(key, w.type);
	find_range(&w);
	if (!find_cells(&w))
		return NULL;
	w.asked = dp_domains_conditions_begin(key, w.conditions);
	visit_cells(&w);
	visit_null(&w);
	domain = decide_time_collect(&w);
	domain->part = dp_domains_part(&w.narrowed, &w.bounds);
	dp_domains_conditions_end(w.asked);
	return domain;
}

/* dp_domains_key_has_cells: see dp_domains.h. */
bool
dp_domains_key_has_cells(const dp_key *key)
{
	Oid			type = getBaseType(get_atttype(key->relid, key->attnum));
	dp_value_range bounds = dp_domains_declared_interval(key, type);
	int64		length = 0;

	return cells_refine(key->image, type, &bounds, &length) &&
		length > 0;
}
