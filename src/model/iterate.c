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
	int64_t    *guesses;		/* by query, in rows */
	dp_int128  *scores;			/* private */
	size_t	   *order;
	dp_iterate_median median;
} state;

/* ---- multiplicative weights ---- */

static double
mean_weight(const state *s, int64_t query)
{
	const int32_t *weights = s->weights + query * s->t->cells;
	long double sum = 0;
	int64_t		i;

	for (i = 0; i < s->t->cells; i++)
		sum += (long double) s->probability[i] * weights[i];
	return (double) (sum / s->t->one);
}

/* How far an answer is from its guess; of released numbers. */
static double
distance(const dp_iterate_step *step)
{
	return fabs((double) (step->answer - step->guess));
}

/* What dp_weights_step does. */
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
	int64_t		query;

	if (s->t->update == DP_ITERATE_MEDIAN)
	{
		dp_model_iterate_median_guess(s->t, &s->median, s->guesses);
		return;
	}
	for (query = 0; query < s->t->queries; query++)
		s->guesses[query] = (int64_t) floor((double) s->t->n *
											mean_weight(s, query) + .5);
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
begin(state *s)
{
	size_t		queries = (size_t) s->t->queries;
	int64_t		i;

	s->guesses = s->host->allocate(s->host->state, sizeof(int64_t) * queries);
	s->scores = s->host->allocate(s->host->state, sizeof(dp_int128) * queries);
	s->order = s->host->allocate(s->host->state, sizeof(size_t) * queries);
	for (i = 0; i < s->t->cells; i++)
		s->probability[i] = 1 / (double) s->t->cells;
	if (s->t->update == DP_ITERATE_MEDIAN)
		dp_model_iterate_median_begin(s->host, s->t, s->weights, &s->median);
}

static void
end(state *s)
{
	if (s->t->update == DP_ITERATE_MEDIAN)
		dp_model_iterate_median_end(s->host, s->t, &s->median,
									s->probability);
	memset(s->scores, 0, sizeof(dp_int128) * (size_t) s->t->queries);
	s->host->release(s->host->state, s->guesses);
	s->host->release(s->host->state, s->scores);
	s->host->release(s->host->state, s->order);
}

/*
 * dp_model_iterate
 *	  The whole mechanism.
 *
 * Requires: terms complete, paid for in all their rounds; weights[query *
 *			 cells + cell] from 0 to one; counts of the queries, each moved by
 *			 at most 1 by one unit; room for cells and rounds.
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
		dp_iterate_step *step = &steps[*taken];
		size_t		query = 0;

		if (host->pulse != NULL)
			host->pulse(host->state);
		guess_all(&s);
		status = find_query(&s, &query);
		if (status == DP_OK)
			status = count_query(&s, (int64_t) query, &step->answer);
		if (status != DP_OK)
			break;
		step->query = (int64_t) query;
		step->guess = s.guesses[query];
		more = learn(&s, step);
	}
	end(&s);
	return status;
}
