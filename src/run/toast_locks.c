/*
 * toast_locks.c
 *	  Takes locks in advance that would otherwise reveal what the inner query
 *	  reads.
 *
 * A table's TOAST relation is locked only while an out-of-line value is being
 * fetched, which other sessions can watch in pg_locks.  So a release locks the
 * TOAST relations of every part that its plan reads beforehand, and keeps the
 * locks to the end of the transaction like those of the parts.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_class.h"
#include "storage/lmgr.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "run.h"

static Oid
toast_of(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid			toast = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		toast = ((Form_pg_class) GETSTRUCT(tuple))->reltoastrelid;
		ReleaseSysCache(tuple);
	}
	return toast;
}

/*
 * Lock a TOAST relation and its indexes; returns the list with their OIDs
 * added.
 */
static List *
lock_toast(Oid toast, List *locked)
{
	Relation	toast_rel;
	ListCell   *lc;

	toast_rel = relation_open(toast, AccessShareLock);
	locked = lappend_oid(locked, toast);
	foreach(lc, RelationGetIndexList(toast_rel))
	{
		LockRelationOid(lfirst_oid(lc), AccessShareLock);
		locked = lappend_oid(locked, lfirst_oid(lc));
	}
	relation_close(toast_rel, NoLock);
	return locked;
}

/*
 * dp_run_lock_toast
 *	  Lock the TOAST relations of locked relations, for reading.  Returns their
 *	  OIDs, and adds to *locked the OIDs of all that it locked.
 */
List *
dp_run_lock_toast(const List *relids, List **locked)
{
	List	   *toasts = NIL;
	ListCell   *lc;

	foreach(lc, relids)
	{
		Oid			toast = toast_of(lfirst_oid(lc));

		if (!OidIsValid(toast))
			continue;
		toasts = lappend_oid(toasts, toast);
		*locked = lock_toast(toast, *locked);
	}
	return toasts;
}
