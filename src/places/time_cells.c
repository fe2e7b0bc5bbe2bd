/*
 * time_cells.c
 *	  Spans of time within which an expression over a timestamp is constant.
 *
 * date_trunc, extract and casts to date depend on a timestamp only through a
 * field of it in some time zone.  If every use of the column is in one of
 * these, the expression is constant within each cell: a span of time whose
 * length divides the shortest field and all offsets and changes of the zones.
 * So the values of an expression over a range of time are those at the starts
 * of its cells.  Nothing has to be monotone, as local time is not.
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "pgtime.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/formatting.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "domain.h"

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
	while (node != NULL && IsA(node, RelabelType))
		node = (const Node *) ((const RelabelType *) node)->arg;
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
unit_walker(Node *node, void *context)
{
	int64	   *unit = context;
	char	   *name;
	int			i;

	if (node == NULL)
		return false;
	name = constant_text(node);
	for (i = 0; name != NULL && i < lengthof(fields); i++)
		if (pg_strcasecmp(fields[i].field, name) == 0)
			*unit = Max(*unit, fields[i].unit / SECS_PER_DAY);
	return expression_tree_walker(node, unit_walker, context);
}

/*
 * dp_places_cells_refine
 *	  Shorten cells, whose *length is initially 0, so that the expression is
 *	  constant within each, as long as the column is within the interval; false
 *	  if no cells are short enough.
 *
 * Requires: a column of type date, timestamp or timestamptz.
 */
bool
dp_places_cells_refine(const Node *expression, Oid column_type,
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
 * dp_places_cells_reach
 *	  Largest distance, in days or microseconds, of values of the column with
 *	  the same value of the expression; includes a day for offsets of zones.
 */
int64
dp_places_cells_reach(const Node *expression, Oid column_type)
{
	int64		days = 0;

	(void) unit_walker((Node *) expression, &days);
	return column_type == DATEOID ? days + 1 : (days + 1) * USECS_PER_DAY;
}
