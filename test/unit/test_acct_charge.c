/*
 * test_acct_charge.c
 *	  How mechanisms are charged: epsilon^2/8 against exact products, and the
 *	  form of a Gaussian charge for every pair of payer and cap.
 *
 * Every check is exact: the false-alarm rate is 0.
 */
#include "acct_support.h"

typedef dp_status (*conversion) (const dp_rational *epsilon, dp_fixed *rho);

/* Charges one unit too little: must be caught. */
static dp_status
broken_down(const dp_rational *epsilon, dp_fixed *rho)
{
	dp_status	status = dp_accounting_rho_from_exponential(epsilon, rho);

	if (status == DP_OK && *rho > 0)
		*rho -= 1;
	return status;
}

/*
 * How many of the epsilons n/1000 have an answer other than the ceiling of
 * n^2 10^24 / (8 10^6), or above what pure epsilon gives.
 */
static int
wrong(conversion f)
{
	int			bad = 0;
	int			n;

	for (n = 1; n <= 8000; n++)
	{
		dp_rational epsilon;
		dp_uint128	exact = (dp_uint128) n * (dp_uint128) n *
			(DP_FIXED_ONE / 8000000);
		dp_fixed	pure = 0;
		dp_fixed	rho = 0;

		if (dp_numbers_rational_make((dp_uint128) n, 1000,
									 &epsilon) != DP_OK ||
			f(&epsilon, &rho) != DP_OK ||
			dp_accounting_rho_from_pure(&epsilon, &pure) != DP_OK)
			exit(2);
		if (rho != (exact < pure ? exact : pure) || rho > pure)
			bad++;
	}
	return bad;
}

static void
test_exponential(void)
{
	const dp_rational third = {1, 3};
	const dp_rational large = {1000, 1};
	const dp_rational none = {1, 0};
	dp_fixed	rho = 7;
	int			bad = wrong(dp_accounting_rho_from_exponential);

	tap_ok(bad == 0, "epsilon^2/8 for 8000 epsilons (%d wrong)", bad);
	bad = wrong(broken_down);
	tap_ok(bad == 8000, "one unit less is caught (%d)", bad);

	/* 1/72 = 0.013888..., above it by two units at most */
	tap_ok(dp_accounting_rho_from_exponential(&third, &rho) == DP_OK &&
		   rho > DP_FIXED_ONE / 72 && rho <= DP_FIXED_ONE / 72 + 2,
		   "a third, rounded up");
	tap_ok(dp_accounting_rho_from_exponential(&large, &rho) == DP_OK &&
		   rho == 1000 * DP_FIXED_ONE, "never above epsilon itself");
	rho = 7;
	tap_ok(dp_accounting_rho_from_exponential(&none, &rho) == DP_E_RANGE &&
		   rho == 7, "no epsilon");
}

static dp_limit
limit_of(dp_filter filter, dp_fixed delta)
{
	dp_limit	limit;

	if (dp_accounting_limit_make(filter, DP_FIXED_ONE, delta, &limit) != DP_OK)
		exit(2);
	return limit;
}

static void
test_gaussian(void)
{
	const dp_fixed delta = DP_FIXED_ONE / 1000000;
	const dp_limit basic = limit_of(DP_FILTER_BASIC, delta);
	const dp_limit zcdp = limit_of(DP_FILTER_ZCDP, delta);
	const dp_limit best = limit_of(DP_FILTER_BEST, delta);
	const dp_limit blind = limit_of(DP_FILTER_BEST, 0);
	const dp_filter rho = DP_FILTER_BEST;
	const dp_filter both = DP_FILTER_BASIC;
	dp_charge	charge;
	dp_spent	spent = {0};

	tap_ok(dp_accounting_charge_filter(NULL, NULL) == both &&
		   dp_accounting_charge_filter(&basic, NULL) == both &&
		   dp_accounting_charge_filter(&zcdp, NULL) == rho &&
		   dp_accounting_charge_filter(&best, NULL) == rho &&
		   dp_accounting_charge_filter(&blind, NULL) == both,
		   "the payer's limit decides");
	tap_ok(dp_accounting_charge_filter(NULL, &basic) == both &&
		   dp_accounting_charge_filter(NULL, &zcdp) == rho &&
		   dp_accounting_charge_filter(NULL, &best) == rho &&
		   dp_accounting_charge_filter(&best, &basic) == both &&
		   dp_accounting_charge_filter(&best, &blind) == both &&
		   dp_accounting_charge_filter(&basic, &best) == both &&
		   dp_accounting_charge_filter(&zcdp, &best) == rho,
		   "the cap has a say");

	dp_accounting_charge_gaussian(DP_FILTER_BASIC, 1, 2, 3, &charge);
	tap_ok(charge.epsilon == 1 && charge.delta == 2 && charge.rho == 3,
		   "epsilon, rho and delta for a basic filter");
	dp_accounting_charge_gaussian(DP_FILTER_ZCDP, 1, 2, 3, &charge);
	tap_ok(charge.epsilon == DP_FIXED_INFINITE && charge.delta == 0 &&
		   charge.rho == 3, "rho alone for zcdp");
	dp_accounting_charge_gaussian(DP_FILTER_BEST, 1, 2, zcdp.rho, &charge);
	tap_ok(charge.epsilon == DP_FIXED_INFINITE && charge.delta == 0 &&
		   dp_accounting_limit_admits(&best, &spent, &charge) &&
		   dp_accounting_limit_admits(&zcdp, &spent, &charge) &&
		   !dp_accounting_limit_admits(&basic, &spent, &charge),
		   "rho alone for best, which a basic filter refuses");
}

int
main(void)
{
	test_exponential();
	test_gaussian();
	return tap_done();
}
