/*
 * test_acct_plan.c
 *	  The advanced filter's bound, plans, and errors at a confidence: against
 *	  the oracle, and by admitting what was planned.
 *
 * No check is statistical: the false-alarm rate is 0.
 */
#include "acct_oracle.h"

static void
test_max_calls(void)
{
	int			from_basic = 0;
	int			one_factor = 0;
	csv_file	csv;

	for (csv_open(&csv, "filter_max_calls.csv"); csv_next(&csv);)
	{
		dp_fixed	e = fixed(csv_text(&csv, "eps_budget"));
		dp_fixed	d = fixed(csv_text(&csv, "delta_budget"));
		dp_fixed	each = fixed(csv_text(&csv, "eps_each"));
		int64_t		want = strtoll(csv_text(&csv, "whitehouse"), NULL, 10);
		long double l = -logl(wide_of(d));
		dp_fixed	limit;
		dp_fixed	less;
		bool		good;

		good = dp_accounting_squares_limit(e, d, &limit) == DP_OK &&
			(int64_t) (limit / dp_accounting_square(each)) == want &&
			dp_accounting_squares_limit(e, 2 * d,
										&less) == DP_OK && less > limit;
		from_basic += strtoll(csv_text(&csv, "basic"), NULL, 10) != want;
		/* sqrt(L S) for sqrt(2 L S) */
		one_factor += (int64_t)
			(powl(sqrtl(l + 2 * wide_of(e)) - sqrtl(l), 2) /
			 powl(wide_of(each), 2)) != want;
		tap_ok(good, "filter_max_calls advanced E=%s d'=%s eps=%s",
			   csv_text(&csv, "eps_budget"), csv_text(&csv, "delta_budget"),
			   csv_text(&csv, "eps_each"));
	}
	tap_ok(csv.records == 36 && from_basic > 30 && one_factor > 20,
		   "filter_max_calls.csv has 36 records; broken filters are caught");
}

/* A total just above the oracle's left side admits, just below refuses. */
static void
test_sequences(void)
{
	static const char *const cycle3[] = {"0.05", "0.1", "0.2"};
	static const char *const cycle2[] = {"0.01", "0.5"};
	csv_file	csv;
	int			linear = 0;

	for (csv_open(&csv, "filters.csv"); csv_next(&csv);)
	{
		const char *name = csv_text(&csv, "sequence");
		dp_fixed	d = fixed(csv_text(&csv, "delta_prime"));
		dp_fixed	lhs = fixed(csv_text(&csv, "whitehouse_lhs"));
		dp_fixed	sum = 0;
		dp_fixed	limit;
		dp_fixed	ulp;
		dp_fixed	margin = lhs / UINT64_C(1000000000000);
		int			n = atoi(csv_text(&csv, "n"));
		bool		good;
		int			i;

		for (i = 0; i < n; i++)
		{
			const char *e = strncmp(name, "const", 5) == 0 ? name + 5 :
				strncmp(name, "cycle0.05", 9) == 0 ? cycle3[i % 3] :
				cycle2[i % 2];

			sum = dp_accounting_fixed_add(sum, dp_accounting_square(fixed(e)));
		}
		good = sum / 2 == fixed_text(csv_text(&csv, "sum_half_eps2"), &ulp);
		good = good && dp_accounting_squares_limit(lhs + margin, d, &limit) ==
			DP_OK && sum <= limit &&
			dp_accounting_squares_limit(lhs - margin, d, &limit) == DP_OK &&
			sum > limit;
		/* a filter on rho would be another one */
		lhs = fixed(csv_text(&csv, "zcdp_eps_from_half_eps2"));
		linear += dp_accounting_squares_limit(lhs, d, &limit) == DP_OK &&
			sum > limit;
		tap_ok(good, "filters advanced %s d'=%s n=%d", name,
			   csv_text(&csv, "delta_prime"), n);
	}
	tap_ok(csv.records == 90 && linear == 90,
		   "filters.csv has 90 records; zcdp is tighter in %d", linear);
}

static void
test_square(void)
{
	stream		s = {UINT64_C(0x1234567887654321)};
	int			bad = 0;
	int			i;

	for (i = 0; i < 20000; i++)
	{
		dp_fixed	e = stream_wide(&s, 103);
		dp_fixed	q = dp_accounting_square(e);

		/* q 10^24 >= e^2 > (q - 1) 10^24 */
		bad += compare_products(q, DP_FIXED_ONE, e, e) < 0 ||
			(q > 0 && compare_products(q - 1, DP_FIXED_ONE, e, e) >= 0);
	}
	tap_ok(bad == 0, "squares are exact ceilings (%d bad)", bad);
	tap_ok(dp_accounting_square(0) == 0 && dp_accounting_square(1) == 1 &&
		   dp_accounting_square(DP_FIXED_ONE) == DP_FIXED_ONE &&
		   dp_accounting_square(DP_FIXED_INFINITE) == DP_FIXED_INFINITE &&
		   dp_accounting_square(DP_FIXED_INFINITE - 1) == DP_FIXED_INFINITE &&
		   dp_accounting_square(DP_FIXED_ONE * 100000000) == DP_FIXED_INFINITE,
		   "corners of the square");
}

static int64_t
filter_calls(dp_filter filter, dp_fixed e, dp_fixed d, dp_fixed each)
{
	const dp_spent none = {0};
	dp_charge	charge = {0, 0, 0};
	dp_rational x = ratio(each, DP_FIXED_ONE);
	dp_limit	limit;

	charge.epsilon = each;
	if (dp_accounting_rho_from_pure(&x, &charge.rho) != DP_OK ||
		dp_accounting_limit_make(filter, e, d, &limit) != DP_OK)
		exit(2);
	return dp_accounting_limit_calls(&limit, &none, &charge);
}

static void
test_plan(void)
{
	static const int64_t ks[] = {1, 2, 10, 100, 1000, 20000};
	static const char *const totals[] = {"0.1", "1", "8"};
	dp_plan		plan;
	int			i;
	int			j;

	for (i = 0; i < 3; i++)
		for (j = 0; j < 6; j++)
		{
			dp_fixed	e = fixed(totals[i]);
			dp_fixed	d = fixed("1e-6");
			int64_t		k = ks[j];
			dp_fixed	squares;
			dp_fixed	got;
			dp_fixed	unused;
			bool		good;

			good = dp_accounting_make_plan(e, d, k, &plan) == DP_OK &&
				filter_calls(DP_FILTER_BASIC, e, d, plan.basic) >= k &&
				filter_calls(DP_FILTER_BASIC, e, d, plan.basic + 1) < k &&
				filter_calls(DP_FILTER_BEST, e, d, plan.best) >= k &&
				filter_calls(DP_FILTER_BEST, e, d, plan.best + 1) < k &&
				filter_calls(DP_FILTER_ZCDP, e, d, plan.zcdp) >= k;
			if (k > 1)
				good = good &&
					filter_calls(DP_FILTER_ZCDP, e, d, plan.zcdp + 2 +
								 plan.zcdp / 1000000000) < k;
			good = good && dp_accounting_squares_limit(e, d / 2, &squares) ==
				DP_OK &&
				dp_accounting_square(plan.advanced) *
				(dp_fixed) k <= squares &&
				dp_accounting_square(plan.advanced + 1 + plan.advanced /
									 1000000000) * (dp_fixed) k > squares &&
				plan.advanced <= plan.zcdp;
			if (plan.corollary > 0)
				good = good &&
					dp_accounting_sum_advanced(plan.corollary, 0, k, d, &got,
											   &unused) == DP_OK && got <= e;
			good = good && plan.theorem >= plan.corollary &&
				dp_accounting_sum_advanced(plan.theorem, 0, k, d, &got,
										   &unused) == DP_OK && got <= e &&
				plan.optimal >= plan.theorem && plan.optimal >= plan.basic &&
				plan.optimal >= plan.zcdp;
			tap_ok(good, "plan E=%s k=%lld: basic %.3Lg advanced %.3Lg zcdp "
				   "%.3Lg best %.3Lg batch %.3Lg %.3Lg %.3Lg", totals[i],
				   (long long) k, wide_of(plan.basic), wide_of(plan.advanced),
				   wide_of(plan.zcdp), wide_of(plan.best),
				   wide_of(plan.corollary), wide_of(plan.theorem),
				   wide_of(plan.optimal));
		}
	tap_ok(dp_accounting_make_plan(DP_FIXED_ONE, 0, 4, &plan) == DP_OK &&
		   plan.basic == DP_FIXED_ONE / 4 && plan.best == plan.basic &&
		   plan.advanced == 0 && plan.zcdp == 0 && plan.corollary == 0 &&
		   plan.theorem == 0 && plan.optimal == 0, "no delta: basic only");
	tap_ok(dp_accounting_make_plan(DP_FIXED_ONE, 1, 0, &plan) == DP_E_RANGE &&
		   dp_accounting_make_plan(0, 1, 1, &plan) == DP_E_RANGE &&
		   dp_accounting_make_plan(DP_FIXED_ONE, DP_FIXED_ONE, 1,
								   &plan) == DP_E_RANGE,
		   "domains of a plan");
}

static void
test_errors(void)
{
	stream		s = {UINT64_C(0xfeedface12345)};
	int			bad = 0;
	int			off_by_one = 0;
	int			i;
	csv_file	csv;
	dp_uint128	a;
	dp_fixed	x;

	for (csv_open(&csv, "laplace_accuracy.csv"); csv_next(&csv);)
	{
		int64_t		k = strtoll(csv_text(&csv, "k"), NULL, 10);
		dp_fixed	beta = fixed(csv_text(&csv, "beta"));
		dp_fixed	e = fixed(csv_text(&csv, "eps"));

		tap_ok(dp_accounting_laplace_bound(DP_FIXED_ONE, e, k, beta,
										   &x) == DP_OK &&
			   agrees_above(wide_of(x), csv_number(&csv, "thm3_8_alpha")) &&
			   dp_accounting_error_of_laplace(1, e, k, beta, &a) == DP_OK &&
			   a == wide(csv_text(&csv, "discrete_union_alpha")),
			   "laplace_accuracy k=%s beta=%s eps=%s", csv_text(&csv, "k"),
			   csv_text(&csv, "beta"), csv_text(&csv, "eps"));
	}
	tap_ok(csv.records == 8, "laplace_accuracy.csv has 8 records");

	for (i = 0; i < 2000; i++)
	{
		uint64_t	d = 1 + stream_below(&s, 1000);
		dp_fixed	e = (1 + stream_below(&s, 3000)) *
			(DP_FIXED_ONE / 1000);
		dp_fixed	beta = (1 + stream_below(&s, 999)) *
			(DP_FIXED_ONE / 1000);
		int64_t		k = 1 + (int64_t) stream_below(&s, 50);
		long double b = (long double) d / wide_of(e);
		long double p = expl(-1 / b);
		long double room = wide_of(beta) / (long double) k;
		long double at;

		if (dp_accounting_error_of_laplace(d, e, k, beta, &a) != DP_OK)
			exit(2);
		at = 2 * expl(-((long double) a + 1) / b) / (1 + p);
		bad += at > room * (1 + 1e-15L) ||
			(a > 0 && at / p < room * (1 - 1e-15L));
		off_by_one += at * p <= room && a > 0;
		if (dp_accounting_error_of_geometric(d, e, k, beta, &a) != DP_OK)
			exit(2);
		at = expl(-((long double) a + 1) / b);
		bad += at > room * (1 + 1e-15L) ||
			(a > 0 && at / p < room * (1 - 1e-15L));
	}
	tap_ok(bad == 0 && off_by_one > 1000,
		   "errors are the least integers, 2000 random cases (%d bad)", bad);
	tap_ok(dp_accounting_error_of_laplace(0, 1, 1, 1, &a) == DP_E_RANGE &&
		   dp_accounting_error_of_laplace(1, 0, 1, 1, &a) == DP_E_RANGE &&
		   dp_accounting_error_of_laplace(1, 1, 0, 1, &a) == DP_E_RANGE &&
		   dp_accounting_error_of_laplace(1, 1, 1, 0, &a) == DP_E_RANGE &&
		   dp_accounting_error_of_geometric(1, 1, 1, DP_FIXED_ONE,
											&a) == DP_E_RANGE &&
		   dp_accounting_laplace_bound(DP_FIXED_INFINITE, 1, 1, 1, &x) ==
		   DP_E_RANGE, "domains of the errors");
}

int
main(void)
{
	test_max_calls();
	test_sequences();
	test_square();
	test_plan();
	test_errors();
	return tap_done();
}
