/*
 * iterate_median.c
 *	  The median mechanism as a database update algorithm: candidates are all
 *	  multisets of `size` cells, a query's guess is the median answer of those
 *	  that are left, and an update removes those on the wrong side of it, at
 *	  least half of them.
 *
 * All of it is about public numbers.  A candidate's answer is a number of
 * granules, size * one of which are all rows.
 */
#include <math.h>
#include <string.h>

#include "dp_iterate.h"

/*
 * dp_model_iterate_candidates
 *	  C(cells + size - 1, size), or INT64_MAX when above
 *	  DP_ITERATE_CANDIDATES.
 *
 * Requires: cells, size >= 1.
 * Gives:	 the number.
 * Source:	 doc/theory.md T127.
 */
int64_t
dp_model_iterate_candidates(int64_t cells, int64_t size)
{
	dp_uint128	found = 1;
	int64_t		i;

	for (i = 1; i <= size && cells > 1; i++)
	{
		found = found * (dp_uint128) (cells + i - 1) / (dp_uint128) i;
		if (found > (dp_uint128) DP_ITERATE_CANDIDATES)
			return INT64_MAX;
	}
	return (int64_t) found;
}

/* The next multiset, cells ascending; false after the last. */
static bool
next_multiset(int64_t *cells, int64_t size, int64_t n)
{
	int64_t		i = size - 1;
	int64_t		j;

	while (i >= 0 && cells[i] == n - 1)
		i--;
	if (i < 0)
		return false;
	cells[i]++;
	for (j = i + 1; j < size; j++)
		cells[j] = cells[i];
	return true;
}

static int32_t
answer_of(const dp_iterate_terms *t, const int32_t *weights,
		  const int64_t *cells)
{
	int32_t		sum = 0;
	int64_t		i;

	for (i = 0; i < t->size; i++)
		sum += weights[cells[i]];
	return sum;
}

/*
 * dp_model_iterate_median_begin
 *	  All candidates, and their answers.
 *
 * Requires: size <= DP_ITERATE_SIZE, candidates and answers within the limits;
 *			 size * one fits 32 bits.
 * Gives:	 *out, which dp_model_iterate_median_end frees.
 * Source:	 doc/theory.md T127.
 */
void
dp_model_iterate_median_begin(const dp_host *host,
							  const dp_iterate_terms *terms,
							  const int32_t *weights, dp_iterate_median *out)
{
	int64_t		cells[DP_ITERATE_SIZE] = {0};
	int64_t		query;
	int64_t		i = 0;

	out->answers = host->allocate(host->state, sizeof(int32_t) *
								  (size_t) (terms->candidates *
											terms->queries));
	out->left = host->allocate(host->state, sizeof(int32_t) *
							   (size_t) terms->candidates);
	out->values = host->allocate(host->state, sizeof(int32_t) *
								 (size_t) terms->candidates);
	out->median = host->allocate(host->state, sizeof(int64_t) *
								 (size_t) terms->queries);
	do
	{
		for (query = 0; query < terms->queries; query++)
			out->answers[query * terms->candidates + i] =
				answer_of(terms, weights + query * terms->cells, cells);
		out->left[i] = (int32_t) i;
		i++;
	} while (next_multiset(cells, terms->size, terms->cells));
	out->n = i;
}

/* The k-th smallest of n values, from 0; they are moved. */
static int32_t
select_value(int32_t *values, int64_t n, int64_t k)
{
	int64_t		low = 0;
	int64_t		high = n - 1;

	while (low < high)
	{
		int32_t		pivot = values[low + (high - low) / 2];
		int64_t		i = low - 1;
		int64_t		j = high + 1;

		for (;;)
		{
			int32_t		swap;

			while (values[++i] < pivot)
				;
			while (values[--j] > pivot)
				;
			if (i >= j)
				break;
			swap = values[i];
			values[i] = values[j];
			values[j] = swap;
		}
		if (k <= j)
			high = j;
		else
			low = j + 1;
	}
	return values[k];
}

/* The lower median of a query's answers. */
static int64_t
median_of(const dp_iterate_terms *t, dp_iterate_median *m, int64_t query)
{
	const int32_t *answers = m->answers + query * t->candidates;
	int64_t		i;

	for (i = 0; i < m->n; i++)
		m->values[i] = answers[m->left[i]];
	return select_value(m->values, m->n, (m->n - 1) / 2);
}

/*
 * dp_model_iterate_median_guess
 *	  What the medians say of each query, in rows.
 *
 * Requires: m begun, with candidates left.
 * Gives:	 guesses, rounded to the nearest.
 * Source:	 doc/theory.md T127.
 */
void
dp_model_iterate_median_guess(const dp_iterate_terms *terms,
							  dp_iterate_median *m, int64_t *guesses)
{
	dp_int128	whole = (dp_int128) terms->size * terms->one;
	int64_t		query;

	for (query = 0; query < terms->queries; query++)
	{
		m->median[query] = median_of(terms, m, query);
		guesses[query] = (int64_t) ((2 * (dp_int128) m->median[query] *
									 terms->n + whole) / (2 * whole));
	}
}

/*
 * dp_model_iterate_median_learn
 *	  Remove those whose answer is the median or beyond it: above it when the
 *	  database's answer is `lower`, else below.
 *
 * Requires: the guess that the step was made with is the last one.
 * Gives:	 false when that would leave none; they are then all kept.
 * Source:	 doc/theory.md T127.
 */
bool
dp_model_iterate_median_learn(const dp_iterate_terms *terms,
							  dp_iterate_median *m, int64_t query, bool lower)
{
	const int32_t *answers = m->answers + query * terms->candidates;
	int64_t		kept = 0;
	int64_t		i;

	for (i = 0; i < m->n; i++)
	{
		int64_t		answer = answers[m->left[i]];

		if (lower ? answer < m->median[query] : answer > m->median[query])
			m->values[kept++] = m->left[i];
	}
	if (kept == 0)
		return false;
	memcpy(m->left, m->values, sizeof(int32_t) * (size_t) kept);
	m->n = kept;
	return true;
}

/* The largest distance of a candidate's answers from the medians. */
static int64_t
distance_of(const dp_iterate_terms *t, const dp_iterate_median *m,
			int64_t candidate)
{
	int64_t		worst = 0;
	int64_t		query;

	for (query = 0; query < t->queries; query++)
	{
		int64_t		gap = m->answers[query * t->candidates + candidate] -
		m->median[query];

		gap = gap < 0 ? -gap : gap;
		worst = gap > worst ? gap : worst;
	}
	return worst;
}

/*
 * dp_model_iterate_median_end
 *	  The candidate that is left and nearest to the medians, as a
 *	  distribution; frees the rest.
 *
 * Requires: m begun; room for the cells.
 * Gives:	 probability, multiples of 1/size; the first one of equals.
 * Source:	 doc/theory.md T127.
 */
void
dp_model_iterate_median_end(const dp_host *host,
							const dp_iterate_terms *terms,
							dp_iterate_median *m, double *probability)
{
	int64_t		cells[DP_ITERATE_SIZE] = {0};
	int64_t		best = -1;
	int64_t		least = 0;
	int64_t		i;

	for (i = 0; i < terms->queries; i++)
		m->median[i] = median_of(terms, m, i);
	for (i = 0; i < m->n; i++)
	{
		int64_t		distance = distance_of(terms, m, m->left[i]);

		if (best < 0 || distance < least)
		{
			best = m->left[i];
			least = distance;
		}
	}
	while (best-- > 0)
		(void) next_multiset(cells, terms->size, terms->cells);
	memset(probability, 0, sizeof(double) * (size_t) terms->cells);
	for (i = 0; i < terms->size; i++)
		probability[cells[i]] += 1 / (double) terms->size;
	host->release(host->state, m->answers);
	host->release(host->state, m->left);
	host->release(host->state, m->values);
	host->release(host->state, m->median);
}
