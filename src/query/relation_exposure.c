/*
 * relation_exposure.c
 *	  Which privileges let other roles learn rows of a protected tree.
 *
 * Only direct grants count: table and column privileges on the relation, on
 * every descendant (whose rows are its rows) and on every ancestor (through
 * which its rows are read).  Owners and superusers are not listed.  Besides
 * SELECT, these tell something about rows: UPDATE and DELETE (the number of
 * rows met, RETURNING), REFERENCES (a foreign key probes for a key), TRIGGER
 * (own code sees rows), and INSERT when a unique index or an exclusion
 * constraint answers whether a value exists.
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
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

#include "relation_internal.h"

/* Privileges through which rows can be learnt, INSERT aside. */
#define READING_PRIVILEGES \
	(ACL_SELECT | ACL_UPDATE | ACL_DELETE | ACL_REFERENCES | ACL_TRIGGER)

static const struct
{
	AclMode		mode;
	const char *name;
}			privilege_names[] =
{
	{ACL_SELECT, "SELECT"},
	{ACL_INSERT, "INSERT"},
	{ACL_UPDATE, "UPDATE"},
	{ACL_DELETE, "DELETE"},
	{ACL_REFERENCES, "REFERENCES"},
	{ACL_TRIGGER, "TRIGGER"},
};

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

static List *
add_exposure(List *exposures, Oid relid, AttrNumber attnum, Oid grantee,
			 AclMode privileges, Oid wanted_owner)
{
	dp_exposure *exposure;
	ListCell   *cell;

	foreach(cell, exposures)
	{
		exposure = lfirst(cell);
		if (exposure->relid == relid && exposure->attnum == attnum &&
			exposure->grantee == grantee && exposure->privileges != 0 &&
			privileges != 0)
		{
			exposure->privileges |= privileges;
			return exposures;
		}
	}
	exposure = palloc(sizeof(dp_exposure));
	exposure->relid = relid;
	exposure->attnum = attnum;
	exposure->grantee = grantee;
	exposure->privileges = privileges;
	exposure->wanted_owner = wanted_owner;
	return lappend(exposures, exposure);
}

static List *
add_acl(List *exposures, Oid relid, AttrNumber attnum, Oid owner, Datum value,
		AclMode mask)
{
	Acl		   *acl = DatumGetAclPCopy(value);
	AclItem    *items = ACL_DAT(acl);

	for (int i = 0; i < ACL_NUM(acl); i++)
	{
		AclMode		privileges = ACLITEM_GET_PRIVS(items[i]) & mask;

		if (privileges == 0 || items[i].ai_grantee == owner)
			continue;
		if (items[i].ai_grantee != ACL_ID_PUBLIC &&
			superuser_arg(items[i].ai_grantee))
			continue;
		exposures = add_exposure(exposures, relid, attnum,
								 items[i].ai_grantee, privileges,
								 InvalidOid);
	}
	pfree(acl);
	return exposures;
}

static List *
add_column_acls(List *exposures, Oid relid, Oid owner, AclMode mask)
{
	Relation	rel = table_open(AttributeRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_attribute_attrelid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(rel, AttributeRelidNumIndexId, true, NULL, 1,
							  &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_attribute form = (Form_pg_attribute) GETSTRUCT(tuple);
		bool		isnull;
		Datum		acl = heap_getattr(tuple, Anum_pg_attribute_attacl,
									   RelationGetDescr(rel), &isnull);

		if (!isnull && !form->attisdropped)
			exposures = add_acl(exposures, relid, form->attnum, owner, acl,
								mask);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return exposures;
}

/*
 * dp_relation_list_exposures
 *	  The exposures (dp_exposure *) of one table, without its tree; NIL when
 *	  there are none or the table is gone.
 */
List *
dp_relation_list_exposures(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	AclMode		mask = READING_PRIVILEGES;
	List	   *exposures = NIL;
	Oid			owner;
	Datum		acl;
	bool		isnull;

	if (!HeapTupleIsValid(tuple))
		return NIL;
	owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	if (has_rejecting_index(relid))
		mask |= ACL_INSERT;
	acl = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_relacl, &isnull);
	if (!isnull)
		exposures = add_acl(exposures, relid, 0, owner, acl, mask);
	ReleaseSysCache(tuple);
	return add_column_acls(exposures, relid, owner, mask);
}

static Oid
owner_of(Oid relid)
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
 * dp_relation_list_tree
 *	  OIDs of the relation, its descendants and its ancestors, the relation
 *	  first; descendants locked in lockmode.
 */
List *
dp_relation_list_tree(Oid relid, LOCKMODE lockmode)
{
	List	   *tree = find_all_inheritors(relid, lockmode, NULL);
	List	   *ancestors = dp_relation_list_parents(relid);

	/* the list grows while it is walked */
	for (int i = 0; i < list_length(ancestors); i++)
	{
		List	   *parents;

		parents = dp_relation_list_parents(list_nth_oid(ancestors, i));
		ancestors = list_concat_unique_oid(ancestors, parents);
	}
	return list_concat_unique_oid(tree, ancestors);
}

/*
 * dp_relation_list_tree_exposures
 *	  The exposures of every part of the relation's tree, ownership of a part
 *	  by another role among them.
 */
List *
dp_relation_list_tree_exposures(Oid relid, LOCKMODE lockmode)
{
	List	   *tree = dp_relation_list_tree(relid, lockmode);
	Oid			owner = owner_of(relid);
	List	   *exposures = NIL;
	ListCell   *cell;

	foreach(cell, tree)
	{
		Oid			part = lfirst_oid(cell);
		Oid			part_owner = owner_of(part);

		if (OidIsValid(part_owner) && part_owner != owner &&
			!superuser_arg(part_owner))
			exposures = add_exposure(exposures, part, 0, part_owner, 0,
									 owner);
		exposures = list_concat(exposures, dp_relation_list_exposures(part));
	}
	return exposures;
}

static const char *
role_name(Oid role)
{
	const char *name;

	if (role == ACL_ID_PUBLIC)
		return "PUBLIC";
	name = GetUserNameFromId(role, true);
	return name ? quote_identifier(name) : psprintf("%u", role);
}

/* "SELECT, UPDATE" or "SELECT (a), UPDATE (a)" */
static char *
privilege_list(const dp_exposure *exposure)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < (int) lengthof(privilege_names); i++)
	{
		if ((exposure->privileges & privilege_names[i].mode) == 0)
			continue;
		if (text.len > 0)
			appendStringInfoString(&text, ", ");
		appendStringInfoString(&text, privilege_names[i].name);
		if (exposure->attnum != 0)
			appendStringInfo(&text, " (%s)",
							 quote_identifier(get_attname(exposure->relid,
														  exposure->attnum,
														  false)));
	}
	return text.data;
}

/* dp_exposure_describe: one clause for an error's detail, palloc'd. */
char *
dp_exposure_describe(const dp_exposure *exposure)
{
	if (exposure->privileges == 0)
		return psprintf("%s belongs to %s",
						dp_relation_qualified_name(exposure->relid),
						role_name(exposure->grantee));
	return psprintf("%s has %s on %s", role_name(exposure->grantee),
					privilege_list(exposure),
					dp_relation_qualified_name(exposure->relid));
}

/* dp_exposure_remedy: the command that closes it, with its semicolon. */
char *
dp_exposure_remedy(const dp_exposure *exposure)
{
	if (exposure->privileges == 0)
		return psprintf("ALTER TABLE %s OWNER TO %s;",
						dp_relation_qualified_name(exposure->relid),
						role_name(exposure->wanted_owner));
	return psprintf("REVOKE %s ON %s FROM %s CASCADE;",
					privilege_list(exposure),
					dp_relation_qualified_name(exposure->relid),
					role_name(exposure->grantee));
}

PG_FUNCTION_INFO_V1(dp_relation_exposures);

/*
 * dp_relation_exposures
 *	  SQL: dp_pg.exposures() -> setof (relation oid, part oid, finding text,
 *	  remedy text), over all protected relations of the database.
 */
Datum
dp_relation_exposures(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *info = (ReturnSetInfo *) fcinfo->resultinfo;
	List	   *roots;
	ListCell   *cell;

	InitMaterializedSRF(fcinfo, 0);
	roots = dp_relation_list_protected();
	foreach(cell, roots)
	{
		Oid			root = lfirst_oid(cell);
		List	   *exposures;
		ListCell   *inner;

		if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(root)))
			continue;
		exposures = dp_relation_list_tree_exposures(root, NoLock);
		foreach(inner, exposures)
		{
			dp_exposure *exposure = lfirst(inner);
			Datum		values[4];
			bool		nulls[4] = {false, false, false, false};

			values[0] = ObjectIdGetDatum(root);
			values[1] = ObjectIdGetDatum(exposure->relid);
			values[2] = CStringGetTextDatum(dp_exposure_describe(exposure));
			values[3] = CStringGetTextDatum(dp_exposure_remedy(exposure));
			tuplestore_putvalues(info->setResult, info->setDesc, values,
								 nulls);
		}
	}
	return (Datum) 0;
}
