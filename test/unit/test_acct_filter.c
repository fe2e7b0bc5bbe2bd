/*
 * test_acct_filter.c
 *	  Filters: the oracle's sequences and counts, and the corners.  Random
 *	  adaptive sequences and broken filters: test_acct_filter_adaptive.c.
 *
 * No check is statistical: the false-alarm rate is 0.
 */
#include "acct_support.h"

static const dp_filter all_filters[] = {
	DP_FILTER_BASIC, DP_FILTER_ZCDP, DP_FILTER_BEST, DP_FILTER_ADVANCED
};

#define FILTERS ((int) (sizeof(all_filters) / sizeof(all_filters[0])))

static dp_limit
limit_of(dp_filter filter, dp_fixed epsilon, dp_fixed delta)
{
	dp_limit	limit;

	if (dp_accounting_limit_make(filter, epsilon, delta, &limit) != DP_OK)
	{
		fprintf(stderr, "no limit\n");
		exit(2);
	}
	return limit;
}

/* A pure charge of an epsilon that is a multiple of 1/1000. */
static dp_charge
pure_charge(const char *text)
{
	dp_charge	charge = {0, 0, 0};
	dp_rational e;

	charge.epsilon = fixed(text);
	e = ratio(charge.epsilon, DP_FIXED_ONE);
	if (dp_accounting_rho_from_pure(&e, &charge.rho) != DP_OK)
		exit(2);
	return charge;
}

/* Charges one by one until refused, or `most`. */
static int64_t
admitted(const dp_limit *limit, const dp_charge *charge, int64_t most)
{
	dp_spent	spent = {0};

	while (spent.charges < most &&
		   dp_accounting_limit_admits(limit, &spent, charge))
		if (dp_accounting_spent_add(&spent, charge) != DP_OK)
			exit(2);
	return spent.charges;
}

/*
 * The oracle's delta_budget is d', the part for the conversion: the grant's
 * whole delta is twice that.
 */
static void
test_max_calls(void)
{
	static const char *const column[] = {
		"basic", "zcdp_rational", "or_filter", "whitehouse"
	};
	const dp_spent none = {0};
	csv_file	csv;

	for (csv_open(&csv, "filter_max_calls.csv"); csv_next(&csv);)
	{
		dp_fixed	epsilon = fixed(csv_text(&csv, "eps_budget"));
		dp_fixed	delta = fixed(csv_text(&csv, "delta_budget"));
		dp_charge	charge = pure_charge(csv_text(&csv, "eps_each"));
		dp_charge	half = charge;
		dp_limit	limit;
		dp_rational e = ratio(charge.epsilon, DP_FIXED_ONE);
		bool		good = true;
		int			i;

		for (i = 0; i < FILTERS; i++)
		{
			int64_t		want = strtoll(csv_text(&csv, column[i]), NULL, 10);

			limit = limit_of(all_filters[i], epsilon, 2 * delta);
			good = good &&
				dp_accounting_limit_calls(&limit, &none, &charge) == want &&
				admitted(&limit, &charge, 100000) == want;
		}
		/* rho = eps^2/2, the looser conversion */
		limit = limit_of(DP_FILTER_ZCDP, epsilon, 2 * delta);
		half.rho = (dp_fixed) (e.num * e.num * (DP_FIXED_ONE /
												(2 * e.den * e.den)));
		good = good && dp_accounting_limit_calls(&limit, &none, &half) ==
			strtoll(csv_text(&csv, "zcdp_half_eps2"), NULL, 10);
		tap_ok(good, "filter_max_calls E=%s d'=%s eps=%s",
			   csv_text(&csv, "eps_budget"), csv_text(&csv, "delta_budget"),
			   csv_text(&csv, "eps_each"));
	}
	tap_ok(csv.records == 36, "filter_max_calls.csv has 36 records");
}

/* The n-th charge of the oracle's sequence names. */
static const char *
sequence_step(const char *name, int n)
{
	static const char *const cycle3[] = {"0.05", "0.1", "0.2"};
	static const char *const cycle2[] = {"0.01", "0.5"};

	if (strncmp(name, "const", 5) == 0)
		return name + 5;
	if (strcmp(name, "cycle0.05_0.1_0.2") == 0)
		return cycle3[n % 3];
	if (strcmp(name, "cycle0.01_0.5") == 0)
		return cycle2[n % 2];
	fprintf(stderr, "unknown sequence %s\n", name);
	exit(2);
}

static void
test_sequences(void)
{
	const dp_spent none = {0};
	csv_file	csv;

	for (csv_open(&csv, "filters.csv"); csv_next(&csv);)
	{
		const char *name = csv_text(&csv, "sequence");
		int			n = atoi(csv_text(&csv, "n"));
		dp_fixed	delta = fixed(csv_text(&csv, "delta_prime"));
		dp_spent	spent = {0};
		dp_charge	sum = {0, 0, 0};
		dp_fixed	ulp;
		dp_fixed	half;
		dp_fixed	loss;
		dp_limit	limit;
		bool		good;
		int			i;

		for (i = 0; i < n; i++)
		{
			dp_charge	charge = pure_charge(sequence_step(name, i));

			if (dp_accounting_spent_add(&spent, &charge) != DP_OK ||
				dp_accounting_charge_add(&sum, &charge) != DP_OK)
				exit(2);
		}
		good = spent.epsilon == fixed(csv_text(&csv, "basic_sum_eps")) &&
			spent.charges == n && sum.epsilon == spent.epsilon &&
			sum.rho == spent.rho;
		half = fixed_text(csv_text(&csv, "sum_half_eps2"), &ulp);
		good = good && spent.rho <= half + ulp;
		loss = fixed_text(csv_text(&csv, "sum_eps_tanh"), &ulp);
		good = good && spent.rho + ulp > loss &&
			spent.rho - loss <= loss / 5000 + ulp;

		/* a budget a little above the oracle's epsilon admits, below not */
		sum.epsilon = DP_FIXED_INFINITE;
		sum.rho = half;
		loss = fixed(csv_text(&csv, "zcdp_eps_from_half_eps2"));
		for (i = 1; i < 3; i++)
		{
			limit = limit_of(all_filters[i], loss + loss / 1000000, 2 * delta);
			good = good && dp_accounting_limit_admits(&limit, &none, &sum);
			limit = limit_of(all_filters[i], loss - loss / 1000000, 2 * delta);
			good = good && !dp_accounting_limit_admits(&limit, &none, &sum);
		}

		/* likewise the advanced filter; the grid rounds squares up */
		good = good && spent.squares >= 2 * half - 2 * ulp &&
			spent.squares <= 2 * half + 2 * ulp + (dp_fixed) n;
		loss = fixed(csv_text(&csv, "whitehouse_lhs"));
		limit = limit_of(DP_FILTER_ADVANCED, loss + loss / 1000000000000ULL,
						 2 * delta);
		good = good && dp_accounting_limit_holds(&limit, &spent);
		limit = limit_of(DP_FILTER_ADVANCED, loss - loss / 1000000000000ULL,
						 2 * delta);
		good = good && !dp_accounting_limit_holds(&limit, &spent);
		tap_ok(good, "filters %s d'=%s n=%d", name,
			   csv_text(&csv, "delta_prime"), n);
	}
	tap_ok(csv.records == 90, "filters.csv has 90 records");
}

static void
test_specification(void)
{
	dp_limit	limit;
	dp_charge	tenth = pure_charge("0.1");
	dp_charge	hundredth = pure_charge("0.01");
	dp_spent	spent = {0};
	int			i;

	limit = limit_of(DP_FILTER_BASIC, fixed("0.3"), 0);
	tap_ok(admitted(&limit, &tenth, 100) == 3, "0.1 three times in 0.3");
	limit.epsilon--;
	tap_ok(admitted(&limit, &tenth, 100) == 2, "and twice in a unit less");

	limit = limit_of(DP_FILTER_BEST, fixed("1"), fixed("1e-6"));
	tap_ok(admitted(&limit, &hundredth, 1000) == 458,
		   "best (1, 1e-6) halves its delta: 458 calls of 0.01");
	limit = limit_of(DP_FILTER_BEST, fixed("1"), fixed("2e-6"));
	tap_ok(admitted(&limit, &hundredth, 1000) == 487 &&
		   admitted(&limit, &tenth, 1000) == 10,
		   "best with d' = 1e-6: 487 calls of 0.01, 10 of 0.1");

	/* after the clause on epsilon failed, the one on rho still stands */
	for (i = 0; i < 200; i++)
		(void) dp_accounting_spent_add(&spent, &hundredth);
	tap_ok(dp_accounting_limit_calls(&limit, &spent, &hundredth) == 287,
		   "200 of 487 spent: 287 left");
	tap_ok(dp_accounting_limit_calls(&limit, &spent, &tenth) == 2,
		   "a large charge must then fit rho");
	hundredth.epsilon = DP_FIXED_INFINITE;
	tap_ok(dp_accounting_limit_calls(&limit, &spent, &hundredth) == 287,
		   "a charge without pure epsilon is judged by rho");
	limit.filter = DP_FILTER_BASIC;
	tap_ok(dp_accounting_limit_calls(&limit, &spent, &hundredth) == 0 &&
		   !dp_accounting_limit_admits(&limit, &spent, &hundredth),
		   "and never admitted by basic");
	limit.filter = (dp_filter) 77;
	tap_ok(!dp_accounting_limit_admits(&limit, &(dp_spent) {0}, &tenth) &&
		   dp_accounting_limit_calls(&limit, &(dp_spent) {0}, &tenth) == 0,
		   "an unknown filter admits nothing");
}

static void
test_limits(void)
{
	const dp_fixed one = DP_FIXED_ONE;
	dp_limit	limit;
	dp_limit	keep;
	dp_filter	filter = DP_FILTER_ZCDP;
	dp_charge	tiny = {1, 0, 0};
	dp_spent	none = {0};
	int			i;

	memset(&keep, 0x5a, sizeof(keep));
	memcpy(&limit, &keep, sizeof(limit));
	for (i = 0; i < FILTERS; i++)
	{
		dp_filter	f = all_filters[i];

		tap_ok(dp_accounting_limit_make(f, 0, 1000, &limit) == DP_E_RANGE &&
			   dp_accounting_limit_make(f, DP_FIXED_INFINITE, 1000, &limit) ==
			   DP_E_RANGE &&
			   dp_accounting_limit_make(f, one, one, &limit) == DP_E_RANGE &&
			   memcmp(&limit, &keep, sizeof(limit)) == 0,
			   "%s: epsilon 0 or infinite, delta 1",
			   dp_accounting_filter_name(f));
	}
	tap_ok(dp_accounting_limit_make((dp_filter) 9, one, 1000,
									&limit) == DP_E_RANGE,
		   "an unknown filter has no limit");

	limit = limit_of(DP_FILTER_BASIC, one, fixed("1e-6"));
	tap_ok(limit.delta_sum == fixed("1e-6") && limit.delta_conversion == 0 &&
		   limit.rho == 0, "basic keeps the whole delta for charges");
	limit = limit_of(DP_FILTER_BEST, one, 1001);
	tap_ok(limit.delta_conversion == 500 && limit.delta_sum == 501 &&
		   limit.delta == 1001, "an odd delta is split without loss");
	limit = limit_of(DP_FILTER_ZCDP, one, fixed("2e-6"));
	tap_ok(limit.rho > 0 &&
		   dp_accounting_rho_certified(limit.epsilon, limit.delta_conversion,
									   limit.rho, limit.alpha),
		   "a zcdp limit holds a proof");

	limit = limit_of(DP_FILTER_BEST, one, 0);
	tap_ok(limit.rho == 0 && limit.delta_sum == 0 &&
		   dp_accounting_limit_calls(&limit, &none, &tiny) == INT64_MAX &&
		   !dp_accounting_limit_admits(&limit, &none,
									   &(dp_charge) {DP_FIXED_INFINITE, 0, 0}),
		   "best with delta 0 is basic, also for rho 0 without epsilon");
	tap_ok(dp_accounting_limit_make(DP_FILTER_ZCDP, one, 0,
									&limit) == DP_E_RANGE &&
		   dp_accounting_limit_make(DP_FILTER_ZCDP, one, 1,
									&limit) == DP_E_RANGE,
		   "zcdp without a delta to convert with is refused");

	for (i = 0; i < FILTERS; i++)
		tap_ok(dp_accounting_filter_parse(
				dp_accounting_filter_name(all_filters[i]),
										  &filter) && filter == all_filters[i],
			   "name of %s", dp_accounting_filter_name(all_filters[i]));
	filter = DP_FILTER_ZCDP;
	tap_ok(!dp_accounting_filter_parse("", &filter) &&
		   !dp_accounting_filter_parse("Best", &filter) &&
		   !dp_accounting_filter_parse("basic ", &filter) &&
		   !dp_accounting_filter_parse("Advanced", &filter) &&
		   filter == DP_FILTER_ZCDP, "other names are refused");
	tap_ok(strcmp(dp_accounting_filter_name((dp_filter) 4), "unknown") == 0 &&
		   strcmp(dp_accounting_filter_name((dp_filter) -1), "unknown") == 0,
		   "no name outside the enumeration");
}

/*
 * The advanced filter on charges that are multiples of 10^-6, whose squares
 * are exact: an adaptive sequence is admitted exactly as long as the sum of
 * squares is within the bound, and calls agrees with trying.
 */
static void
test_advanced(void)
{
	const dp_fixed micro = DP_FIXED_ONE / 1000000;
	const dp_fixed pico = micro / 1000000;
	dp_limit	limit = limit_of(DP_FILTER_ADVANCED, fixed("1"),
								 fixed("2e-6"));
	uint64_t	state = 12345;
	bool		good = true;
	dp_charge	impure = {DP_FIXED_INFINITE, 1, 0};
	dp_charge	tenth = pure_charge("0.1");
	dp_spent	spent = {0};
	int			round;

	for (round = 0; round < 2000; round++)
	{
		dp_uint128	squares = 0;
		int			step;

		memset(&spent, 0, sizeof(spent));
		for (step = 0; step < 60; step++)
		{
			dp_charge	charge = {0, 0, 0};
			uint64_t	e;
			bool		admits;

			state = state * UINT64_C(6364136223846793005) +
				UINT64_C(1442695040888963407);
			e = (state >> 33) % 90000;
			charge.epsilon = e * micro;
			admits = (squares + (dp_uint128) e * e) * pico <= limit.squares;
			good = good && admits ==
				dp_accounting_limit_admits(&limit, &spent, &charge) &&
				(dp_accounting_limit_calls(&limit, &spent,
										   &charge) > 0) == admits;
			if (!admits)
				continue;
			squares += (dp_uint128) e * e;
			if (dp_accounting_spent_add(&spent, &charge) != DP_OK)
				exit(2);
			good = good && spent.squares == squares * pico;
		}
	}
	tap_ok(good, "advanced: adaptive sequences by exact sums of squares");

	memset(&spent, 0, sizeof(spent));
	tap_ok(!dp_accounting_limit_admits(&limit, &spent, &impure) &&
		   dp_accounting_limit_calls(&limit, &spent, &impure) == 0,
		   "advanced refuses a charge without pure epsilon");
	(void) dp_accounting_spent_add(&spent, &impure);
	tap_ok(spent.squares == DP_FIXED_INFINITE &&
		   !dp_accounting_limit_admits(&limit, &spent, &tenth),
		   "and everything after one that another filter admitted");
	memset(&spent, 0, sizeof(spent));
	spent.delta = limit.delta_sum;
	tap_ok(dp_accounting_limit_admits(&limit, &spent, &tenth) &&
		   (tenth.delta = 1) &&
		   !dp_accounting_limit_admits(&limit, &spent, &tenth),
		   "advanced bounds the sum of deltas by its half");
	tap_ok(dp_accounting_limit_make(DP_FILTER_ADVANCED, DP_FIXED_ONE, 0,
									&limit) ==
		   DP_E_RANGE &&
		   dp_accounting_limit_make(DP_FILTER_ADVANCED, DP_FIXED_ONE, 1,
									&limit) ==
		   DP_E_RANGE, "advanced without a delta to convert with is refused");
}

static void
test_overflow(void)
{
	const dp_fixed top = DP_FIXED_INFINITE - 1;
	dp_charge	large = {top, top, top};
	dp_charge	unit = {1, 1, 1};
	dp_charge	no_epsilon = {DP_FIXED_INFINITE, 1, 1};
	dp_charge	nothing = {0, 0, 0};
	dp_charge	sum = large;
	dp_spent	spent = {top, top, top, 5, top};
	dp_spent	kept;
	int			i;

	tap_ok(dp_accounting_charge_add(&sum, &unit) == DP_E_OVERFLOW &&
		   sum.epsilon == top && sum.rho == top && sum.delta == top,
		   "a composed charge that does not fit is refused, untouched");
	sum = unit;
	tap_ok(dp_accounting_charge_add(&sum, &no_epsilon) == DP_OK &&
		   sum.epsilon == DP_FIXED_INFINITE && sum.rho == 2 && sum.delta == 2,
		   "one part without epsilon, the whole without");

	tap_ok(dp_accounting_spent_add(&spent, &unit) == DP_OK &&
		   spent.epsilon == DP_FIXED_INFINITE &&
		   spent.rho == DP_FIXED_INFINITE &&
		   spent.delta == DP_FIXED_INFINITE &&
		   spent.squares == DP_FIXED_INFINITE && spent.charges == 6,
		   "spending saturates");
	for (i = 0; i < FILTERS; i++)
	{
		dp_limit	limit = {all_filters[i], DP_FIXED_INFINITE,
			DP_FIXED_INFINITE, 1, DP_FIXED_INFINITE, DP_FIXED_INFINITE, 1,
			DP_FIXED_INFINITE};

		tap_ok(!dp_accounting_limit_admits(&limit, &spent, &nothing) &&
			   dp_accounting_limit_calls(&limit, &spent, &nothing) == 0,
			   "%s: saturated sums refuse, whatever the limit",
			   dp_accounting_filter_name(all_filters[i]));
	}
	spent.charges = INT64_MAX;
	memcpy(&kept, &spent, sizeof(kept));
	tap_ok(dp_accounting_spent_add(&spent, &unit) == DP_E_OVERFLOW &&
		   memcmp(&spent, &kept, sizeof(kept)) == 0,
		   "too many charges: untouched");
	spent.charges = -1;
	tap_ok(dp_accounting_spent_add(&spent, &unit) == DP_E_RANGE &&
		   spent.charges == -1, "a negative number of charges");
}

int
main(void)
{
	test_max_calls();
	test_sequences();
	test_specification();
	test_limits();
	test_advanced();
	test_overflow();
	return tap_done();
}
