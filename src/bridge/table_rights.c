/*
 * table_rights.c
 *	  Which rights a role has on a whole table, remembered.
 *
 * PostgreSQL looks at them when a statement begins to run, and copies the list
 * of rights to do so.  dp_pg asks the same of every statement before it is
 * planned and once more before it runs, so what was found is kept until
 * PostgreSQL tells of a change to any relation or role.  It decides how a
 * statement is planned, and what is said of one that is refused; PostgreSQL
 * decides whether one may run.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/inval.h"
#include "utils/syscache.h"

#include "dp_compat.h"

#define PLACES 256
#define KNOWN (ACL_SELECT | ACL_INSERT | ACL_UPDATE | ACL_DELETE)

/* The last one that was asked for of those that share a place. */
typedef struct known_rights
{
	Oid			relid;
	Oid			role;
	AclMode		rights;
	uint64		changes;		/* told of when it was found */
} known_rights;

static known_rights known[PLACES];
static uint64 changes = 1;

static void
note_change(Datum argument, int cacheid, uint32 hash)
{
	changes++;
}

static void
watch_changes(void)
{
	static bool watching = false;

	if (watching)
		return;
	CacheRegisterSyscacheCallback(RELOID, note_change, (Datum) 0);
	/* as acl.c, for membership */
	CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, note_change, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHOID, note_change, (Datum) 0);
	CacheRegisterSyscacheCallback(DATABASEOID, note_change, (Datum) 0);
	watching = true;
}

/*
 * dp_bridge_has_table_rights
 *	  Has the role, or the user if it is InvalidOid, all these rights on the
 *	  table?  False where it needs those on columns, or others than the four,
 *	  or where there is no table.
 */
bool
dp_bridge_has_table_rights(Oid relid, Oid role, AclMode rights)
{
	known_rights *place;

	if (rights == 0)
		return true;
	if (!OidIsValid(relid))
		return false;
	if (!OidIsValid(role))
		role = GetUserId();
	place = &known[(relid + role) % PLACES];
	if (place->relid != relid || place->role != role ||
		place->changes != changes)
	{
		known_rights found = {relid, role};

		watch_changes();
		found.changes = changes;	/* looking may tell of another one */
		found.rights = pg_class_aclmask(relid, role, KNOWN, ACLMASK_ALL);
		*place = found;
	}
	return (rights & ~place->rights) == 0;
}
