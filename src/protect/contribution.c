/*
 * contribution.c
 *	  Contribution bounds: at most max_rows rows of a unit in a group, and at
 *	  most max_keys groups of a unit, count.
 *
 * The owner declares what suits the table; settings override it for one's own
 * queries.  Both are public, and neither weakens privacy: sensitivity and
 * noise follow from the bounds, to which rows are reduced whatever they are.
 * Large bounds cost noise, small ones lose rows.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "declare_internal.h"

#define MOST PG_INT32_MAX

/* The setting, else the declaration, else 1. */
static int64
decide(int setting, int64 declared)
{
	if (setting > 0)
		return setting;
	return declared > 0 ? declared : 1;
}

/*
 * dp_protect_contribution
 *	  The bounds that hold for this connection's queries on the relation: at
 *	  least 1, and below 2^31.
 */
void
dp_protect_contribution(const dp_relation *relation, int64 *max_rows,
						int64 *max_keys)
{
	*max_rows = decide(dp_setting_max_rows, relation->max_rows);
	*max_keys = decide(dp_setting_max_keys, relation->max_keys);
}

/* A number to declare; 0 for NULL. */
static int64
read_most(FunctionCallInfo fcinfo, int i, const char *what)
{
	int64		most;

	if (PG_ARGISNULL(i))
		return 0;
	most = PG_GETARG_INT64(i);
	if (most < 1 || most > MOST)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be between 1 and %d", what, MOST),
				 errdetail("It tells the public how much of one unit counts "
						   "in answers."),
				 errhint("With 1, one row of a unit counts in a group, or "
						 "one group of it.")));
	return most;
}

PG_FUNCTION_INFO_V1(dp_declare_contribution);

/*
 * dp_declare_contribution
 *	  SQL: dp_declare(relation regclass, max_rows bigint, max_keys bigint)
 *	  returns void; NULL: as declared before.
 *
 * Errors: 42501, 42704 (not protected), 25006; 22023 for a NULL relation, for
 * neither number, and for one that is not between 1 and 2^31 - 1.
 */
Datum
dp_declare_contribution(PG_FUNCTION_ARGS)
{
	Oid			relid = dp_protect_declare_read_relation(fcinfo);
	int64		max_rows = read_most(fcinfo, 1, "max_rows");
	int64		max_keys = read_most(fcinfo, 2, "max_keys");

	if (max_rows == 0 && max_keys == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("max_rows and max_keys must not both be NULL"),
				 errdetail("NULL leaves what was declared as it is."),
				 errhint("Give one of them; 1 is as if nothing had been "
						 "declared.")));
	dp_catalog_write_contribution(relid, max_rows, max_keys);
	dp_protect_invalidate_tree(relid);
	dp_protect_comment(relid);
	PG_RETURN_VOID();
}

/*
 * The role of login or SET ROLE must own the dataset: a SECURITY DEFINER
 * function of the owner must not show exact numbers to others.
 */
static void
require_asking_owner(const dp_relation *relation)
{
	if (!dp_ledger_owns_dataset(GetOuterUserId(), relation->dataset))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("dp_suggest_bounds() is for the owner of dataset "
						"\"%s\" only", relation->dataset),
				 errdetail("It shows exact numbers about private rows, and "
						   "role \"%s\" asks.",
						   GetUserNameFromId(GetOuterUserId(), false)),
				 errhint("The role that owns the dataset must call it "
						 "itself.")));
}

PG_FUNCTION_INFO_V1(dp_suggest_unit);

/*
 * dp_suggest_unit
 *	  SQL: dp_pg.suggest_unit(relation regclass) returns name: the unit column
 *	  of a relation, if both the current user and the role that asks own it.
 *
 * Errors: 42501; 42704 not protected; 22023 a NULL relation, or one whose rows
 * are units; 0A000 the unit is behind a key; 55000 the unit column is gone.
 */
Datum
dp_suggest_unit(PG_FUNCTION_ARGS)
{
	dp_relation *relation;
	Oid			relid;

	dp_protect_declare_require_value(PG_ARGISNULL(0), "relation");
	relid = PG_GETARG_OID(0);
	dp_protect_require_owner(relid);
	dp_protect_require_dataset(dp_protect_require_protected(relid));
	relation = dp_protect_lookup(relid);
	require_asking_owner(relation);
	if (relation->unit == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("each row of relation \"%s\" is one unit",
						get_rel_name(relid)),
				 errdetail("It was protected without a unit column, so that "
						   "no unit has many rows or groups."),
				 errhint("Leave max_rows and max_keys at 1.")));
	if (relation->unit_steps != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the unit of relation \"%s\" is behind a key",
						get_rel_name(relid)),
				 errdetail("It is %s.", relation->unit),
				 errhint("Count its rows in a query of your own that joins "
						 "the relations.")));
	PG_RETURN_DATUM(DirectFunctionCall1(namein,
										CStringGetDatum(relation->unit)));
}
