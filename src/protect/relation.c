/*
 * relation.c
 *	  What the owner declared, as it holds for the relation of now.
 *
 * Columns are matched by name.  A row also remembers the OID its relation had
 * when it was written (relid_origin) and the column's number: while the OID
 * is still that of the relation the number must agree with the name; after a
 * restore the OID differs and the name alone decides.
 */
#include "postgres.h"

#include "access/attnum.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_inherits.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "relation_internal.h"

/*
 * dp_protect_lookup
 *	  What was declared about a protected relation, palloc'd in the current
 *	  context; NULL when relid itself is not protected.
 *
 * Errors: 55000 when its unit column cannot be matched any more.
 */
dp_relation *
dp_protect_lookup(Oid relid)
{
	dp_relation_row row;
	dp_relation *result;
	Oid			owner;

	if (!dp_catalog_find_relation(relid, &row))
		return NULL;
	owner = dp_catalog_owner(relid);
	if (!OidIsValid(owner))
		return NULL;			/* dropped meanwhile */
	result = palloc0(sizeof(dp_relation));
	result->relid = relid;
	result->owner = owner;
	result->dataset = pstrdup(NameStr(row.dataset));
	result->rows = row.rows;
	result->max_rows = row.max_rows;
	result->max_keys = row.max_keys;
	if (row.has_unit)
	{
		result->unit = dp_protect_unit_text(&row);
		dp_protect_follow_unit(&row, result);
	}
	return result;
}

/*
 * dp_protect_attribute
 *	  What was declared about a column, palloc'd in the current context; NULL
 *	  when nothing was, or when the declaration belongs to a column that has
 *	  been replaced since.
 */
dp_attribute *
dp_protect_attribute(Oid relid, AttrNumber attnum)
{
	dp_attribute *result;
	char	   *name = attnum > 0 ? get_attname(relid, attnum, true) : NULL;

	if (name == NULL)
		return NULL;
	result = dp_catalog_find_attribute(relid, name);
	if (result == NULL ||
		(result->origin == relid && result->attnum != attnum))
		return NULL;
	result->attnum = attnum;
	return result;
}

/*
 * dp_protect_attribute_partitions
 *	  Numbers of the relation's columns that were declared immutable; one look
 *	  at the catalog, whatever is asked afterwards.
 */
Bitmapset *
dp_protect_attribute_partitions(Oid relid)
{
	return dp_catalog_list_partitions(relid);
}

/*
 * dp_protect_mutable_text
 *	  The commands after which the relation has no immutable columns.
 */
char *
dp_protect_mutable_text(Oid relid)
{
	Bitmapset  *columns = dp_protect_attribute_partitions(relid);
	const char *name = quote_literal_cstr(dp_protect_qualified_name(relid));
	StringInfoData text;
	int			attnum = -1;

	initStringInfo(&text);
	while ((attnum = bms_next_member(columns, attnum)) >= 0)
		appendStringInfo(&text, "%sSELECT dp_declare(%s, %s, "
						 "immutable => false);", text.len > 0 ? " " : "", name,
						 quote_literal_cstr(get_attname(relid, attnum,
														false)));
	return text.data;
}

/*
 * dp_protect_list_parents
 *	  OIDs of the direct parents of a table, by partitioning or inheritance.
 */
List *
dp_protect_list_parents(Oid relid)
{
	Relation	rel = table_open(InheritsRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	List	   *result = NIL;

	ScanKeyInit(&key, Anum_pg_inherits_inhrelid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(rel, InheritsRelidSeqnoIndexId, true, NULL, 1,
							  &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		result = lappend_oid(result,
							 ((Form_pg_inherits) GETSTRUCT(tuple))->inhparent);
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return result;
}

/*
 * dp_protect_is_distributed
 *	  Does Citus keep rows of the table on other servers?  Its catalog says so.
 */
bool
dp_protect_is_distributed(Oid relid)
{
	Oid			catalog = get_relname_relid("pg_dist_partition",
											PG_CATALOG_NAMESPACE);
	AttrNumber	attnum = InvalidAttrNumber;
	Relation	rel;
	ScanKeyData key;
	SysScanDesc scan;
	bool		found;

	if (OidIsValid(catalog))
		attnum = get_attnum(catalog, "logicalrelid");
	if (attnum == InvalidAttrNumber)
		return false;
	rel = table_open(catalog, AccessShareLock);
	ScanKeyInit(&key, attnum, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 1, &key);
	found = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return found;
}

/*
 * dp_protect_root
 *	  relid when it is protected, else its nearest protected ancestor, else
 *	  InvalidOid.
 */
Oid
dp_protect_root(Oid relid)
{
	Relation	rel = dp_catalog_open_relations();
	List	   *queue = list_make1_oid(relid);
	Oid			result = InvalidOid;
	int			i;

	if (rel == NULL)
		return InvalidOid;
	/* breadth first; the list grows while it is walked */
	for (i = 0; i < list_length(queue); i++)
	{
		Oid			next = list_nth_oid(queue, i);

		if (dp_catalog_has_relation(rel, next))
		{
			result = next;
			break;
		}
		queue = list_concat_unique_oid(queue, dp_protect_list_parents(next));
	}
	list_free(queue);
	table_close(rel, AccessShareLock);
	return result;
}

/*
 * dp_protect_published_view
 *	  The security_invoker view published for a protected relation, or
 *	  InvalidOid.
 */
Oid
dp_protect_published_view(Oid relid)
{
	dp_relation_row row;

	if (!dp_catalog_find_relation(relid, &row) ||
		get_rel_relkind(row.published) != RELKIND_VIEW)
		return InvalidOid;
	return row.published;
}

/*
 * dp_protect_twin
 *	  The table of released synthetic rows that stands for a protected relation
 *	  in previews, or InvalidOid.  None that became a part of a protected
 *	  relation: it may hold rows of that.
 */
Oid
dp_protect_twin(Oid relid)
{
	dp_relation_row row;

	if (!dp_catalog_find_relation(relid, &row) ||
		get_rel_relkind(row.twin) != RELKIND_RELATION ||
		OidIsValid(dp_protect_root(row.twin)))
		return InvalidOid;
	return row.twin;
}

/*
 * dp_protect_dataset
 *	  The dataset of a protected relation, palloc'd; NULL when relid itself is
 *	  not protected.  Unlike dp_protect_lookup it never raises.
 */
char *
dp_protect_dataset(Oid relid)
{
	dp_relation_row row;

	return dp_catalog_find_relation(relid, &row) ?
		pstrdup(NameStr(row.dataset)) : NULL;
}

/*
 * dp_protect_declared_unit
 *	  The unit as declared, whether or not the column still exists; NULL when
 *	  each row is a unit or relid is not protected.
 */
char *
dp_protect_declared_unit(Oid relid)
{
	dp_relation_row row;

	return dp_catalog_find_relation(relid, &row) ?
		dp_protect_unit_text(&row) : NULL;
}

/*
 * dp_protect_left_dataset
 *	  Does a protected relation belong to a role whose rights the owner of its
 *	  dataset does not have?  (After ALTER TABLE ... OWNER TO.)  Then nobody is
 *	  answered.  False when relid itself is not protected.
 */
bool
dp_protect_left_dataset(Oid relid)
{
	char	   *dataset = dp_protect_dataset(relid);
	Oid			owner = dp_catalog_owner(relid);

	return dataset != NULL && OidIsValid(owner) &&
		!dp_ledger_dataset_serves(dataset, owner);
}

/*
 * dp_protect_qualified_name
 *	  schema.table, quoted, palloc'd; the OID as text when the table is gone.
 */
char *
dp_protect_qualified_name(Oid relid)
{
	char	   *name = get_rel_name(relid);
	char	   *namespace = get_namespace_name(get_rel_namespace(relid));

	if (name == NULL || namespace == NULL)
		return psprintf("%u", relid);
	return quote_qualified_identifier(namespace, name);
}
