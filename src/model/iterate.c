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

#include "dp_iterate.h"

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
 * dp_model_iterate_guess
 *	  How many rows a distribution has of each query.
 *
 * Requires: terms' cells, queries, one and n; numbers from 0 to 1 that add up
 *			 to 1, nearly; room for the queries.
 * Gives:	 guesses, rounded to the nearest.
 * Source:	 doc/theory.md T125.
 */
void
dp_model_iterate_guess(const dp_iterate_terms *terms, const int32_t *weights,
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
multiply(state *s, const dp_iterate_step *step, bool lower)
{
	const int32_t *weights = s->weights + step->query * s->t->cells;
	double		eta = s->t->eta > 0 ? s->t->eta :
	2 * distance(step) / (double) s->t->n;
	long double sum = 0;
	int64_t		i;

	eta = fmin(eta, 1);
	for (i = 0; i < s->t->cells; i++)
	{
		double		f = (double) weights[i] / (double) s->t->one;

		s->probability[i] *= exp(-eta * (lower ? f : 1 - f));
		sum += s->probability[i];
	}
	for (i = 0; i < s->t->cells; i++)
		s->probability[i] = (double) (s->probability[i] / sum);
}

/* ---- a round ---- */

static void
guess_all(state *s)
{
	if (s->t->update == DP_ITERATE_MEDIAN)
		dp_model_iterate_median_guess(s->t, &s->median, s->own_guesses);
	else
		dp_model_iterate_guess(s->t, s->weights, s->probability,
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
		return dp_mech_permute_and_flip(s->source, s->scores,
										(size_t) s->t->queries, &s->t->rate,
										s->order, query);
	return dp_mech_exponential(s->source, s->scores, (size_t) s->t->queries,
							   &s->t->rate, query);
}

static dp_status
count_query(state *s, int64_t query, dp_int128 *answer)
{
	dp_int128	noise = 0;
	dp_status	status =
	s->t->distinguisher == DP_ITERATE_GAUSSIAN ?
	dp_mech_discrete_gaussian(s->source, &s->t->noise, &noise) :
	dp_mech_discrete_laplace(s->source, &s->t->scale, &noise);

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
		return dp_model_iterate_median_learn(s->t, &s->median, step->query,
											 lower);
	multiply(s, step, lower);
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
	if (s->t->update == DP_ITERATE_MEDIAN)
		dp_model_iterate_median_begin(s->host, s->t, s->weights, &s->median);
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
		dp_model_iterate_median_end(s->host, s->t, &s->median,
									s->probability);
	s->host->release(s->host->state, s->own_guesses);
	end_scores(s);
}

/*
 * dp_model_iterate_round
 *	  One round, whose guesses are the caller's.
 *
 * Requires: terms but update, rounds, near and eta; guesses of the queries
 *			 that depend on no private number but through what was released,
 *			 between -2^62 and 2^62; counts as dp_model_iterate.
 * Gives:	 DP_OK with *step set; statuses as dp_model_iterate.
 * Source:	 doc/theory.md T125, T129 (book, Algorithm 8).
 */
dp_status
dp_model_iterate_round(const dp_host *host, dp_source *source,
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
 * dp_model_iterate
 *	  The whole mechanism.
 *
 * Requires: terms complete, paid for in all their rounds; update is not
 *			 DP_ITERATE_OWN; weights[query * cells + cell] from 0 to one;
 *			 counts of the queries, each moved by at most 1 by one unit; room
 *			 for cells and rounds.
 * Gives:	 DP_OK with probability, adding up to 1, and *taken of steps set;
 *			 the statuses of dp_mech_exponential, dp_mech_permute_and_flip,
 *			 dp_mech_discrete_laplace and dp_mech_discrete_gaussian.
 * Source:	 doc/theory.md T125 - T127 (book, Algorithm 8).
 */
dp_status
dp_model_iterate(const dp_host *host, dp_source *source,
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
