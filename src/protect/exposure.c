/*
 * exposure.c
 *	  Exposures, ways by which another role can learn rows of a protected
 *	  relation: collecting and describing them; dp_audit.
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

#include "../base/dp_base.h"
#include "../catalog/dp_catalog.h"
#include "dp_protect.h"
#include "protect_internal.h"

/* ----------------
 *		Exposures: collecting and describing them.
 *
 * Only direct grants count, and none to owners or superusers.  exposure_find.c
 * says what is searched.
 * ----------------
 */

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
	{ACL_TRUNCATE, "TRUNCATE"},
	{ACL_REFERENCES, "REFERENCES"},
	{ACL_TRIGGER, "TRIGGER"},
	{ACL_MAINTAIN, "MAINTAIN"},
};

/* ---- adding ---- */

/*
 * dp_protect_exposure_is_owner
 *	  Whether the role is the owner or a superuser, from whom nothing is
 *	  hidden.
 */
bool
dp_protect_exposure_is_owner(Oid role, Oid owner)
{
	return role == owner ||
		(role != ACL_ID_PUBLIC && superuser_arg(role));
}

/* Whether the texts are equal; NULL equals only NULL. */
static bool
same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* The exposure that a privilege joins, or a new one without privileges. */
static dp_exposure *
find_exposure(dp_exposure_search *search, Oid relid, AttrNumber attnum,
			  Oid grantee, const char *clause)
{
	dp_exposure *exposure;
	ListCell   *cell;

	foreach(cell, search->found)
	{
		exposure = lfirst(cell);
		if (exposure->privileges != 0 && exposure->relid == relid &&
			exposure->attnum == attnum && exposure->grantee == grantee &&
			same_text(exposure->clause, clause))
			return exposure;
	}
	exposure = palloc0(sizeof(dp_exposure));
	exposure->relid = relid;
	exposure->attnum = attnum;
	exposure->grantee = grantee;
	exposure->clause = clause;
	search->found = lappend(search->found, exposure);
	return exposure;
}

static void
add_acl(dp_exposure_search *search, Oid relid, AttrNumber attnum,
		Datum value, AclMode mask, const char *severity, const char *clause,
		const char *command)
{
	Acl		   *acl = DatumGetAclPCopy(value);
	AclItem    *items = ACL_DAT(acl);
	Oid			owner = dp_catalog_owner(relid);
	int			i;

	for (i = 0; i < ACL_NUM(acl); i++)
	{
		AclMode		privileges = ACLITEM_GET_PRIVS(items[i]) & mask;
		dp_exposure *exposure;

		if (privileges == 0 || items[i].ai_grantee == owner ||
			dp_protect_exposure_is_owner(items[i].ai_grantee, search->owner))
			continue;
		exposure = find_exposure(search, relid, attnum, items[i].ai_grantee,
								 clause);
		exposure->privileges |= privileges;
		exposure->severity = severity;
		exposure->command = command;
	}
	pfree(acl);
}

static bool
exposure_is_listed(const char *name, const List *names)
{
	ListCell   *cell;

	foreach(cell, names)
		if (strcmp(name, lfirst(cell)) == 0)
			return true;
	return false;
}

static void
add_column_acls(dp_exposure_search *search, Oid relid, AclMode mask,
				const List *columns, const char *severity, const char *clause,
				const char *command)
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

		if (!isnull && !form->attisdropped &&
			(columns == NIL || exposure_is_listed(NameStr(form->attname),
												  columns)))
			add_acl(search, relid, form->attnum, acl, mask, severity, clause,
					command);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
}

/*
 * dp_protect_add_grants
 *	  Add the privileges of mask that other roles hold on the relation as a
 *	  whole or on the named columns (NIL: on any column).  Nothing if the
 *	  relation is gone.
 */
void
dp_protect_add_grants(dp_exposure_search *search, Oid relid, AclMode mask,
					  const List *columns, const char *severity,
					  const char *clause, const char *command)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Datum		acl;
	bool		isnull;

	if (!HeapTupleIsValid(tuple))
		return;
	acl = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_relacl, &isnull);
	if (!isnull)
		add_acl(search, relid, 0, acl, mask, severity, clause, command);
	ReleaseSysCache(tuple);
	add_column_acls(search, relid, mask, columns, severity, clause, command);
}

/*
 * dp_protect_add_other
 *	  Add an exposure that is not a privilege: clause describes it, command
 *	  closes it.
 */
void
dp_protect_add_other(dp_exposure_search *search, Oid relid,
					 const char *severity, const char *clause,
					 const char *command)
{
	dp_exposure *exposure = palloc0(sizeof(dp_exposure));

	exposure->relid = relid;
	exposure->severity = severity;
	exposure->clause = clause;
	exposure->command = command;
	search->found = lappend(search->found, exposure);
}

/*
 * dp_protect_list_tree
 *	  OIDs of the relation, its descendants and its ancestors, the relation
 *	  first; descendants locked in lockmode.
 */
List *
dp_protect_list_tree(Oid relid, LOCKMODE lockmode)
{
	List	   *tree = find_all_inheritors(relid, lockmode, NULL);
	List	   *ancestors = dp_protect_list_parents(relid);
	int			i;

	/* the list grows while it is walked */
	for (i = 0; i < list_length(ancestors); i++)
	{
		List	   *parents;

		parents = dp_protect_list_parents(list_nth_oid(ancestors, i));
		ancestors = list_concat_unique_oid(ancestors, parents);
	}
	return list_concat_unique_oid(tree, ancestors);
}

/* ---- describing ---- */

/* dp_protect_role_name: quoted, or PUBLIC, or a text for a dropped role. */
const char *
dp_protect_role_name(Oid role)
{
	const char *name;

	if (role == ACL_ID_PUBLIC)
		return "PUBLIC";
	name = GetUserNameFromId(role, true);
	return name ? quote_identifier(name) :
		psprintf("a role that was dropped (OID %u)", role);
}

/* "SELECT, UPDATE" or "SELECT (a), UPDATE (a)" */
static char *
privilege_list(const dp_exposure *exposure)
{
	StringInfoData text;
	int			i;

	initStringInfo(&text);
	for (i = 0; i < (int) lengthof(privilege_names); i++)
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

/* dp_protect_exposure_describe: one clause for an error's detail, palloc'd. */
char *
dp_protect_exposure_describe(const dp_exposure *exposure)
{
	if (exposure->privileges == 0)
		return pstrdup(exposure->clause);
	return psprintf("%s has %s on %s%s%s",
					dp_protect_role_name(exposure->grantee),
					privilege_list(exposure),
					dp_protect_qualified_name(exposure->relid),
					exposure->clause ? ", " : "",
					exposure->clause ? exposure->clause : "");
}

/* dp_protect_exposure_remedy: the command that closes it, with semicolon. */
char *
dp_protect_exposure_remedy(const dp_exposure *exposure)
{
	if (exposure->privileges == 0)
		return pstrdup(exposure->command);
	return psprintf("REVOKE %s ON %s FROM %s CASCADE;",
					privilege_list(exposure),
					dp_protect_qualified_name(exposure->relid),
					dp_protect_role_name(exposure->grantee));
}

/*
 * dp_protect_exposure_explain
 *	  The detail of an error about these exposures, and its hint: the commands
 *	  that close them, each with a space before it.
 */
char *
dp_protect_exposure_explain(const List *exposures, char **hint)
{
	StringInfoData detail;
	StringInfoData commands;
	ListCell   *cell;

	initStringInfo(&detail);
	initStringInfo(&commands);
	foreach(cell, exposures)
	{
		const dp_exposure *exposure = lfirst(cell);

		appendStringInfo(&detail, "%s%s", detail.len > 0 ? "; " : "",
						 dp_protect_exposure_describe(exposure));
		appendStringInfo(&commands, " %s",
						 dp_protect_exposure_remedy(exposure));
		if (exposure->privileges != 0 && exposure->command != NULL)
			appendStringInfo(&commands, " (Or %s)", exposure->command);
	}
	appendStringInfoChar(&detail, '.');
	*hint = commands.data;
	return detail.data;
}

/* ----------------
 *		What dp_audit (sql/31_audit.sql) needs from C.
 * ----------------
 */

PG_FUNCTION_INFO_V1(dp_relation_is_preloaded);
PG_FUNCTION_INFO_V1(dp_relation_has_left_dataset);

/*
 * dp_relation_is_preloaded
 *	  SQL: dp_pg.is_preloaded() returns boolean, without the error of
 *	  dp_pg.check_preload().
 */
Datum
dp_relation_is_preloaded(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(dp_base_preloaded());
}

/*
 * dp_relation_has_left_dataset
 *	  SQL: dp_pg.has_left_dataset(relation oid) returns boolean.
 */
Datum
dp_relation_has_left_dataset(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(dp_protect_left_dataset(PG_GETARG_OID(0)));
}
