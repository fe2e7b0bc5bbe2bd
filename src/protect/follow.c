/*
 * follow.c
 *	  A table that comes to the name of a followed relation is protected like
 *	  its predecessor: dataset, unit, declared columns, view and grants.
 *
 * This happens in any role's CREATE or ALTER, or at COMMIT.  Such commands say
 * nothing about privacy, so the code acts on the table as its owner, who must
 * own the predecessor too, and on the view as the view's owner, in a
 * security-restricted operation with a fixed search_path.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_namespace.h"
#include "commands/event_trigger.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/regproc.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

#include "../base/dp_base.h"
#include "../catalog/dp_catalog.h"
#include "../catalog/dp_names.h"
#include "dp_protect.h"
#include "protect_internal.h"

/* ----------------
 *		Transactions that open a relation, by GRANT or a view, while others
 *		protect it.
 *
 * GRANT and CREATE VIEW check whether what they open is followed, and
 * protecting a followed relation revokes privileges on it; but neither sees
 * what the other has not committed.  So both check again before their
 * transactions end, under a lock that conflicts with the other kind: whichever
 * ends last sees both.  Work that may wait for other transactions is done
 * before the lock is taken, as far as it is then known.  What was opened and
 * protected is recorded first.
 * ----------------
 */

/* Of this transaction; the lists are in TopTransactionContext. */
static List *opened = NIL;		/* OIDs: something was granted on these */
static List *protected = NIL;	/* OIDs: followed, and protected or grown */
static List *arrived = NIL;		/* OIDs: of these, what came to a name */
static List *opened_schemas = NIL;	/* OIDs: granted on all tables in these */
static List *opened_views = NIL;	/* OIDs: views made or changed */

static void
note(List **list, Oid relid)
{
	MemoryContext before = MemoryContextSwitchTo(TopTransactionContext);

	*list = list_append_unique_oid(*list, relid);
	MemoryContextSwitchTo(before);
}

/* dp_protect_note_open: a privilege on it was granted. */
void
dp_protect_note_open(Oid relid)
{
	note(&opened, relid);
}

/* dp_protect_note_open_all: one was granted on all tables in a schema. */
void
dp_protect_note_open_all(Oid schema)
{
	note(&opened_schemas, schema);
}

/* dp_protect_note_view: a view was made or changed. */
void
dp_protect_note_view(Oid view)
{
	note(&opened_views, view);
}

/* dp_protect_note_closed: a followed relation was protected, or has a part. */
void
dp_protect_note_closed(Oid relid)
{
	note(&protected, relid);
}

/* note_arrived: a table came to a followed name. */
static void
note_arrived(Oid relid)
{
	note(&protected, relid);
	note(&arrived, relid);
}

/* ---- what is open ---- */

/* dp_protect_can_show: whether a view can read the relation as its owner. */
bool
dp_protect_can_show(Oid view, Oid root)
{
	return dp_protect_can_read(dp_catalog_owner(view), dp_catalog_owner(root));
}

/*
 * dp_protect_exposures_of_views
 *	  Those on views that can read the relation with their owners' rights.
 */
List *
dp_protect_exposures_of_views(List *exposures, Oid root)
{
	List	   *found = NIL;
	ListCell   *cell;

	foreach(cell, exposures)
	{
		Oid			relid = ((dp_exposure *) lfirst(cell))->relid;
		char		kind = get_rel_relkind(relid);

		if ((kind == RELKIND_VIEW || kind == RELKIND_MATVIEW) &&
			dp_protect_can_show(relid, root))
			found = lappend(found, lfirst(cell));
	}
	return found;
}

/*
 * dp_protect_warn_of
 *	  Warn of exposures of a protected relation: 55000 where it is followed.
 */
void
dp_protect_warn_of(Oid root, List *exposures)
{
	char	   *hint;
	char	   *detail;

	if (exposures == NIL)
		return;
	detail = dp_protect_exposure_explain(exposures, &hint);
	if (dp_catalog_is_followed(root))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("other roles could learn rows of protected relation "
						"\"%s\", which is followed", get_rel_name(root)),
				 errdetail("%s", detail),
				 errhint("Analysts need no privilege on it; leave the command "
						 "out.")));
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("other roles can learn rows of protected relation \"%s\" "
					"without differential privacy", get_rel_name(root)),
			 errdetail("%s", detail),
			 errhint("To close it:%s", hint)));
}

/*
 * list_opened
 *	  Those of the exposures that this transaction may have created.
 */
static List *
list_opened(List *exposures, Oid root)
{
	List	   *views = opened_views == NIL ? NIL :
		dp_protect_exposures_of_views(exposures, root);
	List	   *own = NIL;
	ListCell   *cell;

	foreach(cell, exposures)
	{
		Oid			relid = ((dp_exposure *) lfirst(cell))->relid;

		if (list_member_oid(opened, relid) ||
			list_member_oid(opened_schemas, get_rel_namespace(relid)) ||
			(list_member_ptr(views, lfirst(cell)) &&
			 dp_protect_view_passes(relid, opened_views)))
			own = lappend(own, lfirst(cell));
	}
	return own;
}

/* ---- the end of the transaction ---- */

/* forget_open: the transaction has ended. */
static void
forget_open(void)
{
	opened = protected = arrived = NIL;
	opened_schemas = opened_views = NIL;
}

/* ---- checks ---- */

static const char *
quoted_name(const dp_name_row *name)
{
	return quote_qualified_identifier(NameStr(name->schema),
									  NameStr(name->name));
}

/* Returns false, or with raise does not return. */
static bool
follow_forbid(const dp_name_row *name, bool raise, const char *detail,
			  const char *hint)
{
	if (raise)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("relation %s cannot be protected as the one before "
						"it", quoted_name(name)),
				 errdetail("%s", detail),
				 errhint("%s  To stop protecting tables of this name: SELECT "
						 "dp_unfollow(%s);", hint,
						 quote_literal_cstr(quoted_name(name)))));
	return false;
}

/* The OID of a relation whose key a unit refers to, by name; or InvalidOid. */
static Oid
find_through(const char *name)
{
	List	   *names;
	Oid			namespace;

	if (name[0] == '\0' || strcmp(name, "?") == 0)
		return InvalidOid;
	names = dp_compat_qualified_names(name);
	namespace = get_namespace_oid(strVal(linitial(names)), true);
	return OidIsValid(namespace) ?
		get_relname_relid(strVal(llast(names)), namespace) : InvalidOid;
}

static bool
check_lacking(const dp_name_row *name, const dp_heritage *kept, bool raise)
{
	return kept->lacking[0] == '\0' ||
		follow_forbid(name, raise, psprintf("%s.", kept->lacking),
					  "In the transaction that makes it, give it what the one "
					  "before had.");
}

static bool
check_heritage(const dp_name_row *name, Oid relid, bool raise)
{
	dp_heritage *kept = dp_catalog_read_heritage(name, relid);
	dp_relation_row through;
	Oid			key;

	if (kept == NULL)
		return follow_forbid(name, raise,
							 "The declarations of that one are no longer "
							 "known.", "Protect it as its owner with "
							 "dp_protect(), and declare its columns, under "
							 "another name, and rename it.");
	if (!check_lacking(name, kept, raise))
		return false;
	if (kept->through[0] == '\0')
		return true;
	key = find_through(kept->through);
	if (!OidIsValid(key) || !dp_catalog_find_relation(key, &through) ||
		strcmp(dp_protect_key_text(key), kept->key) != 0)
		return follow_forbid(name, raise,
							 psprintf("Its unit is behind the primary key "
									  "(%s) of relation %s, which is not "
									  "protected, or has another or none.",
									  kept->key, kept->through),
							 "Build and protect that one first, with its "
							 "primary key.");
	return true;
}

/* A table that is already protected keeps its declarations. */
static bool
check_protected(const dp_name_row *name, const dp_relation_row *row,
				bool raise)
{
	dp_heritage *kept = dp_catalog_read_heritage(name, row->relid);
	const char *unit = row->has_unit ? dp_protect_columns_text(row) : "";

	if (dp_protect_attribute_partitions(row->relid) != NULL)
		return follow_forbid(name, raise, "It has immutable columns.",
							 psprintf("Before: %s",
									  dp_protect_mutable_text(row->relid)));
	/* units behind both names would end up behind one table */
	if (kept != NULL && dp_catalog_is_followed(row->relid) &&
		OidIsValid(dp_catalog_relation_behind(kept->relid)))
		return follow_forbid(name, raise,
							 "It is followed under another name, which no "
							 "other table has taken, and units of other "
							 "relations are behind the one before.",
							 "Build the table anew, or call dp_unfollow() for "
							 "the other name first.");
	if (kept == NULL)
		return true;
	if (strcmp(kept->dataset, NameStr(row->dataset)) == 0 &&
		strcmp(kept->unit, unit) == 0 &&
		find_through(kept->through) == row->unit_through)
		return check_lacking(name, kept, raise);
	return follow_forbid(name, raise,
						 "It is protected already, in another dataset "
						 "or with another unit.",
						 "Call dp_unprotect() for it first.");
}

/*
 * may_arrive
 *	  Whether the table that has the name can be protected like its
 *	  predecessor.  Raises an error only with raise, since a later command of
 *	  the transaction may mend it.
 */
static bool
may_arrive(const dp_name_row *name, Oid relid, bool raise)
{
	Oid			owner = dp_catalog_owner(relid);
	char		kind = get_rel_relkind(relid);
	dp_relation_row row;

	if (kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE)
		return follow_forbid(name, raise, kind == RELKIND_FOREIGN_TABLE ?
							 "It is a foreign table, whose rows another "
							 "server keeps." : "It is a view, and only tables "
											   "can be protected.",
											   "Create a table.");
	if (!OidIsValid(name->owner) || owner != name->owner)
		return follow_forbid(name, raise,
							 psprintf("It belongs to %s, and that one to %s.",
									  dp_protect_role_name(owner),
									  quote_identifier(NameStr(
											name->owner_name))),
							 psprintf("Create it as that role, or in the same "
									  "transaction ALTER TABLE %s OWNER TO "
									  "%s.",
									  quoted_name(name),
									  quote_identifier(NameStr(
											name->owner_name))));
	if (dp_catalog_find_relation(relid, &row))
		return check_protected(name, &row, raise);
	return check_heritage(name, relid, raise);
}

/* ---- acting as another role ---- */

static void
become(Oid role, dp_owner_sql *saved)
{
	GetUserIdAndSecContext(&saved->user, &saved->security);
	saved->nest = NewGUCNestLevel();
	dp_base_set_local("search_path", "pg_catalog, pg_temp");
	SetUserIdAndSecContext(role, saved->security |
						   SECURITY_LOCAL_USERID_CHANGE |
						   SECURITY_RESTRICTED_OPERATION);
}

static void
come_back(const dp_owner_sql *saved)
{
	SetUserIdAndSecContext(saved->user, saved->security);
	AtEOXact_GUC(false, saved->nest);
}

/* ---- protecting ---- */

/* The unit argument for dp_protect; NULL: each row. */
static char *
unit_text(const dp_heritage *kept)
{
	dp_relation_row through;
	Oid			key;

	if (kept->unit[0] == '\0')
		return NULL;
	if (kept->through[0] == '\0')
		return kept->unit;
	key = find_through(kept->through);
	if (!dp_catalog_find_relation(key, &through))
		elog(ERROR, "relation %s is not protected", kept->through);
	return psprintf("%s -> %s", kept->unit,
					dp_protect_end_text(key, &through));
}

static void
protect(const dp_name_row *name, Oid relid, const dp_heritage *kept)
{
	dp_relation_row row;
	dp_owner_sql saved;
	List	   *tree;

	become(name->owner, &saved);
	tree = dp_protect_enter(relid, true);
	dp_protect_place(relid, tree, kept->dataset, unit_text(kept), &row);
	come_back(&saved);
	/*
	 * while waiting for the lock of the path's relation, its key may have
	 * changed
	 */
	(void) check_heritage(name, relid, true);
	namestrcpy(&row.dataset, kept->dataset);
	row.rows = kept->rows;
	row.commented = kept->commented;
	dp_catalog_write_relation(&row);
	dp_catalog_write_contribution(relid, kept->max_rows, kept->max_keys,
								  kept->max_total, kept->min_units);
	dp_catalog_write_heirs(name, relid);
	CommandCounterIncrement();
	dp_protect_invalidate_tree(relid);
}

/*
 * Whether the view is still as dp_protect made it.  Another stays with the
 * predecessor.
 */
static bool
is_published(Oid view, Oid relid)
{
	Query	   *query = OidIsValid(view) ? dp_protect_view_query(view) : NULL;

	return query != NULL && dp_protect_is_security_invoker(view) &&
		dp_protect_is_projection(query, relid);
}

static void
publish(const dp_name_row *name, Oid relid, const dp_heritage *kept)
{
	Oid			view = OidIsValid(name->relid) ?
		dp_protect_published_view(name->relid) : InvalidOid;
	const char *qualified;
	dp_owner_sql saved;

	if (OidIsValid(dp_protect_published_view(relid)) ||
		kept->view[0] == '\0')
		return;
	if (OidIsValid(view) && !is_published(view, name->relid))
	{
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("view %s does not show relation %s",
						dp_protect_qualified_name(view), quoted_name(name)),
				 errdetail("It is no longer a security_invoker view of "
						   "columns of the relation before it."),
				 errhint("Drop it, and publish again with dp_protect(%s, "
						 "publish => ...).", dp_protect_call_text(relid))));
		return;
	}
	qualified = OidIsValid(view) ? dp_protect_qualified_name(view) :
		quote_qualified_identifier(kept->view_schema, kept->view);
	become(OidIsValid(view) ? dp_catalog_owner(view) : name->owner, &saved);
	view = dp_protect_publish_again(view, name->relid, relid, qualified,
									OidIsValid(view) ? NIL :
									dp_catalog_list_kept(name));
	come_back(&saved);
	dp_catalog_write_published(relid, view);
	CommandCounterIncrement();
	dp_protect_publish_grant(relid, view, kept->dataset);
}

/*
 * arrive
 *	  Protect the table that now has the name, for which may_arrive holds.
 *
 * Errors: as dp_protect.
 */
static void
arrive(const dp_name_row *name, Oid relid)
{
	dp_heritage *kept = dp_catalog_read_heritage(name, relid);
	dp_relation_row row;
	const bool	follow = true;

	dp_base_require_preload();
	if (dp_catalog_find_relation(relid, &row))
	{
		dp_owner_sql saved;

		become(name->owner, &saved);
		(void) dp_protect_enter(relid, true);
		come_back(&saved);
		dp_catalog_write_heirs(name, relid);
	}
	else
	{
		protect(name, relid, kept);
		ereport(NOTICE,
				(errmsg("relation %s is protected as the one before it",
						quoted_name(name)),
				 errdetail("Dataset \"%s\".", kept->dataset)));
	}
	if (kept != NULL)
		publish(name, relid, kept);
	dp_catalog_write_name(relid, &follow);
	note_arrived(relid);
	dp_protect_comment(relid);
}

/* ---- what the predecessor had and the table lacks ---- */

/* The key columns that a unit refers to, "column, column". */
static char *
declared_key(const dp_relation_row *row)
{
	StringInfoData text;
	ListCell   *lc;

	initStringInfo(&text);
	foreach(lc, dp_protect_unit_columns(row))
		appendStringInfo(&text, "%s%s", text.len > 0 ? ", " : "",
						 quote_identifier(NameStr(((dp_unit_column *)
												   lfirst(lc))->key)));
	return text.data;
}

static void
warn_of_key(Oid relid)
{
	const char *qualified = dp_protect_qualified_name(relid);
	ListCell   *cell;

	foreach(cell, dp_catalog_list_relations())
	{
		dp_relation_row row;
		List	   *numbers = NIL;
		ListCell   *lc;

		if (!dp_catalog_find_relation(lfirst_oid(cell), &row) ||
			row.unit_through != relid)
			continue;
		foreach(lc, dp_protect_unit_columns(&row))
		{
			const dp_unit_column *column = lfirst(lc);

			numbers = lappend_int(numbers,
								  get_attnum(relid, NameStr(column->key)));
		}
		if (dp_protect_same_columns(dp_protect_primary_key(relid), numbers))
			continue;
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("relation %s has no primary key (%s)", qualified,
						declared_key(&row)),
				 errdetail("The unit of relation \"%s\" is behind it, and "
						   "private queries on that are refused until it "
						   "exists.", get_rel_name(row.relid)),
				 errhint("ALTER TABLE %s ADD PRIMARY KEY (%s);", qualified,
						 declared_key(&row))));
		return;
	}
}

/*
 * warn_of_lacks
 *	  Warn about a primary key or policies without which queries that were
 *	  answered before are refused or count no rows.
 */
static void
warn_of_lacks(Oid relid)
{
	warn_of_key(relid);
	dp_protect_warn_of_no_policy(relid);
}

/* ---- parts ---- */

/*
 * Exposures through the part, its own parts, or views of them that show rows.
 */
static List *
list_exposures_of(Oid part, Oid root)
{
	List	   *parts = find_all_inheritors(part, NoLock, NULL);
	List	   *found = NIL;
	ListCell   *cell;

	foreach(cell, dp_protect_list_exposures(root, NoLock))
	{
		Oid			relid = ((dp_exposure *) lfirst(cell))->relid;
		List	   *read = dp_protect_view_shows(relid);

		if (list_member_oid(parts, relid) ||
			(list_length(list_difference_oid(read, parts)) <
			 list_length(read) && dp_protect_can_show(relid, root)))
			found = lappend(found, lfirst(cell));
	}
	return found;
}

/*
 * dp_protect_close_part
 *	  Revoke privileges on a new part of a followed relation and on views of
 *	  it, which default privileges may have granted.  Returns what remains
 *	  open.
 */
List *
dp_protect_close_part(Oid part, Oid root)
{
	List	   *open = list_exposures_of(part, root);
	dp_owner_sql saved;

	if (open == NIL)
		return NIL;
	become(dp_catalog_owner(root), &saved);
	(void) dp_protect_revoke(root, open);
	come_back(&saved);
	return list_exposures_of(part, root);
}

/*
 * dp_protect_keep_part
 *	  Protect a detached part of a protected relation on its own.
 */
void
dp_protect_keep_part(Oid part, Oid root)
{
	char		kind = get_rel_relkind(part);

	if (!OidIsValid(part) || !OidIsValid(root) ||
		OidIsValid(dp_protect_root(part)))
		return;
	if (kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE)
	{
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("relation \"%s\" is no longer protected",
						get_rel_name(part)),
				 errdetail("It was a part of protected relation \"%s\", and a "
						   "foreign table cannot be protected on its own.",
						   get_rel_name(root))));
		return;
	}
	dp_catalog_write_detached(part, root);
	dp_protect_note_name(part, NULL);
	CommandCounterIncrement();
	dp_protect_invalidate_tree(part);
	ereport(NOTICE,
			(errmsg("relation \"%s\" stays protected", get_rel_name(part)),
			 errdetail("It is now a protected relation of its own, in the "
					   "dataset of \"%s\" and with its declarations.",
					   get_rel_name(root))));
}

/* ----------------
 *		Which tables now have the names of protected relations.
 *
 * Names change hands by CREATE, by RENAME and SET SCHEMA of tables, and by
 * RENAME of schemas.  So the holder of each name of dp_pg.relation_name is
 * looked up, whatever the command was, by catalog scans that need no
 * privilege: by an event trigger after each command of any role, and again
 * before the end of a transaction that created or changed a row of pg_class or
 * pg_namespace, since EXPLAIN ANALYZE CREATE TABLE AS fires no event trigger
 * and a superuser can disable them.  What the trigger finds unfit may be
 * mended by a later command of the transaction, and is an error at its end.
 *
 * dp_protect keeps a lock on the table until the end of its transaction, so
 * only a rename of a schema can miss a name whose following is not committed
 * yet; see dp_catalog_lock_names.
 * ----------------
 */

static object_access_hook_type previous_access = NULL;

static bool touched = false;	/* names may have changed hands */
static bool renamed = false;	/* names of schemas may have changed */
static bool looking = false;	/* ignore the commands run by look() itself */

/* ---- holders of names ---- */

/*
 * The relation that now has the name, if not the recorded one; or InvalidOid.
 */
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

/* Warns once per table; dp_audit lists it as long as this holds. */
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
			 errmsg("relation %s is not protected, but the one that had its "
					"name before was", qualified),
			 errdetail("Roles with SELECT on it can read its rows; private "
					   "queries cannot."),
			 errhint("Protect it with dp_protect(%s, unit => ...), with "
					 "follow => true also its successors; or, if its rows are "
					 "public: SELECT dp_unfollow(%s);",
					 quote_literal_cstr(qualified),
					 quote_literal_cstr(qualified))));
}

/*
 * Look at each name once.  Returns whether any table was protected: then the
 * unit of another may be behind it, and the caller looks again.
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
		else if (may_arrive(name, heir, raise))
		{
			arrive(name, heir);
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

/* ---- when names are looked at ---- */

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
	look(!dp_base_preloaded());
	PG_RETURN_NULL();
}

/* dp_protect_follow_note: look at names before the transaction ends. */
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
 * A relation that was renamed, and whose old name no other has taken, is
 * recorded under its new name too: it may stay there and be built anew.  This
 * replaces a row of that name whose relation was not followed.
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
		!OidIsValid(dp_base_extension_oid()))
		return;
	touched = false;
	PushActiveSnapshot(GetTransactionSnapshot());
	if (renamed)
		dp_catalog_lock_names(false);
	look(true);
	note_moved();
	PopActiveSnapshot();
}

/* The followed relations that exist. */
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
 * Revoke what other transactions have granted; what this transaction opened,
 * or cannot be revoked, is an error.
 */
static void
look_at_open(Oid root)
{
	List	   *exposures;

	if (list_member_oid(protected, root))
		dp_protect_warn_of(root, dp_protect_close_part(root, root));
	exposures = dp_protect_list_exposures(root, NoLock);
	dp_protect_warn_of(root, list_opened(exposures, root));
}

/*
 * At COMMIT, look at what opens followed relations to other roles, and warn of
 * what their new tables lack.
 */
static void
look_at_opened(void)
{
	bool		opens = opened != NIL || opened_schemas != NIL ||
	opened_views != NIL;
	bool		closes = protected != NIL;
	List	   *followed;
	ListCell   *cell;

	if ((!opens && !closes) || !OidIsValid(dp_base_extension_oid()))
		return;
	PushActiveSnapshot(GetTransactionSnapshot());
	/* wait for other transactions' GRANTs before taking the lock */
	followed = list_followed();
	foreach(cell, protected)
		if (list_member_oid(followed, lfirst_oid(cell)))
			(void) dp_protect_close_part(lfirst_oid(cell), lfirst_oid(cell));
	CommandCounterIncrement();
	dp_catalog_lock_opening(opens, closes);
	foreach(cell, list_followed())
	{
		Oid			relid = lfirst_oid(cell);

		if (opens || list_member_oid(protected, relid))
			look_at_open(relid);
		if (list_member_oid(arrived, relid))
			warn_of_lacks(relid);
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
			forget_open();
			break;
		default:
			break;
	}
}

/* dp_protect_follow_init: install the hooks; once, while preloading. */
void
dp_protect_follow_init(void)
{
	dp_base_add_hook(&object_access_hook, note_access, &previous_access);
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
			 errdetail("Its declarations are gone, and a new table of its "
					   "name is not protected.  What was spent on its dataset "
					   "stays spent."),
			 errhint("To protect tables that are built anew, call "
					 "dp_protect(%s, unit => ..., follow => true).",
					 quote_literal_cstr(qualified))));
}

/* Whether the relation is followed under any name. */
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
 *	  After a command that dropped relations: keep the declarations of those
 *	  that are followed, and warn about the others.  The rows of dp_pg.relation
 *	  are still there.
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

/* A renamed relation is followed under both names; both end together. */
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

	dp_base_require_argument(fcinfo, 0, "relation of dp_unfollow",
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
				 errdetail("Only its owner may decide about tables with its "
						   "name."),
				 errhint("Act as role %s.",
						 quote_identifier(NameStr(name->owner_name)))));
	unfollow(name);
	if (OidIsValid(name->relid))
		unfollow_others(name);
	PG_RETURN_VOID();
}
