/*
 * accounting_compose.c
 *	  Composition, groups and plans as SQL functions: thin wrappers over
 *	  src/acct.  Costs are rounded up, allowances down.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "accounting.h"

#define ANY DP_RANGE_ANY
#define POSITIVE DP_RANGE_POSITIVE
#define DELTA DP_RANGE_DELTA
#define INNER DP_RANGE_INNER

/* A larger k makes the sums of the optimum long: see src/acct/optimal.c. */
#define OPTIMAL_MOST (INT64CONST(1) << 20)

#define NUMBER(i, name, range, rounding) \
	dp_account_number(fcinfo, i, name, range, rounding)

/*
 * dp_compose_basic(epsilon, delta, k)
 *	  k equal mechanisms by Theorem 3.16.
 */
DP_ACCOUNTING(compose_basic)
{
	dp_fixed	epsilon = NUMBER(0, "epsilon", ANY, DP_ROUND_UP);
	dp_fixed	delta = NUMBER(1, "delta", DELTA, DP_ROUND_UP);
	int64		k = dp_account_count(fcinfo, 2, "k", 1, PG_INT64_MAX);

	dp_account_done(dp_acct_compose_basic(epsilon, delta, k, &epsilon,
										  &delta),
					"compose", "", "");
	return dp_account_pair(fcinfo, epsilon, delta);
}

/* The numbers of an array; `name` is the argument's name. */
static dp_fixed *
read_array(ArrayType *array, const char *name, dp_number_range range,
		   int *n)
{
	bool		is_float = ARR_ELEMTYPE(array) == FLOAT8OID;
	Datum	   *values;
	bool	   *nulls;
	dp_fixed   *out;
	int			i;

	if (is_float)
		deconstruct_array(array, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL,
						  TYPALIGN_DOUBLE, &values, &nulls, n);
	else
		deconstruct_array(array, NUMERICOID, -1, false, TYPALIGN_INT,
						  &values, &nulls, n);
	out = palloc(sizeof(dp_fixed) * (*n + 1));
	for (i = 0; i < *n; i++)
	{
		Numeric		x = NULL;

		CHECK_FOR_INTERRUPTS();
		if (!nulls[i])
			x = is_float ?
				dp_bridge_float8_to_numeric(DatumGetFloat8(values[i])) :
				DatumGetNumeric(values[i]);
		out[i] = dp_bridge_check_number(x, name, range, DP_ROUND_UP, NULL);
	}
	return out;
}

/*
 * dp_compose_basic(epsilons, deltas)
 *	  Different mechanisms by Theorem 3.16.  An empty array of deltas means
 *	  pure ones.
 */
DP_ACCOUNTING(compose_sum)
{
	int			n;
	int			m;
	dp_fixed   *epsilons = read_array(PG_GETARG_ARRAYTYPE_P(0),
									  "every element of epsilons", ANY, &n);
	dp_fixed   *deltas = read_array(PG_GETARG_ARRAYTYPE_P(1),
									"every element of deltas", DELTA, &m);
	dp_charge	sum = {0, 0, 0};
	dp_status	status = DP_OK;
	int			i;

	if (m != n && m != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("epsilons and deltas must have the same length"),
				 errdetail("There are %d epsilons and %d deltas.", n, m),
				 errhint("Give one delta per epsilon, 0 for pure "
						 "mechanisms, or none at all.")));
	for (i = 0; i < n && status == DP_OK; i++)
	{
		dp_charge	charge = {0, 0, 0};

		charge.epsilon = epsilons[i];
		charge.delta = m == 0 ? 0 : deltas[i];
		status = dp_acct_charge_add(&sum, &charge);
	}
	if (status == DP_OK && sum.epsilon == DP_FIXED_INFINITE)
		status = DP_E_OVERFLOW;
	dp_account_done(status, "compose", "", "");
	return dp_account_pair(fcinfo, sum.epsilon, dp_acct_cap_delta(sum.delta));
}

/*
 * dp_compose_advanced(epsilon, delta, k, delta_slack)
 *	  k equal mechanisms by Theorem 3.20 as printed.
 */
DP_ACCOUNTING(compose_advanced)
{
	dp_fixed	epsilon = NUMBER(0, "epsilon", ANY, DP_ROUND_UP);
	dp_fixed	delta = NUMBER(1, "delta", DELTA, DP_ROUND_UP);
	int64		k = dp_account_count(fcinfo, 2, "k", 1, PG_INT64_MAX);
	dp_fixed	slack = NUMBER(3, "delta_slack", INNER, DP_ROUND_DOWN);

	dp_account_done(dp_acct_compose_advanced(epsilon, delta, k, slack,
											 &epsilon, &delta),
					"compose by Theorem 3.20", "", "");
	return dp_account_pair(fcinfo, epsilon, delta);
}

/*
 * dp_compose_optimal(epsilon, delta, k, delta_slack)
 *	  k equal mechanisms by the optimal composition.
 */
DP_ACCOUNTING(compose_optimal)
{
	dp_fixed	epsilon = NUMBER(0, "epsilon", ANY, DP_ROUND_UP);
	dp_fixed	delta = NUMBER(1, "delta", DELTA, DP_ROUND_UP);
	int64		k = dp_account_count(fcinfo, 2, "k", 1, OPTIMAL_MOST);
	dp_fixed	slack = NUMBER(3, "delta_slack", INNER, DP_ROUND_DOWN);

	dp_account_done(dp_acct_compose_optimal(epsilon, delta, k, slack,
											&epsilon, &delta),
					"compose optimally",
					"The epsilon of one mechanism is above 1000.",
					"Use dp_compose_basic.");
	return dp_account_pair(fcinfo, epsilon, delta);
}

/*
 * dp_epsilon_for(epsilon_total, k, delta_slack)
 *	  Corollary 3.21.
 */
DP_ACCOUNTING(epsilon_for)
{
	dp_fixed	total = NUMBER(0, "epsilon_total", POSITIVE, DP_ROUND_DOWN);
	int64		k = dp_account_count(fcinfo, 1, "k", 1, PG_INT64_MAX);
	dp_fixed	slack = NUMBER(2, "delta_slack", INNER, DP_ROUND_DOWN);

	dp_account_done(dp_acct_epsilon_for(total, k, slack, &total),
					"answer by Corollary 3.21",
					"For these arguments the corollary is false: Theorem "
					"3.20 does not confirm it.",
					"Use dp_epsilon_for_advanced, or a smaller "
					"delta_slack.");
	RETURN_FIXED(total);
}

/*
 * dp_epsilon_for_advanced(epsilon_total, k, delta_slack)
 *	  The exact inverse of Theorem 3.20.
 */
DP_ACCOUNTING(epsilon_for_advanced)
{
	dp_fixed	total = NUMBER(0, "epsilon_total", POSITIVE, DP_ROUND_DOWN);
	int64		k = dp_account_count(fcinfo, 1, "k", 1, PG_INT64_MAX);
	dp_fixed	slack = NUMBER(2, "delta_slack", INNER, DP_ROUND_DOWN);

	dp_account_done(dp_acct_epsilon_for_advanced(total, k, slack, &total),
					"invert Theorem 3.20", "", "");
	RETURN_FIXED(total);
}

/*
 * dp_epsilon_for_optimal(epsilon_total, k, delta_slack)
 *	  The inverse of the optimal composition.
 */
DP_ACCOUNTING(epsilon_for_optimal)
{
	dp_fixed	total = NUMBER(0, "epsilon_total", POSITIVE, DP_ROUND_DOWN);
	int64		k = dp_account_count(fcinfo, 1, "k", 1, OPTIMAL_MOST);
	dp_fixed	slack = NUMBER(2, "delta_slack", INNER, DP_ROUND_DOWN);

	dp_account_done(dp_acct_epsilon_for_optimal(total, k, slack, &total),
					"invert the optimal composition",
					"The total epsilon is above 1000.",
					"Use dp_epsilon_for_advanced.");
	RETURN_FIXED(total);
}

/*
 * dp_group_privacy(epsilon, delta, group_size)
 *	  Theorem 2.2, with delta.
 */
DP_ACCOUNTING(group_privacy)
{
	dp_charge	charge = {0, 0, 0};
	int64		g;

	charge.epsilon = NUMBER(0, "epsilon", ANY, DP_ROUND_UP);
	charge.delta = NUMBER(1, "delta", DELTA, DP_ROUND_UP);
	g = dp_account_count(fcinfo, 2, "group_size", 1, PG_INT64_MAX);
	dp_account_done(dp_acct_group(&charge, g, &charge),
					"account for a group", "", "");
	if (charge.epsilon == DP_FIXED_INFINITE)
		dp_account_done(DP_E_OVERFLOW, "account for a group", "", "");
	return dp_account_pair(fcinfo, charge.epsilon, charge.delta);
}

/*
 * dp_group_privacy_rho(rho, group_size)
 *	  The same for zCDP.
 */
DP_ACCOUNTING(group_privacy_rho)
{
	dp_charge	charge = {0, 0, 0};
	int64		g;

	charge.rho = NUMBER(0, "rho", ANY, DP_ROUND_UP);
	g = dp_account_count(fcinfo, 1, "group_size", 1, PG_INT64_MAX);
	dp_account_done(dp_acct_group(&charge, g, &charge),
					"account for a group", "", "");
	RETURN_FIXED(charge.rho);
}

/*
 * dp_plan(epsilon_total, delta, k)
 *	  One row per rule: what each of k equal pure queries may have, NULL where
 *	  the rule gives nothing.
 */
DP_ACCOUNTING(plan)
{
	dp_fixed	total = NUMBER(0, "epsilon_total", POSITIVE, DP_ROUND_DOWN);
	dp_fixed	delta = NUMBER(1, "delta", DELTA, DP_ROUND_DOWN);
	int64		k = dp_account_count(fcinfo, 2, "k", 1, PG_INT64_MAX);
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	dp_plan		plan;
	const struct
	{
		const char *rule;
		const char *kind;
		dp_fixed   *epsilon;
	}			rows[] = {
		{"basic", "adaptive filter", &plan.basic},
		{"advanced", "adaptive filter", &plan.advanced},
		{"zcdp", "adaptive filter", &plan.zcdp},
		{"best", "adaptive filter", &plan.best},
		{"corollary 3.21", "registered batch", &plan.corollary},
		{"theorem 3.20", "registered batch", &plan.theorem},
		{"optimal", "registered batch", &plan.optimal}
	};
	int			i;

	dp_account_done(dp_acct_plan(total, delta, k, &plan),
					"plan", "The total epsilon or k is too large.",
					"Give smaller numbers.");
	InitMaterializedSRF(fcinfo, 0);
	for (i = 0; i < (int) lengthof(rows); i++)
	{
		Datum		values[3];
		bool		nulls[3] = {false, false, false};

		values[0] = CStringGetTextDatum(rows[i].rule);
		values[1] = CStringGetTextDatum(rows[i].kind);
		nulls[2] = *rows[i].epsilon == 0;
		values[2] = nulls[2] ? (Datum) 0 :
			NumericGetDatum(dp_bridge_fixed_to_numeric(*rows[i].epsilon));
		tuplestore_putvalues(result->setResult, result->setDesc, values,
							 nulls);
	}
	return (Datum) 0;
}
