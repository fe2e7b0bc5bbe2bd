/*
 * tell_unit.c
 *	  What the owner is told of a unit that dp_protect takes.
 *
 * A wrong unit protects something else than people, and nothing shows it
 * later: an order by itself, say, though an order is of a customer.  Foreign
 * keys to what is protected in the dataset tell such a case.  All is said by
 * definitions; no row is looked at.
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

/* ---- units that are NULL ---- */

/* The first column of the unit that may be NULL; or NULL. */
static const char *
nullable_column(const dp_relation_row *unit)
{
	ListCell   *lc;

	foreach(lc, dp_protect_unit_columns(unit))
	{
		const char *name = NameStr(((dp_unit_column *) lfirst(lc))->from);
		HeapTuple	proof =
		dp_compat_not_null_proof(unit->relid, get_attnum(unit->relid, name));

		if (!HeapTupleIsValid(proof))
			return name;
		heap_freetuple(proof);
	}
	return NULL;
}

/* Nothing is said of keys behind: their own relation's owner was told. */
static void
tell_of_nulls(const dp_relation_row *unit)
{
	const char *name = nullable_column(unit);

	if (name == NULL)
		return;
	ereport(NOTICE,
			(errmsg("rows of relation \"%s\" whose column \"%s\" is NULL "
					"count nowhere", get_rel_name(unit->relid), name),
			 errdetail("The column says whose row it is, and may be NULL."),
			 errhint("To see how many there are, count them in the table; if "
					 "there are none, ALTER TABLE %s ALTER %s SET NOT NULL.",
					 dp_protect_qualified_name(unit->relid),
					 quote_identifier(name))));
}

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

/* Does it lead to a relation of the dataset that has a unit?  Its row. */
static bool
find_unit(const unit_lead *lead, const char *dataset, dp_relation_row *row)
{
	return dp_catalog_find_relation(lead->through, row) && row->has_unit &&
		strcmp(NameStr(row->dataset), dataset) == 0;
}

/* Is its column such a unit, by the name that it has there? */
static bool
is_unit_itself(const unit_lead *lead, const dp_relation_row *row)
{
	return !OidIsValid(row->unit_through) && list_length(lead->key) == 1 &&
		get_attnum(lead->through, NameStr(row->unit)) ==
		linitial_int(lead->key);
}

/* What dp_protect would take for a unit of relid; NULL: no path leads on. */
static char *
unit_by(Oid relid, const unit_lead *lead, const dp_relation_row *row)
{
	return is_unit_itself(lead, row) ?
		get_attname(relid, linitial_int(lead->from), false) :
		path_by(relid, lead, row);
}

/* What is the column called whose values units are, at the end of a path? */
static const char *
last_name(const dp_relation_row *row)
{
	dp_relation_row last = *row;
	int			steps = 0;

	while (OidIsValid(last.unit_through) && steps++ < DP_PROTECT_STEPS)
		if (!dp_catalog_find_relation(last.unit_through, &last))
			break;
	return pstrdup(NameStr(last.unit));
}

/* better: the unit that dp_protect would take instead; NULL: there is none. */
static void
tell_of_lead(const dp_relation_row *unit, const char *dataset,
			 const unit_lead *lead, const dp_relation_row *row,
			 const char *better)
{
	const char *name = get_rel_name(unit->relid);
	const char *relation = dp_protect_qualified_name(unit->relid);
	const char *there = get_rel_name(lead->through);

	ereport(NOTICE,
			(errmsg("a foreign key of relation \"%s\" leads to another unit "
					"of dataset \"%s\"", name, dataset),
			 errdetail("\"%s\" refers to relation \"%s\", whose unit is "
					   "\"%s\".  As protected now, %s of \"%s\" is hidden by "
					   "itself, not all that such a unit has there.",
					   lead->constraint, there, dp_protect_unit_text(row),
					   unit->has_unit ?
					   psprintf("each \"%s\"", NameStr(unit->unit)) :
					   "each row", name),
			 better != NULL ?
			 errhint("If its rows are of these units, SELECT dp_protect(%s, "
					 "unit => %s);", quote_literal_cstr(relation),
					 quote_literal_cstr(better)) :
			 errhint("If its rows are of these units, add them as a column, "
					 "filled from \"%s\", and protect \"%s\" with that as "
					 "unit: the foreign key is not to the primary key, with "
					 "which a path begins.", there, name)));
}

/* Is it said rather than the other: with a path, and by an earlier column? */
static bool
is_said_rather(const unit_lead *lead, const char *better,
			   const unit_lead *other, const char *others)
{
	if (other == NULL || (better == NULL) != (others == NULL))
		return other == NULL || better != NULL;
	return linitial_int(lead->from) < linitial_int(other->from);
}

/*
 * A column for a unit, or none, where foreign keys lead to units.  Nothing is
 * said of one that is such a unit, or has its name: a copy of it.
 */
static void
tell_of_leads(const dp_relation_row *unit, const char *dataset)
{
	const unit_lead *said = NULL;
	dp_relation_row said_row;
	const char *better = NULL;
	ListCell   *lc;

	foreach(lc, list_leads(unit->relid))
	{
		const unit_lead *lead = lfirst(lc);
		dp_relation_row row;
		const char *other;

		if (!find_unit(lead, dataset, &row))
			continue;
		other = unit_by(unit->relid, lead, &row);
		if (unit->has_unit &&
			(strcmp(NameStr(unit->unit), last_name(&row)) == 0 ||
			 (is_unit_itself(lead, &row) &&
			  strcmp(NameStr(unit->unit), other) == 0)))
			return;
		if (!is_said_rather(lead, other, said, better))
			continue;
		said = lead;
		said_row = row;
		better = other;
	}
	if (said != NULL)
		tell_of_lead(unit, dataset, said, &said_row, better);
}

/* Is it by this foreign key that a path refers to what it leads through? */
static bool
is_path(const dp_relation_row *unit, const unit_lead *lead)
{
	List	   *columns = dp_protect_unit_columns(unit);
	ListCell   *lc;

	foreach(lc, columns)
		if (!list_member_int(lead->from,
							 get_attnum(unit->relid,
										NameStr(((dp_unit_column *)
												 lfirst(lc))->from))))
			return false;
	return list_length(columns) == list_length(lead->from) &&
		!pairs_otherwise(unit->relid, lead, columns);
}

/*
 * A path where foreign keys refer to the same primary key, none of them by its
 * columns: those of two keys may be mixed, which would give rows to others.
 */
static void
tell_of_columns(const dp_relation_row *unit)
{
	const unit_lead *said = NULL;
	char	   *better = NULL;
	dp_relation_row row;
	ListCell   *lc;

	if (!dp_catalog_find_relation(unit->unit_through, &row))
		return;
	foreach(lc, list_leads(unit->relid))
	{
		const unit_lead *lead = lfirst(lc);
		char	   *path = lead->through != unit->unit_through ? NULL :
		path_by(unit->relid, lead, &row);

		if (path == NULL)
			continue;
		if (is_path(unit, lead))
			return;
		if (is_said_rather(lead, path, said, better))
		{
			said = lead;
			better = path;
		}
	}
	if (said != NULL)
		ereport(NOTICE,
				(errmsg("foreign key \"%s\" of relation \"%s\" refers to "
						"relation \"%s\" by other columns than its unit",
						said->constraint, get_rel_name(unit->relid),
						get_rel_name(unit->unit_through)),
				 errdetail("The unit is \"%s\".", dp_protect_unit_text(unit)),
				 errhint("If the key tells whose rows these are, SELECT "
						 "dp_protect(%s, unit => %s);",
						 quote_literal_cstr(dp_protect_qualified_name
											(unit->relid)),
						 quote_literal_cstr(better))));
}

/*
 * dp_protect_tell_of_unit
 *	  NOTICEs about a unit that was taken: rows that count nowhere; that it may
 *	  not be whose rows these are.
 */
void
dp_protect_tell_of_unit(const dp_relation_row *unit, const char *dataset)
{
	if (unit->has_unit)
		tell_of_nulls(unit);
	if (OidIsValid(unit->unit_through))
		tell_of_columns(unit);
	else
		tell_of_leads(unit, dataset);
}
