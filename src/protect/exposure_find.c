/*
 * exposure_find.c
 *	  Through what other roles can learn rows of a protected relation.
 *
 * Only what is granted directly counts, and owners and superusers do not:
 *
 * - table and column privileges on the relation, on every descendant (whose
 *	 rows are its rows) and on every ancestor (through which its rows are
 *	 read): SELECT, UPDATE and DELETE (the number of rows met, RETURNING),
 *	 REFERENCES (a foreign key probes for a key), TRIGGER (own code sees rows),
 *	 MAINTAIN (VACUUM VERBOSE counts rows), and INSERT when a unique index or
 *	 an exclusion constraint somewhere in the tree answers whether a value
 *	 exists;
 * - a part that belongs to another role, or runs its trigger function, or
 *	 whose rows another server keeps;
 * - views, materialized views and rules that read with the rights of somebody
 *	 who may (exposure_reader.c);
 * - foreign keys in both directions (exposure_reference.c).
 *
 * dp_protect refuses them, the utility hook warns of them, dp_audit lists
 * them.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_trigger.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

#include "relation_internal.h"

/* Privileges through which rows can be learnt, INSERT aside. */
#define READING_PRIVILEGES \
	(ACL_SELECT | ACL_UPDATE | ACL_DELETE | ACL_REFERENCES | ACL_TRIGGER | \
	 ACL_MAINTAIN)

/* ---- the tree itself ---- */

/* Does an index of the table reject rows, and so answer for their values? */
static bool
has_rejecting_index(Oid relid)
{
	Relation	rel = table_open(IndexRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		found = false;

	ScanKeyInit(&key, Anum_pg_index_indrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(rel, IndexIndrelidIndexId, true, NULL, 1, &key);
	while (!found && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_index form = (Form_pg_index) GETSTRUCT(tuple);

		found = form->indisunique || form->indisexclusion;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return found;
}

static AclMode
privileges_of_tree(const List *tree)
{
	ListCell   *cell;

	foreach(cell, tree)
		if (has_rejecting_index(lfirst_oid(cell)))
			return READING_PRIVILEGES | ACL_INSERT;
	return READING_PRIVILEGES;
}

/* Owner of a function, InvalidOid when it is gone. */
static Oid
function_owner(Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Oid			owner = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		owner = ((Form_pg_proc) GETSTRUCT(tuple))->proowner;
		ReleaseSysCache(tuple);
	}
	return owner;
}

/* Trigger functions that another role owns and may redefine at any time. */
static void
add_triggers(dp_exposure_search *search, Oid relid)
{
	Relation	rel = table_open(TriggerRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_trigger_tgrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(rel, TriggerRelidNameIndexId, true, NULL, 1,
							  &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_trigger form = (Form_pg_trigger) GETSTRUCT(tuple);
		const char *name = quote_identifier(NameStr(form->tgname));
		const char *table = dp_protect_qualified_name(relid);
		Oid			owner = function_owner(form->tgfoid);

		/* a partition's copy goes with the trigger of its parent */
		if (form->tgisinternal || OidIsValid(form->tgparentid) ||
			!OidIsValid(owner) ||
			dp_protect_exposure_is_owner(owner, search->owner))
			continue;
		dp_protect_add_other(search, relid, "high",
							 psprintf("trigger %s on %s runs function %s, "
									  "which belongs to %s", name, table,
									  format_procedure(form->tgfoid),
									  dp_protect_role_name(owner)),
							 psprintf("DROP TRIGGER %s ON %s;",
									  name, table));
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
}

/* A part whose rows this server does not keep; no private query reads it. */
static void
add_elsewhere(dp_exposure_search *search, Oid part)
{
	const char *name = dp_protect_qualified_name(part);
	List	   *parents = dp_protect_list_parents(part);
	const char *parent;

	if (dp_protect_is_distributed(part))
		dp_protect_add_other(search, part, "high",
							 psprintf("%s is distributed by Citus, and its "
									  "rows are kept in tables that are not "
									  "protected", name),
							 psprintf("SELECT undistribute_table(%s);",
									  quote_literal_cstr(name)));
	if (get_rel_relkind(part) != RELKIND_FOREIGN_TABLE || parents == NIL)
		return;
	parent = dp_protect_qualified_name(linitial_oid(parents));
	dp_protect_add_other(search, part, "high",
						 psprintf("%s is a foreign table, whose rows another "
								  "server keeps", name),
						 get_rel_relispartition(part) ?
						 psprintf("ALTER TABLE %s DETACH PARTITION %s;",
								  parent, name) :
						 psprintf("ALTER FOREIGN TABLE %s NO INHERIT %s;",
								  name, parent));
}

static void
add_part(dp_exposure_search *search, Oid part, AclMode mask)
{
	Oid			owner = dp_catalog_owner(part);
	const char *name = dp_protect_qualified_name(part);

	if (!OidIsValid(owner))
		return;
	if (!dp_protect_exposure_is_owner(owner, search->owner))
		dp_protect_add_other(search, part, "critical",
							 psprintf("%s belongs to %s", name,
									  dp_protect_role_name(owner)),
							 psprintf("ALTER TABLE %s OWNER TO %s;", name,
									  dp_protect_role_name(search->owner)));
	dp_protect_add_grants(search, part, mask, NIL, "critical", NULL, NULL);
	if (!list_member_oid(search->parts, part))
		return;
	add_triggers(search, part);
	add_elsewhere(search, part);
}

/*
 * dp_protect_list_exposures
 *	  All exposures (dp_exposure *) of a protected relation, or of one that is
 *	  to be; descendants are locked in lockmode.  NIL when it is gone.
 */
List *
dp_protect_list_exposures(Oid relid, LOCKMODE lockmode)
{
	dp_exposure_search search;
	List	   *tree;
	AclMode		mask;
	ListCell   *cell;

	search.owner = dp_catalog_owner(relid);
	search.found = NIL;
	if (!OidIsValid(search.owner))
		return NIL;
	tree = dp_protect_list_tree(relid, lockmode);
	search.parts = find_all_inheritors(relid, NoLock, NULL);
	mask = privileges_of_tree(tree);
	foreach(cell, tree)
		add_part(&search, lfirst_oid(cell), mask);
	dp_protect_add_readers(&search, tree, mask, "critical", NULL);
	dp_protect_add_references(&search);
	return search.found;
}

/* ---- SQL ---- */

PG_FUNCTION_INFO_V1(dp_relation_exposures);

/* One row of dp_pg.exposures(). */
static void
put_exposure(ReturnSetInfo *info, Oid root, const dp_exposure *exposure)
{
	Datum		values[7];
	bool		nulls[7] = {false, false, false, false, false, false, false};
	bool		privilege = exposure->privileges != 0;

	values[0] = ObjectIdGetDatum(root);
	values[1] = ObjectIdGetDatum(exposure->relid);
	values[2] = CStringGetTextDatum(exposure->severity);
	values[3] = CStringGetTextDatum(dp_protect_exposure_describe(exposure));
	values[4] = CStringGetTextDatum(dp_protect_exposure_remedy(exposure));
	nulls[5] = !privilege || exposure->command == NULL;
	values[5] = nulls[5] ? (Datum) 0 : CStringGetTextDatum(exposure->command);
	values[6] = BoolGetDatum(privilege);
	tuplestore_putvalues(info->setResult, info->setDesc, values, nulls);
}

/*
 * dp_relation_exposures
 *	  SQL: dp_pg.exposures() -> setof (relation oid, part oid, severity text,
 *	  finding text, remedy text, alternative text, privilege boolean), over all
 *	  protected relations of the database.
 */
Datum
dp_relation_exposures(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *info = (ReturnSetInfo *) fcinfo->resultinfo;
	List	   *roots;
	ListCell   *cell;

	InitMaterializedSRF(fcinfo, 0);
	roots = dp_catalog_list_relations();
	foreach(cell, roots)
	{
		Oid			root = lfirst_oid(cell);
		List	   *exposures = dp_protect_list_exposures(root, NoLock);
		ListCell   *inner;

		foreach(inner, exposures)
			put_exposure(info, root, lfirst(inner));
	}
	return (Datum) 0;
}
