/*
 * standing.c
 *	  What a role could still spend, and what it has spent.  Nothing here
 *	  charges.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "../math/numbers/dp_numbers.h"
#include "../math/accounting/dp_accounting.h"
#include "../base/dp_base.h"
#include "../catalog/dp_catalog.h"
#include "dp_ledger.h"
#include "ledger_internal.h"

/* ----------------
 *		dp_odometer_statement: what was spent so far, as a privacy guarantee.
 *
 * A limit holds in advance; this holds afterwards, at any time, even one
 * chosen by the answers.  There are two guarantees: by basic composition the
 * loss is at most the sum of epsilons; by the odometer of doc/theory.md T38,
 * with probability 1 - delta, it is at all times at most a bound computed from
 * the sum of rho.
 * ----------------
 */

#define COLUMNS 8

PG_FUNCTION_INFO_V1(dp_ledger_sql_odometer);
PG_FUNCTION_INFO_V1(dp_ledger_sql_odometer_float);

/* Read the statement's delta, rounded down to the grid. */
static dp_fixed
standing_read_delta(Numeric x, bool isnull)
{
	return dp_base_check_number(isnull ? NULL : x, "delta", DP_RANGE_INNER,
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
standing_fixed_datum(dp_fixed x)
{
	return NumericGetDatum(dp_base_fixed_to_numeric(x));
}

/* dp_odometer_statement's arguments (dataset, delta, role) */
static Datum
state(FunctionCallInfo fcinfo, Numeric asked)
{
	dp_fixed	delta = standing_read_delta(asked, PG_ARGISNULL(1));
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
		status = dp_accounting_odometer_read(spent.rho, delta, &epsilon);
		if (status == DP_E_OVERFLOW)
			epsilon = DP_FIXED_INFINITE;
		else
			dp_base_check_status(status, "read the odometer");
	}
	(void) dp_base_numeric_to_fixed(asked, DP_ROUND_UP, &shown);

	nulls[1] = dp_ledger_payer_owns(role, &row);	/* NULL: all roles */
	dp_catalog_name_role(role, &about);
	values[0] = NameGetDatum(&name);
	values[1] = NameGetDatum(&about);
	values[2] = Int64GetDatum(spent.charges);
	values[3] = standing_fixed_datum(spent.rho);
	values[4] = standing_fixed_datum(spent.epsilon);
	values[5] = standing_fixed_datum(spent.delta);
	values[6] = standing_fixed_datum(epsilon);
	values[7] = standing_fixed_datum(dp_accounting_fixed_add(shown,
															 spent.delta));
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
				 dp_base_float8_to_numeric(PG_GETARG_FLOAT8(1)));
}

/* ----------------
 *		What a role could still spend.  Nothing here charges.
 *
 * The numbers are those of the latest committed rows; other connections may
 * spend before the next charge is decided.
 * ----------------
 */

/* Remaining epsilon is shown in steps of 10^-6. */
#define STEP (DP_FIXED_ONE / 1000000)

PG_FUNCTION_INFO_V1(dp_ledger_sql_standing);
PG_FUNCTION_INFO_V1(dp_ledger_sql_owned);
PG_FUNCTION_INFO_V1(dp_ledger_sql_inherits);
PG_FUNCTION_INFO_V1(dp_ledger_sql_is_me);
PG_FUNCTION_INFO_V1(dp_ledger_sql_cluster);
PG_FUNCTION_INFO_V1(dp_ledger_sql_in_lineage);
PG_FUNCTION_INFO_V1(dp_ledger_sql_sees_more);

/* The charge of one pure query; false when epsilon cannot be converted. */
static bool
pure_charge(dp_fixed epsilon, dp_charge *charge)
{
	dp_rational exact;

	charge->epsilon = epsilon;
	charge->delta = 0;
	return dp_accounting_fixed_to_rational(epsilon, &exact) == DP_OK &&
		dp_accounting_rho_from_pure(&exact, &charge->rho) == DP_OK;
}

/* The number in a setting, on the grid; false if there is none. */
static bool
standing_read_setting(const char *text, dp_rounding rounding, dp_fixed *out)
{
	return text[0] != '\0' &&
		dp_base_numeric_to_fixed(dp_base_text_to_numeric(text), rounding,
								 out) == DP_NUMBER_OK;
}

/*
 * What a count costs with the current settings under these limits, as pure
 * epsilon or by the Gaussian mechanism.  False if the settings do not
 * determine it.
 */
static bool
price_of_count(const dp_limit *limit, const dp_limit *cap, dp_charge *out)
{
	dp_fixed	epsilon;
	dp_fixed	delta;
	dp_fixed	rho;
	dp_rational variance;

	if (!standing_read_setting(dp_setting_epsilon, DP_ROUND_UP, &epsilon))
		return false;
	if (dp_setting_mechanism != DP_SETTING_GAUSSIAN)
		return pure_charge(epsilon, out);
	if (!standing_read_setting(dp_setting_delta, DP_ROUND_DOWN, &delta) ||
		dp_base_gaussian_variance(1, epsilon, delta, &variance) !=
		DP_OK ||
		dp_accounting_rho_from_gaussian(1, &variance, &rho) != DP_OK)
		return false;
	dp_accounting_charge_gaussian(dp_accounting_charge_filter(limit, cap),
								  epsilon, delta, rho, out);
	return true;
}

/*
 * dp_ledger_remaining
 *	  The largest epsilon that one more pure query may have: limit minus sum
 *	  where the filter compares sums of epsilon; more, in steps of 10^-6, where
 *	  it compares sums of rho or of squares.
 */
dp_fixed
dp_ledger_remaining(const dp_limit *limit, const dp_spent *spent)
{
	dp_fixed	left = 0;
	dp_fixed	low = 0;		/* in steps; admitted */
	dp_fixed	high = limit->epsilon / STEP + 1;	/* not admitted */
	dp_charge	charge;

	if ((limit->filter == DP_FILTER_BASIC ||
		 limit->filter == DP_FILTER_BEST) && spent->epsilon < limit->epsilon)
		left = limit->epsilon - spent->epsilon;
	if (limit->filter == DP_FILTER_BASIC)
		return left;
	while (high - low > 1)
	{
		dp_fixed	middle = low + (high - low) / 2;

		if (pure_charge(middle * STEP, &charge) &&
			dp_accounting_limit_admits(limit, spent, &charge))
			low = middle;
		else
			high = middle;
	}
	return Max(left, low * STEP);
}

/* Standing of the asker on a dataset that exists. */
static void
fill_standing(const dp_dataset_row *dataset, Oid outer, Oid current,
			  dp_ledger_standing *out, dp_payer *payer)
{
	dp_budget_row *budget = &payer->budget;

	MemSet(out, 0, sizeof(*out));
	out->owner = dataset->owner;
	out->capped = dataset->capped;
	out->cap = dataset->cap;
	out->cap_spent = dataset->spent;
	out->replace_one = dataset->replace_one;
	out->floored = dataset->floored;
	out->epsilon_floor = dataset->floor;
	out->ceiled = dataset->ceiled;
	out->epsilon_ceiling = dataset->ceiling;
	dp_ledger_payer_find(dataset, outer, current, DP_ROW_READ, payer);
	out->asking = payer->asking;
	out->found = payer->outcome == DP_OUTCOME_ADMITTED;
	out->exempt = payer->exempt;
	out->payer = payer->name;
	if (!out->found || out->exempt)
		return;
	if (payer->found != DP_FOUND)
	{
		out->found = false;		/* gone since */
		return;
	}
	dp_ledger_roll(budget, GetCurrentTimestamp());
	out->limit = budget->limit;
	out->spent = budget->spent;
	out->payer_role = payer->role;
	out->period = budget->period;
	out->renews = budget->renews;
	if (budget->renews)
		out->renewal = dp_ledger_renewal(budget);
}

/* Read the dataset and decide who pays; DP_MISSING: no such dataset. */
static dp_found
find_standing(const char *name, dp_ledger_standing *standing,
			  dp_payer *payer)
{
	Oid			outer = GetOuterUserId();
	Oid			current = GetUserId();
	dp_dataset_row dataset;
	dp_found	found;

	found = dp_catalog_read_dataset(name, DP_ROW_READ, &dataset);
	if (found == DP_FOUND)
		fill_standing(&dataset, outer, current, standing, payer);
	return found;
}

/*
 * dp_ledger_is_renewed: whether spending will have started again from 0 by
 * then.
 */
bool
dp_ledger_is_renewed(const dp_ledger_standing *standing, TimestampTz now)
{
	return standing->renews && now >= standing->renewal;
}

/*
 * dp_ledger_read_standing
 *	  What remains for the asking role.  A missing dataset or budget is no
 *	  error: found is false.
 */
void
dp_ledger_read_standing(const char *dataset, dp_ledger_standing *out)
{
	dp_payer	payer;

	if (find_standing(dataset, out, &payer) != DP_FOUND)
		MemSet(out, 0, sizeof(*out));
}

/*
 * dp_ledger_require_budget
 *	  What remains for the asking role, or an error if it may not ask at all.
 *
 * Errors: 0A000 in the wrong place, 42704 no dataset, 42501 no budget.
 */
void
dp_ledger_require_budget(const char *dataset, dp_ledger_standing *out)
{
	dp_payer	payer;
	dp_answer	answer;

	dp_ledger_payer_forbid_place();
	MemSet(&answer, 0, sizeof(answer));
	if (find_standing(dataset, out, &payer) != DP_FOUND)
		answer.outcome = DP_OUTCOME_NO_DATASET;
	else if (out->found)
		return;
	else
	{
		answer.outcome = payer.outcome == DP_OUTCOME_TWO_BUDGETS ?
			DP_OUTCOME_TWO_BUDGETS : DP_OUTCOME_NO_BUDGET;
		answer.receipt.payer = payer.name;
		answer.other = payer.other;
		dp_catalog_name_role(payer.asking, &answer.asking);
	}
	dp_ledger_payer_raise(&answer, dataset);
}

/*
 * dp_ledger_asking_role
 *	  The role whose rights count: the outer user, unless that is a superuser
 *	  and the current user is not.
 */
Oid
dp_ledger_asking_role(void)
{
	Oid			outer = GetOuterUserId();

	if (superuser_arg(outer) && !superuser_arg(GetUserId()))
		return GetUserId();
	return outer;
}

/*
 * dp_ledger_asking_role_on
 *	  The same for a dataset, whose owner is treated like a superuser; a
 *	  missing dataset has no owner.
 */
Oid
dp_ledger_asking_role_on(const char *dataset)
{
	dp_ledger_standing standing;
	dp_payer	payer;

	if (find_standing(dataset, &standing, &payer) != DP_FOUND)
		return dp_ledger_asking_role();
	return payer.asking;
}

/* dp_ledger_owns_dataset: false also if there is no such dataset. */
bool
dp_ledger_owns_dataset(Oid role, const char *dataset)
{
	dp_dataset_row row;

	return dp_catalog_read_dataset(dataset, DP_ROW_READ, &row) == DP_FOUND &&
		dp_ledger_payer_owns(role, &row);
}


/* Columns of dp_pg.standing() for one dataset. */
static void
form_standing(const NameData *dataset, const dp_ledger_standing *s,
			  Datum *values, bool *nulls)
{
	bool		limited = !s->exempt || s->capped;
	const dp_limit *limit = s->exempt ? &s->cap : &s->limit;
	const dp_spent *spent = s->exempt ? &s->cap_spent : &s->spent;
	dp_fixed	remaining;
	dp_fixed	delta;
	dp_charge	charge;
	int64		calls;
	int			i;

	for (i = 1; i < 11; i++)
		nulls[i] = true;
	values[0] = NameGetDatum(dataset);
	nulls[0] = false;
	values[5] = standing_fixed_datum(spent->epsilon);
	nulls[5] = false;
	values[10] = NameGetDatum(&s->payer);
	nulls[10] = s->exempt;
	values[9] = TimestampTzGetDatum(s->renewal);
	nulls[9] = !s->renews;
	values[1] = BoolGetDatum(s->exempt);
	nulls[1] = false;
	if (!limited)
		return;
	remaining = dp_ledger_remaining(limit, spent);
	delta = dp_accounting_fixed_left(limit->delta_sum, spent->delta);
	if (s->capped && !s->exempt)
	{
		remaining = Min(remaining,
						dp_ledger_remaining(&s->cap, &s->cap_spent));
		delta = Min(delta, dp_accounting_fixed_left(s->cap.delta_sum,
													s->cap_spent.delta));
	}
	values[2] = CStringGetTextDatum(dp_accounting_filter_name(limit->filter));
	values[3] = standing_fixed_datum(limit->epsilon);
	values[4] = standing_fixed_datum(limit->delta);
	values[6] = standing_fixed_datum(remaining);
	values[7] = standing_fixed_datum(delta);
	nulls[2] = nulls[3] = nulls[4] = nulls[6] = nulls[7] = false;
	if (!price_of_count(s->exempt ? NULL : &s->limit,
						s->capped ? &s->cap : NULL, &charge))
		return;
	calls = dp_accounting_limit_calls(limit, spent, &charge);
	if (s->capped && !s->exempt)
		calls = Min(calls, dp_accounting_limit_calls(&s->cap, &s->cap_spent,
													 &charge));
	values[8] = Int64GetDatum(calls);
	nulls[8] = false;
}

/*
 * dp_ledger_sql_standing
 *	  dp_pg.standing(): what the asking role may still spend, a row for each
 *	  dataset that it has a budget on or is exempt on.
 */
Datum
dp_ledger_sql_standing(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	NameData   *names;
	int			n;
	int			i;

	InitMaterializedSRF(fcinfo, 0);
	n = dp_catalog_list_datasets(&names);
	for (i = 0; i < n; i++)
	{
		dp_ledger_standing standing;
		dp_payer	payer;
		Datum		values[11] = {0};
		bool		nulls[11];

		if (find_standing(NameStr(names[i]), &standing, &payer) != DP_FOUND ||
			!standing.found)
			continue;
		form_standing(&names[i], &standing, values, nulls);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values,
							 nulls);
	}
	return (Datum) 0;
}

/*
 * dp_ledger_sql_owned
 *	  dp_pg.owned_datasets() returns name[]: those the current user acts as
 *	  owner of.
 */
Datum
dp_ledger_sql_owned(PG_FUNCTION_ARGS)
{
	NameData   *names;
	int			n = dp_catalog_list_datasets(&names);
	Datum	   *owned = palloc(sizeof(Datum) * (n + 1));
	int			found = 0;
	int			i;

	for (i = 0; i < n; i++)
		if (dp_ledger_owns_dataset(GetUserId(), NameStr(names[i])))
			owned[found++] = NameGetDatum(&names[i]);
	PG_RETURN_ARRAYTYPE_P(construct_array(owned, found, NAMEOID, NAMEDATALEN,
										  false, TYPALIGN_CHAR));
}

/* The role that a row names, by OID or by name: see ledger_tables.c. */
static Oid
resolve_role(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		return InvalidOid;
	if (!dp_catalog_in_lineage(PG_GETARG_INT64(2)))
		return get_role_oid(NameStr(*PG_GETARG_NAME(1)), true);
	if (GetUserNameFromId(PG_GETARG_OID(0), true) == NULL)
		return InvalidOid;
	return PG_GETARG_OID(0);
}

/*
 * dp_ledger_sql_inherits
 *	  dp_pg.inherits(role_oid, role_name, cluster): whether the current user
 *	  has the rights of that role.
 */
Datum
dp_ledger_sql_inherits(PG_FUNCTION_ARGS)
{
	Oid			role = resolve_role(fcinfo);

	PG_RETURN_BOOL(OidIsValid(role) && has_privs_of_role(GetUserId(), role));
}

/*
 * dp_ledger_sql_is_me: dp_pg.is_me(...): whether the current user is that
 * role.
 */
Datum
dp_ledger_sql_is_me(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(resolve_role(fcinfo) == GetUserId());
}

/* dp_ledger_sql_cluster: dp_pg.cluster() returns bigint. */
Datum
dp_ledger_sql_cluster(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(dp_base_cluster_id());
}

/* dp_ledger_sql_in_lineage: dp_pg.in_lineage(cluster) returns bool. */
Datum
dp_ledger_sql_in_lineage(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(dp_catalog_in_lineage(PG_GETARG_INT64(0)));
}

/*
 * dp_ledger_sees_more
 *	  Whether a role could see ledger lines other than those of its own queries
 *	  in this cluster: as owner of a dataset, or from a cluster before a
 *	  restore.
 */
bool
dp_ledger_sees_more(Oid role)
{
	NameData   *names;
	int			n = dp_catalog_list_datasets(&names);
	int			i;

	for (i = 0; i < n; i++)
		if (dp_ledger_owns_dataset(role, NameStr(names[i])))
			return true;
	return dp_catalog_has_foreign_lines();
}

/* dp_ledger_sql_sees_more: dp_pg.sees_more() returns bool. */
Datum
dp_ledger_sql_sees_more(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(dp_ledger_sees_more(GetUserId()));
}
