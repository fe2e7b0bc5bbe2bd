/*
 * warm.c
 *	  What executing a plan would look up only where a private row asks for it
 *	  is looked up beforehand.
 *
 * A value that is stored out of line is fetched when an expression needs it,
 * which evicts other pages from the buffers, prunes the pages it stands on and
 * writes that to the WAL; labels of an enum type and properties of a collation
 * are read from the catalog at their first comparison, which takes locks.  All
 * of that can be watched.  So every page that could be fetched is, before
 * anything is charged: what is left to see depends on how many there are.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/catcache.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/pg_locale.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "reader.h"

static void
touch(Relation rel, bool prune)
{
	BlockNumber blocks = RelationGetNumberOfBlocks(rel);
	BlockNumber block;

	for (block = 0; block < blocks; block++)
	{
		Buffer		buffer = ReadBuffer(rel, block);

		if (prune)
			heap_page_prune_opt(rel, buffer);
		ReleaseBuffer(buffer);
		CHECK_FOR_INTERRUPTS();
	}
}

/* Bring all pages of a TOAST relation, which is locked, into the buffers. */
static void
touch_toast(Oid relid)
{
	Relation	rel = relation_open(relid, NoLock);
	ListCell   *lc;

	touch(rel, true);
	foreach(lc, RelationGetIndexList(rel))
	{
		Relation	index = relation_open(lfirst_oid(lc), NoLock);

		touch(index, false);
		relation_close(index, NoLock);
	}
	relation_close(rel, NoLock);
}

/*
 * Have every label of a type read, and their order.  A comparison looks a
 * label up, once for each call, unless both have even OIDs, which stand in
 * the order of their OIDs.
 */
static void
warm_enum(Oid type)
{
	CatCList   *labels = SearchSysCacheList1(ENUMTYPOIDNAME,
											 ObjectIdGetDatum(type));
	Oid			odd = InvalidOid;
	Oid			other = InvalidOid;
	FmgrInfo	compare;
	int			i;

	for (i = 0; i < labels->n_members; i++)
	{
		Oid			label = ((Form_pg_enum)
							 GETSTRUCT(&labels->members[i]->tuple))->oid;
		HeapTuple	tuple = SearchSysCache1(ENUMOID, ObjectIdGetDatum(label));

		if (HeapTupleIsValid(tuple))
			ReleaseSysCache(tuple);
		if (label % 2 == 1 && !OidIsValid(odd))
			odd = label;
		else
			other = label;
	}
	fmgr_info(F_ENUM_CMP, &compare);
	if (OidIsValid(odd) && OidIsValid(other))
		(void) FunctionCall2(&compare, ObjectIdGetDatum(odd),
							 ObjectIdGetDatum(other));
	ReleaseSysCacheList(labels);
}

static const Oid *
find_oids(const dp_message *message, dp_message_part part, int *n)
{
	*n = message->size[part] / sizeof(Oid);
	return (const Oid *) dp_message_find(message, part);
}

/* dp_reader_warm: all of it, for a job; everything is locked. */
void
dp_reader_warm(const dp_message *message)
{
	const Oid  *oids;
	int			n;
	int			i;

	oids = find_oids(message, DP_PART_TOAST, &n);
	for (i = 0; i < n; i++)
		touch_toast(oids[i]);
	oids = find_oids(message, DP_PART_ENUMS, &n);
	for (i = 0; i < n; i++)
		warm_enum(oids[i]);
	oids = find_oids(message, DP_PART_COLLATIONS, &n);
	for (i = 0; i < n; i++)
		(void) pg_newlocale_from_collation(oids[i]);
}
