/*
 * test_acct_gaussian.c
 *	  Discrete Gaussian: exact delta against every row of the oracle, and the
 *	  variances that are asked for; the continuous formula must be caught.
 *
 * No check is statistical: the false-alarm rate is 0.
 */
#include "acct_oracle.h"

static long double
variance_of(const dp_rational *v)
{
	return (long double) v->num / (long double) v->den;
}

/*
 * Rows of the oracle whose sums were cut off too early (they lie below the
 * truth, by up to 8%): the values with 60 digits and 4000 terms (mpmath).
 */
static const struct
{
	const char *variance;
	const char *sensitivity;
	const char *epsilon;
	const char *delta;
}			corrected[] = {
	{"25", "1", "4", "2.30521448810069244e-90"},
	{"100", "1", "2", "4.15907616068889059e-91"},
	{"100", "1", "4", "7.70729378306109227e-352"},
	{"100", "2", "4", "1.45443330119401258e-90"},
	{"400", "1", "1", "1.17246404914107789e-91"},
	{"400", "1", "2", "1.38603435644776429e-352"},
	{"400", "1", "4", "4.76489627733900705e-1395"},
	{"400", "2", "2", "3.42216940393061951e-91"},
	{"400", "2", "4", "4.87412549009665417e-352"}
};

#define CORRECTED ((int) (sizeof(corrected) / sizeof(corrected[0])))

static void
test_exact_delta(void)
{
	int			replaced = 0;
	int			i;
	int			continuous = 0;
	int			from_rho = 0;
	csv_file	csv;

	for (csv_open(&csv, "discrete_gaussian_delta.csv"); csv_next(&csv);)
	{
		unsigned long long num;
		unsigned long long den;
		dp_rational v;
		dp_decimal	have;
		dp_fixed	rho;
		uint64_t	d = strtoull(csv_text(&csv, "Delta"), NULL, 10);
		dp_fixed	e = fixed(csv_text(&csv, "eps"));
		const char *want = csv_text(&csv, "delta_discrete_exact");
		bool		good;

		for (i = 0; i < CORRECTED; i++)
			if (strcmp(corrected[i].variance, csv_text(&csv, "sigma2")) == 0 &&
				strcmp(corrected[i].sensitivity, csv_text(&csv, "Delta")) ==
				0 && strcmp(corrected[i].epsilon, csv_text(&csv, "eps")) == 0)
			{
				replaced += log_of_text(want) <
					log_of_text(corrected[i].delta) - 1e-12L;
				want = corrected[i].delta;
			}
		csv_fraction(&csv, "sigma2", &num, &den);
		v = ratio(num, den);
		good = dp_accounting_delta_of_gaussian(d, &v, e, &have) == DP_OK &&
			agrees_log(&have, want);
		continuous +=
			fabsl(log_of_text(csv_text(&csv, "delta_continuous_analytic")) -
				  log_of_text(want)) > 1e-12L;
		good = good && dp_accounting_rho_from_gaussian(d, &v, &rho) == DP_OK &&
			dp_accounting_delta_of_zcdp(rho, e, &have) == DP_OK &&
			agrees_log(&have, csv_text(&csv, "delta_from_rho_tight"));
		from_rho += log_of_decimal(&have) < log_of_text(want);
		tap_ok(good, "discrete_gaussian_delta sigma2=%s Delta=%s eps=%s",
			   csv_text(&csv, "sigma2"), csv_text(&csv, "Delta"),
			   csv_text(&csv, "eps"));
	}
	tap_ok(csv.records == 90 && continuous == 90 && from_rho == 0 &&
		   replaced == CORRECTED,
		   "discrete_gaussian_delta.csv has 90 records; the continuous "
		   "formula is caught in %d; rho never claims less", continuous);
}

/* The definition, sum of (p(x) - e^eps p(x + D))_+, in long double. */
static long double
by_definition(long double v, int d, long double e)
{
	long double sum = 0;
	long double norm = 0;
	int			n = (int) (40 * sqrtl(v)) + 40 + d;
	int			x;

	for (x = -n; x <= n; x++)
	{
		long double p = expl(-(long double) x * x / (2 * v));
		long double q = expl(e - (long double) (x + d) * (x + d) / (2 * v));

		norm += p;
		if (p > q)
			sum += p - q;
	}
	return sum / norm;
}

static void
test_definition(void)
{
	static const dp_rational variances[] = {
		{1, 100}, {1, 4}, {1, 2}, {3, 1}, {17, 3}, {1000, 7}, {90000, 1}
	};
	int			bad = 0;
	int			cases = 0;
	int			monotone = 0;
	size_t		i;
	int			d;
	int			k;

	for (i = 0; i < sizeof(variances) / sizeof(variances[0]); i++)
		for (k = 0; k < 4; k++)
		{
			long double e = 0.375L * k;
			dp_decimal	before = {1, -100000};

			for (d = 1; d < 40; d += d < 4 ? 1 : 12)
			{
				dp_decimal	have;
				long double want;

				if (dp_accounting_delta_of_gaussian((uint64_t) d,
													&variances[i],
													(dp_fixed) (e * 1e24L),
													&have) !=
					DP_OK)
					exit(2);
				want = by_definition(variance_of(&variances[i]), d, e);
				cases++;
				/* cancellation costs the definition digits, not the code */
				if (want > 1e-7L)
					bad += fabsl(log_of_decimal(&have) - logl(want)) >
						1e-11L;
				monotone += log_of_decimal(&have) <
					log_of_decimal(&before) - 1e-13L;
				before = have;
			}
		}
	tap_ok(bad == 0 && cases > 150,
		   "exact delta by definition, %d cases (%d bad)", cases, bad);
	tap_ok(monotone == 0, "delta grows with the sensitivity");
}

/* Delta as the sum of all its terms, none in blocks. */
static long double
by_terms(long double v, long double d, long double e)
{
	long double t = e * v / d - d / 2;
	long double low = floorl(-14 * sqrtl(v));
	long double x = floorl(t) + 1 > low ? floorl(t) + 1 : low;
	long double end = (t > 0 ? t : 0) + 14 * sqrtl(v);
	long double sum = 0;

	for (; x < end; x++)
		sum += expl(-x * x / (2 * v)) * -expm1l(-(x - t) * d / v);
	return sum / sqrtl(6.283185307179586477L * v);
}

/*
 * The search for a variance, and its delta, against sums of all terms: never
 * below, and above by the relative 2 10^-4 that blocks may add.
 */
static void
test_block_search(void)
{
	static const long double epsilons[] = {1e-4L, 0.01L, 0.3L, 1, 5};
	static const long double deltas[] = {0.2L, 1e-3L, 1e-6L, 1e-12L, 1e-20L};
	long double most = 0;
	int			bad = 0;
	int			i;

	for (i = 0; i < 25; i++)
	{
		dp_fixed	e = (dp_fixed) (epsilons[i / 5] * 1e24L);
		dp_fixed	d = (dp_fixed) (deltas[i % 5] * 1e24L);
		long double sigma = 1030 + 97 * i;
		uint64_t	moved = UINT64_C(1) << 20;
		dp_rational v;
		dp_decimal	have;
		long double over;

		/* the sensitivity at which sigma is near what is wanted */
		if (dp_accounting_variance_exact(moved, e, d, &v) != DP_OK)
			exit(2);
		moved = (uint64_t) (sigma * moved / sqrtl(variance_of(&v))) + 1;
		if (dp_accounting_variance_exact(moved, e, d, &v) != DP_OK ||
			dp_accounting_delta_of_gaussian(moved, &v, e, &have) != DP_OK)
			exit(2);
		over = log_of_decimal(&have) -
			logl(by_terms(variance_of(&v), moved, wide_of(e)));
		bad += over < -1e-14L || log_of_decimal(&have) > logl(wide_of(d));
		most = fmaxl(most, over);
		/* a variance below by 10^-4 is not enough */
		bad += by_terms(variance_of(&v) * (1 - 1e-4L), moved, wide_of(e)) <
			wide_of(d);
	}
	tap_ok(bad == 0 && most < 2e-4L,
		   "searches in blocks against all terms: %d bad, delta above by a "
		   "relative %.1Le at most", bad, most);
}

/* Blocks: scaling everything changes delta by O(1/sigma) only, upwards. */
static void
test_blocks(void)
{
	const dp_rational small = {90000, 1};
	dp_rational large = {0, 1};
	dp_decimal	a;
	dp_decimal	b;
	long double excess;

	large.num = (dp_uint128) 90000 << 60;
	if (dp_accounting_delta_of_gaussian(300, &small, fixed("1"),
										&a) != DP_OK ||
		dp_accounting_delta_of_gaussian(UINT64_C(300) << 30, &large,
										fixed("1"), &b)
		!= DP_OK)
		exit(2);
	/* continuous: Q(1/2) - e Q(3/2) = 0.126936737506645 */
	excess = log_of_decimal(&b) - logl(0.12693673750664394L);
	tap_ok(excess >= -1e-15L && excess < 2e-4L,
		   "blocks stay above, by a relative %.1Le", excess);
	tap_ok(fabsl(log_of_decimal(&a) - logl(0.12693673750664394L)) < 1e-4L,
		   "sigma 300 is near the continuous law");
}

static void
test_variances(void)
{
	int			classical = 0;
	csv_file	csv;

	for (csv_open(&csv, "analytic_gaussian.csv"); csv_next(&csv);)
	{
		dp_fixed	e = fixed(csv_text(&csv, "eps"));
		dp_fixed	d = fixed(csv_text(&csv, "delta"));
		long double sigma = csv_number(&csv, "sigma_thm3_22");
		bool		valid = e <= DP_FIXED_ONE;	/* Theorem 3.22's domain */
		dp_rational v;
		dp_rational z;
		dp_decimal	delta;
		dp_fixed	rho;
		dp_fixed	got;
		dp_status	status;
		bool		good;

		status = dp_accounting_variance_classical(1, e, d, &v);
		classical += valid;
		good = valid ? status == DP_OK &&
			agrees_above(sqrtl(variance_of(&v)), sigma) :
			status == DP_E_RANGE;
		good = good &&
			dp_accounting_variance_zcdp(1, e, d, &z) == DP_OK &&
			agrees_above(sqrtl(variance_of(&z)),
						 csv_number(&csv, "sigma_from_zcdp_tight")) &&
			dp_accounting_rho_from_gaussian(1, &z, &rho) == DP_OK &&
			dp_accounting_epsilon_of_zcdp(rho, d, &got) == DP_OK &&
			wide_of(got) <= wide_of(e) * (1 + 1e-15L);

		/* exact: proved, the next smaller not, near the analytic sigma */
		good = good &&
			dp_accounting_variance_exact(1, e, d, &v) == DP_OK &&
			dp_accounting_delta_of_gaussian(1, &v, e, &delta) == DP_OK &&
			log_of_decimal(&delta) <= logl(wide_of(d)) &&
			variance_of(&v) <= variance_of(&z) * (1 + 0x1p-18L);
		if (good)
		{
			dp_rational less = v;

			/* scale m to 20 bits, then one less */
			while (less.num >> 19 == 0)
			{
				less.num <<= 1;
				less.den <<= 1;
			}
			less.num--;
			less = ratio(less.num, less.den);
			good = dp_accounting_delta_of_gaussian(1, &less, e,
												   &delta) == DP_OK &&
				log_of_decimal(&delta) > logl(wide_of(d));
		}
		if (good && csv_number(&csv, "sigma_analytic") > 4)
			good = fabsl(sqrtl(variance_of(&v)) /
						 csv_number(&csv, "sigma_analytic") - 1) < 1e-2L;
		tap_ok(good, "variances eps=%s delta=%s (exact sigma %.6Lf, "
			   "continuous %s)", csv_text(&csv, "eps"),
			   csv_text(&csv, "delta"), sqrtl(variance_of(&v)),
			   csv_text(&csv, "sigma_analytic"));
	}
	tap_ok(csv.records == 36 && classical >= 16 && classical < 36,
		   "analytic_gaussian.csv has 36 records, Theorem 3.22 holds in %d",
		   classical);
}

static void
test_domains(void)
{
	const dp_rational zero = {0, 1};
	const dp_rational tiny = {1, 100000};
	const dp_rational one = {1, 1};
	dp_rational v = {5, 1};
	dp_decimal	d = {5, 5};
	dp_fixed	rho = 5;
	bool		good;

	tap_ok(dp_accounting_delta_of_gaussian(0, &one, 0, &d) == DP_E_RANGE &&
		   dp_accounting_delta_of_gaussian(1, &zero, 0, &d) == DP_E_RANGE &&
		   dp_accounting_delta_of_gaussian(1, &tiny, 0, &d) == DP_E_RANGE &&
		   dp_accounting_delta_of_gaussian(1, &one, DP_FIXED_INFINITE, &d) ==
		   DP_E_RANGE &&
		   dp_accounting_rho_from_gaussian(1, &zero, &rho) == DP_E_RANGE &&
		   dp_accounting_variance_zcdp(0, 1, 1, &v) == DP_E_RANGE &&
		   dp_accounting_variance_zcdp(1, DP_FIXED_ONE, DP_FIXED_ONE, &v)
		   == DP_E_RANGE &&
		   dp_accounting_variance_classical(1, DP_FIXED_ONE + 1, 1000, &v)
		   == DP_E_RANGE &&
		   dp_accounting_variance_classical(1, 0, 1000, &v) == DP_E_RANGE,
		   "domains");
	tap_ok(v.num == 5 && d.digits == 5 && rho == 5, "outputs untouched");
	tap_ok(dp_accounting_rho_from_gaussian(3, &(dp_rational) {7, 2}, &rho) ==
		   DP_OK && rho == wide("1285714285714285714285715"),
		   "rho of a variance is an exact ceiling");
	good = dp_accounting_variance_exact(UINT64_C(1) << 20, DP_FIXED_ONE,
										fixed("1e-6"), &v) == DP_OK;
	tap_ok(good && sqrtl(variance_of(&v)) / 1048576 > 4.2246L &&
		   sqrtl(variance_of(&v)) / 1048576 < 4.2256L,
		   "a sensitivity of 2^20 granules: sigma %.6Lf",
		   sqrtl(variance_of(&v)) / 1048576);
}

int
main(void)
{
	test_exact_delta();
	test_definition();
	test_blocks();
	test_block_search();
	test_variances();
	test_domains();
	return tap_done();
}
