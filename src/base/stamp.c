/*
 * stamp.c
 *	  Prove that nothing has been committed since.
 *
 * If two stamps of a process are equal, then between them the user was the
 * same, no transaction that wrote ended anywhere on the server, and no cache
 * invalidation was processed.  So tables, catalogs and rights are the same at
 * both; settings and clocks may differ.
 *
 * A transaction that ends is counted before its messages are sent.  A stamp
 * read in between has the new number with the old caches, but the messages are
 * counted, too, when they arrive.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/sinval.h"
#include "utils/inval.h"
#include "utils/snapmgr.h"

#include "dp_base.h"

/*
 * dp_base_read_caches
 *	  Identity of the current user, and number of cache invalidations
 *	  processed.  False if the transaction has written, since its caches then
 *	  hold what others do not see, and in a parallel operation.
 */
bool
dp_base_read_caches(dp_caches *out)
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

/* dp_base_same_caches: same user and caches; rows may have changed. */
bool
dp_base_same_caches(const dp_caches *a, const dp_caches *b)
{
	return a->messages == b->messages && a->user == b->user &&
		a->context == b->context && a->outer == b->outer &&
		a->session == b->session;
}

/*
 * dp_base_read_stamp
 *	  The current stamp; false if dp_base_read_caches is, or if the
 *	  transaction keeps one snapshot and so may not see the latest rows.
 *	  Requires a snapshot.
 */
bool
dp_base_read_stamp(dp_stamp *out)
{
	MemSet(out, 0, sizeof(*out));
	if (IsolationUsesXactSnapshot() || !dp_base_read_caches(&out->caches))
		return false;
	out->ended = GetLatestSnapshot()->snapXactCompletionCount;
	return out->ended != 0;
}

/* dp_base_same_stamp: true if nothing has changed. */
bool
dp_base_same_stamp(const dp_stamp *a, const dp_stamp *b)
{
	return a->ended == b->ended &&
		dp_base_same_caches(&a->caches, &b->caches);
}
