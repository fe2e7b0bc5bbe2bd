/*
 * relation.c
 *	  What the owner declared, matched to the present columns, and units behind
 *	  keys.
 */
#include "postgres.h"

#include "access/attnum.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "../catalog/dp_catalog.h"
#include "../ledger/dp_ledger.h"
#include "dp_protect.h"
#include "protect_internal.h"

/* ----------------
 *		The unit of a relation's rows: a column, or one behind keys.
 *
 * order_id -> orders.customer_id: a row has the unit of the row of orders
 * whose primary key is its order_id; orders is protected too, and its own unit
 * may come from a third relation.  A row for which there is none has no unit
 * and is not counted (doc/theory.md T99).  A key of several columns is
 * referred to by as many columns, and a row with a NULL in one of them refers
 * to none.
 * ----------------
 */

/*
 * dp_protect_unit_columns
 *	  The unit's columns of a row of dp_pg.relation that has some, each with
 *	  the key column that it refers to: a list of dp_unit_column *, palloc'd.
 */
List *
dp_protect_unit_columns(const dp_relation_row *row)
{
	dp_unit_column *first = palloc(sizeof(dp_unit_column));

	first->from = row->unit;
	first->from_attnum = row->unit_attnum;
	first->key = row->unit_key;
	first->key_attnum = row->unit_key_attnum;
	return lcons(first, list_copy(row->unit_more));
}

/* "column", or "(column, column)", from quoted names. */
static char *
list_text(const List *names)
{
	StringInfoData text;
	ListCell   *lc;

	initStringInfo(&text);
	foreach(lc, names)
		appendStringInfo(&text, "%s%s", lc == list_head(names) ? "" : ", ",
						 quote_identifier(lfirst(lc)));
	return list_length(names) == 1 ? text.data : psprintf("(%s)", text.data);
}

static List *
unit_names(const dp_relation_row *row)
{
	List	   *names = NIL;
	ListCell   *lc;

	foreach(lc, dp_protect_unit_columns(row))
		names = lappend(names, NameStr(((dp_unit_column *) lfirst(lc))->from));
	return names;
}

/*
 * dp_protect_columns_text
 *	  The columns of a unit as a path names them; of a column unit, its name.
 */
char *
dp_protect_columns_text(const dp_relation_row *row)
{
	return OidIsValid(row->unit_through) ? list_text(unit_names(row)) :
		pstrdup(NameStr(row->unit));
}

/* The quoted name of the relation; "?" if it is gone. */
static const char *
relation_text(Oid relid)
{
	const char *name = get_rel_name(relid);
	const char *schema = get_namespace_name(get_rel_namespace(relid));

	return name && schema ? quote_qualified_identifier(schema, name) : "?";
}

/*
 * dp_protect_end_text
 *	  How the end of a path names the unit of a relation; row is its row of
 *	  dp_pg.relation, or NULL.
 */
char *
dp_protect_end_text(Oid relid, const dp_relation_row *row)
{
	return psprintf("%s.%s", relation_text(relid),
					row != NULL && row->has_unit ?
					list_text(unit_names(row)) : "?");
}

/*
 * dp_protect_path_text
 *	  The path from columns of these names to such a unit.
 */
char *
dp_protect_path_text(const List *names, Oid through,
					 const dp_relation_row *row)
{
	return psprintf("%s -> %s", list_text(names),
					dp_protect_end_text(through, row));
}

/*
 * dp_protect_unit_text
 *	  The unit of a row of dp_pg.relation as it is declared, palloc'd; NULL
 *	  where each row is one.  Never raises.
 */
char *
dp_protect_unit_text(const dp_relation_row *row)
{
	dp_relation_row through;

	if (!row->has_unit)
		return NULL;
	if (!OidIsValid(row->unit_through))
		return pstrdup(NameStr(row->unit));
	return dp_protect_path_text(unit_names(row), row->unit_through,
								dp_catalog_find_relation(row->unit_through,
														 &through) ?
								&through : NULL);
}

/*
 * dp_protect_call_text
 *	  The arguments of a call of dp_protect that keeps the unit: a hint without
 *	  them would make each row one.
 */
char *
dp_protect_call_text(Oid relid)
{
	const char *name = quote_literal_cstr(relation_text(relid));
	dp_relation_row row;

	if (!dp_catalog_find_relation(relid, &row))
		return psprintf("%s, unit => ...", name);
	return row.has_unit ?
		psprintf("%s, unit => %s", name,
				 quote_literal_cstr(dp_protect_unit_text(&row))) :
		pstrdup(name);
}

/*
 * Number of a unit column, or 55000: a unit that cannot be matched with
 * certainty must stop every private query on the relation.
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
				 errhint("The owner must call dp_protect(%s, unit => ...); "
						 "without a unit each row would be one.",
						 quote_literal_cstr(relation_text(relid)))));
	return attnum;
}

static void
raise_lost(Oid relid, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("the privacy unit of relation \"%s\" cannot be found",
					get_rel_name(relid)),
			 errdetail("%s", detail),
			 errhint("The owner must put that back as it was, or call "
					 "dp_protect(%s, unit => ...); without a unit each row "
					 "would be one.",
					 quote_literal_cstr(relation_text(relid)))));
}

/*
 * dp_protect_constraint_columns
 *	  Numbers in a column of pg_constraint: conkey, or confkey.
 */
List *
dp_protect_constraint_columns(HeapTuple constraint, AttrNumber which)
{
	bool		isnull;
	Datum		array = SysCacheGetAttr(CONSTROID, constraint, which, &isnull);
	List	   *columns = NIL;
	const int16 *numbers;
	int			i;

	if (isnull)
		return NIL;
	numbers = (const int16 *) ARR_DATA_PTR(DatumGetArrayTypeP(array));
	for (i = 0; i < ARR_DIMS(DatumGetArrayTypeP(array))[0]; i++)
		columns = lappend_int(columns, numbers[i]);
	return columns;
}

/*
 * dp_protect_primary_key
 *	  The columns of a relation's primary key, in its order, if it is checked
 *	  at once; or NIL.
 */
List *
dp_protect_primary_key(Oid relid)
{
	Oid			constraint;
	HeapTuple	tuple;
	List	   *columns;

	if (get_primary_key_attnos(relid, false, &constraint) == NULL)
		return NIL;
	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
	if (!HeapTupleIsValid(tuple))
		return NIL;
	columns = dp_protect_constraint_columns(tuple, Anum_pg_constraint_conkey);
	ReleaseSysCache(tuple);
	return columns;
}

/*
 * dp_protect_key_text
 *	  The primary key's columns, quoted, "column, column"; "" if there is none.
 */
char *
dp_protect_key_text(Oid relid)
{
	StringInfoData text;
	ListCell   *lc;

	initStringInfo(&text);
	foreach(lc, dp_protect_primary_key(relid))
		appendStringInfo(&text, "%s%s", text.len > 0 ? ", " : "",
						 quote_identifier(get_attname(relid, lfirst_int(lc),
													  false)));
	return text.data;
}

/*
 * dp_protect_same_columns
 *	  Whether two lists, without duplicates, have the same members in any
 *	  order.
 */
bool
dp_protect_same_columns(const List *a, const List *b)
{
	return list_length(a) == list_length(b) &&
		list_difference_int(a, b) == NIL;
}

/*
 * dp_protect_keys_match
 *	  Whether two types have the same values and the same equality.
 */
bool
dp_protect_keys_match(Oid a, Oid b)
{
	a = getBaseType(a);
	b = getBaseType(b);
	return a == b ||
		((a == INT2OID || a == INT4OID || a == INT8OID) &&
		 (b == INT2OID || b == INT4OID || b == INT8OID)) ||
		((a == TEXTOID || a == VARCHAROID) &&
		 (b == TEXTOID || b == VARCHAROID));
}

static void
match_type(Oid relid, AttrNumber from, Oid through, AttrNumber key)
{
	if (!dp_protect_keys_match(get_atttype(relid, from),
							   get_atttype(through, key)))
		raise_lost(relid,
				   psprintf("The primary key of relation \"%s\" differs in "
							"type from the columns that refer to it.",
							get_rel_name(through)));
}

/*
 * The primary key that a row of dp_pg.relation refers to by columns of relid;
 * 55000 unless it is still as declared, with the types of these columns.
 */
static List *
match_key(Oid relid, const List *from, const dp_relation_row *row)
{
	Oid			through = row->unit_through;
	List	   *primary = dp_protect_primary_key(through);
	List	   *columns = dp_protect_unit_columns(row);
	List	   *keys = NIL;
	ListCell   *lc;

	foreach(lc, columns)
	{
		const dp_unit_column *column = lfirst(lc);
		AttrNumber	key = column->key_attnum;

		if (list_length(primary) != list_length(columns) ||
			!list_member_int(primary, key) || list_member_int(keys, key) ||
			strcmp(get_attname(through, key, false),
				   NameStr(column->key)) != 0)
			raise_lost(relid,
					   psprintf(list_length(columns) == 1 ?
								"Column \"%s\" is not the primary key of "
								"relation \"%s\" any more." :
								"Column \"%s\" and others are not the primary "
								"key of relation \"%s\" any more.",
								NameStr(column->key), get_rel_name(through)));
		match_type(relid, list_nth_int(from, foreach_current_index(lc)),
				   through, key);
		keys = lappend_int(keys, key);
	}
	return keys;
}

/*
 * The columns of relid's unit or, for a path, those that refer to the key; or
 * 55000.
 */
static List *
match_columns(Oid relid, const dp_relation_row *row)
{
	List	   *numbers = NIL;
	ListCell   *lc;

	foreach(lc, dp_protect_unit_columns(row))
	{
		const dp_unit_column *column = lfirst(lc);

		numbers = lappend_int(numbers,
							  match_unit(relid, row->origin,
										 NameStr(column->from),
										 column->from_attnum));
	}
	return numbers;
}

static AttrNumber
relation_count_columns(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	AttrNumber	n;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relid);
	n = ((Form_pg_class) GETSTRUCT(tuple))->relnatts;
	ReleaseSysCache(tuple);
	return n;
}

/*
 * follow_unit
 *	  Fill in the unit of a relation from its row: column, steps and type.
 *
 * Errors: 55000 if a step no longer leads to a unit.
 */
static void
follow_unit(const dp_relation_row *declared, dp_relation *relation)
{
	dp_relation_row row = *declared;
	dp_relation_row through;
	Oid			at = relation->relid;
	List	   *from = match_columns(at, &row);

	while (OidIsValid(row.unit_through))
	{
		dp_unit_step *step = palloc0(sizeof(dp_unit_step));

		step->relid = row.unit_through;
		step->from = from;
		if (!dp_catalog_find_relation(step->relid, &through) ||
			!through.has_unit ||
			!OidIsValid(dp_catalog_owner(step->relid)) ||
			strcmp(NameStr(through.dataset), relation->dataset) != 0 ||
			list_length(relation->unit_steps) == DP_PROTECT_STEPS)
			raise_lost(relation->relid, "It was behind a relation that is not "
					   "protected in this dataset, with a unit, any more.");
		step->key = match_key(at, from, &row);
		row = through;
		at = step->relid;
		step->next = from = match_columns(at, &row);
		relation->unit_steps = lappend(relation->unit_steps, step);
	}
	get_atttypetypmodcoll(at, linitial_int(from), &relation->unit_type,
						  &relation->unit_typmod, &relation->unit_collation);
	relation->unit_attnum = relation->unit_steps == NIL ?
		linitial_int(from) : relation_count_columns(relation->relid) + 1;
}

/* ----------------
 *		What the owner declared, matched to the present columns.
 *
 * Columns are matched by name.  A row also remembers the OID its relation had
 * when it was written (relid_origin) and the column's number: while the OID
 * is still that of the relation the number must agree with the name; after a
 * restore the OID differs and the name alone decides.
 * ----------------
 */

/*
 * dp_protect_unit_mark
 *	  A text that differs for different units of the relation, palloc'd.
 */
char *
dp_protect_unit_mark(const dp_relation *relation)
{
	return psprintf("%d %s", relation->unit_attnum,
					relation->unit == NULL ? "" : relation->unit);
}

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
	result->min_units = row.min_units;
	result->max_total = row.max_total;
	if (row.has_unit)
	{
		result->unit = dp_protect_unit_text(&row);
		follow_unit(&row, result);
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
 *	  Numbers of the relation's columns that were declared immutable, read by
 *	  one scan.
 */
Bitmapset *
dp_protect_attribute_partitions(Oid relid)
{
	return dp_catalog_list_partitions(relid);
}

/*
 * dp_protect_mutable_text
 *	  The commands that make all columns of the relation mutable again.
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
 *	  Whether Citus keeps rows of the table on other servers, by its catalog.
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
 *	  in previews, or InvalidOid.  None if it became a part of a protected
 *	  relation, whose rows it may hold.
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
 *	  Whether a protected relation belongs to a role whose rights the owner of
 *	  its dataset does not have, after ALTER TABLE ... OWNER TO.  Then private
 *	  queries are refused.  False when relid itself is not protected.
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
