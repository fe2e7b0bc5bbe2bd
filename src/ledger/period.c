/*
 * period.c
 *	  Renewal of budgets: when spending starts again from zero.
 */
#include "postgres.h"

#include "datatype/timestamp.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"

#include "ledger.h"

/* Days and months are those of UTC, whatever the connection's time zone. */
static TimestampTz
add_interval(TimestampTz start, const Interval *step)
{
	return DatumGetTimestamp(DirectFunctionCall2(timestamp_pl_interval,
												 TimestampGetDatum(start),
												 IntervalPGetDatum(step)));
}

/* dp_ledger_renewal: end of the current period; the row must renew. */
TimestampTz
dp_ledger_renewal(const dp_budget_row *row)
{
	return add_interval(row->period_start, &row->renew);
}

/*
 * dp_ledger_roll
 *	  If the row's period is over, begin the one that `now` lies in: whole
 *	  intervals are added to its start, its number grows by one, and its
 *	  spending is zero.  Totals are kept.
 */
void
dp_ledger_roll(dp_budget_row *row, TimestampTz now)
{
	int64		usec = row->renew.time + row->renew.day * USECS_PER_DAY;

	if (!row->renews || dp_ledger_renewal(row) > now)
		return;
	if (row->renew.month == 0)
	{
		if (usec <= 0)
			elog(ERROR, "renewal interval is not positive");
		row->period_start += (now - row->period_start) / usec * usec;
	}
	else
	{
		if (row->renew.month < 0 || usec < 0)
			elog(ERROR, "renewal interval is not positive");
		while (dp_ledger_renewal(row) <= now)
			row->period_start = dp_ledger_renewal(row);
	}
	row->period++;
	MemSet(&row->spent, 0, sizeof(row->spent));
}
