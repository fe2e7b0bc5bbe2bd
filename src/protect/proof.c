/*
 * proof.c
 *	  Proof that a protected relation has one row per privacy unit.
 *
 * The proof is made at every planning and again, for the snapshot that reads
 * the rows, at every execution; it depends only on the catalog: a table
 * without a unit column is one row per person; a table with one needs a valid,
 * immediate, complete unique index on exactly that column, NOT NULL, and no
 * inheritance children (whose rows the index does not see).
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "../base/dp_base.h"
#include "../catalog/dp_catalog.h"
#include "dp_protect.h"
#include "protect_internal.h"

/* Is the index on exactly these columns, which are distinct, in any order? */
static bool
is_of_columns(Form_pg_index index, const List *columns)
{
	int			i;

	if (index->indnkeyatts != list_length(columns))
		return false;
	for (i = 0; i < index->indnkeyatts; i++)
	{
		int			j;

		if (!list_member_int(columns, index->indkey.values[i]))
			return false;
		for (j = 0; j < i; j++)
			if (index->indkey.values[j] == index->indkey.values[i])
				return false;
	}
	return true;
}

static bool
index_proves_unique(Oid index, const List *columns, Snapshot snapshot)
{
	HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
	Form_pg_index form;
	bool		proves;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_index) GETSTRUCT(tuple);
	proves = form->indisunique && form->indisvalid && form->indimmediate &&
		form->indislive && is_of_columns(form, columns) &&
		heap_attisnull(tuple, Anum_pg_index_indpred, NULL) &&
		heap_attisnull(tuple, Anum_pg_index_indexprs, NULL) &&
		dp_catalog_visible_to(tuple, snapshot);
	ReleaseSysCache(tuple);
	return proves;
}

/*
 * Was the part of a partition tree attached before the snapshot?  Rows that
 * an old snapshot sees in a part attached since were never proved unique.
 */
static bool
attachment_visible(Oid part, Snapshot snapshot)
{
	Relation	inherits = table_open(InheritsRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		visible = true;

	ScanKeyInit(&key, Anum_pg_inherits_inhrelid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(part));
	scan = systable_beginscan(inherits, InheritsRelidSeqnoIndexId, true, NULL,
							  1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		visible = visible && dp_catalog_visible_to(tuple, snapshot);
	systable_endscan(scan);
	table_close(inherits, AccessShareLock);
	return visible;
}

static bool
parts_visible(Oid relid, Snapshot snapshot)
{
	List	   *parts;
	ListCell   *lc;

	if (snapshot == NULL)
		return true;
	parts = find_all_inheritors(relid, AccessShareLock, NULL);
	foreach(lc, parts)
		if (lfirst_oid(lc) != relid &&
			!attachment_visible(lfirst_oid(lc), snapshot))
			return false;
	return true;
}

/*
 * dp_protect_proved_not_null
 *	  Is the column provably never NULL, by a proof that the snapshot sees?
 *	  The snapshot is NULL at planning.
 */
bool
dp_protect_proved_not_null(Oid relid, AttrNumber attnum, Snapshot snapshot)
{
	HeapTuple	tuple = dp_compat_not_null_proof(relid, attnum);
	bool		proved;

	if (!HeapTupleIsValid(tuple))
		return false;
	proved = dp_catalog_visible_to(tuple, snapshot);
	heap_freetuple(tuple);
	return proved;
}

/* A table whose last child is gone is said to have some until VACUUM. */
static bool
has_children(Oid relid)
{
	return has_subclass(relid) &&
		find_inheritance_children(relid, NoLock) != NIL;
}

static bool
columns_proved_unique(Relation rel, const List *columns, Snapshot snapshot)
{
	List	   *indexes;
	ListCell   *lc;
	bool		proved = false;

	foreach(lc, columns)
		if (!dp_protect_proved_not_null(RelationGetRelid(rel), lfirst_int(lc),
										snapshot))
			return false;
	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
	{
		if (!parts_visible(RelationGetRelid(rel), snapshot))
			return false;
	}
	else if (has_children(RelationGetRelid(rel)))
		return false;
	indexes = RelationGetIndexList(rel);
	foreach(lc, indexes)
		proved = proved || index_proves_unique(lfirst_oid(lc), columns,
											   snapshot);
	list_free(indexes);
	return proved;
}

/*
 * dp_protect_prove_one_row
 *	  Does the relation provably have at most one row per privacy unit?  The
 *	  caller holds a lock on it.  The proof must be visible to the snapshot,
 *	  unless that is NULL (at planning).
 */
bool
dp_protect_prove_one_row(const dp_relation *relation, Snapshot snapshot)
{
	Relation	rel;
	bool		proved;

	if (relation->unit == NULL)
		return true;
	if (relation->unit_steps != NIL)
		return false;
	rel = table_open(relation->relid, NoLock);
	proved = columns_proved_unique(rel, list_make1_int(relation->unit_attnum),
								   snapshot);
	table_close(rel, NoLock);
	return proved;
}

/*
 * dp_protect_is_key
 *	  Are columns of a relation, which the caller has locked, provably unique
 *	  together and never NULL, by a proof that the snapshot sees?
 */
bool
dp_protect_is_key(Oid relid, const List *columns, Snapshot snapshot)
{
	Relation	rel = table_open(relid, NoLock);
	bool		proved = columns_proved_unique(rel, columns, snapshot);

	table_close(rel, NoLock);
	return proved;
}
