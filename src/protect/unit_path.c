/*
 * unit_path.c
 *	  The unit of a relation's rows: a column, or one behind keys.
 *
 * order_id -> orders.customer_id: a row has the unit of that row of another
 * protected relation whose primary key its column has, and that one may have
 * its own from a third.  Where there is no such row, it has no unit and counts
 * nowhere (doc/theory.md T99).
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "relation_internal.h"

/*
 * dp_protect_unit_text
 *	  The unit of a row of dp_pg.relation as it is declared, palloc'd; NULL
 *	  where each row is one.  Never raises.
 */
char *
dp_protect_unit_text(const dp_relation_row *row)
{
	dp_relation_row through;
	const char *name;
	const char *schema;

	if (!row->has_unit)
		return NULL;
	if (!OidIsValid(row->unit_through))
		return pstrdup(NameStr(row->unit));
	name = get_rel_name(row->unit_through);
	schema = get_namespace_name(get_rel_namespace(row->unit_through));
	return psprintf("%s -> %s.%s", NameStr(row->unit), name && schema ?
					quote_qualified_identifier(schema, name) : "?",
					dp_catalog_find_relation(row->unit_through, &through) &&
					through.has_unit ? NameStr(through.unit) : "?");
}

/*
 * dp_protect_match_unit
 *	  Column number of the unit, or 55000: a unit that cannot be matched beyond
 *	  doubt must stop every private query on the relation.
 */
AttrNumber
dp_protect_match_unit(Oid relid, Oid origin, const char *unit,
					  AttrNumber declared)
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

static void
raise_lost(Oid relid, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("the privacy unit of relation \"%s\" cannot be found",
					get_rel_name(relid)),
			 errdetail("%s", detail),
			 errhint("The owner must call dp_protect() again.")));
}

/*
 * dp_protect_primary_key
 *	  The one column of a relation's primary key, which is checked at once; or
 *	  0.
 */
AttrNumber
dp_protect_primary_key(Oid relid)
{
	Oid			constraint;
	Bitmapset  *columns = get_primary_key_attnos(relid, false, &constraint);

	if (bms_membership(columns) != BMS_SINGLETON)
		return InvalidAttrNumber;
	return bms_singleton_member(columns) + FirstLowInvalidHeapAttributeNumber;
}

/*
 * dp_protect_keys_match
 *	  Have two types the same values, so that equal ones are the same?
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

/*
 * The primary key that a row of dp_pg.relation refers to by a column of relid:
 * still the one that was declared, of its type, or 55000.
 */
static AttrNumber
match_key(Oid relid, AttrNumber from, const dp_relation_row *row)
{
	Oid			through = row->unit_through;
	AttrNumber	key = dp_protect_primary_key(through);

	if (key == InvalidAttrNumber || key != row->unit_key_attnum ||
		strcmp(get_attname(through, key, false), NameStr(row->unit_key)) != 0)
		raise_lost(relid,
				   psprintf("Column \"%s\" is not the primary key of relation "
							"\"%s\" any more.", NameStr(row->unit_key),
							get_rel_name(through)));
	if (!dp_protect_keys_match(get_atttype(relid, from),
							   get_atttype(through, key)))
		raise_lost(relid,
				   psprintf("The primary key of relation \"%s\" has another "
							"type than what refers to it.",
							get_rel_name(through)));
	return key;
}

static AttrNumber
count_columns(Oid relid)
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
 * dp_protect_follow_unit
 *	  Fill in the steps to the unit of a relation, whose row is at hand and
 *	  whose unit column is the first step's; and what type the unit is of.
 *
 * Errors: 55000 where a step leads nowhere any more.
 */
void
dp_protect_follow_unit(const dp_relation_row *declared, dp_relation *relation)
{
	dp_relation_row row = *declared;
	dp_relation_row through;
	Oid			at = relation->relid;
	AttrNumber	from = relation->unit_attnum;

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
		step->next = from = dp_protect_match_unit(step->relid, row.origin,
												  NameStr(row.unit),
												  row.unit_attnum);
		at = step->relid;
		relation->unit_steps = lappend(relation->unit_steps, step);
	}
	get_atttypetypmodcoll(at, from, &relation->unit_type,
						  &relation->unit_typmod, &relation->unit_collation);
	if (relation->unit_steps != NIL)
		relation->unit_attnum = count_columns(relation->relid) + 1;
}
