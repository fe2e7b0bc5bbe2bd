/*
 * policies.c
 *	  Row security of protected relations: what the owner is told of it.
 *
 * Whoever names the relation in a private query counts the rows that its
 * policies for SELECT give him (rules/policy.c).  That hides rows and shows
 * none, but changes what is counted, and nothing else tells so.
 */
#include "postgres.h"

#include "access/table.h"
#include "rewrite/rowsecurity.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "relation_internal.h"

/* Whose rows do those count who name the relation? */
typedef enum policies_give
{
	POLICIES_OFF,
	POLICIES_NONE,
	POLICIES_SOME
} policies_give;

static policies_give
look_at_policies(Oid relid)
{
	Relation	relation = table_open(relid, AccessShareLock);
	policies_give give = relation->rd_rel->relrowsecurity ?
		POLICIES_NONE : POLICIES_OFF;
	ListCell   *cell;

	foreach(cell, relation->rd_rsdesc == NULL ? NIL :
			relation->rd_rsdesc->policies)
	{
		const RowSecurityPolicy *policy = lfirst(cell);

		if (policy->polcmd == '*' || policy->polcmd == ACL_SELECT_CHR)
			give = POLICIES_SOME;
	}
	table_close(relation, NoLock);
	return give;
}

/*
 * dp_protect_tell_policies
 *	  Warn of a table that came to a followed name with row security, without
 *	  the policies that the one before may have had.
 */
void
dp_protect_tell_policies(Oid relid)
{
	if (look_at_policies(relid) == POLICIES_NONE)
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("relation %s has row security and no policy for "
						"SELECT", dp_protect_qualified_name(relid)),
				 errdetail("Private queries that name it count no rows, "
						   "except for its owner without FORCE."),
				 errhint("Make its policies again, in the transaction that "
						 "makes the table.")));
}

/*
 * dp_protect_warn_of_policies
 *	  Warn when the row security of a protected relation has changed.  That of
 *	  its parts holds in queries on the parts, which are not answered.
 */
void
dp_protect_warn_of_policies(Oid relid)
{
	static const char *const effects[] = {
		"Row security is off: private queries count all rows, whatever its "
		"policies say.",
		"It has no policy for SELECT: private queries that name it count no "
		"rows, except for its owner without FORCE.",
		"Private queries that name it count the rows that its policies for "
		"SELECT give the asker, for the same charge; without FORCE its owner "
		"counts all."
	};

	if (!OidIsValid(relid) || dp_protect_dataset(relid) == NULL)
		return;
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("row security of protected relation \"%s\" has changed",
					get_rel_name(relid)),
			 errdetail("%s", effects[look_at_policies(relid)]),
			 errhint("SELECT * FROM dp_audit() lists its policies, with the "
					 "commands that remove them.")));
}
