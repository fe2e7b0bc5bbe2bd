/*
 * admit.c
 *	  What dp_protect checks about a table: its kind, that no other role can
 *	  learn its rows, that the dataset's owner may act as its owner, and that
 *	  tables which share its rows have the same dataset and unit.
 *
 * Tables that come to a followed name are checked likewise (follow.c).
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/pg_class.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "../base/dp_base.h"
#include "../catalog/dp_catalog.h"
#include "../catalog/dp_names.h"
#include "../ledger/dp_ledger.h"
#include "dp_protect.h"
#include "protect_internal.h"

#define TOLD 3					/* most revoked privileges in a notice */

static void
raise_kind(Oid relid, int code, const char *what, const char *hint)
{
	ereport(ERROR,
			(errcode(code),
			 errmsg("cannot protect %s \"%s\"", what, get_rel_name(relid)),
			 errdetail("Only ordinary and partitioned tables can be "
					   "protected, and all of their parts must be such "
					   "tables."),
			 errhint("%s", hint)));
}

/* Each part of the tree must be a table whose rows this server stores. */
static void
admit_check_kind(Oid relid)
{
	static const char *const own = "Protect tables of your own.";
	static const char *const below =
		"Protect the tables that it reads; views of them can be queried.";
	char		kind = get_rel_relkind(relid);

	if (IsCatalogRelationOid(relid) ||
		IsToastNamespace(get_rel_namespace(relid)))
		raise_kind(relid, ERRCODE_WRONG_OBJECT_TYPE, "system catalog", own);
	if (get_rel_namespace(relid) == dp_base_catalog_namespace())
		raise_kind(relid, ERRCODE_WRONG_OBJECT_TYPE, "catalog table", own);
	if (kind == RELKIND_FOREIGN_TABLE)
		raise_kind(relid, ERRCODE_FEATURE_NOT_SUPPORTED, "foreign table",
				   "Copy its rows into a table, or protect them where they "
				   "are.");
	if (kind == RELKIND_VIEW)
		raise_kind(relid, ERRCODE_WRONG_OBJECT_TYPE, "view", below);
	if (kind == RELKIND_MATVIEW)
		raise_kind(relid, ERRCODE_WRONG_OBJECT_TYPE, "materialized view",
				   below);
	if (kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE)
		raise_kind(relid, ERRCODE_WRONG_OBJECT_TYPE, "relation",
				   "Give the name of a table.");
	if (dp_protect_is_distributed(relid))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot protect distributed table \"%s\"",
						get_rel_name(relid)),
				 errdetail("Citus keeps its rows in other tables, as a rule "
						   "on other servers, which are not protected."),
				 errhint("Call undistribute_table() first.")));
	if (get_rel_persistence(relid) == RELPERSISTENCE_TEMP)
		raise_kind(relid, ERRCODE_FEATURE_NOT_SUPPORTED, "temporary table",
				   "Nobody else can read it; store its rows in a permanent "
				   "table.");
}

/* Parents and parts of the table must have the same dataset and unit. */
static void
check_neighbours(Oid relid, const List *tree, const char *dataset,
				 const char *unit)
{
	ListCell   *cell;

	foreach(cell, tree)
	{
		Oid			part = lfirst_oid(cell);
		dp_relation *other = NULL;

		if (part != relid)
			other = dp_protect_lookup(part);
		if (other == NULL)
			continue;
		if (strcmp(other->dataset, dataset) != 0 ||
			(unit == NULL) != (other->unit == NULL) ||
			(unit != NULL && strcmp(unit, other->unit) != 0))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("relation \"%s\" shares rows with protected "
							"relation \"%s\"", get_rel_name(relid),
							get_rel_name(part)),
					 errdetail("\"%s\" belongs to dataset \"%s\" with %s%s.",
							   get_rel_name(part), other->dataset,
							   other->unit ? "unit " : "each row as unit",
							   other->unit ? other->unit : ""),
					 errhint("Protect both in one dataset with one unit, or "
							 "call dp_unprotect('%s') first.",
							 dp_protect_qualified_name(part))));
	}
}

/*
 * dp_protect_revoke
 *	  Revoke those exposures that are privileges on objects of the current
 *	  user, with a NOTICE.  Returns whether any was revoked.
 */
bool
dp_protect_revoke(Oid relid, const List *exposures)
{
	StringInfoData text;
	int			revoked = 0;
	ListCell   *cell;

	initStringInfo(&text);

	SPI_connect();
	foreach(cell, exposures)
	{
		const dp_exposure *exposure = lfirst(cell);

		if (exposure->privileges == 0 ||
			!object_ownercheck(RelationRelationId, exposure->relid,
							   GetUserId()))
			continue;
		dp_protect_run_command(dp_protect_exposure_remedy(exposure));
		if (revoked++ < TOLD)
			appendStringInfo(&text, "%s%s", text.len > 0 ? "; " : "",
							 dp_protect_exposure_describe(exposure));
	}
	if (revoked > TOLD)
		appendStringInfo(&text, "; and %d more", revoked - TOLD);
	if (revoked > 0)
		ereport(NOTICE,
				(errmsg("privileges of other roles that show rows of relation "
						"\"%s\" were revoked", get_rel_name(relid)),
				 errdetail("Before: %s.", text.data)));
	SPI_finish();
	CommandCounterIncrement();
	return revoked > 0;
}

static bool
has_privileges(const List *exposures)
{
	ListCell   *cell;

	foreach(cell, exposures)
		if (((const dp_exposure *) lfirst(cell))->privileges != 0)
			return true;
	return false;
}

/*
 * 55000 if roles other than the owner and superusers can learn rows.  With
 * revoke, their privileges are revoked first, as the current user.
 */
static void
close_exposures(Oid relid, bool revoke)
{
	List	   *exposures;
	char	   *detail;
	char	   *hint;

	exposures = dp_protect_list_exposures(relid, ShareUpdateExclusiveLock);
	if (revoke && dp_protect_revoke(relid, exposures))
		exposures = dp_protect_list_exposures(relid, NoLock);
	if (exposures == NIL)
		return;
	detail = dp_protect_exposure_explain(exposures, &hint);
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("other roles can learn rows of relation \"%s\"",
					get_rel_name(relid)),
			 errdetail("%s", detail),
			 errhint("To close it:%s%s", hint,
					 !revoke && has_privileges(exposures) ?
					 " With revoke => true the REVOKEs are run for you." :
					 "")));
}

/*
 * The owner of the dataset grants budgets on the relation, and so must have
 * the rights of its owner; another role may have created a dataset of that
 * name first.
 */
static void
require_served(Oid relid, const char *dataset)
{
	Oid			owner = dp_catalog_owner(relid);

	if (dp_ledger_dataset_serves(dataset, owner))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("the owner of dataset \"%s\" does not own relation "
					"\"%s\"", dataset, get_rel_name(relid)),
			 errdetail("The relation belongs to %s, whose rights the owner of "
					   "the dataset does not have; the owner of the dataset "
					   "could give anybody a budget on it.",
					   dp_protect_role_name(owner)),
			 errhint("Call dp_protect() as %s, with a dataset of that role.",
					 dp_protect_role_name(owner))));
}

/*
 * dp_protect_enter
 *	  Lock a table that is to be protected, and its tree, which is returned; an
 *	  error if it cannot be protected or other roles can learn its rows.  With
 *	  revoke, their privileges are revoked first, as the current user.
 */
List *
dp_protect_enter(Oid relid, bool revoke)
{
	List	   *tree;
	ListCell   *cell;

	dp_protect_require_owner(relid);
	admit_check_kind(relid);
	LockRelationOid(relid, ShareUpdateExclusiveLock);
	dp_protect_require_owner(relid);
	tree = dp_protect_list_tree(relid, ShareUpdateExclusiveLock);
	foreach(cell, tree)
		admit_check_kind(lfirst_oid(cell));
	close_exposures(relid, revoke);
	return tree;
}

/*
 * dp_protect_place
 *	  Fill in the table's row of dp_pg.relation, with the unit as written
 *	  (NULL: each row), after the checks of dataset, unit and related tables.
 */
void
dp_protect_place(Oid relid, const List *tree, const char *dataset,
				 const char *unit, dp_relation_row *row)
{
	require_served(relid, dataset);
	dp_protect_read_unit(relid, unit, dataset, row);
	check_neighbours(relid, tree, dataset, dp_protect_unit_text(row));
}

/*
 * dp_protect_note_name
 *	  Record the name of a relation that was just protected.  An error if the
 *	  name is followed for tables of another role: otherwise any role that can
 *	  create tables in the schema could stop that.  `follow` NULL leaves the
 *	  choice as it is.
 *
 * Errors: 55000.
 */
void
dp_protect_note_name(Oid relid, const bool *follow)
{
	const dp_name_row *name;
	const char *qualified = dp_protect_qualified_name(relid);

	name = dp_catalog_find_name(get_namespace_name(get_rel_namespace(relid)),
					 get_rel_name(relid));
	if (name != NULL && name->follow && name->relid != relid &&
		name->owner != dp_catalog_owner(relid))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("name %s is followed for tables of another "
						"role", qualified),
				 errdetail("The table belongs to %s, and the one before it "
						   "belonged to %s.",
						   dp_protect_role_name(dp_catalog_owner(relid)),
						   quote_identifier(NameStr(name->owner_name))),
				 errhint("Choose another name.  To stop protecting tables of "
						 "this name, that role calls SELECT dp_unfollow(%s);",
						 quote_literal_cstr(qualified))));
	dp_catalog_write_name(relid, follow);
}
