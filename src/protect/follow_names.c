/*
 * follow_names.c
 *	  Which tables have the names of protected relations now.
 *
 * Names change hands by CREATE, by RENAME and SET SCHEMA of tables, and by
 * RENAME of schemas.  So what has each name of dp_pg.relation_name is looked
 * up, by catalog scans that need no privilege, whatever the command was: by an
 * event trigger after each command, for everybody's DDL, and again before the
 * transaction ends, where a row of pg_class or pg_namespace was made or
 * changed; EXPLAIN ANALYZE CREATE TABLE AS fires no event trigger, and a
 * superuser can turn them off.  What the trigger finds unfit may be mended by
 * a later command of the transaction, and is an error at its end.
 *
 * dp_protect goes on holding a lock on the table, so that only a schema can be
 * renamed while somebody else's wish to follow a name is not committed yet;
 * see dp_catalog_lock_names.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "commands/event_trigger.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

#include "relation_internal.h"

static object_access_hook_type previous_access = NULL;

static bool touched = false;	/* names may have changed hands */
static bool renamed = false;	/* and those of schemas */
static bool looking = false;	/* commands of our own are not looked after */

/* ---- what has a name ---- */

/* What has the name and is not the relation that had it, or InvalidOid. */
static Oid
find_heir(const dp_name_row *name)
{
	Oid			holder = dp_catalog_name_holder(name);

	if (!OidIsValid(holder) || holder == name->relid)
		return InvalidOid;
	switch (get_rel_relkind(holder))
	{
		case RELKIND_RELATION:
		case RELKIND_PARTITIONED_TABLE:
		case RELKIND_FOREIGN_TABLE:
		case RELKIND_VIEW:
		case RELKIND_MATVIEW:
			return holder;
		default:
			return InvalidOid;	/* keeps no rows */
	}
}

/* Once for each; dp_audit tells it as long as it is so. */
static void
warn_of_heir(const dp_name_row *name, Oid heir)
{
	const char *qualified = quote_qualified_identifier(NameStr(name->schema),
													   NameStr(name->name));

	if (heir == name->seen || OidIsValid(dp_protect_root(heir)) ||
		OidIsValid(dp_catalog_find_published(heir)))
		return;
	dp_catalog_write_seen(name, heir);
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("relation %s is not protected, and the one that had its "
					"name before was", qualified),
			 errdetail("Whoever has SELECT on it reads its rows, and private "
					   "queries do not."),
			 errhint("Protect it with dp_protect(%s, unit => ...), with "
					 "follow => true also those that come after it; or, if "
					 "its rows are public: SELECT dp_unfollow(%s);",
					 quote_literal_cstr(qualified),
					 quote_literal_cstr(qualified))));
}

/*
 * One after the other, since the unit of one may be behind another.  Answers
 * whether any was protected.
 */
static bool
look_once(bool raise)
{
	bool		any = false;
	ListCell   *cell;

	foreach(cell, dp_catalog_list_names())
	{
		const dp_name_row *name = lfirst(cell);
		Oid			heir = find_heir(name);

		if (!OidIsValid(heir))
			continue;
		if (!name->follow)
			warn_of_heir(name, heir);
		else if (dp_protect_may_arrive(name, heir, raise))
		{
			dp_protect_arrive(name, heir);
			any = true;
		}
	}
	return any;
}

static void
look(bool raise)
{
	if (looking)
		return;
	looking = true;
	PG_TRY();
	{
		while (look_once(false))
			CHECK_FOR_INTERRUPTS();
		if (raise)
			(void) look_once(true);
	}
	PG_FINALLY();
	{
		looking = false;
	}
	PG_END_TRY();
}

/* ---- who looks ---- */

PG_FUNCTION_INFO_V1(dp_follow_tables);

/* dp_follow_tables: event trigger on ddl_command_end, of every command. */
Datum
dp_follow_tables(PG_FUNCTION_ARGS)
{
	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function must be called by an event trigger")));
	/* without our hooks nothing looks at the end of the transaction */
	look(!dp_bridge_preloaded());
	PG_RETURN_NULL();
}

/* dp_protect_follow_note: look before the transaction ends. */
void
dp_protect_follow_note(void)
{
	touched = true;
}

static void
note_access(ObjectAccessType access, Oid class, Oid object, int column,
			void *arg)
{
	if (previous_access)
		previous_access(access, class, object, column, arg);
	if (access != OAT_POST_CREATE && access != OAT_POST_ALTER)
		return;
	if (class == RelationRelationId && column == 0)
		touched = true;
	else if (class == NamespaceRelationId)
		touched = renamed = true;
}

/*
 * A relation that has left its name, which no followed one has taken, is
 * looked after under its new name, too: it may stay there, and be built anew.
 * A row of that name, of a relation that was not followed, gives way.
 */
static void
note_moved(void)
{
	ListCell   *cell;

	foreach(cell, dp_catalog_list_names())
	{
		const dp_name_row *name = lfirst(cell);
		Oid			namespace = get_rel_namespace(name->relid);
		char	   *schema = get_namespace_name(namespace);
		char	   *relation = get_rel_name(name->relid);
		const dp_name_row *present;

		if (schema == NULL || relation == NULL ||
			dp_catalog_name_holder(name) == name->relid)
			continue;
		present = dp_catalog_find_name(schema, relation);
		if (present == NULL ||
			(!present->follow && present->relid != name->relid))
			dp_catalog_write_name(name->relid, &name->follow);
	}
}

static void
look_last(void)
{
	if (!touched || IsParallelWorker() || RecoveryInProgress() ||
		!OidIsValid(dp_bridge_extension_oid()))
		return;
	touched = false;
	PushActiveSnapshot(GetTransactionSnapshot());
	if (renamed)
		dp_catalog_lock_names(false);
	look(true);
	note_moved();
	PopActiveSnapshot();
}

/* The relations that are followed and there. */
static List *
list_followed(void)
{
	List	   *followed = NIL;
	ListCell   *cell;

	foreach(cell, dp_catalog_list_names())
	{
		const dp_name_row *name = lfirst(cell);

		if (name->follow && OidIsValid(dp_catalog_owner(name->relid)))
			followed = list_append_unique_oid(followed, name->relid);
	}
	return followed;
}

/*
 * What others have opened is closed, where REVOKE does; what is open because
 * of this transaction, or is no privilege, is an error.
 */
static void
look_at_open(Oid root)
{
	List	   *exposures;

	if (list_member_oid(dp_protect_closed(), root))
		dp_protect_warn_of(root, dp_protect_close_part(root, root));
	exposures = dp_protect_list_exposures(root, NoLock);
	dp_protect_warn_of(root, dp_protect_list_opened(exposures, root));
}

/* See follow_open.c. */
static void
look_at_opened(void)
{
	bool		opens = dp_protect_opens();
	bool		closes = dp_protect_closed() != NIL;
	ListCell   *cell;

	if ((!opens && !closes) || !OidIsValid(dp_bridge_extension_oid()))
		return;
	PushActiveSnapshot(GetTransactionSnapshot());
	dp_catalog_lock_opening(opens, closes);
	foreach(cell, list_followed())
	{
		Oid			relid = lfirst_oid(cell);

		if (opens || list_member_oid(dp_protect_closed(), relid))
			look_at_open(relid);
		if (list_member_oid(dp_protect_arrived(), relid))
			dp_protect_tell_lacks(relid);
	}
	PopActiveSnapshot();
}

static void
end_transaction(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			look_last();
			look_at_opened();
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			touched = renamed = false;
			dp_protect_forget_open();
			break;
		default:
			break;
	}
}

/* dp_protect_follow_init: once, while preloading. */
void
dp_protect_follow_init(void)
{
	dp_bridge_add_hook(&object_access_hook, note_access, &previous_access);
	RegisterXactCallback(end_transaction, NULL);
}

/* ---- DROP ---- */

static void
warn_of_drop(const dp_name_row *name)
{
	const char *qualified = quote_qualified_identifier(NameStr(name->schema),
													   NameStr(name->name));

	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("protected relation %s was dropped", qualified),
			 errdetail("What was declared about it is forgotten, and a table "
					   "that comes to its name is not protected.  What was "
					   "spent on its dataset stays spent."),
			 errhint("Tables that are built anew are protected with "
					 "dp_protect(%s, unit => ..., follow => true).",
					 quote_literal_cstr(qualified))));
}

/* Has the relation a name that is followed, too? */
static bool
is_followed(const List *names, Oid relid)
{
	ListCell   *cell;

	foreach(cell, names)
	{
		const dp_name_row *name = lfirst(cell);

		if (name->follow && name->relid == relid)
			return true;
	}
	return false;
}

/*
 * dp_protect_keep_dropped
 *	  After a command that dropped something, while the rows of dp_pg.relation
 *	  about it are there.
 */
void
dp_protect_keep_dropped(void)
{
	List	   *names = dp_catalog_list_names();
	ListCell   *cell;

	foreach(cell, names)
	{
		const dp_name_row *name = lfirst(cell);

		if (!OidIsValid(name->relid) ||
			SearchSysCacheExists1(RELOID, ObjectIdGetDatum(name->relid)))
			continue;
		dp_catalog_keep_dropped(name->relid);
		if (!is_followed(names, name->relid) &&
			!OidIsValid(dp_catalog_name_holder(name)))
			warn_of_drop(name);
	}
}

/* ---- SQL ---- */

static const dp_name_row *
read_name(char *text)
{
	const dp_name_row *name = NULL;
	List	   *names;
	ListCell   *cell;

	if (!SplitIdentifierString(pstrdup(text), '.', &names) ||
		names == NIL || list_length(names) > 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("\"%s\" is not a valid name for a relation", text),
				 errdetail("It is a name with or without its schema."),
				 errhint("For example 'public.visits'.")));
	if (list_length(names) == 2)
		return dp_catalog_find_name(linitial(names), lsecond(names));
	foreach(cell, fetch_search_path(false))
	{
		char	   *schema = get_namespace_name(lfirst_oid(cell));

		if (name == NULL && schema != NULL)
			name = dp_catalog_find_name(schema, linitial(names));
	}
	return name;
}

static void
unfollow(const dp_name_row *name)
{
	const bool	follow = false;
	dp_relation_row row;

	if (dp_catalog_find_relation(name->relid, &row) &&
		dp_catalog_name_holder(name) == name->relid)
		dp_catalog_write_name(name->relid, &follow);
	else
		dp_catalog_delete_name(name);
}

/* A relation that was renamed is followed under both names, by one wish. */
static void
unfollow_others(const dp_name_row *name)
{
	ListCell   *cell;

	foreach(cell, dp_catalog_list_names())
	{
		const dp_name_row *other = lfirst(cell);
		const char *qualified;

		qualified = quote_qualified_identifier(NameStr(other->schema),
											   NameStr(other->name));
		if (!other->follow || other->relid != name->relid)
			continue;
		unfollow(other);
		ereport(NOTICE,
				(errmsg("name %s is no longer followed either", qualified),
				 errdetail("It is another name of the same relation, which "
						   "was renamed.")));
	}
}

PG_FUNCTION_INFO_V1(dp_unfollow);

/*
 * dp_unfollow
 *	  SQL: dp_unfollow(relation text) returns void; see sql/36_follow.sql.
 */
Datum
dp_unfollow(PG_FUNCTION_ARGS)
{
	const dp_name_row *name;
	char	   *asked;

	dp_bridge_require_argument(fcinfo, 0, "relation of dp_unfollow",
							   "Write its name.");
	dp_protect_require_writable("dp_unfollow()");
	asked = text_to_cstring(PG_GETARG_TEXT_PP(0));
	name = read_name(asked);
	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("no protected relation has or had the name \"%s\"",
						asked),
				 errhint("dp_pg.relation_name lists such names.")));
	if (!superuser() && !(OidIsValid(name->owner) &&
						  has_privs_of_role(GetUserId(), name->owner)))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be owner of relation \"%s\"", asked),
				 errdetail("Only its owner may say what becomes of tables "
						   "with its name."),
				 errhint("Act as role %s.",
						 quote_identifier(NameStr(name->owner_name)))));
	unfollow(name);
	if (OidIsValid(name->relid))
		unfollow_others(name);
	PG_RETURN_VOID();
}
