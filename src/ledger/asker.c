/*
 * asker.c
 *	  Run code of the asking role (its views, candidates and domains) with its
 *	  own rights, inside a function that has another role's.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/guc.h"

#include "ledger.h"

/* dp_ledger_act_as_asker: see dp_ledger.h. */
void
dp_ledger_act_as_asker(dp_acting *out, bool restricted)
{
	Oid			asker = dp_ledger_asking_role();

	GetUserIdAndSecContext(&out->user, &out->security);
	out->acting = restricted || out->user != asker;
	if (!out->acting)
		return;
	SetUserIdAndSecContext(asker, out->security |
						   SECURITY_LOCAL_USERID_CHANGE |
						   SECURITY_RESTRICTED_OPERATION);
	out->nest = NewGUCNestLevel();
}

/* dp_ledger_act_as_before: see dp_ledger.h. */
void
dp_ledger_act_as_before(const dp_acting *acting)
{
	if (!acting->acting)
		return;
	AtEOXact_GUC(false, acting->nest);
	SetUserIdAndSecContext(acting->user, acting->security);
}
