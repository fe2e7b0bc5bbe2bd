/*
 * iterate.c
 *	  The iterative construction (book, Algorithm 8): find a query that the
 *	  hypothesis answers badly, count it with noise, and update; until the
 *	  count is near the guess, or all rounds that were paid for are used.
 *
 * Only the choice and the count meet private numbers.  Everything else is
 * computed from what they released, so that floating point is harmless there.
 */
#include <math.h>
#include <string.h>

#include "../numbers/dp_numbers.h"
#include "../noise/dp_noise.h"
#include "dp_models.h"
#include "models_internal.h"

/* ----------------
 *		The median mechanism as a database update algorithm: candidates are all
 *		multisets of `size` cells, a query's guess is the median answer of
 *		those that are left, and an update removes those on the wrong side of
 *		it, at least half of them.
 *
 * All of it is about public numbers.  A candidate's answer is a number of
 * granules, size * one of which are all rows.
 * ----------------
 */

/*
 * dp_models_iterate_candidates
 *	  C(cells + size - 1, size), or INT64_MAX when above
 *	  DP_ITERATE_CANDIDATES.
 *
 * Requires: cells, size >= 1.
 * Gives:	 the number.
 * Source:	 doc/theory.md T127.
 */
int64_t
dp_models_iterate_candidates(int64_t cells, int64_t size)
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
 * iterate_median_begin
 *	  All candidates, and their answers.
 *
 * Requires: size <= DP_ITERATE_SIZE, candidates and answers within the limits;
 *			 size * one fits 32 bits.
 * Gives:	 *out, which iterate_median_end frees.
 * Source:	 doc/theory.md T127.
 */
static void
iterate_median_begin(const dp_host *host,
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
 * iterate_median_guess
 *	  What the medians say of each query, in rows.
 *
 * Requires: m begun, with candidates left.
 * Gives:	 guesses, rounded to the nearest.
 * Source:	 doc/theory.md T127.
 */
static void
iterate_median_guess(const dp_iterate_terms *terms,
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
 * iterate_median_learn
 *	  Remove those whose answer is the median or beyond it: above it when the
 *	  database's answer is `lower`, else below.
 *
 * Requires: the guess that the step was made with is the last one.
 * Gives:	 false when that would leave none; they are then all kept.
 * Source:	 doc/theory.md T127.
 */
static bool
iterate_median_learn(const dp_iterate_terms *terms,
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
 * iterate_median_end
 *	  The candidate that is left and nearest to the medians, as a
 *	  distribution; frees the rest.
 *
 * Requires: m begun; room for the cells.
 * Gives:	 probability, multiples of 1/size; the first one of equals.
 * Source:	 doc/theory.md T127.
 */
static void
iterate_median_end(const dp_host *host,
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

typedef struct state
{
	const dp_host *host;
	dp_source  *source;
	const dp_iterate_terms *t;
	const int32_t *weights;
	const int64_t *counts;		/* private */
	double	   *probability;
	const int64_t *guesses;		/* by query, in rows */
	int64_t    *own_guesses;	/* the same, where they are made here */
	dp_int128  *scores;			/* private */
	size_t	   *order;
	double	   *factor;			/* of each cell, in a step */
	dp_iterate_median median;
} state;

/* ---- multiplicative weights ---- */

static double
mean_weight(const dp_iterate_terms *terms, const int32_t *weights,
			const double *probability)
{
	long double sum = 0;
	int64_t		i;

	for (i = 0; i < terms->cells; i++)
		sum += (long double) probability[i] * weights[i];
	return (double) (sum / terms->one);
}

/*
 * dp_models_iterate_guess
 *	  How many rows a distribution has of each query.
 *
 * Requires: terms' cells, queries, one and n; numbers from 0 to 1 that add up
 *			 to 1, nearly; room for the queries.
 * Gives:	 guesses, rounded to the nearest.
 * Source:	 doc/theory.md T125.
 */
void
dp_models_iterate_guess(const dp_iterate_terms *terms, const int32_t *weights,
						const double *probability, int64_t *guesses)
{
	int64_t		query;

	for (query = 0; query < terms->queries; query++)
		guesses[query] = (int64_t)
			floor((double) terms->n *
				  mean_weight(terms, weights + query * terms->cells,
							  probability) + .5);
}

/* The distance of an answer from its guess; both are released. */
static double
distance(const dp_iterate_step *step)
{
	return fabs((double) (step->answer - step->guess));
}

/* The update of dp_weights_step. */
static void
iterate_multiply(state *s, const dp_iterate_step *step, bool lower)
{
	const int32_t *weights = s->weights + step->query * s->t->cells;
	double		eta = s->t->eta > 0 ? s->t->eta :
	2 * distance(step) / (double) s->t->n;
	int64_t		i;

	eta = fmin(eta, 1) / (double) s->t->one;
	for (i = 0; i < s->t->cells; i++)
		s->factor[i] = exp((lower ? -eta : eta) * weights[i]);
	dp_models_weights_step(s->probability, s->t->cells, s->factor, NULL, 0);
}

/* ---- a round ---- */

static void
guess_all(state *s)
{
	if (s->t->update == DP_ITERATE_MEDIAN)
		iterate_median_guess(s->t, &s->median, s->own_guesses);
	else
		dp_models_iterate_guess(s->t, s->weights, s->probability,
								s->own_guesses);
}

/* |count - guess|, which one unit moves by at most 1. */
static dp_status
find_query(state *s, size_t *query)
{
	int64_t		i;

	for (i = 0; i < s->t->queries; i++)
	{
		dp_int128	gap = (dp_int128) s->counts[i] - s->guesses[i];

		s->scores[i] = gap < 0 ? -gap : gap;
	}
	if (s->t->distinguisher == DP_ITERATE_PERMUTE_AND_FLIP)
		return dp_noise_permute_and_flip(s->source, s->scores,
										 (size_t) s->t->queries, &s->t->rate,
										 s->order, query);
	return dp_noise_exponential(s->source, s->scores, (size_t) s->t->queries,
								&s->t->rate, query);
}

static dp_status
count_query(state *s, int64_t query, dp_int128 *answer)
{
	dp_int128	noise = 0;
	dp_status	status =
	s->t->distinguisher == DP_ITERATE_GAUSSIAN ?
	dp_noise_discrete_gaussian(s->source, &s->t->noise, &noise) :
	dp_noise_discrete_laplace(s->source, &s->t->scale, &noise);

	if (status == DP_OK &&
		__builtin_add_overflow(noise, (dp_int128) s->counts[query], answer))
		status = DP_E_OVERFLOW;
	return status;
}

/* Find a query and count its rows. */
static dp_status
take_step(state *s, dp_iterate_step *step)
{
	size_t		query = 0;
	dp_status	status = find_query(s, &query);

	if (status == DP_OK)
		status = count_query(s, (int64_t) query, &step->answer);
	step->query = (int64_t) query;
	step->guess = s->guesses[query];
	return status;
}

/* False: there is nothing more to do. */
static bool
learn(state *s, const dp_iterate_step *step)
{
	bool		lower = step->answer < step->guess;

	if (distance(step) < s->t->near)
		return false;
	if (s->t->update == DP_ITERATE_MEDIAN)
		return iterate_median_learn(s->t, &s->median, step->query,
									lower);
	iterate_multiply(s, step, lower);
	return true;
}

static void
begin_scores(state *s)
{
	size_t		queries = (size_t) s->t->queries;

	s->scores = s->host->allocate(s->host->state, sizeof(dp_int128) * queries);
	s->order = s->host->allocate(s->host->state, sizeof(size_t) * queries);
}

static void
begin(state *s)
{
	size_t		queries = (size_t) s->t->queries;
	int64_t		i;

	begin_scores(s);
	s->guesses = s->own_guesses =
		s->host->allocate(s->host->state, sizeof(int64_t) * queries);
	for (i = 0; i < s->t->cells; i++)
		s->probability[i] = 1 / (double) s->t->cells;
	s->factor = s->host->allocate(s->host->state,
								  sizeof(double) * (size_t) s->t->cells);
	if (s->t->update == DP_ITERATE_MEDIAN)
		iterate_median_begin(s->host, s->t, s->weights, &s->median);
}

static void
end_scores(state *s)
{
	memset(s->scores, 0, sizeof(dp_int128) * (size_t) s->t->queries);
	s->host->release(s->host->state, s->scores);
	s->host->release(s->host->state, s->order);
}

static void
end(state *s)
{
	if (s->t->update == DP_ITERATE_MEDIAN)
		iterate_median_end(s->host, s->t, &s->median,
						   s->probability);
	s->host->release(s->host->state, s->factor);
	s->host->release(s->host->state, s->own_guesses);
	end_scores(s);
}

/*
 * dp_models_iterate_round
 *	  One round, whose guesses are the caller's.
 *
 * Requires: terms but update, rounds, near and eta; guesses of the queries
 *			 that depend on no private number but through what was released,
 *			 between -2^62 and 2^62; counts as dp_models_iterate.
 * Gives:	 DP_OK with *step set; statuses as dp_models_iterate.
 * Source:	 doc/theory.md T125, T129 (book, Algorithm 8).
 */
dp_status
dp_models_iterate_round(const dp_host *host, dp_source *source,
						const dp_iterate_terms *terms, const int64_t *guesses,
						const int64_t *counts, dp_iterate_step *step)
{
	state		s;
	dp_status	status;

	memset(&s, 0, sizeof(s));
	s.host = host;
	s.source = source;
	s.t = terms;
	s.guesses = guesses;
	s.counts = counts;
	begin_scores(&s);
	status = take_step(&s, step);
	end_scores(&s);
	return status;
}

/*
 * dp_models_iterate
 *	  The whole mechanism.
 *
 * Requires: terms complete, paid for in all their rounds; update is not
 *			 DP_ITERATE_OWN; weights[query * cells + cell] from 0 to one;
 *			 counts of the queries, each moved by at most 1 by one unit; room
 *			 for cells and rounds.
 * Gives:	 DP_OK with probability, adding up to 1, and *taken of steps set;
 *			 the statuses of dp_noise_exponential, dp_noise_permute_and_flip,
 *			 dp_noise_discrete_laplace and dp_noise_discrete_gaussian.
 * Source:	 doc/theory.md T125 - T127 (book, Algorithm 8).
 */
dp_status
dp_models_iterate(const dp_host *host, dp_source *source,
				  const dp_iterate_terms *terms, const int32_t *weights,
				  const int64_t *counts, double *probability,
				  dp_iterate_step *steps, int *taken)
{
	state		s;
	dp_status	status = DP_OK;
	bool		more = true;

	memset(&s, 0, sizeof(s));
	s.host = host;
	s.source = source;
	s.t = terms;
	s.weights = weights;
	s.counts = counts;
	s.probability = probability;
	begin(&s);
	for (*taken = 0; *taken < terms->rounds && more; (*taken)++)
	{
		if (host->pulse != NULL)
			host->pulse(host->state);
		guess_all(&s);
		status = take_step(&s, &steps[*taken]);
		if (status != DP_OK)
			break;
		more = learn(&s, &steps[*taken]);
	}
	end(&s);
	return status;
}
