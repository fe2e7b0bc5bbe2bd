/*
 * smalldb_plan.c
 *	  The number of candidates and the expected error, from the universe, the
 *	  queries and alpha.
 *
 * Everything here is about public numbers and may use floating point: a size
 * or bound that is off in its last digit costs accuracy, never privacy.
 */
#include "dp_smalldb.h"

#include <math.h>

/* Base 2 logarithm of the largest useful size. */
#define SIZE_MAX_LOG 40

/* ceil(x) as a size, at least 1. */
static dp_status
ceil_size(double x, uint64_t *size)
{
	if (!(x >= 0) || x > (double) (UINT64_C(1) << SIZE_MAX_LOG))
		return DP_E_OVERFLOW;
	*size = x <= 1 ? 1 : (uint64_t) ceil(x);
	return DP_OK;
}

/*
 * dp_model_smalldb_size
 *	  The number of cells m = ceil(ln |Q| / alpha^2) with which some multiset
 *	  is within alpha of every database on every query.
 *
 * Requires: nothing.
 * Gives:	 DP_OK with *size set; DP_E_RANGE unless queries > 2 and 0 < alpha
 *			 <= 1, DP_E_OVERFLOW above 2^40; *size is then untouched.
 * Source:	 doc/theory.md T67 (book, Lemma 4.3, which needs |Q| > 2).
 */
dp_status
dp_model_smalldb_size(double queries, double alpha, uint64_t *size)
{
	if (!(queries > 2) || !(alpha > 0) || !(alpha <= 1))
		return DP_E_RANGE;
	return ceil_size(log(queries) / (alpha * alpha), size);
}

/* ln of the number of sets that d or fewer of n can form; n >= 1. */
static double
log_sauer(double n, double d)
{
	double		term = 0;
	double		sum = 0;
	double		i;

	if (d >= n)
		return n * M_LN2;
	for (i = 1; i <= d && i <= 100000; i++)
	{
		term += log((n - i + 1) / i);
		sum = sum > term ? sum + log1p(exp(term - sum)) :
			term + log1p(exp(sum - term));
	}
	return sum;
}

/*
 * dp_model_smalldb_size_for_dimension
 *	  The same for any number of queries of a VC dimension: the smaller of
 *	  ln(S(|X|)) / alpha^2, S(n) = sum over i <= d of C(n, i), and the least m
 *	  with m > 8 ln(4 S(2m)) / alpha^2, which does not depend on |X|.
 *
 * Requires: nothing.
 * Gives:	 as dp_model_smalldb_size; DP_E_RANGE also when dimension or cells
 *			 is 0 or dimension is above 100000.
 * Source:	 doc/theory.md T68 (book, Theorem 4.9; Sauer's lemma; Vapnik and
 *			 Chervonenkis 1971).
 */
dp_status
dp_model_smalldb_size_for_dimension(uint64_t cells, uint64_t dimension,
									double alpha, uint64_t *size)
{
	double		d = (double) dimension;
	double		queries;
	double		m = 1;
	double		next;
	int			i;

	if (cells == 0 || dimension == 0 || dimension > 100000 || !(alpha > 0) ||
		!(alpha <= 1))
		return DP_E_RANGE;
	queries = fmax(log_sauer((double) cells, d), log(3));

	/* the right-hand side grows slower than m: iterating goes up to it */
	for (i = 0; i < 200; i++)
	{
		next = floor(8 / (alpha * alpha) *
					 (log(4) + log_sauer(2 * m, d))) + 1;
		if (next <= m)
			break;
		m = next;
	}
	next = ceil(queries / (alpha * alpha));
	return ceil_size(i < 200 ? fmin(next, m) : next, size);
}

/*
 * dp_model_smalldb_log_candidates
 *	  ln C(|X| + m - 1, m): the natural logarithm of the number of multisets.
 *
 * Requires: cells >= 1.
 * Gives:	 the logarithm, within a few units of the last place.
 * Source:	 doc/theory.md T66.
 */
double
dp_model_smalldb_log_candidates(uint64_t cells, uint64_t size)
{
	double		n = (double) cells - 1;
	double		m = (double) size;
	double		few = fmin(n, m);
	double		many = fmax(n, m);
	double		sum = 0;
	double		i;

	/* the difference of large lgamma values would lose digits */
	if (few <= 100000)
	{
		for (i = 1; i <= few; i++)
			sum += log1p(many / i);
		return sum;
	}
	return lgamma(n + m + 1) - lgamma(n + 1) - lgamma(m + 1);
}

/*
 * dp_model_smalldb_net_error
 *	  By how much the chosen candidate's largest error may exceed the best
 *	  candidate's, as a fraction of n, except with probability beta:
 *	  2 (ln |R| + ln(1/beta)) / (epsilon n).
 *
 * Requires: positive n, epsilon, beta < 1.
 * Gives:	 the bound.
 * Source:	 doc/theory.md T67 (book, Theorem 3.11, Proposition 4.4).
 */
double
dp_model_smalldb_net_error(double log_candidates, double n, double epsilon,
						   double beta)
{
	return 2 * (log_candidates - log(beta)) / (epsilon * n);
}

/*
 * dp_model_smalldb_size_error
 *	  The largest error, as a fraction, that the best multiset of m cells can
 *	  have: sqrt(ln(2 |Q|) / (2 m)).
 *
 * Requires: queries >= 1, size >= 1.
 * Gives:	 the bound.
 * Source:	 doc/theory.md T67 (Hoeffding, as in the book's Lemma 4.3).
 */
double
dp_model_smalldb_size_error(double queries, uint64_t size)
{
	return sqrt(log(2 * queries) / (2 * (double) size));
}

/*
 * dp_model_smalldb_size_error_for_dimension
 *	  The same for all queries of a VC dimension together.
 *
 * Requires: cells >= 1, dimension 1 .. 100000, size >= 1.
 * Gives:	 the smaller of the two bounds of T68, solved for alpha.
 * Source:	 doc/theory.md T68.
 */
double
dp_model_smalldb_size_error_for_dimension(uint64_t cells, uint64_t dimension,
										  uint64_t size)
{
	double		d = (double) dimension;
	double		m = (double) size;
	double		finite = fmax(log_sauer((double) cells, d), log(3));
	double		any = 8 * (log(4) + log_sauer(2 * m, d));

	return sqrt(fmin(finite, any) / m);
}

/*
 * dp_model_smalldb_theorem_alpha
 *	  The alpha of the book's Theorem 4.5: ((16 ln |X| ln |Q| + 4 ln(1/beta))
 *	  / (epsilon n))^(1/3).
 *
 * Requires: cells >= 1, queries >= 1, positive n, epsilon, beta < 1.
 * Gives:	 alpha, which may be above 1 and then says nothing.
 * Source:	 doc/theory.md T67 (book, Theorem 4.5).
 */
double
dp_model_smalldb_theorem_alpha(uint64_t cells, double queries, double n,
							   double epsilon, double beta)
{
	return cbrt((16 * log((double) cells) * log(queries) - 4 * log(beta)) /
				(epsilon * n));
}

/* C(n, k), saturating at UINT64_MAX. */
static uint64_t
choose(uint64_t n, uint64_t k)
{
	dp_uint128	c = 1;
	uint64_t	i;

	if (k > n - k)
		k = n - k;
	for (i = 1; i <= k; i++)
	{
		c = c * (n - k + i) / i;
		if (c >= UINT64_MAX)
			return UINT64_MAX;
	}
	return (uint64_t) c;
}

/*
 * dp_model_smalldb_shape_make
 *	  Count the candidates; the caller compares them with the limits in
 *	  dp_smalldb.h.
 *
 * Requires: nothing.
 * Gives:	 DP_OK with *out set, for predicates (one = 1); DP_E_RANGE when a
 *			 number is 0 or above 2^40; *out is then untouched.
 * Source:	 doc/theory.md T66.
 */
dp_status
dp_model_smalldb_shape_make(uint64_t cells, uint64_t queries, uint64_t size,
							dp_smalldb_shape *out)
{
	const uint64_t most = UINT64_C(1) << SIZE_MAX_LOG;

	if (cells == 0 || queries == 0 || size == 0 || cells > most ||
		queries > most || size > most)
		return DP_E_RANGE;
	out->cells = cells;
	out->queries = queries;
	out->size = size;
	out->one = 1;
	out->candidates = choose(cells + size - 1, size);
	return DP_OK;
}
