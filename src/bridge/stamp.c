/*
 * stamp.c
 *	  Has anything been committed since?
 *
 * Two stamps that are equal have been read by one process, of one user, while
 * no transaction that wrote came to its end anywhere on the server, and no
 * message that empties a cache was read.  So whatever tables, catalogs and
 * rights say is the same at both; not what settings and clocks do.
 *
 * A transaction that ends is counted before its messages are sent.  Who looks
 * in between takes the number of the one with caches of the other; then the
 * messages come and are counted, too.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/sinval.h"
#include "utils/inval.h"
#include "utils/snapmgr.h"

#include "dp_bridge.h"

/*
 * dp_bridge_read_stamp
 *	  The stamp of now; false, and no stamp, where the transaction has written
 *	  or keeps one snapshot, so that it sees something else than others do,
 *	  and in a parallel operation.  Requires a snapshot.
 */
bool
dp_bridge_read_stamp(dp_stamp *out)
{
	MemSet(out, 0, sizeof(*out));
	if (TransactionIdIsValid(GetTopTransactionIdIfAny()) ||
		IsolationUsesXactSnapshot() || IsInParallelMode())
		return false;
	AcceptInvalidationMessages();
	out->messages = SharedInvalidMessageCounter;
	out->ended = GetLatestSnapshot()->snapXactCompletionCount;
	GetUserIdAndSecContext(&out->user, &out->context);
	out->outer = GetOuterUserId();
	out->session = GetSessionUserId();
	return out->ended != 0;
}

/*
 * dp_bridge_same_caches
 *	  Are the user and all that caches hold as they were, whatever rows of
 *	  tables others have written?
 */
bool
dp_bridge_same_caches(const dp_stamp *a, const dp_stamp *b)
{
	return a->messages == b->messages && a->user == b->user &&
		a->context == b->context && a->outer == b->outer &&
		a->session == b->session;
}

/* dp_bridge_same_stamp: is everything as it was? */
bool
dp_bridge_same_stamp(const dp_stamp *a, const dp_stamp *b)
{
	return a->ended == b->ended && dp_bridge_same_caches(a, b);
}
