/*
 * worker_watch.c
 *	  For fuzz/neighbours.pl: what background workers do that is seen for a
 *	  moment only, or later.
 *
 * Readers and parallel workers write the locks that they hold when their
 * transaction ends to the file worker_locks in the data directory, a line
 * each.  The ledger's worker tells what it has counted after each of its
 * transactions, and not when a second has gone by.
 */
#include "postgres.h"

#include <stdio.h>

#include "access/xact.h"
#include "catalog/pg_database.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/lock.h"
#include "utils/backend_status.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

/* Numbers of transactions and databases differ: the kind is enough. */
static void
tell_lock(FILE *out, const LockInstanceData *lock)
{
	const LOCKTAG *tag = &lock->locktag;

	if (tag->locktag_type == LOCKTAG_VIRTUALTRANSACTION ||
		tag->locktag_type == LOCKTAG_TRANSACTION ||
		(tag->locktag_type == LOCKTAG_OBJECT &&
		 tag->locktag_field2 == DatabaseRelationId))
		fprintf(out, "%s", LockTagTypeNames[tag->locktag_type]);
	else
		fprintf(out, "%s %u %u %u", LockTagTypeNames[tag->locktag_type],
				tag->locktag_field2, tag->locktag_field3,
				tag->locktag_field4);
	fprintf(out, " held %x, waited for %d\n", lock->holdMask,
			lock->waitLockMode);
}

static void
tell_locks(void)
{
	FILE	   *out = fopen("worker_locks", "a");
	LockData   *locks = GetLockStatusData();
	int			i;

	for (i = 0; out != NULL && i < locks->nelements; i++)
		if (locks->locks[i].pid == MyProcPid)
			tell_lock(out, &locks->locks[i]);
	if (out != NULL)
		fclose(out);
}

static void
end_transaction(XactEvent event, void *arg)
{
	if (MyBgworkerEntry == NULL)
		return;
	if (MyBEEntry != NULL &&
		strcmp(MyBEEntry->st_appname, "dp_pg ledger") == 0)
		pgstat_force_next_flush();
	else if (event == XACT_EVENT_ABORT || event == XACT_EVENT_PRE_COMMIT ||
			 event == XACT_EVENT_PARALLEL_ABORT ||
			 event == XACT_EVENT_PARALLEL_PRE_COMMIT)
		tell_locks();
}

void
_PG_init(void)
{
	RegisterXactCallback(end_transaction, NULL);
}
