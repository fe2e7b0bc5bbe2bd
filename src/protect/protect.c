/*
 * protect.c
 *	  dp_protect, dp_unprotect and dp_harden.
 */
#include "postgres.h"

#include "access/htup.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/catalog.h"
#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "../base/dp_base.h"
#include "../catalog/dp_catalog.h"
#include "../catalog/dp_names.h"
#include "../ledger/dp_ledger.h"
#include "dp_protect.h"
#include "protect_internal.h"

/* ----------------
 *		dp_protect and dp_unprotect.
 *
 * The table's owner, who must own the dataset too, or a superuser calls them.
 * What acts on the caller's objects (REVOKE, CREATE VIEW) runs as the caller;
 * what writes the extension's catalog runs as the owner of the extension.
 * ----------------
 */

/*
 * Insert or replace the row; view InvalidOid keeps the published view, rows 0
 * the size class.
 */
static void
protect_write_row(const dp_relation_row *unit, const char *dataset, Oid view,
				  int64 rows, bool commented)
{
	dp_relation_row row = *unit;

	namestrcpy(&row.dataset, dataset);
	row.published = view;
	row.rows = rows;
	row.commented = commented;
	dp_catalog_write_relation(&row);
}

/* Comments are written unless their owner does not want them. */
static bool
is_commented(Oid relid)
{
	dp_relation_row row;

	return !dp_catalog_find_relation(relid, &row) || row.commented;
}

/* The dataset the relation goes into, checked; palloc'd. */
static char *
choose_dataset(Oid relid, const char *asked)
{
	char	   *current = dp_protect_dataset(relid);
	char	   *dataset;

	dataset = dp_ledger_owner_dataset(asked ? asked : current, true);
	if (current != NULL && strcmp(current, dataset) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("relation \"%s\" belongs to dataset \"%s\"",
						get_rel_name(relid), current),
				 errdetail("It cannot move to dataset \"%s\" while queries on "
						   "it are charged to its present dataset.", dataset),
				 errhint("Call dp_unprotect('%s') first; what was spent on "
						 "dataset \"%s\" stays spent.",
						 dp_protect_qualified_name(relid), current)));
	return dataset;
}

/*
 * Warn that the unit changes: what was spent so far was for a promise about
 * the old unit.
 */
static void
warn_of_new_unit(Oid relid, const char *unit)
{
	char	   *before = dp_protect_declared_unit(relid);

	if (dp_protect_dataset(relid) == NULL ||
		(before == NULL && unit == NULL) ||
		(before != NULL && unit != NULL && strcmp(before, unit) == 0))
		return;
	dp_protect_forbid_behind(relid, "give a new unit to");
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("the privacy unit of relation \"%s\" changes",
					get_rel_name(relid)),
			 errdetail("It was %s and becomes %s.",
					   before ? quote_identifier(before) : "each row",
					   unit ? quote_identifier(unit) : "each row"),
			 errhint("What was spent so far was for a promise about the old "
					 "unit; it stays spent.  Columns that were declared "
					 "immutable no longer are, and max_rows, max_keys and "
					 "max_total must be declared again.")));
	dp_protect_declare_forget_partitions(relid);
}

/* A rebuilt table may move units between immutable parts. */
static void
check_follow(Oid relid, bool follow)
{
	if (!follow || dp_protect_attribute_partitions(relid) == NULL)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("relation \"%s\" with immutable columns cannot be "
					"followed", get_rel_name(relid)),
			 errdetail("A table that is built anew may move people between "
					   "the parts, which are charged as statements about "
					   "different people."),
			 errhint("First: %s", dp_protect_mutable_text(relid))));
}

/* Record the name, and whether the next table of that name is protected. */
static void
write_name(Oid relid, bool isnull, bool follow)
{
	if (!isnull && follow && !dp_catalog_is_followed(relid))
		dp_catalog_lock_names(true);
	dp_protect_note_name(relid, isnull ? NULL : &follow);
	dp_protect_follow_note();
	if (!isnull && follow)
		dp_protect_note_closed(relid);
}

static void
require_argument(bool isnull, const char *what)
{
	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must not be NULL", what),
				 errdetail("It names the table."),
				 errhint("Give the name of a table.")));
}

PG_FUNCTION_INFO_V1(dp_protect);

/*
 * dp_protect
 *	  SQL: dp_protect(relation regclass, unit text, dataset name, publish text,
 *	  revoke boolean, rows bigint, comment boolean, follow boolean, max_total
 *	  bigint) returns void.  Called again for a protected relation it replaces
 *	  the unit and adds view, size class and bound.
 *
 * Errors: 42501 not the owner of table or dataset; 42703 no such column; 42809
 * not a table; 0A000 foreign or temporary table, one of Citus, or follow with
 * immutable columns; 22023 a unit without built-in equality, what is no path
 * to one, negative rows, max_total out of range; 55000 other roles can learn
 * rows, rows are shared with another dataset, or the name is kept for tables
 * of another role; 25006 read-only transaction.
 */
Datum
dp_protect(PG_FUNCTION_ARGS)
{
	Oid			relid;
	char	   *unit = NULL;
	char	   *dataset = NULL;
	char	   *publish = NULL;
	bool		revoke;
	int64		rows = 0;
	int64		max_total;
	List	   *tree;
	dp_relation_row row;
	Oid			view = InvalidOid;

	dp_base_require_preload();
	require_argument(PG_ARGISNULL(0), "relation");
	relid = PG_GETARG_OID(0);
	if (!PG_ARGISNULL(1))
		unit = text_to_cstring(PG_GETARG_TEXT_PP(1));
	if (!PG_ARGISNULL(2))
		dataset = NameStr(*PG_GETARG_NAME(2));
	if (!PG_ARGISNULL(3))
		publish = text_to_cstring(PG_GETARG_TEXT_PP(3));
	else if (!OidIsValid(dp_protect_published_view(relid)))
		publish = dp_protect_publish_name(relid);
	revoke = !PG_ARGISNULL(4) && PG_GETARG_BOOL(4);
	if (!PG_ARGISNULL(5))
		rows = dp_protect_declare_size_class(PG_GETARG_INT64(5));
	max_total = dp_protect_declare_read_most(fcinfo, 8, "max_total");

	dp_protect_require_writable("dp_protect()");
	tree = dp_protect_enter(relid, revoke);
	check_follow(relid, !PG_ARGISNULL(7) && PG_GETARG_BOOL(7));
	dataset = choose_dataset(relid, dataset);
	dp_protect_place(relid, tree, dataset, unit, &row);
	unit = dp_protect_unit_text(&row);
	warn_of_new_unit(relid, unit);

	if (publish != NULL && publish[0] != '\0')
		view = dp_protect_publish_view(relid, publish);
	protect_write_row(&row, dataset, view, rows,
					  PG_ARGISNULL(6) ?
					  is_commented(relid) : PG_GETARG_BOOL(6));
	if (max_total != 0)
		dp_catalog_write_contribution(relid, 0, 0, max_total, 0);
	write_name(relid, PG_ARGISNULL(7), !PG_ARGISNULL(7) && PG_GETARG_BOOL(7));
	if (OidIsValid(view))
		dp_protect_publish_grant(relid, view, dataset);
	CommandCounterIncrement();
	dp_protect_invalidate_tree(relid);
	dp_protect_comment(relid);
	dp_protect_notice_unit(&row, dataset);
	if (dp_protect_lookup(relid)->rows == 0)
		dp_protect_declare_suggest_size(relid);
	PG_RETURN_VOID();
}

/* Drop the relation; false if there is none, or another role owns it. */
static bool
drop_published(Oid relid)
{
	ObjectAddress address;

	if (!OidIsValid(relid) ||
		!object_ownercheck(RelationRelationId, relid, GetUserId()))
		return false;
	ObjectAddressSet(address, RelationRelationId, relid);
	performDeletion(&address, DROP_RESTRICT, 0);
	return true;
}

PG_FUNCTION_INFO_V1(dp_unprotect);

/*
 * dp_unprotect
 *	  SQL: dp_unprotect(relation regclass) returns void.  Forgets what was
 *	  declared about the relation and drops its published view and twin, unless
 *	  they now belong to another role; what was spent on its dataset stays
 *	  spent.
 *
 * Errors: 42501 not the owner of table or dataset; 42704 not protected; 2BP01
 * something depends on the published view or the twin, or a unit is behind the
 * relation.
 */
Datum
dp_unprotect(PG_FUNCTION_ARGS)
{
	Oid			relid;
	Oid			view;
	Oid			twin;
	char	   *dataset;

	require_argument(PG_ARGISNULL(0), "relation");
	relid = PG_GETARG_OID(0);
	dp_protect_require_writable("dp_unprotect()");
	dp_protect_require_owner(relid);
	LockRelationOid(relid, ShareUpdateExclusiveLock);
	dp_protect_require_owner(relid);
	dataset = dp_protect_require_protected(relid);
	dp_protect_require_dataset(dataset);
	dp_protect_forbid_behind(relid, "unprotect");
	view = dp_protect_published_view(relid);
	twin = dp_protect_twin(relid);
	dp_protect_invalidate_tree(relid);
	dp_protect_declare_forget_partitions(relid);
	dp_catalog_delete_relation(relid);
	if (!drop_published(view))
		dp_protect_uncomment(relid, view);
	(void) drop_published(twin);
	PG_RETURN_VOID();
}

/* ----------------
 *		What dp_harden and dp_unharden (sql/32_harden.sql) need from C: checks
 *		of the caller and of the transaction, and a guard of the table that
 *		records their changes.
 *
 * dp_unharden grants what dp_pg.hardened records, as a superuser.  So only
 * superusers may write there, not even roles with pg_write_all_data.
 * ----------------
 */

PG_FUNCTION_INFO_V1(dp_harden_check);
PG_FUNCTION_INFO_V1(dp_harden_guard);

/*
 * dp_harden_check
 *	  SQL: dp_pg.check_harden(function text): an error if the function may not
 *	  run here.
 *
 * Errors: 42501 no superuser, 25006 read-only, 55000 no superuser owns the
 * extension any more, 0A000 a snapshot that does not see what others commit.
 */
Datum
dp_harden_check(PG_FUNCTION_ARGS)
{
	char	   *function = text_to_cstring(PG_GETARG_TEXT_PP(0));

	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser to call %s", function),
				 errdetail("It changes privileges on system catalogs and on "
						   "objects of all owners."),
				 errhint("Ask a superuser; you can run the remedies of "
						 "dp_audit() on your own objects yourself.")));
	dp_protect_require_writable(function);
	if (!superuser_arg(dp_base_extension_owner()))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("extension dp_pg does not belong to a superuser"),
				 errdetail("Its owner could have changed what %s does.",
						   function),
				 errhint("Give it back to a superuser with REASSIGN OWNED.")));
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s cannot run in a transaction with one snapshot",
						function),
				 errdetail("It would not see privileges that others have "
						   "changed since, and would take those changes for "
						   "its own."),
				 errhint("Use isolation level READ COMMITTED.")));
	PG_RETURN_VOID();
}

/*
 * dp_harden_guard
 *	  BEFORE row trigger of dp_pg.hardened: 42501 for all but superusers.
 */
Datum
dp_harden_guard(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo) ||
		!TRIGGER_FIRED_BEFORE(trigger->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(trigger->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function must be called by a trigger before each "
						"row")));
	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser to change what dp_harden recorded"),
				 errdetail("dp_unharden() grants what is recorded there."),
				 errhint("Ask a superuser to run dp_unharden().")));
	return PointerGetDatum(TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) ?
						   trigger->tg_newtuple : trigger->tg_trigtuple);
}
