/*
 * test_model_smalldb_oracle.c
 *	  SmallDB's sizes and accuracy bounds against the oracle's numbers, and
 *	  the sizes for a VC dimension against a search.  Nothing is random.
 */
#include <math.h>

#include "csv.h"
#include "dp_models.h"
#include "dp_numbers.h"
#include "tap.h"

static bool
close_to(double x, double y)
{
	return fabs(x - y) <= 1e-11 * fabs(y);
}

/* The bound of a size, as dp_smalldb_error adds it up. */
static double
bound(uint64_t cells, double queries, double n, double epsilon, uint64_t m)
{
	return dp_models_smalldb_size_error(queries, m) +
		dp_models_smalldb_net_error(dp_models_smalldb_log_candidates(cells, m),
									n, epsilon, .05);
}

static void
test_oracle(void)
{
	csv_file	csv;
	int			alphas = 0;
	int			sizes = 0;
	int			counts = 0;
	int			tuned = 0;

	csv_open(&csv, "smalldb_accuracy.csv");
	while (csv_next(&csv))
	{
		uint64_t	cells = (uint64_t) csv_number(&csv, "X");
		double		queries = (double) csv_number(&csv, "Q");
		double		n = (double) csv_number(&csv, "n");
		double		epsilon = (double) csv_number(&csv, "eps");
		double		alpha = (double) csv_number(&csv, "thm4_5_alpha");
		uint64_t	m;
		uint64_t	best = 1;
		uint64_t	i;

		alphas += close_to(dp_models_smalldb_theorem_alpha(cells, queries, n,
														   epsilon, .05),
						   alpha);

		/* the theorem splits alpha between the net and the choice */
		if (alpha <= 1 &&
			dp_models_smalldb_size(queries, alpha / 2, &m) == DP_OK)
			sizes += m == (uint64_t) csv_number(&csv, "m_of_thm4_5");
		else
			sizes += alpha > 1;
		m = (uint64_t) csv_number(&csv, "m_of_thm4_5");
		counts += close_to(dp_models_smalldb_log_candidates(cells, m) / M_LN10,
						   (double) csv_number(&csv, "log10_R"));
		for (i = 1; i <= 16384; i *= 2)
			if (bound(cells, queries, n, epsilon, i) <
				bound(cells, queries, n, epsilon, best))
				best = i;
		m = (uint64_t) csv_number(&csv, "best_pow2_m");
		tuned += best == m &&
			close_to(bound(cells, queries, n, epsilon, m),
					 (double) csv_number(&csv, "alpha_tuned_replace_one"));
	}
	tap_ok(csv.records >= 20 && alphas == csv.records,
		   "Theorem 4.5: %d of %d alphas", alphas, csv.records);
	tap_ok(sizes == csv.records, "%d of %d sizes", sizes, csv.records);
	tap_ok(counts == csv.records, "%d of %d numbers of candidates", counts,
		   csv.records);
	tap_ok(tuned == csv.records, "%d of %d bounds at the best size", tuned,
		   csv.records);
}

/* ln sum over i <= d of C(n, i), straight. */
static double
log_sum(double n, double d)
{
	long double sum = 1;
	long double term = 1;
	int			i;

	for (i = 1; i <= d && i <= n; i++)
		sum += term *= (n - i + 1) / i;
	return (double) logl(sum);
}

static void
test_dimension(void)
{
	static const uint64_t dimensions[] = {1, 2, 5, 20};
	static const uint64_t universes[] = {2, 16, 1000, 1000000};
	int			right = 0;
	int			u;
	int			v;

	for (u = 0; u < 4; u++)
		for (v = 0; v < 4; v++)
		{
			double		d = (double) dimensions[v];
			double		alpha = .25;
			double		wanted = ceil(fmax(log_sum((double) universes[u], d),
										   log(3)) / (alpha * alpha));
			uint64_t	m;
			double		k;

			for (k = 1; k < 8 / (alpha * alpha) * (log(4) + log_sum(2 * k, d));
				 k++)
				continue;
			if (dp_models_smalldb_size_for_dimension(universes[u],
													 dimensions[v], alpha,
													 &m) == DP_OK)
				right += fabs((double) m - fmin(wanted, k)) <= 1;
		}
	tap_ok(right == 16, "%d of 16 sizes for a VC dimension", right);
}

static void
test_domain(void)
{
	uint64_t	m = 77;

	tap_ok(dp_models_smalldb_size(2, .5, &m) == DP_E_RANGE &&
		   dp_models_smalldb_size(3, 0, &m) == DP_E_RANGE &&
		   dp_models_smalldb_size(3, 1.01, &m) == DP_E_RANGE &&
		   dp_models_smalldb_size(3, NAN, &m) == DP_E_RANGE &&
		   dp_models_smalldb_size(3, 1e-9, &m) == DP_E_OVERFLOW &&
		   dp_models_smalldb_size_for_dimension(0, 1, .5, &m) == DP_E_RANGE &&
		   dp_models_smalldb_size_for_dimension(9, 0, .5, &m) == DP_E_RANGE &&
		   m == 77, "Lemma 4.3 needs |Q| > 2; errors leave outputs alone");
	tap_ok(dp_models_smalldb_size(3, .65, &m) == DP_OK && m == 3,
		   "m is a whole number: ceil(ln 3 / .65^2) = 3");
}

int
main(void)
{
	test_oracle();
	test_dimension();
	test_domain();
	return tap_done();
}
