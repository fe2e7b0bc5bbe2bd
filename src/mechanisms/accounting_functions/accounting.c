/*
 * accounting.c
 *	  The SQL functions of accounting, and plans of weights sessions.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "../../math/numbers/dp_numbers.h"
#include "../../math/noise/dp_noise.h"
#include "../../math/accounting/dp_accounting.h"
#include "../../base/dp_base.h"
#include "dp_accounting_functions.h"

/*
 * An SQL function, or one for numeric and one for double precision: an
 * argument is read by its type.  The body follows the macro.
 */
#define DP_ACCOUNTING(name) \
	PG_FUNCTION_INFO_V1(dp_accounting_##name); \
	Datum \
	dp_accounting_##name(PG_FUNCTION_ARGS)

#define RETURN_FIXED(x) \
	PG_RETURN_NUMERIC(dp_base_fixed_to_numeric(x))

/* ----------------
 *		The plan of online multiplicative weights, for opening a session and
 *		for asking beforehand what it would promise: both are refused alike.
 * ----------------
 */

#define MOST_ALPHA (DP_FIXED_ONE / 3)	/* 3 alpha above 1 says nothing */

/*
 * dp_accounting_functions_alpha
 *	  The alpha of a request; NULL: 0, the least that can be reached.
 *
 * Errors: 22023.
 */
dp_fixed
dp_accounting_functions_alpha(Numeric x)
{
	dp_fixed	alpha = 0;

	if (x == NULL)
		return 0;
	if (dp_base_numeric_to_fixed(x, DP_ROUND_DOWN, &alpha) !=
		DP_NUMBER_OK || alpha == 0 || alpha > MOST_ALPHA)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("alpha must be above 0 and at most 1/3"),
				 errdetail("It is a fraction of n, and answers are within 3 "
						   "alpha of the true fraction."),
				 errhint("Leave alpha out to get the smallest that can be "
						 "reached.")));
	return alpha;
}

/* Nothing up to 1/3 can be reached; `least` is above it, or 0: unknown. */
static void
raise_useless(dp_fixed least, const char *told)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("no useful accuracy can be reached"),
			 errdetail("%s %s", told,
					   least == 0 ? "The noise is larger than n." :
					   psprintf("The least alpha is %.4g, and answers within "
								"3 alpha would say nothing.",
								dp_accounting_fixed_approx(least))),
			 errhint("Use a larger epsilon, a delta, fewer cells or fewer "
					 "questions, on more rows.")));
}

static void
raise_alpha(dp_fixed asked, dp_fixed least, const char *told)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("alpha %s cannot be reached",
					dp_base_fixed_to_cstring(asked)),
			 errdetail("%s The least alpha is %s.", told,
					   dp_base_fixed_to_cstring(least)),
			 errhint("Ask for that alpha or leave it out; or use a larger "
					 "epsilon, fewer cells or fewer questions.")));
}

/*
 * dp_accounting_functions_weights
 *	  dp_accounting_weights_plan, for an alpha of at most 1/3; `noisy`: whether
 *	  n is, for a message.
 *
 * Errors: 22023 the alpha asked for cannot be reached, or none can; 22003.
 */
void
dp_accounting_functions_weights(const dp_weights_request *request, bool noisy,
					   dp_weights_plan *out)
{
	dp_status	status;
	char	   *told;

	MemSet(out, 0, sizeof(*out));
	status = dp_accounting_weights_plan(request, out);
	if (status == DP_OK && out->alpha <= MOST_ALPHA)
		return;
	if (status != DP_E_RANGE)
		dp_base_check_status(status, "plan multiplicative weights");
	told = psprintf("n is " INT64_FORMAT "%s, the universe has " INT64_FORMAT
					" cells, and there are " INT64_FORMAT " questions.",
					request->n,
					noisy ? " (noisy, its epsilon was charged)" : "",
					request->cells, request->questions);
	if (request->alpha != 0 && out->alpha > 0 && out->alpha <= MOST_ALPHA)
		raise_alpha(request->alpha, out->alpha, told);
	raise_useless(out->alpha, told);
}

/* ----------------
 *		Arguments and results of the accounting's SQL functions.
 * ----------------
 */

/* The longest fraction that numeric can hold. */
#define NUMERIC_DIGITS_MOST 16383

/*
 * account_number
 *	  Argument i, numeric or double precision, which must not be NULL.
 *
 * Errors: as dp_base_check_number.
 */
static dp_fixed
account_number(FunctionCallInfo fcinfo, int i, const char *name,
			   dp_number_range range, dp_rounding rounding)
{
	return dp_base_check_number(dp_base_number(fcinfo, i), name, range,
								rounding, NULL);
}

/*
 * account_failure
 *	  The confidence given as argument i, as the probability of failure.
 *
 * Errors: as dp_base_check_number.
 */
static dp_fixed
account_failure(FunctionCallInfo fcinfo, int i)
{
	return DP_FIXED_ONE - account_number(fcinfo, i, "confidence",
										 DP_RANGE_INNER,
										 DP_ROUND_UP);
}

/*
 * account_count
 *	  Argument i, a bigint from least to most.
 *
 * Errors: 22023.
 */
static int64
account_count(FunctionCallInfo fcinfo, int i, const char *name,
			  int64 least, int64 most)
{
	int64		n = PG_GETARG_INT64(i);

	if (n < least)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be at least " INT64_FORMAT, name, least),
				 errdetail("It is " INT64_FORMAT ".", n),
				 errhint("Give a whole number of at least " INT64_FORMAT ".",
						 least)));
	if (n > most)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be at most " INT64_FORMAT, name, most),
				 errdetail("It is " INT64_FORMAT ", and the computation would "
						   "take too long.", n),
				 errhint("Use dp_compose_advanced or the conversions of "
						 "zCDP instead.")));
	return n;
}

/*
 * account_done
 *	  Raise unless status is DP_OK.  Arguments that are each in their domain
 *	  but have no result together are 22023 with `detail` and `hint`; `what`
 *	  completes "could not ...".
 */
static void
account_done(dp_status status, const char *what, const char *detail,
			 const char *hint)
{
	if (status == DP_E_RANGE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("could not %s", what),
				 errdetail("%s", detail),
				 errhint("%s", hint)));
	if (status == DP_E_OVERFLOW)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("could not %s: the result is too large", what),
				 errdetail("Results must be below 3.4 * 10^14."),
				 errhint("Give smaller numbers.")));
	dp_base_check_status(status, what);
}

/*
 * decimal
 *	  A decimal as numeric, without trailing zeros; exact, but rounded up to
 *	  the 16383 digits after the point that numeric can hold.
 */
static Numeric
decimal(const dp_decimal *x)
{
	uint64		digits = x->digits;
	int32		exponent = x->exponent;
	Numeric		number;

	for (; exponent < -NUMERIC_DIGITS_MOST; exponent++)
		digits = digits / 10 + (digits % 10 != 0);
	number = dp_base_text_to_numeric(psprintf(UINT64_FORMAT "e%d", digits,
											  digits == 0 ? 0 : exponent));
	return dp_numeric_call1(numeric_trim_scale, number);
}

/* pair: the row (epsilon, delta). */
static Datum
pair(FunctionCallInfo fcinfo, dp_fixed epsilon, dp_fixed delta)
{
	Datum		values[2];
	bool		nulls[2] = {false, false};

	values[0] = NumericGetDatum(dp_base_fixed_to_numeric(epsilon));
	values[1] = NumericGetDatum(dp_base_fixed_to_numeric(delta));
	return dp_base_make_row(fcinfo, values, nulls);
}

/* ----------------
 *		Composition, groups and plans as SQL functions: thin wrappers over
 *		src/math/accounting.  Costs are rounded up, allowances down.
 * ----------------
 */

#define ANY DP_RANGE_ANY
#define POSITIVE DP_RANGE_POSITIVE
#define DELTA DP_RANGE_DELTA
#define INNER DP_RANGE_INNER

/*
 * A larger k makes the sums of the optimum long: see accounting/composition.c.
 */
#define OPTIMAL_MOST (INT64CONST(1) << 20)

#define NUMBER(i, name, range, rounding) \
	account_number(fcinfo, i, name, range, rounding)

/*
 * dp_compose_basic(epsilon, delta, k)
 *	  k equal mechanisms by Theorem 3.16.
 */
DP_ACCOUNTING(compose_basic)
{
	dp_fixed	epsilon = NUMBER(0, "epsilon", ANY, DP_ROUND_UP);
	dp_fixed	delta = NUMBER(1, "delta", DELTA, DP_ROUND_UP);
	int64		k = account_count(fcinfo, 2, "k", 1, PG_INT64_MAX);

	account_done(dp_accounting_sum_basic(epsilon, delta, k, &epsilon,
										 &delta),
				 "compose", "", "");
	return pair(fcinfo, epsilon, delta);
}

/* The numbers of an array; `name` is the argument's name. */
static dp_fixed *
accounting_read_array(ArrayType *array, const char *name,
					  dp_number_range range, int *n)
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
				dp_base_float8_to_numeric(DatumGetFloat8(values[i])) :
				DatumGetNumeric(values[i]);
		out[i] = dp_base_check_number(x, name, range, DP_ROUND_UP, NULL);
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
	dp_fixed   *epsilons = accounting_read_array(PG_GETARG_ARRAYTYPE_P(0),
												 "every element of epsilons",
												 ANY, &n);
	dp_fixed   *deltas = accounting_read_array(PG_GETARG_ARRAYTYPE_P(1),
											   "every element of deltas",
											   DELTA, &m);
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
		status = dp_accounting_charge_add(&sum, &charge);
	}
	if (status == DP_OK && sum.epsilon == DP_FIXED_INFINITE)
		status = DP_E_OVERFLOW;
	account_done(status, "compose", "", "");
	return pair(fcinfo, sum.epsilon, dp_accounting_cap_delta(sum.delta));
}

/*
 * dp_compose_advanced(epsilon, delta, k, delta_slack)
 *	  k equal mechanisms by Theorem 3.20 as printed.
 */
DP_ACCOUNTING(compose_advanced)
{
	dp_fixed	epsilon = NUMBER(0, "epsilon", ANY, DP_ROUND_UP);
	dp_fixed	delta = NUMBER(1, "delta", DELTA, DP_ROUND_UP);
	int64		k = account_count(fcinfo, 2, "k", 1, PG_INT64_MAX);
	dp_fixed	slack = NUMBER(3, "delta_slack", INNER, DP_ROUND_DOWN);

	account_done(dp_accounting_sum_advanced(epsilon, delta, k, slack,
											&epsilon, &delta),
				 "compose by Theorem 3.20", "", "");
	return pair(fcinfo, epsilon, delta);
}

/*
 * dp_compose_optimal(epsilon, delta, k, delta_slack)
 *	  k equal mechanisms by the optimal composition.
 */
DP_ACCOUNTING(compose_optimal)
{
	dp_fixed	epsilon = NUMBER(0, "epsilon", ANY, DP_ROUND_UP);
	dp_fixed	delta = NUMBER(1, "delta", DELTA, DP_ROUND_UP);
	int64		k = account_count(fcinfo, 2, "k", 1, OPTIMAL_MOST);
	dp_fixed	slack = NUMBER(3, "delta_slack", INNER, DP_ROUND_DOWN);

	account_done(dp_accounting_sum_optimal(epsilon, delta, k, slack,
										   &epsilon, &delta),
				 "compose optimally",
				 "The epsilon of one mechanism is above 1000.",
				 "Use dp_compose_basic.");
	return pair(fcinfo, epsilon, delta);
}

/*
 * dp_epsilon_for(epsilon_total, k, delta_slack)
 *	  Corollary 3.21.
 */
DP_ACCOUNTING(epsilon_for)
{
	dp_fixed	total = NUMBER(0, "epsilon_total", POSITIVE, DP_ROUND_DOWN);
	int64		k = account_count(fcinfo, 1, "k", 1, PG_INT64_MAX);
	dp_fixed	slack = NUMBER(2, "delta_slack", INNER, DP_ROUND_DOWN);

	account_done(dp_accounting_find_epsilon(total, k, slack, &total),
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
	int64		k = account_count(fcinfo, 1, "k", 1, PG_INT64_MAX);
	dp_fixed	slack = NUMBER(2, "delta_slack", INNER, DP_ROUND_DOWN);

	account_done(dp_accounting_find_epsilon_advanced(total, k, slack, &total),
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
	int64		k = account_count(fcinfo, 1, "k", 1, OPTIMAL_MOST);
	dp_fixed	slack = NUMBER(2, "delta_slack", INNER, DP_ROUND_DOWN);

	account_done(dp_accounting_find_epsilon_optimal(total, k, slack, &total),
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
	g = account_count(fcinfo, 2, "group_size", 1, PG_INT64_MAX);
	account_done(dp_accounting_group(&charge, g, &charge),
				 "account for a group", "", "");
	if (charge.epsilon == DP_FIXED_INFINITE)
		account_done(DP_E_OVERFLOW, "account for a group", "", "");
	return pair(fcinfo, charge.epsilon, charge.delta);
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
	g = account_count(fcinfo, 1, "group_size", 1, PG_INT64_MAX);
	account_done(dp_accounting_group(&charge, g, &charge),
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
	int64		k = account_count(fcinfo, 2, "k", 1, PG_INT64_MAX);
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

	account_done(dp_accounting_make_plan(total, delta, k, &plan),
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
			NumericGetDatum(dp_base_fixed_to_numeric(*rows[i].epsilon));
		tuplestore_putvalues(result->setResult, result->setDesc, values,
							 nulls);
	}
	return (Datum) 0;
}

/* ----------------
 *		Conversions of zCDP, the noise that a price pays for and its error, as
 *		SQL functions: thin wrappers over src/math/accounting.  Costs, noise
 *		and errors are rounded up, allowances down.
 *
 * dp_pg's noise lives on a grid whose step is the granule.  A sensitivity that
 * is no multiple of it counts as the next one, as where noise is added.
 * ----------------
 */

/* dp_zcdp_epsilon(rho, delta) */
DP_ACCOUNTING(zcdp_epsilon)
{
	dp_fixed	rho = NUMBER(0, "rho", ANY, DP_ROUND_UP);
	dp_fixed	delta = NUMBER(1, "delta", INNER, DP_ROUND_DOWN);

	account_done(dp_accounting_epsilon_of_zcdp(rho, delta, &rho),
				 "convert rho", "", "");
	RETURN_FIXED(rho);
}

/* dp_zcdp_rho(epsilon, delta) */
DP_ACCOUNTING(zcdp_rho)
{
	dp_fixed	epsilon = NUMBER(0, "epsilon", ANY, DP_ROUND_DOWN);
	dp_fixed	delta = NUMBER(1, "delta", INNER, DP_ROUND_DOWN);

	account_done(dp_accounting_rho_of_zcdp(epsilon, delta, &epsilon),
				 "convert epsilon", "", "");
	RETURN_FIXED(epsilon);
}

/* dp_zcdp_delta(rho, epsilon) */
DP_ACCOUNTING(zcdp_delta)
{
	dp_fixed	rho = NUMBER(0, "rho", ANY, DP_ROUND_UP);
	dp_fixed	epsilon = NUMBER(1, "epsilon", ANY, DP_ROUND_DOWN);
	dp_decimal	delta = {0, 0};

	account_done(dp_accounting_delta_of_zcdp(rho, epsilon, &delta),
				 "convert rho", "", "");
	PG_RETURN_NUMERIC(decimal(&delta));
}

/* dp_odometer(rho, delta) */
DP_ACCOUNTING(odometer)
{
	dp_fixed	rho = NUMBER(0, "rho", ANY, DP_ROUND_UP);
	dp_fixed	delta = NUMBER(1, "delta", INNER, DP_ROUND_DOWN);

	account_done(dp_accounting_odometer_read(rho, delta, &rho),
				 "read the odometer", "", "");
	RETURN_FIXED(rho);
}

/* ceil(sensitivity / granule), below 2^60 */
static uint64
grid_sensitivity(dp_fixed sensitivity, dp_fixed granule)
{
	dp_fixed	n = sensitivity / granule + (sensitivity % granule != 0);

	if (n >> 60 != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("granule is too small for this sensitivity"),
				 errdetail("The sensitivity is 2^60 granules or more."),
				 errhint("Give a larger granule.")));
	return (uint64) n;
}

/* Argument i, the granule, which must be exact. */
static dp_fixed
read_granule(FunctionCallInfo fcinfo, int i, dp_number_range range)
{
	dp_fixed	granule = NUMBER(i, "granule", range, DP_ROUND_UP);

	if (NUMBER(i, "granule", ANY, DP_ROUND_DOWN) != granule)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("granule must be given exactly"),
				 errdetail("It has more than 24 digits after the point."),
				 errhint("Measure everything in granules: leave the granule "
						 "out, divide the other numbers by it, and multiply "
						 "the result by it.")));
	return granule;
}

/* n steps of a grid as a number. */
static dp_fixed
grid_value(dp_uint128 n, dp_fixed granule)
{
	if (n != 0 && granule > (DP_FIXED_INFINITE - 1) / n)
		account_done(DP_E_OVERFLOW, "compute the error", "", "");
	return granule * n;
}

/* The rho of a mechanism by its pure epsilon, which is argument 0. */
static Datum
rho_of_epsilon(FunctionCallInfo fcinfo,
			   dp_status (*convert) (const dp_rational *, dp_fixed *))
{
	dp_fixed	epsilon = NUMBER(0, "epsilon", ANY, DP_ROUND_UP);
	dp_rational exact;
	dp_fixed	rho = 0;
	dp_status	status = dp_accounting_fixed_to_rational(epsilon, &exact);

	if (status == DP_OK && epsilon > 0)
		status = convert(&exact, &rho);
	account_done(status, "convert epsilon",
				 "This epsilon has no rho.", "Give a smaller one.");
	RETURN_FIXED(rho);
}

/* dp_pure_rho(epsilon) */
DP_ACCOUNTING(pure_rho)
{
	return rho_of_epsilon(fcinfo, dp_accounting_rho_from_pure);
}

/* dp_exponential_rho(epsilon) */
DP_ACCOUNTING(exponential_rho)
{
	return rho_of_epsilon(fcinfo, dp_accounting_rho_from_exponential);
}

/* dp_laplace_rho(sensitivity, epsilon, granule) */
DP_ACCOUNTING(laplace_rho)
{
	dp_fixed	sensitivity = NUMBER(0, "sensitivity", POSITIVE, DP_ROUND_UP);
	dp_fixed	epsilon = NUMBER(1, "epsilon", POSITIVE, DP_ROUND_UP);
	dp_fixed	granule = read_granule(fcinfo, 2, POSITIVE);
	dp_rational exact;
	dp_fixed	rho = 0;
	dp_status	status = dp_accounting_fixed_to_rational(epsilon, &exact);

	if (status == DP_OK)
		status = dp_accounting_rho_from_laplace(grid_sensitivity(sensitivity,
																 granule),
												&exact, &rho);
	account_done(status, "convert epsilon",
				 "This epsilon has no rho.", "Give a smaller one.");
	RETURN_FIXED(rho);
}

/* (sigma / granule)^2 */
static dp_rational
read_variance(dp_fixed sigma, dp_fixed granule)
{
	dp_rational variance = {0, 1};

	account_done(dp_accounting_variance_from_sigma(sigma, granule, &variance),
				 "square sigma",
				 "It is too small for the granule or sensitivity.",
				 "Give a larger sigma.");
	return variance;
}

/* dp_gaussian_rho(sensitivity, sigma) */
DP_ACCOUNTING(gaussian_rho)
{
	dp_fixed	sensitivity = NUMBER(0, "sensitivity", POSITIVE, DP_ROUND_UP);
	dp_fixed	sigma = NUMBER(1, "sigma", POSITIVE, DP_ROUND_DOWN);
	dp_rational variance = read_variance(sigma, sensitivity);
	dp_fixed	rho = 0;

	account_done(dp_accounting_rho_from_gaussian(1, &variance, &rho),
				 "convert sigma", "Sigma is too small.",
				 "Give a larger one.");
	RETURN_FIXED(rho);
}

/*
 * dp_gaussian_sigma(sensitivity, epsilon, delta, method, granule)
 *	  zcdp and classical scale with the sensitivity; exact is a search on the
 *	  granule's grid.
 */
DP_ACCOUNTING(gaussian_sigma)
{
	dp_fixed	sensitivity = NUMBER(0, "sensitivity", POSITIVE, DP_ROUND_UP);
	dp_fixed	epsilon = NUMBER(1, "epsilon", POSITIVE, DP_ROUND_DOWN);
	dp_fixed	delta = NUMBER(2, "delta", INNER, DP_ROUND_DOWN);
	char	   *method = text_to_cstring(PG_GETARG_TEXT_PP(3));
	dp_fixed	granule = read_granule(fcinfo, 4, POSITIVE);
	dp_rational variance = {0, 1};
	dp_fixed	sigma = 0;
	dp_status	status = DP_OK;

	if (strcmp(method, "exact") == 0)
	{
		uint64		steps = grid_sensitivity(sensitivity, granule);

		status = dp_accounting_variance_exact(steps, epsilon, delta,
											  &variance);
		account_done(status, "find sigma",
					 "No variance between 10^-3 and 10^24 squared "
					 "granules is known to suffice.",
					 "Give another granule, or ask for method "
					 "\"zcdp\".");
	}
	else if (strcmp(method, "zcdp") == 0)
	{
		granule = sensitivity;
		status = dp_accounting_variance_zcdp(1, epsilon, delta, &variance);
		account_done(status, "find sigma",
					 "Epsilon or delta is too small for any rho of 24 "
					 "digits.", "Give a larger epsilon or delta.");
	}
	else if (strcmp(method, "classical") == 0)
	{
		granule = sensitivity;
		status = dp_accounting_variance_classical(1, epsilon, delta,
												  &variance);
		account_done(status, "find sigma by Theorem 3.22",
					 epsilon > DP_FIXED_ONE ?
					 "The theorem holds for an epsilon up to 1 only." :
					 "zCDP does not confirm the theorem for the "
					 "discrete noise at this delta.",
					 "Ask for method \"exact\" or \"zcdp\".");
	}
	else
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("method \"%s\" of finding sigma does not exist",
						method),
				 errdetail("The methods are exact, zcdp and classical."),
				 errhint("Leave it out for \"exact\".")));
	account_done(dp_accounting_sigma_from_variance(granule, &variance,
												   &sigma),
				 "find sigma", "", "");
	RETURN_FIXED(sigma);
}

/* dp_gaussian_delta(sensitivity, sigma, epsilon, granule) */
DP_ACCOUNTING(gaussian_delta)
{
	dp_fixed	sensitivity = NUMBER(0, "sensitivity", POSITIVE, DP_ROUND_UP);
	dp_fixed	sigma = NUMBER(1, "sigma", POSITIVE, DP_ROUND_DOWN);
	dp_fixed	epsilon = NUMBER(2, "epsilon", ANY, DP_ROUND_DOWN);
	dp_fixed	granule = read_granule(fcinfo, 3, POSITIVE);
	dp_rational variance = read_variance(sigma, granule);
	dp_decimal	delta = {0, 0};

	account_done(dp_accounting_delta_of_gaussian(grid_sensitivity(sensitivity,
																  granule),
												 &variance, epsilon, &delta),
				 "compute delta",
				 "Sigma is not between 0.032 and 10^12 granules, or "
				 "epsilon is too large.",
				 "Give another granule or a smaller epsilon.");
	PG_RETURN_NUMERIC(decimal(&delta));
}

/*
 * dp_laplace_error(sensitivity, epsilon, confidence, k, granule)
 *	  Granule 0 is the book's continuous noise.
 */
DP_ACCOUNTING(laplace_error)
{
	dp_fixed	sensitivity = NUMBER(0, "sensitivity", POSITIVE, DP_ROUND_UP);
	dp_fixed	epsilon = NUMBER(1, "epsilon", POSITIVE, DP_ROUND_DOWN);
	dp_fixed	beta = account_failure(fcinfo, 2);
	int64		k = account_count(fcinfo, 3, "k", 1, PG_INT64_MAX);
	dp_fixed	granule = read_granule(fcinfo, 4, ANY);
	dp_fixed	error = 0;
	dp_uint128	steps = 0;

	if (granule == 0)
	{
		account_done(dp_accounting_laplace_bound(sensitivity, epsilon, k,
												 beta, &error),
					 "compute the error", "", "");
		RETURN_FIXED(error);
	}
	account_done(dp_accounting_error_of_laplace(grid_sensitivity(sensitivity,
																 granule),
												epsilon, k, beta, &steps),
				 "compute the error", "", "");
	RETURN_FIXED(grid_value(steps, granule));
}

/* dp_gaussian_error(sigma, confidence, k, granule) */
DP_ACCOUNTING(gaussian_error)
{
	dp_fixed	sigma = NUMBER(0, "sigma", POSITIVE, DP_ROUND_UP);
	dp_fixed	beta = account_failure(fcinfo, 1);
	int64		k = account_count(fcinfo, 2, "k", 1, PG_INT64_MAX);
	dp_fixed	granule = read_granule(fcinfo, 3, POSITIVE);
	dp_rational variance = read_variance(sigma, granule);
	dp_uint128	steps = 0;

	account_done(dp_accounting_error_of_gaussian(&variance, k, beta, &steps),
				 "compute the error",
				 "Sigma is above 10^15 granules.",
				 "Give a larger granule.");
	RETURN_FIXED(grid_value(steps, granule));
}

/*
 * dp_selection_error(candidates, sensitivity, epsilon, confidence, monotone)
 *	  Theorem 3.11 with one best candidate: the bound of Theorem 3.8 for a
 *	  scale of 2 sensitivity / epsilon, or half of it.
 */
DP_ACCOUNTING(selection_error)
{
	int64		candidates = account_count(fcinfo, 0, "candidates", 1,
										   PG_INT64_MAX);
	dp_fixed	sensitivity = NUMBER(1, "sensitivity", POSITIVE, DP_ROUND_UP);
	dp_fixed	epsilon = NUMBER(2, "epsilon", POSITIVE, DP_ROUND_DOWN);
	dp_fixed	beta = account_failure(fcinfo, 3);
	bool		monotone = PG_GETARG_BOOL(4);
	dp_fixed	error = 0;

	account_done(dp_accounting_laplace_bound(sensitivity * (monotone ? 1 : 2),
											 epsilon, candidates, beta,
											 &error),
				 "compute the error", "", "");
	RETURN_FIXED(error);
}

/* dp_randomized_response_error(n, epsilon, candidates) */
DP_ACCOUNTING(response_error)
{
	int64		n = account_count(fcinfo, 0, "n", 1, PG_INT64_MAX);
	dp_fixed	epsilon = NUMBER(1, "epsilon", POSITIVE, DP_ROUND_DOWN);
	int64		c = account_count(fcinfo, 2, "candidates", 2,
								  PG_INT64_MAX);
	dp_fixed	error = 0;

	account_done(dp_accounting_error_of_response(n, c, epsilon, &error),
				 "compute the error", "", "");
	RETURN_FIXED(error);
}

PG_FUNCTION_INFO_V1(dp_accounting_two_coins_error);

/* dp_randomized_response_error(n) */
Datum
dp_accounting_two_coins_error(PG_FUNCTION_ARGS)
{
	int64		n = account_count(fcinfo, 0, "n", 1, PG_INT64_MAX);
	dp_fixed	error = 0;

	account_done(dp_accounting_error_of_coins(n, &error),
				 "compute the error", "", "");
	RETURN_FIXED(error);
}

/* ----------------
 *		The errors that sparse vector sessions and online multiplicative
 *		weights promise, as SQL functions: thin wrappers over
 *		src/math/accounting, which plans the sessions themselves by the same
 *		code.
 * ----------------
 */

#define COUNT(i, name) \
	account_count(fcinfo, i, name, 1, PG_INT64_MAX)

/* Columns of the results. */
#define SPARSE_COLUMNS 10
#define WEIGHTS_COLUMNS 10

#define ALPHA 4					/* argument of dp_weights_error */

/* An integer as numeric, whatever its size. */
static Datum
whole_datum(dp_uint128 x)
{
	return NumericGetDatum(dp_base_int128_to_numeric((dp_int128) x));
}

static Datum
accounting_fixed_datum(dp_fixed x)
{
	return NumericGetDatum(dp_base_fixed_to_numeric(x));
}

/*
 * dp_sparse_vector_error(questions, cutoff, epsilon, delta, confidence,
 *						  method, numeric_answers, monotone, sensitivity)
 */
DP_ACCOUNTING(sparse_vector_error)
{
	dp_sparse_request request = {0};
	dp_sparse_plan plan;
	Datum		values[SPARSE_COLUMNS];
	bool		nulls[SPARSE_COLUMNS] = {false};

	request.questions = COUNT(0, "questions");
	request.cutoff = COUNT(1, "cutoff");
	request.epsilon = NUMBER(2, "epsilon", POSITIVE, DP_ROUND_DOWN);
	request.delta = NUMBER(3, "delta", DELTA, DP_ROUND_DOWN);
	request.beta = account_failure(fcinfo, 4);
	request.method = dp_base_sparse_method(fcinfo, 5);
	request.numeric = PG_GETARG_BOOL(6);
	request.monotone = PG_GETARG_BOOL(7);
	request.sensitivity = (uint64) COUNT(8, "sensitivity");
	if (request.cutoff > request.questions)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cutoff must not be above questions"),
				 errdetail("The cutoff is " INT64_FORMAT ", and questions is "
						   INT64_FORMAT ".", request.cutoff,
						   request.questions),
				 errhint("A session cannot answer \"above\" more often than "
						 "it has questions.")));
	account_done(dp_accounting_sparse_plan(&request, &plan),
				 "plan a sparse vector session",
				 "Epsilon cannot be divided by this cutoff, or the "
				 "book's theorem does not hold for this delta.",
				 "Give a larger epsilon, a smaller delta or another "
				 "method.");
	values[0] = whole_datum(plan.alpha);
	values[1] = CStringGetTextDatum(dp_accounting_sparse_name(plan.method));
	values[2] = Int64GetDatum(plan.fresh ? request.cutoff : 1);
	values[3] = accounting_fixed_datum(plan.threshold_epsilon);
	values[4] = accounting_fixed_datum(plan.query_epsilon);
	nulls[5] = !plan.numeric;
	values[5] = accounting_fixed_datum(plan.answer_epsilon);
	values[6] = Int64GetDatum(plan.offset);
	values[7] = accounting_fixed_datum(plan.charge.epsilon);
	values[8] = accounting_fixed_datum(plan.charge.delta);
	values[9] = accounting_fixed_datum(plan.charge.rho);
	return dp_base_make_row(fcinfo, values, nulls);
}

/*
 * dp_weights_error(cells, questions, epsilon, n, alpha, delta, confidence,
 *					method, sensitivity); alpha may be NULL
 */
DP_ACCOUNTING(weights_error)
{
	dp_weights_request request = {0};
	dp_weights_plan plan;
	Datum		values[WEIGHTS_COLUMNS];
	bool		nulls[WEIGHTS_COLUMNS] = {false};
	dp_uint128	error;
	int			i;

	for (i = 0; i < 9; i++)
		if (i != ALPHA && PG_ARGISNULL(i))
			PG_RETURN_NULL();
	request.cells = COUNT(0, "cells");
	request.questions = COUNT(1, "questions");
	request.epsilon = NUMBER(2, "epsilon", POSITIVE, DP_ROUND_DOWN);
	request.n = COUNT(3, "n");
	request.alpha =
		dp_accounting_functions_alpha(dp_base_number(fcinfo, ALPHA));
	request.delta = NUMBER(5, "delta", DELTA, DP_ROUND_DOWN);
	request.beta = account_failure(fcinfo, 6);
	request.method = dp_base_sparse_method(fcinfo, 7);
	request.sensitivity = (uint64) COUNT(8, "sensitivity");
	dp_accounting_functions_weights(&request, false, &plan);
	values[0] = accounting_fixed_datum(plan.alpha);
	/* T + A + 1 is what T55 proves, at most 3 alpha n and so n */
	error = (dp_uint128) plan.threshold + plan.sparse.alpha + 1;
	values[1] = whole_datum(error);
	values[2] = Int64GetDatum(plan.updates);
	values[3] = Int64GetDatum(plan.threshold);
	values[4] = whole_datum(plan.sparse.alpha);
	values[5] =
		CStringGetTextDatum(dp_accounting_sparse_name(plan.sparse.method));
	values[6] = accounting_fixed_datum(plan.step);
	values[7] = accounting_fixed_datum(plan.sparse.charge.epsilon);
	values[8] = accounting_fixed_datum(plan.sparse.charge.delta);
	values[9] = accounting_fixed_datum(plan.sparse.charge.rho);
	return dp_base_make_row(fcinfo, values, nulls);
}
