/*
 * table_rights.c
 *	  Cache of the rights that roles have on whole tables.
 *
 * PostgreSQL checks rights when a statement starts to run, and copies the ACL
 * to do so.  dp_pg checks every statement before it is planned and again
 * before it runs, so results are kept until any relation or role changes.
 * They decide how a statement is planned and how its refusal is explained;
 * PostgreSQL itself decides whether a statement may run.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/inval.h"
#include "utils/syscache.h"

#include "dp_compat.h"

#define PLACES 256
#define KNOWN (ACL_SELECT | ACL_INSERT | ACL_UPDATE | ACL_DELETE)

/* The last result for the tables and roles that share a place. */
typedef struct known_rights
{
	Oid			relid;
	Oid			role;
	AclMode		rights;
	uint64		changes;		/* value of `changes` when it was found */
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
	/* for membership, as in acl.c */
	CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, note_change, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHOID, note_change, (Datum) 0);
	CacheRegisterSyscacheCallback(DATABASEOID, note_change, (Datum) 0);
	watching = true;
}

/*
 * dp_base_has_table_rights
 *	  Whether the role (InvalidOid: the current user) has all these rights on
 *	  the table.  False also if they are granted on columns only or are none of
 *	  the four, or if there is no table.
 */
bool
dp_base_has_table_rights(Oid relid, Oid role, AclMode rights)
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
		found.changes = changes;	/* the lookup may process another change */
		found.rights = pg_class_aclmask(relid, role, KNOWN, ACLMASK_ALL);
		*place = found;
	}
	return (rights & ~place->rights) == 0;
}
