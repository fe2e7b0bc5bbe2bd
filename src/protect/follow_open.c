/*
 * follow_open.c
 *	  What opens a relation in one transaction, and what protects it in another
 *	  at the same time.
 *
 * GRANT and CREATE VIEW look whether what they open is followed, and whatever
 * protects a followed relation takes privileges on it away; but neither sees
 * what the other has not committed.  So both look again before their
 * transactions end, holding a lock on which the other kind waits: whichever
 * ends last sees both.  Nothing else is waited for while it is held.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_class.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "relation_internal.h"

/* Of this transaction; lists in its memory context. */
static List *opened = NIL;		/* OIDs: something was granted on these */
static List *protected = NIL;	/* OIDs: followed, and protected or grown */
static List *arrived = NIL;		/* OIDs: of these, what came to a name */
static bool opened_all = false; /* something was granted on whole schemas */
static bool opened_view = false;	/* a view was made or changed */

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

/* dp_protect_note_open_all: privileges were granted on schemas. */
void
dp_protect_note_open_all(void)
{
	opened_all = true;
}

/* dp_protect_note_view: a view was made or changed. */
void
dp_protect_note_view(void)
{
	opened_view = true;
}

/* dp_protect_note_closed: a followed relation was protected, or has a part. */
void
dp_protect_note_closed(Oid relid)
{
	note(&protected, relid);
}

/* dp_protect_note_arrived: a table came to a followed name. */
void
dp_protect_note_arrived(Oid relid)
{
	note(&protected, relid);
	note(&arrived, relid);
}

/* Those among the exposures that this transaction may have made. */
static List *
list_own(List *exposures, Oid root)
{
	List	   *own = opened_view ?
		dp_protect_exposures_of_views(exposures, root) : NIL;
	ListCell   *cell;

	if (opened_all)
		return exposures;
	foreach(cell, exposures)
		if (list_member_oid(opened, ((dp_exposure *) lfirst(cell))->relid))
			own = list_append_unique_ptr(own, lfirst(cell));
	return own;
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
look_at(Oid root)
{
	if (list_member_oid(protected, root))
		dp_protect_warn_of(root, dp_protect_close_part(root, root));
	dp_protect_warn_of(root,
					   list_own(dp_protect_list_exposures(root, NoLock),
								root));
}

/* dp_protect_end_open: before the transaction ends. */
void
dp_protect_end_open(void)
{
	bool		opens = opened != NIL || opened_all || opened_view;
	ListCell   *cell;

	if ((!opens && protected == NIL) ||
		!OidIsValid(dp_bridge_extension_oid()))
		return;
	PushActiveSnapshot(GetTransactionSnapshot());
	dp_catalog_lock_opening(opens, protected != NIL);
	foreach(cell, list_followed())
	{
		Oid			relid = lfirst_oid(cell);

		if (opens || list_member_oid(protected, relid))
			look_at(relid);
		if (list_member_oid(arrived, relid))
			dp_protect_tell_lacks(relid);
	}
	PopActiveSnapshot();
}

/* dp_protect_forget_open: the transaction has ended. */
void
dp_protect_forget_open(void)
{
	opened = protected = arrived = NIL;
	opened_all = opened_view = false;
}
