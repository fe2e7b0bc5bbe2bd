/*
 * place.c
 *	  Transactions in which no private query may run, and functions that run
 *	  with another role's rights.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "miscadmin.h"

#include "dp_bridge.h"

/*
 * dp_bridge_forbid_parallel
 *	  Neither a parallel worker nor, while there are some, its leader can
 *	  charge.
 *
 * Errors: 25000.
 */
void
dp_bridge_forbid_parallel(void)
{
	if (IsInParallelMode() || IsParallelWorker())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("cannot charge a privacy budget during a parallel "
						"operation"),
				 errdetail("A function that runs a private query is marked "
						   "PARALLEL SAFE or PARALLEL RESTRICTED."),
				 errhint("Mark it PARALLEL UNSAFE.")));
}

/*
 * dp_bridge_forbid_serializable
 *	  Predicate locks are visible to others.
 *
 * Errors: 0A000.
 */
void
dp_bridge_forbid_serializable(void)
{
	if (IsolationIsSerializable())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a private query cannot run in a serializable "
						"transaction"),
				 errdetail("Predicate locks would show which rows were "
						   "read."),
				 errhint("Use REPEATABLE READ or READ COMMITTED.")));
}

/*
 * dp_bridge_has_others_rights
 *	  Whether a function (or a foreign key check) runs with the rights of a
 *	  role other than the outer user.
 */
bool
dp_bridge_has_others_rights(void)
{
	Oid			user;
	int			security;

	GetUserIdAndSecContext(&user, &security);
	return (security & SECURITY_LOCAL_USERID_CHANGE) != 0 &&
		user != GetOuterUserId();
}
