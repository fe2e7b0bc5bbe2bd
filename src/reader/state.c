/*
 * state.c
 *	  A reader takes over what a job depends on, settings, transaction,
 *	  snapshot and user, and drops it afterwards.
 *
 * The reader's transaction relates to the connection's as a parallel worker's
 * does: it sees what that has written and not committed, and writes nothing.
 * It is always rolled back, which costs nothing and leaves no trace.
 */
#include "postgres.h"

#include "access/xact.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/combocid.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "reader.h"

/*
 * dp_reader_state_apply_settings
 *	  Apply the settings outside of a transaction, so that they persist.
 *	  Nothing is done if they are those of the last job, and settings that have
 *	  their value already are not set again.
 */
void
dp_reader_state_apply_settings(const dp_message *message)
{
	static StringInfoData applied = {0};
	const char *at = dp_reader_find_part(message, DP_PART_SETTINGS);
	int			size = message->size[DP_PART_SETTINGS];
	const char *end = at + size;

	if (applied.data == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

		initStringInfo(&applied);
		MemoryContextSwitchTo(old);
	}
	if (applied.len == size && memcmp(applied.data, at, size) == 0)
		return;
	resetStringInfo(&applied);	/* valid again when all are applied */
	while (at < end)
	{
		const char *name = at;
		const char *value = name + strlen(name) + 1;

		if (strcmp(GetConfigOption(name, false, false), value) != 0)
			SetConfigOption(name, value, PGC_SUSET, PGC_S_SESSION);
		at = value + strlen(value) + 1;
	}
	appendBinaryStringInfo(&applied, end - size, size);
}

/*
 * dp_reader_state_begin
 *	  Begin a transaction with the connection's snapshot, as its user.
 *
 * What its transaction has written to catalogs is only in its own caches, so
 * the reader's are reset.
 */
void
dp_reader_state_begin(const dp_message *message, PGPROC *session)
{
	char	   *state = (char *) dp_reader_find_part(message,
													 DP_PART_TRANSACTION);
	Snapshot	snapshot;

	SetCurrentStatementStartTimestamp();
	StartParallelWorkerTransaction(state);
	RestoreComboCIDState((char *) dp_reader_find_part(message, DP_PART_COMBO));
	snapshot = RestoreSnapshot((char *) dp_reader_find_part(message,
															DP_PART_SNAPSHOT));
	RestoreTransactionSnapshot(snapshot, session);
	PushActiveSnapshot(snapshot);
	if (message->writes)
		InvalidateSystemCaches();
	SetUserIdAndSecContext(message->user, message->security |
						   SECURITY_LOCAL_USERID_CHANGE |
						   SECURITY_RESTRICTED_OPERATION);
}

/* ---- locks ---- */

/* Join the connection's lock group, as its parallel workers do. */
static void
join_group(PGPROC *session)
{
	if (MyProc->lockGroupLeader == NULL &&
		!BecomeLockGroupMember(session, session->pid))
		dp_reader_raise_gone();
}

/*
 * dp_reader_state_lock
 *	  Lock every relation for reading, as the connection has.  False if the
 *	  plan must do without parallel workers.
 *
 * Only the connection itself can hold a conflicting lock.  But another process
 * may be queued for one, waiting for the connection, and the deadlock detector
 * does not know that the connection waits for its reader.  Then the reader
 * joins the lock group of the connection, which is granted such locks at once.
 * A member of a group cannot lead one of its own, so it has no workers then.
 */
bool
dp_reader_state_lock(const dp_message *message, PGPROC *session)
{
	const Oid  *relids = (const Oid *) dp_reader_find_part(message,
														   DP_PART_RELATIONS);
	int			n = message->size[DP_PART_RELATIONS] / sizeof(Oid);
	int			i;

	for (i = 0; i < n; i++)
	{
		if (ConditionalLockRelationOid(relids[i], AccessShareLock))
			continue;
		join_group(session);
		LockRelationOid(relids[i], AccessShareLock);
	}
	return MyProc->lockGroupLeader == NULL;
}

/* Is the process a member of the group?  *alone: is it the only one? */
static bool
is_member(PGPROC *leader, const PGPROC *process, bool *alone)
{
	bool		found = false;
	int			n = 0;
	dlist_iter	iter;

	dlist_foreach(iter, &leader->lockGroupMembers)
	{
		n++;
		if (dlist_container(PGPROC, lockGroupLink, iter.cur) == process)
			found = true;
	}
	*alone = found && n == 1;
	return found;
}

/*
 * Leave the lock group, the connection's or that of this process and its
 * parallel workers, which have ended; all locks are released.  If the leader
 * of a group has ended, the last member must clean up when it ends, so a
 * reader in that case ends (false).
 */
static bool
leave_group(void)
{
	PGPROC	   *leader = MyProc->lockGroupLeader;
	LWLock	   *lock;
	bool		alone;
	bool		left;

	if (leader == NULL)
		return true;
	lock = LockHashPartitionLockByProc(leader);
	LWLockAcquire(lock, LW_EXCLUSIVE);
	left = is_member(leader, leader, &alone) && (leader != MyProc || alone);
	if (left)
	{
		dlist_delete(&MyProc->lockGroupLink);
		MyProc->lockGroupLeader = NULL;
	}
	LWLockRelease(lock);
	return left;
}

/*
 * dp_reader_state_end
 *	  Roll back and release everything; also called after an error, and if
 *	  nothing has begun.  False if this process cannot continue.
 */
bool
dp_reader_state_end(const dp_message *message)
{
	AbortOutOfAnyTransaction();
	if (message != NULL && message->writes)
		InvalidateSystemCaches();
	return leave_group();
}
