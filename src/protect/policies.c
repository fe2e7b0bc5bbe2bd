/*
 * policies.c
 *	  Warnings about row security of protected relations.
 *
 * A private query that names the relation counts the rows that its policies
 * for SELECT show to the asking role (expressions/policy.c).  That hides rows
 * and shows none, but it changes counts without any other sign.
 */
#include "postgres.h"

#include "access/table.h"
#include "rewrite/rowsecurity.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "dp_protect.h"
#include "protect_internal.h"

/* The rows that private queries count that name the relation. */
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
 * dp_protect_warn_of_no_policy
 *	  Warn if a table came to a followed name with row security but without the
 *	  policies that its predecessor may have had.
 */
void
dp_protect_warn_of_no_policy(Oid relid)
{
	if (look_at_policies(relid) == POLICIES_NONE)
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("relation %s has row security and no policy for "
						"SELECT", dp_protect_qualified_name(relid)),
				 errdetail("Private queries that name it count no rows, "
						   "except for its owner without FORCE."),
				 errhint("Create its policies in the transaction that creates "
						 "the table.")));
}

/*
 * dp_protect_warn_of_policies
 *	  Warn that the row security of a protected relation has changed.  Policies
 *	  of its parts do not matter: they would apply to queries on the parts,
 *	  which are refused.
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
