/*
 * latch.c
 *	  Waiting for another process of dp_pg.
 */
#include "postgres.h"

#include <sched.h>

#include "miscadmin.h"
#include "pgstat.h"
#include "portability/instr_time.h"
#include "storage/latch.h"

#include "dp_bridge.h"

/*
 * dp_bridge_spin
 *	  Spin on this process's latch for a while; true if it was set.  Yields the
 *	  processor to other processes meanwhile.
 */
bool
dp_bridge_spin(int usec)
{
	volatile Latch *latch = MyLatch;
	instr_time	start;
	instr_time	now;

	INSTR_TIME_SET_CURRENT(start);
	do
	{
		if (latch->is_set)
			return true;
		CHECK_FOR_INTERRUPTS();
		sched_yield();
		INSTR_TIME_SET_CURRENT(now);
		INSTR_TIME_SUBTRACT(now, start);
	} while (INSTR_TIME_GET_MICROSEC(now) < usec);
	return latch->is_set;
}

/*
 * dp_bridge_wait
 *	  Wait until this process's latch is set, at most `timeout` ms, and reset
 *	  it.  The caller then checks the condition that it waits for.
 */
void
dp_bridge_wait(long timeout)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 timeout, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

/*
 * dp_bridge_watch
 *	  The same, after spinning on the latch for `usec`.
 */
void
dp_bridge_watch(int usec, long timeout)
{
	if (usec > 0 && dp_bridge_spin(usec))
	{
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
	else
		dp_bridge_wait(timeout);
}
