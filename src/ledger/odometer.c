/*
 * odometer.c
 *	  dp_odometer_statement: what was spent so far, as a privacy guarantee.
 *
 * A limit holds in advance; this holds afterwards, at any time, even one
 * chosen by the answers.  There are two guarantees: by basic composition the
 * loss is at most the sum of epsilons; by the odometer of doc/theory.md T38,
 * with probability 1 - delta, it is at all times at most a bound computed from
 * the sum of rho.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"

#include "ledger.h"

#define COLUMNS 8

PG_FUNCTION_INFO_V1(dp_ledger_sql_odometer);
PG_FUNCTION_INFO_V1(dp_ledger_sql_odometer_float);

/* Read the statement's delta, rounded down to the grid. */
static dp_fixed
read_delta(Numeric x, bool isnull)
{
	return dp_bridge_check_number(isnull ? NULL : x, "delta", DP_RANGE_INNER,
								  DP_ROUND_DOWN, "It is the probability with "
								  "which the odometer's statement may fail, "
								  "for example 1e-9.");
}

/*
 * The role that the statement is about: the one named, or else the asking
 * role.  A role may ask about itself and the roles whose rights it has; the
 * owner, about any role.
 */
static Oid
read_role(FunctionCallInfo fcinfo, const char *dataset,
		  const dp_dataset_row *row)
{
	Oid			asking = dp_ledger_asking_role_on(dataset);
	Oid			role;

	if (PG_ARGISNULL(2))
		return asking;
	role = get_role_oid(NameStr(*PG_GETARG_NAME(2)), true);
	if (!OidIsValid(role))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("role \"%s\" does not exist",
						NameStr(*PG_GETARG_NAME(2))),
				 errhint("Spell the role exactly as in \\du.")));
	if (!dp_ledger_payer_owns(asking, row) && !has_privs_of_role(asking, role))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be owner of dataset \"%s\" to ask about role "
						"\"%s\"", dataset, NameStr(*PG_GETARG_NAME(2))),
				 errhint("Ask about yourself, or a group that you are a "
						 "member of.")));
	return role;
}

/*
 * The spending behind everything the role may have seen: that of its own
 * budget and of its groups' budgets; for the owner, that of all roles.
 */
static dp_spent
sum_spending(const dp_dataset_row *row, Oid role)
{
	dp_spent	sum = {0};
	NameData	name;

	if (dp_ledger_payer_owns(role, row))
		return row->spent;
	if (dp_catalog_sum_budgets(NameStr(row->name), role, &sum) > 0)
		return sum;
	dp_catalog_name_role(role, &name);
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("role \"%s\" never had a budget on dataset \"%s\"",
					NameStr(name), NameStr(row->name)),
			 errhint("The owner of the dataset can give one with dp_grant.")));
}

static Datum
fixed_datum(dp_fixed x)
{
	return NumericGetDatum(dp_bridge_fixed_to_numeric(x));
}

/* dp_odometer_statement's arguments (dataset, delta, role) */
static Datum
state(FunctionCallInfo fcinfo, Numeric asked)
{
	dp_fixed	delta = read_delta(asked, PG_ARGISNULL(1));
	Datum		values[COLUMNS];
	bool		nulls[COLUMNS] = {false};
	dp_fixed	epsilon = DP_FIXED_INFINITE;
	dp_fixed	shown = DP_FIXED_INFINITE;
	NameData	name;
	NameData	about;
	TupleDesc	result;
	dp_dataset_row row;
	dp_spent	spent;
	dp_status	status;
	Oid			role;

	if (get_call_result_type(fcinfo, NULL, &result) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (PG_ARGISNULL(0))
		dp_catalog_name_role(GetUserId(), &name);
	else
		name = *PG_GETARG_NAME(0);
	if (dp_catalog_read_dataset(NameStr(name), DP_ROW_READ, &row) != DP_FOUND)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("dataset \"%s\" does not exist", NameStr(name)),
				 errhint("dp_pg.my_budget lists yours.")));
	role = read_role(fcinfo, NameStr(name), &row);
	spent = sum_spending(&row, role);
	if (spent.rho != DP_FIXED_INFINITE)
	{
		status = dp_acct_odometer(spent.rho, delta, &epsilon);
		if (status == DP_E_OVERFLOW)
			epsilon = DP_FIXED_INFINITE;
		else
			dp_bridge_check_status(status, "read the odometer");
	}
	(void) dp_bridge_numeric_to_fixed(asked, DP_ROUND_UP, &shown);

	nulls[1] = dp_ledger_payer_owns(role, &row);	/* NULL: all roles */
	dp_catalog_name_role(role, &about);
	values[0] = NameGetDatum(&name);
	values[1] = NameGetDatum(&about);
	values[2] = Int64GetDatum(spent.charges);
	values[3] = fixed_datum(spent.rho);
	values[4] = fixed_datum(spent.epsilon);
	values[5] = fixed_datum(spent.delta);
	values[6] = fixed_datum(epsilon);
	values[7] = fixed_datum(dp_acct_fixed_add(shown, spent.delta));
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(result),
													  values, nulls)));
}

/*
 * dp_ledger_sql_odometer
 *	  dp_odometer_statement(dataset, delta, role) returns (dataset, role,
 *	  charges, rho, basic_epsilon, basic_delta, odometer_epsilon,
 *	  odometer_delta): what the role has learnt so far, over all periods.
 *	  Nothing is charged.
 *
 * Errors: 22023 delta, 42704 no such dataset or role, 42501.
 * Source: doc/theory.md T27, T38.
 */
Datum
dp_ledger_sql_odometer(PG_FUNCTION_ARGS)
{
	return state(fcinfo, PG_ARGISNULL(1) ? NULL : PG_GETARG_NUMERIC(1));
}

/* dp_ledger_sql_odometer_float: the same with delta as double precision. */
Datum
dp_ledger_sql_odometer_float(PG_FUNCTION_ARGS)
{
	return state(fcinfo, PG_ARGISNULL(1) ? NULL :
				 dp_bridge_float8_to_numeric(PG_GETARG_FLOAT8(1)));
}
