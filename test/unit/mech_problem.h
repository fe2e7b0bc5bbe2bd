/*
 * mech_problem.h
 *	  A selection problem, the mechanisms' answers to it, and the law of noisy
 *	  max.
 */
#ifndef MECH_PROBLEM_H
#define MECH_PROBLEM_H

#include <math.h>

#include "mech_choice.h"

#define N_MAX 8

typedef struct problem
{
	dp_int128	scores[N_MAX];
	size_t		n;
	dp_rational rate;
	dp_scale	scale;			/* 1/rate */
	dp_noise	noise;
} problem;

static dp_source source;

/* A problem of these scores at an epsilon and a sensitivity of 1. */
static inline problem
problem_of(const char *scores, const char *epsilon, bool monotone)
{
	problem		c = {{0}, 0, {0, 1}, {{0}, {0}, false}, DP_NOISE_LAPLACE};
	dp_rational e = choice_rational(epsilon);
	char	   *rest;

	while (*scores != '\0')
	{
		c.scores[c.n++] = strtol(scores, &rest, 10);
		scores = *rest == ' ' ? rest + 1 : rest;
	}
	if (dp_noise_selection_rate(&e, 1, monotone, &c.rate) != DP_OK ||
		dp_noise_scale_make(1, &c.rate, &c.scale) != DP_OK)
		exit(2);
	return c;
}

/* ---- draws ---- */

static inline bool
draw_permute(void *state, double *out)
{
	const problem *c = state;
	size_t		order[N_MAX];
	size_t		i;

	if (dp_noise_permute_and_flip(&source, c->scores, c->n, &c->rate, order,
								  &i) != DP_OK)
		return false;
	*out = (double) i;
	return true;
}

static inline bool
draw_exponential(void *state, double *out)
{
	const problem *c = state;
	size_t		i;

	if (dp_noise_exponential(&source, c->scores, c->n, &c->rate, &i) != DP_OK)
		return false;
	*out = (double) i;
	return true;
}

static inline bool
draw_noisy(void *state, double *out)
{
	const problem *c = state;
	size_t		i;

	if (dp_noise_noisy_max(&source, c->scores, c->n, &c->scale, c->noise,
						   &i) != DP_OK)
		return false;
	*out = (double) i;
	return true;
}

/* ---- the law of noisy max, by summing over the winner's noise ---- */

static inline double
noise_cdf(dp_noise noise, double inverse, double x)
{
	double		p = exp(-inverse);

	if (noise == DP_NOISE_GEOMETRIC)
		return x < 0 ? 0 : -expm1(-(x + 1) * inverse);
	return x >= 0 ? 1 - exp(-(x + 1) * inverse) / (1 + p) :
		exp(x * inverse) / (1 + p);
}

static inline void
noisy_law(const problem *c, double *probability)
{
	double		inverse = 1 / dp_noise_scale_approx(&c->scale);
	double		p = exp(-inverse);
	double		term;
	double		shift;
	int			reach = (int) (60 / inverse) + 60;
	int			z;
	size_t		i;
	size_t		j;

	for (i = 0; i < c->n; i++)
	{
		probability[i] = 0;
		for (z = c->noise == DP_NOISE_GEOMETRIC ? 0 : -reach; z <= reach; z++)
		{
			term = c->noise == DP_NOISE_GEOMETRIC ?
				(1 - p) * exp(-z * inverse) :
				(1 - p) / (1 + p) * exp(-abs(z) * inverse);
			for (j = 0; j < c->n; j++)
			{
				shift = (double) (c->scores[i] - c->scores[j]) + z;
				if (j != i)
					term *= noise_cdf(c->noise, inverse,
									  j < i ? shift - 1 : shift);
			}
			probability[i] += term;
		}
	}
}

#endif							/* MECH_PROBLEM_H */
