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
 * dp_bridge_read_caches
 *	  The user, and what caches hold, of now; false where the transaction has
 *	  written, so that they hold what nobody else is told of, and in a parallel
 *	  operation.
 */
bool
dp_bridge_read_caches(dp_caches *out)
{
	MemSet(out, 0, sizeof(*out));
	if (TransactionIdIsValid(GetTopTransactionIdIfAny()) ||
		IsInParallelMode())
		return false;
	AcceptInvalidationMessages();
	out->messages = SharedInvalidMessageCounter;
	GetUserIdAndSecContext(&out->user, &out->context);
	out->outer = GetOuterUserId();
	out->session = GetSessionUserId();
	return true;
}

/* dp_bridge_same_caches: whatever rows of tables others have written. */
bool
dp_bridge_same_caches(const dp_caches *a, const dp_caches *b)
{
	return a->messages == b->messages && a->user == b->user &&
		a->context == b->context && a->outer == b->outer &&
		a->session == b->session;
}

/*
 * dp_bridge_read_stamp
 *	  The stamp of now; false, and no stamp, where there are no caches of now
 *	  or the transaction keeps one snapshot, so that it sees something else
 *	  than others do.  Requires a snapshot.
 */
bool
dp_bridge_read_stamp(dp_stamp *out)
{
	MemSet(out, 0, sizeof(*out));
	if (IsolationUsesXactSnapshot() || !dp_bridge_read_caches(&out->caches))
		return false;
	out->ended = GetLatestSnapshot()->snapXactCompletionCount;
	return out->ended != 0;
}

/* dp_bridge_same_stamp: is everything as it was? */
bool
dp_bridge_same_stamp(const dp_stamp *a, const dp_stamp *b)
{
	return a->ended == b->ended &&
		dp_bridge_same_caches(&a->caches, &b->caches);
}
