/*
 * accounting_noise.c
 *	  Conversions of zCDP, the noise that a price pays for and its error, as
 *	  SQL functions: thin wrappers over src/acct.  Costs, noise and errors are
 *	  rounded up, allowances down.
 *
 * dp_pg's noise lives on a grid whose step is the granule.  A sensitivity that
 * is no multiple of it counts as the next one, as where noise is added.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "accounting.h"

#define ANY DP_RANGE_ANY
#define POSITIVE DP_RANGE_POSITIVE
#define INNER DP_RANGE_INNER

#define NUMBER(i, name, range, rounding) \
	dp_account_number(fcinfo, i, name, range, rounding)

/* dp_zcdp_epsilon(rho, delta) */
DP_ACCOUNTING(zcdp_epsilon)
{
	dp_fixed	rho = NUMBER(0, "rho", ANY, DP_ROUND_UP);
	dp_fixed	delta = NUMBER(1, "delta", INNER, DP_ROUND_DOWN);

	dp_account_done(dp_acct_zcdp_epsilon(rho, delta, &rho),
					"convert rho", "", "");
	RETURN_FIXED(rho);
}

/* dp_zcdp_rho(epsilon, delta) */
DP_ACCOUNTING(zcdp_rho)
{
	dp_fixed	epsilon = NUMBER(0, "epsilon", ANY, DP_ROUND_DOWN);
	dp_fixed	delta = NUMBER(1, "delta", INNER, DP_ROUND_DOWN);

	dp_account_done(dp_acct_zcdp_rho(epsilon, delta, &epsilon),
					"convert epsilon", "", "");
	RETURN_FIXED(epsilon);
}

/* dp_zcdp_delta(rho, epsilon) */
DP_ACCOUNTING(zcdp_delta)
{
	dp_fixed	rho = NUMBER(0, "rho", ANY, DP_ROUND_UP);
	dp_fixed	epsilon = NUMBER(1, "epsilon", ANY, DP_ROUND_DOWN);
	dp_decimal	delta = {0, 0};

	dp_account_done(dp_acct_zcdp_delta(rho, epsilon, &delta),
					"convert rho", "", "");
	PG_RETURN_NUMERIC(dp_account_decimal(&delta));
}

/* dp_odometer(rho, delta) */
DP_ACCOUNTING(odometer)
{
	dp_fixed	rho = NUMBER(0, "rho", ANY, DP_ROUND_UP);
	dp_fixed	delta = NUMBER(1, "delta", INNER, DP_ROUND_DOWN);

	dp_account_done(dp_acct_odometer(rho, delta, &rho),
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
		dp_account_done(DP_E_OVERFLOW, "compute the error", "", "");
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
	dp_status	status = dp_acct_fixed_to_rational(epsilon, &exact);

	if (status == DP_OK && epsilon > 0)
		status = convert(&exact, &rho);
	dp_account_done(status, "convert epsilon",
					"This epsilon has no rho.", "Give a smaller one.");
	RETURN_FIXED(rho);
}

/* dp_pure_rho(epsilon) */
DP_ACCOUNTING(pure_rho)
{
	return rho_of_epsilon(fcinfo, dp_acct_rho_from_pure);
}

/* dp_exponential_rho(epsilon) */
DP_ACCOUNTING(exponential_rho)
{
	return rho_of_epsilon(fcinfo, dp_acct_rho_from_exponential);
}

/* dp_laplace_rho(sensitivity, epsilon, granule) */
DP_ACCOUNTING(laplace_rho)
{
	dp_fixed	sensitivity = NUMBER(0, "sensitivity", POSITIVE, DP_ROUND_UP);
	dp_fixed	epsilon = NUMBER(1, "epsilon", POSITIVE, DP_ROUND_UP);
	dp_fixed	granule = read_granule(fcinfo, 2, POSITIVE);
	dp_rational exact;
	dp_fixed	rho = 0;
	dp_status	status = dp_acct_fixed_to_rational(epsilon, &exact);

	if (status == DP_OK)
		status = dp_acct_rho_from_laplace(grid_sensitivity(sensitivity,
														   granule),
										  &exact, &rho);
	dp_account_done(status, "convert epsilon",
					"This epsilon has no rho.", "Give a smaller one.");
	RETURN_FIXED(rho);
}

/* (sigma / granule)^2 */
static dp_rational
read_variance(dp_fixed sigma, dp_fixed granule)
{
	dp_rational variance = {0, 1};

	dp_account_done(dp_acct_variance_from_sigma(sigma, granule, &variance),
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

	dp_account_done(dp_acct_rho_from_gaussian(1, &variance, &rho),
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

		status = dp_acct_gaussian_variance_exact(steps, epsilon, delta,
												 &variance);
		dp_account_done(status, "find sigma",
						"No variance between 10^-3 and 10^24 squared "
						"granules is known to suffice.",
						"Give another granule, or ask for method "
						"\"zcdp\".");
	}
	else if (strcmp(method, "zcdp") == 0)
	{
		granule = sensitivity;
		status = dp_acct_gaussian_variance_zcdp(1, epsilon, delta, &variance);
		dp_account_done(status, "find sigma",
						"Epsilon or delta is too small for any rho of 24 "
						"digits.", "Give a larger epsilon or delta.");
	}
	else if (strcmp(method, "classical") == 0)
	{
		granule = sensitivity;
		status = dp_acct_gaussian_variance_classical(1, epsilon, delta,
													 &variance);
		dp_account_done(status, "find sigma by Theorem 3.22",
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
	dp_account_done(dp_acct_sigma_from_variance(granule, &variance,
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

	dp_account_done(dp_acct_gaussian_delta(grid_sensitivity(sensitivity,
															granule),
										   &variance, epsilon, &delta),
					"compute delta",
					"Sigma is not between 0.032 and 10^12 granules, or "
					"epsilon is too large.",
					"Give another granule or a smaller epsilon.");
	PG_RETURN_NUMERIC(dp_account_decimal(&delta));
}

/*
 * dp_laplace_error(sensitivity, epsilon, confidence, k, granule)
 *	  Granule 0 is the book's continuous noise.
 */
DP_ACCOUNTING(laplace_error)
{
	dp_fixed	sensitivity = NUMBER(0, "sensitivity", POSITIVE, DP_ROUND_UP);
	dp_fixed	epsilon = NUMBER(1, "epsilon", POSITIVE, DP_ROUND_DOWN);
	dp_fixed	beta = dp_account_failure(fcinfo, 2);
	int64		k = dp_account_count(fcinfo, 3, "k", 1, PG_INT64_MAX);
	dp_fixed	granule = read_granule(fcinfo, 4, ANY);
	dp_fixed	error = 0;
	dp_uint128	steps = 0;

	if (granule == 0)
	{
		dp_account_done(dp_acct_laplace_bound(sensitivity, epsilon, k,
											  beta, &error),
						"compute the error", "", "");
		RETURN_FIXED(error);
	}
	dp_account_done(dp_acct_laplace_error(grid_sensitivity(sensitivity,
														   granule),
										  epsilon, k, beta, &steps),
					"compute the error", "", "");
	RETURN_FIXED(grid_value(steps, granule));
}

/* dp_gaussian_error(sigma, confidence, k, granule) */
DP_ACCOUNTING(gaussian_error)
{
	dp_fixed	sigma = NUMBER(0, "sigma", POSITIVE, DP_ROUND_UP);
	dp_fixed	beta = dp_account_failure(fcinfo, 1);
	int64		k = dp_account_count(fcinfo, 2, "k", 1, PG_INT64_MAX);
	dp_fixed	granule = read_granule(fcinfo, 3, POSITIVE);
	dp_rational variance = read_variance(sigma, granule);
	dp_uint128	steps = 0;

	dp_account_done(dp_acct_gaussian_error(&variance, k, beta, &steps),
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
	int64		candidates = dp_account_count(fcinfo, 0, "candidates", 1,
											  PG_INT64_MAX);
	dp_fixed	sensitivity = NUMBER(1, "sensitivity", POSITIVE, DP_ROUND_UP);
	dp_fixed	epsilon = NUMBER(2, "epsilon", POSITIVE, DP_ROUND_DOWN);
	dp_fixed	beta = dp_account_failure(fcinfo, 3);
	bool		monotone = PG_GETARG_BOOL(4);
	dp_fixed	error = 0;

	dp_account_done(dp_acct_laplace_bound(sensitivity * (monotone ? 1 : 2),
										  epsilon, candidates, beta,
										  &error),
					"compute the error", "", "");
	RETURN_FIXED(error);
}

/* dp_randomized_response_error(n, epsilon, candidates) */
DP_ACCOUNTING(response_error)
{
	int64		n = dp_account_count(fcinfo, 0, "n", 1, PG_INT64_MAX);
	dp_fixed	epsilon = NUMBER(1, "epsilon", POSITIVE, DP_ROUND_DOWN);
	int64		c = dp_account_count(fcinfo, 2, "candidates", 2,
									 PG_INT64_MAX);
	dp_fixed	error = 0;

	dp_account_done(dp_acct_response_error(n, c, epsilon, &error),
					"compute the error", "", "");
	RETURN_FIXED(error);
}

PG_FUNCTION_INFO_V1(dp_accounting_two_coins_error);

/* dp_randomized_response_error(n) */
Datum
dp_accounting_two_coins_error(PG_FUNCTION_ARGS)
{
	int64		n = dp_account_count(fcinfo, 0, "n", 1, PG_INT64_MAX);
	dp_fixed	error = 0;

	dp_account_done(dp_acct_two_coins_error(n, &error),
					"compute the error", "", "");
	RETURN_FIXED(error);
}
