/*
 * total_functions_time.c
 *	  Dates, timestamps and intervals: truncation, fields, casts, time zones
 *	  and arithmetic that return NULL instead of raising errors.
 *
 * Why they cannot raise errors.  The built-ins raise errors for an unknown
 * field or zone, which is looked up here first, and for results outside of
 * 4714 BC to 294276 AD.  For times between DP_TIME_BEGIN and DP_TIME_END no
 * result leaves that range: truncation goes back less than 1000 years, a time
 * zone shifts by at most a week, and additions are allowed only if the result
 * stays between the two even with the longest possible parts of the interval.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "common/int.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "parser/scansup.h"
#include "pgtime.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/timestamp.h"

#include "../../base/dp_compat.h"
#include "expressions_internal.h"

/* Microseconds from 2000-01-01 to 3000-01-01 BC and to 290000-01-01. */
#define DP_TIME_BEGIN INT64CONST(-157753180800000000)
#define DP_TIME_END INT64CONST(9088402176000000000)

static bool
is_safe(Timestamp t)
{
	return t >= DP_TIME_BEGIN && t <= DP_TIME_END;
}

/* Infinities pass through casts, truncation and addition unchanged. */
static bool
is_safe_or_infinite(Timestamp t)
{
	return is_safe(t) || TIMESTAMP_NOT_FINITE(t);
}

/* ---- fields ---- */

#define F(field) (UINT64CONST(1) << (field))

#define CLOCK_FIELDS \
	(F(DTK_MICROSEC) | F(DTK_MILLISEC) | F(DTK_SECOND) | F(DTK_MINUTE) | \
	 F(DTK_HOUR))
#define LONG_FIELDS \
	(F(DTK_MONTH) | F(DTK_QUARTER) | F(DTK_YEAR) | F(DTK_DECADE) | \
	 F(DTK_CENTURY) | F(DTK_MILLENNIUM))
#define DATE_FIELDS \
	(F(DTK_DAY) | F(DTK_WEEK) | LONG_FIELDS | F(DTK_JULIAN) | \
	 F(DTK_ISOYEAR) | F(DTK_DOW) | F(DTK_ISODOW) | F(DTK_DOY))
#define ZONE_FIELDS \
	(F(DTK_TZ) | F(DTK_TZ_HOUR) | F(DTK_TZ_MINUTE))

/* The fields of date_trunc and extract, by type; extract also has epoch. */
static const struct
{
	Oid			type;
	uint64		trunc;
	uint64		extract;
}			known_fields[] = {
	{TIMESTAMPOID, CLOCK_FIELDS | F(DTK_DAY) | F(DTK_WEEK) | LONG_FIELDS,
	CLOCK_FIELDS | DATE_FIELDS},
	{TIMESTAMPTZOID, CLOCK_FIELDS | F(DTK_DAY) | F(DTK_WEEK) | LONG_FIELDS,
	CLOCK_FIELDS | DATE_FIELDS | ZONE_FIELDS},
	{DATEOID, 0, DATE_FIELDS},
	{TIMEOID, 0, CLOCK_FIELDS},
	{TIMETZOID, 0, CLOCK_FIELDS | ZONE_FIELDS},
	{INTERVALOID, CLOCK_FIELDS | F(DTK_DAY) | LONG_FIELDS,
	CLOCK_FIELDS | F(DTK_DAY) | LONG_FIELDS},
};

/*
 * dp_expressions_field_is_known
 *	  Whether date_trunc (or, unless trunc, extract and date_part) knows the
 *	  field for the type, in any spelling that PostgreSQL accepts.
 */
bool
dp_expressions_field_is_known(text *field, Oid type, bool trunc)
{
	char	   *word = downcase_truncate_identifier(VARDATA_ANY(field),
													VARSIZE_ANY_EXHDR(field),
													false);
	int			value;
	int			class = DecodeUnits(0, word, &value);
	int			i;

	if (class == UNKNOWN_FIELD && !trunc)
		class = DecodeSpecial(0, word, &value);
	pfree(word);
	if (class == RESERV)
		return !trunc && value == DTK_EPOCH;
	if (class != UNITS || value < 0 || value > 63)
		return false;
	for (i = 0; i < lengthof(known_fields); i++)
		if (known_fields[i].type == type)
			return ((trunc ? known_fields[i].trunc : known_fields[i].extract) &
					F(value)) != 0;
	return false;
}

/*
 * dp_expressions_zone_is_known
 *	  Whether AT TIME ZONE knows the zone.  Raises errors only if the server's
 *	  time zone files are damaged.
 */
bool
dp_expressions_zone_is_known(text *zone)
{
	char		name[TZ_STRLEN_MAX + 1];
	char	   *word;
	int			kind;

	text_to_cstring_buffer(zone, name, sizeof(name));
	word = downcase_truncate_identifier(name, strlen(name), false);
	kind = dp_compat_zone_kind(word);
	pfree(word);
	return kind == TZ || kind == DTZ || kind == DYNTZ ||
		pg_tzset(name) != NULL;
}

#define FIELD(type, trunc) \
	dp_expressions_field_is_known(PG_GETARG_TEXT_PP(0), type, trunc)

#define DP_GUARDED(name, condition) \
DP_TOTAL_FUNCTION(name) \
{ \
	if (!(condition)) \
		PG_RETURN_NULL(); \
	return name(fcinfo); \
}

/* ---- truncation and fields ---- */

DP_GUARDED(timestamp_trunc, FIELD(TIMESTAMPOID, true) &&
		   is_safe_or_infinite(PG_GETARG_TIMESTAMP(1)))
DP_GUARDED(timestamptz_trunc, FIELD(TIMESTAMPTZOID, true) &&
		   is_safe_or_infinite(PG_GETARG_TIMESTAMPTZ(1)))
DP_GUARDED(interval_trunc, FIELD(INTERVALOID, true))

/* Fields are extracted from a valid time, and no time is computed that could
 * be out of range.  Times of day and intervals have no limited range. */
DP_GUARDED(timestamp_part, FIELD(TIMESTAMPOID, false) &&
		   is_safe_or_infinite(PG_GETARG_TIMESTAMP(1)))
DP_GUARDED(extract_timestamp, FIELD(TIMESTAMPOID, false) &&
		   is_safe_or_infinite(PG_GETARG_TIMESTAMP(1)))
DP_GUARDED(timestamptz_part, FIELD(TIMESTAMPTZOID, false) &&
		   is_safe_or_infinite(PG_GETARG_TIMESTAMPTZ(1)))
DP_GUARDED(extract_timestamptz, FIELD(TIMESTAMPTZOID, false) &&
		   is_safe_or_infinite(PG_GETARG_TIMESTAMPTZ(1)))
DP_GUARDED(extract_date, FIELD(DATEOID, false))
DP_GUARDED(time_part, FIELD(TIMEOID, false))
DP_GUARDED(extract_time, FIELD(TIMEOID, false))
DP_GUARDED(timetz_part, FIELD(TIMETZOID, false))
DP_GUARDED(extract_timetz, FIELD(TIMETZOID, false))
DP_GUARDED(interval_part, FIELD(INTERVALOID, false))
DP_GUARDED(extract_interval, FIELD(INTERVALOID, false))

/* date_part of a date is that of the timestamp at its start. */
DP_TOTAL_FUNCTION(date_part_date)
{
	LOCAL_FCINFO(inner, 2);
	int			overflow;
	Timestamp	start;
	Datum		result;

	start = date2timestamp_opt_overflow(PG_GETARG_DATEADT(1), &overflow);
	if (overflow != 0 || !is_safe_or_infinite(start) ||
		!FIELD(TIMESTAMPOID, false))
		PG_RETURN_NULL();
	InitFunctionCallInfoData(*inner, NULL, 2, PG_GET_COLLATION(), NULL, NULL);
	inner->args[0] = fcinfo->args[0];
	inner->args[1].value = TimestampGetDatum(start);
	inner->args[1].isnull = false;
	result = timestamp_part(inner);
	if (inner->isnull)
		PG_RETURN_NULL();
	return result;
}

/* ---- casts and time zones ---- */

DP_TOTAL_FUNCTION(date_timestamp)
{
	int			overflow;
	Timestamp	result;

	result = date2timestamp_opt_overflow(PG_GETARG_DATEADT(0), &overflow);
	if (overflow != 0)
		PG_RETURN_NULL();
	PG_RETURN_TIMESTAMP(result);
}

DP_TOTAL_FUNCTION(date_timestamptz)
{
	int			overflow;
	TimestampTz result;

	result = date2timestamptz_opt_overflow(PG_GETARG_DATEADT(0), &overflow);
	if (overflow != 0)
		PG_RETURN_NULL();
	PG_RETURN_TIMESTAMPTZ(result);
}

DP_GUARDED(timestamp_timestamptz,
		   is_safe_or_infinite(PG_GETARG_TIMESTAMP(0)))
DP_GUARDED(timestamptz_timestamp,
		   is_safe_or_infinite(PG_GETARG_TIMESTAMPTZ(0)))
DP_GUARDED(interval_time, !INTERVAL_NOT_FINITE(PG_GETARG_INTERVAL_P(0)))
DP_GUARDED(timestamptz_date, is_safe_or_infinite(PG_GETARG_TIMESTAMPTZ(0)))
DP_GUARDED(timestamp_zone, is_safe_or_infinite(PG_GETARG_TIMESTAMP(1)) &&
		   dp_expressions_zone_is_known(PG_GETARG_TEXT_PP(0)))
DP_GUARDED(timestamptz_zone, is_safe_or_infinite(PG_GETARG_TIMESTAMPTZ(1)) &&
		   dp_expressions_zone_is_known(PG_GETARG_TEXT_PP(0)))

/* ---- arithmetic ---- */

/* date + days, or false if invalid; days has 64 bits so that -days fits. */
static bool
add_days(DateADT date, int64 days, DateADT *out)
{
	int64		sum = (int64) date + days;

	if (DATE_NOT_FINITE(date))
		*out = date;
	else if (sum <= PG_INT32_MIN || sum >= PG_INT32_MAX ||
			 !IS_VALID_DATE((DateADT) sum))
		return false;
	else
		*out = (DateADT) sum;
	return true;
}

DP_TOTAL_FUNCTION(date_pli)
{
	DateADT		result;

	if (!add_days(PG_GETARG_DATEADT(0), PG_GETARG_INT32(1), &result))
		PG_RETURN_NULL();
	PG_RETURN_DATEADT(result);
}

DP_TOTAL_FUNCTION(integer_pl_date)
{
	DateADT		result;

	if (!add_days(PG_GETARG_DATEADT(1), PG_GETARG_INT32(0), &result))
		PG_RETURN_NULL();
	PG_RETURN_DATEADT(result);
}

DP_TOTAL_FUNCTION(date_mii)
{
	DateADT		result;

	if (!add_days(PG_GETARG_DATEADT(0), -(int64) PG_GETARG_INT32(1), &result))
		PG_RETURN_NULL();
	PG_RETURN_DATEADT(result);
}

/* Two valid dates are less than 2^31 days apart. */
DP_TOTAL_FUNCTION(date_mi)
{
	DateADT		left = PG_GETARG_DATEADT(0);
	DateADT		right = PG_GETARG_DATEADT(1);
	int32		result;

	if (DATE_NOT_FINITE(left) || DATE_NOT_FINITE(right) ||
		pg_sub_s32_overflow(left, right, &result))
		PG_RETURN_NULL();
	PG_RETURN_INT32(result);
}

/*
 * Whether a time remains safe when the interval's parts are added or
 * subtracted, in any order.  They move it by at most |months| * 31 days +
 * |days| + |time|.  Doubles are wrong by a few milliseconds in 300000 years;
 * the safe range is four thousand years inside the valid one.  With one
 * infinity the result is infinite; two may be opposite and are not safe.
 */
static bool
is_safe_to_add(Timestamp t, const Interval *span)
{
	double		start = TIMESTAMP_NOT_FINITE(t) ? 0 : (double) t;
	double		reach;

	if (INTERVAL_NOT_FINITE(span))
		return !TIMESTAMP_NOT_FINITE(t);
	reach = fabs((double) span->month) * 31 * USECS_PER_DAY +
		fabs((double) span->day) * USECS_PER_DAY +
		fabs((double) span->time);
	return start - reach >= (double) DP_TIME_BEGIN &&
		start + reach <= (double) DP_TIME_END;
}

#define ADDABLE(type) \
	is_safe_to_add(PG_GETARG_##type(0), PG_GETARG_INTERVAL_P(1))

DP_GUARDED(timestamp_pl_interval, ADDABLE(TIMESTAMP))
DP_GUARDED(timestamp_mi_interval, ADDABLE(TIMESTAMP))
DP_GUARDED(timestamptz_pl_interval, ADDABLE(TIMESTAMPTZ))
DP_GUARDED(timestamptz_mi_interval, ADDABLE(TIMESTAMPTZ))

/* The same for the start of a date, which may overflow. */
static bool
is_safe_date_to_add(DateADT date, const Interval *span)
{
	int			overflow;
	Timestamp	start = date2timestamp_opt_overflow(date, &overflow);

	return overflow == 0 && is_safe_to_add(start, span);
}

#define DATE_ADDABLE \
	is_safe_date_to_add(PG_GETARG_DATEADT(0), PG_GETARG_INTERVAL_P(1))

DP_GUARDED(date_pl_interval, DATE_ADDABLE)
DP_GUARDED(date_mi_interval, DATE_ADDABLE)

/* The age of two safe times is below 300000 years. */
DP_GUARDED(timestamp_age, is_safe(PG_GETARG_TIMESTAMP(0)) &&
		   is_safe(PG_GETARG_TIMESTAMP(1)))
DP_GUARDED(timestamptz_age, is_safe(PG_GETARG_TIMESTAMPTZ(0)) &&
		   is_safe(PG_GETARG_TIMESTAMPTZ(1)))

/* Two safe times may be more than 2^63 microseconds apart. */
DP_TOTAL_FUNCTION(timestamp_mi)
{
	Timestamp	left = PG_GETARG_TIMESTAMP(0);
	Timestamp	right = PG_GETARG_TIMESTAMP(1);
	int64		difference;

	if (!is_safe(left) || !is_safe(right) ||
		pg_sub_s64_overflow(left, right, &difference))
		PG_RETURN_NULL();
	return timestamp_mi(fcinfo);
}

/*
 * Sum or difference of the parts, each tested for overflow, and the result for
 * the representation of an infinity.  With one infinity the built-in's result
 * is infinite; two may be opposite.
 */
static Datum
total_functions_time_combine(FunctionCallInfo fcinfo, Interval *left,
							 Interval *right, bool minus)
{
	Interval   *result = palloc(sizeof(Interval));

	if (INTERVAL_NOT_FINITE(left) && INTERVAL_NOT_FINITE(right))
		PG_RETURN_NULL();
	if (INTERVAL_NOT_FINITE(left) || INTERVAL_NOT_FINITE(right))
		return DirectFunctionCall2(minus ? interval_mi : interval_pl,
								   IntervalPGetDatum(left),
								   IntervalPGetDatum(right));
	if (minus ?
		(pg_sub_s32_overflow(left->month, right->month, &result->month) ||
		 pg_sub_s32_overflow(left->day, right->day, &result->day) ||
		 pg_sub_s64_overflow(left->time, right->time, &result->time)) :
		(pg_add_s32_overflow(left->month, right->month, &result->month) ||
		 pg_add_s32_overflow(left->day, right->day, &result->day) ||
		 pg_add_s64_overflow(left->time, right->time, &result->time)))
		PG_RETURN_NULL();
	if (INTERVAL_NOT_FINITE(result))
		PG_RETURN_NULL();
	PG_RETURN_INTERVAL_P(result);
}

DP_TOTAL_FUNCTION(interval_pl)
{
	return total_functions_time_combine(fcinfo, PG_GETARG_INTERVAL_P(0),
										PG_GETARG_INTERVAL_P(1), false);
}

DP_TOTAL_FUNCTION(interval_mi)
{
	return total_functions_time_combine(fcinfo, PG_GETARG_INTERVAL_P(0),
										PG_GETARG_INTERVAL_P(1), true);
}

DP_TOTAL_FUNCTION(interval_um)
{
	Interval	zero = {0};

	return total_functions_time_combine(fcinfo, &zero, PG_GETARG_INTERVAL_P(0),
										true);
}
