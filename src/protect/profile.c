/*
 * profile.c
 *	  dp_profile: who may make the profile of a relation, and its row in
 *	  dp_pg.profile.  How it is made is in sql/33_profile.sql.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "../base/dp_base.h"
#include "../catalog/dp_catalog.h"
#include "../catalog/dp_table.h"
#include "../ledger/dp_ledger.h"
#include "dp_protect.h"
#include "protect_internal.h"

/*
 * The dataset of a protected relation.  The current user must own both; so
 * must the role of login or SET ROLE, whose release it is: with the owner's
 * rights, lent by a function, another role must not spend the owner's cap.
 */
static char *
require_profiling_owner(Oid relid)
{
	char	   *dataset;

	dp_protect_require_writable("dp_profile()");
	dp_protect_require_owner(relid);
	dataset = dp_protect_require_protected(relid);
	dp_protect_require_dataset(dataset);
	if (!dp_ledger_owns_dataset(GetOuterUserId(), dataset))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("dp_profile() is for the owner of dataset \"%s\" "
						"only", dataset),
				 errdetail("It is charged to the dataset's cap, and role "
						   "\"%s\" asks.",
						   GetUserNameFromId(GetOuterUserId(), false)),
				 errhint("The role that owns the dataset must call it "
						 "itself.")));
	return dataset;
}

PG_FUNCTION_INFO_V1(dp_profile_dataset);

/*
 * dp_profile_dataset
 *	  SQL: dp_pg.profile_dataset(relation regclass) returns name.
 *
 * Errors: 42501; 42704 not protected; 22023 a NULL; 25006.
 */
Datum
dp_profile_dataset(PG_FUNCTION_ARGS)
{
	dp_protect_declare_require_value(PG_ARGISNULL(0), "relation");
	PG_RETURN_DATUM(DirectFunctionCall1(namein,
										CStringGetDatum(
							require_profiling_owner(PG_GETARG_OID(0)))));
}

PG_FUNCTION_INFO_V1(dp_profile_keep);

/*
 * dp_profile_keep
 *	  SQL: dp_pg.profile_keep(relation regclass, epsilon numeric,
 *	  delta numeric, lines jsonb, bars jsonb) returns void: replace the
 *	  relation's profile.
 *
 * Errors: as dp_profile_dataset.
 */
Datum
dp_profile_keep(PG_FUNCTION_ARGS)
{
	static const Oid types[] = {NUMERICOID, NUMERICOID, JSONBOID, JSONBOID};
	dp_argument args[6];
	int			i;

	dp_protect_declare_require_value(PG_ARGISNULL(0), "relation");
	args[0] = (dp_argument) DP_ARG_OID(PG_GETARG_OID(0));
	args[1] = (dp_argument) {TEXTOID, CStringGetTextDatum(
								  require_profiling_owner(PG_GETARG_OID(0)))};
	for (i = 0; i < lengthof(types); i++)
		args[i + 2] = (dp_argument) {types[i], PG_GETARG_DATUM(i + 1),
									 PG_ARGISNULL(i + 1)};
	dp_catalog_run_as_owner("INSERT INTO dp_pg.profile AS p VALUES ($1, $2,"
							" pg_catalog.now(), $3, $4, $5, $6)"
							" ON CONFLICT (relid) DO UPDATE SET"
							" dataset = EXCLUDED.dataset, at = EXCLUDED.at,"
							" epsilon = EXCLUDED.epsilon,"
							" delta = EXCLUDED.delta,"
							" lines = EXCLUDED.lines,"
							" bars = EXCLUDED.bars",
							args, lengthof(args));
	dp_protect_invalidate_tree(PG_GETARG_OID(0));
	PG_RETURN_VOID();
}
