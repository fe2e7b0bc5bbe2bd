/*
 * relation.c
 *	  Reading what the owner declared: dp_pg.relation and dp_pg.attribute.
 *
 * Every planning asks here, for any current user and in any transaction, so
 * rows are fetched by direct index scans under a catalog snapshot: no SPI, no
 * privilege, no settings.  Writers are protect.c, declare.c and
 * relation_sync.c.
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
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "relation_internal.h"

/*
 * Open a catalog table of the extension and tell its primary key; NULL when
 * the extension is not (or not completely) installed in this database.  A
 * schema that only looks like ours is not trusted: the extension must exist,
 * and then its script made the schema.
 */
static Relation
open_catalog(const char *name, Oid *index)
{
	Oid			namespace;
	Oid			relid;
	Relation	rel;

	if (!OidIsValid(dp_bridge_extension_oid()))
		return NULL;
	namespace = dp_bridge_catalog_namespace();
	if (!OidIsValid(namespace))
		return NULL;
	relid = get_relname_relid(name, namespace);
	if (!OidIsValid(relid))
		return NULL;
	rel = table_open(relid, AccessShareLock);
	*index = RelationGetPrimaryKeyIndex(rel, false);
	return rel;
}

static Datum
get_column(HeapTuple tuple, Relation rel, int attnum, bool *isnull)
{
	return heap_getattr(tuple, attnum, RelationGetDescr(rel), isnull);
}

static char *
get_text_column(HeapTuple tuple, Relation rel, int attnum)
{
	bool		isnull;
	Datum		value = get_column(tuple, rel, attnum, &isnull);

	return isnull ? NULL : TextDatumGetCString(value);
}

static char *
get_name_column(HeapTuple tuple, Relation rel, int attnum)
{
	bool		isnull;
	Datum		value = get_column(tuple, rel, attnum, &isnull);

	return isnull ? NULL : pstrdup(NameStr(*DatumGetName(value)));
}

/*
 * Column number of the unit, or 55000: a unit that cannot be matched beyond
 * doubt must stop every private query on the relation.
 */
static AttrNumber
match_unit(Oid relid, Oid origin, const char *unit, AttrNumber declared)
{
	AttrNumber	attnum = get_attnum(relid, unit);

	if (attnum <= 0 || (origin == relid && attnum != declared))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the privacy unit of relation \"%s\" cannot be found",
						get_rel_name(relid)),
				 errdetail("Column \"%s\" was dropped or replaced after the "
						   "relation was protected.", unit),
				 errhint("The owner must call dp_protect() again.")));
	return attnum;
}

/*
 * dp_relation_lookup
 *	  What was declared about a protected relation, palloc'd in the current
 *	  context; NULL when relid itself is not protected.
 *
 * Errors: 55000 when its unit column cannot be matched any more.
 */
dp_relation *
dp_relation_lookup(Oid relid)
{
	Oid			index;
	Relation	rel = open_catalog("relation", &index);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	HeapTuple	class;
	dp_relation *result = NULL;
	Oid			origin = InvalidOid;
	AttrNumber	declared = 0;

	if (rel == NULL)
		return NULL;
	ScanKeyInit(&key, ANUM_RELATION_RELID, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(rel, index, OidIsValid(index), NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		bool		isnull;

		result = palloc0(sizeof(dp_relation));
		result->relid = relid;
		result->dataset = get_name_column(tuple, rel, ANUM_RELATION_DATASET);
		result->unit = get_name_column(tuple, rel, ANUM_RELATION_UNIT);
		origin = DatumGetObjectId(get_column(tuple, rel, ANUM_RELATION_ORIGIN,
											 &isnull));
		declared = DatumGetInt16(get_column(tuple, rel,
											ANUM_RELATION_UNIT_ATTNUM,
											&isnull));
		if (isnull)
			declared = 0;
		result->rows = DatumGetInt64(get_column(tuple, rel, ANUM_RELATION_ROWS,
												&isnull));
		if (isnull)
			result->rows = 0;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	if (result == NULL)
		return NULL;

	class = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	if (!HeapTupleIsValid(class))
		return NULL;			/* dropped meanwhile */
	result->owner = ((Form_pg_class) GETSTRUCT(class))->relowner;
	ReleaseSysCache(class);
	if (result->unit != NULL)
		result->unit_attnum = match_unit(relid, origin, result->unit,
										 declared);
	return result;
}

/* The elements of a text[] as a list of palloc'd strings. */
static List *
list_of_texts(Datum array)
{
	Datum	   *elements;
	bool	   *nulls;
	int			n;
	List	   *result = NIL;
	int			i;

	deconstruct_array(DatumGetArrayTypeP(array), TEXTOID, -1, false,
					  TYPALIGN_INT, &elements, &nulls, &n);
	for (i = 0; i < n; i++)
		if (!nulls[i])
			result = lappend(result, TextDatumGetCString(elements[i]));
	return result;
}

/*
 * dp_attribute_lookup
 *	  What was declared about a column, palloc'd in the current context; NULL
 *	  when nothing was, or when the declaration belongs to a column that has
 *	  been replaced since.
 *
 * The texts are canonical (ISO dates, shortest floats, UTC), so that the type
 * input functions read them alike in every session.
 */
dp_attribute *
dp_attribute_lookup(Oid relid, AttrNumber attnum)
{
	Oid			index;
	Relation	rel;
	ScanKeyData key[2];
	NameData	name;
	char	   *attname;
	SysScanDesc scan;
	HeapTuple	tuple;
	dp_attribute *result = NULL;

	if (attnum <= 0)
		return NULL;
	attname = get_attname(relid, attnum, true);
	if (attname == NULL)
		return NULL;
	rel = open_catalog("attribute", &index);
	if (rel == NULL)
		return NULL;
	namestrcpy(&name, attname);
	ScanKeyInit(&key[0], ANUM_ATTRIBUTE_RELID, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	ScanKeyInit(&key[1], ANUM_ATTRIBUTE_NAME, BTEqualStrategyNumber, F_NAMEEQ,
				NameGetDatum(&name));
	scan = systable_beginscan(rel, index, OidIsValid(index), NULL, 2, key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		bool		isnull;
		Oid			origin;
		AttrNumber	declared;
		Datum		value;

		origin = DatumGetObjectId(get_column(tuple, rel,
											 ANUM_ATTRIBUTE_ORIGIN, &isnull));
		declared = DatumGetInt16(get_column(tuple, rel,
											ANUM_ATTRIBUTE_ATTNUM, &isnull));
		if (origin != relid || declared == attnum)
		{
			result = palloc0(sizeof(dp_attribute));
			result->attnum = attnum;
			result->lower = get_text_column(tuple, rel, ANUM_ATTRIBUTE_LOWER);
			result->upper = get_text_column(tuple, rel, ANUM_ATTRIBUTE_UPPER);
			value = get_column(tuple, rel, ANUM_ATTRIBUTE_GRANULE, &isnull);
			if (!isnull)
				result->granule = DatumGetNumericCopy(value);
			value = get_column(tuple, rel, ANUM_ATTRIBUTE_KEYS, &isnull);
			if (!isnull)
				result->keys = list_of_texts(value);
			result->other = get_text_column(tuple, rel, ANUM_ATTRIBUTE_OTHER);
			value = get_column(tuple, rel, ANUM_ATTRIBUTE_PARTITION, &isnull);
			result->partition = isnull ? 0 : DatumGetInt64(value);
			value = get_column(tuple, rel, ANUM_ATTRIBUTE_GUARD, &isnull);
			result->guard = isnull ? 0 : DatumGetInt64(value);
			value = get_column(tuple, rel, ANUM_ATTRIBUTE_PUBLIC_SIZES,
							   &isnull);
			result->public_sizes = !isnull && DatumGetBool(value);
		}
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return result;
}

/*
 * dp_attribute_partitions
 *	  Numbers of the relation's columns that were declared immutable; one look
 *	  at the catalog, whatever is asked afterwards.
 */
Bitmapset *
dp_attribute_partitions(Oid relid)
{
	Oid			index;
	Relation	rel = open_catalog("attribute", &index);
	Bitmapset  *columns = NULL;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	if (rel == NULL)
		return NULL;
	ScanKeyInit(&key, ANUM_ATTRIBUTE_RELID, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(rel, index, OidIsValid(index), NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		bool		isnull;
		AttrNumber	attnum;

		(void) get_column(tuple, rel, ANUM_ATTRIBUTE_PARTITION, &isnull);
		if (isnull)
			continue;
		attnum = DatumGetInt16(get_column(tuple, rel, ANUM_ATTRIBUTE_ATTNUM,
										  &isnull));
		if (attnum > 0)
			columns = bms_add_member(columns, attnum);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return columns;
}

/* True when dp_pg.relation has a row for relid. */
static bool
is_protected(Relation rel, Oid index, Oid relid)
{
	ScanKeyData key;
	SysScanDesc scan;
	bool		found;

	ScanKeyInit(&key, ANUM_RELATION_RELID, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(rel, index, OidIsValid(index), NULL, 1, &key);
	found = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	return found;
}

/*
 * dp_relation_list_parents
 *	  OIDs of the direct parents of a table, by partitioning or inheritance.
 */
List *
dp_relation_list_parents(Oid relid)
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
 * dp_relation_protected_root
 *	  relid when it is protected, else its nearest protected ancestor, else
 *	  InvalidOid.
 */
Oid
dp_relation_protected_root(Oid relid)
{
	Oid			index;
	Relation	rel = open_catalog("relation", &index);
	List	   *queue = list_make1_oid(relid);
	Oid			result = InvalidOid;
	int			i;

	if (rel == NULL)
		return InvalidOid;
	/* breadth first; the list grows while it is walked */
	for (i = 0; i < list_length(queue); i++)
	{
		Oid			next = list_nth_oid(queue, i);

		if (is_protected(rel, index, next))
		{
			result = next;
			break;
		}
		queue = list_concat_unique_oid(queue, dp_relation_list_parents(next));
	}
	list_free(queue);
	table_close(rel, AccessShareLock);
	return result;
}

/*
 * dp_relation_list_protected
 *	  OIDs of all protected relations of this database.
 */
List *
dp_relation_list_protected(void)
{
	Oid			index;
	Relation	rel = open_catalog("relation", &index);
	SysScanDesc scan;
	HeapTuple	tuple;
	List	   *result = NIL;

	if (rel == NULL)
		return NIL;
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		bool		isnull;
		Datum		relid = get_column(tuple, rel, ANUM_RELATION_RELID,
									   &isnull);

		result = lappend_oid(result, DatumGetObjectId(relid));
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return result;
}

/*
 * One column of the row of a protected relation; *isnull also when there is
 * no row.  A column of type name is answered as a palloc'd C string.
 */
static Datum
fetch_column(Oid relid, int attnum, bool by_name, bool *isnull)
{
	Oid			index;
	Relation	rel = open_catalog("relation", &index);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	Datum		result = (Datum) 0;

	*isnull = true;
	if (rel == NULL)
		return result;
	ScanKeyInit(&key, ANUM_RELATION_RELID, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(rel, index, OidIsValid(index), NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		result = get_column(tuple, rel, attnum, isnull);
		if (!*isnull && by_name)
			result = CStringGetDatum(pstrdup(NameStr(*DatumGetName(result))));
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return result;
}

/*
 * dp_relation_published_view
 *	  The security_invoker view published for a protected relation, or
 *	  InvalidOid.
 */
Oid
dp_relation_published_view(Oid relid)
{
	bool		isnull;
	Oid			view;

	view = DatumGetObjectId(fetch_column(relid, ANUM_RELATION_PUBLISHED,
										 false, &isnull));
	if (isnull || get_rel_relkind(view) != RELKIND_VIEW)
		return InvalidOid;
	return view;
}

/*
 * dp_relation_dataset
 *	  The dataset of a protected relation, palloc'd; NULL when relid itself is
 *	  not protected.  Unlike dp_relation_lookup it never raises.
 */
char *
dp_relation_dataset(Oid relid)
{
	bool		isnull;
	Datum		name = fetch_column(relid, ANUM_RELATION_DATASET, true,
									&isnull);

	return isnull ? NULL : DatumGetCString(name);
}

/*
 * dp_relation_declared_unit
 *	  The name of the unit as declared, whether or not the column still exists;
 *	  NULL when each row is a unit or relid is not protected.
 */
char *
dp_relation_declared_unit(Oid relid)
{
	bool		isnull;
	Datum		name = fetch_column(relid, ANUM_RELATION_UNIT, true, &isnull);

	return isnull ? NULL : DatumGetCString(name);
}

/* dp_relation_owner: of a relation, InvalidOid when it is gone. */
Oid
dp_relation_owner(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid			owner = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
		ReleaseSysCache(tuple);
	}
	return owner;
}

/*
 * dp_relation_left_dataset
 *	  Does a protected relation belong to a role whose rights the owner of its
 *	  dataset does not have?  (After ALTER TABLE ... OWNER TO.)  Then nobody is
 *	  answered.  False when relid itself is not protected.
 */
bool
dp_relation_left_dataset(Oid relid)
{
	char	   *dataset = dp_relation_dataset(relid);
	Oid			owner = dp_relation_owner(relid);

	return dataset != NULL && OidIsValid(owner) &&
		!dp_ledger_dataset_serves(dataset, owner);
}

/*
 * dp_relation_qualified_name
 *	  schema.table, quoted, palloc'd; the OID as text when the table is gone.
 */
char *
dp_relation_qualified_name(Oid relid)
{
	char	   *name = get_rel_name(relid);
	char	   *namespace = get_namespace_name(get_rel_namespace(relid));

	if (name == NULL || namespace == NULL)
		return psprintf("%u", relid);
	return quote_qualified_identifier(namespace, name);
}
