/*
 * charge_stamp.c
 *	  Has any transaction that wrote ended since, besides charges?
 *
 * Who asks small queries all day, beside others who do, finds the same tables,
 * rights and declarations each time, but not the same number of transactions
 * that have ended (bridge/stamp.c): those of workers that record charges.  So
 * workers count these, and a stamp is read without them.
 *
 * A commit is counted when it has ended.  Until then a stamp is too large by
 * one for each worker that commits: then it is not `exact`.  With
 *
 *		O	transactions that have ended, besides charges,
 *		L	charges that have ended and are not counted yet,
 *
 * a stamp is O + L.  Let one be exact, and a later one equal to it: O1 + L1 =
 * O2 + L2.  No worker was committing at the first, so L1 are those that never
 * will be counted, because a worker ended in between; hence L2 >= L1, and as
 * O2 >= O1, both are equal.  So nothing else has ended, if the first of two
 * equal stamps is exact.
 *
 * What charges change are sums of budgets, caps and batches, and lines; where
 * a budget's period ends by the clock, too.
 */
#include "postgres.h"

#include "access/xact.h"
#include "port/atomics.h"

#include "ledger.h"

static bool begun = false;

/*
 * dp_ledger_commit_begins
 *	  The worker is about to commit a transaction that only charges.  One that
 *	  has written nothing is not counted among those that have ended.
 */
void
dp_ledger_commit_begins(void)
{
	if (!TransactionIdIsValid(GetTopTransactionIdIfAny()))
		return;
	begun = true;
	pg_atomic_fetch_add_u32(&dp_ledger_shared->committing, 1);
}

/*
 * dp_ledger_commit_ends
 *	  It has, or the worker will not commit any more (`done` false); does
 *	  nothing where nothing began.
 */
void
dp_ledger_commit_ends(bool done)
{
	if (!begun)
		return;
	begun = false;
	if (done)
		pg_atomic_fetch_add_u64(&dp_ledger_shared->charged, 1);
	pg_atomic_fetch_sub_u32(&dp_ledger_shared->committing, 1);
}

/*
 * dp_ledger_read_stamp
 *	  As dp_bridge_read_stamp, charges not counted: to be compared with others
 *	  that this function gives, of which the first must be *exact.
 */
bool
dp_ledger_read_stamp(dp_stamp *out, bool *exact)
{
	bool		none;			/* committed all the time */
	uint64		charged;

	*exact = false;
	if (dp_ledger_shared == NULL)
		return false;
	none = pg_atomic_read_u32(&dp_ledger_shared->committing) == 0;
	pg_memory_barrier();
	charged = pg_atomic_read_u64(&dp_ledger_shared->charged);
	pg_memory_barrier();		/* what is counted has ended before */
	if (!dp_bridge_read_stamp(out))
		return false;
	out->ended -= charged;
	pg_memory_barrier();
	none &= pg_atomic_read_u32(&dp_ledger_shared->committing) == 0;
	pg_memory_barrier();		/* it is counted before it is through */
	*exact = none &&
		pg_atomic_read_u64(&dp_ledger_shared->charged) == charged;
	return true;
}
