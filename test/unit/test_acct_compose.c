/*
 * test_acct_compose.c
 *	  Composition, groups, zCDP both ways, odometer: against every row of the
 *	  oracle; broken formulas must be caught by the same rows.
 *
 * No check is statistical: the false-alarm rate is 0.
 */
#include "acct_oracle.h"

typedef long double (*formula) (long double e, long double k, long double d);

/* ---- broken variants of Theorem 3.20 and Corollary 3.21 ---- */

static long double
without_factor_two(long double e, long double k, long double d)
{
	return sqrtl(k * logl(1 / d)) * e + k * e * expm1l(e);
}

static long double
with_half_square(long double e, long double k, long double d)
{
	return sqrtl(2 * k * logl(1 / d)) * e + k * e * e / 2;
}

static long double
with_log_two(long double e, long double k, long double d)
{
	return sqrtl(2 * k * log2l(1 / d)) * e + k * e * expm1l(e);
}

static long double
with_tanh(long double e, long double k, long double d)
{
	return sqrtl(2 * k * logl(1 / d)) * e + k * e * tanhl(e / 2);
}

static long double
without_mean(long double e, long double k, long double d)
{
	return sqrtl(2 * k * logl(1 / d)) * e;
}

static const struct
{
	const char *name;
	formula		f;
}			broken_advanced[] = {
	{"factor 2 under the root missing", without_factor_two},
	{"e^2/2 for e (e^e - 1)", with_half_square},
	{"binary logarithm", with_log_two},
	{"hyperbolic tangent", with_tanh},
	{"mean loss missing", without_mean}
};

#define BROKEN ((int) (sizeof(broken_advanced) / sizeof(broken_advanced[0])))

static void
test_advanced(void)
{
	int			caught[BROKEN] = {0};
	int			optimal_rows = 0;
	csv_file	csv;
	int			i;

	for (csv_open(&csv, "advanced_composition.csv"); csv_next(&csv);)
	{
		dp_fixed	e = fixed(csv_text(&csv, "eps0"));
		dp_fixed	d = fixed(csv_text(&csv, "delta_prime"));
		int64_t		k = strtoll(csv_text(&csv, "k"), NULL, 10);
		dp_rational rational = ratio(e, DP_FIXED_ONE);
		long double want = csv_number(&csv, "thm3_20");
		dp_fixed	basic;
		dp_fixed	have;
		dp_fixed	delta;
		dp_fixed	rho;
		bool		good;

		good = dp_accounting_sum_basic(e, 3, k, &basic, &delta) == DP_OK &&
			basic == fixed(csv_text(&csv, "basic")) &&
			delta == (dp_fixed) (3 * k);
		good = good &&
			dp_accounting_sum_advanced(e, 2, k, d, &have, &delta) == DP_OK &&
			agrees_above(wide_of(have), want) &&
			delta == d + 2 * (dp_fixed) k;
		for (i = 0; i < BROKEN; i++)
			caught[i] += !agrees_above(broken_advanced[i].f(wide_of(e),
															(long double) k,
															wide_of(d)),
									   want);

		/* k e tanh(e/2), which Pade bounds to 10^-5 of it at e = 1 */
		good = good && dp_accounting_rho_from_pure(&rational, &rho) == DP_OK &&
			dp_accounting_epsilon_of_zcdp(rho * (dp_fixed) k, d,
										  &have) == DP_OK &&
			wide_of(have) >= csv_number(&csv, "zcdp_tight") *
			(1 - ORACLE_DIGIT) &&
			wide_of(have) <= csv_number(&csv, "zcdp_tight") * 1.00002L;
		if (*csv_text(&csv, "optimal_KOV") != '\0')
		{
			want = csv_number(&csv, "optimal_KOV");
			good = good && dp_accounting_sum_optimal(e, 2, k, d, &have,
													 &delta) == DP_OK &&
				agrees_above(wide_of(have), want) && have <= basic &&
				delta == d + 2 * (dp_fixed) k;
			optimal_rows++;
		}
		tap_ok(good, "advanced_composition eps=%s k=%s d'=%s",
			   csv_text(&csv, "eps0"), csv_text(&csv, "k"),
			   csv_text(&csv, "delta_prime"));
	}
	tap_ok(csv.records == 90 && optimal_rows > 60,
		   "advanced_composition.csv has 90 records, %d with an optimum",
		   optimal_rows);
	for (i = 0; i < BROKEN; i++)
		tap_ok(caught[i] > 0, "Theorem 3.20 with %s is caught (%d rows)",
			   broken_advanced[i].name, caught[i]);
}

/* Example 3.7: k = 10000 mechanisms, total 1, slack e^-32. */
static void
test_example(void)
{
	const int64_t k = 10000;
	csv_file	csv;
	dp_fixed	d;
	dp_fixed	e;
	dp_fixed	unused;

	/* e^-32 rounded down on the grid: ln moves by a relative 3e-13 at most */
	d = wide("12664165549");
	for (csv_open(&csv, "example_3_7.csv"); csv_next(&csv);)
	{
		const char *rule = csv_text(&csv, "rule");
		long double want = csv_number(&csv, "max_eps0");
		bool		good;

		e = fixed(csv_text(&csv, "max_eps0"));
		good = dp_accounting_sum_advanced(e, 0, k, d, &unused, &unused) ==
			DP_OK;
		good = good && dp_accounting_sum_advanced(e, 0, k, d, &e, &unused) ==
			DP_OK && fabsl(wide_of(e) /
						   csv_number(&csv, "thm3_20_eps_at_this") - 1) <
			1e-12L;
		if (strcmp(rule, "cor3_21") == 0)
			good = good && dp_accounting_find_epsilon(DP_FIXED_ONE, k, d,
													  &e) ==
				DP_OK && fabsl(wide_of(e) / want - 1) < 1e-12L;
		else if (strcmp(rule, "thm3_20") == 0)
			good = good && dp_accounting_find_epsilon_advanced(DP_FIXED_ONE, k,
															   d,
															   &e) == DP_OK &&
				fabsl(wide_of(e) / want - 1) < 1e-12L;
		else if (strcmp(rule, "whitehouse") == 0)
			good = good && dp_accounting_squares_limit(DP_FIXED_ONE, d, &e) ==
				DP_OK &&
				fabsl(sqrtl(wide_of(e) / (long double) k) / want - 1) <
				1e-12L;
		else if (strcmp(rule, "zcdp_tight") == 0)
			good = good && dp_accounting_rho_of_zcdp(DP_FIXED_ONE, d,
													 &e) == DP_OK &&
				fabsl(wide_of(e) / ((long double) k * want *
									tanhl(want / 2)) - 1) < 1e-12L;
		else if (strcmp(rule, "optimal_KOV") == 0)
			good = good && dp_accounting_find_epsilon_optimal(DP_FIXED_ONE, k,
															  d,
															  &e) == DP_OK &&
				fabsl(wide_of(e) / want - 1) < 1e-12L;
		tap_ok(good, "example_3_7 %s", rule);
	}
	tap_ok(csv.records == 7, "example_3_7.csv has 7 records");
}

static void
test_inverse(void)
{
	const dp_fixed one = DP_FIXED_ONE;
	static const int64_t ks[] = {1, 7, 100, 12345, 1000000};
	dp_fixed	e;
	dp_fixed	f;
	dp_fixed	d;
	bool		inverse = true;
	bool		tight = true;
	bool		best = true;
	size_t		i;

	for (i = 0; i < sizeof(ks) / sizeof(ks[0]); i++)
	{
		dp_fixed	total;

		if (dp_accounting_find_epsilon(one, ks[i], fixed("1e-6"),
									   &e) != DP_OK ||
			dp_accounting_sum_advanced(e, 0, ks[i], fixed("1e-6"), &total,
									   &d) != DP_OK)
			exit(2);
		inverse = inverse && total <= one;
		if (dp_accounting_find_epsilon_advanced(one, ks[i], fixed("1e-6"),
												&f) !=
			DP_OK ||
			dp_accounting_sum_advanced(f, 0, ks[i], fixed("1e-6"), &total,
									   &d) != DP_OK)
			exit(2);
		tight = tight && total <= one && f >= e;
		if (dp_accounting_sum_advanced(f + 1, 0, ks[i], fixed("1e-6"), &total,
									   &d) != DP_OK)
			exit(2);
		tight = tight && total > one;
		if (dp_accounting_find_epsilon_optimal(one, ks[i], fixed("1e-6"),
											   &e) !=
			DP_OK)
			exit(2);
		/* the optimum is never below the theorem or basic composition */
		best = best && e >= f && e >= one / (dp_fixed) ks[i];
		if (dp_accounting_sum_optimal(e, 0, ks[i], fixed("1e-6"), &total,
									  &d) != DP_OK)
			exit(2);
		best = best && wide_of(total) <= 1 + 1e-12L &&
			wide_of(total) >= 1 - 1e-9L;
	}
	tap_ok(inverse, "Corollary 3.21 is confirmed by Theorem 3.20");
	tap_ok(tight, "the inverse of Theorem 3.20 is the largest");
	tap_ok(best, "the inverse of the optimum is at least both, and tight");

	/* errata 4: sqrt(2k ln(1/d')) small makes the corollary false */
	tap_ok(dp_accounting_find_epsilon(one, 10, fixed("0.99"),
									  &e) == DP_E_RANGE &&
		   dp_accounting_find_epsilon(one, 10, fixed("0.999999"), &e) ==
		   DP_E_RANGE &&
		   dp_accounting_find_epsilon(one, 10, fixed("0.5"), &e) == DP_OK,
		   "Corollary 3.21 is refused where it fails");
	tap_ok(dp_accounting_find_epsilon(0, 10, 1, &e) == DP_E_RANGE &&
		   dp_accounting_find_epsilon(one, 0, 1, &e) == DP_E_RANGE &&
		   dp_accounting_find_epsilon(one, 10, 0, &e) == DP_E_RANGE &&
		   dp_accounting_find_epsilon(one, 10, one, &e) == DP_E_RANGE &&
		   dp_accounting_find_epsilon(DP_FIXED_INFINITE, 10, 1,
									  &e) == DP_E_RANGE &&
		   dp_accounting_sum_advanced(one, 0, 0, 1, &e, &d) == DP_E_RANGE &&
		   dp_accounting_sum_advanced(one, 0, 1, one, &e, &d) == DP_E_RANGE &&
		   dp_accounting_sum_advanced(65 * one, 0, 1, 1, &e, &d) ==
		   DP_E_OVERFLOW &&
		   dp_accounting_sum_basic(one, 0, 0, &e, &d) == DP_E_RANGE &&
		   dp_accounting_sum_basic(DP_FIXED_INFINITE - 1, 0, 2, &e, &d) ==
		   DP_E_OVERFLOW &&
		   dp_accounting_sum_optimal(one, 0, (INT64_C(1) << 20) + 1, 1, &e,
									 &d) == DP_E_RANGE,
		   "domains");
}

/* A delta is 1 at most, however large k delta is; epsilon stays. */
static void
test_cap(void)
{
	const dp_fixed one = DP_FIXED_ONE;
	const dp_fixed third = one / 3;
	dp_fixed	e;
	dp_fixed	d;
	bool		good;

	good = dp_accounting_sum_basic(0, third, 3, &e, &d) == DP_OK &&
		d == one - 1 &&
		dp_accounting_sum_basic(0, third, 4, &e, &d) == DP_OK && d == one &&
		dp_accounting_sum_basic(0, one, INT64_MAX, &e, &d) == DP_OK &&
		d == one && e == 0;
	good = good &&
		dp_accounting_sum_advanced(1, third, 3, 1, &e, &d) == DP_OK &&
		d == one &&
		dp_accounting_sum_advanced(1, third, 2, 1, &e, &d) == DP_OK &&
		d == 2 * third + 1 &&
		dp_accounting_sum_advanced(0, one, INT64_MAX, 1, &e, &d) == DP_OK &&
		d == one;
	good = good &&
		dp_accounting_sum_optimal(one, third, 3, 2, &e, &d) == DP_OK &&
		d == one && e > 0 && e <= 3 * one &&
		dp_accounting_sum_optimal(one, third, 2, 2, &e, &d) == DP_OK &&
		d == 2 * third + 2;
	tap_ok(good && dp_accounting_cap_delta(DP_FIXED_INFINITE) == one &&
		   dp_accounting_cap_delta(one - 1) == one - 1, "delta is 1 at most");
	tap_ok(dp_accounting_sum_basic(1, DP_FIXED_INFINITE, 2, &e, &d) ==
		   DP_E_RANGE &&
		   dp_accounting_sum_advanced(1, DP_FIXED_INFINITE, 2, 1, &e, &d) ==
		   DP_E_RANGE &&
		   dp_accounting_sum_optimal(1, DP_FIXED_INFINITE, 2, 1, &e, &d) ==
		   DP_E_RANGE, "an infinite delta is refused");
}

/* Exact small cases of the optimum by enumeration, and broken variants. */
static void
test_optimal(void)
{
	int			missing_part = 0;
	int			shifted = 0;
	int			bad = 0;
	int			cases = 0;
	int			k;
	int			i;

	for (k = 1; k <= 40; k += 3)
		for (i = 0; i < 8; i++)
		{
			long double e0 = 0.125L * (1 + i % 3);
			long double at = k * e0 * (long double) i / 8;
			long double want = 0;
			long double unclipped = 0;
			long double off = 0;
			long double c = 1;
			dp_decimal	have;
			int			j;

			for (j = 0; j <= k; j++)
			{
				long double w = c * expl(j * e0) / powl(1 + expl(e0), k);
				long double part = 1 - expl(at - (2 * j - k) * e0);
				long double moved = 1 - expl(at - (2 * j - k + 1) * e0);

				want += part > 0 ? w * part : 0;
				unclipped += w * part;
				off += moved > 0 ? w * moved : 0;
				c = c * (k - j) / (j + 1);
			}
			if (dp_accounting_optimal_delta((dp_fixed) (e0 * 1e24L), k,
											(dp_fixed) (at * 1e24L), &have) !=
				DP_OK)
				exit(2);
			cases++;
			bad += fabsl(log_of_decimal(&have) - logl(want)) > 1e-12L;
			missing_part += !(fabsl(log_of_decimal(&have) -
									logl(unclipped)) <= 1e-12L);
			shifted += fabsl(log_of_decimal(&have) - logl(off)) > 1e-12L;
		}
	tap_ok(bad == 0 && cases == 112, "optimum by enumeration (%d bad)", bad);
	tap_ok(missing_part > 50 && shifted > 100,
		   "broken variants of the optimum are caught");
	{
		dp_decimal	d;

		tap_ok(dp_accounting_optimal_delta(DP_FIXED_ONE, 5, 5 * DP_FIXED_ONE,
										   &d)
			   == DP_OK && d.digits == 0, "delta is 0 at k epsilon");
		tap_ok(dp_accounting_optimal_delta(fixed("0.00001"), 1000000,
										   fixed("0.1"), &d) == DP_OK &&
			   log_of_decimal(&d) < 0, "a million mechanisms");
	}
}

static void
test_concentrated(void)
{
	int			loose = 0;
	csv_file	csv;
	dp_fixed	e;

	for (csv_open(&csv, "rho_to_eps.csv"); csv_next(&csv);)
	{
		dp_fixed	rho = fixed(csv_text(&csv, "rho"));
		dp_fixed	delta = fixed(csv_text(&csv, "delta"));
		long double want = csv_number(&csv, "eps_tight");
		dp_fixed	back;
		dp_decimal	d;
		bool		good;

		good = dp_accounting_epsilon_of_zcdp(rho, delta, &e) == DP_OK &&
			agrees_above(wide_of(e), want) &&
			dp_accounting_rho_of_zcdp(e, delta, &back) == DP_OK &&
			agrees_above(wide_of(back), wide_of(rho)) &&
			dp_accounting_rho_of_zcdp(fixed(csv_text(&csv, "eps_tight")) -
									  fixed("1e-15"), delta, &back) == DP_OK &&
			back <= rho &&
			dp_accounting_delta_of_zcdp(rho,
										fixed(csv_text(&csv, "eps_tight")), &d)
			== DP_OK &&
			fabsl(log_of_decimal(&d) -
				  log_of_text(csv_text(&csv, "delta_back"))) < 1e-12L;
		loose += !agrees_above(csv_number(&csv, "eps_loose_BS16"), want);
		tap_ok(good, "rho_to_eps rho=%s delta=%s", csv_text(&csv, "rho"),
			   csv_text(&csv, "delta"));
	}
	tap_ok(csv.records == 28 && loose == 28,
		   "rho_to_eps.csv has 28 records; the loose formula is caught");

	for (csv_open(&csv, "rho_to_delta.csv"); csv_next(&csv);)
	{
		dp_decimal	d;

		tap_ok(dp_accounting_delta_of_zcdp(fixed(csv_text(&csv, "rho")),
										   fixed(csv_text(&csv, "eps")), &d) ==
			   DP_OK && agrees_log(&d, csv_text(&csv, "delta_tight")),
			   "rho_to_delta rho=%s eps=%s", csv_text(&csv, "rho"),
			   csv_text(&csv, "eps"));
	}
	tap_ok(csv.records == 25, "rho_to_delta.csv has 25 records");

	for (csv_open(&csv, "eps_to_rho_budget.csv"), loose = 0; csv_next(&csv);)
	{
		dp_fixed	rho;
		long double want = csv_number(&csv, "rho_max_tight");

		loose += !agrees_below(csv_number(&csv, "rho_max_loose_BS16"), want);
		tap_ok(dp_accounting_rho_of_zcdp(fixed(csv_text(&csv, "eps")),
										 fixed(csv_text(&csv, "delta")),
										 &rho) ==
			   DP_OK && agrees_below(wide_of(rho), want),
			   "eps_to_rho_budget eps=%s delta=%s", csv_text(&csv, "eps"),
			   csv_text(&csv, "delta"));
	}
	tap_ok(csv.records == 18 && loose == 18,
		   "eps_to_rho_budget.csv has 18 records; the loose one is caught");

	tap_ok(dp_accounting_epsilon_of_zcdp(0, 1, &e) == DP_OK && e == 0 &&
		   dp_accounting_epsilon_of_zcdp(1, 0, &e) == DP_E_RANGE &&
		   dp_accounting_epsilon_of_zcdp(DP_FIXED_INFINITE, 1,
										 &e) == DP_E_RANGE &&
		   dp_accounting_rho_of_zcdp(DP_FIXED_ONE, DP_FIXED_ONE,
									 &e) == DP_E_RANGE,
		   "domains of the conversions");
}

/* Random pairs: what is converted there and back never gains. */
static void
test_round_trip(void)
{
	stream		s = {UINT64_C(0x9e3779b97f4a7c15)};
	int			bad = 0;
	int			proofs = 0;
	int			i;

	for (i = 0; i < 2000; i++)
	{
		dp_fixed	rho = stream_wide(&s, 96) + 1;
		dp_fixed	delta = stream_wide(&s, 79) + 1;
		dp_fixed	e;
		dp_fixed	back;

		if (dp_accounting_epsilon_of_zcdp(rho, delta, &e) != DP_OK)
			exit(2);
		if (e == 0)
			continue;
		if (dp_accounting_rho_of_zcdp(e - 1, delta, &back) != DP_OK)
			exit(2);
		/* one unit less must not prove more than rounding explains */
		bad += wide_of(back) > wide_of(rho) * (1 + 1e-12L) + 1e-22L;
		proofs++;
	}
	tap_ok(bad == 0 && proofs > 1000,
		   "there and back, %d random pairs (%d bad)", proofs, bad);
}

static void
test_group(void)
{
	int			caught = 0;
	csv_file	csv;

	for (csv_open(&csv, "group_privacy.csv"); csv_next(&csv);)
	{
		dp_charge	charge = {0, 7, 0};
		dp_charge	group;
		int64_t		g = strtoll(csv_text(&csv, "group"), NULL, 10);
		long double want = csv_number(&csv, "delta_group");

		charge.epsilon = fixed(csv_text(&csv, "eps"));
		charge.delta = fixed(csv_text(&csv, "delta"));
		/* the usual simplification g e^((g-1) e) delta */
		caught += !agrees_above((long double) g * wide_of(charge.delta) *
								expl(wide_of(charge.epsilon) *
									 (long double) (g - 1)), want);
		tap_ok(dp_accounting_group(&charge, g, &group) == DP_OK &&
			   group.epsilon == fixed(csv_text(&csv, "eps_group")) &&
			   agrees_above(wide_of(group.delta), want) &&
			   group.rho == 7 * (dp_fixed) (g * g),
			   "group_privacy eps=%s delta=%s g=%s", csv_text(&csv, "eps"),
			   csv_text(&csv, "delta"), csv_text(&csv, "group"));
	}
	tap_ok(csv.records == 20 && caught > 5,
		   "group_privacy.csv has 20 records");
	{
		dp_charge	charge = {DP_FIXED_ONE * 30, 1, 1000};
		dp_charge	group;

		tap_ok(dp_accounting_group(&charge, 9, &group) == DP_OK &&
			   group.delta == DP_FIXED_ONE, "a hopeless group: delta 1");
		charge.epsilon = DP_FIXED_INFINITE;
		tap_ok(dp_accounting_group(&charge, 2, &group) == DP_OK &&
			   group.delta == DP_FIXED_ONE &&
			   group.epsilon == DP_FIXED_INFINITE && group.rho == 4,
			   "no pure epsilon: only rho is known for a group");
		charge.epsilon = 0;
		tap_ok(dp_accounting_group(&charge, 3, &group) == DP_OK &&
			   group.delta == 3000, "epsilon 0: g delta");
		tap_ok(dp_accounting_group(&charge, 0, &group) == DP_E_RANGE, "g = 0");
	}
}

static void
test_odometer(void)
{
	int			caught = 0;
	csv_file	csv;
	dp_fixed	e;
	dp_fixed	next;

	for (csv_open(&csv, "odometer.csv"); csv_next(&csv);)
	{
		int			j = atoi(csv_text(&csv, "j"));
		dp_fixed	rho = j < 10 ? DP_FIXED_ONE >> (10 - j) :
			DP_FIXED_ONE << (j - 10);
		dp_fixed	delta = fixed(csv_text(&csv, "delta"));
		long double want = csv_number(&csv, "eps_j");
		bool		good;

		good = dp_accounting_odometer_read(rho, delta, &e) == DP_OK &&
			agrees_above(wide_of(e), want) &&
			dp_accounting_odometer_read(rho - 1, delta,
										&next) == DP_OK && next == e &&
			dp_accounting_odometer_read(rho + 1, delta,
										&next) == DP_OK && next > e;
		if (j == 0)
			good = good && dp_accounting_odometer_read(1, delta,
													   &next) == DP_OK &&
				next == e;
		/* without the union over j */
		caught += !agrees_above(wide_of(rho) +
								2 * sqrtl(wide_of(rho) *
										  logl(1 / wide_of(delta))), want);
		tap_ok(good, "odometer delta=%s j=%d", csv_text(&csv, "delta"), j);
	}
	tap_ok(csv.records == 28 && caught == 28,
		   "odometer.csv has 28 records; one delta for all j is caught");
	tap_ok(dp_accounting_odometer_read(0, 1, &e) == DP_OK && e == 0 &&
		   dp_accounting_odometer_read(DP_FIXED_INFINITE, 1,
									   &e) == DP_E_RANGE &&
		   dp_accounting_odometer_read(DP_FIXED_INFINITE - 1, 1, &e) == DP_OK,
		   "corners of the odometer");
}

int
main(void)
{
	test_advanced();
	test_example();
	test_cap();
	test_inverse();
	test_optimal();
	test_concentrated();
	test_round_trip();
	test_group();
	test_odometer();
	return tap_done();
}
