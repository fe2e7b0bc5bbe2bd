/*
 * profile.c
 *	  dp_profile and dp_suggest_bounds: who may call them, and the row in
 *	  dp_pg.profile.  What they do is in sql/33_profile.sql, 33_suggest.sql.
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
 * must the role of login or SET ROLE: with the owner's rights, lent by a
 * function, another role must neither spend the owner's cap nor see the exact
 * numbers that dp_suggest_bounds returns of the rows on the way to the unit.
 */
static char *
require_measuring_owner(Oid relid, bool exact)
{
	const char *function = exact ? "dp_suggest_bounds()" : "dp_profile()";
	char	   *dataset;
	dp_relation *relation;
	ListCell   *lc;

	if (!exact)
		dp_protect_require_writable(function);
	dp_protect_require_owner(relid);
	dataset = dp_protect_require_protected(relid);
	dp_protect_require_dataset(dataset);
	if (!dp_ledger_owns_dataset(GetOuterUserId(), dataset))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("%s is for the owner of dataset \"%s\" only", function,
						dataset),
				 errdetail("%s, and role \"%s\" asks.", exact ?
						   "It shows exact numbers about private rows" :
						   "It is charged to the dataset's cap",
						   GetUserNameFromId(GetOuterUserId(), false)),
				 errhint("The role that owns the dataset must call it "
						 "itself.")));
	relation = dp_protect_lookup(relid);
	foreach(lc, exact ? relation->unit_steps : NIL)
		dp_protect_require_owner(((dp_unit_step *) lfirst(lc))->relid);
	return dataset;
}

PG_FUNCTION_INFO_V1(dp_profile_dataset);

/*
 * dp_profile_dataset
 *	  SQL: dp_pg.profile_dataset(relation regclass, exact boolean) returns
 *	  name.
 *
 * Errors: 42501; 42704 not protected; 22023 a NULL; 25006 unless exact; 55000
 * the unit column is gone.
 */
Datum
dp_profile_dataset(PG_FUNCTION_ARGS)
{
	char	   *dataset;

	dp_protect_declare_require_value(PG_ARGISNULL(0), "relation");
	dp_protect_declare_require_value(PG_ARGISNULL(1), "exact");
	dataset = require_measuring_owner(PG_GETARG_OID(0), PG_GETARG_BOOL(1));
	PG_RETURN_DATUM(DirectFunctionCall1(namein, CStringGetDatum(dataset)));
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
	char	   *dataset;
	int			i;

	dp_protect_declare_require_value(PG_ARGISNULL(0), "relation");
	dataset = require_measuring_owner(PG_GETARG_OID(0), false);
	args[0] = (dp_argument) DP_ARG_OID(PG_GETARG_OID(0));
	args[1] = (dp_argument) {TEXTOID, CStringGetTextDatum(dataset)};
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
