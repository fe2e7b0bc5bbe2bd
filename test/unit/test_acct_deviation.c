/*
 * test_acct_deviation.c
 *	  Standard deviations there and back, tails of the discrete Gaussian by
 *	  their definition, standard errors of randomized response against the
 *	  oracle; broken variants must be caught.
 *
 * No check is statistical: the false-alarm rate is 0.
 */
#include "acct_oracle.h"

static void
test_sigma(void)
{
	stream		s = {UINT64_C(0xabcdef987654321)};
	int			bad = 0;
	int			exact = 0;
	int			back = 0;
	int			i;

	for (i = 0; i < 4000; i++)
	{
		/* a dyadic variance of up to 64 bits, and a granule */
		dp_rational v = ratio(stream_wide(&s, 63) + 1,
							  (dp_uint128) 1 << stream_below(&s, 60));
		dp_fixed	g = stream_wide(&s, 70) + UINT64_C(1000000000000);
		dp_rational got;
		dp_fixed	sigma;
		BIGNUM	   *x;
		BIGNUM	   *y;

		if (dp_accounting_sigma_from_variance(g, &v, &sigma) != DP_OK)
			continue;
		/* sigma^2 den >= g^2 num > (sigma - 1)^2 den */
		x = big(sigma);
		big_times(x, sigma);
		big_times(x, v.den);
		y = big(g);
		big_times(y, g);
		big_times(y, v.num);
		bad += BN_cmp(x, y) < 0;
		exact += BN_cmp(x, y) == 0;
		BN_free(x);
		x = big(sigma - 1);
		big_times(x, sigma - 1);
		big_times(x, v.den);
		bad += BN_cmp(x, y) >= 0;
		BN_free(x);

		/* what is read again is not below v, nor above (sigma/g)^2 */
		if (dp_accounting_variance_from_sigma(sigma, g, &got) != DP_OK)
			exit(2);
		bad += dp_numbers_rational_compare(&got, &v) < 0;
		x = big(sigma);
		big_times(x, sigma);
		big_times(x, got.den);
		BN_free(y);
		y = big(g);
		big_times(y, g);
		big_times(y, got.num);
		bad += BN_cmp(x, y) < 0;
		back++;
		BN_free(x);
		BN_free(y);
	}
	tap_ok(bad == 0 && back > 3000,
		   "sigma is the exact ceiling and survives, %d cases (%d bad, %d "
		   "exact)", back, bad, exact);
	{
		dp_rational v;
		dp_fixed	sigma;

		v = ratio(49, 4);
		tap_ok(dp_accounting_sigma_from_variance(DP_FIXED_ONE, &v,
												 &sigma) == DP_OK
			   && sigma == fixed("3.5") &&
			   dp_accounting_variance_from_sigma(fixed("0.1"), DP_FIXED_ONE,
												 &v) ==
			   DP_OK && v.num == 1 && v.den == 100 &&
			   dp_accounting_variance_from_sigma(fixed("2"), fixed("3"), &v) ==
			   DP_OK && v.num == 4 && v.den == 9, "small ratios are exact");
		tap_ok(dp_accounting_variance_from_sigma(0, 1, &v) == DP_E_RANGE &&
			   dp_accounting_variance_from_sigma(1, 0, &v) == DP_E_RANGE &&
			   dp_accounting_variance_from_sigma(DP_FIXED_INFINITE, 1, &v) ==
			   DP_E_RANGE &&
			   dp_accounting_variance_from_sigma(1, DP_FIXED_ONE * 1000 + 1,
												 &v) ==
			   DP_E_RANGE &&
			   dp_accounting_variance_from_sigma(DP_FIXED_ONE * 1000 + 1, 1,
												 &v) ==
			   DP_E_OVERFLOW &&
			   dp_accounting_sigma_from_variance(DP_FIXED_INFINITE, &v,
												 &sigma) ==
			   DP_E_RANGE, "domains of sigma");
		v = ratio((dp_uint128) 1 << 126, 1);
		tap_ok(dp_accounting_sigma_from_variance(DP_FIXED_ONE, &v, &sigma) ==
			   DP_E_OVERFLOW, "a sigma too large");
	}
}

/* P[|X| > a] by definition, far terms first. */
static long double
tail_by_definition(long double v, int a)
{
	long double above = 0;
	long double all = 0;
	int			x;

	for (x = (int) (15 * sqrtl(v)) + 40 + a; x >= 1; x--)
	{
		long double p = 2 * expl(-(long double) x * x / (2 * v));

		all += p;
		if (x > a)
			above += p;
	}
	return above / (all + 1);
}

static void
test_gaussian_error(void)
{
	static const dp_rational variances[] = {
		{1, 100}, {1, 4}, {1, 1}, {7, 2}, {25, 1}, {1000, 3}, {90000, 1}
	};
	static const char *const betas[] = {
		"0.9", "0.5", "0.05", "0.001", "1e-9", "1e-20"
	};
	int			bad = 0;
	int			cases = 0;
	int			continuous = 0;
	int			one_sided = 0;
	size_t		i;
	size_t		j;
	int			k;
	dp_uint128	a;
	dp_rational v = {1, 1};

	for (i = 0; i < sizeof(variances) / sizeof(variances[0]); i++)
		for (j = 0; j < sizeof(betas) / sizeof(betas[0]); j++)
			for (k = 1; k <= 1000; k *= 10)
			{
				dp_fixed	beta = fixed(betas[j]);
				long double room = wide_of(beta) / k;
				long double w = (long double) variances[i].num /
					(long double) variances[i].den;

				if (dp_accounting_error_of_gaussian(&variances[i], k, beta,
													&a) !=
					DP_OK)
					exit(2);
				cases++;
				bad += tail_by_definition(w, (int) a) > room;
				bad += a > 0 && tail_by_definition(w, (int) a - 1) <=
					room * (1 - 1e-11L);
				/* the least integer above the normal law's quantile */
				continuous += a == 0 ? erfcl(0.5L / sqrtl(2 * w)) > room :
					erfcl((long double) a / sqrtl(2 * w)) <= room &&
					erfcl((long double) (a - 1) / sqrtl(2 * w)) > room;
				one_sided += a > 0 &&
					tail_by_definition(w, (int) a - 1) / 2 <= room;
			}
	tap_ok(bad == 0 && cases == 168 && continuous < 160 && one_sided > 20,
		   "errors are the least integers by definition, %d cases (%d bad); "
		   "broken ones are caught", cases, bad);

	/* large sigma: the integral, at most one more than the least */
	v.num = (dp_uint128) 10000 * 10000;
	tap_ok(dp_accounting_error_of_gaussian(&v, 1, fixed("0.05"),
										   &a) == DP_OK &&
		   (a == 19599 || a == 19600), "sigma 10000");
	v.num = (dp_uint128) 1 << 90;
	tap_ok(dp_accounting_error_of_gaussian(&v, 1, fixed("0.05"),
										   &a) == DP_OK &&
		   fabsl((long double) a / 0x1p45L / 1.95996398454005423552L - 1) <
		   1e-11L, "sigma 2^45");
	tap_ok(dp_accounting_error_of_gaussian(&v, 0, 1, &a) == DP_E_RANGE &&
		   dp_accounting_error_of_gaussian(&v, 1, 0, &a) == DP_E_RANGE &&
		   dp_accounting_error_of_gaussian(&v, 1, DP_FIXED_ONE,
										   &a) == DP_E_RANGE,
		   "domains of the error");
	v.num = (dp_uint128) 1 << 110;
	tap_ok(dp_accounting_error_of_gaussian(&v, 1, 1, &a) == DP_E_RANGE,
		   "a variance too large");
	v.num = 1;
	v.den = (dp_uint128) 1 << 120;
	tap_ok(dp_accounting_error_of_gaussian(&v, INT64_MAX, 1,
										   &a) == DP_OK && a == 0,
		   "hardly any noise");
}

static void
test_response(void)
{
	int			caught = 0;
	csv_file	csv;
	dp_fixed	e;
	dp_fixed	other;

	for (csv_open(&csv, "randomized_response.csv"); csv_next(&csv);)
	{
		const char *text = csv_text(&csv, "eps");
		const char *slash = strchr(text, '/');
		long double want = csv_number(&csv,
									  "estimator_var_per_row_noise_part");
		long double have;

		e = fixed(text);
		if (slash != NULL)
			e /= (dp_fixed) wide(slash + 1);
		if (dp_accounting_error_of_response(900, 2, e, &other) != DP_OK)
			exit(2);
		have = wide_of(other) * wide_of(other) / 900;
		/* the probability of the truth for that of a lie */
		caught += !agrees_above(want * expl(wide_of(e)), want);
		tap_ok(agrees_above(have, want * (1 - 1e-15L)) &&
			   dp_accounting_error_of_response(900, 5, e, &e) == DP_OK &&
			   e <= 2 * other && e + 4 >= 2 * other,
			   "randomized_response eps=%s", text);
	}
	tap_ok(csv.records == 5 && caught == 5,
		   "randomized_response.csv has 5 records");
	tap_ok(dp_accounting_error_of_coins(1200,
										&e) == DP_OK && e == fixed("30") &&
		   dp_accounting_error_of_coins(1, &e) == DP_OK &&
		   agrees_above(wide_of(e), sqrtl(3) / 2), "the two coins");
	tap_ok(dp_accounting_error_of_coins(0, &e) == DP_E_RANGE &&
		   dp_accounting_error_of_response(0, 2, 1, &e) == DP_E_RANGE &&
		   dp_accounting_error_of_response(1, 1, 1, &e) == DP_E_RANGE &&
		   dp_accounting_error_of_response(1, 2, 0, &e) == DP_E_RANGE &&
		   dp_accounting_error_of_response(1, 2, DP_FIXED_INFINITE, &e) ==
		   DP_E_RANGE &&
		   dp_accounting_error_of_response(INT64_MAX, INT64_MAX, 1, &e) ==
		   DP_E_OVERFLOW, "domains of the standard errors");
}

int
main(void)
{
	test_sigma();
	test_gaussian_error();
	test_response();
	return tap_done();
}
