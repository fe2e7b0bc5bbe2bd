/*
 * follow_open.c
 *	  Transactions that open a relation, by GRANT or a view, while others
 *	  protect it.
 *
 * GRANT and CREATE VIEW check whether what they open is followed, and
 * protecting a followed relation revokes privileges on it; but neither sees
 * what the other has not committed.  So both check again before their
 * transactions end, under a lock that conflicts with the other kind: whichever
 * ends last sees both.  Work that may wait for other transactions is done
 * before the lock is taken, as far as it is then known.  This file records
 * what was opened and protected; follow.c checks it.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_class.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "relation_internal.h"

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

/* dp_protect_note_arrived: a table came to a followed name. */
void
dp_protect_note_arrived(Oid relid)
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
 * dp_protect_list_opened
 *	  Those of the exposures that this transaction may have created.
 */
List *
dp_protect_list_opened(List *exposures, Oid root)
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

/* dp_protect_opens: whether the transaction has opened anything. */
bool
dp_protect_opens(void)
{
	return opened != NIL || opened_schemas != NIL || opened_views != NIL;
}

/* dp_protect_closed: the relations that it protected, or gave parts. */
const List *
dp_protect_closed(void)
{
	return protected;
}

/* dp_protect_arrived: those of them that came to a followed name. */
const List *
dp_protect_arrived(void)
{
	return arrived;
}

/* dp_protect_forget_open: the transaction has ended. */
void
dp_protect_forget_open(void)
{
	opened = protected = arrived = NIL;
	opened_schemas = opened_views = NIL;
}
