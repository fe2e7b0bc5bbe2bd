/*
 * period.c
 *	  When the spending of a budget starts again from zero.
 */
#include "postgres.h"

#include "datatype/timestamp.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"

#include "ledger.h"

/* Days and months are those of UTC, whatever the session's time zone. */
static TimestampTz
add_interval(TimestampTz start, const Interval *step)
{
	return DatumGetTimestamp(DirectFunctionCall2(timestamp_pl_interval,
												 TimestampGetDatum(start),
												 IntervalPGetDatum(step)));
}

/* dp_ledger_renewal: end of the present period; the row must renew. */
TimestampTz
dp_ledger_renewal(const dp_budget_row *row)
{
	return add_interval(row->period_start, &row->renew);
}

/*
 * dp_ledger_roll
 *	  Begin the period that `now` lies in: whole intervals are added to its
 *	  start, it gets another number, and its spending is zero.  Totals are
 *	  kept.
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
