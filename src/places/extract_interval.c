/*
 * extract_interval.c
 *	  The numbers that extract and date_part can return.
 *
 * Dates count days since 2000, timestamps and intervals microseconds;
 * intervals here are differences of timestamps: days and less than one more,
 * without months.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "parser/scansup.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"

#include "interval.h"

/* From the Unix epoch to PostgreSQL's. */
#define EPOCH_SECONDS \
	((POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * INT64CONST(86400))

/* Fields of a timestamp or time of day that are not integers or not keys. */
static const struct
{
	const char *field;
	int64		last;
}			fractions[] =
{
	{"second", 60},
	{"milliseconds", 60 * 1000},
	{"microseconds", 60 * 1000 * 1000}
};

static bool
find_fraction(const char *field, int64 *last)
{
	int			i;

	for (i = 0; i < lengthof(fractions); i++)
		if (strcmp(fractions[i].field, field) == 0)
		{
			*last = fractions[i].last;
			return true;
		}
	return false;
}

static dp_interval
by_million(dp_interval a)
{
	const dp_interval million = dp_places_interval_between(USECS_PER_SEC,
														   USECS_PER_SEC);

	return dp_places_interval_divide(a, million);
}

static dp_interval
epoch(Oid type, dp_interval a)
{
	dp_interval seconds;

	switch (type)
	{
		case DATEOID:
			seconds = dp_places_interval_multiply(
				a, dp_places_interval_between(SECS_PER_DAY, SECS_PER_DAY));
			break;
		case TIMEOID:
			return dp_places_interval_between(0, SECS_PER_DAY);
		default:
			seconds = by_million(a);
	}
	return type == INTERVALOID ? seconds :
		dp_places_interval_add(seconds,
							   dp_places_interval_between(EPOCH_SECONDS,
														  EPOCH_SECONDS));
}

/* The field of an end; false if it is unknown or not a valid timestamp. */
static bool
field_of_end(const char *field, Oid type, Numeric end, Numeric *value)
{
	PGFunction	extract = extract_timestamp;
	Timestamp	time;
	dp_int128	number;

	if (!dp_bridge_numeric_to_int128(dp_numeric_call1(numeric_floor, end),
									 &number))
		return false;
	if (type == DATEOID)
		number *= USECS_PER_DAY;
	if (number < MIN_TIMESTAMP || number >= END_TIMESTAMP)
		return false;
	time = (Timestamp) number;
	*value = DatumGetNumeric(DirectFunctionCall2(extract,
												 CStringGetTextDatum(field),
												 TimestampGetDatum(time)));
	return true;
}

/*
 * Fields that are monotone, such as years; local time is within a day of UTC.
 */
static dp_interval
rising(const char *field, Oid type, dp_interval a)
{
	dp_interval result = dp_places_interval_everything();

	if (type == TIMESTAMPTZOID)
		a = dp_places_interval_widen(a, USECS_PER_DAY);
	if (!dp_places_interval_is_bounded(a) ||
		!field_of_end(field, type, a.low, &result.low) ||
		!field_of_end(field, type, a.high, &result.high))
		return dp_places_interval_everything();
	return result;
}

static dp_interval
of_moment(const char *field, Oid type, dp_interval a)
{
	bool		monotone;
	int			first;
	int			last;

	if (!dp_places_key_extract_range(field, &monotone, &first, &last))
		return dp_places_interval_everything();
	if (monotone)
		return rising(field, type, a);
	return dp_places_interval_between(first, last);
}

static dp_interval
of_span(const char *field, dp_interval a)
{
	dp_interval day = dp_places_interval_between(USECS_PER_DAY, USECS_PER_DAY);

	if (!dp_places_interval_is_bounded(a))
		return dp_places_interval_everything();
	if (strcmp(field, "day") == 0)
		return dp_places_interval_map_to(dp_places_interval_divide(a, day),
										 numeric_trunc, 0);
	if (strcmp(field, "hour") == 0)
		return dp_places_interval_between(-23, 23);
	if (strcmp(field, "minute") == 0)
		return dp_places_interval_between(-59, 59);
	return dp_places_interval_everything();
}

/*
 * dp_places_interval_extract
 *	  extract(field from x) for x of the type and in the interval; everything,
 *	  if the field is not known to be bounded.
 */
dp_interval
dp_places_interval_extract(const Const *field, Oid type, dp_interval a)
{
	text	   *given;
	char	   *name;
	int64		last;

	if (a.empty || field->constisnull)
		return dp_places_interval_nothing();
	given = DatumGetTextPP(field->constvalue);
	name = downcase_truncate_identifier(VARDATA_ANY(given),
										VARSIZE_ANY_EXHDR(given), false);
	if (strcmp(name, "epoch") == 0)
		return epoch(type, a);
	if (find_fraction(name, &last))
		return dp_places_interval_between(type == INTERVALOID ? -last : 0,
										  last);
	switch (type)
	{
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return of_moment(name, type, a);
		case INTERVALOID:
			return of_span(name, a);
		case TIMEOID:
			if (strcmp(name, "hour") == 0)
				return dp_places_interval_between(0, 24);
			if (strcmp(name, "minute") == 0)
				return dp_places_interval_between(0, 59);
	}
	return dp_places_interval_everything();
}
