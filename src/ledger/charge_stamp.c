/*
 * charge_stamp.c
 *	  Tell whether any transaction that wrote has ended, charges not counted.
 *
 * Where many connections ask small queries, tables, rights and declarations
 * stay the same from query to query, but the number of transactions that have
 * ended (bridge/stamp.c) grows by those that record charges.  So the workers
 * count these, and their number is subtracted from a stamp.
 *
 * A charge is counted after its commit.  In between, a stamp may be too large
 * by one for each worker that commits, and is not `exact`.  With
 *
 *		O	transactions other than charges that have ended,
 *		L	charges that have ended and are not counted yet,
 *
 * a stamp is O + L.  Let one be exact, and a later one equal to it: O1 + L1 =
 * O2 + L2.  No worker was committing at the first, so L1 counts charges that
 * will never be counted, because their worker ended in between.  Hence L2 >=
 * L1 and, since O2 >= O1, O1 = O2: if the first of two equal stamps is exact,
 * nothing but charges has ended.
 *
 * Charges change only sums of budgets, caps and batches, periods that the
 * clock has ended, and lines.
 */
#include "postgres.h"

#include "access/xact.h"
#include "port/atomics.h"

#include "ledger.h"

static bool begun = false;

/*
 * dp_ledger_commit_begins
 *	  The worker is about to commit a transaction that only charges.  Without a
 *	  transaction ID, it will not be among those that have ended.
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
 *	  The commit is over, or was given up (`done` false).  Does nothing if none
 *	  has begun.
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
 *	  dp_bridge_read_stamp without charges.  Compare the result only with
 *	  others of this function, of which the first must be *exact.
 */
bool
dp_ledger_read_stamp(dp_stamp *out, bool *exact)
{
	bool		none;			/* no worker was committing meanwhile */
	uint64		charged;

	*exact = false;
	if (dp_ledger_shared == NULL)
		return false;
	none = pg_atomic_read_u32(&dp_ledger_shared->committing) == 0;
	pg_memory_barrier();
	charged = pg_atomic_read_u64(&dp_ledger_shared->charged);
	pg_memory_barrier();		/* what is counted has ended by now */
	if (!dp_bridge_read_stamp(out))
		return false;
	out->ended -= charged;
	pg_memory_barrier();
	none &= pg_atomic_read_u32(&dp_ledger_shared->committing) == 0;
	pg_memory_barrier();		/* commits are counted before `committing`
								 * falls */
	*exact = none &&
		pg_atomic_read_u64(&dp_ledger_shared->charged) == charged;
	return true;
}
