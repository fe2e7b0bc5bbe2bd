/*
 * state.c
 *	  A reader takes over what a job depends on: settings, transaction,
 *	  snapshot, user; and forgets it again.
 *
 * The reader's transaction is to the session's what a parallel worker's is: it
 * sees what that has written and not committed, and writes nothing.  It is
 * always rolled back, which costs nothing and leaves no trace.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/combocid.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "reader.h"

#define LOCK_POLL 10			/* ms between two looks at a lock */

/*
 * dp_state_apply_settings
 *	  Outside of a transaction, so that they stay; what has its value already
 *	  is left alone.
 */
void
dp_state_apply_settings(const dp_message *message)
{
	const char *at = dp_message_find(message, DP_PART_SETTINGS);
	const char *end = at + message->size[DP_PART_SETTINGS];

	while (at < end)
	{
		const char *name = at;
		const char *value = name + strlen(name) + 1;

		if (strcmp(GetConfigOption(name, false, false), value) != 0)
			SetConfigOption(name, value, PGC_SUSET, PGC_S_SESSION);
		at = value + strlen(value) + 1;
	}
}

/*
 * dp_state_begin
 *	  Begin a transaction with the session's snapshot, as its user.
 *
 * What the session has written to catalogs is in nobody's caches but its own.
 */
void
dp_state_begin(const dp_message *message, PGPROC *session)
{
	char	   *state = (char *) dp_message_find(message,
												 DP_PART_TRANSACTION);
	Snapshot	snapshot;

	SetCurrentStatementStartTimestamp();
	StartParallelWorkerTransaction(state);
	RestoreComboCIDState((char *) dp_message_find(message, DP_PART_COMBO));
	snapshot = RestoreSnapshot((char *) dp_message_find(message,
														DP_PART_SNAPSHOT));
	RestoreTransactionSnapshot(snapshot, session);
	PushActiveSnapshot(snapshot);
	if (message->writes)
		InvalidateSystemCaches();
	SetUserIdAndSecContext(message->user, message->security |
						   SECURITY_LOCAL_USERID_CHANGE |
						   SECURITY_RESTRICTED_OPERATION);
}

/* dp_state_end: roll back; also after an error, and when nothing began. */
void
dp_state_end(const dp_message *message)
{
	AbortOutOfAnyTransaction();
	if (message != NULL && message->writes)
		InvalidateSystemCaches();
}

/* 55P03, which the session tells in its own words. */
pg_noreturn static void
raise_locked(Oid relid)
{
	ereport(ERROR,
			(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
			 errmsg("could not lock relation with OID %u for reading",
					relid)));
}

static void
lock_relation(Oid relid, TimestampTz deadline)
{
	while (!ConditionalLockRelationOid(relid, AccessShareLock))
	{
		if (GetCurrentTimestamp() >= deadline)
			raise_locked(relid);
		dp_bridge_wait(LOCK_POLL);
	}
}

/*
 * dp_state_lock
 *	  Lock every relation for reading, as the session has.
 *
 * Nobody holds what would exclude that, since the session holds it, but
 * somebody may wait for it, who waits for the session.  The server cannot see
 * that the session waits for its reader, so the reader never waits in a queue.
 *
 * Errors: 55P03.
 */
void
dp_state_lock(const dp_message *message)
{
	const Oid  *relids = (const Oid *) dp_message_find(message,
													   DP_PART_RELATIONS);
	int			n = message->size[DP_PART_RELATIONS] / sizeof(Oid);
	TimestampTz deadline =
		TimestampTzPlusMilliseconds(GetCurrentTimestamp(), message->patience);
	int			i;

	for (i = 0; i < n; i++)
		lock_relation(relids[i], deadline);
}
