/*
 * selection_broken.h
 *	  Selections the way implementations are known to get them wrong.
 *
 * Each draws a candidate's index for a `problem` of test/unit; some release a
 * second number as well.
 */
#ifndef STAT_SELECTION_BROKEN_H
#define STAT_SELECTION_BROKEN_H

#include "mech_problem.h"
#include "subject.h"

static inline bool
selection_flip(const problem *c, dp_int128 gap)
{
	const dp_rational gamma = {(dp_uint128) gap * c->rate.num, c->rate.den};
	bool		taken;

	subject_check(dp_noise_bernoulli_exp(&source, &gamma, &taken));
	return taken;
}

static inline size_t
selection_best(const problem *c)
{
	size_t		best = 0;
	size_t		i;

	for (i = 1; i < c->n; i++)
		if (c->scores[i] > c->scores[best])
			best = i;
	return best;
}

static inline double
selection_score(const problem *c, size_t i)
{
	return (double) c->rate.num / (double) c->rate.den *
		(double) c->scores[i];
}

/* In (0, 1). */
static inline double
uniform_double(void)
{
	uint64_t	value;

	subject_check(dp_noise_uniform_below(&source, UINT64_C(1) << 52, &value));
	return ((double) value + 0.5) * 0x1p-52;
}

static inline double
fresh_noise(const problem *c)
{
	dp_int128	x;

	subject_check(c->noise == DP_NOISE_LAPLACE ?
				  dp_noise_discrete_laplace(&source, &c->scale, &x) :
				  dp_noise_geometric(&source, &c->scale, &x));
	return (double) x;
}

/* The best candidate, without any noise; also: one noise for all. */
static inline bool
broken_argmax(void *state, double *out)
{
	*out = (double) selection_best(state);
	return true;
}

/* ---- permute-and-flip ---- */

/* Flips in the order of the candidates. */
static inline bool
broken_no_shuffle(void *state, double *out)
{
	const problem *c = state;
	dp_int128	best = c->scores[selection_best(c)];
	size_t		i;

	for (i = 0; !selection_flip(c, best - c->scores[i]); i++)
		;
	*out = (double) i;
	return true;
}

/* Shuffles by swapping with any place, which is not uniform. */
static inline bool
broken_naive_shuffle(void *state, double *out)
{
	const problem *c = state;
	dp_int128	best = c->scores[selection_best(c)];
	size_t		order[N_MAX];
	size_t		i;

	for (i = 0; i < c->n; i++)
		order[i] = i;
	for (i = 0; i < c->n; i++)
	{
		uint64_t	other;
		size_t		kept = order[i];

		subject_check(dp_noise_uniform_below(&source, c->n, &other));
		order[i] = order[other];
		order[other] = kept;
	}
	for (i = 0; !selection_flip(c, best - c->scores[order[i]]); i++)
		;
	*out = (double) order[i];
	return true;
}

/* Whenever a best candidate is due, the first of the best is taken. */
static inline bool
broken_ties_to_first(void *state, double *out)
{
	const problem *c = state;

	if (!draw_permute(state, out))
		return false;
	if (c->scores[(int) *out] == c->scores[selection_best(c)])
		*out = (double) selection_best(c);
	return true;
}

/* Says how many candidates share the best score. */
static inline bool
broken_ties_counted(void *state, double *out)
{
	const problem *c = state;
	size_t		best = selection_best(c);
	size_t		i;

	for (i = 0; i < c->n; i++)
		out[1] += c->scores[i] == c->scores[best];
	return draw_permute(state, out);
}

/* Gaps to the best candidate seen so far instead of the best one. */
static inline bool
broken_running_best(void *state, double *out)
{
	const problem *c = state;
	problem		seen = *c;
	uint64_t	i;
	size_t		order[N_MAX];
	size_t		n;
	size_t		k;

	for (k = 0; k < c->n; k++)
		order[k] = k;
	for (n = c->n; n > 0; n--)
	{
		subject_check(dp_noise_uniform_below(&source, n, &i));
		k = order[i];
		order[i] = order[n - 1];
		if (n == c->n || c->scores[k] > seen.scores[0])
			seen.scores[0] = c->scores[k];
		if (selection_flip(c, seen.scores[0] - c->scores[k]))
			break;
	}
	*out = (double) k;
	return true;
}

/* ---- the exponential mechanism ---- */

/* Weights as doubles, not relative to the best one, and their sum. */
static inline bool
broken_double_weights(void *state, double *out)
{
	const problem *c = state;
	double		sum = 0;
	double		place = uniform_double();
	size_t		i;

	for (i = 0; i < c->n; i++)
		sum += exp(selection_score(c, i));
	for (i = 0; i + 1 < c->n; i++)
	{
		place -= exp(selection_score(c, i)) / sum;
		if (place < 0)
			break;
	}
	*out = (double) i;
	return true;
}

/* Noisy max with one-sided exponential noise is something else. */
static inline bool
broken_one_sided(void *state, double *out)
{
	const problem *c = state;
	double		top = -INFINITY;
	double		x;
	size_t		i;

	for (i = 0; i < c->n; i++)
	{
		x = selection_score(c, i) - log(uniform_double());
		if (x > top)
			*out = (double) i;
		top = fmax(top, x);
	}
	return true;
}

/* ---- noisy max ---- */

/*
 * Noisy max with a rule for ties: 0 lowest index, 1 highest, 2 none: says
 * "tie" (index n) instead.  With a value released: 1 the noisy maximum, 2 its
 * distance to the second.
 */
static inline bool
noisy_by_hand(const problem *c, int ties, int value, double *out)
{
	double		top = -INFINITY;
	double		second = -INFINITY;
	double		x;
	bool		tie = false;
	size_t		i;

	for (i = 0; i < c->n; i++)
	{
		x = (double) c->scores[i] + fresh_noise(c);
		if (x > top || (x == top && ties == 1))
			*out = (double) i;
		tie = x == top || (x < top && tie);
		second = fmax(second, fmin(x, top));
		top = fmax(x, top);
	}
	if (tie && ties == 2)
		*out = (double) c->n;
	if (value > 0)
		out[1] = value == 1 ? top : top - second;
	return true;
}

static inline bool
broken_ties_to_last(void *state, double *out)
{
	return noisy_by_hand(state, 1, 0, out);
}

static inline bool
broken_ties_reported(void *state, double *out)
{
	return noisy_by_hand(state, 2, 0, out);
}

static inline bool
broken_maximum_released(void *state, double *out)
{
	return noisy_by_hand(state, 0, 1, out);
}

/* The distance of the best true scores, beside a sound answer. */
static inline bool
broken_gap_released(void *state, double *out)
{
	const problem *c = state;
	problem		rest = *c;
	size_t		best = selection_best(c);

	rest.scores[best] = rest.scores[0] - 1000;
	out[1] = (double) (c->scores[best] - rest.scores[selection_best(&rest)]);
	return draw_noisy(state, out);
}

static inline bool
broken_other_noise(void *state, double *out)
{
	problem		c = *(problem *) state;

	c.noise = c.noise == DP_NOISE_LAPLACE ? DP_NOISE_GEOMETRIC :
		DP_NOISE_LAPLACE;
	return draw_noisy(&c, out);
}

/* Noise from a double: ties, which integers have, never happen. */
static inline bool
broken_float_noise(void *state, double *out)
{
	const problem *c = state;
	double		b = dp_noise_scale_approx(&c->scale);
	double		top = -INFINITY;
	double		x;
	size_t		i;

	for (i = 0; i < c->n; i++)
	{
		x = -log(uniform_double()) * b;
		if (c->noise == DP_NOISE_LAPLACE && uniform_double() < 0.5)
			x = -x;
		x += (double) c->scores[i];
		if (x > top)
			*out = (double) i;
		top = fmax(top, x);
	}
	return true;
}

/* Noise rounded away: (int) of a double keeps 0 too often. */
static inline bool
broken_truncated_noise(void *state, double *out)
{
	const problem *c = state;
	double		b = dp_noise_scale_approx(&c->scale);
	double		top = -INFINITY;
	double		x;
	size_t		i;

	for (i = 0; i < c->n; i++)
	{
		x = -log(uniform_double()) * b;
		x = trunc(uniform_double() < 0.5 ? -x : x) + (double) c->scores[i];
		if (x > top)
			*out = (double) i;
		top = fmax(top, x);
	}
	return true;
}

/* ---- peeling: the k best by k rounds ---- */

/* Two rounds; `again` forgets to take the first one's winner away. */
static inline bool
peel(void *state, bool again, double *out)
{
	problem		c = *(problem *) state;
	double		x;

	if (!draw_permute(&c, out))
		return false;
	if (!again)
		c.scores[(int) *out] = c.scores[--c.n];
	if (!draw_permute(&c, &x))
		return false;
	out[1] = !again && x == *out ? (double) c.n : x;
	return true;
}

static inline bool
draw_two_best(void *state, double *out)
{
	return peel(state, false, out);
}

static inline bool
broken_peeling_with_return(void *state, double *out)
{
	return peel(state, true, out);
}

#endif							/* STAT_SELECTION_BROKEN_H */
