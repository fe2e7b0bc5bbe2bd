/*
 * locks.c
 *	  Locks that would otherwise tell what the inner query reads.
 *
 * A table's TOAST relation is locked only while an out-of-line value is being
 * fetched, which another session can watch in pg_locks.  So a release locks
 * the TOAST relations of every part of the private relation beforehand, and
 * keeps the locks to the end of the transaction like those of the parts.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/table.h"
#include "catalog/pg_inherits.h"
#include "storage/lmgr.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "release.h"

static List *
lock_toast(Oid part, List *locked)
{
	Relation	rel = table_open(part, NoLock);
	Oid			toast = rel->rd_rel->reltoastrelid;
	Relation	toast_rel;
	ListCell   *lc;

	table_close(rel, NoLock);
	if (!OidIsValid(toast))
		return locked;
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
 * dp_release_lock_storage
 *	  Lock all parts of the relation and their TOAST relations for reading.
 *	  Answers the OIDs of all that it locked.
 */
List *
dp_release_lock_storage(Oid relid)
{
	List	   *parts = find_all_inheritors(relid, AccessShareLock, NULL);
	List	   *locked = list_copy(parts);
	ListCell   *lc;

	foreach(lc, parts)
		locked = lock_toast(lfirst_oid(lc), locked);
	return locked;
}
