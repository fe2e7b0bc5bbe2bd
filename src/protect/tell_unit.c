/*
 * tell_unit.c
 *	  What foreign keys tell of units that are behind keys.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_constraint.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "relation_internal.h"

/* ---- foreign keys that lead to units ---- */

/* A foreign key to another relation. */
typedef struct unit_lead
{
	const char *constraint;
	Oid			through;
	List	   *from;			/* of int: its columns */
	List	   *key;			/* and what each refers to there */
} unit_lead;

static List *
list_leads(Oid relid)
{
	Relation	rel = table_open(ConstraintRelationId, AccessShareLock);
	List	   *leads = NIL;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_constraint_conrelid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(rel, ConstraintRelidTypidNameIndexId, true, NULL,
							  1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_constraint form = (Form_pg_constraint) GETSTRUCT(tuple);
		unit_lead  *lead;

		if (form->contype != CONSTRAINT_FOREIGN || form->confrelid == relid)
			continue;
		lead = palloc(sizeof(unit_lead));
		lead->constraint = pstrdup(NameStr(form->conname));
		lead->through = form->confrelid;
		lead->from = dp_protect_constraint_columns(tuple,
												   Anum_pg_constraint_conkey);
		lead->key = dp_protect_constraint_columns(tuple,
												  Anum_pg_constraint_confkey);
		leads = lappend(leads, lead);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return leads;
}

/* The path that begins with a foreign key; NULL: not by the primary key. */
static char *
path_by(Oid relid, const unit_lead *lead, const dp_relation_row *row)
{
	List	   *primary = dp_protect_primary_key(lead->through);
	List	   *names = NIL;
	ListCell   *lc;
	ListCell   *lc2;
	ListCell   *lc3;

	if (!dp_protect_same_columns(primary, lead->key))
		return NULL;
	foreach(lc, primary)
		forboth(lc2, lead->from, lc3, lead->key)
			if (lfirst_int(lc3) == lfirst_int(lc))
				names = lappend(names, get_attname(relid, lfirst_int(lc2),
												   false));
	return dp_protect_path_text(names, lead->through, row);
}

/*
 * dp_protect_suggest_path
 *	  How relid's unit would be behind a protected relation, by a foreign key;
 *	  NULL: none leads to its primary key.
 */
char *
dp_protect_suggest_path(Oid relid, Oid through)
{
	dp_relation_row row;
	ListCell   *lc;

	if (!dp_catalog_find_relation(through, &row))
		return NULL;
	foreach(lc, list_leads(relid))
	{
		const unit_lead *lead = lfirst(lc);
		char	   *path = lead->through != through ? NULL :
		path_by(relid, lead, &row);

		if (path != NULL)
			return path;
	}
	return NULL;
}

/* Does a foreign key refer by such a column to another than the path does? */
static bool
pairs_otherwise(Oid relid, const unit_lead *lead, const List *columns)
{
	ListCell   *lc;
	ListCell   *lc2;
	ListCell   *lc3;

	foreach(lc, columns)
	{
		const dp_unit_column *column = lfirst(lc);
		AttrNumber	from = get_attnum(relid, NameStr(column->from));

		forboth(lc2, lead->from, lc3, lead->key)
			if (lfirst_int(lc2) == from &&
				get_attnum(lead->through, NameStr(column->key)) !=
				lfirst_int(lc3))
				return true;
	}
	return false;
}

/*
 * dp_protect_pairs_otherwise
 *	  The name of a foreign key of the same columns to the primary key that a
 *	  path refers to, which takes them in another order; or NULL.  A path whose
 *	  columns are in a wrong order would give rows to others.
 */
const char *
dp_protect_pairs_otherwise(const dp_relation_row *unit)
{
	List	   *columns = dp_protect_unit_columns(unit);
	List	   *from = NIL;
	ListCell   *lc;

	foreach(lc, columns)
		from = lappend_int(from,
						   get_attnum(unit->relid,
									  NameStr(((dp_unit_column *)
											   lfirst(lc))->from)));
	foreach(lc, list_leads(unit->relid))
	{
		const unit_lead *lead = lfirst(lc);

		if (lead->through == unit->unit_through &&
			dp_protect_same_columns(lead->from, from) &&
			pairs_otherwise(unit->relid, lead, columns))
			return lead->constraint;
	}
	return NULL;
}
