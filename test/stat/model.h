/*
 * model.h
 *	  dp_count, dp_sum and dp_avg over a few rows, rebuilt over src/math/noise,
 *	  and the same with one defect each.
 *
 * The recipes are those of doc/theory.md T41 to T43, written a second time
 * and without a server; law.pl holds the server's answers against the same
 * law.  A defect is a mistake that somebody could make in the release, named
 * for what it does; the audits, exact-law tests and support tests of this
 * folder must reject every one of them.
 *
 * Values are in granules, so that every sound answer is an integer.
 */
#ifndef STAT_MODEL_H
#define STAT_MODEL_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "dp_numbers.h"
#include "dp_noise.h"

typedef enum model_defect
{
	SOUND = 0,
	SCALE_HALVED,				/* noise of half the scale */
	NOISE_SHARED_BY_PAIR,		/* one draw for both sums of a mean */
	NOISE_SHARED_BY_GROUPS,		/* one draw for all groups */
	NOISE_FLOAT,				/* noise from a double, not on the grid */
	TOTAL_ROUNDED,				/* the total is rounded half-even, not rows */
	COUNT_DIVIDES,				/* a mean divides by the true number of rows */
	NO_CLAMP,					/* rows are not clamped to the bounds */
	WIDTH_FOR_MAGNITUDE,		/* a sum's sensitivity is upper - lower */
	EPSILON_ROUNDED_UP,			/* to a tenth */
	UNIFORM_BIASED,				/* ten random bits modulo n */
	EMPTY_WITHOUT_NOISE,		/* empty groups are answered exactly */
	EMPTY_DROPPED				/* empty groups are not answered */
} model_defect;

#define MODEL_ROWS 8

/* A group: its rows' values in granules, not yet rounded or clamped. */
typedef struct model_group
{
	int			rows;
	double		x[MODEL_ROWS];
} model_group;

typedef struct model
{
	dp_source  *source;
	model_defect defect;
	dp_rational epsilon;
	double		low;			/* bounds */
	double		high;
} model;

static inline void
model_check(dp_status status)
{
	if (status != DP_OK)
	{
		fprintf(stderr, "mechanism failed with status %d\n", (int) status);
		exit(2);
	}
}

/* Ten random bits modulo n: small remainders come up too often. */
static inline uint64_t
biased_below(dp_source *source, uint64_t n)
{
	uint16_t	bits;

	model_check(dp_noise_random_bytes(source, &bits, sizeof(bits)));
	return (bits & 1023) % n;
}

/* Discrete Laplace of integer scale, all right but for its uniform. */
static inline double
biased_laplace(dp_source *source, uint64_t scale)
{
	const dp_rational one = {1, 1};
	uint64_t	u;
	double		value;
	bool		coin;

	do
	{
		do
		{
			dp_rational share;

			u = biased_below(source, scale);
			share.num = u;
			share.den = scale;
			model_check(dp_noise_bernoulli_exp(source, &share, &coin));
		} while (!coin);
		value = (double) u;
		for (;;)
		{
			model_check(dp_noise_bernoulli_exp(source, &one, &coin));
			if (!coin)
				break;
			value += (double) scale;
		}
		coin = biased_below(source, 2) == 1;
	} while (coin && value == 0);
	return coin ? -value : value;
}

/* Laplace noise the way of textbooks: a logarithm of a double. */
static inline double
float_laplace(dp_source *source, double scale)
{
	uint64_t	u;

	model_check(dp_noise_uniform_below(source, UINT64_C(1) << 53, &u));
	u = u * 2 + 1;
	return u < UINT64_C(1) << 53 ? scale * log(u * 0x1p-53)
		: -scale * log(((UINT64_C(1) << 54) - u) * 0x1p-53);
}

/* One draw of noise for this L1 sensitivity. */
static inline double
model_noise(const model *m, double sensitivity)
{
	dp_rational epsilon = m->epsilon;
	dp_scale	scale;
	dp_int128	noise;

	if (m->defect == SCALE_HALVED)
		epsilon.num *= 2;
	if (m->defect == EPSILON_ROUNDED_UP)
	{
		epsilon.num = (10 * epsilon.num + epsilon.den - 1) / epsilon.den;
		epsilon.den = 10;
	}
	model_check(dp_noise_scale_make((dp_uint128) sensitivity, &epsilon,
									&scale));
	if (m->defect == UNIFORM_BIASED)
		return biased_laplace(m->source,
							  (uint64_t) dp_noise_scale_approx(&scale));
	if (m->defect == NOISE_FLOAT)
		return float_laplace(m->source, dp_noise_scale_approx(&scale));
	model_check(dp_noise_discrete_laplace(m->source, &scale, &noise));
	return (double) noise;
}

/*
 * The exact part: rows that count, and the sum of their granules.  NaN is
 * skipped, everything else is rounded and clamped row by row.
 */
static inline double
model_total(const model *m, const model_group *group, double *rows)
{
	double		total = 0;
	int			i;

	*rows = 0;
	for (i = 0; i < group->rows; i++)
	{
		double		x = group->x[i];

		if (isnan(x))
			continue;
		if (m->defect != TOTAL_ROUNDED)
			x = rint(x);
		if (m->defect != NO_CLAMP)
			x = fmin(fmax(x, m->low), m->high);
		total += x;
		(*rows)++;
	}
	return rint(total);
}

/* Counts of n groups; NaN where a group is not answered. */
static inline void
model_count(const model *m, const model_group *group, int n, double *out)
{
	double		noise = 0;
	int			i;

	for (i = 0; i < n; i++)
	{
		if (i == 0 || m->defect != NOISE_SHARED_BY_GROUPS)
			noise = model_noise(m, 1);
		out[i] = group[i].rows + noise;
		if (group[i].rows == 0 && m->defect == EMPTY_WITHOUT_NOISE)
			out[i] = 0;
		if (group[i].rows == 0 && m->defect == EMPTY_DROPPED)
			out[i] = NAN;
	}
}

static inline double
model_sum(const model *m, const model_group *group)
{
	double		rows;
	double		total = model_total(m, group, &rows);
	double		sensitivity = fmax(fabs(m->low), fabs(m->high));

	if (m->defect == WIDTH_FOR_MAGNITUDE)
		sensitivity = m->high - m->low;
	return total + model_noise(m, sensitivity);
}

/* The two sums of a mean: distances from the lower and the upper bound. */
static inline void
model_pair(const model *m, const model_group *group, double *out)
{
	double		width = m->high - m->low;
	double		rows;
	double		total = model_total(m, group, &rows);
	double		noise = model_noise(m, width);

	out[0] = total - rows * m->low + noise;
	if (m->defect != NOISE_SHARED_BY_PAIR)
		noise = model_noise(m, width);
	out[1] = rows * m->high - total + noise;
}

/*
 * The mean of a pair, times `multiple` so that it is an integer where it has
 * to be one; the defect divides a noisy sum by the true number of rows.
 */
static inline double
model_mean(const model *m, const model_group *group, double multiple)
{
	double		pair[2];
	double		rows;
	double		total;

	if (m->defect == COUNT_DIVIDES)
	{
		total = model_total(m, group, &rows) - rows * m->low;
		total += model_noise(m, m->high - m->low);
		return multiple * (m->low + fmin(fmax(total / rows, 0),
										 m->high - m->low));
	}
	model_pair(m, group, pair);
	total = pair[0] + pair[1];
	if (total <= 0)
		return multiple * (m->low + m->high) / 2;
	return multiple * (m->low + (m->high - m->low) *
					   fmin(fmax(pair[0] / total, 0), 1));
}

#endif							/* STAT_MODEL_H */
