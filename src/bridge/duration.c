/*
 * duration.c
 *	  Durations in settings, written as intervals.  Parsing raises no errors,
 *	  since check hooks must not.
 */
#include "postgres.h"

#include "datatype/timestamp.h"
#include "utils/datetime.h"
#include "utils/timestamp.h"

#include "dp_bridge.h"

/* Longest text; each field is then shorter than half of the buffer. */
#define LONGEST 64

/* Months and days count as in comparisons of intervals. */
static int64
microseconds(const struct pg_itm_in *time)
{
	int64		days = ((int64) time->tm_year * MONTHS_PER_YEAR +
						time->tm_mon) * DAYS_PER_MONTH + time->tm_mday;

	return days * USECS_PER_DAY + time->tm_usec;
}

/*
 * dp_bridge_read_duration
 *	  Microseconds of an interval of more than 0 and at most 366 days.  False
 *	  for any other text.
 */
bool
dp_bridge_read_duration(const char *text, int64 *out)
{
	char		buffer[2 * LONGEST];
	char	   *field[MAXDATEFIELDS];
	int			type[MAXDATEFIELDS];
	struct pg_itm_in time = {0};
	int			kind;
	int			n;

	if (strlen(text) >= LONGEST ||
		ParseDateTime(text, buffer, sizeof(buffer), field, type,
					  MAXDATEFIELDS, &n) != 0 ||
		DecodeInterval(field, type, n, INTERVAL_FULL_RANGE, &kind,
					   &time) != 0 ||
		kind != DTK_DELTA)
		return false;
	if (abs(time.tm_year) > 1 || abs(time.tm_mon) > MONTHS_PER_YEAR ||
		abs(time.tm_mday) > 366 || time.tm_usec > 366 * USECS_PER_DAY ||
		time.tm_usec < 0)
		return false;
	*out = microseconds(&time);
	return *out > 0 && *out <= 366 * USECS_PER_DAY;
}
