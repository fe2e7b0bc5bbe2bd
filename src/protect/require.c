/*
 * require.c
 *	  What functions for owners check before they change anything.
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/catalog.h"
#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "../base/dp_compat.h"
#include "../catalog/dp_catalog.h"
#include "../ledger/dp_ledger.h"
#include "dp_protect.h"
#include "protect_internal.h"

/*
 * dp_protect_require_writable
 *	  25006 in a read-only transaction or in recovery.
 */
void
dp_protect_require_writable(const char *function)
{
	if (!RecoveryInProgress() && !XactReadOnly)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
			 errmsg("cannot execute %s in a read-only transaction", function),
			 errdetail("It writes to the catalog of dp_pg."),
			 errhint("Run it on the primary server, in a read-write "
					 "transaction.")));
}

/*
 * dp_protect_require_owner
 *	  42501 unless the current user owns the table; 42P01 if it is gone.
 */
void
dp_protect_require_owner(Oid relid)
{
	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid),
				 errdetail("It was dropped, or never existed."),
				 errhint("Give the name of a table.")));
	if (!object_ownercheck(RelationRelationId, relid, GetUserId()))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be owner of relation \"%s\"",
						get_rel_name(relid)),
				 errdetail("Only the owner of a table may say what in it is "
						   "private."),
				 errhint("Act as role %s.",
						 dp_protect_role_name(dp_catalog_owner(relid)))));
}

/*
 * dp_protect_require_protected
 *	  The dataset of the relation; 42704 if it is not protected itself.
 */
char *
dp_protect_require_protected(Oid relid)
{
	char	   *dataset = dp_protect_dataset(relid);
	Oid			root;
	Oid			shown;

	if (dataset != NULL)
		return dataset;
	root = dp_protect_root(relid);
	shown = dp_catalog_find_published(relid);
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("relation \"%s\" is not protected", get_rel_name(relid)),
			 errdetail("Only a relation that was protected with dp_protect() "
					   "has declarations."),
			 OidIsValid(shown) ?
			 errhint("It is the published view of protected relation %s: name "
					 "that one.", dp_protect_qualified_name(shown)) :
			 OidIsValid(root) ?
			 errhint("It is a part of protected relation %s: name that one.",
					 dp_protect_qualified_name(root)) :
			 errhint("Call dp_protect(%s) first.",
					 dp_protect_call_text(relid))));
	return NULL;
}

/*
 * dp_protect_require_dataset
 *	  42501 unless the current user owns the dataset.
 */
void
dp_protect_require_dataset(const char *dataset)
{
	if (!dp_ledger_owns_dataset(GetUserId(), dataset))
		dp_ledger_raise_not_owner(dataset,
								  "The relation belongs to you, but its "
								  "dataset does not.",
								  "Ask the owner of the dataset.");
}

/*
 * dp_protect_invalidate_tree
 *	  Invalidate cached plans over the relation and its parts.
 */
void
dp_protect_invalidate_tree(Oid relid)
{
	List	   *tree = dp_protect_list_tree(relid, NoLock);
	ListCell   *cell;

	foreach(cell, tree)
		CacheInvalidateRelcacheByRelid(lfirst_oid(cell));
}
