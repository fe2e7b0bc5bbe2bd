/*
 * exposure_reference.c
 *	  Foreign keys through which other roles learn which values protected rows
 *	  have.
 *
 * A foreign key of a protected relation P: whoever deletes or updates a row of
 * the table it refers to is told by an error whether P uses its key.  So is
 * he who can make such a row go through keys of that table that cascade.
 *
 * A foreign key to P: whoever inserts or updates a row of the other table is
 * told whether P has the key.
 *
 * The tables at the other end count with their own trees, and with the views
 * and rules that change them with their owners' rights.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_inherits.h"
#include "nodes/parsenodes.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "relation_internal.h"

#define CHANGING_PRIVILEGES (ACL_UPDATE | ACL_DELETE | ACL_TRUNCATE)
#define PROBING_PRIVILEGES (ACL_INSERT | ACL_UPDATE)

/* One foreign key. */
typedef struct dp_reference
{
	Oid			oid;
	Oid			parent;			/* of a partition's copy, else InvalidOid */
	NameData	name;
	Oid			source;			/* the table that has it */
	Oid			target;			/* the table it refers to */
	List	   *source_columns; /* of char * */
	List	   *target_columns;
	bool		cascades;		/* deletes or changes rows of source */
	bool		followed;		/* by the search for cascades */
} dp_reference;

/* ---- reading ---- */

static List *
column_names(Oid relid, HeapTuple tuple, TupleDesc desc, int attribute)
{
	bool		isnull;
	Datum		value = heap_getattr(tuple, attribute, desc, &isnull);
	ArrayType  *array;
	int16	   *numbers;
	List	   *names = NIL;
	int			i;

	if (isnull)
		return NIL;
	array = DatumGetArrayTypeP(value);
	numbers = (int16 *) ARR_DATA_PTR(array);
	for (i = 0; i < ARR_DIMS(array)[0]; i++)
	{
		char	   *name = get_attname(relid, numbers[i], true);

		if (name != NULL)
			names = lappend(names, name);
	}
	return names;
}

static bool
is_cascade(char action)
{
	return action == FKCONSTR_ACTION_CASCADE ||
		action == FKCONSTR_ACTION_SETNULL ||
		action == FKCONSTR_ACTION_SETDEFAULT;
}

/* All foreign keys of the database, partitions' own among them. */
static List *
list_references(void)
{
	Relation	rel = table_open(ConstraintRelationId, AccessShareLock);
	TupleDesc	desc = RelationGetDescr(rel);
	SysScanDesc scan = systable_beginscan(rel, InvalidOid, false, NULL, 0,
										  NULL);
	HeapTuple	tuple;
	List	   *references = NIL;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_constraint form = (Form_pg_constraint) GETSTRUCT(tuple);
		dp_reference *reference;

		if (form->contype != CONSTRAINT_FOREIGN)
			continue;
		reference = palloc0(sizeof(dp_reference));
		reference->oid = form->oid;
		reference->parent = form->conparentid;
		reference->name = form->conname;
		reference->source = form->conrelid;
		reference->target = form->confrelid;
		reference->cascades = is_cascade(form->confdeltype) ||
			is_cascade(form->confupdtype);
		reference->source_columns = column_names(form->conrelid, tuple, desc,
												 Anum_pg_constraint_conkey);
		reference->target_columns = column_names(form->confrelid, tuple, desc,
												 Anum_pg_constraint_confkey);
		references = lappend(references, reference);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return references;
}

/* The foreign key that somebody made: partitions have copies of it. */
static const dp_reference *
find_original(const List *references, const dp_reference *reference)
{
	ListCell   *cell;

	if (!OidIsValid(reference->parent))
		return reference;
	foreach(cell, references)
	{
		const dp_reference *other = lfirst(cell);

		if (other->oid == reference->parent)
			return find_original(references, other);
	}
	return reference;
}

/* ---- telling ---- */

/*
 * What other roles may do to a table at the other end of a foreign key, and
 * whether it is their own.  clause and command are those of the key that leads
 * to the protected relation.
 */
static void
add_table(dp_exposure_search *search, Oid relid, AclMode mask,
		  const List *columns, const char *clause, const char *command)
{
	List	   *tree = dp_protect_list_tree(relid, NoLock);
	ListCell   *cell;

	foreach(cell, tree)
	{
		Oid			part = lfirst_oid(cell);
		Oid			owner = dp_catalog_owner(part);

		if (!OidIsValid(owner))
			continue;
		if (!dp_protect_exposure_is_owner(owner, search->owner))
			dp_protect_add_other(search, part, "high",
								 psprintf("%s belongs to %s, %s",
										  dp_protect_qualified_name(part),
										  dp_protect_role_name(owner),
										  clause), command);
		dp_protect_add_grants(search, part, mask, columns, "high", clause,
							  command);
	}
	dp_protect_add_readers(search, tree, mask & ~ACL_TRUNCATE, "high",
						   clause);
}

static char *
drop_command(const List *references, const dp_reference *reference)
{
	reference = find_original(references, reference);
	return psprintf("ALTER TABLE %s DROP CONSTRAINT %s;",
					dp_protect_qualified_name(reference->source),
					quote_identifier(NameStr(reference->name)));
}

static bool
share_column(const List *a, const List *b)
{
	ListCell   *first;
	ListCell   *second;

	foreach(first, a)
		foreach(second, b)
			if (strcmp(lfirst(first), lfirst(second)) == 0)
				return true;
	return false;
}

/*
 * Follow the foreign keys by which changes of other tables cascade to these
 * columns (NIL: to any column, or to the existence of rows) of a table.
 */
static void
add_cascades(dp_exposure_search *search, List *references, Oid relid,
			 const List *columns, const char *clause, const char *command)
{
	ListCell   *cell;

	foreach(cell, references)
	{
		dp_reference *reference = lfirst(cell);

		if (reference->source != relid || !reference->cascades ||
			reference->followed ||
			(columns != NIL &&
			 !share_column(columns, reference->source_columns)))
			continue;
		reference->followed = true;
		add_table(search, reference->target, CHANGING_PRIVILEGES,
				  reference->target_columns,
				  psprintf("changes of which cascade to %s, %s",
						   dp_protect_qualified_name(relid), clause),
				  command);
		add_cascades(search, references, reference->target, NIL, clause,
					 command);
	}
}

static void
add_reference_from(dp_exposure_search *search, List *references,
				   const dp_reference *reference)
{
	const char *source = dp_protect_qualified_name(reference->source);
	char	   *clause = psprintf("to which foreign key %s of %s refers",
								  quote_identifier(NameStr(reference->name)),
								  source);

	add_table(search, reference->target, CHANGING_PRIVILEGES,
			  reference->target_columns, clause,
			  drop_command(references, reference));
	add_cascades(search, references, reference->target, NIL, clause,
				 drop_command(references, reference));
}

static void
add_reference_to(dp_exposure_search *search, List *references,
				 const dp_reference *reference)
{
	const char *target = dp_protect_qualified_name(reference->target);
	char	   *clause = psprintf("whose foreign key %s refers to %s",
								  quote_identifier(NameStr(reference->name)),
								  target);

	add_table(search, reference->source, PROBING_PRIVILEGES,
			  reference->source_columns, clause,
			  drop_command(references, reference));
	add_cascades(search, references, reference->source,
				 reference->source_columns, clause,
				 drop_command(references, reference));
}

/*
 * dp_protect_add_references
 *	  Add what foreign keys from and to the parts of a protected relation let
 *	  other roles learn.
 */
void
dp_protect_add_references(dp_exposure_search *search)
{
	List	   *references = list_references();
	ListCell   *cell;

	foreach(cell, references)
	{
		const dp_reference *reference = lfirst(cell);
		const dp_reference *original = find_original(references, reference);
		bool		from = list_member_oid(search->parts, reference->source);
		bool		to = list_member_oid(search->parts, reference->target);

		if (reference != original &&
			from == list_member_oid(search->parts, original->source) &&
			to == list_member_oid(search->parts, original->target))
			continue;
		/* within the tree, who may change rows may read them anyway */
		if (from && to)
			dp_protect_add_grants(search, reference->source, ACL_INSERT,
								  reference->source_columns, "high",
								  "which tells by its own foreign key "
								  "which keys exist",
								  drop_command(references, reference));
		else if (from)
			add_reference_from(search, references, reference);
		else if (to)
			add_reference_to(search, references, reference);
	}
}
